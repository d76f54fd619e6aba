"""A new expert: one file and one line in the package, or an object with four functions."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.special import logit

import poe
from poe.experts import NAMES, get_expert
from tests.poe.oracles import LogCosh

ONE_FILE = '''
from dataclasses import dataclass

import numpy as np
from scipy.special import logit

from poe.experts.base import Expert, named


@named
@dataclass(frozen=True)
class LogCosh(Expert):
    """A spring nearby, a constant pull far away."""

    name: str = "log-cosh"

    def energy(self, d, p):
        return np.logaddexp(d - logit(p), logit(p) - d)

    def slope(self, d, p):
        return np.tanh(d - logit(p))

    def curvature(self, d, p):
        return 1.0 - np.tanh(d - logit(p)) ** 2

    def log_density(self, d, p):
        return -self.energy(d, p) - np.log(np.pi / 2.0)
'''
ONE_LINE = "from poe.experts.log_cosh import LogCosh as LogCosh\n"
USE = """
import poe
c = poe.Comparisons(first=[*"abca"], second=[*"bcac"], p=[0.9, 0.8, 0.3, 0.6])
fit = poe.fit(c, expert="log-cosh", bias="mean")
assert "log-cosh" in poe.experts.NAMES
print(poe.__file__, *fit.ranking(), len(poe.next_comparisons(fit, 2)), fit.interval().shape)
"""


def test_a_new_expert_is_one_file_and_one_line(tmp_path):
    shutil.copytree(Path(poe.__file__).parent, tmp_path / "poe")
    experts = tmp_path / "poe" / "experts"
    (experts / "log_cosh.py").write_text(ONE_FILE)
    door = experts / "__init__.py"
    after = "from poe.experts.laplacian import Laplacian as Laplacian\n"
    assert after in door.read_text()
    door.write_text(door.read_text().replace(after, after + ONE_LINE))
    command = [sys.executable, "-c", USE]
    done = subprocess.run(command, cwd=tmp_path, env={}, capture_output=True, text=True)
    assert done.stdout.split() == f"{tmp_path}/poe/__init__.py a b c 2 (3, 2)".split(), done.stderr


@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_taken_by_fit(name):
    c = poe.Comparisons(first=[*"abca"], second=[*"bcac"], p=[0.9, 0.8, 0.3, 0.6])
    assert poe.fit(c, name).ranking() == ["a", "b", "c"]
    with pytest.raises(ValueError, match=f"choose from .*{name}"):
        get_expert("nobody")


class TestFourFunctionsAreEnough:
    def test_what_they_leave_out_follows_from_them(self):
        expert, p = get_expert(LogCosh()), np.array([0.1, 0.5, 0.98])
        np.testing.assert_allclose(expert.opinion(p), logit(p), atol=1e-12)
        assert expert.mean_bias(0.8) == pytest.approx(-logit(0.8))
        with pytest.raises(ValueError, match="no finite bias"), np.errstate(all="ignore"):
            expert.mean_bias(1.0)
        d = np.linspace(-2, 2, 3)
        for part in (expert.second_derivative, expert.information):
            np.testing.assert_array_equal(part(d, p), LogCosh().curvature(d, p))
        assert expert.convex
        assert (expert.name, expert.family) == ("LogCosh", "LogCosh")

    def test_whoever_is_wrapped_once_is_not_wrapped_again(self):
        expert = get_expert(LogCosh())
        assert get_expert(expert) is expert

    def test_everything_that_takes_an_expert_takes_them(self):
        c = poe.Comparisons(first=[*"abca"], second=[*"bcac"], p=[0.9, 0.8, 0.3, 0.6])
        fit = poe.fit(c, LogCosh(), bias="mean")
        assert fit.bias == pytest.approx(-logit(0.65))
        assert repr(fit).startswith("Fit(3 items, LogCosh: a ")
        assert np.isfinite(fit.interval()).all()
        assert len(poe.next_comparisons(fit, 2)) == 2
        assert poe.plan(20, standard_error=0.5, expert=LogCosh()).comparisons > 19

    def test_what_they_do_give_is_used(self):
        class More(LogCosh):
            name = "more"
            convex = False

            def opinion(self, p):
                return logit(p) + 1.0

        expert = get_expert(More())
        assert (expert.name, expert.convex) == ("more", False)
        assert expert.mean_bias(0.5) == -1.0
