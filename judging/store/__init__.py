"""The judgement store: every answer of a judge, kept in one SQLite file and asked for once."""

from judging.store.store import Merge, Store, opened

__all__ = ["Merge", "Store", "opened"]
