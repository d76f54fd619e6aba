"""A ranking, the result of asking: what was found, by which comparisons, with what errors.

And two rankings of the same texts side by side. Another judge, another prompt, more answers, a
month later: which differences are more than noise?
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from poe import metrics
from poe._paths import write
from poe.comparisons import Comparisons, Floats, Mask
from poe.result import Fit
from poe.tables import as_name, as_number, find_column, read_table

if TYPE_CHECKING:
    from poe.judges import TextJudge

__all__ = ["Changes", "Ranking", "apart", "changes", "read_ranking"]

EDGES = (8, 3)  # rows at the top and the bottom that a notebook shows
NAMED = 5  # texts that a sentence about changes names


@dataclass(frozen=True, eq=False, repr=False)
class Ranking:
    """What `poe.rank` found, with all that was asked and said.

    fit : the last fit. history : one row a round: `asked` (comparisons answered so far), `moved`
        (largest change of a score since the round before), `bias`, `rate` (first-position rate),
        `error` (root mean square standard error of a score), `agreement` (Spearman's correlation
        with the final scores), and a column for what each stopping rule measures.
    stopped_because : the rule that was met, with its value, or the budget.
    level : of all intervals. top : whose probability of being among the best is reported.
    judged : the judge of texts with its answers, None for a plain function. copies : for each text
        that is word for word another, the id of the one ranked in its place. gold : scores by
        people, by id. notes : what a reader should know, in words. name : of the context.
    attribute : what was asked for. partial : whether a limit or Ctrl-C stopped it, or offline the
        store had no more, so that it rests on fewer answers than were wanted.
    """

    fit: Fit
    history: pd.DataFrame = field(repr=False)
    stopped_because: str
    level: float = 0.95
    top: int = 3
    rule: str = "adaptive"
    both_orders: bool = False
    seed: int | np.random.Generator = 0
    judged: TextJudge | None = field(default=None, repr=False)
    copies: Mapping[str, str] = field(default_factory=dict, repr=False)
    gold: Mapping[str, float] = field(default_factory=dict, repr=False)
    notes: tuple[str, ...] = ()
    name: str = ""
    attribute: str = ""
    partial: bool = False

    def __repr__(self) -> str:
        best = [f"{row.id} {row.score:+.2f}" for row in self._frame.head(3).itertuples()]
        more = ["..."] if len(self._frame) > 3 else []
        return (
            f"Ranking({'partial, ' if self.partial else ''}{len(self._frame)} texts: "
            f"{', '.join(best + more)}; {len(self.comparisons)} comparisons)"
        )

    def _repr_html_(self) -> str:
        """The top and the bottom as a small table, for a notebook."""
        table, (top, bottom) = self._frame, EDGES
        shown = table[["rank", "id", "score", "score_low", "score_high"]].round(2)
        shown[f"ranks, {self.level:.0%}"] = [
            f"{low} to {high}" for low, high in table[["rank_low", "rank_high"]].to_numpy()
        ]
        shown = shown.astype(object)
        if len(shown) > top + bottom + 1:
            gap = pd.DataFrame([["…"] * shown.shape[1]], columns=shown.columns)
            shown = pd.concat([shown[:top], gap, shown[-bottom:]])
        about = f"{len(table)} texts, {len(self.comparisons)} comparisons"
        about += " (a partial ranking)" if self.partial else ""
        return f"{shown.to_html(index=False, border=0)}<p>{escape(about)}.</p>"

    def plot(self, ax: Any = None) -> Any:
        """Draw the ranking with its intervals, best on top; returns Matplotlib's axes.

        Every text has its name up to 60 of them, then the first and the last.
        """
        from poe import plots

        return plots.ranking(self._frame, ax=ax, level=self.level)

    def report(self, path: str | Path, *, before: Ranking | pd.DataFrame | None = None) -> Path:
        """Write the report, one HTML file that loads nothing; returns its path.

        before : an earlier ranking of these texts, which the report sets beside this one.
        """
        from poe.report import report

        write(Path(path), report([self], before=before))
        return Path(path)

    def compare(self, other: Ranking | pd.DataFrame) -> Changes:
        """What moved beyond its errors since an earlier ranking (or its `to_frame()`).

        See `changes`.
        """
        table = other.to_frame() if isinstance(other, Ranking) else other
        return changes(self._frame, table, level=self.level)

    @cached_property
    def comparisons(self) -> Comparisons:
        """What was asked and answered, without a prior's ties."""
        c, real = self.fit.comparisons, self.fit.real
        return c if real.all() else c.take(real)

    def to_frame(self) -> pd.DataFrame:
        """One row an item, best first; word-for-word copies share a row's numbers.

        Columns rank, id, score, score_error (standard error), score_low, score_high (central
        interval of `level`), rank_low, rank_high, p_top, comparisons, same_text_as, gold where
        people gave scores, and partial (True) where the ranking is.
        """
        return self._frame.copy()

    @cached_property
    def _frame(self) -> pd.DataFrame:
        fit = self.fit
        order = np.argsort(-fit.scores, kind="stable")
        asked = np.bincount(self.comparisons.pairs.ravel(), minlength=len(order))
        table = fit.to_frame(self.level).rename(
            columns={"item": "id", "low": "score_low", "high": "score_high"}
        )
        table.insert(3, "score_error", fit.standard_errors()[order])
        table = table.assign(
            p_top=fit.prob_top(self.top)[order], comparisons=asked[order], same_text_as=""
        )
        copies = [
            table[table["id"] == original].assign(id=copy, same_text_as=original)
            for copy, original in self.copies.items()
        ]
        table = pd.concat([table, *copies]).sort_values(["rank", "same_text_as"], kind="stable")
        if self.gold:
            table["gold"] = table["id"].map(self.gold)
        if self.partial:
            table["partial"] = True
        return table.reset_index(drop=True)

    def answers(self) -> pd.DataFrame:
        """One row a comparison in the order asked: first, second, p; for texts also what it took.

        Columns mass (probability on the label words), tokens and seconds where a judge read texts.
        """
        table = self.comparisons.to_table()[["first", "second", "p"]]
        if self.judged is None:
            return table
        said = self.judged.answers
        return table.assign(
            mass=[answer.mass for answer in said],
            tokens=[answer.tokens for answer in said],
            seconds=[answer.seconds for answer in said],
        )

    def agreement(self) -> tuple[float, float, int] | None:
        """Spearman's and Pearson's correlation with the people's scores, and how many there are."""
        given = self._frame[self._frame["gold"].notna()] if self.gold else self._frame[:0]
        if len(given) < 3:
            return None
        ours, theirs = given["score"].to_numpy(), given["gold"].to_numpy(dtype=float)
        return (
            float(metrics.spearman(ours, theirs)),
            float(metrics.pearson(ours, theirs)),
            len(ours),
        )


def apart(one: Ranking, found: Sequence[Ranking]) -> dict[str, str]:
    """What tells a ranking from the others of its run: its attribute, judge and context."""

    def told(ranking: Ranking) -> dict[str, str]:
        given = {} if ranking.judged is None else ranking.judged.judge.specification
        judge = given.get("model", given.get("kind", ""))
        return {"attribute": ranking.attribute, "judge": judge, "context": ranking.name}

    every = [told(ranking) for ranking in found]
    return {what: name for what, name in told(one).items() if len({e[what] for e in every}) > 1}


# Two rankings of the same texts -----------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class Changes:
    """What `Ranking.compare` found.

    table : one row a text that both have, what moved most surely first: id, rank, rank_before
        (among these texts), shift (standard deviations of the texts' scores, positive is up),
        error (of the shift), p_value (of a shift of zero), moved (whether it is more than chance).
    spearman, low, high : the correlation, with its interval of `level` over texts like these.
    added, gone : texts of one ranking alone.
    """

    table: pd.DataFrame = field(repr=False)
    spearman: float
    low: float
    high: float
    level: float
    added: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()

    def sentences(self) -> list[str]:
        """What a reader should know, one sentence each."""
        n, moved = len(self.table), self.table[self.table["moved"]]
        named = ", ".join(
            f"{row.id} ({row.rank}, was {row.rank_before})"
            for row in moved.head(NAMED).itertuples(index=False)
        )
        more = f" and {len(moved) - NAMED} more" if len(moved) > NAMED else ""
        said = [
            f"{len(moved)} of {n} texts moved by more than the errors of both rankings explain: "
            f"{named}{more}."
            if len(moved)
            else f"None of {n} texts moved by more than the errors of both rankings explain.",
            f"Spearman's correlation is {self.spearman:.2f} ({self.low:.2f} to {self.high:.2f}).",
        ]
        if self.added or self.gone:
            said.append(f"{len(self.added)} texts are new, {len(self.gone)} are gone.")
        return said

    def __repr__(self) -> str:
        return f"Changes: {' '.join(self.sentences())}"

    def _repr_html_(self) -> str:
        shown = self.table.head(2 * NAMED).round({"shift": 2, "error": 2, "p_value": 4})
        return f"<p>{escape(' '.join(self.sentences()))}</p>{shown.to_html(index=False)}"


def changes(now: pd.DataFrame, before: pd.DataFrame, *, level: float = 0.95) -> Changes:
    """Compare two rankings, as `Ranking.to_frame` gives them, in the texts that both have.

    The unit of a score depends on how decided a judge is, so each ranking's scores are divided by
    their own standard deviation, without the part of it that is error. A shift counts as moved
    where its p-value passes Benjamini and Hochberg's procedure at 1 - level: of the texts said to
    have moved, about that share did not. The errors are taken as independent; rankings that share
    answers differ by less, so fewer texts are named than could be.

    The correlation's interval is Bonett and Wright's (2000), atanh(r) -+ z sqrt((1 + r^2/2)/(n-3)).
    """
    from scipy.stats import false_discovery_control, norm

    one, other = (table.set_index("id")[["score", "score_error"]] for table in (now, before))
    both = one.index.intersection(other.index, sort=False)
    if len(both) < 4:
        raise ValueError(f"the two rankings have {len(both)} texts in common; 4 are needed")
    # Unit and zero come from the texts that stayed: the few that moved do not move the rest.
    stayed = np.ones(len(both), dtype=bool)
    for robust in (True, False, False, False):
        (x, x_error), (y, y_error) = (
            _standardised(table.loc[both], stayed, robust=robust) for table in (one, other)
        )
        shift, error = x - y, np.hypot(x_error, y_error)
        shift -= np.median(shift[stayed]) if robust else shift[stayed].mean()
        near = np.abs(shift) <= 3.0 * error
        stayed = near if near.sum() > len(both) / 2 else stayed
    with np.errstate(divide="ignore", invalid="ignore"):
        p = np.nan_to_num(2.0 * norm.sf(np.abs(shift) / error), nan=1.0)
    table = pd.DataFrame(
        {
            "id": both,
            "rank": _ranks(x),
            "rank_before": _ranks(y),
            "shift": shift,
            "error": error,
            "p_value": p,
            "moved": false_discovery_control(p) <= 1.0 - level,
        }
    ).sort_values("p_value", kind="stable", ignore_index=True)
    r, n = float(metrics.spearman(x, y)), len(both)
    half = norm.ppf(0.5 + level / 2.0) * np.sqrt((1.0 + r * r / 2.0) / (n - 3.0))
    middle = np.arctanh(np.clip(r, -1.0 + 1e-12, 1.0 - 1e-12))
    low, high = np.tanh([middle - half, middle + half]).tolist()
    known = set(both)
    added, gone = (tuple(i for i in t.index if i not in known) for t in (one, other))
    return Changes(table, r, low, high, level, added, gone)


def _standardised(table: pd.DataFrame, some: Mask, *, robust: bool) -> tuple[Floats, Floats]:
    """Scores and errors in units of the spread of some scores, without the part that is error."""
    score, error = table.to_numpy(dtype=float).T
    score = score - np.median(score)
    spread = score[some].var(ddof=1)
    if robust:
        spread = (1.4826 * np.median(np.abs(score))) ** 2 or spread
    # Where a ranking is mostly error, its spread cannot be told; then all of it is taken.
    true = spread - (error[some] ** 2).mean()
    unit = np.sqrt(true if true > 0.25 * spread else spread)
    return (score / unit, error / unit) if unit > 0 else (score, error)


def _ranks(score: Floats) -> np.ndarray:
    return np.asarray(np.argsort(np.argsort(-score, kind="stable"))) + 1


def read_ranking(path: str | Path) -> pd.DataFrame:
    """A ranking that `poe rank --out` or `Ranking.to_frame` wrote, from its file."""
    table = read_table(path)
    columns = {name: find_column(table, name) for name in ("id", "score", "score_error")}
    missing = [name for name, column in columns.items() if column is None]
    if missing:
        raise ValueError(
            f"{path} is no ranking to compare with: it has no column {' and no '.join(missing)}; "
            "poe rank --out writes one"
        )
    found = table[list(columns.values())].set_axis(list(columns), axis=1)
    found["id"] = found["id"].map(as_name)
    for name in ("score", "score_error"):
        found[name] = [as_number(cell, name) for cell in found[name]]
    return found
