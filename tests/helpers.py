"""Random problems, invented texts, other processes and short targets, shared by the tests.

What needs judging or reproduction imports it where it is used: the tests of poe run without.
"""

import functools
import logging
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

import judging
import poe

ROOT = Path(__file__).resolve().parents[1]
# First line of a program that a test interrupts: a shell's background job, and all that it starts,
# is born deaf to Ctrl-C.
HEARS_CTRL_C = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"


def read_csv(path, **options):
    """A CSV file with the very numbers that were written: pandas 3 does so by itself."""
    import pandas as pd

    exact = {} if int(pd.__version__.split(".")[0]) >= 3 else {"float_precision": "round_trip"}
    return pd.read_csv(path, **exact, **options)


def start(program, **options):
    """Run a program, which can import tests, in a process that hears Ctrl-C."""
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", HEARS_CTRL_C + program],
        **{"cwd": ROOT, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True},
        **options,
    )


class Forked:
    """A copy of this process that calls a function: a process of its own, with nothing to load."""

    def __init__(self, call):
        there, here = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            status = 70  # whatever goes wrong, pytest does not go on in the copy
            try:
                os.dup2(here, 1)
                os.dup2(here, 2)
                sys.stdout = sys.stderr = os.fdopen(here, "w", buffering=1)
                logging.getLogger().handlers.clear()  # pytest's
                signal.signal(signal.SIGINT, signal.default_int_handler)
                status = call()
            finally:
                sys.stdout.flush()
                os._exit(status)
        os.close(here)
        self.said = os.fdopen(there)

    def wait(self):
        """Its exit status, negative where a signal ended it, and all that it said."""
        said = self.said.read()
        self.said.close()
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1]), said

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)


def random_comparisons(seed, *, n=9, count=40, hard=False, names=None, spread=1.0):
    """A connected set of comparisons with probabilities from a noisy simulated judge."""
    rng = np.random.default_rng(seed)
    quality = spread * rng.standard_normal(n)
    judge = judging.SimulatedJudge(quality, noise=0.8, bias=0.3, seed=rng)
    pairs = poe.select(n, count, seed=rng)
    c = judge.compare(pairs, items=names)
    return c.hard() if hard else c


@functools.cache
def placeholders(data):
    """Invented texts for a dataset: the real ones are no part of the repository."""
    from judging.datasets.originals import ALL, Content

    contexts = {k: f"What {k} is about." if k != ALL else "" for k in data.context_ids}
    texts = tuple(
        tuple(f"Placeholder {n}, by {name}, for {k}." for n, name in enumerate(data.candidate_ids))
        for k in contexts
    )
    return Content(contexts, data.candidate_ids, texts, {})


def short(name, **options):
    """A target with fewer points: those of a curve do not depend on the others."""
    from reproduction.targets import TARGETS

    target = TARGETS[name]
    return replace(target, options={**target.options, **options})
