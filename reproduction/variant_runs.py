"""The printed experiments of SummEval and TopicalChat, scored with variants of the twins.

What the diagnoses of deviations (`deviations`, `uncertainty`) share.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pandas as pd

from reproduction import contexts, facts, variants
from reproduction.contexts import Cell
from reproduction.settings import Settings, in_threads
from reproduction.sweep import labels
from reproduction.twins import Twin, twins
from reproduction.variants import FEW, FULL, Values, Variant

DRAWS = 20  # a change is a difference on the same draws, so fewer of them do
DATASETS = ("summeval", "topicalchat")
TABLES = ("table5", "table6", "table7", "table8", "table2")

Row = dict[str, object]


def groups() -> list[list[Twin]]:
    """The twins of a judge and dataset, one an attribute."""
    return [
        [twins(dataset)[judge, attribute] for attribute in facts.ATTRIBUTES[dataset].values()]
        for dataset in DATASETS
        for judge in facts.JUDGES
    ]


def experiments(judges: Sequence[Twin]) -> dict[Cell, str]:
    """The printed experiments of a judge, and the first id of each."""
    found: dict[Cell, str] = {}
    for table in TABLES:
        for _, row in contexts.cells(table).iterrows():
            cell = row["cell"]
            same = contexts.facts_key(cell.dataset) == judges[0].dataset
            if same and cell.system == judges[0].judge:
                found.setdefault(cell, row["id"])
    return found


def where(cell: Cell) -> str:
    """Which of the runs of `every` a cell stands for."""
    full = FULL[contexts.facts_key(cell.dataset)]
    return "all" if cell.calls == full else cell.rule


def every(judges: Sequence[Twin], variant: Variant, settings: Settings) -> dict[str, Values]:
    """Values by where they were taken: "all" calls, few "symmetric" ones, few "greedy" ones."""
    dataset = judges[0].dataset
    wanted = {"all": (FULL[dataset], "symmetric"), "symmetric": (FEW[dataset], "symmetric")}
    if dataset == "summeval":
        wanted["greedy"] = (FEW[dataset], "greedy")
    return {
        place: variants.scored(
            judges,
            variant,
            count,
            rule,
            source=settings.source,
            draws=draws(settings),
            seed=settings.seed,
        )
        for place, (count, rule) in wanted.items()
    }


def levelled(
    judges: Sequence[Twin], variant: Variant, plain: dict[str, Values], settings: Settings
) -> list[Twin]:
    """The judges with all rho times one factor, so that the variant has the level of `plain`."""
    return variants.levelled(
        judges,
        variant,
        mean(plain, "all", "avg-prob", "spearman"),
        source=settings.source,
        draws=draws(settings),
        seed=settings.seed,
    )


def mean(values: dict[str, Values], place: str, method: str, kind: str) -> float:
    """Mean over the draws."""
    return float(values[place][method, kind].mean())


def head(id_: str, cell: Cell) -> Row:
    """The columns that say which experiment a row is about."""
    return {
        "id": id_,
        "system": cell.system,
        "dataset": cell.dataset,
        "k": cell.calls,
        "method": cell.method,
        "selection": cell.rule,
        "metric": cell.metric,
    }


def draws(settings: Settings) -> int:
    """As many as asked for, and no more than do."""
    return min(settings.draws, DRAWS)


def table(of: Callable[[list[Twin]], list[Row]], settings: Settings) -> pd.DataFrame:
    """The rows of all judges and datasets, as a result."""
    done = in_threads(of, groups(), workers=settings.workers, progress=settings.progress)
    found = pd.DataFrame([row for rows in done for row in rows])
    real = {facts.NAMES[name]: labels(name, settings.source).source for name in DATASETS}
    source = found["dataset"].map(real)
    return found.assign(kind="simulated", labels=source, draws=draws(settings), seed=settings.seed)
