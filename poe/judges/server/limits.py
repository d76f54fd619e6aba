"""A limit on what is spent, checked before anything is sent."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from poe.judges.server.failures import SpendingLimitError


@dataclass(frozen=True)
class Spent:
    """Calls sent, and tokens read and written by the server as it counts them."""

    calls: int = 0
    tokens: int = 0


class Spending:
    """What was spent and what may be; shared by all threads of a judge.

    A call is counted when it is sent, retries too; one that the server turned away (429, or no
    connection) is given back. Before a call, its tokens are bounded from above: a token is at
    least a byte of the text. If the bound does not fit beside the calls under way, the
    call waits for them; if it does not fit by itself, that is the end. So the limit is never
    exceeded, and up to one call's bound of it stays unused.
    """

    def __init__(self, *, calls: int | None, tokens: int | None) -> None:
        for name, limit in (("call_limit", calls), ("token_limit", tokens)):
            if limit is not None and limit < 1:
                raise ValueError(f"{name} must be at least 1, not {limit}; leave it out for none")
        self._call_limit, self._token_limit = calls, tokens
        self._calls = self._tokens = self._under_way = self._bounds = 0
        self._change = threading.Condition()

    @property
    def spent(self) -> Spent:
        """So far."""
        with self._change:
            return Spent(self._calls, self._tokens)

    def begin(self, bound: int, stop: threading.Event) -> None:
        """Ask for room for one call of at most `bound` tokens; raises SpendingLimitError."""
        with self._change:
            while not self._fits(bound, self._bounds):
                if not self._fits(bound, 0) or not self._under_way:
                    raise SpendingLimitError(self._message(bound))
                self._change.wait(0.2)
                if stop.is_set():
                    raise SpendingLimitError("stopped")
            self._calls += 1
            self._under_way += 1
            self._bounds += bound

    def _fits(self, bound: int, beside: int) -> bool:
        calls = self._call_limit is None or self._calls < self._call_limit
        spent = self._tokens + beside + bound
        return calls and (self._token_limit is None or spent <= self._token_limit)

    def end(self, bound: int, tokens: int | None, *, turned_away: bool = False) -> None:
        """Account for the call: `tokens` is what the server counted, None if it did not say."""
        with self._change:
            self._under_way -= 1
            self._bounds -= bound
            if turned_away:
                self._calls -= 1
            else:
                self._tokens += bound if tokens is None else tokens
            self._change.notify_all()

    def _message(self, bound: int) -> str:
        parts = [f"the spending limit is reached after {self._calls:,} calls"]
        parts.append(f" and {self._tokens:,} tokens")
        if self._call_limit is not None:
            parts.append(f"; call_limit is {self._call_limit:,}")
        if self._token_limit is not None:
            parts.append(
                f"; token_limit is {self._token_limit:,}, and the next call may need {bound:,}"
            )
        return "".join(parts)
