"""What might be added to the empirical-Bayes expert, each tried on the same answers.

All strengths are chosen by the marginal likelihood alone, on grids declared here:

"EB-BT"        Bradley-Terry experts with a Gaussian prior, evidence by Laplace's approximation.
"temperature"  opinions sigma(beta logit p) - 1/2: log odds as beta falls to 0, p - 1/2 at 1,
               decisions as it grows; densities of logit p, so that different beta compare.
"calls apart"  both orders' answers as two opinions with a common position bias, not their mean.
"pair error"   the same, with an error that the two orders of a pair share.

A position bias of each text, which matters in one order only, has a table of its own
(`studies.text_bias`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
from scipy.special import expit

from poe import large, priors
from poe.arrays import Floats
from poe.comparisons import Comparisons
from poe.experts import Gaussian, log_odds
from poe.priors import Spectrum
from poe.stack import Stack, by_item, differences, laplacian

Trial = Callable[[Stack, int], Floats]  # a stack, and how many contexts share a prior

BETAS = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0)
SHARES = (0.0, 0.1, 0.3, 1.0, 3.0)  # of tau^2, the variance of an added error or bias
SPREADS = tuple(4.0**k for k in range(-4, 4))  # tau^2 of Bradley-Terry scores
AGAINST = {  # what each is held against
    "EB-BT": "EB-logit-g",
    "temperature": "EB-logit-g",
    "calls apart": "EB-logit-g",
    "pair error": "EB-logit-g",
}


# Bradley-Terry --------------------------------------------------------------------------------


def bt(stack: Stack, pool: int) -> Floats:
    """Scores (B, N) at the tau of largest Laplace evidence in each pool."""
    b, n = len(stack.p), stack.n_items
    scores = np.zeros((b, n))
    best, best_scores = np.full(b, -np.inf), scores
    for spread in SPREADS:
        for _ in range(6):  # Newton's steps, from the mode under the last tau
            d = differences(stack, scores)
            q = expit(d)
            pull = by_item(stack, x := stack.weight * (stack.p - q), -x) - scores / spread
            bend = laplacian(stack, stack.weight * q * (1.0 - q))
            scores = scores + np.linalg.solve(bend + np.eye(n) / spread, pull[..., None])[..., 0]
        height = -(
            stack.weight * (np.logaddexp(0.0, d := differences(stack, scores)) - stack.p * d)
        )
        volume = np.log1p(spread * np.maximum(np.linalg.eigvalsh(bend), 0.0)).sum(axis=-1)
        height = height.sum(axis=-1) - 0.5 * ((scores**2).sum(axis=-1) / spread + volume)
        height = np.repeat(height.reshape(-1, pool).sum(axis=1), pool)
        best_scores = np.where((height > best)[:, None], scores, best_scores)
        best = np.maximum(best, height)
    return best_scores


def ridge_bt(
    c: Comparisons, ridge: float, start: Floats | None = None, steps: int = 12
) -> tuple[Floats, Floats]:
    """Bradley-Terry scores of a large set under N(0, 1 / ridge), and the curvatures there."""
    graph = large.LargeGraph(c, ridge=ridge)
    weight, p = graph.weight, graph.laid(c.p)  # in the graph's order
    scores = np.zeros(c.n_items) if start is None else start
    for _ in range(steps):
        q = expit(graph.differences(scores))
        pull = graph.transposed(weight * (p - q)) - ridge * scores
        bend = weight * q * (1.0 - q)
        if np.abs(pull).max() < 1e-9:
            break
        scores = scores + graph.direction(bend, pull, enough=1e-10)[0]
    curvature = np.empty(len(c))
    curvature[graph.order] = bend
    return scores - scores.mean(), curvature


def large_bt(c: Comparisons) -> Floats:
    """As `bt` of one large set, its log-determinant by Lanczos's method."""
    scores: Floats = np.zeros(c.n_items)
    best, best_scores = -np.inf, scores
    for spread in SPREADS:
        scores, bend = ridge_bt(c, 1.0 / spread, scores)
        bent = Comparisons.from_pairs(c.pairs, c.p, items=c.n_items, weight=bend)
        level = priors.lanczos_spectrum(bent, Gaussian(), bias=0.0)
        d = scores[c.first] - scores[c.second]
        height = -(c.weight * (np.logaddexp(0.0, d) - c.p * d)).sum()
        height -= 0.5 * float(scores @ scores) / spread
        height -= 0.5 * float((level.count * np.log1p(spread * level.level)).sum())
        if height > best:
            best, best_scores = height, scores
    return best_scores


# Temperature ----------------------------------------------------------------------------------


def warmed(beta: float) -> tuple[Gaussian, Callable[[Floats], Floats]]:
    """The expert of one temperature, and the log of its opinion's derivative in logit p."""
    if not beta:
        return Gaussian(mean=log_odds), np.zeros_like

    def mean(p: Floats) -> Floats:
        return np.asarray(4.0 / beta * (expit(beta * log_odds(p)) - 0.5))

    def log_slope(p: Floats) -> Floats:
        x = beta * log_odds(p)
        return np.asarray(np.log(4.0) - np.logaddexp(0.0, x) - np.logaddexp(0.0, -x))

    return Gaussian(mean=mean), log_slope


def temperature(stack: Stack, pool: int) -> Floats:
    """Scores (B, N) at the temperature of largest evidence in each pool."""
    heights, scores = [], []
    for beta in BETAS:
        expert, log_slope = warmed(beta)
        solution = priors.solve(stack, expert, pool=pool)
        change = (stack.weight * log_slope(stack.p)).sum(axis=-1).reshape(-1, pool).sum(axis=1)
        heights.append(np.repeat(solution.prior.evidence + change, pool))
        scores.append(solution.scores)
    return np.stack(scores)[np.argmax(heights, axis=0), np.arange(len(stack.p))]


def large_temperature(c: Comparisons) -> Floats:
    """The same of one large set."""
    candidates = []
    for beta in BETAS:
        expert, log_slope = warmed(beta)
        fit = priors.fit(c, expert, bias=0.0, dense=False)
        assert fit.prior is not None
        candidates.append((fit.prior.evidence + float(c.weight @ log_slope(c.p)), fit.scores))
    return max(candidates, key=lambda one: one[0])[1]


# Errors and biases that answers have in common ------------------------------------------------


def with_effect(stack: Stack, effect: Floats, *, pool: int) -> tuple[Floats, Floats]:
    """Scores (B, N) and share (B,): opinions' covariance tau^2 (W W' + share * effect) + sigma^2 I.

    effect : (B, K, K). The share of largest evidence in each pool; logit means, fitted bias.
    """
    b, n = len(stack.p), stack.n_items
    signs = np.eye(n)[stack.first] - np.eye(n)[stack.second]
    parts = np.stack([log_odds(stack.p), np.ones_like(stack.p)], axis=-1)
    k = stack.p.shape[1]

    def pooled(values: Floats) -> Floats:
        return values.reshape(b // pool, -1)

    best, best_scores, chosen = np.full(b, -np.inf), np.zeros((b, n)), np.zeros(b)
    pairs = [(0, 0), (0, 1), (1, 1)]
    for share in SHARES:
        level, vector = np.linalg.eigh(signs @ np.swapaxes(signs, 1, 2) + share * effect)
        level = np.maximum(level, 0.0)
        along = np.swapaxes(vector, 1, 2) @ parts
        spectrum = Spectrum(
            level=pooled(level),
            count=np.ones((1, 1)),
            at=pooled(level)[:, None],
            push=np.stack([pooled(level * along[..., i] * along[..., j]) for i, j in pairs], 1),
            total=np.stack([pooled(parts[..., i] * parts[..., j]).sum(-1) for i, j in pairs], 1),
            size=np.full(b // pool, float(pool * k)),
            degree=np.full(b // pool, 2.0 * k / n),
        )
        prior, gamma = priors.best_prior(spectrum)
        gamma, ratio, height = (
            np.repeat(x, pool)[:, None] for x in (gamma, prior.ratio, prior.evidence)
        )
        weighed = (along[..., 0] + gamma * along[..., 1]) / (level + ratio)
        scores = (np.swapaxes(signs, 1, 2) @ vector @ weighed[..., None])[..., 0]
        better = height[:, 0] > best
        best_scores = np.where(better[:, None], scores, best_scores)
        best, chosen = np.maximum(best, height[:, 0]), np.where(better, share, chosen)
    return best_scores, chosen


def pair_error(stack: Stack, pool: int) -> Floats:
    """An error of the pair, with the sign of the order in which it is shown."""
    low = np.minimum(stack.first, stack.second) * stack.n_items
    code = low + np.maximum(stack.first, stack.second)
    turned = np.where(stack.first < stack.second, 1.0, -1.0)
    same = (code[:, :, None] == code[:, None, :]) * turned[:, :, None] * turned[:, None, :]
    return with_effect(stack, same, pool=pool)[0]


def by_evidence(expert: str, *, bias: float | Literal["fit"] = 0.0) -> Trial:
    """The empirical-Bayes expert itself; a fitted bias is common to a pool."""
    return lambda stack, pool: priors.solve(stack, expert, pool=pool, bias=bias).scores


logit, with_bias = by_evidence("logit-gaussian"), by_evidence("logit-gaussian", bias="fit")
AVERAGED: dict[str, Trial] = {"EB-logit-g": logit, "EB-BT": bt, "temperature": temperature}
APART: dict[str, Trial] = {"calls apart": with_bias, "pair error": pair_error}
LARGE: dict[str, Callable[[Comparisons], Floats]] = {
    "EB-logit-g": lambda c: priors.fit(c, Gaussian(mean=log_odds), bias=0.0, dense=False).scores,
    "EB-BT": large_bt,
    "temperature": large_temperature,
}
