"""Tests that need more than the bare install say so, and are not the only ones of their subject."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import needs
from tests.test_house import imports, longest, modules

ROOT = Path(__file__).resolve().parents[1]
FILES = sorted((ROOT / "tests").rglob("*.py"))
OURS = ("poe", "judging", "reproduction", "studies")
# Modules that nothing bare can run: their first lines import what a mark names.
HEAVY = {"torch", "transformers", "gguf"}


# What a file's tests use ----------------------------------------------------------------------


def names(node: ast.AST) -> set[str]:
    """The names that a piece of code speaks."""
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}


def imported(node: ast.AST) -> Iterator[tuple[str, str]]:
    """What its imports bind: a name here, and what it is the name of."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Import):
            for alias in inner.names:
                yield alias.asname or alias.name.split(".")[0], alias.name
        if isinstance(inner, ast.ImportFrom):
            for alias in inner.names:
                yield alias.asname or alias.name, f"{inner.module}.{alias.name}"


def arguments(function: ast.FunctionDef) -> set[str]:
    """The fixtures that a function asks for."""
    return {one.arg for one in function.args.args}


def used(tree: ast.Module) -> tuple[set[str], set[str]]:
    """The dotted names that unmarked tests of a file use, and those that marked ones do.

    A test uses what it speaks and imports, and what the helpers and fixtures of its file that it
    speaks use.
    """
    top = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    bound: dict[str, set[str]] = {}
    for node in top:
        for name, what in imported(node):
            bound.setdefault(name, set()).add(what)
    spoken: dict[str, set[str]] = {}
    within: dict[str, set[str]] = {}
    tests: list[tuple[ast.FunctionDef, bool]] = []
    whole = bool(needs.of_module(tree))

    def look(body: list[ast.stmt], marked: bool) -> None:
        for node in body:
            if isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
                look(node.body, marked or bool(needs.named(node.decorator_list)))
            elif isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
                tests.append((node, marked or bool(needs.named(node.decorator_list))))
            elif isinstance(node, ast.FunctionDef | ast.ClassDef):
                own = arguments(node) if isinstance(node, ast.FunctionDef) else set()
                spoken[node.name] = names(node) | own
                within[node.name] = {what for _, what in imported(node)}
            elif isinstance(node, ast.Assign):
                for name in {n for target in node.targets for n in names(target)}:
                    spoken[name] = names(node.value)

    look(tree.body, whole)
    found: tuple[set[str], set[str]] = (set(), set())
    for test, marked in tests:
        seen, left = set[str](), names(test) | arguments(test)
        while left:
            name = left.pop()
            if name not in seen:
                seen.add(name)
                left |= spoken.get(name, set())
        found[marked].update(what for _, what in imported(test))
        for name in seen:
            found[marked].update(bound.get(name, set()) | within.get(name, set()))
    return found


def subjects(dotted: set[str], known: dict[str, Path]) -> set[str]:
    """The modules that these names are of, or are."""
    return {longest(name, known) for name in dotted} - {""}


def only_marked(files: list[Path], known: dict[str, Path]) -> set[str]:
    """The modules that marked tests use and no unmarked test does."""
    bare, marked = set[str](), set[str]()
    for path in files:
        one, other = used(ast.parse(path.read_text(encoding="utf-8")))
        bare |= subjects(one, known)
        marked |= subjects(other, known)
    return marked - bare


def heavy(known: dict[str, Path]) -> set[str]:
    """The modules whose own import needs what the bare install lacks."""
    found = {
        name
        for name, path in known.items()
        if {used.partition(".")[0] for used in imports(path)} & HEAVY
    }
    first = {
        name: {
            longest(what, known)
            for node in ast.parse(path.read_text(encoding="utf-8")).body
            for _, what in imported_now(node)
        }
        for name, path in known.items()
    }
    while more := {name for name in first if first[name] & found} - found:
        found |= more  # those that import these at their top
    return found


def imported_now(node: ast.stmt) -> Iterator[tuple[str, str]]:
    """The imports that run when the module is imported."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield from imported(node)


# The tests ------------------------------------------------------------------------------------


def everything() -> dict[str, Path]:
    return {name: path for package in OURS for name, path in modules(ROOT, package).items()}


# They take a network, or a tokenizer, that is given to them: without torch there is none to give.
OF_NETWORKS = {
    "judging.judges.transformers.tree",
    "judging.judges.writer",
    "judging.panel.encoders",
    "judging.panel.learning",
}


def test_no_marked_test_is_the_only_one_of_its_subject() -> None:
    known = everything()
    assert sorted(only_marked(FILES, known) - heavy(known) - OF_NETWORKS) == []


def test_a_subject_with_marked_tests_alone_would_be_noticed(tmp_path: Path) -> None:
    known = dict.fromkeys(("poe", "poe.one", "poe.two", "poe.three"), tmp_path)
    path = tmp_path / "test_some.py"
    path.write_text(
        "import pytest\nfrom poe import one\nfrom poe.two import f\n\n"
        "def helper():\n    from poe.three import g\n    return g(one)\n\n"
        "@pytest.mark.needs('torch')\ndef test_a(): assert helper()\n\n"
        "class TestB:\n    def test_b(self): assert f\n"
    )
    assert only_marked([path], known) == {"poe.one", "poe.three"}
    path.write_text(path.read_text().replace("@pytest.mark.needs('torch')\n", ""))
    assert only_marked([path], known) == set()
    path.write_text(f"{path.read_text()}\npytestmark = [pytest.mark.needs('torch')]\n")
    assert only_marked([path], known) == {"poe.one", "poe.two", "poe.three"}


def test_every_need_is_in_the_table_and_its_way_is_real() -> None:
    marks = {name for path in FILES for name in needs.named([ast.parse(path.read_text("utf-8"))])}
    assert marks - {"a", "nothing"} <= set(needs.NEEDS)
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    for need in needs.NEEDS.values():
        assert set(re.findall(r"\bmake ([a-z-]+)", need.way)) <= set(targets), need.way
        assert need.way


def test_nothing_else_decides_what_is_skipped() -> None:
    """A skip of another kind hides what it needs."""
    other = re.compile(r"importor" + r"skip\(|mark\.skip" + r"(if)?\b|pytest\.skip" + r"\(")
    allowed = {"needs.py", "conftest.py"}
    found = [p.name for p in FILES if p.name not in allowed and other.search(p.read_text("utf-8"))]
    assert found == []


def test_ci_runs_what_make_test_leaves_out() -> None:
    assert '$(or $(ARGS),-m "not long")' in (ROOT / "Makefile").read_text("utf-8")
    assert 'make test ARGS="-m long"' in (ROOT / ".ci/run").read_text("utf-8")


TEST = """
import pytest
{first}
{second}def test_it():
    assert 0


def test_another():
    assert 1
"""
RUN = """
import sys, pytest
sys.path.insert(0, {root!r})
from tests import conftest, needs
needs.NEEDS["nothing"] = needs.Need("make judge", ("no_such_module",))
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", *sys.argv[1:]], plugins=[conftest]))
"""


@pytest.mark.parametrize("must", [False, True])
def test_a_lacking_need_skips_with_its_way_or_fails_where_it_must_be_here(
    must: bool, tmp_path: Path
) -> None:
    """Of one test, and of a whole file that imports at its top what it needs."""
    mark = "pytest.mark.needs('nothing')"
    one, whole = tmp_path / "test_one.py", tmp_path / "test_whole.py"
    one.write_text(TEST.format(first="", second=f"@{mark}\n"))
    whole.write_text(TEST.format(first=f"pytestmark = {mark}\nimport no_such_module\n", second=""))
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n  needs\n  browser\n")
    command = [sys.executable, "-c", RUN.format(root=str(ROOT)), str(one), str(whole)]
    command += ["--needing", "nothing", "--continue-on-collection-errors"] if must else []
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    said = done.stdout + done.stderr
    if must:
        assert done.returncode == 1, said
        assert "No module named 'no_such_module'" in said
        assert "needs nothing: make judge" in said
        assert "1 passed" not in said, "the other test needs nothing, and was not asked for"
    else:
        assert done.returncode == 0, said
        assert "2 x needs nothing: make judge" in said
        assert "1 passed, 2 skipped" in said
