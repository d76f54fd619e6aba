"""`judging fit`: items ranked by comparisons that exist."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from judging.practice.cli import options as o
from judging.practice.cli import screen

First = Annotated[str | None, o.column("The column of what was shown first.")]
Second = Annotated[str | None, o.column("The column of what was shown second.")]
Winner = Annotated[str | None, o.column("The column that says who won, or that it was a tie.")]
Probability = Annotated[
    str | None, o.column("The column of the probability that the first is better.", "--p")
]
Cluster = Annotated[
    str | None, o.column("The column of the prompt, annotator or other source that answers share.")
]


@o.app.command(
    epilog="With --json, standard output is one object: findings (a list: kind, and its values), "
    "notes (the same in sentences), comparisons, bias, errors (vote, pair or prompt) and items (as "
    "--out)."
)
def fit(
    tables: Annotated[
        list[Path],
        typer.Argument(
            help="A table (CSV, TSV, JSON, JSONL, Parquet or xlsx) with one comparison per row: "
            "first, second and p; model_a, model_b and winner; or alpaca_eval's annotations. Or "
            "counts of wins, rankings, Label Studio's JSON. Several are taken together.",
            metavar="TABLE",
        ),
    ],
    first: First = None,
    second: Second = None,
    winner: Winner = None,
    p: Probability = None,
    weight: Annotated[
        str | None, o.column("The column that says how many times a row counts.")
    ] = None,
    cluster: Cluster = None,
    errors: o.Errors = "auto",
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
    people: o.PeopleFile = None,
    as_json: o.AsJson = False,
    encoding: o.Encoding = None,
    sheet: o.Sheet = None,
) -> None:
    """Rank items by comparisons that you already have, with intervals."""
    from judging.fitting import settled
    from judging.practice.board.errors import kind_of, told, with_errors
    from judging.practice.ranking import words
    from judging.practice.ranking.findings import of_a_fit
    from judging.practice.ranking.fragile import fragility_of
    from judging.practice.ranking.report import board
    from judging.practice.reading.forms import read
    from judging.practice.reading.tables import read_tables
    from judging.practice.sentences import as_data, say
    from judging.practice.trust import read_people, trust
    from judging.practice.trust.trust import untold
    from judging.quoting import csv_text
    from poe.comparisons import Comparisons
    from poe.experts import get_expert
    from poe.result import COVARIANCE_ITEMS, require_level

    screen.require_writable(report, out, inputs=[*tables, *([people] if people else [])])
    labels = read_people(people) if people else None
    require_level(confidence)
    with screen.busy(f"reading {screen.named(tables)}"):
        rows = read_tables(tables, encoding=encoding, sheet=sheet)
        names = {"first": first, "second": second, "winner": winner, "p": p, "weight": weight}
        said = read(rows, cluster=cluster, **names)
    c = Comparisons(first=said.first, second=said.second, p=said.p, weight=said.weight)
    tilt: Any = None if bias == "none" or not said.in_order else bias
    family = get_expert(expert)
    with screen.busy(f"fitting {len(c):,} comparisons of {c.n_items:,} items"):
        result, notes = settled(c, expert=family, bias=tilt, prior=prior)
        kind = kind_of(said, errors)
        result = with_errors(result, said, kind)
        notes = [*rows.attrs["notes"], *said.notes, *(labels.notes if labels else ()), *notes]
        if c.n_items > COVARIANCE_ITEMS:
            notes.append(
                f"intervals of more than {COVARIANCE_ITEMS:,} items do not fit into memory"
            )
        notes += () if labels is None else labels.notes
        shown = _frame(result, confidence)
        beside = None if labels is None else trust(result, labels, level=confidence)
        if labels is not None and beside is None:
            notes.append(f"{people}: {say(untold(result, labels), 'item')}")
        found = of_a_fit(
            result,
            confidence,
            told(result, said, kind),
            in_order=said.in_order,
            fragile=fragility_of(result) if c.n_items <= COVARIANCE_ITEMS else None,
            people=beside,
        )._replace(notes=notes)
        sentences = found.sentences("item", "comparison")

    def everything() -> dict[str, Any]:
        return {
            "findings": as_data([*found.verdict, *found.more]),
            "notes": sentences,
            "comparisons": len(c),
            "bias": result.bias,
            "errors": kind,
            "items": shown.to_dict("records"),
        }

    title = f"{len(shown):,} items ranked: {screen.named(tables)}"
    files = {
        out: lambda: csv_text(shown),
        report: lambda: board(title, shown, found, None, level=confidence, thing="item"),
    }
    screen.deliver(
        lambda: "\n".join(
            [words.aligned(words.rows_of(shown, confidence, fit=result)), *sentences]
        ),
        everything if as_json else None,
        {path: content for path, content in files.items() if path is not None},
    )


def _frame(result: Any, level: float) -> Any:
    """`Fit.to_frame`, without intervals where there are too many items for them."""
    import pandas as pd

    from poe.ranks import shared_ranks
    from poe.result import COVARIANCE_ITEMS

    if len(result.items) <= COVARIANCE_ITEMS:
        shown = result.to_frame(level)
        error = dict(zip(result.items, result.standard_errors(), strict=True))
        shown.insert(3, "error", shown["name"].map(error))
        return shown
    shown = pd.DataFrame({"name": result.items, "score": result.scores})
    shown = shown.sort_values("score", ascending=False, kind="stable")
    shown.insert(0, "rank", shared_ranks(shown["score"].to_numpy()))
    return shown
