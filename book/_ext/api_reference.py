"""The API reference: plain docstrings as pages, and a link from every public name.

The docstrings of the package are written to be read in a terminal: plain sentences, `name : what
it is` at the start of a line or of a sentence, code in single backticks, "book eq. 5.1". autodoc
takes them for reStructuredText, so they are translated first. Afterwards inline code that begins
with a documented name (`poe.fit(c, "gaussian")`) is linked to its entry, in prose and docstrings
but not in headings, links and blocks of code.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import sys
from collections.abc import Iterable, Iterator
from typing import Any, Literal, get_args, get_origin

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxRole
from sphinx.util.nodes import make_refnode

# "name : ", "first, second : ", '"hf:MODEL" or "hf:MODEL@REVISION" : ' at the start of a line
TERM = re.compile(r"(\S(?:(?!\. ).){0,60}?) :(?: (.*))?$")
# ". scores : " inside one
INLINE = re.compile(r"(?<=[.;)]) (?=\w+(?:, \w+)*(?:,? and \w+)? : )")
# `code`, and what is code without saying so: "option", {place}, SomeError
CODE = re.compile(r"(``?[^`]+``?|(?:\b\w+=)?\"[\w.:/@-]+\"|\{\w+\}|\b[A-Z]\w+Error\b)")
EMPHASIS = re.compile(r"(\*\*[^*]+\*\*|(?<![\w*])\*[^\s*](?:[^*]*[^\s*])?\*(?![\w*]))")
EQUATIONS = re.compile(r"book eqs?\. \d+\.\d+(?:(?:,| and|, and| to) \d+\.\d+)*")
NUMBER = re.compile(r"\d+\.\d+")
NAME = re.compile(r"[A-Za-z]\w*(?:\.\w+)*")
LITERAL = re.compile(r"Literal\[([^\]]*)\]")
# Types that have a name in the code only
ALIASES = {"Floats": "array", "Indices": "array", "ArrayLike": "array-like", "Mask": "array",
           "Problem": "Comparisons | Stack", "OfP": "function", "OfBoth": "function",
           "Any": "", "Decisions": "array", "Until": "function"}  # fmt: skip
ROOTS = ("poe.", "judging.", "reproduction.", "studies.")
FEW = 6  # fields: a class with more, not all with defaults, is one that functions return


# From plain docstrings to reStructuredText ---------------------------------------------------


def escaped(text: str) -> str:
    """Plain text in which code, emphasis and the book's equations are marked up."""

    def words(part: str) -> str:
        part = re.sub(r"([\\*|_`])", r"\\\1", part)
        return EQUATIONS.sub(lambda m: NUMBER.sub(r":bookeq:`\g<0>`", m[0]), part)

    done = []
    for k, part in enumerate(CODE.split(text)):
        if k % 2:
            done.append(f"\\ ``{part.strip('`')}``\\ ")
        else:
            pieces = enumerate(EMPHASIS.split(part))
            done.append("".join(piece + "\\ " if j % 2 else words(piece) for j, piece in pieces))
    return "".join(done)


def blocks(lines: list[str]) -> Iterator[list[str]]:
    """Paragraphs: what stands between empty lines."""
    block: list[str] = []
    for line in [*lines, ""]:
        if line.strip():
            block.append(line.rstrip())
        elif block:
            yield block
            block = []


def items(block: list[str], *, section: bool) -> list[tuple[str, list[str]]]:
    """Cut a paragraph into terms with their lines; the term of plain text is empty."""
    terms: list[tuple[str, list[str]]] = []
    for k, line in enumerate(block):
        follows = block[k + 1] if k + 1 < len(block) else ""
        match = TERM.match(line)
        if match:
            terms.append((match[1], [match[2] or ""]))
        elif section and line[0] != " " and follows.startswith(" "):
            terms.append((line, [""]))  # numpydoc's "Raises": an error, its reason below
        elif terms:
            terms[-1][1].append(line.strip())
        else:
            terms.append(("", [line.strip()]))
    return [part for item in terms for part in sentences(*item)]


def sentences(term: str, lines: list[str]) -> list[tuple[str, list[str]]]:
    """Cut at ". name : " too; a list of options in quotation marks keeps its lines."""
    if is_list(lines):
        return [(term, lines)]
    first, *rest = INLINE.split(" ".join(lines))
    return [(term, [first])] + [(name, [text]) for name, text in (r.split(" : ", 1) for r in rest)]


def is_list(lines: list[str]) -> bool:
    """Whether nothing stands beside the term, and quoted options begin the lines below."""
    quoted = sum(line.startswith('"') for line in lines[1:])
    return quoted > 1 and not lines[0] and lines[1].startswith('"')


def options(lines: list[str]) -> list[str]:
    """Lines that begin with a quoted option as a list."""
    entries: list[str] = []
    for line in lines[1:]:
        if line.startswith('"') or not entries:
            entries.append(line)
        else:
            entries[-1] += " " + line
    return [f"- {escaped(entry)}" for entry in entries]


def typed(term: str, types: dict[str, str]) -> str:
    """A term of a definition list, with its type where one is known."""
    kinds = list(dict.fromkeys(types.get(name, "") for name in term.split(", ")))
    kind = kinds[0] if len(kinds) == 1 else ""
    name = escaped(term) if CODE.search(term) else f"**{escaped(term)}**"
    return name + (f" : ``{kind}``" if kind else "")


def as_rst(lines: list[str], *, types: dict[str, str] | None = None) -> list[str]:
    """Translate one docstring."""
    done: list[str] = []
    section = False
    for block in blocks(lines):
        if len(block) > 1 and set(block[1]) == {"-"}:
            done += [f".. rubric:: {block[0]}", ""]
            if block[0] == "Attributes":
                types = None  # which are those of the arguments
            block, section = block[2:], True
            if not block:
                continue
        if block[0].startswith(">>>"):
            done += [*block, ""]
        elif block[0].startswith(" "):
            done += ["::", "", *("    " + line for line in block), ""]
        elif block[0].startswith("- "):
            text = "\n".join(block).replace("\n  ", " ")
            done += ["- " + escaped(line[2:]) for line in text.splitlines()] + [""]
        else:
            for term, body in items(block, section=section):
                text = options(body) if is_list(body) else [escaped(" ".join(body).strip())]
                if term:
                    done += [typed(term, types or {}), *("    " + line for line in text), ""]
                else:
                    done += [*text, ""]
    return done


def in_words(kind: str, *, module: dict[str, Any]) -> str:
    """A type as it is written, with `Literal` and the code's own abbreviations spelt out."""

    def spelt_out(match: re.Match[str]) -> str:
        name = match[0]
        meant = module.get(name)
        if get_origin(meant) is Literal:
            return " | ".join(f'"{value}"' for value in get_args(meant))
        return ALIASES.get(name, name)

    kind = LITERAL.sub(lambda m: m[1].replace("'", '"').replace(",", " |"), kind.strip("'\""))
    return re.sub(r"(?<!\")\b[A-Z]\w+\b", spelt_out, kind).removesuffix(" | ")  # Any, which is ""


def annotations(thing: Any) -> dict[str, str]:
    """The types of a function's arguments or a class's fields."""
    try:
        parameters = inspect.signature(thing).parameters.values()
    except (TypeError, ValueError):
        return {}
    module = vars(sys.modules.get(getattr(thing, "__module__", ""), sys))
    written = {p.name: p.annotation for p in parameters if isinstance(p.annotation, str)}
    return {name: in_words(kind, module=module) for name, kind in written.items()}


def on_docstring(
    app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]
) -> None:
    """Translate what autodoc found."""
    lines[:] = as_rst(lines, types=annotations(thing) if what != "module" else None)


def on_signature(
    app: Sphinx, what: str, name: str, thing: Any, options: Any, signature: str, returned: str
) -> tuple[str, str | None] | None:
    """No signature for what is caught or returned, and not made by the reader."""
    if what == "exception":
        return "", None
    if what == "class" and dataclasses.is_dataclass(thing):
        given = [p.default for p in inspect.signature(thing).parameters.values()]
        if len(given) > FEW and inspect.Parameter.empty in given:
            return "", None
    return None


# Links ---------------------------------------------------------------------------------------


class BookEquation(SphinxRole):
    """An equation of the book by its number, as docstrings cite it."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        return [nodes.inline("", self.text, classes=["jc-book-equation"])], []


def numbered_equations(figure_numbers: Any) -> dict[str, tuple[str, str]]:
    """Page and anchor of every equation by its number."""
    return {
        ".".join(map(str, number)): (page, anchor)
        for page, kinds in figure_numbers.items()
        for anchor, number in kinds.get("displaymath", {}).items()
    }


def within(node: nodes.Node, kinds: tuple[type, ...]) -> Any:
    """The nearest ancestor of one of these kinds, or None."""
    parent = node.parent
    while parent is not None and not isinstance(parent, kinds):
        parent = parent.parent
    return parent


def candidates(text: str, entry: nodes.Node | None) -> Iterable[str]:
    """Full names that inline code may mean, likeliest first."""
    match = NAME.match(text)
    if not match:
        return
    name = match[0]
    if name.startswith(ROOTS):
        while "." in name:
            yield name
            name = name.rpartition(".")[0]
    elif entry is not None and match.end() in (len(text), text.find("(")):
        signature = entry[0]
        own = {
            p.astext().split("=")[0].strip("*") for p in signature.findall(addnodes.desc_parameter)
        }
        if name not in own:
            place = f"{signature.get('module')}.{signature.get('fullname')}"
            while place:
                yield f"{place}.{name}"
                place = place.rpartition(".")[0]


class LinkNames(SphinxPostTransform):
    """Link inline code that names something documented, and the equations that docstrings cite."""

    default_priority = 20

    def run(self, **kwargs: Any) -> None:
        objects = self.env.get_domain("py").objects  # type: ignore[attr-defined]
        equations = numbered_equations(self.env.toc_fignumbers)
        page = self.env.docname
        outside = (nodes.title, nodes.reference, addnodes.pending_xref, addnodes.desc_signature)
        for node in list(self.document.findall(nodes.literal)):
            if within(node, outside) is not None:
                continue
            entry = within(node, (addnodes.desc,))
            known = (n for n in candidates(node.astext(), entry) if n in objects)
            name = next(known, None)
            if name is not None and not (entry is not None and name in entry[0]["ids"]):
                self.link(node, page, objects[name].docname, objects[name].node_id, title=name)
        for node in list(self.document.findall(nodes.inline)):
            if "jc-book-equation" in node["classes"] and node.astext() in equations:
                self.link(node, page, *equations[node.astext()])

    def link(
        self, node: nodes.Element, page: str, target: str, anchor: str, title: str = ""
    ) -> None:
        """Put a link in the node's place, around it."""
        copy = node.deepcopy()
        node.replace_self(make_refnode(self.app.builder, page, target, anchor, copy, title or None))


def on_member(app: Sphinx, what: str, name: str, member: object, skip: bool, options: Any) -> Any:
    """Leave out a named tuple's field: its class says what it is, Python only its number."""
    said = getattr(member, "__doc__", None) or ""
    return True if said.startswith("Alias for field number") else None


def setup(app: Sphinx) -> dict[str, Any]:
    """Ask autodoc for its docstrings, and to be called before pages are written."""
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("autodoc-process-docstring", on_docstring)
    app.connect("autodoc-process-signature", on_signature)
    app.connect("autodoc-skip-member", on_member)
    app.add_role("bookeq", BookEquation())
    app.add_post_transform(LinkNames)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
