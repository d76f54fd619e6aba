"""A twin of a judge that was asked everything: how far off it is, which assumption costs most.

A twin has a few parameters: how well it reads (rho), its sharpness, its bias, the size of its
errors and how much of them the two orders of a pair share (`calibrated`, by moments). It takes for
granted that these are the same for every text. Three of its assumptions are relaxed here, one at a
time, by as much as the judge's own answers ask for:

* even confidence: contexts differ in how far its logits spread;
* one bias: every text, and every context, has its own on top (`place`);
* shared errors: the other way round, what a twin costs whose two orders err independently.

The measured numbers of the judge stand beside each. What is left when all are relaxed is due to
something else: the shape of the errors, or that people's scores are not its quality.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import log_expit

from poe.arrays import Floats
from poe.scores import average_probability
from reproduction.answers import Measured
from reproduction.measured_tables import DATASETS, Asked, group, model_of, wordings_of
from reproduction.settings import Calls, Settings
from reproduction.small import METHODS, answers, correlations, few_and_all
from reproduction.twins import Twin, labels, quality_scores

SETS = 3  # of calls in each draw of a twin
VARIANTS = {  # uneven confidence, own bias, shared errors
    "the twin": (False, False, True),
    "confidence uneven": (True, False, True),
    "bias of each text and context": (False, True, True),
    "both of these": (True, True, True),
    "orders err independently": (False, False, False),
}


@dataclass(frozen=True)
class Calibrated:
    """A twin's parameters from all answers of a judge about one attribute.

    rho : correlation of perceived with human quality. sharpness, bias, noise : logits.
    shared : correlation of the errors that the two orders of a pair make about their difference.
    """

    rho: float
    sharpness: float
    bias: float
    noise: float
    shared: float

    def twin(self, judge: str, dataset: str, attribute: str) -> Twin:
        """The twin on some attribute."""
        return Twin(
            judge,
            dataset,
            attribute,
            rho=self.rho,
            sharpness=self.sharpness,
            noise=self.noise,
            bias=self.bias,
            shared=self.shared,
        )


def calibrated(logits: Floats, z: Floats) -> Calibrated:
    """A twin's parameters by moments, from logits (C, N, N) of all calls and qualities z (C, N).

    Half the difference of a pair's two orders is a (q_i - q_j) and an error of variance
    tau^2 (1 + shared) / 2; half their sum is b and one of tau^2 (1 - shared) / 2. Of the first,
    item effects by least squares have variance a^2 plus their share of the error, and a
    covariance with z of a rho (z has variance 1 within contexts, pooled).
    """
    contexts, n = z.shape
    turned = np.swapaxes(logits, -1, -2)
    difference, place = (logits - turned) / 2.0, (logits + turned) / 2.0
    off, free = ~np.eye(n, dtype=bool), contexts * (n - 1)
    effect = np.where(off, difference, 0.0).sum(axis=-1) / n  # least squares over all pairs
    left = (difference - (effect[:, :, None] - effect[:, None, :]))[:, off]
    # Each pair stands there twice, with both signs; of its numbers N - 1 were fitted.
    of_items = float((left**2).sum() / 2.0 / (free * (n - 2) / 2.0))
    bias = float(place[:, off].mean())
    of_place = float(((place[:, off] - bias) ** 2).mean())
    spread, z_spread = (effect**2).sum() / free - of_items / n, (z**2).sum() / free
    along = float((effect * z).sum() / free / z_spread)  # a rho
    # q has variance rho^2 times that of z, plus 1 - rho^2.
    sharpness = float(np.sqrt(max(spread - along**2 * (z_spread - 1.0), along**2, 1e-12)))
    return Calibrated(
        rho=along / sharpness,
        sharpness=sharpness,
        bias=bias,
        noise=float(np.sqrt(of_items + of_place)),
        shared=(of_items - of_place) / (of_items + of_place),
    )


@dataclass(frozen=True)
class Own:
    """What a twin leaves out, as standard deviations of logits, by moments.

    confidence : of the logarithm of a context's spread, beyond what the twin's own has. text,
    context : of the bias that each adds. left : of the error about the place that remains.
    """

    confidence: float
    text: float
    context: float
    left: float


def place(sums: Floats, bias: float) -> tuple[float, float, float]:
    """Variances of the bias of a text, of a context, and of what is left: from half sums.

    sums (C, N, N) symmetric, b + beta_i + beta_j + gamma + error. Products of two pairs with one
    text in common have mean var beta + var gamma, of pairs without one var gamma.
    """
    n = sums.shape[-1]
    off = np.where(np.eye(n, dtype=bool), 0.0, sums - bias)
    square, row = (off**2).sum(axis=-1), off.sum(axis=-1)
    sharing = (row**2 - square).sum(axis=-1)
    apart = row.sum(axis=-1) ** 2 - 2.0 * square.sum(axis=-1) - 4.0 * sharing
    one = float(sharing.mean()) / (n * (n - 1) * (n - 2))
    none = float(apart.mean()) / (n * (n - 1) * (n - 2) * (n - 3))
    every = float(square.sum(axis=-1).mean()) / (n * (n - 1))
    text, context = max(one - none, 0.0), max(none, 0.0)
    return text, context, max(every - 2.0 * text - context, 0.0)


def spreads(logits: Floats) -> Floats:
    """(..., C) logarithm of how far the half differences of a context spread."""
    half = (logits - np.swapaxes(logits, -1, -2)) / 2.0
    return np.asarray(0.5 * np.log(np.nanmean(half**2, axis=(-1, -2))))


def own(logits: Floats, parameters: Calibrated, z: Floats, rng: np.random.Generator) -> Own:
    """What a judge's answers (C, N, N) have that its twin has not."""
    text, context, left = place((logits + np.swapaxes(logits, -1, -2)) / 2.0, parameters.bias)
    twins = np.array([spreads(answered(parameters, z, rng)) for _ in range(20)])
    more = float(spreads(logits).var(ddof=1) - twins.var(axis=-1, ddof=1).mean())
    sizes = (more, text, context, left)
    return Own(*(float(np.sqrt(max(size, 0.0))) for size in sizes))


def answered(
    one: Calibrated,
    z: Floats,
    rng: np.random.Generator,
    *,
    more: Own | None = None,
    uneven: bool = False,
    biased: bool = False,
    shared: bool = True,
) -> Floats:
    """Logits (C, N, N) of a twin with a fresh taste for qualities z (C, N), NaN on the diagonal.

    more : what `uneven` and `biased` add. The same numbers are drawn whatever is added, so that
    twins differ by their assumptions alone.
    """
    contexts, n = z.shape
    taste = rng.standard_normal(z.shape)
    x, y = rng.standard_normal((2, contexts, n, n))
    confidence, of_context = rng.standard_normal((2, contexts, 1, 1))
    of_text = rng.standard_normal(z.shape)
    q = one.rho * z + np.sqrt(1.0 - one.rho**2) * taste
    together = one.shared if shared else 0.0
    item = one.noise * np.sqrt((1.0 + together) / 2.0) * (x - np.swapaxes(x, -1, -2)) / np.sqrt(2.0)
    turned = (y + np.swapaxes(y, -1, -2)) / np.sqrt(2.0)
    difference = one.sharpness * (q[:, :, None] - q[:, None, :]) + item
    about_place = one.noise * np.sqrt((1.0 - together) / 2.0) * turned
    if uneven and more:
        difference = difference * np.exp(more.confidence * confidence - more.confidence**2)
    if biased and more:
        texts = more.text * (of_text[:, :, None] + of_text[:, None, :])
        about_place = more.left * turned + texts + more.context * of_context
    logits = one.bias + difference + about_place
    logits[:, np.eye(n, dtype=bool)] = np.nan
    return np.asarray(logits)


# What is read off answers ----------------------------------------------------------------------


def numbers(every: Sequence[Asked], *, draws: int, seed: Sequence[int]) -> dict[str, Floats]:
    """What is predicted, of answers that exist: (A,) values, one an attribute.

    Correlations with people's scores x 100, and shares x 100. The same code reads a twin's answers
    and the judge's own.
    """
    quantities: dict[str, list[float]] = {}

    def add(name: str, value: Any) -> None:
        quantities.setdefault(name, []).append(100.0 * float(np.nanmean(value)))

    for one in every:
        judge = Measured(one.system, one.dataset, one.attribute, p=one.p)
        at: dict[int, dict[str, float]] = {}
        few, every_call = few_and_all(one.dataset)
        for k in (few, every_call):
            calls, times = Calls(one.dataset, k, "symmetric"), 1 if k == every_call else draws
            stack = answers(judge, calls, one.gold, seed=[*seed, 24], draws=times)
            by = correlations(stack, one.gold, METHODS)
            at[k] = {name: float(np.nanmean(by[name, "spearman"])) for name in METHODS}
        for name in METHODS:
            add(f"{name}, a fifth", at[few][name])
            add(f"{name}, all calls", at[every_call][name])
        add("avg-prob, all calls - PoE-BT, a fifth", at[every_call]["avg-prob"] - at[few]["PoE-BT"])
        add(
            "win-ratio, all calls - win-ratio, a fifth",
            at[every_call]["win-ratio"] - at[few]["win-ratio"],
        )
        for better, other in (
            ("avg-prob", "win-ratio"),
            ("PoE-BT", "avg-prob"),
            ("PoE-BT", "win-ratio"),
            ("PoE-BT", "BT"),
        ):
            add(f"{better} - {other}, a fifth", at[few][better] - at[few][other])
        add("|PoE-BT - PoE-g|, a fifth", abs(at[few]["PoE-BT"] - at[few]["PoE-g"]))
        add(
            "|avg-prob - win-ratio|, all calls",
            abs(at[every_call]["avg-prob"] - at[every_call]["win-ratio"]),
        )
        words = wordings_of(one)
        add("first place preferred", words["first-position",])
        add("accuracy of one order", words["accuracy",])
        add("both orders - one, accuracy", words["averaged",] - words["accuracy",])
    return {name: np.array(values) for name, values in quantities.items()}


def of_itself(every: Sequence[Asked], *, draws: int, seed: Sequence[int]) -> dict[str, Floats]:
    """Agreement of few calls with the judge's own ranking by all calls, (A,) by name, x 100."""
    quantities: dict[str, list[float]] = {}
    for one in every:
        judge = Measured(one.system, one.dataset, one.attribute, p=one.p)
        calls = Calls(one.dataset, few_and_all(one.dataset)[0], "symmetric")
        whole = average_probability(one.all_calls()).reshape(one.gold.shape)
        stack = answers(judge, calls, one.gold, seed=[*seed, 24], draws=draws)
        for (name, _), each in correlations(stack, whole, METHODS).items():
            key = f"{name}, a fifth, with itself"
            quantities.setdefault(key, []).append(100.0 * float(np.nanmean(each)))
    return {name: np.array(values) for name, values in quantities.items()}


def sources(which: str = "qwen", dataset: str = "topicalchat") -> list[tuple[Floats, Floats]]:
    """Logits (C, N, N) and qualities (C, N) of every attribute that a judge answered in full."""
    return [
        (
            one.log_p[..., 0] - one.log_p[..., 1],
            quality_of(dataset, one.attribute, one.contexts),
        )
        for one in group(dataset, which=which)
    ]


def quality_of(dataset: str, attribute: str, contexts: Sequence[int]) -> Floats:
    """People's scores of some contexts on the scale of quality of the whole dataset."""
    return quality_scores(labels(dataset).scores[attribute])[list(contexts)]


# The target --------------------------------------------------------------------------------------


def table(settings: Settings) -> pd.DataFrame:
    """A row a dataset, twin and quantity, means over the attributes that the judge was asked about.

    value : mean over draws of the twin. sd : how one twin scatters. measured : the judge's own.
    quantity "all of these" : root mean square of the differences of the others, with `value` that
    distance and `measured` NaN. Points, or per cent.
    """
    which, rows = model_of(settings), []
    for dataset in DATASETS:
        if not (every := group(dataset, which=which)):
            continue
        real = _read(every, [settings.seed, 0], draws=20)
        variants = {name: _draws(every, settings, name) for name in VARIANTS}
        for name, values in variants.items():
            about = {
                "system": every[0].system,
                "dataset": dataset,
                "attributes": len(every),
                "contexts": len(every[0].contexts),
                "twin": name,
            }
            gap = {key: float(x.mean()) - real[key] for key, x in values.items()}
            for key, x in values.items():
                one = {"value": float(x.mean()), "sd": float(x.std(ddof=1)), "measured": real[key]}
                rows.append(about | {"quantity": key, **one, "difference": gap[key]})
            far = float(np.sqrt(np.mean(np.square(list(gap.values())))))
            rows.append(about | {"quantity": "all of these", "value": far})
    end = {"kind": "measured", "labels": "real", "draws": settings.draws, "seed": settings.seed}
    return pd.DataFrame(rows).assign(**end)


def _read(every: Sequence[Asked], seed: Sequence[int], *, draws: int) -> dict[str, float]:
    both = numbers(every, draws=draws, seed=seed) | of_itself(every, draws=draws, seed=seed)
    return {name: float(values.mean()) for name, values in both.items()}


def _draws(every: Sequence[Asked], settings: Settings, variant: str) -> dict[str, Floats]:
    uneven, biased, shared = VARIANTS[variant]
    quantities: dict[str, list[float]] = {}
    for draw in range(max(settings.draws // 4, 2)):
        made = []
        for k, one in enumerate(every):
            logits = one.log_p[..., 0] - one.log_p[..., 1]
            z = quality_of(one.dataset, one.attribute, one.contexts)
            fitted = calibrated(logits, z)
            more = own(logits, fitted, z, np.random.default_rng([settings.seed, 34, k]))
            rng = np.random.default_rng([settings.seed, 35, k, draw])
            new = answered(fitted, z, rng, more=more, uneven=uneven, biased=biased, shared=shared)
            log_p = np.stack([log_expit(new), log_expit(-new)], axis=-1)
            made.append(
                Asked(one.dataset, one.attribute, "poe", one.contexts, log_p, one.gold, one.which)
            )
        for name, value in _read(made, [settings.seed, draw], draws=SETS).items():
            quantities.setdefault(name, []).append(value)
    return {name: np.array(values) for name, values in quantities.items()}
