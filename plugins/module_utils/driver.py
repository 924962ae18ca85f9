# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors
"""The driver layer as text: kernel, modules, DKMS, packages and their history, device nodes. Pure functions, text in, dict out.

Lists, dicts and booleans are always there; other keys are absent when the text does not show them, or None where None is said.
"""

from __future__ import annotations

import re
import time
import typing as t

from ansible_collections.gpuops.node.plugins.module_utils.runner import (
    grep,
    head,
    line_time,
    lines_of,
    listing_time,
    prompt_command,
    quote,
    text_of,
)

_VERSION = r"\d{2,4}\.\d{1,4}(?:\.\d{1,4})?"  # of a driver: 535.129.03, 550.54
_KERNEL = r"\d{1,2}\.\d{1,3}(?:\.\d{1,5})?[\w.+~-]{0,100}"
_KERNEL_WORD = re.compile(r"^" + _KERNEL + r"$")
_MACHINES = ("x86_64", "aarch64", "ppc64le", "s390x", "riscv64", "arm64", "amd64")


def kernel_key(kernel: str) -> list[t.Any]:
    """Sort key for kernel releases, newest last: numbers by value, so that 5.15.0-101 is above 5.15.0-91."""
    parts = re.split(r"[^0-9A-Za-z]+|(?<=\d)(?=[A-Za-z])", kernel[:200])
    return [(1, int(part), "") if part.isdigit() else (0, 0, part) for part in parts if part]


# ------------------------------------------------------------------------------------------------ kernel and distribution


def parse_uname(text: str) -> dict[str, t.Any]:
    """C(uname -r), C(uname -a), C(/proc/version), also below a pasted prompt."""
    out: dict[str, t.Any] = {}
    for raw in lines_of(text_of(text)):
        line = head(raw)
        if not line.strip() or ("uname" in line and prompt_command(line)):
            continue
        words = line.split()
        for number, word in enumerate(words):
            if "kernel" not in out and _KERNEL_WORD.match(word) and (len(words) == 1 or number > 0):
                out["kernel"] = word
            elif "machine" not in out and word in _MACHINES:
                out["machine"] = word
        if "kernel" in out:
            break
    if "machine" not in out:
        suffix = out.get("kernel", "").rpartition(".")[2]  # RHEL's release ends in the machine: 5.14.0-427.el9.x86_64
        if suffix in _MACHINES:
            out["machine"] = suffix
    return out


_OS_ROW = re.compile(r"^\s{0,8}(?P<key>[A-Z_]{1,40})=(?P<value>.*)$")
_LSB = {"Distributor ID:": "id", "Release:": "version_id", "Description:": "name"}


def parse_os_release(text: str) -> dict[str, t.Any]:
    """C(/etc/os-release) or C(lsb_release -a). Also: C(pretty)."""
    rows: dict[str, str] = {}
    out: dict[str, t.Any] = {}
    for raw in lines_of(text_of(text)):
        line = head(raw)
        match = _OS_ROW.match(line)
        if match:
            rows.setdefault(match.group("key"), match.group("value").strip().strip("\"'"))
            continue
        for label, key in _LSB.items():
            if line.strip().startswith(label):
                value = line.split(":", 1)[1].strip()
                out[key] = value.lower() if key == "id" else value
    for key, name in (("ID", "id"), ("VERSION_ID", "version_id"), ("NAME", "name"), ("PRETTY_NAME", "pretty")):
        if rows.get(key):
            out[name] = rows[key]
    return out


# ------------------------------------------------------------------------------------------------ modules

_PROC_VERSION = re.compile(
    r"NVRM version: {0,8}(?P<what>NVIDIA UNIX .{0,60}?Kernel Module(?: for \S{1,16})?) {1,4}(?P<version>" + _VERSION + ")"
)
_GCC = re.compile(r"^\s{0,8}GCC version: {0,8}(.*)$")


def parse_proc_version(text: str) -> dict[str, t.Any]:
    """C(/proc/driver/nvidia/version): what is loaded. Also: C(missing) (there is no such file), C(compiler)."""
    out: dict[str, t.Any] = {"missing": False}
    for raw in lines_of(text_of(text)):
        line = head(raw)
        match = _PROC_VERSION.search(line)
        if match and "version" not in out:
            out.update(version=match.group("version"), open=" Open " in match.group("what"), line=quote(raw))
            continue
        match = _GCC.match(line)
        if match and "version" in out:
            out.setdefault("compiler", match.group(1).strip())
        elif "/proc/driver/nvidia" in line and "No such file or directory" in line:
            out["missing"] = True
            out.setdefault("line", quote(raw))
    return out


_MODINFO_ROW = re.compile(
    r"^\s{0,8}(?P<key>filename|version|license|vermagic|signer|name|srcversion|sig_key|sig_id|description):\s{0,32}(?P<value>.*)$"
)
_MODULE_PATH = re.compile(r"/lib/modules/(?P<kernel>" + _KERNEL + r")/")
_NOT_FOUND_IN = re.compile(r"not found in directory /(?:usr/)?lib/modules/(?P<kernel>" + _KERNEL + ")")
_OPEN_LICENSES = ("Dual MIT/GPL", "MIT", "GPL", "GPL v2", "GPL and additional rights")


def parse_modinfo(text: str) -> dict[str, t.Any]:
    """C(modinfo nvidia), also C(-F version), C(-F license) and its errors.

    C(kernel) is from vermagic, the file's path or the error. Also: C(name), C(sig_key), C(srcversion).
    """
    out: dict[str, t.Any] = {"missing": False, "open": None, "kernel": None, "signer": None}
    for raw in lines_of(text_of(text)):
        line = head(raw)
        row = line.strip()
        if not row:
            continue
        if "modinfo: ERROR" in row or "modinfo: command not found" in row or ("not found" in row and row.startswith("modinfo:")):
            out["missing"] = "command not found" not in row
            out["line"] = quote(raw)
            found = _NOT_FOUND_IN.search(row)
            if found and out["kernel"] is None:
                out["kernel"] = found.group("kernel")
            continue
        match = _MODINFO_ROW.match(line)
        if match:
            key, value = match.group("key"), match.group("value").strip()
            if key == "filename" and "filename" in out:
                break  # a second module in the same text
            if out.get(key) is None and value:
                out[key] = value
                if key == "version":
                    out["line"] = quote(raw)
        elif re.match("^" + _VERSION + "$", row) and "version" not in out:
            out["version"], out["line"] = row, quote(raw)
        elif row in ("NVIDIA", "Dual MIT/GPL") and "license" not in out:
            out["license"] = row
    licence = out.get("license")
    if licence:
        out["open"] = licence in _OPEN_LICENSES
    path = _MODULE_PATH.search(out.get("filename", ""))
    magic = out.get("vermagic", "").split()
    if magic:
        out["kernel"] = magic[0]
    elif path:
        out["kernel"] = path.group("kernel")
    return out


_LSMOD = re.compile(
    r"^\s{0,8}(?P<name>[A-Za-z0-9_]{2,64})\s{1,64}(?P<size>\d{3,12})\s{1,16}(?P<count>-?\d{1,9})(?:\s{1,16}(?P<users>\S{1,2000}))?"
    r"(?P<rest>\s.*)?$"
)


def parse_lsmod(text: str) -> dict[str, t.Any]:
    """C(lsmod) and C(/proc/modules). Names have underscores, as the kernel prints them."""
    modules: dict[str, dict[str, t.Any]] = {}
    for raw in lines_of(text_of(text)):
        match = _LSMOD.match(head(raw))
        if not match:
            continue
        users = match.group("users") or ""
        modules[match.group("name")] = {
            "size": int(match.group("size")),
            "refcount": int(match.group("count")),
            "users": [user for user in users.split(",") if user and user != "-" and not user.startswith("[")],
            "line": quote(raw),
        }
    return {"modules": modules}


# ------------------------------------------------------------------------------------------------ DKMS

# nvidia, 535.129.03, 5.15.0-91-generic, x86_64: installed         up to 2.8.5, and weak modules of every version
# nvidia/535.129.03, 5.15.0-91-generic, x86_64: installed (...)    from 2.8.6
_DKMS = re.compile(
    r"^\s{0,8}(?P<name>[A-Za-z0-9_][\w.+-]{0,80})(?:/|, )(?P<version>[^,:/\s]{1,80})(?:, (?P<kernel>[^,:\s]{1,120}))?(?:, "
    r"(?P<arch>[\w-]{1,32}))?"
    r": (?P<state>added|built|installed-weak|installed|broken)(?![\w-])(?P<note>.*)$"
)
_DKMS_BROKEN = re.compile(
    r"^\s{0,8}Error! (?P<name>[A-Za-z0-9_][\w.+-]{0,80})/(?P<version>[^,:/\s]{1,80}): Missing the module source directory"
)
_WEAK_FROM = re.compile(r"^\s{0,4}from (\S{1,120})")


def is_nvidia_module(name: str) -> bool:
    """nvidia, nvidia-current, nvidia_current, nvidia-open, nvidia-srv, nvidia-current-open, nvidia-tesla-535."""
    return name.lower().startswith("nvidia")


def parse_dkms_status(text: str) -> dict[str, t.Any]:
    """C(dkms status) of 2.x and 3.x, all modules. Also: C(nvidia) per entry, C(weak_from), C(missing) (no dkms program)."""
    entries: list[dict[str, t.Any]] = []
    missing = False
    for raw in lines_of(text_of(text)):
        line = head(raw)
        match = _DKMS.match(line)
        if match:
            note = match.group("note").strip()
            entry: dict[str, t.Any] = {
                "name": match.group("name"),
                "version": match.group("version"),
                "kernel": match.group("kernel"),
                "arch": match.group("arch"),
                "state": match.group("state"),
                "note": note,
                "nvidia": is_nvidia_module(match.group("name")),
                "line": quote(raw),
            }
            weak = _WEAK_FROM.match(match.group("note")) if entry["state"] == "installed-weak" else None
            if weak:
                entry["weak_from"] = weak.group(1)
            entries.append(entry)
            continue
        match = _DKMS_BROKEN.match(line)
        if match:
            key = (match.group("name"), match.group("version"))
            if not any((entry["name"], entry["version"], entry["state"]) == key + ("broken",) for entry in entries):
                entries.append(
                    {
                        "name": key[0],
                        "version": key[1],
                        "kernel": None,
                        "arch": None,
                        "state": "broken",
                        "note": "",
                        "nvidia": is_nvidia_module(key[0]),
                        "line": quote(raw),
                    }
                )
        elif "dkms: command not found" in line or "dkms: not found" in line:
            missing = True
    return {"entries": entries, "missing": missing}


_BUILD_KERNEL = re.compile(
    r"(?:on kernel:?|for kernel:?|on|autoinstall on|kernels?|KERNEL_UNAME=|KERNELRELEASE=|/lib/modules/"
    r"|for module build:) ?(?P<kernel>\d{1,2}\.\d{1,3}\.\d{1,5}[\w.+~-]{0,100})"
)
_BUILD_MODULE = re.compile(
    r"(?:make\.log for |/var/lib/dkms/|/usr/src/|[Mm]odule |initial module |Loading new |combo: )(?!linux-|kernels/)"
    r"(?P<name>[A-Za-z][A-Za-z0-9_-]{1,60}?)[-/](?P<version>\d[\w.+~]{0,40})"
)
_BUILD_LIST = re.compile(r"(?:for module\(s\)|failed for) (?P<list>[^.]{1,400})")
_BUILD_CODE = re.compile(r"(?P<name>[A-Za-z][\w-]{1,60})\((?P<code>\d{1,3})\)")
_COMPILER_ERROR = re.compile(
    r"(?:^|:\d{1,7}: |(?:^|[\s/-])(?:cc1|gcc|cc|ld|clang|collect2|as)(?:-[\d.]{1,8})?: )(?:fatal )?error: "
    r"|^ERROR: modpost|: undefined reference|Compiler version check failed|cannot find -l|unrecognized command.line option"
)
_MAKE_ERROR = re.compile(r"^make(?:\[\d{1,2}\])?: \*\*\* .*(?:Error \d{1,3}|No rule)|\(bad exit status: \d{1,3}\)")
# (result, texts): what a line says about the build it belongs to. "summary" lines come last and say less than the line before them.
_BUILD_TEXTS: tuple[tuple[str, bool, tuple[str, ...]], ...] = (
    (
        "headers_missing",
        False,
        (
            "kernel headers for kernel",
            "since the kernel headers for this kernel do not seem to be installed",
            "Unable to find the kernel source tree",
            "Unable to find the development tool",
            "kernel source path",
        ),
    ),
    (
        "skipped",
        False,
        ("BUILD_EXCLUSIVE directive", "Automatic installation of modules has been disabled", "does not match this kernel/arch"),
    ),
    (
        "failed",
        False,
        ("Bad return status for module build", "Unable to build the NVIDIA kernel module", "Build of ", "Aborting build of module"),
    ),
    ("ok", False, ("DKMS: install completed", "DKMS: build completed", "This module/version combo is already installed")),
    ("failed", True, ("One or more modules failed to install during autoinstall", "Building module(s)...(bad exit")),
)
_BUILD_WORDS = (
    "kernel",
    "Kernel",
    "KERNEL",
    "dkms",
    "DKMS",
    "utoinstall",
    "rror",
    "make",
    "odule",
    "utomatic installation",
    "BUILD_EXCLUSIVE",
    "undefined reference",
    "Compiler version",
)
_CODES = {"10": "failed", "21": "headers_missing", "77": "skipped"}


def _build_event(line: str) -> tuple[str | None, bool, str | None]:
    """(result, is a summary, module it speaks of)"""
    if "utoinstall on " in line:
        found = _BUILD_LIST.search(line)
        names = found.group("list") if found else line
        if "succeeded for module" in line:
            names = [name for name in re.split(r"[\s,]+", names.strip()) if name]
            mine = [name for name in names if is_nvidia_module(name)]
            return "ok", False, (mine or names or [None])[0]
        codes = _BUILD_CODE.findall(names)
        mine_codes = [pair for pair in codes if is_nvidia_module(pair[0])] or codes
        if mine_codes:
            return _CODES.get(mine_codes[0][1], "failed"), True, mine_codes[0][0]
        return ("failed", True, None) if " failed" in line else (None, False, None)
    for result, summary, texts in _BUILD_TEXTS:
        for said in texts:
            if said in line:
                if said == "Build of " and " failed for: " not in line:
                    continue
                if said == "kernel headers for kernel" and "cannot be found" not in line and "not" not in line:
                    continue
                return result, summary, None
    return None, False, None


def parse_dkms_build(text: str) -> dict[str, t.Any]:
    """A build by DKMS, nvidia-installer or a driver container: make.log, C(dkms install/build/autoinstall), apt's term.log.

    Where several modules or several runs are in one text, the last word about nvidia counts.
    """
    out: dict[str, t.Any] = {"kernel": None, "module": None, "version": None, "result": None, "error_line": None, "compiler_error": False}
    about: str | None = None  # module that the following lines are about, when a line said so
    compiler_line: str | None = None
    build_line: str | None = None
    make_line: str | None = None
    last_line: str | None = None
    for _lineno, raw in grep(text_of(text), _BUILD_WORDS):
        line = head(raw)
        if " [M] " in line and out["module"] is not None and "error" not in line:
            continue  # the compiler's progress: thousands of lines that say the module's name again
        named = _BUILD_MODULE.search(line)
        if named:
            about = named.group("name")
            if is_nvidia_module(about) and out["module"] is not None and not is_nvidia_module(out["module"]):
                # What was read so far was about other modules.
                out.update(kernel=None, result=None, error_line=None, compiler_error=False)
                compiler_line = build_line = make_line = last_line = None
            if is_nvidia_module(about) or out["module"] is None:
                out["module"], out["version"] = about, named.group("version").rstrip(".")
        result, summary, module = _build_event(line)
        foreign = (module or about) is not None and not is_nvidia_module(module or about or "")
        kernel = _BUILD_KERNEL.search(line)
        if kernel and not foreign:
            out["kernel"] = kernel.group("kernel").rstrip(".")
        if foreign and out["module"] and is_nvidia_module(out["module"]):
            continue
        if _COMPILER_ERROR.search(line):
            out["compiler_error"] = True
            compiler_line = compiler_line or quote(raw)
            result, summary = result or "failed", False
        elif _MAKE_ERROR.search(line):
            make_line = make_line or quote(raw)
            result, summary = result or "failed", False
        elif result == "failed" and not summary:
            build_line = build_line or quote(raw)
        if result is None:
            continue
        if module and out["module"] is None:
            out["module"] = module
        if summary and out["result"] is not None and module is None:
            continue  # "one or more modules failed", after the lines that say which and why
        again = out["result"] == result
        out["result"] = result
        if result == "ok":
            out["error_line"], out["compiler_error"] = None, False
            compiler_line = build_line = make_line = None
        elif result != "failed":
            out["error_line"] = out["error_line"] if again and out["error_line"] else quote(raw)
        else:
            last_line = quote(raw)
    if out["result"] == "failed":
        # The compiler says why, DKMS says for which kernel, make only that it stopped.
        out["error_line"] = compiler_line or build_line or make_line or last_line
    return out


# ------------------------------------------------------------------------------------------------ Secure Boot


def parse_mokutil(text: str) -> dict[str, t.Any]:
    """C(mokutil --sb-state), C(bootctl status). Also: C(enrolled) from C(mokutil --test-key)."""
    out: dict[str, t.Any] = {"secure_boot": None, "enrolled": None}
    for raw in lines_of(text_of(text)):
        line = head(raw).strip().lower()
        state: bool | None = None
        if "secureboot validation is disabled in shim" in line:
            state = False
        elif line.startswith("secureboot enabled") or line.startswith("secure boot: enabled"):
            state = True
        elif (
            line.startswith(("secureboot disabled", "secure boot: disabled"))
            or "efi variables are not supported" in line
            or "doesn't support secure boot" in line
        ):
            state = False
        elif line.endswith("is already enrolled"):
            out["enrolled"] = True
        elif line.endswith("is not enrolled"):
            out["enrolled"] = False
        if state is not None:
            out["secure_boot"], out["line"] = state, quote(raw)
    return out


# ------------------------------------------------------------------------------------------------ packages

_ARCHES = "x86_64|aarch64|noarch|i686|i386|ppc64le|s390x|src|armv7hl|amd64|arm64|all"
_DPKG = re.compile(
    r"^(?P<state>[uihrp][nicUFHWAtT ]R?)\s{1,8}(?P<name>[a-z0-9][\w.+-]{1,120}(?::\w{1,16})?)\s{1,120}"
    r"(?P<version>[0-9<]\S{0,120})(?:\s{1,120}(?P<arch>\w{1,16})(?:\s|$))?"
)
_APT = re.compile(
    r"^(?P<name>[a-z0-9][\w.+-]{1,120}(?::\w{1,16})?)/(?P<suite>\S{1,200}) (?P<version>\S{1,120}) (?P<arch>\w{1,16})(?: \["
    r"(?P<state>[^\]]{1,200})\])?\s*$"
)
_NVRA = re.compile(r"^(?P<name>[A-Za-z0-9][\w.+-]{0,160})-(?P<version>[\w.:~^+]{1,80}-[\w.~^+]{1,80})\.(?P<arch>" + _ARCHES + r")$")
_DNF = re.compile(
    r"^(?P<name>[A-Za-z0-9][\w.+-]{0,160})\.(?P<arch>" + _ARCHES + r")"
    r"\s{1,120}(?P<version>[\w.:~^+-]{1,120})\s{1,120}(?P<repo>@?[\w@<>./-]{1,80})\s*$"
)
_PLAIN = re.compile(r"^(?P<name>[a-z0-9][\w.+-]{1,120}(?::\w{1,16})?)[ \t]{1,8}(?P<version>\d[\w.:~+-]{0,120})\s*$")
_NOT_INSTALLED = re.compile(r"^package (?P<name>[\w.+-]{1,120}) is not installed$|no packages found matching (?P<pattern>\S{1,120})")


def _package(name: str, version: str, arch: str | None, state: str | None, installed: bool, raw: str) -> dict[str, t.Any]:
    base, _colon, qualifier = name.partition(":")
    return {
        "name": base,
        "version": version,
        "arch": arch or qualifier or None,
        "state": state,
        "installed": installed,
        "line": quote(raw),
    }


def parse_packages(text: str) -> dict[str, t.Any]:
    """C(dpkg -l), C(dpkg-query -W), C(apt list), C(rpm -qa), C(dnf list), C(pacman -Q).

    Also: C(installed) per package (dpkg's C(rc), and what a repository merely offers, are not), C(not_installed) (names).
    """
    packages: list[dict[str, t.Any]] = []
    absent: list[str] = []
    offered = False  # below "Available Packages" of dnf
    for raw in lines_of(text_of(text)):
        line = head(raw).rstrip()
        row = line.strip()
        if not row or prompt_command(line):
            continue
        if row in ("Available Packages", "Available packages", "Available Upgrades"):
            offered = True
            continue
        if row in ("Installed Packages", "Installed packages"):
            offered = False
            continue
        match = _NOT_INSTALLED.search(row)
        if match:
            absent.append(match.group("name") or match.group("pattern"))
            continue
        match = _DPKG.match(line)
        if match:
            state = match.group("state").strip()
            if match.group("version") == "<none>":
                continue
            packages.append(_package(match.group("name"), match.group("version"), match.group("arch"), state, state[1:2] == "i", raw))
            continue
        match = _APT.match(row)
        if match:
            state = match.group("state")
            installed = bool(state) and ("installed" in state or "upgradable" in state)
            state = state or "available"
            packages.append(_package(match.group("name"), match.group("version"), match.group("arch"), state, installed, raw))
            continue
        words = row.split()
        match = _NVRA.match(words[0])
        if match and (len(words) == 1 or line_time(row[len(words[0]) :].strip())):  # rpm -qa, rpm -qa --last
            packages.append(_package(match.group("name"), match.group("version"), match.group("arch"), None, True, raw))
            continue
        match = _DNF.match(row)
        if match:
            installed = match.group("repo").startswith("@") or not offered
            state = "installed" if installed else "available"
            packages.append(_package(match.group("name"), match.group("version"), match.group("arch"), state, installed, raw))
            continue
        match = _PLAIN.match(row)
        if match:
            packages.append(_package(match.group("name"), match.group("version"), None, None, True, raw))
    return {"packages": packages, "not_installed": absent}


_APT_KEYS = {
    "Install": "install",
    "Reinstall": "install",
    "Upgrade": "upgrade",
    "Downgrade": "downgrade",
    "Remove": "remove",
    "Purge": "purge",
}
_APT_ROW = re.compile(
    r"^(?P<key>Start-Date|End-Date|Commandline|Requested-By|Error|Install|Reinstall|Upgrade|Downgrade|Remove|Purge): ?(?P<value>.*)$"
)
_APT_ITEM = re.compile(
    r"(?P<name>[a-z0-9][\w.+-]{0,120})(?::(?P<arch>\w{1,16}))? \((?P<first>[^,()]{0,120})(?:, "
    r"(?P<second>[^,()]{0,120}))?(?:, [^,()]{0,60})?\)"
)
_DPKG_LOG = re.compile(
    r"^(?P<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) (?P<action>install|upgrade|remove"
    r"|purge) (?P<name>[^\s:]{1,120})(?::(?P<arch>\S{1,16}))? (?P<old>\S{1,120}) (?P<new>\S{1,120})\s*$"
)
_RPM_WORDS = {
    "Install": "install",
    "Installed": "install",
    "Dep-Install": "install",
    "Reinstall": "install",
    "Upgrade": "upgrade",
    "Update": "upgrade",
    "Updated": "upgrade",
    "Downgrade": "downgrade",
    "Erase": "remove",
    "Erased": "remove",
    "Remove": "remove",
    "Removed": "remove",
    "Obsoleted": "remove",
    "Upgraded": "old",
    "Downgraded": "old",
    "Replaced": "old",
}
_RPM_LOG = re.compile(r"(?:SUBDEBUG|INFO|DEBUG)?\s{0,2}\b(?P<word>" + "|".join(_RPM_WORDS) + r"): (?P<nvra>[A-Za-z0-9]\S{2,250})\s*$")
_DNF_INFO = re.compile(r"^\s{1,16}\**\s{0,2}(?P<word>" + "|".join(_RPM_WORDS) + r")\s{1,16}(?P<nvra>[A-Za-z0-9][^\s@]{2,250})(?:\s|$)")
_DNF_KEY = re.compile(r"^\s{0,4}(?P<key>Transaction ID|Begin time|Command Line|Command line|Description)\s{0,16}: ?(?P<value>.*)$")
_DNF_LIST = re.compile(r"^\s{0,8}\d{1,6} ?\| (?P<command>[^|]{0,200})\| (?P<time>\d{4}-\d\d-\d\d \d\d:\d\d)(?::\d\d)? ?\|")
_NEVRA = re.compile(
    r"^(?P<name>[A-Za-z0-9][\w.+-]{0,160})-(?P<version>(?:\d{1,4}:)?[\w.~^+]{1,80}-[\w.~^+]{1,80}?)(?:\.(?:" + _ARCHES + r"))?$"
)
_PACMAN = re.compile(
    r"\[ALPM\] (?P<word>upgraded|installed|removed|downgraded|reinstalled) (?P<name>[\w.+@-]{1,120}) \((?P<old>[^()\s]{1,80})(?: -> "
    r"(?P<new>[^()\s]{1,80}))?\)"
)
_PACMAN_WORDS = {"upgraded": "upgrade", "installed": "install", "removed": "remove", "downgraded": "downgrade", "reinstalled": "install"}
_UNATTENDED = re.compile(r"INFO Packages that will be upgraded: (?P<names>.{1,4000})$")
_ZYPP = re.compile(
    r"^(?P<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\|(?P<word>install|remove *)\|(?P<name>[^|]{1,120})\|(?P<version>[^|]{1,120})\|"
)
_OF_INTEREST = re.compile(
    r"nvidia|cuda|linux-(?:image|headers|modules)|^kernel|kmod-|akmod|containerd|docker|cri-o|kubelet|dkms|nouveau|gcc"
)
_MAX_TRANSACTIONS = 4000


def _nevra(text: str) -> tuple[str, str | None]:
    text = re.sub(r"^(\d{1,4}):([A-Za-z].*)$", r"\2", text)  # yum prints 3:nvidia-driver-...
    match = _NEVRA.match(text)
    return (match.group("name"), match.group("version")) if match else (text, None)


class _History:
    """Collects transactions; a change that names only the replaced version is joined to its newer half."""

    def __init__(self) -> None:
        self.done: list[dict[str, t.Any]] = []
        self.current: dict[str, t.Any] | None = None

    def start(self, when: str | None, command: str | None, raw: str) -> dict[str, t.Any]:
        self.current = {"time": when, "command": command, "changes": [], "line": quote(raw)}
        self.done.append(self.current)
        if len(self.done) > _MAX_TRANSACTIONS:
            del self.done[0]
        return self.current

    def change(self, action: str, name: str, old: str | None, new: str | None, raw: str, when: str | None = None) -> None:
        current = self.current or self.start(when, None, raw)
        changes = current["changes"]
        if action == "old":
            for item in reversed(changes[-400:]):
                if item["name"] == name and item["old"] is None and item["action"] in ("upgrade", "downgrade", "install"):
                    item["old"] = old
                    return
            action = "upgrade"
        changes.append({"action": action, "name": name, "old": old, "new": new})
        # The line to quote is the first that names something of ours.
        if len(changes) == 1 or (not current.get("_ours") and _OF_INTEREST.search(name)):
            current["line"] = quote(raw)
        current["_ours"] = current.get("_ours") or bool(_OF_INTEREST.search(name))

    def finish(self) -> list[dict[str, t.Any]]:
        for transaction in self.done:
            transaction.pop("_ours", None)
        return self.done


def parse_package_history(text: str) -> dict[str, t.Any]:
    """apt history.log, dpkg.log, dnf.rpm.log, yum.log, C(dnf history [info]), zypper's, pacman's and unattended-upgrades' logs."""
    history = _History()
    style = ""
    for raw in lines_of(text_of(text)):
        line = head(raw) if not raw.startswith(tuple(_APT_KEYS)) else raw[: 64 * 1024]
        match = _APT_ROW.match(line)
        if match:
            key, value = match.group("key"), match.group("value").strip()
            if key == "Start-Date":
                history.start(line_time(value.replace("  ", " ")), None, raw)
                style = "apt"
            elif key == "Commandline":
                current = history.current if style == "apt" and history.current else history.start(None, None, raw)
                style = "apt"
                current["command"] = value
            elif key in _APT_KEYS:
                for item in _APT_ITEM.finditer(value):
                    first, second = item.group("first"), item.group("second")
                    action = _APT_KEYS[key]
                    if action in ("upgrade", "downgrade"):
                        old, new = first, second
                    elif action == "install":
                        old, new = None, first
                    else:
                        old, new = first, None
                    history.change(action, item.group("name"), old, new, raw)
            elif key == "End-Date":
                history.current, style = None, ""
            continue
        match = _DPKG_LOG.match(line)
        if match:
            when = line_time(match.group("time"))
            if style != "dpkg":
                history.start(when, None, raw)
                style = "dpkg"
            old, new = (None if value == "<none>" else value for value in (match.group("old"), match.group("new")))
            action = match.group("action")
            history.change(action, match.group("name"), old, None if action in ("remove", "purge") else new, raw, when)
            continue
        if " startup archives unpack" in line or " startup packages remove" in line:
            style = ""
            continue
        match = _DNF_KEY.match(line)
        if match:
            key, value = match.group("key"), match.group("value").strip()
            if key == "Transaction ID":
                history.start(None, None, raw)
                style = "dnf"
            elif style == "dnf" and history.current:
                if key == "Begin time":
                    history.current["time"] = line_time(value)
                elif history.current["command"] is None:
                    history.current["command"] = value or None
            continue
        if style == "dnf":
            match = _DNF_INFO.match(line)
            if match:
                _rpm_change(history, match, raw, None)
                continue
        match = _RPM_LOG.search(line)
        if match:
            when = line_time(line)
            if style != "rpmlog":
                history.start(when, None, raw)
                style = "rpmlog"
            _rpm_change(history, match, raw, when)
            continue
        if "logging initialized" in line:
            style = ""
            continue
        match = _DNF_LIST.match(line)
        if match:
            history.start(listing_time(match.group("time")), match.group("command").strip() or None, raw)
            history.current, style = None, ""
            continue
        match = _PACMAN.search(line)
        if match:
            if style != "pacman":
                history.start(line_time(line) or listing_time(line), None, raw)
                style = "pacman"
            word, first, second = match.group("word"), match.group("old"), match.group("new")
            action = _PACMAN_WORDS[word]
            old = first if second or action == "remove" else None
            history.change(action, match.group("name"), old, second or (first if action == "install" else None), raw)
            continue
        match = _ZYPP.match(line)
        if match:
            when = line_time(match.group("time"))
            if style != "zypp":
                history.start(when, None, raw)
                style = "zypp"
            action = match.group("word").strip()
            version = match.group("version")
            old, new = (version, None) if action == "remove" else (None, version)
            history.change(action, match.group("name"), old, new, raw)
            continue
        match = _UNATTENDED.search(line)
        if match:
            history.start(line_time(line), "unattended-upgrade", raw)
            for name in match.group("names").split()[:400]:
                history.change("upgrade", name, None, None, raw)
            history.current, style = None, ""
            continue
        words = line.split(None, 1)
        match = _NVRA.match(words[0]) if len(words) == 2 else None
        if match:  # rpm -qa --last
            when = line_time(words[1].strip())
            if when:
                history.start(when, None, raw)
                history.change("install", match.group("name"), None, match.group("version"), raw, when)
                history.current, style = None, ""
    return {"transactions": history.finish()}


def _rpm_change(history: _History, match: t.Any, raw: str, when: str | None) -> None:
    action = _RPM_WORDS[match.group("word")]
    name, version = _nevra(match.group("nvra"))
    is_old = action in ("old", "remove")
    history.change(action, name, version if is_old else None, None if is_old else version, raw, when)


# ------------------------------------------------------------------------------------------------ module loading, directories, nodes

_CONF = re.compile(
    r"^(?:[^\s:]{1,200}\.conf:(?:\d{1,6}:)?|\d{1,6}:)?\s{0,16}(?P<verb>blacklist|install|options|alias"
    r"|softdep)\s{1,16}(?P<module>[\w*:.-]{1,120})(?:\s|$)"
)
_CMDLINE = re.compile(r"(?:^|\s)(?:modprobe\.blacklist|rd\.driver\.blacklist|module_blacklist)=(?P<modules>[\w,-]{1,400})")


def parse_modprobe_conf(text: str) -> dict[str, t.Any]:
    """Rules of C(/etc/modprobe.d), also printed by C(grep -r), and blacklists of the kernel command line. Names with underscores.

    Also: C(alias) and C(softdep).
    """
    out: dict[str, dict[str, str]] = {"blacklist": {}, "install": {}, "options": {}, "alias": {}, "softdep": {}}
    for raw in lines_of(text_of(text)):
        line = head(raw)
        match = _CONF.match(line)
        if match:
            out[match.group("verb")].setdefault(match.group("module").replace("-", "_"), quote(raw))
            continue
        if "blacklist=" in line:
            for found in _CMDLINE.finditer(line):
                for module in found.group("modules").split(","):
                    if module:
                        out["blacklist"].setdefault(module.replace("-", "_"), quote(raw))
    return t.cast("dict[str, t.Any]", out)


_FULL_KERNEL = r"\d{1,2}\.\d{1,3}\.\d{1,5}[\w.+~-]{0,100}"
_LIB_MODULES = re.compile(r"/lib/modules/(?P<kernel>" + _FULL_KERNEL + r")(?P<path>/[^\s:'\"]{0,300})?")
_BARE_KERNEL = re.compile(r"(?:^|\s)(?P<kernel>" + _FULL_KERNEL + r")/?(?=\s|$)")
_NVIDIA_KO = re.compile(r"/nvidia[\w-]{0,40}\.ko(?:\.(?:xz|zst|gz))?$")
_MISSING = ("No such file or directory", "cannot access", "not found")


def parse_ls_modules(text: str) -> dict[str, t.Any]:
    """C(ls /lib/modules), C(ls -l /lib/modules/*/build), C(find /lib/modules -name 'nvidia*.ko*').

    Also: C(build_target) (where the link points; RHEL's link may dangle) and C(nvidia_modules) (files per kernel).
    """
    kernels: dict[str, None] = {}
    build: dict[str, bool] = {}
    target: dict[str, str] = {}
    files: dict[str, list[str]] = {}
    below: str | None = None  # "/lib/modules/K:" heads the listing of a directory
    for raw in lines_of(text_of(text)):
        line = head(raw)
        if prompt_command(line) and "modules" in line:
            continue
        gone = any(word in line for word in _MISSING)
        found = list(_LIB_MODULES.finditer(line))
        for match in found[:50]:
            kernel, path = match.group("kernel"), (match.group("path") or "").rstrip("/")
            if path.startswith(("/build", "/source")):
                if path == "/build":
                    build[kernel] = not gone
                    link = line[match.end() :].strip()
                    if link.startswith("-> "):
                        target[kernel] = link[3:].strip()
                if not gone:
                    kernels.setdefault(kernel)
                continue
            if gone:
                continue
            kernels.setdefault(kernel)
            if _NVIDIA_KO.search(path):
                files.setdefault(kernel, []).append("/lib/modules/" + kernel + path)
            if not path and line.rstrip().endswith(":"):
                below = kernel
        if found or gone:
            continue
        words = line.split()
        if below and "build" in words:
            build[below] = True
            if " -> " in line:
                target[below] = line.split(" -> ", 1)[1].strip()
            continue
        for match in _BARE_KERNEL.finditer(line):
            kernels.setdefault(match.group("kernel"))
    ordered = sorted(kernels, key=kernel_key)
    return {"kernels": ordered, "build_link": build, "build_target": target, "nvidia_modules": files}


_PROC_DEVICE = re.compile(r"^\s{0,8}(?P<major>\d{1,4}) (?P<name>[\w.:/-]{1,64})\s*$")


def parse_proc_devices(text: str) -> dict[str, t.Any]:
    """C(/proc/devices), character devices only. The first major of a name counts."""
    char: dict[str, int] = {}
    block = False
    for raw in lines_of(text_of(text)):
        line = head(raw)
        if line.strip() == "Block devices:":
            block = True
        elif line.strip() == "Character devices:":
            block = False
        elif not block:
            match = _PROC_DEVICE.match(line)
            if match:
                char.setdefault(match.group("name"), int(match.group("major")))
    return {"char": char}


_NODE_DETAIL = re.compile(r"^\s{0,8}c[rwxstST-]{9}[.+@]?\s.{0,80}?\s(?P<major>\d{1,4}), {1,8}(?P<minor>\d{1,8}) ")
_NODE_NAME = re.compile(
    r"(?:^|\s)(?P<name>(?:/host)?/dev/nvidia[\w./-]{0,80}|nvidia(?:\d{1,3}|ctl|-uvm|-uvm-tools|-modeset|-caps|-cap\d{1,3}"
    r"|-nvswitch\w{0,8}|-nvlink|-vgpu\w{0,8}|-fs\d{0,3}))(?=[\s:]|$)"
)
_DEV_CHAR = re.compile(r"(?:^|\s)(?:/dev/char/)?(?P<number>\d{1,4}:\d{1,8})(?: -> (?P<target>\S{1,120}))?(?=\s|$)")


def parse_ls_dev(text: str) -> dict[str, t.Any]:
    """C(ls -l /dev/nvidia*), C(ls /dev), C(ls -l /dev/char).

    Also: C(majors) (node to [major, minor]) and C(char_links) ("195:0" to its target, or to "" when none is printed).
    """
    nodes: dict[str, None] = {}
    majors: dict[str, list[int]] = {}
    links: dict[str, str] = {}
    out: dict[str, t.Any] = {"missing": False}
    directory = "/dev/"
    for raw in lines_of(text_of(text)):
        line = head(raw)
        row = line.strip()
        if prompt_command(line):
            continue
        if any(word in row for word in _MISSING[:2]) and "nvidia" in row:
            out["missing"] = True
            out.setdefault("line", quote(raw))
            continue
        if row.endswith(":") and " " not in row:
            directory = row[:-1].replace("/host/", "/") + "/" if row.startswith("/") else "/dev/"
            if not row.startswith("/dev/nvidia"):
                continue
            row = ""
        detail = _NODE_DETAIL.match(line)
        for match in _NODE_NAME.finditer(line):
            name = match.group("name").rstrip(":")
            if "/dev/" in name:
                name = name[name.index("/dev/") :]
            else:
                if directory == "/dev/char/":
                    continue
                name = directory + name
            if row and not line.lstrip().startswith("l"):
                nodes.setdefault(name)
                out.setdefault("line", quote(raw))
                if detail:
                    majors[name] = [int(detail.group("major")), int(detail.group("minor"))]
        for match in _DEV_CHAR.finditer(line):
            if match.group("target") or not detail and not re.search(r"\d\d:\d\d /", line):
                if match.group("target") or _only_numbers(line):
                    links[match.group("number")] = match.group("target") or ""
    out.update(nodes=list(nodes), majors=majors, char_links=links)
    if nodes:
        out["missing"] = False
    return out


def _only_numbers(line: str) -> bool:
    """A row of plain C(ls /dev/char): nothing but major:minor."""
    return all(re.match(r"^(?:/dev/char/)?\d{1,4}:\d{1,8}$", word) for word in line.split())


# ------------------------------------------------------------------------------------------------ time and boot

_UP = re.compile(r"\bup (?P<what>.{1,120}?)(?:,\s{1,4}\d{1,4} users?|,\s{1,4}load average|$)")
_UP_PART = re.compile(r"(?P<count>\d{1,6}) ?(?P<unit>year|week|day|hour|hr|min|sec)")
_UP_CLOCK = re.compile(r"(?:^|,)\s{0,4}(?P<hours>\d{1,4}):(?P<minutes>\d\d)\s*$")
_UNITS = {"year": 31536000, "week": 604800, "day": 86400, "hour": 3600, "hr": 3600, "min": 60, "sec": 1}
_PROC_UPTIME = re.compile(r"^\s{0,8}(?P<seconds>\d{1,10}\.\d{1,3}) \d{1,12}\.\d{1,3}\s*$")
_BTIME = re.compile(r"^\s{0,8}btime (?P<epoch>\d{9,11})\s*$")


def parse_uptime(text: str) -> dict[str, t.Any]:
    """C(boot), normalised, of C(uptime -s), C(who -b), C(last reboot), btime in /proc/stat; of C(uptime) only its words.

    Also: C(up_seconds) of C(uptime), C(uptime -p), /proc/uptime.
    """
    out: dict[str, t.Any] = {}
    for raw in lines_of(text_of(text)):
        line = head(raw)
        row = line.strip()
        if not row or prompt_command(line):
            continue
        match = _BTIME.match(line)
        if match:
            out["boot"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(match.group("epoch"))))
            break
        match = _PROC_UPTIME.match(line)
        if match:
            out.setdefault("up_seconds", int(float(match.group("seconds"))))
            continue
        match = _UP.search(row)
        if match and "system boot" not in row:
            what = match.group("what").strip()
            seconds = sum(int(part.group("count")) * _UNITS[part.group("unit")] for part in _UP_PART.finditer(what))
            clock = _UP_CLOCK.search(what)
            if clock:
                seconds += int(clock.group("hours")) * 3600 + int(clock.group("minutes")) * 60
            if seconds or clock:
                out.setdefault("up_seconds", seconds)
                out.setdefault("boot", "up " + what)
            continue
        when = listing_time(row)
        if when and ("boot" in row or len(row) <= 40):
            out["boot"] = when
            break
    return out


_VMLINUZ = re.compile(r"(?P<link>vmlinuz(?:\.old)?) -> (?:boot/|/boot/)?vmlinuz-(?P<target>" + _FULL_KERNEL + ")")
_VMLINUZ_FILE = re.compile(r"vmlinuz-(?P<kernel>" + _FULL_KERNEL + ")")
_SAVED_ENTRY = re.compile(r"saved_entry=(?P<entry>\S{1,200})")
_ENTRY_KERNEL = re.compile(r"(?<![\d.])(" + _FULL_KERNEL + ")")


def parse_boot_kernel(text: str) -> dict[str, t.Any]:
    """The kernel that the next boot takes: C(grubby --default-kernel), grub's saved entry, the /boot/vmlinuz link, else the newest.

    Also: C(kernels), and C(how): default, link, saved, newest.
    """
    kernels: dict[str, None] = {}
    chosen: dict[str, str] = {}
    listing = False
    command = ""
    for raw in lines_of(text_of(text)):
        line = head(raw)
        typed = prompt_command(line)
        if typed:
            command = typed
            continue
        match = _VMLINUZ.search(line)
        if match:
            if match.group("link") == "vmlinuz":
                chosen["link"] = match.group("target")
            kernels.setdefault(match.group("target"))
            listing = True
            continue
        match = _SAVED_ENTRY.search(line)
        if match:
            kernel = _ENTRY_KERNEL.search(match.group("entry"))
            if kernel:
                chosen["saved"] = kernel.group(1)
                kernels.setdefault(kernel.group(1))
            continue
        found = [match.group("kernel") for match in _VMLINUZ_FILE.finditer(line)]
        for kernel_name in found:
            if not kernel_name.endswith((".old", ".dpkg-new", ".dpkg-tmp")):
                kernels.setdefault(kernel_name)
        if found and (re.match(r"^\s*/boot/(?:efi/)?\S{0,80}vmlinuz-\S{1,120}\s*$", line) or line.strip().startswith("kernel=")):
            # One bare path is the answer of grubby or readlink; several are a listing.
            if "bare" in chosen and chosen["bare"] != found[0]:
                listing = True
            chosen["bare"] = found[0]
        elif found:
            listing = True
    out: dict[str, t.Any] = {"kernels": sorted(kernels, key=kernel_key)}
    bare = chosen.pop("bare", None)
    if bare and (not listing or "grubby" in command or "readlink" in command):
        chosen["default"] = bare
    for how in ("default", "saved", "link"):
        if how in chosen:
            out["next_kernel"], out["how"] = chosen[how], how
            return out
    if kernels:
        out["next_kernel"], out["how"] = out["kernels"][-1], "newest"
    return out


# ------------------------------------------------------------------------------------------------ driver container

_CTR_START = re.compile(
    r"Starting installation of NVIDIA driver (?:version (?P<version>[\w.-]{1,40})"
    r"|branch (?P<branch>[\w.-]{1,40})) for Linux kernel version (?P<kernel>\S{1,120})"
)
_CTR_KERNEL = re.compile(r"Proceeding with Linux kernel version (?P<kernel>\S{1,120})")
# In the order of the work; the last one printed is where the container stands.
_CTR_STAGES: tuple[tuple[str, str], ...] = (
    ("GPU driver auto installation is disabled", "disabled"),
    ("Waiting for GPU driver libraries to be available", "waiting_libraries"),
    ("NVIDIA Software Installer", "start"),
    ("Starting installation of NVIDIA driver", "start"),
    ("performing userspace-only install", "userspace"),
    ("Stopping NVIDIA persistence daemon", "unload"),
    ("Unloading NVIDIA driver kernel modules", "unload"),
    ("Unmounting NVIDIA driver rootfs", "unload"),
    ("Checking NVIDIA driver packages", "packages"),
    ("Updating the package cache", "package_cache"),
    ("Resolving Linux kernel version", "resolve_kernel"),
    ("Proceeding with Linux kernel version", "resolve_kernel"),
    ("Installing elfutils", "headers"),
    ("Installing Linux kernel headers", "headers"),
    ("Installing Linux kernel module files", "headers"),
    ("Generating Linux kernel version string", "headers"),
    ("Compiling NVIDIA driver kernel modules", "compile"),
    ("Relinking NVIDIA driver kernel modules", "compile"),
    ("Building NVIDIA driver package", "compile"),
    ("Installing NVIDIA driver kernel modules", "install"),
    ("Installing NVIDIA driver", "install"),
    ("Parsing kernel module parameters", "load"),
    ("Loading ipmi and i2c_core kernel modules", "load"),
    ("Loading NVIDIA driver kernel modules", "load"),
    ("Starting NVIDIA persistence daemon", "daemons"),
    ("Starting NVIDIA fabric manager daemon", "daemons"),
    ("Mounting NVIDIA driver rootfs", "mount"),
    ("Done, now waiting for signal", "ready"),
)
_CTR_WORDS = tuple(text for text, _stage in _CTR_STAGES) + (
    "E: ",
    "rror",
    "ERROR",
    "FATAL",
    "Could not",
    "Unable to",
    "aborting",
    "ailed",
    "Caught signal",
    "make",
    "not found",
    "GPL-only",
    "level=",
    "invalid value",
)
_CTR_ERROR = re.compile(
    r"^(?:E: |Error: |ERROR: |FATAL: |FATAL |fatal: )|Could not (?:unload|resolve|locate|stop|load|download|find)|Unable to (?:locate"
    r"|resolve|find|load)"
    r"|modprobe: (?:ERROR|FATAL)|insmod: (?:ERROR|error)|: (?:fatal )?error: |make(?:\[\d{1,2}\])?: \*\*\* |is already running, aborting"
    r"|GPL-only symbol"
    r"|level=(?:fatal|error)|invalid value for the KERNEL_MODULE_TYPE"
)
_CTR_HARMLESS = re.compile(
    r"is not currently loaded|Module (?:nouveau|nvidia[\w-]*) is not|modprobe -r|^\+ |unmount|dpkg-preconfigure|debconf"
    r"|update-alternatives"
)


def parse_driver_container_log(text: str) -> dict[str, t.Any]:
    """The log of the operator's driver container (also GKE's installer): which version for which kernel, and how far it came.

    Only the last run in the text counts. Also: C(branch) (precompiled), C(ready_time).
    """
    out: dict[str, t.Any] = {"ready": False, "error_line": None}
    for _lineno, raw in grep(text_of(text), _CTR_WORDS):
        line = head(raw)
        match = _CTR_START.search(line)
        if match and not line.lstrip().startswith("+"):
            out = {"ready": False, "error_line": None, "kernel": match.group("kernel"), "stage": "start"}
            if match.group("version"):
                out["version"] = match.group("version")
            else:
                out["branch"] = match.group("branch")
            continue
        match = _CTR_KERNEL.search(line)
        if match:
            out["kernel"] = match.group("kernel")
        stage = next((name for said, name in _CTR_STAGES if said in line), None)
        if stage and not line.lstrip().startswith("+"):
            out["stage"] = stage
            if stage == "ready":
                out["ready"], out["error_line"] = True, None
                when = line_time(line)
                if when:
                    out["ready_time"] = when
            continue
        if "Caught signal" in line:
            out["ready"] = False
            out["stage"] = "stopped"
        elif out["error_line"] is None and not out["ready"] and _CTR_ERROR.search(line) and not _CTR_HARMLESS.search(line):
            out["error_line"] = quote(raw)
    return out


PARSERS: dict[str, t.Callable[[str], dict[str, t.Any]]] = {
    "uname": parse_uname,
    "os_release": parse_os_release,
    "proc_nvidia_version": parse_proc_version,
    "modinfo": parse_modinfo,
    "dkms_status": parse_dkms_status,
    "lsmod": parse_lsmod,
    "mokutil": parse_mokutil,
    "packages": parse_packages,
    "package_history": parse_package_history,
    "modprobe_conf": parse_modprobe_conf,
    "ls_modules": parse_ls_modules,
    "proc_devices": parse_proc_devices,
    "ls_dev": parse_ls_dev,
    "ls_dev_char": parse_ls_dev,
    "dkms_build": parse_dkms_build,
    "uptime": parse_uptime,
    "boot_kernel": parse_boot_kernel,
}

# Container logs are told apart by the component that wrote them.
