# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors

from __future__ import annotations

import pathlib

import pytest
from ansible_collections.gpuops.node.plugins.module_utils import hardware

FIXTURES = pathlib.Path(__file__).parent / "fixtures"


def fixture(name: str) -> str:
    return (FIXTURES / name).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("printed", "address"),
    [
        ("9b:00.0", "0000:9b:00.0"),
        ("0000:9B:00", "0000:9b:00.0"),
        ("00000000:9B:00.0", "0000:9b:00.0"),
        ("10000:01:00.2", "10000:01:00.2"),
        ("9b:00", "0000:9b:00.0"),
        ("nonsense", None),
        ("9b:00.9", None),
    ],
)
def test_pci_address(printed, address):
    assert hardware.pci_address(printed) == address


class TestLspci:
    def test_nnk(self):
        devices = {device["address"]: device for device in hardware.parse_lspci(fixture("lspci.nnk.txt"))["devices"]}
        assert list(devices) == ["0000:07:00.0", "0000:1b:00.0", "0001:43:00.0", "0000:61:00.0", "0000:61:00.1"]
        switch = devices["0000:07:00.0"]
        assert (switch["gpu"], switch["nvswitch"], switch["driver"]) == (False, True, "nvidia-nvswitch")
        gpu = devices["0000:1b:00.0"]
        assert gpu["gpu"] and not gpu["nvswitch"]
        assert (gpu["class_name"], gpu["class_id"], gpu["device_id"], gpu["rev"]) == ("3D controller", "0302", "10de:2330", "a1")
        assert gpu["name"] == "NVIDIA Corporation GH100 [H100 SXM5 80GB]"
        assert gpu["driver"] == "nvidia" and gpu["modules"] == ["nvidiafb", "nouveau", "nvidia"]
        assert gpu["line"].startswith("1b:00.0 3D controller [0302]")
        lost = devices["0001:43:00.0"]
        assert lost["gpu"] and lost["rev"] == "ff" and lost["unreadable"] and lost["driver"] is None
        passed = devices["0000:61:00.0"]
        assert passed["gpu"] and passed["driver"] == "vfio-pci" and passed["unassigned"] and "prog-if" not in passed["name"]
        audio = devices["0000:61:00.1"]
        assert not audio["gpu"] and not audio["nvswitch"]

    def test_plain_form_knows_gpus_by_class_name(self):
        text = (
            "00:1e.0 3D controller: NVIDIA Corporation GK210GL [Tesla K80] (rev a1)\n"
            "00:1f.0 VGA compatible controller: Matrox G200 (rev 05)\n"
        )
        (device,) = hardware.parse_lspci(text)["devices"]
        assert device["gpu"] and device["class_id"] is None and device["device_id"] is None and device["rev"] == "a1"

    def test_numeric_form(self):
        (device,) = hardware.parse_lspci("3b:00.0 0302: 10de:20f1 (rev a1)\n3c:00.0 0200: 15b3:1017\n")["devices"]
        assert device["gpu"] and device["device_id"] == "10de:20f1" and device["rev"] == "a1"

    def test_driver_of_another_vendor_is_not_given_to_the_gpu_before_it(self):
        text = (
            "1b:00.0 3D controller: NVIDIA Corporation Device 2330\n1c:00.0 Ethernet controller: Mellanox MT28908\n"
            "\tKernel driver in use: mlx5_core\n"
        )
        (device,) = hardware.parse_lspci(text)["devices"]
        assert device["driver"] is None

    def test_missing_program(self):
        assert hardware.parse_lspci("bash: lspci: command not found\n") == {"devices": [], "missing": True}


class TestKernelLog:
    def test_syslog(self):
        found = hardware.parse_kernel_log(fixture("kernel_log.syslog.txt"))
        assert found["linux_version"] == "5.15.0-105-generic" and found["boot_lineno"] == 1
        assert (found["loaded_version"], found["open_module"]) == ("550.54.14", True)
        contained, caused, action = found["xids"]
        assert (contained["pci"], contained["xid"], contained["pid"], contained["process"]) == ("0000:9b:00.0", 94, 7194, "python3")
        assert (contained["gpu_instance"], contained["compute_instance"]) == ("05", "00")
        assert contained["text"] == "Contained: CE User Channel (0x9). RST: No, D-RST: No"
        assert (contained["time"], contained["time_text"], contained["uptime"]) == ("05-02T09:40:01", "May  2 09:40:01", 26934.11801)
        assert contained["lineno"] == 6
        assert caused["caused_by"] == 95
        assert action["action"] == "Node Reboot Required" and action["pid"] is None
        assert action["text"].startswith("GPU recovery action changed")
        assert found["rminit_failed"][0]["pci"] == "0000:43:00.0" and found["rminit_failed"][0]["code"] == "0x62:0xffff:2477"
        assert found["uuids"] == {"0000:9b:00.0": "GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a77"}
        assert found["gpus_seen"] == ["0000:1b:00.0", "0000:9b:00.0", "0009:01:00.0", "0000:43:00.0"]

    def test_refusals_are_joined_over_their_lines(self):
        found = hardware.parse_kernel_log(fixture("kernel_log.refusals.txt"))
        assert [(item["pci"], item["device_id"], item["by"]) for item in found["unsupported"]] == [
            ("0000:17:00.0", "10de:1b06", "open"),
            ("0000:4b:00.0", "10de:2b85", "release 550.90.07"),
        ]
        assert found["fallen"] == ["0000:31:00.0"]
        assert found["bound_elsewhere"] == {"0000:65:00.0": "nouveau"}
        assert (found["probe_failed"], found["probe_not_called"]) == (3, 1)
        assert [(item["client"], item["module"], item["command"]) for item in found["api_mismatch"]] == [
            ("550.90.07", "535.183.01", None),
            ("575.57.08", "570.133.20", "nvidia-smi"),
        ]

    def test_refusals_without_an_address(self):
        found = hardware.parse_kernel_log(
            "NVRM: The NVIDIA Tesla K80 GPU installed in this system is\nNVRM:  supported through the NVIDIA 470.xx Legacy"
            " drivers. Please\n"
            "NVRM: Open nvidia.ko is only ready for use on Data Center GPUs.\n"
        )
        assert [(item["pci"], item["by"]) for item in found["unsupported"]] == [(None, "legacy 470.xx"), (None, "open")]

    def test_talos(self):
        found = hardware.parse_kernel_log(fixture("kernel_log.talos.txt"))
        (xid,) = found["xids"]
        assert (xid["xid"], xid["time"], xid["pid"], xid["process"]) == (79, "2024-11-19T19:07:26Z", None, None)
        assert (found["loaded_version"], found["open_module"], found["fallen"]) == ("535.216.01", False, ["0000:01:00.0"])

    def test_journal_and_old_grammar(self):
        old, new = hardware.parse_kernel_log(fixture("kernel_log.journal-iso.txt"))["xids"]
        assert (old["pci"], old["xid"], old["time"]) == ("0000:02:00.0", 13, "2024-05-02T09:40:01+02:00")
        assert old["text"] == "0003 00000000 00008297 00000000 00000000 00000000"
        assert (new["pid"], new["process"], new["time"]) == (1234, "a.out", "05-03T09:40:01")

    def test_dmesg_T(self):
        (xid,) = hardware.parse_kernel_log(
            "[Fri Mar 22 21:33:48 2024] NVRM: Xid (PCI:0000:07:00.0): 48, pid='<unknown>', name=<unknown>, DBE\n"
        )["xids"]
        assert (xid["time"], xid["uptime"], xid["text"]) == ("2024-03-22T21:33:48", None, "DBE")

    def test_monotonic_only_has_no_time(self):
        (xid,) = hardware.parse_kernel_log("[  171.123456] NVRM: Xid (PCI:0000:05:00): 79, GPU has fallen off the bus.\n")["xids"]
        assert xid["time"] is None and xid["uptime"] == 171.123456 and xid["text"] == "GPU has fallen off the bus."

    def test_the_last_boot_wins(self):
        text = "Linux version 5.15.0-1 (a)\nNVRM: loading NVIDIA UNIX x86_64 Kernel Module  535.1.1  x\nLinux version 6.8.0-2-generic (b)\n"
        found = hardware.parse_kernel_log(text)
        assert found["linux_version"] == "6.8.0-2-generic" and found["boot_lineno"] == 3 and found["loaded_version"] == "535.1.1"

    def test_line_numbers_are_those_of_splitlines(self):
        text = "progress 1\rprogress 2\nNVRM: Xid (PCI:0000:05:00): 79, x\n"
        (xid,) = hardware.parse_kernel_log(text)["xids"]
        assert text.splitlines()[xid["lineno"] - 1] == xid["line"]

    def test_nothing_of_ours(self):
        found = hardware.parse_kernel_log("usb 1-1: new device\nsystemd[1]: Started x\n")
        assert found["xids"] == [] and found["loaded_version"] is None and found["gpus_seen"] == []


class TestNvidiaSmi:
    def test_table_with_mig_err_and_inforom(self):
        found = hardware.parse_nvidia_smi(fixture("nvidia_smi.535.txt"))
        assert found["error"] is None  # the table is there: the infoROM warning is no failure
        assert (found["driver_version"], found["cuda_version"]) == ("535.129.03", "12.2")
        assert [(gpu["index"], gpu["name"], gpu["pci"], gpu["mig"], gpu["err"]) for gpu in found["gpus"]] == [
            (0, "NVIDIA A100-SXM4-80GB", "0000:07:00.0", True, False),
            (1, "NVIDIA A100-SXM4-80GB", "0000:0a:00.0", False, False),
            (2, "ERR!", "0000:c1:00.0", None, True),
        ]
        assert found["mig_devices"] == [{"gpu": 0, "gi": 7, "ci": 0, "dev": 0}, {"gpu": 0, "gi": 8, "ci": 0, "dev": 1}]
        assert found["processes"] == [{"gpu": 1, "pid": 4711, "name": "python3 train.py"}]
        assert found["inforom"] == ["0000:0a:00.0"] and len(found["warnings"]) == 1

    def test_kmd_banner(self):
        found = hardware.parse_nvidia_smi(fixture("nvidia_smi.610.txt"))
        assert (found["driver_version"], found["cuda_version"]) == ("610.43.02", "13.3")
        assert [(gpu["name"], gpu["pci"], gpu["mig"]) for gpu in found["gpus"]] == [
            ("NVIDIA H100 80GB HBM3", "0000:1b:00.0", False),
            ("Tesla T4", "0000:43:00.0", None),
        ]

    def test_old_table_has_two_rows_a_gpu_and_no_cuda(self):
        found = hardware.parse_nvidia_smi(fixture("nvidia_smi.390.txt"))
        assert found["driver_version"] == "390.157" and "cuda_version" not in found
        assert [(gpu["name"], gpu["pci"], gpu["err"]) for gpu in found["gpus"]] == [("Tesla V100-SXM2...", "0000:00:1e.0", False)]

    @pytest.mark.parametrize(
        ("line", "error"),
        [
            ("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest", "no_comm"),
            ("Failed to initialize NVML: Driver Not Loaded", "no_comm"),
            ("Failed to initialize NVML: Driver/library version mismatch", "mismatch"),
            ("NVIDIA-SMI couldn't find libnvidia-ml.so library in your system. Please make sure that the", "no_lib"),
            ("No devices were found", "no_devices"),
            ("Failed to initialize NVML: Unknown Error", "unknown_error"),
            ("Unable to determine the device handle for GPU0000:A1:00.0: Unknown Error", "lost"),
            ("Unable to determine the device handle for GPU 0000:C1:00.0: GPU is lost.  Reboot the system", "lost"),
            ("Failed to initialize NVML: GPU is lost", "lost"),
            ("Failed to initialize NVML: Insufficient Permissions", "insufficient_permissions"),
            ("bash: nvidia-smi: command not found", "not_found"),
            ("sh: 1: nvidia-smi: not found", "not_found"),
            ("chroot: failed to run command 'nvidia-smi': No such file or directory", "not_found"),
            ('exec: "nvidia-smi": executable file not found in $PATH', "not_found"),
            ("Failed to initialize NVML: Function Not Found", "other"),
        ],
    )
    def test_failures(self, line, error):
        found = hardware.parse_nvidia_smi("$ nvidia-smi\n" + line + "\n")
        assert (found["error"], found["error_line"], found["gpus"]) == (error, line, [])

    def test_mismatch_names_the_library(self):
        found = hardware.parse_nvidia_smi(fixture("nvidia_smi.mismatch.txt"))
        assert (found["error"], found["nvml_version"]) == ("mismatch", "535.161")

    def test_lost_names_the_gpu(self):
        found = hardware.parse_nvidia_smi("Unable to determine the device handle for GPU0000:A1:00.0: Unknown Error\n")
        assert found["error_pci"] == "0000:a1:00.0"

    def test_csv(self):
        text = "index, name, pci.bus_id, driver_version, mig.mode.current\n0, NVIDIA H100, 00000000:1B:00.0, 550.54.14, Enabled\n"
        found = hardware.parse_nvidia_smi(text)
        assert found["driver_version"] == "550.54.14"
        assert [(gpu["index"], gpu["pci"], gpu["mig"]) for gpu in found["gpus"]] == [(0, "0000:1b:00.0", True)]

    def test_version_output(self):
        found = hardware.parse_nvidia_smi(
            "NVIDIA-SMI version  : 550.54.14\nNVML version        : 550.54\nDRIVER version      : 550.54.14\nCUDA Version        : 12.4\n"
        )
        assert (found["driver_version"], found["cuda_version"], found["nvml_version"]) == ("550.54.14", "12.4", "550.54")

    def test_list(self):
        first, second = hardware.parse_nvidia_smi_list(fixture("nvidia_smi_list.mig.txt"))["gpus"]
        assert (first["index"], first["name"]) == (0, "NVIDIA A100-SXM4-80GB")
        assert [item["profile"] for item in first["mig"]] == ["1g.10gb", "3g.40gb+me"]
        assert first["mig"][1]["uuid"].endswith("/2/0")
        assert second["uuid"] == "GPU-6e6cb1e7-e44e-3c3d-635e-af4e9e3c9b88" and second["mig"] == []

    def test_list_failure(self):
        found = hardware.parse_nvidia_smi_list("Failed to initialize NVML: Driver/library version mismatch\n")
        assert found["error"] == "mismatch" and found["gpus"] == []


class TestNvidiaSmiQ:
    def test_whole(self):
        found = hardware.parse_nvidia_smi_q(fixture("nvidia_smi_q.550.txt"))
        assert (found["driver_version"], found["attached_gpus"]) == ("550.54.14", 2)
        first, second = found["gpus"]
        assert (first["pci"], first["product"]) == ("0000:1b:00.0", "NVIDIA H100 80GB HBM3")
        assert (first["fabric_state"], first["fabric_status"]) == ("Completed", "Success")
        assert first["recovery_action"] == "Drain and Reset"
        assert (first["remap_pending"], first["remap_failed"]) == (True, False)
        assert (first["mig_mode"], first["mig_pending"]) == ("Disabled", "Enabled")
        assert (first["ecc_uncorrected"], first["ecc_aggregate"]) == (6, 30)
        assert (second["remap_pending"], second["remap_failed"], second["fabric_state"]) == (False, True, "In Progress")
        assert second["ecc_uncorrected"] is None and "mig_mode" not in second

    def test_section_without_a_gpu_header(self):
        (gpu,) = hardware.parse_nvidia_smi_q(
            "    Fabric\n        State                 : In Progress\n        Status                : N/A\n"
        )["gpus"]
        assert gpu["fabric_state"] == "In Progress" and "pci" not in gpu

    def test_indentation_lost(self):
        (gpu,) = hardware.parse_nvidia_smi_q(fixture("nvidia_smi_q.flat.txt"))["gpus"]
        assert (gpu["ecc_uncorrected"], gpu["ecc_aggregate"], gpu["remap_pending"]) == (2, 5, False)

    def test_pending_of_another_section_is_not_the_remapper(self):
        found = hardware.parse_nvidia_smi_q("GPU 00000000:1B:00.0\n    ECC Mode\n        Current : Enabled\n        Pending : Yes\n")
        assert found["gpus"][0]["remap_pending"] is None

    def test_failure(self):
        found = hardware.parse_nvidia_smi_q("No devices were found\n")
        assert (found["error"], found["gpus"], found["attached_gpus"]) == ("no_devices", [], None)
