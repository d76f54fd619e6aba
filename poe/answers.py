"""Answers of systems to prompts, two at a time put to a judge.

Which two: round after round the pair of systems whose answer would tell most (the curvature it adds
times the variance of the difference, as `poe.next_comparisons`), on the prompt with the fewest so
far, since what comes from one prompt errs together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy.special import expit

from poe.columns import Columns
from poe.comparisons import Comparisons, Floats, Indices
from poe.errors import InvalidDataError, name_some
from poe.fitting import fit
from poe.judges import Question, Reader, Store, Text, prompts
from poe.judges.accounts import AskingEndedError
from poe.judges.asking import cautions, decided
from poe.judges.planning import Meter
from poe.planning import parse_budget
from poe.rounds import CTRL_C
from poe.tables import as_name, find_column, place, read_table

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

__all__ = ["Answers", "Asking", "read_answers"]


@dataclass(frozen=True, eq=False)
class Answers:
    """What systems answered: texts[k, i] of system i to prompt k, "" where it has no answer."""

    systems: tuple[str, ...]
    prompts: tuple[str, ...]
    texts: Any

    def calls(self, budget: int | str, *, both_orders: bool = False) -> int:
        """Comparisons that 500, "100x" (a system) or "all" stand for, at most all there are."""
        n, count = len(self.systems), (self.texts != "").sum(axis=1)
        most = int((count * (count - 1)).sum()) // (1 if both_orders else 2)
        number, a_system = parse_budget(budget, "system")
        wanted = number * n if a_system else number
        if wanted < 2 * n:
            raise ValueError(
                f"{wanted:g} comparisons say little about {n} systems; {2 * n} are the fewest, "
                "100x is a good start"
            )
        return int(min(wanted, most))


def read_answers(
    table: Path | pd.DataFrame | str,
    *,
    system: str | None = None,
    prompt: str | None = None,
    answer: str | None = None,
) -> Answers:
    """Answers of systems to prompts, from a table with a row an answer; columns in any case.

    Raises InvalidDataError naming the column or row that is wrong.
    """
    rows = read_table(table)
    known = {
        "--system": (system, ("system", "model", "generator")),
        "--prompt": (prompt, ("prompt", "instruction", "question", "prompt_id", "question_id")),
        "--answer": (answer, ("answer", "output", "response", "text", "completion")),
    }
    found = [
        find_column(rows, *((given,) if given else names), option=option)
        for option, (given, names) in known.items()
    ]
    texts: dict[tuple[str, str], str] = {}
    for k, (name, about, text) in enumerate(rows[found].itertuples(index=False, name=None)):
        try:
            name = as_name(name)
            if not isinstance(about, (str, int)) or not str(about).strip():
                raise InvalidDataError("the prompt is empty")
            if not isinstance(text, str) or not text.strip():
                raise InvalidDataError("the answer is empty, or is no text; remove the row")
            if (name, str(about)) in texts:
                raise InvalidDataError(f"{name} answered this prompt before; keep one of the rows")
        except InvalidDataError as error:
            raise InvalidDataError(f"{place(rows, k)}: {error}") from None
        texts[name, str(about)] = text
    systems = tuple(dict.fromkeys(name for name, _ in texts))
    asked = tuple(dict.fromkeys(about for _, about in texts))
    if len(systems) < 2:
        raise InvalidDataError(
            f"{rows.attrs['source']}: a leaderboard compares systems, and the column "
            f"{found[0]!r} has only {name_some(systems)}"
        )
    grid = [[texts.get((name, about), "") for name in systems] for about in asked]
    return Answers(systems, asked, np.array(grid, dtype=object))


class Asking:
    """Comparisons of two answers to one prompt: chosen, put to a judge, kept.

    progress : whether to show a bar. price : for a million tokens read, and written.
    made : (K, 3) prompt, first and second system of what was asked. p : (K,) what was said. equal :
    how many of them needed no call, both answers being the same word for word. partial : why it
    stopped before its time, if it did.
    """

    def __init__(
        self,
        answers: Answers,
        judge: Reader,
        attribute: str = "better",
        *,
        store: Store,
        both_orders: bool = False,
        undecided: Literal["stop", "tie"] = "stop",
        progress: bool | None = None,
        price: tuple[float, float] | None = None,
        seed: int = 0,
    ) -> None:
        self.answers, self.judge, self.store = answers, judge, store
        self.both_orders, self.undecided = both_orders, undecided
        self.progress, self.price = progress, price
        self.meter: Meter | None = None
        self.rng = np.random.default_rng(seed)
        self.prompt = prompts.for_attribute(attribute, thing="answer", context="Prompt")
        self.made = np.empty((0, 3), dtype=np.intp)
        self.p: Floats = np.empty(0)
        self.equal, self.partial = 0, ""
        there = answers.texts != ""
        self.left = there[:, :, None] & there[:, None, :] & ~np.eye(there.shape[1], dtype=bool)

    def questions(self, rows: Indices) -> list[Question]:
        """Of (K, 3) prompts, first and second systems."""
        a = self.answers

        def text(k: int, i: int) -> Text:
            return Text(f"{a.systems[i]}, prompt {k + 1}", a.texts[k, i])

        return [
            Question(self.prompt, text(k, i), text(k, j), Text(f"prompt {k + 1}", a.prompts[k]))
            for k, i, j in rows.tolist()
        ]

    def recall(self) -> int:
        """Take every answer that the store has; how many there are. Nothing is asked."""
        stored, rows = self.store.answered(self.judge, self.prompt), list[tuple[int, int, int]]()
        for k, about in enumerate(self.answers.prompts):
            holders: dict[str, list[int]] = {}
            for i, text in enumerate(self.answers.texts[k]):
                holders.setdefault(Text("", text).digest, []).append(i)
            rows += [
                (k, i, j)
                for one, other in sorted(stored.get(Text("", about).digest, ()))
                for i in holders.get(one, ())
                for j in holders.get(other, ())
                if self.left[k, i, j]
            ]
        self.ask(np.array(rows, dtype=np.intp).reshape(-1, 3))
        return len(rows)

    def run(self, calls: int) -> None:
        """Ask in rounds until so many comparisons are answered, none is left, or a limit is met."""
        n = len(self.answers.systems)
        scores: Floats = np.zeros(n)
        new_calls = max(calls - len(self.p), 0)
        self.meter = Meter(new_calls, shown=self.progress, price=self.price)
        self.meter.judge = self.judge
        while len(self.p) < calls and self.left.any():
            new = self.chosen(scores, min(max(4 * n, calls // 8), calls - len(self.p)))
            try:
                self.ask(new)
            except (AskingEndedError, KeyboardInterrupt) as error:
                self.recall()  # what was answered before the limit
                if not len(self.p):
                    raise
                self.partial = f"a partial ranking: {str(error) or CTRL_C}"
                break
            c = Comparisons.from_pairs(self.made[:, 1:], self.p, items=self.answers.systems)
            if len(c.components()) == 1:
                scores = fit(c, prior=1.0 / (n - 1)).scores  # decisions too are to be finite
        self.meter.bar.close()

    def chosen(self, scores: Floats, count: int) -> Indices:
        """(count, 3) what to ask next: argmax c_ij R_ij, on the prompt with the fewest so far.

        c_ij is the curvature that one more answer about i and j adds, R_ij the variance of their
        difference, both at these scores (paper 3.6; book eq. 10.9); R follows every pick.
        """
        n, d = len(scores), np.subtract.outer(scores, scores)
        curvature, left = expit(d) * expit(-d), self.left.copy()
        met, load = np.zeros((n, n)), np.bincount(self.made[:, 0], minlength=len(left))
        np.add.at(met, (self.made[:, 1], self.made[:, 2]), 1.0)
        links = (met + met.T) * curvature
        variance = np.linalg.inv(np.diag(links.sum(axis=1) + 0.1) - links)
        picked: list[tuple[int, int, int]] = []
        room = left.sum(axis=0)
        while len(picked) < count and room.any():
            own = np.diag(variance)
            gain = curvature * (own[:, None] + own - 2.0 * variance)
            gain = np.where(room > 0, gain * (1.0 + 1e-6 * self.rng.random((n, n))), -1.0)
            i, j = map(int, np.unravel_index(int(gain.argmax()), gain.shape))
            k = int(
                (load + self.rng.random(len(load)) + np.where(left[:, i, j], 0, np.inf)).argmin()
            )
            for one, other in ((i, j), (j, i))[: 1 + self.both_orders]:
                if left[k, one, other]:
                    picked.append((k, one, other))
                    load[k] += 1
            room[[i, j], [j, i]] -= left[k, [i, j], [j, i]]
            left[k, [i, j], [j, i]] = False
            apart = variance[:, i] - variance[:, j]
            c = curvature[i, j]
            variance = variance - c * np.outer(apart, apart) / (1.0 + c * (apart[i] - apart[j]))
        return np.array(picked, dtype=np.intp)

    def ask(self, new: Indices) -> None:
        """Answers to (K, 3) prompts and systems; two answers that are the same text are a tie."""
        k, i, j = new.T
        same = np.asarray(self.answers.texts[k, i] == self.answers.texts[k, j], dtype=bool)
        questions, p = self.questions(new[~same]), np.full(len(new), 0.5)
        if questions:
            said = self.store.ask(self.judge, questions, progress=self.meter)
            p[~same], _ = decided(questions, said, self.undecided)
        self.equal += int(same.sum())
        self.made, self.p = np.vstack([self.made, new]), np.append(self.p, p)
        self.left[k, i, j] = False
        if not self.both_orders:
            self.left[k, j, i] = False

    def sample(self, count: int) -> list[Question]:
        """As many questions as will be asked, any of them: for what they will cost."""
        return self.questions(self.rng.permutation(np.argwhere(self.left))[:count])

    def columns(self) -> Columns:
        """What was asked so far, as `poe.columns.read` gives it of a table."""
        a, (k, i, j) = self.answers, self.made.T
        size = np.array([[len(text) for text in row] for row in a.texts], dtype=float)
        judge = self.judge.specification
        new = self.meter.calls if self.meter else 0
        notes = [
            *cautions(judge),
            f"the judge is {judge.get('model') or judge.get('kind')}; {new:,} comparisons asked "
            f"now, {len(self.p) - self.equal - new:,} known already",
            *(self.meter.notes() if self.meter else []),
        ]
        if self.equal:
            notes.append(f"{self.equal:,} pairs of answers are the same text: ties, without a call")
        if self.partial:
            notes.append(self.partial)
        return Columns(
            first=[a.systems[s] for s in i],
            second=[a.systems[s] for s in j],
            p=self.p,
            weight=None,
            cluster=k,
            cluster_name="prompt",
            lengths=np.column_stack([size[k, i], size[k, j]]),
            in_order=True,
            notes=tuple(notes),
        )
