"""The blocks of a Transformer: self-attention, cross-attention and a feed-forward layer, each added to its input.

Dimensions: B batch, L tokens, S keys (as many, and those that a cache keeps; or those of the memory), E width, F width
inside the feed-forward layer, H heads.
"""

from collections.abc import Callable

from torch import Tensor, nn

from attention.arguments import check_choice, check_counts
from attention.modules import MultiHeadAttention, check_function, own_copy

MakeLayer = Callable[[int], nn.Module]


class FeedForward(nn.Module):
    """Change each token by itself: ``down(activation(up(x)))``.

    Args:
        embed_dim: width E.
        hidden_dim: width F between the two linear layers; 4E when not given.
        activation: a function of each number: ``nn.functional.gelu``, ``torch.relu``, …; of a module it has a copy.

    Source: Vaswani et al. (2017), section 3.3.

    >>> import torch
    >>> FeedForward(embed_dim=6)(torch.randn(1, 5, 6)).shape
    torch.Size([1, 5, 6])
    """

    def __init__(
        self, embed_dim: int, hidden_dim: int | None = None, activation: Callable[[Tensor], Tensor] = nn.functional.gelu
    ) -> None:
        super().__init__()
        hidden_dim = 4 * embed_dim if hidden_dim is None else hidden_dim
        check_counts(least=1, embed_dim=embed_dim, hidden_dim=hidden_dim)
        check_function("activation", activation)
        self.up = nn.Linear(embed_dim, hidden_dim)
        self.down = nn.Linear(hidden_dim, embed_dim)
        self.activation = own_copy(activation)

    def forward(self, x: Tensor) -> Tensor:
        """(…, L, E) → (…, L, E)."""
        hidden = self.activation(self.up(x))  # (…, L, F)
        return self.down(hidden)  # (…, L, E)


class Block(nn.Module):
    """One block of a Transformer: self-attention, then a feed-forward layer, each added to what it was given.

    Pre-norm normalises what each of the two reads, ``x + layer(norm(x))``; post-norm normalises the sum,
    ``norm(x + layer(x))``. In training, dropout is applied to the attention weights and to what each of the two adds.

    Args:
        embed_dim: width E.
        num_heads: number of heads H.
        norm: ``"pre"`` or ``"post"``.
        feed_forward: makes the feed-forward layer from a width: :class:`FeedForward`, ``partial(FeedForward,
            hidden_dim=20)``, or a layer of yours that takes (B, L, E) to (B, L, E). With None the block has attention
            alone.
        norm_layer: makes a norm from a width: ``nn.LayerNorm``, ``nn.RMSNorm``; ``nn.Identity`` takes the norms away.
        dropout: probability of dropping a number in training.
        **attention_options: ``bias``, ``num_key_value_heads``, ``head_dim``, ``process_heads`` and ``attend`` of the
            attention, as in :class:`attention.MultiHeadAttention`.

    Raises:
        TypeError, ValueError: as :class:`attention.MultiHeadAttention`; also if what makes a layer is not a function,
            or ``norm`` is neither of the two.

    Source: Vaswani et al. (2017), section 3.1, for post-norm; Radford et al. (2019), section 2.3, for pre-norm.

    >>> import torch
    >>> block, x = Block(embed_dim=6, num_heads=2), torch.randn(1, 5, 6)
    >>> x, weights = block(x, is_causal=True, need_weights=True)
    >>> x.shape, weights.shape
    (torch.Size([1, 5, 6]), torch.Size([1, 2, 5, 5]))
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        norm: str = "pre",
        *,
        feed_forward: MakeLayer | None = FeedForward,
        norm_layer: MakeLayer = nn.LayerNorm,
        dropout: float = 0.0,
        **attention_options,
    ) -> None:
        super().__init__()
        before, after = _before_and_after(norm, norm_layer)
        self.self_attention = MultiHeadAttention(embed_dim, num_heads, dropout, **attention_options)
        self.before_self_attention, self.after_self_attention = before(embed_dim), after(embed_dim)
        self.dropout = nn.Dropout(dropout)
        self.feed_forward = None
        if feed_forward is not None:
            check_factory("feed_forward", feed_forward, "FeedForward")
            self.feed_forward = feed_forward(embed_dim)
            self.before_feed_forward, self.after_feed_forward = before(embed_dim), after(embed_dim)

    def forward(
        self, x: Tensor, attn_mask: Tensor | None = None, *, positions: Tensor | None = None, **options
    ) -> tuple[Tensor, Tensor | None]:
        """Attend, then apply the feed-forward layer.

        Args:
            x: (B, L, E), to which the block adds.
            attn_mask: as in :meth:`attention.MultiHeadAttention.forward`. A head whose mask is all False adds nothing;
                one whose mask shows a single key to each query attends to that key.
            positions: where the tokens stand, (L,) or (B, L), for a block with ``process_heads``.
            **options: the attention's ``is_causal``, ``need_weights``, ``attn_bias``, ``key_mask`` and ``cache``.

        Returns:
            output (B, L, E), and the weights (B, H, L, S) from before dropout, or None.

        Raises:
            TypeError, ValueError: as :class:`attention.MultiHeadAttention`.
        """
        x, weights = self._add_self_attention(x, attn_mask, positions, options)
        return self._add_feed_forward(x), weights

    def _add_self_attention(self, x: Tensor, attn_mask, positions, options: dict) -> tuple[Tensor, Tensor | None]:
        own = self.before_self_attention(x)  # (B, L, E), and so are all that follow
        places = {"query_positions": positions, "key_positions": positions}
        attended, weights = self.self_attention(own, own, own, attn_mask, **places, **options)
        return self.after_self_attention(x + self.dropout(attended)), weights

    def _add_feed_forward(self, x: Tensor) -> Tensor:
        if self.feed_forward is None:
            return x
        changed = self.feed_forward(self.before_feed_forward(x))
        return self.after_feed_forward(x + self.dropout(changed))


class DecoderBlock(Block):
    """One block of a decoder: as :class:`Block`, with cross-attention to an encoder's output, the memory, in between.

    Args:
        embed_dim: width E, of the memory too.
        num_heads: number of heads H, of both attentions.
        norm: ``"pre"`` or ``"post"``; the memory is not normalised here.
        norm_layer: makes a norm from a width.
        dropout: probability of dropping a number in training.
        **options: ``feed_forward`` and the attention's, as in :class:`Block`; the latter are of both attentions, but
            ``process_heads`` of the first alone: the memory has positions of its own.

    Raises:
        TypeError, ValueError: as :class:`Block`.

    Source: Vaswani et al. (2017), section 3.1.

    >>> import torch
    >>> block, x, memory = DecoderBlock(embed_dim=6, num_heads=2), torch.randn(1, 5, 6), torch.randn(1, 7, 6)
    >>> x, weights = block(x, memory, is_causal=True, need_weights=True)
    >>> x.shape, weights.shape
    (torch.Size([1, 5, 6]), torch.Size([1, 2, 5, 7]))
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        norm: str = "pre",
        *,
        norm_layer: MakeLayer = nn.LayerNorm,
        dropout: float = 0.0,
        **options,
    ) -> None:
        super().__init__(embed_dim, num_heads, norm, norm_layer=norm_layer, dropout=dropout, **options)
        own = {name: own_copy(each) for name, each in options.items() if name not in ("feed_forward", "process_heads")}
        self.cross_attention = MultiHeadAttention(embed_dim, num_heads, dropout, **own)
        before, after = _before_and_after(norm, norm_layer)
        self.before_cross_attention, self.after_cross_attention = before(embed_dim), after(embed_dim)

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        memory_mask: Tensor | None = None,
        attn_mask: Tensor | None = None,
        *,
        need_weights: bool = False,
        memory_key_mask: Tensor | None = None,
        positions: Tensor | None = None,
        **options,
    ) -> tuple[Tensor, Tensor | None]:
        """Attend to the tokens, then to the memory, then apply the feed-forward layer.

        Args:
            x: (B, L, E).
            memory: (B, S, E).
            memory_mask: bool, which token may attend to which row of the memory, as in
                :meth:`attention.MultiHeadAttention.forward`.
            attn_mask: bool, which token may attend to which, likewise.
            need_weights: also return the weights on the memory.
            memory_key_mask: bool (B, S), True = may attend: hides padding in the memory.
            positions: where the tokens stand, as in :class:`Block`.
            **options: ``is_causal``, ``attn_bias``, ``key_mask`` and ``cache`` of the tokens, as in
                :class:`Block`. The memory is read anew each time.

        Returns:
            output (B, L, E), and the weights (B, H, L, S) on the memory, or None.

        Raises:
            TypeError, ValueError: as :class:`attention.MultiHeadAttention`.
        """
        x, _ = self._add_self_attention(x, attn_mask, positions, options)
        query = self.before_cross_attention(x)  # (B, L, E)
        attended, weights = self.cross_attention(
            query, memory, memory, memory_mask, need_weights=need_weights, key_mask=memory_key_mask
        )
        x = self.after_cross_attention(x + self.dropout(attended))
        return self._add_feed_forward(x), weights


def _before_and_after(norm: str, norm_layer: MakeLayer) -> tuple[MakeLayer, MakeLayer]:
    """What makes the norm before a layer and the one after its sum; where there is none, the identity."""
    check_choice("norm", norm, ("pre", "post"))
    check_factory("norm_layer", norm_layer, "nn.LayerNorm")
    return (norm_layer, nn.Identity) if norm == "pre" else (nn.Identity, norm_layer)


def check_factory(name: str, factory: MakeLayer, example: str) -> None:
    """Raise unless this can be asked for a layer of some width; a layer that is made already has weights to share."""
    if isinstance(factory, nn.Module) or not callable(factory):
        raise TypeError(f"{name} must be a function that makes a layer from a width, as {example}, found {factory!r}")
