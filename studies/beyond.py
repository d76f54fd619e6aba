"""Beyond the papers: a prior whose strength the answers choose, against the papers' methods.

Declared before it was run: the judges are the five twins on SummEval and TopicalChat (`small`),
HANNA's five recorded judges with a prompt drawn for either story of a call (`recorded`; each pair
in one order, drawn at random: there is no position to be biased to), and SmolLM2's answers
(`smollm2`); the methods, calls and draws are those named below. Every method scores the same
answers, and differences are paired. Nothing in an empirical-Bayes method sees a human score. Added
after a first look at the results: EB-logit-g on greedy pairs, differences from the win-ratio, and
more draws of the measured judge's calls (a quarter of all instead of a tenth).

Three questions. "methods": how much agreement a method gains. "trials": whether what might be
added to the model earns its place (`studies.trials`). "confidence": of pairs of texts, how
sure a posterior is of their order, and how often it is right about the order that the judge itself
would give (a twin's qualities, the mean over a recorded judge's prompts, the average probability of
all calls of the measured judge).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit, ndtr

import poe
from judging.judges import recorded
from judging.metrics import spearman
from poe import newton, priors
from poe.arrays import Floats, Indices
from poe.choose.selection import select
from poe.comparisons import Comparisons
from poe.experts import BradleyTerry, Gaussian
from poe.scores import add_prior
from poe.stack import Stack, differences, laplacian, pseudo_inverse
from reproduction import ask_model, large
from reproduction.answers import Measured
from reproduction.measured_tables import DATASETS, group
from reproduction.recorded_answers import ATTRIBUTES, ManyPrompts, under_all_prompts
from reproduction.settings import Settings, bootstrap_se
from reproduction.small import METHODS as MODES
from reproduction.small import Method, all_calls, draw_pairs, per_context
from reproduction.twins import Twin, labels, stream, symmetric_stack, twins
from studies import trials
from studies.trials import Trial, by_evidence

CALLS = {"summeval": (32, 48, 96, 240), "topicalchat": (12, 18, 30)}  # a context
CLOSER = {"summeval": 48, "topicalchat": 18}  # where trials are made and confidence is counted
TIMES = (1.2, 2.0, 3.0, 5.0, 10.0)  # calls a text on HANNA
CLOSER_TIMES = 2.0  # and where greedy selection is tried on HANNA: a set of pairs takes seconds
BASELINES = ("PoE-g", "PoE-BT", "PoE-g, papers' prior", "win-ratio")


def _alone(method: Method) -> Trial:
    return lambda stack, _: method(stack)


def _with_prior(expert: Any) -> Trial:
    """The papers' prior, as strong as they have it and on every pair, as in their code."""
    return lambda stack, _: (
        newton.solve(add_prior(stack, 1.0 / (stack.n_items - 1)), expert, tol=1e-9).scores
    )


METHODS: dict[str, Trial] = {
    **{name: _alone(MODES[name]) for name in ("win-ratio", "avg-prob", "PoE-BT", "PoE-g")},
    "PoE-BT, papers' prior": _with_prior(BradleyTerry()),
    "PoE-g, papers' prior": _with_prior(Gaussian()),
    "EB-g": by_evidence("gaussian"),
    "EB-logit-g": by_evidence("logit-gaussian"),
    "EB-g-hard": lambda stack, pool: priors.solve(stack.hard(), pool=pool).scores,
}
GREEDY = {f"{name}, greedy pairs": METHODS[name] for name in ("PoE-g", "EB-logit-g")}


# From draws to rows ---------------------------------------------------------------------------

# By (question, calls, method): units x draws, or attributes x draws x contexts.
Found = dict[tuple[str, float, str], Floats]


def rows(
    dataset: str, measures: Found, settings: Settings, *, over: str, kind: str
) -> Iterator[dict[str, object]]:
    """A row a method, and one for each difference: value and se x 100, and units in which it won.

    against : "" or the method that was subtracted, draw by draw. wins : of judge-attributes.
    over : what standard errors are over, "draws", "judge-attributes" or "contexts".
    """
    for (question, calls, method), values in measures.items():
        bases = {"methods": BASELINES, "trials": (trials.AGAINST.get(method, ""),)}
        names = [other for other in bases.get(question, ()) if other != method]
        there = [other for other in names if (question, calls, other) in measures]
        for against in ("", *there):
            each = values - measures[question, calls, against] if against else values
            by_unit = np.array([np.nanmean(one) for one in each])
            if over == "draws":
                error = each.mean(axis=0).std(ddof=1) / np.sqrt(each.shape[1])
            elif over == "contexts":
                error = bootstrap_se(each)
            else:
                error = by_unit.std(ddof=1) / np.sqrt(len(by_unit))
            yield {
                "question": question,
                "dataset": dataset,
                "k": round(calls),
                "calls_per_text": calls / labels(dataset).n_candidates,
                "method": method,
                "against": against,
                "value": 100.0 * by_unit.mean(),
                "se": 100.0 * float(error),
                "over": over,
                "wins": int((by_unit > 0.0).sum()) if against else 0,
                "of": len(by_unit),
                "kind": kind,
                "labels": "real",
                "draws": settings.draws,
                "seed": settings.seed,
            }


def _stacked(each: Iterable[Mapping[Any, Floats]]) -> Found:
    """Many units' results as one array a key."""
    parts = list(each)
    return {key: np.stack([part[key] for part in parts]) for key in parts[0]}


# Contexts of a few texts ----------------------------------------------------------------------


@dataclass(frozen=True)
class Asked:
    """Answers of one judge: pairs (draws, C, K, 2), p, and the order it would give itself."""

    pairs: Indices
    p: Floats
    truth: Floats
    gold: Floats

    def stack(self, *, apart: bool = False) -> Stack:
        """Both orders averaged, or every call by itself."""
        n = self.gold.shape[-1]
        stack = Stack.of(n, self.pairs, self.p) if apart else symmetric_stack(n, self.pairs, self.p)
        return stack.flattened()

    def agreement(self, scores: Floats) -> Floats:
        """(draws, C) Spearman with people."""
        return per_context(scores.reshape(self.truth.shape), self.gold)


def ask(judge: Twin, gold: Floats, count: int, rule: str, *, seed: int, draws: int) -> Asked:
    """Fresh twins, or the measured judge, and fresh sets of calls."""
    start = [seed, 31, stream(judge)]
    answering = judge.answer(gold, np.random.default_rng(start), draws=draws)
    design = np.random.default_rng([*start, count, len(rule)])
    contexts, n = gold.shape
    pairs = draw_pairs(rule, count, draws * contexts, n, design)
    pairs = pairs.reshape(draws, contexts, count, 2)
    if isinstance(judge, Measured):
        truth = np.nanmean(judge.p + 1.0 - np.swapaxes(judge.p, -1, -2), axis=-1)
        truth = np.broadcast_to(truth, (draws, *gold.shape))
    else:
        truth = answering.quality
    return Asked(pairs, answering.answer(pairs), truth, gold)


def small(judge: Twin, gold: Floats, seed: int, draws: int, fewer: int) -> Found:
    """(draws, C) of one judge and attribute; trials with fewer draws."""
    measures: Found = {}
    c, everything = len(gold), all_calls(judge.dataset)
    for count in CALLS[judge.dataset]:
        asked = ask(judge, gold, count, "symmetric", seed=seed, draws=draws)
        stack = asked.stack()
        for name, score in METHODS.items():
            measures["methods", count, name] = asked.agreement(score(stack, c))
        if count < everything:
            greedy = ask(judge, gold, count, "greedy", seed=seed, draws=draws)
            for name, score in GREEDY.items():
                measures["methods", count, name] = greedy.agreement(score(greedy.stack(), c))
        if count != CLOSER[judge.dataset]:
            continue
        for name, confident in CONFIDENCE.items():
            certain, right = confidence(confident(stack, c), asked.truth.reshape(-1, len(gold[0])))
            measures["confidence", count, f"{name}: sure"] = certain.reshape(draws, c)
            measures["confidence", count, f"{name}: right"] = right.reshape(draws, c)
    count = CLOSER[judge.dataset]
    asked = ask(judge, gold, count, "symmetric", seed=seed + 1, draws=fewer)
    for name, trial in trials.AVERAGED.items():
        measures["trials", count, name] = asked.agreement(trial(asked.stack(), c))
    for name, trial in trials.APART.items():
        measures["trials", count, name] = asked.agreement(trial(asked.stack(apart=True), c))
    return measures


def simulated(settings: Settings) -> pd.DataFrame:
    """The twins. Errors are Monte Carlo errors over draws of the mean over judge-attributes."""
    judges = [twin for dataset in CALLS for twin in twins(dataset).values()]
    gold = {twin: labels(twin.dataset).scores[twin.attribute] for twin in judges}
    draws, fewer = max(settings.draws // 10, 2), max(settings.draws // 50, 2)
    return _in_contexts(gold, draws, fewer, settings, over="draws", kind="simulated")


def measured(settings: Settings) -> pd.DataFrame:
    """SmolLM2. Errors are over contexts that all attributes were asked about."""
    gold: dict[Twin, Floats] = {}
    for asked in filter(None, map(group, DATASETS)):
        common = sorted(set.intersection(*(set(one.contexts) for one in asked)))
        for one in asked:
            here = [one.contexts.index(c) for c in common]
            judge = Measured(ask_model.NAME, one.dataset, one.attribute, p=one.p[here])
            gold[judge] = one.gold[here]
    draws = max(settings.draws // 4, 2)
    return _in_contexts(gold, draws, draws, settings, over="contexts", kind="measured")


def _in_contexts(
    gold: Mapping[Twin, Floats], draws: int, fewer: int, settings: Settings, *, over: str, kind: str
) -> pd.DataFrame:
    """`small` of judges, by people's scores of what each is asked about, as rows."""
    done = settings.map(lambda one: small(one, gold[one], settings.seed, draws, fewer), gold)
    results: list[dict[str, object]] = []
    for dataset in dict.fromkeys(judge.dataset for judge in gold):
        measures = _stacked(part for judge, part in done.items() if judge.dataset == dataset)
        if over == "draws":  # NaN where people gave all texts of a context the same score
            measures = {key: np.nanmean(x, axis=-1) for key, x in measures.items()}
        results += rows(dataset, measures, settings, over=over, kind=kind)
    return pd.DataFrame(results)


# One large set --------------------------------------------------------------------------------


def recorded_judges(settings: Settings) -> pd.DataFrame:
    """HANNA's judges. Errors are over judge-attributes, 15 of them."""
    draws = max(settings.draws // 25, 2)
    units = list(product(recorded.HANNA_JUDGES, ATTRIBUTES))
    done = settings.drawn(lambda unit, k: one_large(*unit, k, settings.seed), units, draws)
    parts = [
        {key: np.array([one[key] for one in each if key in one]) for key in each[0]}
        for each in done.values()
    ]
    results = rows("hanna", _stacked(parts), settings, over="judge-attributes", kind="recorded")
    return pd.DataFrame(results)


def one_large(name: str, attribute: str, draw: int, seed: int) -> dict[Any, Any]:
    """Spearman of one draw of calls and prompts, by (question, calls, method).

    Calls are those of the whole set, in proportion where a judge left stories out.
    """
    scores, present = under_all_prompts(name, attribute)
    gold, n = labels("hanna").scores[attribute][0][present], len(present)
    whole, truth = labels("hanna").n_candidates, scores.mean(axis=0)
    measures: dict[Any, Any] = {}

    def note(question: str, times: float, method: str, made: Floats) -> None:
        measures[question, times * whole, method] = float(spearman(made, gold))

    for times in TIMES:
        rng = np.random.default_rng([seed, 31, draw, round(10 * times)])
        judge = ManyPrompts(scores, rng)
        pool = large.pool(n, seed, draw)
        c = large.compared(n, round(times * n), judge, rng, known=pool, rule="no-repeat")
        plain = large.scores(c, ("win-ratio", "avg-prob", "PoE-BT", "PoE-g"))
        fits = {
            "EB-g": poe.fit(c, "gaussian", prior="fit"),
            "EB-logit-g": poe.fit(c, "logit-gaussian", prior="fit"),
        }
        plain |= {method: fit.scores for method, fit in fits.items()}
        plain["EB-g-hard"] = poe.fit(c.hard(), "gaussian", prior="fit").scores
        # The papers' prior on all pairs as the ridge that it is to Gaussian experts, and to
        # Bradley-Terry ones near a tie: sum over pairs of (s_i - s_j)^2 is N |s|^2.
        ridge = 2.0 * n / (n - 1)
        plain["PoE-BT, papers' prior"] = trials.ridge_bt(c, ridge / 4.0)[0]
        plain["PoE-g, papers' prior"] = priors.by_conjugate_gradients(c, Gaussian(), 0.0, ridge)
        for method in METHODS:
            note("methods", times, method, plain[method])
        if times == CLOSER_TIMES:
            place = rng.permutation(n)
            pairs = place[greedy_pairs(n, round(times * n))]
            asked = Comparisons.from_pairs(pairs, judge(pairs), items=n)
            selected = large.scores(asked, ("PoE-g",))["PoE-g"]
            both = poe.fit(asked, "logit-gaussian", prior="fit").scores
            for method, made in zip(GREEDY, (selected, both), strict=True):
                note("methods", times, method, made)
        if times == CLOSER_TIMES and draw == 0:
            for method, expert in (("PoE-g", "gaussian"), ("PoE-BT", "bradley-terry")):
                fits[method] = poe.fit(c, expert, covariance="curvature")
            for method, fit in fits.items():
                posterior = (fit.scores[None], fit.covariance()[None])
                certain, right = confidence(posterior, truth[None])
                measures["confidence", times * whole, f"{method}: sure"] = float(certain[0])
                measures["confidence", times * whole, f"{method}: right"] = float(right[0])
            for method, trial in trials.LARGE.items():
                note("trials", times, method, trial(c))
    return measures


@cache
def greedy_pairs(n: int, count: int) -> Indices:
    """(count, 2) by the greedy determinant; it depends on no answer."""
    return select(n, count, rule="greedy", seed=0)


# How sure, and how often right ----------------------------------------------------------------

Posterior = tuple[Floats, Floats]  # scores (B, N) and their covariance (B, N, N)


def _by_evidence(expert: str) -> Callable[[Stack, int], Posterior]:
    def made(stack: Stack, pool: int) -> Posterior:
        solution = priors.solve(stack, expert, pool=pool)
        ratio, sigma = (
            np.repeat(x, pool)[:, None, None] for x in (solution.prior.ratio, solution.prior.sigma)
        )
        ridge = ratio * (np.eye(stack.n_items) - 1.0 / stack.n_items)
        return solution.scores, sigma**2 * pseudo_inverse(laplacian(stack, stack.weight) + ridge)

    return made


def _gaussian_posterior(stack: Stack, pool: int) -> Posterior:
    """Sigma from the residuals, of all contexts together."""
    scores = METHODS["PoE-g"](stack, pool)
    left = ((stack.p - 0.5 - differences(stack, scores)) ** 2).sum(axis=-1)
    freedom = stack.p.shape[1] - stack.n_items + 1
    variance = np.repeat(left.reshape(-1, pool).mean(axis=1) / freedom, pool)[:, None, None]
    return scores, variance * pseudo_inverse(laplacian(stack, stack.weight))


def _bt_posterior(stack: Stack, pool: int) -> Posterior:
    """The curvature, as the papers have it."""
    scores = METHODS["PoE-BT"](stack, pool)
    q = expit(differences(stack, scores))
    return scores, pseudo_inverse(laplacian(stack, stack.weight * q * (1.0 - q)))


CONFIDENCE: dict[str, Callable[[Stack, int], Posterior]] = {
    "PoE-g": _gaussian_posterior,
    "PoE-BT": _bt_posterior,
    "EB-g": _by_evidence("gaussian"),
    "EB-logit-g": _by_evidence("logit-gaussian"),
}


def confidence(posterior: Posterior, truth: Floats) -> tuple[Floats, Floats]:
    """Mean probability of the order found, and how often it is the true one, over all pairs.

    Both (B,); pairs that are equal in truth are left out, equal scores are right half of the time.
    """
    scores, spread = posterior
    i, j = np.triu_indices(scores.shape[-1], 1)
    gap = scores[:, i] - scores[:, j]
    gap = np.where(np.abs(gap) < 1e-9, 0.0, gap)  # rounding differs between machines
    own = np.diagonal(spread, axis1=-2, axis2=-1)
    error = np.sqrt(np.maximum(own[:, i] + own[:, j] - 2.0 * spread[:, i, j], 1e-300))
    real = np.sign(truth[:, i] - truth[:, j])
    ordered = np.maximum((real != 0.0).sum(axis=-1), 1)
    sure = np.where(real != 0.0, ndtr(np.abs(gap) / error), 0.0).sum(axis=-1) / ordered
    right = np.where(real != 0.0, 0.5 + 0.5 * np.sign(gap) * real, 0.0).sum(axis=-1) / ordered
    return sure, right
