"""How a question is put to a server."""

from __future__ import annotations

import re
import string
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from poe.judges.questions import Prompt, Question

ONE_WORD = "Answer with one word: {labels}."
JOINED = "{system}{turn}\n{prefix}"
SAMPLED_TOKENS = 8  # enough for "Summary A", "**A**", "Answer: A"


@dataclass(frozen=True)
class Style:
    """Everything about the requests; see `ServerJudge` for the meaning of the fields."""

    model: str
    endpoint: str = "chat"
    prefix: str = "ask"
    instruction: str = ONE_WORD
    frame: str = JOINED
    draws: int = 0
    top: int = 20
    temperature: float = 0.0
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.endpoint not in ("chat", "completions"):
            raise ValueError(f"endpoint is 'chat' or 'completions', not {self.endpoint!r}")
        if self.prefix not in ("ask", "continue"):
            raise ValueError(f"prefix is 'ask' or 'continue', not {self.prefix!r}")
        if self.draws < 0 or self.top < 1:
            raise ValueError("draws must be at least 0, and top at least 1")
        secret = [name for name in self.options if re.search("key|secret|authoriz|password", name)]
        if secret:
            raise ValueError(
                f"options are stored and shown, so {secret[0]!r} is no place for a secret; name an "
                "environment variable with key_env="
            )
        if self.draws and not self.temperature:
            raise ValueError("at temperature 0 all draws are the same; leave it out, or say 1")
        places = {name for _, name, _, _ in string.Formatter().parse(self.frame) if name}
        if "turn" not in places or not places <= {"system", "turn", "prefix"}:
            raise ValueError("frame needs {turn}, and may have {system} and {prefix}")

    @property
    def path(self) -> str:
        """Where requests go, below the server's URL."""
        return "/chat/completions" if self.endpoint == "chat" else "/completions"

    @property
    def written(self) -> int:
        """Most tokens that the model may write in one call."""
        given = (self.options.get(name) for name in ("max_completion_tokens", "max_tokens"))
        most = max((int(n) for n in given if n), default=SAMPLED_TOKENS if self.draws else 1)
        return most * max(self.draws, 1)

    def body(self, question: Question, *, draws: int = 1) -> dict[str, Any]:
        """The request for one question, `draws` sampled answers at once."""
        prompt, turn = question.prompt, question.text
        if self.endpoint == "chat":
            body = self._messages(prompt, turn)
        else:
            system = f"{prompt.system}\n\n" if prompt.system else ""
            whole = self.frame.format(system=system, turn=turn, prefix=prompt.prefix)
            body = {"prompt": whole}
        body |= {"model": self.model, "temperature": self.temperature}
        if self.draws:
            body |= {"n": draws, "max_tokens": SAMPLED_TOKENS}
        elif self.endpoint == "chat":
            body |= {"max_tokens": 1, "logprobs": True, "top_logprobs": self.top}
        else:
            body |= {"max_tokens": 1, "logprobs": self.top}
        body |= self.options
        return {name: value for name, value in body.items() if value is not None}

    def _messages(self, prompt: Prompt, turn: str) -> dict[str, Any]:
        messages = [{"role": "system", "content": prompt.system}] if prompt.system else []
        if self.prefix == "ask" and self.instruction:
            turn = f"{turn}\n\n{self.instruction.replace('{labels}', _spell(prompt.labels))}"
        messages.append({"role": "user", "content": turn})
        if self.prefix == "ask" or not prompt.prefix:
            return {"messages": messages}
        messages.append({"role": "assistant", "content": prompt.prefix})
        return {
            "messages": messages,
            "continue_final_message": True,
            "add_generation_prompt": False,
        }

    def specification(self) -> dict[str, str]:
        """The part of a judge's specification that is about requests."""
        found = {
            "endpoint": self.endpoint,
            "answers": f"{self.draws} draws" if self.draws else "log-probabilities",
            "temperature": f"{self.temperature:g}",
        }
        if not self.draws:
            found["top"] = str(self.top)
        if self.endpoint == "completions":
            found["frame"] = self.frame
        else:
            found["prefix"] = self.prefix
            if self.prefix == "ask":
                found["instruction"] = self.instruction
        return found | {f"option {name}": repr(value) for name, value in self.options.items()}


def _spell(labels: tuple[str, ...]) -> str:
    """A or B; 1, 2 or 3."""
    return f"{', '.join(labels[:-1])} or {labels[-1]}"
