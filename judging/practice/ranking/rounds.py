"""One ranking: ask, fit, ask again, until enough is known; what a store knows comes first.

The questions of a ranking follow from its seed and from the answers. As long as they are those that
the store has, as when the same run goes on, it is followed through them. A store that was filled
otherwise (by another design, expert, seed, or for some of these texts) is taken as a whole
instead: all its comparisons of these texts begin the ranking, and only what is missing is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from judging import metrics
from judging.errors import JudgeError
from judging.fitting import settled
from judging.judges.spending import AskingEndedError, RoundWrittenError, SpendingLimitError
from judging.practice.findings import Narrow, OneOrder
from judging.practice.ranking.ending import (
    RankingFailedError,
    RankingInterruptedError,
    Stop,
    too_few,
)
from judging.practice.ranking.limits import HOPELESS, as_rules, require_rules
from judging.practice.ranking.links import ask_first, links_first
from judging.practice.ranking.orders import orders_of
from judging.practice.ranking.ranking import Ranking
from judging.practice.ranking.readings import typical_error
from judging.practice.ranking.settings import Asking, Fitting
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

__all__ = ["About", "Judge", "Rounds", "calls_left", "opening"]

Judge = Callable[[Indices], ArrayLike]
FOLLOWED = 1000  # items up to which every round's uncertainty is worked out


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


class Rounds:
    """One ranking in the making: `run` asks, fits and takes a look until there is a reason to stop.

    names, judge : what is ranked, and who answers: a function of positions, or a `TextJudge`.
    calls : the budget in comparisons. until, progress, seed : as in `judging.rank`.
    made : all comparisons answered so far, None before the first. refused : (first, second) of
    those that will have no answer. left : what the store knew at the beginning and has not been
    taken yet. stop : why asking ended before its time, if it did.
    """

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
        n = len(names)
        self.names, self.calls = tuple(names), calls
        self.judged: TextJudge | None = None if callable(judge) else judge
        self.judge: Judge = judge if callable(judge) else judge.answer
        if self.judged is not None and n <= 3 and calls == n * (n - 1):
            # Two or three texts asked about completely: one order alone would hide the bias.
            asking = replace(asking, orders="both", batch=None)
        self.asking, self.fitting, self.seed = asking, fitting, seed
        each = 2 if asking.both_orders else 1
        self.pilot = _pilot_size(n, calls) if asking.orders == "auto" else 0
        self.first = min(n if self.pilot else 2 * n, n * (n - 1) // 2, calls // each)  # pairs
        self.batch = each * -(-n // each) if asking.batch is None else asking.batch
        if asking.rounds is not None:
            later = calls - each * self.first - 2 * self.pilot
            self.batch = each * max(1, -(-later // (each * max(asking.rounds - 1, 1))))
        if self.batch < 1 or self.batch % each:
            even = " and, with both orders, even" if asking.both_orders else ""
            raise ValueError(f"batch must be positive{even}, not {self.batch}")
        self.rules, self.about, self.progress = as_rules(until), about or About(), progress
        require_rules(self.rules, n)
        self.offline = asking.offline and self.judged is not None

    def run(self) -> Ranking:
        """The ranking. Whatever fails, no answer is lost."""
        try:
            while True:
                try:
                    return self._made()
                except _FilledMeanwhile:
                    continue
        except _TextsRefused as out:
            return self._without(out.positions).run()
        except (Exception, KeyboardInterrupt) as error:
            if self.judged is not None or self.made is None:
                raise
            if isinstance(error, KeyboardInterrupt):
                raise RankingInterruptedError(self.made) from error
            raise RankingFailedError(error, self.made) from error

    def _made(self) -> Ranking:
        """The ranking by its own questions, or after all that the store has."""
        try:
            self._start(self.calls, np.random.default_rng(self.seed))
            return self._follow(self._opening())
        except _FilledOtherwise:
            assert self.judged is not None
            stored, rng = self.judged.stored(), np.random.default_rng(self.seed)
            each = 2 if self.asking.both_orders else 1
            pairs, total = opening(len(self.names), stored, self.calls, self.first, each, rng)
            self._start(total, rng)
            return self._follow(pairs)

    def _meanwhile(self) -> None:
        """Begin again where another run, which was waited for, asked what this one would not.

        Its answers count for the budget: two runs at once together spend it once.
        """
        assert self.judged is not None
        made = set[tuple[int, int]]() if self.made is None else _as_set(self.made.pairs)
        if not _as_set(self.judged.stored()) <= made | {*self.refused} | self.wanted:
            raise _FilledMeanwhile

    def _without(self, positions: Sequence[int]) -> Rounds:
        """The same ranking of the other texts; the calls that were spent on these are gone."""
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
        return Rounds(
            names,
            self.judged.without(positions),
            max(self.calls - spent, len(names) - 1),
            asking=self.asking,
            fitting=self.fitting,
            until=[rule for rule in self.rules if rule.least <= len(names)],
            seed=self.seed,
            about=replace(
                self.about,
                left_out={**self.about.left_out, **out},
                refusals=self.about.refusals + spent,
            ),
            progress=self.progress,
        )

    def _opening(self) -> Indices:
        """The first round: the pilot, where there is one, and links between all items."""
        n = len(self.names)
        pairs = regular(n, self.first, seed=self.rng)
        pairs = in_orders_shown(pairs, both_orders=self.asking.both_orders, rng=self.rng)
        if not self.pilot:
            return pairs
        tried = orders.pilot(n, self.pilot, seed=self.rng)
        known = _as_set(tried)
        # Links first: a run that a limit ends early can be ranked all the same.
        return np.vstack([*([pair] for pair in pairs.tolist() if tuple(pair) not in known), tried])

    def _start(self, total: int, rng: np.random.Generator) -> None:
        """Begin, or begin again: nothing is answered, the store has what it has."""
        self.total, self.rng, self.history = total, rng, _History(self.rules)
        self.made: Comparisons | None = None
        self.fit: Fit | None = None
        self.stop: Stop | None = None
        self.ended: BaseException | None = None
        self.decision: Decision | None = None
        self.both = self.asking.both_orders
        self.notes: tuple[Any, ...] = ()
        self.refused: list[tuple[int, int]] = []
        self.left, self.wanted = set[tuple[int, int]](), set[tuple[int, int]]()
        if self.judged is not None:
            self.judged.forget()
            self.judged.meanwhile = self._meanwhile
            self.left = _as_set(self.judged.stored())

    def _follow(self, pairs: Indices) -> Ranking:
        while True:
            if self.ask(pairs) or (self.made is not None and self.fit is None):
                links = self._links_again()
                if len(links):
                    pairs = links
                    continue
                self.refit()
            reason = self.reason()
            if reason is not None or self.progress is not None:  # else nobody reads the history
                now = self.snapshot(reason)
                if self.progress is not None:
                    self.progress(now)
                if reason is not None:
                    return now
            pairs = self.choose()
            if not len(pairs):
                why = "every comparison that the judge does not refuse was asked"
                return self.snapshot(Stop("budget", why))

    def ask(self, pairs: Indices) -> int:
        """Put comparisons to the judge, and note what ends asking; returns how many there were.

        Raises _FilledOtherwise where the store shows that it was not this run that filled it.
        """
        wanted = _as_set(pairs)
        if not (wanted <= self.left or self.left <= wanted):
            raise _FilledOtherwise
        self.wanted = wanted | self.left
        if self.offline and self.judged is not None:
            pairs = self.judged.only_stored(pairs)
        try:
            self._links_first(pairs)
            answers = self.judge(pairs)
        except (AskingEndedError, KeyboardInterrupt) as error:
            if self.judged is None:
                raise
            pairs = self.judged.only_stored(pairs)
            if self.made is None and not len(pairs):
                raise
            if isinstance(error, RoundWrittenError) and len(pairs) and self._links(pairs):
                error.drop()  # the rest was lost; what comes next may ask for it again
            else:
                self.ended, self.stop = error, Stop.of(error)
            answers = self.judge(pairs)
        self.left -= wanted
        if self.offline and not self.left and not wanted <= _as_set(pairs):
            self.stop = Stop("offline", "offline, nothing was asked")
        if self.left and self.asked + len(pairs) >= self.calls:
            raise _FilledOtherwise
        count = len(pairs)
        if self.judged is not None:
            out = np.isnan(answers)
            self.refused += map(tuple, pairs[out].tolist())
            pairs, answers = pairs[~out], np.asarray(answers)[~out]
        if len(pairs):
            self.made = _joined(self.made, pairs, answers, self.names)
        return count

    def _links_first(self, pairs: Indices) -> None:
        """Ask what links all texts before the rest; a round in a file is asked as a whole."""
        judged = self.judged
        if self.made is not None or judged is None or judged.judge.by_file:
            return
        if not self.offline:
            known = np.array(sorted(self.left), dtype=np.intp).reshape(-1, 2)
            parts = links_first(len(self.names), known, pairs)
            ask_first(parts, lambda part: judged.fetch(pairs[part]))

    @property
    def asked(self) -> int:
        """Comparisons that were put to the judge so far, refused ones too."""
        return len(self.made or ()) + len(self.refused)

    def _links_again(self) -> Indices:
        """Comparisons that join what refusals have left apart, as many as there are calls for.

        Raises _TextsRefused for texts of which nothing was answered after `HOPELESS` questions, and
        for those that no call is left to join.
        """
        n = len(self.names)
        none = np.empty((0, 2), dtype=np.intp)
        made = none if self.made is None else self.made.pairs
        if not self.refused or not len(linked(n, made)):
            return none
        refused = np.array(self.refused, dtype=np.intp)
        times = np.bincount(refused.ravel(), minlength=n)
        answered = np.bincount(made.ravel(), minlength=n)
        hopeless = (answered == 0) & (times >= min(HOPELESS, n - 1))
        if hopeless.any():
            raise _TextsRefused(np.flatnonzero(hopeless).tolist())
        if isinstance(self.ended, (RoundWrittenError, KeyboardInterrupt)):
            raise self.ended
        group = component_of(n, made)
        largest = group == np.bincount(group).argmax()
        room = max(self.total - self.asked, 0)
        if not room or self.offline or self.ended is not None:
            # The largest group stays, if it is refusals alone that keep the others out.
            out = ~largest if largest.sum() > 1 else times > 0
            if self.made is None or (times[out] > 0).all():
                raise _TextsRefused(np.flatnonzero(out).tolist())
            return none
        known = {frozenset(pair) for pair in self.refused}
        links = []
        for here in map(np.flatnonzero, (group == g for g in np.unique(group[~largest]))):
            # Whom nothing was refused with yet, the least compared first.
            other = np.flatnonzero(largest)
            order = np.lexsort((self.rng.random(len(other)), answered[other], times[other]))
            i = int(here[np.argmin(times[here])])
            j = next((int(j) for j in other[order] if frozenset((i, int(j))) not in known), None)
            if j is None:
                raise _TextsRefused(here.tolist())
            links.append((i, j) if self.rng.random() < 0.5 else (j, i))
        return np.array(links[:room], dtype=np.intp)

    def _links(self, pairs: Indices) -> bool:
        """Whether all items are linked, with these comparisons."""
        return self.made is not None or not len(linked(len(self.names), pairs))

    def refit(self) -> None:
        """Fit all answers so far, and note how the ranking is doing."""
        assert self.made is not None
        f = self.fitting
        try:
            self.fit, said = settled(
                self.made, expert=f.expert, bias=f.bias, prior=f.prior, covariance=f.covariance
            )
        except ComparisonError as error:
            if self.left:  # all that is stored may tell more
                raise _FilledOtherwise from None
            if isinstance(self.ended, SpendingLimitError):
                raise too_few(self.ended, len(self.made), len(self.names), "texts") from None
            if self.ended is not None:  # too few answers for a ranking
                raise self.ended from None
            if self.offline and not isinstance(error, SeparableError):
                raise JudgeError(
                    f"offline, and the store has too few answers to link all texts: {error}"
                ) from None
            raise
        if self.asking.orders == "auto" and self.decision is None:
            self._decide()
        n, notes = len(self.names), list[Any](said)
        chosen = not self.offline and self.asked < n * (n - 1)  # else it changed nothing
        if self.decision is not None and self.decision.reason != "unknown" and chosen:
            notes.append(orders_of(self.decision))
        if self.asking.both_orders:
            notes += _one_order_only(self.made)
        if self.asking.rule == "reordering" and chosen:
            notes.append(Narrow(self.asking.rule))
        self.notes = tuple(notes)
        self.history.add(self.fit, self.made)

    def _decide(self) -> None:
        """One order or both from here on, from the pairs that have been asked in both so far."""
        assert self.made is not None
        self.decision = orders.decide(self.made, calls=self.total)
        self.both = self.decision.orders == "both"

    def reason(self) -> Stop | None:
        """Why to stop now; None to go on."""
        if self.made is None:
            raise JudgeError("offline, and the store has no answers about these texts")
        spent = self.asked >= self.total
        if not self.left:
            if met := self.history.reason():
                return Stop("rule", met)
            if spent:
                more = ", and the store had more" if self.total > self.calls else ""
                return Stop("budget", f"the budget of {self.calls} comparisons is spent{more}")
        elif spent:
            raise _FilledOtherwise
        if self.stop is None:
            return None
        asked = f"{self.asked} of {self.total} comparisons"
        return replace(self.stop, text=f"{self.stop}; this ranking is partial: {asked}")

    def choose(self) -> Indices:
        """What to ask next: a batch by the rule, or as much as the budget leaves."""
        assert self.fit is not None
        assert self.made is not None
        count = min(self.batch, self.total - self.asked)
        back = np.empty((0, 2), dtype=np.intp)
        if self.both and not self.asking.both_orders:
            # A second order takes away more than a new pair would: those come first.
            made = self.made.pairs
            shown = count_shown(len(self.names), made)
            back = made[shown[made[:, 1], made[:, 0]] == 0][:count, ::-1]
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
        known = (
            _as_set(back) | {*self.refused} | (_as_set(self.made.pairs) if self.refused else set())
        )
        return np.vstack([back, *([pair] for pair in pairs.tolist() if tuple(pair) not in known)])

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
            refused_pairs=tuple(self.refused),
        )


def _pilot_size(n_items: int, calls: int) -> int:
    """Pairs to ask in both orders before deciding; none where the budget has no room for them."""
    pairs = n_items * (n_items - 1) // 2
    size = min(orders.pilot_size(calls), pairs)
    return size if size >= orders.FEWEST and calls >= 2 * size + 2 * n_items else 0


class _TextsRefused(Exception):
    """Nothing about these texts is answered; rank the others."""

    def __init__(self, positions: Sequence[int]) -> None:
        self.positions = positions


class _FilledOtherwise(Exception):
    """The store has answers that this run would not have asked for; begin with all of them."""


class _FilledMeanwhile(Exception):
    """Another run added to the store while this one waited for it."""


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


def _one_order_only(made: Comparisons) -> list[Any]:
    """A finding where both orders were wanted, and the store's answers left no calls for them."""
    pairs = _as_set(made.pairs)
    single = sum((j, i) not in pairs for i, j in pairs)
    return [OneOrder(single, len(pairs))] if single else []


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


class _History:
    """Notes after every round how the ranking was doing."""

    def __init__(self, rules: Sequence[StopRule]) -> None:
        self.rules, self.rows, self.scores = rules, list[dict[str, float]](), list[Floats]()

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
