"""Judges behind an OpenAI-compatible server: hosted, or vLLM, SGLang or llama.cpp of one's own."""

from __future__ import annotations

import json
import logging
import math
import re
import threading
import time
import warnings
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, fields, replace
from queue import SimpleQueue
from typing import Any

import httpx
import numpy as np

from poe.errors import JudgeError
from poe.judges.accounts import SILENT, SpendingLimitError, Spent, Tally
from poe.judges.http import Caller, ModelChangedError, ServerError, token_counts
from poe.judges.questions import Answer, Prompt, Question, Text

__all__ = [
    "ModelChangedError",
    "NoLabelError",
    "ServerError",
    "ServerJudge",
    "ServerOptions",
    "SpendingLimitError",
]

SPACES = " \t\r\n▁ĠĊ"  # as text, and as SentencePiece and byte-level vocabularies write them
MARKS = SPACES + "*_`\"'([{#"  # may stand before a label in a sampled answer
SAMPLED_TOKENS = 8  # enough for "Summary A", "**A**", "Answer: A"
FIRST_CALL = Question(
    Prompt("the first call", "{first}", labels=("A", "B"), prefix="Answer"),
    Text("a test", "Say A."),
)
log = logging.getLogger(__name__)

Likely = tuple[str, float]


class NoLabelError(ServerError):
    """The model answers with something other than the label words."""


@dataclass(frozen=True, kw_only=True)
class ServerOptions:
    """How a `ServerJudge` asks; those from `prefix` to `options` are in its specification.

    prefix : how a prompt's answer prefix ("Summary") is passed to a chat model. "ask" works
        everywhere: the prefix is left out, and `instruction` asks for one word; the
        model is then asked something slightly different from the prompt. "continue" has
        the model go on with an answer that begins so (continue_final_message, which vLLM, SGLang
        and llama.cpp know). Hosted models mostly refuse it; a server that ignores it is warned
        about if its token counts show it.
    instruction : the sentence added by "ask"; {labels} becomes "A or B". "" adds none.
    draws : 0 for log-probabilities; otherwise the number of sampled answers that are counted,
        for servers without log-probabilities.
    top : likeliest tokens asked for; 20 is the most that many servers give. A label that is not
        among them counts as -inf, which a warning counts.
    temperature : by default 0, or 1 with draws.
    options : more fields for the request, as a dictionary or JSON; None (null) removes one
        (`{"max_tokens": None, "max_completion_tokens": 1}`). A model that thinks before it answers
        has no label among its first tokens: turn that off, for Qwen3 behind vLLM by
        `{"chat_template_kwargs": {"enable_thinking": False}}`.
    server : a name that stands for the address in the specification, so that a server which
        moves (a cluster's node) stays the same judge.
    key_env : name of the environment variable that holds the API key; it is read from nowhere
        else, and neither stored nor shown. By default OPENAI_API_KEY where it is set, over
        https or to this machine; over plain http to another machine only if named here.
    concurrency : calls at a time. timeout : seconds a call. patience : seconds for a call with
        all its retries (after 429, 5xx, timeouts, lost connections, garbled replies).
    call_limit, token_limit : never exceeded, retries included; the run stops with
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
    call_limit: int | None = None
    token_limit: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", _request_fields(self.options))
        if self.temperature is None:
            object.__setattr__(self, "temperature", 1.0 if self.draws else 0.0)
        for name, fits, form in (
            ("prefix", self.prefix in ("ask", "continue"), "'ask' or 'continue'"),
            ("draws", self.draws >= 0, "at least 0"),
            ("top", self.top >= 1, "at least 1"),
            ("concurrency", self.concurrency >= 1, "at least 1"),
            ("timeout", 0 < self.timeout < math.inf, "a number of seconds"),
            ("patience", 0 < self.patience < math.inf, "a number of seconds"),
            ("temperature", self.temperature != 0 or not self.draws, "above 0 for draws to differ"),
        ):
            if not fits:
                raise JudgeError(f"{name} is {form}, not {getattr(self, name)!r}")

    @property
    def written(self) -> int:
        """Most tokens that the model may write in one call."""
        given = [self.options.get(name) for name in ("max_completion_tokens", "max_tokens")]
        most = max((int(n) for n in given if n), default=SAMPLED_TOKENS if self.draws else 1)
        return most * max(self.draws, 1)

    def body(self, question: Question, model: str, *, draws: int = 1) -> dict[str, Any]:
        """The request for one question, `draws` sampled answers at once."""
        prompt, turn = question.prompt, question.text
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
        body |= self.options
        return {name: value for name, value in body.items() if value is not None}

    def specification(self) -> dict[str, str]:
        """What of it changes answers."""
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


def _request_fields(options: object) -> dict[str, Any]:
    """More fields of the request, from a dictionary or JSON; refused if they look secret."""
    try:
        found = json.loads(options) if isinstance(options, str) else options
        text = json.dumps(found)
    except (TypeError, ValueError):
        found = text = None
    if not isinstance(found, Mapping):
        raise JudgeError(
            'options are fields of the request in JSON, such as {"max_completion_tokens": 1}'
        )
    if secret := re.search(r'(?i)"([^"]*(?:key|secret|authoriz|password)[^"]*)":', str(text)):
        raise JudgeError(
            f"options are stored and shown, so {secret[1]!r} is no place for a secret; name an "
            "environment variable with key_env="
        )
    return dict(found)


class ServerJudge:
    """A model behind an OpenAI-compatible server as a `Reader`.

    The probability of each label word is read off the likeliest next tokens
    (`top_logprobs`), its spellings " A", "A" and "▁A" added up (book chapter 2).

    model : the name the server knows it by. url : up to and including /v1. options : the fields of
    `ServerOptions`; JudgeError says which there are, or what one should be.

    The first use makes one call of a few tokens (two with prefix="continue"): it finds out whether
    the server gives log-probabilities, and which model answers, which is in the specification.
    """

    def __init__(self, model: str, url: str, **options: Any) -> None:
        try:
            self.options = ServerOptions(**options)
            self._caller = Caller(url, self.options)
        except (AttributeError, TypeError, ValueError) as error:
            shown = [f"{name}={options[name]!r}" for name in options if name != "key_env"]
            known = ", ".join(one.name for one in fields(ServerOptions))
            raise JudgeError(
                f"ServerJudge cannot take {', '.join(shown)}: {error}; its options are {known}"
            ) from None
        self.model = model
        self._tally = Tally(model, top=self.options.top)
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"ServerJudge({self.model!r}, {self._caller.name!r})"

    @property
    def spent(self) -> Spent:
        """Calls and tokens so far."""
        return self._caller.spending.spent

    @property
    def specification(self) -> dict[str, str]:
        """What makes two server judges the same; makes the first call if there was none."""
        self._introduce()
        return {
            "kind": "server",
            "model": self.model,
            "served": self._caller.served or "",
            "server": self.options.server or self._caller.name,
            **self.options.specification(),
        }

    def answer(self, questions: Sequence[Question]) -> Iterator[tuple[int, Answer]]:
        """Answers as they come.

        After a failure nothing more is sent, but calls under way are paid for: their answers are
        waited for and given before ServerError, ModelChangedError, NoLabelError or
        SpendingLimitError is raised. The same holds for a first Ctrl-C; a second one leaves them,
        and so does a caller that stops listening.
        """
        for question in questions:
            _check_labels(question.prompt)
        self._introduce()
        left = len(questions)
        try:
            with closing(self._stream(questions)) as coming:
                for position, answer, said in coming:
                    left -= 1
                    prompt = questions[position].prompt
                    self._tally.add(prompt, answer)
                    yield position, answer
                    if self._tally.silent(prompt):
                        raise NoLabelError(
                            f"none of the first {SILENT} answers of {self.model} held a label of "
                            f"{questions[position]}; the last one's likeliest beginnings are "
                            f"{[self._caller.shown(text)[:20] for text in said[:5]]}; change the "
                            "prompt, instruction= or prefix="
                        )
        except SpendingLimitError as error:
            raise SpendingLimitError(
                f"{error}; {left} of {len(questions)} questions are left, and what was answered "
                "is kept"
            ) from None
        self._tally.warn()

    def _stream(self, questions: Sequence[Question]) -> Generator[tuple[int, Answer, list[str]]]:
        """All answers, and how each began, from threads that end when nobody listens any more."""
        came: SimpleQueue[tuple[int, Answer, list[str]] | None] = SimpleQueue()
        positions = iter(range(len(questions)))
        failures: list[Exception] = []
        ending = threading.Event()

        def work() -> None:
            try:
                with self._caller.connect() as client:
                    for position in positions:  # shared by all workers
                        came.put((position, *self._ask(client, questions[position], ending)))
                        if ending.is_set():
                            break
            except Exception as error:
                failures.append(error)
                ending.set()
            finally:
                came.put(None)

        working = min(self.options.concurrency, len(questions))
        for _ in range(working):
            # A daemon, so that a second Ctrl-C need not wait for a server that hangs.
            threading.Thread(target=work, name="poe-server-calls", daemon=True).start()
        interrupted = False
        try:
            while working:
                try:
                    answer = came.get()
                except KeyboardInterrupt:
                    if interrupted:
                        raise
                    interrupted = True
                    ending.set()
                    log.warning("waiting for the calls under way; Ctrl-C again leaves them")
                    continue
                if answer is None:
                    working -= 1
                else:
                    yield answer
        finally:
            ending.set()
        if interrupted:
            raise KeyboardInterrupt
        if failures:
            raise failures[0]

    def _ask(
        self, client: httpx.Client, question: Question, ending: threading.Event
    ) -> tuple[Answer, list[str]]:
        """One answer, and how it began: the likeliest tokens, or what was drawn."""
        begun = time.perf_counter()
        prompt, draws = question.prompt, self.options.draws
        found: list[Any] = []
        read = computed = 0
        try:
            while len(found) < max(draws, 1):  # some servers draw one answer whatever n says
                body = self.options.body(question, self.model, draws=draws - len(found))
                some, (tokens, cached, _) = self._caller.call(client, body, self._read, ending)
                found += some
                read, computed = max(read, tokens), computed + tokens - cached
        except ModelChangedError:
            raise
        except ServerError as error:
            raise type(error)(f"{question}: {error}") from None
        if draws:
            log_p, said = counted(found[:draws], prompt), found
        else:
            log_p, said = merged(found, prompt.labels), [token for token, _ in found]
        return Answer(log_p, read, float(computed), time.perf_counter() - begun, draws), said

    def _read(self, reply: dict[str, Any]) -> tuple[list[Any], tuple[int, int, int]]:
        """Drawn answers, or the likeliest tokens with their log-probabilities; token counts."""
        counts = token_counts(reply) or (0, 0, 0)
        if self.options.draws:
            return [said(choice) for choice in reply["choices"]], counts
        likely = next_token(reply["choices"][0])
        if likely is None:
            raise ValueError(
                f"gives no log-probabilities for {self.model}; sample answers instead with "
                "draws=20 (20 short answers a question, or 20 calls where the server gives one at "
                "a time)"
            )
        return likely, counts

    def _introduce(self) -> None:
        """Find out, once, which model answers and what the server can do."""
        with self._lock:
            if self._caller.served is None:
                self._first_call()

    def _first_call(self) -> None:
        asked, questions = self.options, [FIRST_CALL]
        if asked.prefix == "continue":
            questions.append(replace(FIRST_CALL, prompt=replace(FIRST_CALL.prompt, prefix="")))
        tokens = []
        with self._caller.connect() as client:
            for question in questions:
                body = asked.body(question, self.model)
                _, counts = self._caller.call(client, body, self._read, threading.Event())
                tokens.append(counts[0])
        # A continued answer makes the prompt a word longer; one that is closed, with another begun
        # after it, costs the marks in between as well.
        if all(tokens) and tokens[0] - tokens[-1] > 2:
            warnings.warn(
                f"{self._caller.name} seems to ignore continue_final_message (the word "
                f"{FIRST_CALL.prompt.prefix!r} cost {tokens[0] - tokens[-1]} tokens), so the model "
                "would not go on from the answer prefix; use prefix='ask', unless you know that "
                "its template adds these tokens",
                stacklevel=2,
            )


def _check_labels(prompt: Prompt) -> None:
    labels = [label.strip(SPACES) for label in prompt.labels]
    if "" in labels or len(set(labels)) < len(labels):
        raise ServerError(
            f"prompt {prompt.name!r}: the labels {prompt.labels} cannot be told apart once spaces "
            "are put aside; choose others"
        )


def next_token(choice: Mapping[str, Any]) -> list[Likely] | None:
    """The likeliest next tokens with log-probabilities; None where the server gives none.

    The token that was chosen is added where the list lacks it. Raises ValueError for what cannot be
    log-probabilities: not numbers, above 0, or of more than certainty.
    """
    given = choice.get("logprobs")
    if not (isinstance(given, dict) and given.get("content")):
        return None
    try:
        first = given["content"][0]
        likely = {one["token"]: one["logprob"] for one in first.get("top_logprobs") or []}
        likely.setdefault(first["token"], first["logprob"])
        pairs = [(token, float(value)) for token, value in likely.items()]
        fits = all(isinstance(token, str) and value <= 1e-3 for token, value in pairs)
        fits = fits and math.fsum(math.exp(value) for _, value in pairs) <= 1.01
    except (AttributeError, LookupError, OverflowError, TypeError, ValueError):
        fits = False
    if not fits:
        raise ValueError(
            "gives what cannot be log-probabilities: each token needs a number of at most 0, and "
            "all together at most 1 as probabilities"
        )
    return pairs


def merged(likely: Iterable[Likely], labels: Sequence[str]) -> tuple[float, ...]:
    """Log-probability of each label: its variants " A", "A", "▁A" together, -inf if not seen."""
    variants: dict[str, list[float]] = {label.strip(SPACES): [] for label in labels}
    for token, value in likely:
        variants.get(token.strip(SPACES), []).append(value)
    sums = [np.logaddexp.reduce(variants[label.strip(SPACES)]) for label in labels]
    return tuple(min(0.0, float(one)) for one in sums)


def said(choice: Any) -> str:
    """The text of a choice, "" where there is none; ValueError if it is no choice."""
    if not isinstance(choice, dict):
        raise ValueError("gives choices that are none")
    message = choice.get("message")
    text = message.get("content") if isinstance(message, dict) else None
    return text if isinstance(text, str) else ""


def label_of(text: str, prompt: Prompt) -> int | None:
    """Position of the label that a sampled answer starts with; None if it starts otherwise.

    The answer prefix may come first ("Summary A"), and marks around a word do not count ("**A**").
    """
    marks = f"[{re.escape(MARKS)}]*"
    if prompt.prefix:
        marks += f"(?:{re.escape(prompt.prefix)}[{re.escape(MARKS)}:]*)?+"
    for position, label in enumerate(prompt.labels):
        if re.match(marks + re.escape(label.strip(SPACES)) + r"(?!\w)", text):
            return position
    return None


def counted(texts: Sequence[str], prompt: Prompt) -> tuple[float, ...]:
    """Log of the share of the sampled answers that are each label."""
    hits = [label_of(text, prompt) for text in texts]
    shares = [hits.count(k) / len(texts) for k in range(len(prompt.labels))]
    return tuple(math.log(share) if share else -math.inf for share in shares)
