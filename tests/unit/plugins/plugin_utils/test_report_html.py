# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors
"""The HTML page: self-contained, complete, and deaf to what evidence says."""

from __future__ import annotations

import html.parser
import json
import time
import typing as t

import pytest
from ansible_collections.gpuops.node.plugins.plugin_utils import report, report_html
from ansible_collections.gpuops.node.tests.unit.plugins.plugin_utils import report_verdicts as made
from hypothesis import given, settings
from hypothesis import strategies as st

VOID = {"meta", "br"}
TAGS = {
    *("html", "head", "meta", "title", "style", "body", "main", "header", "footer", "section", "h1", "h2", "h3", "p", "a", "b", "br"),
    *("ul", "ol", "li", "dl", "dt", "dd", "div", "span", "code", "bdi", "details", "summary", "table", "thead", "tbody", "tr", "th", "td"),
}
ATTRIBUTES = {"lang", "charset", "http-equiv", "content", "name", "class", "id", "href", "open"}


class Page(html.parser.HTMLParser):
    """What a browser would make of the page."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.texts: list[str] = []
        self.ids: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, key, value or "") for key, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())


def check(text: str) -> Page:
    page = Page(text)
    assert page.open == []
    assert set(page.tags) <= TAGS
    assert {key for _tag, key, _value in page.attributes} <= ATTRIBUTES
    ids = [value for _tag, key, value in page.attributes if key == "id"]
    assert len(ids) == len(set(ids))
    links = [value for _tag, key, value in page.attributes if key == "href"]
    assert all(link.startswith("#") and link[1:] in ids for link in links)
    assert all(char in "\n" or char.isprintable() for char in text)
    return page


@pytest.mark.parametrize("name", made.ONE)
def test_one_node(name: str) -> None:
    verdict = made.ONE[name]()
    page = check(report_html.render([verdict], made.RUN, files=[f"{verdict['node']}.json"]))
    assert verdict["node"] in page.text
    for step in verdict["walk"]:
        assert step["found"] in page.text
        assert all(item in page.text for item in step["read"])
    if name != "healthy":
        assert verdict["root"]["fault"] in page.text
    for quote in verdict["root"]["evidence"]:
        assert " ".join(quote["text"].split()) in page.text
        assert quote["source"] in page.text
    for command in verdict["next"]:
        assert command in page.text


def test_the_page_fetches_and_runs_nothing() -> None:
    text = report_html.render(made.fleet(), made.RUN)
    assert "default-src 'none'" in text
    for word in ("<script", "<link", "<img", "src=", "url(", "@import", "javascript:", "http:", "https:"):
        assert word not in text
    assert "prefers-color-scheme: dark" in text and "@media print" in text


def test_fleet() -> None:
    text = report_html.render(made.fleet(), made.RUN)
    page = check(text)
    assert "40 nodes: 32 healthy, 8 sick" in page.text
    assert page.tags.count("details") >= 9
    assert ("details", "open", "") not in page.attributes  # eight sick ones are folded
    assert len([link for link in page.attributes if link[1] == "href"]) == 8
    assert "The kernel to be booted next has no nvidia module" in page.text
    assert "\u2265 $700.00" in page.text


def test_without_a_price_there_is_no_money() -> None:
    page = report_html.render([made.tainted("a"), made.tainted("b")], made.RUN)
    assert "Per hour" not in page and "So far" not in page
    assert "Per hour" in report_html.render(made.fleet(), made.RUN)


def test_one_gpu_is_one_gpu() -> None:
    page = report_html.render([{**made.healthy("a"), "allocatable": 1}, made.healthy("b")], made.RUN)
    assert ">1 GPU<" in page and ">8 GPUs<" in page


def test_few_sick_ones_are_open() -> None:
    assert ("details", "open", "") in Page(report_html.render([made.kernel_moved(), made.healthy()], {})).attributes


def test_the_page_does_not_depend_on_the_order_of_verdicts() -> None:
    assert report_html.render(made.fleet()[::-1], made.RUN) == report_html.render(made.fleet(), made.RUN)


def test_a_thousand_nodes() -> None:
    verdicts = [made.healthy(f"gpu-{i}") for i in range(950)] + [made.kernel_moved(f"bad-{i}") for i in range(50)]
    start = time.process_time()
    text = report_html.render(verdicts, made.RUN)
    assert time.process_time() - start < 3
    assert len(text) < 1_500_000
    assert "and 26 more" in check(text).text


def test_each_node_names_its_own_file() -> None:
    text = report_html.render([made.kernel_moved("a"), made.kernel_moved("b")], {}, files=["first.json", "second.json"])
    page = Page(text).text
    assert page.index("first.json") < page.index("second.json")


def test_evidence_is_text_and_nothing_else() -> None:
    evil = "</code><script>alert(1)</script>{{ 7*7 }}{% include 'x' %}\"'><img src=x onerror=alert(1)>\x1b[31m\u202e\0"
    shown = report.clean(evil)
    verdict = made.kernel_moved()

    def poison(value: t.Any) -> t.Any:
        if isinstance(value, dict):
            return {key: poison(item) for key, item in value.items()}
        if isinstance(value, list):
            return [poison(item) for item in value]
        return evil if isinstance(value, str) else value

    poisoned = {**poison(verdict), "root": {**poison(verdict["root"])}}
    text = report_html.render([poisoned], {"origin": evil, "taken": evil}, files=[evil])
    page = check(text)
    assert shown in page.text
    assert "49" not in page.text.replace("549", "")


RUNS = st.dictionaries(st.sampled_from([key for key, _words in report_html.RUN_FACTS]), made.NASTY)


@settings(max_examples=100, deadline=None)
@given(st.lists(made.hostile(), min_size=1, max_size=5), RUNS)
def test_nothing_breaks_out(verdicts: list[dict[str, t.Any]], run: dict[str, t.Any]) -> None:
    text = report_html.render(verdicts, run)
    check(text)
    assert text == report_html.render(json.loads(json.dumps(verdicts)), run)


@settings(max_examples=80, deadline=None)
@given(made.NASTY.filter(lambda raw: bool(report.clean(raw))))
def test_the_shape_of_the_page_does_not_depend_on_a_quoted_line(raw: str) -> None:
    def shape(text: str) -> tuple[list[str], list[tuple[str, str, str]]]:
        verdict = made.kernel_moved()
        verdict["root"]["evidence"][0]["text"] = text
        page = check(report_html.render([verdict], made.RUN))
        return page.tags, page.attributes

    assert shape(raw) == shape("plain")
