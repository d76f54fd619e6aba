"""`judging prompts`: the prompts there are, and one filled with texts."""

from __future__ import annotations

from typing import Annotated

import typer

from judging.practice.cli import options as o


@o.app.command()
def prompts(
    dataset: Annotated[str | None, typer.Argument(help="A dataset that has prompts.")] = None,
    attribute: Annotated[str | None, typer.Argument(help="One of its attributes.")] = None,
    template: Annotated[str | None, o.opt("The wording; without names all are listed.")] = None,
    show: Annotated[int, o.opt("Show this many examples, filled with texts.", min=0)] = 0,
) -> None:
    """List the prompts, or show one."""
    from itertools import islice

    from judging import datasets
    from judging import prompts as known
    from judging.datasets.questions import examples

    if dataset is None or attribute is None:
        print(known.overview(dataset))
        return
    print(known.describe(dataset, attribute, template))
    prompt = known.load(dataset, attribute, template)
    if show < 1:
        print(f"\n{prompt.template}")
        return
    for number, question in enumerate(
        islice(examples(datasets.load(dataset), prompt), show), start=1
    ):
        print(f"\n--- {number}: {', '.join(question.ids)} ---\n{question.text}")
        if prompt.prefix:
            print(f"[the answer starts:] {prompt.prefix}")
