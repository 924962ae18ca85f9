# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors
"""What a sick node costs: idle GPUs, since when, how much money; and, kept apart, the work of queued gangs it holds back.

Three numbers of different kinds are never added: GPU-hours that stand idle for certain, what they cost, and
GPU-hours of queued work that is late. What the evidence does not show is null and said in a note.
"""

from __future__ import annotations

import dataclasses
import datetime
import re
import typing as t

from ansible_collections.gpuops.node.plugins.plugin_utils import catalogue, owners, twins
from ansible_collections.gpuops.node.plugins.plugin_utils.evidence import SEEN, Evidence
from ansible_collections.gpuops.node.plugins.plugin_utils.judge import scheduling
from ansible_collections.gpuops.node.plugins.plugin_utils.objects import (
    Obj,
    at,
    condition,
    full_name,
    gpus_of,
    integer,
    is_gpu,
    items,
    known,
    labels_of,
    mapping,
    name_of,
    node_of,
    parse_time,
    pod_requests,
    quantity,
    show_time,
    terminal,
    text,
)

# The node advertises its GPUs and takes no new work: what no pod holds is idle.
CLOSED = {"node_cordoned", "taint_left_behind", "node_initializing", "driver_upgrade_stuck"}
# Like the catalogue's pod_side: this node's GPUs do what they are told.
NOT_THE_NODE = {"healthy", "workload_fault"}
# GPUs that a pod holds and cannot use are allocated, not idle; how many there are is not shown by any count.
HELD_IN_VAIN = {"cgroup_device_lost", "container_started_blind", "stale_allocation"}
# These come with a boot: the kernel, module or device set of the running system was decided then.
FROM_BOOT = {
    "driver_not_built_for_kernel",
    "driver_build_failed",
    "kernel_headers_missing",
    "repo_or_network_unreachable",
    "driver_module_not_loaded",
    "driver_image_unavailable",
    "secure_boot_rejected",
    "nouveau_loaded",
    "gpu_bound_elsewhere",
    "gpu_missing",
    "gpu_resources_unassigned",
    "gpu_init_failed",
    "device_nodes_missing",
    "fabric_manager_down",
    "driver_gpu_unsupported",
    "driver_not_installed",
}


# A fault down there leaves the count of advertised GPUs as it was, and the GPUs unusable all the same.
BELOW_THE_PLUGIN = ("hardware", "driver", "runtime")


def _round(value: float | None) -> float | None:
    return None if value is None else round(value + 0.0, 2)


def impact(
    *,
    idle_gpus: int | None,
    now: t.Any = None,
    price: t.Any = None,
    currency: str = "$",
    since: t.Any = None,
    since_from: str | None = None,
    gangs: t.Iterable[t.Mapping[str, t.Any]] = (),
    notes: t.Iterable[str] = (),
) -> dict[str, t.Any]:
    """The impact block of a verdict. `gangs` are {name, gpus, since, pod_count}; those that do not wait must not be given."""
    said = list(notes)
    began, at_time = parse_time(since), parse_time(now)
    hours = None
    if began and at_time:
        hours = (at_time - began).total_seconds() / 3600
        if hours < 0:
            said.append("The time since when lies after the time the evidence is from, so no duration is given.")
            hours = None
    elif idle_gpus:
        said.append("Since when the GPUs stand idle is not in the evidence." if not began else "When the evidence was taken is not known.")
    each = quantity(price)
    each = each if each is not None and each >= 0 else None
    per_hour = None if idle_gpus is None or each is None else idle_gpus * each
    waiting = [_delayed(gang, began, at_time, said) for gang in gangs]
    waiting.sort(key=lambda g: (-(g["gpus"] or 0), g["name"]))
    late = [g["gpu_hours_delayed"] for g in waiting if g["gpu_hours_delayed"] is not None]
    return {
        "idle_gpus": idle_gpus,
        "since": show_time(began) if began else None,
        "since_from": since_from if began else None,
        "hours": _round(hours),
        "price": each,
        "currency": currency,
        "cost_per_hour": _round(per_hour),
        "cost": _round(None if per_hour is None or hours is None else per_hour * hours),
        "idle_gpu_hours": _round(None if idle_gpus is None or hours is None else idle_gpus * hours),
        "gangs": waiting,
        "gpu_hours_delayed": _round(sum(late)) if late else None,
        "notes": list(dict.fromkeys(said)),
    }


def _delayed(
    gang: t.Mapping[str, t.Any], began: datetime.datetime | None, now: datetime.datetime | None, notes: list[str]
) -> dict[str, t.Any]:
    """A gang waits for this node only while both are true: it is queued, and the node is away."""
    name, gpus = str(gang.get("name") or "unnamed"), integer(gang.get("gpus"))
    gpus = None if gpus is None or gpus < 0 else gpus
    queued = parse_time(gang.get("since"))
    start = queued
    if queued and began and began > queued:
        start = began
        notes.append(f"{name} was queued before this node went away; its delay is counted from then on.")
    elif queued is None and gang.get("hours") is None:
        start = began
        if began:
            notes.append(f"Since when {name} waits is not known; its delay is counted from when this node went away.")
    hours = quantity(gang.get("hours")) if start is None or gang.get("hours") is not None else None
    if hours is None and start and now:
        hours = (now - start).total_seconds() / 3600
    if hours is not None and hours < 0:
        hours = None
    result: dict[str, t.Any] = {"name": name, "gpus": gpus, "hours": _round(hours)}
    result["gpu_hours_delayed"] = _round(None if gpus is None or hours is None else gpus * hours)
    count = integer(gang.get("pod_count"))
    if count is not None and count >= 0:
        result["pod_count"] = count
    return result


# ---- queued gangs -----------------------------------------------------------------------------------------


@dataclasses.dataclass
class Gang:
    """A group of pods that starts together or not at all, and waits."""

    name: str
    gpus: int
    since: str | None
    pod_count: int | None
    shapes: list[Obj]  # pods (or templates as pods) of it that want GPUs, to ask whether a node could serve one
    source: str

    def as_input(self) -> dict[str, t.Any]:
        return {"name": self.name, "gpus": self.gpus, "since": self.since, "pod_count": self.pod_count}


def _gpus(spec: t.Any) -> float:
    """GPUs of one pod of a template."""
    return gpus_of(pod_requests({"spec": spec}) or {})


def _template(spec: t.Any) -> Obj:
    return {"spec": {**mapping(spec), "nodeName": None}}


Part = tuple[int, t.Any]  # how many pods, and their spec


def _workload_parts(obj: Obj) -> list[Part]:
    return [(_number(p.get("count"), 1), at(p, "template", "spec")) for p in items(obj, "spec", "podSets")]


def _jobset_parts(obj: Obj) -> list[Part]:
    parts = []
    for job in items(obj, "spec", "replicatedJobs"):
        inner = at(job, "template", "spec")
        parts.append((_number(job.get("replicas"), 1) * _number(at(inner, "parallelism"), 1), at(inner, "template", "spec")))
    return parts


def _volcano_parts(obj: Obj) -> list[Part]:
    return [(_number(task.get("replicas"), 1), at(task, "template", "spec")) for task in items(obj, "spec", "tasks")]


def _training_parts(obj: Obj) -> list[Part]:
    parts = []
    for field, replicas in mapping(obj, "spec").items():
        if field.endswith("ReplicaSpecs"):
            parts += [(_number(at(r, "replicas"), 1), at(r, "template", "spec")) for _role, r in sorted(mapping(replicas).items())]
    return parts


def _ray_parts(obj: Obj) -> list[Part]:
    spec = at(obj, "spec", "rayClusterSpec") or at(obj, "spec")
    parts: list[Part] = [(1, at(spec, "headGroupSpec", "template", "spec"))]
    for group in items(spec, "workerGroupSpecs"):
        parts.append((_number(group.get("replicas"), 1) * _number(group.get("numOfHosts"), 1), at(group, "template", "spec")))
    return parts


def _leader_worker_parts(obj: Obj) -> list[Part]:
    body = at(obj, "spec", "leaderWorkerTemplate")
    groups, size = _number(at(obj, "spec", "replicas"), 1), _number(at(body, "size"), 1)
    worker = at(body, "workerTemplate", "spec")
    leader = at(body, "leaderTemplate", "spec") or worker
    return [(groups, leader), (groups * max(0, size - 1), worker)]


# Kinds that declare their pods, and how to read them. API groups tell two kinds of one name apart.
DECLARERS: tuple[tuple[str, str, t.Callable[[Obj], list[Part]]], ...] = (
    ("Workload", "kueue.x-k8s.io/", _workload_parts),
    ("JobSet", "jobset.x-k8s.io/", _jobset_parts),
    ("Job", "batch.volcano.sh/", _volcano_parts),
    ("MPIJob", "kubeflow.org/", _training_parts),
    ("PyTorchJob", "kubeflow.org/", _training_parts),
    ("TFJob", "kubeflow.org/", _training_parts),
    ("XGBoostJob", "kubeflow.org/", _training_parts),
    ("PaddleJob", "kubeflow.org/", _training_parts),
    ("JAXJob", "kubeflow.org/", _training_parts),
    ("RayJob", "ray.io/", _ray_parts),
    ("RayCluster", "ray.io/", _ray_parts),
    ("LeaderWorkerSet", "leaderworkerset.x-k8s.io/", _leader_worker_parts),
)
OVER = ("Finished", "Completed", "Complete", "Succeeded", "Failed", "Deactivated")
WAITING_PHASES = ("", "Pending", "Inqueue", "PreScheduling", "Scheduling", "Unknown")


def _number(value: t.Any, default: int) -> int:
    number = integer(value)
    return default if number is None or number < 0 else min(number, 10**6)


def is_pending(pod: Obj) -> bool:
    """Not placed, not ended, waiting to be placed."""
    if node_of(pod) or terminal(pod):
        return False
    return "Pending" in (text(pod, "status", "phase"), text(pod, "_table", "status")) or text(pod, "_table", "status") == "SchedulingGated"


def _pod_since(pod: Obj) -> str | None:
    scheduled = condition(pod, "PodScheduled")
    for value in (
        text(scheduled, "lastTransitionTime") if scheduled.get("status") == "False" else "",
        text(pod, "metadata", "creationTimestamp"),
    ):
        if parse_time(value):
            return value
    return None


def _earliest(times: t.Iterable[str | None]) -> str | None:
    moments = [(m, said) for m, said in ((parse_time(x), x) for x in times) if m and said]
    return min(moments)[1] if moments else None


def _groups(pod: Obj) -> list[str]:
    space = text(pod, "metadata", "namespace")
    names = [name for _kind, _words, key, name in scheduling.memberships(pod) if key != "kueue.x-k8s.io/queue-name"]
    return [f"{space}/{name}" if space else name for name in names]


def _aliases(obj: Obj) -> set[str]:
    space = text(obj, "metadata", "namespace")
    names = [name_of(obj)] + [text(ref, "name") for ref in items(obj, "metadata", "ownerReferences")]
    return {f"{space}/{name}" if space else name for name in names if name}


def find_gangs(evidence: Evidence, declared: t.Iterable[t.Mapping[str, t.Any]] = ()) -> list[Gang]:
    """Every gang that asks for GPUs and really waits: its pods are Pending, or its queue has not admitted it."""
    found: list[Gang] = []
    seen: set[str] = set()
    for entry in [*declared, *_declared(evidence)]:
        gpus = integer(entry.get("gpus"))
        if gpus and gpus > 0:
            name = str(entry.get("name") or f"gang {len(found) + 1}")
            count = integer(entry.get("pod_count") or entry.get("pods"))
            found.append(Gang(name, gpus, text(entry, "since") or None, count, [], "declared"))
            seen |= {name, name.rpartition("/")[2]}
    members: dict[str, list[Obj]] = {}
    for pod in evidence.of("Pod"):
        for group in _groups(pod):
            members.setdefault(group, []).append(pod)

    def add(
        aliases: set[str], pods: list[Obj], gpus: float, since: str | None, count: int | None, shapes: list[Obj], source: str, name: str
    ) -> None:
        taken = bool(aliases & seen) or bool({a.rpartition("/")[2] for a in aliases} & seen)
        for pod in pods:
            aliases |= set(_groups(pod))
        seen.update(aliases)
        if not taken and gpus > 0:
            found.append(Gang(name, round(gpus), since, count, shapes or [p for p in pods if is_pending(p)], source))

    for obj in evidence.of("PodGroup"):
        _pod_group(obj, members, add)
    for kind, group, parts_of in DECLARERS:
        for obj in evidence.of(kind):
            if text(obj, "apiVersion").startswith(group) or (not text(obj, "apiVersion") and kind != "Job"):
                _declarer(obj, kind, parts_of(obj), members, add)
    for name, pods in sorted(members.items()):
        alive = [p for p in pods if not terminal(p)]
        pending = [p for p in alive if is_pending(p)]
        if pending and name not in seen:
            gpus = sum(gpus_of(pod_requests(p) or {}) for p in alive)
            add({name}, alive, gpus, _earliest(_pod_since(p) for p in pending), len(alive), [], f"{len(alive)} pods", name)
    return sorted(found, key=lambda g: (-g.gpus, g.name))


Add = t.Callable[[set[str], list[Obj], float, str | None, int | None, list[Obj], str, str], None]


def _declared(evidence: Evidence) -> list[Obj]:
    return items(evidence.declared, "gangs") + items(evidence.declared, "queues")


def _members(aliases: set[str], members: t.Mapping[str, list[Obj]]) -> list[Obj]:
    unique = {id(p): p for alias in sorted(aliases) for p in members.get(alias, ())}
    return [p for p in unique.values() if not terminal(p)]


def _pod_group(obj: Obj, members: t.Mapping[str, list[Obj]], add: Add) -> None:
    pods = _members({a for a in _aliases(obj) if a.endswith(name_of(obj))}, members)
    pending = [p for p in pods if is_pending(p)]
    done = (integer(at(obj, "status", "succeeded")) or 0) + (integer(at(obj, "status", "failed")) or 0)
    if pods and not pending:
        add(_aliases(obj), pods, 0, None, None, [], "", "")  # all placed: it does not wait
        return
    if not pods and (text(obj, "status", "phase") not in WAITING_PHASES or done):
        return
    size = _number(at(obj, "spec", "minMember"), len(pods))
    per_pod = [gpus_of(pod_requests(p) or {}) for p in pods]
    minimum = {k.removeprefix("requests."): quantity(v) or 0.0 for k, v in mapping(obj, "spec", "minResources").items()}
    gpus = gpus_of(minimum) or (sum(per_pod) if len(pods) == size else size * max(per_pod, default=0.0))
    since = _earliest(_pod_since(p) for p in pending) or text(obj, "metadata", "creationTimestamp") or None
    add(_aliases(obj), pods, gpus, since, size or None, [], f"PodGroup/{full_name(obj)}", full_name(obj))


def _declarer(obj: Obj, kind: str, parts: list[Part], members: t.Mapping[str, list[Obj]], add: Add) -> None:
    if any(text(condition(obj, state), "status") == "True" for state in OVER) or text(obj, "status", "state", "phase") in OVER:
        return
    aliases = _aliases(obj)
    pods = _members(aliases, members)
    pending = [p for p in pods if is_pending(p)]
    admitted = text(condition(obj, "Admitted"), "status") == "True"
    queued = kind == "Workload" and not admitted and at(obj, "spec", "active") is not False
    if not queued and not pending:
        return  # placed, suspended by hand, or no pod of it is in the evidence
    gpus = sum(count * _gpus(spec) for count, spec in parts)
    owner = next((text(ref, "name") for ref in items(obj, "metadata", "ownerReferences")), "") if kind == "Workload" else ""
    space = text(obj, "metadata", "namespace")
    name = f"{space}/{owner}" if owner and space else owner or full_name(obj)
    evicted = condition(obj, "Evicted")
    since = text(evicted, "lastTransitionTime") if queued and evicted.get("status") == "True" else ""
    since = since or _earliest(_pod_since(p) for p in pending) or text(obj, "metadata", "creationTimestamp")
    shapes = [_template(spec) for _count, spec in parts if _gpus(spec) > 0]
    add(aliases, pods, gpus, since or None, sum(count for count, _spec in parts) or None, shapes, f"{kind}/{full_name(obj)}", name)


def could_use(gang: Gang, node: t.Any) -> bool:
    """Could this node serve any pod of the gang once it is well? Only a selector or affinity that is known to exclude it says no."""
    if not gang.shapes or node is None:
        return True
    for pod in gang.shapes:
        answers = (scheduling.matches_node_selector(pod, node), scheduling.matches_required_node_affinity(pod, node))
        if not any(answer.result is False for answer in answers):
            return True
    return False


def loners(evidence: Evidence) -> tuple[int, int]:
    """GPU pods that are Pending outside any gang, and the GPUs they ask for."""
    pods = [p for p in evidence.of("Pod") if is_pending(p) and not _groups(p)]
    asks = [gpus_of(pod_requests(p) or {}) for p in pods]
    return sum(1 for n in asks if n), round(sum(asks))


# ---- since when -------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Since:
    """A moment and the evidence it is from."""

    kind: str  # cordon | taint | not_ready | evidence | ended | operand | boot
    time: str
    source: str


# Which evidence says best since when, by what is wrong; a list in a list: the earliest of those.
_ORDER: dict[str, tuple[tuple[str, ...], ...]] = {
    "cordon": (("cordon",), ("operand",)),
    "taint": (("taint",),),
    "not_ready": (("not_ready",),),
    "boot": (("boot", "operand"), ("ended",), ("evidence",), ("not_ready",)),
    "hardware": (("evidence",), ("ended",), ("operand",), ("boot",), ("not_ready",)),
    "stack": (("ended",), ("operand",), ("evidence",), ("not_ready",)),
    "partial": (("evidence",),),
}
_KIND_OF = {
    "node_cordoned": "cordon",
    "driver_upgrade_stuck": "cordon",
    "taint_left_behind": "taint",
    "node_initializing": "taint",
    "node_not_ready": "not_ready",
}


def since_when(fault: str, layer: str | None, candidates: t.Iterable[Since], some_left: bool = False) -> Since | None:
    """The best evidence for when the GPUs were lost; `some_left` says that part of them still works."""
    kind = _KIND_OF.get(fault) or (
        "partial" if some_left else "boot" if fault in FROM_BOOT else "hardware" if layer == "hardware" else "stack"
    )
    usable = [(moment, c) for moment, c in ((parse_time(c.time), c) for c in candidates) if moment]
    for group in _ORDER[kind]:
        of_group = [(moment, group.index(c.kind), c) for moment, c in usable if c.kind in group]
        if of_group:
            return min(of_group, key=lambda x: (x[0], x[1], x[2].source))[2]
    return None


def _candidates(view: t.Any, verdict: t.Mapping[str, t.Any]) -> list[Since]:
    node, found = view.node, []
    root = [e for e in at(verdict, "root", "evidence") or [] if isinstance(e, t.Mapping)]
    if node is not None:
        now = view.options.now or view.evidence.taken
        cordon = owners.judge_cordon(node, view.evidence, now)
        if cordon.since:
            found.append(Since("cordon", cordon.since, str(cordon.since_from)))
        named = [x for x in items(node, "spec", "taints") if any(text(x, "key") and text(x, "key") in text(e, "text") for e in root)]
        for taint in named:
            when, source = owners.taint_since(taint, node, now, view.options.validation_taints)
            if when:
                found.append(Since("taint", when, f"{text(taint, 'key')}: {source}"))
        # When a node last became Ready says nothing of its GPUs: a node is Ready with none of them.
        ready = condition(node, "Ready")
        if text(ready, "status") in ("False", "Unknown"):
            found.append(Since("not_ready", text(ready, "lastTransitionTime"), "the node stopped being Ready (condition Ready)"))
        elif text(verdict, "root", "fault") == "node_not_ready":
            for pressure in ("DiskPressure", "MemoryPressure", "PIDPressure", "NetworkUnavailable"):
                said = condition(node, pressure)
                if text(said, "status") == "True":
                    found.append(Since("not_ready", text(said, "lastTransitionTime"), f"the node reports {pressure}"))
    found += [since for since in map(_of_quote, root) if since]
    for doc, facts in view.parsed("uptime"):
        found.append(Since("boot", text(facts, "boot"), f"boot time ({doc.path})"))
    for kind in ("kubelet_log", "journal"):
        for doc, facts in view.parsed(kind):
            ends = [text(e, "time") for e in facts.get("ended") or [] if isinstance(e, t.Mapping)]
            if ends and parse_time(ends[-1]):
                found.append(Since("ended", ends[-1], f"the kubelet lost the plugin ({doc.path})"))
    for event in view.events:
        if event.get("reason") == "Rebooted" and text(event, "involvedObject", "name") == view.name:
            found.append(Since("boot", text(event, "lastTimestamp") or text(event, "eventTime"), "event Rebooted"))
    found += _operands(view)
    return found


# Full dates as logs write them: `dmesg -T`, RFC 3339 and its kin (also journalctl -o short-iso, Go's log), `systemctl status`.
_DATE, _TIME, _ZONE = r"(?P<date>\d{4}[-/]\d{2}[-/]\d{2})", r"(?P<time>\d{2}:\d{2}:\d{2})", r"(?P<zone>Z|UTC|[+-]\d{2}:?\d{2})"
_STAMPS = (
    re.compile(rf'^\s*\[?(?:time="?)?{_DATE}[T ]{_TIME}(?:[.,]\d+)? ?{_ZONE}?\b'),
    re.compile(rf"^\s*\[\w{{3}} (?P<month>[A-Z][a-z]{{2}}) {{1,2}}(?P<day>\d{{1,2}}) {_TIME} (?P<year>\d{{4}})\]"),
    re.compile(rf"\bsince \w{{3}} {_DATE} {_TIME}(?: {_ZONE})?\b"),
)
_MONTHS = "JanFebMarAprMayJunJulAugSepOctNovDec"


def stamp(line: str) -> tuple[str, bool] | None:
    """The full date and time a line carries, as RFC 3339, and whether it names its zone."""
    for pattern in _STAMPS:
        match = pattern.search(line)
        if not match:
            continue
        parts = match.groupdict()
        date = str(parts.get("date") or "").replace("/", "-")
        if not date:
            month = _MONTHS.find(parts["month"])
            date = f"{parts['year']}-{month // 3 + 1:02}-{int(parts['day']):02}" if month % 3 == 0 else ""
        zone = parts.get("zone")
        said = f"{date}T{parts['time']}{zone or 'Z'}"
        if parse_time(said):
            return said, bool(zone)
    return None


def _of_quote(entry: t.Mapping[str, t.Any]) -> Since | None:
    """When a quoted line of the root was written."""
    line = text(entry, "text")
    what = f"{'Xid line' if re.search(r'NVRM: Xid', line) else 'line of the fault'} ({text(entry, 'source')})"
    if parse_time(text(entry, "time")):
        return Since("evidence", text(entry, "time"), what)
    found = stamp(line)
    return Since("evidence", found[0], what if found[1] else f"{what}, its time read as UTC") if found else None


def _operands(view: t.Any) -> list[Since]:
    """Since when the plugin's pod of this node is not Ready; without a plugin pod, the driver's."""
    for component in ("device_plugin", "driver", "toolkit", "validator"):
        downs = []
        for pod in view.pods_of(component):
            ready = condition(pod, "Ready")
            if ready.get("status") == "False" and parse_time(text(ready, "lastTransitionTime")):
                downs.append(Since("operand", text(ready, "lastTransitionTime"), f"pod {full_name(pod)} is not Ready since then"))
        if downs:
            return downs
    return []


# ---- idle GPUs --------------------------------------------------------------------------------------------


def idle_gpus(
    fault: str,
    expected: int | None,
    allocatable: int | None,
    unused: int | None,
    capacity: int | None = None,
    *,
    layer: str | None = None,
    ready: str = "",
) -> tuple[int | None, list[str]]:
    """GPUs of the node nobody can use, and what to know about the number.

    `unused`: advertised ones no pod holds. `ready`: the status of the condition Ready.
    """
    should = expected if expected is not None else capacity
    if fault in NOT_THE_NODE or fault in catalogue.pod_side():
        return 0, []
    if fault == "node_not_ready" and ready != "True":
        whole = should if should is not None else allocatable
        if whole is None:
            return None, ["How many GPUs the node has is not known, so none is counted as idle."]
        why = "the kubelet is silent, so whether" if ready == "Unknown" else "it takes no new pods, and whether"
        return whole, [f"All GPUs of the node are counted: {why} pods still run on it is not known."] if whole else []
    missing = None if should is None or allocatable is None else max(0, should - allocatable)
    if fault in HELD_IN_VAIN:
        return missing, ["GPUs that pods hold and cannot use are not counted as idle."]
    if fault in CLOSED or fault == "node_not_ready":
        if unused is None:
            return None, ["How many of its GPUs pods still use is not in the evidence, so none is counted as idle."]
        return unused + (missing or 0), []
    if missing is None:
        return None, ["How many GPUs the node should advertise is not known, so none is counted as idle."]
    if not missing and allocatable and layer in BELOW_THE_PLUGIN:
        fails = "may fail" if fault == "undetermined" else "fail"
        return None, [f"The node advertises its GPUs, but new pods that get one {fails}: how many jobs that holds back is not known."]
    return missing, []


def _unused(view: t.Any) -> int | None:
    if view.node is None:
        return None
    whole = view.evidence.looked.get("Pod") == SEEN and view.evidence.form != "must-gather"
    left = scheduling.free(view.node, view.pods, pods_complete=whole, bound=True)
    devices = [left.resources[name] for name in sorted(left.resources) if is_gpu(name)]
    if not devices and view.allocatable == 0:
        return 0
    if not devices or any(n is None for n in devices):
        return None
    return round(sum(n for n in devices if n is not None))


def _physical(view: t.Any, units: int | None, shares: int | None) -> int | None:
    """Shares and MIG devices in whole GPUs: money is paid for GPUs."""
    if units is None or not units:
        return units
    labels = labels_of(view.node)
    replicas = integer(labels.get("nvidia.com/gpu.replicas")) or 1
    product, count = labels.get("nvidia.com/gpu.product", ""), integer(labels.get("nvidia.com/gpu.count"))
    split = "-MIG-" in product or any(re.match(r"nvidia\.com/mig-[\w.+-]+\.count$", k) for k in labels)
    if not split and replicas <= 1:
        return units
    if not split:
        return -(-units // replicas)
    bus = view.bus[0]
    gpus = len(bus) if bus else (count if count and "-MIG-" not in product else None)
    if not gpus or not shares:
        return None
    return min(gpus, -(-units * gpus // shares))


def _shares(units: int) -> str:
    return "1 share or MIG device stands" if units == 1 else f"{units} shares or MIG devices stand"


def _zero_is_known(view: t.Any) -> bool:
    """Does anything prove that the node has no GPU? A table that shows neither labels nor counts does not."""
    if view.node is None:
        return False
    declared = getattr(view.options, "expected", None)
    if declared is not None and (not isinstance(declared, t.Mapping) or view.name in declared):
        return True
    return known(view.node, "metadata", "labels") or twins.zero_is_right(view.node) is not None


def gangs_of(view: t.Any) -> tuple[list[Gang], tuple[int, int]]:
    """The waiting gangs and loners of the cluster, found once for all its nodes."""
    cluster = view.cluster
    known = getattr(cluster, "waiting_gangs", None)
    if known is None:
        declared = [g for g in view.options.gangs or () if isinstance(g, t.Mapping)]
        known = cluster.waiting_gangs = (find_gangs(view.evidence, declared), loners(view.evidence))
    return known


def for_view(view: t.Any, verdict: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """The impact block for one node's verdict."""
    fault, layer = text(verdict, "root", "fault"), at(verdict, "root", "layer")
    expected, allocatable, capacity = (integer(verdict.get(k)) for k in ("expected", "allocatable", "capacity"))
    options = view.options
    if expected == 0 and allocatable is None and capacity is None and not _zero_is_known(view):
        expected = None
    ready = text(condition(view.node, "Ready"), "status")
    unused = _unused(view) if fault in CLOSED or fault == "node_not_ready" else None
    units, notes = idle_gpus(fault, expected, allocatable, unused, capacity, layer=layer, ready=ready)
    idle = _physical(view, units, expected or capacity)
    if units and idle is None:
        notes.append(f"{_shares(units)} idle; how many GPUs that is, is not in the evidence.")
    elif idle != units:
        notes.append(f"{_shares(units)} idle, counted as {idle} whole GPU{'' if idle == 1 else 's'}.")
    if idle == 0:
        return impact(idle_gpus=0, price=options.price, currency=options.currency, now=options.now or view.evidence.taken, notes=notes)
    best = since_when(fault, layer, _candidates(view, verdict), some_left=bool(allocatable) and fault not in CLOSED)
    gangs, (alone, asked) = gangs_of(view)
    fitting = [g.as_input() for g in gangs if could_use(g, view.node)]
    if alone:
        notes.append(
            f"{alone} GPU pod{'s' if alone > 1 else ''} outside any gang {'are' if alone > 1 else 'is'} Pending, for {asked} GPUs in all."
        )
    if fitting:
        notes.append("GPU-hours delayed are queued work, not money and not part of the idle GPU-hours.")
    return impact(
        idle_gpus=idle,
        now=options.now or view.evidence.taken,
        price=options.price,
        currency=options.currency,
        since=best.time if best else None,
        since_from=best.source if best else None,
        gangs=fitting,
        notes=notes,
    )
