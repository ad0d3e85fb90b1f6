"""The Transformer: a decoder-only language model made of blocks, and how it writes.

Dimensions: B batch, T tokens, E width, H heads, V size of the vocabulary.
"""

import math
from collections.abc import Callable, Mapping
from os import PathLike

import torch
from torch import Generator, Tensor, nn

from attention.arguments import check_choice, check_count, check_floating, check_ids, check_positive, check_probability
from attention.blocks import Block
from attention.checkpoints import read_gpt2
from attention.positions import alibi_bias, rotate
from attention.seq2seq import without_dropout


class Transformer(nn.Module):
    """A decoder-only Transformer: for each token, a score for every token that may come next.

    Args:
        vocab_size: number V of ids.
        embed_dim: width E.
        num_heads: number of heads H.
        num_layers: number of blocks.
        max_length: number of learned positions; other kinds of positions have no limit.
        positions: how the order is told: ``"learned"`` vectors that are added to the tokens, ``"rotary"``,
            ``"alibi"``, or None for the causal mask alone.
        norm: ``"pre"``, with a last norm before the output, or ``"post"``.
        hidden_dim: width of the feed-forward layers; 4E when not given. With 0 the blocks have attention alone.
        activation: of the feed-forward layers, as in :class:`FeedForward`.
        dropout: probability of dropping a number in training.
        tied: whether the output's weight is the embedding's, (V, E).
        embed_std: standard deviation of the embeddings at the start.
        norm_layer: makes a norm from a width, as in :class:`Block`.

    Raises:
        TypeError, ValueError: an argument is not one of these, or rotary heads have an odd width.

    Source: Radford et al. (2019), section 2.3. Its 12 layers of width 768 have 124,439,808 parameters.

    >>> model = Transformer(vocab_size=10, embed_dim=6, num_heads=2, num_layers=3, max_length=8)
    >>> model(torch.tensor([[3, 1, 4, 1, 5]])).shape
    torch.Size([1, 5, 10])
    >>> model.generate(torch.tensor([[3, 1, 4]]), length=2).shape
    torch.Size([1, 5])
    """

    def __init__(
        self,
        vocab_size: int,
        embed_dim: int,
        num_heads: int,
        num_layers: int,
        max_length: int,
        positions: str | None = "learned",
        norm: str = "pre",
        *,
        hidden_dim: int | None = None,
        activation: str = "gelu",
        dropout: float = 0.0,
        tied: bool = True,
        embed_std: float = 0.02,
        norm_layer: Callable[[int], nn.Module] = nn.LayerNorm,
    ) -> None:
        super().__init__()
        check_count("vocab_size", vocab_size, least=1)
        check_count("embed_dim", embed_dim, least=1)
        check_count("num_layers", num_layers, least=1)
        check_count("max_length", max_length, least=1)
        check_choice("positions", positions, ("learned", "rotary", "alibi", None))
        check_probability("dropout", dropout)
        check_positive("embed_std", embed_std)
        options = {"hidden_dim": hidden_dim, "activation": activation, "dropout": dropout, "norm_layer": norm_layer}
        self.positions = positions
        self.token_embedding = nn.Embedding(vocab_size, embed_dim)
        self.position_embedding = nn.Embedding(max_length, embed_dim) if positions == "learned" else None
        self.dropout = nn.Dropout(dropout)
        self.blocks = nn.ModuleList(
            Block(embed_dim, num_heads, norm, rotate=rotate if positions == "rotary" else None, **options)
            for _ in range(num_layers)
        )
        self.final_norm = norm_layer(embed_dim) if norm == "pre" else nn.Identity()
        self.output = nn.Linear(embed_dim, vocab_size, bias=False)
        if positions == "rotary" and embed_dim // num_heads % 2:
            raise ValueError(f"rotary positions need heads of an even width, found {embed_dim // num_heads}")
        nn.init.normal_(self.token_embedding.weight, std=embed_std)
        if positions == "learned":
            nn.init.normal_(self.position_embedding.weight, std=embed_std)
        if tied:
            self.output.weight = self.token_embedding.weight

    def forward(self, tokens: Tensor, attn_masks: Mapping[int, Tensor] | None = None) -> Tensor:
        """Score what comes next after each token.

        Args:
            tokens: ids (B, T).
            attn_masks: more masks beside the causal one, as in :class:`Block`, by the number of their block, from 0. A
                mask (1, H, T, T) that is False for a head silences that head.

        Returns:
            logits (B, T, V).

        Raises:
            TypeError, ValueError: ids or masks that do not fit, or more tokens than learned positions.
        """
        x, _ = self._run_blocks(tokens, attn_masks, need_weights=False)
        return self.unembed(x)

    def weights(self, tokens: Tensor, attn_masks: Mapping[int, Tensor] | None = None) -> list[Tensor]:
        """The attention weights of each block, (B, H, T, T), for the same arguments."""
        return self._run_blocks(tokens, attn_masks, need_weights=True)[1]

    def embed(self, tokens: Tensor) -> Tensor:
        """Ids (B, T) → what the first block reads, (B, T, E)."""
        check_ids("tokens", tokens, self.token_embedding.weight)
        x = self.token_embedding(tokens)  # (B, T, E)
        self._check_length("tokens", tokens.size(1))
        if self.position_embedding is not None:
            x = x + self.position_embedding(torch.arange(tokens.size(1), device=tokens.device))
        return self.dropout(x)

    def unembed(self, x: Tensor) -> Tensor:
        """What the last block returns, (B, T, E) → logits (B, T, V)."""
        return self.output(self.final_norm(x))

    @torch.no_grad()
    def generate(
        self,
        tokens: Tensor,
        length: int,
        *,
        temperature: float = 0.0,
        top_k: int | None = None,
        top_p: float | None = None,
        generator: Generator | None = None,
    ) -> Tensor:
        """Continue each row, one token at a time, without dropout; afterwards each part is in the mode it was in.

        Args:
            tokens: ids (B, T), at least one a row.
            length: number of tokens to add.
            temperature: 0 takes the likeliest token each time; above 0 it is drawn from :func:`next_probabilities`.
            top_k: draw from the k likeliest tokens alone.
            top_p: draw from the fewest likeliest tokens that together have this probability.
            generator: the source of random numbers.

        Returns:
            ids (B, T + length), the given ones first.

        Raises:
            TypeError, ValueError: as :meth:`forward` and :func:`next_probabilities`; also when ``top_k`` or ``top_p``
                is given at temperature 0, or T + length − 1 is above ``max_length`` (the last token is not read).
        """
        check_ids("tokens", tokens, self.token_embedding.weight)
        check_count("length", length)
        if temperature == 0 and (top_k is not None or top_p is not None):
            raise ValueError("temperature must be above 0 to draw with top_k or top_p, found 0")
        if length > 0:
            self._check_length("tokens and all new tokens but the last", tokens.size(1) + length - 1)
        with without_dropout(self):
            for _ in range(length):
                logits = self(tokens)[:, -1]  # (B, V)
                if temperature == 0:
                    token = logits.argmax(dim=-1, keepdim=True)  # (B, 1)
                else:
                    probabilities = next_probabilities(logits, temperature=temperature, top_k=top_k, top_p=top_p)
                    token = torch.multinomial(probabilities, 1, generator=generator)  # (B, 1)
                tokens = torch.cat([tokens, token], dim=1)
        return tokens

    @classmethod
    def from_gpt2(cls, path: str | PathLike) -> "Transformer":
        """Read a published GPT-2, or one of its fine-tuned relatives, from a folder.

        Args:
            path: the folder, with the files ``config.json`` and ``model.safetensors``.

        Returns:
            the model, in evaluation mode, on the default device and in the default dtype, without dropout.

        Raises:
            FileNotFoundError, ValueError: a file is not there or damaged, or holds another kind of model.
            RuntimeError: the weights are not those that ``config.json`` says; the message lists them by our names.
        """
        options, state = read_gpt2(path)
        model = cls(**options)
        model.load_state_dict(state)
        return model.eval()

    def _run_blocks(self, tokens: Tensor, attn_masks: Mapping[int, Tensor] | None, need_weights: bool):
        """What the last block returns, and the weights of each block."""
        attn_masks = {} if attn_masks is None else attn_masks
        for number in attn_masks:
            if number not in range(len(self.blocks)):
                raise ValueError(f"attn_masks must be for blocks 0 to {len(self.blocks) - 1}, found {number!r}")
        x = self.embed(tokens)  # (B, T, E)
        attn_bias = None  # or (H, T, T)
        if self.positions == "alibi":
            attn_bias = alibi_bias(self.blocks[0].attend.num_heads, tokens.size(1), device=x.device, dtype=x.dtype)
        all_weights = []
        for number, block in enumerate(self.blocks):
            x, weights = block(x, attn_masks.get(number), True, need_weights, attn_bias=attn_bias)
            all_weights.append(weights)
        return x, all_weights  # (B, T, E), and for each block (B, H, T, T) or None

    def _check_length(self, name: str, length: int) -> None:
        most = self.position_embedding.num_embeddings if self.positions == "learned" else length
        if length > most:
            raise ValueError(f"{name} must have at most max_length={most} positions, found {length}")


def next_probabilities(
    logits: Tensor, *, temperature: float = 1.0, top_k: int | None = None, top_p: float | None = None
) -> Tensor:
    """From what the next token is drawn: the softmax of ``logits / temperature``, cut off and made to sum to 1 again.

    Args:
        logits: (…, V).
        temperature: below 1 the likely tokens become likelier, above 1 less so.
        top_k: keep the k likeliest tokens.
        top_p: of those, keep the fewest likeliest whose probabilities sum to at least p (nucleus sampling); 1: all.

    Returns:
        probabilities (…, V).

    Raises:
        TypeError, ValueError: an argument is of another type or out of its range.

    Source: Fan et al. (2018), section 5, for top-k; Holtzman et al. (2020), section 3.1, for top-p.

    >>> next_probabilities(torch.tensor([0.5, 0.3, 0.2]).log(), top_p=0.6)
    tensor([0.6250, 0.3750, 0.0000])
    """
    check_floating("logits", logits)
    check_positive("temperature", temperature)
    logits, order = (logits / temperature).sort(dim=-1, descending=True, stable=True)
    if top_k is not None:
        check_count("top_k", top_k, least=1)
        logits[..., top_k:] = -math.inf
    probabilities = logits.softmax(dim=-1)
    if top_p is not None:
        check_positive("top_p", top_p)
        check_probability("top_p", top_p)
        likelier = probabilities.cumsum(dim=-1) - probabilities  # what all likelier tokens have together
        probabilities = probabilities.masked_fill((likelier >= top_p) & (top_p < 1), 0.0)  # at 1, rounding cuts none
        probabilities = probabilities / probabilities.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probabilities).scatter(-1, order, probabilities)
