"""Every target by name: what `poe reproduce` can recompute. One module a paper."""

from __future__ import annotations

from reproduction.settings import Target
from reproduction.targets import aggregation, comparative, poe_v1, poe_v2, recorded

TARGETS: dict[str, Target] = {
    target.name: target
    for target in (
        *poe_v2.TARGETS,
        *poe_v1.TARGETS,
        *comparative.TARGETS,
        *recorded.TARGETS,
        *aggregation.TARGETS,
    )
}

# The same runs under other numbers.
ALIASES: dict[str, str] = {**poe_v1.ALIASES, **aggregation.ALIASES}


def find(name: str) -> list[Target]:
    """The targets of a name: one, all panels of a figure ("figure6"), or "all" in order."""
    if name == "all":
        return list(TARGETS.values())
    name = ALIASES.get(name, name)
    if name in TARGETS:
        return [TARGETS[name]]
    panels = [t for key, t in TARGETS.items() if key[:-1] == name and key[-1].isalpha()]
    if not panels:
        raise ValueError(f"there is no target {name!r}; `poe reproduce list` names them all")
    return panels


def of_table(paper: str, table: str) -> Target | None:
    """The target that fills a published table."""
    found = [t for t in TARGETS.values() if t.paper == paper and t.table == table]
    return found[0] if found else None
