"""Baselines of the papers: other ways from a language model to scores or to an order.

`expected_score` scores each text alone, `pairs_ranking` sorts and asks as it goes. `poe.win_ratio`
and `poe.average_probability`, the simplest of all, are in `poe.scores`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from math import log, log1p
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from poe.arrays import Floats, Indices
from poe.comparisons import Comparisons, require_unique
from poe.errors import ComparisonError

__all__ = [
    "ExpectedScores",
    "OrderOfItems",
    "PairsRanking",
    "expected_score",
    "pairs_ranking",
]


@dataclass(frozen=True, eq=False)
class OrderOfItems:
    """An order of N items, found by a method that has no scores of its own.

    items : the N names, in the order given. positions : (N,) positions in `items`, best first.
    To correlate with human scores use `scores` or `ranks`, which are in the order of `items`;
    `positions` is the inverse permutation of the ranks, and correlates with nothing.
    """

    items: tuple[Hashable, ...]
    positions: Indices

    @property
    def order(self) -> list[Hashable]:
        """Item names, best first."""
        return [self.items[i] for i in self.positions]

    @property
    def ranks(self) -> Indices:
        """(N,) rank of each item, 1 is best."""
        return np.argsort(self.positions) + 1

    @property
    def scores(self) -> Floats:
        """(N,) scores in units of one rank, larger is better, mean zero."""
        return (len(self.positions) + 1) / 2.0 - self.ranks


LEAST_MASS = 0.01  # of the score tokens together

# Each text alone ---------------------------------------------------------------------------------


class ExpectedScores(NamedTuple):
    """Mean of the scores under the model's probabilities.

    scores : (...) expectations, in the units of the scores. mass : (...) probability of all
        score tokens together before they were scaled to one.
    """

    scores: Floats
    mass: Floats


def expected_score(probabilities: ArrayLike, scores: ArrayLike) -> ExpectedScores:
    """G-Eval's score: sum of score times probability, over the sum of the probabilities.

    (Liu et al. 2023; comparative_assessment 4.3.2; poe_v2 C.8.)

    probabilities : (..., M) that the next token is each of the M score tokens. They need not add
        up to one; what is missing went to other tokens, and is reported as one minus `mass`.
        A model without tokens' probabilities can be sampled: give the shares of its replies.
    scores : (M,) the number each token stands for.

    ComparisonError says where all of them together have less than 0.01: the expectation would rest
    on the model's noise.
    """
    values, p = np.asarray(scores, dtype=float), np.asarray(probabilities, dtype=float)
    if values.ndim != 1 or p.shape[-1:] != values.shape:
        raise ValueError(f"one probability for each score: shapes are {p.shape}, {values.shape}")
    mass = p.sum(axis=-1)
    for wrong, why in (
        (~((p >= 0.0) & (p <= 1.0)).all(axis=-1), "a probability lies outside [0, 1]"),
        (mass > 1.0 + 1e-4, "the probabilities of the score tokens add up to more than 1"),
        (
            mass < LEAST_MASS,
            f"the score tokens have a probability of less than {LEAST_MASS:g} together, so the "
            "model is not answering with a score; check the prompt and the token ids (a leading "
            "space makes another token)",
        ),
    ):
        if wrong.any():
            raise ComparisonError(f"at {np.argwhere(wrong)[:5].tolist()}: {why}")
    return ExpectedScores(p @ values / mass, np.minimum(mass, 1.0))


# Sorting with a judge ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class PairsRanking(OrderOfItems):
    """The order PairS found, and what it asked for it.

    log_probability : sum over the merges of the log-probability of the path taken, given the
        two lists that were merged. pairs : (K, 2) positions (first, second) in the order
        asked, each once. p : (K,) the answers.
    """

    log_probability: float
    pairs: Indices
    p: Floats

    @property
    def calls(self) -> int:
        """Number K of questions put to the judge."""
        return len(self.p)

    def comparisons(self) -> Comparisons:
        """The questions and answers as `Comparisons`, to be scored by any other method."""
        return Comparisons.from_pairs(self.pairs, self.p, items=self.items)


def pairs_ranking(
    judge: Callable[[Any, Any], float],
    items: Iterable[Hashable],
    *,
    beam: int = 1,
    window: float = 0.1,
    both_orders: bool = False,
    seed: int | None = 0,
) -> PairsRanking:
    """PairS: rank items by a merge sort that asks `judge` (Liu et al. 2024; poe_v2 C.8).

    A merge of two sorted lists is a path of decisions "the better of the two heads goes next",
    each with a probability, so a merge has a probability, and a beam of several partial
    merges can take back a decision that was nearly a toss-up.

    judge : judge(first, second) -> p, the probability that `first` is the better, called
        with two of `items`. items : N different names.
    beam : 1 is the greedy variant: the more probable item goes next. A beam of B keeps the
        B most probable partial merges of each length. Of two that have placed the same
        items only the more probable is kept, since nothing later can tell them apart.
    window : both continuations are followed if p lies within `window` of 1/2, otherwise
        only the more probable one. Without effect on beam=1; 0.5 follows all.
    both_orders : ask in both orders and use (p_ij + 1 - p_ji) / 2, for twice the calls.
    seed : of the shuffle before the sort; None keeps the order given. A judge that prefers
        one position, or answers 1/2, favours the items that come first, so an order that
        knows the answer would leak into the result.

    No ordered pair is asked twice. The greedy variant asks at most N log2(N) questions, any
    beam at most N (N - 1) / 2, both orders twice that. Only the best merge of two lists is
    handed up to the next level. Raises ComparisonError naming the items if the judge gives
    anything but a probability.
    """
    names = tuple(items)
    if not names:
        raise ComparisonError("there are no items to rank: at least one is needed")
    require_unique(names)
    if beam < 1:
        raise ValueError(f"beam is a number of partial merges, one or more, not {beam}")
    if not 0.0 <= window <= 0.5:
        raise ValueError(f"window is a distance from 1/2 and lies in [0, 0.5], not {window}")
    asked: dict[tuple[int, int], float] = {}

    def once(i: int, j: int) -> float:
        if (i, j) not in asked:
            asked[i, j] = _probability(judge(names[i], names[j]), names[i], names[j])
        return asked[i, j]

    def better(i: int, j: int) -> float:
        return (once(i, j) + 1.0 - once(j, i)) / 2.0 if both_orders else once(i, j)

    def sort(some: list[int]) -> tuple[list[int], float]:
        if len(some) == 1:
            return some, 0.0
        half = len(some) // 2
        left, log_left = sort(some[:half])
        right, log_right = sort(some[half:])
        merged, log_merge = _merge(left, right, better, beam, window)
        return merged, log_left + log_right + log_merge

    start = np.arange(len(names))
    if seed is not None:
        start = np.random.default_rng(seed).permutation(start)
    order, log_p = sort(start.tolist())
    return PairsRanking(
        items=names,
        positions=np.array(order, dtype=np.intp),
        log_probability=log_p,
        pairs=np.array(list(asked), dtype=np.intp).reshape(-1, 2),
        p=np.array(list(asked.values()), dtype=float),
    )


def _merge(
    left: Sequence[int],
    right: Sequence[int],
    better: Callable[[int, int], float],
    beam: int,
    window: float,
) -> tuple[list[int], float]:
    """The most probable merge the beam finds, and the log-probability of its path.

    After `done` items a partial merge is known by how many of them came from `left`: the
    state of a shortest-path search, whose steps are "from left" (1) or "from right" (0).
    """

    def continued(taken: int, other: int) -> list[tuple[int, float]]:
        """Ways to go on from what is left of the two lists: (from left?, log p)."""
        if taken == len(left) or other == len(right):
            return [(1 if taken < len(left) else 0, 0.0)]
        p = better(left[taken], right[other])
        likely = (1, log(p)) if p >= 0.5 else (0, log1p(-p))
        if abs(p - 0.5) > window or p in (0.0, 1.0):
            return [likely]
        return [likely, (0, log1p(-p)) if p >= 0.5 else (1, log(p))]

    log_p = {0: 0.0}
    steps: list[dict[int, int]] = []
    for done in range(len(left) + len(right)):
        grown: dict[int, float] = {}
        step: dict[int, int] = {}
        for taken, so_far in log_p.items():
            for from_left, gain in continued(taken, done - taken):
                state, value = taken + from_left, so_far + gain
                if state not in grown or value > grown[state]:
                    grown[state], step[state] = value, from_left
        # Equal probabilities: the left list first, so that the sort is stable.
        kept = sorted(grown, key=lambda state: (-grown[state], -state))[:beam]
        log_p = {state: grown[state] for state in kept}
        steps.append(step)
    taken, merged = len(left), []
    for done in range(len(steps), 0, -1):
        from_left = steps[done - 1][taken]
        taken -= from_left
        merged.append(left[taken] if from_left else right[done - 1 - taken])
    return merged[::-1], log_p[len(left)]


def _probability(answer: Any, first: Hashable, second: Hashable) -> float:
    try:
        p = float(answer)
    except (TypeError, ValueError):
        p = float("nan")
    if not 0.0 <= p <= 1.0:
        raise ComparisonError(
            f"asked for {first!r} (first) against {second!r} (second) the judge answered "
            f"{answer!r}; a probability in [0, 1] is needed, 1/2 where it cannot tell"
        )
    return p
