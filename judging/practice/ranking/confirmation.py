"""A last round of fresh questions about the finalists, which alone say how sure the top is.

Whoever chooses questions by the answers so far, and then looks who leads, finds leaders that luck
has helped: stated chances are too high (book, "When the answers choose the pairs"). Answers to
pairs that were asked in neither order have helped nobody. So the T on top are shown with the next
T, each pair in both orders, and the fit of these answers alone says how sure it is that every one
of the T is better than every one of the others. The ranking itself takes all answers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np

from judging.fitting import settled
from judging.practice.ranking.settings import Fitting
from poe.arrays import Floats, Indices
from poe.comparisons import Comparisons
from poe.errors import ComparisonError
from poe.result import Fit

__all__ = ["Confirmation", "finalists", "of_answers", "questions", "reserve"]

DRAWS = 4000


@dataclass(frozen=True)
class Confirmation:
    """What fresh answers say of the top.

    best, rivals : who was on top before, and who came next. calls : fresh answers, 0 where too many
    of these pairs had been asked before. p : how sure these answers alone are that all the best are
    better than all the rivals, NaN without them. before : the same from all answers before them.
    """

    best: tuple[Any, ...]
    rivals: tuple[Any, ...]
    calls: int
    p: float
    before: float


def reserve(n_items: int, top: int) -> int:
    """Calls that a confirmation takes: both orders of every pair of one on top and one below."""
    return 2 * top * min(top, n_items - top)


def finalists(fit: Fit, top: int) -> tuple[Indices, Indices]:
    """Positions of the best, and of as many that come next."""
    order = np.argsort(-fit.scores, kind="stable")
    return order[:top], order[top : 2 * top]


def questions(fit: Fit, top: int, asked: Collection[tuple[int, int]], most: int) -> Indices:
    """(K, 2) what to ask: pairs of finalists that were asked in neither order, in both.

    Those of one of the best and a rival, and as few others as link all finalists, `most` in all; no
    pair where that cannot be done.
    """
    best, rivals = finalists(fit, top)
    six = [*best.tolist(), *rivals.tolist()]

    def fresh(pairs: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
        return [(i, j) for i, j in pairs if (i, j) not in asked and (j, i) not in asked]

    across = fresh(product(six[:top], six[top:]))
    links, groups = [], {k: {k} for k in six}
    for i, j in [*across, *fresh([*combinations(six[:top], 2), *combinations(six[top:], 2)])]:
        if groups[i] is not groups[j]:
            groups[i] |= groups[j]
            groups |= dict.fromkeys(groups[j], groups[i])
            links.append((i, j))
    if len(groups[six[0]]) < len(six) or 2 * len(links) > most:
        return np.empty((0, 2), dtype=np.intp)
    chosen = list(dict.fromkeys([*links, *across]))[: most // 2]
    return np.array([*chosen, *((j, i) for i, j in chosen)], dtype=np.intp)


def of_answers(fit: Fit, top: int, pairs: Indices, p: Floats, fitting: Fitting) -> Confirmation:
    """What answers p to the fresh `pairs` say; fit : of all answers before them."""
    best, rivals = finalists(fit, top)
    six = np.concatenate([best, rivals])
    before = float(_all_better(fit.sample(DRAWS)[:, six], len(best)))
    alone = np.nan
    if len(pairs):
        place = {int(k): at for at, k in enumerate(six)}
        within = np.array([[place[i], place[j]] for i, j in pairs.tolist()])
        c = Comparisons.from_pairs(within, np.asarray(p, dtype=float), items=len(six))
        f = fitting
        try:
            one, _ = settled(
                c, expert=f.expert, bias=f.bias, prior=f.prior, covariance=f.covariance
            )
            alone = float(_all_better(one.sample(DRAWS), len(best)))
        except (ComparisonError, ValueError):  # refused answers have left them apart
            pairs = pairs[:0]
    names = np.array(fit.items, dtype=object)
    return Confirmation(tuple(names[best]), tuple(names[rivals]), len(pairs), alone, before)


def _all_better(draws: Any, top: int) -> Any:
    return (draws[:, :top].min(axis=1) > draws[:, top:].max(axis=1)).mean()
