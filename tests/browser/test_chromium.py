"""A browser is got where there is none, or it is said how to get one."""

import io
import os
import shutil
import subprocess
import sys
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from conftest import ROOT
from tools.chromium import NAMES

ONE = next(filter(None, map(shutil.which, [os.environ.get("CHROMIUM", ""), *NAMES])), None)
NOWHERE = "http://127.0.0.1:9"
# Where Playwright's downloads have what is started.
PLACES = ("chrome-headless-shell-linux64/chrome-headless-shell", "ffmpeg-linux")


def get(folder, host=NOWHERE, fonts="echo a font", manager=""):
    """Get a browser as on a machine without any, where nothing may be installed."""
    (folder / "bin").mkdir()
    for name in filter(None, ("fc-list", manager)):
        (folder / "bin" / name).write_text(f"#!/bin/sh\n{fonts}\n", encoding="utf-8")
        (folder / "bin" / name).chmod(0o755)
    known = {name: value for name, value in os.environ.items() if not name.startswith(("CHROMIUM", "PLAYWRIGHT"))}
    settings = {"PATH": str(folder / "bin"), "HOME": str(folder), "PLAYWRIGHT_DOWNLOAD_HOST": host}
    command = [sys.executable, "-m", "tools.chromium"]
    return subprocess.run(command, cwd=ROOT, env=known | settings, capture_output=True, text=True, check=False)


@pytest.mark.skipif(
    os.uname()[::4] != ("Linux", "x86_64") or not ONE, reason="a download for Linux starts one on the path"
)
def test_playwright_s_own_is_got(tmp_path):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for place in PLACES:
            archive.writestr(place, f'#!/bin/sh\nexec "{ONE}" "$@"\n')

    class Download(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Length", str(len(packed.getvalue())))
            self.end_headers()
            self.wfile.write(packed.getvalue())

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Download) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        run = get(tmp_path, f"http://127.0.0.1:{server.server_port}", fonts="")
        server.shutdown()
    assert run.returncode == 0, run.stderr
    assert "downloaded to" in run.stdout
    assert "No font has Chinese characters" in run.stdout


@pytest.mark.parametrize(("manager", "command"), [("", "playwright install --with-deps"), ("pacman", "pacman -S")])
def test_where_none_can_be_had_the_last_line_says_what_to_do(tmp_path, manager, command):
    run = get(tmp_path, manager=manager)
    assert run.returncode == 1
    assert "This needs Chromium, and found none that starts" in run.stderr
    assert f"{command} chromium; or name one: CHROMIUM=/path/to/chromium" in run.stderr.splitlines()[-1]
