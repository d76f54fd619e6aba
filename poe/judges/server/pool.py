"""Several questions at once, answers as they come."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from queue import Empty, SimpleQueue

from poe.judges.questions import Answer
from poe.judges.server.http import Address, Connection

Ask = Callable[[int, Connection], Answer]
Results = SimpleQueue[tuple[int, Answer] | BaseException | None]


def ask_all(
    ask: Ask, count: int, *, address: Address, concurrency: int, stop: threading.Event
) -> Generator[tuple[int, Answer], None, None]:
    """`ask(position, connection)` for all positions, at most `concurrency` at a time.

    After a failure nothing more is sent; answers under way are still waited for and given, since
    they are paid for, and then the failure is raised. When the caller stops listening (Ctrl-C)
    the connections are cut at once.
    """
    positions: SimpleQueue[int] = SimpleQueue()
    for position in range(count):
        positions.put(position)
    results: Results = SimpleQueue()
    connections = [Connection(address) for _ in range(min(concurrency, count))]
    threads = [
        threading.Thread(
            target=_work,
            args=(ask, connection, positions, results, stop),
            daemon=True,  # one that waits for a name server must not hold up the end
            name="poe-server-call",
        )
        for connection in connections
    ]
    failure: BaseException | None = None
    try:
        for thread in threads:
            thread.start()
        running = len(threads)
        while running:
            result = results.get()
            if result is None:
                running -= 1
            elif isinstance(result, BaseException):
                failure = failure or result
            else:
                yield result
    finally:
        stop.set()
        for connection in connections:
            connection.abort()
    if failure is not None:
        raise failure


def _work(
    ask: Ask,
    connection: Connection,
    positions: SimpleQueue[int],
    results: Results,
    stop: threading.Event,
) -> None:
    """Ask one question after the other over one connection."""
    try:
        while not stop.is_set():
            position = positions.get_nowait()
            results.put((position, ask(position, connection)))
    except Empty:
        pass
    except BaseException as error:
        results.put(error)  # before the others can fail for being stopped
        stop.set()
    finally:
        connection.close()
        results.put(None)
