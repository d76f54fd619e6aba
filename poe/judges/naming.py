"""Questions in words: `str(question)`."""

from __future__ import annotations

from poe.judges.questions import Question


def describe(question: Question) -> str:
    """A question by the names of its prompt and texts, never by the texts themselves."""
    return str(question)
