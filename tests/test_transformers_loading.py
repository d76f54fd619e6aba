"""Models come from the hub or a folder, in a precision that suits the device, or say why not."""

import json
import sys

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")
import torch

from poe.errors import JudgeError
from poe.judges.transformers import Loaded, TransformersJudge, load, loading, placing
from poe.judges.transformers.engine import stretch
from tests import tiny_models as tiny
from tests.test_transformers_sharing import answers, judge, questions

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*gives the label words only"),
    pytest.mark.filterwarnings("ignore:.*cannot share prefixes"),
    pytest.mark.xdist_group("transformers"),
]


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    import huggingface_hub.constants

    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)


def made_as(name):
    if name == "t5":
        return tiny.t5(), tiny.t5_tokenizer()
    return tiny.decoder(name), tiny.tokenizer()


def saved(folder, name="llama"):
    """A tiny model as a folder, as one has it on disk."""
    model, tokenizer = made_as(name)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.mark.parametrize("name", ["llama", "t5"])
def test_a_folder_is_loaded_and_answers_as_the_model_it_was_saved_from(tmp_path, name):
    made = made_as(name)
    reader = TransformersJudge(str(saved(tmp_path, name)), device="cpu")
    assert reader.loaded.dtype == "float32"
    assert reader.loaded.encoder_decoder == (name == "t5")
    expected = answers(judge(*made), questions())
    found = answers(reader, questions())
    assert [a.p for a in found] == pytest.approx([a.p for a in expected], abs=1e-6)


def test_a_folders_revision_is_that_of_its_contents(tmp_path):
    folder = saved(tmp_path)
    loaded = load(str(folder), device="cpu")
    first = loaded.revision
    assert first.startswith("sha256:")
    assert loaded.name == folder.name  # not where it happens to be
    assert loading.folder_digest(folder) == first
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "rms_norm_eps": 1e-3}))
    assert loading.folder_digest(folder) != first


def test_a_model_of_the_hub_has_its_commit_as_revision(tmp_path, monkeypatch):
    """The layout of the hub's own cache, so that no network is needed."""
    commit = "0123456789abcdef0123456789abcdef01234567"
    base = tmp_path / "models--nobody--tiny"
    folder = base / "snapshots" / commit
    folder.mkdir(parents=True)
    saved(folder)
    (base / "refs").mkdir()
    (base / "refs" / "main").write_text(commit)
    import huggingface_hub.constants
    import transformers.utils.hub

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(transformers.utils.hub.constants, "HF_HUB_CACHE", str(tmp_path))
    assert load("nobody/tiny", device="cpu").revision == commit
    assert load("nobody/tiny", device="cpu", revision=commit).revision == commit


def test_bfloat16_stays_close():
    model = tiny.decoder("llama")
    exact = [a.p for a in answers(judge(model), questions())]
    half = type(model)(model.config).to(torch.bfloat16).eval()
    half.load_state_dict(model.state_dict())
    loaded = Loaded(half, tiny.tokenizer(), "llama", "x", torch.device("cpu"), "bfloat16")
    rough = [a.p for a in answers(TransformersJudge(loaded), questions())]
    assert rough == pytest.approx(exact, abs=0.1)
    assert rough != pytest.approx(exact, abs=1e-5)


@pytest.mark.parametrize(
    ("asked", "device", "bfloat16", "model", "found"),
    [
        ("auto", "cpu", False, "llama", "float32"),
        ("auto", "cpu", False, "t5", "float32"),
        ("auto", "cuda", True, "llama", "bfloat16"),
        ("auto", "cuda", True, "t5", "bfloat16"),
        ("auto", "cuda", False, "llama", "float16"),
        ("auto", "cuda", False, "t5", "float32"),
        ("auto", "mps", False, "mistral", "float16"),
        ("float16", "cuda", True, "llama", "float16"),
        ("bfloat16", "cpu", False, "t5", "bfloat16"),
        ("float32", "cuda", True, "t5", "float32"),
    ],
)
def test_the_precision_suits_the_device_and_the_model(asked, device, bfloat16, model, found):
    kind = placing.choose_dtype(asked, device=device, bfloat16=bfloat16, model_type=model)
    assert kind == found


def test_a_precision_that_overflows_is_refused():
    with pytest.raises(JudgeError, match=r"t5 overflow in float16.*bfloat16"):
        placing.choose_dtype("float16", device="cuda", bfloat16=True, model_type="t5")
    with pytest.raises(JudgeError, match="'int8' is none of auto, float32"):
        placing.choose_dtype("int8", device="cuda", bfloat16=True, model_type="llama")


def test_a_model_that_does_not_fit_is_spread(monkeypatch):
    gigabyte = 10**9
    monkeypatch.setattr(placing, "find_spec", lambda name: object())

    def place(need, free, device="cuda", asked="auto"):
        free = [gb * gigabyte for gb in free]
        return placing.choose_place(device, need=need * gigabyte, free=free, asked=asked)

    assert place(14, [40]) == "cuda"
    assert place(14, [14]) == "spread"  # weights alone do not make a judge
    assert place(140, [80, 80]) == "spread"
    assert place(140, [80, 80], asked="cuda") == "cuda"  # the user knows better
    assert place(0, [], device="cpu") == "cpu"
    assert place(0, [80], device="spread", asked="spread") == "spread"
    monkeypatch.setattr(placing, "find_spec", lambda name: None)
    with pytest.raises(JudgeError, match=r"140 GB do not fit on one GPU.*pip install accelerate"):
        place(140, [80, 80])


@pytest.mark.parametrize(
    ("places", "found"),
    [
        (None, "cpu"),
        ({"": "cpu"}, "cpu"),
        ({"embed": "cpu", "layers": 0, "head": 1}, "cuda:0"),
        ({"embed": 1, "layers": 0}, "cuda:1"),
        ({"": torch.device("cuda:2")}, "cuda:2"),
    ],
)
def test_inputs_go_where_a_spread_model_computes(places, found):
    model = torch.nn.Linear(2, 2)
    model.hf_device_map = places
    assert str(placing.input_device(model)) == found


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(JudgeError, match="no GPU that torch can use"):
        load(str(saved(tmp_path)), device="cuda")


def test_parameters_are_counted_without_memory():
    model = tiny.decoder("llama")
    assert placing.count_parameters(model.config) == sum(p.numel() for p in model.parameters())


def test_a_missing_extra_is_named(monkeypatch):
    monkeypatch.setattr(loading, "find_spec", lambda name: None)
    with pytest.raises(JudgeError, match=r"torch and transformers.*judging-by-comparison\[judge\]"):
        TransformersJudge("nobody/nothing")


def test_the_package_itself_needs_neither_torch_nor_transformers():
    import subprocess

    code = (
        "import sys, poe, poe.judges, poe.judges.transformers; "
        "sys.exit('torch' in sys.modules or 'transformers' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_model_that_is_nowhere_says_what_to_do(tmp_path):
    with pytest.raises(JudgeError, match=r"'nobody/nothing' is not on this machine and the hub"):
        load("nobody/nothing")
    with pytest.raises(JudgeError, match=r"no model '/no/such/folder': no such folder"):
        load("/no/such/folder")
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(JudgeError, match="holds no model that transformers can load"):
        load(str(tmp_path))


class GatedRepoError(Exception):
    """As the hub's library names it."""


class RevisionNotFoundError(Exception):
    """As the hub's library names it."""


class RepositoryNotFoundError(Exception):
    """As the hub's library names it."""


@pytest.mark.parametrize(
    ("cause", "words"),
    [
        (GatedRepoError("403"), "'org/m' at revision 'v2' is gated: accept its licence"),
        (RevisionNotFoundError("404"), "'org/m' has no revision 'v2'"),
        (RepositoryNotFoundError("401"), "there is no model 'org/m'"),
        (torch.OutOfMemoryError("CUDA"), "does not fit into memory; try device='spread'"),
        (KeyError("kind"), "cannot be loaded: OSError: it broke"),
    ],
)
def test_what_the_hub_says_is_translated(cause, words):
    error = OSError("it broke")
    error.__cause__ = cause
    assert words in loading.explain(error, "org/m", "v2")


def test_prompts_whose_positions_would_be_stretched_go_alone():
    import transformers

    short, long = [1.0] * 4, [4.0] * 4  # heads of 8 dimensions have four frequencies
    rope = {
        "rope_type": "longrope",
        "short_factor": short,
        "long_factor": long,
        "rope_theta": 10_000.0,
        "original_max_position_embeddings": 100,
    }
    sizes = {**tiny.SIZES, "original_max_position_embeddings": 100}
    config = transformers.Phi3Config(**sizes, rope_parameters=rope)
    assert stretch(config) == 100
    assert stretch(tiny.decoder("llama").config) is None
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(config).eval()
    asked = [*questions(contexts=1, words=70), *questions(contexts=1, words=10)]
    one = answers(judge(model, share_prefixes=False, batch_tokens=1), asked)
    both = answers(judge(model), asked)
    assert min(a.tokens for a in one) < 100 < max(a.tokens for a in one)
    assert [a.p for a in both] == pytest.approx([a.p for a in one], abs=1e-5)
