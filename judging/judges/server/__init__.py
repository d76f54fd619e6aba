"""Judges behind an OpenAI-compatible server: hosted, or vLLM, SGLang or llama.cpp of one's own."""

from judging.judges.server.http import ModelChangedError, ServerError
from judging.judges.server.judge import NoLabelError, ServerJudge

__all__ = ["ModelChangedError", "NoLabelError", "ServerError", "ServerJudge"]
