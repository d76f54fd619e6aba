"""One large set of items: HANNA's 1056 stories and CMCQRD's 658 questions, all ranked together.

As in the papers (poe_v2 4.2), calls are drawn from a pool of 200,000, both orders of 100,000
pairs; 20 draws. A draw is a fresh twin and a fresh set of calls. Sets link all items: five calls an
item leave some without any, which no method can score, so a random tree through all items comes
first where chance alone does not link them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np
from scipy.special import expit, logit

from poe import datasets, sparse
from poe.comparisons import Comparisons, Floats, Indices
from poe.experts import BradleyTerry, Gaussian
from poe.metrics import spearman
from poe.resistance import component_of
from poe.scores import add_prior
from poe.selection import select
from reproduction.settings import in_threads
from reproduction.sweep import labels
from reproduction.twins import Twin, perceived, stream

POOL = 200_000  # calls
MOST_TIMES = 100  # calls an item in the largest set any target draws
DRAWS = 20

METHODS = ("win-ratio", "BT", "PoE-g-hard", "avg-prob", "PoE-BT", "PoE-g")
SOFT = ("avg-prob", "PoE-BT")


@dataclass(frozen=True)
class Large:
    """What the draws of one twin depend on. rule : "symmetric" or "no-repeat".

    bias : "none", or "plug-in", the paper's gamma and beta from the mean probability.
    """

    dataset: str
    source: datasets.Source
    count: int
    rule: str = "symmetric"
    bias: str = "none"
    methods: tuple[str, ...] = SOFT
    seed: int = 0


@cache
def pool(n: int, seed: int) -> Indices:
    """(100000, 2) different pairs, or all of them where there are fewer."""
    size = min(POOL // 2, n * (n - 1) // 2)
    rng = np.random.default_rng([n, seed])
    return select(n, 2 * size, rule="symmetric", seed=rng)[::2]


def linked_pairs(
    n: int, count: int, rng: np.random.Generator, seed: int = 0, *, known: Indices | None = None
) -> Indices:
    """`count` pairs of the pool that link all items; a random tree first where chance does not.

    known : (M, 2), the pool; by default that of so many items and the seed.
    """
    known = pool(n, seed) if known is None else known
    chosen = known[rng.choice(len(known), min(count, len(known)), replace=False)]
    if not component_of(n, chosen).any():
        return chosen
    order = rng.permutation(len(known))
    tree = spanning(n, known[order])
    rest = order[~np.isin(order, order[tree])]
    return np.concatenate([known[order[tree]], known[rest[: count - len(tree)]]])


def spanning(n: int, pairs: Indices) -> Indices:
    """Positions of the pairs that link something new, one after the other: a tree."""
    parent = list(range(n))
    tree = []
    for place, (a, b) in enumerate(pairs.tolist()):
        while parent[a] != a:
            parent[a] = parent[parent[a]]
            a = parent[a]
        while parent[b] != b:
            parent[b] = parent[parent[b]]
            b = parent[b]
        if a != b:
            parent[a] = b
            tree.append(place)
            if len(tree) == n - 1:
                break
    return np.array(tree, dtype=np.intp)


Answer = Callable[[Indices], Floats]


def twin_answers(twin: Twin, gold: Floats, rng: np.random.Generator) -> Answer:
    """A fresh twin, asked one call at a time (each call once)."""
    quality = perceived(gold[None], twin.rho, rng.standard_normal((1, len(gold))))[0]

    def answer(pairs: Indices) -> Floats:
        d = quality[pairs[:, 0]] - quality[pairs[:, 1]]
        error = twin.noise * rng.standard_normal(len(pairs))
        return np.asarray(expit(twin.sharpness * d + twin.bias + error))

    return answer


@cache
def draw(twin: Twin, what: Large, number: int) -> dict[str, float]:
    """Dataset-level Spearman by method, of one draw."""
    gold = labels(what.dataset, what.source).scores[twin.attribute][0]
    return {m: float(spearman(s, gold)) for m, s in draw_scores(twin, what, number).items()}


def draw_scores(twin: Twin, what: Large, number: int) -> dict[str, Floats]:
    """Scores by method, of one draw."""
    gold = labels(what.dataset, what.source).scores[twin.attribute][0]
    name = stream(twin)
    design = np.random.default_rng([what.seed, number, name, what.count])
    ask = getattr(twin, "ask", None)
    answer = ask or twin_answers(twin, gold, np.random.default_rng([what.seed, number, name]))
    return scores(compared(len(gold), what, answer, design, getattr(twin, "pool", None)), what)


def compared(
    n: int,
    what: Large,
    answer: Answer,
    rng: np.random.Generator,
    known: Indices | None = None,
) -> Comparisons:
    """The comparisons of one draw: both orders averaged, or each pair in one order at random.

    known : (M, 2) the pairs to draw from, see `linked_pairs`.
    """
    if what.rule == "symmetric":
        pairs = linked_pairs(n, what.count // 2, rng, what.seed, known=known)
        p = (answer(pairs) + 1.0 - answer(pairs[:, ::-1])) / 2.0
    else:
        pairs = linked_pairs(n, what.count, rng, what.seed, known=known)
        flip = rng.random(len(pairs)) < 0.5
        pairs[flip] = pairs[flip][:, ::-1]
        p = np.asarray(answer(pairs), dtype=float)
    return Comparisons.from_pairs(pairs, p, items=n)


def scores(c: Comparisons, what: Large) -> dict[str, Floats]:
    """Scores by method."""
    hard = c.hard()
    mean = float(c.p.mean()) if what.bias == "plug-in" else 0.5
    made: dict[str, Callable[[], Floats]] = {
        "win-ratio": lambda: mean_by_item(hard),
        "avg-prob": lambda: mean_by_item(c),
        # The prior as the paper's text has it, on each comparison made: on every pair, as in its
        # code, the graph would be complete.
        "BT": lambda: _mode(add_prior(hard, 1.0 / (c.n_items - 1), on="compared"), BradleyTerry()),
        "PoE-g-hard": lambda: _mode(hard, Gaussian()),
        "PoE-BT": lambda: _mode(c, BradleyTerry(), bias=-float(logit(mean))),
        "PoE-g": lambda: _mode(c, Gaussian(), bias=0.5 - mean),
    }
    return {name: made[name]() for name in what.methods}


def _mode(c: Comparisons, expert: BradleyTerry | Gaussian, bias: float = 0.0) -> Floats:
    return sparse.solve(c, expert, bias=bias, tol=1e-7).scores[0]


def mean_by_item(c: Comparisons) -> Floats:
    """Average probability without checks that cost more than the sum."""
    won = np.bincount(c.first, c.p, c.n_items) + np.bincount(c.second, 1.0 - c.p, c.n_items)
    seen = np.bincount(c.first, minlength=c.n_items) + np.bincount(c.second, minlength=c.n_items)
    return np.asarray(won / seen, dtype=float)


def run(
    jobs: Sequence[tuple[Twin, Large]],
    *,
    draws: int,
    workers: int = 2,
    progress: Callable[[int, int], None] | None = None,
) -> dict[tuple[Twin, Large], dict[str, Floats]]:
    """All draws of every job: (draws,) correlations by method."""
    wanted = list(dict.fromkeys(jobs))
    tasks = list(product(wanted, range(draws)))
    done = in_threads(
        lambda task: draw(*task[0], task[1]), tasks, workers=workers, progress=progress
    )
    out: dict[tuple[Twin, Large], dict[str, Floats]] = {}
    for k, job in enumerate(wanted):
        part = done[k * draws : (k + 1) * draws]
        out[job] = {m: np.array([one[m] for one in part]) for m in job[1].methods}
    return out
