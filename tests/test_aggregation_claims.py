"""Claims about several judges on results made by hand."""

import numpy as np
import pandas as pd
import pytest

from reproduction import aggregation_claims, claim_numbers, claims
from reproduction.aggregation_claims import MEASURES, RECORDED, on_recorded

METHODS = {
    "average-probability": 60.0, "majority-voting": 61.0, "DawidSkene": 63.0,
    "DawidSkene, trusted": 40.0, "Crowdlayer": 61.5, "SkillAggregation-unregularised": 64.0,
    "SkillAggregation": 64.5, "SkillAggregation-X": 65.0,
}  # fmt: skip


def recorded(**both):
    """Two sets in one order and in both, where every method gains a point unless told."""
    rows = []
    for dataset in ("Natural", "adversarial"):
        for order in ("given", "both"):
            for method, value in METHODS.items():
                gain = both.get(method.replace("-", "_"), 1.0) if order == "both" else 0.0
                rows.append((dataset, "Vanilla", order, method, "accuracy", value + gain))
        rows.append((dataset, "Vanilla", "both", "DawidSkene", "correlation of slopes", 80.0))
    columns = ["dataset", "system", "selection", "method", "quantity", "value"]
    return pd.DataFrame(rows, columns=columns).assign(kind="recorded")


BY_HAND = {
    "sa-skill-beats-majority": 63.0 - 61.0,
    "sa-crowdlayer-beats-baselines": 61.5 - 61.0,
    "sa-regularisation-helps": 0.5,
    "sa-both-orders-help": 1.0,
    "sa-gains-shrink-without-bias": 0.0,
}


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_measures_by_hand(name):
    assert on_recorded(name, recorded()) == pytest.approx(BY_HAND[name])


@pytest.mark.parametrize(
    ("name", "change", "expected"),
    [
        ("sa-skill-beats-majority", {"DawidSkene": -5.0}, -4.0),
        ("sa-crowdlayer-beats-baselines", {"average_probability": 9.0}, -6.5),
        ("sa-regularisation-helps", {"SkillAggregation": -2.0}, -2.5),
        ("sa-both-orders-help", {"Crowdlayer": -3.0}, -3.0),
        ("sa-gains-shrink-without-bias", {"DawidSkene": 2.0}, 1.0),
    ],
)
def test_the_worst_cell_decides(name, change, expected):
    assert on_recorded(name, recorded(**change)) == pytest.approx(expected)


def test_the_trusted_judge_is_no_method_of_the_paper():
    """Naming the classes by a judge may lose from one order to both; the claim is not about it."""
    changed = recorded(**{"DawidSkene, trusted": -30.0})
    assert on_recorded("sa-both-orders-help", changed) == pytest.approx(1.0)


def test_nothing_recorded_cannot_be_checked():
    assert np.isnan(on_recorded("sa-regularisation-helps", None))
    stand_in = recorded().assign(kind="simulated")
    assert np.isnan(on_recorded("sa-regularisation-helps", stand_in))
    networks = recorded()["method"].str.startswith("Skill")
    assert np.isnan(on_recorded("sa-regularisation-helps", recorded()[~networks]))


def sizes(crowdlayer=1.0, skill=2.0, few=3.0):
    rows = [
        (task, k, method, gain, few if k == 1000 else 1.5)
        for task in ("HaluEval", "TruthfulQA", "ChatbotArena")
        for k in (1000, 5000)
        for method, gain in (("Crowdlayer", crowdlayer), ("SkillAggregation", skill))
    ]
    return {
        "skill-figure6": pd.DataFrame(rows, columns=["dataset", "k", "method", "gain", "gain_sd"])
    }


def test_sizes_by_hand():
    assert MEASURES["sa-few-samples-noisier"](sizes(), "simulated") == pytest.approx(2.0)
    assert MEASURES["sa-few-samples-noisier"](sizes(few=1.5), "simulated") == pytest.approx(1.0)
    over = MEASURES["sa-over-crowdlayer-at-every-size"]
    assert over(sizes(), "simulated") == pytest.approx(1.0)
    assert over(sizes(crowdlayer=2.5), "simulated") == pytest.approx(-0.5)
    early = MEASURES["sa-halueval-gains-from-1000"]
    assert early(sizes(), "simulated") == pytest.approx(1.0)
    assert early(sizes(crowdlayer=-0.2), "simulated") == pytest.approx(-0.2)


def test_slopes_take_the_worst_task():
    rows = [
        ("A", "SkillAggregation", 90.0),
        ("B", "SkillAggregation", 40.0),
        ("B", "DawidSkene", 5),
    ]
    table = pd.DataFrame(rows, columns=["dataset", "method", "correlation"])
    measure = MEASURES["sa-slopes-follow-accuracy"]
    assert measure({"skill-figure3": table}, "simulated") == pytest.approx(40.0)
    assert measure({"recorded-aggregation": recorded()}, "recorded") == pytest.approx(80.0)


def test_subsets_are_counted():
    rows = [("a", 3.0, 2.0), ("b", 1.0, 2.0), ("c", 2.0, 2.0), ("d", 9.0, 2.0)]
    table = pd.DataFrame(rows, columns=["system", "SkillAggregation", "DawidSkene"]).melt(
        "system", var_name="method"
    )
    assert MEASURES["sa-subsets-over-dawid-skene"]({"skill-table4": table}, "simulated") == 0.5


def test_the_claims_find_their_results(monkeypatch):
    """Every simulated claim of the paper is decided by the stored results, by its figure's name."""
    ours = [c for c in claims.entries() if c.paper == "skill_aggregation"]
    long = claims.evaluate(ours)
    simulated = long[long["evidence"] == "simulated"]
    assert len(simulated) == len(ours)
    assert (simulated["verdict"] != "cannot be checked").all()
    for module in (claims, claim_numbers):
        monkeypatch.setattr(module, "read", lambda name: None)
    nothing = claims.evaluate(ours)
    undecided = nothing[nothing["evidence"] != "published"]["verdict"]
    assert set(undecided) == {"cannot be checked"}


def test_measures_and_recorded_measures_are_different_claims():
    assert not set(MEASURES) & set(RECORDED)
    assert set(aggregation_claims.CONTEXT) <= set(METHODS)
