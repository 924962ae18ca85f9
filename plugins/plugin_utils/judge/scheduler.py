# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors
"""Layer 5: may the waiting pod be placed on this node? The node is evaluated, the event is a cross-check."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.gpuops.node.plugins.plugin_utils import objects, owners, twins
from ansible_collections.gpuops.node.plugins.plugin_utils.evidence import Quote
from ansible_collections.gpuops.node.plugins.plugin_utils.judge import (
    DECISIVE,
    PROOF,
    SUPPORTING,
    SYMPTOM,
    LayerReport,
    scheduler_words,
    scheduling,
)
from ansible_collections.gpuops.node.plugins.plugin_utils.judge.view import View, component_of, name_of, quote_of

KINDS = ("describe_pod", "get_pods", "get_events", "get_nodes", "describe_node", "kubectl_output")

# The autoscaler could make a fitting node and does not.
AT_LIMIT = ("max_size", "backoff", "cluster_limit", "group_not_ready")
MAX_SHAPES = 12  # waiting pods of one shape get one evaluation

# What an event alone can say when the node's object is not there, the most telling first (facts 1.6).
EVENT_REASONS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("gpu_taint", "taint_not_tolerated", ("taint_left_behind",)),
    ("taint", "taint_not_tolerated", ("taint_left_behind", "node_initializing")),
    (
        "insufficient_gpu",
        "gpus_in_use",
        (
            "request_exceeds_node",
            "plugin_not_registered",
            "gpu_marked_unhealthy",
            "resource_name_mismatch",
            "plugin_not_deployed",
            "driver_module_not_loaded",
        ),
    ),
    ("dra", "dra_not_serving", ("gpus_in_use", "request_exceeds_node", "resource_name_mismatch")),
    ("insufficient", "other_resource_short", ()),
    ("too_many_pods", "other_resource_short", ()),
    ("ports", "other_resource_short", ()),
    ("volume", "affinity_excludes", ()),
    ("affinity", "affinity_excludes", ("node_label_missing",)),
    ("pod_affinity", "affinity_excludes", ()),
    ("spread", "affinity_excludes", ()),
    ("not_ready", "node_not_ready", ()),
    ("unschedulable", "node_cordoned", ("driver_upgrade_stuck",)),
    ("role_taint", "taint_not_tolerated", ()),
)


def judge(view: View, expected: int | None, marks_only: bool = False) -> LayerReport:
    """All of the layer; or, for a sound node of a fleet, only what is written on the node itself."""
    report = LayerReport("scheduler", read=view.read(*KINDS))
    _ready(view, report)
    pods = wanted_pods(view)
    _cordon(view, report)
    _taints(view, report, pods)
    if marks_only:
        return report
    evaluated = _evaluate(view, report, pods)
    _gates(view, report, pods)
    _events(view, report, evaluated, pods)
    _served_names(view, report)
    _no_request(view, report)
    return report


def wanted_pods(view: View) -> list[dict[str, t.Any]]:
    """The pods whose placement is in question: the one asked for, else the waiting ones that want a GPU."""
    kept = view.cluster.__dict__.get("wanted")
    if kept is None:
        kept = view.cluster.__dict__["wanted"] = _wanted_pods(view)
    return kept


def _wanted_pods(view: View) -> list[dict[str, t.Any]]:
    waiting = view.waiting
    if view.options.pod:
        space, _slash, name = view.options.pod.rpartition("/")
        return [
            p
            for p in view.evidence.of("Pod")
            if p["metadata"].get("name") == name and (not space or p["metadata"].get("namespace") == space)
        ]
    asking = [p for p in waiting if objects.asks_for_gpu(p)]
    if not asking and view.cluster.single:
        asking = [p for p in waiting if not component_of(p["metadata"].get("name") or "")]
    shapes: dict[str, dict[str, t.Any]] = {}
    for pod in asking:
        spec = pod.get("spec") or {}
        shape = repr(
            (scheduling.gang_of(pod), spec.get("nodeSelector"), spec.get("tolerations"), sorted((objects.pod_requests(pod) or {}).items()))
        )
        shapes.setdefault(shape, pod)
    return list(shapes.values())[:MAX_SHAPES]


def _ready(view: View, report: LayerReport) -> None:
    if view.node is None:
        return
    for condition in (view.node.get("status") or {}).get("conditions") or []:
        kind, status = condition.get("type"), condition.get("status")
        said = f"{kind}={status} {condition.get('reason') or ''}: {condition.get('message') or ''}".strip(" :")
        starting = next(
            (
                x
                for x in view.taints
                if (owners.owner_of(str(x.get("key")), view.options.validation_taints) or {}).get("class") == "startup"
            ),
            None,
        )
        if kind == "Ready" and condition.get("reason") == "NodeStatusNeverUpdated" and starting:
            report.add(
                "node_initializing",
                DECISIVE,
                "The node has not posted a first status yet and carries its start-up taint: it is still joining.",
                quote_of(view.node, said),
                quote_of(view.node, f"taint {scheduling.show_taint(starting)}"),
                also=("node_not_ready",),
                rule="never_posted",
            )
        elif kind == "Ready" and status in ("False", "Unknown"):
            report.add(
                "node_not_ready",
                PROOF,
                f"The node is not Ready ({condition.get('reason') or status}); everything the API says of its GPUs is old.",
                quote_of(view.node, said, condition.get("lastTransitionTime")),
                rule="ready_false",
                ceiling="certain" if condition.get("reason") else "likely",
            )
        elif kind in ("MemoryPressure", "DiskPressure", "PIDPressure") and status == "True":
            report.add(
                "node_not_ready",
                DECISIVE,
                f"The kubelet reports {kind}: it takes no new pods and may evict running ones.",
                quote_of(view.node, said, condition.get("lastTransitionTime")),
                rule="pressure",
            )
    if view.ready is False and not report.findings:
        taint = next((x for x in view.taints if x.get("key") in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")), None)
        if taint:
            report.add(
                "node_not_ready",
                DECISIVE,
                f"The node carries {taint['key']}: its kubelet does not report.",
                quote_of(view.node, f"taint {taint['key']}:{taint.get('effect')}"),
                rule="not_ready_taint",
            )
    if view.ready:
        report.good.append("the node is Ready")


def _cordon(view: View, report: LayerReport) -> None:
    if not view.cordoned or view.node is None:
        return
    owner = owners.judge_cordon(view.node, view.evidence, view.options.now or view.evidence.taken)
    fault = owner.fault or "node_cordoned"
    weight = {"certain": PROOF, "likely": DECISIVE}.get(owner.certainty, SUPPORTING)
    report.add(
        fault, weight, owner.because, *owner.quotes, rule="cordon", ceiling=owner.certainty, remedy=owner.remedy, may_act=owner.may_remove
    )
    if fault != "node_cordoned":
        report.add("node_cordoned", SUPPORTING, "The node is cordoned (spec.unschedulable).", *owner.quotes[:1], rule="cordon_seen")


def _taints(view: View, report: LayerReport, pods: list[dict[str, t.Any]]) -> None:
    if view.node is None:
        return
    for taint in view.taints:
        if (
            taint.get("effect") not in ("NoSchedule", "NoExecute")
            or (taint.get("key") in scheduling.CONDITION_TAINTS and not _condition_cleared(view, taint))
            or taint.get("key") == scheduling.UNSCHEDULABLE_TAINT
        ):
            continue
        refused = [pod for pod in pods if scheduling.tolerates(pod, taint) is False]
        unknown = not pods or any(scheduling.tolerates(pod, taint) is None for pod in pods)
        if pods and not refused and not unknown:
            continue
        owner = owners.judge_taint(
            taint, view.node, twins.twins_for(view), view.evidence, view.options.now or view.evidence.taken, view.options.validation_taints
        )
        if not owner.fault:
            continue
        policy = owner.fault == "taint_not_tolerated" and owner.cls in ("policy", "unknown", "human", "script")
        if owner.cls == "autoscaler" and view.cordoned:
            continue  # one act of one owner: the cordon tells it
        if policy and not refused and not _event_names(view, str(taint.get("key"))):
            continue
        weight = PROOF if refused and owner.certainty == "certain" else DECISIVE if owner.certainty != "possible" else SUPPORTING
        quotes = list(owner.quotes) or [quote_of(view.node, f"taint {scheduling.show_taint(taint)}")]
        who = f" {name_of(refused[0])} does not tolerate it." if refused else ""
        report.add(
            owner.fault,
            weight,
            owner.because.rstrip() + who,
            *quotes,
            also=() if refused or not policy else ("taint_left_behind",),
            rule=f"taint_{taint.get('key')}",
            ceiling=owner.certainty,
            remedy=owner.remedy,
            may_act=owner.may_remove,
        )


def _condition_cleared(view: View, taint: dict[str, t.Any]) -> bool:
    """A taint that mirrors a condition, on a node whose condition does not hold (or is not shown while nothing else is wrong)."""
    name = scheduling.CONDITION_TAINTS[str(taint.get("key"))]
    for condition in objects.items(view.node, "status", "conditions"):
        if condition.get("type") == name:
            return (condition.get("status") == "True") if name == "Ready" else (condition.get("status") == "False")
    return name == "NetworkUnavailable" and view.ready is not False


def _event_names(view: View, key: str) -> bool:
    return any(
        key in str(event.get("message") or "") or "no nodes available to schedule pods" in str(event.get("message") or "")
        for event in view.events_with("FailedScheduling")
    )


def _evaluate(view: View, report: LayerReport, pods: list[dict[str, t.Any]]) -> bool:
    """Every waiting shape against this node; True when the node's object decided for at least one."""
    if view.node is None:
        return False
    decided = False
    refused = 0
    for pod in pods:
        outcome = scheduling.evaluate(
            pod, view.node, view.evidence.of("Pod"), view.evidence.of("Node"), objects=view.evidence.objects, looked=view.evidence.looked,
            pods_complete=not view.cluster.single or view.evidence.looked.get("Pod") == "seen", node_pods=view.pods,
        )  # fmt: skip
        for refusal in outcome.refusals:
            if refusal.filter in ("unschedulable", "ready", "taint"):
                decided = True
                continue  # told by owner above
            if not refusal.fault:
                continue
            decided = True
            weight = DECISIVE if view.node.get("_partial") else PROOF
            report.add(refusal.fault, weight, refusal.because, refusal.quote(), rule=f"{refusal.filter}_{refusal.kind}")
        refused += bool(outcome.refusals)
        if outcome.fits:
            report.good.append(f"{name_of(pod)} would fit")
    if pods:
        report.good.append(f"{len(pods)} kind(s) of waiting GPU pod, {refused} refused here")
    return decided


def _gates(view: View, report: LayerReport, pods: list[dict[str, t.Any]]) -> None:
    for pod in pods:
        for gate in scheduling.pod_gates(pod, view.evidence.objects, view.evidence.looked):
            if gate.blocking and gate.fault:
                report.add(gate.fault, DECISIVE, gate.because, gate.quote(), rule=f"gate_{gate.kind}")


def _volume_zone(view: View, report: LayerReport, event: Quote) -> None:
    """A bound volume that lives elsewhere, where its claim is not in the evidence and its object is."""
    for volume in view.evidence.of("PersistentVolume"):
        required = objects.at(volume, "spec", "nodeAffinity", "required")
        if required and view.node is not None:
            match = scheduling.matches_required_node_affinity(
                {"spec": {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}}}, view.node
            )
            if match.result is False:
                report.add(
                    "affinity_excludes",
                    PROOF,
                    f"Volume {name_of(volume)} can only be used where {'; '.join(match.failed) or 'its node affinity matches'}.",
                    quote_of(volume, "nodeAffinity of the volume"),
                    event,
                    rule="volume_zone",
                )


def _said(view: View) -> list[tuple[str, str, str | None]]:
    """(message, source, pod) of everything a scheduler said: events, pod conditions, and in pasted text wherever it stands."""
    said = [
        (str(e.get("message") or ""), e.get("_source") or "Event", (e.get("involvedObject") or {}).get("name"))
        for e in view.events
        if (e.get("involvedObject") or {}).get("name") not in view.cluster.at_work  # what was said before it found its place
    ]
    for pod in view.waiting + (view.pods if view.cluster.single else []):
        for condition in (pod.get("status") or {}).get("conditions") or []:
            if (
                condition.get("type", "PodScheduled") == "PodScheduled"
                and condition.get("status", "False") == "False"
                and condition.get("message")
            ):
                said.append((str(condition["message"]), pod.get("_source") or f"Pod/{name_of(pod)}", pod["metadata"].get("name")))
    if view.cluster.single:
        known = {" ".join(str(message or "").split()) for message in [*(m for m, _s, _p in said), *(e.get("message") for e in view.events)]}
        for doc in view.documents:
            if doc.kind in (
                "text",
                "kube_objects",
                "get_events",
                "describe_pod",
                "describe_other",
                "kubectl_output",
                "container_log",
            ) and LOOSE_WORDS.search(doc.text[:200_000]):
                flat = " ".join(doc.text[:200_000].split())
                for match in LOOSE_MESSAGE.finditer(flat):
                    if match.group(0)[:1].isdigit() and "nodes are available" in flat and "nodes are available" not in match.group(0):
                        continue
                    if not any(match.group(0)[:60] in message for message in known):
                        said.append((match.group(0), doc.path, doc.pod or doc.path.rsplit("/", 1)[-1]))
    return said


LOOSE_WORDS = re.compile(r"nodes are available|fit failure summary|node\(s\) had|Insufficient nvidia\.com")
LOOSE_MESSAGE = re.compile(
    r"\d+/\d+ nodes are available: [^\"\\]{1,600}?(?=\.(?:[\s\"'\\]|$)|[\"\\]|$)"
    r"|(?:No nodes are available that match all of the (?:following )?predicates|fit failure summary on nodes).{1,300}?(?=\.(?:\s|$)|$)"
    r"|\b\d+ node\(s\) had (?:untolerated )?taint.{1,120}|Insufficient nvidia\.com/[\w.-]+"
)


def _events(view: View, report: LayerReport, evaluated: bool, pods: list[dict[str, t.Any]]) -> None:
    """What the schedulers' own words say, for what the objects do not decide."""
    said = _said(view)
    if any(message.startswith("Successfully assigned") for message, _s, _p in said) and not view.waiting:
        return  # refused at first, placed since
    others = [(scheduler_words.parse_other_scheduler(message), message, source) for message, source, _pod in said]
    scale_up = [other for other, _m, _s in others if other and other.get("fault") == "autoscaler_pending"]
    # The autoscaler's word is the verdict only where there is no node to judge, and it does not say that the pod itself fits nowhere.
    no_node = not view.evidence.of("Node") and any(
        w["kind"] in ("scale_up", "nominated", "limit") or any(r["kind"] in AT_LIMIT for r in w["reasons"]) for w in scale_up
    )
    booked = _booked(view)
    for (message, source, pod), (other, _m, _s) in zip(said, others):
        quote = Quote(source, message[:400])
        if other and other.get("fault"):
            autoscaler = other["fault"] == "autoscaler_pending"
            weight = (
                (DECISIVE if no_node else SYMPTOM)
                if autoscaler
                else DECISIVE
                if other["kind"] in ("no_inventory", "exceeds", "quota", "exceeds_quota")
                else SUPPORTING
            )
            report.add(
                other["fault"],
                weight,
                f"{other['scheduler']} says: {other['text'][:160]}",
                quote,
                also=("gpus_in_use", "other_resource_short") if autoscaler else (),
                rule=f"other_{other['scheduler']}_{other['kind']}",
                ceiling="likely",
            )
            if not autoscaler:
                continue
        parsed = scheduler_words.parse_failed_scheduling(
            message
            if any(words in message for words in ("nodes are available", "fit failure summary"))
            else f"0/1 nodes are available: {message if message[:1].isdigit() else '1 ' + message}"
        )
        if not LOOSE_WORDS.search(message) and "nodes available" not in message:
            continue
        reasons = {_reason_key(reason): reason for reason in parsed["reasons"]}
        # The count of GPU-short nodes never speaks of a node that an earlier filter refuses, nor of one with GPUs to spare.
        other_nodes = bool(report.findings) or (bool(pods) and view.allocatable is not None and not evaluated)
        ranked = [
            (fault, also, reasons[key], key)
            for key, fault, also in EVENT_REASONS
            if key in reasons and not (key == "insufficient_gpu" and other_nodes and not booked)
        ]
        if "volume" in reasons:
            _volume_zone(view, report, quote)
        operand = component_of(pod or "") is not None
        for place, (fault, also, reason, key) in enumerate(ranked):
            if evaluated and key != "insufficient_gpu":
                continue
            if key in ("taint", "gpu_taint", "role_taint") and reason.get("taint_key"):
                fault = owners.fault_of_key(reason["taint_key"], view.options.validation_taints) or fault
                if operand and fault == "taint_not_tolerated":
                    fault = "operand_taint_not_tolerated"
            weight = SUPPORTING if place == 0 and not evaluated else SYMPTOM
            if no_node and key != "gpu_taint":
                weight, also = SYMPTOM, (*also, "autoscaler_pending")
            alone = len(parsed["reasons"]) == 1 and parsed.get("total") and reason.get("count") == parsed["total"]
            if alone and key not in ("insufficient_gpu", "dra") and not evaluated and not no_node:
                weight, also = DECISIVE, ()
            if key == "insufficient_gpu":
                if booked:
                    report.add(
                        "gpus_in_use", PROOF, f"All {booked[0]} GPUs of the node are requested already.", booked[1], quote, rule="booked"
                    )
                    continue
                # Every node alike: the resource may be missing from all of them just as well as taken.
                weight = SYMPTOM if alone or evaluated or (view.node is not None and view.allocatable is not None) else SUPPORTING
                if _more_than_seen(view, report, pods, quote):
                    continue
            report.add(
                fault,
                weight,
                f"The scheduler counts {reason.get('count') or 'some'} of {parsed.get('total') or 'the'} nodes with: {reason['text']}.",
                quote,
                also=also,
                rule=f"event_{key}",
            )


def _more_than_seen(view: View, report: LayerReport, pods: list[dict[str, t.Any]], event: Quote) -> bool:
    """Without the node's object: does the pod ask for more GPUs than the host shows?"""
    if view.allocatable is not None:
        return False
    seen = view.bus[0] or (view.smi_on_host[1].get("gpus") if view.smi_on_host else None)
    for pod in pods or [p for p in view.evidence.of("Pod") if objects.asks_for_gpu(p)]:
        asks = objects.gpus_of(objects.pod_requests(pod) or {})
        if seen and asks > len(seen):
            report.add(
                "request_exceeds_node",
                DECISIVE,
                f"{name_of(pod)} asks for {asks:g} GPUs in all, and the host shows {len(seen)}.",
                quote_of(pod, f"nvidia.com/gpu: {asks:g} over all containers"),
                event,
                rule="asks_more_than_seen",
            )
            return True
    return False


def _booked(view: View) -> tuple[int, Quote] | None:
    """All GPUs requested, by the node's own "Allocated resources"."""
    row = ((view.node or {}).get("_allocated") or {}).get(view.options.resource)
    amount = row.get("requests") if isinstance(row, dict) else row
    match = re.match(r"\d+", str(amount or ""))
    if match and view.node is not None and view.allocatable and int(match.group(0)) >= view.allocatable:
        return view.allocatable, quote_of(view.node, f"Allocated resources: {view.options.resource} {match.group(0)} of {view.allocatable}")
    return None


def _reason_key(reason: dict[str, t.Any]) -> str:
    if reason["kind"] == "insufficient" and objects.is_gpu(str(reason.get("resource") or "")):
        return "insufficient_gpu"
    if reason["kind"] == "taint" and re.search(r"nvidia|gpu", str(reason.get("taint_key") or ""), re.IGNORECASE):
        return "gpu_taint"
    if reason["kind"] == "taint" and re.search(r"node-role\.kubernetes\.io/", str(reason.get("taint_key") or "")):
        return "role_taint"  # control plane and infra nodes are no GPU nodes
    return str(reason["kind"])


def _served_names(view: View, report: LayerReport) -> None:
    """Without the node's amounts, the plugin's own log tells which resource names it serves; a workload may ask for another."""
    if view.allocatable is not None or not view.cluster.single:
        return
    served: dict[str, Quote] = {}
    for doc in view.documents:
        if doc.component == "device_plugin":
            for match in re.finditer(r"Registered device plugin for '([\w./-]+)' with Kubelet", doc.text):
                served.setdefault(match.group(1), Quote(doc.path, match.group(0)))
    if not served:
        return
    for kind in ("Pod", "Job", "Deployment", "StatefulSet", "DaemonSet"):
        for obj in view.evidence.of(kind):
            template = objects.mapping(obj, "spec", "template") or obj
            for resource in objects.gpu_request(template):
                if resource not in served and not component_of(name_of(obj)):
                    report.add(
                        "resource_name_mismatch",
                        DECISIVE,
                        f"{kind} {name_of(obj)} asks for {resource}, and the plugin serves {', '.join(sorted(served))}.",
                        quote_of(obj, f"limits: {resource}"),
                        *list(served.values())[:2],
                        rule="served_names",
                        ceiling="likely",
                    )
                    return


def _no_request(view: View, report: LayerReport) -> None:
    """A pod that asks for no GPU gets none: only where a person shows one pod and nothing asks."""
    if view.options.pod:
        shown = wanted_pods(view)
    elif not view.cluster.single:
        return
    else:
        near = (p for p in view.evidence.of("Pod") if objects.node_of(p) in (None, view.name))
        own = (p for p in near if not component_of(p["metadata"].get("name") or ""))
        shown = [p for p in own if (p.get("spec") or {}).get("containers")]
        if len(shown) != 1:
            return
    for pod in shown:
        resources = [c.get("resources") for c in (pod.get("spec") or {}).get("containers") or []]
        if any(resources) and objects.asks_for_gpu(pod) is False:
            report.add(
                "gpu_request_missing",
                SUPPORTING,
                f"{name_of(pod)} requests cpu or memory and no GPU, so it is given none.",
                quote_of(pod, "resources without nvidia.com/gpu"),
                also=("runtime_not_default",),
                rule="no_gpu_request",
            )
