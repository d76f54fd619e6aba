"""The prompts of the papers, as data, and a user's own in one line.

    >>> from judging.judges import prompts
    >>> prompts.load("summeval", "coherence").labels
    ('A', 'B')
    >>> prompts.for_attribute("more persuasive", thing="essay").name
    'own/more persuasive'

The wording lies in data/prompts/, one TOML file a dataset, each template with its source and
with how its words are known; data/prompts/README.md explains the fields.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from judging.errors import JudgeError
from judging.machine import data_dir
from judging.question import Prompt

STATUS = {
    "printed": "printed in the paper for this attribute",
    "sibling": "not printed; the paper's template with this attribute's words",
    "code": "the paper shows a picture; the words are those of the authors' code",
    "own": "written for this project",
}
DEFAULT = "poe"  # the template of poe_v2's Table 4
OWN = "; prompts.for_attribute makes your own"  # said beside what there is


@dataclass(frozen=True)
class Listing:
    """A prompt of data/prompts/ and where its wording comes from; its README has the fields."""

    dataset: str
    attribute: str
    template: str
    prompt: Prompt
    status: str
    source: str
    note: str = ""
    decoder_only: str = ""


def load(
    dataset: str, attribute: str, template: str | None = None, *, decoder_only: bool = False
) -> Prompt:
    """The prompt for an attribute of a dataset (poe_v2 Table 4; book chapter 2).

    dataset, attribute : as in `judging.datasets`; `overview` lists them.
    template : "poe" is poe_v2's comparison, the default where there is one; "comparative-1",
        "comparative-2", "scoring-1" and "scoring-2" are comparative_assessment's; "g-eval"
        scores from 1 to 5.
    decoder_only : append what comparative_assessment appends for Llama-2, "Answer:" or "Score:";
        nothing happens to a template that has no such ending.

    Raises JudgeError if there is no such prompt; the message lists those there are.
    """
    entry = listing(dataset, attribute, template)
    if not (decoder_only and entry.decoder_only):
        return entry.prompt
    name, text = f"{entry.prompt.name} (decoder-only)", entry.prompt.template + entry.decoder_only
    return replace(entry.prompt, name=name, template=text)


def listing(dataset: str, attribute: str, template: str | None = None) -> Listing:
    """A prompt with its source and status; arguments and errors as for `load`."""
    there = templates(dataset, attribute)
    template = _one_of(f"template for {dataset}/{attribute}", template or there[0], there, own="")
    row, words = _file(dataset)["templates"][template], _file(dataset)["attributes"][attribute]
    name = f"{dataset}/{attribute}" + ("" if template == DEFAULT else f"/{template}")
    text = re.sub(r"<(\w+)>", lambda slot: words[slot[1]], row["text"])
    return Listing(
        dataset=dataset,
        attribute=attribute,
        template=template,
        prompt=Prompt(name, text, labels=tuple(row["labels"]), prefix=row["prefix"]),
        status=row.get("exceptions", {}).get(attribute, row["status"]),
        source=row["source"],
        note=row.get("note", ""),
        decoder_only=row.get("decoder_only", ""),
    )


@cache
def datasets() -> tuple[str, ...]:
    """Names of the datasets that have prompts."""
    return tuple(sorted(path.stem for path in (data_dir() / "prompts").glob("*.toml")))


def attributes(dataset: str) -> tuple[str, ...]:
    """Attributes of a dataset that have prompts."""
    return tuple(_file(_one_of("dataset with prompts", dataset, datasets()))["attributes"])


def templates(dataset: str, attribute: str) -> tuple[str, ...]:
    """Templates there are for an attribute, the one that `load` takes by itself first."""
    _one_of(f"attribute of {dataset}", attribute, attributes(dataset))
    rows = _file(dataset)["templates"]
    there = (t for t, row in rows.items() if attribute in row.get("only", [attribute]))
    return tuple(sorted(there, key=lambda t: t != DEFAULT))


def names(dataset: str | None = None) -> tuple[str, ...]:
    """Names "dataset/attribute/template" of all prompts, or of one dataset's."""
    return tuple(
        f"{name}/{attribute}/{template}"
        for name in (datasets() if dataset is None else [dataset])
        for attribute in attributes(name)
        for template in templates(name, attribute)
    )


def overview(dataset: str | None = None) -> str:
    """All prompts, or one dataset's, as text: a line each, and what the words for wording mean."""
    every = [listing(*name.split("/")) for name in names(dataset)]
    rows = [
        (one.dataset, one.attribute, one.template, one.status, " ".join(one.prompt.labels))
        for one in every
    ]
    table = pd.DataFrame(rows, columns=["dataset", "attribute", "template", "wording", "labels"])
    meanings = (f"{status}: {meaning}" for status, meaning in STATUS.items())
    return "\n".join([table.to_string(index=False), *meanings])


def describe(dataset: str, attribute: str, template: str | None = None) -> str:
    """A prompt's source, wording, labels and prefix as text."""
    entry = listing(dataset, attribute, template)
    there = ", ".join(templates(dataset, attribute))
    lines = {
        "prompt": f"{entry.prompt.name}, one of the templates {there}",
        "source": entry.source,
        "wording": f"{entry.status}: {STATUS[entry.status]}",
        "labels": ", ".join(entry.prompt.labels),
        "prefix": entry.prompt.prefix or "none",
        "ending": entry.decoder_only and f"{entry.decoder_only.strip()} (with decoder_only=True)",
        "note": entry.note,
    }
    return "\n".join(f"{name:<10} {text}" for name, text in lines.items() if text)


def for_attribute(
    attribute: str,
    *,
    thing: str = "text",
    context: str | None = None,
    wording: str | Path | None = None,
) -> Prompt:
    """A comparison by an attribute of your own, in the style of poe_v2's Table 4.

    attribute : what follows "Which essay is": "more persuasive", "clearer", "better argued"; or a
        verb with what belongs to it, "answers the question better".
    thing : what is compared: "essay", "cover letter".
    context : what the texts answer to, as it is to be headed ("Article", "Task"); None if they
        stand alone.
    wording : a file with the question in your own words instead, see `of_file`.

    Raises JudgeError if a word is empty or has braces, or the attribute does not compare.
    """
    if wording is not None:
        return of_file(wording, attribute, thing=thing, context=context)
    attribute = _words("attribute", attribute.strip().rstrip("?"))
    _require_comparative(attribute)
    thing = _words("thing", thing)
    label = thing[0].upper() + thing[1:]
    head = "" if context is None else f"{_words('context', context)}: {{context}}\n\n"
    return Prompt(
        name=f"own/{attribute}",
        template=(
            f"{head}{label} A: {{first}}\n\n{label} B: {{second}}\n\n"
            f"Which {thing} {_predicate(attribute)}, {label} A or {label} B?"
        ),
        prefix=label,
    )


def of_file(
    path: str | Path, attribute: str, *, thing: str = "text", context: str | None = None
) -> Prompt:
    """A comparison in your own words, from a TOML file.

    text : the question, with {first} and {second} where the texts go, and {context} if they have
        one; {attribute} and {thing} stand for those words. Marks around a text, such as <essay> and
        </essay>, tell a model where it ends.
    labels : the two words that answer it, ["A", "B"] by default, the first for the first text.
    prefix : how the answer begins, "Essay". system : a system message.

    Raises JudgeError if the file cannot be read, lacks a place, or has one that nothing fills.
    """
    path = Path(path)
    try:
        row = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise JudgeError(f"{path} cannot be read: {error.strerror}") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise JudgeError(f'{path} is not TOML: {error}; it has text = """..."""') from None
    if more := [key for key in row if key not in ("text", "labels", "prefix", "system")]:
        raise JudgeError(f"{path}: {more[0]!r} is not text, labels, prefix or system")
    words = {"attribute": attribute.strip(), "thing": thing}

    def filled(text: Any) -> str:
        return re.sub(r"\{(attribute|thing)\}", lambda slot: words[slot[1]], str(text))

    text = filled(row.get("text", ""))
    there, needed = set(re.findall(r"\{(\w+)\}", text)), {"first", "second"}
    needed |= {"context"} if context is not None else set()
    if lacks := sorted(needed - there):
        raise JudgeError(f"{path}: the text has no {{{lacks[0]}}}, where the {lacks[0]} would go")
    if more := sorted(there - needed):
        why = "; the texts have no column context" if more[0] == "context" else ""
        raise JudgeError(f"{path}: nothing fills {{{more[0]}}} in the text{why}")
    try:
        return Prompt(
            name=f"{path.stem}/{words['attribute']}",
            template=text,
            labels=tuple(row.get("labels", ("A", "B"))),
            prefix=filled(row.get("prefix", "")),
            system=filled(row["system"]) if row.get("system") else None,
        )
    except ValueError as error:
        raise JudgeError(f"{path}: {error}") from None


def _predicate(attribute: str) -> str:
    """What follows the thing: "is more persuasive", "answers the question better"."""
    first, *others = attribute.lower().split()
    if first == "the" and others:  # "the better explanation"
        first = others[0]
    if first == "is" or (first.endswith("s") and first != "less" and " " in attribute):
        return attribute  # a verb: answers, appears, has
    if first in ("more", "less", "better", "worse") or first.endswith("er"):
        return f"is {attribute}"
    raise JudgeError(
        f"attribute {attribute!r} does not compare; say which text is to win, for example "
        f"'more {attribute}', or with a verb, 'answers the question better'"
    )


def _require_comparative(attribute: str) -> None:
    """Refuse "funniest" and "more funnier", which ask for the best of all, or ask twice."""
    first, _, second = attribute.lower().partition(" ")
    word = second.split(" ")[0] if first in ("more", "less", "most", "least") else first
    known = word.endswith(("honest", "modest", "earnest", "manifest", "interest"))
    highest = (word.endswith("est") and not known) or first in ("most", "least", "best", "worst")
    twice = first in ("more", "less") and word.endswith(("ier", "better", "worse"))
    if highest or twice:
        what = "asks for the best of all" if highest else "compares twice"
        raise JudgeError(
            f"attribute {attribute!r} {what}, and a judge is shown two texts; write 'funnier', "
            "'more persuasive' or, with a verb, 'answers the question better'"
        )


def _words(what: str, value: str) -> str:
    value = " ".join(value.split())
    if not value:
        raise JudgeError(f"the {what} of a prompt is empty; say what it is in a word or two")
    if "{" in value or "}" in value:
        raise JudgeError(f"the {what} {value!r} has braces, which mark the places of the texts")
    return value


@cache
def _file(dataset: str) -> dict[str, Any]:
    with (data_dir() / "prompts" / f"{dataset}.toml").open("rb") as stream:
        return tomllib.load(stream)


def _one_of(what: str, name: str, there: Iterable[str], own: str = OWN) -> str:
    there = tuple(there)
    if name in there:
        return name
    near = difflib.get_close_matches(str(name).lower(), there, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise JudgeError(f"no {what} {name!r}; {hint}there are {', '.join(map(repr, there))}{own}")
