"""Mutated comparisons and fits: a valid result, or one of poe's own errors in a sentence.

`make attack` runs 5,000 cases; some hundred are part of the ordinary suite (test_comparisons).
Alone: python -m tests.poe.attack_fits 5000 [seed]
"""

import datetime
import decimal
import itertools
import math
import sys
import traceback
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd

import poe

CASES = 5000
PACKAGE = str(Path(poe.__file__).parent)
ODD_NAMES = [
    None, np.nan, pd.NA, pd.NaT, True, False, 0, 1, 1.0, -1, 10**30, "", " ", "a", "b", b"a",
    "\ud800", "x" * 10_000, ("a", 1), ("a", math.nan), ["a"], {"a": 1}, frozenset({1}), object(),
    np.int64(1), np.float32(1), np.str_("a"), np.array(1), np.array([1, 2]), np.ma.masked,
    datetime.date(2020, 1, 1), np.datetime64("NaT"), decimal.Decimal("NaN"), 1j, float("inf"),
]  # fmt: skip
ODD_NUMBERS = [
    0.0, 1.0, 0.5, -0.0, 5e-324, 1e-308, 1e-16, 1 - 1e-16, 1 + 1e-16, -1e-9, 2, 1e308, np.inf,
    -np.inf, np.nan, None, pd.NA, "0.5", "half", "", 10**400, True, 0.5 + 1j, np.float16(0.3),
    decimal.Decimal("0.3"), [0.5], np.ma.masked, datetime.date(2020, 1, 1), np.datetime64("2020"),
]  # fmt: skip
EXPERTS = ["bradley-terry", "gaussian", "logit-gaussian", "thurstone", "huber",
           "laplacian", "no-such-expert"]  # fmt: skip


def case(seed):
    """Keywords of a `Comparisons` and of a `fit`, some of them spoiled."""
    rng = np.random.default_rng([7, seed])
    n, k = int(rng.integers(2, 8)), int(rng.integers(1, 30))
    first = rng.integers(n, size=k)
    second = (first + rng.integers(1, n, size=k)) % n
    kind = rng.integers(4)
    p = [rng.random(k), rng.integers(0, 2, k), rng.choice([0, 0.5, 1], k), np.full(k, 0.5)][kind]
    given = {"first": first.tolist(), "second": second.tolist(), "p": [float(x) for x in p]}
    if rng.random() < 0.5:
        given = {**given, "first": [f"i{x}" for x in first], "second": [f"i{x}" for x in second]}
    if rng.random() < 0.3:
        given["weight"] = (10.0 ** rng.uniform(-1, 1, k) ** rng.integers(1, 4)).tolist()
    if rng.random() < 0.15:
        given["weight"] = (10.0 ** (rng.uniform(-1, 1, k) * rng.choice([1, 8, 150, 300]))).tolist()
    if rng.random() < 0.1:
        given["items"] = [n, np.int64(n), -1, [], None, range(n), "ab", ["a"] * n][rng.integers(8)]
    for _ in range(rng.choice([0, 0, 0, 1, 1, 2])):
        _spoil(given, rng)
    how = {"expert": rng.choice(EXPERTS, p=[0.5, *[0.084] * 5, 0.08])}
    if rng.random() < 0.5:
        how["bias"] = [None, "mean", "mean", "fit", "fit", "fit", 0.3, "x", np.nan, 1e300][
            rng.integers(10)
        ]
    if rng.random() < 0.4:
        how["prior"] = [0.1, 0.1, 1, 1, "fit", "fit", -1, np.nan, 1e-300, 1e300, "x"][
            rng.integers(11)
        ]
    if rng.random() < 0.3:
        how["solver"] = str(rng.choice(["dense", "sparse", "auto", "other"]))
    if rng.random() < 0.3:
        how["covariance"] = str(rng.choice(["paired", "scatter", "curvature", "other"]))
    return given, how


def _spoil(given, rng):
    """One mutation of one argument."""
    name = str(rng.choice(list(given)))
    value = given[name]
    if not isinstance(value, list) or not value:
        return
    odd = ODD_NUMBERS if name in ("p", "weight") else ODD_NAMES
    at, one = int(rng.integers(len(value))), odd[rng.integers(len(odd))]
    mutations = [
        lambda: [*value[:at], one, *value[at + 1 :]],
        lambda: [*value[:at], one, *value[at + 1 :]],
        lambda: value[:at],
        lambda: [*value, one],
        lambda: [one] * len(value),
        lambda: value[::-1],
        lambda: np.array(value, dtype=object),
        lambda: pd.Series(value, dtype=object),
        lambda: pd.Series(value).astype("category"),
        lambda: [value],
        lambda: one,
        lambda: iter(value),
        lambda: np.ma.array(value, mask=np.arange(len(value)) == at),
        lambda: tuple(value),
        lambda: pd.array(value),
        lambda: None,
    ]
    try:
        given[name] = mutations[rng.integers(len(mutations))]()
    except (TypeError, ValueError, OverflowError):
        given[name] = one  # pandas or NumPy cannot hold this


def table(seed):
    """A data frame of comparisons, some cells and columns spoiled."""
    rng = np.random.default_rng([8, seed])
    n, k = int(rng.integers(2, 6)), int(rng.integers(4, 30))
    first = rng.integers(n, size=k)
    second = (first + rng.integers(1, n, size=k)) % n
    names = np.array([f"m{i}" for i in range(n)], dtype=object)
    columns = {"first": [*names[first]], "second": [*names[second]], "p": [*rng.random(k)]}
    for _ in range(rng.choice([0, 1, 1, 2])):
        name = str(rng.choice(list(columns)))
        odd = [*ODD_NUMBERS, *ODD_NAMES]
        columns[name][rng.integers(k)] = odd[rng.integers(len(odd))]
    if rng.random() < 0.1:
        columns.pop(str(rng.choice(list(columns))))
    if rng.random() < 0.1:
        columns["weight"] = [1.0, *["much"] * (k - 1)] if rng.random() < 0.5 else [2] * k
    made = pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in columns.items()})
    return made.iloc[: int(rng.choice([0, k, k, k, k]))] if rng.random() < 0.2 else made


def verdict(seed):
    """What became of a case: "fitted", the name of a refusal, or a fault in words."""
    given, how = case(seed)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", RuntimeWarning)  # a number that is none
            if seed % 4:
                c = poe.Comparisons(**given)
                fit = poe.fit(c, **how)
            else:
                rows = table(seed)
                c, fit = poe.Comparisons.from_table(rows), poe.fit(rows, prior=0.1)
            return _wrong(c, fit) or "fitted"
    except (ValueError, TypeError, poe.NotConvergedError) as error:
        return _refused(error)
    except Exception as error:
        return f"FAULT {type(error).__name__}: {error} at {_at(error)}"


def _refused(error):
    """A refusal has to be raised by poe itself, and say something."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    own = frame.filename.startswith(PACKAGE) and frame.line.startswith("raise")
    if not own or len(str(error).split()) < 4:
        return f"FAULT {type(error).__name__}: {error} at {_at(error)}"
    return type(error).__name__


def _at(error):
    frame = traceback.extract_tb(error.__traceback__)[-1]
    inside = [
        f for f in traceback.extract_tb(error.__traceback__) if f.filename.startswith(PACKAGE)
    ]
    last = inside[-1] if inside else frame
    return f"{Path(last.filename).name}:{last.lineno} {last.line}"


def _wrong(c, fit):
    """What a result must be: finite, mean zero, an optimum, with errors that are numbers."""
    if not (np.isfinite(fit.scores).all() and np.isfinite(fit.bias)):
        return "FAULT scores that are no numbers"
    if abs(fit.scores.mean()) > 1e-8 * max(1.0, np.abs(fit.scores).max()):
        return "FAULT scores whose mean is not zero"
    if not fit.converged:
        return "FAULT not converged, and not said so"
    one, other = fit.items[c.first[0]], fit.items[c.second[0]]
    try:
        numbers = [fit.prob_better(one, other), *fit.standard_errors(), *fit.interval().ravel()]
        fit.rank_interval(draws=20)
    except (ValueError, TypeError) as error:
        kind = _refused(error)
        return kind if kind.startswith("FAULT") else ""
    if not np.isfinite(numbers).all():
        return "FAULT errors that are no numbers"
    return ""


def attack(cases, start=0):
    """Counts of what became of some cases, and the faults with their seeds."""
    found = {seed: verdict(seed) for seed in range(start, start + cases)}
    faults = {seed: what for seed, what in found.items() if what.startswith("FAULT")}
    return Counter(found.values()), faults


def main():
    """Run, count, and fail with the faults."""
    cases = int(sys.argv[1]) if len(sys.argv) > 1 else CASES
    start = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    counts, faults = attack(cases, start)
    kinds = Counter({what: n for what, n in counts.items() if not what.startswith("FAULT")})
    print(f"{cases:,} mutated comparisons and fits: {dict(kinds.most_common())}")
    print(f"{len(faults)} faults")
    for seed, what in itertools.islice(faults.items(), 30):
        print(f"  case {seed}: {what}")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
