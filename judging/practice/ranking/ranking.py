"""A ranking, the result of asking: the scores, by which comparisons, with what errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from judging import metrics
from judging.practice.asking.ending import Stop
from judging.practice.ranking.settings import Asking, Fitting
from judging.practice.trust.people import People, read_people
from judging.practice.trust.trust import Trust, trust
from judging.quoting import quoted
from poe.arrays import Floats
from poe.choose.orders import Decision
from poe.comparisons import Comparisons
from poe.ranks import shared_ranks
from poe.result import Fit

if TYPE_CHECKING:
    from judging.judges import TextJudge

__all__ = ["Ranking", "apart", "first_words", "judge_name", "judged_of", "names_of_judges"]

EDGES = (8, 3)  # rows at the top and the bottom that a notebook shows


@dataclass(frozen=True, eq=False, repr=False)
class Ranking:
    """What `judging.rank` returns, with all that was asked and said.

    Attributes
    ----------
    fit
        The last fit.
    history
        One row per round: `asked` (comparisons answered so far), `moved` (largest change of a score
        since the round before), `bias`, `rate` (first-position rate), `error` (root mean square
        standard error of a score), `agreement` (Spearman's correlation with the final scores), and
        a column for what each stopping rule measures.
    stop
        Why asking ended (`stopped_because` in words), None in the middle of a run.
    asking, fitting, seed
        What it was asked to be.
    decision
        Whether the second order of a pair was worth its call, where that was to be found out.
    judged
        The judge of texts with its answers, None for a plain function.
    copies
        For each text that is word for word another, the id of the one ranked in its place.
    gold
        Scores by people, by id.
    choices
        Theirs between two texts, as in `judging.practice.trust.People`.
    notes
        What a reader should know: findings (`judging.practice.sentences` says them), and sentences
        about what was read.
    name
        Of the context.
    attribute
        What was asked for.
    rest
        Calls of the budget that were not made.
    refused
        Comparisons that the judge would not answer, which are left out.
    refused_pairs
        Those of them that are about the texts ranked, as positions of the first and the second.
    left_out
        Texts of which nothing was answered, by id, and why.

    Examples
    --------
    >>> ranking = judging.rank({"a": "Short.", "b": "Interminable."}, "demo", attribute="plainer")
    >>> ranking.stopped_because
    'the budget of 2 comparisons is spent'
    """

    fit: Fit
    history: pd.DataFrame = field(repr=False)
    stop: Stop | None = None
    asking: Asking = field(default_factory=Asking)
    fitting: Fitting = field(default_factory=Fitting)
    seed: int | np.random.Generator = 0
    judged: TextJudge | None = field(default=None, repr=False)
    decision: Decision | None = field(default=None, repr=False)
    copies: Mapping[str, str] = field(default_factory=dict, repr=False)
    gold: Mapping[str, float] = field(default_factory=dict, repr=False)
    choices: tuple[tuple[str, str, float], ...] = field(default=(), repr=False)
    notes: tuple[Any, ...] = ()
    name: str = ""
    attribute: str = ""
    rest: int = 0
    refused: int = 0
    left_out: Mapping[str, str] = field(default_factory=dict, repr=False)
    refused_pairs: tuple[tuple[int, int], ...] = field(default=(), repr=False)

    @property
    def stopped_because(self) -> str:
        """The rule that was met, with its value, or the budget, or what cut it short."""
        return "" if self.stop is None else self.stop.text

    @property
    def both_orders(self) -> bool:
        """Whether pairs are asked in both orders, as was said or as the answers told."""
        orders = self.decision.orders if self.decision is not None else self.asking.orders
        return orders == "both"

    @property
    def partial(self) -> bool:
        """Whether it rests on fewer answers than were wanted.

        A limit, Ctrl-C or a lost judge stopped it, or offline the store had no more.
        """
        return self.stop is not None and self.stop.partial

    @property
    def level(self) -> float:
        """Confidence level of all intervals."""
        return self.fitting.level

    @property
    def top(self) -> int:
        """How many are the best whose probability is reported, fewer than there are texts."""
        return self.fitting.top_of(len(self.fit.items))

    def __repr__(self) -> str:
        # By the scores alone, which every ranking has, with errors or without.
        score = dict(zip(self.fit.items, self.fit.scores, strict=True))
        best = [f"{name} {score[name]:+.2f}" for name in self.fit.ranking()[:3]]
        count = len(score) + len(self.copies)
        more = ["..."] if count > 3 else []
        return (
            f"Ranking({'partial, ' if self.partial else ''}{count} texts: "
            f"{', '.join(best + more)}; {len(self.comparisons)} comparisons)"
        )

    def _repr_html_(self) -> str:
        """The top and the bottom as a small table, for a notebook; `repr` where errors fail."""
        try:
            table, (top, bottom) = self._frame, EDGES
        except ValueError as error:
            return f"<p>{escape(repr(self))}: {escape(str(error))}.</p>"
        shown = table[["rank", "name", "score", "low", "high"]].round(2)
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

    def with_people(self, people: People | Any) -> Ranking:
        """The ranking beside what people said: `People`, or a file or table with labels.

        See `judging.practice.trust.read_people`.
        """
        said = people if isinstance(people, People) else read_people(people)
        return replace(self, gold={**self.gold, **said.scores}, choices=said.choices)

    @cached_property
    def trust(self) -> Trust | None:
        """What people's labels say of the judge; None where there are next to none."""
        if not self.gold and not self.choices:
            return None
        return trust(self.fit, People(self.gold, self.choices), level=self.level)

    @cached_property
    def comparisons(self) -> Comparisons:
        """What was asked and answered, without a prior's ties."""
        c, real = self.fit.comparisons, self.fit.real
        return c if real.all() else c.take(real)

    def at_equal_length(self) -> Floats:
        """(N,) scores less b (w - mean w), w of `log_words` and b by least squares (book eq. 9.15).

        NaN where a length is unknown; the scores themselves where all lengths are equal.
        """
        w, s = log_words(self), self.fit.scores
        known = ~np.isnan(w)
        w = w - w[known].mean() if known.any() else w
        size = float((w[known] ** 2).sum())
        return s - (float(s[known] @ w[known]) / size if size > 1e-12 else 0.0) * w

    def to_frame(self) -> pd.DataFrame:
        """One row per item, best first; word-for-word copies share a row's numbers.

        Columns rank, name, score, error (standard error), low, high (central interval of the score
        of `level`), rank_low, rank_high, p_top, comparisons, same_text_as, gold where people gave
        scores, and partial (True) where the ranking is. p_top, the probability to be among the
        `top` best, allows for luck of those on top (`poe.Fit.luck`). With length control
        lc_rank and lc_score, by `at_equal_length`. The first columns are those of
        `poe.Fit.to_frame` and of a leaderboard.
        """
        return self._frame.copy()

    @cached_property
    def _frame(self) -> pd.DataFrame:
        fit, least = self.fit, len(self.fit.items) + self.fit.bias_fitted
        if fit.estimates_sigma and len(self.comparisons) < least:
            raise ValueError(
                f"{len(self.comparisons):,} answers about {len(fit.items):,} texts leave no "
                f"residuals to estimate sigma from, by which {fit.expert.family} experts tell how "
                f"sure they are: it takes {least:,} answers, or another expert"
            )
        order = np.argsort(-fit.scores, kind="stable")
        asked = np.bincount(self.comparisons.pairs.ravel(), minlength=len(order))
        table = fit.to_frame(self.level)
        table.insert(3, "error", fit.standard_errors()[order])
        table = table.assign(
            p_top=fit.prob_top(self.top)[order], comparisons=asked[order], same_text_as=""
        )
        if self.fitting.length_control:
            equal = self.at_equal_length()[order]
            place = np.argsort(-equal, kind="stable")
            table.loc[place, "lc_rank"] = shared_ranks(equal[place])
            table = table.astype({"lc_rank": int}).assign(lc_score=equal)
        copies = [
            table[table["name"] == original].assign(name=copy, same_text_as=original)
            for copy, original in self.copies.items()
        ]
        table = pd.concat([table, *copies]).sort_values(["rank", "same_text_as"], kind="stable")
        if self.gold:
            table["gold"] = [self.gold.get(str(name), np.nan) for name in table["name"]]
        if self.partial:
            table["partial"] = True
        return table.reset_index(drop=True)

    def answers(self) -> pd.DataFrame:
        """One row per comparison: first, second, p; for texts also what it took, in their order.

        Columns mass (probability on the label words), tokens and seconds where a judge read texts.
        """
        table = self.comparisons.to_table()[["first", "second", "p"]]
        if self.judged is None:
            return table
        asked = self.judged.pairs
        said = [self.judged.answers[k] for k in np.lexsort(asked.T[::-1])]
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


def log_words(ranking: Ranking) -> Floats:
    """(N,) logarithms of the texts' numbers of words, NaN where one is unknown or 0."""
    texts = ranking.judged.texts if ranking.judged else ()
    count: dict[Any, float] = {text.id: len(text.text.split()) or np.nan for text in texts}
    return np.log([count.get(name, np.nan) for name in ranking.fit.items])


def judge_name(ranking: Ranking) -> str:
    """The judge in a few words."""
    given = judged_of(ranking).judge.specification
    return str(given.get("model") or given.get("kind") or "a judge")


def judged_of(ranking: Ranking) -> Any:
    """The judge of texts with its answers; ValueError for a ranking by a plain function."""
    if ranking.judged is None:
        raise ValueError("a report is about texts that a judge read; this ranking has none")
    return ranking.judged


def first_words(ranking: Ranking, longest: int) -> dict[str, str]:
    """How each text begins, by its name; in so many letters at most, cut after a word."""
    texts = judged_of(ranking).texts
    begun = {text.id: quoted(" ".join(text.text.split()), longest) for text in texts}
    return begun | {copy: begun[original] for copy, original in ranking.copies.items()}


def names_of_judges(rankings: Sequence[Ranking]) -> tuple[str, ...]:
    """Name the judge of each ranking, no two judges the same.

    One model on two servers is named with the server, and what is still the same with a number.
    """
    given = [{} if one.judged is None else dict(one.judged.judge.specification) for one in rankings]
    judges = [one for k, one in enumerate(given) if one not in given[:k]]
    said = [str(one.get("model") or one.get("kind") or "a judge") for one in judges]
    said = [
        f"{name} at {one['server']}" if said.count(name) > 1 and one.get("server") else name
        for name, one in zip(said, judges, strict=True)
    ]
    said = [f"{n} ({k + 1})" if said.count(n) > 1 else n for k, n in enumerate(said)]
    return tuple(said[judges.index(one)] for one in given)


def apart(one: Ranking, rankings: Sequence[Ranking]) -> dict[str, str]:
    """Name what tells a ranking from the others of its run: its attribute, judge and context."""
    every = [
        {"attribute": each.attribute, "judge": judge, "context": each.name}
        for each, judge in zip(rankings, names_of_judges(rankings), strict=True)
    ]
    told = next(e for e, each in zip(every, rankings, strict=True) if each is one)
    return {what: name for what, name in told.items() if len({e[what] for e in every}) > 1}
