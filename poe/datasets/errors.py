"""What can go wrong with a dataset, each with its own type; all are a `DatasetError`."""

from __future__ import annotations

from poe.errors import DataNotFoundError, DatasetError, InvalidDataError

__all__ = [
    "DataNotFoundError",
    "DatasetError",
    "DownloadError",
    "InvalidDataError",
    "UnknownDatasetError",
]


class UnknownDatasetError(DatasetError, ValueError):
    """No dataset has this name."""


class DownloadError(DatasetError):
    """The file could not be downloaded or stored."""
