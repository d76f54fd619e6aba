"""`python -m benchmarks.judge`: how fast a language model judges, three ways of asking.

Prompts of SummEval's shape go through models of the papers' judges' shapes with random weights
(what they answer is noise, how long it takes is not): one at a time, as the papers' code
does; in batches; and with what prompts share computed once. The JSON file that it writes is shown
in the chapter on running judges.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import re
import sys
import time
import warnings
from collections.abc import Sequence
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks import timing

RESULTS = Path(__file__).parent / "results"
# Tokens in a batch, and in a row of branches on a shared prefix; the best of them is reported.
SIZES = {"cpu": ((1024, 4096), (128, 512, 2600)), "cuda": ((8192, 32768), (512, 1024, 2048, 4096))}
WAYS = ("one at a time", "batched", "prefix-shared")


# Models of real shapes, and what arithmetic they do ----------------------------------------------

VOCABULARY = 8000  # words of the benchmark's tokenizer; every model knows at least these


class Shape(NamedTuple):
    """A family of transformers, its sizes, and how many prompts (or contexts) each way is asked."""

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
    "FlanT5-XL": Shape("T5", _t5(2048, 5120, 24, 32)),
    "small decoder": Shape("Llama", _llama(256, 688, 4, 8, 8, vocab_size=VOCABULARY), 32, 64, 1),
    "small encoder-decoder": Shape("T5", _t5(256, 688, 4, 8, vocab_size=VOCABULARY), 32, 64, 0),
}


def build(shape: Shape, *, device: str, dtype: str) -> Any:
    """The model, its random weights made on the device in this precision from the start.

    On the device "meta" it takes no memory, and can be counted.
    """
    import torch
    import transformers

    t5 = shape.family == "T5"
    family = transformers.AutoModelForSeq2SeqLM if t5 else transformers.AutoModelForCausalLM
    ids = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
    config = getattr(transformers, f"{shape.family}Config")(**ids, **shape.sizes)
    with torch.device(device):
        return family.from_config(config, dtype=getattr(torch, dtype)).eval()


class Work(NamedTuple):
    """Multiplications of a model, by what they are done for.

    a_token : weights that every token of the prompt meets. a_start : those that every token the
    decoder starts with meets. an_answer : those of the vocabulary. a_pair : numbers of a query, a
    key and a value that meet when a token looks at another, over all layers.
    """

    a_token: int
    a_start: int
    an_answer: int
    a_pair: int

    def flops(self, *, tokens: int, starts: int, answers: int, pairs: int) -> float:
        """Floating-point operations, two a multiplication; what a mask hides is not counted."""
        counts = (tokens, starts, answers, pairs)
        return 2.0 * sum(each * count for each, count in zip(self, counts, strict=True))


def work(model: Any) -> Work:
    """Count a model, which may be on the device "meta"."""
    import torch

    config, modules = model.config, model.named_modules()
    weights = {name: m.weight.numel() for name, m in modules if isinstance(m, torch.nn.Linear)}
    head = weights.pop("lm_head")
    if not config.is_encoder_decoder:
        heads, whole = config.num_attention_heads, config.hidden_size
        width = heads * (getattr(config, "head_dim", None) or whole // heads)
        return Work(sum(weights.values()), 0, head, 2 * config.num_hidden_layers * width)
    # The decoder's keys and values of what the encoder read are made for each token of the prompt.
    of_prompt = re.compile(r"encoder\.|.*\.EncDecAttention\.[kv]$")
    read = sum(n for name, n in weights.items() if of_prompt.match(name))
    pair = 2 * config.num_layers * config.num_heads * config.d_kv
    return Work(read, sum(weights.values()) - read, head, pair)


def needed(counted: Work, reader: Any, asked: Sequence[Any]) -> float:
    """Floating-point operations that the questions need, in the way the judge asks them."""
    from judging.judges.transformers import tree

    ready = reader.prepare(asked)
    sequences = [one.ids for one in ready]
    if reader.engine.sharing is not None:
        forest = tree.build(sequences)
        tokens, looks = tree.size(forest), tree.pairs(forest)
    else:
        tokens = sum(map(len, sequences))
        whole = reader.checkpoint.encoder_decoder  # an encoder looks both ways
        looks = sum(n * n if whole else n * (n + 1) // 2 for n in map(len, sequences))
    starts = sum(len(one.target.start) for one in ready)
    return counted.flops(tokens=tokens, pairs=looks, starts=starts, answers=len(asked))


# Prompts out of invented words, each word one token ----------------------------------------------


class Lengths(NamedTuple):
    """Tokens of an article, a summary and a question, and how many; about those of SummEval."""

    article: int = 450
    summary: int = 75
    question: int = 22
    summaries: int = 16
    questions: int = 4


@cache
def tokenizer() -> Any:
    """Words are tokens, so that lengths are what they are meant to be."""
    import tokenizers
    import transformers

    special = {"pad_token": "<pad>", "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
    known = {word: k for k, word in enumerate([*special.values(), "A", "B", "Summary"])}
    known |= {f"w{k}": k for k in range(len(known), VOCABULARY)}
    core = tokenizers.Tokenizer(tokenizers.models.WordLevel(known, unk_token="<unk>"))
    core.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    made = transformers.PreTrainedTokenizerFast(tokenizer_object=core, **special)
    made.chat_template = "{% for m in messages %}{{ m.content }} {% endfor %}"
    return made


def questions(lengths: Lengths, *, contexts: int, most: int | None = None) -> list[Any]:
    """All ordered pairs of summaries and all questions, of some contexts; `most`, spread evenly."""
    from judging.judges import Prompt, Question, Text

    def words(seed: int, count: int) -> str:
        """The first words of the vocabulary are kept for the prompt and the labels."""
        chosen = np.random.default_rng(seed).integers(100, VOCABULARY - 10, count)
        return " ".join(f"w{k}" for k in chosen)

    prompts = [
        Prompt(  # the beginning of the answer is one token of the question's
            f"question {k}",
            f"{{context}} {{first}} {{second}} {words(k, lengths.question - 1)}",
            prefix="Summary",
        )
        for k in range(lengths.questions)
    ]
    every = []
    for c in range(contexts):
        context = Text(f"article {c}", words(100 + c, lengths.article))
        texts = [
            Text(f"summary {c}.{k}", words(1000 + 50 * c + k, lengths.summary))
            for k in range(lengths.summaries)
        ]
        every += [
            Question(prompt, a, b, context)
            for a in texts
            for b in texts
            if a is not b
            for prompt in prompts
        ]
    if most is None or most >= len(every):
        return every
    return [every[k] for k in np.linspace(0, len(every) - 1, most).round().astype(int)]


# Measuring ---------------------------------------------------------------------------------------


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.judge", description=__doc__)
    parser.add_argument("--device", help="cuda or cpu (default: the GPU if there is one)")
    parser.add_argument("--shapes", help=f"some of: {', '.join(SHAPES)}")
    parser.add_argument("--repeats", type=int, default=2, help="of each measurement")
    parser.add_argument("--output", help="folder for the results (default: the committed ones)")
    parser.add_argument("--lengths", type=int, nargs=5, help=argparse.SUPPRESS)
    parser.add_argument("--matmul", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    import torch

    device = options.device or ("cuda" if torch.cuda.is_available() else "cpu")
    names = [name for name in SHAPES if name.startswith("small") == (device == "cpu")]
    names = options.shapes.split(",") if options.shapes else names
    lengths = Lengths(*options.lengths) if options.lengths else Lengths()
    dtype = "float32" if device == "cpu" else "bfloat16"
    if device == "cpu":
        torch.set_num_threads(1)  # see _clock
    began, load = time.perf_counter(), _load()
    peak = matmul_peak(device, dtype, size=options.matmul)
    about = timing.describe_machine()
    described = f"{about['processor']}, {about['cores']} cores"
    described = described if device == "cpu" else torch.cuda.get_device_name(device)
    print(f"{described}: {peak / 1e12:.3g} TFLOP/s in a matrix product, {dtype}")
    rows = []
    for name in names:
        rows += measure(name, device=device, dtype=dtype, lengths=lengths, repeats=options.repeats)
        gc.collect()
        if device != "cpu":
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
    peak = max(peak, matmul_peak(device, dtype, size=options.matmul))  # others may have disturbed
    result = {
        "device": described,
        "dtype": dtype,
        "date": date.today().isoformat(),
        "machine": {**about, "torch_threads": torch.get_num_threads()},
        "torch": torch.__version__,
        "transformers": timing.installed("transformers"),
        "load_average": {"before": load, "after": _load()},
        "matmul_tflops": peak / 1e12,
        "lengths": lengths._asdict(),
        "seconds": time.perf_counter() - began,
        "rows": rows,
    }
    slug = re.sub(r"[^a-z0-9]+", "-", described.lower()).strip("-") if device != "cpu" else "cpu"
    path = Path(options.output or RESULTS) / f"judge-{slug}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result, indent=1) + "\n")
    print(f"Results are in {path}")
    return 0


def measure(
    name: str, *, device: str, dtype: str, lengths: Lengths, repeats: int
) -> list[dict[str, Any]]:
    """One shape, all ways of asking and all sizes of batches and rows."""
    import torch

    from judging.judges.transformers import Loaded, TransformersJudge

    shape = SHAPES[name]
    model = build(shape, device=device, dtype=dtype)
    loaded = Loaded(model, tokenizer(), name, "random", torch.device(device), dtype)
    batches, rows = SIZES["cpu" if device == "cpu" else "cuda"]
    alone = questions(lengths, contexts=1, most=shape.alone)
    batched = questions(lengths, contexts=1, most=shape.batched)
    plans = [(WAYS[0], 1, alone), *((WAYS[1], size, batched) for size in batches)]
    if shape.contexts:
        whole = questions(lengths, contexts=shape.contexts)
        plans += [(WAYS[2], size, whole) for size in rows]
    results = []
    for way, size, asked in plans:
        options: dict[str, Any] = {"share_prefixes": False, "batch_tokens": size}
        reader = TransformersJudge(loaded, **({"row_tokens": size} if way == WAYS[2] else options))
        seconds, answers = [], []
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*gives the label words only")
            list(reader.answer(asked[: max(4, len(asked) // 20)]))  # warms up, checks the sharing
            for _ in range(repeats):
                start = _clock(device)
                answers = list(reader.answer(asked))
                seconds.append(_clock(device) - start)
        taken = min(seconds)
        memory = torch.cuda.max_memory_allocated() / 1e9 if device != "cpu" else None
        row = {
            "shape": name,
            "way": way,
            "size": size,
            "calls": len(asked),
            "seconds": taken,
            "all_seconds": seconds,
            "calls_per_second": len(asked) / taken,
            "tokens": sum(answer.tokens for _, answer in answers),
            "computed": round(sum(answer.computed for _, answer in answers)),
            "tflops": needed(work(model), reader, asked) / taken / 1e12,
            "peak_memory_gb": memory,
        }
        rate = row["calls_per_second"]
        print(f"  {name}, {way}, {size} tokens at once: {rate:.3g} calls/s", flush=True)
        results.append(row)
    return results


def matmul_peak(device: str, dtype: str, *, size: int | None = None) -> float:
    """The most operations a second that a product of two square matrices reached here."""
    import torch

    n, each = size or (2048 if device == "cpu" else 8192), 1 if device == "cpu" else 10
    a, b = (torch.randn(n, n, device=device, dtype=getattr(torch, dtype)) for _ in "ab")
    best = float("inf")
    for _ in range(8):
        start = _clock(device)
        for _ in range(each):
            a @ b
        best = min(best, (_clock(device) - start) / each)
    return 2.0 * n**3 / best


def _clock(device: str) -> float:
    """Seconds; on a CPU those the processor spent on one thread, as others may be at work there."""
    import torch

    if device == "cpu":
        return time.process_time()
    torch.cuda.synchronize()
    return time.perf_counter()


def _load() -> float | None:
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


if __name__ == "__main__":
    sys.exit(main())
