"""What a ranking comes to, in words: for a manager, in a terminal, and for the report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit

from judging import kinds
from judging.judges.asking import NEITHER
from judging.practice.ranking.equal import on_top
from judging.practice.ranking.ranking import Ranking, apart
from judging.practice.ranking.readings import (
    Sureness,
    along_length,
    listed,
    percent,
    plural,
    position,
    settled_share,
)
from judging.practice.ranking.together import Together, together
from judging.practice.ranking.verdict import of_fit, verdict
from judging.practice.reading.tables import called
from judging.practice.trust.people import People
from judging.practice.trust.trust import Trust, untold
from judging.question import Answer
from judging.quoting import printable, short
from poe.choose.orders import Decision
from poe.debias import Rate, first_position_rate
from poe.result import COVARIANCE_ITEMS, Fit

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "agreement_of",
    "aligned",
    "calibrated",
    "expert_of",
    "headline",
    "in_text",
    "in_words",
    "judge_name",
    "judged_of",
    "kind",
    "matrix",
    "notes_of",
    "percent",
    "places",
    "plural",
    "rate_in_words",
    "refusals",
    "rows_of",
    "signed",
    "told_apart",
    "totals",
]

WORTH, MOST = 1.1, 10.0  # times as many calls, below and above which nothing is claimed
SHOWN, MATRIX = 20, 12  # rows of a table on a screen, systems in one of win rates
NAMED = 3  # texts that are left out and named


# What a manager reads -------------------------------------------------------------------------


def headline(one: Ranking, thing: str = "text") -> list[str]:
    """What to do, what was found and how far it goes, the most important first."""
    advice = verdict(one, thing)
    said = [advice.text]
    if one.stop is not None and one.stop.kind == "rule":
        said.insert(0, f"What was asked for is known ({one.stopped_because}).")
    said += ["This ranking is partial, because asking was cut short."] if one.partial else []
    said += standing(one.fit, one.level, thing, refused=advice.state == "not by this judge")
    if one.trust is not None:
        # Of "useless" the advice tells the rate, unless it stopped at a judge that hardly reads.
        told = advice.text.startswith("Do not decide by this judge")
        said += one.trust.sentences()[told:]
    elif one.gold or one.choices:
        if agreement := agreement_of(one):
            said.append(f"With the scores that people gave it correlates {agreement[0]:.2f}.")
        said.append(untold(one.fit, People(one.gold, one.choices)))
    else:
        said.append("How far people would agree is not known.")
    return list(filter(None, said))


def standing(fit: Fit, level: float, thing: str, *, refused: bool = False) -> list[str]:
    """Who is best, or that it is open, and how much of the order is settled.

    refused : the judge is not to decide, so only the second.
    """
    settled = _settled_in_words(settled_share(fit, level), thing, level)
    if refused:
        return [settled]
    equal, every = on_top(fit), f"{len(fit.items):,} {plural(thing)}"
    if len(equal) > 1:
        named = listed(called(one, thing) for one in equal)
        if len(equal) > NAMED:
            named = f"All {every}" if len(equal) == len(fit.items) else f"{len(equal):,} of {every}"
        return [f"{named} share first place.", settled]
    best, of_all, sure = called(equal[0], thing), f"the best of {every}", fit.prob_top_set(1)
    if sure >= 0.5:
        probably = "" if sure >= 0.9 else "probably "
        return [f"{best} is {probably}{of_all} ({percent(sure)} sure).", settled]
    return [f"{best} leads, and is {of_all} with a probability of {percent(sure)}.", settled]


def _settled_in_words(share: float, thing: str, level: float) -> str:
    """A share of pairs is counted: unlike a probability it can be none and all."""
    order = f"in an order that is at least {level:.0%} sure"
    if share == 0.0:
        return f"No pair of {plural(thing)} is {order}."
    if share == 1.0:
        return f"All pairs of {plural(thing)} are {order}."
    return f"Of all pairs of {plural(thing)}, {percent(share)} are {order}."


def agreement_of(one: Ranking) -> tuple[float, float, int] | None:
    """`Ranking.agreement`; None too where all texts have the same score."""
    found = one.agreement()
    return None if found is None or np.isnan(found[0]) else found


# In words -------------------------------------------------------------------------------------


def rate_in_words(rate: Rate) -> str:
    """A share with its interval: "58% (52% to 64%)"."""
    return f"{rate.rate:.0%} ({rate.low:.0%} to {rate.high:.0%})"


def calibrated(row: Sureness) -> tuple[str, int, str, str]:
    """A class of answers: how sure, how many, how sure on average, how often people agree."""
    return (
        f"{row.low:.0%} to {row.high:.0%}",
        row.answers,
        f"{row.mean:.0%}",
        rate_in_words(row.right),
    )


def places(low: int, high: int) -> str:
    """An interval of ranks or counts."""
    return f"{low}" if low == high else f"{low}–{high}"


def kind(ranking: Ranking) -> str:
    """Which of the four kinds of number this is."""
    invented = kinds.simulated(judged_of(ranking).judge.specification)
    return "simulated: no language model was asked" if invented else "measured"


def judge_name(ranking: Ranking) -> str:
    """The judge in a few words."""
    given = judged_of(ranking).judge.specification
    return str(given.get("model") or given.get("kind") or "a judge")


def judged_of(ranking: Ranking) -> Any:
    """The judge of texts with its answers; ValueError for a ranking by a plain function."""
    if ranking.judged is None:
        raise ValueError("a report is about texts that a judge read; this ranking has none")
    return ranking.judged


def expert_of(ranking: Ranking) -> str:
    """The expert's name."""
    return type(ranking.fit.expert).__name__.replace("BradleyTerry", "Bradley-Terry")


def totals(rankings: Sequence[Ranking]) -> tuple[int, int, int, str]:
    """Comparisons, those of them asked now, what was read for them, and its unit."""
    judged = [judged_of(one) for one in rankings]
    tokens = sum(answer.read for one in judged for answer in one.answers)
    unit = kinds.unit(judged[0].judge.specification)
    return sum(len(one.pairs) for one in judged), sum(one.new for one in judged), tokens, unit


def notes_of(rankings: Sequence[Ranking]) -> list[str]:
    """What must be said of the judges, and what a reader should know, each once."""
    decisions = [  # that led to anything: what was not asked for them is in no ranking's notes
        one.decision
        for one in rankings
        if one.decision is not None and decided(one.decision) in one.notes
    ]
    apart = {decided(each) for each in decisions} if len(rankings) > 1 else set()
    every = (
        [
            *kinds.cautions(judged_of(one).judge.specification),
            *refusals(one),
            *(note for note in one.notes if note not in apart),
        ]
        for one in rankings
    )
    said = list(dict.fromkeys(chain(*every)))
    if apart:
        both = sum(each.orders == "both" for each in decisions)
        said.append(
            f"asked in both orders in {both} of {len(decisions)} rankings, as the first answers of "
            "each told whether the second order of a pair is worth its call"
        )
    return [*said, *_lengths(rankings), *_unseen(rankings)]


def _lengths(rankings: Sequence[Ranking]) -> list[str]:
    """Judges whose scores go with length, by their names."""
    said = []
    for judge in dict.fromkeys(map(judge_name, rankings)):
        r = along_length(one for one in rankings if judge_name(one) == judge)
        if r is not None:
            said.append(
                f"{'longer' if r > 0 else 'shorter'} texts have the higher scores by {judge} "
                f"(correlation with the number of words {r:+.2f}), which may be quality or only "
                "taste, and no answer of this judge says which"
            )
    return said


def _unseen(rankings: Sequence[Ranking]) -> list[str]:
    """How many answers show one label only, as servers that hide the others' tokens give them."""
    answers = [answer for one in rankings for answer in judged_of(one).answers if not answer.draws]
    bare = sum(map(shows_one_label, answers))
    if not bare:
        return []
    return [
        f"in {bare:,} of {len(answers):,} answers the judge showed one label only, so that they "
        "count as certain, which they may not be; the judge's option top asks for more labels, and "
        "draws=20 for the share of 20 answers (--judge-option draws=20)"
    ]


def shows_one_label(answer: Answer) -> bool:
    """Whether an answer that was not drawn gives one label no probability at all."""
    return not answer.draws and int(np.isneginf(answer.log_p[:2]).sum()) == 1


def refusals(one: Ranking) -> list[str]:
    """What the judge would not answer, and what that means for the ranking."""
    said, again = [], "asked again only with --set retry-refused"
    silent = {NEITHER}  # no refusal: an answer that named neither text
    if out := list(one.left_out.items()):
        named = ", ".join(f"{name} ({why})" for name, why in out[:NAMED])
        more = f" and {len(out) - NAMED:,} more" if len(out) > NAMED else ""
        copies = sum(original in one.left_out for original in one.copies.values())
        of_them = f", with {copies:,} word-for-word copies" if copies else ""
        said.append(
            f"left out, because the judge answers nothing about them: {named}{more}{of_them}"
            + (f"; {again}" if {why for _, why in out} - silent else "")
        )
    if own := judged_of(one).refused:
        first, second, why = own[0]
        said.append(
            f"{len(own):,} {'comparisons were' if len(own) > 1 else 'comparison was'} left out, "
            f"such as {first.id} before {second.id} ({why}); what was left out counts as "
            "never asked, so that intervals are wider"
            + (f"; what was refused is {again}" if {why for *_, why in own} - silent else "")
        )
    return said


def decided(decision: Decision) -> str:
    """What was decided about the two orders of a pair, and why, for a reader."""
    c = f"the errors of the two orders correlate by {decision.c:+.2f}"
    c += f" ± {decision.se:.2f}" if decision.se >= 0.005 else ""  # of -1 there is none
    # Two errors of c nearer to none: what is claimed must not be luck.
    nearest = decision.c + 2.0 * decision.se
    least = decision.ratio * (1.0 + decision.c) / max(1.0 + nearest, 1e-9)
    surely = nearest < 0.0 and least >= WORTH
    return {
        "place": "Asked in both orders: what the judge gets wrong in one order of a pair it tends "
        f"to take back in the other ({c}), so that both are worth at least {min(least, MOST):.1f} "
        "times as many calls in one order."
        if surely
        else "Asked in both orders, which look worth their calls, though the first answers cannot "
        f"tell for sure ({c}).",
        "pairs run out": "Asked in both orders, because a budget of this size leaves hardly any "
        f"new pairs to ask instead ({c}).",
        "items": f"Asked in one order: a new pair tells more than the other order of an old one "
        f"({c}).",
        "sparse": "Asked in one order: the other would take errors away "
        f"({c}), but half as many pairs would link the texts too weakly.",
        "prompts": f"Asked in one order: a call about another prompt tells more ({c}).",
        "unknown": "Asked in one order, drawn by lot: the budget is too small to find out whether "
        "the second order is worth its call.",
    }[decision.reason]


# In a terminal --------------------------------------------------------------------------------


def in_text(rankings: Sequence[Ranking]) -> str:
    """The rankings for a terminal: tables, the judge, what to know."""
    parts = []
    for one in rankings:
        parts += [f"\n{told}"] if (told := told_apart(one, rankings)) else []
        parts += [aligned(rows_of(one.to_frame(), one.level, one.top))]
        parts += [printable(" ".join(headline(one))), _diagnosis(one)]
    for joint in together(rankings):
        where = ", ".join(filter(None, (joint.attribute, joint.name)))
        parts += [f"\nAll judges in one ranking ({where})"]
        if joint.fit is not None:
            parts += [aligned(rows_of(joint.to_frame(), joint.level)), aligned(by_judge(joint))]
        parts += [printable(" ".join(joint.sentences()))]
    calls, new, tokens, unit = totals(rankings)
    read = f"{tokens:,}" if tokens else "unknown"
    return "\n".join(
        [
            *parts,
            f"Judge: {' and '.join(dict.fromkeys(map(judge_name, rankings)))}. "
            f"{calls:,} comparisons, {read} {unit}; {new:,} asked now, "
            f"{max(calls - new, 0):,} from the store.",
            *(f"Note: {note.removesuffix('.')}." for note in notes_of(rankings)),
            "Intervals take the judge's answers as given: not how well it agrees with people, and "
            "not mistakes it makes every time.",
        ]
    )


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
    """What tells a ranking from the others: "Attribute clearer, Context context-1"."""
    told = apart(one, rankings)
    return ", ".join(f"{what.capitalize()} {name}" for what, name in told.items())


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
        f"Of the probability of its next word the judge put {percent(float(np.median(mass)))} on "
        f"{' or '.join(judged_of(one).prompt.labels)} (median; lowest {percent(min(mass))}).",
    ]
    if agreement := agreement_of(one):
        rho, r, n = agreement
        lines.append(
            f"Agreement with the {n} scores by people: Spearman {rho:.2f}, Pearson {r:.2f}."
        )
    if one.fragility is not None:
        lines.append(printable(one.fragility.sentence(one.fit.ranking()[0], "answer", "text")))
    return "\n".join(lines)


# Fits of comparisons that exist, and leaderboards -----------------------------------------------


def in_words(
    fit: Fit,
    level: float,
    errors: str,
    notes: Sequence[str],
    thing: str = "item",
    *,
    in_order: bool = True,
    people: Trust | None = None,
    left: float = np.inf,
    judged: bool = False,
) -> list[str]:
    """Who is best, position, ties, where the errors come from (`errors`, a sentence), notes.

    left : how many more comparisons there can be.
    people : what labels of theirs say of these comparisons.
    judged : whether it is known that a judge made them.
    in_order : whether the table says what was shown first; otherwise nothing is told of positions.
    """
    c = fit.comparisons.take(fit.real)
    known = len(fit.items) <= COVARIANCE_ITEMS
    lines = []
    if known:
        asked: Any = {"thing": thing, "what": "comparison", "left": left, "judged": judged}
        advice = of_fit(fit, level, people=people, **asked)
        refused = advice.state == "not by this judge"
        lines.append(" ".join([advice.text, *standing(fit, level, thing, refused=refused)]))
        lines += [] if people is None else people.sentences()
    if in_order:
        said = f"First position preferred: {rate_in_words(first_position_rate(c, level=level))}"
        if fit.bias_fitted:
            said += f"; between equals {expit(-fit.bias):.0%}, corrected for"
        lines.append(f"{said}.")
    ties = int((c.p == 0.5).sum())
    one = "comparison" if len(c) == 1 else "comparisons"
    lines.append(f"{len(c):,} {one}, {ties:,} {'tie' if ties == 1 else 'ties'}.")
    if known:
        lines.append(errors)
    return lines + [f"Note: {note}." for note in notes]


def signed(value: float) -> str:
    """With two decimals and a sign, which is never that of a negative zero."""
    return f"{round(value, 2) + 0.0:+.2f}"


def with_error(rate: float, se: float) -> str:
    """A share and its standard error in per cent, "" where there is none."""
    return "" if np.isnan(rate) else f"{100 * rate:.1f}% ± {100 * se:.1f}"


def rows_of(table: pd.DataFrame, level: float, top: int = 0) -> list[list[str]]:
    """Head and rows of the `to_frame` of a ranking, a fit or a leaderboard, as texts.

    All three have rank, name, score, low, high, rank_low and rank_high (but for huge fits, which
    have no intervals); the rest is shown where it is there.
    """
    sure = f"{100 * level:g}%"
    forms: dict[str, tuple[str, Callable[[Any], str]]] = {
        "rank": ("rank", lambda row: str(row.rank)),
        "name": ("name", lambda row: short(row.name)),
        "score": ("score", lambda row: signed(row.score)),
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
        "lc_reference_rate": (
            "wins, equal length",
            lambda row: with_error(row.lc_reference_rate, row.lc_reference_se),
        ),
    }
    shown = [form for column, form in forms.items() if column in table]
    rows = [[cell(row) for _, cell in shown] for row in table.itertuples(index=False)]
    return [[head for head, _ in shown], *rows]


def by_group(groups: pd.DataFrame) -> list[list[str]]:
    """`Leaderboard.groups` as texts: a row a system, a column a group."""
    values = list(dict.fromkeys(groups["group"]))
    lines = [["", *map(short, values)]]
    for name in dict.fromkeys(groups["name"]):
        own = groups[groups["name"] == name].set_index("group")
        line = [short(name)]
        for value in values:
            if value not in own.index:
                line.append("")
            elif "win_rate" in own:
                line.append(with_error(own.loc[value, "win_rate"], own.loc[value, "se"]))
            elif np.isnan(own.loc[value, "score"]):
                line.append("not linked")
            else:
                low, high = own.loc[value, ["low", "high"]]
                line.append(f"{signed(own.loc[value, 'score'])} ({signed(low)} to {signed(high)})")
        lines.append(line)
    return lines


def of_people(rates: pd.DataFrame) -> list[list[str]]:
    """`judging.practice.board.people.among_people` as texts."""
    rows = [
        [
            str(k),
            short(row.name),
            f"{row.people:.1%} ({row.low:.1%} to {row.high:.1%})",
            f"{row.judge:.1%}",
            str(row.labels),
            f"{row.gain:.1f}x",
        ]
        for k, row in enumerate(rates.itertuples(index=False), start=1)
    ]
    return [["", "name", "wins among people", "by the judge", "labels", "worth"], *rows]


def matrix(rates: pd.DataFrame) -> list[list[str]]:
    """The win rates of the systems on top, as texts."""
    names = rates.index[:MATRIX].tolist()
    lines = [["", "", *(f"({k})" for k in range(1, len(names) + 1))]]
    for k, name in enumerate(names, start=1):
        values = ["" if np.isnan(x) else f"{x:.0%}" for x in rates.loc[name, names]]
        lines.append([f"({k})", short(name), *values])
    return lines
