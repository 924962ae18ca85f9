# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors

from __future__ import annotations

import pathlib

import pytest
from ansible_collections.gpuops.node.plugins.module_utils import driver

FIXTURES = pathlib.Path(__file__).parent / "fixtures"


def fixture(name: str) -> str:
    return (FIXTURES / name).read_text(encoding="utf-8")


class TestKernelAndDistribution:
    @pytest.mark.parametrize(
        ("text", "kernel", "machine"),
        [
            ("5.15.0-105-generic\n", "5.15.0-105-generic", None),
            ("5.14.0-427.16.1.el9_4.x86_64\n", "5.14.0-427.16.1.el9_4.x86_64", "x86_64"),
            (
                "Linux gpu-a 6.8.0-45-generic #45-Ubuntu SMP PREEMPT_DYNAMIC Fri Aug 30 2024 x86_64 x86_64 x86_64 GNU/Linux\n",
                "6.8.0-45-generic",
                "x86_64",
            ),
            ("Linux gpu-a 6.1.0-18-arm64 #1 SMP Debian 6.1.76-1 (2024-02-01) aarch64 GNU/Linux\n", "6.1.0-18-arm64", "aarch64"),
            ("root@gpu-a:~# uname -r\n5.10.0-28-amd64\n", "5.10.0-28-amd64", None),
            ("Linux version 5.15.0-talos (build@host) (gcc 12) #1 SMP\n", "5.15.0-talos", None),
        ],
    )
    def test_uname(self, text, kernel, machine):
        found = driver.parse_uname(text)
        assert found.get("kernel") == kernel and found.get("machine") == machine

    def test_uname_of_nothing(self):
        assert driver.parse_uname("no such thing\n") == {}

    def test_os_release(self):
        found = driver.parse_os_release('NAME="Ubuntu"\nVERSION_ID="22.04"\nID=ubuntu\nPRETTY_NAME="Ubuntu 22.04.4 LTS"\n')
        assert found == {"id": "ubuntu", "version_id": "22.04", "name": "Ubuntu", "pretty": "Ubuntu 22.04.4 LTS"}

    def test_lsb_release(self):
        found = driver.parse_os_release("Distributor ID:\tUbuntu\nDescription:\tUbuntu 22.04.4 LTS\nRelease:\t22.04\n")
        assert (found["id"], found["version_id"], found["name"]) == ("ubuntu", "22.04", "Ubuntu 22.04.4 LTS")

    def test_kernels_sort_by_number(self):
        kernels = ["5.15.0-101-generic", "5.15.0-91-generic", "6.2.0-26-generic", "5.15.0-9-generic", "5.4.0-200-generic"]
        assert sorted(kernels, key=driver.kernel_key) == [
            "5.4.0-200-generic",
            "5.15.0-9-generic",
            "5.15.0-91-generic",
            "5.15.0-101-generic",
            "6.2.0-26-generic",
        ]


class TestModules:
    @pytest.mark.parametrize(
        ("line", "version", "is_open"),
        [
            ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu Oct 19 18:56:32 UTC 2023", "535.129.03", False),
            (
                "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.54.14  Release Build  (dvs-builder@U16)  Thu Feb 22",
                "550.54.14",
                True,
            ),
            ("NVRM version: NVIDIA UNIX aarch64 Kernel Module  470.239.06  Sat Feb  3 06:05:42 UTC 2024", "470.239.06", False),
        ],
    )
    def test_proc_version(self, line, version, is_open):
        found = driver.parse_proc_version(line + "\nGCC version:  gcc version 12.3.0 (Ubuntu)\n")
        assert (found["version"], found["open"], found["line"]) == (version, is_open, line)
        assert found["compiler"] == "gcc version 12.3.0 (Ubuntu)"

    def test_proc_version_missing(self):
        found = driver.parse_proc_version("cat: /proc/driver/nvidia/version: No such file or directory\n")
        assert found["missing"] and "version" not in found and "open" not in found

    def test_modinfo_of_the_first_module(self):
        found = driver.parse_modinfo(fixture("modinfo.open.txt"))
        assert (found["version"], found["license"], found["open"]) == ("550.54.14", "Dual MIT/GPL", True)
        assert (found["kernel"], found["signer"], found["missing"]) == ("5.15.0-105-generic", "DKMS module signing key", False)
        assert found["filename"] == "/lib/modules/5.15.0-105-generic/updates/dkms/nvidia.ko"
        assert found["line"] == "version:        550.54.14"

    def test_modinfo_fields(self):
        assert driver.parse_modinfo("535.129.03\n")["version"] == "535.129.03"
        assert driver.parse_modinfo("NVIDIA\n")["open"] is False
        assert driver.parse_modinfo("filename: /lib/modules/6.1.0-18-amd64/updates/dkms/nvidia-current.ko\n")["kernel"] == "6.1.0-18-amd64"

    @pytest.mark.parametrize(
        ("text", "kernel"),
        [
            ("modinfo: ERROR: Module nvidia not found.\n", None),
            ("modinfo: ERROR: Module nvidia not found in directory /lib/modules/6.8.0-45-generic\n", "6.8.0-45-generic"),
        ],
    )
    def test_modinfo_missing(self, text, kernel):
        found = driver.parse_modinfo(text)
        assert found["missing"] and found["kernel"] == kernel and found["open"] is None and found["line"] == text.strip()

    def test_modinfo_program_missing_says_nothing_about_the_module(self):
        assert driver.parse_modinfo("bash: modinfo: command not found\n")["missing"] is False

    def test_lsmod(self):
        text = (
            "Module                  Size  Used by\nnvidia_uvm           1527808  4\n"
            "nvidia              56717312  188 nvidia_uvm,nvidia_modeset\n"
        )
        found = driver.parse_lsmod(text)["modules"]
        assert set(found) == {"nvidia_uvm", "nvidia"}
        assert (found["nvidia"]["refcount"], found["nvidia"]["users"], found["nvidia"]["size"]) == (
            188,
            ["nvidia_uvm", "nvidia_modeset"],
            56717312,
        )
        assert found["nvidia_uvm"]["users"] == []

    def test_proc_modules(self):
        text = "nvidia 56717312 188 nvidia_uvm,nvidia_modeset, Live 0xffffffffc0a00000 (POE)\nnouveau 2306048 0 - Live 0xffffffffc0500000\n"
        found = driver.parse_lsmod(text)["modules"]
        assert found["nvidia"]["users"] == ["nvidia_uvm", "nvidia_modeset"] and found["nouveau"]["users"] == []


class TestDkms:
    def test_new_form(self):
        entries = driver.parse_dkms_status(fixture("dkms_status.3x.txt"))["entries"]
        assert [(e["name"], e["version"], e["kernel"], e["arch"], e["state"], e["nvidia"]) for e in entries] == [
            ("nvidia", "535.129.03", "5.15.0-91-generic", "x86_64", "installed", True),
            ("nvidia", "535.129.03", "5.15.0-92-generic", "x86_64", "built", True),
            ("nvidia", "535.129.03", "5.14.0-362.24.1.el9_3.x86_64", "x86_64", "installed-weak", True),
            ("nvidia-current", "525.147.05", None, None, "added", True),
            ("nvidia-fs", "2.17.5", None, None, "broken", True),
            ("mlnx-ofed-kernel", "5.8", "5.15.0-91-generic", "x86_64", "installed", False),
        ]
        assert entries[0]["note"] == "(Original modules exist) (Differences between built and installed modules)"
        assert entries[2]["weak_from"] == "5.14.0-362.8.1.el9_3.x86_64"

    def test_old_form(self):
        entries = driver.parse_dkms_status(fixture("dkms_status.2x.txt"))["entries"]
        assert [(e["name"], e["version"], e["kernel"], e["state"]) for e in entries] == [
            ("nvidia-current", "460.91.03", "5.10.0-8-amd64", "installed"),
            ("nvidia", "470.82.01", "5.4.0-90-generic", "installed"),
            ("nvidia", "470.82.01", None, "added"),
        ]
        assert entries[0]["note"] == "(original_module exists)"

    def test_broken_without_its_status_line(self):
        text = "Error! nvidia/535.129.03: Missing the module source directory or the symbolic link pointing to it.\n"
        (entry,) = driver.parse_dkms_status(text)["entries"]
        assert (entry["name"], entry["version"], entry["state"]) == ("nvidia", "535.129.03", "broken")

    def test_no_program(self):
        assert driver.parse_dkms_status("bash: dkms: command not found\n") == {"entries": [], "missing": True}

    @pytest.mark.parametrize("name", ["nvidia", "nvidia-current", "nvidia_current", "nvidia-open", "nvidia-srv", "nvidia-tesla-470"])
    def test_every_nvidia_name(self, name):
        (entry,) = driver.parse_dkms_status(f"{name}/535.1, 6.1.0-18-amd64, x86_64: installed\n")["entries"]
        assert entry["nvidia"] and entry["name"] == name

    def test_make_log(self):
        found = driver.parse_dkms_build(fixture("dkms_build.make.txt"))
        assert (found["kernel"], found["module"], found["version"]) == ("6.8.0-45-generic", "nvidia", "535.129.03")
        assert found["result"] == "failed" and found["compiler_error"]
        assert "has no member named 'gem_prime_import'" in found["error_line"]

    def test_term_log(self):
        found = driver.parse_dkms_build(fixture("dkms_build.term.txt"))
        assert (found["kernel"], found["module"], found["version"]) == ("5.15.0-107-generic", "nvidia", "535.129.03")
        assert found["result"] == "failed" and not found["compiler_error"]
        assert found["error_line"] == "Error! Bad return status for module build on kernel: 5.15.0-107-generic (x86_64)"

    def test_headers_missing_outlives_the_summary(self):
        found = driver.parse_dkms_build(fixture("dkms_build.headers.txt"))
        assert (found["result"], found["kernel"]) == ("headers_missing", "6.8.0-45-generic")
        assert found["error_line"].startswith(("Error! Your kernel headers", "Autoinstall on"))

    @pytest.mark.parametrize(
        ("text", "result"),
        [
            (
                "Automatic installation of modules for kernel 6.8.0-45-generic was skipped since the kernel headers for this"
                " kernel do not seem to be installed.",
                "headers_missing",
            ),
            ("Autoinstall on 6.8.0-45-generic failed for module(s) nvidia(10).", "failed"),
            ("Autoinstall on 6.8.0-45-generic failed for module(s) nvidia(21).", "headers_missing"),
            ("Autoinstall on 6.8.0-45-generic failed for module(s) nvidia(77).", "skipped"),
            ("dkms autoinstall on 6.8.0-45-generic/x86_64 failed for nvidia(10)", "failed"),
            ("Autoinstall on 6.8.0-45-generic succeeded for module(s) nvidia.", "ok"),
            ("for module nvidia/535.129.03 includes a BUILD_EXCLUSIVE directive", "skipped"),
            ("Automatic installation of modules has been disabled.", "skipped"),
            ("ERROR: Unable to find the kernel source tree for the currently running kernel.", "headers_missing"),
            ("ERROR: modpost: GPL-incompatible module nvidia.ko uses GPL-only symbol '__rcu_read_unlock'", "failed"),
            ("Setting up nvidia-utils-535 ...", None),
        ],
    )
    def test_words(self, text, result):
        assert driver.parse_dkms_build(text + "\n")["result"] == result

    def test_failure_of_another_module_is_not_ours(self):
        text = (
            "Autoinstall on 6.8.0-45-generic succeeded for module(s) nvidia.\n"
            "DKMS make.log for evdi-1.12.0 for kernel 6.8.0-45-generic (x86_64)\n/x/evdi.c:1:1: error: no\n"
            "Autoinstall on 6.8.0-45-generic failed for module(s) evdi(10).\n"
        )
        found = driver.parse_dkms_build("Building initial module nvidia/535.129.03 for 6.8.0-45-generic\n" + text)
        assert (found["result"], found["module"]) == ("ok", "nvidia")

    def test_what_came_before_our_module_is_forgotten(self):
        text = (
            "/var/lib/dkms/evdi/1.12.0/build/evdi.c:1:1: error: no\nDKMS make.log for nvidia-535.129.03 for kernel"
            " 6.8.0-45-generic (x86_64)\n"
        )
        found = driver.parse_dkms_build(text)
        assert (found["module"], found["result"], found["compiler_error"]) == ("nvidia", None, False)

    def test_a_later_success_takes_the_failure_back(self):
        text = fixture("dkms_build.term.txt") + "Autoinstall on 5.15.0-107-generic succeeded for module(s) nvidia.\n"
        found = driver.parse_dkms_build(text)
        assert found["result"] == "ok" and found["error_line"] is None


class TestSecureBoot:
    @pytest.mark.parametrize(
        ("text", "state"),
        [
            ("SecureBoot enabled\n", True),
            ("SecureBoot disabled\n", False),
            ("SecureBoot disabled\nPlatform is in Setup Mode\n", False),
            ("EFI variables are not supported on this system\n", False),
            ("This system doesn't support Secure Boot\n", False),
            ("     Secure Boot: enabled (user)\n", True),
            ("mokutil: command not found\n", None),
        ],
    )
    def test_state(self, text, state):
        assert driver.parse_mokutil(text)["secure_boot"] is state

    def test_validation_switched_off_in_shim(self):
        found = driver.parse_mokutil(fixture("mokutil.txt"))
        assert found["secure_boot"] is False and found["line"] == "SecureBoot validation is disabled in shim"

    def test_enrolled(self):
        assert driver.parse_mokutil("/var/lib/dkms/mok.pub is already enrolled\n")["enrolled"] is True
        assert driver.parse_mokutil("/var/lib/dkms/mok.pub is not enrolled\n")["enrolled"] is False


class TestPackages:
    def test_dpkg(self):
        found = {p["name"]: p for p in driver.parse_packages(fixture("packages.dpkg.txt"))["packages"]}
        assert set(found) == {
            "libnvidia-compute-535",
            "nvidia-dkms-535",
            "nvidia-driver-525",
            "linux-image-5.15.0-91-generic",
            "nvidia-utils-535",
        }
        lib = found["libnvidia-compute-535"]
        assert (lib["version"], lib["arch"], lib["state"], lib["installed"]) == ("535.161.07-0ubuntu0.22.04.1", "amd64", "ii", True)
        assert (found["nvidia-driver-525"]["state"], found["nvidia-driver-525"]["installed"]) == ("rc", False)
        assert (found["linux-image-5.15.0-91-generic"]["state"], found["linux-image-5.15.0-91-generic"]["installed"]) == ("hi", True)
        assert found["nvidia-utils-535"]["installed"] is False  # unpacked only

    def test_apt_dnf_rpm(self):
        found = driver.parse_packages(fixture("packages.mixed.txt"))
        assert [(p["name"], p["version"], p["installed"]) for p in found["packages"]] == [
            ("nvidia-driver-535", "535.161.07-0ubuntu0.22.04.1", True),
            ("nvidia-driver-550", "550.54.15-0ubuntu0.22.04.2", False),
            ("linux-headers-generic", "5.15.0.107.104", True),
            ("nvidia-driver", "3:550.54.15-1.el9", True),
            ("nvidia-driver", "3:555.42.02-1.el9", False),
            ("kmod-nvidia-open-dkms", "550.54.15-1.el9", True),
            ("nvidia-container-toolkit", "1.15.0-1", True),
            ("libnvidia-container1", "1.15.0-1", True),
        ]
        assert found["not_installed"] == ["nvidia-fabric-manager"]

    def test_kernel_named_rpm(self):
        (package,) = driver.parse_packages("kmod-nvidia-5.19.7-200.fc36.x86_64-515.65.01-1.fc36.x86_64\n")["packages"]
        assert (package["name"], package["version"], package["arch"]) == (
            "kmod-nvidia-5.19.7-200.fc36.x86_64",
            "515.65.01-1.fc36",
            "x86_64",
        )

    def test_apt_history(self):
        first, second = driver.parse_package_history(fixture("package_history.apt.txt"))["transactions"]
        assert (first["time"], first["command"]) == ("2024-05-02T06:11:03", "/usr/bin/unattended-upgrade")
        assert [(c["action"], c["name"], c["old"], c["new"]) for c in first["changes"]] == [
            ("install", "linux-image-5.15.0-107-generic", None, "5.15.0-107.117"),
            ("upgrade", "tzdata", "2024a-0ubuntu0.22.04", "2024a-0ubuntu0.22.04.1"),
            ("upgrade", "libnvidia-compute-535", "535.129.03-0ubuntu0.22.04.1", "535.161.07-0ubuntu0.22.04.1"),
            ("upgrade", "linux-generic", "5.15.0.105.102", "5.15.0.107.104"),
        ]
        assert first["line"].startswith("Install: linux-image")
        assert [(c["action"], c["name"], c["old"], c["new"]) for c in second["changes"]] == [
            ("remove", "nvidia-settings", "525.1-0", None),
            ("purge", "nvidia-driver-525", "525.147.05-0ubuntu1", None),
            ("downgrade", "nvidia-utils-535", "535.161.07-0", "535.129.03-0"),
        ]

    def test_dpkg_log(self):
        first, second = driver.parse_package_history(fixture("package_history.dpkg.txt"))["transactions"]
        assert first["time"] == "2024-05-02T06:11:11" and second["time"] == "2024-05-02T06:12:01"
        assert [(c["action"], c["name"], c["old"], c["new"]) for c in first["changes"] + second["changes"]] == [
            ("install", "linux-image-5.15.0-107-generic", None, "5.15.0-107.117"),
            ("upgrade", "libnvidia-compute-535", "535.129.03-0", "535.161.07-0"),
            ("remove", "nvidia-settings", "525.1-0", None),
        ]

    def test_dnf_history_info(self):
        (found,) = driver.parse_package_history(fixture("package_history.dnf.txt"))["transactions"]
        assert (found["time"], found["command"]) == ("2024-05-02T03:00:01Z", "update -y")
        assert [(c["action"], c["name"], c["old"], c["new"]) for c in found["changes"]] == [
            ("install", "kernel-core", None, "5.14.0-427.16.1.el9_4"),
            ("upgrade", "nvidia-driver", "3:550.54.15-1.el9", "3:550.90.07-1.el9"),
            ("remove", "kernel-core", "5.14.0-362.8.1.el9_3", None),
        ]

    def test_dnf_rpm_log(self):
        first, second = driver.parse_package_history(fixture("package_history.dnfrpm.txt"))["transactions"]
        assert first["time"] == "2024-05-02T03:00:02+00:00"
        assert [(c["action"], c["name"], c["old"], c["new"]) for c in first["changes"]] == [
            ("upgrade", "nvidia-driver", "3:550.54.15-1.el9", "3:550.90.07-1.el9"),
            ("install", "kernel-core", None, "5.14.0-427.16.1.el9_4"),
        ]
        assert second["changes"][0]["action"] == "remove"

    @pytest.mark.parametrize(
        ("line", "change"),
        [
            ("May 02 03:00:01 Updated: 3:nvidia-driver-460.32.03-1.el7.x86_64", ("upgrade", "nvidia-driver", None, "460.32.03-1.el7")),
            (
                "[2024-05-02T03:00:01+0000] [ALPM] upgraded nvidia (550.54.14-3 -> 550.67-1)",
                ("upgrade", "nvidia", "550.54.14-3", "550.67-1"),
            ),
            (
                "2024-05-02 03:00:01|install|nvidia-driver-G06|550.54.14-1|x86_64||cuda|abc|",
                ("install", "nvidia-driver-G06", None, "550.54.14-1"),
            ),
            (
                "2024-05-02 06:00:01,123 INFO Packages that will be upgraded: libnvidia-compute-535",
                ("upgrade", "libnvidia-compute-535", None, None),
            ),
            (
                "nvidia-driver-550.54.15-1.el9.x86_64      Thu 02 May 2024 03:00:01 AM UTC",
                ("install", "nvidia-driver", None, "550.54.15-1.el9"),
            ),
        ],
    )
    def test_other_logs(self, line, change):
        (found,) = driver.parse_package_history(line + "\n")["transactions"]
        (item,) = found["changes"]
        assert (item["action"], item["name"], item["old"], item["new"]) == change
        assert found["time"] and found["line"] == line

    def test_dnf_history_list(self):
        text = (
            "ID     | Command line             | Date and time    | Action(s)      | Altered\n"
            "    21 | update -y                | 2024-05-02 03:00 | I, U           |    4 EE\n"
        )
        (found,) = driver.parse_package_history(text)["transactions"]
        assert (found["time"], found["command"], found["changes"]) == ("2024-05-02T03:00:00", "update -y", [])


class TestFilesAndNodes:
    def test_modprobe_conf(self):
        text = (
            "# blacklist commented\nblacklist nouveau\noptions nouveau modeset=0\n/etc/modprobe.d/x.conf:install nvidia-drm /bin/false\n"
            "BOOT_IMAGE=/vmlinuz root=/dev/sda1 modprobe.blacklist=nvidia,nova_core rd.driver.blacklist=nouveau\n"
        )
        found = driver.parse_modprobe_conf(text)
        assert set(found["blacklist"]) == {"nouveau", "nvidia", "nova_core"} and set(found["install"]) == {"nvidia_drm"}
        assert found["blacklist"]["nouveau"] == "blacklist nouveau" and found["options"]["nouveau"] == "options nouveau modeset=0"

    def test_ls_modules(self):
        found = driver.parse_ls_modules(fixture("ls_modules.txt"))
        assert found["kernels"] == ["5.15.0-91-generic", "5.15.0-107-generic"]
        assert found["build_link"] == {"5.15.0-91-generic": True, "5.15.0-107-generic": False}
        assert found["build_target"] == {"5.15.0-91-generic": "/usr/src/linux-headers-5.15.0-91-generic"}
        assert found["nvidia_modules"] == {"5.15.0-91-generic": ["/lib/modules/5.15.0-91-generic/updates/dkms/nvidia.ko"]}

    def test_ls_modules_long_and_by_directory(self):
        found = driver.parse_ls_modules(
            "drwxr-xr-x 5 root root 4096 May  1 06:55 6.1.0-18-amd64\n\n/lib/modules/6.1.0-20-amd64:\n"
            "lrwxrwxrwx 1 root root 38 May 1 06:55 build -> /usr/src/linux-headers-6.1.0-20-amd64\n"
        )
        assert found["kernels"] == ["6.1.0-18-amd64", "6.1.0-20-amd64"] and found["build_link"] == {"6.1.0-20-amd64": True}

    def test_proc_devices(self):
        text = "Character devices:\n  1 mem\n195 nvidia-frontend\n509 nvidia-uvm\n\nBlock devices:\n  8 sd\n195 nvidia-block\n"
        assert driver.parse_proc_devices(text) == {"char": {"mem": 1, "nvidia-frontend": 195, "nvidia-uvm": 509}}

    def test_ls_dev(self):
        found = driver.parse_ls_dev(fixture("ls_dev.txt"))
        assert found["nodes"] == ["/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-caps/nvidia-cap1"]
        assert found["majors"]["/dev/nvidiactl"] == [195, 255] and not found["missing"]
        assert found["line"].endswith("/dev/nvidia0")

    def test_ls_dev_short(self):
        found = driver.parse_ls_dev(
            "$ ls /dev/nvidia*\n/dev/nvidia0  /dev/nvidia1  /dev/nvidiactl\n\n/dev/nvidia-caps:\nnvidia-cap1  nvidia-cap2\n"
        )
        assert found["nodes"] == [
            "/dev/nvidia0",
            "/dev/nvidia1",
            "/dev/nvidiactl",
            "/dev/nvidia-caps/nvidia-cap1",
            "/dev/nvidia-caps/nvidia-cap2",
        ]

    def test_ls_dev_missing(self):
        line = "ls: cannot access '/dev/nvidia*': No such file or directory"
        found = driver.parse_ls_dev(line + "\n")
        assert found["missing"] and found["nodes"] == [] and found["line"] == line

    def test_ls_dev_char(self):
        found = driver.parse_ls_dev(fixture("ls_dev_char.txt"))
        assert found["char_links"] == {"195:0": "../nvidia0", "195:255": "../nvidiactl", "1:3": "../null"} and found["nodes"] == []

    def test_ls_dev_char_short(self):
        found = driver.parse_ls_dev("~ # ls /dev/char/\n10:1  195:0\t508:1\n")
        assert found["char_links"] == {"10:1": "", "195:0": "", "508:1": ""}


class TestBoot:
    @pytest.mark.parametrize(
        ("text", "boot"),
        [
            ("2024-05-02 06:55:03\n", "2024-05-02T06:55:03"),
            ("         system boot  2024-05-02 06:55\n", "2024-05-02T06:55:00"),
            ("cpu 1 2 3\nbtime 1714633503\nprocesses 1\n", "2024-05-02T07:05:03Z"),
            ("reboot   system boot  5.15.0-107-gener Thu May  2 06:55   still running\n", "05-02T06:55:00"),
        ],
    )
    def test_boot_time(self, text, boot):
        assert driver.parse_uptime(text)["boot"] == boot

    @pytest.mark.parametrize(
        ("text", "seconds"),
        [
            (" 10:00:00 up 5 days,  3:02,  2 users,  load average: 0.00, 0.01, 0.05\n", 5 * 86400 + 3 * 3600 + 120),
            (" 10:00:00 up 12 min,  1 user,  load average: 0.00, 0.01, 0.05\n", 720),
            ("up 2 weeks, 1 hour, 5 minutes\n", 14 * 86400 + 3600 + 300),
            ("12345.67 54321.00\n", 12345),
        ],
    )
    def test_up_seconds(self, text, seconds):
        assert driver.parse_uptime(text)["up_seconds"] == seconds

    @pytest.mark.parametrize(
        ("text", "kernel", "how"),
        [
            ("/boot/vmlinuz-5.14.0-427.16.1.el9_4.x86_64\n", "5.14.0-427.16.1.el9_4.x86_64", "default"),
            ("vmlinuz-5.15.0-91-generic\nvmlinuz-5.15.0-107-generic\n", "5.15.0-107-generic", "newest"),
            (
                "lrwxrwxrwx 1 root root 25 May 2 06:11 /boot/vmlinuz -> vmlinuz-5.15.0-107-generic\n"
                "-rw------- 1 root root 9 May 2 /boot/vmlinuz-6.2.0-26-generic\n",
                "5.15.0-107-generic",
                "link",
            ),
            ("saved_entry=0123abcd-5.14.0-362.8.1.el9_3.x86_64\n", "5.14.0-362.8.1.el9_3.x86_64", "saved"),
            ("# ls /boot/vmlinuz-*\n/boot/vmlinuz-5.15.0-91-generic\n/boot/vmlinuz-5.15.0-107-generic\n", "5.15.0-107-generic", "newest"),
        ],
    )
    def test_next_kernel(self, text, kernel, how):
        found = driver.parse_boot_kernel(text)
        assert (found["next_kernel"], found["how"]) == (kernel, how)

    def test_next_kernel_unknown(self):
        assert driver.parse_boot_kernel("grubby: command not found\n") == {"kernels": []}


class TestDriverContainer:
    def test_headers_unreachable(self):
        found = driver.parse_driver_container_log(fixture("driver_container.build.txt"))
        assert (found["version"], found["kernel"], found["stage"]) == ("550.90.07", "5.15.0-119-generic", "headers")
        assert not found["ready"] and found["error_line"] == "E: Unable to locate package linux-headers-5.15.0-119-generic"

    def test_only_the_last_run_counts(self):
        found = driver.parse_driver_container_log(fixture("driver_container.ready.txt"))
        assert (found["version"], found["stage"], found["ready"], found["error_line"]) == ("550.90.07", "ready", True, None)

    def test_stopped_again(self):
        found = driver.parse_driver_container_log(
            fixture("driver_container.ready.txt") + "Caught signal\nStopping NVIDIA persistence daemon...\n"
        )
        assert not found["ready"]

    @pytest.mark.parametrize(
        "line",
        [
            "Could not unload NVIDIA driver kernel modules, driver is in use",
            "FATAL: failed to reach RHEL package repositories.  Ensure that the cluster can access the proper networks.",
            "ERROR: Failed to update package cache.  Ensure that the cluster can access the proper networks.",
            "Error: Unable to find a match: kernel-headers-5.14.0-570.el9.x86_64",
            "An instance of the NVIDIA driver is already running, aborting",
            "modprobe: ERROR: could not insert 'nvidia': No such device",
            "/usr/src/nvidia-550.90.07/kernel/nvidia/nv.c:63:48: error: passing argument 1",
            "invalid value for the KERNEL_MODULE_TYPE variable: foo",
        ],
    )
    def test_errors(self, line):
        text = "Starting installation of NVIDIA driver version 550.90.07 for Linux kernel version 5.15.0-119-generic\n"
        assert driver.parse_driver_container_log(text + line + "\n")["error_line"] == line

    def test_precompiled(self):
        found = driver.parse_driver_container_log(
            "Starting installation of NVIDIA driver branch 535 for Linux kernel version 5.15.0-119-generic\n"
        )
        assert (found["branch"], found["kernel"]) == ("535", "5.15.0-119-generic") and "version" not in found
