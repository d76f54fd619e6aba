"""The numbers printed in the papers, as they were printed.

One CSV file a table lies in data/published/; its README.md defines the columns
and the metric of each table and lists the slips found in the tables.
"""

from __future__ import annotations

import pandas as pd

from poe._paths import data_dir

TABLES = ("table1", "table2", "table3", "table5", "table6", "table7", "table8", "table9")
UNIT = "correlation x 100"


def load(table: str | int) -> pd.DataFrame:
    """Every cell of one table of the paper (poe_v2), one row a cell.

    Parameters
    ----------
    table : str or int
        `"table1"` or `1`; see `TABLES`. Table 4 holds prompts, not numbers.

    Returns
    -------
    DataFrame
        The columns of the CSV file as strings (`id`, `table`, `system`, `k`,
        `method`, `selection`, `dataset`, `attribute`, `value`, `sd`, `metric`,
        `note`; empty where nothing is printed) and, derived from them, `number`
        and `sd_number` (floats, NaN where empty), `decimals` (digits printed
        after the point, hence the rounding error of the cell) and `unit`.

    Raises
    ------
    ValueError
        If the paper has no such table of numbers.
    """
    name = f"table{table}" if isinstance(table, int) else table
    if name not in TABLES:
        raise ValueError(f"no table of numbers {table!r}; there are {', '.join(TABLES)}")
    path = data_dir() / "published" / f"poe_v2_{name}.csv"
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    return frame.assign(
        number=frame["value"].astype(float),
        sd_number=pd.to_numeric(frame["sd"]),
        decimals=frame["value"].str.partition(".")[2].str.len(),
        unit=UNIT,
    )


def all_tables() -> pd.DataFrame:
    """Every cell of every table, in the order of `TABLES`; columns as in `load`."""
    return pd.concat([load(table) for table in TABLES], ignore_index=True)
