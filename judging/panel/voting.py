"""Votes in which every judge counts the same, Bayes' rule in which not, and what both return."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax

from judging.panel.judgements import Decisions, Judgements, PanelError
from poe.arrays import Floats

TINY = 1e-12  # a skill of exactly 0 or 1 would let one judge overrule all the others
TIE = 1e-12  # sums of different order differ in the last bit


def unknown() -> Floats:
    """NaN, for numbers that a method does not have."""
    return np.array(np.nan)


@dataclass(frozen=True, eq=False)
class Aggregation:
    """Labels without reference labels, and how they were reached.

    method : its name. labels : (N,) class positions, -1 where nothing was known.
    probabilities : (N, C), what the method believes of each class.
    message : how the method fared and what to mind. converged : whether an iteration did.
    identified : whether the judgements tell the skills at all.
    confusion : (K, C, C), entry [k, c, b] the estimate of P(judge k says b | truth c), eqs. 3
        and 4: p_0 and p_1 are its diagonal. Like the three that follow NaN where the method has
        none, as votes.
    confusion_se : (K, C, C) standard errors; the method's docstring says what they cover.
        slope_se : (K,) that of the slope; by default that of independent rows.
    prior : (C,) class shares used or estimated.
    context : (N, C) the bottleneck s_n, eq. 2, of methods with a context, else None.
    """

    method: str
    judges: tuple[Hashable, ...]
    classes: tuple[Hashable, ...]
    labels: NDArray[np.integer[Any]]
    probabilities: Floats
    message: str
    confusion: Floats = field(default_factory=unknown)
    confusion_se: Floats = field(default_factory=unknown)
    slope_se: Floats = field(default_factory=unknown)
    prior: Floats = field(default_factory=unknown)
    converged: bool = True
    identified: bool = True
    log_likelihood: float = float("nan")
    context: Floats | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        k, c = len(self.judges), len(self.classes)
        for name, shape in (("confusion", (k, c, c)), ("confusion_se", (k, c, c)), ("prior", (c,))):
            object.__setattr__(self, name, np.broadcast_to(getattr(self, name), shape))
        if not self.slope_se.ndim:
            diagonal = np.diagonal(self.confusion_se, axis1=1, axis2=2)
            object.__setattr__(self, "slope_se", np.sqrt((diagonal**2).sum(axis=1)) / (c - 1))

    @property
    def p(self) -> Floats:
        """(N,) probability of class 1, where there are two classes."""
        if len(self.classes) != 2:
            raise PanelError("p is for two classes; use probabilities")
        return self.probabilities[:, 1]

    @property
    def slope(self) -> Floats:
        """(K,) p_0 + p_1 - 1 (eq. 6): 1 a perfect judge, 0 one that tells nothing.

        For C classes (sum of the diagonal - 1) / (C - 1), which is the same for two.
        """
        trace = np.trace(self.confusion, axis1=1, axis2=2)
        return (trace - 1.0) / (len(self.classes) - 1)

    def skills(self) -> pd.DataFrame:
        """One row for each judge: slope, and P(says it | it is true) of each class, with errors."""
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
        return float((self.labels[rows] == np.asarray(truth)[rows]).mean())


def posterior(prior: Floats, confusion: Floats, decisions: Decisions) -> Floats:
    """P(c_n | X_n, b_n) under conditional independence (eq. 8; appendix F), (N, C).

    Proportional to s_nc times the product over judges of P(b_nk | c). prior : (C,) or (N, C),
    the bottleneck s_n or class shares. confusion : (K, C, C) or (N, K, C, C), [.., c, b] the
    probability of saying b when c is true. decisions : (N, K), -1 where missing, which leaves
    the factor out. For two classes the odds [:, 1] / [:, 0] are the paper's r_n.
    """
    seen = decisions >= 0
    said = np.maximum(decisions, 0).astype(np.intp)
    log_c = np.log(np.clip(confusion, TINY, None))
    total = np.log(np.clip(np.broadcast_to(prior, (len(said), confusion.shape[-1])), TINY, 1.0))
    rows = np.arange(len(said))
    for k in range(said.shape[1]):
        log_p = log_c[k][:, said[:, k]].T if confusion.ndim == 3 else log_c[rows, k, :, said[:, k]]
        total = total + np.where(seen[:, k, None], log_p, 0.0)
    return np.asarray(softmax(total, axis=-1))


def mean_probability(given: Judgements) -> Aggregation:
    """Class of the largest mean probability (Algorithm 1); two classes: 1 if the mean exceeds 1/2.

    Means are over the judges that saw the sample. Decisions count as probabilities 0 and 1.
    """
    return _vote("average probability", given, given.distribution())


def majority_vote(given: Judgements) -> Aggregation:
    """Class that most judges chose (Algorithm 2); the first of the tied, so 0 of two."""
    return _vote("majority vote", given, given.hard().distribution())


def _vote(method: str, given: Judgements, votes: Floats) -> Aggregation:
    count = given.seen.sum(axis=1)
    empty = count == 0
    share = np.where(given.seen[..., None], votes, 0.0).sum(axis=1) / np.maximum(count, 1)[:, None]
    share[empty] = 1.0 / given.n_classes
    best = share >= share.max(axis=1, keepdims=True) - TIE
    labels = np.argmax(best, axis=1)
    labels[empty] = -1
    ties = int(((best.sum(axis=1) > 1) & ~empty).sum())
    message = f"{ties} ties went to the first class" if ties else "no ties"
    if empty.any():
        message += f"; {int(empty.sum())} samples were judged by nobody and have no label"
    return Aggregation(method, given.judges, given.classes, labels, share, message)
