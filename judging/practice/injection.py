"""Texts that speak to the judge and not to a reader, named beside the ranking.

No wording is proof against a text that tells its judge what to answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from judging.judges.control_tokens import CONTROL
from judging.question import Prompt, Text
from poe.errors import name_some

__all__ = ["notes"]

IGNORE = r"(?:ignore|disregard|forget|override)"
# An order begins a sentence or a line ("one cannot ignore the above" is an essay's) and ends there.
BEGINS = r"""(?:(?:^|[.!?:;,"'*_(\[])\s*|\b(?:please|always|just|simply|now|only)\s+)"""
ENDS = r"""(?=["'*_)\]]*\s*(?:[.,;!?]|$|(?:and|then)\b))"""
ORDERS = re.compile(
    rf"\b{IGNORE}\s+(?:[\w']+\s+){{0,3}}(?:instructions?|prompts?)\b"
    rf"|{BEGINS}{IGNORE}\s+(?:(?:all|everything|anything|what(?:ever)?)\s+)?"
    rf"(?:(?:of|that|is|was|said|written|the)\s+){{0,3}}(?:above|before|previous|preceding){ENDS}",
    re.IGNORECASE | re.MULTILINE,
)
PLACE = re.compile(r"\{\w+\}")


def notes(prompt: Prompt, texts: Iterable[Text]) -> tuple[str, ...]:
    """A sentence naming texts that hold control tokens, the prompt's headings, or orders.

    An order is to ignore what stands before, or to answer with one of the prompt's labels.

    A heading is what stands in the template between the end of a paragraph and a text, "Essay B:".
    It counts at the beginning of a line, which is where a second one would fool a judge.
    """
    head = [before.rsplit("\n", 1)[-1].strip() for before in PLACE.split(prompt.template)[:-1]]
    headings = [re.escape(one) for one in head if len(one) > 2]
    forged = re.compile(rf"^\s*(?:{'|'.join(headings)})", re.MULTILINE) if headings else None

    labels = [re.escape(label.strip()) for label in prompt.labels if len(label.strip()) == 1]
    verbs = r"(?i:answer|choose|pick|select|output|reply|respond|say)(?:\s+(?i:with|only|text))*"
    named = rf"{verbs}\s+[\"'(*]*(?:{'|'.join(labels)}){ENDS}"
    answer = re.compile(f"(?i:{BEGINS}){named}", re.MULTILINE) if labels else None

    def why(text: str) -> Iterator[str]:
        if CONTROL.search(text):
            yield "tokens with which chats are written"
        if forged and forged.search(text):
            yield "headings of the question itself"
        if ORDERS.search(text):
            yield "an order to ignore others"
        if answer and answer.search(text):
            yield "an order to give an answer"

    suspects = {text.id: list(why(text.text)) for text in texts}
    suspects = {name: reasons for name, reasons in suspects.items() if reasons}
    if not suspects:
        return ()
    reasons = dict.fromkeys(reason for one in suspects.values() for reason in one)
    many = len(suspects) > 1
    return (
        f"{len(suspects)} text{'s' if many else ''} may speak to the judge and not to a reader "
        f"({name_some(list(suspects))}; {', '.join(reasons)}): read {'them' if many else 'it'} "
        f"before you trust {'their places' if many else 'its place'}",
    )
