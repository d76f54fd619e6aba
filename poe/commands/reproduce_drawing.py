"""`poe reproduce --draw`: the figures among the targets, as vectors."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from poe.errors import ComparisonError

if TYPE_CHECKING:
    from reproduction.making import Request
    from reproduction.settings import Target


def check() -> None:
    """Say that matplotlib is missing before anything is computed."""
    try:
        import matplotlib
    except ImportError:
        raise ComparisonError(
            "--draw needs matplotlib: pip install 'judging-by-comparison[chapters]'"
        ) from None
    matplotlib.use("Agg")  # files only, so no screen is needed


def draw(targets: list[Target], request: Request, folder: Path) -> list[str]:
    """Draw the results of these targets; lines to print.

    A target that is a table, or has no result, is passed over; a line says so if nothing is left.
    """
    from reproduction import drawings, files
    from reproduction.making import labels_for

    written = []
    for target in targets:
        at = files.folder(labels_for(request.labels, target), request.out)
        path = at / f"{target.result}.csv"
        table = pd.read_csv(path) if path.exists() else pd.DataFrame()
        if drawings.drawable(table):
            written.append(drawings.save(target.name, table, folder))
    if not written:
        names = ", ".join(target.name for target in targets)
        return [f"nothing to draw: {names} has no figure; `poe reproduce list` names those that do"]
    if len(written) == 1:
        return [f"drawn: {' and '.join(map(str, written[0]))}"]
    return [f"drawn: {len(written)} figures, each as SVG and PDF, in {folder}"]
