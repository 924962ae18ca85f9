# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors
"""Reads the self-made captures under tests/cases and says how a verdict differs from what one expects."""

from __future__ import annotations

import pathlib
import typing as t

import yaml
from ansible_collections.gpuops.node.plugins.plugin_utils.capture import open_capture
from ansible_collections.gpuops.node.plugins.plugin_utils.diagnose import diagnose
from ansible_collections.gpuops.node.plugins.plugin_utils.judge.view import Options

CASES = pathlib.Path(__file__).resolve().parent.parent / "cases"
CERTAINTY = ("possible", "likely", "certain")


def load(path: pathlib.Path) -> dict[str, t.Any]:
    return yaml.load(path.read_text(encoding="utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def all_specs() -> list[pathlib.Path]:
    return sorted(path for path in CASES.glob("*/*.yml") if path.parent.name not in ("samples", "must-gather"))


def lay(files: dict[str, str], folder: pathlib.Path) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def verdict_of(spec: dict[str, t.Any], folder: pathlib.Path) -> dict[str, t.Any]:
    lay(spec["files"], folder)
    return diagnose(open_capture(str(folder), spec["node"]), [spec["node"]], Options(**(spec.get("options") or {})))[0]


def differences(verdict: dict[str, t.Any], expect: dict[str, t.Any]) -> list[str]:
    """Sentences; empty when the verdict is as expected."""
    wrong = []
    root = verdict["root"]
    if root["fault"] != expect["fault"]:
        wrong.append(f"root is {root['fault']} ({root['certainty']}: {root['because']}), expected {expect['fault']}")
    if expect.get("case") and verdict["case"] != expect["case"]:
        wrong.append(f"case is {verdict['case']}, expected {expect['case']}")
    strongest = expect.get("certainty")
    if strongest and root["fault"] == expect["fault"] and CERTAINTY.index(root["certainty"]) > CERTAINTY.index(strongest):
        wrong.append(f"certainty is {root['certainty']}, the evidence allows {strongest} at most")
    found = {c["fault"] for c in verdict["contributing"]}
    for fault in expect.get("contributing") or []:
        if fault not in found:
            wrong.append(f"{fault} is not among the contributing ({', '.join(sorted(found)) or 'none'})")
    for fault in expect.get("not") or []:
        if root["fault"] == fault or fault in found:
            wrong.append(f"{fault} is named though the evidence rules it out")
    advised = " ".join([verdict["mend"]["summary"], *verdict["mend"]["steps"]]).lower()
    wrong += [f"mending advises {phrase!r}" for phrase in expect.get("mend_must_not") or [] if phrase.lower() in advised]
    asked = " ".join(" ".join(map(str, item.values())) for item in verdict["collect_next"]).lower()
    wrong += [
        f"nothing asks to collect {phrase!r}: {asked or 'nothing'}" for phrase in expect.get("collect") or [] if phrase.lower() not in asked
    ]
    waiting = " ".join(item["what"] for item in verdict["latent"]).lower()
    wrong += [
        f"no latent fault about {phrase!r}: {waiting or 'none'}" for phrase in expect.get("latent") or [] if phrase.lower() not in waiting
    ]
    return wrong
