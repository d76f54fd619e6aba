"""Trying again, more and more slowly, for a limited time."""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable
from typing import TypeVar

from poe.judges.server.failures import PassingError, ServerError

FIRST, LONGEST = 0.5, 30.0  # seconds between two tries
log = logging.getLogger(__name__)
Found = TypeVar("Found")


def persist(
    attempt: Callable[[float], Found],
    *,
    patience: float,
    stop: threading.Event,
    chance: random.Random,
) -> Found:
    """What `attempt` returns, tried until it does not raise PassingError.

    attempt : is given the seconds that are left. patience : seconds for all tries together.
    The wait doubles from try to try, is cut at random to between half and all of it, so that
    many clients do not come back together, and is never shorter than the server asked for.
    stop : when set, no try follows. Raises ServerError when time is up.
    """
    begun = time.monotonic()
    tries = 0
    while True:
        tries += 1
        try:
            return attempt(begun + patience - time.monotonic())
        except PassingError as error:
            pause = min(LONGEST, FIRST * 2 ** (tries - 1)) * chance.uniform(0.5, 1.0)
            pause = max(pause, error.wait)
            left = begun + patience - time.monotonic()
            if pause >= left:
                asked = f"; it asks to wait {error.wait:g} s" if error.wait > left else ""
                raise ServerError(
                    f"{error}{asked}; given up after {tries} tries in "
                    f"{time.monotonic() - begun:.3g} s (patience is {patience:g} s)"
                ) from None
            log.info("%s; trying again in %.1f s", error, pause)
            if stop.wait(pause):
                raise ServerError(f"{error}; not tried again, because the run is ending") from None
