"""Every command, flag, name and path that a message, a help text or a page quotes exists."""

import ast
import importlib
import re
import shlex
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import typer

from judging.practice.cli import app, parse

ROOT = Path(__file__).resolve().parents[1]
COMMANDS = "rank|fit|leaderboard|ask|prompts|data|store|reproduce|scorecard"
# Flags of other programs that are named beside ours, with the program.
OTHERS = dict.fromkeys(
    ("--no-deps", "--target", "--dest", "--only-binary", "--disable-pip-version-check", "--quiet"),
    "pip",
)


def kept(*patterns: str) -> list[Path]:
    """Files that git keeps."""
    told = subprocess.run(["git", "ls-files", *patterns], cwd=ROOT, capture_output=True, text=True)
    return [ROOT / name for name in told.stdout.split() if (ROOT / name).is_file()]


CODE = kept("judging/*.py", "poe/*.py", "reproduction/*.py", "studies/*.py")
PAGES = [p for p in kept("*.md") if p.name != "CHANGELOG.md"]  # what was, may be named there


@cache
def texts(path: Path) -> list[str]:
    """The strings of a module, X in place of what is filled in; or a page, its lines joined."""
    content = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return [content.replace("\\\n", " ")]
    found, inside = list[str](), set[int]()
    for node in ast.walk(ast.parse(content)):
        if isinstance(node, ast.JoinedStr):
            inside |= {id(part) for part in ast.walk(node)} - {id(node)}
            parts = (p.value if isinstance(p, ast.Constant) else "X" for p in node.values)
            found.append("".join(map(str, parts)))
        elif isinstance(getattr(node, "value", None), str) and id(node) not in inside:
            found.append(node.value)  # of a constant
    return found


def commands(text: str, *, page: bool) -> Iterator[str]:
    """What a text quotes as a command line, with what can be read of its options."""
    yield from re.findall(r"(?<=`)judging [a-z][^`]*(?=`)", text)
    if page:
        yield from re.findall(r"^judging [a-z].*", text, re.M)
        return
    bare = rf"(?<![`\w.])judging (?:{COMMANDS})\b(?: +(?:--[a-z-]+|[A-Z][A-Z_]*\b))*"
    yield from re.findall(bare, text)


@cache
def wrong(line: str) -> str:
    """What is wrong with a quoted command; it may be a part of one."""
    words = shlex.split(line.replace("\n", " "), comments=True)[1:]
    words = words[: words.index("|")] if "|" in words else words
    # "--judge ..." leaves a value out, any other "..." leaves out some words.
    pairs = list(zip(["", *words], words, strict=False))
    problem = parse([w for last, w in pairs if w != "..." or last.startswith("--")])
    fragment = "Missing" in problem or "requires an argument" in problem
    return "" if fragment else problem


@cache
def flags() -> set[str]:
    """Every flag of every command."""
    parse(["reproduce"])
    parse(["scorecard"])  # attached when they are meant
    found = {"--help"}
    left: list[Any] = [typer.main.get_command(app)]
    while left:
        command = left.pop()
        left += getattr(command, "commands", {}).values()
        opts = [name for one in command.params for name in [*one.opts, *one.secondary_opts]]
        found |= {name.partition(" ")[0] for name in opts}  # "--set rule" is --set
    return found


def test_every_command_that_is_quoted_would_be_understood() -> None:
    faults = [
        f"{path.name} quotes {line!r}: {problem}"
        for path in [*CODE, *PAGES]
        for text in texts(path)
        for line in commands(text, page=path.suffix == ".md")
        if (problem := wrong(line))
    ]
    assert faults == []


def test_a_planted_mistake_is_noticed(tmp_path: Path) -> None:
    module = tmp_path / "one.py"
    module.write_text(
        'A = "`judging judge x`"\n'
        'B = f"run `judging ask {name} coherence --full` first"\n'
        'C = "the file that judging rank --outt wrote"\n'
        'D = "`judging rank x.csv --set rule=best`"\n'
        'E = "`judging rank --budget`, and judging store merge"\n'
    )
    lines = [line for text in texts(module) for line in commands(text, page=False)]
    assert len(lines) == 6
    problems = [wrong(line) for line in lines]
    assert sorted(map(bool, problems)) == [False] * 2 + [True] * 4, problems
    assert "No such command 'judge'." in problems


def test_every_flag_in_a_message_is_one_of_ours() -> None:
    for path in kept("judging/*.py"):
        named = {f for text in texts(path) for f in re.findall(r"(?<![\w-])--[a-z][\w-]+", text)}
        assert named <= flags() | OTHERS.keys(), path.name


# Pages of the book ----------------------------------------------------------------------------

TITLED = re.compile(
    r"book's page(?: \*([A-Z][^*]+)\*|\s+'([A-Z][^']+)')"
    r"|[(;] ?book, \"([A-Z][^\"]+)\""
)


def test_every_page_or_part_that_is_named_by_its_title_has_it() -> None:
    titles = {
        title
        for path in kept("book/*.md", "notebooks/*.md")
        for title in re.findall(r"^#{1,3} (.+)$", path.read_text("utf-8"), re.M)
    }
    named = {
        " ".join(next(filter(None, groups)).split())
        for path in [*CODE, ROOT / "README.md"]
        for groups in TITLED.findall(path.read_text("utf-8").replace('"\n    "', ""))
    }
    assert {"Two real judges, three datasets", "The papers, checked", "Your own texts"} <= named
    assert named <= titles


# Names and paths ------------------------------------------------------------------------------


@cache
def there(name: str) -> bool:
    """Whether a dotted name can be reached by importing and looking."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            thing: Any = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError as error:
            ours = error.name or ""
            if ours.split(".")[0] not in ("poe", "judging", "reproduction", "studies"):
                return True  # what it needs is not installed here
            continue
        for part in parts[cut:]:
            fields = getattr(thing, "__annotations__", {})
            if not hasattr(thing, part) and part not in fields:
                return False
            thing = getattr(thing, part, None)
        return True
    return False


DOTTED = re.compile(r"`~?((?:poe|judging|reproduction|studies)(?:\.[A-Za-z_]\w*)+)(?:\([^`]*)?`")
PATHS = re.compile(r"`((?:data|book|tests|notebooks|benchmarks)/[\w./-]*\w)`")


def test_every_name_and_path_that_is_quoted_exists() -> None:
    for path in [*CODE, *PAGES]:
        for text in texts(path):
            for name in DOTTED.findall(text):
                assert there(name), f"{path.name} names {name}"
            for name in PATHS.findall(text):
                assert (ROOT / name).exists(), f"{path.name} names {name}"


def test_a_name_that_is_not_there_is_noticed() -> None:
    assert there("poe.fit")
    assert there("judging.rank_each")
    assert there("judging.practice.ranking.settings.Asking.rule")
    assert not there("judging.rank_all")
    assert not there("poe.rank")
    assert DOTTED.findall("see `poe.rank(x)` and `~judging.rank`") == ["poe.rank", "judging.rank"]
