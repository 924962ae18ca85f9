# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors

from __future__ import annotations

import math
import pathlib

import pytest
from ansible_collections.gpuops.node.plugins.module_utils import runtime
from hypothesis import given, settings
from hypothesis import strategies as st

FIXTURES = pathlib.Path(__file__).parent / "fixtures"


def fixture(name: str) -> str:
    return (FIXTURES / name).read_text(encoding="utf-8")


@pytest.fixture(params=["tomllib", "own reader"])
def either_reader(request, monkeypatch):
    """With the standard library's parser, and as on Python 3.8."""
    if request.param == "own reader":
        monkeypatch.setattr(runtime, "tomllib", None)


@pytest.mark.usefixtures("either_reader")
class TestContainerd:
    def test_version_2(self):
        found = runtime.parse_containerd_config(fixture("containerd_config.v2.toml"))
        assert (found["version"], found["forms"], found["default_runtime"], found["enable_cdi"]) == (2, ["v2"], "nvidia", True)
        assert (found["root"], found["state"], found["grpc_address"]) == (
            "/var/lib/containerd",
            "/run/containerd",
            "/run/containerd/containerd.sock",
        )
        assert found["imports"] == ["/etc/containerd/conf.d/*.toml"] and not found["cri_disabled"] and found["error"] is None
        nvidia = found["runtimes"]["nvidia"]
        assert (nvidia["binary"], nvidia["form"], nvidia["systemd_cgroup"]) == ("/usr/bin/nvidia-container-runtime", "v2", True)
        assert found["runtimes"]["runc"]["binary"] is None
        assert found["lines"]["default_runtime"] == '      default_runtime_name = "nvidia"'
        assert found["lines"]["binary:nvidia"].strip() == 'BinaryName = "/usr/bin/nvidia-container-runtime"'
        assert found["lines"]["runtime:nvidia"].strip() == '[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia]'
        assert found["cdi_spec_dirs"] == ["/etc/cdi", "/var/run/cdi"]

    def test_version_3_ignores_the_old_table(self):
        found = runtime.parse_containerd_config(fixture("containerd_config.v3.toml"))
        assert found["forms"] == ["v2", "v3"]
        assert (found["default_runtime"], found["enable_cdi"]) == ("runc", False)
        nvidia = found["runtimes"]["nvidia"]
        assert (nvidia["form"], nvidia["forms"]) == ("v3", ["v3", "v2"])
        assert nvidia["binary"] == "/usr/local/nvidia/toolkit/nvidia-container-runtime"

    def test_version_4(self):
        found = runtime.parse_containerd_config(fixture("containerd_config.v4.toml"))
        assert (found["version"], found["forms"], found["grpc_address"]) == (4, ["v3"], "/run/containerd/containerd.sock")

    def test_version_1(self):
        found = runtime.parse_containerd_config(fixture("containerd_config.v1.toml"))
        assert (found["version"], found["forms"], found["cri_disabled"]) == (None, ["v1"], True)
        assert found["runtimes"]["nvidia"]["binary"] == "/usr/bin/nvidia-container-runtime"
        assert found["default_runtime"] == "nvidia" and found["linux_runtime"] == "nvidia-container-runtime"

    def test_go_template(self):
        found = runtime.parse_containerd_config(fixture("containerd_config.k3s.tmpl"))
        assert found["template"] and found["error"] is None
        assert (found["forms"], found["default_runtime"]) == (["v2"], "nvidia")
        assert found["runtimes"]["nvidia"]["binary"] == "/usr/bin/nvidia-container-runtime"

    def test_broken_file_says_where_and_is_still_read(self):
        found = runtime.parse_containerd_config(fixture("containerd_config.broken.toml"))
        assert "line 3" in found["error"] and found["error_line"] == '  default_runtime_name "nvidia"'
        assert found["runtimes"]["nvidia"]["binary"] == "/usr/bin/nvidia-container-runtime"

    def test_excerpt_is_no_broken_file(self):
        found = runtime.parse_containerd_config(fixture("containerd_config.excerpt.toml"))
        assert found["fragment"] and found["error"] is None and found["default_runtime"] == "runc" and found["version"] == 2

    def test_indented_fragment(self):
        found = runtime.parse_containerd_config(
            '      [plugins.cri.containerd.runtimes.nvidia.options]\n        BinaryName = "/usr/bin/nvidia-container-runtime"\n'
        )
        assert found["forms"] == ["v1"] and found["runtimes"]["nvidia"]["form"] == "v1"

    def test_array_over_several_lines(self):
        found = runtime.parse_containerd_config(
            'imports = [\n  "/a/*.toml", # first\n  "/b/*.toml",\n]\ndisabled_plugins = [ "io.containerd.grpc.v1.cri" ]\n'
        )
        assert found["imports"] == ["/a/*.toml", "/b/*.toml"] and found["cri_disabled"]

    def test_array_without_end_does_not_swallow_the_rest(self):
        found = runtime.parse_containerd_config(
            'imports = [\nversion = 2\n[plugins."io.containerd.grpc.v1.cri".containerd]\ndefault_runtime_name = "nvidia"\n'
        )
        assert found["error"] and found["version"] == 2 and found["default_runtime"] == "nvidia"

    def test_engine_that_refuses(self):
        line = "containerd: failed to load TOML: /etc/containerd/config.toml: (12, 3): unexpected token"
        assert runtime.parse_containerd_config(line + "\n")["error"] == line

    def test_file_that_is_not_there(self):
        found = runtime.parse_containerd_config("cat: /etc/containerd/config.toml: No such file or directory\n")
        assert found["missing"] and found["error"] is None and found["runtimes"] == {}


def test_duplicate_table_is_an_error_of_the_file():
    pytest.importorskip("tomllib")
    found = runtime.parse_containerd_config('version = 2\n[grpc]\naddress = "/a"\n[grpc]\naddress = "/b"\n')
    assert found["error"] and found["version"] == 2


_KEYS = st.one_of(
    st.from_regex(r"[A-Za-z0-9_-]{1,8}", fullmatch=True), st.sampled_from(["io.containerd.grpc.v1.cri", "a b", "", "ü", 'q"x', "it's"])
)
_SCALARS = st.one_of(
    st.booleans(),
    st.integers(-(2**40), 2**40),
    st.floats(allow_nan=False, allow_infinity=False, width=32),
    st.text(max_size=12).filter(lambda text: "\r" not in text),
)
_VALUES = st.one_of(_SCALARS, st.lists(_SCALARS, max_size=4))
_TABLES = st.dictionaries(_KEYS, _VALUES, max_size=5)


def _toml_string(text: str) -> str:
    out = []
    for char in text:
        if char in '"\\':
            out.append("\\" + char)
        elif ord(char) < 32 or ord(char) == 127 or 0x80 <= ord(char) < 0xA0 or ord(char) in (0x2028, 0x2029):
            out.append(f"\\u{ord(char):04x}")
        else:
            out.append(char)
    return '"' + "".join(out) + '"'


def _toml_value(value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        return _toml_string(value)
    return "[" + ", ".join(_toml_value(item) for item in value) + "]"


@settings(max_examples=150, deadline=None)
@given(top=_TABLES, tables=st.dictionaries(st.tuples(_KEYS, _KEYS), _TABLES, max_size=4))
def test_own_reader_agrees_with_the_standard_library(top, tables):
    tomllib = pytest.importorskip("tomllib")
    top = {key: value for key, value in top.items() if key not in {path[0] for path in tables}}
    lines = [f"{_toml_string(key)} = {_toml_value(value)}" for key, value in top.items()]
    for (first, second), table in tables.items():
        lines.append(f"[{_toml_string(first)}.{_toml_string(second)}] # table")
        lines.extend(f"  {_toml_string(key)} = {_toml_value(value)}" for key, value in table.items())
    text = "\n".join(lines) + "\n"
    expected = tomllib.loads(text)
    reader = runtime.Toml.__new__(runtime.Toml)
    reader.data, reader.lines, reader.bad, reader.template, reader.headers = {}, {}, [], False, []
    reader._read(text)
    assert reader.bad == []

    def same(left, right):
        if isinstance(left, dict):
            return isinstance(right, dict) and left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
        if isinstance(left, list):
            return isinstance(right, list) and len(left) == len(right) and all(same(a, b) for a, b in zip(left, right))
        if isinstance(left, float):
            return isinstance(right, (int, float)) and math.isclose(left, right, rel_tol=1e-9)
        return type(left) is type(right) and left == right

    assert same(expected, reader.data)


@pytest.mark.usefixtures("either_reader")
class TestCrioAndToolkit:
    def test_crio(self):
        found = runtime.parse_crio_config(fixture("crio_config.conf"))
        assert found["runtimes"]["nvidia"]["binary"] == "/usr/bin/nvidia-container-runtime"
        assert set(found["runtimes"]) == {"nvidia", "crun"} and found["default_runtime"] == "nvidia" and found["error"] is None
        assert found["hooks_dirs"] == ["/usr/share/containers/oci/hooks.d", "/run/containers/oci/hooks.d"]
        assert found["lines"]["runtime:nvidia"].strip() == "[crio.runtime.runtimes.nvidia]"

    def test_toolkit(self):
        found = runtime.parse_toolkit_config(fixture("toolkit_config.toml"))
        assert (found["root"], found["ldconfig"], found["no_cgroups"]) == ("/run/nvidia/driver", "@/sbin/ldconfig.real", True)
        assert (found["mode"], found["runtimes"]) == ("auto", ["runc", "crun"])
        assert found["envvar_when_unprivileged"] is True and found["volume_mounts"] is None and found["debug"] is None
        assert found["lines"]["root"] == 'root = "/run/nvidia/driver"' and found["skip_mode_detection"] is False

    def test_toolkit_piece_without_header(self):
        found = runtime.parse_toolkit_config(
            'root = "/"\nno-cgroups = false\nmode = "cdi"\naccept-nvidia-visible-devices-as-volume-mounts = true\n'
        )
        assert (found["root"], found["no_cgroups"], found["mode"], found["volume_mounts"]) == ("/", False, "cdi", True)


class TestDocker:
    def test_daemon(self):
        text = (
            '{"default-runtime": "nvidia", "runtimes": {"nvidia": {"args": [], "path": "nvidia-container-runtime"}},'
            ' "features": {"cdi": true}, "exec-opts": ["native.cgroupdriver=systemd"], "live-restore": false}'
        )
        found = runtime.parse_docker_daemon(text)
        assert found["runtimes"] == {"nvidia": {"binary": "nvidia-container-runtime"}} and found["error"] is None
        assert (found["default_runtime"], found["cdi"], found["cgroup_driver"], found["live_restore"]) == ("nvidia", True, "systemd", False)

    def test_daemon_below_a_prompt(self):
        assert runtime.parse_docker_daemon('# cat /etc/docker/daemon.json\n{"default-runtime": "nvidia"}\n')["default_runtime"] == "nvidia"

    @pytest.mark.parametrize("text", ['{"runtimes": {', "[1]", "[" * 100000, "not json"])
    def test_daemon_broken(self, text):
        found = runtime.parse_docker_daemon(text)
        assert found["error"] and found["runtimes"] == {}

    def test_daemon_empty_is_docker_s_default(self):
        assert runtime.parse_docker_daemon("")["error"] is None

    def test_info(self):
        found = runtime.parse_docker_info(fixture("docker_info.txt"))
        assert found["runtimes"] == ["io.containerd.runc.v2", "nvidia", "runc"]
        assert (found["default_runtime"], found["version"], found["cgroup_driver"]) == ("nvidia", "24.0.7", "systemd")
        assert found["cdi_spec_dirs"] == ["/etc/cdi", "/var/run/cdi"]

    def test_info_json(self):
        found = runtime.parse_docker_info(
            '{"Runtimes": {"runc": {}, "nvidia": {}}, "DefaultRuntime": "runc", "ServerVersion": "27.0", "CgroupDriver": "cgroupfs"}'
        )
        assert (found["runtimes"], found["default_runtime"], found["version"], found["cgroup_driver"]) == (
            ["nvidia", "runc"],
            "runc",
            "27.0",
            "cgroupfs",
        )

    def test_info_daemon_down(self):
        assert (
            "Cannot connect" in runtime.parse_docker_info("Cannot connect to the Docker daemon at unix:///var/run/docker.sock.\n")["error"]
        )


class TestCdi:
    def test_yaml(self):
        found = runtime.parse_cdi_spec(fixture("cdi_spec.yaml"))
        assert (found["kind"], found["cdi_version"], found["versions"]) == ("nvidia.com/gpu", "0.5.0", ["550.90.07"])
        assert found["devices"] == ["0", "GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a77", "all"]
        assert found["host_paths"] == [
            "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.550.90.07",
            "/usr/lib/x86_64-linux-gnu/libcuda.so.550.90.07",
            "/usr/lib/x86_64-linux-gnu/libnvidia-egl-gbm.so.1.1.0",
        ]
        assert "/run/nvidia/driver/dev/nvidiactl" in found["device_nodes"] and "/dev/nvidia0" in found["device_nodes"]
        assert "libcuda.so.550.90.07" in found["line"]

    def test_json(self):
        found = runtime.parse_cdi_spec(fixture("cdi_spec.json"))
        assert (found["kind"], found["devices"], found["versions"]) == ("k8s.device-plugin.nvidia.com/gpu", ["gpu-0"], ["535.104.05"])
        assert found["host_paths"] == ["/usr/lib64/libcuda.so.535.104.05"] and found["device_nodes"] == ["/driver-root/dev/nvidia0"]

    def test_json_cut_off(self):
        text = fixture("cdi_spec.json")
        found = runtime.parse_cdi_spec(text[: text.index('", "containerPath"')])
        assert found["error"] and found["versions"] == []  # libcuda.so.535.104.05 may go on where the text ends
        found = runtime.parse_cdi_spec(text[: text.index('"containerPath": "/usr')])
        assert found["error"] and found["versions"] == ["535.104.05"]

    def test_container_cli_trace(self):
        found = runtime.parse_nvidia_container_cli(fixture("nvidia_container_cli.info.txt"))
        assert (found["nvrm_version"], found["cuda_version"], found["devices"], found["healthy"]) == ("535.129.03", "12.2", 2, True)
        assert found["lib_version"] == "1.13.5" and found["listed_devices"] == ["/dev/nvidia0"] and found["error"] is None
        assert found["line"] == "NVRM version:   535.129.03"

    @pytest.mark.parametrize(
        "error",
        [
            "initialization error: load library failed: libnvidia-ml.so.1: cannot open shared object file: no such file or directory",
            "initialization error: nvml error: driver/library version mismatch",
            "detection error: path error: /run/nvidia/driver//usr/lib: no such file or directory",
        ],
    )
    def test_container_cli_error(self, error):
        found = runtime.parse_nvidia_container_cli("nvidia-container-cli: " + error + "\n")
        assert found["error"] == error and not found["healthy"] and found["line"] == "nvidia-container-cli: " + error

    def test_container_cli_version_and_csv(self):
        assert runtime.parse_nvidia_container_cli("cli-version: 1.14.3\nlib-version: 1.14.3\n")["cli_version"] == "1.14.3"
        text = (
            "NVRM version,CUDA version\n535.129.03,12.2\n\nDevice Index,Device Minor,Model,Brand,GPU UUID,Bus"
            " Location,Architecture\n0,0,A100,Nvidia,GPU-1,00000000:07:00.0,8.0\n"
        )
        found = runtime.parse_nvidia_container_cli(text)
        assert (found["nvrm_version"], found["cuda_version"], found["devices"], found["healthy"]) == ("535.129.03", "12.2", 1, True)

    def test_ctk_list(self):
        found = runtime.parse_nvidia_ctk(fixture("nvidia_ctk.list.txt"))
        assert found["version"] == "1.17.8" and found["error"] is None
        assert found["cdi_devices"] == ["nvidia.com/gpu=0", "nvidia.com/gpu=GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a77", "nvidia.com/gpu=all"]

    @pytest.mark.parametrize(
        "line",
        [
            "ERRO[0000] failed to generate CDI spec: failed to initialize NVML: ERROR_LIBRARY_NOT_FOUND",
            'time="2024-05-02T09:00:00Z" level=error msg="failed to generate CDI spec: failed to initialize NVML: ERROR_LIBRARY_NOT_FOUND"',
        ],
    )
    def test_ctk_error(self, line):
        found = runtime.parse_nvidia_ctk(
            'INFO[0000] Auto-detected mode as "nvml"\nINFO[0000] Using driver version 535.183.06\n' + line + "\n"
        )
        assert found["error"] == "failed to generate CDI spec: failed to initialize NVML: ERROR_LIBRARY_NOT_FOUND"
        assert (found["mode"], found["driver_version"]) == ("nvml", "535.183.06")


class TestSystemctl:
    def test_status(self):
        found = runtime.parse_systemctl(fixture("systemctl.status.txt"))
        units = found["units"]
        engine = units["containerd.service"]
        assert (engine["load"], engine["active"], engine["sub"], engine["enabled"]) == ("loaded", "active", "running", "enabled")
        assert (engine["since"], engine["pid"]) == ("2024-05-02T06:55:20Z", 1234)
        fabric = units["nvidia-fabricmanager.service"]
        assert (fabric["active"], fabric["result"], fabric["enabled"], fabric["since"]) == (
            "failed",
            "exit-code",
            "disabled",
            "2024-05-02T06:56:01Z",
        )
        assert (units["nvidia-persistenced.service"]["active"], units["nvidia-persistenced.service"]["enabled"]) == ("inactive", "static")
        kubelet = units["kubelet.service"]
        assert (kubelet["active"], kubelet["sub"], kubelet["result"]) == ("activating", "auto-restart", "exit-code")
        assert units["crio.service"]["load"] == "not-found"
        assert found["lines"]["nvidia-fabricmanager.service"].strip().startswith("Active: failed")

    def test_show(self):
        units = runtime.parse_systemctl(fixture("systemctl.show.txt"))["units"]
        assert (units["containerd.service"]["active"], units["containerd.service"]["since"]) == ("active", "2024-05-02T06:55:20Z")
        assert (units["kubelet.service"]["active"], units["kubelet.service"]["since"]) == ("failed", "2024-05-02T08:00:00Z")

    def test_show_without_blank_lines_and_without_id(self):
        text = (
            "$ systemctl show -p ActiveState,ActiveEnterTimestamp containerd kubelet\nActiveState=active\n"
            "ActiveEnterTimestamp=Thu 2024-05-02 06:55:20 UTC\nActiveState=inactive\n"
        )
        units = runtime.parse_systemctl(text)["units"]
        assert units["containerd.service"]["active"] == "active" and units["kubelet.service"]["active"] == "inactive"

    def test_lists_and_is_active(self):
        units = runtime.parse_systemctl(fixture("systemctl.list.txt"))["units"]
        assert (units["containerd.service"]["active"], units["containerd.service"]["enabled"]) == ("active", "enabled")
        assert units["nvidia-fabricmanager.service"]["active"] == "failed"
        assert units["nvidia-persistenced.service"]["load"] == "not-found"
        assert units["nvidia-cdi-refresh.path"]["enabled"] == "static"
        assert units["kubelet.service"]["active"] == "active"

    def test_bare_word(self):
        found = runtime.parse_systemctl("inactive\n")
        assert found["bare"] == ["inactive"] and found["units"] == {}
