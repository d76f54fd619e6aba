"""Ten comparisons for each text: Spearman and Brown by hand and by simulation."""

import numpy as np
import pandas as pd
import pytest

from studies.ten_comparisons import needed, reached, rule


def test_by_hand():
    """Halves of .5 after 20 judgings: 2/3 in all, odds of two; .8 has odds of four, so 40 times."""
    h, n = np.array([0.5]), np.array([20.0])
    assert reached(h, n, n) == pytest.approx(2 / 3)
    assert needed(h, n) == pytest.approx(40.0)
    assert reached(h, n, 40.0) == pytest.approx(0.8)
    assert np.isinf(needed(np.array([-0.1]), n))


def test_more_readings_do_what_is_foretold():
    """Two sets of 12 readings of 40,000 qualities foretell how two sets of 40 correlate."""
    rng = np.random.default_rng(0)
    quality = rng.standard_normal(40_000)

    def session(readings):
        return quality + 3.0 * rng.standard_normal(40_000) / np.sqrt(readings)

    h = np.corrcoef(session(12), session(12))[0, 1]
    # `reached` is of all judges, here two sets of 12, and of 40 readings in all.
    assert reached(np.array(h), np.array(24.0), 40.0) == pytest.approx(
        np.corrcoef(session(40), session(40))[0, 1], abs=0.01
    )


def test_groups_are_counted_by_hand():
    every = pd.DataFrame(
        {
            "design": ["not adaptive"] * 3 + ["adaptive"],
            "judged": [10.0, 20.0, 40.0, 12.0],
            "h": [0.5, 0.7, 0.9, 0.8],
        }
    )
    rows = pd.DataFrame(rule(every)).set_index(["design", "judged", "quantity"])["value"]
    # 2h / (1 + h) is 0.67, 0.82, 0.95; needed 20, 17.1, 8.9.
    assert rows["not adaptive", "all", "reach .8, per cent"] == pytest.approx(200 / 3)
    assert rows["not adaptive", "20 or more", "reach .8, per cent"] == 100.0
    assert rows["not adaptive", "all", "would with twenty, per cent"] == 100.0
    assert rows["not adaptive", "all", "needed by half"] == pytest.approx(17.142857)
    assert ("adaptive", "20 or more", "reach .8, per cent") not in rows
