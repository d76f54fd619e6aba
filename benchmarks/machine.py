"""What the numbers were measured on: processor, memory, versions; nothing that names a place."""

from __future__ import annotations

import os
import platform
import resource
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

PACKAGES = (
    "numpy",
    "scipy",
    "pandas",
    "cvxpy",
    "highspy",
    "choix",
    "evalica",
    "crowd-kit",
    "torch",
)


def describe() -> dict[str, Any]:
    return {
        "processor": _processor(),
        "cores": cores(),
        "memory_gb": _memory_gb(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "blas_threads": os.environ.get("OPENBLAS_NUM_THREADS", "as many as cores"),
        "packages": {name: version for name in PACKAGES if (version := installed(name))},
    }


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def installed(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or "unknown"
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown"


def _memory_gb() -> float | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1)
    except (ValueError, OSError):
        return None


def peak_gb() -> float:
    """Largest memory this process has held, interpreter and libraries included."""
    try:
        # getrusage would count what the parent held when it started this process.
        lines = Path("/proc/self/status").read_text().splitlines()
        kilobytes = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        kilobytes = peak // 1024 if sys.platform == "darwin" else peak
    return kilobytes * 1024 / 1e9
