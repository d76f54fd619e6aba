"""Tables about the larger real judge, from invented results."""

import pandas as pd
import pytest

from reproduction import predict_more
from reproduction.telling import real_judge

CLAIMS = pd.DataFrame(
    [
        (
            "topicalchat",
            "mean",
            60,
            "v2-full-within-1",
            "Within a point",
            -2.0,
            0.25,
            "does not hold",
        ),
        ("topicalchat", "mean", 60, "v2-soft-beats-avg-prob", "Beats", 1.5, 0.5, "holds"),
        (
            "summeval",
            "coherence",
            13,
            "v2-full-within-1",
            "Within a point",
            1.0,
            3.0,
            "no information",
        ),
    ],
    columns=["dataset", "attribute", "contexts", "claim", "words", "value", "se", "verdict"],
)
TWIN = pd.DataFrame(
    [
        ("topicalchat", "the twin", "accuracy", 60.0),
        ("topicalchat", "the twin", "all of these", 1.0),
        ("topicalchat", "orders err independently", "all of these", 2.5),
    ],
    columns=["dataset", "twin", "quantity", "value"],
)


@pytest.fixture
def results(monkeypatch):
    known = {real_judge.CLAIMS: CLAIMS, real_judge.TWIN: TWIN}
    monkeypatch.setattr(real_judge.run, "read", known.get)
    said = [("v2-full-within-1", "published", "holds"), ("v2-full-within-1", "simulated", "holds")]
    frame = pd.DataFrame(said, columns=["id", "evidence", "verdict"])
    monkeypatch.setattr(real_judge, "accepted", lambda: frame)


def test_claims_stand_beside_print_and_twins(results):
    found = real_judge.headlines()
    assert list(found.columns) == [
        "claim",
        "published",
        "twins",
        "TopicalChat, mean of attributes (60)",
        "SummEval, coherence (13)",
    ]
    assert found.iloc[0].to_list() == [
        "Within a point",
        "holds",
        "holds",
        "does not hold: -2.0 ± 0.2",
        "no information",
    ]
    assert found.iloc[1].to_list() == ["Beats", "", "", "holds: +1.5 ± 0.5", ""]
    assert real_judge.counts() == {"does not hold": 1, "holds": 1, "no information": 1}


def test_distances_of_twins(results):
    assert real_judge.twin()["topicalchat"].to_dict() == {
        "the twin": 1.0,
        "orders err independently": 2.5,
    }


def test_what_came_of_predictions_is_absent_before(monkeypatch):
    monkeypatch.setattr(predict_more, "outcomes", pd.DataFrame)
    assert real_judge.came_of().empty
    one = {"predicted": "LLMBar", "quantity": "both - one", "attribute": "all", "median": 66.0}
    one |= {"low": 57.5, "high": 74.0, "measured": 44.0, "inside": False}
    monkeypatch.setattr(predict_more, "outcomes", lambda: pd.DataFrame([one]))
    assert real_judge.came_of().iloc[0].to_list() == [
        "LLMBar",
        "both minus one",
        "all",
        "66.0 (57.5 to 74.0)",
        "44.0",
        "no",
    ]
