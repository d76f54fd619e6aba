"""Many small problems, faster: `dense` and `central_path` compiled by numba (extra `fast`).

The results are theirs; only the time differs. Nothing here is needed: without numba
`available` says no, and stacks go through NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poe import central_path, newton
from poe.comparisons import Floats
from poe.experts import BradleyTerry, Expert, Gaussian, Laplacian
from poe.newton import Solution, as_stack
from poe.stack import Problem

ROWS = 64  # problems a thread takes at a time
MOST_ITEMS = 100  # work grows as N^3 without the blocks that make LAPACK fast


@cache
def available() -> bool:
    """Whether numba is installed; asking does not import it."""
    return find_spec("numba") is not None


def worthwhile(problem: Problem, expert: Expert) -> bool:
    """Whether `solve` is possible and saves more than loading its compiled code costs.

    numba takes half a second to import, and on its first use some seconds to compile.
    """
    many = problem.first.ndim == 2 and len(problem.first) >= 500
    return many and problem.n_items <= MOST_ITEMS and supports(expert) and available()


def fastest(problem: Problem, expert: Expert) -> Callable[..., Solution]:
    """`solve` of this module where it is worthwhile, else that which it stands in for."""
    if worthwhile(problem, expert):
        return solve
    return central_path.solve if isinstance(expert, Laplacian) else newton.solve


def supports(expert: Expert) -> bool:
    """Whether the expert is one of those that are compiled."""
    return type(expert) in (Gaussian, BradleyTerry, Laplacian)


def solve(
    problem: Problem,
    expert: Expert,
    *,
    bias: Floats | float = 0.0,
    tilt: Floats | float = 1.0,
    tol: float | None = None,
    max_steps: int = 100,
    threads: int | None = None,
) -> Solution:
    """`newton.solve` without `fit_bias`, or `central_path.solve` for Laplacian experts.

    threads : all cores by default. tol : as for the solver that is compiled. Raises ImportError
    without numba and TypeError for an expert that is not compiled.
    """
    if not supports(expert):
        raise TypeError(f"{type(expert).__name__} is not compiled; use poe.newton")
    if not available():
        raise ImportError("compiled solvers need numba: pip install 'judging-by-comparison[fast]'")
    from poe import kernels

    stack = as_stack(problem)
    b, n = len(stack.p), stack.n_items
    run: Callable[..., None]
    options: tuple[Any, ...] = ()
    numbers: tuple[Floats, ...]
    if isinstance(expert, Laplacian):
        tol = central_path.TOLERANCE if tol is None else tol
        gamma, *rest = central_path.terms(stack, expert, bias, tilt)
        run, numbers = kernels.follow, tuple(rest)
    else:
        tol = 1e-10 if tol is None else tol
        gamma = np.array(np.broadcast_to(np.asarray(bias, dtype=float), (b,)))
        target, precision = _target_and_precision(expert, stack.p)
        numbers = (target, precision, stack.weight, np.asarray(tilt) * gamma[:, None])
        logistic = isinstance(expert, BradleyTerry)
        floor = 1e-12 * (0.25 if logistic else float(precision.max()))
        run, options = kernels.newton, (logistic, floor)
    columns = [_column(index, stack.p.shape, np.intp) for index in (stack.first, stack.second)]
    columns += [_column(part, stack.p.shape, float) for part in numbers]
    found = (np.empty((b, n)), np.empty(b), np.empty(b), np.empty(b, dtype=np.intp))

    def part(rows: slice) -> None:
        cut, into = tuple(x[rows] for x in columns), tuple(x[rows] for x in found)
        run(*options, cut, tol, max_steps, into)

    _in_threads(part, b, threads)
    scores, energy, gradient, steps = found
    return Solution(scores, gamma, energy, gradient, steps, gradient <= tol)


def _target_and_precision(expert: Expert, p: Floats) -> tuple[Floats, Floats]:
    if isinstance(expert, Gaussian):
        return expert.f_mu(p), 1.0 / expert.f_sigma(p)
    return p, np.ones_like(p)


def _column(values: Any, shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    # One layout, so that numba compiles once: contiguous and writable.
    return np.require(np.broadcast_to(values, shape), dtype, ["C", "W"])


def _in_threads(part: Callable[[slice], None], rows: int, threads: int | None) -> None:
    """Call `part` on slices of the rows; the kernels let go of Python's lock."""
    slices = [slice(start, start + ROWS) for start in range(0, rows, ROWS)]
    if threads == 1 or len(slices) == 1:
        return part(slice(0, rows))
    from numba import config

    number: Any = threads or config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]
    with ThreadPoolExecutor(number) as pool:
        list(pool.map(part, slices))
