"""Tokens with which chats are written, broken where a text holds them.

A server would take such a token for the end of a turn. A model on this machine has its own broken
by its tokenizer.
"""

from __future__ import annotations

import re

__all__ = ["CONTROL", "broken"]

# How chat templates mark turns: ChatML, Llama 2 and 3, Mistral, Gemma, Phi, DeepSeek, GPT.
CONTROL = re.compile(
    r"<[|｜][^\s<>|｜]{1,40}[|｜]>|<(?:start|end)_of_turn>|</?s>|<(?:bos|eos|pad|unk)>"
    r"|\[/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS)\]|<</?SYS>>"
)


def broken(text: str) -> str:
    """The text with a space after the first character of every control token in it."""
    return CONTROL.sub(lambda match: f"{match[0][0]} {match[0][1:]}", text)
