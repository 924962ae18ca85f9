# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors
"""Reading Kubernetes objects without trusting them: any key may be missing, any value of another type.

Objects are dicts in the API's shape. Those made from printed text carry "_partial" (and rows of a table
"_table"): there a missing key is silence, never proof of absence. `None` means "not known" throughout.
"""

from __future__ import annotations

import datetime
import email.utils
import re
import typing as t

from ansible_collections.gpuops.node.plugins.plugin_utils import kubectl_text
from ansible_collections.gpuops.node.plugins.plugin_utils.evidence import Quote

Obj = t.Mapping[str, t.Any]
Objects = t.Mapping[str, t.Sequence[Obj]]

GPU = "nvidia.com/gpu"
# Whole GPUs and their shares: plain, renamed by time-slicing/MPS, MIG mixed, KubeVirt's upper-case device names.
GPU_RESOURCE = re.compile(r"^nvidia\.com/(?:gpu(?:\.shared)?|(?:mig-)[\w.+-]+|[A-Z][A-Z0-9]*_[A-Z0-9_-]+|[A-Z]{1,3}\d{2,4}[\w-]*)$")
# Names that are wrong everywhere with the stock plugin but were plainly meant to be a GPU.
GPU_LIKE = re.compile(r"gpu|^nvidia\.com/mig-", re.IGNORECASE)
# HAMi's own knobs share the prefix and are no devices.
NOT_A_DEVICE = re.compile(r"^nvidia\.com/(?:gpumem(?:-percentage)?|gpucores|priority|hostdev|mlnxnics|rdma\w*|cc\w*)$")

NO_SCHEDULE = ("NoSchedule", "NoExecute")
UNSCHEDULABLE_TAINT = "node.kubernetes.io/unschedulable"
# Written by the node lifecycle controller: they mirror conditions.
CONDITION_TAINTS = {
    "node.kubernetes.io/not-ready": "Ready",
    "node.kubernetes.io/unreachable": "Ready",
    "node.kubernetes.io/memory-pressure": "MemoryPressure",
    "node.kubernetes.io/disk-pressure": "DiskPressure",
    "node.kubernetes.io/pid-pressure": "PIDPressure",
    "node.kubernetes.io/network-unavailable": "NetworkUnavailable",
}


# ---- reading objects --------------------------------------------------------------------------------------


def at(obj: t.Any, *path: str) -> t.Any:
    """The value at a path of keys, or None."""
    for key in path:
        if not isinstance(obj, dict):
            return None
        obj = obj.get(key)
    return obj


def mapping(obj: t.Any, *path: str) -> dict[str, t.Any]:
    value = at(obj, *path)
    return {str(k): v for k, v in value.items()} if isinstance(value, t.Mapping) else {}


def items(obj: t.Any, *path: str) -> list[dict[str, t.Any]]:
    """The objects of a list; anything else in it is not an object and is left out."""
    value = at(obj, *path)
    return [dict(entry) for entry in value if isinstance(entry, t.Mapping)] if isinstance(value, (list, tuple)) else []


def strings(obj: t.Any, *path: str) -> list[str]:
    value = at(obj, *path)
    return [str(entry) for entry in value if isinstance(entry, (str, int, float, bool))] if isinstance(value, (list, tuple)) else []


def text(obj: t.Any, *path: str) -> str:
    value = at(obj, *path)
    return str(value) if isinstance(value, (str, int, float)) and not isinstance(value, bool) else ""


def integer(value: t.Any) -> int | None:
    """A whole number given as a number or as text; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    found = re.fullmatch(r"([+-]?\d{1,18})(?:\.0)?", str(value).strip())
    return int(found.group(1)) if found else None


def partial(obj: t.Any) -> bool:
    """Made from printed text that may have left things out, or a row of a table."""
    return bool(at(obj, "_partial") or at(obj, "_table"))


def known(obj: t.Any, *path: str) -> bool:
    """Whether an absent value at this path is proof of absence (a whole object) or only silence (a part of one)."""
    return at(obj, *path) is not None or not partial(obj)


def name_of(obj: t.Any) -> str:
    return text(obj, "metadata", "name")


def full_name(obj: t.Any) -> str:
    space, name = text(obj, "metadata", "namespace"), name_of(obj) or "?"
    return f"{space}/{name}" if space else name


def labels_of(obj: t.Any) -> dict[str, str]:
    return {k: str(v) for k, v in mapping(obj, "metadata", "labels").items() if v is not None}


def annotations_of(obj: t.Any) -> dict[str, str]:
    return {k: str(v) for k, v in mapping(obj, "metadata", "annotations").items() if v is not None}


def source_of(obj: t.Any, kind: str = "") -> str:
    return text(obj, "_source") or f"{text(obj, 'kind') or kind or 'object'}/{full_name(obj)}"


def quote(obj: t.Any, said: str, kind: str = "", time: str | None = None) -> Quote:
    return Quote(source_of(obj, kind), said[:400], None, time)


def node_of(pod: t.Any) -> str | None:
    name = text(pod, "spec", "nodeName") or text(pod, "_table", "node")
    return name if name and not name.startswith("<") else None


def condition(obj: t.Any, kind: str) -> dict[str, t.Any]:
    return next((c for c in items(obj, "status", "conditions") if c.get("type") == kind), {})


def node_ready(node: t.Any) -> bool | None:
    status = text(condition(node, "Ready"), "status")
    if status:
        return status == "True"
    if any(
        taint.get("key") in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable") for taint in items(node, "spec", "taints")
    ):
        return False
    words = text(node, "_table", "status").split(",")
    return True if "Ready" in words else (False if "NotReady" in words else None)


def node_cordoned(node: t.Any) -> bool | None:
    value = at(node, "spec", "unschedulable")
    if isinstance(value, bool):
        return value
    if any(taint.get("key") == UNSCHEDULABLE_TAINT for taint in items(node, "spec", "taints")):
        return True
    row = text(node, "_table", "status")
    if row:
        return "SchedulingDisabled" in row
    return None if partial(node) or not node else False


def leaving(pod: t.Any) -> bool:
    """Being deleted: it still holds what it asked for until it is gone."""
    return bool(at(pod, "metadata", "deletionTimestamp") or at(pod, "_terminating")) or text(pod, "_table", "status") == "Terminating"


def terminal(pod: t.Any) -> bool | None:
    """True when the pod has ended and holds nothing; None when its phase was not shown."""
    phase = text(pod, "status", "phase")
    if phase:
        return phase in ("Succeeded", "Failed")
    if leaving(pod):
        return False
    word = text(pod, "_table", "status")
    if word:
        return word in ("Completed", "Succeeded", "Error", "Failed", "Evicted", "UnexpectedAdmissionError", "ContainerStatusUnknown")
    return None


# ---- quantities and requests ------------------------------------------------------------------------------

# For showing amounts: the binary suffixes people read.
_BINARY = {"Ti": 2.0**40, "Gi": 2.0**30, "Mi": 2.0**20, "Ki": 2.0**10}


def quantity(value: t.Any) -> float | None:
    """A Kubernetes quantity as a number ("1500m" is 1.5, "20k" is 20000); None when it is none."""
    try:
        return kubectl_text.quantity(value)
    except ValueError:
        return None


def show(resource: str, value: float) -> str:
    """An amount as a person writes it."""
    if resource in ("memory", "ephemeral-storage", "storage") or resource.startswith("hugepages-"):
        for suffix, size in _BINARY.items():
            if value >= size:
                return f"{value / size:.4g}{suffix}"
    if resource == "cpu" and value != int(value):
        return f"{value * 1000:.0f}m"
    return f"{value:.10g}"


def container_requests(container: t.Any) -> dict[str, float]:
    """A container's requests; a limit without a request is the request (what the API server fills in)."""
    resources = mapping(container, "resources")
    amounts: dict[str, float] = {}
    for block in ("limits", "requests"):
        for name, value in mapping(resources, block).items():
            number = quantity(value)
            if number is not None and number >= 0:
                amounts[name] = number
    return amounts


def _add(left: t.Mapping[str, float], right: t.Mapping[str, float]) -> dict[str, float]:
    return {key: left.get(key, 0.0) + right.get(key, 0.0) for key in sorted({*left, *right})}


def _max(left: t.Mapping[str, float], right: t.Mapping[str, float]) -> dict[str, float]:
    return {key: max(left.get(key, 0.0), right.get(key, 0.0)) for key in sorted({*left, *right})}


def pod_requests(pod: t.Any) -> dict[str, float] | None:
    """What the scheduler books for a pod; None when its containers are not known.

    Sum of the containers and sidecars (init containers that restart Always), or the largest init step where
    that is more, plus overhead; a pod-level request replaces the sum for the resources it names.
    """
    if not isinstance(at(pod, "spec", "containers"), (list, tuple)):
        return None
    total: dict[str, float] = {}
    for container in items(pod, "spec", "containers"):
        total = _add(total, container_requests(container))
    sidecars: dict[str, float] = {}
    start: dict[str, float] = {}
    for container in items(pod, "spec", "initContainers"):
        asks = container_requests(container)
        if container.get("restartPolicy") == "Always":
            total = _add(total, asks)
            sidecars = _add(sidecars, asks)
            start = _max(start, sidecars)
        else:
            start = _max(start, _add(asks, sidecars))
    total = _max(total, start)
    explicit = mapping(pod, "spec", "resources", "requests")
    for name, value in container_requests(at(pod, "spec")).items():
        if (name in ("cpu", "memory") or name.startswith("hugepages-")) and (name in explicit or name not in total):
            total[name] = value
    for name, value in mapping(pod, "spec", "overhead").items():
        total[name] = total.get(name, 0.0) + (quantity(value) or 0.0)
    total["pods"] = 1.0
    return total


def requests_known(pod: t.Any) -> bool:
    """False when a container of a partly printed pod shows no resources: it may ask for some."""
    if pod_requests(pod) is None:
        return False
    return not partial(pod) or all("resources" in c for c in items(pod, "spec", "containers") + items(pod, "spec", "initContainers"))


def is_gpu(resource: str) -> bool:
    return bool(GPU_RESOURCE.match(resource)) and not NOT_A_DEVICE.match(resource)


def gpu_request(pod: t.Any) -> dict[str, float]:
    """The GPU-like resources a pod asks for, right or wrong names alike."""
    asked = pod_requests(pod) or {}
    return {
        name: n
        for name, n in asked.items()
        if n > 0 and not NOT_A_DEVICE.match(name) and (is_gpu(name) or ("/" in name and GPU_LIKE.search(name)))
    }


def gpus_of(requests: t.Mapping[str, float]) -> float:
    """How many GPUs (or shares) a request names in all."""
    return sum(n for name, n in requests.items() if is_gpu(name) or (name.endswith("/gpu") and not NOT_A_DEVICE.match(name)))


def asks_for_gpu(pod: t.Any) -> bool | None:
    """Whether the pod asks for a GPU by resource or claim; None when its containers are not known."""
    if gpu_request(pod) or items(pod, "spec", "resourceClaims"):
        return True
    return False if requests_known(pod) else None


def amount(node: t.Any, section: str, resource: str) -> float | None:
    """status.capacity or status.allocatable of one resource; 0 only where the rows prove it."""
    block = at(node, "status", section)
    if not isinstance(block, t.Mapping):
        return None
    if resource in block:
        return quantity(block[resource])
    complete = at(node, f"_{section}_complete")
    if complete is None:
        complete = not partial(node)
    return 0.0 if complete else None


def advertised(node: t.Any, section: str = "allocatable") -> dict[str, float]:
    """GPU resources with at least one device."""
    found = {}
    for name in sorted(mapping(node, "status", section)):
        number = amount(node, section, name)
        if is_gpu(name) and number:
            found[name] = number
    return found


# ---- time -------------------------------------------------------------------------------------------------

_RFC3339 = re.compile(r"^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}:\d{2})(?:[.,]\d+)?\s*(Z|[+-]\d{2}:?\d{2}|UTC|GMT)?$", re.IGNORECASE)
_AGE = re.compile(r"(\d{1,9})(y|d|h|m(?!s)|s)")
_AGE_SECONDS = {"y": 365 * 86400, "d": 86400, "h": 3600, "m": 60, "s": 1}


def parse_time(value: t.Any) -> datetime.datetime | None:
    """RFC 3339, `uptime -s` and the mail form `kubectl describe` prints, as an aware time; without a zone it is read as UTC."""
    if isinstance(value, datetime.datetime):
        return value if value.tzinfo else value.replace(tzinfo=datetime.UTC)
    if not isinstance(value, str) or not value.strip():
        return None
    match = _RFC3339.match(value.strip())
    try:
        if match:
            zone = (match.group(3) or "Z").upper()
            zone = "+00:00" if zone in ("Z", "UTC", "GMT") else (zone if ":" in zone else f"{zone[:3]}:{zone[3:]}")
            return datetime.datetime.fromisoformat(f"{match.group(1)}T{match.group(2)}{zone}")
        if "," in value:
            found = email.utils.parsedate_to_datetime(value.strip())
            return found if found.tzinfo else found.replace(tzinfo=datetime.UTC)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return None


def show_time(value: datetime.datetime) -> str:
    try:
        return value.astimezone(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OverflowError, ValueError):  # year 1 or 9999 with an offset
        return value.strftime("%Y-%m-%dT%H:%M:%SZ")


def seconds_between(start: t.Any, end: t.Any) -> float | None:
    begin, finish = parse_time(start), parse_time(end)
    return None if begin is None or finish is None else (finish - begin).total_seconds()


def parse_age(value: t.Any) -> float | None:
    """An AGE column ("41m", "2d3h") in seconds."""
    said = str(value).strip() if isinstance(value, (str, int)) else ""
    parts = _AGE.findall(said)
    if not parts or "".join(a + b for a, b in parts) != said:
        return None
    return float(sum(int(number) * _AGE_SECONDS[unit] for number, unit in parts))


def age_of(obj: t.Any, now: t.Any) -> float | None:
    """Seconds since the object was made: creationTimestamp against `now`, else the AGE its table row shows."""
    seconds = seconds_between(at(obj, "metadata", "creationTimestamp"), now)
    if seconds is not None:
        return seconds if seconds >= 0 else None
    return parse_age(at(obj, "_table", "age"))


def writes_of(obj: t.Any, field: str) -> list[tuple[str, str, str | None, str]]:
    """metadata.managedFields entries that own spec.<field>: (manager, operation, time, paths), the newest first."""
    found = []
    for entry in items(obj, "metadata", "managedFields"):
        spec = mapping(entry, "fieldsV1", "f:spec")
        if f"f:{field}" in spec:
            paths = " ".join(sorted(mapping(spec, f"f:{field}")))
            found.append((text(entry, "manager") or "unknown", text(entry, "operation"), text(entry, "time") or None, paths))
    return sorted(found, key=lambda w: (w[2] or "", w[0]), reverse=True)
