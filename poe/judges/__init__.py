"""Judges: whatever answers "which of these two is better?" with a probability."""

from poe.judges.simulated import SimulatedJudge

__all__ = ["SimulatedJudge"]
