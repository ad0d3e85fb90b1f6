"""How often the host reads from an accelerator: at each read it has to wait until all earlier work there is done.

It is counted on the pretended accelerator, which also refuses to mix its tensors with the CPU's.
"""

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

can_pretend = pytest.mark.skipif(
    not hasattr(torch.library.Library, "fallback"), reason="this PyTorch cannot pretend to have an accelerator"
)
aten = torch.ops.aten


class Reads(TorchDispatchMode):
    def __init__(self, device):
        super().__init__()
        self.device = device
        self.count = 0

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        result = operation(*args, **kwargs or {})
        takes = any(tensor.device == self.device for tensor in tensors(args))
        gives = any(tensor.device == self.device for tensor in tensors(result))
        if takes and not gives and result is not None:  # a number, or a copy on the CPU
            self.count += 1
        return result


def tensors(things):
    return [thing for thing in tree_leaves(things) if isinstance(thing, torch.Tensor)]


def reads(action, device) -> int:
    with Reads(device) as mode:
        action()
    return mode.count
