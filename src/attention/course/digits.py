"""Real handwritten digits, 8 × 8, and what a Transformer reads of them: patches.

The file ``digits.npz`` is a copy of the test part of "Optical Recognition of Handwritten Digits" (Alpaydin and Kaynak,
1998), https://doi.org/10.24432/C50P49, under the licence CC BY 4.0, https://creativecommons.org/licenses/by/4.0/.

Dimensions: N pictures, L = 16 patches of 2 × 2.
"""

from pathlib import Path

import numpy as np
import torch
from torch import Tensor


def read_digits() -> tuple[Tensor, Tensor]:
    """Read 1,797 handwritten digits, which come with the package.

    Thirteen people wrote them on forms. Each was scanned as 32 × 32 black or white dots, and a number here counts the
    black ones among 4 × 4 of them. The file doesn't name the writers.

    Returns:
        pictures (1797, 8, 8), how much ink there is, from 0 to 16, and digits (1797,), from 0 to 9; both int64, on
        the CPU, in the order of the source.

    Source: Alpaydin and Kaynak (1998), the file ``optdigits.tes``; licence CC BY 4.0.

    >>> pictures, digits = read_digits()
    >>> pictures.shape, digits[:5].tolist()
    (torch.Size([1797, 8, 8]), [0, 1, 2, 3, 4])
    """
    with np.load(Path(__file__).with_name("digits.npz")) as file:
        pictures, digits = (torch.from_numpy(file[name].astype(np.int64)) for name in ("pictures", "labels"))
    return pictures, digits


def to_patches(pictures: Tensor) -> Tensor:
    """Cut pictures into 16 patches of 2 × 2, row by row from the top left.

    Args:
        pictures: (…, 8, 8).

    Returns:
        (…, 16, 4), the four numbers of each patch row by row.

    >>> to_patches(torch.arange(64).view(8, 8))[:2].tolist()
    [[0, 1, 8, 9], [2, 3, 10, 11]]
    """
    cut = pictures.unflatten(-2, (4, 2)).unflatten(-1, (4, 2))  # (…, 4, 2, 4, 2)
    return cut.transpose(-3, -2).flatten(-2).flatten(-3, -2)  # (…, 4, 4, 2, 2) → (…, 16, 4)


def from_patches(patches: Tensor) -> Tensor:
    """Put patches (…, 16, 4) together again to pictures (…, 8, 8).

    >>> pictures, _ = read_digits()
    >>> torch.equal(from_patches(to_patches(pictures)), pictures)
    True
    """
    cut = patches.unflatten(-2, (4, 4)).unflatten(-1, (2, 2))  # (…, 4, 4, 2, 2)
    return cut.transpose(-3, -2).flatten(-2).flatten(-3, -2)  # (…, 4, 2, 4, 2) → (…, 8, 8)
