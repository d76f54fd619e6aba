"""Context encoders f(X): a light one on vectors or hashed texts, and any transformers model.

torch is imported when an encoder is made, and never by the methods without context.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judging.errors import JudgeError, require
from judging.panel.judgements import PanelError
from poe.errors import name_some

ROW = 4.0  # root mean square length of the vectors that the light encoder reads
WORDS, CHARACTERS = (1, 2), (3, 4)  # lengths of the n-grams that are hashed
LONGEST = 1 << 16  # bytes read of one text
U64 = np.uint64
BASE = U64(0x9E3779B97F4A7C15)  # odd, so that it has an inverse modulo 2^64
INVERSE = U64(pow(int(BASE), -1, 1 << 64))
MIX = U64(0xD6E8FEB86659FD93)


def needed(module: str) -> Any:
    """The module, or JudgeError that says what to install."""
    require("this method", "judge", module)
    return importlib.import_module(module)


@dataclass(frozen=True, eq=False)
class Encoder:
    """A way from samples to vectors, made anew for every seed.

    size : width H of f(X). make : builds the module, which maps what `batch` gives to (B, H).
    batch : from sample positions (a tensor) to the module's input. describe : for messages.
    width : of the vectors it reads; encoders of one width and size can be trained side by side.
    """

    size: int
    make: Callable[[], Any]
    batch: Callable[[Any], Any]
    describe: str
    width: int | None = None


def encoder_for(context: Any, n: int, *, encoder: Any = "light", hidden: int = 64) -> Encoder:
    """An encoder for N contexts: vectors (N, F), or texts.

    encoder : "light" hashes texts (`hashed_ngrams`) into a layer of `hidden` units; another
    text names a transformers model, and a `Transformer` has its settings.
    """
    if context is None or isinstance(context, str) or len(context) != n:
        raise PanelError(
            f"this method needs the context of every sample: {n} texts, or vectors ({n} samples x "
            "features)"
        )
    is_text = any(isinstance(one, str) for one in context)
    if encoder != "light":
        if not is_text:
            raise PanelError("a transformers encoder reads texts, not vectors")
        chosen = encoder if isinstance(encoder, Transformer) else Transformer(encoder)
        return chosen.on(context)
    if is_text:
        return _light(hashed_ngrams(context), hidden, "hashed n-grams")
    vectors = np.asarray(context, dtype=np.float32)
    if vectors.ndim != 2 or not np.isfinite(vectors).all():
        raise PanelError(
            "contexts as vectors must be finite numbers, samples x features, not of shape "
            f"{vectors.shape}"
        )
    return _light(vectors, hidden, "vectors")


def _light(vectors: NDArray[np.float32], hidden: int, what: str) -> Encoder:
    torch = needed("torch")
    table = torch.as_tensor(vectors)
    width = table.shape[1]
    # Rows of one size: a learning rate then means the same for vectors of any kind and width.
    table = table * (ROW / table.square().sum(dim=1).mean().sqrt().clamp_min(1e-12))

    def make() -> Any:
        return torch.nn.Sequential(torch.nn.Linear(width, hidden), torch.nn.Tanh())

    about = f"light encoder on {width} {what}"
    return Encoder(hidden, make, lambda rows: table[rows], about, width)


def hashed_ngrams(texts: Sequence[str], *, features: int = 2048) -> NDArray[np.float32]:
    """(N, features) unit vectors of hashed n-grams: one and two words, three and four characters.

    Each n-gram adds +1 or -1 to one place, both by a hash of its bytes (feature hashing,
    Weinberger et al. 2009); the counts x become sign(x) sqrt(|x|), and rows get length one.
    Words are runs of letters, digits and bytes beyond ASCII, in lower case. No vocabulary is
    learned, so a text has the same vector in every corpus.

    Raises PanelError naming the samples without any text.
    """
    _require_text(texts)
    encoded = [t[:LONGEST].lower().encode(errors="replace")[:LONGEST] + b" " for t in texts]
    longest = max(map(len, encoded))
    power = np.cumprod(np.full(longest + 1, BASE)) * INVERSE  # BASE^i modulo 2^64
    back = np.cumprod(np.full(longest + 1, INVERSE)) * BASE
    table = np.zeros((len(encoded), features), dtype=np.float32)
    for row, read in zip(table, encoded, strict=True):
        # The hash of a substring is a difference of prefix sums of byte_i BASE^i.
        letters = np.frombuffer(read, dtype=np.uint8)
        prefix = np.zeros(len(letters) + 1, dtype=U64)
        np.cumsum((letters.astype(U64) + U64(1)) * power[: len(letters)], out=prefix[1:])
        start, stop, salt = _ngrams(letters)
        code = (prefix[stop] - prefix[start]) * back[start] + salt
        code = (code ^ (code >> U64(32))) * MIX
        code ^= code >> U64(29)
        place = ((code >> U64(8)) % U64(features)).astype(np.intp)
        row[:] = np.bincount(place, np.where(code & U64(1), 1.0, -1.0), minlength=features)
    table = np.sign(table) * np.sqrt(np.abs(table))
    return np.asarray(table / np.maximum(np.linalg.norm(table, axis=1, keepdims=True), 1e-12))


def _ngrams(letters: NDArray[np.uint8]) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.uint64]]:
    """Where each n-gram of a text starts and stops, and a number for its kind."""
    digit = (letters >= 48) & (letters <= 57)
    in_word = digit | ((letters >= 97) & (letters <= 122)) | (letters >= 128)
    edge = np.diff(in_word.astype(np.int8), prepend=np.int8(0))
    begins, ends = np.flatnonzero(edge == 1), np.flatnonzero(edge == -1)
    starts = [begins[: len(begins) - n + 1] for n in WORDS]
    stops = [ends[n - 1 :] for n in WORDS]
    for n in CHARACTERS:
        start = np.arange(max(len(letters) - n + 1, 0))
        starts.append(start)
        stops.append(start + n)
    kinds = np.array([*WORDS, *(100 + n for n in CHARACTERS)], dtype=U64)
    salt = np.repeat(kinds, [len(start) for start in starts])
    return np.concatenate(starts), np.concatenate(stops), salt


def _require_text(texts: Sequence[str]) -> None:
    empty = [n for n, text in enumerate(texts) if not isinstance(text, str) or not text.strip()]
    if empty:
        raise PanelError(
            f"the context has no text in samples {name_some(empty)}; leave them out, or use a "
            "method without context"
        )


@dataclass(frozen=True)
class Transformer:
    """A transformers model as context encoder, trained whole (section 5.4).

    name : as transformers knows it, "gpt2" or "roberta-base" in the paper, or a folder.
    revision : commit of the model. length : tokens kept of a context, its end cut off.
    pool : "last", the final hidden state of the last token, or "first", that of [CLS]; by default
        "first" if the tokenizer has a [CLS], as RoBERTa's.
    """

    name: str
    revision: str | None = None
    length: int = 512
    pool: str | None = None

    def on(self, texts: Sequence[str]) -> Encoder:
        """The encoder for these texts, tokenised once."""
        torch, transformers = needed("torch"), needed("transformers")
        _require_text(texts)
        source = {"pretrained_model_name_or_path": self.name, "revision": self.revision}
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(**source)
            size = int(transformers.AutoConfig.from_pretrained(**source).hidden_size)
        except (OSError, ValueError) as error:
            raise JudgeError(f"the encoder {self.name!r} cannot be loaded: {error}") from error
        pool = self.pool or ("first" if tokenizer.cls_token_id is not None else "last")
        read = tokenizer(list(texts), truncation=True, max_length=self.length)
        ids = [torch.as_tensor(one) for one in read["input_ids"]]

        def make() -> Any:
            return _pooled(torch, transformers.AutoModel.from_pretrained(**source), pool)

        def batch(rows: Any) -> Any:
            chosen = [ids[int(row)] for row in rows]
            lengths = torch.as_tensor([len(one) for one in chosen])
            padded = torch.nn.utils.rnn.pad_sequence(chosen, batch_first=True)  # masked: any token
            return padded, (torch.arange(padded.shape[1]) < lengths[:, None]).long()

        return Encoder(size, make, batch, f"{self.name}, {pool} hidden state")


def _pooled(torch: Any, body: Any, pool: str) -> Any:
    class Pooled(torch.nn.Module):
        """Backbone and one hidden state of its last layer."""

        def __init__(self) -> None:
            super().__init__()
            self.body = body

        def forward(self, given: Any) -> Any:
            ids, mask = given
            states = self.body(input_ids=ids, attention_mask=mask).last_hidden_state
            at = mask.sum(dim=1) - 1 if pool == "last" else torch.zeros_like(ids[:, 0])
            return states[torch.arange(len(ids)), at]

    return Pooled()
