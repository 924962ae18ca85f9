# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors
from __future__ import annotations

import types

import pytest
from ansible_collections.gpuops.node.plugins.plugin_utils import catalogue, impact
from ansible_collections.gpuops.node.plugins.plugin_utils.evidence import Document, Evidence
from ansible_collections.gpuops.node.plugins.plugin_utils.objects import node_of
from hypothesis import given, settings
from hypothesis import strategies as st

GPU = "nvidia.com/gpu"
BROKE = "2026-08-01T00:10:00Z"
NOW = "2026-08-01T07:10:00Z"


# ---- arithmetic -------------------------------------------------------------------------------------------


def test_the_night_of_gpu_17():
    gang = {"name": "ml/llama", "gpus": 64, "since": BROKE, "pod_count": 8}
    got = impact.impact(idle_gpus=8, now=NOW, price=2.50, since=BROKE, since_from="boot time", gangs=[gang])
    assert got == {
        "idle_gpus": 8,
        "since": BROKE,
        "since_from": "boot time",
        "hours": 7.0,
        "price": 2.5,
        "currency": "$",
        "cost_per_hour": 20.0,
        "cost": 140.0,
        "idle_gpu_hours": 56.0,
        "gangs": [{"name": "ml/llama", "gpus": 64, "hours": 7.0, "gpu_hours_delayed": 448.0, "pod_count": 8}],
        "gpu_hours_delayed": 448.0,
        "notes": [],
    }
    assert (got["cost_per_hour"], got["cost"]) == (20.0, 140.0)


def test_no_time_known_is_null_and_said():
    got = impact.impact(idle_gpus=8, now=NOW, price=2.5)
    assert (got["hours"], got["cost"], got["idle_gpu_hours"], got["cost_per_hour"]) == (None, None, None, 20.0)
    assert got["notes"] == ["Since when the GPUs stand idle is not in the evidence."]
    got = impact.impact(idle_gpus=8, since=BROKE, price=2.5)
    assert got["hours"] is None
    assert "When the evidence was taken is not known." in got["notes"]


def test_no_price_no_money():
    got = impact.impact(idle_gpus=8, now=NOW, since=BROKE)
    assert (got["price"], got["cost"], got["cost_per_hour"], got["idle_gpu_hours"]) == (None, None, None, 56.0)


def test_a_moment_after_the_evidence_is_no_duration():
    got = impact.impact(idle_gpus=8, now=BROKE, since=NOW, price=1)
    assert got["hours"] is None
    assert "lies after" in got["notes"][0]


def test_a_gang_waits_for_the_node_only_while_both_are_true():
    early = {"name": "early", "gpus": 16, "since": "2026-07-31T20:10:00Z"}
    late = {"name": "late", "gpus": 32, "since": "2026-08-01T05:10:00Z"}
    unknown = {"name": "unknown", "gpus": 8}
    got = impact.impact(idle_gpus=8, now=NOW, since=BROKE, gangs=[early, late, unknown])
    assert [(g["name"], g["hours"], g["gpu_hours_delayed"]) for g in got["gangs"]] == [
        ("late", 2.0, 64.0),
        ("early", 7.0, 112.0),
        ("unknown", 7.0, 56.0),
    ]
    assert got["gpu_hours_delayed"] == 232.0
    assert len(got["notes"]) == 2


@given(
    st.none() | st.integers(0, 10**4),
    st.none() | st.floats(0, 1e4) | st.text(max_size=3),
    st.sampled_from([BROKE, NOW, None, "junk", "2026-07-01T00:00:00Z"]),
    st.sampled_from([NOW, None, "junk"]),
    st.lists(
        st.dictionaries(
            st.sampled_from(["name", "gpus", "since", "hours", "pod_count"]), st.sampled_from([8, BROKE, NOW, "x", None, -1]), max_size=4
        ),
        max_size=3,
    ),
)
def test_numbers_agree_with_each_other(idle, price, since, now, gangs):
    got = impact.impact(idle_gpus=idle, price=price, since=since, now=now, gangs=gangs)
    assert got == impact.impact(idle_gpus=idle, price=price, since=since, now=now, gangs=gangs)
    assert got["hours"] is None or got["hours"] >= 0
    if got["cost"] is not None:
        # Each of the three is rounded to cents (hundredths) on its own.
        off = 0.01 * (1 + got["cost_per_hour"] + got["hours"])
        assert got["cost"] == pytest.approx(got["cost_per_hour"] * got["hours"], abs=off)
    if got["idle_gpu_hours"] is not None:
        assert got["idle_gpu_hours"] == pytest.approx(idle * got["hours"], abs=0.01 * (1 + idle))
    late = [g["gpu_hours_delayed"] for g in got["gangs"] if g["gpu_hours_delayed"] is not None]
    assert got["gpu_hours_delayed"] == (pytest.approx(sum(late)) if late else None)
    for key in ("price", "cost_per_hour", "cost", "idle_gpu_hours", "gpu_hours_delayed"):
        assert got[key] is None or got[key] >= 0


# ---- idle GPUs --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "expected", "allocatable", "unused", "idle"),
    [
        ("driver_not_built_for_kernel", 8, 0, None, 8),
        ("gpu_marked_unhealthy", 8, 7, None, 1),
        ("gpu_missing", 8, 7, None, 1),
        ("undetermined", 8, 0, None, 8),
        ("driver_not_built_for_kernel", None, 0, None, None),
        ("driver_not_built_for_kernel", 8, None, None, None),
        ("healthy", 8, 8, None, 0),
        ("gpus_in_use", 8, 8, None, 0),
        ("taint_not_tolerated", 8, 8, None, 0),
        ("workload_fault", 8, 8, None, 0),
        ("node_cordoned", 8, 8, 8, 8),
        ("node_cordoned", 8, 8, 2, 2),  # pods that were there before the cordon go on
        ("node_cordoned", 8, 7, 2, 3),
        ("node_cordoned", 8, 8, None, None),
        ("taint_left_behind", 8, 8, 5, 5),
        ("node_not_ready", 8, 8, None, 8),
        ("node_not_ready", None, 4, None, 4),
        ("cgroup_device_lost", 8, 8, None, 0),
    ],
)
def test_idle_gpus(fault, expected, allocatable, unused, idle):
    assert impact.idle_gpus(fault, expected, allocatable, unused)[0] == idle


def test_what_is_not_counted_is_said():
    assert impact.idle_gpus("node_cordoned", 8, 8, None)[1]
    assert impact.idle_gpus("driver_not_installed", None, 0, None)[1]
    assert "kubelet is silent" in impact.idle_gpus("node_not_ready", 8, 8, None, ready="Unknown")[1][0]
    assert impact.idle_gpus("node_not_ready", None, None, None) == (
        None,
        ["How many GPUs the node has is not known, so none is counted as idle."],
    )


@pytest.mark.parametrize(
    ("ready", "unused", "idle", "said"),
    [
        ("Unknown", 2, 8, "the kubelet is silent"),
        ("False", 2, 8, "it takes no new pods"),
        ("", None, 8, "it takes no new pods"),
        ("True", 2, 2, ""),  # under pressure: its pods go on, new ones are kept away
        ("True", None, None, "is not in the evidence"),
    ],
)
def test_only_a_node_that_does_not_answer_is_silent(ready, unused, idle, said):
    got, notes = impact.idle_gpus("node_not_ready", 8, 8, unused, ready=ready)
    assert got == idle
    assert said in " ".join(notes)
    assert ("silent" in " ".join(notes)) is (ready == "Unknown")


@pytest.mark.parametrize(
    ("fault", "layer", "allocatable", "idle", "said"),
    [
        ("fabric_manager_down", "hardware", 8, None, "new pods that get one fail: how many jobs that holds back is not known"),
        ("driver_version_mismatch", "driver", 8, None, "fail"),
        ("undetermined", "runtime", 8, None, "may fail"),
        ("fabric_manager_down", "hardware", 0, 8, ""),
        ("gpu_missing", "hardware", 7, 1, ""),
        ("plugin_defect", "device_plugin", 8, 0, ""),
    ],
)
def test_gpus_that_are_advertised_and_do_not_work(fault, layer, allocatable, idle, said):
    got, notes = impact.idle_gpus(fault, 8, allocatable, None, layer=layer)
    assert got == idle
    assert said in " ".join(notes)


def test_every_fault_named_here_is_in_the_catalogue():
    named = impact.CLOSED | impact.NOT_THE_NODE | impact.HELD_IN_VAIN | impact.FROM_BOOT | set(impact._KIND_OF)
    assert named <= set(catalogue.faults())


# ---- since when -------------------------------------------------------------------------------------------


def moment(kind, hour):
    return impact.Since(kind, f"2026-08-01T{hour:02}:00:00Z", f"{kind} at {hour}")


@pytest.mark.parametrize(
    ("fault", "layer", "some_left", "candidates", "kind"),
    [
        ("driver_not_built_for_kernel", "driver", False, [moment("operand", 2), moment("boot", 1)], "boot"),
        ("driver_not_built_for_kernel", "driver", False, [moment("operand", 1), moment("boot", 5)], "operand"),  # broken before this boot
        ("driver_not_built_for_kernel", "driver", False, [moment("not_ready", 3), moment("evidence", 4)], "evidence"),
        ("engine_config_broken", "runtime", False, [moment("not_ready", 3)], "not_ready"),
        ("driver_version_mismatch", "driver", False, [moment("boot", 1), moment("operand", 4)], "operand"),
        ("runtime_not_configured", "runtime", False, [moment("boot", 1)], None),
        ("plugin_not_registered", "device_plugin", False, [moment("operand", 4), moment("ended", 5)], "ended"),
        ("gpu_fallen_off_bus", "hardware", False, [moment("boot", 1), moment("evidence", 3)], "evidence"),
        ("gpu_missing", "hardware", True, [moment("boot", 1), moment("operand", 2)], None),  # the others still work
        ("gpu_marked_unhealthy", "device_plugin", True, [moment("boot", 1), moment("evidence", 3)], "evidence"),
        ("node_cordoned", "scheduler", False, [moment("cordon", 6), moment("boot", 1)], "cordon"),
        ("taint_left_behind", "scheduler", False, [moment("taint", 6), moment("cordon", 1)], "taint"),
        ("node_not_ready", "scheduler", False, [moment("not_ready", 6), moment("boot", 1)], "not_ready"),
        ("node_not_ready", "scheduler", False, [moment("boot", 1)], None),
        ("undetermined", None, False, [impact.Since("operand", "junk", "x")], None),
    ],
)
def test_since_when(fault, layer, some_left, candidates, kind):
    best = impact.since_when(fault, layer, candidates, some_left)
    assert (best.kind if best else None) == kind


# ---- gangs ------------------------------------------------------------------------------------------------


def pod(
    name, gpus=8, on=None, phase="Pending", group=None, key="scheduling.x-k8s.io/pod-group", since="2026-08-01T01:00:00Z", selector=None
):
    asks = {GPU: str(gpus)} if gpus else {"cpu": "1"}
    return {
        "metadata": {"name": name, "namespace": "ml", "labels": {key: group} if group else {}, "creationTimestamp": since},
        "spec": {
            "containers": [{"name": "c", "resources": {"limits": asks, "requests": asks}}],
            **({"nodeName": on} if on else {}),
            **({"nodeSelector": selector} if selector else {}),
        },
        "status": {"phase": "Running" if on else phase},
    }


def template(gpus=8, selector=None):
    return {
        "spec": {"containers": [{"resources": {"limits": {GPU: gpus} if gpus else {}}}], **({"nodeSelector": selector} if selector else {})}
    }


def facts(**objects):
    made = Evidence("capture", "gpuops", looked={"Pod": "seen"}, taken=NOW)
    for kind, found in objects.items():
        for obj in found:
            made.add(kind, obj)
    return made


def found(*args, **objects):
    return [(g.name, g.gpus, g.since, g.pod_count) for g in impact.find_gangs(facts(**objects), *args)]


def pod_group(phase="Pending", size=8, **spec):
    return {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "metadata": {"name": "pg", "namespace": "ml", "creationTimestamp": "2026-08-01T00:30:00Z"},
        "spec": {"minMember": size, **spec},
        "status": {"phase": phase},
    }


def test_a_pod_group_that_waits():
    pods = [pod(f"w-{n}", group="pg") for n in range(8)]
    assert found(PodGroup=[pod_group()], Pod=pods) == [("ml/pg", 64, "2026-08-01T01:00:00Z", 8)]
    # not all pods made yet: the size is the group's
    assert found(PodGroup=[pod_group()], Pod=pods[:2]) == [("ml/pg", 64, "2026-08-01T01:00:00Z", 8)]
    # a launcher without GPUs does not count as one with
    assert found(PodGroup=[pod_group(size=3)], Pod=[pod("l", 0, group="pg"), *pods[:2]]) == [("ml/pg", 16, "2026-08-01T01:00:00Z", 3)]
    # no pod in the evidence: the group's own words
    assert found(PodGroup=[pod_group(minResources={"requests.nvidia.com/gpu": "64"})]) == [("ml/pg", 64, "2026-08-01T00:30:00Z", 8)]
    assert found(PodGroup=[pod_group()]) == []


def test_a_pod_group_that_does_not_wait():
    running = [pod(f"w-{n}", group="pg", on="gpu-1") for n in range(8)]
    assert found(PodGroup=[pod_group()], Pod=running) == []
    # placed but for one: the gang is short of it
    assert found(PodGroup=[pod_group()], Pod=[*running[:7], pod("w-7", group="pg")]) == [("ml/pg", 64, "2026-08-01T01:00:00Z", 8)]
    assert found(PodGroup=[pod_group("Running", minResources={GPU: 64})]) == []
    finished = pod_group("Inqueue", minResources={GPU: 64})
    finished["status"]["succeeded"] = 8
    assert found(PodGroup=[finished]) == []


def workload(*conditions, parts=((8, 8),), active=True, **meta):
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta1",
        "metadata": {"name": "job-llama-1a2b3", "namespace": "ml", "creationTimestamp": "2026-08-01T02:00:00Z", **meta},
        "spec": {
            "active": active,
            "podSets": [{"name": f"p{n}", "count": count, "template": template(gpus)} for n, (count, gpus) in enumerate(parts)],
        },
        "status": {
            "conditions": [{"type": kind, "status": status, "lastTransitionTime": "2026-08-01T04:00:00Z"} for kind, status in conditions]
        },
    }


OWNED = {"ownerReferences": [{"kind": "JobSet", "name": "llama"}]}


def test_a_kueue_workload():
    assert found(Workload=[workload(("QuotaReserved", "False"), **OWNED)]) == [("ml/llama", 64, "2026-08-01T02:00:00Z", 8)]
    assert found(Workload=[workload(parts=((1, 0), (4, 8)))]) == [("ml/job-llama-1a2b3", 32, "2026-08-01T02:00:00Z", 5)]
    assert found(Workload=[workload(("Evicted", "True"))]) == [("ml/job-llama-1a2b3", 64, "2026-08-01T04:00:00Z", 8)]
    assert found(Workload=[workload(("Admitted", "True"), ("QuotaReserved", "True"))]) == []
    assert found(Workload=[workload(("Finished", "True"))]) == []
    assert found(Workload=[workload(active=False)]) == []
    # admitted, and its pods are Pending all the same
    pods = [pod(f"w-{n}", group="llama", key="jobset.sigs.k8s.io/jobset-name") for n in range(8)]
    assert found(Workload=[workload(("Admitted", "True"), **OWNED)], Pod=pods) == [("ml/llama", 64, "2026-08-01T01:00:00Z", 8)]


def test_one_gang_under_three_names_is_one():
    jobset = {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "metadata": {"name": "llama", "namespace": "ml"},
        "spec": {"replicatedJobs": [{"replicas": 2, "template": {"spec": {"parallelism": 4, "template": template(8)}}}]},
    }
    pods = [pod(f"w-{n}", group="llama", key="jobset.sigs.k8s.io/jobset-name") for n in range(8)]
    for one in pods:
        one["metadata"]["annotations"] = {"scheduling.k8s.io/group-name": "podgroup-llama"}
    assert found(JobSet=[jobset], Pod=pods) == [("ml/llama", 64, "2026-08-01T01:00:00Z", 8)]
    group = {"metadata": {"name": "podgroup-llama", "namespace": "ml"}, "spec": {"minMember": 8}}
    assert len(found(JobSet=[jobset], Workload=[workload(**OWNED)], PodGroup=[group], Pod=pods)) == 1
    assert found(JobSet=[jobset]) == []  # suspended by hand, or no pod of it was printed


def replicas(kind, field, **roles):
    specs = {role: {"replicas": count, "template": template(gpus)} for role, (count, gpus) in roles.items()}
    return {"apiVersion": "kubeflow.org/v1", "kind": kind, "metadata": {"name": "train", "namespace": "ml"}, "spec": {field: specs}}


@pytest.mark.parametrize(
    ("kind", "obj", "key", "gpus", "count"),
    [
        ("MPIJob", replicas("MPIJob", "mpiReplicaSpecs", Launcher=(1, 0), Worker=(8, 8)), "training.kubeflow.org/job-name", 64, 9),
        (
            "PyTorchJob",
            replicas("PyTorchJob", "pytorchReplicaSpecs", Master=(1, 8), Worker=(7, 8)),
            "training.kubeflow.org/job-name",
            64,
            8,
        ),
        (
            "Job",
            {
                "apiVersion": "batch.volcano.sh/v1alpha1",
                "metadata": {"name": "train", "namespace": "ml"},
                "spec": {"tasks": [{"replicas": 4, "template": template(8)}, {"replicas": 1, "template": template(0)}]},
            },
            "volcano.sh/job-name",
            32,
            5,
        ),
        (
            "RayCluster",
            {
                "apiVersion": "ray.io/v1",
                "metadata": {"name": "train", "namespace": "ml"},
                "spec": {
                    "headGroupSpec": {"template": template(0)},
                    "workerGroupSpecs": [{"replicas": 2, "numOfHosts": 2, "template": template(8)}],
                },
            },
            "ray.io/cluster",
            32,
            5,
        ),
        (
            "LeaderWorkerSet",
            {
                "apiVersion": "leaderworkerset.x-k8s.io/v1",
                "metadata": {"name": "train", "namespace": "ml"},
                "spec": {"replicas": 2, "leaderWorkerTemplate": {"size": 4, "workerTemplate": template(8)}},
            },
            "leaderworkerset.sigs.k8s.io/name",
            64,
            8,
        ),
    ],
)
def test_kinds_that_declare_their_pods(kind, obj, key, gpus, count):
    waiting = [pod("train-0", group="train", key=key)]
    assert found(**{kind: [obj], "Pod": waiting}) == [("ml/train", gpus, "2026-08-01T01:00:00Z", count)]
    assert found(**{kind: [obj], "Pod": [pod("train-0", group="train", key=key, on="gpu-1")]}) == []


def test_a_plain_job_is_no_gang():
    plain = {
        "apiVersion": "batch/v1",
        "metadata": {"name": "train", "namespace": "ml"},
        "spec": {"parallelism": 4, "template": template(8)},
    }
    assert found(Job=[plain], Pod=[pod("train-0"), pod("train-1")]) == []
    assert impact.loners(facts(Pod=[pod("train-0"), pod("train-1"), pod("cpu", 0), pod("x", on="gpu-1")])) == (2, 16)


def test_pods_alone_make_a_gang():
    assert found(Pod=[pod("a", group="g"), pod("b", group="g"), pod("c", group="g", on="gpu-1")]) == [
        ("ml/g", 24, "2026-08-01T01:00:00Z", 3)
    ]
    assert found(Pod=[pod("a", 0, group="g")]) == []


def test_declared_gangs_come_first_and_are_not_counted_twice():
    declared = [{"name": "ml/pg", "gpus": 64, "since": BROKE}, {"name": "no size"}, {"name": "zero", "gpus": 0}]
    pods = [pod(f"w-{n}", group="pg") for n in range(8)]
    assert found(declared, PodGroup=[pod_group()], Pod=pods) == [("ml/pg", 64, BROKE, None)]


def test_a_gang_that_cannot_use_the_node_does_not_wait_for_it():
    gang = impact.find_gangs(facts(Pod=[pod("a", group="g", selector={"gpu": "h100"})]))[0]
    assert impact.could_use(gang, {"metadata": {"name": "x", "labels": {"gpu": "h100"}}})
    assert not impact.could_use(gang, {"metadata": {"name": "x", "labels": {"gpu": "a100"}}})
    assert impact.could_use(gang, {"metadata": {"name": "x"}, "_partial": True})
    assert impact.could_use(gang, None)


# ---- one node's view --------------------------------------------------------------------------------------


def view(evidence, subject, bus=None, boot=None, operand=None, **options):
    parsed = {"uptime": [(Document("host/uptime.txt", "uptime"), {"boot": boot})] if boot else []}
    settings_ = {"price": 2.5, "currency": "$", "now": None, "gangs": [], "validation_taints": [], **options}
    name = subject["metadata"]["name"]
    return types.SimpleNamespace(
        node=subject,
        name=name,
        evidence=evidence,
        options=types.SimpleNamespace(**settings_),
        cluster=types.SimpleNamespace(),
        pods=[p for p in evidence.of("Pod") if node_of(p) == name],
        events=evidence.of("Event"),
        bus=(bus, None),
        allocatable=8,
        parsed=lambda kind: parsed.get(kind, []),
        pods_of=lambda component: [operand] if operand and component == "device_plugin" else [],
    )


def node(allocatable=0, labels=None, **more):
    return {
        "kind": "Node",
        "metadata": {"name": "gpu-17", "labels": labels or {}, **more.pop("metadata", {})},
        "spec": more.pop("spec", {}),
        "status": {"allocatable": {GPU: str(allocatable), "pods": "110"}, "conditions": [{"type": "Ready", "status": "True"}], **more},
    }


def verdict(fault, layer="driver", expected=8, allocatable=0, evidence=()):
    return {
        "root": {"fault": fault, "layer": layer, "evidence": list(evidence)},
        "expected": expected,
        "allocatable": allocatable,
        "capacity": expected,
    }


def test_the_night_of_gpu_17_from_its_evidence():
    evidence = facts(PodGroup=[pod_group()], Pod=[pod(f"w-{n}", group="pg", since=BROKE) for n in range(8)])
    got = impact.for_view(view(evidence, node(), boot=BROKE), verdict("driver_not_built_for_kernel"))
    assert (got["cost_per_hour"], got["cost"], got["idle_gpu_hours"], got["gpu_hours_delayed"]) == (20.0, 140.0, 56.0, 448.0)
    assert got["since_from"] == "boot time (host/uptime.txt)"


def test_a_cordoned_node_with_pods_still_on_it():
    field = {"manager": "kubectl-cordon", "time": "2026-08-01T05:10:00Z", "fieldsV1": {"f:spec": {"f:unschedulable": {}}}}
    subject = node(8, spec={"unschedulable": True}, metadata={"managedFields": [field]})
    evidence = facts(Pod=[pod("old", 6, on="gpu-17")])
    got = impact.for_view(view(evidence, subject), verdict("node_cordoned", "scheduler", 8, 8))
    assert (got["idle_gpus"], got["hours"], got["idle_gpu_hours"]) == (2, 2.0, 4.0)
    assert "kubectl-cordon" in got["since_from"]
    evidence.looked = {}
    assert impact.for_view(view(evidence, subject), verdict("node_cordoned", "scheduler", 8, 8))["idle_gpus"] is None


def test_a_taint_left_behind_since_it_was_set():
    mark = {"key": "karpenter.sh/unregistered", "effect": "NoExecute", "timeAdded": "2026-08-01T03:10:00Z"}
    quoted = [{"source": "Node/gpu-17", "text": "taint karpenter.sh/unregistered:NoExecute"}]
    got = impact.for_view(view(facts(), node(8, spec={"taints": [mark]})), verdict("taint_left_behind", "scheduler", 8, 8, quoted))
    assert (got["idle_gpus"], got["hours"]) == (8, 4.0)


def test_a_sound_node_and_a_pods_trouble_cost_nothing():
    evidence = facts(PodGroup=[pod_group()], Pod=[pod(f"w-{n}", group="pg") for n in range(8)])
    for fault in ("healthy", "gpus_in_use"):
        got = impact.for_view(view(evidence, node(8)), verdict(fault, None, 8, 8))
        assert (got["idle_gpus"], got["gangs"], got["cost_per_hour"], got["notes"]) == (0, [], 0.0, [])


def test_shares_are_paid_as_whole_gpus():
    shared = node(0, {"nvidia.com/gpu.count": "8", "nvidia.com/gpu.replicas": "4"})
    got = impact.for_view(view(facts(), shared), verdict("driver_not_installed", expected=32))
    assert (got["idle_gpus"], got["cost_per_hour"]) == (8, 20.0)
    split = node(0, {"nvidia.com/gpu.product": "A100-MIG-1g.5gb", "nvidia.com/gpu.count": "56"})
    got = impact.for_view(view(facts(), split, bus=[{}] * 8), verdict("driver_not_installed", expected=56))
    assert got["idle_gpus"] == 8
    got = impact.for_view(view(facts(), split), verdict("driver_not_installed", expected=56))
    assert got["idle_gpus"] is None
    assert "56 shares or MIG devices" in got["notes"][0]


def test_the_plugins_pod_says_since_when():
    operand = pod("nvidia-device-plugin-x", 0, on="gpu-17")
    operand["status"]["conditions"] = [{"type": "Ready", "status": "False", "lastTransitionTime": "2026-08-01T06:10:00Z"}]
    got = impact.for_view(view(facts(), node(), operand=operand, boot=BROKE), verdict("driver_version_mismatch"))
    assert (got["hours"], got["since_from"]) == (1.0, "pod ml/nvidia-device-plugin-x is not Ready since then")


def ready(status, time="2026-08-01T02:10:00Z", **others):
    found = [{"type": "Ready", "status": status, "lastTransitionTime": time}]
    return found + [{"type": kind, "status": "True", "lastTransitionTime": at} for kind, at in others.items()]


def test_a_node_that_became_ready_lost_nothing_then():
    got = impact.for_view(view(facts(), node(conditions=ready("True"))), verdict("secure_boot_rejected"))
    assert (got["since"], got["cost"], got["notes"]) == (None, None, ["Since when the GPUs stand idle is not in the evidence."])
    got = impact.for_view(view(facts(), node(conditions=ready("True")), boot="2026-08-01T02:09:00Z"), verdict("secure_boot_rejected"))
    assert (got["since"], got["since_from"]) == ("2026-08-01T02:09:00Z", "boot time (host/uptime.txt)")
    got = impact.for_view(view(facts(), node(conditions=ready("False"))), verdict("secure_boot_rejected"))
    assert (got["hours"], got["since_from"]) == (5.0, "the node stopped being Ready (condition Ready)")


def test_pressure_says_since_when_on_a_node_that_is_ready():
    subject = node(8, conditions=ready("True", DiskPressure="2026-08-01T06:10:00Z"))
    got = impact.for_view(view(facts(), subject), verdict("node_not_ready", "scheduler", 8, 8))
    assert (got["idle_gpus"], got["hours"], got["since_from"]) == (8, 1.0, "the node reports DiskPressure")
    assert not any("silent" in note for note in got["notes"])


@pytest.mark.parametrize(
    ("line", "time", "zone"),
    [
        ("[Sat Aug  1 03:10:01 2026] NVRM: Xid (PCI:0000:a4:00): 79", "2026-08-01T03:10:01Z", False),
        ("2026-08-01T03:10:01+0200 gpu-17 kernel: NVRM: Xid", "2026-08-01T03:10:01+0200", True),
        ("2026-08-01T03:10:01.123456Z stderr F x", "2026-08-01T03:10:01Z", True),
        ("2026/08/01 03:10:01 Failed to initialize NVML", "2026-08-01T03:10:01Z", False),
        ('time="2026-08-01T03:10:01Z" level=error', "2026-08-01T03:10:01Z", True),
        ("   Active: failed (Result: exit-code) since Sat 2026-08-01 03:10:01 UTC; 4h ago", "2026-08-01T03:10:01UTC", True),
        ("[   12.001] NVRM: Xid", None, None),
        ("Aug  1 03:10:01 gpu-17 kernel: NVRM: Xid", None, None),  # no year
        ("[Sat Foo  1 03:10:01 2026] x", None, None),
        ("[Sat Aug 99 03:10:01 2026] x", None, None),
        ("E0801 03:10:01.000000 1 main.go:1] x", None, None),
        ("Release Build (dvs-builder) Sat Aug  1 03:10:01 UTC 2026", None, None),
    ],
)
def test_the_date_of_a_line(line, time, zone):
    assert impact.stamp(line) == (None if time is None else (time, zone))


def test_the_earliest_quoted_line_with_a_date_is_the_start():
    lines = ["[Sat Aug  1 05:10:00 2026] NVRM: GPU lost", "[Sat Aug  1 03:10:00 2026] NVRM: Xid (PCI:0000:a4:00): 79", "no date"]
    quoted = [{"source": "gpu-17/dmesg.txt", "text": line} for line in lines]
    got = impact.for_view(view(facts(), node(7)), verdict("gpu_fallen_off_bus", "hardware", 8, 7, quoted))
    assert (got["idle_gpus"], got["hours"]) == (1, 4.0)
    assert got["since_from"] == "Xid line (gpu-17/dmesg.txt), its time read as UTC"
    known = [{"source": "a.log", "text": "x", "time": "2026-08-01T06:10:00Z"}]
    got = impact.for_view(view(facts(), node()), verdict("runtime_not_configured", "runtime", evidence=known))
    assert (got["hours"], got["since_from"]) == (1.0, "line of the fault (a.log)")


def test_a_table_without_counts_proves_no_zero():
    row = {"metadata": {"name": "gpu-17"}, "_table": {"status": "NotReady"}, "_partial": True}
    found_ = {**verdict("node_not_ready", "scheduler", 0, None), "capacity": None}
    assert impact.for_view(view(facts(), row), found_)["idle_gpus"] is None
    labelled = {**row, "metadata": {"name": "gpu-17", "labels": {"kubernetes.io/os": "linux"}}}
    assert impact.for_view(view(facts(), labelled), found_)["idle_gpus"] == 0
    assert impact.for_view(view(facts(), row, expected={"gpu-17": 0}), found_)["idle_gpus"] == 0


def test_one_share_is_one_share():
    shared = node(31, {"nvidia.com/gpu.count": "8", "nvidia.com/gpu.replicas": "4"})
    got = impact.for_view(view(facts(), shared), verdict("plugin_not_registered", "device_plugin", 33, 31))
    assert got["notes"][0] == "2 shares or MIG devices stand idle, counted as 1 whole GPU."
    split = node(55, {"nvidia.com/gpu.product": "A100-MIG-1g.5gb", "nvidia.com/gpu.count": "56"})
    got = impact.for_view(view(facts(), split), verdict("plugin_not_registered", "device_plugin", 56, 55))
    assert got["notes"][0].startswith("1 share or MIG device stands idle;")


def test_declared_gangs_and_loners():
    evidence = facts(Pod=[pod("alone")])
    got = impact.for_view(
        view(evidence, node(), boot=BROKE, gangs=[{"name": "big", "gpus": 64, "since": BROKE}]), verdict("driver_not_installed")
    )
    assert got["gangs"] == [{"name": "big", "gpus": 64, "hours": 7.0, "gpu_hours_delayed": 448.0}]
    assert any("1 GPU pod outside any gang" in note for note in got["notes"])


def test_gangs_are_found_once_for_all_nodes():
    seen = view(facts(PodGroup=[pod_group()], Pod=[pod("w", group="pg")]), node())
    assert impact.gangs_of(seen) is impact.gangs_of(seen)


# ---- properties -------------------------------------------------------------------------------------------

KEYS = st.sampled_from(
    "metadata spec status name namespace labels annotations conditions type lastTransitionTime minMember minResources podSets count "
    "template replicatedJobs replicas containers resources limits nvidia.com/gpu apiVersion ownerReferences phase creationTimestamp tasks "
    "scheduling.k8s.io/group-name mpiReplicaSpecs workerGroupSpecs headGroupSpec _table".split()
)
JUNK = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 10**7)
    | st.sampled_from(["Pending", "ml", "8", BROKE, "kueue.x-k8s.io/v1", "jobset.x-k8s.io/v1"])
    | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=15,
)
OBJECT = st.dictionaries(KEYS, JUNK, max_size=5)


@settings(max_examples=100, deadline=None)
@given(st.lists(OBJECT, max_size=3), OBJECT, st.sampled_from(sorted(catalogue.faults())))
def test_nothing_raises(objects, a_node, fault):
    kinds = ["Pod", "PodGroup", "Workload", "JobSet", "Job", "MPIJob", "RayCluster", "LeaderWorkerSet", "Event"]
    evidence = facts(**dict.fromkeys(kinds, objects))
    for gang in impact.find_gangs(evidence, objects):
        assert gang.gpus > 0
        assert gang.name
    got = impact.for_view(view(evidence, {**a_node, "metadata": {"name": "gpu-17"}}), verdict(fault))
    assert got["idle_gpus"] is None or got["idle_gpus"] >= 0
