"""Why cells of SummEval and TopicalChat deviate: one assumption of the twins changed at a time.

Each target scores the printed experiments of poe_v2's Tables 5 to 8, and of Table 2's greedily
chosen pairs, with variants of the twins (`reproduction.variants`), all on the same draws. `change`
is what the assumption alone does to a cell. The scorecard names a cause where the change takes away
at least half of the difference; elsewhere the suspicion is refuted, and the file shows it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from reproduction import facts, variants
from reproduction import variant_runs as runs
from reproduction.settings import Settings, spread
from reproduction.twins import Twin
from reproduction.variants import FULL, PLAIN, Values, Variant

CHOSEN_ON = "table5"  # whose rows of few calls were looked at when sizes were tried
TWO_FIFTHS = 0.4
ERRORS = (
    Variant("a fifth common", common=0.2),
    Variant("two fifths common", common=TWO_FIFTHS),
    Variant("all common", common=1.0),
    Variant("uneven 0.5", uneven=0.5),
    Variant("uneven 1", uneven=1.0),
    Variant("each call decided", each_call=True),
    Variant("balanced sets", balanced=True),
)
INTERVALS, TAILS = (-0.5, 0.0, 0.5, 1.0, 1.5), (0.0, 0.5, 1.0)
FAMILIES: dict[
    str, dict[str, tuple[float, ...]]
] = {  # the interval does nothing on TopicalChat, which is shown by trying
    "summeval": {"interval": INTERVALS},
    "topicalchat": {"interval": INTERVALS, "tails": TAILS},
}


def errors(settings: Settings) -> pd.DataFrame:
    """How a judge errs: what both orders share, how confidence varies, how pairs are chosen.

    Columns of `_rows`. The sizes were tried out on the rows of few calls of Table 5, whose role is
    therefore "consulted".
    """

    def of(judges: list[Twin]) -> list[runs.Row]:
        plain = runs.every(judges, PLAIN, settings)
        rows = []
        for variant in ERRORS:
            found = runs.every(_prepared(judges, variant, plain, settings), variant, settings)
            rows += _rows(judges, variant.name, plain, found)
        return rows

    return runs.table(of, settings)


def shape(settings: Settings) -> pd.DataFrame:
    """The shape of what each judge perceives, from one full-set Pearson cell a judge.

    Two families, "interval" and (on TopicalChat) "tails", each with the one number that brings
    the average probability's Pearson correlation, all calls, as far above its Spearman correlation
    as it is printed (or as near as the family goes); `parameter` holds it, and that cell is
    "calibrated". So Table 8, which was held out from the twins, is not blind here.
    """

    def of(judges: list[Twin]) -> list[runs.Row]:
        plain = runs.every(judges, PLAIN, settings)
        rows = []
        for family, grid in FAMILIES[judges[0].dataset].items():
            value = _fitted(judges, family, grid, plain, settings)
            for common in (0.0, TWO_FIFTHS):
                name = f"{family}, two fifths common" if common else family
                variant = _shaped(family, value, name=name, common=common)
                changed = _prepared(judges, variant, plain, settings)
                found = runs.every(changed, variant, settings)
                more = _rows(judges, name, plain, found)
                rows += [{**row, "parameter": value} for row in more]
        return rows

    table = runs.table(of, settings)
    fitted = table["id"].str.contains(r"table6/.*K240/avg-prob|table8/.*K30/avg-prob")
    return table.assign(role=table["role"].where(~fitted, "calibrated"))


def _fitted(
    judges: Sequence[Twin],
    family: str,
    grid: Sequence[float],
    plain: dict[str, Values],
    settings: Settings,
) -> float:
    """The family's number at which Pearson's correlation is as far above Spearman's as printed."""
    dataset, system = judges[0].dataset, judges[0].judge
    spearman, pearson = (
        facts.number(f"poe_v2/{table}/{system}/K{FULL[dataset]}/avg-prob")
        for table in (("table5", "table6") if dataset == "summeval" else ("table7", "table8"))
    )
    gaps = []
    for value in grid:
        variant = _shaped(family, value)
        of = _full(_prepared(judges, variant, plain, settings), variant, settings)
        gaps.append(float((of["avg-prob", "pearson"] - of["avg-prob", "spearman"]).mean()))
    order = np.argsort(gaps)
    return float(np.interp(pearson - spearman, np.array(gaps)[order], np.array(grid)[order]))


def _shaped(family: str, value: float, *, name: str = "", common: float = 0.0) -> Variant:
    if family == "interval":
        return Variant(name, common=common, interval=value)
    return Variant(name, common=common, tails=value)


def _prepared(
    judges: Sequence[Twin], variant: Variant, plain: dict[str, Values], settings: Settings
) -> list[Twin]:
    """The judges as the variant has them: calibrated anew where it shares errors, and levelled."""
    changed = list(judges)
    if variant.common:
        changed = variants.recalibrated(judges, variant.common, source=settings.source)
    return runs.levelled(changed, variant, plain, settings)


def _full(judges: Sequence[Twin], variant: Variant, settings: Settings) -> Values:
    return variants.scored(
        judges,
        variant,
        FULL[judges[0].dataset],
        "symmetric",
        source=settings.source,
        draws=runs.draws(settings),
        seed=settings.seed,
        methods=variants.LEVEL,
    )


def _rows(
    judges: Sequence[Twin],
    name: str,
    plain: dict[str, Values],
    found: dict[str, Values],
) -> list[runs.Row]:
    """One row a printed experiment: id, variant, value, change from the twin, and its error."""
    rows = []
    for cell, id_ in runs.experiments(judges).items():
        key = (cell.method, cell.metric)
        value, before = found[runs.where(cell)][key], plain[runs.where(cell)][key]
        change, error = spread(value - before)
        seen = id_.startswith(f"poe_v2/{CHOSEN_ON}/") and runs.where(cell) == "symmetric"
        rows.append(
            {
                **runs.head(id_, cell),
                "variant": name,
                "value": float(value.mean()),
                "change": change,
                "change_se": error,
                "role": "consulted" if seen else "predicted",
            }
        )
    return rows
