"""What `import poe` and `import judging` offer: the same names to Python and to type checkers."""

from __future__ import annotations

import ast
import importlib
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import judging
import poe

ROOT = Path(__file__).resolve().parents[1]
SNIPPET = """\
import judging
from judging import Ranking, rank
from poe import Comparisons, fit, next_comparisons, select, win_ratio

answers = Comparisons(first=["a", "b", "c"], second=["b", "c", "a"], p=[0.9, 0.6, 0.3])
found = fit(answers, expert="bradley-terry", bias="fit")
best, apart = found.ranking()[0], found.prob_better("a", "b") + win_ratio(answers).sum()
asked = [tuple(pair) for pair in [*select(10, 20), *next_comparisons(found, 2)]]
ranked: Ranking = rank({"a": "One.", "b": "Two."}, judging.open("demo"), attribute="better")
print(best, apart, asked, ranked.fit.scores, judging.__version__)
"""
TYPO = "import poe\npoe.fitt\n"


def stub(package: ModuleType) -> dict[str, str]:
    """The names that a package's stub exports, each with the module that it is from."""
    tree = ast.parse((ROOT / package.__name__ / "__init__.pyi").read_text(encoding="utf-8"))
    found = {}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                assert alias.asname == alias.name, "without `as` a strict checker does not export"
                found[alias.name] = str(node.module)
    return found


def checked(tmp_path: Path, code: str) -> subprocess.CompletedProcess[str]:
    """What mypy says of a user's file, strictly, with both packages as if they were installed."""
    file = tmp_path / "users.py"
    file.write_text(code, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent"]
    command += ["--config-file=", f"--cache-dir={tmp_path}/cache", str(file)]
    environment = {**os.environ, "MYPYPATH": str(ROOT)}
    return subprocess.run(
        command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False
    )


@pytest.mark.parametrize("package", [poe, judging])
def test_the_stub_and_the_package_offer_the_same(package: ModuleType) -> None:
    names = stub(package)
    modules = {name for name, home in names.items() if home == package.__name__}
    assert set(names) - modules == set(package.__all__)
    for name, home in names.items():
        found = getattr(package, name)
        if name in modules:
            assert found is importlib.import_module(f"{home}.{name}")
        else:
            assert found is getattr(importlib.import_module(home), name)


@pytest.mark.long
def test_a_strict_type_checker_takes_what_a_user_writes(tmp_path: Path) -> None:
    done = checked(tmp_path, SNIPPET)
    assert done.returncode == 0, done.stdout
    done = checked(tmp_path, TYPO)
    assert 'Module has no attribute "fitt"' in done.stdout


@pytest.mark.needs("pyright")
@pytest.mark.parametrize(("code", "wrong"), [(SNIPPET, False), (TYPO, True)])
def test_so_does_pyright(code: str, wrong: bool, tmp_path: Path) -> None:
    (tmp_path / "users.py").write_text(code, encoding="utf-8")
    strict = {"typeCheckingMode": "strict", "include": ["users.py"], "extraPaths": [str(ROOT)]}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(strict), encoding="utf-8")
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    found = json.loads(done.stdout)
    assert found["summary"]["filesAnalyzed"] == 1
    said = [one["message"] for one in found["generalDiagnostics"] if one["severity"] == "error"]
    assert bool(said) == wrong, said
    assert all("fitt" in one for one in said)


def test_what_a_user_writes_runs() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SNIPPET], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("a ")
