"""Judging by comparison: scores from pairwise comparisons as products of experts.

    c = poe.Comparisons.from_table(df)                 # columns first, second, p
    fit = poe.fit(c, expert="bradley-terry", bias="fit")
    fit.scores; fit.interval(0.95); fit.prob_better("essay-3", "essay-8")
    poe.rank(texts, judge, attribute="more persuasive")

Names and submodules (poe.baselines, poe.datasets, poe.judges, poe.panel, ...) are imported when
they are first used, so that `import poe` takes no time.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

# ruff: noqa: F401
if TYPE_CHECKING:
    from poe import baselines, datasets, debias, experts, judges, metrics, panel, plots, stopping
    from poe.adaptive import next_comparisons
    from poe.comparisons import Comparisons
    from poe.errors import (
        ComparisonError,
        DisconnectedError,
        NotConvergedError,
        SeparableError,
        UnidentifiedBiasError,
    )
    from poe.experts import BradleyTerry, Gaussian, Laplacian
    from poe.fitting import fit
    from poe.planning import plan
    from poe.ranking import rank
    from poe.rankings import Ranking
    from poe.resistance import effective_resistance, log_det
    from poe.result import Fit
    from poe.scores import average_probability, bradley_terry, win_ratio
    from poe.selection import select
    from poe.stack import Stack
    from poe.stopping import ranks_within, se_below, top_known

__version__ = "0.1.0"

# Which module each name comes from.
_NAMES = {
    "adaptive": ["next_comparisons"],
    "comparisons": ["Comparisons"],
    "errors": [
        "ComparisonError",
        "DisconnectedError",
        "NotConvergedError",
        "SeparableError",
        "UnidentifiedBiasError",
    ],
    "experts": ["BradleyTerry", "Gaussian", "Laplacian"],
    "fitting": ["fit"],
    "planning": ["plan"],
    "ranking": ["rank"],
    "rankings": ["Ranking"],
    "resistance": ["effective_resistance", "log_det"],
    "result": ["Fit"],
    "scores": ["average_probability", "bradley_terry", "win_ratio"],
    "selection": ["select"],
    "stack": ["Stack"],
    "stopping": ["ranks_within", "se_below", "top_known"],
}
_HOME = {name: module for module, names in _NAMES.items() for name in names}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    module = _HOME.get(name)
    try:
        found = importlib.import_module(f"poe.{module or name}")
    except ModuleNotFoundError as error:
        if error.name != f"poe.{name}":
            raise  # what the module needs is not installed
        raise AttributeError(f"module 'poe' has no attribute {name!r}") from None
    globals()[name] = getattr(found, name) if module else found
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
