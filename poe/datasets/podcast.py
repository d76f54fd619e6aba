"""Your own copy of the podcast summary assessment data.

One JSON file, a list of summaries, each with the keys of the authors' file:

    transcript, summary, episode_id, system_id
    score         "B", "F", "G" or "E": bad, fair, good, excellent, here 0, 1, 2, 3

Other keys are ignored. The summaries of an episode are one context, and every episode must
have the same systems. The file has 20 an episode; comparative_assessment uses 15.
"""

from __future__ import annotations

from collections.abc import Mapping

from poe.datasets.errors import InvalidDataError
from poe.datasets.reading import Parsed, filled_text, json_in, same_systems
from poe.datasets.registry import Entry

SCORES = {"B": 0.0, "F": 1.0, "G": 2.0, "E": 3.0}
KEYS = ("transcript", "summary", "episode_id", "system_id", "score")


def read(entry: Entry, data: Mapping[str, bytes]) -> Parsed:
    """Episodes in the order of their first row; systems in the order of the first episode."""
    items = json_in(entry, data["summaries"])
    if not isinstance(items, list) or not items:
        raise InvalidDataError(f"{entry.name}: the file is not a list of summaries")
    transcripts: dict[str, str] = {}
    groups: dict[str, dict[str, tuple[str, dict[str, float]]]] = {}
    for number, item in enumerate(items, start=1):
        _check(entry, item, number)
        episode, system = str(item["episode_id"]), str(item["system_id"])
        where = f"item {number}"
        transcript = filled_text(entry, item["transcript"], f"the transcript of {where}")
        if transcripts.setdefault(episode, transcript) != transcript:
            raise InvalidDataError(
                f"{entry.name}: {where} has another transcript of episode {episode!r}"
            )
        group = groups.setdefault(episode, {})
        if system in group:
            raise InvalidDataError(
                f"{entry.name}: {where} is a second summary of episode {episode!r} by {system!r}"
            )
        text = filled_text(entry, item["summary"], f"the summary of {where}")
        group[system] = (text, {"score": SCORES[item["score"]]})
    systems = tuple(next(iter(groups.values())))
    for episode, group in groups.items():
        same_systems(entry, f"episode {episode!r}", sorted(group), sorted(systems))
    count = f"{len(groups)} x {len(systems)}; the paper has {entry.contexts} x {entry.candidates}"
    return Parsed(
        contexts=tuple(transcripts.values()),
        context_ids=tuple(groups),
        candidate_ids=systems,
        texts=tuple(tuple(group[s][0] for s in systems) for group in groups.values()),
        rows=[[group[s][1] for s in systems] for group in groups.values()],
        remarks=(("count", count),),
    )


def _check(entry: Entry, item: object, number: int) -> None:
    if not isinstance(item, dict) or any(key not in item for key in KEYS):
        raise InvalidDataError(f"{entry.name}: item {number} has not the keys {', '.join(KEYS)}")
    if item["score"] not in SCORES:
        raise InvalidDataError(
            f"{entry.name}: the score of item {number} is {item['score']!r}, "
            f"not one of {', '.join(SCORES)}"
        )
