"""The weekly tests run what pyproject.toml admits, from the oldest on."""

import re
import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
WEEKLY = yaml.safe_load((ROOT / ".github/workflows/weekly.yml").read_text(encoding="utf-8"))["jobs"]
MATRIX = WEEKLY["versions"]["strategy"]["matrix"]


def test_the_oldest_python_and_the_oldest_torch_are_tested():
    assert f">={MATRIX['python'][0]}" == PROJECT["requires-python"]
    (floor,) = (need for need in PROJECT["dependencies"] if need.startswith("torch"))
    assert MATRIX["torch"] == [floor.replace(">=", "==") + ".*", "torch"]


def test_colab_s_versions_are_ones_that_the_package_admits():
    installed = dict(
        re.findall(r"([a-z]+)==([\d.]+\d)", " ".join(step.get("run", "") for step in WEEKLY["colab"]["steps"]))
    )
    for need in PROJECT["dependencies"]:
        name, floor = need.split(">=")
        assert [*map(int, installed[name].split("."))] >= [*map(int, floor.split("."))], name
