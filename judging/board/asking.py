"""Answers of systems that nobody compared yet, put to a judge two at a time.

Which two: round after round the pair of systems whose answer would tell most (the curvature that it
adds times the variance of the difference, as `poe.next_comparisons`), on the prompt with the fewest
so far, since what comes from one prompt errs together.
"""

from __future__ import annotations

from itertools import starmap
from pathlib import Path
from typing import Literal

import numpy as np
from scipy.special import expit

from judging import injection, kinds, prompts
from judging.board.answers import Answers
from judging.judges import Question, Reader, Store, Text
from judging.judges.asking import OnRefusal, decided
from judging.judges.spending import AskingEndedError
from judging.meter import Meter
from judging.ranking.ending import Stop
from judging.ranking.settings import HOPELESS
from judging.reading.forms import Columns
from poe.arrays import Floats, Indices
from poe.choose.greedy import best_pair
from poe.comparisons import Comparisons
from poe.fitting import fit
from poe.resistance import add_comparison, difference_variances

__all__ = ["Tournament"]

# Each system counts as compared with a fixed point by so much of an answer (of curvature 1/4 at
# most): then the matrix of links has an inverse before every system is linked, and who was never
# compared has a variance of 10, more than anybody who was. Rankings do not see it: it only orders
# what is asked first, and fades as soon as there are some answers per system.
ANCHOR = 0.1


class Tournament:
    """Comparisons of two answers to one prompt: chosen, put to a judge, kept.

    progress : whether to show a bar. price : per million tokens read, and written.
    rounds : in how many parts a budget is asked, at least. wording : a file of your own question.
    made : (K, 3) prompt, first and second system of what was asked; what the store has is there
    from the beginning. p : (K,) what was said. equal : how many of them needed no call, both
    answers being the same word for word. refused : questions that the judge would not answer,
    left out, and why. stop : why it ended before its time, None if it did not.
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
        on_refusal: OnRefusal = "skip",
        progress: bool | None = None,
        price: tuple[float, float] | None = None,
        seed: int = 0,
        rounds: int = 8,
        wording: str | Path | None = None,
    ) -> None:
        self.answers, self.judge, self.store = answers, judge, store
        self.both_orders, self.rounds = both_orders, rounds
        self.undecided, self.on_refusal = undecided, on_refusal
        self.refused: dict[str, str] = {}
        self.unanswered = np.zeros(len(answers.systems), dtype=int)
        self.meter = Meter(0, shown=progress, price=price)
        self.meter.judge = judge
        self.rng = np.random.default_rng(seed)
        self.prompt = prompts.for_attribute(
            attribute, thing="answer", context="Prompt", wording=wording
        )
        self.made = np.empty((0, 3), dtype=np.intp)
        self.p: Floats = np.empty(0)
        self.equal = 0
        self.stop: Stop | None = None
        there = answers.texts != ""
        self.left = there[:, :, None] & there[:, None, :] & ~np.eye(there.shape[1], dtype=bool)
        self.recall()

    def questions(self, rows: Indices) -> list[Question]:
        """Of (K, 3) prompts, first and second systems."""
        a = self.answers

        return [
            Question(
                self.prompt,
                self._text(k, i),
                self._text(k, j),
                Text(f"prompt {k + 1}", a.prompts[k]),
            )
            for k, i, j in rows.tolist()
        ]

    def _text(self, k: int, i: int) -> Text:
        a = self.answers
        return Text(f"{a.systems[i]}, prompt {k + 1}", a.texts[k, i])

    def recall(self) -> None:
        """Take every answer that the store has; nothing is asked."""
        stored, rows = self.store.answered(self.judge, self.prompt), list[tuple[int, int, int]]()
        for k, about in enumerate(self.answers.prompts):
            if known := stored.get(Text("", about).digest):
                own = [Text("", text).digest for text in self.answers.texts[k]]
                left = np.argwhere(self.left[k]).tolist()
                rows += [(k, i, j) for i, j in left if (own[i], own[j]) in known]
        self.ask(np.array(rows, dtype=np.intp).reshape(-1, 3))

    def run(self, calls: int) -> None:
        """Ask in rounds until so many comparisons are answered, none is left, or a limit is met."""
        n = len(self.answers.systems)
        self.meter.bar.total = max(calls - len(self.p), 0)
        while self.asked < calls and self.left.any():
            size = max(4 * n, -(-calls // self.rounds))
            new = self.chosen(self.scores(), min(size, calls - self.asked))
            try:
                self.ask(new)
            except (AskingEndedError, KeyboardInterrupt) as error:
                self.recall()  # what was answered before the limit
                if not len(self.p):
                    raise
                self.stop = Stop.of(error)
                break
        self.meter.bar.close()

    @property
    def asked(self) -> int:
        """Comparisons that were put to the judge, refused ones too."""
        return len(self.p) + len(self.refused)

    def scores(self) -> Floats:
        """(N,) by what was answered so far; zero while that does not link all systems."""
        n = len(self.answers.systems)
        if not self.linked:
            return np.zeros(n)
        c = Comparisons.from_pairs(self.made[:, 1:], self.p, items=self.answers.systems)
        return fit(c, prior=1.0 / (n - 1)).scores  # decisions too are to be finite

    @property
    def linked(self) -> bool:
        """Whether what was answered so far links all systems."""
        systems = self.answers.systems
        if not len(self.p):
            return False
        c = Comparisons.from_pairs(self.made[:, 1:], self.p, items=systems)
        return len(c.components()) == 1

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
        resistance = difference_variances(
            np.linalg.inv(np.diag(links.sum(axis=1) + ANCHOR) - links)
        )
        picked: list[tuple[int, int, int]] = []
        room = left.sum(axis=0)
        while len(picked) < count and room.any():
            i, j = map(int, best_pair(curvature * resistance, room > 0, self.rng))
            k = int(
                (load + self.rng.random(len(load)) + np.where(left[:, i, j], 0, np.inf)).argmin()
            )
            for one, other in ((i, j), (j, i))[: 1 + self.both_orders]:
                if left[k, one, other]:
                    picked.append((k, one, other))
                    load[k] += 1
            room[[i, j], [j, i]] -= left[k, [i, j], [j, i]]
            left[k, [i, j], [j, i]] = False
            add_comparison(resistance, i, j, weight=curvature[i, j])
        return np.array(picked, dtype=np.intp)

    def ask(self, new: Indices) -> None:
        """Answers to (K, 3) prompts and systems; two answers that are the same text are a tie."""
        k, i, j = new.T
        same = np.asarray(self.answers.texts[k, i] == self.answers.texts[k, j], dtype=bool)
        questions, p = self.questions(new[~same]), np.full(len(new), 0.5)
        if questions:
            said = self.store.ask(self.judge, questions, progress=self.meter)
            p[~same], _, out = decided(questions, said, self.undecided, self.on_refusal)
            self.refused |= {str(questions[q]): said[q].refused for q in np.flatnonzero(out)}
        self.equal += int(same.sum())
        self.made = np.vstack([self.made, new[~np.isnan(p)]])
        self.p = np.append(self.p, p[~np.isnan(p)])
        self.left[k, i, j] = False
        for s in np.unique(new[np.isnan(p)][:, 1:]).tolist():
            met = (new[:, 1:] == s).any(axis=1)
            self.unanswered[s] += int((met & np.isnan(p)).sum())
            if self.unanswered[s] >= HOPELESS and not (self.made[:, 1:] == s).any():
                self.left[:, s, :] = self.left[:, :, s] = False
        if not self.both_orders:
            self.left[k, j, i] = False

    def sample(self, count: int) -> list[Question]:
        """As many questions as will be asked, any of them: for what they will cost."""
        return self.questions(self.rng.permutation(np.argwhere(self.left))[:count])

    def columns(self) -> Columns:
        """What was asked so far, as `judging.reading.forms.read` gives it of a table."""
        a, (k, i, j) = self.answers, self.made.T
        size = np.array([[len(text) for text in row] for row in a.texts], dtype=float)
        judge = self.judge.specification
        new = self.meter.calls
        notes = [
            *kinds.cautions(judge),
            f"the judge is {judge.get('model') or judge.get('kind')}; {new:,} comparisons asked "
            f"now, {self.asked - self.equal - new:,} known already",
            *self.meter.notes(),
        ]
        if self.equal:
            notes.append(f"{self.equal:,} pairs of answers are the same text: ties, without a call")
        if self.refused:
            which, why = next(iter(self.refused.items()))
            notes.append(
                f"{len(self.refused):,} comparisons were refused by the judge, such as {which} "
                f"({why}); they count as never asked, and are asked again only with --retry-refused"
            )
            none = [a.systems[s] for s in range(len(a.systems)) if s not in {*i, *j}]
            if none:
                notes.append(
                    f"left out, because nothing about them was answered: {', '.join(none)}"
                )
        notes += injection.notes(self.prompt, starmap(self._text, np.argwhere(a.texts != "")))
        if self.stop is not None:
            notes.append(f"a partial ranking: {self.stop}")
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
            prompts=[a.prompts[at] for at in k.tolist()],
            group=None if a.groups is None else [a.groups[at] for at in k.tolist()],
        )
