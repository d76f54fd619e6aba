"""Several questions at once, answers as they come."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from queue import SimpleQueue

from poe.judges.questions import Answer
from poe.judges.server.http import Address, Connection

Ask = Callable[[int, Connection], Answer]


def ask_all(
    ask: Ask, count: int, *, address: Address, concurrency: int, stop: threading.Event
) -> Generator[tuple[int, Answer], None, None]:
    """`ask(position, connection)` for all positions, at most `concurrency` at a time.

    After a failure nothing more is sent; answers under way are still waited for and given, since
    they are paid for, and then the failure is raised. When the caller stops listening (Ctrl-C)
    the connections are cut at once.
    """
    positions = iter(range(count))
    turn = threading.Lock()
    results: SimpleQueue[tuple[int, Answer] | BaseException | None] = SimpleQueue()

    def work(connection: Connection) -> None:
        try:
            while not stop.is_set():
                with turn:
                    position = next(positions, None)
                if position is None:
                    break
                results.put((position, ask(position, connection)))
        except BaseException as error:
            results.put(error)  # before the others can fail for being stopped
            stop.set()
        finally:
            connection.close()
            results.put(None)

    connections = [Connection(address) for _ in range(min(concurrency, count))]
    threads = [
        threading.Thread(target=work, args=(connection,), daemon=True, name="poe-server-call")
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
