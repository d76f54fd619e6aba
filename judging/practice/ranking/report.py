"""One self-contained HTML page on a ranking: no network, nothing to install.

It has no scripts.

This module works out what the page says; `report.html`, a Jinja2 template, says and draws it.
Jinja2 escapes everything that a user wrote. Pictures are SVG with widths in per cent and type in
pixels, so that one fills a telephone and a wide screen alike while its letters keep their size;
colours are names of classes, for light, dark and paper.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from judging.machine import write
from judging.practice import findings as f
from judging.practice.ranking import findings, readings, words
from judging.practice.ranking.equal import on_top
from judging.practice.ranking.method import Method
from judging.practice.ranking.ranking import Ranking, first_words, judge_name, judged_of
from judging.practice.ranking.together import Together, together
from judging.practice.ranking.verdict import Advice
from judging.practice.ranking.words import places, signed
from judging.practice.sentences import listed, percent, plural, say, say_all
from judging.practice.trust.needed import needed
from judging.quoting import csv_text, quoted

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["board", "report"]

EXCERPT, BEGINS = 600, 40  # characters of a text that the report shows, and beside its name

NAMED = 60  # texts up to which all are shown; of more the ends, and those around the open place
ENDS, AROUND = (20, 10), 20  # how many at the top and the bottom, and around the open place
MOST_TOP = 10  # texts up to which it is said how sure a top set is
BOARD = 250  # rows of a page on comparisons that exist
MATRIX = 40  # texts up to which every single comparison is drawn
LARGEST = 600  # texts up to which what to ask next is worked out
CLOSE = 0.95  # correlation with the final ranking that counts as having arrived
ADVICE = (Advice, f.Known)  # printed in bold
# What has a place of its own on the page: on top, and in the section on people.
SHOWN = (f.Stopped, f.Unit, readings.Position, f.Correlation)
BELOW = (f.Equal, f.Worth, f.Within)
LOW_MASS = 0.5  # below this an answer is more about something else than about the labels


def report(
    rankings: Ranking | Sequence[Ranking],
    path: str | Path | None = None,
    *,
    attribute: str = "",
    command: str = "",
    made: str = "",
    thing: str = "text",
) -> str:
    """The page for one ranking, or for several contexts ranked apart: HTML that loads nothing.

    Parameters
    ----------
    path
        A file to write it to as well.
    attribute
        What was asked, "more persuasive", by default the ranking's own.
    command
        What repeats it.
    made
        The date, by default today.

    Examples
    --------
    >>> ranking = judging.rank({"a": "Short.", "b": "Interminable."}, "demo", attribute="plainer")
    >>> "<h1>" in judging.report(ranking)
    True
    """
    rankings = [rankings] if isinstance(rankings, Ranking) else rankings
    if not rankings:
        raise ValueError("there is no ranking to report")
    for one in rankings:
        one.to_frame()  # which says what it lacks where it has no errors
    attribute = attribute or rankings[0].attribute or judged_of(rankings[0]).prompt.name
    page = _rendered(
        "report.html",
        title=f"{_number_of_texts(rankings):,} {plural(thing)} ranked: {attribute}",
        attribute=attribute,
        things=plural(thing),
        kind=words.kind(rankings[0]),
        judge=" and ".join(dict.fromkeys(map(judge_name, rankings))),
        facts=_facts(rankings),
        notes=_notes(rankings),
        rankings=[_page(one, thing, words.told_apart(one, rankings)) for one in rankings],
        joint=[_joint(one) for one in together(rankings)],
        **_method(rankings[0], command, made).page(),
        prompt=judged_of(rankings[0]).prompt,
        expert=words.expert_of(rankings[0].fit),
        calls=f"{findings.cost(rankings).comparisons:,}",
        excerpt=EXCERPT,
        named_up_to=NAMED,
        low_mass=LOW_MASS,
        close=CLOSE,
        unit=Scale(0.0, 1.0),
        around=around,
        median=np.median,
        known=lambda values: bool(np.isfinite(values).all()),
        texts=_texts,
    )
    if path is not None:
        write(Path(path), page)
    return page


def board(
    title: str,
    table: pd.DataFrame,
    found: findings.Found,
    rates: pd.DataFrame | None,
    *,
    level: float,
    method: Method,
    thing: str = "system",
) -> str:
    """The page on comparisons that exist: `Fit.to_frame` or `Leaderboard.to_frame`, win rates."""
    rows = words.rows_of(table, level)
    if len(rows) > BOARD:
        left = ["…", f"{len(rows) - BOARD:,} more", *[""] * (len(rows[0]) - 2)]
        rows = [*rows[: BOARD - 50], left, *rows[-50:]]
    known = [] if rates is None else words.matrix(rates)
    unit = [one for one in found.more if isinstance(one, f.Unit)]
    rest = [one for one in found.more if not isinstance(one, f.Unit)]
    whole = findings.Found([], rest, found.notes)
    drawn = table if "low" in table else table[:0]
    shown = drawn.iloc[_ends(len(drawn))]
    return _rendered(
        "board.html",
        **method.page(),
        title=title,
        rows=rows,
        verdict=_headline(found.verdict, thing, "comparison"),
        words=whole.sentences(thing, "comparison"),
        rates=known,
        level=f"{100 * level:g}%",
        shown=_strips(shown, ranks=len(drawn) > NAMED) if len(shown) else [],
        scale=around([*shown["low"], *shown["high"]]) if len(shown) else None,
        unit=" ".join(say_all(unit, thing)),
        named_up_to=NAMED,
        texts=_texts,
    )


def _headline(found: Iterable[Any], thing: str, answer: str = "call") -> dict[str, str]:
    """What to do, in bold, and what was found."""
    parts: dict[bool, list[str]] = {True: [], False: []}
    for one in found:
        parts[isinstance(one, ADVICE)].append(say(one, thing, answer))
    return {"advice": " ".join(parts[True]), "rest": " ".join(parts[False])}


def _texts(marks: Iterable[float]) -> list[str]:
    return [f"{value:g}" for value in marks]


def _rendered(template: str, **said: Any) -> str:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    from poe import __version__

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(said=say, options=_options)
    return environment.get_template(template).render(version=__version__, **said)


def _options(said: str) -> Any:
    """A sentence whose options, such as --column, are code, which breaks nowhere."""
    from markupsafe import Markup, escape

    return Markup(re.sub(r"--[a-z-]+", r"<code>\g<0></code>", str(escape(said))))


def _number_of_texts(rankings: Sequence[Ranking]) -> int:
    """Texts, each once whichever judges and attributes ranked it."""
    return len({(one.name, name) for one in rankings for name in (*one.fit.items, *one.copies)})


def _facts(rankings: Sequence[Ranking]) -> list[tuple[str, str, str]]:
    """The boxes on top: name, value, remark."""
    one, cost = rankings[0], findings.cost(rankings)
    computed = sum(answer.computed for each in rankings for answer in judged_of(each).answers)
    unit = cost.unit
    if 0 < computed < 0.99 * cost.read:  # 0 where the judge does not say
        unit += f", {computed:,.0f} of them computed, the rest shared"
    asked = f"{cost.new:,} asked now, {cost.stored:,} from the store"
    boxes = [
        ("Texts", f"{_number_of_texts(rankings):,}", ""),
        ("Comparisons", f"{cost.comparisons:,}", asked),
        ("Read by the judge", f"{cost.read:,}" if cost.read else "unknown", unit),
    ]
    if len(rankings) == 1:
        equal = on_top(one.fit)
        sure = f"best with probability {percent(one.fit.prob_top_set(1))}"
        begun = first_words(one, BEGINS) if len(equal) == 1 else {}
        on = listed(_with_words(name, begun) for name in equal)
        boxes.insert(1, ("On top", on, sure if len(equal) == 1 else "equal"))
        if (people := findings.agreement_of(one)) is not None:
            remark = f"Spearman; Pearson {people.pearson:.2f}; {people.texts} texts"
            boxes.append(("Agreement with people", f"{people.spearman:.2f}", remark))
    return boxes


def _notes(rankings: Sequence[Ranking]) -> list[str]:
    notes = findings.notes(rankings)
    if ties := sum(judged_of(one).ties for one in rankings):
        notes.append(f.NoLabel(ties))
    return say_all(f.Note(say(note)) for note in notes)


def _orders(calls: int, pairs: int, n_items: int) -> Any:
    """In which orders pairs were asked, counted."""
    both, one = calls - pairs, 2 * pairs - calls
    every = "all" if pairs == n_items * (n_items - 1) // 2 else "both"
    return f.InOrders("mixed" if both and one else "one" if one else every, both, one)


def _method(one: Ranking, command: str, made: str) -> Method:
    orders = "both orders" if one.both_orders else "one order"
    return Method(
        settings={
            "expert": words.expert_of(one.fit),
            "selection": f"{one.asking.rule}, {orders}",
            "intervals": f"{100 * one.level:g}%, by {one.fit.covariance_choice}",
            "seed": one.seed,
        },
        command=command,
        judge=judged_of(one).judge,
        prompt=judged_of(one).prompt,
        made=made,
    )


# One ranking ----------------------------------------------------------------------------------


def _page(one: Ranking, thing: str, told: str) -> dict[str, Any]:
    """Everything that the template says of one ranking."""
    table, judged, n = one.to_frame(), judged_of(one), len(one.fit.items)
    found = findings.findings(one)
    whole = table[table["same_text_as"] == ""].reset_index(drop=True)
    shown = whole.iloc[_rows_shown(whole, one.top)]
    near = readings.neighbours(one.fit, one.level)
    verdicts = [verdict for *_, verdict in near]
    of = set(shown["name"])
    times = np.bincount(judged.pairs.ravel(), minlength=n)
    unordered = len(np.unique(np.sort(judged.pairs, axis=1), axis=0))
    context = "" if judged.context is None else " ".join(judged.context.text.split())
    texts = {text.id: text.text.strip() for text in judged.texts}
    begun = first_words(one, BEGINS)
    agreement, share = one.history["agreement"], readings.drowned(one.fit, one.level)
    equal = on_top(one.fit)
    return {
        "found": one,
        "level": f"{100 * one.level:g}%",
        "name": told,
        "beginning": quoted(context, 60),
        "agreement": findings.agreement_of(one),
        "headline": _headline(
            (each for each in found.verdict if not isinstance(each, BELOW)), thing
        ),
        "trust": [] if one.trust is None else say_all(one.trust.findings(), thing),
        "human": _on_peoples_scale(one, shown),
        "to_label": ", ".join(_to_label(one)),
        "more": say_all((each for each in found.more if not isinstance(each, SHOWN)), thing),
        "drowned": percent(share) if share >= readings.HARDLY else "",
        "ranking": _ranking_table(one, table[_original(table).isin(of)], begun, whole["name"]),
        "n": n,
        "whole": _overview(whole) if len(whole) > len(shown) else {},
        "download": base64.b64encode(csv_text(table).encode()).decode(),
        "best": listed(map(str, equal)),
        "equal": len(equal) > 1,
        "last": one.fit.ranking()[-1],
        "shown": _strips(shown, ranks=n > NAMED, begun=begun),
        "scale": around([*shown["low"], *shown["high"]]),
        "unit": say(findings.unit(one.fit), thing),
        "neighbours": [
            (upper, lower, percent(p), verdict)
            for upper, lower, p, verdict in near
            if {upper, lower} <= of
        ],
        "pairs_of_neighbours": len(near),
        "settled": verdicts.count("settled"),
        "open": verdicts.count("open"),
        "top_sets": [
            (k, percent(one.fit.prob_top_set(k))) for k in range(1, min(MOST_TOP, n - 1) + 1)
        ]
        if n <= LARGEST
        else [],
        "basis": say(_basis(one)),
        "pairs": len(judged.pairs),
        "possible": n * (n - 1),
        "unordered": unordered,
        "orders": say(_orders(len(judged.pairs), unordered, n)),
        "times": places(int(times.min()), int(times.max())),
        "matrix": _matrix(one) if n <= MATRIX else [],
        "position": readings.position(one.fit, one.level),
        "mass": np.array([answer.mass for answer in judged.answers]),
        "sampled": any(answer.draws for answer in judged.answers),
        "bare": sum(map(findings.shows_one_label, judged.answers)),
        "rounds": one.history.to_dict("records"),
        "arrived": max((k + 1 for k, r in enumerate(agreement) if r < CLOSE), default=0),
        "large": n > LARGEST,
        "next": [
            (first, second, percent(p))
            for first, second, p in (readings.next_pairs(one, 10) if n <= LARGEST else [])
        ],
        "texts": [
            (rank, name, begun[str(name)], texts[str(name)])
            for rank, name in shown[["rank", "name"]].to_numpy()
        ],
    }


def _on_peoples_scale(one: Ranking, shown: pd.DataFrame) -> list[tuple[str, str, str]]:
    """What people would give the texts shown that they did not score."""
    scale = one.trust and one.trust.scale
    if not scale:
        return []
    rows = shown[shown["gold"].isna()] if one.gold else shown
    low, high = scale.interval(rows["score"].to_numpy())
    return [
        (str(name), f"{(a + b) / 2.0:.3g}", f"{a:.3g} to {b:.3g}")
        for name, a, b in zip(rows["name"], low, high, strict=True)
    ]


def _to_label(one: Ranking) -> list[str]:
    """Texts that people might score, drawn at random; text 2 comes before text 10."""
    names = sorted(str(name) for name in one.fit.items)
    few = min(needed(level=one.level).scores, len(names))
    drawn = [names[k] for k in np.random.default_rng(0).permutation(len(names))[:few]]
    return sorted(drawn, key=lambda name: re.sub(r"\d+", lambda found: found[0].zfill(20), name))


def _joint(one: Together) -> dict[str, Any]:
    """What the template says of several judges in one ranking."""
    where = ", ".join(filter(None, (one.attribute, one.name)))
    table = None if one.fit is None else words.rows_of(one.to_frame().head(NAMED), one.level)
    judges = [row[1:] for row in words.by_judge(one)]
    return {"where": where, "said": say_all(one.findings()), "table": table, "judges": judges}


def _rows_shown(table: pd.DataFrame, top: int) -> list[int]:
    """Rows that are shown: all, or the ends and those who may or may not be among the best."""
    n = len(table)
    maybe = table[(table["rank_low"] <= top) & (table["rank_high"] > top)]
    nearest = maybe.iloc[np.argsort(np.abs(maybe["rank"] - top - 0.5), kind="stable")[:AROUND]]
    return sorted({*_ends(n), *nearest.index.tolist()})


def _ends(n: int) -> list[int]:
    """Rows of a picture: all, or those at the top and at the bottom."""
    return list(range(n)) if n <= NAMED else [*range(ENDS[0]), *range(n - ENDS[1], n)]


def _with_words(name: Any, begun: Mapping[str, str]) -> str:
    """A name, and of one that is a number also the first words of its text."""
    said = str(name)
    return f"{said}: {begun[said]}" if said.isdigit() and said in begun else said


def _strips(
    table: pd.DataFrame, *, ranks: bool, begun: Mapping[str, str] = MappingProxyType({})
) -> list[tuple[Any, ...]]:
    """What the picture shows a row: name (with its rank), score, interval; None for a gap."""
    rows, last = list[tuple[Any, ...]](), -1
    shown = table[["rank", "name", "score", "low", "high"]].to_numpy()
    for at, (rank, name, *values) in zip(table.index, shown, strict=True):
        if at > last + 1:
            rows.append(("…", None, None, None))
        said = _with_words(name, begun)
        rows.append((f"{rank}. {said}" if ranks else said, *values))
        last = at
    return rows


def _overview(table: pd.DataFrame) -> dict[str, Any]:
    """Every score with its interval, for a picture of all ranks: a line in a band."""
    scale = around([*table["low"], *table["high"]])
    across = np.linspace(0.0, 1000.0, len(table))

    def line(column: str) -> list[str]:
        heights = [float(scale.y(value, 200.0)) for value in table[column]]
        return [f"{x:.1f},{y:.1f}" for x, y in zip(across, heights, strict=True)]

    band = " ".join([*line("low"), *reversed(line("high"))])
    return {"scale": scale, "band": band, "line": " ".join(line("score"))}


def _ranking_table(
    one: Ranking, table: pd.DataFrame, begun: Mapping[str, str], whole: Iterable[Any]
) -> tuple[list[str], list[list[str]]]:
    """Head and rows of the table of texts; an ellipsis where some of the `whole` are left out."""
    head = ["Rank", "Text", "Begins", "Score", f"{100 * one.level:g}% interval", "Ranks"]
    head += [f"Among top {one.top}", "Asked", *(["People"] if one.gold else [])]
    head += ["Rank, equal length"] if one.fitting.length_control else []
    rows, last = list[list[str]](), -1
    stand = {name: k for k, name in enumerate(whole)}
    for row, name in zip(table.to_dict("records"), _original(table), strict=True):
        same = row["same_text_as"]
        cells = [
            str(row["rank"]),
            f"{row['name']} (same text as {same})" if same else str(row["name"]),
            begun[str(row["name"])],
            signed(row["score"]),
            f"{signed(row['low'])} to {signed(row['high'])}",
            places(row["rank_low"], row["rank_high"]),
            percent(row["p_top"]),
            str(row["comparisons"]),
        ]
        if one.gold:
            cells.append("" if np.isnan(row["gold"]) else f"{row['gold']:.4g}")
        if one.fitting.length_control:
            cells.append(f"{row['lc_rank']} ({signed(row['lc_score'])})")
        if (at := stand.get(name, last)) > last + 1:
            rows.append(["…"] * len(head))
        last = max(last, at)
        rows.append(cells)
    return head, rows


def _original(table: pd.DataFrame) -> pd.Series:
    """The text that each row is about: of a word-for-word copy the one ranked in its place."""
    return table["same_text_as"].where(table["same_text_as"] != "", table["name"])


def _basis(one: Ranking) -> Any:
    """Where the width of the intervals comes from."""
    fit, scatter = one.fit, one.fit.scatter
    if fit.covariance_choice != "curvature" and scatter is not None:
        as_one = "decisions" if f"{scatter.size:.2g}" == "1" else "times"
        case = {0: "units", 1: as_one}.get(scatter.power, "logits")
        return f.Width(case, scatter.size, scatter.shared, scatter.freedom)
    decided = np.isin(one.comparisons.p, (0.0, 0.5, 1.0)).all()
    case = "one each" if fit.covariance_choice == "curvature" or decided else "few"
    return f.Width(case if words.expert_of(fit) == "Bradley-Terry" else "expert", 1.0, 0.0, np.inf)


def _matrix(one: Ranking) -> list[dict[str, Any]]:
    """Who was compared with whom: row shown first, column second, both from best to worst."""
    seen = one.comparisons.merged()
    place = np.argsort(np.argsort(-one.fit.scores, kind="stable"))
    return [
        {
            "x": int(place[j]),
            "y": int(place[i]),
            "side": "first" if p >= 0.5 else "second",
            "opacity": f"{0.15 + 1.7 * abs(p - 0.5):.2f}",
            "title": f"{seen.items[i]} before {seen.items[j]}: P(first is better) = {p:.2f}",
        }
        for (i, j), p in zip(seen.pairs.tolist(), seen.p.tolist(), strict=True)
    ]


# Places in a picture --------------------------------------------------------------------------


@dataclass(frozen=True)
class Scale:
    """Values to per cent of the width (or to pixels of a height)."""

    low: float
    high: float

    def x(self, value: float) -> str:
        """Place along the width, 2 % left free on both sides; values outside stand at the edge."""
        return f"{2.0 + 96.0 * self._share(value):.2f}%"

    def y(self, value: float, height: float) -> str:
        """Place along a height in pixels, large values on top."""
        return f"{6.0 + (height - 12.0) * (1.0 - self._share(value)):.1f}"

    def ticks(self, count: int = 6) -> list[float]:
        """Round numbers in the scale: steps of 1, 2 or 5 times a power of ten."""
        rough = (self.high - self.low) / count
        power = 10.0 ** np.floor(np.log10(rough))
        step = next(m * power for m in (1.0, 2.0, 5.0, 10.0) if m * power >= rough * 0.999)
        first, last = np.ceil(self.low / step - 1e-9), np.floor(self.high / step + 1e-9)
        return [float(k * step) + 0.0 for k in np.arange(first, last + 1)]

    def _share(self, value: float) -> float:
        return float(np.clip((value - self.low) / (self.high - self.low), 0.0, 1.0))


def around(values: Iterable[float], include: Sequence[float] = ()) -> Scale:
    """A scale that holds all values (and some more that it should show)."""
    finite = [float(v) for v in (*values, *include) if np.isfinite(v)]
    low, high = (min(finite), max(finite)) if finite else (0.0, 1.0)
    return Scale(low, high) if high - low >= 1e-9 else Scale(low - 0.5, high + 0.5)
