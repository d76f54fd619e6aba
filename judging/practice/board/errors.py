"""What errors come from: every vote by itself, the votes about a pair, or those about a prompt.

`judging fit` and `judging leaderboard` take the same votes to the same intervals by this one rule,
and print which. Answers that share a prompt err together (`judging.practice.board.clusters`).
Without prompts, or with fewer than ten that nobody named, it matters who was asked. One judge that
saw each pair once, or once in each order, may err in the same direction both times ("pair"; book
eq. 14.9). Where a pair was met in the same order again, there were other people or other prompts,
and votes are taken one by one ("vote"; book eq. 14.8).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from judging.practice import findings as f
from judging.practice.board.clusters import clustered
from judging.practice.ranking.settings import COVARIANCES, Errors
from judging.practice.reading.forms import FEWEST_CLUSTERS, Columns
from poe.arrays import Indices
from poe.errors import ComparisonError
from poe.experts import BradleyTerry
from poe.result import COVARIANCE_ITEMS, Fit

__all__ = ["cluster_of", "error_findings", "kind_of", "require_prompts", "with_errors"]


def kind_of(columns: Columns, wanted: Errors) -> Errors:
    """Choose what "auto" means for these comparisons."""
    if wanted == "prompt" and columns.cluster is None:
        raise ComparisonError(
            "no column says which answers share a prompt or an annotator; name it "
            "(--column cluster=...), or take the errors of single votes (--set errors=vote)"
        )
    if wanted != "auto":
        return wanted
    enough = FEWEST_CLUSTERS <= _count(columns) < len(columns.p)
    if columns.cluster is not None and (enough or columns.cluster_wanted):
        return "prompt"
    pairs = list(zip(columns.first, columns.second, strict=True))
    return "vote" if len(set(pairs)) < len(pairs) else "pair"


def require_prompts(wanted: Errors, count: int) -> None:
    """Refuse errors that so few prompts cannot have, before anything is asked."""
    if wanted == "prompt" and count < 2:
        raise ComparisonError(
            "errors need at least two prompts, and there is one; take the errors of single votes "
            "(--set errors=vote)"
        )


def _count(columns: Columns) -> int:
    """How many prompts or annotators there are, 0 where no column says it."""
    return 0 if columns.cluster is None else len(np.unique(columns.cluster))


def cluster_of(columns: Columns, kind: Errors) -> Indices:
    """(K,) numbers of what may err together."""
    if kind == "prompt" and columns.cluster is not None:
        return columns.cluster
    if kind in ("vote", "decision"):
        return np.arange(len(columns.p))
    sides = zip(columns.first, columns.second, strict=True)
    number: dict[frozenset[Any], int] = {}
    return np.array([number.setdefault(frozenset(pair), len(number)) for pair in sides])


def with_errors(fitted: Fit, columns: Columns, kind: Errors) -> Fit:
    """The fit with the errors of `kind_of`; those that its expert has, where it has no others."""
    if columns.cluster is not None and _by_prompt(fitted, columns, kind):
        return clustered(fitted, columns.cluster)
    return fitted.with_covariance(COVARIANCES.get(kind, "scatter"))


def error_findings(fitted: Fit, columns: Columns, kind: Errors) -> list[Any]:
    """Find what the intervals are made of, and whether prompts are too few to cluster on."""
    name, values = columns.cluster_name, _count(columns)
    if _by_prompt(fitted, columns, kind):
        return [f.MadeOf("prompt", name, values)]
    if not (fitted.estimates_sigma or isinstance(fitted.expert, BradleyTerry)):
        return [f.MadeOf("expert", "", 0)]
    case = kind if kind in COVARIANCES else "vote"
    found: list[Any] = [f.MadeOf(case, "", 0)]
    if 0 < values < FEWEST_CLUSTERS:
        found.append(f.FewClusters("one" if values == 1 else "few", name, values))
    return found


def _by_prompt(fitted: Fit, columns: Columns, kind: Errors) -> bool:
    """Whether to cluster errors on prompts; off where the covariance matrix would be too large."""
    known = columns.cluster is not None and len(fitted.items) <= COVARIANCE_ITEMS
    return kind == "prompt" and known and _has_slopes(fitted.expert)


def _has_slopes(expert: Any) -> bool:
    """Whether errors can be clustered: not where the expert's curvature is zero (Laplacian)."""
    at = np.linspace(-2.0, 2.0, 9)
    return bool((np.asarray(expert.curvature(at, np.full(9, 0.5))) > 0.0).any())
