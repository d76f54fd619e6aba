"""Simulated panels after the several-judges paper: its judges, tasks and accuracies.

Used up for calibration, and so no predictions: Table 3 (accuracy of every judge), the majority-vote
cells of Table 1 (correlation of errors), the cells "train on majority voting" of Table 1 (what the
context tells), and for the position bias of Chatbot Arena the majority-vote cells of Table 2. All
other cells of Tables 1, 2, 4 and 5 are predictions. A simulated judge is not a language model.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd

from poe._paths import data_dir
from poe.comparisons import Floats
from poe.panel.errors import AggregationError
from poe.panel.panels import LabelledPanel
from poe.panel.simulated import SimulatedPanel, calibrate

TASKS = ("HaluEval", "TruthfulQA", "ChatbotArena")
SAMPLES = {"HaluEval": 20_000, "TruthfulQA": 5_918, "ChatbotArena": 34_297}
PREVALENCE = {"HaluEval": 0.5, "TruthfulQA": 0.4393, "ChatbotArena": 0.5}
# Removed as no better than guessing (5.2); which ones, Table 3 and the pools of Tables 4 and 5 say.
REMOVED = {
    "HaluEval": (),
    "TruthfulQA": ("dolphin-2.1-mistral-7b", "StableBeluga-7B"),
    "ChatbotArena": ("dolphin-2.1-mistral-7b",),
}
SHORT = {
    "Mistral-v0.1": "Mistral-7B-Instruct-v0.1",
    "Mistral-v0.2": "Mistral-7B-Instruct-v0.2",
    "OpenOrca": "Mistral-7B-OpenOrca",
    "zephyr": "zephyr-7b-beta",
    "Hermes-2.0": "OpenHermes-2-Mistral-7B",
    "Hermes-2.5": "OpenHermes-2.5-Mistral-7B",
    "Starling": "Starling-LM-7B-alpha",
    "Llama-3": "Meta-Llama-3-8B-Instruct",
    "Beluga": "StableBeluga-7B",
}
N_SMALL = 10  # Table 3 lists the ten 7B and 8B judges first
REPEAT = 0.5  # share of a judge's own noise that stays when the order is swapped; declared


@cache
def printed(table: int) -> pd.DataFrame:
    """Cells of a table as printed, with `number` in percent."""
    path = data_dir() / "published" / f"skill_aggregation_table{table}.csv"
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    return frame.assign(number=frame["value"].astype(float), sd_number=pd.to_numeric(frame["sd"]))


def cell(table: int, **where: str) -> float:
    """One printed accuracy as a share."""
    rows = printed(table)
    for column, value in where.items():
        rows = rows[rows[column] == value]
    if len(rows) != 1:
        raise AggregationError(f"Table {table} has {len(rows)} cells with {where}")
    return float(rows["number"].iloc[0]) / 100


def single_accuracies(task: str, pool: str, *, removed: bool = False) -> pd.Series:
    """Table 3: accuracy of every judge of a pool; `removed` keeps those the paper took out."""
    rows = printed(3)
    rows = rows[(rows["dataset"] == task) & (rows["system"] != "Random-Guessing")]
    found = pd.Series(rows["number"].to_numpy() / 100, index=rows["system"].to_numpy())
    found = found.iloc[:N_SMALL] if pool == "7B-8B" else found.iloc[N_SMALL:]
    return found if removed else found.drop(list(REMOVED[task]), errors="ignore")


@cache
def paper_panel(task: str, pool: str, *, lean: float = 0.0) -> SimulatedPanel:
    """The panel of Table 3's accuracies with the majority vote of Table 1.

    lean : common to all judges, towards class 1 (the response shown first).
    """
    accuracy = single_accuracies(task, pool)
    majority = cell(1, system=pool, dataset=task, method="majority-voting")
    return calibrate(
        accuracy.to_numpy(),
        majority,
        lean=lean,
        prevalence=PREVALENCE[task],
        judges=list(accuracy.index),
    )


@cache
def biased_panel(pool: str, *, n: int = 60_000, seed: int = 0) -> SimulatedPanel:
    """Chatbot Arena's panel with the common position bias that Table 2's majority vote shows.

    The bias is the one with which asking in both orders lifts the majority from Table 1's value
    to Table 2's, the nearest of steps of 0.05, by simulation with `n` samples.
    """
    wanted = cell(2, system=pool, dataset="ChatbotArena", method="majority-voting")

    def reached(lean: float) -> float:
        drawn = paper_panel("ChatbotArena", pool, lean=lean).draw(
            n, seed=seed, swapped=True, repeat=REPEAT
        )
        decisions = drawn.judgements.decisions
        vote = decisions.sum(axis=1) * 2 > decisions.shape[1]
        return float((vote == drawn.truth).mean()) - wanted

    best = (abs(reached(0.0)), 0.0)
    for lean in np.arange(0.05, 1.5, 0.05):
        try:
            best = min(best, (abs(reached(float(lean))), float(lean)))
        except AggregationError:  # so much bias that no correlation gives the majority
            break
    return paper_panel("ChatbotArena", pool, lean=best[1])


def panel_of(task: str, pool: str) -> SimulatedPanel:
    """The panel of a task: Chatbot Arena's judges have a position bias (section 6.6)."""
    return biased_panel(pool) if task == "ChatbotArena" else paper_panel(task, pool)


def draw(
    task: str,
    pool: str,
    *,
    n: int,
    seed: int,
    error_visible: float,
    panel: SimulatedPanel | None = None,
    swapped: bool = False,
) -> LabelledPanel:
    """N samples of the paper's panel, with a context as telling as Table 1 says.

    The best reader of the context reaches the printed accuracy of "train on majority voting".
    error_visible : how much of the judges' common error the context shows, too.
    """
    made = panel or panel_of(task, pool)
    tells = cell(1, system=pool, dataset=task, method="train-on-majority-voting")
    return made.draw(
        n,
        seed=seed,
        context_accuracy=tells,
        error_visible=error_visible,
        swapped=swapped,
        repeat=REPEAT,
    )


def subset_judges(name: str, task: str) -> list[str]:
    """The judges of a row of Tables 4 and 5: "without X", or names joined by commas or plus."""
    pool = list(single_accuracies(task, "7B-8B").index)
    if name.startswith("without "):
        left_out = SHORT[name.removeprefix("without ").strip()]
        return [judge for judge in pool if judge != left_out]
    return [SHORT[part.strip()] for part in name.replace("+", ",").split(",")]


def subset_panel(judges: list[str], task: str) -> SimulatedPanel:
    """Small judges with their accuracies of Table 3; correlation and bias are the whole pool's."""
    whole = panel_of(task, "7B-8B")
    alone = single_accuracies(task, "7B-8B", removed=True)
    return SimulatedPanel.of(
        alone[judges].to_numpy(),
        correlation=whole.correlation,
        lean=float(whole.lean[0]),
        prevalence=PREVALENCE[task],
        judges=judges,
    )


def subset_majority(task: str) -> pd.DataFrame:
    """Majority vote of every subset in Table 4 (TruthfulQA) or 5 (Chatbot Arena), predicted.

    Exact under the simulated panel: the correlation of errors comes from the whole pool, the
    accuracies from Table 3, and nothing from the subsets. Columns: subset, judges, published, value
    (both in percent), pool_published, pool_value (the whole pool, to which differences refer).
    """
    table = {"TruthfulQA": 4, "ChatbotArena": 5}[task]
    rows = printed(table)
    found = []
    for row in rows[rows["method"] == "majority-voting"].itertuples():
        judges = subset_judges(str(row.system), task)
        some = subset_panel(judges, task)
        found.append((row.id, row.system, len(judges), row.number, 100 * some.majority_accuracy()))
    frame = pd.DataFrame(found, columns=["id", "subset", "judges", "published", "value"])
    return frame.assign(
        task=task, evidence="simulated", difference=frame["value"] - frame["published"]
    )


def independent_majority(task: str, pool: str) -> float:
    """What the majority would reach if these judges erred independently."""
    accuracy: Floats = np.asarray(single_accuracies(task, pool), dtype=float)
    return SimulatedPanel.of(accuracy, prevalence=PREVALENCE[task]).majority_accuracy()
