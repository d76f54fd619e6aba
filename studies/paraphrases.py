"""Is a second answer better in the other order or in other words? See book chapters 2 and 9.

A judge answered every call about some contexts under W paraphrases of one question. Let x(w) be
the logit for text i over j when i is shown first, y(w) when j is. Their mean and half-difference

    a(w) = (x(w) + y(w)) / 2,     b(w) = (x(w) - y(w)) / 2

are what the words w make of the pair, and what they make of its order. Each has a part that all
words share and one of its own: var a = P + p, var b = Q + q, once the mean of b under each
wording, its first-position bias, is taken off. Against P, what the judge says of the pair
whatever the words, a call errs by the other three; the errors of two calls about the pair, each
with its sign, correlate by

    the same order, other words     Q / (p + Q + q)
    the other order, the same words (p - Q - q) / (p + Q + q)
    both other                      -Q / (p + Q + q)

and a second answer makes the information 2 / (1 + c) times as large, twice where the errors are
independent. Products of two wordings estimate P and Q without bias, see `parts`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd

from poe.arrays import Floats, Indices
from poe.stack import Stack, by_item
from reproduction.answers import PARAPHRASES
from reproduction.measured_tables import asked, model_of
from reproduction.settings import Settings, bootstrap_se
from reproduction.small import per_context

DATASET, ATTRIBUTE = "topicalchat", "coherency"
NONE, WORDS, ORDER, BOTH, ALL = (
    "none",
    "the same order, other words",
    "the other order, the same words",
    "the other order, other words",
    "both orders in all words",
)


def table(settings: Settings) -> pd.DataFrame:
    """A row a way to ask a second time, quantity and attribute; no row where nothing was asked.

    second : of each pair what is asked beside one order under one wording, both drawn by chance.
    calls : in a context. quantity : "c" of the two errors; "information", predicted from it, of
    two answers over one; "people", Spearman with people's scores of the mean logit, and "itself",
    with what all calls give, times 100. se : over contexts, those of c and information from
    leaving one out.
    """
    which = model_of(settings)
    every = [asked(DATASET, ATTRIBUTE, f"paraphrase-{w}", which) for w in PARAPHRASES]
    there = [one for one in every if one is not None]
    end = {"kind": "measured", "labels": "real", "draws": settings.draws, "seed": settings.seed}
    if len(there) < len(every):
        return pd.DataFrame().assign(**end)
    common = sorted(set.intersection(*(set(one.contexts) for one in there)))
    logits = np.stack(
        [
            (one.log_p[..., 0] - one.log_p[..., 1])[[one.contexts.index(c) for c in common]]
            for one in there
        ]
    )
    gold = there[0].gold[[there[0].contexts.index(c) for c in common]]
    rows = pd.DataFrame(rows_of(logits, gold, settings))
    about = {"system": there[0].system, "dataset": DATASET, "attribute": ATTRIBUTE}
    rows = rows.assign(**about, contexts=len(common), **end)
    first = [*about, "contexts"]
    return rows[[*first, *(name for name in rows if name not in first)]]


def halves(logits: Floats) -> tuple[Floats, Floats, Indices]:
    """From logits (W, C, N, N), row shown first: a and b, (W, C, P), and the pairs i < j, (2, P).

    b has its mean under each wording, over all contexts, taken off.
    """
    i, j = np.triu_indices(logits.shape[-1], 1)
    x, y = logits[..., i, j], -logits[..., j, i]  # both for i over j
    b = (x - y) / 2.0
    return (x + y) / 2.0, b - b.mean(axis=(1, 2), keepdims=True), np.stack([i, j])


def parts(a: Floats, b: Floats) -> dict[str, float]:
    """P, p, Q, q of the text above from a and b (W, C, P).

    A mean over products of two different wordings has nothing of either's own part. The sign of
    a is that of the pair's names, so its mean is 0 by symmetry and none is taken off.
    """

    def shared(x: Floats) -> tuple[float, float]:
        w = len(x)
        own = float((x**2).mean())
        cross = (w * float((x.mean(axis=0) ** 2).mean()) - own) / (w - 1)
        return cross, own - cross

    (P, p), (Q, q) = shared(a), shared(b)
    return {"P": P, "p": p, "Q": Q, "q": q}


def correlations(part: Mapping[str, float]) -> dict[str, float]:
    """C of two errors by what is asked second."""
    error = part["p"] + part["Q"] + part["q"]
    return {
        WORDS: part["Q"] / error,
        ORDER: (part["p"] - part["Q"] - part["q"]) / error,
        BOTH: -part["Q"] / error,
    }


def rows_of(logits: Floats, gold: Floats, settings: Settings) -> Iterator[dict[str, object]]:
    """The rows of `table` without what the answers are about."""
    a, b, pairs = halves(logits)
    contexts = logits.shape[1]
    whole = correlations(parts(a, b))
    without = [
        correlations(parts(*(np.delete(x, c, axis=1) for x in (a, b)))) for c in range(contexts)
    ]
    for second, c in whole.items():
        each = np.array([one[second] for one in without])
        for quantity, value, of in (
            ("c", c, each),
            ("information", 2.0 / (1.0 + c), 2.0 / (1.0 + each)),
        ):
            se = float(np.sqrt((contexts - 1) * of.var()))
            yield _row(second, 2 * pairs.shape[1], quantity, value, se)
    own = _scores(a.mean(axis=0), pairs, gold.shape[1])
    for second, (calls, scores) in _asked(a, b, pairs, gold.shape[1], settings).items():
        for quantity, truth in (("people", gold), ("itself", own)):
            if second == ALL and quantity == "itself":
                continue
            each = per_context(scores, truth)
            value = 100.0 * float(np.nanmean(each, axis=-1).mean())
            yield _row(second, calls, quantity, value, 100.0 * bootstrap_se(each[None]))


def _row(second: str, calls: int, quantity: str, value: float, se: float) -> dict[str, object]:
    return {"second": second, "calls": calls, "quantity": quantity, "value": value, "se": se}


def _asked(
    a: Floats, b: Floats, pairs: Indices, n: int, settings: Settings
) -> dict[str, tuple[int, Floats]]:
    """By what is asked second: calls in a context, and scores (draws, C, N) of the mean logit."""
    words, contexts, m = a.shape
    rng = np.random.default_rng([settings.seed, 41])
    draws, size = settings.draws, (settings.draws, contexts, m)
    w = rng.integers(words, size=size)
    other = (w + rng.integers(1, words, size=size)) % words
    order = np.where(rng.random(size) < 0.5, 1.0, -1.0)
    c, k = np.arange(contexts)[:, None], np.arange(m)

    def call(w: Indices, order: Floats) -> Floats:
        return np.asarray(a[w, c, k] + order * b[w, c, k])

    one = call(w, order)
    mean = {
        NONE: one,
        WORDS: (one + call(other, order)) / 2.0,
        ORDER: (one + call(w, -order)) / 2.0,
        BOTH: (one + call(other, -order)) / 2.0,
        ALL: np.broadcast_to(a.mean(axis=0), (draws, contexts, m)),
    }
    calls = {NONE: m, ALL: 2 * words * m}
    return {what: (calls.get(what, 2 * m), _scores(x, pairs, n)) for what, x in mean.items()}


def _scores(x: Floats, pairs: Indices, n: int) -> Floats:
    """(..., N) Gaussian product of experts of one logit for every pair, (..., P): its row mean."""
    problem = Stack.of(n, np.broadcast_to(pairs.T, (*x.shape, 2)), x)
    return by_item(problem, x, -x) / n
