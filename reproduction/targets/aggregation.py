"""Targets of the several-judges paper."""

from __future__ import annotations

from reproduction import panel
from reproduction.settings import Target

PAPER = "skill_aggregation"


def _target(name: str, what: str, cost: float, table: str | None = None) -> Target:
    """One target; those named after the data are on recorded answers."""
    kind = "recorded" if name.startswith("recorded") else "simulated"
    paper = "recorded" if kind == "recorded" else PAPER
    run = getattr(panel, name.partition("-")[2])
    return Target(name, paper, what, kind, run, (), cost, table, panel.variants)


TARGETS = (
    _target("skill-table1", "eight methods, three tasks", 40.0, "table1"),
    _target("skill-table2", "judges asked in both orders", 20.0, "table2"),
    _target("skill-table3", "every judge alone", 3.0, "table3"),
    _target("skill-table4", "subsets of judges, TruthfulQA", 40.0, "table4"),
    _target("skill-table5", "subsets of judges, Chatbot Arena", 40.0, "table5"),
    _target("skill-figure3", "slopes against accuracies", 5.0),
    _target("skill-figure6", "gain by number of samples", 50.0),
    _target("skill-context", "regulariser, by what contexts show", 15.0),
    _target("skill-calls", "more judges, or both orders", 2.0),
    _target("recorded-aggregation", "LLMBar: eight methods", 40.0),
    _target("recorded-experts", "LLMBar: judges in one product", 3.0),
)

# Figures that are another table or figure by other axes or for another task.
ALIASES = {
    "skill-figure4": "skill-table4",
    "skill-figure11": "skill-table5",
    "skill-figure9": "skill-figure3",
    "skill-figure10": "skill-figure3",
    "skill-figure7": "skill-figure6",
    "skill-figure8": "skill-figure6",
}
