"""What small real language models do to the papers' methods: the answers in data/measured.

SmolLM2-135M-Instruct and Qwen2.5-Coder-1.5B-Instruct were asked by `make measure`, with the papers'
prompts and the texts that people scored. They were not drawn and are not calibrated: draws here
are draws of calls among their answers, and the error that matters is over contexts, other texts
that it might have been asked about. Correlations are Spearman's or Pearson's, averaged over
contexts, times 100.

Every function gives a row for each attribute, and a row "mean" for each dataset whose four
attributes were asked, over the contexts that all four have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit, logit

from poe import newton
from poe.arrays import Floats, Indices
from poe.experts import BradleyTerry, Gaussian
from poe.scores import average_probability, win_ratio
from poe.stack import Stack
from reproduction import answers as kept
from reproduction.answers import KNOWN, WORDINGS, Measured
from reproduction.baselines.papers import expected_score
from reproduction.settings import Calls, Settings, bootstrap_se, by_context, shared_errors, spread
from reproduction.small import (
    COUNTS,
    KINDS,
    METHODS,
    PRINTED,
    answers,
    correlations,
    few_and_all,
    per_context,
    single_answers,
)
from reproduction.twins import ATTRIBUTES, labels, symmetric_stack

DATASETS = ("topicalchat", "summeval")
CALLS = 21  # seeds the draws of calls: one for all tables, so that a number is the same in each
TEMPLATES = ("poe", *WORDINGS)
BINS = 10


@dataclass(frozen=True, eq=False)
class Asked:
    """One attribute of a dataset that the model was asked about with one template.

    contexts : their positions in the dataset. log_p : (C, N, N, 2) of the label words, row shown
    first, NaN where a design has no call; each context has equally many. gold : (C, N) people's
    scores. which : the model, of `answers.KNOWN`.
    """

    dataset: str
    attribute: str
    template: str
    contexts: tuple[int, ...]
    log_p: Floats
    gold: Floats
    which: str = "smollm2"

    @property
    def system(self) -> str:
        """The model's name in tables."""
        return KNOWN[self.which].name

    @property
    def p(self) -> Floats:
        """(C, N, N) probability that the row is better, NaN on the diagonal."""
        return np.asarray(expit(self.log_p[..., 0] - self.log_p[..., 1]))

    @property
    def averaged(self) -> Floats:
        """(C, N, N) both orders' answers as one."""
        return (self.p + 1.0 - np.swapaxes(self.p, -1, -2)) / 2.0

    @property
    def calls(self) -> tuple[Indices, Indices, Indices]:
        """(C, 1), (C, K), (C, K): the context, who is first and who is second in each call."""
        contexts, n = self.gold.shape
        answered = ~np.isnan(self.log_p).any(axis=-1) & ~np.eye(n, dtype=bool)
        context, first, second = np.nonzero(answered)
        assert (np.bincount(context, minlength=contexts) * contexts == len(context)).all()
        each = (contexts, -1)
        return np.arange(contexts)[:, None], first.reshape(each), second.reshape(each)

    @property
    def whole(self) -> bool:
        """Whether all N(N-1) calls of a context were made, not a design's only."""
        n = self.gold.shape[1]
        return self.calls[1].shape[1] == n * (n - 1)

    def all_calls(self) -> Stack:
        """Every call of every context, as it came."""
        calls = self.calls
        return Stack.of(self.gold.shape[1], np.stack(calls[1:], axis=-1), self.p[calls])

    def asked_as(self, other: Asked) -> Asked:
        """The contexts and calls that another was asked about, of which this has every one."""
        there = [self.contexts.index(context) for context in other.contexts]
        log_p = np.where(np.isnan(other.log_p), np.nan, self.log_p[there])
        return replace(self, contexts=other.contexts, log_p=log_p, gold=self.gold[there])


@cache
def asked(
    dataset: str, attribute: str, template: str = "poe", which: str = "smollm2"
) -> Asked | None:
    """Read what a model (of `answers.KNOWN`) answered, None where it was not asked."""
    model = KNOWN[which]
    try:
        contexts, log_p = kept.answers(dataset, attribute, template, model)
    except LookupError:
        return None
    gold = labels(dataset).scores[attribute][contexts]
    return Asked(dataset, attribute, template, tuple(contexts), log_p, gold, which)


def _asked_alike(one: Asked, template: str) -> Asked | None:
    """What the same model said with another template."""
    return asked(one.dataset, one.attribute, template, one.which)


def group(dataset: str, template: str = "poe", which: str = "smollm2") -> list[Asked]:
    """All attributes of a dataset that a model was asked about with one template."""
    every = [asked(dataset, name, template, which) for name in ATTRIBUTES[dataset].values()]
    return [one for one in every if one is not None]


def model_of(settings: Settings) -> str:
    """The model whose answers a target is about: its option `model` in data/targets.toml."""
    return str(settings.target.options.get("model", "smollm2"))


# From numbers by context to rows -------------------------------------------------------------

# By what was done, in the order of some columns: a number in each draw and context, (draws, C).
Found = Mapping[tuple[Any, ...], Floats]


def rows_of(
    asked: Sequence[Asked], values: Sequence[Found], *, columns: Sequence[str]
) -> Iterator[dict[str, object]]:
    """A row an attribute and key, and the mean over attributes: value and errors, times 100.

    se : over contexts. common : its part that all keys have, see `settings.shared_errors`.
    draw_se : Monte Carlo error of the mean over draws of calls.
    """
    several = sorted(set.intersection(*(set(one.contexts) for one in asked)))
    parts = [
        (one.attribute, one.contexts, {key: each[key][None] for key in each})
        for one, each in zip(asked, values, strict=True)
    ]
    if len(asked) == len(ATTRIBUTES[asked[0].dataset]):
        places = [[one.contexts.index(c) for c in several] for one in asked]
        pairs = list(zip(values, places, strict=True))
        mean = {key: np.stack([each[key][:, at] for each, at in pairs]) for key in values[0]}
        parts.append(("mean", tuple(several), mean))
    common = [
        shared_errors(np.stack([by_context(x) for x in every.values()])) for *_, every in parts
    ]
    for place, key in enumerate(values[0]):
        for (attribute, contexts, every), shared in zip(parts, common, strict=True):
            each = every[key]
            value, draw_se = spread(100.0 * np.nanmean(each, axis=-1).mean(axis=0))
            yield {
                "system": asked[0].system,
                "dataset": asked[0].dataset,
                "attribute": attribute,
                "template": asked[0].template,
                "contexts": len(contexts),
                **dict(zip(columns, key, strict=True)),
                "value": value,
                "se": 100.0 * bootstrap_se(each),
                "common": 100.0 * shared[place],
                "draw_se": draw_se,
            }


def _table(
    settings: Settings,
    made: Callable[[Asked], Found],
    columns: Sequence[str],
    templates: Sequence[str] = ("poe",),
    part: Callable[[Asked], Asked | None] = lambda one: one,
) -> pd.DataFrame:
    """`made` for all that was asked, as rows, or for a part of it."""
    which = model_of(settings)
    every = [list(map(part, group(d, t, which))) for d in DATASETS for t in templates]
    groups = [own for some in every if (own := [one for one in some if one is not None])]
    done = settings.map(made, [one for own in groups for one in own])
    rows = [
        row for own in groups for row in rows_of(own, [done[one] for one in own], columns=columns)
    ]
    return pd.DataFrame(rows).assign(**settings.how("measured", "real"))


# Tables -------------------------------------------------------------------------------------


def methods(settings: Settings) -> pd.DataFrame:
    """Every method at every number of calls, both orders of each pair (poe_v2 Tables 2 and 5 to 8).

    selection : "random", "greedy" or, of all calls, "full". metric : "spearman" or "pearson".
    """
    columns = ("k", "selection", "method", "metric")
    return _table(settings, partial(_methods, settings=settings), columns)


def _methods(one: Asked, settings: Settings) -> Found:
    judge = Measured(one.system, one.dataset, one.attribute, p=one.p)
    counts = COUNTS[one.dataset]
    values: dict[tuple[Any, ...], Floats] = {}
    designs = [(k, rule) for k in counts[:-1] for rule in ("symmetric", "greedy")]
    for k, rule in [*designs, (counts[-1], "full")]:
        full = rule == "full"  # all calls can be drawn in one way only
        calls = Calls(one.dataset, k, "symmetric" if full else rule)
        draws, seed = 1 if full else settings.draws, [settings.seed, CALLS]
        stack = answers(judge, calls, one.gold, seed=seed, draws=draws)
        selection = "random" if rule == "symmetric" else rule
        for key, each in correlations(stack, one.gold, METHODS, KINDS).items():
            values[k, selection, *key] = each
    return values


# What the papers claim is better minus what they claim it is better than.
GAINS = (
    ("PoE-BT", "win-ratio"),
    ("PoE-BT", "BT"),
    ("PoE-BT", "avg-prob"),
    ("PoE-g", "avg-prob"),
    ("avg-prob", "win-ratio"),
)


# A judge that only decides has a decision for each call, and no average of both orders.
DECIDED = ("win-ratio", "BT")
EACH_CALL = ", each call"


def gains(settings: Settings) -> pd.DataFrame:
    """Measure how much better one method is than another, paired over contexts and draws.

    k : calls in a context, both orders of each pair; two per text, or a fifth, the papers' few, and
    all. versus : "people", Spearman with people's scores; "itself", with the judge's own
    average probability over all calls, which asks how much of the judge a method saves, whatever
    people think of the judge. method : "PoE-BT - win-ratio" and its like, where decisions are taken
    on the average of both orders; "PoE-BT - win-ratio, each call", where every call in every order
    decides by itself; "PoE-BT, greedy - random" what a method gains from greedily chosen calls.
    """
    return _table(settings, partial(_gains, settings=settings), ("k", "versus", "method"))


def _gains(one: Asked, settings: Settings) -> Found:
    judge = Measured(one.system, one.dataset, one.attribute, p=one.p)
    own = average_probability(one.all_calls()).reshape(one.gold.shape)
    (few, every), values = few_and_all(one.dataset), dict[tuple[Any, ...], Floats]()
    n, decided = one.gold.shape[1], {name: METHODS[name] for name in DECIDED}

    def drawn(k: int, rule: str) -> tuple[Stack, Stack]:
        draws = 1 if k == every else settings.draws  # all calls can be drawn in one way only
        calls, seed = Calls(one.dataset, k, rule), [settings.seed, CALLS]
        pairs, p = single_answers(judge, calls, one.gold, seed=seed, draws=draws)
        return symmetric_stack(n, pairs, p), Stack.of(n, pairs, p)

    for k in sorted({few, PRINTED[one.dataset], every}):
        random, calls = drawn(k, "symmetric")
        greedy = None if k == every else drawn(k, "greedy")[0]
        for versus, scores in (("people", one.gold), ("itself", own)):
            each = correlations(random, scores, METHODS, ("spearman",))
            for better, other in GAINS:
                name = f"{better} - {other}"
                values[k, versus, name] = each[better, "spearman"] - each[other, "spearman"]
            for (other, _), scored in correlations(calls, scores, decided).items():
                name = f"PoE-BT - {other}{EACH_CALL}"
                values[k, versus, name] = each["PoE-BT", "spearman"] - scored
            chosen = correlations(greedy, scores, METHODS, ("spearman",)) if greedy else {}
            for (method, _), scored in chosen.items():
                of_random = each[method, "spearman"]
                values[k, versus, f"{method}, greedy - random"] = scored - of_random
    return values


def corrections(settings: Settings) -> pd.DataFrame:
    """Measure what each correction of position bias recovers (book chapter 9).

    design : "one order", every pair once, in an order drawn by chance; "both orders", all calls
    as they come; "averaged", the two answers to a pair averaged. bias : "none"; "plug-in", the
    papers' gamma or threshold from the mean or median of all answers; "fit", estimated with the
    scores, in each context. quantity : "spearman", or "flat", the share of contexts in which all
    texts got the same score, in per cent.
    """
    columns = ("design", "k", "method", "bias", "quantity")
    return _table(settings, partial(corrections_of, settings=settings), columns)


def corrections_of(one: Asked, settings: Settings) -> Found:
    """The numbers of `corrections` in each draw and context."""
    contexts, n = one.gold.shape
    upper = np.stack(np.triu_indices(n, 1), axis=-1)
    rng = np.random.default_rng([settings.seed, 22])
    turned = rng.random((settings.draws, contexts, len(upper), 1)) < 0.5
    once = np.where(turned, upper[:, ::-1], upper)
    p = one.p[np.arange(contexts)[:, None], once[..., 0], once[..., 1]]
    both = Stack.of(n, np.broadcast_to(upper, (contexts, *upper.shape)), one.averaged[:, *upper.T])
    scored = {
        ("one order", len(upper)): _corrected(Stack.of(n, once, p).flattened(), contexts),
        ("both orders", n * (n - 1)): _corrected(one.all_calls(), contexts),
        ("averaged", n * (n - 1)): {(name, "none"): score(both) for name, score in METHODS.items()},
    }
    values: dict[tuple[Any, ...], Floats] = {}
    for design, by_method in scored.items():
        for name, scores in by_method.items():
            each = scores.reshape(-1, contexts, n)
            values[(*design, *name, "spearman")] = per_context(each, one.gold)
            values[(*design, *name, "flat")] = (np.ptp(each, axis=-1) == 0.0).astype(float)
    return values


def _corrected(stack: Stack, contexts: int) -> dict[tuple[str, str], Floats]:
    """Scores by method and correction; a plug-in is one number for all contexts of a draw."""
    draws = stack.p.reshape(len(stack.p) // contexts, -1)
    mean = np.repeat(draws.mean(axis=1), contexts)
    middle = np.repeat(np.median(logit(draws), axis=1), contexts)
    moved = replace(stack, p=expit(logit(stack.p) - middle[:, None]))
    scores: dict[tuple[str, str], Floats] = {}
    for name, score in (("win-ratio", win_ratio), ("avg-prob", average_probability)):
        scores[name, "none"], scores[name, "plug-in"] = score(stack), score(moved)
    for name, expert, gamma in (
        ("PoE-BT", BradleyTerry(), -logit(mean)),
        ("PoE-g", Gaussian(), 0.5 - mean),
    ):
        scores[name, "none"] = newton.solve(stack, expert, tol=1e-9).scores
        scores[name, "plug-in"] = newton.solve(stack, expert, bias=gamma, tol=1e-9).scores
        scores[name, "fit"] = newton.solve(stack, expert, fit_bias=True, tol=1e-9).scores
    return scores


def wordings(settings: Settings) -> pd.DataFrame:
    """Measure what prompt and label words change: a row an attribute, template and quantity.

    quantity : "first-position", share of calls that prefer the text shown first; "mass", of all
    probability that the label words have; "accuracy", of single calls whose texts people tell
    apart; "averaged", the same after averaging both orders; "avg-prob", Spearman of all calls;
    "gain", how much larger that is than with the template "poe" in the same contexts and calls, for
    the others. All times 100.
    """
    return _table(settings, wordings_of, ("quantity",), TEMPLATES)


def wordings_of(one: Asked) -> Found:
    """The numbers of `wordings` in each context, as shares or correlations, (1, C) each."""
    context, i, j = calls = one.calls
    people = np.sign(one.gold[context, i] - one.gold[context, j])

    def right(p: Floats) -> Floats:
        agree = 0.5 + 0.5 * np.sign(p[calls] - 0.5) * people
        return by_context(np.where(people == 0.0, np.nan, agree).T)

    parts = {
        "first-position": (0.5 + 0.5 * np.sign(one.p[calls] - 0.5)).mean(axis=-1),
        "mass": np.exp(one.log_p).sum(axis=-1)[calls].mean(axis=-1),
        "accuracy": right(one.p),
        "averaged": right(one.averaged),
        "avg-prob": _of_all_calls(one),
    }
    if one.template != "poe" and (usual := _asked_alike(one, "poe")) is not None:
        parts["gain"] = parts["avg-prob"] - _of_all_calls(usual.asked_as(one))
    return {(name,): values[None] for name, values in parts.items()}


def _of_all_calls(one: Asked) -> Floats:
    """(C,) Spearman of the average probability."""
    return np.asarray(per_context(average_probability(one.all_calls()), one.gold))


def absolute(settings: Settings) -> pd.DataFrame:
    """Scoring one text at a time against comparing, the same model, texts and contexts.

    method : "likeliest", the digit from 1 to 5 with the largest probability, as greedy decoding
    writes it; "expected", the mean of 1 to 5 under their probabilities (G-Eval); "avg-prob" of
    all comparisons; and differences, paired over contexts.
    """
    return _table(settings, absolute_of, ("method",), part=_with_scores)


def _marks(one: Asked) -> Floats:
    """(C, N, 5) log-probabilities of the digits from 1 to 5 for each text alone, NaN without."""
    marks, alone = np.full((*one.gold.shape, 5), np.nan), _asked_alike(one, "g-eval")
    for row, c in enumerate(one.contexts):
        if alone and c in alone.contexts:
            marks[row] = alone.log_p[alone.contexts.index(c)]
    return marks


def _with_scores(one: Asked) -> Asked | None:
    """The contexts whose texts were scored as well."""
    known = np.flatnonzero(~np.isnan(_marks(one)).any(axis=(1, 2)))
    contexts = tuple(one.contexts[k] for k in known)
    of = replace(one, contexts=contexts, log_p=one.log_p[known], gold=one.gold[known])
    return of if len(known) else None


def absolute_of(one: Asked) -> Found:
    """The numbers of `absolute` in each context, NaN where there are no scores."""
    marks = np.exp(_marks(one))
    scored = np.asarray(~np.isnan(marks).any(axis=(1, 2)))
    share = np.where(scored[:, None, None], marks, 0.2)
    share = share / share.sum(axis=-1, keepdims=True)
    scores = {
        "likeliest": share.argmax(axis=-1) + 1.0,
        "expected": share @ np.arange(1.0, 6.0),
        "avg-prob": average_probability(one.all_calls()),
    }
    each = {
        name: np.where(scored, per_context(values, one.gold), np.nan)[None]
        for name, values in scores.items()
    }
    for a, b in (("avg-prob", "expected"), ("expected", "likeliest")):
        each[f"{a} - {b}"] = each[a] - each[b]
    return {(name,): values for name, values in each.items()}


def with_marks(one: Asked) -> tuple[Asked, Floats] | None:
    """The contexts whose texts were scored as well, and their expected marks (C, N)."""
    if (part := _with_scores(one)) is None:
        return None
    return part, expected_score(np.exp(_marks(part)), np.arange(1.0, 6.0)).scores


def calibration(settings: Settings) -> pd.DataFrame:
    """Count how often people prefer the first text where the model gives it a probability.

    Ten bins of equally many calls, ties of people left out. how : "as given", or "averaged" over
    both orders. p : the bin's mean. value : the share of people, in per cent. se : over contexts.
    """
    rows: list[dict[str, object]] = []
    for dataset in DATASETS:
        asked = group(dataset, "poe", model_of(settings))
        if not asked:
            continue
        for part in [*([one] for one in asked), *([asked] if len(asked) > 1 else [])]:
            rows += _bins(part)
    end = {"kind": "measured", "labels": "real", "draws": 1, "seed": settings.seed}
    return pd.DataFrame(rows).assign(**end)


def _bins(asked: Sequence[Asked]) -> Iterator[dict[str, object]]:
    """Yield the bins of one attribute, or of all together; se : calls of one context together."""
    i, j = np.nonzero(~np.eye(asked[0].gold.shape[1], dtype=bool))
    gaps = [np.sign(one.gold[:, i] - one.gold[:, j]) for one in asked]
    context = np.concatenate([np.repeat(one.contexts, len(i)) for one in asked])
    people = np.concatenate([0.5 + 0.5 * gap.ravel() for gap in gaps])
    ordered = people != 0.5
    for how in ("as given", "averaged"):
        given = [one.p if how == "as given" else one.averaged for one in asked]
        said = np.concatenate([p[:, i, j].ravel() for p in given])[ordered]
        of_people, place = people[ordered], context[ordered]
        for b, part in enumerate(np.array_split(np.argsort(said, kind="stable"), BINS)):
            share = float(of_people[part].mean())
            off = np.bincount(place[part], of_people[part] - share)
            yield {
                "system": asked[0].system,
                "dataset": asked[0].dataset,
                "attribute": asked[0].attribute if len(asked) == 1 else "all",
                "template": asked[0].template,
                "contexts": len(np.unique(context)),
                "how": how,
                "bin": b,
                "p": float(said[part].mean()),
                "count": len(part),
                "value": 100.0 * share,
                "se": 100.0 * float(np.sqrt((off**2).sum()) / len(part)),
            }
