"""Judging by comparison: scores from pairwise comparisons as products of experts."""

from poe import baselines, datasets, debias, experts, judges, metrics, panel
from poe.adaptive import Ranking, rank
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
    ExpertError,
    Gaussian,
    Huber,
    Laplacian,
    StudentT,
    Thurstone,
    check_expert,
)
from poe.fitting import fit
from poe.planning import Plan, plan
from poe.resistance import effective_resistance, log_det
from poe.result import Fit
from poe.scores import average_probability, bradley_terry, win_ratio
from poe.selection import next_comparisons, select
from poe.stack import Stack
from poe.stopping import ranks_within, se_below, top_known

__version__ = "0.1.0"

__all__ = [
    "BradleyTerry",
    "ComparisonError",
    "Comparisons",
    "DisconnectedError",
    "Expert",
    "ExpertError",
    "Fit",
    "Gaussian",
    "Huber",
    "JudgeError",
    "Laplacian",
    "NotConvergedError",
    "Plan",
    "Ranking",
    "SeparableError",
    "Stack",
    "StudentT",
    "Thurstone",
    "UnidentifiedBiasError",
    "average_probability",
    "baselines",
    "bradley_terry",
    "check_expert",
    "datasets",
    "debias",
    "effective_resistance",
    "experts",
    "fit",
    "judges",
    "log_det",
    "metrics",
    "next_comparisons",
    "panel",
    "plan",
    "rank",
    "ranks_within",
    "se_below",
    "select",
    "top_known",
    "win_ratio",
]
