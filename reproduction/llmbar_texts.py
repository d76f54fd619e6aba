"""LLMBar's pairs as a dataset: 885 contexts of two texts, so that a judge is asked as about others.

What both outputs answer to is the context; people's score is 1 for the better output and 0 for the
other. The pairs are those of `data/labels/llmbar.csv.gz`, in its order.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from judging import datasets
from judging.datasets import Dataset
from judging.datasets.dataset import table
from judging.datasets.files import info
from judging.datasets.originals import Content
from judging.judges import recorded

ATTRIBUTE = "instruction"
OUTPUTS = ("output-1", "output-2")


@cache
def load(name: str) -> Dataset:
    """A dataset of `judging.datasets`, or "llmbar"."""
    return _llmbar() if name == "llmbar" else datasets.load(name)


def sets() -> list[str]:
    """The set that each context is from: "Natural", "Adversarial-Manual" and so on."""
    return [str(name) for name in table("llmbar.csv.gz")["set"]]


def _llmbar() -> Dataset:
    rows = table("llmbar.csv.gz")[["set", "item", "label"]]
    contexts = tuple(f"{one.set}/{one.item}" for one in rows.itertuples())
    better = rows["label"].astype(int).to_numpy()
    scores = {ATTRIBUTE: np.column_stack([better == 1, better == 2]).astype(float)}

    def read() -> Content:
        pairs = recorded.llmbar_pairs()
        texts = tuple(zip(pairs["output_1"], pairs["output_2"], strict=True))
        about = dict(zip(contexts, pairs["input"], strict=True))
        return Content(about, OUTPUTS, texts, scores)

    return Dataset(info("llmbar"), contexts, OUTPUTS, scores, read)
