"""The house as CONTRIBUTING draws it: which way imports run, what is public, what loads."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

import pytest

import judging
import poe
from reproduction.targets import TARGETS

ROOT = Path(__file__).resolve().parents[1]
# Each may import itself and what stands before it, and nothing else of ours.
PACKAGES = ("poe", "judging", "reproduction", "studies", "benchmarks", "book", "tests")
# The practitioner's tool stands on poe and judging. Of what stands beside it, the two doors of
# judging alone know it; benchmarks, pages about it and their tools may.
TOOL = "judging.practice"
DOORS = {"judging", "judging.__main__"}
TOOLS_OWN = {"typer", "rich"}
# What poe may import beside Python's own library: a bare install has these five.
CORE = {"numpy", "scipy", "cvxpy", "clarabel", "highspy"}
MOST_LINES = 450  # of a module of poe: one sitting
WHOLE = 6450, 41  # lines and files of all of poe: a morning, with how much of a lead is luck


def modules(root: Path, package: str) -> dict[str, Path]:
    """The files of a package by the names of their modules."""
    found = {}
    for path in sorted((root / package).rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def imports(path: Path) -> set[str]:
    """All that a file imports, wherever it does: at the top, in functions, for types alone."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path} imports relatively, which nothing else here does"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def longest(name: str, known: Iterable[str]) -> str:
    """The module that a dotted name is of, or is; "" where it is of none."""
    while name and name not in known:
        name = name.rpartition(".")[0]
    return name


def arrows(known: Mapping[str, Path]) -> dict[str, set[str]]:
    """Which module names which; a front door is a list of names and imports nothing itself."""
    doors = {name for name in known if name in PACKAGES}
    found: dict[str, set[str]] = {}
    for name, path in known.items():
        if name in doors:
            continue
        found[name] = {longest(used, known) for used in imports(path)} - {"", name} - doors
    return found


def circles(graph: Mapping[str, Iterable[str]]) -> list[set[str]]:
    """Groups of modules from each of which every other can be reached."""
    reach: dict[str, set[str]] = {}
    for start in graph:
        seen, left = set[str](), [start]
        while left:
            for name in graph.get(left.pop(), ()):
                if name not in seen:
                    seen.add(name)
                    left.append(name)
        reach[start] = seen
    groups = [{b for b in reach[a] if a in reach.get(b, ())} for a in graph if a in reach[a]]
    return [group for k, group in enumerate(groups) if group not in groups[:k]]


@pytest.mark.parametrize("package", ["poe", "judging", "reproduction", "studies", "benchmarks"])
def test_imports_run_one_way(package: str) -> None:
    above = set(PACKAGES[PACKAGES.index(package) + 1 :])
    if package == "benchmarks":
        above.add("studies")  # which only the book imports, and targets name
    for name, path in modules(ROOT, package).items():
        assert not {used.split(".")[0] for used in imports(path)} & above, name


def behind_the_wall(root: Path, *packages: str) -> set[tuple[str, str]]:
    """What of these packages imports the practitioner's tool: (module, what it imports)."""
    return {
        (name, used)
        for package in packages
        for name, path in modules(root, package).items()
        if name not in DOORS and not f"{name}.".startswith(f"{TOOL}.")
        for used in imports(path)
        if f"{used}.".startswith(f"{TOOL}.")
    }


def test_nobody_but_the_doors_imports_the_tool() -> None:
    assert behind_the_wall(ROOT, "poe", "judging", "reproduction", "studies") == set()
    assert any(used.startswith(TOOL) for used in imports(ROOT / "judging/__main__.py"))


def test_the_command_stays_in_the_tool() -> None:
    for name, path in modules(ROOT, "judging").items():
        if not f"{name}.".startswith(f"{TOOL}."):
            assert not {used.split(".")[0] for used in imports(path)} & TOOLS_OWN, name


def test_a_hole_in_the_wall_would_be_noticed(tmp_path: Path) -> None:
    for name, code in (
        ("judging/__init__.py", "import judging.practice"),
        ("judging/store.py", "def f():\n    from judging.practice.tables import csv_text"),
        ("judging/kinds.py", "from judging import practice"),
        ("judging/practice/rank.py", "from judging.practice import tables"),
        ("judging/practices.py", "import judging.practices"),
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_text(code)
    holes = {name for name, _ in behind_the_wall(tmp_path, "judging")}
    assert holes == {"judging.store", "judging.kinds"}


def test_targets_name_what_makes_them() -> None:
    """`reproduction` runs studies, which import it, by the names in data/targets.toml alone."""
    for target in TARGETS.values():
        home = "studies" if target.kind == "studies" else "reproduction"
        assert target.function.__module__.split(".")[0] == home, target.name


def test_there_is_no_circle() -> None:
    known = {name: path for p in PACKAGES[:4] for name, path in modules(ROOT, p).items()}
    assert circles(arrows(known)) == []


def test_a_circle_and_an_upward_import_would_be_noticed(tmp_path: Path) -> None:
    for name, code in (
        ("poe/__init__.py", "from poe import one"),
        ("poe/one.py", "def f():\n    from poe.two import g"),
        ("poe/two.py", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import poe.one"),
        ("poe/three.py", "def f():\n    import judging.store"),
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(code)
    known = modules(tmp_path, "poe")
    assert circles(arrows(known)) == [{"poe.one", "poe.two"}]
    assert "judging.store" in imports(known["poe.three"])


def test_poe_needs_five_packages_and_stays_small() -> None:
    ours, own = set(PACKAGES), set(sys.stdlib_module_names)
    for name, path in modules(ROOT, "poe").items():
        used = {one.split(".")[0] for one in imports(path)} - own - ours
        optional = {"pandas"} if path.name in PANDAS else set()
        assert used <= CORE | optional, name
        assert len(path.read_text("utf-8").splitlines()) <= MOST_LINES, name


def test_all_of_poe_is_read_before_lunch() -> None:
    files = list(modules(ROOT, "poe").values())
    texts = [path.read_text("utf-8") for path in files]
    lines = sum(len(text.splitlines()) for text in texts)
    assert lines <= WHOLE[0], f"{lines} lines"
    assert len(files) <= WHOLE[1], f"{len(files)} files"


# Tables out: who asks for one has pandas.
PANDAS = {"comparisons.py", "fitting.py", "result.py"}


def of_chapters() -> set[str]:
    """What the code that chapters show imports."""
    cells = r"^```\{code-cell\} python\n(?:---\n.*?^---\n)?(.*?)^```"
    line = r"^\s*(?:import|from) ([\w.]+)"
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "notebooks").glob("*.md")]
    shown = [cell for text in texts for cell in re.findall(cells, text, re.M | re.S)]
    return {name for cell in shown for name in re.findall(line, cell, re.M)}


def test_what_the_project_was_asked_to_be_made_of_is_used() -> None:
    """Imported by what is no test, or run: a dependency that only stands in a list is none."""
    ours = [path for name in PACKAGES[:-1] for path in modules(ROOT, name).values()]
    used = {name.partition(".")[0] for path in ours for name in imports(path)}
    used |= {name.partition(".")[0] for name in of_chapters()}
    assert {"numpy", "scipy", "pandas", "seaborn", "torch", "transformers", "cvxpy"} <= used
    render = (ROOT / "book" / "tools" / "render.py").read_text(encoding="utf-8")
    assert "from jupyter_book.cli.main import main" in render
    assert "-m jupyter lab" in (ROOT / "Makefile").read_text(encoding="utf-8")


@pytest.mark.parametrize("door", [poe, judging])
def test_the_front_doors_are_small_and_light(door: object) -> None:
    assert len(door.__all__) <= 25
    assert all(getattr(door, name).__doc__ for name in door.__all__)
    heavy = ["torch", "cvxpy", "matplotlib", "scipy", "pandas", "typer"]
    name = door.__name__
    code = f"import {name}, sys; sys.exit(' '.join(m for m in {heavy} if m in sys.modules) or 0)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


# What the rendered pages have in a browser's Python beyond poe: no HTTP.
NO_HTTP = """
import sys
sys.modules["httpx"] = None
import numpy as np, judging
judge = judging.SimulatedJudge(np.arange(6.0), seed=1)
judging.rank(6, judge.answer, budget=12, seed=1)
"""


def test_a_simulated_judge_is_ranked_where_there_is_no_http() -> None:
    done = subprocess.run([sys.executable, "-c", NO_HTTP], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
