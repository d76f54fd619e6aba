"""(c) One large problem of 1,056 items, with 10 and 50 comparisons an item."""

from __future__ import annotations

import numpy as np

import poe
from benchmarks import peers
from benchmarks import textbook as book
from benchmarks.cases.one_context import laplacian
from benchmarks.data import large
from benchmarks.timing import Entry, Row, centred, race
from poe import sparse
from poe.experts import BradleyTerry, Gaussian

CASE = "c"
SETTINGS = {
    # items, comparisons an item, repeats, seconds an entry
    "tiny": (40, (10,), 1, 0.2),
    "quick": (300, (10,), 3, 0.8),
    "full": (1056, (10, 50), 11, 5.0),
}
WITH_CHECKS = "poe.fit on comparisons not seen before: layout, connection, existence, solution"
SOLVER = "the solution and the layout only"


def rows(mode: str) -> list[Row]:
    n, sizes, repeats, budget = SETTINGS[mode]
    found = []
    for per_item in sizes:
        problem = f"{n:,} items, {per_item}N comparisons"
        pairs, p = large(n, per_item)
        goals = mode == "full" and per_item == 50
        for entries in every_method(n, pairs, p, goals=goals, fewest=per_item == min(sizes)):
            found += race(CASE, problem, entries, repeats=repeats, budget=budget)
    return found


def every_method(n, pairs, p, *, goals, fewest):
    """Lists of entries; those of one list solve the same problem."""
    f, g = pairs.T

    def fresh():
        return poe.Comparisons.from_pairs(pairs, p, items=n)

    def by_textbook(who, method, function, within, includes):
        return Entry(who, method, lambda _: function(f, g, p, n), within=within, includes=includes)

    yield [
        Entry(
            "poe",
            "Gaussian",
            lambda c: poe.fit(c, "gaussian", solver="sparse").scores,
            fresh,
            includes=WITH_CHECKS,
            goal="large-gaussian" if goals else None,
        ),
        _solver("Gaussian", Gaussian(), fresh),
        by_textbook("textbook", "Gaussian", book.gaussian_by_inverse, 1e-5, "dense W, inverse"),
        by_textbook("textbook, sparse W", "Gaussian", book.gaussian_by_lsmr, 1e-5, "scipy's LSMR"),
    ]
    yield [
        Entry(
            "poe",
            "soft Bradley-Terry",
            lambda c: poe.fit(c, solver="sparse").scores,
            fresh,
            includes=WITH_CHECKS,
            goal="large-bt" if goals else None,
        ),
        _solver("soft Bradley-Terry", BradleyTerry(), fresh),
        by_textbook(
            "textbook", "soft Bradley-Terry", book.soft_bradley_terry_by_bfgs, 1e-4, "dense W, BFGS"
        ),
        by_textbook(
            "textbook, sparse W",
            "soft Bradley-Terry",
            book.soft_bradley_terry_by_lbfgs,
            1e-4,
            "scipy's L-BFGS-B",
        ),
        *soft_peers(n, f, g, p),
    ]
    yield [
        Entry(
            "poe",
            "soft Bradley-Terry, bias fitted",
            lambda c: poe.fit(c, bias="fit", solver="sparse").scores,
            fresh,
            includes=WITH_CHECKS + ", and whether the bias is identified",
        )
    ]
    if fewest:
        yield list(decisions(n, pairs))
    goal = "large-laplacian" if goals else None
    yield laplacian(fresh, f, g, p, n, goal=goal)


def _solver(method, expert, fresh):
    return Entry(
        "poe, solver alone",
        method,
        lambda c: sparse.solve(c, expert, tol=1e-8).scores[0],
        fresh,
        within=1e-9,
        includes=SOLVER,
    )


def soft_peers(n, f, g, p):
    if peers.HAVE_CHOIX:
        wins = peers.wins_matrix(f, g, p, n)
        yield Entry(
            "choix",
            "soft Bradley-Terry",
            lambda _: centred(peers.choix_matrix(wins)),
            within=1e-5,
            includes="ilsr_pairwise_dense, from a matrix of wins",
        )
    if peers.HAVE_EVALICA:
        given = peers.evalica_input(f, g, p, n)
        yield Entry(
            "evalica",
            "soft Bradley-Terry",
            lambda _: peers.evalica_bradley_terry(given),
            read=lambda result: peers.evalica_scores(result, log=True),
            within=1e-2,
            includes="its default tolerance",
        )


def decisions(n, pairs):
    """Hard Bradley-Terry without a prior, which most packages are about.

    The items are close to each other, so that none wins everything and scores are finite.
    """
    method, (f, g) = "Bradley-Terry on decisions", pairs.T
    rng = np.random.default_rng([n, len(pairs)])
    quality = 0.3 * rng.standard_normal(n)
    p = (rng.random(len(pairs)) < 1.0 / (1.0 + np.exp(quality[g] - quality[f]))).astype(float)
    yield Entry(
        "poe",
        method,
        lambda c: poe.fit(c, solver="sparse").scores,
        lambda: poe.Comparisons.from_pairs(pairs, p, items=n),
        includes=WITH_CHECKS,
    )
    if peers.HAVE_CHOIX:
        given = (n, peers.winners_and_losers(f, g, p))
        for name, run, within in (
            ("ilsr_pairwise", peers.choix_ilsr, 1e-4),
            ("opt_pairwise, Newton-CG", peers.choix_newton, 1e-4),
            ("mm_pairwise", peers.choix_mm, 1e-2),
        ):
            yield Entry(f"choix, {name}", method, run, lambda: given, read=centred, within=within)
    if peers.HAVE_EVALICA:
        lists = peers.evalica_input(f, g, p, n)
        yield Entry(
            "evalica",
            method,
            lambda _: peers.evalica_bradley_terry(lists),
            read=lambda result: peers.evalica_scores(result, log=True),
            within=1e-2,
            includes="its default tolerance",
        )
