"""(g) How the cost grows with the number of items, at ten comparisons an item."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import poe
from benchmarks import peers
from benchmarks import textbook as book
from benchmarks.data import large
from benchmarks.timing import Entry, Row, race

CASE = "g"
SPARSE = (1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
DENSE = (100, 200, 400, 800, 1600)
# largest N, repeats, seconds an entry
SETTINGS = {"tiny": (200, 1, 0.1), "quick": (10_000, 3, 0.3), "full": (1_000_000, 5, 10.0)}


def rows(mode: str) -> list[Row]:
    most, repeats, budget = SETTINGS[mode]
    found = []
    for who, method, sizes, make in competitors():
        chosen = [n for n in sizes if n <= most] or [50, 100, 200]
        for n in chosen if mode != "quick" else chosen[:3]:
            run, prepare = make(n)
            entry = Entry(who, method, run, prepare, read=lambda _: 0.0)
            row = race(CASE, f"{n:,} items", [entry], repeats=repeats, budget=budget)[0]
            row.off, row.more = None, {"n": n}
            found.append(row)
    return found


Maker = Callable[[int], tuple[Callable[[Any], Any], Callable[[], Any]]]


def competitors() -> list[tuple[str, str, tuple[int, ...], Maker]]:
    """Who, which method, at which N, and what to run at N."""
    found: list[tuple[str, str, tuple[int, ...], Maker]] = [
        ("poe", "Gaussian", SPARSE, _fit(expert="gaussian", solver="sparse")),
        ("poe", "soft Bradley-Terry", SPARSE, _fit(solver="sparse")),
        ("poe", "soft Bradley-Terry, bias fitted", SPARSE, _fit(bias="fit", solver="sparse")),
        ("poe", "Laplacian", (*DENSE, 3200), _fit(expert="laplacian")),
        ("poe", "greedy selection", DENSE, _greedy),
        ("textbook", "Gaussian", DENSE, _textbook(book.gaussian_by_inverse)),
        ("textbook", "soft Bradley-Terry", DENSE[:4], _textbook(book.soft_bradley_terry_by_bfgs)),
        (
            "textbook, sparse W",
            "soft Bradley-Terry",
            SPARSE[:5],
            _textbook(book.soft_bradley_terry_by_lbfgs),
        ),
    ]
    if peers.HAVE_CHOIX:
        found.append(("choix", "soft Bradley-Terry", DENSE, _choix))
    if peers.HAVE_EVALICA:
        found.append(("evalica", "soft Bradley-Terry", (*DENSE, 3200), _evalica))
    return found


def _fit(**options: Any) -> Maker:
    def make(n: int):
        pairs, p = large(n, 10)
        return (
            lambda c: poe.fit(c, **options),
            lambda: poe.Comparisons.from_pairs(pairs, p, items=n),
        )

    return make


def _textbook(function: Callable[..., Any]) -> Maker:
    def make(n: int):
        pairs, p = large(n, 10)
        return lambda _: function(*pairs.T, p, n), lambda: None

    return make


def _greedy(n: int):
    return lambda _: poe.select(n, 10 * n, rule="greedy", seed=0), lambda: None


def _choix(n: int):
    pairs, p = large(n, 10)
    wins = peers.wins_matrix(*pairs.T, p, n)
    return lambda _: peers.choix_matrix(wins), lambda: None


def _evalica(n: int):
    pairs, p = large(n, 10)
    given = peers.evalica_input(*pairs.T, p, n)
    return lambda _: peers.evalica_bradley_terry(given), lambda: None


def exponent(n: np.ndarray, seconds: np.ndarray) -> float:
    """Slope of log time against log N through the three largest N; below, overhead counts."""
    return float(np.polyfit(np.log(n[-3:]), np.log(seconds[-3:]), 1)[0])
