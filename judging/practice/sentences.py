"""Findings said in English: every sentence is a row of `sentences.toml`, which this module fills.

A finding is a frozen dataclass or a named tuple. Its class has a row, or a table of rows if it has
a `case`; its fields fill the row. Nothing reads a sentence back: what decides is the finding.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from pathlib import Path
from string import Formatter
from typing import Any

__all__ = ["TABLE", "as_data", "called", "listed", "percent", "plural", "say", "say_all"]

TABLE: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


def say(finding: Any, thing: str = "text", answer: str = "call") -> str:
    """The sentence of a finding, about things and answers that are called so."""
    if isinstance(finding, str):
        return finding  # what others said: a message, a note on a table
    row = TABLE[type(finding).__name__]
    if not isinstance(row, str):
        row = row[finding.case]
    return _English(finding, thing, answer).format(row)


def say_all(findings: Iterable[Any], thing: str = "text", answer: str = "call") -> list[str]:
    """The sentences of some findings."""
    return [say(one, thing, answer) for one in findings]


def as_data(value: Any) -> Any:
    """A finding for a program: its kind, and its fields by their names."""
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return [as_data(one) for one in value]
    own = {name: as_data(getattr(value, name)) for name in _names(value)}
    return {"kind": type(value).__name__, **own} if type(value).__name__ in TABLE or own else value


def _names(value: Any) -> tuple[str, ...]:
    if is_dataclass(value):
        return tuple(one.name for one in fields(value))
    return tuple(getattr(value, "_fields", ()))


class _English(Formatter):
    """Fills a row; the table says in its head what stands for what."""

    def __init__(self, finding: Any, thing: str, answer: str) -> None:
        self.finding, self.thing, self.answer = finding, thing, answer
        self.words = {
            "thing": thing,
            "things": plural(thing),
            "answer": answer,
            "answers": plural(answer),
        }

    def get_value(self, key: Any, args: Any, kwargs: Any) -> Any:
        return self.words[key] if key in self.words else getattr(self.finding, key)

    def format_field(self, value: Any, spec: str) -> str:
        if spec.startswith("?"):
            return spec[1:] if value else ""
        if value is None:
            return ""
        for mark, number in (("|", 1), ("/", 2)):
            if mark in spec:
                count = len(value) if hasattr(value, "__len__") else value
                return spec.split(mark)[count != number]
        if spec == "name":
            return called(value, self.thing)
        if spec == "names":
            return listed(called(one, self.thing) for one in value)
        if spec in JOINED:
            return JOINED[spec].join(self.format_field(one, "") for one in value)
        if spec in FORMS:
            return FORMS[spec](value)
        if type(value).__name__ in TABLE and not spec:
            return say(value, self.thing, self.answer)
        return format(value, spec)


def listed(names: Iterable[str]) -> str:
    """Names in a sentence: "a, b and c"."""
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def called(name: Any, thing: str = "text") -> str:
    """An item in a sentence: "text 16" where its name is a number, else its name."""
    said = str(name)
    return f"{thing} {said}" if said.isdigit() else said


def plural(thing: str) -> str:
    """More than one thing."""
    if thing.endswith("y") and thing[-2:-1] not in tuple("aeiou"):
        return thing[:-1] + "ies"
    return thing + ("es" if thing.endswith(("s", "x", "ch", "sh")) else "s")


def percent(share: float) -> str:
    """A probability as a percentage that never claims certainty."""
    if share >= 0.995:
        return "over 99%"
    return "under 1%" if share <= 0.005 else f"{100 * share:.0f}%"


def about(chance: float) -> str:
    """A probability that was drawn: "about 40%", "over 99%"."""
    return f"{'about ' if 0.005 < chance < 0.995 else ''}{percent(chance)}"


def money(sum_: float) -> str:
    """An amount in dollars."""
    return f"${sum_:,.2f}" if sum_ >= 0.1 else f"${sum_:,.4f}"


FORMS = {"percent": percent, "about": about, "money": money}
JOINED = {"and": " and ", "or": " or ", "all": ", ", "each": "; "}
