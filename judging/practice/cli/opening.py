"""What a command opens: judges by their names, stores; and what asking would cost."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judging.errors import JudgeError
from judging.practice.cli.exits import SaidError, Status

if TYPE_CHECKING:
    from judging.judges import Question, Reader, Store
    from judging.practice.ranking.settings import Asking


def open_judge(
    name: str,
    settings: Sequence[str],
    limits: Asking | None = None,
) -> Reader:
    """The judge of that name, which never goes over these limits of calls and tokens."""
    from judging import judges

    options: dict[str, Any] = {}
    for text in settings:
        key, equals, value = text.partition("=")
        if not equals or not key.isidentifier():
            raise JudgeError(
                f"--judge-option {text!r} is not NAME=VALUE, for example dtype=float32"
            )
        try:
            options[key] = json.loads(value)  # a number, true or false
        except ValueError:
            options[key] = value
    for key in ("limit_calls", "limit_tokens") if limits else ():
        if (most := getattr(limits, key)) is not None:
            options.setdefault(key, most)
    return judges.open(name, **options)


def open_first(names: Sequence[str], settings: Sequence[str]) -> dict[str, Reader]:
    """Open the judges that are to be refused, if at all, before a store is made.

    Those are the first, and all that are made of their name alone, such as servers.
    """
    from judging import kinds

    opened: dict[str, Reader] = {}
    for name in dict.fromkeys(names):
        if kinds.is_light(name) or not opened:
            opened[name] = open_judge(name, settings)
    return opened


@contextmanager
def open_store(
    path: Path, *, several: bool = False, dry_run: bool = False, offline: bool = False
) -> Iterator[Store]:
    """The store at a path. A dry run leaves no new file behind; offline it must be there.

    Ctrl-C ends the command once the user knows that nothing is lost.
    """
    from judging.judges import Store

    if offline and dry_run:
        raise JudgeError("--offline asks nothing, so a --dry-run of it has nothing to say")
    if offline and not path.is_file():
        raise JudgeError(f"there is no store {path} to take answers from")
    new = dry_run and path.parent.is_dir() and not path.exists()
    with closing(Store(":memory:" if new else path, several=several or offline)) as store:
        try:
            yield store
        except KeyboardInterrupt:
            print(
                f"\njudging: stopped; the {len(store):,} answers so far are in {path}; the same "
                "command goes on from there and asks nothing twice",
                file=sys.stderr,
            )
            raise SaidError(Status.INTERRUPTED) from None


def estimate(
    name: str,
    judge: Reader,
    store: Store,
    questions: Sequence[Question],
    *,
    calls: int,
    stored: int,
    price: tuple[float, float] | None = None,
) -> dict[str, Any]:
    """Estimate what calls to a judge would take, from some of their questions."""
    from judging.cost import Price, cost

    table, ours = store.table(), store.specification(judge)
    same = [digest for digest, one in store.specifications().items() if one == ours]
    expected = cost(questions, judge, table[table["judge"].isin(same)], calls=calls)
    row = {"judge": name, "calls": calls, "stored": stored, **vars(expected)}
    if price is not None:
        for name in ("cost", "cost_low", "cost_high"):
            tokens = getattr(expected, name.replace("cost", "tokens"))
            row[name] = Price(*price).of(tokens, judge.written * calls)
        row["bounded"] = judge.bounded
    return row
