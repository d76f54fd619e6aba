"""What servers reply: likely tokens, sampled words, and the labels among them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from judging.question import Prompt

SPACES = " \t\r\n▁ĠĊ"  # as text, and as SentencePiece and byte-level vocabularies write them


MARKS = SPACES + "*_`\"'([{#"  # may stand before a label in a sampled answer


Likely = tuple[str, float]


def next_token(choice: Mapping[str, Any]) -> list[Likely] | None:
    """The likeliest next tokens with log-probabilities; None where the server gives none.

    The token that was chosen is added where the list lacks it. Raises ValueError for what cannot be
    log-probabilities: not numbers, above 0, or of more than certainty.
    """
    given = choice.get("logprobs")
    if not (isinstance(given, dict) and given.get("content")):
        return None
    try:
        first = given["content"][0]
        likely = {one["token"]: one["logprob"] for one in first.get("top_logprobs") or []}
        likely.setdefault(first["token"], first["logprob"])
        pairs = [(token, float(value)) for token, value in likely.items()]
        fits = all(isinstance(token, str) and value <= 1e-3 for token, value in pairs)
        fits = fits and {type(value) for value in likely.values()} <= {int, float}
        fits = fits and math.fsum(math.exp(value) for _, value in pairs) <= 1.01
    except (AttributeError, LookupError, OverflowError, TypeError, ValueError):
        fits = False
    if not fits:
        raise ValueError(
            "gives what cannot be log-probabilities: each token needs a number of at most 0, and "
            "all together at most 1 as probabilities"
        )
    return pairs


def merged(likely: Iterable[Likely], labels: Sequence[str]) -> tuple[float, ...]:
    """Log-probability of each label: its variants " A", "A", "▁A" together.

    A label that is not listed beside one that is has at most the probability of the least likely
    token listed, and at most what all of them leave, and counts as that: it was not shown, and is
    not impossible. All are -inf where no label was seen.
    """
    likely = list(likely)
    variants: dict[str, list[float]] = {label.strip(SPACES): [] for label in labels}
    for token, value in likely:
        variants.get(token.strip(SPACES), []).append(value)
    sums = [np.logaddexp.reduce(variants[label.strip(SPACES)]) for label in labels]
    if np.isneginf(sums).all() or not np.isneginf(sums).any():
        return tuple(min(0.0, float(one)) for one in sums)
    left = 1.0 - math.fsum(math.exp(value) for _, value in likely)
    most = min(value for _, value in likely if value > -math.inf)
    most = min(most, math.log(max(left, np.finfo(float).eps)))
    return tuple(most if np.isneginf(one) else min(0.0, float(one)) for one in sums)


def refusal(choice: Mapping[str, Any]) -> str:
    """Say why a choice is no answer, where a server says that it refuses; "" otherwise."""
    message = choice.get("message")
    words = message.get("refusal") if isinstance(message, dict) else None
    if isinstance(words, str) and words:
        return f"the model refuses: {words}"
    return "the content filter" if choice.get("finish_reason") == "content_filter" else ""


def said(choice: Any) -> str:
    """The text of a choice after its thinking, "" where there is none; ValueError if no choice."""
    if not isinstance(choice, dict):
        raise ValueError("returns a choice that is not an object")
    message = choice.get("message")
    text = message.get("content") if isinstance(message, dict) else None
    if not isinstance(text, str):
        return ""
    head, closed, rest = text.rpartition("</think>")
    return rest.lstrip() if closed else "" if text.lstrip().startswith("<think>") else head + rest


def label_of(text: str, prompt: Prompt) -> int | None:
    """Position of the label that a sampled answer starts with; None if it starts otherwise.

    The answer prefix may come first ("Summary A"), and marks around a word do not count ("**A**").
    """
    marks = f"[{re.escape(MARKS)}]*"
    if prompt.prefix:
        marks += f"(?:{re.escape(prompt.prefix)}[{re.escape(MARKS)}:]*)?+"
    for position, label in enumerate(prompt.labels):
        if re.match(marks + re.escape(label.strip(SPACES)) + r"(?!\w)", text):
            return position
    return None


def counted(texts: Sequence[str], prompt: Prompt) -> tuple[float, ...]:
    """Log of the share of the sampled answers that are each label."""
    hits = [label_of(text, prompt) for text in texts]
    shares = [hits.count(k) / len(texts) for k in range(len(prompt.labels))]
    return tuple(math.log(share) if share else -math.inf for share in shares)
