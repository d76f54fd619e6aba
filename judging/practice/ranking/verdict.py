"""The first line of a report: decide, ask more (how much, what it costs), or not by this judge.

It is about the best. That one text is better than a rival is settled when the difference of their
scores is so many standard errors; those shrink with the root of the number of answers, so

    more = asked ((q se / difference)^2 - 1)

may do, q the normal quantile at the level, shared among the rivals that are open. But who leads
leads partly by luck. So it is always said how probable it is that so many answers, what is left of
a budget, or all that can be asked would settle who is best. With T times as many answers in all,

    scores to come ~ N(m, V),  m = s (1/T + (1 - 1/T) r),  V = (1 - 1/T)^2 (r C + C / (T - 1)),

and their covariance is C / T: scores s of covariance C, which say of the true ones that these lie
round r s with covariance r C, averaged over what r and the size of C may be (`poe.luck`). Answers
spread as they were; a rule that asks about the top does better. Only where all is improbable is
asking on no advice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy.special import chdtri, ndtr, ndtri

from judging import kinds
from judging.cost import Price
from judging.practice import findings as f
from judging.practice.ranking.equal import on_top
from judging.practice.ranking.readings import HARDLY, drowned, two_digits
from judging.practice.trust.needed import needed
from judging.practice.trust.trust import Trust
from poe.intervals import normal_draws
from poe.result import Fit

if TYPE_CHECKING:
    from judging.practice.ranking.ranking import Ranking

__all__ = ["Advice", "of_fit", "some", "verdict"]

MAX_EXTRA_FACTOR = 100.0  # times as many answers as there are, beyond which more are no advice
MIN_EXTRA_SHARE = 0.1  # least advised, of those there are: fewer may take away as well as add
RIVALS = 10  # below the first that are looked at
NAMED = 5  # texts that are named where any of them could be the best
HOPELESS = 0.1  # probability that all that can be asked would settle it, below which it is alike
DRAWS = 2000

State = Literal["decide", "ask", "label", "alike", "not by this judge"]


@dataclass(frozen=True)
class Advice:
    """What to do, and why.

    more : answers to ask for next; labels : of people, these included, that would tell whether the
    judge beats a coin. None where none are advised.
    """

    state: State
    why: Any
    more: int | None = None
    labels: int | None = None


def verdict(one: Ranking) -> Advice:
    """Advise a ranking's reader what to do."""
    n, asked = len(one.fit.items), len(one.comparisons)
    asked += 0 if one.judged is None else len(one.judged.refused)
    return of_fit(
        one.fit,
        one.level,
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
    left: float = np.inf,
    rest: int = 0,
    partial: bool = False,
    takes: Callable[[int], Any] | None = None,
    people: Trust | None = None,
    by_judge: bool = False,
    judged: bool = False,
) -> Advice:
    """The same of any fit. left : how many answers there can be more.

    partial, rest : whether asking was cut short, and how many of the budget were not made.
    takes : what so many more answers take. by_judge : whether it is known that a judge of texts
    answered, and not people; judged : or a judge of systems' answers.
    """
    if advice := _not_by_this(fit, level, people, judged=by_judge or judged) or _label(people):
        return advice
    equal, n = on_top(fit), len(fit.items)
    if len(equal) == 1 and fit.prob_top_set(1) >= level:
        if people is not None or not by_judge:
            return Advice("decide", f.Decided("checked", equal[0], None))
        few = needed(level=level).scores
        case = "unchecked" if few < n else "unchecked, few"
        return Advice("decide", f.Decided(case, equal[0], few), labels=few)
    could = max(leaders(fit, level), equal, key=len)
    if len(equal) > 1:
        tie = f.Tie("equal", some(equal, n))
    elif not _tells_apart(fit, level):
        tie = f.Tie("chance, judge" if by_judge else "chance", some(could, n))
    else:
        tie = f.Tie("close", some(could, n))
    odds = tuple(_odds(fit, level, left, rest, takes)) if left else ()
    if not odds:
        return Advice("alike", f.Open("over", tie, len(could), ()))
    if odds[-1].chance < HOPELESS and not partial:
        return Advice("alike", f.Open("hopeless", tie, len(could), odds[-1:]))
    more, case = odds[0].count, "more" if len(odds) == 1 else "more or all"
    why = f.Open(case, tie, len(could), odds)
    return Advice("ask", why, more=int(more) if np.isfinite(more) else None)


def _not_by_this(fit: Fit, level: float, people: Trust | None, *, judged: bool) -> Advice | None:
    """Where the place decides, or people and the judge do not agree more often than by chance."""
    heard = people is not None and people.state == "agrees"
    if (share := drowned(fit, level)) >= HARDLY and not heard:
        place = "first" if fit.bias < 0 else "second"
        return Advice("not by this judge", f.Drowned("judge" if judged else "table", share, place))
    if people is None or people.state != "useless":
        return None
    return Advice("not by this judge", f.NoBetterThanACoin(people.agreement))


def _label(people: Trust | None) -> Advice | None:
    """Where people have said something, and too little."""
    if people is None or people.state != "open":
        return None
    wanted = max(people.wanted, people.labels + 1)
    return Advice("label", f.FewLabels(wanted, people.labels, people.kind), labels=wanted)


def _odds(
    fit: Fit,
    level: float,
    left: float,
    rest: int,
    takes: Callable[[int], Any] | None,
) -> list[Any]:
    """How probable it is that more answers settle who is best: the next ones, and all."""
    some = rest or _more(fit, level) or np.inf
    counts = [some, left] if some < left else [left]
    if not np.isfinite(counts[-1]) and len(counts) > 1:
        counts.pop()
    odds = []
    for count in counts:
        case: Any = "rest" if count == rest else "all" if count == left else "some"
        cost = takes(int(count)) if takes is not None and np.isfinite(count) else None
        case = case if np.isfinite(count) else "endless"
        odds.append(f.Odds(case, count, _chance(fit, level, count), cost))
    # A few more may shake a tie as well as settle it; nobody is told that fewer settle more.
    return odds[1:] if len(odds) > 1 and odds[0].chance >= odds[1].chance else odds


def leaders(fit: Fit, level: float) -> list[Any]:
    """Items that could be the best, the likeliest first; two at least."""
    names = fit.ranking()
    first = dict(zip(fit.items, fit.rank_interval(level)[:, 0], strict=True))
    could = [name for name in names if first[name] == 1]
    return could if len(could) > 1 else names[:2]


def some(could: list[Any], n: int) -> Any:
    """Some of n items, named where they are few."""
    if len(could) <= NAMED:
        return f.Some("named", tuple(could), len(could), n)
    return f.Some("all" if len(could) == n else "some", (), len(could), n)


def _tells_apart(fit: Fit, level: float) -> bool:
    """Whether the scores differ by more than their errors explain."""
    error = fit.standard_errors()
    return bool(((fit.scores / error) ** 2).sum() > chdtri(len(error) - 1, 1.0 - level))


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
    if not most <= MAX_EXTRA_FACTOR:
        return None
    asked = int(fit.real.sum())
    return two_digits(max(np.ceil(asked * max(most - 1.0, MIN_EXTRA_SHARE)), 1.0))


def _chance(fit: Fit, level: float, more: float) -> float:
    """Probability that so many more answers settle who is best, as far as the scores tell."""
    top = np.argsort(-fit.scores, kind="stable")[: RIVALS + 1]
    asked = max(int(fit.real.sum()), 1)
    times = 1.0 + min(more / asked, MAX_EXTRA_FACTOR)
    covariance = fit.covariance()[np.ix_(top, top)]
    rng = np.random.default_rng(0)
    noise = normal_draws(covariance, DRAWS, rng)
    new = 1.0 - 1.0 / times
    r, scale = (each[:, None] for each in fit.luck.draw(DRAWS, rng))
    scores = fit.scores[top] * (1.0 / times + new * r)
    scores = scores + new * scale * np.sqrt(r + 1.0 / (times - 1.0)) * noise
    own = np.diag(covariance)
    error = np.sqrt(np.maximum(own[:, None] + own - 2.0 * covariance, 0.0) / times)
    ahead = scores.max(axis=1, keepdims=True) - scores
    of_best = error[scores.argmax(axis=1)]
    # That another is better after all, added over all others.
    with np.errstate(divide="ignore", invalid="ignore"):
        wrong = np.where(ahead > 0.0, ndtr(-ahead / of_best), 0.0).sum(axis=1)
    return float((wrong <= 1.0 - level).mean())


def _takes(one: Ranking, more: int) -> Any:
    """What so many more calls of a ranking's judge take; None where nobody knows."""
    if one.judged is None or not one.judged.answers:
        return None
    each = float(np.mean([answer.read for answer in one.judged.answers]))
    if not each:
        return None
    money = None
    if one.asking.price is not None:
        money = Price(*one.asking.price).of(each * more, one.judged.judge.written * more)
    unit = kinds.unit(one.judged.judge.specification)
    return f.Takes(two_digits(each * more), unit, money)
