"""The house as CONTRIBUTING draws it: which way imports run, what is public, what loads."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import poe

ROOT = Path(__file__).resolve().parents[1]
MAP = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")

# Each floor may import what stands on it or below, never what is above.
FLOORS = [
    {"errors", "_paths"},
    {"graph"},
    {"comparisons", "metrics"},
    {"experts", "stack"},
    {"newton", "sparse", "central_path", "existence", "resistance", "scores"},
    {"lp"},
    {"result", "debias"},
    {"fitting"},
    {"designs", "plots"},
    {"greedy"},
    {"adaptive", "selection"},
    {"planning", "stopping", "datasets"},
    {"judges", "baselines"},
    {"ranking", "panel"},
    {"report"},
    {"cli"},
]
LEVEL = {name: level for level, names in enumerate(FLOORS) for name in names}


def imports(path: Path) -> set[str]:
    """Every module that a file imports at its top level, with the names taken from packages."""
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def anywhere(path: Path) -> set[str]:
    """As `imports`, inside functions too."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found


def rooms(names: set[str]) -> set[str]:
    return {name.split(".")[1] for name in names if name.startswith("poe.")}


def upward(room: str, names: set[str]) -> list[str]:
    return sorted(other for other in rooms(names) & set(LEVEL) if LEVEL[other] > LEVEL[room])


def test_imports_run_one_way() -> None:
    files = [path for path in (ROOT / "poe").rglob("*.py") if path.parent.name != "__pycache__"]
    found = {}
    for path in files:
        room = path.relative_to(ROOT / "poe").parts[0].removesuffix(".py")
        if room == "__init__":
            continue
        assert room in LEVEL, f"{room} has no floor: give it one here and in CONTRIBUTING"
        if wrong := upward(room, imports(path)):
            found[path.name] = wrong
    assert found == {}


def test_an_upward_import_would_be_noticed() -> None:
    assert upward("comparisons", {"poe.fitting.fit", "poe.errors.name_some"}) == ["fitting"]


def test_the_package_knows_neither_the_reproduction_nor_the_book() -> None:
    for path in (ROOT / "poe").rglob("*.py"):
        named = {name.split(".")[0] for name in anywhere(path)}
        if path.name == "cli.py":
            named -= {"reproduction"}  # `poe reproduce` looks for the clone around it
        assert not named & {"reproduction", "book", "tests", "benchmarks"}, path


def test_the_reproduction_does_not_know_the_book() -> None:
    for path in (ROOT / "reproduction").rglob("*.py"):
        assert not {name.split(".")[0] for name in anywhere(path)} & {"book", "tests"}, path


def test_contributing_names_every_room() -> None:
    for room in LEVEL:
        assert re.search(rf"\b{room.removeprefix('_')}\b", MAP), room
    for folder in ("book", "notebooks", "poe", "reproduction", "tests", "data", "benchmarks"):
        assert f"`{folder}/`" in MAP, folder


def test_the_top_level_is_what_was_asked_for() -> None:
    listed = subprocess.run(
        ["git", "ls-tree", "--name-only", "-d", "HEAD"], cwd=ROOT, capture_output=True, text=True
    )
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    folders = {name for name in listed.stdout.split() if not name.startswith(".")}
    asked = {"book", "notebooks", "poe", "reproduction", "tests", "data", "benchmarks"}
    assert folders == asked


def test_the_front_door_is_small_and_light() -> None:
    assert len(poe.__all__) <= 25
    assert all(getattr(poe, name).__doc__ for name in poe.__all__)
    heavy = ["torch", "cvxpy", "matplotlib", "scipy", "pandas", "typer"]
    code = f"import poe, sys; sys.exit(' '.join(m for m in {heavy} if m in sys.modules) or 0)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_every_public_module_says_what_is_public() -> None:
    for path in (ROOT / "poe").glob("*.py"):
        if not path.name.startswith("_"):
            assert "__all__" in path.read_text(encoding="utf-8"), path.name
