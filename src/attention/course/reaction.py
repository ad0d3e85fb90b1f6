"""A published Transformer that reads chemical reactions, RXNMapper's, built from this package's own parts.

Its weights and vocabulary, in the folder ``rxnmapper``, are those of the package ``rxnmapper`` 0.4.3 (MIT licence).

Dimensions: B batch, L tokens, H = 8 heads, V = 591 tokens of the vocabulary, N atoms.

Source: Schwaller et al. (2021), Science Advances 7, eabe4166; Lan et al. (2020) for a layer that is used many times.
"""

import re
from collections.abc import Collection, Sequence
from functools import partial
from pathlib import Path

import torch
from torch import Tensor, nn

from attention.arguments import check_ids
from attention.blocks import Block, FeedForward
from attention.modules import Attend

LAYERS, HEADS = 12, 8
LONGEST = 512  # as many positions were learned
PUBLISHED = Path(__file__).parent / "rxnmapper"
WEIGHTS, VOCABULARY = PUBLISHED / "pytorch_model.bin", PUBLISHED / "vocab.txt"
CLS, SEP, MASK, ARROW = "[CLS]", "[SEP]", "[MASK]", ">>"

# Twelve reactions: the first two are examples of rxnmapper's own tests, the others stand in textbooks.
REACTIONS = {
    "thioether": "CC(C)S.CN(C)C=O.Fc1cccnc1F.O=C([O-])[O-].[K+].[K+]>>CC(C)Sc1ncccc1F",
    "acid": "C1COCCO1.CC(C)(C)OC(=O)CONC(=O)NCc1cccc2ccccc12.Cl>>O=C(O)CONC(=O)NCc1cccc2ccccc12",
    "amide": "CC(=O)Cl.NCc1ccccc1>>CC(=O)NCc1ccccc1",
    "aspirin": "CC(=O)OC(C)=O.O=C(O)c1ccccc1O>>CC(=O)Oc1ccccc1C(=O)O",
    "butanol": "CCCCBr.[OH-]>>CCCCO",
    "soap": "CCOC(C)=O.[OH-].[Na+]>>CC(=O)[O-].CCO",
    "Diels-Alder": "C=CC=C.C=CC(=O)OC>>COC(=O)C1CCC=CC1",
    "Suzuki": "Brc1ccccc1.OB(O)c1ccncc1>>c1ccc(-c2ccncc2)cc1",
    "alcohol": "CC(=O)c1ccccc1.[BH4-].[Na+]>>CC(O)c1ccccc1",
    "amine": "O=Cc1ccccc1.CN.[BH4-].[Na+]>>CNCc1ccccc1",
    "Wittig": "O=Cc1ccccc1.C=P(c1ccccc1)(c1ccccc1)c1ccccc1>>C=Cc1ccccc1",
    "Boc": "CC(C)(C)OC(=O)NCc1ccccc1.O=C(O)C(F)(F)F>>NCc1ccccc1",
}
TOKEN = re.compile(
    r"\[[^\]]+\]|Br|Cl|[BCNOSPFI]|[bcnosp]|%[0-9]{2}|[0-9]|>>?|[().=#\-+\\/:~@?*$]"  # what stands in brackets is one
)
ATOM = re.compile(r"\[?[0-9]*(?P<element>Cl|Br|\*|[A-Z][a-z]?|[a-z]{1,2})")
NAMES = {  # theirs, ours
    "albert.embeddings.word_embeddings.": "token_embedding.",
    "albert.embeddings.position_embeddings.": "position_embedding.",
    "albert.embeddings.LayerNorm.": "embedding_norm.",
    "albert.encoder.embedding_hidden_mapping_in.": "widen.",
    "attention.query.": "block.self_attention.q_proj.",
    "attention.key.": "block.self_attention.k_proj.",
    "attention.value.": "block.self_attention.v_proj.",
    "attention.dense.": "block.self_attention.out_proj.",
    "attention.LayerNorm.": "block.after_self_attention.",
    "ffn.": "block.feed_forward.up.",
    "ffn_output.": "block.feed_forward.down.",
    "full_layer_layer_norm.": "block.after_feed_forward.",
    "predictions.dense.": "narrow.",
    "predictions.LayerNorm.": "output_norm.",
    "predictions.decoder.bias": "output_bias",
}


class ReactionModel(nn.Module):
    """RXNMapper's model: it says which tokens stand behind masks in a written reaction.

    Tokens and positions of width 128 are added, normalised and widened to 256. One block of 8 heads, with its norms
    after the sums, is applied 12 times, with the same weights each time. What comes out is narrowed to 128 again and
    compared with the embedding of every token.

    Args:
        attend: a function in place of softmax attention, as in :class:`attention.MultiHeadAttention`; then no head can
            be silenced, unless it heeds its mask.

    >>> model = ReactionModel()
    >>> logits, weights = model(torch.tensor([[12, 16, 18, 14, 13]]))
    >>> logits.shape, weights.shape
    (torch.Size([1, 5, 591]), torch.Size([1, 12, 8, 5, 5]))
    """

    def __init__(self, attend: Attend | None = None) -> None:
        super().__init__()
        norm = partial(nn.LayerNorm, eps=1e-12)
        self.token_embedding = nn.Embedding(591, 128)
        self.position_embedding = nn.Embedding(LONGEST, 128)
        self.embedding_norm = norm(128)
        self.widen = nn.Linear(128, 256)
        feed_forward = partial(FeedForward, hidden_dim=512, activation=nn.functional.gelu)
        self.block = Block(256, HEADS, norm="post", norm_layer=norm, feed_forward=feed_forward, attend=attend)
        self.narrow = nn.Linear(256, 128)
        self.output_norm = norm(128)
        self.output_bias = nn.Parameter(torch.zeros(591))

    def forward(
        self, ids: Tensor, key_mask: Tensor | None = None, *, silent: Collection[tuple[int, int]] = ()
    ) -> tuple[Tensor, Tensor]:
        """Score every token of the vocabulary at every position.

        Args:
            ids: (B, L).
            key_mask: bool (B, L), True = may attend: hides padding.
            silent: the heads to be silenced, as pairs (layer, head), both counted from 0. A silent head adds nothing.

        Returns:
            logits (B, L, V), and the weights of all layers and heads (B, 12, H, L, L), of a silent head zeros.

        Raises:
            TypeError, ValueError: ids that are not of the vocabulary; a head that is not there.
        """
        check_ids("ids", ids, self.token_embedding.num_embeddings)
        if not set(silent) <= {(layer, head) for layer in range(LAYERS) for head in range(HEADS)}:
            raise ValueError(f"silent must be pairs (layer, head) up to (11, 7), found {silent}")
        B, L = ids.shape
        places = torch.arange(L, device=ids.device)
        x = self.token_embedding(ids) + self.position_embedding(places)  # (B, L, 128)
        x = self.widen(self.embedding_norm(x))  # (B, L, 256)
        maps = []
        for layer in range(LAYERS):  # the same block, twelve times
            speaks = torch.tensor([(layer, head) not in silent for head in range(HEADS)], device=ids.device)
            mask = speaks.view(1, HEADS, 1, 1).expand(B, HEADS, L, L)
            x, weights = self.block(x, mask, need_weights=True, key_mask=key_mask)
            maps.append(weights)
        hidden = self.output_norm(nn.functional.gelu(self.narrow(x)))  # (B, L, 128)
        logits = hidden @ self.token_embedding.weight.T + self.output_bias  # (B, L, V): the embedding once more
        return logits, torch.stack(maps, dim=1)

    @classmethod
    def published(cls, attend: Attend | None = None) -> "ReactionModel":
        """Load the published weights, on the CPU, ready to be run; ``attend`` is as when the model is made."""
        theirs = torch.load(WEIGHTS, map_location="cpu", weights_only=True)  # numbers alone: nothing is executed
        with torch.device("cpu"):  # whatever the default device is
            model = cls(attend)
        model.load_state_dict(renamed(theirs))
        return model.eval()


class ReactionTokenizer:
    """The tokens of a written reaction, and their numbers.

    >>> tokenizer = ReactionTokenizer()
    >>> tokenizer.encode("CCO>>CC=O").tolist()
    [12, 16, 16, 19, 29, 16, 16, 22, 19, 13]
    """

    def __init__(self) -> None:
        self.tokens = VOCABULARY.read_text(encoding="utf-8").splitlines()
        self.numbers = {token: number for number, token in enumerate(self.tokens)}

    def encode(self, reaction: str | Sequence[str]) -> Tensor:
        """Number the tokens of a reaction, or of a list of tokens, in which ``[MASK]`` may stand.

        Returns:
            ids (L,), with those of ``[CLS]`` and ``[SEP]`` around them.

        Raises:
            ValueError: as :func:`tokenize`; a token is not in the vocabulary, or there are more than 512.
        """
        tokens = [CLS, *(tokenize(reaction) if isinstance(reaction, str) else reaction), SEP]
        if unknown := set(tokens) - self.numbers.keys():
            raise ValueError(f"the model knows no token {min(unknown)!r}: it is not in its vocabulary")
        if len(tokens) > LONGEST:
            raise ValueError(f"a reaction must have at most {LONGEST} tokens with [CLS] and [SEP], found {len(tokens)}")
        return torch.tensor([self.numbers[token] for token in tokens])


def tokenize(reaction: str) -> list[str]:
    """Split a written reaction (SMILES) into tokens: atoms, bonds, branches, rings, dots and the arrow.

    Raises:
        ValueError: a character is not of a SMILES, or there is not one ``>>`` with atoms on both sides.

    >>> tokenize("CCBr.[OH-]>>CCO")
    ['C', 'C', 'Br', '.', '[OH-]', '>>', 'C', 'C', 'O']
    """
    tokens = TOKEN.findall(reaction)
    end = len(re.match(f"(?:{TOKEN.pattern})*", reaction)[0])
    if end < len(reaction):
        raise ValueError(f"character {end + 1}, {reaction[end]!r}, is not a token of SMILES")
    before, _, after = reaction.partition(ARROW)
    if not (before and after and tokens.count(ARROW) == 1):
        raise ValueError(f"a reaction must be written reactants{ARROW}products, found {reaction!r}")
    return tokens


def element(token: str) -> str | None:
    """Name the element of an atom's token; None if the token is not an atom.

    >>> [element(token) for token in ("c", "Cl", "[nH]", "[18OH]", "[Na+]", "=", "1", "[CLS]")]
    ['C', 'Cl', 'N', 'O', 'Na', None, None, None]
    """
    found = None if token in (CLS, SEP, MASK) else ATOM.match(token)
    return found["element"].capitalize() if found else None


def bonds(tokens: Sequence[str]) -> list[tuple[int, int]]:
    """Find which atoms are bonded.

    Args:
        tokens: of a reaction or a molecule.

    Returns:
        pairs of positions in ``tokens``, the smaller first.

    Raises:
        ValueError: a branch or a ring is not closed.

    >>> bonds(tokenize("C1CC1>>CC(C)O"))
    [(0, 2), (0, 3), (2, 3), (6, 7), (7, 9), (7, 11)]
    """
    found, branches, rings, last = [], [], {}, None
    for position, token in enumerate(tokens):
        if element(token):
            if last is not None:
                found.append((last, position))
            last = position
        elif token == "(":
            branches.append(last)
        elif token == ")":
            if not branches:
                raise ValueError(f"token {position} closes a branch that was not opened")
            last = branches.pop()
        elif token[-1].isdigit():
            number = token.lstrip("%")
            if number in rings:
                found.append((rings.pop(number), last))
            else:
                rings[number] = last
        elif token in (".", "~", ARROW):
            last = None
    if branches or rings:
        raise ValueError("a branch or a ring is opened and not closed")
    return sorted(found)


def atoms(tokens: Sequence[str]) -> tuple[list[int], list[int]]:
    """Find the atoms of the reactants and those of the products: their positions in ``tokens``.

    >>> atoms(tokenize("CCBr.[OH-]>>CCO"))
    ([0, 1, 2, 4], [6, 7, 8])
    """
    arrow = list(tokens).index(ARROW)
    positions = [position for position, token in enumerate(tokens) if element(token)]
    return [p for p in positions if p < arrow], [p for p in positions if p > arrow]


def shares(weights: Tensor, before: Sequence[int], after: Sequence[int]) -> Tensor:
    """Read a map between atoms alone: the weight from each product atom to each reactant atom and back, normalised.

    Args:
        weights: (…, L, L), of one head or of many.
        before: positions of the reactants' atoms, N of them.
        after: positions of the products' atoms, P of them.

    Returns:
        (…, P, N), each row sums to 1.
    """
    both = weights + weights.mT  # from the products to the reactants, and back
    sums = both[..., after, :][..., before]
    return sums / sums.sum(dim=-1, keepdim=True)


def map_atoms(tokens: Sequence[str], weights: Tensor) -> tuple[dict[int, int], float]:
    """Map the products' atoms to the reactants', one to one, as RXNMapper does.

    Atoms of different elements are never mapped. The largest share is taken first; then the shares between the
    neighbours of its two atoms are multiplied by 90, both atoms are struck out, and the rows are normalised anew.

    Args:
        tokens: with ``[CLS]`` and ``[SEP]`` around them, L of them.
        weights: (L, L), of one head.

    Returns:
        positions in ``tokens``, product atom → reactant atom, in the order in which they were taken; and the
        confidence, the product of the shares that were taken.

    Source: Schwaller et al. (2021), "Attention-guided atom-mapping algorithm".
    """
    before, after = atoms(tokens)
    pairs = bonds(tokens)
    bonded = {*pairs, *((b, a) for a, b in pairs)}
    same = torch.tensor([[element(tokens[p]) == element(tokens[r]) for r in before] for p in after])
    table = torch.nan_to_num(shares(weights, before, after)).double() * same
    found, confidence = {}, 1.0
    for _ in after:
        sums = table.sum(dim=1, keepdim=True)
        rows = table / sums.where(sums > 0, 1)
        row, column = divmod(rows.argmax().item(), len(before))
        if rows[row, column] < 1e-8:  # no atom of this element is left
            break
        found[after[row]] = before[column]
        confidence *= rows[row, column].item()
        near_row = torch.tensor([(after[row], p) in bonded for p in after])
        near_column = torch.tensor([(before[column], r) in bonded for r in before])
        table[near_row[:, None] & near_column] *= 90
        table[row], table[:, column] = 0, 0
    return found, confidence


def renamed(theirs: dict[str, Tensor]) -> dict[str, Tensor]:
    """The published tensors by the names that :class:`ReactionModel` has for them."""
    layer, ours = "albert.encoder.albert_layer_groups.0.albert_layers.0.", {}
    for name, tensor in theirs.items():
        name = name.removeprefix(layer)
        ours |= {name.replace(old, new, 1): tensor for old, new in NAMES.items() if name.startswith(old)}
    # Every token is of type 0, whose vector can be added to all positions once and for all.
    of_type_0 = theirs["albert.embeddings.token_type_embeddings.weight"][0]
    ours["position_embedding.weight"] = ours["position_embedding.weight"] + of_type_0
    return ours
