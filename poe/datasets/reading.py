"""What the readers of all source files share: how a file is opened, and what they return."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from poe.datasets.errors import InvalidDataError
from poe.datasets.registry import Published
from poe.errors import name_some

Texts = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Parsed:
    """What a reader finds in the files of a dataset.

    contexts, context_ids : (C,); one empty text where the candidates share no context.
    candidate_ids : (N,). texts : (C, N), or () where the files hold scores only.
    rows : (C, N) mappings from the fields of the attributes to values.
    systems : (N,) who wrote each candidate, where the candidates are not systems themselves.
    remarks : for the provenance.
    """

    contexts: tuple[str, ...]
    context_ids: tuple[str, ...]
    candidate_ids: tuple[str, ...]
    texts: Texts
    rows: Sequence[Sequence[Mapping[str, Any]]]
    systems: tuple[str, ...] = ()
    remarks: tuple[tuple[str, str], ...] = ()


def json_in(entry: Published, data: bytes) -> Any:
    """A JSON file's content."""
    try:
        return json.loads(data)
    except ValueError as error:
        raise InvalidDataError(
            f"{entry.name}: not a JSON file ({error}); get it again: {way_to(entry)}"
        ) from error


def csv_in(entry: Published, data: bytes, columns: Iterable[str]) -> list[dict[str, str]]:
    """The rows of a CSV file that must have `columns`."""
    try:
        rows = csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline=""), strict=True)
        there = rows.fieldnames or ()
        missing = [column for column in columns if column not in there]
        if missing:
            raise InvalidDataError(
                f"{entry.name}: the file lacks the columns {name_some(missing)}; it has "
                f"{name_some(there, 20) or 'none'}"
            )
        # A row with too few or too many cells has None as a value or as a name.
        found = list(rows)
        for number, row in enumerate(found, start=1):
            if None in row or None in row.values():
                raise InvalidDataError(
                    f"{entry.name}: row {number} has not the {len(there)} cells of the header"
                )
    except UnicodeDecodeError as error:
        raise InvalidDataError(f"{entry.name}: the file is not UTF-8 text ({error})") from error
    except csv.Error as error:
        raise InvalidDataError(f"{entry.name}: not a CSV file ({error})") from error
    return found


def expect(entry: Published, what: str, got: int, expected: int) -> None:
    """Refuse another count than the registry promises."""
    if got != expected:
        raise InvalidDataError(f"{entry.name}: {got} {what} where {expected} were expected")


def same_systems(entry: Published, where: str, got: Sequence[str], expected: Sequence[str]) -> None:
    """Refuse a context whose candidates are not those of the first."""
    if tuple(got) != tuple(expected):
        raise InvalidDataError(
            f"{entry.name}: {where} has the systems {', '.join(map(str, got))}, "
            f"not {', '.join(map(str, expected))} in this order as the first one"
        )


def text_in(entry: Published, value: object, where: str = "") -> str:
    """A text, or an error that says what stands in its place."""
    if not isinstance(value, str):
        place = f" ({where})" if where else ""
        raise InvalidDataError(f"{entry.name}: {value!r} stands where a text was expected{place}")
    return value


def filled_text(entry: Published, value: object, where: str) -> str:
    """A text that is not empty."""
    if not text_in(entry, value, where).strip():
        raise InvalidDataError(f"{entry.name}: {where} is empty")
    return str(value)


def number_in(entry: Published, value: object, where: str) -> float:
    """A finite or infinite number; text and NaN are refused by name."""
    try:
        if isinstance(value, bool) or value is None:
            raise ValueError("not a number")
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise InvalidDataError(f"{entry.name}: {where} is {value!r}, not a number") from None
    if number != number:
        raise InvalidDataError(f"{entry.name}: {where} is {value!r}, not a number")
    return number


def way_to(entry: Published) -> str:
    """Where a good copy of the main file comes from."""
    return entry.main.url or entry.main.obtain
