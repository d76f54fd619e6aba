"""Which code a result depends on, and a digest of it: what makes a result out of date.

A target's numbers can change only through the modules that its function imports, directly or
through others. They are read from the sources without running them, and a name that a package
merely passes on (`from poe.judges import SimulatedJudge`) leads to the module that defines it, so
that a change in how models are asked does not age a table of simulated judges. Comments,
docstrings and blank lines do not count.
"""

from __future__ import annotations

import ast
import hashlib
import io
import tokenize
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).resolve().parents[1]


def fingerprint(run: Callable[..., Any], *, also: tuple[str, ...] = ()) -> str:
    """Digest of all code that a target's function may run, and of the options it is bound to.

    run : a function, or a `functools.partial` of one. also : further modules it depends on, such
    as that which reads a judgement store.
    """
    options: dict[str, object] = {}
    while isinstance(run, partial):
        options = {**run.keywords, **options}
        run = run.func
    digest = hashlib.sha256(repr(sorted(options.items())).encode())
    for name in modules(run.__module__, *also):
        digest.update(name.encode() + _code(name).encode())
    return digest.hexdigest()[:16]


@cache
def modules(*roots: str) -> tuple[str, ...]:
    """The modules of this package that the roots need, themselves included, in order of name."""
    found: set[str] = set()
    waiting = list(roots)
    while waiting:
        name = waiting.pop()
        if name not in found and _file(name) is not None:
            found.add(name)
            waiting += _imports(name)
    return tuple(sorted(found))


@cache
def _imports(name: str) -> tuple[str, ...]:
    needed = []
    for node in _running(_tree(name)):
        if isinstance(node, ast.Import):
            needed += [alias.name for alias in node.names if _file(alias.name) is not None]
        elif isinstance(node, ast.ImportFrom) and node.module and _file(node.module) is not None:
            needed += [_home(node.module, alias.name) for alias in node.names]
    return tuple(needed)


def _running(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those that only a type checker reads."""
    yield node
    for child in ast.iter_child_nodes(node):
        test = child.test if isinstance(child, ast.If) else None
        if not (isinstance(test, ast.Name) and test.id == "TYPE_CHECKING"):
            yield from _running(child)


def _home(module: str, name: str) -> str:
    """The module that defines what `from module import name` binds."""
    if _file(f"{module}.{name}") is not None:
        return f"{module}.{name}"
    if _is_package(module):
        for node in _tree(module).body:
            if isinstance(node, ast.ImportFrom) and node.module and _file(node.module):
                for alias in node.names:
                    if (alias.asname or alias.name) == name:
                        return _home(node.module, alias.name)
    return module


def _file(module: str) -> Path | None:
    first, *rest = module.split(".")
    if first != PACKAGE.name:
        return None
    place = PACKAGE.joinpath(*rest)
    if rest and place.with_suffix(".py").is_file():
        return place.with_suffix(".py")
    return place / "__init__.py" if (place / "__init__.py").is_file() else None


def _is_package(module: str) -> bool:
    path = _file(module)
    return path is not None and path.name == "__init__.py"


def _source(module: str) -> str:
    path = _file(module)
    assert path is not None
    return path.read_text(encoding="utf-8")


@cache
def _tree(module: str) -> ast.Module:
    return ast.parse(_source(module))


@cache
def _code(module: str) -> str:
    """The source without comments, docstrings and blank lines.

    They are cut out by place, not by printing the tree, so that every Python finds the same.
    """
    lines = _source(module).splitlines()
    for token in tokenize.generate_tokens(io.StringIO("\n".join(lines) + "\n").readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(_tree(module)):
        if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None:
            text = node.body[0]
            for row in range(text.lineno, (text.end_lineno or text.lineno) + 1):
                lines[row - 1] = ""
    return "\n".join(line.rstrip() for line in lines if line.strip())
