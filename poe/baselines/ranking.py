"""What a method returns that finds an order of the items and no scores of its own."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from poe.comparisons import Floats, Indices


@dataclass(frozen=True, eq=False)
class Ranking:
    """An order of N items.

    items : the N names, in the order given. order : (N,) positions in `items`, best first.
    `order` and `ranks` are inverse permutations of one another: order[0] is the position of
    the best item, ranks[0] the rank of the first item. To correlate with human scores use
    `scores` or `ranks`, which are in the order of `items`, never `order`.
    """

    items: tuple[Hashable, ...]
    order: Indices

    @property
    def ranking(self) -> list[Hashable]:
        """Item names, best first."""
        return [self.items[i] for i in self.order]

    @property
    def ranks(self) -> Indices:
        """(N,) rank of each item, 1 is best."""
        ranks = np.empty(len(self.order), dtype=np.intp)
        ranks[self.order] = np.arange(1, len(self.order) + 1)
        return ranks

    @property
    def scores(self) -> Floats:
        """(N,) scores in units of one rank, larger is better, mean zero."""
        return (len(self.order) + 1) / 2.0 - self.ranks
