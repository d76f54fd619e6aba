"""A leaderboard: which system answers better, over many prompts, at equal lengths.

The model of an answer about systems i (shown first) and j on one prompt is

    logit P(i is better) = theta_i - theta_j + gamma + beta x,

gamma the preference for what is shown first and x the standardised difference of the two texts'
lengths, (l_i - l_j) / (l_i + l_j) over its root mean square. A tie is half a win for each. Its
energy log(1 + e^d) - p d has the slope sigma(d) - p, so that at the optimum

    sum of x_k (p_k - sigma(d_k)) = 0,

which is to say that longer texts win as often as fitted: theta is what is left of the preference
for a system when both texts are equally long (d = theta_i - theta_j for x = 0), as in
alpaca_eval's length-controlled win rates and Chatbot Arena's style control. Without lengths
beta = 0. If length is how a system is better, control takes away what it deserves: hence both are
shown. Errors are clustered on the prompt (`poe.clusters`).
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy.special import expit

from judging.board.answers import read_answers
from judging.board.asking import Tournament
from judging.judges import Reader, Store
from judging.judges import open as open_judge
from judging.ranking import words
from judging.reading.forms import Columns, read
from judging.reading.tables import read_table
from poe.clusters import Clustered, clustered, standardised
from poe.comparisons import Comparisons
from poe.fitting import settled

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Leaderboard", "leaderboard", "of_columns"]


@dataclass(frozen=True, eq=False)
class Leaderboard:
    """Systems in their order, with errors clustered on the prompt.

    plain : the fit without lengths. equal : the fit at equal lengths, None without lengths.
    clusters : the column that errors are clustered on, "" where every answer stands alone.
    level : of all intervals. notes : what a reader should know.
    """

    plain: Clustered
    equal: Clustered | None
    clusters: str
    level: float = 0.95
    notes: tuple[str, ...] = ()

    @property
    def fit(self) -> Clustered:
        """What the ranking goes by: at equal lengths where there are lengths."""
        return self.equal or self.plain

    @property
    def comparisons(self) -> Comparisons:
        """The answers, without a prior's ties."""
        return self.plain.comparisons.take(self.plain.real)

    def to_frame(self) -> pd.DataFrame:
        """One row per system, best first.

        Columns rank, name, score, low, high, rank_low, rank_high (intervals of `level`), win_rate
        (fitted, mean over the other systems, at equal lengths and places), comparisons; and with
        lengths raw_rank, raw_score, raw_low, raw_high of the fit without them.
        """
        table = self.fit.to_frame(self.level)
        rates, seen = self.win_rates(fitted=True), self.comparisons.pairs.ravel()
        table["win_rate"] = table["name"].map(rates.mean(axis=1))
        counts = np.bincount(seen, minlength=len(self.fit.items))
        table["comparisons"] = table["name"].map(dict(zip(self.fit.items, counts, strict=True)))
        if self.equal is not None:
            raw = self.plain.to_frame(self.level).set_index("name")
            for name in ("rank", "score", "low", "high"):
                table[f"raw_{name}"] = table["name"].map(raw[name])
        return table

    def win_rates(self, *, fitted: bool = False) -> pd.DataFrame:
        """Share of comparisons that the row's system won against the column's, ties half.

        Both in the order of the ranking. As counted, in whatever order shown, NaN for pairs never
        compared; or fitted, sigma(theta_i - theta_j): at equal lengths, no place preferred.
        """
        import pandas as pd

        names, c, n = self.fit.ranking(), self.comparisons, len(self.fit.items)
        if fitted:
            rate = expit(np.subtract.outer(self.fit.scores, self.fit.scores))
        else:
            won, met = np.zeros((n, n)), np.zeros((n, n))
            for one, other, p in ((c.first, c.second, c.p), (c.second, c.first, 1.0 - c.p)):
                np.add.at(won, (one, other), c.weight * p)
                np.add.at(met, (one, other), c.weight)
            rate = np.divide(won, met, out=np.full((n, n), np.nan), where=met > 0)
        np.fill_diagonal(rate, np.nan)
        return pd.DataFrame(rate, self.fit.items, self.fit.items).loc[names, names]

    def compare(self, one: Any, other: Any) -> dict[str, float]:
        """Two systems: difference of scores, its error and interval, P(better), win rate.

        At equal lengths where there are lengths, and without a preference for a place.
        """
        found = self.fit
        gap = float(found.scores[found._position(one)] - found.scores[found._position(other)])
        error = found.difference_se(one, other)
        half = found.quantile(self.level) * error
        return {
            "difference": gap,
            "se": error,
            "low": gap - half,
            "high": gap + half,
            "p_better": found.prob_better(one, other),
            "win_rate": float(expit(gap)),
        }

    def __str__(self) -> str:
        """Table and what to know, for a terminal."""
        table = words.aligned(words.rows_of(self.to_frame(), self.level))
        return "\n".join([table, *self.sentences()])

    def sentences(self) -> list[str]:
        """What a reader should know, as sentences."""
        return words.in_words(self.fit, self.level, self.clusters, self.notes, "system")

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
    budget: int | str = "100x",
    both_orders: bool = False,
    length: bool = True,
    bias: Any = "fit",
    prior: float | None = None,
    level: float = 0.95,
    store: Store | None = None,
    seed: int = 0,
    undecided: Literal["stop", "tie"] = "stop",
    progress: bool | None = None,
    **columns: str | None,
) -> Leaderboard:
    """Rank systems from answers to many prompts, or from comparisons of them that exist.

    table : without a judge, comparisons in any form that `judging.reading.forms` reads (model_a,
        model_b, winner; with a prompt, errors are clustered on it; with lengths or texts, the
        ranking is at equal lengths too). With a judge, answers: a row has system, prompt and the
        answer's text. A data frame or a file.
    judge, attribute, store, undecided, progress : who compares two answers to a prompt, what wins,
        what keeps the answers, and whether to show a bar, as for `judging.rank`.
    budget : the most comparisons: a number, "100x" (100 a system) or "all"; see `Answers.calls`.
    both_orders : every pair is shown in both orders; otherwise in one, at random.
    length : whether to control for it. bias : of the position, see `poe.fit`. prior : wins added
        to every pair, see `poe.fitting.settled`. level : of all intervals.
    columns : names of columns that have other names: first, second, winner, p, cluster, weight;
        with a judge system, prompt, answer.
    """
    if judge is None:
        found = read(table if hasattr(table, "columns") else read_table(table), **columns)
    else:
        answers = read_answers(table, **columns)
        asked = Tournament(
            answers,
            open_judge(judge) if isinstance(judge, str) else judge,
            attribute,
            store=Store(":memory:") if store is None else store,
            both_orders=both_orders,
            undecided=undecided,
            progress=progress,
            seed=seed,
        )
        asked.run(answers.calls(budget, both_orders=both_orders))
        found = asked.columns()
    return of_columns(found, length=length, bias=bias, prior=prior, level=level)


def of_columns(
    found: Columns,
    *,
    length: bool = True,
    bias: Any = "fit",
    prior: float | None = None,
    level: float = 0.95,
) -> Leaderboard:
    """The leaderboard of comparisons that exist."""
    c = Comparisons(first=found.first, second=found.second, p=found.p, weight=found.weight)
    fitted, notes = settled(c, bias=bias if found.in_order else None, prior=prior)
    cluster = np.arange(len(c)) if found.cluster is None else found.cluster
    plain, equal = clustered(fitted, cluster), None
    if length and found.lengths is not None and (x := standardised(found.lengths)).any():
        equal = clustered(fitted, cluster, x)
    if found.cluster is None:
        notes.append("no column says which answers share a prompt, so each counts as independent")
    return Leaderboard(plain, equal, found.cluster_name, level, (*found.notes, *notes))
