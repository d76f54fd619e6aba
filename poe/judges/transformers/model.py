"""A language model and its tokenizer: how it is loaded, and how its prompts are written."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from poe.errors import JudgeError
from poe.judges.questions import Prompt
from poe.judges.transformers import gguf

DTYPES = ("float32", "bfloat16", "float16")
# float16 overflows in their feed-forward layers: they were trained in bfloat16.
NOT_HALF = ("t5", "mt5", "umt5", "switch_transformers", "longt5", "gemma2", "gemma3", "gemma3_text")
SENTINEL = "poe-sentinel"
# After these a label follows without a space; elsewhere the space belongs to the label's token.
OPENING = (" ", "(", "[", "{", '"', "'", "`", "\n", "“", "‘")


# Loading ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Known:
    """A model before its weights are loaded: enough to write prompts, and for a specification.

    revision : what tells these weights from others of the same name: the hub's commit, or a
    digest of a folder's files. load : loads them; raises JudgeError if that fails.
    """

    config: Any
    tokenizer: Any
    name: str
    revision: str
    dtype: str
    load: Callable[[], Loaded]

    @property
    def encoder_decoder(self) -> bool:
        """Whether an encoder reads the prompt and a decoder answers."""
        return bool(self.config.is_encoder_decoder)

    @property
    def longest(self) -> int | None:
        """Tokens it can read, or None where its positions are relative."""
        config = self.config.get_text_config(decoder=True)
        found = getattr(config, "max_position_embeddings", None)
        return None if self.encoder_decoder or found is None else int(found)


@dataclass(frozen=True)
class Loaded:
    """A model that is ready to be asked. device : where inputs go. The rest as in `Known`."""

    model: Any
    tokenizer: Any
    name: str
    revision: str
    device: Any
    dtype: str

    @property
    def known(self) -> Known:
        """What was known before it was loaded."""
        config = self.model.config
        return Known(config, self.tokenizer, self.name, self.revision, self.dtype, lambda: self)


def find(
    name: str,
    *,
    revision: str | None = None,
    dtype: str = "auto",
    device: str = "auto",
) -> Known:
    """Find a model by its name on the hub, by its folder, or in a GGUF file.

    dtype : "auto" is bfloat16 on a device that has it, else float16 (float32 for models that
    overflow in it), and float32 on a CPU. device : "auto" takes a GPU if there is one and
    spreads the model over all devices if it does not fit; or "cuda:1", "cpu", "mps", "spread".
    Raises JudgeError if the model is not there, or needs something that is not.
    """
    require()
    from transformers import AutoConfig, AutoTokenizer

    # What finds the files is the same for configuration, tokenizer and weights.
    source: dict[str, Any] = {"revision": revision}
    where = name
    # The contents of a folder or file make it what it is, wherever it is.
    own = Path(name).resolve().name if Path(name).exists() else name
    try:
        if name.endswith(".gguf"):
            folder, more = gguf.plain(Path(name))
            where, source = str(folder), source | more
        if not Path(where).exists() and not _on_the_hub(name, revision):
            source["local_files_only"] = True
        config = AutoConfig.from_pretrained(where, **source)
        tokenizer = AutoTokenizer.from_pretrained(where, **source)
        place, kind = choose_place(device, dtype, config.model_type)
        commit = found_revision(name, **source)
    except Exception as error:
        raise JudgeError(explain(error, name, revision)) from error

    def load() -> Loaded:
        try:
            model = _weights(where, config, kind, place, device, source)
        except Exception as error:
            raise JudgeError(explain(error, name, revision)) from error
        return Loaded(model, tokenizer, own, commit, input_device(model), kind)

    return Known(config, tokenizer, own, commit, kind, load)


def _on_the_hub(name: str, revision: str | None) -> bool:
    """Whether the hub has it; False where it cannot be reached, for which it is asked only once.

    transformers would ask six times for each file, with a line of complaint each time.
    """
    from huggingface_hub import HfApi
    from huggingface_hub.errors import (
        HFValidationError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    try:
        HfApi().model_info(name, revision=revision, timeout=10.0)
    except (HFValidationError, RepositoryNotFoundError, RevisionNotFoundError):
        raise
    except Exception:
        return False
    return True


def require() -> None:
    """Raise JudgeError where torch or transformers is missing."""
    missing = [name for name in ("torch", "transformers") if find_spec(name) is None]
    if missing:
        raise JudgeError(
            f"running a language model needs {' and '.join(missing)}: "
            "pip install '.[judge]' in a clone of poe, or use a server, openai:MODEL@URL"
        )


def _weights(
    name: str, config: Any, dtype: str, place: str, asked: str, source: dict[str, Any]
) -> Any:
    import torch
    from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM

    family: Any = AutoModelForSeq2SeqLM if config.is_encoder_decoder else AutoModelForCausalLM
    more: dict[str, Any] = {"dtype": getattr(torch, dtype), **source}
    if place == "spread":
        more["device_map"] = "auto"
    elif place.startswith("cuda") and find_spec("accelerate"):
        # Straight onto the GPU, and onto the next one only what does not fit.
        more["device_map"] = "sequential" if asked == "auto" else {"": place}
    model = family.from_pretrained(name, **more).eval()
    return model if "device_map" in more else model.to(place)


def choose_place(device: str, dtype: str, model: str) -> tuple[str, str]:
    """The device, or "spread", and the precision that suit a model; JudgeError if none does."""
    import torch

    place = device
    if device == "auto":
        mps = "mps" if torch.backends.mps.is_available() else "cpu"
        place = "cuda" if torch.cuda.is_available() else mps
    elif device.startswith("cuda") and not torch.cuda.is_available():
        raise JudgeError(f"device {device!r}: this machine has no GPU that torch can use")
    # Older GPUs emulate bfloat16, slowly.
    bfloat16 = place.startswith(("cuda", "spread")) and torch.cuda.is_available()
    bfloat16 = bfloat16 and torch.cuda.is_bf16_supported(including_emulation=False)
    on_cpu = place.startswith("cpu")
    return place, choose_dtype(dtype, on_cpu=on_cpu, bfloat16=bfloat16, model=model)


def choose_dtype(asked: str, *, on_cpu: bool, bfloat16: bool, model: str) -> str:
    """The precision to compute in; raises JudgeError for one that would overflow."""
    delicate = model in NOT_HALF
    if asked == "auto":
        half = "bfloat16" if bfloat16 else "float32" if delicate else "float16"
        return "float32" if on_cpu else half
    if asked not in DTYPES:
        raise JudgeError(f"dtype {asked!r} is none of auto, {', '.join(DTYPES)}")
    if asked == "float16" and delicate:
        raise JudgeError(
            f"models of the kind {model} overflow in float16; take dtype='bfloat16' or 'float32'"
        )
    return asked


def input_device(model: Any) -> Any:
    """Where a model takes its inputs; the first of its devices that computes if it is spread."""
    import torch

    places = (getattr(model, "hf_device_map", None) or {}).values()
    # What is put off to the processor's memory or a disk is computed elsewhere.
    computing = [place for place in places if str(place) not in ("cpu", "disk", "meta")]
    if not computing:
        return next(model.parameters()).device
    first = computing[0]
    return torch.device("cuda", first) if isinstance(first, int) else torch.device(first)


def found_revision(name: str, revision: str | None = None, **source: Any) -> str:
    """The hub's commit, or a digest of a file, or of the names and contents of a folder's files."""
    if Path(name).is_file():
        return f"sha256:{gguf.digest(Path(name))}"
    if not Path(name).is_dir():
        from transformers.utils import cached_file

        # The hub's cache keeps a snapshot of files in a folder that is named by the commit.
        path = Path(cached_file(name, "config.json", revision=revision, **source) or "")
        return path.parent.name if path.parent.parent.name == "snapshots" else "unknown"
    digest = hashlib.sha256()
    for path in sorted(p for p in Path(name).iterdir() if p.is_file() and p.name[0] != "."):
        digest.update(f"{path.name} {gguf.digest(path)}\n".encode())
    return f"sha256:{digest.hexdigest()}"


def explain(error: BaseException, name: str, revision: str | None = None) -> str:
    """What went wrong in loading a model, and the way out."""
    if isinstance(error, JudgeError):
        return str(error)
    which = f"{name!r}" + (f" at revision {revision!r}" if revision else "")
    causes = list(_causes(error))
    seen = " ".join(f"{type(cause).__name__} {cause}" for cause in causes).lower()
    first = (str(error).strip().splitlines() or [type(error).__name__])[0][:300]
    folder = f"folder {name!r} holds no model that transformers can load: {first}"
    for signs, text in (
        (
            ("gatedrepoerror", "gated repo"),
            f"model {which} is gated: accept its licence on its page on the hub, then log in with "
            "'hf auth login'",
        ),
        (
            ("localentrynotfounderror", "offlinemodeisenabled", "couldn't connect"),
            f"model {which} is not on this machine and the hub cannot be reached (HF_HUB_OFFLINE "
            "may be set); connect once, or give the path of a folder that holds it",
        ),
        (
            ("revisionnotfounderror", "not a valid git identifier"),
            f"model {name!r} has no revision {revision!r} on the hub",
        ),
        (("",) if Path(name).is_dir() else (), folder),
        (
            ("repositorynotfounderror", "hfvalidationerror"),
            f"there is no model {which}: no such folder, and none of that name on the hub "
            "(a private one needs 'hf auth login')",
        ),
        (
            ("outofmemoryerror",),
            f"model {which} does not fit into memory; try device='spread' or a smaller model",
        ),
    ):
        if any(sign in seen for sign in signs):
            return text
    return f"model {which} cannot be loaded: {type(error).__name__}: {first}"


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


# Writing prompts -------------------------------------------------------------------------------


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
        """Whether control tokens stand in the text."""
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
        """Where the answer is read, checked on the first question a prompt is used for."""
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
        found = []
        for ids in self._tokens(texts):
            n = 0
            while self.bos is not None and n < len(ids) and ids[n] == self.bos:
                n += 1
            found.append([self.bos, *ids[n:]] if n or self.adds_bos else ids)
        return found

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


def writer_for(model: Known) -> Writer:
    """The writer that suits a model."""
    if not model.encoder_decoder:
        return ChatWriter(model.tokenizer)
    start = model.config.decoder_start_token_id
    start = model.config.pad_token_id if start is None else start
    return EncoderWriter(model.tokenizer, start=start)


# Label words -----------------------------------------------------------------------------------


def gap(before: str) -> str:
    """What stands between an answer's beginning and its label word."""
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
