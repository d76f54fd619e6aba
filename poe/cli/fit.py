"""`poe fit` and `poe leaderboard`: comparisons that exist, and systems over many prompts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from poe.cli.options import (
    ASKED,
    FILES,
    SCORES,
    STORE,
    AsJson,
    Comparisons,
    Confidence,
    DryRun,
    Encoding,
    Expert,
    JudgeOptions,
    LimitCalls,
    LimitTokens,
    Offline,
    Orders,
    Out,
    PriceInput,
    PriceOutput,
    Prior,
    Quiet,
    Report,
    Seed,
    SeveralJudges,
    StorePath,
    Undecided,
    app,
    busy,
    column,
    estimate,
    open_judge,
    open_store,
    opt,
    prices,
    print_estimates,
    print_json,
    require_writable,
    write,
)
from poe.errors import ComparisonError, JudgeError

First = Annotated[str | None, column("Shown first.")]
Second = Annotated[str | None, column("Shown second.")]
Winner = Annotated[str | None, column("Who won, or that it was a tie.")]
Probability = Annotated[str | None, column("Probability that the first is better.", "--p")]
Cluster = Annotated[str | None, column("What answers share: a prompt, an annotator.")]


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
    expert: Expert = "bradley-terry",
    bias: Annotated[
        Literal["fit", "mean", "none"], opt("Of the first position.", panel=SCORES)
    ] = "fit",
    prior: Prior = None,
    confidence: Confidence = 0.95,
    out: Out = None,
    report: Report = None,
    encoding: Encoding = None,
) -> None:
    """Rank the items of comparisons that exist, with intervals."""
    import pandas as pd

    from poe import comparisons, findings
    from poe.clusters import clustered
    from poe.columns import read
    from poe.report import board
    from poe.result import COVARIANCE_ITEMS, require_level
    from poe.rounds import settled
    from poe.tables import csv_text, read_table

    require_writable(report, out, inputs=[table])
    require_level(confidence)
    with busy(f"reading {table}"):
        rows = read_table(table, encoding=encoding)
        names = {"first": first, "second": second, "winner": winner, "p": p, "weight": weight}
        found = read(rows, cluster=cluster, **names)
    c = comparisons.Comparisons(
        first=found.first, second=found.second, p=found.p, weight=found.weight
    )
    tilt: Any = None if bias == "none" or not found.in_order else bias
    if tilt == "fit" and expert == "laplacian":
        tilt = "mean"
    with busy(f"fitting {len(c):,} comparisons of {c.n_items:,} items"):
        result, notes = settled(c, expert=expert, bias=tilt, prior=prior)
        if found.cluster is not None and not no_cluster and expert != "laplacian":
            result = clustered(result, found.cluster)
        notes = [*rows.attrs["notes"], *found.notes, *notes]
        if c.n_items <= COVARIANCE_ITEMS:
            shown = result.to_frame(confidence)
        else:
            shown = pd.DataFrame({"item": result.items, "score": result.scores})
            shown = shown.sort_values("score", ascending=False, kind="stable")
            shown.insert(0, "rank", range(1, len(shown) + 1))
            notes.append(
                f"intervals of more than {COVARIANCE_ITEMS:,} items do not fit into memory"
            )
        words = findings.in_words(result, confidence, found.cluster_name, notes)
        text = findings.aligned(findings.rows_of(shown, confidence))
    print("\n".join([text, *words]))
    if out:
        write(out, csv_text(shown))
    if report:
        title = f"{len(shown):,} items ranked: {table.name}"
        write(report, board(title, shown, words, None, level=confidence))


@app.command(
    epilog="With --json, standard output is one object: partial, notes (sentences), comparisons, "
    "bias, length (logits a standard deviation longer), systems (the rows of --out) and win_rates "
    "(row's system against the column's). With --dry-run: a list of judges with calls (at most), "
    "stored, tokens, seconds, cost. Exit status 3: a limit made the ranking partial."
)
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
    offline: Offline = False,
    budget: Annotated[
        str, opt("Comparisons at most: 100x (100 a system), 500 or all.", panel=ASKED)
    ] = "100x",
    orders: Orders = "one",
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
    confidence: Confidence = 0.95,
    out: Out = None,
    report: Report = None,
    win_rates: Annotated[Path | None, opt("Who wins how often, CSV.", panel=FILES)] = None,
    comparisons: Comparisons = None,
    as_json: AsJson = False,
    store: StorePath = STORE,
    several_judges: SeveralJudges = False,
    quiet: Quiet = False,
    judge_option: JudgeOptions = [],  # noqa: B006
    limit_calls: LimitCalls = None,
    limit_tokens: LimitTokens = None,
    price_input: PriceInput = None,
    price_output: PriceOutput = None,
    undecided: Undecided = "stop",
    encoding: Encoding = None,
) -> None:
    """Rank systems that answer the same prompts: errors clustered on the prompt, length held."""
    from poe import findings
    from poe.answers import Asking, read_answers
    from poe.columns import read
    from poe.judges.asking import stored_judge
    from poe.judges.planning import Meter
    from poe.leaderboard import of_columns
    from poe.report import board
    from poe.tables import csv_text, read_table

    inputs = [table, store] if judge else [table]
    require_writable(report, out, win_rates, comparisons, inputs=inputs)
    with busy(f"reading {table}"):
        rows = read_table(table, encoding=encoding)
    stop, price = "", prices(price_input, price_output)
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
        answers = read_answers(rows, system=system, prompt=prompt, answer=answer)
        both = orders == "both"
        calls = answers.calls(budget, both_orders=both)
        with open_store(store, several=several_judges, dry_run=dry_run, offline=offline) as kept:
            reader = (
                stored_judge(kept, judge)
                if offline
                else open_judge(judge, judge_option, limit_calls, limit_tokens)
            )
            asking = Asking(
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
                questions = asking.sample(new)
                row = estimate(judge, reader, kept, questions, calls=new, stored=known, price=price)
                print_estimates([row], store, as_json=as_json)
                return
            if offline and not known:
                raise JudgeError(f"{store} has no answers of this judge to these comparisons")
            meter = Meter(new, shown=not quiet, price=None if offline else price)
            asking.progress, meter.judge = meter, reader
            asking.run(0 if offline else calls)
            meter.bar.close()
        stop, found = asking.partial, asking.columns()
        found = replace(found, notes=(*found.notes, *meter.notes()))
    with busy(f"fitting {len(found.p):,} comparisons"):
        result = of_columns(found, length=not no_length, prior=prior, level=confidence)
        frame, rates, text = result.to_frame(), result.win_rates(), str(result)
    if as_json:
        print_json(
            {
                "partial": bool(stop),
                "notes": result.sentences(),
                "comparisons": len(found.p),
                "bias": result.fit.bias,
                "length": result.fit.covariate and result.fit.covariate.size,
                "systems": frame.to_dict("records"),
                "win_rates": rates.to_dict("index"),
            }
        )
    else:
        print(f"{text}\n\nShare of comparisons won by the row's system:")
        print(findings.aligned(findings.matrix(rates)))
    if out:
        write(out, csv_text(frame), quiet=as_json)
    if win_rates:
        write(win_rates, csv_text(rates.rename_axis("system").reset_index()), quiet=as_json)
    if comparisons:
        write(comparisons, csv_text(found.to_table()), quiet=as_json)
    if report:
        title = f"{len(frame)} systems ranked: {attribute}" if judge else f"Ranked: {table.name}"
        html = board(title, frame, result.sentences(), rates, level=confidence)
        write(report, html, quiet=as_json)
    if stop:
        raise typer.Exit(3)
