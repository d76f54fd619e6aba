"""The wheel, installed alone: what is in it, and what it needs."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent

# One worker builds for all of these tests.
pytestmark = pytest.mark.xdist_group("wheel")
CORE = {
    *("numpy", "scipy", "pandas", "cvxpy", "tqdm"),  # fits
    *("httpx", "anyio", "tenacity", "pooch", "platformdirs"),  # servers and downloads
    *("typer", "rich", "jinja2", "matplotlib"),  # the command line and its report
}
# Packages of extras, imported when they are used.
EXTRAS = {"torch", "transformers", "sklearn", "seaborn", "IPython"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel without a network."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", str(ROOT), "--wheel-dir", str(folder)]
    subprocess.run([*command, "--no-deps", "--no-build-isolation", "--quiet"], check=True)
    (built,) = folder.glob("judging_by_comparison-*.whl")
    return built


def with_dependencies(names: list[str]) -> dict[str, Distribution]:
    """Return installed distributions and, in turn, what each of them requires."""
    found: dict[str, Distribution] = {}
    waiting = list(names)
    while waiting:
        name = waiting.pop().lower()
        if name in found:
            continue
        found[name] = distribution(name)
        for line in found[name].requires or []:
            requirement = Requirement(line)
            if not requirement.marker or requirement.marker.evaluate({"extra": ""}):
                waiting.append(requirement.name)
    return found


def link_packages(folder: Path, names: list[str]) -> None:
    """Make a folder of links to the named distributions, theirs, and nothing else."""
    folder.mkdir()
    for package in with_dependencies(names).values():
        for part in {Path(file).parts[0] for file in package.files or []}:
            source = Path(str(package.locate_file(part)))
            if part not in ("..", "__pycache__") and not (folder / part).exists():
                (folder / part).symlink_to(source)


@pytest.fixture(scope="module")
def clean_room(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel into a fresh environment that has its declared dependencies only."""
    folder = tmp_path_factory.mktemp("clean")
    environment = folder / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    python = environment / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
    subprocess.run([*pip, "--no-index", "--no-deps", str(wheel)], check=True)
    link_packages(folder / "packages", sorted(CORE))
    (site,) = environment.glob("lib/python*/site-packages")
    (site / "core.pth").write_text(str(folder / "packages"))
    return python


def run_in(python: Path, code: str) -> subprocess.CompletedProcess[str]:
    """Run code with nothing of this process's settings or folders."""
    return run_bare([str(python), "-I", "-c", code], python.parent)


def run_bare(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command with nothing of this process's settings."""
    bare = {"PATH": os.defpath, "HOME": str(folder)}
    return subprocess.run(command, capture_output=True, text=True, env=bare, cwd=folder)


def test_the_core_imports_and_fits_without_torch_or_matplotlib(clean_room: Path) -> None:
    done = run_in(
        clean_room,
        "import sys, poe\n"
        "c = poe.Comparisons(first=['a', 'b'], second=['b', 'c'], p=[0.9, 0.6])\n"
        "s = poe.fit(c, expert='gaussian').scores\n"
        "assert s[0] > s[1] > s[2], s\n"
        "assert not {'torch', 'transformers', 'matplotlib', 'seaborn'} & set(sys.modules)\n"
        "print(poe.__file__)",
    )
    assert done.returncode == 0, done.stderr
    assert "site-packages" in done.stdout


def test_the_clean_room_is_clean(clean_room: Path) -> None:
    for module in (*EXTRAS, "book", "reproduction"):
        done = run_in(clean_room, f"import {module}")
        assert done.returncode == 1, module
        assert f"No module named '{module}'" in done.stderr


def test_every_module_imports_with_the_core_or_names_an_extra(clean_room: Path) -> None:
    done = run_in(
        clean_room,
        "import importlib, pkgutil, poe\n"
        "names = [m.name for m in pkgutil.walk_packages(poe.__path__, 'poe.')]\n"
        "assert len(names) > 10, names\n"
        "for name in names:\n"
        "    try: importlib.import_module(name)\n"
        f"    except ModuleNotFoundError as e: assert e.name.split('.')[0] in {EXTRAS}, e\n",
    )
    assert done.returncode == 0, done.stderr


def test_the_command_runs_and_finds_its_data(clean_room: Path) -> None:
    done = run_in(clean_room, "from poe._paths import data_dir; print(data_dir())")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().endswith("poe/_data")
    command = str(clean_room.parent / "poe")
    shown = run_bare([command, "--help"], clean_room.parent)
    assert shown.returncode == 0, shown.stderr
    assert "rank" in shown.stdout
    for words in (["reproduce", "table1"], ["scorecard"]):
        refused = run_bare([command, *words], clean_room.parent)
        assert refused.returncode == 1
        assert refused.stderr.startswith(f"poe: poe {words[0]} needs the papers' numbers")


def test_the_wheel_holds_the_package_its_data_and_nothing_else(wheel: Path) -> None:
    files = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert {name for name in files if not name.startswith("poe/")} == set()
    shipped = [ROOT / "data/datasets.toml"]
    for folder in ("prompts", "labels"):
        shipped += [path for path in ROOT.glob(f"data/{folder}/**/*") if path.is_file()]
    expected = {
        f"poe/_data/{path.relative_to(ROOT / 'data').as_posix()}"
        for path in shipped
        if path.suffix not in (".py", ".pyc")
    }
    assert {name for name in files if name.startswith("poe/_data/")} == expected


def test_the_wheel_carries_both_licences_and_asks_for_the_core_alone(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    licences = [name for name in archive.namelist() if "/licenses/" in name]
    assert sorted(Path(name).name for name in licences) == ["LICENSE", "LICENSE-prose.md"]
    (metadata,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
    lines = archive.read(metadata).decode().splitlines()
    required = [Requirement(line[15:]) for line in lines if line.startswith("Requires-Dist: ")]
    assert {r.name for r in required if r.marker is None} == CORE
