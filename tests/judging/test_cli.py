"""The command line as a stranger meets it."""

import sys
from pathlib import Path

import poe
from judging.practice.cli import main


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"judging {poe.__version__}\n"
    assert Path(poe.__file__).with_name("py.typed").is_file(), "its types are for users too"


def test_without_a_clone_the_papers_numbers_are_missed_in_one_line(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "reproduction", None)
    monkeypatch.delitem(sys.modules, "reproduction.cli", raising=False)
    for command in ("reproduce", "scorecard"):
        assert main([command, "table1"]) == 1
        error = capsys.readouterr().err
        assert error.count("\n") == 1
        assert "clone the repository" in error


def test_interruption_is_quiet(monkeypatch, capsys):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("judging.datasets.overview", interrupted)
    assert main(["data", "list"]) == 130
    assert capsys.readouterr().err == "judging: stopped; nothing was written\n"


def test_data_that_is_not_here_is_named_with_the_command(folder, monkeypatch, capsys):
    monkeypatch.setenv("POE_DATA_DIR", str(folder))
    monkeypatch.setenv("POE_CACHE_DIR", str(folder / "cache"))
    assert main(["data", "list"]) == 0
    assert "judging data fetch summeval" in capsys.readouterr().out
    assert main(["ask", "summeval", "coherence", "--judge", "demo"]) == 1
    assert "judging data fetch summeval" in capsys.readouterr().err


def test_a_shell_completes_commands_and_options(monkeypatch, capsys):
    monkeypatch.setenv("_JUDGING_COMPLETE", "complete_bash")
    for typed, expected in (("judging ra", "rank"), ("judging rank --limit", "--limit-calls")):
        monkeypatch.setenv("COMP_WORDS", typed)
        monkeypatch.setenv("COMP_CWORD", str(len(typed.split()) - 1))
        main([])
        assert capsys.readouterr().out.split() == [expected]
