"""`judging rank`: the user's own texts, put to a judge."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import cache, partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from judging.errors import JudgeError
from judging.practice.cli import batches, exits, opening, screen
from judging.practice.cli import config as cfg
from judging.practice.cli import options as o

if TYPE_CHECKING:
    import pandas as pd

    from judging.judges import Question, Reader, Store
    from judging.practice.ranking.rank import Job
    from judging.practice.ranking.ranking import Ranking
    from judging.practice.ranking.settings import Fitting
    from poe.choose.stopping import StopRule

MADE_OF = (
    "With --json, standard output is one object: calls, from_store, tokens, rankings (a list: "
    "attribute, judge, context, partial, stopped_because, comparisons, bias, first_rate (how "
    "often the first position won), refused, left_out, findings (a list: kind, and its values; "
    "Advice has state, more and labels, Agrees and Correlation what people say), trust (what their "
    "labels are worth: sharpness, scale), confirmation, notes (sentences) and texts (the rows of "
    "--out)) and together (the rankings of several judges as one: attribute, context, findings, "
    f"judges, texts). {o.DRY}"
)


@o.app.command(
    epilog="The intervals take the judge's answers as given: they say how far the ranking could "
    f"move if this judge were asked without end, not how well it agrees with people. {MADE_OF}"
)
def rank(
    ctx: typer.Context,
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
    thing: o.Thing = "text",
    context_name: o.ContextName = "Context",
    wording: o.Wording = None,
    dry_run: o.DryRun = False,
    offline: o.Offline = False,
    budget: Annotated[
        str,
        o.opt(
            "The most comparisons in the whole run, including those in the store: 10x (ten per "
            "text), 500 (shared by contexts, attributes and judges in proportion to their texts) "
            "or all. Texts that are new to the store get their share in any case.",
            panel=o.ASKED,
        ),
    ] = "10x",
    rule: Annotated[
        Literal["adaptive", "laplace", "reordering", "greedy", "random"],
        o.opt(
            "The comparisons that come next. adaptive: the most informative, given the answers so "
            "far once they say enough; laplace: given them from the first round on, fewer calls "
            "for a sharp judge, intervals too narrow for one that only decides or is noisy without "
            "being sharp; reordering: the pair whose order is least sure, intervals too narrow as "
            "well; greedy: the most informative before any answer; random.",
            panel=o.ASKED,
        ),
    ] = "adaptive",
    orders: Annotated[
        Literal["auto", "one", "both"],
        o.opt(
            "auto: find out from a few pairs in both orders whether the second order is worth its "
            "call; one: each pair in one random order; both: each pair in both.",
            panel=o.ASKED,
        ),
    ] = "auto",
    confirm: Annotated[
        bool,
        o.opt(
            "Keep calls for a last round of fresh questions, the best K (--top) against the next "
            "K, which alone say how sure the top is: they had no part in choosing.",
            panel=o.ASKED,
        ),
    ] = False,
    seed: o.Seed = 0,
    until_top: Annotated[
        o.Count, o.opt("The K best texts are known.", panel=o.STOP, min=1, metavar="K")
    ] = None,
    until_ranks_within: Annotated[
        o.Count,
        o.opt("Every rank is known to within R ranks.", panel=o.STOP, min=0, metavar="R"),
    ] = None,
    until_error: Annotated[
        float | None, o.opt("Every standard error is at most S.", panel=o.STOP, metavar="S")
    ] = None,
    expert: o.Expert = "bradley-terry",
    prior: o.Prior = None,
    confidence: o.Confidence = 0.95,
    intervals: Annotated[
        Literal["paired", "scatter", "curvature"],
        o.opt(
            "Where the width of intervals comes from. paired: how far the answers scatter around "
            "the scores, answers about one pair taken together; scatter: the same, each answer by "
            "itself; curvature: each answer counts as one decision.",
            panel=o.SCORES,
        ),
    ] = "paired",
    top: Annotated[
        o.Count,
        o.opt(
            "Show the probability of being among the K best; 3 by default.",
            panel=o.SCORES,
            min=1,
            metavar="K",
        ),
    ] = None,
    report: o.Report = None,
    out: o.Out = None,
    comparisons: o.Comparisons = None,
    compare_with: Annotated[
        Path | None,
        o.opt(
            "Compare with a file that an earlier --out wrote: which texts moved by more than "
            "the errors?",
            panel=o.FILES,
        ),
    ] = None,
    people: o.PeopleFile = None,
    as_json: o.AsJson = False,
    store: o.StorePath = o.STORE,
    several_judges: o.SeveralJudges = False,
    text_column: Annotated[str | None, o.column("The column of the texts.")] = None,
    id_column: Annotated[str | None, o.column("The column of their ids.")] = None,
    context_column: Annotated[str | None, o.column("The column of what they answer to.")] = None,
    score_column: Annotated[str | None, o.column("The column of people's scores.")] = None,
    encoding: o.Encoding = None,
    sheet: o.Sheet = None,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
    judge_option: o.JudgeOptions = [],  # noqa: B006
    batch: o.Batch = None,
    limit_calls: o.LimitCalls = None,
    limit_tokens: o.LimitTokens = None,
    price_input: o.PriceInput = None,
    price_output: o.PriceOutput = None,
    undecided: o.Undecided = "skip",
    on_refusal: o.OnRefusal = "skip",
    retry_refused: o.RetryRefused = False,
    config: cfg.Config = None,
    save_config: cfg.SaveConfig = None,
) -> None:
    """Rank your own texts by asking a judge to compare two at a time, and get a report."""
    from judging import judges
    from judging.judges.spending import RoundWrittenError
    from judging.practice.ranking.changes import read_ranking
    from judging.practice.ranking.rank import jobs, run, with_people
    from judging.practice.ranking.report import report as page
    from judging.practice.ranking.settings import Asking, Fitting
    from judging.practice.ranking.words import in_text
    from judging.practice.reading.texts import read_texts
    from judging.practice.sentences import say_all
    from judging.practice.trust import read_people
    from poe.result import require_level

    for name in [] if offline else judge:
        judges.check_name(name)
    require_level(confidence)
    rules = _rules(until_top, until_ranks_within, until_error, confidence)
    more = [path for path in (compare_with, people) if path is not None]
    screen.require_writable(report, out, comparisons, inputs=[texts, store, *more])
    labels = read_people(people) if people else None
    before = read_ranking(compare_with) if compare_with else None
    by_file = batches.Batches(batch, store, forbidden=offline or limit_calls or limit_tokens)
    asking = Asking(
        rounds=by_file.rounds,
        rule=rule,
        orders=orders,
        confirm=confirm,
        offline=offline,
        undecided=undecided,
        on_refusal=on_refusal,
        retry_refused=retry_refused,
        limit_calls=limit_calls,
        limit_tokens=limit_tokens,
        price=opening.prices(price_input, price_output),
    )
    fitting = Fitting(
        expert=expert,
        prior=prior,
        covariance=intervals,
        level=confidence,
        top=top or until_top or 3,
    )
    with screen.busy(f"reading {texts}"):
        own = read_texts(
            texts,
            text_column=text_column,
            id_column=id_column,
            context_column=context_column,
            score_column=score_column,
            encoding=encoding,
            sheet=sheet,
        )
        todo = jobs(
            own,
            list(dict.fromkeys(judge)),
            list(dict.fromkeys(attribute)),
            budget=budget,
            both_orders=asking.both_orders,
            thing=thing,
            context_name=context_name,
            wording=wording,
        )
    if compare_with and len(todo) > 1:
        raise JudgeError(
            f"--compare-with is for one ranking, and this run has {len(todo)}: give one attribute, "
            "one judge and the texts of one context"
        )
    for job in todo:
        _check_k(job, texts, until_top, until_ranks_within)
        _check_errors(job, texts, fitting)
    several = several_judges or len(set(judge)) > 1
    ready = opening.open_first(judge, judge_option, offline=offline, saving=save_config is not None)
    cfg.save(ctx, save_config)
    with opening.open_store(store, several=several, dry_run=dry_run, offline=offline) as kept:
        if dry_run:
            rows = _estimates(todo, ready, judge_option, kept, asking.price)
            screen.print_estimates(rows, store, as_json=as_json)
            return
        try:
            rankings, stop = run(
                todo,
                kept,
                until=rules or None,
                asking=asking,
                fitting=fitting,
                seed=seed,
                open=lambda name: by_file.reader(
                    ready.pop(name) if name in ready else opening.open_judge(name, judge_option)
                ),
                progress=not quiet,
            )
        except RoundWrittenError:  # the first, before there is anything to rank
            by_file.finish(kept)
        if labels is not None:
            rankings = with_people(rankings, labels, str(people))

        def text() -> str:
            moved = [] if before is None else say_all(rankings[0].compare(before).findings())
            with screen.busy("working out intervals and chances"):
                shown = in_text(rankings, verbose=verbose)
            return "\n".join([shown, *filter(None, [" ".join(moved)])])

        files: dict[Path | None, Callable[[], str]] = {
            out: lambda: _together(rankings, lambda one: one.to_frame()),
            comparisons: lambda: _together(rankings, lambda one: one.answers()),
            report: lambda: page(
                rankings,
                attribute=" and ".join(dict.fromkeys(attribute)),
                command=shlex.join(["judging", *sys.argv[1:]]),
                thing=thing,
                before=before,
            ),
        }
        screen.deliver(
            text,
            (lambda: _everything(rankings)) if as_json else None,
            {path: content for path, content in files.items() if path is not None},
        )
        if stop is not None and stop.kind == "interrupted":
            raise KeyboardInterrupt  # the store says what it kept
        if stop is not None and stop.kind == "batch":
            by_file.finish(kept)
    exits.stopped(stop)


def _rules(
    top: int | None, within: int | None, error: float | None, level: float
) -> list[StopRule]:
    from poe.choose.stopping import ranks_within, se_below, top_known

    rules = [] if top is None else [top_known(top, level)]
    rules += [] if within is None else [ranks_within(within, level)]
    return rules + ([] if error is None else [se_below(error)])


def _check_k(job: Job, texts: Path, until_top: int | None, within: int | None) -> None:
    """Refuse a rule that holds before anything is asked of so few texts."""
    n, where = len(job.texts), f"{texts}: {job.name}".rstrip(": ")
    for name, k, most in (
        ("--until-top", until_top, n - 1),
        ("--until-ranks-within", within, n - 2),
    ):
        if k is not None and k > most:
            raise ValueError(
                f"{where}: {name} {k} says nothing of {n} different texts; at most {most}"
            )


def _check_errors(job: Job, texts: Path, fitting: Fitting) -> None:
    """Refuse a budget that would be paid for scores without errors."""
    n, least = len(job.texts), fitting.least(len(job.texts))
    where = f"{texts}: {job.name}".rstrip(": ")
    if job.calls < least:
        enough = f"give --budget {least} or more, or take" if least <= n * (n - 1) else "take"
        raise ValueError(
            f"{where}: --expert {fitting.expert} tells how sure it is from what scores leave of "
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
                "confirmation": one.confirmation and asdict(one.confirmation),
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
