"""How often a judge gave no label: counted, and said once per prompt."""

from __future__ import annotations

import math
import warnings
from collections import defaultdict

import numpy as np

from judging.question import Answer, Prompt
from poe.arrays import Floats

SILENT = 10  # first answers that all lack a label, after which asking is pointless
SMALL = 0.5  # mean label mass below which a model mostly means to say something else


class Tally:
    """Counts a judge's answers prompt by prompt; every kind of warning is given once per prompt.

    model : its name. top : how many of the likeliest tokens a server shows, None if all count.
    """

    def __init__(self, model: str, *, top: int | None = None) -> None:
        self.model, self.top = model, top
        # Answers, those without any label, those with one of two, probability of the labels, and
        # those of several draws that were all the same.
        self._counts: dict[Prompt, Floats] = defaultdict(lambda: np.zeros(5))
        self._said: set[tuple[Prompt, str]] = set()

    def add(self, prompt: Prompt, answer: Answer, *, unlisted: bool = False) -> None:
        """Count one answer; unlisted: whether the server did not show every label."""
        unseen = sum(value == -math.inf for value in answer.log_p)
        neither = unseen == len(answer.log_p)
        one = (unlisted or unseen > 0) and not neither and not answer.draws
        alike = answer.draws > 1 and max(answer.log_p) == 0.0
        self._counts[prompt] += (1, neither, one, answer.mass, alike)

    def silent(self, prompt: Prompt) -> bool:
        """Tell whether no first answer held a label, so that there is no point in more."""
        answers, neither, *_ = self._counts[prompt]
        return bool(neither == answers == SILENT)

    def warn(self) -> None:
        """Say what was counted, if it matters and was not said before."""
        for prompt, (answers, neither, one, mass, alike) in self._counts.items():
            of = f"of {answers:.0f} answers of {self.model} to prompt {prompt.name!r}"
            if neither:
                self._say(prompt, "neither", f"{neither:.0f} {of} held none of the labels")
            if alike == answers >= SILENT:
                text = f"all draws were the same in each {of}: the server seems not to draw at all "
                text += "(for `transformers serve`: options={'generation_config': "
                text += "'{\"do_sample\": true}'})"
                self._say(prompt, "alike", text)
            if one and self.top is not None:
                text = "a label was not among the likeliest tokens that the server showed "
                text += f"({self.top} were asked for) and counts as the least likely of them; "
                text += "ask for more with its option top, if the server allows it; where it "
                text += "shows one token only, its option draws=20 tells more"
                self._say(prompt, "one", f"in {one:.0f} {of} {text}")
            if mass < SMALL * answers:
                text = f"({', '.join(map(repr, prompt.labels))} after {prompt.prefix!r} in prompt "
                text += f"{prompt.name!r}): it would rather say something else; change the prompt"
                share = f"only {mass / answers:.1%} of the probability on average"
                self._say(prompt, "mass", f"{self.model} gives the label words {share} {text}")

    def _say(self, prompt: Prompt, kind: str, text: str) -> None:
        if (prompt, kind) not in self._said:
            self._said.add((prompt, kind))
            warnings.warn(text, stacklevel=4)
