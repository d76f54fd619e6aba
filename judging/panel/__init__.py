"""Several judges, no reference labels: what the judges together say, and how good each one is.

    result = judging.panel.aggregate(judgements, "dawid-skene")
    result.labels; result.probabilities; result.skills(); result.message

`aggregate` is the one interface; the methods are functions of their own as well. Those with a
context need torch (extra `judge`) and import it when they are called. `fit_panel` joins judges of
pairwise comparisons in one product of experts.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any

import pandas as pd
from numpy.typing import ArrayLike

from judging.panel.dawid_skene import dawid_skene
from judging.panel.diagnosis import check_labels, diagnose, labels_to_notice
from judging.panel.encoders import Transformer
from judging.panel.judgements import Judgements, PanelError, UnidentifiedPanelError
from judging.panel.learning import crowdlayer, skill_aggregation, train_on_majority
from judging.panel.products import PanelFit, average_first, fit_panel, residual_correlation
from judging.panel.training import Training
from judging.panel.voting import Aggregation, majority_vote, mean_probability, posterior

__all__ = [
    "METHODS",
    "Aggregation",
    "Judgements",
    "PanelError",
    "PanelFit",
    "Training",
    "Transformer",
    "UnidentifiedPanelError",
    "aggregate",
    "average_first",
    "check_labels",
    "crowdlayer",
    "dawid_skene",
    "diagnose",
    "fit_panel",
    "labels_to_notice",
    "majority_vote",
    "mean_probability",
    "posterior",
    "residual_correlation",
    "skill_aggregation",
    "train_on_majority",
]

WITH_CONTEXT: dict[str, Callable[..., Aggregation]] = {
    "train-on-majority": train_on_majority,
    "crowdlayer": crowdlayer,
    "skill": skill_aggregation,
    "skill-x": partial(skill_aggregation, specific=True),
}
METHODS: dict[str, Callable[..., Aggregation]] = {
    "average": mean_probability,
    "majority": majority_vote,
    "dawid-skene": dawid_skene,
    **WITH_CONTEXT,
}


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

    values, judges, classes : as in `Judgements.from_table`: samples x judges, missing allowed.
    method : "average" (Algorithm 1), "majority" (Algorithm 2), "dawid-skene" (Algorithm 3), and
        with a context "train-on-majority", "crowdlayer", "skill" (SkillAggregation; lambda is
        `regulariser` of `training`) and "skill-x" (SkillAggregation-X).
    context : for the last four, N texts or (N, F) vectors. options : of the method's own
        function: prior, start, seed, trusted of Dawid-Skene; encoder, training of those with a
        context.

    One judge is its own answer, and its skill cannot be known: averages and votes return it,
    Dawid-Skene says that nothing is identified.
    """
    given = Judgements.from_table(values, judges=judges, classes=classes)
    if method not in METHODS:
        raise PanelError(f"no method is called {method!r}; there are {', '.join(METHODS)}")
    if method in WITH_CONTEXT:
        return METHODS[method](given, context, **options)
    if context is not None:
        raise PanelError(
            f"method {method!r} does not look at contexts; leave context out, or choose "
            f"{', '.join(map(repr, WITH_CONTEXT))}"
        )
    return METHODS[method](given, **options)
