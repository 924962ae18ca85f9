# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors
"""From what kubectl prints to objects in the shape of the Kubernetes API.

Every object made here has "kind", "_source" and, where the text shows only part of the object, "_partial": True.
An empty list or mapping means that the text said "<none>"; a key that was not printed is left out.
Pure functions: no text makes them raise (quantity() excepted); what could be read is returned.
"""

from __future__ import annotations

import email.utils
import json
import math
import re
import typing as t

try:
    import yaml
except ImportError:  # JSON and printed text are still read
    yaml = None  # type: ignore[assignment]

Obj = dict[str, t.Any]

MAX_JSON = 384 * 1024 * 1024
MAX_YAML = 4 * 1024 * 1024
MAX_DEPTH = 64
MAX_ALIASES = 50
MAX_VALUES = 4_000_000  # values in one document after its aliases are followed

GPU = "nvidia.com/gpu"
NONE_WORDS = ("<none>", "<unset>", "<unknown>", "<nil>", "")

# ---- quantities -------------------------------------------------------------------------------------------

_SUFFIX = {
    "": 1.0,
    "n": 1e-9,
    "u": 1e-6,
    "m": 1e-3,
    "k": 1e3,
    "M": 1e6,
    "G": 1e9,
    "T": 1e12,
    "P": 1e15,
    "E": 1e18,
    "Ki": 2.0**10,
    "Mi": 2.0**20,
    "Gi": 2.0**30,
    "Ti": 2.0**40,
    "Pi": 2.0**50,
    "Ei": 2.0**60,
}
_QUANTITY = re.compile(r"([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))(?:[eE]([+-]?[0-9]{1,3})|([KMGTPE]i|[numkMGTPE])?)")


def quantity(value: t.Any) -> float:
    """A Kubernetes quantity ("500m", "16061316Ki", "20k", "1e3") as a number; ValueError when it is none."""
    number = math.nan
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:
            pass
    elif isinstance(value, str):
        match = _QUANTITY.fullmatch(value.strip())
        if match:
            digits, exponent, suffix = match.groups()
            number = float(f"{digits}e{exponent}") if exponent else float(digits) * _SUFFIX[suffix or ""]
    if not math.isfinite(number):
        raise ValueError(f"not a Kubernetes quantity: {str(value)[:80]!r}")
    return number


def _is_quantity(value: t.Any) -> bool:
    try:
        quantity(value)
    except ValueError:
        return False
    return True


# ---- lines, times, small values ---------------------------------------------------------------------------

_PROMPT = re.compile(r"^\s{0,3}(?:[\w.@:~/\[\]() -]{0,80}[$#%>]\s+|\$\s*)(?:sudo\s+)?(?:k|kubectl|oc|k3s|microk8s|rke2)(?:\s|$|\.kubectl)")
_FENCE = re.compile(r"^\s*(?:```|~~~)")
_ELLIPSIS = re.compile(r"^\s*(?:#\s*)?(?:\[\s*)?(?:\.{3,}|…|<snip>|<\.\.\.>|\(\.\.\.\))(?:\s*\])?\s*$", re.IGNORECASE)
_AGE = r"(?:<unknown>|<invalid>|[0-9][0-9ydhms.]{0,20})"
_DATE = (
    r"(?:[A-Z][a-z]{2}, [0-9]{1,2} [A-Z][a-z]{2} [0-9]{4} [0-9:]{8} (?:[+-][0-9]{4}|[A-Z]{3,5})"
    r"|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+(?:Z|[+-][0-9:]{5})|<unset>|<unknown>)"
)
_COMMAND = re.compile(r"\b(?:kubectl|oc|k)\b.{0,200}")


def _lines(text: str) -> list[str]:
    """Lines without what a terminal or a ticket added: prompts, fences, quoting, carriage returns, tabs."""
    lines = [line.rstrip("\r").expandtabs(8).rstrip() for line in text.lstrip("\ufeff").split("\n")]
    lines = ["" if _FENCE.match(line) else line for line in lines if not _PROMPT.match(line)]
    said = [line for line in lines if line]
    if said and all(line.startswith(">") for line in said):
        lines = [line[1:].removeprefix(" ") for line in lines]
    return lines


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _dedent(lines: list[str]) -> list[str]:
    common = min((_indent(line) for line in lines if line.strip()), default=0)
    return [line[common:] for line in lines] if common else lines


def _hint(text: str, source: str) -> str:
    """What was asked for, as far as a command line in the text or the source's name tells."""
    first = next((m.group(0) for m in map(_COMMAND.search, text[:2000].split("\n")[:5]) if m), "")
    return f"{first} {source.rsplit('/', 1)[-1]}".lower()


_HINTS = (
    ("Pod", re.compile(r"\b(?:get|describe)[ _-](?:po|pods?)\b|\bpods?\.(?:ya?ml|json|txt)\b")),
    ("Node", re.compile(r"\b(?:get|describe)[ _-](?:no|nodes?)\b|\bnodes?\.(?:ya?ml|json|txt)\b")),
    ("DaemonSet", re.compile(r"\bget[ _-](?:ds|daemonsets?)\b|\bdaemonsets?\.(?:ya?ml|json|txt)\b")),
    ("Deployment", re.compile(r"\bget[ _-](?:deploy|deployments?)\b|\bdeployments?\.(?:ya?ml|json|txt)\b")),
    ("ClusterPolicy", re.compile(r"cluster-?polic(?:y|ies)")),
    ("RuntimeClass", re.compile(r"runtimeclass")),
    ("Event", re.compile(r"\bget[ _-](?:ev|events?)\b|\bevents?\.(?:ya?ml|json|txt)\b")),
    ("ResourceSlice", re.compile(r"resourceslice")),
    ("Job", re.compile(r"\bget[ _-]jobs?\b")),
)


class _Hint(t.NamedTuple):
    """The kind that was asked for ("" when unknown), and the words that say so."""

    kind: str
    words: str

    @property
    def section(self) -> str:
        """Of amounts printed without their heading: which block of the node's status they are."""
        return "capacity" if "capacity" in self.words and "allocatable" not in self.words else "allocatable"


def _hinted(text: str, source: str) -> _Hint:
    said = _hint(text, source)
    return _Hint(next((kind for kind, rx in _HINTS if rx.search(said)), ""), said)


def _time(value: str) -> str | None:
    """The mail form that describe prints, as RFC 3339; other times as they are; None for "<unset>"."""
    value = value.strip()
    if value in NONE_WORDS:
        return None
    if "," in value:
        try:
            found = email.utils.parsedate_to_datetime(value)
            offset = found.utcoffset()
            # Shown in UTC, as the API does.
            return (found - offset if offset else found).strftime("%Y-%m-%dT%H:%M:%SZ")
        except (ValueError, TypeError, IndexError, OverflowError):
            return value
    return value


def _int(value: str) -> int | None:
    match = re.match(r"\s*([0-9]{1,12})(?:\s|$|\()", value)
    return int(match.group(1)) if match else None


def _put(obj: Obj, value: t.Any, *path: str) -> None:
    """Set a value at a path of keys; None and "" set nothing."""
    if value is None or value == "":
        return
    for key in path[:-1]:
        obj = obj.setdefault(key, {})
    obj[path[-1]] = value


def _new(kind: str, source: str, partial: bool = True) -> Obj:
    obj: Obj = {"kind": kind, "metadata": {}, "_source": source}
    if partial:
        obj["_partial"] = True
    return obj


_LABEL = re.compile(r"^([\w./-]{1,320})=(\S*)$")


def _selector(parts: t.Iterable[str]) -> dict[str, str]:
    """ "a=b" words, also comma-separated."""
    found: dict[str, str] = {}
    for part in parts:
        for word in re.split(r"[,\s]+", part.strip()):
            match = _LABEL.match(word)
            if match:
                found[match.group(1)] = match.group(2)
    return found


_TAINT = re.compile(r"^([\w./-]{1,320})(?:=([^:\s]*))?:(NoSchedule|PreferNoSchedule|NoExecute)$")


def _taint(word: str) -> Obj | None:
    match = _TAINT.match(word.strip())
    if not match:
        return None
    taint = {"key": match.group(1), "effect": match.group(3)}
    if match.group(2):
        taint["value"] = match.group(2)
    return taint


_TOLERATION = re.compile(
    r"^((?:(?!op=)[\w./-]+)?)(?:=([^:\s]*))?(?::(NoSchedule|PreferNoSchedule|NoExecute))?(?:\s*op=(\w+))?(?:\s+for\s+([0-9]{1,10})s)?$"
)


def _toleration(said: str) -> Obj | None:
    match = _TOLERATION.match(said.strip())
    if not match or not said.strip():
        return None
    key, value, effect, operator, seconds = match.groups()
    found: Obj = {}
    if key:
        found["key"] = key
    # kubectl before 1.19 printed no operator; without a value it can only sensibly be Exists.
    found["operator"] = operator or ("Equal" if value else "Exists")
    if value:
        found["value"] = value
    if effect:
        found["effect"] = effect
    if seconds:
        found["tolerationSeconds"] = int(seconds)
    return found


def _proves_absence(block: t.Any) -> bool:
    """Rows are sorted: with the rows on both sides of nvidia.com/... printed, a missing one was not there."""
    return isinstance(block, dict) and "memory" in block and "pods" in block


# ---- describe: blocks and fields --------------------------------------------------------------------------

_NODE_KEYS = (
    "Roles",
    "Role",
    "CreationTimestamp",
    "Taints",
    "Unschedulable",
    "Lease",
    "Addresses",
    "Capacity",
    "Allocatable",
    "System Info",
    "PodCIDR",
    "PodCIDRs",
    "ProviderID",
    "ExternalID",
    "Non-terminated Pods",
    "Allocated resources",
)
_NODE_INFO = {
    "Kernel Version": "kernelVersion",
    "OS Image": "osImage",
    "Container Runtime Version": "containerRuntimeVersion",
    "Kubelet Version": "kubeletVersion",
    "Kube-Proxy Version": "kubeProxyVersion",
    "Architecture": "architecture",
    "Operating System": "operatingSystem",
    "Machine ID": "machineID",
    "System UUID": "systemUUID",
    "Boot ID": "bootID",
}
_POD_KEYS = (
    "Priority Class Name",
    "PriorityClassName",
    "Runtime Class Name",
    "RuntimeClassName",
    "Scheduler Name",
    "Service Account",
    "Node",
    "Start Time",
    "Status",
    "Reason",
    "Message",
    "SeccompProfile",
    "IP",
    "IPs",
    "NominatedNodeName",
    "Init Containers",
    "Containers",
    "Ephemeral Containers",
    "Readiness Gates",
    "Volumes",
    "QoS Class",
    "Node-Selectors",
    "Node Selectors",
    "Tolerations",
    "Topology Spread Constraints",
    "Termination Grace Period",
)
_SHARED_KEYS = (
    "Name",
    "Namespace",
    "Labels",
    "Annotations",
    "Conditions",
    "Events",
    "Priority",
    "Controlled By",
    "Created By",
    "Start Time",
)
_CONTAINER_KEYS = (
    "Container ID",
    "Image",
    "Image ID",
    "Port",
    "Ports",
    "Host Port",
    "Host Ports",
    "SeccompProfile",
    "Command",
    "Args",
    "State",
    "Last State",
    "Ready",
    "Restart Count",
    "Restart Policy",
    "Limits",
    "Requests",
    "Liveness",
    "Readiness",
    "Startup",
    "Environment",
    "Environment Variables from",
    "Mounts",
    "Devices",
)
# Keys that only other kinds' descriptions have at the margin, most telling first.
_OTHER_KEYS = {
    "Desired Number of Nodes Scheduled": "DaemonSet",
    "Current Number of Nodes Scheduled": "DaemonSet",
    "StrategyType": "Deployment",
    "OldReplicaSets": "Deployment",
    "NewReplicaSet": "Deployment",
    "Parallelism": "Job",
    "Completions": "Job",
    "Update Strategy": "StatefulSet",
    "Handler": "RuntimeClass",
    "Pods Status": "",
    "Pod Template": "",
    "Replicas": "",
    "Selector": "",
    "Spec": "",
    "Kind": "",
    "API Version": "",
    "Metadata": "",
    "Resource": "",
    "Data": "",
}
_MARGIN_KEYS = {*_NODE_KEYS, *_NODE_INFO, *_POD_KEYS, *_SHARED_KEYS, *_CONTAINER_KEYS, *_OTHER_KEYS}
_FIELD = re.compile(r"^([A-Z][A-Za-z0-9 ()/-]{0,48}):(?:\s+(\S.*))?$")
# Values that may run over lines that start at the margin; a key there is text unless an object could begin.
_GREEDY = ("Events", "Message")
# Below these any other line at the margin is the rest of a message or of a long value.
_OPEN = (*_GREEDY, "Containers", "Init Containers", "Annotations", "State", "Last State")


class _Block:
    """One object's description: its fields, in order, each with the rest of its line and the lines below."""

    def __init__(self) -> None:
        self.fields: list[tuple[str, str, list[str]]] = []
        self.loose: list[str] = []  # lines before any field: the tail of something cut

    def get(self, *keys: str) -> tuple[str, list[str]] | None:
        return next(((value, body) for key, value, body in self.fields if key in keys), None)

    def value(self, *keys: str) -> str:
        found = self.get(*keys)
        return found[0] if found and found[0] not in NONE_WORDS else ""

    def said(self, *keys: str) -> list[str] | None:
        """The field's words, one a line, stripped; None when the field was not printed."""
        found = self.get(*keys)
        if found is None:
            return None
        return [word for word in (part.strip() for part in [found[0], *found[1]]) if word]

    @property
    def keys(self) -> set[str]:
        return {key for key, _value, _body in self.fields}

    @property
    def kind(self) -> str | None:
        """Node, Pod, another kind ("" when not known which), or None when nothing tells."""
        keys = self.keys
        for key, kind in _OTHER_KEYS.items():
            if key in keys:
                return self.value("Kind") or kind
        if keys & {*_NODE_KEYS, *_NODE_INFO}:
            return "Node"
        if keys & {*_POD_KEYS, *_CONTAINER_KEYS, "Namespace", "Controlled By"}:
            return "Pod"
        conditions = self.get("Conditions")
        if conditions:
            return _condition_kind(_conditions(conditions[1])) or None
        return "Node" if "kubernetes.io/hostname" in _selector(self.said("Labels") or []) else None


def _blocks(text: str) -> list[_Block]:
    blocks = [_Block()]
    seen: set[str] = set()
    current: list[str] | None = None
    last = ""
    blank = True
    for line in _dedent(_lines(text)):
        if not line or _ELLIPSIS.match(line) or line == "--":
            blank = True
            if current is not None and line:
                current.append("...")
            continue
        match = _FIELD.match(line)
        key = match.group(1) if match else ""
        begins = key in _MARGIN_KEYS and (
            last not in _GREEDY or key == "Name" or blank or (last == "Message" and key not in ("Reason", "Message"))
        )
        if match and begins:
            if key == "Name" and blocks[-1].fields or (key in seen and key not in _CONTAINER_KEYS):
                blocks.append(_Block())
                seen = set()
            seen.add(key)
            current = []
            blocks[-1].fields.append((key, (match.group(2) or "").strip(), current))
            last = key
        elif match and last not in _OPEN and current is not None:
            current, last = [], ""  # a field of no interest here
        elif current is None:
            blocks[-1].loose.append(line)
        else:
            current.append(line)
        blank = False
    return [block for block in blocks if block.fields or block.loose]


_ANNOTATION = re.compile(r"^([A-Za-z0-9][\w./-]{0,320})(?::(?:\s+|$)|=)(.*)$")


def _annotations(said: list[str]) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    last: list[str] | None = None
    for line in said:
        match = _ANNOTATION.match(line)
        if match:
            last = found.setdefault(match.group(1), [])
            if match.group(2).strip():
                last.append(match.group(2).strip())
        elif last is not None and line != "...":
            last.append(line)
    return {key: "\n".join(parts) for key, parts in found.items()}


_ROW_NAME = re.compile(r"^([\w./-]{1,320}):\s+(\S+)$")


def _amounts(body: list[str]) -> dict[str, str]:
    """ "cpu: 4" rows."""
    found: dict[str, str] = {}
    for line in body:
        match = _ROW_NAME.match(line.strip())
        if match and _is_quantity(match.group(2)):
            found[match.group(1)] = match.group(2)
    return found


_CONDITION = re.compile(rf"^(\S+)\s+(True|False|Unknown)(?:\s+({_DATE}))?(?:\s+({_DATE}))?(?:\s+([A-Za-z]\w*))?(?:\s+(\S.*))?$")


def _conditions(body: list[str]) -> list[Obj]:
    found: list[Obj] = []
    for line in body:
        match = _CONDITION.match(line.strip())
        if match:
            kind, status, beat, change, reason, message = match.groups()
            if beat and not change:  # only one time printed: kubectl prints the transition then
                beat, change = None, beat
            entry: Obj = {"type": kind, "status": status}
            _put(entry, _time(beat or ""), "lastHeartbeatTime")
            _put(entry, _time(change or ""), "lastTransitionTime")
            _put(entry, reason, "reason")
            _put(entry, message, "message")
            found.append(entry)
        elif found and "message" in found[-1] and not re.match(r"^\s*(?:Type\s+Status|-+\s)", line) and line != "...":
            found[-1]["message"] += " " + line.strip()
    return found


# ---- describe node ----------------------------------------------------------------------------------------

_POD_ROW = re.compile(
    r"^\s*([a-z0-9][\w.-]*)\s+([a-z0-9][\w.-]*)\s+(\S+)\s+\(\d+%\)\s+(\S+)\s+\(\d+%\)\s+(\S+)\s+\(\d+%\)\s+(\S+)\s+\(\d+%\)(?:\s+(\S+))?$"
)
_ALLOCATED_ROW = re.compile(r"^\s*([\w./-]{1,320})\s+(\S+)(?:\s+\(\d+%\))?\s+(\S+)(?:\s+\(\d+%\))?$")
_LOOSE_LABEL = re.compile(r"^[\w.-]+/[\w./-]+=\S*$")
_LOOSE_AMOUNT = re.compile(r"^([\w.-]+\.[\w.-]+/[\w.-]+):\s+([0-9]+)$")
_LOOSE_BOOKED = re.compile(r"^([\w.-]+\.[\w.-]+/[\w.-]+)\s+([0-9]+)\s+([0-9]+)$")


def parse_describe_nodes(text: str, source: str) -> list[Obj]:
    """Nodes from `kubectl describe node(s)`, whole, several, or any fragment of one (Capacity, Taints, Labels ...).

    Beside the API's keys: "_lease" (renewTime), "_allocated" (resource -> requests), "_pods" (namespace, name,
    requests, age), "_pods_total", "_capacity_complete"/"_allocatable_complete", "_labels_complete".
    """
    found = []
    for block in _blocks(text):
        if block.kind not in ("Node", None):
            continue
        node = _node(block, source)
        if node:
            found.append(node)
        found.extend(_loose_nodes(block.loose, source))
    if len(found) == 1:
        _grepped(found[0], text)
    return found


_READY_ROW = re.compile(r"^\s*Ready\s+(True|False|Unknown)\s+\S")


def _grepped(node: Obj, text: str) -> None:
    """Rows that a grep pulled out of their blocks: the Ready condition, and a resource's capacity and allocatable in that order."""
    lines = text.splitlines()[:400]
    if not (node.get("status") or {}).get("conditions"):
        ready = next((match for match in map(_READY_ROW.match, lines) if match), None)
        if ready:
            _put(node, [{"type": "Ready", "status": ready.group(1)}], "status", "conditions")
    status = node.get("status") or {}
    if "capacity" in status or "allocatable" in status:
        return
    rows = [match.groups() for match in (_LOOSE_AMOUNT.match(line.strip()) for line in lines) if match]
    if len(rows) == 2 and rows[0][0] == rows[1][0]:
        for section, (name, amount) in zip(("capacity", "allocatable"), rows):
            _put(node, amount, "status", section, name)
            node[f"_{section}_complete"] = False


def _node(block: _Block, source: str) -> Obj | None:
    node = _new("Node", source)
    _put(node, block.value("Name"), "metadata", "name")
    labels = block.said("Labels")
    if labels is not None:
        node["metadata"]["labels"] = _selector(labels)
        node["_labels_complete"] = "..." not in labels
    annotations = block.said("Annotations")
    if annotations is not None:
        node["metadata"]["annotations"] = _annotations(annotations)
    _put(node, _time(block.value("CreationTimestamp")), "metadata", "creationTimestamp")
    taints = block.said("Taints")
    if taints is not None:
        read = [taint for taint in map(_taint, taints) if taint]
        if read or taints[:1] == ["<none>"]:
            _put(node, read, "spec", "taints")
    if block.value("Unschedulable").lower() in ("true", "false"):
        _put(node, block.value("Unschedulable").lower() == "true", "spec", "unschedulable")
    for key, field in (("ProviderID", "providerID"), ("PodCIDR", "podCIDR")):
        _put(node, block.value(key), "spec", field)
    for key, section in (("Capacity", "capacity"), ("Allocatable", "allocatable")):
        entry = block.get(key)
        if entry is not None:
            amounts = _amounts(entry[1])
            if amounts:
                _put(node, amounts, "status", section)
                node[f"_{section}_complete"] = _proves_absence(amounts) and "..." not in entry[1]
    entry = block.get("Conditions")
    if entry:
        _put(node, _conditions(entry[1]) or None, "status", "conditions")
    entry = block.get("Addresses")
    if entry:
        rows = [match.groups() for match in (re.match(r"^\s*(\w+):\s+(\S+)$", line) for line in entry[1]) if match]
        _put(node, [{"type": kind, "address": address} for kind, address in rows] or None, "status", "addresses")
    info: dict[str, str] = {}
    entry = block.get("System Info")
    for line in [*block.loose, *(entry[1] if entry else [])]:
        match = _FIELD.match(line.strip())
        if match and match.group(1) in _NODE_INFO and match.group(2):
            info[_NODE_INFO[match.group(1)]] = match.group(2)
    for key, field in _NODE_INFO.items():
        if block.value(key):
            info[field] = block.value(key)
    _put(node, info or None, "status", "nodeInfo")
    entry = block.get("Lease")
    for line in entry[1] if entry else []:
        match = re.match(r"^\s*RenewTime:\s+(\S.*)$", line)
        if match:
            _put(node, _time(match.group(1)), "_lease")
    entry = block.get("Allocated resources")
    if entry:
        rows = [match for match in map(_ALLOCATED_ROW.match, entry[1]) if match and _is_quantity(match.group(2))]
        if rows:
            node["_allocated"] = {match.group(1): match.group(2) for match in rows}
    entry = block.get("Non-terminated Pods")
    if entry:
        rows = [match.groups() for match in map(_POD_ROW.match, entry[1]) if match]
        node["_pods"] = [
            {"namespace": space, "name": name, "requests": {"cpu": cpu, "memory": memory}, **({"age": age} if age else {})}
            for space, name, cpu, _cpu, memory, _memory, age in rows
        ]
        match = re.match(r"\((\d{1,9}) in total\)", entry[0])
        if match:
            node["_pods_total"] = int(match.group(1))
    # Only a name, or only Events: nothing is said about the node itself.
    told = any(key in node for key in ("spec", "status", "_lease", "_allocated", "_pods")) or len(node["metadata"]) > (
        "name" in node["metadata"]
    )
    return node if told or (block.kind == "Node" and node["metadata"]) else None


def _loose_nodes(lines: list[str], source: str) -> list[Obj]:
    """What `kubectl describe node | grep nvidia.com` leaves: labels, then the capacity row, then the allocatable row."""
    nodes: list[Obj] = []
    node: Obj = {}
    amounts = [match for match in (_LOOSE_AMOUNT.match(line.strip()) for line in lines) if match]
    names = [match.group(1) for match in amounts]
    paired = all(names.count(name) % 2 == 0 for name in names)
    for line in lines:
        word = line.strip()
        label, amount, booked, taint = _LOOSE_LABEL.match(word), _LOOSE_AMOUNT.match(word), _LOOSE_BOOKED.match(word), _taint(word)
        if not (label or booked or taint or (amount and paired)):
            continue
        status = node.get("status", {})
        if (
            not node
            or (node.get("_allocated") and not booked)
            or (amount and amount.group(1) in status.get("allocatable", {}))
            or (label and status)
        ):
            node = _new("Node", source)
            nodes.append(node)
        if taint:
            node.setdefault("spec", {}).setdefault("taints", []).append(taint)
        elif label:
            node["metadata"].setdefault("labels", {}).update(_selector([word]))
            node["_labels_complete"] = False
        elif amount:
            section = "allocatable" if amount.group(1) in node.get("status", {}).get("capacity", {}) else "capacity"
            _put(node, amount.group(2), "status", section, amount.group(1))
            node[f"_{section}_complete"] = False
        elif booked:
            _put(node, booked.group(2), "_allocated", booked.group(1))
    return nodes


# ---- describe pod -----------------------------------------------------------------------------------------


def parse_describe_pods(text: str, source: str) -> tuple[list[Obj], list[Obj]]:
    """(Pods, Events) from `kubectl describe pod(s)`, whole, several, or any fragment of one.

    A pod shown as "Terminating (lasts ...)" has "_terminating": True and no phase.
    """
    pods: list[Obj] = []
    events: list[Obj] = []
    blocks = _blocks(text)
    for block in blocks:
        if block.kind not in ("Pod", None):
            continue
        pod = _pod(block, source)
        if pod:
            pods.append(pod)
        events.extend(_block_events(block, source, "Pod"))
    return pods, events


_TELLING = ("State", "Last State", "Limits", "Requests", "Image", "Environment", "Command", "Args", "Restart Count")


def _pod(block: _Block, source: str) -> Obj | None:
    pod = _new("Pod", source)
    for key, field in (("Name", "name"), ("Namespace", "namespace")):
        _put(pod, block.value(key), "metadata", field)
    labels = block.said("Labels")
    if labels is not None:
        pod["metadata"]["labels"] = _selector(labels)
    annotations = block.said("Annotations")
    if annotations is not None:
        pod["metadata"]["annotations"] = _annotations(annotations)
    owner = block.value("Controlled By", "Created By")
    if "/" in owner:
        kind, name = owner.split("/", 1)
        pod["metadata"]["ownerReferences"] = [{"kind": kind, "name": name.strip(), "controller": True}]
    _put(pod, block.value("Node").split("/")[0].strip(), "spec", "nodeName")
    for keys, field in (
        (("Priority Class Name", "PriorityClassName"), "priorityClassName"),
        (("Runtime Class Name", "RuntimeClassName"), "runtimeClassName"),
        (("Scheduler Name",), "schedulerName"),
        (("Service Account",), "serviceAccountName"),
    ):
        _put(pod, block.value(*keys), "spec", field)
    _put(pod, _int(block.value("Priority")), "spec", "priority")
    selectors = block.said("Node-Selectors", "Node Selectors")
    if selectors is not None:
        _put(pod, _selector(selectors), "spec", "nodeSelector")
    tolerations = block.said("Tolerations")
    if tolerations is not None:
        read = [entry for entry in map(_toleration, tolerations) if entry]
        if read or tolerations[:1] == ["<none>"]:
            _put(pod, read, "spec", "tolerations")
    entry = block.get("Volumes")
    if entry is not None:
        volumes = _volumes(entry[1])
        if volumes or entry[0] == "<none>":
            _put(pod, volumes, "spec", "volumes")
    for key, spec, status in (
        ("Init Containers", "initContainers", "initContainerStatuses"),
        ("Containers", "containers", "containerStatuses"),
    ):
        entry = block.get(key)
        if entry is None:
            continue
        containers, statuses = _containers(entry[1])
        _put(pod, containers or None, "spec", spec)
        _put(pod, statuses or None, "status", status)
    # A container's lines without the container: at the margin, or before the first field that stands there.
    stray = [*block.loose, *_printed(block, _CONTAINER_KEYS)]
    if any(line.strip().partition(":")[0] in _TELLING for line in stray):
        containers, statuses = _containers(stray)
        if "containers" not in pod.get("spec", {}):
            _put(pod, containers or None, "spec", "containers")
        if "containerStatuses" not in pod.get("status", {}):
            _put(pod, statuses or None, "status", "containerStatuses")
    status = block.value("Status")
    if status.startswith("Terminating"):
        pod["_terminating"] = True
    elif re.fullmatch(r"Pending|Running|Succeeded|Failed|Unknown", status):
        _put(pod, status, "status", "phase")
    _put(pod, block.value("Reason"), "status", "reason")
    _put(pod, " ".join(block.said("Message") or []), "status", "message")
    _put(pod, block.value("NominatedNodeName"), "status", "nominatedNodeName")
    _put(pod, block.value("QoS Class"), "status", "qosClass")
    _put(pod, _time(block.value("Start Time")), "status", "startTime")
    entry = block.get("Conditions")
    if entry:
        _put(pod, _conditions(entry[1]) or None, "status", "conditions")
    told = "spec" in pod or "status" in pod or "_terminating" in pod or len(pod["metadata"]) > ("name" in pod["metadata"])
    return pod if told or (block.kind == "Pod" and pod["metadata"]) else None


def _printed(block: _Block, keys: t.Sequence[str]) -> list[str]:
    """The lines of some fields again, as printed."""
    lines = []
    for key, value, body in block.fields:
        if key in keys:
            lines += [f"{key}: {value}", *body]
    return lines


_CONTAINER_NAME = re.compile(r"^\s*([a-z0-9][a-z0-9-]{0,62}):$")
# Below these, deeper lines are free text.
_FREE = ("Command", "Args", "Environment", "Environment Variables from", "Mounts", "Devices")


def _containers(body: list[str]) -> tuple[list[Obj], list[Obj]]:
    containers: list[Obj] = []
    statuses: list[Obj] = []
    base: int | None = None
    attribute, attribute_indent = "", 0
    seen: set[str] = set()
    spec: Obj = {}
    status: Obj = {}
    sub = ""

    def start(name: str | None) -> None:
        nonlocal spec, status
        spec, status = {}, {}
        if name:
            spec["name"] = status["name"] = name
        containers.append(spec)
        statuses.append(status)
        seen.clear()

    for line in body:
        if line == "...":
            spec["_cut"] = True
            continue
        indent = _indent(line)
        match = _CONTAINER_NAME.match(line)
        if match and (base is None or indent <= base) and not (attribute in _FREE and indent > attribute_indent):
            base = indent
            attribute, sub = "", ""
            start(match.group(1))
            continue
        word = line.strip()
        match = _FIELD.match(word)
        key = match.group(1) if match else ""
        value = (match.group(2) or "") if match else ""
        if key in _CONTAINER_KEYS and not (attribute in _FREE and indent > attribute_indent):
            if not containers or key in seen:
                start(None)
            seen.add(key)
            attribute, attribute_indent, sub = key, indent, ""
            _attribute(spec, status, key, value)
        elif attribute in ("State", "Last State"):
            place = status.get("state" if attribute == "State" else "lastState", {})
            state = next(iter(place.values()), None)
            if isinstance(state, dict):
                sub = _state_line(state, key, value, word, sub)
        elif attribute in ("Limits", "Requests"):
            amounts = _amounts([line])
            spec["resources"][attribute.lower()].update(amounts)
        elif attribute in ("Command", "Args"):
            if word:
                spec[attribute.lower()].append(word)
        elif attribute == "Environment":
            found = re.match(r"^([A-Za-z_][\w.-]*):(?:\s+(.*))?$", word)
            if found:
                spec["env"].append(_variable(found.group(1), found.group(2) or ""))
        elif attribute == "Mounts":
            found = re.match(r"^(/\S*) from (\S+) \(([\w,]+)", word)
            if found:
                mount: Obj = {"name": found.group(2), "mountPath": found.group(1)}
                if "ro" in found.group(3).split(","):
                    mount["readOnly"] = True
                spec["volumeMounts"].append(mount)
    for spec, _status in zip(containers, statuses):
        cut = spec.pop("_cut", False)
        # Limits and Requests come between the state and the environment: printed around, they were not there.
        if "resources" not in spec and not cut and "restartCount" in _status and ("env" in spec or "volumeMounts" in spec):
            spec["resources"] = {}
    told = [status for status in statuses if set(status) - {"name", "image"}]
    return containers, told


def _attribute(spec: Obj, status: Obj, key: str, value: str) -> None:
    none = value in NONE_WORDS
    if key == "Image" and not none:
        spec["image"] = status["image"] = value
    elif key in ("State", "Last State"):
        word = value.split(" ")[0].lower()
        if word in ("waiting", "running", "terminated"):
            status["state" if key == "State" else "lastState"] = {word: {}}
    elif key == "Ready" and value in ("True", "False"):
        status["ready"] = value == "True"
    elif key == "Restart Count" and _int(value) is not None:
        status["restartCount"] = _int(value)
    elif key == "Restart Policy" and not none:
        spec["restartPolicy"] = value
    elif key in ("Limits", "Requests"):
        spec.setdefault("resources", {})[key.lower()] = {}
    elif key in ("Command", "Args"):
        spec[key.lower()] = [] if none else [value]
    elif key == "Environment":
        spec["env"] = []
    elif key == "Mounts":
        spec["volumeMounts"] = []


_STATE_FIELDS = {"Reason": "reason", "Message": "message", "Started": "startedAt", "Finished": "finishedAt"}


def _state_line(state: Obj, key: str, value: str, word: str, sub: str) -> str:
    """One line below State; returns the key a following line may continue."""
    if sub == "Message" and (key not in (*_STATE_FIELDS, "Exit Code", "Signal") or key == "Message"):
        state["message"] = f"{state['message']}\n{word}".strip()
        return sub
    if key in _STATE_FIELDS:
        said = (_time(value) or "") if key in ("Started", "Finished") else value
        if said or key == "Message":
            state[_STATE_FIELDS[key]] = said
        return key
    if key in ("Exit Code", "Signal"):
        match = re.match(r"^-?[0-9]{1,9}$", value)
        if match:
            state["exitCode" if key == "Exit Code" else "signal"] = int(value)
        return key
    return ""


_FROM_REF = re.compile(r"^<set to the key '([^']*)' (?:in|of) (secret|config map) '([^']*)'>")


def _variable(name: str, value: str) -> Obj:
    match = _FROM_REF.match(value)
    if match:
        ref = "secretKeyRef" if match.group(2) == "secret" else "configMapKeyRef"
        return {"name": name, "valueFrom": {ref: {"name": match.group(3), "key": match.group(1)}}}
    match = re.match(r"^\(([\w.]+:[\w.\[\]'/-]+)\)$", value.strip())
    if match:
        return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": match.group(1).split(":", 1)[1]}}}
    return {"name": name, "value": value.strip()}


_VOLUME_TYPES = {
    "HostPath": ("hostPath", {"Path": "path", "HostPathType": "type"}),
    "EmptyDir": ("emptyDir", {"Medium": "medium", "SizeLimit": "sizeLimit"}),
    "ConfigMap": ("configMap", {"Name": "name"}),
    "Secret": ("secret", {"SecretName": "secretName"}),
    "PersistentVolumeClaim": ("persistentVolumeClaim", {"ClaimName": "claimName"}),
    "Projected": ("projected", {}),
    "DownwardAPI": ("downwardAPI", {}),
    "CSI": ("csi", {"Driver": "driver"}),
    "NFS": ("nfs", {"Server": "server", "Path": "path"}),
}


def _volumes(body: list[str]) -> list[Obj]:
    volumes: list[Obj] = []
    base: int | None = None
    for line in body:
        indent = _indent(line)
        match = re.match(r"^\s*([a-z0-9][a-z0-9.-]{0,252}):$", line)
        if match and (base is None or indent <= base):
            base = indent
            volumes.append({"name": match.group(1)})
            continue
        match = re.match(r"^\s*([A-Z]\w*):(?:\s+(\S.*))?$", line)
        if not match or not volumes:
            continue
        key, value = match.group(1), match.group(2) or ""
        if key == "Type":
            word = value.split(" ")[0]
            volumes[-1]["_type"] = word
            if word in _VOLUME_TYPES:
                volumes[-1][_VOLUME_TYPES[word][0]] = {}
        else:
            field, names = _VOLUME_TYPES.get(volumes[-1].get("_type", ""), ("", {}))
            if key in names and value and value not in NONE_WORDS:
                volumes[-1][field][names[key]] = value
    return [{key: value for key, value in volume.items() if key != "_type"} for volume in volumes]


# ---- events -----------------------------------------------------------------------------------------------

_KINDS = {
    "po": "Pod",
    "pod": "Pod",
    "no": "Node",
    "node": "Node",
    "ds": "DaemonSet",
    "daemonset": "DaemonSet",
    "deployment": "Deployment",
    "replicaset": "ReplicaSet",
    "replicationcontroller": "ReplicationController",
    "statefulset": "StatefulSet",
    "job": "Job",
    "cronjob": "CronJob",
    "clusterpolicy": "ClusterPolicy",
    "nvidiadriver": "NVIDIADriver",
    "podgroup": "PodGroup",
    "workload": "Workload",
    "persistentvolumeclaim": "PersistentVolumeClaim",
    "resourceclaim": "ResourceClaim",
    "resourceslice": "ResourceSlice",
    "runtimeclass": "RuntimeClass",
    "configmap": "ConfigMap",
    "namespace": "Namespace",
    "service": "Service",
}


def _kind_word(word: str) -> str:
    plain = word.split(".")[0].strip()
    return _KINDS.get(plain.lower()) or (plain[:1].upper() + plain[1:])


# Messages that components write, and the reason each gives them in the API.
_REASONS = (
    (
        "FailedScheduling",
        re.compile(
            r"^(?:running \"[\w-]+\" \w+ plugin[^:]{0,80}: )?[0-9]{1,6}/[0-9]{1,6} nodes? (?:are|is) (?:un)?available\b"
            r"|^no nodes available to schedule pods|^all nodes are unavailable\b|^pod has unbound immediate PersistentVolumeClaims"
        ),
    ),
    ("FilteringFailed", re.compile(r"^no available node, ?(?:all node scores|[0-9]+ nodes) do not meet")),
    ("UnexpectedAdmissionError", re.compile(r"^(?:Pod )?Allocate failed due to\b|^Update plugin resources failed due to\b")),
    ("FailedCreatePodSandBox", re.compile(r"^Failed (?:to )?create pod sandbox\b")),
    ("FailedCreate", re.compile(r"^Error creating: ")),
    ("FailedMount", re.compile(r"^MountVolume\.\w+ failed|^Unable to attach or mount volumes")),
    ("BackOff", re.compile(r"^Back-off (?:restarting failed|pulling image)")),
    (
        "Failed",
        re.compile(
            r"^Error: (?:container create failed|failed to (?:create|start) container|failed to create containerd|ImagePullBackOff"
            r"|ErrImagePull|couldn't find key)|^Failed to pull image "
        ),
    ),
    ("NotTriggerScaleUp", re.compile(r"^pod didn't trigger scale-up")),
    ("TriggeredScaleUp", re.compile(r"^pod triggered scale-up")),
    ("Unhealthy", re.compile(r"^(?:Liveness|Readiness|Startup) probe (?:failed|errored|warning)")),
    ("Preempted", re.compile(r"^Preempted by ")),
    ("Evicted", re.compile(r"^The node (?:was low on resource|had condition)")),
    ("OutOfnvidia.com/gpu", re.compile(r"^Node didn't have enough resource: nvidia\.com/gpu")),
    ("Started", re.compile(r"^Started container ")),
    ("Created", re.compile(r"^Created container ")),
    ("Pulled", re.compile(r"^(?:Successfully pulled|Container) image \"")),
    ("Scheduled", re.compile(r"^Successfully assigned ")),
)
_WARNINGS = {
    "FailedScheduling",
    "FilteringFailed",
    "UnexpectedAdmissionError",
    "FailedCreatePodSandBox",
    "FailedCreate",
    "FailedMount",
    "BackOff",
    "Failed",
    "Unhealthy",
    "Evicted",
    "OutOfnvidia.com/gpu",
}
_SCHEDULER = re.compile(r"(?:^|[\s'\"(=])([0-9]{1,6}/[0-9]{1,6} nodes? (?:are|is) (?:un)?available\b.*)")


def _reason_of(message: str) -> str:
    return next((reason for reason, rx in _REASONS if rx.search(message)), "")


def _event(source: str, message: str, **known: t.Any) -> Obj:
    event = _new("Event", source)
    involved = dict(known.get("involved") or {})
    if involved.get("namespace"):
        event["metadata"]["namespace"] = involved["namespace"]
    event["involvedObject"] = {key: value for key, value in involved.items() if value}
    reason = known.get("reason") or _reason_of(message)
    _put(event, known.get("type") or ("Warning" if reason in _WARNINGS else None), "type")
    _put(event, reason, "reason")
    event["message"] = message.strip()
    _put(event, known.get("count"), "count")
    for key, field in (("age", "_age"), ("first_age", "_first_age"), ("time", "lastTimestamp")):
        value = known.get(key)
        _put(event, value if value not in NONE_WORDS else None, field)
    component = known.get("component") or ""
    if component and component not in NONE_WORDS:
        name, _comma, host = component.partition(",")
        event["source"] = {"component": name.strip(), **({"host": host.strip()} if host.strip() else {})}
    return event


_COUNT = r"(?:\s+\(x([0-9]{1,9})(?: over ([\w<>]{1,20}))?\))?"
_ROW_DESCRIBE = re.compile(rf"^\s*(Normal|Warning)\s+([A-Za-z][\w./-]*)\s+({_AGE}){_COUNT}(?:\s+(\S.*))?$")
_ROW_OLD = re.compile(rf"^\s*({_AGE})\s+({_AGE})\s+([0-9]{{1,9}})\s+(\S.*)$")
_OLD_TYPE = re.compile(r"(?:^|\s)(Normal|Warning)\s+([A-Za-z]\w*)\s+(\S.*)$")
_ROW_TABLE = re.compile(
    rf"^(?:\s*([a-z0-9][\w-]*)\s+)?\s*({_AGE}){_COUNT}\s+(Normal|Warning)\s+([A-Za-z][\w./-]*)\s+([A-Za-z][\w.-]*/[\w.:-]+)(?:\s+(\S.*))?$"
)
_ROW_ISO = re.compile(
    r"^\s*([0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:]{8}(?:\.[0-9]{1,9})?(?:Z|[+-][0-9:]{4,6})?)\s+(?:\[?(Normal|Warning)\]?:?\s+)?(\S.*)$"
)
_ROW_REASON = re.compile(r"^\s*(?:\[?(Normal|Warning)\]?:?\s+)?([A-Z][A-Za-z]{2,60}):\s+(\S.*)$")
# Reasons are an open set; before a colon only words that can hardly be anything else are taken for one.
_REASON_WORD = re.compile(
    r"^(?:Failed\w*|\w+(?:Failed|Error|Failure)|BackOff|Unhealthy|Evicted|Preempt(?:ed|ing)|Unschedulable|NotTriggerScaleUp|TriggeredScaleUp"
    r"|Node(?:NotReady|Ready|NotSchedulable|Shutdown|HasSufficient\w+|AllocatableEnforced)|NotReady|Rebooted|Killing|Scheduled|Nominated)$"
)
_ROW_TYPED = re.compile(r"^\s*\[?(Normal|Warning)\]?:?\s+(?:([A-Z]\w+):?\s+)?(\S.*)$")
_HEADER_DESCRIBE = re.compile(r"^\s*(?:Type\s+Reason\s+Age|FirstSeen\s+LastSeen|----\s+------|-+\s+-+\s+-+|Events:)")
_FROM = re.compile(r"^([A-Za-z][\w./-]{1,80}(?:, ?[\w.:-]{1,80})?)\s{2,}(\S.*)$")
_FROM_KNOWN = re.compile(
    r"^((?:kubelet|karpenter|kueue|volcano|vc-\w+|[\w-]{0,60}(?:scheduler|controller|manager|autoscaler|operator|provisioner))"
    r"(?:, ?[\w.:-]{1,80})?)\s(\S.*)$"
)
_TAIL = re.compile(r"^\s{8,}([a-z][\w./-]{1,80})\s{2,}(\S.*)$")
_YAMLISH = re.compile(r"^\s*(?:- )?[a-z]\w*:(?:\s|$)")


def _split_from(rest: str) -> tuple[str, str]:
    """(component, message): the From column may be empty (events.k8s.io) or its padding squeezed."""
    match = _FROM.match(rest) or _FROM_KNOWN.match(rest)
    return (match.group(1), match.group(2)) if match else ("", rest)


def _named(line: str) -> re.Match[str] | None:
    match = _ROW_REASON.match(line)
    return match if match and (match.group(1) or _REASON_WORD.match(match.group(2))) else None


def _event_line(line: str, source: str, involved: Obj) -> tuple[str, Obj] | None:
    """(style, Event) when a line starts an event."""
    match = _ROW_DESCRIBE.match(line)
    if match:
        kind, reason, age, count, first, rest = match.groups()
        component, message = _split_from(rest or "")
        return "row", _event(
            source,
            message,
            type=kind,
            reason=reason,
            age=age,
            first_age=first,
            count=int(count) if count else 1,
            component=component,
            involved=involved,
        )
    match = _ROW_TABLE.match(line)
    if match:
        space, age, count, first, kind, reason, obj, message = match.groups()
        word, _slash, name = obj.partition("/")
        about = {"kind": _kind_word(word), "name": name, "namespace": space or involved.get("namespace")}
        return "row", _event(
            source, message or "", type=kind, reason=reason, age=age, first_age=first, count=int(count) if count else None, involved=about
        )
    match = _ROW_OLD.match(line)
    if match:
        typed = _OLD_TYPE.search(match.group(4))
        if typed:
            before = match.group(4)[: typed.start()].strip()
            parts = re.split(r"\s{2,}", before) if before else [""]
            about = dict(involved)
            if len(parts) > 1 and "{" in parts[1]:
                about["fieldPath"] = parts[1]
            # Columns of describe before 1.7: first seen, last seen, count, from, subobject.
            return "row", _event(
                source,
                typed.group(3),
                type=typed.group(1),
                reason=typed.group(2),
                age=match.group(2),
                first_age=match.group(1),
                count=int(match.group(3)),
                component=parts[0],
                involved=about,
            )
    match = _ROW_ISO.match(line)
    if match:
        time, kind, rest = match.groups()
        named = _named(rest)
        message = named.group(3) if named else rest
        reason = named.group(2) if named else _reason_of(rest)
        if kind or reason:
            return "row", _event(source, message, type=kind, reason=reason, time=time.replace(" ", "T"), involved=involved)
        return None
    match = _named(line)
    if match:
        return "bare", _event(source, match.group(3), type=match.group(1), reason=match.group(2), involved=involved)
    match = _SCHEDULER.search(line)
    if match:
        return "bare", _event(source, match.group(1).rstrip("'\""), reason="FailedScheduling", involved=involved)
    word = line.strip()
    if _reason_of(word):
        return "bare", _event(source, word, involved=involved)
    match = _TAIL.match(line)
    if match:
        return "row", _event(source, match.group(2), component=match.group(1), involved=involved)
    match = _ROW_TYPED.match(line)
    if match and (match.group(2) or _reason_of(match.group(3))):
        return "row", _event(source, match.group(3), type=match.group(1), reason=match.group(2), involved=involved)
    return None


def _event_lines(lines: list[str], source: str, involved: Obj) -> list[Obj]:
    events: list[Obj] = []
    more: list[list[str]] = []
    style = ""
    for line in lines:
        if not line.strip():
            style = "row" if style == "row" else ""
            continue
        if _HEADER_DESCRIBE.match(line) or _ELLIPSIS.match(line):
            style = ""
            continue
        started = _event_line(line, source, involved)
        # A row's message may run on with lines that look like messages themselves.
        if started and not (started[0] == "bare" and style == "row"):
            style = started[0]
            events.append(started[1])
            more.append([])
        elif style == "row" or (style == "bare" and not _YAMLISH.match(line)):
            more[-1].append(line.strip())
        else:
            style = ""
    for event, rest in zip(events, more):
        if rest:
            event["message"] = " ".join([event["message"], *rest]).strip()
    return events


def _block_events(block: _Block, source: str, kind: str = "") -> list[Obj]:
    involved = {"kind": block.kind or kind, "name": block.value("Name"), "namespace": block.value("Namespace")}
    entry = block.get("Events")
    if entry is not None:
        return _event_lines(entry[1], source, involved)
    return _event_lines(block.loose, source, involved)


def parse_events(text: str, source: str) -> list[Obj]:
    """Events from any printed form: describe blocks, `get events` tables, bare or time-stamped messages.

    "_age" is what the Age (or LAST SEEN) column shows, "_first_age" the older end of "(x5 over 49s)".
    """
    lines = _lines(text)
    if any(_EVENT_HEADER.match(line) for line in lines):
        return [obj for obj in _tables(text, source)[1] if obj["kind"] == "Event"]
    events: list[Obj] = []
    blocks = _blocks(text)
    if any("Events" in block.keys or block.kind for block in blocks):
        fallback = "Node" if any(block.kind == "Node" for block in blocks) else ""
        for block in blocks:
            events.extend(_block_events(block, source, fallback))
            # A pod that failed admission says why in its status only.
            if block.kind == "Pod" and block.get("Events") is None and not events and block.value("Message"):
                message = " ".join(block.said("Message") or [])
                if _reason_of(message):
                    involved = {"kind": "Pod", "name": block.value("Name"), "namespace": block.value("Namespace")}
                    events.append(_event(source, message, reason=block.value("Reason"), involved=involved))
        return events
    return _event_lines(lines, source, {})


# ---- tables -----------------------------------------------------------------------------------------------

_EVENT_HEADER = re.compile(r"^\s*(?:NAMESPACE\s+)?(?:LAST ?SEEN|FIRST ?SEEN)\s+[A-Z]")
_HEADER = re.compile(r"^\s*(?:NAME|NAMESPACE|LAST ?SEEN|FIRST ?SEEN|NODE|POD)(?:\s+\S.*)?$")
_TWO_WORDS = re.compile(r"(NODE SELECTOR|NOMINATED NODE|READINESS GATES|LAST SEEN|FIRST SEEN|CREATED AT|PORT\(S\)|[^\s]+)")
_AGO = re.compile(r"^([0-9]{1,9})\s+\((\S+) ago\)$")

# kind -> headers that tell it from the others; the first that fits is taken.
_TABLES = (
    ("Pod", {"READY", "STATUS", "RESTARTS"}),
    ("Node", {"STATUS", "AGE", "VERSION"}),
    ("Event", {"REASON", "MESSAGE"}),
    ("DaemonSet", {"DESIRED", "CURRENT", "NODE SELECTOR"}),
    ("DaemonSet", {"DESIRED", "CURRENT", "NODE-SELECTOR"}),
    ("Deployment", {"UP-TO-DATE", "AVAILABLE"}),
    ("ReplicaSet", {"DESIRED", "CURRENT", "READY"}),
    ("Job", {"COMPLETIONS", "AGE"}),
    ("Job", {"DESIRED", "SUCCESSFUL"}),
    ("RuntimeClass", {"HANDLER"}),
    ("ResourceSlice", {"DRIVER", "POOL"}),
    ("ResourceClaim", {"NAME", "STATE"}),
    ("PriorityClass", {"VALUE", "GLOBAL-DEFAULT"}),
    ("StatefulSet", {"NAME", "READY", "AGE"}),
    ("CustomResourceDefinition", {"NAME", "CREATED AT"}),
)
# What the last path segment of a label, upper-cased by `-L`, was before.
_LABEL_PREFIX = (
    (re.compile(r"^(?:GPU|MIG|CUDA|GFD|VGPU|MPS)[.-]"), "nvidia.com/"),
    (re.compile(r"^(?:PCI|KERNEL|CPU|SYSTEM)-"), "feature.node.kubernetes.io/"),
    (re.compile(r"^(?:ZONE|REGION)$"), "topology.kubernetes.io/"),
    (re.compile(r"^(?:ARCH|OS|HOSTNAME)$"), "kubernetes.io/"),
    (re.compile(r"^INSTANCE-TYPE$"), "node.kubernetes.io/"),
    (re.compile(r"^GKE-"), "cloud.google.com/"),
    (re.compile(r"^ACCELERATOR$"), ""),
)

# Words of the STATUS column. The column is not the phase: these are the phases that can stand behind it.
_PHASES = {
    "Running": "Running",
    "NotReady": "Running",
    "CrashLoopBackOff": "Running",
    "Pending": "Pending",
    "SchedulingGated": "Pending",
    "ContainerCreating": "Pending",
    "PodInitializing": "Pending",
    "ErrImagePull": "Pending",
    "ImagePullBackOff": "Pending",
    "ErrImageNeverPull": "Pending",
    "InvalidImageName": "Pending",
    "ImageInspectError": "Pending",
    "CreateContainerConfigError": "Pending",
    "CreateContainerError": "Pending",
    "Completed": "Succeeded",
    "Succeeded": "Succeeded",
    "Failed": "Failed",
    "Evicted": "Failed",
    "UnexpectedAdmissionError": "Failed",
    "TopologyAffinityError": "Failed",
    "NodeAffinity": "Failed",
    "NodePorts": "Failed",
    "NodeName": "Failed",
    "NodeUnschedulable": "Failed",
    "TaintToleration": "Failed",
    "Shutdown": "Failed",
    "NodeShutdown": "Failed",
    "Terminated": "Failed",
    "Preempting": "Failed",
    "Preempted": "Failed",
    "DeadlineExceeded": "Failed",
    "PodOSNotSupported": "Failed",
    "PodOSSelectorNodeLabelDoesNotMatch": "Failed",
    "AppArmor": "Failed",
    "ContainerStatusUnknown": "Failed",
    "StartError": "Failed",
    "Unknown": "Unknown",
}


def _phase(word: str, restarts: int, ready: str) -> str | None:
    if word.startswith("Init:"):
        return "Pending"
    if word.startswith("OutOf"):
        return "Failed"
    if word in ("Error", "OOMKilled", "ContainerCannotRun", "RunContainerError", "StartError") or word.startswith(("ExitCode:", "Signal:")):
        if word == "RunContainerError":
            return "Running" if restarts else "Pending"
        # A container that has been restarted ended between two runs: its pod goes on.
        return "Running" if restarts or not ready.startswith("0/") else "Failed"
    if _PHASES.get(word) == "Pending" and word != "Pending" and not ready.startswith("0/") and ready:
        return "Running"
    return _PHASES.get(word)


def _split_header(line: str) -> tuple[list[str], list[int]]:
    headers = [(match.group(0), match.start()) for match in re.finditer(r"\S+(?: \S+)*", line)]
    if len(headers) < 2 or any(len(name.split()) > 2 for name, _start in headers):
        headers = [(match.group(0), match.start()) for match in _TWO_WORDS.finditer(line)]
    return [name for name, _start in headers], [start for _name, start in headers]


def _cells(line: str, headers: list[str], starts: list[int]) -> dict[str, str]:
    """A row's cells by header: by the gaps between them, by position where a cell is empty, by words where neither fits."""
    count = len(headers)
    cells = re.split(r" {2,}", line.strip(), maxsplit=count - 1)
    if len(cells) == count:
        return {name: cell.strip() for name, cell in zip(headers, cells)}
    inside = [start for start in starts[1:] if start < len(line)]
    if len(cells) > 1 and all(line[start - 1] == " " for start in inside) and len(line) > starts[-1] - 1:
        ends = [*starts[1:], len(line) + 1]
        return {name: line[start:end].strip() for name, start, end in zip(headers, starts, ends)}
    words: list[str] = []
    for word in line.split():
        if words and (words[-1].endswith("(") or re.match(r"^\d+ \([^)]*$", words[-1]) or (word.startswith("(") and words[-1].isdigit())):
            words[-1] += f" {word}"
        else:
            words.append(word)
    if len(words) > count and count:
        words = [*words[: count - 1], " ".join(words[count - 1 :])]
    return dict(zip(headers, words))


def _table_kind(headers: list[str], hint: str) -> str:
    names = {name.upper() for name in headers}
    for kind, wanted in _TABLES:
        if wanted <= names and not (kind == "Job" and "SCHEDULE" in names):
            return kind
    if hint in ("Pod", "Node", "ClusterPolicy"):
        return hint
    counts = any(_GPU_ALLOCATABLE.match(name) or _GPU_CAPACITY.match(name) for name in names)
    return "Node" if counts and len(names & {"NAME", "NODE"}) == 1 and not names & {"NAMESPACE", "POD", "PODS", "READY"} else "Other"


_POD_WORDS = re.compile(
    rf"^(?:([a-z0-9][\w.-]*)\s+)?((?:pod/)?[a-z0-9][\w.-]*)\s+([0-9]{{1,4}}/[0-9]{{1,4}})\s+([A-Z][\w:/.-]*)"
    rf"\s+([0-9]{{1,9}})(?:\s+\((\S+) ago\))?(?:\s+({_AGE}))?"
    r"(?:\s+(<none>|[0-9a-f:.]{3,40})\s+(\S+))?(?:\s+\S+\s+\S+)?$"
)
_NODE_WORDS = re.compile(
    rf"^((?:node/)?[a-z0-9][\w.-]*)\s+((?:Ready|NotReady|Unknown)(?:,[A-Za-z]+)*)\s+(?:([\w,.<>-]+)\s+)?({_AGE})\s+(v[0-9]\S*)(?:\s+(\S.*))?$"
)
_DAEMONSET_WORDS = re.compile(
    r"^(?:([a-z0-9][\w.-]*)\s+)?((?:daemonset\.apps/)?[a-z0-9][\w.-]*)\s+(\d{1,6})\s+(\d{1,6})\s+(\d{1,6})\s+(\d{1,6})\s+(\d{1,6})"
    rf"\s+(<none>|[\w./-]+=\S*)(?:\s+({_AGE}))?(?:\s+\S.*)?$"
)
_DEPLOYMENT_WORDS = re.compile(
    rf"^(?:([a-z0-9][\w.-]*)\s+)?((?:deployment\.apps/)?[a-z0-9][\w.-]*)\s+(\d{{1,6}}/\d{{1,6}})\s+(\d{{1,6}})\s+(\d{{1,6}})\s+({_AGE})(?:\s+\S.*)?$"
)
_POLICY_WORDS = re.compile(r"^()((?:clusterpolicy\.nvidia\.com/)?[a-z0-9][\w.-]*)\s+(ready|notReady|ignored|disabled)(?:\s+(\S+))?$")
_CRD_WORDS = re.compile(r"^()([a-z0-9-]+(?:\.[a-z0-9-]+){1,12})\s+([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]+Z)$")
_CLASS_WORDS = re.compile(rf"^()((?:runtimeclass\.node\.k8s\.io/)?[a-z0-9][\w.-]*)\s+([a-z][\w.-]*)\s+({_AGE})$")
_BARE_ROWS = (
    ("Pod", _POD_WORDS, ("NAMESPACE", "NAME", "READY", "STATUS", "RESTARTS", "AGO", "AGE", "IP", "NODE")),
    ("Node", _NODE_WORDS, ("NAME", "STATUS", "ROLES", "AGE", "VERSION", "WIDE")),
    (
        "DaemonSet",
        _DAEMONSET_WORDS,
        ("NAMESPACE", "NAME", "DESIRED", "CURRENT", "READY", "UP-TO-DATE", "AVAILABLE", "NODE SELECTOR", "AGE"),
    ),
    ("Deployment", _DEPLOYMENT_WORDS, ("NAMESPACE", "NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE")),
    ("ClusterPolicy", _POLICY_WORDS, ("NAMESPACE", "NAME", "STATUS", "AGE")),
    ("CustomResourceDefinition", _CRD_WORDS, ("NAMESPACE", "NAME", "CREATED AT")),
)
_WIDE_NODE = ("INTERNAL-IP", "EXTERNAL-IP", "OS-IMAGE", "KERNEL-VERSION", "CONTAINER-RUNTIME")


def _bare_row(line: str, hint: str) -> tuple[str, dict[str, str]] | None:
    """A row whose header was left out, known by its words."""
    word = line.strip()
    for kind, rx, names in _BARE_ROWS:
        match = rx.match(word)
        if match:
            cells = {name: value for name, value in zip(names, match.groups()) if value}
            if cells.get("AGO"):
                cells["RESTARTS"] += f" ({cells.pop('AGO')} ago)"
            wide = re.split(r" {2,}", cells.pop("WIDE", ""))
            if len(wide) == len(_WIDE_NODE):
                cells.update(zip(_WIDE_NODE, wide))
            return kind, cells
    if hint == "RuntimeClass":
        match = _CLASS_WORDS.match(word)
        if match:
            return "RuntimeClass", {"NAME": match.group(2), "HANDLER": match.group(3), "AGE": match.group(4)}
    return None


def parse_table(text: str, source: str) -> tuple[str, list[Obj]]:
    """(kind, objects) from `kubectl get` tables, with or without header: Pod, Node, DaemonSet, ... or "Other"; ("", []) when it is none.

    The kind is the first table's; each object has its own. "_table" holds the row: for a Pod ready, status,
    restarts (a number), age, node and ip where printed; for others the columns by lower-case header.
    """
    return _tables(text, source)


def _tables(text: str, source: str) -> tuple[str, list[Obj]]:
    asked = _hinted(text, source)
    hint = asked.kind
    objects: list[Obj] = []
    first = ""
    kind = ""
    headers: list[str] = []
    starts: list[int] = []
    capacity = asked.section == "capacity"
    for line in _lines(text):
        if not line.strip():
            kind, headers = "", []
            continue
        if _ELLIPSIS.match(line):
            continue
        if _HEADER.match(line) and not re.search(r"[a-z]{3}", line.split("  ")[0]):
            headers, starts = _split_header(line)
            if len(headers) > 1:
                kind = _table_kind(headers, hint)
                first = first or kind
                continue
            headers = []
        row: dict[str, str] = {}
        row_kind = kind
        if headers:
            row = _cells(line, headers, starts)
            if kind == "Event" and not _event_row(row):
                _continue(objects, line)
                continue
            bare = _bare_row(line, hint) if kind in ("Pod", "Node", "DaemonSet") and not _row_fits(kind, row) else None
            if bare:
                row_kind, row = bare
            elif not _row_fits(kind, row):
                continue
        else:
            bare = _bare_row(line, hint)
            if bare:
                row_kind, row = bare
            else:
                event = _event_line(line, source, {}) if _ROW_TABLE.match(line) else None
                if event:
                    objects.append(event[1])
                    first = first or "Event"
                continue
        obj = _row(row_kind, row, source, capacity)
        if obj:
            objects.append(obj)
            first = first or obj["kind"]
    if len({obj["kind"] for obj in objects}) == 1 and first == "Other":
        first = objects[0]["kind"]
    return (first, objects) if objects or first else ("", [])


def _event_row(row: dict[str, str]) -> bool:
    seen = row.get("LAST SEEN") or row.get("LASTSEEN") or ""
    return bool(re.match(rf"^{_AGE}{_COUNT}$", seen)) and bool(re.match(r"^[A-Za-z][\w./-]*$", row.get("REASON", "")))


def _continue(objects: list[Obj], line: str) -> None:
    if objects and objects[-1]["kind"] == "Event":
        objects[-1]["message"] = f"{objects[-1]['message']} {line.strip()}".strip()


def _row_fits(kind: str, row: dict[str, str]) -> bool:
    """Whether the cells are what their headers say; not so where a line was wrapped or the columns do not line up."""
    if kind == "Pod" and "RESTARTS" in row:
        return bool(re.match(r"^[0-9]+/[0-9]+$", row.get("READY", "")) and re.match(r"^[0-9]+(?:\s|$)", row["RESTARTS"]))
    if kind == "Node" and "VERSION" in row:
        return bool(re.match(r"^(?:Ready|NotReady|Unknown)\b", row.get("STATUS", "")))
    if kind == "DaemonSet":
        return row.get("DESIRED", "").isdigit() and row.get("CURRENT", "").isdigit()
    return bool(row.get("NAME", "x").strip()) and len(row) > 1


def _row(kind: str, row: dict[str, str], source: str, capacity: bool) -> Obj | None:
    cells = {name.upper(): value for name, value in row.items()}
    if kind == "Event":
        return _event_of_row(cells, source)
    name = cells.get("NAME") or (cells.get("NODE", "") if kind == "Node" else "")
    prefix, slash, rest = name.rpartition("/")
    if slash:
        # `kubectl get all` and `-o name` put the kind in front.
        name, kind = rest, _kind_word(prefix)
    if kind == "Other" and set(cells) >= {"NAME", "STATUS", "AGE"} and len(cells) <= 4:
        kind = (
            "ClusterPolicy"
            if cells["STATUS"] in ("ready", "notReady", "ignored", "disabled")
            else ("Namespace" if cells["STATUS"] in ("Active", "Terminating") else kind)
        )
    obj = _new(kind, source)
    _put(obj, name if name not in NONE_WORDS else None, "metadata", "name")
    _put(obj, cells.get("NAMESPACE"), "metadata", "namespace")
    obj["_table"] = {header.lower(): value for header, value in cells.items() if header not in ("NAME", "NAMESPACE", "LABELS")}
    if "LABELS" in cells:
        obj["metadata"]["labels"] = {} if cells["LABELS"] == "<none>" else _selector([cells["LABELS"]])
        obj["_labels_complete"] = True
    fill = _ROWS.get(kind)
    if fill:
        fill(obj, cells, capacity)
    return obj if obj["metadata"].get("name") else None


def _event_of_row(cells: dict[str, str], source: str) -> Obj:
    seen = re.match(rf"^({_AGE}){_COUNT}$", cells.get("LAST SEEN") or cells.get("LASTSEEN") or "")
    age, many, over = seen.groups() if seen else ("", None, None)
    about: Obj = {"namespace": cells.get("NAMESPACE")}
    if "/" in cells.get("OBJECT", ""):
        word, _slash, about["name"] = cells["OBJECT"].partition("/")
        about["kind"] = _kind_word(word)
    elif "OBJECT" in cells or "KIND" in cells:
        about["kind"] = _kind_word(cells.get("OBJECT") or cells["KIND"])
        # Before 1.14 the NAME column held the event's own name, which begins with the object's.
        name = re.sub(r"\.[0-9a-f]{12,16}$", "", cells.get("NAME", ""))
        about["name"] = name or None
    if cells.get("SUBOBJECT"):
        about["fieldPath"] = cells["SUBOBJECT"]
    count = _int(cells.get("COUNT", "")) or (int(many) if many else None)
    event = _event(
        source,
        cells.get("MESSAGE", ""),
        type=cells.get("TYPE"),
        reason=cells.get("REASON"),
        age=age,
        first_age=over or cells.get("FIRST SEEN") or cells.get("FIRSTSEEN"),
        count=count,
        component=cells.get("SOURCE"),
        involved=about,
    )
    own = cells.get("NAME", "")
    if re.search(r"\.[0-9a-f]{12,16}$", own):
        event["metadata"]["name"] = own
    return event


def _pod_row(obj: Obj, cells: dict[str, str], capacity: bool) -> None:
    restarts = _int(cells.get("RESTARTS", "")) or 0
    table: Obj = {}
    for header, key in (("READY", "ready"), ("STATUS", "status"), ("AGE", "age"), ("IP", "ip")):
        _put(table, cells.get(header), key)
    if "RESTARTS" in cells:
        table["restarts"] = restarts
        ago = _AGO.match(cells["RESTARTS"])
        if ago:
            table["last_restart"] = ago.group(2)
    node = cells.get("NODE") or cells.get("NODENAME")
    if node and node not in NONE_WORDS:
        table["node"] = node
        obj["spec"] = {"nodeName": node}
    nominated = cells.get("NOMINATED NODE")
    if nominated and nominated not in NONE_WORDS:
        obj.setdefault("status", {})["nominatedNodeName"] = nominated
    obj["_table"] = table
    _put(obj, _phase(cells.get("STATUS", ""), restarts, cells.get("READY", "")), "status", "phase")
    word = cells.get("STATUS", "")
    if obj.get("status", {}).get("phase") == "Failed" and word not in ("Error", "Failed") and ":" not in word:
        obj["status"]["reason"] = word
    count = next((cells[name] for name in ("GPU", "GPUS", "NVIDIA.COM/GPU", "GPU-LIMIT", "GPU_LIMIT") if name in cells), "")
    if "RESTARTS" not in cells and _is_quantity(count):
        _put(obj, [{"resources": {"limits": {GPU: count}}}], "spec", "containers")


_MAP_PAIR = re.compile(r"([\w./-]{1,320}):([^\s\[\]]*)")
_GPU_ALLOCATABLE = re.compile(
    r"^(?:NVIDIA\.COM/)?(?:ALLOCATABLE|(?:ALLOC(?:ATABLE)?[-_ .]?)?GPUS?|GPUS?[-_ .]?ALLOC(?:ATABLE)?|NVIDIA-GPUS?)$"
)
_GPU_CAPACITY = re.compile(r"^(?:CAPACITY|CAP(?:ACITY)?[-_ .]?GPUS?|GPUS?[-_ .]?CAP(?:ACITY)?|NVIDIA_GPU_CAPACITY)$")


def _node_row(obj: Obj, cells: dict[str, str], capacity: bool) -> None:
    words = cells.get("STATUS", "").split(",")
    if words[0] in ("Ready", "NotReady", "Unknown"):
        # NotReady also stands for the condition's Unknown; the column does not tell them apart.
        status = {"Ready": "True", "NotReady": "False", "Unknown": "Unknown"}[words[0]]
        _put(obj, [{"type": "Ready", "status": status}], "status", "conditions")
        _put(obj, "SchedulingDisabled" in words, "spec", "unschedulable")
    for header, field in (
        ("VERSION", "kubeletVersion"),
        ("KERNEL-VERSION", "kernelVersion"),
        ("OS-IMAGE", "osImage"),
        ("CONTAINER-RUNTIME", "containerRuntimeVersion"),
    ):
        if cells.get(header, "<none>") not in NONE_WORDS:
            _put(obj, cells[header], "status", "nodeInfo", field)
    addresses = [
        {"type": kind, "address": cells[header]}
        for header, kind in (("INTERNAL-IP", "InternalIP"), ("EXTERNAL-IP", "ExternalIP"))
        if cells.get(header, "<none>") not in NONE_WORDS
    ]
    _put(obj, addresses or None, "status", "addresses")
    labels = obj["metadata"].get("labels", {})
    complete = "LABELS" in cells
    for header, value in cells.items():
        rule = next((prefix for rx, prefix in _LABEL_PREFIX if rx.match(header)), None)
        if rule is not None and "VERSION" in cells and header not in ("KERNEL-VERSION",) and value and value not in NONE_WORDS:
            labels[rule + header.lower()] = value
        if "VERSION" in cells and "STATUS" in cells:
            continue
        # Custom columns: "<none>" says that the node's object has no such value.
        section = (
            "capacity"
            if _GPU_CAPACITY.match(header) or (capacity and _GPU_ALLOCATABLE.match(header))
            else ("allocatable" if _GPU_ALLOCATABLE.match(header) else "")
        )
        if section and value.startswith("map["):
            amounts = {key: amount for key, amount in _MAP_PAIR.findall(value[4:]) if _is_quantity(amount)}
            _put(obj, amounts or None, "status", section)
            obj[f"_{section}_complete"] = _proves_absence(amounts)
        elif section and (re.fullmatch(r"[0-9]{1,6}", value) or value == "<none>"):
            _put(obj, "0" if value == "<none>" else value, "status", section, GPU)
            obj[f"_{section}_complete"] = False
        elif header == "TAINTS" and value == "<none>":
            _put(obj, [], "spec", "taints")
        elif header == "TAINTS" and value.startswith("["):
            taints = [dict(_MAP_PAIR.findall(part)) for part in re.findall(r"map\[([^\[\]]*)\]", value)]
            taints = [{key: said for key, said in taint.items() if key in ("key", "value", "effect") and said} for taint in taints]
            _put(obj, [taint for taint in taints if taint.get("key")] or None, "spec", "taints")
    if labels:
        obj["metadata"]["labels"] = labels
        obj["_labels_complete"] = complete


def _numbers(obj: Obj, cells: dict[str, str], columns: t.Sequence[tuple[str, str]]) -> None:
    for header, field in columns:
        value = _int(cells.get(header, ""))
        _put(obj, value, "status", field)


def _daemonset_row(obj: Obj, cells: dict[str, str], capacity: bool) -> None:
    columns = (
        ("DESIRED", "desiredNumberScheduled"),
        ("CURRENT", "currentNumberScheduled"),
        ("READY", "numberReady"),
        ("UP-TO-DATE", "updatedNumberScheduled"),
        ("AVAILABLE", "numberAvailable"),
    )
    _numbers(obj, cells, columns)
    selector = cells.get("NODE SELECTOR") or cells.get("NODE-SELECTOR")
    if selector:
        read = _selector([selector])
        if read or selector == "<none>":
            _put(obj, read, "spec", "template", "spec", "nodeSelector")
    _images(obj, cells)


def _images(obj: Obj, cells: dict[str, str]) -> None:
    names, images = cells.get("CONTAINERS", ""), cells.get("IMAGES", "")
    if names and images and names.count(",") == images.count(","):
        containers = [{"name": name, "image": image} for name, image in zip(names.split(","), images.split(","))]
        _put(obj, containers, "spec", "template", "spec", "containers")


def _deployment_row(obj: Obj, cells: dict[str, str], capacity: bool) -> None:
    ready, _slash, wanted = cells.get("READY", "").partition("/")
    if wanted.isdigit() and len(wanted) < 9:
        _put(obj, int(wanted), "spec", "replicas")
        _put(obj, _int(ready), "status", "readyReplicas")
    else:
        _put(obj, _int(cells.get("DESIRED", "")), "spec", "replicas")
        _numbers(obj, cells, (("READY", "readyReplicas"), ("CURRENT", "replicas")))
    _numbers(obj, cells, (("UP-TO-DATE", "updatedReplicas"), ("AVAILABLE", "availableReplicas")))
    _images(obj, cells)


def _job_row(obj: Obj, cells: dict[str, str], capacity: bool) -> None:
    done, _slash, wanted = cells.get("COMPLETIONS", "").partition("/")
    _put(obj, _int(wanted), "spec", "completions")
    _put(obj, _int(done), "status", "succeeded")


def _class_row(obj: Obj, cells: dict[str, str], capacity: bool) -> None:
    _put(obj, cells.get("HANDLER"), "handler")


def _policy_row(obj: Obj, cells: dict[str, str], capacity: bool) -> None:
    _put(obj, cells.get("STATUS"), "status", "state")
    if re.match(r"^\d{4}-", cells.get("AGE", "")):
        _put(obj, cells["AGE"], "metadata", "creationTimestamp")


def _slice_row(obj: Obj, cells: dict[str, str], capacity: bool) -> None:
    for header, path in (("NODE", ("nodeName",)), ("DRIVER", ("driver",)), ("POOL", ("pool", "name"))):
        value = cells.get(header, "")
        _put(obj, value if value not in NONE_WORDS else None, "spec", *path)


_ROWS: dict[str, t.Callable[[Obj, dict[str, str], bool], None]] = {
    "Pod": _pod_row,
    "Node": _node_row,
    "DaemonSet": _daemonset_row,
    "Deployment": _deployment_row,
    "ReplicaSet": _deployment_row,
    "StatefulSet": _deployment_row,
    "Job": _job_row,
    "RuntimeClass": _class_row,
    "ClusterPolicy": _policy_row,
    "ResourceSlice": _slice_row,
}


# ---- JSON and YAML ----------------------------------------------------------------------------------------


class _Refused(ValueError):
    """A document that is too large, too deep or expands too much."""


if yaml is not None:

    class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        """Scalars as the API has them: times stay text, "=" and "<<" have no meaning of their own."""

    _Loader.yaml_implicit_resolvers = {
        first: [
            (tag, rx)
            for tag, rx in rules
            if tag in ("tag:yaml.org,2002:bool", "tag:yaml.org,2002:int", "tag:yaml.org,2002:float", "tag:yaml.org,2002:null")
        ]
        for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


def _plain(value: t.Any, depth: int = 0, budget: list[int] | None = None) -> t.Any:
    """The value with JSON's types only; refuses what is too deep or too large."""
    budget = budget if budget is not None else [MAX_VALUES]
    budget[0] -= 1
    if depth > MAX_DEPTH or budget[0] < 0:
        raise _Refused("too deep or too large")
    if isinstance(value, dict):
        return {
            (key if isinstance(key, str) and key.isascii() else _key(key)): _plain(entry, depth + 1, budget) for key, entry in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [_plain(entry, depth + 1, budget) for entry in value]
    if isinstance(value, str):
        return value if value.isascii() else _printable(value)
    if value is None or isinstance(value, (int, float, bool)):
        return value
    if isinstance(value, (set, frozenset)):
        return sorted(str(entry) for entry in value)
    return str(value)


def _printable(text: str) -> str:
    """JSON and YAML can spell halves of characters, which nothing can print."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _key(key: t.Any) -> str:
    return {True: "true", False: "false", None: "null"}.get(key, str(key)) if key is None or isinstance(key, bool) else _printable(str(key))


_DECODER = json.JSONDecoder()
_JSON_ERRORS = (ValueError, RecursionError, MemoryError)
# A shell's "[user@host]" also begins with a bracket.
_JSON_START = re.compile(r"^[ \t]*([\[{])(?=[ \t]*(?:[\"{}\[\]]|$))", re.MULTILINE)
_SPACE = re.compile(r"[\s,]*")
_ITEMS = re.compile(r"\"items\"\s*:\s*\[")


def salvage_json(text: str) -> tuple[list[t.Any], bool]:
    """(values, complete): a JSON text's objects (a List's items); of a cut text those that are whole."""
    if len(text) > MAX_JSON:
        return [], False
    start = _JSON_START.search(text)
    position = start.start(1) if start else text.find("{")
    if position < 0:
        return [], False
    values: list[t.Any] = []
    whole = True
    while position < len(text):
        try:
            value, position = _DECODER.raw_decode(text, position)
            for item in _listed(value):
                try:
                    values.append(_plain(item))
                except _Refused:
                    whole = False  # one that is out of bounds does not take the others with it
        except _JSON_ERRORS:
            cut = text[position:]
            match = _ITEMS.search(cut)
            if cut.startswith("["):
                inner = 1
            elif match:
                inner = match.end()
            else:
                return values, False
            kind = re.search(r"\"kind\"\s*:\s*\"([A-Z]\w*)List\"", cut[: inner if match else 200])
            values.extend(_items(cut, inner, kind.group(1) if kind and kind.group(1) else ""))
            return values, False
        position = _SPACE.match(text, position).end()  # type: ignore[union-attr]
        if text[position : position + 1] not in ("{", "["):
            break
    return values, whole


def _items(text: str, position: int, kind: str) -> list[t.Any]:
    found: list[t.Any] = []
    while True:
        position = _SPACE.match(text, position).end()  # type: ignore[union-attr]
        if text[position : position + 1] not in ("{", "["):
            return found
        try:
            value, position = _DECODER.raw_decode(text, position)
            value = _plain(value)
        except _JSON_ERRORS:
            return found
        if isinstance(value, dict) and kind and "kind" not in value:
            value["kind"] = kind
        found.append(value)


def _listed(value: t.Any) -> list[t.Any]:
    """A List's items, with the kind the list states; anything else as it is."""
    if isinstance(value, dict) and isinstance(value.get("items"), list):
        said, version = str(value.get("kind") or ""), value.get("apiVersion")
        kind = said[:-4] if said.endswith("List") and said != "List" else ""
        if not said or said.endswith("List"):
            found = []
            for item in value["items"]:
                if isinstance(item, dict) and kind and "kind" not in item:
                    item = {**({"apiVersion": version} if version else {}), "kind": kind, **item}
                found.append(item)
            return found
    return [value]


_JSONISH = re.compile(r"^\s*(?:\{\s*(?:\"|\}|$)|\[\s*(?:\{|\]|\"|$))")


def parse_objects(text: str, source: str) -> list[Obj]:
    """Objects from JSON or YAML: single, List, several documents, or a fragment known by its keys.

    Whole objects (apiVersion, kind and a name) are as the API gave them, plus "_source"; others are "_partial".
    """
    hint = _hinted(text, source)
    body = (
        "\n".join("" if _FENCE.match(line) else line for line in text.lstrip("\ufeff").split("\n") if not _PROMPT.match(line))
        if len(text) <= MAX_JSON
        else ""
    )
    if not body.strip():
        return []
    if _JSONISH.match(body.lstrip()[:200]):
        values, complete = salvage_json(body)
        if values or complete:
            return _recognised(values, source, hint)
    found: list[Obj] = []
    for value, cut in _yaml_values(body):
        objects = _objects(value, source, hint)
        if cut:
            for obj in objects:
                obj["_partial"] = True
                _flag_amounts(obj)
        found.extend(objects)
    return found


def shaped(values: list[t.Any], text: str, source: str) -> list[Obj]:
    """Objects from what salvage_json read of a text."""
    return _recognised(values, source, _hinted(text[:4096], source))


def _recognised(values: list[t.Any], source: str, hint: _Hint) -> list[Obj]:
    found: list[Obj] = []
    for value in values:
        found.extend(_objects(value, source, hint))
    return found


def _yaml_values(text: str) -> list[tuple[t.Any, bool]]:
    """(value, cut): each document's values, and whether lines of it are known to be missing."""
    if yaml is None or len(text) > MAX_YAML:
        return []
    values: list[tuple[t.Any, bool]] = []
    for part in re.split(r"^---(?:[ \t].*)?$", text, flags=re.MULTILINE):
        if not part.strip():
            continue
        printed = part.replace("\t", "  ").split("\n")
        # An ellipsis where lines were left out is no YAML; what stands around it is.
        lines = [line for line in printed if not _ELLIPSIS.match(line)]
        elided = len(lines) != len(printed)
        broken = False
        for _attempt in range(4):
            try:
                listed = _listed(_load("\n".join(lines)))
            except _Refused:
                break
            except Exception as error:  # whatever the parser finds, the text is only evidence
                mark = getattr(error, "problem_mark", None)
                stop = min(mark.line if mark is not None else 0, len(lines) - 1)
                # A cut document: what stands before the place it breaks at.
                if stop < 1:
                    break
                lines, broken = lines[:stop], True
                continue
            # Of a list that breaks off, only the last item can lack something.
            values.extend((value, elided or (broken and value is listed[-1])) for value in listed)
            break
    return values


def _load(text: str) -> t.Any:
    depth = aliases = 0
    # Events first: the parser composes by recursion, and an alias costs nothing until it is followed.
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
            depth += 1
        elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            depth -= 1
        elif isinstance(event, yaml.AliasEvent):
            aliases += 1
        if depth > MAX_DEPTH or aliases > MAX_ALIASES:
            raise _Refused("nested too deeply, or too many aliases")
    return _plain(yaml.load(text, Loader=_Loader))


# Keys at the top of a fragment -> where they belong. The first table with a key in common decides.
_NODE_SPEC = {"taints", "unschedulable", "providerID", "podCIDR", "podCIDRs"}
_NODE_STATUS = {"capacity", "allocatable", "nodeInfo", "daemonEndpoints", "volumesInUse", "volumesAttached", "images"}
_POD_SPEC = {
    "containers",
    "initContainers",
    "tolerations",
    "nodeSelector",
    "nodeName",
    "affinity",
    "schedulerName",
    "runtimeClassName",
    "priorityClassName",
    "schedulingGates",
    "topologySpreadConstraints",
    "restartPolicy",
    "volumes",
    "resourceClaims",
    "serviceAccountName",
    "hostPID",
    "hostNetwork",
}
_POD_STATUS = {"containerStatuses", "initContainerStatuses", "phase", "hostIP", "podIP", "podIPs", "qosClass", "nominatedNodeName"}
_CONTAINER = {"resources", "image", "command", "args", "env", "securityContext", "volumeMounts", "imagePullPolicy", "ports", "envFrom"}
_RESOURCES = {"limits", "requests"}
_POLICY = {
    "toolkit",
    "driver",
    "devicePlugin",
    "dcgmExporter",
    "dcgm",
    "gfd",
    "mig",
    "migManager",
    "nodeStatusExporter",
    "operator",
    "validator",
    "cdi",
    "gds",
    "vgpuManager",
    "sandboxDevicePlugin",
    "sandboxWorkloads",
    "kataManager",
    "ccManager",
    "daemonsets",
    "hostPaths",
}


def _objects(value: t.Any, source: str, hint: _Hint) -> list[Obj]:
    if isinstance(value, list):
        return _from_list(value, source, hint)
    if not isinstance(value, dict) or not value:
        return []
    listed = _listed(value)
    if not (len(listed) == 1 and listed[0] is value):
        return [obj for item in listed for obj in _objects(item, source, hint)]
    kind = value.get("kind")
    meta = value.get("metadata")
    if (
        isinstance(kind, str)
        and kind
        and (isinstance(meta, dict) or "apiVersion" in value or "spec" in value or "status" in value or "involvedObject" in value)
    ):
        obj = dict(value)
    elif (
        isinstance(kind, str) and kind and not {"cdiVersion", "containerEdits"} & set(value) and set(value) <= {"kind", "name", "namespace"}
    ):
        return []
    else:
        shaped = _shape(value, hint)
        if shaped is None:
            return []
        obj = shaped
    if not isinstance(obj.get("metadata"), dict):
        obj["metadata"] = {}
    for section in ("spec", "status"):
        # A string or list there would only mislead who reads a mapping.
        if section in obj and obj["kind"] in ("Node", "Pod") and not isinstance(obj[section], dict):
            del obj[section]
    for key in [key for key in obj if key.startswith("_")]:
        del obj[key]  # marks with an underscore are ours
    obj["_source"] = source
    whole = "apiVersion" in value and isinstance(kind, str) and bool(obj["metadata"].get("name"))
    if not whole or (kind in ("Node", "Pod") and "status" not in obj):
        obj["_partial"] = True
        _flag_amounts(obj)
    return [obj]


def _flag_amounts(node: Obj) -> None:
    """Say of a part of a Node whether its amounts prove what they lack."""
    for section in ("capacity", "allocatable"):
        block = (node.get("status") or {}).get(section) if node["kind"] == "Node" else None
        if isinstance(block, dict):
            node[f"_{section}_complete"] = _proves_absence(block)


def _from_list(values: list[t.Any], source: str, hint: _Hint) -> list[Obj]:
    entries = [value for value in values if isinstance(value, dict)]
    if not entries:
        # jsonpath over several nodes prints a list of lists
        return [obj for value in values if isinstance(value, list) for obj in _from_list(value, source, hint)][:10000]
    keys = set().union(*entries)
    if all(
        isinstance(entry.get("effect"), str) and "key" in entry and "operator" not in entry and "tolerationSeconds" not in entry
        for entry in entries
    ):
        return _objects({"spec": {"taints": entries}, "kind": "Node"}, source, hint)
    if all(set(entry) <= {"key", "operator", "value", "effect", "tolerationSeconds"} for entry in entries) and keys & {"operator", "key"}:
        return _objects({"spec": {"tolerations": entries}, "kind": "Pod"}, source, hint)
    if (
        all("name" in entry for entry in entries)
        and keys & {"image", "resources", "command", "args", "volumeMounts"}
        and not keys & {"kind", "metadata"}
    ):
        return _objects({"spec": {"containers": entries}, "kind": "Pod"}, source, hint)
    if all("type" in entry and "status" in entry for entry in entries):
        kind = _condition_kind(entries) or (hint.kind if hint.kind in ("Node", "Pod") else "")
        return _objects({"status": {"conditions": entries}, "kind": kind}, source, hint) if kind else []
    return [obj for entry in entries for obj in _objects(entry, source, hint)]


def _condition_kind(conditions: t.Any) -> str:
    types = {str(entry.get("type")) for entry in conditions if isinstance(entry, dict)} if isinstance(conditions, list) else set()
    if types & {"MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable", "OutOfDisk"}:
        return "Node"
    if types & {"PodScheduled", "ContainersReady", "PodReadyToStartContainers", "Initialized", "DisruptionTarget"}:
        return "Pod"
    reasons = {str(entry.get("reason")) for entry in conditions if isinstance(entry, dict)} if isinstance(conditions, list) else set()
    return "Node" if reasons & {"KubeletReady", "KubeletNotReady", "NodeStatusUnknown"} else ""


def _shape(value: Obj, hint: _Hint) -> Obj | None:
    """An object from a document without a kind: the kind its keys can only belong to."""
    keys = set(value)
    if keys & {"metadata", "spec", "status", "involvedObject", "regarding"}:
        kind = _kind_of(value) or hint.kind
        return {"kind": kind, **{key: entry for key, entry in value.items() if key != "kind"}} if kind else None
    if "cdiVersion" in keys or "containerEdits" in keys:
        return None
    if keys & _NODE_SPEC:
        return _placed("Node", value, spec=_NODE_SPEC, status=_NODE_STATUS)
    if keys & _NODE_STATUS:
        return _placed("Node", value, spec=_NODE_SPEC, status=_NODE_STATUS | {"conditions", "addresses"})
    if keys & (_POD_SPEC | _POD_STATUS) and not (keys & _POLICY):
        obj = _placed("Pod", value, spec=_POD_SPEC, status=_POD_STATUS | {"conditions", "reason", "message"})
        loose = {key: value[key] for key in sorted(keys & _CONTAINER)}
        if loose and not isinstance(obj.get("spec", {}).get("containers"), list):
            obj.setdefault("spec", {})["containers"] = [loose]
        return obj
    if any(isinstance(value[key], dict) for key in keys & _POLICY):
        return {"kind": "ClusterPolicy", "spec": {key: value[key] for key in value if key in _POLICY}}
    if keys & _CONTAINER and any(isinstance(value[key], (dict, list, str)) for key in keys & _CONTAINER):
        return {"kind": "Pod", "spec": {"containers": [dict(value)]}} if not keys & {"version", "services", "runtimes"} else None
    if keys & _RESOURCES and any(isinstance(value[key], dict) for key in keys & _RESOURCES):
        return {"kind": "Pod", "spec": {"containers": [{"resources": {key: value[key] for key in sorted(keys & _RESOURCES)}}]}}
    if "conditions" in keys:
        kind = _condition_kind(value["conditions"]) or (hint.kind if hint.kind in ("Node", "Pod") else "")
        return {"kind": kind, "status": dict(value)} if kind else None
    if keys & {"labels", "annotations", "ownerReferences"}:
        kind = _kind_of({"metadata": value}) or hint.kind
        return {"kind": kind, "metadata": dict(value)} if kind else None
    if keys <= {"type", "status", "reason", "message", "lastProbeTime", "lastTransitionTime"} and {"reason", "message"} <= keys:
        kind = _condition_kind([value]) or (hint.kind if hint.kind in ("Node", "Pod") else "")
        return (
            {
                "kind": kind,
                "status": {"conditions": [{"type": "PodScheduled", "status": "False", **value} if kind == "Pod" else dict(value)]},
            }
            if kind
            else None
        )
    if "handler" in keys and hint.kind == "RuntimeClass":
        return {"kind": "RuntimeClass", **value}
    if {"cpu", "memory", "pods"} <= keys:
        return {"kind": "Node", "status": {hint.section: dict(value)}}
    # jsonpath '{.metadata.labels}'
    labels = all(isinstance(entry, str) for entry in value.values()) and any("/" in str(key) for key in keys)
    if labels and ("kubernetes.io/hostname" in keys or hint.kind == "Node"):
        return {"kind": "Node", "metadata": {"labels": dict(value)}}
    return None


def _placed(kind: str, value: Obj, spec: set[str], status: set[str]) -> Obj:
    obj: Obj = {"kind": kind}
    for section, names in (("spec", spec), ("status", status)):
        found = {key: value[key] for key in value if key in names}
        if found:
            obj[section] = found
    return obj


def _kind_of(value: Obj) -> str:
    """The kind that a document's metadata, spec and status point to."""
    meta, spec, status = (value.get(key) if isinstance(value.get(key), dict) else {} for key in ("metadata", "spec", "status"))
    if "involvedObject" in value or "regarding" in value:
        return "Event"
    if "handler" in value:
        return "RuntimeClass"
    template = spec.get("template")
    if isinstance(template, dict):
        if {"completions", "parallelism", "backoffLimit"} & set(spec) or {"succeeded", "completionTime"} & set(status):
            return "Job"
        if "desiredNumberScheduled" in status or ("updateStrategy" in spec and "serviceName" not in spec and "replicas" not in spec):
            return "DaemonSet"
        if "serviceName" in spec or "volumeClaimTemplates" in spec:
            return "StatefulSet"
        return "Deployment" if "replicas" in spec or "strategy" in spec else ""
    if set(spec) & _NODE_SPEC or set(status) & _NODE_STATUS:
        return "Node"
    if {"pool", "driver"} <= set(spec) or "devices" in spec and "driver" in spec:
        return "ResourceSlice"
    if len(set(spec) & _POLICY) >= 2 or any(isinstance(spec.get(key), dict) for key in set(spec) & (_POLICY - {"driver", "operator"})):
        return "ClusterPolicy"
    if set(spec) & _POD_SPEC or set(status) & _POD_STATUS:
        return "Pod"
    kind = _condition_kind(status.get("conditions"))
    if kind:
        return kind
    if isinstance(spec.get("driver"), dict):
        return "ClusterPolicy"
    labels = meta.get("labels") if isinstance(meta.get("labels"), dict) else {}
    if "kubernetes.io/hostname" in labels or any(str(key).startswith("nvidia.com/gpu.") for key in labels):
        return "Node"
    owners = meta.get("ownerReferences")
    kinds = {str(owner.get("kind")) for owner in owners if isinstance(owner, dict)} if isinstance(owners, list) else set()
    return "Pod" if kinds & {"DaemonSet", "ReplicaSet", "StatefulSet", "Job"} or "pod-template-generation" in labels else ""


# ---- merging ----------------------------------------------------------------------------------------------

# Lists whose entries have an identity of their own.
_LIST_KEYS: dict[str, tuple[str, ...]] = {
    "taints": ("key", "effect"),
    "conditions": ("type",),
    "addresses": ("type", "address"),
    "containers": ("name",),
    "initContainers": ("name",),
    "containerStatuses": ("name",),
    "initContainerStatuses": ("name",),
    "env": ("name",),
    "volumes": ("name",),
    "volumeMounts": ("mountPath",),
    "ownerReferences": ("kind", "name"),
    "tolerations": ("key", "operator", "value", "effect"),
    "_pods": ("namespace", "name"),
}


def _richness(obj: Obj) -> tuple[int, int, int]:
    """Whole objects before described ones before rows of a table; then by how much they say."""
    return (0 if obj.get("_partial") else 1, 0 if "_table" in obj else 1, _leaves(obj))


def _leaves(value: t.Any, depth: int = 0) -> int:
    if depth > MAX_DEPTH + 8:
        return 1
    if isinstance(value, dict):
        return sum(_leaves(entry, depth + 1) for entry in value.values())
    if isinstance(value, list):
        return sum(_leaves(entry, depth + 1) for entry in value)
    return 1


def _merged(name: str, left: t.Any, right: t.Any, depth: int = 0) -> t.Any:
    """Both values put together; where they differ, right's."""
    if depth > MAX_DEPTH + 8:
        return right
    if isinstance(left, dict) and isinstance(right, dict):
        if name == "state" or name == "lastState":  # one of waiting, running, terminated
            return right or left
        found = dict(left)
        for key, value in right.items():
            found[key] = _merged(key, left[key], value, depth + 1) if key in left else value
        return found
    if isinstance(left, list) and isinstance(right, list) and name in _LIST_KEYS:
        fields = _LIST_KEYS[name]
        entries: dict[t.Any, t.Any] = {}
        for number, entry in enumerate([*left, *right]):
            key: t.Any = number
            if isinstance(entry, dict):
                said = tuple(str(entry.get(field) or "") for field in fields)
                key = said if any(said) else number
            entries[key] = _merged("", entries[key], entry, depth + 1) if key in entries else entry
        return list(entries.values())
    return right


def merge_objects(objects: t.Iterable[Obj]) -> list[Obj]:
    """One object for each (kind, namespace, name): what several sources say about it, put together.

    The richest source has the last word and gives "_source"; a whole object is only added to where it is
    silent on a section altogether. "_partial" stays only if all sources were partial. Objects without a name
    stay as they are, events that were printed twice once.
    """
    listed = [obj for obj in objects if isinstance(obj, dict)]
    spaces: dict[tuple[str, str], set[str]] = {}
    for obj in listed:
        kind, space, name = _identity(obj)
        if name and space:
            spaces.setdefault((kind, name), set()).add(space)
    groups: dict[t.Any, list[Obj]] = {}
    for number, obj in enumerate(listed):
        kind, space, name = _identity(obj)
        key: t.Any = number
        if name:
            known = spaces.get((kind, name), set())
            if not space and len(known) == 1:  # a table for one namespace does not print it
                space = next(iter(known))
            key = (kind, space, name)
        elif kind == "Event":
            said = [obj.get(field) for field in ("involvedObject", "reason", "message", "count", "_age", "lastTimestamp")]
            key = (kind, json.dumps(said, sort_keys=True, default=str))
        groups.setdefault(key, []).append(obj)
    return [_together(group) for group in groups.values()]


def _identity(obj: Obj) -> tuple[str, str, str]:
    meta = obj.get("metadata")
    meta = meta if isinstance(meta, dict) else {}
    return str(obj.get("kind") or ""), str(meta.get("namespace") or ""), str(meta.get("name") or "")


def _together(group: list[Obj]) -> Obj:
    if len(group) == 1:
        return group[0]
    ranked = sorted(group, key=_richness)  # stable: of equals the later one wins
    result = dict(ranked[0])
    for obj in ranked[1:]:
        whole = not obj.get("_partial")
        marks = [flag for flag in ("_capacity_complete", "_allocatable_complete", "_labels_complete") if result.get(flag) and flag in obj]
        before = result
        if whole:
            # Its sections are complete: what another source adds there is of another time.
            extra = {key: value for key, value in before.items() if key.startswith("_") or key not in obj}
            result = {**extra, **obj}
            for flag in ("_capacity_complete", "_allocatable_complete", "_labels_complete"):
                section = {"_capacity_complete": "capacity", "_allocatable_complete": "allocatable"}.get(flag)
                status = obj.get("status")
                if section is None or (isinstance(status, dict) and section in status):
                    result.pop(flag, None)
        else:
            result = _merged("", before, obj)
            for flag in marks:
                result[flag] = True
        if "_table" in before:
            result["_table"] = {**before["_table"], **(obj.get("_table") or {})} if isinstance(before["_table"], dict) else before["_table"]
    result["_source"] = ranked[-1].get("_source", "")
    if not all(obj.get("_partial") for obj in group):
        result.pop("_partial", None)
    return result
