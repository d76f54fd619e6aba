"""A pickle can run anything; ours is read so that it cannot."""

import copyreg
import datetime
import io
import os
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from poe.datasets import InvalidDataError, info
from poe.datasets.originals import parse
from poe.datasets.safe_pickle import PlainUnpickler, load_plain


class Payload:
    """Unpickling it runs a shell command."""

    def __init__(self, command):
        self.command = command

    def __reduce__(self):
        return os.system, (self.command,)


@pytest.fixture
def marker(tmp_path):
    return tmp_path / "it-ran"


@pytest.mark.parametrize("protocol", range(6))
def test_a_shell_command_does_not_run(marker, protocol):
    data = pickle.dumps({"doc": Payload(f"echo x > {marker}")}, protocol=protocol)
    with pytest.raises(InvalidDataError, match=r"would reach outside plain data"):
        load_plain(data, what="data.pkl")
    with pytest.raises(InvalidDataError, match="delete it and fetch the dataset again"):
        parse(info("summeval"), data)
    assert not marker.exists()
    # The control: read the usual way the same bytes do run it.
    pickle.loads(data)
    assert marker.exists()


def test_the_unpickler_alone_refuses_too(marker, tmp_path):
    """The check of the instructions is one lock, the unpickler behind it another."""
    data = pickle.dumps(Payload(f"echo x > {marker}"))
    with pytest.raises(InvalidDataError, match=r"refers to \w+\.system"):
        PlainUnpickler(io.BytesIO(data)).load()
    assert not marker.exists()


def test_harmless_classes_are_refused_as_well():
    with pytest.raises(InvalidDataError, match="would reach outside plain data"):
        load_plain(pickle.dumps({"when": datetime.date(2024, 1, 1)}))


def test_an_extension_code_is_refused_even_when_cached():
    code = 241
    copyreg.add_extension("datetime", "date", code)
    try:
        data = pickle.dumps(datetime.date, protocol=2)
        assert pickle.loads(data) is datetime.date  # now it is in the process-wide cache
        with pytest.raises(InvalidDataError, match="EXT1"):
            load_plain(data)
    finally:
        copyreg.remove_extension("datetime", "date", code)


def test_a_persistent_reference_is_refused():
    with pytest.raises(InvalidDataError, match="PERSID"):
        load_plain(b"Psomewhere\n.")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"<!DOCTYPE html><html></html>",
        pickle.dumps({"a": ["text"] * 9})[:-5],
        b"\x80\x02}q\x00(X\xff\xff\xff\x7fabc",
        b"\x80\x02h\x07.",  # a memo entry that was never made
        b"\x80\x02]}s.",  # an item set without a value
        b"\x80\x02}(]K\x01u.",  # a list as a key
    ],
)
def test_damaged_files_are_called_damaged(data):
    with pytest.raises(InvalidDataError, match=r"data\.pkl is damaged|was refused"):
        load_plain(data, what="data.pkl")


def test_an_absurd_memo_index_reserves_no_memory():
    with pytest.raises(InvalidDataError, match="memo index 4294967295"):
        load_plain(b"\x80\x02]r\xff\xff\xff\xff.")


def test_too_large_a_file_is_not_read(monkeypatch):
    monkeypatch.setattr("poe.datasets.safe_pickle.MAX_BYTES", 10)
    with pytest.raises(InvalidDataError, match="more than 10"):
        load_plain(pickle.dumps(["a text longer than that"]))


PLAIN = st.recursive(
    st.text() | st.floats(allow_nan=False) | st.integers(-(2**31), 2**31 - 1) | st.booleans(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@settings(deadline=None)
@given(value=PLAIN, protocol=st.integers(0, 5))
def test_plain_data_come_back_as_they_were(value, protocol):
    assert load_plain(pickle.dumps(value, protocol=protocol)) == value
