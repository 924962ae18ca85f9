# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors
"""Many nodes at once must come to the verdict that each of them gets alone."""

from __future__ import annotations

import json
import pathlib
import typing as t

import pytest
from ansible_collections.gpuops.node.plugins.plugin_utils.capture import open_capture
from ansible_collections.gpuops.node.plugins.plugin_utils.diagnose import diagnose
from ansible_collections.gpuops.node.plugins.plugin_utils.judge.view import Options


def a_node(name: str, gpus: int | None = 8, **spec: t.Any) -> dict[str, t.Any]:
    amounts = {"cpu": "128", "pods": "110"} | ({} if gpus is None else {"nvidia.com/gpu": str(gpus)})
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {} if gpus is None else {"nvidia.com/gpu.count": "8", "nvidia.com/gpu.present": "true"}},
        "spec": spec,
        "status": {"capacity": amounts, "allocatable": amounts, "conditions": [{"type": "Ready", "status": "True"}]},
    }


def a_pod(name: str, node: str | None = None, phase: str = "Running", gpus: int = 1) -> dict[str, t.Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "ml", "uid": f"uid-{name}"},
        "spec": {
            "containers": [{"name": "main", "resources": {"limits": {"nvidia.com/gpu": str(gpus)}}}],
            **({"nodeName": node} if node else {}),
        },
        "status": {"phase": phase},
    }


def said_of(pod: str, message: str) -> dict[str, t.Any]:
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{pod}.1", "namespace": "ml"},
        "involvedObject": {"kind": "Pod", "name": pod, "namespace": "ml"},
        "reason": "FailedScheduling",
        "message": message,
    }


def told(folder: pathlib.Path, files: dict[str, t.Any], only: str | None = None, **options: t.Any) -> dict[str, str]:
    """Node -> root fault."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps({"apiVersion": "v1", "kind": "List", "items": content}))
    evidence = open_capture(str(folder), only)
    verdicts = diagnose(evidence, [only] if only else evidence.node_names(), Options(**options))
    return {verdict["node"]: verdict["root"]["fault"] for verdict in verdicts}


def test_what_a_node_brings_is_read_among_others_too(tmp_path: pathlib.Path) -> None:
    line = "[Thu Jun 12 02:58:01 2025] NVRM: Xid (PCI:0000:a4:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.\n"
    files = {"nodes.json": [a_node("gpu-1"), a_node("gpu-2")], "nodes/gpu-1/dmesg.txt": line}
    assert told(tmp_path, files) == {"gpu-1": "gpu_fallen_off_bus", "gpu-2": "healthy"}
    assert told(tmp_path, files, "gpu-1") == {"gpu-1": "gpu_fallen_off_bus"}


def test_a_table_of_nodes_proves_no_health(tmp_path: pathlib.Path) -> None:
    table = (
        "NAME    STATUS     ROLES    AGE    VERSION\n"
        "gpu-1   Ready      <none>   200d   v1.31.4\n"
        "gpu-2   Ready      <none>   200d   v1.31.4\n"
        "gpu-3   NotReady   <none>   200d   v1.31.4\n"
    )
    assert told(tmp_path, {"kubectl-get-nodes.txt": table}) == {
        "gpu-1": "undetermined",
        "gpu-2": "undetermined",
        "gpu-3": "node_not_ready",
    }


def test_a_node_without_any_sign_of_a_gpu_is_no_sick_node(tmp_path: pathlib.Path) -> None:
    assert told(tmp_path, {"nodes.json": [a_node("cpu-1", None), a_node("gpu-1")]}) == {"cpu-1": "healthy", "gpu-1": "healthy"}


@pytest.mark.parametrize(("pod", "fault"), [(None, "healthy"), ("ml/infer-1", "gpus_in_use")])
def test_full_nodes_are_sick_only_for_the_pod_that_is_asked_for(tmp_path: pathlib.Path, pod: str | None, fault: str) -> None:
    pods = [a_pod("train-1", "gpu-1", gpus=8), a_pod("train-2", "gpu-2", gpus=8), a_pod("infer-1", None, "Pending")]
    files = {"nodes.json": [a_node("gpu-1"), a_node("gpu-2")], "pods.json": pods}
    assert told(tmp_path, files, pod=pod) == {"gpu-1": fault, "gpu-2": fault}


@pytest.mark.parametrize(
    "message",
    [
        "0/1 nodes are available: 1 Insufficient nvidia.com/gpu.",
        "0/1 nodes are available: 1 Insufficient nvidia.com/gpu. preemption: 0/1 nodes are available: 1 No preemption victims found.",
    ],
)
def test_what_was_said_of_a_pod_before_it_ran_is_no_fault(tmp_path: pathlib.Path, message: str) -> None:
    files = {"nodes.json": [a_node("gpu-1")], "pods.json": [a_pod("train-1", "gpu-1")], "events.json": [said_of("train-1", message)]}
    assert told(tmp_path, files, "gpu-1") == {"gpu-1": "healthy"}


@pytest.mark.parametrize(
    "mark", [{"unschedulable": True}, {"taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]}]
)
@pytest.mark.parametrize("gpus", [0, 7])
def test_no_mark_explains_missing_gpus(tmp_path: pathlib.Path, gpus: int, mark: dict[str, t.Any]) -> None:
    nodes = [a_node("gpu-1", gpus, **mark), a_node("gpu-2")]
    assert told(tmp_path, {"nodes.json": nodes, "pods.json": [a_pod("infer-1", None, "Pending")]})["gpu-1"] == "undetermined"


def test_a_node_that_offers_all_is_not_suspected_below(tmp_path: pathlib.Path) -> None:
    said = "0/2 nodes are available: 2 Insufficient nvidia.com/gpu."
    (tmp_path / "nodes.json").write_text(json.dumps(a_node("gpu-1")))
    (tmp_path / "events.json").write_text(json.dumps(said_of("infer-1", said)))
    evidence = open_capture(str(tmp_path), "gpu-1")
    root = diagnose(evidence, ["gpu-1"])[0]["root"]
    assert root["certainty"] == "possible"
    assert "driver" not in root["because"]
    assert "plugin" not in root["because"]
