"""One ranking: ask, fit, ask again, until enough is known (the loop is `asking.loop`)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from judging import metrics
from judging.errors import JudgeError
from judging.fitting import settled
from judging.judges.spending import RoundWrittenError
from judging.practice.asking.ending import RankingFailedError, RankingInterruptedError, Stop
from judging.practice.asking.limits import HOPELESS, as_rules, require_rules
from judging.practice.asking.links import links_first
from judging.practice.asking.loop import Loop, as_set
from judging.practice.findings import Narrow, OneOrder, Orders
from judging.practice.ranking.ranking import Ranking
from judging.practice.ranking.readings import typical_error
from judging.practice.ranking.settings import COVARIANCES, Asking, Fitting
from poe.arrays import Floats, Indices
from poe.choose import orders
from poe.choose.adaptive import next_comparisons
from poe.choose.designs import in_orders_shown, linked, regular
from poe.choose.greedy import count_shown, extended
from poe.choose.orders import Decision
from poe.choose.stopping import StopRule, Until
from poe.comparisons import Comparisons
from poe.debias import first_position_rate
from poe.errors import ComparisonError, SeparableError, name_some
from poe.resistance import component_of
from poe.result import Fit

if TYPE_CHECKING:
    import pandas as pd

    from judging.judges import TextJudge

__all__ = ["About", "Judge", "Rounds", "calls_left"]

Judge = Callable[[Indices], ArrayLike]
FOLLOWED = 1000  # items up to which every round's uncertainty is worked out
NONE: Indices = np.empty((0, 2), dtype=np.intp)


@dataclass(frozen=True, kw_only=True)
class About:
    """What a ranking is of: fields of the `Ranking` that asking does not change."""

    attribute: str = ""
    name: str = ""
    copies: Mapping[str, str] = field(default_factory=dict)
    gold: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)
    refusals: int = 0


class Rounds(Loop):
    """One ranking in the making: `run` asks, fits and takes a look until there is a reason to stop.

    names, judge : what is ranked, and who answers: a function of positions, or a `TextJudge`.
    calls : the budget in comparisons. until, progress, seed : as in `judging.rank`.
    """

    things = "texts"

    def __init__(
        self,
        names: Sequence[Hashable],
        judge: Judge | TextJudge,
        calls: int,
        *,
        asking: Asking,
        fitting: Fitting,
        until: Until | Iterable[Until] | None = None,
        seed: int | np.random.Generator = 0,
        about: About | None = None,
        progress: Callable[[Ranking], Any] | None = None,
    ) -> None:
        super().__init__(len(names))
        self.judged: TextJudge | None = None if callable(judge) else judge
        self.judge: Judge = judge if callable(judge) else judge.answer
        self.given, self.fitting, self.seed, self.progress = asking, fitting, seed, progress
        self.rules, self.about = as_rules(until), about or About()
        self.offline = asking.offline and self.judged is not None
        self.kept = self.judged is not None
        self._plan(names, calls)
        if fitting.errors == "prompt":
            raise ValueError("errors of prompts are a leaderboard's: these texts answer to one")
        require_rules(self.rules, self.n)

    def _plan(self, names: Sequence[Hashable], calls: int) -> None:
        """How many comparisons a round has, of these items and this budget."""
        self.names, self.calls, asking = tuple(names), calls, self.given
        n = self.n = len(self.names)
        if self.judged is not None and n <= 3 and calls == n * (n - 1):
            # Two or three texts asked about completely: one order alone would hide the bias.
            asking = replace(asking, orders="both", batch=None)
        self.asking, pairs = asking, n * (n - 1) // 2
        each = 2 if asking.both_orders else 1
        # What follows from a pilot needs a round after it.
        self.pilot = _pilot_size(n, calls) if asking.orders == "auto" and asking.rounds != 1 else 0
        first = min(n if self.pilot else 2 * n, pairs, calls // each)
        self.pairs = min(pairs, calls // each) if asking.rounds == 1 else first
        self.first = calls if asking.rounds == 1 else each * first + 2 * self.pilot
        self.batch = each * -(-n // each) if asking.batch is None else asking.batch
        if asking.rounds is not None:
            rounds = each * max(asking.rounds - 1, 1)
            self.batch = each * max(1, -(-(calls - self.first) // rounds))
        if self.batch < 1 or self.batch % each:
            even = " and, with both orders, even" if asking.both_orders else ""
            raise ValueError(f"batch must be positive{even}, not {self.batch}")

    def run(self) -> Ranking:
        """The ranking. Whatever fails, no answer is lost."""
        self._begin()
        try:
            return self.snapshot(self.ask_all())
        except (Exception, KeyboardInterrupt) as error:
            if self.judged is not None or not len(self.made):
                raise
            if isinstance(error, KeyboardInterrupt):
                raise RankingInterruptedError(self.comparisons) from error
            raise RankingFailedError(error, self.comparisons) from error

    def _begin(self) -> None:
        """Begin, or begin again with fewer items: nothing was answered but what the store has."""
        self.forget()
        self.rng, self.history = np.random.default_rng(self.seed), _History(self.rules)
        self.fit: Fit | None = None
        self.decision: Decision | None = None
        self.both, self.notes = self.asking.both_orders, ()
        self.total, self.opening = self.calls, self._opening()
        if self.judged is not None:
            self.judged.forget()
            self.judged.meanwhile = self.filled_meanwhile
            self.by_file = self.judged.judge.by_file
            there = self.judged.stored()
            self.total = len(there) + calls_left(self.n, there, self.calls)

    def _opening(self) -> Indices:
        """What the seed asks first: links between all items, and the pilot where there is one."""
        pairs = regular(self.n, self.pairs, seed=self.rng)
        pairs = in_orders_shown(pairs, both_orders=self.asking.both_orders, rng=self.rng)
        if self.first > len(pairs) + 2 * self.pilot:  # one round of more than there are pairs
            pairs = np.vstack([pairs, pairs[: self.first - len(pairs), ::-1]])
        if not self.pilot:
            return pairs
        tried = orders.pilot(self.n, self.pilot, seed=self.rng)
        # Links first: a run that a limit ends early can be ranked all the same.
        return np.vstack([_without(pairs, as_set(tried)), tried])

    @property
    def comparisons(self) -> Comparisons:
        """All answers so far; of texts in one order, whichever came from the store.

        The same answers then give the same scores, to the last digit.
        """
        order = np.lexsort(self.made.T[::-1]) if self.kept else slice(None)
        return Comparisons.from_pairs(self.made[order], self.p[order], items=self.names)

    # Who answers ----------------------------------------------------------------------------

    def stored(self) -> Indices:
        """Comparisons of these texts in the store that were not taken yet."""
        if self.judged is None:
            return NONE
        return _without(self.judged.stored(), as_set(self.made) | {*self.refused})

    def fetch(self, rows: Indices) -> None:
        """Have a judge of texts answer; a function is asked for each round as a whole."""
        if self.judged is not None:
            self.judged.fetch(rows)

    def answer(self, rows: Indices) -> Floats:
        """The judge's probabilities, if they are such."""
        p = np.asarray(self.judge(rows), dtype=float)
        if p.shape != (len(rows),):
            raise ValueError(
                f"the judge was asked {len(rows)} comparisons and answered with shape "
                f"{p.shape}; one probability each is needed, shape ({len(rows)},)"
            )
        if self.judged is None:
            Comparisons.from_pairs(rows, p, items=self.names)
        return p

    # What comes next ------------------------------------------------------------------------

    def before(self) -> Indices:
        """The first round, less what the store knows of it, and links that refusals took away."""
        while True:
            rows = NONE if self.fit is not None or self.stop is not None else self._first_round()
            if len(rows):
                return rows
            links, out = self._links_again()
            if not out:
                return links
            self._leave_out(out)

    def _first_round(self) -> Indices:
        """The opening's calls that the first round lacks, in any case those that link all texts."""
        known = as_set(self.made) | {*self.refused}
        rows, short = _without(self.opening, known), self.first - self.asked
        if self.by_file and self.linked and self.asked >= self.first / 2:
            return NONE  # what a batch lost goes into the next, and not into a file of its own
        if len(rows) > short:
            links = np.concatenate([*links_first(self.n, self.made, rows), NONE[:, 0]])
            first = np.r_[links, np.setdiff1d(np.arange(len(rows)), links)]
            rows = rows[np.sort(first[: max(short, len(links))])]
        if self.by_file and self.asked and 0 < len(rows) < self.batch:
            more = min(self.batch, self.total - self.asked) - len(rows)
            if more > 0:
                there = np.vstack([self.made, np.array(self.refused or NONE), rows])
                extra = extended(self.rng, self.n, there, np.ones(len(there)), NONE, more, False)
                rows = np.vstack([rows, extra])
        return rows

    def _links_again(self) -> tuple[Indices, list[int]]:
        """Comparisons that join what refusals have left apart; and items that none can join.

        Those are items of which nothing was answered after `HOPELESS` questions, and those that no
        call is left for.
        """
        n, made = self.n, self.made
        if not self.refused or self.linked:
            return NONE, []
        times = np.bincount(np.array(self.refused, dtype=np.intp).ravel(), minlength=n)
        answered = np.bincount(made.ravel(), minlength=n)
        hopeless = (answered == 0) & (times >= min(HOPELESS, n - 1))
        if hopeless.any():
            return NONE, np.flatnonzero(hopeless).tolist()
        if isinstance(self.ended, (RoundWrittenError, KeyboardInterrupt)):
            raise self.ended
        group = component_of(n, made)
        largest = group == np.bincount(group).argmax()
        room = max(self.total - self.asked, 0)
        if not room or self.offline or self.ended is not None:
            # The largest group stays, if it is refusals alone that keep the others out.
            out = ~largest if largest.sum() > 1 else times > 0
            alone = not len(made) or bool((times[out] > 0).all())
            return NONE, np.flatnonzero(out).tolist() if alone else []
        known = {frozenset(pair) for pair in self.refused}
        links = []
        for here in map(np.flatnonzero, (group == g for g in np.unique(group[~largest]))):
            # Partners without refusals first, and of these the least compared.
            other = np.flatnonzero(largest)
            order = np.lexsort((self.rng.random(len(other)), answered[other], times[other]))
            i = int(here[np.argmin(times[here])])
            j = next((int(j) for j in other[order] if frozenset((i, int(j))) not in known), None)
            if j is None:
                return NONE, here.tolist()
            links.append((i, j) if self.rng.random() < 0.5 else (j, i))
        return np.array(links[:room], dtype=np.intp), []

    def _leave_out(self, positions: Sequence[int]) -> None:
        """Go on with the other texts; the calls that were spent on these are gone."""
        assert self.judged is not None
        why = {text.id: said for *pair, said in reversed(self.judged.refused) for text in pair}
        out = {str(self.names[k]): why.get(str(self.names[k]), "") for k in positions}
        spent = sum(bool({*pair} & {*positions}) for pair in self.refused)
        names = [name for k, name in enumerate(self.names) if k not in positions]
        if len(names) < 2:
            raise JudgeError(
                f"the judge refused every comparison of {name_some(list(out))}: "
                f"{next(iter(out.values()))}; nothing is left to rank"
            )
        self.judged = self.judged.without(positions)
        self.judge = self.judged.answer
        self.rules = [rule for rule in self.rules if rule.least <= len(names)]
        self.about = replace(
            self.about,
            left_out={**self.about.left_out, **out},
            refusals=self.about.refusals + spent,
        )
        self._plan(names, max(self.calls - spent, len(names) - 1))
        self._begin()
        self.recall()

    def choose(self) -> Indices:
        """Choose what to ask next: a batch by the rule, or as much as the budget leaves."""
        assert self.fit is not None
        count = self.left if self.left < self.batch * (1.5 if self.by_file else 1) else self.batch
        known, back = as_set(self.made) | {*self.refused}, NONE
        if self.both:
            # A second order takes away more than a new pair would: those come first.
            shown = count_shown(self.n, self.made)
            single = self.made[shown[self.made[:, 1], self.made[:, 0]] == 0][:, ::-1]
            back = _without(single, {*self.refused})[:count]
        new = count - len(back)
        if not new:
            return back
        pairs = next_comparisons(
            self.fit,
            new + new % 2 if self.both else new,
            rule=self.asking.formula,
            both_orders=self.both,
            avoid=[*self.refused, *(pair[::-1] for pair in self.refused)],
            seed=self.rng,
        )[:new]
        return np.vstack([back, _without(pairs, known | as_set(back))])

    # What it comes to -----------------------------------------------------------------------

    def look(self) -> Stop | None:
        """Fit all answers, show the ranking so far, and say whether to go on."""
        if not len(self.made):
            raise self.too_few() or JudgeError(
                "offline, and the store has no answers about these texts"
            )
        new = self.history.asked < len(self.made)
        if new:
            self._refit()
        reason = self._reason()
        if new and self.progress is not None:
            self.progress(self.snapshot(reason))
        return reason

    def _refit(self) -> None:
        """Fit all answers so far, and note how the ranking is doing."""
        f, made = self.fitting, self.comparisons
        try:
            self.fit, said = settled(
                made,
                expert=f.expert,
                bias=f.bias,
                prior=f.prior,
                covariance=COVARIANCES["pair" if f.errors == "auto" else f.errors],
            )
        except ComparisonError as error:
            if (ended := self.too_few()) is not None:
                raise ended from None
            if self.offline and not isinstance(error, SeparableError):
                raise JudgeError(
                    f"offline, and the store has too few answers to link all texts: {error}"
                ) from None
            raise
        if self.asking.orders == "auto" and self.decision is None and self.asking.rounds != 1:
            self.decision = orders.decide(made, calls=self.total)
            self.both = self.decision.orders == "both"
        notes = list[Any](said)
        chosen = not self.offline and self.asked < self.n * (self.n - 1)  # else it changed nothing
        if self.decision is not None and self.decision.reason != "unknown" and chosen:
            d = self.decision
            notes.append(Orders(d.reason, d.orders, d.c, d.se))
        if self.asking.both_orders:
            notes += _one_order_only(made)
        if self.asking.rule in ("laplace", "reordering") and chosen:
            notes.append(Narrow(self.asking.rule))
        self.notes = tuple(notes)
        self.history.add(self.fit, made)

    def _reason(self) -> Stop | None:
        """Why to stop now; None to go on."""
        if met := self.history.reason():
            return Stop("rule", met)
        if self.asked >= self.total:
            more = ", and the store had more" if self.total > self.calls else ""
            return Stop("budget", f"the budget of {self.calls} comparisons is spent{more}")
        if self.stop is not None:
            asked = f"{self.asked} of {self.total} comparisons"
            return replace(self.stop, text=f"{self.stop}; this ranking is partial: {asked}")
        if not self.left:
            lost = self.total - self.asked
            return Stop(
                "budget",
                f"all but {lost} of the budget of {self.total} comparisons were answered, too few "
                "for a file of their own",
            )
        return None

    def snapshot(self, stop: Stop | None) -> Ranking:
        """The ranking as it is now; stop : why it is the last, None while it goes on."""
        assert self.fit is not None
        return Ranking(
            self.fit,
            self.history.table(),
            stop,
            asking=self.asking,
            fitting=self.fitting,
            seed=self.seed,
            judged=self.judged,
            decision=self.decision,
            attribute=self.about.attribute,
            name=self.about.name,
            copies=self.about.copies,
            gold=self.about.gold,
            notes=(*self.about.notes, *self.notes),
            left_out=self.about.left_out,
            rest=max(self.total - self.asked, 0),
            refused=len(self.refused) + self.about.refusals,
            refused_pairs=tuple((i, j) for i, j in self.refused),
        )


def _pilot_size(n_items: int, calls: int) -> int:
    """Pairs to ask in both orders before deciding; none where the budget has no room for them."""
    pairs = n_items * (n_items - 1) // 2
    size = min(orders.pilot_size(calls), pairs)
    return size if size >= orders.FEWEST and calls >= 2 * size + 2 * n_items else 0


def calls_left(n_items: int, stored: Indices, calls: int) -> int:
    """Calls that a budget leaves where a store has these comparisons.

    They count towards it. Items that are new to the store have their share even where it has more
    comparisons of the others than that, and what links all items is asked in any case.
    """
    new, links = n_items - len(np.unique(stored)), len(linked(n_items, stored))
    left = max(calls - len(stored), new * (calls // n_items), links)
    return min(left, n_items * (n_items - 1) - len(stored))


def _one_order_only(made: Comparisons) -> list[Any]:
    """A finding where both orders were wanted, and the store's answers left no calls for them."""
    pairs = as_set(made.pairs)
    single = sum((j, i) not in pairs for i, j in pairs)
    return [OneOrder(single, len(pairs))] if single else []


def _without(pairs: Indices, known: set[tuple[int, ...]]) -> Indices:
    """The pairs that are not known."""
    kept = [pair for pair in pairs.tolist() if tuple(pair) not in known] if known else pairs
    return np.array(kept, dtype=np.intp).reshape(-1, 2)


class _History:
    """Notes after every round how the ranking was doing."""

    def __init__(self, rules: Sequence[StopRule]) -> None:
        self.rules, self.rows, self.scores = rules, list[dict[str, float]](), list[Floats]()

    @property
    def asked(self) -> int:
        """Answers in the last fit."""
        return int(self.rows[-1]["asked"]) if self.rows else 0

    def add(self, fit: Fit, answers: Comparisons) -> None:
        small = len(fit.items) <= FOLLOWED
        self.rows.append(
            {
                "asked": len(answers),
                "bias": fit.bias,
                "rate": first_position_rate(answers).rate,
                "error": typical_error(fit) if small else np.nan,
                **{rule.name: rule.measure(fit) for rule in self.rules},
            }
        )
        self.scores.append(fit.scores)

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
