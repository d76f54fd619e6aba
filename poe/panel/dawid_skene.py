"""Dawid and Skene: every judge has a confusion matrix, and EM finds it without labels.

The second half is how sure those matrices are: the curvature of the likelihood (Louis 1982).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any, Literal

import numpy as np
from scipy.optimize import linear_sum_assignment

from poe.comparisons import Floats, Indices
from poe.errors import name_some
from poe.panel.judgements import (
    Decisions,
    Judgements,
    PanelError,
    Patterns,
    find_patterns,
    one_hot,
)
from poe.panel.voting import TINY, Aggregation

CHUNK = 1 << 16  # patterns looked at together
FLAT = 1e-6  # eigenvalues below this share of the largest count as zero
FIXED = 1e-6  # a probability this close to 0 or 1 is at the edge, where there is no curvature


def dawid_skene(
    given: Judgements,
    *,
    prior: Literal["uniform", "fit"] = "uniform",
    start: Literal["majority", "random"] | Indices = "majority",
    seed: int = 0,
    trusted: Hashable | None = None,
    tol: float = 1e-7,
    max_steps: int = 2000,
) -> Aggregation:
    """Maximum-likelihood confusion matrices by EM (Algorithm 3; Dawid and Skene 1979).

    With two classes and prior="uniform" this is Algorithm 3: C_k1 = p_1 and C_k0 = p_0 are the
    diagonal, and P(c = 1) = 1/2. With more classes C_kcb = P(judge k says b | truth c):

        E: q_nc = P(c_n = c | b_n), eq. 8 with the prior in the place of s_n;
        M: C_kcb = sum_n q_nc 1[b_nk = b] / sum_n q_nc 1[judge k saw n].

    prior : "uniform", or "fit" for class shares estimated as the mean of q, as in the original.
    start : "random", the paper's draw of the diagonal from U[1/2, 1] with `seed`; or "majority",
        from the shares of votes, which needs no seed; or (N,) labels to begin with.
    trusted : a judge taken to be better than chance, which then names the classes.
    tol : largest change of a probability in C at the end.

    Standard errors come from the observed information of the likelihood (Louis 1982) and
    assume that judges err independently given the truth; where they share errors they are too
    small. They are NaN where the likelihood is flat: the skills of one or two judges of two
    classes are not identified, for two judges give three frequencies for four skills.

    The likelihood does not change when classes are renamed in truth and skills alike. Of the
    renamings the one is returned with the largest sum of diagonals over judgements: most weight
    is taken to be on judges better than chance; or with the largest diagonal of `trusted`.
    Where that is false the labels are wrong, and nothing in the likelihood says so; see
    `poe.panel.diagnose`.
    """
    c = given.n_classes
    patterns = find_patterns(given.decisions)
    confusion = _start(given, patterns, start, seed)
    said = np.isin(np.arange(c), given.decisions)
    shares = said / said.sum()  # a class that nobody ever names has no share
    change, steps = np.inf, 0
    while change > tol and steps < max_steps:
        tally, mass, _ = _expect(patterns, confusion, shares)
        updated = _normalised(tally)
        shares = mass / mass.sum() if prior == "fit" else shares
        change = float(np.abs(updated - confusion).max())
        confusion, steps = updated, steps + 1
    confusion, shares, renamed = _orient(confusion, shares, given, trusted)
    tally, mass, log_likelihood = _expect(patterns, confusion, shares)
    q = np.concatenate([part[1] for part in _parts(patterns, confusion, shares)])
    se, slope_se, flat = _standard_errors(patterns, q, confusion, shares, fit_prior=prior == "fit")
    labels = np.argmax(q, axis=1)[patterns.where]
    labels[~given.seen.any(axis=1)] = -1

    notes = [f"EM, {steps} steps, last change {change:.1e} (tolerance {tol:.0e})"]
    if change > tol:
        notes[0] += ", NOT converged: raise max_steps"
    if empty := [given.classes[c] for c in np.flatnonzero(mass < 0.5)]:
        notes.append(f"no sample is believed to be of class {', '.join(map(repr, empty))}")
    said_classes = (tally.sum(axis=1) > 0).sum(axis=1)
    if constant := [given.judges[k] for k in np.flatnonzero(said_classes == 1)]:
        notes.append(f"always gave one answer: {', '.join(map(repr, constant))}")
    if renamed:
        notes.append("classes were renamed so that those trusted are better than chance")
    if flat:
        notes.append(
            "the skills are NOT identified (the likelihood is flat along "
            f"{flat} direction{'s' if flat > 1 else ''}); no standard errors"
        )
    return Aggregation(
        "Dawid-Skene",
        given.judges,
        given.classes,
        labels,
        q[patterns.where],
        "; ".join(notes),
        confusion,
        se,
        slope_se,
        shares,
        change <= tol,
        log_likelihood,
    )


def _start(given: Judgements, patterns: Patterns, start: Any, seed: int) -> Floats:
    """Confusion matrices [k, c, b] to begin with."""
    k, c = len(given.judges), given.n_classes
    decisions = patterns.decisions
    if isinstance(start, np.ndarray):
        if start.shape != (len(given),):
            raise PanelError(f"start has shape {start.shape}, not ({len(given)},)")
        decisions, q = given.decisions, np.eye(c)[start.astype(np.intp)]
    elif start == "random":
        diagonal = np.random.default_rng(seed).uniform(0.5, 1.0, size=(k, c, 1))
        return np.where(np.eye(c, dtype=bool), diagonal, (1.0 - diagonal) / (c - 1))
    elif start == "majority":
        votes = one_hot(decisions, c).reshape(len(decisions), k, c).sum(axis=1)
        total = votes.sum(axis=1, keepdims=True)
        q = np.where(total > 0, votes / np.maximum(total, 1.0), 1.0 / c)
        q *= patterns.weight[:, None]
    else:
        raise ValueError(f"start must be 'majority' or 'random', not {start!r}")
    return _normalised((one_hot(decisions, c).T @ q).reshape(k, c, c).transpose(0, 2, 1))


def _parts(
    patterns: Patterns, confusion: Floats, shares: Floats
) -> Iterator[tuple[Floats, Floats, Floats]]:
    """Slices of the patterns: one-hot decisions, q and log-likelihood of each pattern."""
    k, c, _ = confusion.shape
    log_c = np.log(np.maximum(confusion, TINY)).transpose(0, 2, 1).reshape(k * c, c)
    with np.errstate(divide="ignore"):
        log_prior = np.log(shares)  # a class with no share keeps none
    for low in range(0, len(patterns.weight), CHUNK):
        wide = one_hot(patterns.decisions[low : low + CHUNK], c)
        joint = wide @ log_c + log_prior
        top = joint.max(axis=1, keepdims=True)
        q = np.exp(joint - top)
        total = q.sum(axis=1, keepdims=True)
        q /= total
        yield wide, q, (top + np.log(total))[:, 0]


def _expect(patterns: Patterns, confusion: Floats, shares: Floats) -> tuple[Floats, Floats, float]:
    """Expected counts [k, c, b], expected number of samples of each class, log-likelihood."""
    k, c, _ = confusion.shape
    tally, mass, value, low = np.zeros((k * c, c)), np.zeros(c), 0.0, 0
    for wide, q, log_p in _parts(patterns, confusion, shares):
        count = patterns.weight[low : low + len(q)]
        low += len(q)
        weighted = q * count[:, None]
        tally += wide.T @ weighted
        mass += weighted.sum(axis=0)
        value += float(count @ log_p)
    return tally.reshape(k, c, c).transpose(0, 2, 1), mass, value


def _normalised(tally: Floats) -> Floats:
    """Rows that sum to one; a class that nothing is believed to be of says nothing: uniform."""
    total = tally.sum(axis=2, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(total > TINY, tally / total, 1.0 / tally.shape[2])


def _orient(
    confusion: Floats, shares: Floats, given: Judgements, trusted: Hashable | None
) -> tuple[Floats, Floats, bool]:
    """Rename the classes of the truth to what most judgements, or the trusted judge, call them."""
    weight = given.seen.sum(axis=0).astype(float)
    if trusted is not None:
        if trusted not in given.judges:
            raise PanelError(f"trusted names {trusted!r}; there are {name_some(given.judges)}")
        weight = (np.arange(len(weight)) == given.judges.index(trusted)).astype(float)
    called = np.einsum("k,kcb->cb", weight, confusion)
    truth, name = linear_sum_assignment(-called)
    order = np.empty_like(truth)
    order[name] = truth
    return confusion[:, order], shares[order], bool((order != np.arange(len(order))).any())


def _standard_errors(
    patterns: Patterns, q: Floats, confusion: Floats, shares: Floats, *, fit_prior: bool
) -> tuple[Floats, Floats, int]:
    """Errors (K, C, C) of the confusion matrices and (K,) of the slopes; directions without any.

    From the observed information. Parameters are the logits of P(b | c) against the last b, for
    every judge and class, and those of the class shares if they were fitted. Probabilities at 0
    or 1 are held there.
    """
    k, c, _ = confusion.shape
    m = c - 1
    hessian = _information(patterns.decisions, patterns.weight, q, confusion, shares, fit_prior)
    # With the last class at 0 the logits against it are infinite, and so are the others'.
    inside = (confusion > FIXED) & (confusion < 1.0 - FIXED)
    moves = inside[:, :, :m] & (confusion[:, :, m:] > FIXED)
    moves &= (shares > FIXED)[None, :, None]  # a class nobody belongs to moves nothing
    free = moves.transpose(1, 0, 2).ravel()
    if fit_prior:
        free = np.concatenate([free, (shares[:m] > FIXED) & (shares[m] > FIXED)])
    values, vectors = np.linalg.eigh(hessian[np.ix_(free, free)])
    flat = int((values < FLAT * max(values.max(initial=0.0), 1e-300)).sum())
    # K judges give C^K - 1 frequencies; more unknowns than that cannot be found.
    flat = max(flat, len(hessian) - (c**k - 1)) if k < 20 else flat
    if flat or not free.any():
        return np.full((k, c, c), np.nan), np.full(k, np.nan), flat
    covariance = np.zeros_like(hessian)
    covariance[np.ix_(free, free)] = (vectors / values) @ vectors.T
    blocks = covariance[: c * k * m, : c * k * m].reshape(c, k, m, c, k, m)
    own = np.einsum("akibkj->kaibj", blocks)  # judge by judge
    rise = _by_logits(confusion)
    variance = np.einsum("kabi,kaiaj,kabj->kab", rise, own, rise)
    lean = np.einsum("kaai->kai", rise)
    slope = np.einsum("kai,kaibj,kbj->k", lean, own, lean)
    return np.sqrt(np.maximum(variance, 0.0)), np.sqrt(np.maximum(slope, 0.0)) / m, 0


def _by_logits(p: Floats) -> Floats:
    """(..., C, C - 1) derivatives of probabilities by their logits: diag(p) - p p'."""
    c = p.shape[-1]
    return np.asarray((p[..., :, None] * (np.eye(c) - p[..., None, :]))[..., : c - 1])


def _information(
    decisions: Decisions,
    count: Floats,
    q: Floats,
    confusion: Floats,
    shares: Floats,
    fit_prior: bool,
) -> Floats:
    """I = E[complete] - Var[complete score], the observed information (Louis 1982).

    For one sample the score of the complete data with truth c is g_c = 1[said b] - P(b | c) in
    the block of c, and minus the Hessian of the log-likelihood is sum_c q_c (J_c - g_c g_c')
    + g g', g = sum_c q_c g_c, where J_c holds the multinomial covariances.
    """
    k, c, _ = confusion.shape
    m, block = c - 1, k * (c - 1)
    size = c * block + (m if fit_prior else 0)
    total = np.zeros((size, size))
    rise = np.eye(c)[:, :m] - shares[:m]  # score of the class shares for each truth
    for low in range(0, len(count), CHUNK // 16):
        said, n, weight = (x[low : low + CHUNK // 16] for x in (decisions, count, q))
        seen = (said >= 0)[:, :, None]
        told = said[:, :, None] == np.arange(m)
        mean = np.zeros((len(said), size))
        for truth in range(c):
            score = np.zeros_like(mean)
            at = slice(truth * block, (truth + 1) * block)
            own = np.where(seen, told - confusion[:, truth, :m], 0.0)
            score[:, at] = own.reshape(len(said), block)
            if fit_prior:
                score[:, c * block :] = rise[truth]
            mean += score * weight[:, truth, None]
            w = n * weight[:, truth]
            total -= score.T @ (score * w[:, None])
            heard = (seen[:, :, 0] * w[:, None]).sum(axis=0)
            spread = _by_logits(confusion[:, truth])[:, :m] * heard[:, None, None]
            for judge in range(k):
                own_block = slice(at.start + judge * m, at.start + (judge + 1) * m)
                total[own_block, own_block] += spread[judge]
        if fit_prior:
            total[c * block :, c * block :] += n.sum() * _by_logits(shares)[:m]
        total += mean.T @ (mean * n[:, None])
    return total
