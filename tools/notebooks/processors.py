"""Whether notebooks and unit tests hold on other processors, which variables of PyTorch and its libraries pretend.

Usage: ``python -m tools.notebooks.processors [NOTEBOOK …]``: these notebooks alone, or all of them and the unit tests.
"""

import os
import re
import subprocess
import sys
from tempfile import TemporaryDirectory
from xml.etree import ElementTree

PROCESSORS = {
    "no vector instructions": {"ATEN_CPU_CAPABILITY": "default"},
    "another maker's": {"MKL_CBWR": "COMPATIBLE"},
    "SSE 4": {"ATEN_CPU_CAPABILITY": "avx2", "MKL_ENABLE_INSTRUCTIONS": "SSE4_2", "ONEDNN_MAX_CPU_ISA": "SSE41"},
    "two threads": {"OMP_NUM_THREADS": "2"},
}
COLOR = re.compile(r"\x1b\[\d*m|#x1B\[\d*m")


def failures(arguments: list[str], variables: dict[str, str]) -> list[tuple[str, str]]:
    """The cells and tests that fail under these variables, each with the last line of what it says."""
    with TemporaryDirectory() as folder:
        results = os.path.join(folder, "results.xml")
        command = [sys.executable, "-m", "pytest", "--junitxml", results, "-p", "no:cacheprovider", *arguments]
        environment = {"OMP_NUM_THREADS": "1"} | os.environ | variables
        finished = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if not os.path.exists(results):
            return [("pytest", (finished.stdout + finished.stderr).strip().splitlines()[-1])]
        found = []
        for case in ElementTree.parse(results).iter("testcase"):
            said = [each.text or each.get("message") for each in case if each.tag in ("failure", "error")]
            where = f"{case.get('classname').removesuffix('.ipynb')} {case.get('name')}"
            found += [(where, COLOR.sub("", text).strip().splitlines()[-1]) for text in said]
        return found


def main(notebooks: list[str]) -> int:
    """Print what fails where; return whether anything does."""
    runs = [["--nbval", *(notebooks or ["book"])]]
    runs += [] if notebooks else [["tests", "--ignore=tests/browser"]]
    failed = False
    for name, variables in PROCESSORS.items():
        found = [failure for arguments in runs for failure in failures(arguments, variables)]
        failed |= bool(found)
        said = " ".join(f"{variable}={value}" for variable, value in variables.items())
        print(f"{name} ({said}): {f'{len(found)} fail' if found else 'all the same'}", flush=True)
        for where, why in found:
            print(f"  {where:40}  {why[:160]}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
