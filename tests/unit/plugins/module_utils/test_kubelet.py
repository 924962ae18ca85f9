# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors

from __future__ import annotations

import pathlib

import pytest
from ansible_collections.gpuops.node.plugins.module_utils import kubelet

FIXTURES = pathlib.Path(__file__).parent / "fixtures"


def fixture(name: str) -> str:
    return (FIXTURES / name).read_text(encoding="utf-8")


class TestPluginLog:
    def test_0_12(self):
        found = kubelet.parse_plugin_log(fixture("plugin.0.12.txt"))
        assert found["generation"] == "<=0.12"
        (registered,) = found["registered"]
        assert (registered["resource"], registered["time"]) == ("nvidia.com/gpu", "2022-05-13T23:09:24")
        assert found["serving"][0]["socket"] == "/var/lib/kubelet/device-plugins/nvidia-gpu.sock"
        assert [restart["time"] for restart in found["kubelet_restarts"]] == ["2022-05-14T01:00:00"]
        (sick,) = found["unhealthy"]
        assert (sick["device"], sick["xid"]) == ("GPU-adb24b25-1db1-436e-d958-ddee5da83d07", 79) and "XidCriticalError" in sick["line"]
        assert (found["fail_on_init_error"], found["mig_strategy"], found["driver_root"]) == (True, "single", "/run/nvidia/driver")
        assert (found["device_list_strategy"], found["sharing_replicas"], found["sharing"]) == (["envvar"], 4, "time-slicing")
        assert not found["exited"] and found["nvml_error"] is None

    def test_0_14_waits_without_a_library(self):
        found = kubelet.parse_plugin_log(fixture("plugin.0.14.txt"))
        assert (found["generation"], found["waiting"], found["exited"]) == ("0.13-0.15", True, False)
        assert found["nvml_error"].startswith("could not load NVML library: libnvidia-ml.so.1")
        assert found["fail_on_init_error"] is False and found["device_list_strategy"] == ["envvar", "cdi-annotations"]
        assert found["registered"] == [] and len(found["starts"]) == 1 and found["starts"][0]["time"] == "04-09T06:34:15"
        assert found["container_driver_root"] == "/driver-root" and found["sharing_replicas"] is None

    def test_0_17_is_silent_when_all_is_well(self):
        found = kubelet.parse_plugin_log(fixture("plugin.0.17.txt"))
        assert (found["generation"], found["nvml_error"], found["exited"]) == ("0.16-0.18", None, False)
        assert found["registered"][0]["time"] == "08-05T07:07:03" and len(found["starts"]) == 1
        assert (found["sharing_replicas"], found["sharing"], found["discovery_strategy"]) == (10, "mps", "auto")

    def test_0_19_exits(self):
        found = kubelet.parse_plugin_log(fixture("plugin.0.19.txt"))
        assert (found["generation"], found["exited"], found["nvml_error"]) == (">=0.19", True, "ERROR_LIBRARY_NOT_FOUND")
        assert found["starts"][0]["time"] == "2026-05-02T07:07:03Z"
        assert "error starting plugins" in found["exit_line"]

    @pytest.mark.parametrize(
        ("line", "generation"),
        [
            ("2022/12/01 10:00:00 Detected NVML platform: found NVML library", "0.13-0.15"),
            ("I0409 06:34:15.871846 1 factory.go:107] Detected NVML platform: found NVML library", "0.13-0.15"),
            ("E0409 06:34:15.871846 1 factory.go:112] Incompatible strategy detected auto", "0.16-0.18"),
            ("W0805 07:07:03.757556 1 rm.go:109] NVML not detected: could not load NVML library: x", "0.16-0.18"),
            ("I1006 16:12:54.190011 1 plugin-manager.go:101] Detected platform: nvml", ">=0.19"),
            ("2022/05/13 23:09:23 Failed to initialize NVML: could not load NVML library.", "<=0.12"),
            ("I0409 06:34:16.100000 1 server.go:149] Registered device plugin for 'nvidia.com/gpu' with Kubelet", None),
            ("something else entirely", None),
        ],
    )
    def test_generations(self, line, generation):
        assert kubelet.parse_plugin_log(line + "\n")["generation"] == generation

    def test_a_registration_takes_failures_back(self):
        text = (
            fixture("plugin.0.14.txt")
            + "I0409 07:00:00.000000 1 server.go:146] Registered device plugin for 'nvidia.com/gpu' with Kubelet\n"
        )
        found = kubelet.parse_plugin_log(text)
        assert found["nvml_error"] is None and not found["waiting"] and "nvml_error_line" not in found

    def test_a_start_takes_the_exit_back(self):
        found = kubelet.parse_plugin_log(fixture("plugin.0.19.txt") + "I0502 08:00:00.000000 1 main.go:238] Starting FS watcher for /x\n")
        assert not found["exited"] and "exit_line" not in found and len(found["starts"]) == 2

    @pytest.mark.parametrize(
        ("line", "why"),
        [
            ("Failed to initialize NVML: ERROR_LIB_RM_VERSION_MISMATCH.", "ERROR_LIB_RM_VERSION_MISMATCH"),
            ("E0409 06:34:15.971171 1 factory.go:99] Failed to initialize NVML: ERROR_UNKNOWN.", "ERROR_UNKNOWN"),
            ("error starting plugins: nvml init failed: ERROR_LIBRARY_NOT_FOUND", "ERROR_LIBRARY_NOT_FOUND"),
            ("2022/05/13 23:09:23 Failed to initialize NVML: Driver Not Loaded.", "Driver Not Loaded"),
        ],
    )
    def test_nvml_errors(self, line, why):
        assert kubelet.parse_plugin_log(line + "\n")["nvml_error"] == why

    def test_new_xid_text_and_all_devices(self):
        found = kubelet.parse_plugin_log(
            "I0624 22:58:05.486697 1 health.go:185] XidCriticalError: Xid=94 on Device=GPU-1111; marking device as unhealthy.\n"
            "Error waiting for event: ERROR_UNKNOWN; Marking all devices as unhealthy\n"
        )
        assert [(item["device"], item["xid"]) for item in found["unhealthy"]] == [("GPU-1111", 94), ("all", None)]

    def test_flags_instead_of_a_dump(self):
        found = kubelet.parse_plugin_log(
            "nvidia-device-plugin --fail-on-init-error=false --mig-strategy=mixed --device-list-strategy=envvar,cdi-cri\n"
            "FAIL_ON_INIT_ERROR=true\n"
        )
        assert (found["fail_on_init_error"], found["mig_strategy"], found["device_list_strategy"]) == (True, "mixed", ["envvar", "cdi-cri"])

    def test_start_errors_and_retry(self):
        text = (
            "E0409 06:34:20.000000 1 server.go:146] Could not register device plugin: context deadline exceeded\n"
            "I0409 06:34:20.0 1 main.go:1] Failed to start one or more plugins. Retrying in 30s...\n"
        )
        found = kubelet.parse_plugin_log(text)
        assert len(found["start_errors"]) == 1 and found["retrying"]

    def test_waiting_for_the_driver(self):
        assert kubelet.parse_plugin_log("waiting for the driver validations to be ready...\n")["waiting_for_driver"]
        assert not kubelet.parse_plugin_log("waiting for the driver validations to be ready...\n" + fixture("plugin.0.17.txt"))[
            "waiting_for_driver"
        ]

    def test_shutdown(self):
        found = kubelet.parse_plugin_log('I0409 06:34:20.000000 1 main.go:1] Received signal "terminated", shutting down.\n')
        assert found["exited"]


class TestKubeletLog:
    def test_klog_below_journal(self):
        found = kubelet.parse_kubelet_log(fixture("kubelet_log.klog.txt"))
        assert found["starts"] == ["05-02T06:55:20", "05-02T09:00:00"]
        (registration,) = found["registrations"]
        assert (registration["resource"], registration["time"], registration["lineno"]) == ("nvidia.com/gpu", "05-02T06:55:30", 5)
        assert [(item["resource"], item["time"]) for item in found["ended"]] == [
            ("nvidia.com/gpu", "05-02T08:00:00"),
            ("nvidia.com/gpu", "05-02T08:00:01"),
        ]
        assert len(found["checkpoint_errors"]) == 1 and "checkpoint is corrupted" in found["checkpoint_errors"][0]
        assert len(found["checkpoint_missing"]) == 1 and found["root_dir"] == "/data/kubelet"

    def test_year_from_the_journal(self):
        line = (
            '2024-05-02T06:55:30+0000 gpu-a kubelet[1500]: I0502 06:55:30.000000    1500 server.go:144] "Got registration'
            ' request from device plugin with resource" resourceName="nvidia.com/gpu"'
        )
        (registration,) = kubelet.parse_kubelet_log(line + "\n")["registrations"]
        assert registration["time"] == "2024-05-02T06:55:30+00:00" and registration["time_text"] == "2024-05-02T06:55:30+0000"

    def test_klog_alone_has_no_year(self):
        line = (
            'I0107 20:32:59.870066    1500 server.go:144] "Got registration request from device plugin with resource"'
            ' resourceName="nvidia.com/mig-1g.10gb"'
        )
        (registration,) = kubelet.parse_kubelet_log(line)["registrations"]
        assert (registration["resource"], registration["time"], registration["time_text"]) == (
            "nvidia.com/mig-1g.10gb",
            "01-07T20:32:59",
            "I0107 20:32:59.870066",
        )

    def test_words_before_structured_logging(self):
        found = kubelet.parse_kubelet_log(
            'I0107 20:32:59.870066 1500 manager.go:399] Got registration request from device plugin with resource name "nvidia.com/gpu"\n'
            "E0107 20:33:59.870066 1500 endpoint.go:104] listAndWatch ended unexpectedly for device plugin nvidia.com/gpu"
            " with error rpc error: code = Unavailable\n"
        )
        assert found["registrations"][0]["resource"] == "nvidia.com/gpu" and found["ended"][0]["resource"] == "nvidia.com/gpu"

    def test_k3s(self):
        found = kubelet.parse_kubelet_log(
            'time="2024-05-02T06:55:20Z" level=info msg="Starting k3s v1.29.4+k3s1 (94e29e2e)"\n'
            'time="2024-05-02T06:55:25Z" level=info msg="Running kubelet --cloud-provider=external --root-dir=/var/lib/kubelet2"\n'
            'I0502 06:55:26.200000    1500 server.go:487] "Kubelet version" kubeletVersion="v1.29.4+k3s1"\n'
        )
        assert found["starts"] == ["2024-05-02T06:55:20Z"] and found["root_dir"] == "/var/lib/kubelet2"


class TestCheckpoint:
    def test_numa_and_flat(self):
        found = kubelet.parse_checkpoint(fixture("kubelet_checkpoint.json"))
        assert found["registered"] == {"nvidia.com/gpu": ["GPU-a", "GPU-b", "GPU-c", "GPU-d"], "rdma/hca": []} and found["error"] is None
        first, second = found["entries"]
        assert (first["container"], first["resource"], first["devices"]) == ("train", "nvidia.com/gpu", ["GPU-a", "GPU-b", "GPU-c"])
        assert first["pod_uid"] == "0f9b8f6e-1111-4222-8333-444455556666" and first["numa"]["1"] == ["GPU-b", "GPU-c"]
        assert second["devices"] == ["GPU-d"]

    def test_prompt_before_it(self):
        assert kubelet.parse_checkpoint("# cat kubelet_internal_checkpoint\n" + fixture("kubelet_checkpoint.json"))["error"] is None

    def test_old_form_without_data(self):
        assert kubelet.parse_checkpoint('{"PodDeviceEntries": null, "RegisteredDevices": {"nvidia.com/gpu": ["a"]}}')["registered"] == {
            "nvidia.com/gpu": ["a"]
        }

    @pytest.mark.parametrize("text", ["", "{", '{"a": 1}', "[]", '{"Data": []}', '{"a":' * 50000])
    def test_unreadable(self, text):
        found = kubelet.parse_checkpoint(text)
        assert found["error"] and found["entries"] == [] and found["registered"] == {}


class TestFlagsAndDirectories:
    @pytest.mark.parametrize(
        ("text", "field", "value"),
        [
            ("/usr/bin/kubelet --root-dir=/data/kubelet --cpu-manager-policy=static", "root_dir", "/data/kubelet"),
            ("/usr/bin/kubelet\0--root-dir\0/data/kubelet\0--v=2", "root_dir", "/data/kubelet"),
            (
                'FLAG: --container-runtime-endpoint="unix:///run/containerd/containerd.sock"',
                "runtime_endpoint",
                "unix:///run/containerd/containerd.sock",
            ),
            ("topologyManagerPolicy: single-numa-node", "topology_manager_policy", "single-numa-node"),
            ('{"cpuManagerPolicy":"static","x":1}', "cpu_manager_policy", "static"),
            (
                "containerRuntimeEndpoint: unix:///run/k3s/containerd/containerd.sock",
                "runtime_endpoint",
                "unix:///run/k3s/containerd/containerd.sock",
            ),
            ("# cpuManagerPolicy: static", "cpu_manager_policy", None),
        ],
    )
    def test_flags(self, text, field, value):
        assert kubelet.parse_kubelet_flags(text + "\n")[field] == value

    def test_flag_wins_over_file(self):
        assert (
            kubelet.parse_kubelet_flags("kubelet --cpu-manager-policy=static\ncpuManagerPolicy: none\n")["cpu_manager_policy"] == "static"
        )

    def test_device_plugins(self):
        found = kubelet.parse_ls_device_plugins(fixture("ls_device_plugins.txt"))
        assert (found["sockets"], found["checkpoint"], found["missing"]) == (["kubelet.sock", "nvidia-gpu.sock"], True, False)
        assert found["times"]["nvidia-gpu.sock"] == "10-07T00:12:00"

    def test_device_plugins_missing(self):
        found = kubelet.parse_ls_device_plugins("ls: cannot access '/var/lib/kubelet/device-plugins': No such file or directory\n")
        assert found["missing"] and found["sockets"] == []

    def test_validations(self):
        found = kubelet.parse_validations(fixture("validations.txt"))
        assert found["files"] == {
            ".driver-ctr-ready": "05-02T06:58:00",
            "driver-ready": "2024-05-02T06:59:30+00:00",
            "toolkit-ready": "05-02T07:00:00",
        }
        assert found["driver"] == {"IS_HOST_DRIVER": "false", "NVIDIA_DRIVER_ROOT": "/run/nvidia/driver"} and not found["missing"]

    def test_validations_short_and_missing(self):
        assert kubelet.parse_validations("cuda-ready  driver-ready  plugin-ready  workload-type\n")["files"] == {
            "cuda-ready": None,
            "driver-ready": None,
            "plugin-ready": None,
            "workload-type": None,
        }
        assert kubelet.parse_validations("ls: cannot access '/run/nvidia/validations': No such file or directory\n")["missing"]


class TestValidator:
    def test_waits_for_the_driver_container(self):
        found = kubelet.parse_validator_log(fixture("validator.driver.txt"))
        assert (found["step"], found["done"], found["waiting"], found["error_line"]) == ("driver", False, True, None)
        assert (found["host_smi_rc"], found["retries"]) == (127, 2)

    @pytest.mark.parametrize(
        ("text", "step", "done", "error"),
        [
            ("all validations are successful", "all", True, False),
            ("toolkit is ready", "toolkit", True, False),
            (
                'toolkit is not ready\nError: error validating toolkit installation: exec: "nvidia-smi": executable file not'
                " found in $PATH",
                "toolkit",
                False,
                True,
            ),
            ("[Vector addition of 50000 elements]\nTest PASSED\nDone", "cuda", True, False),
            ("[Vector addition of 50000 elements]\nFailed to allocate device vector A (error code unknown error)!", "cuda", False, True),
            ('time="x" level=info msg="pod nvidia-cuda-validator-abcde have run successfully"', "cuda", True, False),
            ('time="x" level=info msg="pod nvidia-device-plugin-validator-abcde have run successfully"', "plugin", True, False),
            ("GPU resources are not yet discovered by the node, retry: 12", "plugin", False, False),
            (
                "Error: error validating plugin installation: gave up waiting for pod nvidia-device-plugin-validator-x to be available",
                "plugin",
                False,
                True,
            ),
            (
                'time="x" level=info msg="Detected a pre-installed driver on the host"\n'
                'time="x" level=info msg="creating symlinks under /dev/char that correspond to NVIDIA character devices"',
                "driver",
                True,
                False,
            ),
            (
                'msg="creating symlinks under /dev/char that correspond"\nmsg="Error: error validating driver installation:'
                ' error creating symlink creator: x"',
                "driver",
                False,
                True,
            ),
        ],
    )
    def test_ends(self, text, step, done, error):
        found = kubelet.parse_validator_log(text + "\n")
        assert (found["step"], found["done"], found["error_line"] is not None) == (step, done, error)

    def test_waiting_for_a_workload_pod(self):
        found = kubelet.parse_validator_log('time="x" level=info msg="pod nvidia-cuda-validator-abcde is curently in Pending phase"\n')
        assert (found["step"], found["waiting"], found["done"]) == ("cuda", True, False)

    def test_toolkit_step_ends_with_the_table_of_nvidia_smi(self):
        text = (
            "running command nvidia-smi with args []\n| NVIDIA-SMI 535.129.03             Driver Version: 535.129.03  "
            " CUDA Version: 12.2     |\n"
        )
        found = kubelet.parse_validator_log(text)
        assert (found["step"], found["done"], found["waiting"]) == ("toolkit", True, False)

    def test_nothing_known(self):
        found = kubelet.parse_validator_log("hello\n")
        assert "step" not in found and not found["done"] and not found["waiting"]
