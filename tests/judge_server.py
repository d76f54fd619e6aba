"""An OpenAI-compatible server on loopback, whose "model" is a distribution made from a hash.

It says nothing about language models: what it answers is a function of the very text that it was
asked, so that a question mixed up or written differently shows. `fault` lets it misbehave.
"""

import gzip
import hashlib
import json
import math
import re
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

LABELS = ("A", "B", "1", "2", "3")
VOCABULARY = [*LABELS, *(f" {label}" for label in LABELS), "a", "AB", " Apple", "Sure", "</s>"]


def chat_text(messages, *, go_on=False):
    """What a chat template makes of a conversation."""
    text = "".join(f"<{m['role']}>{m['content']}<end>" for m in messages)
    return text.removesuffix("<end>") if go_on else text + "<assistant>"


def count_tokens(text):
    """Words and marks."""
    return len(re.findall(r"<\w+>|\w+|\S", text))


def log_probabilities(text):
    """(V,) log-probabilities of the next token of the vocabulary after a text."""
    seed = int(hashlib.sha256(text.encode()).hexdigest()[:12], 16)
    logits = 2.0 * np.random.default_rng(seed).standard_normal(len(VOCABULARY))
    logits[: 2 * len(LABELS)] += 2.0
    logits[[0, 1, len(LABELS), len(LABELS) + 1]] += 3.0
    return logits - np.log(np.exp(logits).sum())


def shares(text, labels=("A", "B")):
    """Probability of each label after a text, with and without a space before it."""
    p = np.exp(log_probabilities(text))
    same = [[k for k, t in enumerate(VOCABULARY) if t.strip() == label] for label in labels]
    return [float(p[which].sum()) for which in same]


@dataclass
class Served:
    """What tests see of the server."""

    url: str
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    most_at_once: int = 0


@contextmanager
def serving(fault=lambda k, body: None, *, delay=0.0):
    """Run the server; `fault(k, body)` says what is wrong with the k-th request, from 0.

    It is the name of a fault, see `_respond`, or the whole body of a reply, as bytes, or `Raw`.
    """
    closing, lock, rng = threading.Event(), threading.Lock(), np.random.default_rng(0)
    under_way = 0

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def log_message(self, *args):
            pass

        def do_POST(self):
            nonlocal under_way
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with lock:
                k = len(served.requests)
                served.requests.append(body)
                served.headers.append(dict(self.headers))
                served.paths.append(self.path)
                under_way += 1
                served.most_at_once = max(served.most_at_once, under_way)
            try:
                time.sleep(delay)
                _respond(self, body, fault(k, body), closing, rng)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True
            finally:
                with lock:
                    under_way -= 1

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.handle_error = lambda *where: None  # the client sees it too
    served = Served(f"http://127.0.0.1:{server.server_port}/v1")
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield served
    finally:
        closing.set()
        server.shutdown()
        thread.join()
        server.server_close()


class Raw(bytes):
    """What goes over the connection as it is, which is closed after it; or piece by piece."""

    pieces: tuple[bytes, ...] = ()


def _respond(handler, body, fault, closing, rng):
    if isinstance(fault, Raw):
        handler.close_connection = True
        for piece in fault.pieces:
            handler.wfile.write(piece)
            if closing.wait(0.1):
                return None
        return handler.wfile.write(fault)
    if isinstance(fault, bytes):
        return _send(handler, 200, "application/json", fault)
    name, _, detail = (fault or "").partition(":")
    key = handler.headers.get("Authorization", "")
    if name == "hang":
        closing.wait(30)
        handler.close_connection = True
    elif name in ("drip", "endless"):
        handler.send_response(200)
        handler.send_header("Content-Length", str(10**10))
        handler.end_headers()
        while not closing.wait(0.02 if name == "drip" else 0):
            handler.wfile.write(b" " * (1 if name == "drip" else 10**6))
            handler.wfile.flush()
    elif name == "hangup":
        handler.close_connection = True
        handler.connection.shutdown(2)
    elif name == "html":
        _send(handler, 200, "text/html", b"<!doctype html><html>Please log in</html>")
    elif fault == "422-logprobs":  # as `transformers serve` refuses
        detail = {"detail": "Unsupported fields in the request: {'logprobs', 'top_logprobs'}"}
        _send(handler, 422, "application/json", json.dumps(detail).encode())
    elif name.isdigit():
        header = ("Location" if name[0] == "3" else "Retry-After") if detail else None
        message = {"error": {"message": f"you sent {key}, and \x1b[31m" + "x" * 200}}
        content = json.dumps(message).encode()
        _send(handler, int(name), "application/json", content, {header: detail} if header else {})
    else:
        found = complete(body, rng, name, detail)
        _send(handler, 200, "application/json", json.dumps(found).encode())


def _send(handler, status, kind, content, headers=()):
    headers = {"Content-Type": kind, "Content-Length": str(len(content)), **dict(headers)}
    handler.send_response(status)
    handler.send_header("X-Echo", handler.headers.get("Authorization", ""))
    for name, value in headers.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(content)


def complete(body, rng, fault="", detail=""):
    """The reply to a request."""
    text = chat_text(body["messages"], go_on=body.get("continue_final_message"))
    log_p = log_probabilities(text)
    if fault == "neither":
        log_p[: 2 * len(LABELS)] = -40.0
    count = 1 if fault == "one-choice" else body.get("n") or 1
    if body.get("temperature"):
        chosen = rng.choice(len(log_p), count, p=np.exp(log_p) / np.exp(log_p).sum()).tolist()
    else:
        chosen = [int(log_p.argmax())] * count
    wanted = 0 if fault == "no-logprobs" else body.get("top_logprobs", 0)
    top = np.argsort(-log_p)[:wanted].tolist()
    choices = [_choice(log_p, token, top) for token in chosen]
    usage = {"prompt_tokens": count_tokens(text), "completion_tokens": len(chosen)}
    found = {"model": detail if fault == "model" else f"{body['model']}-served", "choices": choices}
    return found if fault == "no-usage" else found | {"usage": usage}


def _choice(log_p, token, top):
    def entry(t):
        return {"token": VOCABULARY[t], "logprob": float(log_p[t])}

    likely = {"content": [entry(token) | {"top_logprobs": list(map(entry, top))}]}
    message = {"role": "assistant", "content": VOCABULARY[token]}
    return {"message": message, "logprobs": likely if top else None}


def reply(token="A", logprob=-0.5, **fields):
    """A sound reply of a chat server as bytes, with fields of one's own."""
    entry = {"token": token, "logprob": logprob, "top_logprobs": []}
    choice = {"logprobs": {"content": [entry]}}
    found = {"model": "tiny-served", "choices": [choice], "usage": {"prompt_tokens": 9}}
    return json.dumps(found | fields).encode()


def logprobs(given):
    """A reply whose log-probabilities are anything."""
    return reply(choices=[{"logprobs": given}])


def nested(depth):
    """JSON of lists in lists."""
    return ("[" * depth + "1" + "]" * depth).encode()


def _raw(head, content=b"", length=None):
    length = len(content) if length is None else length
    return Raw(f"HTTP/1.1 {head}\r\nContent-Length: {length}\r\n\r\n".encode() + content)


SOUND = reply()
CERTAIN = [{"token": str(k), "logprob": -0.1} for k in range(3)]  # 90% each
BODIES = {  # whole bodies of replies with status 200
    **{f"log-probability {v!r:.9}": reply(logprob=v) for v in (math.nan, math.inf, 3.0, 10**400)},
    **{f"log-probability {v!r}": reply(logprob=v) for v in ("much", "-0.5", [], None, True, {})},
    **{f"token {v!r}": reply(token=v) for v in (None, 7, ["A"], {})},
    **{f"content {v!r:.20}": logprobs({"content": v}) for v in ({"a": 1}, [{"token": "A"}], [7])},
    "three certainties": logprobs({"content": [{**CERTAIN[0], "top_logprobs": CERTAIN}]}),
    "likeliest is a number": logprobs({"content": [{**CERTAIN[0], "top_logprobs": 7}]}),
    "empty": b"",
    "truncated": SOUND[:70],
    "not UTF-8": b"\xff\xfe",
    "a list": b"[1]",
    "a string": b'"A"',
    "null": b"null",
    "a number of 5,000 digits": b"7" * 5000,
    "100,000 lists": nested(100_000),
    "900 lists as an error": b'{"error": ' + nested(900) + b"}",
    "900 lists as a choice": b'{"choices": ' + nested(900) + b"}",
    "an error": b'{"error": {"message": "overloaded"}}',
    "an error that is a list": b'{"error": ["overloaded", 7]}',
    "an error of a megabyte": json.dumps({"error": "x" * 2**20}).encode(),
    "no choices": b"{}",
    **{f"choices {v}": f'{{"choices": {v}}}'.encode() for v in ("[]", "[null]", "7", "[[]]", "{}")},
    "a choice alone": b'{"choices": [{}]}',
    "two replies": SOUND + SOUND,
    "events": b"data: " + SOUND + b"\n\ndata: [DONE]\n\n",
}
STATUSES = (
    *(201, 202, 206, 301, 302, 303, 400, 401, 402, 403, 404, 405, 406, 408, 409, 410, 411, 413),
    *(415, 418, 421, 422, 423, 425, 429, 431, 451, 500, 501, 502, 503, 504, 505, 507, 511, 520),
    *(522, 524, 529, 599, 600, 999),
)
WAITS = ("0", "-5", "nan", "inf", "1e400", "soon", "Wed, 21 Oct 2065 07:28:00 GMT")
MODES = {  # name of a fault to what `serving` takes
    **BODIES,
    **{f"status {status}": str(status) for status in STATUSES},
    **{f"busy, Retry-After: {wait}": f"503:{wait}" for wait in WAITS},
    "a redirect to nowhere": "307:http://127.0.0.1:9/",
    **{name: name for name in ("hang", "drip", "endless", "hangup", "html", "no-logprobs")},
    "logprobs refused": "422-logprobs",
    "another model": "model:other",
    "no content": Raw(b"HTTP/1.1 204 No Content\r\n\r\n"),
    "no HTTP": Raw(b"SSH-2.0-OpenSSH_9.6\r\n"),
    "HTTP/0.9": Raw(SOUND),
    "half a status line": Raw(b"HTTP/1."),
    "a status of letters": Raw(b"HTTP/1.1 OK 200\r\n\r\n"),
    "a header without a colon": Raw(b"HTTP/1.1 200 OK\r\nContent\r\n\r\n" + SOUND),
    "a megabyte of headers": Raw(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200_000),
    "a length of letters": _raw("200 OK", SOUND, "many"),
    "a negative length": _raw("200 OK", SOUND, -1),
    "too long a length": _raw("200 OK", SOUND, len(SOUND) + 9),
    "too short a length": _raw("200 OK", SOUND, len(SOUND) - 9),
    "broken chunks": Raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nA\r\n"),
    "half a chunk": Raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nA"),
    "not gzip": _raw("200 OK\r\nContent-Encoding: gzip", SOUND),
    "half of a gzip": _raw("200 OK\r\nContent-Encoding: gzip", gzip.compress(SOUND)[:50]),
    "a gzip of 32 MB": _raw("200 OK\r\nContent-Encoding: gzip", gzip.compress(bytes(2**25), 1)),
    "an unknown encoding": _raw("200 OK\r\nContent-Encoding: rot13", b"\xff" + SOUND),
    "100 for ever": Raw(b"HTTP/1.1 100 Continue\r\n\r\n" * 1000),
}
