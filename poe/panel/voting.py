"""Every judge counts the same: average probability and majority vote."""

from __future__ import annotations

import numpy as np

from poe.comparisons import Floats
from poe.panel.judgements import Judgements
from poe.panel.result import Aggregation, nothing


def average_probability(given: Judgements) -> Aggregation:
    """Class of the largest mean probability (Algorithm 1); two classes: 1 if the mean exceeds 1/2.

    Means are over the judges that saw the sample. Decisions count as probabilities 0 and 1.
    """
    share = _mean(given.distribution(), given.seen)
    return _voted("average probability", given, share)


def majority_vote(given: Judgements) -> Aggregation:
    """Class that most judges chose (Algorithm 2); the first of the tied, so 0 of two.

    Skills are agreement with the majority of the *other* judges, which is not accuracy:
    judges that share their errors agree. Their standard errors are binomial.
    """
    share = _mean(given.hard().distribution(), given.seen)
    return _voted("majority vote", given, share)


def _mean(values: Floats, seen: np.ndarray) -> Floats:
    count = seen.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(seen[..., None], values, 0.0).sum(axis=1) / count[:, None]
    share[count == 0] = 1.0 / values.shape[2]
    return share


def _voted(method: str, given: Judgements, share: Floats) -> Aggregation:
    # Sums of different order differ in the last bit; what is equal but for that is a tie.
    near = share >= share.max(axis=1, keepdims=True) - 1e-12
    labels = np.argmax(near, axis=1)
    empty = ~given.seen.any(axis=1)
    ties = int(((near.sum(axis=1) > 1) & ~empty).sum())
    labels[empty] = -1
    confusion, se = agreement(given)
    message = f"{ties} ties went to the first class" if ties else "no ties"
    if empty.any():
        message += f"; {int(empty.sum())} samples were judged by nobody and have no label"
    return Aggregation(
        method,
        given.judges,
        given.classes,
        labels,
        share,
        confusion,
        se,
        _slope_se(se),
        np.full(given.n_classes, np.nan),
        message,
    )


def agreement(given: Judgements) -> tuple[Floats, Floats]:
    """(K, C, C) shares of what each judge says by the majority of the others, and errors.

    Samples whose other judges are tied or absent are left out; NaN where none remain.
    """
    k, c = len(given.judges), given.n_classes
    confusion, _ = nothing(k, c)
    se = np.full_like(confusion, np.nan)
    votes = np.stack([(given.decisions == b).sum(axis=1) for b in range(c)], axis=1)
    for judge in range(k):
        said, seen = given.decisions[:, judge], given.seen[:, judge]
        others = votes.copy()
        others[seen, said[seen]] -= 1
        top = np.sort(others, axis=1)
        clear = seen & (top[:, -1] > top[:, -2])
        cell = np.argmax(others, axis=1)[clear] * c + said[clear]
        count = np.bincount(cell, minlength=c * c).reshape(c, c).astype(float)
        total = count.sum(axis=1, keepdims=True)
        with np.errstate(invalid="ignore", divide="ignore"):
            confusion[judge] = count / total
            se[judge] = np.sqrt(confusion[judge] * (1.0 - confusion[judge]) / total)
    return confusion, se


def _slope_se(se: Floats) -> Floats:
    """Rows of a confusion matrix are independent samples, so variances add."""
    diagonal = np.diagonal(se, axis1=1, axis2=2)
    return np.sqrt((diagonal**2).sum(axis=1)) / (se.shape[1] - 1)
