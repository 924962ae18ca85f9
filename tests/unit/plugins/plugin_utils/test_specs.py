# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors
"""Every self-made capture gets the verdict it was made for, and every fault of the catalogue has one."""

from __future__ import annotations

import json
import pathlib
import sys

import pytest
import yaml
from ansible_collections.gpuops.node.plugins.plugin_utils import catalogue
from ansible_collections.gpuops.node.plugins.plugin_utils.capture import open_capture
from ansible_collections.gpuops.node.plugins.plugin_utils.diagnose import Options, diagnose

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tools"))
import spec

jsonschema = pytest.importorskip("jsonschema")
SCHEMA = jsonschema.Draft202012Validator(json.loads((catalogue.HERE / "diagnosis-v1.schema.json").read_text(encoding="utf-8")))
SAMPLES = yaml.safe_load((spec.CASES / "samples" / "expect.yml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", spec.all_specs(), ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_the_capture_gets_its_verdict(path: pathlib.Path, tmp_path: pathlib.Path) -> None:
    case = spec.load(path)
    verdict = spec.verdict_of(case, tmp_path)
    assert spec.differences(verdict, case["expect"]) == []
    SCHEMA.validate(verdict)


def test_every_fault_has_a_capture() -> None:
    made = {spec.load(path)["expect"]["fault"] for path in spec.all_specs()}
    wanted = {fault for fault, entry in catalogue.faults().items() if not entry.get("contributing_only")}
    assert wanted - made == set()


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_the_samples(name: str) -> None:
    """Sick nodes as their story says; every other node healthy, without a warning of any kind."""
    expect = SAMPLES[name]
    evidence = open_capture(str(spec.CASES / "samples" / name))
    assert evidence.problems == []
    for verdict in diagnose(evidence, evidence.node_names(), Options(**(expect.get("options") or {}))):
        SCHEMA.validate(verdict)
        wanted = expect["nodes"].get(verdict["node"])
        if wanted is None:
            assert (verdict["root"]["fault"], verdict["latent"], verdict["contributing"]) == ("healthy", [], []), verdict["node"]
        else:
            assert spec.differences(verdict, wanted) == [], verdict["node"]
            for key, value in (wanted.get("impact") or {}).items():
                if key == "gangs":
                    assert [gang["gpus"] for gang in verdict["impact"]["gangs"]] == [gang["gpus"] for gang in value]
                else:
                    assert verdict["impact"][key] == value


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_a_healthy_node_asked_for_alone_is_healthy_too(name: str) -> None:
    if not name.startswith("healthy-"):
        name = "overnight-kernel-update"
    evidence = open_capture(str(spec.CASES / "samples" / name))
    node = next(n for n in evidence.node_names() if n not in SAMPLES[name]["nodes"] and not n.startswith("server"))
    verdict = diagnose(evidence, [node], Options())[0]
    assert (verdict["root"]["fault"], verdict["latent"]) in (
        ("healthy", []),
        ("request_exceeds_node", []),
        ("gpus_in_use", []),
        ("pod_gated", []),
        ("affinity_excludes", []),
    ), verdict["root"]
    if name.startswith("healthy-"):
        assert verdict["root"]["fault"] == "healthy"


def test_the_must_gather_folder() -> None:
    expect = spec.load(spec.CASES / "must-gather" / "expect.yml")
    folder = spec.CASES / "must-gather" / expect["folder"]
    evidence = open_capture(str(folder), expect["node"])
    assert evidence.form == "must-gather"
    verdict = diagnose(evidence, [expect["node"]], Options())[0]
    assert spec.differences(verdict, expect["expect"]) == []
