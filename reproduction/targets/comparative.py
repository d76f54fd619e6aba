"""Targets of the comparative-assessment paper."""

from __future__ import annotations

from functools import partial

from reproduction import comparative, comparative_curves, comparative_rankings
from reproduction.settings import Target
from reproduction.targets.names import CAPTIONED, CHOSEN, S, T, panel

PAPER = "comparative_assessment"
NAMED = {"figure4": CAPTIONED}  # of its Figure 5 the caption names no judge and no dataset


def _targets() -> list[Target]:
    places = {1: (S,), 3: (T,), 5: (S,), 6: (S, T), 7: (S,), 9: (S, T), 10: (S, T)}
    found = [
        Target(
            f"comparative-table{k}",
            PAPER,
            "decisions under that paper's prompts",
            "simulated",
            partial(comparative.run, table=f"table{k}"),
            place,
            5.0,
            f"table{k}",
        )
        for k, place in places.items()
    ]
    found.append(
        Target(
            "comparative-table8",
            PAPER,
            "self-consistency",
            "simulated",
            comparative_rankings.table8,
            (S,),
            2.0,
            "table8",
        )
    )
    found.append(
        Target(
            "comparative-table11",
            PAPER,
            "the likeliest ranking",
            "simulated",
            comparative_rankings.table11,
            (S,),
            30.0,
            "table11",
        )
    )
    found += [
        Target(
            f"comparative-{name}",
            PAPER,
            panel(of, NAMED.get(name, CHOSEN)) + ", three ways to choose calls",
            "simulated",
            partial(comparative_curves.figure, name=name),
            (of[1],),
            5.0,
        )
        for name, of in comparative_curves.PANELS.items()
    ]
    return found


TARGETS = tuple(_targets())
