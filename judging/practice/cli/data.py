"""`judging data`: which datasets and language models there are, and their download."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from judging.errors import UnknownDatasetError, nearest
from judging.practice.cli import options as o


@o.data_app.command("list")
def data_list() -> None:
    """List the datasets and where their texts come from, and the language models."""
    from judging import datasets
    from judging.datasets import models

    print(datasets.overview())
    print(models.overview())


@o.data_app.command("fetch")
def data_fetch(
    name: Annotated[str, typer.Argument(help="A name from `judging data list`.")],
) -> None:
    """Download a dataset, or a language model (qwen, smollm2), and verify it."""
    from judging import datasets
    from judging.datasets import models

    if name not in models.MODELS and (meant := nearest(name, models.MODELS)):
        raise UnknownDatasetError(f"nothing to fetch is named {name!r}; did you mean {meant!r}?")
    place = (
        models.fetch(name, say=partial(print, flush=True))
        if name in models.MODELS
        else datasets.fetch(name)
    )
    print(f"{name} is at {place}")
