"""The errata of the papers, and a ledger of their proofs.

data/errata.toml lists them; a page of the book proves each with a cell that ends in

    proved("v2-inverse", np.allclose(inverse, right), not np.allclose(inverse, printed))

The ledger refuses what is false, unknown or already proved, and gives no table before every
erratum has its proof.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field
from html import escape

from poe._paths import data_dir

SEVERITIES = ("misprint", "statement", "setting", "numbers")
PAPERS = {
    "poe_v2": "PoE, version 2",
    "poe_v1": "PoE, version 1",
    "comparative_assessment": "Comparative assessment",
    "skill_aggregation": "SkillAggregation",
}


@dataclass(frozen=True)
class Erratum:
    """What is wrong, where, how grave it is and which result changes; see data/errata.toml."""

    id: str
    paper: str
    place: str
    says: str
    severity: str
    changes: str
    also: str = ""


def errata() -> tuple[Erratum, ...]:
    """Every erratum, in the order of the file."""
    text = (data_dir() / "errata.toml").read_text(encoding="utf-8")
    return tuple(Erratum(**entry) for entry in tomllib.loads(text)["erratum"])


@dataclass
class Ledger:
    """Errata and which of them have been proved; call it with an id and what must hold."""

    errata: tuple[Erratum, ...] = field(default_factory=errata)
    done: dict[str, int] = field(default_factory=dict)

    def __call__(self, erratum: str, *conditions: object) -> None:
        """Record a proof. Raises AssertionError where a condition is false."""
        if erratum not in {one.id for one in self.errata}:
            raise KeyError(f"no erratum {erratum!r} in data/errata.toml")
        if erratum in self.done:
            raise KeyError(f"{erratum!r} is proved already")
        if not conditions:
            raise ValueError(f"nothing was claimed for {erratum!r}")
        for number, condition in enumerate(conditions, start=1):
            assert bool(condition), f"{erratum}: condition {number} does not hold"
        self.done[erratum] = len(conditions)

    def missing(self) -> list[str]:
        """Ids without a proof."""
        return [one.id for one in self.errata if one.id not in self.done]

    def count(self, severity: str) -> int:
        """Number of errata of a severity."""
        return sum(one.severity == severity for one in self.errata)

    def html(self) -> str:
        """The table of all errata, each linked to its proof (anchor `erratum-ID`).

        Raises ValueError naming the errata that have no proof.
        """
        if self.missing():
            raise ValueError(f"no proof of {', '.join(self.missing())}")
        head = _row("th", ("where", "what", "severity", "which result changes"))
        body = "".join(_row("td", _cells(one)) for one in self.errata)
        table = f'<table class="table"><thead>{head}</thead><tbody>{body}</tbody></table>'
        return f'<div style="overflow-x: auto">{table}</div>'  # scrolls inside itself


def _cells(one: Erratum) -> tuple[str, str, str, str]:
    where = f"{PAPERS[one.paper]}, {one.place}" + (f" (also {one.also})" if one.also else "")
    link = f'<a href="#erratum-{one.id}">{escape(where)}</a>'
    return link, escape(one.says), one.severity, escape(one.changes)


def _row(tag: str, cells: Iterable[str]) -> str:
    return "<tr>" + "".join(f"<{tag}>{cell}</{tag}>" for cell in cells) + "</tr>"
