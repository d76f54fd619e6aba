"""Downloads against a small server on this machine that misbehaves as told."""

import dataclasses
import hashlib
import http.server
import json
import re
import socket
import sys
import threading

import numpy as np
import pytest

from poe import datasets
from poe.datasets.downloading import download
from poe.datasets.files import cached_path

PAYLOAD = np.random.default_rng(11).bytes(200_000)
HALF = 100_000


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves `server.payload` with Range support, one step of `server.plan` a request."""

    def do_GET(self):
        wanted = self.headers.get("Range")
        self.server.ranges.append(wanted)
        step = self.server.plan.pop(0) if self.server.plan else "serve"
        getattr(self, step.replace(" ", "_"))(wanted)

    def serve(self, wanted, *, stop=None, heed_range=True, shift=0):
        body = self.server.payload
        start = 0
        if wanted and heed_range:
            start = int(re.fullmatch(r"bytes=(\d+)-", wanted).group(1)) + shift
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        else:
            self.send_response(200)
        self.send_header("Content-Type", "application/octet-stream")
        self.send_header("Content-Length", str(len(body) - start))
        self.end_headers()
        self.wfile.write(body[start:stop])

    def break_off(self, wanted):
        self.serve(wanted, stop=HALF)

    def ignore_range(self, wanted):
        self.serve(wanted, heed_range=False)

    def other_piece(self, wanted):
        self.serve(wanted, shift=7)

    def not_found(self, wanted):
        self.send_error(404)

    def busy(self, wanted):
        self.send_error(503)

    def no_such_range(self, wanted):
        self.send_error(416)

    def hang_up(self, wanted):
        self.connection.shutdown(socket.SHUT_RDWR)

    def stall(self, wanted):
        self.server.over.wait(10)

    def log_in_page(self, wanted):
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(b"<html>please log in</html>")

    def log_message(self, *arguments):
        pass


@pytest.fixture
def server():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        running.payload, running.plan, running.ranges = PAYLOAD, [], []
        running.over = threading.Event()
        running.daemon_threads = True
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.over.set()
        running.shutdown()
        thread.join(timeout=10)


@pytest.fixture
def entry(server, monkeypatch, tmp_path):
    """The entry of TopicalChat, pointed at the server; fetch and load use it."""
    made = entry_for(f"http://127.0.0.1:{server.server_port}/file.json", PAYLOAD)
    use(made, monkeypatch, tmp_path)
    return made


def entry_for(url, data):
    entry = datasets.info("topicalchat")
    file = dataclasses.replace(
        entry.main, url=url, sha256=hashlib.sha256(data).hexdigest(), size=len(data)
    )
    return dataclasses.replace(entry, files=(file,))


def use(made, monkeypatch, tmp_path):
    for name in ("POE_DATA_DIR", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("POE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(datasets, "info", lambda name: made)


@pytest.fixture
def pauses(monkeypatch):
    """The waits that were asked for, in seconds; none is waited."""
    asked = []

    def patient(file, target, **options):
        download(file, target, pause=asked.append, **options)

    monkeypatch.setattr(datasets, "download", patient)
    return asked


def folder(entry):
    return sorted(path.name for path in cached_path(entry.main).parent.iterdir())


def part(entry):
    path = cached_path(entry.main)
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.with_name(path.name + ".part")


def test_a_download_is_verified_and_put_into_the_cache(server, entry, pauses):
    path = datasets.fetch("topicalchat")
    assert path == cached_path(entry.main)
    assert path.read_bytes() == PAYLOAD
    assert folder(entry) == ["topical_chat.json", "topical_chat.json.NOTICE.txt"]
    notice = path.with_name("topical_chat.json.NOTICE.txt").read_text(encoding="utf-8")
    assert "MIT License, Copyright (c) 2022 Ming Zhong" in notice
    assert "Permission is hereby granted" in notice
    assert datasets.available("topicalchat") == path
    datasets.fetch("topicalchat")
    assert server.ranges == [None]  # the second call asked for nothing
    assert pauses == []


def test_a_damaged_copy_in_the_cache_is_replaced(server, entry, pauses):
    path = cached_path(entry.main)
    path.parent.mkdir(parents=True)
    path.write_bytes(PAYLOAD[:-1])
    assert datasets.fetch("topicalchat").read_bytes() == PAYLOAD
    assert server.ranges == [None]


def test_a_truncated_download_is_resumed(server, entry, pauses):
    server.plan = ["break off"]
    assert datasets.fetch("topicalchat").read_bytes() == PAYLOAD
    assert server.ranges == [None, f"bytes={HALF}-"]
    assert pauses == [1.0]


def test_a_server_without_range_support_sends_it_all_again(server, entry, pauses):
    server.plan = ["break off", "ignore range"]
    assert datasets.fetch("topicalchat").read_bytes() == PAYLOAD
    assert server.ranges == [None, f"bytes={HALF}-"]


def test_what_an_earlier_call_left_is_used(server, entry, pauses):
    server.plan = ["break off", "busy", "busy", "busy"]
    with pytest.raises(datasets.DownloadError, match="HTTP status 503; 4 attempts"):
        datasets.fetch("topicalchat")
    assert pauses == [1.0, 2.0, 4.0]
    assert part(entry).read_bytes() == PAYLOAD[:HALF]
    assert datasets.available("topicalchat") is None
    assert datasets.fetch("topicalchat").read_bytes() == PAYLOAD
    assert server.ranges[-1] == f"bytes={HALF}-"
    assert not part(entry).exists()


def test_a_part_that_is_complete_needs_no_request(server, entry, pauses):
    part(entry).write_bytes(PAYLOAD)
    assert datasets.fetch("topicalchat").read_bytes() == PAYLOAD
    assert server.ranges == []


@pytest.mark.parametrize(
    "left",
    [b"x" * 50, b"x" * len(PAYLOAD), b"x" * (len(PAYLOAD) + 1)],
    ids=["short", "complete", "too long"],
)
def test_a_part_that_is_wrong_is_thrown_away(server, entry, pauses, left):
    part(entry).write_bytes(left)
    assert datasets.fetch("topicalchat").read_bytes() == PAYLOAD
    assert server.ranges[-1] is None


@pytest.mark.parametrize("answer", ["no such range", "other piece"])
def test_a_server_that_cannot_resume_is_asked_for_everything(server, entry, pauses, answer):
    part(entry).write_bytes(PAYLOAD[:HALF])
    server.plan = [answer]
    assert datasets.fetch("topicalchat").read_bytes() == PAYLOAD
    assert server.ranges == [f"bytes={HALF}-", None]


@pytest.mark.parametrize("trouble", ["busy", "hang up"])
def test_passing_trouble_is_waited_out(server, entry, pauses, trouble):
    server.plan = [trouble, trouble, trouble]
    assert datasets.fetch("topicalchat").read_bytes() == PAYLOAD
    assert pauses == [1.0, 2.0, 4.0]


def test_a_server_that_stalls_is_given_up_on(server, entry):
    server.plan = ["stall"]
    download(entry.main, cached_path(entry.main), timeout=0.2, pause=lambda seconds: None)
    assert cached_path(entry.main).read_bytes() == PAYLOAD
    assert len(server.ranges) == 2


@pytest.mark.parametrize("change", ["one byte", "longer"])
def test_a_corrupted_download_names_both_checksums(server, entry, pauses, change):
    server.payload = b"?" + PAYLOAD[1:] if change == "one byte" else PAYLOAD + b"more"
    with pytest.raises(datasets.DownloadError) as caught:
        datasets.fetch("topicalchat")
    message = str(caught.value)
    assert f"expected sha256 {entry.sha256} ({len(PAYLOAD)} bytes)" in message
    seen = server.payload[: len(PAYLOAD)] if change == "one byte" else None
    if seen:
        assert f"got {hashlib.sha256(seen).hexdigest()}" in message
    else:
        assert f"more than {len(PAYLOAD)} bytes" in message
    assert folder(entry) == []  # nothing is left to be taken for the file
    assert server.ranges == [None]


@pytest.mark.parametrize(
    ("answer", "message"),
    [("not found", "HTTP status 404"), ("log in page", "a web page instead of the file")],
)
def test_a_refusal_is_final_and_says_what_came(server, entry, pauses, answer, message):
    server.plan = [answer]
    with pytest.raises(
        datasets.DownloadError, match=rf"file\.json answered with {message}; .*moved.*proxy"
    ):
        datasets.fetch("topicalchat")
    assert len(server.ranges) == 1
    assert pauses == []
    assert datasets.available("topicalchat") is None


def closed_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_no_network_says_what_can_be_done(monkeypatch, tmp_path, pauses):
    made = entry_for(f"http://127.0.0.1:{closed_port()}/file.json", PAYLOAD)
    use(made, monkeypatch, tmp_path)
    with pytest.raises(datasets.DownloadError) as caught:
        datasets.load("topicalchat")
    message = str(caught.value)
    assert "topicalchat: http://127.0.0.1" in message
    assert "no connection" in message
    assert "set POE_DATA_DIR to a folder that holds topicalchat/topical_chat.json" in message
    assert 'source="stand-in"' in message
    assert "poe.datasets.fetch('topicalchat') on another machine" in message
    assert message.endswith(str(tmp_path / "cache" / "topicalchat" / "topical_chat.json"))
    assert pauses == [1.0, 2.0, 4.0]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/dev/full is Linux's")
def test_a_full_disk(server, entry, pauses):
    part(entry).symlink_to("/dev/full")
    with pytest.raises(
        datasets.DownloadError, match=r"the disk is full\); it needs 0\.2 MB.*POE_CACHE_DIR"
    ):
        datasets.fetch("topicalchat")
    assert datasets.available("topicalchat") is None


def test_a_cache_that_cannot_be_written_to(server, entry, pauses, monkeypatch, tmp_path):
    (tmp_path / "occupied").write_text("a file where the folder should be")
    monkeypatch.setenv("POE_CACHE_DIR", str(tmp_path / "occupied"))
    with pytest.raises(
        datasets.DownloadError, match=r"cannot store the file at .*occupied.*set POE_CACHE_DIR"
    ):
        datasets.fetch("topicalchat")
    assert server.ranges == []


def dialogues():
    """A file of TopicalChat's layout and size with the stand-in's content."""
    made = datasets.load("topicalchat", source="stand-in")
    attributes = datasets.info("topicalchat").attributes
    items = [
        {
            "source": made.contexts[c],
            "system_id": made.candidate_ids[n],
            "system_output": made.texts[c][n],
            "scores": {a.field: made.scores[a.name][c, n] for a in attributes},
        }
        for c in range(made.n_contexts)
        for n in range(made.n_candidates)
    ]
    return made, json.dumps(items).encode()


def test_load_downloads_once_and_then_reads_the_cache(server, monkeypatch, tmp_path, pauses):
    made, server.payload = dialogues()
    server.plan = ["break off"]
    use(
        entry_for(f"http://127.0.0.1:{server.server_port}/file.json", server.payload),
        monkeypatch,
        tmp_path,
    )
    first = datasets.load("topicalchat")
    assert first.source == "real"
    assert first.texts == made.texts
    for attribute in made.attributes:
        np.testing.assert_array_equal(first.scores[attribute], made.scores[attribute])
    assert len(server.ranges) == 2
    assert datasets.load("topicalchat", source="auto").source == "real"
    assert len(server.ranges) == 2


def test_a_data_folder_that_lacks_the_file_is_not_mended_by_the_network(
    server, entry, pauses, monkeypatch, tmp_path
):
    (tmp_path / "data").mkdir()
    monkeypatch.setenv("POE_DATA_DIR", str(tmp_path / "data"))
    with pytest.raises(datasets.DataNotFoundError, match="POE_DATA_DIR lacks its file"):
        datasets.load("topicalchat")
    assert server.ranges == []


@pytest.fixture
def several(server, monkeypatch, tmp_path):
    """The recording of PandaLM with its three files on the server, which serves one content."""
    use(entry_for("", PAYLOAD), monkeypatch, tmp_path)
    made = datasets.recording("pandalm")
    files = [
        dataclasses.replace(
            file,
            url=f"http://127.0.0.1:{server.server_port}/{file.role}",
            sha256=hashlib.sha256(PAYLOAD).hexdigest(),
            size=len(PAYLOAD),
        )
        for file in made.files
    ]
    made = dataclasses.replace(made, files=tuple(files))
    monkeypatch.setattr(datasets, "recording", lambda name: made)
    return made


def test_all_files_of_a_recording_are_fetched_once(server, several, pauses):
    assert datasets.fetch("pandalm") == cached_path(several.main)
    assert len(server.ranges) == 3
    for file in several.files:
        path = cached_path(file)
        assert path.read_bytes() == PAYLOAD
        notice = path.with_name(path.name + ".NOTICE.txt").read_text(encoding="utf-8")
        assert "Apache License" in notice
        assert file.url in notice
    datasets.fetch("pandalm")
    assert len(server.ranges) == 3
    # One that is lost comes back alone.
    cached_path(several.files[2]).unlink()
    assert set(datasets.locate(several)) == {"pairs", "gpt-3.5-turbo", "pandalm-7b"}
    assert len(server.ranges) == 4


def test_an_optional_file_is_fetched_when_asked_and_not_waited_for(
    server, several, pauses, monkeypatch
):
    one, *_, last = several.files
    made = dataclasses.replace(several, files=(one, dataclasses.replace(last, optional=True)))
    monkeypatch.setattr(datasets, "recording", lambda name: made)
    assert set(datasets.locate(made)) == {"pairs"}
    assert len(server.ranges) == 1
    datasets.fetch("pandalm")
    assert set(datasets.locate(made)) == {"pairs", "pandalm-7b"}
