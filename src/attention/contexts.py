"""What a decoder looks at its source with: the contract, and three layers that keep it.

Dimensions: … leading, L queries, S keys, D query and key width, Dv value width.
"""

from typing import Protocol

import torch
from torch import Tensor, nn

from attention.arguments import check_counts, check_matrix, check_probability, check_value, weights_shape_of
from attention.functional import attention_weights, masked_softmax
from attention.masks import check_mask, with_keys


class Attention(Protocol):
    """What a decoder asks of its attention: a context for each query, and the weights that it was averaged with."""

    def __call__(
        self, query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """From (…, L, D), (…, S, D), (…, S, Dv) and (…, L, S) to the output (…, L, Dv) and the weights (…, L, S)."""
        ...


class AdditiveAttention(nn.Module):
    """Score each key with a small network instead of a dot product, so that widths may differ.

    ``weights = softmax(w_v · tanh(W_q q + W_k k))``, over every pair of a query and a key.

    Args:
        query_dim: width of a query.
        key_dim: width of a key.
        hidden_dim: width in which they are added.
        dropout: probability of dropping a weight in training.

    Raises:
        TypeError, ValueError: a width is not a positive integer, or ``dropout`` lies outside 0 … 1.

    Source: Bahdanau et al. (2015), appendix A.1.2.

    >>> layer = AdditiveAttention(query_dim=3, key_dim=5, hidden_dim=4)
    >>> output, weights = layer(torch.randn(2, 3), torch.randn(7, 5), torch.randn(7, 6))
    >>> output.shape, weights.shape
    (torch.Size([2, 6]), torch.Size([2, 7]))
    """

    def __init__(self, query_dim: int, key_dim: int, hidden_dim: int, dropout: float = 0.0) -> None:
        super().__init__()
        check_counts(least=1, query_dim=query_dim, key_dim=key_dim, hidden_dim=hidden_dim)
        check_probability("dropout", dropout)
        self.dropout = dropout
        self.W_q = nn.Linear(query_dim, hidden_dim, bias=False)
        self.W_k = nn.Linear(key_dim, hidden_dim, bias=False)
        self.w_v = nn.Linear(hidden_dim, 1, bias=False)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Tensor | None = None,
        *,
        key_mask: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Average the values by how well the network thinks that their keys match each query.

        Args:
            query: (…, L, query_dim).
            key: (…, S, key_dim), with leading dimensions that broadcast with the query's.
            value: (…, S, Dv).
            attn_mask: bool, True = may attend, as in :func:`attention.attention_weights`.
            key_mask: bool (B, S), True = may attend, likewise.

        Returns:
            output (…, L, Dv), and weights (…, L, S) from before dropout. A query that may attend to nothing has
            zeros for both. Both have the module's dtype, or autocast's where that is on.

        Raises:
            TypeError, ValueError: as :meth:`attention.MultiHeadAttention.forward`.
        """
        check_matrix("query", query, self.W_q.in_features)
        check_matrix("key", key, self.W_k.in_features)
        check_value(query, key, value)
        hidden = torch.tanh(self.W_q(query).unsqueeze(-2) + self.W_k(key).unsqueeze(-3))  # (…, L, S, hidden_dim)
        scores = self.w_v(hidden).squeeze(-1)  # (…, L, S)
        check_mask("attn_mask", attn_mask, scores.shape)
        weights = masked_softmax(scores, with_keys(attn_mask, key_mask, scores.shape))
        return nn.functional.dropout(weights, self.dropout, self.training) @ value, weights


class DotProductAttention(nn.Module):
    """Score each key by its scaled dot product with the query, with nothing to learn.

    ``weights = softmax(query · keyᵀ / √D)``, for queries and keys of one width.

    Args:
        dropout: probability of dropping a weight in training.

    Source: Luong et al. (2015), section 3.1 (*dot*); Vaswani et al. (2017), equation 1.

    >>> output, weights = DotProductAttention()(torch.randn(2, 5), torch.randn(7, 5), torch.randn(7, 6))
    >>> output.shape, weights.shape
    (torch.Size([2, 6]), torch.Size([2, 7]))
    """

    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__()
        check_probability("dropout", dropout)
        self.dropout = dropout

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Average the values by how well their keys match each query, as :func:`scaled_dot_product_attention` does.

        Args:
            query: (…, L, D).
            key: (…, S, D).
            value: (…, S, Dv), numbers also where they are hidden, as 0 · NaN is NaN.
            attn_mask: as in :func:`attention_weights`.

        Returns:
            output (…, L, Dv), and weights (…, L, S) from before dropout.
        """
        weights = attention_weights(query, key, attn_mask)
        check_value(query, key, value)
        return nn.functional.dropout(weights, self.dropout, self.training) @ value, weights


class LastState(nn.Module):
    """Look at the last key that the mask shows, whatever is asked: the fixed context of a decoder without attention.

    After an encoder that reads in one direction that is the state that has read the whole source.

    Source: Cho et al. (2014), section 2.2.

    >>> states = torch.tensor([[1.0], [2.0], [3.0]])
    >>> LastState()(torch.randn(1, 1), states, states, torch.tensor([[True, True, False]]))
    (tensor([[2.]]), tensor([[0., 1., 0.]]))
    """

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return the value (…, L, Dv) of the last key and weights (…, L, S), as :class:`DotProductAttention` does."""
        weights_shape = weights_shape_of(query, key)
        check_value(query, key, value)
        check_mask("attn_mask", attn_mask, weights_shape)
        mask = torch.ones(1, 1, device=query.device) if attn_mask is None else attn_mask
        shown = mask.expand(weights_shape)  # (…, L, S)
        weights = (shown * shown.flip(-1).cumsum(-1).flip(-1) == 1).to(query.dtype)  # 1 where none behind it is shown
        return weights @ value, weights
