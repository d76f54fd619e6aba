"""The judgement store: every answer of a judge, kept in one SQLite file and asked for once.

The file is in SQLite's rollback mode, not in write-ahead mode: write-ahead logging needs memory
shared by all processes, so it breaks on the network file systems that clusters have, and it
leaves a second file that is forgotten when the store is copied. A rollback journal asks for
nothing but file locks; the price is a wait of milliseconds a commit, which is shared by all
answers that came meanwhile. On a network file system whose locks do not work (some NFS mounts
with `nolock`), give every process its own store and merge them.
"""

from __future__ import annotations

import hashlib
import json
import math
import sqlite3
import threading
import time
import warnings
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from poe.comparisons import Comparisons
from poe.errors import JudgeError, name_some
from poe.judges.questions import PLACES, Answer, Question, Reader, Text

MARKS = {"application_id": 0x706F654A, "user_version": 1}  # "poeJ", and the version of TABLES
WAIT = 60.0  # seconds for another process to finish its commit

# Answers know a judge and a question; `asked` knows under which names a question was put, so
# that a text with two names, or a renamed one, is still paid for once. Texts and prompts are
# kept as digests. In `asked`, 0 stands for a place that the prompt does not have. log_p is
# JSON: exact to the last bit, null for -inf, readable without this package.
TABLES = """
CREATE TABLE judges (
    id INTEGER PRIMARY KEY, digest TEXT NOT NULL UNIQUE, specification TEXT NOT NULL
);
CREATE TABLE prompts (
    id INTEGER PRIMARY KEY, digest TEXT NOT NULL, name TEXT NOT NULL, labels TEXT NOT NULL,
    comparative INTEGER NOT NULL, UNIQUE (digest, name)
);
CREATE TABLE texts (
    id INTEGER PRIMARY KEY, digest TEXT NOT NULL, name TEXT NOT NULL, UNIQUE (digest, name)
);
CREATE TABLE asked (
    question BLOB NOT NULL, prompt INTEGER NOT NULL REFERENCES prompts,
    context INTEGER NOT NULL, first INTEGER NOT NULL REFERENCES texts, second INTEGER NOT NULL,
    PRIMARY KEY (question, prompt, context, first, second)
) WITHOUT ROWID;
CREATE TABLE answers (
    judge INTEGER NOT NULL REFERENCES judges, question BLOB NOT NULL, log_p TEXT NOT NULL,
    tokens INTEGER NOT NULL, computed REAL NOT NULL, seconds REAL NOT NULL,
    draws INTEGER NOT NULL, at REAL NOT NULL,
    PRIMARY KEY (judge, question)
) WITHOUT ROWID;
"""
ENTER = """
INSERT INTO judges (digest, specification) VALUES (:judge_digest, :specification)
    ON CONFLICT DO NOTHING;
INSERT INTO prompts (digest, name, labels, comparative)
    VALUES (:prompt_digest, :prompt, :labels, :comparative) ON CONFLICT DO NOTHING;
INSERT INTO texts (digest, name) SELECT :context_digest, :context WHERE :context_digest NOT NULL
    ON CONFLICT DO NOTHING;
INSERT INTO texts (digest, name) VALUES (:first_digest, :first) ON CONFLICT DO NOTHING;
INSERT INTO texts (digest, name) SELECT :second_digest, :second WHERE :second_digest NOT NULL
    ON CONFLICT DO NOTHING;
INSERT INTO asked (question, prompt, context, first, second) VALUES (:question,
    (SELECT id FROM prompts WHERE digest = :prompt_digest AND name = :prompt),
    ifnull((SELECT id FROM texts WHERE digest = :context_digest AND name = :context), 0),
    (SELECT id FROM texts WHERE digest = :first_digest AND name = :first),
    ifnull((SELECT id FROM texts WHERE digest = :second_digest AND name = :second), 0))
    ON CONFLICT DO NOTHING;
INSERT INTO answers SELECT id, :question, :log_p, :tokens, :computed, :seconds, :draws, :at
    FROM judges WHERE digest = :judge_digest AND :log_p NOT NULL ON CONFLICT DO NOTHING
"""
NAMED = """
asked n JOIN prompts p ON p.id = n.prompt JOIN texts f ON f.id = n.first
    LEFT JOIN texts s ON s.id = n.second LEFT JOIN texts c ON c.id = n.context
"""
LOOK_UP = f"""
SELECT a.log_p, a.tokens, a.computed, a.seconds, a.draws, EXISTS (
    SELECT 1 FROM {NAMED} WHERE n.question = a.question AND p.name = :prompt
        AND f.name = :first AND s.name IS :second AND c.name IS :context)
FROM answers a JOIN judges j ON j.id = a.judge
WHERE j.digest = :judge_digest AND a.question = :question
"""
ROWS = f"""
SELECT substr(j.digest, 1, 8) AS judge, p.name AS prompt, p.digest AS prompt_digest,
    c.name AS context, f.name AS first, s.name AS second, p.labels, a.log_p, a.tokens, a.computed,
    a.seconds, a.draws, a.at, j.digest AS judge_digest, j.specification, p.comparative,
    c.digest AS context_digest, f.digest AS first_digest, s.digest AS second_digest, a.question
FROM answers a JOIN judges j ON j.id = a.judge JOIN {NAMED}
WHERE n.question = a.question AND (:prompt IS NULL OR :prompt IN (p.name, p.digest))
    AND (:judge IS NULL OR substr(j.digest, 1, length(:judge)) = :judge)
    AND (:context IS NULL OR c.name = :context)
    AND (:context_digest IS NULL OR c.digest = :context_digest)
ORDER BY j.id, p.id, n.context, n.first, n.second
"""
KEPT = "every answer committed before is kept, and the same call goes on from there"
READ_ONLY = "the file or its folder cannot be written (SQLite writes a journal beside it)"
FAILURES = {  # how SQLite's names of errors begin, and what to tell the user
    "SQLITE_NOTADB": "not a judgement store (not even an SQLite file); name another file",
    "SQLITE_FULL": f"the disk is full; make room: {KEPT}",
    "SQLITE_IOERR": f"the disk does not take any more (full, over a quota, or failing); {KEPT}",
    "SQLITE_BUSY": f"another process has kept the store locked for {{wait:g}} s; {KEPT}",
    "SQLITE_READONLY": READ_ONLY,
    "SQLITE_CANTOPEN": READ_ONLY,
    "SQLITE_PERM": READ_ONLY,
    "SQLITE_CORRUPT": "the file is damaged (copied while it was written?); recover it with "
    "`sqlite3 FILE .recover`, or merge what a copy of it holds into a new store",
}

COUNTS = ("tokens", "computed", "seconds", "draws")  # of an `Answer`

WhichJudge = str | Reader | Mapping[str, str]


class Merge(NamedTuple):
    """What merging a store into another did.

    added : answers taken over. same : answers that both had, equal to the last bit.
    conflicts : one row an answer in which they differ, with the names it was asked under and the
        log-probabilities of `kept` (this store) and `other`, and the largest absolute difference
        of a label's probability. Answers of the same model computed in other batches or on
        another device differ in the last digits; a larger difference means another judge under
        the same specification.
    refused : what is wrong with rows that were not taken over, because no judge can have
        answered so.
    """

    added: int
    same: int
    conflicts: pd.DataFrame
    refused: tuple[str, ...]


class Store:
    """All answers of a judge, in one SQLite file; nothing is asked twice, nothing is lost.

        with Store("judgements.sqlite") as store:
            answers = store.ask(judge, questions)
            comparisons = store.comparisons(context="article-1")

    An answer is kept by everything that changes it: the judge's whole specification, the prompt
    with its label words, the texts and their order. Killed at any moment, a store holds every
    answer that was reported and none in part; several processes may use it at once. It holds
    digests and names of texts and prompts, never the texts.

    path : the file, made if it is not there; ":memory:" keeps the answers until it is closed.
    several : whether answers of several judges are meant to be in it. Otherwise a judge whose
        specification differs from the one in the file is refused, with the fields that differ.

    Raises
    ------
    JudgeError naming the file, for anything that is not a usable store, a full disk, a folder
    that cannot be written, or another judge.
    """

    def __init__(self, path: str | Path, *, several: bool = False) -> None:
        self.path, self.several = Path(path), several
        self._lock = threading.RLock()
        if not self.path.parent.is_dir():
            raise JudgeError(f"there is no folder {self.path.parent} for the store; make it")
        if self.path.is_dir():
            raise JudgeError(f"{path} is a folder; a store is a file, such as {path}/a.sqlite")
        with _named_failures(self.path):
            self._connection = sqlite3.connect(
                self.path, timeout=WAIT, isolation_level=None, check_same_thread=False
            )
            try:
                self._make_or_check()
            except BaseException:
                self.close()
                raise

    def _make_or_check(self) -> None:
        execute = self._connection.execute
        execute("PRAGMA trusted_schema = OFF")  # the file may be somebody else's
        execute("PRAGMA synchronous = EXTRA")  # a commit survives a power cut

        def state() -> tuple[int, int, list[str]]:
            numbers = (execute(f"PRAGMA {n}").fetchone()[0] for n in (*MARKS,))
            made = execute("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL")
            return *numbers, sorted(" ".join(text.split()) for (text,) in made)

        if state() == (0, 0, []):
            with self._transaction():
                if state() == (0, 0, []):  # another process may have been quicker
                    for statement in TABLES.split(";")[:-1]:
                        execute(statement)
                    for name, value in MARKS.items():
                        execute(f"PRAGMA {name} = {value}")
        application, version, there = state()
        if application != MARKS["application_id"]:
            raise JudgeError(
                f"{self.path} is an SQLite file, but not a judgement store; name another file"
            )
        if version > MARKS["user_version"]:
            raise JudgeError(
                f"{self.path} was written by a newer version of poe (store version {version}); "
                "upgrade: pip install -U judging-by-comparison"
            )
        if there != sorted(" ".join(text.split()) for text in TABLES.split(";")[:-1]):
            raise JudgeError(
                f"{self.path} is a judgement store whose tables were altered; a trigger or a view "
                "in it could change answers, so it is not opened"
            )

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; everything in it was already safe."""
        self._connection.close()

    def __repr__(self) -> str:
        return f"Store({str(self.path)!r})"

    def __len__(self) -> int:
        """Number of answers, of all judges."""
        with self._transaction("DEFERRED") as connection:
            return int(connection.execute("SELECT count(*) FROM answers").fetchone()[0])

    @contextmanager
    def _transaction(self, kind: str = "IMMEDIATE") -> Iterator[sqlite3.Connection]:
        """All or nothing, one thread at a time; "DEFERRED" for reading."""
        with self._lock, _named_failures(self.path):
            self._connection.execute(f"BEGIN {kind}")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    # Asking ----------------------------------------------------------------------------

    def missing(self, judge: Reader, questions: Sequence[Question]) -> list[int]:
        """Positions of the questions that `ask` would put to the judge.

        Of questions that are the same (same prompt, texts and order) only the first counts.
        """
        return _unanswered(questions, self._look_up(judge, questions)[0])

    def ask(
        self,
        judge: Reader,
        questions: Sequence[Question],
        progress: Callable[..., object] | None = None,
    ) -> list[Answer]:
        """Answers to all questions, in their order; only what is missing is asked.

        progress : called as progress(done=, total=, answers=) after commits, from the caller's
            thread: `answers` are new since the last call, `done` counts them all, and every one
            of them survives whatever happens next.

        When the judge fails or Ctrl-C stops it, what it has answered is stored before the
        error goes on to the caller; the same call then asks for the rest. Two processes that ask
        the same question at the same time are both given the answer stored first, but both
        have asked: give them different questions.
        """
        there, renamed = self._look_up(judge, questions)
        if renamed:
            self._enter([_row(_judge(judge.specification), question) for question in renamed])
        wanted = _unanswered(questions, there)
        if wanted:
            self._ask(judge, questions, wanted, progress or (lambda **_: None))
            there, _ = self._look_up(judge, questions)
        silent = [question for question in questions if question.key not in there]
        if silent:
            raise JudgeError(
                f"the judge left {len(silent)} of {len(wanted)} questions unanswered, the first "
                f"being {silent[0]}; ask again for these"
            )
        return [there[question.key] for question in questions]

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
        given: deque[tuple[list[Question], Answer]] = deque()
        stored: list[Answer] = []
        commits: deque[Future[None]] = deque()
        known = _judge(judge.specification)
        reported = 0

        def commit() -> None:
            entries = [given.popleft() for _ in range(len(given))]
            self._enter([_row(known, q, a) for qs, a in entries for q in qs])
            stored.extend(answer for _, answer in entries)

        def report() -> None:
            nonlocal reported
            answers = stored[reported:]
            reported += len(answers)
            if answers:
                progress(done=reported, total=len(asked), answers=answers)

        def answers() -> Generator[tuple[int, Answer]]:
            yield from judge.answer(asked)  # as a generator, so that it can always be closed

        try:
            with ThreadPoolExecutor(1, "poe-store") as writer, closing(answers()) as stream:
                for position, answer in stream:
                    question = asked[position]
                    _check(answer, question.prompt.labels, str(question))
                    given.append((same[question.key], answer))
                    # A commit that has not begun will take this answer along.
                    if not commits or commits[-1].running() or commits[-1].done():
                        commits.append(writer.submit(commit))
                    while commits and commits[0].done():
                        commits.popleft().result()  # raises what the commit raised
                    report()
            for last in commits:
                last.result()
        finally:
            report()

    def _look_up(
        self, judge: Reader, questions: Sequence[Question]
    ) -> tuple[dict[str, Answer], list[Question]]:
        """Answers that are there, by the question's key, and questions whose names are new."""
        there: dict[str, Answer] = {}
        renamed = []
        with self._transaction("DEFERRED") as connection:
            self._require_judge(connection, judge.specification)
            known = _judge(judge.specification)
            for question in questions:
                row = _row(known, question)
                said = connection.execute(LOOK_UP, row).fetchone()
                if said is not None:
                    log_p, *rest, named = said
                    there[question.key] = Answer(_log_p(log_p), *rest)
                    renamed += [] if named else [question]
        return there, renamed

    def _enter(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Enter judges, names and answers; of two answers to a question the first one stays."""
        statements = ENTER.split(";")
        if not rows:
            return
        with self._transaction() as connection:
            for specification in {row["specification"] for row in rows}:
                self._require_judge(connection, json.loads(specification))
            for row in rows:
                for statement in statements:
                    connection.execute(statement, row)

    def specifications(self) -> dict[str, dict[str, str]]:
        """The judges in the store: short digest, as in `table`, to specification."""
        with self._transaction("DEFERRED") as connection:
            return {digest[:8]: given for digest, given in _judges(connection).items()}

    def _require_judge(
        self, connection: sqlite3.Connection, specification: Mapping[str, str]
    ) -> None:
        """Refuse a judge if the file has answers of others alone and several were not meant."""
        known = _judges(connection)
        if self.several or not known or specification_digest(specification) in known:
            return
        lines: list[list[str]] = [
            [
                f"{field}: {one.get(field, 'not set')} in the store, "
                f"{specification.get(field, 'not set')} now"
                for field in sorted({*one, *specification})
                if one.get(field) != specification.get(field)
            ]
            for one in known.values()
        ]
        raise JudgeError(
            f"{self.path} holds the answers of another judge; what differs:\n  "
            + "\n  ".join(sorted(lines, key=len)[0])
            + "\nname another store, set the judge up as it was, or say that several judges in "
            "one store are meant (several=True; --several-judges on the command line)"
        )

    # What is in it ---------------------------------------------------------------------

    def table(self) -> pd.DataFrame:
        """One row an answer and the names under which it was asked.

        judge (short digest), prompt, prompt_digest, context, first, second : names.
        labels : the label words, separated by spaces. log_p_1, log_p_2, ... : their natural
        log-probabilities in that order, -inf where a label was not seen, NaN beyond the labels.
        p : P(first is better), for comparisons. mass : probability of all labels together.
        tokens, computed, seconds, draws : as in `Answer`. at : when it was stored (UTC).
        """
        return self._table().loc[:, :"at"]

    def export(self, path: str | Path) -> None:
        """Write `table` to a file whose name ends in .csv or .parquet."""
        path = Path(path)
        writers = {".csv": pd.DataFrame.to_csv, ".parquet": pd.DataFrame.to_parquet}
        if path.suffix not in writers:
            raise JudgeError(f"{path}: answers are written as .csv or .parquet; end the name so")
        part = path.with_name(path.name + ".part")
        try:
            writers[path.suffix](self.table(), part, index=False)
            part.replace(path)  # whole, or not at all
        except OSError as error:
            part.unlink(missing_ok=True)
            raise JudgeError(f"{path} cannot be written: {error}") from error

    def comparisons(
        self,
        *,
        prompt: str | None = None,
        context: str | Text | None = None,
        judge: WhichJudge | None = None,
        texts: Sequence[Text] | None = None,
    ) -> Comparisons:
        """The answers of one judge to one prompt in one context, items by their names.

        prompt : its name or digest. judge : the judge, its specification, or the start of its
            digest. context : the context or its name. Each may be left out where the store has
            only one.
        texts : the items, in the order wanted: only answers on these very texts, under these
            names, count. Needed where a name was given to different texts; advisable where
            items were renamed.

        Answers with none of the labels are left out with a warning. Raises JudgeError where
        nothing, or more than one thing, fits.
        """
        groups = self.by_context(prompt=prompt, context=context, judge=judge, texts=texts)
        _require_one("context", list(groups), " or use by_context()")
        return next(iter(groups.values()))

    def by_context(
        self,
        *,
        prompt: str | None = None,
        context: str | Text | None = None,
        judge: WhichJudge | None = None,
        texts: Sequence[Text] | None = None,
    ) -> dict[str | None, Comparisons]:
        """Name of the context to its `Comparisons`; arguments as in `comparisons`."""
        if not (judge is None or isinstance(judge, str)):
            given = judge if isinstance(judge, Mapping) else judge.specification
            judge = specification_digest(given)
        found = self._table(prompt=prompt, judge=judge, context=context).query("comparative == 1")
        if texts is not None:
            these = pd.MultiIndex.from_tuples([(text.id, text.digest) for text in texts])
            for pair in (["first", "first_digest"], ["second", "second_digest"]):
                found = found[pd.MultiIndex.from_frame(found[pair]).isin(these)]
        _require_one("judge", found["judge"])
        prompts = dict(zip(found["prompt_digest"], found["prompt"], strict=True))
        _require_one("prompt", (f"{name} {digest}" for digest, name in prompts.items()))
        # A prompt with two names has every question twice.
        found = found.drop_duplicates(["question", "context", "first", "second"])
        if found["p"].isna().any():
            blank = f"{found['p'].isna().sum()} of {len(found)} answers held neither label"
            warnings.warn(f"{blank}; they are left out", stacklevel=3)
            found = found.dropna(subset="p")
        if found.empty:
            raise JudgeError("the store has no such comparison; see its table() for what it has")
        _require_one_text_a_name(found, ["context"], "context=Text(name, text)")
        items = None if texts is None else [text.id for text in texts]
        groups: dict[str | None, Comparisons] = {}
        for name, rows in found.groupby("context", sort=False, dropna=False):
            _require_one_text_a_name(rows, ["first", "second"], "texts=")
            c = Comparisons.from_table(rows[["first", "second", "p"]], items=items)
            groups[None if pd.isna(name) else name] = c
        return groups

    def _table(self, **wanted: Any) -> pd.DataFrame:
        """`table`, and after it the full digests."""
        with self._transaction("DEFERRED") as connection:
            found = _rows(connection, **wanted)
        said = []
        for k, text in enumerate(found["log_p"]):
            try:
                said.append(dict(enumerate(_log_p(text))))
            except (TypeError, ValueError):
                raise JudgeError(
                    f"{self.path}: the answer to {_named(found.iloc[k])} is damaged, {text!r}; "
                    "merge the store into a new one, which leaves such answers out"
                ) from None
        log_p = pd.DataFrame(said, dtype=float)
        log_p = log_p.reindex(columns=range(max(2, log_p.shape[1])))
        share = np.exp(log_p)
        p = (share[0] / (share[0] + share[1])).where(found["comparative"] == 1)
        log_p = log_p.rename(columns=lambda k: f"log_p_{k + 1}").assign(p=p, mass=share.sum(axis=1))
        found["labels"] = [" ".join(json.loads(text)) for text in found["labels"]]
        found["at"] = pd.to_datetime(found["at"], unit="s", utc=True)
        return pd.concat([found.loc[:, :"labels"], log_p, found.loc[:, "tokens":]], axis=1)

    # Two stores ------------------------------------------------------------------------

    def merge(self, other: str | Path) -> Merge:
        """Take over the answers of another store, a shard of the same work.

        Where both have answered a question differently this store's answer stays; that and
        damaged rows, which are left out, are told in a warning and in the result.
        """
        other = Path(other)
        if not other.is_file():
            raise JudgeError(f"there is no store {other} to merge")
        if self.path.exists() and other.samefile(self.path):
            raise JudgeError(f"{other} is this store itself; name another to merge")
        with Store(other, several=True) as source, source._transaction("DEFERRED") as connection:
            theirs = _rows(connection)
        faults = [_fault(row) for row in theirs.to_dict("records")]
        theirs = theirs[[not fault for fault in faults]]
        with self._transaction("DEFERRED") as connection:
            ours = _rows(connection)
        self._enter(theirs.to_dict("records"))
        which = ["judge_digest", "question"]
        both = theirs.merge(ours.drop_duplicates(which), on=which, suffixes=("", "_kept"))
        differ = both[both["log_p"] != both["log_p_kept"]]
        conflicts = differ[["judge", "prompt", "context", "first", "second"]].assign(
            kept=differ["log_p_kept"].map(_log_p), other=differ["log_p"].map(_log_p)
        )
        pairs = zip(conflicts["kept"], conflicts["other"], strict=True)
        gaps = [float(np.abs(np.exp(a) - np.exp(b)).max()) for a, b in pairs]
        conflicts["difference"] = gaps
        refused = tuple(filter(None, faults))
        if refused:
            text = f"{len(refused)} rows of {other} are damaged and left out, the first"
            warnings.warn(f"{text}: {refused[0]}", stacklevel=2)
        read, known, odd = (len(rows.drop_duplicates(which)) for rows in (theirs, both, differ))
        if odd:
            text = f"{odd} answers of {other} differ from those in {self.path}, which stay, by"
            warnings.warn(f"{text} {max(gaps):.2g} in probability at most", stacklevel=2)
        return Merge(read - known, known - odd, conflicts, refused)


@contextmanager
def _named_failures(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into JudgeErrors that name the file and the way out."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorname", None) or ""
        said = [text for start, text in FAILURES.items() if code.startswith(start)]
        text = said[0].format(wait=WAIT) if said else f"SQLite says: {error}"
        raise JudgeError(f"{path}: {text}") from error
    except UnicodeEncodeError as error:
        raise JudgeError(
            f"{path}: {error.object[:40]!r} holds half of a character (a lone surrogate), which "
            "cannot be kept; read the texts again in their encoding"
        ) from error


# Its rows --------------------------------------------------------------------------------


def _rows(
    connection: sqlite3.Connection,
    *,
    prompt: str | None = None,
    judge: str | None = None,
    context: str | Text | None = None,
) -> pd.DataFrame:
    """All that is known of answers, once for each set of names they were asked under."""
    wanted = {"prompt": prompt, "judge": judge, "context": context, "context_digest": None}
    if isinstance(context, Text):
        wanted |= {"context": context.id, "context_digest": context.digest}
    rows = connection.execute(ROWS, wanted)  # pandas' own reader hides SQLite's errors
    return pd.DataFrame(rows.fetchall(), columns=[column[0] for column in rows.description])


def _judge(specification: Mapping[str, str]) -> dict[str, str]:
    """What is entered about a judge."""
    digest, text = specification_digest(specification), _json(dict(specification))
    return {"judge_digest": digest, "specification": text}


def _row(
    judge: Mapping[str, str], question: Question, answer: Answer | None = None
) -> dict[str, Any]:
    """What is entered about a question and its judge, with the names of ROWS."""
    prompt = question.prompt
    row = {
        **judge,
        "prompt_digest": prompt.digest,
        "prompt": prompt.name,
        "labels": _json(prompt.labels),
        "comparative": int(prompt.comparative),
        "question": bytes.fromhex(question.key),
        "at": time.time(),
    }
    for place, text in question.texts.items():
        row |= {place: text and text.id, f"{place}_digest": text and text.digest}
    if answer is None:
        return row | dict.fromkeys(("log_p", *COUNTS))
    log_p = [None if value == -math.inf else float(value) for value in answer.log_p]
    return row | {"log_p": _json(log_p)} | {name: float(getattr(answer, name)) for name in COUNTS}


def _log_p(text: str) -> tuple[float, ...]:
    return tuple(-math.inf if value is None else float(value) for value in json.loads(text))


def _named(row: Any) -> str:
    """A row of ROWS by its names, for messages."""
    texts = (repr(row[place]) for place in PLACES if row[place] is not None)
    return f"prompt {row['prompt']!r} on {', '.join(texts)}"


def _fault(row: Mapping[str, Any]) -> str:
    """What is wrong with a row of ROWS that no judge can have answered; usually nothing."""
    try:
        answer = Answer(_log_p(row["log_p"]), *(row[name] for name in COUNTS))
        _check(answer, json.loads(row["labels"]), _named(row))
    except (JudgeError, TypeError, ValueError) as error:
        return str(error) if isinstance(error, JudgeError) else f"{_named(row)}: {row['log_p']!r}"
    return ""


def _check(answer: Answer, labels: Sequence[str], question: str) -> None:
    """Raise JudgeError unless these can be probabilities of the labels, and what they took."""
    log_p, counts = answer.log_p, [getattr(answer, name) for name in COUNTS]
    # Half precision rounds up to about a hundredth above 1.
    if (
        len(log_p) != len(labels)
        or not all(x <= 1e-3 for x in log_p)
        or sum(map(math.exp, log_p)) > 1.01
    ):
        raise JudgeError(
            f"the judge gave log-probabilities {log_p} for the labels {tuple(labels)} of "
            f"{question}; one number of at most 0 is needed for each, together no likelier than 1"
        )
    if not all(0 <= count < 2**53 for count in counts):
        raise JudgeError(f"the judge says that {question} took {counts} {', '.join(COUNTS)}")


def _judges(connection: sqlite3.Connection) -> dict[str, dict[str, str]]:
    """Specifications by digest."""
    rows = connection.execute("SELECT digest, specification FROM judges ORDER BY id")
    return {digest: json.loads(text) for digest, text in rows}


def specification_digest(specification: Mapping[str, str]) -> str:
    """SHA-256 of a specification; the order of its fields does not count."""
    return hashlib.sha256(_json(dict(specification)).encode()).hexdigest()


_json = json.JSONEncoder(ensure_ascii=False, sort_keys=True).encode


def _unanswered(questions: Sequence[Question], there: Mapping[str, Answer]) -> list[int]:
    """Positions of questions without answer, the first of those that are the same."""
    first: dict[str, int] = {}
    for position, question in enumerate(questions):
        if question.key not in there:
            first.setdefault(question.key, position)
    return list(first.values())


def _require_one(thing: str, names: Iterable[Any], otherwise: str = "") -> None:
    names = list(dict.fromkeys(names))
    if len(names) > 1:
        raise JudgeError(
            f"the store has answers of {len(names)} {thing}s here ({name_some(names)}); say which "
            f"with {thing}={otherwise}"
        )


def _require_one_text_a_name(rows: pd.DataFrame, places: Sequence[str], argument: str) -> None:
    pairs = {p for place in places for p in zip(rows[place], rows[f"{place}_digest"], strict=True)}
    twice = [name for name, count in Counter(name for name, _ in pairs).items() if count > 1]
    if twice:
        raise JudgeError(
            f"the store has answers on different texts under the same name: "
            f"{name_some(sorted(twice))}; say which are meant with {argument}"
        )
