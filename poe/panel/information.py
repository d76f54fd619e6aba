"""How sure the skills of Dawid and Skene are: the curvature of the likelihood of the judgements."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poe.comparisons import Floats
from poe.panel.judgements import Decisions

FLAT = 1e-6  # eigenvalues below this share of the largest count as zero
FIXED = 1e-6  # a probability this close to 0 or 1 is at the edge, where no curvature is


class Errors(NamedTuple):
    """Standard errors of the confusion matrices and slopes; `flat` directions without any."""

    confusion: Floats
    slope: Floats
    flat: int


def standard_errors(
    decisions: Decisions,
    count: Floats,
    q: Floats,
    confusion: Floats,
    shares: Floats,
    *,
    fit_prior: bool,
) -> Errors:
    """From the observed information I = E[complete] - Var[complete score] (Louis 1982).

    Parameters are the logits of P(b | c) against the last b, for every judge and class, and
    those of the class shares if they were fitted. For one sample the score of the complete data
    with truth c is g_c = 1[said b] - P(b | c) in the block of c, and minus the Hessian of the
    log-likelihood is sum_c q_c (J_c - g_c g_c') + g g', g = sum_c q_c g_c, where J_c holds the
    multinomial covariances. Probabilities at 0 or 1 are held there.
    """
    k, c, _ = confusion.shape
    hessian = _information(decisions, count, q, confusion, shares, fit_prior)
    spread = _multinomial(confusion)  # (K, C, C, C-1): derivative of probability by logit
    free = _free(confusion, shares, fit_prior)
    inner = hessian[np.ix_(free, free)]
    values, vectors = np.linalg.eigh(inner) if free.any() else (np.ones(0), np.ones((0, 0)))
    none = np.full((k, c, c), np.nan)
    flat = int((values < FLAT * max(values.max(initial=0.0), 1e-300)).sum())
    # K judges give C^K - 1 frequencies; more unknowns than that cannot be found.
    flat = max(flat, len(hessian) - (c**k - 1)) if k < 20 else flat
    if flat or not free.any():
        return Errors(none, np.full(k, np.nan), flat)
    covariance = np.zeros_like(hessian)
    covariance[np.ix_(free, free)] = (vectors / values) @ vectors.T
    m = c - 1
    blocks = covariance[: c * k * m, : c * k * m].reshape(c, k, m, c, k, m)
    se, slope = none, np.empty(k)
    for judge in range(k):
        own = blocks[:, judge, :, :, judge, :]
        for truth in range(c):
            jacobian = spread[judge, truth]
            se[judge, truth] = np.sqrt(
                np.maximum(np.diag(jacobian @ own[truth, :, truth] @ jacobian.T), 0.0)
            )
        lean = np.stack([spread[judge, truth, truth] for truth in range(c)])
        slope[judge] = np.sqrt(max(np.einsum("ai,aibj,bj->", lean, own, lean), 0.0)) / m
    return Errors(se, slope, 0)


def _free(confusion: Floats, shares: Floats, fit_prior: bool) -> np.ndarray:
    """Which logits may move: not those of probabilities at the edge."""
    inside = (confusion[:, :, :-1] > FIXED) & (confusion[:, :, :-1] < 1.0 - FIXED)
    # With the last class at 0 the logits against it are infinite, and so are the others'.
    inside &= confusion[:, :, -1:] > FIXED
    inside &= (shares > FIXED)[None, :, None]  # a class nobody belongs to moves nothing
    free = inside.transpose(1, 0, 2).ravel()
    if fit_prior:
        free = np.concatenate([free, (shares[:-1] > FIXED) & (shares[-1] > FIXED)])
    return free


def _multinomial(p: Floats) -> Floats:
    """(..., C, C - 1) derivatives of probabilities by logits: diag(p) - p p'."""
    c = p.shape[-1]
    full = p[..., :, None] * (np.eye(c) - p[..., None, :])
    return np.asarray(full[..., :-1])


def _information(
    decisions: Decisions,
    count: Floats,
    q: Floats,
    confusion: Floats,
    shares: Floats,
    fit_prior: bool,
) -> Floats:
    k, c, _ = confusion.shape
    m, block = c - 1, k * (c - 1)
    size = c * block + (m if fit_prior else 0)
    total = np.zeros((size, size))
    rise = np.eye(c)[:, :m] - shares[:m]  # score of the class shares for each truth
    for low in range(0, len(count), 1 << 14):
        said, n, weight = (x[low : low + (1 << 14)] for x in (decisions, count, q))
        seen = (said >= 0)[:, :, None]
        told = said[:, :, None] == np.arange(m)
        mean = np.zeros((len(said), size))
        for truth in range(c):
            at = slice(truth * block, (truth + 1) * block)
            score = np.where(seen, told - confusion[:, truth, :m], 0.0).reshape(len(said), block)
            w = n * weight[:, truth]
            total[at, at] -= score.T @ (score * w[:, None])
            mean[:, at] = score * weight[:, truth, None]
            if fit_prior:
                cross = np.outer(score.T @ w, rise[truth])
                total[at, c * block :] -= cross
                total[c * block :, at] -= cross.T
                total[c * block :, c * block :] -= w.sum() * np.outer(rise[truth], rise[truth])
            # The complete-data information: multinomial, judge by judge.
            heard = (seen[:, :, 0] * w[:, None]).sum(axis=0)
            spread = _multinomial(confusion[:, truth])[:, :m] * heard[:, None, None]
            for judge in range(k):
                own = slice(at.start + judge * m, at.start + (judge + 1) * m)
                total[own, own] += spread[judge]
        if fit_prior:
            mean[:, c * block :] = weight @ rise
            total[c * block :, c * block :] += n.sum() * (
                np.diag(shares[:m]) - np.outer(shares[:m], shares[:m])
            )
        total += mean.T @ (mean * n[:, None])
    return total
