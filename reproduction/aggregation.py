"""The several-judges paper by command: its Tables 1 to 5 and Figures 3 to 11, and LLMBar recorded.

Simulated panels have the accuracies that the paper prints (`poe.panel.paper`). Judges, truth
and contexts are *drawn* together: no text and no label of the paper's data sets is used, which is
what "drawn" in the column `labels` says, and why the verdict on each of its cells is "inputs
differ". LLMBar's rows are recorded answers on real labels; nothing is printed to compare them with.
Every row of a method with a network is the mean of several seeds, with their standard deviation.
"""

from __future__ import annotations

from importlib.metadata import version

import numpy as np
import pandas as pd

from poe.panel import figures, panels, paper, recorded_results, reproduce
from reproduction.aggregation_runs import (
    WITHOUT_TORCH,
    has_torch,
    networks,
    one_thread,
    runnable,
    seeds,
    size,
    ticks,
)
from reproduction.settings import Settings

LABELS = "drawn"
VISIBLE = (0.0, 0.25, 0.5, 1.0)  # of the common error, in its standard deviations


def table1(settings: Settings) -> pd.DataFrame:
    """Eight methods, three tasks, two pools of judges."""
    with one_thread():
        found = reproduce.table1(
            methods=runnable(reproduce.METHODS),
            tick=ticks(settings, len(paper.TASKS) * 2),
            **networks(settings, most=True),
        )
    return _cells(found, settings)


def table2(settings: Settings) -> pd.DataFrame:
    """Chatbot Arena in both orders, and in one order on the same samples (`table` says which)."""
    with one_thread():
        found = reproduce.table2(
            methods=runnable(reproduce.TABLE2),
            tick=ticks(settings, 4),
            **networks(settings, most=True),
        )
    return _cells(found, settings)


def table3(settings: Settings) -> pd.DataFrame:
    """Every judge alone: what the panels were calibrated on, and how far a draw scatters."""
    found = reproduce.table3(seeds=seeds(settings), most=size(settings).most)
    return _cells(found.dropna(subset="value"), settings, lacks=False)


def table4(settings: Settings) -> pd.DataFrame:
    """Subsets of judges on TruthfulQA: Table 4 and Figure 4."""
    return _subsets(settings, "TruthfulQA")


def table5(settings: Settings) -> pd.DataFrame:
    """Subsets of judges on Chatbot Arena: Table 5 and Figure 11."""
    return _subsets(settings, "ChatbotArena")


def _subsets(settings: Settings, task: str) -> pd.DataFrame:
    count = paper.printed({"TruthfulQA": 4, "ChatbotArena": 5}[task])["system"].nunique()
    options = networks(settings) | {"most": min(size(settings).subset, paper.SAMPLES[task])}
    with one_thread():
        found = figures.subsets(
            task,
            methods=runnable(figures.SUBSET_METHODS),
            tick=ticks(settings, count),
            **options,
        )
    found = found.rename(columns={"subset": "system"})
    return _cells(found.assign(seeds=len(seeds(settings)), calibrated=False), settings)


def figure3(settings: Settings) -> pd.DataFrame:
    """Figures 3, 9 and 10: slope against accuracy; `value` is the slope, `correlation` over judges.

    One row a task, judge and method: means over seeds, with the seeds' standard deviation.
    """
    tick = ticks(settings, len(paper.TASKS))
    methods = runnable(("SkillAggregation", "DawidSkene"))
    options = networks(settings, most=True)
    with one_thread():
        parts = [
            figures.skills_and_accuracy(task, methods=methods, tick=tick, **options)
            for task in paper.TASKS
        ]
    found = pd.concat(parts, ignore_index=True)
    grouped = found.groupby(["dataset", "judge", "method"], sort=False)
    rows = grouped.agg(
        value=("slope", "mean"),
        sd=("slope", "std"),
        accuracy=("accuracy", lambda share: 100 * share.mean()),
        correlation=("correlation", "mean"),
        correlation_sd=("correlation", "std"),
        published=("published", "first"),
        seeds=("seed", "nunique"),
        samples=("samples", "first"),
    ).reset_index()
    return _tidy(rows.rename(columns={"judge": "system"}), settings, "figure3")


def figure6(settings: Settings) -> pd.DataFrame:
    """Figures 6 to 8: `gain` over the majority vote, and accuracy, by number of samples `k`."""
    chosen = size(settings)
    with one_thread():
        found = figures.sizes(
            samples=chosen.sizes,
            methods=runnable(figures.SIZE_METHODS),
            tick=ticks(settings, len(paper.TASKS) * len(chosen.sizes)),
            **networks(settings),
        )
    grouped = found.groupby(["dataset", "n", "method"], sort=False)
    rows = grouped.agg(
        value=("value", "mean"),
        sd=("value", "std"),
        gain=("gain", "mean"),
        gain_sd=("gain", "std"),
        seeds=("seed", "nunique"),
    ).reset_index()
    rows = rows.assign(k=rows["n"], samples=rows["n"], system="7B-8B").drop(columns="n")
    return _tidy(rows, settings, "figure6")


def context(settings: Settings) -> pd.DataFrame:
    """What Table 1 leaves open: how much of the judges' common error the context shows, `k`.

    HaluEval's small judges; what Crowdlayer and the regulariser gain depends on it, and no cell
    fixes it.
    """
    methods = (
        "majority-voting",
        "Crowdlayer",
        "SkillAggregation-unregularised",
        "SkillAggregation",
    )
    with one_thread():
        found = reproduce.regulariser_and_context(
            visible=VISIBLE,
            methods=runnable(methods),
            tick=ticks(settings, len(VISIBLE)),
            **networks(settings, most=True),
        )
    grouped = found.groupby(["dataset", "error_visible", "method"], sort=False)["value"]
    rows = grouped.agg(value="mean", sd="std", seeds="size").reset_index()
    rows = rows.rename(columns={"error_visible": "k"}).assign(system="7B-8B")
    return _tidy(rows, settings, "context")


def calls(settings: Settings) -> pd.DataFrame:
    """The trade of Table 2 in calls: more judges in one order, or fewer in both."""
    runs = 4 * len(seeds(settings))
    found = figures.judges_or_orders(seeds=tuple(range(settings.seed, settings.seed + runs)))
    grouped = found.groupby(["calls", "spent on", "judges", "method"], sort=False)["value"]
    rows = grouped.agg(value="mean", sd="std", seeds="size").reset_index()
    rows = rows.rename(columns={"calls": "k", "spent on": "selection"})
    found = _tidy(rows.assign(system="7B-8B", dataset="ChatbotArena"), settings, "calls")
    found.attrs.clear()  # no method with a network takes part
    return found


def recorded(settings: Settings) -> pd.DataFrame:
    """LLMBar's recorded verdicts: eight methods on natural, adversarial and all pairs.

    For the plain prompt and for all prompts, in the order given and in both.
    """
    with one_thread():
        found = recorded_results.recorded_table(
            methods=runnable(reproduce.METHODS),
            seeds=seeds(settings),
            epochs=size(settings).epochs,
            trusted=_trusted(settings),
            source=settings.source,
            tick=ticks(settings, 12, per_seed=False),
        )
    found = found.rename(columns={"prompts": "system", "order": "selection", "n": "k"})
    found = _tidy(found, settings, "recorded-aggregation")
    found.loc[found["quantity"] != "accuracy", "se"] = np.nan
    return found


def experts(settings: Settings) -> pd.DataFrame:
    """LLMBar's judges under the plain prompt as experts in one product."""
    found = recorded_results.experts_on_llmbar(trusted=_trusted(settings), source=settings.source)
    found = found.rename(columns={"sets": "dataset", "n": "k"}).assign(seeds=1, sd=np.nan)
    return _tidy(found, settings, "recorded-experts", lacks=False)


def _trusted(settings: Settings) -> str:
    """GPT-4 under the plain prompt, or the first judge of a stand-in."""
    judges = panels.llmbar("Natural", order="both", source=settings.source).judgements.judges
    plain = [str(name) for name in judges if str(name).endswith("/Vanilla")]
    trusted = recorded_results.TRUSTED
    return trusted if trusted in plain else plain[0]


def _cells(found: pd.DataFrame, settings: Settings, *, lacks: bool = True) -> pd.DataFrame:
    """Rows of a printed table; `role` says which cells the panels were calibrated on."""
    role = np.where(found["calibrated"], "calibrated", "predicted")
    kept = found.drop(
        columns=["published", "published_number", "difference", "number"], errors="ignore"
    )
    return _tidy(kept.assign(role=role), settings, "", lacks=lacks)


def _tidy(
    found: pd.DataFrame, settings: Settings, panel: str, *, lacks: bool = True
) -> pd.DataFrame:
    """The columns that every result has; without PyTorch a note of what is not there."""
    kind = found.get("evidence", "simulated")
    found = found.assign(
        kind=kind,
        labels=LABELS,
        draws=found["seeds"],
        seed=settings.seed,
        se=found["sd"] / np.sqrt(found["seeds"]),
    )
    if panel.startswith("recorded"):  # so many pairs are all there are: a share's error
        found["labels"] = np.where(found["kind"] == "recorded", "real", "stand-in")
        share = (found["value"] / 100).clip(0.0, 1.0)  # correlations of skills have no share
        found["se"] = 100 * np.sqrt(share * (1 - share) / found["k"])
    for name in ("k", "selection", "attribute"):
        if name not in found:
            found[name] = ""
    if panel:
        found.insert(0, "panel", panel)
    found = found.drop(columns=["evidence", "verdict", "calibrated", "seeds"], errors="ignore")
    found = found.reset_index(drop=True)
    if lacks and has_torch():
        found.attrs["versions"] = {"torch": version("torch")}
    elif lacks:
        found.attrs["without"] = WITHOUT_TORCH
    return found
