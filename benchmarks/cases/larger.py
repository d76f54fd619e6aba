"""(d) One problem of 100,000 items with a million comparisons."""

from __future__ import annotations

import contextlib
import time

import numpy as np

import poe
from benchmarks import peers
from benchmarks import textbook as book
from benchmarks.cases.large import WITH_CHECKS
from benchmarks.data import large
from benchmarks.timing import Entry, Row, race, skipped

CASE = "d"
SETTINGS = {
    # items, repeats, seconds an entry
    "tiny": (200, 1, 0.2),
    "quick": (10_000, 3, 2.0),
    "full": (100_000, 7, 15.0),
}


def rows(mode: str) -> list[Row]:
    n, repeats, budget = SETTINGS[mode]
    pairs, p = large(n, 10)
    f, g = pairs.T
    problem = f"{n:,} items, 10N comparisons"

    def by_poe(method, **options):
        return Entry(
            "poe",
            method,
            lambda c: poe.fit(c, **options).scores,
            lambda: poe.Comparisons.from_pairs(pairs, p, items=n),
            includes=WITH_CHECKS,
        )

    def by_textbook(method, function, includes):
        who = "textbook, sparse W"
        return Entry(who, method, lambda _: function(f, g, p, n), within=1e-4, includes=includes)

    races = [
        [
            by_poe("Gaussian", expert="gaussian", solver="sparse"),
            by_textbook("Gaussian", book.gaussian_by_lsmr, "scipy's LSMR"),
        ],
        [
            by_poe("soft Bradley-Terry", solver="sparse"),
            by_textbook("soft Bradley-Terry", book.soft_bradley_terry_by_lbfgs, "scipy's L-BFGS-B"),
        ],
        [by_poe("soft Bradley-Terry, bias fitted", bias="fit", solver="sparse")],
    ]
    found = []
    for entries in races:
        found += race(CASE, problem, entries, repeats=repeats, budget=budget)
    matrix = f"needs a dense {n:,} x {n:,} matrix of {8e-9 * n * n:.0f} GB"
    for who in ("textbook", "choix, ilsr_pairwise", "choix, opt_pairwise", "evalica"):
        found.append(skipped(CASE, problem, "soft Bradley-Terry", who, matrix))
    if peers.HAVE_CHOIX:
        found.append(_one_round_of_mm(problem, n, f, g, p))
    return found


def _one_round_of_mm(problem, n, f, g, p):
    """Minorisation-maximisation needs no matrix, but goes through the comparisons in Python."""
    import choix

    data = peers.winners_and_losers(f, g, p)
    start = time.perf_counter()
    # It says that one round was not enough, and divides by items that have not won yet.
    with contextlib.suppress(RuntimeError), np.errstate(all="ignore"):
        choix.mm_pairwise(n, data, max_iter=1)
    seconds = time.perf_counter() - start
    return skipped(
        CASE,
        problem,
        "Bradley-Terry on decisions",
        "choix, mm_pairwise",
        f"one of its rounds takes {seconds:.2g} s, and it allows itself 10,000",
    )
