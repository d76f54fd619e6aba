"""One ranking: ask, fit, ask again, until enough is known; what a store knows comes first.

The questions of a ranking follow from its seed and from the answers. As long as they are those that
the store has, as when the same run goes on, it is followed through them. A store that was filled
otherwise (by another design, expert, seed, or for some of these texts) is taken as a whole
instead: all its comparisons of these texts begin the ranking, and only what is missing is asked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from poe import metrics
from poe.adaptive import NextRule, next_comparisons
from poe.comparisons import Comparisons, Floats, Indices
from poe.debias import first_position_rate
from poe.designs import in_orders_shown, linked, regular
from poe.errors import (
    ComparisonError,
    JudgeError,
    SeparableError,
    UnidentifiedBiasError,
)
from poe.experts import Expert, Laplacian
from poe.fitting import fit
from poe.greedy import count_shown, extended
from poe.judges.accounts import AskingEndedError
from poe.rankings import Ranking
from poe.result import Covariance, Fit
from poe.stopping import StopRule, Until, as_rules

if TYPE_CHECKING:
    import pandas as pd

    from poe.judges import TextJudge

__all__ = ["Judge", "in_rounds", "settled", "typical_error"]

Judge = Callable[[Indices], ArrayLike]
# What a rule is called where nobody knows its formula.
RULES: dict[str, NextRule] = {"adaptive": "laplace", "greedy": "determinant", "random": "random"}
CTRL_C = "Ctrl-C"  # why a ranking stopped
MOST_PRIOR = 2000  # items up to which a prior on every pair fits into memory
ONE_WAY = 1e-6  # information on the bias, an answer, below which it has no finite value
FOLLOWED = 1000  # items up to which every round's uncertainty is worked out


def in_rounds(
    names: Sequence[Hashable],
    judge: Judge | TextJudge,
    calls: int,
    *,
    rule: str,
    both_orders: bool,
    until: Until | Iterable[Until] | None,
    batch: int | None = None,
    expert: str | Expert,
    bias: Any = "fit",
    prior: float | None,
    covariance: Any,
    seed: int | np.random.Generator,
    top: int = 3,
    offline: bool,
    progress: Callable[[Ranking], Any] | None,
    **known: Any,
) -> Ranking:
    """Rank `names` with a budget of `calls` comparisons; arguments as in `poe.rank`.

    offline : ask nothing. known : further fields of the `Ranking`.
    """
    n, judged = len(names), None if callable(judge) else judge
    chosen: Any = RULES.get(rule, rule)
    if chosen not in RULES.values():
        raise ValueError(f"rule must be {', '.join(RULES)}, not {rule!r}")
    # Where two or three texts are asked about completely, one order alone hides the bias.
    both_orders = both_orders or (judged is not None and n <= 3 and calls == n * (n - 1))
    each = 2 if both_orders else 1
    batch = each * -(-n // each) if batch is None else batch
    if batch < 1 or batch % each:
        even = " and, with both orders, even" if both_orders else ""
        raise ValueError(f"batch must be positive{even}, not {batch}")
    ask: Judge = judge if callable(judge) else judge.answer
    rules, notes = as_rules(until), tuple(known.pop("notes", ()))
    first = min(2 * n, n * (n - 1) // 2, calls // each)  # pairs

    def run(pairs: Indices, total: int, rng: np.random.Generator) -> Ranking | None:
        """The ranking that begins with these pairs; None if the store was filled otherwise."""
        history, made, stop, left = _History(rules), None, "", set[tuple[int, int]]()
        interrupted: BaseException | None = None
        if judged is not None:
            judged.forget()
            left = _as_set(judged.stored())
        try:
            while True:
                now = _as_set(pairs)
                if not (now <= left or left <= now):
                    return None
                if offline and judged is not None:
                    pairs = judged.only_stored(pairs)
                try:
                    answers = ask(pairs)
                except (AskingEndedError, KeyboardInterrupt) as error:
                    if judged is None:
                        raise
                    pairs = judged.only_stored(pairs)
                    if made is None and not len(pairs):
                        raise
                    answers, interrupted = ask(pairs), error
                    stop = str(error) or CTRL_C
                left -= now
                if offline and not left and not now <= _as_set(pairs):
                    stop = "offline, nothing was asked"
                if left and len(made or ()) + len(pairs) >= calls:
                    return None
                if len(pairs):
                    made = _joined(made, pairs, answers, tuple(names))
                    try:
                        found, more = settled(
                            made, expert=expert, bias=bias, prior=prior, covariance=covariance
                        )
                    except ComparisonError:
                        if left:
                            return None  # all that is stored may tell more
                        raise
                    history.add(found, made)
                if made is None:
                    raise JudgeError("offline, and the store has no answers about these texts")
                reason = "" if left else history.reason()
                if not left and not reason and len(made) >= total:
                    had = ", and the store had more" if total > calls else ""
                    reason = f"the budget of {calls} comparisons is spent{had}"
                partial = bool(stop and not reason)
                if partial:
                    reason = f"{stop}; this ranking is partial: {len(made)} of {total} comparisons"
                if reason or progress is not None:  # the history's table is work nobody else needs
                    so_far = Ranking(
                        found,
                        history.table(),
                        reason,
                        rule=rule,
                        both_orders=both_orders,
                        seed=seed,
                        top=max(min(top, n - 1), 1),
                        judged=judged,
                        notes=(*notes, *more),
                        partial=partial,
                        **known,
                    )
                    if progress is not None:
                        progress(so_far)
                    if reason:
                        return so_far
                pairs = next_comparisons(
                    found,
                    min(batch, total - len(made)),
                    rule=chosen,
                    both_orders=both_orders,
                    seed=rng,
                )
        except BaseException as error:
            if interrupted is not None and isinstance(error, ComparisonError):
                raise interrupted from None  # too few answers for a ranking
            few = isinstance(error, ComparisonError) and not isinstance(error, SeparableError)
            if offline and few:
                raise JudgeError(
                    f"offline, and the store has too few answers to link all texts: {error}"
                ) from None
            if made is not None:  # so that no answer is lost
                error.comparisons = made  # type: ignore[attr-defined]
                error.add_note(
                    f"{len(made)} answers are the attribute `comparisons` of this exception"
                )
            raise

    rng = np.random.default_rng(seed)
    pairs = in_orders_shown(regular(n, first, seed=rng), both_orders=both_orders, rng=rng)
    found = run(pairs, calls, rng)
    if found is None and judged is not None:
        rng = np.random.default_rng(seed)
        found = run(*opening(n, judged.stored(), calls, first, each, rng), rng)
    assert found is not None
    return found


def opening(
    n_items: int, stored: Indices, calls: int, first: int, each: int, rng: np.random.Generator
) -> tuple[Indices, int]:
    """What to begin with where a store knows something, and how many comparisons in all.

    Its comparisons count towards the budget of `calls`. After them come as few as link all items,
    the other orders of pairs if both are wanted (`each` is 2), and what a first round of `first`
    pairs lacks. Items that are new to the store have their share of the budget even where
    it has more comparisons of the others than that, and the links are asked in any case.
    """
    n, both = n_items, each == 2
    links = in_orders_shown(linked(n, stored, seed=rng), both_orders=both, rng=rng)
    more = max(calls_left(n, stored, calls), len(links))
    shown = count_shown(n, stored)
    single = stored[shown[stored[:, 1], stored[:, 0]] == 0][:, ::-1] if both else stored[:0]
    single = single[: more - len(links)]
    pairs = np.vstack([stored, links, single])
    more -= (len(stored) + more - len(pairs)) % each
    count = min(each * first, len(stored) + more) - len(pairs)
    if count > 0:
        weight = np.ones(len(pairs))
        extra = extended(rng, n, pairs, weight, links[:0], count - count % each, both)
        pairs = np.vstack([pairs, extra])
    return pairs, len(stored) + more


def calls_left(n_items: int, stored: Indices, calls: int) -> int:
    """Calls that a budget leaves where a store has these comparisons, see `opening`."""
    new, links = n_items - len(np.unique(stored)), len(linked(n_items, stored))
    left = max(calls - len(stored), new * (calls // n_items), links)
    return min(left, n_items * (n_items - 1) - len(stored))


def _as_set(pairs: Indices) -> set[tuple[int, int]]:
    return {(i, j) for i, j in pairs.tolist()}


def _joined(
    made: Comparisons | None, pairs: Indices, answers: ArrayLike, names: tuple[Hashable, ...]
) -> Comparisons:
    """The comparisons made and the answers to some more, if they are probabilities."""
    p = np.asarray(answers, dtype=float)
    if p.shape != (len(pairs),):
        raise ValueError(
            f"the judge was asked {len(pairs)} comparisons and answered with shape "
            f"{p.shape}; one probability each is needed, shape ({len(pairs)},)"
        )
    if made is not None:
        pairs, p = np.vstack([made.pairs, pairs]), np.append(made.p, p)
    return Comparisons.from_pairs(pairs, p, items=names)


def settled(
    c: Comparisons,
    *,
    expert: str | Expert = "bradley-terry",
    bias: Any = "fit",
    prior: float | None = None,
    covariance: Covariance = "paired",
) -> tuple[Fit, list[str]]:
    """`poe.fit` where a bias or scores may have no finite value; and what was done, in words.

    Laplacian experts take the bias from the mean probability, since they cannot fit it. A bias that
    cannot be told from the scores is left out. Where an item won or lost everything and
    `prior` is None, the prior is the paper's 1 / (N - 1): every item has one win and one loss
    more, spread over the others.
    """
    notes: list[str] = []
    wins = prior or 0.0
    if bias == "fit" and (expert == "laplacian" or isinstance(expert, Laplacian)):
        bias = "mean"
    while True:
        one_way = False
        try:
            found = fit(c, expert, bias=bias, prior=wins, covariance=covariance)
            # Nearly certain answers leave a bias that is finite and says nothing.
            one_way = found.bias_fitted and found.bias_information <= ONE_WAY * len(c)
            if not one_way:
                return found, notes
        except SeparableError as error:
            one_way = bool(wins) and bias is not None  # a prior holds scores, and not the bias
            if not one_way:
                if prior is not None or c.n_items > MOST_PRIOR:
                    raise SeparableError(
                        f"{error}; for example --prior 0.1 on the command line (nothing is asked "
                        "again), prior=0.1 in Python"
                    ) from None
                wins = prior = 1.0 / (c.n_items - 1)
                why = re.sub(r", so .*", "", str(error), flags=re.DOTALL)
                notes.append(
                    f"{why}: every item was given one win and one loss, spread over the others (a "
                    f"prior of {wins:.3g} wins on every pair), which keeps scores finite"
                )
        except UnidentifiedBiasError:
            if bias is None:
                raise
            bias = None
            notes.append(
                "too few comparisons to tell a position bias from the scores: none was assumed"
            )
        if one_way:
            bias = None
            notes.append("a preference for one position explains every decision: none was assumed")


class _History:
    """Notes after every round how the ranking was doing."""

    def __init__(self, rules: Sequence[StopRule]) -> None:
        self.rules, self.rows, self.scores = rules, list[dict[str, float]](), list[Floats]()

    def add(self, found: Fit, answers: Comparisons) -> None:
        small = len(found.items) <= FOLLOWED
        self.rows.append(
            {
                "asked": len(answers),
                "bias": found.bias,
                "rate": first_position_rate(answers).rate,
                "error": typical_error(found) if small else np.nan,
                **{rule.name: rule.measure(found) for rule in self.rules},
            }
        )
        self.scores.append(found.scores)

    def reason(self) -> str:
        """The rule that is met now, in words, or nothing."""
        now = self.rows[-1]
        return next((r.reason(now[r.name]) for r in self.rules if r.met(now[r.name])), "")

    def table(self) -> pd.DataFrame:
        import pandas as pd

        table = pd.DataFrame(self.rows, index=pd.RangeIndex(1, len(self.rows) + 1, name="round"))
        moved = np.abs(np.diff(self.scores, axis=0)).max(axis=1)
        table.insert(1, "moved", [np.nan, *moved])
        last = self.scores[-1]
        table["agreement"] = [float(metrics.spearman(s, last)) for s in self.scores]
        return table


def typical_error(found: Fit) -> float:
    """Root mean square standard error of a score, in units of a difference."""
    try:
        return float(np.sqrt((found.standard_errors() ** 2).mean()))
    except ValueError:  # no residuals yet to take a variance from
        return float("nan")
