# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors
"""One reading of a capture per run.

The inventory plugin reads the capture in Ansible's main process; the action plugin runs in a fork of it and finds
the evidence already in memory. Where there is no such inventory, the action reads the capture itself.
"""

from __future__ import annotations

import json
import os
import pathlib
import re
import typing as t

from ansible_collections.gpuops.node.plugins.plugin_utils.capture import open_capture

if t.TYPE_CHECKING:
    from ansible_collections.gpuops.node.plugins.plugin_utils.evidence import Evidence

_Key = tuple[str, "str | None"]
_last: tuple[_Key, Evidence] | None = None  # one is enough: a run has one capture, and two would double the memory


def _key(path: str, node: str | None) -> _Key:
    return os.path.realpath(path), node


def reopen(path: str, node: str | None = None) -> Evidence:
    """Read a capture anew and keep it. I(node) is whose output it is where the output does not say."""
    global _last
    _last = None
    found = open_capture(path, node)
    _last = (_key(path, node), found)
    return found


def evidence(path: str, node: str | None = None) -> Evidence:
    """The evidence in a capture, as kept or read now."""
    if _last is not None:
        key, kept = _last
        # Output without a name on it belongs to the only node there is, whether that was asked for or not.
        if key == _key(path, node) or (key == _key(path, None) and kept.node_names() == [node]):
            return kept
    return open_capture(path, node)


def version() -> str:
    """The version of this collection, as installed or as in the checkout."""
    root = pathlib.Path(__file__).parents[2]
    try:
        return json.loads((root / "MANIFEST.json").read_text("utf-8"))["collection_info"]["version"]
    except (OSError, ValueError, KeyError, TypeError):
        pass
    try:
        found = re.search(r"^version:\s*(\S+)", (root / "galaxy.yml").read_text("utf-8"), re.MULTILINE)
    except OSError:
        found = None
    return found[1] if found else ""
