"""`judging leaderboard`: systems ranked by their answers to the same prompts."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from judging.errors import JudgeError
from judging.practice.cli import batches, exits, opening, screen
from judging.practice.cli import config as cfg
from judging.practice.cli import options as o
from judging.practice.cli.fit import Cluster, First, Probability, Second, Winner

if TYPE_CHECKING:
    from judging.practice.board import Leaderboard, gate
    from judging.practice.ranking.findings import Found


@o.app.command(
    epilog="With --json, standard output is one object: partial, findings (a list: kind, and its "
    "values), notes (the same in sentences), comparisons, "
    "bias, errors (vote, pair or prompt), length (the effect, in logits), requirements (state, p, "
    "more), systems (the rows of --out), win_rates (the row's system against the column's), "
    "differences of every two systems, groups (--by) and people (--people: name, judge, people, "
    f"se, low, high, labels, gain). {o.DRY}"
)
def leaderboard(
    ctx: typer.Context,
    tables: Annotated[
        list[Path],
        typer.Argument(
            help="With --judge, a table of answers: system, prompt and answer. Without --judge, "
            "comparisons that exist, as for `judging fit`, optionally with a prompt, and with "
            "lengths or texts. Several are taken together.",
            metavar="TABLE",
        ),
    ],
    judge: Annotated[
        str | None,
        o.opt(f"The judge that compares the answers: {o.FORMS}", "--judge", metavar="JUDGE"),
    ] = None,
    attribute: Annotated[
        str, o.opt('What the better answer is: "more helpful".', metavar="WORDS")
    ] = "better",
    wording: o.Wording = None,
    dry_run: o.DryRun = False,
    offline: o.Offline = False,
    budget: Annotated[
        str, o.opt("The most comparisons: 100x (100 per system), 500 or all.", panel=o.ASKED)
    ] = "100x",
    orders: o.Orders = "auto",
    seed: o.Seed = 0,
    system: Annotated[str | None, o.column("The column of the systems.")] = None,
    prompt: Annotated[str | None, o.column("The column of what they answer.")] = None,
    answer: Annotated[str | None, o.column("The column of their answers.")] = None,
    first: First = None,
    second: Second = None,
    winner: Winner = None,
    p: Probability = None,
    cluster: Cluster = None,
    by: Annotated[
        str | None,
        o.column("A column to break results down by, with --judge one of prompts."),
    ] = None,
    reference: Annotated[
        str | None,
        o.opt(
            "Show each system's win rate against this one, with its standard error.",
            panel=o.SCORES,
            metavar="SYSTEM",
        ),
    ] = None,
    length_control: o.LengthControl = False,
    errors: o.Errors = "auto",
    require: o.Require = [],  # noqa: B006
    sure: o.Sure = 0.95,
    prior: o.Prior = None,
    confidence: o.Confidence = 0.95,
    out: o.Out = None,
    report: o.Report = None,
    win_rates: Annotated[
        Path | None,
        o.opt("Write each system's share of wins against each to this CSV file.", panel=o.FILES),
    ] = None,
    differences: Annotated[
        Path | None,
        o.opt("Write the difference of every two systems to this CSV file.", panel=o.FILES),
    ] = None,
    comparisons: o.Comparisons = None,
    people: Annotated[
        Path | None,
        o.opt(
            "People's verdicts on some of these comparisons (prompt, two systems, winner); we then "
            "show each system's win rate among people, estimated with the judge's help.",
            panel=o.FILES,
            metavar="FILE",
        ),
    ] = None,
    as_json: o.AsJson = False,
    store: o.StorePath = o.STORE,
    several_judges: o.SeveralJudges = False,
    quiet: o.Quiet = False,
    judge_option: o.JudgeOptions = [],  # noqa: B006
    batch: o.Batch = None,
    limit_calls: o.LimitCalls = None,
    limit_tokens: o.LimitTokens = None,
    price_input: o.PriceInput = None,
    price_output: o.PriceOutput = None,
    undecided: o.Undecided = "skip",
    on_refusal: o.OnRefusal = "skip",
    retry_refused: o.RetryRefused = False,
    encoding: o.Encoding = None,
    sheet: o.Sheet = None,
    config: cfg.Config = None,
    save_config: cfg.SaveConfig = None,
) -> None:
    """Rank systems by their answers to the same prompts.

    The ranking takes the comparisons as they are; --length-control adds the scores that answers of
    equal length would have.
    """
    from judging.judges.asking import stored_judge
    from judging.judges.spending import RoundWrittenError
    from judging.practice.board import Tournament, gate, of_columns, read_answers
    from judging.practice.board.board import require_system
    from judging.practice.board.errors import require_prompts
    from judging.practice.board.people import among_people, decide
    from judging.practice.ranking import words
    from judging.practice.ranking.report import board
    from judging.practice.reading.forms import UnnamedError, read
    from judging.practice.reading.tables import read_table, read_tables
    from judging.quoting import csv_text
    from poe.errors import ComparisonError

    by_file = batches.Batches(batch, store, forbidden=offline or limit_calls or limit_tokens)
    inputs = [*tables, *([store] if judge else []), *([people] if people else [])]
    screen.require_writable(report, out, win_rates, differences, comparisons, inputs=inputs)
    with screen.busy(f"reading {screen.named(tables)}"):
        rows = read_tables(tables, encoding=encoding, sheet=sheet)
    labels = read(read_table(people)) if people else None
    price, stop = opening.prices(price_input, price_output), None
    left, stopped = math.inf, None
    if judge is None:
        if offline or dry_run:
            raise JudgeError(
                "--dry-run and --offline are for a judge, and without --judge nothing is asked"
            )
        names = {"first": first, "second": second, "winner": winner, "p": p, "cluster": cluster}
        try:
            columns = read(rows, by=by, **names)
        except UnnamedError as error:
            raise ComparisonError(f"{error}; answers that nobody compared need --judge") from None
        columns = replace(columns, notes=(*rows.attrs["notes"], *columns.notes))
        cfg.save(ctx, save_config)
    else:
        answers = read_answers(rows, system=system, prompt=prompt, answer=answer, by=by)
        require_prompts(errors, len(answers.prompts))
        require_system(reference, answers.systems)
        wanted = [gate.parse(text, answers.systems) for text in require]
        calls = answers.calls(budget, both_orders=orders != "one")
        if offline:
            opening.open_first([judge], judge_option, offline=True, saving=save_config is not None)
        else:
            opened = opening.open_judge(judge, judge_option, limit_calls, limit_tokens)
        cfg.save(ctx, save_config)
        with opening.open_store(
            store, several=several_judges, dry_run=dry_run, offline=offline
        ) as kept:
            reader = stored_judge(kept, judge) if offline else by_file.reader(opened)
            if retry_refused and not (offline or dry_run):
                kept.forget_refused(reader)
            asked = Tournament(
                answers,
                reader,
                attribute,
                store=kept,
                orders=orders,
                undecided=undecided,
                on_refusal=on_refusal,
                progress=not quiet,
                price=price,
                seed=seed,
                rounds=by_file.rounds or 8,
                wording=wording,
            )
            known = asked.asked
            new = min(max(calls - known, 0), int(asked.possible.sum()))
            if dry_run:
                row = opening.estimate(
                    judge, reader, kept, asked.sample(new), calls=new, stored=known, price=price
                )
                screen.print_estimates([row], store, as_json=as_json)
                return
            if offline and not known:
                raise JudgeError(f"{store} has no answers of this judge to these comparisons")
            try:
                asked.run(0 if offline else calls)
            except RoundWrittenError:  # the first, before there is anything to rank
                by_file.finish(kept)
            if asked.stop is not None and asked.stop.kind == "batch" and not asked.linked:
                by_file.finish(kept)
        stop, columns, left, stopped = asked.stop, asked.columns(), asked.more, asked.stopped
    with screen.busy(f"fitting {len(columns.p):,} comparisons"):
        result = of_columns(
            columns,
            length=length_control,
            reference=reference,
            errors=errors,
            prior=prior,
            level=confidence,
            left=left,
            stopped=stopped,
        )
        frame, rates, groups = result.to_frame(), result.win_rates(), result.groups()
        if judge is None:
            wanted = [gate.parse(text, result.plain.items) for text in require]
        verdicts = [gate.check(result, one, sure) for one in wanted]
        found, beside = result.findings(), None
        if labels is not None:
            beside = among_people(columns, labels, confidence)
            found.more.insert(0, decide(columns, labels, confidence))
            found.notes.extend(f"{people}: {note}" for note in labels.notes)
        found.more[:0] = verdicts
        sentences = found.sentences("system", "comparison")

    title = (
        f"{len(frame)} systems ranked: {attribute}" if judge else f"Ranked: {screen.named(tables)}"
    )
    files: dict[Path | None, Callable[[], str]] = {
        out: lambda: csv_text(frame),
        win_rates: lambda: csv_text(rates.rename_axis("name").reset_index()),
        differences: lambda: csv_text(result.differences()),
        comparisons: lambda: csv_text(columns.to_table()),
        report: lambda: board(title, frame, found, rates, level=confidence),
    }
    screen.deliver(
        lambda: "\n".join(
            [
                words.aligned(words.rows_of(frame, confidence, fit=result.plain)),
                *sentences,
                "\nShare of comparisons won by the row's system:",
                words.aligned(words.matrix(rates)),
                *(
                    ["\nWin rates among people:", words.aligned(words.of_people(beside))]
                    if beside is not None
                    else []
                ),
                *([f"\nBy {by}:", words.aligned(words.by_group(groups))] if by else []),
            ]
        ),
        (lambda: _everything(result, found, verdicts, beside, partial=stop is not None))
        if as_json
        else None,
        {path: content for path, content in files.items() if path is not None},
    )
    if stop is not None and stop.kind == "batch":
        by_file.finish(kept)
    exits.stopped(stop)
    exits.gated(verdicts)


def _everything(
    result: Leaderboard,
    found: Found,
    verdicts: Sequence[gate.Gate],
    people: Any,
    *,
    partial: bool,
) -> dict[str, Any]:
    """The leaderboard for a program, as the help says."""
    from judging.practice.sentences import as_data

    effect = result.equal and result.equal.covariate
    return {
        "partial": partial,
        "findings": as_data([*found.verdict, *found.more]),
        "notes": found.sentences("system", "comparison"),
        "comparisons": len(result.comparisons),
        "bias": result.fit.bias,
        "errors": result.errors,
        "length": effect and effect.size,
        "requirements": [{"state": one.state, "p": one.p, "more": one.more} for one in verdicts],
        "systems": result.to_frame().to_dict("records"),
        "win_rates": result.win_rates().to_dict("index"),
        "differences": result.differences().to_dict("records"),
        "people": None if people is None else people.to_dict("records"),
        "groups": result.groups().to_dict("records"),
    }
