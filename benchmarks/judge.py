"""`python -m benchmarks.judge`: how fast a language model judges, three ways of asking.

Prompts of SummEval's shape go through models of the papers' judges' shapes with random weights
(what they answer is noise, how long it takes is not): one at a time, as the papers' code
does; in batches; and with what prompts share computed once.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import sys
import time
import warnings
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

from benchmarks import judge_report, machine
from benchmarks.judge_prompts import Lengths, questions, tokenizer
from benchmarks.judge_shapes import REAL, SHAPES, SMALL, build, work

RESULTS = Path(__file__).parent / "results"
# Tokens in a batch, and in a row of branches on a shared prefix; the best of them is reported.
SIZES = {"cpu": ((1024, 4096), (128, 512, 2600)), "cuda": ((8192, 32768), (512, 1024, 2048, 4096))}


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    import torch

    device = options.device or ("cuda" if torch.cuda.is_available() else "cpu")
    names = options.shapes.split(",") if options.shapes else REAL if device == "cuda" else SMALL
    lengths = Lengths(*options.lengths) if options.lengths else Lengths()
    dtype = "float32" if device == "cpu" else "bfloat16"
    if device == "cpu":
        torch.set_num_threads(1)  # see _clock
    began, load = time.perf_counter(), _load()
    peak = matmul_peak(device, dtype, size=options.matmul)
    print(f"{device_name(device)}: {peak / 1e12:.3g} TFLOP/s in a matrix product, {dtype}")
    rows = []
    for name in names:
        rows += measure(name, device=device, dtype=dtype, lengths=lengths, repeats=options.repeats)
        _free(device)
    peak = max(peak, matmul_peak(device, dtype, size=options.matmul))  # others may have disturbed
    result = {
        "device": device_name(device),
        "dtype": dtype,
        "date": date.today().isoformat(),
        "machine": {**machine.describe(), "torch_threads": torch.get_num_threads()},
        "torch": torch.__version__,
        "transformers": machine.installed("transformers"),
        "load_average": {"before": load, "after": _load()},
        "matmul_tflops": peak / 1e12,
        "lengths": lengths.as_dict(),
        "seconds": time.perf_counter() - began,
        "rows": rows,
        "arithmetic": arithmetic(),
    }
    output = Path(options.output or RESULTS)
    output.mkdir(parents=True, exist_ok=True)
    path = output / f"judge-{judge_report.slug(result['device'] if device != 'cpu' else 'cpu')}"
    path.with_suffix(".json").write_text(json.dumps(result, indent=1) + "\n")
    path.with_suffix(".md").write_text(judge_report.text(result))
    print(f"Results are in {path.with_suffix('.md')}")
    return 0


def measure(
    name: str, *, device: str, dtype: str, lengths: Lengths, repeats: int
) -> list[dict[str, Any]]:
    """One shape, all ways of asking and all sizes of batches and rows."""
    import torch

    from poe.judges.transformers import Loaded, TransformersJudge

    shape = SHAPES[name]
    model = build(shape, device=device, dtype=dtype)
    loaded = Loaded(model, tokenizer(), name, "random", torch.device(device), dtype)
    kind = torch.device(device).type
    batches, rows = SIZES.get(kind, SIZES["cuda"])
    alone = questions(lengths, contexts=1, most=shape.alone)
    batched = questions(lengths, contexts=1, most=shape.batched)
    plans: list[tuple[str, dict[str, Any], list]] = [
        ("one at a time", {"share_prefixes": False, "batch_tokens": 1}, alone)
    ]
    for size in batches:
        plans.append(("batched", {"share_prefixes": False, "batch_tokens": size}, batched))
    if shape.contexts:
        whole = questions(lengths, contexts=shape.contexts)
        plans += [("prefix-shared", {"row_tokens": size}, whole) for size in rows]
    found = []
    for way, options, asked in plans:
        reader = TransformersJudge(loaded, **options)
        row = _timed(way, options, name, reader, asked, work(model), repeats, device)
        rate, size = row["calls_per_second"], row["size"]
        print(f"  {name}, {way}, {size} tokens at once: {rate:.3g} calls/s", flush=True)
        found.append(row)
    return found


def _timed(
    way: str,
    options: dict[str, Any],
    name: str,
    reader: Any,
    asked: Sequence[Any],
    counted: Any,
    repeats: int,
    device: str,
) -> dict[str, Any]:
    seconds, wall, answers = [], [], []
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*gives the label words only")
        list(reader.answer(asked[: max(4, len(asked) // 20)]))  # warms up, and checks the sharing
        for _ in range(repeats):
            start, start_wall = _clock(device), time.perf_counter()
            answers = list(reader.answer(asked))
            seconds.append(_clock(device) - start)
            wall.append(time.perf_counter() - start_wall)
    taken = min(seconds)
    tokens = round(sum(answer.computed for _, answer in answers))
    flops = needed(counted, reader, asked)
    return {
        "shape": name,
        "way": way,
        "size": options.get("row_tokens") or options.get("batch_tokens"),
        "calls": len(asked),
        "seconds": taken,
        "all_seconds": seconds,
        "wall_seconds": wall,
        "calls_per_second": len(asked) / taken,
        "tokens": sum(answer.tokens for _, answer in answers),
        "computed": tokens,
        "tflops": flops / taken / 1e12,
        "peak_memory_gb": _memory(device),
    }


def needed(counted: Any, reader: Any, asked: Sequence[Any]) -> float:
    """Floating-point operations that the questions need, in the way the judge asks them."""
    from poe.judges.transformers import prefix

    ready = reader.prepare(asked)
    starts = sum(len(one.target.start) for one in ready)
    sequences = [one.ids for one in ready]
    if reader.engine.sharing is not None:
        forest = prefix.build(sequences)
        tokens, looks = prefix.size(forest), pairs(forest)
    else:
        tokens = sum(map(len, sequences))
        each = (lambda n: n * n) if reader.loaded.encoder_decoder else (lambda n: n * (n + 1) // 2)
        looks = sum(each(len(ids)) for ids in sequences)
    return counted.flops(tokens=tokens, pairs=looks, starts=starts, answers=len(asked))


def pairs(forest: Sequence[Any]) -> int:
    """How many times a token looks at one before it or at itself, without a window."""
    return sum(sum(range(node.start + 1, node.stop + 1)) + pairs(node.children) for node in forest)


def arithmetic() -> list[dict[str, Any]]:
    """What all of SummEval takes by counting, for the real shapes; nothing is run."""
    from poe.judges.transformers import prefix

    sequences = Lengths().ids()
    forest = prefix.build(sequences)
    separate = sum(map(len, sequences))
    rows = []
    for name in REAL:
        counted = work(build(SHAPES[name], device="meta", dtype="bfloat16"))
        decoder = SHAPES[name].family != "T5"
        half = 2 if decoder else 1
        alone = counted.flops(
            tokens=separate,
            pairs=sum(len(ids) ** 2 for ids in sequences) // half,
            starts=0 if decoder else 2 * len(sequences),
            answers=len(sequences),
        )
        shared = counted.flops(
            tokens=prefix.size(forest),
            pairs=pairs(forest),
            starts=0,
            answers=len(sequences),
        )
        rows.append(
            {
                "shape": name,
                "tokens": 100 * separate,
                "tokens_shared": 100 * prefix.size(forest) if decoder else None,
                "pflop": 100 * alone / 1e15,
                "pflop_shared": 100 * shared / 1e15 if decoder else None,
            }
        )
    return rows


def matmul_peak(device: str, dtype: str, *, size: int | None = None) -> float:
    """The most operations a second that a product of two square matrices reached here."""
    import torch

    n = size or (2048 if device == "cpu" else 8192)
    a, b = (torch.randn(n, n, device=device, dtype=getattr(torch, dtype)) for _ in "ab")
    best = float("inf")
    for _ in range(8):
        start = _clock(device)
        for _ in range(1 if device == "cpu" else 10):
            a @ b
        best = min(best, (_clock(device) - start) / (1 if device == "cpu" else 10))
    return 2.0 * n**3 / best


def device_name(device: str) -> str:
    import torch

    if device.startswith("cuda"):
        return torch.cuda.get_device_name(device)
    described = machine.describe()
    return f"{described['processor']}, {described['cores']} cores"


def _clock(device: str) -> float:
    """Seconds; on a CPU those the processor spent on one thread, as others may be at work there."""
    import torch

    if device == "cpu":
        return time.process_time()
    if device.startswith("cuda"):
        torch.cuda.synchronize()
    return time.perf_counter()


def _memory(device: str) -> float | None:
    import torch

    return torch.cuda.max_memory_allocated() / 1e9 if device.startswith("cuda") else None


def _free(device: str) -> None:
    import torch

    gc.collect()
    if device.startswith("cuda"):
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()


def _load() -> float | None:
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.judge", description=__doc__)
    parser.add_argument("--device", help="cuda or cpu (default: the GPU if there is one)")
    parser.add_argument("--shapes", help=f"some of: {', '.join(SHAPES)}")
    parser.add_argument("--repeats", type=int, default=2, help="of each measurement")
    parser.add_argument("--output", help="folder for the results (default: the committed ones)")
    parser.add_argument("--lengths", type=int, nargs=5, help=argparse.SUPPRESS)
    parser.add_argument("--matmul", type=int, help=argparse.SUPPRESS)
    return parser


if __name__ == "__main__":
    sys.exit(main())
