"""`poe rank`: the user's own texts, put to a judge."""

from __future__ import annotations

import datetime
import json
import math
import shlex
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from poe.cli.options import (
    ASKED,
    FILES,
    FORMS,
    SCORES,
    STOP,
    STORE,
    Column,
    Count,
    DryRun,
    Encoding,
    JudgeOptions,
    LimitCalls,
    LimitTokens,
    Orders,
    PriceInput,
    PriceOutput,
    Quiet,
    Seed,
    SeveralJudges,
    StorePath,
    Undecided,
    app,
    duration,
    open_judge,
    open_store,
    opt,
    require_writable,
    stopped,
    write,
)
from poe.errors import JudgeError

if TYPE_CHECKING:
    import pandas as pd

    from poe.judges import Prompt, Reader, Store
    from poe.ranking import Job
    from poe.rankings import Ranking
    from poe.stopping import StopRule

MADE_OF = (
    "With --json, standard output is one object: calls, from_store, tokens, and rankings, a list "
    "with attribute, judge, context, partial, stopped_because, comparisons, bias, first_rate (how "
    "often the first position won), agreement (with people's scores: spearman, pearson, texts), "
    "notes, and texts, whose rows are those of --out. With --dry-run: a list of judges with calls "
    "(at most), stored, tokens, seconds, cost. Exit status 3: a limit made the ranking partial."
)


@app.command(
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
        list[str], opt('What wins, "more persuasive"; may be repeated.', metavar="WORDS")
    ],
    judge: Annotated[list[str], opt(f"{FORMS} May be repeated.", "--judge", metavar="JUDGE")],
    thing: Annotated[str, opt('What they are, "essay".')] = "text",
    context_name: Annotated[str, opt("How the prompt heads a context.")] = "Context",
    dry_run: DryRun = False,
    offline: Annotated[
        bool, opt("Rank by the answers in the store; the judge is not opened.", "--offline")
    ] = False,
    budget: Annotated[
        str,
        opt(
            "Comparisons at most in the whole run, those in the store counted: 10x (ten a text), "
            "500 (shared by contexts, attributes and judges in proportion to their texts) or all. "
            "Texts new to the store have their share in any case.",
            panel=ASKED,
        ),
    ] = "10x",
    rule: Annotated[
        Literal["adaptive", "greedy", "random"],
        opt("The most telling given the answers, whatever the answers, or any.", panel=ASKED),
    ] = "adaptive",
    orders: Annotated[
        Orders, opt("A pair in one random order, its bias estimated, or in both.", panel=ASKED)
    ] = "one",
    seed: Seed = 0,
    until_top: Annotated[
        Count, opt("The K best are known.", panel=STOP, min=1, metavar="K")
    ] = None,
    until_ranks_within: Annotated[
        Count, opt("Every rank is known to R ranks.", panel=STOP, min=0, metavar="R")
    ] = None,
    until_error: Annotated[
        float | None, opt("Every standard error is S or less.", panel=STOP, metavar="S")
    ] = None,
    expert: Annotated[
        Literal["bradley-terry", "gaussian", "laplacian"],
        opt("What an answer says of two scores.", panel=SCORES),
    ] = "bradley-terry",
    prior: Annotated[
        float | None,
        opt(
            "Wins added to every pair. By default none, or where decisions leave no doubt one win "
            "and one loss a text.",
            panel=SCORES,
            show_default=False,
        ),
    ] = None,
    confidence: Annotated[float, opt("Of intervals and stopping.", panel=SCORES)] = 0.95,
    intervals: Annotated[
        Literal["paired", "scatter", "curvature"],
        opt(
            "From how far answers scatter around the scores, those about one pair taken together "
            "or not, or as if each were one decision.",
            panel=SCORES,
        ),
    ] = "paired",
    top: Annotated[
        Count, opt("Show P(among the K best), 3 of them.", panel=SCORES, min=1, metavar="K")
    ] = None,
    report: Annotated[Path | None, opt("HTML report in one file.", panel=FILES)] = None,
    out: Annotated[Path | None, opt("Scores and intervals as CSV.", panel=FILES)] = None,
    comparisons: Annotated[Path | None, opt("Every comparison as CSV.", panel=FILES)] = None,
    compare_with: Annotated[
        Path | None, opt("An earlier --out: say what moved beyond its errors.", panel=FILES)
    ] = None,
    as_json: Annotated[
        bool, opt("Print one JSON object instead of tables.", "--json", panel=FILES)
    ] = False,
    store: StorePath = STORE,
    several_judges: SeveralJudges = False,
    text_column: Column = None,
    id_column: Column = None,
    context_column: Column = None,
    score_column: Column = None,
    encoding: Encoding = None,
    quiet: Quiet = False,
    judge_option: JudgeOptions = [],  # noqa: B006
    limit_calls: LimitCalls = None,
    limit_tokens: LimitTokens = None,
    price_input: PriceInput = None,
    price_output: PriceOutput = None,
    undecided: Undecided = "stop",
) -> None:
    """Rank your own texts by asking a judge to compare two at a time, and get a report."""
    from poe import judges
    from poe.changes import read_ranking
    from poe.ranking import CTRL_C, jobs, run
    from poe.report import in_text
    from poe.report import report as page

    for name in [] if offline else judge:
        judges.check_name(name)
    rules = _rules(until_top, until_ranks_within, until_error, confidence)
    earlier = [] if compare_with is None else [compare_with]
    require_writable(report, out, comparisons, inputs=[texts, store, *earlier])
    before = read_ranking(compare_with) if compare_with else None
    todo = jobs(
        texts,
        list(dict.fromkeys(judge)),
        list(dict.fromkeys(attribute)),
        budget=budget,
        both_orders=orders == "both",
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
        _check_k(len(job.texts), until_top, until_ranks_within, f"{texts}: {job.name}".rstrip(": "))
    price = None
    if price_input is not None or price_output is not None:
        price = (price_input or 0.0, price_output or 0.0)
    if offline and dry_run:
        raise JudgeError("--offline asks nothing, so a --dry-run of it has nothing to say")
    if offline and not store.is_file():
        raise JudgeError(f"there is no store {store}, so nothing can be ranked offline")
    several = several_judges or offline or len(set(judge)) > 1

    def opened(name: str) -> Reader:
        return open_judge(name, judge_option, None, None)

    with closing(open_store(store, several=several, dry_run=dry_run)) as kept_answers:
        if dry_run:
            _print_estimate(_estimate(todo, opened, kept_answers, price), store, as_json=as_json)
            return
        try:
            found, stop = run(
                todo,
                kept_answers,
                open=opened,
                offline=offline,
                undecided=undecided,
                limit_calls=limit_calls,
                limit_tokens=limit_tokens,
                price=price,
                progress=not quiet,
                rule=rule,
                both_orders=orders == "both",
                until=rules or None,
                batch=None,
                expert=expert,
                bias="fit",
                prior=prior,
                covariance=intervals,
                level=confidence,
                top=top or until_top or 3,
                seed=seed,
            )
        except KeyboardInterrupt:
            raise stopped(kept_answers) from None
        if hasattr(sys.stdout, "reconfigure"):  # a terminal may not know every letter of an id
            sys.stdout.reconfigure(errors="replace")
        print(_in_json(found) if as_json else in_text(found))
        if before is not None and not as_json:
            print(*found[0].compare(before).sentences())
        if out:
            write(out, _together(found, lambda one: one.to_frame()), quiet=as_json)
        if comparisons:
            write(comparisons, _together(found, lambda one: one.answers()), quiet=as_json)
        if report:
            made = datetime.date.today().isoformat()
            command = shlex.join(["poe", *sys.argv[1:]])
            asked = " and ".join(dict.fromkeys(attribute))
            html = page(
                found, attribute=asked, command=command, made=made, thing=thing, before=before
            )
            write(report, html, quiet=as_json)
        if stop.startswith(CTRL_C):
            raise stopped(kept_answers)
        if stop:
            raise typer.Exit(3)


def _rules(
    top: int | None, within: int | None, error: float | None, level: float
) -> list[StopRule]:
    from poe.stopping import ranks_within, se_below, top_known

    if not 0.0 < level < 1.0:
        raise ValueError(f"--confidence lies between 0 and 1, for example 0.95, not {level:g}")
    rules = [] if top is None else [top_known(top, level)]
    rules += [] if within is None else [ranks_within(within, level)]
    return rules + ([] if error is None else [se_below(error)])


def _check_k(n_texts: int, until_top: int | None, within: int | None, where: str) -> None:
    """Refuse a rule that holds before anything is asked of so few texts."""
    for name, k, most in (
        ("--until-top", until_top, n_texts - 1),
        ("--until-ranks-within", within, n_texts - 2),
    ):
        if k is not None and k > most:
            raise ValueError(
                f"{where}: {name} {k} says nothing of {n_texts} different texts; at most {most}"
            )


# What it would take ---------------------------------------------------------------------------


def _estimate(
    todo: Sequence[Job],
    opened: Callable[[str], Reader],
    store: Store,
    price: tuple[float, float] | None,
) -> list[dict[str, Any]]:
    """A row for each judge: calls at most, what is stored, and what so many calls would take."""
    from poe.designs import regular
    from poe.judges import planning
    from poe.rounds import calls_left

    rows, table = [], store.table()
    for name in dict.fromkeys(str(job.judge) for job in todo):
        reader, sample = opened(name), []
        known: dict[Prompt, Any] = {}
        calls = stored = 0
        for job in todo:
            if job.judge != name:
                continue
            if job.prompt not in known:
                known[job.prompt] = store.answered(reader, job.prompt)
            judged, n = job.judged(reader, store, answered=known[job.prompt]), len(job.texts)
            there = judged.stored()
            left = calls_left(n, there, job.calls)
            calls, stored = calls + left, stored + len(there)
            sample += judged.questions(regular(n, min(left, n * (n - 1) // 2), seed=0))
        same = [
            d for d, one in store.specifications().items() if one == store.specification(reader)
        ]
        cost = planning.cost(sample, reader, table[table["judge"].isin(same)])
        more = calls / max(len(sample), 1)
        row: dict[str, Any] = {
            "judge": name,
            "calls": calls,
            "stored": stored,
            "tokens": cost.tokens * more,
        }
        row |= {"tokens_by": cost.tokens_by, "seconds_by": cost.seconds_by}
        row["seconds"] = None if cost.seconds is None else cost.seconds * more
        if price is not None:
            written = planning.written(reader) * calls
            row["cost"] = planning.Price(*price).of(row["tokens"], written)
        rows.append(row)
    return rows


def _print_estimate(rows: Sequence[dict[str, Any]], store: Path, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(rows, indent=1))
        return
    for row in rows:
        who = f"{row['judge']}: " if len(rows) > 1 else ""
        print(f"{who}at most {row['calls']:,} calls; {row['stored']:,} answers are in {store}")
        if not row["calls"]:
            continue
        print(f"about {row['tokens']:,.0f} tokens ({row['tokens_by']})")
        if row["seconds"] is None:
            print("time unknown: a run with --limit-calls 100 measures it, and its answers stay")
        else:
            print(f"about {duration(row['seconds'])} ({row['seconds_by']})")
        if "cost" in row:
            print(f"about ${row['cost']:,.4f}, where an answer has no more tokens than it may")


# What came out --------------------------------------------------------------------------------


def _together(found: Sequence[Ranking], part: Callable[[Ranking], pd.DataFrame]) -> str:
    """One CSV of all rankings; columns say which where there are several."""
    import pandas as pd

    from poe.rankings import apart
    from poe.tables import csv_text

    tables = [part(one).assign(**apart(one, found)) for one in found]
    return csv_text(pd.concat(tables))


def _in_json(found: Sequence[Ranking]) -> str:
    """Everything, for a program; what is not a number is null."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {str(key): plain(one) for key, one in value.items()}
        if isinstance(value, (list, tuple)):
            return [plain(one) for one in value]
        value = value.item() if hasattr(value, "item") else value
        return None if isinstance(value, float) and not math.isfinite(value) else value

    rankings, new, tokens = [], 0, 0
    for one in found:
        judged, agreement = one.judged, one.agreement()
        assert judged is not None
        new, tokens = new + judged.new, tokens + sum(answer.tokens for answer in judged.answers)
        rankings.append(
            {
                "attribute": one.attribute,
                "judge": dict(judged.judge.specification),
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
    calls = sum(one["comparisons"] for one in rankings)
    whole = {"calls": new, "from_store": calls - new, "tokens": tokens, "rankings": rankings}
    return json.dumps(plain(whole), indent=1)
