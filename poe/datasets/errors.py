"""What can go wrong with a dataset, each with its own type; all are a `DatasetError`."""

from __future__ import annotations


class DatasetError(RuntimeError):
    """A dataset could not be had or used; the message says which, why, and the way out."""


class UnknownDatasetError(DatasetError, ValueError):
    """No dataset has this name."""


class DataNotFoundError(DatasetError):
    """The data are in none of the places looked at."""


class InvalidDataError(DatasetError):
    """The file is there but is not the dataset: wrong checksum, shape, type or range."""


class DownloadError(DatasetError):
    """The file could not be downloaded or stored."""
