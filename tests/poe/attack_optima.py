"""Is what a fit calls the optimum one? Random problems beside optimisers that are not ours.

A fit that says it converged may not lie above what scipy's L-BFGS-B reaches from nothing and
from the fit itself (HiGHS for the Laplacian), in energies written here anew; a fit that refuses
does so in an error of ours. `make attack` runs 2,000 problems an expert, the suite some dozens.
Alone: python -m tests.poe.attack_optima 2000 [expert ...]
"""

import sys
import warnings
from collections import Counter

import numpy as np
from scipy import optimize, special
from scipy.sparse import csr_array, eye_array, hstack, vstack

import poe
from poe.experts import custom
from tests.poe.oracles import LogCosh

PROBLEMS = 2000
# Of the energy and the weights: the gradient may be 1e-10 of a weight, and differences span tens.
EXCESS = 1e-8
COSH = LogCosh()


def softplus(d, p):
    """Bradley-Terry's energy without a difference of large numbers."""
    return (1.0 - p) * np.logaddexp(0.0, d) + p * np.logaddexp(0.0, -d)


def softplus_slope(d, p):
    return (1.0 - p) * special.expit(d) - p * special.expit(-d)


def round_bend(d, p):
    return np.sqrt(1.0 + (d - special.logit(p)) ** 2)


def round_bend_slope(d, p):
    return (d - special.logit(p)) / round_bend(d, p)


def cauchy(d, p):
    return np.log1p((d - special.logit(p)) ** 2)


def cauchy_slope(d, p):
    away = d - special.logit(p)
    return 2.0 * away / (1.0 + away**2)


def probit(d, p):
    return -p * special.log_ndtr(d) - (1.0 - p) * special.log_ndtr(-d)


def probit_slope(d, p):
    def ratio(x):  # phi / Phi
        return np.exp(-0.5 * x**2 - 0.5 * np.log(2.0 * np.pi) - special.log_ndtr(x))

    return (1.0 - p) * ratio(-d) - p * ratio(d)


def spring(mean):
    return lambda d, p: 0.5 * (d - mean(p)) ** 2, lambda d, p: d - mean(p)


def half(p):
    return p - 0.5


def near_odds(p):
    return special.logit(np.clip(p, 1e-3, 1.0 - 1e-3))


def huber(d, p):
    return special.huber(1.345, (d - half(p)) / 0.2)


def huber_slope(d, p):
    return np.clip((d - half(p)) / 0.2, -1.345, 1.345) / 0.2


# By name: what `poe.fit` is given, and the energy and its slope in our own words.
EXPERTS = {
    "bradley-terry": ("bradley-terry", softplus, softplus_slope),
    "gaussian": ("gaussian", *spring(half)),
    "logit-gaussian": ("logit-gaussian", *spring(near_odds)),
    "thurstone": ("thurstone", probit, probit_slope),
    "huber": ("huber", huber, huber_slope),
    "laplacian": ("laplacian", lambda d, p: np.abs(d - half(p)), None),
    "log cosh, energy": (custom(COSH.energy), COSH.energy, COSH.slope),
    "log cosh, slope": (custom(COSH.energy, COSH.slope), COSH.energy, COSH.slope),
    "log cosh, both": (
        custom(COSH.energy, COSH.slope, COSH.curvature), COSH.energy, COSH.slope
    ),
    "softplus, energy": (custom(softplus), softplus, softplus_slope),
    "softplus, slope": (custom(softplus, softplus_slope), softplus, softplus_slope),
    "round bend, energy": (custom(round_bend), round_bend, round_bend_slope),
    "round bend, slope": (custom(round_bend, round_bend_slope), round_bend, round_bend_slope),
    "cauchy": (
        custom(
            cauchy,
            cauchy_slope,
            lambda d, p: 2.0 / (1.0 + (d - special.logit(p)) ** 2),
            opinion=special.logit,
            convex=False,
        ),
        cauchy,
        cauchy_slope,
    ),
}  # fmt: skip
LEVELS = (None, 0.01, 1e-4, 1e-6, 1e-12)  # p is ordinary, or this far from 0 or 1
SHAPES = ("random", "tree", "both orders", "nearly separable", "uneven weights")


def problem(name, seed):
    """Keywords of `Comparisons.from_pairs` and of `fit`, and what they are in words."""
    rng = np.random.default_rng([11, seed, *name.encode()])
    n = int(rng.integers(2, 13))
    shape, level = SHAPES[rng.integers(len(SHAPES))], LEVELS[rng.integers(len(LEVELS))]
    child = np.arange(1, n)
    pairs = np.column_stack([child, (rng.random(n - 1) * child).astype(int)])
    if shape != "tree":
        first = rng.integers(n, size=2 * n)
        more = np.column_stack([first, (first + rng.integers(1, n, size=2 * n)) % n])
        pairs = np.concatenate([pairs, more])
    pairs = np.where(rng.random(len(pairs))[:, None] < 0.5, pairs, pairs[:, ::-1])
    if shape == "both orders":
        pairs = np.concatenate([pairs, pairs[:, ::-1]])
    up = rng.random(len(pairs)) < 0.5
    if shape == "nearly separable":  # the lower number wins but once or twice
        up = (pairs[:, 0] < pairs[:, 1]) ^ (rng.random(len(pairs)) < 0.05)
    p = rng.uniform(0.05, 0.95, len(pairs)) if level is None else np.where(up, 1.0 - level, level)
    weight = np.ones(len(p))
    if shape == "uneven weights":
        weight = 10.0 ** rng.uniform(-6.0, 0.0, len(p))
    how = {"bias": "fit"} if rng.random() < 0.25 and name not in ("laplacian", "cauchy") else {}
    if rng.random() < 0.2:
        how["prior"] = 0.1
    if rng.random() < 0.3:
        how["solver"] = "sparse"
    given = {"pairs": pairs, "p": p, "items": n, "weight": weight}
    return given, how, f"{shape}, p {'ordinary' if level is None else f'{level:g} from certain'}"


def verdict(name, seed):
    """What became of a problem: "fitted", the name of a refusal, or a fault in words."""
    expert, energy, slope = EXPERTS[name]
    given, how, what = problem(name, seed)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            fit = poe.fit(poe.Comparisons.from_pairs(**given), expert, **how)
    except (poe.ComparisonError, poe.NotConvergedError) as error:
        return type(error).__name__
    except Exception as error:
        return f"FAULT {type(error).__name__}: {error} ({what}, {how})"
    c, tilt = fit.comparisons, fit.tilts
    fitted = np.append(fit.scores, fit.bias)
    free = np.append(np.ones(c.n_items), float(fit.bias_fitted))
    if slope is None:
        return _beside_linear_program(c, fit) or "fitted"

    def both(x):
        d = x[c.first] - x[c.second] - tilt * x[-1]
        pull = c.weight * slope(d, c.p)
        total = np.bincount(c.first, pull, len(x)) - np.bincount(c.second, pull, len(x))
        total[-1] = -tilt @ pull
        return float(c.weight @ energy(d, c.p)), free * total

    own = both(fitted)[0]
    least = min(own, *(_minimum(both, start) for start in _starts(expert, fitted)))
    if own - least > EXCESS * (own + c.weight.sum()):
        return (
            f"FAULT {own - least:.1e} above {least:.9g}, to {abs(fitted).max():.2g} ({what}, {how})"
        )
    return "fitted"


def _starts(expert, fitted):
    """Where the other optimiser begins: of several valleys only our own counts."""
    return (fitted, 0.0 * fitted) if getattr(expert, "convex", True) else (fitted,)


def _minimum(both, start):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        options = {"maxiter": 1000, "maxfun": 2000, "ftol": 1e-15, "gtol": 1e-13}
        return optimize.minimize(both, start, jac=True, method="L-BFGS-B", options=options).fun


def _beside_linear_program(c, fit):
    w, one = csr_array(c.matrix()), eye_array(len(c))
    limit = half(c.p) + fit.bias * fit.tilts
    least = optimize.linprog(
        np.concatenate([np.zeros(c.n_items), c.weight]),
        A_ub=vstack([hstack([w, -one]), hstack([-w, -one])]),
        b_ub=np.concatenate([limit, -limit]),
        bounds=(None, None),
        method="highs",
    ).fun
    own = float(c.weight @ np.abs(w @ fit.scores - limit))
    return f"FAULT {own - least:.1e} above {least:.9g}" if own - least > EXCESS * (1 + own) else ""


def attack(name, problems, start=0):
    """Counts of what became of some problems, and the faults with their seeds."""
    found = {seed: verdict(name, seed) for seed in range(start, start + problems)}
    faults = {seed: what for seed, what in found.items() if what.startswith("FAULT")}
    return Counter("FAULT" if what.startswith("FAULT") else what for what in found.values()), faults


def main():
    """Run, count, and fail with the faults."""
    problems = int(sys.argv[1]) if len(sys.argv) > 1 else PROBLEMS
    failed = False
    for name in sys.argv[2:] or EXPERTS:
        counts, faults = attack(name, problems)
        print(f"{name}, {problems:,} problems: {dict(counts.most_common())}", flush=True)
        for seed, what in list(faults.items())[:10]:
            print(f"  problem {seed}: {what}")
        failed |= bool(faults)
    return failed


if __name__ == "__main__":
    sys.exit(main())
