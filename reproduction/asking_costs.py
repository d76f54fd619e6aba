"""How long each part of what a model is asked takes (`python -m reproduction.asking_costs`).

A judge on llama.cpp computes what a prompt adds to the one before it. That is counted here in
bytes, on the real texts in the order in which they are asked; a token is about `BYTES` of them,
and every prompt computes `ENDING` tokens more: of the chat's ending and the answer's beginning.
For TopicalChat and SummEval, which have been asked, `took` is within a tenth of it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import pandas as pd

from judging.judges.local import chunked
from judging.question import Question
from reproduction import ask_model

BYTES = 4.3  # of English to a token
ENDING = 6  # tokens after the question that every prompt computes
SPEED = 40.0  # tokens a second


def computed(questions: Sequence[Question]) -> float:
    """Tokens that these questions compute together, asked one after the other."""
    tokens, before = 0.0, b""
    for k in next(chunked(questions, len(questions)), []):
        text = questions[k].text.encode()
        pairs = enumerate(zip(before, text, strict=False))
        same = next((at for at, (a, b) in pairs if a != b), min(len(before), len(text)))
        tokens += (len(text) - same) / BYTES + ENDING
        before = text
    return tokens


def table(which: str = "qwen", *, speed: float = SPEED) -> pd.DataFrame:
    """One row a part: its runs, contexts, calls, tokens, minutes, and minutes of all so far.

    took : tokens that the answers of its file took, where it was asked, for as many calls. NaN
    where texts are not on this machine.
    """
    model, rows = ask_model.MODELS[which], []
    about = ask_model.about(model)["runs"]
    for runs in ask_model.together(ask_model.ASKED[which]):
        data, first = ask_model.load(runs[0].dataset), runs[0]
        contexts = ask_model.in_order(first, model)
        names = f"{first.name} to {runs[-1].template}" if len(runs) > 1 else first.name
        row: dict[str, object] = {
            "part": names,
            "attributes": len(first.attributes),
            "contexts": len(contexts),
            "calls": len(contexts) * _calls(first, data.n_candidates) * len(runs),
        }
        if data.has_texts:
            parts = [[q for run in runs for q in run.of_context(data, c)] for c in contexts]
            row["tokens"] = round(sum(map(computed, parts)))
        asked = set(ask_model.kept(first.name, model)["attribute"])
        if asked == set(first.attributes) and (known := about.get(first.name)):
            took = sum(one["computed"] for one in known) / sum(one["answers"] for one in known)
            row["took"] = round(took * float(str(row["calls"])))
        rows.append(row)
    costs = pd.DataFrame(rows)
    minutes = costs["tokens"] / speed / 60.0
    return costs.assign(minutes=minutes.round(), so_far=minutes.cumsum().round())


def _calls(run: ask_model.Run, n: int) -> int:
    single = not run.prompt(run.attributes[0]).comparative
    return len(run.attributes) * (n if single else run.calls or n * (n - 1))


if __name__ == "__main__":
    print(table(*sys.argv[1:2]).to_string(index=False))
