# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors
"""Writes the bundled sample captures (tests/cases/samples) in our own capture format.

The committed files are what this program writes: names, ids and times come from the tables here and from hashes of
names, never from the clock or from chance, so a test can compare.

    make_samples.py            write all samples below tests/cases/samples
    make_samples.py --check    write nothing; name the files that differ, exit status 1 if any does
    make_samples.py --out DIR  write elsewhere
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import pathlib
import shutil
import sys
import typing as t

HERE = pathlib.Path(__file__).resolve().parent
SAMPLES_DIR = HERE.parent / "cases" / "samples"
if str(HERE) not in sys.path:
    sys.path.insert(0, str(HERE))

import sample_parts as p  # noqa: E402
from sample_parts import Box, Capture, Machine, Obj, Stack  # noqa: E402

LINUX_122 = (
    "Linux version 5.15.0-122-generic (buildd@lcy02-amd64-034) (gcc (Ubuntu 11.4.0-1ubuntu1~22.04) 11.4.0, "
    "GNU ld (GNU Binutils for Ubuntu) 2.38) "
    "#132-Ubuntu SMP Thu Aug 29 13:45:52 UTC 2024 (Ubuntu 5.15.0-122.132-generic 5.15.163)"
)
LINUX_119 = (
    LINUX_122.replace("-122", "-119")
    .replace("#132-Ubuntu SMP Thu Aug 29 13:45:52", "#129-Ubuntu SMP Fri Aug 2 19:25:20")
    .replace(".132-", ".129-")
)
GCC_2204 = "gcc version 11.4.0 (Ubuntu 11.4.0-1ubuntu1~22.04)"
BUILT_550 = "Fri May 31 09:35:42 UTC 2024"
NVIDIA_MODULES = "nvidiafb, nouveau, nvidia_drm, nvidia"
NVIDIA_BIN = "/usr/local/nvidia/toolkit/nvidia-container-runtime"
OPERATOR_TOOLKIT_CONFIG = "/usr/local/nvidia/toolkit/.config/nvidia-container-runtime/config.toml"
PROC_VERSION = "/proc/driver/nvidia/version"
CHECKPOINT = "/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint"
OS_RELEASE_2204 = """PRETTY_NAME="Ubuntu 22.04.5 LTS"
NAME="Ubuntu"
VERSION_ID="22.04"
VERSION="22.04.5 LTS (Jammy Jellyfish)"
ID=ubuntu
ID_LIKE=debian
"""

APP_XID = (
    "[604812.330115] NVRM: GPU at PCI:0000:{bus}:00: {uuid}\n"
    "[604812.330120] NVRM: Xid (PCI:0000:{bus}:00): 13, pid=1204417, name=python3, Graphics SM Warp Exception on (GPC 2, TPC 0, SM 1): "
    "Out Of Range Address\n"
    "[604812.331002] NVRM: Xid (PCI:0000:{bus}:00): 43, pid=1204417, name=python3, Ch 00000008\n"
)


def worker(name: str, namespace: str, on: str | None, gpus: int, *, owner: tuple[str, str], image: str, created: str, **more: t.Any) -> Obj:
    """A pod that asks for whole GPUs (or another resource by name)."""
    resource = more.pop("resource", "nvidia.com/gpu")
    limits = (("cpu", str(gpus * 12)), ("memory", f"{gpus * 100}Gi"), (resource, str(gpus)))
    tolerations = [p.GPU_TOLERATION, *p.POD_TOLERATIONS]
    return p.pod(name, namespace, on, [Box("main", image, limits=limits)], owner=owner, created=created, tolerations=tolerations, **more)


def system_pods(names: t.Iterable[str], created: str, *, cni: str = "calico-node", version: str = "v1.33.1") -> list[Obj]:
    out = []
    for on in names:
        for daemon, image in (
            ("kube-proxy", f"registry.k8s.io/kube-proxy:{version}"),
            (cni, f"docker.io/{cni.split('-')[0]}/node:v3.29.3"),
        ):
            box = Box(daemon, image)
            labels = {"k8s-app": daemon}
            tolerations = [{"operator": "Exists"}]
            out.append(
                p.pod(
                    f"{daemon}-{p.suffix(daemon, on)}",
                    "kube-system",
                    on,
                    [box],
                    created=created,
                    owner=("DaemonSet", daemon),
                    labels=labels,
                    tolerations=tolerations,
                )
            )
    return out


# ---------------------------------------------------------------------------------------------------------------------
# the bundled story: the overnight kernel update on gpu-17


def overnight_kernel_update() -> Capture:
    """Forty nodes of eight H100. At 02:13 unattended-upgrades installs kernel 5.15.0-122 with its headers on gpu-17;
    /etc/dkms/no-autoinstall, left from the making of the image, keeps dkms from building. Reboot into it at 02:31.
    Seven hours later a gang of 64 GPUs still waits: 56 are free elsewhere."""
    created, booted, sick = "2025-06-12T09:31:00Z", "2025-06-12T02:31:00Z", "gpu-17"
    stack = Stack()
    torch, serve = "registry.corp.example/research/pretrain:2025.05", "docker.io/vllm/vllm-openai:v0.8.5"
    machine = Machine(
        p.H100,
        "5.15.0-119-generic",
        "Ubuntu 22.04.5 LTS",
        "ubuntu",
        "22.04",
        "v1.33.1",
        "containerd://1.7.27",
        "2025-02-11T09:12:41Z",
        instance_type="hgx-h100-8",
        images=(*stack.images, torch, serve),
    )
    names = [f"gpu-{i}" for i in range(1, 41)]
    free = {f"gpu-{i}" for i in (5, 9, 14, 22, 28, 33, 39)}
    capture = Capture("overnight-kernel-update", created, nodes=names)
    operands_since = "2025-05-06T10:02:11Z"
    for index, name in enumerate(names):
        labels = p.operator_labels(
            "pre-installed",
            **p.gfd_labels(machine, "550.90.07", "12.4", count=8),
            **{"topology.kubernetes.io/zone": f"row-{index // 10 + 1}"},
        )
        down = name == sick
        since = "2025-06-12T02:32:04Z" if down else p.plus("2025-05-06T10:00:00Z", 37 * index)
        heartbeat = p.plus(created, -(11 + 7 * index) % 290 - 300)
        kernel = "5.15.0-122-generic" if down else machine.kernel
        capture.add(
            "nodes", p.node(name, machine, gpus=(0, 0) if down else (8, 8), heartbeat=heartbeat, since=since, labels=labels, kernel=kernel)
        )
        capture.add("pods", p.nfd_worker(stack, name, operands_since))
        for operand in p.OPERANDS:
            capture.add("pods", p.operand_pod(operand, name, stack, operands_since, started=p.plus(booted, 66) if down else "", stuck=down))
    capture.add("pods", *p.operator_pods(stack, operands_since, "gpu-2"), *system_pods(names, "2025-02-11T09:13:20Z"))
    capture.add("pods", *overnight_workloads([n for n in names if n not in free and n != sick], torch, serve))
    capture.add(
        "daemonsets",
        *p.operator_daemonsets(stack, "2025-02-11T10:20:03Z", nodes=40, ready=39, driver="nvcr.io/nvidia/driver:550.90.07-ubuntu22.04"),
    )
    for daemonset in capture.lists["daemonsets"]:
        if daemonset["metadata"]["name"].endswith("worker"):
            daemonset["status"].update(numberReady=40, numberAvailable=40, numberUnavailable=0)
    capture.add("runtimeclasses", p.runtime_class("nvidia", "2025-02-11T10:20:04Z"))
    states = ("state-container-toolkit", "state-operator-validation", "state-device-plugin", "state-dcgm-exporter", "gpu-feature-discovery")
    waiting = f"ClusterPolicy is not ready, states not ready: [{' '.join(states)}]"
    capture.add("clusterpolicies", p.cluster_policy("2025-02-11T10:20:01Z", ready=False, since="2025-06-12T02:32:20Z", message=waiting))
    overnight_gang(capture, torch)
    overnight_host(capture, sick, created, booted)
    overnight_logs(capture, sick, booted, operands_since, states)
    return capture


def overnight_workloads(full: list[str], torch: str, serve: str) -> list[Obj]:
    """Thirty-two nodes whose eight GPUs are all taken."""
    out = []
    for index, name in enumerate(full):
        if index < 16:
            job = "vision-moe-worker-0"
            labels = {"batch.kubernetes.io/job-name": job, "jobset.sigs.k8s.io/jobset-name": "vision-moe"}
            out.append(
                worker(
                    f"{job}-{index}-{p.suffix(job, index)}",
                    "research",
                    name,
                    8,
                    owner=("Job", job),
                    image=torch,
                    created="2025-06-10T16:20:44Z",
                    labels=labels,
                )
            )
        elif index < 26:
            replica = "llm-serve-7c9d5b6f48"
            for copy in range(2):
                pod_name = f"{replica}-{p.suffix(replica, index, copy)}"
                out.append(
                    worker(
                        pod_name,
                        "inference",
                        name,
                        4,
                        owner=("ReplicaSet", replica),
                        image=serve,
                        created="2025-05-28T07:41:09Z",
                        labels={"app": "llm-serve"},
                    )
                )
        elif index < 30:
            job = f"eval-sweep-{index - 26}"
            out.append(
                worker(f"{job}-{p.suffix(job)}", "research", name, 8, owner=("Job", job), image=torch, created="2025-06-11T21:05:30Z")
            )
        else:
            for copy in range(8):
                claim = f"notebook-{(index - 30) * 8 + copy:02d}"
                out.append(
                    worker(f"{claim}-0", "notebooks", name, 1, owner=("StatefulSet", claim), image=torch, created="2025-06-09T08:00:15Z")
                )
    return out


def overnight_gang(capture: Capture, image: str) -> None:
    """Eight pods of eight GPUs that start together or not at all, and one deployment bound to gpu-17's local disk."""
    created, ns, name = "2025-06-12T02:31:00Z", "research", "llm-pretrain"
    last = "2025-06-12T09:30:51Z"
    gang = "pod group is not ready, 8 Pending, 8 minAvailable; Pending: 7 Schedulable, 1 Unschedulable"
    alone = "0/40 nodes are unavailable: 40 Insufficient nvidia.com/gpu."
    job = f"{name}-worker-0"
    for index in range(8):
        said = alone if index == 7 else gang
        labels = {
            "batch.kubernetes.io/job-completion-index": str(index),
            "batch.kubernetes.io/job-name": job,
            "jobset.sigs.k8s.io/jobset-name": name,
            "jobset.sigs.k8s.io/replicatedjob-name": "worker",
        }
        annotations = {"scheduling.k8s.io/group-name": name, "jobset.sigs.k8s.io/jobset-name": name}
        pod_name = f"{job}-{index}-{p.suffix(job, index)}"
        capture.add(
            "pods",
            worker(
                pod_name,
                ns,
                None,
                8,
                owner=("Job", job),
                image=image,
                created=created,
                labels=labels,
                annotations=annotations,
                scheduler="volcano",
                message=said,
            ),
        )
        capture.add(
            "events",
            p.event("Pod", pod_name, ns, "FailedScheduling", said, first=p.plus(created, 2), last=last, count=419, source="volcano"),
        )
    unschedulable = f"1/8 tasks in gang unschedulable: {gang}"
    condition = {
        "lastTransitionTime": p.plus(created, 2),
        "message": unschedulable,
        "reason": "NotEnoughResources",
        "status": "True",
        "type": "Unschedulable",
    }
    meta = {"creationTimestamp": created, "name": name, "namespace": ns}
    capture.add(
        "podgroups",
        {
            "apiVersion": "scheduling.volcano.sh/v1beta1",
            "kind": "PodGroup",
            "metadata": {**meta, "uid": p.uid("PodGroup", name)},
            "spec": {"minMember": 8, "minResources": {"nvidia.com/gpu": "64"}, "queue": "research"},
            "status": {"conditions": [condition], "phase": "Inqueue"},
        },
    )
    capture.add(
        "events",
        p.event("PodGroup", name, ns, "Unschedulable", unschedulable, first=p.plus(created, 2), last=last, count=419, source="volcano"),
    )
    limits = {"cpu": "96", "memory": "800Gi", "nvidia.com/gpu": "8"}
    template = {
        "spec": {
            "containers": [{"image": image, "name": "main", "resources": {"limits": limits}}],
            "restartPolicy": "Never",
            "schedulerName": "volcano",
        }
    }
    job_spec = {"backoffLimit": 0, "completionMode": "Indexed", "completions": 8, "parallelism": 8, "template": template}
    capture.add(
        "jobsets",
        {
            "apiVersion": "jobset.x-k8s.io/v1alpha2",
            "kind": "JobSet",
            "metadata": {**meta, "uid": p.uid("JobSet", name)},
            "spec": {"replicatedJobs": [{"name": "worker", "replicas": 1, "template": {"spec": job_spec}}], "suspend": False},
            "status": {
                "replicatedJobsStatus": [{"active": 1, "failed": 0, "name": "worker", "ready": 0, "succeeded": 0, "suspended": 0}],
                "restarts": 0,
            },
        },
    )
    replica = "rag-index-6d9c5d7b8f"
    pinned = f"{replica}-{p.suffix(replica)}"
    said = (
        "0/40 nodes are available: 1 Insufficient nvidia.com/gpu, 39 node(s) didn't match Pod's node affinity/selector. "
        "preemption: 0/40 nodes are available: 1 No preemption victims found for incoming pod, 39 Preemption is not helpful for scheduling."
    )
    local_disk = {"kubernetes.io/hostname": "gpu-17"}
    capture.add(
        "pods",
        worker(
            pinned,
            "inference",
            None,
            2,
            owner=("ReplicaSet", replica),
            image=image,
            created="2025-06-12T02:36:40Z",
            selector=local_disk,
            message=said,
        ),
    )
    first = "2025-06-12T02:36:41Z"
    capture.add(
        "events",
        p.event(
            "Pod",
            pinned,
            "inference",
            "FailedScheduling",
            said,
            first=first,
            last="2025-06-12T09:27:18Z",
            count=83,
            source="default-scheduler",
        ),
    )


KERNEL_PACKAGES = (
    "linux-headers-5.15.0-122",
    "linux-headers-5.15.0-122-generic",
    "linux-image-5.15.0-122-generic",
    "linux-modules-5.15.0-122-generic",
)

APT_HISTORY = """
Start-Date: 2025-05-06  09:31:40
Commandline: apt-get install -y nvidia-driver-550-server=550.90.07-0ubuntu0.22.04.1
Upgrade: nvidia-dkms-550-server:amd64 (550.54.15-0ubuntu0.22.04.1, 550.90.07-0ubuntu0.22.04.1), nvidia-utils-550-server:amd64 \
(550.54.15-0ubuntu0.22.04.1, 550.90.07-0ubuntu0.22.04.1), \
libnvidia-compute-550-server:amd64 (550.54.15-0ubuntu0.22.04.1, 550.90.07-0ubuntu0.22.04.1)
End-Date: 2025-05-06  09:36:12

Start-Date: 2025-06-12  02:13:04
Commandline: /usr/bin/unattended-upgrade
Install: linux-headers-5.15.0-122:amd64 (5.15.0-122.132, automatic), linux-headers-5.15.0-122-generic:amd64 (5.15.0-122.132, automatic), \
linux-modules-5.15.0-122-generic:amd64 (5.15.0-122.132, automatic), linux-image-5.15.0-122-generic:amd64 (5.15.0-122.132, automatic)
Upgrade: linux-headers-generic:amd64 (5.15.0.119.119, 5.15.0.122.122), linux-image-generic:amd64 (5.15.0.119.119, 5.15.0.122.122), \
linux-generic:amd64 (5.15.0.119.119, 5.15.0.122.122)
End-Date: 2025-06-12  02:14:27
"""

APT_TERM = """Log started: 2025-06-12  02:13:04
Selecting previously unselected package linux-headers-5.15.0-122.
Selecting previously unselected package linux-headers-5.15.0-122-generic.
Selecting previously unselected package linux-modules-5.15.0-122-generic.
Selecting previously unselected package linux-image-5.15.0-122-generic.
Setting up linux-headers-5.15.0-122 (5.15.0-122.132) ...
Setting up linux-headers-5.15.0-122-generic (5.15.0-122.132) ...
/etc/kernel/header_postinst.d/dkms:
 * dkms: autoinstall for dkms modules has been disabled
Setting up linux-modules-5.15.0-122-generic (5.15.0-122.132) ...
Setting up linux-image-5.15.0-122-generic (5.15.0-122.132) ...
I: /boot/vmlinuz.old is now a symlink to vmlinuz-5.15.0-119-generic
I: /boot/initrd.img.old is now a symlink to initrd.img-5.15.0-119-generic
I: /boot/vmlinuz is now a symlink to vmlinuz-5.15.0-122-generic
I: /boot/initrd.img is now a symlink to initrd.img-5.15.0-122-generic
Processing triggers for linux-image-5.15.0-122-generic (5.15.0-122.132) ...
/etc/kernel/postinst.d/dkms:
 * dkms: autoinstall for dkms modules has been disabled
/etc/kernel/postinst.d/initramfs-tools:
update-initramfs: Generating /boot/initrd.img-5.15.0-122-generic
/etc/kernel/postinst.d/zz-update-grub:
Sourcing file `/etc/default/grub'
Generating grub configuration file ...
Found linux image: /boot/vmlinuz-5.15.0-122-generic
Found initrd image: /boot/initrd.img-5.15.0-122-generic
Found linux image: /boot/vmlinuz-5.15.0-119-generic
Found initrd image: /boot/initrd.img-5.15.0-119-generic
done
Log ended: 2025-06-12  02:14:27
"""

OVERNIGHT_PACKAGES = """\
ii  dkms                                2.8.7-2ubuntu2.2              all          Dynamic Kernel Module Support Framework
ii  libnvidia-compute-550-server:amd64  550.90.07-0ubuntu0.22.04.1    amd64        NVIDIA libcompute package
ii  linux-headers-5.15.0-119-generic    5.15.0-119.129                amd64        Linux kernel headers for version 5.15.0 on 64 bit x86 SMP
ii  linux-headers-5.15.0-122-generic    5.15.0-122.132                amd64        Linux kernel headers for version 5.15.0 on 64 bit x86 SMP
ii  linux-headers-generic               5.15.0.122.122                amd64        Generic Linux kernel headers
ii  linux-image-5.15.0-119-generic      5.15.0-119.129                amd64        Signed kernel image generic
ii  linux-image-5.15.0-122-generic      5.15.0-122.132                amd64        Signed kernel image generic
ii  linux-image-generic                 5.15.0.122.122                amd64        Generic Linux kernel image
ii  nvidia-dkms-550-server              550.90.07-0ubuntu0.22.04.1    amd64        NVIDIA DKMS package
ii  nvidia-driver-550-server            550.90.07-0ubuntu0.22.04.1    amd64        NVIDIA Server Driver metapackage
ii  nvidia-fabricmanager-550            550.90.07-0ubuntu0.22.04.1    amd64        Fabric Manager for NVSwitch based systems.
ii  nvidia-kernel-common-550-server     550.90.07-0ubuntu0.22.04.1    amd64        Shared files used with the kernel module
ii  nvidia-utils-550-server             550.90.07-0ubuntu0.22.04.1    amd64        NVIDIA Server Driver support binaries
"""

OVERNIGHT_JOURNAL = """Jun 12 02:13:01 gpu-17 systemd[1]: Starting Daily apt upgrade and clean activities...
Jun 12 02:14:29 gpu-17 systemd[1]: Finished Daily apt upgrade and clean activities.
Jun 12 02:30:00 gpu-17 systemd[1]: Starting Reboot...
Jun 12 02:30:02 gpu-17 systemd-logind[1521]: System is rebooting.
Jun 12 02:30:03 gpu-17 kubelet[2391]: I0612 02:30:03.118204    2391 nodeshutdown_manager_linux.go:265] \
"Shutdown manager detected new shutdown event" event="shutdown"
"""

OVERNIGHT_KUBELET = """Jun 12 02:31:41 gpu-17 systemd[1]: Started kubelet: The Kubernetes Node Agent.
Jun 12 02:31:43 gpu-17 kubelet[2417]: I0612 02:31:43.201877    2417 server.go:530] "Kubelet version" kubeletVersion="v1.33.1"
Jun 12 02:31:44 gpu-17 kubelet[2417]: I0612 02:31:44.020113    2417 manager.go:138] "Creating Device Plugin manager"
Jun 12 02:31:44 gpu-17 kubelet[2417]: I0612 02:31:44.731008    2417 server.go:75] \
"Creating device plugin registration server" version="v1beta1" \
socket="/var/lib/kubelet/device-plugins/kubelet.sock"
Jun 12 02:31:45 gpu-17 kubelet[2417]: I0612 02:31:45.112870    2417 kubelet_node_status.go:75] "Attempting to register node" node="gpu-17"
Jun 12 02:31:45 gpu-17 kubelet[2417]: I0612 02:31:45.190354    2417 kubelet_node_status.go:124] \
"Node was previously registered" node="gpu-17"
Jun 12 02:31:45 gpu-17 kubelet[2417]: I0612 02:31:45.190431    2417 kubelet_node_status.go:78] "Successfully registered node" node="gpu-17"
Jun 12 02:32:04 gpu-17 kubelet[2417]: I0612 02:32:04.660127    2417 kubelet_node_status.go:501] \
"Fast updating node status as it just became ready"
"""


def overnight_host(capture: Capture, on: str, created: str, booted: str) -> None:
    host = capture.host
    kernel = "5.15.0-122-generic"
    host(on, "uname", "uname -a", f"Linux {on} {kernel} #132-Ubuntu SMP Thu Aug 29 13:45:52 UTC 2024 x86_64 x86_64 x86_64 GNU/Linux")
    host(on, "os_release", "/etc/os-release", OS_RELEASE_2204, rc=None)
    host(on, "uptime", "uptime -s", booted.replace("T", " ").rstrip("Z"))
    host(on, "lspci", "lspci -nnk -d 10de:", p.lspci(p.H100, driver=None, modules="nvidiafb, nouveau", switches=True))
    pci = "".join(
        f"[    2.{118000 + i * 311:06d}] pci 0000:{bus}:00.0: [10de:2330] type 00 class 0x030200\n" for i, bus in enumerate(p.H100.buses)
    )
    host(
        on,
        "kernel_log",
        "journalctl -k -b",
        f"[    0.000000] {LINUX_122}\n"
        f"[    0.000000] Command line: BOOT_IMAGE=/vmlinuz-{kernel} root=UUID=6a0d3f0e-2f0c-4a51-9f0e-0a8c1f1f7d55 ro iommu=pt\n"
        "[    0.000000] secureboot: Secure boot disabled\n" + pci + "[    9.301177] mlx5_core 0000:18:00.0: firmware version: 28.42.1000\n"
        "[   10.220764] IPMI message handler: version 39.2\n",
    )
    host(on, "nvidia_smi", "nvidia-smi", p.NO_COMM, rc=9)
    host(on, "proc_nvidia_version", PROC_VERSION, f"cat: {PROC_VERSION}: No such file or directory", outcome="absent", rc=1)
    host(on, "lsmod", "lsmod", p.lsmod(*p.BASE_MODULES))
    host(on, "modinfo", "modinfo nvidia", "modinfo: ERROR: Module nvidia not found.", rc=1)
    host(on, "dkms_status", "dkms status", "nvidia, 550.90.07, 5.15.0-119-generic, x86_64: installed")
    host(on, "dkms_build", "/var/log/apt/term.log", APT_TERM, rc=None)
    host(on, "packages", "dpkg -l", OVERNIGHT_PACKAGES)
    host(on, "package_history", "/var/log/apt/history.log", APT_HISTORY, rc=None)
    host(on, "mokutil", "mokutil --sb-state", "SecureBoot disabled")
    builds = "".join(
        f"lrwxrwxrwx 1 root root 40 Aug {day}  2024 /lib/modules/{k}/build -> /usr/src/linux-headers-{k}\n"
        for k, day in (("5.15.0-119-generic", " 2"), (kernel, "29"))
    )
    host(on, "ls_modules", "ls -ld /lib/modules/*/build", builds)
    host(on, "boot_kernel", "ls -l /boot/vmlinuz", f"lrwxrwxrwx 1 root root 26 Jun 12 02:14 /boot/vmlinuz -> vmlinuz-{kernel}")
    blacklist = (
        "/etc/modprobe.d/nvidia-graphics-drivers.conf:blacklist nouveau\n/etc/modprobe.d/nvidia-graphics-drivers.conf:alias nouveau off\n"
    )
    host(on, "modprobe_conf", "grep -r . /etc/modprobe.d", blacklist)
    host(on, "ls_dev", "ls -l /dev/nvidia*", "ls: cannot access '/dev/nvidia*': No such file or directory", outcome="absent", rc=2)
    host(
        on,
        "containerd_config",
        "/etc/containerd/config.toml",
        p.CONTAINERD_V2.format(default="runc", binary=NVIDIA_BIN),
        name="containerd-config.toml",
        rc=None,
    )
    host(
        on,
        "containerd_dump",
        "containerd config dump",
        p.CONTAINERD_V2.format(default="runc", binary=NVIDIA_BIN),
        name="containerd-config-dump.toml",
    )
    toolkit = p.TOOLKIT_CONFIG.format(ldconfig="/sbin/ldconfig.real", prefix="/usr/local/nvidia/toolkit", root="/")
    host(on, "toolkit_config", OPERATOR_TOOLKIT_CONFIG, toolkit, name="nvidia-container-runtime-config.toml", rc=None)
    # What needs the driver failed with it: consequences, not causes.
    failed = {"nvidia-fabricmanager": "2025-06-12T02:31:36Z", "nvidia-persistenced": "2025-06-12T02:31:36Z"}
    services = p.units({"containerd": "2025-06-12T02:31:38Z", "kubelet": "2025-06-12T02:31:41Z"}, failed)
    host(on, "systemctl", "systemctl show containerd kubelet nvidia-fabricmanager nvidia-persistenced", services)
    host(on, "kubelet_log", "journalctl -u kubelet -b", OVERNIGHT_KUBELET)
    host(on, "journal", "journalctl -b -1 -u unattended-upgrades -u systemd-logind", OVERNIGHT_JOURNAL)
    host(on, "kubelet_checkpoint", CHECKPOINT, p.checkpoint({}), name="kubelet-internal-checkpoint.json", rc=None)
    sockets = (
        "total 8\n"
        "drwxr-x--- 2 root root 4096 Jun 12 02:31 .\n"
        "-rw------- 1 root root   78 Jun 12 02:31 kubelet_internal_checkpoint\n"
        "srwxr-xr-x 1 root root    0 Jun 12 02:31 kubelet.sock\n"
    )
    host(on, "ls_device_plugins", "ls -la /var/lib/kubelet/device-plugins", sockets)
    host(
        on,
        "kubelet_flags",
        "/proc/PID/cmdline of kubelet",
        "/usr/bin/kubelet --config=/var/lib/kubelet/config.yaml --container-runtime-endpoint=unix:///run/containerd/containerd.sock",
        rc=None,
    )
    host(
        on,
        "validations",
        "ls -la /run/nvidia/validations",
        "total 0\ndrwxr-xr-x 2 root root 40 Jun 12 02:32 .\ndrwxr-xr-x 4 root root 80 Jun 12 02:32 ..\n",
    )


def overnight_logs(capture: Capture, on: str, booted: str, before: str, states: t.Sequence[str]) -> None:
    names = {o.daemonset: p.operand_pod_name(o, on) for o in p.OPERANDS}
    started = p.plus(booted, 72)
    stuck = "waiting for nvidia container stack to be setup\n" * 12
    for operand in (p.PLUGIN, p.GFD, p.DCGM):
        capture.log(on, names[operand.daemonset], "toolkit-validation", stuck)
    for operand in (p.TOOLKIT, p.VALIDATOR):
        capture.log(on, names[operand.daemonset], "driver-validation", p.validator_stuck(started, 8))
    # What the containers said before the reboot: a plugin that was registered, a validation that had passed.
    busy = dict.fromkeys(range(8), 71022)
    capture.log(on, names[p.PLUGIN.daemonset], "nvidia-device-plugin", p.plugin_log(p.plus(before, 40)), previous=True)
    table = p.smi_table(p.H100, on, p.plus(before, 20), "550.90.07", "12.4", busy=busy)
    capture.log(on, names[p.VALIDATOR.daemonset], "driver-validation", p.validator_log(p.plus(before, 20), table, host=True), previous=True)
    operator = next(x["metadata"]["name"] for x in capture.lists["pods"] if x["metadata"]["labels"].get("app") == "gpu-operator")
    words = {"level": "info", "logger": "controllers.ClusterPolicy", "msg": "ClusterPolicy isn't ready", "states not ready": list(states)}
    rows = [json.dumps({**words, "ts": f"2025-06-12T09:{minute}:04Z"}, sort_keys=True) for minute in (20, 25, 30)]
    capture.log("gpu-2", operator, "gpu-operator", "\n".join(rows))


# ---------------------------------------------------------------------------------------------------------------------
# healthy ones


@dataclasses.dataclass(frozen=True)
class HostDriver:
    """Versions and texts of a host whose driver works."""

    driver: str
    cuda: str
    built: str
    gcc: str
    linux: str
    uname: str
    os_release: str
    dkms: str
    open_module: bool = False
    signer: str = ""


UBUNTU_HOST = HostDriver(
    "550.90.07",
    "12.4",
    BUILT_550,
    GCC_2204,
    LINUX_119,
    "Linux {on} 5.15.0-119-generic #129-Ubuntu SMP Fri Aug 2 19:25:20 UTC 2024 x86_64 x86_64 x86_64 GNU/Linux",
    OS_RELEASE_2204,
    "nvidia, 550.90.07, 5.15.0-119-generic, x86_64: installed\n",
)


def healthy_host(
    capture: Capture, on: str, machine: Machine, host: HostDriver, *, busy: t.Mapping[int, int], mig: bool = False, xid: bool = True
) -> None:
    """The outputs of a sound host, with the lines in its kernel log that only look bad."""
    gpu = machine.gpu
    assert gpu is not None
    capture.host(on, "uname", "uname -a", host.uname.format(on=on))
    capture.host(on, "os_release", "/etc/os-release", host.os_release, rc=None)
    capture.host(on, "lspci", "lspci -nnk -d 10de:", p.lspci(gpu, driver="nvidia", modules=NVIDIA_MODULES))
    version = p.proc_version(host.driver, host.built, host.gcc, open_module=host.open_module)
    loading = version.splitlines()[0].split("NVRM version: ")[1]
    extra = APP_XID.format(bus=gpu.buses[-1], uuid=p.gpu_uuid(on, len(gpu.buses) - 1)) if xid else ""
    capture.host(on, "kernel_log", "journalctl -k -b", p.dmesg_healthy(host.linux, loading, extra))
    capture.host(on, "nvidia_smi", "nvidia-smi", p.smi_table(gpu, on, capture.created, host.driver, host.cuda, busy=busy, mig=mig))
    capture.host(on, "proc_nvidia_version", PROC_VERSION, version, rc=None)
    majors = (
        "  1 mem",
        "  5 /dev/tty",
        " 10 misc",
        "195 nvidia",
        "195 nvidia-modeset",
        "195 nvidiactl",
        "236 nvidia-nvlink",
        "508 nvidia-uvm",
    )
    devices = "\n".join(("Character devices:", *majors, "", "Block devices:", "259 blkext", ""))
    capture.host(on, "proc_devices", "/proc/devices", devices, rc=None)
    capture.host(on, "lsmod", "lsmod", p.lsmod(*p.BASE_MODULES, *p.NVIDIA_MODULES))
    if host.dkms:
        capture.host(on, "dkms_status", "dkms status", host.dkms)
    capture.host(on, "ls_dev", "ls -l /dev/nvidia*", p.dev_nodes(len(gpu.buses), "May  6 10:01"))


def healthy_plain() -> Capture:
    """kubeadm, the stand-alone plugin of the Helm chart, nvidia as containerd's default runtime. No operator, no GFD."""
    created, ns = "2025-06-06T08:15:00Z", "nvidia-device-plugin"
    image = "nvcr.io/nvidia/k8s-device-plugin:v0.17.1"
    machine = Machine(
        p.A100,
        "5.15.0-119-generic",
        "Ubuntu 22.04.5 LTS",
        "ubuntu",
        "22.04",
        "v1.31.9",
        "containerd://1.7.27",
        "2025-01-20T11:00:00Z",
        cpu=256,
        images=(image,),
    )
    capture = Capture("healthy-plain", created, nodes=["gpu-1", "gpu-2"])
    name = "nvdp-nvidia-device-plugin"
    since = "2025-05-06T10:03:00Z"
    labels = {"feature.node.kubernetes.io/pci-10de.present": "true"}
    for on in capture.nodes:
        capture.add("nodes", p.node(on, machine, gpus=(8, 8), heartbeat=p.plus(created, -44), since=since, labels=labels))
        box = Box("nvidia-device-plugin-ctr", image)
        plugin = f"{name}-{p.suffix(name, on)}"
        tolerations = [p.GPU_TOLERATION, *p.DAEMON_TOLERATIONS]
        capture.add(
            "pods",
            p.pod(
                plugin,
                ns,
                on,
                [box],
                created=since,
                owner=("DaemonSet", name),
                labels={"app.kubernetes.io/name": "nvidia-device-plugin"},
                tolerations=tolerations,
            ),
        )
        capture.log(on, plugin, "nvidia-device-plugin-ctr", p.plugin_log(p.plus(since, 12)), namespace=ns)
    capture.add("pods", *system_pods(capture.nodes, "2025-01-20T11:01:00Z", version="v1.31.9"))
    for index, on in enumerate(("gpu-1", "gpu-1", "gpu-2")):
        capture.add(
            "pods",
            worker(
                f"finetune-{index}",
                "ml",
                on,
                4,
                owner=("StatefulSet", "finetune"),
                image="docker.io/pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime",
                created="2025-06-05T17:20:00Z",
            ),
        )
    affinity = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {"matchExpressions": [{"key": "feature.node.kubernetes.io/pci-10de.present", "operator": "In", "values": ["true"]}]}
                ]
            }
        }
    }
    capture.add(
        "daemonsets",
        p.daemonset(
            name, ns, desired=2, image=image, container="nvidia-device-plugin-ctr", created="2025-01-20T12:00:00Z", affinity=affinity
        ),
    )
    capture.add("runtimeclasses")
    on = "gpu-1"
    healthy_host(capture, on, machine, UBUNTU_HOST, busy=dict.fromkeys(range(8), 60412))
    capture.host(on, "nvidia_smi_list", "nvidia-smi -L", p.smi_list(p.A100, on))
    capture.host(on, "nvidia_container_cli", "nvidia-container-cli -k -d /dev/stderr info", p.cli_info(p.A100, on, "550.90.07", "12.4"))
    capture.host(on, "mokutil", "mokutil --sb-state", "EFI variables are not supported on this system", rc=255)
    capture.host(
        on,
        "containerd_config",
        "/etc/containerd/config.toml",
        p.CONTAINERD_V2.format(default="nvidia", binary="/usr/bin/nvidia-container-runtime"),
        name="containerd-config.toml",
        rc=None,
    )
    toolkit = p.TOOLKIT_CONFIG.format(ldconfig="/sbin/ldconfig.real", prefix="/usr/bin", root="/")
    capture.host(
        on, "toolkit_config", "/etc/nvidia-container-runtime/config.toml", toolkit, name="nvidia-container-runtime-config.toml", rc=None
    )
    services = p.units({"containerd": "2025-05-06T10:01:44Z", "kubelet": "2025-05-06T10:01:47Z"})
    capture.host(on, "systemctl", "systemctl show containerd kubelet", services)
    capture.host(
        on,
        "journal",
        "journalctl -u containerd -b",
        'Jun 05 17:20:04 gpu-1 containerd[1904]: time="2025-06-05T17:20:04Z" level=info msg="Auto-detected mode as \'legacy\'"\n'
        'Jun 05 17:20:04 gpu-1 containerd[1904]: time="2025-06-05T17:20:04Z" level=info msg="Using low-level runtime /usr/bin/runc"\n',
    )
    held = [
        (p.uid("pod", "ml", f"finetune-{i}"), "main", "nvidia.com/gpu", [p.gpu_uuid(on, 4 * i + n) for n in range(4)]) for i in range(2)
    ]
    capture.host(
        on,
        "kubelet_checkpoint",
        CHECKPOINT,
        p.checkpoint({"nvidia.com/gpu": [p.gpu_uuid(on, i) for i in range(8)]}, held),
        name="kubelet-internal-checkpoint.json",
        rc=None,
    )
    capture.host(
        on,
        "kubelet_log",
        "journalctl -u kubelet -b",
        "May 06 10:01:47 gpu-1 systemd[1]: Started kubelet: The Kubernetes Node Agent.\n"
        'May 06 10:01:49 gpu-1 kubelet[2055]: E0506 10:01:49.551020    2055 manager.go:208] "Failed to read data from checkpoint" '
        'checkpoint="kubelet_internal_checkpoint" err="checkpoint is not found"\n'
        "May 06 10:03:13 gpu-1 kubelet[2055]: I0506 10:03:13.114820    2055 server.go:144] "
        '"Got registration request from device plugin with resource" resourceName="nvidia.com/gpu"\n',
    )
    return capture


def operator_cluster(
    capture: Capture,
    machine: Machine,
    stack: Stack,
    nodes: t.Mapping[str, Obj],
    *,
    since: str,
    driver: str = "pre-installed",
    operands: t.Sequence[p.Operand] = p.OPERANDS,
    driver_image: str = "",
    policy: bool = True,
) -> None:
    """Nodes of one pool with all operands running; nodes maps a name to keyword arguments of sample_parts.node."""
    capture.nodes = list(nodes)
    for on, more in nodes.items():
        labels = {**p.operator_labels(driver), **more.pop("labels", {})}
        if p.MIG_MANAGER in operands:
            labels["nvidia.com/gpu.deploy.mig-manager"] = "true"
        capture.add("nodes", p.node(on, machine, heartbeat=p.plus(capture.created, -61), since=since, labels=labels, **more))
        capture.add("pods", p.nfd_worker(stack, on, since), *(p.operand_pod(o, on, stack, p.plus(since, 30)) for o in operands))
    capture.add("pods", *p.operator_pods(stack, since, capture.nodes[0]))
    driver_nodes = len(nodes) if driver == "true" else 0
    capture.add(
        "daemonsets",
        *p.operator_daemonsets(stack, machine.created, nodes=len(nodes), driver=driver_image, driver_nodes=driver_nodes, operands=operands),
    )
    capture.add("runtimeclasses", p.runtime_class("nvidia", machine.created))
    if policy:
        capture.add(
            "clusterpolicies", p.cluster_policy(machine.created, ready=True, since=p.plus(since, 600), driver_enabled=bool(driver_image))
        )


def healthy_mig() -> Capture:
    """MIG, strategy mixed: nvidia.com/gpu rightly reads 0, the slices are the resources, and the two nodes differ on purpose."""
    created = "2025-07-02T12:00:00Z"
    capture = Capture("healthy-mig", created)
    stack = Stack()
    machine = Machine(
        p.H100,
        "5.15.0-119-generic",
        "Ubuntu 22.04.5 LTS",
        "ubuntu",
        "22.04",
        "v1.32.5",
        "containerd://1.7.27",
        "2025-03-03T09:00:00Z",
        instance_type="hgx-h100-8",
        images=stack.images,
    )

    def mig(config: str, **slices: int) -> Obj:
        labels = {
            **p.gfd_labels(machine, "550.90.07", "12.4", count=8, strategy="mixed"),
            "nvidia.com/mig.config": config,
            "nvidia.com/mig.config.state": "success",
        }
        for profile, count in slices.items():
            key = profile.replace("_", "-", 1).replace("_", ".")
            labels[f"nvidia.com/{key}.count"] = str(count)
            labels[f"nvidia.com/{key}.product"] = f"NVIDIA-H100-80GB-HBM3-MIG-{key[4:]}"
        return {
            "gpus": (0, 0),
            "labels": labels,
            "extra": {f"nvidia.com/{k.replace('_', '-', 1).replace('_', '.')}": (n, n) for k, n in slices.items()},
        }

    nodes = {"gpu-1": mig("all-1g.10gb", mig_1g_10gb=56), "gpu-2": mig("all-balanced", mig_1g_10gb=16, mig_2g_20gb=8, mig_3g_40gb=8)}
    operands = (*p.OPERANDS, p.MIG_MANAGER)
    operator_cluster(
        capture,
        machine,
        stack,
        nodes,
        since="2025-06-20T07:10:00Z",
        operands=operands,
        driver_image="nvcr.io/nvidia/driver:550.90.07-ubuntu22.04",
    )
    for index in range(9):
        image = "docker.io/library/python:3.12"
        capture.add(
            "pods",
            worker(
                f"notebook-{index}-0",
                "notebooks",
                "gpu-1",
                1,
                owner=("StatefulSet", f"notebook-{index}"),
                image=image,
                created="2025-07-01T08:00:00Z",
                resource="nvidia.com/mig-1g.10gb",
            ),
        )
    on = "gpu-1"
    healthy_host(capture, on, machine, UBUNTU_HOST, busy={}, mig=True)
    capture.host(on, "nvidia_smi_list", "nvidia-smi -L", p.smi_list(p.H100, on, ("1g.10gb",) * 7))
    capture.log(
        on,
        p.operand_pod_name(p.PLUGIN, on),
        "nvidia-device-plugin",
        p.plugin_log("2025-06-20T07:14:30Z", strategy="mixed", resources=("nvidia.com/mig-1g.10gb",)),
    )
    return capture


def healthy_time_slicing() -> Capture:
    """Four A10 shared by four: sixteen are offered, more than are on the bus."""
    created = "2025-05-15T14:30:00Z"
    capture = Capture("healthy-time-slicing", created)
    stack = Stack()
    machine = Machine(
        p.A10,
        "5.15.0-119-generic",
        "Ubuntu 22.04.5 LTS",
        "ubuntu",
        "22.04",
        "v1.30.12",
        "containerd://1.7.27",
        "2024-11-04T10:00:00Z",
        cpu=96,
        memory_ki=792312004,
        instance_type="pcie-a10-4",
        images=stack.images,
    )
    labels = {
        **p.gfd_labels(machine, "550.90.07", "12.4", count=4, replicas=4, product="NVIDIA-A10-SHARED"),
        "nvidia.com/device-plugin.config": "a10-x4",
    }
    nodes = {f"gpu-{i}": {"gpus": (16, 16), "labels": dict(labels)} for i in (1, 2, 3)}
    operator_cluster(
        capture, machine, stack, nodes, since="2025-05-06T10:01:00Z", driver_image="nvcr.io/nvidia/driver:550.90.07-ubuntu22.04"
    )
    for index in range(14):
        image = "docker.io/library/python:3.12"
        capture.add(
            "pods",
            worker(
                f"student-{index}-0",
                "course",
                "gpu-2",
                1,
                owner=("StatefulSet", f"student-{index}"),
                image=image,
                created="2025-05-12T08:00:00Z",
            ),
        )
    on = "gpu-2"
    healthy_host(capture, on, machine, UBUNTU_HOST, busy={0: 9100, 1: 7400, 2: 12010})
    capture.log(on, p.operand_pod_name(p.PLUGIN, on), "nvidia-device-plugin", p.plugin_log("2025-05-06T10:02:40Z", replicas=4))
    return capture


def healthy_dra() -> Capture:
    """GPUCluster and the DRA driver: no extended resource at all, the devices are in ResourceSlices."""
    created, ns, driver = "2026-08-04T10:00:00Z", p.OPERATOR_NS, "gpu.nvidia.com"
    capture = Capture("healthy-dra", created, nodes=["gpu-1", "gpu-2"])
    kubelet_plugin, validator = "nvidia-dra-driver-kubelet-plugin", "nvidia-dra-validator"
    images = ("nvcr.io/nvidia/k8s-dra-driver-gpu:v26.7.0", "nvcr.io/nvidia/cloud-native/gpu-operator-validator:v26.7.0")
    machine = Machine(
        p.H100,
        "6.8.0-60-generic",
        "Ubuntu 24.04.2 LTS",
        "ubuntu",
        "24.04",
        "v1.36.1",
        "containerd://2.1.4",
        "2026-05-11T09:00:00Z",
        instance_type="hgx-h100-8",
        images=images,
    )
    since = "2026-07-20T06:00:00Z"
    labels = {
        "nvidia.com/gpu.present": "true",
        "nvidia.com/gpu.deploy.dra-driver": "true",
        "nvidia.com/gpu.deploy.dra-validator": "true",
        "nvidia.com/gpu.deploy.driver": "pre-installed",
    }
    for number, on in enumerate(capture.nodes):
        capture.add("nodes", p.node(on, machine, gpus=None, heartbeat=p.plus(created, -30), since=since, labels=labels))
        for name, box, image in ((kubelet_plugin, "gpus", images[0]), (validator, "nvidia-dra-validator", images[1])):
            app = "nvidia-operator-validator" if name == validator else name
            tolerations = [p.GPU_TOLERATION, *p.DAEMON_TOLERATIONS]
            capture.add(
                "pods",
                p.pod(
                    f"{name}-{p.suffix(name, on)}",
                    ns,
                    on,
                    [Box(box, image)],
                    created=since,
                    owner=("DaemonSet", name),
                    labels={"app": app},
                    tolerations=tolerations,
                ),
            )
        devices = []
        for index in range(8):
            attributes = {
                "architecture": {"string": "Hopper"},
                "brand": {"string": "Nvidia"},
                "driverVersion": {"version": "580.95.5"},
                "productName": {"string": p.H100.product},
                "type": {"string": "gpu"},
                "uuid": {"string": p.gpu_uuid(on, index)},
            }
            devices.append({"attributes": attributes, "capacity": {"memory": {"value": "81559Mi"}}, "name": f"gpu-{index}"})
        meta = {
            "creationTimestamp": since,
            "generateName": f"{on}-{driver}-",
            "name": f"{on}-{driver}-{p.suffix('slice', on)}",
            "uid": p.uid("slice", on),
        }
        spec = {"devices": devices, "driver": driver, "nodeName": on, "pool": {"generation": 1, "name": on, "resourceSliceCount": 1}}
        capture.add("resourceslices", {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": meta, "spec": spec})
        for index in range(3 - number):
            claim, pod_name = f"sft-{number}-{index}-gpu-{p.suffix('claim', on, index)}", f"sft-{number}-{index}"
            result = {"device": f"gpu-{index}", "driver": driver, "pool": on, "request": "gpu"}
            reserved = {"name": pod_name, "resource": "pods", "uid": p.uid("pod", "ml", pod_name)}
            request = {"exactly": {"allocationMode": "ExactCount", "count": 1, "deviceClassName": driver}, "name": "gpu"}
            capture.add(
                "resourceclaims",
                {
                    "apiVersion": "resource.k8s.io/v1",
                    "kind": "ResourceClaim",
                    "metadata": {
                        "creationTimestamp": "2026-08-03T18:00:00Z",
                        "name": claim,
                        "namespace": "ml",
                        "uid": p.uid("claim", claim),
                    },
                    "spec": {"devices": {"requests": [request]}},
                    "status": {"allocation": {"devices": {"results": [result]}}, "reservedFor": [reserved]},
                },
            )
            box = Box("main", "docker.io/pytorch/pytorch:2.9.0-cuda12.8-cudnn9-runtime", limits=(("cpu", "12"), ("memory", "100Gi")))
            capture.add(
                "pods",
                p.pod(
                    pod_name,
                    "ml",
                    on,
                    [box],
                    created="2026-08-03T18:00:00Z",
                    owner=("Job", f"sft-{number}"),
                    claims=[{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}],
                    claim_statuses=[{"name": "gpu", "resourceClaimName": claim}],
                ),
            )
    for name, kind in ((driver, "gpu"), ("mig.nvidia.com", "mig"), ("vfio.gpu.nvidia.com", "vfio")):
        selector = {"cel": {"expression": f"device.driver == '{driver}' && device.attributes['{driver}'].type == '{kind}'"}}
        meta = {"creationTimestamp": machine.created, "name": name, "uid": p.uid("class", name)}
        capture.add(
            "deviceclasses",
            {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": meta, "spec": {"selectors": [selector]}},
        )
    for name, box, image in ((kubelet_plugin, "gpus", images[0]), (validator, "nvidia-dra-validator", images[1])):
        key = f"nvidia.com/gpu.deploy.{name.removeprefix('nvidia-').removesuffix('-kubelet-plugin')}"
        capture.add(
            "daemonsets",
            p.daemonset(
                name, ns, desired=2, selector={key: "true"}, image=image, container=box, created=machine.created, owner="GPUCluster"
            ),
        )
    meta = {"creationTimestamp": machine.created, "name": "gpu-cluster", "uid": p.uid("gpucluster")}
    ready = {"lastTransitionTime": since, "message": "", "reason": "Reconciled", "status": "True", "type": "Ready"}
    capture.add(
        "gpuclusters",
        {
            "apiVersion": "nvidia.com/v1alpha1",
            "kind": "GPUCluster",
            "metadata": meta,
            "spec": {"draDriver": {"enabled": True}},
            "status": {"conditions": [ready], "state": "ready"},
        },
    )
    capture.add("runtimeclasses")
    return capture


DRIVER_CONTAINER_LOG = """DRIVER_ARCH is x86_64

========== NVIDIA Software Installer ==========

Starting installation of NVIDIA driver version 570.124.06 for Linux kernel version {kernel}

Stopping NVIDIA persistence daemon...
Unloading NVIDIA driver kernel modules...
Unmounting NVIDIA driver rootfs...
Checking NVIDIA driver packages...
Updating the package cache...
Resolving Linux kernel version...
Proceeding with Linux kernel version {kernel}
Installing Linux kernel headers...
Installing Linux kernel module files...
Generating Linux kernel version string...
Compiling NVIDIA driver kernel modules...
warning: the compiler differs from the one used to build the kernel
Relinking NVIDIA driver kernel modules...
Building NVIDIA driver package nvidia-modules-{short}...
Installing NVIDIA driver kernel modules...
Parsing kernel module parameters...
Loading ipmi and i2c_core kernel modules...
Loading NVIDIA driver kernel modules...
+ modprobe nvidia
+ modprobe nvidia-uvm
+ modprobe nvidia-modeset
+ set +o xtrace -o nounset
Starting NVIDIA persistence daemon...
Mounting NVIDIA driver rootfs...
Done, now waiting for signal
"""

DRIVER_MANAGER_LOG = (
    'time="{stamp}" level=info msg="Starting driver uninstallation process"\n'
    'time="{stamp}" level=info msg="Fetching current component labels"\n'
    'time="{stamp}" level=info msg="Current value of AUTO_UPGRADE_POLICY_ENABLED=true"\n'
    'time="{stamp}" level=info msg="No NVIDIA driver loaded, skipping eviction of GPU clients and workloads"\n'
    'time="{stamp}" level=info msg="Unbinding vfio-pci driver from all devices"\n'
    'time="{stamp}" level=info msg="Auto drain by driver-manager has been superseded by the GPU Operator\'s upgrade policy. '
    'The GPU Operator will perform the GPU node drain instead"\n'
    'time="{stamp}" level=info msg="Rescheduling all GPU clients on the current node by enabling their component-specific '
    'nodeSelector labels"\n'
)


def driver_pod(name: str, namespace: str, on: str, image: str, manager: str, created: str, extra: t.Sequence[Box] = ()) -> Obj:
    init = [Box("k8s-driver-manager", manager)]
    tolerations = [p.GPU_TOLERATION, *p.DAEMON_TOLERATIONS]
    labels = {"app": "nvidia-driver-daemonset", "app.kubernetes.io/component": "nvidia-driver"}
    selector = {"nvidia.com/gpu.deploy.driver": "true"}
    boxes = [Box("nvidia-driver-ctr", image), *extra]
    return p.pod(
        f"{name}-{p.suffix(name, on)}",
        namespace,
        on,
        boxes,
        init=init,
        created=created,
        owner=("DaemonSet", name),
        labels=labels,
        selector=selector,
        tolerations=tolerations,
        priority="system-node-critical",
    )


def healthy_driver_container() -> Capture:
    """The operator's driver container: nvidia-smi is rightly not on the host, and the validator's host attempt rightly fails."""
    created = "2025-04-22T09:00:00Z"
    capture = Capture("healthy-driver-container", created)
    stack = Stack()
    image, kernel = "nvcr.io/nvidia/driver:570.124.06-ubuntu24.04", "6.8.0-57-generic"
    manager = "nvcr.io/nvidia/cloud-native/k8s-driver-manager:v0.8.0"
    machine = Machine(
        p.L40S,
        kernel,
        "Ubuntu 24.04.2 LTS",
        "ubuntu",
        "24.04",
        "v1.32.3",
        "containerd://1.7.27",
        "2025-03-10T09:00:00Z",
        cpu=128,
        memory_ki=1056498232,
        instance_type="pcie-l40s-4",
        images=(*stack.images, image),
    )
    labels = {**p.gfd_labels(machine, "570.124.06", "12.8", count=4), "nvidia.com/gpu-driver-upgrade-state": "upgrade-done"}
    nodes = {
        f"gpu-{i}": {"gpus": (4, 4), "labels": dict(labels), "annotations": {"nvidia.com/gpu-driver-upgrade-enabled": "true"}}
        for i in (1, 2)
    }
    since = "2025-04-14T05:00:00Z"
    operator_cluster(capture, machine, stack, nodes, since=since, driver="true", driver_image=image)
    for on in capture.nodes:
        capture.add("pods", driver_pod("nvidia-driver-daemonset", stack.namespace, on, image, manager, since))
    on = "gpu-1"
    capture.add(
        "pods",
        worker(
            "whisper-0",
            "inference",
            on,
            3,
            owner=("StatefulSet", "whisper"),
            image="docker.io/vllm/vllm-openai:v0.8.2",
            created="2025-04-15T08:00:00Z",
        ),
    )
    capture.host(
        on,
        "uname",
        "uname -a",
        f"Linux {on} {kernel} #59-Ubuntu SMP PREEMPT_DYNAMIC Sat Mar 15 17:40:59 UTC 2025 x86_64 x86_64 x86_64 GNU/Linux",
    )
    capture.host(on, "nvidia_smi", "nvidia-smi", "bash: line 1: nvidia-smi: command not found", outcome="absent", rc=127)
    table = p.smi_table(p.L40S, on, created, "570.124.06", "12.8", busy={0: 41022, 1: 41022, 2: 40110})
    capture.host(on, "nvidia_smi", "chroot /run/nvidia/driver nvidia-smi", table, name="nvidia-smi-driver-root.txt")
    capture.host(
        on,
        "proc_nvidia_version",
        PROC_VERSION,
        p.proc_version("570.124.06", "Wed Feb 26 01:59:33 UTC 2025", "gcc version 13.3.0 (Ubuntu 13.3.0-6ubuntu2~24.04)", open_module=True),
        rc=None,
    )
    capture.host(on, "lspci", "lspci -nnk -d 10de:", p.lspci(p.L40S, driver="nvidia", modules="nvidiafb, nouveau"))
    capture.host(on, "lsmod", "lsmod", p.lsmod(*p.BASE_MODULES, *p.NVIDIA_MODULES))
    capture.host(on, "modinfo", "modinfo nvidia", "modinfo: ERROR: Module nvidia not found.", rc=1)
    listing = "".join(
        f"-rw-r--r-- 1 root root {size:3d} Apr 14 05:{minute:02d} {name}\n"
        for name, size, minute in (
            (".driver-ctr-ready", 0, 6),
            ("cuda-ready", 0, 8),
            ("driver-ready", 157, 6),
            ("plugin-ready", 0, 9),
            ("toolkit-ready", 0, 7),
        )
    )
    capture.host(on, "validations", "ls -la /run/nvidia/validations", f"total 4\n{listing}")
    driver_name = f"nvidia-driver-daemonset-{p.suffix('nvidia-driver-daemonset', on)}"
    capture.log(on, driver_name, "nvidia-driver-ctr", DRIVER_CONTAINER_LOG.format(kernel=kernel, short="6.8.0-57"))
    capture.log(on, driver_name, "k8s-driver-manager", DRIVER_MANAGER_LOG.format(stamp="2025-04-14T05:00:20Z"))
    capture.log(on, p.operand_pod_name(p.VALIDATOR, on), "driver-validation", p.validator_log("2025-04-14T05:06:02Z", table, host=False))
    capture.log(on, p.operand_pod_name(p.TOOLKIT, on), "nvidia-container-toolkit-ctr", p.toolkit_log("2025-04-14T05:06:40Z"))
    capture.log(on, p.operand_pod_name(p.PLUGIN, on), "nvidia-device-plugin", p.plugin_log("2025-04-14T05:07:30Z"))
    return capture


def healthy_host_driver() -> Capture:
    """RHEL with precompiled kmod packages: no dkms anywhere, the operator's driver DaemonSet rightly wants no node."""
    created = "2025-03-19T16:45:00Z"
    capture = Capture("healthy-host-driver", created)
    stack = Stack()
    kernel, driver = "5.14.0-427.50.1.el9_4.x86_64", "550.144.03"
    machine = Machine(
        p.A100,
        kernel,
        "Red Hat Enterprise Linux 9.4 (Plow)",
        "rhel",
        "9.4",
        "v1.30.10",
        "containerd://1.7.25",
        "2024-12-02T13:00:00Z",
        cpu=256,
        instance_type="hgx-a100-8",
        images=stack.images,
    )
    nodes = {f"gpu-{i}": {"gpus": (8, 8), "labels": p.gfd_labels(machine, driver, "12.4", count=8)} for i in (1, 2)}
    operator_cluster(capture, machine, stack, nodes, since="2025-02-10T04:30:00Z", driver_image="nvcr.io/nvidia/driver:550.144.03-rhel9.4")
    on = "gpu-2"
    capture.add(
        "pods",
        worker(
            "bert-0",
            "ml",
            on,
            8,
            owner=("StatefulSet", "bert"),
            image="docker.io/pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime",
            created="2025-03-18T08:00:00Z",
        ),
    )
    host = HostDriver(
        driver,
        "12.4",
        "Mon Dec 30 17:44:08 UTC 2024",
        "gcc version 11.4.1 20231218 (Red Hat 11.4.1-3) (GCC)",
        f"Linux version {kernel} (mockbuild@x86-64-02.build.example.com) (gcc (GCC) 11.4.1 20231218) #1 SMP PREEMPT_DYNAMIC",
        "Linux {on} " + kernel + " #1 SMP PREEMPT_DYNAMIC Mon Dec 16 12:04:01 EST 2024 x86_64 x86_64 x86_64 GNU/Linux",
        'NAME="Red Hat Enterprise Linux"\nVERSION="9.4 (Plow)"\nID="rhel"\nID_LIKE="fedora"\nVERSION_ID="9.4"\n',
        "",
    )
    healthy_host(capture, on, machine, host, busy=dict.fromkeys(range(8), 77110))
    packages = (
        "kernel-5.14.0-427.50.1.el9_4.x86_64",
        "kmod-nvidia-550.144.03-5.14.0-427.50.1-550.144.03-1.el9_4.x86_64",
        "nvidia-driver-550.144.03-1.el9.x86_64",
        "nvidia-driver-cuda-550.144.03-1.el9.x86_64",
        "nvidia-persistenced-550.144.03-1.el9.x86_64",
    )
    capture.host(on, "packages", "rpm -qa", "\n".join(packages))
    capture.host(on, "mokutil", "mokutil --sb-state", "SecureBoot disabled")
    table = p.smi_table(p.A100, on, "2025-02-10T04:31:10Z", driver, "12.4")
    capture.log(on, p.operand_pod_name(p.VALIDATOR, on), "driver-validation", p.validator_log("2025-02-10T04:31:10Z", table, host=True))
    capture.log(on, p.operand_pod_name(p.PLUGIN, on), "nvidia-device-plugin", p.plugin_log("2025-02-10T04:32:00Z"))
    return capture


CRIO_CONFIG = """[crio]

  [crio.runtime]

    [crio.runtime.runtimes]

      [crio.runtime.runtimes.crun]
        runtime_path = "/usr/bin/crun"
        runtime_type = "oci"

      [crio.runtime.runtimes.nvidia]
        runtime_path = "/usr/local/nvidia/toolkit/nvidia-container-runtime"
        runtime_type = "oci"
"""


def healthy_crio() -> Capture:
    """OpenShift: CRI-O, RHCOS, driver toolkit sidecar, the operator in its own namespace."""
    created, ns = "2025-05-29T07:00:00Z", "nvidia-gpu-operator"
    capture = Capture("healthy-crio", created)
    stack = Stack(operator="v25.3.0", toolkit="v1.17.5-ubi8", namespace=ns)
    rhcos, kernel = "416.94.202504080525-0", "5.14.0-427.64.1.el9_4.x86_64"
    image = "nvcr.io/nvidia/driver:570.124.06-rhcos4.16"
    machine = Machine(
        p.L40S,
        kernel,
        f"Red Hat Enterprise Linux CoreOS {rhcos}",
        "rhcos",
        "4.16",
        "v1.29.14+7cf4c05",
        "cri-o://1.29.13-2.rhaos4.16.git3fd5b7a.el9",
        "2025-02-18T08:00:00Z",
        cpu=128,
        memory_ki=1056498232,
        instance_type="pcie-l40s-4",
        images=stack.images,
        roles=("worker",),
    )
    more = {
        "feature.node.kubernetes.io/system-os_release.OSTREE_VERSION": rhcos,
        "node.openshift.io/os_id": "rhel",
        "nvidia.com/gpu-driver-upgrade-state": "upgrade-done",
        "nvidia.com/gpu.deploy.driver": "true",
    }
    annotations = {"machineconfiguration.openshift.io/state": "Done", "nvidia.com/gpu-driver-upgrade-enabled": "true"}
    nodes = {
        f"gpu-{i}": {"gpus": (4, 4), "labels": {**p.gfd_labels(machine, "570.124.06", "12.8", count=4), **more}, "annotations": annotations}
        for i in (1, 2)
    }
    since = "2025-05-13T03:20:00Z"
    operator_cluster(capture, machine, stack, nodes, since=since, driver="true")
    name = f"nvidia-driver-daemonset-{rhcos}"
    selector = {"nvidia.com/gpu.deploy.driver": "true", "feature.node.kubernetes.io/system-os_release.OSTREE_VERSION": rhcos}
    capture.add(
        "daemonsets",
        p.daemonset(
            name,
            ns,
            desired=2,
            selector=selector,
            image=image,
            container="nvidia-driver-ctr",
            created=machine.created,
            owner="ClusterPolicy",
            update="OnDelete",
        ),
    )
    dtk = Box("openshift-driver-toolkit-ctr", "quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256:" + p.digest("dtk"))
    manager = "nvcr.io/nvidia/cloud-native/k8s-driver-manager:v0.8.0"
    for on in capture.nodes:
        capture.add("pods", driver_pod(name, ns, on, image, manager, since, (dtk,)))
    capture.lists["clusterpolicies"][0]["spec"]["operator"]["defaultRuntime"] = "crio"
    capture.lists["clusterpolicies"][0]["metadata"]["name"] = "gpu-cluster-policy"
    capture.lists["clusterpolicies"][0]["status"]["namespace"] = ns
    on = "gpu-1"
    capture.host(
        on, "uname", "uname -a", f"Linux {on} {kernel} #1 SMP PREEMPT_DYNAMIC Tue Apr 1 10:45:12 EDT 2025 x86_64 x86_64 x86_64 GNU/Linux"
    )
    capture.host(on, "crio_config", "/etc/crio/crio.conf.d/99-nvidia.conf", CRIO_CONFIG, name="crio-99-nvidia.conf", rc=None)
    capture.host(on, "lsmod", "lsmod", p.lsmod(*p.BASE_MODULES, *p.NVIDIA_MODULES))
    capture.host(on, "lspci", "lspci -nnk -d 10de:", p.lspci(p.L40S, driver="nvidia", modules="nouveau"))
    table = p.smi_table(p.L40S, on, "2025-05-13T03:31:00Z", "570.124.06", "12.8")
    capture.log(
        on,
        p.operand_pod_name(p.VALIDATOR, on),
        "driver-validation",
        p.validator_log("2025-05-13T03:31:00Z", table, host=False),
        namespace=ns,
    )
    log = p.toolkit_log("2025-05-13T03:31:40Z", "crio")
    capture.log(on, p.operand_pod_name(p.TOOLKIT, on), "nvidia-container-toolkit-ctr", log, namespace=ns)
    capture.log(on, p.operand_pod_name(p.PLUGIN, on), "nvidia-device-plugin", p.plugin_log("2025-05-13T03:32:30Z"), namespace=ns)
    return capture


K3S_CONTAINERD = """# File generated by k3s. DO NOT EDIT. Use config.toml.tmpl instead.
version = 2

[plugins."io.containerd.internal.v1.opt"]
  path = "/var/lib/rancher/k3s/agent/containerd"
[plugins."io.containerd.grpc.v1.cri"]
  stream_server_address = "127.0.0.1"
  stream_server_port = "10010"
  enable_selinux = false
  sandbox_image = "rancher/mirrored-pause:3.6"

[plugins."io.containerd.grpc.v1.cri".containerd]
  snapshotter = "overlayfs"
  disable_snapshot_annotations = true

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
  SystemdCgroup = true

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes."nvidia"]
  runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes."nvidia".options]
  BinaryName = "/usr/bin/nvidia-container-runtime"
  SystemdCgroup = true
"""


def healthy_k3s() -> Capture:
    """k3s at home: two machines with one card each, a server without any; the chart's plugin names the RuntimeClass k3s made."""
    created, ns = "2025-02-23T19:00:00Z", "nvidia-device-plugin"
    image = "nvcr.io/nvidia/k8s-device-plugin:v0.17.0"
    capture = Capture("healthy-k3s", created, nodes=["server-1", "gpu-1", "gpu-2"])
    machine = Machine(
        p.RTX4090,
        "6.8.0-52-generic",
        "Ubuntu 24.04.2 LTS",
        "ubuntu",
        "24.04",
        "v1.31.5+k3s1",
        "containerd://1.7.23-k3s2",
        "2024-12-27T15:00:00Z",
        cpu=32,
        memory_ki=131832044,
        images=(image,),
    )
    server = dataclasses.replace(machine, gpu=None, cpu=8, memory_ki=32781224, images=(), roles=("control-plane", "master"))
    since = "2025-02-09T10:00:00Z"
    capture.add(
        "nodes",
        p.node(
            "server-1", server, gpus=None, heartbeat=p.plus(created, -20), since=since, labels={"node.kubernetes.io/instance-type": "k3s"}
        ),
    )
    name, gfd = "nvdp-nvidia-device-plugin", "nvdp-nvidia-device-plugin-gpu-feature-discovery"
    labels = {
        **p.gfd_labels(machine, "565.57.01", "12.7", count=1),
        "node.kubernetes.io/instance-type": "k3s",
        "nvidia.com/gpu.present": "true",
    }
    tolerations = [p.GPU_TOLERATION, *p.DAEMON_TOLERATIONS]
    for on in ("gpu-1", "gpu-2"):
        capture.add("nodes", p.node(on, machine, gpus=(1, 1), heartbeat=p.plus(created, -33), since=since, labels=labels))
        for daemon, box in ((name, "nvidia-device-plugin-ctr"), (gfd, "gpu-feature-discovery-ctr")):
            capture.add(
                "pods",
                p.pod(
                    f"{daemon}-{p.suffix(daemon, on)}",
                    ns,
                    on,
                    [Box(box, image)],
                    created=since,
                    owner=("DaemonSet", daemon),
                    runtime_class="nvidia",
                    tolerations=tolerations,
                ),
            )
    affinity = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [{"key": "nvidia.com/gpu.present", "operator": "In", "values": ["true"]}]}]
            }
        }
    }
    for daemon, box in ((name, "nvidia-device-plugin-ctr"), (gfd, "gpu-feature-discovery-ctr")):
        capture.add(
            "daemonsets",
            p.daemonset(
                daemon, ns, desired=2, image=image, container=box, created=machine.created, runtime_class="nvidia", affinity=affinity
            ),
        )
    for name_of_class in ("crun", "nvidia", "nvidia-experimental"):
        capture.add("runtimeclasses", p.runtime_class(name_of_class, machine.created))
    capture.add(
        "pods",
        worker(
            "ollama-0",
            "ai",
            "gpu-1",
            1,
            owner=("StatefulSet", "ollama"),
            image="docker.io/ollama/ollama:0.5.11",
            created="2025-02-20T10:00:00Z",
            runtime_class="nvidia",
        ),
    )
    host = HostDriver(
        "565.57.01",
        "12.7",
        "Thu Oct 10 12:29:05 UTC 2024",
        "gcc version 13.3.0 (Ubuntu 13.3.0-6ubuntu2~24.04)",
        "Linux version 6.8.0-52-generic (buildd@lcy02-amd64-046) (x86_64-linux-gnu-gcc-13 (Ubuntu 13.3.0-6ubuntu2~24.04) 13.3.0) "
        "#53-Ubuntu SMP PREEMPT_DYNAMIC Sat Jan 11 00:06:25 UTC 2025",
        "Linux {on} 6.8.0-52-generic #53-Ubuntu SMP PREEMPT_DYNAMIC Sat Jan 11 00:06:25 UTC 2025 x86_64 x86_64 x86_64 GNU/Linux",
        'NAME="Ubuntu"\nVERSION_ID="24.04"\nID=ubuntu\n',
        "nvidia/565.57.01, 6.8.0-51-generic, x86_64: installed\nnvidia/565.57.01, 6.8.0-52-generic, x86_64: installed\n",
    )
    on = "gpu-1"
    healthy_host(capture, on, machine, host, busy={0: 21400})
    path = "/var/lib/rancher/k3s/agent/etc/containerd/config.toml"
    capture.host(on, "containerd_config", path, K3S_CONTAINERD, name="k3s-containerd-config.toml", rc=None)
    capture.host(
        on,
        "journal",
        "journalctl -u k3s-agent -b",
        'Feb 09 10:00:31 gpu-1 k3s[1210]: time="2025-02-09T10:00:31Z" level=info '
        'msg="Found nvidia container runtime at /usr/bin/nvidia-container-runtime"',
    )
    capture.log(on, f"{name}-{p.suffix(name, on)}", "nvidia-device-plugin-ctr", p.plugin_log("2025-02-09T10:01:05Z"), namespace=ns)
    return capture


# ---------------------------------------------------------------------------------------------------------------------
# a fleet with several causes


FLEET_APT = """
Start-Date: 2025-09-17  06:2{minute}:10
Commandline: /usr/bin/unattended-upgrade
Upgrade: libnvidia-compute-550-server:amd64 (550.144.03-0ubuntu0.22.04.1, 550.163.01-0ubuntu0.22.04.1), nvidia-utils-550-server:amd64 \
(550.144.03-0ubuntu0.22.04.1, 550.163.01-0ubuntu0.22.04.1), \
nvidia-dkms-550-server:amd64 (550.144.03-0ubuntu0.22.04.1, 550.163.01-0ubuntu0.22.04.1)
End-Date: 2025-09-17  06:2{end}:48
"""


def fleet_mixed() -> Capture:
    """Twelve nodes of four L40S; gpu-3 and gpu-8: libraries replaced under a loaded module; gpu-5: a GPU off the bus;
    gpu-11: cordoned by a person."""
    created = "2025-09-17T11:00:00Z"
    stack = Stack()
    loaded = "550.144.03"
    machine = Machine(
        p.L40S,
        "5.15.0-151-generic",
        "Ubuntu 22.04.5 LTS",
        "ubuntu",
        "22.04",
        "v1.32.8",
        "containerd://1.7.27",
        "2025-04-01T08:00:00Z",
        cpu=128,
        memory_ki=1056498232,
        instance_type="pcie-l40s-4",
        images=stack.images,
    )
    names = [f"gpu-{i}" for i in range(1, 13)]
    capture = Capture("fleet-mixed", created, nodes=names)
    mismatched, fallen, cordoned = ("gpu-3", "gpu-8"), "gpu-5", "gpu-11"
    since = "2025-08-12T05:00:00Z"
    cordon_time = "2025-09-16T15:42:19Z"
    uname = "Linux {on} 5.15.0-151-generic #161-Ubuntu SMP Tue Jul 22 14:25:40 UTC 2025 x86_64 x86_64 x86_64 GNU/Linux"
    for index, on in enumerate(names):
        gpus = (0, 0) if on in mismatched else ((4, 3) if on == fallen else (4, 4))
        taints = [{"effect": "NoSchedule", "key": "node.kubernetes.io/unschedulable", "timeAdded": cordon_time}] if on == cordoned else []
        labels = p.operator_labels("pre-installed", **p.gfd_labels(machine, loaded, "12.4", count=4))
        node = p.node(on, machine, gpus=gpus, heartbeat=p.plus(created, -17 * index - 20), since=since, labels=labels, taints=taints)
        if on == cordoned:
            node["spec"]["unschedulable"] = True
            fields = {"f:spec": {"f:unschedulable": {}}}
            node["metadata"]["managedFields"] = [
                {
                    "apiVersion": "v1",
                    "fieldsType": "FieldsV1",
                    "fieldsV1": fields,
                    "manager": "kubectl-cordon",
                    "operation": "Update",
                    "time": cordon_time,
                }
            ]
        capture.add("nodes", node)
        for operand in p.OPERANDS:
            built = p.operand_pod(operand, on, stack, p.plus(since, 30))
            if on in mismatched and operand in (p.PLUGIN, p.GFD):
                crash(built, p.plus(created, -140), 51 + index, "2025-09-17T06:41:30Z")
            capture.add("pods", built)
        if on not in mismatched and on != cordoned and index % 2 == 0:
            capture.add(
                "pods",
                worker(
                    f"batch-{index}-0",
                    "ml",
                    on,
                    2,
                    owner=("StatefulSet", f"batch-{index}"),
                    image="docker.io/vllm/vllm-openai:v0.10.1",
                    created="2025-09-15T09:00:00Z",
                ),
            )
    capture.add("pods", *p.operator_pods(stack, since, "gpu-1"))
    capture.add(
        "daemonsets", *p.operator_daemonsets(stack, machine.created, nodes=12, driver="nvcr.io/nvidia/driver:550.144.03-ubuntu22.04")
    )
    for daemonset in capture.lists["daemonsets"]:
        if daemonset["metadata"]["name"] in (p.PLUGIN.daemonset, p.GFD.daemonset):
            daemonset["status"].update(numberReady=10, numberAvailable=10, numberUnavailable=2)
    capture.add("runtimeclasses", p.runtime_class("nvidia", machine.created))
    message = "ClusterPolicy is not ready, states not ready: [state-device-plugin gpu-feature-discovery]"
    capture.add("clusterpolicies", p.cluster_policy(machine.created, ready=False, since="2025-09-17T06:40:00Z", message=message))
    for number, on in enumerate(mismatched):
        capture.host(on, "uname", "uname -a", uname.format(on=on))
        capture.host(
            on,
            "nvidia_smi",
            "nvidia-smi",
            "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 550.163",
            rc=18,
        )
        capture.host(on, "proc_nvidia_version", PROC_VERSION, p.proc_version(loaded, "Mon Dec 30 17:44:08 UTC 2024", GCC_2204), rc=None)
        capture.host(on, "lspci", "lspci -nnk -d 10de:", p.lspci(p.L40S, driver="nvidia", modules=NVIDIA_MODULES))
        capture.host(on, "lsmod", "lsmod", p.lsmod(*p.BASE_MODULES, *p.NVIDIA_MODULES))
        capture.host(on, "dkms_status", "dkms status", "nvidia, 550.163.01, 5.15.0-151-generic, x86_64: installed")
        capture.host(on, "package_history", "/var/log/apt/history.log", FLEET_APT.format(minute=1 + number, end=3 + number), rc=None)
        capture.host(on, "uptime", "uptime -s", "2025-08-12 04:58:40")
        stamp = p.plus(created, -140)
        log = (
            p.plugin_log(stamp, resources=())
            + p.klog(stamp, "factory.go:104", "Failed to initialize NVML: ERROR_LIB_RM_VERSION_MISMATCH.", "E", 8)
            + "\n"
        )
        capture.log(on, p.operand_pod_name(p.PLUGIN, on), "nvidia-device-plugin", log, previous=True)
    bus = "65"
    lost = p.gpu_uuid(fallen, p.L40S.buses.index(bus))
    kernel_log = (
        f"[3141592.100201] NVRM: GPU at PCI:0000:{bus}:00: {lost}\n"
        f"[3141592.100210] NVRM: Xid (PCI:0000:{bus}:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.\n"
        f"[3141592.100214] NVRM: GPU 0000:{bus}:00.0: GPU has fallen off the bus.\n"
    )
    capture.host(fallen, "uname", "uname -a", uname.format(on=fallen))
    capture.host(fallen, "kernel_log", "journalctl -k -b", kernel_log)
    capture.host(fallen, "lspci", "lspci -nnk -d 10de:", p.lspci(p.L40S, driver="nvidia", modules=NVIDIA_MODULES, dead=(bus,)))
    capture.host(
        fallen,
        "nvidia_smi",
        "nvidia-smi",
        f"Unable to determine the device handle for GPU2: 0000:{bus}:00.0: GPU is lost.  Reboot the system to recover this GPU",
        rc=15,
    )
    capture.host(fallen, "proc_nvidia_version", PROC_VERSION, p.proc_version(loaded, "Mon Dec 30 17:44:08 UTC 2024", GCC_2204), rc=None)
    stamp = "2025-09-17T02:10:44Z"
    marked = p.klog(stamp, "health.go:185", f"XidCriticalError: Xid=79 on Device={lost}; marking device as unhealthy.")
    marked += "\n" + p.klog(stamp, "server.go:276", f"'nvidia.com/gpu' device marked unhealthy: {lost}", order=1) + "\n"
    capture.log(fallen, p.operand_pod_name(p.PLUGIN, fallen), "nvidia-device-plugin", p.plugin_log(p.plus(since, 60)) + marked)
    return capture


def crash(pod: Obj, last: str, restarts: int, since: str) -> None:
    """Turns a running operand pod into one whose main container crash-loops."""
    status = pod["status"]["containerStatuses"][0]
    status.update(ready=False, restartCount=restarts, started=False)
    status["lastState"] = {"terminated": {"exitCode": 1, "reason": "Error", "startedAt": last, "finishedAt": p.plus(last, 1)}}
    name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
    back_off = f"back-off 5m0s restarting failed container={status['name']} pod={name}_{namespace}({pod['metadata']['uid']})"
    status["state"] = {"waiting": {"message": back_off, "reason": "CrashLoopBackOff"}}
    for condition in pod["status"]["conditions"]:
        if condition["type"] in ("Ready", "ContainersReady"):
            condition.update(
                status="False",
                lastTransitionTime=since,
                reason="ContainersNotReady",
                message=f"containers with unready status: [{status['name']}]",
            )


# ---------------------------------------------------------------------------------------------------------------------

SAMPLES: tuple[t.Callable[[], Capture], ...] = (
    overnight_kernel_update,
    healthy_plain,
    healthy_mig,
    healthy_time_slicing,
    healthy_dra,
    healthy_driver_container,
    healthy_host_driver,
    healthy_crio,
    healthy_k3s,
    fleet_mixed,
)


def all_files() -> dict[str, str]:
    """Path below the samples folder -> content, of every sample."""
    out = {}
    for build in SAMPLES:
        capture = build()
        out.update({f"{capture.name}/{path}": text for path, text in capture.files().items()})
    return out


def stale(folder: pathlib.Path) -> list[str]:
    """Files that are missing, differ, or are there though no sample writes them."""
    wanted = all_files()
    wrong = [path for path, text in wanted.items() if not (folder / path).is_file() or (folder / path).read_text(encoding="utf-8") != text]
    made = {path.split("/", 1)[0] for path in wanted}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and name.split("/", 1)[0] in made and name not in wanted:
            wrong.append(name)
    return wrong


def write(folder: pathlib.Path) -> int:
    files = all_files()
    for name in sorted({path.split("/", 1)[0] for path in files}):
        shutil.rmtree(folder / name, ignore_errors=True)
    for path, text in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    return len(files)


def main(argv: t.Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Write the bundled sample captures.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when the files on disk differ")
    parser.add_argument("--out", type=pathlib.Path, default=SAMPLES_DIR, help="folder to write to (default: %(default)s)")
    options = parser.parse_args(argv)
    if options.check:
        wrong = stale(options.out)
        for path in wrong:
            print(f"differs from what make_samples.py writes: {path}")
        return 1 if wrong else 0
    print(f"{write(options.out)} files written below {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
