"""Absolute scores: hand-computed expectations, and replies as models write them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import poe.baselines as pb
from poe.errors import ComparisonError

SCALE = [1, 2, 3, 4, 5]


class TestExpectation:
    def test_by_hand(self):
        """(1 * 0.1 + 4 * 0.3 + 5 * 0.4) / 0.8, and a fifth of the mass elsewhere."""
        found = pb.expected_score([0.1, 0.0, 0.0, 0.3, 0.4], SCALE)
        assert found.scores == pytest.approx(3.3 / 0.8)
        assert found.mass == pytest.approx(0.8)

    def test_stack_is_a_loop(self):
        p = np.random.default_rng(0).dirichlet(np.ones(6), size=(3, 4))[..., :5]
        found = pb.expected_score(p, SCALE, min_mass=0)
        assert found.scores.shape == found.mass.shape == (3, 4)
        for i in np.ndindex(3, 4):
            assert found.scores[i] == pytest.approx(np.average(SCALE, weights=p[i]))
            assert found.mass[i] == pytest.approx(p[i].sum())

    def test_logarithms_and_logits_give_the_same(self):
        logits = 3 * np.random.default_rng(1).standard_normal((7, 50))
        log_p = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
        plain = pb.expected_score(np.exp(log_p[:, :5]), SCALE, min_mass=0)
        logs = pb.expected_score(log_p[:, :5], SCALE, log=True, min_mass=0)
        raw = pb.expected_score_from_logits(
            logits[:, :5],
            SCALE,
            log_normaliser=np.log(np.exp(logits).sum(-1)),
            min_mass=0,
        )
        for other in (logs, raw):
            np.testing.assert_allclose(other.scores, plain.scores)
            np.testing.assert_allclose(other.mass, plain.mass)

    def test_logits_without_normaliser_have_unknown_mass(self):
        found = pb.expected_score_from_logits([[0.0, 0.0, 0.0], [0.0, 0.0, 800.0]], [1, 2, 3])
        np.testing.assert_allclose(found.scores, [2.0, 3.0])
        assert np.isnan(found.mass).all()

    def test_a_tiny_mass_does_not_underflow(self):
        found = pb.expected_score([-900.0, -900.0], [1, 5], log=True, min_mass=0)
        assert found.scores == pytest.approx(3.0)
        assert found.mass == 0.0

    @given(st.lists(st.floats(0.001, 0.2), min_size=5, max_size=5), st.floats(0.05, 1.0))
    def test_only_the_ratios_of_probabilities_matter(self, p, factor):
        whole = pb.expected_score(p, SCALE, min_mass=0)
        part = pb.expected_score(factor * np.array(p), SCALE, min_mass=0)
        assert part.scores == pytest.approx(whole.scores)
        assert part.mass == pytest.approx(factor * whole.mass)
        assert 1 <= whole.scores <= 5

    def test_shifting_the_scale_shifts_the_score(self):
        p = [0.1, 0.2, 0.3, 0.2, 0.2]
        shifted = pb.expected_score(p, np.array(SCALE) * 10.0 - 7)
        assert shifted.scores == pytest.approx(10 * pb.expected_score(p, SCALE).scores - 7)

    def test_expectation_breaks_ties_of_the_most_probable_score(self):
        """Why G-Eval is used: both texts get a 4, yet one is closer to a 5."""
        p = np.array([[0.0, 0.0, 0.3, 0.6, 0.1], [0.0, 0.0, 0.1, 0.6, 0.3]])
        assert (p.argmax(-1) == 3).all()
        found = pb.expected_score(p, SCALE).scores
        np.testing.assert_allclose(found, [3.8, 4.2])


class TestBadExpectations:
    def test_small_mass_names_the_items(self):
        p = [[0.5, 0.5], [1e-4, 1e-4], [0.2, 0.1]]
        with pytest.raises(ComparisonError, match=r"'b'.*less than 0.01.*token ids"):
            pb.expected_score(p, [1, 2], items=["a", "b", "c"])
        with pytest.raises(ComparisonError, match="items 1:"):
            pb.expected_score(p, [1, 2])
        assert pb.expected_score(p, [1, 2], min_mass=0).scores[1] == pytest.approx(1.5)

    def test_no_mass_at_all_is_refused_even_when_any_mass_will_do(self):
        with pytest.raises(ComparisonError, match="not answering with a score"):
            pb.expected_score([0.0, 0.0], [1, 2], min_mass=0)

    @pytest.mark.parametrize(
        ("p", "why"),
        [
            ([[0.5, 0.2], [-0.1, 0.3]], r"items 1: probability outside"),
            ([[0.5, np.nan]], r"items 0: probability outside"),
            ([[0.9, 0.9]], r"add up to more than 1"),
            ([[[0.5, 0.5]], [[0.9, 0.9]]], r"items \(1, 0\): "),
        ],
    )
    def test_not_probabilities(self, p, why):
        with pytest.raises(ComparisonError, match=why):
            pb.expected_score(p, [1, 2])

    def test_log_probabilities(self):
        with pytest.raises(ComparisonError, match="for logarithms give log=True"):
            pb.expected_score([-1.0, -2.0], [1, 2])
        with pytest.raises(ComparisonError, match="NaN"):
            pb.expected_score([np.nan, -2.0], [1, 2], log=True)
        with pytest.raises(ComparisonError, match="more than 1"):
            pb.expected_score([1.0, 2.0], [1, 2], log=True)

    def test_logits(self):
        with pytest.raises(ComparisonError, match="items 1: logit is not a finite"):
            pb.expected_score_from_logits([[0, 1], [np.inf, 1]], [1, 2])
        with pytest.raises(ValueError, match="log_normaliser has shape"):
            pb.expected_score_from_logits([[0, 1]], [1, 2], log_normaliser=[1.0, 2.0])

    def test_shapes(self):
        with pytest.raises(ValueError, match="one entry for each of the 3 scores"):
            pb.expected_score([0.5, 0.5], [1, 2, 3])
        with pytest.raises(ValueError, match="list of finite numbers"):
            pb.expected_score([0.5, 0.5], [1, np.nan])


@pytest.mark.parametrize(
    ("reply", "score"),
    [
        ("7", 7),
        ("7.", 7),
        (" 8.5\n", 8.5),
        ("8,5", 8.5),
        ("Score: 7", 7),
        ("**Score:** 7", 7),
        ("score of 4", 4),
        ("My rating is a 6", 6),
        ("7/10", 7),
        ("10/10", 10),
        ("Score: 7.5 / 10.", 7.5),
        ("I would rate this summary a 7 out of 10.", 7),
        ("Rating (1-10): 7", 7),
        ("On a scale from 1 to 10, I'd give it 6", 6),
        ("between 1 and 10: 10", 10),
        ("1 \u2013 10: 3", 3),
        ("Score: 7. It states 3 of the 5 facts.", 7),
        ("1. Fluent\n2. Coherent\nScore: 8", 8),
        ("Summary A1 gets 4", 4),
        ("9\n\nArticle: the 3 dogs", 9),
        ("It deserves 4. Yes, 4!", 4),
    ],
)
def test_a_reply_is_read(reply, score):
    assert pb.parse_score(reply) == score


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ("", "no number"),
        ("As a language model I cannot judge this.", "no number"),
        ("the 4th summary", "no number"),
        ("1-10", "no number"),
        ("90%", "no number"),
        ("0", r"scores 0, outside \[1, 10\]"),
        ("11/10", "scores 11, outside"),
        ("-3", "scores -3, outside"),
        ("\u22123", "scores -3, outside"),
        ("7-8", r"several numbers \(7, 8\)"),
        ("Score: 8/10, up from 6/10", r"several numbers \(6, 8\)"),
        ("1. It is fluent. 2. It is short.", "several numbers"),
        (None, "must be text, not None"),
    ],
)
def test_a_reply_is_refused(reply, why):
    with pytest.raises(ComparisonError, match=why):
        pb.parse_score(reply)


@given(st.integers(1, 10), st.sampled_from(["Score: {}", "{}/10", "{}", "I say {}."]))
def test_every_score_of_the_range_is_read(score, form):
    assert pb.parse_score(form.format(score)) == score


def test_the_range_is_the_users():
    assert pb.parse_score("-1", low=-2, high=2) == -1
    assert pb.parse_score("from -2 to 2: 0.5", low=-2, high=2) == 0.5
    with pytest.raises(ComparisonError, match=r"outside \[1, 5\]"):
        pb.parse_score("7", low=1, high=5)
    with pytest.raises(ComparisonError, match=r"several numbers \(7, 10\)"):
        pb.parse_score("7/10", low=1, high=5)  # a score on another scale
    with pytest.raises(ValueError, match="from 10 to 1: low must be less than high"):
        pb.parse_score("7", low=10, high=1)


class TestPromptScores:
    def test_refusals_and_ties_are_counted(self):
        found = pb.prompt_scores(
            {"a": "7", "b": "I cannot.", "c": "7/10", "d": "Score: 4", "e": "7", "f": "12"}
        )
        assert found.items == ("a", "b", "c", "d", "e", "f")
        np.testing.assert_array_equal(found.scores, [7, np.nan, 7, 4, 7, np.nan])
        assert found.replies == 6
        assert [(name, reply) for name, reply, _ in found.unusable] == [
            ("b", "I cannot."),
            ("f", "12"),
        ]
        assert (found.ties, found.pairs) == (3, 6)  # a-c, a-e, c-e of the 6 pairs scored

    def test_samples_are_averaged_over_the_usable(self):
        found = pb.prompt_scores([["7", "8", "no"], ["1"]], items=["x", "y"])
        np.testing.assert_array_equal(found.scores, [7.5, 1])
        assert found.replies == 4
        assert len(found.unusable) == 1
        assert found.ties == 0

    def test_order_of_items_does_not_matter(self):
        replies = {"a": "7", "b": "3", "c": "none"}
        turned = dict(reversed(replies.items()))
        there, back = pb.prompt_scores(replies), pb.prompt_scores(turned)
        np.testing.assert_array_equal(there.scores, back.scores[::-1])

    def test_nothing_usable_is_an_error(self):
        with pytest.raises(ComparisonError, match=r"none of the 2 replies.*'no' has no number"):
            pb.prompt_scores(["no", "never"])
        with pytest.raises(ComparisonError, match="no replies to read"):
            pb.prompt_scores([])
        with pytest.raises(ComparisonError, match="1 replies for 2 items"):
            pb.prompt_scores(["3"], items=["a", "b"])
