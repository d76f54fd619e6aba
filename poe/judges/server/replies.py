"""What a server's reply says about the label words."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from poe.judges.questions import Prompt
from poe.judges.server.failures import PassingError, ServerError
from poe.judges.server.http import Reply

BUSY = (408, 409, 425, 500, 502, 503, 504, 520, 522, 524, 529)
SPACES = " \t\r\n▁ĠĊ"  # as text, and as SentencePiece and byte-level vocabularies write them


def read(reply: Reply, *, server: str, path: str) -> dict[str, Any]:
    """The reply as JSON; otherwise PassingError, or ServerError saying what to change."""
    if reply.status == 429:
        raise PassingError(
            f"{server} has too many requests (429){_complaint(reply)}",
            wait=reply.wait,
            turned_away=True,
        )
    if reply.status in BUSY:
        cause = f"{server} failed ({reply.status}){_complaint(reply)}"
        raise PassingError(cause, wait=reply.wait, billed=False)
    if reply.status in (401, 403):  # without its words: they may repeat the key
        raise ServerError(
            f"{server} does not accept the API key, or there is none ({reply.status}); put it in "
            "the environment variable OPENAI_API_KEY, or name another with key_env="
        )
    if 300 <= reply.status < 400:
        raise ServerError(f"{server} sends us elsewhere ({reply.status}); give the final URL")
    if reply.status == 404:
        raise ServerError(
            f"{server} has no {path}, or not this model (404){_complaint(reply)}; most URLs end "
            "in /v1"
        )
    if reply.status != 200:
        raise ServerError(f"{server} refuses the request ({reply.status}){_complaint(reply)}")
    try:
        found = json.loads(reply.body)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        kind = "a web page" if b"<" in reply.body[:200] else "something that is not JSON"
        raise ServerError(
            f"{server} answers with {kind} ({reply.kind}), not with a judgement; check the URL: "
            "most end in /v1, and a login page in between is no server"
        )
    if not isinstance(found.get("choices"), list) or not found["choices"]:
        raise ServerError(f"{server} answers without choices{_complaint(reply)}; check the URL")
    return found


def _complaint(reply: Reply) -> str:
    """What the server says, shortened; nothing where it sends a page."""
    try:
        found = json.loads(reply.body)
    except ValueError:
        return ""
    error = found.get("error", found) if isinstance(found, dict) else None
    if isinstance(error, dict):
        error = error.get("message") or error.get("detail")
    return f": {str(error)[:300]}" if error else ""


def tokens(found: Mapping[str, Any]) -> tuple[int, int, int] | None:
    """Tokens of the prompt, of it from the server's cache, and written; None if not said."""
    usage = found.get("usage")
    if not isinstance(usage, dict) or not isinstance(usage.get("prompt_tokens"), int):
        return None
    details = usage.get("prompt_tokens_details") or {}
    cached = details.get("cached_tokens") or 0
    return usage["prompt_tokens"], cached, usage.get("completion_tokens") or 0


def next_token(choice: Mapping[str, Any]) -> list[tuple[str, float]] | None:
    """The likeliest next tokens with log-probabilities; None where the server gives none.

    Chat servers give a list under `content`, the older completions a dictionary under
    `top_logprobs`. The token that was chosen is added where the list lacks it.
    """
    given = choice.get("logprobs")
    if not isinstance(given, dict):
        return None
    content = given.get("content")
    if content:
        first = content[0]
        top = [(one["token"], one["logprob"]) for one in first.get("top_logprobs") or []]
        chosen = (first["token"], first["logprob"])
    elif given.get("tokens") and given.get("token_logprobs"):
        top = list(((given.get("top_logprobs") or [{}])[0] or {}).items())
        chosen = (given["tokens"][0], given["token_logprobs"][0])
    else:
        return None
    if chosen[0] not in [token for token, _ in top]:
        top.append(chosen)
    found = [(token, float(value)) for token, value in top if value is not None]
    return found or None


def merged(
    likely: Iterable[tuple[str, float]], labels: Sequence[str], *, ignore_case: bool
) -> tuple[float, ...]:
    """Log-probability of each label: its variants " A", "A", "▁A" together, -inf if not seen."""
    found: dict[str, list[float]] = {_fold(label, ignore_case): [] for label in labels}
    for token, value in likely:
        found.get(_fold(token, ignore_case), []).append(value)
    return tuple(_log_sum(found[_fold(label, ignore_case)]) for label in labels)


def _fold(token: str, ignore_case: bool) -> str:
    bare = token.strip(SPACES)
    return bare.casefold() if ignore_case else bare


def _log_sum(values: Sequence[float]) -> float:
    if not values:
        return -math.inf
    most = max(values)
    if most == -math.inf:
        return most
    return min(0.0, most + math.log(math.fsum(math.exp(value - most) for value in values)))


def said(choice: Mapping[str, Any]) -> str:
    """The text of a choice."""
    message = choice.get("message")
    text = message.get("content") if isinstance(message, dict) else choice.get("text")
    return text if isinstance(text, str) else ""


def label_of(text: str, prompt: Prompt, *, ignore_case: bool) -> int | None:
    """Position of the label that a sampled answer starts with; None if it starts otherwise.

    The answer prefix may come first ("Summary A"), and marks around a word do not count ("**A**").
    """
    flags = re.IGNORECASE if ignore_case else 0
    bare = text.strip(SPACES + "*_`\"'([{#")
    if prompt.prefix:
        bare = (
            re.sub(re.escape(prompt.prefix), "", bare, count=1, flags=flags)
            if re.match(re.escape(prompt.prefix), bare, flags)
            else bare
        )
        bare = bare.strip(SPACES + "*_`\"'([{#:")
    for position, label in enumerate(prompt.labels):
        if re.match(re.escape(label.strip(SPACES)) + r"(?!\w)", bare, flags):
            return position
    return None


def counted(texts: Sequence[str], prompt: Prompt, *, ignore_case: bool) -> tuple[float, ...]:
    """Log of the share of the sampled answers that are each label."""
    hits = [label_of(text, prompt, ignore_case=ignore_case) for text in texts]
    shares = [hits.count(k) / len(texts) for k in range(len(prompt.labels))]
    return tuple(math.log(share) if share else -math.inf for share in shares)
