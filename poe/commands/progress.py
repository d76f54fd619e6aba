"""How the asking goes, on the error stream, and where it has to stop."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Sequence
from typing import TextIO

from poe.errors import JudgeError
from poe.judges.questions import Answer

PAUSE = 0.2  # seconds between two looks at a terminal
PATIENCE = 10.0  # and between two lines in a log


class LimitReachedError(JudgeError):
    """A spending limit was reached; what was answered is stored."""


class Progress:
    """Counts answers as they come; hand it to a store as `progress`.

    total : calls that are planned at most. base : of these, done before (set it between
        rounds). limit_calls, limit_tokens : of new answers; `LimitReachedError` when reached.

    A terminal gets one line that changes, a log a line now and then: calls, calls a second,
    time left, and how often the first text was preferred.
    """

    def __init__(
        self,
        total: int,
        *,
        quiet: bool = False,
        limit_calls: int | None = None,
        limit_tokens: int | None = None,
        stream: TextIO | None = None,
    ) -> None:
        self.total, self.base, self.quiet = total, 0, quiet
        self.limit_calls, self.limit_tokens = limit_calls, limit_tokens
        self.stream = sys.stderr if stream is None else stream
        self.calls = self.tokens = self.decided = 0
        self.first = 0.0
        self.started = self.shown = time.monotonic()
        self.terminal = self.stream.isatty()
        self.written = False

    def __call__(self, *, done: int, total: int, answers: Sequence[Answer]) -> None:
        """Note new answers; say how it goes; stop where a limit is reached."""
        self.calls += len(answers)
        for answer in answers:
            self.tokens += answer.tokens
            if len(answer.log_p) == 2 and answer.p == answer.p:
                self.decided += 1
                self.first += 0.5 * ((answer.p > 0.5) + (answer.p >= 0.5))
        now = time.monotonic()
        if not self.quiet and now - self.shown > (PAUSE if self.terminal else PATIENCE):
            self.shown = now
            self._write(self.base + done)
        self._check()

    def close(self) -> None:
        """End the line, if there is one."""
        if self.written and self.terminal:
            print(file=self.stream)

    def _write(self, done: int) -> None:
        rate = self.calls / max(time.monotonic() - self.started, 1e-9)
        text = f"{done:,}/{self.total:,} calls, {rate:.3g}/s"
        if rate > 0:
            text += f", {duration((self.total - done) / rate)} left"
        if self.decided:
            text += f", first position {self.first / self.decided:.0%}"
        if self.terminal:
            wide = shutil.get_terminal_size().columns - 1  # a longer line cannot be written over
            print(f"\r{text[:wide]:<{min(wide, 70)}}", end="", file=self.stream, flush=True)
        else:
            print(text, file=self.stream, flush=True)
        self.written = True

    def _check(self) -> None:
        for what, made, limit in (
            ("calls", self.calls, self.limit_calls),
            ("tokens", self.tokens, self.limit_tokens),
        ):
            if limit is not None and made >= limit:
                raise LimitReachedError(
                    f"the limit of {limit:,} {what} is reached ({made:,} were used); the answers "
                    f"are in the store, and the same command with a higher --limit-{what} goes on"
                )


def duration(seconds: float) -> str:
    """Seconds as people say them: "40 s", "3 min", "2.5 h", "4 days"."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 172_800 else f"{seconds / 86400:.1f} days"
