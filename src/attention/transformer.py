"""The Transformer: a decoder-only language model made of blocks, and how it writes.

Dimensions: B batch, L tokens, S keys (as many, and those that caches keep), E width, H heads, V size of the vocabulary.
"""

from collections.abc import Mapping, Sequence
from os import PathLike

import torch
from torch import Generator, Tensor, nn

from attention.arguments import check_choice, check_counts, check_flags, check_ids, check_positive
from attention.blocks import Block, FeedForward, MakeLayer
from attention.cache import KeyValueCache
from attention.checkpoints import read_gpt2
from attention.functional import at_least_float32
from attention.masks import window_mask, with_head_axis
from attention.modules import own_copy
from attention.positions import alibi_bias, check_positions, rotate_heads
from attention.sampling import next_probabilities, without_dropout


class Transformer(nn.Module):
    """A decoder-only Transformer: for each token, a score for every token that may come next.

    Args:
        vocab_size: number V of ids.
        embed_dim: width E.
        num_heads: number of heads H.
        num_layers: number of blocks.
        max_length: the most tokens that are read; learned positions need it, other kinds have no limit without it.
        positions: how the order is told: ``"learned"`` vectors that are added to the tokens, ``"rotary"``,
            ``"alibi"``, or None for the causal mask alone, and for what ``process_heads`` tells.
        norm: ``"pre"``, with a last norm before the output, or ``"post"``.
        feed_forward: makes a feed-forward layer from a width, or None for attention alone, as in :class:`Block`.
        norm_layer: makes a norm from a width, as in :class:`Block`.
        dropout: probability of dropping a number in training.
        tied: whether the output's weight is the embedding's, (V, E).
        embed_std: standard deviation of the embeddings at the start.
        window: how many tokens each may look at, itself included; all before it when not given.
        **attention_options: ``bias``, ``num_key_value_heads``, ``head_dim``, ``process_heads`` and ``attend`` of each
            attention, as in :class:`attention.MultiHeadAttention`; of a module each has a copy. Rotary positions with
            another base are ``positions=None, process_heads=partial(rotate_heads, base=500_000.0)``.

    Raises:
        TypeError, ValueError: as :class:`Block`; also if learned positions have no ``max_length``, or rotary ones a
            ``process_heads`` beside their own or heads of an odd width.

    Source: Radford et al. (2019), section 2.3, without its smaller start of what the blocks add.

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
        max_length: int | None = None,
        positions: str | None = "learned",
        norm: str = "pre",
        *,
        feed_forward: MakeLayer | None = FeedForward,
        norm_layer: MakeLayer = nn.LayerNorm,
        dropout: float = 0.0,
        tied: bool = True,
        embed_std: float = 0.02,
        window: int | None = None,
        **attention_options,
    ) -> None:
        super().__init__()
        check_counts(least=1, vocab_size=vocab_size, embed_dim=embed_dim, num_heads=num_heads, num_layers=num_layers)
        limits = ("max_length", max_length), ("window", window)
        check_counts(least=1, **{name: limit for name, limit in limits if limit is not None})
        check_choice("positions", positions, ("learned", "rotary", "alibi", None))
        if positions == "learned" and max_length is None:
            raise ValueError("max_length must be given for learned positions, found None")
        check_positive("embed_std", embed_std)
        check_flags(tied=tied)
        if positions == "rotary":
            if attention_options.get("process_heads") is not None:
                raise ValueError("process_heads must be None beside positions='rotary', which is rotate_heads there")
            head_dim = attention_options.get("head_dim") or embed_dim // num_heads
            if head_dim % 2:
                raise ValueError(f"rotary positions need heads of an even width, found {head_dim}")
            attention_options["process_heads"] = rotate_heads
        self.position_kind, self.window, self.max_length = positions, window, max_length
        self.token_embedding = nn.Embedding(vocab_size, embed_dim)
        self.position_embedding = nn.Embedding(max_length, embed_dim) if positions == "learned" else None
        self.dropout = nn.Dropout(dropout)
        self.blocks = nn.ModuleList()
        for _ in range(num_layers):
            options = {name: own_copy(option) for name, option in attention_options.items()}
            options |= {"feed_forward": feed_forward, "norm_layer": norm_layer, "dropout": dropout}
            self.blocks.append(Block(embed_dim, num_heads, norm, **options))
        self.final_norm = norm_layer(embed_dim) if norm == "pre" else nn.Identity()
        self.output = nn.Linear(embed_dim, vocab_size, bias=False)
        nn.init.normal_(self.token_embedding.weight, std=embed_std)
        if positions == "learned":
            nn.init.normal_(self.position_embedding.weight, std=embed_std)
        if tied:
            self.output.weight = self.token_embedding.weight

    def forward(
        self,
        tokens: Tensor,
        caches: Sequence[KeyValueCache] | None = None,
        *,
        attn_masks: Tensor | Mapping[int, Tensor] | None = None,
        key_mask: Tensor | None = None,
        positions: Tensor | None = None,
    ) -> Tensor:
        """Score what comes next after each token.

        Args:
            tokens: ids (B, L).
            caches: what :meth:`make_caches` returned, and earlier calls have filled: the tokens go on from those that
                are kept.
            attn_masks: more masks beside the causal one, as in :class:`Block`: one for all blocks, or a dict from a
                block's number, from 0, to its own. A mask (1, H, L, S) that is False for a head silences that head.
            key_mask: bool (B, S), True = may attend: hides padding from every block.
            positions: where the tokens stand, (L,) or (B, L), for learned and rotary positions and ``process_heads``;
                when not given 0, 1, 2, …, and with caches on from the number of kept tokens.

        Returns:
            logits (B, L, V).

        Raises:
            TypeError, ValueError: ids, masks, positions or caches that do not fit, or more tokens than
                ``max_length``. Then, and whatever else is raised, a :class:`KeyValueCache` has what attributes it had.
        """
        check_ids("tokens", tokens, self.token_embedding.num_embeddings)
        self._check_parts(caches, positions)
        given = tokens, caches, attn_masks, key_mask, positions
        if torch.compiler.is_compiling():  # which does not trace what follows in every version
            return self.unembed(self._run_blocks(*given)[0])
        before = [(vars(cache), vars(cache).copy()) for cache in caches or () if isinstance(cache, KeyValueCache)]
        try:
            return self.unembed(self._run_blocks(*given)[0])
        except BaseException:  # some blocks may have read the tokens, and others not
            for attributes, values in before:
                attributes.update(values)
            raise

    def attention_maps(
        self,
        tokens: Tensor,
        *,
        attn_masks: Tensor | Mapping[int, Tensor] | None = None,
        key_mask: Tensor | None = None,
        positions: Tensor | None = None,
    ) -> list[Tensor]:
        """The attention weights of each block, (B, H, L, L), for the same arguments."""
        check_ids("tokens", tokens, self.token_embedding.num_embeddings)
        self._check_parts(None, positions)
        return self._run_blocks(tokens, None, attn_masks, key_mask, positions, need_weights=True)[1]

    def make_caches(self) -> list[KeyValueCache]:
        """An empty cache for each block."""
        return [KeyValueCache() for _ in self.blocks]

    def embed(self, tokens: Tensor, positions: Tensor | None = None, kept: int = 0) -> Tensor:
        """What the first block reads of ids (B, L): (B, L, E); they stand at these positions, or after the kept."""
        check_ids("tokens", tokens, self.token_embedding.num_embeddings)
        check_counts(kept=kept)
        return self._embed(tokens, positions, kept)

    def unembed(self, x: Tensor) -> Tensor:
        """What the last block returns, (B, L, E) → logits (B, L, V)."""
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
        cache: bool = True,
    ) -> Tensor:
        """Continue each row, one token at a time, without dropout; afterwards each part is in the mode it was in.

        Args:
            tokens: ids (B, L), at least one a row.
            length: number of tokens to add.
            temperature: 0 takes the likeliest token each time; above 0 it is drawn from :func:`next_probabilities`.
            top_k: draw from the k likeliest tokens alone.
            top_p: draw from the fewest likeliest tokens that together have this probability.
            generator: the source of random numbers.
            cache: whether to keep the keys and values of what is read; without, the same answer takes longer.

        Returns:
            ids (B, L + length), the given ones first. Only each last place is scored, not by :meth:`forward`: hooks of
            the parts run, those of the whole do not.

        Raises:
            TypeError, ValueError: as :meth:`forward` and :func:`next_probabilities`; also when ``top_k`` or ``top_p``
                is given at temperature 0, or L + length − 1 is above ``max_length`` (the last token is not read).
        """
        check_ids("tokens", tokens, self.token_embedding.num_embeddings)
        check_counts(length=length)
        check_flags(cache=cache)
        if temperature != 0:
            check_positive("temperature", temperature)
        elif top_k is not None or top_p is not None:
            raise ValueError("temperature must be above 0 to draw with top_k or top_p, found 0")
        if length > 0:
            self._check_length("tokens and all new tokens but the last", tokens.size(1) + length - 1)
        caches, unread = self.make_caches() if cache else None, tokens
        with without_dropout(self):
            for _ in range(length):
                logits = self.unembed(self._run_blocks(unread, caches)[0][:, -1])  # (B, V)
                if temperature == 0:
                    token = logits.argmax(dim=-1, keepdim=True)  # (B, 1)
                else:
                    probabilities = next_probabilities(logits, temperature=temperature, top_k=top_k, top_p=top_p)
                    token = torch.multinomial(probabilities, 1, generator=generator)  # (B, 1)
                tokens = torch.cat([tokens, token.to(tokens.dtype)], dim=1)
                unread = token if cache else tokens
        return tokens

    @classmethod
    def from_gpt2(cls, path: str | PathLike) -> "Transformer":
        """Read a published GPT-2, or one of its fine-tuned relatives, from a folder; this needs safetensors.

        Args:
            path: the folder, with the files ``config.json`` and ``model.safetensors``.

        Returns:
            the model, in evaluation mode, on the default device and in the default dtype, without dropout.

        Raises:
            FileNotFoundError, ValueError: a file is not there, or holds another kind of model.
            RuntimeError: the weights are not those that ``config.json`` says; the message lists them by our names.
        """
        options, state = read_gpt2(path)
        model = cls(**options)
        model.load_state_dict(state)
        return model.eval()

    def _embed(self, tokens: Tensor, positions: Tensor | None, kept: int) -> Tensor:
        """:meth:`embed` of ids that are known to have embeddings."""
        stop = kept + tokens.size(1)
        self._check_length("tokens", stop)
        if positions is not None:
            check_positions("positions", positions, tokens.shape)
        x = self.token_embedding(tokens)  # (B, L, E)
        if self.position_embedding is not None:
            if positions is None:
                x = x + self.position_embedding.weight[kept:stop]  # (L, E)
            else:
                check_ids("positions", positions, self.position_embedding.num_embeddings, positions.dim())
                x = x + self.position_embedding(positions)
        return self.dropout(x)

    def _run_blocks(
        self, tokens: Tensor, caches, attn_masks=None, key_mask=None, positions=None, need_weights: bool = False
    ) -> tuple[Tensor, list[Tensor]]:
        """What the last block returns, (B, L, E), and the weights of each block, (B, H, L, S)."""
        kept = 0 if caches is None else len(caches[0])
        (B, L), H, S = tokens.shape, self.blocks[0].self_attention.num_heads, kept + tokens.size(1)
        masks = self._masks(attn_masks, (B, H, L, S), tokens.device)
        x = self._embed(tokens, positions, kept)  # (B, L, E)
        bias = None
        if self.position_kind == "alibi":  # in float32 or better: 16 bits can't tell far distances apart
            bias = alibi_bias(H, L, S, offset=kept, device=x.device, dtype=at_least_float32(x))[None]
        options = {"is_causal": True, "need_weights": need_weights, "attn_bias": bias, "key_mask": key_mask}
        options["positions"] = None if self.blocks[0].self_attention.process_heads is None else positions
        all_weights = []
        for block, mask, cache in zip(self.blocks, masks, caches or [None] * len(self.blocks), strict=True):
            x, weights = block(x, mask, cache=cache, **options)
            all_weights.append(weights)
        return x, all_weights

    def _masks(self, attn_masks: object, weights_shape: tuple[int, ...], device) -> list[Tensor | None]:
        """What each block hides beside the future: by its own mask, and by the window."""
        L, S = weights_shape[-2:]
        numbers = range(len(self.blocks))
        if isinstance(attn_masks, Tensor):
            attn_masks = dict.fromkeys(numbers, attn_masks)
        if attn_masks is not None and not isinstance(attn_masks, Mapping):
            raise TypeError(f"attn_masks must be a mask, or a dict of blocks' masks, found {type(attn_masks).__name__}")
        for number in attn_masks or ():
            if number not in numbers:
                raise ValueError(f"attn_masks must be for blocks 0 to {numbers[-1]}, found {number!r}")
        masks = [with_head_axis((attn_masks or {}).get(number), weights_shape) for number in numbers]
        if self.window is None or self.window >= S:
            return masks
        window = window_mask(L, self.window, S, offset=S - L, device=device)  # (L, S)
        return [window if mask is None else mask & window for mask in masks]

    def _check_parts(self, caches: object, positions: Tensor | None) -> None:
        """Raise unless the blocks can take them; what each cache holds, the blocks check."""
        if caches is not None:
            if not isinstance(caches, Sequence) or not all(hasattr(cache, "update") for cache in caches):
                raise TypeError(f"caches must be a list, as make_caches returns it, found {caches!r:.60}")
            count, different = len(self.blocks), len({id(cache) for cache in caches})
            if not len(caches) == different == count:
                found = f"{len(caches)}, of which {different} are different"
                raise ValueError(f"caches must be one for each of {count} blocks, all different, found {found}")
            if len({len(cache) for cache in caches}) != 1:
                raise ValueError(f"caches must keep the same tokens, found {[len(cache) for cache in caches]}")
        takes_positions = self.position_embedding is not None or self.blocks[0].self_attention.process_heads is not None
        if positions is not None and not takes_positions:
            raise ValueError(f"positions are for learned or rotary positions, found positions={self.position_kind!r}")

    def _check_length(self, name: str, length: int) -> None:
        if self.max_length is not None and length > self.max_length:
            raise ValueError(f"{name} must have at most max_length={self.max_length} positions, found {length}")
