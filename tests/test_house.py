"""The house as CONTRIBUTING draws it: which way imports run, what is public, what loads."""

import ast
import subprocess
import sys
from pathlib import Path

import poe

ROOT = Path(__file__).resolve().parents[1]

# Each floor may import what stands on it or below, never what is above.
FLOORS = [
    {"errors", "_paths"},
    {"graph", "tables"},
    {"comparisons", "metrics", "columns"},
    {"experts", "stack"},
    {"newton", "sparse", "central_path", "existence", "resistance", "scores", "scatter"},
    {"lp"},
    {"result", "debias"},
    {"clusters"},
    {"empirical"},
    {"fitting"},
    {"designs", "plots"},
    {"greedy"},
    {"adaptive", "selection"},
    {"planning", "stopping", "datasets"},
    {"judges", "baselines", "rankings"},
    {"rounds", "panel"},
    {"ranking"},
    {"findings"},
    {"report"},
    {"leaderboard"},
    {"cli"},
    {"__main__"},
]
LEVEL = {name: level for level, names in enumerate(FLOORS) for name in names}


def imports(path: Path, *, anywhere: bool = False) -> set[str]:
    """Every module that a file imports, at its top level or also inside functions."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = set()
    for node in ast.walk(tree) if anywhere else tree.body:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def upward(room: str, names: set[str]) -> list[str]:
    rooms = {name.split(".")[1] for name in names if name.startswith("poe.")}
    return sorted(other for other in rooms & set(LEVEL) if LEVEL[other] > LEVEL[room])


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


def test_neither_the_package_nor_the_reproduction_knows_what_stands_above_it() -> None:
    for path in (ROOT / "poe").rglob("*.py"):
        named = {name.split(".")[0] for name in imports(path, anywhere=True)}
        if path.parts[-2:] == ("cli", "__init__.py"):
            named -= {"reproduction"}  # `poe reproduce` looks for the clone around it
        assert not named & {"reproduction", "book", "tests", "benchmarks"}, path
    for path in (ROOT / "reproduction").rglob("*.py"):
        named = {name.split(".")[0] for name in imports(path, anywhere=True)}
        assert not named & {"book", "tests"}, path


def test_the_front_door_is_small_and_light() -> None:
    assert len(poe.__all__) <= 25
    assert all(getattr(poe, name).__doc__ for name in poe.__all__)
    heavy = ["torch", "cvxpy", "matplotlib", "scipy", "pandas", "typer"]
    code = f"import poe, sys; sys.exit(' '.join(m for m in {heavy} if m in sys.modules) or 0)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
