"""Several judges, no reference labels: what the judges together say, and how good each one is.

    found = poe.aggregation.aggregate(judgements, "dawid-skene")
    found.labels; found.probabilities; found.skills(); found.message

`aggregate` is the one interface; the methods are functions of their own as well. Those with a
context need torch (extra `judge`) and import it when they are called. `panel` joins judges of
pairwise comparisons to a product of experts.
"""

from poe.aggregation.dawid_skene import dawid_skene
from poe.aggregation.diagnostics import check_labels, contradictions, diagnose, labels_to_notice
from poe.aggregation.encoders import Transformer
from poe.aggregation.errors import AggregationError, UnidentifiedPanelError
from poe.aggregation.hashing import hashed_ngrams
from poe.aggregation.interface import METHODS, aggregate
from poe.aggregation.judgements import Judgements, judgements
from poe.aggregation.learning import crowdlayer, skill_aggregation, train_on_majority
from poe.aggregation.panel import PanelFit, average_first, fit_panel, residual_correlation
from poe.aggregation.posterior import posterior
from poe.aggregation.result import Aggregation
from poe.aggregation.settings import Training
from poe.aggregation.voting import average_probability, majority_vote

__all__ = [
    "METHODS",
    "Aggregation",
    "AggregationError",
    "Judgements",
    "PanelFit",
    "Training",
    "Transformer",
    "UnidentifiedPanelError",
    "aggregate",
    "average_first",
    "average_probability",
    "check_labels",
    "contradictions",
    "crowdlayer",
    "dawid_skene",
    "diagnose",
    "fit_panel",
    "hashed_ngrams",
    "judgements",
    "labels_to_notice",
    "majority_vote",
    "posterior",
    "residual_correlation",
    "skill_aggregation",
    "train_on_majority",
]
