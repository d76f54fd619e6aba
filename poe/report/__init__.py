"""One self-contained HTML page on a ranking: no network, no scripts, nothing to install."""

from poe.report.document import report

__all__ = ["report"]
