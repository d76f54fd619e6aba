"""What the commands share: the app, and the options that several of them have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer.core import TyperCommand, TyperGroup

from judging import kinds
from judging.practice.cli.examples import EXAMPLES
from judging.practice.cli.exits import in_words


class _Shown:
    """Help without noise: a flag has no type beside it; the experts are those of the package."""

    def get_params(self, ctx: Any) -> list[Any]:
        params = super().get_params(ctx)  # type: ignore[misc]
        for one in params:
            if getattr(one, "is_flag", False):
                one.metavar = ""
            if one.name == "expert":  # only a command that has one waits for the mathematics
                one.help = f"{EXPERT} {_or(_experts())}."
        return list(params)


class Command(_Shown, TyperCommand):
    """A command, its help without noise, examples at the head."""

    def __init__(self, name: str | None, **more: Any) -> None:
        super().__init__(name, **more)
        function = getattr(self.callback, "__name__", "")
        examples = EXAMPLES.get(name or "") or EXAMPLES.get(function, "")
        first, *rest = (self.help or "").split("\n\n")
        self.help = "\n\n".join([first, *filter(None, [examples.strip()]), *rest])


class Group(_Shown, TyperGroup):
    """Commands, their help without noise."""


app = typer.Typer(
    cls=Group,
    help="Judging by comparison: products of experts for LLM judges.",
    epilog=in_words(),
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
store_app = typer.Typer(
    cls=Group, help="List, merge or export judgement stores.", no_args_is_help=True
)
data_app = typer.Typer(cls=Group, help="List or fetch the datasets.", no_args_is_help=True)
app.add_typer(store_app, name="store")
app.add_typer(data_app, name="data")

# Options that several commands have -----------------------------------------------------------


def opt(text: str, *names: str, panel: str | None = None, **more: Any) -> Any:
    """An option and its line of help."""
    return typer.Option(*names, help=text, rich_help_panel=panel, **more)


def column(text: str, *names: str) -> Any:
    """An option that names a column."""
    return opt(text, *names, panel="Columns that have other names", metavar="COLUMN")


ASKED = "How much is asked"
STOP = "Stop before the budget is spent, as soon as one of these holds"
SCORES = "How answers become scores"
JUDGE = "The judge"
GATE = "A gate"
FILES = "Files"

# In the terminal's help what stands in square brackets would be read as a colour.
FORMS = f"{kinds.forms()}; hf:MODEL@REVISION pins a version."
DRY = (
    "With --dry-run it is a list of judges with calls (at most), stored, tokens, shared (of these, "
    "what the prompts of a context begin with alike), seconds, cost."
)
Count = int | None
JudgeName = Annotated[str, opt(f"The judge: {FORMS}", "--judge", metavar="JUDGE")]
DryRun = Annotated[
    bool, opt("Only estimate calls, tokens, time and cost; nothing is asked.", "--dry-run")
]
Offline = Annotated[
    bool, opt("Rank by the answers in the store; the judge is not opened.", "--offline")
]
Batch = Annotated[
    Path | None,
    opt(
        "Write what is to be asked to this file in the batch format of hosted providers and vLLM, "
        "instead of asking; `judging store import` takes the results. Not with --offline or "
        "limits.",
        "--batch",
        panel=JUDGE,
        metavar="FILE",
    ),
]
Quiet = Annotated[bool, opt("Show no progress.", "--quiet")]
Verbose = Annotated[
    bool,
    opt("Print all that is known of the ranking and the judge, as the report has it.", "--verbose"),
]
Template = Annotated[str | None, opt("The wording; `judging prompts` lists them.")]
DecoderOnly = Annotated[
    bool, opt("Use the prompt's ending for decoder-only models.", "--decoder-only")
]
Thing = Annotated[str, opt('What the prompt calls the texts, such as "essay".')]
Wording = Annotated[
    Path | None,
    opt(
        "A TOML file with the question in your own words: text, in which the words first, second "
        "and, if there is one, context stand in braces where the texts go; optionally labels, "
        "prefix and system.",
        metavar="FILE",
    ),
]
ContextName = Annotated[str, opt("The heading of the context in the prompt.")]

Orders = Annotated[
    Literal["auto", "one", "both"],
    opt(
        "auto: find out from a few pairs in both orders whether the second order tells more than "
        "another prompt; one: each pair in one random order, with the position bias estimated; "
        "both: each pair in both orders.",
        panel=ASKED,
    ),
]
Seed = Annotated[int, opt("The seed of all random choices.", min=0)]

EXPERT = "The model of an answer, given two scores:"


def _experts() -> tuple[str, ...]:
    from poe.experts import NAMES

    return NAMES


def _or(names: tuple[str, ...]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"


def _expert(name: str) -> str:
    if name not in _experts():
        raise typer.BadParameter(f"{name!r} is not an expert; take {_or(_experts())}")
    return name


Expert = Annotated[str, opt(EXPERT, panel=SCORES, metavar="EXPERT", parser=_expert)]
Prior = Annotated[
    float | None,
    opt(
        "Wins added to every pair. The default is none or, where an item won or lost everything, "
        "one win and one loss per item.",
        panel=SCORES,
        min=0.0,
    ),
]
Confidence = Annotated[
    float,
    opt("The confidence level of intervals and stopping rules.", panel=SCORES, min=0.0, max=1.0),
]

Errors = Annotated[
    Literal["auto", "vote", "pair", "prompt"],
    opt(
        "Which answers may err together, so that intervals allow for it. vote: none do; pair: "
        "those about the same pair; prompt: those that share a prompt or an annotator. auto: "
        "prompt if there is a column of them, else vote if a pair was compared twice in the same "
        "order, else pair.",
        panel=SCORES,
    ),
]
JudgeOptions = Annotated[
    list[str],
    opt(
        "An option of the judge, such as dtype=float32; may be repeated.",
        panel=JUDGE,
        metavar="NAME=VALUE",
    ),
]
LimitCalls = Annotated[
    Count, opt("Stop after this many new calls; their answers are kept.", panel=JUDGE, min=1)
]
LimitTokens = Annotated[
    Count, opt("Stop after this many new tokens; the answers are kept.", panel=JUDGE, min=1)
]
PriceInput = Annotated[
    float | None, opt("Dollars per million tokens read.", panel=JUDGE, metavar="DOLLARS")
]
PriceOutput = Annotated[
    float | None, opt("Dollars per million tokens written.", panel=JUDGE, metavar="DOLLARS")
]
Undecided = Annotated[
    Literal["skip", "tie", "stop"],
    opt(
        "What to do with an answer that names neither text. skip: leave it out, but end the run "
        "where more than one in ten are such; tie: count it as a tie; stop: end the run.",
        panel=JUDGE,
    ),
]

OnRefusal = Annotated[
    Literal["skip", "tie", "stop"],
    opt(
        "What to do with a question that the judge will never answer (because of a content filter, "
        "or of a text that is too long). skip: leave it out, and any text with no answer at all; "
        "tie: count it as a tie; stop: end the run.",
        panel=JUDGE,
    ),
]
RetryRefused = Annotated[
    bool,
    opt("Ask again the questions that the judge refused before.", "--retry-refused", panel=JUDGE),
]

Require = Annotated[
    list[str],
    opt(
        "Let the exit status tell whether this holds: 0 if it does, 1 if it does not, 3 if that "
        'cannot be decided yet. For example "new >= old" or, with a margin of the win rate, '
        '"new >= old - 2%". May be repeated.',
        panel=GATE,
        metavar="RULE",
    ),
]
Sure = Annotated[
    float, opt("How sure a requirement must be to hold, or not to hold.", panel=GATE, metavar="P")
]
LengthControl = Annotated[
    bool,
    opt(
        "Show scores at equal answer lengths beside the ranking, by alpaca_eval's model.",
        "--length-control",
        panel=SCORES,
    ),
]

Report = Annotated[
    Path | None, opt("Write the report to this HTML file, which needs no network.", panel=FILES)
]
Out = Annotated[Path | None, opt("Write scores and intervals to this CSV file.", panel=FILES)]
Comparisons = Annotated[Path | None, opt("Write every comparison to this CSV file.", panel=FILES)]
PeopleFile = Annotated[
    Path | None,
    opt(
        "What people say, to check the judge by: a table with id and score, or one of choices, "
        "such as first, second and winner.",
        "--people",
        panel=FILES,
        metavar="FILE",
    ),
]
AsJson = Annotated[bool, opt("Print one JSON object instead of tables.", "--json", panel=FILES)]
STORE = Path("judgements.sqlite")
StorePath = Annotated[
    Path, opt("Keep the answers in this file; nothing is asked twice.", panel=FILES)
]
SeveralJudges = Annotated[
    bool,
    opt(
        "Allow several judges in one store; with two --judge it is meant anyway.",
        "--several-judges",
        panel=FILES,
    ),
]
Encoding = Annotated[
    str | None, opt("The encoding of a text file, if it is guessed wrongly.", panel=FILES)
]
Sheet = Annotated[
    str | None,
    opt("The sheet of a workbook; by default the first that is not empty.", panel=FILES),
]
