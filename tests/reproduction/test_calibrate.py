"""Calibration finds what was put in, and refuses what cannot be."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import judging
import poe
from poe.choose.selection import select_stack
from poe.scores import average_probability
from reproduction import calibrate, calibrate_large, calibrate_small
from reproduction.calibrate_small import Bench
from reproduction.published import number
from reproduction.twins import Twin, twins

pytestmark = pytest.mark.long

GOLD = judging.datasets.load("summeval").scores["coherence"][:40]
BENCH = Bench(GOLD, tastes=15)


def printed_about(twin, *, seed=3):
    """What a paper would print: full-set win-ratio, accuracy, first rate, of other judges."""
    rng = np.random.default_rng(seed)
    p = twin.answer(GOLD, rng, draws=60).matrix()
    truth = np.sign(GOLD[:, :, None] - GOLD[:, None, :])
    middle = 1 / (1 + np.exp(-twin.bias))
    won = np.nan_to_num(np.sign(p - middle))
    full = judging.metrics.summary_level(won.sum(-1) - won.sum(-2), GOLD).value.mean()
    right = (won == truth)[:, truth != 0].mean()
    off = ~np.eye(16, dtype=bool)
    return full, right, (p[..., off] > 0.5).mean()


def test_decisions_give_back_the_twin_that_made_them():
    truth = Twin("x", "summeval", "coherence", 0.5, 1.0, 0.8, -0.6)
    found = calibrate_small.calibrate(BENCH, *printed_about(truth))
    assert found.rho == pytest.approx(0.5, abs=0.03)
    assert found.noise == pytest.approx(0.8, abs=0.12)
    assert found.earlier[1] == pytest.approx(-0.6, abs=0.05)


def test_wrong_numbers_give_another_twin():
    """Negative control: five points of accuracy must not go unnoticed."""
    full, right, _ = printed_about(Twin("x", "summeval", "coherence", 0.5, 1.0, 0.8, 0.0))
    found = calibrate_small.calibrate(BENCH, full, right - 0.05, 0.5)
    assert found.noise > 1.4


def test_impossible_numbers_are_refused():
    with pytest.raises(ValueError, match="no noise is small enough"):
        calibrate_small.calibrate(BENCH, 0.30, 0.95, 0.5)


class TestShared:
    """A paper about one judge, made up: what was put in comes out."""

    JUDGE = "FlanT5-3B"
    PRINTED = (
        "comparative_assessment/table6/FlanT5-3B/SummEval-COH/debiased",
        "comparative_assessment/table10/FlanT5-3B/SummEval-COH/debiased",
    )

    def found(self, monkeypatch, shared):
        twin = Twin(self.JUDGE, "summeval", "coherence", 0.7, 1.0, 3.0, 0.0, shared=shared)
        full, right, first = printed_about(twin)
        gold = np.broadcast_to(GOLD, (60, *GOLD.shape)).reshape(-1, 16)
        p = twin.answer(gold, np.random.default_rng(9)).matrix()
        p = np.nan_to_num((p + 1.0 - np.swapaxes(p, -1, -2)) / 2.0)
        pairs = select_stack(len(gold), 16, 24, rule="no-repeat", seed=3)
        rows = np.arange(len(gold))[:, None]
        some = poe.Stack.of(16, pairs, p[rows, pairs[..., 0], pairs[..., 1]])
        scores = (p.sum(-1), average_probability(some))
        means = [100 * judging.metrics.summary_level(s, gold).value for s in scores]
        table = dict(zip(self.PRINTED, (100 * full, 100 * right), strict=True))
        table |= {f"poe_v2/table5/{self.JUDGE}/{k}/avg-prob": m
                  for k, m in zip(("K240", "K48"), means, strict=True)}  # fmt: skip
        monkeypatch.setattr(calibrate_small, "DECIDED", (self.JUDGE,))
        monkeypatch.setattr(calibrate_small, "SHARED_ON", calibrate_small.SHARED_ON[2:3])
        monkeypatch.setattr(calibrate_small, "ATTRIBUTES", {"summeval": {"COH": "coherence"}})
        monkeypatch.setattr(calibrate_small, "number", lambda cell: table.get(cell, first))
        monkeypatch.setattr(calibrate_small, "sharpness_for", lambda *_, **__: (1.0, None))
        scored = SimpleNamespace(scores={"coherence": GOLD})
        monkeypatch.setattr(calibrate_small, "labels", lambda name: scored)
        return calibrate_small.shared_errors(tastes=15)

    @pytest.mark.parametrize("shared", [-0.6, 0.5])
    def test_it_is_found_within_its_error(self, monkeypatch, shared):
        found = self.found(monkeypatch, shared)
        assert 0 < found.se < 0.2
        assert abs(found.value - shared) < 3 * found.se
        assert abs(found.value + shared) > 3 * found.se, "negative control: the sign is seen"


class TestLarge:
    gold = judging.datasets.load("cmcqrd").scores["difficulty"][0][:200]

    def printed(self, *, noise=1.5, shared=0.0):
        """What 5N and 50N pairs give, and the bench that they are of."""
        bench = calibrate_large.LargeBench(self.gold, shared=shared)
        few, many = (
            bench.average_probability(times, 0.6, noise, (1.0, 0.0)).mean() for times in (5, 50)
        )
        return bench, few, many

    def test_average_probabilities_give_back_rho_and_noise(self):
        bench, few, many = self.printed()
        found = calibrate_large.fit_large(bench, few, many, (1.0, None), 0.5)
        assert found.rho == pytest.approx(0.6, abs=0.002)
        assert found.noise == pytest.approx(1.5, abs=0.02)

    def test_noise_about_the_place_counts_for_less(self):
        """Negative control: numbers of a judge whose noise cancels ask for less of another's."""
        _, few, many = self.printed(shared=-0.5)
        other = calibrate_large.LargeBench(self.gold, shared=0.5)
        assert calibrate_large.fit_large(other, few, many, (1.0, None), 0.5).noise < 1.2

    def test_numbers_that_ask_for_less_than_no_noise_are_marked(self):
        bench, few, many = self.printed(noise=0.0)
        found = calibrate_large.fit_large(bench, few + 0.01, many, (1.0, 0.1), 0.5)
        assert found.at_bound == ("noise",)
        assert found.noise_se is None
        assert 'at_bound = ["noise"]' in calibrate._entry("d", "j", "a", found)
        assert "at_bound" not in calibrate._entry("d", "j", "a", replace(found, noise=0.5))


def test_the_file_is_what_calibration_gives():
    filed = twins("summeval")["FlanT5-3B", "relevance"]
    bench = Bench(judging.datasets.load("summeval").scores["relevance"], shared=filed.shared)
    printed = "comparative_assessment/{}/FlanT5-3B/SummEval-REL/{}"
    full, right = (number(printed.format(t, "debiased")) / 100 for t in ("table6", "table10"))
    first = np.mean([number(printed.format("table5", f"prompt{k}")) for k in (1, 2)])
    found = calibrate_small.calibrate(bench, full, right, first)
    assert found.rho == pytest.approx(filed.earlier[0], abs=2e-4)
    assert found.noise * filed.sharpness == pytest.approx(filed.noise, abs=5e-4)
    assert found.earlier[1] * filed.sharpness == pytest.approx(filed.earlier[1], abs=5e-4)
