"""A digest of the code: what makes a result out of date."""

from __future__ import annotations

import hashlib
import io
import tokenize
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("poe", "reproduction")


@cache
def fingerprint(root: Path = ROOT) -> str:
    """Digest of all code of `poe` and `reproduction`, without comments, docstrings and layout."""
    digest = hashlib.sha256()
    for path in sorted(file for name in PACKAGES for file in (root / name).rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode())
        digest.update(_code(path.read_text(encoding="utf-8")).encode())
    return digest.hexdigest()[:16]


def _code(text: str) -> str:
    """The tokens that do something: a string that begins a line is a docstring."""
    layout = {tokenize.INDENT, tokenize.DEDENT, tokenize.NEWLINE}
    kept, before = [""], tokenize.NEWLINE
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.COMMENT, tokenize.NL):
            continue
        if not (token.type == tokenize.STRING and before in layout):
            kept.append("\n" if token.type == tokenize.NEWLINE else token.string)
        before = token.type
    return " ".join(kept)
