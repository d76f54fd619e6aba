"""Every target by name, read from data/targets.toml: what `judging reproduce` can make."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

from judging.machine import data_dir
from reproduction.published import PAPERS

if TYPE_CHECKING:
    import pandas as pd


Panel = tuple[str, str, str]  # system, dataset, attribute
CAPTIONED = "panel as captioned"
CHOSEN = "panel of our choice, the text at hand names none"


@dataclass(frozen=True)
class Target:
    """One table or figure that can be made.

    name : as on the command line. run : module and function of `reproduction`, or with its name of
    `studies`, that make it from `Settings`, one row a cell or point. file : of data/results, where
    its rows lie, by themselves if it has the target's name. paper : key of `published.PAPERS`, or
    what else it is about. what : in a line. datasets : whose labels it reads. table : the published
    table it fills, "" if none. times : draws for each that is asked for, where 100 leave verdicts
    to chance. panels : what a figure shows. options : more that its function reads.
    """

    name: str = ""
    run: str = ""
    file: str = ""
    paper: str = ""
    what: str = ""
    datasets: tuple[str, ...] = ()
    table: str = ""
    times: int = 1
    panels: tuple[Panel, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """What `run` begins with: its module, or "studies"."""
        return self.run.partition(".")[0]

    @property
    def inputs(self) -> str:
        """Kind of evidence."""
        return self.paper if self.paper in ("recorded", "measured") else "simulated"

    @property
    def answers(self) -> tuple[str, ...]:
        """Models, of `answers.MODELS`, whose answers in data/measured it reads."""
        one = (self.options.get("model", "smollm2"),) if self.inputs == "measured" else ()
        return tuple(self.options.get("answers", one))

    @property
    def command(self) -> str:
        """What to type."""
        return f"judging reproduce {self.name}"

    @property
    def function(self) -> Callable[..., pd.DataFrame]:
        """What makes it."""
        module, _, name = self.run.rpartition(".")
        if self.kind != "studies":  # which import this package, so are known by name alone
            module = f"reproduction.{module}"
        function: Callable[..., pd.DataFrame] = getattr(import_module(module), name)
        return function


def _target(name: str, row: dict[str, Any]) -> Target:
    row = dict(row)
    paper, _, table = row.pop("cells", row.pop("paper", "poe_v2")).partition("/")
    panels = tuple(map(tuple, row.pop("panels", [row.pop("panel")] if "panel" in row else [])))
    what, captioned = row.pop("what", ""), row.pop("captioned", True)
    if panels:
        said = CAPTIONED if captioned else CHOSEN
        shown = "; ".join(f"{judge}, {data} {about} ({said})" for judge, data, about in panels)
        what = f"{shown}, {what}".removesuffix(", ")
    own = name if paper not in PAPERS else paper
    return Target(
        name=name,
        run=row.pop("run"),
        file=row.pop("file", own),
        paper=paper,
        what=what,
        datasets=tuple(row.pop("datasets", dict.fromkeys(panel[1] for panel in panels))),
        table=table,
        times=row.pop("times", 1),
        panels=panels,
        options=row,
    )


def _there(row: dict[str, Any]) -> bool:
    """Whether a model has been asked what the target is about."""
    return (data_dir() / "measured" / row.pop("asked", "")).exists()


with (data_dir() / "targets.toml").open("rb") as _file:
    _rows = tomllib.load(_file)

# Other names of the same runs.
ALIASES: dict[str, str] = _rows.pop("aliases")
TARGETS: dict[str, Target] = {
    name: _target(name, row) for name, row in _rows.items() if _there(row)
}


def find(name: str) -> list[Target]:
    """The targets of a name: one, or several in order.

    Several: all panels of a figure ("figure6"), all of a family ("measured"), or "all".
    """
    if name == "all":
        return list(TARGETS.values())
    name = ALIASES.get(name, name)
    if name in TARGETS:
        return [TARGETS[name]]
    panels = [t for key, t in TARGETS.items() if key[:-1] == name and key[-1].isalpha()]
    panels = panels or [t for key, t in TARGETS.items() if key.startswith(f"{name}-")]
    if not panels:
        raise ValueError(f"there is no target {name!r}; `judging reproduce list` names them all")
    return panels
