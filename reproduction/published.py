"""The numbers printed in the papers, as they were printed.

One CSV file a paper lies in data/published/; its README.md defines the columns
and the metric of each table and lists the slips found in the tables.
"""

from __future__ import annotations

from functools import cache

import pandas as pd

from judging.machine import data_dir

# Tables of numbers by paper; the first paper is the one that the book explains.
PAPERS: dict[str, tuple[str, ...]] = {
    "poe_v2": tuple(f"table{n}" for n in (1, 2, 3, 5, 6, 7, 8, 9)),
    "poe_v1": tuple(f"table{n}" for n in range(1, 6)),
    "comparative_assessment": tuple(f"table{n}" for n in range(1, 12)),
    "skill_aggregation": tuple(f"table{n}" for n in range(1, 6)),
}
TITLES = {
    "poe_v2": "PoE, version 2",
    "poe_v1": "PoE, version 1",
    "comparative_assessment": "Comparative assessment",
    "skill_aggregation": "SkillAggregation",
}
UNITS = {
    "spearman": "correlation x 100",
    "pearson": "correlation x 100",
    "accuracy": "percent",
    "agreement with the final ranking": "percent",
    "first-position rate": "share",
}
# Datasets here and in the papers, and how many texts are ranked together.
NAMES = {"summeval": "SummEval", "topicalchat": "TopicalChat", "hanna": "HANNA", "cmcqrd": "CMCQRD"}
TEXTS = {"summeval": 16, "topicalchat": 6, "hanna": 1056, "cmcqrd": 658}


def load(table: str | int, *, paper: str = "poe_v2") -> pd.DataFrame:
    """Every cell of one table of a paper, one row a cell.

    table : "table1" or 1; paper : one of `PAPERS`. poe_v2's Table 4 holds prompts, not numbers.

    The columns of the CSV file as strings (id, table, system, k, method, selection, dataset,
    attribute, value, sd, metric, note; for comparative_assessment also prompt and level; empty
    where nothing is printed or nothing can be read, which note says) and, derived from them, number
    and sd_number (floats, NaN where empty), decimals (digits printed after the point, hence the
    rounding error of the cell) and unit. Raises ValueError where there is no such paper or table.
    """
    name = f"table{table}" if isinstance(table, int) else table
    if name not in PAPERS.get(paper, ()):
        known = "; ".join(f"{paper}: {', '.join(tables)}" for paper, tables in PAPERS.items())
        raise ValueError(f"no table of numbers {table!r} in {paper!r}; there are {known}")
    cells = _cells(paper)
    return cells[cells["table"] == name].reset_index(drop=True)


def all_tables(*, paper: str = "poe_v2") -> pd.DataFrame:
    """Every cell of every table of a paper, in the order of `PAPERS`; columns as in `load`."""
    return _cells(paper).copy()


def text() -> pd.DataFrame:
    """Numbers that stand in poe_v2's text instead of a table, one row a number, as strings.

    Columns: id, place (section), system, dataset, attribute, k, quantity, value, unit, note.
    """
    return _csv("poe_v2_text").copy()


def number(cell: str) -> float:
    """The printed number with that id, of any paper's tables or text."""
    values = _values()
    if cell not in values:
        raise KeyError(f"no published number has the id {cell!r}")
    return float(values[cell])


@cache
def _values() -> dict[str, str]:
    values: dict[str, str] = {}
    for name in (*PAPERS, "poe_v2_text"):
        values.update(zip(_csv(name)["id"], _csv(name)["value"], strict=True))
    return values


@cache
def _cells(paper: str) -> pd.DataFrame:
    frame = _csv(paper)
    return frame.assign(
        number=pd.to_numeric(frame["value"]),
        sd_number=pd.to_numeric(frame["sd"]),
        decimals=frame["value"].str.partition(".")[2].str.len(),
        unit=frame["metric"].map(UNITS),
    )


@cache
def _csv(name: str) -> pd.DataFrame:
    path = data_dir() / "published" / f"{name}.csv"
    return pd.read_csv(path, dtype=str, keep_default_na=False)
