# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors
"""What holds for every host parser: any text, the promised keys, the same answer twice, linear time."""

from __future__ import annotations

import ast
import json
import pathlib
import sys
import time

import pytest
from ansible_collections.gpuops.node.plugins.module_utils import driver, hardware, kubelet, runner, runtime
from hypothesis import given, settings
from hypothesis import strategies as st

FIXTURES = pathlib.Path(__file__).parent / "fixtures"
PARSERS = {
    **hardware.PARSERS,
    **driver.PARSERS,
    **runtime.PARSERS,
    **kubelet.PARSERS,
    "log:driver": driver.parse_driver_container_log,
    "log:device_plugin": kubelet.parse_plugin_log,
    "log:validator": kubelet.parse_validator_log,
}
TEXT, NUMBER, FLAG = (str, type(None)), (int, type(None)), (bool, type(None))
# What every answer has, whatever the text: key -> type.
ALWAYS = {
    "lspci": {"devices": list},
    "kernel_log": {
        "xids": list,
        "loaded_version": TEXT,
        "open_module": FLAG,
        "linux_version": TEXT,
        "rminit_failed": list,
        "gpus_seen": list,
        "probe_failed": NUMBER,
    },
    "nvidia_smi": {"error": TEXT, "gpus": list, "nvml_version": TEXT},
    "nvidia_smi_list": {"gpus": list},
    "nvidia_smi_q": {"attached_gpus": NUMBER, "gpus": list},
    "uname": {},
    "os_release": {},
    "proc_nvidia_version": {"missing": bool},
    "modinfo": {"open": FLAG, "kernel": TEXT, "signer": TEXT, "missing": bool},
    "dkms_status": {"entries": list},
    "lsmod": {"modules": dict},
    "mokutil": {"secure_boot": FLAG},
    "packages": {"packages": list},
    "package_history": {"transactions": list},
    "modprobe_conf": {"blacklist": dict, "install": dict, "options": dict},
    "ls_modules": {"kernels": list, "build_link": dict},
    "proc_devices": {"char": dict},
    "ls_dev": {"nodes": list, "missing": bool},
    "ls_dev_char": {"nodes": list, "missing": bool},
    "dkms_build": {"kernel": TEXT, "module": TEXT, "version": TEXT, "result": TEXT, "error_line": TEXT, "compiler_error": bool},
    "uptime": {},
    "boot_kernel": {},
    "log:driver": {"ready": bool, "error_line": TEXT},
    "containerd_config": {
        "version": NUMBER,
        "forms": list,
        "runtimes": dict,
        "default_runtime": TEXT,
        "cri_disabled": bool,
        "imports": list,
        "enable_cdi": FLAG,
        "root": TEXT,
        "state": TEXT,
        "grpc_address": TEXT,
        "error": TEXT,
        "lines": dict,
    },
    "crio_config": {"runtimes": dict, "default_runtime": TEXT, "hooks_dirs": list},
    "docker_daemon": {"runtimes": dict, "default_runtime": TEXT, "cdi": FLAG, "error": TEXT},
    "docker_info": {"runtimes": list, "default_runtime": TEXT, "version": TEXT, "cgroup_driver": TEXT},
    "toolkit_config": {
        "root": TEXT,
        "ldconfig": TEXT,
        "no_cgroups": FLAG,
        "mode": TEXT,
        "runtimes": list,
        "envvar_when_unprivileged": FLAG,
        "volume_mounts": FLAG,
        "lines": dict,
    },
    "cdi_spec": {"devices": list, "host_paths": list, "versions": list},
    "nvidia_container_cli": {
        "cli_version": TEXT,
        "nvrm_version": TEXT,
        "cuda_version": TEXT,
        "devices": int,
        "error": TEXT,
        "healthy": bool,
    },
    "nvidia_ctk": {"version": TEXT, "cdi_devices": list, "error": TEXT},
    "systemctl": {"units": dict, "lines": dict},
    "log:device_plugin": {
        "generation": TEXT,
        "registered": list,
        "serving": list,
        "waiting": bool,
        "kubelet_restarts": list,
        "unhealthy": list,
        "nvml_error": TEXT,
        "fail_on_init_error": FLAG,
        "mig_strategy": TEXT,
        "driver_root": TEXT,
        "sharing_replicas": NUMBER,
        "device_list_strategy": (list, type(None)),
        "exited": bool,
    },
    "kubelet_log": {"starts": list, "registrations": list, "ended": list, "checkpoint_errors": list, "root_dir": TEXT},
    "kubelet_checkpoint": {"registered": dict, "entries": list, "error": TEXT},
    "kubelet_flags": {"root_dir": TEXT, "cpu_manager_policy": TEXT, "topology_manager_policy": TEXT, "runtime_endpoint": TEXT},
    "ls_device_plugins": {"sockets": list, "checkpoint": bool, "missing": bool},
    "validations": {"files": dict},
    "log:validator": {"done": bool, "waiting": bool, "error_line": TEXT},
}
ALWAYS["containerd_dump"] = ALWAYS["containerd_config"]
# What each element of a list has.
ELEMENTS = {
    ("lspci", "devices"): {
        "address": str,
        "class_name": str,
        "class_id": TEXT,
        "name": str,
        "device_id": TEXT,
        "rev": TEXT,
        "driver": TEXT,
        "modules": list,
        "gpu": bool,
        "nvswitch": bool,
        "line": str,
    },
    ("kernel_log", "xids"): {"pci": TEXT, "xid": int, "text": str, "pid": NUMBER, "time": TEXT, "line": str, "lineno": int},
    ("kernel_log", "rminit_failed"): {"pci": TEXT, "code": str, "line": str},
    ("nvidia_smi", "gpus"): {"index": int, "name": str, "pci": TEXT, "mig": FLAG, "err": bool},
    ("nvidia_smi_list", "gpus"): {"index": int, "name": str, "uuid": str, "mig": list},
    ("nvidia_smi_q", "gpus"): {"remap_pending": FLAG, "remap_failed": FLAG, "ecc_uncorrected": NUMBER},
    ("dkms_status", "entries"): {
        "name": str,
        "version": str,
        "kernel": TEXT,
        "arch": TEXT,
        "state": str,
        "note": str,
        "line": str,
        "nvidia": bool,
    },
    ("packages", "packages"): {"name": str, "version": str, "arch": TEXT, "state": TEXT, "line": str},
    ("package_history", "transactions"): {"time": TEXT, "command": TEXT, "changes": list, "line": str},
    ("log:device_plugin", "registered"): {"resource": str, "time": TEXT, "line": str},
    ("log:device_plugin", "unhealthy"): {"device": str, "line": str},
    ("kubelet_log", "registrations"): {"resource": str, "time": TEXT, "line": str},
    ("kubelet_checkpoint", "entries"): {"pod_uid": str, "container": str, "resource": str, "devices": list},
}
SAMPLES = sorted(path for path in FIXTURES.iterdir() if path.is_file())
# Words of the real programs, so that made-up lines come near the patterns.
WORDS = st.sampled_from(
    "NVRM: Xid (PCI:0000:9b:00): 79, pid=1 name=x nvidia / , : = [ ] { } \" ' | + -> installed nvidia/535.1 5.15.0-91-generic"
    " x86_64: ii 195, Active: active "
    "(running) since version = 3 [plugins.cri.containerd.runtimes.nvidia] Start-Date: Upgrade: a:amd64 (1, 2) GPU 0: (UUID:"
    " GPU-1) I0107 20:32:59.870066 "
    "Registered device plugin for 'nvidia.com/gpu' with Kubelet {{ }} --root-dir= \"replicas\": 4 kind: hostPath:"
    " /dev/nvidia0 00:1e.0 3D controller: NVIDIA".split(" ")
)
MADE_UP = st.lists(st.lists(WORDS, max_size=12).map(" ".join), max_size=12).map("\n".join)


def _check(kind: str, text: str) -> None:
    parse = PARSERS[kind]
    answer = parse(text)
    assert isinstance(answer, dict)
    for key, kinds in ALWAYS[kind].items():
        assert key in answer and isinstance(answer[key], kinds), (kind, key, answer.get(key))
        for required, types in ELEMENTS.get((kind, key), {}).items():
            for item in answer[key]:
                assert isinstance(item.get(required), types), (kind, key, required, item)
    # The answer travels as JSON from the host, and is the same again.
    assert json.loads(json.dumps(answer)) == json.loads(json.dumps(parse(text)))
    lines = {line.rstrip() for line in text.splitlines()}
    for line in _lines(answer):
        assert line in lines or line.endswith("...") or len(line) >= runner.QUOTE_LIMIT, (kind, line)


def _lines(value):
    """Every quoted line in an answer."""
    if isinstance(value, dict):
        for key, item in value.items():
            if isinstance(item, str) and key in (
                "line",
                "error_line",
                "nvml_error_line",
                "waiting_line",
                "exit_line",
                "loaded_line",
                "reason_line",
            ):
                yield item
            else:
                yield from _lines(item)
    elif isinstance(value, list):
        for item in value:
            yield from _lines(item)


@pytest.mark.parametrize("module", [driver, hardware, kubelet, runner, runtime], ids=lambda module: module.__name__.rpartition(".")[2])
def test_runs_on_a_gpu_host(module):
    """Python 3.8's grammar, the standard library, and nothing of the controller's."""
    tree = ast.parse(pathlib.Path(module.__file__).read_text(encoding="utf-8"), feature_version=(3, 8))
    for node in ast.walk(tree):
        names = (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module]
            if isinstance(node, ast.ImportFrom)
            else []
        )
        for name in names:
            assert name.split(".")[0] in sys.stdlib_module_names or name.startswith("ansible_collections.gpuops.node.plugins.module_utils")


def test_every_parser_is_described():
    assert set(PARSERS) == set(ALWAYS)


@pytest.mark.parametrize("kind", sorted(PARSERS))
@pytest.mark.parametrize("text", ["", "\n", "\0", "\ufeff", "{", "[", "\x1b[31m", "=", ": : :", "\r\r\n"])
def test_odd_texts(kind, text):
    _check(kind, text)


@pytest.mark.parametrize("kind", sorted(PARSERS))
def test_none_and_bytes(kind):
    assert isinstance(PARSERS[kind](None), dict) and isinstance(PARSERS[kind](b"\xff\xfe\n"), dict)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_every_sample_through_every_parser(sample):
    text = sample.read_text(encoding="utf-8")
    for kind in PARSERS:
        _check(kind, text)


@settings(max_examples=120, deadline=None)
@given(st.data(), st.sampled_from(sorted(PARSERS)))
def test_any_text(data, kind):
    _check(kind, data.draw(st.one_of(st.text(max_size=300), MADE_UP)))


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_mutated_samples(data):
    """Cut, doubled, shuffled and overwritten samples: captures are pasted by tired people."""
    text = data.draw(st.sampled_from(SAMPLES)).read_text(encoding="utf-8")
    rows = text.split("\n")
    for _round in range(data.draw(st.integers(1, 3))):
        what = data.draw(st.sampled_from(["cut", "drop", "double", "swap", "garble", "indent"]))
        index = data.draw(st.integers(0, max(len(rows) - 1, 0)))
        if what == "cut":
            rows = rows[: index + 1]
            rows[-1] = rows[-1][: data.draw(st.integers(0, 80))]
        elif what == "drop":
            del rows[index]
            rows = rows or [""]
        elif what == "double":
            rows = rows + rows[index:]
        elif what == "swap":
            other = data.draw(st.integers(0, len(rows) - 1))
            rows[index], rows[other] = rows[other], rows[index]
        elif what == "garble":
            at = data.draw(st.integers(0, max(len(rows[index]), 1)))
            rows[index] = rows[index][:at] + data.draw(st.text(max_size=6).filter(lambda piece: "\n" not in piece)) + rows[index][at + 1 :]
        else:
            rows = ["   " + row for row in rows]
    kind = data.draw(st.sampled_from(sorted(PARSERS)))
    _check(kind, "\n".join(rows))


# One line of a megabyte, of the kinds that make a careless pattern backtrack.
LONG = {
    "letters": "a" * 10**6,
    "spaces": "NVRM: " + " " * 10**6,
    "digits": "9" * 10**6,
    "dots": "a." * 500000,
    "slashes": "/" * 10**6,
    "equals": "a=" * 500000,
    "colons": "a: " * 330000,
    "quotes": '"a":' * 250000,
    "brackets": "[" * 500000 + "{" * 500000,
    "json": '{"a":' * 160000,
    "xid": "NVRM: Xid (" * 90000,
    "table": "|   0  NVIDIA" + " a " * 300000,
    "commas": "nvidia, 535.1, " * 66000,
    "brackets_key": "x = [" + "[1,2]," * 160000,
    "secrets": "token=" * 160000,
    "env": '"name":"A_TOKEN","value":' * 40000,
    "begin": "-----BEGIN PRIVATE KEY" * 45000,
    "apt": "Upgrade: " + "a:amd64 (1, 2), " * 62000,
}


@pytest.mark.parametrize("shape", sorted(LONG))
def test_a_megabyte_on_one_line(shape):
    text = LONG[shape]
    for kind in sorted(PARSERS):
        started = time.process_time()
        PARSERS[kind](text)
        assert time.process_time() - started < 4, kind
    started = time.process_time()
    runner.redact(text)
    assert time.process_time() - started < 8


# Lines as a log repeats them; the parsers of logs must not slow down with their number.
MANY = {
    "kernel_log": 'May  2 09:40:01 gpu-a kernel: [26934.118010] audit: type=1400 apparmor="ALLOWED" operation="open"\n',
    "kubelet_log": "May 02 06:55:30 gpu-a kubelet[1]: I0502 06:55:30.000000 1500 reconciler.go:224]"
    ' "operationExecutor.VerifyControllerAttachedVolume started"\n',
    "log:device_plugin": "2024/05/02 06:55:30 some message of another program that went to the same log\n",
    "log:driver": "  CC [M]  /usr/src/nvidia-550.90.07/kernel/nvidia/nv-pci.o\n",
    "log:validator": 'time="2024-05-02T06:58:00Z" level=info msg="something"\n',
    "dkms_build": "  CC [M]  /var/lib/dkms/nvidia/535.129.03/build/nvidia/nv.o\n",
    "package_history": "2024-05-02 06:11:12 status half-installed linux-image:amd64 5.15.0-107.117\n",
}


@pytest.mark.parametrize("kind", sorted(MANY))
def test_large_logs(kind):
    text = MANY[kind] * (16 * 1024 * 1024 // len(MANY[kind]))
    started = time.process_time()
    PARSERS[kind](text)
    assert time.process_time() - started < 12
