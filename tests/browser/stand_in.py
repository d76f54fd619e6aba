"""A stand-in for Pyodide: its functions, with CPython behind them.

Pyodide's own files come from a CDN. Here the thread of the page posts each cell to a server, which
hands it to a Python that has nothing but the archive and the libraries: page, thread, kernel and
archive are real.
"""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

# Python answers in lines: what the kernel tells while a cell runs, then the value.
PYODIDE = """
const ask = (text) => {
  const asked = new XMLHttpRequest();
  asked.open("POST", "/python", false);
  asked.send(JSON.stringify(text));
  return JSON.parse(asked.responseText);
};
const modules = {};
export const loadPyodide = async () => {
  ask(null);
  return {
    loadPackage: async (names, { messageCallback }) => messageCallback(`Loaded ${names}`),
    unpackArchive: () => {}, FS: { writeFile: () => {} },
    registerJsModule: (name, members) => { modules[name] = members; },
    runPython: (code) => {
      let answer = ask(code);
      for (; "told" in answer; answer = ask("")) modules.page_thread.tell(answer.told);
      return answer.value;
    },
  };
};
"""
# What a cell prints does not reach stdout, the kernel tells it.
PYTHON = """
import ast, json, sys, types
names = {}
say = lambda **answer: print(json.dumps(answer), file=sys.__stdout__, flush=True)
sys.modules["page_thread"] = types.SimpleNamespace(tell=lambda text: say(told=text))
for line in sys.stdin:
    body = ast.parse(json.loads(line)).body
    last = body.pop() if isinstance(body[-1], ast.Expr) else None
    exec(compile(ast.Module(body, []), "asked", "exec"), names)
    say(value=last and eval(compile(ast.Expression(last.value), "asked", "eval"), names))
"""


class Python:
    """One Python process, which sees the archive's packages before any other."""

    def __init__(self, archive: Path) -> None:
        self.archive = archive
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", PYTHON],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=self.archive,
            env={**os.environ, "PYTHONPATH": str(self.archive)},
        )

    def end(self) -> None:
        self.process.kill()
        self.process.wait()

    def answer(self, code: str | None) -> str:
        """The next line for some code, for none ("") the one after; for null a fresh process."""
        if code is None:
            self.end()
            self.start()
            return "{}"
        process = self.process
        assert process.stdin is not None
        assert process.stdout is not None
        if code:
            process.stdin.write(json.dumps(code) + "\n")
            process.stdin.flush()
        return process.stdout.readline()


class Server(SimpleHTTPRequestHandler):
    """Files of a folder, and a Python that runs what is posted."""

    python: Python

    def do_POST(self) -> None:
        code = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = self.python.answer(code).encode()
        with suppress(ConnectionError):  # the page was told to stop
            self.send_response(200)
            self.end_headers()
            self.wfile.write(answer)

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def served(site: Path, *, archive: Path | None = None) -> Iterator[str]:
    """The address of a site, with a Python where an archive for it is named."""
    python = None if archive is None else Python(archive)
    types = {**Server.extensions_map, ".mjs": "text/javascript", ".wasm": "application/wasm"}
    handler = type("Here", (Server,), {"python": python, "extensions_map": types})
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    if python is not None:
        python.end()
