"""What a model keeps of the tokens that it has read, so that it reads each of them once.

Dimensions: B batch, G heads of the keys and values, N new tokens, S tokens so far, D width of a head.
"""

import torch
from torch import Tensor, nn

from attention.arguments import check_counts, shapes


class KeyValueCache:
    """The keys and values of one attention layer, for all tokens so far.

    A token's key and value do not change when more tokens follow, so that a new query needs only to be compared with
    the kept ones: ``layer(new, new, new, is_causal=True, cache=cache)``. Its length is the number of tokens kept. For
    another text make another; to continue one text in several ways, ``copy.copy`` it; to take tokens back, as after an
    error in a layer alone, :meth:`truncate` it. A cache of your own has ``__len__`` and :meth:`update`, which may
    forget the first keys.

    >>> cache = KeyValueCache()
    >>> for _ in range(3):
    ...     key, value = cache.update(torch.randn(1, 2, 1, 4), torch.randn(1, 2, 1, 4))
    >>> key.shape, len(cache)
    (torch.Size([1, 2, 3, 4]), 3)
    """

    def __init__(self) -> None:
        self._kept: tuple[Tensor, Tensor] | None = None  # keys and values, with room for more rows
        self._layout: tuple | None = None  # of both, what stays when there are more rows
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def __copy__(self) -> "KeyValueCache":
        """A cache of the same tokens that goes on by itself."""
        fork = object.__new__(type(self))
        fork.__dict__ |= self.__dict__
        fork.truncate(len(self))  # without room it never writes to what both keep
        return fork

    def truncate(self, length: int) -> None:
        """Keep the first ``length`` tokens alone, as if no others had been read: a draft's that were refused, say."""
        check_counts(length=length)
        if length > len(self):
            raise ValueError(f"length must be at most that of the cache, {len(self)}, found {length}")
        self._length = length
        if length == 0:
            self._kept = self._layout = None
        elif self._kept is not None:
            self._kept = tuple(each.narrow(-2, 0, length) for each in self._kept)

    def update(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Keep the keys and values of new tokens.

        Args:
            key: (B, G, N, D).
            value: (B, G, N, D).

        Returns:
            all keys and values so far, (B, G, S, D), the new ones last.

        Raises:
            ValueError: not one value for each key, or another batch, heads, width, dtype or device than is kept.
        """
        if key.shape[:-1] != value.shape[:-1]:
            raise ValueError(f"value must have one row for each key, found {shapes(key=key, value=value)}")
        layout = *key.shape[:-2], key.size(-1), value.size(-1), key.dtype, value.dtype, key.device, value.device
        if self._kept is None:
            self._kept, self._layout = (key[..., :0, :], value[..., :0, :]), layout
        start, stop = self._length, self._length + key.size(-2)
        if layout != self._layout:
            kept = (each[..., :start, :] for each in self._kept)
            found = f"kept {_described(*kept)}, new {_described(key, value)}"
            raise ValueError(f"a cache is for one text, or one batch: make another for this one, found {found}")
        self._length = stop
        if torch.is_grad_enabled():  # what a backward pass may need is never written to
            pairs = zip(self._kept, (key, value), strict=True)
            self._kept = tuple(torch.cat([kept[..., :start, :], new], dim=-2) for kept, new in pairs)
            return self._kept
        first = self._kept[0]
        can_write = torch.compiler.is_compiling() or torch.is_inference_mode_enabled() or not first.is_inference()
        if not can_write or stop > first.size(-2):
            room = 0, 0, 0, 2 * stop - start  # for as many rows again, so that each is copied about once
            self._kept = tuple(nn.functional.pad(kept[..., :start, :], room) for kept in self._kept)
        for kept, new in zip(self._kept, (key, value), strict=True):
            kept.narrow(-2, start, stop - start).copy_(new)
        return tuple(kept.narrow(-2, 0, stop) for kept in self._kept)


def _described(key: Tensor, value: Tensor) -> str:
    return f"{shapes(key=key, value=value)} of {key.dtype} and {value.dtype} on {key.device} and {value.device}"
