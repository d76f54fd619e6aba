"""What choice, shrinkage and slopes promise: the experiments small, and their parts by hand."""

import numpy as np
import pytest
from scipy.special import expit

import judging
import poe
from reproduction.settings import Settings
from studies import adaptivity, reliability, shrinkage
from studies.hierarchical import posterior


def decisions(count, both=True):
    judge = adaptivity.Judge("decisions", tosses=1)
    answers, expected = judge.draw(count, np.random.default_rng(4))
    truth = adaptivity._scores(expected)
    return adaptivity.Case("decisions", "simulated", both, answers, truth, tosses=True)


class TestAdaptivity:
    def test_rules_by_noisy_answers_miss_and_the_blind_one_holds(self, monkeypatch):
        """The finding and its negative control, on the same judges and the same first rounds."""
        monkeypatch.setattr(adaptivity, "COUNTS", (96,))
        case = decisions(24)
        at = {
            rule: {row["k"]: row for row in adaptivity._rows(case, rule, 0)}[96]
            for rule in ("laplace", "adaptive", "determinant")
        }
        assert at["laplace"]["value"] < 91
        assert at["laplace"]["slope"] > at["adaptive"]["slope"] + 0.15
        for rule in ("adaptive", "determinant"):
            assert abs(at[rule]["value"] - 95) < 2.5

    def test_every_round_is_asked_once(self):
        case = decisions(2, both=False)
        for rule in adaptivity.RULES:
            made = dict(adaptivity._fits(case, case.answers[0], rule, 0, 0))
            assert sorted(made) == list(range(32, 161, 16))
            pairs = made[160].comparisons.pairs[made[160].real]
            assert len(np.unique(pairs, axis=0)) == 160
            first = made[32].comparisons.pairs[made[32].real]
            np.testing.assert_array_equal(pairs[:32], first)

    def test_promises_by_hand(self):
        c = poe.Comparisons.from_pairs([(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)], [0.9] * 5, items=4)
        fit = poe.fit(c, bias="fit")
        held, stated, right, slope = adaptivity.promises(fit, fit.scores)
        assert (held, right) == (100.0, 100.0)
        assert slope == pytest.approx(1.0)
        assert stated == pytest.approx(100 * fit.prob_top_set(3, draws=500))
        assert adaptivity.promises(fit, -fit.scores)[2:] == (0.0, pytest.approx(-1.0))

    def test_the_ratio_of_a_rule_to_itself_is_one(self, monkeypatch):
        noisy = next(one for one in adaptivity.JUDGES if one[0].name == "noise 1.5")
        monkeypatch.setattr(adaptivity, "JUDGES", (adaptivity.JUDGES[0], noisy))
        rules = {name: adaptivity.RULES[name] for name in ("laplace", "random")}
        monkeypatch.setattr(adaptivity, "RULES", rules)
        monkeypatch.setattr(adaptivity, "RESAMPLES", 5)
        first = adaptivity.group("summeval", which="qwen")[:1]
        monkeypatch.setattr(adaptivity, "group", lambda _, which: first * (which == "qwen"))
        table = adaptivity.table(Settings(draws=2, workers=1))
        laplace = table[(table["rule"] == "laplace") & (table["judge"] == "noise 1.5")]
        assert (laplace["ratio"] <= 1.0 + 1e-12).all()
        fresh = table[table["rule"] == "confirmed"]
        assert len(fresh) == 1
        assert (fresh["k"] == 114).all()
        assert set(table["kind"]) == {"simulated", "measured"}


class TestShrinkage:
    def test_averaged_holds_where_fitted_does_not(self):
        logits, q = shrinkage.Judge("shared 1", 1.0).draw(60, np.random.default_rng(1))
        rows = shrinkage._rows(shrinkage.Case("x", "simulated", logits, q), True, 32, 0)
        fitted, averaged = (row["value"] for row in rows)
        assert fitted < 60
        assert averaged > 92

    def test_an_interval_holds_what_lies_inside_it(self):
        c = judging.SimulatedJudge(np.linspace(-1, 1, 6), noise=0.5, seed=2).compare(
            poe.select(6, 10, rule="no-repeat", seed=2)
        )
        i, j = np.triu_indices(6, 1)
        ends = posterior(c).difference_intervals(list(zip(i, j, strict=True)))
        for gap, inside in (
            (ends.mean(axis=1), 15),
            (ends[:, 1] + 1e-6, 0),
            (ends[:, 1] - 1e-6, 15),
        ):
            below, _ = shrinkage._averaged(c, i, j, gap)
            assert ((below >= 0.025) & (below <= 0.975)).sum() == inside


class TestReliability:
    def test_slopes_find_the_noisy_judge_and_follow_a_clique(self):
        """Independent judges come out by skill; a majority with one taste comes first."""
        rng = np.random.default_rng(3)
        truth, taste = rng.standard_normal((2, 12, 8))

        def judge(scores, noise):
            d = scores[:, :, None] - scores[:, None]
            e = rng.standard_normal(d.shape)
            return expit(d + noise * (e - np.swapaxes(e, 1, 2)))

        apart = {f"{noise}": judge(truth, noise) for noise in (0.3, 1.0, 3.0)}
        found = reliability.slopes(apart, hard=True)["sharpness"]
        assert found["0.3"] > found["1.0"] > found["3.0"] > 0
        clique = {f"copy {k}": judge(taste, 0.2) for k in range(3)}
        found = reliability.slopes({**apart, **clique}, hard=True)["sharpness"]
        assert found[["copy 0", "copy 1", "copy 2"]].min() > found[["0.3", "1.0", "3.0"]].max()

    def test_cycles_by_hand(self):
        ring = np.full((1, 3, 3), 0.5)
        for i, j in ((0, 1), (1, 2), (2, 0)):
            ring[0, i, j], ring[0, j, i] = 0.9, 0.1
        line = ring.copy()
        line[0, 2, 0], line[0, 0, 2] = 0.1, 0.9
        assert reliability.cyclic(ring) == 1.0
        assert reliability.cyclic(line) == 0.0

    def test_a_panel_keeps_the_judges_that_share_enough_contexts(self):
        """One that would leave fewer than twenty stays out; the ones after it are not held back."""
        every = {"all": range(60), "odd": range(1, 60, 2), "last": range(35, 60), "few": range(19)}
        # "odd" leaves 30; "last" would leave 13 of them, "few" none.
        assert reliability.shared(every) == list(range(1, 60, 2))
        every["half"] = range(21, 60, 2)  # 20 that are odd
        assert reliability.shared(every) == list(range(21, 60, 2))
