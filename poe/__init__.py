"""Judging by comparison: scores from pairwise comparisons as products of experts."""

from poe import datasets, debias, judges, metrics
from poe.comparisons import Comparisons
from poe.errors import (
    ComparisonError,
    DisconnectedError,
    NotConvergedError,
    SeparableError,
    UnidentifiedBiasError,
)
from poe.experts import BradleyTerry, Expert, Gaussian
from poe.fitting import Fit, fit
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
    "Fit",
    "Gaussian",
    "NotConvergedError",
    "SeparableError",
    "Stack",
    "UnidentifiedBiasError",
    "average_probability",
    "bradley_terry",
    "datasets",
    "debias",
    "fit",
    "judges",
    "metrics",
    "select",
    "win_ratio",
]
