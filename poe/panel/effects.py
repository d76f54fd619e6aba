"""What a weak, biased, duplicate or adversarial judge does, in simulation.

Simulated judges answer comparisons of items with known scores; every combination sees the same
answers. A simulated judge is not a language model.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence

import numpy as np
import pandas as pd
from scipy.special import expit, logit
from scipy.stats import spearmanr

from poe.comparisons import Comparisons, Floats
from poe.errors import NotConvergedError
from poe.fitting import fit
from poe.panel.errors import AggregationError, UnidentifiedPanelError
from poe.panel.panel import PanelFit, average_first, fit_panel, residual_correlation

KINDS = ("none", "weak", "biased", "duplicate", "adversarial", "over-confident")


def simulated_judges(
    kind: str,
    *,
    seed: int,
    n_items: int = 16,
    good: int = 3,
    sharpness: float = 1.0,
    noise: float = 1.5,
    bias: float = 2.0,
    copies: int = 4,
    both_orders: bool = True,
) -> tuple[dict[Hashable, Comparisons], Floats]:
    """Comparisons of `good` good judges and one of a kind, and the items' true scores.

    A good judge answers sigma(sharpness (s_i - s_j) + noise e), e a standard normal number for
    each ordered pair. "none" adds no judge; "weak" one with a tenth of the sharpness; "biased"
    one that adds `bias` logits to what is shown first; "duplicate" has `copies` copies of the
    weakest voice there is, a judge with twice the noise, answers and errors alike; "adversarial"
    one that prefers the worse; "over-confident" a judge of pure noise with four times the noise,
    whose probabilities are all near 0 or 1. With both_orders every ordered pair is asked,
    otherwise each pair once and the item of the lower number, which is no better, first.
    """
    if kind not in KINDS:
        raise AggregationError(f"kind must be one of {', '.join(KINDS)}, not {kind!r}")
    rng = np.random.default_rng(seed)
    scores = rng.standard_normal(n_items)
    scores -= scores.mean()
    pairs = np.argwhere(~np.eye(n_items, dtype=bool))
    if not both_orders:
        pairs = pairs[pairs[:, 0] < pairs[:, 1]]
    d = scores[pairs[:, 0]] - scores[pairs[:, 1]]

    def judge(a: float, sd: float, b: float = 0.0) -> Comparisons:
        p = expit(a * d + b + sd * rng.standard_normal(len(d)))
        return Comparisons.from_pairs(pairs, p, items=n_items)

    judges: dict[Hashable, Comparisons] = {
        f"good {k + 1}": judge(sharpness, noise) for k in range(good)
    }
    if kind == "weak":
        judges["weak"] = judge(0.1 * sharpness, noise)
    elif kind == "biased":
        judges["biased"] = judge(sharpness, noise, bias)
    elif kind == "adversarial":
        judges["adversarial"] = judge(-sharpness, noise)
    elif kind == "over-confident":
        judges["over-confident"] = judge(0.0, 4.0 * noise)
    elif kind == "duplicate":
        copy = judge(sharpness, 2.0 * noise)
        judges |= {f"copy {k + 1}": copy for k in range(copies)}
    return judges, scores


def combinations() -> Mapping[str, Callable[[Mapping[Hashable, Comparisons]], Floats]]:
    """Ways from the comparisons of several judges to scores, all without labels."""
    return {
        "average first": lambda judges: fit(average_first(judges)).scores,
        "average first, bias fitted": lambda judges: fit(average_first(judges), bias="fit").scores,
        "skill-weighted PoE": lambda judges: fit_panel(judges).scores,
        "first judge alone": lambda judges: fit(next(iter(judges.values())), bias="fit").scores,
    }


def effect(
    kinds: Sequence[str] = KINDS, *, seeds: Sequence[int] = tuple(range(20)), **settings: float
) -> pd.DataFrame:
    """One row a kind, seed and way of combining: Spearman correlation with the true scores.

    settings : of `simulated_judges`. Columns: kind, method, seed, spearman, problem (why there is
    no number), evidence ("simulated").
    """
    rows = []
    for kind in kinds:
        for seed in seeds:
            judges, scores = simulated_judges(kind, seed=seed, **settings)  # type: ignore[arg-type]
            for method, combine in combinations().items():
                value, problem = float("nan"), ""
                try:
                    value = float(spearmanr(combine(judges), scores).statistic)
                except (UnidentifiedPanelError, NotConvergedError, ValueError) as error:
                    problem = str(error)
                rows.append((kind, method, seed, value, problem, "simulated"))
    return pd.DataFrame(rows, columns=["kind", "method", "seed", "spearman", "problem", "evidence"])


def summary(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean and standard error over seeds of `effect`, a row a kind and method."""
    grouped = rows.groupby(["kind", "method"], sort=False)["spearman"]
    table = grouped.agg(["mean", "std", "count"]).reset_index()
    return table.assign(se=table["std"] / np.sqrt(table["count"]))


def what_the_panel_says(
    kind: str, *, seeds: Sequence[int] = tuple(range(20)), **settings: float
) -> pd.DataFrame:
    """One row a judge and seed: estimated sharpness and bias, and its largest error correlation.

    error_correlation is that of its residuals with the judge they resemble most: near one for
    duplicates, which the scores' standard errors do not know about.
    """
    rows = []
    for seed in seeds:
        judges, _ = simulated_judges(kind, seed=seed, **settings)  # type: ignore[arg-type]
        found = fit_panel(judges)
        largest = _largest(found)
        for row in found.skills().itertuples():
            rows.append((kind, seed, row.judge, row.sharpness, row.bias, largest[row.judge]))
    return pd.DataFrame(
        rows, columns=["kind", "seed", "judge", "sharpness", "bias", "error_correlation"]
    )


def _largest(found: PanelFit) -> dict[Hashable, float]:
    pairs = residual_correlation(found)
    return {
        judge: float(
            pairs.loc[(pairs["judge"] == judge) | (pairs["other"] == judge), "correlation"].max()
        )
        for judge in found.judges
    }


def second_judge_or_both_orders(
    *, seeds: Sequence[int] = tuple(range(20)), n_items: int = 16, **settings: float
) -> pd.DataFrame:
    """The same calls spent on one judge in both orders, or on two judges in one order each.

    One judge has no position bias and one has; all pairs are compared. With two calls a pair:
    one judge in both orders, or both judges, in the same order or in opposite ones. Beside them
    one judge in one order (one call) and both in both (four). Orders are drawn at random.
    Columns: way, calls_a_pair, seed, bias_fitted (Spearman correlation of `fit_panel`'s scores with
    the truth), no_bias (of the averaged probabilities' scores without a bias), evidence.
    """
    rows = []
    for seed in seeds:
        judges, scores = simulated_judges("biased", seed=seed, n_items=n_items, good=1, **settings)  # type: ignore[arg-type]
        one, other = judges["good 1"], judges["biased"]
        rng = np.random.default_rng([seed, 1])
        turned = rng.random((n_items, n_items)) < 0.5
        up = (one.first < one.second) == turned[
            np.minimum(one.first, one.second), np.maximum(one.first, one.second)
        ]
        ways: dict[str, tuple[Mapping[Hashable, Comparisons], int]] = {
            "unbiased judge, one order": ({"a": one.take(up)}, 1),
            "unbiased judge, both orders": ({"a": one}, 2),
            "biased judge, one order": ({"b": other.take(up)}, 1),
            "biased judge, both orders": ({"b": other}, 2),
            "both judges, same order": ({"a": one.take(up), "b": other.take(up)}, 2),
            "both judges, opposite orders": ({"a": one.take(up), "b": other.take(~up)}, 2),
            "both judges, both orders": ({"a": one, "b": other}, 4),
        }
        for way, (panel, calls) in ways.items():
            fitted = spearmanr(fit_panel(panel).scores, scores).statistic
            plain = spearmanr(fit(average_first(panel)).scores, scores).statistic
            rows.append((way, calls, seed, float(fitted), float(plain), "simulated"))
    return pd.DataFrame(
        rows, columns=["way", "calls_a_pair", "seed", "bias_fitted", "no_bias", "evidence"]
    )


def opinion(p: Floats, *, sharpness: float, bias: float) -> Floats:
    """The score difference at which a judge's expert peaks: (logit(p) - b_k) / a_k."""
    return (logit(p) - bias) / sharpness
