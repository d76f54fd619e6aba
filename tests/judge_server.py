"""An OpenAI-compatible server on loopback over a tiny transformers model made on the spot.

The tokenizer is trained here, the weights are random, the logits are real. What the model says
is evidence about the plumbing and about nothing else. `faults` lets the server misbehave.
"""

from __future__ import annotations

import json
import math
import ssl
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

LABELS = ("A", " A", "B", " B", "1", "2", "3", " 1", " 2", " 3")
CORPUS = [
    "Summary A", "Summary B", "Which summary is better, A or B?", "Answer with one word: A or B.",
    "the text number one", "the context number two", "Score the text from 1 to 3: 1 2 3", "A", "B",
] * 20  # fmt: skip
CHAT = (
    "{{ bos_token }}{% for message in messages %}<{{ message.role }}>{{ message.content }}"
    "<end>{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"
)


@cache
def tiny():
    """(model, tokenizer), the same in every process."""
    torch.set_num_threads(1)
    raw = Tokenizer(models.BPE())
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    special = ["<s>", "<user>", "<assistant>", "<system>", "<end>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    raw.train_from_iterator(
        CORPUS,
        trainers.BpeTrainer(vocab_size=340, special_tokens=special, initial_alphabet=alphabet),
    )
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=raw, bos_token="<s>")
    tokenizer.chat_template = CHAT
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=32, intermediate_size=64, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=512,
        initializer_range=0.15,
    )  # fmt: skip
    with torch.random.fork_rng():
        torch.manual_seed(7)
        model = LlamaForCausalLM(config).eval().double()
        with torch.no_grad():
            favour_labels(model, tokenizer)
    return model, tokenizer


def favour_labels(model, tokenizer):
    """Choose the labels' output rows so that they are likely where an answer begins."""
    asked = [{"role": "user", "content": text} for text in CORPUS[:6]]
    begun = [{"role": "assistant", "content": "Summary"}]
    starts = [chat_text(tokenizer, [turn]) for turn in asked]
    starts += [chat_text(tokenizer, [turn, *begun], go_on=True) for turn in asked]
    starts += [f"<s>{turn['content']}\nSummary" for turn in asked]
    hidden = torch.stack(
        [model.model(encode(tokenizer, text)).last_hidden_state[0, -1] for text in starts]
    )
    inverse = torch.linalg.pinv(hidden, rtol=1e-2)
    for label in LABELS:
        (token,) = tokenizer.encode(label, add_special_tokens=False)
        wanted = 4 + torch.randn(len(starts), dtype=hidden.dtype)
        model.lm_head.weight[token] = inverse @ wanted


def encode(tokenizer, text):
    return tokenizer(text, return_tensors="pt", add_special_tokens=False).input_ids


def chat_text(tokenizer, messages, *, go_on=False):
    return tokenizer.apply_chat_template(
        messages,
        tokenize=False,
        add_generation_prompt=not go_on,
        continue_final_message=go_on,
    )


@torch.no_grad()
def log_probabilities(text):
    """Log-probabilities of the next token after a text that is complete with its template."""
    model, tokenizer = tiny()
    return torch.log_softmax(model(encode(tokenizer, text)).logits[0, -1], -1)


@dataclass
class Served:
    """What tests see of the server."""

    url: str
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    most_at_once: int = 0

    @property
    def questions(self):
        """The requests after the first call."""
        return self.requests[1:]


@contextmanager
def serving(fault=lambda k, body: None, *, delay=0.0, certificate=None):
    """Run the server; `fault(k, body)` names what is wrong with the k-th request, from 0.

    certificate : a folder with key.pem and certificate.pem, for https.
    """
    tiny()
    closing, lock = threading.Event(), threading.Lock()
    chance = torch.Generator().manual_seed(0)
    under_way = 0

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *args):
            pass

        def do_POST(self):
            nonlocal under_way
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with lock:
                k = len(served.requests)
                served.requests.append(body)
                served.headers.append(dict(self.headers))
                served.paths.append(self.path)
                under_way += 1
                served.most_at_once = max(served.most_at_once, under_way)
            try:
                time.sleep(delay)
                respond(self, body, fault(k, body) or "", closing, lock, chance)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True
            finally:
                with lock:
                    under_way -= 1

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.handle_error = lambda *where: None  # the client sees it too
    served = Served(f"http://127.0.0.1:{server.server_port}/v1")
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate / "certificate.pem", certificate / "key.pem")
        # Shaking hands in the thread of a connection, so that one that fails blocks no other.
        server.socket = context.wrap_socket(
            server.socket, server_side=True, do_handshake_on_connect=False
        )
        served.url = f"https://localhost:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield served
    finally:
        closing.set()
        server.shutdown()
        thread.join()
        server.server_close()


def respond(handler, body, fault, closing, lock, chance):
    name, _, detail = fault.partition(":")
    key = handler.headers.get("Authorization", "")
    message = {"error": {"message": f"you sent {key}, and " + "x" * 200}}
    if name == "hang":
        closing.wait(30)
        handler.close_connection = True
    elif name == "drip":
        handler.send_response(200)
        handler.send_header("Content-Length", "100000")
        handler.end_headers()
        while not closing.wait(0.02):
            handler.wfile.write(b" ")
            handler.wfile.flush()
    elif name == "hangup":
        handler.close_connection = True
        handler.connection.shutdown(2)
    elif name == "html":
        send(handler, 200, "text/html", b"<!doctype html><html>Please log in</html>")
    elif name == "garbage":
        send(handler, 200, "application/json", b'{"choices": [{"mess')
    elif name.isdigit():
        headers = {"Retry-After": detail} if detail else {}
        send(handler, int(name), "application/json", json.dumps(message).encode(), headers)
    else:
        with lock:
            found = complete(handler.path, body, chance, name, detail)
        send(handler, 200, "application/json", json.dumps(found).encode())


def send(handler, status, kind, content, headers=()):
    handler.send_response(status)
    handler.send_header("Content-Type", kind)
    handler.send_header("Content-Length", str(len(content)))
    for name, value in dict(headers).items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(content)


def complete(path, body, chance, fault="", detail=""):
    """The reply to a request."""
    _, tokenizer = tiny()
    chat = path.endswith("/chat/completions")
    if chat:
        go_on = body.get("continue_final_message") and fault != "new-answer"
        text = chat_text(tokenizer, body["messages"], go_on=go_on)
    else:
        text = "<s>" + body["prompt"]
    log_p = log_probabilities(text)
    if fault == "neither":
        log_p = log_p.clone()
        for label in LABELS:
            log_p[tokenizer.encode(label, add_special_tokens=False)] = -40.0
    count = 1 if fault == "one-choice" else body.get("n") or 1
    if body.get("temperature"):
        chosen = torch.multinomial(log_p.exp(), count, replacement=True, generator=chance).tolist()
    else:
        chosen = [int(log_p.argmax())] * count
    wanted = body.get("top_logprobs") if body.get("logprobs") is True else body.get("logprobs")
    top = [] if not wanted or fault == "no-logprobs" else most(log_p, wanted)
    choices = [choice(chat, tokenizer, log_p, token, top) for token in chosen]
    length = encode(tokenizer, text).shape[1]
    usage = {"prompt_tokens": length, "completion_tokens": len(chosen)}
    found = {"model": detail if fault == "model" else f"{body['model']}-served", "choices": choices}
    return found if fault == "no-usage" else found | {"usage": usage}


def most(log_p, count):
    return log_p.topk(min(count, len(log_p))).indices.tolist()


def choice(chat, tokenizer, log_p, token, top):
    text = tokenizer.decode([token])
    said = {"message": {"role": "assistant", "content": text}} if chat else {"text": text}
    if not top:
        return said | {"logprobs": None}
    if chat:
        entries = [{"token": tokenizer.decode([t]), "logprob": float(log_p[t])} for t in top]
        first = {"token": text, "logprob": float(log_p[token]), "top_logprobs": entries}
        return said | {"logprobs": {"content": [first]}}
    ranked = {tokenizer.decode([t]): float(log_p[t]) for t in reversed(top)}
    return said | {
        "logprobs": {"tokens": [text], "token_logprobs": [float(log_p[token])],
                     "top_logprobs": [ranked]},
    }  # fmt: skip


def share_of_first(log_p, labels=("A", "B")):
    """P(first) over all variants of two labels, straight from the model's distribution."""
    _, tokenizer = tiny()
    totals = []
    for label in labels:
        same = [t for t in range(len(log_p)) if tokenizer.decode([t]).strip() == label]
        assert len(same) > 1  # "A" and " A" at least
        totals.append(math.fsum(float(log_p[t].exp()) for t in same))
    return totals[0] / sum(totals), totals
