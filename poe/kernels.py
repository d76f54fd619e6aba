"""One small problem after another, compiled by numba; imported by `poe.compiled` only.

What is computed is what `poe.newton` and `poe.central_path` compute, in which the
reasons are given. A problem of sixteen items fits into the fastest cache, so nothing is
stored but the answer.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

compiled: Any = njit(cache=True, nogil=True, error_model="numpy")


@compiled
def eliminate(links, x):  # type: ignore[no-untyped-def]
    """As `central_path.eliminate` for one Laplacian, whose lower triangle only is used."""
    n = len(x)
    for i in range(n - 1, 0, -1):
        row = links[i]
        total = 0.0
        for j in range(i):
            total += row[j]
        row[i] = total
        for j in range(i):
            share = row[j] / total
            x[j] += share * x[i]
            for k in range(j):
                links[j, k] += share * row[k]
    x[0] = 0.0
    for i in range(1, n):
        value = x[i]
        for j in range(i):
            value += links[i, j] * x[j]
        x[i] = value / links[i, i]


@compiled
def _expert(logistic, d, target, precision):  # type: ignore[no-untyped-def]
    """Energy, slope and curvature at the difference d: Bradley-Terry or Gaussian."""
    if not logistic:
        gap = d - target
        return 0.5 * precision * gap * gap, precision * gap, precision
    small = math.exp(-abs(d))
    share = 1.0 / (1.0 + small)
    up = share if d > 0.0 else small * share
    return max(d, 0.0) + math.log1p(small) - target * d, up - target, small * share * share


@compiled
def _look(logistic, floor, problem, scores, slope, links):  # type: ignore[no-untyped-def]
    """Energy at `scores`; writes the slope by item and the stiffness of the links."""
    first, second, target, precision, weight, offset = problem
    slope[:] = 0.0
    links[:] = 0.0
    total = 0.0
    for k in range(len(first)):
        i, j = first[k], second[k]
        d = scores[i] - scores[j] - offset[k]
        energy, pull, curvature = _expert(logistic, d, target[k], precision[k])
        total += weight[k] * energy
        slope[i] += weight[k] * pull
        slope[j] -= weight[k] * pull
        links[max(i, j), min(i, j)] += weight[k] * max(curvature, floor)
    return total


@compiled
def newton(logistic, floor, problems, tol, most, found):  # type: ignore[no-untyped-def]
    """`newton.solve` for the rows of the (B, K) arrays of `problems`; writes into `found`.

    problems : first, second, target, precision, weight, offset. found : scores (B, N), energy,
    gradient and steps (B,).
    """
    first, second, target, precision, weight, offset = problems
    scores, energies, gradients, steps = found
    n = scores.shape[1]
    links, slope, rise = np.empty((n, n)), np.empty(n), np.empty(n)
    for row in range(len(first)):
        problem = first[row], second[row], target[row], precision[row], weight[row], offset[row]
        degree = np.zeros(n)
        for k in range(first.shape[1]):
            degree[first[row, k]] += weight[row, k]
            degree[second[row, k]] += weight[row, k]
        here = np.zeros(n)
        energy = _look(logistic, floor, problem, here, slope, links)
        step = 0
        while True:
            gradient = np.abs(slope).max() / degree.max()
            if not gradient > tol or step == most:
                break
            rise[:] = -slope
            eliminate(links, rise)
            promised, slack = (slope * rise).sum(), 1e-12 * max(1.0, abs(energy))
            length = 2.0
            for _ in range(41):
                length /= 2.0
                there = here + length * rise
                reached = _look(logistic, floor, problem, there, slope, links)
                if reached <= energy + 1e-4 * length * promised + slack:
                    break
            here, energy = there, reached
            step += 1
        scores[row] = here - here.mean()
        energies[row], gradients[row], steps[row] = energy, gradient, step


@compiled
def follow(problems, tol, most, found):  # type: ignore[no-untyped-def]
    """`central_path.solve` for the rows of the (B, K) arrays of `problems`; writes into `found`.

    problems : first, second, target, cost, square. found : scores (B, N), energy, t and steps (B,).
    """
    first, second, target, costs, squares = problems
    scores, energies, reached, steps = found
    n, size = scores.shape[1], first.shape[1]
    links, x, rest = np.empty((n, n)), np.empty(n), np.empty(size)
    # Rows: over, under, above and below.
    parts, moves = np.empty((4, size)), np.empty((4, size))
    for row in range(len(first)):
        i, j, cost, square = first[row], second[row], costs[row], squares[row]
        links[:], x[:], total = 0.0, 0.0, cost.sum()
        for k in range(size):
            _link(links, x, i[k], j[k], cost[k], cost[k] * target[row, k])
        eliminate(links, x)
        s = x.copy()
        _residuals(s, i, j, target[row], 1.0, rest)
        scale, t, step, length = (cost * np.abs(rest)).sum() / total, 0.0, 0, 0.0
        if scale > 1e-14 * (1.0 + np.abs(target[row]).max()):
            parts[0] = np.maximum(rest / scale, 0.0) + 0.5
            parts[1] = np.maximum(-rest / scale, 0.0) + 0.5
            parts[2], parts[3] = cost, cost
            while True:
                t = (parts[0] * parts[2] + parts[1] * parts[3]).sum() / (2.0 * total)
                if not t > tol or step == most:
                    break
                t *= 0.01 if length > 0.9 else 0.5 if length < 0.5 else 0.1
                _residuals(s, i, j, target[row], scale, rest)
                length = _advance(i, j, cost, square, t, rest, parts, moves, links, x)
                s += length * scale * x
                step += 1
            _residuals(s, i, j, target[row], 1.0, rest)
        scores[row] = s - s.mean()
        energies[row], reached[row], steps[row] = (cost * np.abs(rest)).sum(), t, step


@compiled
def _link(links, x, i, j, stiffness, push):  # type: ignore[no-untyped-def]
    links[max(i, j), min(i, j)] += stiffness
    x[i] += push
    x[j] -= push


@compiled
def _residuals(s, first, second, target, scale, rest):  # type: ignore[no-untyped-def]
    for k in range(len(rest)):
        rest[k] = (s[first[k]] - s[second[k]] - target[k]) / scale


@compiled
def _advance(first, second, cost, square, t, rest, parts, moves, links, x):  # type: ignore[no-untyped-def]
    """`central_path._Path.advance`: moves `parts`, writes the direction of the scores into x."""
    over, under, above, below = parts
    links[:], x[:] = 0.0, 0.0
    for k in range(len(rest)):
        a, b = 1.0 / above[k], 1.0 / below[k]
        firmness = 1.0 / (over[k] * a + under[k] * b)
        gap = t * cost[k] * (a - b) - rest[k]
        pull = 0.5 * (below[k] - above[k]) + square[k] * rest[k]
        stiffness = square[k] + firmness
        _link(links, x, first[k], second[k], stiffness, gap * firmness - pull)
        moves[0, k], moves[1, k], moves[2, k], moves[3, k] = a, b, firmness, gap
    eliminate(links, x)
    length = 1.0
    for k in range(len(rest)):
        a, b, firmness, gap = moves[0, k], moves[1, k], moves[2, k], moves[3, k]
        turn = (x[first[k]] - x[second[k]] - gap) * firmness
        moves[0, k] = (t * cost[k] + over[k] * turn) * a - over[k]
        moves[1, k] = (t * cost[k] - under[k] * turn) * b - under[k]
        moves[2, k], moves[3, k] = -turn, turn
        for m in range(4):
            if -length * moves[m, k] > 0.99 * parts[m, k]:
                length = 0.99 * parts[m, k] / -moves[m, k]
    for m in range(4):
        for k in range(len(rest)):
            parts[m, k] += length * moves[m, k]
    return length
