"""Errors of answers that share something: a prompt, an annotator.

Systems that are compared on the same prompts share what is particular to a prompt: one of them is
good at riddles, another at poems. Answers about one prompt then err together, and errors that take
every answer for news of its own are too small, the more so the more answers a prompt has. The
sandwich clustered on the prompt asks nothing of how they err together, only that different prompts
err independently.

Every answer k has a row x_k in the unknowns u: +1 at one item, -1 at the other, and its entries at
bias and covariate. With the slope r_k of its energy and its curvature w_k at the fit,

    A = sum_k w_k x_k x_k',   A_c and g_c = sum_k r_k x_k over cluster c alone,
    V = (C - 1) / C  sum_c d_c d_c',   d_c = (A - A_c)^-1 g_c.

d_c is what one Newton step says leaving out cluster c changes (the jackknife; CR3 of Bell and
McCaffrey, Survey Methodology 28, 2002): unlike A^-1 g_c of the plain sandwich (CR1; Liang and
Zeger, Biometrika 73, 1986) it does not forget that the fit has bent towards each cluster, which
matters while clusters are few. Quantiles are Student's with C - 1 degrees of freedom.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import coo_array, csr_array, diags_array

from poe.arrays import Floats, Indices
from poe.errors import ComparisonError, NotConvergedError
from poe.result import Covariance, Fit

__all__ = ["Clustered", "Effect", "clustered"]

CR1_CLUSTERS = 200  # per unknown; beyond it CR1's errors are within half a per cent of CR3's
EXPLAINED = 1e-5  # information of an answer on the coefficient below which there is none
ENOUGH = 1e-7  # gradient left, in units of the largest weight on an unknown: errors are 1e-2
MOST_STEPS = 60  # identifiable covariates converge in about ten
FREE = 1e-6  # share of a direction that other clusters must tell, at least


class Effect(NamedTuple):
    """A covariate's coefficient in logits a standard deviation, and its standard error."""

    size: float
    se: float


@dataclass(frozen=True, eq=False, kw_only=True)
class Clustered(Fit):
    """A fit whose errors, intervals and probabilities come from differences between clusters.

    joint : (N + 1, N + 1) covariance of scores and bias. clusters : how many. covariate : what
    was controlled for, scores being those at equal covariates; None for nothing.
    """

    joint: Floats = field(repr=False)
    clusters: int
    covariate: Effect | None = None

    def with_covariance(self, choice: Covariance) -> Fit:
        """The scores as a plain `Fit`, whose errors take every answer as independent of others.

        ValueError where a covariate was controlled for: a plain fit does not know of it, so what
        its answers leave would be taken for scatter.
        """
        if choice == self.covariance_choice:
            return self
        if self.covariate is not None:
            raise ValueError(
                "scores at equal covariates have clustered errors only; for another covariance "
                "fit without the covariate"
            )
        return Fit(**_parts(self) | {"covariance_choice": "paired"}).with_covariance(choice)

    @cached_property
    def _joint(self) -> Floats:
        return self.joint

    @property
    def freedom(self) -> float:
        """Degrees of freedom of Student's t: one less than there are clusters."""
        return self.clusters - 1.0

    @cached_property
    def scatter(self) -> None:
        """None: nothing is assumed of how answers scatter."""


def clustered(
    fit: Fit, cluster: Indices, covariate: Floats | None = None, *, ridge: float = 0.0
) -> Clustered:
    """The fit with errors clustered, and with its differences moved by a covariate if there is one.

    fit : of a convex expert, by `poe.fit`. cluster : (K,) numbers of what each answer shares.
    covariate : (K,) first minus second; its coefficient b is estimated with the scores, under the
    penalty ridge b^2 / 2.

    Raises ComparisonError for fewer than two clusters, NotConvergedError where the covariate
    explains every decision.
    """
    c, real, n = fit.comparisons, fit.real, len(fit.items)
    _, group = np.unique(cluster, return_inverse=True)
    if (count := int(group.max()) + 1) < 2:
        raise ComparisonError("errors need at least two prompts, annotators or single answers")
    tilt = np.broadcast_to(np.asarray(fit.tilt, dtype=float), c.p.shape)
    k, ones = np.arange(len(c)), np.ones(len(c))
    parts: list[Any] = [(k, c.first, ones), (k, c.second, -ones)]
    width = n
    if fit.bias_fitted:
        parts.append((k, np.full(len(c), width), -tilt))
        width += 1
    if covariate is not None:
        parts.append((k[real], np.full(len(covariate), width), covariate))
        width += 1
    at = [np.concatenate(part) for part in zip(*parts, strict=True)]
    rows = csr_array(coo_array((at[2], (at[0], at[1])), shape=(len(c), width)))
    offset = 0.0 if fit.bias_fitted else -tilt * fit.bias
    unknown = np.concatenate([fit.scores, [fit.bias] * fit.bias_fitted, np.zeros(width)])[:width]
    penalty = np.zeros(width)
    penalty[-1] = 0.0 if covariate is None else ridge
    unknown = _moved(fit, rows, offset, unknown, penalty)
    d = rows @ unknown + offset
    pull = c.weight * fit.expert.slope(d, c.p)
    stiffness = c.weight * np.maximum(fit.expert.curvature(d, c.p), 0.0)
    a = _curvature(rows, stiffness, n) + np.diag(penalty)
    if covariate is not None and 1.0 / np.linalg.inv(a)[-1, -1] < EXPLAINED * len(covariate):
        raise NotConvergedError(
            "the covariate and the scores explain every decision, so its coefficient has no finite "
            "value; leave it out, or use probabilities"
        )
    variance = _sandwich(rows[real], pull[real], stiffness[real], group, count, a)
    joint = np.zeros((n + 1, n + 1))
    inside = [*range(n), *([n] if fit.bias_fitted else [])]
    joint[np.ix_(inside, inside)] = variance[np.ix_(inside, inside)]
    effect = None
    if covariate is not None:
        effect = Effect(float(unknown[-1]), float(np.sqrt(variance[-1, -1])))
    moved: dict[str, Any] = {
        "scores": unknown[:n] - unknown[:n].mean(),
        "bias": float(unknown[n]) if fit.bias_fitted else fit.bias,
        "energy": float(c.weight @ fit.expert.energy(d, c.p)),
        "covariance_choice": "clustered",
    }
    return Clustered(**_parts(fit) | moved, joint=joint, clusters=count, covariate=effect)


def _parts(fit: Fit) -> dict[str, Any]:
    """What a plain fit is made from, by name."""
    return {one.name: getattr(fit, one.name) for one in fields(Fit) if one.init}


def _curvature(rows: csr_array, stiffness: Floats, n: int) -> Floats:
    """A, made invertible along the shift of all scores that it is blind to."""
    matrix = (rows.T @ diags_array(stiffness) @ rows).toarray()
    matrix[:n, :n] += np.trace(matrix[:n, :n]) / n**2
    return np.asarray(matrix)


def _moved(fit: Fit, rows: csr_array, offset: Any, unknown: Floats, penalty: Floats) -> Floats:
    """The unknowns of lowest energy, from where the fit left them.

    `poe.newton` knows one unknown beside the scores, the bias. A covariate is a second, for which
    SciPy's Newton method with a trust region serves, as these problems are neither large nor many.
    """
    c, expert = fit.comparisons, fit.expert

    def slope(at: Floats) -> Floats:
        pull = rows.T @ (c.weight * expert.slope(rows @ at + offset, c.p))
        return np.asarray(pull + penalty * at)

    def curvature(at: Floats) -> Floats:
        stiffness = c.weight * expert.curvature(rows @ at + offset, c.p)
        return _curvature(rows, stiffness, c.n_items) + np.diag(penalty)

    enough = ENOUGH * float(np.max(np.abs(rows).T @ c.weight))
    if np.abs(slope(unknown)).max() <= enough:  # without a covariate nothing moves
        return unknown
    optimum = minimize(
        lambda at: float(c.weight @ expert.energy(rows @ at + offset, c.p) + penalty @ at**2 / 2.0),
        unknown,
        jac=slope,
        hess=curvature,
        method="trust-exact",
        options={"gtol": enough, "maxiter": MOST_STEPS},
    )
    if not np.abs(slope(optimum.x)).max() <= enough:
        raise NotConvergedError(
            f"no optimum with the covariate after {optimum.nit} steps; leave it out"
        )
    return np.asarray(optimum.x)


def _sandwich(
    rows: csr_array, pull: Floats, stiffness: Floats, group: Indices, count: int, a: Floats
) -> Floats:
    """V of the module's docstring; by CR1 beyond `CR1_CLUSTERS`, where it is the same."""
    width = len(a)
    if count > CR1_CLUSTERS * width:
        member = csr_array((np.ones(len(group)), (group, np.arange(len(group)))))
        g = member @ diags_array(pull) @ rows
        bread = np.linalg.inv(a)
        return np.asarray(count / (count - 1.0) * bread @ (g.T @ g).toarray() @ bread)
    # In units in which A is the identity, A_c is b'b of the cluster's rows b, and
    # (1 - b'b)^-1 g = g + b' (1 - bb')^-1 b g asks for a matrix as large as the cluster at most.
    value, vector = np.linalg.eigh(a)
    root = vector / np.sqrt(value) @ vector.T
    order = np.argsort(group, kind="stable")
    z, ends = rows[order] @ root, np.searchsorted(group[order], np.arange(count + 1))
    pull, size = pull[order, None], np.sqrt(stiffness[order, None])
    moved = np.empty((count, width))
    for c in range(count):
        part = slice(ends[c], ends[c + 1])
        g, b = (z[part] * pull[part]).sum(axis=0), size[part] * z[part]
        if len(b) > width:
            share, axes = np.linalg.eigh(b.T @ b)
            held = axes @ ((axes.T @ g) / np.maximum(1.0 - share, FREE))
        else:
            share, axes = np.linalg.eigh(b @ b.T)
            held = g + b.T @ (axes @ ((axes.T @ (b @ g)) / np.maximum(1.0 - share, FREE)))
        moved[c] = root @ held
    return np.asarray((count - 1.0) / count * moved.T @ moved)
