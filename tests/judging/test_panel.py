"""Votes, Dawid and Skene, diagnoses: against crowd-kit, closed forms, and known skills."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from judging import panel
from judging.panel.diagnosis import dependence

pytestmark = pytest.mark.filterwarnings("ignore::Warning:crowdkit")


def drawn(n, confusion, *, prior=None, seed=0, missing=0.0):
    """Truth and decisions of judges with these confusion matrices, erring independently."""
    rng = np.random.default_rng(seed)
    confusion = np.asarray(confusion, dtype=float)
    k, c, _ = confusion.shape
    truth = rng.choice(c, size=n, p=prior)
    edges = np.cumsum(confusion, axis=2)
    said = (rng.random((n, k, 1)) > edges[np.arange(k), truth[:, None]]).sum(axis=2)
    said = np.minimum(said, c - 1)
    said[rng.random((n, k)) < missing] = -1
    return truth, said


def binary(p0, p1):
    return np.array([[[a, 1 - a], [1 - b, b]] for a, b in zip(p0, p1, strict=True)])


def long(decisions):
    """What crowd-kit reads."""
    task, worker = np.nonzero(decisions >= 0)
    return pd.DataFrame({"task": task, "worker": worker, "label": decisions[task, worker]})


SIX = binary([0.9, 0.8, 0.7, 0.65, 0.75, 0.55], [0.7, 0.85, 0.6, 0.8, 0.7, 0.6])
THREE = np.array(
    [
        [[0.8, 0.15, 0.05], [0.1, 0.7, 0.2], [0.1, 0.2, 0.7]],
        [[0.6, 0.2, 0.2], [0.1, 0.8, 0.1], [0.3, 0.1, 0.6]],
        [[0.7, 0.1, 0.2], [0.2, 0.6, 0.2], [0.05, 0.15, 0.8]],
        [[0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.2, 0.2, 0.6]],
    ]
)

# Judges good enough for EM to converge in few steps.
SHARP = 0.5 * SIX + 0.5 * np.eye(2)
SHARP_THREE = 0.5 * THREE + 0.5 * np.eye(3)


# Against crowd-kit ---------------------------------------------------------------------


@pytest.mark.needs("crowd-kit")
@pytest.mark.parametrize(("confusion", "missing"), [(SHARP, 0.0), (SHARP_THREE, 0.2)])
def test_em_is_crowdkits_with_fitted_class_shares(confusion, missing):
    import crowdkit.aggregation as crowdkit

    c = confusion.shape[1]
    prior = np.arange(1, c + 1) / np.arange(1, c + 1).sum()
    _, said = drawn(300 * (c - 1) ** 2, confusion, prior=prior, seed=5)
    said[np.random.default_rng(1).random(said.shape) < missing] = -1
    said = said[(said >= 0).any(axis=1)]
    found = panel.aggregate(said, prior="fit", tol=1e-9, max_steps=20_000)
    theirs = crowdkit.DawidSkene(n_iter=150, tol=1e-12).fit(long(said))
    errors = theirs.errors_.sort_index()
    ours = found.confusion.transpose(0, 2, 1).reshape(-1, c)
    np.testing.assert_allclose(ours, errors[range(c)].to_numpy(), atol=2e-5)
    q = theirs.probas_.sort_index()[range(c)].to_numpy()
    np.testing.assert_allclose(found.probabilities, q, atol=2e-4)


# Algorithms 1 to 3 and eq. 8 by hand -----------------------------------------------------


def test_average_and_majority_by_hand():
    y = np.array([[0.9, 0.4, 0.4], [0.6, 0.6, 0.1], [0.5, np.nan, 0.5], [0.2, 0.7, np.nan]])
    average = panel.aggregate(y, "average")
    np.testing.assert_allclose(average.p, [1.7 / 3, 1.3 / 3, 0.5, 0.45])
    np.testing.assert_array_equal(average.labels, [1, 0, 0, 0])  # 1 only above one half
    majority = panel.aggregate(y, "majority")
    np.testing.assert_allclose(majority.p, [1 / 3, 2 / 3, 0.0, 0.5])
    np.testing.assert_array_equal(majority.labels, [0, 1, 0, 0])
    assert "1 ties" in majority.message
    assert majority.skills()[["slope", "slope_se"]].isna().all(axis=None)  # votes know no skills


def test_one_step_of_algorithm_3_as_printed():
    b = np.array([[1, 1, 0], [1, 0, 0], [0, 0, 1], [1, 1, 1]])
    start = np.random.default_rng(4).uniform(0.5, 1.0, size=(3, 2))  # C[k, class]
    for _ in range(3):
        foo = np.prod(np.where(b == 1, start[:, 1], 1 - start[:, 1]), axis=1)
        bar = np.prod(np.where(b == 0, start[:, 0], 1 - start[:, 0]), axis=1)
        q = foo / (foo + bar)
        start = np.stack(
            [(1 - q) @ (1 - b) / (1 - q).sum(), q @ b / q.sum()], axis=1
        )  # the printed "n <= t" is n <= N
    found = panel.aggregate(b, start="random", seed=4, max_steps=3, tol=0.0)
    assert not found.converged
    np.testing.assert_allclose(np.diagonal(found.confusion, axis1=1, axis2=2), start, rtol=1e-12)


def test_labels_to_begin_with_are_those_given():
    """Before any step the matrices are the shares of each judge's votes under the labels."""
    b = np.array([[1, 1, 0], [1, 0, 0], [0, 0, 1], [1, 1, 1]])
    found = panel.aggregate(b, start=[1, 1, 0, 1], max_steps=0)
    shares = [[1, 1], [1, 2 / 3], [0, 1 / 3]]  # of class 0 in row 2, of class 1 in the others
    np.testing.assert_allclose(np.diagonal(found.confusion, axis1=1, axis2=2), shares)
    other = panel.aggregate(b, start="majority", max_steps=0)
    assert np.abs(found.confusion - other.confusion).max() > 0.1


@pytest.mark.parametrize(
    "start", [[0, 1, -1, 0], [0, 1, 2, 0], [0, 1], [[0], [1], [1], [0]], [0.0, 1.0, 1.0, 0.0], 1]
)
def test_labels_that_are_no_classes_are_refused(start):
    b = np.array([[1, 1, 0], [1, 0, 0], [0, 0, 1], [1, 1, 1]])
    with pytest.raises(panel.PanelError, match="0 to 1, for each of the 4 samples"):
        panel.aggregate(b, start=start)


def test_posterior_is_bayes_rule_by_hand():
    prior = np.array([[0.3, 0.7]])
    p0, p1 = np.array([0.9, 0.6]), np.array([0.8, 0.7])
    said = np.array([[1, 0]])
    found = panel.posterior(prior, binary(p0, p1), said)[0]
    one, zero = 0.7 * 0.8 * 0.3, 0.3 * 0.1 * 0.6
    np.testing.assert_allclose(found, [zero / (zero + one), one / (zero + one)])
    # A missing judgement leaves its factor out; a context-specific matrix is used row by row.
    alone = panel.posterior(prior, binary(p0, p1), np.array([[1, -1]]))[0]
    np.testing.assert_allclose(alone[1] / alone[0], 0.7 * 0.8 / (0.3 * 0.1))
    each = np.array([binary(p0, p1)] * 2)
    np.testing.assert_allclose(
        panel.posterior(np.repeat(prior, 2, 0), each, said[[0, 0]]), [found, found]
    )


def test_three_judges_have_the_skills_of_the_moment_equations():
    """Three judges, equal classes, p_0 = p_1: agreement of a pair is 1/2 + 2 e_j e_k."""
    edge = np.array([0.4, 0.3, 0.2])
    signs = np.array(list(itertools.product([0, 1], repeat=3)))
    chance = 0.5 * (
        np.prod(np.where(signs == 1, 0.5 + edge, 0.5 - edge), axis=1)
        + np.prod(np.where(signs == 0, 0.5 + edge, 0.5 - edge), axis=1)
    )
    count = np.rint(chance * 10_000).astype(int)
    assert np.allclose(count, chance * 10_000)
    found = panel.aggregate(np.repeat(signs, count, axis=0), tol=1e-12, max_steps=50_000)
    agree = [chance[signs[:, i] == signs[:, j]].sum() for i, j in ((0, 1), (0, 2), (1, 2))]
    product = 2 * np.array(agree) - 1  # 4 e_j e_k
    assert found.slope[0] == pytest.approx(np.sqrt(product[0] * product[1] / product[2]), abs=1e-6)
    np.testing.assert_allclose(found.slope, 2 * edge, atol=1e-6)


# Recovery and standard errors -------------------------------------------------------------


@pytest.mark.parametrize(("confusion", "prior"), [(SIX, "uniform"), (THREE, "fit")])
def test_known_skills_are_recovered_within_their_errors(confusion, prior):
    z = []
    for seed in range(20):
        _, said = drawn(3000, confusion, seed=seed)
        found = panel.aggregate(said, prior=prior)
        z.append((found.confusion - confusion) / found.confusion_se)
    z = np.array(z)[..., :-1]  # the last entry of a row follows from the others
    assert abs(z.mean()) < 0.1
    assert 0.9 < z.std() < 1.1  # the errors are neither too small nor too large


def test_better_judges_count_for_more_than_a_majority():
    truth, said = drawn(4000, binary([0.95, 0.55, 0.55, 0.55], [0.95, 0.55, 0.55, 0.55]), seed=1)
    found = panel.aggregate(said)
    assert found.accuracy(truth) > panel.aggregate(said, "majority").accuracy(truth) + 0.1
    skills = found.skills()
    assert skills.loc[skills["slope"].idxmax(), "judge"] == 0


# Naming, and what is not identified -------------------------------------------------------


def test_a_panel_below_chance_gives_the_opposite_labels_unless_one_is_trusted():
    truth, said = drawn(2000, binary([0.3] * 4 + [0.8], [0.3] * 4 + [0.8]), seed=2)
    given = panel.Judgements.from_table(said, judges=["a", "b", "c", "d", "known"])
    wrong = panel.dawid_skene(given)
    right = panel.dawid_skene(given, trusted="known")
    assert wrong.accuracy(truth) < 0.25
    assert right.accuracy(truth) == pytest.approx(1 - wrong.accuracy(truth), abs=0.01)
    assert right.log_likelihood == pytest.approx(wrong.log_likelihood, rel=1e-9)
    assert "renamed" in right.message
    with pytest.raises(panel.PanelError, match="'nobody'"):
        panel.dawid_skene(given, trusted="nobody")


def test_one_or_two_judges_are_not_identified_and_it_says_so():
    for judges in (1, 2):
        said = drawn(500, SIX[:judges], seed=1)[1]
        found = panel.aggregate(said)
        assert "NOT identified" in found.message
        assert not found.identified
        if judges == 1:  # it is its own answer
            np.testing.assert_array_equal(found.labels, said[:, 0])
        assert np.isnan(found.slope_se).all()
    enough = panel.aggregate(drawn(500, SIX[:3], seed=1)[1])
    assert enough.identified
    assert "NOT identified" not in enough.message


def test_a_judge_that_never_varies_tells_nothing():
    truth, said = drawn(1000, SIX, seed=3)
    found = panel.aggregate(np.column_stack([said, np.ones(1000, dtype=int)]))
    without = panel.aggregate(said)
    assert "always gave one answer: 6" in found.message
    assert found.slope[6] == pytest.approx(0.0, abs=1e-9)
    np.testing.assert_allclose(found.p, without.p, atol=1e-5)
    np.testing.assert_allclose(found.slope_se[:6], without.slope_se, rtol=1e-3)
    assert found.accuracy(truth) == without.accuracy(truth)
    constant = panel.aggregate(np.ones((20, 3), dtype=int))
    assert (constant.labels == constant.labels[0]).all()
    assert np.isfinite(constant.probabilities).all()


def test_a_sample_that_nobody_saw_has_no_label():
    said = np.array([[1, 1, 0], [-1, -1, -1], [0, 0, 0], [1, 1, 1]])
    for method in ("average", "majority", "dawid-skene"):
        found = panel.aggregate(said, method)
        assert found.labels[1] == -1
        np.testing.assert_allclose(found.probabilities[1], 0.5)


# Diagnoses ---------------------------------------------------------------------------------


def test_independent_judges_raise_no_alarm_and_a_copy_does():
    _, said = drawn(3000, binary([0.75] * 6, [0.75] * 6))
    given = panel.Judgements.from_table(said)
    found = panel.diagnose(given)
    assert found.warnings == ()
    z = dependence(given, panel.dawid_skene(given))["z"]
    assert z.abs().max() < 4
    doubled = panel.Judgements.from_table(np.column_stack([said, said[:, 0]]))
    assert "do not err independently" in str(panel.diagnose(doubled))


def test_a_trusted_judge_called_worse_than_chance_is_named():
    _, said = drawn(1000, binary([0.3] * 4 + [0.8], [0.3] * 4 + [0.8]), seed=2)
    found = panel.diagnose(panel.Judgements.from_table(said), trusted=4)
    assert found.below_chance == (4,)
    assert "4, which you trust" in str(found)


def test_few_labels_expose_the_wrong_side():
    n = panel.labels_to_notice(0.25)
    most = max(k for k in range(n) if binom.cdf(k, n, 0.5) <= 0.05)
    assert binom.cdf(most, n, 0.25) >= 0.9
    assert panel.labels_to_notice(0.4) > n
    with pytest.raises(panel.PanelError, match="can be exposed"):
        panel.labels_to_notice(0.6)
    truth = np.array([0, 1] * 10)
    wrong = panel.aggregate(np.column_stack([1 - truth] * 3), "majority")
    check = panel.check_labels(wrong, range(20), truth)
    assert check.accuracy == 0.0
    assert check.p_better_than_chance == pytest.approx(0.5**20)
    assert check.high == pytest.approx(1 - 0.025 ** (1 / 20))
    with pytest.raises(panel.PanelError, match="one label for each row"):
        panel.check_labels(wrong, [0, 1], [1])


# Input -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        (np.full((4, 2), np.nan), {}, "judges 0, 1 judged no sample"),
        (np.array([[0.2, 1.4]]), {}, r"sample 0, judge 1: \[-0.4  1.4\] are no prob"),
        (np.array([[0.2, 0.3]]), {"classes": 3}, "3 classes need as many probabilities"),
        (np.array([["yes", "no"]]), {}, "judgements must be numbers"),
    ],
)
def test_bad_judgements_are_refused_by_name(values, options, message):
    with pytest.raises(panel.PanelError, match=message):
        panel.aggregate(values, **options)


def test_input_forms_agree():
    p = np.array([[0.9, 0.2, np.nan], [0.4, 0.7, 0.6]])
    frame = panel.Judgements.from_table(pd.DataFrame(p, columns=["x", "y", "z"]))
    assert frame.judges == ("x", "y", "z")
    np.testing.assert_array_equal(frame.decisions, [[1, 0, -1], [0, 1, 1]])
    both = panel.Judgements.from_table(np.stack([1 - p, p], axis=2))
    np.testing.assert_array_equal(both.decisions, frame.decisions)
    np.testing.assert_allclose(both.distribution(), frame.distribution())
    booleans = panel.Judgements.from_table(np.array([[True, False]]))
    np.testing.assert_array_equal(booleans.decisions, [[1, 0]])
    np.testing.assert_array_equal(frame.take(rows=[1], judges=[2, 0]).decisions, [[1, 0]])
    assert frame.take(judges=[2, 0]).judges == ("z", "x")
