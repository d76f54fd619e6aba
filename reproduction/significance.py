"""Clear, likely, or could be chance: one rule for every difference that a page puts in words.

A table of many differences shows some beyond two standard errors by chance alone. So *clear* is
said only of what survives Holm's correction over all differences of its table.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.stats import t as student

from poe.arrays import Floats
from reproduction.settings import SIGNIFICANT

LEVEL = 0.05  # of all tests of a table together
CLEAR, LIKELY, CHANCE = "clear", "likely", "could be chance"


def paired_p(value: Floats, se: Floats, contexts: Floats) -> Floats:
    """Two-sided p-values of paired t tests over contexts.

    value : means of differences within contexts. se : their standard errors, s / sqrt(C) with s the
    standard deviation of the C differences (`settings.bootstrap_se`). contexts : C of each; the
    test has C - 1 degrees of freedom. A difference that is 0 in every context has p = 1.
    """
    value, se = np.abs(np.asarray(value, dtype=float)), np.asarray(se, dtype=float)
    ratio = np.divide(value, se, out=np.where(value > 0.0, np.inf, 0.0), where=se > 0.0)
    return np.asarray(2.0 * student.sf(ratio, np.asarray(contexts) - 1.0))


def holm(p: Floats) -> Floats:
    """P-values (T,) corrected for T tests by Holm's (1979) step-down rule.

    The k-th smallest is multiplied by T - k + 1, and none is below one that was smaller. Rejecting
    where the result is below a level keeps the chance of any false rejection below it, whatever
    the dependence.
    """
    p = np.asarray(p, dtype=float)
    order = np.argsort(p, kind="stable")
    raised = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    corrected = np.empty_like(p)
    corrected[order] = np.minimum(raised, 1.0)
    return corrected


def words(table: pd.DataFrame) -> pd.Series:
    """Say "clear", "likely" or "could be chance" of each row: the rows are one family of tests.

    table : columns value, se and contexts, as `paired_p` has them. clear : p after `holm` over all
    rows is below `LEVEL`. likely : beyond two standard errors, and not clear.
    """
    p = holm(paired_p(*(table[name].to_numpy() for name in ("value", "se", "contexts"))))
    beyond = (table["value"].abs() > SIGNIFICANT * table["se"]).to_numpy()
    said = np.select([p < LEVEL, beyond], [CLEAR, LIKELY], CHANCE)
    return pd.Series(said, index=table.index, name="said")
