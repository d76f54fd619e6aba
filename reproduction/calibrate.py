"""Calibration of the twins of contexts: SummEval and TopicalChat.

For perceived qualities with correlation rho, a noise of tau units of quality and no bias, one
call decides a pair whose human scores differ by g (on the scale of quality) correctly with
probability Phi(rho g / s), s^2 = 2 (1 - rho^2) + tau^2. How sharply the judge speaks changes no
decision. So the parameters separate:

1. the accuracy of single decisions and the full-set correlation of their win-ratio, both from
   one paper and one set of prompts, fix rho and tau of an attribute;
2. the first-position rate, the mean of Phi((rho g + bias) / s), fixes the bias under the
   prompts of that paper. The other paper's prompts differ and so do its biases (mean p 0.78 for
   Llama2-7B, whose rate is below a half here); it prints none for these datasets, so its twins
   have none;
3. what soft Bradley-Terry gains over the average probability in Pearson's correlation, all
   calls made, fixes the judge's sharpness: one for all attributes and all datasets, since the
   scale of its logits belongs to a model. Below `LEAST` the gain is too small to be printed;
4. the full-set correlation of the average probability in the other paper, whose prompts differ,
   moves the rho of all attributes by one factor.

Mistral-7B has no printed accuracies. All its attributes share the level of step 4, and the
win-ratio from a fifth of the calls fixes one noise for them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm

from poe.comparisons import Floats
from reproduction import facts
from reproduction.bench import Bench
from reproduction.decisions import accuracy, bias_for, first_position, pair_gaps

LEAST, MOST = 0.25, 16.0  # bounds of the sharpness
ROUNDING = 0.1 / 100.0 / np.sqrt(12.0)  # of a correlation or accuracy printed to a tenth


@dataclass(frozen=True)
class Fitted:
    """Parameters of one twin, their standard errors and what it attains.

    noise and bias are in units of perceived quality. The standard errors are by the delta
    method, from the rounding of what was printed and from what the taste of one judge, which
    is all that the paper saw, leaves open; None where nothing of the kind was calibrated.
    """

    rho: float
    noise: float
    bias: float
    sharpness: float = 1.0
    rho_se: float | None = None
    noise_se: float | None = None
    sharpness_se: float | None = None
    reached: Mapping[str, float] | None = None
    cells: tuple[str, ...] = ()
    earlier: tuple[float, float] | None = None  # rho and bias under the other prompts


def calibrate_all(
    dataset: str,
    scores: Mapping[str, Floats],
    sharpness: Mapping[str, tuple[float, float | None]] | None = None,
) -> dict[tuple[str, str], Fitted]:
    """Every twin of a dataset by (judge, attribute).

    sharpness : by judge (value, standard error), as found on SummEval; found anew without it.
    """
    benches = {name: Bench(gold) for name, gold in scores.items()}
    found = {}
    for judge in facts.JUDGES:
        start = _few if judge == "Mistral-7B" else _decided
        twins = start(dataset, judge, benches)
        value, error = sharpness[judge] if sharpness else _sharpness(judge, benches, twins)
        cells = facts.soft_gain(judge).cells
        twins = {
            name: replace(t, sharpness=value, sharpness_se=error, cells=(*t.cells, *cells))
            for name, t in twins.items()
        }
        twins = _levelled(dataset, judge, benches, twins)
        found.update({(judge, name): twin for name, twin in twins.items()})
    return found


def _decided(dataset: str, judge: str, benches: Mapping[str, Bench]) -> dict[str, Fitted]:
    wanted = facts.decisions(dataset, judge)
    return {name: calibrate(bench, wanted[name]) for name, bench in benches.items()}


def calibrate(bench: Bench, wanted: facts.Decisions) -> Fitted:
    """Steps 1 and 2 for one attribute."""
    gaps = pair_gaps(bench.gold)
    decided = gaps[gaps > 0]
    # Accuracy fixes the ratio of signal to spread; what is left is one unknown, rho.
    ratio = brentq(lambda r: float(norm.cdf(r * decided).mean()) - wanted.accuracy, 1e-6, 20.0)

    def noise_at(rho: float) -> float:
        return float(np.sqrt(max((rho / ratio) ** 2 - 2.0 * (1.0 - rho**2), 0.0)))

    def excess(rho: float) -> float:
        return float(bench.win_ratio(rho, noise_at(rho)).mean()) - wanted.win_ratio

    quietest = float(np.sqrt(2.0 / (2.0 + 1.0 / ratio**2)))  # here the noise would be zero
    if excess(quietest) > 0:
        raise ValueError(
            f"no noise is small enough for accuracy {wanted.accuracy:.3f} and a full-set "
            f"correlation of {wanted.win_ratio:.3f} together"
        )
    rho = brentq(excess, quietest, 0.999, xtol=1e-4)
    noise = noise_at(rho)
    bias = bias_for(gaps, rho, noise, wanted.first_position)
    errors = _errors(bench, rho, noise)
    reached = {
        "win_ratio": float(bench.win_ratio(rho, noise).mean()),
        "accuracy": accuracy(decided, rho, noise),
        "first_position": first_position(gaps, rho, noise, bias),
    }
    return Fitted(rho, noise, 0.0, 1.0, *errors, None, reached, wanted.cells, (rho, bias))


def _errors(bench: Bench, rho: float, noise: float) -> tuple[float, float]:
    """Standard errors of rho and noise: J^-1 S J^-T, S from rounding and one judge's taste."""
    step = 0.02

    def both(r: float, t: float) -> Floats:
        return np.array([bench.win_ratio(r, t).mean(), bench.accuracy(r, t).mean()])

    slopes = np.column_stack(
        [
            (both(rho + step, noise) - both(rho - step, noise)) / (2 * step),
            (both(rho, noise + step) - both(rho, max(noise - step, 0.0)))
            / (step + min(step, noise)),
        ]
    )
    seen = np.cov(bench.win_ratio(rho, noise), bench.accuracy(rho, noise))
    seen += ROUNDING**2 * np.eye(2)
    inverse = np.linalg.inv(slopes)
    rho_se, noise_se = np.sqrt(np.diag(inverse @ seen @ inverse.T))
    return float(rho_se), float(noise_se)


def _levelled(
    dataset: str, judge: str, benches: Mapping[str, Bench], twins: Mapping[str, Fitted]
) -> dict[str, Fitted]:
    """Step 4: all rho times one factor, so that the mean full-set correlation is as printed."""
    wanted = facts.level(dataset, judge)

    def moved(factor: float) -> dict[str, Fitted]:
        return {n: replace(t, rho=min(t.rho * factor, 0.999)) for n, t in twins.items()}

    def excess(factor: float) -> float:
        values = [benches[n].average_probability(t).mean() for n, t in moved(factor).items()]
        return float(np.mean(values)) - wanted.value

    found = moved(brentq(excess, 0.5, 1.6, xtol=1e-4))
    return {
        name: replace(
            twin,
            cells=(*twin.cells, *wanted.cells),
            reached={
                **(twin.reached or {}),
                "full_set": float(benches[name].average_probability(twin).mean()),
            },
        )
        for name, twin in found.items()
    }


def _sharpness(
    judge: str, benches: Mapping[str, Bench], twins: Mapping[str, Fitted]
) -> tuple[float, float | None]:
    """Step 3: the sharpness, with its error from rounding and one judge's taste.

    The gain falls again where every answer is certain and noisy, so the first crossing is
    taken, the least sharp judge that gains so much; and where the largest gain
    falls short of the printed one, the sharpness of the largest gain, which has no error.
    """
    wanted = facts.soft_gain(judge).value

    def gains(sharpness: float) -> Floats:
        each = [b.soft_gain(replace(twins[n], sharpness=sharpness)) for n, b in benches.items()]
        return np.asarray(np.mean(each, axis=0))

    grid = np.geomspace(LEAST, MOST, 13)
    gained = np.array([gains(step).mean() for step in grid])
    over = np.flatnonzero(gained >= wanted)
    if not over.size:
        return float(grid[gained.argmax()]), None
    at = max(int(over[0]), 1)  # the gain is nearly linear in the logarithm over one step
    share = (wanted - gained[at - 1]) / (gained[at] - gained[at - 1])
    found = float(grid[at - 1] * (grid[at] / grid[at - 1]) ** max(share, 0.0))
    slope = (gained[at] - gained[at - 1]) / (grid[at] - grid[at - 1])
    seen = np.sqrt(gains(found).var(ddof=1) + 2.0 * ROUNDING**2)
    return found, float(seen / slope)


def _root(excess: Callable[[float], float], low: float, high: float, *, xtol: float) -> float:
    """Where a rising function crosses zero, or the end that comes closest."""
    if excess(low) >= 0:
        return low
    if excess(high) <= 0:
        return high
    return float(brentq(excess, low, high, xtol=xtol))


def _few(dataset: str, judge: str, benches: Mapping[str, Bench]) -> dict[str, Fitted]:
    """The judge without printed accuracies: level and a few decisions, one noise for all."""
    level, few = facts.level(dataset, judge), facts.few_decisions(dataset, judge)
    count = {"summeval": 24, "topicalchat": 9}[dataset]

    def rho_at(bench: Bench, noise: float) -> float:
        def excess(rho: float) -> float:
            twin = Fitted(rho, noise, 0.0)
            return float(bench.average_probability(twin).mean()) - level.value

        return float(brentq(excess, 0.01, 0.999, xtol=1e-4))

    def excess(noise: float) -> float:
        values = [b.few_wins(rho_at(b, noise), noise, count).mean() for b in benches.values()]
        return float(np.mean(values)) - few.value

    # More noise, worse decisions.
    noise = _root(lambda t: -excess(t), 0.0, 6.0, xtol=1e-3)
    found = {}
    for name, bench in benches.items():
        rho = rho_at(bench, noise)
        gaps = pair_gaps(bench.gold)
        reached = {
            "win_ratio": float(bench.win_ratio(rho, noise).mean()),
            "accuracy": accuracy(gaps[gaps > 0], rho, noise),
            "first_position": 0.5,
        }
        rho_se, noise_se = _errors(bench, rho, noise)
        found[name] = Fitted(rho, noise, 0.0, 1.0, rho_se, noise_se, None, reached, few.cells)
    return found
