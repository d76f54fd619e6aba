"""Judges: whatever answers "which of these two is better?" with a probability."""

from poe.judges.questions import Answer, Prompt, Question, Reader, Text
from poe.judges.simulated import SimulatedJudge

__all__ = ["Answer", "Prompt", "Question", "Reader", "SimulatedJudge", "Text"]
