"""The blocks of a Transformer: self-attention, cross-attention and a feed-forward layer, each added to its input.

Dimensions: B batch, T tokens, S tokens of the memory, E width, F width inside the feed-forward layer, H heads.
"""

from collections.abc import Callable
from functools import partial

import torch.nn.functional as F
from torch import Tensor, nn

from attention.arguments import check_choice, check_count, check_projectable, shapes
from attention.modules import MultiHeadAttention

ACTIVATIONS = {"gelu": F.gelu, "gelu_tanh": partial(F.gelu, approximate="tanh"), "relu": F.relu}
NORMS = ("pre", "post")


class FeedForward(nn.Module):
    """Change each token by itself: ``down(activation(up(x)))``.

    Args:
        embed_dim: width E.
        hidden_dim: width F between the two linear layers; 4E when not given.
        activation: ``"gelu"``, ``"gelu_tanh"`` (its approximation by a tanh, as in GPT-2) or ``"relu"``.

    Raises:
        TypeError: a count is not an integer.
        ValueError: a count is not positive, or there is no such activation.

    Source: Vaswani et al. (2017), section 3.3.

    >>> import torch
    >>> FeedForward(embed_dim=6)(torch.randn(1, 5, 6)).shape
    torch.Size([1, 5, 6])
    """

    def __init__(self, embed_dim: int, hidden_dim: int | None = None, activation: str = "gelu") -> None:
        super().__init__()
        hidden_dim = 4 * embed_dim if hidden_dim is None else hidden_dim
        check_count("embed_dim", embed_dim, least=1)
        check_count("hidden_dim", hidden_dim, least=1)
        check_choice("activation", activation, tuple(ACTIVATIONS))
        self.up = nn.Linear(embed_dim, hidden_dim)
        self.down = nn.Linear(hidden_dim, embed_dim)
        self.activation = ACTIVATIONS[activation]

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, E) → (B, T, E)."""
        hidden = self.activation(self.up(x))  # (B, T, F)
        return self.down(hidden)  # (B, T, E)


class Block(nn.Module):
    """One block of a Transformer: self-attention, then a feed-forward layer, each added to what it was given.

    Pre-norm normalises what each of the two reads, ``x + layer(norm(x))``; post-norm normalises the sum,
    ``norm(x + layer(x))``. In training, dropout is applied to the attention weights and to what each of the two adds.

    Args:
        embed_dim: width E.
        num_heads: number of heads H.
        norm: ``"pre"`` or ``"post"``.
        hidden_dim: width of the feed-forward layer; 4E when not given. With 0 the block has attention alone.
        activation: of the feed-forward layer, as in :class:`FeedForward`.
        dropout: probability of dropping a number in training.
        rotate: of the attention, as in :class:`attention.MultiHeadAttention`.
        norm_layer: makes a norm from a width: ``nn.LayerNorm``, ``nn.RMSNorm``; ``nn.Identity`` takes the norms away.

    Raises:
        TypeError, ValueError: an argument is not one of these.

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
        hidden_dim: int | None = None,
        activation: str = "gelu",
        dropout: float = 0.0,
        rotate: Callable[[Tensor, Tensor | None], Tensor] | None = None,
        norm_layer: Callable[[int], nn.Module] = nn.LayerNorm,
    ) -> None:
        super().__init__()
        check_choice("norm", norm, NORMS)
        before, after = (norm_layer, nn.Identity) if norm == "pre" else (nn.Identity, norm_layer)
        self.attend = MultiHeadAttention(embed_dim, num_heads, dropout, rotate=rotate)
        self.before_attend, self.after_attend = before(embed_dim), after(embed_dim)
        self.feed_forward = None
        if hidden_dim != 0:
            self.feed_forward = FeedForward(embed_dim, hidden_dim, activation)
            self.before_feed_forward, self.after_feed_forward = before(embed_dim), after(embed_dim)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        x: Tensor,
        attn_mask: Tensor | None = None,
        is_causal: bool = False,
        need_weights: bool = False,
        *,
        attn_bias: Tensor | None = None,
        query: Tensor | None = None,
        key: Tensor | None = None,
        value: Tensor | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """Attend, then apply the feed-forward layer.

        Args:
            x: (B, T, E), to which the block adds.
            attn_mask: bool, True = may attend, (T, T), (B, 1 or T, T) or (B, 1 or H, 1 or T, T). A head whose mask
                is all False adds nothing; one whose mask shows a single key to each query attends to that key.
            is_causal: also hide the keys after the query's own position.
            need_weights: also return the weights.
            attn_bias: added to the scaled scores, broadcast to (B, H, T, T).
            query: (B, T, E), from which the queries are made in place of x. To take an earlier head away from the
                queries alone, pass what x would be without that head.
            key: (B, T, E), likewise for the keys.
            value: (B, T, E), likewise for the values.

        Returns:
            output (B, T, E), and the weights (B, H, T, T) from before dropout, or None.

        Raises:
            TypeError, ValueError: as :class:`attention.MultiHeadAttention`.
        """
        for name, tensor in (("x", x), ("query", query), ("key", key), ("value", value)):
            if tensor is not None:
                check_projectable(name, tensor, self.attend.q_proj)
        if query is not None and query.shape != x.shape:
            raise ValueError(f"query must have the shape of x, found {shapes(x=x, query=query)}")
        normed = self.before_attend(x)  # (B, T, E), and so are all that follow
        query = normed if query is None else self.before_attend(query)
        key = normed if key is None else self.before_attend(key)
        value = normed if value is None else self.before_attend(value)
        attended, weights = self.attend(query, key, value, attn_mask, is_causal, need_weights, attn_bias=attn_bias)
        x = self.after_attend(x + self.dropout(attended))
        if self.feed_forward is not None:
            update = self.feed_forward(self.before_feed_forward(x))
            x = self.after_feed_forward(x + self.dropout(update))
        return x, weights


class DecoderBlock(nn.Module):
    """One block of a decoder: as :class:`Block`, with cross-attention to an encoder's output, the memory, in between.

    Args:
        embed_dim: width E, of the memory too.
        num_heads: number of heads H, of both attentions.
        norm: ``"pre"`` or ``"post"``; the memory is not normalised here.
        hidden_dim: width of the feed-forward layer; 4E when not given.
        activation: of the feed-forward layer, as in :class:`FeedForward`.
        dropout: probability of dropping a number in training.
        norm_layer: makes a norm from a width.

    Raises:
        TypeError, ValueError: an argument is not one of these.

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
        hidden_dim: int | None = None,
        activation: str = "gelu",
        dropout: float = 0.0,
        norm_layer: Callable[[int], nn.Module] = nn.LayerNorm,
    ) -> None:
        super().__init__()
        check_choice("norm", norm, NORMS)
        before, after = (norm_layer, nn.Identity) if norm == "pre" else (nn.Identity, norm_layer)
        self.attend = MultiHeadAttention(embed_dim, num_heads, dropout)
        self.cross_attend = MultiHeadAttention(embed_dim, num_heads, dropout)
        self.feed_forward = FeedForward(embed_dim, hidden_dim, activation)
        self.before_attend, self.after_attend = before(embed_dim), after(embed_dim)
        self.before_cross_attend, self.after_cross_attend = before(embed_dim), after(embed_dim)
        self.before_feed_forward, self.after_feed_forward = before(embed_dim), after(embed_dim)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        memory_mask: Tensor | None = None,
        attn_mask: Tensor | None = None,
        is_causal: bool = False,
        need_weights: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Attend to the tokens, then to the memory, then apply the feed-forward layer.

        Args:
            x: (B, T, E).
            memory: (B, S, E).
            memory_mask: which token may attend to which row of the memory, as ``attn_mask`` of
                :class:`attention.MultiHeadAttention`; a :func:`attention.padding_mask`, for instance.
            attn_mask: which token may attend to which, likewise.
            is_causal: also hide the tokens after the query's own position.
            need_weights: also return the weights on the memory.

        Returns:
            output (B, T, E), and the weights (B, H, T, S) on the memory, or None.

        Raises:
            TypeError, ValueError: as :class:`attention.MultiHeadAttention`.
        """
        check_projectable("x", x, self.attend.q_proj)
        check_projectable("memory", memory, self.cross_attend.k_proj)
        own = self.before_attend(x)  # (B, T, E)
        attended, _ = self.attend(own, own, own, attn_mask, is_causal)
        x = self.after_attend(x + self.dropout(attended))
        query = self.before_cross_attend(x)
        attended, weights = self.cross_attend(query, memory, memory, memory_mask, need_weights=need_weights)
        x = self.after_cross_attend(x + self.dropout(attended))
        update = self.feed_forward(self.before_feed_forward(x))
        return self.after_feed_forward(x + self.dropout(update)), weights
