"""What can go wrong, by name, so that callers can tell one cause from another."""

from collections.abc import Hashable, Iterable
from typing import Any


class ComparisonError(ValueError):
    """The comparisons themselves are not usable; the message names rows and items.

    Attributes
    ----------
    reason : what is the case, without what follows from it
    items : the names that it is about

    Examples
    --------
    >>> poe.Comparisons(first=["a"], second=["b"], p=[1.2])
    Traceback (most recent call last):
    poe.errors.ComparisonError: row 0 ('a' against 'b'): p is 1.2, not in [0, 1]
    """

    def __init__(self, message: str, *, reason: str = "", items: Iterable[Hashable] = ()) -> None:
        super().__init__(message)
        self.reason, self.items = reason or message, tuple(items)


class DisconnectedError(ComparisonError):
    """Some items share no chain of comparisons, so their relative scores are undefined.

    Examples
    --------
    >>> poe.fit(poe.Comparisons(first=["a", "c"], second=["b", "d"], p=[0.9, 0.6]))
    Traceback (most recent call last):
    poe.errors.DisconnectedError: items 'c', 'd' share no comparison with the rest...
    """


class SeparableError(ComparisonError):
    """Some items never lost to the rest, so the maximum-likelihood scores are infinite.

    Examples
    --------
    >>> poe.bradley_terry(poe.Comparisons(first=["a"], second=["b"], p=[1]))
    Traceback (most recent call last):
    poe.errors.SeparableError: item 'a' never lost to the rest, so the scores are infinite...
    """


class UnidentifiedBiasError(ComparisonError):
    """The comparisons cannot tell a position bias from the scores.

    Examples
    --------
    >>> poe.fit(poe.Comparisons(first=["a"], second=["b"], p=[0.9]), bias="fit")
    Traceback (most recent call last):
    poe.errors.UnidentifiedBiasError: a position bias cannot be told from the scores...
    """


class NotConvergedError(RuntimeError):
    """An iteration stopped before reaching its tolerance.

    Examples
    --------
    >>> c = poe.Comparisons(first=["a"], second=["b"], p=[1])
    >>> poe.bradley_terry(c, prior=1, method="zermelo", max_steps=1)
    Traceback (most recent call last):
    poe.errors.NotConvergedError: zermelo did not reach its tolerance...
    """


def name_some(names: Iterable[Any], limit: int = 5) -> str:
    """Quote the first few names of a sequence: `'a', 'b', 'c' and 12 more`."""
    names = list(names)
    shown = ", ".join(repr(name) for name in names[:limit])
    return shown if len(names) <= limit else f"{shown} and {len(names) - limit} more"
