"""`judging plan`: how many calls a ranking takes, and how many labels of people."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from judging.practice.cli import options as o
from judging.practice.cli import screen
from judging.practice.ranking.settings import Asking


@o.app.command(
    epilog="With --json, standard output is one object: comparisons, per_item, standard_error, "
    "cost (null without prices), labels (scores, choices), labels_above_chance (the same) and "
    "labels_for_intervals."
)
@o.takes(asking="price")
def plan(
    texts: Annotated[int, typer.Argument(help="How many texts are to be ranked.", min=2)],
    *,
    apart: Annotated[
        float,
        o.opt("Put two texts that are this many logits apart in the right order, ...", min=0.01),
    ] = 1.0,
    sure: Annotated[
        float, o.opt("... with this probability.", min=0.5, max=0.999, metavar="P")
    ] = 0.9,
    sigma: Annotated[
        float,
        o.opt(
            "How far an answer scatters around the truth, in logits: 2 for a bare decision, less "
            "for a judge that gives probabilities.",
            min=0.01,
        ),
    ] = 2.0,
    agreement: Annotated[
        float, o.opt("How often you expect people to agree with the judge.", metavar="P")
    ] = 0.75,
    within: Annotated[
        float, o.opt("The error with which you want to know that.", metavar="P")
    ] = 0.1,
    confidence: Annotated[
        float, o.opt("The confidence level of intervals.", min=0.5, max=0.999)
    ] = 0.95,
    tokens: Annotated[
        float | None, o.opt("Tokens that the judge reads per comparison.", min=1.0)
    ] = None,
    asking: Asking,
    as_json: o.AsJson = False,
) -> None:
    """Say how many calls to a judge, and how many labels by people, a ranking will take."""
    from judging.practice.trust import needed
    from poe.choose.planning import plan as planned

    price = asking.price
    if price is not None and tokens is None:
        raise ValueError("a price is of tokens: say how many a comparison has, --tokens 800")
    read, written = price or (0.0, 0.0)
    try:
        wanted = planned(
            texts,
            separate=(apart, sure),
            sigma=sigma,
            tokens=None if price is None else tokens,
            price_input=read,
            price_output=written,
        )
    except ValueError:
        raise ValueError(
            f"all {texts * (texts - 1):,} comparisons of {texts:,} texts are too few to put two "
            f"that are {apart:g} apart in logits in the right order in {sure:.0%} of cases: be "
            "less sure (--sure), or ask about a larger difference (--apart)"
        ) from None
    labels = needed(agreement, within, level=confidence)
    scores = min(labels.scores, texts)

    def text() -> str:
        cost = "" if wanted.cost is None else f", ${wanted.cost:,.2f}"
        lines = [
            f"{wanted.comparisons:,} calls ({wanted.comparisons / texts:.1f} a text){cost}: two "
            f"texts {apart:g} apart in logits come in the right order in {wanted.prob_right:.0%} "
            f"of cases, if an answer scatters by {sigma:g} logits.",
            f"Labels: scores by people of {scores:,} texts, or {labels.choices:,} choices between "
            f"two, tell to within {100 * within:g} points how often they agree, if that is about "
            f"{agreement:.0%}.",
        ]
        if labels.above_chance is not None:
            one, two = labels.above_chance
            lines.append(
                f"To show that the judge beats a coin: {one:,} scores or {two:,} choices (in four "
                "cases of five)."
            )
        else:
            lines.append(
                f"No number of labels shows that a judge beats a coin if people agree with it in "
                f"{agreement:.0%}: take another judge."
            )
        lines.append(
            f"For an interval of every text on people's scale, at {confidence:.0%}: "
            f"{labels.intervals:,} scores."
        )
        if max(labels.scores, labels.intervals) > texts:
            lines.append(f"There are only {texts:,} texts, so all of them would be scored.")
        lines.append("Draw what is labelled at random, or the intervals do not hold.")
        given = "" if price is None else f" --price {read:g},{written:g}"
        lines.append(
            "Next, for example: judging rank texts.csv --attribute clearer --judge qwen --budget "
            f"{wanted.comparisons}{given} --report report.html"
        )
        return "\n".join(lines)

    def everything() -> dict[str, Any]:
        above = labels.above_chance
        return {
            "comparisons": wanted.comparisons,
            "per_item": wanted.per_item,
            "standard_error": wanted.standard_error,
            "cost": wanted.cost,
            "labels": {"scores": labels.scores, "choices": labels.choices},
            "labels_above_chance": above and {"scores": above[0], "choices": above[1]},
            "labels_for_intervals": labels.intervals,
        }

    screen.deliver(text, everything if as_json else None, {})
