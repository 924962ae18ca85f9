# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors
"""Real ansible-playbook runs, under the Ansible that pytest itself runs with."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import re
import subprocess
import sys
import time
import typing as t

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "tools"))
import env  # noqa: E402

BIN = pathlib.Path(sys.prefix) / "bin"
OLD_KERNEL, NEW_KERNEL = "6.8.0-51-generic", "6.8.0-52-generic"


@dataclasses.dataclass
class Ran:
    rc: int
    out: str
    seconds: float

    @property
    def recap(self) -> dict[str, dict[str, int]]:
        """What the play recap counts, per host."""
        rows = re.findall(r"^(\S+)\s+: (ok=.*)$", self.out, re.MULTILINE)
        return {host: {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", counts)} for host, counts in rows}


def run(command: t.Sequence[t.Any], cwd: pathlib.Path = ROOT, **more: str) -> Ran:
    words = [str(word) for word in command]
    # A developer's own settings must not decide whether a test passes.
    quiet = {"ANSIBLE_FORCE_COLOR": "0", "ANSIBLE_NOCOLOR": "1", "GPUOPS_CAPTURE": ""}
    started = time.monotonic()
    done = subprocess.run(
        words,
        cwd=cwd,
        env=env.environ(BIN.parent, **{**quiet, **more}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    out = done.stdout + done.stderr
    assert "Traceback" not in out, out
    assert "DEPRECATION WARNING" not in out, out
    return Ran(done.returncode, out, time.monotonic() - started)


@pytest.fixture
def play() -> t.Callable[..., Ran]:
    """Run playbooks/diagnose.yml on a capture."""

    def play(
        capture: t.Any, *arguments: t.Any, playbook: t.Any = ROOT / "playbooks" / "diagnose.yml", cwd: pathlib.Path = ROOT, **extra: t.Any
    ) -> Ran:
        variables = {"gpuops_capture": str(capture), **extra} if capture is not None else extra
        return run([BIN / "ansible-playbook", playbook, "-e", json.dumps(variables), *arguments], cwd)

    return play


def node(name: str, gpus: int, expected: int = 8) -> dict[str, t.Any]:
    """A Node object as the API prints it."""
    counts = {"cpu": "96", "memory": "1056476Mi", "pods": "110", "nvidia.com/gpu": str(gpus)}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {
                "kubernetes.io/hostname": name,
                "node.kubernetes.io/instance-type": "gpu.8xh100",
                "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3",
                "nvidia.com/gpu.count": str(expected),
                "nvidia.com/gpu.present": "true",
            },
        },
        "spec": {},
        "status": {
            "capacity": counts,
            "allocatable": counts,
            "conditions": [
                {
                    "type": "Ready",
                    "status": "True",
                    "reason": "KubeletReady",
                    "lastHeartbeatTime": "2026-03-12T07:03:40Z",
                    "lastTransitionTime": "2026-03-01T10:00:00Z",
                }
            ],
            "nodeInfo": {
                "kernelVersion": NEW_KERNEL,
                "osImage": "Ubuntu 24.04.1 LTS",
                "kubeletVersion": "v1.31.4",
                "containerRuntimeVersion": "containerd://1.7.24",
                "bootID": f"boot-{name}",
            },
        },
    }


def write(folder: pathlib.Path, files: dict[str, str]) -> pathlib.Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def kernel_moved(node_name: str) -> dict[str, str]:
    """Host outputs of a node whose kernel was updated and whose module was not built for it."""
    place = f"nodes/{node_name}/"
    return {
        place + "uname.txt": f"Linux {node_name} {NEW_KERNEL} #53-Ubuntu SMP PREEMPT_DYNAMIC x86_64 x86_64 x86_64 GNU/Linux\n",
        place + "dkms-status.txt": f"nvidia/550.127.05, {OLD_KERNEL}, x86_64: installed\n",
        place + "modinfo-nvidia.txt": "modinfo: ERROR: Module nvidia not found.\n",
        place + "lspci.txt": "".join(
            f"{bus:02x}:00.0 3D controller [0302]: NVIDIA Corporation GH100 [H100 SXM5 80GB] [10de:2330] (rev a1)\n"
            for bus in (0x1B, 0x43, 0x52, 0x61, 0x9D, 0xC3, 0xD1, 0xDF)
        ),
        place + "nvidia-smi.txt": (
            "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver is "
            "installed and running.\n"
        ),
    }


def nodes_json(nodes: t.Sequence[dict[str, t.Any]]) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(nodes)}, indent=1)


@pytest.fixture(scope="session")
def sick(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """Three nodes; the kernel of gpu-1 moved. There is a space in the path."""
    folder = tmp_path_factory.mktemp("captures") / "of the night"
    nodes = [node("gpu-1", 0), node("gpu-2", 8), node("gpu-3", 8)]
    return write(folder, {"kubectl-get-nodes.json": nodes_json(nodes), **kernel_moved("gpu-1")})


@pytest.fixture(scope="session")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    return write(tmp_path_factory.mktemp("healthy"), {"kubectl-get-nodes.json": nodes_json([node("gpu-1", 8), node("gpu-2", 8)])})
