"""What `poe reproduce` prints: targets by name, and a table beside the published one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

if TYPE_CHECKING:
    from reproduction.making import Made
    from reproduction.settings import Target


def listing() -> str:
    """All targets, a line each; a star marks those in which a store's judge can take part."""
    from reproduction.making import takes_store
    from reproduction.targets import ALIASES, TARGETS

    lines = [
        f"{target.name:24} {target.inputs + ('*' if takes_store(target) else ''):11} "
        f"{target.paper}: {target.what}"
        for target in TARGETS.values()
    ]
    lines += [f"{name:24} the same as {other}" for name, other in ALIASES.items()]
    return "\n".join(
        [*lines, "* measured where --store names a judgement store with the answers (poe judge)"]
    )


def measured(target: Target, made: Made) -> str:
    """How much of a target a store has measured, and what it lacked."""
    kinds = made.table["kind"].value_counts()
    of = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
    lines = [f"{target.name}: rows by kind: {of}"]
    if made.lacking:
        lines.append("these stay simulated, because the store lacks answers:")
        lines += [f"  {line}" for line in made.lacking]
    return "\n".join(lines)


def report(target: Target, table: pd.DataFrame) -> str:
    """The table as printed in the paper with ours in it, or the first rows of a figure."""
    from reproduction import verdicts

    if target.table is None:
        head = table.drop(columns=["seed", "labels"], errors="ignore").head(12)
        return head.to_string(index=False) + f"\n... {len(table)} rows"
    compared = verdicts.compare(target.table, table, paper=target.paper)
    compared = compared[compared["verdict"] != "not attempted"]
    return _as_text(compared) + "\n" + _summary(compared)


def _as_text(compared: pd.DataFrame) -> str:
    """The table as printed in the paper: ours, with the published value in brackets."""
    cell = compared["ours"].map("{:.1f}".format) + " (" + compared["published"] + ")"
    keys = [
        c
        for c in ("system", "k", "selection", "dataset", "attribute")
        if compared[c].fillna("").nunique() > 1
    ]
    rows = compared.assign(cell=cell)
    wide = rows.pivot_table(
        index=keys, columns="method", values="cell", aggfunc="first", sort=False
    )
    wide = wide[list(dict.fromkeys(compared["method"]))]
    wide.columns.name = None
    return wide.fillna("").reset_index().to_string(index=False)


def _summary(compared: pd.DataFrame) -> str:
    kind = "/".join(sorted(set(compared["kind"])))
    labels = set(compared["labels"])
    judge = {
        "simulated": "panels" if "drawn" in labels else "twins of the judges",
        "measured": "the store's answers",
        "recorded": "answers that were recorded",
    }.get(kind, "the store's answers where it has them, twins of the judges elsewhere")
    counts = compared["verdict"].value_counts()
    lines = [
        "Ours, with the published value in brackets.",
        f"Ours is {kind}: {judge} on {' or '.join(sorted(labels))} labels.",
        "Verdicts: " + ", ".join(f"{name} {count}" for name, count in counts.items()) + ".",
    ]
    predicted = compared[compared["role"].isin(["predicted", "held out"])]
    predicted = predicted[predicted["labels"] == "real"]
    if len(predicted):
        error = predicted["difference"].abs().mean()
        lines.append(
            f"Mean absolute difference over the {len(predicted)} predicted cells, neither used to "
            f"calibrate nor implied by one that was: {error:.2f} points."
        )
    if "drawn" in labels:
        lines.append(
            "Drawn labels: judges and truth are drawn together with the accuracies that are "
            "printed, without a text or label of the data set, so inputs differ in every cell."
        )
    if "stand-in" in labels:
        lines.append(
            "Stand-in labels have the shape of the dataset, not its content, so no difference to "
            "the paper means anything; `poe data fetch` gets the real ones where they are public."
        )
    return "\n".join(lines)
