"""The Laplacian expert: it minds the size of a misfit, not its square."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from poe.arrays import Floats, OfP
from poe.experts.base import AroundMean, named, require_positive


@named
@dataclass(frozen=True)
class Laplacian(AroundMean):
    """exp(-|d - f_mu(p)| / b(p)) / (2 b(p)): poe_v1 eq. 31, which calls b f_sigma; book eq. 8.1.

    f_mu(p) = alpha (p - 1/2) and b(p) = scale, or the functions `mean` and `spread` of p.
    A constant scale does not move the scores; None stands for 1.

    The energy has a kink where expert and scores agree and no curvature anywhere, so Newton's
    method cannot use it: `poe.fit` solves a linear program (`poe.lp`). For
    error bars there is `information`.

    Examples
    --------
    >>> poe.Laplacian(scale=0.5).energy(np.array([1.0]), np.array([0.5]))
    array([2.])
    """

    alpha: float = 1.0
    scale: float | None = None
    mean: OfP | None = None
    spread: OfP | None = None
    name: str = "laplacian"

    def __post_init__(self) -> None:
        require_positive(alpha=self.alpha, scale=self.scale)

    def b(self, p: Floats) -> Floats:
        """The scale: the mean distance from f_mu under the density, in units of d."""
        if self.spread is not None:
            return self.spread(p)
        return np.full(np.shape(p), 1.0 if self.scale is None else float(self.scale))

    def energy(self, d: Floats, p: Floats) -> Floats:
        """|d - f_mu| / b."""
        return np.abs(d - self.f_mu(p)) / self.b(p)

    def slope(self, d: Floats, p: Floats) -> Floats:
        """sign(d - f_mu) / b: always the same force, and none where they agree."""
        return np.sign(d - self.f_mu(p)) / self.b(p)

    def curvature(self, d: Floats, p: Floats) -> Floats:
        """Zero: the whole curvature sits in the kink."""
        return np.zeros(np.broadcast_shapes(d.shape, p.shape))

    def information(self, d: Floats, p: Floats) -> Floats:
        """1 / b^2, the Fisher information: what many such experts curve like (book eq. 8.12).

        It is the mean square of the slope under the expert's own density. The sum of many
        energies with kinks at scattered places is nearly a parabola of this curvature.
        """
        return np.broadcast_to(self.b(p) ** -2.0, d.shape)

    def log_density(self, d: Floats, p: Floats) -> Floats:
        """-energy - log(2 b)."""
        return -self.energy(d, p) - np.log(2.0 * self.b(p))
