"""Judges behind an OpenAI-compatible server: hosted, or vLLM, SGLang or llama.cpp of one's own."""

from poe.judges.server.failures import (
    ModelChangedError,
    NoLabelError,
    ServerError,
    SpendingLimitError,
)
from poe.judges.server.judge import ServerJudge

__all__ = [
    "ModelChangedError",
    "NoLabelError",
    "ServerError",
    "ServerJudge",
    "SpendingLimitError",
]
