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

Answers that nobody compared yet are put to a judge two at a time (`Asking`). Which two: round after
round the pair of systems whose answer would tell most (the curvature it adds times the variance of
the difference, as `poe.next_comparisons`), on the prompt with the fewest so far, since what comes
from one prompt errs together.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy.special import expit

from poe import findings
from poe.clusters import Clustered, clustered, standardised
from poe.columns import Columns, read
from poe.comparisons import Comparisons, Floats, Indices
from poe.errors import InvalidDataError, name_some
from poe.fitting import fit
from poe.judges import Question, Reader, Store, Text, prompts
from poe.judges import open as open_judge
from poe.judges.accounts import AskingEndedError, Meter
from poe.judges.asking import cautions, decided
from poe.planning import parse_budget
from poe.rounds import CTRL_C, settled
from poe.tables import as_name, find_column, place, read_table

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

__all__ = ["Answers", "Asking", "Leaderboard", "leaderboard", "of_columns", "read_answers"]


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
        """One row a system, best first.

        Columns rank, system, score, low, high, rank_low, rank_high (intervals of `level`), win_rate
        (fitted, mean over the other systems, at equal lengths and places), comparisons; and with
        lengths raw_rank, raw_score, raw_low, raw_high of the fit without them.
        """
        table = self.fit.to_frame(self.level).rename(columns={"item": "system"})
        rates, seen = self.win_rates(fitted=True), self.comparisons.pairs.ravel()
        table["win_rate"] = table["system"].map(rates.mean(axis=1))
        counts = np.bincount(seen, minlength=len(self.fit.items))
        table["comparisons"] = table["system"].map(dict(zip(self.fit.items, counts, strict=True)))
        if self.equal is not None:
            raw = self.plain.to_frame(self.level).set_index("item")
            for name in ("rank", "score", "low", "high"):
                table[f"raw_{name}"] = table["system"].map(raw[name])
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
        table = findings.aligned(findings.rows_of(self.to_frame(), self.level))
        return "\n".join([table, *self.sentences()])

    def sentences(self) -> list[str]:
        """What a reader should know, as sentences."""
        return findings.in_words(self.fit, self.level, self.clusters, self.notes, "system")

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

    table : without a judge, comparisons in any form that `poe.columns` reads (model_a, model_b,
        winner; with a prompt, errors are clustered on it; with lengths or texts, the ranking is at
        equal lengths too). With a judge, answers: a row has system, prompt and the answer's text.
        A data frame or a file.
    judge, attribute, store, undecided, progress : who compares two answers to a prompt, what wins,
        what keeps the answers, and whether to show a bar, as for `poe.rank`.
    budget : the most comparisons: a number, "100x" (100 a system) or "all"; see `Answers.calls`.
    both_orders : every pair is shown in both orders; otherwise in one, at random.
    length : whether to control for it. bias : of the position, see `poe.fit`. prior : wins added
        to every pair, see `poe.rounds.settled`. level : of all intervals.
    columns : names of columns that have other names: first, second, winner, p, cluster, weight;
        with a judge system, prompt, answer.
    """
    if judge is None:
        found = read(table if hasattr(table, "columns") else read_table(table), **columns)
    else:
        answers = read_answers(table, **columns)
        asking = Asking(
            answers,
            open_judge(judge) if isinstance(judge, str) else judge,
            attribute,
            store=Store(":memory:") if store is None else store,
            both_orders=both_orders,
            undecided=undecided,
            progress=progress,
            seed=seed,
        )
        asking.run(answers.calls(budget, both_orders=both_orders))
        found = asking.columns()
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


# Answers of systems to prompts, put to a judge -------------------------------------------------


@dataclass(frozen=True, eq=False)
class Answers:
    """What systems answered: texts[k, i] of system i to prompt k, "" where it has no answer."""

    systems: tuple[str, ...]
    prompts: tuple[str, ...]
    texts: Any

    def calls(self, budget: int | str, *, both_orders: bool = False) -> int:
        """Comparisons that 500, "100x" (a system) or "all" stand for, at most all there are."""
        n, count = len(self.systems), (self.texts != "").sum(axis=1)
        most = int((count * (count - 1)).sum()) // (1 if both_orders else 2)
        number, a_system = parse_budget(budget, "system")
        wanted = number * n if a_system else number
        if wanted < 2 * n:
            raise ValueError(
                f"{wanted:g} comparisons say little about {n} systems; {2 * n} are the fewest, "
                "100x is a good start"
            )
        return int(min(wanted, most))


def read_answers(
    table: Path | pd.DataFrame | str,
    *,
    system: str | None = None,
    prompt: str | None = None,
    answer: str | None = None,
) -> Answers:
    """Answers of systems to prompts, from a table with a row an answer; columns in any case.

    Raises InvalidDataError naming the column or row that is wrong.
    """
    rows = read_table(table)
    known = {
        "--system": (system, ("system", "model", "generator")),
        "--prompt": (prompt, ("prompt", "instruction", "question", "prompt_id", "question_id")),
        "--answer": (answer, ("answer", "output", "response", "text", "completion")),
    }
    found = [
        find_column(rows, *((given,) if given else names), option=option)
        for option, (given, names) in known.items()
    ]
    texts: dict[tuple[str, str], str] = {}
    for k, (name, about, text) in enumerate(rows[found].itertuples(index=False, name=None)):
        try:
            name = as_name(name)
            if not isinstance(about, (str, int)) or not str(about).strip():
                raise InvalidDataError("the prompt is empty")
            if not isinstance(text, str) or not text.strip():
                raise InvalidDataError("the answer is empty, or is no text; remove the row")
            if (name, str(about)) in texts:
                raise InvalidDataError(f"{name} answered this prompt before; keep one of the rows")
        except InvalidDataError as error:
            raise InvalidDataError(f"{place(rows, k)}: {error}") from None
        texts[name, str(about)] = text
    systems = tuple(dict.fromkeys(name for name, _ in texts))
    asked = tuple(dict.fromkeys(about for _, about in texts))
    if len(systems) < 2:
        raise InvalidDataError(
            f"{rows.attrs['source']}: a leaderboard compares systems, and the column "
            f"{found[0]!r} has only {name_some(systems)}"
        )
    grid = [[texts.get((name, about), "") for name in systems] for about in asked]
    return Answers(systems, asked, np.array(grid, dtype=object))


class Asking:
    """Comparisons of two answers to one prompt: chosen, put to a judge, kept.

    progress : whether to show a bar. price : for a million tokens read, and written.
    made : (K, 3) prompt, first and second system of what was asked; what the store has is there
    from the beginning. p : (K,) what was said. equal : how many of them needed no call, both
    answers being the same word for word. partial : why it stopped before its time, if it did.
    """

    def __init__(
        self,
        answers: Answers,
        judge: Reader,
        attribute: str = "better",
        *,
        store: Store,
        both_orders: bool = False,
        undecided: Literal["stop", "tie"] = "stop",
        progress: bool | None = None,
        price: tuple[float, float] | None = None,
        seed: int = 0,
    ) -> None:
        self.answers, self.judge, self.store = answers, judge, store
        self.both_orders, self.undecided = both_orders, undecided
        self.meter = Meter(0, shown=progress, price=price)
        self.meter.judge = judge
        self.rng = np.random.default_rng(seed)
        self.prompt = prompts.for_attribute(attribute, thing="answer", context="Prompt")
        self.made = np.empty((0, 3), dtype=np.intp)
        self.p: Floats = np.empty(0)
        self.equal, self.partial = 0, ""
        there = answers.texts != ""
        self.left = there[:, :, None] & there[:, None, :] & ~np.eye(there.shape[1], dtype=bool)
        self.recall()

    def questions(self, rows: Indices) -> list[Question]:
        """Of (K, 3) prompts, first and second systems."""
        a = self.answers

        def text(k: int, i: int) -> Text:
            return Text(f"{a.systems[i]}, prompt {k + 1}", a.texts[k, i])

        return [
            Question(self.prompt, text(k, i), text(k, j), Text(f"prompt {k + 1}", a.prompts[k]))
            for k, i, j in rows.tolist()
        ]

    def recall(self) -> None:
        """Take every answer that the store has; nothing is asked."""
        stored, rows = self.store.answered(self.judge, self.prompt), list[tuple[int, int, int]]()
        for k, about in enumerate(self.answers.prompts):
            if known := stored.get(Text("", about).digest):
                own = [Text("", text).digest for text in self.answers.texts[k]]
                left = np.argwhere(self.left[k]).tolist()
                rows += [(k, i, j) for i, j in left if (own[i], own[j]) in known]
        self.ask(np.array(rows, dtype=np.intp).reshape(-1, 3))

    def run(self, calls: int) -> None:
        """Ask in rounds until so many comparisons are answered, none is left, or a limit is met."""
        n = len(self.answers.systems)
        scores: Floats = np.zeros(n)
        self.meter.bar.total = max(calls - len(self.p), 0)
        while len(self.p) < calls and self.left.any():
            new = self.chosen(scores, min(max(4 * n, calls // 8), calls - len(self.p)))
            try:
                self.ask(new)
            except (AskingEndedError, KeyboardInterrupt) as error:
                self.recall()  # what was answered before the limit
                if not len(self.p):
                    raise
                self.partial = f"a partial ranking: {str(error) or CTRL_C}"
                break
            c = Comparisons.from_pairs(self.made[:, 1:], self.p, items=self.answers.systems)
            if len(c.components()) == 1:
                scores = fit(c, prior=1.0 / (n - 1)).scores  # decisions too are to be finite
        self.meter.bar.close()

    def chosen(self, scores: Floats, count: int) -> Indices:
        """(count, 3) what to ask next: argmax c_ij R_ij, on the prompt with the fewest so far.

        c_ij is the curvature that one more answer about i and j adds, R_ij the variance of their
        difference, both at these scores (paper 3.6; book eq. 10.9); R follows every pick.
        """
        n, d = len(scores), np.subtract.outer(scores, scores)
        curvature, left = expit(d) * expit(-d), self.left.copy()
        met, load = np.zeros((n, n)), np.bincount(self.made[:, 0], minlength=len(left))
        np.add.at(met, (self.made[:, 1], self.made[:, 2]), 1.0)
        links = (met + met.T) * curvature
        variance = np.linalg.inv(np.diag(links.sum(axis=1) + 0.1) - links)
        picked: list[tuple[int, int, int]] = []
        room = left.sum(axis=0)
        while len(picked) < count and room.any():
            own = np.diag(variance)
            gain = curvature * (own[:, None] + own - 2.0 * variance)
            gain = np.where(room > 0, gain * (1.0 + 1e-6 * self.rng.random((n, n))), -1.0)
            i, j = map(int, np.unravel_index(int(gain.argmax()), gain.shape))
            k = int(
                (load + self.rng.random(len(load)) + np.where(left[:, i, j], 0, np.inf)).argmin()
            )
            for one, other in ((i, j), (j, i))[: 1 + self.both_orders]:
                if left[k, one, other]:
                    picked.append((k, one, other))
                    load[k] += 1
            room[[i, j], [j, i]] -= left[k, [i, j], [j, i]]
            left[k, [i, j], [j, i]] = False
            apart = variance[:, i] - variance[:, j]
            c = curvature[i, j]
            variance = variance - c * np.outer(apart, apart) / (1.0 + c * (apart[i] - apart[j]))
        return np.array(picked, dtype=np.intp)

    def ask(self, new: Indices) -> None:
        """Answers to (K, 3) prompts and systems; two answers that are the same text are a tie."""
        k, i, j = new.T
        same = np.asarray(self.answers.texts[k, i] == self.answers.texts[k, j], dtype=bool)
        questions, p = self.questions(new[~same]), np.full(len(new), 0.5)
        if questions:
            said = self.store.ask(self.judge, questions, progress=self.meter)
            p[~same], _ = decided(questions, said, self.undecided)
        self.equal += int(same.sum())
        self.made, self.p = np.vstack([self.made, new]), np.append(self.p, p)
        self.left[k, i, j] = False
        if not self.both_orders:
            self.left[k, j, i] = False

    def sample(self, count: int) -> list[Question]:
        """As many questions as will be asked, any of them: for what they will cost."""
        return self.questions(self.rng.permutation(np.argwhere(self.left))[:count])

    def columns(self) -> Columns:
        """What was asked so far, as `poe.columns.read` gives it of a table."""
        a, (k, i, j) = self.answers, self.made.T
        size = np.array([[len(text) for text in row] for row in a.texts], dtype=float)
        judge = self.judge.specification
        new = self.meter.calls
        notes = [
            *cautions(judge),
            f"the judge is {judge.get('model') or judge.get('kind')}; {new:,} comparisons asked "
            f"now, {len(self.p) - self.equal - new:,} known already",
            *self.meter.notes(),
        ]
        if self.equal:
            notes.append(f"{self.equal:,} pairs of answers are the same text: ties, without a call")
        if self.partial:
            notes.append(self.partial)
        return Columns(
            first=[a.systems[s] for s in i],
            second=[a.systems[s] for s in j],
            p=self.p,
            weight=None,
            cluster=k,
            cluster_name="prompt",
            lengths=np.column_stack([size[k, i], size[k, j]]),
            in_order=True,
            notes=tuple(notes),
        )
