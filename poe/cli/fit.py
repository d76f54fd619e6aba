"""`poe fit` and `poe leaderboard`: comparisons that exist, and systems over many prompts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from poe.cli import options as o
from poe.errors import ComparisonError, JudgeError

First = Annotated[str | None, o.column("Shown first.")]
Second = Annotated[str | None, o.column("Shown second.")]
Winner = Annotated[str | None, o.column("Who won, or that it was a tie.")]
Probability = Annotated[str | None, o.column("Probability that the first is better.", "--p")]
Cluster = Annotated[str | None, o.column("What answers share: a prompt, an annotator.")]


@o.app.command()
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
    weight: Annotated[str | None, o.column("How often a row counts.")] = None,
    cluster: Cluster = None,
    no_cluster: Annotated[
        bool, o.opt("Every answer is news.", "--no-cluster", panel=o.SCORES)
    ] = False,
    expert: o.Expert = "bradley-terry",
    bias: Annotated[
        Literal["fit", "mean", "none"], o.opt("Of the first position.", panel=o.SCORES)
    ] = "fit",
    prior: o.Prior = None,
    confidence: o.Confidence = 0.95,
    out: o.Out = None,
    report: o.Report = None,
    encoding: o.Encoding = None,
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

    o.require_writable(report, out, inputs=[table])
    require_level(confidence)
    with o.busy(f"reading {table}"):
        rows = read_table(table, encoding=encoding)
        names = {"first": first, "second": second, "winner": winner, "p": p, "weight": weight}
        found = read(rows, cluster=cluster, **names)
    c = comparisons.Comparisons(
        first=found.first, second=found.second, p=found.p, weight=found.weight
    )
    tilt: Any = None if bias == "none" or not found.in_order else bias
    with o.busy(f"fitting {len(c):,} comparisons of {c.n_items:,} items"):
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
        o.write(out, csv_text(shown))
    if report:
        title = f"{len(shown):,} items ranked: {table.name}"
        o.write(report, board(title, shown, words, None, level=confidence))


@o.app.command(
    epilog="With --json, standard output is one object: partial, notes (sentences), comparisons, "
    "bias, length (logits per standard deviation), systems (the rows of --out) and win_rates "
    f"(row's system against the column's). {o.ENDS}"
)
def leaderboard(
    table: Annotated[
        Path,
        typer.Argument(
            help="With --judge, answers: columns system, prompt and answer. Without, comparisons "
            "that exist, as for `poe fit`, with a prompt and lengths or texts if you have them."
        ),
    ],
    judge: Annotated[str | None, o.opt("Who compares; see `poe rank`.", metavar="JUDGE")] = None,
    attribute: Annotated[str, o.opt('What wins, "more helpful".', metavar="WORDS")] = "better",
    dry_run: o.DryRun = False,
    offline: o.Offline = False,
    budget: Annotated[
        str, o.opt("Comparisons at most: 100x (100 a system), 500 or all.", panel=o.ASKED)
    ] = "100x",
    orders: o.Orders = "one",
    seed: o.Seed = 0,
    system: Annotated[str | None, o.column("Whose answer it is.")] = None,
    prompt: Annotated[str | None, o.column("What it answers.")] = None,
    answer: Annotated[str | None, o.column("The answer's text.")] = None,
    first: First = None,
    second: Second = None,
    winner: Winner = None,
    p: Probability = None,
    cluster: Cluster = None,
    no_length: Annotated[bool, o.opt("Do not control it.", "--no-length", panel=o.SCORES)] = False,
    prior: o.Prior = None,
    confidence: o.Confidence = 0.95,
    out: o.Out = None,
    report: o.Report = None,
    win_rates: Annotated[Path | None, o.opt("Who wins how often, CSV.", panel=o.FILES)] = None,
    comparisons: o.Comparisons = None,
    as_json: o.AsJson = False,
    store: o.StorePath = o.STORE,
    several_judges: o.SeveralJudges = False,
    quiet: o.Quiet = False,
    judge_option: o.JudgeOptions = [],  # noqa: B006
    limit_calls: o.LimitCalls = None,
    limit_tokens: o.LimitTokens = None,
    price_input: o.PriceInput = None,
    price_output: o.PriceOutput = None,
    undecided: o.Undecided = "stop",
    encoding: o.Encoding = None,
) -> None:
    """Rank systems that answer the same prompts: errors clustered on the prompt, length held."""
    from poe import findings
    from poe.columns import read
    from poe.judges.asking import stored_judge
    from poe.leaderboard import Asking, of_columns, read_answers
    from poe.report import board
    from poe.rounds import CTRL_C
    from poe.tables import csv_text, read_table

    inputs = [table, store] if judge else [table]
    o.require_writable(report, out, win_rates, comparisons, inputs=inputs)
    with o.busy(f"reading {table}"):
        rows = read_table(table, encoding=encoding)
    stop, price = "", o.prices(price_input, price_output)
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
        with o.open_store(store, several=several_judges, dry_run=dry_run, offline=offline) as kept:
            reader = (
                stored_judge(kept, judge)
                if offline
                else o.open_judge(judge, judge_option, limit_calls, limit_tokens)
            )
            asking = Asking(
                answers,
                reader,
                attribute,
                store=kept,
                both_orders=both,
                undecided=undecided,
                progress=not quiet,
                price=price,
                seed=seed,
            )
            known = len(asking.p)
            new = max(calls - known, 0)
            if dry_run:
                questions = asking.sample(new)
                row = o.estimate(
                    judge, reader, kept, questions, calls=new, stored=known, price=price
                )
                o.print_estimates([row], store, as_json=as_json)
                return
            if offline and not known:
                raise JudgeError(f"{store} has no answers of this judge to these comparisons")
            asking.run(0 if offline else calls)
        stop, found = asking.partial, asking.columns()
    with o.busy(f"fitting {len(found.p):,} comparisons"):
        result = of_columns(found, length=not no_length, prior=prior, level=confidence)
        frame, rates, text = result.to_frame(), result.win_rates(), str(result)
    if as_json:
        o.print_json(
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
        o.write(out, csv_text(frame), quiet=as_json)
    if win_rates:
        o.write(win_rates, csv_text(rates.rename_axis("system").reset_index()), quiet=as_json)
    if comparisons:
        o.write(comparisons, csv_text(found.to_table()), quiet=as_json)
    if report:
        title = f"{len(frame)} systems ranked: {attribute}" if judge else f"Ranked: {table.name}"
        html = board(title, frame, result.sentences(), rates, level=confidence)
        o.write(report, html, quiet=as_json)
    if stop:
        raise typer.Exit(-130 if stop.endswith(CTRL_C) else 3)
