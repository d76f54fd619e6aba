"""A run in a file: `--config run.toml` gives options, `--save-config` writes those of this run.

The file has an option a line, by its long name without the dashes, and the command's tables too:

    texts = "essays.csv"
    judge = ["openai:MODEL@http://localhost:8000/v1"]
    attribute = ["more persuasive"]
    limit-calls = 500

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

from judging import machine
from judging.practice.cli import options as o
from judging.practice.cli import screen
from poe.errors import name_some

__all__ = ["Config", "SaveConfig", "save"]

OURS = ("config", "save_config")  # which a file does not name
LONGEST = 256  # letters of a name; what is longer is an attribute in many words, and no file


def _known(ctx: typer.Context) -> dict[str, Any]:
    """The command's options and arguments, by their names in a file."""
    options = {}
    for one in ctx.command.params:
        long = [name.lstrip("-") for name in one.opts if name.startswith("--")]
        if one.name not in OURS and one.name != "help":
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
SaveConfig = Annotated[
    Path | None,
    o.opt("Write this run's options to a TOML file that --config reads.", panel=o.FILES),
]


def save(ctx: typer.Context, path: Path | None) -> None:
    """Write the options that were given, on the command line or by a file, if it is wanted.

    Call it where all of them have been checked, a judge's by opening it: one that was refused may
    hold a key. The file is for its owner's eyes alone.
    """
    if path is None:
        return
    values = [one for key, one in ctx.params.items() if key not in OURS]
    given = [one for value in values for one in (value if isinstance(value, list) else [value])]
    # Older versions of typer keep paths as strings here, among strings that are none.
    paths = [Path(one) for one in given if isinstance(one, Path | str) and len(str(one)) < LONGEST]
    screen.require_writable(path, inputs=paths)
    lines = [f"# judging {ctx.info_name} --config {path.name}"]
    for key, one in _known(ctx).items():
        source = ctx.get_parameter_source(str(one.name))
        if source is None or source.name not in ("COMMANDLINE", "DEFAULT_MAP") or key == "dry-run":
            continue
        value = ctx.params[str(one.name)]
        lines.append(f"{key} = {json.dumps(value, default=str, ensure_ascii=False)}")
    machine.write(path, "\n".join(lines) + "\n", private=True)
