"""The methods as a textbook would put them: the formula, a generic optimiser, dense matrices.

Correct, short, and what one writes on a first afternoon. The functions at the end use a
sparse W, as someone with a large problem soon would. Scores come mean-zero.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.sparse.linalg import lsmr
from scipy.special import expit

from benchmarks.timing import centred


def comparison_matrix(first, second, n):
    w = np.zeros((len(first), n))
    rows = np.arange(len(first))
    w[rows, first], w[rows, second] = 1.0, -1.0
    return w


def average_probability(first, second, p, n):
    total, count = np.zeros(n), np.zeros(n)
    for i, j, chance in zip(first, second, p, strict=True):
        total[i] += chance
        total[j] += 1.0 - chance
        count[i] += 1
        count[j] += 1
    return total / count


def win_ratio(first, second, p, n):
    return average_probability(first, second, (np.sign(p - 0.5) + 1.0) / 2.0, n)


def gaussian_by_inverse(first, second, p, n):
    w = np.vstack([np.eye(1, n), comparison_matrix(first, second, n)])
    target = np.concatenate([[0.0], p - 0.5])
    return centred(np.linalg.inv(w.T @ w) @ w.T @ target)


def gaussian_by_pinv(first, second, p, n):
    return np.linalg.pinv(comparison_matrix(first, second, n)) @ (p - 0.5)


def soft_bradley_terry_by_bfgs(first, second, p, n, *, gtol=1e-7):
    w = comparison_matrix(first, second, n)
    return _minimised(w, p, n, method="BFGS", options={"gtol": gtol})


def bradley_terry_by_zermelo(first, second, p, n, *, prior=0.0, tol=1e-9, most=100_000):
    """Until no strength moves by more than `tol`, relatively."""
    wins = np.zeros((n, n))
    np.add.at(wins, (first, second), p)
    np.add.at(wins, (second, first), 1.0 - p)
    wins += prior * (1.0 - np.eye(n))
    played, total = wins + wins.T, wins.sum(axis=1)
    strength = np.ones(n)
    for _ in range(most):
        new = total / (played / (strength[:, None] + strength)).sum(axis=1)
        new /= np.exp(np.log(new).mean())
        moved = np.abs(new / strength - 1.0).max()
        strength = new
        if moved < tol:
            break
    return np.log(strength)


def laplacian_by_cvxpy(first, second, p, n):
    """The linear program with one eta a comparison, by cvxpy's default solver."""
    import cvxpy as cp

    s, eta = cp.Variable(n), cp.Variable(len(p))
    gap = comparison_matrix(first, second, n) @ s - (p - 0.5)
    cp.Problem(cp.Minimize(cp.sum(eta)), [gap <= eta, -eta <= gap, cp.sum(s) == 0]).solve()
    return s.value


def laplacian_objective(first, second, p, scores):
    return np.abs(scores[first] - scores[second] - (p - 0.5)).sum()


def sparse_matrix(first, second, n):
    k = len(first)
    rows = np.concatenate([np.arange(k), np.arange(k)])
    return csr_array((np.repeat([1.0, -1.0], k), (rows, np.concatenate([first, second]))), (k, n))


def gaussian_by_lsmr(first, second, p, n):
    w = sparse_matrix(first, second, n)
    return centred(lsmr(w, p - 0.5, atol=1e-10, btol=1e-10, maxiter=1000)[0])


def soft_bradley_terry_by_lbfgs(first, second, p, n):
    w = sparse_matrix(first, second, n)
    options = {"gtol": 1e-6, "ftol": 0.0, "maxiter": 1000, "maxcor": 20}
    return _minimised(w, p, n, method="L-BFGS-B", options=options)


def added_along(links, names, steps):
    """Scores of a tree, links (parent, child), parents before their children."""
    scores = np.zeros(len(names))
    for (parent, child), step in zip(links.tolist(), steps.tolist(), strict=True):
        scores[names[child]] = scores[names[parent]] - step
    return centred(scores)


def _minimised(w, p, n, **how):
    def loss(s):
        d = w @ s
        return (np.logaddexp(0.0, d) - p * d).sum(), w.T @ (expit(d) - p)

    return centred(minimize(loss, np.zeros(n), jac=True, **how).x)


def greedy(n, count):
    """From the chain, always the new pair with the largest A_ii + A_jj - 2 A_ij (paper eq. 16)."""
    pairs = [(i, i + 1) for i in range(n - 1)]
    w = np.vstack([np.eye(1, n), comparison_matrix(*np.transpose(pairs), n)])
    a = np.linalg.inv(w.T @ w)
    new = np.triu(np.ones((n, n), dtype=bool), 1)
    new[tuple(np.transpose(pairs))] = False
    while len(pairs) < count:
        gain = np.where(new, np.diag(a)[:, None] + np.diag(a) - 2.0 * a, -1.0)
        i, j = np.unravel_index(np.argmax(gain), gain.shape)
        column = a[:, i] - a[:, j]
        a -= np.outer(column, column) / (1.0 + gain[i, j])
        new[i, j] = False
        pairs.append((int(i), int(j)))
    return np.array(pairs)
