# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors
"""A thousand nodes: what healthy ones cost."""

from __future__ import annotations

import json
import pathlib
import re
import typing as t

import pytest
from conftest import BIN, ROOT, Ran, kernel_moved, node, nodes_json, run, write

NODES = 1000


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A thousand nodes, three of them sick."""
    nodes = [node(f"gpu-{number:04}", 0 if number in (17, 400, 999) else 8) for number in range(NODES)]
    return write(tmp_path_factory.mktemp("fleet"), {"kubectl-get-nodes.json": nodes_json(nodes), **kernel_moved("gpu-0017")})


def measured(arguments: t.Sequence[t.Any], capture: pathlib.Path, tmp_path: pathlib.Path) -> tuple[Ran, float]:
    """A run, and the most memory that one of its processes held (MiB)."""
    extra = ["-e", json.dumps({"gpuops_capture": str(capture)})]
    script = (
        "import resource, subprocess, sys; rc = subprocess.call(sys.argv[2:]); "
        "open(sys.argv[1], 'w').write(str(max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_CHILDREN,)))); sys.exit(rc)"
    )
    ran = run([BIN / "python", "-c", script, tmp_path / "rss", BIN / "ansible-playbook", *arguments, *extra])
    return ran, int((tmp_path / "rss").read_text()) / 1024


def test_a_thousand_nodes(fleet: pathlib.Path, tmp_path: pathlib.Path) -> None:
    (tmp_path / "empty.yml").write_text("- hosts: all\n  gather_facts: false\n  tasks: []\n")
    empty, _memory = measured([tmp_path / "empty.yml"], fleet, tmp_path)
    ran, memory = measured([ROOT / "playbooks" / "diagnose.yml"], fleet, tmp_path)
    assert ran.rc == empty.rc == 0
    assert re.search(r"1,000 nodes: 997 healthy", ran.out), ran.out[:2000]
    assert len(ran.recap) == 1
    print(f"1,000 nodes: {ran.seconds:.1f} s, {memory:.0f} MiB; an empty playbook {empty.seconds:.1f} s")
    assert ran.seconds < 60
    assert memory < 1024
    assert (ran.seconds - empty.seconds) / NODES < 0.02  # a healthy node costs next to nothing


def test_one_of_a_thousand(fleet: pathlib.Path, tmp_path: pathlib.Path) -> None:
    (tmp_path / "empty.yml").write_text("- hosts: all\n  gather_facts: false\n  tasks: []\n")
    empty, _memory = measured([tmp_path / "empty.yml", "-l", "gpu-0017"], fleet, tmp_path)
    ran, _memory = measured([ROOT / "playbooks" / "diagnose.yml", "-l", "gpu-0017"], fleet, tmp_path)
    assert "driver_not_built_for_kernel" in ran.out
    print(f"one of 1,000 nodes: {ran.seconds:.1f} s; an empty playbook {empty.seconds:.1f} s")
    assert ran.seconds <= 1.5 * empty.seconds + 1
