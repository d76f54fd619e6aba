"""How answers scatter around fitted scores, and how sure that leaves the scores.

An interval needs the variance of one answer and, where a pair was asked more than once, the
covariance of two answers about it: a judge that is shown the pair again, also in the other order,
repeats part of its error. Both are pooled over all answers and estimated from the residuals. The
sandwich H^-1 M H^-1 (book eq. 14.7) turns them into a covariance of the scores.

Every answer has a row x in the unknowns, (N + 1,): +1 at one item, -1 at the other, and at the
bias. A weight of two is two rows, here as everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from poe.arrays import Floats, Indices, Mask
from poe.comparisons import Comparisons
from poe.stack import Problem, Stack, by_item, laplacian, pseudo_inverse

FEWEST = 1  # residual degrees of freedom from which a scatter is taken
MIN_SCATTER = 1e-3  # the smallest size: a judge that is exactly Bradley-Terry still rounds
UNEVEN = 1e-4  # of slopes, the smallest over the largest, below which digits are at stake
BLOCK = 2048  # pairs at once
MISS = 0.1  # all answers together miss by this at least: of a coin flip's error, or in logits


@dataclass(frozen=True)
class Scatter:
    """How answers p scatter around fitted probabilities q: variance size^2 (q (1 - q))^power.

    power 1 : like decisions, of which size 1 is one and size 1/sqrt(n) the mean of n.
    power 2 : like noise in the logit of p, with standard deviation `size`.
    power 0 : of Gaussian experts, whose sigma `size` is.
    shared : correlation of the errors of two answers about one pair of items, in whatever order.
    freedom : degrees of freedom of Student's t for an error over its standard error.
    """

    power: int
    size: float
    shared: float = 0.0
    freedom: float = np.inf


@dataclass(frozen=True)
class Prior:
    """The prior s ~ N(0, tau^2 I) of largest evidence, and the noise sigma of an opinion.

    ratio : lambda = sigma^2 / tau^2. evidence : log marginal likelihood of the opinions.
    parameters : tr L (L + lambda I)^-1, of the N - 1 differences how many the answers determine.
    limit : 0, or the end at which lambda was found: -1 where the evidence rises as lambda falls
    to 0 (answers without noise: the paper's Gaussian experts), 1 where it rises for ever (answers
    that tell nothing: scores in the order of the summed opinions, next to no spread). Numbers, or
    for a stack (D,) arrays.
    """

    ratio: Any
    sigma: Any
    tau: Any
    evidence: Any
    parameters: Any
    limit: Any


@dataclass(frozen=True, eq=False)
class Answers:
    """A judge's answers, a prior's ties left out, by the pair that each is about.

    pairs : one problem of P pairs, lower position first. group : (K,) the pair of each answer.
    turned : (K,) the bias' entry of its row x, as seen from the lower position. weight : (K,).
    residual : (K,) what the fit leaves, seen alike. slope : (K,) how the fitted answer moves with
    the difference.
    """

    pairs: Stack
    group: Indices
    turned: Floats
    weight: Floats
    residual: Floats
    slope: Floats

    @classmethod
    def of(
        cls, c: Comparisons, real: Mask, residual: Floats, slope: Floats, tilt: Floats
    ) -> Answers:
        """From residuals in the order shown; tilt : (K,) what the bias is multiplied by."""
        first, second, n = c.first[real], c.second[real], c.n_items
        codes, group = np.unique(
            np.minimum(first, second) * n + np.maximum(first, second), return_inverse=True
        )
        low, high = np.divmod(codes, n)
        side = np.where(first < second, 1.0, -1.0)
        nothing = np.zeros(len(codes))
        return cls(
            Stack(n, low, high, nothing, nothing),
            group,
            side * tilt[real],
            c.weight[real],
            side * residual[real],
            slope[real],
        )

    def along(self, x: Floats) -> Floats:
        """(K,) the row of each answer times x, (N + 1,)."""
        low, high = self.pairs.first, self.pairs.second
        return (x[low] - x[high])[self.group] - self.turned * x[-1]

    def against(self, values: Floats) -> Floats:
        """(N + 1,) sum over repeats of values times rows."""
        of_pairs = self.total(values)
        return np.append(
            by_item(self.pairs, of_pairs, -of_pairs), -self.weight @ (values * self.turned)
        )

    def total(self, values: Floats) -> Floats:
        """(P,) sums over repeats."""
        return np.asarray(np.bincount(self.group, self.weight * values), dtype=float)

    def singly(self, values: Floats) -> Floats:
        """(N + 1, N + 1) sum of values x x' over repeats."""
        tilted = values * self.turned
        return _crossed(
            self.pairs, self.total(values), self.total(tilted), self.total(tilted * self.turned)
        )

    def jointly(self, values: Floats, times: Floats | float = 1.0) -> Floats:
        """(N + 1, N + 1) sum over pairs of times y y', y the sum of values x over repeats."""
        own, tilted = self.total(values), self.total(values * self.turned)
        return _crossed(self.pairs, times * own**2, times * own * tilted, times * tilted**2)


def estimate(
    answers: Answers, powers: tuple[int, ...], *, size: float | None, paired: bool, toss: float
) -> Scatter | None:
    """The scatter of some answers, or None where too few of them are left to tell it.

    powers : of q (1 - q), of which the one with the highest restricted likelihood is taken.
    size : where it is known. paired : whether answers about one pair may share errors. toss : the
    standard deviation of a coin flip's opinion, in power 0. All answers together miss by `MISS` at
    the least, so that few which happen to agree are no certainty; among many it is nothing.
    """
    repeats, n = answers.total(np.ones(len(answers.weight))), answers.pairs.n_items
    couples = paired and bool((repeats > 1.0 + 1e-9).any())
    if size is not None and not couples:
        return None
    # A bias that cancels within every pair takes nothing from what pairs tell.
    uneven = answers.total(answers.turned) if couples else answers.turned
    known = float(len(repeats) if couples else repeats.sum())
    freedom = known - n + 1 - bool(np.abs(uneven).max() > 1e-9)
    if freedom < FEWEST - 1e-9:
        return None
    left = min((remainder(answers, power) for power in powers), key=lambda one: one.unlikely)
    own, shared = left.squares / left.freedom, 0.0
    least = max(MISS * (1.0 if left.power else toss) / np.sqrt(left.freedom), MIN_SCATTER)
    if couples:
        alone, common = np.linalg.solve(*moments(answers, left))
        own = max(float(alone + common), least**2)
        # Further below the mean of a pair's answers would have a negative variance.
        lowest = -(1.0 - MIN_SCATTER) / max(float(repeats.max()) - 1.0, 1.0)
        shared = float(np.clip(common / own, lowest, 1.0))
    size = max(float(np.sqrt(own)), least) if size is None else size
    return Scatter(left.power, size, shared, freedom)


class Left(NamedTuple):
    """What least squares leaves of standardised residuals, in one power of q (1 - q).

    unlikely : restricted likelihood, minus twice, up to a constant. u : (K,) standardised slopes.
    z : (K,) what is left, (1 - U G U') e, e the standardised errors and U the rows times u.
    inverse : (N + 1, N + 1) G = (U' U)^-1. squares : of z, summed over repeats.
    """

    power: int
    unlikely: float
    u: Floats
    z: Floats
    inverse: Floats
    squares: float
    freedom: float


def remainder(answers: Answers, power: int) -> Left:
    """The residuals after least squares: smaller than the errors by known amounts.

    The fit has made them smaller too, and most so where its experts are stiffest; but the part that
    is orthogonal to the rows, which least squares leaves, is unaffected by it.
    """
    weight, n = answers.weight, answers.pairs.n_items
    slope, tilted = np.maximum(answers.slope, 1e-12), bool(answers.turned.any())
    u, z = slope ** (1.0 - power / 2.0), answers.residual / slope ** (power / 2.0)
    uu = answers.singly(u * u)
    inverse = pseudo_inverse(uu, bias=True)
    z = z - u * answers.along(inverse @ answers.against(u * z))
    squares, freedom = float(weight @ z**2), float(weight.sum()) - n + 1 - tilted
    free = slice(1, n + tilted)
    unlikely = (
        freedom * np.log(max(squares / freedom, MIN_SCATTER**2))
        + power * float(weight @ np.log(slope))
        + float(np.linalg.slogdet(uu[free, free])[1])
    )
    return Left(power, unlikely, u, z, inverse, squares, freedom)


def moments(answers: Answers, left: Left) -> tuple[Floats, Floats]:
    """Two equations for the two components of variance, expected (2, 2) and observed (2,).

    Observed are the sum of squares and the sum of squared sums over pairs; expected is what a unit
    of variance of every answer's own and a unit common to its pair bring to each. Both add up over
    contexts.
    """
    repeats, u = answers.total(np.ones(len(left.z))), left.u
    inverse, uju = left.inverse, answers.jointly(u)
    moved = inverse @ uju
    crossed = float(repeats.sum() - np.trace(moved))
    pairs = float((repeats**2).sum() + np.sum(moved * moved.T)) - 2.0 * float(
        np.sum(inverse * answers.jointly(u, repeats))
    )
    expected = np.array([[left.freedom, crossed], [crossed, pairs]])
    sums = float((answers.total(left.z) ** 2).sum())
    return expected, np.array([left.squares, sums])


def sandwich(answers: Answers, bread: Floats, scatter: Scatter) -> Floats:
    """(N + 1, N + 1) covariance of scores and bias, H^-1 M H^-1 (book eq. 14.7)."""
    t = np.maximum(answers.slope, 1e-12) ** (scatter.power / 2.0)
    if answers.slope.min() > UNEVEN * answers.slope.max():
        filling = (1.0 - scatter.shared) * answers.singly(t * t)
        filling += scatter.shared * answers.jointly(t)
        joint = scatter.size**2 * bread @ filling @ bread
        return np.asarray(0.5 * (joint + joint.T))
    # Where answers nearly separate items, entries of H^-1 are huge. They cancel in H^-1 x, and what
    # is left of them need not cancel again in a sum of squares of these.
    pairs, bias, joint = answers.pairs, bread[-1], np.zeros_like(bread)
    alone, tilted, twice = (answers.total(t * t * answers.turned**k) for k in range(3))
    both, leaning = answers.total(t), answers.total(t * answers.turned)
    for some in np.array_split(np.arange(len(both)), len(both) // BLOCK + 1):
        rows = bread[pairs.first[some]] - bread[pairs.second[some]]
        own = np.sqrt(alone[some, None]) * (rows - (tilted / alone)[some, None] * bias)
        couple = both[some, None] * rows - leaning[some, None] * bias
        joint += (1.0 - scatter.shared) * own.T @ own + scatter.shared * couple.T @ couple
    rest = (1.0 - scatter.shared) * float((twice - tilted**2 / alone).sum())
    return np.asarray(scatter.size**2 * (joint + rest * np.outer(bias, bias)))


def curvature(c: Comparisons, stiffness: Floats, tilt: Floats) -> Floats:
    """(N + 1, N + 1) sum of stiffness x x' over comparisons."""
    return _crossed(c, stiffness, stiffness * tilt, stiffness * tilt**2)


def _crossed(pairs: Problem, items: Floats, border: Floats, corner: Floats) -> Floats:
    n = pairs.n_items
    made = np.zeros((n + 1, n + 1))
    made[:n, :n] = laplacian(pairs, items)
    made[n, :n] = made[:n, n] = by_item(pairs, -border, border)
    made[n, n] = corner.sum()
    return made
