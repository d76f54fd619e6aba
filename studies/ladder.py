"""What a judge sees of planted errors: the ladder of data/examples, whose truth needs no people.

Twelve explanations stand in six versions each, from none to five planted errors of six kinds. A
judge was asked about all 30 ordered pairs of each, which is the better explanation and, as a
control that no error should touch, which is more cheerful.

Which kinds does it see? Let l be the mean of both orders' log odds for text i over j, and e(k) 1
where a text has error k. Over all pairs of a topic

    l_ij = sum over k of b(k) (e_j(k) - e_i(k)) + noise,

so b(k) says by how many logits an error of kind k costs a text its win. Least squares over all
topics; the standard error is that of leaving one topic out at a time.

Expected before any answer: data/ladder-expected.toml, our own guesses and no twin's.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd
from scipy.special import expit

from judging import datasets
from judging.machine import data_dir
from judging.metrics import spearman
from poe.arrays import Floats, Indices
from poe.scores import average_probability
from poe.stack import Stack
from reproduction import answers
from reproduction.baselines.papers import expected_score
from reproduction.settings import Settings

DATASET = "ladder"
KINDS = ("number", "contradiction", "step", "order", "grammar", "padding")
ASKED, CONTROL = "explanation", "cheerfulness"
EXPECTED = "ladder-expected.toml"


def planted() -> Floats:
    """(topics, rungs, kinds): 1 where a text has an error of that kind."""
    table = pd.read_csv(data_dir() / "examples" / "ladder.csv", keep_default_na=False)
    has = [[float(kind in errors.split()) for kind in KINDS] for errors in table["planted"]]
    return np.array(has).reshape(-1, datasets.load(DATASET).n_candidates, len(KINDS))


def both_orders(log_p: Floats) -> Floats:
    """(C, N, N) mean log odds for the row, from (C, N, N, 2) log-probabilities."""
    logits = log_p[..., 0] - log_p[..., 1]
    return (logits - np.swapaxes(logits, -1, -2)) / 2.0


def costs(log_odds: Floats, errors: Floats) -> Floats:
    """(kinds,): b(k), by least squares over all pairs of some topics.

    log_odds (C, N, N), errors (C, N, kinds).
    """
    one, other = np.triu_indices(errors.shape[1], 1)
    differences = errors[:, other] - errors[:, one]
    found: Floats = np.linalg.lstsq(
        differences.reshape(-1, errors.shape[2]), log_odds[:, one, other].ravel(), rcond=None
    )[0]
    return found


def ranks(p: Floats) -> Floats:
    """(C,) Spearman of all calls' average probability with the planted order."""
    n = p.shape[-1]
    calls = np.argwhere(~np.eye(n, dtype=bool))
    stack = Stack.of(n, np.broadcast_to(calls, (len(p), *calls.shape)), p[:, *calls.T])
    return spearman(average_probability(stack), np.broadcast_to(-np.arange(n), (len(p), n)))


def quantities(log_p: Floats, errors: Floats) -> dict[str, float]:
    """Measure what some topics say: correlation and shares times 100, costs in logits.

    log_p (C, N, N, 2), row shown first; errors (C, N, kinds). Texts stand in the planted order.
    """
    logits, averaged = log_p[..., 0] - log_p[..., 1], both_orders(log_p)
    one, other = np.triu_indices(logits.shape[-1], 1)
    shown = np.stack([logits[:, one, other], -logits[:, other, one]])  # for the better text
    return {
        "Spearman with the planted order": 100.0 * float(ranks(expit(logits)).mean()),
        "right, one order": 100.0 * float((shown > 0).mean()),
        "right, both orders averaged": 100.0 * float((averaged[:, one, other] > 0).mean()),
        "first place preferred": 50.0 * float((shown[0] > 0).mean() + (shown[1] < 0).mean()),
        **dict(zip(KINDS, costs(averaged, errors).tolist(), strict=True)),
    }


def marks(log_p: Floats, compared: Floats) -> dict[str, float]:
    """Spearman of expected marks (C, N, labels), and comparisons' (C,) minus it."""
    score = expected_score(np.exp(log_p), np.arange(1, log_p.shape[-1] + 1)).scores
    each = spearman(score, np.broadcast_to(-np.arange(score.shape[1]), score.shape))
    return {
        "Spearman of marks": 100.0 * float(each.mean()),
        "comparing - marks": 100.0 * float((compared - each).mean()),
    }


def jackknife(of: Callable[[Indices], Mapping[str, float]], topics: int) -> dict[str, float]:
    """Standard errors of what `of` says of some topics, from leaving each one out."""
    every = np.arange(topics)
    left = pd.DataFrame([of(np.delete(every, k)) for k in every])
    return dict((left.std(ddof=0) * np.sqrt(topics - 1.0)).astype(float))


def table(settings: Settings) -> pd.DataFrame:
    """A row a judge, attribute and quantity: value and standard error over topics.

    No row where a judge was not asked about all twelve topics.
    """
    errors, rows = planted(), []
    for model in answers.MODELS.values():
        for attribute in (ASKED, CONTROL):
            there = _answers(attribute, "poe", model)
            if there is None:
                continue
            log_p: Floats = there
            compared = ranks(expit(log_p[..., 0] - log_p[..., 1]))
            graded = _answers(attribute, "g-eval", model)

            def of(
                topics: Indices,
                log_p: Floats = log_p,
                compared: Floats = compared,
                graded: Floats | None = graded,
            ) -> dict[str, float]:
                said = quantities(log_p[topics], errors[topics])
                return said if graded is None else said | marks(graded[topics], compared[topics])

            every = of(np.arange(len(errors)))
            error = jackknife(of, len(errors))
            about = {"system": model.name, "attribute": attribute, "topics": len(errors)}
            rows += [
                {**about, "quantity": name, "value": value, "se": error[name]}
                for name, value in every.items()
            ]
    end = {"kind": "measured", "labels": "planted", "draws": 1, "seed": settings.seed}
    return pd.DataFrame(rows).assign(**end)


def _answers(attribute: str, template: str, model: answers.Model) -> Floats | None:
    try:
        contexts, log_p = answers.answers(DATASET, attribute, template, model)
    except LookupError:
        return None
    return log_p if len(contexts) == len(planted()) else None


def expected() -> pd.DataFrame:
    """Return what we expected before any answer; low and high were to hold it in 95%.

    Columns: system, attribute, quantity, low, median, high and, where there is one, claim,
    holds_if and chance.
    """
    rows = tomllib.loads((data_dir() / EXPECTED).read_text("utf-8"))
    return pd.DataFrame(rows["expected"])
