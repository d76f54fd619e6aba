"""Which rule of choice needs fewer calls: by lot, by the design, by the answers.

Pairs are asked one at a time, in both orders, every text linked first by a chain in a random
order (paper 3.6), and PoE-BT is fitted again after each. The next pair is drawn by lot; or has the
largest resistance R ("determinant", paper eq. 16); or the largest c R at the present scores
("laplace", paper A.6); or the least sure order, the largest Phi(-|d| / R^0.5) ("reordering",
Fathullah and Gales 2025, arXiv:2505.15240, who report about half of the comparisons saved by it).

What a rule saves is counted in calls: those after which its mean rank correlation reaches what
pairs by lot reach with two fifths of all calls, over those two fifths. Declared before it was run:
*about half* holds for a judge where that ratio is at most `HALF`, and a rule saves at all where
it is more than two standard errors below one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from zlib import crc32

import numpy as np
import pandas as pd

from poe import newton
from poe.arrays import Floats, Mask
from poe.experts import BradleyTerry
from poe.stack import Stack
from reproduction.measured_tables import group
from reproduction.sequential import RULES, scores_after
from reproduction.settings import Settings
from reproduction.small import per_context
from reproduction.twins import labels, stream, twins

HALF, REFERENCE = 0.6, 0.4
RESAMPLES = 400  # of contexts, for the error of a ratio


@dataclass(frozen=True, eq=False)
class Judged:
    """One judge: both orders' answers as one, p (C, N, N); gold (C, N), people's scores."""

    system: str
    dataset: str
    attribute: str
    kind: str
    p: Floats
    gold: Floats


def judged(settings: Settings) -> Iterator[Judged]:
    """Take judges that answered in full, and the papers' twins on an attribute of each dataset."""
    for which in ("qwen", "smollm2"):
        for dataset in ("topicalchat", "summeval"):
            for one in group(dataset, which=which):
                yield Judged(one.system, dataset, one.attribute, "measured", one.averaged, one.gold)
    for dataset, attribute in (("summeval", "coherence"), ("topicalchat", "coherency")):
        gold = labels(dataset).scores[attribute][:60]
        for (name, about), twin in twins(dataset).items():
            if about == attribute:
                rng = np.random.default_rng([settings.seed, 33, stream(twin)])
                p = twin.answer(gold, rng).matrix()
                p = (p + 1.0 - np.swapaxes(p, -1, -2)) / 2.0
                yield Judged(name, dataset, about, "simulated", p, gold)


def table(settings: Settings) -> pd.DataFrame:
    """A row a judge, rule and what its ranking is held against.

    versus : people's scores, or the judge's own ranking by all its answers. k : the reference,
    two fifths of all calls. value, se : mean rank correlation x 100 there; gain, gain_se : over
    pairs by lot, paired by context. calls : to what pairs by lot reach at k; ratio, ratio_se :
    over k.
    """
    every = list(judged(settings))
    done = settings.map(lambda k: _rows(every[k], settings), range(len(every)))
    rows = [row for part in done.values() for row in part]
    return pd.DataFrame(rows).assign(draws=settings.draws, seed=settings.seed)


def _rows(one: Judged, settings: Settings) -> list[dict[str, object]]:
    contexts, n, _ = one.p.shape
    draws = max(settings.draws // 10, 2)
    name = f"{one.system}/{one.dataset}/{one.attribute}"
    k = 2 * round(REFERENCE * n * (n - 1) / 2)
    own = newton.solve(_whole(one.p), BradleyTerry(), tol=1e-8).scores
    p = np.tile(one.p, (draws, 1, 1))
    curves: dict[tuple[str, str], Floats] = {}  # (calls, C)
    for rule in RULES:
        rng = np.random.default_rng([settings.seed, 34, crc32(f"{name}/{rule}".encode())])
        after = scores_after(p, rule, rng, most=n * (n - 1))
        steps = sorted(after)
        for versus, gold in (("people", one.gold), ("itself", own)):
            each = [per_context(after[at].reshape(draws, contexts, n), gold) for at in steps]
            curves[rule, versus] = 100.0 * np.nanmean(np.stack(each), axis=1)
    again = np.random.default_rng([settings.seed, 35]).integers(
        contexts, size=(RESAMPLES, contexts)
    )
    rows = []
    for (rule, versus), curve in curves.items():
        random, at = curves["random", versus], steps.index(k)
        gain = curve[at] - random[at]
        # Contexts in which people's scores differ.
        told = np.asarray(np.isfinite(curve).any(axis=0), dtype=bool)
        resampled = []
        for take in again:
            some = take[told[take]]
            mean = curve[:, some].mean(axis=1)
            resampled.append(calls_to(steps, mean, float(random[at][some].mean())))
        calls = calls_to(steps, np.nanmean(curve, axis=1), float(np.nanmean(random[at])))
        rows.append(
            {
                "system": one.system,
                "dataset": one.dataset,
                "attribute": one.attribute,
                "kind": one.kind,
                "labels": "real",
                "contexts": contexts,
                "texts": n,
                "rule": rule,
                "versus": versus,
                "k": k,
                "value": float(np.nanmean(curve[at])),
                "se": _error(curve[at]),
                "gain": float(np.nanmean(gain)),
                "gain_se": _error(gain),
                "calls": calls,
                "ratio": calls / k,
                "ratio_se": float(np.std(resampled, ddof=1)) / k,
            }
        )
    return rows


def _whole(p: Floats) -> Stack:
    """All pairs of every context."""
    contexts, n, _ = p.shape
    pairs = np.argwhere(np.triu(np.ones((n, n), dtype=bool), 1))
    every = np.broadcast_to(pairs, (contexts, *pairs.shape))
    return Stack.of(n, every, p[:, pairs[:, 0], pairs[:, 1]])


def calls_to(steps: list[int], curve: Floats, level: float) -> float:
    """The calls at which a curve first reaches a level, between two steps by their chord."""
    reached: Mask = curve >= level
    if not reached.any():
        return float(steps[-1])
    at = int(reached.argmax())
    if at == 0:
        return float(steps[0])
    share = (level - curve[at - 1]) / (curve[at] - curve[at - 1])
    return float(steps[at - 1] + share * (steps[at] - steps[at - 1]))


def _error(values: Floats) -> float:
    """Standard error of a mean over contexts."""
    known = values[~np.isnan(values)]
    return float(known.std(ddof=1) / np.sqrt(len(known)))
