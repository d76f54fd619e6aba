"""How far a printed cell moves within the standard errors of its twin's own parameters.

The tolerance of the scorecard holds what is random in a run; that the parameters of a twin are only
known so well is not in it. A cell whose difference lies within both needs no other cause.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from reproduction import contexts
from reproduction import variant_runs as runs
from reproduction.bench import Bench
from reproduction.calibrate import LEAST
from reproduction.settings import Settings
from reproduction.sweep import labels
from reproduction.twins import Twin, standard_errors
from reproduction.variants import PLAIN, Values


def run(settings: Settings) -> pd.DataFrame:
    """How far a cell moves within the standard errors of its twin's own parameters.

    Columns id, value, and standard deviations: `sharpness_sd` and `noise_sd` from the standard
    errors in data/twins.toml, `level_sd` from the random numbers that the level was set with, and
    `sd`, all of them. The tolerance of the scorecard holds none of these.
    """

    def of(judges: list[Twin]) -> list[runs.Row]:
        plain = runs.every(judges, PLAIN, settings)
        sharp = _half(judges, settings, plain, "sharpness")
        each = [[judge] for judge in judges]
        noise = [_half(one, settings, runs.every(one, PLAIN, settings), "noise") for one in each]
        level = _level_error(judges, settings) / runs.mean(plain, "all", "avg-prob", "spearman")
        rows = []
        for cell, id_ in runs.experiments(judges).items():
            key = (runs.where(cell), cell.method, cell.metric)
            parts = {
                "sharpness_sd": abs(sharp[key]),
                "noise_sd": float(np.linalg.norm([one[key] for one in noise])) / len(judges),
                "level_sd": level * runs.mean(plain, *key),
            }
            total = float(np.linalg.norm(list(parts.values())))
            head = {**runs.head(id_, cell), "value": runs.mean(plain, *key)}
            rows.append({**head, **parts, "sd": total, "role": contexts.role(cell)})
        return rows

    return runs.table(of, settings)


def _half(
    judges: Sequence[Twin], settings: Settings, plain: dict[str, Values], what: str
) -> dict[tuple[str, str, str], float]:
    """Half the distance between one standard error up and down, or the one side there is."""
    found = [
        runs.every(runs.levelled(moved, PLAIN, plain, settings), PLAIN, settings)
        for sign in (1.0, -1.0)
        if (moved := _moved(judges, what, sign)) is not None
    ]
    ends = (found[0], found[1] if len(found) > 1 else plain)
    share = 0.5 if len(found) > 1 else 1.0
    keys = [(where, *key) for where, values in plain.items() for key in values]
    return {key: share * (runs.mean(ends[0], *key) - runs.mean(ends[1], *key)) for key in keys}


def _moved(judges: Sequence[Twin], what: str, sign: float) -> list[Twin] | None:
    """Judges with one parameter moved by its standard error; None beyond its bound."""
    moved = []
    for judge in judges:
        error = standard_errors(judge.dataset)[judge.judge, judge.attribute]
        tau = judge.noise / judge.sharpness  # in units of quality, as its standard error
        if what == "sharpness":
            value = judge.sharpness + sign * (error.get("sharpness", 0.0))
            if value < LEAST:
                return None
            moved.append(replace(judge, sharpness=value, noise=tau * value))
        else:
            value = tau + sign * (error.get("noise", 0.0))
            if value < 0.0:
                return None
            moved.append(replace(judge, noise=value * judge.sharpness))
    return moved


def _level_error(judges: Sequence[Twin], settings: Settings) -> float:
    """Standard error of the level over the bench's tastes; a taste and its mirror are one."""
    values = []
    for judge in judges:
        bench = Bench(labels(judge.dataset, settings.source).scores[judge.attribute])
        twin = replace(judge, noise=judge.noise / judge.sharpness, bias=0.0)
        values.append(100.0 * bench.average_probability(twin))
    each = np.mean(values, axis=0).reshape(-1, 2).mean(axis=1)
    return float(each.std(ddof=1) / np.sqrt(len(each)))
