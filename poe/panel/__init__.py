"""Several judges, no reference labels: what the judges together say, and how good each one is.

    found = poe.panel.aggregate(judgements, "dawid-skene")
    found.labels; found.probabilities; found.skills(); found.message

`aggregate` is the one interface; the methods are functions of their own as well. Those with a
context need torch (extra `judge`) and import it when they are called. `panel` joins judges of
pairwise comparisons to a product of experts.
"""

from poe.panel.dawid_skene import dawid_skene
from poe.panel.diagnostics import check_labels, contradictions, diagnose, labels_to_notice
from poe.panel.encoders import Transformer
from poe.panel.errors import AggregationError, UnidentifiedPanelError
from poe.panel.hashing import hashed_ngrams
from poe.panel.interface import METHODS, aggregate
from poe.panel.judgements import Judgements, judgements
from poe.panel.learning import crowdlayer, skill_aggregation, train_on_majority
from poe.panel.panel import PanelFit, average_first, fit_panel, residual_correlation
from poe.panel.posterior import posterior
from poe.panel.result import Aggregation
from poe.panel.settings import Training
from poe.panel.voting import average_probability, majority_vote

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
