"""The old name of `poe.judges.open`."""

from poe.judges import FORMS, check_name
from poe.judges import open as open_judge

__all__ = ["FORMS", "check_name", "open_judge"]
