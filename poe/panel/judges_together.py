"""The comparisons of several judges as one set of arrays."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass

import numpy as np

from poe.comparisons import Comparisons, Floats, Indices, component_labels
from poe.panel.errors import AggregationError


@dataclass(frozen=True, eq=False)
class Together:
    """T comparisons of K judges among N items.

    first, second, judge : (T,) positions. p, weight : (T,). group : (N,) label of the items
    linked to each other by any judge's comparisons.
    """

    items: tuple[Hashable, ...]
    judges: tuple[Hashable, ...]
    first: Indices
    second: Indices
    judge: Indices
    p: Floats
    weight: Floats
    group: Indices


def together(judges: Mapping[Hashable, Comparisons]) -> Together:
    """Match the items of all judges by name; raises AggregationError for none or never compared."""
    if not judges:
        raise AggregationError("a panel needs the comparisons of at least one judge")
    for name, one in judges.items():
        if not isinstance(one, Comparisons):
            raise AggregationError(f"judge {name!r}: expected Comparisons, not {type(one)}")
    items = tuple(dict.fromkeys(item for one in judges.values() for item in one.items))
    position = {item: i for i, item in enumerate(items)}
    maps = [np.array([position[item] for item in one.items]) for one in judges.values()]
    each = list(judges.values())
    first = np.concatenate([m[c.first] for m, c in zip(maps, each, strict=True)])
    second = np.concatenate([m[c.second] for m, c in zip(maps, each, strict=True)])
    p = np.concatenate([c.p for c in each])
    weight = np.concatenate([c.weight for c in each])
    merged = Comparisons.from_pairs(np.column_stack([first, second]), p, items=items, weight=weight)
    merged.require_compared()
    return Together(
        items,
        tuple(judges),
        first,
        second,
        np.repeat(np.arange(len(each)), [len(c) for c in each]),
        p,
        weight,
        component_labels(first, second, len(items)),
    )
