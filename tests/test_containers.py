"""What Binder and the dev container are told names things that exist, and that CI tests."""

import json
import re
from pathlib import Path

import pytest
import yaml
from tools.environment import CPU_BUILDS

ROOT = Path(__file__).parent.parent
BINDER = ROOT / ".binder"
CONTAINER = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text(encoding="utf-8"))
TESTED = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text(encoding="utf-8"))["jobs"]["test"]


def test_binder_installs_the_lock_and_the_package():
    lines = (BINDER / "requirements.txt").read_text(encoding="utf-8").splitlines()
    options = dict(line.split() for line in lines if not line.startswith("#"))
    assert options.keys() == {"--extra-index-url", "-r", "-e"}
    assert (BINDER / options["-r"]).resolve() == ROOT / "requirements.txt"  # as pip reads it: from the file's folder
    assert (ROOT / options["-e"] / "pyproject.toml").is_file()  # from the folder where pip runs, the repository's
    assert options["--extra-index-url"] == CPU_BUILDS


def test_the_dev_container_makes_a_target_that_exists():
    (target,) = re.fullmatch(r"make (\w+)", CONTAINER["postCreateCommand"]).groups()
    assert f"\n{target}: " in (ROOT / "Makefile").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "named",
    [(BINDER / "runtime.txt").read_text(encoding="utf-8"), CONTAINER["image"]],
    ids=["Binder", "dev container"],
)
def test_the_python_that_is_asked_for_is_one_that_ci_tests(named):
    (version,) = re.findall(r"\b3\.\d+", named)
    assert version in TESTED["strategy"]["matrix"]["python"]
