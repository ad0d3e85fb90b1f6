"""One attention over several processes, each with a stretch of the text: keys and values go round in a ring.

``torchrun --standalone --nproc-per-node=2 -m attention.course.experiments.sharded`` compares what the processes answer
with the answer of one, and counts what each receives. They speak by gloo, on CPUs.
"""

import math
import sys
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import Tensor

from attention import scaled_dot_product_attention
from attention.efficient import merge, part

STRETCH, HEADS, WIDTH = 256, 4, 32  # tokens of a process, heads, their width


def pass_on(leaving: Tensor) -> Tensor:
    """Send a tensor to the right, and return what comes from the left."""
    rank, count = dist.get_rank(), dist.get_world_size()
    arrived = torch.empty_like(leaving)
    sent = dist.isend(leaving, (rank + 1) % count)
    dist.recv(arrived, (rank - 1) % count)
    sent.wait()
    return arrived


def ring_attention(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, int]:
    """Attention to the keys of all processes; no process holds more than two stretches of them.

    Args:
        query: this process's queries (H, L, D).
        key: this process's keys (H, S, D), contiguous, as many as every other's.
        value: their values (H, S, D), contiguous.

    Returns:
        the answers to this process's queries (H, L, D); the bytes that it received.

    Source: Liu et al. (2024), section 3, without a mask and without the backward pass.
    """
    found, received = None, 0
    for step in range(dist.get_world_size()):
        if step:
            key, value = pass_on(key), pass_on(value)
            received += key.nbytes + value.nbytes
        new = part(query @ key.mT / math.sqrt(query.size(-1)), value)
        found = new if found is None else merge(found, new)
    return found.answer(), received


def main() -> int:
    """Compare with one process: the exit status is 0 when the answers agree."""
    dist.init_process_group("gloo", timeout=timedelta(seconds=60))
    rank, count = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    whole = torch.randn(3, HEADS, STRETCH * count, WIDTH)  # the same on every process
    mine = [each.chunk(count, dim=1)[rank].contiguous() for each in whole]
    answer, received = ring_attention(*mine)
    expected = scaled_dot_product_attention(*whole).chunk(count, dim=1)[rank]
    agrees = torch.allclose(answer, expected, atol=1e-5)
    if rank == 0:
        print(f"{count} processes, {STRETCH * count} tokens: answers agree: {agrees}")
        print(f"each received {received:,} bytes of keys and values")
    dist.destroy_process_group()
    return 0 if agrees else 1


if __name__ == "__main__":
    sys.exit(main())
