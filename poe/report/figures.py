"""The report's pictures, each drawn from numbers and described in words for who cannot see it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pandas as pd

from poe.comparisons import Comparisons, Floats, Indices
from poe.report.html import Markup, tag
from poe.report.svg import Scale, around, axis, dot, drawing, grid, interval, line, ticks, words

NAMED = 60  # items up to which every interval has its name beside it


def strips(
    rows: Sequence[tuple[str, float, float, float]],
    scale: Scale,
    *,
    label: str,
    marks: Sequence[float] | None = None,
    texts: Sequence[str] | None = None,
    kinds: Sequence[str] | None = None,
) -> Markup:
    """Named rows of (name, value, low, high), a dot on its interval in each."""
    marks = ticks(scale) if marks is None else marks
    texts = [f"{v:g}" for v in marks] if texts is None else texts
    kinds = ["main"] * len(rows) if kinds is None else kinds
    made = []
    for (name, value, low, high), kind in zip(rows, kinds, strict=True):
        strip = [*grid(scale, marks, 22), *interval(scale, value, low, high, y=11, kind=kind)]
        made.append(tag("span", name, class_="name", title=name))
        made.append(drawing(22, strip))
    made += [tag("span", class_="name"), axis(scale, marks, texts)]
    return tag("div", made, class_="strips", role="img", aria_label=label)


def caterpillar(table: pd.DataFrame, scale: Scale, *, label: str) -> Markup:
    """Intervals of very many items, best on top, every tenth rank marked."""
    height, marks = 5.0 * len(table) + 4, ticks(scale)
    made = grid(scale, marks, height)
    for k, row in enumerate(table.itertuples(index=False)):
        y = 5.0 * k + 4
        made.append(line(scale.x(row.score_low), y, scale.x(row.score_high), y, "main thin"))
        made.append(dot(scale.x(row.score), y, "main fill", 1.9))
        if k == 0 or (k + 1) % 10 == 0:
            made.append(words("0%", y + 4, str(row.rank), "start"))
    axes = axis(scale, marks, [f"{v:g}" for v in marks])
    return tag("div", drawing(height, made, label=label), axes, class_="caterpillar")


def coverage(comparisons: Comparisons, order: Sequence[int], *, label: str) -> Markup:
    """Who was compared with whom: row shown first, column shown second, both from best to worst."""
    n = len(order)
    place = np.empty(n, dtype=int)
    place[list(order)] = np.arange(n)
    cells = [tag("rect", x=0, y=0, width=n, height=n, class_="paper")]
    seen = comparisons.merged()
    for (i, j), p in zip(seen.pairs.tolist(), seen.p, strict=True):
        kind = "first" if p >= 0.5 else "second"
        title = f"{seen.items[i]} before {seen.items[j]}: P(first is better) = {p:.2f}"
        cells.append(
            tag(
                "rect",
                tag("title", title),
                x=int(place[j]),
                y=int(place[i]),
                width=1,
                height=1,
                class_=kind,
                fill_opacity=f"{0.15 + 1.7 * abs(p - 0.5):.2f}",
            )
        )
    cells.append(tag("line", x1=0, y1=0, x2=n, y2=n, class_="diagonal"))
    return tag("svg", cells, viewBox=f"0 0 {n} {n}", class_="matrix", role="img", aria_label=label)


def histogram(
    values: Floats | Indices, edges: Floats, *, label: str, below: tuple[str, str], unit: str
) -> Markup:
    """Bars with their counts on top; `below` names the two ends."""
    counts, _ = np.histogram(values, bins=edges)
    height, wide = 110.0, 100.0 / len(counts)
    tall = max(int(counts.max()), 1)
    made = [line("0%", height - 18, "100%", height - 18, "grid")]
    for k, count in enumerate(counts.tolist()):
        if not count:
            continue
        h = (height - 40) * count / tall
        y = height - 18 - h
        title = f"{count} {unit} from {edges[k]:.3g} to {edges[k + 1]:.3g}"
        made.append(
            tag(
                "rect",
                tag("title", title),
                x=f"{wide * k + 0.1 * wide:.2f}%",
                y=f"{y:.1f}",
                width=f"{0.8 * wide:.2f}%",
                height=f"{h:.1f}",
                class_="main fill",
            )
        )
        made.append(words(f"{wide * (k + 0.5):.2f}%", f"{y - 5:.1f}", str(count)))
    made.append(words("0%", height - 4, below[0], "start"))
    made.append(words("100%", height - 4, below[1], "end"))
    return drawing(height, made, label=label)


def path(
    x: Sequence[float], y: Sequence[float], *, label: str, include: Sequence[float] = ()
) -> Markup:
    """A line through points, its last value written at its end."""
    height = 130.0
    across, up = around(x), around(y, include=include)
    marks = ticks(up, 3)
    made = []
    for value in marks:
        at = up.y(value, height)
        made.append(line("0%", at, "100%", at, "grid"))
        made.append(words("0%", float(at) - 3, f"{value:g}", "start"))
    places = [(across.x(a), up.y(b, height)) for a, b in zip(x, y, strict=True)]
    for (x1, y1), (x2, y2) in pairwise(places):
        made.append(line(x1, y1, x2, y2, "main"))
    made += [dot(a, b, "main fill", 3.5) for a, b in places]
    bottom = axis(across, [x[0], x[-1]], [f"{x[0]:g}", f"{x[-1]:g} calls"])
    return tag("div", drawing(height, made, label=label), bottom)
