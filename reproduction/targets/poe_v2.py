"""Targets of the product-of-experts paper, second version, and the diagnosis of its deviations."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pandas as pd

from reproduction import (
    attributes,
    contexts,
    deviations,
    deviations_other,
    diagnosis,
    figures,
    table3,
    table9,
    uncertainty,
)
from reproduction.settings import Settings, Target
from reproduction.targets.names import C, H, S, T, panel

# What a panel shows beside its judge, dataset and attribute, where caption and text differ.
REMARKS = {
    "figure7b": ", with and without the bias as the text has it; captioned as symmetric against "
    "non-symmetric",
}


def _tables() -> list[Target]:
    what = {
        "table1": "SummEval, Spearman, five methods",
        "table2": "SummEval, random against selected comparisons",
        "table5": "SummEval, Spearman, six methods",
        "table6": "SummEval, Pearson",
        "table7": "TopicalChat, Spearman",
        "table8": "TopicalChat, Pearson",
    }
    found = [
        Target(
            name,
            "poe_v2",
            text,
            "simulated",
            partial(contexts.run, table=name),
            (T,) if name in ("table7", "table8") else (S,),
            10.0,
            name,
        )
        for name, text in what.items()
    ]
    found.append(
        Target(
            "table3",
            "poe_v2",
            "HANNA and CMCQRD, all texts ranked together",
            "simulated",
            table3.run,
            (H, C),
            20.0,
            "table3",
        )
    )
    found.append(
        Target(
            "table9",
            "poe_v2",
            "against G-Eval and PairS",
            "simulated",
            table9.run,
            (S, H),
            15.0,
            "table9",
        )
    )
    return found


def _figures() -> list[Target]:
    found = [
        Target(
            name,
            "poe_v2",
            panel(of),
            "simulated",
            partial(figures.small, name=name),
            (of[1],),
            10.0 if of[1] == S else 2.0,
        )
        for name, of in figures.SMALL.items()
    ]
    found.append(
        Target(
            "figure1c",
            "poe_v2",
            panel(figures.SELECTED) + ", selected or random",
            "simulated",
            figures.selection,
            (S,),
            30.0,
        )
    )
    for group, run in (
        (figures.LARGE, figures.large_panel),
        (figures.BOTH_DESIGNS, figures.designs),
        (figures.DEBIASED, figures.debiased),
    ):
        found += [
            Target(
                name,
                "poe_v2",
                panel(of) + REMARKS.get(name, ""),
                "simulated",
                partial(run, name=name),
                (of[1],),
                20.0,
            )
            for name, of in group.items()
        ]
    found.append(
        Target(
            "figure9",
            "poe_v2",
            f"probabilities and score differences: {_analysed()}",
            "simulated",
            figures.figure9,
            (S, T),
            1.0,
        )
    )
    found.append(
        Target(
            "figure10",
            "poe_v2",
            f"mean and variance of the score difference: {_analysed()}",
            "simulated",
            figures.figure10,
            (S, T),
            1.0,
        )
    )
    return found


def _analysed() -> str:
    """The panels of Figures 9 and 10."""
    return "; ".join(panel(of) for of in figures.ANALYSED.values())


def _diagnoses() -> list[Target]:
    both = (S, T)
    return [
        _diagnosis("zermelo", "soft BT stopped early, or with a prior", diagnosis.run, (S,), 10.0),
        _diagnosis("calibration", "the twins' own errors", uncertainty.run, both, 60.0),
        _diagnosis("errors", "how judges err", deviations.errors, both, 90.0),
        _diagnosis("shape", "what is perceived", deviations.shape, both, 90.0),
        _diagnosis("prompts", "two prompts apart", deviations_other.prompts, both, 20.0),
        _diagnosis("sorting", "how PairS asks", deviations_other.sorting, (S, H), 10.0),
    ]


def _diagnosis(
    name: str,
    what: str,
    run: Callable[[Settings], pd.DataFrame],
    reads: tuple[str, ...],
    cost: float,
) -> Target:
    why = f"why cells deviate: {what}"
    return Target(f"diagnosis-{name}", "poe_v2", why, "simulated", run, reads, cost)


def _attributes() -> Target:
    what = "Table 1's judges by attribute, which no table prints"
    return Target("attributes", "poe_v2", what, "simulated", attributes.run, (S,), 5.0)


TARGETS = (*_tables(), _attributes(), *_figures(), *_diagnoses())
