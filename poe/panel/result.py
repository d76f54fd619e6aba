"""What an aggregation returns: labels, probabilities, and what it makes of each judge."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from poe.comparisons import Floats
from poe.panel.errors import AggregationError


@dataclass(frozen=True, eq=False)
class Aggregation:
    """Labels without reference labels, and how they were reached.

    method : its name. labels : (N,) class positions, -1 where nothing was known.
    probabilities : (N, C), what the method believes of each class.
    confusion : (K, C, C), entry [k, c, b] the estimate of P(judge k says b | truth c), eqs. 3
        and 4: p_0 and p_1 are its diagonal. NaN where the method has none.
    confusion_se : (K, C, C) standard errors, NaN where there are none; the method's docstring
        says what they cover. slope_se : (K,) that of the slope, NaN likewise.
    prior : (C,) class shares used or estimated, NaN where the method has none.
    context : (N, C) the bottleneck s_n, eq. 2, of methods with a context, else None.
    message : how the method fared and what to mind. converged : whether an iteration did.
    runs : one Aggregation a seed, of methods with seeds.
    """

    method: str
    judges: tuple[Hashable, ...]
    classes: tuple[Hashable, ...]
    labels: NDArray[np.integer[Any]]
    probabilities: Floats
    confusion: Floats
    confusion_se: Floats
    slope_se: Floats
    prior: Floats
    message: str
    converged: bool = True
    log_likelihood: float = float("nan")
    context: Floats | None = field(default=None, repr=False)
    runs: tuple[Aggregation, ...] = field(default=(), repr=False)

    @property
    def p(self) -> Floats:
        """(N,) probability of class 1, where there are two classes."""
        if len(self.classes) != 2:
            raise AggregationError("p is for two classes; use probabilities")
        return self.probabilities[:, 1]

    @property
    def slope(self) -> Floats:
        """(K,) p_0 + p_1 - 1 (eq. 6): 1 a perfect judge, 0 one that tells nothing.

        For C classes (sum of the diagonal - 1) / (C - 1), which is the same for two.
        """
        trace = np.trace(self.confusion, axis1=1, axis2=2)
        return (trace - 1.0) / (len(self.classes) - 1)

    def skills(self) -> pd.DataFrame:
        """One row a judge: slope, and for each class P(says it | it is true), with errors."""
        table: dict[str, Any] = {
            "judge": list(self.judges),
            "slope": self.slope,
            "slope_se": self.slope_se,
        }
        for c, name in enumerate(self.classes):
            table[f"p_{name}"] = self.confusion[:, c, c]
            table[f"p_{name}_se"] = self.confusion_se[:, c, c]
        return pd.DataFrame(table)

    def accuracy(self, truth: ArrayLike, *, rows: Any = slice(None)) -> float:
        """Share of labels equal to `truth` (N class positions), over `rows`.

        A sample without a label counts as wrong.
        """
        known = np.asarray(truth)
        if known.shape != self.labels.shape:
            raise AggregationError(
                f"truth has shape {known.shape}, the labels have {self.labels.shape}"
            )
        return float((self.labels[rows] == known[rows]).mean())


def nothing(k: int, c: int) -> tuple[Floats, Floats]:
    """A confusion and a slope array full of NaN."""
    return np.full((k, c, c), np.nan), np.full(k, np.nan)
