"""What deserves a warning in a server's answers to one prompt."""

from __future__ import annotations

import math
import warnings

from poe.judges.questions import Answer

SILENT = 10  # answers without a label, from the start on, after which there is no point
SMALL = 0.5  # mean label mass below which the model mostly means to say something else


class Tally:
    """Counts answers over all calls of a judge; every kind of warning is given once."""

    def __init__(self, model: str, prompt: str, top: int) -> None:
        self.model, self.prompt, self.top = model, prompt, top
        self.answers = self.neither = self.one = 0
        self.mass = 0.0
        self._said: set[str] = set()

    def add(self, answer: Answer) -> None:
        """Count one answer."""
        unseen = sum(value == -math.inf for value in answer.log_p)
        self.answers += 1
        self.neither += unseen == len(answer.log_p)
        self.one += 0 < unseen < len(answer.log_p) and not answer.draws
        self.mass += answer.mass

    @property
    def hopeless(self) -> bool:
        """Whether the labels never came up."""
        return self.neither == self.answers == SILENT

    def warn(self) -> None:
        """Say what was counted, if it matters and was not said before."""
        answers = f"of {self.answers} answers of {self.model} to prompt {self.prompt!r}"
        if self.neither:
            self._warn("neither", f"{self.neither} {answers} held none of the labels")
        if self.one:
            self._warn(
                "one",
                f"in {self.one} {answers} a label was not among the {self.top} likeliest tokens "
                "and counts as impossible; raise top= if the server allows it",
            )
        if self.answers and self.mass / self.answers < SMALL:
            self._warn(
                "mass",
                f"{self.model} gives the labels of prompt {self.prompt!r} "
                f"{self.mass / self.answers:.0%} of the probability on average: it mostly means "
                "to say something else; change the prompt or prefix=",
            )

    def _warn(self, kind: str, text: str) -> None:
        if kind not in self._said:
            self._said.add(kind)
            warnings.warn(text, stacklevel=5)
