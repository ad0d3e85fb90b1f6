"""What attention takes, as a ratio to what PyTorch's own module or the formula as it is published takes."""

import math
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial

import torch
from torch import Tensor, nn

from attention import MultiHeadAttention, causal_mask

EMBED_DIM, NUM_HEADS = 512, 8  # the base model of Vaswani et al. (2017)
LENGTHS = [2**power for power in range(7, 13)]
LONGEST_WITH_WEIGHTS = 2048
Row = tuple[str, float, float, str]

# How much memory the second doubling of the length adds for each byte that the first added: 2 is linear, 4 quadratic.
GROWTH = f"""
import resource
import torch
from attention import MultiHeadAttention

module, peaks = MultiHeadAttention({EMBED_DIM}, {NUM_HEADS}), []
for length in (512, 1024, 2048):
    tokens = torch.randn(4, length, {EMBED_DIM})
    module(tokens, tokens, tokens)[0].sum().backward()
    peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
print((peaks[2] - peaks[1]) / (peaks[1] - peaks[0]))
"""


class Published(MultiHeadAttention):
    """The formula, written down as it is published, with a mask that is added to the scores."""

    def forward(self, tokens: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        projected = self.q_proj(tokens), self.k_proj(tokens), self.v_proj(tokens)
        query, key, value = (each.view(1, -1, NUM_HEADS, EMBED_DIM // NUM_HEADS).transpose(1, 2) for each in projected)
        weights = (query @ key.mT / math.sqrt(EMBED_DIM // NUM_HEADS) + mask).softmax(-1)
        return self.out_proj((weights @ value).transpose(1, 2).reshape(tokens.shape)), weights


def evaluate(forward: partial) -> None:
    with torch.no_grad():
        forward()


def train(forward: partial) -> None:
    forward()[0].sum().backward()


def time_ratio(ours: Callable[[], object], theirs: Callable[[], object], budget: float = 1.0) -> float:
    """The fastest run of each, one divided by the other; they take turns, so that what slows one slows both.

    On the CPU its own time is taken, to which other processes on a busy machine do not count.
    """
    clock = time.perf_counter if torch.cuda.is_available() else time.process_time
    fastest = {ours: math.inf, theirs: math.inf}
    turns, end = 0, time.perf_counter() + budget
    while turns < 3 or time.perf_counter() < end:
        for action in fastest:
            start = clock()
            action()
            if torch.cuda.is_available():
                torch.cuda.synchronize()
            fastest[action] = min(fastest[action], clock() - start)
        turns += 1
    return fastest[ours] / fastest[theirs]


def rows(name: str, ours: partial, theirs: partial, bounds: tuple[float, float], budget: float = 1.0) -> Iterator[Row]:
    """Evaluation, in which PyTorch's module takes a road of its own, and a step of training."""
    for pass_, bound in zip((evaluate, train), bounds, strict=True):
        for forward in (ours, theirs):
            forward.func.train(pass_ is train)
        ratio = time_ratio(partial(pass_, ours), partial(pass_, theirs), budget)
        yield f"{name}, {pass_.__name__}", ratio, bound, "×"


def attention_rows() -> Iterator[Row]:
    """Each benchmark's name, figure, bound and unit; on one thread, as two wait for each other on a busy machine."""
    # First, as a new process begins with the peak of the one that starts it.
    growth = float(subprocess.check_output([sys.executable, "-c", GROWTH]))
    yield "multi-head, memory that twice the length adds", growth, 2.2, "×"
    torch.set_num_threads(1)
    for device in ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]:
        theirs = nn.MultiheadAttention(EMBED_DIM, NUM_HEADS, batch_first=True, device=device)
        ours, published = MultiHeadAttention.from_torch(theirs), Published.from_torch(theirs)
        for length in LENGTHS:
            tokens = torch.randn(1, length, EMBED_DIM, device=device)
            fused = partial(ours, tokens, tokens, tokens), partial(theirs, tokens, tokens, tokens, need_weights=False)
            bounds = (0.7 if (device, length) == ("cpu", 2048) else 1.05, 1.05)
            yield from rows(f"multi-head, {device}, {length}, to PyTorch's", *fused, bounds)
            if length <= LONGEST_WITH_WEIGHTS:
                mask = torch.zeros(length, length, device=device).masked_fill(
                    ~causal_mask(length, device=device), -math.inf
                )
                readable = partial(ours, tokens, tokens, tokens, is_causal=True, need_weights=True)
                name = f"multi-head with weights, {device}, {length}, to the published formula"
                yield from rows(name, readable, partial(published, tokens, mask), (1.0, 1.0))
