"""What was asked of the engine before it was written, each with its limit."""

from __future__ import annotations

from typing import NamedTuple


class Goal(NamedTuple):
    """`limit` in seconds, GB, or times what another package takes (`unit`); `what` in words."""

    what: str
    limit: float
    unit: str = "s"


GOALS = {
    "sweep": Goal("the paper's whole sweep, six methods and the Laplacian, on two cores", 300.0),
    "small-choix": Goal("16 items, 48 calls: soft Bradley-Terry, beside choix", 1.0, "times"),
    "small-laplacian": Goal("16 items, 48 calls: Laplacian", 20e-3),
    "large-gaussian": Goal("1,056 items, 50N comparisons: Gaussian", 6e-3),
    "large-bt": Goal("1,056 items, 50N comparisons: soft Bradley-Terry", 40e-3),
    "large-laplacian-10": Goal("1,056 items, 10N comparisons: Laplacian", 0.4),
    "large-laplacian": Goal("1,056 items, 50N comparisons: Laplacian", 1.5),
    "million-gaussian": Goal("a million items, ten million comparisons: Gaussian", 6.0),
    "million-bt": Goal(
        "a million items, ten million comparisons: soft Bradley-Terry with its bias", 12.0
    ),
    "million-memory": Goal("a million items, ten million comparisons: peak memory", 3.0, "GB"),
    "greedy": Goal("greedy selection of 10N pairs at 1,056 items", 15.0),
    "dawid-skene-million": Goal("Dawid-Skene on a million samples of ten judges", 5.0),
    "skill-34k": Goal("SkillAggregation on 34,000 texts, nine judges, five seeds", 180.0),
}
