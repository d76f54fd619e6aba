"""Calibration finds what was put in, and refuses what cannot be."""

import numpy as np
import pytest

import poe
from reproduction import calibrate
from reproduction.calibrate import Bench
from reproduction.published import number
from reproduction.twins import Twin, twins

GOLD = poe.datasets.load("summeval").scores["coherence"][:40]
BENCH = Bench(GOLD, tastes=15)


def printed_about(twin, *, seed=3):
    """What a paper would print: full-set win-ratio, accuracy, first rate, of other judges."""
    rng = np.random.default_rng(seed)
    p = twin.answer(GOLD, rng, draws=60).matrix()
    truth = np.sign(GOLD[:, :, None] - GOLD[:, None, :])
    middle = 1 / (1 + np.exp(-twin.bias))
    won = np.nan_to_num(np.sign(p - middle))
    full = poe.metrics.summary_level(won.sum(-1) - won.sum(-2), GOLD).value.mean()
    right = (won == truth)[:, truth != 0].mean()
    off = ~np.eye(16, dtype=bool)
    return full, right, (p[..., off] > 0.5).mean()


def test_decisions_give_back_the_twin_that_made_them():
    truth = Twin("x", "summeval", "coherence", 0.5, 1.0, 0.8, -0.6)
    found = calibrate.calibrate(BENCH, *printed_about(truth))
    assert found.rho == pytest.approx(0.5, abs=0.03)
    assert found.noise == pytest.approx(0.8, abs=0.12)
    assert found.earlier[1] == pytest.approx(-0.6, abs=0.05)


def test_wrong_numbers_give_another_twin():
    """Negative control: five points of accuracy must not go unnoticed."""
    full, right, _ = printed_about(Twin("x", "summeval", "coherence", 0.5, 1.0, 0.8, 0.0))
    found = calibrate.calibrate(BENCH, full, right - 0.05, 0.5)
    assert found.noise > 1.4


def test_impossible_numbers_are_refused():
    with pytest.raises(ValueError, match="no noise is small enough"):
        calibrate.calibrate(BENCH, 0.30, 0.95, 0.5)


class TestLarge:
    gold = poe.datasets.load("cmcqrd").scores["difficulty"][0][:200]

    def test_average_probabilities_give_back_rho_and_noise(self):
        bench = calibrate.LargeBench(self.gold)
        few, many = (
            bench.average_probability(times, 0.6, 1.5, (1.0, 0.0)).mean() for times in (5, 50)
        )
        found = calibrate.fit_large(bench, few, many, (1.0, None), 0.5)
        assert found.rho == pytest.approx(0.6, abs=0.002)
        assert found.noise == pytest.approx(1.5, abs=0.02)


def test_the_file_is_what_calibration_gives():
    gold = {"relevance": poe.datasets.load("summeval").scores["relevance"]}
    bench = Bench(gold["relevance"])
    printed = "comparative_assessment/{}/FlanT5-3B/SummEval-REL/{}"
    full, right = (number(printed.format(t, "debiased")) / 100 for t in ("table6", "table10"))
    first = np.mean([number(printed.format("table5", f"prompt{k}")) for k in (1, 2)])
    found = calibrate.calibrate(bench, full, right, first)
    filed = twins("summeval")["FlanT5-3B", "relevance"]
    assert found.rho == pytest.approx(filed.earlier[0], abs=2e-4)
    assert found.noise * filed.sharpness == pytest.approx(filed.noise, abs=5e-4)
    assert found.earlier[1] * filed.sharpness == pytest.approx(filed.earlier[1], abs=5e-4)
