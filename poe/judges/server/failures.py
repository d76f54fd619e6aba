"""What can go wrong with a server."""

from __future__ import annotations

from poe.errors import JudgeError


class ServerError(JudgeError):
    """The server cannot be used as it is asked to be; asking again would not help."""


class ModelChangedError(ServerError):
    """The server answers as another model than before."""


class NoLabelError(ServerError):
    """The model answers with something other than the label words."""


class SpendingLimitError(JudgeError):
    """The next call could go over the limit in calls or tokens; what was answered is kept."""


class PassingError(Exception):
    """Try again: too many requests, an overloaded or restarting server, a lost connection.

    wait : seconds that the server asks for. billed : whether the call may have been worked on.
    turned_away : whether it certainly was not, so that it does not count. reached : whether
    there was a server at all.
    """

    def __init__(
        self,
        cause: str,
        *,
        wait: float = 0.0,
        billed: bool = True,
        turned_away: bool = False,
        reached: bool = True,
    ) -> None:
        super().__init__(cause)
        self.wait, self.billed, self.turned_away = wait, billed, turned_away
        self.reached = reached
