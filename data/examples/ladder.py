"""Make texts with planted errors of ladder.toml: `python data/examples/ladder.py`.

ladder.csv has all of them; judged.csv has what Qwen2.5-Coder-1.5B said of two writers, of whom the
careful one makes no error and the careless one five.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

KINDS = ("number", "contradiction", "step", "order", "grammar", "padding")
# Of Williams' Latin square, whose other rows add 1, 2, ...: over twelve topics each kind is planted
# twice at each rung, and each comes after each other about equally often.
FIRST_ROW = (0, 1, 5, 2, 4, 3)
RUNGS = 6


def planted(topic: int) -> list[str]:
    """Kinds of error in the order in which a topic's rungs receive them; the sixth is left out."""
    return [KINDS[(kind + topic) % len(KINDS)] for kind in FIRST_ROW][: RUNGS - 1]


def text(explanation: dict[str, Any], errors: list[str]) -> str:
    """An explanation with some errors, each in a place of its own so that they do not meet."""
    sentences = dict(enumerate(explanation["sentences"]))
    if "number" in errors:
        true, false = explanation["number"]
        if true not in sentences[1]:
            raise ValueError(f"{explanation['topic']}: {true!r} is not in its second sentence")
        sentences[1] = sentences[1].replace(true, false)
    if "order" in errors:
        sentences[2], sentences[3] = sentences[3], sentences[2]
    if "step" in errors:
        del sentences[4]
    if "grammar" in errors:
        sentences[5] = explanation["grammar"]
    if "padding" in errors:
        sentences[0] += " " + explanation["padding"]
    if "contradiction" in errors:
        sentences[5] += " " + explanation["contradiction"]
    return " ".join(sentences.values())


def ladder(source: Path) -> pd.DataFrame:
    """The table, a row a text; rung counts its errors, planted names them, the oldest first."""
    rows = []
    for k, explanation in enumerate(tomllib.loads(source.read_text("utf-8"))["explanation"]):
        for rung in range(RUNGS):
            errors = planted(k)[:rung]
            rows.append(
                {
                    "id": f"{explanation['topic']}-{rung}",
                    "context": explanation["question"],
                    "rung": rung,
                    "planted": " ".join(errors),
                    "text": text(explanation, errors),
                }
            )
    return pd.DataFrame(rows)


def judged(ladder: pd.DataFrame, answers: Path) -> pd.DataFrame:
    """What a judge said of the two writers, a row a question: P(the first is better)."""
    questions = ladder["context"].unique()
    named = {0: "careful", RUNGS - 1: "careless"}
    rows = pd.read_csv(answers).query("attribute == 'explanation'")
    rows = rows[rows["first"].isin(named) & rows["second"].isin(named)]
    p = 1.0 / (1.0 + np.exp(rows["log_p_2"] - rows["log_p_1"]))
    return pd.DataFrame(
        {
            "first": rows["first"].map(named),
            "second": rows["second"].map(named),
            "prompt": questions[rows["context"]],
            "p": p.round(4),
        }
    )


if __name__ == "__main__":
    here = Path(__file__).parent
    every = ladder(here / "ladder.toml")
    said = judged(every, here.parent / "measured" / "qwen" / "ladder-poe.csv.gz")
    for name, table in (("ladder.csv", every), ("judged.csv", said)):
        table.to_csv(here / name, index=False, lineterminator="\n")
