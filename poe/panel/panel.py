"""Comparisons of several judges in one product: a sharpness and a position bias for each.

Each judge k is a Bradley-Terry expert of its own. Shown i and then j it prefers i with probability

    P_k(i before j) = sigma(eta),   eta = a_k (s_i - s_j) + b_k,

a_k its sharpness in units of the scores, b_k its preference for the first position in logits (the
gamma of `poe.fit` is -b_k / a_k). As an expert on the difference d it has its opinion at
d = (logit p - b_k) / a_k and the curvature a_k^2 sigma(eta) sigma(-eta): sharp judges pull harder.
Scores, sharpness and bias minimise together, without labels,

    E(s, a, b) = sum_t w_t (log(1 + exp(eta_t)) - p_t eta_t) + sum_i s_i^2 / (2 spread^2),

the negative log-likelihood of decisions, for probabilities the cross-entropy of the paper's soft
experts; the last term only with a `spread`. A judge whose answers do not follow the others' scores
gets a small a_k however certain it sounds.

**What is identified.** E does not change under (s, a) -> (c s, a / c) for any c of either
sign, nor, without spread, under a shift of the scores of items linked by comparisons. So:

- Shift: scores have mean zero in every linked group.
- Scale: the mean of a_k^2 is one; a score difference of one is one logit for the typical judge.
- Sign: the data cannot say whether the judges agree on what is good or on what is bad. It is
  *assumed* that most judgements come from judges with a_k > 0: sum_k n_k a_k > 0. Where that sum
  is within two standard errors of zero there is no sign, and an UnidentifiedPanelError;
  `trusted` names a judge whose sign is known instead.
- A judge all of whose comparisons have the same difference has one equation for a_k and b_k;
  judges with no more than one item in common have scales that cannot be compared. Both leave
  the curvature singular, and are refused by name.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit

from poe.comparisons import Comparisons, Floats
from poe.errors import NotConvergedError, name_some
from poe.panel.errors import AggregationError, UnidentifiedPanelError
from poe.panel.judges_together import Together, together
from poe.panel.panel_solver import RUNAWAY, descend, eta_of, polish, starts

DENSE_ITEMS = 1500


@dataclass(frozen=True, eq=False)
class PanelFit:
    """Scores of the items and what the panel says of each judge.

    items : N names. scores : (N,), mean zero in every linked group. judges : K names.
    sharpness : (K,) a_k, mean square one; negative for a judge that prefers the worse.
    bias : (K,) b_k in logits. covariance : (N + 2K, N + 2K) of scores, sharpness and bias in
    this order, the inverse curvature under the conventions; it takes judgements as independent
    and is too small for duplicates. energy, gradient, message : how the search ended.
    """

    items: tuple[Hashable, ...]
    judges: tuple[Hashable, ...]
    scores: Floats
    sharpness: Floats
    bias: Floats
    covariance: Floats = field(repr=False)
    energy: float
    gradient: float
    message: str
    data: Together = field(repr=False)

    @property
    def standard_errors(self) -> Floats:
        """(N,) of the scores, about the mean of their group."""
        return np.sqrt(np.maximum(np.diag(self.covariance)[: len(self.items)], 0.0))

    def difference_se(self, one: Hashable, other: Hashable) -> float:
        """Standard error of the difference of two items' scores."""
        i, j = self.items.index(one), self.items.index(other)
        c = self.covariance
        return float(np.sqrt(max(c[i, i] + c[j, j] - 2.0 * c[i, j], 0.0)))

    def skills(self) -> pd.DataFrame:
        """One row a judge: sharpness and bias with errors, first-position rate between equals."""
        se = np.sqrt(np.maximum(np.diag(self.covariance)[len(self.items) :], 0.0))
        k = len(self.judges)
        return pd.DataFrame(
            {
                "judge": list(self.judges),
                "sharpness": self.sharpness,
                "sharpness_se": se[:k],
                "bias": self.bias,
                "bias_se": se[k:],
                "first_between_equals": expit(self.bias),
            }
        )

    @cached_property
    def residuals(self) -> Floats:
        """(T,) p - sigma(eta) of every comparison, in the order of `data`."""
        return self.data.p - expit(eta_of(self.data, self.scores, self.sharpness, self.bias))


def fit_panel(
    judges: Mapping[Hashable, Comparisons],
    *,
    spread: float | None = None,
    trusted: Hashable | None = None,
    tol: float = 1e-7,
) -> PanelFit:
    """Scores, sharpness and position bias of all judges by joint maximum likelihood.

    judges : the comparisons of each judge, by name; items are matched by name and need not be the
        same. spread : standard deviation of a normal prior on the scores in logits of the typical
        judge; needed where decisions are separable. trusted : a judge known to be better than
        chance, which then fixes the sign. tol : largest gradient entry a comparison at the end.

    Equations and what they identify: the module's docstring. Raises UnidentifiedPanelError, and
    NotConvergedError where no finite optimum was found.
    """
    data = together(judges)
    if spread is not None and not spread > 0:
        raise AggregationError(f"spread must be positive or None, not {spread}")
    if trusted is not None and trusted not in data.judges:
        raise AggregationError(f"trusted names {trusted!r}; there are {name_some(data.judges)}")
    if len(data.items) > DENSE_ITEMS:
        raise AggregationError(
            f"{len(data.items)} items are more than the {DENSE_ITEMS} of this dense solver; fit "
            "them in groups that share items"
        )
    best = min((descend(data, start, spread) for start in starts(data)), key=lambda f: f[0])
    scores, a, b = best[1:]
    if np.abs(eta_of(data, scores, a, b)).max() > RUNAWAY:
        raise NotConvergedError(
            "the scores or a judge's sharpness run away: decisions that scores explain without "
            "exception have no finite optimum; give spread=, or use probabilities"
        )
    scores, a, b, covariance, gradient = polish(data, scores, a, b, spread)
    if gradient > tol:
        raise NotConvergedError(f"no optimum: gradient {gradient:.1e} a comparison at the end")
    sign, why = _sign(data, a, covariance, trusted)
    flip = np.ones(len(scores) + 2 * len(a))
    flip[: len(scores) + len(a)] = sign
    return PanelFit(
        data.items,
        data.judges,
        sign * scores,
        sign * a,
        b,
        covariance * np.outer(flip, flip),
        best[0],
        gradient,
        f"largest gradient entry {gradient:.0e} a comparison; {why}",
        data,
    )


def average_first(judges: Mapping[Hashable, Comparisons]) -> Comparisons:
    """The judges' probabilities for each ordered pair averaged, as one judge for `poe.fit`.

    Every judge counts the same and one bias is left for all; weights add up.
    """
    data = together(judges)
    pairs = np.column_stack([data.first, data.second])
    return Comparisons.from_pairs(pairs, data.p, items=data.items, weight=data.weight).merged()


def _sign(
    data: Together, a: Floats, covariance: Floats, trusted: Hashable | None
) -> tuple[float, str]:
    n, k = len(data.items), len(a)
    own = covariance[n : n + k, n : n + k]
    if trusted is not None:
        weight = (np.array(data.judges, dtype=object) == trusted).astype(float)
        what = f"sign from {trusted!r}, taken to be better than chance"
    else:
        count = np.bincount(data.judge, data.weight, k)
        weight = count / count.sum()
        what = "sign from the assumption that most weight is on judges better than chance"
    total, se = float(weight @ a), float(np.sqrt(max(weight @ own @ weight, 0.0)))
    if total == 0.0 or (trusted is None and abs(total) < 2.0 * se):
        raise UnidentifiedPanelError(
            f"which end of the scores is good is not identified: the mean sharpness is {total:.3g} "
            f"with standard error {se:.2g}; name a judge better than chance with trusted="
        )
    return float(np.sign(total)), what


def residual_correlation(fit: PanelFit) -> pd.DataFrame:
    """One row a pair of judges: correlation of what both err by on the same ordered pairs.

    judge, other, pairs (in common), correlation, z (correlation times the root of pairs; beyond
    about 4 the two are not independent). Duplicates show a correlation near one. Errors common to
    *all* judges do not show: they become scores.
    """
    data, codes = fit.data, {}
    n = len(fit.items)
    eta = eta_of(data, fit.scores, fit.sharpness, fit.bias)
    scaled = fit.residuals / np.sqrt(expit(eta) * expit(-eta))
    for k in range(len(fit.judges)):
        mine = data.judge == k
        code = data.first[mine] * n + data.second[mine]
        codes[k] = pd.Series(scaled[mine], index=code).groupby(level=0).mean()
    rows: list[dict[str, Any]] = []
    for one in range(len(fit.judges)):
        for other in range(one + 1, len(fit.judges)):
            both = pd.concat([codes[one], codes[other]], axis=1, join="inner").to_numpy()
            r = float(np.corrcoef(both.T)[0, 1]) if len(both) > 2 else float("nan")
            rows.append(
                {
                    "judge": fit.judges[one],
                    "other": fit.judges[other],
                    "pairs": len(both),
                    "correlation": r,
                    "z": r * np.sqrt(len(both)),
                }
            )
    return pd.DataFrame(rows)
