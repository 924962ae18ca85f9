# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors
"""The weighing of findings."""

from __future__ import annotations

import random

import pytest
from ansible_collections.gpuops.node.plugins.plugin_utils import catalogue, walk
from ansible_collections.gpuops.node.plugins.plugin_utils.evidence import Quote
from ansible_collections.gpuops.node.plugins.plugin_utils.judge import DECISIVE, PROOF, SUPPORTING, SYMPTOM, Finding
from hypothesis import given
from hypothesis import strategies as st


def finding(fault: str, weight: str = DECISIVE, source: str = "a", also: tuple[str, ...] = (), rule: str = "") -> Finding:
    return Finding(fault, weight, f"{fault} because", [Quote(source, f"line of {fault}")], frozenset(also), rule or f"{fault}-{source}")


@pytest.mark.parametrize(
    ("findings", "root", "certainty"),
    [
        ([finding("gpu_fallen_off_bus"), finding("plugin_not_registered", source="b")], "gpu_fallen_off_bus", "likely"),
        ([finding("gpu_fallen_off_bus"), finding("gpu_fallen_off_bus", source="b")], "gpu_fallen_off_bus", "certain"),
        ([finding("driver_build_failed", PROOF)], "driver_build_failed", "certain"),
        ([finding("kernel_headers_missing"), finding("driver_not_built_for_kernel", PROOF)], "kernel_headers_missing", "likely"),
        (
            [
                finding("runtime_not_configured", also=("runtime_not_restarted",)),
                finding("runtime_not_configured", source="b", also=("runtime_not_restarted",)),
            ],
            "runtime_not_configured",
            "likely",
        ),
        ([finding("gpu_hardware_error", SUPPORTING), finding("driver_gpu_unsupported")], "driver_gpu_unsupported", "likely"),
        ([finding("validator_failed", SUPPORTING)], "validator_failed", "possible"),
        ([finding("driver_module_not_loaded", SYMPTOM, also=("nouveau_loaded", "gpu_missing"))], "undetermined", "possible"),
        ([finding("plugin_blocked_by_validation", SYMPTOM, also=("driver_not_installed",))], "undetermined", "possible"),
    ],
)
def test_the_lowest_decisive_fault_is_the_root(findings: list[Finding], root: str, certainty: str) -> None:
    decision = walk.decide(findings, {})
    assert decision is not None
    assert (decision.fault, decision.certainty) == (root, certainty)


def test_a_symptom_is_never_a_root_and_blocked_operands_only_contribute() -> None:
    decision = walk.decide([finding("plugin_blocked_by_validation", SYMPTOM), finding("driver_build_failed")], {})
    assert decision is not None
    assert decision.fault == "driver_build_failed"
    assert "plugin_blocked_by_validation" in [claim.fault for claim in decision.contributing]


def test_a_fact_that_rules_a_fault_out_narrows_a_symptom() -> None:
    symptom = finding("driver_module_not_loaded", SYMPTOM, also=("runtime_not_default",))
    open_ = walk.decide([symptom], {})
    closed = walk.decide([symptom], {"driver_module_not_loaded": "the module is loaded"})
    assert open_ is not None and open_.fault == "undetermined" and open_.layer == "driver"
    assert closed is not None and closed.fault == "runtime_not_default" and closed.certainty == "possible"


def test_ruled_out_faults_are_no_roots() -> None:
    decision = walk.decide([finding("driver_build_failed"), finding("runtime_not_configured")], {"driver_build_failed": "nvidia-smi works"})
    assert decision is not None and decision.fault == "runtime_not_configured"


def test_no_two_faults_explain_each_other() -> None:
    faults = list(catalogue.faults())
    pairs = [(a, b) for a in faults for b in faults if a < b and walk.explains(a, b) and walk.explains(b, a)]
    assert pairs == []


FAULTS = sorted(set(catalogue.faults()) - {"healthy", "undetermined"})
FINDINGS = st.lists(
    st.builds(
        finding,
        st.sampled_from(FAULTS),
        st.sampled_from([PROOF, DECISIVE, SUPPORTING, SYMPTOM]),
        st.sampled_from("abcd"),
        st.lists(st.sampled_from(FAULTS), max_size=3).map(tuple),
    ),
    max_size=8,
)


@given(FINDINGS, st.sets(st.sampled_from(FAULTS), max_size=5), st.randoms(use_true_random=False))
def test_the_order_of_findings_does_not_matter(findings: list[Finding], excluded: set[str], rng: random.Random) -> None:
    reasons = dict.fromkeys(sorted(excluded), "a fact")
    first = walk.decide(findings, reasons)
    shuffled = list(findings)
    rng.shuffle(shuffled)
    second = walk.decide(shuffled, reasons)
    assert (first is None) == (second is None)
    if first is not None and second is not None:
        assert (first.fault, first.certainty, first.layer) == (second.fault, second.certainty, second.layer)
        assert first.fault not in excluded
