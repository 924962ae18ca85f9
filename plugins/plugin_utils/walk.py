# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors
"""Findings of five judges -> one root fault, what contributes, and how sure that is.

The lowest decisive fault that explains the rest is the root. Evidence that does not separate two faults
ends in C(undetermined), with the layer and the one thing to collect.
"""

from __future__ import annotations

import dataclasses
import re

from ansible_collections.gpuops.node.plugins.plugin_utils import catalogue
from ansible_collections.gpuops.node.plugins.plugin_utils.evidence import LAYERS, Quote
from ansible_collections.gpuops.node.plugins.plugin_utils.judge import DECISIVE, PROOF, SUPPORTING, SYMPTOM, WEIGHTS, Finding
from ansible_collections.gpuops.node.plugins.plugin_utils.signatures import Hit

STRENGTH_TO_WEIGHT = {"decisive": DECISIVE, "supporting": SUPPORTING, "symptom": SYMPTOM}
HIGHEST = len(LAYERS)


@dataclasses.dataclass
class Claim:
    """All findings for one fault."""

    fault: str
    findings: list[Finding]

    @property
    def rank(self) -> int:
        return max(finding.rank for finding in self.findings)

    @property
    def sources(self) -> int:
        """Independent readings: one document may say the same thing twice."""
        return len({quote.source for finding in self.findings for quote in finding.evidence} or {finding.rule for finding in self.findings})

    @property
    def rules(self) -> int:
        """Independent reasons: two patterns that fit one line are one."""
        rules = {finding.rule for finding in self.findings}
        lines = {tuple((quote.source, quote.text) for quote in finding.evidence[:1]) or (finding.rule,) for finding in self.findings}
        return min(len(lines), len(rules))

    @property
    def best(self) -> Finding:
        return max(self.findings, key=lambda finding: (finding.rank, len(finding.evidence)))

    def quotes(self, most: int = 4) -> list[Quote]:
        seen: dict[tuple[str, str], Quote] = {}
        for finding in sorted(self.findings, key=lambda f: -f.rank):
            for quote in finding.evidence:
                seen.setdefault((quote.source, quote.text), quote)
        return list(seen.values())[:most]


@dataclasses.dataclass
class Decision:
    """The outcome of the walk."""

    fault: str
    layer: str | None
    certainty: str
    because: str
    evidence: list[Quote]
    contributing: list[Claim]
    claims: dict[str, Claim]
    candidates: list[str]  # what the evidence leaves open, for what to collect next


def from_hits(hits: list[Hit]) -> list[Finding]:
    """Known messages as findings."""
    findings = []
    for hit in hits:
        weight = STRENGTH_TO_WEIGHT.get(hit.signature.strength)
        if weight and hit.fault != "none":
            quotes = [hit.first] if hit.count == 1 else [hit.first, hit.last]
            findings.append(
                Finding(
                    hit.fault,
                    weight,
                    first_sentence(hit.signature.meaning),
                    quotes[:1],
                    hit.signature.also,
                    hit.signature.id,
                    _ceiling(hit),
                )
            )
    return findings


def first_sentence(text: str) -> str:
    """A signature's meaning, cut to what the narration needs."""
    match = re.match(r"(.{25,}?[^.A-Z])\.(?:\s|$)", text)
    return f"{match.group(1)}." if match else text


def _ceiling(hit: Hit) -> str:
    """A log that names no node, or speaks of another boot or another run, proves nothing of this node now."""
    doc = hit.document
    elsewhere = doc.component in ("operator", "nfd", "workload") or re.search(
        r"-b[ -]-?1\b|previous-boot|boot-1\b", f"{doc.path} {doc.source}"
    )
    return "likely" if elsewhere else "certain"


def height(fault: str) -> int:
    layer = catalogue.layer_of(fault)
    return LAYERS.index(layer) if layer in LAYERS else HIGHEST


def explains(lower: str, upper: str) -> bool:
    """Would the first fault, alone, make the second one appear?"""
    entry, other = catalogue.faults().get(lower, {}), catalogue.faults().get(upper, {})
    if upper in (entry.get("causes") or ()) or upper in (entry.get("refines") or ()):
        return True
    if lower in (other.get("causes") or ()) or lower in (other.get("refines") or ()):
        return False
    return height(lower) < height(upper)


def decide(findings: list[Finding], excluded: dict[str, str]) -> Decision | None:
    """Weigh the findings; None when there is nothing to weigh."""
    symptoms = [f for f in findings if f.weight == SYMPTOM]
    kept = [f for f in findings if f.weight != SYMPTOM and f.fault not in excluded]
    claims: dict[str, Claim] = {}
    for finding in kept:
        claims.setdefault(finding.fault, Claim(finding.fault, [])).findings.append(finding)
    hidden = {fault for fault, entry in catalogue.faults().items() if entry.get("contributing_only")}
    eligible = {fault: claim for fault, claim in claims.items() if fault not in hidden}
    strong = {fault: claim for fault, claim in eligible.items() if claim.rank >= WEIGHTS[DECISIVE]}
    everything = {fault: Claim(fault, list(claim.findings)) for fault, claim in claims.items()}
    for finding in symptoms:
        everything.setdefault(finding.fault, Claim(finding.fault, [])).findings.append(finding)
    if strong:
        return _from_strong(strong, claims, everything, symptoms, excluded)
    if eligible:
        return _from_supporting(eligible, claims, everything, symptoms, excluded)
    if symptoms:
        return _from_symptoms(symptoms, everything, excluded)
    return None


def _pick(claims: dict[str, Claim]) -> tuple[Claim, bool]:
    """The claim that no other claim explains, and whether it stands alone."""
    roots = [claim for fault, claim in claims.items() if not any(explains(other, fault) for other in claims if other != fault)]
    if not roots:  # only a circle of mutual explanations leaves none
        roots = list(claims.values())
    lowest = min(height(claim.fault) for claim in roots)
    rivals = [claim for claim in roots if height(claim.fault) == lowest]
    place = catalogue.order()
    rivals.sort(key=lambda claim: (-claim.rank, -claim.sources, place.get(claim.fault, 999)))
    tie = len(rivals) > 1 and rivals[1].rank == rivals[0].rank
    return rivals[0], not tie


def _from_strong(
    strong: dict[str, Claim], claims: dict[str, Claim], everything: dict[str, Claim], symptoms: list[Finding], excluded: dict[str, str]
) -> Decision:
    root, alone = _pick(strong)
    proof = root.rank == WEIGHTS[PROOF]
    decisive = [f for f in root.findings if f.rank >= WEIGHTS[DECISIVE]]
    open_ids = set.intersection(*[set(f.also) for f in decisive]) - set(excluded) if decisive else set()
    # An alternative that would itself have shown decisively, and did not, is not ruled out by that; only facts exclude.
    backed = root.sources > 1 or root.rules > 1 or any(root.fault in ({f.fault} | f.also) and f.rule != root.best.rule for f in symptoms)
    top = [f for f in root.findings if f.rank == root.rank]
    capped = all(f.ceiling != "certain" for f in top)
    certainty = "certain" if alone and not capped and (proof or (not open_ids and backed)) else "likely"
    return _decision(
        root, certainty, claims, everything, sorted(open_ids, key=lambda f: catalogue.order().get(f, 999)) if certainty != "certain" else []
    )


def _from_supporting(
    eligible: dict[str, Claim], claims: dict[str, Claim], everything: dict[str, Claim], symptoms: list[Finding], excluded: dict[str, str]
) -> Decision:
    def support(claim: Claim) -> int:
        agreeing = sum(1 for f in symptoms if claim.fault in ({f.fault} | f.also))
        others = sum(1 for c in eligible.values() if c is not claim for f in c.findings if claim.fault in f.also)
        return claim.sources + claim.rules + agreeing + others

    place = catalogue.order()
    ranked = sorted(eligible.values(), key=lambda claim: (-support(claim), place.get(claim.fault, 999)))
    # Of two that are as well supported, or where one explains the other, the lower is the root.
    root = ranked[0]
    for claim in ranked[1:]:
        if explains(claim.fault, root.fault) and support(claim) >= support(root) - 1:
            root = claim
    also = set.intersection(*[set(f.also) for f in root.findings]) - set(excluded)
    certainty = "likely" if root.sources > 1 or (root.rules > 1 and not also) else "possible"
    return _decision(root, certainty, claims, everything, sorted(also, key=lambda f: place.get(f, 999)))


def _from_symptoms(symptoms: list[Finding], everything: dict[str, Claim], excluded: dict[str, str]) -> Decision:
    place = catalogue.order()
    hidden = {fault for fault, entry in catalogue.faults().items() if entry.get("contributing_only")}
    # The set that a symptom leaves open, less what facts rule out; symptoms of one trouble must all allow its cause.
    sets = [({f.fault} | set(f.also)) - set(excluded) - hidden for f in symptoms]
    sets = [s for s in sets if s] or [set()]
    common = set.intersection(*sets)
    candidates = common or set.union(*sets)
    ordered = sorted(candidates, key=lambda f: place.get(f, 999))
    first = min(symptoms, key=lambda f: (height(f.fault), place.get(f.fault, 999)))
    # One candidate left by a fact that rules the others out is a lead; one left only because two symptoms overlap is not.
    ruled_out = any(({f.fault} | set(f.also)) & set(excluded) for f in symptoms)
    if len(ordered) == 1 and ruled_out:
        claim = Claim(ordered[0], [f for f in symptoms if ordered[0] in ({f.fault} | f.also)])
        return _decision(claim, "possible", {}, everything, [])
    layer = catalogue.layer_of(first.fault) if first.fault not in hidden else None
    if layer is None or first.fault in excluded:
        layer = catalogue.layer_of(ordered[0]) if ordered else None
    quotes = [q for f in symptoms for q in f.evidence]
    shown = list({(q.source, q.text): q for q in quotes}.values())[:4]
    names = ", ".join(ordered[:4]) + (f" and {len(ordered) - 4} more" if len(ordered) > 4 else "")
    because = f"Only symptoms are shown, and nothing decides between what they fit: {names or 'no fault of the catalogue'}."
    return Decision("undetermined", layer, "possible", because, shown, [], everything, ordered)


def _same_trouble(claim: Claim, root: Claim) -> bool:
    """The root said less exactly, or a reading that the root's evidence has resolved: not a second fault."""
    if claim.fault in (catalogue.faults().get(root.fault, {}).get("refines") or ()):
        return True
    return all(root.fault in finding.also or finding.ceiling == "possible" for finding in claim.findings)


def _decision(root: Claim, certainty: str, claims: dict[str, Claim], everything: dict[str, Claim], candidates: list[str]) -> Decision:
    place = catalogue.order()
    others = [claim for fault, claim in claims.items() if fault != root.fault and not _same_trouble(claim, root)]
    blocked = everything.get("plugin_blocked_by_validation")
    if blocked and blocked not in others and root.fault != "plugin_blocked_by_validation":
        others.append(blocked)
    others.sort(key=lambda claim: place.get(claim.fault, 999))
    return Decision(root.fault, catalogue.layer_of(root.fault), certainty, root.best.because, root.quotes(), others, everything, candidates)
