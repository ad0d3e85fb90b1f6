"""What a decoder looks at its source with: the contract, and two layers that keep it.

Dimensions: … leading, L queries, S keys, D query and key width, Dv value width.
"""

from typing import Protocol

import torch
from torch import Tensor, nn

from attention.arguments import check_probability, check_value, weights_shape_of
from attention.functional import attention_weights
from attention.masks import check_mask


class Attention(Protocol):
    """What a decoder asks of its attention: a context for each query, and the weights that it was averaged with."""

    def __call__(
        self, query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """From (…, L, D), (…, S, D), (…, S, Dv) and (…, L, S) to the output (…, L, Dv) and the weights (…, L, S)."""
        ...


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
        visible = torch.ones(weights_shape, dtype=query.dtype, device=query.device)
        check_mask("attn_mask", attn_mask, weights_shape)
        if attn_mask is not None:
            visible = visible * attn_mask
        weights = visible * (visible.flip(-1).cumsum(-1).flip(-1) == 1)  # 1 where none behind it is visible
        return weights @ value, weights
