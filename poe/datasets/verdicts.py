"""Recorded verdicts on pairs: LLMBar's and PandaLM's files as tidy tables.

`poe.judges.recorded` is the way in; it says what the columns mean.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from poe.datasets.errors import DataNotFoundError, InvalidDataError
from poe.datasets.reading import csv_in, expect, json_in, text_in
from poe.datasets.registry import Published

LLMBAR = ("set", "item", "judge", "strategy", "first", "p", "label", "independent")
PANDALM = ("item", "judge", "first", "second", "p", "people")
WINNERS = {"1": 1, "2": 2, "": None, None: None, 1: 1, 2: 2}
# What the two judges of PandaLM's files say, as P(first is better); None is no verdict.
GPT = {"1": 1.0, "2": 0.0, "Tie": 0.5, "garbage": None}
NUMBERS = {1: 1.0, 2: 0.0, 0: 0.5}

Verdict = tuple[str, int, str, str, Any, Any, int]  # set, item, judge, strategy, winners, label


def llmbar_from_files(source: Published, data: Mapping[str, bytes]) -> pd.DataFrame:
    """The verdicts of the derived CSV file, with the labels of the pairs' file."""
    pairs = llmbar_pairs(source, data["pairs"])
    labels = {
        (name, item): label
        for name, item, label in zip(pairs["set"], pairs["item"], pairs["label"], strict=True)
    }
    columns = ["set", "item", "judge", "prompt_strategy"]
    winners = ["winner_given_order", "winner_swapped_order"]
    rows: list[Verdict] = []
    for number, row in enumerate(csv_in(source, data["verdicts"], columns + winners), start=1):
        name, item, judge, strategy = (row[column] for column in columns)
        key = (name, int(item))
        if key not in labels:
            raise InvalidDataError(f"{source.name}: row {number} is about an unknown pair {key}")
        given, swapped = (_winner(source, row[column], f"row {number}") for column in winners)
        rows.append((*key, judge, strategy, given, swapped, labels[key]))
    return _tidy(rows)


def llmbar_pairs(source: Published, data: bytes) -> pd.DataFrame:
    """The pairs: set, item, input, output_1, output_2, label (which output is better)."""
    lines = [line for line in data.decode("utf-8").split("\n") if line.strip()]
    rows = [json_in(source, line.encode()) for line in lines]
    columns = ["set", "item", "input", "output_1", "output_2", "label"]
    return pd.DataFrame([{column: row[column] for column in columns} for row in rows])


def llmbar_from_clone(source: Published, folder: Path) -> pd.DataFrame:
    """The same table from the repository's own folders, Dataset/LLMBar and Dataset/Processed."""
    rows: list[Verdict] = []
    for name, place in _sets(folder / "Dataset"):
        for path in sorted(place.glob("evaluators/*/*/result.json")):
            judge, strategy = path.parts[-3], path.parts[-2]
            for item, entry in enumerate(json_in(source, path.read_bytes())):
                where = f"{path}, item {item}"
                given, swapped = _both(source, entry, where)
                rows.append((name, item, judge, strategy, given, swapped, int(entry["label"])))
    if not rows:
        raise DataNotFoundError(
            f"{source.name}: {folder} has no Dataset/LLMBar/*/evaluators/*/*/result.json; give "
            f"the folder of a clone: {source.main.obtain}"
        )
    return _tidy(sorted(rows, key=lambda row: (row[0], row[2], row[3], row[1])))


def _sets(dataset: Path) -> Iterator[tuple[str, Path]]:
    """Names of the sets, "Natural" or "Adversarial-Neighbor", and their folders."""
    for group in ("LLMBar", "Processed"):
        for place in sorted((dataset / group).glob("**/evaluators")):
            yield "-".join(place.parent.relative_to(dataset / group).parts), place.parent


def _both(source: Published, entry: Any, where: str) -> tuple[int | None, int | None]:
    try:
        results = entry["results"][0]
        orders = [results[f"swap = {swap}"].get("winner") for swap in (False, True)]
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise InvalidDataError(
            f"{source.name}: {where} is not laid out as expected ({type(error).__name__}: {error})"
        ) from error
    given, swapped = (_winner(source, value, where) for value in orders)
    return given, swapped


def _winner(source: Published, value: Any, where: str) -> int | None:
    if value not in WINNERS:
        raise InvalidDataError(f"{source.name}: {where} names {value!r} the winner, not 1 or 2")
    return WINNERS[value]


def _tidy(rows: list[Verdict]) -> pd.DataFrame:
    """Two rows a verdict pair, one an order shown."""
    found = []
    for name, item, judge, strategy, given, swapped, label in rows:
        # Swap strategies show both orders in one conversation, and Rating strategies rate each
        # output alone: the two verdicts are one opinion, written twice.
        independent = not strategy.startswith(("Swap", "Rating"))
        for first, winner in ((1, given), (2, swapped)):
            p = float("nan") if winner is None else float(winner == first)
            found.append((name, item, judge, strategy, first, p, label, independent))
    return pd.DataFrame(found, columns=list(LLMBAR))


def pandalm_from_files(source: Published, data: Mapping[str, bytes]) -> pd.DataFrame:
    """PandaLM's pairs with two judges' verdicts and the majority of three people."""
    pairs = {int(row["idx"]): row for row in json_in(source, data["pairs"])}
    rows = []
    for judge, field, meaning in (
        ("gpt-3.5-turbo", "gpt_result", GPT),
        ("pandalm-7b", "pandalm_result", NUMBERS),
    ):
        verdicts = {int(row["idx"]): row[field] for row in json_in(source, data[judge])}
        expect(source, f"verdicts of {judge}", len(verdicts), len(pairs))
        for item, pair in pairs.items():
            first, second = text_in(source, pair["cmp_key"]).split("_")
            if verdicts.get(item) not in meaning:
                raise InvalidDataError(
                    f"{source.name}: {judge} says {verdicts.get(item)!r} on pair {item}, which "
                    f"is none of {', '.join(map(repr, meaning))}"
                )
            p = meaning[verdicts[item]]
            rows.append((item, judge, first, second, p, _majority(source, item, pair)))
    table = pd.DataFrame(rows, columns=list(PANDALM))
    return table.assign(p=table["p"].astype(float))


def _majority(source: Published, item: int, pair: Mapping[str, Any]) -> float:
    votes = [pair[f"annotator{k}"] for k in (1, 2, 3)]
    most = max(votes, key=votes.count)
    if votes.count(most) < 2 or most not in NUMBERS:
        raise InvalidDataError(f"{source.name}: the votes on pair {item} are {votes}: no majority")
    return NUMBERS[most]
