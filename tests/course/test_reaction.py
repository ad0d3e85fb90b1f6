"""The published model of reactions: its file, its tokens, and what it says, against the program it came with."""

import pytest
import torch

from attention.course.reaction import (
    ARROW,
    CLS,
    REACTIONS,
    SEP,
    VOCABULARY,
    WEIGHTS,
    ReactionModel,
    ReactionTokenizer,
    atoms,
    bonds,
    element,
    map_atoms,
    shares,
    tokenize,
)

pytestmark = pytest.mark.usefixtures("on_the_cpu")
THIOETHER = REACTIONS["thioether"]
# From the tests of rxnmapper 0.4.3: a reaction, its confidence, and for each product atom its number among the
# reactants' atoms. (Of the two whose atoms are read in another order there, the confidence alone.)
EXPECTED = {
    THIOETHER: (0.9565619900376546, [0, 1, 2, 3, 15, 14, 13, 12, 11, 10, 9]),
    REACTIONS["acid"]: (0.9704424331552834, None),
    "C(C)O.BrC(C)>>CCOCC": (0.9754605679009868, [1, 0, 2, 4, 5]),
    "CCO.BrCFC>>CCOCFC": (0.9730222157275086, [0, 1, 2, 4, 5, 6]),
}
HARD = {  # how it is written, and its tokens
    "rings above 9": ("C%10CC%10>>C%11CC%11", ["C", "%10", "C", "C", "%10", ">>", "C", "%11", "C", "C", "%11"]),
    "isotopes": ("[18OH]C.[13CH3]>>[2H]C", ["[18OH]", "C", ".", "[13CH3]", ">>", "[2H]", "C"]),
    "two letters": ("ClCBr>>[nH]c[C@@H]", ["Cl", "C", "Br", ">>", "[nH]", "c", "[C@@H]"]),
    "bonds": ("C/C=C\\C#N~C>>C-C", ["C", "/", "C", "=", "C", "\\", "C", "#", "N", "~", "C", ">>", "C", "-", "C"]),
}


@pytest.fixture(scope="module")
def model():
    return ReactionModel.published()


@pytest.fixture(scope="module")
def tokenizer():
    return ReactionTokenizer()


def read(model, tokenizer, line):
    """The words of a reaction, and the weights of all layers and heads."""
    with torch.no_grad():
        return [CLS, *tokenize(line), SEP], model(tokenizer.encode(line)[None])[1][0]


def test_the_vocabulary_is_the_wheel_s(tokenizer):
    lines = VOCABULARY.read_text(encoding="utf-8").split("\n")
    assert [*tokenizer.tokens, ""] == lines
    assert len(tokenizer.tokens) == 591
    for line in REACTIONS.values():
        words = [tokenizer.tokens[number] for number in tokenizer.encode(line)]
        assert words == [CLS, *tokenize(line), SEP]
        assert "".join(words[1:-1]) == line


@pytest.mark.parametrize(("line", "words"), HARD.values(), ids=HARD)
def test_a_reaction_is_split_into_tokens(tokenizer, line, words):
    assert tokenize(line) == words
    assert len(tokenizer.encode(line)) == len(words) + 2


@pytest.mark.parametrize(
    ("line", "said"),
    [
        *((line, "a reaction must be written reactants>>products, found") for line in ("CCO>CC", ">>CC", "C>>C>>C")),
        ("CC O>>C", "character 3, ' '"),
        ("C>>Cy", "character 5, 'y'"),
        ("[1*]C=C.O>>*CCO", r"knows no token '\[1\*\]'"),
    ],
)
def test_what_is_no_reaction_is_said(tokenizer, line, said):
    with pytest.raises(ValueError, match=said):
        tokenizer.encode(line)


def test_too_long_a_reaction_is_said(tokenizer):
    assert len(tokenizer.encode("C" * 508 + ">>C")) == 512
    with pytest.raises(ValueError, match=r"at most 512 tokens .* found 513"):
        tokenizer.encode("C" * 509 + ">>C")


@pytest.mark.parametrize(
    ("line", "count"), [("C%10CC%10>>C", 3), ("C1CC1>>C1CC1", 6), ("CC(C)(C)C.C>>C~C", 4), (THIOETHER, 29)]
)
def test_bonds_close_rings_and_end_at_dots(line, count):
    words = tokenize(line)
    found = bonds(words)
    assert len(found) == len(set(found)) == count
    arrow = words.index(ARROW)
    assert all(element(words[i]) and element(words[j]) and (i < arrow) == (j < arrow) for i, j in found)


@pytest.mark.parametrize("line", ["C(C>>C", "C)C>>C", "C1CC>>C"])
def test_what_is_not_closed_is_said(line):
    with pytest.raises(ValueError, match=r"closed|opened"):
        bonds(tokenize(line))


def test_shares_take_both_directions():
    weights = torch.rand(2, 3, 7, 7)
    before, after = [1, 3], [4, 5, 6]
    found = shares(weights, before, after)
    assert found.shape == (2, 3, 3, 2)
    for row, i in enumerate(after):
        both = torch.stack([weights[..., i, j] + weights[..., j, i] for j in before], dim=-1)
        torch.testing.assert_close(found[..., row, :], both / both.sum(dim=-1, keepdim=True))


@pytest.mark.parametrize("line", EXPECTED)
def test_atoms_are_mapped_as_rxnmapper_maps_them(model, tokenizer, line):
    confidence, order = EXPECTED[line]
    words, maps = read(model, tokenizer, line)
    found, sure = map_atoms(words, maps[10, 5])
    assert sure == pytest.approx(confidence, rel=1e-5)
    before, after = atoms(words)
    assert len(set(found.values())) == len(found) == len(after)
    if order:
        assert [before.index(found[i]) for i in after] == order


def test_an_atom_that_comes_from_nowhere_is_left_out(model, tokenizer):
    words, maps = read(model, tokenizer, "CCBr>>CCO")
    found, _ = map_atoms(words, maps[10, 5])
    assert [words[i] for i in found] == ["C", "C"]


def test_all_fifteen_blanks_are_filled(model, tokenizer):
    ids, places = tokenizer.encode(THIOETHER), torch.arange(40, 55)
    covered = ids.repeat(15, 1)
    covered[torch.arange(15), places] = tokenizer.numbers["[MASK]"]
    with torch.no_grad():
        logits, _ = model(covered)
    assert torch.equal(logits[torch.arange(15), places].argmax(dim=-1), ids[places])


def test_a_silent_head_adds_nothing(model, tokenizer):
    ids = tokenizer.encode("CCCCBr.[OH-]>>CCCCO")[None]
    with torch.no_grad():
        logits, maps = model(ids)
        others, silent = model(ids, silent=[(3, 5)])
    assert not silent[0, 3, 5].any()
    torch.testing.assert_close(silent[0, :3], maps[0, :3])
    assert not torch.allclose(others, logits)
    with pytest.raises(ValueError, match=r"silent must be pairs \(layer, head\) up to \(11, 7\), found \[\(12, 0\)\]"):
        model(ids, silent=[(12, 0)])


@pytest.mark.parametrize("line", [*REACTIONS.values(), "OC.[18OH]>>CO"])
def test_it_agrees_with_transformers(model, tokenizer, line):
    transformers = pytest.importorskip("transformers", reason="transformers is not installed: the weekly job has it")
    sizes = {"hidden_size": 256, "num_attention_heads": 8, "intermediate_size": 512, "hidden_act": "gelu"}
    config = transformers.AlbertConfig(vocab_size=591, embedding_size=128, num_hidden_layers=12, **sizes)
    config._attn_implementation = "eager"  # the one that returns its weights
    theirs = transformers.AlbertForMaskedLM(config).eval()
    state = torch.load(WEIGHTS, map_location="cpu", weights_only=True)
    assert not theirs.load_state_dict(state, strict=False).missing_keys
    ids = tokenizer.encode(line)[None]
    with torch.no_grad():
        expected = theirs(ids, output_attentions=True)
        logits, maps = model(ids)
    torch.testing.assert_close(maps, torch.stack(expected.attentions, dim=1), rtol=0, atol=2e-5)
    torch.testing.assert_close(logits, expected.logits, rtol=0, atol=2e-4)
