"""The one data type: which items were compared, in which order, with which probability.

A comparison shows item `first` and then item `second` to a judge, and records
p = P(first is better). Everything else in the package starts from a `Comparisons`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from poe import repeats, validation
from poe.errors import ComparisonError, DisconnectedError, name_some
from poe.graph import SMALL, Layout, component_labels, is_connected, lay_out

Floats = NDArray[np.floating[Any]]
Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]


class Comparisons:
    """K pairwise comparisons among N items.

    Parameters
    ----------
    first, second : sequences of K item names, in the order shown to the judge.
    p : K probabilities in [0, 1] that `first` is the better; 0, 1/2 and 1 record a
        loss, a tie and a win where the judge gives decisions only.
    items : the N item names in the order scores are wanted. By default the names that
        occur: integers ascending, anything else in order of first appearance.
    weight : K positive numbers (default 1); a comparison of weight 2 counts twice.

    Attributes
    ----------
    items : tuple of N names. first, second : (K,) positions in `items`.
    p, weight : (K,) floats. All arrays are read-only.

    Raises
    ------
    ComparisonError naming the rows and items that are wrong.
    """

    items: tuple[Hashable, ...]
    first: Indices
    second: Indices
    p: Floats
    weight: Floats

    def __init__(
        self,
        *,
        first: Iterable[Any],
        second: Iterable[Any],
        p: ArrayLike,
        items: Iterable[Any] | None = None,
        weight: ArrayLike | None = None,
    ) -> None:
        first, second = validation.names_of(first), validation.names_of(second)
        validation.require_same_length(first=first, second=second)
        self.items = validation.item_order(first, second, items)
        self._set(*validation.positions_of(first, second, self.items), p, weight)

    @classmethod
    def from_pairs(
        cls,
        pairs: ArrayLike,
        p: ArrayLike,
        *,
        items: int | Sequence[Any],
        weight: ArrayLike | None = None,
    ) -> Comparisons:
        """Build from a (K, 2) array of positions (first, second), as `poe.select` returns.

        `items` is the N item names, or the number N, which names them 0 to N - 1.
        """
        made = cls.__new__(cls)
        made.items = tuple(range(items)) if isinstance(items, int) else tuple(items)
        validation.require_unique(made.items)
        made._set(*validation.position_pairs(pairs, len(made.items)), p, weight)
        return made

    def _set(self, first: Indices, second: Indices, p: Any, weight: Any) -> None:
        probability = validation.numbers_of(p, "p")
        weights = (
            np.ones(len(probability)) if weight is None else validation.numbers_of(weight, "weight")
        )
        validation.require_same_length(first=first, second=second, p=probability, weight=weights)
        validation.require_rows(first, second, probability, weights, self.items)
        self.first, self.second, self.p, self.weight = first, second, probability, weights
        for array in (first, second, probability, weights):
            array.setflags(write=False)

    # Tables and files ------------------------------------------------------------------

    @classmethod
    def from_table(
        cls,
        table: pd.DataFrame,
        *,
        first: str = "first",
        second: str = "second",
        p: str = "p",
        weight: str | None = None,
        items: Iterable[Any] | None = None,
    ) -> Comparisons:
        """Read a tidy table with one row a comparison; the keywords name its columns.

        A column called `weight` is used when it is there and `weight` is not given.
        """
        if weight is None and "weight" in table.columns:
            weight = "weight"
        wanted = [first, second, p] + ([weight] if weight else [])
        validation.require_columns(table, wanted, names=[first, second])
        return cls(
            first=table[first].tolist(),
            second=table[second].tolist(),
            p=table[p].to_numpy(),
            weight=table[weight].to_numpy() if weight else None,
            items=items,
        )

    @classmethod
    def from_csv(cls, path: str | Path, **columns: Any) -> Comparisons:
        """Read a CSV file; item names are kept as text, so `007` stays `007`."""
        names = {columns.get("first", "first"): str, columns.get("second", "second"): str}
        try:
            table = pd.read_csv(path, dtype=names)
        except pd.errors.EmptyDataError:
            raise ComparisonError(f"{path} is empty") from None
        return cls.from_table(table, **columns)

    @classmethod
    def from_parquet(cls, path: str | Path, **columns: Any) -> Comparisons:
        """Read a Parquet file (needs pyarrow: `pip install 'judging-by-comparison[parquet]'`)."""
        return cls.from_table(pd.read_parquet(path), **columns)

    def to_table(self) -> pd.DataFrame:
        """One row a comparison: first, second, p, weight."""
        names = pd.Series(self.items, dtype=object)
        return pd.DataFrame(
            {
                "first": names[self.first].to_numpy(),
                "second": names[self.second].to_numpy(),
                "p": self.p,
                "weight": self.weight,
            }
        )

    # Shape and structure ---------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.p)

    def __repr__(self) -> str:
        return f"Comparisons({len(self)} comparisons among {self.n_items} items)"

    @property
    def n_items(self) -> int:
        """Number of items N, compared or not."""
        return len(self.items)

    @property
    def pairs(self) -> Indices:
        """(K, 2) positions of first and second."""
        return np.column_stack([self.first, self.second])

    def matrix(self, *, anchor: bool = False) -> Floats:
        """The comparison matrix W (paper 3.3 and A.1; book chapter 6), dense, (K, N).

        Row k holds +1 at the first item and -1 at the second, so W s is the vector of
        score differences. With `anchor` a row (1, 0, ..., 0) is prepended, W-tilde.
        """
        rows = np.arange(len(self))
        w = np.zeros((len(self), self.n_items))
        w[rows, self.first] = 1.0
        w[rows, self.second] = -1.0
        return np.vstack([np.eye(1, self.n_items), w]) if anchor else w

    def components(self) -> list[tuple[Hashable, ...]]:
        """Groups of items linked by chains of comparisons, largest first."""
        order = np.argsort(self._labels, kind="stable")
        sizes = np.bincount(self._labels)
        groups = np.split(order, np.cumsum(sizes)[:-1])
        named = [tuple(self.items[i] for i in group) for group in groups]
        return sorted(named, key=len, reverse=True)

    @cached_property
    def layout(self) -> Layout:
        """The comparisons sorted by item, for solvers of large problems; made once."""
        return lay_out(self.first, self.second, self.n_items)

    @cached_property
    def _is_connected(self) -> bool:
        return is_connected(self.layout) if len(self) > SMALL else not self._labels.any()

    @cached_property
    def _labels(self) -> Indices:
        known = self.layout if len(self) > SMALL else None
        return component_labels(self.first, self.second, self.n_items, known=known)

    def require_compared(self) -> None:
        """Raise ComparisonError naming the items that appear in no comparison."""
        seen = np.zeros(self.n_items, dtype=bool)
        seen[self.first] = seen[self.second] = True
        if not seen.all():
            alone = [self.items[i] for i in np.flatnonzero(~seen)]
            raise ComparisonError(
                f"never compared: {name_some(alone)}; add a comparison for each, "
                "or leave them out of `items`"
            )

    def require_connected(self) -> None:
        """Raise DisconnectedError unless every item is linked to every other."""
        self.require_compared()
        if not self._is_connected:
            groups = self.components()
            raise DisconnectedError(
                f"items {name_some(groups[1])} share no comparison with the rest "
                f"({len(groups)} separate groups), so their scores relative to it are undefined; "
                "add a comparison between the groups, or score each group alone"
            )

    # New comparisons from old ----------------------------------------------------------

    def take(self, rows: ArrayLike) -> Comparisons:
        """The comparisons at `rows` (positions or a mask), with the same items."""
        rows = np.asarray(rows)
        return Comparisons.from_pairs(
            self.pairs[rows], self.p[rows], items=self.items, weight=self.weight[rows]
        )

    def hard(self) -> Comparisons:
        """Decisions only: p above 1/2 becomes 1, below becomes 0, exactly 1/2 stays a tie."""
        return self._with_p(0.5 * (1.0 + np.sign(self.p - 0.5)))

    def _with_p(self, p: Floats) -> Comparisons:
        return Comparisons.from_pairs(self.pairs, p, items=self.items, weight=self.weight)

    def merged(self) -> Comparisons:
        """Repeats of the same ordered pair as one: mean p, summed weight."""
        pairs, p, weight = repeats.merged(
            self.first, self.second, self.p, self.weight, self.n_items
        )
        return Comparisons.from_pairs(pairs, p, items=self.items, weight=weight)

    def symmetrised(self) -> Comparisons:
        """Both orders of each pair averaged: p = (p_ij + 1 - p_ji) / 2 (paper 3.5).

        Returns one comparison a pair, weight summed. Raises ComparisonError naming the
        pairs that were judged in one order only: they have nothing to be averaged with.
        """
        once = self.merged()
        pairs, p, weight = repeats.symmetrised(once.pairs, once.p, once.weight, self.items)
        return Comparisons.from_pairs(pairs, p, items=self.items, weight=weight)
