"""Targets of the product-of-experts paper, first version."""

from __future__ import annotations

from functools import partial

import pandas as pd

from poe.reproduce import contexts, curves, laplacian
from poe.reproduce.settings import Settings, Target
from poe.reproduce.targets.names import S, T, panel


def _tables() -> list[Target]:
    datasets = {1: S, 2: S, 3: S, 4: T, 5: T}
    return [
        Target(
            f"v1-table{k}",
            "poe_v1",
            "as poe_v2's, K in pairs",
            "simulated",
            partial(contexts.run, table=f"table{k}", paper="poe_v1"),
            (d,),
            2.0,
            f"table{k}",
        )
        for k, d in datasets.items()
    ]


def _figures() -> list[Target]:
    panels = {
        "v1-figure3a": ("FlanT5-3B", S, "coherence"),
        "v1-figure3b": ("FlanT5-11B", T, "coherency"),
    }
    found = [
        Target(
            name,
            "poe_v1",
            panel(of) + " (panels are not named in the text at hand)",
            "simulated",
            partial(_curve, name=name, of=of),
            (of[1],),
            10.0,
        )
        for name, of in panels.items()
    ]
    found.append(
        Target(
            "v1-laplacian",
            "poe_v1",
            "Laplacian experts, clean and turned answers",
            "simulated",
            laplacian.run,
            (S,),
            15.0,
        )
    )
    return found


def _curve(settings: Settings, name: str, of: curves.Panel) -> pd.DataFrame:
    return curves.run(settings, {name: of})


TARGETS = (*_tables(), *_figures())

# The same runs under other numbers; poe_v1's figures 1, 2, 4 and 5f are v2's 9, 10, 1c and 3.
ALIASES = {
    "v1-figure1": "figure9",
    "v1-figure2": "figure10",
    "v1-figure4": "figure1c",
    "v1-figure5f": "figure3",
}
