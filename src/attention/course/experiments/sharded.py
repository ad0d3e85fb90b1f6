"""One attention over several processes: each has a part of the keys, answers for it, and the answers are merged.

``python -m torch.distributed.run --nproc-per-node=2 -m attention.course.experiments.sharded`` compares answer and
gradients with those of one process, and counts what was sent. Processes speak by gloo on CPUs and by NCCL on GPUs.
"""

import argparse
import math
import os
import sys
import time
from datetime import timedelta
from statistics import median

import torch
import torch.distributed as dist
from torch import Tensor
from torch.autograd.function import once_differentiable

from attention.arguments import check_choice, check_query_key, check_value
from attention.efficient import Partial, merge, stream, stream_backward, streaming_attention

PATIENCE = 20.0  # seconds that a process waits for another before it says so


class Exchange:
    """Merge what every process answers, and count the bytes that each receives.

    Args:
        how: ``"gather"``, where each process receives the parts of all others; or ``"ring"``, where each process
            merges one stretch of the queries, of which its neighbour sends it the part so far, and the merged stretches
            then go round. P processes receive P − 1 parts each, or 2 (P − 1) / P.

    Raises:
        ValueError: another ``how``.
    """

    def __init__(self, how: str = "ring") -> None:
        check_choice("how", how, ("gather", "ring"))
        self.how, self.received = how, 0
        self.rank, self.count = dist.get_rank(), dist.get_world_size()

    def merged(self, own: Partial) -> Partial:
        """What all processes' keys answer together, the same on each."""
        *asked, width = own.mixture.shape
        rows = _rows(own).reshape(-1, width + 2)
        rows = _waiting(self._gathered if self.how == "gather" else self._round, rows)
        return _partial(rows.reshape(*asked, width + 2))

    def summed(self, gradient: Tensor) -> Tensor:
        """The sum of all processes' tensors."""
        _waiting(dist.all_reduce, gradient)
        return gradient

    def _gathered(self, rows: Tensor) -> Tensor:
        parts = [torch.empty_like(rows) for _ in range(self.count)]
        dist.all_gather(parts, rows)
        self.received += (self.count - 1) * rows.numel() * rows.element_size()
        found = _partial(parts[0])
        for part in parts[1:]:
            found = merge(found, _partial(part))
        return _rows(found)

    def _round(self, rows: Tensor) -> Tensor:
        stretches = [*rows.tensor_split(self.count)]
        for step in range(self.count - 1):  # afterwards this process has merged the stretch that is its right's
            number = (self.rank - step - 1) % self.count
            arrived = self._pass_on(stretches[(self.rank - step) % self.count], stretches[number])
            stretches[number] = _rows(merge(_partial(arrived), _partial(stretches[number])))
        for step in range(self.count - 1):
            number = (self.rank - step) % self.count
            stretches[number] = self._pass_on(stretches[(self.rank - step + 1) % self.count], stretches[number])
        return torch.cat(stretches)

    def _pass_on(self, leaving: Tensor, like: Tensor) -> Tensor:
        """Send to the right what leaves, and return what comes from the left."""
        arrived = torch.empty_like(like)
        right, left = (self.rank + 1) % self.count, (self.rank - 1) % self.count
        sent = dist.P2POp(dist.isend, leaving.contiguous(), right)
        for work in dist.batch_isend_irecv([sent, dist.P2POp(dist.irecv, arrived, left)]):
            work.wait()
        self.received += arrived.numel() * arrived.element_size()
        return arrived


def _partial(rows: Tensor) -> Partial:
    return Partial(rows[..., 0], rows[..., 1], rows[..., 2:])


def _rows(found: Partial) -> Tensor:
    """A row a query: the largest score, the total, the mixture."""
    return torch.cat([found.largest.unsqueeze(-1), found.total.unsqueeze(-1), found.mixture], dim=-1)


def _waiting(exchange, tensor: Tensor):
    try:
        return exchange(tensor)
    except RuntimeError as error:
        raise RuntimeError(
            "another process does not answer: it has ended, or has said nothing for as long as this one waits"
        ) from error


def sharded_attention(query: Tensor, key: Tensor, value: Tensor, exchange: Exchange) -> Tensor:
    """Attention to the keys of all processes, of which each has its own part.

    Args:
        query: (…, L, D), the same on every process.
        key: (…, S, D), this process's keys, with the query's leading dimensions.
        value: (…, S, Dv), their values.
        exchange: how the processes' answers are merged.

    Returns:
        output (…, L, Dv), the same on every process. Its gradient, which must be the same on every process too, gives
        each process the gradients of all queries and of its own keys and values.

    Raises:
        TypeError, ValueError: as :func:`attention.scaled_dot_product_attention`.
        RuntimeError: another process has ended, or does not answer.
    """
    check_query_key(query, key)
    check_value(query, key, value)
    return _Sharded.apply(query / math.sqrt(query.size(-1)), key, value, exchange)


class _Sharded(torch.autograd.Function):
    @staticmethod
    def forward(ctx, query, key, value, exchange):
        found = exchange.merged(stream(query, key, value))
        output = found.answer()
        ctx.save_for_backward(query, key, value, output, found.log_total())
        ctx.exchange = exchange
        return output

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):
        query, key, value, output, log_total = ctx.saved_tensors
        found = stream_backward(gradient, output, log_total, query, key, value, bias_too=False)
        return ctx.exchange.summed(found[0]), found[1], found[2], None


# ------------------------------------------------------------------------------------------------ the command


def compare(length: int, heads: int, width: int, how: str, device: torch.device) -> dict[str, float]:
    """The largest differences from one process's answer and gradients, and the bytes that this process received."""
    generator = torch.Generator().manual_seed(0)
    shape = heads, length, width
    query, key, value, upstream = (torch.randn(shape, generator=generator).to(device) for _ in range(4))
    whole = [tensor.clone().requires_grad_() for tensor in (query, key, value)]
    expected = streaming_attention(*whole)
    wanted = torch.autograd.grad(expected, whole, upstream)

    exchange = Exchange(how)
    mine = slice(None), _shard(length, exchange)
    parts = [tensor.requires_grad_() for tensor in (query, key[mine].clone(), value[mine].clone())]
    output = sharded_attention(*parts, exchange)
    found = torch.autograd.grad(output, parts, upstream)
    return {
        "answer": (output - expected).abs().max().item(),
        "queries": (found[0] - wanted[0]).abs().max().item(),
        "keys": (found[1] - wanted[1][mine]).abs().max().item(),
        "values": (found[2] - wanted[2][mine]).abs().max().item(),
        "bytes": exchange.received,
    }


def _shard(length: int, exchange: Exchange) -> slice:
    ends = [length * number // exchange.count for number in range(exchange.count + 1)]
    return slice(ends[exchange.rank], ends[exchange.rank + 1])


def time_ratio(length: int, heads: int, width: int, device: torch.device, turns: int = 5) -> float:
    """What the sharded forward pass takes, as a share of what one process takes alone while the others wait."""
    query, key, value = (torch.randn(heads, length, width, device=device) for _ in range(3))
    exchange = Exchange("ring")
    mine = slice(None), _shard(length, exchange)

    def seconds(run) -> float:
        dist.barrier()
        start = time.perf_counter()
        run()
        dist.barrier()
        return time.perf_counter() - start

    def alone():
        if exchange.rank == 0:
            streaming_attention(query, key, value)

    with torch.inference_mode():
        both = [
            (seconds(lambda: sharded_attention(query, key[mine], value[mine], exchange)), seconds(alone))
            for _ in range(turns)
        ]
    return median(ours for ours, _ in both) / median(theirs for _, theirs in both)


def main() -> int:
    """Compare, and print what was found: the exit status is 0 when a process's share agrees with the whole."""
    parser = argparse.ArgumentParser(description="Attention over several processes, compared with one.")
    parser.add_argument("--length", type=int, default=512, help="number of queries and keys")
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--width", type=int, default=32, help="of a head")
    parser.add_argument("--patience", type=float, default=PATIENCE, help="seconds to wait for another process")
    parser.add_argument("--time", action="store_true", help="also print the time as a share of one process's")
    options = parser.parse_args()
    if "RANK" not in os.environ:
        parser.error(f"start it with python -m torch.distributed.run --nproc-per-node=2 -m {__spec__.name}")
    torch.set_num_threads(1)
    on_gpus = torch.cuda.is_available() and torch.cuda.device_count() >= int(os.environ["LOCAL_WORLD_SIZE"])
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if on_gpus else torch.device("cpu")
    if on_gpus:
        torch.cuda.set_device(device)
    try:
        dist.init_process_group("nccl" if on_gpus else "gloo", timeout=timedelta(seconds=options.patience))
        sizes = options.length, options.heads, options.width
        found = {how: compare(*sizes, how, device) for how in ("gather", "ring")}
        ratio = time_ratio(*sizes, device) if options.time else None
    except (RuntimeError, dist.DistError) as error:
        print(f"process {os.environ['RANK']} of {os.environ['WORLD_SIZE']}: {error}", file=sys.stderr, flush=True)
        os._exit(1)  # leaving the group would wait for the others
    for how, numbers in found.items():
        differences = {name: number for name, number in numbers.items() if name != "bytes"}
        if max(differences.values()) > 1e-4:
            print(f"{how}: process {dist.get_rank()} differs: {differences}", file=sys.stderr, flush=True)
            os._exit(1)
        if dist.get_rank() == 0:
            print(f"{how:6}  answer and gradients agree   received by each process: {numbers['bytes']:,} bytes")
    if ratio is not None and dist.get_rank() == 0:
        print(f"time, as a share of one process's: {ratio:.3f}")
    dist.destroy_process_group()
    return 0


if __name__ == "__main__":
    sys.exit(main())
