"""A little drawing for the report: widths in per cent, heights and type in pixels.

So a figure fills a telephone and a wide screen alike while its letters keep their size. Colours
are names of classes; the style sheet gives them for light, dark and paper.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from poe.report.html import Child, Markup, tag

_EDGE = 2.0  # per cent left free on both sides, so that dots at the ends are whole


@dataclass(frozen=True)
class Scale:
    """Values to per cent of the width (or to pixels of a height)."""

    low: float
    high: float

    def x(self, value: float) -> str:
        """Place along the width; values outside are drawn at the edge."""
        return f"{_EDGE + (100.0 - 2.0 * _EDGE) * self._share(value):.2f}%"

    def y(self, value: float, height: float) -> str:
        """Place along a height in pixels, large values on top."""
        return f"{6.0 + (height - 12.0) * (1.0 - self._share(value)):.1f}"

    def _share(self, value: float) -> float:
        return float(np.clip((value - self.low) / (self.high - self.low), 0.0, 1.0))


def around(values: Iterable[float], *, include: Sequence[float] = ()) -> Scale:
    """A scale that holds all values (and some more that it should show)."""
    finite = [float(v) for v in (*values, *include) if np.isfinite(v)]
    low, high = (min(finite), max(finite)) if finite else (0.0, 1.0)
    if high - low < 1e-9:
        low, high = low - 0.5, high + 0.5
    return Scale(low, high)


def ticks(scale: Scale, count: int = 6) -> list[float]:
    """Round numbers in a scale: steps of 1, 2 or 5 times a power of ten."""
    rough = (scale.high - scale.low) / max(count, 1)
    power = 10.0 ** np.floor(np.log10(rough))
    step = next(m * power for m in (1.0, 2.0, 5.0, 10.0) if m * power >= rough * 0.999)
    first = np.ceil(scale.low / step - 1e-9)
    return [float(k * step) + 0.0 for k in np.arange(first, np.floor(scale.high / step + 1e-9) + 1)]


def drawing(height: float, *children: Child, label: str | None = None, class_: str = "") -> Markup:
    """An SVG as wide as its place. With a label it is an image; without, decoration."""
    role = {"role": "img", "aria_label": label} if label else {"aria_hidden": "true"}
    return tag("svg", children, width="100%", height=f"{height:g}", class_=class_ or None, **role)


def line(x1: str, y1: str | float, x2: str, y2: str | float, kind: str) -> Markup:
    """A line from place to place."""
    return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=kind)


def dot(x: str, y: str | float, kind: str, radius: float = 4.5) -> Markup:
    """A dot."""
    return tag("circle", cx=x, cy=y, r=f"{radius:g}", class_=kind)


def words(x: str, y: str | float, text: str, anchor: str = "middle") -> Markup:
    """Words; `anchor` is start, middle or end."""
    return tag("text", text, x=x, y=y, text_anchor=anchor)


def grid(scale: Scale, marks: Sequence[float], height: float) -> list[Markup]:
    """Vertical lines behind a strip."""
    return [line(scale.x(v), 0, scale.x(v), f"{height:g}", "grid") for v in marks]


def axis(scale: Scale, marks: Sequence[float], texts: Sequence[str]) -> Markup:
    """The numbers below, the outer ones kept inside the picture."""
    made = []
    for value, text in zip(marks, texts, strict=True):
        place = float(scale.x(value)[:-1])
        anchor = "start" if place < 6 else "end" if place > 94 else "middle"
        made.append(words(scale.x(value), 14, text, anchor))
    return drawing(18, made, class_="axis")


def interval(
    scale: Scale, value: float, low: float, high: float, *, y: float, kind: str = "main"
) -> list[Markup]:
    """A dot on its interval."""
    return [
        line(scale.x(low), y, scale.x(high), y, f"{kind} wide"),
        dot(scale.x(value), y, f"{kind} fill"),
    ]
