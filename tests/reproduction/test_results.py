"""Stored results: what a table is after it was written, and what the index says of it."""

import multiprocessing
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from reproduction import results
from reproduction.targets import TARGETS, Target


def written(out: Path, name: str, value: float = 1.0) -> None:
    results.write(pd.DataFrame({"id": [name], "value": [value]}), Target(name), {"seed": 0}, out)


def many(out: Path, start: int) -> None:
    for k in range(start, start + 10):
        written(out, f"target{k}")


def test_a_table_comes_back_with_four_decimals(tmp_path):
    table = pd.DataFrame({"k": [3, 4], "value": [np.pi, np.nan], "method": ["a, b", 'say "c"']})
    path = results.write(table, Target("one"), {"seed": 0}, tmp_path)
    assert path == tmp_path / "one.csv"
    pd.testing.assert_frame_equal(
        results.read("one", tmp_path), table.assign(value=[3.1416, np.nan])
    )
    assert results.printed("one", tmp_path).to_numpy().tolist() == [
        ["3", "3.1416", "a, b"],
        ["4", "", 'say "c"'],
    ]
    assert results.read("two", tmp_path) is None


def test_tables_of_one_file_keep_their_columns_and_their_order(tmp_path):
    """One after another, in any order and again: each is as if it lay by itself."""
    tables = {
        "figure1a": pd.DataFrame({"panel": ["x"], "k": [3], "value": [0.25], "draws": [1]}),
        "table2": pd.DataFrame({"k": ["all"], "se": [np.nan], "value": [1.0], "draws": [2]}),
        "table1": pd.DataFrame({"id": ["say", "so"], "value": [2.0, 3.0], "draws": [1, 1]}),
    }
    for name in (*tables, "figure1a"):
        path = results.write(tables[name], Target(name, file="paper"), {"seed": 0}, tmp_path)
        assert path == tmp_path / "paper.csv"
    for name, table in tables.items():
        pd.testing.assert_frame_equal(results.read(name, tmp_path), table)
    assert path.read_text().splitlines() == [
        "target,id,value,k,se,panel,draws",
        "table1,say,2.0000,,,,1",
        "table1,so,3.0000,,,,1",
        "table2,,1.0000,all,,,2",
        "figure1a,,0.2500,3,,x,1",
    ]
    results.write(tables["table1"][:1], Target("table1", file="paper"), {"seed": 0}, tmp_path)
    assert len(path.read_text().splitlines()) == 4


def test_the_index_changes_where_a_target_was_made(tmp_path):
    for name in ("b", "c", "a"):
        written(tmp_path, name)
    results.write_whole({"made": 3}, tmp_path)
    before = (tmp_path / results.INDEX).read_text().splitlines()
    results.write(pd.DataFrame({"id": ["b"], "value": [2.0]}), Target("b"), {"seed": 7}, tmp_path)
    after = (tmp_path / results.INDEX).read_text().splitlines()
    assert len(before) == len(after)
    assert [b for a, b in zip(before, after, strict=True) if a != b] == ['  "seed": 7']
    assert list(results.index(tmp_path)) == ["a", results.WHOLE, "b", "c"]
    assert list(results.descriptions(tmp_path)) == ["a", "b", "c"]


def test_what_is_interrupted_is_not_in_the_index(tmp_path, monkeypatch):
    written(tmp_path, "one")
    monkeypatch.setattr(results.machine, "write", interrupted(results.machine.write))
    with pytest.raises(KeyboardInterrupt):
        written(tmp_path, "one", 2.0)
    assert "one" not in results.index(tmp_path)


def interrupted(write):
    """Writes the index and no table."""

    def part(path, content):
        if path.suffix == ".csv":
            raise KeyboardInterrupt
        write(path, content)

    return part


def test_processes_that_write_at_the_same_time_lose_nothing(tmp_path):
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=many, args=(tmp_path, 10 * k)) for k in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(results.index(tmp_path)) == 20


def test_each_committed_table_is_in_the_index_and_each_block_has_its_table():
    blocks = results.descriptions()
    assert set(TARGETS) <= set(blocks)
    for name, block in blocks.items():
        table = results.printed(name)
        assert list(table) == block["columns"], name
        assert len(table), name
        assert name not in TARGETS or TARGETS[name].file == block["file"]
    files = {path.name for path in results.folder().iterdir()}
    assert not [name for name in files if name.endswith((".part", ".lock"))]
