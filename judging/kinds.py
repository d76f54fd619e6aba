"""The kinds of judge, one row each: what a name stands for, and what must be known of its answers.

A new kind is a class derived from `Reader` and a row of `KINDS`. What is told beside stored answers
(their unit, a caution) stands in the row and not in the class, because it is needed where the judge
itself is not there: answers in a store know a judge by its specification alone.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib.util import find_spec
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from judging.errors import JudgeError, NoJudgeError, nearest

if TYPE_CHECKING:  # the command line needs the names alone, and at once
    from judging.question import Reader


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of judge.

    form : how it is named, for the help: "hf:MODEL". Only what has a colon in its form
        has something after the colon in its name.
    open : makes one of that rest and the options; imports what it needs itself.
    engines : the values of `kind` in the specifications of its answers. models : a pattern of
        their `model`, without regard to case.
    means : whether what follows the colon can mean a judge with this specification.
    unit : what its answers count as `tokens`. simulated : no language model is behind it.
    caution : what must be said beside a ranking by it; empty where there is nothing to say.
    library : what must be importable to ask it; "" where the package has it all.
    """

    form: str
    open: Callable[[str, dict[str, Any]], Reader]
    engines: tuple[str, ...]
    models: str = "*"
    means: Callable[[str, Mapping[str, str]], bool] = lambda rest, specification: True
    unit: str = "tokens"
    simulated: bool = False
    caution: str = ""
    library: str = ""

    def fits(self, specification: Mapping[str, Any]) -> bool:
        """Tell whether answers with this specification are of this kind."""
        model = str(specification.get("model", "")).lower()
        return specification.get("kind") in self.engines and fnmatchcase(model, self.models.lower())


# How each is opened --------------------------------------------------------------------------


def _qwen(rest: str, options: dict[str, Any]) -> Reader:
    from judging.datasets.models import place
    from judging.judges.llama import LlamaJudge

    return _make(LlamaJudge, place("qwen"), **options)


def _smollm2(rest: str, options: dict[str, Any]) -> Reader:
    from judging.datasets.models import place
    from judging.judges.transformers import TransformersJudge

    return _make(TransformersJudge, str(place("smollm2")), revision=None, **options)


def _gguf(rest: str, options: dict[str, Any]) -> Reader:
    from judging.judges.llama import LlamaJudge

    return _make(LlamaJudge, rest, **options)


def _hf(rest: str, options: dict[str, Any]) -> Reader:
    from judging.judges.transformers import TransformersJudge

    model, at, revision = rest.partition("@")
    if not model or (at and not revision):
        raise JudgeError(f"'hf:{rest}' names no model; write hf:MODEL or hf:MODEL@REVISION")
    return _make(TransformersJudge, model, revision=revision or None, **options)


def _openai(rest: str, options: dict[str, Any]) -> Reader:
    from judging.judges.server import ServerJudge

    if rest.startswith("@"):  # an address alone; its model is an option
        rest = f"{options.pop('model', '')}{rest}"
    # Model names hold slashes and may hold an @; an address starts with its scheme.
    cut = max(rest.rfind("@http://"), rest.rfind("@https://"))
    if cut < 1:
        raise JudgeError(
            f"{rest.removeprefix('@')!r} does not say which model where; write openai:MODEL@URL, "
            "for example openai:my-model@http://localhost:8000/v1"
        )
    return ServerJudge(rest[:cut], rest[cut + 1 :], **options)  # it refuses options by name


def _demo(rest: str, options: dict[str, Any]) -> Reader:
    from judging.judges.demo import DemoJudge

    return _make(DemoJudge, **options)


def _make(kind: Any, *places: Any, **options: Any) -> Reader:
    """The judge, with an option it does not have refused by name."""
    known = inspect.signature(kind).parameters
    extra = [option for option in options if option not in known]
    if extra:
        raise JudgeError(
            f"{kind.__name__} has no option {', '.join(map(repr, extra))}; it has "
            f"{', '.join(p for p in known if p not in ('model', 'path', 'url', 'revision'))}"
        )
    try:
        judge: Reader = kind(*places, **options)
    except TypeError as error:
        given = ", ".join(f"{name}={value!r}" for name, value in options.items())
        raise JudgeError(f"{kind.__name__} cannot take {given}: {error}") from error
    return judge


# What must be said beside what some of them answer -------------------------------------------

SMALL = (
    "SmolLM2 is a very small language model: it prefers what it is shown first in nearly every "
    "call, and its rankings agree with people's weakly or not at all. Its report shows how a "
    "ranking is made and what it costs; do not decide anything by it. The book's page "
    "'Two real judges, three datasets' has the numbers"
)
# Its two numbers are held against data/measured by tests/reproduction/test_qwen.py.
QWEN = (
    "Qwen2.5-Coder-1.5B is a small language model: in dialogues that people scored, 62% of its "
    "single decisions agree with theirs (half would by chance), and its full rankings correlate "
    "with people's at 0.29. Trust it with large differences, not with near neighbours. The "
    "book's page 'Two real judges, three datasets' has the numbers"
)
DEMO = (
    "the judge is a readability formula with an invented position bias and an invented "
    "disturbance. It does not read the question. It shows what a report looks like and is no "
    "evidence about language models"
)

# The first that fits a specification is its kind, so one model stands before its engine.
KINDS: dict[str, Kind] = {
    "qwen": Kind(
        form="qwen",
        open=_qwen,
        engines=("llama.cpp",),
        models="qwen2.5-coder-1.5b-instruct*.gguf",
        caution=QWEN,
        library="xllamacpp",
    ),
    "smollm2": Kind(
        form="smollm2",
        open=_smollm2,
        engines=("transformers", "llama.cpp"),
        models="SmolLM2-135M*",
        caution=SMALL,
        library="transformers",
    ),
    "gguf": Kind(
        form="gguf:FILE",
        open=_gguf,
        engines=("llama.cpp",),
        means=lambda rest, one: one.get("model") == PurePath(rest).name,
    ),
    "hf": Kind(
        form="hf:MODEL",  # or hf:MODEL@REVISION
        open=_hf,
        engines=("transformers",),
        means=lambda rest, one: (
            one.get("model") in (path := rest.partition("@")[0], PurePath(path).name)
        ),
    ),
    "openai": Kind(
        form="openai:MODEL@URL",
        open=_openai,
        engines=("server",),
        means=lambda rest, one: rest.startswith(("@", f"{one.get('model', '')}@")),
    ),
    "demo": Kind(
        form="demo", open=_demo, engines=("demo",), unit="words", simulated=True, caution=DEMO
    ),
}


# Names and specifications ---------------------------------------------------------------------


def forms() -> str:
    """List how judges are named, for help and errors: "qwen, smollm2, gguf:FILE, ... or demo"."""
    *most, last = (kind.form for kind in KINDS.values())
    return f"{', '.join(most)} or {last}"


def named(name: str) -> tuple[Kind, str]:
    """The kind that a judge's name begins with, and the rest; NoJudgeError if there is none.

    The address of a server alone, "http://...", is an openai: judge whose model is an option.
    """
    name = name.strip()
    first, _, rest = name.partition(":")
    if first in ("http", "https"):
        first, rest = "openai", f"@{name}"
    kind = KINDS.get(first)
    if kind is None or (":" in kind.form) != bool(rest):
        meant = _meant(name)
        raise NoJudgeError(
            f"there is no judge {name!r}: {f'did you mean {meant!r}? A' if meant else 'a'} judge "
            f"is named {forms()}; a hosted model goes by its "
            "provider's address (openai:MODEL@https://...), one with another protocol by a proxy "
            "such as LiteLLM"
        )
    return kind, rest


def ready() -> str:
    """List the judges that can be asked on this machine, for a user who named none."""
    from judging.datasets.models import MODELS, cache_dir

    here, lacks = list[str](), list[str]()
    for name, kind in KINDS.items():
        model = MODELS.get(name)
        if ":" in kind.form:
            continue
        if kind.library and find_spec(kind.library) is None:
            lacks.append(f"{name} needs {kind.library}")
        elif model is not None and not (cache_dir() / model.file).is_file():
            lacks.append(f"{name} after `{model.command}` ({model.how_large})")
        else:
            here.append(f"{name} (no language model)" if kind.simulated else name)
    more = f" {'; '.join(lacks)}." if lacks else ""
    return f"Ready here: {', '.join(here)}.{more} All forms: {forms()}."


def _meant(name: str) -> str:
    """The name of a judge that a mistyped one comes near, "" if there is none."""
    first, _, rest = name.partition(":")
    if name.lower().endswith(".gguf") and not rest:
        return f"gguf:{name}"
    if name.count("/") == 1 and not rest:  # as the hub of models names its own
        return f"hf:{name}"
    near = nearest(first, KINDS)
    if not near or ":" not in KINDS[near].form:
        return near
    return f"{near}:{rest}" if rest else KINDS[near].form


def is_light(name: str) -> bool:
    """Tell whether a judge of that name loads no model; False for what is no name."""
    try:
        return named(name)[0].engines in (("server",), ("demo",))
    except NoJudgeError:
        return False


def make(name: str, options: Mapping[str, Any]) -> Reader:
    """The judge that a name stands for; NoJudgeError if it is unavailable."""
    kind, rest = named(name)
    try:
        return kind.open(rest, dict(options))
    except JudgeError as error:
        raise NoJudgeError(str(error)) from error


def means(name: str, specification: Mapping[str, str]) -> bool:
    """Tell whether a judge of that name can have this specification; False for no name."""
    try:
        kind, rest = named(name)
    except NoJudgeError:
        return False
    return kind.fits(specification) and kind.means(rest, specification)


def kind_of(specification: Mapping[str, Any]) -> Kind | None:
    """The kind of judge that has this specification, None for a class without a row."""
    return next((kind for kind in KINDS.values() if kind.fits(specification)), None)


def unit(specification: Mapping[str, Any]) -> str:
    """Name what the answers of a judge count: "tokens" or "words"."""
    kind = kind_of(specification)
    return "tokens" if kind is None else kind.unit


def simulated(specification: Mapping[str, Any]) -> bool:
    """Tell whether no language model is behind these answers."""
    kind = kind_of(specification)
    return kind is not None and kind.simulated


def cautions(specification: Mapping[str, Any]) -> list[str]:
    """List the cautions to print beside a ranking by this judge, if any."""
    kind = kind_of(specification)
    return [kind.caution] if kind is not None and kind.caution else []
