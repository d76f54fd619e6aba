"""One order or both: c by hand and by simulation, the law against dense algebra, the decision."""

import numpy as np
import pytest
from scipy.special import expit

import poe
from judging.simulated import SimulatedJudge
from poe.choose import orders


def answered(pairs, logits, n):
    """Comparisons of (K, 2) pairs whose log odds are entries of a matrix."""
    pairs = np.asarray(pairs)
    return poe.Comparisons.from_pairs(pairs, expit(logits[pairs[:, 0], pairs[:, 1]]), items=n)


def judges(c, contexts, *, n=16, bias=0.4, noise=0.5, seed=0):
    """(contexts, n, n) log odds of simulated judges whose orders' errors correlate by c."""
    rng = np.random.default_rng(seed)
    quality = rng.standard_normal((contexts, n))
    judge = SimulatedJudge(quality, bias=bias, noise=noise, shared=c, seed=rng)
    return np.nan_to_num(judge.logits)


def pilots(c, contexts, count, *, seed=0, **options):
    logits = judges(c, contexts, seed=seed, **options)
    n = logits.shape[-1]
    return [answered(orders.pilot(n, count, seed=seed + k), x, n) for k, x in enumerate(logits)]


class TestCorrelation:
    def test_a_ring_by_hand(self):
        """Half differences 1, 1 and 0.5 miss by 1.5 round the ring; half sums are 0.1, 0.4, 0.7.

        Errors about the items: 1.5^2 / 3 on one degree of freedom, 0.75. About the place: 0.18 on
        two, 0.09. So c = (0.75 - 0.09) / 0.84, and v is their sum.
        """
        half, place = {(0, 1): 1.0, (1, 2): 1.0, (0, 2): 0.5}, [0.1, 0.4, 0.7]
        logits = np.zeros((3, 3))
        for ((i, j), d), b in zip(half.items(), place, strict=True):
            logits[i, j], logits[j, i] = d + b, b - d
        pairs = [*half, *((j, i) for i, j in half)]
        found = orders.correlation(answered(pairs, logits, 3))
        assert found.c == pytest.approx(0.66 / 0.84)
        assert found.variance == pytest.approx(0.84)
        assert found.doubled == 3
        assert found.se == pytest.approx((1 - found.c**2) / 2 * np.sqrt(2 / 1 + 2 / 2))

    def test_it_is_the_one_that_intervals_use(self):
        """With every pair in both orders: the estimate of `poe.Fit.scatter`."""
        c = answered(poe.select(9, 40, rule="symmetric", seed=1), judges(-0.6, 1, n=9)[0], 9)
        scatter = poe.fit(c, "logit-gaussian", bias="fit").scatter
        found = orders.correlation(c)
        assert found.c == pytest.approx(scatter.shared, abs=1e-9)
        assert np.sqrt(found.variance) == pytest.approx(scatter.size, rel=1e-9)

    @pytest.mark.parametrize("c", [-0.9, -0.4, 0.0, 0.9])
    def test_it_finds_a_known_c_within_its_error(self, c):
        """A dozen contexts, by the jackknife: estimates are off by one error on average."""
        found = [orders.correlation(pilots(c, 12, 10, seed=100 * k)) for k in range(20)]
        off = np.array([(one.c - c) / one.se for one in found])
        assert np.abs(off.mean()) < 3.0 / np.sqrt(20) + 0.3
        assert 0.5 < np.sqrt((off**2).mean()) < 1.6
        assert found[0].variance == pytest.approx(0.25, rel=0.3)

    def test_one_context_knows_its_error_too(self):
        found = [orders.correlation(pilots(0.0, 1, 15, seed=k)) for k in range(100)]
        spread = np.std([one.c for one in found])
        assert spread == pytest.approx(np.mean([one.se for one in found]), rel=0.25)

    def test_a_bias_of_all_pairs_is_no_error_about_the_place(self):
        """The negative control: a bias of 1.5 logits leaves c where it was."""
        plain, biased = (orders.correlation(pilots(0.0, 30, 10, bias=b)) for b in (0.0, 1.5))
        assert biased.c == pytest.approx(plain.c, abs=1e-9)
        assert abs(plain.c) < 3 * plain.se

    def test_what_it_does_not_depend_on(self):
        """Pairs in one order, order of rows, a second time of asking the same with one answer."""
        logits = judges(-0.5, 1, n=9)[0]
        both = orders.pilot(9, 10, seed=3)
        base = orders.correlation(answered(both, logits, 9))
        alone = np.array([(i, j) for i in range(9) for j in range(i) if not _in(both, i, j)])
        for pairs in (np.vstack([both, alone]), both[::-1], np.vstack([both, both])):
            assert orders.correlation(answered(pairs, logits, 9)) == pytest.approx(base, abs=1e-9)

    def test_what_cannot_be_told(self):
        logits = judges(-0.5, 1, n=8)[0]
        once = answered(poe.select(8, 20, rule="no-repeat", seed=2), logits, 8)
        chain = [(0, 1), (1, 0), (1, 2), (2, 1)]
        exact = np.subtract.outer(np.arange(8.0), np.arange(8.0)) / 4 + 0.3
        every = np.argwhere(~np.eye(8, dtype=bool))
        for c in (once, answered(chain, logits, 8), answered(every, exact, 8)):
            found = orders.correlation(c)
            assert np.isnan([found.c, found.se, found.variance]).all()
        with pytest.raises(ValueError, match="opinions"):
            orders.correlation(once, "bradley-terry")


def _in(pairs, i, j):
    return [i, j] in pairs.tolist() or [j, i] in pairs.tolist()


class TestLaw:
    @pytest.mark.parametrize("c", [-0.95, -0.3, 0.0, 0.7])
    def test_against_the_covariance_of_all_answers(self, c):
        """Dense: errors of all 30 answers, least squares on some of them and on all."""
        n = 6
        every = np.argwhere(~np.eye(n, dtype=bool))
        at = {tuple(pair): k for k, pair in enumerate(every.tolist())}
        covariance = np.eye(len(every))
        for (i, j), k in at.items():
            covariance[k, at[j, i]] = -c  # as answers, not as statements about i - j

        def fitted(pairs):
            """(N, 30) from all answers to scores."""
            rows = np.zeros((len(pairs), n + 1))
            rows[np.arange(len(pairs)), pairs[:, 0]] = 1.0
            rows[np.arange(len(pairs)), pairs[:, 1]] = -1.0
            rows[:, n] = 1.0
            chosen = np.eye(len(every))[[at[tuple(pair)] for pair in pairs.tolist()]]
            return (np.linalg.pinv(rows) @ chosen)[:n]

        def variance(matrix):
            """Mean over differences."""
            return 2.0 * np.trace(matrix @ covariance @ matrix.T) / (n - 1)

        one = poe.select(n, 12, rule="no-repeat", seed=4)
        half = poe.select(n, 8, rule="no-repeat", seed=5)
        both, full = np.vstack([half, half[:, ::-1]]), fitted(every)
        unit = np.eye(len(every))
        links = []
        for matrix, per_pair in ((fitted(one), 1.0), (fitted(both), 2.0)):
            links.append(per_pair * 2.0 * np.trace(matrix @ unit @ matrix.T) / (n - 1))
        for target, everything in ((0.0, 0.0), (full, 2.0 / n)):
            truth = variance(fitted(one) - target) / variance(fitted(both) - target)
            said = orders.predicted_ratio(c, *links, everything=everything)
            assert said == pytest.approx(truth, rel=1e-9)

    def test_ends(self):
        assert orders.predicted_ratio(-0.75, 1.0, 2.0) == pytest.approx(4.0)
        assert orders.predicted_ratio(1.0, 1.0, 2.0) == pytest.approx(0.5)
        assert orders.predicted_ratio(-0.9, 1.0, np.inf) == 0.0
        assert orders.predicted_ratio(0.5, 1.0, 0.4, everything=0.4) == np.inf

    def test_links_of_all_pairs_and_of_too_few(self):
        """All pairs in one order: 2 / N, and a bit for the bias; both orders of them: 2 / N."""
        one, both = orders.resistances(8, 56)
        assert both == pytest.approx(2.0 / 8)
        assert 2.0 / 8 < one < 1.3 * 2.0 / 8
        assert orders.resistances(8, 12)[1] == np.inf
        assert orders.resistances(8, 7)[0] == np.inf

    def test_beyond_a_hundred_items_the_degree_counts(self):
        assert orders.resistances(400, 2000) == orders.resistances(100, 500)


class TestDecision:
    def test_regret_is_small_at_every_c(self):
        """Of variance, in a single context with a pilot of 15 pairs, by the law itself."""
        links = orders.resistances(16, 160)
        for c in (-0.9, -0.3, -0.1, 0.4):
            truth = orders.predicted_ratio(c, *links)
            made = [orders.decide(pilots(c, 1, 15, seed=k), calls=160) for k in range(25)]
            wrong = np.mean([(one.orders == "both") != (truth > 1.0) for one in made])
            assert wrong * (1.0 - min(truth, 1.0 / truth)) < 0.1

    def test_few_calls_make_pairs_too_dear(self):
        few = pilots(-0.5, 10, 10)
        assert orders.decide(few, calls=24).reason == "sparse"
        assert orders.decide(few, calls=24).orders == "one"
        assert orders.decide(few, calls=160).orders == "both"
        assert orders.decide(pilots(0.4, 10, 10), calls=96).reason == "items"

    def test_where_no_new_pairs_are_left_the_second_order_is_all_there_is(self):
        made = orders.decide(pilots(0.5, 10, 10), calls=230)
        assert (made.orders, made.reason) == ("both", "pairs run out")

    def test_a_small_c_that_is_negative_is_about_the_place_while_there_are_new_pairs(self):
        made = [orders.decide(pilots(-0.25, 1, 10, seed=k), calls=96) for k in range(40)]
        unsure = [one for one in made if -one.se < one.c < 0.0 and one.orders == "both"]
        assert len(unsure) > 3
        assert {one.reason for one in unsure} == {"place"}

    def test_a_pilot_that_tells_nothing(self):
        once = poe.Comparisons.from_pairs([(0, 1), (1, 2), (2, 0)], [0.6, 0.7, 0.5], items=3)
        made = orders.decide(once, calls=6)
        assert (made.orders, made.reason, made.doubled) == ("one", "unknown", 0)


class TestPilot:
    @pytest.mark.parametrize(("n", "count"), [(4, 6), (16, 8), (16, 10), (300, 40)])
    def test_both_orders_of_pairs_among_few_items(self, n, count):
        pairs = orders.pilot(n, count, seed=1)
        asked = {tuple(pair) for pair in pairs.tolist()}
        assert len(asked) == 2 * count
        assert all((j, i) in asked for i, j in asked)
        items = len(np.unique(pairs))
        assert (items - 1) * (items - 2) // 2 < count <= items * (items - 1) // 2
        assert pairs.max() < n

    def test_it_is_drawn(self):
        assert orders.pilot(20, 6, seed=1).tolist() != orders.pilot(20, 6, seed=2).tolist()

    @pytest.mark.parametrize(("n", "count"), [(4, 7), (2, 3), (9, 2)])
    def test_refused(self, n, count):
        with pytest.raises(ValueError, match="pilot of"):
            orders.pilot(n, count)

    def test_size(self):
        """(0.18 T)^(2/3): the smallest of 0.24 / sqrt(m) + 0.67 m / T over m."""
        for calls in (500, 5000, 50_000):
            m = np.arange(1, 2000)
            best = m[np.argmin(0.24 / np.sqrt(m) + 0.67 * m / calls)]
            assert orders.pilot_size(calls) == pytest.approx(best, rel=0.03, abs=1)
        assert orders.pilot_size(10) == orders.FEWEST


class TestOnPrompts:
    """The same items compared on many prompts: another prompt competes with the second order."""

    @staticmethod
    def answered(c, own, *, prompts, n=4, seed=0):
        """Pairs, one a prompt, and both answers; a prompt's own differences have sd `own`."""
        rng = np.random.default_rng(seed)
        score = np.linspace(-1.0, 1.0, n)
        pairs = np.array([rng.permutation(n)[:2] for _ in range(prompts)])
        true = score[pairs[:, 0]] - score[pairs[:, 1]] + own * rng.standard_normal(prompts)
        e = rng.standard_normal((2, prompts))
        e[1] = c * e[0] + np.sqrt(1.0 - c**2) * e[1]
        return pairs, expit(true + 0.3 + e[0]), expit(-true + 0.3 - e[1])

    def test_two_items_by_hand(self):
        """Half differences 1, 2, 3, 2, 1, 3 vary by 0.8 round their mean, half sums by 0.3.

        (The sums are 0.5, -0.5, 0.5, -0.5, 0.5, -0.5.) So c = (0.8 - 0.3) / (0.8 + 0.3).
        """
        half, place = np.array([1.0, 2, 3, 2, 1, 3]), np.array([0.5, -0.5] * 3)
        found = orders.on_prompts(
            np.tile([0, 1], (6, 1)), expit(half + place), expit(place - half), n_items=2
        )
        assert found.c == pytest.approx(0.5 / 1.1)
        assert found.se == pytest.approx((1 - found.c**2) / 2 * np.sqrt(2 / 5 + 2 / 5))
        assert (found.orders, found.reason, found.doubled) == ("one", "prompts", 6)

    @pytest.mark.parametrize(("c", "own"), [(-0.8, 0.0), (-0.8, 0.5), (-0.4, 1.0), (0.3, 1.5)])
    def test_what_a_prompt_adds_counts_as_an_error_about_the_items(self, c, own):
        expected = (own**2 + c) / (own**2 + 1.0)
        off = []
        for seed in range(40):
            pairs, ahead, back = self.answered(c, own, prompts=200, seed=seed)
            found = orders.on_prompts(pairs, ahead, back, n_items=4)
            off.append((found.c - expected) / found.se)
        assert abs(np.mean(off)) < 3 / np.sqrt(40)
        assert 0.75 < np.std(off) < 1.3, "its standard error is right"
        assert found.orders == ("both" if expected < 0 else "one")

    def test_too_little_is_said_and_an_expert_without_opinions_is_refused(self):
        pairs, ahead, back = self.answered(0.0, 1.0, prompts=5)
        assert orders.on_prompts(pairs, ahead, back, n_items=4).reason == "unknown"
        same = np.full(8, 0.7)
        exact = orders.on_prompts(np.tile([0, 1], (8, 1)), same, 1 - same, n_items=2)
        assert (exact.orders, exact.reason) == ("one", "unknown"), "a judge without error"
        with pytest.raises(ValueError, match="opinions"):
            orders.on_prompts(pairs, ahead, back, n_items=4, expert="bradley-terry")
