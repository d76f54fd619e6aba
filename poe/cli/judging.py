"""`poe judge` puts a dataset to a judge; beside it `poe prompts`, `poe data` and `poe store`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from poe.cli import options as o
from poe.errors import JudgeError

if TYPE_CHECKING:
    from poe.judges import Answer, Question


@o.app.command()
def judge(
    dataset: Annotated[
        str,
        typer.Argument(
            help="Such as summeval; `poe data list` names them. Or a table of texts of your own, "
            "as `poe rank` takes it."
        ),
    ],
    attribute: Annotated[
        str,
        typer.Argument(help='What is judged, such as coherence; of your own, "more persuasive".'),
    ],
    judge: o.JudgeName,
    dry_run: o.DryRun = False,
    calls: Annotated[
        o.Count,
        o.opt("Comparisons in each context; by default all, of your own texts ten a text.", min=1),
    ] = None,
    orders: Annotated[
        Literal["one", "both"],
        o.opt("With --calls: all pairs before any in its other order, or both together."),
    ] = "one",
    template: o.Template = None,
    decoder_only: o.DecoderOnly = False,
    thing: Annotated[str, o.opt('What texts of your own are, "essay".')] = "text",
    context_name: Annotated[str, o.opt("How the prompt heads a context of your own.")] = "Context",
    contexts: Annotated[str | None, o.opt("The first ten (10), some (20:30); or all.")] = None,
    shard: Annotated[str | None, o.opt("Only the I-th of N parts, 2/8.", metavar="I/N")] = None,
    seed: o.Seed = 0,
    store: o.StorePath = o.STORE,
    several_judges: o.SeveralJudges = False,
    quiet: o.Quiet = False,
    judge_option: o.JudgeOptions = [],  # noqa: B006
    limit_calls: o.LimitCalls = None,
    limit_tokens: o.LimitTokens = None,
) -> None:
    """Put comparisons to a judge that need no adaptive choice, answers kept.

    Every answer is kept in the store as it comes, so a run that was stopped goes on where it was,
    and a larger one asks only what is new. On several machines, give each a shard and a store of
    its own, then `poe store merge` them.
    """
    from poe import datasets, judges
    from poe.judges import prompts
    from poe.judges.accounts import Meter, SpendingLimitError
    from poe.judges.questions import contexts_of, questions_of, shard_of

    judges.check_name(judge)  # the cheap refusals come before a model is loaded
    both_orders = orders == "both"
    if Path(dataset).is_file():
        if template or contexts or decoder_only:
            raise JudgeError(
                "--template, --contexts and --decoder-only are of data sets that `poe data list` "
                f"names, not of texts of your own, {dataset}"
            )
        called = {"thing": thing, "context_name": context_name}
        whole = _own(Path(dataset), attribute, calls, both_orders, seed, **called)
    elif Path(dataset).suffix:
        raise JudgeError(f"there is no file {dataset}")
    else:
        data = datasets.load(dataset)
        whole = questions_of(
            data,
            prompts.load(dataset, attribute, template, decoder_only=decoder_only),
            contexts=contexts_of(data, contexts),
            calls=calls,
            both_orders=both_orders,
            seed=seed,
        )
    questions = shard_of(whole, shard)
    if not questions:
        print(f"shard {shard} of {len(whole):,} calls is empty: there is nothing to ask")
        return
    reader = o.open_judge(judge, judge_option, limit_calls, limit_tokens)
    with o.open_store(store, several=several_judges, dry_run=dry_run) as kept_answers:
        missing = kept_answers.missing(reader, questions)
        different = len({question.key for question in questions})
        same = len(questions) - different
        print(
            f"{whole[0].prompt.name}: {len(questions):,} calls"
            f"{f', shard {shard}' if shard else ''}, "
            f"{f'{same:,} the same as another (equal texts), ' if same else ''}"
            f"{different - len(missing):,} answered already, {len(missing):,} to ask"
        )
        if dry_run:
            new = [questions[k] for k in missing]
            there = different - len(new)
            o.print_cost(o.estimate(judge, reader, kept_answers, new, calls=len(new), stored=there))
            return
        meter = Meter(len(missing), shown=not quiet)
        try:
            answers = kept_answers.ask(reader, questions, progress=meter)
        except SpendingLimitError as error:
            left = len(kept_answers.missing(reader, questions))
            answered = len(missing) - left
            print(f"{answered:,} answered, {left:,} left: {error}; the same command goes on")
            return
        finally:
            meter.bar.close()
        _summarise(answers, store)


def _own(
    path: Path, attribute: str, calls: int | None, both_orders: bool, seed: int, **called: str
) -> list[Question]:
    """Comparisons of a table's texts that spread evenly over them, context after context.

    The prompts are those of `poe rank`, which takes the answers out of the store.
    """
    import numpy as np

    from poe.designs import in_orders_shown, regular
    from poe.judges import Question
    from poe.ranking import jobs

    asked = []
    todo = jobs(path, [""], [attribute], budget="all", both_orders=True, **called)
    for c, job in enumerate(todo):
        texts, rng = job.texts, np.random.default_rng([seed, c])
        n = len(texts)
        count = (10 * n if calls is None else calls) // (2 if both_orders else 1)
        pairs = regular(n, min(count, n * (n - 1) // 2), seed=rng)
        asked += [
            Question(job.prompt, texts[i], texts[j], job.group.context)
            for i, j in in_orders_shown(pairs, both_orders=both_orders, rng=rng).tolist()
        ]
    return asked


def _summarise(answers: Sequence[Answer], store: Path) -> None:
    import numpy as np

    mass = np.array([answer.mass for answer in answers])
    print(
        f"all {len(answers):,} answers are in {store}; "
        f"{sum(answer.tokens for answer in answers):,} tokens, of which "
        f"{sum(answer.computed for answer in answers):,.0f} were computed\n"
        f"label words: median mass {np.median(mass):.2g}, lowest {mass.min():.2g}"
    )
    p = np.array([answer.p for answer in answers if len(answer.log_p) == 2])
    p = p[~np.isnan(p)]
    if p.size:
        rate = float((p > 0.5).mean() + (p == 0.5).mean() / 2.0)
        print(f"first position preferred: {rate:.1%}; 50% without position bias")


# poe prompts, poe data, poe store -------------------------------------------------------------


@o.app.command()
def prompts(
    dataset: Annotated[str | None, typer.Argument(help="A dataset with prompts.")] = None,
    attribute: Annotated[str | None, typer.Argument(help="One of its attributes.")] = None,
    template: o.Template = None,
    show: Annotated[int, o.opt("Fill it with texts, so often.")] = 0,
    cut: Annotated[int, o.opt("Characters shown of a text, 0 for all.")] = 400,
    decoder_only: o.DecoderOnly = False,
) -> None:
    """List the prompts, or preview one."""
    from itertools import islice

    from poe import datasets
    from poe.judges import prompts as known
    from poe.judges.questions import examples

    if dataset is None or attribute is None:
        print(known.overview(dataset))
        return
    print(known.describe(dataset, attribute, template))
    prompt = known.load(dataset, attribute, template, decoder_only=decoder_only)
    if show < 1:
        print(f"\n{prompt.template}")
        return
    for number, question in enumerate(
        islice(examples(datasets.load(dataset), prompt, cut=cut), show), start=1
    ):
        print(f"\n--- {number}: {', '.join(question.ids)} ---\n{question.text}")
        if prompt.prefix:
            print(f"[the answer starts:] {prompt.prefix}")


@o.data_app.command("list")
def data_list() -> None:
    """What there is, and where its texts would come from."""
    from poe import datasets

    print(datasets.overview())


@o.data_app.command("fetch")
def data_fetch(name: Annotated[str, typer.Argument(help="A name from `poe data list`.")]) -> None:
    """Download from the pinned address and verify; smollm2 is a small language model."""
    from poe import datasets
    from poe.judges.transformers import gguf

    print(f"{name} is at {gguf.fetch() if name == 'smollm2' else datasets.fetch(name)}")


@o.store_app.command("list")
def store_list(store: Annotated[Path, typer.Argument(help="Such as judgements.sqlite.")]) -> None:
    """Its judges, prompts and numbers of answers."""
    with o.open_store(store, offline=True) as kept_answers:
        table = kept_answers.table()
        for digest, given in kept_answers.specifications().items():
            print(f"judge {digest}: " + ", ".join(f"{key} {value}" for key, value in given.items()))
            ours = table[table["judge"] == digest]
            for prompt, rows in ours.groupby("prompt", sort=False):
                print(f"    {prompt}: {len(rows):,} answers, {rows['tokens'].sum():,} tokens")


@o.store_app.command("merge")
def store_merge(
    store: Annotated[Path, typer.Argument(help="The store that grows; made if it is not there.")],
    others: Annotated[list[Path], typer.Argument(help="Stores to take over.", metavar="STORES")],
    several_judges: o.SeveralJudges = False,
) -> None:
    """Take over the answers of other stores."""
    if missing := [str(other) for other in others if not other.is_file()]:
        raise JudgeError(f"there is no store {' or '.join(missing)} to merge; nothing was made")
    with o.open_store(store, several=several_judges) as kept_answers:
        for other in others:
            found = kept_answers.merge(other)
            print(
                f"{other}: {found.added:,} answers taken over, {found.same:,} were there, "
                f"{found.differ:,} differ"
            )
        print(f"{kept_answers.path} now has {len(kept_answers):,} answers")


@o.store_app.command("export")
def store_export(
    store: Annotated[Path, typer.Argument(help="Such as judgements.sqlite.")],
    out: Annotated[Path, typer.Argument(help="Ends in .csv or .parquet.")],
) -> None:
    """Every answer as a row of a CSV or Parquet file."""
    o.require_writable(out, inputs=[store])
    with o.open_store(store, offline=True) as kept_answers:
        kept_answers.export(out)
        print(f"{len(kept_answers):,} answers written to {out}")
