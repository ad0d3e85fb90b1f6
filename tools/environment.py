"""Install locked packages into the environment that runs this: ``python tools/environment.py requirements-book.txt``.

The whole lock, ``requirements.txt``, brings PyTorch, the published model of ``requirements-model.txt`` and the course's
own package too. The environment variable
``TORCH`` says for what PyTorch is built: ``cpu`` or ``cuda``.
"""

import os
import re
import shutil
import subprocess
import sys
from ast import literal_eval
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from threading import Thread
from urllib.request import Request, urlopen

BOOK, ALL = "requirements-book.txt", "requirements.txt"
MODEL = "requirements-model.txt"  # without its dependencies, which would bring another hundred megabytes
HOLDS = {
    BOOK: "what the book is built with: up to {} packages, 60 MB to download, 260 MB on disk",
    ALL: "everything that runs and checks the book: up to {} packages, 210 MB to download, and PyTorch; 1.4 GB on disk",
}
CPU_BUILDS = "https://download.pytorch.org/whl/cpu"
SECONDS = 5

# What pip is told by its configuration, where uv looks for it.
FOR_UV = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "cert": "SSL_CERT_FILE",
    "proxy": "HTTPS_PROXY",
}
SIZE = re.compile(r"\s*(?:Downloading|Using cached) (?P<name>\S+?)(?:-\d\S*)? \((?P<size>\S+ ?[MG]i?B)\)$")
TALK = re.compile(
    r"\s*$| [+~-] \S+==|WARNING: Location '.*' is ignored|  Preparing metadata|"
    r"ERROR: pip's dependency resolver does not|rxnmapper \S+ requires \S+, which is not installed|"  # on purpose
    r"\s*(Attempting|Building|Checking|Collecting|Created|Downloaded|Downloading|Found existing|Getting|Ignoring|"
    r"Installing|Looking|Obtaining|Preparing|Processing|Requirement already|Running|Stored|Successfully|Uninstalling|"
    r"Using) "
)


def main(lock: str) -> None:
    """Say what is installed, and install it."""
    pins = re.findall(r"^[\w.-]+==\S+", Path(lock).read_text(encoding="utf-8"), re.MULTILINE)
    print(f"Installing into .venv {HOLDS[lock].format(len(pins))}.", flush=True)
    os.environ |= for_uv(configuration()) | os.environ
    if lock == ALL:
        (pin,) = (pin for pin in pins if pin.startswith("torch=="))
        install_torch(pin.removeprefix("torch=="), os.environ.get("TORCH", ""))
    done = install("-r", lock)
    if lock == ALL:
        done = done and install("--no-deps", "-r", MODEL) and install("--no-deps", "--no-build-isolation", "-e", ".")
    sys.exit(0 if done else f"{lock} could not be installed into .venv; why is said above.")


def install_torch(pin: str, named: str) -> None:
    """Install PyTorch as it was built for CPUs, where there is no GPU for the other; that one comes with the rest."""
    if named not in ("", "cpu", "cuda"):
        sys.exit(f"TORCH must be cpu or cuda, found {named!r}")
    try:
        found = version("torch")
    except PackageNotFoundError:
        found = ""
    is_cpu = found.endswith("+cpu")
    if found.partition("+")[0] == pin and (not named or is_cpu == (named == "cpu")):
        return
    if sys.platform == "linux" and (named or ("cuda" if has_gpu() else "cpu")) == "cpu":
        print("PyTorch, built for CPUs: 190 MB.", flush=True)
        if not (answers(CPU_BUILDS) and install("--no-deps", "--index-url", CPU_BUILDS, f"torch=={pin}+cpu")):
            print(
                f"It cannot be had from {CPU_BUILDS}. The usual index has PyTorch built for GPUs, with their "
                "libraries: up to 2.7 GB, if it has no other.",
                flush=True,
            )
    elif is_cpu:
        subprocess.run([sys.executable, "-m", "pip", "uninstall", "--quiet", "--yes", "torch"], check=True)


def has_gpu() -> bool:
    """Whether there is an NVIDIA GPU."""
    return runs("nvidia-smi", "--list-gpus")


def answers(url: str) -> bool:
    """Whether a server answers, within seconds: the search for its address is not waited for either."""
    answered = []

    def ask() -> None:
        with suppress(OSError), urlopen(Request(url + "/torch/", method="HEAD"), timeout=SECONDS):
            answered.append(True)

    thread = Thread(target=ask, daemon=True)
    thread.start()
    thread.join(SECONDS)
    return bool(answered)


def configuration() -> str:
    """What ``pip config list`` says: one line a setting."""
    command = [sys.executable, "-m", "pip", "config", "list"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def for_uv(configuration: str) -> dict[str, str]:
    """The settings of pip that uv needs too, as environment variables: uv does not read pip's.

    >>> for_uv("global.timeout='60'\\n:env:.find-links='/a /b'")
    {'UV_FIND_LINKS': '/a,/b', 'UV_INDEX_STRATEGY': 'unsafe-best-match'}
    """
    found = {}
    for name, value in re.findall(r"^(?:global|install|:env:)\.([\w-]+)=(.*)$", configuration, re.MULTILINE):
        if name in FOR_UV:
            found[FOR_UV[name]] = ("," if name == "find-links" else " ").join(literal_eval(value).split())
    return found | {"UV_INDEX_STRATEGY": "unsafe-best-match"} if found else {}  # the best of all indexes, as pip


def install(*what: str) -> bool:
    """Install with uv where it is there and manages, otherwise with pip."""
    pip = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--no-compile", "--progress-bar=off"]
    if runs("uv", "--version"):
        if run(["uv", "pip", "install", "--python", sys.executable, *what]):
            return True
        print("uv could not: pip tries.", flush=True)
    return run([*pip, *what])


def run(command: list[str]) -> bool:
    """Run uv or pip, and show what matters of what they say."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        for line in process.stdout:
            if said := shown(line):
                print(said, flush=True)
    return process.returncode == 0


def shown(line: str) -> str:
    """What a reader sees of a line: what is large, with its size, and what is no everyday talk.

    >>> shown("  Downloading torch-2.13.0-cp311-cp311-linux_x86_64.whl (191.8 MB)\\n")
    '  torch, 191.8 MB'
    >>> shown("Collecting torch==2.13.0\\n"), shown("ERROR: No matching distribution found for torch\\n")
    ('', 'ERROR: No matching distribution found for torch')
    """
    if large := SIZE.match(line):
        return "  {name}, {size}".format(**large.groupdict())
    if line.startswith("Installing collected packages"):
        return f"Writing {line.count(',') + 1} packages"
    return "" if TALK.match(line) else line.rstrip()


def runs(*command: str) -> bool:
    """Whether a command is there and succeeds."""
    return bool(shutil.which(command[0])) and not subprocess.run(command, capture_output=True, check=False).returncode


if __name__ == "__main__":
    main(*sys.argv[1:])
