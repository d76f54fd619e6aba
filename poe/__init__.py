"""Judging by comparison: scores from pairwise comparisons as products of experts.

    c = poe.Comparisons.from_table(df)                 # columns first, second, p
    fit = poe.fit(c, expert="bradley-terry", bias="fit")
    fit.scores; fit.interval(0.95); fit.prob_better("essay-3", "essay-8")
    poe.rank(texts, judge, attribute="more persuasive")

Submodules are imported when they are first used: poe.baselines, poe.datasets, poe.debias,
poe.judges, poe.metrics, poe.panel, poe.plots.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from poe.comparisons import Comparisons
from poe.errors import (
    ComparisonError,
    DisconnectedError,
    JudgeError,
    NotConvergedError,
    SeparableError,
    UnidentifiedBiasError,
)
from poe.experts import (
    BradleyTerry,
    Expert,
    Gaussian,
    Huber,
    Laplacian,
    StudentT,
    Thurstone,
    check_expert,
)
from poe.fitting import fit
from poe.planning import plan
from poe.ranking import Ranking, rank
from poe.resistance import effective_resistance, log_det
from poe.result import Fit
from poe.scores import average_probability, bradley_terry, win_ratio
from poe.selection import next_comparisons, select
from poe.stack import Stack
from poe.stopping import ranks_within, se_below, top_known

if TYPE_CHECKING:
    from poe import (  # noqa: F401
        baselines,
        datasets,
        debias,
        experts,
        judges,
        metrics,
        panel,
        plots,
    )

__version__ = "0.1.0"

__all__ = [
    "BradleyTerry",
    "ComparisonError",
    "Comparisons",
    "DisconnectedError",
    "Expert",
    "Fit",
    "Gaussian",
    "Huber",
    "JudgeError",
    "Laplacian",
    "NotConvergedError",
    "Ranking",
    "SeparableError",
    "Stack",
    "StudentT",
    "Thurstone",
    "UnidentifiedBiasError",
    "average_probability",
    "bradley_terry",
    "check_expert",
    "effective_resistance",
    "fit",
    "log_det",
    "next_comparisons",
    "plan",
    "rank",
    "ranks_within",
    "se_below",
    "select",
    "top_known",
    "win_ratio",
]

_SUBMODULES = {
    *("baselines", "datasets", "debias", "experts", "judges", "metrics", "panel", "plots"),
}


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return importlib.import_module(f"poe.{name}")
    raise AttributeError(f"module 'poe' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_SUBMODULES})
