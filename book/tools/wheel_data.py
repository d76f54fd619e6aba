"""Build hook: put the data that `poe` reads into the wheel as poe/_data.

A plain `force-include` cannot name files by pattern, fails where a folder is
still empty, and would copy the data into editable installs, where it would
go stale. This hook does none of the three.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PATTERNS = ("datasets.toml", "prompts/**/*", "labels/**/*")


def packaged_data(root: Path) -> dict[str, str]:
    """Map each data file (path on disk) to its place in the wheel."""
    data = root / "data"
    files = sorted(
        {
            path
            for pattern in PATTERNS
            for path in data.glob(pattern)
            if path.is_file() and path.suffix != ".py"
        }
    )
    return {str(path): "poe/_data/" + path.relative_to(data).as_posix() for path in files}


class WheelData(BuildHookInterface):  # type: ignore[type-arg]
    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version != "editable":
            build_data["force_include"].update(packaged_data(Path(self.root)))
