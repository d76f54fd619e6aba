"""One judge on two machines: how far its answers on a GPU are from those on a processor.

The weights are the same file of four bits. llama.cpp multiplies them with activations of eight bits
on a processor; on a GPU they were multiplied out to bfloat16 (`reproduction.away`). What was asked
of both is compared call by call.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from poe.arrays import Floats
from reproduction import answers
from reproduction.answers import PLACES, PROCESSOR, QWEN
from reproduction.settings import Settings


def table(settings: Settings) -> pd.DataFrame:
    """A row a table that both answered, and "all".

    answers : that both gave. apart, most : mean and largest absolute difference of p, the share of
    the first label. shift : mean difference, GPU - processor. correlation : of the two p.
    same : share of answers, in per cent, whose likeliest label is the same.
    """
    both = {path.name.split(".")[0]: None for path in answers.folder(PROCESSOR).glob("*.csv.gz")}
    parts = {name: _shares(name) for name in sorted(both)}
    parts["all"] = (
        np.concatenate([p[:, 0] for p, _ in parts.values()])[:, None],
        np.concatenate([p[:, 0] for _, p in parts.values()])[:, None],
    )
    rows = []
    for name, (gpu, processor) in parts.items():
        difference = gpu[:, 0] - processor[:, 0]
        same = [here.argmax(axis=1) == there.argmax(axis=1) for here, there in _of(name, parts)]
        rows.append(
            {
                "table": name,
                "answers": len(gpu),
                "apart": float(np.abs(difference).mean()),
                "most": float(np.abs(difference).max()),
                "shift": float(difference.mean()),
                "correlation": float(np.corrcoef(gpu[:, 0], processor[:, 0])[0, 1]),
                "same": 100.0 * float(np.concatenate(same).mean()),
            }
        )
    end = {"system": QWEN.name, "kind": "measured", "labels": "none", "draws": 1}
    return pd.DataFrame(rows).assign(**end, seed=settings.seed)


def _of(name: str, parts: dict[str, tuple[Floats, Floats]]) -> list[tuple[Floats, Floats]]:
    """The shares of one table, of every table for "all"."""
    return [pair for key, pair in parts.items() if name in (key, "all") and key != "all"]


def _shares(name: str) -> tuple[Floats, Floats]:
    """(M, labels) shares of the labels in what both answered, on a GPU and on a processor."""
    there = answers.kept(name, PROCESSOR)
    labels = [column for column in there if column.startswith("log_p_")]
    both = answers.kept(name, QWEN).merge(there, on=PLACES, suffixes=("", " there"))

    def shares(columns: list[str]) -> Floats:
        p = np.exp(both[columns].to_numpy(dtype=float))
        return np.asarray(p / p.sum(axis=1, keepdims=True))

    return shares(labels), shares([f"{label} there" for label in labels])
