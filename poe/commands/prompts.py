"""`poe prompts`: list the prompts, or preview one filled with a dataset's texts."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import islice

import pandas as pd

from poe import datasets
from poe.judges import prompts
from poe.judges.questions import Question, Text


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command to the parser."""
    command = commands.add_parser("prompts", help="list the prompts, or preview one")
    command.add_argument("dataset", nargs="?", help="a dataset with prompts; all by default")
    command.add_argument("attribute", nargs="?", help="one of its attributes")
    command.add_argument("--template", help="which template (default poe, where there is one)")
    command.add_argument(
        "--show", type=int, default=0, metavar="N", help="fill it with texts, N times"
    )
    command.add_argument(
        "--cut", type=int, default=400, metavar="N", help="characters shown of a text, 0 for all"
    )
    command.add_argument(
        "--texts",
        choices=["auto", "real", "stand-in"],
        default="auto",
        help="whose texts to show; auto takes the dataset's own where they are at hand",
    )
    command.add_argument(
        "--decoder-only", action="store_true", help="with the ending for decoder-only models"
    )
    command.set_defaults(run=_prompts)


def _prompts(options: argparse.Namespace) -> None:
    if options.attribute is None:
        _list(options.dataset)
        return
    there = prompts.templates(options.dataset, options.attribute)
    template = options.template or prompts.usual_template(options.dataset, options.attribute)
    _describe(prompts.listing(options.dataset, options.attribute, template), there)
    prompt = prompts.load(
        options.dataset, options.attribute, template, decoder_only=options.decoder_only
    )
    if options.show < 1:
        print(f"\n{prompt.template}")
        return
    data = _texts(options.dataset, options.texts)
    for number, question in enumerate(islice(_questions(prompt, data), options.show), start=1):
        print(f"\n--- {number}: {_names(question)} ---\n{_cut(question, options.cut)}")
        if prompt.prefix:
            print(f"[the answer starts:] {prompt.prefix}")


def _list(dataset: str | None) -> None:
    rows = [prompts.listing(*name.split("/")) for name in prompts.names(dataset)]
    table = pd.DataFrame(
        {
            "dataset": [row.dataset for row in rows],
            "attribute": [row.attribute for row in rows],
            "template": [row.template for row in rows],
            "wording": [row.status for row in rows],
            "labels": [_labels(row.prompt.labels) for row in rows],
        }
    )
    print(table.to_string(index=False))
    for status, meaning in prompts.STATUS.items():
        print(f"{status}: {meaning}")


def _labels(labels: tuple[str, ...]) -> str:
    return ", ".join(labels) if len(labels) < 6 else f"{labels[0]} to {labels[-1]}"


def _describe(found: prompts.Listing, there: tuple[str, ...]) -> None:
    print(f"prompt     {found.name}, one of the templates {', '.join(there)}")
    print(f"source     {found.source}")
    print(f"wording    {found.status}: {prompts.STATUS[found.status]}")
    print(f"labels     {', '.join(found.prompt.labels)}")
    print(f"prefix     {found.prompt.prefix or 'none'}")
    if found.decoder_only:
        print(f"ending     {found.decoder_only.strip()} (with --decoder-only)")
    if found.note:
        print(f"note       {found.note}")


def _texts(name: str, source: datasets.Source) -> datasets.Dataset:
    data = datasets.load(name, source=source)
    if source == "auto" and not data.has_texts:
        data = datasets.load(name, source="stand-in")
        print(f"texts      stand-ins: the scores of {name} are on this machine, its texts are not")
    elif data.source == "stand-in":
        print(f"texts      stand-ins: {data.provenance['reason']}")
    else:
        print(f"texts      {data.title}; licence: {data.provenance['licence']}")
    return data


def _questions(prompt: prompts.Prompt, data: datasets.Dataset) -> Iterator[Question]:
    """The first pair of every context in turn; other pairs where there is one context only."""
    step = 2 if prompt.comparative else 1
    starts = range(0, data.n_candidates - step + 1, step) if data.n_contexts == 1 else (0,)
    for c in range(data.n_contexts):
        items, context = data.candidates(c), data.context(c)
        for k in starts:
            second = items[k + 1] if prompt.comparative else None
            yield Question(prompt, first=items[k], second=second, context=context)


def _names(question: Question) -> str:
    shown = [question.context, question.first, question.second]
    return ", ".join(text.id for text in shown if text is not None)


def _cut(question: Question, limit: int) -> str:
    def shorter(text: Text | None) -> Text | None:
        if text is None or limit < 1 or len(text.text) <= limit:
            return text
        rest = len(text.text) - limit
        return Text(text.id, f"{text.text[:limit]} [{rest:,} more characters]")

    first = shorter(question.first)
    assert first is not None
    return Question(
        question.prompt, first, shorter(question.second), shorter(question.context)
    ).text
