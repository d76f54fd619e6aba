"""How often intervals of a real judge's few answers hold its own scores by all (chapter 14).

The truth here is not people's: it is the scores fitted to all N(N-1) answers about a context, by
the same expert, with the bias fitted as for the few. The few are among them, so what an interval
is to hold is nearer than for a judge that could be asked without end: intervals that keep their
promise hold at least as often as they say.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd

import poe
from poe import newton
from poe.arrays import Floats
from poe.choose.selection import select_stack
from poe.comparisons import Comparisons
from poe.experts import BradleyTerry
from poe.result import Covariance
from reproduction.measured_tables import DATASETS, Asked, group, model_of, rows_of
from reproduction.settings import Settings
from studies.coverage import inside

FEW = {"topicalchat": (12, 18), "summeval": (48, 96)}  # calls, both orders of each pair
COVARIANCES: tuple[Covariance, ...] = ("curvature", "paired")


def table(settings: Settings) -> pd.DataFrame:
    """A row a dataset, attribute (and "mean"), number of calls and covariance.

    value : share of a context's differences whose 95% interval holds what all calls give, in per
    cent. se : over contexts.
    """
    which, rows = model_of(settings), list[dict[str, object]]()
    for dataset in DATASETS:
        if every := group(dataset, which=which):
            done = settings.map(partial(held, settings=settings), every)
            rows += rows_of(every, [done[one] for one in every], columns=("k", "covariance"))
    return pd.DataFrame(rows).assign(**settings.how("measured", "none"))


def held(one: Asked, settings: Settings) -> dict[tuple[int, str], Floats]:
    """By calls and covariance, the share of differences that are held, (draws, C)."""
    contexts, n = one.gold.shape
    options = {"fit_bias": True, "tol": 1e-9}
    truth = newton.solve(one.all_calls(), BradleyTerry(), **options).scores  # type: ignore[arg-type]
    shares: dict[tuple[int, str], Floats] = {}
    draws = max(settings.draws // 25, 2)
    for k in FEW[one.dataset]:
        rng = np.random.default_rng([settings.seed, 37, k])
        share = {name: np.full((draws, contexts), np.nan) for name in COVARIANCES}
        for draw in range(draws):
            pairs = select_stack(contexts, n, k, rule="symmetric", seed=rng)
            for c in range(contexts):
                p = one.p[c][tuple(pairs[c].T)]
                comparisons = Comparisons.from_pairs(pairs[c], p, items=n)
                fit = poe.fit(comparisons, expert="bradley-terry", bias="fit")
                for name in COVARIANCES:
                    share[name][draw, c] = inside(fit.with_covariance(name), truth[c])
        shares |= {(k, name): values for name, values in share.items()}
    return shares
