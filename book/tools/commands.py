"""The page of commands, made of the command itself: what typer would print, as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.metadata import entry_points

import typer
from typer.cli import get_docs_for_click

from judging.practice.cli import app
from judging.practice.cli.examples import EXAMPLES
from judging.practice.cli.exits import MEANINGS, in_words
from judging.practice.cli.options import Command

MARK = "% commands\n"  # in a page, where they stand
# What --json prints, named in one sentence, which a page breaks into a list.
OBJECT = re.compile(r"(standard output is one object): (.*?)\.(?=\s|$)", re.DOTALL)
OPTIONS = re.compile(r"\*\*Options\*\*:\n\n((?:\* .*\n)+)")
LONG = 120  # characters of what stands in brackets from which it is a list of its own
# Code in a line, which stays, and a flag in words, whose two hyphens a page would make a dash of.
FLAG = re.compile(r"(`[^`]*`)|(?<![\w-])(--[a-z][\w-]*)")


def command() -> typer.core.TyperGroup:
    """`judging` with what a clone adds to it."""
    whole = typer.main.get_group(app)
    for added in entry_points(group="judging.commands"):
        alone = typer.Typer(add_completion=False)
        alone.command(added.name, cls=Command)(added.load())
        whole.commands[added.name] = typer.main.get_command(alone)
    return whole


def escaped(text: str) -> str:
    """What stands in a cell of a table."""
    return text.replace("|", r"\|")


def summaries(group: typer.core.TyperGroup) -> Iterator[tuple[str, str, str]]:
    """Name, first sentence and what typer shortens it to, of every command and those below it."""
    for name, one in group.commands.items():
        words = " ".join((one.help or "").split())
        yield name, words.partition(". ")[0].rstrip(".") + ".", one.get_short_help_str()
        if isinstance(one, typer.core.TyperGroup):
            yield from summaries(one)


def parts(names: str) -> list[str]:
    """The items of "a, b (c, d) and e": what stands in brackets stays together."""
    depth, found = 0, [""]
    for word in re.split(r"(, | and (?=\w+(?: \(|$)))", names):
        if not depth and word in (", ", " and "):
            found.append("")
            continue
        depth += word.count("(") - word.count(")")
        found[-1] += word
    return [one for one in found if one]


def fields(names: str, indent: str = "") -> str:
    """Fields of an object as a list in Markdown, long brackets as a list below."""
    lines = []
    for part in parts(names):
        name, rest = re.fullmatch(r"(\w+)(.*)", part, re.DOTALL).groups()  # type: ignore[union-attr]
        inner = rest.strip()[1:-1]
        if len(inner) > LONG:
            lead, _, more = inner.partition(": ")
            lines.append(f"{indent}- `{name}`, {lead}:")
            lines.append(fields(more, indent + "    "))
        else:
            lines.append(f"{indent}- `{name}`{rest}")
    return "\n".join(lines)


def in_panels(section: str, command: typer.core.TyperCommand | typer.core.TyperGroup) -> str:
    """One command's section, its options under the headings that its --help has."""
    panel = {name: getattr(p, "rich_help_panel", None) for p in command.params for name in p.opts}

    def under_headings(options: re.Match[str]) -> str:
        parts: dict[str, list[str]] = {}
        for line in options[1].splitlines():
            name = re.match(r"\* `((?:--set )?-*[-\w]+)", line)
            parts.setdefault(panel.get(name[1] if name else "") or "Options", []).append(line)
        return "\n".join(f"**{head}**:\n\n" + "\n".join(own) + "\n" for head, own in parts.items())

    return OPTIONS.sub(under_headings, section)


def commands() -> str:
    """Every command with its arguments and options, a section each, below the page's own title."""
    whole = command()
    text = get_docs_for_click(obj=whole, ctx=typer.Context(whole), name="judging")
    head, *sections = re.split(r"(?m)^(?=#+ `judging )", text[text.index("**Usage**") :])
    for k, section in enumerate(sections):
        one: typer.core.TyperCommand | typer.core.TyperGroup = whole
        for name in section[: section.index("`\n")].split()[2:]:
            one = one.commands[name]  # type: ignore[union-attr, assignment]
        sections[k] = in_panels(section, one)
    text = "".join([head, *sections]).replace(" <list[Path]>", "...")
    for name, help_, short in summaries(whole):  # "Rank your own texts by asking a judge to..."
        text = text.replace(f"* `{name}`: {short}\n", f"* `{name}`: {help_}\n")
    rows = "".join(f"| {status:d} | {escaped(why)} |\n" for status, why in MEANINGS.items())
    text = text.replace(in_words(), f"| exit status | what it means |\n|--:|:--|\n{rows}")
    text = OBJECT.sub(lambda m: f"{m[1]}:\n\n{fields(' '.join(m[2].split()))}\n\n", text)
    for examples in EXAMPLES.values():
        text = text.replace(examples, f"\n```shell{examples}```\n")
    blocks = text.split("```")  # every second one is code
    blocks[::2] = [FLAG.sub(lambda m: m[1] or f"`{m[2]}`", block) for block in blocks[::2]]
    return "```".join(blocks)
