"""The command line: `poe --help` lists the commands."""

from __future__ import annotations

import datetime
import functools
import json
import math
import os
import shlex
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer

from poe.errors import DatasetError, JudgeError, NotConvergedError

if TYPE_CHECKING:
    import pandas as pd

    from poe.datasets import TextGroup
    from poe.judges import Answer, Question, Reader, Store
    from poe.ranking import Ranking
    from poe.stopping import StopRule

__all__ = ["app", "main", "parse"]

app = typer.Typer(
    help="Judging by comparison: products of experts for LLM judges.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
store_app = typer.Typer(help="List, merge or export judgement stores.", no_args_is_help=True)
data_app = typer.Typer(help="List or fetch the datasets.", no_args_is_help=True)
app.add_typer(store_app, name="store")
app.add_typer(data_app, name="data")

# Commands that need the repository: the papers' numbers are not in the package.
IN_A_CLONE = {
    "reproduce": "Recompute a table or figure of the papers (in a clone).",
    "scorecard": "Every printed number beside ours, with its verdict (in a clone).",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status and never shows a traceback for user errors."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        with _plain_warnings():
            _attach(arguments)
            status = app(args=arguments, prog_name="poe", standalone_mode=False)
        sys.stdout.flush()
        if status == 130:  # Ctrl-C where a command does not say itself what is kept
            print("poe: stopped; nothing was written", file=sys.stderr)
        return abs(int(status or 0))
    except (BrokenPipeError, SystemExit):  # the reader, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + 13  # as for a program that SIGPIPE ends
    except (ValueError, OSError, DatasetError, JudgeError, NotConvergedError) as error:
        print(f"poe: {error}", file=sys.stderr)
        return 1
    except Exception as error:
        if not hasattr(error, "format_message"):
            raise
        from typer.rich_utils import rich_format_error

        rich_format_error(cast(Any, error))  # a mistake on the command line, with the usage
        return 2


def _attach(arguments: Sequence[str]) -> None:
    """Take `reproduce` and `scorecard` from the clone's `reproduction`, if one of them is meant."""
    for name, about in IN_A_CLONE.items():
        app.registered_commands = [c for c in app.registered_commands if c.name != name]
        run: Callable[..., Any] = lambda: None  # noqa: E731
        if name in arguments[:1]:
            try:
                from reproduction import cli
            except ModuleNotFoundError as error:
                if error.name != "reproduction":
                    raise
                raise JudgeError(
                    f"poe {name} needs the papers' numbers, which are not in the package: clone "
                    "the repository and run it there"
                ) from None
            run = _with_status(getattr(cli, name))
        app.command(name, help=about)(run)


def _with_status(run: Callable[..., int]) -> Callable[..., None]:
    """The function with the same options, its result the exit status."""

    @functools.wraps(run)
    def command(*places: Any, **options: Any) -> None:
        raise typer.Exit(run(*places, **options))

    return command


def parse(arguments: Sequence[str]) -> str:
    """What is wrong with a command line, "" if nothing is; nothing is run."""
    _attach(arguments)
    command: Any = typer.main.get_command(app)
    rest = list(arguments)
    try:
        while rest and hasattr(command, "commands") and rest[0] in command.commands:
            command, rest = command.commands[rest[0]], rest[1:]
        command.make_context("poe", rest)
    except Exception as error:  # click's own copy inside typer has no public name
        if not hasattr(error, "format_message"):
            raise
        return str(error.format_message())
    return ""


@contextmanager
def _plain_warnings() -> Iterator[None]:
    """Show warnings as one line each, without the place in the code."""

    def show(message: Warning | str, *_: object, **__: object) -> None:
        print(f"poe: note: {message}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield


def _version(wanted: bool) -> None:
    if wanted:
        from poe import __version__

        print(f"poe {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Judging by comparison: products of experts for LLM judges."""


# Options that several commands have -----------------------------------------------------------


def _opt(text: str, *names: str, panel: str | None = None, **more: Any) -> Any:
    """An option and its line of help."""
    return typer.Option(*names, help=text, rich_help_panel=panel, **more)


ASKED, SCORES, FILES, JUDGE = (
    "How much is asked",
    "How answers become scores",
    "Files",
    "The judge",
)
STOP = "Stop before the budget is spent, as soon as one holds"
STORE = Path("judgements.sqlite")
FORMS = "smollm2, hf:MODEL, hf:MODEL@REVISION, hf:FILE.gguf, openai:MODEL@URL or demo."
Orders = Literal["one", "both"]
Count = int | None
JudgeName = Annotated[str, _opt(FORMS, "--judge", metavar="JUDGE")]
JudgeOptions = Annotated[
    list[str],
    _opt("A setting such as dtype=float32; may be repeated.", panel=JUDGE, metavar="NAME=VALUE"),
]
LimitCalls = Annotated[Count, _opt("Stop after so many new calls, all kept.", panel=JUDGE, min=1)]
LimitTokens = Annotated[Count, _opt("Stop after so many new tokens, all kept.", panel=JUDGE, min=1)]
StorePath = Annotated[Path, _opt("Answers are kept here, never asked for twice.", panel=FILES)]
SeveralJudges = Annotated[
    bool, _opt("Let the store hold several judges.", "--several-judges", panel=FILES)
]
DryRun = Annotated[bool, _opt("Only say what it would take.", "--dry-run")]
Quiet = Annotated[bool, _opt("No progress.", "--quiet")]
Seed = Annotated[int, _opt("Of all random choices.", min=0)]
Undecided = Annotated[
    Literal["stop", "tie"],
    _opt("An answer without a label stops the run or counts as a tie.", panel=JUDGE),
]
DecoderOnly = Annotated[bool, _opt("The ending for decoder-only models.", "--decoder-only")]
Template = Annotated[str | None, _opt("Which wording; `poe prompts` lists them.")]


def _open_judge(
    name: str, settings: Sequence[str], limit_calls: int | None, limit_tokens: int | None
) -> Reader:
    """The judge of that name; a server's own limits are never overstepped."""
    from poe import judges

    options: dict[str, Any] = {}
    for text in settings:
        key, equals, value = text.partition("=")
        if not equals or not key.isidentifier():
            raise JudgeError(
                f"--judge-option {text!r} is not NAME=VALUE, for example dtype=float32"
            )
        options[key] = _value(value)
    if name.startswith("openai:"):
        limits = {"call_limit": limit_calls, "token_limit": limit_tokens}
        options = {key: n for key, n in limits.items() if n is not None} | options
    return judges.open(name, **options)


def _value(text: str) -> Any:
    """A number, true or false where the text is one."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _open_store(path: Path, *, several: bool, dry_run: bool) -> Store:
    """The store at a path; a dry run leaves no new file behind."""
    from poe.judges import Store

    new = dry_run and path.parent.is_dir() and not path.exists()
    return Store(":memory:" if new else path, several=several)


def _print_cost(questions: Sequence[Question], judge: Reader, store: Store) -> None:
    """Say what asking will take: tokens, and time where it is known."""
    from poe.judges import planning

    if not questions:
        return
    table, given = store.table(), store.specifications()
    same = [digest for digest, one in given.items() if one == dict(judge.specification)]
    found = planning.cost(questions, judge, table[table["judge"].isin(same)])
    print(f"about {found.tokens:,.0f} tokens ({found.tokens_by})")
    if found.seconds is None:
        print("time unknown: a real run with --limit-calls 100 measures it, and its answers stay")
    else:
        print(f"about {_duration(found.seconds)} ({found.seconds_by})")


def _duration(seconds: float) -> str:
    """Seconds as people say them: "40 s", "3 min", "2.5 h", "4 days"."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 172_800 else f"{seconds / 86400:.1f} days"


def _stopped(store: Store) -> typer.Exit:
    print(
        f"\npoe: stopped; the {len(store):,} answers so far are in {store.path}; the same command "
        "goes on from there and asks nothing twice",
        file=sys.stderr,
    )
    return typer.Exit(-130)  # stopped, and said so


class Meter:
    """A progress bar of new answers that stops where a limit is reached; a store's `progress`."""

    def __init__(
        self, total: int, *, quiet: bool, limit_calls: int | None = None, limit_tokens: int | None
    ) -> None:
        from tqdm import tqdm

        self.limits = {"calls": limit_calls, "tokens": limit_tokens}
        self.made = {"calls": 0, "tokens": 0}
        slow = 0.2 if sys.stderr.isatty() else 10.0
        self.bar = tqdm(total=total, unit="call", disable=quiet, mininterval=slow, leave=False)

    def __call__(self, *, done: int, total: int, answers: Sequence[Answer]) -> None:
        """Note new answers; say how it goes; stop where a limit is reached."""
        self.made["calls"] += len(answers)
        self.made["tokens"] += sum(answer.tokens for answer in answers)
        self.bar.update(len(answers))
        for what, limit in self.limits.items():
            if limit is not None and self.made[what] >= limit:
                self.bar.close()
                raise JudgeError(
                    f"the limit of {limit:,} {what} is reached ({self.made[what]:,} were used); "
                    f"the answers are in the store; the same command with a higher --limit-{what} "
                    "goes on"
                )


def _require_writable(*paths: Path | None) -> None:
    """Refuse a path that cannot be written before a judge is asked, not after."""
    for path in filter(None, paths):
        if path.is_dir():
            raise JudgeError(f"{path} is a folder; name a file in it")
        if not path.parent.is_dir():
            raise JudgeError(f"{path} cannot be written: there is no folder {path.parent}")
        part = path.with_name(path.name + ".part")
        try:
            part.touch()
            part.unlink()
        except OSError as error:
            raise JudgeError(f"{path} cannot be written: {error.strerror}") from None


def _write(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    part = path.with_name(path.name + ".part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)
    print(f"written to {path}")


# poe rank -------------------------------------------------------------------------------------


@app.command(
    epilog="The intervals take the judge's answers as given: they say how far the ranking could "
    "move if this judge were asked more, not how well it agrees with people."
)
def rank(
    texts: Annotated[
        Path,
        typer.Argument(
            help="CSV or JSONL file with id and text, and if you have them context (what the texts "
            "answer to; each context is ranked by itself) and score (by people)."
        ),
    ],
    attribute: Annotated[str, _opt('What wins, "more persuasive".', metavar="WORDS")],
    judge: JudgeName,
    thing: Annotated[str, _opt('What they are, "essay".')] = "text",
    context_name: Annotated[str, _opt("How the prompt heads a context.")] = "Context",
    dry_run: DryRun = False,
    budget: Annotated[
        str, _opt("Calls at most in each context: 10x (ten a text), 500 or all.", panel=ASKED)
    ] = "10x",
    rule: Annotated[
        Literal["adaptive", "greedy", "random"],
        _opt("The most telling given the answers, whatever the answers, or any.", panel=ASKED),
    ] = "adaptive",
    orders: Annotated[
        Orders, _opt("A pair in one random order, its bias estimated, or in both.", panel=ASKED)
    ] = "one",
    seed: Seed = 0,
    until_top: Annotated[
        Count, _opt("The K best are known.", panel=STOP, min=1, metavar="K")
    ] = None,
    until_ranks_within: Annotated[
        Count, _opt("Every rank is known to R ranks.", panel=STOP, metavar="R")
    ] = None,
    until_error: Annotated[
        float | None, _opt("Every standard error is S or less.", panel=STOP, metavar="S")
    ] = None,
    expert: Annotated[
        Literal["bradley-terry", "gaussian", "laplacian"],
        _opt("What an answer says of two scores.", panel=SCORES),
    ] = "bradley-terry",
    prior: Annotated[float, _opt("Wins added to every pair, for decisions.", panel=SCORES)] = 0.0,
    confidence: Annotated[float, _opt("Of intervals and stopping.", panel=SCORES)] = 0.95,
    intervals: Annotated[
        Literal["paired", "scatter", "curvature"],
        _opt(
            "From how far answers scatter around the scores, those about one pair taken together "
            "or not, or as if each were one decision.",
            panel=SCORES,
        ),
    ] = "paired",
    top: Annotated[
        Count, _opt("Show P(among the K best), 3 of them.", panel=SCORES, min=1, metavar="K")
    ] = None,
    report: Annotated[Path | None, _opt("HTML report in one file.", panel=FILES)] = None,
    out: Annotated[Path | None, _opt("Scores and intervals as CSV.", panel=FILES)] = None,
    comparisons: Annotated[Path | None, _opt("Every comparison as CSV.", panel=FILES)] = None,
    store: StorePath = STORE,
    several_judges: SeveralJudges = False,
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
    _require_writable(report, out, comparisons)
    # Copies of a text are ranked once, which the table and the report say.
    groups = datasets.read_texts(texts).groups()
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
    reader = _open_judge(judge, judge_option, limit_calls, limit_tokens)
    with closing(_open_store(store, several=several_judges, dry_run=dry_run)) as kept_answers:
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
                        gold=_gold(group),
                        name="" if group.context is None else group.context.id,
                    )
                )
            meter.bar.close()
        except KeyboardInterrupt:
            raise _stopped(kept_answers) from None
    if hasattr(sys.stdout, "reconfigure"):  # a terminal may not know every letter of an id
        sys.stdout.reconfigure(errors="replace")
    print(in_text(found))
    if out:
        _write(out, _together(found, lambda one: one.to_frame()))
    if comparisons:
        _write(comparisons, _together(found, lambda one: one.answers()))
    if report:
        made = datetime.date.today().isoformat()
        command = shlex.join(["poe", *sys.argv[1:]])
        _write(report, page(found, attribute=attribute, command=command, made=made, thing=thing))


def _gold(group: TextGroup) -> dict[str, float]:
    scored = zip(group.items, group.scores, strict=True)
    return {text.id: float(score) for text, score in scored if not math.isnan(score)}


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
    _print_cost((sample * -(-total // len(sample)))[:total], reader, kept_answers)


def _together(found: Sequence[Ranking], part: Callable[[Ranking], pd.DataFrame]) -> str:
    """One CSV of all contexts."""
    import pandas as pd

    tables = [part(one).assign(context=one.name) if len(found) > 1 else part(one) for one in found]
    return str(pd.concat(tables).to_csv(index=False, lineterminator="\n"))


# poe judge ------------------------------------------------------------------------------------


@app.command()
def judge(
    dataset: Annotated[str, typer.Argument(help="Such as summeval; `poe data list` names them.")],
    attribute: Annotated[str, typer.Argument(help="What is judged, such as coherence.")],
    judge: JudgeName,
    dry_run: DryRun = False,
    calls: Annotated[Count, _opt("Comparisons in each context; all by default.", min=1)] = None,
    orders: Annotated[
        Orders, _opt("With --calls: all pairs before any in its other order, or both together.")
    ] = "one",
    template: Template = None,
    decoder_only: DecoderOnly = False,
    contexts: Annotated[str | None, _opt("The first ten (10), some (20:30); or all.")] = None,
    shard: Annotated[str | None, _opt("Only the I-th of N parts, 2/8.", metavar="I/N")] = None,
    seed: Seed = 0,
    store: StorePath = STORE,
    several_judges: SeveralJudges = False,
    quiet: Quiet = False,
    judge_option: JudgeOptions = [],  # noqa: B006
    limit_calls: LimitCalls = None,
    limit_tokens: LimitTokens = None,
) -> None:
    """Put a dataset's comparisons to a judge, answers kept.

    Every answer is kept in the store as it comes, so a run that was stopped goes on where it was,
    and a larger one asks only what is new. On several machines, give each a shard and a store of
    its own, then `poe store merge` them.
    """
    from poe import datasets, judges
    from poe.judges import planning, prompts

    judges.check_name(judge)  # the cheap refusals come before a model is loaded
    prompt = prompts.load(dataset, attribute, template, decoder_only=decoder_only)
    data = datasets.load(dataset)
    whole = planning.questions_of(
        data,
        prompt,
        contexts=planning.contexts_of(data, contexts),
        calls=calls,
        both_orders=orders == "both",
        seed=seed,
    )
    questions = planning.shard_of(whole, shard)
    if not questions:
        print(f"shard {shard} of {len(whole):,} calls is empty: there is nothing to ask")
        return
    reader = _open_judge(judge, judge_option, limit_calls, limit_tokens)
    with closing(_open_store(store, several=several_judges, dry_run=dry_run)) as kept_answers:
        missing = kept_answers.missing(reader, questions)
        different = len({question.key for question in questions})
        same = len(questions) - different
        print(
            f"{prompt.name}: {len(questions):,} calls{f', shard {shard}' if shard else ''}, "
            f"{f'{same:,} the same as another (equal texts), ' if same else ''}"
            f"{different - len(missing):,} answered already, {len(missing):,} to ask"
        )
        if dry_run:
            _print_cost([questions[k] for k in missing], reader, kept_answers)
            return
        chosen = missing[:limit_calls]
        meter = Meter(len(chosen), quiet=quiet, limit_tokens=limit_tokens)
        try:
            kept_answers.ask(reader, [questions[k] for k in chosen], progress=meter)
        except KeyboardInterrupt:
            raise _stopped(kept_answers) from None
        finally:
            meter.bar.close()
        if len(chosen) < len(missing):
            print(
                f"{len(chosen):,} asked, {len(missing) - len(chosen):,} left by --limit-calls; the "
                "same command goes on"
            )
            return
        _summarise(kept_answers.ask(reader, questions), store)


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


@app.command()
def prompts(
    dataset: Annotated[str | None, typer.Argument(help="A dataset with prompts.")] = None,
    attribute: Annotated[str | None, typer.Argument(help="One of its attributes.")] = None,
    template: Template = None,
    show: Annotated[int, _opt("Fill it with texts, so often.")] = 0,
    cut: Annotated[int, _opt("Characters shown of a text, 0 for all.")] = 400,
    decoder_only: DecoderOnly = False,
) -> None:
    """List the prompts, or preview one."""
    from itertools import islice

    from poe import datasets
    from poe.judges import planning
    from poe.judges import prompts as known

    if dataset is None or attribute is None:
        print(known.overview(dataset))
        return
    print(known.describe(dataset, attribute, template))
    prompt = known.load(dataset, attribute, template, decoder_only=decoder_only)
    if show < 1:
        print(f"\n{prompt.template}")
        return
    for number, question in enumerate(
        islice(planning.examples(datasets.load(dataset), prompt, cut=cut), show), start=1
    ):
        print(f"\n--- {number}: {', '.join(question.ids)} ---\n{question.text}")
        if prompt.prefix:
            print(f"[the answer starts:] {prompt.prefix}")


@data_app.command("list")
def data_list() -> None:
    """What there is, and where its texts would come from."""
    from poe import datasets

    print(datasets.overview())


@data_app.command("fetch")
def data_fetch(name: Annotated[str, typer.Argument(help="A name from `poe data list`.")]) -> None:
    """Download from the pinned address and verify; smollm2 is a small language model."""
    from poe import datasets
    from poe.judges.transformers import gguf

    print(f"{name} is at {gguf.fetch() if name == 'smollm2' else datasets.fetch(name)}")


@store_app.command("list")
def store_list(store: Annotated[Path, typer.Argument(help="Such as judgements.sqlite.")]) -> None:
    """Its judges, prompts and numbers of answers."""
    with closing(_existing(store)) as kept_answers:
        table = kept_answers.table()
        for digest, given in kept_answers.specifications().items():
            print(f"judge {digest}: " + ", ".join(f"{key} {value}" for key, value in given.items()))
            ours = table[table["judge"] == digest]
            for prompt, rows in ours.groupby("prompt", sort=False):
                print(f"    {prompt}: {len(rows):,} answers, {rows['tokens'].sum():,} tokens")


@store_app.command("merge")
def store_merge(
    store: Annotated[Path, typer.Argument(help="The store that grows; made if it is not there.")],
    others: Annotated[list[Path], typer.Argument(help="Stores to take over.")],
    several_judges: SeveralJudges = False,
) -> None:
    """Take over the answers of other stores."""
    from poe.judges import Store

    with closing(Store(store, several=several_judges)) as kept_answers:
        for other in others:
            found = kept_answers.merge(other)
            print(
                f"{other}: {found.added:,} answers taken over, {found.same:,} were there, "
                f"{found.differ:,} differ"
            )
        print(f"{kept_answers.path} now has {len(kept_answers):,} answers")


@store_app.command("export")
def store_export(
    store: Annotated[Path, typer.Argument(help="Such as judgements.sqlite.")],
    out: Annotated[Path, typer.Argument(help="Ends in .csv or .parquet.")],
) -> None:
    """Every answer as a row of a CSV or Parquet file."""
    _require_writable(out)
    with closing(_existing(store)) as kept_answers:
        kept_answers.export(out)
        print(f"{len(kept_answers):,} answers written to {out}")


def _existing(path: Path) -> Store:
    """A store that is there: looking at one must not make one."""
    from poe.judges import Store

    if not path.is_file():
        raise JudgeError(f"there is no store {path}")
    return Store(path, several=True)


if __name__ == "__main__":
    sys.exit(main())
