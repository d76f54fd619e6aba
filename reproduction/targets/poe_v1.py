"""Targets of the product-of-experts paper, first version."""

from __future__ import annotations

from functools import partial

from reproduction import contexts, curves, laplacian
from reproduction.settings import Target
from reproduction.targets.names import CHOSEN, S, T, panel


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
            panel(of, CHOSEN),
            "simulated",
            partial(curves.one, name=name, of=of),
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


TARGETS = (*_tables(), *_figures())

# The same runs under other numbers. poe_v1's text names the panel of its Figure 4 and the dataset
# of 5f; that Figures 1 and 2 show what v2's 9 and 10 do, and 5f Llama2-13B, is our reading. The
# other panels of its Figure 5, more judges and data sets, are not named: v2's stand for them.
ALIASES = {
    "v1-figure1": "figure9",
    "v1-figure2": "figure10",
    "v1-figure4": "figure1c",
    "v1-figure5": "figure5",
    "v1-figure5f": "figure3",
}
