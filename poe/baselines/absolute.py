"""Absolute scores: the expectation over score tokens, and numbers read from replies.

The baselines that score each text alone (comparative_assessment 4.3.2; poe_v2 appendix C.8).
G-Eval (Liu et al. 2023) takes the mean of the scores under the probabilities the model gives
their tokens; prompt scoring reads the number the model wrote. Functions of arrays and
strings: asking the model is somebody else's task.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from poe.comparisons import Floats
from poe.errors import ComparisonError, name_some


@dataclass(frozen=True, eq=False)
class ExpectedScores:
    """Mean of the scores under the model's probabilities.

    scores : (...) expectations, in the units of the scores. mass : (...) probability of all
        score tokens together before they were scaled to one; NaN where it is not known.
    """

    scores: Floats
    mass: Floats


def expected_score(
    probabilities: ArrayLike,
    scores: ArrayLike,
    *,
    log: bool = False,
    min_mass: float = 0.01,
    items: Sequence[Hashable] | None = None,
) -> ExpectedScores:
    """G-Eval's score: sum of score times probability, over the sum of the probabilities.

    probabilities : (..., M) that the next token is each of the M score tokens, or their
        logarithms with log=True. They need not add up to one; what is missing went to
        other tokens, and is reported as one minus `mass`. scores : (M,) the number each
        token stands for.
    min_mass : where the score tokens together have less, the expectation would rest on the
        model's noise, and ComparisonError names the `items` (or positions); 0 accepts all.

    A model without tokens' probabilities can be sampled: give the shares of its replies.
    """
    values, given = _scores(scores), np.asarray(probabilities, dtype=float)
    _check_last_axis(given, values)
    if log:
        _refuse(np.isnan(given).any(-1), items, "log-probability is NaN")
        logs = given
    else:
        wrong = ~((given >= 0.0) & (given <= 1.0)).all(-1)
        _refuse(wrong, items, "probability outside [0, 1] (for logarithms give log=True)")
        with np.errstate(divide="ignore"):
            logs = np.log(given)
    total = logsumexp(logs, axis=-1)
    mass = np.exp(total)
    _refuse(mass > 1.0 + 1e-4, items, "probabilities of the score tokens add up to more than 1")
    too_small = (mass < min_mass) | np.isneginf(total)
    _refuse(
        too_small,
        items,
        f"score tokens have a probability of less than {min_mass:g} together, so the model is "
        "not answering with a score; check the prompt and the token ids (a leading space makes "
        "another token), or lower min_mass",
    )
    return ExpectedScores(np.exp(logs - total[..., None]) @ values, np.minimum(mass, 1.0))


def expected_score_from_logits(
    logits: ArrayLike,
    scores: ArrayLike,
    *,
    log_normaliser: ArrayLike | None = None,
    min_mass: float = 0.01,
    items: Sequence[Hashable] | None = None,
) -> ExpectedScores:
    """G-Eval's score from the model's logits at the score tokens.

    logits : (..., M), at the score tokens only. log_normaliser : (...) logsumexp over the
        whole vocabulary; without it the mass is not known (NaN), and cannot be checked.
    """
    values, given = _scores(scores), np.asarray(logits, dtype=float)
    _check_last_axis(given, values)
    _refuse(~np.isfinite(given).all(-1), items, "logit is not a finite number")
    known = log_normaliser is not None
    total = np.asarray(log_normaliser, float) if known else logsumexp(given, axis=-1)
    if total.shape != given.shape[:-1]:
        raise ValueError(f"log_normaliser has shape {total.shape}, not {given.shape[:-1]}")
    found = expected_score(
        given - total[..., None], values, log=True, min_mass=min_mass, items=items
    )
    return found if known else ExpectedScores(found.scores, np.full(total.shape, np.nan))


@dataclass(frozen=True, eq=False)
class PromptScores:
    """Numbers read from replies.

    items : the N names. scores : (N,) mean of the item's usable replies, NaN if none is.
    replies : number of replies read. unusable : those without a score, as (item, reply,
        reason). ties : pairs of scored items with equal scores, out of `pairs`.
    """

    items: tuple[Hashable, ...]
    scores: Floats
    replies: int
    unusable: tuple[tuple[Hashable, str, str], ...] = field(repr=False)
    ties: int
    pairs: int


def prompt_scores(
    replies: Sequence[str | Sequence[str]] | Mapping[Hashable, str | Sequence[str]],
    *,
    low: float = 1,
    high: float = 10,
    items: Sequence[Hashable] | None = None,
) -> PromptScores:
    """Score items by the numbers a model wrote (comparative_assessment 4.3.2).

    replies : for each item one reply, or several samples, whose mean is taken; a mapping
        names the items. low, high : the range that was asked for.

    Replies that `parse_score` cannot read are counted and listed, not guessed. Raises
    ComparisonError if no reply has a score.
    """
    if isinstance(replies, Mapping):
        items, replies = tuple(replies), list(replies.values())
    names = tuple(range(len(replies)) if items is None else items)
    if not names:
        raise ComparisonError("there are no replies to read: at least one item is needed")
    if len(names) != len(replies):
        raise ComparisonError(f"{len(replies)} replies for {len(names)} items")
    scores, unusable, count = np.full(len(names), np.nan), [], 0
    for n, (name, given) in enumerate(zip(names, replies, strict=True)):
        texts = [given] if isinstance(given, str) else list(given)
        read = []
        for text in texts:
            try:
                read.append(parse_score(text, low=low, high=high))
            except ComparisonError as error:
                unusable.append((name, text, str(error)))
        count += len(texts)
        if read:
            scores[n] = np.mean(read)
    there = scores[~np.isnan(scores)]
    if not there.size:
        first = f"; the first: {unusable[0][2]}" if unusable else ""
        raise ComparisonError(f"none of the {count} replies has a score{first}")
    equal = np.unique(there, return_counts=True)[1]
    return PromptScores(
        items=names,
        scores=scores,
        replies=count,
        unusable=tuple(unusable),
        ties=int((equal * (equal - 1) // 2).sum()),
        pairs=there.size * (there.size - 1) // 2,
    )


_PLAIN = r"(?<![\w.,])[-+\u2212]?\d+(?:[.,]\d+)?"
_ENDS = r"(?!\w|[.,]\d|\s*%)"  # not "4th", nor "4%", nor the 4 of 4.5
_NUMBER = rf"({_PLAIN}){_ENDS}"
_ALONE = rf"\A\s*{_NUMBER}[.!]?[ \t]*(?:\n|\Z)"  # what follows a bare number is not the answer
_SAID = (
    r"\b(?:score|rating|rate|grade|mark|answer)\w*\W{0,12}?"
    r"(?:(?:is|of|it|as|a|at|be|would)\W{1,4}){0,4}?" + _NUMBER
)


def parse_score(reply: str, *, low: float = 1, high: float = 10) -> float:
    """The score a reply states, in [low, high].

    Read in this order, the range itself ("1-10", "from 1 to 10") being passed over: a first
    line that is nothing but a number; "7/10" or "7 out of 10", if the second number is
    `high`; a number that follows a word such as "score" or "rating"; the only number there
    is. A decimal comma is a point.

    Raises ComparisonError that quotes the reply if it has no number, a number outside the
    range, or several different ones and no hint which is meant. Guessing the first would
    turn "1. The text is fluent" into a score.
    """
    if not low < high:
        raise ValueError(f"the range runs from {low:g} to {high:g}: low must be less than high")
    if not isinstance(reply, str):
        raise ComparisonError(f"a reply must be text, not {reply!r}")
    shown = repr(reply if len(reply) <= 60 else reply[:57] + "...")
    text = re.sub(r"[*_`$]+", "", reply)
    bottom, top = re.escape(f"{low:g}"), re.escape(f"{high:g}")
    between = rf"(?<![\w.,]){bottom}\s*(?:-|\u2013|to|and)\s*{top}{_ENDS}"
    text = re.sub(between, " ", text, flags=re.IGNORECASE)
    over = rf"({_PLAIN})\s*(?:/|out of)\s*{top}{_ENDS}"
    for pattern in (_ALONE, over, _SAID, _NUMBER):
        found = {_value(number) for number in re.findall(pattern, text, flags=re.IGNORECASE)}
        if len(found) == 1:
            score = found.pop()
            if low <= score <= high:
                return score
            raise ComparisonError(f"{shown} scores {score:g}, outside [{low:g}, {high:g}]")
        if found:
            many = ", ".join(f"{score:g}" for score in sorted(found))
            raise ComparisonError(f"{shown} has several numbers ({many}): ask for the score only")
    raise ComparisonError(f"{shown} has no number: ask for a score from {low:g} to {high:g} only")


def _value(number: str) -> float:
    return float(number.replace(",", ".").replace("\u2212", "-"))


def _scores(scores: ArrayLike) -> Floats:
    values = np.asarray(scores, dtype=float)
    if values.ndim != 1 or not values.size or not np.isfinite(values).all():
        raise ValueError("scores must be a list of finite numbers, one a token")
    return values


def _check_last_axis(given: Floats, values: Floats) -> None:
    if given.ndim < 1 or given.shape[-1] != len(values):
        raise ValueError(
            f"the last axis must hold one entry for each of the {len(values)} scores; the "
            f"shape is {given.shape}"
        )


def _refuse(wrong: ArrayLike, items: Sequence[Hashable] | None, why: str) -> None:
    wrong = np.asarray(wrong)
    if not wrong.any():
        return
    if items is not None and len(items) == wrong.size:
        names = [items[int(k)] for k in np.flatnonzero(wrong)]
    elif wrong.ndim == 0:
        raise ComparisonError(why)
    else:
        names = [
            place[0] if len(place) == 1 else place
            for place in map(tuple, np.argwhere(wrong).tolist())
        ]
    raise ComparisonError(f"items {name_some(names)}: {why}")
