"""Dawid and Skene: every judge has a confusion matrix, and EM finds it without labels.

The second half is how sure those matrices are: the curvature of the likelihood (Louis 1982).
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.linalg import block_diag
from scipy.optimize import linear_sum_assignment
from scipy.special import logsumexp, softmax

from judging.panel.judgements import Decisions, Judgements, PanelError
from judging.panel.voting import TINY, Aggregation
from poe.arrays import Floats, Indices
from poe.errors import name_some

STARTS = ("majority", "random")
FLAT = 1e-6  # eigenvalues below this share of the largest count as zero
FIXED = 1e-6  # a probability this close to 0 or 1 is at the edge, where there is no curvature


def dawid_skene(
    given: Judgements,
    *,
    prior: Literal["uniform", "fit"] = "uniform",
    start: Literal["majority", "random"] | ArrayLike = "majority",
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
        from the shares of votes, which needs no seed; or (N,) numbers of classes to begin with.
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
    `judging.panel.diagnose`.
    """
    if prior not in ("uniform", "fit") or (isinstance(start, str) and start not in STARTS):
        raise ValueError(f"no such prior or start: {prior!r}, {start!r}")
    c = given.n_classes
    decisions, weight, where = find_patterns(given.decisions)
    wide = one_hot(decisions, c)
    said = np.isin(np.arange(c), given.decisions)
    shares = said / said.sum()  # a class that nobody ever names has no share
    if isinstance(start, str):
        confusion = _start(given, wide, weight, start, seed)
    else:
        confusion = _maximise(wide[where], np.eye(c)[_labels(start, len(where), c)])
    change, steps = np.inf, 0
    while change > tol and steps < max_steps:
        believed = softmax(_joint(wide, confusion, shares), axis=1) * weight[:, None]
        updated = _maximise(wide, believed)
        if prior == "fit":
            shares = believed.sum(axis=0) / believed.sum()
        change = float(np.abs(updated - confusion).max())
        confusion, steps = updated, steps + 1
    confusion, shares, renamed = _orient(confusion, shares, given, trusted)
    joint = _joint(wide, confusion, shares)
    q = softmax(joint, axis=1)
    se, slope_se, flat = _standard_errors(
        decisions, weight, q, confusion, shares, fit_prior=prior == "fit"
    )
    labels = np.argmax(q, axis=1)[where]
    labels[~given.seen.any(axis=1)] = -1

    notes = [f"EM, {steps} steps, last change {change:.1e} (tolerance {tol:.0e})"]
    if change > tol:
        notes[0] += ", NOT converged: raise max_steps"
    if empty := [given.classes[c] for c in np.flatnonzero(weight @ q < 0.5)]:
        notes.append(f"no sample is believed to be of class {', '.join(map(repr, empty))}")
    answers = (wide > 0).any(axis=0).reshape(-1, c).sum(axis=1)
    if constant := [given.judges[k] for k in np.flatnonzero(answers == 1)]:
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
        q[where],
        "; ".join(notes),
        confusion,
        se,
        slope_se,
        shares,
        converged=change <= tol,
        identified=not flat,
        log_likelihood=float(weight @ logsumexp(joint, axis=1)),
    )


def _labels(start: ArrayLike, n: int, c: int) -> Indices:
    """Labels to begin with, one a sample: numbers of classes."""
    labels = np.asarray(start)
    whole = labels.shape == (n,) and np.issubdtype(labels.dtype, np.integer)
    if not whole or labels.min() < 0 or labels.max() >= c:
        raise PanelError(
            f"start must be {', '.join(map(repr, STARTS))} or a number of a class, 0 to {c - 1}, "
            f"for each of the {n} samples"
        )
    return labels


def find_patterns(decisions: Decisions) -> tuple[Decisions, Floats, Indices]:
    """Different rows of judgements, how often each occurs, and which row each sample has.

    Few judges make few different rows: a million samples of ten judges of two classes have at
    most 3^10.
    """
    columns = list(range(decisions.shape[1]))
    where = pd.DataFrame(decisions).groupby(columns).ngroup().to_numpy()
    _, first, count = np.unique(where, return_index=True, return_counts=True)
    return decisions[first], count.astype(float), where


def one_hot(decisions: Decisions, n_classes: int) -> Floats:
    """(P, K C): a one in column k C + b where judge k said b, none where it is missing."""
    wide = decisions[:, :, None] == np.arange(n_classes)
    return wide.reshape(len(decisions), -1).astype(float)


def _start(given: Judgements, wide: Floats, weight: Floats, start: str, seed: int) -> Floats:
    """Confusion matrices [k, c, b] to begin with."""
    k, c = len(given.judges), given.n_classes
    if start == "random":
        diagonal = np.random.default_rng(seed).uniform(0.5, 1.0, size=(k, c, 1))
        return np.where(np.eye(c, dtype=bool), diagonal, (1.0 - diagonal) / (c - 1))
    votes = wide.reshape(len(wide), k, c).sum(axis=1)
    total = votes.sum(axis=1, keepdims=True)
    q = np.where(total > 0, votes / np.maximum(total, 1.0), 1.0 / c)
    return _maximise(wide, q * weight[:, None])


def _joint(wide: Floats, confusion: Floats, shares: Floats) -> Floats:
    """(P, C) logarithm of P(truth c, these judgements)."""
    k, c, _ = confusion.shape
    log_c = np.log(np.maximum(confusion, TINY)).transpose(0, 2, 1).reshape(k * c, c)
    with np.errstate(divide="ignore"):
        log_prior = np.log(shares)  # a class with no share keeps none
    return wide @ log_c + log_prior


def _maximise(wide: Floats, believed: Floats) -> Floats:
    """Confusion matrices [k, c, b] from how many samples are believed to be of each class.

    A class that nothing is believed to be of says nothing: its row is uniform.
    """
    c = believed.shape[1]
    tally = (wide.T @ believed).reshape(-1, c, c).transpose(0, 2, 1)
    total = tally.sum(axis=2, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(total > TINY, tally / total, 1.0 / c)


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
    decisions: Decisions,
    weight: Floats,
    q: Floats,
    confusion: Floats,
    shares: Floats,
    *,
    fit_prior: bool,
) -> tuple[Floats, Floats, int]:
    """Errors (K, C, C) of the confusion matrices and (K,) of the slopes; directions without any.

    Probabilities at 0 or 1 are held there, and so are class shares that were not fitted.
    """
    k, c, _ = confusion.shape
    m = c - 1
    hessian = information(decisions, weight, q, confusion, shares)
    # With the last class at 0 the logits against it are infinite, and so are the others'.
    inside = (confusion > FIXED) & (confusion < 1.0 - FIXED)
    moves = inside[:, :, :m] & (confusion[:, :, m:] > FIXED)
    moves &= (shares > FIXED)[None, :, None]  # a class nobody belongs to moves nothing
    shares_move = fit_prior & (shares[:m] > FIXED) & (shares[m] > FIXED)
    free = np.concatenate([moves.transpose(1, 0, 2).ravel(), shares_move])
    values, vectors = np.linalg.eigh(hessian[np.ix_(free, free)])
    flat = int((values < FLAT * max(values.max(initial=0.0), 1e-300)).sum())
    # K judges give C^K - 1 frequencies; more unknowns than that cannot be found.
    unknowns = c * k * m + fit_prior * m
    flat = max(flat, unknowns - (c**k - 1)) if k < 20 else flat
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


def information(
    decisions: Decisions, count: Floats, q: Floats, confusion: Floats, shares: Floats
) -> Floats:
    """I = E[complete] - Var[complete score], the observed information (Louis 1982).

    Parameters are the logits of P(b | c) against the last b, for every class and judge, and those
    of the class shares. For one sample the score of the complete data with truth c is
    g_c = 1[said b] - P(b | c) in the block of c, and minus the Hessian of the log-likelihood is
    sum_c q_c (J_c - g_c g_c') + g g', g = sum_c q_c g_c, where J_c holds the multinomial
    covariances.
    """
    k, c, _ = confusion.shape
    m, block = c - 1, k * (c - 1)
    seen = decisions >= 0
    indicator = decisions[:, :, None] == np.arange(m)
    of_shares = np.eye(c)[:, :m] - shares[:m]  # their score for each truth
    mean = np.zeros((len(decisions), c * block + m))
    total = np.zeros((mean.shape[1], mean.shape[1]))
    for truth in range(c):
        at = slice(truth * block, (truth + 1) * block)
        score = np.zeros_like(mean)
        own = np.where(seen[:, :, None], indicator - confusion[:, truth, :m], 0.0)
        score[:, at] = own.reshape(len(own), block)
        score[:, c * block :] = of_shares[truth]
        mean += score * q[:, truth, None]
        believed = count * q[:, truth]
        total -= score.T @ (score * believed[:, None])
        spread = _by_logits(confusion[:, truth])[:, :m] * (believed @ seen)[:, None, None]
        total[at, at] += block_diag(*spread)
    total[c * block :, c * block :] += count.sum() * _by_logits(shares)[:m]
    return total + mean.T @ (mean * count[:, None])
