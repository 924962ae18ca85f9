# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors
from __future__ import annotations

import types

import pytest
from ansible_collections.gpuops.node.plugins.plugin_utils import owners, twins
from ansible_collections.gpuops.node.plugins.plugin_utils.evidence import Evidence
from hypothesis import given
from hypothesis import strategies as st

GPU = "nvidia.com/gpu"
POOL = "eks.amazonaws.com/nodegroup"
TYPE = "node.kubernetes.io/instance-type"
PRODUCT = "nvidia.com/gpu.product"


def node(name, gpus=8, ready="True", capacity=None, resource=GPU, **labels):
    return {
        "metadata": {"name": name, "labels": {k.replace("__", "/"): v for k, v in labels.items()}},
        "status": {
            "conditions": [{"type": "Ready", "status": ready}],
            "allocatable": {resource: str(gpus)},
            "capacity": {resource: str(gpus if capacity is None else capacity)},
        },
    }


def labelled(name, gpus=8, labels=None, **more):
    made = node(name, gpus, **more)
    made["metadata"]["labels"] = labels or {}
    return made


SICK = labelled("gpu-17", 0, {POOL: "a100", TYPE: "p4d"})


@pytest.mark.parametrize(
    ("labels", "by"),
    [
        ({POOL: "a100", TYPE: "p4d"}, "pool"),
        ({POOL: "a100"}, "pool"),
        ({POOL: "other", TYPE: "p4d"}, "instance type"),
        ({POOL: "a100", TYPE: "g5"}, None),  # a pool of mixed machines: another type is no twin
        ({POOL: "other", TYPE: "g5"}, None),
        ({}, None),
    ],
)
def test_what_makes_a_twin(labels, by):
    got = owners.twins(SICK, [SICK, labelled("gpu-1", 8, labels)])
    assert got.by == by
    assert len(got) == (1 if by else 0)


@pytest.mark.parametrize(
    "other",
    [
        labelled("gpu-1", 8, {POOL: "a100"}, ready="False"),
        labelled("gpu-1", 0, {POOL: "a100"}),
        labelled("gpu-1", 7, {POOL: "a100"}, capacity=8),
        {"metadata": {"name": "gpu-1", "labels": {POOL: "a100"}}, "_partial": True},
    ],
)
def test_only_the_healthy_are_twins(other):
    assert not len(owners.twins(SICK, [other]))


def test_products_are_compared_without_what_sharing_appends():
    sick = labelled("gpu-17", 0, {PRODUCT: "NVIDIA-A100-SXM4-40GB"})
    shared = labelled("gpu-1", 32, {PRODUCT: "NVIDIA-A100-SXM4-40GB-SHARED"})
    split = labelled("gpu-2", 56, {PRODUCT: "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb-SHARED"})
    assert owners.twins(sick, [shared, split]).by == "GPU product"
    assert len(owners.twins(sick, [shared, split])) == 2


def test_distributions_that_write_their_name_as_machine_type():
    sick = labelled("worker-3", 0, {TYPE: "k3s"})
    assert not len(owners.twins(sick, [labelled("worker-1", 8, {TYPE: "k3s"})]))


def test_names_alike_count_only_among_gpu_nodes():
    present = {"nvidia.com/gpu.present": "true"}
    sick = labelled("gpu-17", 0, {"feature.node.kubernetes.io/pci-10de.present": "true"})
    got = owners.twins(sick, [labelled(f"gpu-{n}", 8, present) for n in range(3)])
    assert (got.by, got.provenance) == ("name", "3 healthy nodes named gpu-N")
    assert not len(owners.twins(labelled("gpu-17", 0), [labelled("gpu-1", 8, present)]))  # nothing says it should have GPUs
    assert not len(owners.twins(sick, [labelled("cpu-1", 8, present)]))


FLEET = [labelled(f"gpu-{n}", 8, {POOL: "a100", TYPE: "p4d"}) for n in range(1, 5)]
OPERANDS = "nvidia.com/gpu.deploy.operands"


@pytest.mark.parametrize(
    ("subject", "declared", "counts", "value", "said"),
    [
        (SICK, 4, {}, 4, "declared by the user"),
        (SICK, {"gpu-17": 6, "gpu-18": 2}, {}, 6, "declared by the user"),
        (SICK, {"gpu-18": 2}, {}, 8, "4 healthy nodes of the same pool (eks.amazonaws.com/nodegroup=a100) advertise 8 each"),
        (SICK, 0, {}, 0, "declared by the user"),
        (labelled("x", 0, {OPERANDS: "false", POOL: "a100"}), None, {}, 0, "nvidia.com/gpu.deploy.operands=false switches"),
        (labelled("x", 0, {OPERANDS: "false"}), 8, {}, 8, "declared by the user"),
        (labelled("x", 0, {"nvidia.com/gpu.workload.config": "vm-passthrough"}), None, {"bus": 8}, 0, "for virtual machines"),
        (labelled("x", 0, {"nvidia.com/gpu.workload.config": "container"}), None, {"bus": 8}, 8, "8 GPUs on the bus (bus)"),
        # labels of feature discovery
        (labelled("x", 0, {"nvidia.com/gpu.count": "8", PRODUCT: "H100"}), None, {"bus": 4}, 8, "label nvidia.com/gpu.count=8"),
        (labelled("x", 0, {"nvidia.com/gpu.count": "8", "nvidia.com/gpu.replicas": "1"}), None, {}, 8, "label nvidia.com/gpu.count=8"),
        (
            labelled("x", 0, {"nvidia.com/gpu.count": "8", "nvidia.com/gpu.replicas": "4", PRODUCT: "A10-SHARED"}),
            None,
            {},
            32,
            "times nvidia.com/gpu.replicas=4 (time-slicing)",
        ),
        (
            labelled("x", 0, {"nvidia.com/gpu.count": "2", "nvidia.com/gpu.replicas": "4", "nvidia.com/gpu.sharing-strategy": "mps"}),
            None,
            {},
            8,
            "(mps)",
        ),
        (
            labelled("x", 0, {"nvidia.com/gpu.count": "56", "nvidia.com/mig.strategy": "single", PRODUCT: "A100-MIG-1g.5gb"}),
            None,
            {"bus": 8},
            56,
            "MIG devices (strategy single)",
        ),
        (
            labelled("x", 0, {"nvidia.com/gpu.count": "0", "nvidia.com/mig.strategy": "single", PRODUCT: "A100-MIG-INVALID"}),
            None,
            {"bus": 8},
            None,
            None,
        ),
        # mixed: replicas 0 says that every GPU is split
        (
            labelled(
                "x",
                0,
                {
                    "nvidia.com/gpu.count": "8",
                    "nvidia.com/gpu.replicas": "0",
                    "nvidia.com/mig.strategy": "mixed",
                    "nvidia.com/mig-1g.5gb.count": "16",
                    "nvidia.com/mig-3g.20gb.count": "8",
                },
            ),
            None,
            {},
            24,
            "nvidia.com/mig-*.count",
        ),
        # mixed with whole GPUs beside: gpu.count counts both, so it says nothing
        (
            labelled(
                "x",
                0,
                {
                    "nvidia.com/gpu.count": "8",
                    "nvidia.com/gpu.replicas": "1",
                    "nvidia.com/mig.strategy": "mixed",
                    "nvidia.com/mig.config": "custom",
                    "nvidia.com/mig-1g.5gb.count": "7",
                },
            ),
            None,
            {"bus": 8},
            None,
            None,
        ),
        # the bus
        (labelled("x", 0), None, {"bus": (8, "host/lspci.txt")}, 8, "8 GPUs on the bus (host/lspci.txt)"),
        (labelled("x", 0), None, {"nvidia_smi": 7, "lspci": 8}, 8, "8 GPUs on the bus (lspci)"),
        (labelled("x", 0), None, {"bus": 0}, None, None),
        (labelled("x", 0), None, {}, None, None),
        (labelled("x", 7), None, {}, None, None),  # never what it advertises itself
    ],
)
def test_expected_count(subject, declared, counts, value, said):
    got = owners.expected_count(subject, FLEET, declared, counts)
    assert got.value == value
    assert got.provenance is None if said is None else said in got.provenance


def test_twins_that_disagree():
    mixed = [*FLEET, labelled("gpu-9", 4, {POOL: "a100"})]
    got = owners.expected_count(SICK, mixed)
    assert (got.value, got.provenance.split(" of ")[0]) == (8, "4")
    half = FLEET[:1] + [labelled("gpu-9", 4, {POOL: "a100", TYPE: "p4d"})]
    assert owners.expected_count(SICK, half, None, {"bus": 8}).provenance == "8 GPUs on the bus (bus)"


def test_twins_with_mig_or_shares():
    fleet = [labelled(f"gpu-{n}", 7, {POOL: "a100"}, resource="nvidia.com/mig-1g.10gb") for n in range(3)]
    assert owners.expected_count(labelled("gpu-17", 0, {POOL: "a100"}), fleet).value == 7
    assert owners.expected_count(labelled("x", 0, {"nvidia.com/mig-1g.10gb.count": "7"}), resource="nvidia.com/mig-1g.10gb").value == 7


SHARED = {"nvidia.com/gpu.count": "8", "nvidia.com/gpu.replicas": "10", "nvidia.com/gpu.sharing-strategy": "time-slicing"}
MIXED = {"nvidia.com/gpu.count": "8", "nvidia.com/mig.strategy": "mixed", "nvidia.com/mig.config": "all-1g.10gb"}
MIXED = {**MIXED, "nvidia.com/mig-1g.10gb.count": "56"}
SINGLE = {"nvidia.com/gpu.count": "56", "nvidia.com/mig.strategy": "single", PRODUCT: "H100-MIG-1g.10gb"}


def mixed(name, devices=56, **labels):
    made = labelled(name, devices, {TYPE: "p5", **MIXED, **labels}, resource="nvidia.com/mig-1g.10gb")
    for section in ("allocatable", "capacity"):
        made["status"][section][GPU] = "0"
    return made


PLAIN_TWINS = [labelled(f"plain-{n}", 8, {TYPE: "p5", "nvidia.com/gpu.count": "8"}) for n in range(2)]
SHARED_TWINS = [labelled(f"shared-{n}", 80, {TYPE: "p5", **SHARED}) for n in range(2)]
SINGLE_TWINS = [labelled(f"single-{n}", 56, {TYPE: "p5", **SINGLE}) for n in range(2)]


@pytest.mark.parametrize(
    ("subject", "fleet", "value", "said"),
    [
        # its own labels beat twins that are shared or split in another way
        (labelled("x", 8, {TYPE: "p5", "nvidia.com/gpu.count": "8"}), SHARED_TWINS, 8, "label nvidia.com/gpu.count=8"),
        (labelled("x", 0, {TYPE: "p5", "nvidia.com/gpu.count": "8"}), SHARED_TWINS, 8, "label nvidia.com/gpu.count=8"),
        (labelled("x", 8, {TYPE: "p5", "nvidia.com/gpu.count": "8"}), [mixed("mig")], 8, "label nvidia.com/gpu.count=8"),
        (labelled("x", 8, {TYPE: "p5", "nvidia.com/gpu.count": "8"}), SINGLE_TWINS, 8, "label nvidia.com/gpu.count=8"),
        (labelled("x", 0, {TYPE: "p5", **SHARED}), PLAIN_TWINS, 80, "nvidia.com/gpu.replicas=10"),
        (mixed("x", 0, **{"nvidia.com/gpu.replicas": "0"}), PLAIN_TWINS, 56, "nvidia.com/mig-*.count"),
        # twins of the same shape, among others
        (labelled("x", 0, {TYPE: "p5", "nvidia.com/gpu.count": "4"}), [*SHARED_TWINS, *PLAIN_TWINS], 8, "2 healthy nodes"),
        (labelled("x", 0, {TYPE: "p5", **SHARED}), [*SHARED_TWINS, *PLAIN_TWINS], 80, "2 healthy nodes"),
        (mixed("x", 0), [mixed("a"), *PLAIN_TWINS], 56, "1 healthy node"),
        (mixed("x", 49), [mixed("a"), *PLAIN_TWINS], 56, "1 healthy node"),
        (labelled("x", 0, {TYPE: "p5", "nvidia.com/device-plugin.config": "a"}), PLAIN_TWINS, None, None),
        (labelled("x", 0, {TYPE: "p5", "nvidia.com/gpu.count": "8", "nvidia.com/mig.config": "all-disabled"}), PLAIN_TWINS, 8, "2 healthy"),
        # nothing says how the node is cut: whole GPUs
        (labelled("x", 8, {TYPE: "p5"}), SHARED_TWINS, 8, "2 healthy nodes of the same instance type (p5) have 8 whole GPUs each"),
        (labelled("x", 0, {TYPE: "p5"}), SHARED_TWINS, 8, "have 8 whole GPUs each"),
        (labelled("x", 0, {TYPE: "p5"}), [mixed("a")], 8, "1 healthy node of the same instance type (p5) has 8 whole GPUs"),
        (labelled("x", 8, {TYPE: "p5"}), [mixed("a")], None, None),  # it offers another resource
        (labelled("x", 0, {TYPE: "p5"}), SINGLE_TWINS, None, None),  # how many GPUs they have is not told
    ],
)
def test_only_one_shape_is_compared(subject, fleet, value, said):
    got = owners.expected_count(subject, fleet)
    assert got.value == value
    assert said is None or said in got.provenance


def test_one_gpu_is_one_gpu():
    assert owners.expected_count(labelled("x", 0), (), None, {"bus": 1}).provenance == "1 GPU on the bus (bus)"


def test_a_twin_that_is_not_whole_is_not_asked():
    fleet = [labelled("gpu-1", 7, {POOL: "a100"}, capacity=8)]
    assert owners.expected_count(SICK, fleet).value is None


@pytest.mark.parametrize(
    ("objects", "gpus", "zero"),
    [
        ({"ResourceSlice": [{"spec": {"driver": "gpu.nvidia.com", "nodeName": "x"}}]}, 0, True),
        ({"ResourceSlice": [{"spec": {"driver": "gpu.nvidia.com", "nodeName": "x"}}]}, 8, False),
        ({"ResourceSlice": [{"spec": {"driver": "gpu.nvidia.com", "nodeName": "y"}}]}, 0, False),
        ({"ResourceSlice": [{"spec": {"driver": "dra.net", "nodeName": "x"}}]}, 0, False),
        ({"GPUCluster": [{"metadata": {"name": "gpu-cluster"}}]}, 0, True),
    ],
)
def test_zero_is_right_under_dra(objects, gpus, zero):
    got = owners.expected_count(labelled("x", gpus), objects=objects)
    assert (got.value == 0) is zero


def view(name, nodes, **options):
    evidence = Evidence("capture", "gpuops")
    for made in nodes:
        evidence.add("Node", made)
    settings = types.SimpleNamespace(expected=None, resource=GPU, **options)
    subject = next((n for n in nodes if n["metadata"]["name"] == name), None)
    return types.SimpleNamespace(name=name, node=subject, evidence=evidence, options=settings, cluster=types.SimpleNamespace())


def test_one_view_of_many():
    seen = view("gpu-17", [*FLEET, SICK])
    assert owners.expected_for(seen, {}) == (8, "4 healthy nodes of the same pool (eks.amazonaws.com/nodegroup=a100) advertise 8 each")
    assert isinstance(seen.cluster.twin_index, twins.TwinIndex)
    assert len(owners.twins_for(seen)) == 4
    assert owners.expected_for(view("gone", FLEET), {"bus": 8}).value == 8
    assert not len(owners.twins_for(view("gone", FLEET)))


LABELS = st.dictionaries(
    st.sampled_from(
        [POOL, TYPE, PRODUCT, "nvidia.com/gpu.count", "nvidia.com/gpu.replicas", "nvidia.com/mig.strategy", "nvidia.com/mig-1g.5gb.count"]
    ),
    st.sampled_from(["8", "-1", "mixed", "single", "a", "A100-MIG-1g.5gb", "A100-MIG-INVALID", None, "99999999999999999999"]),
    max_size=5,
)
NODES = st.lists(st.builds(labelled, st.sampled_from(["gpu-1", "gpu-2", ""]), st.sampled_from([0, 7, 8, "x"]), LABELS), max_size=4)


@given(
    NODES,
    LABELS,
    st.none() | st.integers(-1, 9) | st.dictionaries(st.text(max_size=2), st.integers()),
    st.dictionaries(st.text(max_size=3), st.integers()),
)
def test_expected_never_raises_and_never_asks_the_node_itself(nodes, labels, declared, counts):
    answers = [owners.expected_count(labelled("gpu-17", gpus, labels), nodes, declared, counts) for gpus in (0, 5, 8)]
    assert answers[0] == answers[1] == answers[2]
    assert answers[0].value is None or answers[0].value >= 0
    assert (answers[0].value is None) == (answers[0].provenance is None)
