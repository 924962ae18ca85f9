# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors
from __future__ import annotations

import pytest
from ansible_collections.gpuops.node.plugins.plugin_utils import objects
from hypothesis import given
from hypothesis import strategies as st

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("value", "number"),
    [
        ("8", 8),
        (8, 8),
        ("1500m", 1.5),
        ("20k", 20_000),
        ("1Gi", 2**30),
        ("16061316Ki", 16061316 * 1024),
        ("1e3", 1000),
        ("1E3", 1000),
        ("2E", 2e18),
        (".5", 0.5),
        ("+3", 3),
        ("100u", 1e-4),
        ("", None),
        ("GiB", None),
        ("1 Gi", None),
        ("0x10", None),
        (None, None),
        (True, None),
        ("nan", None),
        ("1e999", None),
        (float("inf"), None),
    ],
)
def test_quantity(value, number):
    got = objects.quantity(value)
    assert got == (pytest.approx(number) if number is not None else None)


@given(JSON)
def test_quantity_never_raises(value):
    got = objects.quantity(value)
    assert got is None or isinstance(got, float)


def container(restart=None, requests=None, limits=None):
    made = {"name": "c", "resources": {}}
    if requests:
        made["resources"]["requests"] = requests
    if limits:
        made["resources"]["limits"] = limits
    if restart:
        made["restartPolicy"] = restart
    return made


def pod(containers, init=(), **spec):
    return {"metadata": {"name": "p"}, "spec": {"containers": list(containers), "initContainers": list(init), **spec}}


@pytest.mark.parametrize(
    ("given_pod", "expected"),
    [
        # containers add up
        (pod([container(requests={"cpu": "1"}), container(requests={"cpu": "500m"})]), {"cpu": 1.5}),
        # a limit without a request is the request
        (pod([container(limits={"nvidia.com/gpu": "2"})]), {"nvidia.com/gpu": 2}),
        (pod([container(requests={"cpu": "1"}, limits={"cpu": "4", "nvidia.com/gpu": 1})]), {"cpu": 1, "nvidia.com/gpu": 1}),
        # the largest init step counts when it is more
        (pod([container(requests={"cpu": "1"})], [container(requests={"cpu": "3"}), container(requests={"cpu": "2"})]), {"cpu": 3}),
        # a sidecar adds to the containers, and to every init step after it
        (pod([container(requests={"cpu": "1"})], [container("Always", {"cpu": "2"}), container(requests={"cpu": "2"})]), {"cpu": 4}),
        # an init step before the sidecar does not run beside it
        (pod([container(requests={"cpu": "1"})], [container(requests={"cpu": "2"}), container("Always", {"cpu": "2"})]), {"cpu": 3}),
        # overhead of the runtime class
        (pod([container(requests={"memory": "1Gi"})], overhead={"memory": "128Mi"}), {"memory": 2**30 + 2**27}),
        # pod-level requests replace the sum for cpu and memory, never for devices
        (
            pod([container(requests={"cpu": "1", "nvidia.com/gpu": "1"})], resources={"requests": {"cpu": "6", "nvidia.com/gpu": "9"}}),
            {"cpu": 6, "nvidia.com/gpu": 1},
        ),
    ],
)
def test_pod_requests(given_pod, expected):
    got = objects.pod_requests(given_pod)
    assert got.pop("pods") == 1
    assert {k: pytest.approx(v) for k, v in got.items()} == expected


def test_requests_of_a_table_row_are_not_known():
    row = {"metadata": {"name": "p"}, "_table": {"status": "Running"}}
    assert objects.pod_requests(row) is None
    assert not objects.requests_known(row)
    assert objects.asks_for_gpu(row) is None


def test_asks_for_gpu():
    assert objects.asks_for_gpu(pod([container(limits={"nvidia.com/mig-1g.10gb": 1})])) is True
    assert objects.asks_for_gpu(pod([container(requests={"cpu": "1"})])) is False
    assert objects.asks_for_gpu(pod([container()], resourceClaims=[{"name": "gpu"}])) is True
    assert objects.asks_for_gpu({**pod([{"name": "c"}]), "_partial": True}) is None


@pytest.mark.parametrize(
    ("resource", "gpu"),
    [
        ("nvidia.com/gpu", True),
        ("nvidia.com/gpu.shared", True),
        ("nvidia.com/mig-3g.20gb", True),
        ("nvidia.com/mig-1g.5gb.me", True),
        ("nvidia.com/GA102GL_A10", True),
        ("nvidia.com/gpumem", False),
        ("nvidia.com/gpucores", False),
        ("nvidia.com/hostdev", False),
        ("cpu", False),
        ("rdma/hca_shared_devices", False),
    ],
)
def test_is_gpu(resource, gpu):
    assert objects.is_gpu(resource) is gpu


@pytest.mark.parametrize(
    ("node", "amount"),
    [
        ({"status": {"allocatable": {"nvidia.com/gpu": "8"}}}, 8),
        ({"status": {"allocatable": {"cpu": "4"}}}, 0),  # a whole object: absence is proof
        ({"status": {"allocatable": {"cpu": "4"}}, "_partial": True}, None),
        ({"status": {"allocatable": {"cpu": "4"}}, "_partial": True, "_allocatable_complete": True}, 0),
        ({"status": {"allocatable": {"cpu": "4"}}, "_allocatable_complete": False}, None),
        ({"status": {}}, None),
        ({}, None),
    ],
)
def test_amount_is_zero_only_where_that_is_proven(node, amount):
    assert objects.amount(node, "allocatable", "nvidia.com/gpu") == amount


@pytest.mark.parametrize(
    ("node", "ready", "cordoned"),
    [
        ({"spec": {}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}}, True, False),
        ({"spec": {"unschedulable": True}, "status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}, False, True),
        ({"_table": {"status": "Ready,SchedulingDisabled"}}, True, True),
        ({"_table": {"status": "NotReady"}}, False, False),
        ({"_partial": True}, None, None),
        ({"_partial": True, "spec": {"taints": [{"key": "node.kubernetes.io/unreachable"}]}}, False, None),
        ({"_partial": True, "spec": {"taints": [{"key": "node.kubernetes.io/unschedulable"}]}}, None, True),
    ],
)
def test_ready_and_cordoned(node, ready, cordoned):
    assert objects.node_ready(node) is ready
    assert objects.node_cordoned(node) is cordoned


@pytest.mark.parametrize(
    ("said", "utc"),
    [
        ("2026-08-01T00:10:05Z", "2026-08-01T00:10:05Z"),
        ("2026-08-01T02:10:05.123456+02:00", "2026-08-01T00:10:05Z"),
        ("2026-08-01T02:10:05+0200", "2026-08-01T00:10:05Z"),
        ("2026-08-01 00:10:05", "2026-08-01T00:10:05Z"),
        ("Sat, 01 Aug 2026 02:10:05 +0200", "2026-08-01T00:10:05Z"),
        ("2026-13-01T00:00:00Z", None),
        ("yesterday", None),
        ("", None),
        (None, None),
        (12, None),
    ],
)
def test_parse_time(said, utc):
    moment = objects.parse_time(said)
    assert (objects.show_time(moment) if moment else None) == utc


@given(JSON)
def test_parse_time_never_raises(value):
    moment = objects.parse_time(value)
    assert moment is None or objects.show_time(moment)


AGES = {"41m": 2460, "2d3h": 183600, "17h": 61200, "5y12d": 158716800, "90s": 90, "<unknown>": None, "41 m": None, None: None}


@pytest.mark.parametrize(("said", "seconds"), AGES.items())
def test_parse_age(said, seconds):
    assert objects.parse_age(said) == seconds


def test_age_of_a_node():
    node = {"metadata": {"creationTimestamp": "2026-08-01T00:00:00Z"}, "_table": {"age": "2d"}}
    assert objects.age_of(node, "2026-08-01T00:10:00Z") == 600
    assert objects.age_of(node, None) == 172800
    assert objects.age_of(node, "2026-07-01T00:00:00Z") is None  # a clock that runs backwards is no age


def test_writes_of_are_newest_first():
    node = {
        "metadata": {
            "managedFields": [
                {"manager": "kubelet", "time": "2026-01-01T00:00:00Z", "fieldsV1": {"f:spec": {"f:taints": {}}}},
                {"manager": "kubectl", "time": "2026-02-01T00:00:00Z", "fieldsV1": {"f:spec": {"f:taints": {'k:{"key":"x"}': {}}}}},
                {"manager": "kubelet", "time": "2026-03-01T00:00:00Z", "fieldsV1": {"f:status": {}}},
                "junk",
            ]
        }
    }
    assert [w[0] for w in objects.writes_of(node, "taints")] == ["kubectl", "kubelet"]


@given(JSON)
def test_readers_never_raise(value):
    for read in (
        objects.pod_requests,
        objects.gpu_request,
        objects.requests_known,
        objects.asks_for_gpu,
        objects.node_ready,
        objects.node_cordoned,
        objects.terminal,
        objects.labels_of,
        objects.full_name,
        objects.source_of,
        objects.advertised,
        objects.node_of,
    ):
        read(value)
    objects.writes_of(value, "taints")
    objects.age_of(value, "2026-01-01T00:00:00Z")


@pytest.mark.parametrize(
    ("given_pod", "over"),
    [
        ({"status": {"phase": "Running"}}, False),
        ({"status": {"phase": "Failed"}}, True),
        ({"_table": {"status": "Completed"}}, True),
        ({"_table": {"status": "CrashLoopBackOff"}}, False),
        ({"_table": {"status": "Terminating"}}, False),
        ({"_partial": True, "_terminating": True}, False),
        ({"_partial": True}, None),
    ],
)
def test_terminal(given_pod, over):
    assert objects.terminal(given_pod) is over
