"""The report's sections on the judge: position bias, label mass, convergence."""

from __future__ import annotations

import numpy as np

from poe.debias import Rate
from poe.judges.ranking import TextRanking
from poe.report import facts, figures
from poe.report.html import Markup, figure, section, tag
from poe.report.sections import paragraphs, percent_level
from poe.report.svg import Scale

CLOSE = 0.95  # correlation with the final ranking that counts as having arrived
LOW_MASS = 0.5  # below this an answer is more about something else than about the labels


def position(found: TextRanking, *, anchor: str, level: int = 2) -> Markup:
    """Whether the judge prefers what it sees first."""
    at = facts.position(found)
    rows = [("as counted", *at.counted)]
    if at.equal:
        rows.append(("between equals", *at.equal))
    picture = figures.strips(
        rows,
        Scale(0.0, 1.0),
        marks=(0.0, 0.25, 0.5, 0.75, 1.0),
        texts=("0%", "25%", "50%", "75%", "100%"),
        label="; ".join(f"{name}: {rate_in_words(Rate(*rest))}" for name, *rest in rows),
    )
    caption = (
        "How often the first is preferred; 50% is a judge without position bias. Intervals: "
        f"{percent_level(found.level)}."
    )
    drawn = figure(picture, caption)
    text = paragraphs(_counted(found, at.counted), _estimated(found, at.equal))
    return section("Position bias", text, drawn, anchor=anchor, level=level)


def rate_in_words(rate: Rate) -> str:
    """A share with its interval: "58% (52% to 64%)"."""
    return f"{rate.rate:.0%} ({rate.low:.0%} to {rate.high:.0%})"


def _counted(found: TextRanking, rate: Rate) -> str:
    shown = "in both orders" if found.both_orders else "in one order, drawn at random"
    return (
        f"The judge decided for the text shown first in {rate_in_words(rate)} of "
        f"{len(found.judged.pairs)} comparisons. Pairs were asked {shown}."
    )


def _estimated(found: TextRanking, equal: Rate | None) -> str | None:
    if equal is None:
        return "The bias was not estimated together with the scores, so it has no interval here."
    side = "first" if equal.rate > 0.5 else "second"
    where = equal.rate if side == "first" else 1.0 - equal.rate
    low, high = (equal.low, equal.high) if side == "first" else (1 - equal.high, 1 - equal.low)
    clear = equal.low > 0.5 or equal.high < 0.5
    if not clear:
        return (
            f"Of two equally good texts it would prefer the first in {rate_in_words(equal)} of "
            "cases: no preference for a position can be told from chance."
        )
    return (
        f"Of two equally good texts it would prefer the one shown {side} in {where:.0%} of cases "
        f"({low:.0%} to {high:.0%}). The scores above are corrected for this."
    )


def mass(found: TextRanking, *, anchor: str, level: int = 2) -> Markup:
    """How much of the answer was about the labels at all."""
    every, labels = facts.masses(found), found.judged.prompt.labels
    said = " and ".join(f"“{label}”" for label in labels)
    draws = {answer.draws for answer in found.judged.answers} - {0}
    if every.min() > 0.9995:
        text = f"The label words {said} had all of the probability in every answer."
        return section("Label mass", tag("p", text), anchor=anchor, level=level)
    low = int((every < LOW_MASS).sum())
    text = (
        f"How much of the probability of the next word was on {said}: median "
        f"{np.median(every):.2g}, lowest {every.min():.3g}; below {LOW_MASS:g} in {low} of "
        f"{len(every)} answers."
    )
    warning = None
    if low > 0.05 * len(every):
        warning = tag(
            "p",
            "Much of the time the judge was about to say something else. Look at the prompt: an "
            "answer prefix or other label words may help.",
            class_="note",
        )
    sampled = (
        "Some answers are counts of sampled replies, not log-probabilities." if draws else None
    )
    bars = figures.histogram(
        np.clip(every, 0.0, 1.0),
        np.linspace(0.0, 1.0, 11),
        label=text,
        below=("0", "1: all on the label words"),
        unit="answers",
    )
    drawn = figure(bars, "Answers by the mass on the label words.")
    return section(
        "Label mass", paragraphs(text, sampled), warning, drawn, anchor=anchor, level=level
    )


def convergence(found: TextRanking, *, anchor: str, level: int = 2) -> Markup:
    """How the ranking settled while calls were made."""
    rows = found.history
    why = f"Asking stopped because: {found.ranking.stopped_because}."
    if "budget" not in found.ranking.stopped_because:
        why += (
            " A rule that is looked at after every round stops at a lucky look now and then, so "
            "the probability it states is a little too high."
        )
    if len(rows) < 2:
        text = "All comparisons were asked in one round, so there is no path to show."
        return section("Convergence", paragraphs(why, text), anchor=anchor, level=level)
    asked = rows["asked"].tolist()
    agreement = rows["agreement"].tolist()
    made = []
    if rows["error"].notna().all():
        errors = rows["error"].tolist()
        picture = figures.path(
            asked,
            errors,
            include=(0.0,),
            label=f"Typical standard error against calls: from {errors[0]:.2f} at {asked[0]} calls "
            f"to {errors[-1]:.2f} at {asked[-1]}.",
        )
        made.append(figure(picture, "Typical standard error of a score."))
    # From where on it never fell below again.
    after = max((k + 1 for k, r in enumerate(agreement) if r < CLOSE), default=0)
    since = f"at least {CLOSE:g} from {asked[after]} on" if after else f"never below {CLOSE:g}"
    path = (
        f"Spearman correlation with the final ranking: {agreement[0]:.2f} after the first "
        f"{asked[0]} calls, {since}."
    )
    picture = figures.path(
        asked,
        agreement,
        include=(1.0,),
        label=f"Spearman correlation with the final ranking against calls: {agreement[0]:.2f} at "
        f"{asked[0]} calls, 1 at the end.",
    )
    made.append(figure(picture, "Spearman correlation with the final ranking."))
    body = tag("div", made, class_="pair")
    return section("Convergence", paragraphs(path, why), body, anchor=anchor, level=level)
