"""The same questions put to what real language models answered in others' experiments.

HANNA's five judges scored every story alone. Read as judges of pairs, sigma(s_i - s_j), they are
more transitive than answers to pairs: all follow from N numbers, both orders of a pair add up to
one, there is no position bias. So they test scoring and selection at N = 1056, not noise. LLMBar's
six judges and PandaLM's two answered about pairs, LLMBar's in both orders: they test position bias,
debiasing and accuracy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product

import numpy as np
import pandas as pd

from poe.comparisons import Comparisons, Floats, Indices
from poe.judges import recorded
from poe.metrics import spearman
from poe.selection import select
from reproduction import large
from reproduction.settings import Settings, point
from reproduction.twins import Asker, labels

ATTRIBUTES = ("coherence", "complexity", "surprise")
TIMES = (2, 3, 5, 10, 20, 40, 100)  # calls an item
GREEDY_TIMES = (2, 4, 6, 10)
SELECTED = ("win-ratio", "avg-prob", "PoE-BT", "PoE-g")
DRAWS = 3  # of pairs: the judge is what it is

# From a draw's number, calls an item, number of items, what answers and a random stream to the
# comparisons by rule.
ByRule = dict[str, Comparisons]
Sets = Callable[[int, int, int, Asker, np.random.Generator], ByRule]


def hanna(settings: Settings) -> pd.DataFrame:
    """Efficiency curves of HANNA's judges: every method, hard and soft, random pairs."""

    def sets(_: int, times: int, n: int, answer: Asker, rng: np.random.Generator) -> ByRule:
        return {"random": large.compared(n, times * n, answer, rng, seed=settings.seed)}

    return _curves(settings, ATTRIBUTES, TIMES, large.METHODS, sets)


def selection(settings: Settings) -> pd.DataFrame:
    """Random against greedy pairs at N = 1056, coherence, both orders of each pair."""
    greedy: dict[tuple[int, int], Indices] = {}  # do not depend on answers

    def sets(draw: int, times: int, n: int, answer: Asker, rng: np.random.Generator) -> ByRule:
        if (n, draw) not in greedy:
            most = max(GREEDY_TIMES) * n
            pairs = select(n, most, rule="greedy", both_orders=True, start="nothing", seed=draw)
            greedy[n, draw] = pairs[0::2]
        chosen = greedy[n, draw][: times * n // 2]
        return {
            "random": large.compared(n, times * n, answer, rng, seed=settings.seed),
            "greedy": Comparisons.from_pairs(chosen, answer(chosen), items=n),
        }

    return _curves(settings, ATTRIBUTES[:1], GREEDY_TIMES, SELECTED, sets)


def _curves(
    settings: Settings,
    attributes: Iterable[str],
    all_times: Iterable[int],
    methods: Iterable[str],
    sets: Sets,
) -> pd.DataFrame:
    rows = []
    jobs = list(product(recorded.HANNA_JUDGES, attributes))
    for done, (name, attribute) in enumerate(jobs):
        judge = recorded.hanna(name, 1, attribute)
        present = judge.present
        gold, n = labels("hanna").scores[attribute][0][present], len(present)
        for times in settings.target.options.get("times", all_times):
            found: dict[tuple[str, str], list[float]] = {}
            for draw in range(min(settings.large_draws, DRAWS)):
                rng = np.random.default_rng([settings.seed, draw, times])
                answer: Asker = lambda pairs: judge.answer(present[pairs])  # noqa: B023, E731
                for rule, c in sets(draw, times, n, answer, rng).items():
                    for method, score in large.scores(c, methods).items():
                        value = 100.0 * float(spearman(score, gold))
                        found.setdefault((rule, method), []).append(value)
            panel = (judge.judge, "hanna", attribute)
            rows += [
                point(settings, panel, times * n, m, rule, np.array(values), kind=judge.kind)
                for (rule, m), values in found.items()
            ]
        settings.step(done + 1, len(jobs))
    return pd.DataFrame(rows)


def llmbar(settings: Settings) -> pd.DataFrame:
    """Position bias and accuracy by judge and set, plain prompt; decisions debiased in two ways.

    value: "first-position" rate; "accuracy" of single verdicts, "both-orders" (a pair's verdicts
    must agree, else half), "reweighted" cannot apply to verdicts without probabilities, so the
    debiased accuracy is that of both orders.
    """
    table = recorded.llmbar()
    plain = table[(table["strategy"] == "Vanilla") & table["p"].notna()]
    rows = []
    for (name, judge), group in plain.groupby(["set", "judge"], sort=True):
        right = np.where(group["first"] == group["label"], group["p"], 1.0 - group["p"])
        by_item = group.assign(right=right).groupby("item")["right"].agg(["mean", "size"])
        both = by_item.loc[by_item["size"] == 2, "mean"].to_numpy()
        shares = {
            "first-position": group["p"].to_numpy(),
            "accuracy": right,
            "both-orders": (np.sign(both - 0.5) + 1.0) / 2.0,
            "consistent": (both != 0.5).astype(float),
        }
        rows += [_share(settings, judge, "llmbar", name, *share) for share in shares.items()]
    return pd.DataFrame(rows).assign(kind=table.attrs["kind"], **_end(settings))


def pandalm(settings: Settings) -> pd.DataFrame:
    """Accuracy against the majority of three people, and the share of wins per model's rank."""
    table = recorded.pandalm()
    rows = []
    for judge, group in table[table["p"].notna()].groupby("judge", sort=True):
        decided = group[group["people"] != 0.5]
        shares = {
            "three-way agreement": (group["p"] == group["people"]).to_numpy(dtype=float),
            "accuracy": 1.0 - (decided["p"] - decided["people"]).abs().to_numpy(),
        }
        rows += [_share(settings, judge, "pandalm", "overall", *share) for share in shares.items()]
    return pd.DataFrame(rows).assign(kind=table.attrs["kind"], **_end(settings))


def _share(
    settings: Settings, judge: str, dataset: str, attribute: str, method: str, values: Floats
) -> dict[str, object]:
    """The row of a share of verdicts, in per cent."""
    return {
        "panel": settings.target.name,
        "system": judge,
        "dataset": dataset,
        "attribute": attribute,
        "k": len(values),
        "method": method,
        "selection": "full",
        "bias": "none",
        "value": 100.0 * values.mean(),
        "se": 100.0 * values.std(ddof=1) / np.sqrt(len(values)),
    }


def _end(settings: Settings) -> dict[str, object]:
    return {"labels": "real", "draws": 1, "seed": settings.seed}
