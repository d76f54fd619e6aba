"""The wheel alone: what is in it, and what it needs."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]

# One worker builds for all of these tests.
pytestmark = pytest.mark.xdist_group("wheel")
CORE = {
    *("numpy", "scipy", "pandas", "tqdm", "cvxpy-base", "clarabel", "highspy"),  # fits
    *("httpx", "pooch", "platformdirs"),  # servers and downloads
    "filelock",  # one writer a store
    "narwhals",  # tables of other libraries
    *("typer", "rich", "jinja2"),  # the command line and its report
}
# Packages of extras, imported when they are used.
EXTRAS = {"torch", "transformers", "sklearn", "seaborn", "IPython", "matplotlib"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    (built,) = WheelBuilder(str(ROOT)).build(directory=str(folder), versions=["standard"])
    return zipfile.ZipFile(built)


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


@pytest.fixture(scope="module")
def site(wheel: zipfile.ZipFile, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel's files and links to the declared dependencies, and nothing else."""
    folder = tmp_path_factory.mktemp("clean") / "site-packages"
    wheel.extractall(folder)
    for package in with_dependencies(sorted(CORE)).values():
        for part in {Path(file).parts[0] for file in package.files or []}:
            if part not in ("..", "__pycache__") and not (folder / part).exists():
                (folder / part).symlink_to(Path(str(package.locate_file(part))))
    return folder


def run_in(site: Path, code: str) -> subprocess.CompletedProcess[str]:
    """Run code with that folder alone, and nothing of this process's settings."""
    code = f"import sys; sys.path.append({str(site)!r})\n{code}"
    command = [sys.executable, "-I", "-S", "-c", code]
    environment = {"HOME": str(site.parent)}
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=site.parent)


def test_every_module_imports_with_the_core_or_names_an_extra(site: Path) -> None:
    done = run_in(
        site,
        "import importlib.util, judging, pkgutil, poe\n"
        "c = poe.Comparisons(first=['a', 'b'], second=['b', 'c'], p=[0.9, 0.6])\n"
        "s = poe.fit(c, expert='gaussian').scores\n"
        "assert s[0] > s[1] > s[2], s\n"
        f"clean = {EXTRAS | {'book', 'reproduction', 'studies'}}\n"
        "assert not any(map(importlib.util.find_spec, clean)), 'the room is not clean'\n"
        "assert 'matplotlib' not in sys.modules\n"
        "names = [m.name for p in (poe, judging)\n"
        "         for m in pkgutil.walk_packages(p.__path__, p.__name__ + '.')]\n"
        "assert len(names) > 10, names\n"
        "for name in names:\n"
        "    try: importlib.import_module(name)\n"
        f"    except ModuleNotFoundError as e: assert e.name.split('.')[0] in {EXTRAS}, e\n"
        "print(poe.__file__)",
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(site / "poe" / "__init__.py")


def test_the_command_runs_and_finds_its_data(wheel: zipfile.ZipFile, site: Path) -> None:
    (entry,) = [name for name in wheel.namelist() if name.endswith("entry_points.txt")]
    assert "judging = judging.__main__:main" in wheel.read(entry).decode()
    done = run_in(
        site,
        "from judging.machine import data_dir\n"
        "from judging.practice.cli import main\n"
        "print(data_dir())\n"
        "assert main(['--help']) == 0\n"
        "assert main(['reproduce', 'table1']) == main(['scorecard']) == 1",
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == str(site / "judging" / "_data")
    assert "rank" in done.stdout
    for name in ("reproduce", "scorecard"):
        assert f"judging: judging {name} needs the papers' numbers" in done.stderr


def test_rankings_and_panels_need_the_core_and_a_network_says_what_else(site: Path) -> None:
    done = run_in(
        site,
        "import numpy as np, judging\n"
        "judge = judging.SimulatedJudge(np.arange(4.0), seed=1)\n"
        "ranking = judging.rank(4, judge.answer, budget=6, seed=1)\n"
        "assert len(ranking.to_frame()) == 4\n"
        "for method in ('average', 'majority', 'dawid-skene'):\n"
        "    judging.panel.aggregate(np.eye(3), method)\n"
        "try: judging.panel.aggregate(np.eye(3), 'skill', context=np.eye(3))\n"
        "except judging.JudgeError as error: print(error)",
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "this method needs torch: pip install '.[judge]' in a clone\n"


def test_it_runs_without_a_home_in_the_c_locale_in_a_folder_with_a_space(
    site: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "a folder"
    folder.mkdir()
    (folder / "my votes.csv").write_text("first,second,p\na,ü,0.9\nü,c,0.6\n", encoding="utf-8")
    done = run_in(
        site,
        f"import os; os.chdir({str(folder)!r})\n"
        "os.environ.update(HOME='/nowhere/at/all', LC_ALL='C', PATH='')\n"
        "from judging.practice.cli import main\n"
        "assert main(['fit', 'my votes.csv', '--report', 'a répørt.html']) == 0",
    )
    assert done.returncode == 0, done.stderr
    assert "ü" in (folder / "a répørt.html").read_text(encoding="utf-8")


def test_the_wheel_holds_the_package_its_data_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    files = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert {name for name in files if not name.startswith(("poe/", "judging/"))} == set()
    shipped = [ROOT / "data/datasets.toml"]
    for folder in ("prompts", "labels"):
        shipped += [path for path in ROOT.glob(f"data/{folder}/**/*") if path.is_file()]
    expected = {
        f"judging/_data/{path.relative_to(ROOT / 'data').as_posix()}"
        for path in shipped
        if path.suffix not in (".py", ".pyc")
    }
    assert {name for name in files if name.startswith("judging/_data/")} == expected


def test_the_metadata_is_of_a_version_that_every_uploader_knows(
    wheel: zipfile.ZipFile, tmp_path: Path
) -> None:
    """Hatchling 1.32 and later write 2.5, which Twine knows from 7 on: it refuses the file."""
    (metadata,) = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
    assert wheel.read(metadata).decode().startswith("Metadata-Version: 2.4\n")
    (sdist,) = SdistBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    with tarfile.open(sdist) as archive:
        (info,) = [one for one in archive.getnames() if one.endswith("PKG-INFO")]
        file = archive.extractfile(info)
        assert file is not None
        assert file.read().decode().startswith("Metadata-Version: 2.4\n")


def test_the_source_distribution_can_test_and_build_everything(tmp_path: Path) -> None:
    (sdist,) = SdistBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    with tarfile.open(sdist) as archive:
        files = {name.partition("/")[2] for name in archive.getnames()}
    folders = (
        "poe",
        "judging",
        "reproduction",
        "studies",
        "book",
        "notebooks",
        "tests",
        "benchmarks",
    )
    wanted = {
        path.relative_to(ROOT).as_posix()
        for folder in folders
        for path in (ROOT / folder).rglob("*.py")
    }
    assert len(wanted) > 200
    assert wanted | {"Makefile", "constraints.txt", "LICENSE-prose.md"} <= files
    assert not [name for name in files if name.startswith(("_build", ".venv", ".ci", ".github"))]


def test_the_wheel_carries_the_licences_of_code_and_data_and_asks_for_the_core_alone(
    wheel: zipfile.ZipFile,
) -> None:
    licences = {Path(name).name: name for name in wheel.namelist() if "/licenses/" in name}
    assert set(licences) == {"LICENSE", "LICENSE-Apache-2.0"}
    apache = wheel.read(licences["LICENSE-Apache-2.0"]).decode()
    assert "Apache License\n                           Version 2.0" in apache
    assert "9. Accepting Warranty or Additional Liability" in apache, "the whole text"
    labels = wheel.read("judging/_data/labels/README.md").decode()
    assert labels.count("| Apache-2.0") == 2, "the licence expression names what the data has"
    (info,) = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
    assert "License-Expression: MIT AND Apache-2.0\n" in wheel.read(info).decode()
    (metadata,) = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
    lines = wheel.read(metadata).decode().splitlines()
    required = [Requirement(line[15:]) for line in lines if line.startswith("Requires-Dist: ")]
    assert {r.name for r in required if r.marker is None} == CORE
