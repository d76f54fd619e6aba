"""Derive the tables of this folder from the original files.

    python data/labels/derive.py            write the tables and print their digests
    python data/labels/derive.py --check    say which of them would change

The originals are looked for in POE_DATA_DIR and in the cache; data/datasets.toml has their
addresses and digests, and what has an address is downloaded where it is absent. LLMBar's original
is a folder of 91 MB: clone the repository at the pinned commit to POE_DATA_DIR/LLMBar. README.md
explains the columns.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import json
import math
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from judging import datasets
from judging.datasets.files import data_folder, download, read
from judging.datasets.originals import load_plain

HERE = Path(__file__).parent
HANNA_JUDGES = ("Beluga-13B", "OrcaPlatypus", "Mistral-7B", "Llama-13B", "ChatGPT")
GPT = {"1": "1", "2": "2", "Tie": "0", "garbage": ""}  # as annotators write it; empty: no verdict


def original(entry: datasets.Entry, role: str) -> bytes:
    """The bytes of an original file, found right, downloaded where it is absent."""
    file = next(file for file in entry.files if file.role == role)
    try:
        return read(file)
    except datasets.DataNotFoundError:
        if not file.url:
            raise
        download(entry, file)
        return read(file)


def total(mean: float) -> str:
    """The sum behind a mean of three, in the fewest digits that give the mean back exactly."""
    for digits in range(10):
        text = f"{3 * mean:.{digits}f}"
        if float(text) / 3 == mean:
            return text
    near = 3 * mean  # three numbers were added in another order: a neighbouring sum
    candidates = (near, math.nextafter(near, -math.inf), math.nextafter(near, math.inf))
    return next(repr(each) for each in candidates if each / 3 == mean)


def summeval() -> pd.DataFrame:
    """1600 summaries: sums of three experts' scores, lengths in words, and which are equal."""
    entry = datasets.info("summeval")
    rows = []
    for article, content in load_plain(original(entry, "all")).items():
        summaries = content["sys_summs"]
        texts = [summary["sys_summ"].strip() for summary in summaries.values()]
        for system, summary, text in zip(summaries, summaries.values(), texts, strict=True):
            scores = {a.name: total(summary["scores"][a.field]) for a in entry.attributes}
            words = {"words": len(text.split()), "article_words": len(content["src"].split())}
            same = {"same_as": list(summaries)[texts.index(text)]}
            rows.append({"context": article, "candidate": system} | scores | words | same)
    return pd.DataFrame(rows)


def topicalchat() -> pd.DataFrame:
    """360 responses, six to a dialogue: sums of three annotators' scores."""
    entry = datasets.info("topicalchat")
    items = json.loads(original(entry, "all"))
    return pd.DataFrame(
        {"context": f"dialogue-{number // entry.candidates:02d}", "candidate": item["system_id"]}
        | {a.name: round(3 * item["scores"][a.field]) for a in entry.attributes}
        for number, item in enumerate(items)
    )


def hanna_columns() -> tuple[list[str], pd.DataFrame]:
    """The writer of each of 1056 stories, and every column of the scores file, one row a story.

    The file has a row a writer; a cell is a list with the scores of the writer's 96 stories.
    """
    text = original(datasets.info("hanna"), "scores").decode()
    header, *rows = pd.read_csv(io.StringIO(text), header=None, dtype=str).to_numpy()
    cells = [[json.loads(cell) for cell in row[1:]] for row in rows]
    stories = [column for row in cells for column in zip(*row, strict=True)]
    writers = [row[0] for row in rows for _ in range(len(stories) // len(rows))]
    return writers, pd.DataFrame(stories, columns=header[1:])


def hanna() -> pd.DataFrame:
    """1056 stories by Story ID: sums of three annotators' scores."""
    entry = datasets.info("hanna")
    writers, scores = hanna_columns()
    ids = [f"story-{k:04d}" for k in range(len(writers))]
    table = pd.DataFrame({"candidate": ids, "system": writers})
    return table.assign(**{a.name: scores[a.field].map(total) for a in entry.attributes})


def hanna_judges() -> pd.DataFrame:
    """The same stories: sums of three generations of five models under four prompts."""
    _, scores = hanna_columns()
    columns = {
        f"{judge} {prompt} {a.name}": scores[f"{judge} {a.source_name} {prompt}"].map(total)
        for judge in HANNA_JUDGES
        for prompt in (1, 2, 3, 4)
        for a in datasets.info("hanna").attributes
    }
    return pd.DataFrame(columns)


def llmbar() -> pd.DataFrame:
    """885 pairs: which output is better, and 65 judges' verdicts with either output first."""
    rows = pd.DataFrame(
        llmbar_rows(), columns=["set", "item", "label", "column", "given", "swapped"]
    )
    rows["verdict"] = rows["given"] + rows["swapped"]
    pairs = rows[["set", "item", "label"]].drop_duplicates(["set", "item"])
    wide = rows.pivot(index=["set", "item"], columns="column", values="verdict")
    wide = wide[rows["column"].drop_duplicates()]
    return pairs.merge(wide, left_on=["set", "item"], right_index=True).fillna("")


def llmbar_rows() -> Iterator[tuple[str, int, int, str, str, str]]:
    """Set, item, label, judge/strategy, and the winners in both orders ("-": none was read)."""
    folder = data_folder()
    clone = folder / "LLMBar" / "Dataset" if folder else HERE / "absent"
    for group in ("LLMBar", "Processed"):
        for path in sorted(
            (clone / group).glob("**/evaluators/*/*/result.json"), key=Path.as_posix
        ):
            *_, judge, strategy, _ = path.parts
            name = "-".join(path.parents[3].relative_to(clone / group).parts)
            for item, entry in enumerate(json.loads(path.read_bytes())):
                said = [entry["results"][0][f"swap = {s}"].get("winner") for s in (False, True)]
                yield (name, item, int(entry["label"]), f"{judge}/{strategy}", *map(winner, said))
    if clone.is_dir():
        return
    # The same rows as a table, which was made from that folder before.
    entry = datasets.info("llmbar")
    pairs = [json.loads(line) for line in original(entry, "pairs").decode().splitlines() if line]
    labels = {(row["set"], row["item"]): row["label"] for row in pairs}
    table = pd.read_csv(io.BytesIO(original(entry, "verdicts")), dtype=str)
    for row in table.fillna("").itertuples():
        said = (row.winner_given_order, row.winner_swapped_order)
        item = int(row.item)
        column = f"{row.judge}/{row.prompt_strategy}"
        yield (row.set, item, labels[row.set, item], column, *map(winner, said))


def winner(said: object) -> str:
    """The output that a verdict names, or "-" where none could be read."""
    return {"1": "1", "2": "2", "": "-", "None": "-"}[str(said)]


def pandalm() -> pd.DataFrame:
    """999 pairs: three people's and two judges' verdicts (1, 2, 0 a tie, empty none)."""
    entry = datasets.info("pandalm")
    gpt, panda = (
        {row["idx"]: row[field] for row in json.loads(original(entry, role))}
        for role, field in (("gpt-3.5-turbo", "gpt_result"), ("pandalm-7b", "pandalm_result"))
    )
    rows = []
    for pair in json.loads(original(entry, "pairs")):
        first, second = pair["cmp_key"].split("_")
        people = {f"annotator{k}": pair[f"annotator{k}"] for k in (1, 2, 3)}
        judges = {"gpt-3.5-turbo": GPT[gpt[pair["idx"]]], "pandalm-7b": panda[pair["idx"]]}
        rows.append({"item": pair["idx"], "first": first, "second": second} | people | judges)
    return pd.DataFrame(rows)


TABLES = {
    "summeval.csv": summeval,
    "topicalchat.csv": topicalchat,
    "hanna.csv": hanna,
    "hanna-judges.csv.gz": hanna_judges,
    "llmbar.csv.gz": llmbar,
    "pandalm.csv": pandalm,
}


def table(name: str) -> bytes:
    """The bytes of a table, uncompressed."""
    return TABLES[name]().to_csv(index=False, lineterminator="\n").encode()


def main() -> int:
    """Write or check all tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    check = parser.parse_args().check
    changed = []
    for name in TABLES:
        path, data = HERE / name, table(name)
        stored = path.read_bytes() if path.exists() else b""
        if (gzip.decompress(stored) if stored and path.suffix == ".gz" else stored) != data:
            changed.append(name)
            if not check:
                path.write_bytes(gzip.compress(data, 9, mtime=0) if path.suffix == ".gz" else data)
        print(f'"{name}" = "{hashlib.sha256(data).hexdigest()}"')
    print(f"{'would change' if check else 'written'}: {', '.join(changed) or 'none'}")
    return int(check and bool(changed))


if __name__ == "__main__":
    raise SystemExit(main())
