"""The report as a whole: what was done, the rankings, the judge, how to repeat it."""

from __future__ import annotations

import platform
from collections.abc import Sequence

import numpy as np
import pandas as pd
import scipy

from poe.errors import name_some
from poe.judges.demo import LABEL
from poe.judges.ranking import TextRanking
from poe.report import diagnosis, figures, sections
from poe.report.html import Markup, page, section, table, tag
from poe.report.sections import paragraphs, percent_level

EXCERPT = 600  # characters of a text that the report shows


def report(
    found: Sequence[TextRanking], *, attribute: str, command: str, made: str, thing: str = "text"
) -> str:
    """The page for one ranking, or for several contexts ranked apart.

    attribute : what was asked, "more persuasive". command : what repeats it. made : the date.
    Everything a user wrote is escaped.
    """
    things = _plural(thing)
    number = sum(len(one.fit.items) + len(one.twins) for one in found)
    title = f"{number} {things} ranked: {attribute}"
    body = _several(found) if len(found) > 1 else _one(found[0], prefix="", level=2)
    return page(
        title,
        tag("header", tag("h1", title), _what(found, attribute, things), _facts(found)),
        _notes(found),
        body,
        _texts(found, things),
        _method(found, command),
        tag("footer", tag("p", f"Made on {made} by poe {_version()}.", class_="quiet")),
    )


def kind(found: TextRanking) -> str:
    """Which of the four kinds of number this is."""
    demo = found.judged.judge.specification.get("kind") == "demo"
    return "simulated: no language model was asked" if demo else "measured"


def judge_name(found: TextRanking) -> str:
    """The judge in a few words."""
    given = found.judged.judge.specification
    return str(given.get("model") or given.get("kind") or "a judge")


def _expert(found: TextRanking) -> str:
    return type(found.fit.expert).__name__.replace("BradleyTerry", "Bradley-Terry")


def _plural(thing: str) -> str:
    if thing.endswith("y") and thing[-2:-1] not in tuple("aeiou"):
        return thing[:-1] + "ies"
    return thing + ("es" if thing.endswith(("s", "x", "ch", "sh")) else "s")


def _version() -> str:
    from poe import __version__

    return __version__


def _what(found: Sequence[TextRanking], attribute: str, things: str) -> Markup:
    one = found[0]
    calls = sum(len(each.judged.pairs) for each in found)
    apart = f" in {len(found)} contexts, each ranked by itself," if len(found) > 1 else ""
    said = (
        f"{calls} comparisons of two {things}{apart} were put to a judge, {judge_name(one)}: "
        f"which is {attribute}? Their probabilities were combined into scores by a product of "
        f"experts ({_expert(one)})."
    )
    return Markup(tag("p", said, class_="lead") + tag("p", tag("span", kind(one), class_="kind")))


def _facts(found: Sequence[TextRanking]) -> Markup:
    one = found[0]
    calls = sum(len(each.judged.pairs) for each in found)
    new = sum(each.judged.new for each in found)
    unit = "words" if judge_name(one) == LABEL else "tokens"
    tokens = sum(each.tokens for each in found)
    computed = sum(answer.computed for each in found for answer in each.judged.answers)
    if computed < 0.99 * tokens:
        unit += f", {computed:,.0f} of them computed, the rest shared"
    every: list[tuple[str, str, str]] = [
        ("Texts", f"{sum(len(each.fit.items) + len(each.twins) for each in found)}", ""),
        ("Comparisons", f"{calls:,}", f"{new:,} asked now, {max(calls - new, 0):,} from the store"),
        ("Read by the judge", f"{tokens:,}", unit),
    ]
    if len(found) == 1:
        best = one.fit.ranking()[0]
        top = one.fit.prob_top(1)[one.fit.items.index(best)]
        sure = sections.percent(float(top))
        every.insert(1, ("On top", str(best), f"best with probability {sure}"))
    agreement = one.agreement()
    if agreement and len(found) == 1:
        rho, r, n = agreement
        every.append(
            ("Agreement with people", f"{rho:.2f}", f"Spearman; Pearson {r:.2f}; {n} texts")
        )
    return tag(
        "dl",
        [
            tag("div", tag("dt", name), tag("dd", value, tag("small", more) if more else None))
            for name, value, more in every
        ],
        class_="facts",
    )


def _notes(found: Sequence[TextRanking]) -> Markup:
    notes = list(dict.fromkeys(note for one in found for note in one.notes))
    twins = {copy: original for one in found for copy, original in one.twins.items()}
    if twins:
        notes.append(
            f"Word for word the same text, ranked once: {name_some(twins)}. The table says as "
            "which."
        )
    ties = sum(one.judged.ties for one in found)
    if ties:
        notes.append(f"To {ties} comparisons the judge gave no label; they count as ties.")
    if found[0].judged.judge.specification.get("kind") == "demo":
        notes.insert(
            0,
            "The judge of this report is a readability formula with an invented position bias and "
            "an invented disturbance. It does not read the question. It shows what a report "
            "looks like and is no evidence about language models.",
        )
    return Markup("".join(tag("p", _sentence(note), class_="note") for note in notes))


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


def _one(found: TextRanking, *, prefix: str, level: int) -> Markup:
    made = [
        sections.ranking(found, anchor=f"{prefix}ranking", level=level),
        sections.certainty(found, anchor=f"{prefix}certainty", level=level),
        sections.coverage(found, anchor=f"{prefix}coverage", level=level),
        diagnosis.position(found, anchor=f"{prefix}position", level=level),
        diagnosis.mass(found, anchor=f"{prefix}mass", level=level),
        diagnosis.convergence(found, anchor=f"{prefix}convergence", level=level),
        sections.next_up(found, anchor=f"{prefix}next", level=level),
    ]
    return Markup("".join(part for part in made if part))


def _several(found: Sequence[TextRanking]) -> Markup:
    made = []
    for number, one in enumerate(found, start=1):
        best = one.fit.ranking()[0]
        agreement = one.agreement()
        people = f"; Spearman with people {agreement[0]:.2f}" if agreement else ""
        summary = f"{best} is on top of {len(one.fit.items)}{people}"
        inside = _one(one, prefix=f"c{number}-", level=3)
        heading = tag("h2", f"Context {number}: {_beginning(one)}", id=f"c{number}")
        closed = tag("details", tag("summary", summary), inside, open=number == 1 and "open")
        made.append(tag("section", heading, closed, aria_labelledby=f"c{number}"))
    return Markup("".join(made))


def _beginning(found: TextRanking) -> str:
    """The first words of a context."""
    context = found.judged.context
    words = "" if context is None else " ".join(context.text.split())
    return words if len(words) <= 60 else words[:60].rstrip() + " […]"


def _texts(found: Sequence[TextRanking], things: str) -> Markup:
    made = []
    for one in found:
        by_id = {text.id: text.text for text in one.judged.texts}
        for place, name in enumerate(one.fit.ranking(), start=1):
            whole = by_id[str(name)].strip()
            shown = whole if len(whole) <= EXCERPT else whole[:EXCERPT].rstrip() + " […]"
            where = f"{one.name}, " if len(found) > 1 else ""
            made.append(tag("details", tag("summary", f"{where}{place}. {name}"), tag("p", shown)))
    if len(made) > figures.NAMED:
        made = [tag("details", tag("summary", f"All {len(made)} {things}"), made)]
    about = f"From best to worst; the first {EXCERPT} characters of each."
    return section(f"The {things}", tag("p", about, class_="quiet"), made, anchor="texts")


def _method(found: Sequence[TextRanking], command: str) -> Markup:
    one = found[0]
    prompt = one.judged.prompt
    rows = [[key, value] for key, value in one.judged.judge.specification.items()]
    settings: list[list[object]] = [
        ["expert", _expert(one)],
        ["selection", f"{one.rule}, {'both orders' if one.both_orders else 'one order'}"],
        ["intervals", f"{percent_level(one.level)}, by {one.intervals}"],
        ["seed", one.seed],
        ["label words", ", ".join(prompt.labels)],
        ["answer prefix", prompt.prefix or "none"],
        ["system message", prompt.system or "none"],
        ["prompt", f"{prompt.name}, {prompt.digest[:12]}"],
        ["versions", _versions()],
    ]
    return section(
        "How this was done",
        tag("h3", "The prompt in full"),
        tag("pre", prompt.template),
        tag("h3", "The judge and the settings"),
        table(["Judge", "is"], rows, caption="The judge's specification.", numbers=[]),
        table(["Setting", "is"], settings, caption="Everything else.", numbers=[]),
        tag("h3", "To repeat it"),
        paragraphs("With the same store nothing is asked again."),
        tag("pre", command.replace(" --", " \\\n  --")),
        anchor="method",
    )


def _versions() -> str:
    return (
        f"poe {_version()}, Python {platform.python_version()}, NumPy {np.__version__}, "
        f"SciPy {scipy.__version__}, pandas {pd.__version__}"
    )
