"""What `vllm run-batch` takes and gives, read off its source: it needs a GPU and is not run here.

Requests: BatchRequestInput in vllm/entrypoints/openai/run_batch.py of github.com/vllm-project/vllm
at 0056ae7b2144abbc7b4916a43491c154567e0b76, and the body's ChatCompletionRequest in
vllm/entrypoints/openai/chat_completion/protocol.py at 002032ee2b18e1f7bd924ec47b62504ba3866063;
how many likely tokens are listed at most, in vllm/config/model.py at
0052a5b818980ce8a0477706aaf9f75bd5af72cd.
Fields that these do not name are taken, ignored, and told in a warning of the engine, so a field
that is misspelt would change nothing: here it is a fault.
"""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from judging.practice.batch import import_results
from judging.practice.cli import main
from judging.store import Store
from tests.judge_server import complete

NOWHERE = "http://127.0.0.1:9/v1"
LINE = {"custom_id": str, "method": str, "url": str, "body": dict}
BODY = {
    "messages": list, "model": str, "temperature": float, "logprobs": bool, "top_logprobs": int,
    "max_tokens": int, "max_completion_tokens": int, "n": int, "seed": int, "top_p": float,
    "continue_final_message": bool, "add_generation_prompt": bool, "chat_template_kwargs": dict,
}  # fmt: skip
ROLES = {"system", "user", "assistant"}
MOST_LISTED = 20  # of the likeliest tokens, unless the engine is started with --max-logprobs


def faults(line: str) -> list[str]:
    """What vLLM would refuse in a line, or pass over."""
    request = json.loads(line)
    found = [f"no {name}" for name in LINE if name not in request]
    found += wrong(request, LINE)
    if found:
        return found
    body = request["body"]
    if (request["method"], request["url"]) != ("POST", "/v1/chat/completions"):
        found.append("another endpoint")
    found += ["no messages"] if not body.get("messages") else []
    found += wrong(body, BODY)
    for turn in body.get("messages", []):
        if turn.keys() != {"role", "content"} or turn["role"] not in ROLES:
            found.append("a turn")
        elif not (isinstance(turn["content"], str) and turn["content"]):
            found.append("no text in a turn")
    if found:
        return found
    if body.get("top_logprobs", 0) and not body.get("logprobs"):
        found.append("top_logprobs without logprobs")
    if not 0 <= body.get("top_logprobs", 0) <= MOST_LISTED:
        found.append("too many top_logprobs")
    if body.get("continue_final_message") and body.get("add_generation_prompt", False):
        found.append("both ends of the last turn")
    if min(body.get(name, 1) for name in ("n", "max_tokens", "max_completion_tokens")) < 1:
        found.append("nothing asked for")
    return found + (["a negative temperature"] if body.get("temperature", 1.0) < 0.0 else [])


def wrong(given: dict[str, Any], table: dict[str, type]) -> list[str]:
    """Fields that are not known, or of another type; a float may be whole."""
    found = [f"{name} is not known" for name in given.keys() - table]
    for name in given.keys() & table.keys():
        kinds = (int, float) if table[name] is float else (table[name],)
        if type(given[name]) not in kinds:
            found.append(f"{name} is no {table[name].__name__}")
    return found


@pytest.fixture
def tables(folder):
    pd.DataFrame({"text": [f"the text „{k}“\u2028" for k in range(8)]}).to_csv("texts.csv")
    rows = [(s, f"say {k}", f"answer {s} to {k}") for s in "xyz" for k in range(12)]
    pd.DataFrame(rows, columns=["system", "prompt", "answer"]).to_csv("answers.csv", index=False)
    return folder


COMMANDS = {
    "rank": ["rank", "texts.csv", "--attribute", "better"],
    "leaderboard": ["leaderboard", "answers.csv", "--budget", "30"],
    "ask": ["ask", "texts.csv", "better"],
}
OPTIONS = {
    "as it is": [],
    "draws": ["draws=5"],
    "continue": ["prefix=continue"],
    "fewer": ["top=5", "temperature=0.5"],
    "newer name": ['options={"max_completion_tokens": 1, "seed": 3}'],
    "thinking off": ['options={"chat_template_kwargs": {"enable_thinking": false}}'],
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_every_line_that_is_written_is_one_that_vllm_takes(tables, command, options):
    more = [word for option in options for word in ("--judge-option", option)]
    batch = ["--judge", f"openai:tiny@{NOWHERE}", "--batch", "q.jsonl", "--store", "s.sqlite"]
    assert main([*command, *more, *batch, "--quiet"]) == 4
    lines = (tables / "q.jsonl").read_text("utf-8").splitlines()
    assert {one for line in lines for one in faults(line)} == set()
    keys = [json.loads(line)["custom_id"] for line in lines]
    assert len(keys) == len(set(keys)) >= 8


SOUND = {
    "custom_id": "k", "method": "POST", "url": "/v1/chat/completions",
    "body": {"model": "m", "messages": [{"role": "user", "content": "which?"}], "temperature": 0.0,
             "max_tokens": 1, "logprobs": True, "top_logprobs": 20},
}  # fmt: skip
BROKEN: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "no key": (lambda one: one.pop("custom_id"), "no custom_id"),
    "another url": (lambda one: one.update(url="/v1/completions"), "another endpoint"),
    "a body as text": (lambda one: one.update(body="{}"), "body is no dict"),
    "no turns": (lambda one: one["body"].pop("messages"), "no messages"),
    "a turn of nobody": (lambda one: one["body"]["messages"][0].update(role="judge"), "a turn"),
    "misspelt": (lambda one: one["body"].update(max_token=1), "max_token is not known"),
    "a number as text": (lambda one: one["body"].update(n="5"), "n is no int"),
    "listed, not asked": (lambda one: one["body"].pop("logprobs"), "top_logprobs without logprobs"),
    "more than the engine lists": (
        lambda one: one["body"].update(top_logprobs=21),
        "too many top_logprobs",
    ),
    "both ends": (
        lambda one: one["body"].update(continue_final_message=True, add_generation_prompt=True),
        "both ends of the last turn",
    ),
    "no token": (lambda one: one["body"].update(max_tokens=0), "nothing asked for"),
}


def test_the_check_takes_a_sound_line():
    assert faults(json.dumps(SOUND)) == []


@pytest.mark.parametrize(("broken", "fault"), BROKEN.values(), ids=BROKEN)
def test_the_check_finds_what_vllm_would_refuse_or_pass_over(broken, fault):
    line = json.loads(json.dumps(SOUND))
    broken(line)
    assert faults(json.dumps(line)) == [fault]


def test_results_as_vllm_writes_them(tables):
    """BatchRequestOutput: an exception of any kind, a dead engine's too, is 400 with a text.

    Only what the engine says of the request itself, an ErrorResponse, is believed to be for good.
    """
    batch = ["--judge", f"openai:tiny@{NOWHERE}", "--batch", "q.jsonl", "--store", "s.sqlite"]
    assert main([*COMMANDS["ask"], *batch, "--quiet"]) == 4
    asked = [json.loads(line) for line in (tables / "q.jsonl").read_text("utf-8").splitlines()]
    rows = []
    for k, one in enumerate(asked):
        row = {"id": f"vllm-{k}", "custom_id": one["custom_id"], "error": None}
        response = {"status_code": 200, "request_id": f"vllm-batch-{k}", "body": None}
        if k == 0:
            long = {"message": "the prompt is too long", "type": "BadRequestError", "code": 400}
            row["error"] = {"error": {**long, "param": None}}
        elif k in (1, 2):
            row["error"] = "EngineCore encountered an issue"
        else:
            response["body"] = complete(one["body"], np.random.default_rng(k))
        if row["error"]:
            response["status_code"] = 400
        rows.append({**row, "response": response})
    (tables / "r.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    with Store("s.sqlite") as store:
        found = import_results(store, tables / "r.jsonl")
    assert (found.added, found.refused) == (len(asked) - 3, 1)
    assert dict(found.failed) == {
        "failed (400): the prompt is too long": 1,
        "failed (400): EngineCore encountered an issue": 2,
    }
