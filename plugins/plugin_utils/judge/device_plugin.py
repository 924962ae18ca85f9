# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors
"""Layer 4: does the device plugin serve, and does the kubelet know the GPUs?"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.gpuops.node.plugins.module_utils.kubelet import parse_plugin_log
from ansible_collections.gpuops.node.plugins.plugin_utils.evidence import Document, Quote
from ansible_collections.gpuops.node.plugins.plugin_utils.judge import DECISIVE, PROOF, SUPPORTING, SYMPTOM, LayerReport, scheduling
from ansible_collections.gpuops.node.plugins.plugin_utils.judge.view import View, component_of, name_of, quote_of, status_word

KINDS = (
    "describe_node",
    "get_pods",
    "get_daemonsets",
    "kubelet_log",
    "ls_device_plugins",
    "kubelet_checkpoint",
    "kubelet_flags",
    "validations",
)

PULL = ("ImagePullBackOff", "ErrImagePull", "InvalidImageName", "Init:ImagePullBackOff", "Init:ErrImagePull", "ErrImageNeverPull")
DEPLOY = "nvidia.com/gpu.deploy."
NFD_GPU = (
    "feature.node.kubernetes.io/pci-10de.present",
    "feature.node.kubernetes.io/pci-0302_10de.present",
    "feature.node.kubernetes.io/pci-0300_10de.present",
)
# Tolerations the DaemonSet controller itself adds to every pod. (kubernetes pkg/controller/daemon/util)
DAEMONSET_TOLERATED = (
    "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable", "node.kubernetes.io/disk-pressure",
    "node.kubernetes.io/memory-pressure",
    "node.kubernetes.io/pid-pressure", "node.kubernetes.io/unschedulable", "node.kubernetes.io/network-unavailable",
)  # fmt: skip
BELOW = (
    "driver_module_not_loaded", "driver_not_installed", "driver_not_built_for_kernel", "driver_version_mismatch", "runtime_not_default",
    "runtime_not_configured", "toolkit_not_installed", "plugin_config_invalid", "mig_config_mismatch", "gpu_missing",
)  # fmt: skip
DEFAULT_KUBELET_ROOT = "/var/lib/kubelet"


def judge(view: View, expected: int | None, lower_ok: bool) -> LayerReport:
    report = LayerReport(
        "device_plugin",
        read=view.read(*KINDS)
        + [doc.path.rsplit("/", 1)[-1] for doc in view.logs("device_plugin") + view.logs("validator") + view.logs("operator")],
    )
    _labels(view, report)
    _daemonset(view, report)
    _operator(view, report)
    _pods(view, report, lower_ok)
    _registration(view, report, expected)
    _unhealthy(view, report)
    _kubelet_root(view, report)
    _checkpoint(view, report)
    _mps(view, report)
    _sharing_config(view, report)
    _sharing_not_applied(view, report)
    _dra(view, report)
    _host_service(view, report)
    _panic(view, report)
    _discovery(view, report)
    if view.allocatable and view.allocatable == (expected or view.capacity):
        report.good.append(f"the kubelet advertises {view.allocatable}")
        report.ok = not [f for f in report.findings if f.rank >= 2]
    elif view.hit("dp.registered") and not report.findings:
        report.good.append("the plugin registered with the kubelet")
    return report


# ---- labels and operands --------------------------------------------------------------------------------


def _labels(view: View, report: LayerReport) -> None:
    if view.node is None:
        return
    for key, value in sorted(view.labels.items()):
        if not key.startswith(DEPLOY):
            continue
        operand = key[len(DEPLOY) :]
        quote = quote_of(view.node, f"{key}={value}")
        if "paused-for-" in value:
            weight = PROOF if operand in ("device-plugin", "container-toolkit", "operator-validator") else SUPPORTING
            report.add(
                "operands_paused",
                weight,
                f"Operand {operand} was taken off this node ({value}) and never put back.",
                quote,
                rule="paused_label",
            )
        elif operand in ("operands", "device-plugin") and value == "false":
            report.add("operands_disabled", PROOF, f"{key}=false keeps the operands off this node.", quote, rule="deploy_false")
        elif operand in ("operands", "device-plugin") and not value:
            # Nobody switches off by an empty string: the label lost its value, and only "true" is chosen.
            report.add(
                "node_label_missing",
                DECISIVE,
                f"{key} is there with an empty value, and the DaemonSet wants true.",
                quote,
                also=("operands_disabled",),
                rule="deploy_empty",
            )
    state = view.labels.get("nvidia.com/mig.config.state")
    if state == "failed":
        report.add(
            "mig_config_mismatch",
            PROOF,
            "The MIG manager could not apply the configuration asked for by label.",
            quote_of(
                view.node, f"nvidia.com/mig.config={view.labels.get('nvidia.com/mig.config', '?')}, nvidia.com/mig.config.state=failed"
            ),
            rule="mig_state",
        )
    if view.labels.get("nvidia.com/gpu.product", "").endswith("-MIG-INVALID"):
        report.add(
            "mig_config_mismatch",
            PROOF,
            "GPU feature discovery finds MIG devices that do not fit the strategy.",
            quote_of(view.node, f"nvidia.com/gpu.product={view.labels['nvidia.com/gpu.product']}"),
            rule="mig_invalid",
        )
    info = (view.node.get("status") or {}).get("nodeInfo") or {}
    kernel, image = str(info.get("kernelVersion") or ""), str(info.get("osImage") or "")
    fixed = re.search(r"CoreOS|Talos|Bottlerocket|Container-Optimized", image)
    # (label of NFD, what it tells, field of nodeInfo, what the field says, whether the two can be compared)
    for label, what, field, running, comparable_here in (
        ("kernel-version.full", "kernel", "kernelVersion", kernel, True),
        ("system-os_release.VERSION_ID", "OS version", "osImage", image, not fixed and bool(re.search(r"\d", image))),
        # The driver pod is chosen by this one; the image of an OpenShift node ends in the same build number.
        ("system-os_release.OSTREE_VERSION", "operating system build", "osImage", image, bool(re.search(r"CoreOS.*\d{12}", image))),
    ):
        labelled = view.labels.get(f"feature.node.kubernetes.io/{label}")
        differs = labelled != running if field == "kernelVersion" else str(labelled) not in running
        if labelled and running and comparable_here and differs:
            report.add(
                "nfd_labels_stale",
                DECISIVE,
                f"NFD's label says {what} {labelled}, the node runs {running}.",
                quote_of(view.node, f"feature.node.kubernetes.io/{label}={labelled}"),
                quote_of(view.node, f"{field}: {running}"),
                rule=f"nfd_{label}",
            )


def plugin_daemonsets(view: View) -> list[dict[str, t.Any]]:
    return [
        ds
        for ds in view.evidence.of("DaemonSet")
        if component_of(ds["metadata"].get("name") or "") == "device_plugin" and "mps" not in name_of(ds)
    ]


def _template(controller: dict[str, t.Any]) -> dict[str, t.Any]:
    return ((controller.get("spec") or {}).get("template") or {}).get("spec") or {}


def _labels_known(view: View) -> bool:
    return view.node is not None and bool(view.labels) and (not view.node.get("_partial") or "kubernetes.io/hostname" in view.labels)


def _selects(view: View, controller: dict[str, t.Any]) -> tuple[bool | None, str]:
    """Does the DaemonSet choose this node, and if not, by what."""
    spec = _template(controller)
    selector = spec.get("nodeSelector") or (controller.get("spec") or {}).get("nodeSelector") or {}
    if not _labels_known(view):
        return None, ""
    for key, value in selector.items():
        if view.labels.get(key) != value:
            return False, f"{key}={value}"
    affinity = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    terms = affinity.get("nodeSelectorTerms") or []
    if terms:
        if scheduling.matches_required_node_affinity({"spec": spec}, view.node).result is False:
            keys = [e.get("key", "?") for term in terms for e in term.get("matchExpressions") or []]
            return False, " or ".join(dict.fromkeys(keys))
    return True, ""


def _daemonset(view: View, report: LayerReport) -> None:
    sets = plugin_daemonsets(view)
    looked = view.evidence.looked.get("DaemonSet") == "seen" or bool(view.evidence.of("DaemonSet"))
    running = view.pods_of("device_plugin")
    if not sets:
        if (
            looked
            and not running
            and not view.logs("device_plugin")
            and view.allocatable in (0, None)
            and not view.evidence.of("ResourceSlice")
        ):
            names = ", ".join(name_of(ds) for ds in view.evidence.of("DaemonSet")[:4])
            operator = view.cluster.evidence.of("ClusterPolicy") or any(
                component_of(d["metadata"].get("name") or "") == "operator" for d in view.cluster.workload_controllers
            )
            operands = any(
                component_of(ds["metadata"].get("name") or "") in ("driver", "toolkit", "validator", "gfd", "dcgm")
                for ds in view.evidence.of("DaemonSet")
            )
            # The operator makes its DaemonSets together: a list that shows some of them was most likely cut.
            report.add(
                "plugin_not_deployed",
                SYMPTOM if operands else SUPPORTING if operator else DECISIVE,
                f"No device plugin DaemonSet exists{f' (there are: {names})' if names else ''}.",
                Quote(
                    view.evidence.of("DaemonSet")[0].get("_source") or "DaemonSets" if view.evidence.of("DaemonSet") else "DaemonSets",
                    "no device plugin among the DaemonSets",
                ),
                also=("node_label_missing", "operator_not_running"),
                rule="no_daemonset",
            )
        return
    on_node = {_owner_name(p) for p in running}
    if len(on_node) > 1:
        report.add(
            "plugin_duplicate",
            PROOF,
            f"Two device plugins serve this node: {', '.join(sorted(on_node))}.",
            *[quote_of(p, name_of(p)) for p in running[:2]],
            rule="two_plugins",
        )
    for ds in sets:
        chosen, by_what = _selects(view, ds)
        if chosen is False and not running:
            if any(f.fault in ("operands_disabled", "operands_paused") for f in report.findings):
                return
            missing = [key for key in NFD_GPU if key in view.labels]
            hint = "" if missing else " NFD has not labelled it as a GPU node either."
            report.add(
                "node_label_missing",
                DECISIVE,
                f"DaemonSet {name_of(ds)} wants {by_what}, which this node does not carry.{hint}",
                quote_of(ds, f"nodeSelector/affinity: {by_what}"),
                rule="selector_unmatched",
            )
            return
        if chosen is not False and not running:
            refused = [
                taint
                for taint in view.taints
                if taint.get("effect") in ("NoSchedule", "NoExecute")
                and taint.get("key") not in DAEMONSET_TOLERATED
                and scheduling.tolerates({"spec": _template(ds)}, taint) is False
            ]
            if refused and view.node is not None and _template(ds):
                taint = refused[0]
                report.add(
                    "operand_taint_not_tolerated",
                    PROOF,
                    f"The plugin's DaemonSet does not tolerate taint {taint_text(taint)}.",
                    quote_of(view.node, f"taint {taint_text(taint)}"),
                    quote_of(ds, "tolerations of its pod template"),
                    rule="operand_taint",
                )
                return
        desired = (ds.get("status") or {}).get("desiredNumberScheduled")
        if desired == 0 and not running:
            selector = ", ".join(
                f"{k}={v}" for k, v in ((ds.get("spec") or {}).get("nodeSelector") or _template(ds).get("nodeSelector") or {}).items()
            )
            report.add(
                "node_label_missing",
                DECISIVE if selector else SUPPORTING,
                f"DaemonSet {name_of(ds)} chooses no node (DESIRED 0){f'; it wants {selector}' if selector else ''}.",
                quote_of(ds, "desiredNumberScheduled: 0"),
                also=("operands_disabled", "plugin_not_deployed"),
                rule="desired_zero",
                ceiling="likely",
            )
            return


def _owner_name(pod: dict[str, t.Any]) -> str:
    meta = pod["metadata"]
    owner = (meta.get("ownerReferences") or [{}])[0].get("name") or re.sub(r"-[a-z0-9]{5}$", "", meta["name"])
    return f"{meta['namespace']}/{owner}" if meta.get("namespace") else owner


def taint_text(taint: dict[str, t.Any]) -> str:
    value = f"={taint['value']}" if taint.get("value") else ""
    return f"{taint.get('key')}{value}:{taint.get('effect', '')}"


def _operator(view: View, report: LayerReport) -> None:
    pods = view.cluster.operator_pods
    for pod in pods:
        word = status_word(pod)
        component = component_of(pod["metadata"]["name"])
        if word in PULL:
            report.add(
                "plugin_image_unavailable",
                SUPPORTING,
                f"{name_of(pod)} cannot pull its image ({word}).",
                quote_of(pod, f"{name_of(pod)} {word}"),
                rule="operator_pull",
                also=("operator_not_running",),
            )
        elif re.search(r"CrashLoopBackOff|OOMKilled|Error$", word) and component == "operator":
            report.add(
                "operator_not_running",
                DECISIVE,
                f"The GPU operator does not run: {name_of(pod)} is {word}.",
                quote_of(pod, f"{name_of(pod)} {word}"),
                rule="operator_crash",
            )
        elif re.search(r"CrashLoopBackOff|OOMKilled|Error$", word) and "master" in pod["metadata"]["name"]:
            report.add(
                "operator_not_running",
                SUPPORTING,
                f"Node feature discovery does not run: {name_of(pod)} is {word}.",
                quote_of(pod, f"{name_of(pod)} {word}"),
                rule="nfd_crash",
                also=("node_label_missing",),
            )
    killed = next((h for h in view.hits if h.signature.id == "w.oomkilled" and component_of(h.document.pod or "") == "operator"), None)
    if killed:
        report.add(
            "operator_not_running",
            DECISIVE,
            f"The GPU operator {killed.document.pod} is killed for memory: its limit is too small for this cluster.",
            killed.first,
            rule="operator_oom",
        )
    if any(component_of(p["metadata"]["name"]) == "operator" for p in pods) and not view.evidence.of("ClusterPolicy"):
        for doc in view.docs("kubectl_output", "get_table", "text"):
            if re.search(r"clusterpolic", doc.source + doc.path) and doc.quote(r"^No resources found"):
                report.add(
                    "operator_not_running",
                    DECISIVE,
                    "The operator runs, and no ClusterPolicy exists: nothing tells it what to deploy.",
                    doc.quote(r"^No resources found"),
                    rule="no_policy",
                )
    for deployment in view.evidence.of("Deployment"):
        status = deployment.get("status") or {}
        if (
            component_of(deployment["metadata"].get("name") or "") == "operator"
            and (deployment.get("spec") or {}).get("replicas", 1)
            and not status.get("readyReplicas")
            and "replicas" in status
        ):
            report.add(
                "operator_not_running",
                SUPPORTING,
                f"Deployment {name_of(deployment)} has no ready replica.",
                quote_of(deployment, "readyReplicas: 0"),
                rule="operator_unready",
            )


# ---- pods --------------------------------------------------------------------------------------------------


def _pods(view: View, report: LayerReport, lower_ok: bool) -> None:
    for component in ("device_plugin", "toolkit", "validator", "gfd", "mig_manager"):
        for pod in view.pods_of(component):
            word = status_word(pod)
            quote = quote_of(pod, f"{name_of(pod)} {word}")
            if word in PULL:
                report.add(
                    "plugin_image_unavailable",
                    DECISIVE if component in ("device_plugin", "toolkit", "validator") else SUPPORTING,
                    f"{name_of(pod)} cannot pull its image ({word}).",
                    quote,
                    rule="operand_pull",
                )
            elif component == "device_plugin" and re.search(r"CrashLoopBackOff|Error$", word):
                report.add(
                    "plugin_config_invalid",
                    SYMPTOM,
                    f"The device plugin {name_of(pod)} crashes ({word}): its log says why.",
                    quote,
                    also=BELOW,
                    rule="plugin_crash",
                )
            elif (
                word.startswith("Init:")
                and not re.search(r"Error|CrashLoop", word)
                and component in ("device_plugin", "gfd", "validator", "toolkit")
            ):
                report.add(
                    "plugin_blocked_by_validation",
                    SYMPTOM,
                    f"{name_of(pod)} waits in {word} for a validation below it.",
                    quote,
                    also=BELOW,
                    rule="pod_init",
                )
            elif component == "validator" and re.search(r"Error|CrashLoopBackOff", word):
                report.add(
                    "validator_failed",
                    SUPPORTING if lower_ok else SYMPTOM,
                    f"{name_of(pod)} fails ({word}).",
                    quote,
                    also=BELOW,
                    rule="validator_pod",
                )


# ---- registration --------------------------------------------------------------------------------------------


def _registration(view: View, report: LayerReport, expected: int | None) -> None:
    capacity, allocatable = view.capacity, view.allocatable
    logs: list[tuple[Document, dict[str, t.Any]]] = [
        (doc, parse_plugin_log(doc.text)) for doc in view.logs("device_plugin") if not doc.previous
    ]
    registered = next(((doc, facts["registered"][-1]) for doc, facts in logs if facts.get("registered")), None)
    if allocatable:
        return
    starts = [(doc, start) for doc, facts in view.parsed("kubelet_log") for start in facts.get("starts") or []]
    if registered:
        doc, entry = registered
        quote = doc.quote(r"Registered device plugin")
        if allocatable == 0:
            late = [
                start
                for _d, start in starts
                if entry.get("time") and comparable(start) and comparable(entry["time"]) and comparable(start) > comparable(entry["time"])
            ]
            if late:
                kubelet = starts[-1][0]
                report.add(
                    "plugin_not_registered",
                    PROOF,
                    f"The kubelet started again at {late[-1]}, after the plugin's last registration ({entry['time']}), and got no new one.",
                    quote,
                    Quote(kubelet.path, f"kubelet start {late[-1]}"),
                    rule="registered_before_start",
                )
            else:
                report.add(
                    "plugin_not_registered",
                    DECISIVE,
                    "The plugin says it registered, and the node advertises none: this kubelet has no registration.",
                    quote,
                    quote_of(view.node or {}, f"allocatable {view.options.resource}: {allocatable}"),
                    also=("kubelet_path_mismatch", "gpu_marked_unhealthy"),
                    rule="registered_not_advertised",
                )
    sockets = view.parsed("ls_device_plugins")
    for doc, facts in sockets:
        names = facts.get("sockets") or []
        if (
            "kubelet.sock" in names
            and not any("nvidia" in n for n in names)
            and (view.pods_of("device_plugin") or view.logs("device_plugin"))
            and view.hit_now("dp.serve", "dp.registered")
        ):
            report.add(
                "plugin_not_registered",
                DECISIVE,
                "The kubelet's socket is there and the plugin's is not: the plugin is not serving to this kubelet.",
                doc.quote(r"kubelet\.sock"),
                rule="socket_gone",
                also=("kubelet_path_mismatch",),
            )
        elif any("nvidia" in n for n in names) and "kubelet.sock" not in names:
            report.add(
                "kubelet_path_mismatch",
                DECISIVE,
                "The plugin's socket lies in a folder where no kubelet listens (no kubelet.sock).",
                doc.quote(r"nvidia\S*\.sock"),
                rule="no_kubelet_socket",
                also=("plugin_not_registered",),
            )
    if view.node is not None and allocatable == 0 and view.ready is not False:
        if capacity:
            # The kubelet drops the resource five minutes after its plugin went: who has time to look sees unhealthy devices.
            report.add(
                "gpu_marked_unhealthy",
                SUPPORTING,
                f"Capacity {capacity} and Allocatable 0: "
                "every GPU the kubelet knows counts as unhealthy, or the plugin was lost minutes ago.",
                quote_of(view.node, f"{view.options.resource}: capacity {capacity}, allocatable 0"),
                also=("plugin_not_registered", *BELOW),
                rule="all_unhealthy",
            )
            report.add(
                "plugin_not_registered",
                SYMPTOM,
                f"Capacity {capacity} and Allocatable 0: the plugin was lost moments ago, or every GPU is marked unhealthy.",
                quote_of(view.node, f"{view.options.resource}: capacity {capacity}, allocatable 0"),
                also=("gpu_marked_unhealthy", *BELOW),
                rule="cap_n_alloc_0",
            )
        elif view.options.resource in view.amounts("capacity"):
            report.add(
                "plugin_not_registered",
                SYMPTOM,
                "The resource row is there with 0: a plugin was registered with this kubelet once and is gone.",
                quote_of(view.node, f"{view.options.resource}: 0"),
                also=BELOW,
                rule="row_zero",
            )


def comparable(time: str) -> str:
    """Times as the programs print them, cut to the part both sides have (MM-DDTHH:MM:SS)."""
    match = re.search(r"(\d\d-\d\dT\d\d:\d\d:\d\d)", time)
    return match.group(1) if match else ""


def _unhealthy(view: View, report: LayerReport) -> None:
    capacity, allocatable = view.capacity, view.allocatable
    if view.node is None or capacity is None or allocatable is None or not allocatable < capacity:
        return
    marked = view.hit("dp.marked_unhealthy", "dp.xid_critical", "dp.xid_all")
    numbers = quote_of(view.node, f"{view.options.resource}: capacity {capacity}, allocatable {allocatable}")
    if allocatable > 0 or marked:
        report.add(
            "gpu_marked_unhealthy",
            PROOF if marked else DECISIVE,
            f"The kubelet knows {capacity} GPUs and offers {allocatable}: the plugin reports {capacity - allocatable} unhealthy.",
            numbers,
            marked.first if marked else None,
            rule="capacity_over_allocatable",
        )


def _kubelet_root(view: View, report: LayerReport) -> None:
    root, doc = view.first("kubelet_flags", "root_dir")
    if not root:
        root, doc = view.first("kubelet_log", "root_dir")
    if not root or doc is None:
        return
    for pod in view.pods_of("device_plugin"):
        for volume in (pod.get("spec") or {}).get("volumes") or []:
            path = (volume.get("hostPath") or {}).get("path") or ""
            if path.rstrip("/").endswith("device-plugins") and not path.startswith(root.rstrip("/") + "/"):
                report.add(
                    "kubelet_path_mismatch",
                    PROOF,
                    f"The plugin mounts {path}, this kubelet's root is {root}.",
                    quote_of(pod, f"hostPath: {path}"),
                    doc.quote(re.escape(root)),
                    rule="root_dir",
                )
                return
    if root.rstrip("/") != DEFAULT_KUBELET_ROOT:
        for event in view.events_with("FailedMount"):
            message = str(event.get("message") or "")
            if f"{DEFAULT_KUBELET_ROOT}/device-plugins" in message:
                report.add(
                    "kubelet_path_mismatch",
                    PROOF,
                    f"The plugin wants {DEFAULT_KUBELET_ROOT}/device-plugins, this kubelet's root is {root}.",
                    Quote(event.get("_source") or "Event", message[:300]),
                    doc.quote(re.escape(root)),
                    rule="root_dir_mount",
                )
                return
    hit = view.hit("dp.serve", "dp.no_kubelet", "dp.register_failed", "dp.fswatcher")
    if hit and root.rstrip("/") != DEFAULT_KUBELET_ROOT and DEFAULT_KUBELET_ROOT in hit.first.text:
        report.add(
            "kubelet_path_mismatch",
            DECISIVE,
            f"The plugin uses {DEFAULT_KUBELET_ROOT}, this kubelet's root is {root}.",
            hit.first,
            doc.quote(re.escape(root)),
            rule="root_dir_log",
        )


def _checkpoint(view: View, report: LayerReport) -> None:
    for doc, facts in view.parsed("kubelet_checkpoint"):
        if facts.get("error"):
            report.add(
                "kubelet_device_state_corrupt",
                DECISIVE,
                "The kubelet's device checkpoint cannot be read.",
                Quote(doc.path, str(facts["error"])[:200]),
                rule="checkpoint_unreadable",
            )
            continue
        uids = {p["metadata"].get("uid"): p for p in view.evidence.of("Pod") if p["metadata"].get("uid")}
        whole = view.evidence.looked.get("Pod") == "seen" or (uids and not view.cluster.single)
        if not whole:
            continue
        ghosts = [
            e
            for e in facts.get("entries") or []
            if e.get("pod_uid") and e["pod_uid"] not in uids and str(e.get("resource", "")).startswith("nvidia.com/")
        ]
        if ghosts and view.hit("kl.ua_unavailable", "kl.ua_unavailable_some", "kl.ua_generic"):
            devices = sum(len(e.get("devices") or []) for e in ghosts)
            report.add(
                "stale_allocation",
                PROOF,
                f"The kubelet's checkpoint holds {devices} device(s) for {len(ghosts)} pod(s) that no longer exist.",
                Quote(doc.path, f"PodUID {ghosts[0]['pod_uid']} is no pod of the cluster"),
                rule="checkpoint_ghost",
            )


# Where the plugin's configuration file has its sharing switches. (k8s-device-plugin api/config/v1)
TIME_SLICING_KEYS = ("renameByDefault", "failRequestsGreaterThanOne", "replicas")


def _sharing_config(view: View, report: LayerReport) -> None:
    """Sharing switches written where the plugin does not read them are ignored without a word."""
    for config in view.evidence.of("ConfigMap"):
        for name, text in sorted((config.get("data") or {}).items()):
            flags = re.search(r"^flags:\n((?:[ \t]+.*\n?)*)", str(text), re.MULTILINE)
            key = next((k for k in TIME_SLICING_KEYS if flags and re.search(rf"^\s+{k}:", flags.group(1), re.MULTILINE)), None)
            if key and "version:" in str(text):
                report.add(
                    "plugin_config_invalid",
                    DECISIVE,
                    f"{key} stands under flags in the plugin's configuration {name!r}; "
                    "it belongs under sharing.timeSlicing and has no effect here.",
                    quote_of(config, f"flags.{key}"),
                    also=("resource_name_mismatch",),
                    rule="misplaced_key",
                )
                return


def _sharing_not_applied(view: View, report: LayerReport) -> None:
    """Fewer GPUs offered than one shared GPU alone would give: the sharing that is configured is not in effect."""
    if view.node is None or not view.allocatable or not view.cluster.single:
        return
    if view.labels.get("nvidia.com/gpu.sharing-strategy") not in (None, "none"):
        return
    wanted = view.labels.get("nvidia.com/device-plugin.config")
    texts = [
        (str(text), quote_of(c, f"{n}: sharing"), n) for c in view.evidence.of("ConfigMap") for n, text in (c.get("data") or {}).items()
    ]
    texts += [(doc.text, doc.quote(r"^\s*replicas:") or Quote(doc.path, "sharing"), doc.path) for doc in view.docs("kube_objects", "text")]
    for text, quote, name in texts:
        block = re.search(r"^sharing:\s*\n\s+(?:timeSlicing|mps):((?:\s*\n\s+.*)*)", text, re.MULTILINE)
        rows = re.findall(r"name:\s*(\S+)\s*\n\s*replicas:\s*(\d+)", block.group(1)) if block else []
        replicas = next((int(n) for resource, n in rows if resource == view.options.resource), 0)
        if replicas > view.allocatable and "renameByDefault: true" not in text and (wanted is None or wanted in name or len(texts) == 1):
            report.add(
                "plugin_config_invalid",
                DECISIVE,
                f"The configuration shares each GPU {replicas} times, and the node offers {view.allocatable} in all: it is not in effect.",
                quote,
                quote_of(view.node, f"{view.options.resource}: allocatable {view.allocatable}"),
                also=("plugin_not_deployed", "plugin_duplicate", "node_label_missing"),
                rule="sharing_not_applied",
                ceiling="likely",
            )
            return


def _mps(view: View, report: LayerReport) -> None:
    if view.labels.get("nvidia.com/gpu.sharing-strategy") != "mps" and not view.hit("dp.mps_wait"):
        return
    daemons = view.pods_of("mps")
    bad = [p for p in daemons if re.search(r"CrashLoopBackOff|Error$|Pending", status_word(p))]
    if bad:
        report.add(
            "mps_daemon_down",
            DECISIVE,
            f"Sharing is by MPS and the control daemon {name_of(bad[0])} is {status_word(bad[0])}.",
            quote_of(bad[0], f"{name_of(bad[0])} {status_word(bad[0])}"),
            rule="mps_pod",
        )


def _dra(view: View, report: LayerReport) -> None:
    slices = [s for s in view.evidence.of("ResourceSlice") if "nvidia.com" in str((s.get("spec") or {}).get("driver"))]
    dra_pods = view.pods_of("dra")
    if not dra_pods and not slices:
        return
    mine = [s for s in slices if (s.get("spec") or {}).get("nodeName") == view.name]
    devices = sum(len((s.get("spec") or {}).get("devices") or []) for s in mine)
    if mine and not devices:
        report.add(
            "dra_not_serving",
            DECISIVE,
            "The DRA driver publishes a ResourceSlice for this node with no device in it.",
            quote_of(mine[0], "devices: none"),
            also=BELOW,
            rule="empty_slice",
        )
    if mine and devices:
        report.good.append(f"ResourceSlices of this node list {devices} devices (DRA)")
        report.ok = True
        for resource_slice in mine:
            for device in (resource_slice.get("spec") or {}).get("devices") or []:
                for taint in device.get("taints") or (device.get("basic") or {}).get("taints") or []:
                    if str(taint.get("key", "")).startswith("gpu.nvidia.com/"):
                        report.add(
                            "gpu_marked_unhealthy",
                            DECISIVE,
                            f"DRA taints device {device.get('name')}: {taint.get('key')}.",
                            quote_of(resource_slice, f"device {device.get('name')} taint {taint.get('key')}"),
                            also=("gpu_hardware_error", "gpu_fallen_off_bus"),
                            rule="dra_taint",
                        )
                        return
    elif slices and not mine:
        report.add(
            "dra_not_serving",
            DECISIVE,
            "The DRA driver publishes ResourceSlices for other nodes and none for this one.",
            quote_of(slices[0], f"nodeName: {(slices[0].get('spec') or {}).get('nodeName')}"),
            also=BELOW,
            rule="no_slice",
        )
    for pod in dra_pods:
        word = status_word(pod)
        if re.search(r"CrashLoopBackOff|Error$", word):
            report.add(
                "dra_not_serving",
                SUPPORTING,
                f"The DRA driver's pod {name_of(pod)} is {word}.",
                quote_of(pod, f"{name_of(pod)} {word}"),
                rule="dra_pod",
            )


def _discovery(view: View, report: LayerReport) -> None:
    """Tegra's discovery on a machine that is none: the plugin offers one device, whatever there is."""
    info = ((view.node or {}).get("status") or {}).get("nodeInfo") or {}
    for doc in view.logs("device_plugin"):
        quote = doc.quote(r"\"deviceDiscoveryStrategy\": \"tegra\"|device discovery strategy: tegra")
        if quote and info.get("architecture", "amd64") == "amd64":
            report.add(
                "plugin_config_invalid",
                DECISIVE,
                "The plugin is told to discover devices as on Tegra, and offers a single one.",
                quote,
                rule="tegra_discovery",
            )


def _panic(view: View, report: LayerReport) -> None:
    for doc in view.logs("device_plugin"):
        quote = doc.quote(r"^panic: |^fatal error: |SIGSEGV: segmentation violation|\[signal SIG")
        if quote:
            known = [
                h
                for h in view.hits
                if h.document is doc
                and h.fault not in ("none", "plugin_not_registered")
                and h.signature.strength in ("decisive", "symptom")
            ]
            if not known:  # a panic with a reason in it speaks for the reason
                report.add(
                    "plugin_defect", DECISIVE, "The plugin program itself panics.", quote, also=("plugin_config_invalid",), rule="panic"
                )


def _host_service(view: View, report: LayerReport) -> None:
    """Bottlerocket and alike run the plugin as a host service: no DaemonSet to look for."""
    if view.allocatable:
        return
    for _doc, facts in view.parsed("systemctl"):
        for name, unit in (facts.get("units") or {}).items():
            if "device-plugin" not in name:
                continue
            never_ran = None
            for doc in view.docs("journal", "kernel_log", "text", "kubelet_log", "systemctl"):
                if re.search(rf"journalctl.*{re.escape(name.removesuffix('.service'))}", doc.text + doc.source):
                    never_ran = never_ran or doc.quote(r"-- No entries --")
            if unit.get("active") in ("failed", "inactive") or never_ran:
                report.add(
                    "plugin_not_deployed",
                    SUPPORTING,
                    f"The plugin is a host service here ({name}), and it "
                    f"{'never ran in this boot' if never_ran else 'is ' + str(unit.get('active'))}.",
                    never_ran or Quote(_doc.path, name),
                    also=("plugin_not_registered",),
                    rule="host_service",
                )
                return
