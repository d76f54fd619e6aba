"""Recorded verdicts on pairs, and recorded scores: the tables of data/labels, made tidy."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from poe.datasets import files
from poe.datasets.dataset import RATERS, table
from poe.datasets.registry import info
from poe.errors import DataNotFoundError, InvalidDataError, JudgeError, name_some

LLMBAR = ("set", "item", "judge", "strategy", "first", "p", "label", "independent")
# A verdict in a table, as P(the first is better): 1 the first, 2 the second, 0 a tie.
CODES = {"1": 1.0, "2": 0.0, "0": 0.5, "": np.nan, "-": np.nan}
HANNA_JUDGES = ("Beluga-13B", "OrcaPlatypus", "Mistral-7B", "Llama-13B", "ChatGPT")
HANNA_PROMPTS = (1, 2, 3, 4)


def hanna(judge: str, prompt: int, attribute: str) -> NDArray[np.float64]:
    """The (1056,) scores of one judge, means of three generations; some lie below the scale."""
    sums = table("hanna-judges.csv.gz")[f"{judge} {prompt} {attribute}"]
    return sums.astype(float).to_numpy() / RATERS


def llmbar(sets: str | Sequence[str] | None = None) -> pd.DataFrame:
    """Verdicts of six language models under up to 15 prompts on LLMBar's pairs, both orders.

    Parameters
    ----------
    sets : str or sequence of str, optional
        "Natural", "Adversarial-Neighbor", ..., "MT-Bench"; all by default.

    Returns
    -------
    DataFrame
        A row a verdict: set, item, judge, strategy; first, the output (1 or 2) that was shown
        first; p = P(the one shown first is better), 1 or 0, NaN where no verdict could be read;
        label, the output that is better; independent, False where the two orders of a pair
        are one opinion (strategies Swap and Rating). `attrs` has kind, licence and citation.

    Raises
    ------
    JudgeError
        If a set is unknown.
    """
    wide = table("llmbar.csv.gz").astype({"item": int, "label": int})
    if sets is not None:
        wanted, there = ([sets] if isinstance(sets, str) else list(sets)), set(wide["set"])
        if unknown := [name for name in wanted if name not in there]:
            known = name_some(wide["set"].unique(), 20)
            raise JudgeError(f"no recorded set {unknown[0]!r}; there are {known}")
        wide = wide[wide["set"].isin(wanted)]
    asked = wide.melt(["set", "item", "label"], var_name="column", value_name="winners")
    asked = asked[asked["winners"] != ""]
    place = {name: k for k, name in enumerate(wide["set"].unique())}
    asked = asked.sort_values("set", key=lambda names: names.map(place), kind="stable")
    rows = asked.loc[asked.index.repeat(2), ["set", "item", "label"]].reset_index(drop=True)
    column = np.repeat(asked["column"].to_numpy(object), 2)
    parts = {name: name.split("/") for name in wide.columns[3:]}
    strategy = np.array([parts[name][1] for name in column], object)
    # The winner is named by its place in the data; p is about the one shown first.
    given, swapped = (asked["winners"].str[k].map(CODES) for k in (0, 1))
    rows = rows.assign(
        judge=[parts[name][0] for name in column],
        strategy=strategy,
        first=np.tile([1, 2], len(asked)),
        p=np.column_stack([given, 1.0 - swapped]).ravel(),
        # Swap strategies show both orders in one conversation, and Rating strategies rate each
        # output alone: the two verdicts are one opinion, written twice.
        independent=[not name.startswith(("Swap", "Rating")) for name in strategy],
    )
    return _marked(rows[list(LLMBAR)], "llmbar")


def llmbar_pairs() -> pd.DataFrame:
    """LLMBar's pairs themselves: set, item, input, output_1, output_2, label.

    They are read from a clone of the repository in POE_DATA_DIR/LLMBar, or a file made from one.

    Raises
    ------
    DataNotFoundError
        If neither is on this machine; the message says how to get it.
    """
    try:
        rows = list(map(json.loads, files.read(info("llmbar").main).decode().splitlines()))
    except DataNotFoundError:
        rows = list(_from_clone())
        if not rows:
            raise
    columns = ["set", "item", "input", "output_1", "output_2", "label"]
    pairs = pd.DataFrame([{column: row[column] for column in columns} for row in rows])
    known = table("llmbar.csv.gz")[["set", "item", "label"]]
    if not pairs[["set", "item", "label"]].astype(str).equals(known):
        raise InvalidDataError("llmbar: the pairs are not those of the verdicts in data/labels")
    return _marked(pairs, "llmbar")


def _from_clone() -> Iterator[dict[str, Any]]:
    for group in ("LLMBar", "Processed"):
        top = (files.data_folder() or files.cache_dir()) / "LLMBar" / "Dataset" / group
        for path in sorted(top.glob("**/dataset.json"), key=lambda path: path.as_posix()):
            name = "-".join(path.parent.relative_to(top).parts)
            for item, row in enumerate(json.loads(path.read_bytes())):
                yield {**row, "set": name, "item": item}


def pandalm() -> pd.DataFrame:
    """Verdicts of gpt-3.5-turbo and PandaLM-7B on 999 pairs of five models, one order.

    Returns
    -------
    DataFrame
        A row a verdict: item, judge, first and second (the models, as shown), p = 1, 0 or 1/2
        for a tie, NaN where no verdict could be read, and people, the majority of three
        annotators in the same coding. `attrs` has kind, licence and citation. With one order
        only, nothing can be said about position bias.
    """
    wide = table("pandalm.csv").astype({"item": int})
    people = wide[["annotator1", "annotator2", "annotator3"]]
    majority = people.mode(axis=1)[0].map(CODES)  # there always is one
    parts = [
        wide[["item", "first", "second"]].assign(
            judge=judge, p=wide[judge].map(CODES), people=majority
        )
        for judge in ("gpt-3.5-turbo", "pandalm-7b")
    ]
    columns = ["item", "judge", "first", "second", "p", "people"]
    return _marked(pd.concat(parts, ignore_index=True)[columns], "pandalm")


def _marked(rows: pd.DataFrame, name: str) -> pd.DataFrame:
    entry = info(name)
    rows.attrs = {"kind": "recorded", "licence": entry.licence, "citation": entry.citation}
    return rows
