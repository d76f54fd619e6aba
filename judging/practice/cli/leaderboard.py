"""`judging leaderboard`: systems ranked by their answers to the same prompts."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from judging.errors import JudgeError
from judging.practice.cli import batches, exits, opening, screen
from judging.practice.cli import config as cfg
from judging.practice.cli import options as o
from judging.practice.cli.exits import SaidError, Status
from judging.practice.cli.fit import COMPARED
from judging.practice.ranking.settings import ASKED, Asking, Fitting

if TYPE_CHECKING:
    from judging.practice.board import Leaderboard, gate
    from judging.practice.ranking.findings import Found

ASKING = "orders rounds offline unanswered retry_refused limit_calls limit_tokens price"
ANSWERED = {
    "system": "who answered",
    "prompt": "what was answered",
    "answer": "the answers",
}
COLUMNS = {**ANSWERED, **COMPARED}


@o.app.command(
    epilog="With --json, standard output is one object: partial, findings (a list: kind, and its "
    "values), notes (the same in sentences), comparisons, "
    "bias, errors (vote, pair, prompt or decision), length (the effect, in logits), requirements "
    "(state, p, more), systems (the rows of --out), win_rates (the row's system against the "
    f"column's) and differences of every two systems. {o.DRY}"
)
@o.takes(
    phrasing="wording",
    calling="dry_run store quiet verbose judge_option batch seed",
    asking=ASKING,
    fitting="prior errors level",
)
def leaderboard(
    tables: Annotated[
        list[Path],
        typer.Argument(
            help="With --judge, a table of answers: system, prompt and answer. Without --judge, "
            "comparisons that exist, as for `judging fit`, optionally with a prompt, and with "
            "lengths or texts. Several are taken together.",
            metavar="TABLE",
        ),
    ],
    *,
    judge: Annotated[
        str | None,
        o.opt(f"The judge that compares the answers: {o.FORMS}", "--judge", metavar="JUDGE"),
    ] = None,
    attribute: Annotated[
        str, o.opt('What the better answer is: "more helpful".', metavar="WORDS")
    ] = "better",
    phrasing: o.Phrasing,
    budget: Annotated[
        str, o.opt("The most comparisons: 100x (100 per system), 500 or all.", panel=ASKED)
    ] = "100x",
    asking: Asking,
    calling: o.Calling,
    reading: o.Reading,
    column: Annotated[list[str], o.columns(COLUMNS)] = [],  # noqa: B006
    reference: Annotated[
        str | None,
        o.opt(
            "Show each system's win rate against this one, with its standard error.",
            metavar="SYSTEM",
        ),
    ] = None,
    length_control: Annotated[
        bool,
        o.opt(
            "Show scores at equal answer lengths beside the ranking, by alpaca_eval's model.",
            o.SET + "length-control",
        ),
    ] = False,
    require: Annotated[
        list[str],
        o.opt(
            f"Let the exit status tell whether this holds: 0 if it does, {Status.UNMET:d} if it "
            f"does not, {Status.PARTIAL:d} if that cannot be decided yet. For example "
            '"new >= old" or, with a margin of the win rate, "new >= old - 2%". May be repeated.',
            metavar="RULE",
        ),
    ] = [],  # noqa: B006
    sure: Annotated[
        float,
        o.opt("How sure a requirement must be to hold, or not to hold.", o.SET + "sure"),
    ] = 0.95,
    fitting: Fitting,
    files: o.Files,
    config: cfg.Config = None,
) -> None:
    """Rank systems by their answers to the same prompts.

    The ranking takes the comparisons as they are; --set length-control adds the scores that
    answers of equal length would have.
    """
    from judging.judges.asking import stored_judge
    from judging.judges.spending import RoundWrittenError
    from judging.practice.board import Tournament, gate, of_columns, read_answers
    from judging.practice.board.errors import require_prompts
    from judging.practice.ranking import words
    from judging.practice.ranking.method import Method
    from judging.practice.ranking.report import board
    from judging.practice.reading.forms import UnnamedError, read
    from judging.practice.reading.tables import read_tables
    from judging.practice.sentences import say_all
    from judging.quoting import csv_text
    from poe.errors import ComparisonError

    offline, dry_run, store = asking.offline, calling.dry_run, calling.store
    confidence, errors = fitting.level, fitting.errors
    names = o.named(column, COLUMNS)
    by_file = batches.Batches(calling.batch, store, forbidden=offline or asking.limited)
    asking = by_file.asked_in(asking)
    inputs = [*tables, *([store] if judge else [])]
    screen.require_writable(files.report, files.out, files.comparisons, inputs=inputs)
    with screen.busy(f"reading {screen.named(tables)}"):
        rows = read_tables(tables, **reading.file)
    stop, left, stopped = None, math.inf, None
    asked: Tournament | None = None
    if judge is None:
        if offline or dry_run:
            raise JudgeError(
                "--dry-run and --offline are for a judge, and without --judge nothing is asked"
            )
        try:
            own = {name: names[name] for name in COMPARED}
            columns = read(rows, **own, **reading.words)
        except UnnamedError as error:
            raise ComparisonError(f"{error}; answers that nobody compared need --judge") from None
        columns = replace(columns, notes=(*rows.attrs["notes"], *columns.notes))
        wanted = _wanted(require, reference, list(dict.fromkeys([*columns.first, *columns.second])))
    else:
        answers = read_answers(rows, **{name: names[name] for name in ANSWERED})
        require_prompts(errors, len(answers.prompts))
        wanted = _wanted(require, reference, answers.systems)
        calls = answers.calls(budget, both_orders=asking.orders != "one")
        if not offline:
            opened = opening.open_judge(judge, calling.judge_option, asking)
        with opening.open_store(store, dry_run=dry_run, offline=offline) as kept:
            reader = stored_judge(kept, judge) if offline else by_file.reader(opened)
            if asking.retry_refused and not (offline or dry_run):
                kept.forget_refused(reader)
            asked = Tournament(
                answers,
                reader,
                attribute,
                store=kept,
                asking=asking,
                progress=not calling.quiet,
                seed=calling.seed,
                wording=phrasing.wording,
            )
            known = asked.asked
            new = min(max(calls - known, 0), int(asked.possible.sum()))
            if dry_run:
                row = opening.estimate(
                    judge,
                    reader,
                    kept,
                    asked.sample(new),
                    calls=new,
                    stored=known,
                    price=asking.price,
                )
                screen.print_estimates([row], store, as_json=files.as_json)
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
            fitting=fitting,
            left=left,
            stopped=stopped,
        )
        frame, rates = result.to_frame(), result.win_rates()
        verdicts = [gate.check(result, one, sure) for one in wanted]
        found = result.findings()
        found.more[:0] = verdicts

    title = (
        f"{len(frame)} systems ranked: {attribute}" if judge else f"Ranked: {screen.named(tables)}"
    )
    settings = {
        "expert": words.expert_of(result.plain),
        "prior": "as needed" if fitting.prior is None else fitting.prior,
        "intervals": f"{100 * confidence:g}%, per {result.errors}",
        "length control": "yes" if length_control else "no",
    }
    if asked is not None:
        settings |= {"attribute": attribute, "orders": asking.orders, "seed": calling.seed}
    method = Method(
        settings=settings,
        command=screen.typed(),
        judge=None if asked is None else asked.judge,
        prompt=None if asked is None else asked.prompt,
    )
    written: dict[Path | None, Callable[[], str]] = {
        files.out: lambda: csv_text(frame),
        files.comparisons: lambda: csv_text(columns.to_table()),
        files.report: lambda: board(title, frame, found, rates, level=confidence, method=method),
    }

    def text() -> str:
        shown = [words.aligned(words.rows_of(frame, confidence, fit=result.plain))]
        if not calling.verbose:
            shown += say_all(verdicts, "system", "comparison")
        shown += words.of_a_board(
            found, "system", partial=stop is not None, verbose=calling.verbose
        )
        if calling.verbose:
            head = "Share of comparisons won by the row's system, as counted (above: as fitted):"
            shown += [f"\n{head}", words.aligned(words.matrix(rates))]
        return "\n".join(shown)

    screen.deliver(
        text,
        (lambda: _everything(result, found, verdicts, partial=stop is not None))
        if files.as_json
        else None,
        {path: content for path, content in written.items() if path is not None},
    )
    if stop is not None and stop.kind == "batch":
        by_file.finish(kept)
    exits.stopped(stop)
    exits.gated(verdicts)


def _wanted(
    require: Sequence[str], reference: str | None, systems: Sequence[Any]
) -> list[gate.Requirement]:
    """The requirements; one that is none, or no system, is a mistake on the command line."""
    from judging.practice.board import gate
    from judging.practice.board.board import require_system

    try:
        require_system(reference, systems)
        return [gate.parse(text, systems) for text in require]
    except ValueError as error:
        print(f"judging: {error}", file=sys.stderr)
        raise SaidError(Status.MISUSED) from None


def _everything(
    result: Leaderboard,
    found: Found,
    verdicts: Sequence[gate.Gate],
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
    }
