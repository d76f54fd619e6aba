"""What the commands share: the app, options made of settings, and the options of several."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from judging import kinds
from judging.errors import JudgeError, nearest
from judging.practice.cli.examples import EXAMPLES, FIRST
from judging.practice.cli.exits import in_words
from judging.practice.ranking.settings import JUDGE
from judging.practice.setting import SET, Setting, kind, of, setting

FILES = "Files"
RARE = "Rarely needed: --set NAME=VALUE, or NAME alone for a switch; a line of a --config file too"
AMONG: dict[str, Callable[[], Sequence[str]]] = {}  # names that an option takes, by its parameter


class _Shown:
    """Help without noise: a flag has no type beside it; names are looked up when they are shown."""

    def get_params(self, ctx: Any) -> list[Any]:
        params = super().get_params(ctx)  # type: ignore[misc]
        for one in params:
            if getattr(one, "is_flag", False):
                one.metavar = ""
            if one.name in AMONG and ": " not in (one.help or ""):
                one.help = f"{one.help.rstrip('.')}: {_or(AMONG[one.name]())}."
        return list(params)


class Command(_Shown, TyperCommand):
    """A command: examples at the head, a short help with -h, and rare settings behind --set."""

    def __init__(self, name: str | None, **more: Any) -> None:
        super().__init__(name, **more)
        self.context_settings = {**self.context_settings, "help_option_names": ["--help"]}
        function = getattr(self.callback, "__name__", "")
        examples = EXAMPLES.get(name or "") or EXAMPLES.get(function, "")
        first, *rest = (" ".join(part.split()) for part in (self.help or "").split("\n\n"))
        self.help = "\n\n".join([first, *filter(None, [examples.strip()]), *rest])
        self.first = FIRST.get(function, "").split()

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read `--set NAME=VALUE` as the option `--set NAME`."""
        found, words = list[str](), iter(args)
        for word in words:
            if word == "-h":
                self.show_first(ctx)
            if word == "--":
                found += [word, *words]
                break
            if word == "--set" or word.startswith("--set="):
                given = word[6:] or next(words, "")
                name, equals, value = given.removesuffix("=true").partition("=")
                word = f"{SET}{name.replace('_', '-')}{equals}{value}"
            found.append(word)
        self.require_values(ctx, found)
        return list(super().parse_args(ctx, found))

    def require_values(self, ctx: Any, words: Sequence[str]) -> None:
        """Refuse an option that another option follows, or nothing, in place of its value."""
        options = {name: one for one in self.params for name in one.opts if name[:2] == "--"}
        for word, after in pairwise([*words, "--"]):
            if word == "--":
                return
            one = options.get(word)
            bare = one is None or getattr(one, "is_flag", False) or getattr(one, "count", False)
            if one is not None and not bare and (after == "--" or after in options):
                ctx.fail(f"Option {word!r} requires an argument, {one.metavar or 'a value'}.")

    def show_first(self, ctx: Any) -> None:
        """Show what most people need, and end."""
        if self.first:
            for one in self.params:
                if isinstance(one, TyperOption):
                    one.hidden = one.name not in self.first
            self.epilog = f"{ctx.command_path} --help shows all options."
        typer.echo(ctx.get_help())
        ctx.exit()


class Group(_Shown, TyperGroup):
    """Commands, their help without noise."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command of that name; what there is, where none comes near."""
        try:
            return super().resolve_command(ctx, args)
        except Exception as error:  # click's own copy inside typer has no public name
            said = getattr(error, "message", "")
            if said and "Did you mean" not in said:
                there = f"There are {', '.join(self.commands)}."
                hint = kinds.ready() if args[0] in ("judges", "models") else there
                error.message = f"{said} {hint}"  # type: ignore[attr-defined]
            raise


app = typer.Typer(
    cls=Group,
    help="Judging by comparison: products of experts for LLM judges. COMMAND -h shows what most "
    "people need of it, COMMAND --help everything.",
    epilog=in_words(),
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
store_app = typer.Typer(
    cls=Group, help="List, merge or fill judgement stores.", no_args_is_help=True
)
data_app = typer.Typer(cls=Group, help="List or fetch the datasets.", no_args_is_help=True)
app.add_typer(store_app, name="store")
app.add_typer(data_app, name="data")

# Options of settings --------------------------------------------------------------------------


def opt(text: str, *names: str, panel: str | None = None, **more: Any) -> Any:
    """An option and its line of help."""
    rare = bool(names) and names[0].startswith(SET)
    return typer.Option(*names, help=text, rich_help_panel=RARE if rare else panel, **more)


def takes(**only: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command an option for every field of the settings that it takes.

    A parameter annotated with a dataclass of settings becomes its options, and is handed over
    whole. only : names of the fields that the command has, in one string, where it has not all; the
    others keep their defaults.
    """

    def with_options(function: Callable[..., Any]) -> Callable[..., Any]:
        hints = typing.get_type_hints(function, include_extras=True)
        signature = inspect.signature(function)
        options, groups = list[inspect.Parameter](), dict[str, tuple[Any, list[str]]]()
        for name, one in signature.parameters.items():
            if not hasattr(hints[name], "__dataclass_fields__"):
                alone = inspect.Parameter.KEYWORD_ONLY
                options.append(one.replace(annotation=hints[name], kind=alone))
                continue
            fields = [n for n, (_, s) in of(hints[name]).items() if s.flag]
            if name in only:
                fields = only[name].split()
            groups[name] = hints[name], fields
            options += [_parameter(hints[name], field) for field in fields]

        def run(**given: Any) -> Any:
            for name, (cls, fields) in groups.items():
                given[name] = cls(**{field: given.pop(field) for field in fields})
            return function(**given)

        run.__name__, run.__doc__ = function.__name__, function.__doc__
        run.__module__ = function.__module__
        ordered = sorted(options, key=_rare)
        run.__signature__ = signature.replace(parameters=ordered)  # type: ignore[attr-defined]
        run.__annotations__ = {one.name: one.annotation for one in ordered}
        return run

    return with_options


def _rare(one: inspect.Parameter) -> bool:
    """Whether an option is set with --set."""
    (said,) = one.annotation.__metadata__
    return str(said.default).startswith(SET)


def _parameter(cls: Any, name: str) -> inspect.Parameter:
    """The command's parameter of a field."""
    field, said = of(cls)[name]
    default = field.default_factory() if callable(field.default_factory) else field.default
    option = opt(
        said.text,
        said.flag,
        panel=said.panel,
        metavar=said.metavar,
        min=said.least,
        max=said.most,
        parser=_parser(said),
    )
    if said.among is not None:
        AMONG[name] = said.among
    alone, kept = inspect.Parameter.KEYWORD_ONLY, Annotated[kind(cls, name), option]
    return inspect.Parameter(name, alone, default=default, annotation=kept)


def _parser(said: Setting) -> Callable[[str], Any] | None:
    """What reads the words of an option; what is wrong with them is said as of any other."""
    parse, among = said.parse, said.among
    if parse is None and among is None:
        return None

    def read(text: Any) -> Any:
        if not isinstance(text, str):
            return text
        if among is not None and text not in among():
            raise typer.BadParameter(f"{text!r} is none of {_or(among())}")
        try:
            return text if parse is None else parse(text)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None

    return read


def _or(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"


# Settings of the command alone ----------------------------------------------------------------

# In the terminal's help what stands in square brackets would be read as a colour.
FORMS = f"{kinds.forms()}; hf:MODEL@REVISION pins a version."
DRY = "With --dry-run it is a list of judges with calls (at most), stored, tokens, seconds, cost."
STORE = Path("judgements.sqlite")
JSON = "Print one JSON object instead of tables."


@dataclass(frozen=True, kw_only=True)
class Phrasing:
    """How the question is put."""

    thing: str = setting(
        "text", 'What the prompt calls the texts, such as "essay".', flag="--thing"
    )
    wording: Path | None = setting(
        None,
        "A TOML file with the question in your own words: text, in which the words first, second "
        "and, if there is one, context stand in braces where the texts go; optionally labels, "
        "prefix and system.",
        flag="--wording",
        metavar="FILE",
    )


@dataclass(frozen=True, kw_only=True)
class Calling:
    """How a judge is opened and asked, and what keeps its answers."""

    dry_run: bool = setting(
        False, "Only estimate calls, tokens, time and cost; nothing is asked.", flag="--dry-run"
    )
    store: Path = setting(
        STORE, "Keep the answers in this file; nothing is asked twice.", flag="--store", panel=FILES
    )
    quiet: bool = setting(False, "Show no progress.", flag="--quiet")
    verbose: bool = setting(
        False,
        "Print all that is known of the ranking and what it rests on, as the report has it.",
        flag="--verbose",
    )
    judge_option: list[str] = setting(
        list,
        "An option of the judge, such as dtype=float32; may be repeated.",
        flag="--judge-option",
        panel=JUDGE,
        metavar="NAME=VALUE",
    )
    batch: Path | None = setting(
        None,
        "Write what is to be asked to this file in the batch format of hosted providers and vLLM, "
        "instead of asking; `judging store import` takes the results. Not with --offline or "
        "limits.",
        flag="--batch",
        panel=JUDGE,
        metavar="FILE",
    )
    seed: int = setting(0, "The seed of all random choices.", flag=SET + "seed", least=0)


@dataclass(frozen=True, kw_only=True)
class Files:
    """What is written, beside the terminal."""

    report: Path | None = setting(
        None,
        "Write the report to this HTML file, which needs no network.",
        flag="--report",
        panel=FILES,
    )
    out: Path | None = setting(
        None, "Write scores and intervals to this CSV file.", flag="--out", panel=FILES
    )
    comparisons: Path | None = setting(
        None, "Write every comparison to this CSV file.", flag="--comparisons", panel=FILES
    )
    as_json: bool = setting(False, JSON, flag="--json", panel=FILES)


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How a table is read."""

    encoding: str | None = setting(
        None, "The encoding of a text file, if it is guessed wrongly.", flag=SET + "encoding"
    )
    sheet: str | None = setting(
        None,
        "The sheet of a workbook; by default the first that is not empty.",
        flag=SET + "sheet",
    )
    tie_word: list[str] = setting(
        list,
        "A word for a tie in the column that says who won; may be repeated.",
        flag=SET + "tie-word",
        metavar="WORD",
    )
    skip_word: list[str] = setting(
        list,
        "A word in that column by which a row is left out; may be repeated.",
        flag=SET + "skip-word",
        metavar="WORD",
    )

    @property
    def file(self) -> dict[str, Any]:
        """How any table is read."""
        return {"encoding": self.encoding, "sheet": self.sheet}

    @property
    def words(self) -> dict[str, Any]:
        """How one is read that says who won."""
        return {"tie_word": self.tie_word, "skip_word": self.skip_word}


JudgeName = Annotated[str, opt(f"The judge: {FORMS}", "--judge", metavar="JUDGE")]
AsJson = Annotated[bool, opt(JSON, "--json", panel=FILES)]
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
# Columns --------------------------------------------------------------------------------------


def columns(meanings: dict[str, str]) -> Any:
    """An option that names the columns of a table whose names are others."""
    each = "; ".join(f"{name}: {meaning}" for name, meaning in meanings.items())
    return opt(
        f"Read a column by another name, as in {next(iter(meanings))}=Answer; may be repeated. "
        f"There are {each}.",
        "--column",
        metavar="NAME=COLUMN",
    )


def named(given: Sequence[str], meanings: dict[str, str]) -> dict[str, Any]:
    """The column of every name, None where it is not told."""
    found = dict[str, str | None].fromkeys(meanings)
    for text in given:
        name, equals, column = text.partition("=")
        if not equals or name not in meanings:
            near = nearest(name, list(meanings))
            hint = f"did you mean {near}?" if near else f"there are {_or(list(meanings))}"
            raise JudgeError(f"--column {text!r} is not NAME=COLUMN; {hint}")
        found[name] = column
    return found
