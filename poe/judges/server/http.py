"""One connection to a server.

The standard library's http.client: it is always there, keeps connections open, and lets another
thread end a call at its socket, which is what a limit on the whole call and a prompt Ctrl-C
need; the clients on the index limit only the gaps between bytes.
"""

from __future__ import annotations

import base64
import http.client
import os
import socket
import threading
from contextlib import suppress
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from time import time
from urllib.parse import SplitResult, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from poe.judges.server.failures import PassingError, ServerError

HERE = ("localhost", "127.0.0.1", "::1")
DEFAULT_KEY = "OPENAI_API_KEY"


@dataclass(frozen=True)
class Address:
    """Where a server is: scheme, host, port and path, without a trailing slash."""

    scheme: str
    host: str
    port: int | None
    path: str

    @property
    def name(self) -> str:
        """Host, port and path."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host + (f":{self.port}" if self.port else "") + self.path

    @property
    def is_here(self) -> bool:
        """Whether it is this machine."""
        return self.host in HERE


def parse_address(url: str) -> Address:
    """Split a URL such as http://node7:8000/v1; refuse what is none, or carries a secret.

    Raises ServerError, whose message does not repeat the URL where that may hold a password.
    """
    try:
        parts: SplitResult = urlsplit(url)
        port = parts.port
    except ValueError:
        raise ServerError("that is not the URL of a server; write http://HOST:PORT/v1") from None
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ServerError(
            "the URL of a server carries no user, password or query: URLs are stored and shown; "
            "put the key in an environment variable and name it with key_env="
        )
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ServerError(f"{url!r} is not the URL of a server; write http://HOST:PORT/v1")
    return Address(parts.scheme, parts.hostname, port, parts.path.rstrip("/"))


def find_key(address: Address, key_env: str | None) -> str | None:
    """The API key for a server, from the environment; None where there is none.

    Unless `key_env` names a variable, OPENAI_API_KEY is used, and is not sent unencrypted to
    another machine. Raises ServerError if the named variable is not set or cannot be a key.
    """
    if key_env is None:
        safe = address.scheme == "https" or address.is_here
        key = os.environ.get(DEFAULT_KEY, "").strip() if safe else ""
    else:
        key = os.environ.get(key_env, "").strip()
        if not key:
            raise ServerError(f"the environment variable {key_env} is not set; put the key there")
    if not (key.isascii() and key.isprintable()):
        raise ServerError(f"what is in {key_env or DEFAULT_KEY} cannot be an API key")
    return key or None


def scrub(text: str, key: str | None) -> str:
    """The text without the key, which some servers repeat in their complaints."""
    return text.replace(key, "[key]") if key else text


@dataclass(frozen=True)
class Reply:
    """What came back."""

    status: int
    kind: str
    body: bytes
    wait: float


class Connection:
    """A connection that stays open between calls; `abort` may be called from any thread."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._http: http.client.HTTPConnection | None = None
        self._socket: socket.socket | None = None
        self._aborted = False
        self._expired = False

    def abort(self) -> None:
        """End the call under way, and refuse later ones."""
        self._aborted = True
        self._cut()

    def close(self) -> None:
        """Hang up."""
        if self._http is not None:
            self._http.close()
        self._http = self._socket = None

    def post(self, path: str, body: bytes, *, key: str | None, timeout: float) -> Reply:
        """Send JSON and read the whole reply within `timeout` seconds.

        Raises PassingError when there is no reply in time or the connection breaks.
        """
        self._expired = False
        alarm = threading.Timer(timeout, self._expire)
        alarm.daemon = True
        alarm.start()
        try:
            return self._post(path, body, key, timeout)
        except (OSError, http.client.HTTPException) as error:
            reached = self._socket is not None
            self.close()
            if self._expired or isinstance(error, TimeoutError):
                cause = f"{self.address.name} gave no whole answer in {timeout:.3g} s"
                raise PassingError(cause, reached=reached) from None
            cause = f"no connection to {self.address.name} ({_reason(error)})"
            raise PassingError(cause, reached=reached, turned_away=not reached) from None
        finally:
            alarm.cancel()

    def _post(self, path: str, body: bytes, key: str | None, timeout: float) -> Reply:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if key:
            headers["Authorization"] = f"Bearer {key}"
        reused = self._http is not None
        try:
            return self._send(path, body, headers, timeout)
        except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
            if not reused or self._aborted or self._expired:
                raise
            self.close()  # the server had hung up between two calls
            return self._send(path, body, headers, timeout)

    def _send(self, path: str, body: bytes, headers: dict[str, str], timeout: float) -> Reply:
        connection, prefix, extra = self._connected(timeout)
        if self._aborted:
            raise ConnectionAbortedError("stopped")
        connection.request("POST", prefix + self.address.path + path, body, headers | extra)
        response = connection.getresponse()
        content = response.read()
        if self._expired:  # cut short, without an error where no length was announced
            raise TimeoutError
        if response.will_close:
            self.close()
        return Reply(
            response.status,
            response.headers.get_content_type(),
            content,
            _seconds(response.headers.get("Retry-After")),
        )

    def _connected(self, timeout: float) -> tuple[http.client.HTTPConnection, str, dict[str, str]]:
        """The open connection, what goes before the path, and headers for a proxy."""
        address = self.address
        proxy = _proxy(address)
        secure = address.scheme == "https"
        if self._http is None:
            kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
            if proxy is None:
                self._http = kind(address.host, address.port, timeout=timeout)
            else:
                self._http = kind(proxy.hostname or "", proxy.port, timeout=timeout)
                if secure:
                    self._http.set_tunnel(address.host, address.port, _proxy_login(proxy))
            self._http.connect()
            # Kept, because http.client lets go of it before the reply is read.
            self._socket = self._http.sock
        if self._socket is not None:
            self._socket.settimeout(timeout)
        if proxy is None or secure:
            return self._http, "", {}
        host = address.name.removesuffix(address.path)
        return self._http, f"http://{host}", _proxy_login(proxy)

    def _expire(self) -> None:
        self._expired = True
        self._cut()

    def _cut(self) -> None:
        sock = self._socket
        if sock is not None:
            with suppress(OSError):  # not SSLSocket's: that one disturbs the reader
                socket.socket.shutdown(sock, socket.SHUT_RDWR)


def _proxy(address: Address) -> SplitResult | None:
    if address.is_here or proxy_bypass(address.host):
        return None
    url = getproxies().get(address.scheme)
    return urlsplit(url if "//" in url else f"//{url}") if url else None


def _proxy_login(proxy: SplitResult) -> dict[str, str]:
    if not proxy.username:
        return {}
    login = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return {"Proxy-Authorization": "Basic " + base64.b64encode(login.encode()).decode()}


def _seconds(value: str | None) -> float:
    """The Retry-After header: seconds or a date."""
    if not value:
        return 0.0
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time())
    except (TypeError, ValueError):
        return 0.0


def _reason(error: Exception) -> str:
    if isinstance(error, http.client.RemoteDisconnected):
        return "it hung up without an answer"
    if isinstance(error, http.client.IncompleteRead):
        return "it hung up in the middle of an answer"
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
