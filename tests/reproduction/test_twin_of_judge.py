"""A judge's own twin: what it leaves out is found again; and claims on a judge."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from reproduction import measured_tables, real_claims
from reproduction.measured_tables import Asked
from reproduction.settings import Settings
from studies import twin_of_judge
from studies.twin_of_judge import Calibrated, Own, answered

ONE = Calibrated(rho=0.5, sharpness=1.0, bias=0.4, noise=0.8, shared=-0.2)
MORE = Own(confidence=0.5, text=0.6, context=0.3, left=0.4)


def qualities(contexts=400, n=6):
    z = np.random.default_rng(1).standard_normal((contexts, n))
    return z - z.mean(axis=1, keepdims=True)


def test_biases_of_texts_and_contexts_by_moments():
    z = qualities()
    found = []
    for seed in range(8):
        logits = answered(ONE, z, np.random.default_rng(seed), more=MORE, biased=True)
        sums = (logits + np.swapaxes(logits, -1, -2)) / 2.0
        found.append(twin_of_judge.place(sums, ONE.bias))
    expected = [MORE.text**2, MORE.context**2, MORE.left**2]
    error = np.std(found, axis=0, ddof=1) / np.sqrt(8)
    assert (np.abs(np.mean(found, axis=0) - expected) < 4.0 * error + 1e-3).all()


def test_three_contexts_by_hand():
    """Four texts, no error, beta = (1, -1, 0, 0): mean products of pairs, written out."""
    beta = np.array([1.0, -1.0, 0.0, 0.0])
    sums = (beta[:, None] + beta[None, :])[None].repeat(3, axis=0)
    off = np.where(np.eye(4, dtype=bool), 0.0, sums[0])
    sharing = [
        off[i, j] * off[i, k]
        for i in range(4)
        for j in range(4)
        for k in range(4)
        if len({i, j, k}) == 3
    ]
    apart = [
        off[i, j] * off[k, m]
        for i in range(4)
        for j in range(4)
        for k in range(4)
        for m in range(4)
        if len({i, j, k, m}) == 4
    ]
    text, context, _ = twin_of_judge.place(sums + 0.7, 0.7)
    assert text == pytest.approx(np.mean(sharing) - np.mean(apart))
    assert context == pytest.approx(max(np.mean(apart), 0.0))


def test_uneven_confidence_is_found_and_a_plain_twin_has_none():
    z = qualities()
    rng = np.random.default_rng(0)
    uneven = twin_of_judge.own(answered(ONE, z, rng, more=MORE, uneven=True), ONE, z, rng)
    plain = twin_of_judge.own(answered(ONE, z, rng), ONE, z, rng)
    assert uneven.confidence == pytest.approx(MORE.confidence, abs=0.08)
    assert plain.confidence < 0.15
    assert (plain.text, plain.context) == pytest.approx((0.0, 0.0), abs=0.15)


def test_the_twin_is_the_one_that_predicts_and_its_parameters_come_back():
    z = qualities(2000)
    found = twin_of_judge.calibrated(answered(ONE, z, np.random.default_rng(3)), z)
    z_size = np.sqrt((z**2).sum() / (2000 * 5))  # `calibrated` takes z as pooled: here nearly 1
    assert z_size == pytest.approx(1.0, abs=0.03)
    for name, true in vars(ONE).items():
        assert getattr(found, name) == pytest.approx(true, abs=0.04), name


def judge(shared, noise=1.5):
    """Twelve dialogues of six replies, answered by a twin whose orders share errors or not."""
    one = Calibrated(rho=0.9, sharpness=1.0, bias=0.3, noise=noise, shared=shared)
    gold = np.random.default_rng(0).permuted(np.tile(np.arange(6.0), (60, 1)), axis=1)
    z = (gold - gold.mean(axis=1, keepdims=True)) / gold.std(ddof=1, axis=1, keepdims=True)
    logits = answered(one, z, np.random.default_rng(5))
    p = expit(logits)
    log_p = np.log(np.stack([p, 1.0 - p], -1))
    return Asked("topicalchat", "coherency", "poe", tuple(range(60)), log_p, gold)


@pytest.fixture
def asked(monkeypatch):
    def of(one):
        only = {("topicalchat", "poe"): [one]}

        def group(dataset, template="poe", which="smollm2"):
            return only.get((dataset, template), [])

        for module in (measured_tables, twin_of_judge, real_claims):
            monkeypatch.setattr(module, "group", group)
        monkeypatch.setattr(measured_tables, "asked", lambda *_: None)  # nor for scores
        monkeypatch.setattr(twin_of_judge, "quality_of", lambda *_: _standard(one.gold))

    return of


def _standard(gold):
    return (gold - gold.mean(axis=1, keepdims=True)) / gold.std(ddof=1, axis=1, keepdims=True)


def test_dropping_shared_errors_costs_where_orders_share_them(asked):
    far = {}
    for shared in (-0.9, 0.0):
        asked(judge(shared))
        rows = twin_of_judge.table(Settings(draws=12))
        rows = rows[rows["quantity"] == "all of these"].set_index("twin")["value"]
        far[shared] = rows["orders err independently"] - rows["the twin"]
    assert far[-0.9] > 2.0
    assert abs(far[0.0]) < 1.0  # the control: nothing to drop


def test_claims_of_a_judge_that_reads_well_and_of_one_that_does_not(asked):
    asked(judge(0.0, noise=0.3))
    good = real_claims.table(Settings(draws=10)).set_index("claim")
    assert good.loc["v2-soft-beats-avg-prob", "verdict"] == "holds"
    assert good.loc["v2-win-ratio-loses-10", "value"] > 0
    assert "v2-baselines-11-of-14" not in good.index  # no scores were asked for
    assert good.loc["v2-gaussian-bt-alike-soft", "at_most"] == 0.5
    blind = judge(0.0)
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
