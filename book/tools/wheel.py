"""The wheel that the notebooks need: package, reproduction, checks of exercises, all of data/.

It is not published: an index takes no version that ends in +book. The published wheel has the
package and the human scores alone (see pyproject.toml).
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from hatchling.builders.wheel import WheelBuilder

import poe
from book.tools.exercises import MODULE, write_module
from book.tools.pages import BuildError, find_pages

ROOT = Path(__file__).resolve().parents[2]
LOCAL = "+book"
IGNORED = shutil.ignore_patterns("__pycache__", "*.pyc", "*.sqlite*")
HOOK = '[tool.hatch.build.targets.wheel.hooks.custom]\npath = "book/tools/wheel_data.py"\n'
FORCED = "[tool.hatch.build.targets.wheel.force-include]"
EXERCISES = "book/exercises.py"  # what the checks share
DATA = f'{FORCED}\ndata = "judging/_data"\n' + "".join(
    f'"{name}" = "{name}"\n' for name in (f"{MODULE}.py", EXERCISES, "book/telling")
)


def version() -> str:
    """The version of the package."""
    return poe.__version__


def wheel_name() -> str:
    """File name of the wheel."""
    return f"judging_by_comparison-{version()}{LOCAL}-py3-none-any.whl"


def runs_on_its_own(folder: Path) -> list[Path]:
    """Put into a folder of notebooks what runs them: wheel, requirements, and a Python for Binder.

    Without runtime.txt Binder takes an older Python than the wheel allows; the constraints are the
    versions that the pages were executed with.
    """
    wheel = build_wheel(folder)
    requirements, runtime = folder / "requirements.txt", folder / "runtime.txt"
    wanted = f"-c constraints.txt\n./{wheel.name}[chapters]\njupyterlab\n"
    requirements.write_text(wanted, encoding="utf-8")
    runtime.write_text("python-3.12\n", encoding="utf-8")
    pins = Path(shutil.copy(ROOT / "constraints.txt", folder))
    return [requirements, pins, runtime, wheel]


def build_wheel(folder: Path) -> Path:
    """Build it from a copy of the tree with pyproject.toml and the version changed."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    changes = {
        'packages = ["poe", "judging"]': 'packages = ["poe", "judging", "reproduction", "studies"]',
        HOOK: DATA,
    }
    for old, new in changes.items():
        if text.count(old) != 1:
            raise BuildError(f"pyproject.toml has this {text.count(old)} times, not once: {old}")
        text = text.replace(old, new)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch)
        (copy / "pyproject.toml").write_text(text, encoding="utf-8")
        for name in ("README.md", "LICENSE", "LICENSE-Apache-2.0"):
            shutil.copy(ROOT / name, copy)
        (copy / "book/tools").mkdir(parents=True)
        shutil.copy(ROOT / "book/tools/wheel_data.py", copy / "book/tools")
        shutil.copy(ROOT / EXERCISES, copy / "book")
        for name in ("poe", "judging", "reproduction", "studies", "data", "book/telling"):
            shutil.copytree(ROOT / name, copy / name, ignore=IGNORED)
        stated = copy / "poe" / "__init__.py"
        code = stated.read_text(encoding="utf-8")
        stated.write_text(code.replace(f'"{version()}"', f'"{version()}{LOCAL}"'), encoding="utf-8")
        write_module(find_pages(ROOT), folder=copy)
        (built,) = WheelBuilder(str(copy)).build(directory=str(folder), versions=["standard"])
    return Path(built)
