"""The first line of a report: decide, ask more (how much, what it costs), or not by this judge.

It is about the best. That one text is better than a rival is settled when the difference of their
scores is so many standard errors; those shrink with the root of the number of answers, so

    more = asked ((q se / difference)^2 - 1),

q the normal quantile at the level, shared among the rivals that are open. It assumes that the
difference stays as it is, and comparisons spread as they were: a rule that asks about the top needs
fewer. The difference of two close scores is mostly error, so where this asks for more than there
are, nothing follows: then we say how probable it is that all of them would settle who is best,

    scores to come ~ N(scores, C (1 - 1/T)), their covariance C / T,

T times as many answers in all. Only where that is improbable is asking on no advice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from judging import kinds
from judging.cost import Price
from judging.ranking.readings import HARDLY, better, drowned, percent
from judging.reading.tables import called
from judging.trust.needed import needed
from judging.trust.trust import Trust
from poe.result import Fit

if TYPE_CHECKING:
    from judging.ranking.ranking import Ranking

__all__ = ["Verdict", "of_fit", "verdict"]

MOST_TIMES = 100.0  # times as many answers as there are, beyond which more are no advice
RIVALS = 10  # below the first that are looked at
HOPELESS = 0.1  # probability that all that can be asked would settle it, below which it is alike
DRAWS = 2000

State = Literal["decide", "ask", "label", "alike", "not by this judge"]


class Verdict(NamedTuple):
    """state, text : what to do, for a program and for a reader.

    more : answers that would tell who is best; labels : of people, these included, that would tell
    whether the judge beats a coin. None where none are advised.
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
    partial: bool = False,
    takes: Callable[[int], str] | None = None,
    people: Trust | None = None,
    by_judge: bool = False,
) -> Verdict:
    """The same of any fit. what : an answer. left : how many there can be more.

    partial : whether asking was cut short.
    takes : a function of more answers that says what they take. by_judge : whether it is known
    that a judge of texts answered, and not people.
    """
    heard = people is not None and people.state == "agrees"
    if (share := drowned(fit, level)) >= HARDLY and not heard:
        place = "first" if fit.bias < 0 else "second"
        return Verdict(
            "not by this judge",
            f"Do not decide by this ranking, because the judge hardly reads: in {percent(share)} "
            f"of the comparisons it would choose what is shown {place}, whichever {thing} that is.",
        )
    if people is not None and people.state == "useless":
        a = people.agreement
        return Verdict(
            "not by this judge",
            f"Do not decide by this judge: people order two {thing}s as it does in {a.rate:.0%} "
            f"({a.low:.0%} to {a.high:.0%}) of pairs, and a coin would in 50%.",
        )
    if people is not None and people.state == "open":
        wanted = max(people.wanted, people.labels + 1)
        return Verdict(
            "label",
            f"Have people label more before you decide: about {wanted:,} {people.kind} in place of "
            f"{people.labels:,} would tell whether this judge beats a coin.",
            labels=wanted,
        )
    first = fit.ranking()[0]
    best = called(first, thing)
    if float(fit.prob_top(1)[fit.items.index(first)]) >= level:
        if people is not None or not by_judge:
            return Verdict("decide", f"Decide for {best}.")
        few = needed(level=level).scores
        n = len(fit.items)
        which = f"of {few} {thing}s" if few < n else f"of these and more, {few} in all,"
        return Verdict(
            "decide",
            f"Decide for {best}, if you trust this judge: scores by people {which} would tell how "
            "far you can.",
            labels=few,
        )
    more, nearest = _more(fit, level)
    rival = called(nearest, thing)
    if left == 0:
        return Verdict(
            "alike",
            f"Who is best stays open: every {what} was made, and {best} and {rival} are too close. "
            "Take either, or ask somebody else.",
        )
    if more is None or more > left:
        chance = _chance(fit, level, left)
        every = f"a lot more {what}s"
        if np.isfinite(left):
            cost = takes(int(left)) if takes is not None else ""
            every = f"all {left:,.0f} {what}s left{cost}" if left > 1 else f"the {what} left{cost}"
        about = "about " if 0.005 <= chance < 0.995 else ""
        odds = f"{every} would tell who is best with a probability of {about}{percent(chance)}"
        if chance < HOPELESS and not partial:
            return Verdict(
                "alike",
                f"Asking more will hardly tell who is best: {best} and {rival} are close, and "
                f"{odds}. Take either, or ask somebody else.",
            )
        return Verdict("ask", f"Ask more before you decide: {best} and {rival} are close; {odds}.")
    cost = takes(more) if takes is not None else ""
    return Verdict(
        "ask",
        f"Ask more before you decide: about {more:,} more {what}{'s' if more > 1 else ''}{cost} "
        "would tell who is best.",
        more=more,
    )


def _more(fit: Fit, level: float) -> tuple[int | None, object]:
    """Answers that would settle who is best (None: too many to advise), and the nearest rival."""
    order = np.argsort(-fit.scores, kind="stable")[: RIVALS + 1]
    first, others = np.full(len(order) - 1, order[0]), order[1:]
    p = better(fit, first, others)
    nearest = fit.items[int(others[np.argmin(p)])]
    open_ = p < 1.0 - (1.0 - level) / len(p)
    quantile = ndtri(1.0 - (1.0 - level) / max(int(open_.sum()), 1))
    gap = fit.scores[order[0]] - fit.scores[others]
    error = np.array([fit.difference_se(fit.items[order[0]], fit.items[k]) for k in others])
    with np.errstate(divide="ignore", invalid="ignore"):
        times = (quantile * error / gap) ** 2
    most = float(np.max(np.where(open_, times, 0.0)))
    if not most <= MOST_TIMES:
        return None, nearest
    return max(int(np.ceil(int(fit.real.sum()) * (most - 1.0))), 1), nearest


def _chance(fit: Fit, level: float, left: float) -> float:
    """Probability that so many more answers settle who is best, as the scores are known now."""
    top = np.argsort(-fit.scores, kind="stable")[: RIVALS + 1]
    asked = max(int(fit.real.sum()), 1)
    times = 1.0 + min(left / asked, MOST_TIMES)
    covariance = fit.covariance()[np.ix_(top, top)]
    value, vector = np.linalg.eigh(covariance)
    noise = np.random.default_rng(0).standard_normal((DRAWS, len(top)))
    noise *= np.sqrt(np.clip(value, 0.0, None) * (1.0 - 1.0 / times))
    scores = fit.scores[top] + noise @ vector.T
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
    said = f"about {_round(each * more):,} {kinds.unit(one.judged.judge.specification)}"
    if one.asking.price is not None:
        money = Price(*one.asking.price).of(each * more, one.judged.judge.written * more)
        said += f", ${money:,.2f}" if money >= 0.1 else f", ${money:,.4f}"
    return f" ({said})"


def _round(value: float) -> int:
    """To two digits."""
    digits = max(int(np.floor(np.log10(max(value, 1.0)))) - 1, 0)
    return int(round(value, -digits))
