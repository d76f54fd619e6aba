"""`judging data`: which datasets and language models there are, and their download."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from judging.errors import UnknownDatasetError, nearest
from judging.practice.cli import options as o
from judging.practice.cli import screen


@o.data_app.command(
    "list",
    epilog="With --json, standard output is one object: datasets (a list: name) and models "
    "(a list: name, title, licence, at (the file, null where it is not here)).",
)
def data_list(as_json: o.AsJson = False) -> None:
    """List the datasets and where their texts come from, and the language models."""
    from judging import datasets
    from judging.datasets import models

    if as_json:
        screen.print_json(_known())
        return
    print(datasets.overview())
    print(models.overview())


def _known() -> dict[str, Any]:
    """What there is, for a program."""
    from judging import datasets
    from judging.datasets import models

    files = {name: models.cache_dir() / one.file for name, one in models.MODELS.items()}
    return {
        "datasets": [{"name": name} for name in datasets.names()],
        "models": [
            {
                "name": name,
                "title": one.title,
                "licence": one.licence,
                "at": str(files[name]) if files[name].is_file() else None,
            }
            for name, one in models.MODELS.items()
        ],
    }


@o.data_app.command(
    "fetch", epilog="With --json, standard output is one object: name and at (where it is)."
)
def data_fetch(
    name: Annotated[str, typer.Argument(help="A name from `judging data list`.")],
    as_json: o.AsJson = False,
) -> None:
    """Download a dataset, or a language model (qwen, smollm2), and verify it."""
    from judging import datasets
    from judging.datasets import models

    say = screen.Lines(as_json)
    if name not in models.MODELS and (meant := nearest(name, models.MODELS)):
        raise UnknownDatasetError(f"nothing to fetch is named {name!r}; did you mean {meant!r}?")
    place = models.fetch(name, say=say) if name in models.MODELS else datasets.fetch(name)
    say(f"{name} is at {place}")
    say.end({"name": name, "at": str(place)})
