"""`judging ask`: a fixed set of comparisons, put to a judge and stored."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from judging.errors import JudgeError
from judging.practice.cli import batches, opening, screen
from judging.practice.cli import config as cfg
from judging.practice.cli import options as o
from judging.practice.cli.exits import SaidError, Status
from judging.practice.ranking.settings import Asking

if TYPE_CHECKING:
    from judging.judges import Answer, Question


@o.app.command(
    epilog="With --json, standard output is one object: prompt, calls, known (answered before), "
    "asked (now), left, stopped_because, refused, tokens, computed, mass_median, mass_lowest and "
    "first_rate. With --dry-run it has prompt, calls, known, to_ask, tokens and seconds, and with "
    "prices cost, cost_low and cost_high."
)
@o.takes(
    calling="dry_run store quiet judge_option batch seed",
    asking="limit_calls limit_tokens price retry_refused",
    files="as_json",
)
def ask(
    dataset: Annotated[
        str,
        typer.Argument(
            help="A dataset that `judging data list` names, such as summeval; or a table of your "
            "own texts, as for `judging rank`."
        ),
    ],
    attribute: Annotated[
        str,
        typer.Argument(
            help="What is judged: an attribute of the dataset, such as coherence; for your own "
            'texts, words such as "more persuasive".'
        ),
    ],
    judge: o.JudgeName,
    *,
    phrasing: o.Phrasing,
    budget: Annotated[
        str | None,
        o.opt(
            "The number of comparisons over all contexts, such as 500, or per text with an x, such "
            "as 10x; or all. The default is all for a dataset, and 10x for your own texts.",
        ),
    ] = None,
    orders: Annotated[
        Literal["one", "both"],
        o.opt(
            "One: every pair in one order before any in the other; both: the two "
            "orders of a pair together."
        ),
    ] = "one",
    shard: Annotated[
        str | None, o.opt("Ask only the I-th of N equal parts, such as 2/8.", metavar="I/N")
    ] = None,
    asking: Asking,
    calling: o.Calling,
    files: o.Files,
    config: cfg.Config = None,
) -> None:
    """Ask a judge a fixed set of comparisons, and store the answers.

    Every answer is stored as it comes, so a run that was stopped continues where it was, and a
    larger run asks only what is new. For several machines, give each its own shard and its own
    store, and join the stores with `judging store merge`.
    """
    from judging import datasets, judges, prompts
    from judging.datasets.questions import questions_of, shard_of
    from judging.judges.spending import AskingEndedError, RoundWrittenError, SpendingLimitError
    from judging.practice.meter import Meter

    price, as_json, store = asking.price, files.as_json, calling.store
    judges.check_name(judge)  # the cheap refusals come before a model is loaded
    both_orders = orders == "both"
    if Path(dataset).is_file():
        whole = _own(Path(dataset), attribute, budget, both_orders, calling.seed, **vars(phrasing))
    elif Path(dataset).suffix:
        raise JudgeError(f"there is no file {dataset}; `judging data list` names the datasets")
    else:
        if phrasing.wording:
            raise JudgeError("--wording is for your own texts; a dataset has prompts of its own")
        data = datasets.load(dataset)
        prompt, sizes = prompts.load(dataset, attribute), [data.n_candidates] * data.n_contexts
        counts = _counts(budget, "all", sizes, both_orders)
        whole = [
            question
            for c, count in enumerate(counts)
            for question in questions_of(
                data, prompt, contexts=[c], calls=count, both_orders=both_orders, seed=calling.seed
            )
        ]
    questions = shard_of(whole, shard)
    if not questions:
        if as_json:
            screen.print_json({"prompt": whole[0].prompt.name, "calls": 0})
            return
        print(f"shard {shard} of {len(whole):,} calls is empty: there is nothing to ask")
        return
    by_file = batches.Batches(calling.batch, store, forbidden=asking.limited)
    reader = by_file.reader(opening.open_judge(judge, calling.judge_option, asking))
    with opening.open_store(store, dry_run=calling.dry_run) as kept_answers:
        if asking.retry_refused and not calling.dry_run:
            kept_answers.forget_refused(reader)
        missing = kept_answers.missing(reader, questions)
        different = len({question.key for question in questions})
        same = len(questions) - different
        known = different - len(missing)
        head = {"prompt": whole[0].prompt.name, "calls": len(questions), "known": known}
        if not as_json:
            print(
                f"{whole[0].prompt.name}: {len(questions):,} calls"
                f"{f', shard {shard}' if shard else ''}, "
                f"{f'{same:,} the same as another (equal texts), ' if same else ''}"
                f"{known:,} answered already, {len(missing):,} to ask"
            )
        if calling.dry_run:
            new = [questions[k] for k in missing]
            row = opening.estimate(
                judge, reader, kept_answers, new, calls=len(new), stored=known, price=price
            )
            if as_json:
                screen.print_json({**head, "to_ask": len(new), **row, "calls": head["calls"]})
            else:
                screen.print_cost(row)
            return
        meter = Meter(len(missing), shown=not calling.quiet, price=price)
        meter.judge = reader
        try:
            answers = kept_answers.ask(reader, questions, progress=meter)
        except RoundWrittenError:
            by_file.finish(kept_answers)
        except AskingEndedError as error:
            left = len(kept_answers.missing(reader, questions))
            answered = len(missing) - left
            if not answered and not isinstance(error, SpendingLimitError):
                raise
            if as_json:
                said = {"asked": answered, "left": left, "stopped_because": str(error)}
                screen.print_json({**head, **said})
            else:
                print(f"{answered:,} answered, {left:,} left: {error}; the same command goes on")
            raise SaidError(Status.PARTIAL) from None
        finally:
            meter.bar.close()
    if as_json:
        done = {"asked": len(missing), "left": 0, "stopped_because": None}
        screen.print_json({**head, **done, **_summary(answers)})
    else:
        _say(questions, answers, store)
        for line in meter.notes():
            print(line)


def _counts(budget: str | None, default: str, sizes: Sequence[int], both_orders: bool) -> list[int]:
    """Comparisons of each context of so many texts."""
    from judging.practice.asking.limits import shares

    counts, notes = shares(budget or default, sizes, both_orders=both_orders)
    for note in notes if budget else ():
        print(f"judging: note: {note}", file=sys.stderr)
    return counts


def _own(
    path: Path, attribute: str, budget: str | None, both_orders: bool, seed: int, **called: Any
) -> list[Question]:
    """Comparisons of a table's texts that spread evenly over them, context after context.

    The prompts are those of `judging rank`, which takes the answers out of the store.
    """
    import numpy as np

    from judging.judges import Question
    from judging.practice.ranking.rank import jobs
    from poe.choose.designs import in_orders_shown, regular

    asked = []
    todo = jobs(path, [""], [attribute], budget="all", both_orders=True, **called)
    for note in dict.fromkeys(note for job in todo for note in job.notes):
        print(f"judging: note: {note}", file=sys.stderr)
    counts = _counts(budget, "10x", [len(job.texts) for job in todo], both_orders)
    for c, (job, count) in enumerate(zip(todo, counts, strict=True)):
        texts, rng = job.texts, np.random.default_rng([seed, c])
        most = len(texts) * (len(texts) - 1) // 2
        pairs = regular(len(texts), min(count // (2 if both_orders else 1), most), seed=rng)
        shown = in_orders_shown(pairs, both_orders=both_orders, rng=rng)
        every = shown if both_orders else np.vstack([shown, shown[:, ::-1]])[:count]
        asked += [
            Question(job.prompt, texts[i], texts[j], job.group.context) for i, j in every.tolist()
        ]
    return asked


def _summary(answers: Sequence[Answer]) -> dict[str, Any]:
    """What came of it: refusals, tokens, the labels' mass, how often the first position won."""
    import numpy as np

    given = [answer for answer in answers if not answer.refused]
    mass = np.array([answer.mass for answer in given] or [np.nan])
    p = np.array([answer.p for answer in given if len(answer.log_p) == 2])
    p = p[~np.isnan(p)]
    return {
        "refused": len(answers) - len(given),
        "tokens": sum(answer.tokens for answer in given),
        "computed": sum(answer.computed for answer in given),
        "mass_median": float(np.median(mass)),
        "mass_lowest": float(mass.min()),
        "first_rate": float((p > 0.5).mean() + (p == 0.5).mean() / 2.0) if p.size else None,
    }


def _say(questions: Sequence[Question], answers: Sequence[Answer], store: Path) -> None:
    summary = _summary(answers)
    refused = {q.key: (q, a) for q, a in zip(questions, answers, strict=True) if a.refused}
    if refused:
        question, answer = next(iter(refused.values()))
        print(
            f"{len(refused):,} questions were refused by the judge, such as {question} "
            f"({answer.refused}); they are asked again only with --set retry-refused"
        )
    if summary["refused"] == len(answers):
        raise JudgeError("the judge answered none of the questions")
    print(
        f"all {len(answers) - summary['refused']:,} answers are in {store}; "
        f"{summary['tokens']:,} tokens, of which {summary['computed']:,.0f} were computed\n"
        f"label words: median mass {summary['mass_median']:.2g}, "
        f"lowest {summary['mass_lowest']:.2g}"
    )
    if summary["first_rate"] is not None:
        print(f"first position preferred: {summary['first_rate']:.1%}; 50% without position bias")
