"""A run in a file: `--config run.toml` gives options.

The file has an option a line, by its long name without dashes or --set, and what is read:

    texts = "essays.csv"
    judge = ["openai:MODEL@http://localhost:8000/v1"]
    attribute = ["more persuasive"]
    limit-calls = 500
    rule = "greedy"

    [judge-option]
    concurrency = 8

What the command line says takes precedence. No key is in it: a judge's is read from the
environment.
"""

from __future__ import annotations

import difflib
import json
import tomllib
from pathlib import Path
from typing import Annotated, Any

import typer

from judging.practice.cli import options as o
from poe.errors import name_some

__all__ = ["Config"]


def _known(ctx: typer.Context) -> dict[str, Any]:
    """The command's options and arguments, by their names in a file."""
    options = {}
    for one in ctx.command.params:
        long = [name.removeprefix(o.SET).lstrip("-") for name in one.opts if name.startswith("--")]
        if one.name != "config" and (long or not one.opts[0].startswith("-")):
            options[long[0] if long else str(one.name)] = one
    return options


def _read(ctx: typer.Context, path: Path | None) -> Path | None:
    """Make what the file says the command's defaults."""
    if path is None or ctx.resilient_parsing:
        return path
    try:
        given = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise typer.BadParameter(f"{path} cannot be read: {error.strerror}") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise typer.BadParameter(f"{path} is not TOML: {error}") from None
    known, defaults = _known(ctx), {}
    for key, value in given.items():
        name = key.replace("_", "-")
        one = known.get(name) or known.get(key)
        if one is None:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"; is it {near[0]}?" if near else f"; there are {name_some(list(known), 60)}"
            raise typer.BadParameter(f"{path}: `judging {ctx.info_name}` has no {key}{hint}")
        if isinstance(value, dict):  # judge-option: a table of names and values
            value = [f"{each}={_plain(what)}" for each, what in value.items()]
        many = one.multiple or one.nargs != 1
        if isinstance(value, list) and not many:
            raise typer.BadParameter(f"{path}: {key} is one value, not a list")
        defaults[str(one.name)] = [value] if many and not isinstance(value, list) else value
    ctx.default_map = defaults
    return path


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


Config = Annotated[
    Path | None,
    o.opt(
        "Read options from this TOML file, one per line under its long name; those on the command "
        "line take precedence.",
        "--config",
        panel=o.FILES,
        callback=_read,
        is_eager=True,
    ),
]
