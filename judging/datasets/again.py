"""The same texts from elsewhere: made of other files where a dataset's own is out of reach."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable

from judging.machine import data_dir


def stories(parts: Iterable[bytes]) -> bytes:
    """HANNA's stories, one JSON object a line, of files that hold parts of them and much else.

    Only what is HANNA's is kept: story_id, prompt and story, and the system that data/labels knows.
    """
    with (data_dir() / "labels" / "hanna.csv").open(encoding="utf-8", newline="") as file:
        systems = [row["system"] for row in csv.DictReader(file)]
    every = sorted((one for part in parts for one in json.loads(part)), key=lambda s: s["story_id"])
    kept = (
        {
            "story_id": one["story_id"],
            "system": systems[one["story_id"]],
            "prompt": one["prompt"],
            "story": one["story"],
        }
        for one in every
    )
    return "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in kept).encode()


MAKERS: dict[str, Callable[[Iterable[bytes]], bytes]] = {"hanna": stories}
