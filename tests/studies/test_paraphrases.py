"""A second order or other words: the parts of an answer that can be told apart."""

import numpy as np
import pytest

from poe.arrays import Floats
from reproduction.settings import Settings
from studies import paraphrases
from studies.paraphrases import ALL, BOTH, NONE, ORDER, WORDS


def made(
    sizes: tuple[float, float, float, float], *, contexts: int = 4000, seed: int = 0
) -> Floats:
    """Logits (5, C, 4, 4) whose parts P, p, Q, q have these variances, and a bias a wording."""
    rng = np.random.default_rng(0)
    n, words = 4, 5
    shared = np.sqrt(sizes[0]) * rng.standard_normal((1, contexts, n, n))
    own = np.sqrt(sizes[1]) * rng.standard_normal((words, contexts, n, n))
    a = np.triu(shared + own, 1)
    order = np.sqrt(sizes[2]) * rng.standard_normal((1, contexts, n, n))
    b = np.triu(order + np.sqrt(sizes[3]) * rng.standard_normal((words, contexts, n, n)), 1)
    bias = np.triu(np.ones((n, n)), 1) * np.arange(words)[:, None, None, None]
    b = b + bias
    return (a - np.swapaxes(a, -1, -2)) + (b + np.swapaxes(b, -1, -2))


@pytest.mark.parametrize("sizes", [(2.0, 0.5, 1.0, 0.25), (1.0, 1.0, 0.0, 0.0)])
def test_the_four_parts_are_found_again(sizes: tuple[float, float, float, float]) -> None:
    a, b, _ = paraphrases.halves(made(sizes))
    found = paraphrases.parts(a, b)
    assert list(found) == ["P", "p", "Q", "q"]
    np.testing.assert_allclose(list(found.values()), sizes, atol=0.05)


def test_two_wordings_by_hand() -> None:
    """A = 3, 1 and b = 2, -2 of one pair: 3 x 1 is shared, the mean of 9 and 1 is all."""
    a, b = np.array([[[3.0]], [[1.0]]]), np.array([[[2.0]], [[-2.0]]])
    found = paraphrases.parts(a, b)
    assert found == pytest.approx({"P": 3.0, "p": 2.0, "Q": -4.0, "q": 8.0})


def test_c_is_the_correlation_of_the_errors() -> None:
    """The errors themselves, which only somebody who made the answers knows."""
    sizes = (2.0, 0.5, 1.0, 0.25)
    a, b, _ = paraphrases.halves(made(sizes))
    rng = np.random.default_rng(1)
    p, Q, q = (np.sqrt(v) * rng.standard_normal((2, 400_000)) for v in sizes[1:])
    Q[1] = Q[0]  # which all words share
    one = p[0] + Q[0] + q[0]
    true = {
        WORDS: np.corrcoef(one, p[1] + Q[1] + q[1])[0, 1],
        ORDER: np.corrcoef(one, p[0] - Q[0] - q[0])[0, 1],
        BOTH: np.corrcoef(one, p[1] - Q[1] - q[1])[0, 1],
    }
    found = paraphrases.correlations(paraphrases.parts(a, b))
    assert found == pytest.approx(true, abs=0.03)


def test_what_is_asked_second_pays_as_c_says() -> None:
    """Nearer to the truth of all calls in the order of c; and where only noise is left, nothing."""
    settings = Settings(draws=20)
    rows = list(paraphrases.rows_of(made((1.0, 0.1, 2.0, 0.8), contexts=200), _gold(), settings))
    itself = {str(r["second"]): float(str(r["value"])) for r in rows if r["quantity"] == "itself"}
    c = {str(r["second"]): float(str(r["value"])) for r in rows if r["quantity"] == "c"}
    assert sorted(c, key=c.__getitem__) == [ORDER, BOTH, WORDS]
    assert itself[NONE] < itself[WORDS] < itself[BOTH] < itself[ORDER]
    assert ALL not in itself
    people = [float(str(r["value"])) for r in rows if r["quantity"] == "people"]
    assert len(people) == 5  # people here roll dice
    assert np.abs(people).max() < 12.0


def _gold() -> Floats:
    return np.random.default_rng(9).standard_normal((200, 4))
