"""Which device to compute on when nobody has named one."""

import os
import re

import torch

LACKING = {"mps": {torch.float64, torch.complex128}}  # dtypes that a type of device does not have


def default_device(dtype: torch.dtype = torch.float32) -> torch.device:
    """The fastest device at hand: CUDA, else Apple's MPS, else the CPU.

    The environment variable ``ATTENTION_DEVICE`` overrides it (``cpu``, ``cuda``, ``cuda:1``, ``mps``, …).

    Args:
        dtype: of the tensors to be made there. MPS, for one, has no ``torch.float64`` and is passed over for it.

    Returns:
        a device on which a tensor of this dtype can be made.

    Raises:
        ValueError: ``ATTENTION_DEVICE`` names a device that PyTorch does not know, that this machine does not
            have, or that does not have the dtype.
    """
    wanted = os.environ.get("ATTENTION_DEVICE")
    if wanted:
        return checked_device("ATTENTION_DEVICE", wanted, dtype)
    if torch.cuda.is_available():
        return torch.device("cuda")
    if torch.backends.mps.is_available() and dtype not in LACKING["mps"]:
        return torch.device("mps")
    return torch.device("cpu")


def checked_device(name: str, wanted: str, dtype: torch.dtype = torch.float32) -> torch.device:
    """The device ``wanted`` by the setting ``name``; a ValueError if it is unknown, absent, or lacks the dtype."""
    try:
        device = torch.device(wanted)
    except RuntimeError:
        raise ValueError(f"{name}={wanted!r} is not a device PyTorch knows; try cpu, cuda, cuda:0 or mps") from None
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, ImportError) as error:
        reason = re.split(r"\.\s|\n", str(error).strip())[0]  # its first sentence: some go on for a page
        raise ValueError(f"{name}={wanted!r} is not on this machine: {reason}") from error
    if dtype in LACKING.get(device.type, ()):
        raise ValueError(f"{name}={wanted!r} has no {dtype}; try cpu")
    return device
