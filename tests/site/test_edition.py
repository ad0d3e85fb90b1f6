"""An edition is named after its day, in three places that agree, and a release begins with the check of its tag."""

import re
import shutil
import subprocess
import sys
from datetime import date

import pytest
import yaml

from tools.editions import edition
from tools.editions.edition import ROOT, address, site

CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))


def test_the_name_is_a_day_everywhere():
    name = edition.version()
    assert date(*map(int, name.split("."))) == CITATION["date-released"]
    assert CITATION["version"] == name
    assert re.findall("^## (.*)$", CHANGELOG, re.MULTILINE)[0] == name
    assert (CITATION["url"], CITATION["repository-code"]) == (site() + "/", address())


def test_the_notes_of_a_release_are_the_changelog_s(tmp_path):
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "2026.11.22"\n', encoding="utf-8")
    rest = "## 2026.11.22\n\nThis.\n\n### Figures\n\nMove.\n\n## 2025.1.1\n\nOld.\n"
    (tmp_path / "CHANGELOG.md").write_text(f"# Changes\n\n## 2026.12.1\n\nLater.\n\n{rest}", encoding="utf-8")
    assert edition.notes(tmp_path) == "This.\n\n### Figures\n\nMove.\n"
    (tmp_path / "CHANGELOG.md").write_text("# Changes\n\n## 2026.11.22\n\n## 2025.1.1\n\nOld.\n", encoding="utf-8")
    with pytest.raises(ValueError, match="says nothing of the edition 2026"):
        edition.notes(tmp_path)


@pytest.mark.parametrize(("tag", "status"), [(f"v{edition.version()}", 0), (edition.version(), 1), ("", 1)])
def test_a_release_begins_with_the_check_of_its_tag(tag, status):
    command = [sys.executable, "-m", "tools.editions.edition", tag]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == status
    assert run.stdout == (edition.notes() if status == 0 else "")
    assert run.stderr == ("" if status == 0 else f"the tag must be v{edition.version()}, found {tag!r}\n")


@pytest.mark.skipif(not shutil.which("git"), reason="git is not here")
def test_the_commit_is_git_s(tmp_path, monkeypatch):
    assert edition.commit(tmp_path) == ""  # no repository
    (tmp_path / "text").write_text("one", encoding="utf-8")
    for name in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{name}_NAME", "A")
        monkeypatch.setenv(f"GIT_{name}_EMAIL", "a@example.org")
    for command in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message", "all"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    assert re.fullmatch("[0-9a-f]{9}", edition.commit(tmp_path))
    (tmp_path / "text").write_text("two", encoding="utf-8")
    assert re.fullmatch(r"[0-9a-f]{9}\+", edition.commit(tmp_path))
