"""The course in one file computes what the package computes, and trains by itself."""

import re
import runpy
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
import torch
from torch.testing import assert_close

import attention
from attention.checkpoints import read_gpt2
from test_transformer import VOCABULARY, checkpoint, gpt2_weights, ids  # noqa: F401  (a fixture)

FILE = Path(__file__).parent.parent / "book" / "one_file.py"
B, H, L, S, D = 2, 3, 5, 7, 4

pytestmark = pytest.mark.usefixtures("on_the_cpu")


@pytest.fixture(scope="module")
def one():
    """The names in the file."""
    with torch.device("cpu"):
        return runpy.run_path(str(FILE))


def rows(*shape):
    return torch.randn(*shape, dtype=torch.float64)


def test_it_is_short_and_needs_torch_alone():
    text = FILE.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 150
    assert set(re.findall(r"^(?:import|from) (\w+)", text, re.MULTILINE)) == {"math", "torch"}


def test_every_part_names_its_chapter():
    parts = re.findall(r"^(?:def|class) .*", FILE.read_text(encoding="utf-8"), re.MULTILINE)
    assert [part for part in parts if "# chapter" not in part and not part.startswith("def train")] == []


@pytest.mark.parametrize("masked", [False, True])
def test_softmax_and_attention(one, masked):
    query, key, value = rows(B, H, L, D), rows(B, H, S, D), rows(B, H, S, 6)
    mask = torch.rand(B, 1, L, S) < 0.5 if masked else None
    if masked:
        mask[0, 0, 2] = False  # a query that sees nothing
    scores = 100 * rows(B, H, L, S)
    assert_close(one["softmax"](scores, mask), attention.masked_softmax(scores, mask))
    assert_close(one["attention_weights"](query, key, mask), attention.attention_weights(query, key, mask))
    expected = attention.scaled_dot_product_attention(query, key, value, mask)
    assert_close(one["attention"](query, key, value, mask), expected)


def test_masks(one):
    assert_close(one["causal_mask"](L), attention.causal_mask(L))
    assert_close(one["window_mask"](L, 2), attention.window_mask(L, 2))
    lengths = torch.tensor([0, 3, S])
    assert_close(one["padding_mask"](lengths, S), attention.padding_mask(lengths, S))


def test_positions(one):
    assert_close(one["sinusoidal_positions"](L, 6), attention.sinusoidal_positions(L, 6))
    x = torch.randn(B, H, L, D)
    assert_close(one["rotate"](x), attention.rotate(x))


@pytest.mark.parametrize(
    ("name", "arguments"), [("MultiHeadAttention", (12, H)), ("FeedForward", (12,)), ("Block", (12, H))]
)
def test_layers(one, name, arguments):
    mine, theirs = one[name](*arguments).double(), getattr(attention, name)(*arguments).double()
    mine.load_state_dict(theirs.state_dict())
    x, mask = rows(B, L, 12), attention.causal_mask(L)
    inputs = (x, x, x, mask) if name == "MultiHeadAttention" else (x, mask) if name == "Block" else (x,)
    expected = theirs(*inputs)
    assert_close(mine(*inputs), expected[0] if isinstance(expected, tuple) else expected)


def test_the_model_and_what_it_writes(one):
    theirs = attention.Transformer(11, 12, H, 2, 20, embed_std=1.0, tied=False)
    mine = one["Transformer"](11, 12, H, 2, 20)
    assert {name: p.shape for name, p in mine.named_parameters()} == {
        name: p.shape for name, p in theirs.named_parameters()
    }
    mine.load_state_dict(theirs.state_dict())
    tokens = torch.randint(11, (B, L))
    assert_close(mine(tokens), theirs(tokens))
    assert mine.generate(tokens, 8).tolist() == theirs.generate(tokens, 8).tolist()


def test_a_published_gpt2_fits(one, checkpoint):  # noqa: F811
    path = checkpoint(gpt2_weights())
    _, state = read_gpt2(path)
    mine = one["Transformer"](VOCABULARY, 12, 3, 2, 16, partial(torch.nn.functional.gelu, approximate="tanh"))
    mine.load_state_dict(state)
    tokens = ids(B, 9)
    assert_close(mine(tokens), attention.Transformer.from_gpt2(path)(tokens))


def test_run_as_a_script_it_learns_to_copy():
    """Within a minute of one core's own time, as the machine may have others to serve."""
    limit = "import resource; resource.setrlimit(resource.RLIMIT_CPU, (60, 60))"
    run = f"import runpy, sys; {limit}; runpy.run_path(sys.argv[1], run_name='__main__')"
    said = subprocess.run([sys.executable, "-c", run, FILE], capture_output=True, text=True, check=True).stdout
    assert float(re.search(r"right: (\d\.\d+)", said)[1]) > 0.95
    written = [int(number) for number in re.findall(r"\d+", said.partition("tensor")[2])]
    assert written == [3, 1, 4, 15, 9, 2, 6, 5] * 4
