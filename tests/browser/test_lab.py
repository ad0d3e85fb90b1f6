"""A real JupyterLab: a chapter is run and an exercise answered; explorers move, and Python sees their state.

That each chapter runs to its end, and what its exercises say to each solution, is compared when notebooks are tested.
"""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request

import nbformat
import pytest
from nbformat.v4 import new_code_cell

from conftest import ROOT, new_visit

CHAPTER = ROOT / "book" / "02-scores.ipynb"

# What is run behind the chapter.
APPLE = """\
def fruit(apple=4.0, kind="red", ripe=False):
    return bars([apple])
explore(fruit, apple=(-6.0, 6.0, 2.0), kind=["red", "green"], ripe=False)"""
TEXT = 'explore(lambda text: bars([len(text)], ["letters"]), text="abc")'
STATE = """\
found = [shown for shown in Out.values() if "apple" in getattr(shown, "state", {})]
print("state:", *found[0].state.values())"""
SET = """\
if found[0].state["apple"] == 6:
    found[0].state = {"apple": -6}"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """A JupyterLab over a chapter without outputs, with more cells at its end."""
    tmp_path = tmp_path_factory.mktemp("lab")
    folder = tmp_path / "book"
    folder.mkdir()
    chapter = nbformat.read(CHAPTER, as_version=4)
    chapter.cells += [new_code_cell(source) for source in (APPLE, TEXT, STATE, SET)]
    for cell in code_cells(chapter):
        cell.outputs = []
    nbformat.write(chapter, folder / "chapter.ipynb")
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


@pytest.fixture
def page(lab, browser):
    """The chapter, all of whose cells have run."""
    page = new_visit(browser, lab).page
    page.set_default_timeout(120_000)
    page.goto(f"{lab}/lab/tree/chapter.ipynb?reset")
    page.get_by_text("Python 3 (ipykernel) | Idle").wait_for()
    choose(page, "Run", "Run All Cells")
    page.locator(".jp-OutputArea-output pre", has_text="state:").wait_for()
    assert page.locator("[data-mime-type='application/vnd.jupyter.error']").count() == 0
    yield page
    page.context.close()


def choose(page, menu, item):
    page.locator(".lm-MenuBar-itemLabel", has_text=menu).click()
    page.locator(".lm-Menu-itemLabel").get_by_text(item, exact=True).click()


def run_cell(page, text):
    """Run the cell in which a text stands once more."""
    page.locator(".jp-CodeCell", has_text=text).locator(".cm-content").click()
    page.keyboard.press("Control+Enter")


def test_a_chapter_runs_to_its_end_and_shares_its_state_with_python(page):
    printed = page.locator(".jp-OutputArea-output pre", has_text="state:")
    assert printed.inner_text().strip() == "state: 4.0 red False"
    answer_an_exercise(page)

    explorer = page.locator(".jp-Cell .attention-explorer", has=page.locator("label", has_text="apple")).last
    slider = explorer.locator("label", has_text="apple").locator("input[type=range]")
    first = explorer.locator("table.bars").first.locator("td[data-value]").first
    slider.scroll_into_view_if_needed()
    slider.press("ArrowRight")
    assert first.get_attribute("data-value") == "6"
    explorer.locator("select").select_option("green")
    explorer.locator("input[type=checkbox]").check()

    run_cell(page, "shown for shown")
    page.locator("pre", has_text="state: 6.0 green True").wait_for()

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
