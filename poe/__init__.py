"""Judging by comparison: scores from pairwise comparisons as products of experts."""

from poe import baselines, datasets, debias, experts, judges, metrics
from poe.comparisons import Comparisons
from poe.errors import (
    ComparisonError,
    DisconnectedError,
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
from poe.result import Fit
from poe.scores import average_probability, bradley_terry, win_ratio
from poe.selection import select
from poe.stack import Stack

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
    "Laplacian",
    "NotConvergedError",
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
    "experts",
    "fit",
    "judges",
    "metrics",
    "select",
    "win_ratio",
]
