"""The first line of a report: decide, ask more (how much, what it costs), or not by this judge.

It is about the best. That one text is better than a rival is settled when the difference of their
scores is so many standard errors; those shrink with the root of the number of answers, so

    more = asked ((q se / difference)^2 - 1)

may do, q the normal quantile at the level, shared among the rivals that are open. But who leads
leads partly by luck. So it is always said how probable it is that so many answers, what is left of
a budget, or all that can be asked would settle who is best. With T times as many answers in all,

    scores to come ~ N(m, V),  m = s (1/T + (1 - 1/T) r),  V = (1 - 1/T)^2 (r C + C / (T - 1)),

and their covariance is C / T: scores s of covariance C, which say of the true ones that these lie
round r s with covariance r C (`poe.Fit.james_stein`). Answers spread as they were; a rule that
asks about the top does better. Only where all is improbable is asking on no advice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from scipy.special import chdtri, ndtr, ndtri

from judging import kinds
from judging.cost import Price
from judging.practice.ranking.equal import on_top
from judging.practice.ranking.readings import (
    HARDLY,
    drowned,
    listed,
    percent,
    plural,
    two_digits,
)
from judging.practice.reading.tables import called
from judging.practice.trust.needed import needed
from judging.practice.trust.trust import Trust
from poe.result import Fit

if TYPE_CHECKING:
    from judging.practice.ranking.ranking import Ranking

__all__ = ["Verdict", "of_fit", "verdict"]

MOST_TIMES = 100.0  # times as many answers as there are, beyond which more are no advice
LEAST = 0.1  # as many more, as a share of what there is, below which nothing is advised
RIVALS = 10  # below the first that are looked at
NAMED = 5  # texts that are named where any of them could be the best
HOPELESS = 0.1  # probability that all that can be asked would settle it, below which it is alike
DRAWS = 2000

State = Literal["decide", "ask", "label", "alike", "not by this judge"]


class Verdict(NamedTuple):
    """state, text : what to do, for a program and for a reader.

    more : answers to ask for next; labels : of people, these included, that would tell whether the
    judge beats a coin. None where none are advised.
    """

    state: State
    text: str
    more: int | None = None
    labels: int | None = None


def verdict(one: Ranking, thing: str = "text") -> Verdict:
    """What a ranking's reader should do."""
    n, asked = len(one.fit.items), len(one.comparisons)
    asked += 0 if one.judged is None else len(one.judged.refused)
    return of_fit(
        one.fit,
        one.level,
        thing=thing,
        what="call",
        left=max(n * (n - 1) - asked, 0),
        rest=one.rest if one.partial else 0,
        partial=one.partial,
        takes=lambda more: _takes(one, more),
        people=one.trust,
        by_judge=True,
    )


def of_fit(
    fit: Fit,
    level: float,
    *,
    thing: str,
    what: str,
    left: float = np.inf,
    rest: int = 0,
    partial: bool = False,
    takes: Callable[[int], str] | None = None,
    people: Trust | None = None,
    by_judge: bool = False,
    judged: bool = False,
) -> Verdict:
    """The same of any fit. what : an answer. left : how many there can be more.

    partial, rest : whether asking was cut short, and how many of the budget were not made.
    takes : a function of more answers that says what they take. by_judge : whether it is known
    that a judge of texts answered, and not people; judged : or a judge of systems' answers.
    """
    told = _not_by_this(fit, level, thing, people, judged=by_judge or judged) or _label(people)
    equal = on_top(fit)
    if told is None and len(equal) == 1 and fit.prob_top_set(1) >= level:
        told = _decide(fit, level, thing, people, by_judge=by_judge)
    if told is not None:
        return told
    could = max(leaders(fit, level), equal, key=len)
    named = _named(could, thing, len(fit.items))
    take = "either" if len(could) == 2 else "any of them"
    blind = f"{_named(equal, thing, len(fit.items))} are equal" if len(equal) > 1 else ""
    if not blind and not _tells_apart(fit, level):
        things = f"these {plural(thing)}"
        what_of_them = f"this judge tells {things} apart" if by_judge else f"{things} differ"
        blind = (
            f"nothing shows yet that {what_of_them}: their scores differ no more than chance would "
            "make them"
        )
    if left == 0:
        open_ = blind or f"{named} are too close"
        return Verdict(
            "alike",
            f"Who is best stays open: every {what} was made, and {open_}. Take {take}, or ask "
            "somebody else.",
        )
    close = blind or f"{named} are close"
    odds = _odds(fit, level, left, rest, what, takes)
    every, more = odds[-1], odds[0].answers
    if every.chance < HOPELESS and not partial:
        return Verdict(
            "alike",
            f"Asking more will hardly tell who is best: {close}, and {every.text} would with a "
            f"probability of {_about(every.chance)}. Take {take}, or ask somebody else.",
        )
    would = [
        f"{one.text} would {'tell who is best' if one is odds[0] else 'do so'} with a probability "
        f"of {_about(one.chance)}"
        for one in odds
    ]
    return Verdict(
        "ask",
        f"Ask more before you decide: {close}; {', and '.join(would)}.",
        more=int(more) if np.isfinite(more) else None,
    )


def _not_by_this(
    fit: Fit, level: float, thing: str, people: Trust | None, *, judged: bool
) -> Verdict | None:
    """Where the place decides, or people and the judge do not agree more often than by chance."""
    heard = people is not None and people.state == "agrees"
    if (share := drowned(fit, level)) >= HARDLY and not heard:
        place, rate = "first" if fit.bias < 0 else "second", percent(share)
        why = (
            f"the judge hardly reads: in {rate} of the comparisons it would choose what is shown "
            f"{place}, whichever {thing} that is"
            if judged
            else f"the place decides: in {rate} of the comparisons the {place} would win, whatever "
            f"{thing} that is. If the table does not have the order in which {plural(thing)} were "
            "shown, say so in a column in_order that is 0"
        )
        return Verdict("not by this judge", f"Do not decide by this ranking, because {why}.")
    if people is None or people.state != "useless":
        return None
    a = people.agreement
    return Verdict(
        "not by this judge",
        f"Do not decide by this judge: people order two {plural(thing)} as it does in {a.rate:.0%} "
        f"({a.low:.0%} to {a.high:.0%}) of pairs, and a coin would in 50%.",
    )


def _label(people: Trust | None) -> Verdict | None:
    """Where people have said something, and too little."""
    if people is None or people.state != "open":
        return None
    wanted = max(people.wanted, people.labels + 1)
    return Verdict(
        "label",
        f"Have people label more before you decide: about {wanted:,} {people.kind} in place of "
        f"{people.labels:,} would tell whether this judge beats a coin.",
        labels=wanted,
    )


def _decide(fit: Fit, level: float, thing: str, people: Trust | None, *, by_judge: bool) -> Verdict:
    """For the first, and how far a judge that nobody has checked can be trusted."""
    best = called(fit.ranking()[0], thing)
    if people is not None or not by_judge:
        return Verdict("decide", f"Decide for {best}.")
    few, n = needed(level=level).scores, len(fit.items)
    which = f"of {few} {plural(thing)}" if few < n else f"of these and more, {few} in all,"
    return Verdict(
        "decide",
        f"Decide for {best}, if you trust this judge: scores by people {which} would tell how far "
        "you can.",
        labels=few,
    )


class _Odds(NamedTuple):
    answers: float
    text: str
    chance: float


def _odds(
    fit: Fit,
    level: float,
    left: float,
    rest: int,
    what: str,
    takes: Callable[[int], str] | None,
) -> list[_Odds]:
    """How probable it is that more answers settle who is best: the next ones, and all."""
    some = rest or _more(fit, level) or np.inf
    counts = [some, left] if some < left else [left]
    if not np.isfinite(counts[-1]) and len(counts) > 1:
        counts.pop()
    said = []
    for count in counts:
        cost = takes(int(count)) if takes is not None and np.isfinite(count) else ""
        if not np.isfinite(count):
            text = f"a lot more {what}s"
        elif count == rest:
            text = f"the rest of the budget, {count:,.0f} {what}{'s' if count > 1 else ''}{cost},"
        elif count == left:
            text = f"all {left:,.0f} {what}s left{cost}" if left > 1 else f"the {what} left{cost}"
        else:
            text = f"about {count:,.0f} more {what}{'s' if count > 1 else ''}{cost}"
        said.append(_Odds(count, text, _chance(fit, level, count)))
    return said


def leaders(fit: Fit, level: float) -> list[Any]:
    """Items that could be the best, the likeliest first; two at least."""
    names = fit.ranking()
    first = dict(zip(fit.items, fit.rank_interval(level)[:, 0], strict=True))
    could = [name for name in names if first[name] == 1]
    return could if len(could) > 1 else names[:2]


def _named(could: list[Any], thing: str, n: int) -> str:
    if len(could) > NAMED:
        return f"{'all' if len(could) == n else f'{len(could):,} of'} {n:,} {plural(thing)}"
    return listed(called(name, thing) for name in could)


def _tells_apart(fit: Fit, level: float) -> bool:
    """Whether the scores differ by more than their errors explain."""
    error = fit.standard_errors()
    return bool(((fit.scores / error) ** 2).sum() > chdtri(len(error) - 1, 1.0 - level))


def _about(chance: float) -> str:
    """A probability that was drawn: "about 40%", "over 99%"."""
    return f"{'about ' if 0.005 <= chance < 0.995 else ''}{percent(chance)}"


def _more(fit: Fit, level: float) -> int | None:
    """Answers that would settle who is best if the scores stay; None where that is no advice.

    A tenth more at least: where so few are missing, fewer may take away as well as add.
    """
    order = np.argsort(-fit.scores, kind="stable")[: RIVALS + 1]
    first, others = np.full(len(order) - 1, order[0]), order[1:]
    p = fit.better(first, others)
    open_ = p < 1.0 - (1.0 - level) / len(p)
    quantile = ndtri(1.0 - (1.0 - level) / max(int(open_.sum()), 1))
    gap = fit.scores[order[0]] - fit.scores[others]
    error = np.array([fit.difference_se(fit.items[order[0]], fit.items[k]) for k in others])
    with np.errstate(divide="ignore", invalid="ignore"):
        times = (quantile * error / gap) ** 2
    most = float(np.max(np.where(open_, times, 0.0)))
    if not most <= MOST_TIMES:
        return None
    asked = int(fit.real.sum())
    return two_digits(max(np.ceil(asked * max(most - 1.0, LEAST)), 1.0))


def _chance(fit: Fit, level: float, more: float) -> float:
    """Probability that so many more answers settle who is best, as far as the scores tell."""
    top = np.argsort(-fit.scores, kind="stable")[: RIVALS + 1]
    asked = max(int(fit.real.sum()), 1)
    times = 1.0 + min(more / asked, MOST_TIMES)
    new, r = 1.0 - 1.0 / times, fit.james_stein
    covariance = fit.covariance()[np.ix_(top, top)]
    value, vector = np.linalg.eigh(covariance)
    noise = np.random.default_rng(0).standard_normal((DRAWS, len(top)))
    noise *= np.sqrt(np.clip(value, 0.0, None) * (r + 1.0 / (times - 1.0))) * new
    scores = fit.scores[top] * (1.0 / times + new * r) + noise @ vector.T
    own = np.diag(covariance)
    error = np.sqrt(np.maximum(own[:, None] + own - 2.0 * covariance, 0.0) / times)
    ahead = scores.max(axis=1, keepdims=True) - scores
    of_best = error[scores.argmax(axis=1)]
    # That another is better after all, added over all others.
    with np.errstate(divide="ignore", invalid="ignore"):
        wrong = np.where(ahead > 0.0, ndtr(-ahead / of_best), 0.0).sum(axis=1)
    return float((wrong <= 1.0 - level).mean())


def _takes(one: Ranking, more: int) -> str:
    """What so many more calls of a ranking's judge take: " (about 40,000 tokens, $0.02)"."""
    if one.judged is None or not one.judged.answers:
        return ""
    each = float(np.mean([answer.read for answer in one.judged.answers]))
    if not each:
        return ""
    said = f"about {two_digits(each * more):,} {kinds.unit(one.judged.judge.specification)}"
    if one.asking.price is not None:
        money = Price(*one.asking.price).of(each * more, one.judged.judge.written * more)
        said += f", ${money:,.2f}" if money >= 0.1 else f", ${money:,.4f}"
    return f" ({said})"
