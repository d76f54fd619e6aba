"""Settings declared once: a field of a dataclass has its text, and what the command line needs.

The command's options and help, the names in a --config file and the docstring's parameters are all
read from there, so that a new setting is one field in one place:

    limit_calls: int | None = setting(None, "The most new calls.", flag="--limit-calls", least=1)
"""

from __future__ import annotations

import dataclasses
import sys
import textwrap
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Literal, TypeVar, get_args, get_origin

__all__ = ["SET", "Setting", "described", "kind", "of", "require", "setting"]

T = TypeVar("T")
SET = "--set "  # and a name: the option of a setting that is rarely needed


@dataclasses.dataclass(frozen=True)
class Setting:
    """What a field is, for whoever sets it.

    text : what it says, for the help and the docstring. flag : its option, `--set NAME` where it is
    rarely needed; "" where it is for Python alone. panel, metavar : where and how the help shows
    it. least, most : bounds of a number. type : what the command line reads, where that is not the
    field's type; parse : makes the value of it. among : names that there are, looked up when they
    are needed.
    """

    text: str
    flag: str = ""
    panel: str | None = None
    metavar: str | None = None
    least: float | None = None
    most: float | None = None
    type: Any = None
    parse: Callable[[str], Any] | None = None
    among: Callable[[], Sequence[str]] | None = None


def setting(default: Any, text: str, **more: Any) -> Any:
    """A field of a dataclass with its `Setting`; the default of a list is `list`."""
    known: dict[str, Any] = {"default_factory": list} if default is list else {"default": default}
    return dataclasses.field(**known, metadata={"setting": Setting(text, **more)})


def of(cls: Any) -> dict[str, tuple[dataclasses.Field[Any], Setting]]:
    """Every field that has a setting, by its name."""
    given = {one.name: (one, one.metadata.get("setting")) for one in dataclasses.fields(cls)}
    return {name: (one, said) for name, (one, said) in given.items() if said is not None}


@cache
def kind(cls: Any, name: str) -> Any:
    """The type that the command line reads for a field."""
    field, said = of(cls)[name]
    return said.type or eval(str(field.type), vars(sys.modules[cls.__module__]))


def require(one: Any) -> None:
    """Refuse a value that is none of its field's words, or out of its bounds: ValueError."""
    cls: Any = type(one)
    for name, (_, said) in of(cls).items():
        value = getattr(one, name)
        words = kind(cls, name) if said.type is None else None
        form: Any = get_origin(words)
        if form is Literal:
            known = get_args(words)
            if value not in known:
                raise ValueError(f"{name} must be one of {', '.join(known)}, not {value!r}")
        elif value is not None and said.least is not None and not value >= said.least:
            raise ValueError(f"{name} must be at least {said.least:g}, not {value}")
        elif value is not None and said.most is not None and not value <= said.most:
            raise ValueError(f"{name} must be at most {said.most:g}, not {value}")


def described(cls: type[T]) -> type[T]:
    """Put the texts of the fields into the docstring, as its parameters."""
    rows = []
    for name, (_, said) in of(cls).items():
        rows += [name, *("    " + line for line in textwrap.wrap(said.text, 88))]
    head, examples, rest = (cls.__doc__ or "").partition("    Examples\n")
    parameters = textwrap.indent("\n".join(["Parameters", "-" * 10, *rows]), " " * 4)
    cls.__doc__ = f"{head}{parameters}\n\n{examples}{rest}"
    return cls
