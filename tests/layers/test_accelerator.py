"""The pretended accelerator is one: it computes what the CPU does, and finds what was left there."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from refusals import refuses

if not hasattr(torch.library.Library, "fallback"):
    pytest.skip("this PyTorch cannot pretend", allow_module_level=True)

import accelerator

HERE = accelerator.DEVICE


def on_accelerator(*shape):
    return torch.randn(shape, device="cpu").to(HERE)


def test_values_and_gradients_are_the_cpu_s():
    module, x = nn.GRU(3, 5, num_layers=2, batch_first=True, bidirectional=True), torch.randn(2, 7, 3, device="cpu")
    found = []
    for device in ("cpu", HERE):
        module.to(device)
        given = x.to(device).requires_grad_()
        output, hidden = module(given)
        found.append((output, hidden, torch.autograd.grad(output.cos().sum() + hidden.sum(), given)[0]))
    assert {tensor.device for tensor in found[1]} == {HERE}
    assert_close(tuple(tensor.cpu() for tensor in found[1]), found[0])


LEFT = {
    "mul found a tensor of shape (3,) on the CPU": lambda x: x * torch.ones(3, device="cpu"),
    "index found a tensor of shape (2,) on the CPU": lambda x: x[torch.tensor([0, 1], device="cpu")],
    "cat found a tensor of shape (5, 3) on the CPU": lambda x: torch.cat([x, torch.ones(5, 3, device="cpu")]),
    "masked_fill found a tensor of shape (5, 3) on the CPU": lambda x: x.masked_fill(x.cpu() > 0, 0.0),
    "add_ found a tensor of shape () on the CPU": lambda x: torch.zeros((), device="cpu").add_(x.sum()),
    "stack found a tensor of shape () on the CPU": lambda x: torch.stack([x.sum(), torch.ones((), device="cpu")]),
    "index_select found a tensor of shape () on the CPU": lambda x: x.index_select(0, torch.tensor(1, device="cpu")),
    "lengths must lie on the CPU": lambda x: nn.utils.rnn.pack_padded_sequence(
        x[None], torch.tensor([5], device=HERE), batch_first=True
    ),
    "normal_ found a generator on the CPU": lambda x: torch.randn(3, device=HERE, generator=torch.Generator()),
}


@pytest.mark.parametrize(("message", "left"), LEFT.items(), ids=LEFT)
def test_what_was_left_on_the_cpu_is_found(message, left):
    refuses(left, {"x": on_accelerator(5, 3)}, RuntimeError, message)


def test_a_single_number_may_come_from_the_cpu():
    x = on_accelerator(5, 3)
    assert_close((x * torch.tensor(2.0, device="cpu")).cpu(), 2 * x.cpu())


def test_a_module_s_dtype_changes_with_its_numbers():
    module = nn.Linear(3, 5).to(HERE)
    before = module.weight.tolist()
    assert module.double().weight.dtype == torch.float64
    assert module.weight.tolist() == before
    assert module(on_accelerator(2, 3).double()).dtype == torch.float64
