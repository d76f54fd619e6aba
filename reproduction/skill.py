"""The paper on SkillAggregation: its tables and figures on simulated panels of judges.

The judgements of the paper's judges are not public, so no cell is the same experiment: each is
*not tested*. Our judges are simulated. Used up for calibration, and so no
predictions, are Table 3 (accuracy of every judge), the majority votes of Table 1 (correlation of
errors), the cells "train on majority voting" of Table 1 (what the context tells), and for the
position bias of Chatbot Arena the majority votes of Table 2. All other cells of Tables 1, 2, 4 and
5 are predictions. Judges, truth and contexts are *drawn* together: no text and no label of the
paper's data sets is used, which the column `labels` says. In
`reproduction.llmbar` the same methods meet recorded answers on real labels.

Every row of a method with a network is the mean of several seeds, with their standard deviation;
each seed is another draw of the panel and another start of the network, and all methods share the
draw. Accuracies are in percent. Figures 7 and 8 are Figure 6 in other units and for HaluEval, 9 and
10 are Figure 3 for the other tasks, 4 and 11 are Tables 4 and 5. Figure 5 (RoBERTa and Gemma-2B in
the place of GPT-2) needs the paper's texts and judgements and was not attempted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial, wraps
from importlib.metadata import version
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from judging.panel import (
    WITH_CONTEXT,
    Training,
    aggregate,
)
from judging.panel.encoders import needed
from judging.panel.learning import learn
from reproduction.published import load
from reproduction.settings import Settings
from reproduction.simulated_panels import LabelledPanel, SimulatedPanel

TASKS = ("HaluEval", "TruthfulQA", "ChatbotArena")
POOLS = ("7B-8B", "70B")
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
# How much of the judges' common error the context shows. It is not in the paper, no cell fixes it,
# and the order of the methods depends on it: see the target skill-context.
VISIBLE = 0.25
CORRELATION = {"HaluEval": np.nan, "TruthfulQA": 89.9, "ChatbotArena": 69.5}  # section 6.2, percent

METHODS: dict[str, tuple[str, bool]] = {  # ours, and whether with a regulariser
    "average-probability": ("average", False),
    "majority-voting": ("majority", False),
    "DawidSkene": ("dawid-skene", False),
    "train-on-majority-voting": ("train-on-majority", False),
    "Crowdlayer": ("crowdlayer", False),
    "SkillAggregation-unregularised": ("skill", False),
    "SkillAggregation": ("skill", True),
    "SkillAggregation-X": ("skill-x", True),
}
BOTH_ORDERS = (*list(METHODS)[:3], "Crowdlayer", "SkillAggregation-X")
SUBSETS = ("majority-voting", "DawidSkene", "SkillAggregation-unregularised", "SkillAggregation")
SIZES = (*SUBSETS[:2], "Crowdlayer", *SUBSETS[2:])
CONTEXTS = ("majority-voting", "Crowdlayer", *SUBSETS[2:])
LAMBDAS = (0.01, 0.05, 0.2)  # tried on the development set
N_DEV = 250  # section 5.4
NOTE = "the paper's judgements are not public; simulated judges of the printed accuracies"


# Size of a run ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Size:
    """How much of the paper a run repeats, whose data sets have 5,918 to 34,297 samples.

    most : samples of a panel at most, Tables 1 to 3 and Figure 3. subset : samples for a subset
    of judges, Tables 4 and 5. sizes : samples of Figures 6 to 8. epochs, batch : of the networks.
    """

    most: int
    subset: int
    epochs: int
    batch: int
    sizes: tuple[int, ...] = (1000, 2000, 3000, 4000, 5000)


QUICK = Size(most=3000, subset=2000, epochs=10, batch=128)  # some four minutes of one core
FULL = Size(most=34_297, subset=5000, epochs=15, batch=64)  # the paper's; about half an hour


def size(settings: Settings) -> Size:
    """The size that is asked for, `QUICK` or `FULL`."""
    return FULL if settings.full else QUICK


def samples(task: str, settings: Settings) -> int:
    """Count the samples that a task has in Tables 1 to 3 and Figure 3."""
    return min(SAMPLES[task], size(settings).most)


def seeds(settings: Settings) -> tuple[int, ...]:
    """Five seeds from the one given; fewer only where fewer draws are asked for."""
    return tuple(range(settings.seed, settings.seed + min(5, settings.draws)))


Make = Callable[[Settings], pd.DataFrame]


def with_networks(make: Make) -> Make:
    """A target some of whose methods are networks, which need PyTorch."""

    @wraps(make)
    def made(s: Settings) -> pd.DataFrame:
        torch = needed("torch")
        before = torch.get_num_threads()
        torch.set_num_threads(1)  # sums in one order: the same digits on any number of cores
        try:
            table = make(s)
        finally:
            torch.set_num_threads(before)
        table.attrs["versions"] = {"torch": version("torch")}
        return table

    return made


# What is printed, and panels after it -------------------------------------------------------------


@cache
def printed(table: int) -> pd.DataFrame:
    """Cells of a table as printed, with `number` in percent."""
    return load(f"table{table}", paper="skill_aggregation")


def cell(table: int, *, system: str, dataset: str, method: str) -> float:
    """One printed accuracy as a share."""
    rows = printed(table).set_index(["system", "dataset", "method"])["number"]
    return float(rows[system, dataset, method]) / 100


def single_accuracies(task: str, pool: str, *, removed: bool = False) -> pd.Series:
    """Table 3: accuracy of every judge of a pool; `removed` keeps those the paper took out."""
    rows = printed(3)
    rows = rows[(rows["dataset"] == task) & (rows["system"] != "Random-Guessing")]
    accuracy = rows.set_index("system")["number"] / 100
    accuracy = accuracy.iloc[:N_SMALL] if pool == "7B-8B" else accuracy.iloc[N_SMALL:]
    return accuracy if removed else accuracy.drop(list(REMOVED[task]), errors="ignore")


def independent_majority(task: str, pool: str) -> float:
    """Compute what the majority would reach if these judges erred independently."""
    accuracy = single_accuracies(task, pool)
    return SimulatedPanel.of(accuracy, prevalence=PREVALENCE[task]).majority_accuracy()


@cache
def paper_panel(task: str, pool: str, *, lean: float = 0.0) -> SimulatedPanel:
    """The panel of Table 3's accuracies with the majority vote of Table 1.

    lean : common to all judges, towards class 1 (the response shown first).
    """
    accuracy = single_accuracies(task, pool)
    return SimulatedPanel.calibrated(
        accuracy.to_numpy(),
        cell(1, system=pool, dataset=task, method="majority-voting"),
        lean=lean,
        prevalence=PREVALENCE[task],
        judges=list(accuracy.index),
    )


@cache
def panel_of(task: str, pool: str) -> SimulatedPanel:
    """The panel of a task: Chatbot Arena's judges have a common position bias (section 6.6).

    It is the bias with which asking in both orders lifts the majority from Table 1's value to
    Table 2's, the nearest of steps of 0.05, by simulation with 60,000 samples.
    """
    if task != "ChatbotArena":
        return paper_panel(task, pool)
    wanted = cell(2, system=pool, dataset=task, method="majority-voting")
    tried: list[tuple[float, SimulatedPanel]] = []
    for lean in np.arange(0.0, 1.5, 0.05):
        panel = paper_panel(task, pool, lean=float(lean))
        drawn = panel.draw(60_000, seed=0, swapped=True)
        off = aggregate(drawn.judgements, "majority").accuracy(drawn.truth) - wanted
        tried.append((abs(off), panel))
        if off > 0:  # it only rises
            break
    return min(tried, key=lambda one: one[0])[1]


def subset_judges(name: str, task: str) -> list[str]:
    """The judges of a row of Tables 4 and 5: "without X", or names joined by commas or plus."""
    if name.startswith("without "):
        left_out = SHORT[name.removeprefix("without ").strip()]
        return [judge for judge in single_accuracies(task, "7B-8B").index if judge != left_out]
    return [SHORT[part.strip()] for part in name.replace("+", ",").split(",")]


def draw(
    task: str,
    pool: str,
    *,
    n: int,
    seed: int,
    error_visible: float = VISIBLE,
    panel: SimulatedPanel | None = None,
    swapped: bool = False,
) -> LabelledPanel:
    """N samples of the paper's panel, with a context as telling as Table 1 says.

    The best reader of the context reaches the printed accuracy of "train on majority voting".
    error_visible : how much of the judges' common error the context shows, too.
    """
    return (panel or panel_of(task, pool)).draw(
        n,
        seed=seed,
        context_accuracy=cell(1, system=pool, dataset=task, method="train-on-majority-voting"),
        error_visible=error_visible,
        swapped=swapped,
    )


# Accuracies of methods ----------------------------------------------------------------------------


def accuracies(
    panels: Sequence[LabelledPanel],
    methods: Iterable[str],
    of: Size,
    *,
    seeds: Sequence[int],
    n_dev: int = N_DEV,
) -> dict[str, list[float]]:
    """Accuracy of each method in percent on each panel, outside its development set.

    The first n_dev samples of a permutation drawn with a panel's seed are the development set of
    the methods that have one; no method is scored on them. lambda is chosen there among `LAMBDAS`,
    and is 0.05 without one.
    """
    trainings, scored = [], []
    for panel, seed in zip(panels, seeds, strict=True):
        order = np.random.default_rng([seed, 7]).permutation(len(panel))
        rows = np.sort(order[:n_dev]).tolist()
        dev = (rows, panel.truth[rows].tolist()) if n_dev else None
        trainings.append(Training(seed=seed, dev=dev, epochs=of.epochs, batch=of.batch))
        scored.append(np.sort(order[n_dev:]))
    by_method = {}
    for name in methods:
        method, regularised = METHODS[name]
        if method in WITH_CONTEXT:
            regulariser = LAMBDAS if regularised and n_dev else 0.05 * regularised
            given = [
                (panel.judgements, panel.context, replace(training, regulariser=regulariser))
                for panel, training in zip(panels, trainings, strict=True)
            ]
            results = learn(method, given)
        else:
            results = [aggregate(panel.judgements, method) for panel in panels]
        by_method[name] = [
            100 * result.accuracy(panel.truth, rows=rows)
            for panel, result, rows in zip(panels, results, scored, strict=True)
        ]
    return by_method


Case = tuple[dict[str, Any], Callable[..., LabelledPanel]]  # columns of its rows; `draw` of a seed


def compare(cases: Sequence[Case], methods: Iterable[str], settings: Settings) -> pd.DataFrame:
    """One row a case and method: mean over seeds of the accuracy, and of the gain over the vote."""
    rows: list[dict[str, Any]] = []
    names, numbers = list(methods), seeds(settings)

    def run(case: int) -> dict[str, list[float]]:
        panels = [cases[case][1](seed=seed) for seed in numbers]
        return accuracies(panels, names, size(settings), seeds=numbers)

    for case, by_method in settings.map(run, range(len(cases))).items():
        for (k, seed), method in product(enumerate(numbers), names):
            value, vote = by_method[method][k], by_method["majority-voting"][k]
            about = {"method": method, "seed": seed, "value": value, "gain": value - vote}
            rows.append(cases[case][0] | about)
    return summary(rows, [*cases[0][0], "method"], gain=("gain", "mean"), gain_sd=("gain", "std"))


def summary(rows: list[dict[str, Any]], by: list[str], **more: tuple[str, Any]) -> pd.DataFrame:
    """Mean and standard deviation over seeds of `value`."""
    grouped = pd.DataFrame(rows).groupby(by, sort=False, dropna=False)
    numbers = {"value": ("value", "mean"), "sd": ("value", "std"), "draws": ("seed", "nunique")}
    return grouped.agg(**numbers, **more).reset_index()


def result(table: pd.DataFrame, columns: str, settings: Settings, **same: object) -> pd.DataFrame:
    """The columns that every result has, behind those named; `same` is alike in every row."""
    table = table.assign(seed=settings.seed, **{"kind": "simulated", "labels": "drawn", **same})
    if "se" not in table:
        table["se"] = table["sd"] / np.sqrt(table["draws"])
    rest = ["kind", "labels", "draws", "seed", "se", "k", "selection", "attribute"]
    names = columns.split()
    return table.reindex(columns=[*names, *(c for c in rest if c not in names)], fill_value="")


# Tables -------------------------------------------------------------------------------------------


@with_networks
def table1(s: Settings) -> pd.DataFrame:
    """Eight methods, three tasks, two pools of judges."""
    cases = [_case(1, task, pool, s) for task in TASKS for pool in POOLS]
    used = {"majority-voting", "train-on-majority-voting"}
    return _cells(compare(cases, METHODS, s), used, s)


@with_networks
def table2(s: Settings) -> pd.DataFrame:
    """Chatbot Arena in both orders, and in one order on the same samples (`table` says which)."""
    cases = [_case(table, "ChatbotArena", pool, s) for pool in POOLS for table in (1, 2)]
    return _cells(compare(cases, BOTH_ORDERS, s), {"majority-voting"}, s)


def table3(s: Settings) -> pd.DataFrame:
    """Every judge alone: what the panels were calibrated on, and how far a draw scatters.

    Judges that the paper removed are not in the panels.
    """
    rows: list[dict[str, Any]] = []
    for task, pool, seed in product(TASKS, POOLS, seeds(s)):
        drawn = draw(task, pool, n=samples(task, s), seed=seed)
        about = {"table": 3, "dataset": task, "method": "single", "seed": seed}
        alone = drawn.judge_accuracy().set_index("judge")["accuracy"]
        rows += [about | {"system": judge, "value": 100 * share} for judge, share in alone.items()]
    return _cells(summary(rows, ["table", "dataset", "system", "method"]), {"single"}, s)


def _case(table: int, task: str, pool: str, s: Settings) -> Case:
    """A task and pool of Table 1 or 2, asked in one order or in both."""
    about = {"table": table, "dataset": task, "system": pool}
    return about, partial(draw, task, pool, n=samples(task, s), swapped=table == 2)


def _cells(table: pd.DataFrame, used: set[str], s: Settings) -> pd.DataFrame:
    """Rows of printed tables; methods in `used` were calibrated on."""
    ids = [
        f"skill_aggregation/table{row.table}/{row.system}/{row.dataset}/{row.method}"
        for row in table.itertuples()
    ]
    table = table.assign(
        id=ids,
        table="table" + table["table"].astype(str),
        samples=[samples(task, s) for task in table["dataset"]],
        role=np.where(table["method"].isin(used), "calibrated", "seen"),
    )
    columns = "id table system dataset method value sd se samples note role"
    return result(table, columns, s, note=NOTE)


@with_networks
def subsets(s: Settings) -> pd.DataFrame:
    """Table 4 with Figure 4 (TruthfulQA), Table 5 with 11 (Chatbot Arena): some small judges.

    `gain` is over the majority vote of the same draw; correlation and bias the whole pool's.
    """
    table = int(s.target.table.removeprefix("table"))
    task, figure = {4: ("TruthfulQA", "figure4"), 5: ("ChatbotArena", "figure11")}[table]
    n = min(size(s).subset, SAMPLES[task])
    whole = panel_of(task, "7B-8B")

    def case(name: str) -> Case:
        judges = subset_judges(name, task)
        panel = SimulatedPanel.of(
            single_accuracies(task, "7B-8B", removed=True)[judges].to_numpy(),
            correlation=whole.correlation,
            lean=float(whole.lean[0]),
            prevalence=PREVALENCE[task],
            judges=judges,
        )
        about = {"system": name, "judges": len(judges)}
        return about, partial(draw, task, "7B-8B", n=n, panel=panel)

    results = compare([case(name) for name in printed(table)["system"].unique()], SUBSETS, s)
    cells = printed(table).set_index(["system", "method"])["id"]
    ids = [
        cells.get((name, m), f"skill_aggregation/{figure}/{name}/{m}")
        for name, m in zip(results["system"], results["method"], strict=True)
    ]
    results = results.assign(id=ids, gain_se=results["gain_sd"] / np.sqrt(results["draws"]))
    columns = "id dataset system judges method value sd se gain gain_se samples role"
    return result(results, columns, s, dataset=task, samples=n, role="seen")


# Figures ------------------------------------------------------------------------------------------


@with_networks
def figure3(s: Settings) -> pd.DataFrame:
    """Figures 3, 9 and 10: slope (eq. 6) against accuracy of the small judges.

    `value` is the slope; `correlation` is Pearson's over the judges of a seed, in percent like
    the paper's, `published` what it prints.
    """
    rows: list[dict[str, Any]] = []
    of = size(s)
    for task, seed in product(TASKS, seeds(s)):
        panel = draw(task, "7B-8B", n=samples(task, s), seed=seed)
        accuracy = panel.judge_accuracy()["accuracy"]
        training = Training(seed=seed, regulariser=0.05, epochs=of.epochs, batch=of.batch)
        learning: dict[str, Any] = {"context": panel.context, "training": training}
        for method, more in (("SkillAggregation", learning), ("DawidSkene", {})):
            slope = aggregate(panel.judgements, METHODS[method][0], **more).slope
            about = {
                "dataset": task,
                "method": method,
                "seed": seed,
                "correlation": 100 * np.corrcoef(slope, accuracy)[0, 1],
                "published": CORRELATION[task],
                "samples": len(panel),
            }
            each = zip(panel.judgements.judges, slope, 100 * accuracy, strict=True)
            rows += [about | {"system": j, "value": v, "accuracy": a} for j, v, a in each]
    results = summary(
        rows,
        ["dataset", "system", "method", "published", "samples"],
        accuracy=("accuracy", "mean"),
        correlation=("correlation", "mean"),
        correlation_sd=("correlation", "std"),
    )
    columns = "panel dataset system method value sd accuracy correlation correlation_sd published"
    return result(results, columns + " samples", s, panel="figure3")


@with_networks
def figure6(s: Settings) -> pd.DataFrame:
    """Figures 6 to 8: `gain` over the majority vote, and accuracy, by number of samples `k`.

    The development set has 250 samples of its own at every size, as the paper's.
    """
    cases = [
        ({"dataset": task, "k": n, "samples": n}, partial(draw, task, "7B-8B", n=n + N_DEV))
        for task, n in product(TASKS, size(s).sizes)
    ]
    results = compare(cases, SIZES, s)
    columns = "panel dataset method value sd gain gain_sd k samples system"
    return result(results, columns, s, panel="figure6", system="7B-8B")


@with_networks
def context(s: Settings) -> pd.DataFrame:
    """Vary what Table 1 leaves open: how much of the judges' common error context shows, `k`.

    HaluEval's small judges; what Crowdlayer and the regulariser gain depends on it.
    """
    drawn = partial(draw, "HaluEval", "7B-8B", n=samples("HaluEval", s))
    cases = [({"k": k}, partial(drawn, error_visible=k)) for k in (0.0, 0.25, 0.5, 1.0)]
    results = compare(cases, CONTEXTS, s)
    columns = "panel dataset k method value sd system"
    return result(results, columns, s, panel="context", dataset="HaluEval", system="7B-8B")


def calls(s: Settings) -> pd.DataFrame:
    """Table 2's trade in calls `k`: more judges in one order, or half as many in both.

    Judges of Chatbot Arena's simulated panel with its position bias, drawn anew for each seed.
    """
    panel = panel_of("ChatbotArena", "7B-8B")
    rows = []
    for seed in range(s.seed, s.seed + 4 * len(seeds(s))):
        order = np.random.default_rng([seed, 3]).permutation(len(panel.judges))
        drawn = {
            how: panel.draw(4000, seed=seed, swapped=how == "both orders")
            for how in ("one order", "both orders")
        }
        for count, (how, given) in product((2, 4, 6, 8), drawn.items()):
            m = count if how == "one order" else count // 2
            some = given.judgements.take(judges=order[:m])
            for method in ("average", "majority", "dawid-skene")[: 3 if m > 2 else 2]:
                value = 100 * aggregate(some, method).accuracy(given.truth)
                about = {"k": count, "selection": how, "judges": m, "method": method}
                rows.append(about | {"seed": seed, "value": value})
    results = summary(rows, ["k", "selection", "judges", "method"])
    columns = "panel k selection judges method value sd system dataset"
    return result(results, columns, s, panel="calls", system="7B-8B", dataset="ChatbotArena")
