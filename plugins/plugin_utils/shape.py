# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors
"""API objects as everything that judges them may rely on: what is there has the type that the API gives it.

A capture is a file that anybody may have written: taints may be a word, labels a list, a container a number. What has
another type is taken out where the object enters, once, and told; what is left out is not known, never absent.
"""

from __future__ import annotations

import math
import typing as t

# Leaves
TEXT = "text"  # a string; a number or a boolean that a person wrote without quotes becomes one
WORD = "word"  # the same, but a boolean is spelled as conditions spell it: True, False
AMOUNT = "amount"  # a quantity: a string or a finite number, not less than nothing
COUNT = "count"  # a whole number
FLAG = "flag"  # true or false

Shape = t.Union[str, "dict[str, t.Any]", "list[t.Any]"]  # a list has one shape for all its entries; the key "*" is any key

WORDS = {"*": TEXT}
AMOUNTS = {"*": AMOUNT}
ANY: dict[str, t.Any] = {}  # a mapping of whatever

META = {
    "name": TEXT, "namespace": TEXT, "generateName": TEXT, "uid": TEXT, "creationTimestamp": TEXT, "deletionTimestamp": TEXT,
    "labels": WORDS, "annotations": WORDS,
    "ownerReferences": [{"apiVersion": TEXT, "kind": TEXT, "name": TEXT, "uid": TEXT}],
    "managedFields": [{"manager": TEXT, "operation": TEXT, "time": TEXT, "fieldsV1": ANY}],
}  # fmt: skip
TAINT = {"key": TEXT, "value": TEXT, "effect": TEXT, "timeAdded": TEXT}
CONDITION = {"type": TEXT, "status": WORD, "reason": TEXT, "message": TEXT, "lastTransitionTime": TEXT, "lastHeartbeatTime": TEXT}
EXPRESSION = {"key": TEXT, "operator": TEXT, "values": [TEXT]}
TERM = {"matchExpressions": [EXPRESSION], "matchFields": [EXPRESSION]}
SELECTOR = {"matchLabels": WORDS, "matchExpressions": [EXPRESSION]}
RESOURCES = {"limits": AMOUNTS, "requests": AMOUNTS, "claims": [ANY]}
CONTAINER = {
    "name": TEXT, "image": TEXT, "restartPolicy": TEXT, "resources": RESOURCES, "env": [{"name": TEXT, "value": TEXT, "valueFrom": ANY}],
    "command": [TEXT], "args": [TEXT], "ports": [ANY], "volumeMounts": [{"name": TEXT, "mountPath": TEXT}],
    "securityContext": {"privileged": FLAG, "capabilities": {"add": [TEXT], "drop": [TEXT]}},
}  # fmt: skip
_PEERS = {"requiredDuringSchedulingIgnoredDuringExecution": [{"labelSelector": SELECTOR, "topologyKey": TEXT, "namespaces": [TEXT]}]}
POD_SPEC = {
    "nodeName": TEXT, "schedulerName": TEXT, "runtimeClassName": TEXT, "priorityClassName": TEXT, "restartPolicy": TEXT,
    "hostNetwork": FLAG, "nodeSelector": WORDS, "overhead": AMOUNTS, "resources": RESOURCES,
    "tolerations": [{"key": TEXT, "operator": TEXT, "value": TEXT, "effect": TEXT}],
    "affinity": {
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [TERM]}},
        "podAffinity": _PEERS, "podAntiAffinity": _PEERS,
    },
    "containers": [CONTAINER], "initContainers": [CONTAINER],
    "volumes": [{"name": TEXT, "hostPath": {"path": TEXT, "type": TEXT}, "persistentVolumeClaim": {"claimName": TEXT}}],
    "schedulingGates": [{"name": TEXT}], "resourceClaims": [ANY],
    "topologySpreadConstraints": [{"topologyKey": TEXT, "whenUnsatisfiable": TEXT, "labelSelector": SELECTOR}],
}  # fmt: skip
_DETAIL = {"reason": TEXT, "message": TEXT, "startedAt": TEXT, "finishedAt": TEXT}
_STATE = {"waiting": _DETAIL, "running": _DETAIL, "terminated": _DETAIL}
_STATUS_OF = {"name": TEXT, "image": TEXT, "restartCount": COUNT, "ready": FLAG, "state": _STATE, "lastState": _STATE}
_REFERENCE = {"kind": TEXT, "namespace": TEXT, "name": TEXT, "uid": TEXT, "fieldPath": TEXT}
_HEAD = {"apiVersion": TEXT, "kind": TEXT, "metadata": META}

NODE = {
    **_HEAD,
    "spec": {"taints": [TAINT], "unschedulable": FLAG, "providerID": TEXT},
    "status": {
        "capacity": AMOUNTS, "allocatable": AMOUNTS, "conditions": [CONDITION], "nodeInfo": WORDS,
        "addresses": [{"type": TEXT, "address": TEXT}],
    },
}  # fmt: skip
POD = {
    **_HEAD,
    "spec": POD_SPEC,
    "status": {
        "phase": TEXT, "reason": TEXT, "message": TEXT, "nominatedNodeName": TEXT, "startTime": TEXT, "conditions": [CONDITION],
        "containerStatuses": [_STATUS_OF], "initContainerStatuses": [_STATUS_OF],
    },
}  # fmt: skip
CONTROLLER = {
    **_HEAD,
    "spec": {"replicas": COUNT, "nodeSelector": WORDS, "selector": SELECTOR, "template": {"metadata": META, "spec": POD_SPEC}},
    "status": {
        "desiredNumberScheduled": COUNT, "currentNumberScheduled": COUNT, "numberReady": COUNT, "numberAvailable": COUNT,
        "replicas": COUNT, "readyReplicas": COUNT, "conditions": [CONDITION],
    },
}  # fmt: skip
EVENT = {
    **_HEAD,
    "reason": TEXT, "message": TEXT, "note": TEXT, "type": TEXT, "action": TEXT, "count": COUNT, "firstTimestamp": TEXT,
    "lastTimestamp": TEXT, "eventTime": TEXT, "involvedObject": _REFERENCE, "regarding": _REFERENCE,
    "source": {"component": TEXT, "host": TEXT},
}  # fmt: skip
SHAPES: dict[str, dict[str, t.Any]] = {
    "Node": NODE,
    "Pod": POD,
    **dict.fromkeys(("DaemonSet", "Deployment", "ReplicaSet", "StatefulSet", "Job"), CONTROLLER),
    "Event": EVENT,
    "RuntimeClass": {**_HEAD, "handler": TEXT},
    "ClusterPolicy": {**_HEAD, "spec": {"toolkit": {"env": [{"name": TEXT, "value": TEXT}]}}, "status": {"state": TEXT}},
    "ResourceSlice": {
        **_HEAD,
        "spec": {
            "driver": TEXT, "nodeName": TEXT, "pool": ANY,
            "devices": [{"name": TEXT, "basic": {"taints": [TAINT]}, "taints": [TAINT]}],
        },
    },
}  # fmt: skip
OTHER = _HEAD

_GONE = object()


def fit(obj: dict[str, t.Any], kind: str) -> list[str]:
    """Make an object fit its kind, in place; the paths of what had another type and was taken out."""
    lost: list[str] = []
    _fit(obj, SHAPES.get(kind, OTHER), "", lost)
    if lost:
        obj["_partial"] = True  # what was taken out is not known
    return lost


def _fit(value: t.Any, shape: Shape, path: str, lost: list[str]) -> t.Any:
    """The value as its shape wants it, or _GONE. Mappings are changed in place; most fit as they are."""
    if shape.__class__ is dict:
        if value.__class__ is not dict:
            lost.append(path)
            return _GONE
        _fit_mapping(value, shape, path, lost)
        return value
    if shape.__class__ is list:
        if value.__class__ is not list:
            lost.append(path)
            return _GONE
        before = len(lost)
        entries = [_fit(entry, shape[0], path + "[]", lost) for entry in value]
        changed = len(lost) != before or any(new is not old for new, old in zip(entries, value))
        return [entry for entry in entries if entry is not _GONE] if changed else value
    found = _leaf(value, t.cast(str, shape))
    if found is _GONE:
        lost.append(path)
    return found


def _fit_mapping(value: dict[str, t.Any], shape: dict[str, t.Any], path: str, lost: list[str]) -> None:
    rest = shape.get("*")
    if rest is not None and len(shape) == 1:
        keys: t.Iterable[str] = list(value)
    else:
        keys = [key for key in shape if key in value]
    for key in keys:
        old = value[key]
        if old is None:
            del value[key]  # what is null is not there
            continue
        wants = shape.get(key, rest)
        if old.__class__ is str and (wants == TEXT or wants == WORD) and old.isascii():
            continue
        new = _fit(old, wants, f"{path}.{key}" if path else key, lost)
        if new is _GONE:
            del value[key]
        elif new is not old:
            value[key] = new


def _leaf(value: t.Any, shape: str) -> t.Any:
    if shape in (TEXT, WORD):
        if value.__class__ is str:
            return value if value.isascii() else printable(value)
        if value.__class__ is bool:
            return str(value) if shape == WORD else str(value).lower()
        return str(value) if type(value) in (int, float) and _sane(value) else _GONE
    if shape == AMOUNT:
        if value.__class__ is str:
            return value if not value.lstrip().startswith("-") else _GONE
        return value if type(value) in (int, float) and _sane(value) and value >= 0 else _GONE
    if shape == COUNT:
        if value.__class__ is str and value.isascii() and value.isdigit() and len(value) < 16:
            return int(value)
        if value.__class__ is float and value.is_integer() and _sane(value):
            return int(value)
        return value if value.__class__ is int and _sane(value) else _GONE
    if shape == FLAG:
        if value.__class__ is str and value.lower() in ("true", "false"):
            return value.lower() == "true"
        return value if value.__class__ is bool else _GONE
    raise AssertionError(shape)


def _sane(value: float) -> bool:
    return abs(value) < 1e18 if value.__class__ is int else math.isfinite(value)


def printable(text: str) -> str:
    """A string that can be written as UTF-8: JSON and YAML can spell halves of characters."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode("utf-8")
    return text


def without_halves(value: t.Any, depth: int = 0) -> t.Any:
    """The value with every string printable, however deep; only for texts that spell such characters."""
    if isinstance(value, str):
        return printable(value)
    if depth > 200:
        return None
    if isinstance(value, dict):
        return {printable(str(key)): without_halves(entry, depth + 1) for key, entry in value.items()}
    if isinstance(value, list):
        return [without_halves(entry, depth + 1) for entry in value]
    return value
