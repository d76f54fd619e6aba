"""Laplacian experts: linear program, dual, the optimum that is returned, stacks."""

import itertools

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import poe
from poe.experts import Laplacian
from poe.lp import laplacian_program, solve_l1
from reproduction import central_path

EXACT = {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-12}


def problem(seed, *, n=12, count=40, digits=None, weights=False):
    """Connected comparisons with many ties if `digits` is 0 or 1."""
    rng = np.random.default_rng(seed)
    quality = rng.standard_normal(n)
    tree = [(i, int(rng.integers(i))) for i in range(1, n)]
    rest = [tuple(rng.choice(n, 2, replace=False)) for _ in range(count - n + 1)]
    pairs = np.array(tree + rest)
    logit = quality[pairs[:, 0]] - quality[pairs[:, 1]] + rng.standard_normal(count)
    p = 1 / (1 + np.exp(-1.5 * logit))
    p = p if digits is None else np.round(p, digits)
    weight = rng.integers(1, 4, count).astype(float) if weights else None
    return poe.Comparisons.from_pairs(pairs, p, items=n, weight=weight)


def misfits(c, scores, expert=None, bias=0.0):
    expert = expert or Laplacian()
    return (scores[c.first] - scores[c.second] - bias - expert.f_mu(c.p)) / expert.b(c.p)


def energy(c, scores, expert=None, bias=0.0):
    return float(c.weight @ np.abs(misfits(c, scores, expert, bias)))


PROBLEMS = [
    pytest.param({"digits": digits, "weights": weights}, id=f"{digits}-{weights}")
    for digits in (None, 1, 0)
    for weights in (False, True)
]


class TestOptimum:
    @pytest.mark.parametrize("options", PROBLEMS)
    @pytest.mark.parametrize("seed", range(2))
    def test_energy_is_cvxpys(self, seed, options):
        c = problem(seed, **options)
        program = laplacian_program(c)
        program.problem.solve(solver="CLARABEL", **EXACT)
        found = solve_l1(c)
        assert found.energy[0] == pytest.approx(program.problem.value, rel=1e-9)
        assert found.energy[0] == pytest.approx(energy(c, found.scores[0]), rel=1e-12)
        theirs = np.abs(misfits(c, program.scores.value))
        np.testing.assert_allclose(program.eta.value, theirs, atol=1e-8)

    def test_general_expert_bias_and_ties_of_a_prior(self):
        expert = Laplacian(mean=lambda p: np.tan(p - 0.5), spread=lambda p: 0.2 + p)
        c = problem(8, weights=True)
        tilt = (np.arange(len(c)) % 3 > 0).astype(float)
        program = laplacian_program(c, expert, bias=0.3, tilt=tilt)
        program.problem.solve(solver="CLARABEL", **EXACT)
        found = solve_l1(c, expert, bias=0.3, tilt=tilt)
        assert found.energy[0] == pytest.approx(program.problem.value, rel=1e-9)
        assert found.bias[0] == 0.3
        # Shifting the expert and shifting its mean are the same thing.
        moved = Laplacian(mean=lambda p: np.tan(p - 0.5) + 0.3, spread=expert.spread)
        np.testing.assert_allclose(
            solve_l1(c, expert, bias=0.3).scores, solve_l1(c, moved).scores, atol=1e-12
        )

    @pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
    def test_units_do_not_matter(self, scale):
        c = problem(5)
        found = solve_l1(c, Laplacian(alpha=scale, scale=2 * scale))
        plain = solve_l1(c)
        np.testing.assert_allclose(found.scores, scale * plain.scores, rtol=1e-9, atol=1e-9 * scale)
        assert found.energy[0] == pytest.approx(plain.energy[0] / 2)

    @pytest.mark.parametrize("seed", range(2))
    def test_the_forces_prove_it(self, seed):
        """Balanced forces within their bounds whose work equals the energy: weak duality."""
        c = problem(seed, digits=1, weights=True)
        expert = Laplacian(scale=0.4)
        found = solve_l1(c, expert)
        y = found.dual
        assert (np.abs(y) <= c.weight / 0.4 * (1 + 1e-9)).all()
        np.testing.assert_allclose(c.matrix().T @ y, 0, atol=1e-9)
        assert -y @ expert.f_mu(c.p) == pytest.approx(found.energy[0], rel=1e-9)
        assert found.gap < 1e-9
        assert found.converged[0]

    def test_a_failure_of_the_program_is_not_hidden(self, monkeypatch):
        def fails(*_, **__):
            raise cp.SolverError("numerical difficulties")

        monkeypatch.setattr(cp.Problem, "solve", fails)
        with pytest.raises(poe.NotConvergedError, match="numerical difficulties"):
            solve_l1(problem(0))


def vertices(c):
    """Scores of every spanning tree of comparisons that fit exactly: the optimum is among them."""
    w = c.matrix()
    for rows in itertools.combinations(range(len(c)), c.n_items - 1):
        part = w[list(rows)]
        if np.linalg.matrix_rank(part) == c.n_items - 1:
            yield np.linalg.lstsq(part, c.p[list(rows)] - 0.5, rcond=None)[0]


class TestWhichOptimum:
    @pytest.mark.parametrize("seed", range(9))
    def test_brute_force(self, seed):
        """All vertices of tiny problems: ours is optimal, and no optimum has fewer squares.

        The optima are the convex hull of the optimal vertices. A point of it has the least
        sum of squares if and only if that sum rises, to first order, towards every vertex.
        """
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 5))
        c = problem(seed, n=n, count=n + int(rng.integers(1, 6)), digits=[None, 1, 0][seed % 3])
        found = solve_l1(c)
        all_vertices = list(vertices(c))
        lowest = min(energy(c, v) for v in all_vertices)
        assert found.energy[0] == pytest.approx(lowest, abs=1e-9)
        ours = found.scores[0]
        best = [v - v.mean() for v in all_vertices if energy(c, v) < lowest + 1e-9]
        uphill = 2.0 * c.matrix().T @ (c.weight * misfits(c, ours))
        assert min(uphill @ (v - ours) for v in best) > -1e-9
        assert found.unique == (max(np.abs(v - ours).max() for v in best) < 1e-9)

    def test_two_items_by_hand(self):
        """Opinions -0.4, 0, 0.1, 0.4: any difference in [0, 0.1] is a median; 0.025 is the mean.

        With -0.1, 0, 0.05, 0.45 the mean, 0.1, lies outside the medians [0, 0.05].
        """
        for opinions, expected in (
            ([-0.4, 0.0, 0.1, 0.4], 0.025),
            ([-0.1, 0.0, 0.05, 0.45], 0.05),
            ([-0.1, 0.0, 0.05], 0.0),
        ):
            k = len(opinions)
            p = 0.5 + np.array(opinions)
            c = poe.Comparisons(first=["a"] * k, second=["b"] * k, p=p)
            found = solve_l1(c)
            assert found.scores[0, 0] - found.scores[0, 1] == pytest.approx(expected, abs=1e-12)
            assert found.unique == (k == 3)

    def test_two_items_of_unequal_scales_by_hand(self):
        """Opinions -0.2 and 0.1 of scales 0.6 and 0.9, weights alike: all between are medians.

        Squares of misfits in units of the scale: (-0.2 / 0.6 + 0.1 / 0.9) / (1 / 0.6 + 1 / 0.9).
        """
        first, second, p = ["a"] * 2, ["b"] * 2, np.array([0.3, 0.6])
        c = poe.Comparisons(first=first, second=second, p=p, weight=0.3 + p)
        found = solve_l1(c, Laplacian(spread=lambda p: 0.3 + p))
        assert found.scores[0, 0] - found.scores[0, 1] == pytest.approx(-0.08)

    @pytest.mark.parametrize("options", PROBLEMS)
    def test_it_is_the_limit_of_a_vanishing_quadratic_term(self, options):
        c = problem(3, **options)
        s = cp.Variable(c.n_items)
        misfit = c.matrix() @ s - (c.p - 0.5)
        square = cp.sum(cp.multiply(c.weight, cp.square(misfit)))
        loss = c.weight @ cp.abs(misfit) + 1e-3 * square
        cp.Problem(cp.Minimize(loss), [cp.sum(s) == 0]).solve(solver="CLARABEL", **EXACT)
        np.testing.assert_allclose(solve_l1(c).scores[0], s.value, atol=2e-5)

    @settings(max_examples=15, deadline=None)
    @given(st.integers(0, 10_000), st.sampled_from([None, 1, 0]), st.booleans())
    def test_names_rows_and_orders_do_not_matter(self, seed, digits, weights):
        c = problem(seed, n=8, count=24, digits=digits, weights=weights)
        expected = solve_l1(c).scores[0]
        rng = np.random.default_rng(seed)
        name, row = rng.permutation(8), rng.permutation(24)
        swap = rng.random(24) < 0.5
        pairs = name[c.pairs][row]
        pairs[swap] = pairs[swap][:, ::-1]
        p = np.where(swap, 1.0 - c.p[row], c.p[row])
        other = poe.Comparisons.from_pairs(pairs, p, items=8, weight=c.weight[row])
        np.testing.assert_allclose(solve_l1(other).scores[0][name], expected, atol=1e-6)


def stacked(problems):
    parts = ([getattr(c, name) for c in problems] for name in ("first", "second", "p", "weight"))
    return poe.Stack(problems[0].n_items, *(np.stack(part) for part in parts))


class TestStack:
    def test_bad_scales_spreads_biases_and_ties_of_a_prior(self):
        rng = np.random.default_rng(4)
        problems = [
            poe.Comparisons.from_pairs(c.pairs, c.p, items=c.n_items, weight=w)
            for c in (problem(seed, n=10, count=30, digits=1) for seed in range(30))
            for w in [np.exp(3.0 * rng.standard_normal(30))]
        ]
        bias = rng.normal(0, 0.2, 30)
        expert, tilt = Laplacian(spread=lambda p: 0.5 + p), (np.arange(30) % 3 > 0).astype(float)
        found = central_path.solve(stacked(problems), expert, bias=bias, tilt=tilt)
        exact = [
            solve_l1(c, expert, bias=b, tilt=tilt).energy[0]
            for c, b in zip(problems, bias, strict=True)
        ]
        np.testing.assert_allclose(found.energy, exact, rtol=1e-7)
        np.testing.assert_array_equal(found.bias, bias)
