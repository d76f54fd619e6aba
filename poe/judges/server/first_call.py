"""What one call of a few tokens tells about a server."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from poe.judges.questions import Prompt, Question, Text
from poe.judges.server import replies
from poe.judges.server.caller import Caller
from poe.judges.server.failures import ServerError
from poe.judges.server.style import Style

FIRST_CALL = Question(
    Prompt("the first call", "{first}", labels=("A", "B"), prefix="Answer"),
    Text("a test", "Say A."),
)


def introduce(caller: Caller, style: Style) -> None:
    """Find out which model answers, what a call costs at least, and what the server can do.

    Raises ServerError if it is not there, is none, or gives no log-probabilities where they are
    wanted.
    """
    found = caller.introduce(style.body(FIRST_CALL))
    if not style.draws and replies.next_token(found["choices"][0]) is None:
        raise ServerError(no_log_probabilities(caller.address.name, style.model))
    if style.endpoint == "chat" and style.prefix == "continue":
        _check_continued(found, caller, style)
    caller.remember(found)


def _check_continued(found: Mapping[str, Any], caller: Caller, style: Style) -> None:
    """Warn if an answer's beginning seems to be taken for a whole answer.

    A continued answer makes the prompt one word longer than none does; one that is closed, with
    another begun after it, costs the marks in between as well.
    """
    prompt = replace(FIRST_CALL.prompt, prefix="")
    plain = caller.introduce(style.body(replace(FIRST_CALL, prompt=prompt)))
    longer, shorter = replies.tokens(found), replies.tokens(plain)
    if longer and shorter and longer[0] - shorter[0] > 2:
        warnings.warn(
            f"{caller.address.name} seems to ignore continue_final_message (the word "
            f"{FIRST_CALL.prompt.prefix!r} cost {longer[0] - shorter[0]} tokens), so the model "
            "would not go on from the answer prefix; use prefix='ask' or endpoint='completions', "
            "unless you know that its template adds these tokens",
            stacklevel=5,
        )


def no_log_probabilities(server: str, model: str) -> str:
    """What to do about a server without them."""
    return (
        f"{server} gives no log-probabilities for {model}; sample answers instead with draws=20 "
        "(20 short answers a question, or 20 calls where the server gives one at a time)"
    )
