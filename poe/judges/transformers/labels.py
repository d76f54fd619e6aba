"""Label words as tokens: each must be one token, and another one, where the answer comes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from poe.errors import JudgeError
from poe.judges.questions import Prompt

Encode = Callable[[Sequence[str]], list[list[int]]]

# After these the label follows without a space; a space before the label belongs to its token.
OPENING = ("(", "[", "{", '"', "'", "`", "\n", "“", "‘")


def gap(before: str) -> str:
    """What stands between an answer's beginning and its label word."""
    return "" if before.endswith(OPENING) else " "


def label_tokens(
    prompt: Prompt, encode: Encode, tokenizer: Any, *, stem: str, between: str
) -> tuple[int, ...]:
    """The token of each label word right after `stem` and `between`.

    The probability of a word is that of one token only if the word is one token there, and if
    putting it there leaves the tokens before it as they were; raises JudgeError, with the
    tokens, otherwise.
    """
    start, *whole = encode([stem, *(stem + between + label for label in prompt.labels)])
    n = len(start)
    rests = [ids[n:] if ids[:n] == start else None for ids in whole]
    shown = "; ".join(
        f"{label!r} as {_shown(tokenizer, ids[max(n - 1, 0) :] if rest is None else rest)}"
        for label, ids, rest in zip(prompt.labels, whole, rests, strict=True)
    )
    after = f"after the prefix {prompt.prefix!r}" if prompt.prefix else "where the answer starts"
    if any(rest is None for rest in rests):
        raise JudgeError(
            f"prompt {prompt.name!r}: a label word merges with the token before it {after} "
            f"({_shown(tokenizer, start[-1:])} there; {shown}); end the prefix with a whole word "
            "and no space"
        )
    single = [rest[0] for rest in rests if rest is not None and len(rest) == 1]
    if len(single) < len(rests):
        raise JudgeError(
            f"prompt {prompt.name!r}: every label word must be a single token {after}, but this "
            f"model's tokenizer reads {shown}; take shorter words, such as A and B"
        )
    if len(set(single)) < len(single):
        raise JudgeError(
            f"prompt {prompt.name!r}: two label words are the same token {after}: {shown}"
        )
    return tuple(single)


def _shown(tokenizer: Any, ids: Sequence[int]) -> str:
    return " ".join(repr(token) for token in tokenizer.convert_ids_to_tokens(list(ids)))
