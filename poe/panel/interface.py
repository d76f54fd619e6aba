"""`aggregate`: every method by name."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import pandas as pd
from numpy.typing import ArrayLike

from poe.panel.dawid_skene import dawid_skene
from poe.panel.errors import AggregationError
from poe.panel.judgements import Judgements, judgements
from poe.panel.learning import crowdlayer, skill_aggregation, train_on_majority
from poe.panel.result import Aggregation
from poe.panel.voting import average_probability, majority_vote

WITHOUT_CONTEXT: dict[str, Callable[..., Aggregation]] = {
    "average": average_probability,
    "majority": majority_vote,
    "dawid-skene": dawid_skene,
}


def _skill_x(given: Judgements, context: Any, **options: Any) -> Aggregation:
    return skill_aggregation(given, context, specific=True, **options)


WITH_CONTEXT: dict[str, Callable[..., Aggregation]] = {
    "train-on-majority": train_on_majority,
    "crowdlayer": crowdlayer,
    "skill": skill_aggregation,
    "skill-x": _skill_x,
}
METHODS = (*WITHOUT_CONTEXT, *WITH_CONTEXT)


def aggregate(
    values: ArrayLike | pd.DataFrame | Judgements,
    method: str = "dawid-skene",
    *,
    context: Any = None,
    judges: Sequence[Hashable] | None = None,
    classes: int | Sequence[Hashable] | None = None,
    **options: Any,
) -> Aggregation:
    """Labels, probabilities and skills from the judgements of several judges.

    values, judges, classes : as in `judgements`: samples x judges, missing allowed.
    method : "average" (Algorithm 1), "majority" (Algorithm 2), "dawid-skene" (Algorithm 3), and
        with a context "train-on-majority", "crowdlayer", "skill" (SkillAggregation; lambda is
        `regulariser` of `training`) and "skill-x" (SkillAggregation-X).
    context : for the last four, N texts or (N, F) vectors. options : of the method's own
        function: prior, start, seed, trusted, smoothing of Dawid-Skene; encoder, training, loss.

    One judge is its own answer, and its skill cannot be known: averages and votes return it,
    Dawid-Skene says that nothing is identified.
    """
    given = judgements(values, judges=judges, classes=classes)
    if method in WITHOUT_CONTEXT:
        if context is not None:
            raise AggregationError(
                f"method {method!r} does not look at contexts; leave context out, or choose "
                f"{', '.join(map(repr, WITH_CONTEXT))}"
            )
        return WITHOUT_CONTEXT[method](given, **options)
    if method in WITH_CONTEXT:
        return WITH_CONTEXT[method](given, context, **options)
    raise AggregationError(f"no method is called {method!r}; there are {', '.join(METHODS)}")
