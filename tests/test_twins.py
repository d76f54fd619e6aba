"""Twins: the calibration finds what was put in, and the file says what it was made of."""

import numpy as np
import pytest
from scipy.special import expit

import poe
from poe.metrics import summary_level
from poe.reproduce import calibrate, published
from poe.reproduce.twins import Twin, calibration_cells, perceived, standardised, twins
from tests.helpers import real_labels

GOLD = poe.datasets.load("summeval", source="stand-in").scores["coherence"]


def simulated_facts(twin, repeats=60):
    """What a paper would print about this twin: full-set correlation, accuracy, first rate."""
    rng = np.random.default_rng(0)
    gold = np.broadcast_to(GOLD, (repeats, *GOLD.shape))
    logits = twin.answer(gold, rng).logits
    off = ~np.eye(16, dtype=bool)
    truth = np.sign(GOLD[:, :, None] - GOLD[:, None, :])
    decided = truth != 0
    p = expit(logits)
    p[..., ~off] = 0
    full = summary_level(p.sum(-1) - p.sum(-2), GOLD).value.mean()
    right = (np.sign(logits - twin.bias) == truth)[:, decided].mean()
    return float(full), float(right), float((logits[..., off] > 0).mean())


def test_calibration_recovers_the_twin_that_made_the_numbers():
    truth = Twin("x", "summeval", "coherence", 0.5, 1.0, 0.8, -0.6, ())
    full, accuracy, first = simulated_facts(truth)
    found = calibrate.calibrate(GOLD, calibrate.Targets(full, accuracy, first, ()))
    assert found.rho == pytest.approx(0.5, abs=0.02)
    assert found.noise == pytest.approx(0.8, abs=0.12)
    assert found.bias == pytest.approx(-0.6, abs=0.03)
    reached = (found.full_set, found.accuracy, found.first_position)
    assert reached == pytest.approx((full, accuracy, first), abs=1e-3)


def test_wrong_numbers_give_another_twin():
    """Negative control: five points of accuracy must not go unnoticed."""
    truth = Twin("x", "summeval", "coherence", 0.5, 1.0, 0.8, -0.6, ())
    full, accuracy, first = simulated_facts(truth, repeats=10)
    found = calibrate.calibrate(GOLD, calibrate.Targets(full, accuracy - 0.05, first, ()))
    assert found.noise > 1.5


def test_impossible_numbers_are_refused():
    with pytest.raises(ValueError, match="no noise is small enough"):
        calibrate.calibrate(GOLD, calibrate.Targets(0.30, 0.95, 0.5, ()))


def test_perceived_quality_has_the_stated_correlation():
    taste = np.random.default_rng(1).standard_normal((200, *GOLD.shape))
    q, z = perceived(GOLD, 0.6, taste), standardised(GOLD)
    r = (q * z).mean() / np.sqrt((q**2).mean() * (z**2).mean())
    assert r == pytest.approx(0.6, abs=0.005)
    assert q.var() == pytest.approx(1.0, abs=0.01)


def test_the_file_has_a_twin_for_every_judge_and_attribute():
    found = twins("summeval")
    attributes = ("coherence", "consistency", "fluency", "relevance")
    assert set(found) == {(j, a) for j in calibrate.JUDGES for a in attributes}
    assert all(0 < t.rho < 1 and t.noise > 0 and t.sharpness == 1.0 for t in found.values())


def test_every_cell_used_is_published_and_none_is_a_prediction():
    known = set(published.all_tables()["id"]) | set(calibrate._earlier_paper()["id"])
    used = calibration_cells("summeval")
    assert used <= known
    # Of poe_v2 only the full-set average probability, and one declared cell for Mistral.
    mine = {cell for cell in used if cell.startswith("poe_v2/")}
    allowed = {f"poe_v2/table1/{judge}/K240/avg-prob" for judge in calibrate.JUDGES}
    assert mine == allowed | {"poe_v2/table1/Mistral-7B/K48/win-ratio"}


def test_unknown_dataset():
    with pytest.raises(ValueError, match="no twins for 'hanna'"):
        twins("hanna")


@real_labels
def test_the_file_is_what_calibration_gives(monkeypatch):
    gold = poe.datasets.load("summeval").scores["relevance"]
    found = calibrate.calibrate(gold, calibrate.targets("FlanT5-3B")["relevance"])
    filed = twins("summeval")["FlanT5-3B", "relevance"]
    assert (found.rho, found.noise, found.bias) == pytest.approx(
        (filed.rho, filed.noise, filed.bias), abs=2e-4
    )
