"""`judging prompts`: the prompts there are, and one filled with texts."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from judging.practice.cli import options as o
from judging.practice.cli import screen


@o.app.command(
    epilog="With --json, standard output is a list of prompts: name, dataset, attribute, template, "
    "source, wording, labels, prefix, text; and with --show examples, each filled."
)
def prompts(
    dataset: Annotated[str | None, typer.Argument(help="A dataset that has prompts.")] = None,
    attribute: Annotated[str | None, typer.Argument(help="One of its attributes.")] = None,
    template: Annotated[str | None, o.opt("The wording; without names all are listed.")] = None,
    show: Annotated[int, o.opt("Show this many examples, filled with texts.", min=0)] = 0,
    decoder_only: Annotated[
        bool, o.opt("Use the prompt's ending for decoder-only models.", "--decoder-only")
    ] = False,
    as_json: o.AsJson = False,
) -> None:
    """List the prompts, or show one."""
    from itertools import islice

    from judging import datasets
    from judging import prompts as known
    from judging.datasets.questions import examples

    if as_json:
        one = dataset is not None and attribute is not None
        names = [f"{dataset}/{attribute}"] if one else known.names(dataset)
        rows = []
        for name in names:
            parts = name.split("/")
            wanted = (*parts[:2], template) if one else parts
            listing = known.listing(*wanted)
            rows.append(_row(listing))
            if one and show:
                rows[-1]["examples"] = [
                    question.text
                    for question in islice(
                        examples(datasets.load(str(dataset)), listing.prompt), show
                    )
                ]
        screen.print_json(rows)
        return
    if dataset is None or attribute is None:
        print(known.overview(dataset))
        return
    print(known.describe(dataset, attribute, template))
    prompt = known.load(dataset, attribute, template, decoder_only=decoder_only)
    if show < 1:
        print(f"\n{prompt.template}")
        return
    for number, question in enumerate(
        islice(examples(datasets.load(dataset), prompt), show), start=1
    ):
        print(f"\n--- {number}: {', '.join(question.ids)} ---\n{question.text}")
        if prompt.prefix:
            print(f"[the answer starts:] {prompt.prefix}")


def _row(listing: Any) -> dict[str, Any]:
    """A prompt for a program."""
    return {
        "name": listing.prompt.name,
        "dataset": listing.dataset,
        "attribute": listing.attribute,
        "template": listing.template,
        "source": listing.source,
        "wording": listing.status,
        "labels": list(listing.prompt.labels),
        "prefix": listing.prompt.prefix or None,
        "text": listing.prompt.template,
    }
