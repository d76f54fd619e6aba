"""A pickle can run anything; ours is read so that it cannot."""

import copyreg
import datetime
import io
import os
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judging.datasets import InvalidDataError, info
from judging.datasets.originals import PlainUnpickler, load_plain, parse


class Payload:
    """Unpickling it runs a shell command."""

    def __init__(self, command):
        self.command = command

    def __reduce__(self):
        return os.system, (self.command,)


@pytest.mark.parametrize("protocol", range(6))
def test_a_shell_command_does_not_run(tmp_path, protocol):
    marker = tmp_path / "it-ran"
    data = pickle.dumps({"doc": Payload(f"echo x > {marker}")}, protocol=protocol)
    for read in (load_plain, lambda data: parse(info("summeval"), data)):
        with pytest.raises(InvalidDataError, match="would reach outside plain data"):
            read(data)
    # The check of the instructions is one lock, the unpickler behind it another.
    with pytest.raises(InvalidDataError, match=r"refers to \w+\.system"):
        PlainUnpickler(io.BytesIO(data)).load()
    assert not marker.exists()
    # The control: read the usual way the same bytes do run it.
    pickle.loads(data)
    assert marker.exists()


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


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (pickle.dumps({"when": datetime.date(2024, 1, 1)}), "outside plain data"),
        (b"Psomewhere\n.", "PERSID"),
        (b"<!DOCTYPE html><html></html>", "damaged"),
        (pickle.dumps({"a": ["text"] * 9})[:-5], "damaged"),
        (b"\x80\x02}q\x00(X\xff\xff\xff\x7fabc", "damaged"),
        (b"\x80\x02h\x07.", "damaged"),  # a memo entry that was never made
        (b"\x80\x02}(]K\x01u.", "damaged"),  # a list as a key
    ],
)
def test_what_is_no_plain_data_is_refused(data, message):
    with pytest.raises(InvalidDataError, match=message):
        load_plain(data)


PLAIN = st.recursive(
    st.text() | st.floats(allow_nan=False) | st.integers(-(2**31), 2**31 - 1) | st.booleans(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@settings(deadline=None, max_examples=20)
@given(value=PLAIN, protocol=st.integers(0, 5))
def test_plain_data_come_back_as_they_were(value, protocol):
    assert load_plain(pickle.dumps(value, protocol=protocol)) == value
