"""Words of others in our sentences: what a server, a file or a library said, fit for one line."""

from __future__ import annotations

__all__ = ["LONGEST", "on_one_line", "quoted"]

LONGEST = 200  # letters of what others said that a sentence repeats


def quoted(said: object, longest: int = LONGEST) -> str:
    """What was said, printable and on one line, "" for None.

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
    return f"{whole.rstrip() or begun}..."


def on_one_line(text: str) -> str:
    """The text with a space for each letter that cannot be shown, such as the end of a line."""
    return text if text.isprintable() else "".join(c if c.isprintable() else " " for c in text)
