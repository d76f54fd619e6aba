"""From the bytes of a source file to a `Dataset`, checking what the registry promises."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poe.datasets.dataset import Dataset
from poe.datasets.errors import InvalidDataError
from poe.datasets.registry import Attribute, Entry
from poe.datasets.safe_pickle import load_plain


def parse(entry: Entry, data: bytes, provenance: dict[str, str]) -> Dataset:
    """Convert a source file into a `Dataset`.

    Parameters
    ----------
    entry : Entry
        What the registry says about the dataset.
    data : bytes
        The uncompressed file.
    provenance : dict of str to str
        Kept with the result.

    Raises
    ------
    InvalidDataError
        If the file is not what the registry promises; the message names the context,
        the system and the attribute.
    """
    reader = {"summeval-pickle": _read_summeval, "topicalchat-json": _read_topicalchat}
    try:
        contexts, ids, systems, texts, rows = reader[entry.format](entry, data)
        scores = {a.name: _scores(entry, a, rows, ids, systems) for a in entry.attributes}
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise InvalidDataError(
            f"{entry.name}: the file is not laid out as expected ({type(error).__name__}: "
            f"{error}); fetch it again from {entry.url}"
        ) from error
    return Dataset(
        name=entry.name,
        title=entry.title,
        contexts=contexts,
        context_ids=ids,
        candidate_ids=systems,
        texts=texts,
        scores=scores,
        source="real",
        provenance=provenance,
    )


Texts = tuple[tuple[str, ...], ...]
Rows = list[list[dict[str, Any]]]
Parsed = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...], Texts, Rows]


def _read_summeval(entry: Entry, data: bytes) -> Parsed:
    articles = load_plain(data, what=f"the file of {entry.name}")
    _expect(entry, "articles", len(articles), entry.contexts)
    ids = tuple(articles)
    systems = tuple(articles[ids[0]]["sys_summs"])
    _expect(entry, f"summaries of article {ids[0]!r}", len(systems), entry.candidates)
    for key, article in articles.items():
        _same_systems(entry, f"article {key!r}", tuple(article["sys_summs"]), systems)
    return (
        tuple(_text(entry, article["src"]) for article in articles.values()),
        ids,
        systems,
        tuple(
            tuple(_text(entry, summary["sys_summ"]) for summary in article["sys_summs"].values())
            for article in articles.values()
        ),
        [[s["scores"] for s in article["sys_summs"].values()] for article in articles.values()],
    )


def _read_topicalchat(entry: Entry, data: bytes) -> Parsed:
    try:
        items = json.loads(data)
    except ValueError as error:
        raise InvalidDataError(
            f"{entry.name}: not a JSON file ({error}); fetch it again from {entry.url}"
        ) from error
    n = entry.candidates
    _expect(entry, "responses", len(items), entry.contexts * n)
    # The six responses to one dialogue lie in six successive items.
    groups = [items[start : start + n] for start in range(0, len(items), n)]
    systems = tuple(item["system_id"] for item in groups[0])
    for index, group in enumerate(groups):
        where = f"dialogue {index}"
        _same_systems(entry, where, tuple(item["system_id"] for item in group), systems)
        if len({item["source"] for item in group}) != 1:
            raise InvalidDataError(f"{entry.name}: {where} mixes responses to several dialogues")
    return (
        tuple(_text(entry, group[0]["source"]) for group in groups),
        tuple(f"dialogue-{index:02d}" for index in range(len(groups))),
        systems,
        tuple(tuple(_text(entry, item["system_output"]) for item in group) for group in groups),
        [[item["scores"] for item in group] for group in groups],
    )


def _expect(entry: Entry, what: str, got: int, expected: int) -> None:
    if got != expected:
        raise InvalidDataError(f"{entry.name}: {got} {what} where {expected} were expected")


def _same_systems(
    entry: Entry, where: str, got: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    if got != expected:
        raise InvalidDataError(
            f"{entry.name}: {where} has the systems {', '.join(map(str, got))}, "
            f"not {', '.join(map(str, expected))} in this order as the first one"
        )


def _text(entry: Entry, value: object) -> str:
    if not isinstance(value, str):
        raise InvalidDataError(f"{entry.name}: {value!r} stands where a text was expected")
    return value


def _scores(
    entry: Entry, attribute: Attribute, rows: Rows, ids: tuple[str, ...], systems: tuple[str, ...]
) -> NDArray[np.float64]:
    values = np.array([[float(scores[attribute.field]) for scores in row] for row in rows])
    # Written so that NaN fails as well.
    outside = ~((values >= attribute.low) & (values <= attribute.high))
    if outside.any():
        c, n = np.argwhere(outside)[0]
        raise InvalidDataError(
            f"{entry.name}: {attribute.name} of system {systems[n]!r} in context {ids[c]!r} is "
            f"{values[c, n]:g}, outside {attribute.low:g} to {attribute.high:g}"
        )
    return values
