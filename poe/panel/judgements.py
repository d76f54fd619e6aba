"""The judgements of several judges: samples by judges, some of them missing."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from poe.comparisons import Floats
from poe.errors import name_some
from poe.panel.errors import AggregationError

Decisions = NDArray[np.integer[Any]]
MISSING = -1
SLACK = 1e-6  # by how much the probabilities of one judgement may miss one


@dataclass(frozen=True, eq=False, repr=False)
class Judgements:
    """N samples, K judges, C classes; make one with `judgements`.

    decisions : (N, K) class said, b_nk of the paper, -1 where the judge did not see the sample.
    probabilities : (N, K) P(class 1) of eq. 1 for two classes, (N, K, C) for more, NaN where
        missing; None where only decisions are known.
    judges : K names. classes : C names.
    """

    decisions: Decisions
    probabilities: Floats | None
    judges: tuple[Hashable, ...]
    classes: tuple[Hashable, ...]

    def __len__(self) -> int:
        return len(self.decisions)

    def __repr__(self) -> str:
        kind = "decisions" if self.probabilities is None else "probabilities"
        return (
            f"Judgements({kind} of {len(self.judges)} judges on {len(self)} samples, "
            f"{len(self.classes)} classes, {self.seen.mean():.1%} seen)"
        )

    @cached_property
    def seen(self) -> NDArray[np.bool_]:
        """(N, K) whether the judge saw the sample."""
        return self.decisions >= 0

    @property
    def n_classes(self) -> int:
        """Number of classes C."""
        return len(self.classes)

    def distribution(self) -> Floats:
        """(N, K, C) probabilities, decisions as one-hot rows, NaN where missing (appendix F)."""
        if self.probabilities is None:
            one_hot = np.eye(self.n_classes)[np.maximum(self.decisions, 0)]
            return np.where(self.seen[..., None], one_hot, np.nan)
        if self.probabilities.ndim == 3:
            return self.probabilities
        return np.stack([1.0 - self.probabilities, self.probabilities], axis=-1)

    def take(self, *, rows: Any = slice(None), judges: Any = slice(None)) -> Judgements:
        """Some samples, some judges (positions, masks or slices), in that order."""
        p = self.probabilities
        names = np.empty(len(self.judges), dtype=object)
        names[:] = self.judges
        return Judgements(
            self.decisions[rows][:, judges],
            None if p is None else p[rows][:, judges],
            tuple(names[judges]),
            self.classes,
        )

    def hard(self) -> Judgements:
        """Decisions only."""
        return Judgements(self.decisions, None, self.judges, self.classes)


def judgements(
    values: ArrayLike | pd.DataFrame | Judgements,
    *,
    judges: Sequence[Hashable] | None = None,
    classes: int | Sequence[Hashable] | None = None,
) -> Judgements:
    """Judgements from an array or a table, checked.

    values : (N, K) floats in [0, 1], the probability of class 1 (eq. 1), NaN where missing;
        or (N, K) integers (booleans), the class said, negative where missing; or (N, K, C)
        floats, a probability a class, NaN where missing. The columns of a DataFrame name the
        judges.
    judges : K names, by default 0 to K - 1. classes : their number or names; by default two,
        or as many as occur.

    A probability decides for class 1 above 1/2 (section 3), a distribution for its first
    largest class. Raises AggregationError naming samples and judges.
    """
    if isinstance(values, Judgements):
        return values
    if isinstance(values, pd.DataFrame):
        judges = list(values.columns) if judges is None else judges
        values = values.to_numpy()
    array = np.asarray(values)
    if array.ndim not in (2, 3) or 0 in array.shape or array.dtype.kind not in "biuf":
        raise AggregationError(
            "judgements must be numbers, samples x judges or samples x judges x classes, not "
            f"{array.dtype} of shape {array.shape}"
        )
    names = tuple(range(array.shape[1])) if judges is None else tuple(judges)
    if len(names) != array.shape[1] or len(set(names)) < len(names):
        raise AggregationError(
            f"judges must be {array.shape[1]} different names, one a column, not {name_some(names)}"
        )
    if array.ndim == 2 and array.dtype.kind in "biu":
        made = _from_decisions(array, names, classes)
    else:
        made = _from_probabilities(array.astype(float), names, classes)
    unheard = [names[k] for k in np.flatnonzero(~made.seen.any(axis=0))]
    if unheard:
        raise AggregationError(
            f"judges {name_some(unheard)} judged no sample at all; leave them out"
        )
    return made


def _class_names(classes: int | Sequence[Hashable] | None, found: int) -> tuple[Hashable, ...]:
    if classes is None:
        return tuple(range(max(found, 2)))
    named = tuple(range(classes)) if isinstance(classes, int) else tuple(classes)
    if len(named) < 2 or len(set(named)) < len(named):
        raise AggregationError(f"classes must be two or more different names, not {named!r}")
    return named


def _from_decisions(
    array: NDArray[Any], names: tuple[Hashable, ...], classes: int | Sequence[Hashable] | None
) -> Judgements:
    found = int(array.max()) + 1
    named = _class_names(classes, found)
    if found > len(named):
        row, judge = np.argwhere(array >= len(named))[0]
        raise AggregationError(
            f"sample {row}, judge {names[judge]!r}: said class {array[row, judge]}, but there are "
            f"only {len(named)} (0 to {len(named) - 1}); raise classes="
        )
    small = np.int8 if len(named) < 127 else np.int64
    return Judgements(np.maximum(array.astype(small), MISSING), None, names, named)


def _from_probabilities(
    array: Floats, names: tuple[Hashable, ...], classes: int | Sequence[Hashable] | None
) -> Judgements:
    missing = np.isnan(array)
    outside = ~missing & ~((array >= 0.0) & (array <= 1.0))
    if outside.any():
        row, judge = np.argwhere(outside)[0][:2]
        raise AggregationError(
            f"sample {row}, judge {names[judge]!r}: {array[outside].flat[0]:g} is no probability; "
            "give decisions among several classes as integers (-1 where missing)"
        )
    if array.ndim == 2:
        named = _class_names(classes, 2)
        if len(named) != 2:
            raise AggregationError(
                f"{len(named)} classes need a probability each (samples x judges x classes), or "
                "decisions as integers; floats of shape samples x judges are P(class 1) of two"
            )
        said = np.where(missing, MISSING, array > 0.5).astype(np.int8)
        return Judgements(said, array, names, named)
    named = _class_names(classes, array.shape[2])
    if len(named) != array.shape[2]:
        raise AggregationError(
            f"the last axis holds {array.shape[2]} probabilities for {len(named)} classes"
        )
    gone = missing.any(axis=2)
    total = array.sum(axis=2)
    wrong = (gone & ~missing.all(axis=2)) | (np.abs(total - 1.0) > SLACK)
    if wrong.any():
        row, judge = np.argwhere(wrong)[0]
        raise AggregationError(
            f"sample {row}, judge {names[judge]!r}: the probabilities "
            f"{np.array2string(array[row, judge], precision=4)} do not sum to one; divide each by "
            "their sum (all NaN where missing)"
        )
    said = np.where(gone, MISSING, np.argmax(np.where(missing, -1.0, array), axis=2))
    return Judgements(said.astype(np.int8), array, names, named)
