"""PairS: merge sort in which a judge decides which item comes next.

Liu et al. 2024, "Aligning with Human Judgement: The Role of Pairwise Preference in Large
Language Model Evaluators" (arXiv 2403.16950), a baseline of poe_v2 appendix C.8. Written
from the idea: a merge of two sorted lists is a path of decisions "the better of the two
heads goes next", each with a probability, so a merge has a probability, and a beam of
several partial merges can take back a decision that was nearly a toss-up.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from math import log, log1p
from typing import Any

import numpy as np

from poe.baselines.ranking import Ranking
from poe.comparisons import Comparisons, Floats, Indices
from poe.errors import ComparisonError, name_some
from poe.judges.simulated import SimulatedJudge

Judge = Callable[[Any, Any], float]
Better = Callable[[int, int], float]


@dataclass(frozen=True, eq=False)
class PairsRanking(Ranking):
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
    judge: Judge | SimulatedJudge,
    items: Iterable[Hashable] | None = None,
    *,
    beam: int = 1,
    window: float = 0.1,
    both_orders: bool = False,
    seed: int | None = 0,
) -> PairsRanking:
    """Rank items by a merge sort that asks `judge` (Liu et al. 2024; poe_v2 C.8).

    judge : judge(first, second) -> p, the probability that `first` is the better, called
        with two of `items`; or a `SimulatedJudge` of one context.
    items : N different names; may be left out for a simulated judge (then 0 to N - 1).
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
    names, ask = _names_and_judge(judge, items)
    if beam < 1:
        raise ValueError(f"beam is a number of partial merges, one or more, not {beam}")
    if not 0.0 <= window <= 0.5:
        raise ValueError(f"window is a distance from 1/2 and lies in [0, 0.5], not {window}")
    asked: dict[tuple[int, int], float] = {}

    def once(i: int, j: int) -> float:
        if (i, j) not in asked:
            asked[i, j] = _probability(ask(i, j), names[i], names[j])
        return asked[i, j]

    def both(i: int, j: int) -> float:
        return (once(i, j) + 1.0 - once(j, i)) / 2.0

    start = np.arange(len(names))
    if seed is not None:
        start = np.random.default_rng(seed).permutation(start)
    order, log_p = _sort(start.tolist(), both if both_orders else once, beam, window)
    return PairsRanking(
        items=names,
        order=np.array(order, dtype=np.intp),
        log_probability=log_p,
        pairs=np.array(list(asked), dtype=np.intp).reshape(-1, 2),
        p=np.array(list(asked.values()), dtype=float),
    )


def _sort(items: list[int], better: Better, beam: int, window: float) -> tuple[list[int], float]:
    if len(items) == 1:
        return items, 0.0
    half = len(items) // 2
    left, log_left = _sort(items[:half], better, beam, window)
    right, log_right = _sort(items[half:], better, beam, window)
    merged, log_merge = _merge(left, right, better, beam, window)
    return merged, log_left + log_right + log_merge


def _merge(
    left: Sequence[int], right: Sequence[int], better: Better, beam: int, window: float
) -> tuple[list[int], float]:
    """The most probable merge the beam finds, and the log-probability of its path.

    After `done` items a partial merge is known by how many of them came from `left`: the
    state of a shortest-path search, whose steps are "from left" (1) or "from right" (0).
    """
    log_p = {0: 0.0}
    steps: list[dict[int, int]] = []
    for done in range(len(left) + len(right)):
        grown: dict[int, float] = {}
        step: dict[int, int] = {}
        for taken, so_far in log_p.items():
            for from_left, gain in _next(left[taken:], right[done - taken :], better, window):
                state, value = taken + from_left, so_far + gain
                if state not in grown or value > grown[state]:
                    grown[state], step[state] = value, from_left
        # Equal probabilities: the left list first, so that the sort is stable.
        kept = sorted(grown, key=lambda state: (-grown[state], -state))[:beam]
        log_p = {state: grown[state] for state in kept}
        steps.append(step)
    return _trace(left, right, steps), log_p[len(left)]


def _next(
    left: Sequence[int], right: Sequence[int], better: Better, window: float
) -> list[tuple[int, float]]:
    """Ways to continue a merge of what is left of the two lists: (from left?, log p)."""
    if not left or not right:
        return [(1 if left else 0, 0.0)]
    p = better(left[0], right[0])
    likely = (1, log(p)) if p >= 0.5 else (0, log1p(-p))
    if abs(p - 0.5) > window or p in (0.0, 1.0):
        return [likely]
    return [likely, (0, log1p(-p)) if p >= 0.5 else (1, log(p))]


def _trace(left: Sequence[int], right: Sequence[int], steps: list[dict[int, int]]) -> list[int]:
    taken, merged = len(left), []
    for done in range(len(steps), 0, -1):
        from_left = steps[done - 1][taken]
        taken -= from_left
        merged.append(left[taken] if from_left else right[done - 1 - taken])
    return merged[::-1]


def _names_and_judge(
    judge: Judge | SimulatedJudge, items: Iterable[Hashable] | None
) -> tuple[tuple[Hashable, ...], Better]:
    """The items' names and the judge as a function of two positions."""
    if isinstance(judge, SimulatedJudge) and judge.quality.ndim != 1:
        raise ValueError("pairs_ranking is for one context; this judge knows several")
    if items is None:
        if not isinstance(judge, SimulatedJudge):
            raise ValueError("give `items`, the names the judge is called with")
        items = range(len(judge.quality))
    names = tuple(items)
    if not names:
        raise ComparisonError("there are no items to rank: at least one is needed")
    if len(set(names)) < len(names):
        twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
        raise ComparisonError(
            f"listed more than once in items: {name_some(twice)}; give each text a name of its "
            "own, and let the judge look the text up"
        )
    if not isinstance(judge, SimulatedJudge):
        return names, lambda i, j: judge(names[i], names[j])
    if len(names) != len(judge.quality):
        raise ComparisonError(f"the judge knows {len(judge.quality)} items, not {len(names)}")
    return names, lambda i, j: float(judge.answer(np.array([[i, j]]))[0])


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
