"""Why soft answers win: what a product of experts gains over Bradley-Terry, in two parts.

K calls ask both orders of K/2 pairs. Three rankings come from the same answers, and of each
Spearman's correlation with people, r:

    soft      PoE-BT on the mean of both orders' probabilities,
    averaged  Bradley-Terry on decisions that are taken on that mean,
    each      Bradley-Terry on a decision of every call, which is all that a deciding judge gives,

    r(soft) - r(each)  =  [r(soft) - r(averaged)]  +  [r(averaged) - r(each)]
         gain          =          margin           +      cancellation.

*Margin* is what it is worth to know by how much a text won; *cancellation* what it is worth to take
the position bias out before a decision falls. All are means over draws of calls and attributes
within a context, and then over contexts; HANNA, which is one list, has none and no part in this.

Declared before any of this was computed here (data/margin-expected.toml has our guesses, cell by
cell). A cell is a judge, a data set and a prompt; "few" is two calls a text. Counted are the cells
of judges that rank better than chance with the papers' prompt: 15 cells. Some numbers were known
by then, since a reader had computed them with code of their own and told us; they are marked there:
of the papers' prompt all but SmolLM2's on SummEval, both parts of SmolLM2's comparative-2, and the
margins of Qwen's comparative-1, comparative-2 and numbers on TopicalChat. Known as well were the
first-place rates, from data/results/models-wording.csv. New are the other prompts, the parts that
are not marked, the curves between, and both tests below. (Seen later, and still before any number:
in other words Qwen was asked about an article's coherence in 64 calls, both orders of 32 pairs, so
calls are drawn among these, and "all" is 64.)

 1. Margin is above 0 with few calls in at least 12 of 15 cells.
 2. Margin is smaller with all calls than with few in at least 13 of 15, and at most 0 with all
    calls in at least 10 of 15.
 3. A judge leans where it prefers one place in three quarters of its calls or more (9 cells).
    Cancellation with few calls is above 0 in at least 8 of those 9, and larger in their mean than
    in that of the other six.
 4. Cancellation stays: with all calls it is at least half of what it is with few, in at least 6
    of the 9.
 5. Over the 15 cells cancellation with few calls and the distance of the first-place rate from a
    half have a Spearman correlation above 0.3.
 6. "Margin > 0" and "cancellation > 0" with few calls, each over all 15 cells: means over prompts
    within a judge and data set, and then over these three. Contexts and prompts are both taken as
    drawn at random, by a crossed (pigeonhole) bootstrap (Owen 2007). Both p-values, by Holm's rule
    for two tests, are below .05.

Theory. The gain with few calls of one attribute in one cell is predicted from three numbers, which
half of its contexts tell: its lean, |share of calls that prefer the first place - 1/2|; the
information that the size of the averaged log odds (in quartiles) has about whether people agree
with its sign, in bits; and c, the correlation of the errors of both orders. A linear rule in these
three is fitted to the gains of the other cells (all but this judge, data set and prompt) on their
first halves, and scored on this cell's second half. The theory succeeds where its root mean square
error over all attributes of all cells is at least 10% below that of the best constant in hindsight,
which is the mean of the very numbers it is scored on. Reported beside it, without a rule: the same
for margin and for cancellation, and with the other judge's cells only to learn from.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_array
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.special import entr
from scipy.stats import spearmanr

from judging.machine import data_dir
from poe.arrays import Floats, Indices, Mask
from poe.choose import orders
from poe.choose.selection import both_orders_of
from poe.comparisons import Comparisons
from poe.stack import Stack
from reproduction import answers
from reproduction.answers import Measured
from reproduction.measured_tables import (
    CALLS,
    DATASETS,
    TEMPLATES,
    Asked,
    Found,
    group,
    rows_of,
)
from reproduction.settings import SIGNIFICANT, Calls, Settings, by_context
from reproduction.significance import LEVEL, holm
from reproduction.small import METHODS, correlations, per_context, single_answers
from reproduction.twins import symmetric_stack

EXPECTED = "margin-expected.toml"
# Of a context, from two a text to all: both orders of every pair, or of a design's.
COUNTS = {
    ("topicalchat", 30): (12, 14, 18, 22, 26, 30),
    ("summeval", 240): (32, 48, 64, 96, 144, 192, 240),
    ("summeval", 64): (32, 48, 64),
}
EACH = ("gain", "margin", "cancellation")
# What takes probabilities, and what takes decisions: by maximum likelihood, and by averages.
METHODS_OF = {"Bradley-Terry": ("PoE-BT", "BT"), "average": ("avg-prob", "win-ratio")}
OF = "Bradley-Terry"
PARAPHRASED = tuple(f"paraphrase-{number}" for number in answers.PARAPHRASES)
LEANS = 25.0  # per cent of calls from a half
QUARTERS, BETTER = 4, 0.9
RESAMPLED = 9999  # times

Parts = dict[tuple[str, str], Floats]  # by method and part, (draws, C)
Judged = tuple[str, str]  # system and data set


# The two parts ----------------------------------------------------------------------------------


def counts(one: Asked) -> tuple[int, ...]:
    """Numbers of calls of a context, the fewest two a text, the last all that were asked."""
    return COUNTS[one.dataset, one.calls[1].shape[1]]


def parts(one: Asked, k: int, settings: Settings) -> Parts:
    """Gain, margin and cancellation of K calls in both orders, by method, (draws, C).

    Where every pair was asked, the calls are those of `measured_tables.gains`: what is told of both
    is told of the same draws.
    """
    draws = 1 if k == counts(one)[-1] else settings.draws  # all can be drawn in one way only
    seed = [settings.seed, CALLS]
    if one.whole:
        judge = Measured(one.system, one.dataset, one.attribute, p=one.p)
        calls = Calls(one.dataset, k)
        pairs, p = single_answers(judge, calls, one.gold, seed=seed, draws=draws)
    else:
        pairs = of_design(one, k, draws, np.random.default_rng([*seed, k]))
        p = one.p[np.arange(len(one.gold))[:, None], pairs[..., 0], pairs[..., 1]]
    return split(pairs, p, one.gold)


def split(pairs: Indices, p: Floats, gold: Floats) -> Parts:
    """Gain, margin and cancellation by method, (draws, C).

    pairs (draws, C, K, 2), each followed by its reverse, p (draws, C, K), gold (C, N).
    """
    n = gold.shape[1]
    both = {name: METHODS[name] for pair in METHODS_OF.values() for name in pair}
    decided = {name: METHODS[name] for _, name in METHODS_OF.values()}
    averaged = correlations(symmetric_stack(n, pairs, p), gold, both)
    each = correlations(Stack.of(n, pairs, p), gold, decided)
    found: Parts = {}
    for method, (soft, hard) in METHODS_OF.items():
        a, b, c = averaged[soft, "spearman"], averaged[hard, "spearman"], each[hard, "spearman"]
        found |= {(method, name): x for name, x in zip(EACH, (a - c, a - b, b - c), strict=True)}
    return found


def of_design(one: Asked, k: int, draws: int, rng: np.random.Generator) -> Indices:
    """(draws, C, K, 2) calls of those that were made, both orders of pairs of `links`."""
    n, made = one.gold.shape[1], np.stack(one.calls[1:], axis=-1)
    drawn = []
    for _, asked in product(range(draws), made):
        pairs = asked[asked[:, 0] < asked[:, 1]]
        drawn.append(both_orders_of(pairs[links(pairs, n, k // 2, rng)][None])[0])
    return np.reshape(drawn, (draws, len(made), k, 2))


def links(pairs: Indices, n: int, count: int, rng: np.random.Generator) -> Indices:
    """(count,) positions in pairs (M, 2) that link all n texts.

    A tree, the shortest where lengths are drawn by lot, and other pairs by lot.
    """
    length = rng.random(len(pairs)) + 1.0
    tree = minimum_spanning_tree(csr_array((length, tuple(pairs.T)), shape=(n, n))).tocoo()
    return np.lexsort((length, ~np.isin(length, tree.data)))[:count]


def cells() -> Iterator[list[Asked]]:
    """The attributes of every judge, data set and prompt that there are answers of."""
    for dataset, which, template in product(DATASETS, answers.MODELS, (*TEMPLATES, *PARAPHRASED)):
        if some := group(dataset, template, which):
            yield some


def first_rate(one: Asked) -> float:
    """Share of all calls that prefer what is shown first."""
    return float(0.5 + 0.5 * np.sign(one.p[one.calls] - 0.5).mean())


_KNOWN: dict[Any, Parts] = {}  # parts that some target needed


def _found(jobs: Sequence[tuple[Asked, int]], settings: Settings) -> list[Parts]:
    """`parts` of each job."""
    tasks = [(*job, settings.draws, settings.seed) for job in jobs]
    done = settings.map(lambda task: parts(task[0], task[1], settings), tasks, known=_KNOWN)
    return [done[task] for task in tasks]


def _mean_rows(some: Sequence[Asked], found: Sequence[Found], columns: Sequence[str]) -> list[Any]:
    """Rows of the mean over attributes, or of the only one that was asked."""
    rows = list(rows_of(some, found, columns=columns))
    return [row for row in rows if row["attribute"] == "mean"] or rows


def table(settings: Settings) -> pd.DataFrame:
    """A row a judge, data set, prompt, number of calls, method and part, times 100.

    attribute : "mean", or the only one that was asked. method : of `METHODS_OF`. quantity : of
    `EACH`. k : calls of a context; share : per cent of those that were asked. first : per cent of
    calls that prefer the first place. chance : whether the judge is `at_chance`. value, se : of the
    part, over contexts; draw_se : Monte Carlo error.
    """
    every, nothing, rows = list(cells()), at_chance(), []
    _found([(one, k) for some in every for one in some for k in counts(one)], settings)
    for some in every:
        about = {
            "first": 100.0 * float(np.mean([first_rate(one) for one in some])),
            "chance": (some[0].system, some[0].dataset) in nothing,
        }
        for k in (asked := counts(some[0])):
            found = _found([(one, k) for one in some], settings)
            share = {"k": k, "share": 100.0 * k / asked[-1]}
            rows += [row | share | about for row in _mean_rows(some, found, ("method", "quantity"))]
    return pd.DataFrame(rows).drop(columns="common").assign(**settings.how("measured", "real"))


def at_chance() -> set[Judged]:
    """Judges whose ranking by all answers to the papers' prompt may be a coin's.

    Its mean correlation with people is at most two standard errors above zero.
    """
    known = set()
    for some in cells():
        if some[0].template == "poe":
            each = [per_context(METHODS["avg-prob"](x.all_calls()), x.gold) for x in some]
            (row,) = _mean_rows(some, [{("r",): r[None]} for r in each], ("quantity",))
            if row["value"] <= SIGNIFICANT * row["se"]:
                known.add((some[0].system, some[0].dataset))
    return known


def _counted() -> list[list[Asked]]:
    """The cells that the claims are about: no paraphrases, and no judge at chance."""
    nothing = at_chance()
    return [
        some
        for some in cells()
        if some[0].template in TEMPLATES and (some[0].system, some[0].dataset) not in nothing
    ]


# Both claims over all prompts -------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Grid:
    """What one judge brings on one data set: y (P, C) by prompt and context, NaN where unasked."""

    dataset: str
    prompts: tuple[str, ...]
    contexts: tuple[int, ...]
    y: Floats


def tests(settings: Settings) -> pd.DataFrame:
    """Claim 6: a row for margin and one for cancellation, with two calls a text.

    value : mean over judges and data sets of the mean over prompts. se, low, high : of the crossed
    bootstrap, 95% by its quantiles. p : two-sided, and holm, by Holm's rule for both.
    """
    rows, every = [], _counted()
    found = _found([(one, counts(one)[0]) for some in every for one in some], settings)
    for number, quantity in enumerate(EACH[1:]):
        known = iter(found)
        by: dict[Judged, dict[str, dict[int, float]]] = {}
        for some in every:
            each = [
                dict(zip(one.contexts, 100.0 * by_context(next(known)[OF, quantity]), strict=True))
                for one in some
            ]
            several = set.intersection(*map(set, each))
            mean = {c: float(np.nanmean([x[c] for x in each])) for c in several}
            by.setdefault((some[0].system, some[0].dataset), {})[some[0].template] = mean
        grids = []
        for (_, dataset), of in by.items():
            contexts = tuple(sorted(set().union(*of.values())))
            y = np.array([[row.get(c, np.nan) for c in contexts] for row in of.values()])
            grids.append(Grid(dataset, tuple(of), contexts, y))
        value = float(crossed(grids, None)[0])
        rng = np.random.default_rng([settings.seed, 37, number])
        again = crossed(grids, rng, RESAMPLED)
        below = min(float((again <= 0.0).sum()), float((again >= 0.0).sum()))
        low, high = np.quantile(again, [0.025, 0.975])
        rows.append(
            {
                "quantity": quantity,
                "cells": len(every),
                "value": value,
                "se": float(again.std(ddof=1)),
                "low": low,
                "high": high,
                "p": min(1.0, 2.0 * (below + 1.0) / (RESAMPLED + 1.0)),
            }
        )
    made = pd.DataFrame(rows)
    return made.assign(holm=holm(made["p"].to_numpy()), **settings.how("measured", "real"))


def crossed(grids: Sequence[Grid], rng: np.random.Generator | None, times: int = 1) -> Floats:
    """(times,) means over grids of means over prompts of means over contexts, resampled.

    Prompts and the contexts of each data set are drawn with replacement, independently, and all
    grids share what was drawn: the pigeonhole bootstrap of two crossed random effects (Owen 2007).
    Where a drawn prompt has none of the drawn contexts it is left out. rng : None for the
    mean itself.
    """
    prompts = sorted({name for grid in grids for name in grid.prompts})
    weight = dict(zip(prompts, _lots(rng, times, len(prompts)).T, strict=True))
    contexts = {
        of: sorted({c for g in grids if g.dataset == of for c in g.contexts})
        for of in sorted({grid.dataset for grid in grids})
    }
    lots = {of: _lots(rng, times, len(names)) for of, names in contexts.items()}
    means = []
    for grid in grids:
        lot = lots[grid.dataset][:, np.searchsorted(contexts[grid.dataset], grid.contexts)]
        known = ~np.isnan(grid.y)
        count = lot @ known.T.astype(float)
        of_prompt = lot @ np.where(known, grid.y, 0.0).T / np.maximum(count, 1.0)
        w = np.stack([weight[name] for name in grid.prompts], axis=-1) * (count > 0)
        total = w.sum(axis=-1)
        means.append((w * of_prompt).sum(axis=-1) / np.where(total > 0, total, np.nan))
    return np.asarray(np.nanmean(means, axis=0))


def _lots(rng: np.random.Generator | None, times: int, size: int) -> Floats:
    """(times, size) how often each of so many was drawn, or once each."""
    if rng is None:
        return np.ones((times, size))
    return rng.multinomial(size, np.full(size, 1.0 / size), size=times).astype(float)


# The theory -------------------------------------------------------------------------------------


def theory(settings: Settings) -> pd.DataFrame:
    """The gain predicted from three numbers of the other half of the contexts.

    quantity : of `EACH`, with two calls a text. learnt : from all other cells (judge, data set and
    prompt), or from the other judge's. error : root mean square of predicted minus found,
    constant : of the best constant minus found, points. rows : attributes of cells. holds : whether
    error is at most `BETTER` of constant; declared for the gain and other cells.
    """
    every = _counted()
    flat = [one for some in every for one in some]
    halves = {
        dataset: halved([one.contexts for one in flat if one.dataset == dataset], settings.seed)
        for dataset in DATASETS
    }
    inside = [np.isin(one.contexts, list(halves[one.dataset])) for one in flat]
    x = np.array([features(one, half) for one, half in zip(flat, inside, strict=True)])
    found = _found([(one, counts(one)[0]) for one in flat], settings)
    place = pd.DataFrame([(one.system, one.dataset, one.template) for one in flat])
    rows = []
    for quantity, learnt in product(EACH, ("other cells", "the other judge")):
        each = [100.0 * by_context(part[OF, quantity]) for part in found]
        first, second = (
            np.array([np.nanmean(e[h == side]) for e, h in zip(each, inside, strict=True)])
            for side in (True, False)
        )
        columns = [0, 1, 2] if learnt == "other cells" else [0]
        cell = place.groupby(columns).ngroup().to_numpy()
        error = predicted(x, first, cell) - second
        constant = second.mean() - second
        sizes = [float(np.sqrt((e**2).mean())) for e in (error, constant)]
        rows.append(
            {
                "quantity": quantity,
                "learnt": learnt,
                "rows": len(flat),
                "error": sizes[0],
                "constant": sizes[1],
                "holds": sizes[0] <= BETTER * sizes[1],
            }
        )
    return pd.DataFrame(rows).assign(**settings.how("measured", "real"))


def learnt(settings: Settings) -> tuple[Floats, Floats]:
    """The three numbers and the three parts, (R, 3) each, of all contexts of each attribute."""
    flat = [one for some in _counted() for one in some]
    found = _found([(one, counts(one)[0]) for one in flat], settings)
    x = [features(one, np.ones(len(one.gold), dtype=bool)) for one in flat]
    y = [[100.0 * float(np.nanmean(by_context(part[OF, q]))) for q in EACH] for part in found]
    return np.array(x), np.array(y)


def halved(contexts: Sequence[Sequence[int]], seed: int) -> set[int]:
    """Half of all contexts, and about half of each of the nested sets that were asked."""
    known, count = np.unique(np.concatenate(contexts), return_counts=True)
    order = np.lexsort((np.random.default_rng([seed, 38]).random(len(known)), -count))
    return set(known[order[::2]].tolist())


def features(one: Asked, half: Mask) -> list[float]:
    """Lean, information in bits, and c, from the contexts of a half (C,)."""
    some = replace(
        one,
        contexts=tuple(np.array(one.contexts)[half].tolist()),
        log_p=one.log_p[half],
        gold=one.gold[half],
    )
    context, i, j = some.calls
    asked = [
        Comparisons.from_pairs(
            np.column_stack([i[k], j[k]]), some.p[k, i[k], j[k]], items=some.gold.shape[1]
        )
        for k in context.ravel()
    ]
    upper = i < j
    logits = some.log_p[..., 0] - some.log_p[..., 1]
    size = ((logits - np.swapaxes(logits, -1, -2)) / 2.0)[some.calls][upper]
    people = np.sign(some.gold[context, i] - some.gold[context, j])[upper]
    return three(first_rate(some), size, people, asked)


def three(first: float, size: Floats, people: Floats, asked: Sequence[Comparisons]) -> list[float]:
    """Lean, information in bits, and c.

    first : share of calls that prefer the first place. size, people : of each pair the mean of both
    orders' log odds, and the sign of people's difference. asked : of every context.
    """
    told = (people != 0.0) & (size != 0.0)
    agrees = np.sign(size[told]) == people[told]
    return [abs(first - 0.5), information(np.abs(size[told]), agrees), orders.correlation(asked).c]


def information(size: Floats, agrees: Mask) -> float:
    """Bits that the quarter which a size lies in tells about whether people agree.

    Less its expectation where there are none, (Q - 1) / (2 n ln 2) (Miller 1955).
    """
    parts = np.array_split(agrees[np.argsort(size, kind="stable")], QUARTERS)
    inside = sum(len(part) * _entropy(float(part.mean())) for part in parts) / len(agrees)
    bias = (QUARTERS - 1) / (2.0 * len(agrees) * np.log(2.0))
    return _entropy(float(agrees.mean())) - inside - bias


def _entropy(p: float) -> float:
    """Entropy, in bits, of a yes that has probability p."""
    return float(entr(p) + entr(1.0 - p)) / np.log(2.0)


def predicted(x: Floats, y: Floats, cell: Indices) -> Floats:
    """(R,) by least squares in x (R, 3) and a constant, from the rows of all other cells."""
    design = np.column_stack([np.ones(len(x)), x])
    made = np.empty(len(x))
    for this in np.unique(cell):
        own = cell == this
        rule = np.linalg.lstsq(design[~own], y[~own], rcond=None)[0]
        made[own] = design[own] @ rule
    return made


# What was declared ------------------------------------------------------------------------------


def expected() -> pd.DataFrame:
    """Our guesses: system, dataset, template, quantity, known, low, median, high."""
    return pd.DataFrame(tomllib.loads((data_dir() / EXPECTED).read_text("utf-8"))["expected"])


def counted(rows: pd.DataFrame) -> pd.DataFrame:
    """The cells of `table` that the claims are about: few and all, by part, and the lean.

    Index: system, dataset, template. Columns: margin, margin all, cancellation, cancellation all,
    and lean, per cent of calls from a half.
    """
    rows = rows[(rows["method"] == OF) & ~rows["chance"] & rows["template"].isin(TEMPLATES)]
    place = ["system", "dataset", "template"]
    made = {"lean": (rows.groupby(place)["first"].first() - 50.0).abs()}
    for name in EACH[1:]:
        by = rows[rows["quantity"] == name].sort_values("k").groupby(place)["value"]
        made |= {name: by.first(), f"{name} all": by.last()}
    return pd.DataFrame(made)


def outcomes(rows: pd.DataFrame, tested: pd.DataFrame) -> pd.DataFrame:
    """The declared claims with what came of them: claim, found, holds.

    rows : of `table`; tested : of `tests`.
    """
    of = counted(rows)
    leaning = of[of["lean"] >= LEANS]
    rest = of.drop(index=leaning.index)
    above = int((of["margin"] > 0).sum())
    smaller = int((of["margin all"] < of["margin"]).sum())
    negative = int((of["margin all"] <= 0).sum())
    cancels = int((leaning["cancellation"] > 0).sum())
    more = float(leaning["cancellation"].mean()), float(rest["cancellation"].mean())
    stays = int((leaning["cancellation all"] >= leaning["cancellation"] / 2.0).sum())
    r = float(spearmanr(of["lean"], of["cancellation"]).statistic)
    p = tested.set_index("quantity")["holm"]
    n, m = len(of), len(leaning)
    said = [
        ("margin is above 0 with few calls", f"{above} of {n}", above >= 12),
        (
            "margin is smaller with all calls, and then at most 0",
            f"{smaller} and {negative} of {n}",
            smaller >= 13 and negative >= 10,
        ),
        (
            "where a judge leans, cancellation is above 0 with few calls, and above that of others",
            f"{cancels} of {m}; mean {more[0]:.1f} against {more[1]:.1f}",
            cancels >= 8 and more[0] > more[1],
        ),
        ("cancellation stays with all calls", f"{stays} of {m}", stays >= 6),
        ("cancellation goes with the lean", f"Spearman {r:.2f}", r > 0.3),
        (
            "both parts are above 0 over all cells",
            f"p = {p['margin']:.4f} and {p['cancellation']:.4f}",
            bool((p < LEVEL).all() and (tested["value"] > 0).all()),
        ),
    ]
    return pd.DataFrame(said, columns=["claim", "found", "holds"])
