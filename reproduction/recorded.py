"""The same questions put to what real language models answered in others' experiments.

HANNA's five judges scored every story alone. Read as judges of pairs, sigma(s_i - s_j), they are
more transitive than answers to pairs: all follow from N numbers, both orders of a pair add up to
one, there is no position bias. So they test scoring and selection at N = 1056, not noise. LLMBar's
six judges and PandaLM's two answered about pairs, LLMBar's in both orders: they test position bias,
debiasing and accuracy.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from poe.comparisons import Comparisons, Floats, Indices
from poe.judges import recorded
from poe.metrics import spearman
from poe.selection import select
from reproduction import large
from reproduction.large import Large
from reproduction.settings import Settings, spread
from reproduction.sweep import labels
from reproduction.table3 import large_draws

ATTRIBUTES = ("coherence", "complexity", "surprise")
TIMES = (2, 3, 5, 10, 20, 40, 100)  # calls an item
GREEDY_TIMES = (2, 4, 6, 10)
METHODS = large.METHODS
SELECTED = ("win-ratio", "avg-prob", "PoE-BT", "PoE-g")
DRAWS = 3  # of pairs: the judge is what it is


def hanna_curves(settings: Settings) -> pd.DataFrame:
    """Efficiency curves of HANNA's judges: every method, hard and soft, random pairs."""
    draws = min(large_draws(settings), DRAWS)
    rows = []
    jobs = [(name, attribute) for name in recorded.HANNA_JUDGES for attribute in ATTRIBUTES]
    for done, (name, attribute) in enumerate(jobs):
        judge = recorded.hanna(name, 1, attribute, source=settings.source)
        gold, present = _gold(settings, attribute), judge.present
        for times in TIMES:
            count = times * len(present)
            what = Large("hanna", settings.source, count, methods=METHODS, seed=settings.seed)
            found: dict[str, list[float]] = {method: [] for method in METHODS}
            for number in range(draws):
                rng = np.random.default_rng([settings.seed, number, times])
                c = large.compared(len(present), what, _of(judge, present), rng)
                for method, score in large.scores(c, what).items():
                    found[method].append(float(spearman(score, gold[present])))
            rows += [
                _row(judge, "recorded-hanna", count, m, "random", values, settings)
                for m, values in found.items()
            ]
        if settings.progress:
            settings.progress(done + 1, len(jobs))
    return pd.DataFrame(rows)


def hanna_selection(settings: Settings) -> pd.DataFrame:
    """Random against greedy pairs at N = 1056, coherence, both orders of each pair."""
    draws = min(large_draws(settings), DRAWS)
    rows = []
    greedy: dict[int, list[Indices]] = {}
    for done, name in enumerate(recorded.HANNA_JUDGES):
        judge = recorded.hanna(name, 1, "coherence", source=settings.source)
        gold, present = _gold(settings, "coherence"), judge.present
        n = len(present)
        if n not in greedy:  # sets of pairs do not depend on answers
            most = max(GREEDY_TIMES) * n
            greedy[n] = [
                select(n, most, rule="greedy", both_orders=True, start="nothing", seed=s)[0::2]
                for s in range(draws)
            ]
        for times in GREEDY_TIMES:
            what = Large("hanna", settings.source, times * n, methods=SELECTED, seed=settings.seed)
            found: dict[tuple[str, str], list[float]] = {}
            for number in range(draws):
                rng = np.random.default_rng([settings.seed, number, times])
                answer = _of(judge, present)
                chosen = greedy[n][number][: times * n // 2]
                sets = {
                    "random": large.compared(n, what, answer, rng),
                    "greedy": Comparisons.from_pairs(chosen, answer(chosen), items=n),
                }
                for rule, c in sets.items():
                    for method, score in large.scores(c, what).items():
                        value = float(spearman(score, gold[present]))
                        found.setdefault((rule, method), []).append(value)
            rows += [
                _row(judge, "recorded-selection", times * n, method, rule, values, settings)
                for (rule, method), values in found.items()
            ]
        if settings.progress:
            settings.progress(done + 1, len(recorded.HANNA_JUDGES))
    return pd.DataFrame(rows)


def _gold(settings: Settings, attribute: str) -> Floats:
    return labels("hanna", settings.source).scores[attribute][0]


def _of(judge: recorded.RecordedScores, present: Indices) -> large.Answer:
    return lambda pairs: judge.answer(present[pairs])


def _row(
    judge: recorded.RecordedScores,
    panel: str,
    count: int,
    method: str,
    selection: str,
    values: list[float],
    settings: Settings,
) -> dict[str, object]:
    value, se = spread(100.0 * np.array(values))
    return {
        "panel": panel,
        "system": judge.judge,
        "dataset": "hanna",
        "attribute": judge.attribute,
        "k": count,
        "method": method,
        "selection": selection,
        "bias": "none",
        "value": value,
        "se": se,
        "low": value - 1.96 * se,
        "high": value + 1.96 * se,
        "kind": judge.kind,
        "labels": labels("hanna", settings.source).source,
        "draws": len(values),
        "seed": settings.seed,
    }


def llmbar(settings: Settings) -> pd.DataFrame:
    """Position bias and accuracy by judge and set, plain prompt; decisions debiased in two ways.

    value: "first-position" rate; "accuracy" of single verdicts, "both-orders" (a pair's verdicts
    must agree, else half), "reweighted" cannot apply to verdicts without probabilities, so the
    debiased accuracy is that of both orders.
    """
    table = recorded.llmbar(source=settings.source)
    kind = str(table.attrs["kind"])
    plain = table[(table["strategy"] == "Vanilla") & table["p"].notna()]
    rows = []
    for (name, judge), group in plain.groupby(["set", "judge"], sort=True):
        right = np.where(group["first"] == group["label"], group["p"], 1.0 - group["p"])
        by_item = group.assign(right=right).groupby("item")["right"].agg(["mean", "size"])
        both = by_item[by_item["size"] == 2]["mean"]
        for method, values in (
            ("first-position", group["p"].to_numpy()),
            ("accuracy", right),
            ("both-orders", (np.sign(both.to_numpy() - 0.5) + 1.0) / 2.0),
            ("consistent", (both.to_numpy() != 0.5).astype(float)),
        ):
            about = {"panel": "recorded-llmbar", "system": judge, "dataset": "llmbar"}
            about |= {"attribute": name, "k": len(values), "method": method}
            rows.append(about | _share(values, kind, settings))
    return pd.DataFrame(rows)


def pandalm(settings: Settings) -> pd.DataFrame:
    """Accuracy against the majority of three people, and the share of wins per model's rank."""
    table = recorded.pandalm(source=settings.source)
    kind = str(table.attrs["kind"])
    rows = []
    for judge, group in table[table["p"].notna()].groupby("judge", sort=True):
        decided = group[group["people"] != 0.5]
        for method, values in (
            ("three-way agreement", (group["p"] == group["people"]).to_numpy(dtype=float)),
            ("accuracy", 1.0 - (decided["p"] - decided["people"]).abs().to_numpy()),
        ):
            about = {"panel": "recorded-pandalm", "system": judge, "dataset": "pandalm"}
            about |= {"attribute": "overall", "k": len(values), "method": method}
            rows.append(about | _share(values, kind, settings))
    return pd.DataFrame(rows)


def _share(values: np.ndarray, kind: str, settings: Settings) -> dict[str, object]:
    """The columns of a share of verdicts, in per cent."""
    return {
        "selection": "full",
        "bias": "none",
        "value": 100.0 * values.mean(),
        "se": 100.0 * values.std(ddof=1) / np.sqrt(len(values)),
        "kind": kind,
        "labels": "real" if kind == "recorded" else "stand-in",
        "draws": 1,
        "seed": settings.seed,
    }
