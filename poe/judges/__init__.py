"""Judges: whatever answers "which of these two is better?" with a probability."""

from poe.judges.questions import Answer, Prompt, Question, Reader, Text
from poe.judges.server import ServerJudge
from poe.judges.simulated import SimulatedJudge, simulated_answers
from poe.judges.store import Store

__all__ = [
    "Answer",
    "Prompt",
    "Question",
    "Reader",
    "ServerJudge",
    "SimulatedJudge",
    "Store",
    "Text",
    "simulated_answers",
]
