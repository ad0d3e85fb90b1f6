"""The benchmarks, as tables of ratios: ``python -m tools.bench``, or one of them, say ``python -m tools.bench layers``.

A ratio of times is the median of five rounds, with the least and the largest of them. In a round two programs take
turns on one thread; on a CPU its own time is taken, to which other programs on a busy machine do not count.
"""

import json
import math
import platform
import re
import sys
import time
from collections.abc import Callable
from datetime import date
from functools import partial
from pathlib import Path
from statistics import median

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.benchmark import Timer

from attention import (
    MultiHeadAttention,
    Transformer,
    attention_weights,
    default_device,
    scaled_dot_product_attention,
)
from attention.course import experiments
from attention.explorer import curves, explore, heatmap
from attention.explorer.front import script, stylesheet
from tools.chromium import chromium

ROUNDS = 5
TOKENS = 16  # written with the cache
EMBED_DIM, NUM_HEADS = 512, 8  # the base model of Vaswani et al. (2017)
STORED = Path(experiments.__file__).parent / "stored"

FRAME = 16  # milliseconds
STEPS = 200
# From an event's own time stamp to the moment after the frame that shows the change has been painted.
MEASURE = """() => {
    window.took = [];
    addEventListener('pointermove', (event) => requestAnimationFrame(() => {
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = () => took.push(performance.now() - event.timeStamp);
        port2.postMessage(null);
    }), true);
}"""


def ratios(ours: Callable[[], object], theirs: Callable[[], object], seconds: float = 0.1) -> list[float]:
    """One program's time divided by another's, of each round."""
    clock = {"timer": time.process_time} if default_device().type == "cpu" else {}
    timers = [Timer("run()", globals={"run": run}, **clock) for run in (ours, theirs)]
    fastest = [[min(timer.blocked_autorange(min_run_time=seconds).times) for timer in timers] for _ in range(ROUNDS)]
    return [mine / other for mine, other in fastest]


def show(title: str, columns: list[str], rows: dict[str, list[list[float]]]) -> None:
    """Print a table: of each cell the median, the least and the largest."""
    print(f"\n{title}\n{'':38}" + "".join(f"{column:>20}" for column in columns))
    for name, cells in rows.items():
        said = [f"{median(cell):.2f} ({min(cell):.2f}–{max(cell):.2f})" for cell in cells]
        print(f"{name:38}" + "".join(f"{cell:>20}" for cell in said), flush=True)


def published(layer: MultiHeadAttention, tokens: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Multi-head attention as it is published: two products, a softmax, and a mask that is added to the scores."""
    projections = (layer.q_proj, layer.k_proj, layer.v_proj)
    query, key, value = (each(tokens).unflatten(-1, (NUM_HEADS, -1)).transpose(1, 2) for each in projections)
    weights = (query @ key.mT / math.sqrt(query.size(-1)) + mask).softmax(-1)
    return layer.out_proj((weights @ value).transpose(1, 2).flatten(-2)), weights


def layers() -> None:
    """A layer beside PyTorch's, with weights beside the published formula, and the function beside PyTorch's."""
    device, rows = default_device(), {}
    theirs = nn.MultiheadAttention(EMBED_DIM, NUM_HEADS, batch_first=True, device=device)
    ours = MultiHeadAttention.from_torch(theirs)
    for length in (128, 256, 512, 1024, 2048, 4096):
        tokens = torch.randn(1, length, EMBED_DIM, device=device)
        heads = torch.randn(3, 1, NUM_HEADS, length, EMBED_DIM // NUM_HEADS, device=device)
        mask = torch.full((length, length), -math.inf, device=device).triu(1)
        plain = partial(ours, tokens, tokens, tokens), partial(theirs, tokens, tokens, tokens, need_weights=False)
        with_weights = partial(plain[0], is_causal=True, need_weights=True), partial(published, ours, tokens, mask)
        functions = (partial(each, *heads) for each in (scaled_dot_product_attention, F.scaled_dot_product_attention))
        rows[f"{length} tokens"] = [
            ratios(*(how(each) for each in pair))
            for pair in (plain, with_weights)
            for how in (torch.no_grad(), lambda layer: lambda: layer()[0].sum().backward())
        ] + [ratios(*functions)]
    title = f"Our time on {device} divided by PyTorch's layer's, the published formula's, PyTorch's fused function's"
    show(title, ["evaluated", "training", "weights", "weights, training", "function"], rows)


def cache() -> None:
    """What one more token takes, with and without a cache; the numbers that chapter 13 prints are written anew."""
    rows, models = {}, {"2 blocks of width 64": (64, 4, 2), "8 blocks of width 512": (512, 8, 8)}
    for name, (width, heads, blocks) in models.items():
        model = Transformer(64, width, heads, blocks, max_length=1024 + TOKENS).eval()
        for length in (64, 256, 1024):
            tokens = torch.randint(64, (1, length + TOKENS))
            rounds = [_seconds_a_token(model, tokens) for _ in range(ROUNDS)]
            rows[f"{name}, after {length}"] = [[1000 * each for each in kind] for kind in zip(*rounds, strict=True)]
    show("Milliseconds for one more token", ["all read again", "with a cache"], rows)
    together = {}  # the larger model, after 64 tokens of each text
    for texts in (1, 2, 8, 64):
        tokens = torch.randint(64, (texts, 64 + TOKENS))
        rounds = [1000 * _seconds_a_token(model, tokens)[1] for _ in range(ROUNDS)]
        print(f"{texts} texts at once: {min(rounds):.2f} to {max(rounds):.2f} ms", flush=True)
        together[texts] = round(median(rounds), 2)
    publish("time_a_token.json", rows, texts_at_once=together)


@torch.inference_mode()
def _seconds_a_token(model: Transformer, tokens: Tensor) -> tuple[float, float]:
    caches, length = model.make_caches(), tokens.size(1) - TOKENS
    model(tokens[:, :length], caches)
    start = time.process_time()
    for token in tokens[:, length:].split(1, dim=1):
        model(token, caches)
    kept = time.process_time() - start
    start = time.process_time()
    model(tokens[:, : length + 1])
    return time.process_time() - start, kept / TOKENS


def blocks() -> None:
    """Attention step by step and in blocks; the numbers that chapter 14 prints are written anew."""

    def step_by_step(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        return (query @ key.mT / 8).softmax(-1) @ value

    rows = {}
    for length in (1024, 4096, 8192):
        head = torch.randn(3, 1, 1, length, 64)
        timers = [
            Timer("run(*head)", globals={"run": run, "head": head}, timer=time.process_time)
            for run in (step_by_step, F.scaled_dot_product_attention)
        ]
        rounds = [[1000 * timer.timeit(5).mean for timer in timers] for _ in range(ROUNDS)]
        rows[f"{length} tokens"] = [*map(list, zip(*rounds, strict=True))]
    show("Milliseconds for one head", ["step by step", "in blocks"], rows)
    publish("time_in_blocks.json", rows)


def publish(name: str, rows: dict[str, list[list[float]]], **more: object) -> None:
    """Write the medians into a file that a chapter prints, with the day and the processor."""
    where = {"processor": processor(), "threads": torch.get_num_threads(), "torch": torch.__version__}
    medians = {name: [round(median(cell), 2) for cell in cells] for name, cells in rows.items()}
    found = {"date": date.today().isoformat(), **where, "milliseconds": medians, **more}
    (STORED / name).write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def processor() -> str:
    """The processor's own name, where the system tells it."""
    known = Path("/proc/cpuinfo")
    named = re.search(r"model name\s*: (.+)", known.read_text(encoding="utf-8")) if known.exists() else None
    return named[1] if named else platform.processor() or platform.machine()


def screen() -> None:
    """From the hand to the screen: a slider, and a moment, dragged by the mouse.

    The browser paints at once and not at the display's next refresh, which would add 0 to 16.7 ms by chance.
    """
    query, key, maps, losses = torch.randn(16, 8), torch.randn(16, 8), torch.rand(41, 2, 9, 19), torch.rand(41)

    def emerge(step=0):
        plot = curves(range(41), {"loss": losses}, moments={"now": step}, handle=("now", "step"))
        return [plot, *(heatmap(each, digits=1) for each in maps[step])]

    slider = explore(lambda heat=1.0: heatmap(attention_weights(query / heat, key)), heat=(0.1, 4.0, 0.1))
    moment = explore(emerge, step=(0, 40))
    rows = {}
    with chromium("--disable-frame-rate-limit", "--disable-gpu-vsync") as browser:
        for name, handle, explorer in (
            ("slider, map of 16 × 16", "input[type=range]", slider),
            ("moment beside two maps", ".grip", moment),
        ):
            page = browser.new_page()
            html = explorer._repr_mimebundle_()["text/html"]
            page.set_content(f"<!doctype html><style>{stylesheet()}</style><script>{script()}</script>{html}")
            page.evaluate(MEASURE)
            page.locator(handle).hover()
            box = page.locator(handle).bounding_box()
            x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
            page.mouse.down()
            for step in range(STEPS):
                angle = 2 * math.pi * step / 50
                page.mouse.move(x + 50 * math.cos(angle), y + 80 * math.sin(angle))
                page.wait_for_function("count => took.length >= count", arg=step + 1)
            took = torch.tensor(page.evaluate("took")[:STEPS]).view(ROUNDS, -1) / FRAME
            page.close()
            rows[name] = [took.quantile(share, dim=1).tolist() for share in (0.5, 0.95)]
    show(f"From the hand to the screen, to a frame of {FRAME} ms", ["median", "95th percentile"], rows)


BENCHMARKS = {each.__name__: each for each in (layers, cache, blocks, screen)}

if __name__ == "__main__":
    torch.set_num_threads(1)
    for name in sys.argv[1:] or BENCHMARKS:
        BENCHMARKS[name]()
