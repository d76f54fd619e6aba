"""Label Studio's full JSON: a task with its data and its annotations, each a list of results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from judging.practice.reading.shapes.turned import Turned, column_of

if TYPE_CHECKING:
    import pandas as pd


def rows(table: pd.DataFrame) -> Turned | None:
    """A row an annotation: the task's data, who annotated, and each result by its name.

    Of a task without annotations, and of one that was cancelled, the row has no verdict.
    """
    import pandas as pd

    data, made = column_of(table, ["data"]), column_of(table, ["annotations", "completions"])
    if data is None or made is None or not all(isinstance(one, dict) for one in table[data]):
        return None
    tasks, of, pairwise = list[dict[str, Any]](), list[int](), dict[str, str]()
    for k, (task, given) in enumerate(zip(table[data], table[made], strict=True)):
        for one in _objects(given) or [{}]:
            row: dict[str, Any] = {**task, "annotator": _who(one.get("completed_by"))}
            for result in [] if one.get("was_cancelled") else _objects(one.get("result")):
                value = (_objects([result.get("value")]) or [{}])[0]
                if result.get("type") == "pairwise":
                    row["winner"] = value.get("selected")
                    sides = str(result.get("to_name", "")).split(",")
                    if len(sides) == 2 and all(side in task for side in sides):
                        pairwise = {"first": sides[0], "second": sides[1]}
                elif isinstance(chosen := value.get("choices"), list) and chosen:
                    row[str(result.get("from_name"))] = chosen[0]
            tasks.append(row)
            of.append(k)
    turned = pd.DataFrame(tasks, index=table.index[of], dtype=object)
    turned.attrs = dict(table.attrs)
    named = {**pairwise, "winner": "winner"} if "winner" in turned else pairwise
    return Turned(turned, (), named)


def _objects(given: Any) -> list[dict[str, Any]]:
    """The objects of a list, [] of anything else."""
    return [one for one in given if isinstance(one, dict)] if isinstance(given, list) else []


def _who(person: Any) -> Any:
    """The number or address of an annotator."""
    return person.get("email", person.get("id")) if isinstance(person, dict) else person
