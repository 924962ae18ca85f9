# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors
from __future__ import annotations

import json
import pathlib
import re

import pytest
from ansible_collections.gpuops.node.plugins.plugin_utils import session
from ansible_collections.gpuops.node.plugins.plugin_utils.evidence import Evidence


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str | None]]:
    """How often a capture of gpu-1 (and, under /two, of gpu-2) was read, and for whom."""
    calls: list[tuple[str, str | None]] = []

    def open_capture(path: str, node: str | None = None) -> Evidence:
        calls.append((path, node))
        evidence = Evidence(path, "pasted")
        for name in ("gpu-1", "gpu-2") if path == "/two" else ("gpu-1",):
            evidence.add("Node", {"metadata": {"name": name}})
        return evidence

    monkeypatch.setattr(session, "open_capture", open_capture)
    monkeypatch.setattr(session, "_last", None)
    return calls


@pytest.mark.parametrize(
    ("kept", "asked", "reads"),
    [
        (("/one", None), ("/one", None), 1),
        (("/one", "gpu-1"), ("/one", "gpu-1"), 1),
        (("/one", None), ("/one", "gpu-1"), 1),  # the only node it has
        (("/one", None), ("/one/../one", "gpu-1"), 1),
        (("/two", None), ("/two", "gpu-1"), 2),  # nameless output is gpu-1's only now
        (("/two", "gpu-1"), ("/two", None), 2),
        (("/one", None), ("/two", None), 2),
    ],
)
def test_a_capture_is_read_once(
    opened: list[tuple[str, str | None]], kept: tuple[str, str | None], asked: tuple[str, str | None], reads: int
) -> None:
    first = session.reopen(*kept)
    second = session.evidence(*asked)
    assert len(opened) == reads
    assert (first is second) is (reads == 1)


def test_it_is_read_anew_when_the_inventory_is(opened: list[tuple[str, str | None]]) -> None:
    assert session.reopen("/one") is not session.reopen("/one")
    assert len(opened) == 2


def test_nothing_is_kept_when_reading_fails(opened: list[tuple[str, str | None]], monkeypatch: pytest.MonkeyPatch) -> None:
    session.reopen("/one")
    monkeypatch.setattr(session, "open_capture", lambda path, node=None: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        session.reopen("/one")
    with pytest.raises(ZeroDivisionError):
        session.evidence("/one")


def test_the_version_is_that_of_galaxy_yml_or_of_the_manifest(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+(-\S+)?", session.version())
    monkeypatch.setattr(session, "__file__", str(tmp_path / "plugins" / "plugin_utils" / "session.py"))
    assert session.version() == ""
    (tmp_path / "galaxy.yml").write_text("name: node\nversion: 2.3.4\n")
    assert session.version() == "2.3.4"
    (tmp_path / "MANIFEST.json").write_text(json.dumps({"collection_info": {"version": "2.3.5"}}))
    assert session.version() == "2.3.5"
    (tmp_path / "MANIFEST.json").write_text("{")
    assert session.version() == "2.3.4"
