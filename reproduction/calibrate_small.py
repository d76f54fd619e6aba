"""Calibrating twins of contexts with a few items: SummEval's and TopicalChat's.

For perceived qualities with correlation rho, a noise of tau units of quality and no bias, one
call decides a pair whose human scores differ by g (on the scale of quality) correctly with
probability Phi(rho g / s), s^2 = 2 (1 - rho^2) + tau^2. How sharply the judge speaks changes no
decision. So, given `shared`, the parameters of SummEval's and TopicalChat's twins separate:

1. the accuracy of single decisions and the full-set correlation of their win-ratio, both from
   one paper and one set of prompts, fix rho and tau of an attribute;
2. the first-position rate, the mean of Phi((rho g + bias) / s), fixes the bias under the
   prompts of that paper. The other paper's prompts differ and so do its biases (mean p 0.78 for
   Llama2-7B, whose rate is below a half here); it prints none for these datasets, so its twins
   have none;
3. what soft Bradley-Terry gains over the average probability in Pearson's correlation, all
   calls made, fixes the judge's sharpness: one for all attributes and all datasets, since the
   scale of its logits belongs to a model. Below `MIN_SHARPNESS` the gain is too small to be
   printed;
4. the full-set correlation of the average probability in the other paper, whose prompts differ,
   moves the rho of all attributes by one factor.

What the errors of a pair's two orders have in common, `shared`, is one number for all judges and
datasets. Single decisions do not depend on it, and what is averaged over all calls hardly does. A
fifth of the calls in both orders does: an error about the place cancels between the orders of a
pair, one about the items stays. So it is the number with which the judges of steps 1 to 4 have, on
average, the average probability from 48 calls that is printed in SHARED_ON, declared beforehand.

Mistral-7B has no printed accuracies. All its attributes share the level of step 4, and the
win-ratio from a fifth of the calls fixes one noise for them: the least there is, none, for what is
printed is no less than such a judge attains. So its noise is on a bound, which says little: some
noise would cost less than the win-ratio's own luck. The other bound is `MIN_SHARPNESS`. A parameter
on a bound has no standard error, and the file names it in `at_bound`.

All random numbers stay the same from call to call, so that every result is smooth in the
parameters and equations can be solved; each taste is used with its mirror image, which cancels
most of its luck. Noise and bias are in units of perceived quality until they are written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np
from scipy.optimize import brentq, root_scalar
from scipy.stats import norm

from judging.metrics import summary_level
from judging.simulated import correlated, simulated_answers
from poe import newton
from poe.arrays import Floats, Indices
from poe.choose.selection import select_stack
from poe.experts import BradleyTerry
from poe.scores import average_probability
from poe.stack import Stack
from reproduction.published import NAMES, number
from reproduction.twins import ATTRIBUTES, JUDGES, labels, quality_scores

TASTES = 50  # simulated tastes, each with its mirror image
PAIR_DRAWS = 4  # sets of pairs a taste
SEED = 20240501
MIN_SHARPNESS, MAX_SHARPNESS = 0.25, 16.0  # bounds of the sharpness
ROUNDING = 0.1 / 100.0 / np.sqrt(12.0)  # of a correlation or accuracy printed to a tenth
ALL_CALLS = {"summeval": "table5/{}/K240", "topicalchat": "table7/{}/K30"}
FEW_PAIRS = {"summeval": ("table5/{}/K48", 24), "topicalchat": ("table7/{}/K18", 9)}
DECIDED = tuple(judge for judge in JUDGES if judge != "Mistral-7B")  # with printed accuracies
SHARED_ON = tuple(f"poe_v2/table5/{judge}/K48/avg-prob" for judge in DECIDED)


@dataclass(frozen=True)
class Fitted:
    """Parameters of one twin, their standard errors and what it attains.

    The standard errors are by the delta method, from the rounding of what was printed and from
    what the taste of one judge, which is all that the paper saw, leaves open; None where nothing of
    the kind was calibrated. earlier : rho and bias under the other prompts.
    """

    rho: float
    noise: float
    bias: float = 0.0
    sharpness: float = 1.0
    rho_se: float | None = None
    noise_se: float | None = None
    sharpness_se: float | None = None
    reached: Mapping[str, float] = field(default_factory=dict)
    cells: tuple[str, ...] = ()
    earlier: tuple[float, float] | None = None

    @property
    def at_bound(self) -> tuple[str, ...]:
        """Parameters that the printed numbers would have beyond their bounds."""
        sharp = self.sharpness in (MIN_SHARPNESS, MAX_SHARPNESS)
        return tuple(n for n, at in (("noise", self.noise == 0.0), ("sharpness", sharp)) if at)


@dataclass(frozen=True)
class Shared:
    """Correlation of the errors of a pair's two orders, its standard error, and the cells."""

    value: float
    se: float
    cells: tuple[str, ...]


Twins = dict[tuple[str, str], Fitted]  # by (judge, attribute)
Sharpness = tuple[float, float | None]  # and its standard error


class Bench:
    """Answers to all calls about human scores (C, N), by 2 * `tastes` judges.

    Every method returns one value a judge: (2 * tastes,).
    """

    def __init__(self, gold: Floats, *, tastes: int = TASTES, shared: float = 0.0) -> None:
        rng = np.random.default_rng(SEED)
        self.gold = np.asarray(gold, dtype=float)
        n = self.gold.shape[-1]
        self.z = quality_scores(self.gold)
        left, right = np.triu_indices(n, 1)
        self.gaps = np.abs(self.z[..., left] - self.z[..., right]).ravel()  # unordered pairs
        self.taste = rng.standard_normal((tastes, *self.gold.shape))
        calls = rng.standard_normal((tastes, *self.gold.shape, n)).astype(np.float32)
        self.calls = correlated(calls, np.swapaxes(calls, -1, -2), shared).astype(np.float32)
        self.truth = np.sign(self.gold[:, :, None] - self.gold[:, None, :])

    def differences(self, rho: float, noise: float) -> Iterator[Floats]:
        """(C, N, N) differences of perceived quality, with noise, of one judge after another."""
        for taste, error in zip(self.taste, self.calls, strict=True):
            for mirrored in (taste, -taste):
                q = rho * self.z + np.sqrt(1.0 - rho**2) * mirrored
                yield q[..., :, None] - q[..., None, :] + noise * error

    def both_orders(self, twin: Fitted) -> Iterator[Floats]:
        """(C, N, N) probabilities averaged over both orders."""
        for d in self.differences(twin.rho, twin.noise):
            p = simulated_answers(d, sharpness=twin.sharpness)  # the noise is in d
            yield (p + 1.0 - np.swapaxes(p, -1, -2)) / 2.0

    def win_ratio(self, rho: float, noise: float) -> Floats:
        """Summary-level Spearman of the wins in all calls, both orders counted apart."""
        won = (_off_diagonal(np.sign(d)) for d in self.differences(rho, noise))
        wins = [each.sum(axis=-1) - each.sum(axis=-2) for each in won]
        return np.asarray(summary_level(np.stack(wins), self.gold).value)

    def accuracy(self, rho: float, noise: float) -> Floats:
        """Share of decisions that are right, over pairs whose human scores differ."""
        decided = self.truth != 0
        return np.array(
            [(np.sign(d) == self.truth)[decided].mean() for d in self.differences(rho, noise)]
        )

    def average_probability(self, twin: Fitted) -> Floats:
        """Summary-level Spearman of the average probability over all calls."""
        p = np.stack([_off_diagonal(one).sum(axis=-1) for one in self.both_orders(twin)])
        return np.asarray(summary_level(p, self.gold).value)

    def soft_gain(self, twin: Fitted, *, judges: int = 30) -> Floats:
        """Pearson of soft Bradley-Terry less that of the average probability, all calls.

        For the first `judges` only, each of which costs a fit in every context.
        """
        n = self.gold.shape[-1]
        left, right = np.triu_indices(n, 1)
        average, straight = [], []
        for one, _ in zip(self.both_orders(twin), range(judges), strict=False):
            pairs = np.broadcast_to(np.stack([left, right], -1), (len(one), len(left), 2))
            stack = Stack.of(n, pairs, one[:, left, right])
            average.append(average_probability(stack))
            straight.append(newton.solve(stack, BradleyTerry(), tol=1e-8).scores)
        value = [
            summary_level(np.stack(s), self.gold, kind="pearson").value for s in (straight, average)
        ]
        return np.asarray(value[0] - value[1])

    def few_wins(self, rho: float, noise: float, pairs: int) -> Floats:
        """Summary-level Spearman of the win-ratio from `pairs` pairs asked in both orders."""
        differences = self.differences(rho, noise)
        won = ((np.sign(d - np.swapaxes(d, -1, -2)) + 1.0) / 2.0 for d in differences)
        return self._few(won, pairs).mean(axis=-1)

    def few_averages(self, twin: Fitted, pairs: int) -> Floats:
        """The same of the average probability: (2 * tastes, PAIR_DRAWS), one a set of pairs."""
        return self._few(self.both_orders(twin), pairs)

    def _few(self, answers: Iterator[Floats], pairs: int) -> Floats:
        contexts, n = self.gold.shape
        rows = np.arange(contexts)[:, None]
        designs = _designs(2 * len(self.taste), contexts, n, pairs)
        scores = [
            [average_probability(Stack.of(n, ij, p[rows, ij[..., 0], ij[..., 1]])) for ij in of]
            for p, of in zip(answers, designs, strict=True)
        ]
        return np.asarray(summary_level(np.array(scores), self.gold).value)


@cache
def _designs(judges: int, contexts: int, n: int, pairs: int) -> Indices:
    """(judges, PAIR_DRAWS, contexts, pairs, 2) sets of pairs, the same for all that is compared."""
    sets = judges * PAIR_DRAWS * contexts
    drawn = select_stack(sets, n, pairs, rule="no-repeat", seed=SEED)
    return drawn.reshape(judges, PAIR_DRAWS, contexts, pairs, 2)


def _off_diagonal(values: Floats) -> Floats:
    n = values.shape[-1]
    values[..., np.arange(n), np.arange(n)] = 0.0
    return values


def benches_of(dataset: str, shared: float, *, tastes: int = TASTES) -> dict[str, Bench]:
    """One bench an attribute."""
    every = labels(dataset).scores.items()
    return {name: Bench(gold, tastes=tastes, shared=shared) for name, gold in every}


def calibrate_small(
    dataset: str,
    shared: float,
    sharpness: Mapping[str, Sharpness] | None = None,
    *,
    tastes: int = TASTES,
) -> Twins:
    """Every twin of SummEval or TopicalChat; the sharpness as found on SummEval, or anew."""
    benches = benches_of(dataset, shared, tastes=tastes)
    by_judge = {}
    for judge in JUDGES:
        start = from_decisions if judge in DECIDED else from_few_decisions
        twins = start(dataset, judge, benches)
        wanted, cells = soft_gain(judge)
        value, error = sharpness[judge] if sharpness else sharpness_for(wanted, benches, twins)
        twins = {
            name: replace(
                attained(benches[name], twin),
                sharpness=value,
                sharpness_se=error,
                cells=(*twin.cells, *cells),
            )
            for name, twin in twins.items()
        }
        twins = levelled(f"poe_v2/{ALL_CALLS[dataset].format(judge)}/avg-prob", benches, twins)
        by_judge.update({(judge, name): twin for name, twin in twins.items()})
    return by_judge


def shared_errors(*, tastes: int = TASTES, judges: int = 10) -> Shared:
    """Estimate what both orders share, from SHARED_ON on SummEval; its error as in `Fitted`.

    The sharpness of the judges, on which a little depends, is found for independent orders first
    (from so many `judges`) and then again with what they share.
    """
    printed = np.array([number(cell) for cell in SHARED_ON]) / 100.0
    value, step, sharpness = 0.0, -0.4, dict.fromkeys(DECIDED, 1.0)
    left: dict[float, Floats] = {}  # (judges, 2 * tastes, PAIR_DRAWS) at each value tried

    def at(shared: float) -> Iterator[tuple[str, dict[str, Bench], dict[str, Fitted]]]:
        benches = benches_of("summeval", shared, tastes=tastes)
        for judge in DECIDED:
            twins = from_decisions("summeval", judge, benches)
            scale = sharpness[judge]
            yield judge, benches, {n: replace(t, sharpness=scale) for n, t in twins.items()}

    def excess(shared: float) -> float:
        levels = []
        for judge, benches, twins in at(shared):
            level = f"poe_v2/{ALL_CALLS['summeval'].format(judge)}/avg-prob"
            twins = levelled(level, benches, twins)
            few = [benches[n].few_averages(t, FEW_PAIRS["summeval"][1]) for n, t in twins.items()]
            full = [benches[n].average_probability(t) for n, t in twins.items()]
            beyond = np.mean(few, axis=0) - np.mean(full, axis=0)[:, None]
            levels.append(beyond + number(level) / 100.0)
        left[shared] = np.array(levels) - printed[:, None, None]
        return float(left[shared].mean())

    for _ in range(2):
        sharpness = {
            judge: sharpness_for(soft_gain(judge)[0], benches, twins, judges=judges)[0]
            for judge, benches, twins in at(value)
        }
        left.clear()
        solution = root_scalar(excess, x0=value, x1=value + step, method="secant", xtol=0.005)
        value, step = float(np.clip(solution.root, -1.0, 1.0)), 0.1
    (low, high) = sorted(left, key=lambda tried: abs(tried - value))[1::-1]
    slope = (left[high].mean() - left[low].mean()) / (high - low)
    return Shared(value, _excess_se(left[high]) / abs(slope), SHARED_ON)


def _excess_se(left: Floats) -> float:
    """Standard error of the mean over judges: one's taste, rounding, our own sets of pairs."""
    # Two sets of pairs of one taste have nothing but the taste in common.
    tastes = [np.cov(one.T)[np.triu_indices(one.shape[-1], 1)].mean() for one in left]
    own = left.mean(axis=(0, 2)).var(ddof=1) / left.shape[1]
    theirs = (max(float(np.mean(tastes)), 0.0) + 2.0 * ROUNDING**2) / len(left)
    return float(np.sqrt(theirs + own))


def soft_gain(judge: str) -> tuple[float, tuple[str, ...]]:
    """Pearson of soft Bradley-Terry less that of the average probability, all calls, SummEval.

    Probabilities near 0 and 1 saturate, and the logistic expert straightens them; so the gain
    says how sharply the judge speaks. poe_v2 Table 6, and the cells.
    """
    cells = tuple(f"poe_v2/table6/{judge}/K240/{method}" for method in ("PoE-BT", "avg-prob"))
    return (number(cells[0]) - number(cells[1])) / 100.0, cells


def from_decisions(dataset: str, judge: str, benches: Mapping[str, Bench]) -> dict[str, Fitted]:
    """Steps 1 and 2, from comparative_assessment's Tables 6, 10 and 9 (SummEval: 5)."""
    rates = "table5" if dataset == "summeval" else "table9"
    twins = {}
    for label, attribute in ATTRIBUTES[dataset].items():
        start, end = "comparative_assessment", f"{judge}/{NAMES[dataset]}-{label}"
        cells = (
            f"{start}/table6/{end}/debiased",
            f"{start}/table10/{end}/debiased",
            f"{start}/{rates}/{end}/prompt1",
            f"{start}/{rates}/{end}/prompt2",
        )
        full, right, one, two = map(number, cells)
        fitted = calibrate(benches[attribute], full / 100.0, right / 100.0, (one + two) / 2.0)
        twins[attribute] = replace(fitted, cells=cells)
    return twins


def calibrate(bench: Bench, full: float, right: float, first: float) -> Fitted:
    """One attribute's rho, noise and bias.

    full : summary-level Spearman of the win-ratio of debiased decisions, all calls. right : share
    of debiased decisions as the human scores have it. first : share of decisions, not debiased, for
    the item shown first.
    """
    decided = bench.gaps[bench.gaps > 0]
    # Accuracy fixes the ratio of signal to spread; what is left is one unknown, rho.
    ratio = brentq(lambda r: float(norm.cdf(r * decided).mean()) - right, 1e-6, 20.0)

    def noise_at(rho: float) -> float:
        return float(np.sqrt(max((rho / ratio) ** 2 - 2.0 * (1.0 - rho**2), 0.0)))

    def excess(rho: float) -> float:
        return float(bench.win_ratio(rho, noise_at(rho)).mean()) - full

    quietest = float(np.sqrt(2.0 / (2.0 + 1.0 / ratio**2)))  # here the noise would be zero
    if excess(quietest) > 0:
        raise ValueError(
            f"no noise is small enough for accuracy {right:.3f} and a full-set correlation of "
            f"{full:.3f} together"
        )
    rho = brentq(excess, quietest, 0.999, xtol=1e-4)
    noise = noise_at(rho)
    bias = brentq(lambda b: first_position(bench.gaps, rho, noise, b) - first, -20.0, 20.0)
    return Fitted(rho, noise, earlier=(rho, bias))


def first_position(gaps: Floats, rho: float, noise: float, bias: float) -> float:
    """Share of decisions for the item shown first, each pair in both orders."""
    both = np.concatenate([gaps, -gaps])
    return float(norm.cdf((rho * both + bias) / _spread(rho, noise)).mean())


def _spread(rho: float, noise: float) -> float:
    """Standard deviation of a decision's quality difference beyond what z explains."""
    return float(np.sqrt(2.0 * (1.0 - rho**2) + noise**2))


def attained(bench: Bench, twin: Fitted) -> Fitted:
    """With its errors J^-1 S J^-T, S from rounding and one judge's taste, and what it attains."""
    rho, noise, step = twin.rho, twin.noise, 0.02
    bias = twin.earlier[1] if twin.earlier else 0.0

    def both(r: float, t: float) -> Floats:
        return np.array([bench.win_ratio(r, t).mean(), bench.accuracy(r, t).mean()])

    slopes = np.column_stack(
        [
            (both(rho + step, noise) - both(rho - step, noise)) / (2 * step),
            (both(rho, noise + step) - both(rho, max(noise - step, 0.0)))
            / (step + min(step, noise)),
        ]
    )
    full = bench.win_ratio(rho, noise)
    seen = np.cov(full, bench.accuracy(rho, noise)) + ROUNDING**2 * np.eye(2)
    inverse = np.linalg.inv(slopes)
    rho_se, noise_se = map(float, np.sqrt(np.diag(inverse @ seen @ inverse.T)))
    decided = bench.gaps[bench.gaps > 0]
    reached = {
        "win_ratio": float(full.mean()),
        "accuracy": float(norm.cdf(rho * decided / _spread(rho, noise)).mean()),
        "first_position": first_position(bench.gaps, rho, noise, bias),
    }
    return replace(twin, rho_se=rho_se, noise_se=noise_se if noise else None, reached=reached)


def from_few_decisions(dataset: str, judge: str, benches: Mapping[str, Bench]) -> dict[str, Fitted]:
    """The judge without printed accuracies: level and a few decisions, one noise for all."""
    level = number(f"poe_v2/{ALL_CALLS[dataset].format(judge)}/avg-prob") / 100.0
    place, count = FEW_PAIRS[dataset]
    few = f"poe_v2/{place.format(judge)}/win-ratio"

    def rho_at(bench: Bench, noise: float) -> float:
        def excess(rho: float) -> float:
            return float(bench.average_probability(Fitted(rho, noise)).mean()) - level

        return float(brentq(excess, 0.01, 0.999, xtol=1e-4))

    def lost(noise: float) -> float:  # more noise, worse decisions
        values = [b.few_wins(rho_at(b, noise), noise, count).mean() for b in benches.values()]
        return number(few) / 100.0 - float(np.mean(values))

    noise = _root(lost, 0.5, xtol=1e-3)
    return {n: Fitted(rho_at(bench, noise), noise, cells=(few,)) for n, bench in benches.items()}


def _root(excess: Callable[[float], float], step: float, *, xtol: float) -> float:
    """Where a rising function crosses zero, or 0 where it begins above."""
    if excess(0.0) >= 0:
        return 0.0
    low, high = 0.0, step
    while excess(high) < 0:
        low, high = high, 2.0 * high
    return float(brentq(excess, low, high, xtol=xtol))


def sharpness_for(
    wanted: float, benches: Mapping[str, Bench], twins: Mapping[str, Fitted], *, judges: int = 30
) -> Sharpness:
    """Step 3: the sharpness, with its error from rounding and one judge's taste.

    The gain falls again where every answer is certain and noisy, so the first crossing is
    taken, the least sharp judge that gains so much; and where the largest gain
    falls short of the printed one, the sharpness of the largest gain. That has no error, nor has
    `MIN_SHARPNESS`, where it suffices.
    """

    def gains(sharpness: float) -> Floats:
        sharp = {name: replace(twin, sharpness=sharpness) for name, twin in twins.items()}
        each = [bench.soft_gain(sharp[n], judges=judges) for n, bench in benches.items()]
        return np.asarray(np.mean(each, axis=0))

    grid, gained = np.geomspace(MIN_SHARPNESS, MAX_SHARPNESS, 13), list[float]()
    while len(gained) < len(grid) and (not gained or gained[-1] < wanted):
        gained.append(float(gains(grid[len(gained)]).mean()))
    at = len(gained) - 1
    if gained[at] < wanted:
        return float(grid[np.argmax(gained)]), None
    if at == 0:
        return MIN_SHARPNESS, None
    # The gain is nearly linear in the logarithm over one step.
    share = (wanted - gained[at - 1]) / (gained[at] - gained[at - 1])
    crossing = float(grid[at - 1] * (grid[at] / grid[at - 1]) ** share)
    slope = (gained[at] - gained[at - 1]) / (grid[at] - grid[at - 1])
    seen = np.sqrt(gains(crossing).var(ddof=1) + 2.0 * ROUNDING**2)
    return crossing, float(seen / slope)


def levelled(
    cell: str, benches: Mapping[str, Bench], twins: Mapping[str, Fitted]
) -> dict[str, Fitted]:
    """Step 4: all rho times one factor, so that the mean full-set correlation is as printed."""

    def moved(factor: float) -> dict[str, Fitted]:
        return {n: replace(t, rho=min(t.rho * factor, 0.999)) for n, t in twins.items()}

    def values(twins: Mapping[str, Fitted]) -> dict[str, float]:
        return {n: float(benches[n].average_probability(t).mean()) for n, t in twins.items()}

    def level(factor: float) -> float:
        return float(np.mean(list(values(moved(factor)).values())))

    wanted = number(cell) / 100.0
    near = wanted / level(1.0)  # the level is nearly proportional to rho
    scaled = moved(brentq(lambda f: level(f) - wanted, 0.8 * near, 1.2 * near, xtol=1e-4))
    full = values(scaled)
    return {
        name: replace(
            twin,
            cells=(*twin.cells, cell),
            reached={**twin.reached, "full_set": full[name]},
        )
        for name, twin in scaled.items()
    }
