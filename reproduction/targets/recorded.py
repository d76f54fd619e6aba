"""Targets on what language models answered in others' experiments."""

from __future__ import annotations

from reproduction import recorded
from reproduction.settings import Target
from reproduction.targets.names import H


def _targets() -> list[Target]:
    return [
        Target(
            "recorded-hanna",
            "recorded",
            "HANNA's five judges: every method, 2N to 100N calls",
            "recorded",
            recorded.hanna_curves,
            (H,),
            60.0,
        ),
        Target(
            "recorded-selection",
            "recorded",
            "HANNA's five judges: random or greedy pairs",
            "recorded",
            recorded.hanna_selection,
            (H,),
            60.0,
        ),
        Target(
            "recorded-llmbar",
            "recorded",
            "LLMBar: position bias, both orders, accuracy",
            "recorded",
            recorded.llmbar,
            (),
            1.0,
        ),
        Target(
            "recorded-pandalm",
            "recorded",
            "PandaLM: accuracy",
            "recorded",
            recorded.pandalm,
            (),
            1.0,
        ),
    ]


TARGETS = tuple(_targets())
