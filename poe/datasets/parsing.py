"""From the bytes of source files to a `Dataset`, checking what the registry promises."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from poe.datasets import cmcqrd, hanna, podcast, webnlg
from poe.datasets.dataset import Dataset
from poe.datasets.errors import InvalidDataError
from poe.datasets.reading import Parsed, expect, json_in, same_systems, text_in, way_to
from poe.datasets.registry import Attribute, Entry
from poe.datasets.safe_pickle import load_plain


def parse(entry: Entry, data: Mapping[str, bytes], provenance: dict[str, str]) -> Dataset:
    """Convert the files of a dataset into a `Dataset`.

    Parameters
    ----------
    entry : Entry
        What the registry says about the dataset.
    data : mapping of str to bytes
        The uncompressed files by role; optional ones may be absent.
    provenance : dict of str to str
        Kept with the result.

    Raises
    ------
    InvalidDataError
        If a file is not what the registry promises; the message names the context,
        the system and the attribute.
    """
    try:
        found = READERS[entry.main.format](entry, data)
        scores = {a.name: _scores(entry, a, found) for a in entry.attributes}
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise InvalidDataError(
            f"{entry.name}: the file is not laid out as expected ({type(error).__name__}: "
            f"{error}); get it again: {way_to(entry)}"
        ) from error
    return Dataset(
        name=entry.name,
        title=entry.title,
        contexts=found.contexts,
        context_ids=found.context_ids,
        candidate_ids=found.candidate_ids,
        texts=found.texts,
        scores=scores,
        source="real",
        provenance=provenance | dict(found.remarks),
        systems=found.systems,
    )


def _read_summeval(entry: Entry, data: Mapping[str, bytes]) -> Parsed:
    articles = load_plain(data["all"], what=f"the file of {entry.name}")
    expect(entry, "articles", len(articles), entry.contexts)
    ids = tuple(articles)
    systems = tuple(articles[ids[0]]["sys_summs"])
    expect(entry, f"summaries of article {ids[0]!r}", len(systems), entry.candidates)
    for key, article in articles.items():
        same_systems(entry, f"article {key!r}", tuple(article["sys_summs"]), systems)
    return Parsed(
        tuple(text_in(entry, article["src"]) for article in articles.values()),
        ids,
        systems,
        tuple(
            tuple(text_in(entry, summary["sys_summ"]) for summary in article["sys_summs"].values())
            for article in articles.values()
        ),
        [[s["scores"] for s in article["sys_summs"].values()] for article in articles.values()],
    )


def _read_topicalchat(entry: Entry, data: Mapping[str, bytes]) -> Parsed:
    items = json_in(entry, data["all"])
    n = entry.candidates
    expect(entry, "responses", len(items), entry.contexts * n)
    # The six responses to one dialogue lie in six successive items.
    groups = [items[start : start + n] for start in range(0, len(items), n)]
    systems = tuple(item["system_id"] for item in groups[0])
    for index, group in enumerate(groups):
        where = f"dialogue {index}"
        same_systems(entry, where, tuple(item["system_id"] for item in group), systems)
        if len({item["source"] for item in group}) != 1:
            raise InvalidDataError(f"{entry.name}: {where} mixes responses to several dialogues")
    return Parsed(
        tuple(text_in(entry, group[0]["source"]) for group in groups),
        tuple(f"dialogue-{index:02d}" for index in range(len(groups))),
        systems,
        tuple(tuple(text_in(entry, item["system_output"]) for item in group) for group in groups),
        [[item["scores"] for item in group] for group in groups],
    )


READERS: dict[str, Callable[[Entry, Mapping[str, bytes]], Parsed]] = {
    "summeval-pickle": _read_summeval,
    "topicalchat-json": _read_topicalchat,
    "hanna-metrics-csv": hanna.read,
    "cmcqrd-json": cmcqrd.read,
    "webnlg-csv": webnlg.read,
    "podcast-json": podcast.read,
}


def _scores(entry: Entry, attribute: Attribute, found: Parsed) -> NDArray[np.float64]:
    values = np.array([[float(scores[attribute.field]) for scores in row] for row in found.rows])
    # Written so that NaN and infinities fail as well.
    outside = ~((values >= attribute.low) & (values <= attribute.high) & np.isfinite(values))
    if outside.any():
        c, n = np.argwhere(outside)[0]
        raise InvalidDataError(
            f"{entry.name}: {attribute.name} of system {found.candidate_ids[n]!r} in context "
            f"{found.context_ids[c]!r} is {values[c, n]:g}, outside {attribute.low:g} to "
            f"{attribute.high:g}"
        )
    return values
