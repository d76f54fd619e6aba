"""Others' words made safe to repeat: in a sentence, on a terminal, in a spreadsheet.

Texts, ids and what a server or a library said may hold anything: ends of lines, a terminal's
commands, a spreadsheet's formulas.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Any

from judging.errors import InvalidDataError

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "LONGEST",
    "csv_text",
    "on_one_line",
    "printable",
    "quoted",
    "require_printable",
    "short",
    "unquoted",
]

LONGEST = 200  # letters of what others said that a sentence repeats
# What a spreadsheet runs, or we marked as not to be run.
FORMULA = re.compile(r"'*[=+\-@\t\r＝＋－＠]")


def quoted(said: object, longest: int = LONGEST) -> str:
    """Quote a text: printable and on one line, "" for None.

    Beyond `longest` letters it ends after a whole word, with "...". It is for what others said:
    our own sentences are never cut.

    Examples
    --------
    >>> quoted("a page that was not found", 20)
    'a page that was...'
    """
    try:
        text = "" if said is None else str(said)
    except (RecursionError, ValueError):  # nested too deeply, or a number of too many digits
        text = "something that cannot be shown"
    if len(text) <= longest:
        return on_one_line(text)
    begun, after = on_one_line(text[: longest - 3]), text[longest - 3]
    whole = begun if after.isspace() else begun.rpartition(" ")[0]
    return f"{whole.rstrip(' .') or begun}..."


def on_one_line(text: str) -> str:
    """The text with a space for each letter that cannot be shown, such as the end of a line."""
    return text if text.isprintable() else "".join(c if c.isprintable() else " " for c in text)


def short(name: Any, widest: int = 40) -> str:
    """A name that fits on a line, without what a terminal would take for a command."""
    text = printable(" ".join(str(name).split()))
    return text if len(text) <= widest else text[: widest - 1] + "…"


def printable(text: str) -> str:
    """The text with unprintable characters replaced by �."""
    return "".join(c if c.isprintable() else "�" for c in text)


def require_printable(name: str) -> None:
    """Refuse a name with half a character or a control character, which files cannot hold."""
    for letter in name:
        if (category := unicodedata.category(letter)) in ("Cc", "Cs"):
            what = "a control character" if category == "Cc" else "half of a character"
            raise InvalidDataError(f"the id has {what} in it (U+{ord(letter):04X}); remove it")


def csv_text(table: pd.DataFrame) -> str:
    """A table as CSV that a spreadsheet opens without running anything.

    Text that begins with = + - @, a tab or a carriage return is a formula to a spreadsheet, and
    gets an apostrophe in front; `unquoted` takes it away again.
    """

    def safe(cell: Any) -> Any:
        return f"'{cell}" if isinstance(cell, str) and FORMULA.match(cell) else cell

    safe_table = table.map(safe).rename(columns=safe)
    return str(safe_table.to_csv(index=False, lineterminator="\n"))


def unquoted(text: str) -> str:
    """A text without the apostrophe that `csv_text` put before what a spreadsheet would run."""
    return text[1:] if text[:1] == "'" and FORMULA.match(text) else text
