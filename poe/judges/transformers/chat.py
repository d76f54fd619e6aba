"""From a question to the tokens that a model reads, up to where the label word comes."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from poe.errors import JudgeError
from poe.judges.questions import Prompt
from poe.judges.transformers.labels import gap, label_tokens
from poe.judges.transformers.loading import Loaded

# Models that may think aloud first are asked not to; other templates do not know the word.
ASKED = {"enable_thinking": False}
SENTINEL = "poe-sentinel"


@dataclass(frozen=True)
class Target:
    """Where the answer is read: tokens the decoder starts with, and the label words' tokens."""

    start: tuple[int, ...]
    labels: tuple[int, ...]


class Writer:
    """Writes prompts as a model expects them; see `ChatWriter` and `EncoderWriter`.

    Text in a prompt that reads like one of the tokenizer's control tokens, such as </s>, would
    end the prompt in the middle; it is broken by a space.
    """

    takes_system: bool = False

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        added = getattr(tokenizer, "added_tokens_decoder", {}).values()
        control = {str(token) for token in added if getattr(token, "special", False)}
        self.control = sorted(control | set(tokenizer.all_special_tokens), key=len, reverse=True)
        self.control = [token for token in self.control if len(token) > 1]
        self._targets: dict[str, Target] = {}

    def breaks(self, text: str) -> bool:
        """Whether control tokens stand in the text."""
        return any(token in text for token in self.control)

    def clean(self, text: str) -> str:
        """The text with control tokens broken."""
        for token in self.control:
            text = text.replace(token, f"{token[0]} {token[1:]}")
        return text

    @property
    def description(self) -> str:
        """How prompts are written, for the specification."""
        raise NotImplementedError

    def write(self, prompt: Prompt, text: str) -> str:
        """All that the model reads before the label word, where it is one text."""
        raise NotImplementedError

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """The tokens of what `write` returned."""
        raise NotImplementedError

    def target(self, prompt: Prompt, written: str) -> Target:
        """Label tokens, checked on the first question a prompt is used for."""
        if prompt.digest not in self._targets:
            self._targets[prompt.digest] = self._target(prompt, written)
        return self._targets[prompt.digest]

    def _target(self, prompt: Prompt, written: str) -> Target:
        raise NotImplementedError

    def _plain(self, texts: Sequence[str], *, special: bool = False) -> list[list[int]]:
        encoded = self.tokenizer(list(texts), add_special_tokens=special, verbose=False)
        return [list(ids) for ids in encoded["input_ids"]]


class ChatWriter(Writer):
    """Prompts of a decoder-only model: its chat template, then the beginning of the answer.

    system : "merge" puts a system message in front of the user's turn where the template has no
    place for one, "refuse" raises JudgeError there. A tokenizer without a template gets the plain
    text, with a warning. There is one beginning-of-sequence token where the model has one.
    """

    def __init__(self, tokenizer: Any, *, system: str = "merge") -> None:
        super().__init__(tokenizer)
        self.system = system
        self.template = getattr(tokenizer, "chat_template", None)
        start = self._plain(["x"], special=True)[0]
        self.bos = tokenizer.bos_token_id
        self.adds_bos = self.bos is not None and start[0] == self.bos
        self.takes_system = self.template is not None and self._takes_system()
        if self.template is None:
            warnings.warn(
                f"{tokenizer.name_or_path or 'this tokenizer'} has no chat template: prompts are "
                "given as plain text, which a model made for chats is not used to",
                stacklevel=3,
            )
        self._glue: dict[bool, str] = {}

    @property
    def description(self) -> str:
        """The template's digest, for the specification."""
        if self.template is None:
            return "none: plain text"
        return hashlib.sha256(str(self.template).encode()).hexdigest()

    def write(self, prompt: Prompt, text: str) -> str:
        """The user's turn in the template, and the prefix of the answer."""
        opened, between = self._open(prompt, text)
        if not prompt.prefix.strip():
            return opened
        return opened + between + prompt.prefix.rstrip(" ")

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Tokens, with exactly one beginning of sequence where the model has one."""
        return [self._one_bos(ids) for ids in self._plain(texts)]

    def _one_bos(self, ids: list[int]) -> list[int]:
        if self.bos is None:
            return ids
        n = 0
        while n < len(ids) and ids[n] == self.bos:
            n += 1
        return [self.bos, *ids[n:]] if n or self.adds_bos else ids

    def _target(self, prompt: Prompt, written: str) -> Target:
        if prompt.prefix.strip():
            between = gap(prompt.prefix.rstrip(" "))
        elif self.template is None:
            between = gap(written)
        else:
            between = self._between(bool(prompt.system and self.takes_system))
        found = label_tokens(prompt, self.encode, self.tokenizer, stem=written, between=between)
        return Target((), found)

    def _open(self, prompt: Prompt, text: str) -> tuple[str, str]:
        """The prompt up to where the answer starts, and what the template puts before an answer."""
        text = self.clean(text)
        system = prompt.system
        if system and not self.takes_system:
            if self.system == "refuse":
                raise JudgeError(
                    f"prompt {prompt.name!r} has a system message, and this model's template has "
                    "no place for one; take it out, or merge it into the user's turn with "
                    "system='merge'"
                )
            text, system = f"{system}\n\n{text}", None
        if self.template is None:
            return text, "" if text.endswith("\n") else "\n"
        return self._render(self._messages(text, system)), self._between(system is not None)

    def _between(self, system: bool) -> str:
        """White space that the template puts between its generation prompt and an answer."""
        if system not in self._glue:
            messages = self._messages("?", "!" if system else None)
            opened = self._render(messages)
            try:
                whole = self._render(
                    [*messages, {"role": "assistant", "content": SENTINEL}], opening=False
                )
            except Exception:  # a template may refuse a conversation that ends so
                whole = ""
            rest = whole[len(opened) :].split(SENTINEL)[0] if whole.startswith(opened) else ""
            self._glue[system] = rest if SENTINEL in whole and not rest.strip() else ""
        return self._glue[system]

    def _takes_system(self) -> bool:
        try:
            written = self._render(self._messages("?", SENTINEL))
        except Exception:  # templates refuse roles in ways of their own
            return False
        return SENTINEL in written

    @staticmethod
    def _messages(text: str, system: str | None) -> list[dict[str, str]]:
        first = [{"role": "system", "content": system}] if system else []
        return [*first, {"role": "user", "content": text}]

    def _render(self, messages: list[dict[str, str]], *, opening: bool = True) -> str:
        return str(
            self.tokenizer.apply_chat_template(
                messages, tokenize=False, add_generation_prompt=opening, **ASKED
            )
        )


class EncoderWriter(Writer):
    """Prompts of an encoder-decoder: the encoder reads the text, the decoder starts the answer.

    A system message comes first in the text ("merge"), or is refused. start : the token the decoder
    starts with.
    """

    def __init__(self, tokenizer: Any, *, start: int, system: str = "merge") -> None:
        super().__init__(tokenizer)
        self.start, self.system = start, system

    @property
    def description(self) -> str:
        """How prompts are written, for the specification."""
        return "encoder reads the text, decoder starts with the prefix"

    def write(self, prompt: Prompt, text: str) -> str:
        """The text for the encoder."""
        if prompt.system and self.system == "refuse":
            raise JudgeError(
                f"prompt {prompt.name!r} has a system message, which an encoder-decoder has no "
                "place for; take it out, or merge it with system='merge'"
            )
        text = self.clean(text)
        return f"{prompt.system}\n\n{text}" if prompt.system else text

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Tokens with the end of sequence, as the encoder was trained."""
        return self._plain(texts, special=True)

    def _target(self, prompt: Prompt, written: str) -> Target:
        prefix = prompt.prefix.rstrip(" ")
        between = gap(prefix) if prefix else ""
        found = label_tokens(prompt, self._plain, self.tokenizer, stem=prefix, between=between)
        return Target((self.start, *self._plain([prefix])[0]), found)


def writer_for(loaded: Loaded, *, system: str) -> Writer:
    """The writer that suits a model."""
    if not loaded.encoder_decoder:
        return ChatWriter(loaded.tokenizer, system=system)
    config = loaded.model.config
    start = config.decoder_start_token_id
    return EncoderWriter(
        loaded.tokenizer, start=config.pad_token_id if start is None else start, system=system
    )
