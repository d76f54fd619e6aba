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
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import judging
from judging.practice.cli import main
from judging.question import Prompt, Question, Text

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
    """Eight texts, so 56 questions, and a command `judging` that is this clone's."""
    from tests.tiny_models import sentences

    with (folder / "essays.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["text"], *([text] for text in sentences(4, 8))])
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
    assert len(ours) == 56
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


def opened(process: Path) -> set[str]:
    """What a process has open; nothing of others' processes."""
    found = set[str]()
    with suppress(OSError):
        for file in (process / "fd").glob("*"):
            found.add(os.readlink(file))
    return found


@pytest.mark.needs("ray", "smollm2")
def test_ray_tries_a_lost_part_again(essays):
    (essays / "shards.py").write_text(recipe("import ray"))
    second = essays / "shard-2.sqlite"
    with (essays / "log").open("w") as log:
        driver = subprocess.Popen([sys.executable, "shards.py"], stdout=log, stderr=log)
        wait(lambda: len(answers(second)) > 0 or driver.poll() is not None)
        (worker,) = (
            int(process.name)
            for process in Path("/proc").glob("[0-9]*")
            if str(second) in opened(process)
        )
        os.kill(worker, signal.SIGKILL)
        before = answers(second)
        assert driver.wait(LIMIT) == 0
    assert f"{len(before)} answered already" in (essays / "log").read_text()
    holds_what_one_process_answers(essays)


class Blocks:
    """What the recipe asks of Ray Data, in this process: blocks of four lines, one by one."""

    def __init__(self, rows: list[str]) -> None:
        self.rows = rows

    def map_batches(self, actor: Callable[[], Any], **_: Any) -> "Blocks":
        """The rows that an actor makes of each block."""
        one, blocks = actor(), [self.rows[k : k + 4] for k in range(0, len(self.rows), 4)]
        return Blocks([row for block in blocks for row in one({"text": block})["text"]])

    def iter_rows(self) -> Iterator[dict[str, str]]:
        return ({"text": row} for row in self.rows)


def requests_of(folder: Path) -> None:
    """Write thirty requests to a batch file."""
    batch = ["--judge", "openai:smollm2@http://127.0.0.1:9/v1", "--batch", "requests.jsonl"]
    what = ["ask", "essays.csv", "more persuasive", "--orders", "both", "--budget", "30"]
    assert main([*what, *batch, "--store", "batch.sqlite", "--quiet"]) == 4


def imported(folder: Path) -> dict[str, np.ndarray]:
    """The results, each request once, as the store has them."""
    said = [json.loads(line)["custom_id"] for line in (folder / "results.jsonl").open()]
    assert len(said) == len(set(said)) == 30
    assert main(["store", "import", "results.jsonl", "--store", "batch.sqlite"]) == 0
    return answers(folder / "batch.sqlite")


def by_itself(folder: Path) -> dict[str, np.ndarray]:
    """The same, by the recipe's code without Ray."""
    ray = ModuleType("ray")
    ray.data = SimpleNamespace(  # type: ignore[attr-defined]
        read_text=lambda path, **_: Blocks(Path(path).read_text("utf-8").splitlines())
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "ray", ray)
        exec(recipe("import json\n\nimport judging\nimport ray"), {})
    return imported(folder)


@pytest.mark.needs("smollm2")
def test_an_actor_answers_a_batch_file(essays):
    """As the judge itself answers the turns of the requests."""
    requests_of(essays)
    found = by_itself(essays)
    judge, prompt = judging.open("smollm2"), Prompt("a turn", "{first}")
    lines = [json.loads(line) for line in (essays / "requests.jsonl").open()]
    turns = [Text("", one["body"]["messages"][-1]["content"]) for one in lines]
    for k, answer in judge.answer([Question(prompt, turn) for turn in turns]):
        mine = found[bytes.fromhex(lines[k]["custom_id"])]
        assert np.abs(mine - np.exp(answer.log_p)).max() < 1e-4  # of other batches


@pytest.mark.needs("ray", "smollm2")
def test_ray_data_answers_again_what_a_lost_actor_had(essays):
    """An actor killed as soon as there are results: every request has one answer in the end."""
    requests_of(essays)
    (essays / "answer.py").write_text(recipe("import json\n\nimport judging\nimport ray"))
    with (essays / "log").open("w") as log:
        driver = subprocess.Popen([sys.executable, "answer.py"], stdout=log, stderr=log)
        results = essays / "results.jsonl"
        there = lambda: results.is_file() and results.stat().st_size > 0  # noqa: E731
        wait(lambda: there() or driver.poll() is not None)
        actors = [
            int(path.parent.name)
            for path in Path("/proc").glob("[0-9]*/cmdline")
            if b"MapBatches(Answers)" in command_of(path)
        ]
        os.kill(min(actors), signal.SIGKILL)
        assert driver.wait(LIMIT) == 0
    by_ray = imported(essays)
    results.unlink()
    (essays / "batch.sqlite").unlink()
    requests_of(essays)
    ours = by_itself(essays)
    assert by_ray.keys() == ours.keys()
    assert max(np.abs(by_ray[k] - ours[k]).max() for k in ours) < 1e-4


def command_of(path: Path) -> bytes:
    """How a process is called; nothing once it has ended."""
    with suppress(OSError):
        return path.read_bytes()
    return b""
