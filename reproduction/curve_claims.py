"""Measures of claims about curves, by the claim's id; data/claims.toml describes each in words.

A measure takes the curves by panel (columns system, dataset, attribute, k in calls, method,
selection, bias, value) and the kind of evidence, and returns the number that decides.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

Curves = dict[str, pd.DataFrame]
Measure = Callable[[Curves, str], float]
ITEMS = {"hanna": 1056, "cmcqrd": 658, "summeval": 16, "topicalchat": 6}
RECORDED = ("recorded-hanna", "recorded-selection", "recorded-llmbar", "recorded-aggregation")
SHOWN = ("win-ratio", "BT", "avg-prob", "PoE-BT", "PoE-g")


def _line(
    table: pd.DataFrame, method: str, selection: str | None = None, bias: str = "none"
) -> pd.Series:
    """Value by K of one curve."""
    rows = table[(table["method"] == method) & (table["bias"] == bias)]
    if selection is not None:
        rows = rows[rows["selection"] == selection]
    if rows.empty:
        raise KeyError(f"no curve of {method} {selection or ''} {bias}")
    return rows.set_index("k")["value"].sort_index()


def _panels(curves: Curves, evidence: str) -> list[pd.DataFrame]:
    """One table a panel; a recorded result holds a panel for each judge and attribute."""
    if evidence != "recorded":
        return list(curves.values())
    table = curves["recorded-hanna"]
    return [part for _, part in table.groupby(["system", "attribute"])]


def _items(table: pd.DataFrame) -> int:
    return ITEMS[str(table["dataset"].iloc[0])]


def _largest_drop(curves: Curves, evidence: str) -> float:
    drops = [
        float(-_line(table, method).diff().min())
        for table in _panels(curves, evidence)
        for method in SHOWN
    ]
    return max(max(drops), 0.0)


def _ratio_of_needs(curves: Curves, evidence: str) -> float:
    def need(table: pd.DataFrame, method: str) -> int:
        line = _line(table, method)
        return int(line.index[line >= line.iloc[-1] - 1.0][0])

    panels = _panels(curves, evidence)
    return max(need(table, "PoE-BT") / need(table, "avg-prob") for table in panels)


def _selection_at(curves: Curves, _: str) -> float:
    (table,) = curves.values()
    return float(_line(table, "PoE-BT", "greedy")[48] - _line(table, "PoE-BT", "random")[48])


def _selection_late(curves: Curves, _: str) -> float:
    (table,) = curves.values()
    gain = _line(table, "PoE-BT", "greedy") - _line(table, "PoE-BT", "random")
    return float(gain[gain.index >= 180].abs().max())


def _laplace_early(curves: Curves, _: str) -> float:
    (table,) = curves.values()
    gain = (_line(table, "PoE-BT", "laplace") - _line(table, "PoE-BT", "greedy")).dropna()
    return float(gain[(gain.index >= 32) & (gain.index <= 64)].mean())


def _gaussian_poor(curves: Curves, evidence: str) -> float:
    gaps = []
    for table in _panels(curves, evidence):
        gap = _line(table, "PoE-BT") - _line(table, "PoE-g")
        gaps.append(float(gap.iloc[0]))
    return max(gaps)


def _gaussian_near(curves: Curves, evidence: str) -> float:
    near = []
    for table in _panels(curves, evidence):
        gap = (_line(table, "PoE-BT") - _line(table, "PoE-g")).abs()
        at = np.abs(gap.index.to_numpy() / _items(table) - 10.0).argmin()
        near.append(float(gap.iloc[at] <= 1.0))
    return float(np.mean(near))


def _debiasing_gain(method: str) -> Measure:
    def measure(curves: Curves, evidence: str) -> float:
        (table,) = curves.values()
        gain = _line(table, method, "no-repeat", "plug-in") - _line(table, method, "no-repeat")
        return float(gain[10 * _items(table)])

    return measure


def _debiasing_idle(curves: Curves, _: str) -> float:
    (table,) = curves.values()
    gain = _line(table, "PoE-BT", "no-repeat", "plug-in") - _line(table, "PoE-BT", "no-repeat")
    return float(gain.abs().max())


def _two_designs(curves: Curves) -> list[tuple[int, pd.Series]]:
    """N, and PoE-BT symmetric less non-symmetric with plug-in bias, of each panel."""
    return [
        (
            _items(table),
            _line(table, "PoE-BT", "symmetric") - _line(table, "PoE-BT", "no-repeat", "plug-in"),
        )
        for table in curves.values()
    ]


def _one_order_early(curves: Curves, _: str) -> float:
    gaps = [gap[gap.index >= 2 * n].iloc[0] for n, gap in _two_designs(curves)]
    return float(np.mean([gap < 0 for gap in gaps]))


def _both_orders_late(curves: Curves, _: str) -> float:
    return max(
        float(gap[(gap.index >= 5 * n) & (gap.index <= 20 * n)].max())
        for n, gap in _two_designs(curves)
    )


def _designs_end(curves: Curves, _: str) -> float:
    return max(abs(float(gap.iloc[-1])) for _, gap in _two_designs(curves))


def _joint(curves: Curves, _: str) -> float:
    (table,) = curves.values()
    return float(table.groupby("panel")["value"].first().min() / 100.0)


def _linear(curves: Curves, _: str) -> float:
    (table,) = curves.values()
    found = []
    for _panel, rows in table.dropna(subset=["value"]).groupby("panel"):
        p, mean, weight = (rows[c].to_numpy(float) for c in ("p", "value", "count"))
        slope, start = np.polyfit(p, mean, 1, w=np.sqrt(weight))
        level = np.average(mean, weights=weight)
        rest = np.average((mean - slope * p - start) ** 2, weights=weight)
        found.append(1.0 - rest / np.average((mean - level) ** 2, weights=weight))
    return float(min(found))


def _variance(curves: Curves, _: str) -> float:
    (table,) = curves.values()
    found = []
    for _panel, rows in table.groupby("panel"):
        kept = rows[rows["count"] >= 0.01 * rows["count"].sum()]["variance"]
        found.append(float(kept.max() / kept.min()))
    return max(found)


def _2000_pairs(curves: Curves, _: str) -> float:
    (table,) = curves.values()
    line = _line(table, "PoE-g")
    at = np.interp(np.log(4000), np.log(line.index.to_numpy(float)), line.to_numpy())
    return float(line.iloc[-1] - at)


def _laplacian(curves: Curves, _: str) -> float:
    (table,) = curves.values()
    rows = table[table["bias"] == "turned"].groupby("method")["value"].mean()
    return float(rows["PoE-l"] - rows["PoE-g"])


def _no_repeat(curves: Curves, _: str) -> float:
    (table,) = curves.values()
    gain = _line(table, "win-ratio", "no-repeat") - _line(table, "win-ratio", "random")
    gain = gain.dropna()
    return float(gain[gain.index < 120].mean())


def _symmetric_cost(curves: Curves, _: str) -> float:
    (table,) = curves.values()
    gain = _line(table, "win-ratio", "no-repeat") - _line(table, "win-ratio", "symmetric")
    gain = gain.dropna()
    return float(gain[gain.index <= 120].mean())


def _debiasing_few(curves: Curves, _: str) -> float:
    (table,) = curves.values()
    gain = _line(table, "win-ratio", "random", "reweighted")
    gain = gain - _line(table, "win-ratio", "random")
    return float(gain.iloc[0] - gain.iloc[-1])


def _every_attribute(curves: Curves, _: str) -> float:
    (table,) = curves.values()
    few = table[table["k"] == 48].pivot(
        index=["system", "attribute"], columns="method", values="value"
    )
    return float((few["PoE-BT"] - few["win-ratio"]).min())


MEASURES: dict[str, Measure] = {
    "v2-every-attribute": _every_attribute,
    "v2-curves-rise": _largest_drop,
    "v2-poe-converges-faster-curves": _ratio_of_needs,
    "v2-selection-early": _selection_at,
    "v2-selection-fades": _selection_late,
    "v2-laplace-selection-early": _laplace_early,
    "v2-poe-g-poor-when-few": _gaussian_poor,
    "v2-poe-g-near-poe-bt": _gaussian_near,
    "v2-debiasing-needed": _debiasing_gain("PoE-BT"),
    "v2-debiasing-gain-gaussian": _debiasing_gain("PoE-g"),
    "v2-debiasing-idle": _debiasing_idle,
    "v2-nonsymmetric-early": _one_order_early,
    "v2-nonsymmetric-late": _both_orders_late,
    "v2-nonsymmetric-end": _designs_end,
    "v2-probability-correlates": _joint,
    "v2-linear-mean": _linear,
    "v2-constant-variance": _variance,
    "v1-2000-pairs-suffice": _2000_pairs,
    "v1-laplacian-robust": _laplacian,
    "ca-no-repeat-over-random": _no_repeat,
    "ca-symmetric-costs-a-point": _symmetric_cost,
    "ca-debiasing-most-when-few": _debiasing_few,
}
