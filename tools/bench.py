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
from contextlib import suppress
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
from attention.explorer import Explorer, curves, explore, heatmap
from attention.explorer.front import script, stylesheet
from tools.chromium import chromium

ROUNDS = 5
EMBED_DIM, NUM_HEADS = 512, 8  # the base model of Vaswani et al. (2017)
PUBLISHED = Path(experiments.__file__).parent / "stored" / "time_a_token.json"

FRAME = 16  # milliseconds
STEPS = 200
# From an event's own time stamp to the moment after the frame that shows the change has been painted.
MEASURE = """(kind) => {
    window.took = [];
    addEventListener(kind, (event) => requestAnimationFrame(() => {
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
    width = EMBED_DIM // NUM_HEADS
    query, key, value = (
        project(tokens).view(1, -1, NUM_HEADS, width).transpose(1, 2)
        for project in (layer.q_proj, layer.k_proj, layer.v_proj)
    )
    weights = (query @ key.mT / math.sqrt(width) + mask).softmax(-1)
    return layer.out_proj((weights @ value).transpose(1, 2).reshape(tokens.shape)), weights


def layers(lengths: tuple[int, ...] = (128, 256, 512, 1024, 2048, 4096)) -> None:
    """A layer beside PyTorch's, with weights beside the published formula, and the function beside PyTorch's."""
    device, rows = default_device(), {}
    theirs = nn.MultiheadAttention(EMBED_DIM, NUM_HEADS, batch_first=True, device=device)
    ours = MultiHeadAttention.from_torch(theirs)

    def both(one, other):
        yield ratios(torch.no_grad()(one), torch.no_grad()(other))
        yield ratios(lambda: one()[0].sum().backward(), lambda: other()[0].sum().backward())

    for length in lengths:
        tokens = torch.randn(1, length, EMBED_DIM, device=device)
        heads = torch.randn(3, 1, NUM_HEADS, length, EMBED_DIM // NUM_HEADS, device=device)
        plain = partial(ours, tokens, tokens, tokens), partial(theirs, tokens, tokens, tokens, need_weights=False)
        mask = torch.full((length, length), -math.inf, device=device).triu(1)
        with_weights = partial(ours, tokens, tokens, tokens, is_causal=True, need_weights=True)
        function = ratios(
            partial(scaled_dot_product_attention, *heads), partial(F.scaled_dot_product_attention, *heads)
        )
        weights = with_weights, partial(published, ours, tokens, mask)
        rows[f"{length} tokens"] = [*both(*plain), *both(*weights), function]
    title = f"Our time on {device} divided by PyTorch's layer's, the published formula's, PyTorch's fused function's"
    show(title, ["evaluated", "training", "weights", "weights, training", "function"], rows)


def cache(lengths: tuple[int, ...] = (64, 256, 1024), steps: int = 16) -> None:
    """What one more token takes, with and without a cache; the numbers that chapter 13 prints are written anew."""
    rows, models = {}, {"2 blocks of width 64": (64, 4, 2), "8 blocks of width 512": (512, 8, 8)}
    for name, (width, heads, blocks) in models.items():
        model = Transformer(64, width, heads, blocks, max_length=lengths[-1] + steps).eval()
        for length in lengths:
            tokens = torch.randint(64, (1, length + steps))
            rounds = [_seconds_a_token(model, tokens, steps) for _ in range(ROUNDS)]
            rows[f"{name}, after {length}"] = [[1000 * each for each in kind] for kind in zip(*rounds, strict=True)]
    show("Milliseconds for one more token", ["all read again", "with a cache"], rows)
    medians = {name: [round(median(cell), 2) for cell in cells] for name, cells in rows.items()}
    together = {}  # the larger model, after 64 tokens of each text
    for texts in (1, 2, 8, 64):
        tokens = torch.randint(64, (texts, lengths[0] + steps))
        rounds = [1000 * _seconds_a_token(model, tokens, steps)[1] for _ in range(ROUNDS)]
        print(f"{texts} texts at once: {min(rounds):.2f} to {max(rounds):.2f} ms", flush=True)
        together[texts] = round(median(rounds), 2)
    where = {"processor": processor(), "threads": torch.get_num_threads(), "torch": torch.__version__}
    found = {"date": date.today().isoformat(), **where, "milliseconds": medians, "texts_at_once": together}
    PUBLISHED.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


@torch.inference_mode()
def _seconds_a_token(model: Transformer, tokens: Tensor, steps: int) -> tuple[float, float]:
    caches, length = model.make_caches(), tokens.size(1) - steps
    model(tokens[:, :length], caches)
    start = time.process_time()
    for token in tokens[:, length:].split(1, dim=1):
        model(token, caches)
    kept = time.process_time() - start
    start = time.process_time()
    model(tokens[:, : length + 1])
    return time.process_time() - start, kept / steps


def processor() -> str:
    """The processor's own name, where the system tells it."""
    with suppress(OSError, TypeError):
        return re.search(r"model name\s*: (.+)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))[1]
    return platform.processor() or platform.machine()


def explorers() -> dict[str, tuple[str, Explorer]]:
    """What is moved, its figure and how: by the slider's keys, or a handle by the mouse."""
    query, key, maps, losses = torch.randn(16, 8), torch.randn(16, 8), torch.rand(41, 2, 9, 19), torch.rand(41)

    def weigh(heat=1.0):
        return heatmap(attention_weights(query / heat, key))

    def emerge(step=0):
        plot = curves(range(41), {"loss": losses}, moments={"now": step}, handle=("now", "step"))
        return [plot, *(heatmap(each, digits=1) for each in maps[step])]

    return {
        "slider, map of 16 × 16": ("keydown", explore(weigh, heat=(0.1, 4.0, 0.1))),
        "moment dragged beside two maps": ("pointermove", explore(emerge, step=(0, 40))),
    }


def screen() -> None:
    """The browser paints at once and not at the display's next refresh, which would add 0 to 16.7 ms by chance."""
    rows = {}
    with chromium("--disable-frame-rate-limit", "--disable-gpu-vsync") as browser:
        for name, (kind, explorer) in explorers().items():
            page = browser.new_page()
            html = explorer._repr_mimebundle_()["text/html"]
            page.set_content(f"<!doctype html><style>{stylesheet()}</style><script>{script()}</script>{html}")
            page.evaluate(MEASURE, kind)
            if kind == "keydown":
                page.locator("input[type=range]").focus()
            else:
                page.locator(".grip").hover()
                box = page.locator(".grip").bounding_box()
                page.mouse.down()
            for step in range(STEPS):
                if kind == "keydown":
                    page.keyboard.press("ArrowRight" if step // 15 % 2 else "ArrowLeft")
                else:
                    angle = 2 * math.pi * step / 50
                    page.mouse.move(box["x"] - 60 + 80 * math.cos(angle), box["y"] + 80 * math.sin(angle))
                page.wait_for_function("count => took.length >= count", arg=step + 1)
            took = torch.tensor(page.evaluate("took")[:STEPS]).view(ROUNDS, -1) / FRAME
            page.close()
            rows[name] = [took.quantile(share, dim=1).tolist() for share in (0.5, 0.95)]
    show(f"From the hand to the screen, to a frame of {FRAME} ms", ["median", "95th percentile"], rows)


BENCHMARKS = {each.__name__: each for each in (layers, cache, screen)}

if __name__ == "__main__":
    torch.set_num_threads(1)
    for name in sys.argv[1:] or BENCHMARKS:
        BENCHMARKS[name]()
