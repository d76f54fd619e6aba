"""`poe fit` and `poe leaderboard`: comparisons that exist, and systems over many prompts."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from poe.cli.options import (
    ASKED,
    FILES,
    JUDGE,
    SCORES,
    STORE,
    DryRun,
    JudgeOptions,
    LimitCalls,
    LimitTokens,
    Meter,
    Orders,
    Quiet,
    Seed,
    SeveralJudges,
    StorePath,
    Undecided,
    app,
    open_judge,
    open_store,
    opt,
    print_cost,
    require_writable,
    stopped,
    write,
)

COLUMNS = "Columns, where they have other names"


def column(text: str, *names: str) -> Any:
    """An option that names a column."""
    return opt(text, *names, panel=COLUMNS, metavar="COLUMN")


First = Annotated[str | None, column("Shown first.")]
Second = Annotated[str | None, column("Shown second.")]
Winner = Annotated[str | None, column("Who won, or that it was a tie.")]
Probability = Annotated[str | None, column("Probability that the first is better.", "--p")]
Cluster = Annotated[str | None, column("What answers share: a prompt, an annotator.")]
Encoding = Annotated[str | None, opt("Of a text file, if not UTF-8.", panel=FILES)]
Prior = Annotated[
    float | None,
    opt(
        "Wins added to every pair; by default none, or, where an item won or lost everything, one "
        "win and one loss an item.",
        panel=SCORES,
        min=0.0,
    ),
]
Level = Annotated[float, opt("Of the intervals.", panel=SCORES)]
Out = Annotated[Path | None, opt("Scores and intervals as CSV.", panel=FILES)]
Report = Annotated[Path | None, opt("HTML report in one file.", panel=FILES)]


@app.command()
def fit(
    table: Annotated[
        Path,
        typer.Argument(
            help="CSV, TSV, JSON, JSONL, Parquet or xlsx with one comparison a row: first, second "
            "and p; model_a, model_b and winner; or alpaca_eval's annotations."
        ),
    ],
    first: First = None,
    second: Second = None,
    winner: Winner = None,
    p: Probability = None,
    weight: Annotated[str | None, column("How often a row counts.")] = None,
    cluster: Cluster = None,
    no_cluster: Annotated[bool, opt("Every answer is news.", "--no-cluster", panel=SCORES)] = False,
    expert: Annotated[
        Literal["bradley-terry", "gaussian", "laplacian"],
        opt("What an answer says of two scores.", panel=SCORES),
    ] = "bradley-terry",
    bias: Annotated[
        Literal["fit", "mean", "none"], opt("Of the first position.", panel=SCORES)
    ] = "fit",
    prior: Prior = None,
    confidence: Level = 0.95,
    out: Out = None,
    report: Report = None,
    encoding: Encoding = None,
) -> None:
    """Rank the items of comparisons that exist, with intervals."""
    import pandas as pd

    from poe import leaderboard as board
    from poe.clusters import clustered
    from poe.columns import read
    from poe.comparisons import Comparisons
    from poe.result import COVARIANCE_ITEMS, require_level
    from poe.rounds import settled
    from poe.tables import csv_text, read_table

    require_writable(report, out, inputs=[table])
    require_level(confidence)
    rows = read_table(table, encoding=encoding)
    names = {"first": first, "second": second, "winner": winner, "p": p, "weight": weight}
    found = read(rows, cluster=cluster, **names)
    c = Comparisons(first=found.first, second=found.second, p=found.p, weight=found.weight)
    tilt: Any = None if bias == "none" or not found.in_order else bias
    if tilt == "fit" and expert == "laplacian":
        tilt = "mean"
    result, notes = settled(c, expert=expert, bias=tilt, prior=prior)
    if found.cluster is not None and not no_cluster and expert != "laplacian":
        result = clustered(result, found.cluster)
    notes = [*rows.attrs["notes"], *found.notes, *notes]
    if c.n_items <= COVARIANCE_ITEMS:
        shown = result.to_frame(confidence)
    else:
        order = result.ranking()
        scores = dict(zip(result.items, result.scores.tolist(), strict=True))
        shown = pd.DataFrame({"item": order, "score": [scores[name] for name in order]})
        shown.insert(0, "rank", range(1, len(order) + 1))
        notes.append(f"intervals of more than {COVARIANCE_ITEMS:,} items do not fit into memory")
    words = board.in_words(result, confidence, found.cluster_name, tuple(notes))
    print("\n".join([board.in_columns(shown, confidence), *words]))
    if out:
        write(out, csv_text(shown))
    if report:
        write(
            report,
            board.page(
                f"{len(shown):,} items ranked: {table.name}", shown, words, level=confidence
            ),
        )


@app.command()
def leaderboard(
    table: Annotated[
        Path,
        typer.Argument(
            help="With --judge, answers: columns system, prompt and answer. Without, comparisons "
            "that exist, as for `poe fit`, with a prompt and lengths or texts if you have them."
        ),
    ],
    judge: Annotated[str | None, opt("Who compares; see `poe rank`.", metavar="JUDGE")] = None,
    attribute: Annotated[str, opt('What wins, "more helpful".', metavar="WORDS")] = "better",
    dry_run: DryRun = False,
    offline: Annotated[bool, opt("Only answers in the store.", "--offline", panel=JUDGE)] = False,
    budget: Annotated[
        str, opt("Comparisons at most: 100x (100 a system), 500 or all.", panel=ASKED)
    ] = "100x",
    orders: Annotated[
        Orders, opt("A pair in one random order, its bias estimated, or in both.", panel=ASKED)
    ] = "one",
    seed: Seed = 0,
    system: Annotated[str | None, column("Whose answer it is.")] = None,
    prompt: Annotated[str | None, column("What it answers.")] = None,
    answer: Annotated[str | None, column("The answer's text.")] = None,
    first: First = None,
    second: Second = None,
    winner: Winner = None,
    p: Probability = None,
    cluster: Cluster = None,
    no_length: Annotated[bool, opt("Do not control it.", "--no-length", panel=SCORES)] = False,
    prior: Prior = None,
    confidence: Level = 0.95,
    out: Out = None,
    report: Report = None,
    win_rates: Annotated[Path | None, opt("Who wins how often, CSV.", panel=FILES)] = None,
    comparisons: Annotated[Path | None, opt("Every comparison as CSV.", panel=FILES)] = None,
    store: StorePath = STORE,
    several_judges: SeveralJudges = False,
    quiet: Quiet = False,
    judge_option: JudgeOptions = [],  # noqa: B006
    limit_calls: LimitCalls = None,
    limit_tokens: LimitTokens = None,
    undecided: Undecided = "stop",
    encoding: Encoding = None,
) -> None:
    """Rank systems that answer the same prompts: errors clustered on the prompt, length held."""
    from poe import leaderboard as board
    from poe.columns import read
    from poe.errors import ComparisonError, JudgeError
    from poe.findings import aligned
    from poe.judges.asking import stored_judge
    from poe.tables import csv_text, read_table

    inputs = [table, store] if judge else [table]
    require_writable(report, out, win_rates, comparisons, inputs=inputs)
    rows = read_table(table, encoding=encoding)
    stop = ""
    how: dict[str, Any] = {"length": not no_length, "bias": "fit", "prior": prior}
    if judge is None:
        if offline or dry_run:
            raise JudgeError("--dry-run and --offline go with --judge; nothing is asked without")
        names = {"first": first, "second": second, "winner": winner, "p": p, "cluster": cluster}
        try:
            found = read(rows, **names)
        except ComparisonError as error:
            if "who was compared" not in str(error):
                raise
            raise ComparisonError(f"{error}; answers that nobody compared need --judge") from None
    else:
        answers = board.read_answers(rows, system=system, prompt=prompt, answer=answer)
        both = orders == "both"
        calls = answers.calls(budget, both_orders=both)
        if offline and not store.is_file():
            raise JudgeError(f"there is no store {store}, so nothing can be ranked offline")
        several = several_judges or offline
        with closing(open_store(store, several=several, dry_run=dry_run)) as kept:
            reader = (
                stored_judge(kept, judge)
                if offline
                else open_judge(judge, judge_option, limit_calls, limit_tokens)
            )
            asking = board.Asking(
                answers,
                reader,
                attribute,
                store=kept,
                both_orders=both,
                undecided=undecided,
                seed=seed,
            )
            known = asking.recall()
            new = max(calls - known, 0)
            if dry_run:
                print(f"{new:,} calls; {known:,} answers are in {store} already")
                print_cost([asking.question(*row) for row in asking.sample(new)], reader, kept)
                return
            asking.progress = meter = Meter(0 if offline else new, quiet=quiet or offline)
            try:
                asking.run(0 if offline else calls)
                meter.bar.close()
            except KeyboardInterrupt:
                raise stopped(kept) from None
        stop = asking.partial
        if not known and offline:
            raise JudgeError(f"{store} has no answers of this judge to these comparisons")
        found = asking.columns()
    result = board.of_columns(found, level=confidence, **how)
    frame, rates = result.to_frame(), result.win_rates()
    print(result)
    print(f"\nShare of comparisons won by the row's system:\n{aligned(board.matrix(rates))}")
    if out:
        write(out, csv_text(frame))
    if win_rates:
        write(win_rates, csv_text(rates.rename_axis("system").reset_index()))
    if comparisons:
        write(comparisons, csv_text(found.to_table()))
    if report:
        title = f"{len(frame)} systems ranked: {attribute}" if judge else f"Ranked: {table.name}"
        write(report, board.page(title, frame, result.sentences(), rates, level=confidence))
    if stop:
        raise typer.Exit(3)
