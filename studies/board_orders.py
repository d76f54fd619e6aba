"""One order or both on a leaderboard, where the second order competes with another prompt.

SummEval's sixteen systems summarised the same articles, TopicalChat's six answered in the same
dialogues: each measured judge makes a leaderboard of them, contexts being prompts. K calls go to
random pairs of answers to a prompt, in an order drawn by lot, or K/2 pairs in both orders; systems'
scores are Gaussian experts' on log odds over all prompts, with a bias in the first case. Their
squared error is counted against the scores that all of the judge's answers give. There are P pairs
in all, so a sample's error about the items shrinks by 1/K - 1/P:

    one order   (1 + c) / 2 (1/K - 1/P) + (1 - c) / 2 / K
    both        (1 + c) / 2 (2/K - 1/P)

with the c of `poe.choose.orders.on_prompts`. The pilot is that of
`judging.practice.board.Tournament`.

Declared before it was run (data/targets.toml), with the limits of `studies.orders`: falsified
where measured over predicted is outside `WITHIN`, or the pilot's regret above `MOST_REGRET`. A
trial with a fifth of the draws led to a pilot whose size counts degrees of freedom, and to leaving
out what asks for more than `MAX_SHARE_OF_PAIRS` of the pairs.
"""

from __future__ import annotations

from zlib import crc32

import numpy as np
import pandas as pd
from scipy.special import logit

from poe.arrays import Floats, Indices, Mask
from poe.choose import orders
from reproduction.settings import Settings
from studies.orders import Cell, curves, measured, ratio_of_means, regrets

CALLS = (20, 60)  # a system
MAX_SHARE_OF_PAIRS = 0.8  # of all pairs, asked in one order


def table(settings: Settings) -> pd.DataFrame:
    """A row a measured judge and number of calls, columns as in `studies.orders.table`.

    units : prompts. measured_se : over draws; that of other prompts would come on top.
    """
    jobs = [(cell, k * cell.p.shape[-1]) for cell in measured() for k in CALLS]
    rows = [row(cell, k, settings) for cell, k in jobs if k <= MAX_SHARE_OF_PAIRS * pairs_of(cell)]
    return pd.DataFrame(rows).assign(draws=settings.draws, seed=settings.seed)


def pairs_of(cell: Cell) -> int:
    """Count the pairs of systems that its prompts have together."""
    prompts, n, _ = cell.p.shape
    return int(prompts * n * (n - 1) // 2)


def row(cell: Cell, calls: int, settings: Settings) -> dict[str, object]:
    """One judge's leaderboard after so many calls."""
    prompts, n, _ = cell.p.shape
    name = f"{cell.system}/{cell.dataset}/{cell.attribute}/{cell.template}"
    rng = np.random.default_rng([settings.seed, 47, calls, crc32(name.encode())])
    i, j = np.triu_indices(n, 1)
    ahead, back = (logit(x).ravel() for x in (cell.p[:, i, j], cell.p[:, j, i]))
    pairs = np.tile(np.column_stack([i, j]), (prompts, 1))
    every = on_prompts(pairs, ahead, back, n)
    everything = scores(pairs, (ahead - back) / 2.0, n)
    draws = 2 * settings.draws
    wrong = {name: np.zeros(draws) for name in ("one", "both", "pilot")}
    chose = np.zeros(draws)
    size = orders.pilot_size(calls) + n - 1
    for draw in range(draws):
        drawn, side = rng.permutation(len(pairs)), rng.random(len(pairs)) < 0.5
        once, half = drawn[:calls], drawn[: calls // 2]
        twice = drawn[:size]
        new = drawn[size : calls - size]
        made = {
            "one": in_one(pairs, ahead, back, once, side, n),
            "both": scores(pairs[half], (ahead[half] - back[half]) / 2.0, n),
        }
        chose[draw] = on_prompts(pairs[twice], ahead[twice], back[twice], n).orders == "both"
        mixed = in_one(pairs, ahead, back, new, side, n, twice=twice)
        made["pilot"] = made["both"] if chose[draw] else mixed
        for which, value in made.items():
            wrong[which][draw] = ((value - everything) ** 2).sum()
    ratio, ratio_se = ratio_of_means(wrong["one"], wrong["both"])
    curve = curves(every.c, calls, len(pairs))
    return {
        "system": cell.system,
        "dataset": cell.dataset,
        "attribute": cell.attribute,
        "template": cell.template,
        "k": calls,
        "units": prompts,
        "c": every.c,
        "c_se": every.se,
        "predicted": 1.0 / (1.0 + every.c),
        "exact": curve["one"][1][-1] / curve["both"][1][-1],
        "measured": ratio,
        "measured_se": ratio_se,
        **regrets({k: float(v.mean()) for k, v in wrong.items()}, curve),
        "chose_both": float(chose.mean()),
        "kind": cell.kind,
        "labels": "real",
    }


def on_prompts(pairs: Indices, ahead: Floats, back: Floats, n: int) -> orders.Decision:
    """One order or both, from log odds."""
    p, q = (1.0 / (1.0 + np.exp(-x)) for x in (ahead, back))
    return orders.on_prompts(pairs, p, q, n_items=n)


def in_one(
    pairs: Indices,
    ahead: Floats,
    back: Floats,
    once: Indices,
    side: Mask,
    n: int,
    *,
    twice: Indices | None = None,
) -> Floats:
    """(N,) scores with a bias from pairs asked in one order, and from some in both."""
    shown = np.where(side[once], ahead[once], -back[once])
    places = np.where(side[once], 1.0, -1.0)
    asked, said = pairs[once], shown
    if twice is not None:
        asked = np.vstack([asked, pairs[twice], pairs[twice]])
        said = np.concatenate([said, ahead[twice], -back[twice]])
        one = np.ones(len(twice))
        places = np.concatenate([places, one, -one])
    return scores(asked, said, n, places=places)


def scores(pairs: Indices, said: Floats, n: int, places: Floats | None = None) -> Floats:
    """(N,) least squares, of mean zero; places : +1 or -1 by who was shown first, for a bias."""
    design = np.zeros((len(pairs), n + (places is not None)))
    design[np.arange(len(pairs)), pairs[:, 0]] = 1.0
    design[np.arange(len(pairs)), pairs[:, 1]] = -1.0
    if places is not None:
        design[:, n] = places
    fitted = np.linalg.lstsq(design, said)[0][:n]
    return np.asarray(fitted - fitted.mean())
