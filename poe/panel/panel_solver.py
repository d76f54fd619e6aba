"""The optimum of a panel: scores, sharpness and bias of `poe.panel.panel` together."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from poe.comparisons import Floats, Indices
from poe.errors import name_some
from poe.panel.errors import UnidentifiedPanelError
from poe.panel.judges_together import Together

FLAT = 1e-9  # curvatures below this share of the largest count as none
RUNAWAY = 30.0  # logits that no finite evidence gives


def eta_of(data: Together, s: Floats, a: Floats, b: Floats) -> Floats:
    """Logits of the predictions, a_k (s_first - s_second) + b_k."""
    return a[data.judge] * (s[data.first] - s[data.second]) + b[data.judge]


def _energy(data: Together, eta: Floats, s: Floats, spread: float | None) -> float:
    soft = np.maximum(eta, 0.0) + np.log1p(np.exp(-np.abs(eta))) - data.p * eta
    return float(data.weight @ soft) + (0.0 if spread is None else float(s @ s) / (2 * spread**2))


def _gradient(
    data: Together, s: Floats, a: Floats, b: Floats, spread: float | None
) -> tuple[Floats, Floats, Floats]:
    n, k = len(s), len(a)
    pull = data.weight * (expit(eta_of(data, s, a, b)) - data.p)
    on = pull * a[data.judge]
    in_s = _sums(data.first, on, n) - _sums(data.second, on, n)
    if spread is not None:
        in_s = in_s + s / spread**2
    in_a = _sums(data.judge, pull * (s[data.first] - s[data.second]), k)
    return in_s, in_a, _sums(data.judge, pull, k)


def _sums(at: Indices, value: Floats, size: int) -> Floats:
    return np.asarray(np.bincount(at, value, size), dtype=float)


def starts(data: Together) -> list[tuple[Floats, Floats]]:
    """Scores and sharpness to begin with: what the judges' own rankings have in common, and none.

    Each judge's scores by least squares with a little ridge; their first principal component
    knows adversaries by their sign, which an average does not.
    """
    n, k = len(data.items), len(data.judges)
    own = np.zeros((k, n))
    for judge in range(k):
        mine = data.judge == judge
        first, second, weight = data.first[mine], data.second[mine], data.weight[mine]
        matrix = np.eye(n) * 0.1 * weight.mean()
        np.add.at(matrix, (first, first), weight)
        np.add.at(matrix, (second, second), weight)
        np.add.at(matrix, (first, second), -weight)
        np.add.at(matrix, (second, first), -weight)
        lean = weight * 4.0 * (data.p[mine] - np.average(data.p[mine], weights=weight))
        right = np.bincount(first, lean, n) - np.bincount(second, lean, n)
        own[judge] = np.linalg.solve(matrix, right)
    left, size, right = np.linalg.svd(own, full_matrices=False)
    found = []
    if size[0] > 1e-12:
        found.append((size[0] / np.sqrt(k) * right[0], np.sqrt(k) * left[:, 0]))
    found.append((own.mean(axis=0), np.ones(k)))
    return found


def descend(
    data: Together, start: tuple[Floats, Floats], spread: float | None
) -> tuple[float, Floats, Floats, Floats]:
    """Quasi-Newton from a start; the scale is fixed by writing a = sqrt(K) u / |u|."""
    n, k = len(data.items), len(data.judges)

    def parts(x: Floats) -> tuple[Floats, Floats, Floats, float]:
        size = float(np.linalg.norm(x[n : n + k]))
        return x[:n], np.sqrt(k) * x[n : n + k] / size, x[n + k :], size

    def value(x: Floats) -> tuple[float, Floats]:
        s, a, b, size = parts(x)
        in_s, in_a, in_b = _gradient(data, s, a, b, spread)
        in_u = np.sqrt(k) / size * (in_a - a * (a @ in_a) / k)
        energy = _energy(data, eta_of(data, s, a, b), s, spread)
        return energy, np.concatenate([in_s, in_u, in_b])

    x = np.concatenate([*start, np.zeros(k)])
    found = minimize(
        value, x, jac=True, method="L-BFGS-B", options={"maxiter": 5000, "ftol": 0, "gtol": 1e-9}
    )
    s, a, b, _ = parts(found.x)
    return float(found.fun), s, a, b


def _hessian(data: Together, s: Floats, a: Floats, b: Floats, spread: float | None) -> Floats:
    n, k, t = len(s), len(a), np.arange(len(data.p))
    eta = eta_of(data, s, a, b)
    jacobian = np.zeros((len(t), n + 2 * k))
    jacobian[t, data.first] += a[data.judge]
    jacobian[t, data.second] -= a[data.judge]
    jacobian[t, n + data.judge] = s[data.first] - s[data.second]
    jacobian[t, n + k + data.judge] = 1.0
    stiffness = data.weight * expit(eta) * expit(-eta)
    total = jacobian.T @ (jacobian * stiffness[:, None])
    # eta is bilinear in scores and sharpness, which adds the pull itself.
    pull = data.weight * (expit(eta) - data.p)
    cross = np.zeros((n, k))
    np.add.at(cross, (data.first, data.judge), pull)
    np.add.at(cross, (data.second, data.judge), -pull)
    total[:n, n : n + k] += cross
    total[n : n + k, :n] += cross.T
    if spread is not None:
        total[np.arange(n), np.arange(n)] += 1.0 / spread**2
    return np.asarray(total)


def _conventions(data: Together, a: Floats, spread: float | None) -> Floats:
    """Rows orthogonal to what the conventions allow: the scale, and a shift of each group."""
    n, k = len(data.items), len(a)
    groups = int(data.group.max()) + 1 if spread is None else 0
    rows = np.zeros((groups + 1, n + 2 * k))
    for group in range(groups):
        rows[group, :n] = data.group == group
    rows[groups, n : n + k] = a
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def polish(
    data: Together, s: Floats, a: Floats, b: Floats, spread: float | None
) -> tuple[Floats, Floats, Floats, Floats, float]:
    """Newton's steps on what the conventions leave free; the inverse curvature there."""
    n, k = len(s), len(a)
    total = float(data.weight.sum())
    for _ in range(20):
        if spread is None:
            s = s - (np.bincount(data.group, s) / np.bincount(data.group))[data.group]
        gradient = np.concatenate(_gradient(data, s, a, b, spread))
        # The constraint a'a = K has a multiplier where a prior pulls at the scale.
        multiplier = float(a @ gradient[n : n + k]) / k
        gradient[n : n + k] -= multiplier * a
        hessian = _hessian(data, s, a, b, spread)
        hessian[np.arange(n, n + k), np.arange(n, n + k)] -= multiplier
        free = _null_space(_conventions(data, a, spread))
        values, vectors = np.linalg.eigh(free.T @ hessian @ free)
        _require_curvature(data, values, free @ vectors[:, 0])
        directions = free @ vectors
        size = float(np.abs(gradient).max()) / total
        if size < 1e-13:
            break
        step = -directions @ ((directions.T @ gradient) / values)
        s, a, b = s + step[:n], a + step[n : n + k], b + step[n + k :]
        a = a * np.sqrt(k) / np.linalg.norm(a)
    return s, a, b, np.asarray((directions / values) @ directions.T), size


def _null_space(rows: Floats) -> Floats:
    _, _, basis = np.linalg.svd(rows, full_matrices=True)
    return basis[len(rows) :].T


def _require_curvature(data: Together, values: Floats, weakest: Floats) -> None:
    if values[0] > FLAT * values[-1]:
        return
    n, k = len(data.items), len(data.judges)
    share = np.abs(weakest[n : n + k]) + np.abs(weakest[n + k :])
    named = [data.judges[j] for j in np.flatnonzero(share > 0.1 * max(share.max(), 1e-12))]
    who = name_some(named) if share.max() > 1e-6 else "the judges"
    raise UnidentifiedPanelError(
        f"the comparisons of {who} do not tell sharpness, bias and scores apart: some change of "
        "them leaves every prediction as it is; add comparisons in the other order, or of items "
        "that the other judges compared"
    )
