"""The server judge against servers that pip installs, started here; skipped where they are not.

`transformers serve` needs `pip install 'transformers[serving]'`, llama.cpp's server
`pip install 'llama-cpp-python[server]'` and `judging data fetch smollm2`. They listen on loopback.
"""

import json
import math
import os
import shlex
import socket
import subprocess
import sys
import time
from collections import Counter
from contextlib import contextmanager

import httpx
import pytest

from judging.judges import Prompt, Question, Text
from judging.judges.llama import LlamaJudge
from judging.judges.server import ServerError, ServerJudge
from judging.store import Store
from tests.needs import ROOT

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*of the probability on average"),
    pytest.mark.filterwarnings("ignore:.*held none of the labels"),
]


@contextmanager
def running(log, *command, ready):
    """A server of a command on a port of its own, once it is ready; its URL."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", *command, "--host", "127.0.0.1", "--port", str(port)]
    offline = {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    with log.open("wb") as said:
        server = subprocess.Popen(command, stdout=said, stderr=said, env=os.environ | offline)
        try:
            end = time.monotonic() + 180
            while True:
                assert server.poll() is None, log.read_text()[-3000:]
                assert time.monotonic() < end, log.read_text()[-3000:]
                try:
                    if httpx.get(f"http://127.0.0.1:{port}{ready}", trust_env=False).is_success:
                        break
                except httpx.TransportError:
                    time.sleep(0.2)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            server.terminate()
            server.wait(timeout=30)


@pytest.mark.needs("transformers-serve")
def test_transformers_serve_with_a_model_made_on_the_spot(tmp_path):
    """It gives no log-probabilities, which is said; drawn answers come one by one.

    The oracle is the model itself, run here: shares of drawn tokens are within four standard errors
    of its probabilities.
    """
    import torch

    from tests import tiny_models

    folder = str(tiny_models.save(tmp_path / "tiny"))
    model, words = tiny_models.made("llama")
    turn = [{"role": "user", "content": "Which is better, this summary or the other one?"}]
    written = words.apply_chat_template(turn, add_generation_prompt=True, tokenize=False)
    ids = words(written, add_special_tokens=False, return_tensors="pt")["input_ids"]
    with torch.no_grad():
        p = model(ids).logits[0, -1].softmax(-1).tolist()
    shares = Counter()
    for k, share in enumerate(p):
        shares[words.decode([k]).strip()] += share
    labels = tuple(word for word, _ in shares.most_common() if word.isascii() and word.isalpha())[
        :2
    ]
    question = Question(Prompt("tiny", "{first}", labels=labels), Text("one", turn[0]["content"]))
    draws, given = 60, {"instruction": "", "patience": 60.0, "timeout": 60.0}
    sampling = json.dumps({"do_sample": True, "top_k": 0})  # as it is set up, it never draws
    options = {"max_tokens": 1, "generation_config": sampling}
    serve = ("transformers.cli.transformers", "serve", folder, "--device", "cpu")
    with running(tmp_path / "log", *serve, "--dtype", "float32", ready="/health") as url:
        with pytest.raises(ServerError, match=r"gives no log-probabilities for .*draws=20"):
            list(ServerJudge(folder, url, **given).answer([question]))
        judge = ServerJudge(folder, url, draws=draws, options=options, **given)
        with Store(tmp_path / "a.sqlite") as store:
            (answer,) = store.ask(judge, [question])
            again = ServerJudge(folder, url, draws=draws, options=options, **given)
            assert store.missing(again, [question]) == []
    assert judge.spending.calls == draws
    assert answer.tokens == ids.shape[1]
    for log_p, share in zip(answer.log_p, (shares[label] for label in labels), strict=True):
        assert abs(math.exp(log_p) - share) < 4 * math.sqrt(share * (1 - share) / draws)


@pytest.mark.needs("llama-cpp-server", "smollm2")
def test_llama_cpps_server_says_what_the_same_weights_say_here(tmp_path):
    """SmolLM2 behind llama.cpp and in transformers: the same label words, nearly the same p."""
    from judging import judges
    from judging.datasets.models import place
    from tests.tiny_models import sentences

    weights = str(place("smollm2"))
    prompt = Prompt("which", "A: {first}\n\nB: {second}\n\nWhich is clearer? Answer A or B.")
    texts = [Text(f"t{k}", text) for k, text in enumerate(sentences(3, 4))]
    asked = [Question(prompt, a, b) for a in texts for b in texts if a is not b]
    command = ("llama_cpp.server", "--model", weights, "--n_ctx", "2048", "--logits_all", "true")
    with running(tmp_path / "log", *command, ready="/v1/models") as url:
        judge = ServerJudge("smollm2", url, instruction="", concurrency=1, timeout=120.0)
        theirs = dict(judge.answer(asked))
    ours = dict(judges.open("smollm2").answer(asked))
    gaps = [abs(theirs[k].p - ours[k].p) for k in range(len(asked))]
    assert max(gaps) < 0.1  # llama.cpp computes with eight-bit activations


def printed_lines():
    page = (ROOT / "book" / "reference.md").read_text(encoding="utf-8")
    return [line for line in page.splitlines() if line.startswith('python -c "from xllamacpp')]


@pytest.mark.needs("llama", "smollm2")
def test_the_printed_server_says_what_the_same_weights_say_in_this_process(tmp_path):
    """The line as it is printed, with another path: its first word is its address."""
    from judging.datasets.models import place
    from tests.tiny_models import sentences

    (line,) = printed_lines()
    weights = str(place("smollm2"))
    code = shlex.split(line)[2].replace("model.gguf", weights)
    prompt = Prompt("which", "A: {first}\n\nB: {second}\n\nWhich is clearer? Answer A or B.")
    texts = [Text(f"t{k}", text) for k, text in enumerate(sentences(3, 4))]
    asked = [Question(prompt, a, b) for a in texts for b in texts if a is not b]
    with (tmp_path / "log").open("wb") as said:
        server = subprocess.Popen(
            [sys.executable, "-u", "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=said,
            text=True,
        )
        try:
            assert server.stdout is not None
            address = server.stdout.readline().strip()
            assert address.startswith("http://127.0.0.1:"), (tmp_path / "log").read_text()[-2000:]
            judge = ServerJudge(
                "smollm2", f"{address}/v1", instruction="", concurrency=1, timeout=120.0
            )
            theirs = dict(judge.answer(asked))
        finally:
            server.terminate()
            server.wait(timeout=30)
    ours = dict(LlamaJudge(weights).answer(asked))
    assert max(abs(theirs[k].p - ours[k].p) for k in range(len(asked))) < 0.05
