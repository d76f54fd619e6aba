"""Calibration of the twins: three published numbers fix three parameters.

For perceived qualities with correlation rho, a sharpness a and a noise tau, a single call
decides a pair whose human scores differ by g (in standard deviations) correctly with
probability Phi(a rho g / s), s^2 = 2 a^2 (1 - rho^2) + tau^2. So

- the accuracy of single comparisons, averaged over pairs that differ, fixes a rho / s;
- the full-set correlation, simulated, then fixes rho, and with it tau;
- the first-position rate, the mean of Phi((a rho g + b) / s), fixes the bias b.

The sharpness is one declared constant for all judges: nothing printed in the papers pins it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.special import expit
from scipy.stats import norm

from poe._paths import data_dir
from poe.comparisons import Floats
from poe.judges import SimulatedJudge
from poe.metrics import summary_level
from poe.reproduce.published import load
from poe.reproduce.twins import perceived, standardised, symmetric_stack
from poe.scores import win_ratio
from poe.selection import select_stack

SHARPNESS = 1.0
TASTES = 100  # simulated tastes, each with its mirror image
SEED = 20240501

ATTRIBUTES = {"COH": "coherence", "CON": "consistency", "FLU": "fluency", "REL": "relevance"}
JUDGES = ("Llama2-7B", "Llama2-13B", "Mistral-7B", "FlanT5-3B", "FlanT5-11B")


@dataclass(frozen=True)
class Targets:
    """What a twin must reproduce, and the ids of the published cells that say so."""

    full_set: float  # summary-level Spearman of the average probability, all calls
    accuracy: float
    first_position: float
    cells: tuple[str, ...]


@dataclass(frozen=True)
class Calibrated:
    """The parameters found and what they reach."""

    rho: float
    noise: float
    bias: float
    full_set: float
    accuracy: float
    first_position: float


def calibrate_all(scores: Mapping[str, Floats]) -> dict[tuple[str, str], tuple[Calibrated, tuple]]:
    """Every twin of SummEval by (judge, attribute): what was found, and from which cells."""
    found = {}
    for judge in JUDGES:
        if judge == "Mistral-7B":
            found.update(_calibrate_mistral(scores))
            continue
        for attribute, target in targets(judge).items():
            found[judge, attribute] = (calibrate(scores[attribute], target), target.cells)
    return found


def targets(judge: str) -> dict[str, Targets]:
    """Targets by attribute.

    comparative_assessment gives the pattern over attributes, poe_v2's full-set row its
    level, because the two papers' prompts differ.
    """
    earlier = _earlier_paper()
    earlier = earlier[earlier["system"] == judge]
    level = _cell(judge, "240", "avg-prob")
    pattern = earlier[earlier["table"] == "table1"].set_index("attribute")
    scale = level["number"] / pattern["number"].mean()
    found = {}
    for label, attribute in ATTRIBUTES.items():
        mine = earlier[earlier["attribute"] == label]
        found[attribute] = Targets(
            full_set=scale * pattern.loc[label, "number"] / 100.0,
            accuracy=mine[mine["table"] == "table10"]["number"].iloc[0] / 100.0,
            first_position=mine[mine["table"] == "table5"]["number"].mean(),
            cells=(level["id"], *mine["id"]),
        )
    return found


def _earlier_paper() -> pd.DataFrame:
    path = data_dir() / "published" / "comparative_assessment_calibration.csv"
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    return frame.assign(number=frame["value"].astype(float))


def _cell(judge: str, k: str, method: str) -> pd.Series:
    table = load("table1")
    chosen = (table["system"] == judge) & (table["k"] == k) & (table["method"] == method)
    return table[chosen].iloc[0]


def _calibrate_mistral(
    scores: Mapping[str, Floats],
) -> dict[tuple[str, str], tuple[Calibrated, tuple]]:
    """The judge without printed accuracies: one cell of Table 1 stands in for them.

    All attributes share the full-set level of Table 1 and one noise, found from the
    win-ratio at K=48. The bias is zero (paper 5.4: mean p 0.51, on HANNA).
    """
    judge = "Mistral-7B"
    level, low = _cell(judge, "240", "avg-prob"), _cell(judge, "48", "win-ratio")
    score = {name: full_set_score(gold) for name, gold in scores.items()}

    def rho_at(name: str, noise: float) -> float:
        goal = level["number"] / 100.0
        return brentq(lambda rho: score[name](rho, noise, 0.0) - goal, 0.01, 0.999, xtol=1e-4)

    def excess(noise: float) -> float:
        values = [
            _win_ratio_score(gold, rho_at(name, noise), noise, count=48)
            for name, gold in scores.items()
        ]
        return float(np.mean(values)) - low["number"] / 100.0

    noise = brentq(excess, 0.05, 4.0, xtol=1e-3)
    found = {}
    for name, gold in scores.items():
        rho = rho_at(name, noise)
        gaps = pair_gaps(gold)
        ratio = SHARPNESS * rho / _spread(rho, noise)
        accuracy = float(norm.cdf(ratio * gaps[gaps > 0]).mean())
        reached = Calibrated(rho, noise, 0.0, score[name](rho, noise, 0.0), accuracy, 0.5)
        found[judge, name] = (reached, (level["id"], low["id"]))
    return found


def _win_ratio_score(gold: Floats, rho: float, noise: float, *, count: int) -> float:
    """Expected correlation of the win-ratio from `count` calls, both orders of each pair."""
    rng = np.random.default_rng(SEED)
    values = []
    for _ in range(TASTES):
        taste = rng.standard_normal(gold.shape)
        pairs = select_stack(len(gold), gold.shape[-1], count, rule="symmetric", seed=rng)
        judge = SimulatedJudge(
            perceived(gold, rho, taste), sharpness=SHARPNESS, noise=noise, seed=rng
        )
        scores = win_ratio(symmetric_stack(gold.shape[-1], pairs, judge.answer(pairs)))
        values.append(summary_level(scores, gold).value)
    return float(np.mean(values))


def calibrate(gold: Floats, target: Targets) -> Calibrated:
    """Parameters of one twin for human scores (C, N)."""
    gaps = pair_gaps(gold)
    decided, both = gaps[gaps > 0], np.concatenate([gaps, -gaps])

    # Accuracy fixes the ratio of signal to spread; what is left is one unknown, rho.
    ratio = brentq(lambda r: float(norm.cdf(r * decided).mean()) - target.accuracy, 1e-6, 20.0)

    def noise_at(rho: float) -> float:
        total = (SHARPNESS * rho / ratio) ** 2
        return float(np.sqrt(max(total - 2.0 * SHARPNESS**2 * (1.0 - rho**2), 0.0)))

    def first_position(rho: float, bias: float) -> float:
        return float(norm.cdf((SHARPNESS * rho * both + bias) / _spread(rho, noise_at(rho))).mean())

    def bias_at(rho: float) -> float:
        return brentq(lambda b: first_position(rho, b) - target.first_position, -20.0, 20.0)

    score = full_set_score(gold)

    def excess(rho: float) -> float:
        return score(rho, noise_at(rho), bias_at(rho)) - target.full_set

    quietest = float(np.sqrt(2.0 / (2.0 + 1.0 / ratio**2)))  # here the noise would be zero
    if excess(quietest) > 0:
        raise ValueError(
            f"no noise is small enough for accuracy {target.accuracy:.3f} and full-set "
            f"correlation {target.full_set:.3f} together"
        )
    rho = brentq(excess, quietest, 0.999, xtol=1e-4)
    noise, bias = noise_at(rho), bias_at(rho)
    return Calibrated(
        rho=rho,
        noise=noise,
        bias=bias,
        full_set=score(rho, noise, bias),
        accuracy=float(norm.cdf(SHARPNESS * rho * decided / _spread(rho, noise)).mean()),
        first_position=first_position(rho, bias),
    )


def _spread(rho: float, noise: float) -> float:
    """Standard deviation of a call's logit around its part that the human scores explain."""
    return float(np.sqrt(2.0 * SHARPNESS**2 * (1.0 - rho**2) + noise**2))


def pair_gaps(gold: Floats) -> Floats:
    """Absolute differences in standardised score over all unordered pairs of all contexts."""
    z = standardised(gold)
    left, right = np.triu_indices(z.shape[-1], 1)
    return np.abs(z[..., left] - z[..., right]).ravel()


def full_set_score(gold: Floats) -> Callable[[float, float, float], float]:
    """Expected full-set correlation of the average probability, given (rho, noise, bias).

    The same random numbers serve every call, so the function is smooth enough to solve; each
    taste is used with its mirror image, which cancels most of its luck.
    """
    taste = np.random.default_rng(SEED).standard_normal((TASTES, *gold.shape))
    n = gold.shape[-1]

    def score(rho: float, noise: float, bias: float) -> float:
        calls = np.random.default_rng(SEED + 1)
        values = []
        for one in taste:
            error = noise * calls.standard_normal((*gold.shape, n))
            for mirrored in (one, -one):
                q = perceived(gold, rho, mirrored)
                p = expit(SHARPNESS * (q[..., :, None] - q[..., None, :]) + bias + error)
                p[..., np.arange(n), np.arange(n)] = 0.0
                values.append(p.sum(axis=-1) - p.sum(axis=-2))
        return float(summary_level(np.stack(values), gold).value.mean())

    return score


HEADER = """\
# Twins: simulated judges calibrated on published numbers. Written by `poe reproduce twins`
# from SummEval's human scores; edit poe/reproduce/calibrate.py, not this file.
# `calibrated_on` lists every published cell that was used. `reached` repeats what the twin
# attains on those; the accuracy and rate are exact, the full-set correlation is simulated.

[model]
description = "q = rho z + sqrt(1 - rho^2) e; p = sigmoid(sharpness (q_i - q_j) + bias + noise)"
sharpness = {sharpness}  # declared, not calibrated: logits per unit of perceived quality
tastes = {tastes}
seed = {seed}
"""


def as_toml(found: Mapping[tuple[str, str], tuple[Calibrated, tuple]]) -> str:
    """The text of data/twins.toml."""
    parts = [HEADER.format(sharpness=SHARPNESS, tastes=TASTES, seed=SEED)]
    for (judge, attribute), (value, cells) in found.items():
        listed = "".join(f'    "{cell}",\n' for cell in cells)
        parts.append(
            f'[[twin]]\njudge = "{judge}"\ndataset = "summeval"\nattribute = "{attribute}"\n'
            f"rho = {value.rho:.4f}\nnoise = {value.noise:.4f}\nbias = {value.bias:.4f}\n"
            f"reached = {{ full_set = {value.full_set:.4f}, accuracy = {value.accuracy:.4f}, "
            f"first_position = {value.first_position:.4f} }}\n"
            f"calibrated_on = [\n{listed}]\n"
        )
    return "\n".join(parts)
