"""How well predicted scores agree with human ones, at the three levels papers report.

Arrays hold contexts and candidates in their last two axes, (..., C, N); leading axes of the
prediction (draws, methods) are kept. Two scores within one part in a thousand million of a
context's range count as tied, so that rounding in a solver never decides a rank.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from poe.arrays import Floats

__all__ = [
    "Correlation",
    "dataset_level",
    "pearson",
    "ranks",
    "scale_separation_reliability",
    "spearman",
    "summary_level",
    "system_level",
]

Kind = Literal["spearman", "pearson"]


@dataclass(frozen=True, eq=False)
class Correlation:
    """A correlation and how it came about.

    value : (...) correlation, NaN where nothing could be used.
    used : number of contexts (or 1) whose gold scores vary.
    gold_constant : contexts left out because every gold score is the same.
    constant : (...) number of used contexts whose predictions are all equal.
    """

    value: Floats
    used: int
    gold_constant: int
    constant: NDArray[np.intp]


def spearman(x: ArrayLike, y: ArrayLike) -> Floats:
    """Spearman's correlation along the last axis, ties at their average rank (book eq. 3.6)."""
    return pearson(ranks(x), ranks(y))


def pearson(x: ArrayLike, y: ArrayLike) -> Floats:
    """Pearson's correlation along the last axis (book eq. 3.5); NaN where an input is constant."""
    a, b = (_centred(np.asarray(v, dtype=float)) for v in (x, y))
    scale = np.sqrt((a * a).sum(-1) * (b * b).sum(-1))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(scale > 0, (a * b).sum(-1) / scale, np.nan)


def scale_separation_reliability(scores: ArrayLike, errors: ArrayLike) -> float:
    """Share of the variance of scores (N,) that is no error, as comparative judgement reports it.

    SSR = 1 - mean(error^2) / var(scores), from the standard errors (N,) of one fit. It believes
    these errors, and that no score is too far out; where the answers chose the pairs both fail
    (Bramley and Vitello 2019; book, chapter 14).
    """
    s, e = np.asarray(scores, dtype=float), np.asarray(errors, dtype=float)
    return 1.0 - float(np.mean(e**2) / s.var(ddof=1))


def ranks(x: ArrayLike) -> Floats:
    """Ranks 1..N along the last axis, ties at their average."""
    from scipy.stats import rankdata  # takes long to import

    return np.asarray(rankdata(_levels(np.asarray(x, dtype=float)), axis=-1))


def summary_level(
    predicted: ArrayLike,
    gold: ArrayLike,
    *,
    kind: Kind = "spearman",
    constant: Literal["zero", "skip"] = "zero",
) -> Correlation:
    """Mean over contexts of the correlation within each context (book eq. 3.7).

    predicted (..., C, N), gold (C, N). A context whose gold scores are all equal has no
    correlation with anything and is left out and counted. A context where only the prediction is
    constant counts as a correlation of zero (the judge told nothing apart), or is left out
    with constant="skip", as averaging with NaNs ignored would do.
    """
    x, y = _pair(predicted, gold)
    varies = ~_is_constant(y)
    each = _correlate(x[..., varies, :], y[varies], kind)
    flat = np.isnan(each)
    if constant not in ("zero", "skip"):
        raise ValueError(f"constant must be 'zero' or 'skip', not {constant!r}")
    total, count = np.where(flat, 0.0, each).sum(-1), (~flat | (constant == "zero")).sum(-1)
    value = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return Correlation(value, int(varies.sum()), int((~varies).sum()), flat.sum(-1))


def dataset_level(predicted: ArrayLike, gold: ArrayLike, *, kind: Kind = "spearman") -> Correlation:
    """One correlation over all candidates of all contexts together (book eq. 3.8)."""
    x, y = _pair(predicted, gold)
    return _single(x.reshape(*x.shape[:-2], -1), y.ravel(), kind)


def system_level(predicted: ArrayLike, gold: ArrayLike, *, kind: Kind = "spearman") -> Correlation:
    """Correlation over candidates of their means over contexts (book eq. 3.9).

    Candidate n must be the same system in every context.
    """
    x, y = _pair(predicted, gold)
    return _single(_means(x), _means(y), kind)


def _means(x: Floats) -> Floats:
    # Scores centred in every context leave means that differ by rounding only: a tie.
    means, scale = x.mean(axis=-2), np.abs(x).max(axis=(-2, -1))
    same = means.max(axis=-1) - means.min(axis=-1) <= 1e-12 * scale
    return np.where(same[..., None], 0.0, means)


def _single(x: Floats, y: Floats, kind: Kind) -> Correlation:
    value = _correlate(x, y, kind)
    usable = not bool(_is_constant(y))
    return Correlation(value, int(usable), int(not usable), np.asarray(np.isnan(value) & usable))


def _correlate(x: Floats, y: Floats, kind: Kind) -> Floats:
    if kind not in ("spearman", "pearson"):
        raise ValueError(f"kind must be 'spearman' or 'pearson', not {kind!r}")
    return spearman(x, y) if kind == "spearman" else pearson(x, y)


def _pair(predicted: ArrayLike, gold: ArrayLike) -> tuple[Floats, Floats]:
    x, y = np.asarray(predicted, dtype=float), np.asarray(gold, dtype=float)
    if y.ndim != 2 or x.shape[-2:] != y.shape:
        raise ValueError(
            f"gold must have shape (contexts, candidates) and the prediction must end in it: "
            f"got {x.shape} and {y.shape}"
        )
    if np.isnan(x).any() or np.isnan(y).any():
        raise ValueError("a score is NaN; leave that context or candidate out")
    return x, y


def _levels(x: Floats) -> Floats:
    """Scores on a grid of a thousand-millionth of their range, so that rounding cannot rank."""
    low = x.min(axis=-1, keepdims=True)
    span = x.max(axis=-1, keepdims=True) - low
    noise = 1e-12 * np.abs(x).max(axis=-1, keepdims=True)
    return np.where(span > noise, np.round((x - low) / np.where(span > 0, span, 1.0), 9), 0.0)


def _centred(x: Floats) -> Floats:
    # A constant row must give exactly zero, not rounding that looks like variation.
    centred = x - x.mean(axis=-1, keepdims=True)
    return np.where(_is_constant(x)[..., None], 0.0, centred)


def _is_constant(x: Floats) -> NDArray[np.bool_]:
    span = x.max(axis=-1) - x.min(axis=-1)
    return np.asarray(span <= 1e-12 * np.abs(x).max(axis=-1))
