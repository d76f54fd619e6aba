"""Ranking with a judge in the loop: ask, fit, ask again, until enough is known.

`rank` is what `judging.rank` and the command `judging rank` run, with the same defaults. A run may
have several rankings, one per judge, attribute and context (`Job`, `rank_each`); budget and limits
are one number for all of them. `judging.practice.ranking.rounds` makes each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import groupby
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from judging.errors import JudgeError
from judging.practice.asking.ending import Stop
from judging.practice.asking.limits import as_rules, parse_budget, shares
from judging.practice.ranking.ranking import Ranking
from judging.practice.ranking.rounds import About, Judge, Rounds, calls_left
from judging.practice.ranking.settings import Asking, Fitting
from judging.practice.reading.tables import is_table
from judging.practice.reading.texts import OwnTexts, TextGroup, names_in, read_texts
from judging.quoting import quoted
from poe.choose.stopping import StopRule, Until
from poe.comparisons import Comparisons
from poe.errors import name_some
from poe.result import COVARIANCE_ITEMS

if TYPE_CHECKING:
    from judging.judges import Prompt, Reader, Store, Text, TextJudge
    from judging.practice.trust import People

    # A judge, and what stands in for it once asking ended (True), with what the store had of it.
    Readers = dict[bool, tuple[Reader, Callable[[Prompt], Any]]]

__all__ = ["Job", "distinct", "jobs", "rank", "rank_each", "run"]


def rank(
    items: Any,
    judge: Judge | Reader | TextJudge | str,
    *,
    attribute: str | None = None,
    thing: str = "text",
    wording: str | Path | None = None,
    budget: int | str = "10x",
    until: Until | Iterable[Until] | None = None,
    asking: Asking | None = None,
    fitting: Fitting | None = None,
    store: Store | str | Path | None = None,
    seed: int | np.random.Generator = 0,
    progress: Callable[[Ranking], Any] | bool | None = None,
) -> Ranking:
    """Rank items by asking a judge in rounds, until enough is known or the budget is spent.

    Parameters
    ----------
    items, judge
        Texts and a judge that reads them. Texts are a file or a data frame (pandas, polars, Arrow)
        with the column text, and if you have them id, context and score (`judging.read_texts` reads
        tables whose columns have other names); a list of dicts; a sequence of strings or of `Text`,
        a series, or a mapping from id to text. The judge is given by its name ("qwen", "smollm2",
        "gguf:FILE", "hf:MODEL", "openai:MODEL@URL" or "demo") or as an object. Or N names, or the
        number N, and a function that is given (K, 2) positions (first shown, second shown) and
        returns K probabilities that the first is better, such as `SimulatedJudge(...).answer`.
    attribute
        What wins, "more persuasive"; needed for texts.
    thing
        What the prompt calls the texts.
    wording
        A TOML file with the question in your own words (`judging.prompts.of_file`).
    budget
        The most calls: "10x" (ten calls per text), a number, or "all"; never more than there are.
        Those that the store has count, but texts that are new to it have their share
        (`judging.practice.ranking.rounds.calls_left`).
    until
        A stopping rule or several (`judging.top_known`, `poe.ranks_within`, `poe.se_below`, or any
        function of a fit); the first that is met stops.
    asking
        How comparisons are chosen and what may be spent, `judging.Asking(rule="random")`.
    fitting
        How answers become scores and intervals, `judging.Fitting(expert="gaussian")`.
    store
        Where a judge's answers are kept, a `judging.Store` or its file; in memory only by default.
        All comparisons of these texts that it has begin the ranking, whatever they were asked for,
        and only what is missing is asked.
    seed
        Of all random choices. They do not depend on the order of the texts.
    progress
        Called after every round with the `Ranking` so far; or whether to show a bar, by default on
        a terminal and in a notebook, for what takes longer than two seconds.

    Returns
    -------
    Ranking
        It is `partial` where a limit, Ctrl-C or a lost server stopped it (or, offline, the store
        has no more). Scores go by name (`to_frame()`): `fit.items` are texts in an order of its
        own, not that in which they were given. `rank_each` takes several judges, attributes and
        contexts.

    Notes
    -----
    The first round links all items: every item in about four random pairs, or fewer where the
    budget is small. If a function or the fit of its answers fails, RankingFailedError has the
    answers so far; those of a judge of texts are in the store, where nothing is asked twice.

    Stated probabilities assume one look at the data. Stopping at the first look that satisfies a
    rule makes them somewhat optimistic; a higher probability or larger batches make up for it.

    Examples
    --------
    >>> texts = {"a": "Short words win.", "b": "Sesquipedalian verbosity is defeated."}
    >>> judging.rank(texts, "demo", attribute="easier to read").fit.ranking()
    ['a', 'b']
    """
    from judging import judges

    asking, fitting = asking or Asking(), fitting or Fitting()
    if not (callable(judge) or isinstance(judge, judges.TextJudge)):
        if isinstance(judge, (list, tuple)):
            raise TypeError("judging.rank takes one judge; judging.rank_each takes several")
        wanted = _required(attribute)
        (ranking,) = rank_each(
            _of_one_context(items),
            [judge],
            [wanted],
            thing=thing,
            wording=wording,
            budget=budget,
            until=until,
            asking=asking,
            fitting=fitting,
            store=store,
            seed=seed,
            progress=progress,
        )
        return ranking
    if asking.costs or store is not None or (asking.offline and callable(judge)) or is_table(items):
        raise ValueError(
            "tables, a store, offline, limits and prices are for texts and the name of a judge; a "
            "function is called as often as the budget says, and a TextJudge has its own store"
        )
    if not callable(judge):
        items = [text.id for text in judge.texts]
    names = list(range(items) if isinstance(items, (int, np.integer)) else items)
    if len(names) > COVARIANCE_ITEMS:
        raise ValueError(
            f"intervals of {len(names)} items do not fit into memory, {COVARIANCE_ITEMS} are the "
            "most; take the scores alone from poe.fit"
        )
    (calls,), notes = shares(budget, [len(names)], both_orders=asking.both_orders)
    Comparisons.from_pairs([(0, 1)], [0.5], items=names)  # refuses names before any is asked about
    return Rounds(
        names,
        judge,
        calls,
        asking=asking,
        fitting=fitting,
        until=until,
        seed=seed,
        about=About(attribute=attribute or "", notes=notes),
        progress=progress if callable(progress) else None,
    ).run()


def rank_each(
    items: Any,
    judges: Sequence[Reader | str],
    attributes: Sequence[str],
    *,
    thing: str = "text",
    wording: str | Path | None = None,
    budget: int | str = "10x",
    until: Until | Iterable[Until] | None = None,
    asking: Asking | None = None,
    fitting: Fitting | None = None,
    store: Store | str | Path | None = None,
    seed: int | np.random.Generator = 0,
    progress: Callable[[Ranking], Any] | bool | None = None,
) -> list[Ranking]:
    """Several rankings in one run: one per judge, attribute and context of the texts.

    Arguments as in `rank`. A budget that is a number, and the limits of `asking`, are for the whole
    run; the rankings share the budget in proportion to their texts.

    Returns
    -------
    list of Ranking
        In the order of judges, then attributes, then contexts.

    Examples
    --------
    >>> texts = {"a": "Short.", "b": "Interminable."}
    >>> [r.attribute for r in judging.rank_each(texts, ["demo"], ["plainer", "kinder"])]
    ['plainer', 'kinder']
    """
    from judging.store import opened

    for name, given in (("judges", judges), ("attributes", attributes)):
        if isinstance(given, str):
            raise TypeError(f"{name} is a list, such as [{given!r}]; judging.rank takes one")
    asking = asking or Asking()
    todo = jobs(
        items,
        judges,
        attributes,
        budget=budget,
        both_orders=asking.both_orders,
        thing=thing,
        wording=wording,
    )
    with opened(store, several=len(judges) > 1) as kept:
        rankings, _ = run(
            todo,
            kept,
            until=until,
            asking=asking,
            fitting=fitting or Fitting(),
            seed=seed,
            progress=progress,
        )
    return rankings


def _required(attribute: str | None) -> str:
    if attribute is None:
        raise TypeError(
            "rank(texts, judge) needs to know what wins: attribute='more persuasive'; a judge that "
            "takes positions must be a function, such as SimulatedJudge(...).answer"
        )
    if not isinstance(attribute, str):
        raise TypeError("judging.rank takes one attribute; judging.rank_each takes several")
    return attribute


def _of_one_context(items: Any) -> Any:
    """Texts as they are, those of a table read; ValueError where they answer to several contexts.

    Each context is a ranking of its own, and `rank` returns one.
    """
    own = read_texts(items) if is_table(items) else items
    if isinstance(own, OwnTexts) and (count := len(own.groups())) > 1:
        raise ValueError(
            f"the texts answer to {count} contexts, and each is a ranking of its own: "
            "judging.rank_each ranks them all, judging.rank the rows of one"
        )
    return own


# Several rankings in one run ------------------------------------------------------------------


@dataclass(frozen=True)
class Job:
    """One ranking to make: a judge (opened or by its name), what wins, the texts, the budget.

    texts : without word-for-word copies, in an order that does not depend on that of the rows.
    """

    judge: Reader | str
    attribute: str
    prompt: Prompt
    group: TextGroup
    texts: list[Text]
    copies: dict[str, str]
    calls: int
    notes: tuple[str, ...]

    @property
    def name(self) -> str:
        """The id of its context, "" where there is none."""
        return "" if self.group.context is None else self.group.context.id

    @property
    def about(self) -> About:
        """What the ranking says of itself."""
        return About(
            attribute=self.attribute,
            name=self.name,
            copies=self.copies,
            gold=self.group.gold,
            notes=self.notes,
        )

    def judged(self, judge: Reader, store: Store, **options: Any) -> TextJudge:
        """Its texts before a judge."""
        from judging.judges import TextJudge

        context = self.group.context
        return TextJudge(judge, self.prompt, self.texts, store=store, context=context, **options)


def jobs(
    items: Any,
    judges: Sequence[Reader | str],
    attributes: Sequence[str],
    *,
    budget: int | str,
    both_orders: bool,
    thing: str = "text",
    wording: str | Path | None = None,
) -> list[Job]:
    """The rankings of a run, and the share of the budget that each has; nothing is opened."""
    from judging import prompts
    from judging.practice import injection

    parse_budget(budget, "text")  # what is wrong with it is no fault of the file
    groups, notes, source = _groups(items)
    where = f"{source}: " if source else ""
    parts = []
    for group in groups:
        try:
            parts.append((group, *distinct(group.items)))
        except JudgeError as error:
            place = "" if group.context is None else f"{group.context.id}: "
            raise JudgeError(f"{where}{place}{error}") from None
    times = len(judges) * len(attributes)
    try:
        calls, note = shares(budget, [len(t) for _, t, _ in parts] * times, both_orders=both_orders)
    except ValueError as error:
        raise ValueError(f"{where}{error}") from None
    share = iter(calls)
    return [
        Job(
            judge=judge,
            attribute=attribute,
            prompt=prompt,
            group=group,
            texts=sorted(texts, key=lambda text: text.digest),
            copies=copies,
            calls=next(share),
            notes=(*notes, *note, *_merged(group, copies), *injection.notes(prompt, texts)),
        )
        for judge in judges
        for attribute in attributes
        for group, texts, copies in parts
        for prompt in [
            prompts.for_attribute(
                attribute,
                thing=thing,
                context=None if group.context is None else "Context",
                wording=wording,
            )
        ]
    ]


def run(
    todo: Sequence[Job],
    store: Store,
    *,
    until: Until | Iterable[Until] | None = None,
    asking: Asking,
    fitting: Fitting,
    seed: int | np.random.Generator = 0,
    open: Callable[[str], Reader] | None = None,
    progress: Callable[[Ranking], Any] | bool | None = None,
) -> tuple[list[Ranking], Stop | None]:
    """Make the rankings, one after the other, and what cut them short; arguments as in `rank`.

    open : makes a judge from its name, `judging.judges.open` by default.
    When a limit, Ctrl-C or a lost server has stopped one ranking nothing is asked for the others:
    they are made of what the store has of them, or left out, with a note.
    """
    from judging import judges
    from judging.judges.asking import stored_judge
    from judging.judges.spending import AskingEndedError, RoundWrittenError, Spending
    from judging.practice.meter import Meter

    rules = as_rules(until)
    for job in todo:
        _require(job, rules, asking, fitting)
    spending = Spending(calls=asking.limit_calls, tokens=asking.limit_tokens)
    meter = Meter(sum(job.calls for job in todo), shown=progress, price=asking.price)
    rankings: list[Ranking] = []
    left_out: list[Job] = []
    stop: Stop | None = None
    waits: RoundWrittenError | None = None

    lent: list[tuple[Any, Spending]] = []
    left: dict[int, int] = {}  # calls that a ranking may still take, at its beginning

    def opened(judge: Any) -> Any:
        reader: Any = (open or judges.open)(judge) if isinstance(judge, str) else judge
        if not spending.limited or reader.spending is spending:
            return reader
        if reader.spending is None:
            raise JudgeError("a limit needs a judge that keeps it, in its attribute `spending`")
        if reader.spending.limited:
            raise JudgeError(
                "the judge has a limit of its own (limit_calls, limit_tokens), and so has this "
                "run; set limits in one of the two places"
            )
        lent.append((reader, reader.spending))
        reader.spending = spending
        return reader

    def made(job: Job, same: Sequence[Job], readers: Readers, *, offline: bool) -> Ranking:
        if offline not in readers:
            reader = stored_judge(store, job.judge) if offline else opened(job.judge)
            if asking.retry_refused and not offline:
                store.forget_refused(reader)
            readers[offline] = reader, cache(partial(store.answered, reader))
            for one in [] if offline else same:
                there = one.judged(reader, store, answered=readers[offline][1](one.prompt)).stored()
                left[id(one)] = calls_left(len(one.texts), there, one.calls)
                meter.skip_stored(one.calls - left[id(one)])
        reader, answered = readers[offline]
        meter.judge = reader
        judged = job.judged(
            reader,
            store,
            unanswered=asking.unanswered,
            progress=meter,
            answered=answered(job.prompt),
        )
        return Rounds(
            [text.id for text in job.texts],
            judged,
            job.calls,
            asking=replace(asking, offline=offline),
            fitting=fitting,
            until=rules,
            seed=seed,
            about=job.about,
            progress=progress if callable(progress) else None,
        ).run()

    try:
        for _, of_one_judge in groupby(todo, key=lambda job: id(job.judge)):
            readers: Readers = {}
            for job in (same := list(of_one_judge)):
                # A round in a file is one of all rankings, so the others go on.
                offline = asking.offline or not (stop is None or stop.kind == "batch")
                try:
                    one = made(job, same, readers, offline=offline)
                except (AskingEndedError, KeyboardInterrupt) as error:
                    if isinstance(error, RoundWrittenError):
                        waits = error
                    elif not rankings:
                        raise
                    stop = Stop.of(error)
                    left_out.append(job)
                except JudgeError:
                    if stop is None or stop.kind == "batch":
                        raise
                    left_out.append(job)
                else:
                    if one.partial and not asking.offline:
                        stop = stop or one.stop
                    rankings.append(one)
                    meter.passed(left.get(id(job), 0))
    finally:
        meter.bar.close()
        for reader, own in lent:  # the limit is this run's, and the judge somebody else's
            reader.spending = own
    if waits is not None and not rankings:
        raise waits
    notes = meter.notes()
    if left_out:
        missing = [", ".join(filter(None, (job.attribute, job.name))) for job in left_out]
        notes.append(f"stopped before {name_some(missing)} could be ranked: {stop}")
    return [replace(one, notes=(*one.notes, *notes)) for one in rankings], stop


def _require(job: Job, rules: Sequence[StopRule], asking: Asking, fitting: Fitting) -> None:
    """Refuse what one of the rankings could not keep, before anything is paid for the others."""
    names, nobody = [text.id for text in job.texts], cast(Any, SimpleNamespace(answer=None))
    try:
        Rounds(names, nobody, job.calls, asking=asking, fitting=fitting, until=rules)
    except ValueError as error:
        raise ValueError(f"{job.name}: {error}" if job.name else str(error)) from None


def with_people(rankings: Sequence[Ranking], labels: People, source: str) -> list[Ranking]:
    """Rankings beside what people said; JudgeError where they said nothing of these texts."""
    if not any(len(labels.of({str(name) for name in one.fit.items})) for one in rankings):
        known = name_some([str(name) for name in rankings[0].fit.items], 4)
        said = name_some([*labels.scores, *(one for one, *_ in labels.choices)], 4)
        raise JudgeError(f"{source} names none of the texts: it has {said}, the texts are {known}")
    ranked = {str(name) for one in rankings for name in one.fit.items}
    ranked |= {str(name) for one in rankings for name in one.copies}
    named = dict.fromkeys(
        [*labels.scores, *(name for a, b, _ in labels.choices for name in (a, b))]
    )
    notes = labels.notes
    if stray := [name for name in named if name not in ranked]:
        notes += (
            f"{source}: {len(stray):,} of {len(named):,} texts that people labelled "
            f"{'is' if len(stray) == 1 else 'are'} not ranked here: {name_some(stray, 4)}",
        )
    return [replace(one.with_people(labels), notes=(*one.notes, *notes)) for one in rankings]


# Texts ----------------------------------------------------------------------------------------


def _groups(items: Any) -> tuple[Sequence[TextGroup], tuple[str, ...], str]:
    """The texts of each context, what was guessed about a table, and its file."""
    from judging.judges import Text

    if isinstance(items, OwnTexts) or is_table(items):
        own = items if isinstance(items, OwnTexts) else read_texts(items)
        return own.groups(), own.notes, own.source
    if not isinstance(items, Iterable):
        raise TypeError(
            f"{quoted(repr(items), 40)} is no texts: give a path, a data frame, a list of "
            "texts or a mapping from ids to texts"
        )
    if isinstance(items, Mapping):
        pairs: Iterable[tuple[Any, Any]] = items.items()
    elif (names := names_in(items)) is not None:
        pairs = zip(names, items, strict=True)  # a series whose index names them
    else:
        pairs = enumerate(items)
    texts = [text if isinstance(text, Text) else Text(str(name), text) for name, text in pairs]
    return [TextGroup(None, tuple(texts), np.full(len(texts), np.nan))], (), ""


def _merged(group: TextGroup, copies: Mapping[str, str]) -> list[str]:
    """Which texts are the same, and that a budget counts them once."""
    if not copies:
        return []
    named = [f"{copy} as {original}" for copy, original in list(copies.items())[:3]]
    more = f" and {len(copies) - 3:,} more" if len(copies) > 3 else ""
    where = "" if group.context is None else f"{group.context.id}: "
    different = len(group.items) - len(copies)
    return [
        f"{where}{len(copies):,} of {len(group.items):,} texts "
        f"{'is' if len(copies) == 1 else 'are'} word for word another, and ranked with it (the "
        f"same text: {', '.join(named)}{more}); the budget counts {different:,} different texts"
    ]


def distinct(texts: Sequence[Text]) -> tuple[list[Text], dict[str, str]]:
    """The texts without word-for-word copies, and whose copy each of the others is.

    Raises JudgeError for an empty text, an id that occurs twice, or fewer than two texts.
    """
    if twice := [i for i, times in Counter(text.id for text in texts).items() if times > 1]:
        raise JudgeError(f"more than one text is called {name_some(twice)}; ids must be distinct")
    if empty := [text.id for text in texts if not text.text.strip()]:
        raise JudgeError(f"there is nothing to judge in {name_some(empty)}: the text is empty")
    first: dict[str, Text] = {}
    copies = {}
    for text in texts:
        original = first.setdefault(text.digest, text)
        if original is not text:
            copies[text.id] = original.id
    kept = list(first.values())
    if len(kept) > COVARIANCE_ITEMS:
        raise JudgeError(
            f"intervals of {len(kept)} texts do not fit into memory, {COVARIANCE_ITEMS} are the "
            "most; rank parts of them, or take the scores alone from poe.fit"
        )
    if len(kept) < 2:
        raise JudgeError(
            f"a ranking needs at least two different texts; {len(texts)} "
            f"{'was' if len(texts) == 1 else 'were'} given, {len(kept)} different"
        )
    return kept, copies
