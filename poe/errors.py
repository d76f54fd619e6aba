"""What can go wrong, by name, so that callers can tell one cause from another."""

from collections.abc import Iterable
from typing import Any

__all__ = [
    "ComparisonError",
    "DataNotFoundError",
    "DatasetError",
    "DisconnectedError",
    "DownloadError",
    "InvalidDataError",
    "JudgeError",
    "NoJudgeError",
    "NotConvergedError",
    "SeparableError",
    "UnidentifiedBiasError",
    "UnknownDatasetError",
    "name_some",
]


class ComparisonError(ValueError):
    """The comparisons themselves are not usable; the message names rows and items."""


class DisconnectedError(ComparisonError):
    """Some items share no chain of comparisons, so their relative scores are undefined."""


class SeparableError(ComparisonError):
    """Some items never lost to the rest, so the maximum-likelihood scores are infinite."""


class UnidentifiedBiasError(ComparisonError):
    """The comparisons cannot tell a position bias from the scores."""


class NotConvergedError(RuntimeError):
    """An iteration stopped before reaching its tolerance."""


class JudgeError(RuntimeError):
    """A judge, its prompt or its store cannot go on; the message says what to change."""


class NoJudgeError(JudgeError):
    """The judge that was named cannot be had: no such name, model, option or package."""


class DatasetError(RuntimeError):
    """A dataset that is unknown, not at hand, or not what it should be; see `poe.datasets`."""


class DataNotFoundError(DatasetError):
    """The data are in none of the places looked at."""


class InvalidDataError(DatasetError):
    """The file is there but is not what it should be: wrong checksum, shape, type or range."""


class UnknownDatasetError(DatasetError, ValueError):
    """No dataset has this name."""


class DownloadError(DatasetError):
    """The file could not be downloaded or stored."""


def name_some(names: Iterable[Any], limit: int = 5) -> str:
    """Quote the first few names of a sequence: `'a', 'b', 'c' and 12 more`."""
    names = list(names)
    shown = ", ".join(repr(name) for name in names[:limit])
    return shown if len(names) <= limit else f"{shown} and {len(names) - limit} more"
