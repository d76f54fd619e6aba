"""Asking a language model on a GPU machine that reaches no network.

    python -m reproduction.away pack FILE                           here: what is not known yet
    python -m reproduction.away answer FILE GGUF OUT SECONDS [K/N]  there
    python -m reproduction.away unpack FILE STORE OUT...            here again
    python -m reproduction.away keep STORE OUT...                   into data/measured

What travels are the weights of the judge "qwen" and a file of token ids; what comes back are
numbers. There the weights are multiplied out to
bfloat16 (the last layer's to float32), and prompts go through the package's own engine
(`judging.judges.transformers`), which computes once what they share. Parts are answered in the
order of `to_ask.GPU_RUNS`, so that every stop is useful. One process leaves an H100 idle half of
the time (19,000 tokens a second); four, each with every fourth part and a folder of its own,
answered 65,000 a second.
"""

from __future__ import annotations

import json
import platform
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from judging.errors import JudgeError
from judging.judges.local import chunked
from judging.question import Answer, Question
from poe.arrays import Indices

ROW = 4096  # tokens in a row of branches
TOGETHER = 1024  # questions in a part, as `TransformersJudge` has them
PER_PROMPT = ("log_p", "computed", "seconds")  # what comes back, beside when

# The questions, as token ids ---------------------------------------------------------------------


@dataclass(frozen=True)
class Part:
    """Prompts of one run that are answered together: token ids, and (M, L) those of the labels."""

    run: str
    ids: list[list[int]]
    labels: Indices


def questions() -> Iterator[tuple[str, list[Question]]]:
    """The name of its run and the questions of every part that no GPU has answered yet.

    They are the same ones every time until more answers are kept.
    """
    from reproduction.answers import QWEN, about, kept
    from reproduction.ask_model import places
    from reproduction.llmbar_texts import load
    from reproduction.to_ask import GPU_RUNS, in_order

    for run in GPU_RUNS:
        data, known = load(run.dataset), set()
        if any("device" in one for one in about(QWEN)["runs"].get(run.name, [])):
            known = places(kept(run.name, QWEN))
        every = [one for c in in_order(run, QWEN) for one in run.of_context(data, c, known)]
        for chosen in chunked(every, TOGETHER):
            yield run.name, [every[k] for k in chosen]


def judge(**options: Any) -> Any:
    """Open what answers there, and writes prompts here: the weights of "qwen" in bfloat16."""
    from judging.datasets import models
    from judging.judges.transformers import TransformersJudge

    return TransformersJudge(models.place("qwen"), dtype="bfloat16", **options)


def pack(file: Path) -> None:
    """Write all questions down; a line for each run."""
    writer = judge(device="cpu")
    parts = []
    for run, some in questions():
        ready = writer.prepare(some)
        labels = np.array([one.target.labels for one in ready], dtype=np.intp)
        parts.append(Part(run, [one.ids for one in ready], labels))
        print(run, len(some), flush=True)
    write(file, parts, writer.checkpoint.config.to_dict())


def write(file: Path, parts: Sequence[Part], config: dict[str, Any]) -> None:
    """Write parts down; what prompts have in common lies so near that compression finds it."""
    about = {"runs": [one.run for one in parts], "config": config}
    arrays: dict[str, Any] = {"about": np.array(json.dumps(about, default=str))}
    for k, part in enumerate(parts):
        arrays[f"{k}-ids"] = np.concatenate([np.array(ids, dtype=np.int32) for ids in part.ids])
        arrays[f"{k}-ends"] = np.cumsum([len(ids) for ids in part.ids])
        arrays[f"{k}-labels"] = part.labels
    np.savez_compressed(file, **arrays)


class Packed:
    """What `pack` wrote. runs : of each part, in order. config : the model's configuration."""

    def __init__(self, file: Path) -> None:
        self.arrays = np.load(file)
        about = json.loads(str(self.arrays["about"]))
        self.runs, self.config = list(about["runs"]), dict(about["config"])

    def part(self, k: int) -> Part:
        """One of them."""
        ids, ends, labels = (self.arrays[f"{k}-{name}"] for name in ("ids", "ends", "labels"))
        return Part(self.runs[k], [one.tolist() for one in np.split(ids, ends[:-1])], labels)


# The answers, there ------------------------------------------------------------------------------


NAMES = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "output": "lm_head",
}


def state(gguf: Path) -> dict[str, Any]:
    """A Qwen2 model's parameters by transformers' names, of a GGUF file."""
    import torch
    from gguf import GGUFReader

    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        every = range(len(GGUFReader(gguf).tensors))
        made = pool.map(multiplied_out, [gguf] * len(every), every, chunksize=8)
        tensors = {name: torch.from_numpy(values) for name, values in made}
    return {
        name: values if values.dtype == torch.float32 else values.view(torch.bfloat16)
        for name, values in tensors.items()
    }


def multiplied_out(gguf: Path, k: int) -> tuple[str, Any]:
    """The name and values of one tensor of a GGUF file, bfloat16 as the integers of its bits.

    In a process of its own, for threads would wait for each other.
    """
    import torch
    from gguf import GGUFReader
    from gguf.quants import dequantize

    tensor = GGUFReader(gguf).tensors[k]
    stem, _, kind = tensor.name.rpartition(".")
    *place, what = stem.split(".")
    stem = ".".join(["model.layers", place[1], NAMES[what]] if place else [NAMES[what]])
    values = torch.from_numpy(np.array(dequantize(tensor.data, tensor.tensor_type)))
    if what != "output":
        values = values.to(torch.bfloat16).view(torch.int16)
    return f"{stem}.{kind}", values.numpy()


def loaded(config: dict[str, Any], gguf: Path | None) -> Any:
    """The model, ready to be asked; without weights with some at random, to see how fast it is."""
    import torch
    from transformers import AutoModelForCausalLM, Qwen2Config

    from judging.judges.transformers.load import Loaded

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    drop = {"dtype", "torch_dtype", "quantization_config", "architectures"}
    made = Qwen2Config(**{k: v for k, v in config.items() if k not in drop})
    made.tie_word_embeddings = False
    with torch.device(device):
        model = AutoModelForCausalLM.from_config(
            made, dtype=torch.bfloat16, attn_implementation="sdpa"
        ).eval()
    model.lm_head.float()  # holds the weights as the file has them; the engine multiplies so
    if gguf is not None:
        model.load_state_dict(state(gguf))
    tokenizer = SimpleNamespace(pad_token_id=0)
    return Loaded(model, tokenizer, "qwen", "", device, "bfloat16")


def answer(
    packed: Packed, model: Any, out: Path, *, until: float, turn: str = "1/1", row: int = ROW
) -> None:
    """Answer parts one after the other, each into a file of its own, named by its number.

    until : of `time.monotonic`; no part is begun after it. turn : "2/4", every fourth part from
    the second on.
    """
    from judging.judges.transformers.engine import Engine, Ready
    from judging.judges.writer import Target

    engine = Engine(model, share=True, batch_tokens=None, row_tokens=row)
    began, tokens, answered = time.monotonic(), 0.0, 0
    first, step = map(int, turn.split("/"))
    for k in range(first - 1, len(packed.runs), step):
        if time.monotonic() > until:
            break
        part = packed.part(k)
        targets = [Target((), tuple(labels)) for labels in part.labels.tolist()]
        ready = [Ready(i, *of) for i, of in enumerate(zip(part.ids, targets, strict=True))]
        log_p = np.full(part.labels.shape, np.nan, dtype=np.float32)
        computed, seconds = np.zeros((2, len(ready)), dtype=np.float32)
        clock = time.perf_counter()
        for group in engine.answer(ready):
            rate = (time.perf_counter() - clock) / sum(share for *_, share in group)
            for i, values, share in group:
                log_p[i], computed[i], seconds[i] = values, share, rate * share
            clock = time.perf_counter()
        np.savez(out / f"{k}.npz", log_p=log_p, computed=computed, seconds=seconds, at=time.time())
        tokens, answered = tokens + float(computed.sum()), answered + len(ready)
        took = time.monotonic() - began
        print(
            f"{took:6.1f} s  part {k + 1} of {len(packed.runs)}, {part.run}: {answered} answers, "
            f"{tokens:.0f} tokens, {answered / took:.0f} and {tokens / took:.0f} a second",
            flush=True,
        )


def machine(out: Path) -> dict[str, str]:
    """Describe what answers, kept beside the answers."""
    import torch
    import transformers

    cuda = torch.cuda.is_available()
    about = {
        "device": torch.cuda.get_device_name() if cuda else platform.processor() or "processor",
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "python": platform.python_version(),
    }
    (out / "machine.json").write_text(json.dumps(about, indent=1))
    return about


# Back here ---------------------------------------------------------------------------------------


def unpack(file: Path, store: Path, *outs: Path) -> None:
    """Enter the answers of some folders into a store, under the judge's own specification.

    Raises JudgeError where a question of the file is not the one that stands there in this clone.
    """
    from judging.store import Store
    from judging.store.rows import judge_row, row_of

    packed, writer = Packed(file), judge(device="cpu")
    specification, rows = judge_row(writer.specification), list[dict[str, Any]]()
    found = {int(path.stem): path for out in outs for path in out.glob("*.npz")}
    for k, (run, some) in enumerate(questions()):
        if k not in found:
            continue
        part = packed.part(k)
        if len(some) != len(part.ids) or writer.prepare(some[-1:])[0].ids != part.ids[-1]:
            raise JudgeError(f"part {k} of {file}, {run}, has other questions than this clone")
        with np.load(found[k]) as told:
            of = zip(part.ids, *(told[name].tolist() for name in PER_PROMPT), strict=True)
            at = float(told["at"])
        for question, (ids, log_p, computed, seconds) in zip(some, of, strict=True):
            one = Answer(tuple(log_p), len(ids), computed, seconds)
            rows.append(row_of(specification, question, one) | {"at": at})
    with Store(store) as answers:
        answers.add(rows)


def keep(store: Path, *outs: Path) -> None:
    """Put the answers of a store into data/measured, with the machines that gave them."""
    from reproduction.ask_model import keep_apart
    from reproduction.to_ask import GPU_RUNS

    machines = [json.loads((out / "machine.json").read_text("utf-8")) for out in outs]
    keep_apart(store, GPU_RUNS, machines=machines)


def main(verb: str, *rest: str) -> None:
    """See above."""
    file, *more = map(Path, rest)
    if verb == "pack":
        pack(file)
    elif verb == "unpack":
        unpack(file, *more)
    elif verb == "keep":
        keep(file, *more)
    else:
        seconds, turn = float(rest[3]), (*rest[4:], "1/1")[0]
        until = time.monotonic() + seconds
        packed, (gguf, out) = Packed(file), more[:2]
        model = loaded(packed.config, gguf if gguf.name != "none" else None)
        print(machine(out), f"ready with {until - time.monotonic():.0f} s left", flush=True)
        answer(packed, model, out, until=until, turn=turn)


if __name__ == "__main__":
    main(*sys.argv[1:])
