"""Every notebook in a real JupyterLab: run all, answer an exercise, move a slider, see the state change in Python."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request

import nbformat
import pytest

from conftest import ROOT, new_visit

NOTEBOOKS = sorted(path.name for path in (ROOT / "book").glob("*.ipynb"))
CHECKED = "checked.ipynb"
SHOWN = """(element) => [...element.querySelectorAll('[data-value], path, text, caption, figcaption')]
    .map((part) => [part.dataset.value, part.getAttribute('d'), part.textContent].join()).join()"""
END = 'print("ran to the end")'
ONE_THREAD = {"OMP_NUM_THREADS": "1"}  # two wait for each other on a busy machine
MINE = "explore(lambda apple=4.0: bars([apple]), apple=(-6.0, 6.0, 2.0))"
STATE = """\
found = [shown for shown in Out.values() if getattr(shown, "state", {}).keys() == {"apple"}]
print("state:", found[0].state["apple"])"""
TEXT = 'explore(lambda text: bars([len(text)], ["letters"]), text="abc")'
SET = """\
if found[0].state["apple"] == 6:
    found[0].state = {"apple": -6}"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """A JupyterLab over copies of the notebooks; one more has an explorer whose state its last cells read and set."""
    tmp_path = tmp_path_factory.mktemp("lab")
    folder = tmp_path / "book"
    folder.mkdir()
    for name in NOTEBOOKS:
        write(name, folder / name, END)
    write("01-dictionary.ipynb", folder / CHECKED, MINE, TEXT, STATE, SET)
    settings = tmp_path / "JUPYTERLAB_SETTINGS_DIR" / "@jupyterlab" / "notebook-extension"
    settings.mkdir(parents=True)
    # every cell stays in the page, and a kernel stops when its notebook is closed
    (settings / "tracker.jupyterlab-settings").write_text('{"windowingMode": "none", "kernelShutdown": true}')
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "jupyter",
        "lab",
        "--no-browser",
        f"--port={port}",
        "--allow-root",
        "--ip=127.0.0.1",
    ]
    command += [
        "--IdentityProvider.token=",
        f"--ServerApp.root_dir={folder}",
        "--ServerApp.disable_check_xsrf=True",
        "--LabApp.news_url=",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    ]
    places = {
        name: str(tmp_path / name)
        for name in (
            "JUPYTER_CONFIG_DIR",
            "JUPYTER_RUNTIME_DIR",
            "IPYTHONDIR",
            "JUPYTERLAB_SETTINGS_DIR",
            "JUPYTERLAB_WORKSPACES_DIR",
        )
    }
    with open(tmp_path / "log", "wb") as log:
        server = subprocess.Popen(
            command, stdout=log, stderr=log, env=os.environ | places | ONE_THREAD, start_new_session=True
        )
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
        shutil.rmtree(folder)


def write(name, path, *cells):
    """A copy of a notebook with more cells at its end, and without its outputs."""
    notebook = nbformat.read(ROOT / "book" / name, as_version=4)
    notebook.cells += [nbformat.v4.new_code_cell(source) for source in cells]
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = []
    nbformat.write(notebook, path)


@pytest.fixture(scope="module")
def window(lab, browser):
    """JupyterLab's window: to open one notebook after the other takes half the time of starting afresh for each."""
    page = new_visit(browser, lab).page
    page.set_default_timeout(120_000)
    yield page
    page.context.close()


@pytest.fixture
def run_all(lab, window):
    """Open a notebook from the list of files and run all of it: ``run_all(name)``; at its end, the test closes it."""
    files = window.locator(".jp-DirListing-item")
    if files.count() == 0 or window.locator(".jp-NotebookPanel").count():
        stop_kernels(lab)  # the first test, or one after a test that failed
        window.goto(f"{lab}/lab?reset")

    def open_and_run(name):
        files.filter(has_text=name).dblclick()
        window.get_by_text("Python 3 (ipykernel) | Idle").wait_for()
        choose(window, "Run", "Run All Cells")
        return window

    return open_and_run


def stop_kernels(lab):
    with urllib.request.urlopen(f"{lab}/api/kernels") as listed:
        for kernel in json.load(listed):
            urllib.request.urlopen(urllib.request.Request(f"{lab}/api/kernels/{kernel['id']}", method="DELETE")).close()


def choose(page, menu, item):
    page.locator(".lm-MenuBar-itemLabel", has_text=menu).click()
    page.locator(".lm-Menu-itemLabel").get_by_text(item, exact=True).click()


def close(page):
    """Close the notebook without saving it; its kernel, which takes some hundred megabytes, stops by itself."""
    choose(page, "File", "Close Tab")
    page.get_by_role("button", name="Discard").click()
    page.locator(".jp-NotebookPanel").wait_for(state="detached")


def first_exercise(name):
    """Of a notebook's code cells, the one that waits for an answer; an answer; what is heard before it and after."""
    notebook = nbformat.read(ROOT / "book" / name, as_version=4)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for number, cell in enumerate(cells):
        if "solution" in cell.metadata.get("tags", []) and ".check(" in cell.source:
            return number - 1, cell.source, *(each.outputs[0].text.strip() for each in cells[number - 1 : number + 1])
    return None


def answer(page, number, source, before, after):
    cell = page.locator(".jp-CodeCell").nth(number)
    heard = cell.locator(".jp-OutputArea-output pre")
    assert heard.inner_text().strip() == before
    cell.locator(".cm-content").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(source)
    page.keyboard.press("Control+Enter")
    cell.locator(".jp-OutputArea-output pre", has_text=after).wait_for()


def move_a_slider(page):
    """Move the first slider of the notebook, and see its explorer change."""
    explorer = page.locator(".jp-Cell .attention-explorer", has=page.locator(".controls input[type=range]")).first
    slider = explorer.locator(".controls input[type=range]").first
    slider.scroll_into_view_if_needed()
    before = explorer.evaluate(SHOWN)
    slider.press("ArrowLeft" if slider.evaluate("(input) => input.value === input.max") else "ArrowRight")
    assert explorer.evaluate(SHOWN) != before


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebook_runs_to_its_end_and_is_live(run_all, name):
    page = run_all(name)
    page.locator(".jp-OutputArea-output pre", has_text="ran to the end").wait_for()
    assert page.locator("[data-mime-type='application/vnd.jupyter.error']").count() == 0
    exercise = first_exercise(name)
    assert (exercise is not None) == ("from attention.exercises import" in (ROOT / "book" / name).read_text("utf-8"))
    if exercise:
        answer(page, *exercise)
    if r"\"kind\":\"range\"" in (ROOT / "book" / name).read_text("utf-8"):
        move_a_slider(page)
    close(page)


def test_explorer_and_python_share_a_state(run_all):
    page = run_all(CHECKED)
    printed = page.locator(".jp-OutputArea-output pre", has_text="state:")
    printed.wait_for()
    assert printed.inner_text().strip() == "state: 4.0"

    explorer = page.locator(".jp-Cell .attention-explorer", has=page.locator("label", has_text="apple")).last
    slider = explorer.locator("label", has_text="apple").locator("input[type=range]")
    first = explorer.locator("table.bars").first.locator("td[data-value]").first
    slider.wait_for()
    slider.scroll_into_view_if_needed()
    slider.press("ArrowRight")
    assert first.get_attribute("data-value") == "6"

    page.locator(".jp-CodeCell", has_text="shown for shown").locator(".cm-content").click()
    page.keyboard.press("Control+Enter")
    page.wait_for_function("[...document.querySelectorAll('pre')].some(pre => pre.textContent.trim() === 'state: 6.0')")

    page.locator(".jp-CodeCell", has_text="-6}").locator(".cm-content").click()
    page.keyboard.press("Control+Enter")
    page.wait_for_function(
        "[...document.querySelectorAll('.attention-explorer output')].some(o => o.textContent === '−6')"
    )
    slider.scroll_into_view_if_needed()
    assert first.get_attribute("data-value") == "-6"

    text = page.locator(".attention-explorer", has=page.locator("input[type=text]"))
    text.locator("input").fill("seven!!")
    text.locator("td[data-value='7']").wait_for()
    close(page)
