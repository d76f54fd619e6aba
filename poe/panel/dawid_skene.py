"""Dawid and Skene: every judge has a confusion matrix, and EM finds it without labels."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any, Literal

import numpy as np
from scipy.optimize import linear_sum_assignment

from poe.comparisons import Floats, Indices
from poe.errors import name_some
from poe.panel.errors import AggregationError
from poe.panel.information import standard_errors
from poe.panel.judgements import Decisions, Judgements
from poe.panel.patterns import Patterns, find_patterns, one_hot
from poe.panel.posterior import TINY
from poe.panel.result import Aggregation

CHUNK = 1 << 16


def dawid_skene(
    given: Judgements,
    *,
    prior: Literal["uniform", "fit"] = "uniform",
    start: Literal["majority", "random"] | Indices = "majority",
    seed: int = 0,
    trusted: Hashable | None = None,
    smoothing: float = 0.0,
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
    smoothing : pseudo-judgements added to every cell of every judge. tol : largest change of a
        probability in C at the end.

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
    patterns = find_patterns(given.decisions, given.n_classes)
    confusion = _start(given, patterns, start, seed, smoothing)
    said = np.isin(np.arange(given.n_classes), given.decisions)
    shares = said / said.sum()  # a class that nobody ever names has no share
    if prior == "fit" and not isinstance(start, np.ndarray) and start == "majority":
        shares = _votes(patterns.decisions, given.n_classes).T @ patterns.weight / len(given)
    change, steps = np.inf, 0
    for steps in range(1, max_steps + 1):  # noqa: B007
        tally, mass, _ = _expect(patterns, confusion, shares)
        updated = _normalised(tally + smoothing)
        shares = mass / mass.sum() if prior == "fit" else shares
        change = float(np.abs(updated - confusion).max())
        confusion = updated
        if change <= tol:
            break
    confusion, shares, renamed = _orient(confusion, shares, given, trusted)
    message = f"EM, {steps} steps, last change {change:.1e} (tolerance {tol:.0e})"
    if change > tol:
        message += ", NOT converged: raise max_steps"
    return _finish(given, patterns, confusion, shares, prior, message, change <= tol, renamed)


def _finish(
    given: Judgements,
    patterns: Patterns,
    confusion: Floats,
    shares: Floats,
    prior: str,
    message: str,
    converged: bool,
    renamed: bool,
) -> Aggregation:
    tally, mass, log_likelihood = _expect(patterns, confusion, shares)
    q = np.concatenate([part[1] for part in _parts(patterns, confusion, shares)])
    errors = standard_errors(
        patterns.decisions, patterns.weight, q, confusion, shares, fit_prior=prior == "fit"
    )
    notes = [message]
    empty = [given.classes[c] for c in np.flatnonzero(mass < 0.5)]
    if empty:
        notes.append(f"no sample is believed to be of class {', '.join(map(repr, empty))}")
    constant = [
        given.judges[k]
        for k in range(len(given.judges))
        if (tally[k].sum(axis=0) > 0).sum() == 1  # one answer throughout
    ]
    if constant:
        notes.append(f"always gave one answer: {', '.join(map(repr, constant))}")
    if renamed:
        notes.append("classes were renamed so that those trusted are better than chance")
    if errors.flat:
        notes.append(
            "the skills are NOT identified (the likelihood is flat along "
            f"{errors.flat} direction{'s' if errors.flat > 1 else ''}); no standard errors"
        )
    labels = np.argmax(q, axis=1)[patterns.where]
    labels[~given.seen.any(axis=1)] = -1
    return Aggregation(
        "Dawid-Skene",
        given.judges,
        given.classes,
        labels,
        q[patterns.where],
        confusion,
        errors.confusion,
        errors.slope,
        shares,
        "; ".join(notes),
        converged,
        log_likelihood,
    )


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
    """Expected counts [k, c, b], expected number of samples a class, and the log-likelihood."""
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


def _votes(decisions: Decisions, n_classes: int) -> Floats:
    """Shares of votes, uniform where nobody voted."""
    votes = one_hot(decisions, n_classes).reshape(len(decisions), -1, n_classes).sum(axis=1)
    total = votes.sum(axis=1, keepdims=True)
    return np.where(total > 0, votes / np.maximum(total, 1.0), 1.0 / n_classes)


def _start(
    given: Judgements, patterns: Patterns, start: Any, seed: int, smoothing: float
) -> Floats:
    k, c = len(given.judges), given.n_classes
    if isinstance(start, np.ndarray):
        if start.shape != (len(given),):
            raise AggregationError(f"start has shape {start.shape}, not ({len(given)},)")
        labels = np.eye(c)[start.astype(np.intp)]
        tally = one_hot(given.decisions, c).T @ labels
        return _normalised(tally.reshape(k, c, c).transpose(0, 2, 1) + smoothing)
    if start == "random":
        diagonal = np.random.default_rng(seed).uniform(0.5, 1.0, size=(k, c, 1))
        return np.where(np.eye(c, dtype=bool), diagonal, (1.0 - diagonal) / (c - 1))
    if start != "majority":
        raise ValueError(f"start must be 'majority' or 'random', not {start!r}")
    weighted = _votes(patterns.decisions, c) * patterns.weight[:, None]
    tally = one_hot(patterns.decisions, c).T @ weighted
    return _normalised(tally.reshape(k, c, c).transpose(0, 2, 1) + smoothing)


def _orient(
    confusion: Floats, shares: Floats, given: Judgements, trusted: Hashable | None
) -> tuple[Floats, Floats, bool]:
    """Rename the classes of the truth to what most judgements, or the trusted judge, call them."""
    weight = given.seen.sum(axis=0).astype(float)
    if trusted is not None:
        if trusted not in given.judges:
            raise AggregationError(
                f"trusted names {trusted!r}; there are {name_some(given.judges)}"
            )
        weight = (np.arange(len(weight)) == given.judges.index(trusted)).astype(float)
    called = np.einsum("k,kcb->cb", weight, confusion)
    truth, name = linear_sum_assignment(-called)
    order = np.empty_like(truth)
    order[name] = truth
    same = bool((order == np.arange(len(order))).all())
    return confusion[:, order], shares[order], not same
