# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors
"""The catalogue as data: every signature finds its own example, and none takes another fault's decisive line."""

from __future__ import annotations

import pytest
from ansible_collections.gpuops.node.plugins.plugin_utils import catalogue, signatures
from ansible_collections.gpuops.node.plugins.plugin_utils.evidence import Document

ENTRIES = catalogue.load_yaml("signatures.yml")


def test_ids_are_unique_and_faults_known() -> None:
    ids = [entry["id"] for entry in ENTRIES]
    assert len(ids) == len(set(ids))
    for entry in ENTRIES:
        assert entry["strength"] in catalogue.STRENGTHS, entry["id"]
        for fault in [entry["fault"], *entry.get("also", [])]:
            assert fault == "none" or fault in catalogue.faults(), (entry["id"], fault)


@pytest.mark.parametrize("entry", ENTRIES, ids=[entry["id"] for entry in ENTRIES])
def test_a_signature_finds_its_own_example(entry: dict) -> None:
    kind = (entry.get("in") or ["text"])[0]
    found = {hit.signature.id for hit in signatures.scan(Document("example", kind, entry["example"]))}
    assert entry["id"] in found


def test_no_decisive_line_speaks_for_two_unrelated_faults() -> None:
    """Two decisive signatures on one line must at least know of each other."""
    quarrels = []
    by_id = {entry["id"]: entry for entry in ENTRIES}
    for entry in ENTRIES:
        if entry["strength"] != "decisive":
            continue
        kind = (entry.get("in") or ["text"])[0]
        for hit in signatures.scan(Document("example", kind, entry["example"].splitlines()[0])):
            other = by_id[hit.signature.id]
            if other["strength"] != "decisive" or other["fault"] == entry["fault"]:
                continue
            related = {entry["fault"], *entry.get("also", [])} & {other["fault"], *other.get("also", [])}
            if not related:
                quarrels.append((entry["id"], other["id"]))
    assert quarrels == []


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (r"NVRM: Xid \((?:PCI:)?x", ("NVRM: Xid (",)),
        (r"^Events:\s+<none>$", ("Events:", "<none>")),
        (r"abcd|efgh", ("abcd", "efgh")),
        (r"abcd|x", ()),
        (r"(?:abcdef)?gh", ()),
        (r"colou?rs are", ("rs are",)),
        (r"[abc|d]wxyz", ("wxyz",)),
    ],
)
def test_literals_are_in_every_match(pattern: str, expected: tuple[str, ...]) -> None:
    found = catalogue.literals(pattern)
    assert set(found) <= set(expected) and bool(found) == bool(expected)
