# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors
from __future__ import annotations

import copy

import pytest
from ansible_collections.gpuops.node.plugins.plugin_utils.judge import scheduling
from hypothesis import given, settings
from hypothesis import strategies as st

GPU = "nvidia.com/gpu"


def node(name="gpu-1", allocatable=None, capacity=None, taints=None, labels=None, cordoned=False, ready="True", **more):
    allocatable = {"cpu": "96", "memory": "1000Gi", "pods": "110", GPU: "8", **(allocatable or {})}
    return {
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
        "spec": {"taints": taints or [], **({"unschedulable": True} if cordoned else {})},
        "status": {
            "allocatable": allocatable,
            "capacity": {**allocatable, **(capacity or {})},
            "conditions": [{"type": "Ready", "status": ready}],
        },
        **more,
    }


def pod(name="train", gpus=1, resource=GPU, on=None, phase=None, requests=None, labels=None, namespace="ml", **spec):
    asks = {**({resource: str(gpus)} if gpus else {}), **(requests or {})}
    return {
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": labels or {}},
        "spec": {
            "containers": [{"name": "c", "resources": {"requests": asks, "limits": asks}}],
            **({"nodeName": on} if on else {}),
            **spec,
        },
        "status": {"phase": phase or ("Running" if on else "Pending")},
    }


def kinds(outcome):
    return [(r.kind, r.fault) for r in outcome.refusals]


# ---- free -------------------------------------------------------------------------------------------------


def test_free_counts_only_pods_that_hold_something_on_this_node():
    pods = [
        pod("a", 4, on="gpu-1"),
        pod("b", 1, on="gpu-1", phase="Succeeded"),
        pod("c", 1, on="gpu-1", phase="Failed"),
        pod("d", 2, on="gpu-2"),
        pod("e", 8),
    ]
    leaving = pod("f", 1, on="gpu-1")
    leaving["metadata"]["deletionTimestamp"] = "2026-08-01T00:00:00Z"
    got = scheduling.free(node(), [*pods, leaving])
    assert got.resources[GPU] == 3
    assert got.resources["pods"] == 108
    assert got.complete
    assert got.holders == [
        {"pod": "ml/a", "gpus": 4.0, "resources": {GPU: 4.0}, "terminating": False},
        {"pod": "ml/f", "gpus": 1.0, "resources": {GPU: 1.0}, "terminating": True},
    ]


def test_free_is_unknown_when_pods_are_missing_but_bounded_from_above():
    got = scheduling.free(node(), [pod("a", 5, on="gpu-1")], pods_complete=False)
    assert got.resources[GPU] is None
    assert got.at_most[GPU] == 3
    row = {"metadata": {"name": "x"}, "_table": {"status": "Running", "node": "gpu-1"}}
    got = scheduling.free(node(), [row])
    assert got.resources[GPU] is None
    assert got.unknown == ["requests of x"]


def test_free_takes_the_sum_that_describe_prints():
    got = scheduling.free(node(_allocated={GPU: "6"}), [], pods_complete=False)
    assert got.resources[GPU] == 2
    assert got.resources["cpu"] is None


def test_free_of_an_unknown_allocatable_is_unknown():
    part = {"metadata": {"name": "gpu-1"}, "_partial": True, "status": {"allocatable": {"cpu": "4"}}}
    assert scheduling.free(part, [pod("a", 1, on="gpu-1")]).resources[GPU] is None


AMOUNTS = st.sampled_from(["0", "1", "8", "250m", "junk", "4Gi", None, -3])
PODS = st.lists(
    st.builds(
        lambda n, amount, where, phase: {
            "metadata": {"name": f"p{n}"},
            "spec": {"nodeName": where, "containers": [{"resources": {"requests": {GPU: amount, "cpu": amount}}}]},
            "status": {"phase": phase},
        },
        st.integers(0, 50),
        AMOUNTS,
        st.sampled_from(["gpu-1", "gpu-2", None]),
        st.sampled_from(["Running", "Pending", "Succeeded", None]),
    ),
    max_size=8,
)


@given(PODS, AMOUNTS, st.booleans())
def test_free_is_never_above_allocatable_nor_below_zero(pods, has, complete):
    subject = node(allocatable={GPU: has})
    got = scheduling.free(subject, pods, pods_complete=complete)
    for resource, left in got.resources.items():
        if left is not None:
            assert 0 <= left <= scheduling.amount(subject, "allocatable", resource) or left == scheduling.amount(
                subject, "allocatable", resource
            )
            assert left == got.at_most[resource]


@given(PODS)
def test_one_pod_more_never_frees_anything(pods):
    before = scheduling.free(node(), pods).at_most
    after = scheduling.free(node(), [*pods, pod("more", 1, on="gpu-1")]).at_most
    assert all(after[r] <= before[r] for r in before)


# ---- taints -----------------------------------------------------------------------------------------------

TAINT = {"key": GPU, "value": "present", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("toleration", "answer"),
    [
        ({"key": GPU, "operator": "Exists", "effect": "NoSchedule"}, True),
        ({"key": GPU, "operator": "Exists"}, True),
        ({"operator": "Exists"}, True),
        ({"key": GPU, "value": "present"}, True),
        ({"key": GPU, "operator": "Equal", "value": "true", "effect": "NoSchedule"}, False),
        ({"key": GPU, "operator": "Exists", "effect": "NoExecute"}, False),
        ({"key": "nvidia.com/other", "operator": "Exists"}, False),
        ({"value": "present"}, False),
        ({"key": GPU, "operator": "exists"}, False),
    ],
)
def test_tolerates(toleration, answer):
    assert scheduling.tolerates(pod(tolerations=[toleration]), TAINT) is answer


def test_numeric_tolerations():
    taint = {"key": "sla", "value": "950", "effect": "NoSchedule"}
    assert scheduling.tolerates(pod(tolerations=[{"key": "sla", "operator": "Gt", "value": "900"}]), taint) is True
    assert scheduling.tolerates(pod(tolerations=[{"key": "sla", "operator": "Lt", "value": "900"}]), taint) is False


def test_tolerations_of_a_part_of_a_pod_are_not_known():
    assert scheduling.tolerates({"metadata": {"name": "p"}, "_partial": True}, TAINT) is None
    assert scheduling.tolerates(pod(), TAINT) is False


def test_untolerated_taints():
    soft = {"key": "soft", "effect": "PreferNoSchedule"}
    subject = node(taints=[TAINT, soft])
    assert scheduling.untolerated_taints(pod(), subject) == [TAINT]
    assert scheduling.untolerated_taints(pod(tolerations=[{"operator": "Exists"}]), subject) == []
    assert scheduling.untolerated_taints(pod(), {"metadata": {"name": "x"}, "_table": {"status": "Ready"}}) is None
    assert scheduling.untolerated_taints({"_partial": True}, subject) is None


# ---- selectors --------------------------------------------------------------------------------------------

LABELS = {"product": "H100", "count": "8", "zone": "a"}


@pytest.mark.parametrize(
    ("expression", "answer"),
    [
        ({"key": "product", "operator": "In", "values": ["A100", "H100"]}, True),
        ({"key": "product", "operator": "In", "values": ["A100"]}, False),
        ({"key": "absent", "operator": "In", "values": ["x"]}, False),
        ({"key": "product", "operator": "NotIn", "values": ["A100"]}, True),
        ({"key": "product", "operator": "NotIn", "values": ["H100"]}, False),
        ({"key": "absent", "operator": "NotIn", "values": ["x"]}, True),
        ({"key": "product", "operator": "Exists"}, True),
        ({"key": "absent", "operator": "Exists"}, False),
        ({"key": "absent", "operator": "DoesNotExist"}, True),
        ({"key": "product", "operator": "DoesNotExist"}, False),
        ({"key": "count", "operator": "Gt", "values": ["4"]}, True),
        ({"key": "count", "operator": "Gt", "values": ["8"]}, False),
        ({"key": "count", "operator": "Lt", "values": ["16"]}, True),
        ({"key": "product", "operator": "Gt", "values": ["4"]}, False),
        ({"key": "absent", "operator": "Lt", "values": ["4"]}, False),
        ({"key": "count", "operator": "Gt", "values": ["4", "5"]}, False),
        ({"key": "product", "operator": "Near", "values": ["H100"]}, None),
    ],
)
def test_every_operator(expression, answer):
    affinity = {
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}
    }
    assert scheduling.matches_required_node_affinity(pod(affinity=affinity), node(labels=LABELS)).result is answer


def required(*terms):
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}}


def test_terms_are_alternatives_and_a_term_holds_as_a_whole():
    wrong = {"matchExpressions": [{"key": "product", "operator": "In", "values": ["A100"]}]}
    right = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}, {"key": "count", "operator": "Gt", "values": ["4"]}]}
    by_name = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["gpu-1"]}]}
    subject = node(labels=LABELS)
    assert scheduling.matches_required_node_affinity(pod(affinity=required(wrong, right)), subject)
    assert scheduling.matches_required_node_affinity(pod(affinity=required(by_name)), subject)
    assert not scheduling.matches_required_node_affinity(pod(affinity=required(by_name)), node("gpu-2"))
    got = scheduling.matches_required_node_affinity(pod(affinity=required(wrong, {})), subject)
    assert got.result is False
    assert got.failed == ["product In [A100] (the node has H100)", "an empty term, which matches no node"]
    assert scheduling.matches_required_node_affinity(pod(affinity=required()), subject).result is False


def test_node_selector_names_the_label():
    got = scheduling.matches_node_selector(pod(nodeSelector={"product": "A100", "absent": "x", "zone": "a"}), node(labels=LABELS))
    assert got.failed == ["absent=x (the node has no such label)", "product=A100 (the node has H100)"]
    part = {"metadata": {"name": "gpu-1"}, "_partial": True}
    assert scheduling.matches_node_selector(pod(nodeSelector={"a": "b"}), part).result is None
    assert scheduling.matches_node_selector(pod(), part).result is True


# ---- evaluate: filters in order ---------------------------------------------------------------------------


def test_a_pod_that_fits():
    got = scheduling.evaluate(pod(gpus=8), node(), [], [node()])
    assert got.fits is True
    assert not got.refusals
    assert not got.unknown


def test_order_of_the_filters():
    subject = node(cordoned=True, taints=[TAINT, {"key": "node.kubernetes.io/disk-pressure", "effect": "NoSchedule"}])
    wish = pod(gpus=16, nodeSelector={"a": "b"}, requests={"cpu": "200"})
    assert kinds(scheduling.evaluate(wish, subject, [], [subject])) == [
        ("cordoned", "node_cordoned"),
        ("taint", "taint_not_tolerated"),
        ("condition_taint", "node_not_ready"),
        ("selector", "affinity_excludes"),
        ("exceeds", "request_exceeds_node"),
        ("other_exceeds", "other_resource_short"),
    ]


def test_a_cordon_and_its_taint_are_one_refusal():
    subject = node(cordoned=True, taints=[{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}])
    assert kinds(scheduling.evaluate(pod(), subject)) == [("cordoned", "node_cordoned")]
    daemon = pod(tolerations=[{"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoSchedule"}])
    assert scheduling.evaluate(daemon, subject).fits is True


def test_not_ready_without_its_taint():
    assert kinds(scheduling.evaluate(pod(), node(ready="Unknown"))) == [("not_ready", "node_not_ready")]


def test_a_pod_bound_elsewhere():
    got = scheduling.evaluate(pod(on="gpu-2"), node())
    assert kinds(got) == [("node_name", "affinity_excludes")]
    assert scheduling.evaluate(pod(on="gpu-1"), node()).assigned


# ---- evaluate: GPUs ---------------------------------------------------------------------------------------


def test_gpus_in_use_names_the_holders():
    pods = [pod("big", 6, on="gpu-1"), pod("small", 1, on="gpu-1")]
    got = scheduling.evaluate(pod(gpus=2), node(), pods)
    assert kinds(got) == [("gpus_in_use", "gpus_in_use")]
    assert got.first.detail["free"] == 1
    assert "ml/big (6), ml/small (1)" in got.first.because
    assert got.first.quote().source == "Node/gpu-1"


def test_the_pod_itself_is_no_holder():
    mine = pod("train", 8, on="gpu-1")
    assert scheduling.evaluate(pod("train", 8), node(), [mine]).fits is True


def test_in_use_is_certain_even_when_pods_are_missing():
    pods = [pod("big", 7, on="gpu-1")]
    assert kinds(scheduling.evaluate(pod(gpus=2), node(), pods, pods_complete=False)) == [("gpus_in_use", "gpus_in_use")]
    got = scheduling.evaluate(pod(gpus=1), node(), pods, pods_complete=False)
    assert got.fits is None
    assert f"how much {GPU} is free" in got.unknown


@pytest.mark.parametrize(
    ("subject", "others", "kind", "fault"),
    [
        # some devices unhealthy: the node could hold the pod if they were not
        (node(allocatable={GPU: "5"}, capacity={GPU: "8"}), [node("gpu-2")], "unhealthy", "gpu_marked_unhealthy"),
        # no node is that large
        (node(allocatable={GPU: "4"}), [node("gpu-2", {GPU: "2"})], "exceeds", "request_exceeds_node"),
        # this node is too small, another is not
        (node(allocatable={GPU: "4"}), [node("gpu-2")], "node_smaller", None),
        # the plugin is away: a fault below
        (node(allocatable={GPU: "0"}, capacity={GPU: "8"}), [node("gpu-2")], "not_advertised", None),
        (node(allocatable={GPU: "0"}, capacity={GPU: "0"}), [node("gpu-2")], "not_advertised", None),
        # MIG and sharing go by other names
        (node(allocatable={GPU: "0", "nvidia.com/mig-1g.10gb": "7"}), [], "name", "resource_name_mismatch"),
        (node(allocatable={GPU: "0", "nvidia.com/gpu.shared": "32"}), [], "name", "resource_name_mismatch"),
        (node(allocatable={GPU: "0", "nvidia.com/mig-1g.10gb": "7"}), [node("gpu-2")], "not_offered_here", "resource_name_mismatch"),
    ],
)
def test_asking_for_more_than_the_node_gives(subject, others, kind, fault):
    got = scheduling.evaluate(pod(gpus=6), subject, [], [subject, *others])
    assert kinds(got) == [(kind, fault)]


@pytest.mark.parametrize("wrong", ["nvidia.com/gpus", "nvidia.com/mig-3g.20gb", "alpha.kubernetes.io/nvidia-gpu", "nvidia.com/gpu.shared"])
def test_a_name_no_node_advertises(wrong):
    got = scheduling.evaluate(pod(gpus=1, resource=wrong), node(), [], [node(), node("gpu-2")])
    assert kinds(got) == [("name", "resource_name_mismatch")]
    assert got.first.because == f"No known node advertises {wrong}; what they advertise is {GPU}."


def test_a_wrong_name_is_not_blamed_on_a_broken_node():
    broken = node(allocatable={GPU: "0"})
    assert kinds(scheduling.evaluate(pod(), broken, [], [broken])) == [("not_advertised", None)]


def test_absence_in_a_part_of_a_node_is_silence():
    part = {
        "metadata": {"name": "gpu-1"},
        "_partial": True,
        "spec": {"taints": []},
        "status": {"allocatable": {"cpu": "96", "pods": "110"}},
    }
    got = scheduling.evaluate(pod(), part)
    assert not got.refusals
    assert got.fits is None
    assert f"how much {GPU} the node has" in got.unknown


def test_hami_counts_physical_cards():
    cards = ":".join(f"GPU-0355252{n}-207a-2038-9b45-23cac89cb67d,10,46068,100,NVIDIA-A40,0,true" for n in range(8)) + ":"
    shared = node(allocatable={GPU: "80"})
    shared["metadata"]["annotations"] = {"hami.io/node-nvidia-register": cards}
    assert scheduling.physical_gpus(shared) == 8
    got = scheduling.evaluate(pod(gpus=16, requests={"nvidia.com/gpumem": "20k"}), shared, [], [shared])
    assert kinds(got) == [("exceeds", "request_exceeds_node")]
    assert got.first.detail["physical"] == 8
    shared["metadata"]["annotations"] = {"hami.io/node-nvidia-register": '[{"id":"GPU-1"},{"id":"GPU-2"}]'}
    assert scheduling.physical_gpus(shared) == 2
    shared["metadata"]["annotations"] = {"hami.io/node-nvidia-register": "[broken"}
    assert scheduling.physical_gpus(shared) is None
    assert scheduling.evaluate(pod(gpus=1, requests={"nvidia.com/gpumem": "20k"}), node()).fits is None  # another scheduler's resource


def test_other_resources():
    pods = [pod("a", 0, on="gpu-1", requests={"cpu": "90"})]
    assert kinds(scheduling.evaluate(pod(requests={"cpu": "8"}), node(), pods)) == [("other_short", "other_resource_short")]
    assert kinds(scheduling.evaluate(pod(requests={"rdma/hca": "1"}), node())) == [("other_exceeds", "other_resource_short")]
    small = node(allocatable={"pods": "1"})
    assert kinds(scheduling.evaluate(pod(), small, pods)) == [("too_many_pods", "other_resource_short")]


def test_host_ports():
    wants = pod("a", ports=None)
    wants["spec"]["containers"][0]["ports"] = [{"hostPort": 8080, "containerPort": 80}]
    holder = copy.deepcopy(wants)
    holder["metadata"]["name"], holder["spec"]["nodeName"], holder["status"]["phase"] = "b", "gpu-1", "Running"
    assert kinds(scheduling.evaluate(wants, node(), [holder])) == [("ports", "other_resource_short")]
    holder["spec"]["containers"][0]["ports"][0]["protocol"] = "UDP"
    assert scheduling.evaluate(wants, node(), [holder]).fits is True


# ---- evaluate: volumes, spread, pod affinity ---------------------------------------------------------------

CLAIM = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}
PVC = {"metadata": {"name": "data", "namespace": "ml"}, "spec": {"storageClassName": "fast"}, "status": {"phase": "Pending"}}


def volume(zone):
    terms = [{"matchExpressions": [{"key": "topology.kubernetes.io/zone", "operator": "In", "values": [zone]}]}]
    return {"metadata": {"name": "pv-1"}, "spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}}}


@pytest.mark.parametrize(
    ("objects", "looked", "kind", "fits"),
    [
        ({}, {}, None, None),
        ({}, {"PersistentVolumeClaim": "seen"}, "claim_missing", False),
        ({"PersistentVolumeClaim": [PVC]}, {}, None, None),
        (
            {"PersistentVolumeClaim": [PVC], "StorageClass": [{"metadata": {"name": "fast"}, "volumeBindingMode": "Immediate"}]},
            {},
            "claim_unbound",
            False,
        ),
        (
            {"PersistentVolumeClaim": [PVC], "StorageClass": [{"metadata": {"name": "fast"}, "volumeBindingMode": "WaitForFirstConsumer"}]},
            {},
            None,
            True,
        ),
        ({"PersistentVolumeClaim": [{**PVC, "spec": {"volumeName": "pv-1"}}]}, {}, None, None),
        (
            {"PersistentVolumeClaim": [{**PVC, "spec": {"volumeName": "pv-1"}}], "PersistentVolume": [volume("b")]},
            {},
            "volume_affinity",
            False,
        ),
        ({"PersistentVolumeClaim": [{**PVC, "spec": {"volumeName": "pv-1"}}], "PersistentVolume": [volume("a")]}, {}, None, True),
        (
            {
                "PersistentVolumeClaim": [{**PVC, "spec": {"volumeName": "pv-1"}}],
                "PersistentVolume": [{"metadata": {"name": "pv-1", "labels": {"topology.kubernetes.io/zone": "b__c"}}}],
            },
            {},
            "volume_affinity",
            False,
        ),
    ],
)
def test_volumes(objects, looked, kind, fits):
    got = scheduling.evaluate(pod(**CLAIM), node(labels={"topology.kubernetes.io/zone": "a"}), objects=objects, looked=looked)
    assert [r.kind for r in got.refusals] == ([kind] if kind else [])
    assert got.fits is fits


def spread(**more):
    rule = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": {"app": "x"}}}
    return {"topologySpreadConstraints": [{**rule, **more}]}


def test_topology_spread():
    nodes = [node("gpu-1", labels={"zone": "a"}), node("gpu-2", labels={"zone": "b"})]
    there = [pod("one", on="gpu-1", labels={"app": "x"})]
    wish = pod(labels={"app": "x"}, **spread())
    assert kinds(scheduling.evaluate(wish, nodes[0], there, nodes)) == [("spread", "affinity_excludes")]
    assert scheduling.evaluate(wish, nodes[1], there, nodes).fits is True
    assert scheduling.evaluate(pod(labels={"app": "x"}, **spread(maxSkew=2)), nodes[0], there, nodes).fits is True
    assert scheduling.evaluate(wish, nodes[0], there, nodes, pods_complete=False).fits is None
    assert kinds(scheduling.evaluate(wish, node("gpu-3"), there, nodes)) == [("spread_label", "affinity_excludes")]
    soft = pod(labels={"app": "x"}, **spread(whenUnsatisfiable="ScheduleAnyway"))
    assert scheduling.evaluate(soft, nodes[0], there, nodes).fits is True


def affinity(kind, **more):
    term = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "x"}}, **more}
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def test_pod_affinity_and_anti_affinity():
    nodes = [node("gpu-1", labels={"zone": "a"}), node("gpu-2", labels={"zone": "b"})]
    there = [pod("one", on="gpu-1", labels={"app": "x"})]
    apart = pod(**affinity("podAntiAffinity"))
    assert kinds(scheduling.evaluate(apart, nodes[0], there, nodes)) == [("pod_anti_affinity", "affinity_excludes")]
    assert scheduling.evaluate(apart, nodes[1], there, nodes).fits is True
    together = pod(**affinity("podAffinity"))
    assert scheduling.evaluate(together, nodes[0], there, nodes).fits is True
    assert kinds(scheduling.evaluate(together, nodes[1], there, nodes)) == [("pod_affinity", "affinity_excludes")]
    # the first pod of a group that wants its own company
    first = pod(labels={"app": "x"}, **affinity("podAffinity"))
    assert scheduling.evaluate(first, nodes[1], [], nodes).fits is True
    # other namespaces do not count unless named
    elsewhere = [pod("one", on="gpu-1", labels={"app": "x"}, namespace="other")]
    assert scheduling.evaluate(apart, nodes[0], elsewhere, nodes).fits is True
    named = pod(**affinity("podAntiAffinity", namespaces=["other"]))
    assert kinds(scheduling.evaluate(named, nodes[0], elsewhere, nodes)) == [("pod_anti_affinity", "affinity_excludes")]
    # a running pod that keeps this one away
    guard = pod("guard", on="gpu-1", **affinity("podAntiAffinity"))
    assert kinds(scheduling.evaluate(pod(labels={"app": "x"}), nodes[0], [guard], nodes)) == [
        ("existing_anti_affinity", "affinity_excludes")
    ]


# ---- evaluate: DRA ----------------------------------------------------------------------------------------


def slice_(where, count, generation=1, **device):
    devices = [{"name": f"gpu-{n}", "attributes": {"type": {"string": "gpu"}}, **device} for n in range(count)]
    return {
        "metadata": {"name": f"{where}-{generation}"},
        "spec": {"driver": "gpu.nvidia.com", "nodeName": where, "pool": {"name": where, "generation": generation}, "devices": devices},
    }


def claim(count=1, name="c1", allocated=0, **body):
    made = {
        "metadata": {"name": name, "namespace": "ml"},
        "spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com", "count": count, **body}}]}},
    }
    if allocated:
        made["status"] = {"allocation": {"devices": {"results": [{"driver": "gpu.nvidia.com", "pool": "gpu-1"}] * allocated}}}
    return made


WISH = {"resourceClaims": [{"name": "gpu", "resourceClaimName": "c1"}]}
CLASSES = [{"metadata": {"name": "gpu.nvidia.com"}, "spec": {}}]
ALL = dict.fromkeys(["ResourceClaim", "ResourceSlice", "DeviceClass"], "seen")


@pytest.mark.parametrize(
    ("objects", "looked", "kind", "fault", "fits"),
    [
        ({"ResourceClaim": [claim()], "ResourceSlice": [slice_("gpu-1", 8)], "DeviceClass": CLASSES}, ALL, None, None, True),
        ({"ResourceClaim": [claim()], "DeviceClass": CLASSES}, ALL, "dra_no_slice", "dra_not_serving", False),
        (
            {"ResourceClaim": [claim()], "ResourceSlice": [slice_("gpu-2", 8)], "DeviceClass": CLASSES},
            ALL,
            "dra_no_slice",
            "dra_not_serving",
            False,
        ),
        (
            {"ResourceClaim": [claim(9)], "ResourceSlice": [slice_("gpu-1", 8)], "DeviceClass": CLASSES},
            ALL,
            "dra_exceeds",
            "request_exceeds_node",
            False,
        ),
        (
            {"ResourceClaim": [claim(3), claim(1, "c2", 6)], "ResourceSlice": [slice_("gpu-1", 8)], "DeviceClass": CLASSES},
            ALL,
            "dra_in_use",
            "gpus_in_use",
            False,
        ),
        ({"ResourceClaim": [claim()], "ResourceSlice": [slice_("gpu-1", 8)]}, ALL, "dra_class_missing", "dra_not_serving", False),
        ({}, ALL, "dra_claim_missing", "pod_gated", False),
        ({}, {}, None, None, None),
        (
            {"ResourceClaim": [claim(selectors=[{"cel": {"expression": "true"}}])], "ResourceSlice": [slice_("gpu-1", 8)]},
            {},
            None,
            None,
            None,
        ),
        # a device the driver tainted is no device
        (
            {
                "ResourceClaim": [claim()],
                "ResourceSlice": [slice_("gpu-1", 1, taints=[{"key": "gpu.nvidia.com/xid", "effect": "NoSchedule"}])],
            },
            {"ResourceSlice": "seen"},
            "dra_no_device",
            "dra_not_serving",
            False,
        ),
        # leftovers of an older pool generation do not count
        (
            {"ResourceClaim": [claim(2)], "ResourceSlice": [slice_("gpu-1", 8, 1), slice_("gpu-1", 1, 2)]},
            {},
            "dra_exceeds",
            "request_exceeds_node",
            False,
        ),
    ],
)
def test_claims(objects, looked, kind, fault, fits):
    got = scheduling.evaluate(pod(gpus=0, **WISH), node(), objects=objects, looked=looked)
    assert kinds(got) == ([(kind, fault)] if kind else [])
    assert got.fits is fits


def test_an_extended_resource_served_through_dra_is_not_missing():
    served = [{"metadata": {"name": "gpu.nvidia.com"}, "spec": {"extendedResourceName": GPU}}]
    got = scheduling.evaluate(pod(), node(allocatable={GPU: "0"}), objects={"DeviceClass": served})
    assert not got.refusals
    assert got.fits is None


# ---- gates ------------------------------------------------------------------------------------------------


def gates(subject, **more):
    return [(g.kind, g.name, g.blocking, g.fault) for g in scheduling.pod_gates(subject, **more)]


def test_gates():
    assert gates(pod()) == []
    held = pod(schedulingGates=[{"name": "kueue.x-k8s.io/admission"}], labels={"kueue.x-k8s.io/queue-name": "research"})
    assert gates(held) == [("scheduling_gate", "kueue.x-k8s.io/admission", True, "pod_gated"), ("kueue", "research", None, None)]
    assert "Kueue holds it" in scheduling.pod_gates(held)[0].because
    row = {"metadata": {"name": "p"}, "_table": {"status": "SchedulingGated"}}
    assert gates(row) == [("scheduling_gate", "", True, "pod_gated")]


def test_a_scheduler_that_does_not_run():
    wish = pod(schedulerName="volcano")
    assert gates(wish) == [("scheduler", "volcano", False, None)]
    assert gates(wish, looked={"Pod": "seen"}) == [("scheduler", "volcano", True, "pod_gated")]
    runs = {"Pod": [pod("volcano-scheduler-0", on="cpu-1", namespace="volcano-system")]}
    assert gates(wish, objects=runs, looked={"Pod": "seen"}) == [("scheduler", "volcano", False, None)]
    down = {"Deployment": [{"metadata": {"name": "volcano-scheduler"}, "status": {"availableReplicas": 0}}]}
    assert gates(wish, objects=down) == [("scheduler", "volcano", True, "pod_gated")]
    assert gates(pod(schedulerName="default-scheduler")) == []


@pytest.mark.parametrize(
    ("labels", "annotations", "gang"),
    [
        ({}, {"scheduling.k8s.io/group-name": "podgroup-1"}, "ml/podgroup-1"),
        ({"scheduling.x-k8s.io/pod-group": "g"}, {}, "ml/g"),
        ({"pod-group.scheduling.sigs.k8s.io": "g"}, {}, "ml/g"),
        ({"jobset.sigs.k8s.io/jobset-name": "js"}, {}, "ml/js"),
        ({"training.kubeflow.org/job-name": "mpi"}, {}, "ml/mpi"),
        ({"volcano.sh/job-name": "vj"}, {"scheduling.k8s.io/group-name": "pg"}, "ml/pg"),
        ({"kueue.x-k8s.io/queue-name": "q"}, {}, None),
    ],
)
def test_gang_of(labels, annotations, gang):
    subject = pod(labels=labels)
    subject["metadata"]["annotations"] = annotations
    assert scheduling.gang_of(subject) == gang


def test_claims_that_hold_a_pod():
    assert gates(pod(**CLAIM), looked={"PersistentVolumeClaim": "seen"}) == [("claim_missing", "data", True, "affinity_excludes")]
    assert gates(pod(**CLAIM), objects={"PersistentVolumeClaim": [PVC]}) == [("claim_unbound", "data", None, None)]
    assert gates(pod(**CLAIM)) == []
    placed = pod(on="gpu-1", schedulingGates=[{"name": "x"}])
    assert gates(placed) == [("scheduling_gate", "x", False, None)]


# ---- properties -------------------------------------------------------------------------------------------

KEYS = st.sampled_from(
    "metadata spec status name namespace labels taints key value effect operator allocatable capacity containers resources requests limits "
    "nvidia.com/gpu cpu affinity nodeAffinity podAntiAffinity requiredDuringSchedulingIgnoredDuringExecution nodeSelectorTerms "
    "matchExpressions topologySpreadConstraints topologyKey labelSelector resourceClaims volumes tolerations nodeSelector conditions type "
    "_partial _table driver nodeName devices schedulingGates schedulerName".split()
)
JUNK = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 20)
    | st.sampled_from(["8", "gpu-1", "NoSchedule", "Exists", "In", "zone", ""])
    | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
)
OBJECT = st.dictionaries(KEYS, JUNK, max_size=5)


@settings(max_examples=200, deadline=None)
@given(OBJECT, OBJECT, st.lists(OBJECT, max_size=3), st.lists(OBJECT, max_size=2))
def test_nothing_raises(a_pod, a_node, pods, nodes):
    objects = {
        "ResourceSlice": nodes,
        "ResourceClaim": pods,
        "DeviceClass": nodes,
        "PersistentVolumeClaim": pods,
        "PersistentVolume": nodes,
    }
    got = scheduling.evaluate(a_pod, a_node, pods, nodes, objects=objects)
    assert got.fits is (False if got.refusals else (None if got.unknown else True))
    assert got == scheduling.evaluate(a_pod, a_node, pods, nodes, objects=objects)
    scheduling.pod_gates(a_pod, objects)
    scheduling.untolerated_taints(a_pod, a_node)
    scheduling.dra_devices(objects, "gpu-1")
    for refusal in got.refusals:
        assert refusal.quote().text == refusal.text[:400]


@given(st.integers(1, 20), st.integers(0, 8), st.integers(0, 16))
def test_fits_exactly_when_enough_is_free(wants, used, has):
    subject = node(allocatable={GPU: str(has)})
    got = scheduling.evaluate(pod(gpus=wants), subject, [pod("holder", used, on="gpu-1")], [subject])
    assert got.fits is (wants <= has - used if wants <= has else False)


@given(st.lists(OBJECT, max_size=3))
def test_an_unrelated_node_never_changes_whether_the_pod_fits_here(others):
    unrelated = [
        {"kind": "Node", "metadata": {"name": f"other-{n}"}, **{k: v for k, v in o.items() if k != "metadata"}}
        for n, o in enumerate(others)
    ]
    wish = pod(gpus=9, nodeSelector={"a": "b"})
    assert scheduling.evaluate(wish, node(), [], unrelated).fits is False
    assert scheduling.evaluate(pod(gpus=8), node(), [], unrelated).fits is True


def test_every_kind_is_in_the_fault_catalogue():
    from ansible_collections.gpuops.node.plugins.plugin_utils import catalogue

    assert {fault for _filter, fault in scheduling.KINDS.values() if fault} <= set(catalogue.faults())
