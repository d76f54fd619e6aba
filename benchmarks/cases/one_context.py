"""(a) One context of 16 items at 48, 128 and 240 calls, every method."""

from __future__ import annotations

import dataclasses

import numpy as np

import poe
from benchmarks import peers
from benchmarks import textbook as book
from benchmarks.data import context
from benchmarks.timing import Entry, Row, centred, race
from poe import central_path, newton
from poe.experts import BradleyTerry, Gaussian, Laplacian
from poe.scores import add_prior
from poe.stack import Stack

CASE, N, PRIOR = "a", 16, 1.0 / 15.0
SETTINGS = {
    # calls, repeats, seconds an entry, problems in a stack
    "tiny": ((48,), 1, 0.1, 8),
    "quick": ((48,), 3, 0.3, 200),
    "full": ((48, 128, 240), 11, 1.0, 2000),
}
CHECKED = "with poe's checks: linked, finite"


def rows(mode: str) -> list[Row]:
    calls, repeats, budget, problems = SETTINGS[mode]
    found = []
    for k in calls:
        pairs, p = context(k)
        for entries in every_method(pairs, p, problems):
            problem = f"16 items, {k} calls"
            found += race(CASE, problem, entries, repeats=repeats, budget=budget)
    return found


def every_method(pairs, p, problems):
    """Lists of entries; those of one list solve the same problem."""
    f, g = pairs.T
    hard = np.sign(p - 0.5) / 2.0 + 0.5
    stack = Stack.of(N, np.stack([pairs] * problems), np.stack([p] * problems))

    def fresh():
        return poe.Comparisons.from_pairs(pairs, p, items=N)

    def by_poe(method, run, **more):
        return Entry("poe", method, run, fresh, includes=CHECKED, **more)

    def by_stack(method, run):
        return Entry(
            "poe, stacked",
            method,
            run,
            read=lambda scores: scores[0],
            within=1e-8,
            includes=f"{problems} problems together, a problem's share; no checks",
            problems=problems,
        )

    def by_textbook(method, function, **more):
        return Entry("textbook", method, lambda _: function(f, g, p, N), **more)

    yield [
        by_poe("win-ratio", poe.win_ratio),
        by_stack("win-ratio", lambda _: poe.win_ratio(stack)),
        by_textbook("win-ratio", book.win_ratio),
        *_evalica_share("win-ratio", f, g, hard),
    ]
    yield [
        by_poe("average probability", poe.average_probability),
        by_stack("average probability", lambda _: poe.average_probability(stack)),
        by_textbook("average probability", book.average_probability),
        *_evalica_share("average probability", f, g, p),
    ]
    prior = f"prior {PRIOR:.3f} wins on every pair"
    yield [
        by_poe(f"Bradley-Terry, {prior}", lambda c: poe.bradley_terry(c, prior=PRIOR)),
        _stacked(
            f"Bradley-Terry, {prior}", add_prior(stack.hard(), PRIOR), BradleyTerry(), by_stack
        ),
        Entry(
            "textbook",
            f"Bradley-Terry, {prior}",
            lambda _: book.bradley_terry_by_zermelo(f, g, hard, N, prior=PRIOR),
            within=1e-6,
            includes="Zermelo's iteration",
        ),
        *_bradley_terry_peers(f"Bradley-Terry, {prior}", f, g, hard, PRIOR),
    ]
    yield [
        by_poe("soft Bradley-Terry", lambda c: poe.fit(c, "bradley-terry").scores),
        _stacked("soft Bradley-Terry", stack, BradleyTerry(), by_stack),
        by_textbook(
            "soft Bradley-Terry",
            book.soft_bradley_terry_by_bfgs,
            within=1e-4,
            includes="BFGS with the gradient",
        ),
        Entry(
            "textbook, Zermelo",
            "soft Bradley-Terry",
            lambda _: book.bradley_terry_by_zermelo(f, g, p, N),
            within=1e-6,
        ),
        *_bradley_terry_peers("soft Bradley-Terry", f, g, p, 0.0),
    ]
    yield [
        by_poe("soft Bradley-Terry, bias fitted", lambda c: poe.fit(c, bias="fit").scores),
        Entry(
            "poe, stacked",
            "soft Bradley-Terry, bias fitted",
            lambda _: newton.solve(stack, BradleyTerry(), fit_bias=True, tol=1e-8).scores,
            read=lambda scores: scores[0],
            includes=f"{problems} problems together, a problem's share; no checks",
            problems=problems,
        ),
    ]
    yield [
        by_poe("Gaussian", lambda c: poe.fit(c, "gaussian").scores),
        _stacked("Gaussian", stack, Gaussian(), by_stack),
        by_textbook("Gaussian", book.gaussian_by_inverse, within=1e-9, includes="inverse"),
        Entry(
            "textbook, pinv",
            "Gaussian",
            lambda _: book.gaussian_by_pinv(f, g, p, N),
            within=1e-9,
        ),
    ]
    entries = laplacian(fresh, f, g, p, N)
    entry = by_stack("Laplacian", lambda _: central_path.solve(stack, Laplacian()).scores)
    entries.insert(-1, dataclasses.replace(entry, read=lambda s: entries[0].read(s[0])))
    yield entries


def laplacian(fresh, f, g, p, n, *, goal=None, textbook=True):
    """Objectives are compared, relatively: the optimum is rarely a single point."""

    def objective(scores):
        value = book.laplacian_objective(f, g, p, scores)
        return np.array([value / len(p)])

    entries = [
        Entry(
            "poe",
            "Laplacian",
            lambda c: poe.fit(c, "laplacian").scores,
            fresh,
            read=objective,
            includes=CHECKED,
            goal=goal,
        )
    ]
    if textbook:
        entries.append(
            Entry(
                "textbook",
                "Laplacian",
                lambda _: book.laplacian_by_cvxpy(f, g, p, n),
                read=objective,
                within=1e-7,
                includes="cvxpy; objectives agree",
            )
        )
    return entries


def _stacked(method, stack, expert, by_stack):
    return by_stack(method, lambda _: newton.solve(stack, expert, tol=1e-8).scores)


def _evalica_share(method, f, g, p):
    if peers.HAVE_EVALICA:
        given = peers.evalica_input(f, g, p, N)
        yield Entry(
            "evalica",
            method,
            lambda _: peers.evalica_win_rate(given),
            read=lambda result: peers.evalica_scores(result, log=False),
            includes="average_win_rate: the same number where all pairs are asked equally often",
        )


def _bradley_terry_peers(method, f, g, p, prior):
    if peers.HAVE_CHOIX:
        wins = peers.wins_matrix(f, g, p, N, prior=prior)
        yield Entry(
            "choix",
            method,
            lambda _: centred(peers.choix_matrix(wins)),
            includes="ilsr_pairwise_dense, from a matrix of wins",
        )
    if peers.HAVE_EVALICA:
        given = peers.evalica_input(f, g, p, N, prior=prior)
        yield Entry(
            "evalica",
            method,
            lambda _: peers.evalica_bradley_terry(given),
            read=lambda result: peers.evalica_scores(result, log=True),
            within=1e-3,
            includes="its default tolerance",
        )
