"""Calibration finds what was put in, and refuses what cannot be."""

import numpy as np
import pytest

import poe
from reproduction import calibrate
from reproduction.calibrate import Bench, Fitted
from reproduction.large import linked_pairs
from reproduction.published import number
from reproduction.twins import LARGE_JUDGES, Twin, twins

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


def test_standard_errors_are_those_of_judges_drawn_anew():
    """Twins calibrated on what single judges would print scatter as the delta method says."""
    rho_se = calibrate._attained(BENCH, 0.5, 0.8, 0.5).rho_se
    single = BENCH.win_ratio(0.5, 0.8).std(ddof=1)
    slope = (BENCH.win_ratio(0.54, 0.8).mean() - BENCH.win_ratio(0.46, 0.8).mean()) / 0.08
    # With accuracy known as well, rho cannot be less certain by much than from one number.
    assert 0.3 * single / slope < rho_se < 3.0 * single / slope


def test_the_gain_from_straightening_grows_with_sharpness_and_vanishes_without():
    gains = [
        BENCH.soft_gain(Fitted(0.6, 0.3, 0.0, sharpness), judges=6).mean()
        for sharpness in (0.25, 1.0, 4.0)
    ]
    assert gains[0] == pytest.approx(0.0, abs=0.002)
    assert gains[0] < gains[1] < gains[2]


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

    def test_the_bias_gives_the_printed_mean(self):
        bias = calibrate.bias_for(0.78, 0.4, 2.0)
        rng = np.random.default_rng(1)
        logits = 2.0 * (rng.normal(size=200_000) - rng.normal(size=200_000))
        logits += 2.0 * 0.4 * rng.normal(size=200_000) + bias
        assert (1 / (1 + np.exp(-logits))).mean() == pytest.approx(0.78, abs=0.005)
        assert calibrate.bias_for(0.5, 0.4, 2.0) == 0.0

    def test_five_calls_an_item_cannot_explain_table_3(self):
        """Read as calls, even a judge without noise falls short of the printed 5N."""
        n = len(self.gold)
        rng = np.random.default_rng(0)
        z = rng.standard_normal((200, n))
        loss = {}
        for pairs in (5 * n // 2, 5 * n):
            chosen = linked_pairs(n, pairs, rng)
            found = []
            for q in z:
                d = q[chosen[:, 0]] - q[chosen[:, 1]]
                won = np.bincount(chosen[:, 0], d, n) - np.bincount(chosen[:, 1], d, n)
                mean = won / np.bincount(chosen.ravel(), minlength=n)
                found.append(np.corrcoef(mean, q)[0, 1])
            loss[pairs] = np.mean(found)
        printed = min(
            number(f"poe_v2/table3/{judge}/K5N/HANNA-COH/avg-prob")
            / number(f"poe_v2/table3/{judge}/K50N/HANNA-COH/avg-prob")
            for judge in LARGE_JUDGES
        )
        assert loss[5 * n // 2] < printed < loss[5 * n]


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
