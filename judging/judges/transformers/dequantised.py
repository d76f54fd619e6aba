"""GGUF files, the form that llama.cpp reads, for transformers: weights multiplied out and kept."""

from __future__ import annotations

import tempfile
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path
from typing import Any

from judging.datasets.files import cache_dir
from judging.datasets.models import digest
from judging.errors import JudgeError, require

LARGEST = 2**30  # bytes of a GGUF file whose weights are kept as plain numbers, five times as much


def plain(path: Path) -> tuple[Path, dict[str, Any]]:
    """Return what transformers loads a GGUF file from: a folder, and options for it.

    transformers multiplies the weights out in about 20 seconds. They are kept in the cache as
    plain float32, which it reads in one, where the file is not larger than `LARGEST`.
    Raises JudgeError where there is no such file, or no `gguf` to read it.
    """
    from transformers.utils import logging

    if not path.is_file():
        raise JudgeError(f"there is no file {path}")
    logging.disable_progress_bar()  # a bar for every second of work
    if path.stat().st_size > LARGEST:
        return path.parent, {"gguf_file": path.name}
    kept = cache_dir() / "gguf" / digest(path)
    if not kept.is_dir():
        _multiply_out(path, kept)
    return kept, {}


def _multiply_out(path: Path, kept: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    require("reading a GGUF file", "judge", "gguf")
    source: dict[str, Any] = {"gguf_file": path.name}
    tokenizer = AutoTokenizer.from_pretrained(path.parent, **source)
    with redirect_stderr(StringIO()):  # a bar that no setting turns off
        model: Any = AutoModelForCausalLM.from_pretrained(
            path.parent, dtype=torch.float32, **source
        )
    # The weights are plain numbers now; transformers still marks them as quantised and would
    # refuse to write them.
    model.hf_quantizer, model.is_quantized = None, False
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    kept.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=kept.parent) as folder:
        whole = Path(folder) / "whole"
        model.save_pretrained(whole)
        tokenizer.save_pretrained(whole)
        try:
            whole.rename(kept)  # at once, so that no process reads half of it
        except OSError:
            if not kept.is_dir():  # unless another process was first
                raise
