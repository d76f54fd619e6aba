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

from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy.special import expit

from poe.clusters import Clustered, clustered, standardised
from poe.columns import Columns, read
from poe.comparisons import Comparisons, Floats, Indices, Mask
from poe.debias import first_position_rate
from poe.errors import InvalidDataError, JudgeError, name_some
from poe.findings import aligned, percent, places
from poe.fitting import fit
from poe.judges import Question, Reader, Store, Text, prompts
from poe.judges import open as open_judge
from poe.judges.accounts import SpendingLimitError
from poe.planning import parse_budget
from poe.result import Fit
from poe.rounds import settled
from poe.tables import as_name, find_column, place, read_table, short

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

__all__ = ["Answers", "Asking", "Leaderboard", "leaderboard", "read_answers"]

MATRIX, PAGE = 12, 250  # systems in the table of win rates, rows of a page
PAGE_HEAD = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 1rem; }}
div {{ overflow-x: auto; }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; }}
th, td {{ padding: .2rem .8rem; border-bottom: 1px solid #8884; text-align: right; }}
th:nth-child(2), td:nth-child(2) {{ text-align: left; }}
</style></head><body>
"""


# What comes out -------------------------------------------------------------------------------


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
        shown = self.to_frame()
        lines = [in_columns(shown, self.level)]
        lines += self.sentences()
        return "\n".join(lines)

    def sentences(self) -> list[str]:
        """What a reader should know, as sentences."""
        return in_words(self.fit, self.level, self.clusters, self.notes)

    def _repr_html_(self) -> str:
        table = (
            self.to_frame()
            .drop(columns=["comparisons"])
            .to_html(index=False, float_format="{:.2f}".format, max_rows=30, border=0)
        )
        return table + "".join(f"<p>{escape(one)}</p>" for one in self.sentences())


def in_words(found: Fit, level: float, clusters: str, notes: tuple[str, ...]) -> list[str]:
    """Position, length, ties, where the errors come from, notes."""
    c = found.comparisons if found.real.all() else found.comparisons.take(found.real)
    rate, low, high = first_position_rate(c, level=level)
    said = [f"First position preferred: {rate:.0%} ({low:.0%} to {high:.0%})."]
    if found.bias_fitted:
        said = [f"{said[0][:-1]}; between equals {expit(-found.bias):.0%}, corrected for."]
    effect = found.covariate if isinstance(found, Clustered) else None
    if effect is not None:
        half = found.quantile(level) * effect.se
        said.append(
            f"Length: {effect.size:+.2f} logits a standard deviation longer "
            f"({effect.size - half:+.2f} to {effect.size + half:+.2f}); ranked at equal lengths."
        )
    ties = int((c.p == 0.5).sum())
    one = "comparison" if len(c) == 1 else "comparisons"
    said.append(f"{len(c):,} {one}, {ties:,} {'tie' if ties == 1 else 'ties'}.")
    if clusters and isinstance(found, Clustered):
        said.append(f"Errors are clustered on {clusters} ({found.clusters:,}).")
    return said + [f"Note: {note}." for note in notes]


def in_columns(table: pd.DataFrame, level: float) -> str:
    """Ranks, names, scores with intervals, for a terminal; the middle of a long table left out."""
    return aligned(_cells(table, level))


def _cells(table: pd.DataFrame, level: float) -> list[list[str]]:
    """Header and rows as texts."""
    head = ["rank", "system" if "system" in table else "item", "score"]
    wide = "low" in table
    head += [f"{level:.0%} interval", f"ranks ({level:.0%})"] * wide
    forms: dict[str, tuple[str, Callable[..., str]]] = {
        "win_rate": ("wins", percent),
        "raw_rank": ("rank as is", str),
        "raw_score": ("score as is", "{:+.2f}".format),
    }
    extra = [column for column in forms if column in table]
    lines = [head + [forms[column][0] for column in extra]]
    for row in table.to_dict("records"):
        cells = [str(row["rank"]), short(row[head[1]]), f"{row['score']:+.2f}"]
        if wide:
            cells += [f"{row['low']:+.2f} to {row['high']:+.2f}"]
            cells += [places(row["rank_low"], row["rank_high"])]
        lines.append(cells + [forms[column][1](row[column]) for column in extra])
    return lines


def matrix(rates: pd.DataFrame) -> list[list[str]]:
    """The win rates of the systems on top, as texts."""
    names = rates.index[:MATRIX].tolist()
    lines = [["", "", *(f"({k})" for k in range(1, len(names) + 1))]]
    for k, name in enumerate(names, start=1):
        values = ["" if np.isnan(x) else f"{x:.0%}" for x in rates.loc[name, names]]
        lines.append([f"({k})", short(name), *values])
    return lines


def page(
    title: str,
    table: pd.DataFrame,
    words: list[str],
    rates: pd.DataFrame | None = None,
    *,
    level: float = 0.95,
) -> str:
    """One self-contained HTML page: no network, no scripts; everything a user wrote is escaped."""

    def rows(lines: list[list[str]]) -> str:
        made = [
            "<tr>" + "".join(f"<{tag}>{escape(text)}</{tag}>" for text in line) + "</tr>"
            for line, tag in zip(lines, ["th", *["td"] * len(lines)], strict=False)
        ]
        return "<div><table>" + "".join(made) + "</table></div>"

    lines = _cells(table, level)
    if len(lines) > PAGE:
        left = len(lines) - PAGE
        lines = [
            *lines[: PAGE - 50],
            ["…", f"{left:,} more"] + [""] * (len(lines[0]) - 2),
            *lines[-50:],
        ]
    parts = [f"<h1>{escape(title)}</h1>", rows(lines)]
    if rates is not None:
        parts += ["<h2>Share of comparisons won by the row's system</h2>", rows(matrix(rates))]
    parts += ["<ul>", *(f"<li>{escape(one)}</li>" for one in words), "</ul>"]
    return PAGE_HEAD.format(title=escape(title)) + "\n".join(parts) + "\n</body></html>\n"


# From comparisons that exist ------------------------------------------------------------------


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
    progress: Callable[..., object] | None = None,
    **columns: str | None,
) -> Leaderboard:
    """Rank systems from answers to many prompts, or from comparisons of them that exist.

    table : without a judge, comparisons in any form that `poe.columns` reads (model_a, model_b,
        winner; with a prompt, errors are clustered on it; with lengths or texts, the ranking is at
        equal lengths too). With a judge, answers: a row has system, prompt and the answer's text.
        A data frame or a file.
    judge, attribute, store, undecided, progress : who compares two answers to a prompt, what wins,
        and what keeps the answers, as for `poe.rank`.
    budget : the most comparisons: a number, "100x" (100 a system) or "all".
    both_orders : every pair is shown in both orders; otherwise in one, at random.
    length : whether to control for it. bias : of the position, see `poe.fit`. prior : wins added
        to every pair, see `poe.rounds.settled`. level : of all intervals.
    columns : names of columns that have other names: first, second, winner, p, cluster, weight;
        with a judge system, prompt, answer.

    Which comparisons: round after round the pair of systems whose answer would tell most (the
    curvature it adds times the variance of the difference, as `poe.next_comparisons`), on the
    prompt with the fewest so far, since what comes from one prompt errs together.
    """
    if judge is None:
        found = read(table if hasattr(table, "columns") else read_table(table), **columns)
        return of_columns(found, length=length, bias=bias, prior=prior, level=level)
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
    calls = answers.calls(budget, both_orders=both_orders)
    asking.recall()
    asking.run(calls)
    return of_columns(asking.columns(), length=length, bias=bias, prior=prior, level=level)


def of_columns(
    found: Columns, *, length: bool, bias: Any, prior: float | None, level: float
) -> Leaderboard:
    """The leaderboard of comparisons that exist."""
    c = Comparisons(first=found.first, second=found.second, p=found.p, weight=found.weight)
    fitted, notes = settled(c, bias=bias if found.in_order else None, prior=prior)
    alone = found.cluster is None
    cluster = np.arange(len(c)) if found.cluster is None else found.cluster
    plain, equal = clustered(fitted, cluster), None
    if length and found.lengths is not None and (x := standardised(found.lengths)).any():
        equal = clustered(fitted, cluster, x)
    if alone:
        notes.append("no column says which answers share a prompt, so each counts as independent")
    return Leaderboard(plain, equal, found.cluster_name, level, (*found.notes, *notes))


# From answers, by asking a judge --------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Answers:
    """What systems answered: texts[k, i] of system i to prompt k, None where it has no answer."""

    systems: tuple[str, ...]
    prompts: tuple[str, ...]
    texts: Any

    @property
    def there(self) -> Mask:
        """(P, S) whether a system answered."""
        return np.asarray(self.texts != None, dtype=bool)  # noqa: E711

    def calls(self, budget: int | str, *, both_orders: bool = False) -> int:
        """Comparisons that 500, "100x" or "all" stand for, at most all there are."""
        count = self.there.sum(axis=1)
        most = int((count * (count - 1)).sum()) // (1 if both_orders else 2)
        number, a_system = parse_budget(budget, "system")
        wanted = number * len(self.systems) if a_system else number
        if wanted < 2 * len(self.systems):
            raise ValueError(
                f"{wanted:g} comparisons say little about {len(self.systems)} systems; "
                f"{2 * len(self.systems)} are the fewest, 100x is a good start"
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
    who, asked, said = (rows[name].tolist() for name in found)
    texts: dict[tuple[str, str], str] = {}
    for k, (name, about, text) in enumerate(zip(who, asked, said, strict=True)):
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
    about_what = tuple(dict.fromkeys(about for _, about in texts))
    if len(systems) < 2:
        raise InvalidDataError(
            f"{rows.attrs['source']}: a leaderboard compares systems, and the column "
            f"{found[0]!r} has only {name_some(systems)}"
        )
    grid = np.full((len(about_what), len(systems)), None, dtype=object)
    at = {name: i for i, name in enumerate(systems)}, {name: k for k, name in enumerate(about_what)}
    for (name, about), text in texts.items():
        grid[at[1][about], at[0][name]] = text
    return Answers(systems, about_what, grid)


class Asking:
    """Comparisons of two answers to one prompt: chosen, put to a judge, kept.

    made : (K, 3) prompt, first and second system of what was asked. p : (K,) what was said. equal :
    how many of them needed no call, both answers being the same word for word. partial : why it
    stopped before its time, if it did.
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
        progress: Callable[..., object] | None = None,
        seed: int = 0,
    ) -> None:
        self.answers, self.judge, self.store = answers, judge, store
        self.both_orders, self.undecided, self.progress = both_orders, undecided, progress
        self.rng = np.random.default_rng(seed)
        self.prompt = prompts.for_attribute(attribute, thing="answer", context="Prompt")
        self.made = np.empty((0, 3), dtype=np.intp)
        self.p: Floats = np.empty(0)
        self.equal, self.partial = 0, ""
        n, there = len(answers.systems), answers.there
        self.left = there[:, :, None] & there[:, None, :] & ~np.eye(n, dtype=bool)

    def question(self, k: int, i: int, j: int) -> Question:
        """Prompt k with the answers of systems i and j, in this order."""
        a = self.answers
        first, second = (Text(f"{a.systems[s]}, prompt {k + 1}", a.texts[k, s]) for s in (i, j))
        return Question(self.prompt, first, second, Text(f"prompt {k + 1}", a.prompts[k]))

    def recall(self) -> int:
        """Take every answer that the store has; how many there are. Nothing is asked."""
        a, rows = self.answers, []
        stored = self.store.answered(self.judge, self.prompt)
        for k, about in enumerate(a.prompts):
            holders: dict[str, list[int]] = {}
            for i, text in enumerate(a.texts[k]):
                if text is not None:
                    holders.setdefault(Text("", text).digest, []).append(i)
            for one, other in sorted(stored.get(Text("", about).digest, ())):
                rows += [
                    (k, i, j)
                    for i in holders.get(one, ())
                    for j in holders.get(other, ())
                    if self.left[k, i, j]
                ]
        if rows:
            self.ask(np.array(rows, dtype=np.intp))
        return len(rows)

    def run(self, calls: int) -> None:
        """Ask in rounds until so many comparisons are answered, none is left, or a limit is met."""
        n = len(self.answers.systems)
        scores: Floats = np.zeros(n)
        while len(self.p) < calls and self.left.any():
            new = self.chosen(scores, min(max(4 * n, calls // 8), calls - len(self.p)))
            try:
                self.ask(new)
            except SpendingLimitError as error:
                self.recall()  # what was answered before the limit
                self.partial = f"a partial ranking: {error}"
                return
            c = self.comparisons()
            if len(c.components()) == 1:
                scores = fit(c, prior=1.0 / (n - 1)).scores  # decisions too are to be finite

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
        texts = self.answers.texts
        same = np.array([texts[k, i] == texts[k, j] for k, i, j in new.tolist()], dtype=bool)
        questions = [self.question(*row) for row in new[~same].tolist()]
        said = self.store.ask(self.judge, questions, progress=self.progress) if questions else []
        p = np.full(len(new), 0.5)
        p[~same] = [answer.p for answer in said]
        silent = [q for q, answer in zip(questions, said, strict=True) if np.isnan(answer.p)]
        if silent and self.undecided == "stop":
            raise JudgeError(
                f"to {len(silent)} of {len(p)} comparisons the judge named neither answer: "
                f"{name_some(map(str, silent), 2)}; the answers are kept; count them as ties "
                "(--undecided tie), or change the attribute"
            )
        self.equal += int(same.sum())
        self.made = np.vstack([self.made, new])
        self.p = np.append(self.p, np.where(np.isnan(p), 0.5, p))
        k, i, j = new.T
        self.left[k, i, j] = False
        if not self.both_orders:
            self.left[k, j, i] = False

    def sample(self, count: int) -> Indices:
        """As many comparisons as will be asked, any of them: for what they will cost."""
        rows = np.argwhere(self.left)
        return self.rng.permutation(rows)[:count]

    def comparisons(self) -> Comparisons:
        """What was asked so far, of systems."""
        return Comparisons.from_pairs(self.made[:, 1:], self.p, items=self.answers.systems)

    def columns(self) -> Columns:
        """What was asked so far, as `read` gives it of a table."""
        a, (k, i, j) = self.answers, self.made.T
        sizes = np.array([[len(text or "") for text in row] for row in a.texts], dtype=float)
        equal = f"{self.equal:,} pairs of answers are the same text: ties, without a call"
        return Columns(
            first=[a.systems[s] for s in i],
            second=[a.systems[s] for s in j],
            p=self.p,
            weight=None,
            cluster=k,
            cluster_name="prompt",
            lengths=np.column_stack([sizes[k, i], sizes[k, j]]),
            in_order=True,
            notes=tuple(note for note in (equal * bool(self.equal), self.partial) if note),
        )
