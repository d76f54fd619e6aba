"""Whether a probability that one score is above another is right as often as it says.

Sixteen texts of a judge whose truth is known. Of the better-ranked text of every pair,
`poe.Fit.better` says with which probability it is the better one; counted is how often that is so,
in ten classes of what was said, and in the mean. Beside it stands what the same fit says under a
flat prior, Phi(gap / error), which takes the whole lead for quality (book chapter 14).

Three others speak about the same answers, each of the text that it takes for the better one. Two
are told how the judge answers (`Judge`, its noise too, and nothing of its bias): "told the spread"
also how far texts are apart, and "told three spreads" that it is one of the three, each as likely
beforehand. Where the first holds and the second does not, sampling and approximations are not the
cause: so few answers do not tell how far the texts are apart, and whoever is not told must be too
sure of close texts or not sure enough of others. "averaged" is told nothing: it averages over the
spread and the noise (`studies.hierarchical`), for judges that give probabilities.

Declared before it was run: what is said holds for a judge and design where the mean lies within
`MEAN` points of the share that is right, and every class with more than `FEWEST` pairs within
`CLASS` points, two standard errors aside. A trial with 40 replicates came before.

Changed after the first table was known, and so no test of what was declared: the three others were
added; `prob_better` took one estimate of the share that is luck (James and Stein's), held in 29 of
the 45 cells, and now averages over it (`poe.luck`), tried with 60 replicates; and the same rule is
asked of each kind of judge with the three spreads mixed (`ANY`), as whoever is not told the spread
meets them. A probability that averages over a spread can be right as often as it
says in such a mixture, and in each part of it only where the answers tell the spread.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit, log_expit, logit, ndtr, softmax, stdtr

from judging.fitting import settled
from poe.arrays import Floats, Indices
from poe.choose.selection import select
from poe.comparisons import Comparisons
from poe.errors import ComparisonError
from poe.resistance import difference_variances
from reproduction.settings import Settings
from studies.coverage import BIAS, TEXTS
from studies.hierarchical import posterior

REPLICATES = 200  # at 100 draws
MEAN, CLASS, FEWEST = 3.0, 5.0, 200  # points, points, pairs
DESIGNS = {
    "24 in one order": ("no-repeat", 24),
    "48 in one order": ("no-repeat", 48),
    "96 in one order": ("no-repeat", 96),
    "48 in both orders": ("symmetric", 48),
    "96 in both orders": ("symmetric", 96),
}
SPREADS = {"close": 0.3, "apart": 1.0, "far apart": 2.0}
ANY = "any spread"
OURS, ONE, THREE, AVERAGED = "prob_better", "told the spread", "told three spreads", "averaged"
ANY_BIAS = 1e-4  # precision of a bias of which nothing is known
STEPS = 100
CLASSES = np.linspace(50.0, 100.0, 11)  # what is said, in per cent


def holds(table: pd.DataFrame) -> pd.Series:
    """Tell whether what is said holds by the declared rule, by who says it, judge and design."""
    told = table[(table["class"] == "all") | (table["pairs"] > FEWEST)]
    limit = np.where(told["class"] == "all", MEAN, CLASS)
    near = (told["stated"] - told["value"]).abs() <= limit + 2.0 * told["se"]
    return near.groupby([told["says"], told["judge"], told["design"]]).all()


@dataclass(frozen=True)
class Judge:
    """Log odds q_i - q_j + 0.4 + noise e; q and e normal, q with standard deviation `apart`.

    decides : says only which of the two it takes, drawn with its probability.
    """

    name: str
    apart: float
    noise: float = 0.0
    decides: bool = False

    def answer(self, q: Floats, pairs: Indices, rng: np.random.Generator) -> Floats:
        """(K,) answers about pairs (K, 2) of texts with qualities q (N,)."""
        logits = q[pairs[:, 0]] - q[pairs[:, 1]] + BIAS
        p: Floats = expit(logits + self.noise * rng.standard_normal(len(pairs)))
        return (rng.random(len(p)) < p).astype(float) if self.decides else p


KINDS: dict[str, dict[str, Any]] = {
    "decisions": {"decides": True},
    "noise 0.5": {"noise": 0.5},
    "noise 1.5": {"noise": 1.5},
}
JUDGES = tuple(
    Judge(f"{kind}, {how}", apart, **more)
    for kind, more in KINDS.items()
    for how, apart in SPREADS.items()
)
GRID = [(judge, design) for judge in JUDGES for design in DESIGNS]


def table(settings: Settings) -> pd.DataFrame:
    """A row a speaker, judge, design and class of what was said, and one for all ("all").

    Judges are those of `JUDGES`, and each kind with its three spreads mixed (`ANY`).

    says : who speaks. stated, value : said and right, in per cent, in the mean over pairs. se : of
    value - stated, over replicates. flat : what a flat prior says of the pairs of `prob_better`.
    pairs : how many. left_out : replicates of which nothing can be said.
    """
    replicates = max(REPLICATES * settings.draws // 100, 4)
    jobs = range(len(GRID))
    drawn = settings.map(lambda k: _drawn(k, replicates, settings.seed), jobs)
    rows = [row for k in jobs for row in _rows(GRID[k][0].name, GRID[k][1], [drawn[k]])]
    for kind in KINDS:
        for design in DESIGNS:
            mixed = [
                drawn[k] for k in jobs if GRID[k][0].name.startswith(kind) and GRID[k][1] == design
            ]
            rows += _rows(f"{kind}, {ANY}", design, mixed) if mixed else []
    results = pd.DataFrame(rows)
    return results.assign(**settings.how("simulated", "none"))


def told(judge: Judge, pairs: Indices, p: Floats, spreads: Sequence[float]) -> Floats:
    """(P,) probability that i is better, of all pairs i < j, of who knows the judge's law.

    spreads : of the qualities, each as likely beforehand. Given one, qualities and bias are normal:
    exactly where the judge's log odds are; of decisions by Laplace's approximation, as the evidence
    of the spread. pairs : (K, 2). p : (K,).
    """
    rows = np.arange(len(pairs))
    x = np.zeros((len(pairs), TEXTS + 1))
    x[rows, pairs[:, 0]], x[rows, pairs[:, 1]], x[:, -1] = 1.0, -1.0, 1.0
    i, j = np.triu_indices(TEXTS, 1)
    said, evidence = [], []
    for spread in spreads:
        prior = np.append(np.full(TEXTS, spread**-2.0), ANY_BIAS)
        at = np.zeros(TEXTS + 1)
        for _ in range(STEPS):
            d = x @ at
            if judge.decides:
                slope, bend, fits = (
                    p - expit(d),
                    expit(d) * expit(-d),
                    log_expit((2.0 * p - 1.0) * d),
                )
            else:
                miss = (logit(p) - d) / judge.noise
                slope, bend, fits = (
                    miss / judge.noise,
                    np.full(d.shape, judge.noise**-2.0),
                    -0.5 * miss**2,
                )
            precision = (x.T * bend) @ x + np.diag(prior)
            move = np.linalg.solve(precision, x.T @ slope - prior * at)
            at = at + move
            if np.abs(move).max() < 1e-9:
                break
        c = np.linalg.inv(precision)
        said.append(ndtr((at[i] - at[j]) / np.sqrt(c[i, i] + c[j, j] - 2.0 * c[i, j])))
        volume = np.log(prior).sum() - np.linalg.slogdet(precision)[1]
        evidence.append(fits.sum() + 0.5 * (volume - prior @ at**2))
    return np.asarray(softmax(evidence) @ np.stack(said))


def averaged(c: Comparisons) -> Floats:
    """(P,) probability that i is better, of all pairs i < j, by `studies.hierarchical`."""
    known, (i, j) = posterior(c), np.triu_indices(TEXTS, 1)
    scale = np.sqrt(((known.root[:, i] - known.root[:, j]) ** 2).sum(axis=-1))
    gap = known.centre[:, i] - known.centre[:, j]
    return np.asarray(known.weight @ stdtr(known.freedom, gap / scale))


def said_and_right(judge: Judge, design: str, rng: np.random.Generator) -> dict[str, Floats]:
    """(3, P) of all P pairs, in per cent, by who says it.

    Said of the one who is said to be the better one; said of the leader by a flat prior; and right.
    """
    rule, count = DESIGNS[design]
    q = judge.apart * rng.standard_normal(TEXTS)
    pairs = select(TEXTS, count, rule=rule, seed=rng)  # type: ignore[arg-type]
    p = judge.answer(q, pairs, rng)
    c = Comparisons.from_pairs(pairs, p, items=TEXTS)
    fit = settled(c)[0]
    i, j = np.triu_indices(TEXTS, 1)
    gap = fit.scores[i] - fit.scores[j]
    error = np.sqrt(np.maximum(difference_variances(fit.covariance())[i, j], 1e-300))
    flat = stdtr(fit.freedom, np.abs(gap) / error)
    by_whom: dict[str, tuple[Floats, Floats | None]] = {
        OURS: (fit.better(i, j), gap),
        ONE: (told(judge, pairs, p, [judge.apart]), None),
        THREE: (told(judge, pairs, p, list(SPREADS.values())), None),
    }
    if not judge.decides:
        by_whom[AVERAGED] = averaged(c), None
    return {
        name: 100.0
        * np.stack(
            [
                np.maximum(p, 1.0 - p),
                flat,
                0.5 + 0.5 * np.sign(p - 0.5 if lead is None else lead) * np.sign(q[i] - q[j]),
            ]
        )
        for name, (p, lead) in by_whom.items()
    }


def _drawn(k: int, replicates: int, seed: int) -> tuple[dict[str, Floats], int]:
    """(R, 3, P) by who says it, of R replicates of one judge and design, and how many fail."""
    judge, design = GRID[k]
    drawn, left_out = [], 0
    for one in range(replicates):
        try:
            drawn.append(said_and_right(judge, design, np.random.default_rng([seed, 61, k, one])))
        except ComparisonError:
            left_out += 1
    return {name: np.stack([one[name] for one in drawn]) for name in drawn[0]}, left_out


def _rows(
    judge: str, design: str, drawn: Sequence[tuple[dict[str, Floats], int]]
) -> list[dict[str, Any]]:
    about, left_out = {"judge": judge, "design": design}, sum(fails for _, fails in drawn)
    return [
        {"says": name, **about, **row, "left_out": left_out}
        for name in drawn[0][0]
        for row in _by_class(*np.moveaxis(np.concatenate([each[name] for each, _ in drawn]), 1, 0))
    ]


def _by_class(stated: Floats, flat: Floats, right: Floats) -> list[dict[str, Any]]:
    """Rows of (R, P) each, R replicates."""
    place = np.clip(np.digitize(stated, CLASSES) - 1, 0, 9)
    rows: list[dict[str, Any]] = []
    for which in (-1, *range(10)):
        inside = np.ones(stated.shape, dtype=bool) if which < 0 else place == which
        if not (count := int(inside.sum())):
            continue
        off = np.where(inside, right - stated, 0.0).sum(axis=1)
        each, about = inside.sum(axis=1), off.sum() / count
        # The error of a ratio of sums over replicates, whose pairs are not independent.
        se = np.sqrt(((off - about * each) ** 2).sum()) / count
        rows.append(
            {
                "class": "all" if which < 0 else f"{CLASSES[which]:.0f}-{CLASSES[which + 1]:.0f}",
                "stated": stated[inside].mean(),
                "value": right[inside].mean(),
                "se": se,
                "flat": flat[inside].mean(),
                "pairs": count,
            }
        )
    return rows
