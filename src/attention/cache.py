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
    another text make another; to continue one text in several ways, ``copy.copy`` it.

    >>> cache = KeyValueCache()
    >>> for _ in range(3):
    ...     key, value = cache.update(torch.randn(1, 2, 1, 4), torch.randn(1, 2, 1, 4))
    >>> key.shape, len(cache)
    (torch.Size([1, 2, 3, 4]), 3)
    """

    def __init__(self) -> None:
        self._kept: tuple[Tensor, Tensor] | None = None  # keys and values, with room for more rows
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def __copy__(self) -> "KeyValueCache":
        """A cache of the same tokens that goes on by itself."""
        fork = KeyValueCache()
        if self._kept is not None:
            fork._kept = tuple(each.narrow(-2, 0, self._length).clone() for each in self._kept)
            fork._length = self._length
        return fork

    def update(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Keep the keys and values of new tokens.

        Args:
            key: (B, H, new, D).
            value: (B, H, new, D).

        Returns:
            all keys and values so far, (B, H, S, D), the new ones last.

        Raises:
            ValueError: there is not one value for each key, or the new ones are of another batch, other heads, another
                dtype or device than those that are kept.
        """
        if key.shape[:-1] != value.shape[:-1]:
            raise ValueError(f"value must have one row for each key, found {shapes(key=key, value=value)}")
        if self._kept is None:
            self._kept = key.narrow(-2, 0, 0), value.narrow(-2, 0, 0)
        (kept_key, kept_value), start = self._kept, self._length
        _check_fit(kept_key, key)
        _check_fit(kept_value, value)
        self._length = stop = start + key.size(-2)
        key, value = self._kept = _append(kept_key, key, start), _append(kept_value, value, start)
        return key.narrow(-2, 0, stop), value.narrow(-2, 0, stop)


def _append(kept: Tensor, new: Tensor, start: int) -> Tensor:
    """The kept rows with the new ones behind them, and room for as many again: each is copied about once."""
    if torch.is_grad_enabled():  # what a backward pass may need is never written to
        return torch.cat([kept.narrow(-2, 0, start), new], dim=-2)
    stop = start + new.size(-2)
    if stop > kept.size(-2):
        room = kept.new_empty(*kept.shape[:-2], 2 * stop, kept.size(-1))
        room.narrow(-2, 0, start).copy_(kept.narrow(-2, 0, start))
        kept = room
    kept.narrow(-2, start, new.size(-2)).copy_(new)
    return kept


def _check_fit(kept: Tensor, new: Tensor) -> None:
    if kept.shape[:-2] != new.shape[:-2] or kept.size(-1) != new.size(-1) or kept.dtype != new.dtype:
        found = f"kept {tuple(kept.shape)} of {kept.dtype}, new {tuple(new.shape)} of {new.dtype}"
        raise ValueError(f"a cache is for one text, or one batch: make another for this one, found {found}")
