"""Calls to one server: accounted for, retried, and answered by one and the same model."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from poe.judges.server import replies
from poe.judges.server.failures import ModelChangedError, PassingError, ServerError
from poe.judges.server.http import Address, Connection, find_key, scrub
from poe.judges.server.limits import Spending
from poe.judges.server.retrying import persist


class Caller:
    """Sends requests to one path of a server.

    written : most tokens that the model may write in one call, for the spending limit.
    served : the name of the model that answers, by the replies; None before the first call.
    """

    def __init__(
        self,
        address: Address,
        path: str,
        *,
        key_env: str | None,
        timeout: float,
        patience: float,
        written: int,
        spending: Spending,
    ) -> None:
        self.address, self.path, self.key_env = address, path, key_env
        self.timeout, self.patience = timeout, patience
        self.spending = spending
        self.served: str | None = None
        self._beside = 64 + written  # tokens beside the texts; a chat template has some
        self._written = written
        self._chance = random.Random()  # of the waits between retries

    def introduce(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """The first call; a server that is not there is not waited for."""
        connection = Connection(self.address)
        try:
            return self._persist(body, connection, threading.Event(), first=True)
        finally:
            connection.abort()
            connection.close()

    def remember(self, found: Mapping[str, Any]) -> None:
        """Note from the first reply which model answers and what a call costs at least."""
        counted = replies.tokens(found)
        if counted is not None:
            self._beside = counted[0] + self._written
        self.served = _served(found)

    def call(
        self, body: Mapping[str, Any], connection: Connection, stop: threading.Event
    ) -> dict[str, Any]:
        """Send a request until it is answered; raises ModelChangedError if another model does."""
        found = self._persist(body, connection, stop, first=False)
        if _served(found) != self.served:
            raise ModelChangedError(
                f"{self.address.name} answered as {self.served!r} until now and answers as "
                f"{_served(found)!r} this time; answers of two models do not go into one ranking. "
                "Those of the first are kept; name a dated version of the model, or use another "
                "store"
            )
        return found

    def _persist(
        self, body: Mapping[str, Any], connection: Connection, stop: threading.Event, *, first: bool
    ) -> dict[str, Any]:
        sent = json.dumps(body, ensure_ascii=False).encode()
        key = find_key(self.address, self.key_env)

        def attempt(left: float) -> dict[str, Any]:
            try:
                return self._once(sent, connection, key, max(0.01, min(self.timeout, left)), stop)
            except PassingError as error:
                if first and not error.reached:
                    raise ServerError(f"{error}; is it up, and is this its address?") from None
                raise

        try:
            return persist(attempt, patience=self.patience, stop=stop, chance=self._chance)
        except ServerError as error:
            raise type(error)(scrub(str(error), key)) from None

    def _once(
        self,
        sent: bytes,
        connection: Connection,
        key: str | None,
        timeout: float,
        stop: threading.Event,
    ) -> dict[str, Any]:
        bound = len(sent) + self._beside
        self.spending.begin(bound, stop)
        tokens: int | None = None  # not said
        turned_away = False
        try:
            reply = connection.post(self.path, sent, key=key, timeout=timeout)
            if key:  # some servers repeat it in their complaints
                reply = replace(reply, body=reply.body.replace(key.encode(), b"[key]"))
            found = replies.read(reply, server=self.address.name, path=self.path)
            counted = replies.tokens(found)
            tokens = None if counted is None else counted[0] + counted[2]
            return found
        except PassingError as error:
            turned_away = error.turned_away
            tokens = None if error.billed else 0
            raise
        except ServerError:
            tokens = 0
            raise
        finally:
            self.spending.end(bound, tokens, turned_away=turned_away)


def _served(found: Mapping[str, Any]) -> str:
    return str(found.get("model") or "not said")
