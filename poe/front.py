"""What makes greedy selection fast: updates held back, and a front of pairs near the top.

Resistances only fall, so a pair that is far from the top stays below it. Between looks at the
whole matrix only the pairs near the top are kept up to date, and updates of the matrix
itself are saved up and applied as one matrix product. What is picked is what the argmax
over all pairs would pick at every step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poe.comparisons import Floats, Indices
from poe.resistance import fall

Counts = NDArray[np.signedinteger[Any]]
Strength = Callable[[Indices, Indices], Floats]

_TIE = 1e-9  # gains closer than this, relative to the best, differ by rounding only
_HELD = 128  # updates saved up before the matrix is brought up to date
_BLOCK = 4_000_000  # entries of the matrix worked on at once


class Network:
    """The matrix of resistances with the last few updates held back."""

    def __init__(self, resistance: Floats) -> None:
        self.resistance = resistance
        self.held = np.empty((_HELD, len(resistance)))
        self.square = np.zeros(len(resistance))  # sum of w_i^2 over the updates held
        self.count = 0

    @property
    def room(self) -> bool:
        """Whether another update can be held."""
        return self.count < len(self.held)

    def add(self, a: int, b: int, weight: float) -> Floats:
        """Hold the update for a comparison of a and b; returns its vector w."""
        at_a, at_b = self._row(a), self._row(b)
        w = fall(at_a, at_b, at_a[b], weight)
        self.held[self.count] = w
        self.square += w * w
        self.count += 1
        return w

    def _row(self, item: int) -> Floats:
        held = self.held[: self.count]
        # The sum over updates of (w_item - w_j)^2, multiplied out.
        fallen = self.square[item] + self.square - 2.0 * (held[:, item] @ held)
        return self.resistance[item] - fallen

    def settle(self) -> None:
        """Apply the updates held: R_ij falls by the sum of (w_i - w_j)^2."""
        held = self.held[: self.count]
        for rows in _row_blocks(len(self.resistance)):
            fallen = held[:, rows].T @ held
            fallen *= -2.0
            fallen += self.square
            fallen += self.square[rows, None]
            self.resistance[rows] -= fallen
        self.square[:] = 0.0
        self.count = 0


class Front:
    """The pairs of one level with the largest gains, kept up to date until others may overtake.

    A level is how often a pair was asked: 0 never, 1 in one order, 2 in both, and so on. No
    pair outside the front has a gain of `floor` or more, now or later.
    """

    def __init__(
        self, resistance: Floats, shown: Counts, level: int, strength: Strength | None
    ) -> None:
        n = len(resistance)
        blocks = _row_blocks(n)
        size = max(int(4.0 * n ** (4 / 3)) // len(blocks), 1)
        # Every row is the sample where there is one block, and rows at equal distances else.
        rows = np.arange(0, n, len(blocks))
        gain = _gains(resistance, shown, level, strength, rows)
        known = gain[gain >= 0.0]
        self.floor = -1.0  # everything is in the front
        if known.size > size:
            self.floor = float(np.partition(known, -size)[-size]) * (1.0 - 4.0 * _TIE)
        found = []
        for block in blocks:
            if len(blocks) > 1:
                rows = np.arange(block.start, block.stop)
                gain = _gains(resistance, shown, level, strength, rows)
            cell = np.flatnonzero(gain >= max(self.floor, 0.0))
            found.append((cell + n * block.start, gain.ravel()[cell]))
        cells, gains = zip(*found, strict=True)
        self.first, self.second = np.divmod(np.concatenate(cells), n)
        self.gain = np.concatenate(gains)
        self.strength = np.ones_like(self.gain)
        if strength is not None:
            self.strength = strength(self.first, self.second)

    def best(self, rng: np.random.Generator) -> int | None:
        """Where the largest gain stands; None if it may be outside the front or none is left."""
        edge = float(self.gain.max()) * (1.0 - _TIE)
        if edge < max(self.floor, 0.0):
            return None
        ties = np.flatnonzero(self.gain >= edge)
        return int(ties[rng.integers(len(ties))])

    def lower(self, w: Floats, taken: int) -> None:
        """Follow the resistances down; the pair taken leaves the front."""
        gap = w[self.first] - w[self.second]
        self.gain -= self.strength * (gap * gap)
        self.gain[taken] = -np.inf


def _gains(
    resistance: Floats, shown: Counts, level: int, strength: Strength | None, rows: Indices
) -> Floats:
    """(len(rows), N) gains of the pairs i < j of that level, and -1 elsewhere."""
    i, j = rows[:, None], np.arange(len(resistance))
    gain = resistance[rows]
    if strength is not None:
        gain *= strength(i, j)
    there, back = shown[rows], shown[:, rows].T
    asked = 2 * np.minimum(there, back) + (there != back)
    return np.where((asked == level) & (i < j), np.maximum(gain, 0.0), -1.0)


def _row_blocks(n_items: int) -> list[slice]:
    step = max(_BLOCK // n_items, 1)
    return [slice(start, min(start + step, n_items)) for start in range(0, n_items, step)]
