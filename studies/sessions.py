"""Reliability in sessions of people: what a session says of itself, and what a second one says.

People who compare essays report a *reliability*, the share of the spread of scores that is no
error. Two kinds are in use (Kinnear, Jones and Davies 2025). Scale separation reliability (SSR) is
read off one fit of all decisions,

    SSR = 1 - mean SE^2 / var(s),

and split-half reliability off two fits, one for each half of the judges: if their scores correlate
by h, all judges together have 2 h / (1 + h) (Spearman and Brown). Bramley and Vitello (2019) had
the same 150 essays judged twice, once with pairs chosen by the answers so far (session 1a) and once
not (session 2). If r is the correlation of the two sessions' scores and R_2 the reliability of the
second, that of the first is r^2 / R_2, and no choice of pairs can raise it.

Three fits of the same decisions are held against that: wins added to every pair, one win and one
loss for each essay (`poe.fit(prior=1 / (N - 1))`) or three (`WINS`), and Bradley-Terry with a
Gaussian prior on the scores, s ~ N(0, I / ridge), whose width maximises the evidence (`shrunken`).
The last has a reliability of its own, 1 - mean posterior variance / prior variance, about the mean.

Known beforehand, since they are printed or a reader had tried them: the printed values, that SSR is
too high in session 1a, and that added wins hide the order of essays that were paired with their
equals. Not known: what the fit of largest evidence would say. The order in which a pair was shown
is not in the files (the winner stands first), so no position bias is fitted.

The sessions have no licence and are no part of this repository: `judging data fetch sessions`.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_expit

import poe
from judging import metrics
from judging.datasets import files
from poe.arrays import Floats
from poe.comparisons import Comparisons
from poe.stack import by_item, differences, laplacian
from reproduction.settings import Settings

ADAPTIVE, FIXED = "Bramley2018_1a", "Bramley2018_2"
PRINTED, SHAPES = "reliabilities", "shapes"  # of all 101 sessions, those at hand and others
WINS = (1.0, 3.0)  # and as many losses, added to each item, spread over all others
HALVES = 100  # ways to part the judges
AIM = 0.8  # the reliability that Kinnear, Jones and Davies recommend
RIDGE = (1e-3, 1e2)  # where the one of largest evidence is looked for
RESAMPLED = 500  # sets of essays, for the error of a correlation


def names() -> list[str]:
    """The sessions whose decisions are at hand, as their authors named them."""
    return [
        file.role for file in files.info("sessions").files if file.role not in (PRINTED, SHAPES)
    ]


@cache
def table(role: str) -> pd.DataFrame:
    """A file of the registry's entry `sessions`."""
    (file,) = (file for file in files.info("sessions").files if file.role == role)
    return pd.read_csv(io.BytesIO(files.read(file)))


@dataclass(frozen=True, eq=False)
class Session:
    """Decisions of a session, and who made each: judge (K,)."""

    name: str
    decisions: Comparisons
    judge: Floats

    @classmethod
    def load(cls, name: str) -> Session:
        """Load the session of a name in `names`."""
        rows = table(name)
        decisions = Comparisons(
            first=rows["candidate_chosen"].tolist(),
            second=rows["candidate_not_chosen"].tolist(),
            p=np.ones(len(rows)),
            items=sorted({*rows["candidate_chosen"], *rows["candidate_not_chosen"]}),
        )
        return cls(name, decisions, pd.factorize(rows["judge"])[0])

    def halves(self, seed: int) -> tuple[Comparisons, Comparisons]:
        """The decisions of a random half of the judges, and those of the others."""
        judges = np.random.default_rng(seed).permutation(self.judge.max() + 1)
        some = np.isin(self.judge, judges[: len(judges) // 2])
        return self.decisions.take(np.flatnonzero(some)), self.decisions.take(np.flatnonzero(~some))


@dataclass(frozen=True, eq=False)
class Shrunken:
    """Scores (N,) at the mode, covariance (N, N) there, and log evidence by Laplace."""

    scores: Floats
    covariance: Floats
    evidence: float
    ridge: float

    @property
    def reliability(self) -> float:
        """1 - mean posterior variance / prior variance, both of scores about their mean.

        The mean of all, of which decisions say nothing, keeps its prior variance.
        """
        left = self.ridge * float(np.trace(self.covariance)) - 1.0
        return 1.0 - left / (len(self.scores) - 1)


def shrunken(c: Comparisons, ridge: float | None = None) -> Shrunken:
    """Bradley-Terry scores with s ~ N(0, I / ridge), by Newton's method.

    ridge : by default the one of largest evidence,
    log p(answers | s) - ridge |s|^2 / 2 + N log(ridge) / 2 - log det(H) / 2 at the mode.
    """
    if ridge is None:
        found = minimize_scalar(
            lambda x: -shrunken(c, float(np.exp(x))).evidence,
            bounds=tuple(np.log(RIDGE)),
            method="bounded",
            options={"xatol": 1e-4},
        )
        return shrunken(c, float(np.exp(found.x)))
    s = np.zeros(c.n_items)
    for _ in range(100):
        q = expit(differences(c, s))
        curved = laplacian(c, c.weight * q * (1.0 - q)) + ridge * np.eye(c.n_items)
        pull = c.weight * (c.p - q)
        step = np.linalg.solve(curved, by_item(c, pull, -pull) - ridge * s)
        s = s + step
        if np.abs(step).max() < 1e-10:
            break
    else:
        raise poe.NotConvergedError("Newton's method has not found the mode in 100 steps")
    d = differences(c, s)
    fitted = float(c.weight @ (c.p * log_expit(d) + (1.0 - c.p) * log_expit(-d)))
    size = c.n_items * np.log(ridge) - np.linalg.slogdet(curved)[1] - ridge * float(s @ s)
    return Shrunken(s, np.linalg.inv(curved), fitted + 0.5 * float(size), ridge)


def stepped_up(r: float) -> float:
    """Reliability of the whole, of two halves that correlate by r (Spearman and Brown)."""
    return 2.0 * r / (1.0 + r)


def correlation(x: Floats, y: Floats, *, seed: int) -> tuple[float, float]:
    """Pearson's, and its error if other items had been judged (bootstrap)."""
    rng = np.random.default_rng(seed)
    some = rng.integers(len(x), size=(RESAMPLED, len(x)))
    return float(metrics.pearson(x, y)), float(metrics.pearson(x[some], y[some]).std())


def split_halves(session: Session, ridge: float, seed: int) -> float:
    """Correlation of the scores of two halves of the judges, the median of `HALVES` ways."""
    found = []
    for k in range(HALVES):
        one, other = (shrunken(half, ridge).scores for half in session.halves(seed + k))
        found.append(float(metrics.pearson(one, other)))
    return float(np.median(found))


def asked_for(n_items: int, spread: float) -> float:
    """Comparisons an item by which a session reaches `AIM`, as `poe.plan` has it.

    A reliability of .8 leaves a score an error of a quarter of their variance, and a difference two
    such quarters.
    """
    aim = spread * float(np.sqrt(2.0 * (1.0 / AIM - 1.0)))
    return poe.plan(n_items, standard_error=aim, expert="bradley-terry", spread=spread).per_item


def of_session(session: Session, settings: Settings) -> list[tuple[str, float, float]]:
    """Quantity, value and standard error (NaN where none is computed) of one session."""
    c = session.decisions
    best = shrunken(c)
    said = [("by evidence", best.reliability, np.nan), ("spread", 1.0 / best.ridge**0.5, np.nan)]
    for wins in WINS:
        fit = poe.fit(c, bias=None, prior=wins / (c.n_items - 1), covariance="curvature")
        ssr = metrics.scale_separation_reliability(fit.scores, fit.standard_errors())
        said.append((f"SSR, {wins:g} wins added", ssr, np.nan))
    h = split_halves(session, best.ridge, settings.seed)
    said += [("split halves", h, np.nan), ("split halves, stepped up", stepped_up(h), np.nan)]
    asked = asked_for(c.n_items, best.ridge**-0.5)
    said.append(("comparisons of an item", 2.0 * len(c) / c.n_items, np.nan))
    said.append(("comparisons of an item for .8", asked, np.nan))
    printed = table(PRINTED).set_index("judging_session").loc[session.name]
    said += [
        ("SSR, printed", float(printed["ssr"]), np.nan),
        ("split halves, printed", float(printed["median_split_corr"]), np.nan),
    ]
    return said


def between(settings: Settings) -> list[tuple[str, float, float]]:
    """Measure how two sessions with the same essays agree, and what follows for the first."""
    first, second = (Session.load(name).decisions for name in (ADAPTIVE, FIXED))
    assert first.items == second.items
    one, other = shrunken(first), shrunken(second)
    r, error = correlation(one.scores, other.scores, seed=settings.seed)
    implied = r**2 / other.reliability
    said = [
        ("correlation with the second session", r, error),
        ("implied by the second session", implied, implied * 2.0 * error / r),
    ]
    for wins in WINS:
        fit = [poe.fit(c, bias=None, prior=wins / (c.n_items - 1)).scores for c in (first, second)]
        r, error = correlation(*fit, seed=settings.seed)
        said.append((f"correlation, {wins:g} wins added", r, error))
    return said


def sessions(settings: Settings) -> pd.DataFrame:
    """The target: one row a session and quantity."""
    rows = []
    for name in names():
        session = Session.load(name)
        c = session.decisions
        shape = {"session": name, "items": c.n_items, "decisions": len(c)}
        shape["judges"] = int(session.judge.max()) + 1
        said = of_session(session, settings)
        said += between(settings) if name == ADAPTIVE else []
        rows += [
            {**shape, "quantity": what, "value": value, "se": error} for what, value, error in said
        ]
    end = {"kind": "recorded", "labels": "real", "draws": HALVES, "seed": settings.seed}
    return pd.DataFrame(rows).assign(**end)
