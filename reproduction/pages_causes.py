"""Why cells deviate, as tables of the scorecard's page."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

import numpy as np
import pandas as pd

from reproduction import causes, pages


def causes_html(card: pd.DataFrame) -> str:
    """Every cause with the target that shows it, its cells, and what it takes away of them."""
    return _effects("cause", causes.effects(card))


def refuted_html(card: pd.DataFrame) -> str:
    """Suspicions that an experiment does not bear out."""
    return _effects("suspicion", causes.refuted(card))


def _effects(what: str, table: pd.DataFrame) -> str:
    body = [
        _row(
            row[what],
            (
                _code(row["target"]),
                str(row["cells"]),
                _points(row["before"]),
                _points(row["after"]),
            ),
        )
        for _, row in table.iterrows()
    ]
    return _table((what, "shown by", "cells", "mean difference", "left of it"), body)


def reasons_html(card: pd.DataFrame) -> str:
    """How many cells were not attempted for the same reason, most first."""
    counts = card.loc[card["reason"] != "", "reason"].value_counts()
    body = [_row(str(text), (str(count),)) for text, count in counts.items()]
    return _table(("reason", "cells"), body)


def suspicions_html(card: pd.DataFrame) -> str:
    """Mean absolute difference of the predictions under each variant of the twins."""
    found = causes.suspicions(card)
    body = [_row(str(name), map(_points, row)) for name, row in found.iterrows()]
    return _table(("twins", *map(str, found.columns)), body)


def chance_html(card: pd.DataFrame, *, by: str = "table") -> str:
    """Deviations expected by chance and observed, by table or paper."""
    found = causes.chance(card, by=by)
    body = [
        _row(
            _named(str(row[by])),
            (str(row["cells"]), f"{row['expected']:.1f}", str(row["observed"])),
        )
        for _, row in found.iterrows()
    ]
    return _table((by, "cells compared", "expected by chance", "deviate"), body)


def _named(name: str) -> str:
    return f"Table {name.removeprefix('table')}" if name.startswith("table") else name


def _code(target: str) -> str:
    if not target.startswith("diagnosis-"):
        return f"<code>{escape(target)}</code>" if target else ""
    return f"<code>poe reproduce {escape(target)}</code>"


def _points(value: float) -> str:
    return f"{value:.2f}" if np.isfinite(value) else ""


def _row(first: str, rest: Iterable[str]) -> str:
    cells = "".join(f"<td>{text}</td>" for text in rest)
    return f'<tr><td class="claim">{escape(first)}</td>{cells}</tr>'


def _table(heads: Iterable[str], body: list[str]) -> str:
    head = "".join(f'<th scope="col">{escape(text)}</th>' for text in heads)
    return pages.scrolling("claims", head, body)
