"""What a ranking comes to, in words: for a manager, in a terminal, and for the report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import expit, stdtr
from scipy.stats import binomtest

from poe.clusters import Clustered
from poe.comparisons import Floats, Indices
from poe.debias import Rate, first_position_rate
from poe.judges.asking import cautions
from poe.rankings import Ranking, apart
from poe.result import COVARIANCE_ITEMS, Fit
from poe.tables import printable, short

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "aligned",
    "calibration",
    "drowned",
    "expert_of",
    "headline",
    "in_text",
    "in_words",
    "judge_name",
    "judged_of",
    "kind",
    "matrix",
    "neighbours",
    "notes_of",
    "percent",
    "places",
    "plural",
    "position",
    "rate_in_words",
    "rows_of",
    "signed",
    "told_apart",
    "totals",
]

SHOWN, MATRIX = 20, 12  # rows of a table on a screen, systems in one of win rates
RIVALS = 5  # texts that are named where any of them could be the best
PAIRS = 200_000  # pairs up to which all are looked at, and drawn of more
HARDLY = 0.5  # share of pairs decided by position alone from which a judge hardly reads
SURE = (0.5, 0.6, 0.75, 0.9, 1.0)  # classes of how sure an answer is


# What a manager reads -------------------------------------------------------------------------


def headline(one: Ranking, thing: str = "text") -> list[str]:
    """What was found and how far it goes, in a sentence or three, the most important first."""
    partial = ["This ranking is partial, because asking was cut short."] if one.partial else []
    people = "How far people would agree is not known."
    if agreement := one.agreement():
        people = f"With the scores that people gave it correlates {agreement[0]:.2f}."
    return [*partial, *standing(one.fit, one.level, thing), people]


def standing(fit: Fit, level: float, thing: str) -> list[str]:
    """Who is best, or why that is open, and how much of the order is settled."""
    names, things = fit.ranking(), plural(thing)
    n, best = len(names), names[0]
    sure = float(fit.prob_top(1)[fit.items.index(best)])
    first_at = dict(zip(fit.items, fit.rank_interval(level)[:, 0], strict=True))
    rivals = [name for name in names if first_at[name] == 1]
    if (share := drowned(fit, level)) >= HARDLY:
        first = (
            f"Do not decide by this ranking, because the judge hardly reads: in {percent(share)} "
            f"of the comparisons it would choose what is shown "
            f"{'first' if fit.bias < 0 else 'second'}, whichever {thing} that is"
        )
    elif sure >= 0.5 or len(rivals) < 2:
        probably = "" if sure >= 0.9 else "probably "
        first = f"{best} is {probably}the best of {n:,} {things} ({percent(sure)} sure)"
    elif len(rivals) <= RIVALS:
        named = f"{', '.join(map(str, rivals[:-1]))} or {rivals[-1]}"
        first = f"The best of {n:,} {things} is {named}; which of them is open"
    else:
        first = f"No {thing} stands out: {len(rivals)} of {n:,} could be the best"
    settled = f"Of all pairs of {things}, {percent(settled_share(fit, level))} are in an order"
    return [f"{first}.", f"{settled} that is at least {level:.0%} sure."]


def drowned(fit: Fit, level: float) -> float:
    """Share of the comparisons that come out for the same position in either order.

    A judge whose bias is larger than the difference of two scores does not let them decide; but
    answers of equal systems may differ more than their systems, and then the judge does choose
    both places. Where position alone decides a share q, one place is chosen in (1 + q) / 2 of
    all. So the smaller of the two shares counts. 0 where no bias was estimated, or none that
    can be told from chance.
    """
    seen = position(fit, level)
    if seen.equal is None or seen.equal.low <= 0.5 <= seen.equal.high:
        return 0.0
    d = np.diff(fit.scores[fit.comparisons.take(fit.real).pairs], axis=1)
    return min(float((np.abs(d) < abs(fit.bias)).mean()), abs(2.0 * seen.counted.rate - 1.0))


def settled_share(fit: Fit, level: float) -> float:
    """Share of all pairs whose order has a probability of at least `level` (of many a sample)."""
    n = len(fit.items)
    if n * (n - 1) // 2 <= PAIRS:
        i, j = np.triu_indices(n, 1)
    else:
        rng = np.random.default_rng(0)
        i = rng.integers(n, size=PAIRS)
        j = (i + rng.integers(1, n, size=PAIRS)) % n
    p = better(fit, i, j)
    return float((np.maximum(p, 1.0 - p) >= level).mean())


def calibration(one: Ranking) -> list[tuple[str, int, str, str]]:
    """How often people's scores agree with answers that are so sure: a row a class of `SURE`.

    Columns: how sure, how many comparisons, how sure on average, how often people agree with
    Wilson's interval. Pairs that people scored alike, and ties, are left out.
    """
    c = one.comparisons
    gold = np.array([one.gold.get(str(name), np.nan) for name in c.items])
    gap, sure = gold[c.first] - gold[c.second], np.maximum(c.p, 1.0 - c.p)
    right = (gap > 0) == (c.p > 0.5)
    used = np.isfinite(gap) & (gap != 0) & (c.p != 0.5)
    rows = []
    for low, high in pairwise(SURE):
        here = used & (sure >= low) & ((sure < high) | (high == 1.0))
        if here.any():
            k, n = int(right[here].sum()), int(here.sum())
            at = binomtest(k, n).proportion_ci(one.level, method="wilson")
            rows.append(
                (
                    f"{low:.0%} to {high:.0%}",
                    n,
                    f"{sure[here].mean():.0%}",
                    rate_in_words(Rate(k / n, at.low, at.high)),
                )
            )
    return rows


# In words -------------------------------------------------------------------------------------


def percent(share: float) -> str:
    """A probability as a percentage that never claims certainty."""
    if share >= 0.995:
        return "over 99%"
    return "under 1%" if share < 0.005 else f"{100 * share:.0f}%"


def rate_in_words(rate: Rate) -> str:
    """A share with its interval: "58% (52% to 64%)"."""
    return f"{rate.rate:.0%} ({rate.low:.0%} to {rate.high:.0%})"


def places(low: int, high: int) -> str:
    """An interval of ranks or counts."""
    return f"{low}" if low == high else f"{low}–{high}"


def kind(found: Ranking) -> str:
    """Which of the four kinds of number this is."""
    demo = judged_of(found).judge.specification.get("kind") == "demo"
    return "simulated: no language model was asked" if demo else "measured"


def judge_name(found: Ranking) -> str:
    """The judge in a few words."""
    given = judged_of(found).judge.specification
    return str(given.get("model") or given.get("kind") or "a judge")


def judged_of(found: Ranking) -> Any:
    """The judge of texts with its answers; ValueError for a ranking by a plain function."""
    if found.judged is None:
        raise ValueError("a report is about texts that a judge read; this ranking has none")
    return found.judged


def expert_of(found: Ranking) -> str:
    """The expert's name."""
    return type(found.fit.expert).__name__.replace("BradleyTerry", "Bradley-Terry")


def plural(thing: str) -> str:
    """More than one thing."""
    if thing.endswith("y") and thing[-2:-1] not in tuple("aeiou"):
        return thing[:-1] + "ies"
    return thing + ("es" if thing.endswith(("s", "x", "ch", "sh")) else "s")


def totals(found: Sequence[Ranking]) -> tuple[int, int, int, str]:
    """Comparisons, those of them asked now, what was read for them, and its unit."""
    judged = [judged_of(one) for one in found]
    tokens = sum(answer.tokens for one in judged for answer in one.answers)
    unit = "words" if kind(found[0]).startswith("simulated") else "tokens"
    return sum(len(one.pairs) for one in judged), sum(one.new for one in judged), tokens, unit


def notes_of(found: Sequence[Ranking]) -> list[str]:
    """What must be said of the judges, and what a reader should know, each once."""
    every = ([*cautions(judged_of(one).judge.specification), *one.notes] for one in found)
    return list(dict.fromkeys(chain(*every)))


# In a terminal --------------------------------------------------------------------------------


def in_text(found: Sequence[Ranking]) -> str:
    """The rankings for a terminal: tables, the judge, what to know."""
    parts = []
    for one in found:
        parts += [f"\n{told}"] if (told := told_apart(one, found)) else []
        parts += [aligned(rows_of(one.to_frame(), one.level, one.top))]
        parts += [printable(" ".join(headline(one))), _diagnosis(one)]
    calls, new, tokens, unit = totals(found)
    return "\n".join(
        [
            *parts,
            f"Judge: {' and '.join(dict.fromkeys(map(judge_name, found)))}. {calls:,} comparisons, "
            f"{tokens:,} {unit}; {new:,} asked now, {max(calls - new, 0):,} from the store.",
            *(f"Note: {note}." for note in notes_of(found)),
            "Intervals take the judge's answers as given: not how well it agrees with people, and "
            "not mistakes it makes every time.",
        ]
    )


def told_apart(one: Ranking, found: Sequence[Ranking]) -> str:
    """What tells a ranking from the others: "Attribute clearer, Context context-1"."""
    return ", ".join(f"{what.capitalize()} {name}" for what, name in apart(one, found).items())


def aligned(lines: list[list[str]]) -> str:
    """Columns two spaces apart, the second to the left; the middle of a long table left out."""
    from rich.cells import cell_len

    if len(lines) > SHOWN + 6:
        lines = [*lines[: SHOWN - 4], ["…"] * len(lines[0]), *lines[-5:]]
    wide = [max(map(cell_len, column)) for column in zip(*lines, strict=True)]

    def cell(k: int, text: str) -> str:
        space = " " * (wide[k] - cell_len(text))
        return text + space if k == 1 else space + text

    return "\n".join("  ".join(cell(k, t) for k, t in enumerate(line)) for line in lines)


def _diagnosis(one: Ranking) -> str:
    at, mass = position(one.fit, one.level), [answer.mass for answer in judged_of(one).answers]
    between = f"; between equal texts {rate_in_words(at.equal)}, corrected for" if at.equal else ""
    lines = [
        f"Stopped: {one.stopped_because}.",
        f"First position preferred: {rate_in_words(at.counted)}{between}.",
        f"Label words: median mass {np.median(mass):.2g}, lowest {np.min(mass):.2g}.",
    ]
    if agreement := one.agreement():
        rho, r, n = agreement
        lines.append(
            f"Agreement with the {n} scores by people: Spearman {rho:.2f}, Pearson {r:.2f}."
        )
    return "\n".join(lines)


# Fits of comparisons that exist, and leaderboards -----------------------------------------------


def in_words(
    found: Fit, level: float, clusters: str, notes: Sequence[str], thing: str = "item"
) -> list[str]:
    """Who is best, position, length, ties, where the errors come from, notes."""
    c = found.comparisons.take(found.real)
    said = f"First position preferred: {rate_in_words(first_position_rate(c, level=level))}"
    if found.bias_fitted:
        said += f"; between equals {expit(-found.bias):.0%}, corrected for"
    known = len(found.items) <= COVARIANCE_ITEMS
    best = [" ".join(standing(found, level, thing))] if known else []
    lines, ties = [*best, f"{said}."], int((c.p == 0.5).sum())
    effect = found.covariate if isinstance(found, Clustered) else None
    if effect is not None:
        half = found.quantile(level) * effect.se
        lines.append(
            f"Length: {signed(effect.size)} logits per standard deviation of length "
            f"({signed(effect.size - half)} to {signed(effect.size + half)}); ranked at equal "
            "lengths."
        )
    one = "comparison" if len(c) == 1 else "comparisons"
    lines.append(f"{len(c):,} {one}, {ties:,} {'tie' if ties == 1 else 'ties'}.")
    if clusters and isinstance(found, Clustered):
        lines.append(f"Errors are clustered on {clusters} ({found.clusters:,}).")
    return lines + [f"Note: {note}." for note in notes]


def signed(value: float) -> str:
    """With two decimals and a sign, which is never that of a negative zero."""
    return f"{round(value, 2) + 0.0:+.2f}"


def rows_of(table: pd.DataFrame, level: float, top: int = 0) -> list[list[str]]:
    """Head and rows of the `to_frame` of a ranking, a fit or a leaderboard, as texts."""
    what = table.columns[1]
    forms: dict[str, tuple[str, Callable[[Any], str]]] = {
        "rank": ("rank", lambda row: str(row.rank)),
        what: (what, lambda row: short(getattr(row, what))),
        "score": ("score", lambda row: signed(row.score)),
        "low": (
            f"{100 * level:g}% interval",
            lambda row: f"{signed(row.low)} to {signed(row.high)}",
        ),
        "rank_low": (f"ranks ({100 * level:g}%)", lambda row: places(row.rank_low, row.rank_high)),
        "p_top": (f"P(top {top})", lambda row: percent(row.p_top)),
        "win_rate": ("wins", lambda row: percent(row.win_rate)),
        "raw_rank": ("rank, any length", lambda row: str(row.raw_rank)),
        "raw_score": ("score, any length", lambda row: signed(row.raw_score)),
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


# How sure, and how fair -----------------------------------------------------------------------


def neighbours(fit: Fit, level: float) -> list[tuple[Any, Any, float, str]]:
    """Each item and the one ranked next: upper, lower, P(the upper is better), verdict."""
    order = np.argsort(-fit.scores, kind="stable")
    found = []
    for i, j, p in zip(order, order[1:], better(fit, order[:-1], order[1:]), strict=False):
        verdict = "settled" if p >= level else "likely" if p >= 0.75 else "open"
        found.append((fit.items[i], fit.items[j], float(p), verdict))
    return found


def better(fit: Fit, i: Indices, j: Indices) -> Floats:
    """P(item i scores above item j) for many pairs at once; `Fit.prob_better` for one."""
    c = fit.covariance()
    error = np.sqrt(np.maximum(c[i, i] + c[j, j] - 2.0 * c[i, j], 0.0))
    gap = fit.scores[i] - fit.scores[j]
    with np.errstate(divide="ignore", invalid="ignore"):
        p = stdtr(fit.freedom, gap / error)
    return np.where(error > 0, p, 0.5 + 0.5 * np.sign(gap))


class Position(NamedTuple):
    """Position bias: the rate as counted, and P(first) between equal texts as estimated."""

    counted: Rate
    equal: Rate | None


def position(fit: Fit, level: float) -> Position:
    """How much the judge preferred what it saw first.

    `equal` is None where no bias was fitted: too few comparisons, or Laplacian experts.
    """
    counted = first_position_rate(fit.comparisons.take(fit.real), level=level)
    if fit.bias_se is None:
        return Position(counted, None)
    half = fit.quantile(level) * fit.bias_se
    at = [_between_equals(fit, fit.bias + move) for move in (0.0, half, -half)]
    return Position(counted, Rate(*at))


def _between_equals(fit: Fit, bias: float) -> float:
    """P(first is better) that a bias means for two items of equal score."""
    p = np.linspace(0.0005, 0.9995, 1999)
    opinion = getattr(fit.expert, "opinion", None)
    at: Floats = np.log(p / (1.0 - p)) if opinion is None else opinion(p)
    return float(np.interp(-bias, at, p))
