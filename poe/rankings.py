"""A ranking, the result of asking: what was found, by which comparisons, with what errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from poe import metrics
from poe.comparisons import Comparisons
from poe.result import Fit

if TYPE_CHECKING:
    import pandas as pd

    from poe.judges import TextJudge

__all__ = ["Ranking"]


@dataclass(frozen=True, eq=False)
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

    @cached_property
    def comparisons(self) -> Comparisons:
        """What was asked and answered, without a prior's ties."""
        c, real = self.fit.comparisons, self.fit.real
        return c if real.all() else c.take(real)

    def to_frame(self) -> pd.DataFrame:
        """One row an item, best first; word-for-word copies share a row's numbers.

        Columns rank, id, score, score_low, score_high (central interval of `level`), rank_low,
        rank_high, p_top, comparisons, same_text_as, and gold where people gave scores.
        """
        return self._frame.copy()

    @cached_property
    def _frame(self) -> pd.DataFrame:
        import pandas as pd

        fit, level = self.fit, self.level
        interval, places = fit.interval(level), fit.rank_interval(level)
        order = np.argsort(-fit.scores, kind="stable")
        table = pd.DataFrame(
            {
                "rank": np.argsort(order) + 1,
                "id": pd.Series(fit.items, dtype=object),
                "score": fit.scores,
                "score_low": interval[:, 0],
                "score_high": interval[:, 1],
                "rank_low": places[:, 0],
                "rank_high": places[:, 1],
                "p_top": fit.prob_top(self.top),
                "comparisons": np.bincount(
                    self.comparisons.pairs.ravel(), minlength=len(fit.items)
                ),
                "same_text_as": "",
            }
        )
        copies = [
            table[table["id"] == original].assign(id=copy, same_text_as=original)
            for copy, original in self.copies.items()
        ]
        table = pd.concat([table, *copies]).sort_values(["rank", "same_text_as"], kind="stable")
        if self.gold:
            table["gold"] = table["id"].map(self.gold)
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
