"""A judge's fit held against what people said: agreement, probabilities, people's scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from judging.practice import findings as f
from judging.practice.sentences import say_all
from judging.practice.trust.agreement import Agreement, Rows, Sharpness, agreement, sharpness
from judging.practice.trust.needed import FEWEST, needed
from judging.practice.trust.people import People
from judging.practice.trust.scale import Scale, conformal
from poe.arrays import Floats, Indices
from poe.result import Fit

__all__ = ["Trust", "explain_no_trust", "probability", "trust"]

USELESS = 0.6  # agreement that a judge must be able to pass to be used at all
TURNED = 0.25  # agreement (Kendall's tau -0.5) up to which it is asked which end is the best
WITHIN = 0.1  # to which an agreement is to be known where more labels are asked for
PAIRS = 100_000  # of a context, that are looked at
UPPER = 0.9  # quantile of the judge's probabilities of which it is told what it is worth


@dataclass(frozen=True)
class Trust:
    """What some labels of people say of a judge; printed, it is sentences.

    Attributes
    ----------
    agreement
        How often people order two texts as it does.
    sharpness
        What its probabilities are worth to them, None where that cannot be told.
    scale
        From its scores to people's, None where too few texts have scores.
    labels
        Scores and choices that it rests on.
    kind
        Which of the two.
    stated
        A probability that the judge's scores give to the surest of these pairs.
    level
        Of all intervals.
    ties
        Pairs of texts to which people gave equal scores, or which they called equal.

    Examples
    --------
    >>> from judging.practice.trust import Agreement, Trust
    >>> agreement = Agreement(0.5, 0.42, 0.58, 190, 150.0)
    >>> Trust(agreement, None, None, 20, "scores", 0.9).state
    'useless'
    """

    agreement: Agreement
    sharpness: Sharpness | None
    scale: Scale | None
    labels: int
    kind: Literal["scores", "choices", "scores and choices"]
    stated: float
    level: float = field(default=0.95, repr=False)
    ties: int = field(default=0, repr=False)

    @property
    def state(self) -> Literal["agrees", "open", "useless"]:
        """Better than a coin; that cannot be told yet; or hardly better, and it can be told."""
        if self.agreement.high < USELESS:
            return "useless"
        return "agrees" if self.agreement.low > 0.5 else "open"

    @property
    def wanted(self) -> int:
        """Labels, these included, that would show whether it beats a coin, if it goes on so."""
        above = needed(
            min(max(self.agreement.rate, 0.55), 0.95), WITHIN, level=self.level
        ).above_chance
        assert above is not None
        return above[0 if self.kind == "scores" else 1]

    def findings(self) -> list[Any]:
        """Find what a reader should know, the most important first."""
        found: list[Any] = [f.Agrees(self.agreement, self.labels, self.kind)]
        if self.ties:
            found.append(f.Equal(self.ties, self.agreement.rows + self.ties))
        if self.agreement.high < 0.5 or self.agreement.rate <= TURNED:
            found.append(f.Turned("choices" if self.kind == "choices" else "scores"))
        if self.sharpness is not None:
            found.append(f.Worth(self.stated, *self.sharpness.worth(self.stated)))
        if self.scale is not None:
            found.append(f.Within(self.scale.half, self.scale.level))
        return found

    def __str__(self) -> str:
        return " ".join(say_all(self.findings()))


def probability(fit: Fit, gap: Floats) -> Floats:
    """The probability that the judge's scores give the better text, no place preferred."""
    p = np.linspace(0.0005, 0.9995, 1999)
    opinion = getattr(fit.expert, "opinion", None)
    at = np.log(p / (1.0 - p)) if opinion is None else np.asarray(opinion(p))
    return np.asarray(np.interp(gap, at, p))


def trust(
    fits: Fit | Sequence[Fit], people: People | Sequence[People], *, level: float = 0.95
) -> Trust | None:
    """Hold a fit against what people said.

    Parameters
    ----------
    fits, people
        Of one context, or of several, whose texts are compared within each alone.
    level
        Of all intervals.

    Returns
    -------
    Trust, or None where people said next to nothing of these items.

    Examples
    --------
    >>> from judging.practice.trust import People, trust
    >>> c = poe.Comparisons(first=["a", "b", "c"], second=["b", "c", "d"], p=[0.8, 0.7, 0.9])
    >>> said = People({"a": 5, "b": 3, "c": 4, "d": 1})
    >>> found = trust(poe.fit(c), said)
    >>> found.agreement.rows, round(found.agreement.rate, 2), found.state
    (6, 0.83, 'open')
    """
    every = [fits] if isinstance(fits, Fit) else list(fits)
    said = [people] * len(every) if isinstance(people, People) else list(people)
    s: list[Floats] = []
    y: list[Floats] = []
    parts, start = [], 0
    scores = choices = 0
    for context, (fit, labels) in enumerate(zip(every, said, strict=True)):
        place = {str(name): k for k, name in enumerate(fit.items)}
        own = labels.of(set(place))
        known = np.array([place[name] for name in own.scores], dtype=np.intp)
        given = np.array(list(own.scores.values()))
        parts.append(_rows(fit, own, known, given, place, start, context))
        s, y = [*s, fit.scores[known]], [*y, given]
        scores, choices = scores + len(known), choices + len(own.choices)
        start += len(fit.items)
    rows = Rows.together(parts)
    every_row = len(rows)
    rows = rows.take(rows.human != 0.5)  # a tie says nothing of an order
    if len(rows) < FEWEST:
        return None
    kind: Any = "scores and choices" if scores and choices else "scores" if scores else "choices"
    scale = conformal(np.concatenate(s), np.concatenate(y), level)
    agree, sharp = agreement(rows, level), sharpness(rows, level)
    surest = round(float(np.quantile(np.maximum(rows.q, 1.0 - rows.q), UPPER)), 2)
    ties = every_row - len(rows)
    return Trust(agree, sharp, scale, scores + choices, kind, surest, level, ties)


def explain_no_trust(fit: Fit, people: People) -> Any:
    """Explain why `trust` tells nothing of these labels."""
    own = people.of({str(name) for name in fit.items})
    given = list(own.scores.values())
    _, same = np.unique(given, return_counts=True)
    pairs = (len(given) * (len(given) - 1) - int((same * (same - 1)).sum())) // 2
    pairs += sum(p != 0.5 for *_, p in own.choices)
    scores, choices = len(given), len(own.choices)
    case = "both" if scores and choices else "choices" if choices else "scores"
    case = "same" if scores > 1 and not pairs and not choices else case
    return f.Untold(case, scores, choices, pairs, FEWEST)


def _rows(
    fit: Fit,
    own: People,
    known: Indices,
    given: Floats,
    place: dict[str, int],
    start: int,
    context: int,
) -> Rows:
    """The pairs that people ordered by their scores, and those they chose from."""
    a, b = np.triu_indices(len(known), 1)
    if len(a) > PAIRS:
        some = np.random.default_rng(0).choice(len(a), PAIRS, replace=False)
        a, b = a[some], b[some]
    chosen = [(place[one], place[other]) for one, other, _ in own.choices]
    at = np.array(chosen, dtype=np.intp).reshape(-1, 2)
    i, j = np.append(known[a], at[:, 0]), np.append(known[b], at[:, 1])
    human = np.append(0.5 + 0.5 * np.sign(given[a] - given[b]), [p for *_, p in own.choices])
    gap = fit.scores[i] - fit.scores[j]
    where = np.full(len(i), context)
    return Rows(start + i, start + j, gap, probability(fit, gap), human, where)
