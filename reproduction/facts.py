"""What the twins are calibrated on: the published numbers, and their ids.

Nothing else of the papers may reach a twin. Cells used here are never counted as predictions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import pandas as pd

from poe._paths import data_dir

ATTRIBUTES = {
    "summeval": {
        "COH": "coherence",
        "CON": "consistency",
        "FLU": "fluency",
        "REL": "relevance",
    },
    "topicalchat": {
        "COH": "coherency",
        "CNT": "continuity",
        "ENG": "engagingness",
        "NAT": "naturalness",
    },
    "hanna": {"COH": "coherence", "CMP": "complexity", "SUR": "surprise"},
    "cmcqrd": {"DIF": "difficulty"},
}
NAMES = {"summeval": "SummEval", "topicalchat": "TopicalChat", "hanna": "HANNA", "cmcqrd": "CMCQRD"}
JUDGES = ("Llama2-7B", "Llama2-13B", "Mistral-7B", "FlanT5-3B", "FlanT5-11B")
LARGE_JUDGES = ("Llama2-7B", "Llama2-13B", "Mistral-7B")

# Mean probability of the item shown first, poe_v2 sections 5.4 and C.5, on HANNA coherence.
MEAN_P = {"Llama2-7B": 0.78, "Mistral-7B": 0.51}

# Looked at when the form of the twin was chosen (human scores on a normal scale rather than
# as they are), so no predictions either: hard decisions, Pearson, all calls.
CONSULTED = tuple(
    f"poe_v2/table6/{judge}/K240/{method}"
    for judge in JUDGES
    for method in ("win-ratio", "PoE-g-hard")
)
# Compared with nothing of ours before the twins were fixed.
HELD_OUT = ("poe_v2 Table 2, rows Selected", "poe_v2 Table 8")


@dataclass(frozen=True)
class Decisions:
    """What one judge's decisions on one attribute looked like, over all calls.

    win_ratio : summary-level Spearman of the win-ratio of debiased decisions. accuracy : share
    of debiased decisions as the human scores have it. first_position : share of decisions,
    not debiased, for the item shown first. cells : ids of the published numbers.
    """

    win_ratio: float
    accuracy: float
    first_position: float
    cells: tuple[str, ...]


@dataclass(frozen=True)
class Scalar:
    """One published number (a correlation is a share, not times 100) and where it stands."""

    value: float
    cells: tuple[str, ...]


def decisions(dataset: str, judge: str) -> dict[str, Decisions]:
    """By attribute, from comparative_assessment: its Tables 6, 10 and 9 (SummEval: 5)."""
    found = {}
    rates = "table5" if dataset == "summeval" else "table9"
    for label, attribute in ATTRIBUTES[dataset].items():
        start, end = "comparative_assessment", f"{judge}/{NAMES[dataset]}-{label}"
        cells = (
            f"{start}/table6/{end}/debiased",
            f"{start}/table10/{end}/debiased",
            f"{start}/{rates}/{end}/prompt1",
            f"{start}/{rates}/{end}/prompt2",
        )
        win, accuracy, one, two = (number(cell) for cell in cells)
        found[attribute] = Decisions(win / 100.0, accuracy / 100.0, (one + two) / 2.0, cells)
    return found


def level(dataset: str, judge: str) -> Scalar:
    """Spearman of the average probability from all calls, mean over attributes (poe_v2)."""
    cell = {"summeval": f"table5/{judge}/K240", "topicalchat": f"table7/{judge}/K30"}[dataset]
    return _scalar(f"poe_v2/{cell}/avg-prob")


def few_decisions(dataset: str, judge: str) -> Scalar:
    """Spearman of the win-ratio from a few calls, for the judge without printed accuracies."""
    cell = {"summeval": f"table5/{judge}/K48", "topicalchat": f"table7/{judge}/K18"}[dataset]
    return _scalar(f"poe_v2/{cell}/win-ratio")


def soft_gain(judge: str) -> Scalar:
    """Pearson of soft Bradley-Terry less that of the average probability, all calls, SummEval.

    Probabilities near 0 and 1 saturate, and the logistic expert straightens them; so the gain
    says how sharply the judge speaks. poe_v2 Table 6.
    """
    straight, saturated = (
        f"poe_v2/table6/{judge}/K240/{method}" for method in ("PoE-BT", "avg-prob")
    )
    return Scalar((number(straight) - number(saturated)) / 100.0, (straight, saturated))


def average_probability_at(dataset: str, judge: str, label: str, calls: str) -> Scalar:
    """Dataset-level Spearman of the average probability in poe_v2 Table 3."""
    return _scalar(f"poe_v2/table3/{judge}/K{calls}/{NAMES[dataset]}-{label}/avg-prob")


def _scalar(cell: str) -> Scalar:
    return Scalar(number(cell) / 100.0, (cell,))


def number(cell: str) -> float:
    """The published number of that id."""
    try:
        return float(_numbers()[cell])
    except KeyError:
        raise KeyError(f"no published number has the id {cell!r}") from None


@cache
def _numbers() -> dict[str, str]:
    found: dict[str, str] = {}
    for path in sorted((data_dir() / "published").glob("*.csv")):
        frame = pd.read_csv(path, dtype=str, keep_default_na=False)
        if {"id", "value"} <= set(frame.columns):
            found.update(zip(frame["id"], frame["value"], strict=True))
    return found
