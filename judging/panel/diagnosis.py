"""What a user without labels can notice, and how few labels notice the rest.

Without labels a panel whose majority is wrong looks like a panel whose majority is right: rename
the classes in truth and skills, and the likelihood is the same. What does show: that the naming
hangs by a thread, that a judge you would trust is said to be worse than chance, that judges err
together. What settles it is a handful of labels.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.stats import binom, binomtest

from judging.panel.dawid_skene import dawid_skene
from judging.panel.judgements import Judgements, PanelError
from judging.panel.voting import Aggregation, majority_vote

LARGE_Z = 4.0
SMALL_MARGIN = 0.1
LITTLE_AGREEMENT = 0.75
NEARLY_AS_GOOD = 10.0  # in log-likelihood
STARTS = 20  # judges whose own decisions begin a search
DRAWS = 5  # random beginnings


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """What may be wrong with an aggregation, found without labels.

    warnings : sentences, none where nothing was found. below_chance : judges whose slope is below
    zero. optima : of the likelihood, the best first. dependence : pairs of judges whose agreement
    the fitted skills do not explain, see `dependence`.
    """

    warnings: tuple[str, ...]
    below_chance: tuple[Hashable, ...]
    optima: tuple[Aggregation, ...]
    dependence: pd.DataFrame

    def __str__(self) -> str:
        return "\n".join(self.warnings) or "nothing suspicious; a few labels would still tell more"


def diagnose(given: Judgements, *, trusted: Hashable | None = None, seed: int = 0) -> Diagnosis:
    """Dawid and Skene's model of these judgements, looked at from all sides.

    trusted : a judge you would bet on, to see whether the panel calls it worse than chance.
    seed : of the random ones among the starts of the search for other optima.
    """
    aggregation = dawid_skene(given)
    pairs, best = dependence(given, aggregation), optima(given, seed=seed)
    below = tuple(given.judges[k] for k in np.flatnonzero(aggregation.slope < 0))
    notes = []
    if not aggregation.identified:
        notes.append("the skills are not identified: too few judges, or too much alike")
    # Near 0 the other naming of the classes is nearly as good, and then labels mean nothing.
    margin = float(np.average(aggregation.slope, weights=given.seen.sum(axis=0)))
    if abs(margin) < SMALL_MARGIN:
        notes.append(
            f"the mean slope is {margin:.2f}: which class is which hangs on a few judges, and the "
            "opposite labels fit as well; name a judge better than chance with trusted="
        )
    if below:
        notes.append(
            f"{len(below)} of {len(given.judges)} judges are said to be worse than chance: "
            f"{', '.join(map(repr, below[:6]))}"
        )
    if trusted in below:
        notes.append(
            f"{trusted!r}, which you trust, is among them: if it is better than chance, the labels "
            "are the wrong way round; use trusted="
        )
    strong = pairs[pairs["z"].abs() > LARGE_Z]
    if len(strong) > 0.05 * len(pairs):
        worst = pairs.loc[pairs["z"].idxmax()]
        notes.append(
            f"{len(strong)} of {len(pairs)} pairs of judges do not err independently (most: "
            f"{worst['judge']!r} and {worst['other']!r}, z = {worst['z']:.0f}): the "
            "probabilities are over-confident, and the common factor need not be the truth"
        )
    if len(best) > 1 and best[0].log_likelihood - best[1].log_likelihood < NEARLY_AS_GOOD:
        notes.append("the likelihood has another optimum nearly as good, with other labels")
    agree = float((aggregation.labels == majority_vote(given).labels).mean())
    if agree < LITTLE_AGREEMENT:
        notes.append(f"labels agree with the majority vote on {agree:.0%} of samples only")
    return Diagnosis(tuple(notes), below, best, pairs)


def dependence(given: Judgements, aggregation: Aggregation) -> pd.DataFrame:
    """One row for each pair of judges: agreement seen, agreement that the skills explain, and z.

    Under conditional independence two judges agree on a sample with probability
    sum_c pi_c sum_b C_kcb C_lcb, pi the mean posterior. z is the excess over its binomial error.
    """
    share = aggregation.probabilities.mean(axis=0)
    rows = []
    for k, j in combinations(range(len(given.judges)), 2):
        both = given.seen[:, k] & given.seen[:, j]
        n = int(both.sum())
        if not n:
            continue
        expected = float(share @ (aggregation.confusion[k] * aggregation.confusion[j]).sum(axis=1))
        agree = float((given.decisions[both, k] == given.decisions[both, j]).mean())
        se = np.sqrt(max(expected * (1 - expected), 1e-12) / n)
        z = (agree - expected) / se
        rows.append((given.judges[k], given.judges[j], n, agree, expected, z))
    return pd.DataFrame(rows, columns=["judge", "other", "n", "agreement", "expected", "z"])


def optima(given: Judgements, *, seed: int = 0) -> tuple[Aggregation, ...]:
    """Different optima of Dawid and Skene's likelihood from several starts, the best first.

    Starts are the majority, each judge's own decisions (of at most 20) and five random draws.
    """
    starts: list[dict[str, Any]] = [{}]
    starts += [{"start": np.maximum(said, 0)} for said in given.decisions.T[:STARTS]]
    starts += [{"start": "random", "seed": seed + r} for r in range(DRAWS)]
    kept: list[Aggregation] = []
    for fit in sorted((dawid_skene(given, **one) for one in starts), key=_badness):
        if all(_agreement(fit, old) <= 0.99 for old in kept):
            kept.append(fit)
    return tuple(kept)


def _badness(fit: Aggregation) -> float:
    return -fit.log_likelihood


def _agreement(one: Aggregation, other: Aggregation) -> float:
    """Share of equal labels; of two classes' or of opposite ones, for naming is arbitrary."""
    same = float((one.labels == other.labels).mean())
    return max(same, 1.0 - same) if len(one.classes) == 2 else same


class Check(NamedTuple):
    """Accuracy on a few labels: interval, and the chance of so few right at 1/2 or better."""

    accuracy: float
    low: float
    high: float
    p_better_than_chance: float
    n: int


def check_labels(
    aggregation: Aggregation, rows: Sequence[int], labels: ArrayLike, *, level: float = 0.95
) -> Check:
    """Measure accuracy on a few labels, its exact (Clopper-Pearson) interval, and a test.

    p_better_than_chance : probability of as few right as these, or fewer, if the labels of the
    aggregation were right half of the time. Small means that they are the wrong way round.
    """
    known = np.asarray(labels)
    if len(known) != len(rows) or not len(known):
        raise PanelError("give one label for each row, at least one")
    right, n = int((aggregation.labels[np.asarray(rows)] == known).sum()), len(known)
    exact = binomtest(right, n, 0.5, alternative="less")
    interval = binomtest(right, n).proportion_ci(level)
    return Check(right / n, interval.low, interval.high, float(exact.pvalue), n)


def labels_to_notice(accuracy: float, *, level: float = 0.05, power: float = 0.9) -> int:
    """Smallest number of random labels that expose labels of this accuracy below 1/2.

    With at least `power` the exact one-sided binomial test at `level` then rejects that half or
    more are right. Raises PanelError at 1/2 and above, where there is nothing to expose.
    """
    if not 0.0 <= accuracy < 0.5:
        raise PanelError("only labels that are wrong more often than right can be exposed")
    for n in range(1, 100_000):
        most = int(binom.ppf(level, n, 0.5))  # cdf >= level there, so often one too many
        most -= binom.cdf(most, n, 0.5) > level
        if most >= 0 and binom.cdf(most, n, accuracy) >= power:
            return n
    raise PanelError(f"accuracy {accuracy} is too near 1/2")
