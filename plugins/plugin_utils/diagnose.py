# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors
"""Evidence in, verdicts out: the split, the five judges, the walk, and what follows from it."""

from __future__ import annotations

import dataclasses
import re
import textwrap
import typing as t

from ansible_collections.gpuops.node.plugins.module_utils.runner import redact
from ansible_collections.gpuops.node.plugins.plugin_utils import catalogue, impact, twins, walk
from ansible_collections.gpuops.node.plugins.plugin_utils.evidence import LAYERS, Evidence, Quote
from ansible_collections.gpuops.node.plugins.plugin_utils.judge import (
    DECISIVE,
    WEIGHTS,
    LayerReport,
    device_plugin,
    driver,
    hardware,
    runtime,
    scheduler,
)
from ansible_collections.gpuops.node.plugins.plugin_utils.judge.view import Cluster, Options, View, name_of, status_word
from ansible_collections.gpuops.node.plugins.plugin_utils.objects import asks_for_gpu

SCHEMA = "gpuops.node/diagnosis/v1"


def diagnose(evidence: Evidence, nodes: list[str], options: Options | None = None) -> list[dict[str, t.Any]]:
    """One verdict per node (schema C(gpuops.node/diagnosis/v1)), in the order of I(nodes)."""
    options = options or Options()
    cluster = Cluster(evidence, options, nodes)
    # A whole cluster tells the same of a node whether it is asked for alone or with all others.
    fleet = len(nodes) > 1 or (evidence.form == "gpuops" and len(cluster.nodes) > 1 and not options.pod)
    verdicts = [_one(View(cluster, name), fleet) for name in nodes]
    if fleet and verdicts and not options.pod and all(v["root"]["fault"] == "healthy" for v in verdicts):
        verdicts[0]["problems"] = [*verdicts[0]["problems"], *_still_waiting(cluster)]
    return verdicts


def _still_waiting(cluster: Cluster) -> list[dict[str, t.Any]]:
    """No node is sick and pods wait: that is a question about the pod, which has its own switch."""
    names = [name_of(pod) for pod in cluster.waiting if asks_for_gpu(pod)]
    if not names:
        return []
    listed = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    number = f"{len(names)} GPU pods wait" if len(names) > 1 else "1 GPU pod waits"
    text = f"{number} ({listed}). To see what each node has against one: -e gpuops_pod={names[0]}"
    return [{"path": "", "text": text, "level": "note"}]


def _one(view: View, fleet: bool) -> dict[str, t.Any]:
    expected, expected_from = _expected(view)
    full = advertises = _full(view, expected)
    if full and _reopened(view):
        full = False
    if fleet and not full and not _gpu_sign(view, expected):
        full, expected, expected_from = True, 0, "nothing on the node speaks of a GPU"
    marks_only = fleet and full and not view.options.pod
    reports: dict[str, LayerReport] = {"scheduler": scheduler.judge(view, expected, marks_only)}
    if full:
        # The plugin's layer is read off the API alone; hosts are not contacted, logs not searched.
        reports["device_plugin"] = device_plugin.judge(view, expected, True)
        findings = [f for f in reports["device_plugin"].findings if f.rank >= WEIGHTS[DECISIVE] and f.fault not in HARMLESS_WHEN_FULL]
        findings += reports["scheduler"].findings
        findings += (
            [f for f in walk.from_hits(view.hits) if catalogue.layer_of(f.fault) == "scheduler"] if view.cluster.single or not fleet else []
        )
        # Every GPU is on offer, so nothing below the scheduler keeps one back.
        named = {finding.fault for finding in findings}
        excluded = {
            fault: "the node advertises all its GPUs"
            for fault in catalogue.faults()
            if fault not in named and catalogue.layer_of(fault) in LAYERS[:4]
        }
    else:
        reports.update(_lower(view, expected))
        excluded = {fault: why for report in reports.values() for fault, why in report.excluded.items()}
        findings = [f for name in LAYERS for f in reports[name].findings] + walk.from_hits(view.hits)
        if advertises:
            findings = [f for f in findings if f.fault not in HARMLESS_WHEN_FULL]
    decision = walk.decide(findings, excluded)
    if decision is not None and marks_only and decision.fault in catalogue.pod_side():
        decision = None  # the pod's trouble, not this node's
    decision = _loss_first(view, decision, expected)
    decision = _still_starting(reports, decision) or decision or _quiet(view, full, expected)
    return _verdict(view, decision, reports, expected, expected_from, full)


# What of the scheduler's layer does take a node's GPUs out of its status.
TAKES_GPUS = ("node_not_ready", "node_initializing", "driver_upgrade_stuck", "stale_allocation")


def _loss_first(view: View, decision: walk.Decision | None, expected: int | None) -> walk.Decision | None:
    """No taint, cordon or booking makes a node advertise fewer GPUs than it has: the loss is the question, the mark stands beside it."""
    if decision is None or decision.layer != "scheduler" or decision.fault in TAKES_GPUS:
        return decision
    if not expected or view.allocatable is None or view.allocatable >= expected:
        return decision
    lost = _quiet(view, False, expected)
    contributing = [decision.claims[decision.fault], *decision.contributing] if decision.fault in decision.claims else decision.contributing
    return dataclasses.replace(lost, contributing=contributing, claims=decision.claims)


def _gpu_sign(view: View, expected: int | None) -> bool:
    """Does anything say that this node should have GPUs: a count, a label, a resource row, a device, a document of its own."""
    if expected or view.node is None or view.amounts("capacity") or view.docs("lspci", "nvidia_smi", "kernel_log"):
        return True
    if not (view.node.get("status") or {}).get("capacity"):
        return True  # a table of nodes shows no resources at all
    return any(re.search(r"nvidia|10de|gpu", f"{key}={value}", re.IGNORECASE) for key, value in view.labels.items() if value != "false")


def _still_starting(reports: dict[str, LayerReport], decision: walk.Decision | None) -> walk.Decision | None:
    """A layer at work makes everything above it look broken: no verdict on those yet."""
    busy = next((r for r in reports.values() if r.at_work), None)
    if busy is None or busy.at_work is None or decision is None or walk.height(decision.fault) < LAYERS.index(busy.layer):
        return None
    ends = textwrap.shorten(busy.at_work.text, 80, placeholder="...")
    because = (
        f"{catalogue.layers()[busy.layer]['name'].capitalize()} is still being set up (log ends: {ends!r}). "
        "Retries and failed probes are normal for a quarter of an hour."
    )
    return walk.Decision("undetermined", busy.layer, "possible", because, [busy.at_work], [], {}, [])


def _expected(view: View) -> tuple[int | None, str | None]:
    gpus, doc = view.bus if not _advertises_all(view) else (None, None)
    counts = {"bus": (len(gpus), doc.path)} if gpus and doc else {}
    if not counts and view.cluster.single and view.smi_on_host and view.smi_on_host[1].get("gpus"):
        counts["nvidia-smi"] = (len(view.smi_on_host[1]["gpus"]), view.smi_on_host[0].path)
    expected = twins.expected_for(view, counts)
    return expected.value, expected.provenance


def _advertises_all(view: View) -> bool:
    return bool(view.allocatable and view.allocatable == view.capacity and view.evidence.form == "gpuops")


def _full(view: View, expected: int | None) -> bool:
    """The reversal: everything that should be advertised is, and the kubelet is alive."""
    if view.allocatable is None or view.ready is False:
        return False
    if view.capacity is not None and view.allocatable < view.capacity:
        return False
    if expected is not None:
        return view.allocatable >= expected
    return view.allocatable > 0


# What an advertising node proves to be without effect now.
HARMLESS_WHEN_FULL = ("nfd_labels_stale", "plugin_not_deployed", "node_label_missing", "operator_not_running")


# Documents in which a pod that was placed on the node says how it failed.
PLACED = ("event", "describe_pod", "get_events", "kubectl_output")


def _reopened(view: View) -> bool:
    """The node advertises everything, yet a pod placed on it fails in a layer below the scheduler: that layer is in question again.

    In a folder that a person pasted, any line that speaks for a lower fault is there because it bothered somebody.
    """
    for hit in view.hits:
        if hit.fault == "none" or hit.signature.strength not in ("decisive", "supporting", "symptom"):
            continue
        lower = any(catalogue.layer_of(f) != "scheduler" for f in (hit.fault, *hit.signature.also)) or hit.signature.id.startswith("kl.")
        said_by_pod = (
            hit.document.kind in PLACED
            or hit.document.component == "workload"
            or (hit.document.component == "validator" and hit.signature.strength == "decisive")
        )
        its_own = view.cluster.single or (view.evidence.form == "pasted" and hit.document.node == view.name)
        if lower and (said_by_pod or (its_own and hit.signature.strength != "symptom")):
            return True
    if view.cluster.single or (view.evidence.form == "pasted" and any(doc.node == view.name for doc, _facts in view.smi)):
        return any(facts.get("error") not in (None, "not_found") for _doc, facts in view.smi) or bool(
            view.hit("hw.xid_app") and view.logs("workload")
        )
    return False


def _lower(view: View, expected: int | None) -> dict[str, LayerReport]:
    hw = hardware.judge(view, expected)
    drv = driver.judge(view, expected)
    rt = runtime.judge(view, expected, drv.ok or "driver_module_not_loaded" in drv.excluded)
    dp = device_plugin.judge(view, expected, drv.ok and rt.ok)
    return {"hardware": hw, "driver": drv, "runtime": rt, "device_plugin": dp}


def _quiet(view: View, full: bool, expected: int | None) -> walk.Decision:
    """No finding at all: healthy where that is proven, else undetermined."""
    if view.cluster.single and expected is None and view.allocatable and not view.ready:
        why = f"The node advertises {view.allocatable} and nothing shows a fault; how many it should advertise is not known."
        return walk.Decision("undetermined", None, "possible", why, [], [], {}, [])
    if full or _full(view, expected) or (expected == 0 and view.node is not None and view.ready is not False):
        words = "no GPU is expected to be advertised here"
        if view.allocatable:
            words = f"all {view.allocatable} GPUs are allocatable" if view.allocatable > 1 else "its GPU is allocatable"
        quotes = (
            [Quote(view.node.get("_source") or f"Node/{view.name}", f"allocatable {view.options.resource}: {view.allocatable}")]
            if view.node
            else []
        )
        return walk.Decision(
            "healthy",
            None,
            "certain" if view.ready else "likely",
            f"The node is Ready and {words}." if view.ready else f"{words[:1].upper()}{words[1:]}.",
            quotes,
            [],
            {},
            [],
        )
    why = (
        "Nothing in the evidence shows a fault, and nothing shows how many GPUs the node advertises."
        if view.node is None or (view.allocatable is None and not expected)
        else "The node advertises no GPU, and nothing on it speaks of one: no resource row, no label, no device."
        if not _gpu_sign(view, expected)
        else "The evidence shows no fault, and the node does not advertise what it should."
    )
    layer = None
    if view.allocatable and (expected or 0) > view.allocatable:
        layer, why = (
            "hardware",
            f"The node advertises {view.allocatable} of {expected} GPUs, and nobody has looked at the bus: "
            "hardware, driver or a plugin filter.",
        )
    elif view.allocatable is not None:
        layer = "device_plugin" if view.nvidia_module()[0] else None
    return walk.Decision("undetermined", layer, "possible", why, [], [], {}, [])


def quoted(quotes: list[Quote]) -> list[dict[str, t.Any]]:
    """Evidence as it leaves the house: what people paste may hold secrets, and verdicts are forwarded."""
    return [{**quote.as_dict(), "text": redact(quote.text)} for quote in quotes]


# ---- the verdict ---------------------------------------------------------------------------------------------


def _verdict(
    view: View, decision: walk.Decision, reports: dict[str, LayerReport], expected: int | None, expected_from: str | None, full: bool
) -> dict[str, t.Any]:
    words = _words(view, decision)
    case = _case(view, decision)
    split = _split(view, expected, expected_from, decision, full)
    verdict: dict[str, t.Any] = {
        "schema": SCHEMA,
        "node": view.name,
        "case": case,
        "resource": view.options.resource,
        "ready": view.ready,
        "capacity": view.capacity,
        "allocatable": view.allocatable,
        "expected": expected,
        "expected_from": expected_from,
        "split": split,
        "root": {
            "fault": decision.fault,
            "layer": decision.layer,
            "certainty": decision.certainty,
            "because": redact(decision.because[:1].upper() + decision.because[1:]),
            "evidence": quoted(decision.evidence),
        },
        "contributing": _contributing(decision),
        "walk": _walk(view, decision, reports, full),
        "mend": _mend(view, decision, words),
        "collect_next": _collect(view, decision, reports, full, words),
        "latent": _latent(view, decision),
        "impact": {},
        "next": [],
        "sources": [{"path": d.path, "kind": d.kind, "outcome": d.outcome, "used": d.path in view.used} for d in view.documents],
        "problems": [{"path": p.path, "text": p.text, "level": p.level} for p in view.evidence.problems],
    }
    verdict["impact"] = impact.for_view(view, verdict)
    verdict["next"] = _next(view, verdict)
    return verdict


def _case(view: View, decision: walk.Decision) -> str:
    if decision.fault == "healthy":
        return "healthy"
    if view.allocatable is not None:
        return "B" if view.allocatable > 0 else "A"
    if decision.fault in ("quota_or_admission_refused", "workload_fault", "cgroup_device_lost", "gpu_request_missing"):
        return "none"
    return "A" if _plugin_down(view) else "unknown"


def _plugin_down(view: View) -> bool:
    """Without the node's object: does the plugin, by its own words or its pod's state, serve nothing?"""
    if view.hit("dp.registered") and not view.hit("kl.lw_ended"):
        return False
    if view.hit("rt.no_runtime", "rt.no_runtime_crio", "rt.no_runtime_dockershim") and any(
        "device-plugin" in str((e.get("involvedObject") or {}).get("name")) for e in view.events
    ):
        return True
    for pod in view.pods_of("device_plugin") + view.pods_of("validator"):
        if re.search(r"Init:|CrashLoopBackOff|ImagePull|ErrImage|Error|ContainerCreating|CreateContainer", status_word(pod)):
            return True
    said = [
        h
        for h in view.hits
        if h.document.component in ("device_plugin", "validator", "toolkit", "operator") or h.signature.id.startswith(("dp.", "val."))
    ]
    return any(h.signature.strength in ("decisive", "symptom") and h.fault != "gpu_marked_unhealthy" for h in said)


def _split(view: View, expected: int | None, expected_from: str | None, decision: walk.Decision, full: bool) -> str:
    if view.node is None or view.allocatable is None:
        return "The evidence does not show what the node advertises, so every layer was judged on what there is."
    ready = {True: "Ready", False: "NOT Ready", None: "Ready not shown"}[view.ready]
    should = f"{expected} expected ({expected_from})" if expected is not None else "how many it should have is not known"
    return f"capacity {view.capacity if view.capacity is not None else '?'}, allocatable {view.allocatable}, {should}; {ready}."


def _contributing(decision: walk.Decision) -> list[dict[str, t.Any]]:
    shown = []
    below = decision.layer in LAYERS[:-1]
    for claim in decision.contributing:
        if below and decision.fault != "undetermined" and claim.fault in catalogue.pod_side():
            continue  # why pods avoid other nodes is no part of what is wrong with this one
        if claim.rank < WEIGHTS["supporting"] and claim.fault != "plugin_blocked_by_validation":
            continue
        shown.append(
            {
                "fault": claim.fault,
                "layer": catalogue.layer_of(claim.fault),
                "because": redact(claim.best.because),
                "evidence": quoted(claim.quotes(2)),
            }
        )
    return shown[:5]


def _walk(view: View, decision: walk.Decision, reports: dict[str, LayerReport], full: bool) -> list[dict[str, t.Any]]:
    steps = []
    root_height = LAYERS.index(decision.layer) if decision.layer in LAYERS else None
    for place, layer in enumerate(LAYERS):
        report = reports.get(layer)
        step: dict[str, t.Any] = {
            "layer": layer,
            "question": catalogue.layers()[layer]["question"],
            "read": [],
            "found": "",
            "means": "",
            "outcome": "unknown",
        }
        claims = sorted(
            (c for c in decision.claims.values() if catalogue.layer_of(c.fault) == layer),
            key=lambda c: (c.fault != decision.fault, -c.rank),
        )
        if report is None:
            step.update(
                outcome="skipped",
                found="not read",
                means="The node advertises all GPUs it should and is Ready, so the layers below the scheduler work.",
            )
        elif layer == "scheduler" and root_height is not None and root_height < place:
            step.update(read=_read(report, claims), **_above(view, decision, claims))
        elif layer == decision.layer and decision.fault not in ("healthy", "undetermined"):
            step.update(
                read=_read(report, claims), outcome="fault", found=decision.because, means=catalogue.faults()[decision.fault]["title"] + "."
            )
        else:
            step["read"] = _read(report, claims)
            strong = [c for c in claims if c.rank >= WEIGHTS[DECISIVE]]
            if strong and decision.fault != "healthy":
                below = root_height is not None and place > root_height
                step.update(
                    outcome="fault",
                    found=strong[0].best.because,
                    means=f"Follows from {decision.fault}." if below else catalogue.faults()[strong[0].fault]["title"] + ".",
                )
            elif report.ok or (report.good and not claims):
                step.update(
                    outcome="ok",
                    found="; ".join(report.good) or "no fault seen",
                    means=catalogue.layers()[layer]["works"] if report.ok else "Nothing here speaks against this layer.",
                )
            elif claims and decision.fault == "undetermined":
                step.update(
                    found=claims[0].best.because, means="A symptom: it shows that something at or below this layer is broken, not what."
                )
            elif claims:
                step.update(
                    found=claims[0].best.because,
                    means=f"Follows from {decision.fault}."
                    if root_height is not None and place > root_height
                    else "Not enough to decide anything.",
                )
            elif report.good:
                step.update(found="; ".join(report.good), means="Nothing here decides.")
            else:
                step.update(
                    found="nothing in the evidence" if not step["read"] else "nothing that decides",
                    means="Not known: this layer was not looked at." if not step["read"] else "Neither a fault nor proof that it works.",
                )
        steps.append(step)
    return steps


def _above(view: View, decision: walk.Decision, claims: list[walk.Claim]) -> dict[str, str]:
    """The scheduler's layer when the root lies below it: pods that find no GPU here are a consequence, marks on the node are not."""
    marks = [c for c in claims if c.fault not in catalogue.pod_side() and c.rank >= WEIGHTS[DECISIVE]]
    if marks:
        return {
            "outcome": "fault",
            "found": marks[0].best.because,
            "means": f"A second matter beside {decision.fault}: {catalogue.faults()[marks[0].fault]['title'].lower()}.",
        }
    pods = scheduler.wanted_pods(view)
    if pods and not view.allocatable:
        number = len([p for p in view.waiting if asks_for_gpu(p)])
        return {
            "outcome": "fault",
            "found": f"{number} GPU pod{'s wait' if number != 1 else ' waits'}, and this node has no GPU to offer.",
            "means": f"Follows from {decision.fault}.",
        }
    return {
        "outcome": "ok" if view.ready else "unknown",
        "found": "the node is Ready and takes pods" if view.ready else "not shown",
        "means": "Nothing here keeps GPU pods away." if view.ready else "",
    }


def _read(report: LayerReport, claims: list[walk.Claim]) -> list[str]:
    names = list(dict.fromkeys(report.read)) or list(dict.fromkeys(q.source for c in claims for q in c.quotes()))
    return names[:6]


# ---- what follows --------------------------------------------------------------------------------------------


class _Words(dict[str, str]):
    def __missing__(self, key: str) -> str:
        return UNKNOWN_WORDS.get(key, "?")


UNKNOWN_WORDS = {
    "node": "this node",
    "kernel": "the running kernel",
    "driver_version": "the driver",
    "pod": "the pod",
    "gpus": "the",
    "toolkit_version": "the toolkit",
    "engine": "the container engine",
    "image": "the image",
    "taint": "the taint",
    "owner": "its owner",
}


def _words(view: View, decision: walk.Decision) -> _Words:
    words = _Words(node=view.name if view.name != "node" else "this node")
    kernel, _q = view.kernel
    if kernel:
        words["kernel"] = kernel
    version = view.loaded_version[0]
    if not version:
        for _doc, facts in view.parsed("dkms_status"):
            for entry in facts.get("entries") or []:
                if entry.get("nvidia"):
                    version = version or entry.get("version")
    if version:
        words["driver_version"] = version
    pods = scheduler.wanted_pods(view)
    if pods:
        words["pod"] = name_of(pods[0])
    toolkit, _q = runtime.toolkit_version(view)
    if toolkit:
        words["toolkit_version"] = toolkit
    if view.engine[0]:
        words["engine"] = view.engine[0]
    taints = [x for x in view.taints if x.get("effect") in ("NoSchedule", "NoExecute")]
    named = [x for x in taints if any(str(x.get("key")) in q.text for q in decision.evidence)] or taints
    if named:
        words["taint"] = device_plugin.taint_text(named[0])
    for quote in decision.evidence:
        image = re.search(r'[Ff]ailed to pull image \\*"([^"\\]+)', quote.text)
        if image:
            words["image"] = image.group(1)
    return words


def _variant(view: View, mend: dict[str, t.Any], quotes: list[Quote]) -> dict[str, t.Any]:
    variants = mend.get("variants") or {}
    for variant in variants.values():
        if variant.get("when") and any(re.search(variant["when"], quote.text) for quote in quotes):
            return variant
    if view.flavour in variants:
        return variants[view.flavour]
    if "container" in variants and (view.logs("driver") or view.logs("driver_manager") or view.pods_of("driver")):
        return variants["container"]
    if "precompiled" in variants and any(re.search(r"linux-modules-nvidia-|kmod-nvidia-\d", doc.text) for doc in view.docs("packages")):
        return variants["precompiled"]
    return {}


def _mend(view: View, decision: walk.Decision, words: _Words) -> dict[str, t.Any]:
    entry = catalogue.faults()[decision.fault]["mend"]
    claim = decision.claims.get(decision.fault)
    chosen = {**entry, **_variant(view, entry, claim.quotes(12) if claim else decision.evidence)}

    def fill(text: str) -> str:
        return re.sub(r"\{(\w+)\}", lambda m: words[m.group(1)], text)

    by = chosen["by"]
    refused: list[str] = []
    owned = next((f for f in claim.findings if f.remedy), None) if claim else None
    if owned:
        # Whose mark it is decides what may be done: the catalogue's steps are for marks that may be undone.
        chosen = {**chosen, "summary": owned.remedy}
        if not owned.may_act:
            by = "advise"
            chosen.update(steps=[], would_change=[], disrupts=[], reboot="never")
            if entry["by"] not in ("advise", "none"):
                refused.append("it is not proven that nobody needs the mark any more: its owner decides")
    return {
        "by": by,
        "role": by if by not in ("advise", "none") and _shipped(by) else None,
        "summary": fill(chosen["summary"]),
        "steps": [fill(step) for step in chosen.get("steps") or []],
        "check_first": [fill(step) for step in chosen.get("check_first") or []],
        "would_change": [{k: fill(str(v)) for k, v in change.items()} for change in chosen.get("would_change") or []],
        "reboot": chosen.get("reboot") or "never",
        "disrupts": [fill(x) for x in chosen.get("disrupts") or []],
        "never": [fill(x) for x in chosen.get("never") or []],
        "refused_because": refused,
    }


def _shipped(role: str) -> bool:
    """Whether this release of the collection has the role."""
    return (catalogue.HERE.parents[2] / "roles" / role).is_dir()


def _collect(view: View, decision: walk.Decision, reports: dict[str, LayerReport], full: bool, words: _Words) -> list[dict[str, str]]:
    """What would make the verdict surer, the most telling first. Nothing when it is certain."""
    if decision.certainty == "certain" or decision.fault == "healthy":
        return []
    wanted: list[dict[str, str]] = []
    if decision.fault == "undetermined":
        layers = [decision.layer] if decision.layer else []
        if "plugin_blocked_by_validation" in decision.claims or "plugin_config_invalid" in decision.claims:
            layers.append("device_plugin")
        if view.node is None or view.allocatable is None:
            layers.append("scheduler")
        layers += [layer for layer in LAYERS if layer in {catalogue.layer_of(c) for c in decision.candidates}]
        if decision.layer == "driver" and (view.pods_of("driver") or view.logs("driver")):
            wanted.append(catalogue.layers()["driver"]["container"])
        for layer in list(dict.fromkeys(layers)) or ["scheduler", "device_plugin", "driver"]:
            wanted.append(catalogue.layers()[layer]["look"])
    else:
        for fault in [decision.fault, *decision.candidates[:2]]:
            wanted += catalogue.faults()[fault].get("collect") or []
    seen: dict[str, dict[str, str]] = {}
    for item in wanted:
        filled = {k: str(v).replace("{node}", words["node"]).replace("{kernel}", words["kernel"]) for k, v in item.items()}
        seen.setdefault(filled["command"], filled)
    return list(seen.values())[:3]


def _latent(view: View, decision: walk.Decision) -> list[dict[str, t.Any]]:
    if not any(doc.node == view.name or view.cluster.single for doc in view.documents):
        return []
    found = driver.latent(view) + runtime.latent(view)
    if decision.fault == "driver_version_mismatch":
        found = [x for x in found if "module on disk" not in x["what"]]
    if decision.fault == "cdi_spec_stale":
        found = [x for x in found if "CDI spec" not in x["what"]]
    return found


def _next(view: View, verdict: dict[str, t.Any]) -> list[str]:
    fault, node = verdict["root"]["fault"], verdict["node"]
    if fault == "healthy":
        return []
    if fault == "undetermined" or verdict["root"]["certainty"] == "possible":
        return [item["command"] for item in verdict["collect_next"][:1]]
    if fault in catalogue.pod_side():
        pods = scheduler.wanted_pods(view)
        space, _slash, name = name_of(pods[0]).rpartition("/") if pods else ("<namespace>", "", "<pod>")
        return [f"kubectl describe pod -n {space or 'default'} {name}"]
    if verdict["root"]["layer"] == "scheduler":
        return [f"kubectl get node {node} -o jsonpath='{{.spec.unschedulable}} {{.spec.taints}}'"]
    resource = verdict["resource"].replace(".", "\\.")
    return [
        f"kubectl get node {node} -o jsonpath='{{.status.allocatable.{resource}}}'"
        f"   # back to {verdict['expected'] or 'the full count'} when mended"
    ]
