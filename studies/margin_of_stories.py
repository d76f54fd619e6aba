"""Why soft answers win, and the theory of `studies.margin`, on HANNA: one list, and no contexts.

Qwen answered both orders of some pairs of HANNA's stories (`studies.stories`). The stories are
split into two halves by lot, again and again. Each half in turn, with the pairs inside it (those of
its largest linked part), gives the three numbers of `margin`: lean, information, c. The other gives
gain, margin and cancellation from two calls a story, both orders of as many pairs as stories, drawn
as in `margin`. An attribute's numbers are means over halves and draws.

Predicted is by the rule of `margin.theory`: linear in the three numbers, fitted to the rows of its
15 cells on dialogues and articles, here with all of their contexts. Nothing of HANNA is learnt.

Declared before any of this was computed. The theory succeeds where the root mean square error of
the gain over the attributes is at most `margin.BETTER` of that of the best constant that can be
learnt from the same rows, their mean; beside it the best constant in hindsight, HANNA's own mean.
On dialogues and articles the theory failed, with 9.5 points against 8.5, so we expect that it fails
here too (chance of success 0.3). Margin is expected above 0 for every attribute (chance 0.9), and
cancellation too (0.6). Known by then, since data/results/measured-qwen-stories.csv has it: with two
calls to all stories together margin is about 10 points for coherence. Not known were the three
numbers, gain, cancellation, and anything of halves; of the other attributes nothing was looked at.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from poe.arrays import Floats, Mask
from poe.comparisons import Comparisons
from poe.graph import component_labels
from reproduction import answers
from reproduction.settings import Settings, by_context
from reproduction.to_ask import WIDELY
from reproduction.twins import labels
from studies import margin
from studies.stories import DATASET, Answered, answered

SPLITS = 10  # at 100 draws, each in both directions; and as many draws of calls


def table(settings: Settings) -> pd.DataFrame:
    """A row an attribute and part, and one "all" a part.

    quantity : of `margin.EACH`. found, predicted : points; sd : of found over halves. constant :
    learnt, hindsight : HANNA's own mean. lean, information, c : means over halves. Of "all" found
    is missing, and predicted, constant and hindsight are root mean square errors; holds : whether
    that of predicted is at most `margin.BETTER` of that of constant.
    """
    x, y = margin.learnt(settings)
    design = np.column_stack([np.ones(len(x)), x])
    given = {a: one for a in WIDELY if (one := answered(a, answers.QWEN))}
    by_attribute = settings.map(lambda a: halves(a, given[a], settings), given)
    rows = []
    for number, quantity in enumerate(margin.EACH):
        rule = np.linalg.lstsq(design, y[:, number], rcond=None)[0]
        each = []
        for attribute, (told, parts) in by_attribute.items():
            found = parts[:, number]
            each.append(
                {
                    "attribute": attribute,
                    "quantity": quantity,
                    "found": float(found.mean()),
                    "sd": float(found.std(ddof=1)),
                    "predicted": float((rule[0] + told @ rule[1:]).mean()),
                    "constant": float(y[:, number].mean()),
                    **dict(zip(("lean", "information", "c"), told.mean(axis=0), strict=True)),
                }
            )
        here = pd.DataFrame(each)
        here["hindsight"] = here["found"].mean()
        kinds = ("predicted", "constant", "hindsight")
        error = {k: float(np.sqrt(((here[k] - here["found"]) ** 2).mean())) for k in kinds}
        holds = error["predicted"] <= margin.BETTER * error["constant"]
        rows += [*here.to_dict("records"), {"attribute": "all", "quantity": quantity, **error}]
        rows[-1]["holds"] = holds
    end = {"kind": "measured", "labels": "real", "draws": settings.draws, "seed": settings.seed}
    return pd.DataFrame(rows).assign(**end)


def halves(attribute: str, one: Answered, settings: Settings) -> tuple[Floats, Floats]:
    """The three numbers of each half, (H, 3), and its counterpart's three parts, (H, 3) points."""
    gold = labels(DATASET).scores[attribute][0][one.stories]
    times = max(settings.draws // 10, 2)
    told, parts = [], []
    for split in range(times):
        rng = np.random.default_rng([settings.seed, 47, split])
        half = np.zeros(len(gold), dtype=bool)
        half[rng.permutation(len(gold))[: len(gold) // 2]] = True
        for side, other in ((half, ~half), (~half, half)):
            here, there = (linked(one, gold, which) for which in (side, other))
            told.append(three(*here))
            parts.append([100.0 * x for x in three_parts(*there, times, rng)])
    return np.array(told), np.array(parts)


def linked(one: Answered, gold: Floats, half: Mask) -> tuple[Answered, Floats]:
    """What was said inside the largest part of some stories that pairs link, and its scores."""
    inside = half[one.pairs].all(axis=1)
    pairs, n = one.pairs[inside], len(gold)
    label = component_labels(*pairs.T, n)
    size = np.bincount(label[half])
    keep = half & (label == size.argmax())
    place = np.cumsum(keep) - 1
    here = keep[pairs].all(axis=1)
    part = Answered(one.stories[keep], place[pairs[here]], one.logits[inside][here])
    return part, gold[keep]


def three(one: Answered, gold: Floats) -> list[float]:
    """Lean, information in bits, and c."""
    calls = np.concatenate([one.pairs, one.pairs[:, ::-1]])
    logits = one.logits.T.ravel()
    asked = Comparisons.from_pairs(calls, 1.0 / (1.0 + np.exp(-logits)), items=len(gold))
    people = np.sign(gold[one.pairs[:, 0]] - gold[one.pairs[:, 1]])
    first = float(0.5 + 0.5 * np.sign(logits).mean())
    return margin.three(first, (one.logits[:, 0] - one.logits[:, 1]) / 2.0, people, [asked])


def three_parts(
    one: Answered, gold: Floats, times: int, rng: np.random.Generator
) -> Iterator[float]:
    """Gain, margin and cancellation from both orders of as many pairs as stories."""
    p, n = 1.0 / (1.0 + np.exp(-one.logits)), len(gold)
    pairs, said = [], []
    for _ in range(times):
        chosen = margin.links(one.pairs, n, n, rng)
        pairs.append(np.stack([one.pairs[chosen], one.pairs[chosen][:, ::-1]], axis=1))
        said.append(p[chosen])
    calls = np.reshape(pairs, (times, 1, 2 * n, 2))
    found = margin.split(calls, np.reshape(said, (times, 1, 2 * n)), gold[None])
    return (float(by_context(found[margin.OF, name]).mean()) for name in margin.EACH)
