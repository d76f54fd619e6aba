"""`poe rank`: rank your own texts with a judge, and get a report."""

from __future__ import annotations

import argparse
import datetime
import math
import shlex
import sys
from collections.abc import Sequence
from contextlib import closing

from poe import datasets
from poe.commands import common, rank_options, rank_output
from poe.commands.progress import Progress
from poe.errors import JudgeError
from poe.judges import prompts
from poe.judges.asking import TextJudge
from poe.judges.opening import check_name
from poe.judges.preparing import distinct, number_of_calls
from poe.judges.questions import Prompt, Question, Reader, Text
from poe.judges.ranking import TextRanking, rank_texts
from poe.judges.store import Store
from poe.selection import regular
from poe.stopping import StopRule, ranks_within, se_below, top_known


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command to the parser."""
    rank_options.add(commands).set_defaults(run=_rank)


def _rank(options: argparse.Namespace) -> int:
    check_name(options.judge)
    rules = _rules(options)
    common.require_writable(options.report, options.out, options.comparisons)
    # Copies of a text are ranked once, which the table and the report say.
    groups = datasets.read_texts(options.texts, duplicates="allow").groups()
    for group in groups:
        _prepared(group, options)
    judge = common.open_from(options)
    found: list[TextRanking] = []
    with common.plain_warnings(), closing(common.open_store(options)) as store:
        if options.dry_run:
            _estimate(groups, judge, store, options)
            return 0
        try:
            found = [_one(group, judge, store, options, rules) for group in groups]
        except KeyboardInterrupt:
            print(f"\npoe: stopped; {common.how_to_go_on(store)}", file=sys.stderr)
            return 130
    command = shlex.join(["poe", *options.argv])
    made = datetime.date.today().isoformat()
    # The files first: what reads the output may close it early.
    written = rank_output.write(found, options, command=command, made=made)
    rank_output.show(found)
    for path in written:
        print(f"written to {path}")
    return 0


def _estimate(
    groups: Sequence[datasets.TextGroup], judge: Reader, store: Store, options: argparse.Namespace
) -> None:
    """Calls at most, and what as many comparisons spread evenly would take."""
    calls, sample = 0, []
    for group in groups:
        kept, _, budget, _ = _prepared(group, options)
        calls += budget
        pairs = regular(len(kept), min(budget, len(kept) * (len(kept) - 1) // 2), seed=options.seed)
        prompt = _prompt(options, group.context)
        sample += [Question(prompt, kept[i], kept[j], group.context) for i, j in pairs.tolist()]
    every = (sample * -(-calls // len(sample)))[:calls]
    print(f"at most {calls:,} calls, fewer where answers are in {options.store} already")
    common.print_cost(every, judge, store)


def _rules(options: argparse.Namespace) -> list[StopRule]:
    level = options.confidence
    if not 0.0 < level < 1.0:
        raise ValueError(f"--confidence lies between 0 and 1, for example 0.95, not {level:g}")
    rules = []
    if options.until_top is not None:
        rules.append(top_known(options.until_top, level))
    if options.until_ranks_within is not None:
        rules.append(ranks_within(options.until_ranks_within, level))
    if options.until_error is not None:
        rules.append(se_below(options.until_error))
    return rules


def _one(
    group: datasets.TextGroup,
    judge: Reader,
    store: Store,
    options: argparse.Namespace,
    rules: list[StopRule],
) -> TextRanking:
    """Rank the texts of one context."""
    kept, twins, budget, note = _prepared(group, options)
    progress = Progress(
        budget,
        quiet=options.quiet,
        limit_calls=options.limit_calls,
        limit_tokens=options.limit_tokens,
    )
    judged = TextJudge(
        judge,
        _prompt(options, group.context),
        kept,
        store=store,
        context=group.context,
        undecided=options.undecided,
        progress=progress,
    )
    try:
        return rank_texts(
            judged,
            budget=budget,
            expert=options.expert,
            rule=options.rule,
            both_orders=options.orders == "both",
            until=rules,
            prior=options.prior,
            intervals=options.intervals,
            level=options.confidence,
            top=options.top or options.until_top or 3,
            seed=options.seed,
            progress=lambda now: setattr(progress, "base", len(now.comparisons)),
            twins=twins,
            gold={
                text.id: float(score)
                for text, score in zip(group.items, group.scores, strict=True)
                if not math.isnan(score)
            },
            notes=[note] if note else [],
            name="" if group.context is None else group.context.id,
        )
    finally:
        progress.close()


def _prepared(
    group: datasets.TextGroup, options: argparse.Namespace
) -> tuple[list[Text], dict[str, str], int, str]:
    """The different texts of a context, whose copies the others are, the budget, a note."""
    try:
        kept, twins = distinct(group.items)
        both = options.orders == "both"
        budget, note = number_of_calls(options.budget, len(kept), both_orders=both)
        _check_top(options, len(kept))
    except (JudgeError, ValueError) as error:
        place = "" if group.context is None else f" ({group.context.id})"
        raise JudgeError(f"{options.texts}{place}: {error}") from None
    _prompt(options, group.context)
    return kept, twins, budget, note


def _prompt(options: argparse.Namespace, context: Text | None) -> Prompt:
    heading = None if context is None else options.context_name
    return prompts.for_attribute(options.attribute, thing=options.thing, context=heading)


def _check_top(options: argparse.Namespace, n_texts: int) -> None:
    for name, k in (("--until-top", options.until_top), ("--top", options.top)):
        if k is not None and k >= n_texts:
            raise ValueError(
                f"{name} {k} of {n_texts} different texts says nothing; at most {n_texts - 1}"
            )
    within = options.until_ranks_within
    if within is not None and within >= n_texts - 1:
        raise ValueError(
            f"--until-ranks-within {within} holds for {n_texts} different texts before anything is "
            f"asked; at most {n_texts - 2}"
        )
