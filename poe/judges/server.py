"""Judges behind an OpenAI-compatible server: hosted, or vLLM, SGLang or llama.cpp of one's own."""

from __future__ import annotations

import json
import logging
import math
import re
import signal
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, fields, replace
from queue import SimpleQueue
from types import FrameType
from typing import Any

import httpx
import numpy as np

from poe.errors import JudgeError
from poe.judges.accounts import SILENT, Spending, SpendingLimitError, Tally
from poe.judges.http import (
    Caller,
    ModelChangedError,
    ServerError,
    UnreachableError,
    token_counts,
)
from poe.judges.questions import Answer, Prompt, Question, Text

SPACES = " \t\r\n▁ĠĊ"  # as text, and as SentencePiece and byte-level vocabularies write them
MARKS = SPACES + "*_`\"'([{#"  # may stand before a label in a sampled answer
SAMPLED_TOKENS = 8  # enough for "Summary A", "**A**", "Answer: A"
# Asked only where a specification is wanted and nothing was asked yet.
FIRST_CALL = Question(Prompt("the first call", "{first}"), Text("a test", "Say A."))
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
        (`{"top_logprobs": None}`). A model that thinks before it answers
        has no label among its first tokens: turn that off, for Qwen3 behind vLLM by
        `{"chat_template_kwargs": {"enable_thinking": False}}`, or let it think and count what it
        says after </think>: draws=10 and `{"max_tokens": 4000}`.
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
        if "max_completion_tokens" in self.options:  # the newer name; no server takes both
            del body["max_tokens"]
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


def _whole(value: object, least: int) -> bool:
    return type(value) is int and value >= least


def _request_fields(options: object) -> dict[str, Any]:
    """More fields of the request, from a dictionary or JSON; refused if they look secret."""
    try:
        found = json.loads(options) if isinstance(options, str) else options
        text = json.dumps(found, allow_nan=False)
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

    Which model answers is in the specification, and the first answer tells it: until that came
    no other question is sent. A store that has answers of this judge is believed instead, so that
    looking into it takes no call. prefix="continue" makes one call more, which finds out
    whether the server does so.
    """

    def __init__(self, model: str, url: str, **options: Any) -> None:
        try:
            self.options = ServerOptions(**options)
            self._caller = Caller(url, self.options)
            self.spending = Spending(calls=self.options.call_limit, tokens=self.options.token_limit)
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
    def described(self) -> dict[str, str]:
        """What is known of the specification without a call: not `served`, before the first."""
        served = self._caller.served
        return {
            "kind": "server",
            "model": self.model,
            **({} if served is None else {"served": served}),
            "server": self.options.server or self._caller.name,
            **self.options.specification(),
        }

    @property
    def specification(self) -> dict[str, str]:
        """What makes two server judges the same; asks a question of no use if none was asked."""
        with self._lock:
            if self._caller.served is None:
                with self._caller.connect() as client:
                    self._ask(client, FIRST_CALL, threading.Event())
        return self.described

    def believe(self, served: str) -> None:
        """Take it that this model will answer, as a store says; another one is refused then."""
        self._caller.served = served

    def answer(self, questions: Sequence[Question]) -> Iterator[tuple[int, Answer]]:
        """Answers as they come.

        After a failure nothing more is sent, but calls under way are paid for: their answers are
        waited for and given before ServerError, ModelChangedError, NoLabelError or
        SpendingLimitError is raised. The same holds for a first Ctrl-C, wherever it finds the main
        thread; a second one leaves them, and so does a caller that stops listening.
        """
        for question in questions:
            _check_labels(question.prompt)
        left, ending, failures = len(questions), threading.Event(), list[Exception]()
        try:
            with closing(self._stream(questions, ending, failures)) as coming:
                for position, answer, said in coming:
                    left -= 1
                    prompt = questions[position].prompt
                    self._tally.add(prompt, answer)
                    yield position, answer
                    if self._tally.silent(prompt):
                        failures.append(self._no_label(questions[position], said))
                        ending.set()
        except SpendingLimitError as error:
            raise SpendingLimitError(
                f"{error}; {left} of {len(questions)} questions are left, and what was answered "
                "is kept"
            ) from None
        self._tally.warn()

    def _no_label(self, question: Question, said: Sequence[str]) -> NoLabelError:
        return NoLabelError(
            f"none of the first {SILENT} answers of {self.model} held a label of {question}; the "
            f"last one most likely began with {[self._caller.shown(t)[:20] for t in said[:5]]}; "
            "change the prompt, instruction= or prefix=, or turn off its thinking (see options=)"
        )

    def _stream(
        self, questions: Sequence[Question], ending: threading.Event, failures: list[Exception]
    ) -> Generator[tuple[int, Answer, list[str]]]:
        """All answers, and how each began, from threads that end when nobody listens any more.

        Until the server was heard there is one thread.
        """
        came: SimpleQueue[Any] = SimpleQueue()
        positions = iter(range(len(questions)))

        def work() -> None:
            try:
                with self._caller.connect() as client:
                    for position in positions:  # shared by all workers
                        came.put((position, *self._ask(client, questions[position], ending)))
                        if ending.is_set() or interrupts:
                            break
            except Exception as error:
                failures.append(error)
                ending.set()
            finally:
                came.put(None)

        def start(count: int) -> int:
            for _ in range(count):
                # A daemon, so that a second Ctrl-C need not wait for a server that hangs.
                threading.Thread(target=work, name="poe-server-calls", daemon=True).start()
            return count

        most, new = min(self.options.concurrency, len(questions)), not self._caller.heard
        with _draining(came) as interrupts:
            try:
                working = start(min(most, 1) if new else most)
                while working:
                    what = came.get()
                    if what is None:
                        working -= 1
                    elif what is interrupts:
                        ending.set()
                        log.warning("waiting for the calls under way; Ctrl-C again leaves them")
                    else:
                        yield what
                        if new and not ending.is_set():
                            new = False
                            working += start(most - 1)
                            self._check_prefix(questions[what[0]], what[1], ending, failures)
            finally:
                ending.set()
        if interrupts:
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
                some, (tokens, cached, _) = self._caller.call(
                    client, body, self._read, ending, self.spending
                )
                found += some
                read, computed = max(read, tokens), computed + tokens - cached
        except (ModelChangedError, UnreachableError):  # no question's fault
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

    def _check_prefix(
        self, question: Question, answer: Answer, ending: threading.Event, failures: list[Exception]
    ) -> None:
        """Find out by one more call whether a server goes on from the answer prefix."""
        prefix = question.prompt.prefix
        if self.options.prefix != "continue" or not prefix:
            return
        without = replace(question, prompt=replace(question.prompt, prefix=""))
        try:
            with self._caller.connect() as client:
                alone, _ = self._ask(client, without, ending)
        except JudgeError as error:
            failures.append(error)
            ending.set()
            return
        # A continued answer makes the prompt a word longer; one that is closed, with another begun
        # after it, costs the marks in between as well.
        cost = answer.tokens - alone.tokens
        if alone.tokens and cost > 2 * len(prefix.split()):
            warnings.warn(
                f"{self._caller.name} seems to ignore continue_final_message (the prefix "
                f"{prefix!r} cost {cost} tokens), so the model would not go on from the answer "
                "prefix; use prefix='ask', unless you know that its template adds these tokens",
                stacklevel=2,
            )


@contextmanager
def _draining(came: SimpleQueue[Any]) -> Iterator[list[int]]:
    """Put a list into the queue, no longer empty, at the first Ctrl-C, whatever it interrupts.

    So does SIGTERM where the command line listens to it; a job in the background of a shell hears
    no Ctrl-C. A second one goes to whoever had it before, mostly Python, which raises
    KeyboardInterrupt.
    """
    heard: list[int] = []
    before: dict[int, Callable[[int, FrameType | None], Any]] = {}

    def note(number: int, frame: FrameType | None) -> None:
        heard.append(number)
        if len(heard) == 1:
            came.put(heard)
        else:
            before[number](number, frame)

    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            if callable(handler := signal.getsignal(number)):
                before[number] = handler
                signal.signal(number, note)
    try:
        yield heard
    finally:
        for one, listened in before.items():
            signal.signal(one, listened)


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
        fits = fits and {type(value) for value in likely.values()} <= {int, float}
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
    """The text of a choice after its thinking, "" where there is none; ValueError if no choice."""
    if not isinstance(choice, dict):
        raise ValueError("gives choices that are none")
    message = choice.get("message")
    text = message.get("content") if isinstance(message, dict) else None
    if not isinstance(text, str):
        return ""
    head, closed, rest = text.rpartition("</think>")
    return rest.lstrip() if closed else "" if text.lstrip().startswith("<think>") else head + rest


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
