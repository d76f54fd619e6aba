"""Models of the papers' judges' shapes with random weights, and what arithmetic they do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

VOCABULARY = 8000  # words of the benchmark's tokenizer; every model knows at least these


@dataclass(frozen=True)
class Shape:
    """What a model is made of: its family's name in transformers, and sizes.

    calls : how many prompts are answered one at a time, in batches, and with shared prefixes (in
    contexts) to measure the speed.
    """

    family: str
    sizes: dict[str, Any]
    alone: int = 48
    batched: int = 480
    contexts: int = 2


def _llama(hidden: int, inner: int, layers: int, heads: int, keys: int, **more: Any) -> dict:
    return {
        "vocab_size": 32000,
        "hidden_size": hidden,
        "intermediate_size": inner,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": keys,
        "max_position_embeddings": 4096,
        **more,
    }


def _t5(hidden: int, inner: int, layers: int, heads: int, **more: Any) -> dict:
    return {
        "vocab_size": 32128,
        "d_model": hidden,
        "d_ff": inner,
        "d_kv": hidden // heads,
        "num_layers": layers,
        "num_heads": heads,
        "feed_forward_proj": "gated-gelu",
        "tie_word_embeddings": False,
        "decoder_start_token_id": 0,
        **more,
    }


SHAPES = {
    "Llama-2-7B": Shape("Llama", _llama(4096, 11008, 32, 32, 32)),
    "Llama-2-13B": Shape("Llama", _llama(5120, 13824, 40, 40, 40)),
    "Mistral-7B": Shape("Mistral", _llama(4096, 14336, 32, 32, 8, sliding_window=4096)),
    "FlanT5-XL": Shape("T5", {**_t5(2048, 5120, 24, 32)}),
    "small decoder": Shape(
        "Llama", _llama(256, 688, 4, 8, 8, vocab_size=VOCABULARY), alone=32, batched=64, contexts=1
    ),
    "small encoder-decoder": Shape(
        "T5", _t5(256, 688, 4, 8, vocab_size=VOCABULARY), alone=32, batched=64, contexts=0
    ),
}
REAL = tuple(name for name in SHAPES if not name.startswith("small"))
SMALL = tuple(name for name in SHAPES if name.startswith("small"))


def configuration(shape: Shape) -> Any:
    import transformers

    ids = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
    return getattr(transformers, f"{shape.family}Config")(**ids, **shape.sizes)


def build(shape: Shape, *, device: str, dtype: str) -> Any:
    """The model, its random weights made on the device in this precision from the start.

    On the device "meta" it takes no memory, and can be counted.
    """
    import torch
    import transformers

    family: Any = (
        transformers.AutoModelForSeq2SeqLM
        if shape.family == "T5"
        else transformers.AutoModelForCausalLM
    )
    with torch.device(device):
        model = family.from_config(configuration(shape), dtype=getattr(torch, dtype))
    return model.eval()


@dataclass(frozen=True)
class Work:
    """Multiplications of a model, by what they are done for.

    a_token : weights that every token of the prompt meets. a_start : those that every token the
    decoder starts with meets. an_answer : those of the vocabulary. a_pair : numbers of a query, a
    key and a value that meet when a token looks at another, over all layers.
    """

    a_token: int
    a_start: int
    an_answer: int
    a_pair: int

    def flops(self, *, tokens: int, pairs: int, starts: int, answers: int) -> float:
        """Floating-point operations, two a multiplication; what a mask hides is not counted."""
        return 2.0 * (
            self.a_token * tokens
            + self.a_start * starts
            + self.an_answer * answers
            + self.a_pair * pairs
        )


def work(model: Any) -> Work:
    """Count a model, which may be on the device "meta"."""
    import torch

    config = model.config
    weights = {
        name: module.weight.numel()
        for name, module in model.named_modules()
        if isinstance(module, torch.nn.Linear)
    }
    head = weights.pop("lm_head")
    if not config.is_encoder_decoder:
        width = config.num_attention_heads * (
            getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        )
        return Work(sum(weights.values()), 0, head, 2 * config.num_hidden_layers * width)
    # The decoder's keys and values of what the encoder read are made for each token of the prompt.
    of_prompt = ("encoder.", ".EncDecAttention.k", ".EncDecAttention.v")
    read = sum(
        n
        for name, n in weights.items()
        if name.startswith(of_prompt[0]) or name.endswith(of_prompt[1:])
    )
    said = sum(weights.values()) - read
    return Work(read, said, head, 2 * config.num_layers * config.num_heads * config.d_kv)
