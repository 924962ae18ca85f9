# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors
"""Whose taint or cordon is this, is the owner alive, has its reason healed, may it be removed?

catalogue/owners.yml says who writes what. Nothing is called removable that may be policy or a person's.
"""

from __future__ import annotations

import dataclasses
import datetime
import functools
import itertools
import re
import typing as t

from ansible_collections.gpuops.node.plugins.plugin_utils import catalogue
from ansible_collections.gpuops.node.plugins.plugin_utils.evidence import SEEN, Evidence, Quote
from ansible_collections.gpuops.node.plugins.plugin_utils.objects import (
    CONDITION_TAINTS,
    GPU,
    Obj,
    advertised,
    age_of,
    annotations_of,
    at,
    condition,
    integer,
    items,
    known,
    labels_of,
    mapping,
    name_of,
    node_cordoned,
    node_of,
    node_ready,
    parse_time,
    quote,
    seconds_between,
    show_time,
    text,
    writes_of,
)
from ansible_collections.gpuops.node.plugins.plugin_utils.twins import (
    Expected,
    TwinIndex,
    Twins,
    count_of,
    expected_count,
    expected_for,
    twins,
    twins_for,
)

__all__ = [
    "Expected",
    "Ownership",
    "TwinIndex",
    "Twins",
    "expected_count",
    "expected_for",
    "fault_of_key",
    "judge_cordon",
    "judge_taint",
    "owner_of",
    "taint_since",
    "twins",
    "twins_for",
]

YES, NO, UNKNOWN = "yes", "no", "unknown"
# A node this young is still starting: its controllers deserve the time.
YOUNG_SECONDS = 15 * 60
# Start-up taints are set at birth, but on a node that has worked for days the mark may be a later one.
BORN_SECONDS = 48 * 3600
# Twins looked at for the same taint: more would say the same, a thousand times over.
COMPARED = 50
# Forms of evidence that hold every pod of the cluster; in the others a pod that is not there was maybe just not printed.
WHOLE_FORMS = ("gpuops", "live")

SITE_VALIDATION: dict[str, t.Any] = {
    "id": "site-validation",
    "name": "this site's own node validation",
    "class": "startup",
    "says": "Declared as a validation taint of this site.",
    "agent": {"pods": [{"label": "app=nvidia-operator-validator"}, {"name": "operator-validator"}]},
    "healed": {"ready": True, "gpus": True, "agent_if_any": True},
    "removed_by": "the validation, when it passes",
    "waiting": "Let the validation finish; look at the validator pod on this node.",
    "left": "Run the validation again (delete the validator pod of this node); if it passes and does not lift the taint, remove the taint.",
}
NOBODY: dict[str, t.Any] = {
    "id": "unknown",
    "name": "unknown",
    "class": "unknown",
    "removed_by": "whoever set it",
    "waiting": "Find out who set it: kubectl get node NODE -o yaml --show-managed-fields.",
    "left": "Find out who set it (kubectl get node NODE -o yaml --show-managed-fields) and ask before it is removed.",
    "policy": "Give the pod a toleration for it if it may run there. Do not remove the taint.",
}


@dataclasses.dataclass
class Ownership:
    """Whose mark it is and what follows."""

    key: str
    owner: str
    cls: str  # policy | startup | transient | health | upgrade | autoscaler | human | script | unknown
    alive: str = UNKNOWN  # is the owner at work
    since: str | None = None
    since_from: str | None = None
    healed: str = UNKNOWN  # is the reason for the mark gone
    fault: str | None = None
    certainty: str = "likely"
    because: str = ""
    quotes: list[Quote] = dataclasses.field(default_factory=list)
    may_remove: bool = False
    remedy: str = ""


# ---- the table --------------------------------------------------------------------------------------------


@functools.cache
def table() -> dict[str, t.Any]:
    return catalogue.load_yaml("owners.yml")


@functools.cache
def _owner(key: str) -> dict[str, t.Any] | None:
    """The entry whose match is the most exact: key, then the longest prefix or suffix, then a pattern."""
    best, rank = None, (0, 0)
    for entry in table()["owners"]:
        match = entry["match"]
        found = []
        if key in (match.get("keys") or ()):
            found.append((3, len(key)))
        found += [(2, len(p)) for p in match.get("prefixes") or () if key.startswith(p)]
        found += [(2, len(s)) for s in match.get("suffixes") or () if key.endswith(s)]
        if match.get("pattern") and re.search(match["pattern"], key):
            found.append((1, 0))
        for candidate in found:
            if candidate > rank:
                best, rank = entry, candidate
    return best


def owner_of(key: str, validation_taints: t.Iterable[str] = ()) -> dict[str, t.Any]:
    """The table's entry for a taint key; a key the site declared as its validation taint is one, unless it is known policy."""
    entry = _owner(key)
    if key and key in set(validation_taints) and (entry is None or entry["id"] != "gpu-pool"):
        return SITE_VALIDATION
    return entry or NOBODY


def fault_of_key(key: str, validation_taints: t.Iterable[str] = ()) -> str | None:
    """What a taint key alone speaks for, when only the scheduler's words are at hand; None for an unknown key."""
    entry = owner_of(key, validation_taints)
    if entry.get("fault"):
        return str(entry["fault"])
    return {
        "startup": "node_initializing",
        "policy": "taint_not_tolerated",
        "health": "taint_not_tolerated",
        "autoscaler": "taint_not_tolerated",
    }.get(entry["class"])


def writer_of(manager: str) -> dict[str, t.Any]:
    """Who a managedFields manager is."""
    for entry in table()["writers"]:
        if re.search(entry["pattern"], manager):
            return entry
    return {"class": "unknown", "name": f"field manager {manager}", "id": None}


# ---- is the owner alive, has the reason healed ------------------------------------------------------------


def _selected(obj: Obj, selectors: t.Sequence[Obj]) -> bool:
    for selector in selectors:
        if "label" in selector:
            key, _equals, value = str(selector["label"]).partition("=")
            if labels_of(obj).get(key) == value:
                return True
        elif "name" in selector and re.search(str(selector["name"]), name_of(obj)):
            return True
    return False


def pod_up(pod: t.Any) -> bool:
    """Running and Ready, as far as the pod shows."""
    ready = text(condition(pod, "Ready"), "status")
    if text(pod, "status", "phase"):
        return text(pod, "status", "phase") == "Running" and ready in ("", "True")
    have, _slash, want = text(pod, "_table", "ready").partition("/")
    return text(pod, "_table", "status") == "Running" and have == want


def _whole(evidence: Evidence) -> bool:
    return evidence.form in WHOLE_FORMS and evidence.looked.get("Pod") == SEEN


def _alive(entry: Obj, evidence: Evidence) -> tuple[str, list[Quote]]:
    """Does the owner run anywhere? Kept per run: a thousand nodes may carry the same taint."""
    cache: dict[str, tuple[str, list[Quote]]] = evidence.__dict__.setdefault("_owners_alive", {})
    key = repr((entry.get("id"), entry.get("alive")))
    if key not in cache:
        cache[key] = _kind_gone(entry, evidence) or _look(mapping(entry, "alive"), evidence)
    return cache[key]


def _kind_gone(entry: Obj, evidence: Evidence) -> tuple[str, list[Quote]] | None:
    """The API server does not know the owner's own kind: it was uninstalled."""
    words = str(entry).lower()
    for doc in evidence.documents:
        found = re.search(r"doesn't have a resource type \"([a-z]+?)s?\"", doc.text) if doc.kind == "kubectl_output" else None
        if found and found.group(1) in words:
            return NO, [Quote(doc.path, found.group(0))]
    return None


def _look(spec: Obj, evidence: Evidence) -> tuple[str, list[Quote]]:
    pods, deployments = items(spec, "pods"), items(spec, "deployments")
    down: list[Quote] = []
    for obj in evidence.of("Deployment"):
        if _selected(obj, deployments):
            said = f"availableReplicas: {text(obj, 'status', 'availableReplicas') or 0}"
            if (integer(at(obj, "status", "availableReplicas")) or 0) > 0:
                return YES, [quote(obj, said, "Deployment")]
            if at(obj, "status") is not None:
                down.append(quote(obj, said, "Deployment"))
    for pod in evidence.of("Pod"):
        if _selected(pod, pods):
            said = f"{text(pod, 'status', 'phase') or text(pod, '_table', 'status')}"
            if pod_up(pod):
                return YES, [quote(pod, said, "Pod")]
            down.append(quote(pod, said, "Pod"))
    if down:
        return NO, down[:2]
    # Somebody searched all pods for it and printed nothing.
    named = "|".join(str(s.get("name") or s.get("label") or "") for s in [*pods, *deployments])
    for doc in evidence.documents:
        lines = [line for line in doc.lines if line.strip()] if doc.kind in ("text", "get_pods", "get_table", "kubectl_output") else []
        if len(lines) > 1 or (lines and doc.source):
            continue  # something was printed
        searched = re.search(r"get (?:pods?|po|deploy\w*|all)\b.*\|\s*e?grep\s+(?:-\w+\s+)*['\"]?([\w-]{4,})", doc.source or "".join(lines))
        if searched and searched.group(1).lower() in named.lower():
            return NO, [Quote(doc.path, f"{searched.group(0)}: printed nothing")]
    if (pods or deployments) and not spec.get("hidden") and _whole(evidence):
        return NO, [Quote(evidence.origin, "no pod of it among all pods of the cluster")]
    return UNKNOWN, []


def _agent(entry: Obj, node: Obj, evidence: Evidence) -> tuple[str, list[Quote]]:
    """The owner's pod on this node: up, down, or not seen."""
    found = [p for p in evidence.of("Pod") if node_of(p) == name_of(node) and _selected(p, items(entry, "agent", "pods"))]
    for pod in found:
        if pod_up(pod):
            return YES, [quote(pod, "Ready on this node", "Pod")]
    if found:
        pod = found[0]
        return NO, [quote(pod, f"{text(pod, 'status', 'phase') or text(pod, '_table', 'status') or 'not Ready'} on this node", "Pod")]
    return (NO, [Quote(evidence.origin, "no such pod on this node")]) if _whole(evidence) else (UNKNOWN, [])


def gpus_whole(node: Obj, resource: str = GPU) -> str:
    """Are all devices the kubelet knows allocatable? (Not whether it knows enough of them.)"""
    has, total = count_of(node, "allocatable", resource), count_of(node, "capacity", resource)
    if has is None:
        return UNKNOWN
    if has == 0:
        return NO
    return UNKNOWN if total is None else (YES if has >= total else NO)


def _answer(value: bool | None) -> str:
    return UNKNOWN if value is None else (YES if value else NO)


def _marks(node: Obj) -> list[tuple[str, str]]:
    return sorted({**annotations_of(node), **labels_of(node)}.items())


def _holds(node: Obj, field: str, wanted: str) -> str:
    key, sep, value = wanted.partition("=")
    found = mapping(node, "metadata", field)
    if key in found:
        return _answer(not sep or str(found[key]) == value)
    return _answer(False if known(node, "metadata", field) else None)


def _test(kind: str, wanted: t.Any, taint: Obj, entry: Obj, node: Obj, evidence: Evidence) -> tuple[str, list[Quote]]:
    """One fact that would end the reason for the mark."""
    if kind == "ready":
        return _answer(node_ready(node)), [
            quote(node, f"Ready: {text(condition(node, 'Ready'), 'status') or text(node, '_table', 'status')}", "Node")
        ]
    if kind == "gpus":
        state = gpus_whole(node)
        rows = ", ".join(f"{k}: {v:g}" for k, v in advertised(node).items()) or f"{GPU}: 0"
        return state, [quote(node, f"allocatable {rows}", "Node")] if state != UNKNOWN else []
    if kind == "agent":
        return _agent(entry, node, evidence)
    if kind == "agent_if_any":
        state, quotes = _agent(entry, node, evidence)
        return (state, quotes) if state != UNKNOWN and quotes and quotes[0].source != evidence.origin else (YES, [])
    if kind == "provider_id":
        found = text(node, "spec", "providerID")
        return _answer(bool(found) if found or known(node, "spec", "providerID") else None), []
    if kind == "condition":
        status = text(condition(node, text(wanted, "type")), "status")
        return _answer(status == text(wanted, "status") if status else None), []
    if kind == "pressure":
        status = text(condition(node, CONDITION_TAINTS.get(text(taint, "key"), "")), "status")
        return _answer(status == "False" if status else None), []
    if kind in ("label", "annotation"):
        return _holds(node, f"{kind}s", str(wanted)), []
    if kind == "mark":
        return _answer(True if any(re.fullmatch(str(wanted), f"{k}={v}") for k, v in _marks(node)) else None), []
    if kind == "rule":
        return _rule(taint, node, evidence)
    return UNKNOWN, []


def _rule(taint: Obj, node: Obj, evidence: Evidence) -> tuple[str, list[Quote]]:
    for obj in evidence.of("NodeReadinessRule"):
        if text(obj, "spec", "taint", "key") != text(taint, "key"):
            continue
        answers, quotes = [], []
        for wanted in items(obj, "spec", "conditions"):
            kind, status = text(wanted, "type"), text(condition(node, text(wanted, "type")), "status")
            answers.append(status == text(wanted, "requiredStatus"))
            quotes.append(quote(node, f"{kind}: {status or 'no such condition'}", "Node"))
        if answers and known(node, "status", "conditions"):
            any_of = text(obj, "spec", "conditionPolicy") == "anyOf"
            return _answer(any(answers) if any_of else all(answers)), [
                quote(obj, f"taint {text(taint, 'key')}", "NodeReadinessRule"),
                *quotes,
            ]
    return UNKNOWN, []


def _healed(entry: Obj, taint: Obj, node: Obj, evidence: Evidence) -> tuple[str, list[Quote]]:
    answers, quotes = [], []
    for kind, wanted in mapping(entry, "healed").items():
        answer, said = _test(kind, wanted, taint, entry, node, evidence)
        answers.append(answer)
        quotes += said
    if NO in answers:
        return NO, quotes
    return (YES if answers and UNKNOWN not in answers else UNKNOWN), quotes


# ---- taints -----------------------------------------------------------------------------------------------


def _show(taint: Obj) -> str:
    value = text(taint, "value")
    return f"{text(taint, 'key')}{'=' + value if value else ''}:{text(taint, 'effect')}"


def _carries(node: Obj, taint: Obj) -> bool | None:
    if not known(node, "spec", "taints"):
        return None
    return any(text(x, "key") == text(taint, "key") and text(x, "effect") == text(taint, "effect") for x in items(node, "spec", "taints"))


def _since(taint: Obj, entry: Obj, node: Obj, now: t.Any) -> tuple[str | None, str | None]:
    if parse_time(text(taint, "timeAdded")):
        return text(taint, "timeAdded"), "the taint's timeAdded"
    stamp = integer(text(taint, "value")) if entry.get("value_is_time") else None
    if stamp and 0 < stamp < 10**11:
        return show_time(datetime.datetime.fromtimestamp(stamp, datetime.UTC)), "the time in the taint's value"
    writes = writes_of(node, "taints")
    own = [w for w in writes if text(taint, "key") and f'"key":"{text(taint, "key")}"' in w[3]]
    if own and own[0][2]:
        return own[0][2], f"managedFields: {own[0][0]} wrote this taint"
    age = age_of(node, now)
    if entry["class"] == "startup" and age is not None and age < BORN_SECONDS and parse_time(at(node, "metadata", "creationTimestamp")):
        return text(node, "metadata", "creationTimestamp"), "the node's creation, when start-up taints are set"
    if writes and writes[0][2]:
        return writes[0][2], f"managedFields: last write to the taints, by {writes[0][0]}"
    return None, None


def taint_since(taint: Obj, node: Obj, now: t.Any = None, validation_taints: t.Iterable[str] = ()) -> tuple[str | None, str | None]:
    """Since when the node carries the taint, and which evidence says so."""
    return _since(taint, owner_of(text(taint, "key"), validation_taints), node, now)


def _fill(words: t.Any, node: Obj) -> str:
    return str(words or "").strip().replace("NODE", name_of(node) or "NODE")


def judge_taint(
    taint: Obj,
    node: Obj,
    twins: t.Iterable[Obj],
    evidence: Evidence,
    now: t.Any = None,
    validation_taints: t.Iterable[str] = (),
) -> Ownership:
    """Who owns this taint of this node and what it speaks for. `twins` are healthy nodes like this one."""
    key = text(taint, "key")
    entry = owner_of(key, validation_taints)
    since, since_from = _since(taint, entry, node, now)
    carried = [_carries(twin, taint) for twin in itertools.islice(twins, COMPARED)]
    same, bare = carried.count(True), carried.count(False)
    result = Ownership(key, str(entry["name"]), str(entry["class"]), since=since, since_from=since_from)
    result.quotes = [quote(node, f"taint {_show(taint)}", "Node", since)]
    writes = writes_of(node, "taints")
    if result.cls == "unknown" and writes:
        writer = writer_of(writes[0][0])
        result.owner = writer["name"]
        result.cls = str(writer["class"]) if writer["class"] in ("human", "script", "policy", "health", "upgrade") else "unknown"
        result.quotes.append(quote(node, f"managedFields: {writes[0][0]} wrote spec.taints", "Node", writes[0][2]))
    reserved = result.cls not in ("startup", "transient", "autoscaler") and same and same >= bare
    if result.cls == "policy" or reserved:
        return _policy(result, entry, taint, node, same, bare)
    if result.cls in ("unknown", "human", "script") and entry["class"] == "unknown":
        return _stranger(result, entry, taint, node, same, bare)
    result.alive, alive_quotes = _alive(entry, evidence)
    result.healed, healed_quotes = _healed(entry, taint, node, evidence)
    result.quotes += healed_quotes + alive_quotes
    age = min((s for s in (age_of(node, now), _age_of_taint(taint, now)) if s is not None), default=None)
    waited = seconds_between(since, now)
    judge = {
        "startup": _startup,
        "transient": _transient,
        "autoscaler": _leaving,
        "health": _health,
        "upgrade": _upgrade,
        "human": _transient,
    }
    judge[result.cls if result.cls in judge else "health"](result, entry, node, age, waited, same if same >= bare else 0)
    result.because = f"Taint {_show(taint)}: {result.because}"
    return result


def _age_of_taint(taint: Obj, now: t.Any) -> float | None:
    seconds = seconds_between(text(taint, "timeAdded"), now)
    return seconds if seconds is not None and seconds >= 0 else None


def _policy(result: Ownership, entry: Obj, taint: Obj, node: Obj, same: int, bare: int) -> Ownership:
    who = f"it belongs to {result.owner}" if result.cls == "policy" else ""
    says = _fill(entry.get("says"), node) if entry["class"] == "policy" else ""
    result.cls, result.fault, result.healed = "policy", "taint_not_tolerated", NO
    result.remedy = _fill(entry.get("policy") or NOBODY["policy"], node)
    twins = f"{same} of {same + bare} healthy twins carry the same taint" if same else ""
    result.certainty = "certain" if same or entry["id"] == "gpu-pool" else "likely"
    facts = "; ".join(x for x in (twins, who) if x)
    result.because = f"Taint {_show(taint)} is policy: {facts}. {says}".strip()
    return result


def _stranger(result: Ownership, entry: Obj, taint: Obj, node: Obj, same: int, bare: int) -> Ownership:
    """A key nobody in the table writes: policy or leftover, and only the twins can tell."""
    who = f" {result.owner[0].upper()}{result.owner[1:]} wrote the node's taints last." if result.cls != "unknown" else ""
    if bare and not same:
        result.fault, result.certainty = "taint_not_tolerated", "likely"
        here = f"Taint {_show(taint)} is on this node and on none of its {bare} healthy twins"
        result.because = f"{here}; whose it is, and whether its reason holds, is not known.{who}"
        result.remedy = _fill(entry["policy"], node)
    else:
        result.fault, result.certainty = "taint_not_tolerated", "likely" if not same else "possible"
        some = f"{same} of {same + bare} twins carry it too" if same else "and no healthy twin is known to compare with"
        result.because = f"Taint {_show(taint)} keeps pods without a toleration away; its owner is not known, {some}.{who}"
        result.remedy = _fill(entry["policy"], node)
    return result


def _left(result: Ownership, entry: Obj, node: Obj, because: str, certainty: str = "likely", removable: bool = False) -> None:
    result.fault, result.because, result.certainty, result.may_remove = "taint_left_behind", because, certainty, removable
    result.remedy = _fill(entry.get("left"), node)


def _startup(result: Ownership, entry: Obj, node: Obj, age: float | None, waited: float | None, same: int) -> None:
    result.fault, result.certainty = "node_initializing", "likely"
    result.remedy = _fill(entry.get("waiting"), node)
    owner, ready = result.owner, node_ready(node)
    old = "" if age is None else f" The node or the mark is {_minutes(age)} old."
    if same:
        result.because = f"a start-up taint that {owner} has not lifted on {same} otherwise healthy twin{'s' if same > 1 else ''} either."
    elif age is not None and age < YOUNG_SECONDS:
        result.because = f"a start-up taint of {owner}.{old} That is normal while a node starts."
        result.certainty = "certain" if result.alive == YES else "likely"
    elif result.healed == YES:
        how = {YES: "which runs and did not lift it", NO: "which is gone", UNKNOWN: "which did not lift it"}[result.alive]
        # The site named its own taint, so it is proven whose it is; a foreign owner must be proven gone.
        removable = entry["id"] == SITE_VALIDATION["id"] or result.alive == NO
        sure = "certain" if age is not None and result.alive != UNKNOWN else "likely"
        _left(result, entry, node, f"what it waited for holds, but it is still there: left behind by {owner}, {how}.{old}", sure, removable)
    elif result.alive == NO and ready:
        _left(result, entry, node, f"{owner}, which would lift it, does not run any more.{old}", "likely", result.healed != NO)
    elif ready is False:
        result.because = f"a start-up taint of {owner}, and the node is not Ready yet.{old}"
    elif result.healed == NO:
        result.because = f"a start-up taint of {owner}; what it waits for does not hold on this node.{old}"
    else:
        result.because = f"a start-up taint of {owner}; the evidence does not show what it still waits for.{old}"
        result.certainty = "possible" if result.alive == UNKNOWN else "likely"


def _transient(result: Ownership, entry: Obj, node: Obj, age: float | None, waited: float | None, same: int) -> None:
    if result.healed == YES and entry.get("fault") != "node_cordoned":
        _left(result, entry, node, f"the condition it mirrors has cleared and {result.owner} has not lifted it.", "possible")
        return
    result.fault = str(entry.get("fault") or "node_not_ready")
    result.certainty = "certain" if result.healed == NO else "likely"
    result.because = f"{_fill(entry.get('says'), node)} Owner: {result.owner}."
    result.remedy = _fill(entry.get("waiting"), node)


def _leaving(result: Ownership, entry: Obj, node: Obj, age: float | None, waited: float | None, same: int) -> None:
    patience = 60 * (integer(entry.get("patience_minutes")) or 60)
    if result.alive == NO:
        _left(result, entry, node, f"{result.owner} set it to take the node away and does not run any more.", "likely", True)
    elif waited is not None and waited > patience:
        _left(result, entry, node, f"{result.owner} set it {_minutes(waited)} ago to take the node away, and the node is still there.")
    else:
        result.fault = "taint_not_tolerated"
        result.because = f"{_fill(entry.get('says'), node)} Owner: {result.owner}."
        result.remedy = _fill(entry.get("waiting"), node)


def _health(result: Ownership, entry: Obj, node: Obj, age: float | None, waited: float | None, same: int) -> None:
    whole = gpus_whole(node) == YES and node_ready(node) is True
    if result.alive == NO and result.healed != NO:
        _left(
            result,
            entry,
            node,
            f"{result.owner} took the node out of service and does not run any more.",
            "likely",
            whole and result.healed == YES,
        )
    elif result.healed == YES and result.alive != YES:
        _left(result, entry, node, f"the reason {result.owner} had has cleared, and the taint is still there.", "possible")
    else:
        result.fault, result.certainty = "taint_not_tolerated", "likely"
        result.because = f"{_fill(entry.get('says'), node)} Owner: {result.owner}. It is a quarantine, not a policy to be tolerated."
        result.remedy = _fill(entry.get("waiting"), node)


def _upgrade(result: Ownership, entry: Obj, node: Obj, age: float | None, waited: float | None, same: int) -> None:
    patience = 60 * (integer(entry.get("patience_minutes")) or 40)
    fault = str(entry.get("fault") or "driver_upgrade_stuck")
    if result.healed == YES:
        _left(result, entry, node, f"the work {result.owner} set it for is done.", "likely", result.alive == NO)
    elif result.alive == NO and waited is not None and waited > patience:
        _left(result, entry, node, f"{result.owner} set it {_minutes(waited)} ago and does not run any more.", "likely")
    else:
        stuck = waited is not None and waited > patience
        result.fault = fault if stuck or fault == "node_cordoned" else "node_initializing"
        result.certainty = "likely" if waited is not None else "possible"
        took = f" It has been there for {_minutes(waited)}." if waited is not None else ""
        result.because = f"{_fill(entry.get('says'), node)} Owner: {result.owner}.{took}"
        result.remedy = _fill(entry.get("waiting"), node)


def _minutes(seconds: float) -> str:
    if seconds < 120 * 60:
        return f"{max(0, round(seconds / 60))} min"
    return f"{seconds / 3600:.0f} h" if seconds < 48 * 3600 else f"{seconds / 86400:.0f} days"


# ---- cordons ----------------------------------------------------------------------------------------------


def judge_cordon(node: Obj, evidence: Evidence, now: t.Any = None) -> Ownership:
    """Who set spec.unschedulable. `fault` is None when the node is not cordoned (or that is not known)."""
    result = Ownership("spec.unschedulable", "unknown", "unknown")
    cordoned = node_cordoned(node)
    if not cordoned:
        result.because = "The node is not cordoned." if cordoned is False else "Whether the node is cordoned is not in the evidence."
        return result
    result.fault, result.healed = "node_cordoned", _cordon_healed(node)
    result.quotes = [quote(node, "spec.unschedulable: true", "Node")]
    writes = writes_of(node, "unschedulable")
    result.since, result.since_from = _cordon_since(node, evidence, writes)
    if writes:
        result.quotes.append(quote(node, f"managedFields: {writes[0][0]} wrote spec.unschedulable", "Node", writes[0][2]))
    for step in (_by_upgrade, _by_driver_manager, _by_mark, _by_orphan, _by_writer):
        if step(result, node, evidence, now, writes):
            break
    return result


def _cordon_healed(node: Obj) -> str:
    ready, whole = node_ready(node), gpus_whole(node)
    if ready is False or whole == NO:
        return NO
    return YES if ready and whole == YES else UNKNOWN


def _cordon_since(node: Obj, evidence: Evidence, writes: t.Sequence[tuple[str, str, str | None, str]]) -> tuple[str | None, str | None]:
    if writes and writes[0][2]:
        return writes[0][2], f"managedFields: {writes[0][0]} wrote spec.unschedulable"
    for mark in table()["cordons"]:
        stamp = {**annotations_of(node), **labels_of(node)}.get(mark.get("time") or "", "")
        # Label values cannot hold colons: 2026-08-01T00-12-03Z
        fixed = re.sub(r"T(\d\d)-(\d\d)-(\d\d)", r"T\1:\2:\3", stamp)
        if parse_time(fixed):
            return show_time(t.cast(datetime.datetime, parse_time(fixed))), mark["time"]
    for taint in items(node, "spec", "taints"):
        if text(taint, "key") == "node.kubernetes.io/unschedulable" and parse_time(text(taint, "timeAdded")):
            return text(taint, "timeAdded"), "timeAdded of the taint node.kubernetes.io/unschedulable"
    times = [_event_time(e) for e in evidence.of("Event") if e.get("reason") == "NodeNotSchedulable" and _about(e, node)]
    last = max((x for x in times if parse_time(x)), default=None, key=lambda x: t.cast(datetime.datetime, parse_time(x)))
    return (last, "event NodeNotSchedulable") if last else (None, None)


def _about(event: Obj, node: Obj) -> bool:
    ref = event.get("involvedObject") or event.get("regarding")
    return text(ref, "name") == name_of(node) and text(ref, "kind") in ("Node", "")


def _event_time(event: Obj) -> str:
    for field in ("lastTimestamp", "eventTime", "firstTimestamp"):
        if text(event, field):
            return text(event, field)
    return text(event, "metadata", "creationTimestamp")


def _upgrade_states(node: Obj) -> list[tuple[str, str, str]]:
    """(driver, label, state) of the upgrade library's labels."""
    found = []
    for key, value in sorted(labels_of(node).items()):
        match = re.match(table()["upgrade"]["state_label"], key)
        if match and value:
            found.append((match.group("driver"), key, value))
    return found


def _auto_upgrade(node: Obj, evidence: Evidence) -> bool | None:
    """Is the GPU operator's automatic driver upgrade on: the policy's word, else the marker it keeps on the node."""
    for policy in evidence.of("ClusterPolicy"):
        value = at(policy, "spec", "driver", "upgradePolicy", "autoUpgrade")
        if isinstance(value, bool):
            return value
        if known(policy, "spec", "driver", "upgradePolicy"):
            return False  # the API's own default; the chart writes true
    value = annotations_of(node).get(table()["upgrade"]["enabled"])
    return value == "true" if value is not None else None


def _was_cordoned_before(node: Obj) -> str | None:
    return next((k for k in annotations_of(node) if re.match(table()["upgrade"]["initial_state"], k)), None)


Writes = t.Sequence[tuple[str, str, str | None, str]]


def _by_upgrade(result: Ownership, node: Obj, evidence: Evidence, now: t.Any, writes: Writes) -> bool:
    spec = table()["upgrade"]
    for driver, key, state in _upgrade_states(node):
        if state not in spec["holding"] + spec["failed"]:
            continue
        what = "GPU" if driver == "gpu" else "network"
        result.owner, result.cls = f"the {what} operator's upgrade controller", "upgrade"
        result.quotes.insert(1, quote(node, f"{key}={state}", "Node"))
        result.alive, quotes = _alive({"id": "upgrade", "alive": spec["alive"]}, evidence) if driver == "gpu" else (UNKNOWN, [])
        result.quotes += quotes
        events = [e for e in evidence.of("Event") if e.get("reason") in ("GPUDriverUpgrade", "OFEDDriverUpgrade") and _about(e, node)]
        latest = max(events, key=_event_time, default=None)
        if latest:
            result.quotes.append(quote(latest, f"{latest.get('reason')}: {text(latest, 'message')}", "Event", _event_time(latest) or None))
        waited = seconds_between(_event_time(latest) if latest else result.since, now)
        kept = _was_cordoned_before(node)
        before = f" It was cordoned before the upgrade ({kept}), so it will stay cordoned after it: ask who did that." if kept else ""
        if state in spec["failed"]:
            result.fault, result.certainty = "driver_upgrade_stuck", "certain"
            result.because = f"The driver upgrade failed ({key}={state}) and left the node cordoned.{before}"
            result.remedy = spec["when_failed"]
        elif result.alive == NO or (waited is not None and waited > 60 * spec["patience_minutes"]):
            how = "the operator does not run" if result.alive == NO else f"nothing has moved for {_minutes(waited or 0)}"
            result.fault = "driver_upgrade_stuck"
            result.because = f"A driver upgrade holds the node (state {state}) and {how}.{before}"
            result.remedy = spec["when_stuck"]
        else:
            took = f", {_minutes(waited)} in this state" if waited is not None else ""
            result.because = (
                f"A driver upgrade is under way (state {state}{took}); its controller uncordons the node when it is done.{before}"
            )
            result.remedy = spec["when_running"]
        return True
    return False


def _by_driver_manager(result: Ownership, node: Obj, evidence: Evidence, now: t.Any, writes: Writes) -> bool:
    log = None
    for doc in evidence.documents:
        if doc.component == "driver_manager" and doc.node in (name_of(node), None):
            log = doc
    last = None
    for line in reversed(log.lines if log else []):
        found = re.search(r"\b(Uncordoning|Cordoning) node\b", line)
        if found:
            last = found.group(1)
            break
    paused = sorted(
        k for k, v in labels_of(node).items() if k.startswith("nvidia.com/gpu.deploy.") and re.search(table()["upgrade"]["paused"], v)
    )
    wrote = bool(writes) and writer_of(writes[0][0]).get("id") == "driver-manager"
    if last != "Cordoning" and not wrote and not (paused and not writes):
        return False
    result.owner, result.cls = "the GPU operator's driver manager", "upgrade"
    if log and last:
        result.quotes.append(log.quote(rf"\b{last} node\b") or Quote(log.path, f"{last} node"))
    if paused:
        result.quotes.append(quote(node, f"{paused[0]}={labels_of(node)[paused[0]]}", "Node"))
        result.fault = "driver_upgrade_stuck"
        result.because = "The driver manager cordoned the node to replace the driver and has not come back: operands are still paused."
        result.remedy = "Look at the driver pod on this node (container k8s-driver-manager); it unpauses and uncordons when it is done."
        return True
    result.because = "The driver manager cordoned the node to replace the driver and did not uncordon it; no operand is paused any more."
    result.remedy = "Check that the driver pod on this node is Ready, run a GPU test, then uncordon."
    result.may_remove = result.healed == YES
    return True


def _by_mark(result: Ownership, node: Obj, evidence: Evidence, now: t.Any, writes: Writes) -> bool:
    marks = _marks(node)
    keys = [text(taint, "key") for taint in items(node, "spec", "taints")]
    for entry in table()["cordons"]:
        said = next((f"{k}={v}" for k, v in marks if entry.get("mark") and re.fullmatch(entry["mark"], f"{k}={v}")), None)
        if not said and entry.get("taint") in keys:
            said = f"taint {entry['taint']}"
        holder = next(
            (o for o in evidence.of(entry.get("object") or "") if text(o, "spec", "nodeName") == name_of(node) and name_of(node)), None
        )
        if not said and holder is None:
            continue
        result.owner, result.cls = entry["name"], entry["class"]
        result.quotes.insert(
            1, quote(holder, f"spec.nodeName: {name_of(node)}", entry["object"]) if holder else quote(node, t.cast(str, said)[:200], "Node")
        )
        result.alive, quotes = _alive({"id": f"cordon-{entry['id']}", "alive": entry.get("alive")}, evidence)
        result.quotes += quotes
        why = next((dict(marks)[k] for k in entry.get("reason") or () if dict(marks).get(k)), "")
        result.because = f"{entry['name']} cordoned the node{': ' + why[:120] if why else ''}."
        result.remedy = entry["left"] if result.alive == NO else entry["while"]
        before = next((k for k, v in marks if entry.get("pre_existing") and re.fullmatch(entry["pre_existing"], f"{k}={v}")), None)
        if before:
            result.because += f" It was cordoned before that by someone else ({before})."
        if result.alive == NO:
            result.because += f" {entry['name']} does not run any more."
            result.may_remove = not before and result.healed == YES and entry["class"] != "health"
        return True
    return False


def _by_orphan(result: Ownership, node: Obj, evidence: Evidence, now: t.Any, writes: Writes) -> bool:
    """A cordon of the upgrade controller whose automatic upgrade was switched off: only the state label was removed then."""
    spec = table()["upgrade"]
    left = sorted(k for k in annotations_of(node) if re.match(spec["leftovers"], k))
    wrote = bool(writes) and writer_of(writes[0][0]).get("id") == "gpu-operator"
    auto = _auto_upgrade(node, evidence)
    if not (left or wrote) or auto or any(state != "upgrade-done" for _d, _k, state in _upgrade_states(node)):
        return False
    if writes and not wrote:
        return False  # somebody else wrote the field after the upgrade
    result.owner, result.cls, result.alive = "the GPU operator's upgrade controller", "upgrade", NO if auto is False else UNKNOWN
    if left:
        result.quotes.append(quote(node, f"annotation {left[0]}", "Node"))
    kept = _was_cordoned_before(node)
    off = "automatic upgrade is switched off" if auto is False else "no upgrade state is left on the node"
    if kept:
        result.because = f"An upgrade touched this node and {off}, but it was cordoned before that ({kept}): the cordon is someone else's."
        result.cls, result.owner = "human", "whoever cordoned it before the upgrade"
        result.remedy = "Ask who cordoned it before the upgrade; uncordon after a GPU test."
        return True
    result.because = f"The upgrade controller cordoned the node and {off}: nobody will uncordon it. The cordon is an orphan."
    result.remedy = "Uncordon after a GPU test, and remove the upgrade annotations that were left."
    result.may_remove = result.alive == NO and result.healed == YES
    return True


# Words of people who leave a note for the next one.
_CORDON_NOTE = re.compile(r"\b(?:(?:un)?cordon(?:ed)?|maintenance|RMA|do not|don't|hands off|waiting for|broken)\b", re.IGNORECASE)


def _by_writer(result: Ownership, node: Obj, evidence: Evidence, now: t.Any, writes: Writes) -> bool:
    when = f" at {result.since}" if result.since else ""
    note = next(
        ((key, text) for key, text in sorted(annotations_of(node).items()) if _CORDON_NOTE.search(text) and not text.startswith("{")), None
    )
    if note:
        result.quotes.append(quote(node, f"annotation {note[0]}: {note[1][:200]}", "Node"))
        when += f' (annotation {note[0]} says: "{note[1][:120]}")'
    if not writes:
        result.because = (
            f"The node was cordoned{when}; nothing on it says by whom (kubectl cordon leaves no mark but managedFields)."
            if when
            else "The node is cordoned; nothing on it says by whom (kubectl cordon leaves no mark but managedFields)."
        )
        result.remedy = (
            f"See who wrote spec.unschedulable: kubectl get node {name_of(node)} -o yaml --show-managed-fields. Ask before uncordoning."
        )
        result.certainty = "likely"
        return True
    writer = writer_of(writes[0][0])
    result.owner, result.cls = writer["name"], str(writer["class"])
    if result.cls == "human":
        result.because = f"The node was cordoned by {writer['name']} ({writes[0][0]}){when}; no controller claims it."
        result.remedy = "Ask who cordoned it and why; uncordon after a GPU test."
    elif result.cls == "script":
        result.because = f"The node was cordoned by {writer['name']} ({writes[0][0]}){when}; no controller claims it."
        result.remedy = "Find the tool or job that cordons nodes (its uncordon step may have failed); uncordon after a GPU test."
    else:
        result.because = f"The node was cordoned by {writer['name']}{when}."
        result.remedy = f"Ask {writer['name']}; it uncordons when it is done."
    return True
