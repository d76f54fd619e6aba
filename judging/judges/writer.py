"""How prompts are written for a language model, and which tokens its label words are.

Nothing here knows which library runs the model: a tokenizer is all that is needed.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from judging.errors import JudgeError
from judging.question import Prompt

SENTINEL = "poe-sentinel"
# After these a label follows without a space; elsewhere the space belongs to the label's token.
OPENING = (" ", "(", "[", "{", '"', "'", "`", "\n", "“", "‘")


@dataclass(frozen=True)
class Target:
    """Where the answer is read: tokens the decoder starts with, and the label words' tokens."""

    start: tuple[int, ...]
    labels: tuple[int, ...]


class Writer:
    """Writes prompts as a model expects them, and knows the tokens of the label words after them.

    A system message goes in front of the user's turn where a model has no place for one. Text in
    a prompt that reads like one of the tokenizer's control tokens, such as </s>, would end the
    prompt in the middle; it is broken by a space.
    """

    takes_system: bool = False
    description: str  # how prompts are written, for the specification

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        added = getattr(tokenizer, "added_tokens_decoder", {}).values()
        control = {str(token) for token in added if getattr(token, "special", False)}
        control |= set(tokenizer.all_special_tokens)
        self.control = sorted((t for t in control if len(t) > 1), key=len, reverse=True)
        self._targets: dict[str, Target] = {}

    def breaks(self, text: str) -> bool:
        """Tell whether control tokens stand in the text."""
        return any(token in text for token in self.control)

    def write(self, prompt: Prompt, text: str) -> str:
        """All that the model reads before the label word, where it is one text."""
        for token in self.control:
            text = text.replace(token, f"{token[0]} {token[1:]}")
        system = prompt.system
        if system and not self.takes_system:
            text, system = f"{system}\n\n{text}", None
        return self._write(prompt, text, system)

    def _write(self, prompt: Prompt, text: str, system: str | None) -> str:
        raise NotImplementedError

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """The tokens of what `write` returned."""
        raise NotImplementedError

    def target(self, prompt: Prompt, written: str) -> Target:
        """Find where the answer is read, checked on a prompt's first question."""
        if prompt.digest not in self._targets:
            self._targets[prompt.digest] = self._target(prompt, written)
        return self._targets[prompt.digest]

    def _target(self, prompt: Prompt, written: str) -> Target:
        raise NotImplementedError

    def _tokens(self, texts: Sequence[str], *, special: bool = False) -> list[list[int]]:
        encoded = self.tokenizer(list(texts), add_special_tokens=special, verbose=False)
        return [list(ids) for ids in encoded["input_ids"]]


class ChatWriter(Writer):
    """Prompts of a decoder-only model: its chat template, then the beginning of the answer.

    A tokenizer without a template gets the plain text, with a warning. There is one
    beginning-of-sequence token where the model has one.
    """

    def __init__(self, tokenizer: Any) -> None:
        super().__init__(tokenizer)
        self.template = getattr(tokenizer, "chat_template", None)
        self.bos = tokenizer.bos_token_id
        start = self._tokens(["x"], special=True)[0]
        self.adds_bos = self.bos is not None and start[0] == self.bos
        self._between: dict[bool, str] = {}
        self._leads: dict[str, str] = {}
        if self.template is None:
            self.description = "none: plain text"
            warnings.warn(
                f"{tokenizer.name_or_path or 'this tokenizer'} has no chat template: prompts are "
                "given as plain text, which a model made for chats is not used to",
                stacklevel=3,
            )
        else:
            self.description = hashlib.sha256(str(self.template).encode()).hexdigest()
            self.takes_system = SENTINEL in (self._render("?", SENTINEL) or "")

    def _write(self, prompt: Prompt, text: str, system: str | None) -> str:
        if self.template is None:
            opened, between = text, "" if text.endswith("\n") else "\n"
        else:
            opened, between = str(self._render(text, system)), self._white(system is not None)
        if not prompt.prefix.strip():
            return opened
        written = opened + between + prompt.prefix.rstrip(" ")
        if prompt.digest not in self._leads:
            self._leads[prompt.digest] = self._lead(prompt, written)
        return written + self._leads[prompt.digest]

    def _lead(self, prompt: Prompt, written: str) -> str:
        """The space before the label words, where it is a token of its own and so read first.

        It says nothing about which word follows: some tokenizers put it before every digit.
        """
        stem, spaced, *whole = self.encode(
            [written + rest for rest in ("", " ", *(f" {label}" for label in prompt.labels))]
        )
        own = gap(written) and spaced[:-1] == stem and all(ids[:-1] == spaced for ids in whole)
        return " " if own else ""

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Tokens, with exactly one beginning of sequence where the model has one."""
        tokens = []
        for ids in self._tokens(texts):
            n = 0
            while self.bos is not None and n < len(ids) and ids[n] == self.bos:
                n += 1
            tokens.append([self.bos, *ids[n:]] if n or self.adds_bos else ids)
        return tokens

    def _target(self, prompt: Prompt, written: str) -> Target:
        if prompt.prefix.strip() or self.template is None:
            between = gap(written)
        else:
            between = self._white(bool(prompt.system and self.takes_system))
        return Target((), label_tokens(prompt, self.encode, self.tokenizer, written, between))

    def _white(self, system: bool) -> str:
        """White space that the template puts between its generation prompt and an answer."""
        if system not in self._between:
            opened = str(self._render("?", "!" if system else None))
            whole = self._render("?", "!" if system else None, answer=SENTINEL) or ""
            rest = whole[len(opened) :].split(SENTINEL)[0] if whole.startswith(opened) else ""
            fits = SENTINEL in whole and not rest.strip()
            self._between[system] = rest if fits else ""
        return self._between[system]

    def _render(self, text: str, system: str | None, answer: str = "") -> str | None:
        """The template filled; None where it refuses a system message or a given answer."""
        given = (("system", system), ("user", text), ("assistant", answer))
        messages = [
            {"role": role, "content": content}
            for role, content in given
            if content or role == "user"
        ]
        try:
            return str(
                self.tokenizer.apply_chat_template(
                    messages,
                    tokenize=False,
                    add_generation_prompt=not answer,
                    enable_thinking=False,  # other templates do not know the word
                )
            )
        except Exception:  # templates refuse in ways of their own
            if SENTINEL not in (system, answer):
                raise
            return None


class EncoderWriter(Writer):
    """Prompts of an encoder-decoder: the encoder reads the text, the decoder starts the answer.

    start : the token the decoder starts with.
    """

    description = "encoder reads the text, decoder starts with the prefix"

    def __init__(self, tokenizer: Any, *, start: int) -> None:
        super().__init__(tokenizer)
        self.start = start

    def _write(self, prompt: Prompt, text: str, system: str | None) -> str:
        return text

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Tokens with the end of sequence, as the encoder was trained."""
        return self._tokens(texts, special=True)

    def _target(self, prompt: Prompt, written: str) -> Target:
        prefix = prompt.prefix.rstrip(" ")
        between = gap(prefix) if prefix else ""
        labels = label_tokens(prompt, self._tokens, self.tokenizer, prefix, between)
        return Target((self.start, *self._tokens([prefix])[0]), labels)


# Label words -----------------------------------------------------------------------------------


def gap(before: str) -> str:
    """Find what stands between an answer's beginning and its label word."""
    return "" if before.endswith(OPENING) else " "


def label_tokens(
    prompt: Prompt,
    encode: Callable[[Sequence[str]], list[list[int]]],
    tokenizer: Any,
    stem: str,
    between: str,
) -> tuple[int, ...]:
    """The token of each label word right after `stem` and `between`.

    The probability of a word is that of one token only if the word is one token there, and if
    putting it there leaves the tokens before it as they were; raises JudgeError, with the
    tokens, otherwise.
    """
    start, *whole = encode([stem, *(stem + between + label for label in prompt.labels)])
    n = len(start)
    rests = [ids[n:] if ids[:n] == start else ids[max(n - 1, 0) :] for ids in whole]
    words = [" ".join(map(repr, tokenizer.convert_ids_to_tokens(rest))) for rest in rests]
    shown = "; ".join(f"{a!r} as {b}" for a, b in zip(prompt.labels, words, strict=True))
    after = f"after the prefix {prompt.prefix!r}" if prompt.prefix else "where the answer starts"
    if any(ids[:n] != start for ids in whole):
        last = " ".join(map(repr, tokenizer.convert_ids_to_tokens(start[-1:])))
        raise JudgeError(
            f"prompt {prompt.name!r}: a label word merges with the token before it {after} "
            f"({last} there; {shown}); end the prefix with a whole word and no space"
        )
    if any(len(rest) != 1 for rest in rests):
        raise JudgeError(
            f"prompt {prompt.name!r}: every label word must be a single token {after}, but this "
            f"model's tokenizer reads {shown}; take shorter words, such as A and B"
        )
    tokens = tuple(rest[0] for rest in rests)
    if len(set(tokens)) < len(tokens):
        raise JudgeError(
            f"prompt {prompt.name!r}: two label words are the same token {after}: {shown}"
        )
    return tokens
