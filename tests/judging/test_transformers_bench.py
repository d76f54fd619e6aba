"""The judge's benchmark counts right and runs; how fast anything is it says, the tests do not."""

import pytest

from benchmarks.judge import SHAPES, build, work

pytestmark = [pytest.mark.needs("torch"), pytest.mark.xdist_group("transformers")]


def test_weights_are_counted_as_by_hand():
    # Mistral-7B: keys and values of 8 heads of 128
    mistral = work(build(SHAPES["Mistral-7B"], device="meta", dtype="bfloat16"))
    assert mistral.a_token == 32 * (2 * 4096**2 + 2 * 4096 * 1024 + 3 * 4096 * 14336)
    assert mistral.an_answer == 4096 * 32000
    assert mistral.a_pair == 2 * 32 * 4096
    # FlanT5-XL: the encoder, and the decoder's keys and values of what it read
    t5 = work(build(SHAPES["FlanT5-XL"], device="meta", dtype="bfloat16"))
    square, inner = 2048**2, 3 * 2048 * 5120
    assert t5.a_token == 24 * (4 * square + inner) + 24 * 2 * square
    assert t5.a_start == 24 * (4 * square + 2 * square + inner)
