"""Compiled solvers give the results of the NumPy solvers, to 1e-9, or say why they cannot."""

import subprocess
import sys

import numpy as np
import pytest

import poe
from poe import central_path, compiled, newton
from poe.experts import BradleyTerry, Gaussian, Huber, Laplacian
from poe.scores import add_prior
from poe.stack import Stack

needs_numba = pytest.mark.skipif(
    not compiled.available(),
    reason="compiled solvers need numba: pip install 'judging-by-comparison[fast]'",
)


def stack_of(seed, *, problems=150, n=11, count=24, spread=1.0):
    rng = np.random.default_rng(seed)
    pairs = np.stack([poe.select(n, count, seed=rng) for _ in range(problems)])
    quality = spread * rng.standard_normal((problems, n))
    gap = np.take_along_axis(quality, pairs[..., 0], 1)
    gap = gap - np.take_along_axis(quality, pairs[..., 1], 1)
    p = 1.0 / (1.0 + np.exp(-gap - rng.standard_normal(gap.shape)))
    return Stack(n, pairs[..., 0], pairs[..., 1], p, rng.random(p.shape) + 0.5)


def same(found, expected, atol=1e-9):
    assert found.converged.all()
    assert expected.converged.all()
    np.testing.assert_allclose(found.scores, expected.scores, atol=atol)
    np.testing.assert_allclose(found.energy, expected.energy, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.bias, expected.bias, atol=0)


PROBLEMS = {
    "soft": lambda: stack_of(0),
    "few": lambda: stack_of(1, count=10),
    "every pair": lambda: stack_of(2, count=110),
    "far apart": lambda: stack_of(3, spread=6.0),
    "decisions with a prior": lambda: add_prior(stack_of(4).hard(), 0.1),
    "weights from 1e-6 to 1e6": lambda: scaled(stack_of(5)),
}


def scaled(stack):
    weight = 10.0 ** np.random.default_rng(0).uniform(-6, 6, (len(stack.p), 1))
    return Stack(stack.n_items, stack.first, stack.second, stack.p, weight * np.ones_like(stack.p))


EXPERTS = [
    Gaussian(),
    Gaussian(alpha=2.0, sigma=0.3),
    Gaussian(mean=lambda p: np.sin(3 * (p - 0.5)), variance=lambda p: 0.1 + p * (1 - p)),
    BradleyTerry(),
]


@needs_numba
@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("expert", EXPERTS, ids=lambda expert: expert.name)
def test_smooth_experts_as_numpy(problem, expert):
    stack = PROBLEMS[problem]()
    same(compiled.solve(stack, expert), newton.solve(stack, expert))


@needs_numba
@pytest.mark.parametrize("problem", PROBLEMS)
def test_laplacian_experts_as_numpy(problem):
    stack = PROBLEMS[problem]()
    same(compiled.solve(stack, Laplacian()), central_path.solve(stack, Laplacian()))


@needs_numba
def test_laplacian_scales_as_numpy():
    expert = Laplacian(spread=lambda p: 0.5 + p)
    same(compiled.solve(stack_of(6), expert), central_path.solve(stack_of(6), expert))


@needs_numba
@pytest.mark.parametrize("expert", [Gaussian(), BradleyTerry(), Laplacian()])
def test_a_given_bias_with_a_tilt_as_numpy(expert):
    stack = stack_of(7)
    how = {
        "bias": np.linspace(-0.5, 0.5, len(stack.p)),
        "tilt": (np.arange(stack.p.shape[1]) % 2).astype(float),
    }
    solve = central_path.solve if isinstance(expert, Laplacian) else newton.solve
    same(compiled.solve(stack, expert, **how), solve(stack, expert, **how))


@needs_numba
def test_nearly_separable_decisions_as_numpy():
    # A ladder in which the worst item beats the best once in a hundred times.
    n = 8
    first, second = np.triu_indices(n, 1)
    p = np.ones(len(first))
    p[n - 2] = 0.99
    stack = Stack.of(n, np.column_stack([first, second])[None], p[None])
    found, expected = (solve(stack, BradleyTerry()) for solve in (compiled.solve, newton.solve))
    assert np.ptp(expected.scores) > 10.0
    same(found, expected, atol=1e-6)


@needs_numba
def test_how_many_threads_does_not_show():
    stack = stack_of(8)
    one, two = (compiled.solve(stack, BradleyTerry(), threads=k) for k in (1, 2))
    np.testing.assert_array_equal(one.scores, two.scores)
    np.testing.assert_array_equal(one.steps, two.steps)


@needs_numba
def test_one_problem_and_read_only_arrays():
    rng = np.random.default_rng(0)
    c = poe.Comparisons.from_pairs(poe.select(9, 30), rng.random(30), items=9)
    same(compiled.solve(c, BradleyTerry()), newton.solve(c, BradleyTerry()))
    same(compiled.solve(c, Laplacian()), central_path.solve(c, Laplacian()))


@needs_numba
def test_tolerance_and_steps_are_obeyed():
    stack = stack_of(9)
    few = compiled.solve(stack, BradleyTerry(), max_steps=2)
    assert not few.converged.any()
    assert (few.steps == 2).all()
    loose, tight = (compiled.solve(stack, BradleyTerry(), tol=tol) for tol in (1e-3, 1e-12))
    assert loose.steps.mean() < tight.steps.mean()
    assert (compiled.solve(stack, Laplacian(), max_steps=2).steps == 2).all()


@needs_numba
def test_what_is_not_linked_does_not_converge():
    # Stacks are not checked; what comes out must not look like an answer.
    pairs = np.array([[[0, 1], [2, 3], [0, 1]]])
    stack = Stack.of(4, pairs, np.array([[0.3, 0.8, 0.4]]))
    assert not compiled.solve(stack, Gaussian()).converged.any()


def test_other_experts_are_refused_in_words():
    class Own(Gaussian):
        """Another slope, perhaps."""

    for expert in (Huber(), Own()):
        assert not compiled.supports(expert)
        with pytest.raises(TypeError, match="is not compiled"):
            compiled.solve(stack_of(0, problems=2), expert)


def test_without_numba_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(compiled, "available", lambda: False)
    with pytest.raises(ImportError, match=r"judging-by-comparison\[fast\]"):
        compiled.solve(stack_of(0, problems=2), Gaussian())
    assert not compiled.worthwhile(stack_of(0, problems=600), Gaussian())


@needs_numba
def test_worthwhile_for_many_small_problems_only():
    many = stack_of(0, problems=600, n=5, count=8)
    assert compiled.worthwhile(many, BradleyTerry())
    assert not compiled.worthwhile(many, Huber())
    assert not compiled.worthwhile(many.take(np.arange(10)), BradleyTerry())
    c = poe.Comparisons.from_pairs(poe.select(9, 30), np.full(30, 0.6), items=9)
    assert not compiled.worthwhile(c, BradleyTerry())


@pytest.mark.parametrize("expert", [Gaussian(), BradleyTerry(), Laplacian(), Huber()])
@pytest.mark.parametrize("problems", [3, 600])
def test_the_fastest_solver_is_the_same_solver(problems, expert):
    stack = stack_of(0, problems=problems, n=5, count=12)
    slow = central_path.solve if isinstance(expert, Laplacian) else newton.solve
    chosen = compiled.fastest(stack, expert)
    accelerated = problems == 600 and compiled.available() and compiled.supports(expert)
    assert chosen is (compiled.solve if accelerated else slow)
    same(chosen(stack, expert, tol=1e-12), slow(stack, expert, tol=1e-12))


def test_asking_does_not_import_numba():
    code = (
        "import sys, poe; from poe import compiled; compiled.available(); "
        "sys.exit('numba' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
