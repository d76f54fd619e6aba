"""Two rankings of the same texts side by side: what moved by more than chance.

Another judge, another prompt, more answers, a month later: which differences are more than noise?
"""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from judging import metrics
from judging.errors import InvalidDataError
from judging.practice import findings as f
from judging.practice.reading.tables import as_name, as_number, find_column, read_table
from judging.practice.sentences import say_all
from poe.arrays import Floats, Mask
from poe.errors import name_some
from poe.ranks import shared_ranks

__all__ = ["Changes", "changes", "read_ranking"]

NAMED = 5  # texts that a sentence about changes names


@dataclass(frozen=True, eq=False, repr=False)
class Changes:
    """What `Ranking.compare` found.

    table : one row a text that both have, what moved most surely first: name, rank, rank_before
        (among these texts), shift (standard deviations of the texts' scores, positive is up),
        error (of the shift), p_value (of a shift of zero), moved (whether it is more than chance).
    spearman, low, high : the correlation, with its interval of `level` over texts like these.
    added, gone : texts of one ranking alone.
    """

    table: pd.DataFrame = field(repr=False)
    spearman: float
    low: float
    high: float
    level: float
    added: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()

    def findings(self) -> list[Any]:
        """Find what a reader should know."""
        moved = self.table[self.table["moved"]]
        texts = [
            f.MovedText(row.name, row.rank, row.rank_before)
            for row in moved.head(NAMED).itertuples(index=False)
        ]
        found: list[Any] = [
            f.Moved(
                "some" if len(moved) else "none",
                len(moved),
                len(self.table),
                tuple(texts),
                max(len(moved) - NAMED, 0),
            ),
            f.Spearman(self.spearman, self.low, self.high),
        ]
        if self.added or self.gone:
            found.append(f.NewAndGone(len(self.added), len(self.gone)))
        return found

    def __repr__(self) -> str:
        return f"Changes: {' '.join(say_all(self.findings()))}"

    def _repr_html_(self) -> str:
        shown = self.table.head(2 * NAMED).round({"shift": 2, "error": 2, "p_value": 4})
        return f"<p>{escape(' '.join(say_all(self.findings())))}</p>{shown.to_html(index=False)}"


def changes(now: pd.DataFrame, before: pd.DataFrame, *, level: float = 0.95) -> Changes:
    """Compare two rankings, as `Ranking.to_frame` gives them, in the texts that both have.

    The unit of a score depends on how decided a judge is, so each ranking's scores are divided by
    their own standard deviation, without the part of it that is error. A shift counts as moved
    where its p-value passes Benjamini and Hochberg's procedure at 1 - level: of the texts said to
    have moved, about that share did not. The errors are taken as independent; rankings that share
    answers differ by less, so fewer texts are named than could be.

    The correlation's interval is Bonett and Wright's (2000), atanh(r) -+ z sqrt((1 + r^2/2)/(n-3)).
    """
    from scipy.stats import false_discovery_control, norm

    for table in (now, before):
        _require_ranking(table)
    one, other = (table.set_index("name")[["score", "error"]] for table in (now, before))
    both = one.index.intersection(other.index, sort=False)
    if len(both) < 4:
        raise ValueError(f"the two rankings have {len(both)} texts in common; 4 are needed")
    # Unit and zero come from the texts that stayed: the few that moved do not move the rest.
    stayed = np.ones(len(both), dtype=bool)
    for robust in (True, False, False, False):
        (x, x_error), (y, y_error) = (
            _standardised(table.loc[both], stayed, robust=robust) for table in (one, other)
        )
        shift, error = x - y, np.hypot(x_error, y_error)
        shift -= np.median(shift[stayed]) if robust else shift[stayed].mean()
        near = np.abs(shift) <= 3.0 * error
        stayed = near if near.sum() > len(both) / 2 else stayed
    with np.errstate(divide="ignore", invalid="ignore"):
        p = np.nan_to_num(2.0 * norm.sf(np.abs(shift) / error), nan=1.0)
    table = pd.DataFrame(
        {
            "name": both,
            "rank": _ranks(x),
            "rank_before": _ranks(y),
            "shift": shift,
            "error": error,
            "p_value": p,
            "moved": false_discovery_control(p) <= 1.0 - level,
        }
    ).sort_values("p_value", kind="stable", ignore_index=True)
    r, n = float(metrics.spearman(x, y)), len(both)
    half = norm.ppf(0.5 + level / 2.0) * np.sqrt((1.0 + r * r / 2.0) / (n - 3.0))
    middle = np.arctanh(np.clip(r, -1.0 + 1e-12, 1.0 - 1e-12))
    low, high = np.tanh([middle - half, middle + half]).tolist()
    known = set(both)
    added, gone = (tuple(i for i in t.index if i not in known) for t in (one, other))
    return Changes(table, r, low, high, level, added, gone)


def _standardised(table: pd.DataFrame, some: Mask, *, robust: bool) -> tuple[Floats, Floats]:
    """Scores and errors in units of the spread of some scores, without the part that is error."""
    score, error = table.to_numpy(dtype=float).T
    score = score - np.median(score)
    spread = score[some].var(ddof=1)
    if robust:
        spread = (1.4826 * np.median(np.abs(score))) ** 2 or spread
    # Where a ranking is mostly error, its spread cannot be told; then all of it is taken.
    true = spread - (error[some] ** 2).mean()
    unit = np.sqrt(true if true > 0.25 * spread else spread)
    return (score / unit, error / unit) if unit > 0 else (score, error)


def _ranks(score: Floats) -> np.ndarray:
    order = np.argsort(-score, kind="stable")
    return shared_ranks(score[order])[np.argsort(order)]


def _require_ranking(table: pd.DataFrame, where: str = "") -> None:
    """Raise InvalidDataError for a table without the columns, or with a name twice."""
    if missing := [name for name in ("name", "score", "error") if name not in table]:
        raise InvalidDataError(f"{where}a ranking has the column {name_some(missing)}")
    if twice := table["name"][table["name"].duplicated()].unique().tolist():
        raise InvalidDataError(
            f"{where}a ranking has every name once; more than once it has {name_some(twice)}"
        )


def read_ranking(path: str | Path) -> pd.DataFrame:
    """A ranking that `judging rank --out` or `Ranking.to_frame` wrote, from its file."""
    table = read_table(path)
    columns = {name: find_column(table, name) for name in ("name", "score", "error")}
    missing = [name for name, column in columns.items() if column is None]
    if missing:
        raise InvalidDataError(
            f"{path} is not a ranking to compare with: it has no column {' and no '.join(missing)};"
            " `judging rank --out` writes such a table"
        )
    kept = table[list(columns.values())].set_axis(list(columns), axis=1)
    kept["name"] = kept["name"].map(as_name)
    for name in ("score", "error"):
        kept[name] = [as_number(cell, name) for cell in kept[name]]
    _require_ranking(kept, f"{path}: ")
    return kept
