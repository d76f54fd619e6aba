"""Questions in words, for messages."""

from __future__ import annotations

from poe.judges.questions import Question


def describe(question: Question) -> str:
    """A question by the names of its prompt and texts, never by the texts themselves."""
    texts = (("first", question.first), ("second", question.second), ("context", question.context))
    named = ", ".join(f"{place} {text.id!r}" for place, text in texts if text is not None)
    return f"prompt {question.prompt.name!r} with {named}"
