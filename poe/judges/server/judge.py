"""The judge behind a server."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

from poe.judges.naming import describe
from poe.judges.questions import Answer, Prompt, Question
from poe.judges.server import replies
from poe.judges.server.caller import Caller
from poe.judges.server.failures import (
    ModelChangedError,
    NoLabelError,
    ServerError,
    SpendingLimitError,
)
from poe.judges.server.first_call import introduce, no_log_probabilities
from poe.judges.server.http import Connection, parse_address
from poe.judges.server.limits import Spending, Spent
from poe.judges.server.pool import ask_all
from poe.judges.server.style import JOINED, ONE_WORD, Style
from poe.judges.server.tally import SILENT, Tally


class ServerJudge:
    """A model behind an OpenAI-compatible server as a `Reader`.

    The probability of each label word is read off the likeliest next tokens
    (`top_logprobs`), its spellings " A", "A" and "▁A" added up (book chapter 2).

    model : the name the server knows it by. url : up to and including /v1.
    key_env : the environment variable that holds the API key; it is read from nowhere else, and
        neither stored nor shown. By default OPENAI_API_KEY where it is set, over https or to
        this machine; over plain http to another machine only if named here.
    endpoint : "chat", or "completions" for base models: there the text sent is `frame` with
        {system}, {turn} and {prefix} filled in, so a chat template written out there gives the
        very tokens a local model would see.
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
    temperature : 0, or 1 with draws. options : more fields for the request, None removes one
        (`{"max_tokens": None, "max_completion_tokens": 1}`). A model that thinks before it answers
        has no label among its first tokens: turn that off, for Qwen3 behind vLLM by
        `{"chat_template_kwargs": {"enable_thinking": False}}`.
    ignore_case : whether "a" is the label "A".
    neither : an answer with none of the labels is stored and counted ("count"), or stops the run
        ("error"). If the first ten are all like this the run stops in any case.
    concurrency : calls at a time. timeout : seconds a call. patience : seconds for a question
        with all its retries (after 429, 5xx, timeouts, lost connections).
    call_limit, token_limit : never exceeded; see `spent`. The run stops with SpendingLimitError.
    server : a name that stands for the address in the specification, so that a server which
        moves (a cluster's node) stays the same judge.

    The first use makes one call of a few tokens (two with "continue"): it finds out which model
    answers and whether the server gives log-probabilities; both are part of the specification.
    """

    def __init__(
        self,
        model: str,
        url: str,
        *,
        key_env: str | None = None,
        endpoint: str = "chat",
        prefix: str = "ask",
        instruction: str = ONE_WORD,
        frame: str = JOINED,
        draws: int = 0,
        top: int = 20,
        temperature: float | None = None,
        options: Mapping[str, Any] | None = None,
        ignore_case: bool = False,
        neither: str = "count",
        concurrency: int = 8,
        timeout: float = 60.0,
        patience: float = 300.0,
        call_limit: int | None = None,
        token_limit: int | None = None,
        server: str | None = None,
    ) -> None:
        if temperature is None:
            temperature = 1.0 if draws else 0.0
        if neither not in ("count", "error"):
            raise ValueError(f"neither is 'count' or 'error', not {neither!r}")
        if concurrency < 1 or timeout <= 0 or patience <= 0:
            raise ValueError("concurrency, timeout and patience must be positive")
        self.address = parse_address(url)
        self.style = Style(
            model, endpoint, prefix, instruction, frame, draws, top, temperature, options or {}
        )
        self.ignore_case, self.neither = ignore_case, neither
        self.concurrency = concurrency
        self._server = server or self.address.name
        self._lock = threading.Lock()
        self._tallies: dict[str, Tally] = {}  # by the digest of the prompt
        self._caller = Caller(
            self.address,
            self.style.path,
            key_env=key_env,
            timeout=timeout,
            patience=patience,
            written=self.style.written,
            spending=Spending(calls=call_limit, tokens=token_limit),
        )

    def __repr__(self) -> str:
        return f"ServerJudge({self.style.model!r}, {self.address.name!r})"

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
            "model": self.style.model,
            "served": self._caller.served or "",
            "server": self._server,
            "ignore_case": str(self.ignore_case),
            **self.style.specification(),
        }

    def answer(self, questions: Sequence[Question]) -> Iterator[tuple[int, Answer]]:
        """Answers as they come.

        Raises ServerError, ModelChangedError, NoLabelError or SpendingLimitError, after all
        answers that were under way have been given.
        """
        for question in questions:
            self._check_labels(question.prompt)
        self._introduce()
        stop = threading.Event()

        def ask(position: int, connection: Connection) -> Answer:
            return self._ask(questions[position], connection, stop)

        left = len(questions)
        coming = ask_all(ask, left, address=self.address, concurrency=self.concurrency, stop=stop)
        try:
            with closing(coming):
                for position, answer in coming:
                    left -= 1
                    tally = self._tally(questions[position].prompt)
                    tally.add(answer)
                    yield position, answer
                    if tally.hopeless:
                        raise NoLabelError(
                            f"none of the first {SILENT} answers of {self.style.model} held a "
                            f"label of {describe(questions[position])}; look at what it says "
                            "(neither='error' shows it), and change the prompt, the instruction, "
                            "prefix= or endpoint="
                        )
        except SpendingLimitError as error:
            raise SpendingLimitError(
                f"{error}; {left} of {len(questions)} questions are left, and what was answered "
                "is kept"
            ) from None
        for tally in self._tallies.values():
            tally.warn()

    def _tally(self, prompt: Prompt) -> Tally:
        if prompt.digest not in self._tallies:
            self._tallies[prompt.digest] = Tally(self.style.model, prompt.name, self.style.top)
        return self._tallies[prompt.digest]

    # One question ----------------------------------------------------------------------

    def _introduce(self) -> None:
        """Make the first call, once."""
        with self._lock:
            if self._caller.served is None:
                introduce(self._caller, self.style)

    def _ask(self, question: Question, connection: Connection, stop: threading.Event) -> Answer:
        begun = time.perf_counter()
        try:
            if self.style.draws:
                answer = self._drawn(question, connection, stop)
            else:
                answer = self._read_off(question, connection, stop)
        except ModelChangedError:
            raise
        except ServerError as error:
            raise type(error)(f"{describe(question)}: {error}") from None
        return replace(answer, seconds=time.perf_counter() - begun)

    def _read_off(
        self, question: Question, connection: Connection, stop: threading.Event
    ) -> Answer:
        found = self._caller.call(self.style.body(question), connection, stop)
        likely = replies.next_token(found["choices"][0])
        if likely is None:
            raise ServerError(no_log_probabilities(self.address.name, self.style.model))
        log_p = replies.merged(likely, question.prompt.labels, ignore_case=self.ignore_case)
        if self.neither == "error" and max(log_p) == -math.inf:
            raise NoLabelError(
                f"none of the labels {question.prompt.labels} is among the {len(likely)} likeliest "
                f"answers; they begin {[token for token, _ in likely[:5]]}"
            )
        read, cached, _ = replies.tokens(found) or (0, 0, 0)
        return Answer(log_p, tokens=read, computed=float(read - cached))

    def _drawn(self, question: Question, connection: Connection, stop: threading.Event) -> Answer:
        texts: list[str] = []
        read = computed = 0
        while len(texts) < self.style.draws:  # some servers give one choice whatever n says
            body = self.style.body(question, draws=self.style.draws - len(texts))
            found = self._caller.call(body, connection, stop)
            texts += [replies.said(choice) for choice in found["choices"]]
            prompt, cached, _ = replies.tokens(found) or (0, 0, 0)
            read = max(read, prompt)
            computed += prompt - cached
        texts = texts[: self.style.draws]
        log_p = replies.counted(texts, question.prompt, ignore_case=self.ignore_case)
        if self.neither == "error" and max(log_p) == -math.inf:
            raise NoLabelError(
                f"none of {len(texts)} draws begins with one of {question.prompt.labels}; they "
                f"are {[text[:20] for text in texts[:5]]}"
            )
        return Answer(log_p, tokens=read, computed=float(computed), draws=len(texts))

    def _check_labels(self, prompt: Prompt) -> None:
        bare = [label.strip(replies.SPACES) for label in prompt.labels]
        folded = [label.casefold() if self.ignore_case else label for label in bare]
        if "" in folded or len(set(folded)) < len(folded):
            raise ServerError(
                f"prompt {prompt.name!r}: the labels {prompt.labels} cannot be told apart once "
                "spaces"
                + (" and case" if self.ignore_case else "")
                + " are put aside; choose others"
            )
