# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors
"""Would the scheduler place this pod on this node? Pure evaluation over API objects, filter by filter.

A scheduler event counts nodes and names none, so the node is evaluated here, in the scheduler's own order.
Everything is three-valued: what an object does not show is unknown, never "no". The scheduler's own words
are read in scheduler_words.py.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import re
import typing as t

from ansible_collections.gpuops.node.plugins.plugin_utils.evidence import SEEN, Quote
from ansible_collections.gpuops.node.plugins.plugin_utils.judge.scheduler_words import parse_failed_scheduling, parse_other_scheduler
from ansible_collections.gpuops.node.plugins.plugin_utils.objects import (
    CONDITION_TAINTS,
    GPU,
    NO_SCHEDULE,
    NOT_A_DEVICE,
    UNSCHEDULABLE_TAINT,
    Obj,
    Objects,
    advertised,
    amount,
    annotations_of,
    at,
    condition,
    container_requests,
    full_name,
    gpu_request,
    integer,
    is_gpu,
    items,
    known,
    labels_of,
    leaving,
    mapping,
    name_of,
    node_cordoned,
    node_of,
    node_ready,
    partial,
    pod_requests,
    quantity,
    requests_known,
    show,
    source_of,
    strings,
    terminal,
    text,
)

__all__ = [
    "Evaluation",
    "Free",
    "Gate",
    "Match",
    "Refusal",
    "dra_devices",
    "evaluate",
    "free",
    "gang_of",
    "matches_node_selector",
    "matches_required_node_affinity",
    "parse_failed_scheduling",
    "parse_other_scheduler",
    "pod_gates",
    "pod_requests",
    "quantity",
    "tolerates",
    "untolerated_taints",
]

DRA_DRIVER = "gpu.nvidia.com"
DRA_CLASSES = {"gpu.nvidia.com": "gpu", "mig.nvidia.com": "mig", "vfio.gpu.nvidia.com": "vfio"}

# What a refusal is called, the filter that says it (in the scheduler's words) and the fault it would speak for.
# None: a layer below, or the rest of the cluster, must say.
KINDS: dict[str, tuple[str, str | None]] = {
    "cordoned": ("unschedulable", "node_cordoned"),
    "node_name": ("node_name", "affinity_excludes"),
    "not_ready": ("ready", "node_not_ready"),
    "taint": ("taint", "taint_not_tolerated"),
    "condition_taint": ("taint", "node_not_ready"),
    "selector": ("affinity", "affinity_excludes"),
    "affinity": ("affinity", "affinity_excludes"),
    "ports": ("ports", "other_resource_short"),
    "gpus_in_use": ("resources", "gpus_in_use"),
    "unhealthy": ("resources", "gpu_marked_unhealthy"),
    "exceeds": ("resources", "request_exceeds_node"),
    "node_smaller": ("resources", None),
    "not_advertised": ("resources", None),
    "not_offered_here": ("resources", "resource_name_mismatch"),
    "name": ("resources", "resource_name_mismatch"),
    "other_exceeds": ("resources", "other_resource_short"),
    "other_short": ("resources", "other_resource_short"),
    "too_many_pods": ("resources", "other_resource_short"),
    "claim_missing": ("volumes", "affinity_excludes"),
    "claim_unbound": ("volumes", "affinity_excludes"),
    "volume_affinity": ("volumes", "affinity_excludes"),
    "spread_label": ("spread", "affinity_excludes"),
    "spread": ("spread", "affinity_excludes"),
    "pod_affinity": ("pod_affinity", "affinity_excludes"),
    "pod_anti_affinity": ("pod_affinity", "affinity_excludes"),
    "existing_anti_affinity": ("pod_affinity", "affinity_excludes"),
    "dra_claim_missing": ("dra", "pod_gated"),
    "dra_claim_elsewhere": ("dra", "affinity_excludes"),
    "dra_class_missing": ("dra", "dra_not_serving"),
    "dra_no_slice": ("dra", "dra_not_serving"),
    "dra_no_device": ("dra", "dra_not_serving"),
    "dra_exceeds": ("dra", "request_exceeds_node"),
    "dra_node_smaller": ("dra", None),
    "dra_in_use": ("dra", "gpus_in_use"),
}


# ---- free resources ---------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Free:
    """What is left on a node. `resources` is None where not known; `at_most` holds even when pods are missing."""

    resources: dict[str, float | None]
    at_most: dict[str, float]
    requested: dict[str, float]
    holders: list[dict[str, t.Any]]  # pod, gpus, resources, terminating; the greatest first
    complete: bool
    unknown: list[str]


def free(node: t.Any, pods: t.Iterable[Obj] = (), *, pods_complete: bool = True, bound: bool = False) -> Free:
    """Allocatable minus the requests of the pods that have not ended; `bound` says the pods are this node's already."""
    name = name_of(node)
    requested: dict[str, float] = {}
    holders = []
    unknown = [] if pods_complete else ["not every pod of the node is in the evidence"]
    for pod in pods:
        if not bound and (not name or node_of(pod) != name):
            continue
        over, asks = terminal(pod), pod_requests(pod)
        if over:
            continue
        if over is None or asks is None or not requests_known(pod):
            unknown.append(f"requests of {full_name(pod)}")
        if over is None or asks is None:
            continue
        for key, value in asks.items():
            requested[key] = requested.get(key, 0.0) + value
        devices = {k: v for k, v in asks.items() if is_gpu(k) and v > 0}
        if devices:
            holders.append({"pod": full_name(pod), "gpus": sum(devices.values()), "resources": devices, "terminating": leaving(pod)})
    # `kubectl describe node` prints the sum itself, over every pod it knew.
    summed = {key: quantity(value) for key, value in mapping(node, "_allocated").items()}
    if summed and quantity(at(node, "_pods_total")) is not None:
        summed["pods"] = quantity(at(node, "_pods_total"))
    for key, number in summed.items():
        if number is not None:
            requested[key] = max(requested.get(key, 0.0), number)
    resources: dict[str, float | None] = {}
    at_most: dict[str, float] = {}
    for key in sorted({*mapping(node, "status", "allocatable"), *requested}):
        has = amount(node, "allocatable", key)
        if has is None:
            resources[key] = None
            continue
        at_most[key] = min(has, max(0.0, has - requested.get(key, 0.0)))
        resources[key] = at_most[key] if not unknown or summed.get(key) is not None else None
    holders.sort(key=lambda h: (-h["gpus"], h["pod"]))
    return Free(resources, at_most, requested, holders, not unknown, sorted(unknown))


# ---- taints, selectors, affinity --------------------------------------------------------------------------


def show_taint(taint: Obj) -> str:
    value = text(taint, "value")
    return f"{text(taint, 'key')}{'=' + value if value else ''}:{text(taint, 'effect')}"


def tolerates(pod: t.Any, taint: Obj) -> bool | None:
    """None when the pod's tolerations are not known."""
    if not known(pod, "spec", "tolerations"):
        return None
    for toleration in items(pod, "spec", "tolerations"):
        if text(toleration, "effect") not in ("", text(taint, "effect")) or text(toleration, "key") not in ("", text(taint, "key")):
            continue
        operator = text(toleration, "operator") or "Equal"
        if operator == "Exists":
            return True
        if not text(toleration, "key"):
            continue
        if operator == "Equal" and text(toleration, "value") == text(taint, "value"):
            return True
        if operator in ("Lt", "Gt"):  # 1.35 alpha: numeric tolerations
            wants, has = integer(text(toleration, "value")), integer(text(taint, "value"))
            if wants is not None and has is not None and (has < wants if operator == "Lt" else has > wants):
                return True
    return False


def untolerated_taints(pod: t.Any, node: t.Any) -> list[dict[str, t.Any]] | None:
    """Taints that keep the pod off the node; None when one side is not known."""
    if not known(node, "spec", "taints"):
        return None
    verdicts = [(taint, tolerates(pod, taint)) for taint in items(node, "spec", "taints") if taint.get("effect") in NO_SCHEDULE]
    if any(answer is None for _taint, answer in verdicts):
        return None
    return [taint for taint, answer in verdicts if answer is False]


@dataclasses.dataclass(frozen=True)
class Match:
    """The answer of a selector, and what failed."""

    result: bool | None
    failed: list[str] = dataclasses.field(default_factory=list)

    def __bool__(self) -> bool:
        return self.result is True


def _requirement(expression: Obj, values: t.Mapping[str, str], complete: bool) -> bool | None:
    key, operator, wants = text(expression, "key"), text(expression, "operator"), strings(expression, "values")
    if key not in values and not complete:
        return None
    has = values.get(key)
    if operator == "In":
        return has is not None and has in wants
    if operator == "NotIn":
        return has is None or has not in wants
    if operator == "Exists":
        return has is not None
    if operator == "DoesNotExist":
        return has is None
    if operator in ("Gt", "Lt"):
        left, right = integer(has), integer(wants[0]) if len(wants) == 1 else None
        if left is None or right is None:
            return False
        return left > right if operator == "Gt" else left < right
    return None


def _show(expression: Obj, values: t.Mapping[str, str]) -> str:
    key, operator, wants = text(expression, "key"), text(expression, "operator"), strings(expression, "values")
    said = f"{key} {operator}" + (f" [{', '.join(wants)}]" if wants else "")
    return f"{said} (the node has {values[key]})" if key in values else f"{said} (the node has no such label)"


def _labels_complete(node: t.Any) -> bool:
    if at(node, "_labels_complete") is not None:
        return bool(at(node, "_labels_complete"))
    return isinstance(at(node, "metadata", "labels"), t.Mapping) or not partial(node)


def matches_node_selector(pod: t.Any, node: t.Any) -> Match:
    """spec.nodeSelector; `failed` names each label that is missing or different."""
    if not known(pod, "spec", "nodeSelector"):
        return Match(None)
    labels, complete = labels_of(node), _labels_complete(node)
    failed, unknown = [], False
    for key, value in sorted(mapping(pod, "spec", "nodeSelector").items()):
        if key in labels:
            if labels[key] != str(value):
                failed.append(f"{key}={value} (the node has {labels[key]})")
        elif complete:
            failed.append(f"{key}={value} (the node has no such label)")
        else:
            unknown = True
    return Match(False, failed) if failed else Match(None if unknown else True)


def _term(term: Obj, node: t.Any) -> Match:
    labels, complete = labels_of(node), _labels_complete(node)
    fields = {"metadata.name": name_of(node)} if name_of(node) else {}
    tests = [(e, _requirement(e, labels, complete), labels) for e in items(term, "matchExpressions")]
    tests += [(e, _requirement(e, fields, bool(fields)), fields) for e in items(term, "matchFields")]
    if not tests:
        return Match(False, ["an empty term, which matches no node"])
    failed = [_show(e, values) for e, answer, values in tests if answer is False]
    if failed:
        return Match(False, failed)
    return Match(None if any(answer is None for _e, answer, _v in tests) else True)


def _terms(terms: t.Sequence[Obj], node: t.Any) -> Match:
    """Terms are alternatives; what is in one term must all hold."""
    answers = [_term(term, node) for term in terms]
    if any(answer.result for answer in answers):
        return Match(True)
    if any(answer.result is None for answer in answers):
        return Match(None)
    return Match(False, [" and ".join(answer.failed) for answer in answers] or ["no term at all, which matches no node"])


def matches_required_node_affinity(pod: t.Any, node: t.Any) -> Match:
    """requiredDuringSchedulingIgnoredDuringExecution; `failed` has one entry a term."""
    if not known(pod, "spec", "affinity"):
        return Match(None)
    required = at(pod, "spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    return _terms(items(required, "nodeSelectorTerms"), node) if isinstance(required, t.Mapping) else Match(True)


def matches_labels(selector: t.Any, labels: t.Mapping[str, str]) -> bool | None:
    """A LabelSelector: null matches nothing, an empty one everything."""
    if not isinstance(selector, t.Mapping):
        return False
    if any(labels.get(k) != str(v) for k, v in mapping(selector, "matchLabels").items()):
        return False
    answers = [_requirement(e, labels, True) for e in items(selector, "matchExpressions")]
    if any(answer is False for answer in answers):
        return False
    return None if any(answer is None for answer in answers) else True


# ---- the evaluation ---------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Refusal:
    """One filter's no: which, the fault it would speak for, why, and a line of evidence."""

    filter: str
    kind: str  # a key of KINDS
    fault: str | None
    because: str
    text: str
    source: str
    detail: dict[str, t.Any] = dataclasses.field(default_factory=dict)

    def quote(self) -> Quote:
        return Quote(self.source, self.text[:400])


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """All refusals in the scheduler's order; `fits` is None when nothing refuses but something is not known."""

    refusals: list[Refusal]
    unknown: list[str]
    fits: bool | None
    assigned: bool = False  # the pod is bound to this node already: the scheduler is done with it

    @property
    def first(self) -> Refusal | None:
        return self.refusals[0] if self.refusals else None


_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


class _Scene:
    """What every evaluation over the same pods and nodes needs, worked out once."""

    def __init__(self, pods: t.Iterable[Obj], nodes: t.Iterable[Obj]):
        self.pods = [p for p in pods if isinstance(p, t.Mapping)]
        self.nodes = [n for n in nodes if isinstance(n, t.Mapping)]
        self.names = {name_of(n) for n in self.nodes}
        self.by_node: dict[str, list[Obj]] = {}
        for pod in self.pods:
            self.by_node.setdefault(node_of(pod) or "", []).append(pod)
        self.guarded = [p for p in self.pods if items(p, "spec", "affinity", "podAntiAffinity", _REQUIRED)]
        self._amounts: dict[str, dict[str, float | None]] = {}

    def amounts(self, resource: str) -> dict[str, float | None]:
        """Allocatable of one resource by node."""
        if resource not in self._amounts:
            self._amounts[resource] = {name_of(n): amount(n, "allocatable", resource) for n in self.nodes}
        return self._amounts[resource]


# The last large scene: a run asks about many nodes over the same two lists.
_LARGE = 200
_last: list[tuple[t.Any, t.Any, int, int, _Scene]] = []


def _scene(pods: t.Sequence[Obj], nodes: t.Sequence[Obj]) -> _Scene:
    if len(pods) + len(nodes) < _LARGE:
        return _Scene(pods, nodes)
    if _last:
        old_pods, old_nodes, pod_count, node_count, scene = _last[0]
        if old_pods is pods and old_nodes is nodes and (pod_count, node_count) == (len(pods), len(nodes)):
            return scene
    scene = _Scene(pods, nodes)
    _last[:] = [(pods, nodes, len(pods), len(nodes), scene)]
    return scene


@dataclasses.dataclass
class _Context:
    pod: Obj
    node: Obj
    scene: _Scene
    node_pods: list[Obj]  # those of the node, without this one
    nodes: list[Obj]
    objects: Objects
    looked: t.Mapping[str, str]
    pods_complete: bool
    refusals: list[Refusal] = dataclasses.field(default_factory=list)
    unknown: list[str] = dataclasses.field(default_factory=list)

    @functools.cached_property
    def pods(self) -> list[Obj]:
        """All known pods but this one."""
        return [p for p in self.scene.pods if not _same(p, self.pod)]

    @property
    def name(self) -> str:
        return name_of(self.node) or "the node"

    @property
    def others(self) -> list[Obj]:
        return [n for n in self.nodes if name_of(n) != name_of(self.node)]

    def refuse(self, kind: str, because: str, said: str, obj: t.Any = None, **detail: t.Any) -> None:
        source = source_of(self.node, "Node") if obj is None else source_of(obj, "Pod")
        self.refusals.append(Refusal(KINDS[kind][0], kind, KINDS[kind][1], because, said, source, detail))

    def all_known(self, kind: str) -> bool:
        """The whole list of a kind was read, so that what is not in it does not exist."""
        return self.looked.get(kind) == SEEN

    def find(self, kind: str, name: str, namespace: str | None = None) -> Obj | None:
        for obj in self.objects.get(kind) or ():
            if name_of(obj) == name and (namespace is None or text(obj, "metadata", "namespace") in ("", namespace)):
                return obj
        return None


def _same(left: Obj, right: Obj) -> bool:
    uid = text(left, "metadata", "uid")
    return (bool(uid) and uid == text(right, "metadata", "uid")) or (bool(name_of(left)) and full_name(left) == full_name(right))


def evaluate(
    pod: Obj,
    node: Obj,
    pods: t.Sequence[Obj] = (),
    all_nodes: t.Sequence[Obj] = (),
    *,
    objects: Objects | None = None,
    looked: t.Mapping[str, str] | None = None,
    pods_complete: bool = True,
    node_pods: t.Sequence[Obj] | None = None,
) -> Evaluation:
    """Every filter of the scheduler that refuses this pod on this node, in its order.

    `pods` are all pods known (`node_pods`, when given, those of this node, to save the search); `all_nodes` all nodes
    known; `objects` and `looked` the other API objects by kind and how listing each kind ended.
    """
    name = name_of(node)
    scene = _scene(pods, all_nodes)
    mine = scene.by_node.get(name, []) if node_pods is None else [p for p in node_pods if isinstance(p, t.Mapping)]
    mine = [p for p in mine if name and node_of(p) == name and not _same(p, pod)]
    nodes = scene.nodes if name in scene.names else [*scene.nodes, node]
    ctx = _Context(pod, node, scene, mine, nodes, objects or {}, looked or {}, pods_complete)
    for step in (_unschedulable, _node_name, _ready, _taints, _affinity, _ports, _resources, _volumes, _spread, _pod_affinity, _claims):
        step(ctx)
    fits = False if ctx.refusals else (None if ctx.unknown else True)
    return Evaluation(ctx.refusals, list(dict.fromkeys(ctx.unknown)), fits, bool(name) and node_of(pod) == name)


def _unschedulable(ctx: _Context) -> None:
    cordoned = node_cordoned(ctx.node)
    if cordoned is None:
        ctx.unknown.append("whether the node is cordoned")
    elif cordoned and tolerates(ctx.pod, {"key": UNSCHEDULABLE_TAINT, "effect": "NoSchedule"}) is not True:
        ctx.refuse("cordoned", f"{ctx.name} is cordoned: the scheduler places nothing new on it.", "spec.unschedulable: true")


def _node_name(ctx: _Context) -> None:
    wants = text(ctx.pod, "spec", "nodeName")
    if wants and name_of(ctx.node) and wants != name_of(ctx.node):
        ctx.refuse("node_name", f"The pod is bound to {wants}.", f"spec.nodeName: {wants}", ctx.pod, wants=wants)


def _ready(ctx: _Context) -> None:
    """The scheduler acts on taints, not on the condition; a NotReady node without its taint is one whose taints were not shown."""
    if node_ready(ctx.node) is False and not any(taint.get("key") in CONDITION_TAINTS for taint in items(ctx.node, "spec", "taints")):
        state = text(condition(ctx.node, "Ready"), "status") or "NotReady"
        said = text(condition(ctx.node, "Ready"), "message") or text(ctx.node, "_table", "status")
        ctx.refuse("not_ready", f"{ctx.name} is not Ready ({state}).", f"Ready: {state} {said}".strip(), status=state)


def _taints(ctx: _Context) -> None:
    if not known(ctx.node, "spec", "taints"):
        ctx.unknown.append("the taints of the node")
    for taint in items(ctx.node, "spec", "taints"):
        key, said = text(taint, "key"), f"taint {show_taint(taint)}"
        if taint.get("effect") not in NO_SCHEDULE or key == UNSCHEDULABLE_TAINT:  # the cordon was judged as such
            continue
        answer = tolerates(ctx.pod, taint)
        if answer is None:
            ctx.unknown.append("the tolerations of the pod")
        elif answer is False and key in CONDITION_TAINTS:
            because = f"{ctx.name} carries {key}, which mirrors its {CONDITION_TAINTS[key]} condition."
            ctx.refuse("condition_taint", because, said, taint=taint, condition=CONDITION_TAINTS[key])
        elif answer is False:
            because = f"{ctx.name} carries {show_taint(taint)} and the pod has no toleration for it."
            ctx.refuse("taint", because, said, taint=taint)


def _affinity(ctx: _Context) -> None:
    for kind, match, words, between in (
        ("selector", matches_node_selector(ctx.pod, ctx.node), "node selector", ", "),
        ("affinity", matches_required_node_affinity(ctx.pod, ctx.node), "required node affinity", "; or "),
    ):
        if match.result is None:
            ctx.unknown.append(f"whether the {words} matches")
        elif match.result is False:
            wants = between.join(match.failed)
            because = f"The pod's {words} does not match {ctx.name}: it wants {wants}."
            ctx.refuse(kind, because, f"{words}: {wants}", ctx.pod, failed=match.failed)


def _host_ports(pod: t.Any) -> list[tuple[int, str, str]]:
    ports = []
    for container in items(pod, "spec", "containers") + items(pod, "spec", "initContainers"):
        for port in items(container, "ports"):
            number = integer(port.get("hostPort"))
            if not number and at(pod, "spec", "hostNetwork") is True:
                number = integer(port.get("containerPort"))
            if number:
                ports.append((number, text(port, "protocol") or "TCP", text(port, "hostIP") or "0.0.0.0"))
    return ports


def _ports(ctx: _Context) -> None:
    wants = _host_ports(ctx.pod)
    taken = [(port, other) for other in ctx.node_pods if wants and not terminal(other) for port in _host_ports(other)]
    for (number, protocol, address), other in taken:
        if any(m[:2] == (number, protocol) and (m[2] == address or "0.0.0.0" in (m[2], address)) for m in wants):
            because = f"Host port {number}/{protocol} is taken on {ctx.name} by {full_name(other)}."
            ctx.refuse("ports", because, f"hostPort: {number}", other, port=number, holder=full_name(other))
            return
    if wants and not ctx.pods_complete:
        ctx.unknown.append("whether the host port is free")


# -- resources


def _resources(ctx: _Context) -> None:
    asks, devices = pod_requests(ctx.pod), gpu_request(ctx.pod)
    if asks is None or not (requests_known(ctx.pod) or devices):
        ctx.unknown.append("what the pod requests")
    if at(ctx.node, "status", "allocatable") is None:
        ctx.unknown.append("what the node has to give")
        return
    left = free(ctx.node, ctx.node_pods, pods_complete=ctx.pods_complete, bound=True)
    # The scheduler reports all short resources of a node together; GPUs come first because they are what is asked about.
    for resource in sorted(asks or {}, key=lambda r: (r not in devices, r)):
        if asks and asks[resource] > 0:
            _one_resource(ctx, resource, asks[resource], left, resource in devices)


def _one_resource(ctx: _Context, resource: str, wants: float, left: Free, device: bool) -> None:
    has = amount(ctx.node, "allocatable", resource)
    if has is None:
        ctx.unknown.append(f"how much {resource} the node has")
        return
    if NOT_A_DEVICE.match(resource) and wants > has:
        ctx.unknown.append(f"{resource}, which another scheduler accounts for itself")
        return
    if device and _hami(ctx, resource):
        return
    rows = f"allocatable {resource}: {show(resource, has)}"
    if wants > has:
        if device:
            _gpu_over(ctx, resource, wants, has, rows)
            return
        because = f"The pod asks for {show(resource, wants)} {resource}; {ctx.name} has {show(resource, has)} in all."
        ctx.refuse("other_exceeds", because, rows, resource=resource, request=wants, allocatable=has)
        return
    spare = left.resources.get(resource, has if left.complete else None)
    bound = left.at_most.get(resource, has) if spare is None else spare
    if wants <= bound:
        if spare is None:
            ctx.unknown.append(f"how much {resource} is free")
        return
    detail: dict[str, t.Any] = {"resource": resource, "request": wants, "allocatable": has, "free": bound}
    said = f"{rows}, requested {show(resource, left.requested.get(resource, 0.0))}"
    because = (
        f"The pod asks for {show(resource, wants)} {resource}; {show(resource, bound)} of {show(resource, has)} is free on {ctx.name}."
    )
    if device:
        holders = [h for h in left.holders if resource in h["resources"]]
        if holders:
            because += f" Held by {_holders(holders, resource)}."
        ctx.refuse("gpus_in_use", because, said, holders=holders, **detail)
    elif resource == "pods":
        ctx.refuse("too_many_pods", f"{ctx.name} may run {show(resource, has)} pods and runs as many.", said, **detail)
    else:
        ctx.refuse("other_short", because, said, **detail)


def _holders(holders: t.Sequence[Obj], resource: str) -> str:
    who = [f"{h['pod']} ({show(resource, h['resources'][resource])}{', terminating' if h['terminating'] else ''})" for h in holders]
    return _some(who, 5)


def _some(names: t.Sequence[str], limit: int = 3) -> str:
    return ", ".join(names[:limit]) + (f" and {len(names) - limit} more" if len(names) > limit else "")


def _gpu_over(ctx: _Context, resource: str, wants: float, has: float, said: str) -> None:
    """The pod asks for more of a GPU resource than this node can ever give: tell the reasons apart."""
    total = amount(ctx.node, "capacity", resource)
    detail: dict[str, t.Any] = {"resource": resource, "request": wants, "allocatable": has, "capacity": total}
    elsewhere = {n: v for n, v in ctx.scene.amounts(resource).items() if n != name_of(ctx.node)}
    best = max((v for v in elsewhere.values() if v is not None), default=0.0)
    if has == 0:
        _gpu_absent(ctx, resource, total, best, said, detail)
        return
    asked = f"The pod asks for {show(resource, wants)} {resource}"
    if total is not None and total >= wants:
        because = f"{asked}; {show(resource, total - has)} of {show(resource, total)} on {ctx.name} are marked unhealthy."
        ctx.refuse("unhealthy", because, f"capacity {resource}: {show(resource, total)}, {said}", **detail)
    elif best >= wants:
        able = sorted(n for n, v in elsewhere.items() if v is not None and v >= wants)
        because = f"{asked}, {ctx.name} has {show(resource, has)}; {_some(able)} could hold it."
        ctx.refuse("node_smaller", because, said, able=able, **detail)
    else:
        blind = sorted(n for n, v in elsewhere.items() if v is None)
        largest = max(has, best)
        because = f"{asked}, {ctx.name} has {show(resource, has)} and no known node more than {show(resource, largest)}."
        if blind:
            because += f" The size of {_some(blind)} is not known."
        ctx.refuse("exceeds", because, said, largest=largest, blind=blind, nodes=len(ctx.nodes), **detail)


def _gpu_absent(ctx: _Context, resource: str, total: float | None, best: float, said: str, detail: dict[str, t.Any]) -> None:
    """The node offers none of it: another name, no name at all, or a fault below."""
    served = next((name_of(c) for c in ctx.objects.get("DeviceClass") or () if text(c, "spec", "extendedResourceName") == resource), None)
    if served:
        ctx.unknown.append(f"{resource}, which device class {served} serves through DRA: allocatable does not count it")
        return
    offers = advertised(ctx.node)
    here = ", ".join(f"{name} ({show(name, n)})" for name, n in offers.items())
    if not total and (offers or not is_gpu(resource)):
        everywhere = sorted({name for n in ctx.nodes for name in advertised(n)})
        if best > 0:
            because = f"{ctx.name} offers {here or 'no GPU resource'}, not {resource}; other nodes offer that name."
            ctx.refuse("not_offered_here", because, said, offers=sorted(offers), **detail)
            return
        if everywhere:
            because = f"No known node advertises {resource}; what they advertise is {', '.join(everywhere)}."
            ctx.refuse("name", because, said, offers=everywhere, **detail)
            return
    because = f"{ctx.name} advertises no {resource}: a layer below the scheduler must say why."
    if total:
        because = f"{ctx.name} has capacity {show(resource, total)} and allocatable 0 {resource}: the plugin is away or all are unhealthy."
    ctx.refuse("not_advertised", because, f"{said}, capacity: {'not shown' if total is None else show(resource, total)}", **detail)


def physical_gpus(node: t.Any) -> int | None:
    """GPUs HAMi registered for a node: it advertises a multiple, and one container gets at most the real number."""
    said = annotations_of(node).get("hami.io/node-nvidia-register", "").strip()
    if said.startswith("["):
        try:
            found = json.loads(said)
        except (ValueError, RecursionError):
            return None
        return len(found) if isinstance(found, list) else None
    return len(re.findall(r"(?:^|[:\s])(?:GPU|MIG)-[0-9a-f-]{8,}", said)) or None


def _hami(ctx: _Context, resource: str) -> bool:
    real = physical_gpus(ctx.node)
    asks = max((container_requests(c).get(resource, 0.0) for c in items(ctx.pod, "spec", "containers")), default=0.0)
    if real is None or resource != GPU or asks <= real:
        return False
    because = (
        f"One container asks for {show(resource, asks)} GPUs; {ctx.name} has {real} physical ones and a container gets each at most once."
    )
    detail = {"resource": resource, "request": asks, "allocatable": amount(ctx.node, "allocatable", resource), "physical": real}
    ctx.refuse("exceeds", because, f"hami.io/node-nvidia-register: {real} devices", **detail)
    return True


# -- volumes


def _claim_names(pod: t.Any) -> list[str]:
    names = []
    for volume in items(pod, "spec", "volumes"):
        if isinstance(volume.get("persistentVolumeClaim"), t.Mapping):
            names.append(text(volume, "persistentVolumeClaim", "claimName"))
        elif isinstance(volume.get("ephemeral"), t.Mapping) and name_of(pod) and text(volume, "name"):
            names.append(f"{name_of(pod)}-{text(volume, 'name')}")
    return [name for name in names if name]


ZONE_LABELS = (
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
)


def _volumes(ctx: _Context) -> None:
    for name in _claim_names(ctx.pod):
        claim = ctx.find("PersistentVolumeClaim", name, text(ctx.pod, "metadata", "namespace") or None)
        if claim is not None and text(claim, "spec", "volumeName"):
            _bound_volume(ctx, name, text(claim, "spec", "volumeName"))
        elif claim is not None:
            mode = text(ctx.find("StorageClass", text(claim, "spec", "storageClassName")), "volumeBindingMode")
            if mode == "Immediate":
                because = f"The pod's volume claim {name} is not bound and its storage class binds at once, so the scheduler waits for it."
                said = f"PersistentVolumeClaim {name}: {text(claim, 'status', 'phase') or 'unbound'}"
                ctx.refuse("claim_unbound", because, said, claim, claim=name)
            elif mode != "WaitForFirstConsumer":
                ctx.unknown.append(f"how the unbound volume claim {name} binds")
        elif ctx.all_known("PersistentVolumeClaim"):
            ctx.refuse("claim_missing", f"The pod's volume claim {name} does not exist.", f"claimName: {name}", ctx.pod, claim=name)
        else:
            ctx.unknown.append(f"the volume claim {name}")


def _bound_volume(ctx: _Context, claim: str, name: str) -> None:
    volume = ctx.find("PersistentVolume", name)
    if volume is None:
        ctx.unknown.append(f"where volume {name} lives")
        return
    required = at(volume, "spec", "nodeAffinity", "required")
    match = _terms(items(required, "nodeSelectorTerms"), ctx.node) if isinstance(required, t.Mapping) else Match(True)
    if match.result is None:
        ctx.unknown.append(f"whether volume {name} reaches the node")
        return
    labels, failed = labels_of(ctx.node), list(match.failed)
    for key in ZONE_LABELS:  # zonal volumes of the in-tree kind carry labels instead of an affinity
        wants = labels_of(volume).get(key)
        if wants and key in labels and labels[key] not in wants.split("__"):
            failed.append(f"{key}={wants} (the node has {labels[key]})")
    if failed:
        wants = "; or ".join(dict.fromkeys(failed))
        because = f"Volume {name} of claim {claim} cannot be used on {ctx.name}: it wants {wants}."
        ctx.refuse("volume_affinity", because, f"PersistentVolume {name}: {wants}", volume, claim=claim, volume=name)


# -- topology spread and pod affinity


def _spread(ctx: _Context) -> None:
    for rule in items(ctx.pod, "spec", "topologySpreadConstraints"):
        if rule.get("whenUnsatisfiable", "DoNotSchedule") != "DoNotSchedule":
            continue
        key, labels = text(rule, "topologyKey"), labels_of(ctx.node)
        if key not in labels and _labels_complete(ctx.node):
            because = f"{ctx.name} lacks the label {key} that the pod's topology spread needs."
            ctx.refuse("spread_label", because, f"topologySpreadConstraints: {key}", ctx.pod, key=key)
            continue
        counts = _domains(ctx, rule, key) if ctx.pods_complete and ctx.others else None
        if counts is None or key not in labels:
            ctx.unknown.append("topology spread")
            continue
        own = 1 if matches_labels(_selector(rule, ctx.pod), labels_of(ctx.pod)) else 0
        low = 0 if len(counts) < (integer(rule.get("minDomains")) or 0) else min(counts.values(), default=0)
        limit = integer(rule.get("maxSkew")) or 1
        skew = counts.get(labels[key], 0) + own - low
        if skew > limit:
            because = f"Topology spread over {key}: {labels[key]} would exceed the least filled by {skew}, {limit} is allowed."
            ctx.refuse("spread", because, f"topologySpreadConstraints: {key} maxSkew {limit}", ctx.pod, key=key, skew=skew, max_skew=limit)


def _selector(rule: t.Any, pod: t.Any) -> t.Any:
    """A rule's label selector, with matchLabelKeys filled in from the pod's own labels."""
    selector, own = at(rule, "labelSelector"), labels_of(pod)
    extra = {key: own[key] for key in strings(rule, "matchLabelKeys") if key in own}
    if not isinstance(selector, t.Mapping) or not extra:
        return selector
    return {**selector, "matchLabels": {**mapping(selector, "matchLabels"), **extra}}


def _domains(ctx: _Context, rule: Obj, key: str) -> dict[str, int] | None:
    """Matching pods a domain, over the nodes that count; None when an answer is not known."""
    where = {}
    for node in ctx.nodes:
        if not _labels_complete(node):
            return None
        answers: list[Match] = []
        if rule.get("nodeAffinityPolicy", "Honor") == "Honor":
            answers = [matches_node_selector(ctx.pod, node), matches_required_node_affinity(ctx.pod, node)]
        if any(answer.result is None for answer in answers):
            return None
        if all(answer.result for answer in answers) and key in labels_of(node):
            where[name_of(node)] = labels_of(node)[key]
    counts = dict.fromkeys(where.values(), 0)
    selector = _selector(rule, ctx.pod)
    for other in ctx.pods:
        domain = where.get(node_of(other) or "")
        if domain is None or terminal(other) or leaving(other):
            continue
        if text(other, "metadata", "namespace") != text(ctx.pod, "metadata", "namespace"):
            continue
        if not known(other, "metadata", "labels"):
            return None
        if matches_labels(selector, labels_of(other)):
            counts[domain] += 1
    return counts


def _pod_affinity(ctx: _Context) -> None:
    together = items(ctx.pod, "spec", "affinity", "podAffinity", _REQUIRED)
    apart = items(ctx.pod, "spec", "affinity", "podAntiAffinity", _REQUIRED)
    guards = [p for p in ctx.scene.guarded if node_of(p) and not terminal(p) and not _same(p, ctx.pod)]
    if not (together or apart or guards):
        return
    by_name = {name_of(n): n for n in ctx.nodes}
    if together or apart:
        placed = [(p, by_name[node_of(p) or ""]) for p in ctx.pods if node_of(p) in by_name and not terminal(p)]
        for term in together:
            _affinity_term(ctx, term, placed, True)
        for term in apart:
            _affinity_term(ctx, term, placed, False)
    labels = labels_of(ctx.node)
    for other in guards:
        place = by_name.get(node_of(other) or "")
        for term in items(other, "spec", "affinity", "podAntiAffinity", _REQUIRED):
            key = text(term, "topologyKey")
            if key in labels and labels_of(place).get(key) == labels[key] and _term_matches(term, other, ctx.pod):
                because = f"{full_name(other)} has an anti-affinity over {key} that keeps this pod away from {labels[key]}."
                said = f"podAntiAffinity of {full_name(other)}: {key}"
                ctx.refuse("existing_anti_affinity", because, said, other, key=key, holder=full_name(other))
                return


def _affinity_term(ctx: _Context, term: Obj, placed: t.Sequence[tuple[Obj, Obj]], wanted: bool) -> None:
    key = text(term, "topologyKey")
    domain = labels_of(ctx.node).get(key)
    if domain is None and not _labels_complete(ctx.node):
        ctx.unknown.append("pod affinity")
        return
    answers = [(_term_matches(term, ctx.pod, other), labels_of(place).get(key) == domain) for other, place in placed]
    found = domain is not None and any(answer and here for answer, here in answers)
    unsure = not ctx.pods_complete or any(answer is None for answer, _here in answers)
    if found and not wanted:
        because = f"The pod's anti-affinity over {key} forbids {ctx.name}: a matching pod runs in {domain}."
        ctx.refuse("pod_anti_affinity", because, f"podAntiAffinity: {key}", ctx.pod, key=key)
    elif not found and domain is not None and unsure:
        ctx.unknown.append("pod affinity")
    elif wanted and not found:
        # The first pod of a group that wants its own company may start in any domain.
        if domain is None or any(answer for answer, _here in answers) or not _term_matches(term, ctx.pod, ctx.pod):
            place = f"in {domain}; none runs there" if domain else f"in its domain; {ctx.name} has no such label"
            ctx.refuse(
                "pod_affinity", f"The pod's affinity over {key} wants a matching pod {place}.", f"podAffinity: {key}", ctx.pod, key=key
            )


def _term_matches(term: Obj, owner: t.Any, other: t.Any) -> bool | None:
    spaces, space = strings(term, "namespaces"), text(other, "metadata", "namespace")
    selector = at(term, "namespaceSelector")  # null: own namespace only; empty: every namespace
    if selector is None and space not in (spaces or [text(owner, "metadata", "namespace")]):
        return False
    if (selector and space not in spaces) or not known(other, "metadata", "labels"):
        return None
    return matches_labels(_selector(term, owner), labels_of(other))


# -- dynamic resource allocation


def slices_of(objects: Objects, node_name: str) -> list[Obj]:
    """ResourceSlices of NVIDIA's DRA driver for a node, without the leftovers of older pool generations."""
    mine = [
        obj
        for obj in objects.get("ResourceSlice") or ()
        if node_name and text(obj, "spec", "driver") == DRA_DRIVER and text(obj, "spec", "nodeName") == node_name
    ]
    newest: dict[str, int] = {}
    for obj in mine:
        pool = text(obj, "spec", "pool", "name")
        newest[pool] = max(newest.get(pool, 0), integer(at(obj, "spec", "pool", "generation")) or 0)
    return [o for o in mine if (integer(at(o, "spec", "pool", "generation")) or 0) >= newest[text(o, "spec", "pool", "name")]]


def device_kind(device: Obj) -> str:
    """gpu, mig or vfio: the driver's `type` attribute, else the name."""
    attributes = {**mapping(device, "basic", "attributes"), **mapping(device, "attributes")}
    said = text(attributes.get("type"), "string") or text(attributes.get(f"{DRA_DRIVER}/type"), "string")
    name = text(device, "name")
    return said or ("mig" if "-mig-" in name else "vfio" if "vfio" in name else "gpu")


def dra_devices(objects: Objects, node_name: str, kind: str = "gpu") -> int | None:
    """Usable devices in the node's ResourceSlices (device taints taken off); None when the driver has no slice at all."""
    if not any(text(obj, "spec", "driver") == DRA_DRIVER for obj in objects.get("ResourceSlice") or ()):
        return None
    count = 0
    for obj in slices_of(objects, node_name):
        for device in items(obj, "spec", "devices"):
            taints = items(device, "taints") + items(device, "basic", "taints")
            if device_kind(device) == kind and not any(taint.get("effect") in NO_SCHEDULE for taint in taints):
                count += 1
    return count


def _claims(ctx: _Context) -> None:
    statuses = {text(s, "name"): text(s, "resourceClaimName") for s in items(ctx.pod, "status", "resourceClaimStatuses")}
    space = text(ctx.pod, "metadata", "namespace") or None
    wanted: dict[str, int] = {}
    for reference in items(ctx.pod, "spec", "resourceClaims"):
        name = text(reference, "resourceClaimName") or statuses.get(text(reference, "name"), "")
        claim = ctx.find("ResourceClaim", name, space) if name else None
        if name and claim is None and ctx.all_known("ResourceClaim"):
            because = f"The pod's resource claim {name} does not exist."
            ctx.refuse("dra_claim_missing", because, f"resourceClaimName: {name}", ctx.pod, claim=name)
        elif isinstance(at(claim, "status", "allocation"), t.Mapping):
            selector = at(claim, "status", "allocation", "nodeSelector")
            match = _terms(items(selector, "nodeSelectorTerms"), ctx.node) if isinstance(selector, t.Mapping) else Match(True)
            if match.result is False:
                because = f"The pod's resource claim {name} is allocated on another node: {'; or '.join(match.failed)}."
                ctx.refuse("dra_claim_elsewhere", because, f"ResourceClaim {name}: allocated", claim, claim=name)
        else:
            template = ctx.find("ResourceClaimTemplate", text(reference, "resourceClaimTemplateName"), space)
            spec = at(claim, "spec") or at(template, "spec", "spec")
            if not isinstance(spec, t.Mapping):
                ctx.unknown.append(f"resource claim {name or text(reference, 'name')}")
            for request in items(spec, "devices", "requests"):
                _request(ctx, request, wanted)
    for class_name, wants in sorted(wanted.items()):
        _devices(ctx, class_name, wants)


def _request(ctx: _Context, request: Obj, wanted: dict[str, int]) -> None:
    body = request["exactly"] if isinstance(request.get("exactly"), t.Mapping) else request
    class_name = text(body, "deviceClassName")
    if class_name and ctx.all_known("DeviceClass") and ctx.find("DeviceClass", class_name) is None:
        because = f"The claim asks for device class {class_name}, which does not exist."
        ctx.refuse("dra_class_missing", because, f"deviceClassName: {class_name}", ctx.pod, device_class=class_name)
    elif class_name not in DRA_CLASSES or items(body, "selectors") or body.get("allocationMode") == "All":
        # A CEL selector, an alternative list or a foreign class: only the scheduler can say.
        ctx.unknown.append(f"whether a device suits the claim's request {text(request, 'name')}".rstrip())
    else:
        wanted[class_name] = wanted.get(class_name, 0) + (integer(body.get("count")) or 1)


def _devices(ctx: _Context, class_name: str, wants: int) -> None:
    kind, said = DRA_CLASSES[class_name], f"ResourceSlices of {DRA_DRIVER} for {ctx.name}"
    has = dra_devices(ctx.objects, name_of(ctx.node), kind)
    if has is None and not ctx.all_known("ResourceSlice"):
        ctx.unknown.append("the ResourceSlices")
        return
    detail: dict[str, t.Any] = {"device_class": class_name, "request": wants, "devices": has or 0}
    if not slices_of(ctx.objects, name_of(ctx.node)):
        ctx.refuse("dra_no_slice", f"The DRA driver publishes no ResourceSlice for {ctx.name}.", f"{said}: none", **detail)
        return
    has = has or 0
    asked = f"The claim asks for {wants} of {class_name}"
    if wants > has:
        best = max((dra_devices(ctx.objects, name_of(n), kind) or 0 for n in ctx.others), default=0)
        outcome = "dra_no_device" if not has else ("dra_exceeds" if wants > best else "dra_node_smaller")
        ctx.refuse(outcome, f"{asked}; {ctx.name} publishes {has}.", f"{said}: {has} devices", **detail)
        return
    holders = []
    for claim in ctx.objects.get("ResourceClaim") or ():
        for result in items(claim, "status", "allocation", "devices", "results"):
            if result.get("driver") == DRA_DRIVER and text(result, "pool") == name_of(ctx.node):
                holders.append(full_name(claim))
    if wants > has - len(holders):
        because = f"{asked}; {ctx.name} publishes {has}, {len(holders)} allocated to {_some(sorted(set(holders)))}."
        ctx.refuse("dra_in_use", because, f"{said}: {has} devices, {len(holders)} allocated", holders=sorted(set(holders)), **detail)
    elif not ctx.all_known("ResourceClaim"):
        ctx.unknown.append("which devices are allocated")


# ---- what holds a pod back before any node is looked at ---------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Gate:
    """Something that stands between a pod and the scheduler. `blocking` is None for a mere membership."""

    kind: str  # scheduling_gate | scheduler | kueue | gang | jobset | training | claim_unbound | claim_missing
    name: str
    blocking: bool | None
    fault: str | None
    because: str
    text: str
    source: str
    gang: str | None = None

    def quote(self) -> Quote:
        return Quote(self.source, self.text[:400])


DEFAULT_SCHEDULER = "default-scheduler"
# Where a queue or gang system writes the group's name on a pod: (kind, words, label or annotation key).
MEMBERSHIPS = (
    ("kueue", "Kueue queue", "kueue.x-k8s.io/queue-name"),
    ("kueue", "Kueue pod group", "kueue.x-k8s.io/pod-group-name"),
    ("kueue", "Kueue workload", "kueue.x-k8s.io/workload"),
    ("gang", "pod group", "scheduling.k8s.io/group-name"),
    ("gang", "pod group", "scheduling.volcano.sh/group-name"),
    ("gang", "pod group", "scheduling.x-k8s.io/pod-group"),
    ("gang", "pod group", "pod-group.scheduling.sigs.k8s.io"),
    ("gang", "pod group", "pod-group.scheduling.sigs.k8s.io/name"),
    ("gang", "pod group", "pod-group-name"),
    ("gang", "YuniKorn task group", "yunikorn.apache.org/task-group-name"),
    ("gang", "Volcano job", "volcano.sh/job-name"),
    ("jobset", "JobSet", "jobset.sigs.k8s.io/jobset-name"),
    ("training", "training job", "training.kubeflow.org/job-name"),
    ("training", "Ray cluster", "ray.io/cluster"),
    ("training", "LeaderWorkerSet", "leaderworkerset.sigs.k8s.io/name"),
)
KNOWN_GATES = {
    "kueue.x-k8s.io/admission": "Kueue holds it until its workload is admitted",
    "kueue.x-k8s.io/topology": "Kueue holds it until a topology is assigned",
    "kueue.x-k8s.io/elastic-job": "Kueue holds it until its slice is admitted",
}


def memberships(pod: t.Any) -> list[tuple[str, str, str, str]]:
    """(kind, words, key, group name) for every queue or gang mark on a pod."""
    marks = {**labels_of(pod), **annotations_of(pod)}
    return [(kind, words, key, marks[key]) for kind, words, key in MEMBERSHIPS if marks.get(key)]


def gang_of(pod: t.Any) -> str | None:
    """The group a pod belongs to (namespace/name): pod groups before the jobs that own them."""
    for wanted in ("gang", "jobset", "training", "kueue"):
        for kind, _words, key, name in memberships(pod):
            if kind == wanted and key != "kueue.x-k8s.io/queue-name":
                space = text(pod, "metadata", "namespace")
                return f"{space}/{name}" if space else name
    return None


def scheduler_seen(name: str, objects: Objects, looked: t.Mapping[str, str]) -> bool | None:
    """Whether a scheduler of that name runs: a Running pod or an available Deployment that carries the name."""
    found = False
    for pod in objects.get("Pod") or ():
        # A scheduler's pod is often just called "scheduler" in a namespace of the scheduler's name.
        space = text(pod, "metadata", "namespace") if "scheduler" in name_of(pod) else ""
        carries = [name_of(pod), space, *labels_of(pod).values()]
        for container in items(pod, "spec", "containers"):
            carries += [text(container, "name"), *strings(container, "command"), *strings(container, "args")]
        if any(name in said for said in carries):
            found = True
            if "Running" in (text(pod, "status", "phase"), text(pod, "_table", "status")):
                return True
    for obj in objects.get("Deployment") or ():
        if name in name_of(obj):
            found = True
            if (integer(at(obj, "status", "availableReplicas")) or 0) > 0:
                return True
    for event in objects.get("Event") or ():
        if name in (text(event, "source", "component"), text(event, "reportingComponent"), text(event, "reportingController")):
            return True  # it spoke
    return False if found or looked.get("Pod") == SEEN else None


def pod_gates(pod: t.Any, objects: Objects | None = None, looked: t.Mapping[str, str] | None = None) -> list[Gate]:
    """Gates, foreign schedulers, queue and gang memberships, and volume claims that keep a pod from being looked at."""
    objects, looked = objects or {}, looked or {}
    gates: list[Gate] = []
    gang, placed = gang_of(pod), node_of(pod) is not None

    def gate(kind: str, name: str, blocking: bool | None, because: str, said: str, fault: str = "pod_gated", obj: t.Any = pod) -> None:
        held = blocking and not placed
        gates.append(Gate(kind, name, held, fault if held else None, because, said, source_of(obj, "Pod"), gang))

    for entry in items(pod, "spec", "schedulingGates"):
        name = text(entry, "name")
        because = f"Scheduling gate {name}: {KNOWN_GATES.get(name, 'whoever set it has not lifted it')}."
        gate("scheduling_gate", name, True, because, f"schedulingGates: {name}")
    if text(pod, "_table", "status") == "SchedulingGated" and not gates:
        gate("scheduling_gate", "", True, "The pod has scheduling gates: the scheduler has not looked at it.", "STATUS: SchedulingGated")
    scheduler = text(pod, "spec", "schedulerName")
    if scheduler and scheduler != DEFAULT_SCHEDULER:
        alive = scheduler_seen(scheduler, objects, looked)
        words = {True: "which runs", False: "and no such scheduler runs", None: "whose state is not in the evidence"}[alive]
        gate("scheduler", scheduler, alive is False, f"The pod is for scheduler {scheduler}, {words}.", f"schedulerName: {scheduler}")
    for kind, words, key, name in memberships(pod):
        gate(kind, name, None, f"The pod belongs to {words} {name}.", f"{key}: {name}")
    for name in _claim_names(pod):
        spaces = ("", text(pod, "metadata", "namespace"))
        claims = objects.get("PersistentVolumeClaim") or ()
        claim = next((c for c in claims if name_of(c) == name and text(c, "metadata", "namespace") in spaces), None)
        phase = text(claim, "status", "phase")
        if claim is None and looked.get("PersistentVolumeClaim") == SEEN:
            gate("claim_missing", name, True, f"The pod's volume claim {name} does not exist.", f"claimName: {name}", "affinity_excludes")
        elif phase in ("Pending", "Lost"):
            storage = next((s for s in objects.get("StorageClass") or () if name_of(s) == text(claim, "spec", "storageClassName")), None)
            mode = text(storage, "volumeBindingMode")
            if phase == "Lost" or mode != "WaitForFirstConsumer":  # that mode waits for the pod, not the other way round
                sure = True if phase == "Lost" or mode == "Immediate" else None
                said = f"PersistentVolumeClaim {name}: {phase}"
                gate("claim_unbound", name, sure, f"The pod's volume claim {name} is {phase}.", said, "affinity_excludes", claim)
    return gates
