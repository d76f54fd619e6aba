"""A gate for continuous integration: is the new system as good as the old one.

A requirement is "new >= old", or with a margin in points of the win rate "new >= old - 2%": new
wins at least 48% of its comparisons with old. Two systems that are alike never pass without one,
since no number of comparisons shows that a difference of zero is not negative.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from scipy.special import logit
from scipy.stats import t as student

from judging.practice.ranking.readings import HARDLY, drowned, two_digits
from poe.errors import name_some

if TYPE_CHECKING:
    from judging.practice.board.board import Leaderboard

__all__ = ["Requirement", "Verdict", "check", "parse"]

MARGIN = r"(.+?)\s*([-+])\s*(\d+\.?\d*|\.\d+)\s*%"
MOST_TIMES = 100.0  # times as many comparisons as there are, beyond which more are no advice
LEAST = 0.1  # as many more, as a share of what there is: fewer may take away as well as add


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


class Verdict(NamedTuple):
    """state : "holds", "fails" or "open". p : probability that the requirement holds.

    more : comparisons that would decide it if the difference stays as it is; None where it is
    decided or where so many are no advice. text : for a reader.
    """

    state: Literal["holds", "fails", "open"]
    p: float
    more: int | None
    text: str


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
) -> Verdict:
    """Whether the requirement holds, by the ranking's own difference and error.

    left : how many more comparisons there can be of these answers; the board's own by default.
    """
    left = board.left if left is None else left
    if missing := [str(s) for s in (wanted.new, wanted.old) if s not in board.plain.items]:
        said = f"{wanted}: nothing about {' or '.join(missing)} was answered, so it cannot be told"
        return Verdict("open", 0.5, None, f"{said} yet.")
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
    said = f"{wanted}: {_percent(p)} sure that it holds (win rate {apart['win_rate']:.1%})"
    if (share := drowned(fit, board.level)) >= HARDLY and max(p, 1.0 - p) >= sure:
        who = "the judge hardly reads: " if board.judged else ""
        why = f"but {who}in {share:.0%} the place decides, so it stays open"
        return Verdict("open", p, None, f"{said}; {why}.")
    if p >= sure:
        return Verdict("holds", p, None, f"{said}; it holds.")
    if 1.0 - p >= sure:
        return Verdict("fails", p, None, f"{said}; it does not hold.")
    asked = len(board.comparisons)
    times = (student.ppf(sure, freedom) * error / gap) ** 2 if gap else np.inf
    open_ = f"{said}; {sure:.0%} is wanted one way or the other, so it cannot be told yet"
    if not times <= MOST_TIMES:
        return Verdict(
            "open",
            p,
            None,
            f"{open_}, nor with {MOST_TIMES:g} times as many comparisons if the difference stays "
            f'as it is; allow a margin ("{wanted.new} >= {wanted.old} - 2%").',
        )
    more = max(1, int(np.ceil(asked * max(times - 1.0, LEAST))))
    one = f"{two_digits(more):,} more comparison{'s' if more > 1 else ''}"
    said = f"{open_}; about {one} would, if the difference stays as it is"
    return Verdict("open", p, more, f"{said}{_beyond(board, more, left)}.")


def _beyond(board: Leaderboard, more: int, left: float) -> str:
    """What it takes where these answers have fewer comparisons left than are needed."""
    if more <= left:
        return ""
    said = f"; these answers have {f'{left:,.0f}' if left else 'none'} left"
    prompts = board.found.cluster
    if prompts is None:
        return f"{said}, so it takes more answers"
    each = len(board.comparisons) / len(np.unique(prompts))
    count = two_digits(math.ceil((more - left) / each))
    return f"{said}, so it takes answers to about {count:,} more prompt{'s' if count > 1 else ''}"


def _percent(p: float) -> str:
    return "over 99%" if p > 0.99 else "under 1%" if p < 0.01 else f"{p:.0%}"
