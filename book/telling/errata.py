"""The errata of the papers, and a ledger of their proofs.

data/errata.toml lists them; a page of the book proves each with a cell that ends in

    proved("v2-inverse", np.allclose(inverse, right), not np.allclose(inverse, printed))

The ledger refuses what is false, unknown or already proved, and gives no table before every
erratum has its proof.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from textwrap import fill

import pandas as pd
from markupsafe import Markup

from book.telling.pages import Cell, folded, table
from judging.machine import data_dir
from reproduction.published import TITLES

KINDS = {  # of errata, the gravest first
    "numbers": "Printed numbers that contradict each other or an identity",
    "setting": "Settings given in two ways or not at all, on which a rerun depends",
    "statement": "Sentences that are wrong, or that something printed or derived contradicts",
    "misprint": "Misprints on which no number depends",
}
SEVERITIES = tuple(KINDS)


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


@dataclass(frozen=True)
class Proved:
    """How many conditions were found true, and which; a cell that ends with a proof shows it."""

    conditions: int
    checked: str = ""

    def __repr__(self) -> str:
        number = f"{self.conditions} condition{'s' if self.conditions > 1 else ''}"
        return fill(f"checked: {self.checked or f'{number}, all true'}", 38)


@dataclass
class Ledger:
    """Errata and which of them have been proved; call it with an id and what must hold."""

    errata: tuple[Erratum, ...] = field(default_factory=errata)
    done: dict[str, int] = field(default_factory=dict)

    def __call__(self, erratum: str, *conditions: object, checked: str = "") -> Proved:
        """Record a proof; `checked` says it in words. AssertionError if a condition is false."""
        if erratum not in {one.id for one in self.errata}:
            raise KeyError(f"no erratum {erratum!r} in data/errata.toml")
        if erratum in self.done:
            raise KeyError(f"{erratum!r} is proved already")
        if not conditions:
            raise ValueError(f"nothing was claimed for {erratum!r}")
        for number, condition in enumerate(conditions, start=1):
            assert bool(condition), f"{erratum}: condition {number} does not hold"
        self.done[erratum] = len(conditions)
        return Proved(len(conditions), checked)

    def missing(self) -> list[str]:
        """Ids without a proof."""
        return [one.id for one in self.errata if one.id not in self.done]

    def count(self, severity: str) -> int:
        """Number of errata of a severity."""
        return sum(one.severity == severity for one in self.errata)

    def html(self) -> Markup:
        """The errata, a fold for each severity, each linked to its proof (anchor `erratum-ID`).

        Raises ValueError naming the errata that have no proof.
        """
        if self.missing():
            raise ValueError(f"no proof of {', '.join(self.missing())}")
        heads, made = ("where", "what", "which result changes"), []
        for severity in SEVERITIES:
            some = [one for one in self.errata if one.severity == severity]
            rows = [_row(one) for one in some]
            plain = pd.DataFrame([[cell.content for cell in row] for row in rows], columns=heads)
            inside = table(heads, rows, name="table errata")
            made.append(folded(f"{KINDS[severity]} ({len(rows)})", inside, plain))
        return Markup().join(made)


def _row(one: Erratum) -> list[Cell]:
    where = f"{TITLES[one.paper]}, {one.place}" + (f" (also {one.also})" if one.also else "")
    link = Markup('<a href="#erratum-{}">{}</a>').format(one.id, where)
    return [Cell(text, {}) for text in (link, one.says, one.changes)]
