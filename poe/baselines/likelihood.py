"""The most likely ranking of the comparisons (comparative_assessment appendix B).

All rankings being equally likely beforehand, the most probable one maximises the likelihood
of what the judge said (its eq. 11). Either kind of likelihood is a sum over pairs of what is
earned by placing one item above the other, so finding it is a linear ordering problem.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from poe.baselines.linear_ordering import Ordering, linear_ordering
from poe.baselines.ranking import Ranking
from poe.comparisons import Comparisons, Floats, refuse_rows


@dataclass(frozen=True, eq=False)
class LikelihoodRanking(Ranking):
    """The most likely order found.

    log_likelihood : of the comparisons under this order. optimal : whether it is proven that
        none is more likely; otherwise it is the best that a local search found. unique :
        whether it is proven that no other order is as likely.
    accuracy : P(decision right), given or estimated (approximate likelihood only).
    agreement : weighted share of the judge's decisions that the order satisfies, ties half.
    """

    log_likelihood: float
    optimal: bool
    unique: bool
    agreement: float
    accuracy: float | None = None


def likelihood_ranking(
    comparisons: Comparisons,
    *,
    floor: float = 0.0,
    exact_up_to: int = 16,
    restarts: int = 20,
    seed: int = 0,
) -> LikelihoodRanking:
    """Ranking that maximises the likelihood of the probabilities (appendix B, eqs. 11 and 12).

    With z = 1 if the ranking places the first item above the second and 0 otherwise, the
    probability of a comparison that the judge calls p is p if z = 1 and 1 - p if z = 0. So

        P(C | ranking) = product over comparisons of p^z (1 - p)^(1 - z).

    The paper prints p^z + (1 - p)^(1 - z), which is p + 1 or 1 + (1 - p): at least one, and
    not the probability of anything. Its logarithm is not the sum of z log p and
    (1 - z) log(1 - p) either, and its maximum can be another ranking.

    Up to the constant sum of log(1 - p), the log-likelihood is the sum of logit(p) over the
    comparisons with z = 1, so scaling all logits does not move the ranking.

    floor : probabilities are moved into [floor, 1 - floor] before taking logarithms. Without
        it a p of exactly 0 or 1 is refused: it would forbid rankings for certain.
    exact_up_to, restarts, seed : see `linear_ordering`. Exact up to 16 items, and beyond where
        the comparisons contradict each other only within groups of up to 16.

    Raises ComparisonError, DisconnectedError with the items' names.
    """
    comparisons.require_connected()
    if not 0.0 <= floor < 0.5:
        raise ValueError(f"floor must lie in [0, 0.5), not {floor}")
    p = np.clip(comparisons.p, floor, 1.0 - floor)
    certain = (p == 0.0) | (p == 1.0)
    refuse_rows(
        certain,
        comparisons.first,
        comparisons.second,
        comparisons.items,
        lambda k: (
            f"p is {p[k]:g}, so a ranking against it would be impossible; "
            "give floor=1e-6, say, or use approximate_likelihood_ranking on decisions"
        ),
    )
    found = _best(comparisons, np.log(p), np.log1p(-p), exact_up_to, restarts, seed)
    return LikelihoodRanking(
        items=comparisons.items,
        order=found.order,
        log_likelihood=found.value,
        optimal=found.optimal,
        unique=found.unique,
        agreement=_agreement(comparisons, found),
    )


def approximate_likelihood_ranking(
    comparisons: Comparisons,
    *,
    accuracy: float | None = None,
    first_rate: float = 0.5,
    exact_up_to: int = 16,
    restarts: int = 20,
    seed: int = 0,
) -> LikelihoodRanking:
    """Ranking that maximises the likelihood of the decisions (appendix B, eqs. 11 and 13).

    A decision y = 1 says that the first item is better, z = 1 that the ranking says so. The
    four P(y | z) are set by two numbers of the judge, if either order is as likely to hold
    the better item first, P(z = 1) = 1/2:

        P(1 | 1) + P(0 | 0) = 2 accuracy,   P(1 | 1) + P(1 | 0) = 2 first_rate,

    so P(1 | 1) = accuracy + first_rate - 1/2 and P(1 | 0) = first_rate - accuracy + 1/2.

    first_rate : share of decisions for the first position, P(A) of eq. 8. At 1/2 every
        decision weighs the same and the answer is Kemeny's ranking, the one that contradicts
        the fewest decisions, whatever the accuracy. Otherwise a decision against the
        favoured position weighs more.
    accuracy : above 1/2. None estimates it together with the ranking, by maximum likelihood:
        it is then the share of decisions satisfied, which flatters the judge since the
        ranking was chosen to agree. Only for first_rate = 1/2.

    A p of exactly 1/2 is half a decision each way. The other arguments and errors are those
    of `likelihood_ranking`.
    """
    comparisons.require_connected()
    right, false_alarm = _conditionals(0.75 if accuracy is None else accuracy, first_rate)
    if accuracy is None and first_rate != 0.5:
        raise ValueError("give accuracy= as well: with a position bias the ranking depends on it")
    y = comparisons.hard().p
    above = y * np.log(right) + (1.0 - y) * np.log1p(-right)
    below = y * np.log(false_alarm) + (1.0 - y) * np.log1p(-false_alarm)
    found = _best(comparisons, above, below, exact_up_to, restarts, seed)
    total, agreement = found.value, _agreement(comparisons, found)
    if accuracy is None:
        accuracy = agreement
        total = comparisons.weight.sum() * _mean_log(agreement)
    return LikelihoodRanking(
        items=comparisons.items,
        order=found.order,
        log_likelihood=float(total),
        optimal=found.optimal,
        unique=found.unique,
        agreement=agreement,
        accuracy=float(accuracy),
    )


def _conditionals(accuracy: float, first_rate: float) -> tuple[float, float]:
    """P(y = 1 | z = 1) and P(y = 1 | z = 0)."""
    if not 0.5 < accuracy < 1.0:
        raise ValueError(f"accuracy must lie between 1/2 and 1, not {accuracy}")
    right, false_alarm = accuracy + first_rate - 0.5, first_rate - accuracy + 0.5
    if not (false_alarm > 0.0 and right < 1.0):
        low, high = accuracy - 0.5, 1.5 - accuracy
        raise ValueError(
            f"first_rate {first_rate:g} cannot go with accuracy {accuracy:g}: a judge right so "
            f"often picks the first position with a rate between {low:.3g} and {high:.3g}"
        )
    return right, false_alarm


def _best(
    comparisons: Comparisons,
    above: Floats,
    below: Floats,
    exact_up_to: int,
    restarts: int,
    seed: int,
) -> Ordering:
    """Best order, given what each comparison earns with its first item above and below."""
    gain = np.zeros((comparisons.n_items,) * 2)
    np.add.at(gain, (comparisons.first, comparisons.second), comparisons.weight * above)
    np.add.at(gain, (comparisons.second, comparisons.first), comparisons.weight * below)
    return linear_ordering(gain, exact_up_to=exact_up_to, restarts=restarts, seed=seed)


def _agreement(comparisons: Comparisons, found: Ordering) -> float:
    place = np.empty(comparisons.n_items, dtype=np.intp)
    place[found.order] = np.arange(comparisons.n_items)
    z = place[comparisons.first] < place[comparisons.second]
    y = comparisons.hard().p
    return float(np.average(np.where(z, y, 1.0 - y), weights=comparisons.weight))


def _mean_log(share: float) -> float:
    """Log-likelihood of a decision at the accuracy that equals the share satisfied."""
    return float(sum(q * np.log(q) for q in (share, 1.0 - share) if q > 0.0))
