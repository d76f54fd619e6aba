"""When a result was made and what it cost: recorded beside each result, and for all of them."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

ALL = "all"  # data/results/all.json: the runs of `poe reproduce all`


@dataclass(frozen=True)
class Run:
    """One run of one target, or of all.

    date : when it began, UTC, as ISO 8601. seconds : on the clock. cpu_seconds : of all threads
    together. cores : that the process may use. invoked : what was typed. A target of `poe
    reproduce all` finds draws that earlier ones have made, so it may cost less than alone.
    """

    date: str
    seconds: float
    cpu_seconds: float
    cores: int
    workers: int
    invoked: str


class Stopwatch:
    """Started when made; `run` says what has passed since."""

    def __init__(self, invoked: str, *, workers: int = 1) -> None:
        self.invoked, self.workers = invoked, workers
        self.date = now()
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def run(self) -> Run:
        """The run so far."""
        return Run(
            date=self.date,
            seconds=round(time.perf_counter() - self._wall, 2),
            cpu_seconds=round(time.process_time() - self._cpu, 2),
            cores=cores(),
            workers=self.workers,
            invoked=self.invoked,
        )


def now() -> str:
    """The time in UTC, or SOURCE_DATE_EPOCH (seconds since 1970), by which builds repeat."""
    fixed = os.environ.get("SOURCE_DATE_EPOCH")
    at = datetime.now(UTC) if fixed is None else datetime.fromtimestamp(int(fixed), UTC)
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def cores() -> int:
    """Processor cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def of_result(about: Mapping[str, object]) -> Run | None:
    """The run a result's description records, None in those written before there were any."""
    found = about.get("run")
    return Run(**found) if isinstance(found, dict) else None


def write_all(
    folder: Path, run: Run, *, made: int, up_to_date: int, settings: Mapping[str, object]
) -> Path | None:
    """Record a run of all targets that came to its end in FOLDER/all.json.

    Two are kept: "latest", and "whole", the latest that made every target anew, which alone says
    what all of them cost. A run that found nothing to do leaves the file as it is: None.
    """
    path = folder / f"{ALL}.json"
    if not made:
        return None
    entry = {**asdict(run), "made": made, "up_to_date": up_to_date, "settings": dict(settings)}
    kept = read_all(folder)
    kept["latest"] = entry
    if not up_to_date:
        kept["whole"] = entry
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(kept, indent=2) + "\n")
    return path


def read_all(folder: Path) -> dict[str, dict[str, object]]:
    """What `write_all` has recorded: "latest" and, if there was one, "whole"; else empty."""
    path = folder / f"{ALL}.json"
    return dict(json.loads(path.read_text())) if path.exists() else {}
