"""The page of commands has every command, argument and option that the command itself takes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from book.tools.commands import LONG, MARK, command, commands, fields
from judging.practice.ranking.settings import ASKED, JUDGE

PAGE = Path(__file__).resolve().parents[2] / "book" / "commands.md"


def every(one: Any, name: str) -> Iterator[tuple[str, Any]]:
    """A command and all below it, with what one types to run it."""
    yield name, one
    for part, below in getattr(one, "commands", {}).items():
        yield from every(below, f"{name} {part}")


COMMANDS = dict(every(command(), "judging"))


def test_the_page_takes_them_in() -> None:
    assert PAGE.read_text(encoding="utf-8").count(MARK) == 1


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_stands_there_with_all_that_it_takes(name: str) -> None:
    text = commands()
    if name != "judging":
        assert f" `{name}`\n" in text
        text = text.partition(f" `{name}`\n")[2].partition("\n##")[0]
    for parameter in COMMANDS[name].params:
        options = [each for each in parameter.opts if each.startswith("--")]
        shown = options or [str(parameter.metavar or parameter.name)]
        if not getattr(parameter, "hidden", False):
            entry = rf"^\* `({'|'.join(map(re.escape, shown))})(?![\w-])"
            assert re.search(entry, text, re.MULTILINE), shown  # not in an example alone


def test_options_stand_under_the_headings_of_the_help() -> None:
    text = commands().partition(" `judging rank`\n")[2].partition("\n##")[0]
    parts = dict(re.findall(r"\*\*([^*]+)\*\*:\n\n((?:\* .*\n)+)", text))
    assert list(parts)[:4] == ["Arguments", "Options", ASKED, JUDGE]
    assert "`--budget" in parts[ASKED]
    assert "`--budget" not in parts["Options"]
    *shown, rare = parts.values()
    assert "`--set rule" in rare
    assert max(len(part.splitlines()) for part in shown) < 20


def test_no_help_has_brackets_that_a_terminal_would_read_as_a_colour() -> None:
    for name, one in COMMANDS.items():
        for text in (one.help, *(getattr(p, "help", None) for p in one.params)):
            assert not re.search(r"\[[a-z@#/]", text or ""), (name, text)


def test_what_is_copied_from_the_page_works_and_sentences_are_whole() -> None:
    """No flag outside code, where two hyphens become a dash; no sentence that ends in dots."""
    words = "".join(re.sub(r"`[^`]*`", "", block) for block in commands().split("```")[::2])
    assert "--" not in words.replace("|--:|:--|", "")
    assert not re.findall(r"^\* : .*\.\.\.$", words, re.M)


def test_commands_that_a_clone_adds_show_their_own_options() -> None:
    """Not those of the placeholder that the help lists until one is run."""
    for name in ("reproduce", "scorecard"):
        assert len(COMMANDS[f"judging {name}"].params) > 3


def test_fields_of_an_object_are_a_list_and_long_brackets_one_below() -> None:
    assert fields("a, b (c, d and e) and f") == "- `a`\n- `b` (c, d and e)\n- `f`"
    many = ", ".join(f"field_{k}" for k in range(LONG // 8))
    told = fields(f"a, rows (a list: x (y, z), {many})")
    assert told.startswith("- `a`\n- `rows`, a list:\n    - `x` (y, z)\n    - `field_0`\n")
    assert "`and`" not in commands()
