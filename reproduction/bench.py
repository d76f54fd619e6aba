"""What a twin's answers come to, on random numbers that stay the same from call to call.

Common random numbers make every result smooth in the parameters, so that equations can be
solved; each taste is used with its mirror image, which cancels most of its luck.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from scipy.special import expit

from poe import newton
from poe.comparisons import Floats
from poe.experts import BradleyTerry
from poe.metrics import summary_level
from poe.scores import average_probability, win_ratio
from poe.selection import select_stack
from poe.stack import Stack
from reproduction.twins import quality_scores

TASTES = 50  # simulated tastes, each with its mirror image
SEED = 20240501


class Parameters(Protocol):
    """A twin's parameters; noise and bias in units of perceived quality."""

    @property
    def rho(self) -> float:
        """Correlation of perceived with human quality."""

    @property
    def noise(self) -> float:
        """In units of quality."""

    @property
    def bias(self) -> float:
        """In units of quality."""

    @property
    def sharpness(self) -> float:
        """Logits per unit of quality."""


class Bench:
    """Answers to all calls about human scores (C, N), by 2 * `tastes` judges.

    Every method returns one value a judge: (2 * tastes,).
    """

    def __init__(self, gold: Floats, *, tastes: int = TASTES, seed: int = SEED) -> None:
        rng = np.random.default_rng(seed)
        self.gold = np.asarray(gold, dtype=float)
        n = self.gold.shape[-1]
        self.z = quality_scores(self.gold)
        self.taste = rng.standard_normal((tastes, *self.gold.shape))
        self.calls = rng.standard_normal((tastes, *self.gold.shape, n)).astype(np.float32)
        self.truth = np.sign(self.gold[:, :, None] - self.gold[:, None, :])
        self.seed = seed

    def _differences(self, rho: float, noise: float):  # type: ignore[no-untyped-def]
        """(C, N, N) differences of perceived quality, with noise, of one judge after another."""
        for taste, error in zip(self.taste, self.calls, strict=True):
            for mirrored in (taste, -taste):
                q = rho * self.z + np.sqrt(1.0 - rho**2) * mirrored
                yield q[..., :, None] - q[..., None, :] + noise * error

    def win_ratio(self, rho: float, noise: float) -> Floats:
        """Summary-level Spearman of the wins in all calls, both orders counted apart."""
        wins = []
        for d in self._differences(rho, noise):
            won = _off_diagonal(np.sign(d))
            wins.append(won.sum(axis=-1) - won.sum(axis=-2))
        return np.asarray(summary_level(np.stack(wins), self.gold).value)

    def accuracy(self, rho: float, noise: float) -> Floats:
        """Share of decisions that are right, over pairs whose human scores differ."""
        decided = self.truth != 0
        return np.array(
            [(np.sign(d) == self.truth)[decided].mean() for d in self._differences(rho, noise)]
        )

    def average_probability(self, twin: Parameters) -> Floats:
        """Summary-level Spearman of the average probability over all calls."""
        p = np.stack([_off_diagonal(one).sum(axis=-1) for one in self._both_orders(twin)])
        return np.asarray(summary_level(p, self.gold).value)

    def soft_gain(self, twin: Parameters, *, judges: int = 30) -> Floats:
        """Pearson of soft Bradley-Terry less that of the average probability, all calls.

        For the first `judges` only, each of which costs a fit in every context.
        """
        n = self.gold.shape[-1]
        left, right = np.triu_indices(n, 1)
        average, straight = [], []
        for one, _ in zip(self._both_orders(twin), range(judges), strict=False):
            pairs = np.broadcast_to(np.stack([left, right], -1), (len(one), len(left), 2))
            stack = Stack.of(n, pairs, one[:, left, right])
            average.append(average_probability(stack))
            straight.append(newton.solve(stack, BradleyTerry(), tol=1e-8).scores)
        value = [
            summary_level(np.stack(s), self.gold, kind="pearson").value for s in (straight, average)
        ]
        return np.asarray(value[0] - value[1])

    def few_wins(self, rho: float, noise: float, pairs: int) -> Floats:
        """Summary-level Spearman of the win-ratio from `pairs` pairs asked in both orders."""
        contexts, n = self.gold.shape
        rng = np.random.default_rng(self.seed)
        rows = np.arange(contexts)[:, None]
        found = []
        for d in self._differences(rho, noise):
            chosen = select_stack(contexts, n, pairs, rule="no-repeat", seed=rng)
            i, j = chosen[..., 0], chosen[..., 1]
            margin = d[rows, i, j] - d[rows, j, i]
            found.append(win_ratio(Stack.of(n, chosen, (np.sign(margin) + 1.0) / 2.0)))
        return np.asarray(summary_level(np.stack(found), self.gold).value)

    def _both_orders(self, twin: Parameters):  # type: ignore[no-untyped-def]
        """(C, N, N) probabilities averaged over both orders."""
        for d in self._differences(twin.rho, twin.noise):
            p = expit(twin.sharpness * (d + twin.bias))
            yield (p + 1.0 - np.swapaxes(p, -1, -2)) / 2.0


def _off_diagonal(values: Floats) -> Floats:
    n = values.shape[-1]
    values[..., np.arange(n), np.arange(n)] = 0.0
    return values
