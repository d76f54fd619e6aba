"""Holm's correction by hand and by closed testing, paired t by SciPy, and the three words."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from reproduction.settings import bootstrap_se
from reproduction.significance import holm, paired_p, words


def test_holm_by_hand() -> None:
    """Sorted .005, .01, .03, .04 times 4, 3, 2, 1 is .02, .03, .06, .04; the last may not fall."""
    np.testing.assert_allclose(holm(np.array([0.01, 0.04, 0.03, 0.005])), [0.03, 0.06, 0.06, 0.02])
    np.testing.assert_allclose(holm(np.array([0.9, 0.6])), [1.0, 1.0])


def closed(p: np.ndarray) -> np.ndarray:
    """A hypothesis falls where Bonferroni's test rejects every set that it is in."""
    sets = [s for k in range(1, len(p) + 1) for s in combinations(range(len(p)), k)]
    return np.array(
        [
            max(min(1.0, len(s) * min(p[j] for j in s)) for s in sets if i in s)
            for i in range(len(p))
        ]
    )


@pytest.mark.parametrize("seed", range(5))
def test_holm_is_the_closure_of_bonferroni(seed: int) -> None:
    p = np.random.default_rng(seed).random(7) ** 3
    p[3] = p[5]  # a tie
    np.testing.assert_allclose(holm(p), closed(p), rtol=1e-12)


def test_the_p_value_is_that_of_a_paired_t_test() -> None:
    rng = np.random.default_rng(0)
    one, other = rng.standard_normal((2, 10))
    one = one + 0.8
    said = paired_p((one - other).mean(), bootstrap_se((one - other)[None]), 10)
    assert said == pytest.approx(stats.ttest_rel(one, other).pvalue, rel=1e-12)
    np.testing.assert_array_equal(
        paired_p(np.array([0.0, 1.0]), np.zeros(2), np.full(2, 9)), [1, 0]
    )


def test_two_errors_with_ten_articles_are_likely_and_never_clear() -> None:
    """2.1 errors have p = .065 with nine degrees of freedom; 2.3 and 60 contexts p = .025."""
    row = {"value": [-2.1, 2.3, 1.9], "se": [1.0, 1.0, 1.0], "contexts": [10, 60, 60]}
    assert list(words(pd.DataFrame(row))) == ["likely", "likely", "could be chance"]
    alone = pd.DataFrame({"value": [2.3], "se": [1.0], "contexts": [60]}, index=[7])
    assert words(alone).to_dict() == {7: "clear"}  # one test needs no correction
