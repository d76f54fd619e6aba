"""What can go wrong around a judge or a dataset, by name; and which name was meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class JudgeError(RuntimeError):
    """A judge, its prompt or its store cannot go on; the message says what to change.

    Examples
    --------
    >>> judging.Store("/no/such/folder/answers.sqlite")
    Traceback (most recent call last):
    judging.errors.JudgeError: /no/such/folder/answers.sqlite: there is no such folder...
    """


class NoJudgeError(JudgeError):
    """The named judge is unavailable: no such name, model, option or package.

    Examples
    --------
    >>> judging.open("demmo")
    Traceback (most recent call last):
    judging.errors.NoJudgeError: there is no judge 'demmo': did you mean 'demo'? A judge is named...
    """


class DatasetError(RuntimeError):
    """A dataset is unknown, not on this machine, or not what it should be.

    Examples
    --------
    >>> judging.datasets.load("news")
    Traceback (most recent call last):
    judging.errors.UnknownDatasetError: no dataset named 'news'; there are...
    """


class DataNotFoundError(DatasetError):
    """The data are in none of the places where we looked."""


class InvalidDataError(DatasetError):
    """The file is there but is not what it should be: wrong checksum, shape, type or range."""


class UnknownDatasetError(DatasetError, ValueError):
    """No dataset has this name."""


class DownloadError(DatasetError):
    """The file could not be downloaded or stored."""


def nearest(name: str, known: Iterable[str]) -> str:
    """The known name that a mistyped one comes near, in any case; "" if none does."""
    by_case = {one.lower(): one for one in known}
    near = difflib.get_close_matches(name.strip().lower(), by_case, n=1)
    return by_case[near[0]] if near else ""
