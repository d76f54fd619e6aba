"""Which device a model goes to, and in which precision."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from poe.errors import JudgeError

DTYPES = ("float32", "bfloat16", "float16")
BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}
HEADROOM = 0.85  # share of a device's free memory that weights may take; activations need the rest
# fp16 overflows in their feed-forward layers: they were trained in bf16.
NOT_HALF = ("t5", "mt5", "umt5", "switch_transformers", "longt5", "gemma2", "gemma3", "gemma3_text")


def choose_dtype(asked: str, *, device: str, bfloat16: bool, model_type: str) -> str:
    """The precision to compute in; raises JudgeError for one that would overflow."""
    delicate = model_type in NOT_HALF
    if asked == "auto":
        if device == "cpu":
            return "float32"
        return "bfloat16" if bfloat16 else "float32" if delicate else "float16"
    if asked not in DTYPES:
        raise JudgeError(f"dtype {asked!r} is none of auto, {', '.join(DTYPES)}")
    if asked == "float16" and delicate:
        raise JudgeError(
            f"models of the kind {model_type} overflow in float16; take dtype='bfloat16' or "
            "'float32'"
        )
    return asked


def choose_place(device: str, *, need: int, free: Sequence[int], asked: str) -> str:
    """The device itself, or "spread" where "auto" was asked and the weights do not fit on it.

    need, free : bytes of the weights, and free ones of each GPU.
    """
    fits = not device.startswith("cuda") or not free or need <= HEADROOM * free[0]
    place = device if fits or asked != "auto" else "spread"
    if place == "spread" and find_spec("accelerate") is None:
        why = "" if asked == "spread" else f"its {need / 1e9:.0f} GB do not fit on one GPU, and "
        raise JudgeError(
            f"{why}spreading a model over devices needs accelerate: pip install accelerate"
        )
    return place


def input_device(model: Any) -> Any:
    """Where a model takes its inputs; the first of its devices that computes if it is spread."""
    import torch

    places = (getattr(model, "hf_device_map", None) or {}).values()
    # What is put off to the processor's memory or a disk is computed elsewhere.
    computing = [place for place in places if str(place) not in ("cpu", "disk", "meta")]
    if computing:
        return (
            torch.device("cuda", computing[0])
            if isinstance(computing[0], int)
            else (torch.device(computing[0]))
        )
    return next(model.parameters()).device


def count_parameters(config: Any) -> int:
    """Parameters of a model of this configuration; no memory is taken for them."""
    import torch
    from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM

    family: Any = AutoModelForSeq2SeqLM if config.is_encoder_decoder else AutoModelForCausalLM
    with torch.device("meta"):
        model = family.from_config(config)
    return sum(parameter.numel() for parameter in model.parameters())


def device_of(asked: str) -> str:
    """The device asked for, or the best there is."""
    import torch

    if asked != "auto":
        if asked.startswith("cuda") and not torch.cuda.is_available():
            raise JudgeError(f"device {asked!r}: this machine has no GPU that torch can use")
        return asked
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def has_bfloat16(device: str) -> bool:
    """Whether a device computes in bfloat16 by itself."""
    import torch

    if device.startswith("cuda") or device == "spread":
        # Older GPUs emulate it, slowly.
        return torch.cuda.is_available() and torch.cuda.is_bf16_supported(including_emulation=False)
    return False


def free_memory() -> list[int]:
    """Free bytes of each GPU."""
    import torch

    return [torch.cuda.mem_get_info(k)[0] for k in range(torch.cuda.device_count())]
