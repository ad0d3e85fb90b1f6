"""Which device is chosen on which machine, and what is said when the device asked for cannot be had."""

import re

import pytest
import torch

from attention import default_device


@pytest.fixture
def machine(monkeypatch):
    """Make this machine look as if it had CUDA or MPS, and set or unset ATTENTION_DEVICE."""

    def pretend(*, cuda, mps, wanted):
        monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
        monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)
        if wanted is None:
            monkeypatch.delenv("ATTENTION_DEVICE", raising=False)
        else:
            monkeypatch.setenv("ATTENTION_DEVICE", wanted)

    return pretend


@pytest.mark.parametrize("wanted", [None, ""], ids=["unset", "empty"])
@pytest.mark.parametrize(
    ("cuda", "mps", "best"), [(True, True, "cuda"), (True, False, "cuda"), (False, True, "mps"), (False, False, "cpu")]
)
def test_cuda_comes_before_mps_and_mps_before_the_cpu(machine, cuda, mps, best, wanted):
    machine(cuda=cuda, mps=mps, wanted=wanted)
    assert default_device() == torch.device(best)


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
@pytest.mark.parametrize(("cuda", "best"), [(True, "cuda"), (False, "cpu")])
def test_mps_is_passed_over_for_what_it_lacks(machine, cuda, best, dtype):
    machine(cuda=cuda, mps=True, wanted=None)
    assert default_device(dtype) == torch.device(best)
    assert default_device(torch.float16) == torch.device("cuda" if cuda else "mps")


def test_mps_is_refused_where_it_was_wished_for_and_lacks_the_dtype(machine, monkeypatch):
    machine(cuda=False, mps=True, wanted="mps")
    monkeypatch.setattr(torch, "empty", lambda *_, **__: None)  # as on a machine that has it
    assert default_device() == torch.device("mps")
    with pytest.raises(ValueError, match=r"^ATTENTION_DEVICE='mps' has no torch\.float64; try cpu$"):
        default_device(torch.float64)


@pytest.mark.parametrize("wanted", ["cpu", "cpu:0", "meta"])
def test_the_environment_has_the_last_word(machine, wanted):
    machine(cuda=True, mps=True, wanted=wanted)
    assert default_device() == torch.device(wanted)


@pytest.mark.parametrize("wanted", ["gpu", "cuda:one"])
def test_an_unknown_device_is_refused(machine, wanted):
    machine(cuda=True, mps=True, wanted=wanted)
    message = f"ATTENTION_DEVICE='{wanted}' is not a device PyTorch knows; try cpu, cuda, cuda:0 or mps"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        default_device()


def test_an_absent_device_is_refused_with_the_first_sentence_of_pytorch_s_reason(machine, monkeypatch):
    machine(cuda=True, mps=True, wanted="cuda:99")  # absent from every machine, whatever is_available says
    with pytest.raises(ValueError, match=r"^ATTENTION_DEVICE='cuda:99' is not on this machine: \w.+\w$"):
        default_device()
    for error, more in ((AssertionError, ". For reasons."), (RuntimeError, "\nFor reasons."), (ImportError, "")):

        def fail(*_, error=error, more=more, **__):
            raise error(f"\nNo torch.mps here{more}")

        monkeypatch.setattr(torch, "empty", fail)
        with pytest.raises(ValueError, match=r"'cuda:99' is not on this machine: No torch\.mps here$"):
            default_device()
