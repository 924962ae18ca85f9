# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors
"""Healthy twins of a node, and how many GPUs it should advertise: a number from outside the node, and who says so."""

from __future__ import annotations

import collections
import dataclasses
import re
import typing as t

from ansible_collections.gpuops.node.plugins.plugin_utils.objects import (
    GPU,
    Obj,
    Objects,
    advertised,
    amount,
    integer,
    is_gpu,
    labels_of,
    mapping,
    name_of,
    node_ready,
    text,
)

POOL_LABELS = (
    "cloud.google.com/gke-nodepool",
    "eks.amazonaws.com/nodegroup",
    "alpha.eksctl.io/nodegroup-name",
    "kubernetes.azure.com/agentpool",
    "agentpool",
    "karpenter.sh/nodepool",
    "karpenter.sh/provisioner-name",
    "doks.digitalocean.com/node-pool",
    "k8s.scaleway.com/pool-name",
    "nodepool",
    "node-pool",
    "pool",
)
TYPE_LABELS = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")
# Distributions that write their own name where a cloud writes the machine type.
NO_TYPE = {"", "k3s", "rke2", "k0s", "unknown", "baremetal"}
# A node that was never meant to have GPUs carries none of these, whatever its name.
GPU_NODE = re.compile(
    r"^(?:nvidia\.com/(?!gpu\.deploy\.operands$)|feature\.node\.kubernetes\.io/pci-(?:\w+_)?10de\.present$|cloud\.google\.com/gke-accelerator$)"
)


# Nodes that are cut differently on purpose advertise different numbers.
PARTITION_LABELS = (
    "nvidia.com/mig.config",
    "nvidia.com/mig.strategy",
    "nvidia.com/device-plugin.config",
    "nvidia.com/gpu.sharing-strategy",
)


# Written by feature discovery: with one of them, what the labels do not say about sharing and MIG is "no".
DISCOVERED = ("nvidia.com/gpu.count", "nvidia.com/gpu.product", "nvidia.com/gpu.replicas", "nvidia.com/mig.strategy")


@dataclasses.dataclass(frozen=True)
class Shape:
    """How a node's GPUs are cut and shared: only nodes of one shape advertise numbers that can be compared."""

    told: bool  # feature discovery has labelled the node: what is absent is "no", not silence
    sharing: str | None
    replicas: int
    mig: tuple[str, str] | None  # strategy and configuration, where GPUs are split
    config: str | None  # the plugin configuration somebody chose for the node
    offers: frozenset[str]  # resources with devices
    rows: frozenset[str]  # resources with a row, devices or none

    def fits(self, twin: Shape) -> bool:
        """May the twin's devices be held against this node?"""
        if self.offers and not (self.offers <= twin.rows and twin.offers <= self.rows):
            return False
        mine = (self.sharing, self.replicas, self.mig, self.config)
        if self.told:
            return mine == (twin.sharing, twin.replicas, twin.mig, twin.config)
        # Silence is no answer: what the node says must agree, and what it does not say is left open.
        if self.mig and self.mig != twin.mig and (self.mig[0] or not twin.mig or self.mig[1] != twin.mig[1]):
            return False
        said = [(self.sharing, twin.sharing), (self.config, twin.config), (self.replicas if self.replicas > 1 else None, twin.replicas)]
        return all(a is None or a == b for a, b in said)

    @property
    def cut(self) -> bool:
        return bool(self.mig or self.replicas > 1)

    @property
    def silent(self) -> bool:
        """Nothing on the node says whether its GPUs are cut or shared."""
        return not (self.told or self.mig or self.config or self.sharing or self.replicas > 1)


def shape_of(node: Obj) -> Shape:
    labels = labels_of(node)
    product, config = labels.get("nvidia.com/gpu.product", ""), labels.get("nvidia.com/mig.config", "")
    config = "" if config == "all-disabled" else config
    split = bool(config or "-MIG-" in product) or any(
        re.match(r"nvidia\.com/mig-[\w.+-]+\.count$", key) and integer(value) for key, value in labels.items()
    )
    replicas = max(1, integer(labels.get("nvidia.com/gpu.replicas")) or 1)
    sharing = labels.get("nvidia.com/gpu.sharing-strategy", "none")
    if sharing in ("", "none"):
        sharing = "time-slicing" if replicas > 1 or "-SHARED" in product else "none"
    rows = {name for section in ("allocatable", "capacity") for name in mapping(node, "status", section) if is_gpu(name)}
    return Shape(
        told=any(labels.get(key) for key in DISCOVERED),
        sharing=None if sharing == "none" else sharing,
        replicas=replicas,
        mig=(labels.get("nvidia.com/mig.strategy", ""), config) if split else None,
        config=labels.get("nvidia.com/device-plugin.config") or None,
        offers=frozenset(advertised(node, "allocatable")) | frozenset(advertised(node, "capacity")),
        rows=frozenset(rows),
    )


@dataclasses.dataclass(frozen=True)
class Twins:
    """Healthy nodes like this one, and what makes them alike."""

    nodes: list[Obj]
    by: str | None  # pool | instance type | GPU product | name
    provenance: str
    votes: collections.Counter[int] = dataclasses.field(default_factory=collections.Counter)  # devices a twin -> how many twins
    whole: bool = False  # the votes are GPUs, and some of the twins advertise shares of them

    def __iter__(self) -> t.Iterator[Obj]:
        return iter(self.nodes)

    def __len__(self) -> int:
        return len(self.nodes)


def base_product(value: str) -> str:
    """A GPU product label without what sharing and MIG append."""
    return re.sub(r"(?:-SHARED|-MIG-[\w.+-]*)+$", "", value)


def _keys(node: Obj) -> dict[str, str]:
    labels = labels_of(node)
    keys = {}
    pool = next((f"{k}={labels[k]}" for k in POOL_LABELS if labels.get(k)), None)
    kind = (
        next((labels[k] for k in TYPE_LABELS if labels.get(k)), "") or text(node, "_table", "type") or text(node, "_table", "instance-type")
    )
    if pool:
        keys["pool"] = pool
    if kind.lower() not in NO_TYPE:
        keys["instance type"] = kind
    if labels.get("nvidia.com/gpu.product"):
        keys["GPU product"] = base_product(labels["nvidia.com/gpu.product"])
    stem = re.sub(r"\d+$", "", name_of(node).partition(".")[0])
    if stem and stem != name_of(node) and any(GPU_NODE.match(k) for k in labels):
        keys["name"] = f"{stem}N"
    return keys


@dataclasses.dataclass
class _Bucket:
    """Healthy nodes that agree in everything twins are compared by."""

    keys: dict[str, str]
    parts: dict[str, str]
    shape: Shape
    nodes: list[Obj] = dataclasses.field(default_factory=list)
    names: list[str] = dataclasses.field(default_factory=list)
    counts: list[int] = dataclasses.field(default_factory=list)


def _parts(node: Obj) -> dict[str, str]:
    labels = labels_of(node)
    return {key: labels[key] for key in PARTITION_LABELS if labels.get(key)}


class TwinIndex:
    """The healthy nodes of a cluster by what makes twins; made once, so that a thousand nodes may ask."""

    def __init__(self, nodes: t.Iterable[Obj], resource: str = GPU):
        buckets: dict[tuple[t.Any, ...], _Bucket] = {}
        self.groups: dict[tuple[str, str], list[_Bucket]] = {}
        for node in nodes:
            if not isinstance(node, t.Mapping) or node_ready(node) is False:
                continue
            has, total = count_of(node, "allocatable", resource), count_of(node, "capacity", resource)
            if not has or (total is not None and has < total):
                continue
            keys, parts, shape = _keys(node), _parts(node), shape_of(node)
            place = (*keys.items(), *parts.items(), shape)
            if place not in buckets:
                buckets[place] = _Bucket(keys, parts, shape)
                for pair in keys.items():
                    self.groups.setdefault(pair, []).append(buckets[place])
            buckets[place].nodes.append(node)
            buckets[place].names.append(name_of(node))
            buckets[place].counts.append(int(has))

    def twins(self, node: Obj, *, comparable: bool = False) -> Twins:
        """Nodes like this one; comparable: only those whose numbers can be held against it."""
        mine, parts, name = _keys(node), _parts(node), name_of(node)
        shape = shape_of(node) if comparable else None
        for by in ("pool", "instance type", "GPU product", "name"):
            found: list[Obj] = []
            votes: collections.Counter[int] = collections.Counter()
            whole = False
            for bucket in self.groups.get((by, mine[by]), ()) if by in mine else ():
                # A pool may hold machines of several types: what both name must agree.
                agree = all(mine[k] == bucket.keys[k] for k in ("instance type", "GPU product") if k in mine and k in bucket.keys)
                same = shape.fits(bucket.shape) if shape else all(bucket.parts.get(k) == v for k, v in parts.items())
                if not agree or not same:
                    continue
                others = [n for n, other in enumerate(bucket.names) if other != name]
                counts = [bucket.counts[n] for n in others]
                if shape and shape.silent and bucket.shape.cut:
                    whole = True
                    # A node that does not say how it is cut is held against whole GPUs, never against shares of them.
                    counts = [_whole_gpus(bucket.nodes[n], bucket.shape, bucket.counts[n]) for n in others]
                    others, counts = [n for n, count in zip(others, counts) if count], [count for count in counts if count]
                found += [bucket.nodes[n] for n in others]
                votes.update(counts)
            if found:
                like = {"name": f"named {mine[by]}"}.get(by, f"of the same {by} ({mine[by]})")
                return Twins(found, by, f"{len(found)} healthy node{'s' if len(found) > 1 else ''} {like}", votes, whole)
        return Twins([], None, "no healthy twin is known")


def _whole_gpus(node: Obj, shape: Shape, devices: int) -> int:
    """The GPUs behind shares and MIG devices, as far as labels tell; 0 when they do not."""
    if not shape.mig:
        return devices // shape.replicas
    # Strategy single counts MIG devices in the same label.
    return max(0, integer(labels_of(node).get("nvidia.com/gpu.count")) or 0) if shape.mig[0] == "mixed" else 0


def twins(node: Obj, all_nodes: t.Iterable[Obj]) -> Twins:
    return TwinIndex(all_nodes).twins(node)


class Expected(t.NamedTuple):
    """How many GPUs the node should advertise, and one sentence that says who says so."""

    value: int | None
    provenance: str | None


def count_of(node: t.Any, section: str, resource: str) -> float | None:
    """Devices of the resource; where there are none of it, those of its family (shared, MIG)."""
    number = amount(node, section, resource)
    if number:
        return number
    family = [
        n for name, n in advertised(node, section).items() if name != resource and re.match(r"nvidia\.com/(?:gpu\.shared$|mig-)", name)
    ]
    return sum(family) if family else number


def zero_is_right(node: Obj, objects: Objects | None = None, resource: str = GPU) -> str | None:
    """Why this node rightly advertises none of the resource, or None."""
    labels, objects = labels_of(node), objects or {}
    if labels.get("nvidia.com/gpu.deploy.operands") == "false":
        return "nvidia.com/gpu.deploy.operands=false switches the GPU stack off on this node"
    workload = labels.get("nvidia.com/gpu.workload.config", "")
    if workload in ("vm-passthrough", "vm-vgpu"):
        return f"nvidia.com/gpu.workload.config={workload}: the GPUs are for virtual machines"
    slices = [s for s in objects.get("ResourceSlice") or () if text(s, "spec", "driver") == "gpu.nvidia.com"]
    if any(text(s, "spec", "nodeName") == name_of(node) and name_of(node) for s in slices) and not amount(node, "allocatable", resource):
        return "the GPUs are served through DRA (ResourceSlices of gpu.nvidia.com), not as an extended resource"
    if objects.get("GPUCluster"):
        return "a GPUCluster serves the GPUs through DRA, not as an extended resource"
    return None


def expected_count(
    node: Obj,
    all_nodes: t.Iterable[Obj] = (),
    declared: t.Any = None,
    documents_counts: t.Mapping[str, t.Any] | None = None,
    *,
    resource: str = GPU,
    objects: Objects | None = None,
    index: TwinIndex | None = None,
) -> Expected:
    """In order: what the user declared; why zero is right; healthy twins of its shape; the labels of feature discovery; the bus.

    Never what the node advertises now: that is what is in question.
    """
    if isinstance(declared, t.Mapping):
        declared = declared.get(name_of(node))
    value = integer(declared)
    if value is not None and value >= 0:
        return Expected(value, "declared by the user")
    why = zero_is_right(node, objects, resource)
    if why:
        return Expected(0, why)
    like = (index or TwinIndex(all_nodes, resource)).twins(node, comparable=True)
    votes = like.votes
    if votes:
        most, times = max(votes.items(), key=lambda item: (item[1], item[0]))
        whole = like.whole
        one, many = ("has", "have") if whole else ("advertises", "advertise")
        what = f"{most} whole GPU{'s' if most != 1 else ''}" if whole else f"{most}"
        if len(votes) == 1:
            return Expected(most, f"{like.provenance} {one if times == 1 else many} {what}{' each' if times > 1 else ''}")
        if times * 3 >= len(like) * 2:
            return Expected(most, f"{times} of {like.provenance} {many} {what}")
    labelled = _from_labels(node, resource)
    if labelled:
        return labelled
    return _from_bus(node, documents_counts or {}, resource)


def _from_labels(node: Obj, resource: str) -> Expected | None:
    labels = labels_of(node)
    count, replicas = integer(labels.get("nvidia.com/gpu.count")), integer(labels.get("nvidia.com/gpu.replicas"))
    product, strategy = labels.get("nvidia.com/gpu.product", ""), labels.get("nvidia.com/mig.strategy", "")
    if product.endswith("-MIG-INVALID"):
        return None  # the geometry does not fit the strategy: the labels count nothing
    mig = {}
    for key, value in labels.items():
        match = re.match(r"(nvidia\.com/mig-[\w.+-]+?)\.count$", key)
        if match and integer(value):
            mig[match.group(1)] = t.cast(int, integer(value)) * max(1, integer(labels.get(f"{match.group(1)}.replicas")) or 1)
    if resource in mig:
        return Expected(
            mig[resource], f"label {resource}.count={labels[resource + '.count']} (MIG strategy mixed, last seen by feature discovery)"
        )
    if strategy == "mixed" and mig:
        # gpu.count counts GPUs split into instances too; replicas 0 says that every one of them is split.
        return (
            Expected(sum(mig.values()), "labels nvidia.com/mig-*.count (MIG strategy mixed), last seen by feature discovery")
            if replicas == 0
            else None
        )
    if count is None or count <= 0:
        return None
    said = f"label nvidia.com/gpu.count={count}"
    if replicas and replicas > 1:
        shared = labels.get("nvidia.com/gpu.sharing-strategy") or "time-slicing"
        return Expected(count * replicas, f"{said} times nvidia.com/gpu.replicas={replicas} ({shared}), last seen by feature discovery")
    kind = " MIG devices (strategy single)" if "-MIG-" in product else ""
    return Expected(count, f"{said}{kind}, last seen by feature discovery")


# Where a count of devices may come from, the outermost first.
COUNTS = ("bus", "lspci", "sysfs", "proc", "nvidia_smi")


def _from_bus(node: Obj, counts: t.Mapping[str, t.Any], resource: str) -> Expected:
    labels = labels_of(node)
    split = labels.get("nvidia.com/mig.strategy") in ("single", "mixed") and (
        labels.get("nvidia.com/mig.config", "all-disabled") != "all-disabled" or "-MIG-" in labels.get("nvidia.com/gpu.product", "")
    )
    if split or resource != GPU:
        return Expected(None, None)
    for name in [*COUNTS, *sorted(set(counts) - set(COUNTS))]:
        given = counts.get(name)
        value, where = given if isinstance(given, (tuple, list)) and len(given) == 2 else (given, name)
        number = integer(value)
        if number is None or number <= 0:
            continue
        replicas = integer(labels.get("nvidia.com/gpu.replicas")) or 1
        times = f" times nvidia.com/gpu.replicas={replicas}" if replicas > 1 else ""
        what = f"GPU{'s' if number != 1 else ''} " + ("on the bus" if name in ("bus", "lspci", "sysfs") else "seen by the driver")
        return Expected(number * max(1, replicas), f"{number} {what} ({where}){times}")
    return Expected(None, None)


def index_for(view: t.Any) -> TwinIndex:
    """The cluster's twin index, made once for all its nodes."""
    cluster = view.cluster
    index = getattr(cluster, "twin_index", None)
    if index is None:
        index = cluster.twin_index = TwinIndex(view.evidence.of("Node"), view.options.resource)
    return index


def twins_for(view: t.Any) -> Twins:
    return index_for(view).twins(view.node) if view.node is not None else Twins([], None, "the node's object is not in the evidence")


def expected_for(view: t.Any, counts: t.Mapping[str, t.Any] | None = None) -> Expected:
    """expected_count for one node's view of the evidence."""
    node = view.node if view.node is not None else {"metadata": {"name": view.name}, "_partial": True}
    declared = view.options.expected
    return expected_count(node, (), declared, counts, resource=view.options.resource, objects=view.evidence.objects, index=index_for(view))
