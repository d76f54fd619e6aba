"""What the checks of the exercises share: any answer is met with a sentence.

A chapter's check says above its definition what it asks for, and compares only answers of that
form. Where an answer has another form, or a function that was asked for stops with an error, the
reader is told so::

    @asks(NUMBER, returns(numbers_of(2)))
    def check_split(share, function): ...
"""

from __future__ import annotations

import functools
import numbers
import reprlib
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

WORDS = ("no", "one", "two", "three", "four", "five", "six")
SHORT = reprlib.Repr()
SHORT.maxstring, SHORT.maxother = 40, 60


class NotYet(Exception):
    """An answer is still the three dots that stand in its place."""


class Refused(Exception):
    """An answer has not the form that was asked for; the message is what its reader is told."""


@dataclass(frozen=True)
class Form:
    """What an answer looks like: in words, and as a test of one that is given."""

    words: str
    fits: Callable[[Any], bool]


@dataclass(frozen=True)
class Returns:
    """A function, and the form of what it returns."""

    form: Form


def _is_number(answer: Any) -> bool:
    plain = answer[()] if isinstance(answer, np.ndarray) and answer.ndim == 0 else answer
    if isinstance(plain, (bool, np.bool_)) or not isinstance(plain, numbers.Real):
        return False
    try:
        return bool(np.isfinite(float(plain)))
    except OverflowError:  # a whole number of more than 308 digits
        return False


def _array(answer: Any) -> np.ndarray | None:
    """The numbers of an answer as an array; None where it holds anything else."""
    try:
        found = np.asarray(answer)
        if found.dtype == object and all(isinstance(x, numbers.Real) for x in found.flat):
            found = found.astype(float)
    except (TypeError, ValueError):  # rows of several lengths
        return None
    return found if found.dtype.kind in "biuf" else None


def numbers_of(*shape: int | str, nan: bool = False) -> Form:
    """Give the form of an array or of nested lists of numbers.

    Parameters
    ----------
    shape
        The length of each axis; a name, such as "N", where any will do.
    nan
        Whether NaN is a number here.
    """

    def fits(answer: Any) -> bool:
        found = _array(answer)
        if found is None or found.ndim != len(shape):
            return False
        if any(isinstance(n, int) and n != m for n, m in zip(shape, found.shape, strict=True)):
            return False
        return nan or bool(np.isfinite(found).all())

    if len(shape) > 1:
        words = f"numbers in an array of shape ({', '.join(map(str, shape))})"
    elif isinstance(shape[0], int):
        words = f"{WORDS[shape[0]] if shape[0] < len(WORDS) else shape[0]} numbers"
    else:
        words = "a list of numbers"
    return Form(words, fits)


NUMBER = Form("a number", _is_number)
ANYTHING = Form("anything", lambda answer: True)
TRUTH = Form("True or False", lambda answer: isinstance(answer, (bool, np.bool_)))
LISTS = Form(
    "a list of pairs or lists, such as [(1, 2), (3, 4)]",
    lambda answer: (
        isinstance(answer, (list, tuple, np.ndarray))
        and all(isinstance(one, (list, tuple, np.ndarray)) for one in answer)
    ),
)


def returns(*forms: Form) -> Returns:
    """Ask for a function that returns one form, or several as a tuple."""
    if len(forms) == 1:
        return Returns(forms[0])

    def fits(answer: Any) -> bool:
        if not isinstance(answer, (tuple, list)) or len(answer) != len(forms):
            return False
        return all(form.fits(one) for form, one in zip(forms, answer, strict=True))

    return Returns(Form(" and ".join(form.words for form in forms), fits))


def _holds_dots(answer: Any) -> bool:
    return answer is ... or (
        isinstance(answer, (tuple, list)) and any(one is ... for one in answer)
    )


def _shown(answer: Any) -> str:
    return " ".join(SHORT.repr(answer).split())


def _watched(function: Callable[..., Any], form: Form, stopped: list[Exception]) -> Any:
    """The reader's function, which tells what it returns from what a check makes of it."""

    @functools.wraps(function, updated=())
    def call(*given: Any, **named: Any) -> Any:
        try:
            answer = function(*given, **named)
        except Exception as error:
            if "ellipsis" in str(error).lower():  # three dots inside a formula
                raise NotYet from None
            stopped.append(error)
            raise
        if _holds_dots(answer):
            raise NotYet
        if not form.fits(answer):
            wanted = f"it should return {form.words}"
            raise Refused(f"your function returns {_shown(answer)}; {wanted}")
        return answer

    return call


def asks(*forms: Form | Returns) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Let a check answer whatever it is given with a sentence.

    Parameters
    ----------
    forms
        What is asked for, one form for each answer of the check, in their order.

    Returns
    -------
    callable
        A decorator. The check that it makes says "not yet" where an answer is still ``...``, "not
        right: ..." where one has not its form or a function stops with an error, and else what
        the check says.
    """

    def decorated(check: Callable[..., Any]) -> Callable[..., Any]:
        names = check.__code__.co_varnames[: check.__code__.co_argcount]

        @functools.wraps(check)
        def verdict(*answers: Any, **named: Any) -> Any:
            answers = (*answers, *(named[name] for name in names[len(answers) :] if name in named))
            if any(_holds_dots(answer) for answer in answers):
                return "not yet"
            if len(answers) != len(forms):
                several = "s" * (len(forms) > 1)
                return f"not right: give {WORDS[len(forms)]} answer{several}: {', '.join(names)}"
            stopped: list[Exception] = []
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    ready = [
                        _ready(answer, form, name if len(forms) > 1 else "", stopped)
                        for answer, form, name in zip(answers, forms, names, strict=True)
                    ]
                    return check(*ready)
            except NotYet:
                return "not yet"
            except Refused as refused:
                return f"not right: {refused}"
            except Exception as error:
                why = f"{type(error).__name__}: {error}".removesuffix(": ")
                if any(error is one for one in stopped):
                    return f"not right: your function stops with {why}"
                if any(isinstance(form, Returns) for form in forms):
                    return f"not right: this check cannot use what your function returns ({why})"
                given = ", ".join(map(_shown, answers))
                return f"not right: your answer is {given}, which this check cannot use ({why})"

        return verdict

    return decorated


def _ready(answer: Any, form: Form | Returns, name: str, stopped: list[Exception]) -> Any:
    """An answer of its form as the check takes it."""
    which = f"your {name}" if name else "your answer"
    if isinstance(form, Returns):
        if not callable(answer):
            raise Refused(f"{which} is {_shown(answer)}; give the function itself")
        return _watched(answer, form.form, stopped)
    if not form.fits(answer):
        raise Refused(f"{which} is {_shown(answer)}; it should be {form.words}")
    return answer
