"""`judging fit`: items ranked by comparisons that exist."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from judging.practice.cli import options as o
from judging.practice.cli import screen
from judging.practice.ranking.settings import Fitting

COMPARED = {
    "first": "what was shown first",
    "second": "what was shown second",
    "winner": "who won, or that it was a tie",
    "p": "the probability that the first is better",
    "cluster": "the prompt, annotator or other source that answers share",
}
COLUMNS = {**COMPARED, "weight": "how many times a row counts"}


@o.app.command(
    epilog="With --json, standard output is one object: findings (a list: kind, and its values), "
    "notes (the same in sentences), comparisons, bias, errors (vote, pair or prompt) and items (as "
    "--out)."
)
@o.takes(calling="verbose", fitting="expert bias prior errors level", files="out report as_json")
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
    *,
    column: Annotated[list[str], o.columns(COLUMNS)] = [],  # noqa: B006
    reading: o.Reading,
    calling: o.Calling,
    fitting: Fitting,
    files: o.Files,
    people: o.PeopleFile = None,
) -> None:
    """Rank items by comparisons that you already have, with intervals."""
    from judging.fitting import settled
    from judging.practice.board.errors import error_findings, kind_of, with_errors
    from judging.practice.ranking import words
    from judging.practice.ranking.findings import of_a_fit
    from judging.practice.ranking.method import Method
    from judging.practice.ranking.report import board
    from judging.practice.reading.forms import read
    from judging.practice.reading.tables import read_tables
    from judging.practice.sentences import as_data, say
    from judging.practice.trust import read_people, trust
    from judging.practice.trust.trust import explain_no_trust
    from judging.quoting import csv_text
    from poe.comparisons import Comparisons
    from poe.experts import get_expert
    from poe.result import COVARIANCE_ITEMS

    confidence = fitting.level
    inputs = [*tables, *([people] if people else [])]
    screen.require_writable(files.report, files.out, inputs=inputs)
    labels = read_people(people, **reading.words) if people else None
    with screen.busy(f"reading {screen.named(tables)}"):
        rows = read_tables(tables, **reading.file)
        said = read(rows, **o.named(column, COLUMNS), **reading.words).by_names()
    c = Comparisons(first=said.first, second=said.second, p=said.p, weight=said.weight)
    bias = fitting.bias if said.in_order else None
    family = get_expert(fitting.expert)
    with screen.busy(f"fitting {len(c):,} comparisons of {c.n_items:,} items"):
        result, notes = settled(c, expert=family, bias=bias, prior=fitting.prior)
        kind = kind_of(said, fitting.errors)
        result = with_errors(result, said, kind)
        notes = [*rows.attrs["notes"], *said.notes, *(labels.notes if labels else ()), *notes]
        if c.n_items > COVARIANCE_ITEMS:
            notes.append(
                f"intervals of more than {COVARIANCE_ITEMS:,} items do not fit into memory"
            )
        shown = _frame(result, confidence)
        beside = None if labels is None else trust(result, labels, level=confidence)
        if labels is not None and beside is None:
            why = say(explain_no_trust(result, labels), "item").rstrip(".")
            notes.append(f"{people}: {why}")
        found = of_a_fit(
            result,
            confidence,
            error_findings(result, said, kind),
            in_order=said.in_order,
            people=beside,
        )._replace(notes=notes)

    def everything() -> dict[str, Any]:
        return {
            "findings": as_data([*found.verdict, *found.more]),
            "notes": found.sentences("item", "comparison"),
            "comparisons": len(c),
            "bias": result.bias,
            "errors": kind,
            "items": shown.to_dict("records"),
        }

    method = Method(
        settings={
            "expert": words.expert_of(result),
            "position bias": "none" if bias is None else bias,
            "prior": "as needed" if fitting.prior is None else fitting.prior,
            "intervals": f"{100 * confidence:g}%, per {kind}",
        },
        command=screen.typed(),
    )
    title = f"{len(shown):,} items ranked: {screen.named(tables)}"
    written = {
        files.out: lambda: csv_text(shown),
        files.report: lambda: board(
            title, shown, found, None, level=confidence, method=method, thing="item"
        ),
    }
    screen.deliver(
        lambda: "\n".join(
            [
                words.aligned(words.rows_of(shown, confidence, fit=result)),
                *words.of_a_board(found, "item", verbose=calling.verbose),
            ]
        ),
        everything if files.as_json else None,
        {path: content for path, content in written.items() if path is not None},
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
