"""One order or both, judge by judge: what c predicts, what is measured, what a mistake costs.

Small sets of texts (SummEval, TopicalChat, simulated). A judge's answers to everything give c;
draws of calls give the squared error of all differences of scores, fitted with one bias, against
the scores that all its answers give. One order: K pairs, the order by lot. Both: K/2 pairs. Pilot:
both orders in a few contexts, `poe.choose.orders.decide` on those, and then the rest of the calls
as it says.

LLMBar has two texts a pair and no scores: there the number estimated is how often the judge is
right, and x = 0 or 1 in either order takes the place of the opinion.

Declared before it was run (data/targets.toml): falsified where measured over predicted is outside
`WITHIN`, or the pilot's regret above `MOST_REGRET`. Trials with 20 draws and other random streams
led to a pilot of few contexts in place of a pair or so in each, to regret counted in calls in place
of variance, and to means over designs in place of medians; nothing else was chosen by them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, partial
from zlib import crc32

import numpy as np
import pandas as pd

from judging.judges import recorded
from judging.simulated import SimulatedJudge
from poe import newton
from poe.arrays import Floats, Indices
from poe.choose import orders
from poe.choose.selection import select_stack
from poe.comparisons import Comparisons
from poe.experts import get_expert
from poe.stack import Stack
from reproduction import ask_model
from reproduction.measured_tables import group
from reproduction.settings import Settings
from reproduction.twins import labels, stream, twins

WITHIN, MOST_REGRET = (0.8, 1.25), 5.0
CALLS = {6: (14,), 16: (48, 96)}  # by the number of texts: where half as many pairs link them
EXPERT = "logit-gaussian"
LAW = (-0.9, -0.5, -0.2, 0.0, 0.2, 0.5, 0.9)  # c of simulated judges
SMALL = ("topicalchat", "summeval")
TEXTS, CONTEXTS, NOISE = 16, 30, 0.5  # of theirs


@dataclass(frozen=True, eq=False)
class Cell:
    """One judge: p (C, N, N), row shown first. truth : c where it was set, else NaN."""

    system: str
    dataset: str
    attribute: str
    template: str
    p: Floats
    kind: str
    truth: float = np.nan


def cells(settings: Settings) -> list[Cell]:
    """Every judge there is of small sets: measured ones, the papers' twins, simulated ones.

    A twin without noise (Mistral's) contradicts itself nowhere, so it has no c and no row.
    """
    judges = list(measured())
    for dataset, attribute in (("summeval", "coherence"), ("topicalchat", "coherency")):
        gold = labels(dataset).scores[attribute][:60]
        for (name, about), twin in twins(dataset).items():
            if about == attribute and twin.noise:
                rng = np.random.default_rng([settings.seed, 29, stream(twin)])
                p = twin.answer(gold, rng).matrix()
                judges.append(Cell(name, dataset, about, "", p, "simulated", twin.shared))
    for c in LAW:
        rng = np.random.default_rng([settings.seed, 29, round(100 * (1 + c))])
        quality = rng.standard_normal((CONTEXTS, TEXTS))
        judge = SimulatedJudge(quality, bias=0.4, noise=NOISE, shared=c, seed=rng)
        judges.append(Cell(f"c = {c:g}", "none", "", "", judge.matrix(), "simulated", c))
    return judges


def measured() -> Iterator[Cell]:
    """All pairs of small sets in data/measured, an attribute and prompt of a judge at a time."""
    for which, model in ask_model.MODELS.items():
        for path in sorted(ask_model.folder(model).glob("*.csv.gz")):
            dataset, _, template = path.name.removesuffix(".csv.gz").partition("-")
            if dataset not in SMALL or template == "g-eval":  # marks, not comparisons
                continue
            for one in group(dataset, template, which):
                if one.whole:
                    yield Cell(model.name, dataset, one.attribute, template, one.p, "measured")


def table(settings: Settings) -> pd.DataFrame:
    """A row a judge and number of calls.

    c, c_se : from all answers. predicted : 1/(1 + c). exact : with the links of the pairs and the
    number of them all. measured, measured_se : variance in one order over that in both; its error
    over contexts (LLMBar: over draws). regret_one, regret_both, regret_pilot : per cent of calls
    that the better of one and both would have saved. chose_both : share of pilots.
    """
    every = cells(settings)
    jobs = [(k, calls) for k, cell in enumerate(every) for calls in CALLS[cell.p.shape[-1]]]
    done = settings.map(lambda job: row(every[job[0]], job[1], settings), jobs)
    rows = [*done.values(), *llmbar(settings)]
    return pd.DataFrame(rows).assign(draws=settings.draws, seed=settings.seed)


# Small sets -------------------------------------------------------------------------------------


def row(cell: Cell, calls: int, settings: Settings) -> dict[str, object]:
    """One cell at so many calls of each context."""
    contexts, n, _ = cell.p.shape
    name = f"{cell.system}/{cell.attribute}/{cell.template}"
    rng = np.random.default_rng([settings.seed, 32, calls, crc32(name.encode())])
    draws = max(settings.draws // 5, 4)
    correlation = _correlation(cell.p)
    target = all_answers(cell.p)
    error = {"one": np.zeros((draws, contexts)), "both": np.zeros((draws, contexts))}
    pilot, chose = np.zeros((draws, contexts)), np.zeros(draws)
    for draw in range(draws):
        one = select_stack(contexts, n, calls, rule="no-repeat", seed=rng)
        half = select_stack(contexts, n, calls // 2, rule="no-repeat", seed=rng)
        both = np.concatenate([half, half[..., ::-1]], axis=1)
        error["one"][draw] = squared(_scores(cell.p, one), target)
        error["both"][draw] = squared(_scores(cell.p, both), target)
        decision, left = _pilot(cell.p, half, calls, rng)
        chose[draw] = decision == "both"
        again = error["both"][draw]
        pilot[draw] = again if decision == "both" else squared(left, target)
    mean = {name: x.mean(axis=0) for name, x in error.items()} | {"pilot": pilot.mean(axis=0)}
    links = _links(n, calls)
    exact = orders.predicted_ratio(correlation.c, *links, everything=2.0 / n)
    ratio, ratio_se = ratio_of_means(mean["one"], mean["both"])
    return {
        "system": cell.system,
        "dataset": cell.dataset,
        "attribute": cell.attribute,
        "template": cell.template,
        "quantity": "scores",
        "k": calls,
        "units": contexts,
        "c_set": cell.truth,
        "c": correlation.c,
        "c_se": correlation.se,
        "predicted": 1.0 / (1.0 + correlation.c),
        "exact": exact,
        "measured": ratio,
        "measured_se": ratio_se,
        **regrets(
            {name: float(x.mean()) for name, x in mean.items()}, _curve(n, calls, correlation.c)
        ),
        "chose_both": float(chose.mean()),
        "kind": cell.kind,
        "labels": "none" if cell.dataset == "none" else "real",
    }


def again(settings: Settings) -> pd.DataFrame:
    """The law's rows of one judge and six texts once more, with many draws of calls and no pilot.

    In `table` the ratio of a row comes from 20 draws, and one of them fell outside of `WITHIN`: how
    much of that was the luck of the draw? A row an attribute and prompt. c, exact, measured,
    measured_se : as in `table`. draw_se : Monte Carlo error of measured, a jackknife over draws.
    """
    which = ask_model.MODELS[str(settings.target.options["model"])].name
    every = [cell for cell in measured() if cell.system == which and cell.p.shape[-1] == 6]
    work = partial(_again, settings=settings)
    rows = [*settings.map(work, every).values()]
    return pd.DataFrame(rows).assign(**settings.how("measured", "real"))


def _again(cell: Cell, settings: Settings) -> dict[str, object]:
    contexts, n, _ = cell.p.shape
    (calls,) = CALLS[n]
    name = f"{cell.system}/{cell.attribute}/{cell.template}"
    rng = np.random.default_rng([settings.seed, 35, calls, crc32(name.encode())])
    target, parts = all_answers(cell.p), []
    for draws in np.diff([*range(0, settings.draws, 100), settings.draws]):
        p, truth = np.tile(cell.p, (draws, 1, 1)), np.tile(target, (draws, 1))
        one, half = (
            select_stack(len(p), n, count, rule="no-repeat", seed=rng)
            for count in (calls, calls // 2)
        )
        both = np.concatenate([half, half[..., ::-1]], axis=1)
        error = [squared(_scores(p, pairs), truth) for pairs in (one, both)]
        parts.append(np.reshape(error, (2, draws, contexts)))
    one, both = np.concatenate(parts, axis=1)
    ratio, se = ratio_of_means(one.mean(axis=0), both.mean(axis=0))
    c = _correlation(cell.p).c
    return {
        "system": cell.system,
        "dataset": cell.dataset,
        "attribute": cell.attribute,
        "template": cell.template,
        "k": calls,
        "units": contexts,
        "c": c,
        "exact": orders.predicted_ratio(c, *_links(n, calls), everything=2.0 / n),
        "measured": ratio,
        "measured_se": se,
        "draw_se": ratio_of_means(one.mean(axis=1), both.mean(axis=1))[1],
    }


def _correlation(p: Floats) -> orders.Correlation:
    """C of a judge from all that it answered, p (C, N, N)."""
    n = p.shape[-1]
    every = all_pairs(n)
    return orders.correlation(
        [Comparisons.from_pairs(every, one[tuple(every.T)], items=n) for one in p]
    )


def all_answers(p: Floats) -> Floats:
    """(C, N) scores from everything that a judge answered, p (C, N, N) with the row shown first."""
    pairs = all_pairs(p.shape[-1])
    return _scores(p, np.broadcast_to(pairs, (len(p), *pairs.shape)))


def all_pairs(n: int) -> Indices:
    """(N (N - 1), 2) all pairs in both orders."""
    return np.argwhere(~np.eye(n, dtype=bool))


def _scores(p: Floats, pairs: Indices) -> Floats:
    """(C, N) fitted to the calls (C, K, 2) of each context, a bias with them."""
    answers = p[np.arange(len(p))[:, None], pairs[..., 0], pairs[..., 1]]
    stack = Stack.of(p.shape[-1], pairs, answers)
    return newton.solve(stack, get_expert(EXPERT), fit_bias=True).scores


def squared(scores: Floats, target: Floats) -> Floats:
    """(C,) mean squared error of all differences: twice the scores' own, they have mean zero."""
    n = scores.shape[-1]
    return np.asarray(2.0 * ((scores - target) ** 2).sum(axis=-1) / (n - 1))


def _pilot(p: Floats, half: Indices, calls: int, rng: np.random.Generator) -> tuple[str, Floats]:
    """What a pilot decides, and the scores (C, N) where that is one order.

    In a few contexts all K/2 pairs are asked in both orders. The calls that are left when one order
    is chosen go to new pairs, so that all contexts have equally many pairs.
    """
    contexts, n = len(p), p.shape[-1]
    size = orders.pilot_size(calls * contexts)
    tried = rng.permutation(contexts)[: -(-size // (calls // 2))]
    again = half[tried][..., ::-1]
    asked = [
        Comparisons.from_pairs(x := np.vstack([one, other]), p[k][tuple(x.T)], items=n)
        for k, one, other in zip(tried, half[tried], again, strict=True)
    ]
    each = calls - len(tried) * (calls // 2) / contexts  # pairs of a context
    most, scores = rng.random(contexts) < each % 1.0, np.zeros(p.shape[:2])
    for k in range(contexts):
        known = {(min(x), max(x)) for x in half[k].tolist()}
        new = np.array([x for x in zip(*np.triu_indices(n, 1), strict=True) if x not in known])
        new = new[rng.permutation(len(new))[: int(each) + most[k] - len(half[k])]]
        new = np.where(rng.random(len(new))[:, None] < 0.5, new, new[:, ::-1])
        whole = [half[k], new, *([half[k][:, ::-1]] if k in tried else [])]
        scores[k] = _scores(p[k : k + 1], np.vstack(whole)[None])[0]
    return orders.decide(asked, calls=calls, expert=EXPERT).orders, scores


def ratio_of_means(one: Floats, both: Floats) -> tuple[float, float]:
    """Ratio of means over contexts, and its error by a jackknife over them."""
    m = len(one)
    each = (one.sum() - one) / (both.sum() - both)
    return float(one.sum() / both.sum()), float(
        np.sqrt((m - 1) / m * ((each - each.mean()) ** 2).sum())
    )


Curve = dict[str, tuple[Floats, Floats]]  # calls, fewest first, and the variance that they leave


@cache
def _links(n: int, calls: int) -> tuple[float, float]:
    return orders.resistances(n, calls)


def _curve(n: int, calls: int, c: float) -> Curve:
    """How the variance falls with calls in one order and in both, by the derivation."""
    items, everything = (1.0 + c) / 2.0, 2.0 / n
    points: dict[str, list[tuple[float, float]]] = {"one": [], "both": []}
    for k in range(n, calls + 1, 2):
        one, both = _links(n, k)
        for name, left in (
            ("one", one - items * everything),
            ("both", items * (both - everything)),
        ):
            if np.isfinite(left):
                points[name].append((k, left))
    return {name: (x[:, 0], x[:, 1]) for name, each in points.items() for x in [np.array(each)]}


def regrets(wrong: dict[str, float], curve: Curve) -> dict[str, float]:
    """Per cent of calls with which the better of one and both would have done as well.

    At least so many, where even the fewest calls that link all texts would have done better.
    """
    best = min(("one", "both"), key=wrong.__getitem__)
    calls, left = curve[best]
    regrets = {}
    for name, value in wrong.items():
        # Log of the variance against log of the calls, which is a line where both are many.
        enough = np.interp(-np.log(value / wrong[best] * left[-1]), -np.log(left), np.log(calls))
        regrets[f"regret_{name}"] = (
            round(100.0 * (1.0 - float(np.exp(enough)) / calls[-1]), 6) + 0.0
        )
    return regrets


# LLMBar -----------------------------------------------------------------------------------------


def llmbar(settings: Settings) -> Iterator[dict[str, object]]:
    """Count how often a judge is right: K pairs in an order by lot, or K/2 in both orders."""
    verdicts = recorded.llmbar()
    plain = verdicts[(verdicts["strategy"] == "Vanilla") & (verdicts["set"] != "MT-Bench")]
    plain = plain.assign(natural=plain["set"] == "Natural")
    right = np.where(plain["first"] == plain["label"], plain["p"], 1.0 - plain["p"])
    wide = (
        plain.assign(right=right)
        .pivot(index=["natural", "judge", "set", "item"], columns="first", values="right")
        .dropna()
    )
    for (natural, judge), part in wide.groupby(level=["natural", "judge"], sort=True):
        x = part.to_numpy(dtype=float)
        yield _mean_row(str(judge), "natural" if natural else "adversarial", x, settings)


def _mean_row(system: str, name: str, x: Floats, settings: Settings) -> dict[str, object]:
    """From x (P, 2), right or not by the order shown."""
    pairs = len(x)
    calls = 2 * (pairs // 4)
    c, error = agreement(x)
    rng = np.random.default_rng([settings.seed, 33, pairs, crc32(system.encode())])
    draws, size = 40 * settings.draws, orders.pilot_size(calls)
    order = rng.permuted(np.tile(np.arange(pairs), (draws, 1)), axis=1)
    side = rng.integers(2, size=(draws, pairs))
    once = x[order, side]
    means = x.mean(axis=1)
    both = means[order[:, : calls // 2]].mean(axis=1)
    one = once[:, :calls].mean(axis=1)
    doubled = x[order[:, :size]]  # of the first half, in both orders
    chosen = np.array([agreement(each)[0] for each in doubled[: settings.draws * 4]]) < 0.0
    # Each pair once, but those of the pilot twice: the mean over pairs.
    fewer = np.concatenate([means[order[:, :size]], once[:, size : calls - size]], axis=1)
    some = len(chosen)
    piloted = np.where(chosen, both[:some], fewer.mean(axis=1)[:some])
    truth = means.mean()
    wrong = {k: (v - truth) ** 2 for k, v in (("one", one), ("both", both), ("pilot", piloted))}
    ratio = wrong["one"].mean() / wrong["both"].mean()
    relative = [wrong[k].std() / wrong[k].mean() / np.sqrt(draws) for k in ("one", "both")]
    curve = curves(c, calls, pairs)
    exact = curve["one"][1][-1] / curve["both"][1][-1]
    return {
        "system": system,
        "dataset": "llmbar",
        "attribute": name,
        "template": "Vanilla",
        "quantity": "share right",
        "k": calls,
        "units": pairs,
        "c_set": np.nan,
        "c": c,
        "c_se": error,
        "predicted": 1.0 / (1.0 + c),
        "exact": exact,
        "measured": ratio,
        "measured_se": ratio * float(np.hypot(*relative)),
        **regrets({k: float(v.mean()) for k, v in wrong.items()}, curve),
        "chose_both": float(chosen.mean()),
        "kind": "recorded",
        "labels": "real",
    }


def curves(c: float, calls: int, pairs: int) -> Curve:
    """Compute how a mean's variance falls with calls in one order and in both, in its own units."""
    items, place = (1.0 + c) / 2.0, (1.0 - c) / 2.0
    asked = np.arange(2.0, calls + 1.0, 2.0)
    return {
        "one": (asked, items * (1.0 / asked - 1.0 / pairs) + place / asked),
        "both": (asked, items * (2.0 / asked - 1.0 / pairs)),
    }


def agreement(x: Floats) -> tuple[float, float]:
    """The c of two columns whose order is a matter of chance, and its error by a jackknife."""
    m = len(x)
    product, square, both = x[:, 0] * x[:, 1], (x**2).sum(axis=1), x.sum(axis=1)
    without = np.arange(m + 1) - 1  # no pair, and then each in its turn
    count = np.where(without < 0, m, m - 1)

    def mean(of: Floats) -> Floats:
        return np.asarray((of.sum() - np.where(without < 0, 0.0, of[without])) / count)

    centre = mean(both) / 2.0
    spread = mean(square) / 2.0 - centre**2
    c = (mean(product) - centre**2) / np.where(spread > 1e-12, spread, np.inf)
    return float(c[0]), float(np.sqrt((m - 1) * c[1:].var()))
