"""What a ranking comes to, as data: a list of findings, each a kind with its values.

`judging.practice.sentences` says them, for the terminal and the page; `--json` prints them. A new
finding is a class here (or beside what it is about), its place in one of the lists, and a row in
`sentences.toml`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from judging import kinds
from judging.judges.asking import NO_LABEL
from judging.practice import findings as f
from judging.practice.ranking.equal import on_top
from judging.practice.ranking.ranking import Ranking, judge_name, judged_of
from judging.practice.ranking.readings import along_length, position, settled_share
from judging.practice.ranking.verdict import of_fit, some, verdict
from judging.practice.sentences import say, say_all
from judging.practice.trust.people import People
from judging.practice.trust.trust import Trust, explain_no_trust, probability
from judging.question import Answer
from poe.experts import BradleyTerry
from poe.result import COVARIANCE_ITEMS, Fit

__all__ = [
    "Found",
    "agreement_of",
    "cost",
    "findings",
    "judges",
    "notes",
    "of_a_fit",
    "shows_one_label",
]

LEFT_OUT = 3  # texts that are left out and named


class Found(NamedTuple):
    """The verdict, the most important first; what stands beside it; notes."""

    verdict: list[Any]
    more: list[Any]
    notes: list[Any]

    def sentences(self, thing: str, answer: str) -> list[str]:
        """The verdict in one, and each of the others."""
        verdict = say_all(self.verdict, thing, answer)
        more = say_all([*self.more, *(f.Note(say(note)) for note in self.notes)], thing, answer)
        return [*([" ".join(verdict)] if verdict else []), *more]


# Of rankings ----------------------------------------------------------------------------------


def findings(one: Ranking) -> Found:
    """Find what one ranking comes to: the verdict, the judge, notes."""
    advice = verdict(one)
    found: list[Any] = [advice]
    if one.stop is not None and one.stop.kind == "rule":
        found.insert(0, f.Known(one.stopped_because))
    found += [f.Partial()] if one.partial else []
    found += _standing(one.fit, one.level, refused=advice.state == "not by this judge")
    found += _people(one, told=isinstance(advice.why, f.NoBetterThanACoin))
    more: list[Any] = []
    if one.stop is not None:
        more.append(f.Stopped(one.stop.kind, one.stopped_because))
    more += [unit(one.fit), position(one.fit, one.level)]
    if agreement := agreement_of(one):
        more.append(agreement)
    return Found(found, more, notes([one]) if one.judged else list(one.notes))


def judges(rankings: Sequence[Ranking]) -> Any:
    """All of them, each once."""
    return f.Judge(tuple(dict.fromkeys(map(judge_name, rankings))))


def _standing(fit: Fit, level: float, *, refused: bool) -> list[Any]:
    """Who is best, unless nobody is to decide by this; and how much of the order is settled."""
    share = settled_share(fit, level)
    # Unlike a probability, a share that is counted can be none and all.
    settled = f.Settled({0.0: "none", 1.0: "all"}.get(share, "some"), share, level)
    if refused:
        return [settled]
    equal, n = on_top(fit), len(fit.items)
    if len(equal) > 1:
        return [f.Best("shared", some(equal, n), n, None), settled]
    p = fit.prob_top_set(1)
    case = "sure" if p >= 0.9 else "probable" if p >= 0.5 else "leads"
    return [f.Best(case, some(equal, n), n, p), settled]


def _people(one: Ranking, *, told: bool) -> list[Any]:
    """How far people agree; told : the advice has said how often."""
    if one.trust is not None:
        return [
            found for found in one.trust.findings() if not (told and isinstance(found, f.Agrees))
        ]
    if one.gold or one.choices:
        return [explain_no_trust(one.fit, People(one.gold, one.choices))]
    return [f.Unknown()]


def agreement_of(one: Ranking) -> Any:
    """`Ranking.agreement`; None too where all texts have the same score."""
    found = one.agreement()
    return None if found is None or np.isnan(found[0]) else f.Correlation(*found)


def cost(rankings: Sequence[Ranking]) -> Any:
    """Add up what all of them took."""
    judged = [judged_of(one) for one in rankings]
    calls, new = sum(len(one.pairs) for one in judged), sum(one.new for one in judged)
    return f.Cost(
        calls,
        new,
        max(calls - new, 0),
        sum(answer.read for one in judged for answer in one.answers),
        kinds.unit(judged[0].judge.specification),
    )


def notes(rankings: Sequence[Ranking]) -> list[Any]:
    """Collect the cautions about the judges and what a reader should know, each once."""
    orders = [note for one in rankings for note in one.notes if isinstance(note, f.Orders)]
    apart = len(rankings) > 1 and bool(orders)
    every = (
        [
            *kinds.cautions(judged_of(one).judge.specification),
            *_refusals(one),
            *(note for note in one.notes if not (apart and isinstance(note, f.Orders))),
        ]
        for one in rankings
    )
    found = list(dict.fromkeys(chain(*every)))
    if apart:
        found.append(f.InRuns(sum(each.orders == "both" for each in orders), len(orders)))
    for judge in dict.fromkeys(map(judge_name, rankings)):
        r = along_length(one for one in rankings if judge_name(one) == judge)
        found += [] if r is None else [f.Length("longer" if r > 0 else "shorter", judge, r)]
    answers = [answer for one in rankings for answer in judged_of(one).answers if not answer.draws]
    bare = sum(map(shows_one_label, answers))
    return [*found, *([f.OneLabel(bare, len(answers))] if bare else [])]


def shows_one_label(answer: Answer) -> bool:
    """Tell whether an answer that was not drawn gives one label no probability at all."""
    return not answer.draws and int(np.isneginf(answer.log_p[:2]).sum()) == 1


def _refusals(one: Ranking) -> list[Any]:
    """What the judge would not answer; an answer that named neither text is no refusal."""
    found: list[Any] = []
    if one.left_out:
        texts = tuple(f.Why(name, why) for name, why in one.left_out.items())
        copies = sum(original in one.left_out for original in one.copies.values())
        refused = any(text.why != NO_LABEL for text in texts)
        found.append(f.Silent(texts[:LEFT_OUT], max(len(texts) - LEFT_OUT, 0), copies, refused))
    if own := judged_of(one).refused:
        first, second, why = own[0]
        refused = any(each != NO_LABEL for *_, each in own)
        found.append(f.Refused(len(own), first.id, second.id, why, refused))
    return found


def unit(fit: Fit) -> Any:
    """Find the unit of scores."""
    one, two = probability(fit, np.array([1.0, 2.0])).tolist()
    return f.Unit(isinstance(fit.expert, BradleyTerry), one, two)


# Of a fit of comparisons that exist, or of a leaderboard ----------------------------------------


def of_a_fit(
    fit: Fit,
    level: float,
    errors: Sequence[Any],
    *,
    in_order: bool = True,
    people: Trust | None = None,
    left: float = np.inf,
    judged: bool = False,
) -> Found:
    """The verdict; and people, position, ties, where the errors come from.

    errors : the findings on them. left : how many more comparisons there can be. people : what
    labels of theirs say of these comparisons. judged : whether a judge is known to have made them.
    """
    known, verdict, more = len(fit.items) <= COVARIANCE_ITEMS, list[Any](), list[Any]()
    if known:
        advice = of_fit(fit, level, people=people, left=left, judged=judged)
        refused = advice.state == "not by this judge"
        verdict += [advice, *_standing(fit, level, refused=refused)]
        more += [] if people is None else people.findings()
    more += [position(fit, level)] if in_order else []
    answers = fit.comparisons.p[fit.real]
    more.append(f.Comparisons(len(answers), int((answers == 0.5).sum())))
    return Found(verdict, [*more, unit(fit), *(errors if known else [])], [])
