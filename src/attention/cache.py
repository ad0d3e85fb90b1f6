"""What a model keeps of the tokens that it has read, so that it reads each of them once.

Dimensions: B batch, H heads of the keys and values, S tokens so far, D width of a head.
"""

import torch
from torch import Tensor

from attention.arguments import shapes


class KeyValueCache:
    """The keys and values of one attention layer, for all tokens so far.

    A token's key and value do not change when more tokens follow, so that a new query needs only to be compared with
    the kept ones: ``layer(new, new, new, is_causal=True, cache=cache)``. Its length is the number of tokens kept. For
    another text make another.

    >>> cache = KeyValueCache()
    >>> for _ in range(3):
    ...     key, value = cache.update(torch.randn(1, 2, 1, 4), torch.randn(1, 2, 1, 4))
    >>> key.shape, len(cache)
    (torch.Size([1, 2, 3, 4]), 3)
    """

    def __init__(self) -> None:
        self._key: Tensor | None = None  # with room for more rows than it has
        self._value: Tensor | None = None
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def update(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Keep the keys and values of new tokens.

        Args:
            key: (B, H, new, D).
            value: (B, H, new, D).

        Returns:
            all keys and values so far, (B, H, S, D), the new ones last.

        Raises:
            ValueError: there is not one value for each key, or the new ones are of another batch or of other heads
                than those that are kept.
        """
        if key.shape[:-1] != value.shape[:-1]:
            raise ValueError(f"value must have one row for each key, found {shapes(key=key, value=value)}")
        self._key, self._value = self._append(self._key, key), self._append(self._value, value)
        self._length += key.size(-2)
        return self._key.narrow(-2, 0, self._length), self._value.narrow(-2, 0, self._length)

    def _append(self, kept: Tensor | None, new: Tensor) -> Tensor:
        """The kept rows with the new ones behind them, and room for as many again: each is copied about once."""
        if kept is None:
            return new
        if kept.shape[:-2] != new.shape[:-2] or kept.size(-1) != new.size(-1):
            found = f"kept {tuple(kept.narrow(-2, 0, self._length).shape)}, new {tuple(new.shape)}"
            raise ValueError(f"a cache is for one text, or one batch: make another for this one, found {found}")
        length = self._length + new.size(-2)
        if kept.requires_grad or new.requires_grad:
            return torch.cat([kept.narrow(-2, 0, self._length), new], dim=-2)
        if length > kept.size(-2):
            room = kept.new_empty(*kept.shape[:-2], 2 * length, kept.size(-1))
            room.narrow(-2, 0, self._length).copy_(kept.narrow(-2, 0, self._length))
            kept = room
        kept.narrow(-2, self._length, new.size(-2)).copy_(new)
        return kept
