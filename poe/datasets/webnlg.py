"""Your own copy of WebNLG's human evaluation: texts that put triples into words.

One CSV file (UTF-8), a row a text, with the columns

    mr                            the triples, "subject | relation | object", joined by <br>
    text                          the text
    team                          who wrote it
    fluency, grammar, semantics   mean human scores, 1 to 3

Other columns are ignored, and so is the team "webnlg", which is the reference texts. The texts
on the same triples are one context, and every context must have the same teams. The paper
(comparative_assessment) uses eight; a file with more can be cut down to them beforehand. A judge
is shown the triples, one a line, under the sentence of the authors' code.
"""

from __future__ import annotations

from collections.abc import Mapping

from poe.datasets.errors import InvalidDataError
from poe.datasets.reading import Parsed, csv_in, filled_text, number_in, same_systems
from poe.datasets.registry import Entry

REFERENCES = "webnlg"
OPENING = "The following are semantic triples of the form (subject|relation|object)"


def read(entry: Entry, data: Mapping[str, bytes]) -> Parsed:
    """Sets of triples in the order of their first row; teams in alphabetical order."""
    fields = [attribute.field for attribute in entry.attributes]
    groups: dict[str, dict[str, tuple[str, dict[str, float]]]] = {}
    for number, row in enumerate(csv_in(entry, data["texts"], ["mr", "text", "team", *fields]), 1):
        if row["team"] == REFERENCES:
            continue
        triples, team = (
            filled_text(entry, row[key], f"{key} of row {number}") for key in ("mr", "team")
        )
        text = filled_text(entry, row["text"], f"the text of row {number}")
        scores = {f: number_in(entry, row[f], f"{f} of row {number}") for f in fields}
        group = groups.setdefault(triples, {})
        if team in group:
            raise InvalidDataError(
                f"{entry.name}: row {number} is a second text by {team!r} on the same triples"
            )
        group[team] = (text, scores)
    if not groups:
        raise InvalidDataError(f"{entry.name}: the file has a header and no rows")
    ordered = [sorted(group.items()) for group in groups.values()]
    teams = [team for team, _ in ordered[0]]
    ids = tuple(f"triples-{k:03d}" for k in range(len(groups)))
    for name, texts in zip(ids, ordered, strict=True):
        same_systems(entry, name, [team for team, _ in texts], teams)
    count = f"{len(ids)} x {len(teams)}; the paper has {entry.contexts} x {entry.candidates}"
    return Parsed(
        contexts=tuple(f"{OPENING}\n\n" + "\n".join(_triples(mr)) for mr in groups),
        context_ids=ids,
        candidate_ids=tuple(teams),
        texts=tuple(tuple(text for _, (text, _) in group) for group in ordered),
        rows=[[scores for _, (_, scores) in group] for group in ordered],
        remarks=(("count", count),),
    )


def _triples(joined: str) -> list[str]:
    return [triple.strip() for triple in joined.split("<br>") if triple.strip()]
