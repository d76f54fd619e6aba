"""A transformers model and its tokenizer: found on the hub or a disk, and loaded."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from judging.datasets.models import digest
from judging.errors import JudgeError, require
from judging.judges.local import INSTEAD
from judging.judges.transformers.dequantised import plain
from judging.judges.writer import ChatWriter, EncoderWriter, Writer
from judging.quoting import quoted

DTYPES = ("float32", "bfloat16", "float16")
# float16 overflows in their feed-forward layers: they were trained in bfloat16.
NOT_HALF = ("t5", "mt5", "umt5", "switch_transformers", "longt5", "gemma2", "gemma3", "gemma3_text")


@dataclass(frozen=True)
class Checkpoint:
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
        positions = getattr(config, "max_position_embeddings", None)
        return None if self.encoder_decoder or positions is None else int(positions)


@dataclass(frozen=True)
class Loaded:
    """A model that is ready to be asked. device : where inputs go. The rest as in `Checkpoint`."""

    model: Any
    tokenizer: Any
    name: str
    revision: str
    device: Any
    dtype: str

    @property
    def checkpoint(self) -> Checkpoint:
        """The model before its weights were loaded."""
        config = self.model.config
        return Checkpoint(
            config, self.tokenizer, self.name, self.revision, self.dtype, lambda: self
        )


def find(
    name: str,
    *,
    revision: str | None = None,
    dtype: str = "auto",
    device: str = "auto",
) -> Checkpoint:
    """Find a model by its name on the hub, by its folder, or in a GGUF file.

    dtype : "auto" is bfloat16 on a device that has it, else float16 (float32 for models that
    overflow in it), and float32 on a CPU. device : "auto" takes a GPU if there is one and
    spreads the model over all devices if it does not fit; or "cuda:1", "cpu", "mps", "spread".
    Raises JudgeError if the model is not there, or needs something that is not.
    """
    require_torch()
    from transformers import AutoConfig, AutoTokenizer

    # What finds the files is the same for configuration, tokenizer and weights.
    source: dict[str, Any] = {"revision": revision}
    where = name
    # The contents of a folder or file make it what it is, wherever it is.
    own = Path(name).resolve().name if Path(name).exists() else name
    try:
        if name.endswith(".gguf"):
            folder, more = plain(Path(name))
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

    return Checkpoint(config, tokenizer, own, commit, kind, load)


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


def require_torch() -> None:
    """Raise JudgeError where torch or transformers is missing."""
    require("running a language model", "judge", "torch", "transformers", otherwise=INSTEAD)


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
    """Find the device of a model's inputs: the first that computes if it is spread."""
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
        return f"sha256:{digest(Path(name))}"
    if not Path(name).is_dir():
        from transformers.utils import cached_file

        # The hub's cache keeps a snapshot of files in a folder that is named by the commit.
        path = Path(cached_file(name, "config.json", revision=revision, **source) or "")
        return path.parent.name if path.parent.parent.name == "snapshots" else "unknown"
    whole = hashlib.sha256()
    for path in sorted(p for p in Path(name).iterdir() if p.is_file() and p.name[0] != "."):
        whole.update(f"{path.name} {digest(path)}\n".encode())
    return f"sha256:{whole.hexdigest()}"


def explain(error: BaseException, name: str, revision: str | None = None) -> str:
    """Explain what went wrong in loading a model, and the way out."""
    if isinstance(error, JudgeError):
        return str(error)
    which = f"{name!r}" + (f" at revision {revision!r}" if revision else "")
    causes = list(_causes(error))
    seen = " ".join(f"{type(cause).__name__} {cause}" for cause in causes).lower()
    first = quoted((str(error).strip().splitlines() or [type(error).__name__])[0])
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


def writer_for(model: Checkpoint) -> Writer:
    """The writer that suits a model."""
    if not model.encoder_decoder:
        return ChatWriter(model.tokenizer)
    start = model.config.decoder_start_token_id
    start = model.config.pad_token_id if start is None else start
    return EncoderWriter(model.tokenizer, start=start)
