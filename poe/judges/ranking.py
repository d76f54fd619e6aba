"""Ranking texts with a judge that reads them: one context's texts, one budget, one ranking."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd

from poe import debias, metrics
from poe.adaptive import Ranking, rank
from poe.comparisons import Floats
from poe.errors import SeparableError, UnidentifiedBiasError
from poe.judges.asking import TextJudge
from poe.judges.intervals import Intervals, by_scatter, rule_by_scatter
from poe.result import Fit
from poe.selection import NextRule
from poe.stopping import StopRule

RULES: dict[str, NextRule] = {"adaptive": "laplace", "greedy": "determinant", "random": "random"}
_FOLLOWED = 1000  # items up to which every round's uncertainty is worked out

Bias = Literal["fit", "mean"] | None


@dataclass(frozen=True, eq=False)
class TextRanking:
    """The texts of one context ranked, with all that was asked and said.

    ranking : what `poe.rank` found. judged : whom it asked, with every answer. history : one row a
        round: asked, error (root mean square standard error of a score), agreement (Spearman's
        correlation with the final scores), rate (first-position rate), bias.
    twins : for each text that is word for word another, the id of the one ranked in its place.
    notes : what a reader should know, in words. gold : scores by people, by id.
    """

    ranking: Ranking
    judged: TextJudge
    history: pd.DataFrame
    level: float
    top: int
    both_orders: bool
    rule: str
    seed: int
    intervals: Intervals = "scatter"
    twins: dict[str, str] = field(default_factory=dict)
    gold: dict[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    name: str = ""

    @cached_property
    def fit(self) -> Fit:
        """The last fit, with the covariance that `intervals` stands for."""
        return by_scatter(self.ranking.fit) if self.intervals == "scatter" else self.ranking.fit

    @property
    def tokens(self) -> int:
        """Tokens of all prompts, shared prefixes counted every time."""
        return sum(answer.tokens for answer in self.judged.answers)

    def scores(self) -> pd.DataFrame:
        """One row a text, best first; word-for-word copies share a row's numbers.

        Columns rank, id, score, score_low, score_high (central interval of `level`), rank_low,
        rank_high, p_top, comparisons, same_text_as, and gold where people gave scores.
        """
        return self._scores.copy()

    @cached_property
    def _scores(self) -> pd.DataFrame:
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
                "comparisons": np.bincount(self.judged.pairs.ravel(), minlength=len(fit.items)),
                "same_text_as": "",
            }
        )
        copies = [
            table[table["id"] == original].assign(id=copy, same_text_as=original)
            for copy, original in self.twins.items()
        ]
        table = pd.concat([table, *copies]).sort_values(["rank", "same_text_as"], kind="stable")
        if self.gold:
            table["gold"] = table["id"].map(self.gold)
        return table.reset_index(drop=True)

    def comparisons(self) -> pd.DataFrame:
        """One row a comparison in the order asked: first, second, p, mass, tokens, seconds."""
        said = self.judged.answers
        return self.ranking.comparisons.to_table()[["first", "second", "p"]].assign(
            mass=[answer.mass for answer in said],
            tokens=[answer.tokens for answer in said],
            seconds=[answer.seconds for answer in said],
        )

    def agreement(self) -> tuple[float, float, int] | None:
        """Spearman's and Pearson's correlation with the people's scores, and how many there are."""
        given = self.scores()
        given = given[given["gold"].notna()] if self.gold else given[:0]
        if len(given) < 3:
            return None
        ours, theirs = given["score"].to_numpy(), given["gold"].to_numpy(dtype=float)
        return (
            float(metrics.spearman(ours, theirs)),
            float(metrics.pearson(ours, theirs)),
            len(ours),
        )


def rank_texts(
    judged: TextJudge,
    *,
    budget: int,
    expert: str = "bradley-terry",
    rule: str = "adaptive",
    both_orders: bool = False,
    until: Sequence[StopRule] = (),
    prior: float = 0.0,
    intervals: Intervals = "scatter",
    level: float = 0.95,
    top: int = 3,
    seed: int = 0,
    progress: Callable[[Ranking], Any] | None = None,
    **known: Any,
) -> TextRanking:
    """Ask, fit and ask again (`poe.rank`), with the judge's position bias estimated throughout.

    judged : a `TextJudge`. rule : "adaptive", "greedy" or "random", see `poe.next_comparisons`.
    both_orders : ask each pair in both orders; one random order otherwise. Either way the bias
        is fitted with the scores (Laplacian experts take it from the mean probability, and
        too few comparisons to tell it from the scores leave it at zero, with a note).
    intervals : "scatter", from how far the answers lie from the scores, or "decisions", as if
        each answer were one decision; see `poe.judges.intervals`. Stopping rules follow it.
    level : of all intervals. top : whose probability of being among the best is reported.
    known : further fields of the `TextRanking` (twins, gold, name).
    """
    names = [text.id for text in judged.texts]
    by_their_scatter = intervals == "scatter"
    rules = [rule_by_scatter(one) for one in until] if by_their_scatter else list(until)
    # Where two or three texts are asked about completely, one order alone hides the bias.
    every = len(names) <= 3 and budget == len(names) * (len(names) - 1)
    follower = _Follower(len(names), progress, by_their_scatter)
    notes = list(known.pop("notes", ()))

    def once(bias: Bias) -> Ranking:
        follower.rows.clear()
        return rank(
            judged.answer,
            names,
            budget=budget,
            expert=expert,
            rule=RULES[rule],
            until=rules or None,
            both_orders=both_orders or every,
            bias=bias,
            prior=prior,
            seed=seed,
            progress=follower,
        )

    try:
        found = once("mean" if expert == "laplacian" else "fit")
    except UnidentifiedBiasError:
        notes.append(
            "too few comparisons to tell a position bias from the scores: none was assumed"
        )
        judged.forget()
        found = once(None)
    except SeparableError as error:
        raise SeparableError(
            f"{error}; on the command line add --prior 0.1 (nothing is asked again)"
        ) from None
    return TextRanking(
        ranking=found,
        judged=judged,
        history=follower.table(),
        level=level,
        top=max(min(top, len(names) - 1), 1),
        both_orders=both_orders or every,
        rule=rule,
        seed=seed,
        intervals=intervals,
        notes=tuple(notes),
        **known,
    )


class _Follower:
    """Notes after every round how the ranking was doing."""

    def __init__(
        self, n_items: int, progress: Callable[[Ranking], Any] | None, by_their_scatter: bool
    ) -> None:
        self.progress, self.by_their_scatter = progress, by_their_scatter
        self.follow = n_items <= _FOLLOWED
        self.rows: list[tuple[int, float, float, float, Floats]] = []

    def __call__(self, now: Ranking) -> None:
        fit = by_scatter(now.fit) if self.by_their_scatter else now.fit
        error = typical_error(fit) if self.follow else float("nan")
        rate = debias.first_position_rate(now.comparisons).rate
        self.rows.append((len(now.comparisons), error, rate, now.fit.bias, now.fit.scores))
        if self.progress is not None:
            self.progress(now)

    def table(self) -> pd.DataFrame:
        asked, error, rate, bias, scores = zip(*self.rows, strict=True)
        agreement = [float(metrics.spearman(s, scores[-1])) for s in scores]
        columns = {"asked": asked, "error": error, "rate": rate, "bias": bias}
        return pd.DataFrame({**columns, "agreement": agreement})


def typical_error(fit: Fit) -> float:
    """Root mean square standard error of a score, in units of a difference."""
    return float(np.sqrt((fit.standard_errors() ** 2).mean()))
