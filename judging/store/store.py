"""The judgement store: every answer of a judge, kept in one SQLite file and asked for once.

The file is in SQLite's rollback mode, not in write-ahead mode: write-ahead logging needs memory
shared by all processes, so it breaks on the network file systems that clusters have, and it
leaves a second file that is forgotten when the store is copied. A rollback journal asks for
nothing but file locks; the price is a wait of milliseconds per commit, which is shared by all
answers that came meanwhile. On a network file system whose locks do not work (some NFS mounts
with `nolock`), give every process its own store and merge them.
"""

from __future__ import annotations

import json
import re
import sqlite3
import threading
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from judging.errors import JudgeError
from judging.machine import WASM
from judging.question import Answer, Prompt, Question, Reader, Text, first_better
from judging.store import schema
from judging.store.lock import writing
from judging.store.rows import (
    COUNTS,
    answer_in,
    check,
    judge_row,
    key_of,
    log_p_of,
    refused_in,
    require_one,
    require_one_text_a_name,
    row_of,
    unanswered,
)
from judging.store.schema import (
    ANSWERED,
    ENTER,
    FORGET_REFUSED,
    LOOK_UP,
    ROWS,
    named_failures,
    prepare,
)
from poe.comparisons import Comparisons

UNKNOWN = "not yet known"  # what a field says that only a first answer tells
WRONG = 10  # invalid answers after which we stop asking a judge


class Merge(NamedTuple):
    """What merging a store into another did.

    added : answers taken over. same, differ : answers that both had, with equal probabilities or
    not; this store's stay. Another batch or device changes the last digits; a larger difference,
    which the warning tells, means another judge under the same specification. refused : what is
    wrong with answers that no judge can have given; they are left out.
    """

    added: int
    same: int
    differ: int
    refused: tuple[str, ...]


class _AtOnce(Executor):
    """Commits in the caller's thread, where no other can be started."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        done: Future[Any] = Future()
        done.set_result(fn(*args, **kwargs))
        return done


class Store:
    """All answers of a judge, in one SQLite file; nothing is asked twice, nothing is lost.

        with Store("judgements.sqlite") as store:
            answers = store.ask(judge, questions)
            comparisons = store.comparisons(context="article-1")

    An answer is kept by everything that changes it: the judge's whole specification, the prompt
    with its label words, the texts and their order. Killed at any moment, a store holds every
    answer that was reported and none in part; several processes may read it at once, and one asks
    for it. It holds digests and names of texts and prompts, never the texts.

    Parameters
    ----------
    path
        The file, made if it is not there; ":memory:" keeps the answers until it is closed.
    several
        Whether answers of several judges are meant to be in it. Otherwise a judge whose
        specification differs from the one in the file is refused, with the fields that differ.

    Raises
    ------
    JudgeError
        Naming the file, for what is no usable store, a full disk, a folder that cannot be written,
        or another judge.

    Examples
    --------
    >>> with judging.Store(":memory:") as store:
    ...     len(store.table())
    0
    """

    def __init__(self, path: str | Path, *, several: bool = False) -> None:
        self.path, self.several = Path(path), several
        self._lock = threading.RLock()
        with named_failures(self.path):
            self._connection = sqlite3.connect(
                self.path, timeout=schema.WAIT, isolation_level=None, check_same_thread=False
            )
            try:
                prepare(self._connection, self.path, self._transaction)
                self._version = self._data_version()
            except BaseException:
                self.close()
                raise

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; everything in it was already safe."""
        self._connection.close()

    def __len__(self) -> int:
        """Number of answers, of all judges."""
        with self._transaction("DEFERRED") as connection:
            return int(connection.execute("SELECT count(*) FROM answers").fetchone()[0])

    @contextmanager
    def _transaction(self, kind: str = "IMMEDIATE") -> Iterator[sqlite3.Connection]:
        """All or nothing, one thread at a time; "DEFERRED" for reading, alone or in another."""
        with self._lock, named_failures(self.path):
            if self._connection.in_transaction:
                yield self._connection
                return
            self._connection.execute(f"BEGIN {kind}")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                self._connection.rollback()
                raise

    # Asking ----------------------------------------------------------------------------

    def answered(self, judge: Reader, prompt: Prompt) -> dict[str | None, set[tuple[str, str]]]:
        """The comparisons that the judge has answered: digest of the context to digests of texts.

        Those that it refused are among them: nothing is asked twice. The texts are (first,
        second); the context is None where the prompt shows none.
        """
        pairs: dict[str | None, set[tuple[str, str]]] = {}
        specification = self.specification(judge)
        self._require_judge(specification)
        wanted = (judge_row(specification)["judge_digest"], prompt.digest)
        with self._transaction("DEFERRED") as connection:
            for context, first, second in connection.execute(ANSWERED, wanted):
                pairs.setdefault(context, set()).add((first, second))
        return pairs

    def missing(self, judge: Reader, questions: Sequence[Question]) -> list[int]:
        """Positions of the questions that `ask` would put to the judge.

        Of questions that are the same (same prompt, texts and order) only the first counts.
        """
        return unanswered(questions, self._look_up(judge, questions)[0])

    def ask(
        self,
        judge: Reader,
        questions: Sequence[Question],
        progress: Callable[..., object] | None = None,
        meanwhile: Callable[[], object] | None = None,
    ) -> list[Answer]:
        """Answers to all questions, in their order; only what is missing is asked.

        progress : called as progress(done=, total=, answers=) after commits, from the caller's
            thread: `answers` are new since the last call, `done` counts them all, and every one
            of them survives whatever happens next.
        meanwhile : called where another process has written to the store, before anything is asked.

        When the judge fails or Ctrl-C stops it, what it has answered is stored before the
        error goes on to the caller; the same call then asks for the rest. An answer that is
        none loses itself alone; after a few such the judge is asked no more. While another process
        asks for this store it is waited for (`judging.store.lock`), and its answers are taken: what
        both need is paid for once. For work at the same time give each a store of its own.
        """
        there, renamed = self._look_up(judge, questions)
        if renamed:
            known = judge_row(self.specification(judge))
            self._enter([row_of(known, question) for question in renamed])
        if unanswered(questions, there):
            with writing(self.path):
                if self._others_wrote() and meanwhile is not None:
                    meanwhile()
                there, _ = self._look_up(judge, questions)  # another may have asked meanwhile
                if wanted := unanswered(questions, there):
                    self._ask(judge, questions, wanted, progress or (lambda **_: None))
            there, _ = self._look_up(judge, questions)
        silent = [question for question in questions if question.key not in there]
        if silent:
            raise JudgeError(
                f"the judge left {len(silent)} of {len(questions)} questions unanswered, the first "
                f"being {silent[0]}; ask again for these"
            )
        return [there[question.key] for question in questions]

    def _data_version(self) -> int:
        """A number that changes when others write to the store."""
        with self._transaction("DEFERRED") as connection:
            return int(connection.execute("PRAGMA data_version").fetchone()[0])

    def _others_wrote(self) -> bool:
        """Whether others have written since this was asked last; at first, since it was opened."""
        # That the lock was waited for does not tell: who comes a little later need not wait.
        before, self._version = self._version, self._data_version()
        return self._version != before

    def _ask(
        self,
        judge: Reader,
        questions: Sequence[Question],
        wanted: Sequence[int],
        progress: Callable[..., object],
    ) -> None:
        """Put questions to the judge while another thread commits what it has answered.

        Each commit takes all that came since the last one. An answer therefore waits for one
        commit at most, many that come at once share one, and an interrupt of this thread never
        hits the middle of a commit.
        """
        asked = [questions[k] for k in wanted]
        same: dict[str, list[Question]] = {}  # all names under which a question is asked
        for question in questions:
            same.setdefault(question.key, []).append(question)
        said: deque[tuple[list[Question], Answer]] = deque()  # and not yet stored
        stored: list[Answer] = []
        commits: deque[Future[None]] = deque()
        wrong: list[JudgeError] = []
        reported = 0

        def commit() -> None:
            if not (entries := [said.popleft() for _ in range(len(said))]):
                return  # the commit before took them along
            known = judge_row(judge.specification)
            self._enter([row_of(known, q, answer) for names, answer in entries for q in names])
            stored.extend(answer for _, answer in entries)

        def report() -> None:
            nonlocal reported
            if answers := stored[reported:]:
                reported += len(answers)
                progress(done=reported, total=len(asked), answers=answers)

        def answers() -> Generator[tuple[int, Answer]]:
            yield from judge.answer(asked)  # as a generator, so that it can always be closed

        try:
            begun = _AtOnce() if WASM else ThreadPoolExecutor(1, "poe-store")
            with begun as writer, closing(answers()) as stream:
                for position, answer in stream:
                    question = asked[position]
                    counts = [getattr(answer, name) for name in COUNTS]
                    try:
                        check(answer.log_p, question.prompt.labels, question, counts)
                    except JudgeError as error:
                        wrong.append(error)
                        if len(wrong) == WRONG:
                            break
                        continue
                    said.append((same[question.key], answer))
                    commits.append(writer.submit(commit))
                    while commits and commits[0].done():
                        commits.popleft().result()  # raises what the commit raised
                    report()
            for last in commits:
                last.result()
        finally:
            report()
        if wrong:
            raise wrong[0]

    def _look_up(
        self, judge: Reader, questions: Sequence[Question]
    ) -> tuple[dict[str, Answer], list[Question]]:
        """Answers that are there, by the question's key, and questions whose names are new."""
        there: dict[str, Answer] = {}
        renamed = []
        specification = self.specification(judge)
        self._require_judge(specification)
        known = judge_row(specification)
        with self._transaction("DEFERRED") as connection:
            for question in questions:
                row = row_of(known, question)
                if said := connection.execute(LOOK_UP, row).fetchone():
                    *values, named = said
                    row |= dict(zip(("log_p", *COUNTS), values, strict=True))
                    there[question.key] = answer_in(row)
                    renamed += [] if named else [question]
        return there, renamed

    def forget_refused(self, judge: Reader) -> int:
        """Forget what a judge refused, so that it is asked again; returns how many there were."""
        digest = judge_row(self.specification(judge))["judge_digest"]
        with self._transaction() as connection:
            return connection.execute(FORGET_REFUSED, (digest,)).rowcount

    def _enter(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Enter judges, names and answers; of two answers to a question the first one stays.

        An answer takes the place of a refusal.
        """
        with self._transaction() as connection:
            for specification in {row["specification"] for row in rows}:
                self._require_judge(json.loads(specification))
            for statement in ENTER.split(";"):
                connection.executemany(statement, rows)

    def specification(self, judge: Reader) -> dict[str, str]:
        """A judge's specification as this store has it, without a call where that can be.

        A server is believed to be the one whose answers are here, if there is one alone that it
        can be; where there is none, which model is behind it is left open until it answers.
        """
        if not isinstance(judge, Reader):
            raise JudgeError(
                f"{type(judge).__name__} is no judge that reads texts: derive its class from "
                "judging.Reader"
            )
        if not judge.unknown:
            return dict(judge.specification)
        described = judge.described
        like = [s for s in self.specifications().values() if described.items() <= s.items()]
        if len(like) > 1:
            return dict(judge.specification)
        if like:
            judge.believe(like[0])
            return like[0]
        return {**described, **dict.fromkeys(judge.unknown, UNKNOWN)}

    def specifications(self) -> dict[str, dict[str, str]]:
        """The judges in the store: short digest, as in `table`, to specification."""
        with self._transaction("DEFERRED") as connection:
            rows = connection.execute("SELECT digest, specification FROM judges ORDER BY id")
            try:
                return {digest[:8]: dict(json.loads(text)) for digest, text in rows}
            except (TypeError, ValueError):
                raise JudgeError(f"{self.path} is damaged: a judge in it has no fields") from None

    def _require_judge(self, specification: Mapping[str, str]) -> None:
        """Refuse a judge if the file has answers of others alone and several were not meant."""
        known = list(self.specifications().values())
        if self.several or not known or dict(specification) in known:
            return

        def differing(one: Mapping[str, str]) -> list[str]:
            return [f for f in sorted({*one, *specification}) if one.get(f) != specification.get(f)]

        near = min(known, key=lambda one: len(differing(one)))
        theirs, ours = (
            one.get("model") or one.get("kind", "a judge") for one in (near, specification)
        )
        if theirs != ours:  # another judge was meant, no setting of this one was mistaken
            name = re.sub(r"[^A-Za-z0-9.-]+", "-", ours)
            raise JudgeError(
                f"{self.path} holds the answers of another judge, {theirs}; name another store for "
                f"{ours}, such as --store {name}.sqlite, or name both judges (in "
                "Python several=True)"
            )
        lines = [
            f"\n  {field}: {near.get(field, 'not set')} in the store, "
            f"{specification.get(field, 'not set')} now"
            for field in differing(near)
        ]
        moved = ""
        if [f for f in differing(near) if specification.get(f) != UNKNOWN] == ["server"]:
            moved = (
                "\nif the same model moved there, its answers stay valid: --judge-option "
                f"server={near['server']} (in Python server=...)"
            )
        raise JudgeError(
            f"{self.path} holds the answers of another judge; what differs:{''.join(lines)}{moved}"
            "\nname another store, or set the judge up as it was (in Python several=True allows "
            "several judges in one store)"
        )

    # What is in it ---------------------------------------------------------------------

    def contents(self) -> list[dict[str, Any]]:
        """Its judges: the short digest `judge`, `specification` and `prompts`.

        A prompt has its name, the answers to it and those refused, and the tokens that they took;
        a question that was put under several names is one.
        """
        table = self._table().drop_duplicates(["judge_digest", "prompt", "question"])
        rows = []
        for digest, given in self.specifications().items():
            row: dict[str, Any] = {"judge": digest, "specification": given, "prompts": []}
            for name, ours in table[table["judge"] == digest].groupby("prompt", sort=False):
                refused = int((ours["refused"] != "").sum())
                counts = {"answers": len(ours) - refused, "refused": refused}
                row["prompts"].append(
                    {"prompt": name, **counts, "tokens": int(ours["tokens"].sum())}
                )
            rows.append(row)
        return rows

    def table(self) -> pd.DataFrame:
        """One row per answer and per set of names under which it was asked.

        judge (short digest), prompt, prompt_digest, context, first, second : names.
        labels : the label words, separated by spaces. log_p_1, log_p_2, ... : their natural
        log-probabilities in that order, -inf where a label was not seen, NaN beyond the labels.
        p : P(first is better), for comparisons. mass : probability of all labels together.
        refused : why a question has no answer and will have none, "" for an answer.
        tokens, computed, seconds, draws : as in `Answer`. at : when it was stored (UTC).
        """
        return self._table().loc[:, :"at"]

    def comparisons(self, **which: Any) -> Comparisons:
        """The answers of one judge to one prompt in one context; arguments as in `by_context`."""
        groups = self.by_context(**which)
        require_one("context", groups)
        return next(iter(groups.values()))

    def by_context(
        self,
        *,
        prompt: str | None = None,
        context: str | None = None,
        judge: str | None = None,
        texts: Sequence[Text] | None = None,
    ) -> dict[str | None, Comparisons]:
        """The answers of one judge to one prompt, items by their names, by context.

        prompt : its name or digest. judge : the start of its digest. context : its name. Each may
            be left out where the store has only one.
        texts : the items, in the order wanted: only answers on these very texts, under these
            names, count. Needed where a name was given to different texts; advisable where
            items were renamed.

        Answers with none of the labels, and questions that were refused, are left out with a
        warning. Raises JudgeError where
        nothing, or more than one thing, fits.
        """
        answers = self._table(prompt=prompt, judge=judge, context=context).query("comparative == 1")
        if texts is not None:
            these = pd.MultiIndex.from_tuples([(text.id, text.digest) for text in texts])
            for pair in (["first", "first_digest"], ["second", "second_digest"]):
                answers = answers[pd.MultiIndex.from_frame(answers[pair]).isin(these)]
        require_one("judge", answers["judge"])
        prompts = dict(zip(answers["prompt_digest"], answers["prompt"], strict=True))
        require_one("prompt", (f"{name} {digest}" for digest, name in prompts.items()))
        # A prompt with two names has every question twice.
        answers = answers.drop_duplicates(["question", "context", "first", "second"])
        if refused := int((answers["refused"] != "").sum()):
            warnings.warn(f"{refused} of {len(answers)} were refused, and left out", stacklevel=3)
            answers = answers[answers["refused"] == ""]
        if answers["p"].isna().any():
            blank = f"{answers['p'].isna().sum()} of {len(answers)} answers held neither label"
            warnings.warn(f"{blank}; they are left out", stacklevel=3)
            answers = answers.dropna(subset="p")
        if answers.empty:
            raise JudgeError("the store has no such comparison; see its table() for what it has")
        require_one_text_a_name(answers, ["context"])
        items = None if texts is None else [text.id for text in texts]
        groups: dict[str | None, Comparisons] = {}
        for name, rows in answers.groupby("context", sort=False, dropna=False):
            require_one_text_a_name(rows, ["first", "second"])
            c = Comparisons.from_table(rows[["first", "second", "p"]], items=items)
            groups[None if pd.isna(name) else name] = c
        return groups

    def _table(self, **wanted: Any) -> pd.DataFrame:
        """`table`, and after it the full digests."""
        table = self._rows(**wanted)
        rows = table.to_dict("records")
        try:
            said = [dict(enumerate(log_p_of(row))) for row in rows]
        except JudgeError as error:
            raise JudgeError(
                f"{self.path} is damaged: {error}; merge it into a new store, which leaves such "
                "answers out"
            ) from None
        log_p = pd.DataFrame(said, dtype=float)
        log_p = log_p.reindex(columns=range(max(2, log_p.shape[1])))
        p = pd.Series(first_better(log_p[0], log_p[1])).where(table["comparative"] == 1)
        mass = np.exp(log_p).sum(axis=1)
        log_p = log_p.rename(columns=lambda k: f"log_p_{k + 1}")
        log_p = log_p.assign(p=p, mass=mass, refused=[refused_in(row) for row in rows])
        table["labels"] = [" ".join(json.loads(text)) for text in table["labels"]]
        table["at"] = pd.to_datetime(table["at"], unit="s", utc=True)
        return pd.concat([table.loc[:, :"labels"], log_p, table.loc[:, "tokens":]], axis=1)

    def _rows(
        self, *, prompt: str | None = None, judge: str | None = None, context: str | None = None
    ) -> pd.DataFrame:
        """All that is known of answers, once for each set of names they were asked under."""
        wanted = {"prompt": prompt, "judge": judge, "context": context}
        with self._transaction("DEFERRED") as connection:
            rows = connection.execute(ROWS, wanted)  # pandas' own reader hides SQLite's errors
            return pd.DataFrame(rows.fetchall(), columns=[column[0] for column in rows.description])

    def add(self, rows: Sequence[Mapping[str, Any]]) -> Merge:
        """Enter answers that came another way than by `ask`, all or none; see `row_of`.

        Of two answers to a question the store's own stays.
        """
        ours, new = self._apart(rows)
        theirs = {key_of(row): row for row in reversed(new)}
        self._enter(rows)
        both = theirs.keys() & ours.keys()
        same = sum(log_p_of(theirs[k]) == log_p_of(ours[k]) for k in both)
        return Merge(len(theirs) - len(both), same, len(both) - same, ())

    def _apart(
        self, theirs: Sequence[Mapping[str, Any]]
    ) -> tuple[dict[Any, Mapping[str, Any]], list[Mapping[str, Any]]]:
        """What there is by its key, and what others have, without what counts as nothing beside it.

        An answer counts more than that the question was refused.
        """
        there = {key_of(row): row for row in self._rows().to_dict("records")}
        ours = {key: row for key, row in there.items() if not refused_in(row)}
        return ours, [row for row in theirs if not (refused_in(row) and key_of(row) in there)]

    # Two stores ------------------------------------------------------------------------

    def merge(self, other: str | Path) -> Merge:
        """Take over the answers of another store, a shard of the same work.

        Where both have answered a question differently this store's answer stays; that and
        damaged answers, which are left out, are told in a warning and in the result.
        """
        other = Path(other)
        if not other.is_file():
            raise JudgeError(f"there is no store {other} to merge")
        if self.path.exists() and other.samefile(self.path):
            raise JudgeError(f"{other} is this store itself; name another to merge")
        with Store(other, several=True) as source:
            every = source._rows().to_dict("records")
        ours, theirs = self._apart(every)
        sound, faults = {}, []
        for row in theirs:
            try:
                sound[key_of(row)] = np.exp(log_p_of(row))
            except JudgeError as error:
                faults.append(str(error))
        self._enter([row for row in every if key_of(row) in sound or refused_in(row)])
        both = sound.keys() & ours.keys()
        gaps = [abs(sound[which] - np.exp(log_p_of(ours[which]))).max() for which in both]
        differ = int(np.count_nonzero(gaps))
        if faults:
            text = f"{len(faults)} rows of {other} are damaged and left out, the first"
            warnings.warn(f"{text}: {faults[0]}", stacklevel=2)
        if differ:
            text = f"{differ} answers of {other} differ from those in {self.path}, which stay, by"
            warnings.warn(f"{text} {max(gaps):.2g} in probability at most", stacklevel=2)
        return Merge(len(sound) - len(both), len(both) - differ, differ, tuple(faults))


def opened(
    store: Store | str | Path | None, *, several: bool = False
) -> AbstractContextManager[Store]:
    """A store to use: one that is open stays open, the file of one is closed at the end.

    None is one in memory. several : whether answers of several judges may be in it.
    """
    if isinstance(store, Store):
        return nullcontext(store)
    return Store(":memory:" if store is None else store, several=several)
