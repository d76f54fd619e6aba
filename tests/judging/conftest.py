"""The command `judging`, as tests of any of its parts run it."""

import pytest


@pytest.fixture
def run(capsys, monkeypatch):
    """The command with some arguments: its status, what it prints, and what it complains of."""
    from judging.practice.cli import main

    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    def run(*given):
        status = main([*map(str, given)])
        return (status, *capsys.readouterr())

    return run
