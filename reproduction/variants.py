"""Twins with one assumption changed, to see what a deviation owes to it.

A variant answers like its twin, p = sigmoid(confidence * (a (q_i - q_j) + noise)), but for what it
changes: errors that the two orders of a pair share, confidence that differs between pairs, the
shape of what is perceived, decisions taken in each call, or balanced sets of pairs. All variants
draw the same random numbers, so that two of them differ by the assumption and not by luck, and
each is set to the level of the twin as it is: what the average probability of all calls says. The
twins of data/twins.toml stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from scipy.special import expit
from scipy.stats import norm
from scipy.stats import t as student

from poe.comparisons import Floats, Indices
from poe.datasets import Source
from poe.stack import Stack
from reproduction import facts, sweep
from reproduction.bench import Bench
from reproduction.calibrate import calibrate
from reproduction.sweep import KINDS, METHODS, labels, per_context
from reproduction.twins import INTERVAL, Twin, quality_scores, stream, symmetric_stack

FULL = {"summeval": 240, "topicalchat": 30}
FEW = {"summeval": 48, "topicalchat": 18}
HARD = ("win-ratio", "BT", "PoE-g-hard")
LEVEL = {"avg-prob": METHODS["avg-prob"]}
DESIGNS = 200  # balanced sets of pairs to draw from

Values = dict[tuple[str, str], Floats]  # (draws,) by (method, kind), times 100


@dataclass(frozen=True)
class Variant:
    """What is changed.

    common : share of the variance of a call's error that the other order of the pair repeats. It
    moves the item shown first, whichever that is, so that averaging both orders removes it.
    uneven : standard deviation of the logarithm of a pair's confidence. interval : as
    `twins.INTERVAL`. tails : share of Student's t with 3 degrees of freedom in the taste.
    each_call : hard decisions are taken in each call and not on the average of the two orders.
    balanced : every item is in equally many pairs, or one more.
    """

    name: str
    common: float = 0.0
    uneven: float = 0.0
    interval: float = INTERVAL
    tails: float = 0.0
    each_call: bool = False
    balanced: bool = False


PLAIN = Variant("as calibrated")


def scored(
    judges: Iterable[Twin],
    variant: Variant,
    count: int,
    rule: str,
    *,
    source: Source,
    draws: int,
    seed: int,
    methods: Mapping[str, sweep.Method] = METHODS,
) -> Values:
    """Summary-level correlations by (method, kind), mean over the judges' attributes: (draws,)."""
    parts: dict[tuple[str, str], list[Floats]] = {}
    for judge in judges:
        gold = labels(judge.dataset, source).scores[judge.attribute]
        pairs, p = answers(judge, variant, gold, count, rule, draws=draws, seed=seed)
        n = gold.shape[-1]
        mean, calls = symmetric_stack(n, pairs, p).flattened(), Stack.of(n, pairs, p).flattened()
        for method, score in methods.items():
            stack = calls if variant.each_call and method in HARD else mean
            scores = score(stack).reshape(draws, *gold.shape)
            for kind in KINDS:
                each = 100.0 * np.nanmean(per_context(scores, gold, kind), axis=-1)
                parts.setdefault((method, kind), []).append(each)
    return {key: np.asarray(np.mean(each, axis=0)) for key, each in parts.items()}


def answers(
    judge: Twin, variant: Variant, gold: Floats, count: int, rule: str, *, draws: int, seed: int
) -> tuple[Indices, Floats]:
    """Pairs (draws, C, K, 2), each followed by its reverse, and the answers (draws, C, K)."""
    contexts, n = gold.shape
    taste, own, shared, confidence = (
        np.random.default_rng([seed, stream(judge), part]) for part in range(4)
    )
    z = quality_scores(gold, interval=variant.interval)
    e = tasted(taste.standard_normal((draws, *gold.shape)), variant.tails)
    q = judge.rho * z + np.sqrt(1.0 - judge.rho**2) * e
    logits = judge.sharpness * (q[..., :, None] - q[..., None, :])
    shape = logits.shape
    error = own.standard_normal(shape)
    if variant.common:
        both = mirrored(shared.standard_normal(shape))
        error = np.sqrt(1.0 - variant.common) * error + np.sqrt(variant.common) * both
    logits += judge.noise * error
    if variant.uneven:
        logits *= np.exp(variant.uneven * mirrored(confidence.standard_normal(shape)))
    design = np.random.default_rng([seed, stream(judge), count, 4])
    pairs = _pairs(variant, rule, count, draws * contexts, n, design)
    pairs = pairs.reshape(draws, contexts, count, 2)
    cell = pairs[..., 0] * n + pairs[..., 1]
    return pairs, expit(np.take_along_axis(logits.reshape(draws, contexts, n * n), cell, -1))


def mirrored(values: Floats) -> Floats:
    """Symmetric in the last two axes: one number a pair of items, whatever the order."""
    below = np.tril(values, -1)
    return np.asarray(below + np.swapaxes(below, -1, -2))


def tasted(normal: Floats, tails: float) -> Floats:
    """Normal quantiles mixed with those of Student's t, 3 degrees of freedom; variance one."""
    if not tails:
        return normal
    heavy = student.ppf(norm.cdf(normal), 3) / np.sqrt(3.0)
    mixed = (1.0 - tails) * normal + tails * heavy
    return np.asarray(mixed / mixed.std())


def _pairs(
    variant: Variant, rule: str, count: int, sets: int, n: int, rng: np.random.Generator
) -> Indices:
    if not variant.balanced or rule != "symmetric" or count == n * (n - 1):
        return sweep.calls(rule, count, sets, n, rng)
    designs = _balanced(n, count // 2)
    chosen = designs[rng.integers(len(designs), size=sets)]
    order = rng.permuted(np.tile(np.arange(n), (sets, 1)), axis=1)
    half = np.take_along_axis(order, chosen.reshape(sets, -1), axis=1).reshape(sets, -1, 2)
    return np.stack([half, half[..., ::-1]], axis=2).reshape(sets, count, 2)


@cache
def _balanced(n: int, count: int) -> Indices:
    """Sets of pairs in which no item is in two pairs more than another, all items linked."""
    rng = np.random.default_rng([n, count])
    found: list[Indices] = []
    while len(found) < DESIGNS:
        used, asked, pairs = np.zeros(n), np.eye(n, dtype=bool), []
        for _ in range(count):
            cost = used + rng.random(n)
            i = int(cost.argmin())
            j = int(np.where(asked[i], np.inf, cost).argmin())
            pairs.append((i, j))
            asked[i, j] = asked[j, i] = True
            used[[i, j]] += 1
        linked = np.linalg.matrix_power(asked.astype(float), n)[0].all()
        if linked and np.ptp(used) <= 1:
            found.append(np.array(pairs))
    return np.stack(found)


def levelled(
    judges: Sequence[Twin],
    variant: Variant,
    wanted: float,
    *,
    source: Source,
    draws: int,
    seed: int,
    steps: int = 2,
) -> list[Twin]:
    """The judges with all rho times one factor, for a full-set average probability as wanted."""
    found, full = list(judges), FULL[judges[0].dataset]
    for _ in range(steps):  # the level is nearly proportional to rho
        of = scored(
            found, variant, full, "symmetric", source=source, draws=draws, seed=seed, methods=LEVEL
        )
        factor = wanted / float(of["avg-prob", "spearman"].mean())
        found = [replace(judge, rho=min(judge.rho * factor, 0.999)) for judge in found]
    return found


def recalibrated(judges: Sequence[Twin], common: float, *, source: Source) -> list[Twin]:
    """Rho and noise from the same published numbers, the errors of both orders sharing a part.

    Mistral-7B has no printed accuracies and next to no noise, so nothing changes; nor does it on
    stand-in labels, from which the published numbers do not come.
    """
    found = []
    for judge in judges:
        data = labels(judge.dataset, source)
        known = judge.earlier is not None and data.source == "real"
        wanted = facts.decisions(judge.dataset, judge.judge) if known else {}
        if judge.attribute in wanted:
            bench = Bench(data.scores[judge.attribute])
            own = np.sqrt(1.0 - common) * bench.calls
            shared = np.sqrt(common) * mirrored(bench.calls[..., ::-1, ::-1])
            bench.calls = (own + shared).astype(np.float32)
            fitted = calibrate(bench, wanted[judge.attribute])
            noise = fitted.noise * judge.sharpness
            judge = replace(judge, rho=fitted.rho, noise=noise)
        found.append(judge)
    return found
