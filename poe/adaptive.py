"""Ask, fit, ask again: a ranking with the judge in the loop."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from poe.comparisons import Comparisons, Indices
from poe.errors import name_some
from poe.experts import Expert
from poe.fitting import fit
from poe.result import Fit
from poe.selection import NextRule, in_orders_shown, linked, next_comparisons, regular
from poe.stopping import StopRule, Until, as_rules

Judge = Callable[[Indices], ArrayLike]


@dataclass(frozen=True, eq=False)
class Ranking:
    """What `poe.rank` found: the last fit, all comparisons, and one row a round.

    rounds : columns `asked` (comparisons answered so far), `moved` (largest change of a score since
        the round before), `bias`, and one for what each stopping rule measures.
    stopped_because : the rule that was met, with its value, or the budget.
    """

    fit: Fit
    comparisons: Comparisons
    rounds: pd.DataFrame = field(repr=False)
    stopped_because: str

    @property
    def order(self) -> list[Hashable]:
        """Item names from best to worst."""
        return self.fit.ranking()


def rank(
    judge: Judge,
    items: int | Sequence[Hashable],
    *,
    budget: int,
    expert: str | Expert = "bradley-terry",
    batch: int | None = None,
    rule: NextRule = "laplace",
    until: Until | Iterable[Until] | None = None,
    both_orders: bool = False,
    bias: float | Literal["mean", "fit"] | None = None,
    prior: float = 0.0,
    earlier: Comparisons | None = None,
    repeats: bool = False,
    seed: int | np.random.Generator = 0,
    progress: Callable[[Ranking], Any] | None = None,
) -> Ranking:
    """Rank items by asking a judge in rounds, until enough is known or the budget is spent.

    judge : given (K, 2) positions (first shown, second shown), returns K probabilities that
        the first is better; `SimulatedJudge(...).answer` is one. items : the N names, or N.
    budget : the most calls to ask for. batch : calls a round (N by default).
    expert, bias, prior : of the fits, see `poe.fit`. Decisions (p of 0 and 1) need a prior.
    rule : which comparisons come next, see `poe.next_comparisons`.
    until : a stopping rule or several (`poe.top_known`, `poe.ranks_within`, `poe.se_below`, or
        any function of a fit); the first that is met stops.
    earlier : comparisons of an earlier run among the same items, which are built upon.
    repeats : whether a comparison may be asked twice, for judges that do not always say the same.
    progress : called after every round with the `Ranking` so far.

    The first round links all items: every item in about four random pairs
    (`poe.selection.regular`), or fewer links where there are earlier comparisons or the budget
    is small. If the judge or a fit fails, the exception carries the answers so far as its
    attribute `comparisons`, to go on from with `earlier`.

    Stated probabilities assume one look at the data. Stopping at the first look that satisfies
    a rule makes them somewhat optimistic; a higher probability or larger batches make up for it.
    """
    names = tuple(range(items)) if isinstance(items, int) else tuple(items)
    rng, rules = np.random.default_rng(seed), as_rules(until)
    calls = 2 if both_orders else 1
    batch = calls * -(-len(names) // calls) if batch is None else batch
    _check(names, budget, batch, calls, earlier, repeats)
    pairs = _first(len(names), budget, both_orders, earlier, rng)
    spent, rows = 0, list[dict[str, float]]()
    found: Fit | None = None
    with _Answers(names, earlier) as answers:
        while True:
            answers.ask(judge, pairs)
            spent += len(pairs)
            previous, found = found, fit(answers.so_far, expert, bias=bias, prior=prior)
            measured = {rule.name: rule.measure(found) for rule in rules}
            rows.append(_row(answers.so_far, found, previous) | measured)
            reason = _reason(rules, measured, spent, budget)
            now = Ranking(found, answers.so_far, _table(rows), reason or "")
            if progress is not None:
                progress(now)
            if reason:
                return now
            size = min(batch, budget - spent)
            pairs = next_comparisons(found, size, rule=rule, both_orders=both_orders, seed=rng)


def _first(
    n_items: int,
    budget: int,
    both_orders: bool,
    earlier: Comparisons | None,
    rng: np.random.Generator,
) -> Indices:
    """A connected first round, or what earlier comparisons lack to be connected."""
    calls = 2 if both_orders else 1
    if earlier is None:
        size = min(2 * n_items, n_items * (n_items - 1) // 2, budget // calls)
        links = regular(n_items, size, seed=rng)
    else:
        links = linked(n_items, earlier.pairs, seed=rng)
    if len(links) * calls > budget or (earlier is None and len(links) < n_items - 1):
        least = calls * (n_items - 1 if earlier is None else len(links))
        raise ValueError(
            f"a budget of {budget} cannot link {n_items} items: the fewest comparisons that do "
            f"are {least}"
        )
    return in_orders_shown(links, both_orders=both_orders, rng=rng)


def _check(
    names: tuple[Hashable, ...],
    budget: int,
    batch: int,
    calls: int,
    earlier: Comparisons | None,
    repeats: bool,
) -> None:
    n = len(names)
    if n < 2:
        raise ValueError(f"a ranking needs at least two items, not {n}")
    if batch < 1 or budget < 1 or budget % calls or batch % calls:
        even = " and, with both orders, even" if calls == 2 else ""
        raise ValueError(f"budget and batch must be positive{even}, not {budget} and {batch}")
    if earlier is not None and earlier.items != names:
        raise ValueError(
            f"the earlier comparisons are of {name_some(earlier.items)}, not of "
            f"{name_some(names)}; items must be the same, in the same order"
        )
    asked = [] if earlier is None else earlier.pairs.tolist()
    taken = {(i, j) if calls == 1 or i < j else (j, i) for i, j in asked}
    left = n * (n - 1) - calls * len(taken)
    if budget > left and not repeats:
        done = f", of which {calls * len(taken)} were asked earlier" if taken else ""
        raise ValueError(
            f"the budget is {budget} comparisons, but {n} items have only {n * (n - 1)} in both "
            f"orders{done}; give at most {left}, or repeats=True to ask the same ones again"
        )


class _Answers:
    """The comparisons answered so far, which an exception takes along so that none is lost."""

    def __init__(self, names: tuple[Hashable, ...], earlier: Comparisons | None) -> None:
        self.names, self.made = names, earlier

    @property
    def so_far(self) -> Comparisons:
        assert self.made is not None  # the first round asks, unless there are earlier ones
        return self.made

    def ask(self, judge: Judge, pairs: Indices) -> None:
        """Put the pairs to the judge and keep the answers, if they are probabilities."""
        if not len(pairs):
            return
        p = np.asarray(judge(pairs), dtype=float)
        if p.shape != (len(pairs),):
            raise ValueError(
                f"the judge was asked {len(pairs)} comparisons and answered with shape "
                f"{p.shape}; one probability each is needed, shape ({len(pairs)},)"
            )
        weight = np.ones(len(p))
        if self.made is not None:
            pairs = np.vstack([self.made.pairs, pairs])
            p, weight = np.append(self.made.p, p), np.append(self.made.weight, weight)
        self.made = Comparisons.from_pairs(pairs, p, items=self.names, weight=weight)

    def __enter__(self) -> _Answers:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is None or self.made is None:
            return
        error.comparisons = self.made  # type: ignore[attr-defined]
        error.add_note(
            f"{len(self.made)} comparisons were answered before this; they are the attribute "
            "`comparisons` of this exception, and poe.rank(..., earlier=...) goes on from them"
        )


def _row(made: Comparisons, found: Fit, previous: Fit | None) -> dict[str, float]:
    moved = np.nan if previous is None else float(np.abs(found.scores - previous.scores).max())
    return {"asked": len(made), "moved": moved, "bias": found.bias}


def _table(rows: list[dict[str, float]]) -> pd.DataFrame:
    return pd.DataFrame(rows, index=pd.RangeIndex(1, len(rows) + 1, name="round"))


def _reason(
    rules: list[StopRule], measured: dict[str, float], spent: int, budget: int
) -> str | None:
    for rule in rules:
        if rule.met(measured[rule.name]):
            return rule.reason(measured[rule.name])
    return f"the budget of {budget} comparisons is spent" if spent >= budget else None
