"""Making a target: is its result up to date, make it, write it down with what it cost.

The numbers of a result depend on target, draws and seed alone. Of what it was made with, the index
of results has one digest of all code and data; a result whose digest is another is made again.
"""

from __future__ import annotations

import ast
import hashlib
import os
import platform
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import scipy

import poe
from reproduction import answers, imports, results
from reproduction.results import read as read
from reproduction.settings import Settings
from reproduction.targets import TARGETS, Target

ROOT = Path(__file__).resolve().parents[1]
DATA = ("labels", "published", "datasets.toml", "targets.toml", "twins.toml")

Result = TypeVar("Result")

# What a result was made from ----------------------------------------------------------------


@cache
def digest(root: Path = ROOT) -> str:
    """Checksum of what numbers can depend on: data, and all code that what makes a target imports.

    Comments, docstrings and layout of the code do not count, nor front doors, which say where names
    lie.
    """
    checksum = hashlib.sha256()
    makers = "".join(f"import {name.rpartition('.')[0]}\n" for name in imports.of_targets(root))
    code = [path for path in imports.needed(root, makers).values() if not imports.door(path)]
    for path in sorted([*code, *inputs(root)]):
        checksum.update(path.relative_to(root).as_posix().encode())
        checksum.update(
            _code(path.read_text("utf-8")) if path.suffix == ".py" else path.read_bytes()
        )
    return checksum.hexdigest()[:16]


def inputs(root: Path = ROOT) -> list[Path]:
    """The files of data/ that numbers can depend on."""
    places = [root / "data" / name for name in DATA]
    every = {path for place in places for path in (place, *place.rglob("*"))}
    return sorted(path for path in every if path.is_file() and path.suffix != ".md")


def _code(text: str) -> bytes:
    """The statements that do something: a string that stands alone is a docstring."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            node.body = [each for each in node.body if not _is_docstring(each)]
    return ast.unparse(tree).encode()


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def outdated(about: Mapping[str, Any], target: Target) -> bool:
    """Tell whether a result, from its description, was made by other code or from other data.

    Of a target that reads a model's answers, from other answers as well.
    """
    if (about.get("code") or {}).get("digest") != digest():
        return True
    return bool(target.answers) and about.get("settings", {}).get("answers") != answers_read(target)


def answers_read(target: Target) -> str | dict[str, str]:
    """Digests of the models' answers that it reads: of one model, or of each."""
    known = {model: answers.digest(answers.MODELS[model]) for model in target.answers}
    return known if len(known) > 1 else "".join(known.values())


def made_with(settings: Settings) -> dict[str, Any]:
    """Describe what else a result has to be made with to be up to date."""
    known: dict[str, Any] = {"draws": settings.draws, "seed": settings.seed}
    if settings.target.answers:
        known["answers"] = answers_read(settings.target)
    if settings.target.kind in ("skill", "llmbar"):
        known["full"] = settings.full
    return known


def is_fresh(settings: Settings, out: Path | None = None) -> bool:
    """Tell whether the result on disk is what `make` would write now, or of the papers' sizes."""
    about = results.index(out).get(settings.target.name)
    if about is None or results.read(settings.target.name, out) is None:
        return False
    then, now = about.get("settings", {}), made_with(settings)
    if then.get("full"):
        now["full"] = True
    return not outdated(about, settings.target) and then == now


# Making -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Run:
    """What one run of one target, or of all, took.

    date : when it began, UTC, as ISO 8601. seconds : on the clock. cpu_seconds : of all threads
    together. cores : that the process may use. invoked : what was typed. A target of
    `judging reproduce all` finds draws that earlier ones have made, so it may cost less than alone.
    """

    date: str
    seconds: float
    cpu_seconds: float
    cores: int
    workers: int
    invoked: str


def timed(work: Callable[[], Result], *, invoked: str, workers: int) -> tuple[Result, Run]:
    """Time some work: what it gives, and what it took."""
    date = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    wall, cpu = time.perf_counter(), sum(os.times()[:4])  # children count when they have ended
    result = work()
    seconds, cpu_seconds = time.perf_counter() - wall, sum(os.times()[:4]) - cpu
    return result, Run(date, round(seconds, 2), round(cpu_seconds, 2), cores(), workers, invoked)


def cores() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True)
class Made:
    """One target that was made."""

    table: pd.DataFrame
    path: Path
    run: Run


def table(name: str, **options: Any) -> pd.DataFrame:
    """The table of a target, made and not written; options of `Settings`."""
    return TARGETS[name].function(Settings(**options).of(TARGETS[name]))


def make(settings: Settings, *, out: Path | None = None, invoked: str = "") -> Made:
    """Run a target and write its result."""
    target = settings.target
    table, run = timed(
        lambda: target.function(settings),
        invoked=invoked or target.command,
        workers=settings.workers,
    )
    path = results.write(table, target, describe(table, settings, run), out)
    return Made(table, path, run)


def describe(table: pd.DataFrame, settings: Settings, run: Run) -> dict[str, Any]:
    """Describe how a result was made: its block of the index."""
    return {
        "command": settings.target.command,
        "what": settings.target.what,
        "kind": "/".join(sorted(map(str, table["kind"].unique()))),
        "labels": "/".join(sorted(map(str, table["labels"].unique()))),
        "draws": int(table["draws"].max()),
        "seed": settings.seed,
        "settings": made_with(settings),
        "run": asdict(run),
        "code": {"version": poe.__version__, "digest": digest()},
        "versions": {
            "python": platform.python_version(),
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            **table.attrs.get("versions", {}),
        },
    }
