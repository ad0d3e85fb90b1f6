"""The weekly tests run what pyproject.toml admits, from the oldest on; a release attaches what was made."""

import re
import sys
import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
WEEKLY = yaml.safe_load((ROOT / ".github/workflows/weekly.yml").read_text(encoding="utf-8"))["jobs"]
RELEASE = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8"))
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


def test_a_release_checks_its_tag_tests_makes_and_attaches():
    assert RELEASE[True] == {"push": {"tags": ["v*"]}}  # YAML reads the word "on" as a truth
    runs = [step["run"] for step in RELEASE["jobs"]["release"]["steps"] if "run" in step]
    assert runs[0].startswith("python -m tools.edition")  # on any Python: nothing is installed yet
    made = [re.fullmatch(r"make (\w+)( PAPER=letter)?", run)[1] for run in runs if run.startswith("make")]
    assert made == ["archive", "pdf", "handout", "package"]
    assert runs.index(".ci/run") < runs.index("make archive")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert all(f"\n{target}: " in makefile for target in made)
    for pattern in ("_build/softlookup-*.zip", "_build/softlookup-*.pdf", "_build/dist/*"):
        assert pattern in runs[-1]
    modules = re.findall(
        "^(?:import|from) (\\w+)", (ROOT / "tools/edition.py").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert set(modules) <= sys.stdlib_module_names
