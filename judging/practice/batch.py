"""Batches: questions written as requests to a file, and their answers read from files.

Hosted providers take such files at half the price, and `vllm run-batch` and SGLang run them on as
many GPUs as there are. A line is one request:

    {"custom_id": "<key of the question>", "method": "POST", "url": "/v1/chat/completions",
     "body": {"model": ..., "messages": [...], "logprobs": true, ...}}

and a line of the results, in any order, has the same custom_id beside {"response": {"status_code":
200, "body": {...}}} or an error. The texts are in the requests alone. What the store has to know
of the questions (names, digests, labels, and the judge) waits in a file beside it,
`STORE.batch.jsonl`; where that was lost, the same command writes it again.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from judging.errors import JudgeError, NoJudgeError
from judging.judges.server.http import OF_A_QUESTION, token_counts
from judging.judges.server.judge import ServerJudge
from judging.judges.server.replies import counted, merged, next_token, refusal, said
from judging.judges.spending import RoundWrittenError
from judging.machine import write
from judging.question import Answer, Prompt, Question, Reader
from judging.quoting import on_one_line, quoted
from judging.store import Store
from judging.store.rows import COUNTS, check, encode_log_p, judge_row, row_of

__all__ = ["BatchJudge", "Imported", "import_results", "pending"]

URL = "/v1/chat/completions"
# What hosted providers take in one file.
MAX_REQUESTS, MAX_BYTES = 50_000, 200_000_000
NOT_SAID = "not said"  # which model answered, where a reply leaves it out
NOT_YET = "not yet known"  # which model answers, until the first results


class BatchJudge(Reader):
    """A server's judge whose questions are collected for a file instead of being sent.

    Its answers are those of `judge`: the same specification, so that a store does not tell whether
    a question went by file or by call. waiting : the questions collected, by their key.
    """

    by_file = True

    def __init__(self, judge: Reader) -> None:
        if not isinstance(judge, ServerJudge):
            raise NoJudgeError(
                "a batch is for a model behind a server (openai:MODEL@URL), whose address need not "
                "answer now; others are asked at once, without --batch"
            )
        self.judge = judge
        self.waiting: dict[str, list[Question]] = {}

    @property
    def described(self) -> Mapping[str, str]:
        """What is known of the judge without a call."""
        return self.judge.described

    @property
    def specification(self) -> Mapping[str, str]:
        """The judge's specification; the model is `NOT_YET` until results arrive. Makes no call."""
        return {**self.judge.described, **dict.fromkeys(self.judge.unknown, NOT_YET)}

    @property
    def unknown(self) -> tuple[str, ...]:  # type: ignore[override]
        """Which model answers, before any results."""
        return self.judge.unknown

    @property
    def written(self) -> int:  # type: ignore[override]
        """Most tokens of an answer."""
        return self.judge.written

    @property
    def bounded(self) -> bool:  # type: ignore[override]
        """Whether a limit is set for them."""
        return self.judge.bounded

    def believe(self, specification: Mapping[str, str]) -> None:
        """Take it that the model which a store names will answer."""
        self.judge.believe(specification)

    def count_tokens(self, questions: Sequence[Question]) -> Sequence[float]:
        """Count tokens as the judge does."""
        return self.judge.count_tokens(questions)

    def answer(self, questions: Sequence[Question]) -> Iterator[tuple[int, Answer]]:
        """Collect the questions, and end the round."""
        for question in questions:
            self.waiting.setdefault(question.key, []).append(question)
        one = "1 question waits" if len(questions) == 1 else f"{len(questions):,} questions wait"
        raise RoundWrittenError(f"{one} for a batch")

    def request(self, question: Question) -> dict[str, Any]:
        """One line of the file."""
        options = self.judge.options
        body = options.body(question, self.judge.model, draws=max(options.draws, 1))
        return {"custom_id": question.key, "method": "POST", "url": URL, "body": body}

    def write(self, path: Path, store: Store) -> list[Path]:
        """Write what waits, in as many files as providers want; returns the files.

        The names go beside the store first: requests whose answers nobody could read would be paid
        for in vain.
        """
        lines = [json.dumps(self.request(same[0])) for same in self.waiting.values()]
        described = {k: v for k, v in self.judge.described.items() if k != "served"}
        draws = self.judge.options.draws
        notes = []
        for question in (q for same in self.waiting.values() for q in same):
            row = row_of({}, question)
            del row["at"]  # the same question twice is the same line
            row |= {"question": question.key, "prefix": question.prompt.prefix}
            notes.append(json.dumps({"judge": described, "draws": draws, "row": row}))
        beside = pending(store)
        others = _entries(beside)
        before = [json.dumps(other) for other in others]
        if any(other["judge"] != described for other in others):
            raise JudgeError(
                f"{store.path} waits for answers of another judge, or of this one under other "
                "options, and results would not tell which they are; name another store (--store) "
                "for these, and join the two later (judging store merge)"
            )
        write(beside, "".join(f"{line}\n" for line in dict.fromkeys([*before, *notes])))
        paths = []
        for part, some in enumerate(_parts(lines), start=1):
            name = path if part == 1 else path.with_name(f"{path.stem}-{part}{path.suffix}")
            write(name, "".join(f"{line}\n" for line in some))
            paths.append(name)
        return paths


def _parts(lines: Sequence[str]) -> Iterator[Sequence[str]]:
    """The lines in as few files as providers take."""
    begin = size = 0
    for k, line in enumerate(lines):
        size += len(line) + 1  # JSON as it is written is ASCII
        if k - begin == MAX_REQUESTS or size > MAX_BYTES:
            yield lines[begin:k]
            begin, size = k, len(line) + 1
    yield lines[begin:]


def pending(store: Store) -> Path:
    """The file beside a store with the names of what batches ask."""
    if str(store.path) == ":memory:":
        raise JudgeError("a batch needs a store in a file, which waits for its answers")
    return store.path.with_name(store.path.name + ".batch.jsonl")


# Results ----------------------------------------------------------------------------------------


@dataclass
class Imported:
    """What reading results did.

    added : answers that are new. same, differ : of questions that the store had answered, with
    equal probabilities or not; its own stay. failed : why lines gave no answer, and how many.
    refused : how many of these the judge will never answer; the others are asked again.
    unknown : lines whose custom_id no batch of this store has. others : answers of another model.
    """

    added: int = 0
    same: int = 0
    differ: int = 0
    failed: Counter[str] = field(default_factory=Counter)
    refused: int = 0
    unknown: int = 0
    others: Counter[str] = field(default_factory=Counter)


def import_results(store: Store, path: Path, *, model: str | None = None) -> Imported:
    """Read a file of results into the store, its answers in one transaction.

    A second time changes nothing. What was refused is believed where the same file has answers, or
    the store has more of the only judge that asked: a last round may be of one poisoned text alone.

    model : which model's answers to take, where the store has none of this judge yet and the file
    has several; they are not mixed. Raises JudgeError naming them if it is not said.
    """
    asked = _asked(store)
    tally, came = Imported(), list[tuple[str, str, dict[str, Any]]]()  # keys, models, answers
    refused: dict[str, str] = {}
    try:
        # Not splitlines(), which breaks at characters that JSON allows inside a text.
        lines = path.read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n")
    except OSError as error:
        raise JudgeError(f"{path} cannot be read: {error.strerror}") from None
    for line in filter(bytes.strip, lines):
        key = None
        try:
            key, response, fault = _parts_of(line)
            if key not in asked:
                tally.unknown += 1
                continue
            reply = _reply(response, fault)
            answer = _answer(asked[key][0], reply)
        except (JudgeError, ValueError) as failed:
            tally.failed[str(failed)] += 1
            if getattr(failed, "refused", False) and key in asked:
                refused[str(key)] = str(failed)
            continue
        served = reply.get("model")
        named = on_one_line(served)[:300] if served and isinstance(served, str) else NOT_SAID
        came.append((key, named, answer))
    rows, none = list[dict[str, Any]](), list[dict[str, Any]]()
    believed = {} if came or len(refused) >= len(store) else refused
    described: dict[str, str] = next((entries[0]["judge"] for entries in asked.values()), {})
    kept = None
    if came or believed:
        kept = _model_of(store, described, [served for _, served, _ in came], model, path)
    if kept is not None:
        known = {**judge_row({**described, "served": kept}), "at": time.time()}
        for key, served, answer in came:
            if served != kept:
                tally.others[served] += 1
                continue
            rows += [{**entry["row"], **known, **answer} for entry in asked[key]]
        if rows or not came:
            nothing = dict.fromkeys(COUNTS, 0.0)
            for key, why in refused.items():
                said = {**known, **nothing, "log_p": encode_log_p((), why)}
                none += [{**entry["row"], **said} for entry in asked[key]]
    done = store.add(rows)
    tally.added, tally.same, tally.differ = done.added, done.same, done.differ
    tally.refused = len({row["question"] for row in none})
    store.add(none)
    return tally


class _FailedError(ValueError):
    """A request that got no answer. refused : whether it never will."""

    def __init__(self, message: str, *, refused: bool = False) -> None:
        super().__init__(message)
        self.refused = refused


def _parts_of(line: bytes) -> tuple[str, Any, Any]:
    """The custom_id of a line, its response and its error; _FailedError where it is no result."""
    try:
        result = json.loads(line)
    except (ValueError, RecursionError):  # bytes that are no UTF-8 among them
        raise _FailedError("a line is no result: it is not JSON") from None
    key = result.get("custom_id") if isinstance(result, dict) else None
    if not isinstance(key, str):
        raise _FailedError("a line is no result: it has no custom_id")
    if "method" in result and "response" not in result:
        raise _FailedError("of these lines are requests, not their results")
    return key, result.get("response"), result.get("error")


def _reply(response: Any, error: Any) -> dict[str, Any]:
    """The body of a response; _FailedError with the reason of one that failed."""
    if response is not None and not isinstance(response, dict):
        raise _FailedError("the response is no object")
    response = response or {}
    status = response.get("status_code", 200 if not error else 0)
    body = response.get("body")
    if error or status != 200 or not isinstance(body, dict):
        reason = error or (body.get("error") if isinstance(body, dict) else None)
        if isinstance(reason, dict):
            reason = reason.get("error", reason)  # vLLM has the whole reply there
        if isinstance(reason, dict):
            reason = reason.get("message") or reason.get("code")
        number = status if type(status) is int and status else "no status"
        message = f"failed ({number}): {quoted(reason) or 'no answer'}"
        # A text beside 400 is how `vllm run-batch` writes any exception, a dead engine's too.
        mishap = isinstance(error, str)
        raise _FailedError(message, refused=status in OF_A_QUESTION and not mishap)
    choices = body.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    if isinstance(first, dict) and (why := refusal(first)):
        raise _FailedError(quoted(why), refused=True)
    return body


def _asked(store: Store) -> dict[str, list[dict[str, Any]]]:
    """What batches of this store ask, by the question's key; a key may have several names."""
    beside = pending(store)
    if not beside.is_file():
        raise JudgeError(
            f"there is no {beside}, which a command with --batch writes beside its store; give the "
            "store of that command (--store)"
        )
    by_question: dict[str, list[dict[str, Any]]] = {}
    for entry in _entries(beside):
        by_question.setdefault(entry["row"]["question"], []).append(entry)
    for entry in chain(*by_question.values()):
        entry["row"]["question"] = bytes.fromhex(entry["row"]["question"])
    return by_question


def _entries(beside: Path) -> list[dict[str, Any]]:
    """What the file beside a store says, line by line; JudgeError names a line that is damaged."""
    entries = list[dict[str, Any]]()
    if not beside.exists():
        return entries
    for k, line in enumerate(beside.read_bytes().splitlines(), start=1):
        try:
            entry = json.loads(line)
            judge, row = entry["judge"], entry["row"]
            _prompt(row)
            sound = all(isinstance(one, str) for one in (*judge.values(), judge["model"]))
            sound = sound and all(
                isinstance(one, str | None) or one in (0, 1) for one in row.values()
            )
            json.dumps(entry, ensure_ascii=False).encode()
            if not (sound and bytes.fromhex(row["question"]) and type(entry["draws"]) is int):
                raise ValueError
        except (AttributeError, JudgeError, KeyError, RecursionError, TypeError, ValueError):
            raise JudgeError(
                f"{beside}, line {k} is damaged; take the line out, and run the --batch command "
                "again, which writes it anew"
            ) from None
        entries.append(entry)
    return entries


def _prompt(row: Mapping[str, Any]) -> Prompt:
    """The label words and the answer prefix of a question, without its texts."""
    labels = tuple(json.loads(row["labels"]))
    return Prompt(row["prompt"], "{first}{second}", labels, row["prefix"])


def _model_of(
    store: Store,
    described: Mapping[str, str],
    served: Sequence[str],
    wanted: str | None,
    path: Path,
) -> str | None:
    """The one model whose answers are taken: the store's, else the only one there is, if any."""
    there = [s for s in store.specifications().values() if described.items() <= s.items()]
    known = {one["served"] for one in there if "served" in one}
    if not served:
        return known.pop() if len(known) == 1 else None
    if wanted is not None:
        return wanted
    if len(known) == 1:
        return known.pop()
    counts = Counter(name for name in served if name != NOT_SAID) or Counter(served)
    if len(counts) == 1:
        return next(iter(counts))
    models = ", ".join(f"{name} ({count:,})" for name, count in counts.most_common(4))
    raise JudgeError(
        f"{path} has answers of several models: {models}; answers of two models do not go into one "
        "ranking, so say which to take (--model); nothing was stored"
    )


def _answer(entry: Mapping[str, Any], reply: Mapping[str, Any]) -> dict[str, Any]:
    """What a row says of the answer in a reply; ValueError or JudgeError if there is none."""
    draws, prompt = entry["draws"], _prompt(entry["row"])
    labels = prompt.labels
    choices = reply.get("choices")
    if not (isinstance(choices, list) and choices and isinstance(choices[0], dict)):
        raise ValueError("no choices in the answer")
    if draws:
        if len(choices) < draws:
            raise ValueError(f"fewer answers than the {draws} draws asked for")
        log_p = counted([said(choice) for choice in choices[:draws]], prompt)
    else:
        likely = next_token(choices[0])
        if likely is None:
            raise ValueError("no log-probabilities in the answer; ask with its option draws=20")
        log_p = merged(likely, labels)
    read, cached, _ = token_counts(reply) or (0, 0, 0)
    answer = Answer(log_p, read, float(read - cached), 0.0, draws)
    check(log_p, labels, "a question", [getattr(answer, name) for name in COUNTS])
    values = [None if value == float("-inf") else float(value) for value in log_p]
    counts = {name: float(getattr(answer, name)) for name in COUNTS}
    return {"log_p": json.dumps(values), **counts}
