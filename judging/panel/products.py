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
from itertools import combinations

import numpy as np
import pandas as pd
from scipy.linalg import null_space
from scipy.optimize import minimize
from scipy.sparse import csr_array, diags_array
from scipy.special import expit

from judging.panel.judgements import PanelError, UnidentifiedPanelError
from poe.arrays import Floats, Indices
from poe.comparisons import Comparisons
from poe.errors import NotConvergedError, name_some
from poe.graph import component_labels
from poe.stack import by_item, laplacian

FLAT = 1e-9  # curvatures below this share of the largest count as none
RUNAWAY = 30.0  # logits that no finite evidence gives
EXACT = 1e-13  # gradient a comparison below which there is only rounding


@dataclass(frozen=True, eq=False)
class PanelFit:
    """Scores of the items and what the panel says of each judge.

    items : N names. scores : (N,), mean zero in every linked group. judges : K names.
    sharpness : (K,) a_k, mean square one; negative for a judge that prefers the worse.
    bias : (K,) b_k in logits. covariance : (N + 2K, N + 2K) of scores, sharpness and bias in
    this order, the inverse curvature under the conventions; it takes judgements as independent
    and is too small for duplicates. energy, message : how the search ended.
    """

    scores: Floats
    sharpness: Floats
    bias: Floats
    covariance: Floats = field(repr=False)
    energy: float
    message: str
    data: Pool = field(repr=False)

    @property
    def items(self) -> tuple[Hashable, ...]:
        """Names of the items."""
        return self.data.comparisons.items

    @property
    def judges(self) -> tuple[Hashable, ...]:
        """Names of the judges."""
        return self.data.judges

    @property
    def standard_errors(self) -> Floats:
        """(N,) of the scores, about the mean of their group."""
        return np.sqrt(np.maximum(np.diag(self.covariance)[: len(self.items)], 0.0))

    def skills(self) -> pd.DataFrame:
        """One row for each judge: sharpness, bias, errors, first-position rate between equals."""
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
    if spread is not None and not spread > 0:
        raise PanelError(f"spread must be positive or None, not {spread}")
    data = Pool.of(judges, spread)
    if trusted is not None and trusted not in data.judges:
        raise PanelError(f"trusted names {trusted!r}; there are {name_some(data.judges)}")
    energy, x = min((_descend(data, *start) for start in _starts(data)), key=lambda f: f[0])
    if np.abs(data.logits(x)).max() > RUNAWAY:
        raise NotConvergedError(
            "the scores or a judge's sharpness run away: decisions that scores explain without "
            "exception have no finite optimum; give spread=, or use probabilities"
        )
    x, covariance, gradient = _polish(data, x)
    if gradient > tol:
        raise NotConvergedError(f"no optimum: gradient {gradient:.1e} a comparison at the end")
    s, a, b = data.parts(x)
    sign, why = _sign(data, a, covariance, trusted)
    flip = np.concatenate([np.full(len(s) + len(a), sign), np.ones(len(b))])
    return PanelFit(
        sign * s,
        sign * a,
        b,
        covariance * np.outer(flip, flip),
        energy,
        f"largest gradient entry {max(gradient, EXACT):.0e} a comparison at most; {why}",
        data,
    )


def average_first(judges: Mapping[Hashable, Comparisons]) -> Comparisons:
    """The judges' probabilities for each ordered pair averaged, as one judge for `poe.fit`.

    Every judge counts the same and one bias is left for all; weights add up.
    """
    return Pool.of(judges).comparisons.merged()


def residual_correlation(fit: PanelFit) -> pd.DataFrame:
    """One row for each pair of judges: correlation of what both err by on the same ordered pairs.

    judge, other, pairs (in common), correlation, z (correlation times the root of pairs; beyond
    about 4 the two are not independent). Duplicates show a correlation near one. Errors common to
    *all* judges do not show: they become scores.
    """
    c = fit.data.comparisons
    eta = fit.data.logits(np.concatenate([fit.scores, fit.sharpness, fit.bias]))
    residuals = pd.DataFrame(
        {
            "judge": fit.data.judge,
            "pair": c.first * c.n_items + c.second,
            "residual": (c.p - expit(eta)) / np.sqrt(expit(eta) * expit(-eta)),
        }
    ).pivot_table(index="pair", columns="judge", values="residual")
    rows = []
    for one, other in combinations(range(len(fit.judges)), 2):
        both = residuals[[one, other]].dropna().to_numpy()
        r = float(np.corrcoef(both.T)[0, 1]) if len(both) > 2 else float("nan")
        rows.append((fit.judges[one], fit.judges[other], len(both), r, r * np.sqrt(len(both))))
    return pd.DataFrame(rows, columns=["judge", "other", "pairs", "correlation", "z"])


@dataclass(frozen=True, eq=False)
class Pool:
    """The comparisons of K judges among N items in one list, and the energy E of the module.

    comparisons : T rows. judge : (T,) whose. group : (N,) label of the items linked to each
    other by any judge's comparisons. spread : of the prior on the scores, or None.

    Its functions take x, the (N + 2K,) scores, sharpness and bias in this order.
    """

    judges: tuple[Hashable, ...]
    comparisons: Comparisons
    judge: Indices
    group: Indices
    spread: float | None

    @classmethod
    def of(cls, judges: Mapping[Hashable, Comparisons], spread: float | None = None) -> Pool:
        """Match the items of all judges by name; PanelError for none or never compared."""
        if not judges:
            raise PanelError("a panel needs the comparisons of at least one judge")
        each = list(judges.values())
        items = tuple(dict.fromkeys(item for one in each for item in one.items))
        position = {item: i for i, item in enumerate(items)}
        all_of_them = Comparisons.from_pairs(
            np.concatenate([np.array([position[i] for i in c.items])[c.pairs] for c in each]),
            np.concatenate([c.p for c in each]),
            items=items,
            weight=np.concatenate([c.weight for c in each]),
        )
        all_of_them.require_compared()
        return cls(
            tuple(judges),
            all_of_them,
            np.repeat(np.arange(len(each)), [len(c) for c in each]),
            component_labels(all_of_them.first, all_of_them.second, len(items)),
            spread,
        )

    def parts(self, x: Floats) -> tuple[Floats, Floats, Floats]:
        """Scores, sharpness and bias."""
        n, k = self.comparisons.n_items, len(self.judges)
        return x[:n], x[n : n + k], x[n + k :]

    def logits(self, x: Floats) -> Floats:
        """(T,) logits of the predictions, a_k (s_first - s_second) + b_k."""
        s, a, b = self.parts(x)
        c = self.comparisons
        return a[self.judge] * (s[c.first] - s[c.second]) + b[self.judge]

    def energy(self, x: Floats) -> float:
        """E(s, a, b)."""
        c, eta = self.comparisons, self.logits(x)
        fit = float(c.weight @ (np.logaddexp(0.0, eta) - c.p * eta))
        s, _, _ = self.parts(x)
        return fit + (0.0 if self.spread is None else float(s @ s) / (2 * self.spread**2))

    def jacobian(self, x: Floats) -> csr_array:
        """(T, N + 2K) derivatives of the logits, four in a row."""
        c = self.comparisons
        s, a, _ = self.parts(x)
        n, k, t = len(s), len(a), len(c)
        columns = [c.first, c.second, n + self.judge, n + k + self.judge]
        values = [a[self.judge], -a[self.judge], s[c.first] - s[c.second], np.ones(t)]
        start = np.arange(0, 4 * t + 1, 4)
        flat = np.column_stack(values).ravel(), np.column_stack(columns).ravel(), start
        return csr_array(flat, shape=(t, n + 2 * k))

    def gradient(self, x: Floats) -> Floats:
        """(N + 2K,) derivatives of E."""
        c = self.comparisons
        total = self.jacobian(x).T @ (c.weight * (expit(self.logits(x)) - c.p))
        if self.spread is not None:
            total[: c.n_items] += x[: c.n_items] / self.spread**2
        return np.asarray(total)

    def hessian(self, x: Floats) -> Floats:
        """(N + 2K, N + 2K) second derivatives of E."""
        c, eta, jacobian = self.comparisons, self.logits(x), self.jacobian(x)
        n, k = c.n_items, len(self.judges)
        stiffness = diags_array(c.weight * expit(eta) * expit(-eta))
        total = (jacobian.T @ stiffness @ jacobian).toarray()
        # eta is bilinear in scores and sharpness, which adds the pull itself.
        pull = c.weight * (expit(eta) - c.p)
        cross = np.zeros((n, k))
        np.add.at(cross, (c.first, self.judge), pull)
        np.add.at(cross, (c.second, self.judge), -pull)
        total[:n, n : n + k] += cross
        total[n : n + k, :n] += cross.T
        if self.spread is not None:
            total[np.arange(n), np.arange(n)] += 1.0 / self.spread**2
        return np.asarray(total)


def _sign(data: Pool, a: Floats, covariance: Floats, trusted: Hashable | None) -> tuple[float, str]:
    n, k = data.comparisons.n_items, len(a)
    own = covariance[n : n + k, n : n + k]
    if trusted is not None:
        weight = (np.array(data.judges, dtype=object) == trusted).astype(float)
        why = f"sign from {trusted!r}, taken to be better than chance"
    else:
        count = np.bincount(data.judge, data.comparisons.weight, k)
        weight = count / count.sum()
        why = "sign from the assumption that most weight is on judges better than chance"
    total, se = float(weight @ a), float(np.sqrt(max(weight @ own @ weight, 0.0)))
    if total == 0.0 or (trusted is None and abs(total) < 2.0 * se):
        raise UnidentifiedPanelError(
            f"which end of the scores is good is not identified: the mean sharpness is {total:.3g} "
            f"with standard error {se:.2g}; name a judge better than chance with trusted="
        )
    return float(np.sign(total)), why


def _starts(data: Pool) -> list[tuple[Floats, Floats]]:
    """Scores and sharpness to begin with: what the judges' own rankings have in common, and none.

    Each judge's scores by least squares with a little ridge; their first principal component
    knows adversaries by their sign, which an average does not.
    """
    k = len(data.judges)
    own = np.zeros((k, data.comparisons.n_items))
    for judge in range(k):
        c = data.comparisons.take(data.judge == judge)
        normal = laplacian(c, c.weight)
        normal[np.diag_indices(c.n_items)] += 0.1 * c.weight.mean()
        lean = 4.0 * c.weight * (c.p - np.average(c.p, weights=c.weight))
        own[judge] = np.linalg.solve(normal, by_item(c, lean, -lean))
    left, size, right = np.linalg.svd(own, full_matrices=False)
    average = (own.mean(axis=0), np.ones(k))
    if size[0] <= 1e-12:
        return [average]
    return [(size[0] / np.sqrt(k) * right[0], np.sqrt(k) * left[:, 0]), average]


def _descend(data: Pool, s: Floats, a: Floats) -> tuple[float, Floats]:
    """Energy and x by quasi-Newton; the scale is fixed by writing a = sqrt(K) u / |u|."""
    n, k = len(s), len(a)

    def scaled(x: Floats) -> Floats:
        s, u, b = data.parts(x)
        return np.concatenate([s, np.sqrt(k) * u / np.linalg.norm(u), b])

    def value(x: Floats) -> tuple[float, Floats]:
        y = scaled(x)
        gradient, a = data.gradient(y), y[n : n + k]
        along = gradient[n : n + k] - a * (a @ gradient[n : n + k]) / k
        gradient[n : n + k] = np.sqrt(k) / np.linalg.norm(x[n : n + k]) * along
        return data.energy(y), gradient

    options = {"maxiter": 5000, "ftol": 0, "gtol": 1e-9}
    x = np.concatenate([s, a, np.zeros(k)])
    solution = minimize(value, x, jac=True, method="L-BFGS-B", options=options)
    return float(solution.fun), scaled(solution.x)


def _polish(data: Pool, x: Floats) -> tuple[Floats, Floats, float]:
    """Newton's steps on what the conventions leave free; the inverse curvature there.

    Also the largest entry of the gradient a comparison.
    """
    n, k, group = data.comparisons.n_items, len(data.judges), data.group
    sharpness = slice(n, n + k)
    for _ in range(20):
        if data.spread is None:
            x = x.copy()
            x[:n] -= (np.bincount(group, x[:n]) / np.bincount(group))[group]
        gradient, a = data.gradient(x), x[sharpness]
        # The constraint a'a = K has a multiplier where a prior pulls at the scale.
        multiplier = float(a @ gradient[sharpness]) / k
        gradient[sharpness] -= multiplier * a
        hessian = data.hessian(x)
        hessian[sharpness, sharpness] -= multiplier * np.eye(k)
        free = _free(data, a)
        values, vectors = np.linalg.eigh(free.T @ hessian @ free)
        directions = free @ vectors
        if values[0] <= FLAT * values[-1]:
            raise _flat(data, directions[:, 0])
        size = float(np.abs(gradient).max()) / float(data.comparisons.weight.sum())
        if size < EXACT:
            break
        x = x - directions @ ((directions.T @ gradient) / values)
        x[sharpness] *= np.sqrt(k) / np.linalg.norm(x[sharpness])
    return x, np.asarray((directions / values) @ directions.T), size


def _free(data: Pool, a: Floats) -> Floats:
    """Columns that span what the conventions leave: no shift of a whole group, no scale."""
    n, k = data.comparisons.n_items, len(a)
    groups = int(data.group.max()) + 1 if data.spread is None else 0
    fixed = np.zeros((groups + 1, n + 2 * k))
    for group in range(groups):
        fixed[group, :n] = data.group == group
    fixed[groups, n : n + k] = a
    return null_space(fixed)


def _flat(data: Pool, weakest: Floats) -> UnidentifiedPanelError:
    _, a, b = data.parts(np.abs(weakest))
    share = a + b
    named = [data.judges[j] for j in np.flatnonzero(share > 0.1 * max(share.max(), 1e-12))]
    who = name_some(named) if share.max() > 1e-6 else "the judges"
    return UnidentifiedPanelError(
        f"the comparisons of {who} do not tell sharpness, bias and scores apart: some change "
        "of them leaves every prediction as it is; add comparisons in the other order, or of "
        "items that the other judges compared"
    )
