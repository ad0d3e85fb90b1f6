"""What each page says of itself: to whom it is shared with, to search engines, and to a reader who stumbles."""

import re
from functools import lru_cache
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml
from bs4 import BeautifulSoup

from conftest import BOOK, PAGES, ROOT, every_page
from tools.editions import edition
from tools.editions.edition import address, site

FORM = yaml.safe_load((ROOT / ".github/ISSUE_TEMPLATE/stumbled.yml").read_text(encoding="utf-8"))
CHAPTERS = [name for name in PAGES if re.match(r"book/\d\d-", name)]


TEXT = re.compile(r'(<article.*?</h1>\s*(?:<p class="place">.*?</p>)?).*</article>', re.DOTALL)


@lru_cache
def read(name):
    """A page without the text below its title, which takes long to parse."""
    page = (BOOK / name).read_text(encoding="utf-8")
    return BeautifulSoup(TEXT.sub(r"\1</article>", page), "html.parser")


def shared(page):
    return {tag["property"]: tag["content"] for tag in page.find_all("meta", property=True)}


@every_page
def test_page_can_be_shared(name):
    page = read(name)
    said = shared(page)
    own = f"{site()}/{name}"
    assert said["og:url"] == own
    assert [link["href"] for link in page.find_all("link", rel="canonical")] == [own]
    assert said["og:title"] == page.select_one("h1").find(string=True)
    assert said["og:site_name"] == "Soft Lookup"
    assert 40 <= len(said["og:description"]) <= 200
    assert "\\" not in said["og:description"]  # no formula's source
    assert (BOOK / said["og:image"].removeprefix(site() + "/")).stat().st_size < 100_000


def test_the_page_for_none_leads_to_every_page_from_any_address():
    """A server shows it at any address, so each link begins at the server's root."""
    page = BeautifulSoup((BOOK / "404.html").read_text(encoding="utf-8"), "html.parser")
    root = urlsplit(site() + "/").path
    links = {link["href"] for link in page.find_all("a", href=True)} - {"#"}
    assert links >= {f"{root}{name}" for name in PAGES}
    files = [link["href"] for link in page.find_all("link", href=True)]
    files += [script["src"] for script in page.find_all("script", src=True)]
    assert all(file.startswith((root, "https://")) for file in files)


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_says_where_it_is_and_how_long_it_takes(name):
    place = read(name).select_one("h1 + .place").get_text()
    said = re.fullmatch(r"Chapter (\d+) of (\d+) · about \d+ minutes · \d exercises · present", place)
    assert (int(said[1]), int(said[2])) == (int(name[5:7]), max(int(name[5:7]) for name in CHAPTERS))


@every_page
def test_its_foot_names_edition_and_commit(name):
    foot = read(name).select_one(".edition")
    assert " ".join(foot.get_text().split()).startswith(f"Edition {edition.version()}")
    at = {link["href"].rpartition("/")[0] for link in foot.find_all("a")}
    assert at == {f"{address()}/{place}" for place in ("blob/main", "commit")[: 1 + bool(edition.commit())]}


@every_page
def test_who_stumbles_finds_a_form_that_knows_the_page(name):
    link, edit = read(name).select(".stumbled a")
    assert (ROOT / edit["href"].partition("/edit/main/")[2]).is_file()
    target = urlsplit(link["href"])
    assert f"{target.scheme}://{target.netloc}{target.path}" == f"{address()}/issues/new"
    filled = parse_qs(target.query)
    assert filled.pop("template") == ["stumbled.yml"]
    assert filled["page"] == [f"{site()}/{name}"]
    assert filled["edition"][0].startswith(edition.version())
    assert filled.keys() <= {field["id"] for field in FORM["body"]}
