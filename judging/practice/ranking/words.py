"""Rankings, fits and leaderboards on a terminal: tables, and what `--verbose` adds."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from judging import kinds
from judging.practice import findings as f
from judging.practice.ranking import findings as found
from judging.practice.ranking.ranking import Ranking, apart, first_words, judged_of
from judging.practice.ranking.readings import Position
from judging.practice.ranking.together import Together, together
from judging.practice.ranking.verdict import Advice
from judging.practice.sentences import percent, say, say_all
from judging.quoting import printable, short
from poe.experts import BradleyTerry
from poe.result import Fit

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "aligned",
    "by_judge",
    "expert_of",
    "in_text",
    "kind",
    "lines",
    "matrix",
    "of_a_board",
    "places",
    "rows_of",
    "signed",
    "told_apart",
]

SHOWN, MATRIX = 20, 12  # rows of a table on a screen, systems in one of win rates
LEAST = 12  # letters of a text that are worth a column
# What is shown without --verbose: the verdict, the judge, and notes that warn.
VERDICT = (f.Known, Advice, f.Best)
JUDGE = (Position, f.Agrees, f.Turned, f.Untold, f.Unknown)
ENDED = (f.Stopped, f.Ended)
WARNINGS = (str, f.Silent, f.Refused, f.OneOrder, f.LeftOut, f.Unanswered, f.SameText)
# Of a leaderboard also what warns, and what length control, which somebody asked for, came to.
ALSO = (f.FewClusters, f.LengthEffect, f.LengthWinner, f.FewNear)


# In words -------------------------------------------------------------------------------------


def places(low: int, high: int) -> str:
    """An interval of ranks or counts."""
    return f"{low}" if low == high else f"{low}–{high}"


def kind(ranking: Ranking) -> str:
    """Name which of the four kinds of number this is."""
    invented = kinds.simulated(judged_of(ranking).judge.specification)
    return "simulated: no language model was asked" if invented else "measured"


def expert_of(fit: Fit) -> str:
    """The expert's name."""
    return type(fit.expert).__name__.replace("BradleyTerry", "Bradley-Terry")


# In a terminal --------------------------------------------------------------------------------


def in_text(rankings: Sequence[Ranking], *, verbose: bool = False) -> str:
    """The rankings for a terminal: each a table, the verdict and a line on the judge; the cost."""
    parts: list[str] = []
    for one in rankings:
        parts += [f"\n{told}"] if (told := told_apart(one, rankings)) else []
        table = one.to_frame()
        parts += [_with_words(rows_of(table, one.level, one.top, fit=one.fit), table["name"], one)]
        verdict, more, _ = every = found.findings(one)
        if verbose:
            parts += [_line(verdict), *say_all(more)]
            continue
        parts += _in_short(every, partial=one.partial, judge=[found.judges([one])])
    for joint in together(rankings):
        where = ", ".join(filter(None, (joint.attribute, joint.name)))
        parts += [f"\nAll judges in one ranking ({where})"]
        if joint.fit is not None:
            parts += [aligned(rows_of(joint.to_frame(), joint.level)), aligned(by_judge(joint))]
        parts += [_line(joint.findings())]
    notes, cost = found.notes(rankings), found.cost(rankings)
    if verbose:
        parts += [_line([found.judges(rankings), cost]), *lines([], notes)]
        return "\n".join([*parts, say(f.Intervals())])
    return "\n".join([*parts, *_end([cost], notes)])


def _with_words(rows: list[list[str]], names: Iterable[Any], one: Ranking) -> str:
    """The table; beside texts that are called by numbers their first words, if there is room."""
    from rich.cells import cell_len

    table = aligned(rows)
    room = shutil.get_terminal_size().columns - 2 - max(map(cell_len, table.splitlines()))
    if room < LEAST or not all(str(name).isdigit() for name in names):
        return table
    words = first_words(one, room)
    begun = ["begins", *(words[str(name)] for name in names)]
    return aligned([[*row, text] for row, text in zip(rows, begun, strict=True)], left=(1, -1))


def of_a_board(
    every: found.Found, thing: str, *, partial: bool = False, verbose: bool = False
) -> list[str]:
    """Word a fit or a leaderboard for a terminal, as a ranking."""
    if verbose:
        return every.sentences(thing, "comparison")
    cost = [one for one in every.more if isinstance(one, f.Comparisons)]
    cost += [f.Note(say(note)) for note in every.notes if isinstance(note, f.AskedNow)]
    also = [one for one in every.more if isinstance(one, ALSO)]
    return [
        *_in_short(every, thing, "comparison", partial=partial),
        *lines(also, [], thing),
        *_end(cost, every.notes, thing),
    ]


def _in_short(
    every: found.Found,
    thing: str = "text",
    answer: str = "call",
    *,
    partial: bool,
    judge: Sequence[Any] = (),
) -> list[str]:
    """The verdict, and why it is partial; a line on the judge, or on the table."""
    ended = [one for one in every.more if isinstance(one, ENDED) and partial]
    verdict = [one for one in every.verdict if isinstance(one, VERDICT)]
    judged = [one for one in (*every.more, *every.verdict) if isinstance(one, JUDGE)]
    both = [*verdict, *ended], [*judge, *judged]
    return [_line(some, thing, answer) for some in both if some]


def _end(cost: Sequence[Any], notes: Iterable[Any], thing: str = "text") -> list[str]:
    """What it took, what warns, and where more is."""
    warnings = [note for note in notes if isinstance(note, WARNINGS)]
    return [_line(cost, thing), *lines([], warnings, thing), say(f.Verbose())]


def lines(some: Iterable[Any], notes: Iterable[Any], thing: str = "text") -> list[str]:
    """Findings and notes, each on a line."""
    return say_all([*some, *(f.Note(say(note)) for note in notes)], thing)


def _line(some: Iterable[Any], thing: str = "text", answer: str = "call") -> str:
    return printable(" ".join(say_all(some, thing, answer)))


def by_judge(joint: Together) -> list[list[str]]:
    """`Together.reliability` as texts."""
    table = joint.reliability()
    head = ["", "judge", "comparisons", "sharpness", "first, of equals", "agrees with the others"]
    if joint.fit is None:
        rows = [
            ["", short(r.judge), f"{r.comparisons:,}", "", "", f"{r.agreement:.2f}"]
            for r in table.itertuples(index=False)
        ]
    else:
        rows = [
            [
                "",
                short(r.judge),
                f"{r.comparisons:,}",
                f"{r.sharpness:.2f} ± {r.sharpness_se:.2f}",
                f"{r.first_between_equals:.0%}",
                f"{r.agreement:.2f}",
            ]
            for r in table.itertuples(index=False)
        ]
    return [head, *rows]


def told_apart(one: Ranking, rankings: Sequence[Ranking]) -> str:
    """Name what tells a ranking from the others: "Attribute clearer, Context context-1"."""
    told = apart(one, rankings)
    return ", ".join(f"{what.capitalize()} {name}" for what, name in told.items())


def aligned(lines: list[list[str]], left: Sequence[int] = (1,)) -> str:
    """Columns two spaces apart, the second to the left; the middle of a long table left out."""
    from rich.cells import cell_len

    if len(lines) > SHOWN + 6:
        lines = [*lines[: SHOWN - 4], ["…"] * len(lines[0]), *lines[-5:]]
    wide = [max(map(cell_len, column)) for column in zip(*lines, strict=True)]
    to_left = {range(len(wide))[k] for k in left}

    def cell(k: int, text: str) -> str:
        space = " " * (wide[k] - cell_len(text))
        return text + space if k in to_left else space + text

    rows = ("  ".join(cell(k, t) for k, t in enumerate(line)) for line in lines)
    return "\n".join(row.rstrip() for row in rows)


def signed(value: float) -> str:
    """With two decimals and a sign, which is never that of a negative zero."""
    return f"{round(value, 2) + 0.0:+.2f}"


def with_error(rate: float, se: float) -> str:
    """A share and its standard error in per cent, "" where there is none."""
    error = "" if np.isnan(se) else f" ± {100 * se:.1f}"
    return "" if np.isnan(rate) else f"{100 * rate:.1f}%{error}"


def rows_of(
    table: pd.DataFrame, level: float, top: int = 0, *, fit: Fit | None = None
) -> list[list[str]]:
    """Head and rows of the `to_frame` of a ranking, a fit or a leaderboard, as texts.

    All three have rank, name, score, low, high, rank_low and rank_high (but for huge fits, which
    have no intervals); the rest is shown where it is there. fit : what the scores are of, whose
    unit is then named.
    """
    sure = f"{100 * level:g}%"
    logits = fit is not None and isinstance(fit.expert, BradleyTerry)
    forms: dict[str, tuple[str, Callable[[Any], str]]] = {
        "rank": ("rank", lambda row: str(row.rank)),
        "name": ("name", lambda row: short(row.name)),
        "score": ("score (logits)" if logits else "score", lambda row: signed(row.score)),
        "low": (f"{sure} interval", lambda row: f"{signed(row.low)} to {signed(row.high)}"),
        "rank_low": (f"ranks ({sure})", lambda row: places(row.rank_low, row.rank_high)),
        "p_top": (f"P(top {top})", lambda row: percent(row.p_top)),
        "win_rate": ("wins", lambda row: percent(row.win_rate)),
        "reference_rate": (
            "wins against reference",
            lambda row: with_error(row.reference_rate, row.reference_se),
        ),
        "lc_rank": ("rank, equal length", lambda row: str(row.lc_rank)),
        "lc_score": ("score, equal length", lambda row: signed(row.lc_score)),
    }
    shown = [form for column, form in forms.items() if column in table]
    rows = [[cell(row) for _, cell in shown] for row in table.itertuples(index=False)]
    return [[head for head, _ in shown], *rows]


def matrix(rates: pd.DataFrame) -> list[list[str]]:
    """The win rates of the systems on top, as texts."""
    names = rates.index[:MATRIX].tolist()
    lines = [["", "", *(f"({k})" for k in range(1, len(names) + 1))]]
    for k, name in enumerate(names, start=1):
        values = ["" if np.isnan(x) else f"{x:.0%}" for x in rates.loc[name, names]]
        lines.append([f"({k})", short(name), *values])
    return lines
