"""The head of a GGUF file, read from files made here byte by byte."""

import struct

import pytest

from judging.errors import JudgeError
from judging.judges.gguf import ARRAY, NUMBERS, STRING, header


def text(value):
    raw = value.encode()
    return struct.pack("<Q", len(raw)) + raw


def number(kind, value):
    return struct.pack(f"<{NUMBERS[kind]}", value)


def array(inner, values):
    return struct.pack("<IQ", inner, len(values)) + b"".join(values)


def gguf(path, fields, *, version=3, start=b"GGUF"):
    """A file of fields: name to kind and bytes, with something after the head, as weights are."""
    body = b"".join(text(k) + struct.pack("<I", kind) + raw for k, (kind, raw) in fields.items())
    path.write_bytes(start + struct.pack("<IQQ", version, 0, len(fields)) + body + b"weights" * 9)
    return path


def test_every_kind_of_value_is_read(tmp_path):
    numbers = {f"n{k}": (k, number(k, 1)) for k in NUMBERS}
    nested = array(ARRAY, [array(STRING, [text("é"), text("")]), array(5, [number(5, -7)])])
    fields = {
        **numbers,
        "name": (STRING, text("tiny")),
        "empty": (ARRAY, array(6, [])),
        "floats": (ARRAY, array(6, [number(6, 0.5), number(6, -2.0)])),
        "words": (ARRAY, array(STRING, [text("a b"), text("<|im_end|>")])),
        "nested": (ARRAY, nested),
    }
    for version in (2, 3):
        found = header(gguf(tmp_path / "tiny.gguf", fields, version=version))
        assert list(found) == list(fields), "and nothing of the weights"
        assert [found[f"n{k}"] for k in NUMBERS] == [1] * len(NUMBERS)
        assert found["name"] == "tiny"
        assert found["empty"] == []
        assert found["floats"] == [0.5, -2.0]
        assert found["words"] == ["a b", "<|im_end|>"]
        assert found["nested"] == [["é", ""], [-7]]


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda raw: b"PK" + raw[2:], "is not a GGUF file"),
        (lambda raw: b"", "is not a GGUF file"),
        (lambda raw: raw[:4] + b"\x01" + raw[5:], "has version 1 of the format"),
        (lambda raw: raw[:30], "ends in the middle"),
        (lambda raw: raw[:24] + b"\xff" * 8 + raw[32:], "cannot be read as a GGUF file"),
        (lambda raw: raw[:36] + b"\xee" + raw[37:], "cannot be read as a GGUF file"),
        (lambda raw: raw[:40] + b"\xff" * 8 + raw[48:], "cannot be read as a GGUF file"),
    ],
)
def test_what_is_no_such_file_is_refused(tmp_path, damage, told):
    path = gguf(tmp_path / "tiny.gguf", {"name": (STRING, text("tiny"))})
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(JudgeError, match=told):
        header(path)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(JudgeError, match="No such file"):
        header(tmp_path / "nowhere.gguf")
