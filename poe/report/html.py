"""HTML in which text cannot become markup: strings are escaped, only `Markup` is not."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

_VOID = {"br", "meta", "line", "rect", "circle", "path"}

Child = Any  # a string, a number, Markup, or an iterable of these; None is left out


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def tag(name: str, /, *children: Child, **attributes: Any) -> Markup:
    """An element; `class_` is class, `aria_label` aria-label; None and False are left out."""
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{html.escape(str(value), quote=True)}"'
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    if name in _VOID and not children:
        return Markup(f"<{name}{given}/>")
    return Markup(f"<{name}{given}>{join(children)}</{name}>")


def join(children: Iterable[Child]) -> Markup:
    """Children one after the other, everything that is not markup escaped."""
    made: list[Markup] = []
    for child in children:
        if child is None:
            continue
        if isinstance(child, Markup):
            made.append(child)
        elif isinstance(child, str) or not isinstance(child, Iterable):
            made.append(Markup(html.escape(str(child), quote=True)))
        else:
            made.append(join(child))
    return Markup("".join(made))


def table(
    head: Sequence[str], rows: Iterable[Sequence[Child]], *, caption: str, numbers: Sequence[int]
) -> Markup:
    """A table that scrolls in its own box: the first cell of a row names it.

    numbers : columns that are aligned as numbers.
    """

    def kind(column: int) -> str | None:
        return "num" if column in numbers else None

    def line(cells: Sequence[Child]) -> Markup:
        first = tag("th", cells[0], scope="row", class_=kind(0))
        rest = [tag("td", cell, class_=kind(k)) for k, cell in enumerate(cells[1:], start=1)]
        return tag("tr", first, rest)

    titles = [tag("th", title, scope="col", class_=kind(k)) for k, title in enumerate(head)]
    body = tag("tbody", [line(cells) for cells in rows])
    # The caption stays put while the table scrolls; the one inside is for those who listen.
    spoken = tag("caption", caption, class_="spoken")
    whole = tag("table", spoken, tag("thead", tag("tr", titles)), body)
    box = tag("div", whole, class_="scroll", tabindex=0, role="region", aria_label=caption)
    return Markup(tag("p", caption, class_="title", aria_hidden="true") + box)


def figure(picture: Markup, caption: Child) -> Markup:
    """A picture with the words below it."""
    return tag("figure", picture, tag("figcaption", caption))


def section(title: str, *children: Child, anchor: str, level: int = 2) -> Markup:
    """A part of the page with its heading."""
    heading = tag(f"h{level}", title, id=anchor)
    return tag("section", heading, children, aria_labelledby=anchor)


def page(title: str, *children: Child) -> str:
    """The whole document, which loads nothing."""
    style = Path(__file__).with_name("report.css").read_text(encoding="utf-8")
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", title),
        tag("style", Markup(style)),
    )
    return f'<!doctype html>\n<html lang="en">{head}{tag("body", tag("main", children))}</html>\n'
