"""The reproduction log: every committed run, its date and cost, and whether it is up to date."""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

import pandas as pd

from poe._paths import data_dir
from reproduction import making, runs, sources
from reproduction.files import outdated
from reproduction.pages import badge
from reproduction.runs import Run
from reproduction.targets import TARGETS

UP_TO_DATE = "up to date"
HEADS = ("command", "kind", "reads", "draws", "seed", "date", "seconds", "state", "code")


def descriptions(folder: Path | None = None) -> dict[str, dict[str, Any]]:
    """What lies beside each result, by its name."""
    folder = data_dir() / "results" if folder is None else folder
    found = sorted(folder.glob("*.json"))
    return {
        path.stem: json.loads(path.read_text())
        for path in found
        if path.with_suffix(".csv").exists()
    }


def state(name: str, about: Mapping[str, Any]) -> str:
    """Whether a result is what its target would write today, or what has changed since."""
    target = TARGETS.get(name)
    if target is None:
        return "no target of that name"
    measured = "measured" in str(about["kind"])
    now = making.made_from(target, str(about["labels"]))
    if measured:  # the store need not be at hand
        now["answers"] = about["inputs"].get("answers")
    changed = outdated(about, sources.fingerprint(), now)
    return f"changed since: {', '.join(changed)}" if changed else UP_TO_DATE


def log(found: Mapping[str, Mapping[str, Any]]) -> pd.DataFrame:
    """One row a result: name, command, kind, reads, draws, seed, date, seconds, state, code."""
    rows = []
    for name, about in found.items():
        run = runs.of_result(about)
        reads = [
            f"{key} (stand-in)" if value == "stand-in" else key
            for key, value in about["inputs"].items()
            if "/" not in key and not key.endswith(".toml")
        ]
        rows.append(
            {
                "name": name,
                "command": about["command"],
                "what": about.get("what", ""),
                "kind": about["kind"],
                "reads": ", ".join(reads),
                "draws": about["draws"],
                "seed": about["seed"],
                "date": run.date if run else None,
                "seconds": run.seconds if run else None,
                "cpu_seconds": run.cpu_seconds if run else None,
                "state": state(name, about),
                "code": about.get("code", {}).get("fingerprint", ""),
            }
        )
    return pd.DataFrame(rows)


def log_html(table: pd.DataFrame) -> str:
    """The log as a table that sorts by a click on a heading."""
    head = "".join(f'<th scope="col"><button type="button">{name}</button></th>' for name in HEADS)
    body = "".join(_row(row) for _, row in table.iterrows())
    return (
        '<div class="comparison-scroll" tabindex="0"><table class="comparison sortable cells">'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _row(row: pd.Series) -> str:
    kinds = " ".join(badge(kind) for kind in row["kind"].split("/"))
    recorded = not pd.isna(row["date"])
    if recorded:
        # Digits alone, because the table sorts what begins with a number by that number.
        when = "".join(c for c in row["date"] if c.isdigit())
        date = f'<td class="day" data-sort="{when}" title="{row["date"]}">{row["date"][:10]}</td>'
        seconds = f'<td title="{row["cpu_seconds"]:.1f} s of processor time">{row["seconds"]:.1f}'
    else:
        date = '<td data-sort="">not recorded</td>'
        seconds = '<td data-sort="">not recorded'
    return (
        f'<tr><th scope="row" title="{escape(row["what"])}"><code>{escape(row["command"])}</code>'
        f"</th><td>{kinds}</td>"
        f"<td>{escape(row['reads'])}</td><td>{row['draws']}</td><td>{row['seed']}</td>"
        f"{date}{seconds}</td><td>{escape(row['state'])}</td>"
        f"<td><code>{escape(row['code'][:8])}</code></td></tr>"
    )


def whole_run(recorded: Mapping[str, Mapping[str, Any]], n_targets: int) -> str:
    """In a sentence what one uninterrupted run of all targets took, if one is recorded."""
    entry = recorded.get("whole")
    if entry is None:
        return "No uninterrupted run of all targets is recorded."
    run = Run(**{name: entry[name] for name in Run.__dataclass_fields__})
    which = "All" if entry["made"] == n_targets else "The then"
    return (
        f"{which} {entry['made']} targets were made anew in one uninterrupted run of "
        f"{run.seconds / 60.0:.1f} minutes on {_cores(run.cores)}, begun on {run.date[:10]} "
        f"({run.cpu_seconds / 60.0:.1f} minutes of processor time)."
    )


def _cores(count: int) -> str:
    words = {1: "one core", 2: "two cores", 4: "four cores", 8: "eight cores"}
    return words.get(count, f"{count} cores")
