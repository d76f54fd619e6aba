"""How a server is asked: what may be set, and what goes into a request."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from judging.errors import JudgeError
from judging.judges.control_tokens import broken
from judging.question import Question

SAMPLED_TOKENS = 8  # enough for "Summary A", "**A**", "Answer: A"


@dataclass(frozen=True, kw_only=True)
class ServerOptions:
    """How a `ServerJudge` asks; those from `prefix` to `options` are in its specification.

    prefix : how a prompt's answer prefix ("Summary") is passed to a chat model. "ask" works
        everywhere: the prefix is left out, and `instruction` asks for one word; the
        model is then asked something slightly different from the prompt. "continue" has
        the model go on with an answer that begins so (continue_final_message, which vLLM, SGLang
        and llama.cpp know). Hosted models mostly refuse it; where a server ignores it, a warning
        says that little probability is on the labels.
    instruction : the sentence added by "ask"; {labels} becomes "A or B". "" adds none.
    draws : 0 for log-probabilities; otherwise the number of sampled answers that are counted,
        for servers without log-probabilities.
    top : likeliest tokens asked for; 20 is the most that many servers give. A label that is not
        among them counts as probable as it can be where it is not: as the least likely of them.
    temperature : by default 0, or 1 with draws.
    options : more fields for the request, as a dictionary or JSON; None (null) removes one
        (`{"top_logprobs": None}`). A model that thinks before it answers
        has no label among its first tokens: turn that off, for Qwen3 behind vLLM by
        `{"chat_template_kwargs": {"enable_thinking": False}}`, or let it think and count what it
        says after </think>: draws=10 and `{"max_tokens": 4000}`.
    server : a name that stands for the address in the specification, so that a server which
        moves (a cluster's node) stays the same judge.
    key_env : name of the environment variable that holds the API key; it is read from nowhere
        else, and neither stored nor shown. By default OPENAI_API_KEY where it is set, over
        https or to this machine; over plain http to another machine only if named here.
    concurrency : calls at a time. timeout : seconds per call. patience : seconds for a call with
        all its retries (after 429, 5xx, timeouts, lost connections, garbled replies).
    limit_calls, limit_tokens : never exceeded, retries included; the run stops with
        SpendingLimitError before it would be.
    """

    prefix: str = "ask"
    instruction: str = "Answer with one word: {labels}."
    draws: int = 0
    top: int = 20
    temperature: float | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    server: str | None = None
    key_env: str | None = None
    concurrency: int = 8
    timeout: float = 60.0
    patience: float = 300.0
    limit_calls: int | None = None
    limit_tokens: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", _request_fields(self.options))
        warmth = self.temperature
        if warmth is None:
            warmth = 1.0 if self.draws else 0.0
            object.__setattr__(self, "temperature", warmth)
        for name, fits, form in (
            ("prefix", self.prefix in ("ask", "continue"), "'ask' or 'continue'"),
            ("draws", _whole(self.draws, 0), "a whole number of at least 0"),
            ("top", _whole(self.top, 1), "a whole number of at least 1"),
            ("concurrency", _whole(self.concurrency, 1), "a whole number of at least 1"),
            ("timeout", 0 < self.timeout < math.inf, "a number of seconds"),
            ("patience", 0 < self.patience < math.inf, "a number of seconds"),
            ("temperature", 0 <= warmth < math.inf, "a number of at least 0"),
            ("temperature", warmth != 0 or not self.draws, "above 0 for draws to differ"),
        ):
            if not fits:
                raise JudgeError(f"{name} is {form}, not {getattr(self, name)!r}")

    @property
    def written(self) -> int:
        """Most tokens that the model may write in one call."""
        given = [self.options.get(name) for name in ("max_completion_tokens", "max_tokens")]
        most = max((int(n) for n in given if n), default=SAMPLED_TOKENS if self.draws else 1)
        return most * max(self.draws, 1)

    @property
    def most_written(self) -> float:
        """The same, infinite where the request names no most."""
        names = ("max_tokens", "max_completion_tokens")
        dropped = "max_tokens" in self.options or "max_completion_tokens" in self.options
        open_end = dropped and not any(self.options.get(name) for name in names)
        return math.inf if open_end else self.written

    def body(self, question: Question, model: str, *, draws: int = 1) -> dict[str, Any]:
        """The request for one question, `draws` sampled answers at once."""
        prompt, turn = question.prompt, broken(question.text)
        if self.prefix == "ask" and self.instruction:
            labels = f"{', '.join(prompt.labels[:-1])} or {prompt.labels[-1]}"
            turn = f"{turn}\n\n{self.instruction.replace('{labels}', labels)}"
        messages = [{"role": "system", "content": prompt.system}] if prompt.system else []
        messages.append({"role": "user", "content": turn})
        body: dict[str, Any] = {"model": model, "temperature": self.temperature}
        if self.draws:
            body |= {"n": draws, "max_tokens": SAMPLED_TOKENS}
        else:
            body |= {"max_tokens": 1, "logprobs": True, "top_logprobs": self.top}
        if self.prefix == "continue" and prompt.prefix:
            messages.append({"role": "assistant", "content": prompt.prefix})
            body |= {"continue_final_message": True, "add_generation_prompt": False}
        body["messages"] = messages
        if "max_completion_tokens" in self.options:  # the newer name; no server takes both
            del body["max_tokens"]
        body |= self.options
        return {name: value for name, value in body.items() if value is not None}

    def specification(self) -> dict[str, str]:
        """Collect the options that change answers."""
        given = {
            "ignore_case": "False",  # was an option once, as the next one, and is in old stores
            "endpoint": "chat",
            "answers": f"{self.draws} draws" if self.draws else "log-probabilities",
            "temperature": f"{self.temperature:g}",
            "prefix": self.prefix,
        }
        if not self.draws:
            given["top"] = str(self.top)
        if self.prefix == "ask":
            given["instruction"] = self.instruction
        return given | {f"option {name}": repr(value) for name, value in self.options.items()}


def _whole(value: object, least: int) -> bool:
    return type(value) is int and value >= least


def _request_fields(options: object) -> dict[str, Any]:
    """More fields of the request, from a dictionary or JSON; refused if they look secret."""
    try:
        fields = json.loads(options) if isinstance(options, str) else options
        text = json.dumps(fields, allow_nan=False)
    except (TypeError, ValueError):
        fields = text = None
    if not isinstance(fields, Mapping):
        raise JudgeError(
            'options are fields of the request in JSON, such as {"max_completion_tokens": 1}'
        )
    if secret := re.search(r'(?i)"([^"]*(?:key|secret|authoriz|password)[^"]*)":', str(text)):
        raise JudgeError(
            f"options are stored and shown, so {secret[1]!r} is no place for a secret; name an "
            "environment variable with the option key_env"
        )
    return dict(fields)
