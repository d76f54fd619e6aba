"""Build hooks: the data that `poe` reads goes into the wheel, addresses into its metadata.

A plain `force-include` cannot name files by pattern, fails where a folder is
still empty, and would copy the data into editable installs, where it would
go stale. This hook does none of the three. Where the project is hosted is known only there, by
JBC_REPOSITORY=owner/name; its addresses, and that of the README's picture, are written then.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

PICTURE = "](book/_static/"
PATTERNS = ("datasets.toml", "prompts/**/*", "labels/**/*")


def packaged_data(root: Path) -> dict[str, str]:
    """Map each data file (path on disk) to its place in the wheel."""
    data = root / "data"
    paths = sorted({path for pattern in PATTERNS for path in data.glob(pattern) if path.is_file()})
    files = [path for path in paths if path.suffix != ".py"]
    return {str(path): "judging/_data/" + path.relative_to(data).as_posix() for path in files}


class WheelData(BuildHookInterface):  # type: ignore[type-arg]
    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version != "editable":
            build_data["force_include"].update(packaged_data(Path(self.root)))


class Addresses(MetadataHookInterface):
    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        urls: dict[str, str] = {}
        if hosted := os.environ.get("JBC_REPOSITORY", "").strip():
            owner, name = hosted.split("/")
            home = f"https://github.com/{hosted}"
            picture = f"](https://raw.githubusercontent.com/{hosted}/main/book/_static/"
            text = text.replace(PICTURE, picture)
            urls = {
                "Book": f"https://{owner.lower()}.github.io/{name}/",
                "Source": home,
                "Issues": f"{home}/issues",
                "Changelog": f"{home}/blob/main/CHANGELOG.md",
            }
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
        metadata["urls"] = urls
