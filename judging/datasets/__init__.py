"""Datasets with human scores, and verdicts that others recorded.

    >>> from judging import datasets
    >>> datasets.load("summeval").scores["coherence"].shape
    (100, 16)

Scores and verdicts are tables of the package (data/labels). Texts are not: `fetch` downloads the
original files, checks them against the digests in data/datasets.toml and keeps them in the cache;
the folder `POE_DATA_DIR` may hold them too. Texts of your own are read by `judging.read_texts`.
"""

from judging.datasets.dataset import Dataset, load, table
from judging.datasets.files import (
    Attribute,
    Entry,
    File,
    cache_dir,
    fetch,
    info,
    names,
    overview,
    recordings,
)
from judging.errors import (
    DataNotFoundError,
    DatasetError,
    DownloadError,
    InvalidDataError,
    UnknownDatasetError,
)

__all__ = [
    "Attribute",
    "DataNotFoundError",
    "Dataset",
    "DatasetError",
    "DownloadError",
    "Entry",
    "File",
    "InvalidDataError",
    "UnknownDatasetError",
    "cache_dir",
    "fetch",
    "info",
    "load",
    "names",
    "overview",
    "recordings",
    "table",
]
