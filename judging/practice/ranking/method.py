"""How the numbers of a page were made: what a colleague needs to make them again."""

from __future__ import annotations

import datetime
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from judging.judges import Reader
    from judging.question import Prompt

__all__ = ["Method"]


@dataclass(frozen=True, kw_only=True)
class Method:
    """The command and the settings, and who was asked how; None where no judge was.

    settings : by their names on the page. made : the date, by default today.
    """

    settings: Mapping[str, object]
    command: str = ""
    judge: Reader | None = None
    prompt: Prompt | None = None
    made: str = ""

    def page(self) -> dict[str, Any]:
        """Fill in the templates."""
        given: Mapping[str, Any] = {} if self.judge is None else self.judge.specification
        return {
            "command": self.command.replace(" --", " \\\n  --"),
            "made": self.made or datetime.date.today().isoformat(),
            "specification": given,
            "sent": "" if self.prompt is None else _sent(self.prompt, given),
            "settings": {
                **self.settings,
                **({} if self.prompt is None else _of_prompt(self.prompt, given)),
                "versions": f"Python {platform.python_version()}, NumPy {version('numpy')}, "
                f"SciPy {version('scipy')}, pandas {version('pandas')}",
            },
        }


def _sent(prompt: Prompt, given: Mapping[str, Any]) -> str:
    """The prompt as the judge gets it, with the sentence that a chat is given beside it."""
    labels = f"{', '.join(prompt.labels[:-1])} or {prompt.labels[-1]}"
    more = given.get("instruction", "") if given.get("prefix") == "ask" else ""
    return "\n\n".join(filter(None, [prompt.template, more.replace("{labels}", labels)]))


def _of_prompt(prompt: Prompt, given: Mapping[str, Any]) -> dict[str, object]:
    return {
        "label words": ", ".join(prompt.labels),
        "answer prefix": "not sent" if given.get("prefix") == "ask" else prompt.prefix or "none",
        "system message": prompt.system or "none",
        "prompt": f"{prompt.name}, {prompt.digest[:12]}",
    }
