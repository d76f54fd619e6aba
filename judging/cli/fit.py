"""`judging fit`: items ranked by comparisons that exist."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from judging.cli import options as o
from judging.cli import screen

First = Annotated[str | None, o.column("The column of what was shown first.")]
Second = Annotated[str | None, o.column("The column of what was shown second.")]
Winner = Annotated[str | None, o.column("The column that says who won, or that it was a tie.")]
Probability = Annotated[
    str | None, o.column("The column of the probability that the first is better.", "--p")
]
Cluster = Annotated[
    str | None, o.column("The column of what answers share, such as a prompt or an annotator.")
]


@o.app.command()
def fit(
    table: Annotated[
        Path,
        typer.Argument(
            help="A table (CSV, TSV, JSON, JSONL, Parquet or xlsx) with one comparison per row: "
            "first, second and p; model_a, model_b and winner; or alpaca_eval's annotations."
        ),
    ],
    first: First = None,
    second: Second = None,
    winner: Winner = None,
    p: Probability = None,
    weight: Annotated[str | None, o.column("The column of how often a row counts.")] = None,
    cluster: Cluster = None,
    no_cluster: Annotated[
        bool, o.opt("Treat all answers as independent.", "--no-cluster", panel=o.SCORES)
    ] = False,
    expert: o.Expert = "bradley-terry",
    bias: Annotated[
        Literal["fit", "mean", "none"],
        o.opt(
            "The position bias: fitted with the scores, taken from the mean answer, or none.",
            panel=o.SCORES,
        ),
    ] = "fit",
    prior: o.Prior = None,
    confidence: o.Confidence = 0.95,
    out: o.Out = None,
    report: o.Report = None,
    encoding: o.Encoding = None,
) -> None:
    """Rank the items of comparisons that exist, with intervals."""
    from judging.ranking import words
    from judging.ranking.report import board
    from judging.reading.forms import read
    from judging.reading.tables import csv_text, read_table
    from poe.clusters import clustered
    from poe.comparisons import Comparisons
    from poe.experts import get_expert
    from poe.fitting import settled
    from poe.result import COVARIANCE_ITEMS, require_level

    screen.require_writable(report, out, inputs=[table])
    require_level(confidence)
    with screen.busy(f"reading {table}"):
        rows = read_table(table, encoding=encoding)
        names = {"first": first, "second": second, "winner": winner, "p": p, "weight": weight}
        said = read(rows, cluster=cluster, **names)
    c = Comparisons(first=said.first, second=said.second, p=said.p, weight=said.weight)
    tilt: Any = None if bias == "none" or not said.in_order else bias
    family = get_expert(expert)
    with screen.busy(f"fitting {len(c):,} comparisons of {c.n_items:,} items"):
        result, notes = settled(c, expert=family, bias=tilt, prior=prior)
        if said.cluster is not None and not no_cluster and _has_slopes(family):
            result = clustered(result, said.cluster)
        notes = [*rows.attrs["notes"], *said.notes, *notes]
        if c.n_items > COVARIANCE_ITEMS:
            notes.append(
                f"intervals of more than {COVARIANCE_ITEMS:,} items do not fit into memory"
            )
        shown = _frame(result, confidence)
        sentences = words.in_words(result, confidence, said.cluster_name, notes)
    title = f"{len(shown):,} items ranked: {table.name}"
    files = {
        out: lambda: csv_text(shown),
        report: lambda: board(title, shown, sentences, None, level=confidence),
    }
    screen.deliver(
        lambda: "\n".join([words.aligned(words.rows_of(shown, confidence)), *sentences]),
        None,
        {path: content for path, content in files.items() if path is not None},
    )


def _has_slopes(expert: Any) -> bool:
    """Whether errors can be clustered: not where the expert's curvature is zero (Laplacian)."""
    import numpy as np

    at = np.linspace(-2.0, 2.0, 9)
    return bool((np.asarray(expert.curvature(at, np.full(9, 0.5))) > 0.0).any())


def _frame(result: Any, level: float) -> Any:
    """`Fit.to_frame`, without intervals where there are too many items for them."""
    import pandas as pd

    from poe.result import COVARIANCE_ITEMS

    if len(result.items) <= COVARIANCE_ITEMS:
        return result.to_frame(level)
    shown = pd.DataFrame({"name": result.items, "score": result.scores})
    shown = shown.sort_values("score", ascending=False, kind="stable")
    shown.insert(0, "rank", range(1, len(shown) + 1))
    return shown
