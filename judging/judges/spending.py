"""What a judge may spend: calls and tokens, reserved before and settled after each call."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from judging.errors import JudgeError


class AskingEndedError(JudgeError):
    """Nothing more can be asked for now; what was answered is sound, and kept."""


class SpendingLimitError(AskingEndedError):
    """The next call could go over the limit in calls or tokens.

    message : text, or a function that makes it when it is read: by then the calls under way have
    ended, and what they took is counted.
    """

    def __init__(self, message: str | Callable[[], str]) -> None:
        super().__init__(message)
        self._message = message

    def __str__(self) -> str:
        return self._message() if callable(self._message) else self._message


class RoundWrittenError(AskingEndedError):
    """What was asked waits for a batch; nothing more can be chosen before its answers."""


class Spending:
    """What was spent and what may be; one judge's threads share it, and never exceed it.

    calls : made so far. tokens : read and written in those that have ended, `written` of them
    written. unused : replies that were billed and could not be used. guessed : tokens among them
    of calls that did not say what they took, which count as the most that they may have taken.
    Room for a call is reserved before it is made, for the most tokens that it may take, and
    what it did take is noted afterwards. So up to one call's bound of the limit stays unused.
    """

    def __init__(self, *, calls: int | None = None, tokens: int | None = None) -> None:
        for name, limit in (("limit_calls", calls), ("limit_tokens", tokens)):
            if limit is not None and (not isinstance(limit, int) or limit < 1):
                raise JudgeError(
                    f"{name} is a whole number of at least 1, not {limit!r}; leave it out for none"
                )
        self._limit_calls, self._limit_tokens = calls, tokens
        self.calls = self.tokens = self.written = self.unused = self._reserved = 0
        self.guessed = self._kept = self._kept_tokens = 0
        self._own = threading.local()  # calls, tokens that are kept for the question of a thread
        self._each = 1
        self._lock = threading.Lock()

    @property
    def limit_calls(self) -> int | None:
        """The most calls that may be made, None without a limit."""
        return self._limit_calls

    @property
    def limited(self) -> bool:
        """Whether there is a limit at all."""
        return self._limit_calls is not None or self._limit_tokens is not None

    @contextmanager
    def question(
        self, calls: int, bound: float = 0.0, wait: Callable[[], object] = lambda: None
    ) -> Iterator[None]:
        """Reserve `calls` calls of at most `bound` tokens each for this thread's question.

        Raises SpendingLimitError where fewer are left: a question asked in part would be paid for,
        and lost. wait : called as long as calls under way must end first.
        """
        tokens = 0 if calls == 1 or bound == math.inf else calls * int(bound)
        while not self._keep(calls, tokens):
            wait()
        try:
            yield
        finally:
            with self._lock:
                self._kept -= self._own.left
                self._kept_tokens -= self._own.tokens
                self._own.left = self._own.tokens = None

    def _keep(self, calls: int, tokens: int) -> bool:
        """Whether there is room for a question now, which is then kept."""
        with self._lock:
            self._each = max(calls, self._each)
            left = math.inf if self._limit_calls is None else self._limit_calls - self.calls
            if self._kept + calls > left:
                raise SpendingLimitError(partial(self._message, 0))
            room = math.inf if self._limit_tokens is None else self._limit_tokens - self.tokens
            if tokens > room:
                raise SpendingLimitError(partial(self._message, tokens, "question"))
            if self._reserved + self._kept_tokens + tokens > room:
                return False
            self._kept, self._kept_tokens = self._kept + calls, self._kept_tokens + tokens
            self._own.left, self._own.tokens = calls, tokens
            return True

    def reserve(self, bound: float) -> bool:
        """Room for one call of at most `bound` tokens; False if calls under way must end first.

        Raises SpendingLimitError if there is none even then, and JudgeError for a limit on tokens
        where nothing bounds them.
        """
        with self._lock:
            if self._limit_tokens is not None and bound == math.inf:
                raise JudgeError(
                    "a limit on tokens needs an answer that has one: give the request a most, "
                    'options={"max_tokens": 64}, or limit calls instead'
                )
            room = math.inf if self._limit_tokens is None else self._limit_tokens - self.tokens
            if self.calls == self._limit_calls or bound > room:
                raise SpendingLimitError(partial(self._message, bound))
            own = getattr(self._own, "left", None) or 0
            most = math.inf if self._limit_calls is None else self._limit_calls
            given = int(min(getattr(self._own, "tokens", None) or 0, bound))
            full = self._reserved + self._kept_tokens - given + bound > room
            if full or (not own and self.calls + self._kept >= most):
                return False
            if own:
                self._own.left, self._kept = own - 1, self._kept - 1
            if given:
                self._own.tokens -= given
                self._kept_tokens -= given
            self.calls += 1
            self._reserved += 0 if bound == math.inf else int(bound)
            return True

    def settle(
        self,
        bound: float,
        tokens: int | None,
        *,
        written: int = 0,
        turned_away: bool = False,
        unused: bool = False,
    ) -> None:
        """Note what a reserved call took: `tokens`, `written` of them; all of its bound if None.

        turned_away : nobody worked on it, so that it does not count at all. unused : it was billed
        and gave nothing.
        """
        with self._lock:
            self._reserved -= 0 if bound == math.inf else int(bound)
            if turned_away:
                self.calls -= 1
                if (own := getattr(self._own, "left", None)) is not None:  # it is asked again
                    self._own.left, self._kept = own + 1, self._kept + 1
                if getattr(self._own, "tokens", None) is not None and bound != math.inf:
                    self._own.tokens += int(bound)
                    self._kept_tokens += int(bound)
                return
            self.guessed += int(bound) if tokens is None and bound != math.inf else 0
            self.tokens += tokens if tokens is not None else 0 if bound == math.inf else int(bound)
            self.written += written
            self.unused += unused

    def _message(self, bound: float, what: str = "call") -> str:
        limit = f"{self._limit_tokens or 0:,} tokens"
        calls = f"{self.calls:,} {'call' if self.calls == 1 else 'calls'}"
        most = "at most " if self.guessed else ""
        used = f"{calls} and {most}{self.tokens:,} tokens were used"
        used += ", as the server does not say how many" if self.guessed else ""
        if self.calls == self._limit_calls or not bound:
            limit = f"{self._limit_calls:,} {'call' if self._limit_calls == 1 else 'calls'}"
            used += f", and a question takes {self._each:,} calls" if self._each > 1 else ""
        else:
            used += f", and the next {what} may need {bound:,}"
        return f"the limit of {limit} is reached ({used}); what was answered is kept"
