"""The reproduction log: every committed run, its date and cost, and whether it is up to date."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
from markupsafe import Markup

from book.telling.pages import Cell, badge, table
from reproduction.run import outdated
from reproduction.targets import TARGETS
from reproduction.twins import labels

UP_TO_DATE = "up to date"
FIRST_TWINS = "132a896e"  # the commit that makes the results that no target makes any more
HEADS = ("command", "kind", "reads", "draws", "seed", "date", "seconds passed", "state", "code")


def state(name: str, about: Mapping[str, Any]) -> str:
    """Whether a result is what its target would write today."""
    if name not in TARGETS:
        return f"made at commit {FIRST_TWINS}"
    return "code or data changed since" if outdated(about, TARGETS[name]) else UP_TO_DATE


def rows(results: Mapping[str, Mapping[str, Any]]) -> pd.DataFrame:
    """One row a result: name, command, what, kind, reads, draws, seed, state, code, and the run.

    The run's date, seconds and cpu_seconds are missing where it was not recorded.
    """
    lines = []
    for name, about in sorted(results.items()):
        sets = TARGETS[name].datasets if name in TARGETS else ()
        reads = [f"{x} (drawn)" if labels(x).source != "real" else x for x in sets]
        row = {key: about.get(key, "") for key in ("command", "what", "kind", "draws", "seed")}
        row |= {"name": name, "reads": ", ".join(reads), "state": state(name, about)}
        row["code"] = about.get("code", {}).get("digest", "")
        run = about.get("run") or {}
        lines.append(row | {key: run.get(key) for key in ("date", "seconds", "cpu_seconds")})
    return pd.DataFrame(lines)


def html(rows: pd.DataFrame) -> Markup:
    """The log as a table that sorts by a click on a heading."""
    return table(HEADS, map(_row, rows.to_dict("records")), name="comparison sortable cells")


def _row(run: dict[str, Any]) -> list[object]:
    date = seconds = Cell("not recorded", {"data-sort": ""})
    if not pd.isna(run["date"]):
        # Digits alone, because the table sorts what begins with a number by that number.
        when = "".join(filter(str.isdigit, run["date"]))
        date = Cell(run["date"][:10], {"class": "day", "data-sort": when, "title": run["date"]})
        cost = {"title": f"{run['cpu_seconds']:.1f} s of processor time"}
        seconds = Cell(f"{run['seconds']:.1f}", cost)
    code = Markup("<code>{}</code>")
    return [
        Cell(code.format(run["command"]), {"scope": "row", "title": run["what"]}, "th"),
        Markup(" ").join(map(badge, dict.fromkeys(run["kind"].split("/")))),
        *(run[key] for key in ("reads", "draws", "seed")),
        *(date, seconds, run["state"], code.format(run["code"][:8])),
    ]


def whole_run(run: Mapping[str, Any], n_targets: int) -> str:
    """In a sentence what one uninterrupted run of all targets took (`results.WHOLE`)."""
    if not run:
        return "No uninterrupted run of all targets is recorded."
    which = "all" if run["made"] == n_targets else "the then"
    cores = {1: "one core", 2: "two cores"}.get(run["cores"], f"{run['cores']} cores")
    return (
        f"The last uninterrupted run of {which} {run['made']} targets took "
        f"{run['seconds'] / 60.0:.1f} minutes on {cores} ({run['cpu_seconds'] / 60.0:.1f} minutes "
        f"of processor time), begun on {run['date'][:10]}; results may have been made anew since."
    )
