"""A real judge on one large set: HANNA's stories, from two calls a story to all it was asked.

The judge was asked the calls of a design that shows every story first to twenty others
(`few_calls.wide_calls`). A machine's time ended before the design did: of some stories, drawn
by chance, all their calls were answered. Those are the set here, with the pairs among them that
were asked in both orders; fewer calls are drawn from these pairs, linked, twenty times. The
table holds for a set of that size, and grows with it when more is asked.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import expit

from judging.metrics import spearman
from poe.arrays import Floats, Indices
from poe.comparisons import Comparisons
from reproduction import answers, large
from reproduction.answers import Model
from reproduction.measured_tables import model_of
from reproduction.settings import Settings
from reproduction.twins import ATTRIBUTES, labels
from studies import few_calls

DATASET = "hanna"
RESAMPLES = 200  # of the stories
TIMES = (2, 3, 5)  # calls a story; and all
METHODS = ("PoE-BT", "PoE-g", "avg-prob", "BT", "win-ratio")
PEOPLE, ITSELF = "people", "itself"  # what scores are held against


@dataclass(frozen=True)
class Answered:
    """What a judge said of one attribute of N stories.

    stories : (N,) their positions in the dataset. pairs : (P, 2) pairs of them, first and second of
    the smaller number, as positions in `stories`. logits : (P, 2) that the first is better, as the
    call (first, second) says and as the call (second, first) says of its own first.
    """

    stories: Indices
    pairs: Indices
    logits: Floats

    @property
    def p(self) -> Floats:
        """(P,) probability that the first of a pair is better, both orders averaged."""
        there, back = expit(self.logits).T
        return np.asarray((there + 1.0 - back) / 2.0)


def answered(attribute: str, model: Model) -> Answered | None:
    """The stories whose calls were all answered, None where there are none."""
    said, design = few_calls.story_logits(attribute, model), few_calls.wide_calls()
    if said.empty:
        return None
    there = np.array([call in said.index for call in map(tuple, design.tolist())])
    n = labels(DATASET).n_candidates
    asked, every = (np.bincount(c[:, 0], minlength=n) for c in (design[there], design))
    stories = np.flatnonzero(asked == every)
    if len(stories) < 2:
        return None
    place = np.full(n, -1)
    place[stories] = np.arange(len(stories))
    pairs = design[0::2]  # both orders stand in succession
    pairs = np.sort(pairs[(place[pairs] >= 0).all(axis=1)], axis=1)
    logits = [said.loc[[tuple(c) for c in some.tolist()]] for some in (pairs, pairs[:, ::-1])]
    return Answered(stories, place[pairs], np.column_stack(logits).astype(float))


def scores(one: Answered, pairs: Indices) -> dict[str, Floats]:
    """(N,) by method, from some of the pairs, by their positions."""
    c = Comparisons.from_pairs(one.pairs[pairs], one.p[pairs], items=len(one.stories))
    return large.scores(c, METHODS, tol=few_calls.TOLERANCE)


def drawn(one: Answered, times: int, seed: list[int]) -> Indices:
    """Positions of pairs that make `times` calls a story and link all of them."""
    n, place = len(one.stories), {tuple(x): k for k, x in enumerate(one.pairs.tolist())}
    rng = np.random.default_rng(seed)
    chosen = large.linked_pairs(n, times * n // 2, rng, known=one.pairs)
    return np.array([place[tuple(x)] for x in chosen.tolist()], dtype=np.intp)


def table(settings: Settings) -> pd.DataFrame:
    """A row an attribute (and "mean"), number of calls, method and what it is held against.

    value : Spearman times 100, the mean over draws of calls; of a method "A - B" the difference of
    two. se : its error over stories, drawn again with their scores and ratings, alike for all
    methods and attributes. calls, share : of one attribute, and in per cent of all N(N - 1).
    """
    model = answers.MODELS[model_of(settings)]
    every = {a: one for a in ATTRIBUTES[DATASET].values() if (one := answered(a, model))}
    found: dict[tuple[str, int, str, str], tuple[float, Floats]] = {}
    for attribute, one in every.items():
        gold = labels(DATASET).scores[attribute][0][one.stories]
        n, all_pairs = len(gold), np.arange(len(one.pairs))
        again = np.random.default_rng([settings.seed, 46]).integers(n, size=(RESAMPLES, n))
        whole = scores(one, all_pairs)
        for times in (*TIMES, 0):
            draws = range(settings.large_draws if times else 1)
            sets = [
                scores(
                    one, drawn(one, times, [settings.seed, 46, times, k]) if times else all_pairs
                )
                for k in draws
            ]
            calls = times * n // 2 * 2 if times else 2 * len(all_pairs)
            for against, truth in ((PEOPLE, gold), (ITSELF, whole["PoE-BT"])):
                by = {}
                for m in METHODS:
                    value = float(np.mean([spearman(s[m], truth) for s in sets]))
                    by[m] = value, np.asarray(spearman(sets[0][m][again], truth[again]))
                for other in METHODS[1:]:
                    (a, a_again), (b, b_again) = by["PoE-BT"], by[other]
                    by[f"PoE-BT - {other}"] = a - b, a_again - b_again
                found |= {(attribute, calls, m, against): pair for m, pair in by.items()}
    places = dict.fromkeys(key[1:] for key in found)
    for place in places:
        each = [found[attribute, *place] for attribute in every]
        values, resampled = zip(*each, strict=True)
        found["mean", *place] = float(np.mean(values)), np.mean(resampled, axis=0)
    n = len(next(iter(every.values())).stories)
    rows = [
        {
            "system": model.name,
            "dataset": DATASET,
            "attribute": attribute,
            "stories": n,
            "calls": calls,
            "share": 100.0 * calls / n / (n - 1),
            "method": method,
            "against": against,
            "value": 100.0 * value,
            "se": 100.0 * float(resampled.std(ddof=1)),
        }
        for (attribute, calls, method, against), (value, resampled) in found.items()
    ]
    end = {
        "kind": "measured",
        "labels": "real",
        "draws": settings.large_draws,
        "seed": settings.seed,
    }
    return pd.DataFrame(rows).assign(**end)
