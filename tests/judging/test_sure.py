"""How sure the best are: as often right as it says, of judges that are sharp, noisy or none."""

import numpy as np
import pytest
from scipy.special import expit

import judging
import poe
from judging.practice.findings import Best
from judging.practice.ranking.findings import of_a_fit


def fits(spread, noise, *, sets=60, n=20, budget="3x"):
    """Fits of a simulated judge's answers, and who really is best."""
    for seed in range(sets):
        rng = np.random.default_rng(seed)
        true = spread * rng.standard_normal(n)

        def judge(pairs, rng=rng, true=true):
            d = np.diff(true[pairs[:, ::-1]], axis=1)[:, 0]
            return expit(d + noise * rng.standard_normal(len(d)))

        yield judging.rank(range(n), judge, budget=budget, seed=seed).fit, int(true.argmax())


@pytest.mark.long
@pytest.mark.parametrize(("spread", "noise", "alike"), [(0.5, 1.5, False), (1.0, 0.5, True)])
def test_the_leader_is_best_as_often_as_it_says(spread, noise, alike):
    plain, ours, right = np.array(
        [
            (
                (fit.sample(2000).argmax(axis=1) == fit.scores.argmax()).mean(),
                fit.prob_top_set(1),
                fit.scores.argmax() == best,
            )
            for fit, best in fits(spread, noise)
        ]
    ).T
    luck = 2.0 * np.sqrt((ours * (1.0 - ours)).sum()) / len(ours)
    assert abs(ours.mean() - right.mean()) < luck
    assert (abs(plain - ours).mean() < 0.02) == alike
    if not alike:
        assert plain.mean() - right.mean() > 0.05


def test_of_a_judge_that_tells_nothing_no_text_is_likely():
    rng = np.random.default_rng(0)
    pairs = poe.select(12, 60, seed=0)
    c = poe.Comparisons.from_pairs(pairs, expit(rng.standard_normal(60)), items=range(12))
    fit = poe.fit(c)
    while fit.luck.mean > 0.22:  # a draw that looks like nothing at all
        c = poe.Comparisons.from_pairs(pairs, expit(rng.standard_normal(60)), items=range(12))
        fit = poe.fit(c)
    assert fit.prob_top(3).max() < 0.5  # a quarter each, were it known that it tells nothing
    assert fit.prob_top(1).max() < 0.25
    assert fit.prob_top(3).sum() == pytest.approx(3.0)


def test_the_table_the_first_line_and_the_best_few_agree():
    fit, _ = next(fits(0.5, 1.5))
    top = fit.prob_top(1)
    assert fit.prob_top_set(1) == pytest.approx(top[fit.scores.argmax()])
    assert fit.prob_top_set(20) == 1.0
    (best,) = (one for one in of_a_fit(fit, 0.95, []).verdict if isinstance(one, Best))
    assert best.p == fit.prob_top_set(1)
    rng = np.random.default_rng(0)
    one = judging.rank(range(8), lambda pairs: expit(rng.standard_normal(len(pairs))), budget=30)
    assert sorted(one.to_frame()["p_top"]) == pytest.approx(sorted(one.fit.prob_top(one.top)))
