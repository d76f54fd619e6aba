"""What people would say of systems, from a judge's comparisons and people's verdicts on some.

A row of people's table is a comparison of two systems on a prompt, with its winner; it is matched
with the judge's on the same prompt and systems, in whatever order. Each system's win rate among
people, over the comparisons that the judge made of it, is then estimated by prediction-powered
inference (`judging.practice.trust.scale`), with errors clustered on the prompt.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from judging.practice import findings as f
from judging.practice.reading.forms import Columns
from judging.practice.trust.scale import estimate
from poe.arrays import Floats, Indices
from poe.debias import Rate
from poe.errors import ComparisonError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["among_people", "decide", "matched"]

FEWEST = 5  # verdicts on a system from which its win rate is told


def matched(judge: Columns, people: Columns) -> Floats:
    """(K,) P(the first is better) by people for each comparison of the judge's, NaN without.

    Several people's verdicts on one comparison are averaged. Raises ComparisonError where not a
    row of theirs is one of the judge's, or either table names no prompts.
    """
    ours, theirs = keys(judge), keys(people)
    verdicts: dict[Any, list[float]] = {}
    for (key, flipped), p in zip(theirs, people.p.tolist(), strict=True):
        verdicts.setdefault(key, []).append(1.0 - p if flipped else p)
    human = np.full(len(judge.p), np.nan)
    for k, (key, flipped) in enumerate(ours):
        if key in verdicts:
            mean = float(np.mean(verdicts[key]))
            human[k] = 1.0 - mean if flipped else mean
    if not np.isfinite(human).any():
        raise ComparisonError(
            "people's verdicts are about none of these comparisons: they need the same systems and "
            "the same prompts, in a column of the same name"
        )
    return human


def keys(columns: Columns) -> list[tuple[tuple[Any, str, str], bool]]:
    """Find what each row compares in either order, and whether it is the other way round."""
    if columns.prompts is None:
        raise ComparisonError(
            "people's verdicts are matched with the judge's by the prompt: both tables need a "
            "column that says it, such as prompt or question_id"
        )
    rows = zip(columns.prompts, columns.first, columns.second, strict=True)
    return [
        ((prompt, min(str(one), str(other)), max(str(one), str(other))), str(one) > str(other))
        for prompt, one, other in rows
    ]


def among_people(judge: Columns, people: Columns, level: float) -> pd.DataFrame:
    """A row a system: name, judge (its win rate), people, se, low, high, labels, gain.

    gain : how many times as many verdicts of people would be as good without the judge.
    """
    import pandas as pd

    human = matched(judge, people)
    first, second = np.array(judge.first, dtype=object), np.array(judge.second, dtype=object)
    rows = []
    for name in dict.fromkeys([*judge.first, *judge.second]):
        of = (first == name) | (second == name)
        p = np.where(first[of] == name, judge.p[of], 1.0 - judge.p[of])
        y = np.where(first[of] == name, human[of], 1.0 - human[of])
        if np.isfinite(y).sum() < FEWEST:
            continue
        one = estimate(p, y, level=level, cluster=_numbers(judge)[of])
        low, high = max(one.low, 0.0), min(one.high, 1.0)
        rows.append((name, p.mean(), one.value, one.se, low, high, one.labels, one.gain))
    columns = ["name", "judge", "people", "se", "low", "high", "labels", "gain"]
    return pd.DataFrame(rows, columns=columns).sort_values(
        "people", ascending=False, kind="stable", ignore_index=True
    )


def decide(judge: Columns, people: Columns, level: float) -> Any:
    """Measure how often people decide as the judge does."""
    human = matched(judge, people)
    asked = {key for key, _ in keys(judge)}
    count = sum(key not in asked for key, _ in keys(people))
    stray = f.Stray(count, len(people.p)) if count else None
    both = np.isfinite(human) & (human != 0.5) & (judge.p != 0.5)
    if both.sum() < FEWEST:
        return f.PeopleDecide("few", None, int(both.sum()), stray)
    hit = (human[both] > 0.5) == (judge.p[both] > 0.5)
    prompts = _numbers(judge)[both]
    rate = estimate(np.zeros(len(hit)), hit.astype(float), cluster=prompts, level=level)
    found = Rate(rate.value, max(rate.low, 0.0), min(rate.high, 1.0))
    return f.PeopleDecide("some", found, len(hit), stray)


def _numbers(columns: Columns) -> Indices:
    """(K,) a number for each prompt."""
    return np.unique(np.array(columns.prompts, dtype=str), return_inverse=True)[1]
