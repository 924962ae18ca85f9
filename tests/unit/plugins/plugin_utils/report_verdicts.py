# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors
"""Realistic verdicts for the tests of both renderers, and ways to make them hostile."""

from __future__ import annotations

import copy
import typing as t

from hypothesis import strategies as st

Verdict = dict[str, t.Any]

QUESTIONS = {
    "hardware": "Are the GPUs on the bus, and do they answer?",
    "driver": "Is the kernel module for this kernel loaded, and does it match its user space?",
    "runtime": "Can the container engine hand a GPU to a container?",
    "device_plugin": "Does the plugin run, and does the kubelet know it?",
    "scheduler": "Would the scheduler place a GPU pod here?",
}


def step(layer: str, outcome: str, found: str, means: str = "", read: t.Sequence[str] = ()) -> dict[str, t.Any]:
    return {"layer": layer, "question": QUESTIONS[layer], "read": list(read), "found": found, "means": means, "outcome": outcome}


def quote(source: str, text: str, line: int | None = None, time: str | None = None) -> dict[str, t.Any]:
    return {key: value for key, value in (("source", source), ("text", text), ("line", line), ("time", time)) if value is not None}


NO_IMPACT: dict[str, t.Any] = {
    **dict.fromkeys(("idle_gpus", "since", "since_from", "hours", "price", "cost_per_hour", "cost", "idle_gpu_hours", "gpu_hours_delayed")),
    "gangs": [],
    "notes": [],
}
NO_MEND: dict[str, t.Any] = {
    "by": "none",
    "role": None,
    "summary": "",
    "steps": [],
    "would_change": [],
    "reboot": "never",
    "disrupts": [],
    "never": [],
    "check_first": [],
    "refused_because": [],
}


def verdict(node: str, **keys: t.Any) -> Verdict:
    base: Verdict = {
        "schema": "gpuops.node/diagnosis/v1",
        "node": node,
        "case": "unknown",
        "resource": "nvidia.com/gpu",
        "ready": True,
        "capacity": 8,
        "allocatable": 8,
        "expected": 8,
        "expected_from": "39 healthy twins of instance type p5.48xlarge",
        "split": "",
        "root": {"fault": "healthy", "layer": None, "certainty": "certain", "because": "", "evidence": []},
        "contributing": [],
        "walk": [],
        "mend": copy.deepcopy(NO_MEND),
        "collect_next": [],
        "latent": [],
        "impact": copy.deepcopy(NO_IMPACT),
        "next": [],
        "sources": [],
        "problems": [],
    }
    assert keys.keys() <= base.keys()
    return {**base, **copy.deepcopy(keys)}


def kernel_moved(node: str = "gpu-17") -> Verdict:
    return verdict(
        node,
        case="A",
        capacity=0,
        allocatable=0,
        split="The node is Ready (heartbeat 2026-03-12 07:04 UTC) and advertises none of its 8 GPUs, so layers 1 to 4 are walked.",
        root={
            "fault": "driver_not_built_for_kernel",
            "layer": "driver",
            "certainty": "certain",
            "because": (
                "The node booted into 5.15.0-119-generic at 00:04; DKMS has nvidia 550.90.07 for 5.15.0-117-generic only, "
                "and no module for the running kernel exists on disk"
            ),
            "evidence": [
                quote("host/uname.txt", f"Linux {node} 5.15.0-119-generic #129-Ubuntu SMP x86_64 GNU/Linux", 1),
                quote("host/dkms-status.txt", "nvidia/550.90.07, 5.15.0-117-generic, x86_64: installed", 1),
                quote("host/modinfo-nvidia.txt", "modinfo: ERROR: Module nvidia not found.", 1),
                quote("host/apt-history.log", "Commandline: /usr/bin/unattended-upgrade", 112, "2026-03-11T23:51:07Z"),
            ],
        },
        contributing=[
            {
                "fault": "plugin_blocked_by_validation",
                "layer": "device_plugin",
                "because": "the plugin's init container waits for the driver validation; it goes when the driver is back",
                "evidence": [quote("api/pods.json", "nvidia-device-plugin-daemonset-x7k2p Init:0/1")],
            }
        ],
        walk=[
            step("hardware", "ok", "8 of 8 H100 on the bus, no Xid since boot", "The silicon is fine", ["lspci -nn -d 10de:", "dmesg"]),
            step(
                "driver",
                "fault",
                "The running kernel is 5.15.0-119-generic; the nvidia module was built for 5.15.0-117-generic only",
                "No module can load, so nothing above can work",
                ["uname -r", "dkms status", "modinfo nvidia", "ls /lib/modules", "/var/log/apt/history.log"],
            ),
            step("runtime", "skipped", "Nothing to judge: every symptom here follows from the missing driver"),
            step("device_plugin", "skipped", "Nothing to judge: the plugin waits for the driver"),
            step("scheduler", "skipped", "The pods are refused because the node advertises 0 GPUs"),
        ],
        mend={
            "by": "driver_rebuild",
            "role": "gpuops.node.driver_rebuild",
            "summary": "install the headers of 5.15.0-119-generic, build nvidia 550.90.07 for it, load it",
            "steps": [
                "Install linux-headers-5.15.0-119-generic.",
                "dkms install nvidia/550.90.07 -k 5.15.0-119-generic, then modprobe nvidia nvidia_uvm nvidia_modeset.",
                "Delete this node's validator pod, so that the operator validates again and starts the plugin.",
            ],
            "would_change": [
                {"kind": "package", "what": "linux-headers-5.15.0-119-generic", "how": "install"},
                {"kind": "module", "what": "nvidia 550.90.07", "how": "build and load"},
                {"kind": "pod", "what": "gpu-operator/nvidia-operator-validator-q8d5r", "how": "delete"},
            ],
            "reboot": "never",
            "disrupts": [],
            "never": [],
            "check_first": [],
            "refused_because": [],
        },
        latent=[
            {
                "what": "The next kernel update does the same again",
                "because": "linux-image-generic is not held, and unattended-upgrades installs kernels at night",
                "evidence": [quote("host/dpkg.txt", "ii  linux-image-generic  5.15.0.119.119  amd64", 41)],
            }
        ],
        impact={
            "idle_gpus": 8,
            "since": "2026-03-12T00:04:00Z",
            "since_from": "boot time, host/uptime.txt",
            "hours": 7.0,
            "price": 2.5,
            "cost_per_hour": 20.0,
            "cost": 140.0,
            "idle_gpu_hours": 56.0,
            "gangs": [{"name": "research/llm-70b", "gpus": 64, "hours": 7.0, "gpu_hours_delayed": 448.0, "pod_count": 8}],
            "gpu_hours_delayed": 448.0,
            "notes": [],
        },
        next=[
            f"ansible-playbook playbooks/remediate.yml -l {node} --check --diff",
            f"ansible-playbook playbooks/remediate.yml -l {node}",
        ],
        sources=[
            {"path": "host/uname.txt", "kind": "uname", "outcome": "seen", "used": True},
            {"path": "host/dkms-status.txt", "kind": "dkms_status", "outcome": "seen", "used": True},
            {"path": "host/notes.bin", "kind": "unrecognised", "outcome": "seen", "used": False},
        ],
        problems=[{"path": "host/notes.bin", "text": "host/notes.bin was not recognised and is not judged.", "level": "note"}],
    )


def one_gpu_lost(node: str = "gpu-09") -> Verdict:
    return verdict(
        node,
        case="A",
        capacity=8,
        allocatable=7,
        split="Capacity 8, allocatable 7, node Ready: one device is marked unhealthy.",
        root={
            "fault": "gpu_fallen_off_bus",
            "layer": "hardware",
            "certainty": "certain",
            "because": "The kernel reports Xid 79 for 0000:9b:00; the plugin marked that GPU unhealthy two seconds later",
            "evidence": [
                quote(
                    "host/dmesg.txt",
                    "[381211.914527] NVRM: Xid (PCI:0000:9b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
                    2214,
                    "2026-03-12T03:41:18Z",
                ),
                quote(
                    "logs/nvidia-device-plugin.log",
                    "'nvidia.com/gpu' device marked unhealthy: GPU-3a1c9a52-1f0e-9d4c-7a9f-2f6a7e1b8c11",
                    88,
                    "2026-03-12T03:41:20Z",
                ),
            ],
        },
        walk=[
            step("hardware", "fault", "Xid 79 on 0000:9b:00", "That GPU no longer answers", ["dmesg", "lspci -nn -d 10de:"]),
            step("driver", "ok", "Loaded 550.90.07 equals user space 550.90.07", "", ["/proc/driver/nvidia/version", "nvidia-smi"]),
            step("runtime", "ok", "The nvidia handler is configured and the engine runs with it", "", ["/etc/containerd/config.toml"]),
            step(
                "device_plugin",
                "ok",
                "Registered; 1 of 8 devices marked unhealthy",
                "It reports what it sees",
                ["plugin log", "kubelet log"],
            ),
            step("scheduler", "skipped", "7 GPUs can be scheduled; the eighth is missing below"),
        ],
        mend={
            **NO_MEND,
            "by": "advise",
            "summary": "drain the node and power-cycle it; if Xid 79 returns on the same address, replace the GPU",
            "steps": [
                "Cordon and drain the node.",
                "Power-cycle it (a warm reboot often does not bring the GPU back).",
                "Run a diagnosis again.",
            ],
            "reboot": "yes",
            "disrupts": ["7 GPUs in use by 2 pods: team-a/train-0, team-b/notebook-1"],
            "never": [],
            "check_first": [],
            "refused_because": ["the hardware's owner decides about a power cycle; no role does it"],
        },
        impact={
            **NO_IMPACT,
            "idle_gpus": 1,
            "since": "2026-03-12T03:41:18Z",
            "since_from": "first Xid 79, host/dmesg.txt",
            "hours": 3.38,
            "idle_gpu_hours": 3.38,
        },
        next=["kubectl cordon gpu-09", "nvidia-smi -q -i 9b:00.0"],
    )


def tainted(node: str = "gpu-21") -> Verdict:
    return verdict(
        node,
        case="B",
        split="Capacity 8, allocatable 8, expected 8, node Ready (heartbeat 2026-03-12 07:03 UTC): layers 1 to 3 are not read.",
        root={
            "fault": "taint_not_tolerated",
            "layer": "scheduler",
            "certainty": "certain",
            "because": (
                "The node carries team=research:NoSchedule and 11 healthy twins carry it too, so it is policy; the pod does not tolerate it"
            ),
            "evidence": [
                quote(f"Node/{node}", "spec.taints: team=research:NoSchedule"),
                quote("Pod/team-a/train-0", "spec.tolerations: nvidia.com/gpu:NoSchedule, node.kubernetes.io/not-ready:NoExecute"),
            ],
        },
        walk=[
            step("hardware", "skipped", "All GPUs are allocatable and the node is Ready; the host was not contacted"),
            step("driver", "skipped", "All GPUs are allocatable and the node is Ready; the host was not contacted"),
            step("runtime", "skipped", "All GPUs are allocatable and the node is Ready; the host was not contacted"),
            step("device_plugin", "ok", "8 of 8 GPUs registered", "", [f"Node/{node}"]),
            step(
                "scheduler",
                "fault",
                "team=research:NoSchedule is not tolerated; everything else of team-a/train-0 fits (8 of 8 GPUs free)",
                "The scheduler must refuse",
                [f"Node/{node}", "Pod/team-a/train-0", "events"],
            ),
        ],
        mend={
            **NO_MEND,
            "by": "advise",
            "summary": "the owner of team-a/train-0 adds a toleration, or asks for a node of another pool",
            "steps": ["Ask who owns the pool whether team-a may use it.", "If so, add the toleration to the pod's template."],
            "refused_because": ["the taint is policy: it must not be removed to let one pod in"],
        },
        impact={**NO_IMPACT, "idle_gpus": 8, "notes": ["the GPUs are free for pods that tolerate the taint"]},
        next=[
            "kubectl -n team-a patch job train --type=json -p "
            '\'[{"op":"add","path":"/spec/template/spec/tolerations/-","value":{"key":"team","value":"research","effect":"NoSchedule"}}]\''
        ],
    )


def undetermined(node: str = "gpu-30") -> Verdict:
    return verdict(
        node,
        case="A",
        ready=None,
        capacity=None,
        allocatable=0,
        expected=None,
        expected_from=None,
        split="Only the pod list and one log were given; the node advertises no GPU as far as the events say.",
        root={
            "fault": "undetermined",
            "layer": "driver",
            "certainty": "possible",
            "because": "nvidia-smi cannot talk to the driver, which every fault of the driver layer says; nothing shows which",
            "evidence": [
                quote(
                    "logs/driver-validation.log",
                    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. "
                    "Make sure that the latest NVIDIA driver is installed and running.",
                    3,
                )
            ],
        },
        walk=[
            step("hardware", "unknown", "Nothing of the bus was collected"),
            step("driver", "unknown", "nvidia-smi fails", "A symptom: the fault is here or below", ["driver-validation log"]),
            step("runtime", "unknown", "Not decided while the driver is not"),
            step("device_plugin", "skipped", "It waits for the driver"),
            step("scheduler", "skipped", "Nothing is advertised"),
        ],
        mend={**NO_MEND, "refused_because": ["no cause is proven, so nothing may be changed"]},
        collect_next=[
            {
                "what": "the kernel log of this boot, driver lines",
                "command": "dmesg -T | grep -iE 'nvrm|nvidia|nouveau|xid' > dmesg.txt",
                "why": "it tells a module that never loaded from one whose GPU does not start",
            },
            {
                "what": "the kernel that runs and what DKMS built",
                "command": "uname -r; dkms status",
                "why": "a kernel that moved is the usual cause",
            },
        ],
        problems=[
            *(
                {"path": f"junk/{i:03}.core", "text": f"junk/{i:03}.core was not recognised and is not judged.", "level": "note"}
                for i in range(212)
            ),
            {
                "path": "nodes.json",
                "text": "nodes.json ends in the middle of an object; the 3 objects before that were read. Collect it again.",
                "level": "warning",
            },
        ],
    )


def healthy(node: str = "gpu-03") -> Verdict:
    skipped = "All GPUs are allocatable and the node is Ready; the host was not contacted"
    return verdict(
        node,
        case="healthy",
        split="Capacity 8, allocatable 8, expected 8, node Ready (heartbeat 2026-03-12 07:04 UTC).",
        walk=[
            step("hardware", "skipped", skipped),
            step("driver", "skipped", skipped),
            step("runtime", "skipped", skipped),
            step("device_plugin", "ok", "8 of 8 GPUs registered", "", [f"Node/{node}"]),
            step("scheduler", "ok", "No taint, no cordon, no pod refused", "", [f"Node/{node}"]),
        ],
        impact={**NO_IMPACT, "idle_gpus": 0},
    )


def fleet() -> list[Verdict]:
    """40 nodes, three causes, one of them with a gang that waits for all its nodes."""
    moved = [kernel_moved(f"gpu-{i:02}") for i in (4, 11, 17, 18, 25)]
    moved[3]["root"]["certainty"] = "likely"
    sick = [*moved, tainted("gpu-21"), tainted("gpu-22"), one_gpu_lost("gpu-09")]
    names = {item["node"] for item in sick}
    out = sick + [healthy(f"gpu-{i:02}") for i in range(40) if f"gpu-{i:02}" not in names]
    out[-1]["latent"] = [{"what": "The kernel to be booted next has no nvidia module", "because": "", "evidence": []}]
    return out


ONE = {
    "kernel_moved": kernel_moved,
    "one_gpu_lost": one_gpu_lost,
    "tainted": tainted,
    "undetermined": undetermined,
    "healthy": healthy,
}
RUN = {
    "origin": "captures/gpu-17",
    "form": "gpuops",
    "taken": "2026-03-12T07:04:00Z",
    "now": "2026-03-12T07:04:00Z",
    "price": 2.5,
    "version": "1.0.0",
}

ODD_CHARACTERS = "\x1b\x9b\x07\r\n\t\0\u202e\u2066\u200b\ufeff\u0301\u4e16\u05d0<>&\"'`{}\\ "
ODD_TEXTS = (
    *("</script><script>alert(1)</script>", "{{ 7*7 }}", "{% raw %}", "'\" onload=x", "x" * 900, "\x1b[31m" * 50, " ", "\u0301" * 300),
)
NASTY = st.text(st.one_of(st.characters(), st.sampled_from(ODD_CHARACTERS)), max_size=60) | st.sampled_from(ODD_TEXTS)
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | NASTY,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NASTY, inner, max_size=3),
    max_leaves=6,
)


def places(value: t.Any, path: tuple[t.Any, ...] = ()) -> t.Iterator[tuple[t.Any, ...]]:
    """Every place in a verdict that holds something."""
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*path, key))


def planted(name: str, plants: dict[tuple[t.Any, ...], t.Any]) -> dict[str, t.Any]:
    verdict = ONE[name]()
    for path, value in sorted(plants.items(), key=lambda item: -len(item[0])):
        target = verdict
        for key in path[:-1]:
            target = target[key]
        target[path[-1]] = value
    return verdict


@st.composite
def hostile(draw: st.DrawFn, content: st.SearchStrategy[t.Any] = ANY_JSON) -> dict[str, t.Any]:
    """A verdict with foreign content anywhere."""
    name = draw(st.sampled_from(sorted(ONE)))
    spots = list(places({**ONE[name](), "problems": ONE[name]()["problems"][:2]}))
    chosen = draw(st.lists(st.sampled_from(spots), min_size=1, max_size=6, unique=True))
    return planted(name, {path: draw(content) for path in chosen})
