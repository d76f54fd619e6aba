"""Who has run this again, and which headline numbers have changed: two tables kept by hand.

data/reproduced.toml and data/changed-numbers.toml say what their fields mean. A change is written
down beside the commit that made it, and a test reads both values out of the history.
"""

from __future__ import annotations

import tomllib
from typing import Any

import pandas as pd

from judging.machine import data_dir
from reproduction import run

LOG = "changed-numbers.toml"


def _file(name: str) -> dict[str, Any]:
    return tomllib.loads((data_dir() / name).read_text(encoding="utf-8"))


def reproduced() -> pd.DataFrame:
    """List the runs by others, as data/reproduced.toml has them: a row a run."""
    rows = pd.DataFrame(_file("reproduced.toml")["run"])
    return rows[["who", "when", "commit", "ran", "differed"]].map(
        lambda text: text.replace("`", "")
    )


def numbers() -> list[dict[str, Any]]:
    """List the headline numbers whose changes are written down, with their changes."""
    return list(_file(LOG)["number"])


def cell(table: pd.DataFrame, number: dict[str, Any]) -> float:
    """Find a headline number in a stored table of gains, to two decimals."""
    rows = table.query(
        "attribute == 'mean' and versus == 'people' and dataset == @number['dataset']"
        " and method == @number['method'] and k == @number['k']"
    )
    return round(float(rows["value"].item()), 2)


def changed() -> pd.DataFrame:
    """List every change, the newest first: day, quantity, before, after, why, commit.

    Raises ValueError where the stored result has a value that no change leads to.
    """
    rows = []
    for number in numbers():
        table = run.read(number["result"])
        now = number["change"][-1]["after"]
        if table is not None and cell(table, number) != now:
            raise ValueError(
                f"{number['quantity']} is {cell(table, number)} now and {now} in data/{LOG}: "
                "add the change, with its commit and its reason"
            )
        rows += [{"quantity": number["quantity"], **change} for change in number["change"]]
    order = ["day", "quantity", "before", "after", "why", "commit"]
    return pd.DataFrame(rows).sort_values("day", ascending=False, kind="stable")[order]
