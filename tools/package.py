"""The package's wheel and source: ``make package`` writes them to ``_build/dist``, from what is committed."""

import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from tools.edition import ROOT, moment

FOLDER = ROOT / "_build" / "dist"
BUILD = "from setuptools import build_meta; import sys; build_meta.build_{}(sys.argv[1])"


def package(folder: Path, commit: str = "HEAD", root: Path = ROOT) -> list[Path]:
    """Build the wheel and the source distribution of a commit, and nothing that is not in it.

    Args:
        folder: where they go; what it holds is removed.
        commit: any name that git has for one.
        root: the repository.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    tree = subprocess.run(["git", "archive", "--format=tar", commit], cwd=root, check=True, capture_output=True).stdout
    environment = os.environ | {"SOURCE_DATE_EPOCH": str(int(moment(root).timestamp()))}
    with tempfile.TemporaryDirectory() as copy:
        with tarfile.open(fileobj=io.BytesIO(tree)) as archive:
            archive.extractall(copy, filter="data")
        for kind in ("wheel", "sdist"):
            command = [sys.executable, "-c", BUILD.format(kind), folder.resolve()]
            build = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, check=False)
            if build.returncode:
                raise RuntimeError(f"the {kind} could not be built:\n{build.stderr}")
    return sorted(folder.iterdir())


if __name__ == "__main__":
    print("The package:", *package(FOLDER))
