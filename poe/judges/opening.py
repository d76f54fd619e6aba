"""A judge from the text by which the command line names it."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from poe.errors import JudgeError
from poe.judges.questions import Reader

FORMS = "hf:MODEL[@REVISION], openai:MODEL@URL or demo"


def open_judge(name: str, **options: Any) -> Reader:
    """The judge that a name stands for; the options go to its class.

    "hf:MODEL" or "hf:MODEL@REVISION" : a transformers model, from the hub or a folder
        (`poe.judges.transformers.TransformersJudge`).
    "openai:MODEL@URL" : an OpenAI-compatible server (`poe.judges.server.ServerJudge`).
    "demo" : readability by a formula, not a language model (`poe.judges.demo.DemoJudge`).

    Raises JudgeError if the name has none of these forms, an option does not exist, or what
    the judge needs is not installed.
    """
    check_name(name)
    kind, _, rest = name.strip().partition(":")
    return {"hf": _transformers, "openai": _server, "demo": _demo}[kind](rest, options)


def check_name(name: str) -> None:
    """Raise JudgeError unless a judge can have this name; nothing is loaded."""
    kind, _, rest = name.strip().partition(":")
    if kind not in ("hf", "openai", "demo") or (kind == "demo") != (rest == ""):
        raise JudgeError(f"there is no judge {name!r}: a judge is named {FORMS}")


def _transformers(rest: str, options: dict[str, Any]) -> Reader:
    lacking = [module for module in ("torch", "transformers") if find_spec(module) is None]
    if lacking:
        raise JudgeError(
            f"a transformers model needs {' and '.join(lacking)}, which "
            f"{'is' if len(lacking) == 1 else 'are'} not installed; install them with "
            "pip install 'judging-by-comparison[judge]', or use a server, openai:MODEL@URL"
        )
    from poe.judges.transformers import TransformersJudge

    model, at, revision = rest.partition("@")
    if not model or (at and not revision):
        raise JudgeError(f"'hf:{rest}' names no model; write hf:MODEL or hf:MODEL@REVISION")
    return _made(TransformersJudge, model, revision=revision or None, **options)


def _server(rest: str, options: dict[str, Any]) -> Reader:
    from poe.judges.server import ServerJudge

    # Model names hold slashes and may hold an @; an address starts with its scheme.
    cut = max(rest.rfind("@http://"), rest.rfind("@https://"))
    if cut < 1:
        raise JudgeError(
            f"'openai:{rest}' does not say which model where; write openai:MODEL@URL, for example "
            "openai:my-model@http://localhost:8000/v1"
        )
    return ServerJudge(rest[:cut], rest[cut + 1 :], **options)  # it refuses options by name


def _demo(rest: str, options: dict[str, Any]) -> Reader:
    from poe.judges.demo import DemoJudge

    return _made(DemoJudge, **options)


def _made(kind: Any, *places: Any, **options: Any) -> Reader:
    """The judge, with an option it does not have refused by name."""
    import inspect

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
