"""How the ratios change with the length: ``python -m tools.bench_lengths`` prints what a note on chapter 12 draws."""

from collections.abc import Iterator
from functools import partial
from statistics import median

import torch
from torch import nn

from attention import MultiHeadAttention, scaled_dot_product_attention, streaming_attention
from tools.bench_attention import EMBED_DIM, LENGTHS, NUM_HEADS, evaluate, rows, time_ratio

REPEATS = 5
BUDGET = 0.4  # seconds a ratio


def ratios(length: int) -> Iterator[tuple[str, float]]:
    """Each line's name and its ratio at this length, on one thread."""
    theirs = nn.MultiheadAttention(EMBED_DIM, NUM_HEADS, batch_first=True)
    ours, tokens = MultiHeadAttention.from_torch(theirs), torch.randn(1, length, EMBED_DIM)
    layers = partial(ours, tokens, tokens, tokens), partial(theirs, tokens, tokens, tokens, need_weights=False)
    names = "evaluated", "training"
    for name, (_, ratio, *_) in zip(names, rows("layer", *layers, (0, 0), BUDGET), strict=True):
        yield name, ratio
    heads = [torch.randn(1, NUM_HEADS, length, EMBED_DIM // NUM_HEADS) for _ in range(3)]
    for name, function in (("function", scaled_dot_product_attention), ("streaming", streaming_attention)):
        fused = partial(nn.functional.scaled_dot_product_attention, *heads)
        yield name, time_ratio(partial(evaluate, partial(function, *heads)), partial(evaluate, fused), BUDGET)


def main() -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    lines = {}
    for length in LENGTHS:
        found = [dict(ratios(length)) for _ in range(REPEATS)]
        for name in found[0]:
            lines.setdefault(name, []).append(round(median(each[name] for each in found), 2))
    print("lengths", LENGTHS)
    for name, line in lines.items():
        print(f"{name!r}: {line},")


if __name__ == "__main__":
    main()
