"""Answers of systems that nobody compared yet, put to a judge two at a time.

Which two: round after round the pair of systems whose answer would tell most (the curvature that it
adds times the variance of the difference, as `poe.next_comparisons`), on the prompt with the fewest
so far, since what comes from one prompt errs together. One order of each pair or both is found out
from a pilot in the first round (`poe.choose.orders.on_prompts`), unless it is said.
"""

from __future__ import annotations

from itertools import starmap
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit

from judging import kinds, prompts
from judging.judges import Answer, Question, Reader, Store, Text
from judging.judges.asking import NO_LABEL, decided
from judging.practice import findings as f
from judging.practice import injection
from judging.practice.asking.ending import Stop
from judging.practice.asking.limits import HOPELESS
from judging.practice.asking.loop import Loop
from judging.practice.board.answers import Answers
from judging.practice.meter import Meter
from judging.practice.ranking.settings import Asking
from judging.practice.reading.forms import Columns
from poe.arrays import Floats, Indices, Mask
from poe.choose import orders
from poe.choose.greedy import best_pair
from poe.choose.orders import Decision
from poe.comparisons import Comparisons
from poe.fitting import fit
from poe.resistance import add_comparison, difference_variances

__all__ = ["Tournament"]

# Each system counts as compared with a fixed point by so much of an answer (of curvature 1/4 at
# most): then the matrix of links has an inverse before every system is linked, and who was never
# compared has a variance of 10, more than anybody who was. Rankings do not see it: it only orders
# what is asked first, and fades as soon as there are some answers per system.
ANCHOR = 0.1
ROUNDS = 8  # in which a budget is asked, where nothing else is said


class Tournament(Loop):
    """Comparisons of two answers to one prompt: chosen, put to a judge, kept.

    made : (K, 3) prompt, first and second system of what was asked; what the store has is there
    from the beginning.
    asking : as for `judging.rank`; its `rounds` are as many as a budget is asked in, at least.
    wording : a file of your own question. progress : whether to show a bar.
    decision : what the pilot of orders="auto" came to, None before. equal : how many answers needed
    no call, both texts being the same word for word. why : of questions that the judge would not
    answer. budget : the calls that `run` was given, None before.
    """

    things = "systems"

    def __init__(
        self,
        answers: Answers,
        judge: Reader,
        attribute: str = "better",
        *,
        store: Store,
        asking: Asking | None = None,
        progress: bool | None = None,
        seed: int = 0,
        wording: str | Path | None = None,
    ) -> None:
        super().__init__(len(answers.systems), width=3)
        self.answers, self.judge, self.store = answers, judge, store
        self.asking, self.by_file = asking or Asking(), judge.by_file
        self.both, self.rounds = self.asking.both_orders, self.asking.rounds or ROUNDS
        self.decision: Decision | None = None
        self.why: dict[str, str] = {}
        self.unanswered = np.zeros(self.n, dtype=int)
        self.meter = Meter(0, shown=progress, price=self.asking.price)
        self.meter.judge = judge
        self.rng = np.random.default_rng(seed)
        self.prompt = prompts.for_attribute(
            attribute, thing="answer", context="Prompt", wording=wording
        )
        self.equal = 0
        self.budget: int | None = None
        there = answers.texts != ""
        # Prompts, first and second systems that can still be asked about.
        self.open = there[:, :, None] & there[:, None, :] & ~np.eye(self.n, dtype=bool)
        self.recall()

    def questions(self, rows: Indices) -> list[Question]:
        """The questions of (K, 3) rows: prompt, first and second system."""
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

    def run(self, calls: int) -> None:
        """Ask in rounds until so many comparisons are answered, none is left, or a limit is met."""
        self.budget = self.total = calls
        self.meter.expect(max(calls - len(self.p), 0))
        try:
            self.ask_all()
        finally:
            self.meter.bar.close()
        if self.asking.orders == "auto" and self.decision is None and self.rounds > 1:
            self.decide(self.asked)  # the store had all of it

    # Who answers ----------------------------------------------------------------------------

    def stored(self) -> Indices:
        """Comparisons in the store that were not taken yet."""
        stored, rows = self.store.answered(self.judge, self.prompt), list[tuple[int, int, int]]()
        for k, about in enumerate(self.answers.prompts):
            if known := stored.get(Text("", about).digest):
                own = [Text("", text).digest for text in self.answers.texts[k]]
                left = np.argwhere(self.open[k]).tolist()
                rows += [(k, i, j) for i, j in left if (own[i], own[j]) in known]
        return np.array(rows, dtype=np.intp).reshape(-1, 3)

    def _same(self, rows: Indices) -> Mask:
        """Whether both answers are the same text."""
        k, i, j = rows.T
        return np.asarray(self.answers.texts[k, i] == self.answers.texts[k, j], dtype=bool)

    def fetch(self, rows: Indices) -> list[Answer]:
        """Answers from the judge or the store."""
        return self.store.ask(
            self.judge,
            self.questions(rows[~self._same(rows)]),
            progress=self.meter,
            meanwhile=self.filled_meanwhile,
        )

    def answer(self, rows: Indices) -> Floats:
        """Take the judge's answers; two answers that are the same text are a tie."""
        same, p = self._same(rows), np.full(len(rows), 0.5)
        if not same.all():
            questions, said = self.questions(rows[~same]), self.fetch(rows)
            before = sum(why == NO_LABEL for why in self.why.values()), self.asked
            p[~same], _, out = decided(questions, said, self.asking.unanswered, before=before)
            self.why |= {
                str(questions[q]): said[q].refused or NO_LABEL for q in np.flatnonzero(out)
            }
        self.equal += int(same.sum())
        self.open[tuple(rows.T)] = False
        return p

    def take(self, rows: Indices) -> None:
        """Keep answers, and ask no more about systems of which nothing is answered."""
        super().take(rows)
        refused = np.array(self.refused, dtype=np.intp).reshape(-1, 3)[:, 1:]
        times, answered = (
            np.bincount(at.ravel(), minlength=self.n) for at in (refused, self.made[:, 1:])
        )
        hopeless = (times >= HOPELESS) & (answered == 0)
        self.open[:, hopeless, :] = self.open[:, :, hopeless] = False

    # What comes next ------------------------------------------------------------------------

    def before(self) -> Indices:
        """Nothing: what is not linked yet comes first by itself, see `ANCHOR`."""
        return self.made[:0]

    def look(self) -> Stop | None:
        """Say why to stop now; the answers are fitted when the next are chosen."""
        ended = None if self.linked or self.refused else self.too_few()
        if ended is not None:  # a board would leave systems out
            raise ended from None
        return self.stop or (None if self.left else Stop("budget", ""))

    def choose(self) -> Indices:
        """(K, 3) what to ask next: a pilot, second orders, new pairs."""
        size = max(4 * self.n, -(-self.total // self.rounds))
        count = self.left if self.left < size * (1.5 if self.by_file else 1) else size
        undecided = self.asking.orders == "auto" and self.decision is None
        pilot = self.decide(self.total) if undecided and self.rounds > 1 else 0
        back = self.made[:0]
        if self.both:  # a second order takes away more than a new pair would, so it comes first
            k, i, j = self.made.T
            back = self.made[self.open[k, j, i]][:count][:, [0, 2, 1]]
        return np.vstack([back, self.chosen(self.scores(), count - len(back), pilot)])

    def scores(self) -> Floats:
        """(N,) by what was answered so far; zero while that does not link all systems."""
        if not self.linked:
            return np.zeros(self.n)
        c = Comparisons.from_pairs(self.made[:, 1:], self.p, items=self.answers.systems)
        return fit(c, prior=1.0 / (self.n - 1)).scores  # decisions too are to be finite

    def decide(self, calls: int) -> int:
        """One order or both from here on; or how many pairs are to be asked in both first."""
        n = self.n
        k, i, j = self.made.T
        told = self.answers.texts[k, i] != self.answers.texts[k, j]
        rows = map(tuple, self.made[told].tolist())
        known = dict(zip(rows, self.p[told], strict=True))
        twice = [row for row in known if row[1] < row[2] and (row[0], row[2], row[1]) in known]
        size = orders.pilot_size(calls) + n - 1  # as many degrees of freedom
        missing = size - len(twice)
        if missing > 0 and calls - self.asked >= 2 * missing + 2 * n:
            return missing
        self.decision = orders.on_prompts(
            np.array(twice, dtype=np.intp).reshape(-1, 3)[:, 1:],
            np.array([known[row] for row in twice]),
            np.array([known[k, j, i] for k, i, j in twice]),
            n_items=n,
        )
        self.both = self.decision.orders == "both"
        return 0

    @property
    def new(self) -> Mask:
        """(prompts, N, N) pairs that were asked in neither order yet."""
        return self.open & self.open.swapaxes(1, 2)

    def chosen(self, scores: Floats, count: int, doubled: int = 0) -> Indices:
        """(count, 3) new pairs: argmax c_ij R_ij, on the prompt with the fewest so far.

        c_ij is the curvature that one more answer about i and j adds, R_ij the variance of their
        difference, both at these scores (paper 3.6; book eq. 10.9); R follows every pick. doubled :
        of the pairs, how many are asked in both orders, if not all are.
        """
        n, d = len(scores), np.subtract.outer(scores, scores)
        curvature, left = expit(d) * expit(-d), self.new
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
            twice, doubled = self.both or doubled > 0, doubled - 1
            for one, other in ((i, j), (j, i))[: 1 + twice]:
                if left[k, one, other]:
                    picked.append((k, one, other))
                    load[k] += 1
            room[[i, j], [j, i]] -= left[k, [i, j], [j, i]]
            left[k, [i, j], [j, i]] = False
            add_comparison(resistance, i, j, weight=curvature[i, j])
        return np.array(picked[:count], dtype=np.intp).reshape(-1, 3)

    @property
    def more(self) -> int:
        """Comparisons of these answers that can still be asked, in either order."""
        texts = self.answers.texts
        return int((self.open & (texts[:, :, None] != texts[:, None, :])).sum())

    @property
    def stopped(self) -> Any:
        """Why no more was asked."""
        if self.stop is not None:
            return f.Ended("partial", str(self.stop), 0, False, 0)
        if not self.budget:
            return f.Ended("offline", "", 0, False, 0)
        if not self.more:
            return f.Ended("both orders", "", self.budget, False, 0)
        if not self.both and not self.new.any():
            return f.Ended("one order", "", self.budget, False, self.more)
        return f.Ended("budget", "", self.budget, self.asked > self.budget, self.more)

    @property
    def possible(self) -> Mask:
        """(prompts, N, N) questions that can come."""
        return self.open if self.both else self.new

    def sample(self, count: int) -> list[Question]:
        """Draw `count` questions from those that can come, to predict what they will cost."""
        rows = np.argwhere(self.possible)
        return self.questions(self.rng.permutation(rows)[:count])

    def columns(self) -> Columns:
        """Collect what was asked, as `judging.practice.reading.forms.read` does of a table."""
        a, (k, i, j) = self.answers, self.made.T
        size = np.array([[len(text) for text in row] for row in a.texts], dtype=float)
        judge = self.judge.specification
        new = self.meter.calls
        notes: list[Any] = [
            *kinds.cautions(judge),
            f.AskedNow(judge.get("model") or judge.get("kind"), new, self.asked - self.equal - new),
            *self.meter.notes(),
            *a.notes,
        ]
        if self.decision is not None and self.decision.reason != "unknown":
            d = self.decision
            notes.append(f.Orders(d.reason, d.orders, d.c, d.se))
        if self.equal:
            notes.append(f.SameText(self.equal))
        if self.refused:
            which, why = next(iter(self.why.items()))
            notes.append(f.LeftOut(len(self.refused), which, why))
        if none := [str(a.systems[s]) for s in range(len(a.systems)) if s not in {*i, *j}]:
            notes.append(f.Unanswered(tuple(none)))
        notes += injection.notes(self.prompt, starmap(self._text, np.argwhere(a.texts != "")))
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
        )
