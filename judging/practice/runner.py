"""Answers a batch with a judge on this machine: what a reader without an account runs.

The files are those of `judging.practice.batch`. A judge on this machine is asked for the label
words alone, and the results show them as the likeliest tokens.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from judging.errors import DatasetError, JudgeError
from judging.question import Answer, Prompt, Question, Reader, Text

__all__ = ["answer_batch"]

# What anything else than a request raises where it is taken for one.
NOT_ONE = (AttributeError, DatasetError, KeyError, RecursionError, TypeError, ValueError)
AT_ONCE = 64  # questions that a judge is given together
NEVER = -9999.0  # how results write a label that has no probability


def answer_batch(
    requests: Path, results: Path, judge: Reader, labels: Sequence[str] = ("A", "B")
) -> tuple[int, int]:
    """Append a result to the file for every request that it has none for; how many, and failed.

    Killed at any moment, the file holds every result that was written, and the same call goes on.
    """
    done = set()
    if results.exists():
        content = results.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]  # a line that a kill has cut is written again
        if whole != content:
            with results.open("r+b") as file:  # never the whole file, which another kill would cost
                file.truncate(len(whole))
        done = set(map(_answered, filter(bytes.strip, whole.split(b"\n"))))
    asked, failed, refused = list[tuple[str, Question]](), 0, 0
    with results.open("a", encoding="utf-8") as out:
        # Not splitlines() of a text, which breaks at characters that JSON allows inside one.
        for number, line in enumerate(requests.read_text("utf-8").split("\n"), start=1):
            if not line.strip():
                continue
            try:
                request = json.loads(line)
                key, body = request["custom_id"], request["body"]
                if not isinstance(key, str):
                    raise TypeError("custom_id")
                question = None if key in done else _question(body, labels)
            except NOT_ONE:
                raise JudgeError(f"{requests}, line {number} is no request of a batch") from None
            if key in done:
                continue
            done.add(key)
            if question is None:
                failed += 1
                out.write(_failure(key, "only log-probabilities of one token are answered here"))
            else:
                asked.append((key, question))
        model = str(judge.specification.get("model", judge.specification.get("kind")))
        for begin in range(0, len(asked), AT_ONCE):
            part = asked[begin : begin + AT_ONCE]
            for place, answer in judge.answer([question for _, question in part]):
                key = part[place][0]
                refused += bool(answer.refused)
                out.write(
                    _failure(key, answer.refused)  # no labels were seen, and none ever will be
                    if answer.refused
                    else _result(key, answer, labels, model)
                )
                out.flush()
    return len(asked) - refused, failed + refused


def _answered(line: bytes) -> object:
    """Which request a line of results answers; None where it is damaged: that is asked again."""
    with suppress(ValueError, RecursionError):
        result = json.loads(line)
        if isinstance(result, dict) and isinstance(result.get("custom_id"), str):
            return result["custom_id"]
    return None


def _question(body: dict[str, Any], labels: Sequence[str]) -> Question | None:
    """The question that a request asks; None if it wants what a label's probability is not."""
    if not body.get("logprobs"):
        return None
    turns = {turn["role"]: turn["content"] for turn in body["messages"]}
    prompt = Prompt(
        "batch",
        "{first}",
        tuple(labels),
        prefix=turns.get("assistant", ""),
        system=turns.get("system"),
    )
    return Question(prompt, Text("request", turns["user"]))


def _result(key: str, answer: Answer, labels: Sequence[str], model: str) -> str:
    shares = dict(zip(labels, answer.log_p, strict=True))
    likely = [
        {"token": label, "logprob": value if math.isfinite(value) else NEVER}
        for label, value in sorted(shares.items(), key=lambda pair: -pair[1])
    ]
    best = likely[0]
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": best["token"]},
        "logprobs": {"content": [best | {"top_logprobs": likely}]},
        "finish_reason": "length",
    }
    body = {
        "object": "chat.completion",
        "model": model,
        "choices": [choice],
        "usage": {"prompt_tokens": int(answer.tokens), "completion_tokens": 1},
    }
    return _line(key, {"status_code": 200, "body": body}, None)


def _failure(key: str, why: str) -> str:
    return _line(key, {"status_code": 400, "body": {"error": {"message": why}}}, None)


def _line(key: str, response: dict[str, Any], error: Any) -> str:
    result = {"id": key[:16], "custom_id": key, "response": response, "error": error}
    return json.dumps(result) + "\n"
