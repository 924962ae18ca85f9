# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors
"""The texts of faults.yml: complete, well-formed, and with nothing in them that hurts when it is pasted at 3 a.m."""

from __future__ import annotations

import collections.abc as c
import re
import shlex
import typing as t

import pytest
from ansible_collections.gpuops.node.plugins.plugin_utils import catalogue, diagnose

# The ids are part of the output schema. Adding one is normal; taking one away or renaming it is a breaking change.
IDS: dict[str | None, str] = {
    "hardware": """
        gpu_fallen_off_bus gpu_hardware_error gpu_missing gpu_resources_unassigned fabric_manager_down
    """,
    "driver": """
        driver_not_installed driver_not_built_for_kernel driver_build_failed kernel_headers_missing
        repo_or_network_unreachable driver_version_mismatch driver_module_not_loaded driver_module_in_use
        gpu_init_failed nouveau_loaded secure_boot_rejected driver_gpu_unsupported gpu_bound_elsewhere
        device_nodes_missing driver_image_unavailable driver_install_conflict driver_upgrade_stuck
    """,
    "runtime": """
        toolkit_not_installed runtime_not_configured runtime_config_path_wrong runtime_not_restarted
        engine_config_broken toolkit_engine_mismatch runtime_class_missing runtime_not_default toolkit_driver_mismatch
        toolkit_driver_root_wrong toolkit_ldconfig_failed toolkit_broken cdi_spec_stale cgroup_device_lost
        container_started_blind dev_char_symlinks_missing runtime_permission_denied oci_runtime_fault
    """,
    "device_plugin": """
        plugin_not_deployed node_label_missing nfd_labels_stale operands_disabled operands_paused
        operand_taint_not_tolerated operator_not_running plugin_image_unavailable plugin_config_invalid plugin_defect
        plugin_duplicate plugin_not_registered kubelet_path_mismatch kubelet_device_state_corrupt mig_config_mismatch
        mps_daemon_down gpu_marked_unhealthy plugin_blocked_by_validation validator_failed dra_not_serving
    """,
    "scheduler": """
        taint_not_tolerated taint_left_behind node_initializing node_cordoned node_not_ready gpus_in_use
        request_exceeds_node other_resource_short affinity_excludes resource_name_mismatch gpu_request_missing
        quota_or_admission_refused pod_gated stale_allocation topology_refused autoscaler_pending
    """,
    None: """
        healthy workload_fault undetermined
    """,
}
ENTRIES: list[dict[str, t.Any]] = catalogue.load_yaml("faults.yml")["faults"]
ROLES = {"driver_rebuild", "toolkit_realign", "plugin_reregister", "validator_rerun", "uncordon"}
PLACEHOLDERS = {"node", "kernel", "driver_version", "pod", "gpus", "toolkit_version", "engine", "image", "taint", "owner"}
VARIANTS = {"container", "precompiled", "gke", "talos", "bottlerocket", "k3s", "rke2", "microk8s", "openshift", "eks"}
KINDS = {"package", "file", "module", "object", "service", "pod", "node"}
FIELDS = {"id", "layer", "refines", "causes", "contributing_only", "pod_side", "title", "means", "mend", "collect"}
TEXTS = {"summary", "steps", "check_first", "never", "would_change", "reboot", "disrupts"}
LISTS = ("steps", "check_first", "never", "would_change", "disrupts")
NOTHING_TO_MEND = {"healthy", "undetermined"}

# What must not stand in anything we tell a reader to do. `never` may name it, as that is what it is for.
DANGEROUS = {
    "deletes trees": r"\brm\s+-\w*[rf]",
    "forces a module out": r"\brmmod\b",
    "forces a module in": r"\bmodprobe\s+(-f|--force)",
    "forces an action": r"--force\b|--grace-period[= ]0|--disable-eviction",
    "kills processes": r"\bkill\s+-(9|KILL)|\bpkill\b|\bkillall\b|fuser\s+-\w*k",
    "switches SELinux off": r"setenforce\s+0|SELINUX=(disabled|permissive)",
    "removes taints": r"kubectl\s+taint\b",
    "acts on every node or object": r"kubectl\s+(delete|drain|cordon|uncordon|label|annotate)\b.*\s--all\b",
    "deletes objects others live by": r"kubectl\s+delete\s+(node|crd|clusterpolicy|ds|daemonset|ns|namespace|cm|configmap)s?\b",
    "writes devices or raw disks": r"\bmknod\b|\bdd\s+if=|\bmkfs",
    "destroys MIG instances": r"nvidia-smi\s+mig\s+-d",
    "resets every GPU": r"nvidia-smi\s+(-r|--gpu-reset)\b(?!\s+-i)",
    "pipes the network into a shell": r"(curl|wget)\b.*\|\s*(ba)?sh\b",
    "powers off without a drain": r"\bsysrq|reboot\s+-f|shutdown\s+-h|poweroff",
    "opens everything": r"chmod\s+(-R\s+)?777|--privileged\b|NVIDIA_VISIBLE_DEVICES=all",
    "forces packages": r"--allow-downgrades|--force-yes|--nodeps|--no-gpg-check|--allow-unauthenticated",
    "hides what the GPU reports": r"--reset-ecc-errors|nvidia-smi\s+-p\b",
}
# collect only reads.
WRITES = (
    r"\bkubectl\s+(delete|apply|create|edit|patch|label|annotate|taint|drain|cordon|uncordon|scale|rollout|replace|run|set)\b"
    r"|\bsystemctl\s+(start|stop|restart|reload|enable|disable|mask|daemon-reload)\b|\b(apt|apt-get|dnf|yum|zypper|snap)\s+(install|remove|upgrade|update)\b"
    r"|\b(rm|mv|cp|tee|sed\s+-i|mkdir|chmod|chown|reboot|insmod|rmmod|setsebool|setenforce)\b(?!-)|\bmodprobe\s+(?!-n\b)|\bnvidia-smi\s+-(r|mig|pm|e|p)\b"
    r"|\bdkms\s+(install|build|add|remove|autoinstall)\b|\bnvidia-ctk\s+(runtime\s+configure|cdi\s+generate|system)\b"
)


def texts(value: t.Any, path: str = "") -> c.Iterator[tuple[str, str]]:
    """(path, text) of every string below I(value)."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from texts(item, f"{path}.{key}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from texts(item, f"{path}[{index}]")


def mends(entry: dict[str, t.Any]) -> c.Iterator[tuple[str, dict[str, t.Any]]]:
    """(name, mend as a reader gets it) for the mend itself and each of its variants."""
    yield "mend", entry["mend"]
    for name, variant in (entry["mend"].get("variants") or {}).items():
        yield name, {**entry["mend"], **variant}


def fill(text: str, words: c.Mapping[str, str]) -> str:
    return re.sub(r"\{(\w+)\}", lambda m: words[m.group(1)], text)


every = pytest.mark.parametrize("entry", ENTRIES, ids=[entry["id"] for entry in ENTRIES])


def test_ids_and_layers_are_the_known_ones_in_order() -> None:
    wanted = [(name, layer) for layer, names in IDS.items() for name in names.split()]
    assert [(entry["id"], entry["layer"]) for entry in ENTRIES] == wanted
    assert len({entry["id"] for entry in ENTRIES}) == len(ENTRIES)


@every
def test_fields_and_types(entry: dict[str, t.Any]) -> None:
    assert not set(entry) - FIELDS
    assert {"id", "layer", "title", "means", "mend", "collect"} <= set(entry)
    assert entry.get("contributing_only") in (None, True)
    assert entry.get("pod_side") in (None, True)
    mend = entry["mend"]
    assert set(mend) - {"variants"} == TEXTS | {"by"}
    assert mend["by"] in ROLES | {"advise", "none"}
    for name, variant in (mend.get("variants") or {}).items():
        # Chosen by owner or distribution, by name; or by what the evidence says, by a pattern.
        assert name in VARIANTS or re.compile(variant["when"]), name
        assert {"summary", "steps"} <= set(variant) - {"when"} <= TEXTS, name
    for name, chosen in mends(entry):
        assert isinstance(chosen["summary"], str), name
        assert chosen["reboot"] in ("never", "maybe", "yes"), name
        for field in LISTS:
            assert isinstance(chosen[field], list), (name, field)
        for field in ("steps", "check_first", "never", "disrupts"):
            assert all(isinstance(item, str) and item.strip() == item != "" for item in chosen[field]), (name, field)
        for change in chosen["would_change"]:
            assert set(change) == {"kind", "what", "how"} and change["kind"] in KINDS, (name, change)
            assert all(isinstance(value, str) and value for value in change.values()), (name, change)
    for item in entry["collect"]:
        assert set(item) == {"what", "command", "why"} and all(isinstance(v, str) and v for v in item.values())


@every
def test_texts_are_written_and_of_readable_length(entry: dict[str, t.Any]) -> None:
    assert 0 < len(entry["title"]) <= 80 and not entry["title"].endswith(".")
    assert entry["title"][0].isupper() or entry["title"].startswith("/")
    assert entry["means"] != entry["title"] and entry["means"].endswith(".") and len(entry["means"]) <= 320
    for name, mend in mends(entry):
        assert len(mend["summary"]) <= 160 and mend["summary"].endswith("."), name
        assert mend["summary"] not in (entry["title"], entry["means"]), name
        for step in mend["steps"]:
            assert len(step) <= 140, (name, step)
        # Printed as "Do not: <text>." and in lists: the imperative, without a stop.
        for text in mend["never"]:
            assert not text.endswith(".") and not re.match(r"(do not|don't|never|\w+ing)\b", text, re.IGNORECASE), (name, text)
        for text in mend["check_first"] + mend["disrupts"]:
            assert not text.endswith(".") and len(text) <= 160, (name, text)
        for text in mend["disrupts"]:
            assert not re.match(r"(if|and|or|which|but)\b", text), (name, text, "an unquoted comma in a flow list?")
    for path, text in texts(entry):
        assert text.isprintable() and text == text.strip() and "  " not in text, (path, text)


@every
def test_every_mend_says_what_to_do_and_what_not(entry: dict[str, t.Any]) -> None:
    if entry["id"] in NOTHING_TO_MEND:
        assert entry["mend"]["by"] == "none"
        return
    for name, mend in mends(entry):
        assert 2 <= len(mend["steps"]) <= 6, name
        assert mend["never"] and mend["check_first"], name
        if mend["by"] in ROLES:
            assert mend["would_change"], name
    assert 1 <= len(entry["collect"]) <= 3


@every
def test_only_known_placeholders(entry: dict[str, t.Any]) -> None:
    for name, mend in mends(entry):
        for path, text in texts({key: mend[key] for key in TEXTS}):
            assert set(re.findall(r"\{(\w+)\}", text)) <= PLACEHOLDERS, (name, path, text)
    for path, text in texts([entry["title"], entry["means"]]):
        assert "{" not in text, path
    for path, text in texts(entry["collect"]):
        assert set(re.findall(r"\{(\w+)\}", text)) <= {"node"}, path


@every
def test_texts_read_well_when_nothing_is_known(entry: dict[str, t.Any]) -> None:
    """An unknown value becomes words: no doubled article, and no words inside a command of the node itself."""
    words = diagnose.UNKNOWN_WORDS
    assert set(words) == PLACEHOLDERS
    for name, mend in mends(entry):
        for path, text in texts({key: mend[key] for key in TEXTS}):
            assert not re.search(r"\b(the|a|an|this|its)\s+(the|a|an|this|its)\b", fill(text, words)), (name, path)
            for command in re.findall(r"`([^`]*)`", text):
                assert set(re.findall(r"\{(\w+)\}", command)) <= {"node"}, (name, path, command)


@every
def test_relations_name_known_faults(entry: dict[str, t.Any]) -> None:
    known = {other["id"] for other in ENTRIES}
    for relation in ("refines", "causes"):
        named = entry.get(relation, [])
        assert len(named) == len(set(named)) and set(named) <= known - {entry["id"]}, relation


def test_no_two_faults_explain_each_other() -> None:
    over = {(entry["id"], below) for entry in ENTRIES for relation in ("refines", "causes") for below in entry.get(relation, [])}
    assert not {(a, b) for a, b in over if (b, a) in over}


@every
def test_nothing_dangerous_is_told_to_a_reader(entry: dict[str, t.Any]) -> None:
    for name, mend in mends(entry):
        told = {key: mend[key] for key in TEXTS - {"never"}}
        for path, text in texts(told):
            for why, pattern in DANGEROUS.items():
                assert not re.search(pattern, text, re.IGNORECASE), (name, path, why, text)
    for path, text in texts(entry["collect"], "collect"):
        for why, pattern in DANGEROUS.items():
            assert not re.search(pattern, text, re.IGNORECASE), (path, why, text)


@every
def test_what_to_collect_only_reads_and_parses(entry: dict[str, t.Any]) -> None:
    for item in entry["collect"]:
        command = item["command"]
        assert not re.search(WRITES, command), command
        assert not re.search(r"(?<![0-9&])>(?!/dev/null|&)\s*\S", re.sub(r"<[a-z ]+>", "", command)), command
        assert shlex.split(command), command


@every
def test_commands_in_backticks_are_closed(entry: dict[str, t.Any]) -> None:
    for path, text in texts(entry):
        assert text.count("`") % 2 == 0, (path, text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Run `rm -rf /var/lib/dkms`.", "deletes trees"),
        ("Run `rmmod -f nvidia`.", "forces a module out"),
        ("`kubectl delete pod x --force`", "forces an action"),
        ("`kubectl taint nodes --all nvidia.com/gpu-`", "removes taints"),
        ("`nvidia-smi -r`", "resets every GPU"),
        ("`setenforce 0`", "switches SELinux off"),
    ],
)
def test_the_list_of_dangers_knows_them(text: str, why: str) -> None:
    assert re.search(DANGEROUS[why], text, re.IGNORECASE)


def test_policy_stays_and_cordons_stay_with_their_owners() -> None:
    faults = catalogue.faults()
    assert any("upgrade" in text for text in faults["node_cordoned"]["mend"]["never"])
    assert any("uncordon" in text for text in faults["driver_upgrade_stuck"]["mend"]["never"])
    assert any("policy" in text for text in faults["taint_not_tolerated"]["mend"]["never"])
    for entry in ENTRIES:
        for name, mend in mends(entry):
            for text in mend["steps"]:
                if re.search(r"\bkubectl uncordon\b", text):
                    assert entry["id"] == "node_cordoned", (entry["id"], name)
                if "kubelet_internal_checkpoint" in text:
                    assert entry["id"] == "kubelet_device_state_corrupt", (entry["id"], name)
    state = faults["kubelet_device_state_corrupt"]["mend"]["steps"]
    assert "restart kubelet" in state[0]
    assert next(i for i, s in enumerate(state) if "drain" in s) < next(i for i, s in enumerate(state) if "checkpoint" in s)


def test_a_reboot_is_never_told_without_looking_at_the_next_kernel() -> None:
    """Where a driver fault is mended by a reboot, the kernel booted next must be looked at: it may have no module."""
    for entry in ENTRIES:
        if entry["layer"] == "driver" and entry["mend"]["reboot"] == "yes":
            said = " ".join(entry["mend"]["steps"] + entry["mend"]["check_first"])
            assert re.search(r"next kernel|kernel booted next|boot next", said), entry["id"]
