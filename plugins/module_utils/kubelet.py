# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors
"""The device plugin layer as text: plugin log, kubelet log, its checkpoint and flags, validations. Pure functions, text in, dict out.

Lists, dicts and booleans are always there; other keys are absent when the text does not show them, or None where None is said.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.gpuops.node.plugins.module_utils.runner import (
    grep,
    head,
    line_stamp,
    line_time,
    lines_of,
    listing_time,
    load_json,
    prompt_command,
    quote,
    text_of,
)

# ------------------------------------------------------------------------------------------------ device plugin log

_GO_LOG = re.compile(r"^(?:\S{1,40} (?:std(?:out|err) [FP] )?)?(?:19|20)\d\d/[01]\d/[0-3]\d [0-2]\d:[0-5]\d:[0-5]\d ")
# Words that only one generation prints; the newest that is seen wins, since a log may hold one old-style line of a library.
_GENERATION_WORDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (">=0.19", ("Detected platform: ", "Using device discovery strategy: ", "Unsupported platform detected; defaulting to nvml")),
    ("0.16-0.18", ("Incompatible strategy detected", "invalid device discovery strategy", "NVML not detected: ")),
    (
        "0.13-0.15",
        (
            "Detected NVML platform",
            "Detected non-NVML platform",
            "Detected Tegra platform",
            "Detected non-Tegra platform",
            "Incompatible platform detected",
        ),
    ),
)
_REGISTERED = re.compile(r"Registered device plugin (?:for ['\"](?P<resource>[\w./-]{1,120})['\"] )?with Kubelet")
_SERVING = re.compile(r"Starting to serve (?:['\"](?P<resource>[\w./-]{1,120})['\"] )?on (?P<socket>/\S{1,200})")
_UNHEALTHY = re.compile(
    r"['\"](?P<resource>[\w./-]{1,120})['\"] device marked unhealthy: (?P<marked>[\w:./-]{3,80})"
    r"|XidCriticalError: Xid=(?P<xid>\d{1,5}) on Device=(?P<device>[\w:./-]{3,80}?)[;,]"
    r"|(?P<all>[Mm]arking all devices as unhealthy)"
    r"|(?:placement for|supported events for|Marking device) (?P<other>[\w:./-]{3,80}?)(?::| as) "
)
_NVML_ERROR = re.compile(
    r"(?:[Ff]ailed to initialize NVML|NVML not detected|Detected non-NVML platform|nvml init failed|NVML init failed"
    r"|error initializing NVML): (?P<why>.{1,400})$"
)
_EXIT = re.compile(
    r"[Ee]rror starting plugins: |error creating plugin manager|^panic: |^Error: |failed to create FS watcher"
    r"|Received signal .{1,40}, shutting down"
    r"|unable to (?:create plugin manager|load config|create plugins)|has repeatedly crashed recently\. Quitting|symbol lookup error"
    r"|Shutting down\.$"
)
_START = ("Starting FS watcher", "Starting NVIDIA Device Plugin", "Loading NVML", "Initializing NVML")
_OWN_WORDS = ("FS watcher", "OS watcher", "NVML", "plugin", "Plugin", "device", "config", "Serv", "serve")
_START_FAILED = re.compile(r"Could not register device plugin: (?P<why>.{1,400})|Failed to start plugin: (?P<why2>.{1,400})")
# key of the configuration dump -> field
_CONFIG_TEXT = {
    "migStrategy": "mig_strategy",
    "nvidiaDriverRoot": "driver_root",
    "deviceDiscoveryStrategy": "discovery_strategy",
    "deviceIDStrategy": "device_id_strategy",
    "containerDriverRoot": "container_driver_root",
}
_CONFIG_ROW = re.compile(r"\"(?P<key>[A-Za-z]{2,40})\"\s{0,4}:\s{0,4}(?P<value>\"[^\"]{0,200}\"|true|false|null|\d{1,6}|\[|\{)")
_LIST_ROW = re.compile(r"^\S{0,60}\s{0,40}\"(?P<item>[a-z-]{2,40})\"\s{0,4},?\s{0,40}\]?,?\s*$")
_LIST_ITEM = re.compile(r"\"(?P<item>[a-z-]{2,40})\"")
_ENTRY_FLAG = re.compile(
    r"(?:^|[\s\[\"'])(?:--)?(?P<key>mig-strategy|fail-on-init-error|nvidia-driver-root|device-list-strategy|MIG_STRATEGY"
    r"|FAIL_ON_INIT_ERROR|NVIDIA_DRIVER_ROOT|DEVICE_LIST_STRATEGY)=(?P<value>[^\s\]\"']{1,200})"
)
_FLAG_FIELDS = {
    "mig_strategy": "mig_strategy",
    "fail_on_init_error": "fail_on_init_error",
    "nvidia_driver_root": "driver_root",
    "device_list_strategy": "device_list_strategy",
}
_PLUGIN_WORDS = (
    "NVML",
    "nvml",
    "platform",
    "strategy",
    "egistered device plugin",
    "Starting",
    "Loading",
    "Initializing",
    "No devices found",
    "inotify",
    "nhealthy",
    "rror",
    "panic",
    "Received signal",
    "Quitting",
    "Shutting down",
    "Could not",
    "Failed",
    "failed",
    "unable",
    "waiting for",
    "DRIVER_ROOT",
    "FAIL_ON_INIT",
    "MIG_STRATEGY",
    "DEVICE_LIST",
    "Strategy",
    "DriverRoot",
    "replicas",
    "timeSlicing",
    "mps",
    "Retrieving plugins",
    "Retreiving plugins",
    "nvidia-cdi",
    "volume-mounts",
    "cdi-",
    "envvar",
)


def _boolean(value: str) -> bool | None:
    return {"true": True, "false": False, "1": True, "0": False}.get(value.strip("\"'").lower())


def parse_plugin_log(text: str) -> dict[str, t.Any]:
    """The log of nvidia-device-plugin, all generations: what it was told, what it found, and where it stands at the end of the text.

    C(nvml_error), C(waiting), C(exited) describe the end: a later registration or start takes them back.
    C(device_list_strategy) is a list. C(sharing_replicas) is the largest number of replicas.
    Also: C(nvml_error_line), C(waiting_line), C(exit_line), C(starts) ({time, line}), C(sharing) ("time-slicing" or "mps"),
    C(start_errors) (lines), C(waiting_for_driver), C(retrying), C(discovery_strategy), C(container_driver_root), C(device_id_strategy),
    per registration C(lineno), per unhealthy device C(xid) and C(time).
    """
    out: dict[str, t.Any] = {
        "generation": None,
        "registered": [],
        "serving": [],
        "waiting": False,
        "kubelet_restarts": [],
        "unhealthy": [],
        "nvml_error": None,
        "fail_on_init_error": None,
        "mig_strategy": None,
        "driver_root": None,
        "sharing_replicas": None,
        "sharing": None,
        "device_list_strategy": None,
        "exited": False,
        "starts": [],
        "start_errors": [],
        "waiting_for_driver": False,
        "retrying": False,
    }
    seen: set[str] = set()
    go_style = klog_words = discovery = False
    unhealthy: dict[str, dict[str, t.Any]] = {}
    in_list = False
    kind: str | None = None  # of sharing, in the configuration dump
    for lineno, raw in grep(text_of(text), _PLUGIN_WORDS):
        line = head(raw)
        if "platform" in line or "strategy" in line or "NVML not" in line:
            for generation, words in _GENERATION_WORDS:
                if any(word in line for word in words):
                    seen.add(generation)
        if not go_style and _GO_LOG.match(line):
            go_style = any(word in line for word in _OWN_WORDS)
        if "Retrieving plugins" in line or "Retreiving plugins" in line or "Starting GRPC server" in line:
            klog_words = True
        if in_list:
            match = _LIST_ROW.match(line)
            if match:
                out["device_list_strategy"].append(match.group("item"))
                continue
            in_list = False
        match = _CONFIG_ROW.search(line) if '"' in line else None
        if match:
            for found in _CONFIG_ROW.finditer(line):
                key, value = found.group("key"), found.group("value")
                if key in _CONFIG_TEXT and value.startswith('"'):
                    out[_CONFIG_TEXT[key]] = value.strip('"')
                    discovery = discovery or key == "deviceDiscoveryStrategy"
                elif key == "failOnInitError":
                    out["fail_on_init_error"] = _boolean(value) if value != "null" else out["fail_on_init_error"]
                elif key == "deviceListStrategy":
                    if value == "[":
                        rest = line[found.end() :]
                        out["device_list_strategy"] = [item.group("item") for item in _LIST_ITEM.finditer(rest.split("]")[0])]
                        in_list = "]" not in rest
                    elif value.startswith('"'):
                        out["device_list_strategy"] = [value.strip('"')]
                elif key in ("timeSlicing", "mps"):
                    kind = {"timeSlicing": "time-slicing", "mps": "mps"}[key]
                elif key == "replicas" and value.isdigit():
                    if int(value) > (out["sharing_replicas"] or 0):
                        out["sharing_replicas"], out["sharing"] = int(value), kind
            if not re.match(r"^\S{0,60}\s{0,8}[IWEF]\d{4} ", line):
                continue
        for flag in _ENTRY_FLAG.finditer(line) if "=" in line else ():
            field = _FLAG_FIELDS[flag.group("key").lower().replace("-", "_")]
            value = flag.group("value")
            if field == "fail_on_init_error":
                out[field] = _boolean(value)
            elif field == "device_list_strategy":
                out[field] = [part for part in value.split(",") if part]
            else:
                out[field] = value
        if any(word in line for word in _START):
            # One start prints several of these within a few lines.
            if not out["starts"] or lineno - out["starts"][-1]["lineno"] > 8 or out["exited"]:
                out["starts"].append({"time": line_time(line), "line": quote(raw), "lineno": lineno})
            out.update(waiting=False, exited=False, waiting_for_driver=False, retrying=False)
            for key in ("waiting_line", "exit_line"):
                out.pop(key, None)
            continue
        match = _REGISTERED.search(line) if "with Kubelet" in line else None
        if match:
            out["registered"].append(
                {"resource": match.group("resource") or "nvidia.com/gpu", "time": line_time(line), "line": quote(raw), "lineno": lineno}
            )
            out.update(waiting=False, nvml_error=None, exited=False, retrying=False, waiting_for_driver=False)
            for key in ("nvml_error_line", "waiting_line", "exit_line"):
                out.pop(key, None)
            continue
        match = _SERVING.search(line) if "to serve" in line else None
        if match:
            out["serving"].append(
                {
                    "resource": match.group("resource") or "nvidia.com/gpu",
                    "socket": match.group("socket").rstrip(".,"),
                    "time": line_time(line),
                    "line": quote(raw),
                }
            )
            continue
        if "No devices found. Waiting indefinitely" in line:
            out["waiting"], out["waiting_line"] = True, quote(raw)
            continue
        if "inotify:" in line and "created, restarting" in line:
            out["kubelet_restarts"].append({"time": line_time(line), "line": quote(raw), "lineno": lineno})
            out.update(waiting=False)
            out.pop("waiting_line", None)
            continue
        match = _UNHEALTHY.search(line) if "nhealthy" in line or "Xid" in line or "supported events" in line else None
        if match:
            device = match.group("marked") or match.group("device") or match.group("other") or "all"
            entry = unhealthy.get(device)
            if entry is None:
                entry = unhealthy[device] = {"device": device, "xid": None, "time": line_time(line), "line": quote(raw)}
                out["unhealthy"].append(entry)
            if match.group("xid") and entry["xid"] is None:
                entry["xid"], entry["line"] = int(match.group("xid")), quote(raw)
            continue
        match = _NVML_ERROR.search(line) if "NVML" in line or "nvml" in line else None
        if match:
            out["nvml_error"], out["nvml_error_line"] = match.group("why").strip().rstrip("."), quote(raw)
        match = _START_FAILED.search(line)
        if match and len(out["start_errors"]) < 100:
            out["start_errors"].append(quote(raw))
        if "Retrying in 30s" in line:
            out["retrying"] = True
        if "waiting for the driver validations" in line or "waiting for nvidia container stack" in line:
            out["waiting_for_driver"] = True
        if _EXIT.search(line):
            out["exited"], out["exit_line"] = True, out.get("exit_line") or quote(raw)
    for generation, _words in _GENERATION_WORDS:
        if generation in seen:
            out["generation"] = generation
            break
    if out["generation"] is None:
        if go_style:
            out["generation"] = "<=0.12"
        elif discovery and klog_words and out["registered"]:
            # 0.16 to 0.18 print no platform when all is well; 0.19 would have said it before registering.
            out["generation"] = "0.16-0.18"
    return out


# ------------------------------------------------------------------------------------------------ kubelet log

# A start prints these in this order; the same or an earlier one again is the next start.
_STARTS: tuple[str, ...] = (
    "Starting kubelet: ",
    "Started kubelet: ",
    "Started Kubernetes Kubelet",
    "Started kubelet.service",
    "Started snap.microk8s.daemon-kubelite",
    "Starting k3s v",
    "Starting rke2 v",
    "Running kubelet --",
    '"Kubelet version"',
    "Kubelet version: ",
    "Started kubelet",
    "Starting kubelet main sync loop",
)
_REGISTRATION = re.compile(
    r"Got registration request from device plugin(?: with resource)?(?: name)?\"?:? {0,2}(?:resource(?:Name)?=)?\""
    r"(?P<resource>[\w.-]{1,80}/[\w.-]{1,80})\""
)
_ENDED = re.compile(
    r"[Ll]istAndWatch ended unexpectedly for device plugin(?: (?P<old>[\w.-]{1,80}/[\w.-]{1,80}))?"
    r"|Mark all resources Unhealthy for resource|[Ee]ndpoint became unhealthy"
    r"|[Mm]arking all resources unhealthy"
)
_KUBELET_RESOURCE = re.compile(r"(?:resource|resourceName)=\"?(?P<resource>[\w.-]{1,80}/[\w.-]{1,80})")
_CHECKPOINT = re.compile(
    r"Continue after failing to read checkpoint file|checkpoint is corrupted|failed to write checkpoint|Failed to (?:read|retrieve|write"
    r"|update).{0,60}checkpoint"
    r"|could not (?:read|restore).{0,60}checkpoint"
)
_ROOT_DIR = re.compile(r"--root-dir(?:=|\s{1,2})\"?(?P<root>/[^\s\"'\\,\]]{0,200})")
_KUBELET_WORDS = (
    "egistration request from device plugin",
    "ndpoint became unhealthy",
    "istAndWatch ended",
    "esources ",
    "heckpoint",
    "ubelet",
    "k3s v",
    "rke2 v",
    "--root-dir",
)


def parse_kubelet_log(text: str) -> dict[str, t.Any]:
    """The kubelet's log: klog, journalctl before klog, k3s and RKE2. C(starts) has a time per start, "" where the line carries none.

    Also: C(start_lines) ({time, line, lineno}), C(checkpoint_missing) (lines; normal on a fresh node), per entry C(time_text).
    """
    out: dict[str, t.Any] = {
        "starts": [],
        "registrations": [],
        "ended": [],
        "checkpoint_errors": [],
        "root_dir": None,
        "start_lines": [],
        "checkpoint_missing": [],
    }
    step = len(_STARTS)
    for lineno, raw in grep(text_of(text), _KUBELET_WORDS):
        line = head(raw)
        match = _REGISTRATION.search(line)
        if match:
            out["registrations"].append(_stamped(raw, line, lineno, match.group("resource")))
            continue
        match = _ENDED.search(line)
        if match:
            named = _KUBELET_RESOURCE.search(line)
            out["ended"].append(_stamped(raw, line, lineno, match.group("old") or (named.group("resource") if named else None)))
            continue
        if "heckpoint" in line and _CHECKPOINT.search(line):
            place = "checkpoint_missing" if "checkpoint is not found" in line else "checkpoint_errors"
            if len(out[place]) < 200:
                out[place].append(quote(raw))
            continue
        match = _ROOT_DIR.search(line)
        if match:
            out["root_dir"] = match.group("root")
        reached = next((number for number, said in enumerate(_STARTS) if said in line), None)
        if reached is None:
            continue
        if reached <= step:
            printed, when = line_stamp(line)
            out["starts"].append(when or printed or "")
            out["start_lines"].append({"time": when, "line": quote(raw), "lineno": lineno})
        step = reached
    return out


def _stamped(raw: str, line: str, lineno: int, resource: str | None) -> dict[str, t.Any]:
    printed, when = line_stamp(line)
    return {"resource": resource, "time": when, "time_text": printed, "line": quote(raw), "lineno": lineno}


# ------------------------------------------------------------------------------------------------ checkpoint, flags, directories


def parse_checkpoint(text: str) -> dict[str, t.Any]:
    """kubelet_internal_checkpoint. The devices of an entry are one flat list, whatever their NUMA nodes. Also: C(numa) per entry."""
    out: dict[str, t.Any] = {"registered": {}, "entries": [], "error": None}
    text = text_of(text)
    start = text.find("{")
    if start < 0:
        out["error"] = "empty" if not text.strip() else "not JSON"
        return out
    try:
        data = load_json(text[start:].strip())
    except ValueError as problem:
        out["error"] = "not JSON: " + str(problem)[:200]
        return out
    body = data.get("Data", data) if isinstance(data, dict) else None
    if isinstance(body, str):  # some tools print the inner object as text
        try:
            body = load_json(body)
        except ValueError:
            body = None
    if not isinstance(body, dict) or not ("PodDeviceEntries" in body or "RegisteredDevices" in body):
        out["error"] = "no device manager checkpoint: neither PodDeviceEntries nor RegisteredDevices"
        return out
    registered = body.get("RegisteredDevices")
    for resource, ids in (registered if isinstance(registered, dict) else {}).items():
        out["registered"][resource] = [item for item in ids if isinstance(item, str)] if isinstance(ids, list) else []
    entries = body.get("PodDeviceEntries")
    for entry in entries if isinstance(entries, list) else []:
        if not isinstance(entry, dict):
            continue
        ids = entry.get("DeviceIDs")
        numa: dict[str, list[str]] = {}
        if isinstance(ids, dict):
            numa = {str(node): [item for item in items if isinstance(item, str)] for node, items in ids.items() if isinstance(items, list)}
            devices = [item for node in numa.values() for item in node]
        else:
            devices = [item for item in ids if isinstance(item, str)] if isinstance(ids, list) else []
        out["entries"].append(
            {
                "pod_uid": str(entry.get("PodUID") or ""),
                "container": str(entry.get("ContainerName") or ""),
                "resource": str(entry.get("ResourceName") or ""),
                "devices": devices,
                "numa": numa,
            }
        )
    return out


_FLAG_NAMES: tuple[tuple[str, str, str], ...] = (
    # field, command line flag, key of KubeletConfiguration
    ("root_dir", "root-dir", "rootDir"),
    ("cpu_manager_policy", "cpu-manager-policy", "cpuManagerPolicy"),
    ("topology_manager_policy", "topology-manager-policy", "topologyManagerPolicy"),
    ("runtime_endpoint", "container-runtime-endpoint", "containerRuntimeEndpoint"),
)
_FLAG_PATTERNS = tuple(
    (
        field,
        re.compile(r"--" + flag + r"(?:=|\s{1,4})[\"']?(?P<value>[^\s\"',\\\]]{1,200})"),
        re.compile(r"(?<![\w.])[\"']?" + key + r"[\"']?\s{0,4}:\s{0,4}[\"']?(?P<value>[^\s\"',}]{1,200})"),
    )
    for field, flag, key in _FLAG_NAMES
)


def parse_kubelet_flags(text: str) -> dict[str, t.Any]:
    """Flags of the kubelet (ps, /proc/<pid>/cmdline, unit files, FLAG lines) or its configuration file. A flag wins over the file."""
    out: dict[str, t.Any] = {field: None for field, _flag, _key in _FLAG_NAMES}
    text = text_of(text).replace("\0", " ")
    from_flag: set[str] = set()
    for _lineno, raw in grep(text, tuple(name for _field, flag, key in _FLAG_NAMES for name in (flag, key))):
        line = raw[: 64 * 1024]  # a kubelet's command line may be long
        if line.lstrip().startswith("#"):
            continue
        for field, flag, key in _FLAG_PATTERNS:
            match = flag.search(line)
            if match:
                out[field] = match.group("value")
                from_flag.add(field)
                continue
            match = key.search(line)
            if match and field not in from_flag:
                out[field] = match.group("value")
    return out


_SOCKET = re.compile(r"(?:^|\s|/)(?P<name>[\w.@-]{1,120}\.sock)=?(?=\s|$)")


def parse_ls_device_plugins(text: str) -> dict[str, t.Any]:
    """C(ls -la /var/lib/kubelet/device-plugins). Also: C(times) (name to time, where the listing has one)."""
    sockets: dict[str, None] = {}
    times: dict[str, str] = {}
    out: dict[str, t.Any] = {"checkpoint": False, "missing": False}
    for raw in lines_of(text_of(text)):
        line = head(raw)
        if prompt_command(line):
            continue
        if "No such file or directory" in line or "cannot access" in line:
            out["missing"] = True
            continue
        when = listing_time(line)
        for match in _SOCKET.finditer(line):
            sockets.setdefault(match.group("name"))
            if when:
                times[match.group("name")] = when
        if "kubelet_internal_checkpoint" in line:
            out["checkpoint"] = True
            if when:
                times["kubelet_internal_checkpoint"] = when
    out.update(sockets=list(sockets), times=times)
    if sockets or out["checkpoint"]:
        out["missing"] = False
    return out


# ------------------------------------------------------------------------------------------------ validations

_VALIDATION = re.compile(
    r"(?:^|\s|/)(?P<name>[a-z][a-z0-9-]{1,40}-ready|\.driver-ctr-ready|\.driver-daemons-status|workload-type)(?=[\s:]|$)"
)
_DRIVER_INFO = re.compile(
    r"^\s{0,8}(?P<key>IS_HOST_DRIVER|NVIDIA_DRIVER_ROOT|DRIVER_ROOT_CTR_PATH|NVIDIA_DEV_ROOT|DEV_ROOT_CTR_PATH|GDRCOPY_ENABLED"
    r"|GDS_ENABLED|GPU_DIRECT_RDMA_ENABLED)[=:]\s{0,4}(?P<value>\S{0,200})\s*$"
)


def parse_validations(text: str) -> dict[str, t.Any]:
    """C(ls -la /run/nvidia/validations). Also: C(driver) (content of driver-ready, when it is printed too), C(missing)."""
    files: dict[str, str | None] = {}
    driver: dict[str, str] = {}
    missing = False
    for raw in lines_of(text_of(text)):
        line = head(raw)
        if prompt_command(line):
            continue
        if "No such file or directory" in line or "cannot access" in line:
            missing = True
            continue
        match = _DRIVER_INFO.match(line)
        if match:
            driver.setdefault(match.group("key"), match.group("value"))
            continue
        when = listing_time(line)
        for match in _VALIDATION.finditer(line):
            files[match.group("name")] = when or files.get(match.group("name"))
    return {"files": files, "driver": driver, "missing": missing and not files}


# (step, texts that only this step's log has)
_STEPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("all", ("all validations are successful",)),
    (
        "driver",
        (
            "pre-installed driver",
            "containerized driver installation",
            "driver container installation",
            ".driver-ctr-ready",
            "error validating driver",
            "under /dev/char that",
            "driver is not ready",
            "running command chroot",
        ),
    ),
    ("toolkit", ("error validating toolkit", "toolkit is not ready", "toolkit is ready", "running command nvidia-smi with args")),
    (
        "plugin",
        (
            "GPU resources are not",
            "any allocatable GPU resource",
            "device-plugin-validator",
            "device-plugin workload validation",
            "error validating plugin",
            "plugin validation pod",
        ),
    ),
    (
        "cuda",
        (
            "nvidia-cuda-validator",
            "cuda workload validation",
            "error validating cuda",
            "cuda validation pod",
            "Vector addition of",
            "Failed to allocate device vector",
        ),
    ),
    ("mofed", ("mlx5_core", "MOFED driver", "mellanox")),
    ("nvidia-fs", ("nvidia_fs", "nvidia-fs driver")),
    ("gdrcopy", ("gdrdrv", "gdrcopy driver")),
    ("vfio-pci", ("all devices are bound to vfio-pci", "vfio-pci")),
)
_VALID_DONE = (
    "all validations are successful",
    "validation is successful",
    "have run successfully",
    "Test PASSED",
    "toolkit is ready",
    "driver is ready",
    "Validation completed successfully",
    "creating status file",
)
_VALID_WAIT = (
    "command failed, retrying after",
    "retrying after",
    "are not yet discovered by the node",
    "is curently in ",
    "is currently in ",
    "waiting for ",
    "running command ",
    "Attempting to validate a driver container installation",
)
_VALID_ERROR = re.compile(
    r"[Ee]rror validating |level=(?:fatal|error)|^Error: |gave up waiting|unable to find any allocatable|GPU resources are not discovered"
    r"|[Ff]ailed to allocate device vector"
    r"|driver is not ready|toolkit is not ready|panic: |Failed to launch vectorAdd"
)
_STEP_WORD = re.compile("|".join(re.escape(word) for _step, words in _STEPS for word in words))
_VALIDATOR_WORDS = tuple(sorted({word for _step, words in _STEPS for word in words} | set(_VALID_DONE) | set(_VALID_WAIT))) + (
    "| NVIDIA-SMI ",
    "rror",
    "ailed to",
    "level=fatal",
    "gave up",
    "unable to find",
    "not ready",
    "panic: ",
    "symlinks under",
)
_HOST_RC = re.compile(r"No pre-installed driver detected on the host: exit status (?P<rc>\d{1,3})")
_LAST_OF_DRIVER = ("creating symlinks under /dev/char", "skipping the creation of symlinks under /dev/char")


def parse_validator_log(text: str) -> dict[str, t.Any]:
    """One container of the operator's validator: which step, and how it ended. A step that ends well often prints nothing more.

    Also: C(host_smi_rc) (why the host was not taken for the driver's place; normal with a driver container), C(retries),
    C(last_line), C(devchar_failed).
    """
    out: dict[str, t.Any] = {"done": False, "waiting": False, "error_line": None, "retries": 0, "devchar_failed": False}
    banner = False
    text = text_of(text)
    last = text.rstrip().splitlines()[-1:] if len(text) < 1024 * 1024 else text[-64 * 1024 :].rstrip().splitlines()[-1:]
    if last:
        out["last_line"] = quote(last[0])
    for _lineno, raw in grep(text, _VALIDATOR_WORDS):
        line = head(raw)
        if out.get("step", "all") == "all" and _STEP_WORD.search(line):
            for step, words in _STEPS:
                if any(word in line for word in words):
                    if step != "all" or "step" not in out:
                        out["step"] = step
                    break
        match = _HOST_RC.search(line)
        if match:
            out["host_smi_rc"] = int(match.group("rc"))
        if "| NVIDIA-SMI " in line:
            banner = True
        if any(word in line for word in _VALID_DONE):
            out.update(done=True, waiting=False, error_line=None)
            continue
        if "Failed to create symlinks under /dev/char" in line:
            out["devchar_failed"] = True
        if _VALID_ERROR.search(line):
            if out["error_line"] is None or "rror validating" in line:
                out["error_line"] = quote(raw)
            out.update(done=False, waiting=False)
        elif any(word in line for word in _VALID_WAIT):
            out.update(waiting=True, done=False)
            out["retries"] += "retry" in line
        elif any(said in line for said in _LAST_OF_DRIVER):
            out.update(done=True, waiting=False)  # the driver was found, links are what is left; a failure would follow
    if banner and out["error_line"] is None and out.get("step") in ("toolkit", None):
        # The toolkit step runs nvidia-smi until it works: its table is the success.
        out.setdefault("step", "toolkit")
        out.update(done=True, waiting=False)
    return out


PARSERS: dict[str, t.Callable[[str], dict[str, t.Any]]] = {
    "kubelet_log": parse_kubelet_log,
    "kubelet_checkpoint": parse_checkpoint,
    "kubelet_flags": parse_kubelet_flags,
    "ls_device_plugins": parse_ls_device_plugins,
    "validations": parse_validations,
}

# Container logs are told apart by the component that wrote them.
