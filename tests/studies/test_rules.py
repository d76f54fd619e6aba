"""Which rule of choice saves calls: how calls are counted."""

import numpy as np
import pytest

from studies.rules import calls_to


def test_calls_to_a_level_are_read_off_the_chord():
    steps, curve = [2, 4, 6], np.array([0.0, 1.0, 3.0])
    assert calls_to(steps, curve, 2.0) == 5.0
    assert calls_to(steps, curve, 0.25) == 2.5
    assert calls_to(steps, curve, 1.0) == 4.0


def test_a_level_from_the_beginning_or_never_is_an_end():
    steps, curve = [2, 4, 6], np.array([0.5, 1.0, 3.0])
    assert calls_to(steps, curve, 0.5) == calls_to(steps, curve, -1.0) == 2.0
    assert calls_to(steps, curve, 3.5) == 6.0


def test_it_is_the_first_time_that_counts():
    """A curve that falls again: chance, and the level was reached."""
    assert calls_to([2, 4, 6, 8], np.array([0.0, 2.0, 1.0, 4.0]), 1.5) == 3.5


@pytest.mark.parametrize("saved", [0.5, 0.8])
def test_a_rule_that_is_so_much_faster_has_that_ratio(saved):
    """The same curve in fewer calls; by lot reaches the level at the reference itself."""
    steps = list(range(2, 202, 2))
    by_lot = np.log(np.array(steps))
    faster = np.log(np.array(steps) / saved)
    assert calls_to(steps, faster, float(by_lot[39])) / 80 == pytest.approx(saved, rel=1e-3)
