"""Targets of the several-judges paper."""

from __future__ import annotations

from poe.reproduce.settings import Target

TARGETS: tuple[Target, ...] = ()
ALIASES: dict[str, str] = {}
