"""The report's sections on one ranking: what came out and how sure it is."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from poe.judges.intervals import scatter
from poe.judges.ranking import TextRanking
from poe.report import facts, figures
from poe.report.html import Child, Markup, figure, join, section, table, tag
from poe.report.svg import around

SETTLED, LIKELY = "settled", "likely"
MATRIX = 40  # texts up to which every single comparison is drawn


def percent(share: float) -> str:
    """A probability as a percentage that never claims certainty."""
    if 0.995 <= share < 1.0 or (share == 1.0):
        return "over 99%"
    if share < 0.005:
        return "under 1%"
    return f"{100 * share:.0f}%"


def ranking(found: TextRanking, *, anchor: str, level: int = 2) -> Markup:
    """The order, drawn and as a table."""
    rows, sure = found.scores(), percent_level(found.level)
    shown = rows[rows["same_text_as"] == ""]
    scale = around([*shown["score_low"], *shown["score_high"]])
    what = (
        f"Scores of {len(shown)} texts from best to worst with {sure} intervals; best is "
        f"{shown['id'].iloc[0]}, last {shown['id'].iloc[-1]}. The table below has the numbers."
    )
    if len(shown) <= figures.NAMED:
        named = shown[["id", "score", "score_low", "score_high"]].to_numpy().tolist()
        picture = figures.strips([(str(i), *v) for i, *v in named], scale, label=what)
    else:
        picture = figures.caterpillar(shown, scale, label=what)
    drawn = figure(picture, _unit(found))
    return section("Ranking", drawn, _table(found), anchor=anchor, level=level)


def percent_level(level: float) -> str:
    """A confidence level as in "95%"."""
    return f"{100 * level:g}%"


def _unit(found: TextRanking) -> str:
    text = f"Score, mean zero, with its {percent_level(found.level)} interval. "
    if type(found.fit.expert).__name__ == "BradleyTerry":
        text += (
            f"A text that scores 1 higher is preferred with probability {expit(1.0):.0%} by this "
            f"judge; 2 higher, {expit(2.0):.0%}."
        )
    return text


def _table(found: TextRanking) -> Markup:
    rows, people = found.scores(), bool(found.gold)
    sure = percent_level(found.level)
    head = ["Rank", "Text", "Score", f"{sure} interval", "Ranks", f"Among top {found.top}", "Asked"]
    lines = []
    for row in rows.itertuples(index=False):
        name: Child = row.id
        if row.same_text_as:
            name = [row.id, tag("span", f" (same text as {row.same_text_as})", class_="quiet")]
        cells = [
            row.rank,
            name,
            f"{row.score:+.2f}",
            f"{row.score_low:+.2f} to {row.score_high:+.2f}",
            places(row.rank_low, row.rank_high),
            percent(row.p_top),
            row.comparisons,
        ]
        lines.append(
            [*cells, "" if row.gold != row.gold else f"{row.gold:.4g}"] if people else cells
        )
    caption = (
        f"All texts from best to worst. Ranks: {sure} interval of the rank. "
        "Asked: comparisons the text took part in."
    )
    numbers = [0, 2, 3, 4, 5, 6, 7]
    return table(head + ["People"] * people, lines, caption=caption, numbers=numbers)


def places(low: int, high: int) -> str:
    """An interval of ranks."""
    return f"{low}" if low == high else f"{low}–{high}"


def certainty(found: TextRanking, *, anchor: str, level: int = 2) -> Markup:
    """Which neighbours are settled, and how much of the top is known."""
    near, sure = facts.neighbours(found.fit), percent_level(found.level)
    settled = int((near["p"] >= found.level).sum())
    toss = int((near["p"] < 0.75).sum())
    said = (
        f"Pairs of neighbours in the ranking: {len(near)}. Settled, the upper one better with at "
        f"least {sure}: {settled}. Open, with less than 75%: {toss}."
    )
    lines = []
    for row in near.itertuples(index=False):
        word = SETTLED if row.p >= found.level else LIKELY if row.p >= 0.75 else "open"
        kind = {"open": "open", SETTLED: "settled"}.get(word)
        lines.append([row.upper, row.lower, percent(row.p), tag("span", word, class_=kind)])
    head = ["Upper", "Lower", "P(upper is better)", "Verdict"]
    caption = "Neighbours in the ranking: how probable it is that the upper one is better."
    top = [[k, percent(p)] for k, p in facts.top_sets(found.fit)]
    sets = table(
        ["The best", "are exactly those now on top"],
        top,
        caption="How probable it is that the best texts are exactly those now on top.",
        numbers=[0, 1],
    )
    return section(
        "What is certain and what is not",
        tag("p", said),
        table(head, lines, caption=caption, numbers=[2]),
        sets if len(top) > 1 else None,
        tag("p", ASSUMPTION, " ", _basis(found), class_="quiet"),
        anchor=anchor,
        level=level,
    )


ASSUMPTION = (
    "What the intervals mean: the judge's answers are taken as they are, and the intervals say how "
    "far the ranking could move if this judge were asked the other comparisons too. They do not "
    "say how well the judge agrees with people, and a mistake it makes every time does not "
    "widen them."
)


def _basis(found: TextRanking) -> str:
    """Where the width of the intervals comes from."""
    if type(found.fit.expert).__name__ != "BradleyTerry":
        return "Their width comes from the expert named above."
    spread = scatter(found.ranking.fit)
    if found.intervals == "decisions" or spread is None:
        few = (
            "There are too few answers to tell how they scatter, so each counts as one decision, "
            "which makes wide intervals."
        )
        counted = "Their width counts every answer as one decision."
        return few if found.intervals == "scatter" and not _decisions(found) else counted
    return (
        f"Their width comes from how far the answers scatter around the scores: {spread.in_words}."
    )


def _decisions(found: TextRanking) -> bool:
    return bool(np.isin(found.ranking.comparisons.p, (0.0, 0.5, 1.0)).all())


def coverage(found: TextRanking, *, anchor: str, level: int = 2) -> Markup:
    """How evenly the comparisons are spread."""
    fit, pairs = found.fit, found.judged.pairs
    n = len(fit.items)
    times = np.bincount(pairs.ravel(), minlength=n)
    unordered = len(np.unique(np.sort(pairs, axis=1), axis=0))
    said = (
        f"{len(pairs)} of {n * (n - 1)} possible comparisons were asked ({_share(len(pairs), n)}), "
        f"among {unordered} of {n * (n - 1) // 2} pairs. Each text took part in "
        f"{places(int(times.min()), int(times.max()))} of them."
    )
    edges = _edges(times)
    bars = figures.histogram(
        times,
        edges,
        label=f"How many texts took part in how many comparisons, {times.min()} to {times.max()}.",
        below=(f"{int(np.ceil(edges[0]))}", f"{int(edges[-1])} comparisons"),
        unit="texts",
    )
    made = [figure(bars, "Texts by how many comparisons they are in.")]
    if n <= MATRIX:
        order = np.argsort(-fit.scores, kind="stable").tolist()
        cells = figures.coverage(
            found.ranking.comparisons,
            order,
            label="Each comparison as a cell: the row was shown first, the column second, "
            "both from best to worst. In a consistent set the first wins above the diagonal.",
        )
        caption = [
            "Each comparison as a cell; row shown first, column second, both from best to worst. ",
            tag("span", class_="swatch first"),
            " first preferred, ",
            tag("span", class_="swatch second"),
            " second preferred, stronger colour for a surer answer, empty where nothing was asked.",
        ]
        made.append(figure(cells, caption))
    body = tag("div", made, class_="pair")
    return section("What was compared", tag("p", said), body, anchor=anchor, level=level)


def _share(asked: int, n: int) -> str:
    return f"{asked / (n * (n - 1)):.0%}"


def _edges(times: np.ndarray) -> np.ndarray:
    """Bins of whole numbers, twelve at most."""
    low, high = int(times.min()), int(times.max())
    step = -(-(high - low + 1) // 12)
    return np.arange(low, high + step + 1, step) - 0.5


def next_up(found: TextRanking, *, anchor: str, level: int = 2) -> Markup | None:
    """Which comparisons would help most, and what more of them would buy."""
    n = len(found.fit.items)
    if n > facts.LARGEST:
        return None
    later = facts.prospects(found)
    if len(later) == 1:
        words = "Every comparison has been asked in both orders; this judge has no more to say."
        return section("What to ask next", tag("p", words), anchor=anchor, level=level)
    pairs = facts.next_pairs(found, 10)
    lines = [[row.first, row.second, percent(row.p)] for row in pairs.itertuples(index=False)]
    now = later[0].error
    gains = [
        [f"{len(found.judged.pairs) + q.calls}", f"{q.calls:+d}" if q.calls else "now",
         f"{q.error:.3f}", f"{q.error / now - 1:+.0%}" if q.calls else ""]
        for q in later
    ]  # fmt: skip
    ahead = table(
        ["Calls", "More", "Typical standard error", "Change"],
        gains,
        caption="What more calls would buy: predicted standard error of a score.",
        numbers=[0, 1, 2, 3],
    )
    upcoming = table(
        ["Shown first", "Shown second", "P(first is better), as far as known"],
        lines,
        caption=f"The next comparisons by the rule used here ({found.rule}); pairs that were not "
        "asked in either order come first.",
        numbers=[2],
    )
    note = (
        "The prediction assumes that the judge goes on as it did. To go on, repeat the command "
        "with a larger budget and the same store: nothing is asked twice."
    )
    return section(
        "What to ask next", ahead, upcoming, tag("p", note, class_="quiet"), anchor=anchor,
        level=level,
    )  # fmt: skip


def paragraphs(*texts: str | None) -> Markup:
    """Paragraphs of those that are there."""
    return join(tag("p", text) for text in texts if text)
