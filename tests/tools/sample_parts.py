# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors
"""What the bundled sample captures are made of: a capture, API objects, host outputs and logs of a GPU node.

Only make_samples.py uses it. Everything is a function of its arguments: no clock, no chance.
"""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
import json
import typing as t

FORMAT = "gpuops.node/capture/v1"
OPERATOR_NS = "gpu-operator"
NO_COMM = (
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. "
    "Make sure that the latest NVIDIA driver is installed and running.\n"
)

Obj = dict[str, t.Any]


# ---------------------------------------------------------------------------------------------------------------------
# names, ids and times


def digest(*parts: object) -> str:
    return hashlib.sha256("/".join(str(p) for p in parts).encode()).hexdigest()


def uid(*parts: object) -> str:
    d = digest("uid", *parts)
    return f"{d[:8]}-{d[8:12]}-4{d[13:16]}-a{d[17:20]}-{d[20:32]}"


def suffix(*parts: object, size: int = 5) -> str:
    """A pod name suffix in the alphabet Kubernetes uses."""
    letters = "bcdfghjklmnpqrstvwxz2456789"
    number = int(digest("suffix", *parts)[:15], 16)
    out = ""
    for _unused in range(size):
        number, rest = divmod(number, len(letters))
        out += letters[rest]
    return out


def gpu_uuid(node: str, index: int) -> str:
    return "GPU-" + uid("gpu", node, index)


def plus(stamp: str, seconds: int) -> str:
    """RFC 3339 time moved by seconds."""
    when = datetime.datetime.strptime(stamp, "%Y-%m-%dT%H:%M:%SZ") + datetime.timedelta(seconds=seconds)
    return when.strftime("%Y-%m-%dT%H:%M:%SZ")


def klog(stamp: str, source: str, text: str, level: str = "I", order: int = 0) -> str:
    """One klog line; order keeps lines of one second in sequence."""
    when = datetime.datetime.strptime(stamp, "%Y-%m-%dT%H:%M:%SZ")
    micros = order * 30000 + int(digest(stamp, source, text)[:4], 16) % 29000 + 500
    return f"{level}{when:%m%d %H:%M:%S}.{micros:06d}       1 {source}] {text}"


def ctime(stamp: str) -> str:
    when = datetime.datetime.strptime(stamp, "%Y-%m-%dT%H:%M:%SZ")
    return f"{when:%a %b} {when.day:2d} {when:%H:%M:%S %Y}"


# ---------------------------------------------------------------------------------------------------------------------
# a capture


@dataclasses.dataclass
class Capture:
    """What goes into one folder: API lists, host outputs, container logs."""

    name: str
    created: str
    nodes: list[str] = dataclasses.field(default_factory=list)
    declared: Obj = dataclasses.field(default_factory=dict)
    lists: dict[str, list[Obj]] = dataclasses.field(default_factory=dict)
    texts: dict[str, str] = dataclasses.field(default_factory=dict)
    entries: list[Obj] = dataclasses.field(default_factory=list)

    def add(self, plural: str, *objects: Obj) -> None:
        self.lists.setdefault(plural, []).extend(objects)

    def host(self, node: str, kind: str, source: str, text: str, *, name: str = "", outcome: str = "seen", rc: int | None = 0) -> None:
        path = f"nodes/{node}/host/{name or kind.replace('_', '-') + '.txt'}"
        self._text(path, text, node, source, kind, outcome, rc)

    def log(self, node: str, pod: str, container: str, text: str, *, namespace: str = OPERATOR_NS, previous: bool = False) -> None:
        path = f"logs/{namespace}_{pod}_{container}{'.previous' if previous else ''}.log"
        source = f"kubectl logs -n {namespace} {pod} -c {container}{' --previous' if previous else ''}"
        self._text(path, text, node, source, "container_log", "seen", 0)

    def _text(self, path: str, text: str, node: str | None, source: str, kind: str, outcome: str, rc: int | None) -> None:
        if path in self.texts:
            raise ValueError(f"{self.name}: {path} written twice")
        self.texts[path] = text if text.endswith("\n") or not text else text + "\n"
        entry: Obj = {"path": path, "node": node, "source": source, "kind": kind, "outcome": outcome, "rc": rc, "taken": self.created}
        self.entries.append(entry)

    def files(self) -> dict[str, str]:
        """Every file of the capture: path -> content."""
        out = dict(self.texts)
        entries = list(self.entries)
        for plural, objects in sorted(self.lists.items()):
            path = f"cluster/{plural}.json"
            out[path] = api_list(objects)
            source = f"kubectl get {plural} -o json" + ("" if plural in CLUSTER_SCOPED else " -A")
            entry = {
                "path": path,
                "node": None,
                "source": source,
                "kind": "kube_objects",
                "outcome": "seen",
                "rc": 0,
                "taken": self.created,
            }
            entries.append(entry)
        head = {"format": FORMAT, "created": self.created, "nodes": self.nodes, "declared": self.declared}
        lines = ",\n".join("  " + json.dumps(e) for e in sorted(entries, key=lambda e: e["path"]))
        out["capture.json"] = json.dumps(head)[:-1] + ', "files": [\n' + lines + "\n]}\n"
        return {path: out[path] for path in sorted(out)}


CLUSTER_SCOPED = ("nodes", "runtimeclasses", "clusterpolicies", "gpuclusters", "deviceclasses", "resourceslices")


def api_list(objects: list[Obj]) -> str:
    """An API List as kubectl prints it, one object a line so that a change stays readable in a diff."""
    rows = ",\n".join(json.dumps(o, separators=(",", ":"), sort_keys=True) for o in objects)
    return '{"apiVersion":"v1","items":[\n' + rows + '\n],"kind":"List","metadata":{"resourceVersion":""}}\n'


# ---------------------------------------------------------------------------------------------------------------------
# machines


@dataclasses.dataclass(frozen=True)
class Gpu:
    """A GPU model as lspci, nvidia-smi and GFD spell it."""

    pci: str
    device: str
    product: str
    memory: int
    idle: int
    cap: int
    buses: tuple[str, ...]
    mig: bool = True
    vga: bool = False

    @property
    def label(self) -> str:
        return self.product.replace(" ", "-")


HGX = ("19", "3b", "4c", "5d", "9b", "bb", "cb", "db")
FOUR = ("17", "3d", "65", "b3")
H100 = Gpu("GH100 [H100 SXM5 80GB]", "2330", "NVIDIA H100 80GB HBM3", 81559, 70, 700, HGX)
A100 = Gpu("GA100 [A100 SXM4 80GB]", "20b2", "NVIDIA A100-SXM4-80GB", 81920, 62, 400, ("07", "0b", "48", "4c", "88", "8b", "c8", "cb"))
L40S = Gpu("AD102GL [L40S]", "26b9", "NVIDIA L40S", 46068, 34, 350, FOUR, mig=False)
A10 = Gpu("GA102GL [A10]", "2236", "NVIDIA A10", 23028, 21, 150, FOUR, mig=False)
RTX4090 = Gpu("AD102 [GeForce RTX 4090]", "2684", "NVIDIA GeForce RTX 4090", 24564, 18, 450, ("01",), mig=False, vga=True)


def lspci(
    gpu: Gpu, *, driver: str | None, modules: str, gone: t.Collection[str] = (), dead: t.Collection[str] = (), switches: bool = False
) -> str:
    """C(lspci -nnk -d 10de:)."""
    rows: list[str] = []
    for bus in ("07", "08", "09", "0a") if switches else ():
        rows += [
            f"{bus}:00.0 Bridge [0680]: NVIDIA Corporation GH100 [H100 NVSwitch] [10de:22a3] (rev a1)",
            "\tSubsystem: NVIDIA Corporation Device [10de:1796]",
        ]
        rows += ["\tKernel driver in use: nvidia-nvswitch"] if driver == "nvidia" else []
        rows += [f"\tKernel modules: {modules}"]
    kind = "VGA compatible controller [0300]" if gpu.vga else "3D controller [0302]"
    for bus in gpu.buses:
        if bus in gone:
            continue
        rows += [f"{bus}:00.0 {kind}: NVIDIA Corporation {gpu.pci} [10de:{gpu.device}] (rev {'ff' if bus in dead else 'a1'})"]
        rows += ["\tSubsystem: NVIDIA Corporation Device [10de:16c1]"]
        rows += [f"\tKernel driver in use: {driver}"] if driver else []
        rows += [f"\tKernel modules: {modules}"]
    return "\n".join(rows) + "\n"


def smi_table(
    gpu: Gpu, node: str, stamp: str, driver: str, cuda: str, *, busy: t.Mapping[int, int] | None = None, mig: bool = False
) -> str:
    """The table of nvidia-smi from R550 on; busy maps an index to used MiB."""
    line = "+-----------------------------------------+------------------------+----------------------+"
    rows = [ctime(stamp) + "       ", "+" + "-" * 89 + "+"]
    rows += ["|" + (f" NVIDIA-SMI {driver}".ljust(35) + f"Driver Version: {driver}".ljust(31) + f"CUDA Version: {cuda}").ljust(89) + "|"]
    rows += [
        "|" + line[1:],
        "| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |",
        "| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |",
        "|                                         |                        |               MIG M. |",
        "|=========================================+========================+======================|",
    ]
    used = dict(busy or {})
    for index, bus in enumerate(gpu.buses):
        heat = int(digest("heat", node, index)[:2], 16) % 9
        memory = used.get(index, 1)
        load = 97 if index in used else 0
        power = gpu.cap - 40 - heat if index in used else gpu.idle + heat
        util = "     N/A" if mig else f"{load:>6}% "
        mode = ("Enabled" if mig else "Disabled") if gpu.mig else "N/A"
        ecc = "On" if mig else ("N/A" if gpu.vga else "0")
        rows += [
            "|"
            + (f" {index:>3}  {gpu.product}".ljust(36) + "On").ljust(41)
            + f"|   00000000:{bus.upper()}:00.0 Off |"
            + f"{ecc} |".rjust(23)
        ]
        rows += [
            "|"
            + f" N/A  {28 + heat:>3}C    P0  {power:>14}W / {gpu.cap:>4}W |"
            + f" {memory:>7}MiB / {gpu.memory:>6}MiB |".rjust(25)
            + f"{util}     Default |".rjust(23)
        ]
        rows += ["|" + " " * 41 + "|" + " " * 24 + "|" + f"{mode} |".rjust(23), line]
    return "\n".join(rows) + "\n"


def smi_list(gpu: Gpu, node: str, profiles: t.Sequence[str] = ()) -> str:
    rows = []
    for index in range(len(gpu.buses)):
        rows.append(f"GPU {index}: {gpu.product} (UUID: {gpu_uuid(node, index)})")
        rows += [f"  MIG {p:<15} Device  {i}: (UUID: MIG-{uid('mig', node, index, i)})" for i, p in enumerate(profiles)]
    return "\n".join(rows) + "\n"


def proc_version(driver: str, built: str, gcc: str, *, open_module: bool = False) -> str:
    if open_module:
        first = f"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  {driver}  Release Build  (dvs-builder@U22-I3-B15-03-2)  {built}"
    else:
        first = f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {driver}  {built}"
    return f"{first}\nGCC version:  {gcc}\n"


BASE_MODULES = (
    ("xt_conntrack", 16384, "9", ""),
    ("nf_conntrack", 172032, "4", "xt_conntrack,nf_nat,xt_MASQUERADE,ip_vs"),
    ("overlay", 155648, "24", ""),
    ("mlx5_ib", 397312, "0", ""),
    ("ib_core", 421888, "8", "rdma_cm,ib_ipoib,iw_cm,ib_umad,rdma_ucm,ib_uverbs,mlx5_ib,ib_cm"),
    ("mlx5_core", 1884160, "1", "mlx5_ib"),
    ("ipmi_devintf", 20480, "0", ""),
    ("ipmi_msghandler", 122880, "2", "ipmi_devintf,ipmi_si"),
    ("nvme", 57344, "4", ""),
    ("nvme_core", 151552, "5", "nvme"),
)
NVIDIA_MODULES = (
    ("nvidia_uvm", 4952064, "8", ""),
    ("nvidia_drm", 122880, "0", ""),
    ("nvidia_modeset", 1355776, "1", "nvidia_drm"),
    ("nvidia", 54308864, "141", "nvidia_uvm,nvidia_modeset"),
)


def lsmod(*modules: tuple[str, int, str, str]) -> str:
    rows = [f"{name:<20} {size:>8}  {refs}" + (f" {by}" if by else "") for name, size, refs, by in modules]
    return "Module                  Size  Used by\n" + "\n".join(rows) + "\n"


def units(active: t.Mapping[str, str], failed: t.Mapping[str, str] | None = None) -> str:
    """C(systemctl show -p Id,LoadState,...); the values are when each unit became active or failed."""
    blocks = []
    for state, since in (("active", active), ("failed", failed or {})):
        for unit, stamp in since.items():
            when = datetime.datetime.strptime(stamp, "%Y-%m-%dT%H:%M:%SZ")
            sub = "running" if state == "active" else "failed"
            rows = [f"Id={unit}.service", "LoadState=loaded", f"ActiveState={state}", f"SubState={sub}", "UnitFileState=enabled"]
            entered = f"{when:%a %Y-%m-%d %H:%M:%S} UTC"
            rows += [f"ActiveEnterTimestamp={entered if state == 'active' else ''}", f"StateChangeTimestamp={entered}"]
            blocks.append("\n".join(rows))
    return "\n\n".join(blocks) + "\n"


def dev_nodes(count: int, day: str) -> str:
    rows = [f"crw-rw-rw- 1 root root 195, {i:3d} {day} /dev/nvidia{i}" for i in range(count)]
    rows += [f"crw-rw-rw- 1 root root 195, 255 {day} /dev/nvidiactl", f"crw-rw-rw- 1 root root 195, 254 {day} /dev/nvidia-modeset"]
    return (
        "\n".join(
            [
                *rows,
                f"crw-rw-rw- 1 root root 508,   0 {day} /dev/nvidia-uvm",
                f"crw-rw-rw- 1 root root 508,   1 {day} /dev/nvidia-uvm-tools",
            ]
        )
        + "\n"
    )


def dmesg_healthy(linux: str, driver_line: str, extra: str = "") -> str:
    """A boot with the lines that look alarming and mean nothing."""
    return (
        f"[    0.000000] {linux}\n"
        "[   11.402211] nvidia: loading out-of-tree module taints kernel.\n"
        "[   11.402222] nvidia: module license 'NVIDIA' taints kernel.\n"
        "[   11.402223] Disabling lock debugging due to kernel taint\n"
        "[   11.428190] nvidia: module verification failed: signature and/or required key missing - tainting kernel\n"
        "[   11.530411] nvidia-nvlink: Nvlink Core is being initialized, major device number 236\n"
        f"[   11.871620] NVRM: loading {driver_line}\n"
        "[   12.560019] nvidia-modeset: Loading NVIDIA Kernel Mode Setting Driver for UNIX platforms\n"
        "[   12.911377] nvidia-uvm: Loaded the UVM driver, major device number 508.\n" + extra
    )


# ---------------------------------------------------------------------------------------------------------------------
# API objects


def conditions(heartbeat: str, since: str) -> list[Obj]:
    rows = (
        ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
        ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
        ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
        ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
    )
    keys = ("type", "status", "reason", "message")
    return [{**dict(zip(keys, row, strict=True)), "lastHeartbeatTime": heartbeat, "lastTransitionTime": since} for row in rows]


@dataclasses.dataclass(frozen=True)
class Machine:
    """What the nodes of one pool have in common."""

    gpu: Gpu | None
    kernel: str
    os_image: str
    os_id: str
    os_version: str
    kubelet: str
    runtime: str
    created: str
    cpu: int = 224
    memory_ki: int = 2113407828
    instance_type: str = ""
    images: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()


DEPLOY = (
    "container-toolkit",
    "dcgm",
    "dcgm-exporter",
    "device-plugin",
    "gpu-feature-discovery",
    "node-status-exporter",
    "operator-validator",
)


def operator_labels(driver: str, **more: str) -> dict[str, str]:
    labels = {f"nvidia.com/gpu.deploy.{name}": "true" for name in DEPLOY}
    return {**labels, "nvidia.com/gpu.deploy.driver": driver, "nvidia.com/gpu.present": "true", **more}


def gfd_labels(
    machine: Machine, driver: str, cuda: str, *, count: int, replicas: int = 1, strategy: str = "single", product: str = ""
) -> dict[str, str]:
    assert machine.gpu is not None
    major, minor = (driver.split(".") + ["0"])[:2]
    labels = {
        "nvidia.com/cuda.driver-version.full": driver,
        "nvidia.com/cuda.driver-version.major": major,
        "nvidia.com/cuda.driver-version.minor": minor,
        "nvidia.com/cuda.runtime-version.full": cuda,
        "nvidia.com/gpu.count": str(count),
        "nvidia.com/gpu.machine": machine.instance_type or "unknown",
        "nvidia.com/gpu.memory": str(machine.gpu.memory),
        "nvidia.com/gpu.mode": "graphics" if machine.gpu.vga else "compute",
        "nvidia.com/gpu.product": product or machine.gpu.label,
        "nvidia.com/gpu.replicas": str(replicas),
        "nvidia.com/gpu.sharing-strategy": "time-slicing" if replicas > 1 else "none",
        "nvidia.com/mig.capable": "true" if machine.gpu.mig else "false",
        "nvidia.com/mig.strategy": strategy,
        "nvidia.com/mps.capable": "false",
    }
    return labels


def node(
    name: str,
    machine: Machine,
    *,
    gpus: tuple[int, int] | None,
    heartbeat: str,
    since: str,
    labels: t.Mapping[str, str] | None = None,
    annotations: t.Mapping[str, str] | None = None,
    extra: t.Mapping[str, tuple[int, int]] | None = None,
    taints: t.Sequence[Obj] = (),
    kernel: str = "",
    boot: str = "",
) -> Obj:
    """A Node; gpus is (capacity, allocatable) of nvidia.com/gpu, None when it was never registered."""
    number = int("".join(c for c in name if c.isdigit()) or 0)
    kernel = kernel or machine.kernel
    release = kernel.split("-")[0].split(".")
    all_labels = {
        "beta.kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        **({"node.kubernetes.io/instance-type": machine.instance_type} if machine.instance_type else {}),
        **{f"node-role.kubernetes.io/{role}": "" for role in machine.roles},
    }
    if machine.gpu is not None and labels and any(k.startswith("nvidia.com/") for k in labels):
        all_labels.update(
            {
                "feature.node.kubernetes.io/cpu-model.vendor_id": "Intel",
                "feature.node.kubernetes.io/kernel-version.full": kernel,
                "feature.node.kubernetes.io/kernel-version.major": release[0],
                "feature.node.kubernetes.io/kernel-version.minor": release[1],
                "feature.node.kubernetes.io/pci-10de.present": "true",
                "feature.node.kubernetes.io/system-os_release.ID": machine.os_id,
                "feature.node.kubernetes.io/system-os_release.VERSION_ID": machine.os_version,
            }
        )
    all_labels.update(labels or {})
    capacity = {"cpu": str(machine.cpu), "ephemeral-storage": "1845498260Ki", "hugepages-1Gi": "0", "hugepages-2Mi": "0"}
    capacity |= {"memory": f"{machine.memory_ki}Ki", "pods": "110"}
    allocatable = {**capacity, "ephemeral-storage": "1700811194103", "memory": f"{machine.memory_ki - 102400}Ki"}
    for resource, (have, offer) in {**({"nvidia.com/gpu": gpus} if gpus else {}), **(extra or {})}.items():
        capacity[resource] = str(have)
        allocatable[resource] = str(offer)
    spec: Obj = {"podCIDR": f"10.244.{number}.0/24", "podCIDRs": [f"10.244.{number}.0/24"]}
    if taints:
        spec["taints"] = list(taints)
    image_sizes = [(image, 90000000 + int(digest(image)[:6], 16) * 40) for image in machine.images]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "annotations": {
                "node.alpha.kubernetes.io/ttl": "0",
                "volumes.kubernetes.io/controller-managed-attach-detach": "true",
                **(annotations or {}),
            },
            "creationTimestamp": machine.created,
            "labels": all_labels,
            "name": name,
            "resourceVersion": str(90000000 + int(digest(name)[:6], 16)),
            "uid": uid("node", name, machine.created),
        },
        "spec": spec,
        "status": {
            "addresses": [{"address": f"10.20.0.{number}", "type": "InternalIP"}, {"address": name, "type": "Hostname"}],
            "allocatable": allocatable,
            "capacity": capacity,
            "conditions": conditions(heartbeat, since),
            "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
            "images": [{"names": [image], "sizeBytes": size} for image, size in image_sizes],
            "nodeInfo": {
                "architecture": "amd64",
                "bootID": uid("boot", name, boot or since),
                "containerRuntimeVersion": machine.runtime,
                "kernelVersion": kernel,
                "kubeProxyVersion": "" if machine.kubelet >= "v1.33" else machine.kubelet,
                "kubeletVersion": machine.kubelet,
                "machineID": digest("machine", name)[:32],
                "operatingSystem": "linux",
                "osImage": machine.os_image,
                "systemUUID": uid("system", name),
            },
        },
    }


GPU_TOLERATION = {"effect": "NoSchedule", "key": "nvidia.com/gpu", "operator": "Exists"}
DAEMON_TOLERATIONS = [
    {"effect": effect, "key": f"node.kubernetes.io/{key}", "operator": "Exists"}
    for key, effect in (
        ("not-ready", "NoExecute"),
        ("unreachable", "NoExecute"),
        ("disk-pressure", "NoSchedule"),
        ("memory-pressure", "NoSchedule"),
        ("pid-pressure", "NoSchedule"),
        ("unschedulable", "NoSchedule"),
    )
]
POD_TOLERATIONS = [
    {"effect": "NoExecute", "key": f"node.kubernetes.io/{key}", "operator": "Exists", "tolerationSeconds": 300}
    for key in ("not-ready", "unreachable")
]


@dataclasses.dataclass(frozen=True)
class Box:
    """A container: how it is asked for and, in a pod that is not fine, how it stands."""

    name: str
    image: str
    limits: tuple[tuple[str, str], ...] = ()
    restarts: int = 0
    state: t.Any = None  # containerStatus.state; None: running (or, for an init container, completed)
    last: t.Any = None
    ready: bool = True
    env: tuple[tuple[str, str], ...] = ()
    command: tuple[str, ...] = ()

    def spec(self) -> Obj:
        out: Obj = {"image": self.image, "imagePullPolicy": "IfNotPresent", "name": self.name, "resources": {}}
        if self.limits:
            out["resources"] = {"limits": dict(self.limits), "requests": dict(self.limits)}
        if self.env:
            out["env"] = [{"name": k, "value": v} for k, v in self.env]
        if self.command:
            out["command"] = list(self.command)
        return out

    def status(self, started: str, *, init: bool) -> Obj:
        state = self.state
        if state is None:
            done = {"exitCode": 0, "finishedAt": plus(started, 4), "reason": "Completed", "startedAt": started}
            state = {"terminated": done} if init else {"running": {"startedAt": started}}
        return {
            "image": self.image,
            "imageID": f"{self.image.rsplit(':', 1)[0]}@sha256:{digest('image', self.image)}",
            "lastState": self.last or {},
            "name": self.name,
            "ready": self.ready,
            "restartCount": self.restarts,
            "started": not init and "running" in state,
            "state": state,
        }


def pod(
    name: str,
    namespace: str,
    on: str | None,
    boxes: t.Sequence[Box],
    *,
    created: str,
    owner: tuple[str, str] | None,
    init: t.Sequence[Box] = (),
    labels: t.Mapping[str, str] | None = None,
    annotations: t.Mapping[str, str] | None = None,
    phase: str = "Running",
    started: str = "",
    selector: t.Mapping[str, str] | None = None,
    runtime_class: str = "",
    tolerations: t.Sequence[Obj] = (),
    priority: str = "",
    scheduler: str = "default-scheduler",
    message: str = "",
    reason: str = "",
    claims: t.Sequence[Obj] = (),
    claim_statuses: t.Sequence[Obj] = (),
) -> Obj:
    started = started or plus(created, 6)
    metadata: Obj = {
        "creationTimestamp": created,
        "labels": dict(labels or {}),
        "name": name,
        "namespace": namespace,
        "uid": uid("pod", namespace, name),
    }
    if annotations:
        metadata["annotations"] = dict(annotations)
    if owner:
        version = {"DaemonSet": "apps/v1", "ReplicaSet": "apps/v1", "StatefulSet": "apps/v1", "Job": "batch/v1"}[owner[0]]
        metadata["ownerReferences"] = [
            {
                "apiVersion": version,
                "blockOwnerDeletion": True,
                "controller": True,
                "kind": owner[0],
                "name": owner[1],
                "uid": uid(*owner, namespace),
            }
        ]
    spec: Obj = {
        "containers": [box.spec() for box in boxes],
        "enableServiceLinks": True,
        "restartPolicy": "Never" if owner and owner[0] == "Job" else "Always",
        "schedulerName": scheduler,
        "serviceAccountName": "default",
        "tolerations": list(tolerations) or list(POD_TOLERATIONS),
    }
    for key, value in (
        ("initContainers", [box.spec() for box in init]),
        ("nodeSelector", dict(selector or {})),
        ("runtimeClassName", runtime_class),
        ("priorityClassName", priority),
        ("nodeName", on),
        ("resourceClaims", list(claims)),
    ):
        if value:
            spec[key] = value
    if on is None:
        said = {"lastProbeTime": None, "lastTransitionTime": created, "message": message, "reason": "Unschedulable"}
        status: Obj = {"conditions": [{**said, "status": "False", "type": "PodScheduled"}], "phase": "Pending", "qosClass": "Burstable"}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status}
    initialized = all(box.state is None for box in init)
    ready = initialized and all(box.ready and box.state is None for box in boxes)
    rows = (
        ("PodReadyToStartContainers", True),
        ("Initialized", initialized),
        ("Ready", ready),
        ("ContainersReady", ready),
        ("PodScheduled", True),
    )
    status = {
        "conditions": [
            {"lastProbeTime": None, "lastTransitionTime": started, "status": "True" if ok else "False", "type": kind} for kind, ok in rows
        ],
        "containerStatuses": [box.status(plus(started, 5 * len(init)), init=False) for box in boxes],
        "phase": phase,
        "podIP": f"10.244.{int(''.join(c for c in on if c.isdigit()) or 0)}.{int(digest(name)[:2], 16) % 200 + 3}",
        "qosClass": "BestEffort",
        "startTime": plus(created, 6),
    }
    if init:
        status["initContainerStatuses"] = [box.status(plus(started, 5 * i), init=True) for i, box in enumerate(init)]
    if reason:
        status["reason"] = reason
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": spec,
        "status": {**status, **({"resourceClaimStatuses": list(claim_statuses)} if claim_statuses else {})},
    }


def daemonset(
    name: str,
    namespace: str,
    *,
    desired: int,
    ready: int | None = None,
    selector: t.Mapping[str, str] | None = None,
    image: str,
    container: str = "",
    created: str,
    runtime_class: str = "",
    owner: str = "",
    update: str = "RollingUpdate",
    affinity: Obj | None = None,
) -> Obj:
    ready = desired if ready is None else ready
    template: Obj = {
        "containers": [{"image": image, "name": container or name}],
        "nodeSelector": dict(selector or {}),
        "tolerations": [GPU_TOLERATION],
    }
    if runtime_class:
        template["runtimeClassName"] = runtime_class
    if affinity:
        template["affinity"] = affinity
    metadata: Obj = {
        "creationTimestamp": created,
        "generation": 1,
        "labels": {"app": name},
        "name": name,
        "namespace": namespace,
        "uid": uid("DaemonSet", name, namespace),
    }
    if owner:
        metadata["ownerReferences"] = [
            {"apiVersion": "nvidia.com/v1", "controller": True, "kind": owner, "name": "cluster-policy", "uid": uid("policy")}
        ]
    status = {
        "currentNumberScheduled": desired,
        "desiredNumberScheduled": desired,
        "numberAvailable": ready,
        "numberMisscheduled": 0,
        "numberReady": ready,
        "numberUnavailable": desired - ready,
        "observedGeneration": 1,
        "updatedNumberScheduled": desired,
    }
    spec = {
        "selector": {"matchLabels": {"app": name}},
        "template": {"metadata": {"labels": {"app": name}}, "spec": template},
        "updateStrategy": {"type": update},
    }
    return {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": metadata, "spec": spec, "status": status}


def runtime_class(name: str, created: str) -> Obj:
    metadata = {"creationTimestamp": created, "name": name, "uid": uid("RuntimeClass", name, created)}
    return {"apiVersion": "node.k8s.io/v1", "handler": name, "kind": "RuntimeClass", "metadata": metadata}


def cluster_policy(created: str, *, ready: bool, since: str, driver_enabled: bool = True, message: str = "") -> Obj:
    spec = {
        "cdi": {"default": False, "enabled": False},
        "daemonsets": {"tolerations": [GPU_TOLERATION], "updateStrategy": "RollingUpdate"},
        "driver": {"enabled": driver_enabled, "upgradePolicy": {"autoUpgrade": True, "maxParallelUpgrades": 1, "maxUnavailable": "25%"}},
        "operator": {"defaultRuntime": "containerd", "runtimeClass": "nvidia"},
        "toolkit": {"enabled": True, "installDir": "/usr/local/nvidia"},
        "validator": {"plugin": {"env": [{"name": "WITH_WORKLOAD", "value": "false"}]}},
    }
    states = (("Ready", ready, "Reconciled" if ready else "OperandNotReady"), ("Error", False, "Ready" if ready else "OperandNotReady"))
    rows = [
        {
            "lastTransitionTime": since,
            "message": message if kind == "Ready" else "",
            "reason": why,
            "status": "True" if on else "False",
            "type": kind,
        }
        for kind, on, why in states
    ]
    return {
        "apiVersion": "nvidia.com/v1",
        "kind": "ClusterPolicy",
        "metadata": {"creationTimestamp": created, "generation": 3, "name": "cluster-policy", "uid": uid("policy")},
        "spec": spec,
        "status": {"conditions": rows, "namespace": OPERATOR_NS, "state": "ready" if ready else "notReady"},
    }


def event(
    kind: str,
    name: str,
    namespace: str,
    reason: str,
    message: str,
    *,
    first: str,
    last: str,
    count: int,
    source: str,
    kind_of: str = "Warning",
    host: str = "",
) -> Obj:
    return {
        "apiVersion": "v1",
        "count": count,
        "eventTime": None,
        "firstTimestamp": first,
        "involvedObject": {
            "apiVersion": "v1",
            "kind": kind,
            "name": name,
            "namespace": namespace,
            "uid": uid(kind.lower(), namespace, name),
        },
        "kind": "Event",
        "lastTimestamp": last,
        "message": message,
        "metadata": {"creationTimestamp": first, "name": f"{name}.{digest('event', name, reason, message)[:16]}", "namespace": namespace},
        "reason": reason,
        "reportingComponent": source,
        "reportingInstance": host,
        "source": {"component": source, **({"host": host} if host else {})},
        "type": kind_of,
    }


# ---------------------------------------------------------------------------------------------------------------------
# GPU operator operands


@dataclasses.dataclass(frozen=True)
class Stack:
    """Versions of one GPU operator installation."""

    operator: str = "v25.3.0"
    toolkit: str = "v1.17.5-ubuntu20.04"
    plugin: str = "v0.17.1"
    dcgm: str = "4.1.1-4.0.4-ubuntu22.04"
    nfd: str = "v0.17.2"
    namespace: str = OPERATOR_NS

    @property
    def validator_image(self) -> str:
        return f"nvcr.io/nvidia/cloud-native/gpu-operator-validator:{self.operator}"

    @property
    def toolkit_image(self) -> str:
        return f"nvcr.io/nvidia/k8s/container-toolkit:{self.toolkit}"

    @property
    def plugin_image(self) -> str:
        return f"nvcr.io/nvidia/k8s-device-plugin:{self.plugin}"

    @property
    def dcgm_image(self) -> str:
        return f"nvcr.io/nvidia/k8s/dcgm-exporter:{self.dcgm}"

    @property
    def nfd_image(self) -> str:
        return f"registry.k8s.io/nfd/node-feature-discovery:{self.nfd}"

    @property
    def images(self) -> tuple[str, ...]:
        return (self.dcgm_image, self.plugin_image, self.toolkit_image, self.validator_image, self.nfd_image)


PLUGIN_ENV = (
    ("PASS_DEVICE_SPECS", "true"),
    ("FAIL_ON_INIT_ERROR", "true"),
    ("DEVICE_LIST_STRATEGY", "envvar"),
    ("DEVICE_ID_STRATEGY", "uuid"),
    ("NVIDIA_VISIBLE_DEVICES", "all"),
    ("NVIDIA_DRIVER_CAPABILITIES", "all"),
    ("MPS_ROOT", "/run/nvidia/mps"),
)
VALIDATION_STEPS = ("driver-validation", "toolkit-validation", "cuda-validation", "plugin-validation")
WAIT_FOR_TOOLKIT = (
    "sh",
    "-c",
    "until [ -f /run/nvidia/validations/toolkit-ready ]; do echo waiting for nvidia container stack to be setup; sleep 5; done",
)


@dataclasses.dataclass(frozen=True)
class Operand:
    """One operand DaemonSet: its containers, what it waits for, and the label that places it."""

    daemonset: str
    container: str
    waits: tuple[str, ...]
    deploy: str
    runtime_class: str = "nvidia"

    def image(self, stack: Stack) -> str:
        table = {
            "nvidia-container-toolkit-daemonset": stack.toolkit_image,
            "nvidia-device-plugin-daemonset": stack.plugin_image,
            "gpu-feature-discovery": stack.plugin_image,
            "nvidia-dcgm-exporter": stack.dcgm_image,
            "nvidia-operator-validator": stack.validator_image,
            "nvidia-mig-manager": "nvcr.io/nvidia/cloud-native/k8s-mig-manager:v0.12.1-ubuntu20.04",
        }
        return table[self.daemonset]


TOOLKIT = Operand("nvidia-container-toolkit-daemonset", "nvidia-container-toolkit-ctr", ("driver-validation",), "container-toolkit", "")
PLUGIN = Operand("nvidia-device-plugin-daemonset", "nvidia-device-plugin", ("toolkit-validation",), "device-plugin")
GFD = Operand("gpu-feature-discovery", "gpu-feature-discovery", ("toolkit-validation",), "gpu-feature-discovery")
DCGM = Operand("nvidia-dcgm-exporter", "nvidia-dcgm-exporter", ("toolkit-validation",), "dcgm-exporter")
VALIDATOR = Operand("nvidia-operator-validator", "nvidia-operator-validator", VALIDATION_STEPS, "operator-validator")
MIG_MANAGER = Operand("nvidia-mig-manager", "nvidia-mig-manager", ("toolkit-validation",), "mig-manager")
OPERANDS = (TOOLKIT, PLUGIN, GFD, DCGM, VALIDATOR)


def operand_pod_name(operand: Operand, on: str) -> str:
    return f"{operand.daemonset}-{suffix(operand.daemonset, on)}"


def operand_pod(operand: Operand, on: str, stack: Stack, created: str, *, started: str = "", stuck: bool = False) -> Obj:
    """A pod of an operand; stuck: the node was rebooted and the first init container has been waiting since."""
    cut = {"terminated": {"exitCode": 255, "reason": "Unknown", "startedAt": plus(created, 9), "finishedAt": started}} if stuck else None
    init, later = [], {"waiting": {"reason": "PodInitializing"}}
    for index, step in enumerate(operand.waits):
        image = stack.validator_image
        state = ({"running": {"startedAt": plus(started, 4)}} if index == 0 else later) if stuck else None
        last = (
            {"terminated": {"exitCode": 0, "reason": "Completed", "startedAt": plus(created, 9), "finishedAt": plus(created, 12)}}
            if stuck and index == 0
            else None
        )
        command = WAIT_FOR_TOOLKIT if step == "toolkit-validation" and operand is not VALIDATOR else ()
        init.append(Box(step, image, restarts=int(stuck and index == 0), state=state, last=last, ready=not stuck, command=command))
    env = PLUGIN_ENV if operand is PLUGIN else ()
    box = Box(operand.container, operand.image(stack), state=later if stuck else None, last=cut, ready=not stuck, env=env)
    return pod(
        operand_pod_name(operand, on),
        stack.namespace,
        on,
        [box],
        init=init,
        created=created,
        started=started or plus(created, 6),
        owner=("DaemonSet", operand.daemonset),
        labels={"app": operand.daemonset, "app.kubernetes.io/managed-by": "gpu-operator"},
        phase="Pending" if stuck else "Running",
        selector={f"nvidia.com/gpu.deploy.{operand.deploy}": "true"},
        runtime_class=operand.runtime_class,
        tolerations=[GPU_TOLERATION, *DAEMON_TOLERATIONS],
        priority="system-node-critical",
    )


def operator_pods(stack: Stack, created: str, on: str) -> list[Obj]:
    """The operator itself and the NFD master."""
    out = []
    for name, image, box in (
        ("gpu-operator", f"nvcr.io/nvidia/gpu-operator:{stack.operator}", "gpu-operator"),
        ("gpu-operator-node-feature-discovery-master", stack.nfd_image, "master"),
        ("gpu-operator-node-feature-discovery-gc", stack.nfd_image, "gc"),
    ):
        replica = digest("rs", name, created)[:10]
        pod_name = f"{name}-{replica}-{suffix(name, created)}"
        out.append(
            pod(
                pod_name,
                stack.namespace,
                on,
                [Box(box, image)],
                created=created,
                owner=("ReplicaSet", f"{name}-{replica}"),
                labels={"app": name},
            )
        )
    return out


def nfd_worker(stack: Stack, on: str, created: str) -> Obj:
    name = "gpu-operator-node-feature-discovery-worker"
    tolerations = [
        {"effect": "NoSchedule", "key": "node-role.kubernetes.io/control-plane", "operator": "Exists"},
        GPU_TOLERATION,
        *DAEMON_TOLERATIONS,
    ]
    return pod(
        f"{name}-{suffix(name, on)}",
        stack.namespace,
        on,
        [Box("worker", stack.nfd_image)],
        created=created,
        owner=("DaemonSet", name),
        labels={"app": name},
        tolerations=tolerations,
    )


def operator_daemonsets(
    stack: Stack,
    created: str,
    *,
    nodes: int,
    ready: int | None = None,
    driver: str = "",
    driver_nodes: int = 0,
    operands: t.Sequence[Operand] = OPERANDS,
) -> list[Obj]:
    out = [
        daemonset(
            o.daemonset,
            stack.namespace,
            desired=nodes,
            ready=ready,
            selector={f"nvidia.com/gpu.deploy.{o.deploy}": "true"},
            image=o.image(stack),
            container=o.container,
            created=created,
            runtime_class=o.runtime_class,
            owner="ClusterPolicy",
        )
        for o in operands
    ]
    if driver:
        selector = {"nvidia.com/gpu.deploy.driver": "true"}
        out.append(
            daemonset(
                "nvidia-driver-daemonset",
                stack.namespace,
                desired=driver_nodes,
                selector=selector,
                image=driver,
                container="nvidia-driver-ctr",
                created=created,
                owner="ClusterPolicy",
                update="OnDelete",
            )
        )
    out.append(
        daemonset(
            "gpu-operator-node-feature-discovery-worker",
            stack.namespace,
            desired=nodes,
            image=stack.nfd_image,
            container="worker",
            created=created,
        )
    )
    return sorted(out, key=lambda d: d["metadata"]["name"])


# ---------------------------------------------------------------------------------------------------------------------
# logs


def plugin_log(
    stamp: str,
    *,
    version: str = "0.17.1",
    strategy: str = "none",
    replicas: int = 0,
    resources: t.Sequence[str] = ("nvidia.com/gpu",),
) -> str:
    """A device plugin of 0.16 and later that finds its driver and registers."""
    sharing: Obj = {"timeSlicing": {}}
    if replicas:
        sharing = {"timeSlicing": {"resources": [{"name": "nvidia.com/gpu", "devices": "all", "replicas": replicas}]}}
    config = {
        "version": "v1",
        "flags": {
            "migStrategy": strategy,
            "failOnInitError": True,
            "mpsRoot": "/run/nvidia/mps",
            "nvidiaDriverRoot": "/driver-root",
            "nvidiaDevRoot": "/driver-root",
            "gdsEnabled": False,
            "mofedEnabled": False,
            "useNodeFeatureAPI": None,
            "deviceDiscoveryStrategy": "auto",
            "plugin": {
                "passDeviceSpecs": True,
                "deviceListStrategy": ["envvar"],
                "deviceIDStrategy": "uuid",
                "cdiAnnotationPrefix": "cdi.k8s.io/",
                "nvidiaCTKPath": "/usr/bin/nvidia-ctk",
                "containerDriverRoot": "/driver-root",
            },
        },
        "resources": {"gpus": [{"pattern": "*", "name": "nvidia.com/gpu"}]},
        "sharing": sharing,
        "imex": {},
    }
    commit = digest("device plugin", version)[:40]
    said = [
        ("main.go:235", f'"Starting NVIDIA Device Plugin" version=<\n\t{commit[:8]}\n\tcommit: {commit}\n >'),
        ("main.go:238", "Starting FS watcher for /var/lib/kubelet/device-plugins"),
        ("main.go:245", "Starting OS watcher."),
        ("main.go:260", "Starting Plugins."),
        ("main.go:317", "Loading configuration."),
        ("main.go:342", "Updating config with default resource matching patterns."),
        ("main.go:353", "\nRunning with config:\n" + json.dumps(config, indent=2)),
        ("main.go:356", "Retrieving plugins."),
    ]
    for resource in resources:
        socket = f"/var/lib/kubelet/device-plugins/nvidia-{resource.split('/')[1]}.sock"
        said += [
            ("server.go:195", f"Starting GRPC server for '{resource}'"),
            ("server.go:139", f"Starting to serve '{resource}' on {socket}"),
            ("server.go:146", f"Registered device plugin for '{resource}' with Kubelet"),
        ]
    return "\n".join(klog(stamp, source, text, order=i) for i, (source, text) in enumerate(said)) + "\n"


def logrus(stamp: str, level: str, text: str) -> str:
    return f'time="{stamp}" level={level} msg="{text}"'


def validator_log(stamp: str, table: str, *, host: bool, managed: bool = True) -> str:
    """The driver step that succeeds: on the host, or (host failing first, which is normal) in the driver container."""
    rows = [
        logrus(stamp, "info", "version: 8f6c5a0d, commit: 8f6c5a0"),
        logrus(stamp, "info", "Attempting to validate a pre-installed driver on the host"),
    ]
    if host:
        return "\n".join(rows) + "\n" + table + logrus(stamp, "info", "Detected a pre-installed driver on the host") + "\n"
    rows += [
        "chroot: failed to run command 'nvidia-smi': No such file or directory",
        logrus(stamp, "info", "No pre-installed driver detected on the host: exit status 127"),
    ]
    if managed:
        rows += [
            logrus(
                stamp, "info", "Driver is not pre-installed on the host and is managed by GPU Operator. Checking driver container status."
            )
        ]
        rows += ["running command sh with args [-c stat /run/nvidia/validations/.driver-ctr-ready]"]
    rows += [logrus(stamp, "info", "Attempting to validate a driver container installation")]
    tail = [logrus(stamp, "info", "creating symlinks under /dev/char that correspond to NVIDIA character devices")]
    return "\n".join(rows) + "\n" + table + "\n".join(tail) + "\n"


def validator_stuck(stamp: str, tries: int) -> str:
    """Driver step on a node whose host driver does not answer; the operator's driver DaemonSet exists but not for this node."""
    rows = [
        logrus(stamp, "info", "version: 8f6c5a0d, commit: 8f6c5a0"),
        logrus(stamp, "info", "Attempting to validate a pre-installed driver on the host"),
    ]
    rows += [NO_COMM.rstrip("\n"), logrus(stamp, "info", "No pre-installed driver detected on the host: exit status 9")]
    rows += [
        logrus(stamp, "info", "Driver is not pre-installed on the host and is managed by GPU Operator. Checking driver container status.")
    ]
    for attempt in range(tries):
        rows += ["running command sh with args [-c stat /run/nvidia/validations/.driver-ctr-ready]"]
        rows += ["stat: cannot statx '/run/nvidia/validations/.driver-ctr-ready': No such file or directory"]
        rows += [
            logrus(plus(stamp, 5 * attempt), "warning", "error running command: exit status 1"),
            "command failed, retrying after 5 seconds",
        ]
    return "\n".join(rows) + "\n"


def toolkit_log(stamp: str, engine: str = "containerd") -> str:
    """The toolkit container that configured its engine and waits; CRI-O reads its drop-in without being signalled."""
    config = "/runtime/config-dir/" + ("config.toml" if engine == "containerd" else "99-nvidia.conf")
    said = [
        "Parsing arguments",
        "Starting nvidia-toolkit",
        "disabling device node creation since --cdi-enabled=false",
        "Installing toolkit",
        "Installing NVIDIA container toolkit to '/usr/local/nvidia/toolkit'",
    ]
    said += [f"Using config version 2\\nLoading config from {config}"] if engine == "containerd" else [f"Loading config from {config}"]
    said += [f"Successfully flushed config to {config}"]
    said += ["Sending SIGHUP signal to containerd", "Successfully signaled containerd"] if engine == "containerd" else []
    return "\n".join(logrus(stamp, "info", text) for text in [*said, f"Completed 'setup' for {engine}", "Waiting for signal"]) + "\n"


CONTAINERD_V2 = """version = 2
root = "/var/lib/containerd"
state = "/run/containerd"

[grpc]
  address = "/run/containerd/containerd.sock"

[plugins]

  [plugins."io.containerd.grpc.v1.cri"]
    sandbox_image = "registry.k8s.io/pause:3.10"

    [plugins."io.containerd.grpc.v1.cri".containerd]
      default_runtime_name = "{default}"
      snapshotter = "overlayfs"

      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes]

        [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia]
          privileged_without_host_devices = false
          runtime_type = "io.containerd.runc.v2"

          [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia.options]
            BinaryName = "{binary}"
            SystemdCgroup = true

        [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
          runtime_type = "io.containerd.runc.v2"

          [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
            SystemdCgroup = true
"""

TOOLKIT_CONFIG = """accept-nvidia-visible-devices-as-volume-mounts = false
accept-nvidia-visible-devices-envvar-when-unprivileged = true
disable-require = false

[nvidia-container-cli]
environment = []
ldconfig = "@{ldconfig}"
load-kmods = true
path = "{prefix}/nvidia-container-cli"
root = "{root}"

[nvidia-container-runtime]
log-level = "info"
mode = "auto"
runtimes = ["runc", "crun"]

[nvidia-container-runtime-hook]
path = "{prefix}/nvidia-container-runtime-hook"
skip-mode-detection = true

[nvidia-ctk]
path = "{prefix}/nvidia-ctk"
"""


def cli_info(gpu: Gpu, node_name: str, driver: str, cuda: str) -> str:
    """C(nvidia-container-cli -k -d /dev/stderr info) with the missing optional libraries that mean nothing."""
    rows = ["", "-- WARNING, the following logs are for debugging purposes only --", ""]
    stamp = "I0606 08:14:10"
    rows += [
        f"{stamp}.220113 88121 nvc.c:393] initializing library context (version=1.17.8, build=6eda4d76c8c5f8fc174e4abca83e513fb4dd63b0)"
    ]
    rows += [
        f"{stamp}.220160 88121 nvc.c:364] using root /",
        f"W{stamp[1:]}.301201 88122 nvc.c:273] failed to set inheritable capabilities",
    ]
    rows += [
        f"W{stamp[1:]}.519021 88121 nvc_info.c:401] missing library {lib}" for lib in ("libnvidia-nscq.so", "libnvidia-fatbinaryloader.so")
    ]
    rows += [
        f"W{stamp[1:]}.519040 88121 nvc_info.c:405] missing compat32 library {lib}"
        for lib in ("libnvidia-ml.so", "libcuda.so", "libnvidia-compiler.so")
    ]
    rows += [f"NVRM version:   {driver}", f"CUDA version:   {cuda}", ""]
    for index, bus in enumerate(gpu.buses):
        rows += [
            f"Device Index:   {index}",
            f"Device Minor:   {index}",
            f"Model:          {gpu.product}",
            "Brand:          Nvidia",
            f"GPU UUID:       {gpu_uuid(node_name, index)}",
        ]
        rows += [f"Bus Location:   00000000:{bus}:00.0", "Architecture:   8.0", ""]
    return "\n".join(rows) + "\n"


def checkpoint(registered: t.Mapping[str, list[str]], held: t.Sequence[tuple[str, str, str, list[str]]] = ()) -> str:
    entries = [{"PodUID": u, "ContainerName": c, "ResourceName": r, "DeviceIDs": {"0": ids}, "AllocResp": ""} for u, c, r, ids in held]
    data = {"PodDeviceEntries": entries or None, "RegisteredDevices": dict(registered)}
    return json.dumps({"Data": data, "Checksum": int(digest("checkpoint", json.dumps(data))[:8], 16)}, separators=(",", ":")) + "\n"
