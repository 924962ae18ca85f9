# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors
"""Layer 1: are the GPUs on the bus, and do they answer?"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.gpuops.node.plugins.plugin_utils import catalogue
from ansible_collections.gpuops.node.plugins.plugin_utils.evidence import Quote
from ansible_collections.gpuops.node.plugins.plugin_utils.judge import DECISIVE, PROOF, SUPPORTING, LayerReport
from ansible_collections.gpuops.node.plugins.plugin_utils.judge.view import View

KINDS = ("lspci", "kernel_log", "journal", "nvidia_smi", "nvidia_smi_q", "nvidia_smi_list", "fabricmanager_log")

# nvidia-smi -q "GPU Recovery Action": what the driver itself demands. (nvml.h nvmlDeviceGpuRecoveryAction_t)
RECOVERY_DONE = ("none", "n/a", "")


def judge(view: View, expected: int | None) -> LayerReport:
    report = LayerReport("hardware", read=view.read(*KINDS))
    _bus(view, expected, report)
    _init_failures(view, expected, report)
    _told_by_plugin(view, report)
    _smi(view, expected, report)
    _recovered(view, report)
    _fabric(view, report)
    return report


def _bus(view: View, expected: int | None, report: LayerReport) -> None:
    gpus, doc = view.bus
    if gpus is None or doc is None:
        return
    count = len(gpus)
    dead = [gpu for gpu in gpus if gpu.get("rev") == "ff"]
    if dead:
        report.add(
            "gpu_fallen_off_bus",
            PROOF,
            f"{len(dead)} of {count} GPUs answer PCI reads with all ones (rev ff): they no longer respond on the bus.",
            doc.quote(re.escape(dead[0]["line"].strip()[:60])),
            rule="lspci_rev_ff",
        )
        return
    if expected and count < expected:
        # A person who shows one device of many, bound to another driver, shows that binding and not the whole bus.
        elsewhere = any(gpu.get("driver") not in (None, "", "nvidia") for gpu in gpus)
        report.add(
            "gpu_missing",
            SUPPORTING if elsewhere and view.cluster.single else PROOF if count else DECISIVE,
            f"The PCI bus shows {count} NVIDIA GPU{'s' if count != 1 else ''} where {expected} are expected.",
            Quote(doc.path, f"NVIDIA GPU functions in lspci: {count}"),
            rule="bus_count",
        )
    elif not count:
        report.add(
            "gpu_missing",
            DECISIVE,
            "The PCI bus shows no NVIDIA GPU at all.",
            Quote(doc.path, "no NVIDIA GPU function in lspci"),
            rule="bus_count",
        )
    else:
        report.good.append(f"{count} GPU{'s' if count != 1 else ''} on the bus")
        report.exclude(f"lspci shows {count} GPUs", "gpu_missing")
        if expected and count >= expected:
            report.ok = not report.findings


def _told_by_plugin(view: View, report: LayerReport) -> None:
    """The device plugin names the Xid it acts on: where no kernel log is at hand, it says what the kernel said."""
    hit = view.hit("dp.xid_critical", "dp.xid_all")
    xid = re.search(r"Xid=(\d+)", hit.first.text) if hit else None
    if hit is None or xid is None or view.docs("kernel_log"):
        return
    line = f"NVRM: Xid (PCI:0000:00:00): {xid.group(1)}, "
    meant = next(
        (s for s in catalogue.signatures() if s.id.startswith("hw.xid_") and s.strength == "decisive" and re.search(s.pattern, line)), None
    )
    if meant:
        report.add(
            meant.fault,
            DECISIVE,
            f"The device plugin saw Xid {xid.group(1)}. {meant.meaning.split('. ')[0].rstrip('.')}.",
            hit.first,
            rule="xid_by_plugin",
            ceiling="likely",
        )


def _init_failures(view: View, expected: int | None, report: LayerReport) -> None:
    """RmInitAdapter: one GPU of several is hardware, all of them is software (facts 1.1)."""
    failed: dict[str, Quote] = {}
    for kind in ("kernel_log", "journal"):
        for doc, facts in view.parsed(kind):
            for entry in facts.get("rminit_failed") or []:
                pci = short_pci(entry.get("pci") or "?")
                failed.setdefault(pci, Quote(doc.path, entry["line"].strip()[:400], entry.get("lineno")))
    if not failed:
        return
    total = _gpu_total(view, expected)
    first = next(iter(failed.values()))
    if total and 0 < len(failed) < total:
        report.add(
            "gpu_hardware_error",
            DECISIVE,
            f"The driver cannot initialise {_names(failed)}, while the node's other GPUs start ({len(failed)} of {total}).",
            first,
            rule="rminit_some",
            also=("gpu_init_failed",),
            ceiling="likely",
        )
    elif total and total > 1 and len(failed) >= total:
        report.add(
            "gpu_init_failed",
            DECISIVE,
            f"The driver fails to initialise every one of the {total} GPUs: software (firmware, flavour, version), not silicon.",
            first,
            rule="rminit_all",
            also=("gpu_hardware_error", "driver_gpu_unsupported"),
        )
    else:
        report.add(
            "gpu_hardware_error",
            SUPPORTING,
            f"The driver cannot initialise {_names(failed)}; how many GPUs the node has is not shown.",
            first,
            rule="rminit_unknown",
            also=("gpu_init_failed", "driver_gpu_unsupported"),
        )


def _names(failed: dict[str, Quote]) -> str:
    names = sorted(failed)
    return ("GPU " if len(names) == 1 else "GPUs ") + ", ".join(names[:4]) + (" ..." if len(names) > 4 else "")


def short_pci(address: str) -> str:
    """0000:0a:00.0 and PCI:0000:0a:00 name one GPU."""
    match = re.search(r"([0-9A-Fa-f]{2,8}:)?([0-9A-Fa-f]{2}):([0-9A-Fa-f]{2})", address)
    return f"{match.group(2)}:{match.group(3)}".lower() if match else address


def _gpu_total(view: View, expected: int | None) -> int | None:
    gpus, _doc = view.bus
    if gpus:
        return len(gpus)
    if expected:
        return expected
    seen: set[str] = set()
    highest_minor = -1
    for kind in ("kernel_log", "journal"):
        for doc, facts in view.parsed(kind):
            seen.update(short_pci(pci) for pci in facts.get("gpus_seen") or [])
            seen.update(short_pci(x.get("pci") or "") for x in facts.get("xids") or [])
            seen.update(short_pci(x.get("pci") or "") for x in facts.get("rminit_failed") or [])
            minors = re.findall(r"rm_init_adapter failed, device minor number (\d+)", doc.text)
            highest_minor = max([highest_minor, *map(int, minors[:50])])
    # A GPU with minor number 5 has at least five siblings; a GPU that raised an Xid had been initialised.
    total = max(len(seen), highest_minor + 1)
    return total or None


def _smi(view: View, expected: int | None, report: LayerReport) -> None:
    for doc, facts in view.smi:
        gpus = facts.get("gpus") or []
        if facts.get("error") or not gpus:
            continue
        broken = [gpu for gpu in gpus if gpu.get("err")]
        if broken:
            report.add(
                "gpu_hardware_error",
                DECISIVE,
                f"nvidia-smi prints ERR! for {len(broken)} of {len(gpus)} GPUs: the driver cannot read them.",
                doc.quote(r"ERR!"),
                also=("gpu_fallen_off_bus",),
                rule="smi_err",
            )
        elif expected and len(gpus) < expected:
            bus, _d = view.bus
            fault, weight = ("gpu_hardware_error", DECISIVE) if bus and len(bus) >= expected else ("gpu_missing", DECISIVE)
            report.add(
                fault,
                weight,
                f"nvidia-smi lists {len(gpus)} GPUs where {expected} are expected.",
                doc.quote(r"Driver Version|KMD Version"),
                also={"gpu_missing", "gpu_fallen_off_bus", "gpu_hardware_error"} - {fault},
                rule="smi_count",
                ceiling="likely",
            )
        else:
            report.good.append(f"nvidia-smi lists {len(gpus)} GPU{'s' if len(gpus) != 1 else ''}")
            report.exclude("nvidia-smi lists the GPUs", "gpu_missing", "gpu_resources_unassigned")
            report.ok = report.ok or (not report.findings and (expected is None or len(gpus) >= expected))
    for doc, facts in view.parsed("nvidia_smi_q"):
        for gpu in facts.get("gpus") or []:
            action = str(gpu.get("recovery_action") or "").lower()
            if action not in RECOVERY_DONE:
                report.add(
                    "gpu_hardware_error",
                    DECISIVE,
                    f"The driver itself asks for: {gpu['recovery_action']} ({gpu.get('pci') or 'one GPU'}).",
                    doc.quote(r"GPU Recovery Action\s*:\s*(?!None|N/A)"),
                    rule="recovery_action",
                )
                break
        attached = facts.get("attached_gpus")
        if expected and attached is not None and attached < expected:
            report.add(
                "gpu_missing",
                DECISIVE,
                f"nvidia-smi -q counts {attached} attached GPUs where {expected} are expected.",
                doc.quote(r"Attached GPUs"),
                also=("gpu_hardware_error", "gpu_fallen_off_bus"),
                rule="smi_q_count",
            )


def _recovered(view: View, report: LayerReport) -> None:
    """An Xid the node has recovered from (154 back to 0x0 after it) is history, not the fault."""
    cleared = view.hit("hw.xid_154_cleared")
    if not cleared:
        return
    for hit in view.hits:
        if hit.fault not in ("gpu_hardware_error", "gpu_fallen_off_bus") or hit.document is not cleared.document:
            continue
        if (hit.last.line or 0) > (cleared.last.line or 0):
            return
    report.exclude("the driver reported recovery (Xid 154 to None) after the last Xid", "gpu_hardware_error", "gpu_fallen_off_bus")


def _fabric(view: View, report: LayerReport) -> None:
    harmless = view.hit("hw.fm_nothing_todo", "hw.fm_nothing")
    if harmless:
        report.exclude("fabric manager found no NVSwitch to manage: this machine needs none", "fabric_manager_down")
        report.good.append("no NVSwitch here, so fabric manager has nothing to do")
        return
    names = [str(gpu.get("name") or "") for _doc, facts in view.smi for gpu in facts.get("gpus") or []]
    if names and all(re.search(r"GeForce|RTX|Quadro|TITAN|Tesla [TPKM]\d|\b(?:T4|L4|L40S?|A2|A10|A16|A30|A40)\b", name) for name in names):
        report.exclude("these GPUs have no NVSwitch fabric", "fabric_manager_down")
        return
    for doc in view.docs("fabricmanager_log"):
        waiting = doc.quote(r"waiting for socket creation|[Ff]ailed to (?:initialize|start)|FM initialization failed|NV_ERR_INVALID_DEVICE")
        started = doc.quote(
            r"Successfully configured all the available (?:NVSwitches|GPUs and NVSwitches)"
            r"|[Ff]abric [Mm]anager (?:is running|started successfully)"
        )
        if waiting and not started:
            report.add(
                "fabric_manager_down", SUPPORTING, "Fabric manager never reports that the fabric is configured.", waiting, rule="fm_log"
            )
    if view.nvidia_module()[0] is False:
        return  # without the driver the service cannot start: that is a consequence
    units = _units(view)
    for name, unit in units.items():
        if name.startswith("nvidia-fabricmanager") and unit.get("active") == "failed":
            doc = view.docs("systemctl")[0]
            report.add(
                "fabric_manager_down",
                SUPPORTING,
                "The nvidia-fabricmanager service has failed.",
                doc.quote(r"nvidia-fabricmanager"),
                rule="fm_unit",
            )


def _units(view: View) -> dict[str, t.Any]:
    units: dict[str, t.Any] = {}
    for _doc, facts in view.parsed("systemctl"):
        units.update(facts.get("units") or {})
    return units
