"""Numbers in sentences, put into a page's Markdown before any engine reads it.

A cell glues a value under a name; a sentence asks for it with the role `{glue:text}` and the name,
and perhaps a page and a format: `page.md::name:.1f`. myst-nb does this while it renders. What is
here does it on text alone, from a file of values, so that an engine without glue can be given

    python -m book.tools.glue FOLDER     # values.json, and every page with its numbers in place

after `make book`.
"""

from __future__ import annotations

import json
import re
import sys
from ast import literal_eval
from collections.abc import Mapping
from pathlib import Path

import nbformat

from book.tools.pages import BuildError

Values = Mapping[str, Mapping[str, str]]  # by page, by name: what the cell glued, as text
ROLE = re.compile(r"(?<!`)\{glue:text\}`([^`]+)`")
FENCE = re.compile(r"^\s*(?P<mark>`{3,}|~{3,}|:{3,})(?P<name>\{[\w:-]+\})?(?P<rest>.*)$")
ROOT = Path(__file__).resolve().parents[2]


def glued(notebook: nbformat.NotebookNode) -> dict[str, str]:
    """Numbers and words that cells of an executed page glued, by name."""
    values = {}
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            name = output.get("metadata", {}).get("scrapbook", {}).get("name")
            if name:
                values[name] = output["data"].get("application/papermill.record/text/plain", "")
    return values


def formatted(value: str, form: str | None) -> str:
    """A glued number as its format says."""
    value = str(literal_eval(value)) if value[:1] in ("'", '"') else value
    if not form or form == "s":
        return value
    return format(int(value) if form.endswith("d") else float(value), form)


def number(asked: str, *, values: Values, page: str) -> str:
    """What a role asks for: "name", "name:.1f" or "other-page.md::name:.1f"."""
    place, _, rest = asked.rpartition("::")
    key, _, form = rest.partition(":")
    known = values.get(place.partition(".")[0] or page, {})
    if key not in known:
        raise BuildError(f"{page}: no cell glues {key!r}")
    return formatted(known[key], form)


def resolve(text: str, *, values: Values, page: str) -> str:
    """Put glued numbers into the Markdown of a page; code that is shown stays as it is."""
    lines, fences = list[str](), list[tuple[str, bool]]()  # open fences, and whether they hold code
    for line in text.split("\n"):
        fence, code = FENCE.match(line), bool(fences) and fences[-1][1]
        if fence and fences and not fence["name"] and not fence["rest"].strip():
            if fence["mark"] == fences[-1][0]:
                fences.pop()
        elif fence and not code:
            boxed = (
                fence["mark"][0] == ":" or (fence["name"] or "{code").partition("-")[0] != "{code"
            )
            fences.append((fence["mark"], not boxed))
        elif not code:
            line = ROLE.sub(lambda role: number(role[1], values=values, page=page), line)
        lines.append(line)
    return "\n".join(lines)


def read_values(executed: Path) -> dict[str, dict[str, str]]:
    """Values of all executed pages."""
    return {p.stem: glued(nbformat.read(p, as_version=4)) for p in sorted(executed.glob("*.ipynb"))}


def write(folder: Path, *, executed: Path, root: Path = ROOT) -> list[Path]:
    """Write values.json, and from it the Markdown of every page with its numbers in place."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "values.json"
    file.write_text(json.dumps(read_values(executed), indent=1), encoding="utf-8")
    values, written = json.loads(file.read_text(encoding="utf-8")), [file]
    for path in sorted([*(root / "book").glob("*.md"), *(root / "notebooks").glob("*.md")]):
        text = resolve(path.read_text(encoding="utf-8"), values=values, page=path.stem)
        written.append(folder / path.name)
        written[-1].write_text(text, encoding="utf-8")
    return written


if __name__ == "__main__":
    write(Path(sys.argv[1]), executed=ROOT / "_build" / "executed")
