"""`poe rank`: the user's own texts, put to a judge."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Sequence
from functools import cache, partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from poe.cli import options as o
from poe.errors import JudgeError

if TYPE_CHECKING:
    import pandas as pd

    from poe.judges import Store
    from poe.ranking import Job
    from poe.rankings import Ranking
    from poe.stopping import StopRule

MADE_OF = (
    "With --json, standard output is one object: calls, from_store, tokens, and rankings, a list "
    "with attribute, judge, context, partial, stopped_because, comparisons, bias, first_rate (how "
    "often the first position won), agreement (with people's scores: spearman, pearson, texts), "
    f"notes, and texts, whose rows are those of --out. {o.ENDS}"
)


@o.app.command(
    epilog="The intervals take the judge's answers as given: they say how far the ranking could "
    f"move if this judge were asked more, not how well it agrees with people. {MADE_OF}"
)
def rank(
    texts: Annotated[
        Path,
        typer.Argument(
            help="A table (CSV, TSV, JSON, JSONL, Parquet, xlsx) with the column text, and if you "
            "have them id, context (what the texts answer to; each context is ranked by itself) "
            "and score (by people)."
        ),
    ],
    attribute: Annotated[
        list[str], o.opt('What wins, "more persuasive"; may be repeated.', metavar="WORDS")
    ],
    judge: Annotated[list[str], o.opt(f"{o.FORMS} May be repeated.", "--judge", metavar="JUDGE")],
    thing: Annotated[str, o.opt('What they are, "essay".')] = "text",
    context_name: Annotated[str, o.opt("How the prompt heads a context.")] = "Context",
    dry_run: o.DryRun = False,
    offline: o.Offline = False,
    budget: Annotated[
        str,
        o.opt(
            "Comparisons at most in the whole run, those in the store counted: 10x (ten a text), "
            "500 (shared by contexts, attributes and judges in proportion to their texts) or all. "
            "Texts new to the store have their share in any case.",
            panel=o.ASKED,
        ),
    ] = "10x",
    rule: Annotated[
        Literal["adaptive", "greedy", "random"],
        o.opt("The most telling given the answers, whatever the answers, or any.", panel=o.ASKED),
    ] = "adaptive",
    orders: o.Orders = "one",
    seed: o.Seed = 0,
    until_top: Annotated[
        o.Count, o.opt("The K best are known.", panel=o.STOP, min=1, metavar="K")
    ] = None,
    until_ranks_within: Annotated[
        o.Count, o.opt("Every rank is known to R ranks.", panel=o.STOP, min=0, metavar="R")
    ] = None,
    until_error: Annotated[
        float | None, o.opt("Every standard error is S or less.", panel=o.STOP, metavar="S")
    ] = None,
    expert: o.Expert = "bradley-terry",
    prior: o.Prior = None,
    confidence: o.Confidence = 0.95,
    intervals: Annotated[
        Literal["paired", "scatter", "curvature"],
        o.opt(
            "From how far answers scatter around the scores, those about one pair taken together "
            "or not, or as if each were one decision.",
            panel=o.SCORES,
        ),
    ] = "paired",
    top: Annotated[
        o.Count, o.opt("Show P(among the K best), 3 of them.", panel=o.SCORES, min=1, metavar="K")
    ] = None,
    report: o.Report = None,
    out: o.Out = None,
    comparisons: o.Comparisons = None,
    compare_with: Annotated[
        Path | None, o.opt("An earlier --out: say what moved beyond its errors.", panel=o.FILES)
    ] = None,
    as_json: o.AsJson = False,
    store: o.StorePath = o.STORE,
    several_judges: o.SeveralJudges = False,
    text_column: Annotated[str | None, o.column("The texts.")] = None,
    id_column: Annotated[str | None, o.column("Their names.")] = None,
    context_column: Annotated[str | None, o.column("What they answer to.")] = None,
    score_column: Annotated[str | None, o.column("What people gave them.")] = None,
    encoding: o.Encoding = None,
    quiet: o.Quiet = False,
    judge_option: o.JudgeOptions = [],  # noqa: B006
    limit_calls: o.LimitCalls = None,
    limit_tokens: o.LimitTokens = None,
    price_input: o.PriceInput = None,
    price_output: o.PriceOutput = None,
    undecided: o.Undecided = "stop",
) -> None:
    """Rank your own texts by asking a judge to compare two at a time, and get a report."""
    from poe import judges
    from poe.findings import in_text
    from poe.ranking import jobs, run
    from poe.rankings import read_ranking
    from poe.report import report as page
    from poe.result import require_level
    from poe.rounds import CTRL_C

    for name in [] if offline else judge:
        judges.check_name(name)
    require_level(confidence)
    rules = _rules(until_top, until_ranks_within, until_error, confidence)
    earlier = [] if compare_with is None else [compare_with]
    o.require_writable(report, out, comparisons, inputs=[texts, store, *earlier])
    before = read_ranking(compare_with) if compare_with else None
    both, price = orders == "both", o.prices(price_input, price_output)
    with o.busy(f"reading {texts}"):
        todo = jobs(
            texts,
            list(dict.fromkeys(judge)),
            list(dict.fromkeys(attribute)),
            budget=budget,
            both_orders=both,
            thing=thing,
            context_name=context_name,
            text_column=text_column,
            id_column=id_column,
            context_column=context_column,
            score_column=score_column,
            encoding=encoding,
        )
    if compare_with and len(todo) > 1:
        raise JudgeError(
            f"--compare-with takes one ranking, and these are {len(todo)}: one attribute, judge "
            "and context at a time"
        )
    for job in todo:
        _check_k(job, texts, until_top, until_ranks_within)
    several = several_judges or len(set(judge)) > 1
    with o.open_store(store, several=several, dry_run=dry_run, offline=offline) as kept_answers:
        if dry_run:
            rows = _estimates(todo, judge_option, kept_answers, price)
            o.print_estimates(rows, store, as_json=as_json)
            return
        found, stop = run(
            todo,
            kept_answers,
            open=lambda name: o.open_judge(name, judge_option),
            offline=offline,
            undecided=undecided,
            limit_calls=limit_calls,
            limit_tokens=limit_tokens,
            price=price,
            progress=not quiet,
            rule=rule,
            both_orders=both,
            until=rules or None,
            expert=expert,
            prior=prior,
            covariance=intervals,
            level=confidence,
            top=top or until_top or 3,
            seed=seed,
        )
        if hasattr(sys.stdout, "reconfigure"):  # a terminal may not know every letter of an id
            sys.stdout.reconfigure(errors="replace")
        with o.busy("working out intervals and chances"):
            shown = "" if as_json else in_text(found)
        if as_json:
            o.print_json(_everything(found))
        else:
            print(shown)
            if before is not None:
                print(*found[0].compare(before).sentences())
        if out:
            o.write(out, _together(found, lambda one: one.to_frame()), quiet=as_json)
        if comparisons:
            o.write(comparisons, _together(found, lambda one: one.answers()), quiet=as_json)
        if report:
            with o.busy("writing the report"):
                html = page(
                    found,
                    attribute=" and ".join(dict.fromkeys(attribute)),
                    command=shlex.join(["poe", *sys.argv[1:]]),
                    thing=thing,
                    before=before,
                )
            o.write(report, html, quiet=as_json)
        if stop.startswith(CTRL_C):
            raise KeyboardInterrupt
        if stop:
            raise typer.Exit(3)


def _rules(
    top: int | None, within: int | None, error: float | None, level: float
) -> list[StopRule]:
    from poe.stopping import ranks_within, se_below, top_known

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


def _estimates(
    todo: Sequence[Job],
    settings: Sequence[str],
    store: Store,
    price: tuple[float, float] | None,
) -> list[dict[str, Any]]:
    """A row for each judge: calls at most, what is stored, and what so many calls would take."""
    from poe.designs import regular
    from poe.rounds import calls_left

    rows = []
    for name, of_one_judge in groupby(todo, key=lambda job: str(job.judge)):
        reader, sample, calls, stored = o.open_judge(name, settings), [], 0, 0
        answered = cache(partial(store.answered, reader))  # one look for all contexts
        for job in of_one_judge:
            judged, n = job.judged(reader, store, answered=answered(job.prompt)), len(job.texts)
            there = judged.stored()
            left = calls_left(n, there, job.calls)
            calls, stored = calls + left, stored + len(there)
            sample += judged.questions(regular(n, min(left, n * (n - 1) // 2), seed=0))
        rows.append(
            o.estimate(name, reader, store, sample, calls=calls, stored=stored, price=price)
        )
    return rows


def _together(found: Sequence[Ranking], part: Callable[[Ranking], pd.DataFrame]) -> str:
    """One CSV of all rankings; columns say which where there are several."""
    import pandas as pd

    from poe.rankings import apart
    from poe.tables import csv_text

    return csv_text(pd.concat([part(one).assign(**apart(one, found)) for one in found]))


def _everything(found: Sequence[Ranking]) -> dict[str, Any]:
    """The rankings for a program, see MADE_OF."""
    from poe.findings import judged_of, totals

    calls, new, tokens, _ = totals(found)
    rankings = []
    for one in found:
        agreement = one.agreement()
        rankings.append(
            {
                "attribute": one.attribute,
                "judge": dict(judged_of(one).judge.specification),
                "context": one.name or None,
                "partial": one.partial,
                "stopped_because": one.stopped_because,
                "comparisons": len(one.comparisons),
                "bias": one.fit.bias,
                "first_rate": one.history["rate"].iloc[-1],
                "agreement": agreement
                and dict(zip(("spearman", "pearson", "texts"), agreement, strict=True)),
                "notes": one.notes,
                "texts": one.to_frame().to_dict("records"),
            }
        )
    return {"calls": new, "from_store": calls - new, "tokens": tokens, "rankings": rankings}
