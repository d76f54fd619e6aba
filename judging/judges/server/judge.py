"""Judges behind an OpenAI-compatible server: hosted, or vLLM, SGLang or llama.cpp of one's own."""

from __future__ import annotations

import logging
import math
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import fields
from difflib import get_close_matches
from queue import SimpleQueue
from types import FrameType
from typing import Any

import httpx

from judging.errors import JudgeError
from judging.judges.server.http import (
    FAILING,
    Caller,
    ModelChangedError,
    RefusedError,
    ServerError,
    UnreachableError,
    token_counts,
)
from judging.judges.server.options import ServerOptions
from judging.judges.server.replies import SPACES, counted, merged, next_token, said
from judging.judges.spending import Spending, SpendingLimitError
from judging.judges.tally import SILENT, Tally
from judging.question import Answer, Prompt, Question, Reader, Text, by_bytes
from judging.quoting import quoted

# Asked only where a specification is wanted and nothing was asked yet.
FIRST_CALL = Question(Prompt("the first call", "{first}"), Text("a test", "Say A."))
log = logging.getLogger(__name__)


class NoLabelError(ServerError):
    """The model answers with something other than the label words."""


class ServerJudge(Reader):
    """A model behind an OpenAI-compatible server as a `Reader`.

    The probability of each label word is read off the likeliest next tokens
    (`top_logprobs`), its spellings " A", "A" and "▁A" added up (book chapter 2).

    model : the name the server knows it by. url : up to and including /v1. options : the fields of
    `ServerOptions`; JudgeError says which there are, or what one should be.

    Which model answers is in the specification, and the first answer tells it: until that came
    no other question is sent. A store that has answers of this judge is believed instead, so that
    looking into it takes no call.
    """

    def __init__(self, model: str, url: str, **options: Any) -> None:
        known = [one.name for one in fields(ServerOptions)]
        if strange := [name for name in options if name not in known]:
            near = get_close_matches(strange[0], known, 1)
            raise JudgeError(
                f"a server has no option {strange[0]}"
                f"{f'; {near[0]} may be meant' if near else ''}; its options are {', '.join(known)}"
            )
        try:
            self.options = ServerOptions(**options)
            self._caller = Caller(url, self.options)
            self.spending: Spending = Spending(
                calls=self.options.limit_calls, tokens=self.options.limit_tokens
            )
        except (AttributeError, TypeError, ValueError) as error:
            shown = [f"{name}={options[name]!r}" for name in options if name != "key_env"]
            raise JudgeError(
                f"a server cannot take {', '.join(shown)}: {error}; its options are "
                f"{', '.join(known)}"
            ) from None
        self.model = model
        self._tally = Tally(model, top=self.options.top)
        self._lock = threading.Lock()
        self._row: list[RefusedError] = []  # since the last answer
        self._calls = 1  # that a question takes, more where a server draws one answer a call

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
        """What makes two server judges the same.

        Sends one throw-away question if none has been asked yet.
        """
        with self._lock:
            if self._caller.served is None:
                with self._caller.connect() as client:
                    self._ask(client, FIRST_CALL, threading.Event())
        return self.described

    @property
    def unknown(self) -> tuple[str, ...]:  # type: ignore[override]
        """Which model answers, until the first answer."""
        return ("served",) if self._caller.served is None else ()

    @property
    def written(self) -> int:  # type: ignore[override]
        """Most tokens that it may write in one call."""
        return self.options.written

    @property
    def bounded(self) -> bool:  # type: ignore[override]
        """Whether the request says how long a reply may become."""
        return self.options.most_written < math.inf

    def count_tokens(self, questions: Sequence[Question]) -> list[float]:
        """Roughly, by the bytes of all turns; a server's tokenizer is not known here."""
        bodies = (self.options.body(question, self.model) for question in questions)
        turns = (" ".join(turn["content"] for turn in body["messages"]) for body in bodies)
        return [by_bytes(text)[1] for text in turns]

    def believe(self, specification: Mapping[str, str]) -> None:
        """Take it that the model which a store names will answer; another one is refused then."""
        self._caller.served = specification["served"]

    def answer(self, questions: Sequence[Question]) -> Iterator[tuple[int, Answer]]:
        """Answers as they come, and refusals of single questions.

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
                    if answer.refused:
                        yield position, answer
                        continue
                    shown = {token.strip(SPACES) for token in said}
                    unlisted = any(label.strip(SPACES) not in shown for label in prompt.labels)
                    self._tally.add(prompt, answer, unlisted=unlisted)
                    yield position, answer
                    if self._tally.silent(prompt):
                        failures.append(self._no_label(questions[position], said))
                        ending.set()
        except SpendingLimitError as error:
            raise SpendingLimitError(
                f"{error}; {left} of {len(questions)} questions are left"
            ) from None
        self._tally.warn()

    def _no_label(self, question: Question, said: Sequence[str]) -> NoLabelError:
        begun = [quoted(self._caller.shown(one), 20) for one in said[:5]]
        return NoLabelError(
            f"none of the first {SILENT} answers of {self.model} held a label of {question}; the "
            f"last one most likely began with {begun}; change the prompt, or the "
            "judge's option instruction or prefix, or turn off its "
            "thinking (its option options)"
        )

    def _stream(
        self, questions: Sequence[Question], ending: threading.Event, failures: list[Exception]
    ) -> Generator[tuple[int, Answer, list[str]]]:
        """All answers, and how each began, from threads that end when nobody listens any more.

        Until the server was heard there is one thread. That a question was refused is believed once
        another was answered; so many refusals in a row as no question can be blamed for end all.
        """
        came: SimpleQueue[Any] = SimpleQueue()
        positions = iter(range(len(questions)))

        def work() -> None:
            try:
                with self._caller.connect() as client:
                    for position in positions:  # shared by all workers
                        try:
                            came.put((position, *self._ask(client, questions[position], ending)))
                            row.clear()
                        except RefusedError as error:
                            came.put((position, error))
                            row.append(error)
                            if len(row) >= error.most:
                                raise error.error from None
                        if ending.is_set() or interrupts or failures:
                            break
            except SpendingLimitError as error:  # what others have begun has its calls
                failures.append(error)
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
        row = self._row
        refused: list[tuple[int, RefusedError]] = []  # since the last answer

        def believed() -> Iterator[tuple[int, Answer, list[str]]]:
            for position, error in refused:
                yield position, Answer.refusal(questions[position].prompt, error.why), []
            refused.clear()

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
                    elif isinstance(what[1], RefusedError):
                        refused.append(what)
                    else:
                        yield from believed()
                        yield what
                        if new and not (ending.is_set() or failures):
                            new = False
                            working += start(most - 1)
                if refused and not self._caller.heard and not failures:
                    failures.append(refused[0][1].error)
                if not (failures or all(error.sure for _, error in refused)):
                    self._check_alive(failures, refused[0][1].error)
                if failures:  # of something else, where the row is short
                    few = self._caller.heard and len(row) < FAILING
                    refused[:] = [one for one in refused if few and one[1].sure]
                yield from believed()
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
        beginnings: list[Any] = []
        read = computed = 0
        calls = 0

        def wait() -> None:
            if ending.wait(0.02):
                raise ServerError("not sent, because the run is ending")

        bound = self._caller.bound(self.options.body(question, self.model, draws=max(draws, 1)))
        try:
            with self.spending.question(self._calls, bound, wait):
                while len(beginnings) < max(draws, 1):  # some draw one answer whatever n says
                    body = self.options.body(question, self.model, draws=draws - len(beginnings))
                    some, (tokens, cached, _) = self._caller.call(
                        client, body, self._read, ending, self.spending
                    )
                    beginnings += some
                    read, computed = max(read, tokens), computed + tokens - cached
                    calls += 1
            self._calls = max(calls, self._calls)
        except (ModelChangedError, UnreachableError):  # no question's fault
            raise
        except RefusedError as error:
            cause = type(error.error)(f"{question}: {error.error}")
            raise RefusedError(error.why, error.most, cause, sure=error.sure) from None
        except ServerError as error:
            raise type(error)(f"{question}: {error}") from None
        if draws:
            log_p, said = counted(beginnings[:draws], prompt), beginnings
        else:
            log_p, said = merged(beginnings, prompt.labels), [token for token, _ in beginnings]
        return Answer(log_p, read, float(computed), time.perf_counter() - begun, draws), said

    def _read(self, reply: dict[str, Any]) -> tuple[list[Any], tuple[int, int, int]]:
        """Drawn answers, or the likeliest tokens with their log-probabilities; token counts."""
        counts = token_counts(reply) or (0, 0, 0)
        if self.options.draws:
            return [said(choice) for choice in reply["choices"]], counts
        likely = next_token(reply["choices"][0])
        if likely is None:
            raise ValueError(
                f"gives no log-probabilities for {self.model}; sample answers instead, with its "
                "option draws=20 (20 short answers a question, or 20 calls where the server gives "
                "one at a time)"
            )
        return likely, counts

    def _check_alive(self, failures: list[Exception], otherwise: ServerError) -> None:
        """Find out by one more call whether the server answers others than those that it failed."""
        try:
            with self._caller.connect() as client:
                self._ask(client, FIRST_CALL, threading.Event())
        except SpendingLimitError as error:
            failures.append(error)
        except JudgeError:
            failures.append(otherwise)


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
