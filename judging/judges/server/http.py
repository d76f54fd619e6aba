"""Calls to one OpenAI-compatible server: bounded in time, size and money, and tried again."""

from __future__ import annotations

import json
import logging
import math
import os
import random
import re
import ssl
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

import httpx

from judging.errors import JudgeError, NoJudgeError
from judging.judges.server.replies import refusal
from judging.judges.spending import AskingEndedError, Spending
from judging.quoting import quoted

if TYPE_CHECKING:
    from judging.judges.server.options import ServerOptions

PATH = "/chat/completions"
DEFAULT_KEY = "OPENAI_API_KEY"
CONNECT = 10.0  # seconds in which a server takes a connection, if it is there
LARGEST = 2**24  # bytes of a reply
TRIES = 3  # of a call that is answered, and perhaps billed, with something unusable
ALONE = 4  # of a call that fails while others are answered
# Questions in a row without an answer that end a run: refused at once, after several tries.
REFUSED, FAILING = 10, 4
# Statuses that may be about one request: a content filter, a text that is too long.
OF_A_QUESTION = (400, 403, 413, 422, 451)
BUSY = (408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529)

NAME = re.compile(r"[A-Z]+(_[A-Z]+)+")  # of a variable, which no key looks like

Read = TypeVar("Read")
log = logging.getLogger(__name__)
# Its debugging lines hold the headers of replies, in which some servers repeat the key.
logging.getLogger("httpcore").setLevel(logging.INFO)


class ServerError(JudgeError):
    """The server cannot be used as it is asked to be; asking again would not help."""


class ServerGoneError(ServerError, AskingEndedError):
    """The server gives no answer, or none any more, however often it is asked."""


class UnreachableError(ServerGoneError):
    """Nothing takes a connection at that address, which is no question's fault."""


class SilentServerError(ServerGoneError):
    """The server has given no answer since the beginning, so that it was never there to be lost."""


class KeyRefusedError(ServerError, NoJudgeError):
    """The server knows no such key, so that there is no judge to ask."""


class NotThereError(ServerError, NoJudgeError):
    """At this address nobody answers questions, or not this model."""


class ModelChangedError(ServerError):
    """The server answers as another model than before."""


class RefusedError(ServerError):
    """One question gets no answer; others may.

    why : what the server said, for who reads the ranking. most : so many in a row, with no answer
    in between, are not the questions' fault. error : what is raised then. sure : whether it is this
    question, because the server said so or answered others meanwhile.
    """

    def __init__(self, why: str, most: int, error: ServerError, *, sure: bool = True) -> None:
        super().__init__(str(error))
        self.why, self.most, self.error, self.sure = why, most, error, sure


class PassingError(Exception):
    """Try again: too many requests, a server that restarts, a lost connection, a garbled reply.

    wait : seconds that the server asks for. tries : the most that make sense. turned_away : nobody
    worked on the call, so that it does not count. cut : our patience ended it, before its time.
    at_last : the error that it becomes when tries are over. own : whether this question alone may
    be what it fails at.
    """

    def __init__(
        self,
        cause: str,
        *,
        wait: float = 0.0,
        tries: float = math.inf,
        turned_away: bool = False,
        cut: bool = False,
        at_last: type[ServerGoneError] = ServerGoneError,
        own: bool = False,
    ) -> None:
        super().__init__(cause)
        self.wait, self.tries, self.turned_away, self.cut = wait, tries, turned_away, cut
        self.at_last, self.own = at_last, own


def check_url(url: str) -> str:
    """The host, port and path of a URL such as http://node7:8000/v1, as they are stored and shown.

    Raises ServerError if it is none or carries a secret, without repeating what may be one.
    """
    form = "that is not the URL of a server; write http://HOST:PORT/v1"
    try:
        parts = urlsplit(url)
        httpx.URL(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ServerError(form)
    except (ValueError, httpx.InvalidURL):
        raise ServerError(form) from None
    allowed = re.fullmatch(r"(api-version=[\w.-]+)?", parts.query)
    if "@" in parts.netloc or parts.fragment or not allowed:
        raise ServerError(
            "the URL of a server carries no user, password or query (but ?api-version=...): URLs "
            "are stored and shown; put the key in an environment variable and name that one "
            "with the judge's option key_env"
        )
    return parts.netloc.lower() + parts.path.rstrip("/") + (f"?{parts.query}" if allowed[0] else "")


def find_key(url: str, key_env: str | None) -> str | None:
    """The API key for a server, from the environment; None where there is none.

    Without `key_env` it is OPENAI_API_KEY, which is not sent unencrypted to another machine.
    Raises ServerError if the named variable is not set or cannot be a key; the message repeats
    only what looks like a name (MY_KEY), since it may be the key itself, given by mistake.
    """
    if key_env is None and not (urlsplit(url).scheme == "https" or is_here(url)):
        return None
    key = os.environ.get(key_env or DEFAULT_KEY, "").strip()
    if key_env is not None and not key:
        name = key_env if NAME.fullmatch(key_env) else "that key_env names"
        raise ServerError(
            f"the environment variable {name} is not set; put the key there (key_env is the name "
            "of the variable, not the key)"
        )
    if not (key.isascii() and key.isprintable()):
        raise ServerError(f"what is in {DEFAULT_KEY}, or in key_env's variable, cannot be a key")
    return key or None


def is_here(url: str) -> bool:
    """Tell whether a URL is of this machine."""
    return urlsplit(url).hostname in ("localhost", "127.0.0.1", "::1")


class Caller:
    """Sends requests to a server as its options say, and reads the replies; threads may share it.

    served : the name of the model that answers, by the replies or a store; None if neither said.
    heard : whether there was a reply.
    """

    def __init__(self, url: str, options: ServerOptions) -> None:
        self.name = check_url(url)
        if options.key_env and not NAME.fullmatch(options.key_env):
            find_key(url, options.key_env)  # before a key, given by mistake, is kept anywhere
        self.options = options
        self.served: str | None = None
        self.heard = False
        self._answered = 0
        base, _, query = url.partition("?")
        self._base = base.rstrip("/")
        self._url = self._base + PATH + (f"?{query}" if query else "")
        self._beside = 64  # tokens beside the text; a chat template has some

    def shown(self, text: object) -> str:
        """Make what a server said fit for a message: short, printable and without the key."""
        return quoted(self._without_key(text))

    def _without_key(self, text: object) -> str:
        key = find_key(self._base, self.options.key_env)
        clean = quoted(text, LARGEST)
        if key:
            clean = clean.replace(f"Bearer {key}", "Bearer [key]")
            if len(key) >= 8:  # a shorter one is a placeholder, and part of other words
                clean = clean.replace(key, "[key]")
        return clean

    def connect(self) -> httpx.Client:
        """A connection of one thread, through a proxy if the environment says so."""
        key = find_key(self._base, self.options.key_env)
        headers = {"Content-Type": "application/json"}
        if key:
            headers["Authorization"] = f"Bearer {key}"
            if "?" in self._url:  # Azure's name for it
                headers["api-key"] = key
        try:
            return httpx.Client(
                headers=headers,
                verify=_certificates(),
                trust_env=not is_here(self._base),
                follow_redirects=False,  # they would carry the key elsewhere
            )
        except (ImportError, ValueError, httpx.InvalidURL) as error:
            raise ServerError(f"the environment's proxy cannot be used: {error}") from None

    def call(
        self,
        client: httpx.Client,
        body: Mapping[str, Any],
        read: Callable[[dict[str, Any]], Read],
        ending: threading.Event,
        spending: Spending,
    ) -> Read:
        """Send a request until what comes back can be read.

        read : takes what is needed out of the reply; raises ValueError if that is not in it.
        spending : what may be spent, and every try is noted in.
        ending : once it is set, nothing more is sent. The first call of all finds out which model
        answers and what a call costs at least; for an address without a server, or with another
        kind of server, it does not wait. Raises ServerError, ServerGoneError, ModelChangedError,
        SpendingLimitError, or RefusedError where it may be this request alone that fails.
        """
        sent, answered = _sent(body), self._answered
        deadline = monotonic() + self.options.patience
        before: PassingError | None = None
        tried = 0
        while True:
            tried += 1
            try:
                return self._once(client, sent, read, deadline, ending, spending)
            except PassingError as error:
                wait = max(pause(tried), error.wait)
                alone = error.own and tried >= ALONE and self._answered > answered
                if alone or tried >= error.tries or monotonic() + wait >= deadline:
                    # Where our patience cut the last try short: what was wrong all the time.
                    cause = before if error.cut and before else error
                    raise self._given_up(cause, tried, sure=self._answered > answered) from None
                before = error
            log.info("%s; trying again in %.1f s", before, wait)
            ending.wait(wait)

    def _given_up(self, error: PassingError, tried: int, *, sure: bool) -> ServerError:
        """What an error becomes when its tries are over; sure : others were answered meanwhile."""
        tries = f"{tried} tr{'y' if tried == 1 else 'ies'}"
        after = f"; given up after {tries} (its option patience is {self.options.patience:g} s)"
        kept = "; what was answered is kept" if self.heard else ""
        gone = error.at_last
        if gone is ServerGoneError and not self.heard:
            gone = SilentServerError
        ended = gone(f"{error}{after if error.tries > 1 else ''}{kept}")
        if error.own and self.heard:
            return RefusedError(str(error), FAILING, ended, sure=sure)
        return ended

    def bound(self, body: Mapping[str, Any]) -> float:
        """Most tokens that a request may take."""
        return self._bound(_sent(body))

    def _bound(self, sent: bytes) -> float:
        # A token is at least a byte of the text.
        return len(sent) + self._beside + self.options.most_written

    def _once(
        self,
        client: httpx.Client,
        sent: bytes,
        read: Callable[[dict[str, Any]], Read],
        deadline: float,
        ending: threading.Event,
        spending: Spending,
    ) -> Read:
        """One try, accounted for whatever becomes of it."""
        bound = self._bound(sent)
        while not ending.is_set() and not spending.reserve(bound):
            ending.wait(0.02)
        if ending.is_set():
            raise ServerError("not sent, because the run is ending")
        tokens, written, turned_away, unused = None, 0, False, False
        try:
            seconds = min(self.options.timeout, deadline - monotonic())
            status, headers, content = self._post(client, sent, max(0.01, seconds))
            try:
                reply = json.loads(content)
            except (ValueError, RecursionError):
                reply = None
            if status != 200:
                tokens = 0
                raise self._refusal(status, headers, reply)
            counted = token_counts(reply)
            tokens, written = (counted[0] + counted[2], counted[2]) if counted else (None, 0)
            unused = True
            answer = self._understood(headers, reply, read)
            unused = False
            return answer
        except PassingError as error:
            turned_away = error.turned_away
            raise
        finally:
            spending.settle(bound, tokens, written=written, turned_away=turned_away, unused=unused)

    def _post(
        self, client: httpx.Client, sent: bytes, seconds: float
    ) -> tuple[int, httpx.Headers, bytes]:
        """Status, headers and the whole reply, or PassingError if it takes longer than that.

        A server that is silent for as long after its first bytes may take twice the time.
        """
        end = monotonic() + seconds
        timeout = httpx.Timeout(seconds, connect=min(seconds, CONNECT))
        content = bytearray()
        # Headers that come a byte at a time never time out; the connection is taken away then.
        watch = threading.Timer(2.0 * seconds + 1.0, client.close)
        watch.daemon = True
        watch.start()
        try:
            with client.stream("POST", self._url, content=sent, timeout=timeout) as response:
                for piece in response.iter_bytes():
                    content += piece
                    if len(content) > LARGEST:
                        raise PassingError(
                            f"{self.name} answers with more than {LARGEST >> 20} MB, which is no "
                            "judgement; check the URL",
                            tries=TRIES,
                            own=True,
                        )
                    if monotonic() > end:
                        raise httpx.ReadTimeout("")
                return response.status_code, response.headers, bytes(content)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError) as error:
            cause = f"no connection to {self.name} ({self.shown(error) or 'it takes none'})"
            if not self.heard:
                cause += "; is it up, and is this its address?"
            tries = math.inf if self.heard else 1
            raise PassingError(
                cause, tries=tries, turned_away=True, at_last=UnreachableError
            ) from None
        except httpx.TimeoutException:
            raise PassingError(
                f"{self.name} gave no whole answer in {seconds:.3g} s (if it is slow: fewer calls "
                "at a time, concurrency=1, or more seconds, timeout= and patience=)",
                cut=seconds < self.options.timeout,
            ) from None
        except (httpx.RequestError, httpx.StreamError, OSError, RuntimeError) as error:
            if client.is_closed:
                raise PassingError(
                    f"{self.name} sends an answer too slowly to be one", tries=1
                ) from None
            if not isinstance(error, httpx.RequestError):
                raise
            why = self.shown(error) or type(error).__name__
            raise PassingError(f"lost the connection to {self.name} ({why})") from None
        finally:
            watch.cancel()

    def _refusal(self, status: int, headers: httpx.Headers, reply: Any) -> Exception:
        """What a status other than 200 means."""
        said = self.shown(_complaint(reply))
        if status == 429 and _used_up(reply):
            text = f"{self.name} has no credit left for this key (429 insufficient_quota)"
            return ServerGoneError(f"{text}{said}; waiting does not help")
        if status in BUSY:
            wait = 0.0
            with suppress(ValueError):  # some give a date
                wait = float(headers.get("Retry-After", 0.0))
            cause = "has too many requests" if status == 429 else "failed"
            please = f", and asks to wait {wait:.4g} s" if wait else ""
            cause = f"{self.name} {cause} ({status}{please}){said}"
            return PassingError(cause, wait=wait, turned_away=status == 429, own=status == 500)
        if status == 401 or (status == 403 and not self.heard):
            text = f"{self.name} does not accept the API key, or there is none ({status}); put it "
            return KeyRefusedError(
                f"{text}into {DEFAULT_KEY}, or name another variable: --judge-option key_env=NAME"
            )
        elif 300 <= status < 400:
            text, said = "redirects to another address", "; give the final URL"
        elif status in (400, 422) and "logprobs" in _complaint(reply):
            text, said = (
                "gives no log-probabilities",
                f"{said}; sample answers (its option draws=20)",
            )
        elif status == 404:
            text = f"has no {PATH}, or not this model"
            said += "; most URLs end in /v1"
        else:
            text = "refuses the request"
            hint = '; a field that it does not take is left out by options={"FIELD": null}'
            error = ServerError(f"{self.name} {text} ({status}){said}{hint}")
            if status not in OF_A_QUESTION:
                return error
            return RefusedError(f"{status}{said}", REFUSED, error)
        nobody = not self.heard and (status == 404 or 300 <= status < 400)
        kind = NotThereError if nobody else ServerError
        return kind(f"{self.name} {text} ({status}){said}")

    def _understood(
        self, headers: Mapping[str, str], reply: Any, read: Callable[[dict[str, Any]], Read]
    ) -> Read:
        """What `read` finds in a reply, which may hold anything; ModelChangedError if it must."""
        try:
            if not isinstance(reply, dict):
                kind = headers.get("Content-Type", "of no kind")
                what = "a web page" if "html" in kind else "something that is not JSON"
                raise ValueError(
                    f"answers with {what} ({self.shown(kind)}), not with a judgement; check the "
                    "URL: most end in /v1, and a login page in between is no server"
                )
            choices = reply.get("choices")
            if not (isinstance(choices, list) and choices and isinstance(choices[0], dict)):
                raise ValueError(
                    f"answers without choices{self.shown(_complaint(reply))}; check the URL"
                )
            if why := refusal(choices[0]):
                gone = ServerGoneError(f"{self.name} does not answer: {self.shown(why)}")
                raise RefusedError(self.shown(why), REFUSED, gone)
            answer = read(reply)
        except ValueError as error:
            raise PassingError(f"{self.name} {error}", tries=TRIES, own=True) from None
        model = reply.get("model")
        served = self._without_key(model)[:300] if model and isinstance(model, str) else "not said"
        if counted := token_counts(reply):  # no template adds more than the shortest prompt has
            self._beside = min(counted[0], self._beside) if self.heard else counted[0]
        self.heard = True
        self._answered += 1
        self.served = self.served or served
        if served != self.served:
            raise ModelChangedError(
                f"{self.name} answered as {self.served!r} until now and answers as {served!r} this "
                "time; answers of two models do not go into one ranking. Those of the first are "
                "kept; name a dated version of the model, or use another store"
            )
        return answer


def pause(tried: int) -> float:
    """Seconds before another try, twice as long each time; threads do not try all at once."""
    return min(0.5 * 2 ** min(tried - 1, 6), 30.0) + random.uniform(0.0, 0.5)


@cache
def _certificates() -> ssl.SSLContext:
    """The machine's own, which may hold some that httpx does not bring along."""
    return ssl.create_default_context()


def _sent(body: Mapping[str, Any]) -> bytes:
    return json.dumps(body, ensure_ascii=False).encode()


def _complaint(reply: Any) -> str:
    """What a server says is wrong; nothing where it sends a page."""
    error = reply.get("error", reply) if isinstance(reply, dict) else None
    if isinstance(error, dict):
        error = error.get("message") or error.get("detail")
    return f": {quoted(error, LARGEST)}" if error else ""


def _used_up(reply: Any) -> bool:
    """Whether a server turns calls away until somebody pays, and not for a moment."""
    error = reply.get("error") if isinstance(reply, dict) else None
    codes = [error.get("code"), error.get("type")] if isinstance(error, dict) else []
    return "insufficient_quota" in codes


def token_counts(reply: Any) -> tuple[int, int, int] | None:
    """Tokens of the prompt, of it from the server's cache, and written; None if not said."""

    def count(fields: Any, name: str) -> int | None:
        value = fields.get(name) if isinstance(fields, dict) else None
        return value if type(value) is int and 0 <= value < 2**31 else None

    usage = reply.get("usage") if isinstance(reply, dict) else None
    prompt = count(usage, "prompt_tokens")
    if usage is None or prompt is None:
        return None
    cached = count(usage.get("prompt_tokens_details"), "cached_tokens") or 0
    return prompt, min(cached, prompt), count(usage, "completion_tokens") or 0
