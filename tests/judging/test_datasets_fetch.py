"""Downloads against a small server on this machine that misbehaves as told."""

import dataclasses
import hashlib
import http.server
import socket
import threading

import pytest

from judging import datasets
from judging.datasets import files

PAYLOAD = bytes(range(256)) * 800


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves `PAYLOAD`, or what `server.plan` says for the next request."""

    def do_GET(self):
        self.server.requests += 1
        status, body, length = self.server.plan.pop(0) if self.server.plan else (200, PAYLOAD, None)
        self.send_response(status)
        self.send_header("Content-Length", str(length or len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


@pytest.fixture
def server():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        running.plan, running.requests = [], 0
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join(timeout=10)


@pytest.fixture
def file(server, monkeypatch, tmp_path):
    """The file of TopicalChat, pinned at the server."""
    for name in ("POE_DATA_DIR", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("POE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    return pin(monkeypatch, f"http://127.0.0.1:{server.server_port}/file.json")


def pin(monkeypatch, url):
    entry = datasets.info("topicalchat")
    found = hashlib.sha256(PAYLOAD).hexdigest()
    file = dataclasses.replace(entry.main, url=url, sha256=found, size=len(PAYLOAD))
    changed = dataclasses.replace(entry, files=(file,))
    monkeypatch.setattr(files, "info", lambda name: changed)
    return file


def test_a_download_is_verified_and_has_its_notice_beside_it(server, file):
    path = datasets.fetch("topicalchat")
    assert path == datasets.cache_dir() / "topicalchat" / "topical_chat.json"
    assert path.read_bytes() == PAYLOAD
    notice = path.with_name("topical_chat.json.NOTICE.txt").read_text(encoding="utf-8")
    assert "MIT License, Copyright (c) 2022 Ming Zhong" in notice
    assert "Permission is hereby granted" in notice
    assert files.read(file) == PAYLOAD
    datasets.fetch("topicalchat")
    assert server.requests == 1  # the second call asked for nothing
    path.write_bytes(PAYLOAD[:-1])
    with pytest.raises(
        datasets.InvalidDataError, match="delete it and get it: judging data fetch topicalchat"
    ):
        files.read(file)
    assert datasets.fetch("topicalchat").read_bytes() == PAYLOAD  # the damaged copy is replaced


def test_passing_trouble_is_tried_again(server, file):
    server.plan = [(503, b"busy", None), (200, PAYLOAD[:1000], len(PAYLOAD)), (200, b"half", None)]
    assert datasets.fetch("topicalchat").read_bytes() == PAYLOAD
    assert server.requests == 4


def test_what_is_not_the_pinned_file_is_refused(server, file):
    server.plan = [(200, b"<html>please log in</html>", None)] * 4
    with pytest.raises(datasets.DownloadError) as caught:
        datasets.fetch("topicalchat")
    message = str(caught.value)
    assert file.sha256 in message
    assert hashlib.sha256(b"<html>please log in</html>").hexdigest() in message
    assert "log-in page" in message
    # Nothing is left to be taken for the file.
    assert list((datasets.cache_dir() / "topicalchat").iterdir()) == []


def test_no_server_and_no_network_say_what_can_be_done(server, file, monkeypatch):
    server.plan = [(404, b"", None)] * 4
    with pytest.raises(datasets.DownloadError, match=r"404.*file\.json.*without a network, put"):
        datasets.fetch("topicalchat")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    pin(monkeypatch, f"http://127.0.0.1:{port}/file.json")
    with pytest.raises(datasets.DownloadError) as caught:
        datasets.fetch("topicalchat")
    for part in ("could not be downloaded", "POE_DATA_DIR", str(datasets.cache_dir())):
        assert part in str(caught.value)
