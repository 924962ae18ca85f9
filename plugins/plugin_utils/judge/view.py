# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors
"""All evidence as seen from one node: its object, its documents, its pods, and the waiting GPU pods."""

from __future__ import annotations

import dataclasses
import functools
import re
import typing as t

from ansible_collections.gpuops.node.plugins.module_utils import driver, hardware, kubelet, runtime
from ansible_collections.gpuops.node.plugins.plugin_utils import signatures
from ansible_collections.gpuops.node.plugins.plugin_utils.evidence import SEEN, Document, Evidence, Quote
from ansible_collections.gpuops.node.plugins.plugin_utils.kubectl_text import quantity

PARSERS: dict[str, t.Callable[[str], dict[str, t.Any]]] = {**hardware.PARSERS, **driver.PARSERS, **runtime.PARSERS, **kubelet.PARSERS}
PARSERS["journal"] = hardware.parse_kernel_log  # a mixed journal holds the kernel's lines too

# Tables and objects are read as objects; searching their text for messages would read other nodes' rows.
NOT_SEARCHED = {"kube_objects", "get_nodes", "get_daemonsets", "get_table", "unrecognised"}

# Names that the operands' pods and DaemonSets have in the operator's manifests, the Helm chart, the static
# manifest and the clouds' own. (facts: gpu-operator assets/, k8s-device-plugin deployments/, GKE, AKS)
COMPONENTS = {
    "gfd": r"gpu-feature-discovery",
    "mps": r"mps-control",
    "device_plugin": r"device-plugin(?!-validator)|nvdp-",
    "driver": r"nvidia-(?:\w+-)?driver-(?:daemonset|[\w-]+)|nvidia-driver-installer",
    "toolkit": r"container-toolkit",
    "validator": r"operator-validator|cuda-validator|device-plugin-validator|plugin-validator",
    "operator": r"^(?:[\w-]+-)?gpu-operator-(?!node-feature)(?:[a-z0-9]+-)?[a-z0-9]+$|^gpu-operator$",
    "nfd": r"node-feature-discovery|^nfd-",
    "dcgm": r"dcgm",
    "mig_manager": r"mig-manager",
    "dra": r"dra-driver|dra-kubelet",
}
COMPONENT_RX = {name: re.compile(pattern) for name, pattern in COMPONENTS.items()}
GPU_RESOURCE = re.compile(r"^(?:nvidia\.com|[\w.-]*nvidia[\w.-]*)/(?!gpu\.deploy)[\w.-]+$")


@functools.lru_cache(maxsize=65536)
def component_of(name: str) -> str | None:
    for component, rx in COMPONENT_RX.items():
        if rx.search(name):
            return component
    return None


@dataclasses.dataclass
class Options:
    """What the caller declares. Units: price per GPU-hour, counts of GPUs, RFC 3339 times."""

    price: float | None = None
    currency: str = "$"
    expected: int | dict[str, int] | None = None
    now: str | None = None
    gangs: list[dict[str, t.Any]] = dataclasses.field(default_factory=list)
    pod: str | None = None
    resource: str = "nvidia.com/gpu"
    validation_taints: list[str] = dataclasses.field(default_factory=list)


class Cluster:
    """Indexes over the whole evidence, made once per run and shared by all nodes."""

    def __init__(self, evidence: Evidence, options: Options, names: list[str]):
        self.evidence = evidence
        self.options = options
        self.names = names
        self.nodes = {n["metadata"]["name"]: n for n in evidence.of("Node") if n.get("metadata", {}).get("name")}
        self.single = evidence.form == "pasted" and len(names) <= 1
        self.pods_by_node: dict[str, list[dict[str, t.Any]]] = {}
        self.unplaced: list[dict[str, t.Any]] = []
        for pod in evidence.of("Pod"):
            where = node_of(pod)
            if where:
                self.pods_by_node.setdefault(where, []).append(pod)
            else:
                self.unplaced.append(pod)
        self.waiting = [pod for pod in self.unplaced if is_waiting(pod)]
        self.docs_by_node: dict[str | None, list[Document]] = {}
        for doc in evidence.documents:
            self.docs_by_node.setdefault(doc.node, []).append(doc)
        self.events_by_object: dict[tuple[str, str], list[dict[str, t.Any]]] = {}
        for event in evidence.of("Event"):
            ref = event.get("involvedObject") or event.get("regarding") or {}
            self.events_by_object.setdefault((ref.get("kind", ""), ref.get("name", "")), []).append(event)
        self._hits: dict[int, tuple[Document, list[signatures.Hit]]] = {}

    def hits(self, doc: Document) -> list[signatures.Hit]:
        """Known messages of a document, scanned once. The document is kept, so that its id stays its own."""
        if id(doc) not in self._hits:
            self._hits[id(doc)] = (doc, signatures.scan(doc))
        return self._hits[id(doc)][1]

    @functools.cached_property
    def waiting_messages(self) -> list[Document]:
        """What is said of the pods that no node has: the same for every node."""
        events = [e for p in self.waiting for e in self.events_by_object.get(("Pod", p["metadata"].get("name", "")), [])]
        return [d for d in map(event_document, events) if d.text] + [d for d in map(state_document, self.waiting) if d.text]

    @functools.cached_property
    def controller_messages(self) -> list[Document]:
        """Events of the operands' controllers and of anything that could not create its pods."""
        found = []
        for (kind, name), events in self.events_by_object.items():
            if kind in ("DaemonSet", "Deployment", "ReplicaSet", "Job", "StatefulSet") and (component_of(name) or kind != "DaemonSet"):
                found += [event_document(event) for event in events]
        return found

    @functools.cached_property
    def at_work(self) -> set[str]:
        """Names of the pods that found a node and ran."""
        pods = (pod for pods in self.pods_by_node.values() for pod in pods)
        return {str(pod["metadata"].get("name")) for pod in pods if phase_of(pod) in ("Running", "Succeeded")}

    @functools.cached_property
    def operator_pods(self) -> list[dict[str, t.Any]]:
        """Pods of the GPU operator and of NFD's master, wherever they run; its workers speak for their own node only."""
        names = ((component_of(p["metadata"].get("name") or ""), p) for p in self.evidence.of("Pod"))
        return [p for component, p in names if component == "operator" or (component == "nfd" and "-worker" not in p["metadata"]["name"])]

    @functools.cached_property
    def workload_controllers(self) -> list[dict[str, t.Any]]:
        return [obj for kind in ("DaemonSet", "Deployment") for obj in self.evidence.of(kind)]


def event_document(event: dict[str, t.Any]) -> Document:
    """An event's words as a document to search."""
    ref = event.get("involvedObject") or event.get("regarding") or {}
    text = " ".join(str(event.get(k) or "") for k in ("reason", "message")).strip()
    return Document(event.get("_source") or f"Event of {ref.get('kind')}/{ref.get('name')}", "event", text, pod=ref.get("name"))


def state_document(pod: dict[str, t.Any]) -> Document:
    """What a pod's status says went wrong, as a document to search."""
    status = pod.get("status") or {}
    texts = [str(status.get("reason") or ""), str(status.get("message") or "")]
    texts += [str(c.get("message") or "") for c in status.get("conditions") or [] if c.get("status") != "True"]
    for entry in (status.get("initContainerStatuses") or []) + (status.get("containerStatuses") or []):
        for state in (entry.get("state") or {}, entry.get("lastState") or {}):
            for detail in state.values():
                if isinstance(detail, dict):
                    texts.append(f"{detail.get('reason') or ''} {detail.get('message') or ''}".strip())
    text = "\n".join(x for x in texts if x)
    return Document(pod.get("_source") or f"Pod/{name_of(pod)}", "event", text, pod=(pod.get("metadata") or {}).get("name"))


def node_of(pod: dict[str, t.Any]) -> str | None:
    name = (pod.get("spec") or {}).get("nodeName") or (pod.get("_table") or {}).get("node")
    return name if name and name not in ("<none>", "<unset>") else None


def phase_of(pod: dict[str, t.Any]) -> str | None:
    return (pod.get("status") or {}).get("phase")


def status_word(pod: dict[str, t.Any]) -> str:
    """What `kubectl get pods` shows in STATUS, as far as the evidence tells."""
    table = pod.get("_table") or {}
    if table.get("status"):
        return str(table["status"])
    status = pod.get("status") or {}
    for field in ("initContainerStatuses", "containerStatuses"):
        for entry in status.get(field) or []:
            state = entry.get("state") or {}
            for key in ("waiting", "terminated"):
                reason = (state.get(key) or {}).get("reason")
                if reason and reason not in ("Completed", "PodInitializing"):
                    return str(reason)
    return str(status.get("reason") or status.get("phase") or "")


def is_waiting(pod: dict[str, t.Any]) -> bool:
    """Not placed on any node yet."""
    if node_of(pod):
        return False
    if (pod.get("_table") or {}).get("status") in ("SchedulingGated",):
        return True
    if phase_of(pod) not in ("Pending", None):
        return False
    conditions = {c.get("type"): c for c in (pod.get("status") or {}).get("conditions") or []}
    scheduled = conditions.get("PodScheduled", {}).get("status")
    if scheduled:
        return scheduled != "True"
    return phase_of(pod) == "Pending" and (pod.get("_table") or {}).get("status", "Pending") == "Pending"


def name_of(obj: dict[str, t.Any]) -> str:
    meta = obj.get("metadata") or {}
    space = meta.get("namespace")
    return f"{space}/{meta.get('name', '?')}" if space else str(meta.get("name", "?"))


def quote_of(obj: dict[str, t.Any], text: str, time: str | None = None) -> Quote:
    """Evidence read off an object's field."""
    return Quote(obj.get("_source") or f"{obj.get('kind', 'object')}/{name_of(obj)}", text, None, time)


class View:
    """One node's evidence. Everything is computed when first asked for, and only then."""

    def __init__(self, cluster: Cluster, name: str):
        self.cluster = cluster
        self.evidence = cluster.evidence
        self.options = cluster.options
        self.name = name
        self.node: dict[str, t.Any] | None = cluster.nodes.get(name)
        self.used: set[str] = set()
        self._parsed: dict[str, list[tuple[Document, dict[str, t.Any]]]] = {}

    # ---- documents -------------------------------------------------------------------------------------

    @functools.cached_property
    def documents(self) -> list[Document]:
        """The node's own documents, and those of cluster-wide programs."""
        docs = list(self.cluster.docs_by_node.get(self.name, []))
        for doc in self.cluster.docs_by_node.get(None, []):
            if (
                self.cluster.single
                or doc.component in ("operator", "nfd", "scheduler")
                or doc.kind in ("kubectl_output", "describe_other", "get_runtimeclass", "text")
            ):
                docs.append(doc)
        return docs

    def docs(self, *kinds: str) -> list[Document]:
        return [doc for doc in self.documents if doc.kind in kinds and doc.outcome == SEEN]

    def read(self, *kinds: str) -> list[str]:
        """What was read, as a reader knows it: the command, or the file's name."""
        return list(dict.fromkeys(doc.source or doc.path.rsplit("/", 1)[-1] for doc in self.docs(*kinds)))

    def has(self, *kinds: str) -> bool:
        return bool(self.docs(*kinds))

    def outcome(self, kind: str) -> str:
        found = [doc.outcome for doc in self.documents if doc.kind == kind]
        return SEEN if SEEN in found else (found[0] if found else "not_looked")

    def logs(self, component: str) -> list[Document]:
        return [doc for doc in self.docs("container_log") if doc.component == component]

    def parsed(self, kind: str) -> list[tuple[Document, dict[str, t.Any]]]:
        if kind not in self._parsed:
            self._parsed[kind] = [(doc, PARSERS[kind](doc.text)) for doc in self.docs(kind)]
            self.used.update(doc.path for doc, _parsed in self._parsed[kind])
        return self._parsed[kind]

    def first(self, kind: str, key: str) -> tuple[t.Any, Document | None]:
        """The first value of one key over all documents of a kind."""
        for doc, facts in self.parsed(kind):
            if facts.get(key) not in (None, "", [], {}):
                return facts[key], doc
        return None, None

    # ---- pods and events -------------------------------------------------------------------------------

    @functools.cached_property
    def pods(self) -> list[dict[str, t.Any]]:
        """Pods bound to this node; in a pasted folder about one node, also those whose node was not printed."""
        pods = list(self.cluster.pods_by_node.get(self.name, []))
        if self.cluster.single:
            pods += [p for p in self.cluster.unplaced if not is_waiting(p)]
        return pods

    @property
    def waiting(self) -> list[dict[str, t.Any]]:
        return self.cluster.waiting

    def pods_of(self, component: str) -> list[dict[str, t.Any]]:
        return [pod for pod in self.pods if component_of(pod["metadata"].get("name") or "") == component]

    @functools.cached_property
    def events(self) -> list[dict[str, t.Any]]:
        if self.cluster.single:
            return self.evidence.of("Event")
        wanted = [("Node", self.name)]
        wanted += [("Pod", p["metadata"].get("name", "")) for p in self.pods + self.waiting]
        events = [event for key in dict.fromkeys(wanted) for event in self.cluster.events_by_object.get(key, [])]
        for (kind, name), found in self.cluster.events_by_object.items():
            if kind in ("DaemonSet", "Deployment", "ReplicaSet", "Job", "StatefulSet") and (component_of(name) or kind != "DaemonSet"):
                events += found
        return events

    def events_with(self, *reasons: str) -> list[dict[str, t.Any]]:
        return [event for event in self.events if event.get("reason") in reasons]

    # ---- known messages --------------------------------------------------------------------------------

    @functools.cached_property
    def hits(self) -> list[signatures.Hit]:
        """Known messages in the node's documents, its events and its pods' states; one entry a source and signature."""
        found: dict[tuple[str, str], signatures.Hit] = {}
        for doc in self.searched():
            for hit in self.cluster.hits(doc):
                found.setdefault((hit.signature.id, hit.document.path), hit)
                self.used.add(doc.path)
        return list(found.values())

    def searched(self) -> t.Iterator[Document]:
        for doc in self.documents:
            if doc.outcome == SEEN and (doc.kind not in NOT_SEARCHED or self._one_object(doc)):
                yield doc
        yield from self._messages

    def _one_object(self, doc: Document) -> bool:
        """A single object somebody pasted may be searched like any text; a list would speak of other nodes too."""
        return (
            self.cluster.single
            and doc.kind == "kube_objects"
            and len(doc.text) < 40_000
            and not re.search(r"^kind: \w*List$|\"kind\": \"\w*List\"|^items:", doc.text, re.MULTILINE)
        )

    @functools.cached_property
    def _messages(self) -> list[Document]:
        """Event messages and pod states as documents, so that one scan serves all."""
        if self.cluster.single:
            own = [event_document(event) for event in self.events]
            return own + [d for d in map(state_document, self.pods + self.waiting) if d.text]
        wanted = [("Node", self.name)] + [("Pod", p["metadata"].get("name", "")) for p in self.pods]
        own = [event_document(e) for key in dict.fromkeys(wanted) for e in self.cluster.events_by_object.get(key, [])]
        own += [d for d in map(state_document, self.pods) if d.text]
        return own + self.cluster.waiting_messages + self.cluster.controller_messages

    def hit(self, *ids: str) -> signatures.Hit | None:
        return next((hit for hit in self.hits if hit.signature.id in ids), None)

    def hit_now(self, *ids: str) -> signatures.Hit | None:
        """As hit, but not from the log of a container's previous run."""
        return next((hit for hit in self.hits if hit.signature.id in ids and not hit.document.previous), None)

    # ---- the split -------------------------------------------------------------------------------------

    @functools.cached_property
    def labels(self) -> dict[str, str]:
        return dict(((self.node or {}).get("metadata") or {}).get("labels") or {})

    @functools.cached_property
    def annotations(self) -> dict[str, str]:
        return dict(((self.node or {}).get("metadata") or {}).get("annotations") or {})

    def amounts(self, field: str) -> dict[str, int]:
        """GPU-like resources in status.capacity or status.allocatable."""
        block = ((self.node or {}).get("status") or {}).get(field) or {}
        amounts = {}
        for key, value in block.items():
            if GPU_RESOURCE.match(str(key)):
                try:
                    amounts[str(key)] = int(quantity(value))
                except (ValueError, TypeError):
                    continue
        return amounts

    @functools.cached_property
    def capacity(self) -> int | None:
        return self._count("capacity")

    @functools.cached_property
    def allocatable(self) -> int | None:
        return self._count("allocatable")

    def _count(self, field: str) -> int | None:
        """GPUs of the asked resource or its family (MIG, shared); 0 only where the rows prove it; None when unknown."""
        if self.node is None:
            return None
        amounts = self.amounts(field)
        if self.options.resource in amounts and amounts[self.options.resource]:
            return amounts[self.options.resource]
        family = [n for key, n in amounts.items() if re.match(r"nvidia\.com/(?:gpu\.shared|mig-)", key)]
        if family:
            return sum(family)
        if self.options.resource in amounts:
            return amounts[self.options.resource]
        block = (self.node.get("status") or {}).get(field)
        if block is None:
            return None
        if self.node.get("_partial") and not self.node.get(f"_{field}_complete"):
            return None
        return 0

    @functools.cached_property
    def ready(self) -> bool | None:
        """The Ready condition; None when it was not shown."""
        for condition in ((self.node or {}).get("status") or {}).get("conditions") or []:
            if condition.get("type") == "Ready":
                return condition.get("status") == "True"
        for taint in self.taints:
            if taint.get("key") in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"):
                return False
        return None

    @functools.cached_property
    def taints(self) -> list[dict[str, t.Any]]:
        return list(((self.node or {}).get("spec") or {}).get("taints") or [])

    @functools.cached_property
    def cordoned(self) -> bool | None:
        if self.node is None:
            return None
        if any(taint.get("key") == "node.kubernetes.io/unschedulable" for taint in self.taints):
            return True
        value = (self.node.get("spec") or {}).get("unschedulable")
        if value is None and self.node.get("_partial"):
            return None
        return bool(value)

    # ---- facts several judges need ---------------------------------------------------------------------

    @functools.cached_property
    def kernel(self) -> tuple[str | None, Quote | None]:
        """The running kernel and where it was read."""
        value, doc = self.first("uname", "kernel")
        if value and doc:
            return value, doc.quote(re.escape(value))
        info = ((self.node or {}).get("status") or {}).get("nodeInfo") or {}
        if info.get("kernelVersion") and self.node:
            return info["kernelVersion"], quote_of(self.node, f"kernelVersion: {info['kernelVersion']}")
        for kind, key in (("kernel_log", "linux_version"), ("journal", "linux_version")):
            value, doc = self.first(kind, key)
            if value and doc:
                return value, doc.quote(re.escape(value))
        for doc in self.logs("driver"):
            value = driver.parse_driver_container_log(doc.text).get("kernel")
            if value:
                return value, doc.quote(re.escape(value))
        return None, None

    @functools.cached_property
    def loaded_version(self) -> tuple[str | None, Quote | None]:
        """Version of the NVIDIA module that is loaded now."""
        value, doc = self.first("proc_nvidia_version", "version")
        if value and doc:
            return value, doc.quote(re.escape(value))
        for kind in ("kernel_log", "journal"):
            value, doc = self.first(kind, "loaded_version")
            if value and doc:
                return value, doc.quote(r"NVRM: loading .*" + re.escape(value))
        return None, None

    @functools.cached_property
    def smi(self) -> list[tuple[Document, dict[str, t.Any]]]:
        return self.parsed("nvidia_smi")

    @functools.cached_property
    def smi_on_host(self) -> tuple[Document, dict[str, t.Any]] | None:
        """A nvidia-smi table with GPUs in it."""
        for doc, facts in self.smi:
            # The banner alone will do: without a working driver nvidia-smi prints none.
            if (facts.get("gpus") or facts.get("driver_version")) and not facts.get("error"):
                return doc, facts
        for doc, facts in self.parsed("nvidia_smi_list"):
            if facts.get("gpus"):
                return doc, {"gpus": facts["gpus"]}
        return None

    @functools.cached_property
    def modules(self) -> tuple[dict[str, t.Any] | None, Document | None]:
        """Loaded kernel modules; None when nobody looked."""
        for doc, facts in self.parsed("lsmod"):
            if facts.get("modules"):
                return facts["modules"], doc
        return None, None

    def nvidia_module(self) -> tuple[bool | None, Quote | None]:
        """Is the NVIDIA module loaded: True, False (a whole lsmod lacks it), None (not known)."""
        modules, doc = self.modules
        if modules is not None and doc is not None:
            for name in ("nvidia", "nvidia_current"):
                if name in modules:
                    return True, doc.quote(rf"^\s*{name}\s")
            # A handful of rows is a grep, and a grep that shows no nvidia row may have asked for something else.
            if len(modules) >= 8 or re.search(r"nvidia", doc.source or ""):
                return False, Quote(doc.path, f"no nvidia row among {len(modules)} loaded modules")
        version, quote = self.loaded_version
        if version and self.has("proc_nvidia_version"):
            return True, quote
        if self.smi_on_host:
            doc, _facts = self.smi_on_host
            return True, doc.quote(r"Driver Version|KMD Version|^GPU 0")
        return None, None

    @functools.cached_property
    def bus(self) -> tuple[list[dict[str, t.Any]] | None, Document | None]:
        """NVIDIA GPUs on the PCI bus; None when nobody looked."""
        for doc, facts in self.parsed("lspci"):
            gpus = [d for d in facts.get("devices") or [] if d.get("gpu")]
            if gpus or not doc.text.strip() or len([x for x in doc.lines if x.strip()]) >= 3:
                return gpus, doc
        return None, None

    @functools.cached_property
    def engine(self) -> tuple[str | None, str | None]:
        """Container engine and version, as the kubelet reports it: ('containerd', '1.7.13-k3s1')."""
        info = ((self.node or {}).get("status") or {}).get("nodeInfo") or {}
        name, _sep, version = str(info.get("containerRuntimeVersion") or "").partition("://")
        return (name or None, version or None)

    @functools.cached_property
    def flavour(self) -> str | None:
        """Distribution whose engine is not the plain one: k3s, rke2, microk8s, k0s, talos, bottlerocket, gke, eks, openshift, kind."""
        info = ((self.node or {}).get("status") or {}).get("nodeInfo") or {}
        text = " ".join(str(info.get(k) or "") for k in ("kubeletVersion", "containerRuntimeVersion", "osImage", "kernelVersion"))
        text += " " + " ".join(self.labels) + " " + " ".join(self.annotations)
        paths = " ".join(f"{doc.path} {doc.source}" for doc in self.documents)
        for policy in self.evidence.of("ClusterPolicy"):
            paths += " " + " ".join(
                str(e.get("value")) for e in ((policy.get("spec") or {}).get("toolkit") or {}).get("env") or [] if isinstance(e, dict)
            )
        if self.cluster.single:
            text += " " + " ".join(
                m.group(0) for doc in self.documents if doc.outcome == SEEN for m in [TELLTALE.search(doc.text[:4000])] if m
            )
        for flavour, pattern in FLAVOURS.items():
            if re.search(pattern, text, re.IGNORECASE):
                return flavour
        if any(doc.component == "gke_installer" for doc in self.documents):
            return "gke"
        for flavour, pattern in FLAVOUR_PATHS.items():
            if re.search(pattern, paths):
                return flavour
        return None


FLAVOURS = {
    "rke2": r"\+rke2|rke2\.io/|generated by rke2",
    "k3s": r"\+k3s|-k3s\d|k3s\.io/|generated by k3s",
    "k0s": r"\+k0s|k0sproject",
    "microk8s": r"microk8s",
    "talos": r"talos",
    "bottlerocket": r"bottlerocket",
    "gke": r"-gke\.|cloud\.google\.com/gke|Container-Optimized OS",
    "openshift": r"Red Hat Enterprise Linux CoreOS|node\.openshift\.io|machineconfiguration\.openshift\.io",
    "eks": r"-eks-|eks\.amazonaws\.com",
    "aks": r"kubernetes\.azure\.com",
    "kind": r"kind\.x-k8s\.io|kindest",
}
# Words at the top of a pasted output that name the distribution.
TELLTALE = re.compile(r"\[talos\]|[Gg]enerated by (?:k3s|rke2)|bottlerocket", re.IGNORECASE)
FLAVOUR_PATHS = {
    "rke2": r"/rancher/rke2/",
    "k3s": r"/rancher/k3s/|k3s-agent",
    "k0s": r"/etc/k0s/|/run/k0s/",
    "microk8s": r"/snap/microk8s/",
}
