"""Laplacian experts in stacks: the optimum, which one, and elimination without subtraction."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

import poe
from poe import newton
from poe.experts import Laplacian
from poe.graph import eliminate
from poe.large import incidence
from poe.lp import solve_l1
from poe.stack import Stack, block_size
from reproduction import central_path
from tests.poe.test_linear_program import PROBLEMS


def stack_of(seed, *, count=20, digits=None, weights=False):
    """Twelve connected problems of nine items; many ties if `digits` is 0 or 1."""
    rng, problems, n = np.random.default_rng(seed), 12, 9
    pairs = np.stack([poe.select(n, count, rule="no-repeat", seed=rng) for _ in range(problems)])
    quality = rng.standard_normal((problems, n))
    gap = np.take_along_axis(quality, pairs[..., 0], 1)
    gap = gap - np.take_along_axis(quality, pairs[..., 1], 1)
    p = 1.0 / (1.0 + np.exp(-gap - rng.standard_normal(gap.shape)))
    stack = Stack.of(n, pairs, p if digits is None else np.round(p, digits))
    if weights:
        stack = Stack(n, stack.first, stack.second, stack.p, 1.0 + rng.integers(0, 3, p.shape))
    return stack


def alone(stack, row):
    pairs = np.column_stack([stack.first[row], stack.second[row]])
    weight = stack.weight[row]
    return poe.Comparisons.from_pairs(pairs, stack.p[row], items=stack.n_items, weight=weight)


def least_energy(c, b):
    """By the dual linear program, which knows nothing of the path."""
    w = incidence(c.first, c.second, c.n_items)
    bound = c.weight / b
    found = linprog(
        c.p - 0.5, A_eq=w.T, b_eq=np.zeros(c.n_items), bounds=np.column_stack([-bound, bound])
    )
    return -found.fun


@pytest.mark.parametrize("kind", PROBLEMS)
@pytest.mark.parametrize("count", [9, 20])
def test_energy_is_that_of_the_linear_program(kind, count):
    stack = stack_of(count, count=count, **kind)
    found = central_path.solve(stack, Laplacian())
    assert found.converged.all()
    best = [least_energy(alone(stack, row), 1.0) for row in range(len(stack.p))]
    np.testing.assert_allclose(found.energy, best, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("kind", PROBLEMS)
def test_of_many_optima_it_is_the_one_of_least_squares(kind):
    stack = stack_of(5, **kind)
    found = central_path.solve(stack, Laplacian())
    exact = [solve_l1(alone(stack, row)) for row in range(len(stack.p))]
    assert not all(one.unique for one in exact)  # or there would be nothing to choose
    np.testing.assert_allclose(found.scores, [one.scores[0] for one in exact], atol=2e-4)


def test_parts_of_a_stack_do_not_show(monkeypatch):
    stack = stack_of(7)
    ways = ((central_path.solve, Laplacian()), (newton.solve, poe.BradleyTerry()))
    whole = [solve(stack, expert) for solve, expert in ways]
    monkeypatch.setattr("poe.stack.CACHED", 45)
    assert block_size(stack) == 2
    for (solve, expert), expected in zip(ways, whole, strict=True):
        parts = solve(stack, expert)
        np.testing.assert_allclose(parts.scores, expected.scores, atol=1e-9)
        np.testing.assert_array_equal(parts.steps, expected.steps)


def test_elimination_keeps_the_digits_of_small_links_next_to_huge_ones():
    rng = np.random.default_rng(1)
    cluster = np.arange(6) // 3
    size = np.where(cluster[:, None] == cluster, 1e9, 1e-9)
    links = np.tril(size * rng.random((6, 6)), -1)
    right = np.array([-1.0, 0.0, 0.0, 1.0, 0.0, 0.0])
    found = eliminate(links[..., None].copy(), right[:, None].copy())[:, 0]
    exact = exact_solution(links + links.T, right)
    np.testing.assert_allclose(found[1:], exact, rtol=1e-13)
    # The usual factorisation loses them: this is what the star-mesh rule is for.
    matrix = np.diag((links + links.T).sum(1)) - links - links.T
    usual = np.linalg.solve(matrix[1:, 1:], right[1:])
    assert np.abs(usual / exact - 1.0).max() > 1e-6


def exact_solution(links, right):
    """Gauss-Jordan in rational numbers, without the first item."""
    n = len(links)
    rows = [[-Fraction(float(x)) for x in row[1:]] for row in links[1:]]
    for i in range(n - 1):
        rows[i][i] = sum(Fraction(float(x)) for x in links[i + 1])
        rows[i].append(Fraction(float(right[i + 1])))
    for i in range(n - 1):
        rows[i] = [x / rows[i][i] for x in rows[i]]
        for j in range(n - 1):
            if j != i:
                rows[j] = [x - rows[j][i] * y for x, y in zip(rows[j], rows[i], strict=True)]
    return np.array([float(row[-1]) for row in rows])
