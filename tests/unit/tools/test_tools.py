# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors
from __future__ import annotations

import os
import pathlib
import sys
import types
import typing as t

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]


@pytest.fixture
def tools(monkeypatch: pytest.MonkeyPatch) -> types.SimpleNamespace:
    monkeypatch.syspath_prepend(str(ROOT / "tests" / "tools"))
    for name in ("env", "doclint"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    import doclint
    import env

    return types.SimpleNamespace(env=env, doclint=doclint)


# -- env.py


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, ["-l", "gpu-17", '"gpuops_gpu_hour_price": "2.50"', "overnight-kernel-update"]),
        ({"LIMIT": "all"}, ["-l", "all", "overnight-kernel-update"]),
        ({"CAPTURE": "my capture"}, ['"gpuops_capture": "/where/make was/my capture"']),
        ({"CAPTURE": "/abs", "LIMIT": "gpu-3"}, ["-l", "gpu-3", '"gpuops_capture": "/abs"']),
        ({"CAPTURE": "~/cap"}, [os.path.expanduser("~/cap")]),
        ({"PRICE": "3", "CURRENCY": "EUR ", "REPORT": "out"}, ['"gpuops_gpu_hour_price": "3"', '"EUR "', '"/where/make was/out"']),
    ],
)
def test_what_make_diagnose_runs(
    tools: types.SimpleNamespace, monkeypatch: pytest.MonkeyPatch, given: dict[str, str], words: list[str]
) -> None:
    monkeypatch.setenv("GPUOPS_CALLER_DIR", "/where/make was")
    command = tools.env.diagnose_command(pathlib.Path("/venv"), given)
    assert command[:2] == ["/venv/bin/ansible-playbook", str(ROOT / "diagnose.yml")]
    for word in words:
        assert any(word in part for part in command), command


def test_ones_own_capture_has_no_price_and_no_limit_of_its_own(tools: types.SimpleNamespace) -> None:
    command = tools.env.diagnose_command(pathlib.Path("/venv"), {"CAPTURE": "/abs"})
    assert "-l" not in command
    assert not any("price" in part for part in command)


def test_requirements_include_the_files_they_name(tools: types.SimpleNamespace) -> None:
    names = [path.name for path in tools.env.requirement_files(tools.env.REQUIREMENTS / "core-2.19.txt")]
    assert names == ["core-2.19.txt", "test.txt", "tools.txt"]


def test_a_python_is_found_and_a_shim_is_not(tools: types.SimpleNamespace, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    version = "{}.{}".format(*sys.version_info[:2])
    shim = tmp_path / f"python{version}"
    shim.write_text("#!/bin/sh\necho no such version >&2\nexit 127\n")
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(tools.env, "_candidates", lambda wanted: [str(shim), str(tmp_path / "missing"), sys.executable])
    found = tools.env.find_python(version)
    assert found is not None
    assert found != str(shim)
    assert tools.env.find_python("2.7") is None


def test_a_python_without_ensurepip_is_filled_by_its_pip(
    tools: types.SimpleNamespace, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    ran: list[list[str]] = []

    def run(command: list[t.Any], log: t.Any) -> None:
        ran.append([str(part) for part in command])
        if "--without-pip" not in ran[-1]:
            raise tools.env.EnvError("ensurepip is not available")

    monkeypatch.setattr(tools.env, "_run", run)
    pip = tools.env._venv(sys.executable, tmp_path / "venv", tmp_path / "log")
    assert ran == [
        [sys.executable, "-m", "venv", str(tmp_path / "venv")],
        [sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "venv")],
    ]
    assert [str(part) for part in pip] == [sys.executable, "-m", "pip", "--python", str(tmp_path / "venv" / "bin" / "python")]


def test_no_python_is_said_in_a_sentence(tools: types.SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools.env, "find_python", lambda version: None)
    with pytest.raises(tools.env.EnvError, match="no Python 3.12 or 3.13 or 3.14 is on this machine"):
        tools.env.python_for("core-2.21")


def test_the_cache_can_be_moved(tools: types.SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/elsewhere")
    assert tools.env.cache_dir() == pathlib.Path("/elsewhere/gpuops-node")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert tools.env.cache_dir() == pathlib.Path(os.path.expanduser("~/.cache/gpuops-node"))


# -- doclint.py


@pytest.fixture
def checkout(tmp_path: pathlib.Path) -> pathlib.Path:
    """The smallest checkout that has nothing wrong with it."""
    files = {
        "Makefile": "test:\n\ndiagnose:\n",
        "README.md": (
            "# It\n\n`make test`, `make diagnose`. See [more](docs/x.md#a-b), [here](#it).\n\n"
            "```\n$ ansible-playbook playbooks/p.yml\n```\n"
        ),
        "docs/x.md": "# X\n\n## A `b`!\n",
        "playbooks/p.yml": "",
        "roles/r/meta/argument_specs.yml": "argument_specs:\n  main:\n    options:\n      gpuops_a:\n        type: str\n",
        "roles/r/defaults/main.yml": "gpuops_a: 1\n",
        "roles/r/README.md": "| `gpuops_a` | 1 | It. |\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def problems(tools: types.SimpleNamespace, root: pathlib.Path) -> list[str]:
    return list(tools.doclint.problems(root, [str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()]))


def test_nothing_wrong(tools: types.SimpleNamespace, checkout: pathlib.Path) -> None:
    assert problems(tools, checkout) == []


@pytest.mark.parametrize(
    ("file", "old", "new", "words"),
    [
        ("README.md", "docs/x.md#a-b", "docs/y.md", "docs/y.md leads nowhere"),
        ("README.md", "docs/x.md#a-b", "docs/x.md#a-c", "a heading that is not there"),
        ("README.md", "#it", "#that", "a heading that is not there"),
        ("README.md", "`make test`", "`make tests`", "make tests is not a target"),
        ("README.md", "`make diagnose`", "nothing", "make diagnose is not told"),
        ("README.md", "playbooks/p.yml", "playbooks/q.yml", "playbooks/q.yml does not exist"),
        ("README.md", "playbooks/p.yml", "gpuops.node.q", "gpuops.node.q does not exist"),
        ("roles/r/defaults/main.yml", "gpuops_a", "gpuops_b", "gpuops_b is not both in the argument specification and in the defaults"),
        ("roles/r/README.md", "gpuops_a", "gpuops_b", "gpuops_a is not both in the argument specification and in the table"),
    ],
)
def test_what_is_wrong_is_found(tools: types.SimpleNamespace, checkout: pathlib.Path, file: str, old: str, new: str, words: str) -> None:
    text = (checkout / file).read_text()
    assert old in text
    (checkout / file).write_text(text.replace(old, new))
    assert any(words in problem for problem in problems(tools, checkout)), problems(tools, checkout)


@pytest.mark.parametrize("missing", ["roles/r/README.md", "roles/r/meta/argument_specs.yml"])
def test_a_role_that_is_not_documented(tools: types.SimpleNamespace, checkout: pathlib.Path, missing: str) -> None:
    (checkout / missing).unlink()
    found: t.Any = problems(tools, checkout)
    assert found == [f"roles/r: there is no {missing.removeprefix('roles/r/')}"]
