"""What a table of comparisons says, column by column, and the table that says it again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from poe.arrays import Floats, Indices, Mask

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["EMPTY", "Columns"]

EMPTY = {"", "nan", "none", "null", "na", "n/a", "<na>", "nat", "--"}


@dataclass(frozen=True, eq=False)
class Columns:
    """What a table says, one row per comparison: names, P(first is better), and what goes with it.

    cluster : (K,) a number for what answers share, a prompt or an annotator, None without such a
    column; cluster_name : the column; cluster_wanted : whether the user named it. lengths : (K, 2)
    of the two texts, None without. in_order : whether the first was shown first. notes :
    what a reader should know. prompts : (K,) what each was about, None without a column
    that says so.
    """

    first: list[Any]
    second: list[Any]
    p: Floats
    weight: Floats | None
    cluster: Indices | None
    cluster_name: str
    lengths: Floats | None
    in_order: bool
    notes: tuple[Any, ...]
    prompts: list[str] | None = None
    cluster_wanted: bool = False

    def take(self, rows: Mask | Indices) -> Columns:
        """Some of the comparisons."""
        kept = np.arange(len(self.p))[rows]

        def some(values: Any) -> Any:
            return None if values is None else values[kept]

        return replace(
            self,
            first=[self.first[k] for k in kept],
            second=[self.second[k] for k in kept],
            p=self.p[kept],
            weight=some(self.weight),
            cluster=some(self.cluster),
            lengths=some(self.lengths),
            prompts=None if self.prompts is None else [self.prompts[k] for k in kept],
        )

    def by_names(self) -> Columns:
        """The same, sorted by names and P: then the order of a table's rows decides nothing."""
        import pandas as pd

        first, second = (
            pd.factorize(np.array(list(map(str, names)), dtype=object), sort=True)[0]
            for names in (self.first + self.second, self.second + self.first)
        )
        return self.take(np.lexsort((self.p, second[: len(self.p)], first[: len(self.p)])))

    def to_table(self) -> pd.DataFrame:
        """One row per comparison, with all that `read` takes from it again, notes apart."""
        import pandas as pd

        table = pd.DataFrame({"first": self.first, "second": self.second, "p": self.p})
        more: dict[str, Any] = {"in_order": int(self.in_order)}
        if self.weight is not None:
            more["weight"] = self.weight
        if self.cluster is not None and not self.shares_prompts:
            more[self.cluster_name] = self.cluster
        if self.prompts is not None:
            more.setdefault(self.cluster_name if self.shares_prompts else "prompt", self.prompts)
        if self.lengths is not None:
            more["length_first"], more["length_second"] = self.lengths.T
        return table.assign(**more)

    @property
    def shares_prompts(self) -> bool:
        """Whether what answers share is the prompt, so that one column says both."""
        if self.cluster is None or self.prompts is None:
            return False
        known = zip(self.cluster.tolist(), self.prompts, strict=True)
        pairs = {(at, prompt) for at, prompt in known if prompt.lower() not in EMPTY}
        return len(pairs) == len({at for at, _ in pairs}) == len({prompt for _, prompt in pairs})
