"""A model and its tokenizer, from the hub or a folder, onto the device and in its precision."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from poe.errors import JudgeError
from poe.judges.transformers import placing


@dataclass(frozen=True)
class Loaded:
    """A model that is ready to be asked.

    revision : what tells these weights from others of the same name: the hub's commit, or a
    digest of a folder's files. device : where inputs go.
    """

    model: Any
    tokenizer: Any
    name: str
    revision: str
    device: Any
    dtype: str

    @property
    def encoder_decoder(self) -> bool:
        """Whether an encoder reads the prompt and a decoder answers."""
        return bool(self.model.config.is_encoder_decoder)

    @property
    def longest(self) -> int | None:
        """Tokens it can read, or None where its positions are relative."""
        config = self.model.config.get_text_config(decoder=True)
        found = getattr(config, "max_position_embeddings", None)
        return None if self.encoder_decoder or found is None else int(found)


def require() -> None:
    """Raise JudgeError where torch or transformers is missing."""
    missing = [name for name in ("torch", "transformers") if find_spec(name) is None]
    if missing:
        raise JudgeError(
            f"running a language model needs {' and '.join(missing)}: "
            "pip install 'judging-by-comparison[judge]'"
        )


def load(
    name: str,
    *,
    revision: str | None = None,
    dtype: str = "auto",
    device: str = "auto",
    trust_remote_code: bool = False,
) -> Loaded:
    """Load a model by its name on the hub or by its folder.

    dtype : "auto" is bfloat16 on a device that has it, else float16 (float32 for models that
    overflow in it), and float32 on a CPU. device : "auto" takes a GPU if there is one and
    spreads the model over all devices if it does not fit; or "cuda:1", "cpu", "mps", "spread".
    Raises JudgeError if the model is not there, or needs something that is not.
    """
    require()
    import torch
    from transformers import AutoConfig, AutoTokenizer

    given = {"revision": revision, "trust_remote_code": trust_remote_code}
    try:
        config = AutoConfig.from_pretrained(name, **given)
        tokenizer = AutoTokenizer.from_pretrained(name, **given)
        chosen = placing.device_of(device)
        kind = placing.choose_dtype(
            dtype,
            device=torch.device("cuda" if chosen == "spread" else chosen).type,
            bfloat16=placing.has_bfloat16(chosen),
            model_type=config.model_type,
        )
        need = (
            placing.count_parameters(config) * placing.BYTES[kind]
            if chosen.startswith("cuda")
            else 0
        )
        place = placing.choose_place(chosen, need=need, free=placing.free_memory(), asked=device)
        model = _weights(name, config, kind, place, given)
        commit = found_revision(name, revision)
    except Exception as error:
        raise JudgeError(explain(error, name, revision)) from error
    where = placing.input_device(model)
    # A folder's contents make it what it is, wherever it is.
    own = Path(name).resolve().name if Path(name).is_dir() else name
    return Loaded(model, tokenizer, own, commit, where, kind)


def _weights(name: str, config: Any, dtype: str, place: str, given: dict[str, Any]) -> Any:
    import torch
    from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM

    family: Any = AutoModelForSeq2SeqLM if config.is_encoder_decoder else AutoModelForCausalLM
    more = {"dtype": getattr(torch, dtype), **given}
    if place == "spread":
        return family.from_pretrained(name, device_map="auto", **more).eval()
    if place.startswith("cuda") and find_spec("accelerate"):
        # Straight onto the GPU; without accelerate they pass through the computer's memory.
        return family.from_pretrained(name, device_map={"": place}, **more).eval()
    return family.from_pretrained(name, **more).to(place).eval()


def found_revision(name: str, revision: str | None) -> str:
    """The hub's commit, or a digest of all files of a local folder."""
    if Path(name).is_dir():
        return folder_digest(Path(name))
    from transformers.utils import cached_file

    # The hub's cache keeps a snapshot of files in a folder that is named by the commit.
    path = Path(cached_file(name, "config.json", revision=revision) or "")
    return path.parent.name if path.parent.parent.name == "snapshots" else "unknown"


def folder_digest(folder: Path) -> str:
    """SHA-256 over the names and contents of a model folder's files."""
    digest = hashlib.sha256()
    for path in sorted(p for p in folder.iterdir() if p.is_file() and not p.name.startswith(".")):
        with path.open("rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
        digest.update(f"{path.name} {content}\n".encode())
    return f"sha256:{digest.hexdigest()}"


def explain(error: BaseException, name: str, revision: str | None = None) -> str:
    """What went wrong in loading a model, and the way out."""
    if isinstance(error, JudgeError):
        return str(error)
    which = f"{name!r}" + (f" at revision {revision!r}" if revision else "")
    kinds = {type(cause).__name__ for cause in _causes(error)}
    words = " ".join(str(cause) for cause in _causes(error)).lower()
    if "GatedRepoError" in kinds or "gated repo" in words:
        return (
            f"model {which} is gated: accept its licence on its page on the hub, then log in with "
            "'hf auth login'"
        )
    if kinds & {"LocalEntryNotFoundError", "OfflineModeIsEnabled"} or "couldn't connect" in words:
        return (
            f"model {which} is not on this machine and the hub cannot be reached (HF_HUB_OFFLINE "
            "may be set); connect once, or give the path of a folder that holds it"
        )
    if "RevisionNotFoundError" in kinds or "not a valid git identifier" in words:
        return f"model {name!r} has no revision {revision!r} on the hub"
    if Path(name).is_dir():
        return f"folder {name!r} holds no model that transformers can load: {_first(error)}"
    if kinds & {"RepositoryNotFoundError", "HFValidationError"}:
        return (
            f"there is no model {which}: no such folder, and none of that name on the hub "
            "(a private one needs 'hf auth login')"
        )
    if "OutOfMemoryError" in kinds:
        return f"model {which} does not fit into memory; try device='spread' or a smaller model"
    return f"model {which} cannot be loaded: {type(error).__name__}: {_first(error)}"


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        seen = seen.__cause__ or seen.__context__


def _first(error: BaseException) -> str:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0][:300]
