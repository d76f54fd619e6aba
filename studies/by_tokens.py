"""What a budget of computed tokens buys of a measured judge: few texts first, all, or both orders.

SummEval, sixteen summaries of an article. A call costs what `lengths` finds in data/measured: the
article once, a summary whenever it comes first for the first time, the second summary and the
question every time. Budgets are those of a regular graph of K calls in one order. Every way to
spend one (`studies.tokens`) asks the same judge; scores are Gaussian experts' on log odds.
Their bias is fitted, but where few texts come first, which tells it badly, it is what the answers
of all contexts say on average; such a design is tried with a fitted bias as well, where it tells
one. The error is the mean square of all differences of scores against those from all of the judge's
answers.

Declared before it was run. That few texts first pay is falsified at a budget where the regular
graph, or both orders, leaves the smaller error at equal tokens.
"""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Any
from zlib import crc32

import numpy as np
import pandas as pd

from poe import newton
from poe.arrays import Floats, Indices
from poe.choose import orders
from poe.choose.designs import both_orders_of, regular
from poe.comparisons import Comparisons
from poe.experts import get_expert, log_odds
from poe.stack import Stack
from reproduction import ask_model
from reproduction.measured_tables import Asked, group
from reproduction.settings import Settings
from studies.orders import EXPERT, all_answers, all_pairs, ratio_of_means, squared
from studies.tokens import Spending, Tokens, bias_told, few_first, spread

CALLS = (16, 20, 24, 32, 48, 96)  # of a regular graph, whose tokens are a budget
FIRSTS = (1, 2, 3, 5, 8, 11, 16)
TEXTS = 16


@cache
def lengths() -> Tokens:
    """Tokens of a SummEval prompt, by least squares from what all runs read and computed.

    A prompt has a + 2 b + q tokens, and all prompts of an article, shared, a + N^2 b + N (N - 1) G
    q, for G attributes at once; c is b + q. G is 4 in the one run that computed less than half of
    what the others did for an answer.
    """
    rows, counts, calls = [], [], TEXTS * (TEXTS - 1)
    for model in ask_model.MODELS.values():
        runs = ask_model.about(model)["runs"]["summeval-poe"]
        most = max(run["computed"] / run["answers"] for run in runs)
        for run in runs:
            several = 4 if run["computed"] / run["answers"] < most / 2 else 1
            articles = run["answers"] / (several * calls)
            size = np.sqrt(articles)
            rows.append(size * np.array([1.0, 2.0, 1.0]))
            counts.append(size * run["tokens"] / run["answers"])
            rows.append(size / calls * np.array([1.0, TEXTS**2, calls * several]))
            counts.append(size / calls * run["computed"] / articles)
    shared, text, question = np.linalg.lstsq(np.array(rows), np.array(counts), rcond=None)[0]
    return Tokens(float(shared), float(text), float(text + question))


def ways(budget: float, tokens: Tokens) -> list[Spending]:
    """List the ways to spend some tokens on an article."""
    spendings = []
    for which, firsts in (*(("one", h) for h in FIRSTS), ("both", TEXTS)):
        each = 2 if which == "both" else 1
        most = firsts * (TEXTS - 1) - firsts * (firsts - 1) // 2
        left = budget - tokens.computed(firsts, 0) + 1e-6  # of rounding
        pairs = int(min(left // (each * tokens.second), most))
        if pairs >= TEXTS - 1:
            calls = each * pairs
            spent = tokens.computed(firsts, calls)
            spendings.append(Spending("both" if each == 2 else "one", firsts, calls, spent))
    return spendings


def designs(way: Spending, sets: int, rng: np.random.Generator) -> Indices:
    """(sets, calls, 2)."""
    if way.firsts < TEXTS:
        return few_first(sets, TEXTS, way.calls, way.firsts, seed=rng)
    calls = way.calls // (1 + (way.orders == "both"))
    pairs = np.stack([regular(TEXTS, calls, seed=rng) for _ in range(sets)])
    return both_orders_of(pairs) if way.orders == "both" else pairs


def table(settings: Settings) -> pd.DataFrame:
    """A row a judge, attribute, budget and way.

    k : calls of the regular graph whose tokens are the budget. error : mean square of a difference,
    in log odds. ratio, ratio_se : over that of the regular graph, and its error over contexts.
    fitted : the same with the bias of each article fitted, NaN where a design leaves it open, as a
    star does. predicted : `ratio` by `spread`. c, lean : what that is told of the judge.
    """
    every = [one for which in ask_model.MODELS for one in group("summeval", "poe", which)]
    lean = settings.map(lambda k: leaning(every[k].p), range(len(every)))
    done = settings.map(
        lambda job: judged(every[job[0]], job[1], settings, lean[job[0]]),
        product(range(len(every)), CALLS),
    )
    rows = [row for own in done.values() for row in own]
    return pd.DataFrame(rows).assign(**settings.how("measured", "none"))


def judged(
    one: Asked, k: int, settings: Settings, lean_of: tuple[float, float]
) -> list[dict[str, object]]:
    """All ways to spend one budget on one attribute, of whose judge `leaning` says `lean_of`."""
    contexts, tokens = len(one.p), lengths()
    rng = np.random.default_rng(
        [settings.seed, 35, k, crc32(f"{one.system}/{one.attribute}".encode())]
    )
    answers = one.p
    target, (c, lean) = all_answers(answers), lean_of
    spendings, expert = ways(tokens.computed(TEXTS, k), tokens), get_expert(EXPERT)
    error: dict[tuple[Spending, str], Floats] = {}
    usual = next(way for way in spendings if (way.orders, way.firsts) == ("one", TEXTS))
    how = {way: "fitted" if way.firsts == TEXTS else "pooled" for way in spendings}
    known, draws = {}, max(settings.draws // 5, 4)
    for way in spendings:
        pairs = designs(way, draws * contexts, rng)
        p = np.tile(answers, (draws, 1, 1))[
            np.arange(draws * contexts)[:, None], pairs[..., 0], pairs[..., 1]
        ]
        stack = Stack.of(TEXTS, pairs, p)

        def found(**bias: Any) -> Floats:
            """Mean over draws, (C,)."""
            scores = newton.solve(stack, expert, **bias).scores  # noqa: B023
            return squared(scores, np.tile(target, (draws, 1))).reshape(draws, -1).mean(axis=0)

        if how[way] == "pooled":
            each = -log_odds(p).reshape(draws, -1).mean(axis=1)
            error[way, "pooled"] = found(bias=np.repeat(each, contexts))
        told = bias_told(TEXTS, pairs).all()  # or else a design leaves the bias open
        error[way, "fitted"] = found(fit_bias=True) if told else np.full(contexts, np.nan)
        both = way.orders == "both"
        known[way] = (0.5 * (1.0 + c) if both else 1.0) * np.mean(
            [
                spread(
                    TEXTS,
                    one[:: 1 + both],
                    lean=0.0 if both else lean,
                    bias_known=both or how[way] == "pooled",
                )
                for one in pairs[::contexts]
            ]
        )
    rows = []
    for way in spendings:
        here = error[way, how[way]]
        ratio, ratio_se = ratio_of_means(here, error[usual, "fitted"])
        rows.append(
            {
                "system": one.system,
                "attribute": one.attribute,
                "contexts": contexts,
                "k": k,
                "orders": way.orders,
                "firsts": way.firsts,
                "calls": way.calls,
                "tokens": way.tokens,
                "error": float(here.mean()),
                "ratio": ratio,
                "ratio_se": ratio_se,
                "fitted": ratio_of_means(error[way, "fitted"], error[usual, "fitted"])[0],
                "predicted": known[way] / known[usual],
                "c": c,
                "lean": lean,
            }
        )
    return rows


def leaning(p: Floats) -> tuple[float, float]:
    """The c of a judge, and the share of an answer's error that is its two texts' position bias.

    Half the sum of both orders' log odds is the bias, t_i + t_j and an error about the place: a
    fit of the t in every context leaves the last, and the variance of t is that of its estimates
    without what the error brings to them.
    """
    n = p.shape[-1]
    pairs = all_pairs(n)
    correlation = orders.correlation(
        [Comparisons.from_pairs(pairs, x[tuple(pairs.T)], items=n) for x in p]
    )
    y = log_odds(np.where(np.isnan(p), 0.5, p))
    half = 0.5 * (y + np.swapaxes(y, 1, 2))
    i, j = np.triu_indices(n, 1)
    shown = np.zeros((len(i), n))
    shown[np.arange(len(i)), i] = shown[np.arange(len(i)), j] = 1.0
    own = half[:, i, j] @ np.linalg.pinv(shown).T
    place = ((half[:, i, j] - own @ shown.T) ** 2).sum(axis=1) / (len(i) - n)
    variance = own.var(axis=1, ddof=1) - place / (n - 2)
    return correlation.c, float(2.0 * variance.mean() / correlation.variance)
