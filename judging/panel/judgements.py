"""The judgements of several judges: samples by judges, some of them missing."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from judging.errors import JudgeError
from poe.arrays import Floats
from poe.errors import name_some

Decisions = NDArray[np.integer[Any]]
MISSING = -1
SLACK = 1e-6  # by how much the probabilities of one judgement may miss one


class PanelError(JudgeError, ValueError):
    """The judgements, the contexts or the settings are not usable; the message names them."""


class UnidentifiedPanelError(PanelError):
    """The judgements cannot tell apart what was asked for; the message says which and why."""


@dataclass(frozen=True, eq=False, repr=False)
class Judgements:
    """N samples, K judges, C classes; make one with `Judgements.from_table`.

    decisions : (N, K) class said, b_nk of the paper, -1 where the judge did not see the sample.
    probabilities : (N, K, C), of two classes [:, :, 1] is P(class 1) of eq. 1; NaN where missing;
        None where only decisions are known.
    judges : K names. classes : C names.
    """

    decisions: Decisions
    probabilities: Floats | None
    judges: tuple[Hashable, ...]
    classes: tuple[Hashable, ...]

    @classmethod
    def from_table(
        cls,
        values: ArrayLike | pd.DataFrame | Judgements,
        *,
        judges: Sequence[Hashable] | None = None,
        classes: int | Sequence[Hashable] | None = None,
    ) -> Judgements:
        """Judgements from an array or a table, checked.

        values : (N, K) floats in [0, 1], the probability of class 1 (eq. 1), NaN where missing;
            or (N, K) integers (booleans), the class said, negative where missing; or (N, K, C)
            floats, a probability for each class, NaN where missing. The columns of a DataFrame
            name the judges.
        judges : K names, by default 0 to K - 1. classes : their number or names; by default two,
            or as many as occur.

        A probability decides for class 1 above 1/2 (section 3), a distribution for its first
        largest class. Raises PanelError naming samples and judges.
        """
        if isinstance(values, Judgements):
            return values
        if isinstance(values, pd.DataFrame):
            judges = list(values.columns) if judges is None else judges
        array = np.asarray(values)
        if array.ndim not in (2, 3) or 0 in array.shape or array.dtype.kind not in "biuf":
            raise PanelError(
                "judgements must be numbers, samples x judges or samples x judges x classes, not "
                f"{array.dtype} of shape {array.shape}"
            )
        names = tuple(range(array.shape[1])) if judges is None else tuple(judges)
        if len(names) != array.shape[1] or len(set(names)) < len(names):
            raise PanelError(
                f"judges must be {array.shape[1]} different names, one for each column, "
                f"not {name_some(names)}"
            )
        if array.ndim == 2 and array.dtype.kind in "biu":
            p, decisions = None, np.maximum(array.astype(np.int64), MISSING)
            known = _class_names(classes, int(decisions.max()) + 1)
        else:
            p = array.astype(float)
            p = np.stack([1.0 - p, p], axis=-1) if p.ndim == 2 else p
            decisions, known = _most_probable(p, names), _class_names(classes, p.shape[2])
            if len(known) != p.shape[2]:
                raise PanelError(
                    f"{len(known)} classes need as many probabilities of each judgement, not "
                    f"{p.shape[2]}; floats of shape samples x judges are P(class 1) of two"
                )
        absent = [names[k] for k in np.flatnonzero((decisions < 0).all(axis=0))]
        if absent:
            raise PanelError(f"judges {name_some(absent)} judged no sample at all; leave them out")
        return cls(decisions, p, names, known)

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
        if self.probabilities is not None:
            return self.probabilities
        one_hot = np.eye(self.n_classes)[np.maximum(self.decisions, 0)]
        return np.where(self.seen[..., None], one_hot, np.nan)

    def hard(self) -> Judgements:
        """Decisions only."""
        return Judgements(self.decisions, None, self.judges, self.classes)

    def take(self, *, rows: Any = slice(None), judges: Any = slice(None)) -> Judgements:
        """Some samples, some judges (positions, masks or slices), in that order."""
        p = self.probabilities
        return Judgements(
            self.decisions[rows][:, judges],
            None if p is None else p[rows][:, judges],
            tuple(self.judges[k] for k in np.arange(len(self.judges))[judges]),
            self.classes,
        )


def _class_names(classes: int | Sequence[Hashable] | None, occurring: int) -> tuple[Hashable, ...]:
    if classes is None:
        return tuple(range(max(occurring, 2)))
    named = tuple(range(classes)) if isinstance(classes, int) else tuple(classes)
    if len(named) < 2 or len(set(named)) < len(named) or len(named) < occurring:
        raise PanelError(
            f"classes must be two or more different names, and as many as occur ({occurring}), not "
            f"{named!r}"
        )
    return named


def _most_probable(p: Floats, names: tuple[Hashable, ...]) -> Decisions:
    missing = np.isnan(p).all(axis=2)
    in_range = ((p >= 0.0) & (p <= 1.0)).all(axis=2)
    wrong = ~missing & ~(in_range & (np.abs(p.sum(axis=2) - 1.0) <= SLACK))
    if wrong.any():
        row, judge = np.argwhere(wrong)[0]
        raise PanelError(
            f"sample {row}, judge {names[judge]!r}: {np.array2string(p[row, judge], precision=4)} "
            "are no probabilities that sum to one (all NaN where missing); give decisions among "
            "several classes as integers (-1 where missing)"
        )
    return np.where(missing, MISSING, np.argmax(np.nan_to_num(p), axis=2))
