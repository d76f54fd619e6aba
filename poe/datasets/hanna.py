"""HANNA's files: one with all scores, one with the stories and every single rating.

The scores file has a row for each of 11 writers and a column for each score, every cell a
list of 96 numbers, one a prompt; its name for story 96 * row + prompt is that number. The
stories file has a row a rating, several rows a story, brought together by "Story ID".
A judge is shown a story with its prompt (poe_v2, authors' code; book chapter 2):

    Prompt: <prompt>

    Generated Story: <story>
"""

from __future__ import annotations

import json
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from poe.datasets.errors import InvalidDataError
from poe.datasets.reading import Parsed, csv_in, expect, filled_text, number_in
from poe.datasets.registry import Entry

PROMPTS = 96
JUDGES = ("Beluga-13B", "OrcaPlatypus", "Mistral-7B", "Llama-13B", "ChatGPT")
EVALUATION_PROMPTS = (1, 2, 3, 4)
TOLERANCE = 1e-6  # between a mean of ratings and the pinned mean of the same ratings


def story_ids(count: int) -> tuple[str, ...]:
    """Names of the stories: "story-0000", by the authors' Story ID."""
    return tuple(f"story-{k:04d}" for k in range(count))


def read(entry: Entry, data: Mapping[str, bytes]) -> Parsed:
    """Human scores, and the stories where the user has them; writers are `systems`."""
    fields = [attribute.field for attribute in entry.attributes]
    writers, columns = read_columns(entry, data["scores"], fields)
    ids = story_ids(entry.candidates)
    texts: tuple[tuple[str, ...], ...] = ()
    remark = "absent: the file of the stories is not on this machine; poe data fetch hanna"
    if "stories" in data:
        texts = (_read_stories(entry, data["stories"], columns),)
        remark = "with their prompts; the means of their ratings are those of the scores file"
    rows = [{field: columns[field][k] for field in fields} for k in range(entry.candidates)]
    return Parsed(
        contexts=("",),
        context_ids=("all",),
        candidate_ids=ids,
        texts=texts,
        rows=[rows],
        systems=tuple(writer for writer in writers for _ in range(PROMPTS)),
        remarks=(("texts", remark),),
    )


def read_columns(
    entry: Entry, data: bytes, columns: list[str]
) -> tuple[tuple[str, ...], dict[str, NDArray[np.float64]]]:
    """Writers in the file's order, and for each column the (1056,) scores by Story ID."""
    rows = csv_in(entry, data, ["Model", *columns])
    writers = tuple(row["Model"] for row in rows)
    expect(entry, "stories", len(writers) * PROMPTS, entry.candidates)
    found = {}
    for column in columns:
        cells = [np.array(json.loads(row[column]), dtype=float) for row in rows]
        for writer, cell in zip(writers, cells, strict=True):
            expect(entry, f"values of {column} for {writer}", cell.size, PROMPTS)
        found[column] = np.concatenate(cells)
    return writers, found


def _read_stories(
    entry: Entry, data: bytes, means: Mapping[str, NDArray[np.float64]]
) -> tuple[str, ...]:
    """The stories by Story ID, after every mean rating was found equal to the pinned one."""
    rows = csv_in(entry, data, ["Story ID", "Prompt", "Story", *means])
    texts: dict[int, str] = {}
    ratings: dict[int, list[list[float]]] = {}
    for number, row in enumerate(rows, start=1):
        key = _story(entry, row["Story ID"], number)
        where = f"row {number}, story {key}"
        prompt = filled_text(entry, row["Prompt"], f"the prompt of {where}")
        story = filled_text(entry, row["Story"], f"the text of {where}")
        text = f"Prompt: {prompt}\n\nGenerated Story: {story}"
        if texts.setdefault(key, text) != text:
            raise InvalidDataError(
                f"{entry.name}: {where} has another text than the rows before it"
            )
        values = [number_in(entry, row[field], f"{field} of {where}") for field in means]
        ratings.setdefault(key, []).append(values)
    _check_complete(entry, texts)
    for key in range(entry.candidates):
        got = np.mean(ratings[key], axis=0)
        for field, value in zip(means, got, strict=True):
            if abs(value - means[field][key]) > TOLERANCE:
                raise InvalidDataError(
                    f"{entry.name}: the {len(ratings[key])} ratings of {field} for story {key} "
                    f"have mean {value:.4g}, but the scores file has {means[field][key]:.4g}; "
                    "the stories file is of another version, or changed"
                )
    return tuple(texts[key] for key in range(entry.candidates))


def _story(entry: Entry, value: str, number: int) -> int:
    if not value.strip().isdecimal() or not 0 <= int(value) < entry.candidates:
        raise InvalidDataError(
            f"{entry.name}: row {number} has Story ID {value!r}, not a whole number from 0 to "
            f"{entry.candidates - 1}"
        )
    return int(value)


def _check_complete(entry: Entry, texts: Mapping[int, str]) -> None:
    missing = [key for key in range(entry.candidates) if key not in texts]
    if missing:
        raise InvalidDataError(
            f"{entry.name}: the stories file lacks {len(missing)} of {entry.candidates} stories, "
            f"the first with Story ID {missing[0]}"
        )
