"""Language models made on the spot: random weights, a tokenizer trained on a few sentences.

They are models, but nothing they say is evidence about language models.
"""

import functools

import numpy as np
import torch
import transformers

from judging.judges import Prompt, Question, Text
from judging.judges.transformers import Loaded, TransformersJudge

torch.set_num_threads(1)

WINDOW = 24  # tokens; shorter than every prompt of the tests

CHAT = (
    "{{ bos_token }}{% for message in messages %}"
    "{% if message['role'] == 'user' %}[INST] {{ message['content'] }} [/INST]"
    "{% elif message['role'] == 'system' %}[SYS] {{ message['content'] }} [/SYS]"
    "{% else %} {{ message['content'] }}{{ eos_token }}{% endif %}{% endfor %}"
)
CHAT_WITHOUT_SYSTEM = CHAT.replace(
    "{% elif message['role'] == 'system' %}[SYS] {{ message['content'] }} [/SYS]",
    "{% elif message['role'] == 'system' %}{{ raise_exception('no system role') }}",
)
WORDS = """the summary of an article is coherent when its sentences follow from one another and
a reader can tell what happened first who was there why it matters which is better more fluent
consistent relevant than other text answer with letter only please""".split()  # noqa: SIM905


def sentences(seed, count, words=12):
    """Sentences of random words."""
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS, words)).capitalize() + "." for _ in range(count)]


@functools.cache
def tokenizer(*, template=CHAT, bos=True):
    """A byte-level BPE; `template` None for a model that was not made for chats."""
    import tokenizers
    from tokenizers import decoders, models, pre_tokenizers, processors, trainers

    core = tokenizers.Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=380,
        special_tokens=["<pad>", "<s>", "</s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    extra = ["Summary A Summary B", "Response A Response B", "[INST] [/INST]", " 1 2 3 4 5"] * 200
    core.train_from_iterator([*sentences(0, 300), *extra], trainer)
    if bos:
        core.post_processor = processors.TemplateProcessing(
            single="<s> $A", special_tokens=[("<s>", core.token_to_id("<s>"))]
        )
    return _wrapped(core, template, bos)


@functools.cache
def t5_tokenizer():
    """A word-piece of text has a word-boundary mark, as SentencePiece has; ends with </s>."""
    import tokenizers
    from tokenizers import decoders, models, pre_tokenizers, processors, trainers

    core = tokenizers.Tokenizer(models.BPE(unk_token="<unk>"))
    core.pre_tokenizer = pre_tokenizers.Metaspace()
    core.decoder = decoders.Metaspace()
    special = ["<pad>", "</s>", "<unk>"]
    trainer = trainers.BpeTrainer(vocab_size=160, special_tokens=special, show_progress=False)
    core.train_from_iterator(
        [*sentences(0, 300), *["Summary A B Response 1 2 3 4 5"] * 200], trainer
    )
    core.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", core.token_to_id("</s>"))]
    )
    return _wrapped(core, None, False)


def _wrapped(core, template, bos):
    found = transformers.PreTrainedTokenizerFast(
        tokenizer_object=core,
        pad_token="<pad>",
        eos_token="</s>",
        **({"bos_token": "<s>"} if bos else {}),
    )
    found.chat_template = template
    return found


SIZES = {
    "vocab_size": 600,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 4096,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
MIXED = {"layer_types": ["sliding_attention", "full_attention"], "sliding_window": WINDOW}
# name: configuration class, what it needs besides the sizes
DECODERS = {
    "llama": ("LlamaConfig", {}),
    "mistral": ("MistralConfig", {"sliding_window": WINDOW}),
    "qwen2-sliding": (
        "Qwen2Config",
        {"use_sliding_window": True, "max_window_layers": 1, "sliding_window": WINDOW},
    ),
    "qwen3": ("Qwen3Config", {"head_dim": 8}),
    "gemma2": ("Gemma2Config", {"head_dim": 8, "query_pre_attn_scalar": 8, **MIXED}),
    "gemma3": ("Gemma3TextConfig", {"head_dim": 8, "query_pre_attn_scalar": 8, **MIXED}),
    "phi3": ("Phi3Config", {"sliding_window": WINDOW}),
    "mixtral": (
        "MixtralConfig",
        {"num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": WINDOW},
    ),
    "gpt2": ("GPT2Config", {"n_positions": 4096}),
}


@functools.cache
def decoder(name, *, attention=None, seed=0):
    """A decoder-only model in fp32; weights wide enough for what it reads to show."""
    kind, more = DECODERS[name]
    sizes = dict(SIZES)
    if name in ("gemma2", "gemma3"):
        sizes["hidden_activation"] = "gelu_pytorch_tanh"
    config = getattr(transformers, kind)(**{**sizes, **more})
    return _made(transformers.AutoModelForCausalLM, config, attention, seed)


@functools.cache
def t5():
    """An encoder-decoder of the T5 family in fp32."""
    config = transformers.T5Config(
        vocab_size=600,
        d_model=32,
        d_kv=8,
        d_ff=64,
        num_layers=2,
        num_heads=4,
        feed_forward_proj="gated-gelu",
        tie_word_embeddings=False,
        pad_token_id=0,
        eos_token_id=1,
        decoder_start_token_id=0,
    )
    return _made(transformers.AutoModelForSeq2SeqLM, config, None, 0)


def _made(family, config, attention, seed):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        more = {"attn_implementation": attention} if attention else {}
        model = family.from_config(config, dtype=torch.float32, **more).eval()
        for parameter in model.parameters():
            if parameter.dim() > 1:
                torch.nn.init.normal_(parameter, std=0.25)
    return model


def made(name):
    """A model by its name, and its tokenizer."""
    return (t5(), t5_tokenizer()) if name == "t5" else (decoder(name), tokenizer())


def save(folder, name="llama"):
    """A tiny model as a folder, as one has it on disk."""
    for part in made(name):
        part.save_pretrained(folder)
    return folder


# Judges and questions --------------------------------------------------------------------------

COMPARE = [
    Prompt(
        name,
        "{context}\n\nSummary A: {first}\n\nSummary B: {second}\n\nWhich Summary is "
        f"{name}, Summary A or Summary B?",
        prefix="Summary",
    )
    for name in ("more coherent", "more fluent", "more relevant")
]


def judge(model, words=None, **options):
    """A judge of a model that is already there."""
    name, device = model.config.model_type, torch.device("cpu")
    loaded = Loaded(model, words or tokenizer(), name, "here", device, "float32")
    return TransformersJudge(loaded, **options)


def questions(prompts=COMPARE, *, contexts=2, candidates=3, words=40):
    """All ordered pairs of a few candidates, for each context and prompt."""
    found = []
    for k, article in enumerate(sentences(1, contexts, words)):
        texts = [Text(f"s{i}", t) for i, t in enumerate(sentences(10 + k, candidates))]
        found += [
            Question(prompt, a, b, Text(f"article-{k}", article))
            for a in texts
            for b in texts
            if a is not b
            for prompt in prompts
        ]
    return found


def answers(reader, asked):
    """In the order of the questions, one each."""
    found = dict(reader.answer(asked))
    assert sorted(found) == list(range(len(asked)))
    return [found[k] for k in range(len(asked))]
