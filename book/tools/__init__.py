"""Build tooling: executes the chapters and renders the book. Nothing in poe/ knows it."""

import sys

# jsonschema, which reads notebooks, would make grammars of web addresses for three seconds.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
