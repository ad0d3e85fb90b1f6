"""The benchmarks: ``python -m tools.bench``. Each line is a figure, its bound and their ratio; below 1 is within."""

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import chain
from pathlib import Path

import torch
from playwright.sync_api import Browser

from attention import attention_weights
from attention.explorer import Explorer, curves, explore, heatmap
from attention.explorer.front import script, stylesheet
from tools.bench_attention import attention_rows
from tools.bench_cache import cache_rows
from tools.bench_efficient import efficient_rows, streaming_memory_row
from tools.bench_regression import memory_row, regression_rows
from tools.chromium import chromium

ROOT = Path(__file__).parent.parent
PRESSES = 200
BROWSER = ("--disable-frame-rate-limit", "--disable-gpu-vsync")

# From the key's own time stamp to the moment after the frame that shows the change has been painted.
MEASURE = """(input) => new Promise((done) => {
    const took = [];
    let pressed = 0;
    input.addEventListener('keydown', (event) => (pressed = event.timeStamp));
    input.addEventListener('input', () => requestAnimationFrame(() => {
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = () => took.push(performance.now() - pressed);
        port2.postMessage(null);
    }));
    window.took = took;
    done();
})"""


def seconds(action: Callable[[], object], runs: int = 5) -> float:
    """The median time of an action, after one run to warm up."""
    times = []
    for _ in range(runs + 1):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return statistics.median(times[1:])


def run(*command: str) -> None:
    """Run a command quietly, on one thread, and raise if it fails."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.run(command, cwd=ROOT, check=True, env=os.environ | {"OMP_NUM_THREADS": "1"}, **quiet)


def heatmap_explorer() -> Explorer:
    """80 states of 16 × 16 weights: 40 temperatures, causal or not."""
    torch.manual_seed(0)
    query, key = torch.randn(16, 8), torch.randn(16, 8)
    tokens = [f"t{index}" for index in range(16)]
    return explore(
        lambda temperature, causal: heatmap(
            attention_weights(query / temperature, key, is_causal=causal), rows=tokens, columns=tokens
        ),
        temperature=(0.1, 4.0, 0.1),
        causal=False,
    )


def curve_explorer() -> Explorer:
    """40 states of a curve of 400 points."""
    x = torch.linspace(0, 20, 400)
    return explore(lambda frequency: curves(x, {"sine": torch.sin(frequency * x)}), frequency=(0.1, 4.0, 0.1))


def slider_steps(browser: Browser, explorer: Explorer) -> tuple[float, float]:
    """From key press to painted change, in seconds: the median and the 95th percentile of many presses.

    The browser paints at once instead of at the display's next refresh, which would add 0 to 16.7 ms by chance.
    """
    html = explorer._repr_mimebundle_()["text/html"]
    page = browser.new_page()
    page.set_content(f"<!doctype html><style>{stylesheet()}</style><script>{script()}</script>{html}")
    slider = page.locator("input[type=range]")
    slider.evaluate(MEASURE)
    slider.focus()
    for press in range(PRESSES):
        page.keyboard.press("ArrowRight" if press // 15 % 2 else "ArrowLeft")
        page.wait_for_timeout(20)
    took = sorted(page.evaluate("window.took"))
    page.close()
    return took[len(took) // 2] / 1000, took[len(took) * 95 // 100] / 1000


def import_seconds() -> float:
    """What importing attention adds to importing torch."""
    code = "import torch, time; start = time.perf_counter(); import attention; print(time.perf_counter() - start)"
    times = [float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(3)]
    return statistics.median(times)


def show(name: str, figure: float, bound: float, unit: str) -> None:
    print(f"{name:70} {figure:9.3f} {unit:3} {bound:9.2f} {unit:3} {figure / bound:6.2f}", flush=True)


def main() -> None:
    print(f"{'':70} {'figure':>13} {'bound':>13} {'ratio':>6}")
    first = [memory_row(), streaming_memory_row()]
    for row in chain(first, attention_rows(), cache_rows(), efficient_rows(), regression_rows()):
        show(*row)
    show("make book, warm", seconds(lambda: run("make", "book"), runs=3), 8, "s")
    with chromium(*BROWSER) as browser:
        for name, explorer in (("16×16 heatmap", heatmap_explorer()), ("curve of 400 points", curve_explorer())):
            median, late = slider_steps(browser, explorer)
            show(f"slider step to painted change, {name}, median", median * 1000, 16, "ms")
            show(f"slider step to painted change, {name}, 95th percentile", late * 1000, 16, "ms")
    show("explorer of 80 states, computed", seconds(heatmap_explorer) * 1000, 200, "ms")
    show("explorer of 80 states, HTML", len(heatmap_explorer()._repr_mimebundle_()["text/html"]) / 1000, 120, "kB")
    for page in sorted((ROOT / "_build" / "html" / "book").glob("[0-9]*.html")):
        bound = 400 if page.stem.startswith("13") else 300  # twelve layers of eight heads of a dozen reactions
        show(f"page {page.stem}, HTML and explorers", page.stat().st_size / 1000, bound, "kB")
    show("import attention, beyond torch", import_seconds() * 1000, 50, "ms")


if __name__ == "__main__":
    main()
