# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors
"""One judge per layer: facts in, findings out. The walk weighs what they found."""

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.gpuops.node.plugins.plugin_utils.evidence import Quote

# How much a finding proves, strongest first.
PROOF = "proof"  # facts that leave no other reading
DECISIVE = "decisive"  # enough, unless a lower layer has its own
SUPPORTING = "supporting"  # needs a second fact
SYMPTOM = "symptom"  # something at or below is broken
WEIGHTS = {PROOF: 4, DECISIVE: 3, SUPPORTING: 2, SYMPTOM: 1}


@dataclasses.dataclass
class Finding:
    """A judge's claim: this fault, this strongly, because of these lines."""

    fault: str
    weight: str
    because: str
    evidence: list[Quote] = dataclasses.field(default_factory=list)
    also: frozenset[str] = frozenset()  # other faults the same evidence is compatible with
    rule: str = ""  # signature id or name of the rule, so that two readings of one fact count once
    ceiling: str = "certain"  # the surest this reading alone may be called
    remedy: str = ""  # what the owner of the mark (a taint, a cordon) or the person must do, where it depends on the owner
    may_act: bool = True  # whether a role may undo the mark

    @property
    def rank(self) -> int:
        return WEIGHTS[self.weight]


@dataclasses.dataclass
class LayerReport:
    """What one judge read in its layer and what came of it."""

    layer: str
    read: list[str] = dataclasses.field(default_factory=list)
    findings: list[Finding] = dataclasses.field(default_factory=list)
    good: list[str] = dataclasses.field(default_factory=list)  # short positive facts, in the words of the narration
    ok: bool = False  # the positive facts prove the layer works
    at_work: Quote | None = None  # this layer is still starting, so what looks broken above it may not be
    excluded: dict[str, str] = dataclasses.field(default_factory=dict)  # fault -> the fact that rules it out

    def add(
        self,
        fault: str,
        weight: str,
        because: str,
        *quotes: Quote | None,
        also: t.Iterable[str] = (),
        rule: str = "",
        ceiling: str = "certain",
        remedy: str = "",
        may_act: bool = True,
    ) -> None:
        self.findings.append(
            Finding(fault, weight, because, [q for q in quotes if q], frozenset(also), rule or fault, ceiling, remedy, may_act)
        )

    def exclude(self, why: str, *faults: str) -> None:
        for fault in faults:
            self.excluded.setdefault(fault, why)
