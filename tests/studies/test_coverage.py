"""The experiment on how often intervals hold, small: what must fail beside what must hold."""

import numpy as np
import pytest
from scipy.special import logit

from studies import coverage


class TestCoverage:
    """The committed experiment, small, with what must fail beside what must hold."""

    def found(self, name, shared, design, replicates=120):
        grid = [(judge.name, judge.shared, where) for judge, where in coverage.GRID]
        rows = coverage.cell(grid.index((name, shared, design)), replicates, 7)
        return {(row["expert"], row["covariance"]): row for row in rows}

    @pytest.mark.parametrize("shared", [0.0, 1.0])
    def test_paired_holds_whether_orders_share_errors_or_not(self, shared):
        rows = self.found("noise 0.5", shared, "48 in both orders")
        for expert in coverage.EXPERTS:
            row = rows[expert, "paired"]
            assert abs(row["value"] - 95) < 2 + 3 * row["se"]
            alone = rows[expert, "scatter"]["value"]
            assert (alone < 85) == (shared == 1.0), "errors of their own are no match for shared"
        assert rows["bradley-terry", "curvature"]["value"] > 99
        if shared:
            wrong = rows["bradley-terry", "scatter"]
            assert wrong["top_stated"] - wrong["top_true"] > 8
            right = rows["bradley-terry", "paired"]
            assert abs(right["top_stated"] - right["top_true"]) < 7

    def test_the_target_is_what_more_calls_lead_to(self):
        """The mean of many answers of one judge to a question is what is said to be expected."""
        rng = np.random.default_rng(0)
        judge = coverage.Judge("x", 2.0, 1.5, 0.5)
        q = rng.standard_normal((1, coverage.TEXTS))
        many = np.repeat(q, 4000, axis=0)

        class Same:
            def standard_normal(self, shape):
                return many if shape == many.shape else rng.standard_normal(shape)

        answers, expected = judge.draw(4000, Same())
        error = answers.std(axis=0) / np.sqrt(4000)
        off = (answers.mean(axis=0) - expected[0]) / error
        assert np.abs(off[tuple(coverage.EVERY.T)]).max() < 4.5
        orders = np.corrcoef(logit(answers[:, 3, 5]), logit(answers[:, 5, 3]))
        assert orders[0, 1] == pytest.approx(-0.5, abs=0.05)
