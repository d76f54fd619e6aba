"""The server judge against llama.cpp: another server, another engine, the same tiny weights.

Needs `pip install gguf 'llama-cpp-python[server]'`, which compiles for some minutes.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from contextlib import contextmanager

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("gguf", reason="llama.cpp's server is not installed")
pytest.importorskip("llama_cpp.server", reason="llama.cpp's server is not installed")

import gguf

from poe.judges.questions import Prompt, Question
from poe.judges.server import ServerError, ServerJudge
from tests.judge_server import CHAT, chat_text, log_probabilities, share_of_first, tiny
from tests.judging import questions

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:.*of the probability on average"),
]
PREFIXED = Prompt("test/prefixed", "A: {first}\nB: {second}\nBetter?", prefix="Summary")


def write_gguf(path):
    """The tiny model of `judge_server` in llama.cpp's format."""
    model, tokenizer = tiny()
    config = model.config
    heads, groups = config.num_attention_heads, config.num_key_value_heads
    out = gguf.GGUFWriter(path, "llama")
    out.add_context_length(512)
    out.add_embedding_length(config.hidden_size)
    out.add_block_count(config.num_hidden_layers)
    out.add_feed_forward_length(config.intermediate_size)
    out.add_head_count(heads)
    out.add_head_count_kv(groups)
    out.add_layer_norm_rms_eps(config.rms_norm_eps)
    out.add_rope_dimension_count(config.hidden_size // heads)
    out.add_rope_freq_base(config.rope_parameters["rope_theta"])
    out.add_file_type(0)
    write_tokenizer(out, tokenizer)
    weights = {name: w.detach().float().numpy() for name, w in model.state_dict().items()}
    out.add_tensor("token_embd.weight", weights["model.embed_tokens.weight"])
    out.add_tensor("output_norm.weight", weights["model.norm.weight"])
    out.add_tensor("output.weight", weights["lm_head.weight"])
    names = {
        "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj",
        "attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm",
        "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj",
    }  # fmt: skip
    for k in range(config.num_hidden_layers):
        ours, theirs = f"model.layers.{k}", f"blk.{k}"
        for name, kind in names.items():
            out.add_tensor(f"{theirs}.{name}.weight", weights[f"{ours}.{kind}.weight"])
        for name, parts in (("q", heads), ("k", groups)):
            weight = weights[f"{ours}.self_attn.{name}_proj.weight"]
            out.add_tensor(f"{theirs}.attn_{name}.weight", interleaved(weight, parts))
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()


def interleaved(weight, heads):
    """Rotary pairs side by side, as llama.cpp has them, not half a head apart."""
    rows, columns = weight.shape
    halves = weight.reshape(heads, 2, rows // heads // 2, columns)
    return np.ascontiguousarray(halves.swapaxes(1, 2).reshape(rows, columns))


def write_tokenizer(out, tokenizer):
    raw = json.loads(tokenizer.backend_tokenizer.to_str())
    words = {number: word for word, number in raw["model"]["vocab"].items()}
    special = {token["id"] for token in raw["added_tokens"]}
    out.add_tokenizer_model("gpt2")
    out.add_tokenizer_pre("gpt-2")
    out.add_token_list([words[k] for k in range(len(words))])
    out.add_token_types([3 if k in special else 1 for k in range(len(words))])
    out.add_token_merges([" ".join(pair) for pair in raw["model"]["merges"]])
    out.add_bos_token_id(0)
    out.add_eos_token_id(4)
    out.add_add_bos_token(True)
    out.add_chat_template(CHAT)


@contextmanager
def llama_cpp(folder):
    write_gguf(folder / "tiny.gguf")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = {"model": folder / "tiny.gguf", "host": "127.0.0.1", "port": port, "n_ctx": 512,
               "logits_all": "true", "n_threads": 1, "type_k": 0, "type_v": 0}  # fmt: skip
    words = [str(word) for name, value in options.items() for word in (f"--{name}", value)]
    with open(folder / "log", "w") as log:
        running = subprocess.Popen([sys.executable, "-m", "llama_cpp.server", *words], stderr=log)
    try:
        for _ in range(300):
            if (folder / "log").read_text().count("Uvicorn running"):
                break
            assert running.poll() is None, (folder / "log").read_text()
            time.sleep(0.2)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        running.terminate()
        running.wait()


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    with llama_cpp(tmp_path_factory.mktemp("llama_cpp")) as url:
        yield url


def test_chat_gives_the_models_own_p(url):
    asked = questions(4)
    answers = dict(ServerJudge("tiny", url, top=300).answer(asked))
    _, tokenizer = tiny()
    for k, question in enumerate(asked):
        turn = f"{question.text}\n\nAnswer with one word: A or B."
        whole = chat_text(tokenizer, [{"role": "user", "content": turn}])
        p, labels = share_of_first(log_probabilities(whole))
        # Single precision there, double here.
        assert answers[k].p == pytest.approx(p, abs=1e-4)
        assert answers[k].mass == pytest.approx(sum(labels), abs=1e-4)


def test_completions_give_the_models_own_p(url):
    asked = [Question(PREFIXED, q.first, q.second) for q in questions(4)]
    answers = dict(ServerJudge("tiny", url, top=300, endpoint="completions").answer(asked))
    for k, question in enumerate(asked):
        p, _ = share_of_first(log_probabilities(f"<s>{question.text}\nSummary"))
        assert answers[k].p == pytest.approx(p, abs=1e-4)


def test_a_wrong_path_is_named(url):
    judge = ServerJudge("tiny", url.removesuffix("/v1"))
    with pytest.raises(ServerError, match=r"404.*end in /v1"):
        list(judge.answer(questions(2)))
