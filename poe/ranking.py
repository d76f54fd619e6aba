"""Ranking with a judge in the loop: ask, fit, ask again, until enough is known.

`rank` is what `poe.rank` and the command `poe rank` run, with the same defaults.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from poe import datasets, metrics
from poe.adaptive import NextRule, next_comparisons
from poe.comparisons import Comparisons, Floats, Indices
from poe.debias import first_position_rate
from poe.designs import in_orders_shown, regular
from poe.errors import JudgeError, SeparableError, UnidentifiedBiasError, name_some
from poe.experts import Expert, Laplacian
from poe.fitting import fit
from poe.rankings import Ranking
from poe.result import COVARIANCE_ITEMS, Covariance, Fit
from poe.stopping import StopRule, Until, as_rules

if TYPE_CHECKING:
    import pandas as pd

    from poe.judges import Reader, Store, Text, TextJudge

__all__ = ["rank"]

Judge = Callable[[Indices], ArrayLike]
# What a rule is called where nobody knows its formula.
RULES: dict[str, NextRule] = {"adaptive": "laplace", "greedy": "determinant", "random": "random"}
FOLLOWED = 1000  # items up to which every round's uncertainty is worked out


def rank(
    items: Any,
    judge: Judge | Reader | TextJudge | str,
    *,
    attribute: str | None = None,
    budget: int | str = "10x",
    rule: str = "adaptive",
    both_orders: bool = False,
    until: Until | Iterable[Until] | None = None,
    batch: int | None = None,
    expert: str | Expert = "bradley-terry",
    bias: float | Literal["mean", "fit"] | None = "fit",
    prior: float = 0.0,
    covariance: Covariance = "paired",
    level: float = 0.95,
    top: int = 3,
    store: Store | None = None,
    seed: int | np.random.Generator = 0,
    progress: Callable[[Ranking], Any] | None = None,
    text_column: str | None = None,
    id_column: str | None = None,
    **known: Any,
) -> Ranking:
    """Rank items by asking a judge in rounds, until enough is known or the budget is spent.

    items, judge : texts (a table with the column text, and id, context and score if there are any,
        as a data frame or the path of a file, see `poe.datasets.read_texts`; a sequence of strings
        or of `Text`; or a mapping from id to text) and a judge that reads them, by its name
        ("demo", "hf:MODEL", "openai:MODEL@URL") or as an object; or N names, or the number N, and a
        function that is given (K, 2) positions (first shown, second shown) and returns K
        probabilities that the first is better, such as `SimulatedJudge(...).answer`.
    attribute : what wins, "more persuasive"; needed for texts. store : where a judge's answers are
        kept, a `poe.judges.Store`; in memory only by default.
    budget : the most calls: a number, "10x" (ten an item) or "all"; never more than there are
        comparisons. batch : calls a round (N).
    rule : which comparisons come next: "adaptive", those that tell most given the answers;
        "greedy", whatever the answers; "random"; see `poe.next_comparisons`.
    until : a stopping rule or several (`poe.top_known`, `poe.ranks_within`, `poe.se_below`, or any
        function of a fit); the first that is met stops.
    expert, bias, prior, covariance : of the fits, see `poe.fit`. The bias is fitted with the scores
        (Laplacian experts take it from the mean probability, and too few comparisons to tell it
        from the scores leave it at zero, with a note). Decisions (p of 0 and 1) need a prior.
    level : of all intervals. top : whose probability of being among the best is reported.
    text_column, id_column : of a table, where they have other names.
    progress : called after every round with the `Ranking` so far.
    known : further fields of the `Ranking` (copies, gold, name, notes).

    The first round links all items: every item in about four random pairs, or fewer where the
    budget is small. If the judge or a fit fails, the exception carries the answers so far as its
    attribute `comparisons`; those of a judge of texts are in the store, where nothing is asked
    twice.

    Stated probabilities assume one look at the data. Stopping at the first look that satisfies a
    rule makes them somewhat optimistic; a higher probability or larger batches make up for it.
    """
    context = None
    if isinstance(items, (str, Path)) or hasattr(items, "columns"):
        own = datasets.read_texts(items, text_column=text_column, id_column=id_column)
        context, gold = own.only().context, own.only().gold
        items = own.ids if callable(judge) else own.items
        known = {"gold": gold, "notes": own.notes, **known}
    names, ask, judged, known = _question(items, judge, attribute, context, store, known)
    n, notes = len(names), list(known.pop("notes", ()))
    if n < 2:
        raise ValueError(f"a ranking needs at least two items, not {n}")
    chosen: Any = RULES.get(rule, rule)
    if chosen not in RULES.values():
        raise ValueError(f"rule must be {', '.join(RULES)}, not {rule!r}")
    calls, note = number_of_calls(budget, n, both_orders=both_orders)
    notes += [note] if note else []
    # Where two or three texts are asked about completely, one order alone hides the bias.
    both_orders = both_orders or (judged is not None and n <= 3 and calls == n * (n - 1))
    each = 2 if both_orders else 1
    batch = each * -(-n // each) if batch is None else batch
    if batch < 1 or batch % each:
        even = " and, with both orders, even" if both_orders else ""
        raise ValueError(f"batch must be positive{even}, not {batch}")
    if bias == "fit" and (expert == "laplacian" or isinstance(expert, Laplacian)):
        bias = "mean"
    settings: dict[str, Any] = {
        "level": level,
        "top": max(min(top, n - 1), 1),
        "rule": rule,
        "both_orders": both_orders,
        "seed": seed,
        "judged": judged,
        **known,
    }
    rng, history = np.random.default_rng(seed), _History(as_rules(until))
    first = regular(n, min(2 * n, n * (n - 1) // 2, calls // each), seed=rng)
    pairs = in_orders_shown(first, both_orders=both_orders, rng=rng)
    made: Comparisons | None = None
    try:
        while True:
            made = _joined(made, pairs, ask(pairs), names)
            found = _fit(made, expert, bias, prior, covariance, notes)
            history.add(found, made)
            spent = f"the budget of {calls} comparisons is spent" if len(made) >= calls else ""
            reason = history.reason() or spent
            if reason or progress is not None:  # the history's table is work nobody else needs
                now = Ranking(found, history.table(), reason, notes=tuple(notes), **settings)
                if progress is not None:
                    progress(now)
                if reason:
                    return now
            pairs = next_comparisons(
                found,
                min(batch, calls - len(made)),
                rule=chosen,
                both_orders=both_orders,
                seed=rng,
            )
    except BaseException as error:
        if made is not None:  # so that no answer is lost
            error.comparisons = made  # type: ignore[attr-defined]
            error.add_note(f"{len(made)} answers are the attribute `comparisons` of this exception")
        raise


def number_of_calls(
    budget: int | str, n_items: int, *, both_orders: bool = False
) -> tuple[int, str]:
    """Calls that 500, "10x" (ten an item) or "all" stand for, at most all there are, and a note.

    Raises ValueError if the budget is not of this form, or too small to link all items.
    """
    most, calls = n_items * (n_items - 1), 2 if both_orders else 1
    least = calls * (n_items - 1)
    text = str(budget).strip().lower()
    form = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([x×]?)", text)
    if text == "all":
        return most, ""
    if not form or not (form[2] or float(form[1]).is_integer()):
        raise ValueError(
            f"a budget is a whole number of calls (500), of calls a text (10x) or all, not "
            f"{budget!r}"
        )
    number = float(form[1]) * (n_items if form[2] else 1)
    count = int(np.ceil(number / calls - 1e-9)) * calls
    if count < least:
        raise ValueError(
            f"a budget of {count} calls cannot link {n_items} texts: the fewest that do are {least}"
            f"{' (each pair in both orders)' if both_orders else ''}; 10x is a good start"
        )
    if count > most:
        return most, (
            f"the budget allows {count} calls, but {n_items} texts have only {most} comparisons, "
            "both orders counted: all of them were asked"
        )
    return count, ""


def distinct(texts: Sequence[Text]) -> tuple[list[Text], dict[str, str]]:
    """The texts without word-for-word copies, and whose copy each of the others is.

    Raises JudgeError for an empty text, an id that occurs twice, or fewer than two texts.
    """
    ids = [text.id for text in texts]
    twice = [i for i in dict.fromkeys(ids) if ids.count(i) > 1] if len(set(ids)) < len(ids) else []
    if twice:
        raise JudgeError(f"more than one text is called {name_some(twice)}; ids must be distinct")
    empty = [text.id for text in texts if not text.text.strip()]
    if empty:
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


def _question(
    items: Any,
    judge: Any,
    attribute: str | None,
    context: Text | None,
    store: Store | None,
    known: dict[str, Any],
) -> tuple[tuple[Hashable, ...], Judge, TextJudge | None, dict[str, Any]]:
    """The names that are ranked, the function that is asked, and the judge of texts behind it."""
    if callable(judge):
        names = tuple(range(items)) if isinstance(items, (int, np.integer)) else tuple(items)
        return names, judge, None, known
    from poe import judges

    if isinstance(judge, judges.TextJudge):
        return tuple(text.id for text in judge.texts), judge.answer, judge, known
    if attribute is None:
        raise TypeError(
            "rank(texts, judge) needs to know what wins: attribute='more persuasive'; a judge that "
            "takes positions must be a function, such as SimulatedJudge(...).answer"
        )
    reader = judges.open(judge) if isinstance(judge, str) else judge
    pairs = items.items() if isinstance(items, Mapping) else enumerate(items)
    texts = [t if isinstance(t, judges.Text) else judges.Text(str(name), t) for name, t in pairs]
    kept, copies = distinct(texts)
    judged = judges.TextJudge(
        reader,
        judges.prompts.for_attribute(attribute, context="Context" if context else None),
        kept,
        store=judges.Store(":memory:") if store is None else store,
        context=context,
    )
    return tuple(text.id for text in kept), judged.answer, judged, {"copies": copies, **known}


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


def _fit(
    answers: Comparisons,
    expert: str | Expert,
    bias: Any,
    prior: float,
    covariance: Any,
    notes: list[str],
) -> Fit:
    """The fit of a round; a bias that cannot be told from the scores is left out, with a note."""
    try:
        return fit(answers, expert, bias=bias, prior=prior, covariance=covariance)
    except UnidentifiedBiasError:
        note = "too few comparisons to tell a position bias from the scores: none was assumed"
        if note not in notes:
            notes.append(note)
        return fit(answers, expert, bias=None, prior=prior, covariance=covariance)
    except SeparableError as error:
        raise SeparableError(
            f"{error}; for example --prior 0.1 on the command line (nothing is asked again), "
            "prior=0.1 in Python"
        ) from None


class _History:
    """Notes after every round how the ranking was doing."""

    def __init__(self, rules: Sequence[StopRule]) -> None:
        self.rules, self.rows, self.scores = rules, list[dict[str, float]](), list[Floats]()

    def add(self, found: Fit, answers: Comparisons) -> None:
        small = len(found.items) <= FOLLOWED
        self.rows.append(
            {
                "asked": len(answers),
                "moved": float(np.abs(found.scores - self.scores[-1]).max())
                if self.scores
                else np.nan,
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
        last = self.scores[-1]
        table["agreement"] = [float(metrics.spearman(s, last)) for s in self.scores]
        return table


def typical_error(found: Fit) -> float:
    """Root mean square standard error of a score, in units of a difference."""
    try:
        return float(np.sqrt((found.standard_errors() ** 2).mean()))
    except ValueError:  # no residuals yet to take a variance from
        return float("nan")
