"""What a token takes when the keys and values before it are kept, as a ratio to reading all tokens again."""

from collections.abc import Callable, Iterator
from copy import copy

import torch

from attention import KeyValueCache, MultiHeadAttention, Transformer
from tools.bench_attention import Row, time_ratio

VOCABULARY, EMBED_DIM, NUM_HEADS, NUM_LAYERS = 1000, 256, 8, 4
KEY_HEADS = 2  # of grouped heads
SHORT, LONG = 64, 512  # tokens in front
STEPS = 16  # one after another, as in generation


def cached_steps(model: Transformer, kept: int) -> Callable[[], object]:
    """Reading one token with so many in front, several times: a copy of a cache counts by itself."""
    caches = model.make_caches()
    for count in (kept - 1, 1):  # after the second there is room for more
        model(torch.randint(VOCABULARY, (1, count)), caches)
    token = torch.randint(VOCABULARY, (1, 1))
    return lambda: [model(token, [copy(cache) for cache in caches]) for _ in range(STEPS)]


def kept_bytes() -> int:
    """What a layer with grouped heads keeps of a text."""
    layer, cache = MultiHeadAttention(EMBED_DIM, NUM_HEADS, num_key_value_heads=KEY_HEADS), KeyValueCache()
    tokens, nothing = torch.randn(1, LONG, EMBED_DIM), torch.empty(1, KEY_HEADS, 0, EMBED_DIM // NUM_HEADS)
    layer(tokens, tokens, tokens, is_causal=True, cache=cache)
    return sum(kept.nbytes for kept in cache.update(nothing, nothing))


def cache_rows() -> Iterator[Row]:
    """Each benchmark's name, figure, bound and unit; on one thread, of the CPU."""
    torch.set_num_threads(1)
    with torch.inference_mode():
        model = Transformer(VOCABULARY, EMBED_DIM, NUM_HEADS, NUM_LAYERS, max_length=LONG + 1).eval()
        short, long = cached_steps(model, SHORT), cached_steps(model, LONG)
        tokens = torch.randint(VOCABULARY, (1, LONG + 1))
        again = time_ratio(long, lambda: model(tokens)) / STEPS
        yield f"a cached step, {LONG} in front, to reading all again", again, 0.02, "×"
        yield f"a cached step, {LONG} in front, to {SHORT} in front", time_ratio(long, short), 1.3, "×"
        share = kept_bytes() / (2 * LONG * EMBED_DIM * torch.float32.itemsize)  # of a cache with all heads
        yield f"a cache of {KEY_HEADS} of {NUM_HEADS} heads, bytes, to all heads'", share, KEY_HEADS / NUM_HEADS, "×"
