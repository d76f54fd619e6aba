"""Context encoders f(X) in torch: a light one on vectors, and any transformers model by name.

torch is imported when an encoder is made, and never by the methods without context.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from poe.errors import JudgeError
from poe.panel.errors import AggregationError
from poe.panel.hashing import hashed_ngrams

ROW = 4.0  # root mean square length of the vectors that the light encoder reads


def needed(module: str) -> Any:
    """The module, or an error that says what to install."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise JudgeError(
            f"{module} is needed for this method and is not installed: "
            "pip install 'judging-by-comparison[judge]'"
        ) from error


@dataclass(frozen=True, eq=False)
class Encoder:
    """A way from samples to vectors, made anew for every seed.

    size : width H of f(X). make : builds the module (a new one a call), which maps what `batch`
    gives to (B, H). batch : from sample positions (a tensor) to the module's input. describe :
    for messages.
    """

    size: int
    make: Callable[[], Any]
    batch: Callable[[Any], Any]
    describe: str


def encoder_for(context: Any, n: int, *, encoder: Any = "light", hidden: int = 64) -> Encoder:
    """An encoder for N contexts: vectors (N, F), or texts.

    encoder : "light" hashes texts (`hashed_ngrams`) into a layer of `hidden` units; another
    text names a transformers model, a `Transformer` has its settings, or it is an `Encoder`.
    """
    if isinstance(encoder, Encoder):
        return encoder
    if context is None:
        raise AggregationError(
            "this method needs the context of every sample: texts, or vectors (samples x features)"
        )
    texts = _as_texts(context)
    length = len(context) if texts is None else len(texts)
    if length != n:
        raise AggregationError(f"there are {length} contexts for {n} samples")
    if isinstance(encoder, Transformer) or encoder != "light":
        if texts is None:
            raise AggregationError("a transformers encoder reads texts, not vectors")
        chosen = encoder if isinstance(encoder, Transformer) else Transformer(encoder)
        return chosen.on(texts)
    if texts is not None:
        return _light(hashed_ngrams(texts), hidden, "hashed n-grams")
    vectors = np.asarray(context, dtype=np.float32)
    if vectors.ndim != 2 or not np.isfinite(vectors).all():
        raise AggregationError(
            "contexts as vectors must be finite numbers, samples x features, not of shape "
            f"{vectors.shape}"
        )
    return _light(vectors, hidden, "vectors")


def _as_texts(context: Any) -> Sequence[str] | None:
    if isinstance(context, str):
        raise AggregationError("context must be one text a sample, not a single text")
    if isinstance(context, np.ndarray) and context.dtype.kind in "fiub":
        return None
    values = list(context)
    return values if any(isinstance(value, str) for value in values) else None


def _light(vectors: ArrayLike, hidden: int, what: str) -> Encoder:
    torch = needed("torch")
    table = torch.as_tensor(np.asarray(vectors, dtype=np.float32))
    width = table.shape[1]
    # Rows of one size: a learning rate then means the same for vectors of any kind and width.
    table = table * (ROW / table.square().sum(dim=1).mean().sqrt().clamp_min(1e-12))

    def make() -> Any:
        layers = [torch.nn.Linear(width, hidden), torch.nn.Tanh()]
        return torch.nn.Sequential(*layers)

    return Encoder(hidden, make, lambda rows: table[rows], f"light encoder on {width} {what}")


@dataclass(frozen=True)
class Transformer:
    """A transformers model as context encoder, trained whole (section 5.4) or by LoRA.

    name : as transformers knows it, "gpt2" or "roberta-base" in the paper, or a folder.
    revision : commit of the model. length : tokens kept of a context, its end cut off.
    lora : rank of low-rank adapters that are trained in the place of the model (section 6.3,
        Gemma-2B); needs peft. pool : "last", the final hidden state of the last token, or
        "first", that of [CLS]; by default "first" if the tokenizer has a [CLS], as RoBERTa's.
    """

    name: str
    revision: str | None = None
    length: int = 512
    lora: int | None = None
    pool: str | None = None

    def on(self, texts: Sequence[str]) -> Encoder:
        """The encoder for these texts, tokenised once."""
        torch, transformers = needed("torch"), needed("transformers")
        peft = needed("peft") if self.lora else None
        empty = [n for n, text in enumerate(texts) if not str(text).strip()]
        if empty:
            raise AggregationError(f"the context has no text in samples {empty[:5]}")
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(
                self.name, revision=self.revision
            )
            configuration = transformers.AutoConfig.from_pretrained(
                self.name, revision=self.revision
            )
        except (OSError, ValueError) as error:
            raise JudgeError(f"the encoder {self.name!r} cannot be loaded: {error}") from error
        pool = self.pool or ("first" if tokenizer.cls_token_id is not None else "last")
        filler = tokenizer.pad_token_id
        filler = tokenizer.eos_token_id if filler is None else filler
        ids = [
            torch.as_tensor(one)
            for one in tokenizer(list(texts), truncation=True, max_length=self.length)["input_ids"]
        ]

        def make() -> Any:
            body = transformers.AutoModel.from_pretrained(self.name, revision=self.revision)
            if peft is not None:
                # GPT-2's layers keep their weights the other way round.
                turned = any(type(layer).__name__ == "Conv1D" for layer in body.modules())
                adapters = peft.LoraConfig(
                    r=self.lora, target_modules="all-linear", fan_in_fan_out=turned
                )
                body = peft.get_peft_model(body, adapters)
            return _pooled(torch, body, pool)

        def batch(rows: Any) -> Any:
            chosen = [ids[int(row)] for row in rows]
            lengths = torch.as_tensor([len(one) for one in chosen])
            padded = torch.nn.utils.rnn.pad_sequence(
                chosen, batch_first=True, padding_value=filler or 0
            )
            return padded, (torch.arange(padded.shape[1]) < lengths[:, None]).long()

        return Encoder(
            int(configuration.hidden_size), make, batch, f"{self.name}, {pool} hidden state"
        )


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
