"""Tables 1 to 3 of the several-judges paper on panels of ours, and what can be said of them.

The judgements of the paper's judges are not public, so no cell is the same experiment: every
verdict is "inputs differ", or "not attempted". Values are *simulated* (`poe.panel.paper` says
on what the panels are calibrated, and `calibrated` marks those cells); `recorded_results` has
LLMBar's. Rows carry the ids of the printed cells, accuracies are in percent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from poe.panel import paper
from poe.panel.interface import WITH_CONTEXT, aggregate
from poe.panel.panels import LabelledPanel
from poe.panel.settings import Training

LAMBDAS = (0.01, 0.05, 0.2)  # tried on the development set
N_DEV = 250  # section 5.4
SEEDS = (0, 1, 2, 3, 4)
Tick = Callable[[], None]  # called after every panel and seed, for a progress bar
METHODS: Mapping[str, tuple[str, bool]] = {
    "average-probability": ("average", False),
    "majority-voting": ("majority", False),
    "DawidSkene": ("dawid-skene", False),
    "train-on-majority-voting": ("train-on-majority", False),
    "Crowdlayer": ("crowdlayer", False),
    "SkillAggregation-unregularised": ("skill", False),
    "SkillAggregation": ("skill", True),
    "SkillAggregation-X": ("skill-x", True),
}
TABLE2 = (
    "average-probability",
    "majority-voting",
    "DawidSkene",
    "Crowdlayer",
    "SkillAggregation-X",
)
NOTE = "the paper's judgements are not public; simulated judges of the printed accuracies"


def nothing() -> None:
    """A tick that nobody watches."""


def accuracies(
    panel: LabelledPanel,
    *,
    methods: Sequence[str] = tuple(METHODS),
    seed: int,
    n_dev: int = N_DEV,
    epochs: int = 15,
    batch: int = 64,
    **options: Any,
) -> dict[str, float]:
    """Accuracy of each method in percent, on the samples outside the development set.

    The first n_dev samples of a permutation drawn with `seed` are the development set of the
    methods that have one; no method is scored on them. lambda is chosen there among `LAMBDAS`.
    """
    order = np.random.default_rng([seed, 7]).permutation(len(panel))
    dev, rest = np.sort(order[:n_dev]), np.sort(order[n_dev:])
    found = {}
    for name in methods:
        method, regularised = METHODS[name]
        more: dict[str, Any] = {}
        if method in WITH_CONTEXT:
            training = Training(
                seeds=(seed,),
                epochs=epochs,
                batch=batch,
                regulariser=LAMBDAS if regularised and n_dev else 0.05 * regularised,
                dev=(dev.tolist(), panel.truth[dev].tolist()) if n_dev else None,
            )
            more = {"context": panel.context, "training": training, **options}
        result = aggregate(panel.judgements, method, **more)
        found[name] = 100 * result.accuracy(panel.truth, rows=rest)
    return found


def table1(
    *,
    tasks: Sequence[str] = paper.TASKS,
    pools: Sequence[str] = ("7B-8B", "70B"),
    methods: Sequence[str] = tuple(METHODS),
    seeds: Sequence[int] = SEEDS,
    most: int = 6000,
    error_visible: float = 0.25,
    epochs: int = 15,
    batch: int = 64,
    tick: Tick = nothing,
) -> pd.DataFrame:
    """Table 1: eight methods, three tasks, two pools of judges; one row a cell.

    Each seed is another draw of the panel and another start of the network; all methods share
    the draw. most : samples at most (the paper has 5,918 to 34,297). Chatbot Arena's judges have
    the position bias that Table 2 implies. error_visible : how much of
    the judges' common error the context shows. It is not in the paper, no cell fixes it, and the
    order of the methods depends on it: see `regulariser_and_context`.
    """
    rows = []
    for task in tasks:
        for pool in pools:
            n, runs = _size(task, most), []
            for s in seeds:
                drawn = paper.draw(task, pool, n=n, seed=s, error_visible=error_visible)
                runs.append(accuracies(drawn, methods=methods, seed=s, epochs=epochs, batch=batch))
                tick()
            rows += [_row(1, pool, task, name, [run[name] for run in runs], n) for name in methods]
    used = ("majority-voting", "train-on-majority-voting")
    return _finished(rows, calibrated=used)


def table2(
    *,
    pools: Sequence[str] = ("7B-8B", "70B"),
    methods: Sequence[str] = TABLE2,
    seeds: Sequence[int] = SEEDS,
    most: int = 6000,
    error_visible: float = 0.25,
    epochs: int = 15,
    batch: int = 64,
    tick: Tick = nothing,
) -> pd.DataFrame:
    """Table 2, and Chatbot Arena's cells of Table 1 beside it, with position bias.

    The panel prefers the first response as much as the printed majority votes of both tables say.
    `table` is 1 for one order and 2 for both, on the same samples.
    """
    rows = []
    n = _size("ChatbotArena", most)
    for pool in pools:
        for table, swapped in ((1, False), (2, True)):
            runs = []
            for s in seeds:
                drawn = paper.draw(
                    "ChatbotArena",
                    pool,
                    n=n,
                    seed=s,
                    error_visible=error_visible,
                    swapped=swapped,
                )
                runs.append(accuracies(drawn, methods=methods, seed=s, epochs=epochs, batch=batch))
                tick()
            rows += [
                _row(table, pool, "ChatbotArena", name, [run[name] for run in runs], n)
                for name in methods
            ]
    return _finished(rows, calibrated=("majority-voting",))


def table3(*, seeds: Sequence[int] = SEEDS, most: int = 6000) -> pd.DataFrame:
    """Table 3: the simulated judges' accuracies, which were set to the printed ones.

    Judges that the paper removed are not in the panels: *not attempted*.
    """
    rows = []
    for task in paper.TASKS:
        n = _size(task, most)
        for pool in ("7B-8B", "70B"):
            runs = [
                paper.draw(task, pool, n=n, seed=s, error_visible=0.0)
                .judge_accuracy()
                .set_index("judge")["accuracy"]
                for s in seeds
            ]
            for judge in paper.single_accuracies(task, pool, removed=True).index:
                there = judge in runs[0].index
                values = [100 * float(run[judge]) for run in runs] if there else []
                rows.append(_row(3, str(judge), task, "single", values, n))
    frame = _finished(rows, calibrated=("single",))
    removed = frame["value"].isna()
    frame.loc[removed, "verdict"] = "not attempted"
    frame.loc[removed, "note"] = "removed by the paper as no better than guessing"
    return frame


def regulariser_and_context(
    *,
    task: str = "HaluEval",
    pool: str = "7B-8B",
    visible: Sequence[float] = (0.0, 0.25, 0.5, 1.0),
    methods: Sequence[str] = tuple(METHODS),
    seeds: Sequence[int] = SEEDS,
    most: int = 6000,
    epochs: int = 15,
    batch: int = 64,
    tick: Tick = nothing,
) -> pd.DataFrame:
    """The regulariser where the context shows the judges' common error, and where it does not.

    One row a value of error_visible, seed and method; all methods of Table 1 unless told.
    """
    rows = []
    for value in visible:
        for s in seeds:
            drawn = paper.draw(task, pool, n=_size(task, most), seed=s, error_visible=value)
            run = accuracies(drawn, methods=methods, seed=s, epochs=epochs, batch=batch)
            tick()
            for name, accuracy in run.items():
                rows.append((task, value, s, name, accuracy, "simulated"))
    return pd.DataFrame(
        rows, columns=["dataset", "error_visible", "seed", "method", "value", "evidence"]
    )


def _size(task: str, most: int) -> int:
    return min(paper.SAMPLES[task], most)


def _row(
    table: int, system: str, task: str, method: str, values: Sequence[float], n: int
) -> dict[str, Any]:
    cells = paper.printed(table)
    cells = cells[
        (cells["system"] == system) & (cells["dataset"] == task) & (cells["method"] == method)
    ]
    known = len(cells) == 1
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")
    return {
        "id": cells["id"].iloc[0] if known else "",
        "table": f"table{table}",
        "system": system,
        "dataset": task,
        "method": method,
        "value": float(np.mean(values)) if len(values) else float("nan"),
        "sd": spread,
        "se": spread / np.sqrt(max(len(values), 1)),
        "seeds": len(values),
        "samples": n,
        "published": cells["value"].iloc[0] if known else "",
        "published_number": float(cells["number"].iloc[0]) if known else float("nan"),
    }


def _finished(rows: list[dict[str, Any]], *, calibrated: Sequence[str]) -> pd.DataFrame:
    frame = pd.DataFrame(rows)
    return frame.assign(
        difference=frame["value"] - frame["published_number"],
        number=frame["value"],
        evidence="simulated",
        verdict="inputs differ",
        calibrated=frame["method"].isin(list(calibrated)),
        note=NOTE,
    )
