"""What can go wrong with a dataset, each with its own type; all are a `DatasetError`."""

from __future__ import annotations

from poe.errors import DatasetError


class UnknownDatasetError(DatasetError, ValueError):
    """No dataset has this name."""


class DataNotFoundError(DatasetError):
    """The data are in none of the places looked at."""


class InvalidDataError(DatasetError):
    """The file is there but is not the dataset: wrong checksum, shape, type or range."""


class DownloadError(DatasetError):
    """The file could not be downloaded or stored."""
