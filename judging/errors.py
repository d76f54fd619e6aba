"""What can go wrong around a judge or a dataset, by name: what is missing, what was meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from importlib.util import find_spec


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


def require(what: str, extra: str, *libraries: str, otherwise: str = "") -> None:
    """Raise JudgeError where libraries of an extra are missing: `what` needs them.

    otherwise : what can be done without them.
    """
    missing = [name for name in libraries if find_spec(name) is None]
    if missing:
        raise JudgeError(
            f"{what} needs {' and '.join(missing)}: pip install '.[{extra}]' in a clone"
            f"{otherwise and f', or {otherwise}'}"
        )


def nearest(name: str, known: Iterable[str]) -> str:
    """The known name that a mistyped one comes near, in any case; "" if none does."""
    by_case = {one.lower(): one for one in known}
    near = difflib.get_close_matches(name.strip().lower(), by_case, n=1)
    return by_case[near[0]] if near else ""
