# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors
"""Printed forms of kubectl 1.16 to 1.36 and what is read from them. Hosts and pods are made up; the shapes are kubectl's."""

# Printed lines are as long, and end, as the program prints them.
# ruff: noqa: E501, W291

from __future__ import annotations

import copy
import json
import textwrap
import time

import pytest
from ansible_collections.gpuops.node.plugins.plugin_utils import kubectl_text as kt
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st


def d(text: str) -> str:
    return textwrap.dedent(text).lstrip("\n")


def clean(value):
    """Without where it came from."""
    if isinstance(value, list):
        return [clean(v) for v in value]
    return {k: v for k, v in value.items() if k not in ("_source", "_partial", "kind")}


# ---- quantities -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "said, number",
    [
        ("8", 8.0),
        (8, 8.0),
        ("7910m", 7.91),
        ("16061316Ki", 16061316 * 1024.0),
        ("20k", 20000.0),
        ("1.5Gi", 1.5 * 2**30),
        ("1e3", 1000.0),
        ("2E", 2e18),
        ("2E2", 200.0),
        ("100n", 1e-7),
        ("5u", 5e-6),
        ("+3", 3.0),
        (".5", 0.5),
        ("5.", 5.0),
        ("0", 0.0),
        (" 4 ", 4.0),
    ],
)
def test_quantity(said, number):
    assert kt.quantity(said) == pytest.approx(number)


@pytest.mark.parametrize(
    "said", ["", "gpu", "1K", "1 Gi", "1Gib", "0x10", "1e", "m", "--1", "1_000", None, True, [], {}, "1e999", float("nan"), 10**400, "٣"]
)
def test_quantity_refuses(said):
    with pytest.raises(ValueError):
        kt.quantity(said)


# ---- describe node ----------------------------------------------------------------------------------------

NODE = d("""
    Name:               gpu-a1
    Roles:              <none>
    Labels:             beta.kubernetes.io/arch=amd64
                        kubernetes.io/hostname=gpu-a1
                        node-role.kubernetes.io/gpu=
                        nvidia.com/gpu.present=true
                        nvidia.com/gpu.product=NVIDIA-H100-80GB-HBM3
    Annotations:        kubeadm.alpha.kubernetes.io/cri-socket: unix:///run/containerd/containerd.sock
                        nfd.node.kubernetes.io/feature-labels:
                          cpu-cpuid.ADX,cpu-cpuid.AESNI,
                          pci-10de.present
                        node.alpha.kubernetes.io/ttl: 0
    CreationTimestamp:  Tue, 04 Mar 2025 10:00:00 +0100
    Taints:             nvidia.com/gpu=present:NoSchedule
                        node.kubernetes.io/not-ready:NoExecute
    Unschedulable:      true
    Lease:
      HolderIdentity:  gpu-a1
      AcquireTime:     <unset>
      RenewTime:       Wed, 05 Mar 2025 08:00:30 +0000
    Conditions:
      Type             Status  LastHeartbeatTime                 LastTransitionTime                Reason                       Message
      ----             ------  -----------------                 ------------------                ------                       -------
      MemoryPressure   False   Wed, 05 Mar 2025 08:00:10 +0000   Tue, 04 Mar 2025 09:00:00 +0000   KubeletHasSufficientMemory   kubelet has sufficient memory available
      Ready            False   Wed, 05 Mar 2025 08:00:10 +0000   Wed, 05 Mar 2025 07:58:00 +0000   KubeletNotReady              container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady
    Addresses:
      InternalIP:  10.0.0.11
      Hostname:    gpu-a1
    Capacity:
      cpu:                128
      ephemeral-storage:  1844284980Ki
      hugepages-1Gi:      0
      memory:             1056443568Ki
      nvidia.com/gpu:     8
      pods:               110
    Allocatable:
      cpu:                128
      ephemeral-storage:  1699693035752
      hugepages-1Gi:      0
      memory:             1056341168Ki
      nvidia.com/gpu:     7
      pods:               110
    System Info:
      Machine ID:                 0123456789abcdef0123456789abcdef
      System UUID:                00000000-0000-0000-0000-000000000001
      Boot ID:                    00000000-0000-0000-0000-000000000002
      Kernel Version:             5.15.0-131-generic
      OS Image:                   Ubuntu 22.04.5 LTS
      Operating System:           linux
      Architecture:               amd64
      Container Runtime Version:  containerd://1.7.25
      Kubelet Version:            v1.31.6
      Kube-Proxy Version:         v1.31.6
    PodCIDR:                      10.42.1.0/24
    PodCIDRs:                     10.42.1.0/24
    Non-terminated Pods:          (2 in total)
      Namespace                   Name                                        CPU Requests  CPU Limits  Memory Requests  Memory Limits  Age
      ---------                   ----                                        ------------  ----------  ---------------  -------------  ---
      gpu-operator                nvidia-device-plugin-daemonset-2b6rt        0 (0%)        0 (0%)      0 (0%)           0 (0%)         22h
      team-a                      train-0                                     16 (12%)      16 (12%)    128Gi (12%)      128Gi (12%)    21h
    Allocated resources:
      (Total limits may be over 100 percent, i.e., overcommitted.)
      Resource           Requests       Limits
      --------           --------       ------
      cpu                16250m (12%)   16 (12%)
      memory             131142Mi (12%) 128Gi (12%)
      ephemeral-storage  0 (0%)         0 (0%)
      nvidia.com/gpu     4              4
    Events:
      Type     Reason                   Age                From             Message
      ----     ------                   ----               ----             -------
      Normal   NodeNotSchedulable       12m                kubelet          Node gpu-a1 status is now: NodeNotSchedulable
      Warning  InvalidDiskCapacity      9m (x2 over 10m)   kubelet          invalid capacity 0 on image filesystem
""")


def test_describe_node_whole():
    (node,) = kt.parse_describe_nodes(NODE, "nodes.txt")
    assert node["kind"] == "Node" and node["_source"] == "nodes.txt" and node["_partial"] is True
    assert node["metadata"] == {
        "name": "gpu-a1",
        "labels": {
            "beta.kubernetes.io/arch": "amd64",
            "kubernetes.io/hostname": "gpu-a1",
            "node-role.kubernetes.io/gpu": "",
            "nvidia.com/gpu.present": "true",
            "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3",
        },
        "annotations": {
            "kubeadm.alpha.kubernetes.io/cri-socket": "unix:///run/containerd/containerd.sock",
            "nfd.node.kubernetes.io/feature-labels": "cpu-cpuid.ADX,cpu-cpuid.AESNI,\npci-10de.present",
            "node.alpha.kubernetes.io/ttl": "0",
        },
        "creationTimestamp": "2025-03-04T09:00:00Z",
    }
    assert node["_labels_complete"] is True
    assert node["spec"] == {
        "taints": [
            {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"},
            {"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"},
        ],
        "unschedulable": True,
        "podCIDR": "10.42.1.0/24",
    }
    assert node["_lease"] == "2025-03-05T08:00:30Z"
    status = node["status"]
    assert status["capacity"]["nvidia.com/gpu"] == "8" and status["allocatable"]["nvidia.com/gpu"] == "7"
    assert status["capacity"]["memory"] == "1056443568Ki"
    assert node["_capacity_complete"] is True and node["_allocatable_complete"] is True
    assert status["conditions"][1] == {
        "type": "Ready",
        "status": "False",
        "lastHeartbeatTime": "2025-03-05T08:00:10Z",
        "lastTransitionTime": "2025-03-05T07:58:00Z",
        "reason": "KubeletNotReady",
        "message": "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady",
    }
    assert status["addresses"] == [{"type": "InternalIP", "address": "10.0.0.11"}, {"type": "Hostname", "address": "gpu-a1"}]
    assert status["nodeInfo"]["kernelVersion"] == "5.15.0-131-generic"
    assert status["nodeInfo"]["osImage"] == "Ubuntu 22.04.5 LTS"
    assert status["nodeInfo"]["containerRuntimeVersion"] == "containerd://1.7.25"
    assert status["nodeInfo"]["kubeletVersion"] == "v1.31.6"
    assert status["nodeInfo"]["architecture"] == "amd64"
    assert node["_allocated"] == {"cpu": "16250m", "memory": "131142Mi", "ephemeral-storage": "0", "nvidia.com/gpu": "4"}
    assert node["_pods_total"] == 2
    assert node["_pods"][1] == {"namespace": "team-a", "name": "train-0", "requests": {"cpu": "16", "memory": "128Gi"}, "age": "21h"}


def test_describe_node_events():
    first, second = kt.parse_events(NODE, "nodes.txt")
    assert first["involvedObject"] == {"kind": "Node", "name": "gpu-a1"} and first["type"] == "Normal"
    assert second["reason"] == "InvalidDiskCapacity" and second["count"] == 2
    assert (second["_age"], second["_first_age"]) == ("9m", "10m")
    assert second["message"] == "invalid capacity 0 on image filesystem" and second["source"] == {"component": "kubelet"}


def test_describe_several_nodes_indented_and_quoted():
    text = NODE + "\n\n" + NODE.replace("gpu-a1", "gpu-a2")
    assert [n["metadata"]["name"] for n in kt.parse_describe_nodes(text, "s")] == ["gpu-a1", "gpu-a2"]
    (whole,) = kt.parse_describe_nodes(NODE, "s")
    assert kt.parse_describe_nodes(textwrap.indent(NODE, "    "), "s") == [whole]
    assert kt.parse_describe_nodes("".join("> " + line for line in NODE.splitlines(True)), "s") == [whole]
    assert kt.parse_describe_nodes("```\n$ kubectl describe node gpu-a1\n" + NODE.replace("\n", "\r\n") + "```\n", "s") == [whole]


@pytest.mark.parametrize(
    "text, expected",
    [
        ("Taints:             <none>\n", {"metadata": {}, "spec": {"taints": []}}),
        (
            "$ kubectl describe node x | grep Taints\nTaints: nvidia.com/gpu:NoSchedule\n",
            {"metadata": {}, "spec": {"taints": [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}]}},
        ),
        ("Unschedulable:      false\n", {"metadata": {}, "spec": {"unschedulable": False}}),
        ("Labels:  <none>\n", {"metadata": {"labels": {}}, "_labels_complete": True}),
        (
            "Capacity:\n  cpu:  8\n  memory:  32366612Ki\n  pods:  29\nAllocatable:\n  cpu:  7910m\n",
            {
                "metadata": {},
                "status": {"capacity": {"cpu": "8", "memory": "32366612Ki", "pods": "29"}, "allocatable": {"cpu": "7910m"}},
                "_capacity_complete": True,
                "_allocatable_complete": False,
            },
        ),
        # Rows left out say nothing, wherever they were.
        (
            "Capacity:\n  memory:  1Ki\n  ...\n  pods:  29\n",
            {"metadata": {}, "status": {"capacity": {"memory": "1Ki", "pods": "29"}}, "_capacity_complete": False},
        ),
        (
            "Allocatable:\n nvidia.com/gpu:  0\n",
            {"metadata": {}, "status": {"allocatable": {"nvidia.com/gpu": "0"}}, "_allocatable_complete": False},
        ),
        (
            "  Kernel Version:             6.8.0-52-generic\n",
            {"metadata": {}, "status": {"nodeInfo": {"kernelVersion": "6.8.0-52-generic"}}},
        ),
        (
            "Conditions:\n  Type  Status  Reason  Message\n  Ready   Unknown   NodeStatusUnknown   Kubelet stopped posting node status.\n",
            {
                "metadata": {},
                "status": {
                    "conditions": [
                        {
                            "type": "Ready",
                            "status": "Unknown",
                            "reason": "NodeStatusUnknown",
                            "message": "Kubelet stopped posting node status.",
                        }
                    ]
                },
            },
        ),
        # one space between the columns: how web pages and chat leave a table
        (
            "Conditions:\n Type Status LastHeartbeatTime LastTransitionTime Reason Message\n"
            " Ready True Wed, 05 Mar 2025 08:00:10 +0000 Wed, 05 Mar 2025 07:58:00 +0000 KubeletReady kubelet is posting ready status\n",
            {
                "metadata": {},
                "status": {
                    "conditions": [
                        {
                            "type": "Ready",
                            "status": "True",
                            "lastHeartbeatTime": "2025-03-05T08:00:10Z",
                            "lastTransitionTime": "2025-03-05T07:58:00Z",
                            "reason": "KubeletReady",
                            "message": "kubelet is posting ready status",
                        }
                    ]
                },
            },
        ),
        # kubectl describe node x | grep nvidia.com
        (
            "                    nvidia.com/gpu.count=4\n                    nvidia.com/gpu.present=true\n  nvidia.com/gpu:     4\n  nvidia.com/gpu:     3\n  nvidia.com/gpu     2            2\n",
            {
                "metadata": {"labels": {"nvidia.com/gpu.count": "4", "nvidia.com/gpu.present": "true"}},
                "_labels_complete": False,
                "status": {"capacity": {"nvidia.com/gpu": "4"}, "allocatable": {"nvidia.com/gpu": "3"}},
                "_capacity_complete": False,
                "_allocatable_complete": False,
                "_allocated": {"nvidia.com/gpu": "2"},
            },
        ),
    ],
)
def test_describe_node_fragments(text, expected):
    assert clean(kt.parse_describe_nodes(text, "s")) == [expected]


def test_taints_of_several_nodes_without_names():
    nodes = kt.parse_describe_nodes("Taints:  a/b:NoSchedule\nTaints:  <none>\n--\nTaints:  c=d:NoExecute\n", "s")
    assert [n["spec"]["taints"] for n in nodes] == [
        [{"key": "a/b", "effect": "NoSchedule"}],
        [],
        [{"key": "c", "value": "d", "effect": "NoExecute"}],
    ]


def test_names_and_taints_grepped():
    nodes = kt.parse_describe_nodes("Name:   n1\nTaints:  <none>\nName:  n2\nTaints: a:NoSchedule\n", "s")
    assert [(n["metadata"]["name"], len(n["spec"]["taints"])) for n in nodes] == [("n1", 0), ("n2", 1)]


def test_lone_amount_row_is_ambiguous():
    assert kt.parse_describe_nodes("  nvidia.com/gpu:  8\n", "s") == []


def test_a_pod_is_no_node_and_the_reverse():
    assert kt.parse_describe_nodes(POD, "s") == []
    assert kt.parse_describe_pods(NODE, "s") == ([], [])


# ---- describe pod -----------------------------------------------------------------------------------------

POD = d("""
    Name:                 nvidia-operator-validator-x7x7x
    Namespace:            gpu-operator
    Priority:             2000001000
    Priority Class Name:  system-node-critical
    Runtime Class Name:   nvidia
    Service Account:      nvidia-operator-validator
    Node:                 gpu-a1/10.0.0.11
    Start Time:           Wed, 05 Mar 2025 08:00:00 +0000
    Labels:               app=nvidia-operator-validator
                          pod-template-generation=1
    Annotations:          <none>
    Status:               Pending
    IP:                   10.42.1.9
    IPs:
      IP:           10.42.1.9
    Controlled By:  DaemonSet/nvidia-operator-validator
    Init Containers:
      driver-validation:
        Container ID:  containerd://aaaa
        Image:         example.com/validator:v1
        Image ID:      example.com/validator@sha256:bbbb
        Port:          <none>
        Host Port:     <none>
        SeccompProfile:  RuntimeDefault
        Command:
          sh
          -c
        Args:
          nvidia-validator
        State:          Waiting
          Reason:       CrashLoopBackOff
        Last State:     Terminated
          Reason:       StartError
          Message:      failed to create containerd task: failed to create shim task: OCI runtime create failed
    nvidia-container-cli: initialization error: load library failed: libnvidia-ml.so.1: cannot open shared object file: no such file or directory: unknown
          Exit Code:    128
          Started:      Thu, 01 Jan 1970 00:00:00 +0000
          Finished:     Wed, 05 Mar 2025 08:05:00 +0000
        Ready:          False
        Restart Count:  6
        Environment:
          WITH_WAIT:           true
          NODE_NAME:            (v1:spec.nodeName)
          TOKEN:               <set to the key 'token' in secret 'creds'>  Optional: false
        Mounts:
          /host from host-root (ro)
          /run/nvidia/validations from run-nvidia-validations (rw)
    Containers:
      nvidia-operator-validator:
        Container ID:  
        Image:         example.com/validator:v1
        Command:
          sh
        State:          Waiting
          Reason:       PodInitializing
        Ready:          False
        Restart Count:  0
        Limits:
          nvidia.com/gpu:  1
        Requests:
          cpu:             100m
          nvidia.com/gpu:  1
        Environment:       <none>
        Mounts:            <none>
      sidecar:
        Image:          example.com/sidecar:v1
        State:          Running
          Started:      Wed, 05 Mar 2025 08:01:00 +0000
        Ready:          True
        Restart Count:  0
    Conditions:
      Type                        Status
      PodReadyToStartContainers   True 
      Initialized                 False 
      Ready                       False 
      PodScheduled                True 
    Volumes:
      host-root:
        Type:          HostPath (bare host directory volume)
        Path:          /
        HostPathType:  
      run-nvidia-validations:
        Type:          HostPath (bare host directory volume)
        Path:          /run/nvidia/validations
        HostPathType:  DirectoryOrCreate
      kube-api-access-abcde:
        Type:                    Projected (a volume that contains injected data from multiple sources)
        TokenExpirationSeconds:  3607
    QoS Class:                   Burstable
    Node-Selectors:              nvidia.com/gpu.deploy.operator-validator=true
                                 pool=a
    Tolerations:                 node.kubernetes.io/not-ready:NoExecute op=Exists for 300s
                                 nvidia.com/gpu:NoSchedule op=Exists
                                 dedicated=gpu:NoSchedule
                                 op=Exists
    Events:
      Type     Reason   Age                  From               Message
      ----     ------   ----                 ----               -------
      Normal   Scheduled  8m                 default-scheduler  Successfully assigned gpu-operator/nvidia-operator-validator-x7x7x to gpu-a1
      Warning  Failed   4m (x6 over 8m)      kubelet            Error: failed to create containerd task: failed to create shim task: OCI runtime create failed
    nvidia-container-cli: initialization error: load library failed: libnvidia-ml.so.1: unknown
      Warning  BackOff  2m (x30 over 8m)     kubelet, gpu-a1    Back-off restarting failed container
""")


def test_describe_pod_whole():
    (pod,), events = kt.parse_describe_pods(POD, "pod.txt")
    assert pod["metadata"] == {
        "name": "nvidia-operator-validator-x7x7x",
        "namespace": "gpu-operator",
        "labels": {"app": "nvidia-operator-validator", "pod-template-generation": "1"},
        "annotations": {},
        "ownerReferences": [{"kind": "DaemonSet", "name": "nvidia-operator-validator", "controller": True}],
    }
    spec, status = pod["spec"], pod["status"]
    assert spec["nodeName"] == "gpu-a1" and spec["runtimeClassName"] == "nvidia" and spec["priorityClassName"] == "system-node-critical"
    assert spec["nodeSelector"] == {"nvidia.com/gpu.deploy.operator-validator": "true", "pool": "a"}
    assert spec["tolerations"] == [
        {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300},
        {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
        {"key": "dedicated", "operator": "Equal", "value": "gpu", "effect": "NoSchedule"},
        {"operator": "Exists"},
    ]
    assert spec["volumes"] == [
        {"name": "host-root", "hostPath": {"path": "/"}},
        {"name": "run-nvidia-validations", "hostPath": {"path": "/run/nvidia/validations", "type": "DirectoryOrCreate"}},
        {"name": "kube-api-access-abcde", "projected": {}},
    ]
    (init,) = spec["initContainers"]
    assert init["name"] == "driver-validation" and init["image"] == "example.com/validator:v1"
    assert init["command"] == ["sh", "-c"] and init["args"] == ["nvidia-validator"]
    # Printed around the place of Limits and Requests: it asks for nothing.
    assert init["resources"] == {}
    assert init["env"] == [
        {"name": "WITH_WAIT", "value": "true"},
        {"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
        {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "creds", "key": "token"}}},
    ]
    assert init["volumeMounts"][0] == {"name": "host-root", "mountPath": "/host", "readOnly": True}
    main, sidecar = spec["containers"]
    assert main["resources"] == {"limits": {"nvidia.com/gpu": "1"}, "requests": {"cpu": "100m", "nvidia.com/gpu": "1"}}
    assert main["env"] == [] and sidecar["name"] == "sidecar" and "resources" not in sidecar
    assert status["phase"] == "Pending" and status["startTime"] == "2025-03-05T08:00:00Z"
    (ended,) = status["initContainerStatuses"]
    assert ended["state"] == {"waiting": {"reason": "CrashLoopBackOff"}} and ended["restartCount"] == 6 and ended["ready"] is False
    assert ended["lastState"]["terminated"]["exitCode"] == 128
    assert ended["lastState"]["terminated"]["message"] == (
        "failed to create containerd task: failed to create shim task: OCI runtime create failed\n"
        "nvidia-container-cli: initialization error: load library failed: libnvidia-ml.so.1: cannot open shared object file: no such file or directory: unknown"
    )
    assert status["containerStatuses"][1]["state"] == {"running": {"startedAt": "2025-03-05T08:01:00Z"}}
    assert status["conditions"][-1] == {"type": "PodScheduled", "status": "True"}
    assert [e["reason"] for e in events] == ["Scheduled", "Failed", "BackOff"]
    assert events[1]["involvedObject"] == {"kind": "Pod", "name": "nvidia-operator-validator-x7x7x", "namespace": "gpu-operator"}
    assert events[1]["message"].endswith(
        "OCI runtime create failed nvidia-container-cli: initialization error: load library failed: libnvidia-ml.so.1: unknown"
    )
    assert events[1]["count"] == 6 and events[2]["source"] == {"component": "kubelet", "host": "gpu-a1"}
    assert kt.parse_events(POD, "pod.txt") == events


def test_describe_several_pods():
    text = POD + "\n\n" + POD.replace("x7x7x", "y8y8y")
    pods, events = kt.parse_describe_pods(text, "s")
    assert [p["metadata"]["name"][-5:] for p in pods] == ["x7x7x", "y8y8y"]
    assert [e["involvedObject"]["name"][-5:] for e in events] == ["x7x7x"] * 3 + ["y8y8y"] * 3
    assert all(len(p["spec"]["containers"]) == 2 for p in pods)


@pytest.mark.parametrize(
    "text, expected",
    [
        (
            "Status:       Failed\nReason:       UnexpectedAdmissionError\nMessage:      Pod Allocate failed due to no healthy devices present; cannot allocate unhealthy devices\n nvidia.com/gpu, which is unexpected\n",
            {
                "metadata": {},
                "status": {
                    "phase": "Failed",
                    "reason": "UnexpectedAdmissionError",
                    "message": "Pod Allocate failed due to no healthy devices present; cannot allocate unhealthy devices nvidia.com/gpu, which is unexpected",
                },
            },
        ),
        (
            "Name: p\nNamespace: n\nNode: <none>\nStatus: Pending\n",
            {"metadata": {"name": "p", "namespace": "n"}, "status": {"phase": "Pending"}},
        ),
        ("Name: p\nStatus: Terminating (lasts 5m)\n", {"metadata": {"name": "p"}, "_terminating": True}),
        ("Node-Selectors:  <none>\nTolerations:  <none>\n", {"metadata": {}, "spec": {"nodeSelector": {}, "tolerations": []}}),
        (
            "Tolerations: nvidia.com/gpu:NoSchedule\n",
            {"metadata": {}, "spec": {"tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]}},
        ),
        (
            "    Limits:\n      nvidia.com/gpu:  2\n    Requests:\n      nvidia.com/gpu:  2\n",
            {
                "metadata": {},
                "spec": {"containers": [{"resources": {"limits": {"nvidia.com/gpu": "2"}, "requests": {"nvidia.com/gpu": "2"}}}]},
            },
        ),
        (
            "    Limits:\n      nvidia.com/gpu:  2\n    Limits:\n      cpu:  1\n",
            {
                "metadata": {},
                "spec": {"containers": [{"resources": {"limits": {"nvidia.com/gpu": "2"}}}, {"resources": {"limits": {"cpu": "1"}}}]},
            },
        ),
        # from a container's last lines on
        (
            "    Limits:\n      nvidia.com/gpu:  2\n    Environment:  <none>\nQoS Class:       Burstable\nVolumes:  <none>\n",
            {
                "metadata": {},
                "spec": {"volumes": [], "containers": [{"resources": {"limits": {"nvidia.com/gpu": "2"}}, "env": []}]},
                "status": {"qosClass": "Burstable"},
            },
        ),
        # copied from the middle of a line on
        (
            "State:          Waiting\n      Reason:       CreateContainerError\n    Last State:   Terminated\n      Reason:     Error\n      Exit Code:  1\n    Ready:          False\n    Restart Count:  3\n",
            {
                "metadata": {},
                "spec": {"containers": [{}]},
                "status": {
                    "containerStatuses": [
                        {
                            "state": {"waiting": {"reason": "CreateContainerError"}},
                            "lastState": {"terminated": {"reason": "Error", "exitCode": 1}},
                            "ready": False,
                            "restartCount": 3,
                        }
                    ]
                },
            },
        ),
    ],
)
def test_describe_pod_fragments(text, expected):
    pods, events = kt.parse_describe_pods(text, "s")
    assert clean(pods) == [expected] and events == []


def test_conditions_tell_pods_from_nodes():
    assert kt.parse_describe_pods("Conditions:\n  MemoryPressure  False  KubeletHasSufficientMemory  ok\n", "s") == ([], [])
    assert kt.parse_describe_nodes("Conditions:\n  PodScheduled  False\n", "s") == []


# ---- events -----------------------------------------------------------------------------------------------

SCHED = "0/4 nodes are available: 1 node(s) had untolerated taint {nvidia.com/gpu: present}, 3 Insufficient nvidia.com/gpu."


@pytest.mark.parametrize(
    "text, expected",
    [
        # describe: with header, without, wrapped, padding squeezed, no From (events.k8s.io)
        (
            f"Events:\n  Type     Reason            Age                 From               Message\n  ----     ------            ----                ----               -------\n  Warning  FailedScheduling  4m35s (x39 over 50m)  default-scheduler  {SCHED}\n",
            {
                "type": "Warning",
                "reason": "FailedScheduling",
                "message": SCHED,
                "count": 39,
                "_age": "4m35s",
                "_first_age": "50m",
                "source": {"component": "default-scheduler"},
            },
        ),
        (
            f"  Warning  FailedScheduling  <unknown>  default-scheduler  {SCHED}\n",
            {"type": "Warning", "reason": "FailedScheduling", "message": SCHED, "count": 1, "source": {"component": "default-scheduler"}},
        ),
        (
            f"  Warning  FailedScheduling  10s (x2 over 50s)                     {SCHED}\n",
            {"type": "Warning", "reason": "FailedScheduling", "message": SCHED, "count": 2, "_age": "10s", "_first_age": "50s"},
        ),
        (
            f"Warning FailedScheduling 10s (x2 over 50s) default-scheduler {SCHED}\n",
            {
                "type": "Warning",
                "reason": "FailedScheduling",
                "message": SCHED,
                "count": 2,
                "_age": "10s",
                "_first_age": "50s",
                "source": {"component": "default-scheduler"},
            },
        ),
        (
            '  Warning  FailedCreatePodSandBox  0s (x5 over 49s)  kubelet  Failed to create pod sandbox: rpc error: code = Unknown\n desc = failed to get sandbox runtime: no runtime for "nvidia" is configured\n',
            {
                "type": "Warning",
                "reason": "FailedCreatePodSandBox",
                "message": 'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to get sandbox runtime: no runtime for "nvidia" is configured',
                "count": 5,
                "_age": "0s",
                "_first_age": "49s",
                "source": {"component": "kubelet"},
            },
        ),
        # before 1.7
        (
            "  FirstSeen LastSeen Count From SubObjectPath Type Reason Message\n  2m  1m  3  {kubelet gpu-a1}  spec.containers{main}  Warning  BackOff  Back-off restarting failed container\n",
            {
                "involvedObject": {"fieldPath": "spec.containers{main}"},
                "type": "Warning",
                "reason": "BackOff",
                "message": "Back-off restarting failed container",
                "count": 3,
                "_age": "1m",
                "_first_age": "2m",
                "source": {"component": "{kubelet gpu-a1}"},
            },
        ),
        # get events
        (
            f"LAST SEEN   TYPE      REASON             OBJECT        MESSAGE\n5m          Warning   FailedScheduling   pod/train-0   {SCHED}\n",
            {
                "involvedObject": {"kind": "Pod", "name": "train-0"},
                "type": "Warning",
                "reason": "FailedScheduling",
                "message": SCHED,
                "_age": "5m",
            },
        ),
        (
            f"NAMESPACE   LAST SEEN   TYPE      REASON             OBJECT        MESSAGE\nteam-a      5m          Warning   FailedScheduling   pod/train-0   {SCHED}\n",
            {
                "metadata": {"namespace": "team-a"},
                "involvedObject": {"kind": "Pod", "name": "train-0", "namespace": "team-a"},
                "type": "Warning",
                "reason": "FailedScheduling",
                "message": SCHED,
                "_age": "5m",
            },
        ),
        (
            f"team-a      5m          Warning   FailedScheduling   pod/train-0   {SCHED}\n",
            {
                "metadata": {"namespace": "team-a"},
                "involvedObject": {"kind": "Pod", "name": "train-0", "namespace": "team-a"},
                "type": "Warning",
                "reason": "FailedScheduling",
                "message": SCHED,
                "_age": "5m",
            },
        ),
        # kubectl events
        (
            f"LAST SEEN              TYPE      REASON             OBJECT        MESSAGE\n22s (x4 over 3m)       Warning   FailedScheduling   Pod/train-0   {SCHED}\n",
            {
                "involvedObject": {"kind": "Pod", "name": "train-0"},
                "type": "Warning",
                "reason": "FailedScheduling",
                "message": SCHED,
                "count": 4,
                "_age": "22s",
                "_first_age": "3m",
            },
        ),
        # -o wide
        (
            "LAST SEEN   TYPE     REASON   OBJECT        SUBOBJECT               SOURCE           MESSAGE                 FIRST SEEN   COUNT   NAME\n"
            "5m          Normal   Pulled   pod/train-0   spec.containers{main}   kubelet, gpu-a1  Container image pulled  9m           3       train-0.17a1b2c3d4e5f607\n",
            {
                "metadata": {"name": "train-0.17a1b2c3d4e5f607"},
                "involvedObject": {"kind": "Pod", "name": "train-0", "fieldPath": "spec.containers{main}"},
                "type": "Normal",
                "reason": "Pulled",
                "message": "Container image pulled",
                "count": 3,
                "_age": "5m",
                "_first_age": "9m",
                "source": {"component": "kubelet", "host": "gpu-a1"},
            },
        ),
        # 1.8 to 1.13
        (
            "LAST SEEN   FIRST SEEN   COUNT     NAME                       KIND      SUBOBJECT   TYPE      REASON             SOURCE              MESSAGE\n"
            "1m          9m           12        train-0.15a1b2c3d4e5f607   Pod                   Warning   FailedScheduling   default-scheduler   0/4 nodes are available: 4 Insufficient nvidia.com/gpu.\n",
            {
                "metadata": {"name": "train-0.15a1b2c3d4e5f607"},
                "involvedObject": {"kind": "Pod", "name": "train-0"},
                "type": "Warning",
                "reason": "FailedScheduling",
                "message": "0/4 nodes are available: 4 Insufficient nvidia.com/gpu.",
                "count": 12,
                "_age": "1m",
                "_first_age": "9m",
                "source": {"component": "default-scheduler"},
            },
        ),
        # messages by themselves
        (SCHED, {"type": "Warning", "reason": "FailedScheduling", "message": SCHED}),
        (f"  message: '{SCHED}'\n  reason: Unschedulable\n", {"type": "Warning", "reason": "FailedScheduling", "message": SCHED}),
        (
            f"2024-11-05T11:07:58Z [Warning] {SCHED}\n",
            {"type": "Warning", "reason": "FailedScheduling", "message": SCHED, "lastTimestamp": "2024-11-05T11:07:58Z"},
        ),
        (
            'FailedCreate: Error creating: pods "a-" is forbidden:\n exceeded quota: gpus\n',
            {"type": "Warning", "reason": "FailedCreate", "message": 'Error creating: pods "a-" is forbidden: exceeded quota: gpus'},
        ),
        (
            'Warning FailedMount: MountVolume.SetUp failed for volume "x"\n',
            {"type": "Warning", "reason": "FailedMount", "message": 'MountVolume.SetUp failed for volume "x"'},
        ),
        (
            "Pod Allocate failed due to rpc error: code = Unknown, which is unexpected\n",
            {
                "type": "Warning",
                "reason": "UnexpectedAdmissionError",
                "message": "Pod Allocate failed due to rpc error: code = Unknown, which is unexpected",
            },
        ),
        (
            "no nodes available to schedule pods",
            {"type": "Warning", "reason": "FailedScheduling", "message": "no nodes available to schedule pods"},
        ),
        # the tail of a row
        (
            "                                kubelet            Started container main\n",
            {"reason": "Started", "message": "Started container main", "source": {"component": "kubelet"}},
        ),
    ],
)
def test_events(text, expected):
    (event,) = kt.parse_events(text, "s")
    assert event["kind"] == "Event" and event["_source"] == "s"
    assert clean(event) == {"metadata": {}, "involvedObject": {}, **expected}


def test_no_events():
    assert kt.parse_events("Name:  x\nNamespace:  y\nEvents:  <none>\n", "s") == []
    assert (
        kt.parse_events(
            "Name:  x\nCreationTimestamp:  Fri, 01 Mar 2024 00:00:00 +0000\nLease:\n  RenewTime:  Fri, 01 Mar 2024 00:00:00 +0000\n", "s"
        )
        == []
    )
    assert kt.parse_events("No resources found in default namespace.\n", "s") == []
    assert kt.parse_events("hello world\nmetadata:\n  name: x\n", "s") == []


def test_each_bare_message_is_an_event_of_its_own():
    assert len(kt.parse_events(f"{SCHED}\n{SCHED}\n", "s")) == 2


# ---- tables -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "row, status, phase",
    [
        ("a 0/1 Init:0/1 0 5m", "Init:0/1", "Pending"),
        ("a 0/1 Init:CrashLoopBackOff 7 (2m ago) 5m", "Init:CrashLoopBackOff", "Pending"),
        ("a 0/1 PodInitializing 0 5m", "PodInitializing", "Pending"),
        ("a 0/1 ImagePullBackOff 0 5m", "ImagePullBackOff", "Pending"),
        ("a 1/2 ImagePullBackOff 0 5m", "ImagePullBackOff", "Running"),
        ("a 0/1 ContainerCreating 0 5m", "ContainerCreating", "Pending"),
        ("a 0/1 CrashLoopBackOff 9 5m", "CrashLoopBackOff", "Running"),
        ("a 0/1 RunContainerError 0 5m", "RunContainerError", "Pending"),
        ("a 0/1 RunContainerError 4 5m", "RunContainerError", "Running"),
        ("a 0/1 Completed 0 5m", "Completed", "Succeeded"),
        ("a 0/1 UnexpectedAdmissionError 0 5m", "UnexpectedAdmissionError", "Failed"),
        ("a 0/1 OutOfnvidia.com/gpu 0 5m", "OutOfnvidia.com/gpu", "Failed"),
        ("a 0/1 Evicted 0 5m", "Evicted", "Failed"),
        ("a 0/1 Error 0 5m", "Error", "Failed"),
        ("a 0/1 Error 3 5m", "Error", "Running"),
        ("a 1/1 Running 0 5m", "Running", "Running"),
        ("a 0/1 Pending 0 <invalid>", "Pending", "Pending"),
        ("a 0/1 SchedulingGated 0 5m", "SchedulingGated", "Pending"),
        ("a 1/1 Terminating 0 5m", "Terminating", None),
        ("a 0/1 SomethingNew 0 5m", "SomethingNew", None),
    ],
)
@pytest.mark.parametrize("header", ["", "NAME READY STATUS RESTARTS AGE\n", "NAME   READY   STATUS   RESTARTS   AGE\n"])
def test_pod_rows(header, row, status, phase):
    kind, (pod,) = kt.parse_table(header + row.replace(" ", "   ").replace("m   ago", "m ago") + "\n", "s")
    assert kind == "Pod" == pod["kind"] and pod["metadata"] == {"name": "a"} and pod["_partial"]
    assert pod["_table"]["status"] == status and pod.get("status", {}).get("phase") == phase
    assert isinstance(pod["_table"]["restarts"], int) and pod["_table"]["ready"] == row.split()[1]


PODS_WIDE = d("""
    NAMESPACE      NAME                                   READY   STATUS     RESTARTS        AGE     IP           NODE     NOMINATED NODE   READINESS GATES
    gpu-operator   nvidia-device-plugin-daemonset-2b6rt   0/1     Init:0/1   4 (2m14s ago)   5m1s    10.42.1.9    gpu-a1   <none>           <none>
    team-a         train-0                                0/1     Pending    0               3d20h   <none>       <none>   <none>           <none>
""")


def test_pods_wide():
    kind, pods = kt.parse_table("# kubectl get pods -A -o wide\n" + PODS_WIDE, "s")
    assert kind == "Pod" and len(pods) == 2
    assert pods[0]["metadata"] == {"name": "nvidia-device-plugin-daemonset-2b6rt", "namespace": "gpu-operator"}
    assert pods[0]["_table"] == {
        "ready": "0/1",
        "status": "Init:0/1",
        "age": "5m1s",
        "ip": "10.42.1.9",
        "restarts": 4,
        "last_restart": "2m14s",
        "node": "gpu-a1",
    }
    assert pods[0]["spec"] == {"nodeName": "gpu-a1"}
    assert "spec" not in pods[1] and "node" not in pods[1]["_table"]
    # neither without the header, nor with one space between the columns, nor out of line does it read otherwise
    bare = kt.parse_table("\n".join(PODS_WIDE.splitlines()[1:]), "s")[1]
    assert [p["metadata"] for p in bare] == [p["metadata"] for p in pods]
    assert bare[0]["spec"] == {"nodeName": "gpu-a1"} and bare[0]["_table"] == pods[0]["_table"]
    squeezed = kt.parse_table("\n".join(" ".join(line.split()) for line in PODS_WIDE.splitlines()), "s")
    assert squeezed == ("Pod", pods)
    assert kt.parse_table(PODS_WIDE.replace("nvidia-device-plugin-daemonset-2b6rt", "np"), "s")[1][0]["_table"] == pods[0]["_table"]


@pytest.mark.parametrize(
    "words, status, unschedulable",
    [("Ready", "True", False), ("NotReady", "False", False), ("Ready,SchedulingDisabled", "True", True), ("Unknown", "Unknown", False)],
)
@pytest.mark.parametrize("header", [True, False])
def test_node_rows(header, words, status, unschedulable):
    text = f"gpu-a1   {words}   <none>   41m   v1.29.4\n"
    kind, (node,) = kt.parse_table(("NAME   STATUS   ROLES   AGE   VERSION\n" if header else "") + text, "s")
    assert kind == "Node" and node["metadata"] == {"name": "gpu-a1"}
    assert node["status"] == {"conditions": [{"type": "Ready", "status": status}], "nodeInfo": {"kubeletVersion": "v1.29.4"}}
    assert node["spec"] == {"unschedulable": unschedulable}
    assert node["_table"] == {"status": words, "roles": "<none>", "age": "41m", "version": "v1.29.4"}


@pytest.mark.parametrize("header", [True, False])
def test_nodes_wide(header):
    text = d("""
        NAME     STATUS   ROLES           AGE   VERSION          INTERNAL-IP   EXTERNAL-IP   OS-IMAGE                         KERNEL-VERSION       CONTAINER-RUNTIME
        gpu-a1   Ready    control-plane   26h   v1.32.1+rke2r1   10.0.0.11     <none>        Red Hat CoreOS 418.94 (Plow)     5.14.0-427.el9       cri-o://1.31.5
    """)
    _kind, (node,) = kt.parse_table(text if header else text.split("\n", 1)[1], "s")
    assert node["status"]["nodeInfo"] == {
        "kubeletVersion": "v1.32.1+rke2r1",
        "kernelVersion": "5.14.0-427.el9",
        "osImage": "Red Hat CoreOS 418.94 (Plow)",
        "containerRuntimeVersion": "cri-o://1.31.5",
    }
    assert node["status"]["addresses"] == [{"type": "InternalIP", "address": "10.0.0.11"}]


def test_node_labels():
    text = "NAME     STATUS   ROLES    AGE   VERSION   LABELS\ngpu-a1   Ready    <none>   1d    v1.30.1   a=b,nvidia.com/gpu.present=true\n"
    node = kt.parse_table(text, "s")[1][0]
    assert node["metadata"]["labels"] == {"a": "b", "nvidia.com/gpu.present": "true"} and node["_labels_complete"] is True
    text = d("""
        NAME     STATUS   ROLES    AGE   VERSION   GPU.PRODUCT             GPU.COUNT   ZONE
        gpu-a1   Ready    <none>   1d    v1.30.1   NVIDIA-A100-SXM4-80GB   8           z1
        cpu-a1   Ready    <none>   1d    v1.30.1                                       z1
    """)
    first, second = kt.parse_table(text, "s")[1]
    assert first["metadata"]["labels"] == {
        "nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB",
        "nvidia.com/gpu.count": "8",
        "topology.kubernetes.io/zone": "z1",
    }
    assert first["_labels_complete"] is False and "allocatable" not in first["status"]
    assert second["metadata"]["labels"] == {"topology.kubernetes.io/zone": "z1"}


@pytest.mark.parametrize(
    "text, status",
    [
        ("NODE     GPU\ngpu-a1   8\n", {"allocatable": {"nvidia.com/gpu": "8"}}),
        ("NAME     GPU\ngpu-a1   8\n", {"allocatable": {"nvidia.com/gpu": "8"}}),
        ("NAME     GPU\ngpu-a1   <none>\n", {"allocatable": {"nvidia.com/gpu": "0"}}),
        (
            "NAME     CAPACITY   ALLOCATABLE\ngpu-a1   8          7\n",
            {"capacity": {"nvidia.com/gpu": "8"}, "allocatable": {"nvidia.com/gpu": "7"}},
        ),
        (
            "kubectl get nodes -o custom-columns=NAME:.metadata.name,GPU:.status.capacity.nvidia\\.com/gpu\nNAME     GPU\ngpu-a1   8\n",
            {"capacity": {"nvidia.com/gpu": "8"}},
        ),
        (
            "NAME     ALLOCATABLE\ngpu-a1   map[cpu:8 memory:1Gi pods:110]\n",
            {"allocatable": {"cpu": "8", "memory": "1Gi", "pods": "110"}},
        ),
    ],
)
def test_node_custom_columns(text, status):
    kind, (node,) = kt.parse_table(text, "s")
    assert kind == "Node" and node["status"] == status
    for section, block in status.items():
        assert node[f"_{section}_complete"] is ("memory" in block)


def test_node_taints_column():
    text = "NAME     TAINTS   GPU\ngpu-a1   [map[effect:NoSchedule key:nvidia.com/gpu value:present]]   1\ncpu-a1   <none>   <none>\n"
    first, second = kt.parse_table(text, "s")[1]
    assert first["spec"]["taints"] == [{"effect": "NoSchedule", "key": "nvidia.com/gpu", "value": "present"}]
    assert second["spec"]["taints"] == []


DAEMONSETS = d("""
    NAMESPACE      NAME                             DESIRED   CURRENT   READY   UP-TO-DATE   AVAILABLE   NODE SELECTOR                          AGE
    gpu-operator   nvidia-device-plugin-daemonset   1         1         0       1            0           nvidia.com/gpu.deploy.device-plugin=true   13m
    gpu-operator   nfd-worker                       2         2         2       2            2           <none>                                 13m
""")


@pytest.mark.parametrize("text", [DAEMONSETS, DAEMONSETS.split("\n", 1)[1], DAEMONSETS.replace("NODE SELECTOR", "NODE-SELECTOR")])
def test_daemonsets(text):
    kind, (first, second) = kt.parse_table(text, "s")
    assert kind == "DaemonSet" and first["metadata"] == {"name": "nvidia-device-plugin-daemonset", "namespace": "gpu-operator"}
    assert first["status"] == {
        "desiredNumberScheduled": 1,
        "currentNumberScheduled": 1,
        "numberReady": 0,
        "updatedNumberScheduled": 1,
        "numberAvailable": 0,
    }
    assert first["spec"]["template"]["spec"]["nodeSelector"] == {"nvidia.com/gpu.deploy.device-plugin": "true"}
    assert second["spec"]["template"]["spec"]["nodeSelector"] == {}


@pytest.mark.parametrize(
    "text, kind, name, path, value",
    [
        (
            "NAME   READY   UP-TO-DATE   AVAILABLE   AGE\nop     1/2     2            1           5d\n",
            "Deployment",
            "op",
            ("status", "readyReplicas"),
            1,
        ),
        ("op     1/2     2            1           5d\n", "Deployment", "op", ("spec", "replicas"), 2),
        ("NAME   DESIRED   CURRENT   UP-TO-DATE   AVAILABLE   AGE\nop   2   2   2   1   5d\n", "Deployment", "op", ("spec", "replicas"), 2),
        ("NAME   DESIRED   CURRENT   READY   AGE\nop-1   2   2   1   5d\n", "ReplicaSet", "op-1", ("status", "readyReplicas"), 1),
        ("NAME   READY   AGE\ndb   1/3   5d\n", "StatefulSet", "db", ("spec", "replicas"), 3),
        ("NAME   COMPLETIONS   DURATION   AGE\nj   0/4   5m   5m\n", "Job", "j", ("spec", "completions"), 4),
        ("NAME   STATUS    COMPLETIONS   DURATION   AGE\nj   Running   0/4   5m   5m\n", "Job", "j", ("status", "succeeded"), 0),
        ("NAME     HANDLER   AGE\nnvidia   nvidia    4d\n", "RuntimeClass", "nvidia", ("handler",), "nvidia"),
        ("$ kubectl get runtimeclass\nnvidia   nvidia    4d\n", "RuntimeClass", "nvidia", ("handler",), "nvidia"),
        (
            "NAME             STATUS     AGE\ncluster-policy   notReady   4d\n",
            "ClusterPolicy",
            "cluster-policy",
            ("status", "state"),
            "notReady",
        ),
        (
            "cluster-policy   ready   2025-03-01T10:00:00Z\n",
            "ClusterPolicy",
            "cluster-policy",
            ("metadata", "creationTimestamp"),
            "2025-03-01T10:00:00Z",
        ),
        ("NAME      STATUS   AGE\ndefault   Active   4d\n", "Namespace", "default", ("_table", "status"), "Active"),
        (
            "NAME   NODE   DRIVER   POOL   AGE\ns1   gpu-a1   gpu.nvidia.com   gpu-a1   4d\n",
            "ResourceSlice",
            "s1",
            ("spec", "pool", "name"),
            "gpu-a1",
        ),
        ("NAME   VALUE   GLOBAL-DEFAULT   AGE\nhigh   100   false   4d\n", "PriorityClass", "high", ("_table", "value"), "100"),
        (
            "NAME   CREATED AT\na.nvidia.com   2025-03-01T10:00:00Z\n",
            "CustomResourceDefinition",
            "a.nvidia.com",
            ("_table", "created at"),
            "2025-03-01T10:00:00Z",
        ),
        ("NAME   ADDRESS   PORTS\nx   1.2.3.4   80\n", "Other", "x", ("_table", "ports"), "80"),
    ],
)
def test_other_tables(text, kind, name, path, value):
    found, (obj,) = kt.parse_table(text, "s")
    assert found == kind == obj["kind"] and obj["metadata"]["name"] == name and obj["_partial"]
    for key in path:
        obj = obj[key]
    assert obj == value


def test_get_all_and_several_tables():
    text = d("""
        NAME        READY   STATUS    RESTARTS   AGE
        pod/a       1/1     Running   0          5m

        NAME                    DESIRED   CURRENT   READY   UP-TO-DATE   AVAILABLE   NODE SELECTOR   AGE
        daemonset.apps/plugin   0         0         0       0            0           x=y             5m

        NAME                 READY   UP-TO-DATE   AVAILABLE   AGE
        deployment.apps/op   1/1     1            1           5m
    """)
    kind, objects = kt.parse_table(text, "s")
    assert kind == "Pod"
    assert [(o["kind"], o["metadata"]["name"]) for o in objects] == [("Pod", "a"), ("DaemonSet", "plugin"), ("Deployment", "op")]


@pytest.mark.parametrize(
    "text", ["", "\n", "hello world\n", 'error: the server doesn\'t have a resource type "foo"\n', "No resources found\n", "{}\n"]
)
def test_no_table(text):
    assert kt.parse_table(text, "s") == ("", [])


# ---- objects ----------------------------------------------------------------------------------------------

API_NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "gpu-a1"}, "spec": {}, "status": {"capacity": {"cpu": "8"}}}
API_POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "namespace": "n"},
    "spec": {"containers": []},
    "status": {"phase": "Pending"},
}


@pytest.mark.parametrize("form", ["json", "pretty", "yaml", "prompt", "fence"])
@pytest.mark.parametrize("listed", [False, True, "typed"])
def test_whole_objects(form, listed):
    yaml = pytest.importorskip("yaml")
    value = API_NODE
    if listed is True:
        value = {"apiVersion": "v1", "kind": "List", "items": [API_NODE, API_POD]}
    elif listed == "typed":
        value = {"apiVersion": "v1", "kind": "NodeList", "items": [{k: v for k, v in API_NODE.items() if k not in ("kind", "apiVersion")}]}
    text = yaml.safe_dump(value) if form == "yaml" else json.dumps(value, indent=4 if form != "json" else None)
    text = {"prompt": f"[ops@box ~]$ kubectl get x -o json\n{text}\n[ops@box ~]$ ", "fence": f"```json\n{text}\n```\n"}.get(form, text)
    objects = kt.parse_objects(text, "s")
    assert objects[0] == {**API_NODE, "_source": "s"}
    assert len(objects) == (2 if listed is True else 1)


def test_documents_and_concatenated_json():
    yaml = pytest.importorskip("yaml")
    text = yaml.safe_dump(API_NODE) + "---\n" + yaml.safe_dump(API_POD) + "---\n# nothing\n---\n"
    assert [o["kind"] for o in kt.parse_objects(text, "s")] == ["Node", "Pod"]
    assert [o["kind"] for o in kt.parse_objects(json.dumps(API_NODE) + "\n" + json.dumps(API_POD), "s")] == ["Node", "Pod"]


def test_a_pod_or_node_without_status_is_partial():
    manifest = {k: v for k, v in API_POD.items() if k != "status"}
    assert kt.parse_objects(json.dumps(manifest), "s")[0]["_partial"] is True
    config = {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "x"}, "spec": {}}
    assert "_partial" not in kt.parse_objects(json.dumps(config), "s")[0]


@pytest.mark.parametrize(
    "text, source, kind, path, value",
    [
        ("  taints:\n  - effect: NoSchedule\n    key: k\n", "s", "Node", ("spec", "taints", 0, "key"), "k"),
        ('[{"effect":"NoSchedule","key":"k"}]', "s", "Node", ("spec", "taints", 0, "key"), "k"),
        ('[[{"effect":"NoSchedule","key":"k"}]]', "s", "Node", ("spec", "taints", 0, "key"), "k"),
        ("- key: k\n  operator: Exists\n", "s", "Pod", ("spec", "tolerations", 0, "key"), "k"),
        ("tolerations:\n- operator: Exists\n", "s", "Pod", ("spec", "tolerations", 0, "operator"), "Exists"),
        (
            "resources:\n  limits:\n    nvidia.com/gpu: 1\n",
            "s",
            "Pod",
            ("spec", "containers", 0, "resources", "limits", "nvidia.com/gpu"),
            1,
        ),
        ("limits:\n  nvidia.com/gpu: 1\n", "s", "Pod", ("spec", "containers", 0, "resources", "limits", "nvidia.com/gpu"), 1),
        ("- name: c\n  image: i\n", "s", "Pod", ("spec", "containers", 0, "image"), "i"),
        ("spec:\n  nodeSelector:\n    a: b\n", "s", "Pod", ("spec", "nodeSelector", "a"), "b"),
        ("spec:\n  taints: []\n", "s", "Node", ("spec", "taints"), []),
        ("status:\n  allocatable:\n    cpu: 1\n", "s", "Node", ("status", "allocatable", "cpu"), 1),
        ("allocatable:\n  cpu: 1\n  memory: 1\n  pods: 1\n", "s", "Node", ("_allocatable_complete",), True),
        ('{"cpu":"8","memory":"1Gi","pods":"110"}', "s", "Node", ("status", "allocatable", "pods"), "110"),
        (
            '$ kubectl get node x -o jsonpath={.status.capacity}\n{"cpu":"8","memory":"1Gi","pods":"110"}',
            "s",
            "Node",
            ("status", "capacity", "pods"),
            "110",
        ),
        ("metadata:\n  name: x\n", "kubectl-get-pod-x.yaml", "Pod", ("metadata", "name"), "x"),
        ("metadata:\n  name: x\n  ownerReferences:\n  - kind: DaemonSet\n    name: y\n", "s", "Pod", ("metadata", "name"), "x"),
        ("metadata:\n  labels:\n    kubernetes.io/hostname: x\n", "s", "Node", ("metadata", "labels", "kubernetes.io/hostname"), "x"),
        ("toolkit:\n  enabled: true\ndriver:\n  enabled: false\n", "s", "ClusterPolicy", ("spec", "driver", "enabled"), False),
        ("spec:\n  driver:\n    enabled: false\n", "s", "ClusterPolicy", ("spec", "driver", "enabled"), False),
        (
            "spec:\n  template:\n    spec: {}\nstatus:\n  desiredNumberScheduled: 0\n",
            "s",
            "DaemonSet",
            ("status", "desiredNumberScheduled"),
            0,
        ),
        (
            "status:\n  conditions:\n  - type: MemoryPressure\n    status: 'False'\n",
            "s",
            "Node",
            ("status", "conditions", 0, "type"),
            "MemoryPressure",
        ),
        ("conditions:\n- type: PodScheduled\n  status: 'False'\n", "s", "Pod", ("status", "conditions", 0, "type"), "PodScheduled"),
        ("phase: Failed\nreason: UnexpectedAdmissionError\n", "s", "Pod", ("status", "reason"), "UnexpectedAdmissionError"),
        (
            "metadata:\n  creationTimestamp: 2018-06-07T12:00:00Z\n  labels: {kubernetes.io/hostname: x}\n",
            "s",
            "Node",
            ("metadata", "creationTimestamp"),
            "2018-06-07T12:00:00Z",
        ),
        # lines left out, a cut end
        (
            "spec:\n  taints:\n  - key: k\n    effect: NoSchedule\n...\nstatus:\n  capacity: {cpu: 1}\n",
            "s",
            "Node",
            ("status", "capacity", "cpu"),
            1,
        ),
        ("spec:\n  taints:\n  - key: k\n    effect: NoSchedule\n  foo: [1, 2\n", "s", "Node", ("spec", "taints", 0, "key"), "k"),
    ],
)
def test_fragments_of_objects(text, source, kind, path, value):
    pytest.importorskip("yaml")
    (obj,) = kt.parse_objects(text, source)
    assert obj["kind"] == kind and obj["_partial"] is True and isinstance(obj["metadata"], dict)
    for key in path:
        obj = obj[key]
    assert obj == value


@pytest.mark.parametrize(
    "text",
    [
        "null\n",
        "hello\n",
        "cdiVersion: 0.5.0\nkind: nvidia.com/gpu\ndevices: []\n",
        '{"runtimes":{"nvidia":{"path":"/usr/bin/nvidia-container-runtime"}}}',
        "!!python/object/apply:os.system ['true']\n",
        "a: &a [x]\nb: [" + ", ".join(["*a"] * 51) + "]\nspec: {taints: []}\n",
        "spec: " + "[" * 100 + "]" * 100,
        '{"spec":' + "[" * 100_000,
        '{"a":' * 100_000,
    ],
)
def test_not_objects_or_refused(text):
    assert kt.parse_objects(text, "s") == []


def test_expansion_bomb_is_refused_quickly():
    lines = ["a0: &a0 [x, x, x, x]"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 3)}]" for n in range(1, 17)]
    start = time.monotonic()
    assert kt.parse_objects("\n".join([*lines, "spec: {taints: []}"]), "s") == []
    assert time.monotonic() - start < 20


def test_too_large_is_refused(monkeypatch):
    monkeypatch.setattr(kt, "MAX_YAML", 10)
    assert kt.parse_objects("spec:\n  taints: []\n", "s") == []
    monkeypatch.setattr(kt, "MAX_JSON", 10)
    assert kt.salvage_json('{"kind": "Node"}') == ([], False)


def test_a_cut_document_is_partial():
    pytest.importorskip("yaml")
    text = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: p\nstatus:\n  phase: Pending\n"
    assert "_partial" not in kt.parse_objects(text, "s")[0]
    assert kt.parse_objects(text + "  condit", "s")[0]["_partial"] is True
    assert kt.parse_objects(text.replace("status:", "...\nstatus:"), "s")[0]["_partial"] is True
    items = "kind: List\napiVersion: v1\nitems:\n" + textwrap.indent(text, "  ").replace("  apiVersion", "- apiVersion") * 2
    assert ["_partial" in o for o in kt.parse_objects(items, "s")] == [False, False]
    assert ["_partial" in o for o in kt.parse_objects(items + "    condit", "s")] == [False, True]


def test_salvage_json():
    text = json.dumps({"apiVersion": "v1", "items": [API_NODE, API_POD, API_NODE], "kind": "List"}, indent=2)
    values, complete = kt.salvage_json(text)
    assert complete and values == [API_NODE, API_POD, API_NODE]
    values, complete = kt.salvage_json(text[: text.rindex('"capacity"')])
    assert not complete and values == [API_NODE, API_POD]
    assert [o["kind"] for o in kt.parse_objects(text[: text.rindex('"capacity"')], "s")] == ["Node", "Pod"]
    assert kt.salvage_json("[" + json.dumps(API_NODE) + ", {") == ([API_NODE], False)
    typed = '{"kind": "NodeList", "items": [{"metadata": {"name": "a"}}, {"meta'
    assert kt.salvage_json(typed) == ([{"metadata": {"name": "a"}, "kind": "Node"}], False)
    assert kt.salvage_json("no json") == ([], False)


# ---- merging ----------------------------------------------------------------------------------------------


def test_merge_table_and_describe():
    (described,) = kt.parse_describe_nodes(NODE, "describe.txt")
    (row,) = kt.parse_table("gpu-a1   NotReady,SchedulingDisabled   <none>   41m   v1.31.6\n", "get.txt")[1]
    before = copy.deepcopy([described, row])
    for order in ([described, row], [row, described]):
        (node,) = kt.merge_objects(order)
        assert node["_source"] == "describe.txt" and node["_partial"] is True
        assert node["_table"]["status"] == "NotReady,SchedulingDisabled"
        assert [c["type"] for c in node["status"]["conditions"]].count("Ready") == 1
        assert {c["type"]: c for c in node["status"]["conditions"]}["Ready"]["reason"] == "KubeletNotReady"
        assert node["_capacity_complete"] is True
    assert [described, row] == before


def test_merge_with_a_whole_object():
    fragment = kt.parse_describe_nodes("Name: gpu-a1\nTaints: a:NoSchedule\nAllocatable:\n  nvidia.com/gpu:  1\n", "d")
    whole = kt.parse_objects(json.dumps(API_NODE), "w")
    (node,) = kt.merge_objects([*whole, *fragment])
    # The whole object has a spec without taints: it has none.
    assert "_partial" not in node and node["_source"] == "w" and node["spec"] == {} and node["status"] == API_NODE["status"]
    assert "_capacity_complete" not in node


def test_merge_two_parts():
    parts = kt.parse_describe_nodes("Name: n\nTaints: a:NoSchedule\nName: n\nTaints: b:NoExecute\nCapacity:\n  cpu: 1\n", "d")
    (node,) = kt.merge_objects(parts)
    assert {x["key"] for x in node["spec"]["taints"]} == {"a", "b"} and node["_partial"]


def test_merge_later_of_equals_wins():
    rows = [kt.parse_table(f"gpu-a1   {word}   <none>   41m   v1.31.6\n", word)[1][0] for word in ("NotReady", "Ready")]
    (node,) = kt.merge_objects(rows)
    assert node["_source"] == "Ready" and node["status"]["conditions"] == [{"type": "Ready", "status": "True"}]


def test_merge_pods_with_and_without_namespace():
    (wide, _other) = kt.parse_table(PODS_WIDE, "wide")[1]
    (bare,) = kt.parse_table("nvidia-device-plugin-daemonset-2b6rt  0/1  Init:0/1  4  5m\n", "bare")[1]
    (pod,) = kt.merge_objects([bare, wide])
    assert pod["metadata"]["namespace"] == "gpu-operator" and pod["_table"]["node"] == "gpu-a1"
    twins = [{"kind": "Pod", "metadata": {"name": "x", "namespace": space}} for space in ("a", "b")]
    assert len(kt.merge_objects([*twins, {"kind": "Pod", "metadata": {"name": "x"}}])) == 3


def test_merge_keeps_the_nameless_and_drops_repeated_events():
    nameless = kt.parse_describe_nodes("Taints: <none>\nTaints: <none>\n", "s")
    assert kt.merge_objects(nameless) == nameless
    events = kt.parse_events(POD, "a") + kt.parse_events(POD, "b")
    assert len(kt.merge_objects(events)) == 3


# ---- any text ---------------------------------------------------------------------------------------------

SAMPLES = [
    NODE,
    POD,
    PODS_WIDE,
    DAEMONSETS,
    SCHED,
    json.dumps([API_NODE, API_POD], indent=1),
    "spec:\n  taints:\n  - key: k\n    effect: NoSchedule\n",
]


def read_all(text):
    pods, events = kt.parse_describe_pods(text, "s")
    found = [
        *kt.parse_describe_nodes(text, "s"),
        *pods,
        *events,
        *kt.parse_table(text, "s")[1],
        *kt.parse_events(text, "s"),
        *kt.parse_objects(text, "s"),
    ]
    for obj in found:
        assert isinstance(obj["kind"], str) and isinstance(obj["metadata"], dict) and obj["_source"] == "s"
    merged = kt.merge_objects(found)
    json.dumps(merged)
    return merged


@st.composite
def mutated(draw):
    text = draw(st.sampled_from(SAMPLES))
    for _step in range(draw(st.integers(1, 6))):
        lines = text.split("\n")
        start = draw(st.integers(0, len(lines) - 1))
        end = draw(st.integers(start, min(len(lines), start + 12)))
        how = draw(st.sampled_from(["drop", "cut", "repeat", "dedent", "insert", "squeeze"]))
        if how == "drop":
            lines[start:end] = []
        elif how == "cut":
            lines[start] = lines[start][: draw(st.integers(0, len(lines[start])))]
        elif how == "repeat":
            lines[start:start] = lines[start:end]
        elif how == "dedent":
            lines[start:end] = [line.strip() for line in lines[start:end]]
        elif how == "insert":
            lines.insert(start, draw(st.text(max_size=30)))
        else:
            lines[start:end] = [" ".join(line.split()) for line in lines[start:end]]
        text = "\n".join(lines) or "x"
    return text


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.one_of(mutated(), st.text(max_size=400), st.text(alphabet="{}[]:-\n \"'&*!|>,abNT019/", max_size=200)))
def test_any_text(text):
    assert read_all(text) == read_all(text)


@settings(max_examples=60, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "kind",
                        "metadata",
                        "spec",
                        "status",
                        "items",
                        "containers",
                        "taints",
                        "conditions",
                        "resources",
                        "limits",
                        "name",
                        "labels",
                        "apiVersion",
                        "type",
                        "key",
                        "driver",
                        "capacity",
                        "state",
                        "env",
                    ]
                ),
                inner,
                max_size=5,
            )
        ),
        max_leaves=25,
    )
)
def test_any_object(value):
    read_all(json.dumps(value))


@pytest.mark.parametrize(
    "line",
    [
        "a " * 60_000,
        "Warning  Failed  " + " " * 100_000 + "x",
        "x" * 200_000,
        "a=" * 60_000,
        "Name: " + ":" * 100_000,
        "1/1 " * 50_000,
        "NAME  READY  STATUS  RESTARTS\n" + "- " * 50_000,
        "Taints: " + "a" * 100_000 + ":x",
        "(" * 100_000,
        "5m " * 50_000,
        "[" * 100_000,
        "Limits:\n" + "  a: 1\n" * 20_000,
    ],
    ids=range(12),
)
def test_time_grows_with_the_text_only(line):
    start = time.monotonic()
    read_all(line)
    assert time.monotonic() - start < 10
