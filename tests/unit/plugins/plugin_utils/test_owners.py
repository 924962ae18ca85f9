# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors
from __future__ import annotations

import re

import pytest
from ansible_collections.gpuops.node.plugins.plugin_utils import catalogue, owners
from ansible_collections.gpuops.node.plugins.plugin_utils.evidence import Document, Evidence
from hypothesis import given, settings
from hypothesis import strategies as st

NOW = "2026-08-01T12:00:00Z"
GPU = "nvidia.com/gpu"


def node(
    name="gpu-17",
    ready="True",
    gpus=8,
    capacity=8,
    created="2026-07-01T00:00:00Z",
    taints=(),
    labels=None,
    annotations=None,
    writes=(),
    **spec,
):
    return {
        "kind": "Node",
        "metadata": {
            "name": name,
            "creationTimestamp": created,
            "labels": {"node.kubernetes.io/instance-type": "m1", **(labels or {})},
            "annotations": annotations or {},
            "managedFields": [
                {"manager": manager, "operation": "Update", "time": when, "fieldsV1": {"f:spec": {f"f:{field}": {}}}}
                for manager, field, when in writes
            ],
        },
        "spec": {"taints": list(taints), **spec},
        "status": {
            "conditions": [{"type": "Ready", "status": ready}],
            "allocatable": {GPU: str(gpus)},
            "capacity": {GPU: str(capacity)},
        },
    }


def pod(name, on=None, ready=True, labels=None, namespace="kube-system"):
    return {
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": labels or {}},
        "spec": {"nodeName": on} if on else {},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True" if ready else "False"}]},
    }


def evidence(form="gpuops", whole=True, **objects):
    made = Evidence(origin="capture", form=form, looked={"Pod": "seen"} if whole else {})
    for kind, found in objects.items():
        for obj in found:
            made.add(kind, obj)
    return made


def taint(key, value=None, effect="NoSchedule", added=None):
    made = {"key": key, "effect": effect}
    if value is not None:
        made["value"] = value
    if added:
        made["timeAdded"] = added
    return made


def judge(a_taint, subject=None, twins=(), facts=None, now=NOW, validation=()):
    subject = subject or node(taints=[a_taint])
    return owners.judge_taint(a_taint, subject, list(twins), facts or evidence(), now, validation)


# ---- the table --------------------------------------------------------------------------------------------


def test_the_table_is_sound():
    table = owners.table()
    classes = {"policy", "startup", "transient", "health", "upgrade", "autoscaler", "human"}
    faults = set(catalogue.faults())
    ids = [entry["id"] for entry in table["owners"]]
    assert len(ids) == len(set(ids))
    for entry in table["owners"]:
        assert entry["class"] in classes, entry["id"]
        assert entry.get("removed_by"), entry["id"]
        assert entry.get("policy") if entry["class"] == "policy" else entry.get("waiting") and entry.get("left"), entry["id"]
        assert entry.get("fault", "node_cordoned") in faults
        re.compile(entry["match"].get("pattern", ""))
    for entry in table["cordons"]:
        assert entry["while"]
        assert entry["left"]
        re.compile(entry.get("mark", ""))
    for entry in table["writers"]:
        assert re.compile(entry["pattern"])


@pytest.mark.parametrize(
    ("key", "owner", "fault"),
    [
        ("nvidia.com/gpu", "gpu-pool", "taint_not_tolerated"),
        ("sku", "gpu-pool-other", "taint_not_tolerated"),
        ("qos.coreweave.cloud/other", "provider-policy", "taint_not_tolerated"),
        ("cloud.google.com/gke-spot", "provider-policy", "taint_not_tolerated"),
        ("cloud.google.com/impending-node-termination", "spot-interruption", "taint_not_tolerated"),
        ("node-role.kubernetes.io/control-plane", "node-role", "taint_not_tolerated"),
        ("karpenter.sh/unregistered", "karpenter-startup", "node_initializing"),
        ("karpenter.sh/not-ready", "karpenter-startup", "node_initializing"),
        ("karpenter.sh/disrupted", "karpenter-disruption", "taint_not_tolerated"),
        ("readiness.k8s.io/nvidia-gpu-not-ready", "readiness-rule", "node_initializing"),
        ("node.cilium.io/agent-not-ready", "cilium-agent", "node_initializing"),
        ("ebs.csi.aws.com/agent-not-ready", "csi-startup", "node_initializing"),
        ("node.cloudprovider.kubernetes.io/uninitialized", "cloud-provider-init", "node_initializing"),
        ("startup-taint.cluster-autoscaler.kubernetes.io/gpu", "autoscaler-startup", "node_initializing"),
        ("ToBeDeletedByClusterAutoscaler", "cluster-autoscaler-delete", "taint_not_tolerated"),
        ("node.kubernetes.io/unreachable", "not-ready", "node_not_ready"),
        ("node.kubernetes.io/disk-pressure", "pressure", "node_not_ready"),
        ("node.kubernetes.io/unschedulable", "unschedulable", "node_cordoned"),
        ("nvidia.com/gpu-xid-error", "nvsentinel", "taint_not_tolerated"),
        ("example.com/gpu-unhealthy", "npd-health", "taint_not_tolerated"),
        ("nvidia.com/gpu-driver-update", "driver-manager-taint", "driver_upgrade_stuck"),
        ("nodewright.nvidia.com", "nodewright", "node_initializing"),
        ("example.com/gpu-validation", "site-startup", "node_initializing"),
        ("example.com/under-maintenance", "maintenance", "node_cordoned"),
        ("example.com/whatever", "unknown", None),
    ],
)
def test_who_writes_a_key(key, owner, fault):
    assert owners.owner_of(key)["id"] == owner
    assert owners.fault_of_key(key) == fault


# ---- policy -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", ["present", "true", "", None])
def test_the_gpu_taint_is_policy_whatever_its_value(value):
    got = judge(taint("nvidia.com/gpu", value), validation=["nvidia.com/gpu"])
    assert (got.fault, got.cls, got.may_remove, got.certainty) == ("taint_not_tolerated", "policy", False, "certain")
    assert "toleration" in got.remedy


def test_what_healthy_twins_carry_is_policy():
    mark = taint("example.com/whatever", "a")
    carriers = [node(f"gpu-{n}", taints=[taint("example.com/whatever", "b")]) for n in range(3)]
    got = judge(mark, twins=[*carriers, node("gpu-9")])
    assert (got.fault, got.cls, got.may_remove, got.certainty) == ("taint_not_tolerated", "policy", False, "certain")
    assert "3 of 4 healthy twins carry the same taint" in got.because
    # another effect is another taint
    other = [node(f"gpu-{n}", taints=[taint("example.com/whatever", "b", "PreferNoSchedule")]) for n in range(3)]
    assert judge(mark, twins=other).cls == "unknown"


def test_health_taints_of_the_whole_pool_are_policy_too():
    mark = taint("example.com/gpu-unhealthy")
    assert judge(mark, twins=[node("gpu-1", taints=[mark])]).cls == "policy"


def test_a_feature_rule_is_policy():
    got = judge(taint("example.com/odd"), node(taints=[taint("example.com/odd")], writes=[("nfd-master", "taints", NOW)]))
    assert (got.cls, got.fault, got.may_remove) == ("policy", "taint_not_tolerated", False)


# ---- strangers --------------------------------------------------------------------------------------------


def test_an_unknown_key_that_no_twin_carries():
    got = judge(taint("example.com/debug"), twins=[node("gpu-1"), node("gpu-2")])
    assert (got.fault, got.cls, got.may_remove) == ("taint_not_tolerated", "unknown", False)
    assert "none of its 2 healthy twins" in got.because


def test_an_unknown_key_with_nothing_to_compare():
    got = judge(taint("example.com/debug"))
    assert (got.fault, got.certainty, got.may_remove) == ("taint_not_tolerated", "likely", False)


@pytest.mark.parametrize("manager", ["kubectl-taint", "kubectl-edit", "kubectl", "Mozilla", "OpenAPI-Generator", "ansible-httpget"])
def test_what_a_person_or_script_set_is_never_removable(manager):
    subject = node(taints=[taint("example.com/debug")], writes=[(manager, "taints", "2026-07-30T10:00:00Z")])
    got = judge(taint("example.com/debug"), subject, twins=[node("gpu-1")])
    assert got.cls in ("human", "script")
    assert not got.may_remove
    assert got.since == "2026-07-30T10:00:00Z"
    assert manager in got.quotes[1].text


# ---- start-up ---------------------------------------------------------------------------------------------

KARPENTER = [pod("karpenter-abc", labels={"app.kubernetes.io/name": "karpenter"})]


@pytest.mark.parametrize(
    ("subject", "facts", "fault", "certainty"),
    [
        # young: normal
        (node(created="2026-08-01T11:50:00Z", ready="False"), evidence(Pod=KARPENTER), "node_initializing", "certain"),
        (node(created="2026-08-01T11:50:00Z"), evidence(), "node_initializing", "likely"),
        # old, Ready: what it waited for holds
        (node(), evidence(Pod=KARPENTER), "taint_left_behind", "certain"),
        (node(), evidence(), "taint_left_behind", "likely"),
        # old, not Ready: still waiting
        (node(ready="False"), evidence(Pod=KARPENTER), "node_initializing", "likely"),
        # age from a table row
        (
            {"metadata": {"name": "gpu-17"}, "_table": {"status": "Ready", "age": "55m"}, "spec": {"taints": []}},
            evidence("pasted", False),
            "taint_left_behind",
            "likely",
        ),
        (
            {"metadata": {"name": "gpu-17"}, "_table": {"status": "Ready", "age": "4m"}, "spec": {"taints": []}},
            evidence("pasted", False),
            "node_initializing",
            "likely",
        ),
    ],
)
def test_a_start_up_taint_by_age_and_readiness(subject, facts, fault, certainty):
    got = judge(taint("karpenter.sh/unregistered", effect="NoExecute"), subject, facts=facts)
    assert (got.fault, got.certainty, got.may_remove) == (fault, certainty, False)


def test_a_start_up_taint_added_just_now_on_an_old_node():
    got = judge(taint("example.com/gpu-validation", added="2026-08-01T11:55:00Z"))
    assert got.fault == "node_initializing"
    assert got.since == "2026-08-01T11:55:00Z"


def test_twins_that_wait_too_make_no_policy_and_no_leftover():
    mark = taint("node.cilium.io/agent-not-ready")
    got = judge(mark, twins=[node("gpu-1", taints=[mark])])
    assert (got.fault, got.cls, got.may_remove) == ("node_initializing", "startup", False)
    assert "twin" in got.because


def test_cilium_waits_for_its_agent():
    mark = taint("node.cilium.io/agent-not-ready")
    operator = pod("cilium-operator-1", labels={"io.cilium/app": "operator"})
    agent = {"k8s-app": "cilium"}
    got = judge(mark, facts=evidence(Pod=[operator, pod("cilium-x", "gpu-17", False, agent)]))
    assert (got.fault, got.alive, got.healed) == ("node_initializing", "yes", "no")
    got = judge(mark, facts=evidence(Pod=[operator, pod("cilium-x", "gpu-17", True, agent)]))
    assert (got.fault, got.healed, got.may_remove) == ("taint_left_behind", "yes", False)
    # agent of another node says nothing about this one; the operator is not an agent
    got = judge(mark, facts=evidence(Pod=[operator, pod("cilium-y", "gpu-18", True, agent)]))
    assert got.healed == "no"
    # all pods known, none of Cilium: nobody will lift it
    got = judge(mark, facts=evidence(Pod=[pod("coredns")]))
    assert (got.fault, got.alive) == ("taint_left_behind", "no")
    # only some pods printed: not seen is not gone
    got = judge(mark, facts=evidence("pasted", Pod=[pod("coredns")]))
    assert (got.fault, got.alive, got.certainty) == ("node_initializing", "unknown", "possible")


def rule(policy="allOf", *conditions):
    return {
        "kind": "NodeReadinessRule",
        "metadata": {"name": "gpu"},
        "spec": {"taint": {"key": "readiness.k8s.io/gpu"}, "conditionPolicy": policy, "conditions": list(conditions)},
    }


@pytest.mark.parametrize(
    ("policy", "states", "fault", "healed"),
    [
        ("allOf", ["True", "True"], "taint_left_behind", "yes"),
        ("allOf", ["True", "False"], "node_initializing", "no"),
        ("anyOf", ["True", "False"], "taint_left_behind", "yes"),
        ("allOf", ["True", None], "node_initializing", "no"),
    ],
)
def test_a_readiness_rule_names_its_conditions(policy, states, fault, healed):
    wanted = [{"type": f"C{n}", "requiredStatus": "True"} for n in range(2)]
    subject = node()
    subject["status"]["conditions"] += [{"type": f"C{n}", "status": s} for n, s in enumerate(states) if s]
    facts = evidence(NodeReadinessRule=[rule(policy, *wanted)], Pod=[pod("node-readiness-controller-1")])
    got = judge(taint("readiness.k8s.io/gpu", "pending"), subject, facts=facts)
    assert (got.fault, got.healed, got.alive) == (fault, healed, "yes")


def test_a_readiness_taint_without_its_rule():
    got = judge(taint("readiness.k8s.io/gpu", "pending"))
    assert (got.fault, got.healed) == ("taint_left_behind", "unknown")  # every pod known, its controller is not among them
    got = judge(taint("readiness.k8s.io/gpu", "pending"), facts=evidence("pasted", False))
    assert (got.fault, got.certainty) == ("node_initializing", "possible")


def test_cloud_provider_init():
    mark = taint("node.cloudprovider.kubernetes.io/uninitialized")
    assert judge(mark, node()).healed == "no"
    assert judge(mark, node(providerID="aws:///x")).fault == "taint_left_behind"


@pytest.mark.parametrize(
    ("subject", "pods", "fault", "removable"),
    [
        (node(), [pod("nvidia-operator-validator-x", "gpu-17", labels={"app": "nvidia-operator-validator"})], "taint_left_behind", True),
        (node(), [], "taint_left_behind", True),
        (node(), [pod("nvidia-operator-validator-x", "gpu-17", False, {"app": "nvidia-operator-validator"})], "node_initializing", False),
        (node(gpus=7), [], "node_initializing", False),
        (node(gpus=0, capacity=0), [], "node_initializing", False),
        (node(ready="False"), [], "node_initializing", False),
        (node(created="2026-08-01T11:55:00Z"), [], "node_initializing", False),
    ],
)
def test_a_declared_validation_taint(subject, pods, fault, removable):
    got = judge(taint("example.com/gpu-check", "pending"), subject, facts=evidence(Pod=pods), validation=["example.com/gpu-check"])
    assert (got.fault, got.may_remove, got.cls) == (fault, removable, "startup")


def test_a_validation_like_key_nobody_declared_is_not_ours_to_remove():
    got = judge(taint("example.com/gpu-validation", "pending"), twins=[node("gpu-1")])
    assert (got.fault, got.may_remove) == ("taint_left_behind", False)


# ---- conditions, autoscalers, health, upgrades -------------------------------------------------------------


def test_condition_taints_follow_the_condition():
    got = judge(taint("node.kubernetes.io/unreachable", effect="NoExecute"), node(ready="Unknown"))
    assert (got.fault, got.certainty, got.may_remove) == ("node_not_ready", "certain", False)
    got = judge(taint("node.kubernetes.io/not-ready"), node(), twins=[node("gpu-1", taints=[taint("node.kubernetes.io/not-ready")])])
    assert (got.fault, got.may_remove, got.cls) == ("taint_left_behind", False, "transient")
    pressed = node()
    pressed["status"]["conditions"].append({"type": "DiskPressure", "status": "True"})
    assert judge(taint("node.kubernetes.io/disk-pressure"), pressed).fault == "node_not_ready"
    assert judge(taint("node.kubernetes.io/unschedulable")).fault == "node_cordoned"


def test_an_autoscaler_that_takes_the_node_away():
    deleting = taint("ToBeDeletedByClusterAutoscaler", "1785585000")  # 2026-08-01T11:50:00Z
    got = judge(deleting, facts=evidence(Pod=[pod("cluster-autoscaler-1")]))
    assert (got.fault, got.cls, got.since) == ("taint_not_tolerated", "autoscaler", "2026-08-01T11:50:00Z")
    old = taint("ToBeDeletedByClusterAutoscaler", "1785500000")
    got = judge(old, facts=evidence(Pod=[pod("cluster-autoscaler-1")]))
    assert (got.fault, got.may_remove) == ("taint_left_behind", False)
    down = evidence(Deployment=[{"metadata": {"name": "cluster-autoscaler"}, "status": {"availableReplicas": 0}}])
    got = judge(deleting, facts=down)
    assert (got.fault, got.alive, got.may_remove) == ("taint_left_behind", "no", True)
    # a managed autoscaler is not in the API: not seen is not gone
    assert judge(deleting).alive == "unknown"


def test_a_quarantine_is_neither_policy_nor_leftover_while_its_owner_runs():
    mark = taint("nvidia.com/gpu-xid-error")
    got = judge(mark, facts=evidence(Pod=[pod("fault-quarantine-1")]), twins=[node("gpu-1")])
    assert (got.fault, got.alive, got.may_remove) == ("taint_not_tolerated", "yes", False)
    assert "quarantine" in got.because
    assert "toleration" not in got.remedy
    got = judge(mark, facts=evidence(Pod=[pod("coredns")]), twins=[node("gpu-1")])
    assert (got.fault, got.alive, got.may_remove) == ("taint_left_behind", "no", False)  # what was found is not known to be mended


@pytest.mark.parametrize(
    ("gpus", "added", "fault"),
    [
        (0, "2026-08-01T11:30:00Z", "node_initializing"),
        (0, "2026-08-01T08:00:00Z", "driver_upgrade_stuck"),
        (8, "2026-08-01T08:00:00Z", "taint_left_behind"),
    ],
)
def test_the_driver_managers_taint(gpus, added, fault):
    facts = evidence(Pod=OPERATOR)
    got = judge(taint("nvidia.com/gpu-driver-update", "k8s-driver-manager", added=added), node(gpus=gpus), facts=facts)
    assert (got.fault, got.may_remove) == (fault, False)


# ---- cordons ----------------------------------------------------------------------------------------------


def cordoned(**more):
    return node(unschedulable=True, **more)


def test_not_cordoned():
    assert owners.judge_cordon(node(), evidence()).fault is None
    assert owners.judge_cordon({"metadata": {"name": "x"}, "_partial": True}, evidence()).fault is None


@pytest.mark.parametrize(
    ("manager", "cls", "said"),
    [
        ("kubectl-cordon", "human", "kubectl"),
        ("kubectl-edit", "human", "kubectl"),
        ("kubectl-patch", "human", "kubectl"),
        ("kubectl", "human", "kubectl"),
        ("OpenAPI-Generator", "script", "client library"),
        ("python-requests", "script", "client library"),
        ("kured", "upgrade", "kured"),
        ("somebody-elses-controller", "unknown", "somebody-elses-controller"),
    ],
)
def test_a_cordon_by_its_writer(manager, cls, said):
    subject = cordoned(writes=[(manager, "unschedulable", "2026-07-31T22:00:00Z"), ("kubelet", "taints", "2026-08-01T00:00:00Z")])
    got = owners.judge_cordon(subject, evidence(), NOW)
    assert (got.fault, got.cls, got.may_remove) == ("node_cordoned", cls, False)
    assert said in got.owner
    assert got.since == "2026-07-31T22:00:00Z"


def test_a_cordon_without_any_mark():
    event = {"reason": "NodeNotSchedulable", "involvedObject": {"kind": "Node", "name": "gpu-17"}, "lastTimestamp": "2026-08-01T01:00:00Z"}
    other = {**event, "involvedObject": {"kind": "Node", "name": "gpu-18"}, "lastTimestamp": "2026-08-01T02:00:00Z"}
    got = owners.judge_cordon(cordoned(), evidence(Event=[event, other]), NOW)
    assert (got.fault, got.cls, got.since, got.may_remove) == ("node_cordoned", "unknown", "2026-08-01T01:00:00Z", False)
    assert "--show-managed-fields" in got.remedy


UPGRADE = "nvidia.com/gpu-driver-upgrade-state"
OPERATOR = [pod("gpu-operator-5d8-x", labels={"app": "gpu-operator"}, namespace="gpu-operator")]


def upgrade_event(when):
    return {
        "reason": "GPUDriverUpgrade",
        "involvedObject": {"kind": "Node", "name": "gpu-17"},
        "lastTimestamp": when,
        "message": "state changed",
    }


@pytest.mark.parametrize(
    ("state", "when", "fault"),
    [
        ("drain-required", "2026-08-01T11:45:00Z", "node_cordoned"),
        ("validation-required", "2026-08-01T09:00:00Z", "driver_upgrade_stuck"),
        ("upgrade-failed", "2026-08-01T11:59:00Z", "driver_upgrade_stuck"),
    ],
)
def test_a_cordon_of_the_upgrade_controller(state, when, fault):
    got = owners.judge_cordon(cordoned(labels={UPGRADE: state}), evidence(Pod=OPERATOR, Event=[upgrade_event(when)]), NOW)
    assert (got.fault, got.cls, got.may_remove) == (fault, "upgrade", False)
    assert any(f"{UPGRADE}={state}" in q.text for q in got.quotes)


def test_an_upgrade_without_its_operator_is_stuck():
    got = owners.judge_cordon(cordoned(labels={UPGRADE: "pod-restart-required"}), evidence(Pod=[pod("coredns")]), NOW)
    assert (got.fault, got.alive, got.may_remove) == ("driver_upgrade_stuck", "no", False)


def test_an_upgrade_that_found_the_node_cordoned_leaves_it_so():
    mark = {"nvidia.com/gpu-driver-upgrade.node-initial-state.unschedulable": "true"}
    got = owners.judge_cordon(cordoned(labels={UPGRADE: "upgrade-failed"}, annotations=mark), evidence(Pod=OPERATOR), NOW)
    assert "cordoned before the upgrade" in got.because


@pytest.mark.parametrize("state", ["upgrade-done", "upgrade-required"])
def test_a_persons_cordon_beside_an_idle_upgrade_state(state):
    subject = cordoned(labels={UPGRADE: state}, writes=[("kubectl-cordon", "unschedulable", "2026-07-31T22:00:00Z")])
    got = owners.judge_cordon(subject, evidence(Pod=OPERATOR), NOW)
    assert (got.fault, got.cls, got.may_remove) == ("node_cordoned", "human", False)


LEFT = {"nvidia.com/gpu-driver-upgrade-validation-start-time": "1785500000"}


def policy(on):
    return {"kind": "ClusterPolicy", "metadata": {"name": "p"}, "spec": {"driver": {"upgradePolicy": {"autoUpgrade": on}}}}


@pytest.mark.parametrize(
    ("subject", "facts", "cls", "alive", "removable"),
    [
        # automatic upgrade switched off: the label went, the cordon stayed
        (cordoned(annotations=LEFT), evidence(ClusterPolicy=[policy(False)]), "upgrade", "no", True),
        (
            cordoned(writes=[("gpu-operator", "unschedulable", "2026-07-30T00:00:00Z")]),
            evidence(ClusterPolicy=[policy(False)]),
            "upgrade",
            "no",
            True,
        ),
        # the GPUs are not back: not yet
        (cordoned(annotations=LEFT, gpus=0), evidence(ClusterPolicy=[policy(False)]), "upgrade", "no", False),
        # it had been cordoned before the upgrade: someone else's
        (
            cordoned(annotations={**LEFT, "nvidia.com/gpu-driver-upgrade.node-initial-state.unschedulable": "true"}),
            evidence(ClusterPolicy=[policy(False)]),
            "human",
            "no",
            False,
        ),
        # still on, or not known
        (cordoned(annotations=LEFT), evidence(ClusterPolicy=[policy(True)]), "unknown", "unknown", False),
        (cordoned(annotations=LEFT), evidence(), "upgrade", "unknown", False),
        # a person cordoned it since
        (
            cordoned(annotations=LEFT, writes=[("kubectl-cordon", "unschedulable", "2026-07-31T00:00:00Z")]),
            evidence(ClusterPolicy=[policy(False)]),
            "human",
            "unknown",
            False,
        ),
    ],
)
def test_orphans_of_a_switched_off_upgrade(subject, facts, cls, alive, removable):
    got = owners.judge_cordon(subject, facts, NOW)
    assert (got.fault, got.cls, got.alive, got.may_remove) == ("node_cordoned", cls, alive, removable)


@pytest.mark.parametrize(
    ("more", "owner", "cls"),
    [
        ({"labels": {"k8saas.nvidia.com/cordon-by": "NVSentinel", "k8saas.nvidia.com/cordon-reason": "GPU-fatal"}}, "NVSentinel", "health"),
        ({"annotations": {"quarantineHealthEventIsCordoned": "True"}}, "NVSentinel", "health"),
        ({"annotations": {"weave.works/kured-reboot-in-progress": "2026-08-01T11:00:00Z"}}, "kured", "upgrade"),
        ({"annotations": {"machineconfiguration.openshift.io/state": "Working"}}, "the OpenShift machine config operator", "upgrade"),
        ({"annotations": {"skyhook.nvidia.com/cordon_gpu": "true"}}, "NodeWright (formerly Skyhook)", "upgrade"),
        ({"taints": [taint("karpenter.sh/disrupted")]}, "Karpenter", "autoscaler"),
        ({"taints": [taint("ToBeDeletedByClusterAutoscaler", "1")]}, "the cluster autoscaler", "autoscaler"),
    ],
)
def test_marks_of_those_who_cordon(more, owner, cls):
    got = owners.judge_cordon(cordoned(**more), evidence("pasted", False), NOW)
    assert (got.fault, got.owner, got.cls, got.may_remove) == ("node_cordoned", owner, cls, False)


def test_machine_config_at_rest_is_no_owner():
    rest = {"machineconfiguration.openshift.io/state": "Done", "machineconfiguration.openshift.io/desiredDrain": "uncordon-rendered-x"}
    assert owners.judge_cordon(cordoned(annotations=rest), evidence(), NOW).cls == "unknown"


def test_a_maintenance_object_holds_the_node():
    held = {"kind": "NodeMaintenance", "metadata": {"name": "m"}, "spec": {"nodeName": "gpu-17"}}
    assert owners.judge_cordon(cordoned(), evidence(NodeMaintenance=[held]), NOW).owner == "the NVIDIA maintenance operator"
    held["spec"]["nodeName"] = "gpu-18"
    assert owners.judge_cordon(cordoned(), evidence(NodeMaintenance=[held]), NOW).cls == "unknown"


def test_a_mark_whose_owner_is_gone():
    kured = {"annotations": {"weave.works/kured-reboot-in-progress": "x"}}
    got = owners.judge_cordon(cordoned(**kured), evidence(Pod=[pod("coredns")]), NOW)
    assert (got.alive, got.may_remove) == ("no", True)
    sentinel = {"labels": {"k8saas.nvidia.com/cordon-by": "NVSentinel", "k8saas.nvidia.com/cordon-timestamp": "2026-07-31T10-20-30Z"}}
    got = owners.judge_cordon(cordoned(**sentinel), evidence(Pod=[pod("coredns")]), NOW)
    assert (got.alive, got.may_remove, got.since) == ("no", False, "2026-07-31T10:20:30Z")  # its reason is not known to be mended


def test_a_cordon_that_nvsentinel_found_is_not_its_own():
    marks = {"annotations": {"quarantineHealthEventIsCordoned": "True", "quarantineHealthEventCordonPreExisting": "True"}}
    assert "before that by someone else" in owners.judge_cordon(cordoned(**marks), evidence(), NOW).because


def manager_log(*lines):
    return Document("logs/driver.k8s-driver-manager.log", "container_log", "\n".join(lines), node="gpu-17", component="driver_manager")


def test_the_driver_managers_cordon():
    facts = evidence()
    facts.documents.append(manager_log("Cordoning node gpu-17", "evicting"))
    got = owners.judge_cordon(cordoned(labels={"nvidia.com/gpu.deploy.device-plugin": "paused-for-driver-upgrade"}), facts, NOW)
    assert (got.fault, got.cls, got.may_remove) == ("driver_upgrade_stuck", "upgrade", False)
    got = owners.judge_cordon(cordoned(), facts, NOW)
    assert (got.fault, got.may_remove) == ("node_cordoned", True)
    got = owners.judge_cordon(cordoned(gpus=0), facts, NOW)
    assert got.may_remove is False
    facts.documents[0] = manager_log("Cordoning node gpu-17", "Uncordoning node gpu-17")
    assert owners.judge_cordon(cordoned(), facts, NOW).cls == "unknown"


# ---- properties -------------------------------------------------------------------------------------------

WORDS = (
    "metadata spec status name labels annotations taints key value effect timeAdded conditions type unschedulable"
    " managedFields manager fieldsV1 f:spec f:taints"
)
KEYS = st.sampled_from(WORDS.split() + ["f:unschedulable", UPGRADE, "_partial", "_table", "nvidia.com/gpu", "allocatable"])
VALUES = st.sampled_from(
    ["True", "gpu-17", "NoSchedule", "upgrade-failed", "kubectl", "2026-08-01T00:00:00Z", "karpenter.sh/disrupted", ""]
)
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 10**12) | VALUES | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=15,
)
OBJECT = st.dictionaries(KEYS, JUNK, max_size=5)
TABLE_KEYS = sorted({k for entry in owners.table()["owners"] for k in entry["match"].get("keys") or ()})


@settings(max_examples=150, deadline=None)
@given(OBJECT, OBJECT, st.lists(OBJECT, max_size=3), st.sampled_from(TABLE_KEYS), JUNK)
def test_nothing_raises_and_the_same_evidence_says_the_same(a_taint, a_node, objects, key, now):
    for mark in (a_taint, {"key": key, "effect": "NoSchedule", "value": "1"}):
        facts = [evidence(Pod=objects, Node=objects, Event=objects, ClusterPolicy=objects) for _n in range(2)]
        first = owners.judge_taint(mark, a_node, objects, facts[0], now, ["x"])
        assert first == owners.judge_taint(mark, a_node, objects, facts[1], now, ["x"])
        assert first.fault in catalogue.faults()
        assert not first.may_remove or first.fault == "taint_left_behind"
        cordon = owners.judge_cordon(a_node, facts[0], now)
        assert cordon.fault in {None, "node_cordoned", "driver_upgrade_stuck"}
        assert not (cordon.may_remove and cordon.cls in ("human", "script", "unknown"))


@given(
    st.sampled_from([k for entry in owners.table()["owners"] if entry["class"] == "policy" for k in entry["match"].get("keys") or ()]),
    OBJECT,
)
def test_policy_is_never_removable(key, a_node):
    got = owners.judge_taint({"key": key, "effect": "NoSchedule"}, a_node, [], evidence(), NOW, [key] if key == "nvidia.com/gpu" else [])
    assert (got.cls, got.fault, got.may_remove) == ("policy", "taint_not_tolerated", False)


def test_a_few_twins_with_the_same_leftover_change_nothing():
    mark = taint("karpenter.sh/unregistered")
    got = judge(mark, twins=[node("gpu-1", taints=[mark]), *(node(f"gpu-{n}") for n in range(2, 6))])
    assert got.fault == "taint_left_behind"


def test_a_start_up_taint_dates_from_birth_only_on_a_young_node():
    mark = taint("karpenter.sh/unregistered")
    assert owners.taint_since(mark, node(created="2026-08-01T11:00:00Z"), NOW)[0] == "2026-08-01T11:00:00Z"
    assert owners.taint_since(mark, node(), NOW) == (None, None)
