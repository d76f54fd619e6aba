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

Pair = tuple[Floats, Floats]  # (M, labels) shares of the labels, on a GPU and on a processor


def table(settings: Settings) -> pd.DataFrame:
    """A row a table that both answered, and "all".

    answers : that both gave. apart, most : mean and largest absolute difference of p, the share of
    the first label. shift : mean difference, GPU - processor. correlation : of the two p.
    same : share of answers, in per cent, whose likeliest label is the same.
    """
    names = sorted(path.name.split(".")[0] for path in answers.folder(PROCESSOR).glob("*.csv.gz"))
    pairs = {name: [_shares(name)] for name in names}
    pairs["all"] = [pair for one in pairs.values() for pair in one]
    end = {"system": QWEN.name, "kind": "measured", "labels": "none", "draws": 1}
    rows = [{"table": name, **_compared(some)} for name, some in pairs.items()]
    return pd.DataFrame(rows).assign(**end, seed=settings.seed)


def _compared(pairs: list[Pair]) -> dict[str, float]:
    gpu, processor = (np.concatenate([pair[k][:, 0] for pair in pairs]) for k in (0, 1))
    same = np.concatenate([here.argmax(axis=1) == there.argmax(axis=1) for here, there in pairs])
    return {
        "answers": len(gpu),
        "apart": float(np.abs(gpu - processor).mean()),
        "most": float(np.abs(gpu - processor).max()),
        "shift": float((gpu - processor).mean()),
        "correlation": float(np.corrcoef(gpu, processor)[0, 1]),
        "same": 100.0 * float(same.mean()),
    }


def _shares(name: str) -> Pair:
    """Each label's share by both engines, where both answered."""
    there = answers.kept(name, PROCESSOR)
    labels = [column for column in there if column.startswith("log_p_")]
    both = answers.kept(name, QWEN).merge(there, on=PLACES, suffixes=("", " there"))

    def shares(columns: list[str]) -> Floats:
        p = np.exp(both[columns].to_numpy(dtype=float))
        return np.asarray(p / p.sum(axis=1, keepdims=True))

    return shares(labels), shares([f"{label} there" for label in labels])
