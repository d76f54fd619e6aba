"""The recipes of the page on clusters, on one machine that plays two, with a part killed midway.

What they promise: the answers of one process, and nothing asked twice beyond what was in flight.
"""

import csv
import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import numpy as np
import pytest

from judging.practice.cli import main

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "book" / "clusters.md").read_text("utf-8")
LIMIT = 900.0  # seconds that a machine with other work may take for the whole


def recipe(begins: str) -> str:
    """The code of the page that begins so."""
    (found,) = re.findall(rf"```\n({re.escape(begins)}.*?)```", PAGE, re.S)
    return found


def wait(until: Callable[[], bool]) -> None:
    """Look every fifth of a second."""
    end = time.monotonic() + LIMIT
    while not until():
        assert time.monotonic() < end
        time.sleep(0.2)


def answers(store: Path) -> dict[str, np.ndarray]:
    """Probabilities by question; none while the store is not there yet."""
    with (
        suppress(sqlite3.OperationalError),
        closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as file,
    ):
        rows = file.execute("SELECT question, log_p FROM answers").fetchall()
        return {question: np.exp(json.loads(log_p)) for question, log_p in rows}
    return {}


@pytest.fixture
def essays(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Six texts, so thirty questions, and a command `judging` that is this clone's."""
    from tests.tiny_models import sentences

    with (folder / "essays.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["text"], *([text] for text in sentences(6, 4))])
    command = folder / "judging"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m judging "$@"\n')
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    return folder


def holds_what_one_process_answers(folder: Path) -> None:
    """Merge as the page does, and ask the same in this process."""
    stores = sorted(str(path) for path in folder.glob("shard-*.sqlite"))
    assert len(stores) == 4
    assert main(["store", "merge", "judgements.sqlite", *stores]) == 0
    what = ["essays.csv", "more persuasive", "--judge", "smollm2", "--orders", "both", "--quiet"]
    assert main(["ask", *what, "--store", "one.sqlite"]) == 0
    theirs, ours = answers(folder / "judgements.sqlite"), answers(folder / "one.sqlite")
    assert len(ours) == 30
    assert theirs.keys() == ours.keys()
    assert max(np.abs(theirs[k] - ours[k]).max() for k in ours) < 1e-4  # of other batches


@pytest.fixture
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A controller and two nodes of one processor each, on loopback."""
    home, host = tmp_path_factory.mktemp("slurm"), socket.gethostname()
    (home / "slurm.conf").write_text(
        f"ClusterName=one\nSlurmctldHost={host}(127.0.0.1)\nSlurmUser=root\n"
        f"AuthType=auth/munge\nStateSaveLocation={home}\nSlurmdSpoolDir={home}/%n\n"
        f"SlurmctldPidFile={home}/controller.pid\nSlurmdPidFile={home}/%n.pid\n"
        f"SlurmctldLogFile={home}/controller.log\nSlurmdLogFile={home}/%n.log\n"
        "ProctrackType=proctrack/pgid\nTaskPlugin=task/none\nSelectType=select/cons_tres\n"
        f"NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port=17001 CPUs=1\n"
        f"NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port=17002 CPUs=1\n"
        "PartitionName=all Nodes=n1,n2 Default=YES State=UP\n"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLURM_CONF", str(home / "slurm.conf"))
        Path("/run/munge").mkdir(exist_ok=True)
        subprocess.run(["chown", "munge:", "/run/munge"], check=True)
        keys = subprocess.Popen(["runuser", "-u", "munge", "--", "munged", "--foreground"])
        wait(lambda: subprocess.run(["munge", "-n"], capture_output=True).returncode == 0)
        for daemon in (["slurmctld"], ["slurmd", "-N", "n1"], ["slurmd", "-N", "n2"]):
            subprocess.run(daemon, check=True)
        yield
        subprocess.run(["scontrol", "shutdown"], check=True)
        keys.terminate()
        keys.wait()


@pytest.mark.needs("slurm", "smollm2")
def test_slurm_goes_on_where_a_part_was_killed(essays, slurm):
    (essays / "shards.sh").write_text(recipe("#!/bin/bash\n#SBATCH --array=1-4"))

    def give(*options: str) -> str:
        command = ["sbatch", "--parsable", *options, "shards.sh"]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def running() -> str:
        return subprocess.run(["squeue", "-h"], check=True, capture_output=True, text=True).stdout

    job, second = give(), essays / "shard-2.sqlite"
    wait(lambda: len(answers(second)) > 0)
    subprocess.run(["scancel", "--signal=KILL", "--full", f"{job}_2"], check=True)
    wait(lambda: f"{job}_2" not in running())
    before = answers(second)
    again = give("--array=2")
    wait(lambda: not running())
    said = (essays / f"slurm-{again}_2.out").read_text()
    assert f"{len(before)} answered already" in said
    holds_what_one_process_answers(essays)


@pytest.mark.needs("ray", "smollm2")
def test_ray_tries_a_lost_part_again(essays):
    (essays / "shards.py").write_text(recipe("import ray"))
    second = essays / "shard-2.sqlite"
    with (essays / "log").open("w") as log:
        driver = subprocess.Popen([sys.executable, "shards.py"], stdout=log, stderr=log)
        wait(lambda: len(answers(second)) > 0 or driver.poll() is not None)
        (worker,) = (
            int(files.parent.name)
            for files in Path("/proc").glob("[0-9]*/fd")
            if str(second) in [os.readlink(file) for file in files.glob("*")]
        )
        os.kill(worker, signal.SIGKILL)
        before = answers(second)
        assert driver.wait(LIMIT) == 0
    assert f"{len(before)} answered already" in (essays / "log").read_text()
    holds_what_one_process_answers(essays)
