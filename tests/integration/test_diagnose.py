# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors
from __future__ import annotations

import json
import pathlib
import re
import tarfile
import typing as t

import pytest
from conftest import BIN, ROOT, Ran, run

FAULT = "driver_not_built_for_kernel"


def told(ran: Ran) -> str:
    """What the play told, without Ansible's own lines."""
    return "\n".join(line for line in ran.out.splitlines() if not re.match(r"PLAY|TASK|ok:|changed:|skipping:|\S+\s+: ok=", line))


def sentence(ran: Ran) -> str:
    """The message of the one host that failed."""
    found = re.findall(r'^fatal: \[\S+\]: FAILED! => \{"changed": false, "msg": "(.*)"\}$', ran.out, re.MULTILINE)
    assert len(found) == 1, ran.out
    return found[0]


# -- verdicts


def test_a_sick_node(play: t.Callable[..., Ran], sick: pathlib.Path) -> None:
    ran = play(sick, "-l", "gpu-1", gpuops_gpu_hour_price="2.50")
    assert ran.rc == 0
    assert ran.recap["gpu-1"] == {"ok": 1, "changed": 0, "unreachable": 0, "failed": 0, "skipped": 1, "rescued": 0, "ignored": 0}
    root = next(line for line in ran.out.splitlines() if line.strip().startswith("ROOT"))
    assert FAULT in root
    assert "6.8.0-52-generic" in ran.out
    assert "$20.00 per hour" in ran.out
    assert "\x1b[" not in ran.out
    assert "\\n" not in told(ran)
    assert "WARNING" not in ran.out


def test_a_healthy_node(play: t.Callable[..., Ran], sick: pathlib.Path) -> None:
    ran = play(sick, "-l", "gpu-2")
    assert ran.rc == 0
    assert "healthy" in ran.out
    assert FAULT not in ran.out
    assert "WARNING" not in ran.out


def test_all_nodes(play: t.Callable[..., Ran], sick: pathlib.Path) -> None:
    ran = play(sick)
    assert ran.rc == 0
    assert "3 nodes: 2 healthy, 1 sick" in ran.out
    assert list(ran.recap) == ["gpu-1"]  # one task, on one host, for all of them


def test_the_same_words_every_run(play: t.Callable[..., Ran], sick: pathlib.Path) -> None:
    assert told(play(sick)) == told(play(sick))


@pytest.mark.parametrize("forced", ["0", "1"])
def test_colour_only_where_ansible_has_it(sick: pathlib.Path, forced: str) -> None:
    command = [BIN / "ansible-playbook", "playbooks/diagnose.yml", "-l", "gpu-1", "-e", json.dumps({"gpuops_capture": str(sick)})]
    ran = run(command, ANSIBLE_FORCE_COLOR=forced, ANSIBLE_NOCOLOR="0")
    root = next(line for line in ran.out.splitlines() if "ROOT" in line)
    assert ("\x1b[" in root) is (forced == "1")


def test_a_log_file_gets_no_colour(sick: pathlib.Path, tmp_path: pathlib.Path) -> None:
    command = [BIN / "ansible-playbook", "playbooks/diagnose.yml", "-l", "gpu-1", "-e", json.dumps({"gpuops_capture": str(sick)})]
    run(command, ANSIBLE_FORCE_COLOR="1", ANSIBLE_NOCOLOR="0", ANSIBLE_LOG_PATH=str(tmp_path / "log"))
    log = (tmp_path / "log").read_text()
    assert log.count("ROOT") == 1
    assert "\x1b[" not in next(line for line in log.splitlines() if "ROOT" in line)


# -- mistakes


def test_an_unknown_node(play: t.Callable[..., Ran], sick: pathlib.Path) -> None:
    ran = play(sick, "-l", "gpu-71")
    assert ran.rc == 2
    assert "gpu-71" in sentence(ran)
    assert "gpu-1, gpu-2, gpu-3" in sentence(ran)


@pytest.mark.parametrize("arguments", [[], ["-l", "gpu-1"]])
def test_a_capture_that_is_not_there(play: t.Callable[..., Ran], tmp_path: pathlib.Path, arguments: list[str]) -> None:
    ran = play(tmp_path / "nothing here", *arguments)
    assert ran.rc == 2
    assert str(tmp_path / "nothing here") in sentence(ran)
    assert "WARNING" not in ran.out


def test_no_capture(play: t.Callable[..., Ran]) -> None:
    ran = play(None, "-l", "gpu-1")
    assert ran.rc == 2
    assert "gpuops_capture" in sentence(ran)


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        ({"gpuops_gpu_hour_price": "2,5"}, "gpuops_gpu_hour_price"),
        ({"gpuops_expected_gpus": "lots"}, "lots"),
        ({"gpuops_now": "noon"}, "2026-03-12T07:04:00Z"),
        ({"gpuops_gangs": [{"gpus": 64}]}, "name"),
        ({"gpuops_pod": "ml/nope"}, "holds no pod ml/nope"),
        ({"gpuops_resource": "amd.com/gpu"}, "not amd.com/gpu"),
        ({"gpuops_fail_when_sick": "maybe"}, "gpuops_fail_when_sick"),
    ],
)
def test_a_variable_that_makes_no_sense(play: t.Callable[..., Ran], sick: pathlib.Path, extra: dict[str, t.Any], words: str) -> None:
    ran = play(sick, "-l", "gpu-1", **extra)
    assert ran.rc == 2
    assert words in sentence(ran)
    assert "caused by" not in ran.out


def test_without_an_inventory(sick: pathlib.Path, tmp_path: pathlib.Path) -> None:
    (tmp_path / "ansible.cfg").write_text("")
    command = [BIN / "ansible-playbook", "gpuops.node.diagnose", "-e", json.dumps({"gpuops_capture": str(sick)})]
    ran = run(command, cwd=tmp_path, ANSIBLE_CONFIG=str(tmp_path / "ansible.cfg"))
    assert ran.rc == 2
    assert "No inventory names a node" in sentence(ran)
    assert "gpu-1, gpu-2, gpu-3" in sentence(ran)


def test_a_limit_that_fits_nothing(play: t.Callable[..., Ran], sick: pathlib.Path) -> None:
    assert play(sick, "-l", "nope*").rc == 1


def test_hosts_that_the_capture_lacks(play: t.Callable[..., Ran], sick: pathlib.Path) -> None:
    ran = play(sick, "-i", "gpu-1,gpu-2,storage-1")
    assert ran.rc == 0
    assert "2 nodes: 1 healthy, 1 sick" in ran.out
    assert "does not hold 1 of the 3 hosts" in ran.out


# -- failing when asked to


def test_sick_nodes_fail_when_asked_to(play: t.Callable[..., Ran], sick: pathlib.Path) -> None:
    ran = play(sick, gpuops_fail_when_sick=True)
    assert ran.rc == 2
    assert {host: counts["failed"] for host, counts in ran.recap.items()} == {"gpu-1": 1, "gpu-2": 0, "gpu-3": 0}
    assert sentence(ran).startswith("gpu-1: ")
    assert FAULT in sentence(ran)


def test_healthy_nodes_do_not_fail(play: t.Callable[..., Ran], healthy: pathlib.Path) -> None:
    ran = play(healthy, gpuops_fail_when_sick="true")
    assert ran.rc == 0
    assert {host: counts["failed"] for host, counts in ran.recap.items()} == {"gpu-1": 0, "gpu-2": 0}


def test_a_node_that_was_not_judged_does_not_pass(play: t.Callable[..., Ran], healthy: pathlib.Path) -> None:
    ran = play(healthy, "-i", "gpu-1,storage-1", gpuops_fail_when_sick=True)
    assert ran.rc == 2
    assert sentence(ran) == "storage-1 is not in the capture and was not judged."


# -- reports, check mode


def test_reports(play: t.Callable[..., Ran], sick: pathlib.Path, tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "reports"
    check = play(sick, "--check", "--diff", gpuops_report_dir=str(folder))
    assert check.rc == 0
    assert check.recap["gpu-1"]["changed"] == 1
    assert not folder.exists()
    first = play(sick, gpuops_report_dir=str(folder))
    assert first.recap["gpu-1"]["changed"] == 1
    assert sorted(path.name for path in folder.iterdir()) == ["diagnosis.json", "gpu-1.json", "gpu-2.json", "gpu-3.json", "report.html"]
    assert json.loads((folder / "gpu-1.json").read_text())["root"]["fault"] == FAULT
    assert FAULT in (folder / "report.html").read_text()
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    second = play(sick, gpuops_report_dir=str(folder))
    assert second.recap["gpu-1"]["changed"] == 0
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert told(first) == told(second) == told(check)


def test_check_mode_says_the_same(play: t.Callable[..., Ran], sick: pathlib.Path) -> None:
    assert told(play(sick, "-l", "gpu-1", "--check")) == told(play(sick, "-l", "gpu-1"))


# -- ways to call it


def test_inventory_file_and_archive(play: t.Callable[..., Ran], sick: pathlib.Path, tmp_path: pathlib.Path) -> None:
    (tmp_path / "night.gpuops_capture.yml").write_text(f"plugin: gpuops.node.capture_nodes\ncapture: {json.dumps(str(sick))}\n")
    with tarfile.open(tmp_path / "night.tar.gz", "w:gz") as stream:
        stream.add(sick, "night")
    by_file = play(None, "-i", tmp_path / "night.gpuops_capture.yml", "-l", "gpu-1", cwd=tmp_path)
    by_archive = play(None, "-i", tmp_path / "night.tar.gz", "-l", "gpu-1", cwd=tmp_path)
    assert by_file.rc == by_archive.rc == 0
    assert FAULT in by_file.out
    assert FAULT in by_archive.out


def test_ansible_inventory_shows_the_nodes(sick: pathlib.Path) -> None:
    ran = run([BIN / "ansible-inventory", "--list"], GPUOPS_CAPTURE=str(sick))
    assert ran.rc == 0
    assert json.loads(ran.out)["gpuops_capture_nodes"]["hosts"] == ["gpu-1", "gpu-2", "gpu-3"]


@pytest.mark.parametrize("playbook", ["gpuops.node.diagnose", ROOT / "diagnose.yml", ROOT / "playbooks" / "diagnose.yml"])
def test_by_name_and_by_path_from_another_directory(
    play: t.Callable[..., Ran], sick: pathlib.Path, tmp_path: pathlib.Path, playbook: t.Any
) -> None:
    ran = play(sick, "-i", "gpu-1,", playbook=playbook, cwd=tmp_path)
    assert ran.rc == 0
    assert FAULT in ran.out


def test_a_relative_capture(play: t.Callable[..., Ran], sick: pathlib.Path) -> None:
    ran = play(sick.name, "-l", "gpu-1", cwd=sick.parent)
    assert ran.rc == 0
    assert FAULT in ran.out


PLAYBOOK = """
- hosts: all
  gather_facts: false
  module_defaults:
    group/gpuops.node.all:
      capture: {capture}
      gangs:
        - name: big
          gpus: 64
          since: 2026-03-12T00:04:00Z
      now: 2026-03-12T07:04:00Z
  tasks:
    - gpuops.node.diagnosis:
        narrate: false
        expected: "{{{{ dict(groups.all | map('extract', hostvars, 'inventory_hostname') | zip([8, 8, 8])) }}}}"
      run_once: true
      register: found
    - ansible.builtin.debug:
        msg: "{{{{ inventory_hostname }}}} {{{{ mine.expected_from }}}} {{{{ mine.impact.gpu_hours_delayed }}}}"
      vars:
        mine: "{{{{ found.verdicts[inventory_hostname] }}}}"
    - ansible.builtin.include_role:
        name: gpuops.node.diagnose
        public: true
      vars:
        gpuops_capture: {capture}
    - ansible.builtin.debug:
        msg: "{{{{ inventory_hostname }}}} has {{{{ gpuops_diagnosis.root.fault }}}}, gpu-1 has {{{{ first.root.fault }}}}"
      vars:
        first: "{{{{ gpuops_diagnosis_run.verdicts['gpu-1'] }}}}"
- hosts: gpu-3
  gather_facts: false
  tasks:
    - ansible.builtin.debug:
        msg: "a later play knows {{{{ gpuops_diagnosis_run.sick | list }}}}"
"""


def test_the_module_and_the_role_in_a_play_of_ones_own(sick: pathlib.Path, tmp_path: pathlib.Path) -> None:
    (tmp_path / "own.yml").write_text(PLAYBOOK.format(capture=json.dumps(str(sick))))
    ran = run([BIN / "ansible-playbook", tmp_path / "own.yml", "-i", "gpu-1,gpu-2,gpu-3"])
    assert ran.rc == 0, ran.out
    assert f"gpu-1 has {FAULT}, gpu-1 has {FAULT}" in ran.out
    assert f"gpu-2 has healthy, gpu-1 has {FAULT}" in ran.out
    assert "a later play knows ['gpu-1']" in ran.out
    assert "gpu-1 declared by the user 448.0" in ran.out
    assert ran.out.count("ROOT") == 1  # the module was told to print nothing


def test_make_diagnose(sick: pathlib.Path, tmp_path: pathlib.Path) -> None:
    command = [
        "make",
        "--no-print-directory",
        "-C",
        ROOT,
        "diagnose",
        f"CAPTURE={sick.name}",
        "LIMIT=gpu-1",
        "PRICE=3",
        "CURRENCY=EUR ",
        "REPORT=out dir",
    ]
    ran = run(command, cwd=sick.parent, PWD=str(sick.parent))
    assert ran.rc == 0, ran.out
    assert FAULT in ran.out
    assert "EUR 24.00 per hour" in ran.out
    assert (sick.parent / "out dir" / "report.html").is_file()
