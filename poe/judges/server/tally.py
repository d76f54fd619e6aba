"""What deserves a warning in a server's answers."""

from __future__ import annotations

import math
import warnings

from poe.judges.questions import Answer

SILENT = 10  # answers without a label, from the start on, after which there is no point


class Tally:
    """Counts what deserves a warning."""

    def __init__(self, top: int) -> None:
        self.answers = self.neither = self.one = 0
        self.mass = 0.0
        self.top = top

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

    def warn(self, model: str) -> None:
        """Say what was counted, if it matters."""
        if self.neither:
            _warn(f"{self.neither} of {self.answers} answers of {model} held none of the labels")
        if self.one:
            _warn(
                f"in {self.one} of {self.answers} answers of {model} a label was not among the "
                f"{self.top} likeliest tokens and counts as impossible; raise top= if the server "
                "allows it"
            )
        if self.answers and self.mass / self.answers < 0.5:
            _warn(
                f"{model} gives the labels {self.mass / self.answers:.0%} of the probability on "
                "average: it mostly means to say something else; change the prompt or prefix="
            )


def _warn(text: str) -> None:
    warnings.warn(text, stacklevel=4)
