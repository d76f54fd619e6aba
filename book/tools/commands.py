"""The page of commands, made of the command itself: what typer would print, as Markdown."""

from __future__ import annotations

from importlib.metadata import entry_points

import typer
from typer.cli import get_docs_for_click

from judging.cli import app
from judging.cli.exits import MEANINGS, in_words

MARK = "% commands\n"  # in a page, where they stand


def command() -> typer.core.TyperGroup:
    """`judging` with what a clone adds to it."""
    whole = typer.main.get_group(app)
    for added in entry_points(group="judging.commands"):
        alone = typer.Typer(add_completion=False)
        alone.command(added.name)(added.load())
        whole.commands[added.name] = typer.main.get_command(alone)
    return whole


def escaped(text: str) -> str:
    """What stands in a cell of a table."""
    return text.replace("|", r"\|")


def commands() -> str:
    """Every command with its arguments and options, a section each, below the page's own title."""
    whole = command()
    text = get_docs_for_click(obj=whole, ctx=typer.Context(whole), name="judging")
    text = text[text.index("**Usage**") :]
    rows = "".join(f"| {status:d} | {escaped(why)} |\n" for status, why in MEANINGS.items())
    return text.replace(in_words(), f"| exit status | what it means |\n|--:|:--|\n{rows}")
