# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors
"""The scan: line numbers, counts and limits."""

from __future__ import annotations

import time

from ansible_collections.gpuops.node.plugins.plugin_utils import signatures
from ansible_collections.gpuops.node.plugins.plugin_utils.evidence import Document
from hypothesis import given
from hypothesis import strategies as st

XID = "NVRM: Xid (PCI:0000:9b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."


def test_a_hit_knows_its_first_and_last_line() -> None:
    text = "\n".join(["boot", XID, "noise", XID, "end"])
    hit = next(h for h in signatures.scan(Document("dmesg.txt", "kernel_log", text)) if h.signature.id == "hw.xid_79")
    assert (hit.first.line, hit.last.line, hit.count) == (2, 4, 2)
    assert hit.first.source == "dmesg.txt"


def test_a_pattern_bound_to_a_kind_is_not_searched_elsewhere() -> None:
    line = "            State                             : In Progress"
    assert any(h.signature.id == "hw.fabric_in_progress" for h in signatures.scan(Document("q", "nvidia_smi_q", line)))
    assert not any(h.signature.id == "hw.fabric_in_progress" for h in signatures.scan(Document("q", "container_log", line)))


def test_a_large_log_is_scanned_in_reasonable_time() -> None:
    text = "kernel: usb 1-1: new device found and some other words that mean nothing\n" * 100_000 + XID
    start = time.monotonic()
    hits = signatures.scan(Document("big", "kernel_log", text))
    assert any(h.signature.id == "hw.xid_79" for h in hits)
    assert time.monotonic() - start < 5


@given(st.text())
def test_no_text_makes_it_fail(text: str) -> None:
    def ids() -> list[str]:
        return [hit.signature.id for hit in signatures.scan(Document("x", "text", text))]

    assert ids() == ids()
