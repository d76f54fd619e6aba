"""Datasets with human scores, verdicts that others recorded, and texts of your own.

    >>> from judging import datasets
    >>> datasets.load("summeval").scores["coherence"].shape
    (100, 16)

Scores and verdicts are tables of the package (data/labels). Texts are not: `fetch` downloads the
original files, checks them against the digests in data/datasets.toml and keeps them in the cache;
the folder `POE_DATA_DIR` may hold them too. Texts of your own, in a CSV or JSONL file, are read by
`read_texts`.
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
from judging.reading.texts import OwnTexts, Text, TextGroup, read_texts

__all__ = [
    "Attribute",
    "DataNotFoundError",
    "Dataset",
    "DatasetError",
    "DownloadError",
    "Entry",
    "File",
    "InvalidDataError",
    "OwnTexts",
    "Text",
    "TextGroup",
    "UnknownDatasetError",
    "cache_dir",
    "fetch",
    "info",
    "load",
    "names",
    "overview",
    "read_texts",
    "recordings",
    "table",
]
