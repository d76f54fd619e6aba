"""One loaded dataset: contexts, candidate texts and what people thought of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from poe.datasets.errors import DataNotFoundError
from poe.judges.questions import Text

Origin = Literal["real", "stand-in"]


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """C contexts with N candidate texts each, scored by people for several attributes.

    Attributes
    ----------
    name, title : str
        Name in the registry, and what it is in one line.
    contexts : tuple of str, length C
        What the candidates answer to: the article, or the dialogue so far. Where all texts
        are compared with all (HANNA, CMCQRD) there is one context, and it is empty.
    context_ids : tuple of str, length C
        Identifiers of the contexts in the source.
    candidate_ids : tuple of str, length N
        The systems that wrote the candidates, or the candidates' own names; the same, in the
        same order, in every context.
    texts : tuple (length C) of tuples (length N) of str
        `texts[c][n]` is what system n wrote for context c; empty where only the scores are on
        this machine, which `has_texts` tells.
    scores : dict of str to array (C, N)
        For each attribute the mean human score, read-only, higher is better.
    source : "real" or "stand-in"
        Whether texts and scores are the dataset's own or invented.
    provenance : dict of str to str
        Where the file was read from, its address, checksum, licence with its notice, and
        how to cite it; for a stand-in, that it is one and how it was made.
    systems : tuple of str, length N
        Who wrote each candidate, where candidates are not systems themselves; else empty.
    """

    name: str
    title: str
    contexts: tuple[str, ...]
    context_ids: tuple[str, ...]
    candidate_ids: tuple[str, ...]
    texts: tuple[tuple[str, ...], ...]
    scores: dict[str, NDArray[np.float64]]
    source: Origin
    provenance: dict[str, str]
    systems: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        # Labels are facts: no computation may change them by accident.
        for values in self.scores.values():
            values.setflags(write=False)

    @property
    def n_contexts(self) -> int:
        """Number of contexts, C."""
        return len(self.contexts)

    @property
    def n_candidates(self) -> int:
        """Number of candidates in each context, N."""
        return len(self.candidate_ids)

    @property
    def attributes(self) -> tuple[str, ...]:
        """Names of the scored attributes, in the paper's order."""
        return tuple(self.scores)

    @property
    def has_texts(self) -> bool:
        """Whether the texts are here, and not the scores alone."""
        return bool(self.texts)

    def candidates(self, context: int = 0) -> tuple[Text, ...]:
        """The N texts of a context with their names, as judges take them.

        Raises DataNotFoundError where only the scores are on this machine.
        """
        if not self.has_texts:
            raise DataNotFoundError(
                f"{self.name}: the scores are here, the texts are not "
                f"({self.provenance.get('texts', 'no reason known')}); a judge that reads needs "
                'them: add the file, or use source="stand-in" to try things out'
            )
        return tuple(
            Text(name, text)
            for name, text in zip(self.candidate_ids, self.texts[context], strict=True)
        )

    def context(self, context: int = 0) -> Text | None:
        """What the candidates answer to, or None where they share nothing."""
        text = self.contexts[context]
        return Text(self.context_ids[context], text) if text else None

    def __repr__(self) -> str:
        shape = f"{self.n_contexts} contexts x {self.n_candidates} candidates"
        if self.n_contexts == 1:
            shape = f"{self.n_candidates} candidates, all compared with all"
        lines = [
            f"<Dataset {self.name!r} ({self.source}): {self.title}",
            f"  {shape}" + ("" if self.has_texts else "; scores only"),
        ]
        for attribute, values in self.scores.items():
            tied = int((np.ptp(values, axis=1) == 0).sum())
            lines.append(
                f"  {attribute}: mean {values.mean():.3f}, "
                f"range {values.min():g} to {values.max():g}, "
                f"{tied} contexts with all scores equal"
            )
        lines.append(f"  licence: {self.provenance.get('licence', 'unknown')}>")
        return "\n".join(lines)
