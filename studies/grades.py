"""Grades and comparisons in one product, at equal numbers of calls.

A grade is an expert on one score, as a comparison is one on the difference of two. An answer y_k
about a pair (log odds, mean of both orders) says s_i - s_j, and the expected mark m_i of a text
says tau m_i, so the product is the Gaussian of mode

    (W'W + lambda I) s = W'y + lambda tau m,    m less its mean in a context,   (book eq. 6.4)

lambda : how many comparisons a grade is worth. *Fixed*: lambda = 1, tau = 1. *Fitted*: both, for
each draw of calls over all contexts, where the marginal likelihood of the comparisons is largest,

    y ~ N(tau W m, sigma^2 (I + W W' / lambda)),

which needs no label. All three ways are given the same number of calls: K comparisons, or N grades
and K - N comparisons, both orders of each pair; and N grades alone beside them. *Chosen by labels*:
of grades, comparisons and the fixed product the one that agrees best with people on some twenty
labelled texts (`LABELLED` contexts), scored on all other contexts.

Declared before it was computed here. Known by then from a reader's trial on half of these answers,
K = 2N + N: -8.3 to +9.3 points against comparisons at equal calls, never above the better part.

 1. In no row of "mean" is a product, fixed or fitted, above the better of its parts by two errors.
 2. In each such row the fixed product is above the worse part.
 3. On all 88 articles grades alone are ahead of the fixed product, as they are of comparisons.
 4. Twenty labels choose at least as well as the fixed product in most rows of "mean".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import logit

from judging.metrics import spearman
from poe.arrays import Floats
from poe.stack import Stack, by_item, laplacian
from reproduction import answers
from reproduction.answers import Measured
from reproduction.measured_tables import CALLS, DATASETS, Asked, group, rows_of, with_marks
from reproduction.settings import Calls, Settings
from reproduction.small import METHODS, per_context
from reproduction.small import answers as drawn

TOTALS = {"topicalchat": (18, 24), "summeval": (48, 96)}  # calls of a context: 3N, and more
LABELLED = {"topicalchat": 3, "summeval": 1}  # contexts with 18 and 16 texts
GRID = np.geomspace(1e-2, 1e2, 25)  # where lambda is looked for
CLIP = 1e-3  # of an answer, before its log odds
PARTS = ("grades", "comparisons")


def product(stack: Stack, y: Floats, m: Floats, strength: Floats, tau: Floats) -> Floats:
    """Mode (B, N) of comparisons y (B, K) and grades m (B, N); strength and tau (B,)."""
    n = m.shape[-1]
    force = by_item(stack, y, -y) + (strength * tau)[:, None] * m
    curved = laplacian(stack, np.ones_like(y)) + strength[:, None, None] * np.eye(n)
    return np.asarray(np.linalg.solve(curved, force[..., None])[..., 0])


def fitted(stack: Stack, y: Floats, m: Floats) -> tuple[float, float]:
    """Lambda and tau of largest marginal likelihood, of all problems of a stack together.

    For each lambda tau is generalised least squares' and sigma^2 the mean square that it leaves.
    """
    w = np.zeros((*y.shape, m.shape[-1]))
    np.put_along_axis(w, stack.first[..., None], 1.0, axis=-1)
    np.put_along_axis(w, stack.second[..., None], -1.0, axis=-1)
    level, vector = np.linalg.eigh(w @ np.swapaxes(w, -1, -2))
    x, z = (np.einsum("bkl,bk->bl", vector, part) for part in (np.einsum("bkn,bn->bk", w, m), y))
    best = (np.inf, 0.0, 0.0)
    for strength in GRID:
        spread = 1.0 + np.maximum(level, 0.0) / strength
        xx, xz, zz = (float((a * b / spread).sum()) for a, b in ((x, x), (x, z), (z, z)))
        tau = max(xz / xx, 0.0)
        left = (zz - 2.0 * tau * xz + tau**2 * xx) / y.size
        best = min(best, (y.size * np.log(left) + float(np.log(spread).sum()), strength, tau))
    return best[1], best[2]


def of(one: Asked, marks: Floats, total: int, settings: Settings) -> dict[str, Floats]:
    """Agreement with people of each way, (draws, C). marks : (C, N)."""
    judge = Measured(one.system, one.dataset, one.attribute, p=one.p)
    contexts, n = one.gold.shape
    m = marks - marks.mean(axis=-1, keepdims=True)

    def calls(count: int) -> Stack:
        about = Calls(one.dataset, count, "symmetric")
        return drawn(judge, about, one.gold, seed=[settings.seed, CALLS], draws=settings.draws)

    def agreement(scores: Floats) -> Floats:
        return per_context(scores.reshape(settings.draws, contexts, n), one.gold)

    alone = agreement(METHODS["PoE-BT"](calls(total).flattened()))
    some = calls(total - n)
    stack = some.flattened()
    y = logit(np.clip(stack.p, CLIP, 1.0 - CLIP))
    of_each = np.tile(m, (settings.draws, 1))
    ones = np.ones(len(y))
    fixed = product(stack, y, of_each, ones, ones)
    draws = (slice(d * contexts, (d + 1) * contexts) for d in range(settings.draws))
    told = np.array([fitted(stack.take(own), y[own], m) for own in draws])
    strength, tau = np.repeat(told, contexts, axis=0).T
    found = {
        "grades": np.tile(per_context(m, one.gold), (settings.draws, 1)),
        "comparisons": alone,
        "fixed": agreement(fixed),
        "fitted": agreement(product(stack, y, of_each, strength, tau)),
    }
    return found | {"chosen by labels": chosen(found, LABELLED[one.dataset], settings.seed)}


def chosen(found: dict[str, Floats], labelled: int, seed: int) -> Floats:
    """(draws, C) agreement of the way that is best on some contexts, NaN on these."""
    ways = np.stack([found[name] for name in (*PARTS, "fixed")])
    rng, made = np.random.default_rng([seed, labelled]), np.empty_like(ways[0])
    for d in range(ways.shape[1]):
        known = rng.permutation(ways.shape[2])[:labelled]
        seen = np.nan_to_num(np.nanmean(ways[:, d, known], axis=-1), nan=-1.0)
        made[d] = ways[int(seen.argmax()), d]
        made[d, known] = np.nan
    return made


def differences(found: dict[str, Floats]) -> dict[tuple[str], Floats]:
    """All ways, and the products less each part."""
    every = {(name,): x for name, x in found.items()}
    for way in ("fixed", "fitted"):
        every |= {(f"{way} - {part}",): found[way] - found[part] for part in PARTS}
    return every


def _cells() -> Iterator[tuple[list[Asked], list[Floats]]]:
    """What each judge was asked both ways, attribute by attribute."""
    for which in answers.MODELS:
        for dataset in DATASETS:
            pairs = [with_marks(one) for one in group(dataset, "poe", which)]
            if kept := [pair for pair in pairs if pair is not None]:
                yield [one for one, _ in kept], [marks for _, marks in kept]


def table(settings: Settings) -> pd.DataFrame:
    """The target: a row a judge, dataset, attribute ("mean" of all), calls and way, times 100.

    way : of `PARTS`, "fixed", "fitted", "chosen by labels", a difference, or "correlation" of
    grades with the scores of all comparisons.
    """
    rows: list[dict[str, Any]] = []
    for some, marks in _cells():
        tasks = list(zip(some, marks, strict=True))
        apart = [{("correlation",): _correlation(one, mark)} for one, mark in tasks]
        for total in TOTALS[some[0].dataset]:
            found = [differences(of(one, mark, total, settings)) for one, mark in tasks]
            rows += [
                row | {"k": total}
                for each in (found, apart)
                for row in rows_of(some, each, columns=("way",))
            ]
    return pd.DataFrame(rows).drop(columns="common").assign(**settings.how("measured", "real"))


def _correlation(one: Asked, marks: Floats) -> Floats:
    """(1, C) Spearman of grades with the scores of all comparisons of a context."""
    return spearman(marks, METHODS["PoE-BT"](one.all_calls()).reshape(marks.shape))[None]
