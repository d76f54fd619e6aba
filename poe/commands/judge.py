"""`poe judge`: put a dataset's questions to a judge and keep every answer."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import closing

import numpy as np

from poe import datasets
from poe.commands import common
from poe.commands.progress import Progress
from poe.judges import planning, prompts
from poe.judges.opening import FORMS, check_name
from poe.judges.questions import Answer, Question, Reader
from poe.judges.store import Store

ABOUT = """Put a dataset's comparisons to a judge. Every answer is kept in the store as it comes,
so a run that was stopped goes on where it was, and a larger one asks only what is new."""
EXAMPLE = """examples:
  poe judge summeval coherence --judge hf:mistralai/Mistral-7B-Instruct-v0.2 --dry-run
  poe judge summeval coherence --judge openai:my-model@http://localhost:8000/v1 --calls 48

on several machines, each with a store of its own, and then together:
  poe judge summeval coherence --judge ... --shard 1/2 --store one.sqlite
  poe judge summeval coherence --judge ... --shard 2/2 --store two.sqlite
  poe store merge one.sqlite two.sqlite"""


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command to the parser."""
    command = commands.add_parser(
        "judge",
        help="put a dataset's comparisons to a judge, answers kept",
        usage="poe judge DATASET ATTRIBUTE --judge JUDGE [options]",
        description=ABOUT,
        epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("dataset", metavar="DATASET", help=f"one of {', '.join(datasets.names())}")
    command.add_argument("attribute", metavar="ATTRIBUTE", help="what is judged, such as coherence")
    command.add_argument("--judge", required=True, help=FORMS)
    command.add_argument("--dry-run", action="store_true", help="only say what it would take")
    _questions(command.add_argument_group("what is asked"))
    common.add_store_options(command.add_argument_group("files"))
    common.add_judge_options(command.add_argument_group("the judge"))
    command.set_defaults(run=_judge)


def _questions(group: argparse._ArgumentGroup) -> None:
    how_many = group.add_mutually_exclusive_group()
    how_many.add_argument(
        "--calls", type=common.positive, metavar="K", help="comparisons in each context"
    )
    how_many.add_argument(
        "--full", action="store_true", help="all comparisons in both orders (the default)"
    )
    group.add_argument(
        "--orders",
        choices=["one", "both"],
        default="one",
        help="with --calls: every pair once before any in its other order (default), or both "
        "orders of a pair next to each other",
    )
    group.add_argument("--template", help="see `poe prompts` (default poe, where there is one)")
    group.add_argument(
        "--decoder-only", action="store_true", help="the template's ending for decoder-only models"
    )
    group.add_argument("--contexts", help="the first ten (10) or some (20:30); all by default")
    group.add_argument("--shard", metavar="I/N", help="only the I-th of N parts, 2/8")
    group.add_argument(
        "--texts",
        choices=["real", "auto", "stand-in"],
        default="real",
        help="the dataset's own (default), or invented ones of the same shape to try things out",
    )
    group.add_argument(
        "--seed", type=common.seed, default=0, help="of the choice of pairs (default 0)"
    )


def _judge(options: argparse.Namespace) -> int:
    # The cheap refusals come before a model is loaded.
    check_name(options.judge)
    template = options.template or prompts.usual_template(options.dataset, options.attribute)
    prompt = prompts.load(
        options.dataset, options.attribute, template, decoder_only=options.decoder_only
    )
    dataset = datasets.load(options.dataset, source=options.texts)
    whole = planning.questions_of(
        dataset,
        prompt,
        contexts=planning.contexts_of(dataset, options.contexts),
        calls=options.calls,
        both_orders=options.orders == "both",
        seed=options.seed,
    )
    questions = planning.shard_of(whole, options.shard)
    if not questions:
        print(f"shard {options.shard} of {len(whole):,} calls is empty: there is nothing to ask")
        return 0
    judge = common.open_from(options)
    with common.plain_warnings(), closing(common.open_store(options)) as store:
        missing = store.missing(judge, questions)
        _announce(options, dataset, questions, missing)
        if options.dry_run:
            common.print_cost([questions[k] for k in missing], judge, store)
            return 0
        return _ask(options, judge, store, questions, missing)


def _announce(
    options: argparse.Namespace,
    dataset: datasets.Dataset,
    questions: Sequence[Question],
    missing: Sequence[int],
) -> None:
    part = f", shard {options.shard}" if options.shard else ""
    invented = " (invented stand-in texts)" if dataset.source == "stand-in" else ""
    different = len({question.key for question in questions})
    same = len(questions) - different
    copies = f"{same:,} the same as another (equal texts), " if same else ""
    print(
        f"{questions[0].prompt.name}{invented}: {len(questions):,} calls{part}, {copies}"
        f"{different - len(missing):,} answered already, {len(missing):,} to ask"
    )


def _ask(
    options: argparse.Namespace,
    judge: Reader,
    store: Store,
    questions: Sequence[Question],
    missing: Sequence[int],
) -> int:
    limit = options.limit_calls
    chosen = list(missing if limit is None else missing[:limit])
    progress = Progress(len(chosen), quiet=options.quiet, limit_tokens=options.limit_tokens)
    try:
        store.ask(judge, [questions[k] for k in chosen], progress=progress)
    except KeyboardInterrupt:
        progress.close()
        print(f"\npoe: stopped; {common.how_to_go_on(store)}", file=sys.stderr)
        return 130
    finally:
        progress.close()
    if len(chosen) < len(missing):
        print(
            f"{len(chosen):,} asked, {len(missing) - len(chosen):,} left by --limit-calls; the "
            "same command goes on"
        )
        return 0
    print(_summary(store.ask(judge, questions), options))
    return 0


def _summary(answers: Sequence[Answer], options: argparse.Namespace) -> str:
    mass = np.array([answer.mass for answer in answers])
    lines = [
        f"all {len(answers):,} answers are in {options.store}; "
        f"{sum(answer.tokens for answer in answers):,} tokens, of which "
        f"{sum(answer.computed for answer in answers):,.0f} were computed",
        f"label words: median mass {np.median(mass):.2g}, lowest {mass.min():.2g}",
    ]
    p = np.array([answer.p for answer in answers if len(answer.log_p) == 2])
    p = p[~np.isnan(p)]
    if p.size:
        rate = float((p > 0.5).mean() + (p == 0.5).mean() / 2.0)
        lines.append(f"first position preferred: {rate:.1%}; 50% without position bias")
    return "\n".join(lines)
