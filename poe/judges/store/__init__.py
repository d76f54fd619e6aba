"""The judgement store: every answer of a judge, kept in one SQLite file and asked for once."""

from poe.judges.store.merging import Merge
from poe.judges.store.store import Store

__all__ = ["Merge", "Store"]
