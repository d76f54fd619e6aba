"""Calibration of the twins of HANNA and CMCQRD, for which nothing but poe_v2's Table 3 is printed.

The average probability from 50N pairs, close to that from all, fixes rho; from 5N pairs it
fixes the noise. The table's K is read as its caption has it, as symmetric comparisons, that is
pairs asked in both orders: from 5N calls not even a judge without noise reaches the printed
numbers, because the luck of its five opponents alone costs each text more than that. The
sharpness is the judge's, from SummEval. The bias is the one that gives the mean probability
printed in section 5.4 (HANNA; 0.78 for Llama2-7B and 0.51 for Mistral-7B), else zero. CMCQRD's
labels are not public: its twins are calibrated on stand-in labels.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from poe.comparisons import Floats
from poe.metrics import spearman
from reproduction import facts
from reproduction.bench import SEED
from reproduction.calibrate import Fitted
from reproduction.large import linked_pairs
from reproduction.twins import quality_scores

TASTES = 8  # each with its mirror image


class LargeBench:
    """Average probabilities of 2 * TASTES twins on fixed random numbers, at 5N and 50N pairs."""

    def __init__(self, gold: Floats) -> None:
        rng = np.random.default_rng(SEED)
        self.gold, n = np.asarray(gold, dtype=float), len(gold)
        self.z = quality_scores(self.gold[None])[0]
        self.taste = rng.standard_normal((TASTES, n))
        self.pairs = {
            times: [linked_pairs(n, times * n, rng) for _ in range(TASTES)] for times in (5, 50)
        }
        self.calls = {
            times: [rng.standard_normal((2, len(pairs))) for pairs in found]
            for times, found in self.pairs.items()
        }

    def average_probability(
        self, times: int, rho: float, noise: float, sharpness: float, bias: float
    ) -> Floats:
        """(2 * TASTES,) dataset-level Spearman correlations."""
        found = []
        for k, taste in enumerate(self.taste):
            i, j = self.pairs[times][k].T
            there, back = self.calls[times][k]
            for mirrored in (taste, -taste):
                q = rho * self.z + np.sqrt(1.0 - rho**2) * mirrored
                d = sharpness * (q[i] - q[j])
                p = expit(d + bias + sharpness * noise * there)
                p = (p + 1.0 - expit(bias - d + sharpness * noise * back)) / 2.0
                n = len(q)
                won = np.bincount(i, p, n) + np.bincount(j, 1.0 - p, n)
                seen = np.bincount(i, minlength=n) + np.bincount(j, minlength=n)
                found.append(float(spearman(won / seen, self.gold)))
        return np.array(found)


def calibrate_large(
    dataset: str, scores: Mapping[str, Floats], sharpness: Mapping[str, tuple[float, float | None]]
) -> dict[tuple[str, str], Fitted]:
    """Every twin of HANNA or CMCQRD by (judge, attribute); scores (1, N) by attribute."""
    found = {}
    for label, attribute in facts.ATTRIBUTES[dataset].items():
        bench = LargeBench(scores[attribute][0])
        for judge in facts.LARGE_JUDGES:
            few, many = (
                facts.average_probability_at(dataset, judge, label, calls)
                for calls in ("5N", "50N")
            )
            scale, error = sharpness[judge]
            mean_p = facts.MEAN_P.get(judge, 0.5) if dataset == "hanna" else 0.5
            cells = (*few.cells, *many.cells, *facts.soft_gain(judge).cells)
            if mean_p != 0.5:
                cells = (*cells, f"poe_v2/text/5.4/{judge}/mean-p")
            found[judge, attribute] = _fit(
                bench, few.value, many.value, scale, error, mean_p, cells
            )
    return found


def _fit(
    bench: LargeBench,
    few: float,
    many: float,
    sharpness: float,
    error: float | None,
    mean_p: float,
    cells: tuple[str, ...],
) -> Fitted:
    def value(times: int, rho: float, noise: float) -> float:
        bias = bias_for(mean_p, noise, sharpness)
        return float(bench.average_probability(times, rho, noise, sharpness, bias).mean())

    def rho_at(noise: float) -> float:
        return float(brentq(lambda r: value(50, r, noise) - many, 0.01, 0.999, xtol=1e-4))

    def excess(noise: float) -> float:
        return value(5, rho_at(noise), noise) - few

    # Noise costs most where calls are few.
    noise = 0.0 if excess(0.0) <= 0 else float(brentq(excess, 0.0, 12.0, xtol=1e-3))
    rho = rho_at(noise)
    bias = bias_for(mean_p, noise, sharpness)
    seen = bench.average_probability(50, rho, noise, sharpness, bias)
    slope = (value(50, rho + 0.02, noise) - value(50, rho - 0.02, noise)) / 0.04
    at_few = (value(5, rho, noise + 0.2) - value(5, rho, noise)) / 0.2
    reached = {"few": value(5, rho, noise), "many": float(seen.mean())}
    rho_se = float(seen.std(ddof=1) / slope)
    rounding = 0.1 / 100.0 / np.sqrt(12.0)
    noise_se = float(abs(np.sqrt(2.0) * rounding / at_few)) if at_few else None
    return Fitted(rho, noise, bias / sharpness, sharpness, rho_se, noise_se, error, reached, cells)


def bias_for(mean_p: float, noise: float, sharpness: float) -> float:
    """Logits for the item shown first that give this mean probability over random pairs."""
    if mean_p == 0.5:
        return 0.0
    rng = np.random.default_rng(SEED)
    logits = sharpness * np.sqrt(2.0 + noise**2) * rng.standard_normal(100_000)
    return float(brentq(lambda b: expit(logits + b).mean() - mean_p, -20.0, 20.0))
