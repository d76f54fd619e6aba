"""Loading a dataset: people's scores from the package's own tables, texts when they are read."""

from __future__ import annotations

import gzip
import hashlib
import io
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judging.datasets import files
from judging.datasets.files import Entry, digest, info
from judging.datasets.originals import ALL, Content, parse
from judging.errors import DataNotFoundError, InvalidDataError, UnknownDatasetError
from judging.machine import data_dir
from judging.question import Text

Origin = Literal["real", "drawn"]
RATERS = 3  # the tables hold sums of so many scores
DRAWN_SEED = 2401
TOLERANCE = 1e-6  # between the scores of an original file and the labels


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """C contexts with N candidate texts each, scored by people for several attributes.

    entry : what the registry knows: name, title, licence with its notice, how to cite it.
    context_ids : C names; one where all texts are compared with all (HANNA, CMCQRD).
    candidate_ids : N names, of the systems that wrote them or their own, alike in every context.
    scores : for each attribute the (C, N) mean human scores, read-only, higher is better.
    read : reads the original file, when texts are first asked for.
    source : "real", or "drawn" at random because the real scores are not public (CMCQRD where you
        have no copy of your own).
    """

    entry: Entry
    context_ids: tuple[str, ...]
    candidate_ids: tuple[str, ...]
    scores: dict[str, NDArray[np.float64]]
    read: Callable[[], Content]
    source: Origin = "real"

    def __post_init__(self) -> None:
        # Labels are facts: no computation may change them by accident.
        for values in self.scores.values():
            values.setflags(write=False)

    @property
    def name(self) -> str:
        """Name in the registry."""
        return self.entry.name

    @cached_property
    def _content(self) -> Content:
        return self.read()

    @property
    def texts(self) -> tuple[tuple[str, ...], ...]:
        """`texts[c][n]` is what candidate n is in context c.

        Raises DataNotFoundError where the texts are not on this machine, and says how to get
        them.
        """
        return self._content.texts

    @property
    def contexts(self) -> tuple[str, ...]:
        """What the candidates answer to: the article, or the dialogue so far; else empty."""
        return tuple(self._content.contexts.values())

    @property
    def has_texts(self) -> bool:
        """Whether the texts are on this machine, and not the scores alone."""
        try:
            return bool(self.texts)
        except DataNotFoundError:
            return False

    @property
    def n_contexts(self) -> int:
        """C."""
        return len(self.context_ids)

    @property
    def n_candidates(self) -> int:
        """N."""
        return len(self.candidate_ids)

    @property
    def attributes(self) -> tuple[str, ...]:
        """Names of the scored attributes, in the paper's order."""
        return tuple(self.scores)

    def candidates(self, context: int = 0) -> tuple[Text, ...]:
        """The N texts of a context with their names, as judges take them; errors as `texts`."""
        return tuple(map(Text, self.candidate_ids, self.texts[context]))

    def context(self, context: int = 0) -> Text | None:
        """Return what all candidates answer to, None where that is nothing; errors as `texts`."""
        text = self.contexts[context]
        return Text(self.context_ids[context], text) if text else None

    def __repr__(self) -> str:
        drawn = "" if self.source == "real" else "; the scores are drawn at random"
        return (
            f"<Dataset {self.name!r}: {self.n_contexts} contexts x {self.n_candidates} candidates, "
            f"scored for {', '.join(self.scores)}{drawn}; licence: {self.entry.licence}>"
        )


def load(name: str, *, texts: bool = False) -> Dataset:
    """Contexts, candidates and human scores of a dataset; its texts when they are asked for.

    name : "summeval" (100 contexts x 16 candidates), "topicalchat" (60 x 6), "hanna" (1 x 1056),
        "cmcqrd" (1 x 658), "webnlg" (223 x 8) or "podcast" (179 x 15). The scores of the first
        three are part of the package; texts are in the folder `POE_DATA_DIR` or in the cache,
        where `judging data fetch NAME` puts them.
    texts : read the texts at once, so that their absence is an error now and not later.

    Raises UnknownDatasetError; DataNotFoundError where texts, or scores that are not public, are
    not on this machine, with the way to get them; InvalidDataError for a file that is not the
    pinned one, or not laid out as it should be.
    """
    entry = info(name)
    if not entry.attributes:
        raise UnknownDatasetError(f"{name!r} are verdicts on pairs: see judging.judges.recorded")
    if entry.labels:
        dataset = _labelled(entry)
    elif name == "cmcqrd" and files.find(entry.main) is None:
        dataset = _drawn(entry)
    else:
        dataset = _own(entry)
    if texts:
        _ = dataset.texts
    return dataset


@cache
def table(name: str) -> pd.DataFrame:
    """A table of data/labels as it is written there; data/labels/README.md explains it.

    Raises InvalidDataError where the file was changed.
    """
    path = data_dir() / "labels" / name
    data = path.read_bytes()
    data = gzip.decompress(data) if path.suffix == ".gz" else data
    if hashlib.sha256(data).hexdigest() != digest(name):
        raise InvalidDataError(f"{path} is not the table that was published: restore it")
    return pd.read_csv(io.BytesIO(data), dtype=str, keep_default_na=False)


def _labelled(entry: Entry) -> Dataset:
    rows = table(entry.labels)
    contexts = tuple(rows["context"].unique()) if "context" in rows else (ALL,)
    shape = (len(contexts), entry.candidates)
    means = {
        a.name: rows[a.name].astype(float).to_numpy().reshape(shape) / RATERS
        for a in entry.attributes
    }
    if entry.decimals is not None:
        means = {name: np.round(values, entry.decimals) for name, values in means.items()}
    candidates = tuple(rows["candidate"][: entry.candidates])

    def read() -> Content:
        content = parse(entry, files.read(entry.there))
        there = (tuple(content.contexts), content.candidates)
        if there != (contexts, candidates) or not all(
            np.allclose(content.scores[name], means[name], rtol=0, atol=TOLERANCE)
            for name in content.scores
        ):
            raise InvalidDataError(
                f"{entry.name}: the file of the texts is not of the version that the labels in "
                "data/labels are of"
            )
        return content

    return Dataset(entry, contexts, candidates, means, read)


def _own(entry: Entry) -> Dataset:
    """A dataset whose scores and texts are in the user's own copy."""
    content = parse(entry, files.read(entry.main))
    contexts = tuple(content.contexts)
    return Dataset(entry, contexts, content.candidates, content.scores, lambda: content)


def _drawn(entry: Entry) -> Dataset:
    """CMCQRD without a copy: 658 difficulties drawn from a normal distribution.

    Their real scale is not public, so this one has standard deviation 1, and as much again, a
    hundredth, comes from the mean of three raters.
    """
    _, rng = np.random.default_rng(DRAWN_SEED).spawn(2)
    shape = (entry.contexts, entry.candidates)
    kind, _, own = (rng.standard_normal(size) for size in ((1, shape[1]), (shape[0], 1), shape))
    quality = 0.7 * kind + 0.7 * own
    ratings = quality + 0.1 * rng.standard_normal((RATERS, *shape))
    ids = tuple(f"drawn-{n:04d}" for n in range(shape[1]))
    scores = {entry.attributes[0].name: ratings.sum(axis=0) / RATERS}
    return Dataset(
        entry, (ALL,), ids, scores, lambda: parse(entry, files.read(entry.main)), "drawn"
    )
