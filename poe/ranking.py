"""Ranking with a judge in the loop: ask, fit, ask again, until enough is known.

`rank` is what `poe.rank` and the command `poe rank` run, with the same defaults. A run may have
several rankings, one for every judge, attribute and context (`Job`); budget and limits are one
number for all of them. `poe.rounds` makes each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from poe.errors import JudgeError, name_some
from poe.experts import Expert
from poe.planning import parse_budget
from poe.rankings import Ranking
from poe.result import COVARIANCE_ITEMS, Covariance
from poe.rounds import CTRL_C, Judge, in_rounds
from poe.stopping import Until

if TYPE_CHECKING:
    from poe.datasets import TextGroup
    from poe.judges import Prompt, Reader, Store, Text, TextJudge

__all__ = ["Job", "distinct", "jobs", "rank", "run", "shares"]


def rank(
    items: Any,
    judge: Judge | Reader | TextJudge | str | Sequence[Reader | str],
    *,
    attribute: str | Sequence[str] | None = None,
    thing: str = "text",
    context_name: str = "Context",
    budget: int | str = "10x",
    rule: str = "adaptive",
    both_orders: bool = False,
    until: Until | Iterable[Until] | None = None,
    batch: int | None = None,
    expert: str | Expert = "bradley-terry",
    bias: float | Literal["mean", "fit"] | None = "fit",
    prior: float | None = None,
    covariance: Covariance = "paired",
    level: float = 0.95,
    top: int = 3,
    store: Store | str | Path | None = None,
    offline: bool = False,
    undecided: Literal["stop", "tie"] = "stop",
    limit_calls: int | None = None,
    limit_tokens: int | None = None,
    price: tuple[float, float] | None = None,
    seed: int | np.random.Generator = 0,
    progress: Callable[[Ranking], Any] | bool | None = None,
    **columns: str | None,
) -> Any:
    """Rank items by asking a judge in rounds, until enough is known or the budget is spent.

    items, judge : texts (a data frame or a file with the column text, and if you have them id,
        context and score, see `poe.datasets.read_texts`; or a sequence of strings or of `Text`, or
        a mapping from id to text) and a judge that reads them, by its name ("demo",
        "hf:MODEL", "openai:MODEL@URL") or as an object; or N names, or the number N, and a
        function that is given (K, 2) positions (first shown, second shown) and returns K
        probabilities that the first is better, such as `SimulatedJudge(...).answer`.
    attribute : what wins, "more persuasive"; needed for texts. thing, context_name : what the
        prompt calls the texts, and the heading of what they answer to.
    budget : the most comparisons in the whole run: "10x" (ten a text), a number, which several
        rankings share in proportion to their texts, or "all"; never more than there are. Those
        that the store has count, but texts that are new to it have their share (`rounds.opening`).
    batch : calls a round (N).
    rule : which comparisons come next: "adaptive", those that tell most given the answers;
        "greedy", whatever the answers; "random"; see `poe.next_comparisons`.
    until : a stopping rule or several (`poe.top_known`, `poe.ranks_within`, `poe.se_below`, or any
        function of a fit); the first that is met stops.
    expert, bias, prior, covariance : of the fits, see `poe.fit`. The bias is fitted with the scores
        (Laplacian experts take it from the mean probability, and too few comparisons to tell it
        from the scores leave it at zero, with a note). Where decisions (p of 0 and 1) leave no
        doubt about a score and no prior is given, every item gets one win and one loss, spread
        over the others, with a note; prior=0 refuses such answers instead.
    level : of all intervals. top : whose probability of being among the best is reported.
    store : where a judge's answers are kept, a `poe.judges.Store` or its file; in memory only
        by default. All comparisons of these texts that it has begin the ranking, whatever
        they were asked for, and only what is missing is asked.
    offline : never open the judge, and rank by what the store has.
    undecided : an answer with neither label stops the run, or counts as a tie.
    limit_calls, limit_tokens : of new calls in the whole run, never exceeded.
    price : for a million tokens read, and written; what was asked is then priced in a note.
    seed : of all random choices. They do not depend on the order of the texts.
    progress : called after every round with the `Ranking` so far; or whether to show a bar, by
        default on a terminal and in a notebook, for what takes longer than two seconds.
    columns : text_column, id_column, context_column and score_column name those of a table that
        are called something else, encoding that of its file.

    Returns a `Ranking`; a list of them where there are several judges, attributes or contexts.
    Where a limit, Ctrl-C or a lost server stops it (or, offline, the store has no more) it is
    `partial`.

    The first round links all items: every item in about four random pairs, or fewer where the
    budget is small. If the judge or a fit fails, the exception carries the answers so far as its
    attribute `comparisons`; those of a judge of texts are in the store, where nothing is asked
    twice.

    Stated probabilities assume one look at the data. Stopping at the first look that satisfies a
    rule makes them somewhat optimistic; a higher probability or larger batches make up for it.
    """
    from poe import judges

    how: dict[str, Any] = {
        "rule": rule,
        "both_orders": both_orders,
        "until": until,
        "batch": batch,
        "expert": expert,
        "bias": bias,
        "prior": prior,
        "covariance": covariance,
        "level": level,
        "top": top,
        "seed": seed,
        "offline": offline,
    }
    if callable(judge) or isinstance(judge, judges.TextJudge):
        if (
            (limit_calls, limit_tokens, price, store) != (None,) * 4
            or (offline and callable(judge))
            or _is_table(items)
        ):
            raise ValueError(
                "tables, a store, offline, limits and prices are for texts and the name of a "
                "judge; a function is called as often as the budget says, and a TextJudge has its "
                "store"
            )
        if not callable(judge):
            items = [text.id for text in judge.texts]
        names = list(range(items) if isinstance(items, (int, np.integer)) else items)
        (calls,), notes = shares(budget, [len(names)], both_orders=both_orders)
        each = progress if callable(progress) else None
        return in_rounds(names, judge, calls, progress=each, notes=notes, **how)
    if attribute is None:
        raise TypeError(
            "rank(texts, judge) needs to know what wins: attribute='more persuasive'; a judge that "
            "takes positions must be a function, such as SimulatedJudge(...).answer"
        )
    several: Any = judge if isinstance(judge, (list, tuple)) else [judge]
    todo = jobs(
        items,
        several,
        [attribute] if isinstance(attribute, str) else attribute,
        budget=budget,
        both_orders=both_orders,
        thing=thing,
        context_name=context_name,
        **columns,
    )
    with ExitStack() as closing:
        if not isinstance(store, judges.Store):
            kept = judges.Store(":memory:" if store is None else store, several=len(several) > 1)
            store = closing.enter_context(kept)
        found, _ = run(
            todo,
            store,
            undecided=undecided,
            limit_calls=limit_calls,
            limit_tokens=limit_tokens,
            price=price,
            progress=progress,
            **how,
        )
    return found[0] if len(todo) == 1 else found


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
        """Of its context."""
        return "" if self.group.context is None else self.group.context.id

    def judged(self, judge: Reader, store: Store, **options: Any) -> TextJudge:
        """Its texts before a judge."""
        from poe.judges import TextJudge

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
    context_name: str = "Context",
    **columns: str | None,
) -> list[Job]:
    """The rankings of a run, and the share of the budget that each has; nothing is opened."""
    from poe.judges import prompts

    groups, notes = _groups(items, columns)
    where = f"{items}: " if isinstance(items, (str, Path)) else ""
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
            prompt=prompts.for_attribute(
                attribute, thing=thing, context=None if group.context is None else context_name
            ),
            group=group,
            texts=sorted(texts, key=lambda text: text.digest),
            copies=copies,
            calls=next(share),
            notes=(*notes, *note),
        )
        for judge in judges
        for attribute in attributes
        for group, texts, copies in parts
    ]


def run(
    todo: Sequence[Job],
    store: Store,
    *,
    open: Callable[[str], Reader] | None = None,
    offline: bool = False,
    undecided: Literal["stop", "tie"] = "stop",
    limit_calls: int | None = None,
    limit_tokens: int | None = None,
    price: tuple[float, float] | None = None,
    progress: Callable[[Ranking], Any] | bool | None = None,
    **how: Any,
) -> tuple[list[Ranking], str]:
    """Make the rankings, one after the other, and what stopped them; arguments as in `rank`.

    how : for `in_rounds`. open : makes a judge from its name, `poe.judges.open` by default. When a
    limit, Ctrl-C or a lost server has stopped one ranking nothing is asked for the others: they are
    made of what the store has of them, or left out, with a note.
    """
    from poe import judges
    from poe.judges.accounts import AskingEndedError, Meter, Spending
    from poe.judges.asking import stored_judge

    spending = Spending(calls=limit_calls, tokens=limit_tokens)
    limited = limit_calls is not None or limit_tokens is not None
    meter = Meter(sum(job.calls for job in todo), shown=progress, price=price)
    found: list[Ranking] = []
    left_out: list[Job] = []
    stop = ""

    def opened(judge: Any) -> Any:
        reader: Any = (open or judges.open)(judge) if isinstance(judge, str) else judge
        if limited and not hasattr(reader, "spending"):
            raise JudgeError("a limit needs a judge that keeps it, in its attribute `spending`")
        if limited:
            reader.spending = spending
        return reader

    for _, of_one_judge in groupby(todo, key=lambda job: id(job.judge)):
        # The judge, and what stands in for it once asking ended; what the store had of it then.
        readers: dict[bool, tuple[Reader, Callable[[Prompt], Any]]] = {}
        for job in of_one_judge:
            ask = not (offline or stop)
            try:
                if ask not in readers:
                    reader = opened(job.judge) if ask else stored_judge(store, job.judge)
                    readers[ask] = reader, cache(partial(store.answered, reader))
                meter.judge, answered = readers[ask]
                judged = job.judged(
                    meter.judge,
                    store,
                    undecided=undecided,
                    progress=meter,
                    answered=answered(job.prompt),
                )
                one = in_rounds(
                    [text.id for text in job.texts],
                    judged,
                    job.calls,
                    offline=not ask,
                    progress=progress if callable(progress) else None,
                    name=job.name,
                    attribute=job.attribute,
                    copies=job.copies,
                    gold=job.group.gold,
                    notes=job.notes,
                    **how,
                )
            except (AskingEndedError, KeyboardInterrupt) as error:
                if not found:
                    raise
                stop = str(error) or CTRL_C
                left_out.append(job)
            except JudgeError:
                if not stop:
                    raise
                left_out.append(job)
            else:
                if one.partial and not offline:
                    stop = stop or one.stopped_because
                found.append(one)
                meter.passed(job.calls)
    meter.bar.close()
    notes = meter.notes()
    if left_out:
        missing = [", ".join(filter(None, (job.attribute, job.name))) for job in left_out]
        notes.append(f"stopped before {name_some(missing)} could be ranked: {stop}")
    return [replace(one, notes=(*one.notes, *notes)) for one in found], stop


def shares(
    budget: int | str, sizes: Sequence[int], *, both_orders: bool = False
) -> tuple[list[int], tuple[str, ...]]:
    """Comparisons for each of several rankings of so many texts, and a note if all were asked for.

    500 is shared in proportion to the texts, exact in sum; "10x" are ten a text; "all" is all there
    are. Each has as many as link its texts, and no more than there are. With both orders pairs
    are shared, so that an odd budget leaves one call.

    Raises ValueError if the budget is not of this form, or too small to link all texts.
    """
    n, each = np.asarray(sizes, dtype=np.int64), 2 if both_orders else 1
    least, most = n - 1, n * (n - 1) // each  # in units of `each` calls
    number, a_text = parse_budget(budget, "text")
    if (n < 2).any():
        raise ValueError(f"a ranking needs at least two items, not {n.min()}")
    if number == np.inf:
        return (each * most).tolist(), ()
    if a_text:
        wanted = np.floor(number * n / each + 1e-9).astype(np.int64)
        units = int(wanted.sum())
    else:
        units = int(number) // each
        wanted = _in_proportion(min(units, int(most.sum())), n, least, most)
    if (wanted < least).any() or units < least.sum():
        texts = f"{n.sum()} texts" + (f" in {len(n)} rankings" if len(n) > 1 else "")
        raise ValueError(
            f"a budget of {budget} calls cannot link {texts}: the fewest that do are "
            f"{each * least.sum()}{' (each pair in both orders)' if both_orders else ''}; 10x is a "
            "good start"
        )
    note = (
        f"the budget allows {each * units} calls, but {n.sum()} texts have only "
        f"{each * most.sum()} comparisons, both orders counted: all of them were asked"
    )
    every = units > most.sum()
    return (each * np.minimum(wanted, most)).tolist(), (note,) if every else ()


def _in_proportion(
    total: int, size: NDArray[np.int64], least: NDArray[np.int64], most: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Whole numbers between `least` and `most` in proportion to `size` that sum to `total`."""
    low, high = 0.0, float(total) + 1.0
    for _ in range(100):
        middle = 0.5 * (low + high)
        if np.clip(np.floor(middle * size), least, most).sum() <= total:
            low = middle
        else:
            high = middle
    share = np.clip(np.floor(low * size), least, most).astype(np.int64)
    # What is left goes one each to those that are nearest to their next.
    nearest = np.argsort(np.floor(low * size) - low * size, kind="stable")
    more = [k for k in nearest if least[k] <= np.floor(low * size[k]) and share[k] < most[k]]
    share[more[: max(total - int(share.sum()), 0)]] += 1
    return share


# Texts ----------------------------------------------------------------------------------------


def _is_table(items: Any) -> bool:
    return isinstance(items, (str, Path)) or hasattr(items, "columns")


def _groups(
    items: Any, columns: Mapping[str, str | None]
) -> tuple[Sequence[TextGroup], tuple[str, ...]]:
    """The texts of each context, and what was guessed about a table."""
    from poe.datasets import TextGroup, read_texts
    from poe.judges import Text

    if _is_table(items):
        own = read_texts(items, **columns)
        return own.groups(), own.notes
    pairs = items.items() if isinstance(items, Mapping) else enumerate(items)
    texts = [text if isinstance(text, Text) else Text(str(name), text) for name, text in pairs]
    return [TextGroup(None, tuple(texts), np.full(len(texts), np.nan))], ()


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
