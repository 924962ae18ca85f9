# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors
"""What schedulers say: FailedScheduling over the versions of Kubernetes, autoscalers, queue systems, other schedulers."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.gpuops.node.plugins.plugin_utils.objects import CONDITION_TAINTS, UNSCHEDULABLE_TAINT

_HEAD = re.compile(r"\b(?:(\d+)/(\d+)|(all)) nodes are (?:un)?available: ?")
_PREEMPTION = re.compile(
    r"[.,]?\s*((?:no new claims to deallocate, |still not schedulable, )?preemption: .*"
    r"|no new claims to deallocate.*|still not schedulable.*)$",
)
_OLD_HEAD = re.compile(
    r"No nodes are available that match all of the (?:following )?predicates::? ?|fit failure summary on nodes ?: ?", re.IGNORECASE
)
# No scheduler writes more; a longer text is something else, or hostile.
_MAX = 20_000

# Reason texts, first match wins: (pattern, kind, first and last minor version of Kubernetes 1.x that prints it).
_REASONS: tuple[tuple[re.Pattern[str], str, int | None, int | None], ...] = tuple(
    (re.compile(pattern), kind, first, last)
    for pattern, kind, first, last in (
        (r"had untolerated taint\(s\)", "taint", 34, None),
        (r"had untolerated taint \{(?P<key>[^:}]*):\s?(?P<value>[^}]*)\}", "taint", 24, 34),
        (r"had taint \{(?P<key>[^:}]*):\s?(?P<value>[^}]*)\}, that the pod didn't tolerate", "taint", 18, 23),
        (r"had taints that the pod didn't tolerate", "taint", None, 17),
        # Predicate names, as the scheduler of 1.2 to 1.6 printed them.
        (r"PodToleratesNodeTaints", "taint", None, None),
        (r"MatchNodeSelector|MatchInterPodAffinity", "affinity", None, None),
        (r"CheckNodeUnschedulable", "unschedulable", None, None),
        (r"PodFitsHostPorts", "ports", None, None),
        (r"node\(s\) had taints\b", "taint", None, None),
        (r"node\(s\) were unschedulable", "unschedulable", None, None),
        (
            r"node\(s\) (?:were not ready|were unreachable|had unavailable network|had (?:memory|disk|pid) pressure)",
            "not_ready",
            None,
            None,
        ),
        (r"node\(s\) were out of disk space|node\(s\) had condition:|node unregistered", "not_ready", None, None),
        (r"^Too many pods|^Insufficient pods\b", "too_many_pods", None, None),
        (r"^Insufficient (?P<resource>[^\s,()]+)", "insufficient", None, None),
        (r"[Vv]olume|did not have enough free storage|conflict with a disk|unbound immediate", "volume", None, None),
        (r"didn't match node selector", "affinity", None, 19),
        (r"didn't match Pod's node affinity/selector", "affinity", 21, None),
        (r"didn't match Pod's node affinity(?!/)", "affinity", 20, 20),
        (r"didn't match the requested (?:node name|hostname)|node affinity|node selector", "affinity", None, None),
        (r"anti-affinity|pod affinity|inter-?pod", "pod_affinity", None, None),
        (r"topology spread", "spread", None, None),
        (r"free ports|[Hh]ostPort", "ports", None, None),
        (r"cannot allocate all claims|[Rr]esource ?[Cc]laim|resource pools|device ?class|allocat\w+ claim", "dra", 26, None),
    )
)


def _collapse(message: t.Any) -> str:
    return re.sub(r"\s+", " ", message[:_MAX] if isinstance(message, str) else "").strip()


def _split(body: str) -> list[str]:
    """Reasons of a message: split where a new count begins, never inside braces or brackets."""
    parts, start, depth = [], 0, 0
    for index, char in enumerate(body):
        if char in "{[(":
            depth += 1
        elif char in "}])":
            depth = max(0, depth - 1)
        elif char == "," and depth == 0 and re.match(r", \d+ \S", body[index : index + 24]):
            parts.append(body[start:index])
            start = index + 1
    parts.append(body[start:])
    return [part.strip() for part in parts if part.strip()]


def _reason(part: str) -> dict[str, t.Any]:
    match = re.match(r"(\d+) (.+)$", part)
    count, said = (int(match.group(1)[:9]), match.group(2)) if match else (None, part)
    reason: dict[str, t.Any] = {
        "count": count,
        "kind": "other",
        "resource": None,
        "taint_key": None,
        "taint_value": None,
        "text": said.strip(" ."),
    }
    for pattern, kind, _first, _last in _REASONS:
        found = pattern.search(said)
        if not found:
            continue
        reason["kind"] = kind
        groups = found.groupdict()
        if groups.get("resource"):
            reason["resource"] = groups["resource"].rstrip(".;:")
        if groups.get("key") is not None:
            reason["taint_key"], reason["taint_value"] = groups["key"].strip(), (groups.get("value") or "").strip()
            if reason["taint_key"] == UNSCHEDULABLE_TAINT:
                reason["kind"] = "unschedulable"
            elif reason["taint_key"] in CONDITION_TAINTS:
                reason["kind"] = "not_ready"
        break
    return reason


def _form(body: str, preemption: str | None) -> str:
    """The Kubernetes versions whose words these can be."""
    first, last = 0, 99
    for pattern, _kind, since, until in _REASONS:
        if (since or until) and pattern.search(body):
            first, last = max(first, since or 0), min(last, until or 99)
    if preemption:
        first = max(first, 31 if "claims to deallocate" in preemption or "still not schedulable" in preemption else 23)
    if first > last or (not first and last == 99):
        return "any"
    if not first:
        return f"<=1.{last}"
    return f"1.{first}+" if last == 99 else (f"1.{first}" if first == last else f"1.{first}-1.{last}")


def parse_failed_scheduling(message: t.Any) -> dict[str, t.Any]:
    """A FailedScheduling message in its parts. Counts are the scheduler's: they name no node, and may sum to more than `total`."""
    whole = _collapse(message)
    result: dict[str, t.Any] = {"total": None, "available": None, "reasons": [], "preemption": None, "form": "none"}
    if re.search(r"no nodes available to schedule pods", whole):
        return {
            **result,
            "total": 0,
            "available": 0,
            "form": "any",
            "reasons": [{**_reason("no nodes available to schedule pods"), "kind": "other"}],
        }
    old = _OLD_HEAD.search(whole)
    if old:
        result["form"] = "<=1.10"
        for found in re.finditer(r"([^,()]+?) \((\d+)\)", whole[old.end() :]):
            result["reasons"].append(_reason(f"{found.group(2)} {found.group(1).strip(' ,')}"))
        return result
    head = _HEAD.search(whole)
    if not head:
        return result
    if head.group(2):
        result["available"], result["total"] = int(head.group(1)[:9]), int(head.group(2)[:9])
    body = whole[head.end() :]
    tail = _PREEMPTION.search(body)
    if tail:
        result["preemption"] = tail.group(1).strip(" .")
        body = body[: tail.start()]
    body = body.strip(" .")
    result["reasons"] = [_reason(part) for part in _split(body)]
    result["form"] = _form(body, result["preemption"])
    return result


# Words of programs that are not the default scheduler, first match wins:
# (scheduler, what it says, the fault it would mean, pattern).
_OTHER: tuple[tuple[str, str, str | None, re.Pattern[str]], ...] = tuple(
    (who, kind, fault, re.compile(pattern, re.IGNORECASE))
    for who, kind, fault, pattern in (
        (
            "cluster-autoscaler",
            "no_scale_up",
            "autoscaler_pending",
            r"pod didn'?t trigger scale-?up(?: \(it wouldn't fit[^)]*\))?(?P<reasons>:.*)?",
        ),
        ("cluster-autoscaler", "scale_up", "autoscaler_pending", r"pod triggered scale-?up: (?P<group>\[.*?\])"),
        ("karpenter", "nominated", "autoscaler_pending", r"Pod should schedule on: (?P<group>.+)"),
        ("karpenter", "limit", "autoscaler_pending", r"instance types exceed limits for|would exceed limit"),
        ("karpenter", "taint", "autoscaler_pending", r"did not tolerate taint \(taint=(?P<taint>[^)]+)\)"),
        ("karpenter", "taint", "autoscaler_pending", r"did not tolerate (?P<taint>[\w.-]+(?:/[\w.-]+)?(?:=[^:\s]*)?:\w+)"),
        (
            "karpenter",
            "no_scale_up",
            "autoscaler_pending",
            r"incompatible with (?:nodepool|provisioner)|no instance type (?:satisfied|has|which|met)",
        ),
        ("karpenter", "no_scale_up", "autoscaler_pending", r"(?:could not|failed to) schedule pod,"),
        ("hami", "exceeds", "request_exceeds_node", r"request devices nums cannot exceed the total number of devices on the node"),
        ("hami", "exceeds", "request_exceeds_node", r"\bNodeInsufficientDevice\b"),
        ("hami", "in_use", "gpus_in_use", r"\bCard(?:InsufficientMemory|InsufficientCore|TimeSlicingExhausted|ComputeUnitsExhausted)\b"),
        ("hami", "in_use", "gpus_in_use", r"\b(?:ExclusiveDeviceAllocateConflict|AllocatedCardsInsufficientRequest)\b"),
        ("hami", "mismatch", "affinity_excludes", r"\b(?:CardTypeMismatch|CardUuidMismatch|CardNotFoundCustomFilterRule|NumaNotFit)\b"),
        ("hami", "quota", "quota_or_admission_refused", r"\bResourceQuotaNotFit\b"),
        ("hami", "no_inventory", "pod_gated", r"\bnode unregistered\b"),
        ("hami", "unfit", None, r"no available node, (?:all node scores|\d+ nodes) do not meet|\bNodeUnfitPod\b"),
        (
            "kueue",
            "exceeds_quota",
            "pod_gated",
            r"insufficient quota for (?P<resource>\S+) in flavor (?P<queue>[^\s,]+), .*maximum capacity",
        ),
        (
            "kueue",
            "quota",
            "pod_gated",
            r"insufficient (?:unused )?quota for (?P<resource>\S+) in flavor (?P<queue>[^\s,;]+)(?:, (?P<more>\d+) more needed)?",
        ),
        ("kueue", "quota", "pod_gated", r"borrowing limit for (?P<resource>\S+) in flavor (?P<queue>\S+) exceeded"),
        ("kueue", "topology", "pod_gated", r"topology \"(?P<queue>[^\"]+)\" (?:doesn't allow|allows) to fit"),
        ("kueue", "quota", "pod_gated", r"couldn'?t assign flavors to pod set (?P<queue>[^\s:]+)"),
        ("kueue", "queue", "pod_gated", r"(?:ClusterQueue|LocalQueue) (?P<queue>\S+) (?:is inactive|doesn't exist|is not active)"),
        ("volcano", "gang", "pod_gated", r"(?P<pending>\d+)/(?P<members>\d+) tasks in gang unschedulable"),
        ("volcano", "gang", "pod_gated", r"pod group is not ready, (?:(?P<pending>\d+) Pending, )?.*?(?P<members>\d+) minAvailable"),
        ("volcano", "queue", "pod_gated", r"queue resource quota insufficient|resource in cluster is overused"),
        (
            "coscheduling",
            "gang",
            "pod_gated",
            r"cannot find enough sibling pods(?:, current pods number: (?P<pending>\d+), minMember of group: (?P<members>\d+))?",
        ),
        ("coscheduling", "gang", "pod_gated", r"optimistic rejection in PostFilter|gang rejected|rejected due to timeout after waiting"),
        (
            "kai",
            "gang",
            "pod_gated",
            r"Resources were found for (?P<pending>\d+) pods while (?P<members>\d+) are required for gang scheduling",
        ),
        ("kai", "unfit", "pod_gated", r"Resources were not found for pod|is over (?:the )?(?:non-preemptible )?quota"),
        ("yunikorn", "queued", "pod_gated", r"is queued and waiting for allocation|it will be scheduled as a gang member"),
        ("default-scheduler", "gate", "pod_gated", r"Scheduling is blocked due to non-empty scheduling gates"),
        ("volcano", "unfit", None, r"all nodes are unavailable: (?P<reasons>.*)"),
    )
)
# What an autoscaler answers instead of a filter's reason.
_NO_SCALE_UP = {
    r"max node group size reached": "max_size",
    r"in backoff after failed scale-up": "backoff",
    r"max cluster cpu, memory limit reached|max (?:cluster )?(?:\S+ )?limit reached": "cluster_limit",
    r"not ready for scale-up|node group is not ready": "group_not_ready",
    r"max total nodes": "cluster_limit",
}


def parse_other_scheduler(message: t.Any) -> dict[str, t.Any] | None:
    """Words of autoscalers, queue systems and other schedulers; None when none of them speaks.

    Keys: scheduler, kind, fault (candidate or None), text, reasons (as parse_failed_scheduling), and, where said:
    resource, queue, group, taint_key, members, pending, more.
    """
    whole = _collapse(message)
    for who, kind, fault, pattern in _OTHER:
        found = pattern.search(whole)
        if not found:
            continue
        groups = {k: v for k, v in found.groupdict().items() if v}
        result: dict[str, t.Any] = {
            "scheduler": who,
            "kind": kind,
            "fault": fault,
            "text": whole[found.start() :][:400].strip(),
            "reasons": [],
        }
        for key in ("resource", "queue", "group"):
            if key in groups:
                result[key] = groups[key].strip(" ,.;")
        for key in ("members", "pending", "more"):
            if key in groups:
                result[key] = int(groups[key][:9])
        if "taint" in groups:
            result["taint_key"] = re.split(r"[=:]", groups["taint"])[0]
        if groups.get("reasons"):
            result["reasons"] = [_reason(part) for part in _split(groups["reasons"].lstrip(": ").strip(" ."))]
            for reason in result["reasons"]:
                reason["kind"] = next((v for k, v in _NO_SCALE_UP.items() if re.search(k, reason["text"])), reason["kind"])
        return result
    return None
