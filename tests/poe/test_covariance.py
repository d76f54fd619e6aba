"""Intervals from the answers' scatter: formulas, known noise, coverage.

Every judge here is simulated, so what the intervals should hold is known: the scores this judge
would give if it were asked every comparison.
"""

from fractions import Fraction

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import t

import judging
import poe
from tests.poe.oracles import design, every

N = 14
QUALITY = np.random.default_rng(3).normal(size=N) * 1.4
EVERY = every(N)


def fitted(noise, *, count=90, seed=0, bias="fit", decide=False, prior=0.0):
    judge = judging.SimulatedJudge(QUALITY, noise=noise, bias=0.4, seed=seed)
    c = judge.compare(poe.select(N, count, seed=seed))
    if decide:
        drawn = (np.random.default_rng(seed).random(len(c)) < c.p).astype(float)
        c = poe.Comparisons.from_pairs(c.pairs, drawn, items=N)
    return poe.fit(c, bias=bias, prior=prior), judge


@pytest.mark.parametrize("noise", [0.2, 0.6])
def test_noise_in_the_logit_is_recognised_and_measured(noise):
    found = fitted(noise, count=182)[0].scatter
    assert found.power == 2
    assert found.size == pytest.approx(noise, rel=0.15)


def test_means_of_decisions_are_recognised_and_measured():
    rng = np.random.default_rng(1)
    p = expit(QUALITY[EVERY[:, 0]] - QUALITY[EVERY[:, 1]])
    votes = rng.binomial(25, p) / 25
    found = poe.fit(poe.Comparisons.from_pairs(EVERY, votes, items=N)).scatter
    assert found.power == 1
    assert found.size == pytest.approx(1 / 5, rel=0.15)


def oracle(fit, *, power, paired):
    """Size^2, common share, and covariance of anchored scores and bias, with K x K matrices.

    Every repeat is a row. Expected values of the quadratic forms are taken one entry at a time:
    what each form gives for the covariance of the errors, seen through what least squares leaves.
    """
    c = fit.comparisons
    rows = np.repeat(np.arange(len(c)), c.weight.astype(int))
    first, second, p = c.first[rows], c.second[rows], c.p[rows]
    x = design(c, bias=fit.bias_fitted)[rows]
    d = fit.scores[first] - fit.scores[second] - fit.bias
    soft = isinstance(fit.expert, poe.BradleyTerry)
    slope = expit(d) * expit(-d) if soft else np.ones_like(d)
    residual = p - expit(d) if soft else p - 0.5 - d
    deviation = slope ** (power / 2)
    z, u = residual / deviation, x * (slope / deviation)[:, None]
    leave = np.eye(len(z)) - u @ np.linalg.pinv(u)
    z = leave @ z
    own, pair = np.eye(len(z)), np.zeros((len(z), len(z)))
    for k in range(len(z)):
        for m in range(len(z)):
            if {first[k], second[k]} == {first[m], second[m]}:
                pair[k, m] = 1.0 if first[k] == first[m] else -1.0
    forms = (own, pair) if paired else (own,)
    expected = [[np.trace(form @ leave @ e @ leave) for e in forms] for form in forms]
    parts = np.linalg.solve(expected, [z @ form @ z for form in forms])
    errors = sum(part * e for part, e in zip(parts, forms, strict=True))
    bread = np.linalg.inv(x.T @ (slope[:, None] * x))
    pull = bread @ (x * deviation[:, None]).T
    return parts.sum(), parts[1:].sum() / parts.sum(), pull @ errors @ pull.T


def repeated(seed, *, decided=False):
    """Both orders of some pairs, one of others, with weights."""
    rng = np.random.default_rng(seed)
    pairs = poe.select(7, 12, rule="no-repeat", seed=seed)
    pairs = np.vstack([pairs, pairs[:5, ::-1], pairs[:2]])
    judge = judging.SimulatedJudge(rng.normal(size=7), noise=0.7, seed=seed)
    p = np.clip(judge.answer(pairs) + 0.05 * rng.normal(size=len(pairs)), 0.02, 0.98)
    weight = rng.integers(1, 4, len(pairs))
    p = (rng.random(len(p)) < p).astype(float) if decided else p
    return poe.Comparisons.from_pairs(pairs, p, items=7, weight=weight)


@pytest.mark.parametrize("expert", ["bradley-terry", "gaussian"])
@pytest.mark.parametrize("bias", [None, "fit"])
@pytest.mark.parametrize("choice", ["scatter", "paired"])
def test_against_a_direct_computation(expert, bias, choice):
    power = 2 if expert == "bradley-terry" else 0
    between = 0
    for seed in range(4):
        fit = poe.fit(repeated(seed), expert, bias=bias, covariance=choice)
        size2, shared, anchored = oracle(fit, power=power, paired=choice == "paired")
        if not -0.1 < shared < 1.0:  # beyond its bounds the correlation is cut, see below
            continue
        between += 1
        assert fit.scatter.size**2 == pytest.approx(size2)
        assert fit.scatter.shared == pytest.approx(shared, abs=1e-9)
        joint = fit.covariance()
        for i, j in ((1, 2), (5, 3)):
            want = anchored[i - 1, i - 1] + anchored[j - 1, j - 1] - 2 * anchored[i - 1, j - 1]
            assert fit.difference_se(i, j) ** 2 == pytest.approx(want)
            assert joint[i, i] + joint[j, j] - 2 * joint[i, j] == pytest.approx(want)
        if bias:
            assert fit.bias_se**2 == pytest.approx(anchored[-1, -1])
        np.testing.assert_allclose(joint.sum(axis=0), 0, atol=1e-9)
    assert between >= 2


@pytest.mark.parametrize("expert", ["bradley-terry", "gaussian"])
@pytest.mark.parametrize("bias", [None, "fit"])
def test_a_weight_of_two_is_two_rows(expert, bias):
    for decided in (False, True):
        one = repeated(3, decided=decided)
        rows = np.repeat(np.arange(len(one)), one.weight.astype(int))
        two = poe.Comparisons.from_pairs(one.pairs[rows], one.p[rows], items=7)
        settings = {"bias": bias, "prior": 0.1 if decided else 0.0}
        for choice in ("paired", "scatter", "curvature"):
            a, b = (poe.fit(c, expert, covariance=choice, **settings) for c in (one, two))
            np.testing.assert_allclose(a.scores, b.scores, atol=1e-9)
            np.testing.assert_allclose(a.covariance(), b.covariance(), rtol=1e-7, atol=1e-12)
            assert a.freedom == b.freedom
            if bias:
                assert a.bias_se == pytest.approx(b.bias_se)


def test_paired_is_scatter_where_no_pair_was_asked_twice():
    c = judging.SimulatedJudge(QUALITY, noise=0.5, seed=1).compare(
        poe.select(N, 60, rule="no-repeat", seed=1)
    )
    for expert in ("bradley-terry", "gaussian"):
        fit = poe.fit(c, expert, bias="fit")
        assert fit.covariance_choice == "paired"
        assert fit.freedom == 60 - N + 1 - 1
        other = fit.with_covariance("scatter")
        assert fit.scatter == other.scatter
        np.testing.assert_array_equal(fit.covariance(), other.covariance())


def test_pairs_that_share_their_error_are_recognised():
    """The other order repeats the answer, bias aside: twice as many answers tell nothing more."""
    single = poe.select(N, 70, rule="no-repeat", seed=2)
    p = judging.SimulatedJudge(QUALITY, noise=0.5, seed=2).answer(single)
    once = poe.fit(poe.Comparisons.from_pairs(single, p, items=N))
    pairs = np.vstack([single, single[:, ::-1]])
    both = poe.Comparisons.from_pairs(pairs, np.append(p, 1 - p), items=N)
    twice = poe.fit(both)
    assert twice.scatter.shared == pytest.approx(1.0)
    assert twice.freedom == once.freedom == 70 - N + 1
    np.testing.assert_allclose(twice.covariance(), once.covariance(), rtol=1e-6)
    # Negative control: as answers of their own they are worth twice as much.
    ratio = twice.with_covariance("scatter").covariance() / once.covariance()
    assert np.median(ratio) < 0.6
    # Decisions have size one, and share their errors all the same.
    wins = (np.random.default_rng(0).random(70) < p).astype(float)
    once = poe.fit(poe.Comparisons.from_pairs(single, wins, items=N), prior=0.05)
    twice = poe.fit(
        poe.Comparisons.from_pairs(pairs, np.append(wins, 1 - wins), items=N), prior=0.1
    )
    assert once.scatter is None
    assert twice.scatter.size == 1.0
    assert twice.scatter.shared > 0.7
    ratio = twice.standard_errors() / once.standard_errors()
    assert 0.85 < np.median(ratio) <= 1.001
    curve = twice.with_covariance("curvature").standard_errors() / once.standard_errors()
    assert np.median(curve) < 0.75


def test_a_bias_that_is_not_fitted_cancels_within_pairs():
    """The two orders then err against each other, which makes their sum surer than two answers."""
    judge = judging.SimulatedJudge(QUALITY, noise=0.3, bias=1.0, seed=4)
    fit = poe.fit(judge.compare(poe.select(N, 120, rule="symmetric", seed=4)))
    assert fit.scatter.shared < -0.7
    fitted_too = poe.fit(fit.comparisons, bias="fit")
    assert abs(fitted_too.scatter.shared) < 0.3
    ratio = fit.standard_errors() / fitted_too.standard_errors()
    assert 0.8 < np.median(ratio) < 1.2
    far = fit.with_covariance("scatter").standard_errors() / fit.standard_errors()
    assert np.median(far) > 1.8
    exact = judging.SimulatedJudge(QUALITY, bias=1.0).compare(fit.comparisons.pairs)
    assert (poe.fit(exact).standard_errors() > 0).all(), "cut before a variance is negative"


def test_quantiles_are_students():
    fit = poe.fit(repeated(3), bias="fit")
    assert 3 <= fit.freedom < 10
    law, se = t(fit.freedom), fit.standard_errors()
    low, high = fit.interval(0.9).T
    np.testing.assert_allclose(high - fit.scores, law.ppf(0.95) * se)
    np.testing.assert_allclose(fit.scores - low, law.ppf(0.95) * se)
    gap = fit.scores[0] - fit.scores[1]
    z = gap / fit.difference_se(0, 1)
    assert fit.prob_better(0, 1) == pytest.approx(fit.luck.better(z))
    assert fit.luck.freedom == fit.freedom + len(fit.items) - 1
    drawn = fit.sample(40_000, seed=1)
    apart = (drawn[:, 0] - drawn[:, 1] - gap) / fit.difference_se(0, 1)
    for share in (0.025, 0.25, 0.9, 0.99):
        assert (apart < law.ppf(share)).mean() == pytest.approx(share, abs=0.006)
    assert (np.abs(apart) > 1.96).mean() > 0.06, "normal draws would be too near"
    # One factor for all scores of a draw: a multivariate t, whose squares err together.
    squares = np.corrcoef(((drawn - fit.scores)[:, :2] ** 2).T)[0, 1]
    assert squares > 0.1
    assert fit.with_covariance("curvature").freedom == np.inf
    few = poe.fit(repeated(3).take(range(8)), "gaussian", covariance="curvature")
    assert few.freedom == few.comparisons.weight.sum() - 6


def test_what_has_no_scatter_keeps_the_curvature():
    decisions, _ = fitted(0.0, count=91, decide=True, prior=0.05)
    few, _ = fitted(0.3, count=N)
    other = poe.fit(fitted(0.3)[0].comparisons, "thurstone")
    for fit in (decisions, few, other):
        for choice in ("scatter", "paired")[: 1 if fit is decisions else 2]:
            scaled = fit.with_covariance(choice)
            assert scaled.scatter is None
            assert scaled.freedom == np.inf
            np.testing.assert_array_equal(
                scaled.covariance(), fit.with_covariance("curvature").covariance()
            )


@pytest.mark.parametrize(("both", "pairs"), [(False, N), (False, N + 1), (True, N), (True, N + 1)])
def test_one_or_two_degrees_of_freedom_are_wide_and_true(both, pairs):
    """Student's t says how little one residual tells; the curvature would say nothing at all."""
    inside, narrower = [], []
    for seed in range(60):
        judge = judging.SimulatedJudge(QUALITY, noise=0.5, bias=0.4, seed=seed)
        asked = poe.select(N, pairs, rule="no-repeat", seed=seed)
        asked = np.vstack([asked, asked[:, ::-1]]) if both else asked
        fit = poe.fit(judge.compare(asked), bias=-0.4)
        assert fit.freedom == pairs - N + 1 in (1.0, 2.0)
        whole = poe.fit(judge.compare(EVERY), bias=-0.4).scores
        low, high = fit.interval(0.9).T
        inside.append((low <= whole) & (whole <= high))
        plain = fit.with_covariance("curvature").standard_errors()
        narrower.append(np.median(fit.standard_errors() / plain))
    assert np.mean(inside) > 0.84
    assert both or np.mean(inside) < 0.97, "in both orders the share in common is hardly known"
    assert np.median(narrower) < 0.5


def test_a_prior_is_no_answer():
    """Its ties would otherwise count as answers that scatter little."""
    with_prior, _ = fitted(0.5, prior=1e-6)
    without, _ = fitted(0.5)
    assert with_prior.scatter.size == pytest.approx(without.scatter.size, rel=1e-3)


@pytest.mark.parametrize("noise", [0.3, 0.9])
def test_intervals_hold_the_scores_of_all_comparisons(noise):
    inside, cautious, width = [], [], []
    for seed in range(40):
        fit, judge = fitted(noise, count=60, seed=seed)
        whole = poe.fit(judge.compare(EVERY), bias="fit").scores
        scaled = fit.with_covariance("scatter")
        low, high = scaled.interval(0.9).T
        inside.append((low <= whole) & (whole <= high))
        wide = fit.with_covariance("curvature")
        low, high = wide.interval(0.9).T
        cautious.append((low <= whole) & (whole <= high))
        width.append((scaled.standard_errors() / wide.standard_errors()).mean())
    # At least as stated: part of the comparisons that are to come has been asked already.
    assert 0.87 <= np.mean(inside) <= 0.99
    assert np.mean(cautious) > 0.995, "as single decisions they hold everything"
    assert np.mean(width) < 0.75


def test_one_choice_serves_every_question():
    fit = fitted(0.3)[0].with_covariance("curvature")
    scaled = poe.fit(fit.comparisons, bias="fit", covariance="scatter")
    assert scaled.covariance_choice == "scatter"
    np.testing.assert_allclose(
        scaled.covariance(), fit.with_covariance("scatter").covariance(), atol=1e-12
    )
    assert poe.se_below(0.2).measure(scaled) == scaled.standard_errors().max()
    assert poe.se_below(0.2).measure(scaled) < poe.se_below(0.2).measure(fit)


@pytest.mark.needs("pandas")
def test_the_table_has_its_intervals():
    scaled = poe.fit(fitted(0.3)[0].comparisons, bias="fit", covariance="scatter")
    table = scaled.to_frame(0.9)
    assert table["name"].tolist() == scaled.ranking()
    order = np.argsort(-scaled.scores)
    np.testing.assert_array_equal(table[["low", "high"]], scaled.interval(0.9)[order])


def test_two_items_by_hand():
    """Six answers on one difference: the variance of their mean, in logits."""
    pairs = np.array([(0, 1), (0, 1), (0, 1), (1, 0), (1, 0), (1, 0)])
    p = expit(np.array([0.9, 1.0, 1.1, -0.9, -1.0, -1.1]))
    fit = poe.fit(poe.Comparisons.from_pairs(pairs, p, items=2))
    q = np.mean(np.where(pairs[:, 0] == 0, p, 1 - p))
    assert fit.scores[0] - fit.scores[1] == pytest.approx(logit(q))
    rho = np.where(pairs[:, 0] == 0, p - q, 1 - p - q) / (q * (1 - q))
    variance = rho.var(ddof=1) / 6  # five degrees of freedom: six answers less one difference
    scaled = fit.with_covariance("scatter")
    assert scaled.difference_se(0, 1) == pytest.approx(np.sqrt(variance))
    assert scaled.freedom == 5
    # They are about one pair and may share their error, of which nothing then tells.
    assert fit.scatter is None
    assert fit.difference_se(0, 1) == pytest.approx(1 / np.sqrt(6 * q * (1 - q)))


def test_the_power_is_chosen_by_the_restricted_likelihood():
    """Minus twice the log density of K - rank contrasts of the errors, found without projections.

    The contrasts are an orthonormal basis of what the rows leave; their covariance under a power is
    size^2 times that of the errors, and size^2 its best value. Powers may then be compared, since
    the contrasts are the same ones.
    """
    for decided in (False, True):
        fit = poe.fit(repeated(2, decided=decided), prior=0.1 if decided else 0.0)
        answers = fit._answers
        k = np.repeat(np.arange(len(answers.group)), answers.weight.astype(int))
        n = answers.pairs.n_items
        x = np.zeros((len(k), n + 1))
        x[np.arange(len(k)), answers.pairs.first[answers.group[k]]] = 1.0
        x[np.arange(len(k)), answers.pairs.second[answers.group[k]]] = -1.0
        x[:, -1] = -answers.turned[k]
        x = answers.slope[k, None] * x[:, 1:]  # what an answer moves by, anchored on an item
        full, value, _ = np.linalg.svd(x)
        contrasts = full[:, int((value > 1e-9).sum()) :]
        e = contrasts.T @ answers.residual[k]
        minus_twice, both, plain = {}, {}, {}
        for power in (1, 2):
            covariance = contrasts.T @ np.diag(answers.slope[k] ** power) @ contrasts
            size2 = e @ np.linalg.solve(covariance, e) / len(e)
            minus_twice[power] = len(e) * np.log(size2) + np.linalg.slogdet(covariance)[1]
            left = poe.scatter.remainder(answers, power)
            both[power], plain[power] = left.unlikely, len(e) * np.log(left.squares)
            assert left.freedom == len(e)
            assert left.squares / left.freedom == pytest.approx(size2)
        # Up to a constant that both powers have.
        gap = both[1] - both[2]
        assert gap == pytest.approx(minus_twice[1] - minus_twice[2])
        assert abs(gap - (plain[1] - plain[2])) > 1.0, "its determinants are not small"


def exactly(fit):
    """(N, N) sandwich of a fit's answers in fractions, H^-1 M H^-1 by the definition."""
    a, n = fit._answers, len(fit.items)
    rows = []
    for pair, turned in zip(a.group, a.turned, strict=True):
        row = [Fraction(0)] * n + [-Fraction(turned)]
        row[a.pairs.first[pair]] += 1
        row[a.pairs.second[pair]] -= 1
        rows.append(row)
    width = range(n + 1)
    of_mean = Fraction(1, n)  # added to the singular direction, and taken away again
    h = [[of_mean * (i < n and j < n) for j in width] for i in width]
    for s, row in zip(fit.stiffness, rows, strict=True):
        for i in width:
            for j in width:
                h[i][j] += Fraction(s) * row[i] * row[j]
    inverse = inverted(h)
    t = [Fraction(one) for one in a.slope ** (fit.scatter.power / 2.0)]
    pulls = [
        [t_k * sum(inverse[i][j] * row[j] for j in width) for i in width]
        for t_k, row in zip(t, rows, strict=True)
    ]
    found = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            own = sum(pull[i] * pull[j] for pull in pulls)
            together = sum(
                pulls[k][i] * pulls[m][j]
                for k in range(len(rows))
                for m in range(len(rows))
                if a.group[k] == a.group[m]
            )
            shared = Fraction(fit.scatter.shared)
            found[i, j] = (1 - shared) * own + shared * together
    return fit.scatter.size**2 * found


def inverted(matrix):
    """Gauss and Jordan."""
    n = len(matrix)
    work = [[*row, *(Fraction(int(i == j)) for j in range(n))] for i, row in enumerate(matrix)]
    for i in range(n):
        best = max(range(i, n), key=lambda r: abs(work[r][i]))
        work[i], work[best] = work[best], work[i]
        work[i] = [value / work[i][i] for value in work[i]]
        for r in range(n):
            if r != i and work[r][i]:
                work[r] = [x - work[r][i] * y for x, y in zip(work[r], work[i], strict=True)]
    return [row[n:] for row in work]


@pytest.mark.parametrize("covariance", ["scatter", "paired"])
def test_answers_that_nearly_separate_items_keep_their_digits(covariance, monkeypatch):
    """Curvatures from 1e-11 to 0.2: H^-1 has entries of 1e10, the errors of scores are about 1."""
    rng = np.random.default_rng(3)
    quality = np.array([-14.0, 10.5, -1.0, 4.5, 0.0])
    pairs = np.array([(i, j) for i in range(5) for j in range(5) if i != j])
    d = quality[pairs[:, 0]] - quality[pairs[:, 1]] + 0.5 * rng.standard_normal(len(pairs))
    few = [k for k, (i, j) in enumerate(pairs) if {i, j} & {0} == set() or abs(d[k]) > 20]
    c = poe.Comparisons.from_pairs(pairs[few], expit(d[few]), items=5)
    fit = poe.fit(c, bias="fit", covariance=covariance)
    exact = exactly(fit)
    np.testing.assert_allclose(fit.covariance(), exact, atol=1e-6 * np.abs(exact).max())
    monkeypatch.setattr(poe.scatter, "UNEVEN", 0.0)  # the control: the product H^-1 M H^-1
    product = poe.fit(c, bias="fit", covariance=covariance).covariance()
    assert np.abs(product - exact).max() > 1e-3 * np.abs(exact).max()
