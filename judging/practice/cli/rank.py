"""`judging rank`: the user's own texts, put to a judge."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from judging.practice.cli import batches, exits, opening, screen
from judging.practice.cli import config as cfg
from judging.practice.cli import options as o
from judging.practice.ranking.settings import ASKED, Asking, Fitting

if TYPE_CHECKING:
    import pandas as pd

    from judging.judges import Question, Reader, Store
    from judging.practice.ranking.rank import Job
    from judging.practice.ranking.ranking import Ranking

COLUMNS = {
    "text": "the texts",
    "id": "what they are called",
    "context": "what they answer to",
    "score": "people's scores",
}
MADE_OF = (
    "With --json, standard output is one object: calls, from_store, tokens, rankings (a list: "
    "attribute, judge, context, partial, stopped_because, comparisons, bias, first_rate (how "
    "often the first position won), refused, left_out, findings (a list: kind, and its values; "
    "Advice has state, more and labels, Agrees and Correlation what people say), trust (what their "
    "labels are worth: sharpness, scale), notes (sentences) and texts (the rows of "
    "--out)) and together (the rankings of several judges as one: attribute, context, findings, "
    f"judges, texts). {o.DRY}"
)


@o.app.command(
    epilog="The intervals take the judge's answers as given: they say how far the ranking could "
    f"move if this judge were asked without end, not how well it agrees with people. {MADE_OF}"
)
@o.takes()
def rank(
    texts: Annotated[
        Path,
        typer.Argument(
            help="A folder with a text a file (.txt, .md), or a table (CSV, TSV, JSON, JSONL, "
            "Parquet or xlsx) with a column text, and optionally id, context (what the text "
            "answers to; each context is ranked by itself) and score (given by people)."
        ),
    ],
    attribute: Annotated[
        list[str],
        o.opt('What the better text is: "more persuasive"; may be repeated.', metavar="WORDS"),
    ],
    judge: Annotated[
        list[str],
        o.opt(f"The judge: {o.FORMS} May be repeated.", "--judge", metavar="JUDGE"),
    ],
    *,
    phrasing: o.Phrasing,
    budget: Annotated[
        str,
        o.opt(
            "The most comparisons in the whole run, including those in the store: 10x (ten per "
            "text), 500 (shared by contexts, attributes and judges in proportion to their texts) "
            "or all. Texts that are new to the store get their share in any case.",
            panel=ASKED,
        ),
    ] = "10x",
    until_top: Annotated[
        int | None,
        o.opt(
            "Stop before the budget is spent, as soon as the K best texts are known.",
            panel=ASKED,
            min=1,
            metavar="K",
        ),
    ] = None,
    asking: Asking,
    calling: o.Calling,
    reading: o.Reading,
    fitting: Fitting,
    column: Annotated[list[str], o.columns(COLUMNS)] = [],  # noqa: B006
    files: o.Files,
    people: o.PeopleFile = None,
    config: cfg.Config = None,
) -> None:
    """Rank your own texts by asking a judge to compare two at a time, and get a report."""
    from judging import judges
    from judging.judges.spending import RoundWrittenError
    from judging.practice.ranking.rank import jobs, run, with_people
    from judging.practice.ranking.report import report as page
    from judging.practice.ranking.words import in_text
    from judging.practice.reading.texts import read_texts
    from judging.practice.trust import read_people
    from poe.choose.stopping import top_known

    for name in [] if asking.offline else judge:
        judges.check_name(name)
    until = None if until_top is None else top_known(until_top, fitting.level)
    more = [] if people is None else [people]
    screen.require_writable(
        files.report, files.out, files.comparisons, inputs=[texts, calling.store, *more]
    )
    labels = read_people(people, **reading.words) if people else None
    by_file = batches.Batches(
        calling.batch,
        calling.store,
        forbidden=asking.offline or asking.limited,
        judges=len(set(judge)),
    )
    asking = by_file.asked_in(asking)
    if until_top is not None and fitting.top == Fitting().top:
        fitting = replace(fitting, top=until_top)
    names = {f"{name}_column": given for name, given in o.named(column, COLUMNS).items()}
    with screen.busy(f"reading {texts}"):
        own = read_texts(texts, **names, **reading.file)
        todo = jobs(
            own,
            list(dict.fromkeys(judge)),
            list(dict.fromkeys(attribute)),
            budget=budget,
            both_orders=asking.both_orders,
            **vars(phrasing),
        )
    for job in todo:
        _check_k(job, texts, until_top)
        _check_errors(job, texts, fitting)
    several, options = len(set(judge)) > 1, calling.judge_option
    ready = {} if asking.offline else opening.open_first(judge, options)
    with opening.open_store(
        calling.store, several=several, dry_run=calling.dry_run, offline=asking.offline
    ) as kept:
        if calling.dry_run:
            rows = _estimates(todo, ready, options, kept, asking.price)
            screen.print_estimates(rows, calling.store, as_json=files.as_json)
            return
        try:
            rankings, stop = run(
                todo,
                kept,
                until=until,
                asking=asking,
                fitting=fitting,
                seed=calling.seed,
                open=lambda name: by_file.reader(
                    ready.pop(name) if name in ready else opening.open_judge(name, options)
                ),
                progress=not calling.quiet,
            )
        except RoundWrittenError:  # the first, before there is anything to rank
            by_file.finish(kept)
        if labels is not None:
            rankings = with_people(rankings, labels, str(people))

        def text() -> str:
            with screen.busy("working out intervals and chances"):
                return in_text(rankings, verbose=calling.verbose)

        written: dict[Path | None, Callable[[], str]] = {
            files.out: lambda: _together(rankings, lambda one: one.to_frame()),
            files.comparisons: lambda: _together(rankings, lambda one: one.answers()),
            files.report: lambda: page(
                rankings,
                attribute=" and ".join(dict.fromkeys(attribute)),
                command=screen.typed(),
                thing=phrasing.thing,
            ),
        }
        screen.deliver(
            text,
            (lambda: _everything(rankings)) if files.as_json else None,
            {path: content for path, content in written.items() if path is not None},
        )
        if stop is not None and stop.kind == "interrupted":
            raise KeyboardInterrupt  # the store says what it kept
        if stop is not None and stop.kind == "batch":
            by_file.finish(kept)
    exits.stopped(stop)


def _check_k(job: Job, texts: Path, until_top: int | None) -> None:
    """Refuse a rule that holds before anything is asked of so few texts."""
    n, where = len(job.texts), f"{texts}: {job.name}".rstrip(": ")
    if until_top is not None and until_top > n - 1:
        raise ValueError(
            f"{where}: --until-top {until_top} says nothing of {n} different texts; at most {n - 1}"
        )


def _check_errors(job: Job, texts: Path, fitting: Fitting) -> None:
    """Refuse a budget that would be paid for scores without errors."""
    n, least = len(job.texts), fitting.least(len(job.texts))
    where = f"{texts}: {job.name}".rstrip(": ")
    if job.calls < least:
        enough = f"give --budget {least} or more, or take" if least <= n * (n - 1) else "take"
        raise ValueError(
            f"{where}: the expert {fitting.expert} tells how sure it is from what scores leave of "
            f"the answers, and {job.calls:,} answers about {n:,} texts leave nothing; {enough} "
            "another expert"
        )


def _estimates(
    todo: Sequence[Job],
    ready: Mapping[str, Reader],
    settings: Sequence[str],
    store: Store,
    price: tuple[float, float] | None,
) -> list[dict[str, Any]]:
    """One row per judge: calls at most, what is stored, and what so many calls would take."""
    from judging.practice.ranking.rounds import calls_left
    from poe.choose.designs import regular

    rows = []
    for name, of_one_judge in groupby(todo, key=lambda job: str(job.judge)):
        reader = ready.get(name) or opening.open_judge(name, settings)
        sample: list[Question] = []
        calls = stored = 0
        answered = cache(partial(store.answered, reader))  # one look for all contexts
        for job in of_one_judge:
            judged, n = job.judged(reader, store, answered=answered(job.prompt)), len(job.texts)
            there = judged.stored()
            left = calls_left(n, there, job.calls)
            calls, stored = calls + left, stored + len(there)
            sample += judged.questions(regular(n, min(left, n * (n - 1) // 2), seed=0))
        rows.append(
            opening.estimate(name, reader, store, sample, calls=calls, stored=stored, price=price)
        )
    return rows


def _together(rankings: Sequence[Ranking], part: Callable[[Ranking], pd.DataFrame]) -> str:
    """One CSV of all rankings; columns say which where there are several."""
    import pandas as pd

    from judging.practice.ranking.ranking import apart
    from judging.quoting import csv_text

    return csv_text(pd.concat([part(one).assign(**apart(one, rankings)) for one in rankings]))


def _everything(rankings: Sequence[Ranking]) -> dict[str, Any]:
    """The rankings for a program, as the help says."""
    from judging.practice.ranking.findings import cost, findings
    from judging.practice.ranking.ranking import judged_of
    from judging.practice.ranking.together import together
    from judging.practice.sentences import as_data, say_all

    rows = []
    for one in rankings:
        found = findings(one)
        rows.append(
            {
                "attribute": one.attribute,
                "judge": dict(judged_of(one).judge.specification),
                "context": one.name or None,
                "partial": one.partial,
                "stopped_because": one.stopped_because,
                "comparisons": len(one.comparisons),
                "bias": one.fit.bias,
                "first_rate": one.history["rate"].iloc[-1],
                "refused": one.refused,
                "left_out": one.left_out,
                "findings": as_data([*found.verdict, *found.more]),
                "trust": as_data(one.trust),
                "notes": say_all(found.notes),
                "texts": one.to_frame().to_dict("records"),
            }
        )
    joint = [
        {
            "attribute": one.attribute,
            "context": one.name or None,
            "findings": as_data(one.findings()),
            "judges": one.reliability().to_dict("records"),
            "texts": [] if one.fit is None else one.to_frame().to_dict("records"),
        }
        for one in together(rankings)
    ]
    took = cost(rankings)
    return {
        "calls": took.new,
        "from_store": took.stored,
        "tokens": took.read,
        "rankings": rows,
        "together": joint,
    }
