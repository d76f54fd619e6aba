"""A frontier judge beside experts: CJ RAVE, what 22 people and GPT-5.1 made of 114 questions.

The Comparative Judgement Research Consortium (2026) asked 22 researchers which of two questions of
their field matters more, 1198 times, and GPT-5.1 about every pair once. A judge can agree with
experts no better than they agree with themselves: scores of a reliability R correlate with what
they measure by the root of R, and that is the ceiling of anybody's correlation with them. Scores
are those of `studies.sessions.shrunken`, R comes of halves of the experts (stepped up) and of the
prior of largest evidence.

GPT-5.1 saw the question of the smaller number first in every pair, so whether it chose the other
more often for its place or for what it was cannot be told from how often it did. Two numbers can
help: if numbers went with quality, experts' scores would correlate with them; and if GPT-5.1 liked
larger numbers and not the second place, then hardly so among neighbours (numbers less than `NEAR`
apart).

Known before any of this was computed, from a reader's trial with fits of another prior: Spearman
of .37 to .39 between the two, halves of the experts .24 to .27, agreement in single verdicts 58%
(experts with each other 49%), the first place in 39% of GPT-5.1's answers. Declared:

 1. Experts' scores and numbers correlate within two errors of zero (chance .8).
 2. Among neighbours GPT-5.1 chooses the first place in less than 45%: it is the place (.7).
 3. Its correlation with the experts is more than half of their ceiling, and below it (.7).

The verdicts have no licence: who has a copy can run this, and only our own figures are kept.
"""

from __future__ import annotations

import io

import numpy as np
import pandas as pd

from judging import metrics
from judging.datasets import files
from poe.comparisons import Comparisons
from reproduction.settings import Settings
from studies.sessions import Session, correlation, shrunken, split_halves, stepped_up

NEAR = 10  # numbers so close are neighbours


def load(role: str) -> Session:
    """The verdicts of "people" or "model", the question shown first standing first."""
    (file,) = (file for file in files.info("rave").files if file.role == role)
    rows = pd.read_csv(io.BytesIO(files.read(file)))
    pairs = rows[["first", "second"]].to_numpy() - 1
    decisions = Comparisons.from_pairs(
        pairs, (rows["winner"] == rows["first"]).to_numpy(float), items=int(pairs.max()) + 1
    )
    return Session(role, decisions, pd.factorize(rows["judge"])[0])


def share(won: np.ndarray) -> tuple[float, float]:
    """A mean of verdicts and its standard error, in per cent."""
    return 100.0 * float(won.mean()), 100.0 * float(won.std(ddof=1) / np.sqrt(len(won)))


def verdicts(c: Comparisons) -> pd.DataFrame:
    """A row a verdict: the two numbers in order, and whether the smaller one won."""
    small, large = np.minimum(c.first, c.second), np.maximum(c.first, c.second)
    won = np.where(c.first == small, c.p, 1.0 - c.p)
    return pd.DataFrame({"small": small, "large": large, "won": won})


def among(c: Comparisons) -> tuple[float, float]:
    """How often two verdicts about the same pair are the same, in per cent, over pairs."""
    agreed = []
    for _, won in verdicts(c).groupby(["small", "large"])["won"]:
        k, m = won.sum(), len(won)
        if m > 1:
            agreed.append((k * (k - 1) + (m - k) * (m - k - 1)) / (m * (m - 1)))
    return share(np.array(agreed))


def between(one: Comparisons, other: Comparisons) -> tuple[float, float]:
    """How often verdicts of one and of another about the same pair are the same, in per cent."""
    both = verdicts(one).merge(verdicts(other), on=["small", "large"])
    return share((both["won_x"] == both["won_y"]).to_numpy(float))


def table(settings: Settings) -> pd.DataFrame:
    """The target: a row a quantity, with its error (NaN where none is computed)."""
    people, model = load("people"), load("model")
    one, other = shrunken(people.decisions), shrunken(model.decisions)
    h = split_halves(people, one.ridge, settings.seed)
    r, error = correlation(one.scores, other.scores, seed=settings.seed)
    number = np.arange(len(one.scores), dtype=float)
    c = model.decisions
    near = np.abs(c.first - c.second) < NEAR
    ceiling = float(np.sqrt(stepped_up(h)))
    found = {
        "experts, split halves": (h, np.nan),
        "experts, stepped up": (stepped_up(h), np.nan),
        "experts, by evidence": (one.reliability, np.nan),
        "ceiling": (ceiling, np.nan),
        "experts and model": (r, error),
        "experts and model, of ceiling": (r / ceiling, error / ceiling),
        "experts and model, Spearman": (float(metrics.spearman(one.scores, other.scores)), np.nan),
        "experts and number": correlation(one.scores, number, seed=settings.seed),
        "model and number": correlation(other.scores, number, seed=settings.seed),
        "same verdict, model and expert": between(c, people.decisions),
        "same verdict, two experts": among(people.decisions),
        "first place, experts": share(people.decisions.p),
        "first place, model": share(c.p),
        "first place, model, neighbours": share(c.p[near]),
        "first place, model, others": share(c.p[~near]),
    }
    shape = {"items": people.decisions.n_items, "experts": int(people.judge.max()) + 1}
    shape |= {"verdicts": len(people.decisions), "answers": len(c)}
    rows = [{**shape, "quantity": name, "value": x, "se": se} for name, (x, se) in found.items()]
    return pd.DataFrame(rows).assign(**settings.how("recorded", "real"))
