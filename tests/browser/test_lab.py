"""A real JupyterLab: a chapter is run and an exercise answered; every explorer moves, and Python sees its state.

That each chapter runs to its end, and what its exercises say to each solution, is compared when notebooks are tested.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook
from playwright.sync_api import expect

from conftest import ROOT, new_visit
from explorers import READ, compare
from payloads import payloads
from tools.notebooks.execute import NOTEBOOKS

CHAPTER = ROOT / "book" / "02-scores.ipynb"

# What is run behind the chapter.
APPLE = "explore(lambda apple=4.0: bars([apple]), apple=(-6.0, 6.0, 2.0))"
TEXT = 'explore(lambda text: bars([len(text)], ["letters"]), text="abc")'
STATE = """\
found = [shown for shown in Out.values() if getattr(shown, "state", {}).keys() == {"apple"}]
print("state:", found[0].state["apple"])"""
SET = """\
if found[0].state["apple"] == 6:
    found[0].state = {"apple": -6}"""

# Live explorers, from the outputs of the book's notebooks.
LIVE = """\
import json
from attention.explorer.widget import ExplorerWidget

with open("explorers.json", encoding="utf-8") as file:
    payloads = json.load(file)
widgets = []
for payload in payloads:
    state = {control["name"]: control["states"][control["initial"]] for control in payload["controls"]}
    widgets.append(ExplorerWidget(dict, payload=payload, state=state))"""
STATES = 'print("states:", json.dumps([widget.state for widget in widgets]))'


@pytest.fixture(scope="module")
def drawn():
    """The explorers of all notebooks."""
    return [payload for path in NOTEBOOKS for payload in payloads(nbformat.read(path, as_version=4))]


@pytest.fixture(scope="module")
def lab(tmp_path_factory, drawn):
    """A JupyterLab over two notebooks without outputs: a chapter with more cells at its end, and all explorers."""
    tmp_path = tmp_path_factory.mktemp("lab")
    folder = tmp_path / "book"
    folder.mkdir()
    chapter = nbformat.read(CHAPTER, as_version=4)
    chapter.cells += [new_code_cell(source) for source in (APPLE, TEXT, STATE, SET)]
    for cell in code_cells(chapter):
        cell.outputs = []
    nbformat.write(chapter, folder / "chapter.ipynb")
    shown = [f"display(*widgets[{first} : {first + 40}])" for first in range(0, len(drawn), 40)]  # a cell shows fifty
    cells = [new_code_cell(source) for source in (LIVE, *shown, STATES)]
    nbformat.write(new_notebook(cells=cells, metadata=chapter.metadata), folder / "explorers.ipynb")
    (folder / "explorers.json").write_text(json.dumps(drawn), encoding="utf-8")
    settings = tmp_path / ".jupyter/lab/user-settings/@jupyterlab/notebook-extension"
    settings.mkdir(parents=True)
    (settings / "tracker.jupyterlab-settings").write_text('{"windowingMode": "none"}')  # every cell stays in the page
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "jupyter", "lab", "--no-browser", "--allow-root", "--ip=127.0.0.1"]
    command += [f"--port={port}", "--IdentityProvider.token=", f"--ServerApp.root_dir={folder}"]
    command += ["--ServerApp.disable_check_xsrf=True", "--LabApp.news_url="]
    command += ["--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"]
    known = {name: value for name, value in os.environ.items() if not name.startswith(("JUPYTER", "IPYTHON", "XDG"))}
    own = {"HOME": str(tmp_path), "OMP_NUM_THREADS": "1"}  # two threads wait for each other on a busy machine
    with open(tmp_path / "log", "wb") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log, env=known | own, start_new_session=True)
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(120):
            try:
                urllib.request.urlopen(f"{address}/api/status", timeout=2).close()
                break
            except OSError:
                time.sleep(0.5)
        else:
            pytest.fail((tmp_path / "log").read_text())
        yield address
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait(30)


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


@pytest.fixture(scope="module")
def run_all(lab, browser):
    """Open a notebook and run all of it, until its last output begins with some text: ``run_all(name, text)``."""
    page = new_visit(browser, lab).page
    page.set_default_timeout(120_000)

    def open_and_run(name, last):
        page.goto(f"{lab}/lab/tree/{name}?reset")
        page.get_by_text("Python 3 (ipykernel) | Idle").wait_for()
        choose(page, "Run", "Run All Cells")
        page.locator(".jp-OutputArea-output pre", has_text=last).wait_for()
        assert page.locator("[data-mime-type='application/vnd.jupyter.error']").count() == 0
        return page

    yield open_and_run
    page.context.close()


def choose(page, menu, item):
    page.locator(".lm-MenuBar-itemLabel", has_text=menu).click()
    page.locator(".lm-Menu-itemLabel").get_by_text(item, exact=True).click()


def run_cell(page, text):
    """Run the cell in which a text stands once more."""
    page.locator(".jp-CodeCell", has_text=text).locator(".cm-content").click()
    page.keyboard.press("Control+Enter")


def test_a_chapter_runs_to_its_end_and_shares_its_state_with_python(run_all):
    page = run_all("chapter.ipynb", "state:")
    printed = page.locator(".jp-OutputArea-output pre", has_text="state:")
    assert printed.inner_text().strip() == "state: 4.0"
    answer_an_exercise(page)

    explorer = page.locator(".jp-Cell .attention-explorer", has=page.locator("label", has_text="apple")).last
    slider = explorer.locator("label", has_text="apple").locator("input[type=range]")
    first = explorer.locator("table.bars").first.locator("td[data-value]").first
    slider.scroll_into_view_if_needed()
    slider.press("ArrowRight")
    assert first.get_attribute("data-value") == "6"

    run_cell(page, "shown for shown")
    page.wait_for_function("[...document.querySelectorAll('pre')].some(pre => pre.textContent.trim() === 'state: 6.0')")

    run_cell(page, "-6}")
    page.wait_for_function(
        "[...document.querySelectorAll('.attention-explorer output')].some(o => o.textContent === '−6')"
    )
    slider.scroll_into_view_if_needed()
    assert first.get_attribute("data-value") == "-6"

    text = page.locator(".attention-explorer", has=page.locator("input[type=text]"))
    text.locator("input").fill("seven!!")
    text.locator("td[data-value='7']").wait_for()


def answer_an_exercise(page):
    """In the chapter's first cell that waits for an answer, write the solution that stands below it."""
    cells = code_cells(nbformat.read(CHAPTER, as_version=4))
    solution = next(number for number, cell in enumerate(cells) if "solution" in cell.metadata.get("tags", []))
    before, after = (cells[number].outputs[0].text.strip() for number in (solution - 1, solution))
    cell = page.locator(".jp-CodeCell").nth(solution - 1)
    heard = cell.locator(".jp-OutputArea-output pre")
    assert heard.inner_text().strip() == before
    cell.locator(".cm-content").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(cells[solution].source)
    page.keyboard.press("Control+Enter")
    cell.locator(".jp-OutputArea-output pre", has_text=after).wait_for()


SHOW_ALL = "(explorers) => explorers.forEach((explorer) => explorer.querySelector('.choices .quiet')?.click())"
MOVE = """(explorers) => explorers.forEach((explorer) => {
    const slider = explorer.querySelector('.controls input[type=range]');
    if (slider) {
        slider.value === slider.max ? slider.stepDown() : slider.stepUp();
        slider.dispatchEvent(new Event('input', {bubbles: true}));
    }
})"""


def test_every_explorer_of_the_book_moves_and_python_sees_its_state(run_all, drawn):
    page = run_all("explorers.ipynb", "states:")
    explorers = page.locator(".jp-Cell .attention-explorer")
    expect(explorers).to_have_count(len(drawn))
    explorers.evaluate_all(SHOW_ALL)
    before = explorers.evaluate_all(f"(explorers) => explorers.map({READ})")
    explorers.evaluate_all(MOVE)
    read = explorers.evaluate_all(f"(explorers) => explorers.map({READ})")
    for payload, (stood, _), found in zip(drawn, before, read, strict=True):
        assert (stood != found[0]) == any(control["kind"] == "range" for control in payload["controls"])
        compare(found, payload)

    states = page.locator(".jp-OutputArea-output pre", has_text="states:")
    before = states.element_handle()
    run_cell(page, "states:")
    before.wait_for_element_state("hidden")
    seen = json.loads(states.inner_text().removeprefix("states:"))
    assert [labels(payload, state) for payload, state in zip(drawn, seen, strict=True)] == [state for state, _ in read]


def labels(payload, state):
    """A state, value by value, as the figure writes it."""
    return {
        control["label"]: control["labels"][control["states"].index(state[control["name"]])]
        for control in payload["controls"]
    }
