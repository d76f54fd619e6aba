"""`poe rank`: the user's own texts, put to a judge."""

from __future__ import annotations

import datetime
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
    SCORES,
    STOP,
    STORE,
    Column,
    Count,
    DryRun,
    Encoding,
    JudgeName,
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
from poe.errors import JudgeError

if TYPE_CHECKING:
    import pandas as pd

    from poe.judges import Question, Reader, Store
    from poe.rankings import Ranking
    from poe.stopping import StopRule


@app.command(
    epilog="The intervals take the judge's answers as given: they say how far the ranking could "
    "move if this judge were asked more, not how well it agrees with people."
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
    attribute: Annotated[str, opt('What wins, "more persuasive".', metavar="WORDS")],
    judge: JudgeName,
    thing: Annotated[str, opt('What they are, "essay".')] = "text",
    context_name: Annotated[str, opt("How the prompt heads a context.")] = "Context",
    dry_run: DryRun = False,
    budget: Annotated[
        str, opt("Calls at most in each context: 10x (ten a text), 500 or all.", panel=ASKED)
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
        Count, opt("Every rank is known to R ranks.", panel=STOP, metavar="R")
    ] = None,
    until_error: Annotated[
        float | None, opt("Every standard error is S or less.", panel=STOP, metavar="S")
    ] = None,
    expert: Annotated[
        Literal["bradley-terry", "gaussian", "laplacian"],
        opt("What an answer says of two scores.", panel=SCORES),
    ] = "bradley-terry",
    prior: Annotated[float, opt("Wins added to every pair, for decisions.", panel=SCORES)] = 0.0,
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
    undecided: Undecided = "stop",
) -> None:
    """Rank your own texts by asking a judge to compare two at a time, and get a report."""
    from poe import datasets, judges
    from poe.ranking import distinct, number_of_calls
    from poe.ranking import rank as rank_items
    from poe.report import in_text
    from poe.report import report as page

    judges.check_name(judge)
    rules = _rules(until_top, until_ranks_within, until_error, confidence)
    require_writable(report, out, comparisons)
    # Copies of a text are ranked once, which the table and the report say.
    own = datasets.read_texts(
        texts,
        text_column=text_column,
        id_column=id_column,
        context_column=context_column,
        score_column=score_column,
        encoding=encoding,
    )
    groups = own.groups()
    ready = []
    for group in groups:
        try:
            kept, copies = distinct(group.items)
            calls, _ = number_of_calls(budget, len(kept), both_orders=orders == "both")
            _check_k(len(kept), until_top, until_ranks_within)
        except (JudgeError, ValueError) as error:
            place = "" if group.context is None else f" ({group.context.id})"
            raise JudgeError(f"{texts}{place}: {error}") from None
        heading = None if group.context is None else context_name
        prompt = judges.prompts.for_attribute(attribute, thing=thing, context=heading)
        ready.append((group, kept, copies, calls, prompt))
    reader = open_judge(judge, judge_option, limit_calls, limit_tokens)
    with closing(open_store(store, several=several_judges, dry_run=dry_run)) as kept_answers:
        if dry_run:
            _estimate(ready, reader, kept_answers, store, seed)
            return
        found: list[Ranking] = []
        try:
            total = sum(calls for _, _, _, calls, _ in ready)
            meter = Meter(total, quiet=quiet, limit_calls=limit_calls, limit_tokens=limit_tokens)
            for group, kept, copies, _, prompt in ready:
                judged = judges.TextJudge(
                    reader,
                    prompt,
                    kept,
                    store=kept_answers,
                    context=group.context,
                    undecided=undecided,
                    progress=meter,
                )
                found.append(
                    rank_items(
                        kept,
                        judged,
                        budget=budget,
                        rule=rule,
                        both_orders=orders == "both",
                        until=rules or None,
                        expert=expert,
                        prior=prior,
                        covariance=intervals,
                        level=confidence,
                        top=top or until_top or 3,
                        seed=seed,
                        copies=copies,
                        gold=group.gold,
                        notes=own.notes,
                        name="" if group.context is None else group.context.id,
                    )
                )
            meter.bar.close()
        except KeyboardInterrupt:
            raise stopped(kept_answers) from None
    if hasattr(sys.stdout, "reconfigure"):  # a terminal may not know every letter of an id
        sys.stdout.reconfigure(errors="replace")
    print(in_text(found))
    if out:
        write(out, _together(found, lambda one: one.to_frame()))
    if comparisons:
        write(comparisons, _together(found, lambda one: one.answers()))
    if report:
        made = datetime.date.today().isoformat()
        command = shlex.join(["poe", *sys.argv[1:]])
        write(report, page(found, attribute=attribute, command=command, made=made, thing=thing))


def _rules(
    top: int | None, within: int | None, error: float | None, level: float
) -> list[StopRule]:
    from poe.stopping import ranks_within, se_below, top_known

    if not 0.0 < level < 1.0:
        raise ValueError(f"--confidence lies between 0 and 1, for example 0.95, not {level:g}")
    rules = [] if top is None else [top_known(top, level)]
    rules += [] if within is None else [ranks_within(within, level)]
    return rules + ([] if error is None else [se_below(error)])


def _check_k(n_texts: int, until_top: int | None, within: int | None) -> None:
    """Refuse a rule that holds before anything is asked of so few texts."""
    for name, k, most in (
        ("--until-top", until_top, n_texts - 1),
        ("--until-ranks-within", within, n_texts - 2),
    ):
        if k is not None and k > most:
            raise ValueError(
                f"{name} {k} says nothing of {n_texts} different texts; at most {most}"
            )


def _estimate(
    ready: Sequence[Any], reader: Reader, kept_answers: Store, store: Path, seed: int
) -> None:
    """Calls at most, and what as many comparisons spread evenly would take."""
    from poe.designs import regular
    from poe.judges import Question

    sample: list[Question] = []
    for group, kept, _, calls, prompt in ready:
        pairs = regular(len(kept), min(calls, len(kept) * (len(kept) - 1) // 2), seed=seed)
        sample += [Question(prompt, kept[i], kept[j], group.context) for i, j in pairs.tolist()]
    total = sum(calls for _, _, _, calls, _ in ready)
    print(f"at most {total:,} calls, fewer where answers are in {store} already")
    print_cost((sample * -(-total // len(sample)))[:total], reader, kept_answers)


def _together(found: Sequence[Ranking], part: Callable[[Ranking], pd.DataFrame]) -> str:
    """One CSV of all contexts."""
    import pandas as pd

    from poe.tables import csv_text

    tables = [part(one).assign(context=one.name) if len(found) > 1 else part(one) for one in found]
    return csv_text(pd.concat(tables))
