"""PyTorch's multi-head module, read into the places of ours.

Dimensions: E width.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn


@contextmanager
def made_like(tensor: Tensor) -> Iterator[None]:
    """What is made inside has the tensor's device and dtype, and what is drawn does not change what is drawn later."""
    before = torch.get_default_dtype()
    with torch.random.fork_rng([tensor.device] if tensor.is_cuda else []), tensor.device:
        torch.set_default_dtype(tensor.dtype)
        try:
            yield
        finally:
            torch.set_default_dtype(before)


def read_torch(module: nn.MultiheadAttention) -> dict[str, tuple[Tensor, bool]]:
    """The parameters of PyTorch's module under the names that ours has for them, and whether they are trained."""
    _check_torch(module)
    named = {f"out_proj.{kind}": (each, each.requires_grad) for kind, each in module.out_proj.named_parameters()}
    for kind, stacked in (("weight", module.in_proj_weight), ("bias", module.in_proj_bias)):
        if stacked is not None:
            for name, part in zip("qkv", stacked.chunk(3), strict=True):  # (3E, …) → three times (E, …)
                named[f"{name}_proj.{kind}"] = part, stacked.requires_grad
    return named


def _check_torch(module: nn.MultiheadAttention) -> None:
    if not isinstance(module, nn.MultiheadAttention):
        raise TypeError(f"module must be a torch.nn.MultiheadAttention, found {type(module).__name__}")
    if not module.kdim == module.vdim == module.embed_dim:
        widths = f"kdim={module.kdim}, vdim={module.vdim}"
        raise ValueError(f"module must have keys and values of its own width {module.embed_dim}, found {widths}")
    if module.bias_k is not None or module.add_zero_attn:
        found = "add_zero_attn" if module.add_zero_attn else "add_bias_kv"
        raise ValueError(f"module must not add keys of its own, found {found}")
