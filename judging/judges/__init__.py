"""Judges: whatever answers "which of these two is better?" with a probability.

A *reader* is given questions about texts (`Reader`): a language model, a server, the demo. A
judge of *positions* is a function of (K, 2) positions that gives K probabilities, which is what
`judging.rank` asks: `SimulatedJudge(...).answer`, or `TextJudge(...).answer`, which puts texts to a
reader and keeps its answers in a `Store`. `open` makes a reader from its name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from judging import kinds, prompts
from judging.judges.asking import TextJudge
from judging.question import Answer, Prompt, Question, Reader, Text
from judging.store import Store

if TYPE_CHECKING:
    from judging.judges.server import ServerJudge

__all__ = [
    "Answer",
    "Prompt",
    "Question",
    "Reader",
    "ServerJudge",
    "Store",
    "Text",
    "TextJudge",
    "check_name",
    "open",
    "prompts",
]


def open(name: str, **options: Any) -> Reader:
    """The judge that a name stands for, as on the command line.

    Parameters
    ----------
    name
        "qwen", Qwen2.5-Coder-1.5B-Instruct on this machine's processor
        (`judging data fetch qwen`; `judging.judges.llama.LlamaJudge`).
        "smollm2", SmolLM2-135M-Instruct, ten times smaller, for tests and tiny machines
        (`judging data fetch smollm2`).
        "gguf:FILE", any GGUF file, on llama.cpp (`judging.judges.llama.LlamaJudge`).
        "hf:MODEL" or "hf:MODEL@REVISION", a transformers model, from the hub, a folder or a GGUF
        file (`judging.judges.transformers.TransformersJudge`).
        "openai:MODEL@URL", or "http://..." with the option model, an OpenAI-compatible server
        (`judging.judges.server.ServerJudge`).
        "demo", readability by a formula, not a language model (`judging.judges.demo.DemoJudge`).
    options
        Go to the judge's class.

    Raises
    ------
    NoJudgeError
        If the name has none of these forms, an option does not exist, or what the judge needs is
        not there.

    Examples
    --------
    >>> judging.open("demo").specification["kind"]
    'demo'
    """
    return kinds.make(name, options)


def check_name(name: str) -> None:
    """Raise NoJudgeError unless a judge can have this name; nothing is loaded."""
    kinds.named(name)


def __getattr__(name: str) -> Any:
    if name == "ServerJudge":  # its libraries take longer to import than all the rest
        from judging.judges.server import ServerJudge

        return ServerJudge
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
