"""A gate for continuous integration: is the new system as good as the old one.

A requirement is "new >= old", or with a margin in points of the win rate "new >= old - 2%": new
wins at least 48% of its comparisons with old. Two systems that are alike never pass without one,
since no number of comparisons shows that a difference of zero is not negative.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from scipy.special import logit
from scipy.stats import t as student

from judging.practice import findings as f
from judging.practice.ranking.readings import HARDLY, drowned, two_digits
from judging.practice.ranking.verdict import MAX_EXTRA_FACTOR, MIN_EXTRA_SHARE
from poe.errors import name_some

if TYPE_CHECKING:
    from judging.practice.board.board import Leaderboard

__all__ = ["Gate", "Requirement", "check", "parse"]

MARGIN = r"(.+?)\s*([-+])\s*(\d+\.?\d*|\.\d+)\s*%"


class Requirement(NamedTuple):
    """`new` is to win at least the share 0.5 + margin of its comparisons with `old`."""

    new: Any
    old: Any
    margin: float = 0.0

    def __str__(self) -> str:
        if not self.margin:
            return f"{self.new} >= {self.old}"
        sign = "-" if self.margin < 0 else "+"
        return f"{self.new} >= {self.old} {sign} {100 * abs(self.margin):g}%"


@dataclass(frozen=True)
class Gate:
    """What became of a requirement.

    state : "holds", "fails" or "open". p : probability that the requirement holds. more :
    comparisons that would decide it if the difference stays as it is; None where it is decided or
    where so many are no advice. case : which sentence, of the values that follow.
    """

    state: Literal["holds", "fails", "open"]
    case: str
    wanted: Requirement
    p: float
    more: int | None = None
    sure: Any = None
    level: float = 0.95
    share: float = 0.0
    missing: tuple[str, ...] = ()
    beyond: Any = None

    @property
    def about(self) -> int:
        """More comparisons, to two digits."""
        return two_digits(self.more or 0)

    @property
    def times(self) -> float:
        """The factor on the comparisons made beyond which more are no advice."""
        return MAX_EXTRA_FACTOR


def parse(text: str, systems: Sequence[Any]) -> Requirement:
    """A requirement from its words; ValueError that says what is wrong with them."""

    def refused(why: str) -> ValueError:
        return ValueError(f"{text!r}: {why}; {form}")

    form = 'write "new >= old", or with a margin of the win rate "new >= old - 2%"'
    sides = re.split(r"\s*>=\s*", text.strip())
    if len(sides) != 2 or not all(sides):
        raise ValueError(f"{text!r} is no requirement; {form}")
    known = {" ".join(str(name).split()): name for name in systems}
    new, rest = sides
    old, margin = rest, 0.0
    if rest not in known and (match := re.fullmatch(MARGIN, rest)):
        old, margin = match[1], float(match[2] + match[3]) / 100.0
    for name in (new, old):
        if name not in known:
            raise refused(f"there is no system {name!r}; there are {name_some(list(systems), 12)}")
    if new == old:
        raise refused("a system is not held against itself")
    if not abs(margin) < 0.5:
        raise refused("a margin is of less than 50 points of the win rate")
    return Requirement(known[new], known[old], margin)


def check(
    board: Leaderboard, wanted: Requirement, sure: float, *, left: float | None = None
) -> Gate:
    """Tell whether the requirement holds, by the ranking's own difference and error.

    left : how many more comparisons there can be of these answers; the board's own by default.
    """
    left = board.left if left is None else left
    if missing := [str(s) for s in (wanted.new, wanted.old) if s not in board.plain.items]:
        return Gate("open", "missing", wanted, 0.5, missing=tuple(missing))
    if not 0.5 < sure < 1.0:
        raise ValueError(f"sure is a probability between 0.5 and 1, not {sure:g}")
    fit = board.plain
    apart = board.compare(wanted.new, wanted.old)
    gap, error = apart["difference"] - float(logit(0.5 + wanted.margin)), apart["se"]
    freedom = fit.freedom
    if not np.isfinite(error):
        p = 0.5
    else:
        p = float(student.cdf(gap / error, freedom)) if error else 0.5 + 0.5 * float(np.sign(gap))
    found = partial(Gate, wanted=wanted, p=p, sure=f.Sure(wanted, p, apart["win_rate"]), level=sure)
    if (share := drowned(fit, board.level)) >= HARDLY and max(p, 1.0 - p) >= sure:
        return found("open", "place, judge" if board.judged else "place", share=share)
    if p >= sure:
        return found("holds", "holds")
    if 1.0 - p >= sure:
        return found("fails", "fails")
    asked = len(board.comparisons)
    times = (student.ppf(sure, freedom) * error / gap) ** 2 if gap else np.inf
    if not times <= MAX_EXTRA_FACTOR:
        return found("open", "never")
    more = max(1, int(np.ceil(asked * max(times - 1.0, MIN_EXTRA_SHARE))))
    return found("open", "more", more=more, beyond=_beyond(board, more, left))


def _beyond(board: Leaderboard, more: int, left: float) -> Any:
    """What it takes where these answers have fewer comparisons left than are needed."""
    if more <= left:
        return None
    said, prompts = f"{left:,.0f}" if left else "none", board.found.cluster
    if prompts is None:
        return f.Beyond("answers", said, None)
    each = len(board.comparisons) / len(np.unique(prompts))
    return f.Beyond("prompts", said, two_digits(math.ceil((more - left) / each)))
