"""A pretended accelerator, for machines that have none: what lies on it cannot be mixed with what lies on the CPU.

PyTorch knows a device type, ``lazy``, that it computes nothing on unless told how. Here each operation on it is done on
the CPU and its result put back, with random numbers of its own; where CUDA would refuse an operation, because one of
its tensors lies on the CPU or its generator does, so does this (and in one case where CUDA would not: an index has to
lie here too). What it cannot show are CUDA's own kernels: their rounding, and what cuDNN asks for. Importing the module
makes the device.
"""

from functools import partial

import torch
from torch._C import DispatchKey
from torch.optim.optimizer import register_optimizer_step_pre_hook

DEVICE = torch.device("lazy", 0)
MOVES = {"copy_", "_to_copy", "_pack_padded_sequence"}  # these take tensors from both sides


class Tensor(torch.Tensor):
    """A tensor that says it lies on the accelerator; ``numbers`` holds them, on the CPU."""

    @staticmethod
    def __new__(cls, numbers: torch.Tensor):
        layout = {"strides": numbers.stride(), "storage_offset": numbers.storage_offset()}
        return torch.Tensor._make_wrapper_subclass(cls, numbers.shape, dtype=numbers.dtype, device=DEVICE, **layout)

    def __init__(self, numbers: torch.Tensor) -> None:
        self.numbers = numbers

    @classmethod
    def __torch_dispatch__(cls, operation, types, args=(), kwargs=None):
        return compute(operation, *args, **kwargs or {})

    # What PyTorch does for its own classes alone, or behind the dispatcher's back:

    def tolist(self):
        return self.cpu().tolist()  # through the dispatcher, where reads are counted

    def __format__(self, spec: str) -> str:
        return format(self.numbers.detach() if self.dim() == 0 else repr(self), spec)

    def __reduce_ex__(self, protocol):
        return self.numbers.__reduce_ex__(protocol)

    @property
    def data(self):
        return Tensor(self.numbers)

    @data.setter
    def data(self, other: torch.Tensor) -> None:
        torch.Tensor.data.__set__(self, other)
        self.numbers = other.numbers


def compute(operation, *args, **kwargs):
    """What an operation gives, on the accelerator if that is where it belongs."""
    name = operation.overloadpacket.__name__
    if name == "as_strided_":  # what transpose_ and its like come down to: it turns the outside and the numbers
        operation._op_dk(DispatchKey.CompositeExplicitAutogradNonFunctional, *args)
        args[0].numbers.as_strided_(*args[1:])
        return args[0]
    if torch.Tag.inplace_view in operation.tags:
        return operation._op_dk(DispatchKey.CompositeExplicitAutograd, *args)

    there, here, elementwise = [], {}, torch.Tag.pointwise in operation.tags
    if name == "_pack_padded_sequence" and isinstance(args[1], Tensor):
        raise RuntimeError("lengths must lie on the CPU")

    def bring(tensor):
        if not isinstance(tensor, Tensor):
            there.append(tensor)
            return tensor
        here[id(tensor.numbers)] = tensor
        return tensor.numbers

    args = each(args, bring)
    kwargs = {key: each(value, bring) for key, value in kwargs.items()}
    stays = bool(here)
    if kwargs.get("device") is not None:
        stays = torch.device(kwargs["device"]).type == DEVICE.type
        if stays:
            kwargs["device"] = "cpu"
    if stays and name not in MOVES:
        for tensor in there:
            is_number = elementwise and tensor.dim() == 0 and not (tensor is args[0] and name.endswith("_"))
            if not is_number:  # PyTorch lets that come from the CPU
                raise RuntimeError(f"{name} found a tensor of shape {tuple(tensor.shape)} on the CPU")
        if kwargs.get("generator") is not None:
            raise RuntimeError(f"{name} found a generator on the CPU")
    if stays and any(argument.name == "generator" for argument in operation._schema.arguments):
        kwargs["generator"] = CHANCE
    result = operation(*args, **kwargs)
    if name == "_pack_padded_sequence":
        return Tensor(result[0]), result[1]
    if not stays:
        return result
    # An operation in place returns what it was given.
    return each(result, lambda tensor: here[id(tensor)] if id(tensor) in here else Tensor(tensor))


def each(thing, change):
    """A tensor changed, or each tensor in a list or a tuple; all else as it is."""
    if isinstance(thing, torch.Tensor):
        return change(thing)
    return type(thing)(each(part, change) for part in thing) if isinstance(thing, list | tuple) else thing


CHANCE = torch.Generator()


def manual_seed(seed: int, seed_cpu=torch.manual_seed) -> torch.Generator:
    CHANCE.manual_seed(seed + 1)  # not the numbers that the CPU draws
    return seed_cpu(seed)


def refuse_training_elsewhere() -> None:
    """From now on, a step of an optimiser is an error if one of its parameters lies on another device."""

    def refuse(optimizer, args, kwargs):
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                if parameter.device != DEVICE:
                    shape, device = tuple(parameter.shape), parameter.device
                    raise RuntimeError(f"{type(optimizer).__name__} trains a parameter of shape {shape} on {device}")

    register_optimizer_step_pre_hook(refuse)


torch.manual_seed = manual_seed
_all = torch.library.Library("_", "IMPL")
_all.fallback(compute, "Lazy")
_some = torch.library.Library("aten", "IMPL")  # these go by ways that a fallback cannot serve
_aten = torch.ops.aten
for _operation in (
    _aten.copy_.default,
    _aten._local_scalar_dense.default,
    _aten.arange.default,
    _aten.arange.start,
    _aten.arange.start_step,
    _aten.eye.default,
    _aten.eye.m,
):
    _some.impl(_operation.name().removeprefix("aten::"), partial(compute, _operation), "Lazy")
