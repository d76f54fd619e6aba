"""The papers' headline claims asked of one judge: verdicts by hand, and judges good and blind."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import log_expit

from reproduction import measured_tables, real_claims
from reproduction.measured_tables import Asked
from reproduction.settings import Settings
from reproduction.twins import Twin


def judge(noise=1.5):
    """Sixty dialogues of six replies, answered by a twin."""
    gold = np.random.default_rng(0).permuted(np.tile(np.arange(6.0), (60, 1)), axis=1)
    one = Twin("j", "topicalchat", "coherency", rho=0.9, sharpness=1.0, bias=0.3, noise=noise)
    logits = one.answer(gold, np.random.default_rng(5)).logits
    log_p = log_expit(np.stack([logits, -logits], axis=-1))
    return Asked("topicalchat", "coherency", "poe", tuple(range(60)), log_p, gold)


@pytest.fixture
def asked(monkeypatch):
    def of(one):
        only = {("topicalchat", "poe"): [one]}

        def group(dataset, template="poe", which="smollm2"):
            return only.get((dataset, template), [])

        for module in (measured_tables, real_claims):
            monkeypatch.setattr(module, "group", group)
        monkeypatch.setattr(measured_tables, "asked", lambda *_: None)  # nor for scores

    return of


def test_claims_of_a_judge_that_reads_well_and_of_one_that_does_not(asked):
    asked(judge(noise=0.3))
    good = real_claims.table(Settings(draws=10)).set_index("claim")
    assert good.loc["v2-soft-beats-avg-prob", "verdict"] == "holds"
    assert good.loc["v2-win-ratio-loses-10", "value"] > 0
    assert "v2-baselines-11-of-14" not in good.index  # no scores were asked for
    assert good.loc["v2-gaussian-bt-alike-soft", "at_most"] == 0.5
    blind = judge()
    blind.gold[:] = np.random.default_rng(9).permuted(blind.gold, axis=1)
    asked(blind)
    assert set(real_claims.table(Settings(draws=4))["verdict"]) == {"no information"}


def test_verdicts_by_hand():
    assert real_claims.verdict(1.0, 0.4, 20.0, 5.0) == "holds"
    assert real_claims.verdict(-1.0, 0.4, 20.0, 5.0) == "does not hold"
    assert real_claims.verdict(-1.0, 0.5, 20.0, 5.0) == "borderline"
    assert real_claims.verdict(1.0, 0.1, 9.0, 5.0) == "no information"


def test_the_worst_method_speaks_for_a_claim_about_all(asked):
    rows = pd.DataFrame(
        [
            ("information", "", 20.0, 1.0),
            ("v2-selection-helps-all", "BT", 2.0, 0.1),
            ("v2-selection-helps-all", "win-ratio", -1.0, 0.2),
        ],
        columns=["claim", "method", "value", "se"],
    ).assign(system="j", dataset="d", attribute="a", contexts=3)
    (one,) = real_claims._judged(rows)
    assert (one["method"], one["value"], one["verdict"]) == ("win-ratio", -1.0, "does not hold")
