"""One loaded dataset: contexts, candidate texts and what people thought of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Origin = Literal["real", "stand-in"]


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """C contexts with N candidate texts each, scored by people for several attributes.

    Attributes
    ----------
    name, title : str
        Name in the registry, and what it is in one line.
    contexts : tuple of str, length C
        What the candidates answer to: the article, or the dialogue so far.
    context_ids : tuple of str, length C
        Identifiers of the contexts in the source.
    candidate_ids : tuple of str, length N
        The systems that wrote the candidates; the same, in the same order, in every context.
    texts : tuple (length C) of tuples (length N) of str
        `texts[c][n]` is what system n wrote for context c.
    scores : dict of str to array (C, N)
        For each attribute the mean human score, read-only, higher is better.
    source : "real" or "stand-in"
        Whether texts and scores are the dataset's own or invented.
    provenance : dict of str to str
        Where the file was read from, its address, checksum, licence with its notice, and
        how to cite it; for a stand-in, that it is one and how it was made.
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

    def __repr__(self) -> str:
        lines = [
            f"<Dataset {self.name!r} ({self.source}): {self.title}",
            f"  {self.n_contexts} contexts x {self.n_candidates} candidates",
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
