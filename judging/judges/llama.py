"""A judge on llama.cpp: any GGUF file, on a processor, without torch.

llama.cpp computes with the file's own four-bit weights, which is several times faster on a
processor than multiplying them out, and takes a quarter of the memory. It comes as `xllamacpp`,
which pip installs without a compiler. Questions are put in the order in which prompts share the
longest beginnings, and llama.cpp computes only what a question adds to the one before it.
"""

from __future__ import annotations

import hashlib
import json
import time
import weakref
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from judging.datasets.models import digest
from judging.errors import JudgeError, require
from judging.judges.gguf import header
from judging.judges.local import INSTEAD, LocalJudge, chunked
from judging.judges.writer import ChatWriter
from judging.question import Answer, Question

CONTEXT = 8192  # tokens of the longest question; the memory for them is kept from the start
LIKELY = 64  # tokens whose probabilities are asked for; more only where a label is not among them
TOKENIZING = 60.0  # seconds; a millisecond does, unless the machine is short of memory
CONTROL = 3  # llama.cpp's number for a token that is no text, such as <|im_end|>


class LlamaJudge(LocalJudge):
    """A language model in a GGUF file that compares texts, or scores them, by its next token.

    As `TransformersJudge`, on another engine: the same prompts, the same labels, probabilities
    that differ by rounding and, where the weights are quantised, by how each multiplies them.

    path : the file. context : tokens of the longest question. threads : as many as the
    processor has cores by default. limit_calls, limit_tokens : never exceeded; the run stops with
    SpendingLimitError before it would be.
    """

    shorten = "shorten the texts, or raise context= up to what the model reads"

    def __init__(
        self,
        path: str | Path,
        *,
        context: int = CONTEXT,
        threads: int | None = None,
        limit_calls: int | None = None,
        limit_tokens: int | None = None,
    ) -> None:
        require("running a GGUF file", "llama", "xllamacpp", otherwise=INSTEAD)
        self.path = Path(path)
        if not self.path.is_file():
            raise JudgeError(f"there is no file {path}")
        super().__init__(self.path.name, limit_calls=limit_calls, limit_tokens=limit_tokens)
        self.threads, self.header = threads, header(self.path)
        if "tokenizer.ggml.tokens" not in self.header:
            raise JudgeError(f"{path} is a GGUF file, but it holds no language model")
        trained = self.header.get(f"{self.header.get('general.architecture')}.context_length")
        self.context = min(context, trained or context)
        self.longest = self.context - 1  # the answer is a token too

    @cached_property
    def writer(self) -> ChatWriter:  # type: ignore[override]
        """What writes prompts and knows the tokens of label words."""
        return ChatWriter(_Tokenizer(self))

    @cached_property
    def engine(self) -> Any:
        """llama.cpp with the weights; reads them when it is first needed."""
        from xllamacpp import CommonParams, Server

        settings = CommonParams()
        settings.model.path = str(self.path)
        settings.n_ctx, settings.n_parallel = self.context, 1
        settings.warmup, settings.verbosity = False, -1
        settings.cache_ram_mib = 0  # else up to 8 GB of prompts that do not come again
        if self.threads is not None:
            settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = self.threads
        try:
            return Server(settings)
        except Exception as error:
            raise JudgeError(f"llama.cpp cannot load {self.path}: {error}") from error

    @cached_property
    def specification(self) -> Mapping[str, str]:
        """What changes the answers beyond rounding: the weights and how prompts are written."""
        template = self.header.get("tokenizer.chat_template")
        written = None if template is None else hashlib.sha256(template.encode()).hexdigest()
        return {
            "kind": "llama.cpp",
            "model": self.path.name,
            "revision": f"sha256:{digest(self.path)}",
            "template": written or "none: plain text",
        }

    def answer(self, questions: Sequence[Question]) -> Iterator[tuple[int, Answer]]:
        """Answers with their positions, as they come: questions that begin alike together.

        Questions that are too long are refused, before the first answer. Raises JudgeError for
        label words that are not single tokens.
        """
        questions = list(questions)
        refused = self._too_long(questions)
        yield from refused.items()
        broken = 0
        try:
            for chunk in chunked(questions, len(questions)) if questions else ():
                for k in (position for position in chunk if position not in refused):
                    broken += self.writer.breaks(questions[k].text)
                    yield k, self._answer(questions[k])
        finally:
            self._warn(broken)

    def _answer(self, question: Question) -> Answer:
        written = self.writer.write(question.prompt, question.text)
        (ids,) = self.writer.encode([written])
        labels = self.writer.target(question.prompt, written).labels
        while not self.spending.reserve(len(ids)):
            time.sleep(0.02)  # until another thread's question is answered
        began, done = time.perf_counter(), False
        try:
            log_p, computed = self._next_token(ids, labels)
            done = True
        finally:
            self.spending.settle(len(ids), len(ids), turned_away=not done)
        answer = Answer(log_p, len(ids), computed, time.perf_counter() - began)
        self._note(question, answer)
        return answer

    def likeliest(self, question: Question, count: int) -> dict[str, float]:
        """Log-probabilities of the likeliest next tokens after a question."""
        (ids,) = self.writer.encode([self.writer.write(question.prompt, question.text)])
        return {one["token"]: float(one["logprob"]) for one in self._top(ids, count)[0]}

    def _next_token(self, ids: list[int], labels: Sequence[int]) -> tuple[tuple[float, ...], int]:
        """Log-probabilities of some tokens after others, and how many were computed for it."""
        total = 0
        for likely in (LIKELY, len(self.header["tokenizer.ggml.tokens"])):
            top, computed = self._top(ids, likely)
            total += computed
            log_p = {one["id"]: float(one["logprob"]) for one in top}
            if log_p.keys() >= set(labels):
                break
        return tuple(log_p.get(label, float("-inf")) for label in labels), total

    def _top(self, ids: list[int], likely: int) -> tuple[list[dict[str, Any]], int]:
        """The likeliest next tokens, as llama.cpp tells them, and how many it computed for it."""
        asked = {"prompt": ids, "n_predict": 1, "n_probs": likely, "temperature": 0.0}
        reply = self.engine.handle_completions(asked)
        said = reply if isinstance(reply, dict) else json.loads(reply)
        if "choices" not in said:
            raise JudgeError(f"llama.cpp did not answer: {said.get('error', said)}")
        (first,) = said["choices"][0]["logprobs"]["content"]
        return first["top_logprobs"], said["timings"]["prompt_n"]


class _Tokenizer:
    """What `ChatWriter` needs of a tokenizer: llama.cpp's own, and the file's chat template."""

    def __init__(self, judge: LlamaJudge) -> None:
        # The judge holds it: held in turn, the engine and its memory would outlive them both.
        self._judge: LlamaJudge = weakref.proxy(judge)
        known = judge.header
        self._tokens: list[str] = known["tokenizer.ggml.tokens"]
        kinds = known.get("tokenizer.ggml.token_type", ())
        self.all_special_tokens = [
            token for token, kind in zip(self._tokens, kinds, strict=False) if kind == CONTROL
        ]
        self.chat_template = known.get("tokenizer.chat_template")
        self.bos_token_id = known.get("tokenizer.ggml.bos_token_id")
        self.name_or_path = judge.path.name

    def __call__(
        self, texts: Sequence[str], *, add_special_tokens: bool, verbose: bool
    ) -> dict[str, list[list[int]]]:
        return {"input_ids": [self._encode(text, add_special_tokens) for text in texts]}

    def _encode(self, text: str, special: bool) -> list[int]:
        asked = {"content": text, "add_special": special, "parse_special": True}
        import httpx

        try:
            reply = self._client.post("/tokenize", json=asked).raise_for_status()
        except httpx.HTTPError as error:
            raise JudgeError(f"llama.cpp does not read a prompt: {error}") from error
        return [int(token) for token in reply.json()["tokens"]]

    @cached_property
    def _client(self) -> Any:
        import httpx

        # llama.cpp listens on loopback alone; no proxy of the environment stands between.
        address = self._judge.engine.listening_address
        return httpx.Client(base_url=address, trust_env=False, timeout=TOKENIZING)

    def convert_ids_to_tokens(self, ids: Sequence[int]) -> list[str]:
        return [self._tokens[k] for k in ids]

    def apply_chat_template(
        self, messages: Sequence[Mapping[str, str]], *, add_generation_prompt: bool, **_: Any
    ) -> str:
        filled = self._template.render(
            messages=messages,
            add_generation_prompt=add_generation_prompt,
            enable_thinking=False,
            bos_token=self._token(self.bos_token_id),
            eos_token=self._token(self._judge.header.get("tokenizer.ggml.eos_token_id")),
        )
        return str(filled)

    def _token(self, k: int | None) -> str:
        return "" if k is None else self._tokens[k]

    @cached_property
    def _template(self) -> Any:
        from jinja2.sandbox import ImmutableSandboxedEnvironment

        def refuse(message: str) -> None:
            raise ValueError(message)

        environment = ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
        )
        environment.globals["raise_exception"] = refuse  # templates refuse roles with it
        return environment.from_string(str(self.chat_template))
