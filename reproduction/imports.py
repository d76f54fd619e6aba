"""Which files some code needs: what it imports, what that imports, and so on. Nothing is run.

Counted are all imports, those inside functions and for types alone too. A front door, whose table
`_NAMES` says where each name lies, leads to the modules of the names that are used; used otherwise
than by its names, to all of its package. `reproduction.targets` leads to whatever makes a target.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

PACKAGES = ("poe", "judging", "reproduction", "studies", "book")
ALL = "*"
BY_NAME = "reproduction.targets"  # what it imports is named in data/targets.toml


def needed(root: Path, code: str) -> dict[str, Path]:
    """The modules that some code needs, (name, file), in the order of their names."""
    known, found, left = modules(root), dict[str, Path](), list(uses(code))
    while left:
        for module in _resolved(left.pop(), known):
            if module in found:
                continue
            found[module] = known[module]
            text = known[module].read_text("utf-8")
            left += [*uses(text), *_above(module)]
            if module == BY_NAME:
                left += of_targets(root)
    return dict(sorted(found.items()))


def modules(root: Path) -> dict[str, Path]:
    """All modules of our packages by name."""
    found = {}
    for path in (path for package in PACKAGES for path in (root / package).rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def of_targets(root: Path) -> list[str]:
    """The names that data/targets.toml gives to what makes a target."""
    path = root / "data/targets.toml"
    rows = tomllib.loads(path.read_text("utf-8")) if path.exists() else {}
    runs = [row["run"] for row in rows.values() if "run" in row]
    return [run if run.startswith("studies.") else f"reproduction.{run}" for run in runs]


@cache
def uses(text: str) -> frozenset[str]:
    """Dotted names of ours that a text imports, or takes from a package that it imports."""
    found, whole, taken = set[str](), set[str](), 0
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
        if isinstance(node, ast.Import):
            # A package under its own name is looked into; under another it is used as a whole.
            whole |= {alias.name for alias in node.names if not alias.asname}
            found |= {alias.name + f".{ALL}" * bool(alias.asname) for alias in node.names}
    packages = {name.partition(".")[0] for name in whole}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and (name := _dotted(node)):
            if name.partition(".")[0] in packages:
                found.add(name)
                taken += name.count(".") == 1
        elif isinstance(node, ast.Name) and node.id in packages:
            taken -= 1
    if taken:  # a package goes from hand to hand
        found |= {f"{name}.{ALL}" for name in packages}
    return frozenset(name for name in found if name.partition(".")[0] in PACKAGES)


def _dotted(node: ast.expr) -> str:
    """`a.b.c` as it is written; "" for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    before = _dotted(node.value) if isinstance(node, ast.Attribute) else ""
    return f"{before}.{node.attr}" if before and isinstance(node, ast.Attribute) else ""


def _above(module: str) -> list[str]:
    """The packages that a module lies in, which are imported before it."""
    parts = module.split(".")
    return [".".join(parts[:k]) for k in range(1, len(parts))]


def _resolved(name: str, known: Mapping[str, Path]) -> list[str]:
    """The modules that a dotted name is of."""
    module, rest = name, ""
    while module and module not in known:
        module, _, last = module.rpartition(".")
        rest = f"{last}.{rest}".rstrip(".")
    if not module:
        return []
    homes = door(known[module])
    if rest == ALL and homes:
        return [one for one in known if f"{one}.".startswith(f"{module}.")]
    home = homes.get(rest.partition(".")[0])
    return [module, f"{module}.{home}"] if home else [module]


def door(path: Path) -> dict[str, str]:
    """Of a front door, where each of its names lies; of any other file, nothing."""
    return _table(path.read_text("utf-8")) if path.name == "__init__.py" else {}


@cache
def _table(text: str) -> dict[str, str]:
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_NAMES":
            homes = ast.literal_eval(node.value)
            return {name: module for module, names in homes.items() for name in names}
    return {}
