"""What can go wrong when judges are combined, by name."""

from poe.errors import JudgeError


class AggregationError(JudgeError, ValueError):
    """The judgements, the contexts or the settings are not usable; the message names them."""


class UnidentifiedPanelError(AggregationError):
    """The judgements cannot tell apart what was asked for; the message says which and why."""
