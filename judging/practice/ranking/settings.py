"""What a ranking is asked to be: how comparisons are chosen and paid, how answers become scores.

The command's options are these fields, so nothing of the mathematics is imported here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, cast

from judging.practice.setting import SET, described, require, setting

if TYPE_CHECKING:
    from poe.choose.adaptive import NextRule
    from poe.experts import Expert
    from poe.result import Covariance

__all__ = ["COVARIANCES", "Asking", "Errors", "Fitting", "prices"]

# Public name of a rule: its name in `poe.next_comparisons`.
RULES: dict[str, NextRule] = {
    "adaptive": "adaptive",
    "laplace": "laplace",
    "reordering": "reordering",
    "greedy": "determinant",
    "random": "random",
}
ASKED = "How much is asked"
JUDGE = "The judge"

Errors = Literal["auto", "vote", "pair", "prompt", "decision"]
# The covariance in `poe.fit` that allows for such errors; of prompts see `board.clusters`.
COVARIANCES: dict[str, Covariance] = {
    "vote": "scatter",
    "pair": "paired",
    "decision": "curvature",
}


def prices(text: str) -> tuple[float, float]:
    """Dollars per million tokens read and written, of "2,8"; of "2" those read alone."""
    read, _, written = text.partition(",")
    try:
        return float(read), float(written or 0.0)
    except ValueError:
        raise ValueError(f"{text!r} is not a price such as 2,8") from None


def tilt(text: str) -> float | str | None:
    """A position bias in words: a number, "fit", "mean" or "none"."""
    try:
        return float(text)
    except ValueError:
        return None if text == "none" else text


def _experts() -> Sequence[str]:
    from poe.experts import NAMES

    return NAMES


@described
@dataclass(frozen=True, kw_only=True)
class Asking:
    """How comparisons are chosen, and how much may be spent on them.

    Examples
    --------
    >>> judging.Asking(rule="random", limit_calls=100).orders
    'auto'
    """

    rule: str = setting(
        "adaptive",
        "The comparisons that come next. adaptive: the most informative, given the answers so far "
        "once they say enough; laplace: given them from the first round on, fewer calls for a "
        "sharp judge, intervals too narrow for one that only decides or is noisy without being "
        "sharp; reordering: the pair whose order is least sure, intervals too narrow as well; "
        "greedy: the most informative before any answer; random.",
        flag=SET + "rule",
        type=Literal["adaptive", "laplace", "reordering", "greedy", "random"],
    )
    orders: Literal["auto", "one", "both"] = setting(
        "auto",
        "auto: find out from a few pairs in both orders whether the second order is worth its "
        "call; one: each pair in one order drawn at random; both: each pair in both.",
        flag="--orders",
        panel=ASKED,
    )
    batch: int | None = setting(None, "Calls per round; one per text by default.", least=1)
    rounds: int | None = setting(
        None,
        "The number of rounds that the budget is asked in, 1 for all at once; 2 with --batch, "
        "whose answers take long to come. By default a round has a call per text.",
        flag=SET + "rounds",
        least=1,
    )
    offline: bool = setting(
        False, "Rank by the answers in the store; the judge is not opened.", flag="--offline"
    )
    unanswered: Literal["skip", "tie", "stop"] = setting(
        "skip",
        "What to do with a question that the judge will never answer (because of a content filter, "
        "or of a text that is too long), or whose answer names neither text. skip: leave it out, "
        "and any text with no answer at all, but end the run where more than one in ten name "
        "neither; tie: count it as a tie; stop: end the run.",
        flag=SET + "unanswered",
    )
    retry_refused: bool = setting(
        False,
        "Ask again the questions that the judge refused before; they are kept in the store.",
        flag=SET + "retry-refused",
    )
    limit_calls: int | None = setting(
        None,
        "Stop after this many new calls in the whole run; their answers are kept.",
        flag="--limit-calls",
        panel=JUDGE,
        least=1,
    )
    limit_tokens: int | None = setting(
        None,
        "Stop after this many new tokens in the whole run; the answers are kept.",
        flag=SET + "limit-tokens",
        least=1,
    )
    price: tuple[float, float] | None = setting(
        None,
        "Dollars per million tokens read, and written, such as 2,8; what is asked is then priced.",
        flag="--price",
        panel=JUDGE,
        metavar="READ,WRITTEN",
        type=str | None,
        parse=prices,
    )

    def __post_init__(self) -> None:
        if self.rule not in RULES and self.rule not in RULES.values():
            raise ValueError(f"rule must be {', '.join(RULES)}, not {self.rule!r}")
        require(self)

    @property
    def both_orders(self) -> bool:
        """Whether every pair is asked in both orders from the first on."""
        return self.orders == "both"

    @property
    def formula(self) -> NextRule:
        """The rule's name in `poe.next_comparisons`, which may also be given as the rule."""
        return RULES.get(self.rule, cast("NextRule", self.rule))

    @property
    def limited(self) -> bool:
        """Whether there is a limit on calls or tokens."""
        return (self.limit_calls, self.limit_tokens) != (None, None)

    @property
    def costs(self) -> bool:
        """Whether anything is set that only a judge of texts can keep."""
        return self.limited or self.price is not None


@described
@dataclass(frozen=True, kw_only=True)
class Fitting:
    """How answers become scores, intervals and chances; the first three are as in `poe.fit`.

    Examples
    --------
    >>> judging.Fitting(expert="gaussian").errors
    'auto'
    """

    expert: str | Expert = setting(
        "bradley-terry",
        "The model of an answer, given two scores.",
        flag=SET + "expert",
        metavar="EXPERT",
        type=str,
        among=_experts,
    )
    bias: float | Literal["mean", "fit"] | None = setting(
        "fit",
        "The position bias: fit, with the scores (Laplacian experts take it from the mean answer, "
        "and too few comparisons leave it at zero, with a note); mean, from the mean answer; a "
        "number of logits; none.",
        flag=SET + "bias",
        metavar="BIAS",
        type=str,
        parse=tilt,
    )
    prior: float | None = setting(
        None,
        "Wins added to every pair. The default is none or, where an item won or lost everything, "
        "one win and one loss per item, spread over the others; 0 refuses such answers instead.",
        flag=SET + "prior",
        least=0.0,
    )
    errors: Errors = setting(
        "auto",
        "Which answers may err together, so that intervals allow for it. vote: none do; pair: "
        "those about the same pair; prompt: those that share a prompt or an annotator. auto: "
        "prompt if there is a column of them, else vote if a pair was compared twice in the same "
        "order, else pair. decision: every answer is one decision, however far it is from the "
        "scores.",
        flag=SET + "errors",
    )
    level: float = setting(
        0.95,
        "The confidence level of all intervals and of stopping rules.",
        flag=SET + "level",
        least=0.0,
        most=1.0,
    )
    top: int = setting(
        3,
        "How many best are meant by the probability to be among them.",
        flag=SET + "top",
        metavar="K",
        least=1,
    )
    length_control: bool = setting(
        False,
        "Show scores at equal lengths beside the ranking: what a regression on the logarithm of "
        "the number of words leaves of them. Where the longer texts are the better ones, this "
        "takes quality away.",
        flag=SET + "length-control",
    )

    def __post_init__(self) -> None:
        from poe.experts import get_expert
        from poe.fitting import FARTHEST
        from poe.intervals import require_level

        get_expert(self.expert)
        require_level(self.level)
        require(self)
        bias: Any = self.bias
        number = isinstance(bias, Real) and abs(float(bias)) <= FARTHEST
        if not number and bias not in (None, "mean", "fit"):
            raise ValueError(f"bias must be a finite number, None, 'mean' or 'fit', not {bias!r}")
        if self.prior == math.inf:
            raise ValueError(f"prior must be a finite number of wins, not {self.prior}")

    def least(self, n: int) -> int:
        """Answers about n items without which there are scores and no errors.

        Gaussian experts without a sigma take it from what the scores leave of the answers.
        """
        from poe.experts import Gaussian, get_expert

        expert = get_expert(self.expert)
        free = isinstance(expert, Gaussian) and expert.sigma is None and expert.variance is None
        return n + (self.bias == "fit") if free else n - 1

    def top_of(self, n: int) -> int:
        """Count how many of n items are the best: `top`, but never all of them."""
        return max(min(self.top, n - 1), 1)
