# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors
from __future__ import annotations

import pathlib
import typing as t

import pytest
from ansible import context
from ansible.errors import AnsibleParserError
from ansible.inventory.data import InventoryData
from ansible.module_utils.common.collections import ImmutableDict
from ansible.parsing.dataloader import DataLoader
from ansible.plugins.loader import inventory_loader
from ansible_collections.gpuops.node.plugins.inventory import capture_nodes
from ansible_collections.gpuops.node.plugins.plugin_utils.capture import CaptureError
from ansible_collections.gpuops.node.plugins.plugin_utils.evidence import Evidence

PLUGIN = "gpuops.node.capture_nodes"


@pytest.fixture
def captures(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """Captures by path, each with its node names; asking for another one is a mistake."""
    known: dict[str, list[str]] = {}

    def opened(path: str, node: str | None = None) -> Evidence:
        if path not in known:
            raise CaptureError(f"The capture {path} does not exist.")
        if node and node not in known[path]:
            raise CaptureError(f"The capture {path} has no node {node}.")
        evidence = Evidence(path, "pasted")
        for name in known[path]:
            evidence.add("Node", {"metadata": {"name": name}})
        return evidence

    monkeypatch.setattr(capture_nodes.session, "open_capture", opened)
    monkeypatch.setattr(capture_nodes.session, "_last", None)
    return known


@pytest.fixture
def parse(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> t.Callable[..., InventoryData]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GPUOPS_CAPTURE", raising=False)

    def parse(
        text: str = "", limit: str | None = None, sources: int = 1, extra: str = "", name: str = "x.gpuops_capture.yml"
    ) -> InventoryData:
        arguments = {"inventory": ("x",) * sources, "subset": limit, "extra_vars": (extra,) if extra else ()}
        monkeypatch.setattr(context, "CLIARGS", ImmutableDict(arguments))
        monkeypatch.setattr("ansible.utils.vars.load_extra_vars.extra_vars", {}, raising=False)
        path = tmp_path / name
        path.write_text(f"plugin: {PLUGIN}\n{text}")
        inventory = InventoryData()
        plugin = inventory_loader.get(PLUGIN)
        assert plugin.verify_file(str(path))
        plugin.parse(inventory, DataLoader(), str(path))
        inventory.reconcile_inventory()
        return inventory

    return parse


@pytest.mark.parametrize(
    ("limit", "names"),
    [
        (None, []),
        ("", []),
        ("gpu-17", ["gpu-17"]),
        ("gpu-17,gpu-18", ["gpu-17", "gpu-18"]),
        ("ip-10-0-3-7.eu-west-1.compute.internal", ["ip-10-0-3-7.eu-west-1.compute.internal"]),
        ("gpu-*", []),
        ("gpu-[1:9]", []),
        ("gpu-17,!gpu-18", []),
        ("all", []),
        ("@sick.txt", []),
        ("~gpu-.*", []),
        ("gpu_nodes", []),
    ],
)
def test_names_that_a_limit_spells_out(limit: str | None, names: list[str]) -> None:
    assert capture_nodes.limited_to(limit) == names


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("gpuops_capture.yml", True),
        ("incident.gpuops_capture.yaml", True),
        ("incident.tar.gz", True),
        ("incident.tgz", True),
        ("incident.tar", True),
        ("incident.zip", True),
        ("hosts.yml", False),
        ("hosts", False),
    ],
)
def test_files_it_takes(tmp_path: pathlib.Path, name: str, wanted: bool) -> None:
    (tmp_path / name).write_text("x")
    assert capture_nodes.InventoryModule().verify_file(str(tmp_path / name)) is wanted


def test_each_node_is_a_host(captures: dict[str, list[str]], parse: t.Callable[..., InventoryData], tmp_path: pathlib.Path) -> None:
    captures[str(tmp_path / "cap")] = ["gpu-2", "gpu-1"]
    inventory = parse("capture: cap")
    assert list(inventory.hosts) == ["gpu-2", "gpu-1"]
    assert [host.name for host in inventory.groups["gpuops_capture_nodes"].hosts] == ["gpu-2", "gpu-1"]
    assert inventory.groups["all"].vars["gpuops_capture"] == str(tmp_path / "cap")


def test_a_path_in_the_file_counts_from_the_file(
    captures: dict[str, list[str]], parse: t.Callable[..., InventoryData], tmp_path: pathlib.Path
) -> None:
    (tmp_path / "sub").mkdir()
    captures[str(tmp_path / "sub" / "cap")] = ["gpu-1"]
    assert list(parse("capture: cap", name="sub/gpuops_capture.yml").hosts) == ["gpu-1"]


def test_a_path_from_elsewhere_counts_from_the_current_directory(
    captures: dict[str, list[str]], parse: t.Callable[..., InventoryData], tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sub").mkdir()
    captures[str(tmp_path / "with space")] = ["gpu-1"]
    captures[str(tmp_path / "other")] = ["gpu-2"]
    assert list(parse(extra='{"gpuops_capture": "with space"}', name="sub/gpuops_capture.yml").hosts) == ["gpu-1"]
    monkeypatch.setenv("GPUOPS_CAPTURE", "other")
    assert list(parse(name="sub/gpuops_capture.yml").hosts) == ["gpu-2"]


def test_the_group_can_be_named(captures: dict[str, list[str]], parse: t.Callable[..., InventoryData], tmp_path: pathlib.Path) -> None:
    captures[str(tmp_path / "cap")] = ["gpu-1"]
    assert "night" in parse("capture: cap\ngroup: night").groups


def test_a_limit_names_a_node_that_the_capture_lacks(
    captures: dict[str, list[str]], parse: t.Callable[..., InventoryData], tmp_path: pathlib.Path
) -> None:
    captures[str(tmp_path / "cap")] = ["gpu-1"]
    assert list(parse("capture: cap", limit="gpu-71").hosts) == ["gpu-71"]
    assert list(parse("capture: cap", limit="gpu-71,gpu-1").hosts) == ["gpu-1", "gpu-71"]
    assert list(parse("capture: cap", limit="gpu-71", sources=2).hosts) == ["gpu-1"]


@pytest.mark.parametrize("text", ["capture: missing", ""])
def test_a_capture_that_is_not_there_leaves_a_host_to_say_so(
    captures: dict[str, list[str]], parse: t.Callable[..., InventoryData], text: str
) -> None:
    assert list(parse(text).hosts) == ["node"]
    assert list(parse(text, limit="gpu-17").hosts) == ["gpu-17"]
    with pytest.raises(AnsibleParserError, match="capture"):
        parse(text, sources=2)
