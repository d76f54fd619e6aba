"""A Gaussian prior on the scores, as strong as the answers themselves say: empirical Bayes.

Scores s ~ N(0, tau^2 I) and Gaussian experts, opinions f_mu(p) = s_first - s_second - gamma plus
noise of standard deviation sigma (a comparison of weight 2 is two of them). Given lambda =
sigma^2 / tau^2 the scores are those of ridge regression, (L + lambda I)^-1 W' (opinion + gamma),
and sigma, tau and gamma maximise the marginal likelihood, in which the scores are integrated out
(type II maximum likelihood; MacKay, Bayesian interpolation, 1992). No label is needed, and no
connected graph: a group without a link to the rest has its own mean shrunk to the common one.

All of it follows from the spectrum of L = W'W: of the matrix itself for small problems and stacks;
of Lanczos's tridiagonal matrices, with random probes for the trace, for one large problem.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import numpy as np

from poe.arrays import Floats
from poe.comparisons import Comparisons
from poe.errors import ComparisonError
from poe.experts import Expert, Gaussian, get_expert
from poe.result import Fit, Prior
from poe.stack import Problem, as_stack, by_item, differences, laplacian

# Where lambda is looked for, in units of the mean degree of an item; the ends stand for 0 and
# infinity, from which they differ by one part in a million or less.
LOWEST, HIGHEST = 1e-8, 1e6
GRID, HALVINGS = 29, 40
STEPS = 64  # of Lanczos, for a large problem
TINY = 1e-14  # of the opinions' sum of squares: less is rounding


@dataclass(frozen=True, eq=False)
class Shrunken:
    """Scores of a stack: scores (B, N), mean zero in each problem; bias and prior (D,), a pool."""

    scores: Floats
    bias: Floats
    prior: Prior


def solve(
    problem: Problem,
    expert: str | Expert = "gaussian",
    *,
    pool: int | None = None,
    bias: Floats | float | Literal["fit"] = 0.0,
) -> Shrunken:
    """Scores of B problems (contexts, draws) under a prior that each pool of them has in common.

    pool : how many consecutive problems share one sigma, tau and bias, all B by default: the
        evidence of independent contexts is the product of theirs.
    bias : the paper's gamma, a number or (B,), or "fit" for the value of largest evidence.

    Dense, by one eigendecomposition a problem. Raises ValueError for an expert that is not
    Gaussian, and ComparisonError where all opinions of a pool are zero.

    Scores that the answers determine poorly are shrunk further than others, so those of problems
    that were asked unequally often are not on one scale.
    """
    chosen, stack = require_gaussian(expert), as_stack(problem)
    b = len(stack.p)
    pool = b if pool is None else pool
    if b % pool:
        raise ValueError(f"{b} problems cannot be pooled {pool} at a time")
    parts = [chosen.f_mu(stack.p)]
    if isinstance(bias, str):
        if bias != "fit":
            raise ValueError(f"bias must be a number or 'fit', not {bias!r}")
        parts.append(np.ones_like(stack.p))
    else:
        parts[0] = parts[0] + np.broadcast_to(bias, (b,))[:, None]
    level, vector = np.linalg.eigh(laplacian(stack, stack.weight))
    push = np.stack([by_item(stack, x, -x) for x in (stack.weight * part for part in parts)], -1)
    push = np.swapaxes(vector, -1, -2) @ push
    pairs = [(i, j) for i in range(len(parts)) for j in range(i + 1)]

    def pooled(values: Floats) -> Floats:
        return values.reshape(b // pool, -1)

    level = np.maximum(level, 0.0)
    total = [pooled(stack.weight * parts[i] * parts[j]).sum(axis=-1) for i, j in pairs]
    spectrum = Spectrum(
        level=pooled(level),
        count=np.ones((1, 1)),
        at=pooled(level)[:, None],
        push=np.stack([pooled(push[..., i] * push[..., j]) for i, j in pairs], axis=1),
        total=np.stack(total, axis=-1),
        size=pooled(stack.weight).sum(axis=-1),
        degree=2.0 * pooled(stack.weight).sum(axis=-1) / (pool * stack.n_items),
    )
    prior, gamma = best_prior(spectrum)
    ratio = np.repeat(prior.ratio, pool)[:, None]
    force = push[..., 0]
    if len(parts) > 1:
        force = force + np.repeat(gamma, pool)[:, None] * push[..., 1]
    scores = (vector @ (force / (level + ratio))[..., None])[..., 0]
    scores = scores - scores.mean(axis=-1, keepdims=True)  # of rounding only
    if not isinstance(bias, str):
        gamma = np.broadcast_to(bias, (b,)).astype(float)
    return Shrunken(scores, gamma, prior)


def fit(
    comparisons: Comparisons, expert: Expert, *, bias: float | None, dense: bool, seed: int = 0
) -> Fit:
    """One problem for `poe.fit(..., prior="fit")`. bias : None to fit it."""
    c, chosen, fit_bias = comparisons, require_gaussian(expert), bias is None
    if dense:
        solution = solve(c, chosen, bias="fit" if bias is None else bias)
        scores, gamma, many = solution.scores[0], solution.bias, solution.prior
        method = "eigendecomposition"
    else:
        many, gamma = best_prior(lanczos_spectrum(c, chosen, bias=bias, seed=seed))
        gamma = gamma if bias is None else np.array([bias])
        scores = by_conjugate_gradients(c, chosen, gamma[0], many.ratio[0])
        method = "Lanczos"
    names = [one.name for one in fields(many)]
    prior = Prior(**{name: np.asarray(getattr(many, name)).item() for name in names})
    residual = chosen.f_mu(c.p) + gamma[0] - differences(c, scores)
    pull = by_item(c, c.weight * residual, -c.weight * residual) - prior.ratio * scores
    degree = by_item(c, c.weight, c.weight).max() + prior.ratio
    energy = float(c.weight @ residual**2) / prior.sigma**2 + scores @ scores / prior.tau**2
    gradient = float(np.abs(pull).max() / degree)
    return Fit(
        items=c.items,
        scores=scores,
        expert=replace(chosen, sigma=prior.sigma),
        bias=float(gamma[0]),
        energy=0.5 * float(energy),
        steps=1,
        gradient=gradient,
        converged=gradient < 1e-7,
        method=method,
        comparisons=c,
        bias_fitted=fit_bias,
        prior=prior,
    )


def require_gaussian(expert: str | Expert) -> Gaussian:
    """The expert, if its strength can be fitted: Gaussian, with neither sigma nor variance."""
    chosen = get_expert(expert)
    if not isinstance(chosen, Gaussian) or chosen.variance is not None or chosen.sigma is not None:
        raise ValueError(
            "a fitted prior needs Gaussian experts whose sigma is fitted with it: "
            "expert='gaussian', 'logit-gaussian' or Gaussian(mean=...)"
        )
    return chosen


# The evidence as a function of lambda ---------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Spectrum:
    """What the evidence of D pools depends on besides lambda.

    level, count : (D, M); the trace of any f(L) is the sum of count * f(level).
    at, push : (D, F, M'); x'f(L)y is the sum of push * f(at), for the forms x, y = W'(opinions)
        twice, and with a free bias W'(opinions) and W'1, and W'1 twice. total : (D, F) the same
        products of the opinions and ones themselves.
    size : (D,) comparisons, with their weights. degree : (D,) mean of an item.
    """

    level: Floats
    count: Floats
    at: Floats
    push: Floats
    total: Floats
    size: Floats
    degree: Floats

    def left(self, ratio: Floats) -> tuple[Floats, Floats, Floats]:
        """At lambda (D,): the sum of squares left, its slope in log lambda, and gamma.

        Left is the minimum over scores (and gamma) of the squared residuals plus lambda |s|^2.
        """
        inverse = 1.0 / (self.at + ratio[:, None, None])
        share = self.push * inverse
        form = self.total - share.sum(axis=-1)
        slope = ratio[:, None] * (share * inverse).sum(axis=-1)
        gamma, factor = np.zeros(len(ratio)), np.ones((len(ratio), 1))
        if form.shape[1] == 3:
            gamma = -form[:, 1] / form[:, 2]
            factor = np.stack([np.ones_like(gamma), 2.0 * gamma, gamma**2], axis=1)
        least = (factor * form).sum(axis=1)
        return np.maximum(least, TINY * self.total[:, 0]), (factor * slope).sum(axis=1), gamma

    def parameters(self, ratio: Floats) -> Floats:
        """Count the scores that the answers determine, (D,): the trace of L (L + lambda I)^-1."""
        return np.asarray((self.count * self.level / (self.level + ratio[:, None])).sum(axis=-1))

    def evidence(self, ratio: Floats) -> Floats:
        """Log marginal likelihood at lambda, sigma and gamma at their best, (D,)."""
        least, _, _ = self.left(ratio)
        volume = (self.count * np.log1p(self.level / ratio[:, None])).sum(axis=-1)
        spread = np.log(2.0 * np.pi * least / self.size) + 1.0
        return np.asarray(-0.5 * (self.size * spread + volume))

    def rise(self, ratio: Floats) -> Floats:
        """Derivative of the evidence in log lambda: 0 where lambda |s|^2 / sigma^2 = parameters."""
        least, slope, _ = self.left(ratio)
        return 0.5 * (self.parameters(ratio) - self.size * slope / least)


def best_prior(spectrum: Spectrum) -> tuple[Prior, Floats]:
    """The prior of largest evidence in each pool, and gamma: a grid in log lambda, then halving.

    The evidence may have several maxima; the grid, two points a decade, is there to find the
    highest.
    """
    if (spectrum.total[:, 0] <= 0.0).any():
        raise ComparisonError(
            "every answer is one half, so there is nothing to fit a prior to; all scores are equal"
        )
    span = np.log(spectrum.degree[:, None]) + np.linspace(np.log(LOWEST), np.log(HIGHEST), GRID)
    height = np.stack([spectrum.evidence(np.exp(column)) for column in span.T], axis=1)
    best, rows = height.argmax(axis=1), np.arange(len(span))
    low, high = span[rows, np.maximum(best - 1, 0)], span[rows, np.minimum(best + 1, GRID - 1)]
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        up = spectrum.rise(np.exp(middle)) > 0.0
        low, high = np.where(up, middle, low), np.where(up, high, middle)
    at = 0.5 * (low + high)
    limit = np.where(at < span[:, 0] + 1e-6, -1, np.where(at > span[:, -1] - 1e-6, 1, 0))
    ratio = np.exp(at)
    least, _, gamma = spectrum.left(ratio)
    sigma = np.sqrt(least / spectrum.size)
    prior = Prior(
        ratio=ratio,
        sigma=sigma,
        tau=sigma / np.sqrt(ratio),
        evidence=spectrum.evidence(ratio),
        parameters=spectrum.parameters(ratio),
        limit=limit,
    )
    return prior, gamma


# One large problem ----------------------------------------------------------------------------


def lanczos_spectrum(
    comparisons: Comparisons, expert: Gaussian, *, bias: float | None, seed: int = 0
) -> Spectrum:
    """The spectrum that Lanczos's method sees from W'(opinions) and from random signs.

    A Krylov space of L is one of L + lambda I, so one run serves every lambda (stochastic Lanczos
    quadrature: Ubaru, Chen and Saad 2017). The quadratic forms converge as conjugate gradients do;
    the trace and the log-determinant have a relative random error of sqrt(2 / (N probes)) or less:
    1.1 % at a thousand items, 0.1 % at a million.
    """
    from poe import large

    c, n = comparisons, comparisons.n_items
    graph = large.LargeGraph(c)
    weight, opinion = graph.weight, expert.f_mu(graph.laid(c.p)) + (bias or 0.0)
    push = graph.transposed(weight * opinion)
    size = float(weight.sum())
    starts, total = [push], [float(weight @ opinion**2)]
    if bias is None:
        drift = graph.transposed(weight)
        starts += [drift, push + drift]
        total += [float(weight @ opinion), size]
    probes = min(max(200_000 // n, 2), 16)  # for the trace: more do no good where N is large
    signs = np.random.default_rng(seed).choice([-1.0, 1.0], size=(probes, n))
    block = np.column_stack([*starts, *signs])
    level, share = lanczos(graph.laplacian(weight)[1], block)
    f = len(starts)
    at, force = level[:f], share[:f]
    if bias is None:  # x'f(L)y = ((x + y)'f(L)(x + y) - x'f(L)x - y'f(L)y) / 2
        nothing = np.zeros_like(force[0])
        at = np.tile(level[:f].ravel(), (3, 1))
        force = np.stack(
            [
                np.concatenate([force[0], nothing, nothing]),
                np.concatenate([-0.5 * force[0], -0.5 * force[1], 0.5 * force[2]]),
                np.concatenate([nothing, force[1], nothing]),
            ]
        )
    return Spectrum(
        level=level[f:].reshape(1, -1),
        count=share[f:].reshape(1, -1) / probes,
        at=at[None],
        push=force[None],
        total=np.array([total]),
        size=np.array([size]),
        degree=np.array([2.0 * size / n]),
    )


def lanczos(times: Callable[[Floats], Floats], block: Floats) -> tuple[Floats, Floats]:
    """Nodes and weights (R, STEPS) with x'f(A)x = sum of weight * f(node), for columns x (N, R).

    Golub and Meurant, Matrices, moments and quadrature (2010). Lost orthogonality repeats nodes
    and shares their weight out among them, which does not change the sums.
    """
    length = np.linalg.norm(block, axis=0)
    now = block / np.where(length > 0.0, length, 1.0)
    before, link = np.zeros_like(now), np.zeros(block.shape[1])
    steps = min(STEPS, len(block))
    matrix = np.zeros((block.shape[1], steps, steps))
    for k in range(steps):
        image = times(now) - link * before
        along = (now * image).sum(axis=0)
        matrix[:, k, k] = along
        image -= along * now
        link = np.linalg.norm(image, axis=0)
        link = np.where(link > 1e-10 * (np.abs(along) + matrix[:, 0, 0]), link, 0.0)
        if k + 1 < steps:
            matrix[:, k, k + 1] = matrix[:, k + 1, k] = link
        before, now = now, np.where(link > 0.0, image / np.where(link > 0.0, link, 1.0), 0.0)
    level, vector = np.linalg.eigh(matrix)
    return np.maximum(level, 0.0), length[:, None] ** 2 * vector[:, 0] ** 2


def by_conjugate_gradients(c: Comparisons, expert: Gaussian, gamma: float, ratio: float) -> Floats:
    """Scores (N,), mean zero, of one problem of any size at a bias gamma and a lambda `ratio`."""
    from poe import large

    graph = large.LargeGraph(c, ridge=ratio)
    push = graph.transposed(graph.weight * (expert.f_mu(graph.laid(c.p)) + gamma))
    scale: Any = graph.degrees(graph.weight) + ratio
    scores, _ = graph.direction(graph.weight, push, enough=1e-10, scale=scale)
    return scores - scores.mean()
