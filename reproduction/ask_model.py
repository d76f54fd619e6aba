"""Asking real language models about the datasets: `make measure`, which fills data/measured.

Answers go to a store as they come, so that a run goes on where it was stopped; what data/measured
has already is not asked again. Each process takes every n-th context and one core: two threads in
one process were no faster than one.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import subprocess
import sys
import time
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from judging import judges, prompts
from judging.datasets import Dataset
from judging.errors import JudgeError
from judging.machine import data_dir
from judging.question import Question, Text
from judging.store import Store
from reproduction.answers import (
    CONTEXT,
    MODELS,
    PLACES,
    PROCESSOR,
    QWEN,
    SMOLLM2,
    Model,
    Place,
    about,
    answers,
    digest,
    folder,
    kept,
)
from reproduction.llmbar_texts import load
from reproduction.quarters import whole as whole_quarters
from reproduction.to_ask import (
    ASKED,
    DIALOGUE,
    QWEN_RUNS,
    RUNS,
    SUMMARY,
    Run,
    chosen,
    in_order,
    parts_of,
    together,
)

# What was kept and what is asked, found here too.
__all__ = ["ASKED", "CONTEXT", "DIALOGUE", "MODELS", "NAME", "PLACES", "QWEN", "QWEN_RUNS", "RUNS"]
__all__ += ["SMOLLM2", "SUMMARY", "Model", "Place", "Run", "about", "answers", "chosen", "digest"]
__all__ += ["folder", "in_order", "kept", "load", "parts_of", "together"]
NAME = SMOLLM2.name
DIGITS = 4  # of log-probabilities that are kept: a probability to a ten-thousandth


# Asking -------------------------------------------------------------------------------------


def work(
    store: Path, *, part: int = 0, parts: int = 1, which: str = "smollm2", names: Sequence[str] = ()
) -> None:
    """Ask all questions of every `parts`-th context, counted from `part`, a line after each.

    Of one large set that is asked in quarters, a line after each `to_ask.PART` questions.

    names : of runs, to ask these alone. What data/measured has is not asked again; a dataset
    whose texts are not on this machine is left out.
    """
    model = MODELS[which]
    reader = judges.open(model.judge)
    for runs in together(chosen(which, names)):
        data, name = load(runs[0].dataset), ", ".join(run.name for run in runs)
        if not data.has_texts:
            print(f"{name}: its texts are not on this machine, so it is left out", flush=True)
            continue
        known = {run.name: places(kept(run.name, model)) for run in runs}
        left = parts_of(runs, data, in_order(runs[0], model)[part::parts], known)
        what = "parts" if runs[0].quarters else "contexts"
        began = time.monotonic()
        for k, questions in enumerate(left, start=1):
            with Store(store) as answers:
                answers.ask(reader, questions)
            minutes = (time.monotonic() - began) / k * (len(left) - k) / 60.0
            print(f"{name}: {k} of {len(left)} {what}, {minutes:.0f} min left", flush=True)


def measure(store: Path, which: str = "smollm2", names: Sequence[str] = ()) -> None:
    """Ask a model all of its runs, or those of some names, and keep the answers.

    One process a core. The book's example comes first: it refuses in one line where the model is
    not ready, and leaves the weights as the processes read them. Raises JudgeError if a process
    failed; the same command goes on.
    """
    model = MODELS[which]
    ask_ferry(model)
    parts = model.processes or os.cpu_count() or 1
    one_core = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"} if parts > 1 else {}
    command = [sys.executable, "-m", "reproduction.ask_model", which, str(store)]
    started = [
        subprocess.Popen([*command, str(part), str(parts), *names], env=os.environ | one_core)
        for part in range(parts)
    ]
    failed = sum(process.wait() != 0 for process in started)
    keep(store, which)
    if failed:
        raise JudgeError(f"{failed} of {parts} processes failed; the same command goes on")


def ferry() -> list[Question]:
    """All twelve comparisons of the book's running example (data/examples/ferry.toml)."""
    example = tomllib.loads((data_dir() / "examples" / "ferry.toml").read_text("utf-8"))
    article = Text("ferry", example["article"])
    texts = [Text(name, text) for name, text in example["summaries"].items()]
    prompt = prompts.load("summeval", "coherence")
    return [Question(prompt, first, second, article) for first, second in permutations(texts, 2)]


def ask_ferry(model: Model) -> None:
    """Keep what a model says to `ferry`, and its likeliest next tokens after each question."""
    reader = judges.open(model.judge)
    said = {"judge": model.name, **told_of_ferry(reader)}
    folder(model).mkdir(parents=True, exist_ok=True)
    (folder(model) / "ferry.json").write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8")


def told_of_ferry(reader: Any, *, tokens: int = 12) -> dict[str, Any]:
    """As `ask_ferry` keeps it."""
    questions = ferry()
    log_p = {k: answer.log_p for k, answer in reader.answer(questions)}
    asked = [
        {
            "first": question.first.id,
            "second": question.second.id if question.second else None,
            "log_p": [round(value, DIGITS) for value in log_p[k]],
            "next": {t: round(v, DIGITS) for t, v in reader.likeliest(question, tokens).items()},
        }
        for k, question in enumerate(questions)
    ]
    return {"specification": dict(reader.specification), "asked": asked}


def ferry_answers(model: Model = SMOLLM2) -> dict[tuple[str, str], dict[str, Any]]:
    """Read what data/measured has of `ask_ferry`, by who was shown first and second."""
    said = json.loads((folder(model) / "ferry.json").read_text("utf-8"))["asked"]
    return {(one["first"], one["second"]): one for one in said}


# Keeping ------------------------------------------------------------------------------------


def keep(store: Path, which: str = "smollm2") -> None:
    """Add a store's answers to data/measured: a table a template, and measured.json.

    Contexts and texts are positions in the dataset, as `judging.datasets` has them;
    log-probabilities are natural, one column a label word. Only contexts that were asked in full
    are kept; of a design (`Run.calls`), pairs with both orders, or whole quarters.
    """
    model, runs = MODELS[which], ASKED[which]
    folder(model).mkdir(parents=True, exist_ok=True)
    with Store(store) as answers:
        if not len(answers):  # all was kept before
            return
        table = answers.table()
        (specification,) = answers.specifications().values()
    path = folder(model) / "measured.json"
    about: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.exists() else {"runs": {}}
    for name in dict.fromkeys(run.name for run in runs):
        whole, cost = _rows(table, [run for run in runs if run.name == name])
        old = kept(name, model)
        new = ~whole.set_index(PLACES).index.isin(old.set_index(PLACES).index)
        if new.any():
            every = whole[new] if old.empty else pd.concat([old, whole[new]])
            _write(folder(model) / f"{name}.csv.gz", every.sort_values(PLACES, ignore_index=True))
            about["runs"].setdefault(name, []).append(_cost(cost[new], load(name.split("-")[0])))
    about |= {
        "judge": model.name,
        "specification": specification,
        "versions": versions(specification),
    }
    path.write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")


def versions(specification: Mapping[str, Any]) -> dict[str, str]:
    """Versions of what computes a judge's answers, of those that are installed."""
    packages, llama = {}, specification["kind"] == "llama.cpp"
    for name in ("xllamacpp",) if llama else ("torch", "transformers", "gguf"):
        with suppress(PackageNotFoundError):
            packages[name] = version(name)
    return packages


def keep_apart(store: Path, runs: Sequence[Run], *, machines: Sequence[Mapping[str, str]]) -> None:
    """Put what a GPU answered (`reproduction.away`) in the place of what Qwen said before.

    What a processor answered of the same runs moves to the folder of `PROCESSOR`, where the two
    can be compared. machines : what answered, as `away.machine` says it.
    """
    with Store(store) as answers:
        table = answers.table()
        (specification,) = answers.specifications().values()
    path, beside = folder(QWEN) / "measured.json", folder(PROCESSOR)
    about = json.loads(path.read_text("utf-8"))
    beside.mkdir(exist_ok=True)
    there = beside / "measured.json"
    earlier = json.loads(there.read_text("utf-8")) if there.exists() else {"runs": {}}
    by: dict[str, Any] = {
        name: " and ".join(sorted({one[name] for one in machines}))
        for name in ("device", "torch", "transformers")
    }
    by["specification"] = specification
    for name in dict.fromkeys(run.name for run in runs):
        whole, cost = _rows(table, [run for run in runs if run.name == name])
        if whole.empty:
            continue
        file = folder(QWEN) / f"{name}.csv.gz"
        if file.exists() and name not in earlier["runs"]:
            file.rename(beside / file.name)
            earlier["runs"][name] = about["runs"][name]
        runs_before = [one for one in about["runs"].get(name, []) if "device" in one]
        if runs_before:
            whole = pd.concat([kept(name, QWEN), whole])
        _write(file, whole.sort_values(PLACES, ignore_index=True))
        about["runs"][name] = [*runs_before, _cost(cost, load(name.split("-")[0])) | by]
    earlier |= {name: about[name] for name in ("judge", "specification", "versions")}
    for place, what in ((path, about), (there, earlier)):
        place.write_text(json.dumps(what, indent=2) + "\n", encoding="utf-8")


def places(table: pd.DataFrame) -> set[Place]:
    """The places (`PLACES`) that the rows of a stored table answer for."""
    return set(table[PLACES].itertuples(index=False, name=None))


def _rows(table: pd.DataFrame, runs: Sequence[Run]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """What is complete of one template, and the same rows of the store's table."""
    data = load(runs[0].dataset)
    names = {prompt: attribute for run in runs for prompt, attribute in run.prompts().items()}
    rows = table[table["prompt"].isin(names)]
    context = {name: c for c, name in enumerate(data.context_ids)}
    item = {name: k for k, name in enumerate(data.candidate_ids)}
    columns = [name for name in rows if name.startswith("log_p_") and rows[name].notna().any()]
    judgements = rows[columns].round(DIGITS)
    judgements.insert(0, "attribute", rows["prompt"].map(names))
    # A prompt that shows no context, HANNA's for one, is about the only one there is.
    judgements.insert(1, "context", rows["context"].map(context).fillna(0).astype(int))
    judgements.insert(2, "first", rows["first"].map(item))
    judgements.insert(3, "second", rows["second"].map(item).fillna(-1).astype(int))
    n = data.n_candidates
    if any(run.quarters for run in runs):
        (run,) = runs
        complete = pd.Series(False, judgements.index)
        for (_, c), part in judgements.groupby(CONTEXT):
            calls = part[["first", "second"]].to_numpy(dtype=np.intp)
            complete[part.index] = whole_quarters(calls, run.in_quarters(data, int(c)))
    elif any(run.by_first for run in runs):
        text = [judgements["attribute"], judgements["context"], judgements["first"]]
        every = np.bincount(runs[0].design(data)[:, 0], minlength=n)[judgements["first"]]
        complete = judgements.groupby(text)["second"].transform("size") == every
    elif any(run.calls for run in runs):
        ends = np.sort(judgements[["first", "second"]].to_numpy(), axis=1)
        pair = [judgements["attribute"], judgements["context"], *ends.T]
        complete = judgements.groupby(pair)["first"].transform("size") == 2
    else:
        whole = n * (n - 1) if (judgements["second"] >= 0).all() else n
        complete = judgements.groupby(CONTEXT)["first"].transform("size") == whole
    return judgements[complete], rows[complete]


def _cost(rows: pd.DataFrame, data: Dataset) -> dict[str, Any]:
    """What these answers took, of which texts and when."""
    return {
        "answers": len(rows),
        **{name: int(rows[name].sum()) for name in ("tokens", "computed", "seconds")},
        "texts": _digest_of_texts(data),
        "first": rows["at"].min().isoformat(timespec="seconds"),
        "last": rows["at"].max().isoformat(timespec="seconds"),
    }


def _digest_of_texts(data: Dataset) -> str:
    texts = (x for c in range(data.n_contexts) for x in (data.context(c), *data.candidates(c)))
    return hashlib.sha256("".join(x.digest for x in texts if x is not None).encode()).hexdigest()


def _write(path: Path, table: pd.DataFrame) -> None:
    """The same bytes for the same table: no time of writing."""
    text = io.StringIO()
    table.to_csv(text, index=False, float_format=f"%.{DIGITS}f", lineterminator="\n")
    path.write_bytes(gzip.compress(text.getvalue().encode(), mtime=0))


if __name__ == "__main__":
    which, *rest = sys.argv[1:] or ["smollm2"]
    store = Path(rest[0] if rest else f"measured-{which}.sqlite")
    if rest[1:] and rest[1].isdigit():
        work(store, part=int(rest[1]), parts=int(rest[2]), which=which, names=rest[3:])
    else:
        measure(store, which, rest[1:])
