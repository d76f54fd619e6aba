"""Sentences of the paper that assert something checkable, in our words, as tests on a table.

Each claim is computed twice by one function: from the numbers the paper printed, and from ours.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd

from poe.reproduce.results import compare, read


@dataclass(frozen=True)
class Claim:
    """A claim, where the paper makes it, what to compute and when it holds.

    measure : from a table of values, judges by (calls, method), the number the claim is about.
    holds : whether that number bears the claim out.
    show : how the number is written.
    """

    text: str
    place: str
    measure: Callable[[pd.DataFrame], float]
    holds: Callable[[float], bool]
    show: str


def _lost(wide: pd.DataFrame, method: str) -> pd.Series:
    return wide[240, "avg-prob"] - wide[48, method]


TABLE1: tuple[Claim, ...] = (
    Claim(
        "With a fifth of the calls the product of experts stays within 2 points of all calls, "
        "for four judges of five",
        "5.1",
        lambda wide: float((_lost(wide, "PoE-BT").round(1) <= 2.0).sum()),
        lambda judges: judges >= 4,
        "{:.0f} of 5",
    ),
    Claim(
        "With a fifth of the calls the win-ratio loses up to 10 points",
        "5.1",
        lambda wide: float((wide[240, "win-ratio"] - wide[48, "win-ratio"]).max()),
        lambda loss: 9.0 <= loss <= 11.0,
        "{:.1f} at most",
    ),
    Claim(
        "With a fifth of the calls the average probability beats the win-ratio for every judge",
        "5.1",
        lambda wide: float((wide[48, "avg-prob"] - wide[48, "win-ratio"]).min()),
        lambda gain: gain > 0,
        "{:+.1f} at least",
    ),
    Claim(
        "Products of experts on probabilities beat the average probability for every judge",
        "5.1",
        lambda wide: float(
            (wide[48][["PoE-BT", "PoE-g"]].min(axis=1) - wide[48, "avg-prob"]).min()
        ),
        lambda gain: gain > 0,
        "{:+.1f} at least",
    ),
    Claim(
        "Gaussian and Bradley-Terry experts perform alike (within half a point)",
        "5.1",
        lambda wide: float((wide[48, "PoE-BT"] - wide[48, "PoE-g"]).abs().max()),
        lambda gap: gap <= 0.5,
        "{:.1f} at most",
    ),
    Claim(
        "With all calls the average probability and the win-ratio are within a point",
        "5.1",
        lambda wide: float((wide[240, "avg-prob"] - wide[240, "win-ratio"]).abs().max()),
        lambda gap: gap <= 1.0,
        "{:.1f} at most",
    ),
)


def claims() -> pd.DataFrame:
    """One row a claim: claim, place, published and ours as text, and whether each holds.

    Ours is the committed Table 1 on real labels.
    """
    cells = compare("table1", read("table1"))
    cells["k"] = cells["k"].astype(int)

    def wide(column: str) -> pd.DataFrame:
        return cells.pivot(index="system", columns=["k", "method"], values=column)

    rows = []
    for claim in TABLE1:
        theirs, ours = claim.measure(wide("number")), claim.measure(wide("ours"))
        rows.append(
            {
                "claim": claim.text,
                "place": claim.place,
                "published": claim.show.format(theirs),
                "published holds": claim.holds(round(theirs, 6)),
                "ours": claim.show.format(ours),
                "ours holds": claim.holds(round(ours, 6)),
                "kind": cells["kind"].iloc[0],
            }
        )
    return pd.DataFrame(rows)
