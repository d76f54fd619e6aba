"""A leaderboard: which system answers better, over many prompts.

The model of an answer about systems i (shown first) and j on one prompt is

    logit P(i is better) = theta_i - theta_j + gamma,

gamma the preference for what is shown first; a tie is half a win for each. This plain fit is the
ranking. Length control (`judging.practice.board.length`) is an option that stands beside it and
never replaces it: if length is how a system is better, control takes away what it deserves. Where
the errors come from is one rule for this and for `judging fit` (`judging.practice.board.errors`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import combinations, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit

from judging.fitting import settled
from judging.judges import Reader, Store
from judging.judges import open as open_judge
from judging.practice import findings as f
from judging.practice.board import length as lengths
from judging.practice.board.answers import read_answers
from judging.practice.board.clusters import Clustered
from judging.practice.board.errors import error_findings, kind_of, require_prompts, with_errors
from judging.practice.board.length import controlled
from judging.practice.board.tournament import Tournament
from judging.practice.ranking import words
from judging.practice.ranking.equal import on_top
from judging.practice.ranking.findings import Found, of_a_fit
from judging.practice.ranking.settings import Asking, Errors, Fitting
from judging.practice.reading.forms import Columns, read
from judging.practice.reading.tables import is_table, read_table, read_tables
from judging.store import opened
from poe.comparisons import Comparisons
from poe.errors import name_some
from poe.result import Fit, position_of

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Leaderboard", "leaderboard", "of_columns", "require_system"]


SHOWN = 6  # systems or pairs that a sentence names


@dataclass(frozen=True, eq=False)
class Leaderboard:
    """Systems in their order, with errors.

    Attributes
    ----------
    plain
        The fit that the ranking goes by.
    found
        The comparisons, as they were read.
    equal
        The fit at equal lengths, None where length was not controlled for.
    errors
        Which answers err together, by `fitting` and the columns: never "auto".
    fitting
        How it was asked to be fitted.
    reference
        The system that the others are also held against, if one was named.
    notes
        What a reader should know.
    left
        How many more comparisons there can be of these answers; infinite where nobody knows.
    stopped
        Why a judge was asked no more, None where none was.

    Examples
    --------
    >>> votes = [{"model_a": "x", "model_b": "y", "winner": who} for who in ("model_a", "tie")]
    >>> judging.leaderboard(votes).win_rates().loc["x", "y"]
    np.float64(0.75)
    """

    plain: Fit
    found: Columns
    equal: Clustered | None = None
    errors: Errors = "vote"
    fitting: Fitting = field(default_factory=Fitting)
    reference: Any = None
    notes: tuple[Any, ...] = ()
    left: float = np.inf
    stopped: Any = None

    @property
    def fit(self) -> Fit:
        """What the ranking goes by: the fit without lengths."""
        return self.plain

    @property
    def level(self) -> float:
        """Confidence level of all intervals."""
        return self.fitting.level

    @property
    def judged(self) -> bool:
        """Whether a judge is known to have made the comparisons; a table may be of anybody's."""
        return self.stopped is not None

    @property
    def clusters(self) -> str:
        """The column that errors are clustered on, "" where there is none."""
        return self.found.cluster_name if self.errors == "prompt" else ""

    @property
    def comparisons(self) -> Comparisons:
        """The answers, without a prior's ties."""
        return self.plain.comparisons.take(self.plain.real)

    def to_frame(self) -> pd.DataFrame:
        """One row per system, best first.

        Columns rank, name, score, error, low, high, rank_low, rank_high (intervals of `level`),
        win_rate (fitted, mean over the other systems, no place preferred), comparisons. With a
        reference reference_rate and reference_se, the share of comparisons with it that were won;
        with length control lc_rank, lc_score, lc_low and lc_high.
        """
        table = self.plain.to_frame(self.level)
        error = dict(zip(self.plain.items, self.plain.standard_errors(), strict=True))
        table.insert(3, "error", table["name"].map(error))
        rates, seen = self.win_rates(fitted=True), self.comparisons.pairs.ravel()
        table["win_rate"] = table["name"].map(rates.mean(axis=1))
        counts = np.bincount(seen, minlength=len(self.plain.items))
        table["comparisons"] = table["name"].map(dict(zip(self.plain.items, counts, strict=True)))
        if self.reference is not None:
            against = self.against()
            for ours, theirs in (("reference_rate", "win_rate"), ("reference_se", "se")):
                table[ours] = table["name"].map(against[theirs])
        if self.equal is not None:
            equal = self.equal.to_frame(self.level).set_index("name")
            for name in ("rank", "score", "low", "high"):
                table[f"lc_{name}"] = table["name"].map(equal[name])
        return table

    def against(self, reference: Any = None) -> pd.DataFrame:
        """Every system against one, by default `reference`; the index is the system.

        Columns win_rate (mean of its wins, ties half), se and comparisons. All are counted from the
        comparisons with the reference alone, as alpaca_eval's win rates are, and not fitted.
        """
        import pandas as pd

        chosen = self.reference if reference is None else reference
        if chosen not in self.plain.items:
            raise ValueError(
                f"there is no system {chosen!r} to hold the others against; there are "
                f"{name_some(self.plain.items, 12)}"
            )
        rows = lengths.against(self.found, chosen, self.errors)
        return pd.DataFrame(rows, columns=list(lengths.Against._fields)).set_index("name")

    def win_rates(self, *, fitted: bool = False) -> pd.DataFrame:
        """Share of comparisons that the row's system won against the column's, ties half.

        Both in the order of the ranking. As counted, in whatever order shown, NaN for pairs never
        compared; or fitted, sigma(theta_i - theta_j), no place preferred.
        """
        import pandas as pd

        names, c, n = self.plain.ranking(), self.comparisons, len(self.plain.items)
        if fitted:
            rate = expit(np.subtract.outer(self.plain.scores, self.plain.scores))
        else:
            won, met = np.zeros((n, n)), np.zeros((n, n))
            for one, other, p in ((c.first, c.second, c.p), (c.second, c.first, 1.0 - c.p)):
                np.add.at(won, (one, other), c.weight * p)
                np.add.at(met, (one, other), c.weight)
            rate = np.divide(won, met, out=np.full((n, n), np.nan), where=met > 0)
        np.fill_diagonal(rate, np.nan)
        return pd.DataFrame(rate, self.plain.items, self.plain.items).loc[names, names]

    def compare(self, one: Any, other: Any, *, equal_length: bool = False) -> dict[str, float]:
        """Two systems: difference of scores, its error and interval, P(better), win rate.

        Without a preference for a place. equal_length : at equal lengths, with length control.
        """
        if equal_length and self.equal is None:
            raise ValueError("length was not controlled for; leaderboard(..., length=True) does")
        fit = self.equal if equal_length and self.equal is not None else self.plain
        i, j = (position_of(name, fit.items) for name in (one, other))
        gap = float(fit.scores[i] - fit.scores[j])
        error = fit.difference_se(one, other)
        half = fit.quantile(self.level) * error
        return {
            "difference": gap,
            "se": error,
            "low": gap - half,
            "high": gap + half,
            "p_better": fit.prob_better(one, other),
            "win_rate": float(expit(gap)),
        }

    def differences(self) -> pd.DataFrame:
        """Every two systems, in the order of the ranking: name, other, and `compare` of them."""
        import pandas as pd

        pairs = combinations(self.plain.ranking(), 2)
        return pd.DataFrame([{"name": a, "other": b, **self.compare(a, b)} for a, b in pairs])

    def __str__(self) -> str:
        """Table and what to know, for a terminal."""
        table = words.aligned(words.rows_of(self.to_frame(), self.level, fit=self.plain))
        return "\n".join([table, *self.sentences()])

    def findings(self) -> Found:
        """Find the verdict, what stands beside it, and notes."""
        found = of_a_fit(
            self.plain,
            self.level,
            error_findings(self.plain, self.found, self.errors),
            in_order=self.found.in_order,
            left=self.left,
            judged=self.judged,
        )
        more = [] if self.stopped is None else [self.stopped]
        more = [*more, *self._not_apart(), *self._on_length(), *found.more]
        return Found(found.verdict, more, list(self.notes))

    def sentences(self) -> list[str]:
        """Say what a reader should know."""
        return self.findings().sentences("system", "comparison")

    def _not_apart(self) -> list[Any]:
        """Which neighbours in the ranking are not told apart."""
        close = [
            f.Neighbours(words.short(one), words.short(other))
            for one, other in pairwise(self.plain.ranking())
            if self.plain.prob_better(one, other) < self.level
        ]
        shown, more = tuple(close[:SHOWN]), max(len(close) - SHOWN, 0)
        return [f.NotApart(100 * self.level, shown, more)] if close else []

    def _on_length(self) -> list[Any]:
        """What length control did, and what to be wary of in it."""
        if self.equal is None or self.equal.covariate is None:
            return []
        size, se = self.equal.covariate
        half = self.equal.quantile(self.level) * se
        case = "some" if size else "none"
        found: list[Any] = [f.LengthEffect(case, lengths.METHOD, size, size - half, size + half)]
        first, there = (tuple(sorted(map(str, on_top(f)))) for f in (self.plain, self.equal))
        if first != there:
            found.append(f.LengthWinner(first, there))
        if few := lengths.few_near(self.found, self.plain.items):
            near = tuple(f.Near(str(name), count) for name, count in few.items())
            found.append(f.FewNear(near[:SHOWN], max(len(near) - SHOWN, 0)))
        return found

    def _repr_html_(self) -> str:
        table = (
            self.to_frame()
            .drop(columns=["comparisons"])
            .to_html(index=False, float_format="{:.2f}".format, max_rows=30, border=0)
        )
        return table + "".join(f"<p>{escape(one)}</p>" for one in self.sentences())


def leaderboard(
    table: Any,
    judge: Reader | str | None = None,
    *,
    attribute: str = "better",
    wording: str | Path | None = None,
    budget: int | str = "100x",
    asking: Asking | None = None,
    fitting: Fitting | None = None,
    length: bool = False,
    reference: Any = None,
    store: Store | str | Path | None = None,
    seed: int = 0,
    progress: bool | None = None,
    **columns: Any,
) -> Leaderboard:
    """Rank systems from answers to many prompts, or from comparisons of them that exist.

    Parameters
    ----------
    table
        Without a judge, comparisons in any form that `judging.practice.reading.forms` reads
        (model_a, model_b, winner; with a prompt, errors are clustered on it; with lengths or texts,
        length can be controlled for). With a judge, answers: a row has system, prompt and the
        answer's text. A data frame or a file, or several files as a list.
    judge, attribute, wording, asking, fitting, store, progress
        Who compares two answers to a prompt, what wins, how the judge is asked, how the answers are
        fitted (by Bradley-Terry), what keeps them, and whether to show a bar, as for
        `judging.rank`.
    budget
        The most comparisons: a number, "100x" (100 a system) or "all"; see `Answers.calls`.
    length
        Whether to control for it, beside the ranking (`judging.practice.board.length`).
    reference
        A system whose win rate against each other is told too.
    columns
        Names of columns that have other names: first, second, winner, p, cluster, weight; with a
        judge system, prompt, answer.

    Examples
    --------
    >>> votes = [{"model_a": "x", "model_b": "y", "winner": who} for who in ("model_a", "tie")]
    >>> judging.leaderboard(votes).to_frame()["name"].tolist()
    ['x', 'y']
    """
    left, stopped = np.inf, None
    if judge is None:
        if isinstance(table, (list, tuple)) and not is_table(table):
            table = read_tables(table)
        comparisons = read(table if hasattr(table, "iloc") else read_table(table), **columns)
    else:
        answers = read_answers(table, **columns)
        require_prompts((fitting or Fitting()).errors, len(answers.prompts))
        require_system(reference, answers.systems)
        with opened(store) as kept:
            asked = Tournament(
                answers,
                open_judge(judge) if isinstance(judge, str) else judge,
                attribute,
                store=kept,
                asking=asking,
                progress=progress,
                seed=seed,
                wording=wording,
            )
            asked.run(answers.calls(budget, both_orders=asked.asking.orders != "one"))
            comparisons, left, stopped = asked.columns(), asked.more, asked.stopped
    return of_columns(
        comparisons,
        fitting=fitting,
        length=length,
        reference=reference,
        left=left,
        stopped=stopped,
    )


def require_system(reference: Any, systems: Sequence[Any]) -> None:
    """Refuse a reference that is no system, before anything is asked."""
    if reference is not None and reference not in systems:
        raise ValueError(
            f"there is no system {reference!r} to hold the others against; there are "
            f"{name_some(systems, 12)}"
        )


def of_columns(
    columns: Columns,
    *,
    fitting: Fitting | None = None,
    length: bool = False,
    reference: Any = None,
    left: float = np.inf,
    stopped: Any = None,
) -> Leaderboard:
    """The leaderboard of comparisons that exist."""
    fitting = fitting or Fitting()
    if fitting.expert != "bradley-terry":
        raise ValueError("a leaderboard is fitted by Bradley-Terry; for other experts poe.fit")
    columns = columns.by_names()
    c = Comparisons(first=columns.first, second=columns.second, p=columns.p, weight=columns.weight)
    require_system(reference, c.items)
    kind = kind_of(columns, fitting.errors)
    bias = fitting.bias if columns.in_order else None
    fitted, notes = settled(c, bias=bias, prior=fitting.prior)
    equal = controlled(fitted, columns, kind) if length else None
    if length and equal is None:
        notes.append("no lengths or texts are in the table, so length was not controlled for")
    return Leaderboard(
        plain=with_errors(fitted, columns, kind),
        found=columns,
        equal=equal,
        errors=kind,
        fitting=fitting,
        reference=reference,
        notes=(*columns.notes, *notes),
        left=left,
        stopped=stopped,
    )
