# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors
"""The hardware layer as text: PCI bus, kernel log, nvidia-smi. Pure functions, text in, dict out.

Lists, dicts and booleans are always there; other keys are absent when the text does not show them, or None where None is said.
PCI addresses are C(dddd:bb:dd.f), whatever the program printed, so that lspci, the kernel and nvidia-smi name a GPU alike.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.gpuops.node.plugins.module_utils.runner import grep, head, line_stamp, lines_of, quote, text_of

_PCI = r"(?:[0-9A-Fa-f]{4,8}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}(?:\.[0-7])?"
_PCI_PARTS = re.compile(r"^(?:([0-9A-Fa-f]{4,8}):)?([0-9A-Fa-f]{2}):([0-9A-Fa-f]{2})(?:\.([0-7]))?$")


def pci_address(text: str) -> str | None:
    """9b:00.0, 0000:9b:00 and 00000000:9B:00.0 are all 0000:9b:00.0."""
    match = _PCI_PARTS.match(text.strip())
    if not match:
        return None
    domain, bus, device, function = match.groups()
    domain = (domain or "0").lstrip("0").zfill(4)
    return f"{domain}:{bus}:{device}.{function or '0'}".lower()


# ------------------------------------------------------------------------------------------------ lspci

# 3b:00.0 3D controller [0302]: NVIDIA Corporation GA100 [A100 PCIe 40GB] [10de:20f1] (rev a1)
_LSPCI = re.compile(r"^\s{0,8}(?P<address>(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) (?P<rest>\S.*)$", re.IGNORECASE)
_LSPCI_NUMERIC = re.compile(r"^(?P<cls>[0-9a-f]{4}): (?P<dev>[0-9a-f]{4}:[0-9a-f]{4})(?P<tail>.*)$", re.IGNORECASE)  # lspci -n
_CLASS_ID = re.compile(r" \[([0-9a-f]{4})\]$", re.IGNORECASE)
_DEVICE_ID = re.compile(r" ?\[([0-9a-f]{4}:[0-9a-f]{4})\]", re.IGNORECASE)
_REV = re.compile(r" ?\(rev ([0-9a-f]{2})\)")
_PROG_IF = re.compile(r" ?\(prog-if [0-9a-f]{2}[^)]{0,64}\)")
_GPU_CLASSES = {"0300": True, "0302": True}  # as the GPU operator's validator counts; 0680 is NVSwitch
_GPU_CLASS_NAMES = ("VGA compatible controller", "3D controller")


def _lspci_device(address: str, rest: str, line: str) -> dict[str, t.Any] | None:
    numeric = _LSPCI_NUMERIC.match(rest)
    if numeric:
        class_name, class_id = "", numeric.group("cls").lower()
        name, device_id, tail = "", numeric.group("dev").lower(), numeric.group("tail")
    else:
        class_name, found, tail = rest.partition(": ")
        if not found:
            return None
        match = _CLASS_ID.search(class_name)
        class_id = match.group(1).lower() if match else None
        class_name = class_name[: match.start()] if match else class_name
        ids = _DEVICE_ID.findall(tail)
        device_id = ids[-1].lower() if ids else None
        name = _PROG_IF.sub("", _REV.sub("", tail))
        if ids:
            name = name.replace("[" + ids[-1] + "]", "")
        name = " ".join(name.split())
    if not (device_id.startswith("10de:") if device_id else name.lower().startswith("nvidia")):
        return None
    rev = _REV.search(tail)
    gpu = class_id in _GPU_CLASSES if class_id else class_name in _GPU_CLASS_NAMES
    switch = not gpu and (class_id == "0680" or "nvswitch" in name.lower())
    return {
        "address": pci_address(address) or address,
        "class_name": class_name,
        "class_id": class_id,
        "name": name,
        "device_id": device_id,
        "rev": rev.group(1) if rev else None,
        "driver": None,
        "modules": [],
        "gpu": gpu,
        "nvswitch": switch,
        "unassigned": False,
        "unreadable": False,
        "line": quote(line),
    }


def parse_lspci(text: str) -> dict[str, t.Any]:
    """NVIDIA functions of C(lspci), also C(-n), C(-nn), C(-nnk), C(-v).

    Also: C(unassigned) (a memory region has no address), C(unreadable) (unknown header type 7f), and C(missing).
    """
    devices: list[dict[str, t.Any]] = []
    current: dict[str, t.Any] | None = None
    missing = False
    for raw in lines_of(text_of(text)):
        line = head(raw)
        match = _LSPCI.match(line)
        if match:
            current = _lspci_device(match.group("address"), match.group("rest"), raw)
            if current:
                devices.append(current)
            continue
        row = line.strip()
        if "lspci: command not found" in row or "lspci: not found" in row:
            missing = True
        elif current is not None:
            if row.startswith("Kernel driver in use:"):
                current["driver"] = row.split(":", 1)[1].strip() or None
            elif row.startswith("Kernel modules:"):
                current["modules"] = [name.strip() for name in row.split(":", 1)[1].split(",") if name.strip()]
            elif "<unassigned>" in row or "<ignored>" in row:
                current["unassigned"] = True
            elif "Unknown header type" in row:
                current["unreadable"] = True
    return {"devices": devices, "missing": missing}


# ------------------------------------------------------------------------------------------------ kernel log

_XID = re.compile(r"NVRM: (?:NVRM: )?Xid \((?P<where>[^()]{4,96})\): (?P<xid>\d{1,5})(?:, ?(?P<rest>.*))?")
_XID_PCI = re.compile(r"(?:PCI:)?(" + _PCI + r")")
_XID_INSTANCE = re.compile(r"\b(GPU-I|GPU-CI):(\w{1,8})")
_XID_PID = re.compile(r"^pid=(?:'?(?P<pid>\d{1,10}|<unknown>)'?)(?:, ?|$)")
_XID_NAME = re.compile(r"^name=(?P<name>[^,]{0,64})(?:, ?|$)")
_XID_CAUSE = re.compile(r"caused by previous Xid (\d{1,5})")
_XID_ACTION = re.compile(r"recovery action changed from 0x[0-9a-fA-F]{1,8} \(([^)]{0,64})\) to 0x[0-9a-fA-F]{1,8} \(([^)]{0,64})\)")
_LOADING = re.compile(r"NVRM: loading (NVIDIA UNIX .{0,60}?Kernel Module(?: for \S{1,16})?) {1,4}(\d{2,4}\.\d{1,4}(?:\.\d{1,4})?)")
_LINUX = re.compile(r"Linux version (\d{1,3}\.\d{1,4}\S{0,120})")
_RMINIT = re.compile(r"NVRM: (?:GPU (?P<pci>" + _PCI + r"): )?RmInitAdapter failed! \((?P<code>[^)]{1,64})\)")
_GPU_AT = re.compile(r"NVRM: GPU at (?:PCI:)?(?P<pci>" + _PCI + r"): (?P<uuid>GPU-[0-9A-Fa-f-]{8,48})")
_NVRM_GPU = re.compile(r"NVRM: (?:The NVIDIA )?GPU (?P<pci>" + _PCI + r")(?=[:\s(])")
_NVIDIA_DEV = re.compile(r"(?:^|[\s\]:])nvidia (?P<pci>[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]): ")
_PROBE_FAILED = re.compile(r"NVRM: The NVIDIA probe routine failed for (\d{1,6}) device")
_PROBE_NOT_CALLED = re.compile(r"NVRM: The NVIDIA probe routine was not called for (\d{1,6}) device")
_BOUND = re.compile(r"NVRM: GPU (?P<pci>" + _PCI + r") is already bound to (?P<driver>[\w-]{1,64})")
_FALLEN = re.compile(r"NVRM: GPU (?P<pci>" + _PCI + r"): GPU has fallen off the bus")
_NAMED_GPU = re.compile(r"NVRM: The NVIDIA GPU (?P<pci>" + _PCI + r")(?=[\s(]|$)")
_PCI_ID = re.compile(r"\(PCI ID: ([0-9a-fA-F]{4}:[0-9a-fA-F]{4})\)")
_NVRM_TEXT = re.compile(r"NVRM: {0,4}(.*)$")
_RELEASE = re.compile(r"NVIDIA (\d{2,4}\.\d{1,4}(?:\.\d{1,4})?) driver release")
_LEGACY = re.compile(r"supported through the NVIDIA (\d{2,4}\.xx) Legacy drivers")
_API_OLD = re.compile(
    r"NVRM: API mismatch: the client(?: has the version (?P<version>\d[\d.]{1,18}\d))?"
    r"(?: '(?P<command>[^']{0,64})' \(pid (?P<pid>\d{1,10})\))?"
)
_API_CLIENT = re.compile(r"NVRM: has the version (\d[\d.]{1,18}\d)")
_API_MODULE = re.compile(r"NVRM: (?:this kernel module has )?the version (\d[\d.]{1,18}\d)")
_MONOTONIC = re.compile(r"(?:^|[\s:])\[ {0,8}(\d{1,9}\.\d{6})\]")


def _xid_rest(rest: str) -> tuple[int | None, str | None, str]:
    """pid, process name and text of what follows the number; both may be missing (old and very new drivers)."""
    pid: int | None = None
    name: str | None = None
    match = _XID_PID.match(rest)
    if match:
        number = match.group("pid")
        pid = int(number) if number.isdigit() else None
        rest = rest[match.end() :]
        match = _XID_NAME.match(rest)
        if match:
            name = match.group("name").strip("'\" ")
            name = None if name in ("", "<unknown>") else name
            rest = rest[match.end() :]
    return pid, name, rest.strip()


def parse_kernel_log(text: str) -> dict[str, t.Any]:
    """What the kernel said about NVIDIA GPUs: dmesg, dmesg -T, journalctl, syslog, Talos.

    Also: per Xid C(uptime), C(time_text), C(process), C(gpu_instance), C(compute_instance), C(caused_by), C(action);
    C(uuids), C(fallen), C(bound_elsewhere), C(unsupported), C(api_mismatch), C(loaded_line), C(boot_lineno) (the last "Linux version"
    line: what stands before it is an earlier boot), C(probe_not_called).
    """
    text = text_of(text)
    out: dict[str, t.Any] = {
        "xids": [],
        "loaded_version": None,
        "open_module": None,
        "linux_version": None,
        "rminit_failed": [],
        "gpus_seen": [],
        "probe_failed": None,
        "probe_not_called": None,
        "uuids": {},
        "fallen": [],
        "bound_elsewhere": {},
        "unsupported": [],
        "api_mismatch": [],
        "boot_lineno": None,
    }
    seen: dict[str, None] = {}

    def note(address: str) -> str | None:
        pci = pci_address(address)
        if pci:
            seen.setdefault(pci)
        return pci

    mismatch: dict[str, t.Any] | None = None  # an API mismatch whose second and third line follow
    refused: dict[str, t.Any] | None = None  # "The NVIDIA GPU ... " whose reason follows on the next lines
    fallen: dict[str, None] = {}
    for lineno, raw in grep(text, ("NVRM:", "Linux version ", "nvidia ")):
        line = head(raw)
        if "NVRM:" not in line:
            match = _LINUX.search(line)
            if match:
                out["linux_version"], out["boot_lineno"] = match.group(1), lineno
            else:
                match = _NVIDIA_DEV.search(line)
                if match:
                    note(match.group("pci"))
            continue
        match = _XID.search(line)
        if match:
            where = _XID_PCI.search(match.group("where"))
            pid, process, message = _xid_rest(match.group("rest") or "")
            time_text, time = line_stamp(line)
            uptime = _MONOTONIC.search(line[: match.start()])
            instance = dict(_XID_INSTANCE.findall(match.group("where")))
            entry: dict[str, t.Any] = {
                "pci": note(where.group(1)) if where else None,
                "xid": int(match.group("xid")),
                "text": message,
                "pid": pid,
                "process": process,
                "time": time,
                "time_text": time_text,
                "uptime": float(uptime.group(1)) if uptime else None,
                "line": quote(raw),
                "lineno": lineno,
            }
            if "GPU-I" in instance:
                entry["gpu_instance"] = instance["GPU-I"]
            if "GPU-CI" in instance:
                entry["compute_instance"] = instance["GPU-CI"]
            cause = _XID_CAUSE.search(message)
            if cause:
                entry["caused_by"] = int(cause.group(1))
            action = _XID_ACTION.search(message)
            if action:
                entry["action"] = action.group(2)
            out["xids"].append(entry)
            continue
        match = _LOADING.search(line)
        if match:
            out["loaded_version"], out["open_module"] = match.group(2), " Open " in match.group(1)
            out["loaded_line"] = quote(raw)
            continue
        match = _RMINIT.search(line)
        if match:
            pci = note(match.group("pci")) if match.group("pci") else None
            out["rminit_failed"].append({"pci": pci, "code": match.group("code"), "line": quote(raw), "lineno": lineno})
            continue
        match = _GPU_AT.search(line)
        if match:
            pci = note(match.group("pci"))
            if pci:
                out["uuids"][pci] = match.group("uuid")
            continue
        for key, pattern in (("probe_failed", _PROBE_FAILED), ("probe_not_called", _PROBE_NOT_CALLED)):
            match = pattern.search(line)
            if match:
                out[key] = int(match.group(1))
        match = _API_OLD.search(line)
        if match:
            mismatch = {"client": match.group("version"), "module": None, "command": match.group("command"), "line": quote(raw)}
            out["api_mismatch"].append(mismatch)
            continue
        if mismatch is not None:
            match = _API_CLIENT.search(line) if mismatch["client"] is None else None
            if match:
                mismatch["client"] = match.group(1)
                continue
            match = _API_MODULE.search(line)
            if match:
                mismatch["module"] = match.group(1)
                mismatch = None
                continue
        match = _NVRM_GPU.search(line)
        if match:
            note(match.group("pci"))
        match = _BOUND.search(line)
        if match:
            out["bound_elsewhere"][pci_address(match.group("pci"))] = match.group("driver")
        match = _FALLEN.search(line)
        if match:
            fallen.setdefault(pci_address(match.group("pci")) or "")
        match = _NAMED_GPU.search(line)
        if match:
            refused = {"pci": pci_address(match.group("pci")), "device_id": None, "by": None, "line": quote(raw)}
        ident = _PCI_ID.search(line)
        if refused is not None and ident:
            refused["device_id"] = ident.group(1).lower()
        said = _NVRM_TEXT.search(line)
        by = _refusal(said.group(1)) if said else None
        if by == "fallen":
            fallen.setdefault((refused or {}).get("pci") or "")
            refused = None
        elif by:
            # Some texts name no GPU at all ("The NVIDIA Tesla K80 GPU installed in this system is ...").
            entry = refused or {"pci": None, "device_id": None, "by": None, "line": quote(raw)}
            entry["by"], entry["reason_line"] = by, quote(raw)
            out["unsupported"].append(entry)
            refused = None
    out["fallen"] = [pci for pci in fallen if pci]
    out["gpus_seen"] = list(seen)
    return out


def _refusal(said: str) -> str | None:
    """Which sentence of the driver's refusal this is; it names the GPU on one line and the reason on a later one."""
    if "fallen off the bus" in said:
        return "fallen"
    if "open nvidia.ko" in said.lower() or "nvidia.ko because it does not include" in said:
        return "open"
    match = _LEGACY.search(said)
    if match:
        return "legacy " + match.group(1)
    match = _RELEASE.search(said)
    return "release " + match.group(1) if match else None


# ------------------------------------------------------------------------------------------------ nvidia-smi

# (error, texts) in the order they are tried; the first line that holds one decides.
_SMI_ERRORS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("no_comm", ("couldn't communicate with the NVIDIA driver", "Failed to initialize NVML: Driver Not Loaded")),
    ("mismatch", ("river/library version mismatch",)),
    (
        "no_lib",
        ("couldn't find libnvidia-ml.so", "NVML Shared Library Not Found", "could not load NVML library", "libnvidia-ml.so.1: cannot open"),
    ),
    ("no_devices", ("No devices were found", "No devices found")),
    ("lost", ("GPU is lost", "Unable to determine the device handle for")),
    ("insufficient_permissions", ("Insufficient Permissions", "do not have suffi", "Insufficient permissions")),
    ("unknown_error", ("Failed to initialize NVML: Unknown Error",)),
    ("not_found", ("nvidia-smi: command not found", "nvidia-smi: not found", "command not found: nvidia-smi")),
    (
        "other",
        ("Failed to initialize NVML:", "NVIDIA-SMI has failed", "nvidia-smi: symbol lookup error", "Failed to properly shut down NVML"),
    ),
)
_SMI_NOT_FOUND = re.compile(r"nvidia-smi[\"']?[:\s].{0,80}(?:[Nn]o such file or directory|executable file not found)")
_SMI_BANNER = re.compile(r"NVIDIA-SMI (?P<smi>\d[\d.]{2,20})\b")
_SMI_DRIVER = re.compile(r"(?:Driver|KMD|DRIVER) [Vv]ersion {0,24}: {0,8}(?P<version>\d[\d.]{2,20})")
_SMI_CUDA = re.compile(r"CUDA (?:UMD )?[Vv]ersion {0,24}: {0,8}(?P<version>\d[\d.]{0,20}|N/A|ERR!)")
_SMI_NVML = re.compile(r"NVML (?:library )?version {0,24}: {0,8}(?P<version>\d[\d.]{0,20})")
_SMI_GPU = re.compile(r"^ {0,8}(?P<index>\d{1,3}) {1,8}(?P<name>\S.*)$")
_SMI_PCI = re.compile(r"^ {0,4}(?P<pci>[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])(?: |$)")
_SMI_MIG_ROW = re.compile(r"^\| {0,8}(\d{1,3}) {1,8}(\d{1,3}) {1,8}(\d{1,3}) {1,8}(\d{1,3}) {0,8}\|")
_SMI_PROCESS = re.compile(
    r"^\| {0,8}(\d{1,3}) {1,8}(?:(\d{1,3}|N/A) {1,8}(\d{1,3}|N/A) {1,8})?(\d{1,10}) {1,8}([A-Z+]{1,5}) {1,8}(\S.*?) {1,80}\S{1,16} {0,4}\|$"
)
_SMI_INFOROM = re.compile(r"WARNING: infoROM is corrupted at gpu (" + _PCI + ")")
_SMI_BOUNDARY = re.compile(r"^[+|]=[=+|]*\+?$|^\+-[-+]*\+$")
_MIG_STATES = {"Enabled": True, "Enabled*": True, "Disabled": False, "Disabled*": False, "N/A": None}
_CSV_FIRST = ("index,", "name,", "uuid,", "gpu_name,", "pci.bus_id,", "timestamp,")
_LAST_WORD = re.compile(r" {1,80}(On|Off|N/A|ERR!|Enabled|Disabled) {0,8}$")


def smi_error(line: str) -> str | None:
    """The word for a failure text of nvidia-smi, or None."""
    for error, texts in _SMI_ERRORS:
        if any(said in line for said in texts):
            return error
    return "not_found" if "nvidia-smi" in line and _SMI_NOT_FOUND.search(line) else None


def parse_nvidia_smi(text: str) -> dict[str, t.Any]:
    """The table of C(nvidia-smi), its failure texts, C(--version) and C(--query-gpu) in CSV.

    Also: C(mig_devices), C(processes), C(warnings), C(inforom) (PCI addresses), and per GPU C(lines).
    """
    out: dict[str, t.Any] = {
        "error": None,
        "gpus": [],
        "nvml_version": None,
        "mig_devices": [],
        "processes": [],
        "warnings": [],
        "inforom": [],
    }
    gpu: dict[str, t.Any] | None = None
    section = "gpus"
    columns: list[str] | None = None
    for raw in lines_of(text_of(text)):
        line = head(raw).strip()
        if not line:
            continue
        if out["error"] is None:
            error = smi_error(line)
            if error:
                out["error"], out["error_line"] = error, quote(raw)
                lost = re.search(r"device handle for GPU ?(" + _PCI + ")", line)
                if lost:
                    out["error_pci"] = pci_address(lost.group(1))
        warned = _SMI_INFOROM.search(line)
        if warned:
            out["inforom"].append(pci_address(warned.group(1)))
        if line.startswith("WARNING:"):
            out["warnings"].append(quote(raw))
        for key, pattern in (("driver_version", _SMI_DRIVER), ("cuda_version", _SMI_CUDA), ("nvml_version", _SMI_NVML)):
            match = pattern.search(line)
            if match and not out.get(key):
                out[key] = match.group("version")
        if "NVIDIA-SMI" in line:
            match = _SMI_BANNER.search(line)
            if match:
                out["smi_version"] = match.group("smi")
                gpu, section = None, "gpus"
                continue
        if columns is None and "," in line and line.lower().startswith(_CSV_FIRST):
            columns = [name.split("[")[0].strip().lower() for name in line.split(",")]
            continue
        if columns is not None and not line.startswith(("|", "+")) and line.count(",") == len(columns) - 1:
            _csv_gpu(out, columns, [cell.strip() for cell in line.split(",")])
            continue
        if not line.startswith("|"):
            if _SMI_BOUNDARY.match(line) and gpu is not None:
                gpu = None
            continue
        if "MIG devices:" in line:
            gpu, section = None, "mig"
            continue
        if "Processes:" in line:
            gpu, section = None, "processes"
            continue
        if section == "mig":
            match = _SMI_MIG_ROW.match(line)
            if match:
                numbers = [int(number) for number in match.groups()]
                out["mig_devices"].append(dict(zip(("gpu", "gi", "ci", "dev"), numbers)))
            continue
        if section == "processes":
            match = _SMI_PROCESS.match(line)
            if match:
                out["processes"].append({"gpu": int(match.group(1)), "pid": int(match.group(4)), "name": match.group(6).strip()})
            continue
        cells = line.strip("|").split("|")
        match = _SMI_GPU.match(cells[0])
        address = _SMI_PCI.match(cells[1]) if len(cells) > 1 else None
        if match and (address or (len(cells) > 1 and "ERR!" in line)):
            name = _LAST_WORD.sub("", match.group("name").rstrip())
            gpu = {
                "index": int(match.group("index")),
                "name": " ".join(name.split()),
                "pci": pci_address(address.group("pci")) if address else None,
                "mig": None,
                "err": "ERR!" in line,
                "line": quote(raw),
            }
            out["gpus"].append(gpu)
        elif gpu is not None:
            gpu["err"] = gpu["err"] or "ERR!" in line
            last = cells[-1].strip()
            if len(cells) >= 3 and not cells[0].strip() and not cells[1].strip() and last in _MIG_STATES:
                gpu["mig"] = _MIG_STATES[last]
                if last.endswith("*"):
                    gpu["mig_pending"] = True
    return out


def _csv_gpu(out: dict[str, t.Any], columns: list[str], cells: list[str]) -> None:
    row = dict(zip(columns, cells))
    index = row.get("index", "")
    out["gpus"].append(
        {
            "index": int(index) if index.isdigit() and len(index) < 6 else len(out["gpus"]),
            "name": row.get("name") or row.get("gpu_name") or "",
            "pci": pci_address(row.get("pci.bus_id", "")),
            "mig": _MIG_STATES.get(row.get("mig.mode.current", "")),
            "err": any(cell in ("[Unknown Error]", "[GPU is lost]", "ERR!") for cell in cells),
            "line": ", ".join(cells),
        }
    )
    if row.get("uuid"):
        out["gpus"][-1]["uuid"] = row["uuid"]
    if row.get("driver_version") and not out.get("driver_version"):
        out["driver_version"] = row["driver_version"]


# GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-5d5ba0d6-...)      MIG 1g.10gb     Device  0: (UUID: MIG-c6d4f1ef-...)
_LIST_GPU = re.compile(r"^\s{0,16}GPU (?P<index>\d{1,3}): (?P<name>.{0,120}?) ?\(UUID: (?P<uuid>[\w-]{4,64})\)")
_LIST_MIG = re.compile(r"^\s{0,16}MIG (?P<profile>\S{1,32})\s{1,16}Device\s{1,8}\d{1,3}: ?\(UUID: (?P<uuid>[\w/-]{4,80})\)")


def parse_nvidia_smi_list(text: str) -> dict[str, t.Any]:
    """C(nvidia-smi -L). Also: C(error) and C(error_line) as in L(parse_nvidia_smi)."""
    gpus: list[dict[str, t.Any]] = []
    out: dict[str, t.Any] = {"gpus": gpus, "error": None}
    for raw in lines_of(text_of(text)):
        line = head(raw)
        match = _LIST_GPU.match(line)
        if match:
            gpus.append({"index": int(match.group("index")), "name": match.group("name").strip(), "uuid": match.group("uuid"), "mig": []})
            continue
        match = _LIST_MIG.match(line)
        if match and gpus:
            gpus[-1]["mig"].append({"profile": match.group("profile"), "uuid": match.group("uuid")})
            continue
        if out["error"] is None:
            error = smi_error(line)
            if error:
                out["error"], out["error_line"] = error, quote(raw)
    return out


_Q_GPU = re.compile(r"^\s{0,8}GPU (?P<pci>" + _PCI + r")\s*$")
_Q_ROW = re.compile(r"^(?P<indent>\s{0,64})(?P<key>\S[^:]{0,120}?)\s{0,120}: ?(?P<value>.*)$")
_Q_COUNT = re.compile(r"^\d{1,12}$")
_Q_INNER = ("Single Bit", "Double Bit")
_YES_NO = {"Yes": True, "No": False}
# key in its section (None: anywhere in the GPU) -> field and how to read it
_Q_FIELDS: tuple[tuple[str | None, str, str, t.Callable[[str], t.Any]], ...] = (
    (None, "Product Name", "product", str),
    (None, "GPU UUID", "uuid", str),
    (None, "GPU Recovery Action", "recovery_action", str),
    ("Fabric", "State", "fabric_state", str),
    ("Fabric", "Status", "fabric_status", str),
    ("Remapped Rows", "Pending", "remap_pending", _YES_NO.get),
    ("Remapped Rows", "Remapping Failure Occurred", "remap_failed", _YES_NO.get),
    ("Row Remapper", "Pending", "remap_pending", _YES_NO.get),
    ("Row Remapper", "Remapping Failure Occurred", "remap_failed", _YES_NO.get),
    (None, "Remapping Failure Occurred", "remap_failed", _YES_NO.get),
    ("Retired Pages", "Pending Page Blacklist", "retire_pending", _YES_NO.get),
    ("Retired Pages", "Pending Page Retirement", "retire_pending", _YES_NO.get),
    ("MIG Mode", "Current", "mig_mode", str),
    ("MIG Mode", "Pending", "mig_pending", str),
    ("GPU Reset Status", "Reset Required", "reset_required", _YES_NO.get),
    (None, "Persistence Mode", "persistence", str),
)


def _q_gpu(pci: str | None) -> dict[str, t.Any]:
    gpu: dict[str, t.Any] = {"remap_pending": None, "remap_failed": None, "ecc_uncorrected": None}
    if pci:
        gpu["pci"] = pci
    return gpu


def parse_nvidia_smi_q(text: str) -> dict[str, t.Any]:
    """C(nvidia-smi -q), whole or a pasted section of it, with or without its indentation.

    Also, per GPU: C(uuid), C(mig_pending), C(retire_pending), C(reset_required), C(ecc_aggregate), C(persistence).
    """
    out: dict[str, t.Any] = {"attached_gpus": None, "gpus": [], "error": None}
    gpu: dict[str, t.Any] | None = None
    path: list[tuple[int, str]] = []
    for raw in lines_of(text_of(text)):
        line = head(raw).expandtabs(8)
        if not line.strip() or line.lstrip().startswith("==="):
            continue
        match = _Q_GPU.match(line)
        if match:
            gpu = _q_gpu(pci_address(match.group("pci")))
            out["gpus"].append(gpu)
            path = []
            continue
        if out["error"] is None:
            error = smi_error(line)
            if error:
                out["error"], out["error_line"] = error, quote(raw)
                continue
        match = _Q_ROW.match(line)
        indent = len(line) - len(line.lstrip())
        if not match:
            name = line.strip()
            while path and path[-1][0] >= indent:
                # Without indentation "Double Bit" still belongs to the "Volatile" before it.
                if indent == 0 and name in _Q_INNER and path[-1][1] not in _Q_INNER:
                    break
                path.pop()
            path.append((indent, name))
            continue
        key, value = match.group("key"), match.group("value").strip()
        if key in ("Driver Version", "KMD Version"):
            out.setdefault("driver_version", value)
        elif key in ("CUDA Version", "CUDA UMD Version"):
            out.setdefault("cuda_version", value)
        elif key == "Attached GPUs":
            out["attached_gpus"] = int(value) if _Q_COUNT.match(value) else None
        else:
            while path and path[-1][0] > indent:
                path.pop()
            # A row as far left as a header is the header's sibling, unless the indentation was lost in pasting.
            sections = [name for level, name in path if level < indent or indent == 0]
            found = _q_fields(sections, key, value)
            if found:
                if gpu is None:
                    gpu = _q_gpu(None)
                    out["gpus"].append(gpu)
                for field, item in found.items():
                    if field.startswith("ecc_"):
                        gpu[field] = (gpu.get(field) or 0) + item
                    else:
                        gpu[field] = item
    return out


def _q_fields(sections: list[str], key: str, value: str) -> dict[str, t.Any]:
    section = sections[-1] if sections else None
    for where, name, field, read in _Q_FIELDS:
        if name == key and (where is None or where == section):
            return {field: read(value)}
    if _Q_COUNT.match(value) and ("Volatile" in sections or "Aggregate" in sections):
        if "Uncorrectable" in key or (key == "Total" and section in ("Double Bit", "Uncorrectable")):
            return {"ecc_uncorrected" if "Volatile" in sections else "ecc_aggregate": int(value)}
    return {}


PARSERS: dict[str, t.Callable[[str], dict[str, t.Any]]] = {
    "lspci": parse_lspci,
    "kernel_log": parse_kernel_log,
    "nvidia_smi": parse_nvidia_smi,
    "nvidia_smi_list": parse_nvidia_smi_list,
    "nvidia_smi_q": parse_nvidia_smi_q,
}
