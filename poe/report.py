"""One self-contained HTML page on a ranking: no network, nothing to install.

It has no scripts, but for rankings too long to show: there one, allowed by its digest alone,
searches the rows, which the page carries as data.

This module works out what the page says; `report.html`, a Jinja2 template, says and draws it.
Jinja2 escapes everything that a user wrote. Pictures are SVG with widths in per cent and type in
pixels, so that one fills a telephone and a wide screen alike while its letters keep their size;
colours are names of classes, for light, dark and paper.
"""

from __future__ import annotations

import base64
import datetime
import hashlib
import platform
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import stdtr
from scipy.stats import binomtest

from poe.adaptive import curvature_at, next_comparisons, resistances
from poe.comparisons import Floats, Indices
from poe.debias import Rate, first_position_rate
from poe.errors import name_some
from poe.ranking import RULES, typical_error
from poe.rankings import Ranking, apart
from poe.resistance import effective_resistance
from poe.result import Fit
from poe.tables import csv_text, write_whole

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["headline", "in_text", "report", "save"]

BEGINNING = 200  # characters of a text that a search finds and shows
EXCERPT = 600  # characters of a text that the report shows
SHOWN, WIDEST = 20, 40  # rows of a table on a screen, characters of an id
NAMED = 60  # texts up to which all are shown; of more the ends, and those around the open place
ENDS, AROUND = (20, 10), 20  # how many at the top and the bottom, and around the open place
PAIRS = 200_000  # pairs up to which all are looked at, and drawn of more
HARDLY = 0.5  # share of pairs decided by position alone from which a judge hardly reads
SURE = (0.5, 0.6, 0.75, 0.9, 1.0)  # classes of how sure an answer is
MOST_TOP = 10  # texts up to which it is said how sure a top set is
MATRIX = 40  # texts up to which every single comparison is drawn
LARGEST = 600  # texts up to which what to ask next is worked out
CLOSE = 0.95  # correlation with the final ranking that counts as having arrived
LOW_MASS = 0.5  # below this an answer is more about something else than about the labels
SMALL = (
    "SmolLM2 is a very small language model: it prefers what it is shown first in nearly every "
    "call, and its rankings agree with people's weakly or not at all. Its report shows how a "
    "ranking is made and what it costs; do not decide anything by it. The book's page 'A small "
    "judge, measured' has the numbers"
)
SEARCH = """
document.querySelectorAll(".search").forEach(function (box) {
  var data = JSON.parse(box.querySelector("script").textContent);
  var input = box.querySelector("input"), list = box.querySelector("tbody");
  var said = box.querySelector("output");
  box.hidden = false;
  input.addEventListener("input", function () {
    var words = input.value.toLowerCase().split(/\\s+/).filter(Boolean);
    var hits = words.length ? data.filter(function (row) {
      var text = (row[1] + " " + row[row.length - 1]).toLowerCase();
      return words.every(function (word) { return text.indexOf(word) >= 0; });
    }) : [];
    list.replaceChildren.apply(list, hits.slice(0, 50).map(function (row) {
      var line = document.createElement("tr");
      row.forEach(function (cell) {
        line.appendChild(document.createElement("td")).textContent = cell;
      });
      return line;
    }));
    box.querySelector(".scroll").hidden = !hits.length;
    said.textContent = !words.length ? "" : hits.length + " found" +
      (hits.length > 50 ? ", the first 50 are shown" : "");
  });
});
"""
DEMO = (
    "The judge of this report is a readability formula with an invented position bias and an "
    "invented disturbance. It does not read the question. It shows what a report looks like and is "
    "no evidence about language models."
)


def report(
    found: Sequence[Ranking],
    *,
    attribute: str,
    command: str,
    made: str,
    thing: str = "text",
    before: Ranking | pd.DataFrame | None = None,
) -> str:
    """The page for one ranking, or for several contexts ranked apart.

    attribute : what was asked, "more persuasive". command : what repeats it. made : the date.
    before : an earlier ranking of the same texts, to be set beside a single one.
    Needs rankings of texts (`Ranking.judged`).
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    from poe import __version__

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    if before is not None and len(found) > 1:
        raise ValueError("several contexts cannot be set beside an earlier ranking; take one")
    environment.filters.update(rate=rate_in_words)
    return environment.get_template("report.html").render(
        title=f"{_number_of_texts(found)} {_plural(thing)} ranked: {attribute}",
        attribute=attribute,
        things=_plural(thing),
        command=command.replace(" --", " \\\n  --"),
        made=made,
        kind=kind(found[0]),
        judge=" and ".join(dict.fromkeys(map(judge_name, found))),
        facts=_facts(found),
        notes=_notes(found),
        rankings=[_page(one, _told(one, found)) for one in found],
        changes=None if before is None else _changes(found[0], before),
        script=SEARCH if (searched := max(len(one.fit.items) for one in found) > NAMED) else "",
        script_digest=_digest(SEARCH) if searched else "",
        settings=_settings(found[0]),
        specification=_judged(found[0]).judge.specification,
        prompt=_judged(found[0]).prompt,
        expert=_expert(found[0]),
        version=__version__,
        calls=f"{_totals(found)[0]:,}",
        excerpt=EXCERPT,
        named_up_to=NAMED,
        low_mass=LOW_MASS,
        close=CLOSE,
        unit=Scale(0.0, 1.0),
        around=around,
        median=np.median,
        known=lambda values: bool(np.isfinite(values).all()),
        texts=lambda marks: [f"{value:g}" for value in marks],
    )


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def save(
    path: str | Path,
    found: Sequence[Ranking],
    *,
    before: Ranking | pd.DataFrame | None = None,
    thing: str = "text",
) -> Path:
    """Write the page of rankings made in Python to a file, whole or not at all."""
    attribute = found[0].attribute or _judged(found[0]).prompt.name
    made, path = datetime.date.today().isoformat(), Path(path)
    page = report(found, attribute=attribute, command="", made=made, thing=thing, before=before)
    write_whole(path, page)
    return path


# What a manager reads -------------------------------------------------------------------------


def headline(one: Ranking, thing: str = "text") -> str:
    """Two or three sentences that say what was found and how far it goes."""
    n, things = len(one.fit.items), _plural(thing)
    best = one.fit.ranking()[0]
    sure = float(one.fit.prob_top(1)[one.fit.items.index(best)])
    table = one.to_frame()
    rivals = int(((table["rank_low"] == 1) & (table["same_text_as"] == "")).sum())
    if (share := drowned(one)) >= HARDLY:
        first = (
            f"Do not decide by this ranking, because the judge hardly reads: in {percent(share)} "
            f"of the pairs it chooses {_favourite(one)}, whichever {thing} that is"
        )
    elif sure >= 0.9:
        first = f"{best} is the best of {n} {things} ({percent(sure)} sure)"
    elif sure >= 0.5:
        first = f"{best} is probably the best of {n} {things} ({percent(sure)} sure)"
    else:
        first = (
            f"No {thing} stands out: {best} is on top of {n}, but only {percent(sure)} sure to be "
            f"the best, and {rivals} could be"
        )
    settled = f"Of all pairs of {things}, {percent(settled_share(one))} are in an order that is "
    settled += f"at least {one.level:.0%} sure"
    if agreement := one.agreement():
        people = f"With people's scores of {agreement[2]} {things} it correlates {agreement[0]:.2f}"
    else:
        people = "Whether people would agree is not known, as none have scored enough of them"
    partial = ["This ranking is partial, as asking was cut short"] if one.partial else []
    return ". ".join([*partial, first, settled, people]) + "."


def _favourite(one: Ranking) -> str:
    return "what is shown first" if one.fit.bias < 0 else "what is shown second"


def drowned(one: Ranking) -> float:
    """Share of the comparisons that come out for the same position in either order.

    A judge whose bias is larger than the difference of two scores does not let them decide. 0
    where no bias was estimated, or none that can be told from chance.
    """
    equal = position(one).equal
    if equal is not None and equal.low <= 0.5 <= equal.high:
        return 0.0
    d = np.diff(one.fit.scores[one.comparisons.pairs], axis=1)
    return float((np.abs(d) < abs(one.fit.bias)).mean())


def settled_share(one: Ranking) -> float:
    """Share of all pairs whose order has a probability of at least `level` (of many a sample)."""
    n = len(one.fit.items)
    if n * (n - 1) // 2 <= PAIRS:
        i, j = np.triu_indices(n, 1)
    else:
        rng = np.random.default_rng(0)
        i = rng.integers(n, size=PAIRS)
        j = (i + rng.integers(1, n, size=PAIRS)) % n
    p = _better(one.fit, i, j)
    return float((np.maximum(p, 1.0 - p) >= one.level).mean())


def _better(fit: Fit, i: Indices, j: Indices) -> Floats:
    """P(item i scores above item j) for many pairs at once; `Fit.prob_better` for one."""
    c = fit.covariance()
    error = np.sqrt(np.maximum(c[i, i] + c[j, j] - 2.0 * c[i, j], 0.0))
    gap = fit.scores[i] - fit.scores[j]
    with np.errstate(divide="ignore", invalid="ignore"):
        p = stdtr(fit.freedom, gap / error)
    return np.where(error > 0, p, 0.5 + 0.5 * np.sign(gap))


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
    demo = _judged(found).judge.specification.get("kind") == "demo"
    return "simulated: no language model was asked" if demo else "measured"


def judge_name(found: Ranking) -> str:
    """The judge in a few words."""
    given = _judged(found).judge.specification
    return str(given.get("model") or given.get("kind") or "a judge")


def _judged(found: Ranking) -> Any:
    if found.judged is None:
        raise ValueError("a report is about texts that a judge read; this ranking has none")
    return found.judged


def _expert(found: Ranking) -> str:
    return type(found.fit.expert).__name__.replace("BradleyTerry", "Bradley-Terry")


def _plural(thing: str) -> str:
    if thing.endswith("y") and thing[-2:-1] not in tuple("aeiou"):
        return thing[:-1] + "ies"
    return thing + ("es" if thing.endswith(("s", "x", "ch", "sh")) else "s")


def _number_of_texts(found: Sequence[Ranking]) -> int:
    return sum(len(one.fit.items) + len(one.copies) for one in found)


def _totals(found: Sequence[Ranking]) -> tuple[int, int, int, str]:
    """Comparisons, those of them asked now, what was read for them, and its unit."""
    judged = [_judged(one) for one in found]
    tokens = sum(answer.tokens for one in judged for answer in one.answers)
    unit = "words" if kind(found[0]).startswith("simulated") else "tokens"
    return sum(len(one.pairs) for one in judged), sum(one.new for one in judged), tokens, unit


def _facts(found: Sequence[Ranking]) -> list[tuple[str, str, str]]:
    """The boxes on top: name, value, remark."""
    one, (calls, new, tokens, unit) = found[0], _totals(found)
    computed = sum(answer.computed for each in found for answer in _judged(each).answers)
    if computed < 0.99 * tokens:
        unit += f", {computed:,.0f} of them computed, the rest shared"
    boxes = [
        ("Texts", f"{_number_of_texts(found)}", ""),
        ("Comparisons", f"{calls:,}", f"{new:,} asked now, {max(calls - new, 0):,} from the store"),
        ("Read by the judge", f"{tokens:,}", unit),
    ]
    if len(found) == 1:
        best = one.fit.ranking()[0]
        sure = percent(float(one.fit.prob_top(1)[one.fit.items.index(best)]))
        boxes.insert(1, ("On top", str(best), f"best with probability {sure}"))
        if agreement := one.agreement():
            rho, r, n = agreement
            remark = f"Spearman; Pearson {r:.2f}; {n} texts"
            boxes.append(("Agreement with people", f"{rho:.2f}", remark))
    return boxes


def _notes(found: Sequence[Ranking]) -> list[str]:
    notes = [DEMO] if kind(found[0]).startswith("simulated") else []
    if judge_name(found[0]).startswith("SmolLM2-135M"):
        notes.append(SMALL)
    notes += dict.fromkeys(note for one in found for note in one.notes)
    if copies := [copy for one in found for copy in one.copies]:
        notes.append(f"Word for word another text, ranked once: {name_some(copies)}; see the table")
    if ties := sum(_judged(one).ties for one in found):
        notes.append(f"To {ties} comparisons the judge gave no label; they count as ties")
    return [f"{note[:1].upper()}{note[1:]}{'' if note.endswith('.') else '.'}" for note in notes]


def _settings(one: Ranking) -> dict[str, object]:
    prompt = _judged(one).prompt
    return {
        "expert": _expert(one),
        "selection": f"{one.rule}, {'both orders' if one.both_orders else 'one order'}",
        "intervals": f"{100 * one.level:g}%, by {one.fit.covariance_choice}",
        "seed": one.seed,
        "label words": ", ".join(prompt.labels),
        "answer prefix": prompt.prefix or "none",
        "system message": prompt.system or "none",
        "prompt": f"{prompt.name}, {prompt.digest[:12]}",
        "versions": f"Python {platform.python_version()}, NumPy {version('numpy')}, "
        f"SciPy {version('scipy')}, pandas {version('pandas')}",
    }


# In a terminal --------------------------------------------------------------------------------


def in_text(found: Sequence[Ranking]) -> str:
    """The rankings for a terminal: tables, the judge, what to know."""
    parts = []
    for one in found:
        parts += [f"\n{told}"] if (told := _told(one, found)) else []
        parts += [_table(one), _printable(headline(one)), _diagnosis(one)]
    calls, new, tokens, unit = _totals(found)
    notes = dict.fromkeys(note for one in found for note in one.notes)
    return "\n".join(
        [
            *parts,
            f"Judge: {' and '.join(dict.fromkeys(map(judge_name, found)))}. {calls:,} comparisons, "
            f"{tokens:,} {unit}; {new:,} asked now, {max(calls - new, 0):,} from the store.",
            *(f"Note: {note}." for note in notes),
            "Intervals take the judge's answers as given: not how well it agrees with people, and "
            "not mistakes it makes every time.",
        ]
    )


def _told(one: Ranking, found: Sequence[Ranking]) -> str:
    """What tells a ranking from the others: "Attribute clearer, Context context-1"."""
    return ", ".join(f"{what.capitalize()} {name}" for what, name in apart(one, found).items())


def _table(one: Ranking) -> str:
    """The ranking, cut in the middle if it is long; columns two spaces apart."""
    from rich.cells import cell_len

    lines = [["rank", "id", "score", f"ranks ({100 * one.level:g}%)", f"P(top {one.top})"]]
    for row in one.to_frame().itertuples(index=False):
        ranks = places(row.rank_low, row.rank_high)
        lines.append(
            [str(row.rank), _short(row.id), f"{row.score:+.2f}", ranks, percent(row.p_top)]
        )
    if len(lines) > SHOWN + 6:
        lines = [*lines[: SHOWN - 4], ["…"] * 5, *lines[-5:]]
    wide = [max(map(cell_len, column)) for column in zip(*lines, strict=True)]

    def cell(k: int, text: str) -> str:
        space = " " * (wide[k] - cell_len(text))
        return text + space if k == 1 else space + text

    return "\n".join("  ".join(cell(k, t) for k, t in enumerate(line)) for line in lines)


def _short(name: Any) -> str:
    """An id that fits, without what a terminal would take for a command."""
    text = _printable(" ".join(str(name).split()))
    return text if len(text) <= WIDEST else text[: WIDEST - 1] + "…"


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else "�" for c in text)


def _diagnosis(one: Ranking) -> str:
    at, mass = position(one), [answer.mass for answer in _judged(one).answers]
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


# One ranking ----------------------------------------------------------------------------------


def _page(one: Ranking, told: str) -> dict[str, Any]:
    """Everything that the template says of one ranking."""
    table, judged, n = one.to_frame(), _judged(one), len(one.fit.items)
    whole = table[table["same_text_as"] == ""]
    shown = whole[whole["rank"].isin(_rows_shown(whole, one.top))]
    near, later = neighbours(one.fit, one.level), prospects(one) if n <= LARGEST else []
    verdicts = [verdict for *_, verdict in near]
    of = set(shown["id"])
    times = np.bincount(judged.pairs.ravel(), minlength=n)
    context = "" if judged.context is None else " ".join(judged.context.text.split())
    texts = {text.id: text.text.strip() for text in judged.texts}
    agreement = one.history["agreement"]
    return {
        "found": one,
        "level": f"{100 * one.level:g}%",
        "name": told,
        "beginning": context if len(context) <= 60 else context[:60].rstrip() + " […]",
        "agreement": one.agreement(),
        "headline": headline(one),
        "calibration": calibration(one),
        "drowned": percent(share) if (share := drowned(one)) >= HARDLY else "",
        "ranking": _ranking_table(one, table[table["rank"].isin(shown["rank"])], gaps=True),
        "n": n,
        "whole": _overview(whole) if len(whole) > len(shown) else {},
        "search": _searched(one, table) if len(whole) > len(shown) else {},
        "download": base64.b64encode(csv_text(table).encode()).decode(),
        "best": one.fit.ranking()[0],
        "last": one.fit.ranking()[-1],
        "shown": [
            (f"{rank}. {name}" if n > NAMED else name, *values)
            for rank, name, *values in shown[
                ["rank", "id", "score", "score_low", "score_high"]
            ].to_numpy()
        ],
        "scale": around([*shown["score_low"], *shown["score_high"]]),
        "bradley_terry": _expert(one) == "Bradley-Terry",
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
        "basis": _basis(one),
        "pairs": len(judged.pairs),
        "possible": n * (n - 1),
        "unordered": len(np.unique(np.sort(judged.pairs, axis=1), axis=0)),
        "times": places(int(times.min()), int(times.max())),
        "matrix": _matrix(one) if n <= MATRIX else [],
        "position": position(one),
        "mass": np.array([answer.mass for answer in judged.answers]),
        "sampled": any(answer.draws for answer in judged.answers),
        "rounds": one.history.to_dict("records"),
        "arrived": max((k + 1 for k, r in enumerate(agreement) if r < CLOSE), default=0),
        "prospects": [
            (len(judged.pairs) + calls, f"+{calls}" if calls else "now", f"{error:.3f}")
            for calls, error in later
        ],
        "next": [
            (first, second, percent(p))
            for first, second, p in (next_pairs(one, 10) if len(later) > 1 else [])
        ],
        "texts": [
            (rank, name, texts[str(name)]) for rank, name in shown[["rank", "id"]].to_numpy()
        ],
    }


def _rows_shown(table: pd.DataFrame, top: int) -> set[int]:
    """Ranks that are shown: all, or the ends and those who may or may not be among the best."""
    n = len(table)
    if n <= NAMED:
        return set(range(1, n + 1))
    maybe = table[(table["rank_low"] <= top) & (table["rank_high"] > top)]
    nearest = maybe.iloc[np.argsort(np.abs(maybe["rank"] - top - 0.5), kind="stable")[:AROUND]]
    return {*range(1, ENDS[0] + 1), *range(n - ENDS[1] + 1, n + 1), *nearest["rank"].tolist()}


def _overview(table: pd.DataFrame) -> dict[str, Any]:
    """Every score with its interval, for a picture of all ranks: a line in a band."""
    scale = around([*table["score_low"], *table["score_high"]])
    across = np.linspace(0.0, 1000.0, len(table))

    def line(column: str) -> list[str]:
        heights = [float(scale.y(value, 200.0)) for value in table[column]]
        return [f"{x:.1f},{y:.1f}" for x, y in zip(across, heights, strict=True)]

    band = " ".join([*line("score_low"), *reversed(line("score_high"))])
    return {"scale": scale, "band": band, "line": " ".join(line("score"))}


def _searched(one: Ranking, table: pd.DataFrame) -> dict[str, Any]:
    """The rows that the search box finds, and the beginnings of their texts."""
    head, rows = _ranking_table(one, table)
    begins = {text.id: " ".join(text.text.split())[:BEGINNING] for text in _judged(one).texts}
    ids = table["same_text_as"].where(table["same_text_as"] != "", table["id"])
    return {
        "head": [*head, "Begins"],
        "rows": [[*row, begins[str(i)]] for row, i in zip(rows, ids, strict=True)],
    }


def _changes(one: Ranking, before: Ranking | pd.DataFrame) -> dict[str, Any]:
    """What the template says of an earlier ranking set beside this one."""
    found = one.compare(before)
    table = found.table
    return {
        "sentences": found.sentences(),
        "rows": [
            (
                row.id,
                str(row.rank),
                str(row.rank_before),
                f"{row.shift:+.2f}",
                f"{row.error:.2f}",
                "yes" if row.moved else "no",
            )
            for row in table.head(SHOWN).itertuples(index=False)
        ],
        "dots": [
            (
                Scale(1, len(table)).x(row.rank_before),
                f"{6.0 + 288.0 * (row.rank - 1) / (len(table) - 1):.1f}",
                "other" if row.moved else "main",
                f"{row.id}: {row.rank}, was {row.rank_before}",
            )
            for row in table.itertuples(index=False)
        ],
        "n": len(table),
    }


def _ranking_table(
    one: Ranking, table: pd.DataFrame, *, gaps: bool = False
) -> tuple[list[str], list[list[str]]]:
    """Head and rows of the table of texts; with `gaps` an ellipsis where ranks are left out."""
    head = ["Rank", "Text", "Score", f"{100 * one.level:g}% interval", "Ranks"]
    head += [f"Among top {one.top}", "Asked", *(["People"] if one.gold else [])]
    rows = list[list[str]]()
    for row in table.to_dict("records"):
        same = row["same_text_as"]
        cells = [
            str(row["rank"]),
            f"{row['id']} (same text as {same})" if same else str(row["id"]),
            f"{row['score']:+.2f}",
            f"{row['score_low']:+.2f} to {row['score_high']:+.2f}",
            places(row["rank_low"], row["rank_high"]),
            percent(row["p_top"]),
            str(row["comparisons"]),
        ]
        if one.gold:
            cells.append("" if np.isnan(row["gold"]) else f"{row['gold']:.4g}")
        if gaps and rows and row["rank"] > int(rows[-1][0]) + 1:
            rows.append(["…"] * len(head))
        rows.append(cells)
    return head, rows


def neighbours(fit: Fit, level: float) -> list[tuple[Any, Any, float, str]]:
    """Each item and the one ranked next: upper, lower, P(the upper is better), verdict."""
    order = np.argsort(-fit.scores, kind="stable")
    found = []
    for i, j, p in zip(order, order[1:], _better(fit, order[:-1], order[1:]), strict=False):
        verdict = "settled" if p >= level else "likely" if p >= 0.75 else "open"
        found.append((fit.items[i], fit.items[j], float(p), verdict))
    return found


def _basis(one: Ranking) -> str:
    """Where the width of the intervals comes from."""
    fit, scatter = one.fit, one.fit.scatter
    if fit.covariance_choice != "curvature" and scatter is not None:
        return (
            "Their width comes from how far the answers scatter around the scores: "
            f"{scatter.in_words}. Quantiles are Student's, {scatter.freedom:g} degrees of freedom."
        )
    if _expert(one) != "Bradley-Terry":
        return "Their width comes from the expert named above."
    if fit.covariance_choice == "curvature" or np.isin(one.comparisons.p, (0.0, 0.5, 1.0)).all():
        return "Their width counts every answer as one decision."
    return (
        "There are too few answers to tell how they scatter, so each counts as one decision, which "
        "makes wide intervals."
    )


class Position(NamedTuple):
    """Position bias: the rate as counted, and P(first) between equal texts as estimated."""

    counted: Rate
    equal: Rate | None


def position(found: Ranking) -> Position:
    """How much the judge preferred what it saw first.

    `equal` is None where no bias was fitted: too few comparisons, or Laplacian experts.
    """
    counted = first_position_rate(found.comparisons, level=found.level)
    fit = found.fit
    if fit.bias_se is None:
        return Position(counted, None)
    half = fit.quantile(found.level) * fit.bias_se
    at = [_between_equals(fit, fit.bias + move) for move in (0.0, half, -half)]
    return Position(counted, Rate(*at))


def _between_equals(fit: Fit, bias: float) -> float:
    """P(first is better) that a bias means for two items of equal score."""
    p = np.linspace(0.0005, 0.9995, 1999)
    opinion = getattr(fit.expert, "opinion", None)
    at: Floats = np.log(p / (1.0 - p)) if opinion is None else opinion(p)
    return float(np.interp(-bias, at, p))


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


# What to ask next -----------------------------------------------------------------------------


class Prospect(NamedTuple):
    """What so many more calls would do to the typical standard error of a score."""

    calls: int
    error: float


def prospects(found: Ranking) -> list[Prospect]:
    """The typical standard error now, and after one, two, five more rounds of N calls.

    Predicted from the curvature that each further comparison would add at the present scores
    (`poe.adaptive.curvature_at`), bias and scatter held fixed; only where some are left.
    """
    fit = found.fit.with_covariance("curvature")
    n, now = len(fit.items), Prospect(0, typical_error(found.fit))
    left = n * (n - 1) - len(_judged(found).pairs)
    counts = sorted({min(m * n, left) // 2 * 2 for m in (1, 2, 5)} - {0})
    if not counts:
        return [now]
    more = _upcoming(found, counts[-1])
    gain = curvature_at(fit.expert, fit.scores[more[:, 0]] - fit.scores[more[:, 1]] - fit.bias)
    before = resistances(fit).sum()
    later = []
    for m in counts:
        pairs = np.vstack([fit.comparisons.pairs, more[:m]])
        weight = np.maximum(np.append(fit.stiffness, gain[:m]), 1e-12)
        share = effective_resistance(n, pairs, weight=weight).sum() / before
        later.append(Prospect(m, now.error * float(np.sqrt(share))))
    return [now, *later]


def next_pairs(found: Ranking, count: int) -> list[tuple[Any, Any, float]]:
    """The comparisons to ask for next: first, second, P(first is better) as far as known."""
    fit, names = found.fit, found.fit.items
    return [
        (names[i], names[j], fit.prob_better(names[i], names[j]))
        for i, j in _upcoming(found, count)[:count].tolist()
    ]


def _upcoming(found: Ranking, count: int) -> Indices:
    n = len(found.fit.items)
    left = n * (n - 1) - len(_judged(found).pairs)
    count = min(count + count % 2, left // 2 * 2)
    if count < 1:
        return np.empty((0, 2), dtype=np.intp)
    rule: Any = RULES.get(found.rule, found.rule)
    return next_comparisons(
        found.fit, count, rule=rule, both_orders=found.both_orders, seed=found.seed
    )


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
