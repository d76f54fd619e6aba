"""The command line as a stranger meets it."""

import subprocess
import sys

import pandas as pd
import pytest

import poe
from poe.cli import main


def test_no_command_shows_help(capsys):
    assert main([]) == 2
    assert "reproduce" in capsys.readouterr().out


def test_version(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["--version"])
    assert stopped.value.code == 0
    assert capsys.readouterr().out == f"poe {poe.__version__}\n"


def test_reproduce_on_the_stand_in(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("reproduction.sweep.BLOCK", 2)
    arguments = ["reproduce", "table1", "--labels", "stand-in", "--draws", "2", "--quiet"]
    assert main([*arguments, "--out", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "twins of the judges on stand-in labels" in out
    assert "inputs differ 50" in out
    assert "Mean absolute difference" not in out, "means nothing on invented labels"
    assert len(pd.read_csv(tmp_path / "stand-in" / "table1.csv")) == 50


def test_progress_bar_goes_to_the_error_stream(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("reproduction.sweep.BLOCK", 2)
    arguments = ["reproduce", "table1", "--labels", "stand-in", "--draws", "2"]
    assert main([*arguments, "--out", str(tmp_path)]) == 0
    streams = capsys.readouterr()
    assert "40/40" in streams.err
    assert "40/40" not in streams.out


def test_mistakes_name_the_choices(capsys):
    for arguments, message in (
        (["reproduce", "tabel1"], "did you mean table1"),
        (["reproduce", "comparative-table4"], "comparative-table"),
        (["reproduce", "everything"], "there are all, table1 and more"),
        (["reproduce", "table1", "--draws", "0"], "at least 1"),
        (["data", "fetch", "sumeval"], "summeval"),
    ):
        with pytest.raises(SystemExit) as stopped:
            main(arguments)
        assert stopped.value.code == 2
        assert message in capsys.readouterr().err


def test_interruption_is_quiet(monkeypatch, capsys):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("reproduction.sweep.run_blocks", interrupted)
    assert main(["reproduce", "table1"]) == 130
    assert "stopped" in capsys.readouterr().err


def test_a_reader_that_has_seen_enough_is_no_error(folder):
    """As in `poe prompts | head -1`: no message, and the status of a broken pipe."""
    running = subprocess.Popen(
        [sys.executable, "-m", "poe.cli", "prompts"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    running.stdout.close()
    assert running.stderr.read() == b""
    assert running.wait() == 141


@pytest.mark.parametrize("number", ["-1", "x", "1.5"])
def test_a_seed_is_a_whole_number(capsys, number):
    with pytest.raises(SystemExit):
        main(["rank", "t.csv", "--attribute", "clearer", "--judge", "demo", "--seed", number])
    shown = capsys.readouterr().err.splitlines()
    assert len(shown) == 2, "the usage in one line, then the mistake"
    assert f"--seed: a whole number of at least 0, not '{number}'" in shown[1]


def test_cells_of_a_table_that_is_not_there(capsys):
    assert main(["scorecard", "--cells", "table99"]) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "no table 'table99'; there are table1, table2" in shown.err


def test_data_list_says_where_to_get_them(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("POE_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("POE_CACHE_DIR", str(tmp_path / "cache"))
    assert main(["data", "list"]) == 0
    assert "poe data fetch summeval" in capsys.readouterr().out
