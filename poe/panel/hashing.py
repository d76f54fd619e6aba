"""Texts as vectors without a download: hashed word and character n-grams."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poe.errors import name_some
from poe.panel.errors import AggregationError

Words = NDArray[np.uint64]
BASE = np.uint64(0x9E3779B97F4A7C15 | 1)  # odd, so that it has an inverse modulo 2^64
INVERSE = np.uint64(pow(int(BASE), -1, 1 << 64))
MIX = np.uint64(0xD6E8FEB86659FD93)
BATCH = 1 << 21  # bytes of text hashed at a time
LONGEST = 1 << 16  # bytes read of one text


def hashed_ngrams(
    texts: Sequence[str],
    *,
    features: int = 2048,
    words: tuple[int, ...] = (1, 2),
    characters: tuple[int, ...] = (3, 4),
) -> NDArray[np.float32]:
    """(N, features) unit vectors of hashed n-grams of words and of characters.

    Each n-gram adds +1 or -1 to one place, both by a hash of its bytes (feature hashing,
    Weinberger et al. 2009); the counts x become sign(x) sqrt(|x|), and rows get length one.
    Words are runs of letters, digits and bytes beyond ASCII, in lower case. No vocabulary is
    learned, so a text has the same vector in every corpus.

    Raises AggregationError naming the samples without any text.
    """
    encoded = [_bytes(text, n) for n, text in enumerate(texts)]
    empty = [n for n, text in enumerate(encoded) if not text.strip()]
    if empty:
        raise AggregationError(
            f"the context has no text in samples {name_some(empty)}; leave them out, or use a "
            "method without context"
        )
    table = np.zeros((len(encoded), features), dtype=np.float32)
    low, size = 0, 0
    for high, text in enumerate(encoded, 1):
        size += len(text) + 1
        if size >= BATCH or high == len(encoded):
            _add(table[low:high], encoded[low:high], words, characters)
            low, size = high, 0
    table = np.sign(table) * np.sqrt(np.abs(table))
    return np.asarray(table / np.maximum(np.linalg.norm(table, axis=1, keepdims=True), 1e-12))


def _bytes(text: Any, n: int) -> bytes:
    if not isinstance(text, str):
        raise AggregationError(f"the context of sample {n} is {text!r}, which is not a text")
    return text[:LONGEST].lower().encode(errors="replace")[:LONGEST]


def _add(
    table: NDArray[np.float32],
    texts: list[bytes],
    words: tuple[int, ...],
    characters: tuple[int, ...],
) -> None:
    """Hash all n-grams of a batch at once: a substring's hash is a difference of prefix sums."""
    joined = np.frombuffer(b" ".join(texts) + b" ", dtype=np.uint8)
    owner = np.repeat(np.arange(len(texts)), [len(text) + 1 for text in texts])
    letter = _is_letter(joined)
    # prefix[i] = sum over j < i of byte_j BASE^j, modulo 2^64.
    power = np.cumprod(np.full(len(joined) + 1, BASE, dtype=np.uint64)) * INVERSE
    back = np.cumprod(np.full(len(joined) + 1, INVERSE, dtype=np.uint64)) * BASE
    prefix = np.zeros(len(joined) + 1, dtype=np.uint64)
    prefix[1:] = np.cumsum((joined.astype(np.uint64) + np.uint64(1)) * power[:-1])

    def put(start: NDArray[Any], end: NDArray[Any], salt: int) -> None:
        inside = owner[start] == owner[end - 1]
        start, end = start[inside], end[inside]
        code = (prefix[end] - prefix[start]) * back[start] + np.uint64(salt)
        code = (code ^ (code >> np.uint64(32))) * MIX
        code ^= code >> np.uint64(29)
        place = (code >> np.uint64(8)) % np.uint64(table.shape[1])
        sign = np.where(code & np.uint64(1), 1.0, -1.0)
        cell = owner[start] * table.shape[1] + place.astype(np.intp)
        table.ravel()[:] += np.bincount(cell, sign, minlength=table.size).astype(np.float32)

    edge = np.diff(np.concatenate([[False], letter, [False]]).astype(np.int8))
    begins, ends = np.flatnonzero(edge == 1), np.flatnonzero(edge == -1)
    for n in words:
        put(begins[: len(begins) - n + 1], ends[n - 1 :], n)
    for n in characters:
        start = np.arange(max(len(joined) - n + 1, 0))
        put(start, start + n, 100 + n)


def _is_letter(joined: NDArray[np.uint8]) -> NDArray[np.bool_]:
    digit = (joined >= 48) & (joined <= 57)
    return digit | ((joined >= 97) & (joined <= 122)) | (joined >= 128)
