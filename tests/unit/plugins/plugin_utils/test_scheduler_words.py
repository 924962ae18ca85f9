# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors
from __future__ import annotations

import pytest
from ansible_collections.gpuops.node.plugins.plugin_utils.judge.scheduling import parse_failed_scheduling, parse_other_scheduler
from hypothesis import given
from hypothesis import strategies as st

# One row a form: message, total, [(count, kind, resource or taint key)], form, preemption text said
FORMS = [
    (
        "0/4 nodes are available: 1 node(s) had taints that the pod didn't tolerate, 3 Insufficient nvidia.com/gpu.",
        4,
        [(1, "taint", None), (3, "insufficient", "nvidia.com/gpu")],
        "<=1.17",
        False,
    ),
    (
        "0/9 nodes are available: 2 node(s) had taint {dedicated: a-b.c}, that the pod didn't tolerate, "
        "7 node(s) didn't match node selector.",
        9,
        [(2, "taint", "dedicated"), (7, "affinity", None)],
        "1.18-1.19",
        False,
    ),
    (
        "0/9 nodes are available: 2 node(s) had taint {nvidia.com/gpu: present}, that the pod didn't tolerate, "
        "7 node(s) didn't match Pod's node affinity.",
        9,
        [(2, "taint", "nvidia.com/gpu"), (7, "affinity", None)],
        "1.20",
        False,
    ),
    (
        "0/5 nodes are available: 1 node(s) had taint {k: v}, that the pod didn't tolerate, "
        "4 node(s) didn't match Pod's node affinity/selector.",
        5,
        [(1, "taint", "k"), (4, "affinity", None)],
        "1.21-1.23",
        False,
    ),
    (
        "0/3 nodes are available: 1 node(s) had untolerated taint {nvidia.com/gpu: present}, 2 Insufficient nvidia.com/gpu. "
        "preemption: 0/3 nodes are available: 1 Preemption is not helpful for scheduling, 2 No preemption victims found for incoming pod..",
        3,
        [(1, "taint", "nvidia.com/gpu"), (2, "insufficient", "nvidia.com/gpu")],
        "1.24-1.34",
        True,
    ),
    (
        "0/4 nodes are available: 1 node(s) had untolerated taint(s), 3 cannot allocate all claims. still not schedulable, "
        "preemption: 0/4 nodes are available: 4 Preemption is not helpful for scheduling.",
        4,
        [(1, "taint", None), (3, "dra", None)],
        "1.34+",
        True,
    ),
    (
        "0/2 nodes are available: 1 Too many pods, 1 node(s) were unschedulable. no new claims to deallocate, preemption: 0/2 nodes are "
        "available: 1 No preemption victims found for incoming pod, 1 Preemption is not helpful for scheduling.",
        2,
        [(1, "too_many_pods", None), (1, "unschedulable", None)],
        "1.31+",
        True,
    ),
    (
        "0/8 nodes are available: 1 node(s) had untolerated taint {node.kubernetes.io/unreachable: }, "
        "1 node(s) had untolerated taint {node.kubernetes.io/unschedulable: }, 6 Insufficient cpu, 6 Insufficient memory.",
        8,
        [
            (1, "not_ready", "node.kubernetes.io/unreachable"),
            (1, "unschedulable", "node.kubernetes.io/unschedulable"),
            (6, "insufficient", "cpu"),
            (6, "insufficient", "memory"),
        ],
        "1.24-1.34",
        False,
    ),
    (
        "0/6 nodes are available: 1 node(s) had volume node affinity conflict, 1 node(s) didn't find available persistent volumes to bind, "
        "1 node(s) didn't match pod topology spread constraints (missing required label), 1 node(s) didn't match pod anti-affinity rules, "
        "1 node(s) didn't have free ports for the requested pod ports, 1 Insufficient hugepages-1Gi.",
        6,
        [
            (1, "volume", None),
            (1, "volume", None),
            (1, "spread", None),
            (1, "pod_affinity", None),
            (1, "ports", None),
            (1, "insufficient", "hugepages-1Gi"),
        ],
        "any",
        False,
    ),
    (
        "0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims. preemption: 0/3 nodes are available: "
        "3 Preemption is not helpful for scheduling.",
        3,
        [(None, "volume", None)],
        "1.23+",
        True,
    ),
    (
        '0/3 nodes are available: waiting for dynamic resource controller to create the resourceclaim "gpu-0-abcde". '
        "no new claims to deallocate, preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.",
        3,
        [(None, "dra", None)],
        "1.31+",
        True,
    ),
    ("0/2 nodes are available: 2 Insufficient pods.", 2, [(2, "too_many_pods", None)], "any", False),
    ("0/1 nodes are available: 1 NodeUnfitPod.", 1, [(1, "other", None)], "any", False),
    ("no nodes available to schedule pods", 0, [(None, "other", None)], "any", False),
    ("all nodes are unavailable: 3 Insufficient nvidia.com/gpu.", None, [(3, "insufficient", "nvidia.com/gpu")], "any", False),
    (
        "No nodes are available that match all of the following predicates:: Insufficient nvidia.com/gpu (4), NoVolumeZoneConflict (2).",
        None,
        [(4, "insufficient", "nvidia.com/gpu"), (2, "volume", None)],
        "<=1.10",
        False,
    ),
]


@pytest.mark.parametrize(("message", "total", "reasons", "form", "preemption"), FORMS, ids=[f[0][:60] for f in FORMS])
def test_forms(message, total, reasons, form, preemption):
    got = parse_failed_scheduling(message)
    assert got["total"] == total
    assert [(r["count"], r["kind"], r["resource"] or r["taint_key"]) for r in got["reasons"]] == reasons
    assert got["form"] == form
    assert bool(got["preemption"]) is preemption


def test_counts_of_the_preemption_part_are_not_reasons():
    got = parse_failed_scheduling(FORMS[4][0])
    assert sum(r["count"] for r in got["reasons"]) == 3
    assert got["preemption"].startswith("preemption: 0/3")


def test_a_line_broken_by_the_terminal_and_an_event_row():
    row = (
        "  Warning  FailedScheduling  2m (x7 over 12m)  default-scheduler  0/5 nodes are available: 1 node(s) had untolerated\n"
        "  taint {a: b}, 4 Insufficient\n nvidia.com/gpu."
    )
    got = parse_failed_scheduling(row)
    assert [(r["count"], r["kind"]) for r in got["reasons"]] == [(1, "taint"), (4, "insufficient")]
    assert got["reasons"][1]["resource"] == "nvidia.com/gpu"


def test_taint_value():
    assert parse_failed_scheduling(FORMS[1][0])["reasons"][0]["taint_value"] == "a-b.c"


def test_no_scheduler_message():
    got = parse_failed_scheduling("Back-off pulling image")
    assert got == {"total": None, "available": None, "reasons": [], "preemption": None, "form": "none"}


OTHERS = [
    ("pod didn't trigger scale-up: 2 max node group size reached", "cluster-autoscaler", "no_scale_up", "autoscaler_pending", {}),
    (
        "pod didn't trigger scale-up (it wouldn't fit if a new node is added): 1 Insufficient nvidia.com/gpu, 1 Insufficient cpu",
        "cluster-autoscaler",
        "no_scale_up",
        "autoscaler_pending",
        {},
    ),
    (
        "pod triggered scale-up: [{gpu-pool 1->2 (max: 2)}]",
        "cluster-autoscaler",
        "scale_up",
        "autoscaler_pending",
        {"group": "[{gpu-pool 1->2 (max: 2)}]"},
    ),
    (
        'Failed to schedule pod, incompatible with nodepool "gpu", daemonset overhead={"cpu":"1"}, no instance type satisfied resources '
        '{"nvidia.com/gpu":"9"} and requirements karpenter.sh/nodepool In [gpu]',
        "karpenter",
        "no_scale_up",
        "autoscaler_pending",
        {},
    ),
    (
        "Failed to schedule pod, did not tolerate taint (taint=example.com/special=true:NoSchedule)",
        "karpenter",
        "taint",
        "autoscaler_pending",
        {"taint_key": "example.com/special"},
    ),
    (
        'Failed to schedule pod, all available instance types exceed limits for nodepool: "gpu"',
        "karpenter",
        "limit",
        "autoscaler_pending",
        {},
    ),
    ("Pod should schedule on: nodeclaim/gpu-abcde", "karpenter", "nominated", "autoscaler_pending", {"group": "nodeclaim/gpu-abcde"}),
    (
        'request devices nums cannot exceed the total number of devices on the node." pod="a/b" request devices nums=12 node device nums=4',
        "hami",
        "exceeds",
        "request_exceeds_node",
        {},
    ),
    ("1 nodes CardInsufficientMemory(gpu-17)", "hami", "in_use", "gpus_in_use", {}),
    ("2 nodes NodeInsufficientDevice(a,b)", "hami", "exceeds", "request_exceeds_node", {}),
    ("no available node, all node scores do not meet", "hami", "unfit", None, {}),
    (
        "couldn't assign flavors to pod set main: insufficient unused quota for nvidia.com/gpu in flavor h100, 8 more needed",
        "kueue",
        "quota",
        "pod_gated",
        {"resource": "nvidia.com/gpu", "queue": "h100", "more": 8},
    ),
    (
        "couldn't assign flavors to pod set w: insufficient quota for nvidia.com/gpu in flavor h100, request > maximum capacity (24 > 16)",
        "kueue",
        "exceeds_quota",
        "pod_gated",
        {"resource": "nvidia.com/gpu", "queue": "h100"},
    ),
    ("ClusterQueue research is inactive", "kueue", "queue", "pod_gated", {"queue": "research"}),
    (
        "7/8 tasks in gang unschedulable: pod group is not ready, 8 Pending, 8 minAvailable; Pending: 7 Schedulable, 1 Unschedulable",
        "volcano",
        "gang",
        "pod_gated",
        {"pending": 7, "members": 8},
    ),
    ("pod group is not ready, 8 Pending, 8 minAvailable", "volcano", "gang", "pod_gated", {"pending": 8, "members": 8}),
    (
        "pre-filter pod a cannot find enough sibling pods, current pods number: 3, minMember of group: 5",
        "coscheduling",
        "gang",
        "pod_gated",
        {"pending": 3, "members": 5},
    ),
    (
        "Resources were found for 3 pods while 4 are required for gang scheduling. Additional pods cannot be scheduled due to: x",
        "kai",
        "gang",
        "pod_gated",
        {"pending": 3, "members": 4},
    ),
    ("default/train-0 is queued and waiting for allocation", "yunikorn", "queued", "pod_gated", {}),
    ("Scheduling is blocked due to non-empty scheduling gates", "default-scheduler", "gate", "pod_gated", {}),
]


@pytest.mark.parametrize(("message", "scheduler", "kind", "fault", "more"), OTHERS, ids=[o[0][:50] for o in OTHERS])
def test_other_schedulers(message, scheduler, kind, fault, more):
    got = parse_other_scheduler(message)
    assert (got["scheduler"], got["kind"], got["fault"]) == (scheduler, kind, fault)
    assert {k: got[k] for k in more} == more


def test_what_the_autoscaler_answers():
    got = parse_other_scheduler(OTHERS[0][0])
    assert [(r["count"], r["kind"]) for r in got["reasons"]] == [(2, "max_size")]
    got = parse_other_scheduler(OTHERS[1][0])
    assert [(r["count"], r["resource"]) for r in got["reasons"]] == [(1, "nvidia.com/gpu"), (1, "cpu")]
    got = parse_other_scheduler("pod didn't trigger scale-up: 1 in backoff after failed scale-up, 1 max cluster cpu, memory limit reached")
    assert [r["kind"] for r in got["reasons"]] == ["backoff", "cluster_limit"]


@pytest.mark.parametrize(
    "message",
    [
        "0/5 nodes are available: 5 Insufficient nvidia.com/gpu.",
        "Successfully assigned default/a to gpu-17",
        "Created pod: a",
        "",
        None,
    ],
)
def test_the_default_scheduler_is_no_other(message):
    assert parse_other_scheduler(message) is None


PIECES = st.sampled_from(
    [
        "0/3 nodes are available: ",
        "1 node(s) had untolerated taint {a: b}",
        ", ",
        "2 Insufficient cpu",
        "{",
        "}",
        ". preemption: ",
        "0/3",
        "\n",
        "é",
    ]
)


@given(st.lists(PIECES, max_size=12).map("".join) | st.text(max_size=200))
def test_no_text_raises(message):
    got = parse_failed_scheduling(message)
    assert set(got) == {"total", "available", "reasons", "preemption", "form"}
    other = parse_other_scheduler(message)
    assert other is None or other["scheduler"]


@given(
    st.lists(
        st.tuples(st.integers(1, 999), st.sampled_from(["Insufficient cpu", "node(s) were unschedulable", "Too many pods"])),
        min_size=1,
        max_size=6,
    )
)
def test_every_reason_is_found_again(reasons):
    message = "0/999 nodes are available: " + ", ".join(f"{n} {said}" for n, said in reasons) + "."
    got = parse_failed_scheduling(message)
    assert [(r["count"], r["text"]) for r in got["reasons"]] == reasons
