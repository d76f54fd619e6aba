"""Calibrating twins of one large set: HANNA's and CMCQRD's.

For HANNA and CMCQRD nothing but poe_v2's Table 3 is printed. The average probability from 50N
pairs, close to that from all, fixes rho; from 5N pairs it fixes the noise. The table's K is read as
its caption has it, as symmetric comparisons, that is pairs asked in both orders: from 5N calls not
even a judge without noise reaches the printed numbers, because the luck of its five opponents alone
costs each text more than that. The bias is the one that gives the mean probability printed in
section 5.4 (HANNA), else zero. CMCQRD's labels are not public: its twins are calibrated on drawn
labels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from judging.metrics import spearman
from judging.simulated import correlated, simulated_answers
from poe.arrays import Floats
from poe.comparisons import Comparisons
from poe.scores import average_probability
from reproduction.calibrate_small import ROUNDING, SEED, Fitted, Sharpness, Twins, soft_gain
from reproduction.large import linked_pairs
from reproduction.published import NAMES, number
from reproduction.twins import ATTRIBUTES, LARGE_JUDGES, labels, quality_scores

LARGE_TASTES = 8  # simulated tastes, each with its mirror image
# Mean probability of the item shown first, poe_v2 sections 5.4 and C.5, on HANNA coherence.
MEAN_P = {"Llama2-7B": 0.78, "Mistral-7B": 0.51}


class LargeBench:
    """Average probabilities of 2 * LARGE_TASTES twins, at 5N and 50N pairs of gold (N,)."""

    def __init__(self, gold: Floats, *, shared: float = 0.0) -> None:
        rng = np.random.default_rng(SEED)
        self.gold, n = np.asarray(gold, dtype=float), len(gold)
        self.z = quality_scores(self.gold[None])[0]
        self.taste = rng.standard_normal((LARGE_TASTES, n))
        self.pairs = {
            times: [linked_pairs(n, times * n, rng) for _ in range(LARGE_TASTES)]
            for times in (5, 50)
        }
        self.calls = {
            times: [
                correlated(e := rng.standard_normal((2, len(pairs))), e[::-1], shared)
                for pairs in graphs
            ]
            for times, graphs in self.pairs.items()
        }

    def average_probability(
        self, times: int, rho: float, noise: float, logits: tuple[float, float]
    ) -> Floats:
        """(2 * LARGE_TASTES,) dataset-level Spearman; logits : sharpness and bias."""
        sharpness, bias = logits
        options = {"sharpness": sharpness, "bias": bias, "noise": sharpness * noise}
        correlations = []
        for taste, pairs, e in zip(self.taste, self.pairs[times], self.calls[times], strict=True):
            for mirrored in (taste, -taste):
                q = rho * self.z + np.sqrt(1.0 - rho**2) * mirrored
                d = q[pairs[:, 0]] - q[pairs[:, 1]]
                there = simulated_answers(d, e=e[0], **options)
                back = simulated_answers(-d, e=e[1], **options)
                p = (there + 1.0 - back) / 2.0
                c = Comparisons.from_pairs(pairs, p, items=len(q))
                correlations.append(float(spearman(average_probability(c), self.gold)))
        return np.array(correlations)


def calibrate_large(dataset: str, shared: float, sharpness: Mapping[str, Sharpness]) -> Twins:
    """Every twin of HANNA or CMCQRD, from the 5N and 50N rows of poe_v2's Table 3."""
    twins = {}
    for label, attribute in ATTRIBUTES[dataset].items():
        bench = LargeBench(labels(dataset).scores[attribute][0], shared=shared)
        for judge in LARGE_JUDGES:
            cells = tuple(
                f"poe_v2/table3/{judge}/K{calls}/{NAMES[dataset]}-{label}/avg-prob"
                for calls in ("5N", "50N")
            )
            few, many = (number(cell) / 100.0 for cell in cells)
            mean_p = MEAN_P.get(judge, 0.5) if dataset == "hanna" else 0.5
            used = (*cells, *soft_gain(judge)[1])
            if mean_p != 0.5:
                used += (f"poe_v2/text/5.4/{judge}/mean-p",)
            fitted = fit_large(bench, few, many, sharpness[judge], mean_p)
            twins[judge, attribute] = replace(fitted, cells=used)
    return twins


def fit_large(
    bench: LargeBench, few: float, many: float, sharpness: Sharpness, mean_p: float
) -> Fitted:
    """One attribute, from the average probability's correlation at 5N (`few`) and 50N pairs."""
    scale, error = sharpness

    def values(times: int, rho: float, noise: float) -> Floats:
        logits = (scale, bias_for(mean_p, noise, scale))
        return bench.average_probability(times, rho, noise, logits)

    def value(times: int, rho: float, noise: float) -> float:
        return float(values(times, rho, noise).mean())

    def rho_at(noise: float) -> float:
        return float(brentq(lambda r: value(50, r, noise) - many, 0.01, 0.999, xtol=1e-4))

    def excess(noise: float) -> float:
        return value(5, rho_at(noise), noise) - few

    # Noise costs most where calls are few.
    noise = 0.0 if excess(0.0) <= 0 else float(brentq(excess, 0.0, 12.0, xtol=1e-3))
    rho = rho_at(noise)
    seen = values(50, rho, noise)
    slope = (value(50, rho + 0.02, noise) - value(50, rho - 0.02, noise)) / 0.04
    lost = (value(5, rho, noise + 0.2) - value(5, rho, noise)) / 0.2
    return Fitted(
        rho,
        noise,
        bias_for(mean_p, noise, scale) / scale,
        scale,
        float(seen.std(ddof=1) / slope),
        float(abs(np.sqrt(2.0) * ROUNDING / lost)) if noise else None,
        error,
        {"few": value(5, rho, noise), "many": float(seen.mean())},
    )


def bias_for(mean_p: float, noise: float, sharpness: float) -> float:
    """Logits for the item shown first that give this mean probability over random pairs."""
    if mean_p == 0.5:
        return 0.0
    rng = np.random.default_rng(SEED)
    logits = sharpness * np.sqrt(2.0 + noise**2) * rng.standard_normal(100_000)
    return float(brentq(lambda b: expit(logits + b).mean() - mean_p, -20.0, 20.0))
