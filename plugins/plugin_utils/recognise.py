# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors
"""What a piece of text is: which program printed it, or which file it was.

The name speaks first, since people name files after commands. The content is always asked too, and wins where it
says otherwise beyond doubt. Everything is a table: a new form is a new line in it.
"""

from __future__ import annotations

import dataclasses
import re
import typing as t

HOST_KINDS = (
    "uname",
    "os_release",
    "lspci",
    "kernel_log",
    "journal",
    "kubelet_log",
    "nvidia_smi",
    "nvidia_smi_q",
    "nvidia_smi_list",
    "proc_nvidia_version",
    "proc_devices",
    "lsmod",
    "modinfo",
    "dkms_status",
    "dkms_build",
    "packages",
    "package_history",
    "mokutil",
    "ls_dev",
    "ls_dev_char",
    "ls_modules",
    "modprobe_conf",
    "toolkit_config",
    "containerd_config",
    "containerd_dump",
    "crio_config",
    "docker_daemon",
    "docker_info",
    "cdi_spec",
    "nvidia_container_cli",
    "nvidia_ctk",
    "ls_device_plugins",
    "kubelet_checkpoint",
    "kubelet_flags",
    "systemctl",
    "fabricmanager_log",
    "validations",
    "uptime",
    "boot_kernel",
    "mounts",
)
API_KINDS = (
    "kube_objects",
    "describe_node",
    "describe_pod",
    "describe_other",
    "get_nodes",
    "get_pods",
    "get_daemonsets",
    "get_events",
    "get_runtimeclass",
    "get_table",
    "kubectl_output",
)
KINDS = (*HOST_KINDS, *API_KINDS, "container_log", "text", "unrecognised")

# What a container is part of. The container's name is asked first, then the pod's.
_COMPONENTS = [
    (component, re.compile(pattern))
    for component, pattern in (
        ("gke_installer", r"nvidia-driver-installer|gpu-driver-installer"),
        ("validator", r"-validation$|-validator(?:-|$)"),
        ("driver_manager", r"driver-manager"),
        ("device_plugin", r"device-plugin|^nvdp-|^nvidia-plugin"),
        ("toolkit", r"container-toolkit|^toolkit$|^nvidia-toolkit"),
        ("gfd", r"gpu-feature-discovery|^gfd-|^gfd$"),
        ("nfd", r"node-feature-discovery|^nfd-|^nfd$"),
        ("dcgm", r"dcgm"),
        ("mig_manager", r"mig-manager"),
        ("mps", r"mps-control"),
        ("dra", r"dra-driver|dra-kubelet|(?:gpu|compute-domain)s?-kubelet-plugin|^dra-"),
        ("driver", r"nvidia-(?:[a-z0-9]+-)?driver-|^nvidia-driver|driver-toolkit|nvidia-peermem|nvidia-gdrcopy|nvidia-fs-ctr|^driver$"),
        ("scheduler", r"kube-scheduler|volcano|hami|kai-scheduler|vgpu-scheduler|yunikorn|kueue|coscheduling|(?:^|-)scheduler"),
        ("operator", r"gpu-operator"),
    )
]
# Containers that say what their pod is rather than being a part of their own.
_PLAIN_CONTAINERS = re.compile(r"^(?:manager|main|app|ctr|init|config-manager(?:-init)?|kube-rbac-proxy|\d+|current|previous)$")


def component_of(pod: str | None, container: str | None = None, namespace: str | None = None) -> str:
    """Which part of the GPU stack a container is; "workload" (or "other" in kube-system) when it is none."""
    # The operator's Helm release gives its name to everything, so the operands' names are asked first.
    for name in (None if container and _PLAIN_CONTAINERS.match(container) else container, pod):
        for component, pattern in _COMPONENTS:
            if name and pattern.search(name):
                return component
    return "other" if namespace == "kube-system" else "workload"


@dataclasses.dataclass(frozen=True)
class Recognition:
    """What a text is, and what its name or the command before it says about where it is from."""

    kind: str
    component: str | None = None
    node: str | None = None
    pod: str | None = None
    container: str | None = None
    namespace: str | None = None
    previous: bool = False
    source: str = ""


# ---- by content ----------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Rule:
    """Patterns of one kind: at least I(need) of them must be found (or I(share) of the lines must match the first).

    I(clear) rules are beyond doubt: they also overrule what a file's name says.
    """

    kind: str
    patterns: tuple[re.Pattern[str], ...]
    need: int = 1
    share: float = 0.0
    clear: bool = False
    component: str | None = None

    def holds(self, sample: str, lines: t.Sequence[str]) -> bool:
        if self.share:
            hits = sum(1 for line in lines if self.patterns[0].search(line))
            return hits >= self.need and hits >= self.share * len(lines)
        hits = 0
        for pattern in self.patterns:
            if pattern.search(sample):
                hits += 1
                if hits >= self.need:
                    return True
        return False


def _rule(kind: str, *patterns: str, need: int = 1, share: float = 0.0, clear: bool = False, component: str | None = None) -> Rule:
    return Rule(kind, tuple(re.compile(p, re.MULTILINE) for p in patterns), need, share, clear, component)


def _log(component: str, *patterns: str, need: int = 1) -> Rule:
    return _rule("container_log", *patterns, need=need, component=component)


_AGE = r"(?:\d+[smhdy]){1,3}"
_HEX_ID = r"[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]"
# In journalctl and syslog: "Mar  3 10:11:12 host ", "2024-03-03T10:11:12+0000 host ", "2024-03-03T10:11:12.123456+00:00 host ".
_SYSLOG = r"(?:(?:[A-Z][a-z]{2} +\d{1,2} \d\d:\d\d:\d\d(?:\.\d+)?)|(?:\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S*)) \S+ "
_KLOG = r"^[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ "

# The order is the judgement: what can be part of something else comes after it.
RULES: tuple[Rule, ...] = (
    # -- kubectl's own words
    _rule(
        "kubectl_output",
        r"\A\s*(?:Error from server|error: (?:the server doesn't have|unable to|You must be logged in|no context|timed out waiting)|"
        r"The connection to the server \S+ was refused|Unable to connect to the server|couldn't get current server API group list|"
        r"No resources found|Error: (?:INSTALLATION|UPGRADE) FAILED|The (?:Pod|Job|Deployment|DaemonSet|"
        r"ClusterPolicy) \"[^\"]+\" is invalid|"
        r"Warning: would violate PodSecurity|E\d{4} [\d:.]+ +\d+ memcache\.go:\d+\] )",
        clear=True,
    ),
    # -- structured files whose own keys name them
    _rule("cdi_spec", r"^\s*\{?\s*[\"']?cdiVersion[\"']?\s*:", clear=True),
    _rule("kubelet_checkpoint", r'"PodDeviceEntries"|"RegisteredDevices"', clear=True),
    _rule("kubelet_flags", r"^kind: KubeletConfiguration", r'"kind"\s*:\s*"KubeletConfiguration"', r'^\{"kubeletconfig":', clear=True),
    _rule(
        "kube_objects",
        r"\A\s*(?:---\s*\n)?(?:#.*\n)*(?:- )?(?:apiVersion|kind): \S+\s*\n(?:.*\n){0,3000}? *(?:- )?(?:apiVersion|kind): ",
        r'\A\s*\{\s*(?:"\w+"\s*:\s*"[^"]*",?\s*){0,4}"(?:apiVersion|kind)"\s*:\s*"',
        r"^apiVersion: \S+\s*\n(?:.*\n){0,60}?kind: [A-Z]\w+\s*$",
        clear=True,
    ),
    # -- kubectl describe
    _rule("describe_other", r"^API Version: +\S+/\S+", r"^Desired Number of Nodes Scheduled: +\d+", r"^Pod Template:\s*$", clear=True),
    _rule(
        "describe_node",
        r"^Unschedulable: +(?:true|false)",
        r"^System Info:\s*$",
        r"^Non-terminated Pods: +\(",
        r"^Roles: +\S",
        r"^PodCIDRs?: +\S",
        need=1,
        clear=True,
    ),
    _rule(
        "describe_pod",
        r"^(?:Init )?Containers:\s*$",
        r"^QoS Class: +\S",
        r"^Node-Selectors: +\S",
        r"^Controlled By: +\S+/\S+",
        r"^Service Account: +\S",
        r"^Node: +\S+",
        r"^Tolerations: +\S",
        r"^Status: +(?:Pending|Running|Failed|Succeeded|Terminating)",
        clear=True,
    ),
    _rule("describe_node", r"^ {0,4}(?:Capacity|Allocatable|Allocated resources): *$", r"^ {0,4}Taints: +\S"),
    # -- kubectl get
    _rule("get_nodes", r"^(?:NAME\s+STATUS\s+ROLES\s+AGE\s+VERSION|NAME\s+STATUS\s+AGE\s+VERSION)", clear=True),
    _rule("get_pods", r"^(?:NAMESPACE\s+)?NAME\s+READY\s+STATUS\s+RESTARTS\s+AGE", clear=True),
    _rule("get_daemonsets", r"^(?:NAMESPACE\s+)?NAME\s+DESIRED\s+CURRENT\s+READY\s+UP-TO-DATE\s+AVAILABLE", clear=True),
    _rule("get_events", r"^(?:NAMESPACE\s+)?LAST SEEN\s+(?:FIRST SEEN|TYPE|COUNT|FIRSTSEEN)", r"^LASTSEEN\s+FIRSTSEEN\s+COUNT", clear=True),
    _rule("get_runtimeclass", r"^NAME\s+HANDLER\s+AGE", clear=True),
    _rule(
        "get_nodes",
        rf"^\S+\s+(?:Not)?Ready(?:,SchedulingDisabled)?\s+(?:<none>|[\w,.-]+)\s+{_AGE}\s+v1\.\d+",
        share=0.5,
        need=1,
        clear=True,
    ),
    _rule(
        "get_pods", rf"^(?:\S+\s+){{1,2}}\d+/\d+\s+[A-Z][\w:/]*\s+\d+(?:\s+\([^)]*ago\))?\s+{_AGE}(?:\s|$)", share=0.5, need=1, clear=True
    ),
    _rule(
        "get_events",
        rf"^(?:\S+\s+)?(?:{_AGE}(?: \(x\d+ over {_AGE}\))?|<unknown>)\s+(?:Normal|Warning)\s+[A-Z]\w+\s+[a-z]\w*/",
        share=0.3,
        clear=True,
    ),
    _rule("get_daemonsets", rf"^(?:\S+\s+){{1,2}}(?:\d+\s+){{5}}(?:<none>|[\w./,=-]+)\s+{_AGE}\s*$", share=0.5, clear=True),
    _rule("get_table", r"\A\s*(?:NAMESPACE|NAME|NODE|KIND)(?:\s{2,}| )[A-Z][A-Z-]+(?:[ \t]+[A-Z-]+)*\s*$", clear=True),
    # -- an Events block alone: whose it is shows in the reasons
    _rule(
        "describe_node",
        r"^\s*(?:Normal|Warning)\s+(?:NodeNotReady|NodeHas\w+|NodeAllocatableEnforced|Rebooted|RegisteredNode|NodeReady|Starting)\s",
    ),
    _rule("describe_pod", r"^\s*Type\s+Reason\s+Age\s+From\s+Message", r"^ *(?:Normal|Warning) +[A-Z]\w+ +(?:\d|<unknown>)"),
    # -- nvidia-smi and its friends
    _rule("nvidia_smi_q", r"^=+NVSMI LOG=+", r"^Attached GPUs +: \d+", clear=True),
    _rule("nvidia_smi", r"^\|? ?NVIDIA-SMI \S+ +Driver Version: ", r"^\| GPU  Name .*\| Bus-Id", clear=True),
    _rule("nvidia_smi_list", r"^GPU \d+: .+\(UUID: (?:GPU|MIG)-", r"^ +MIG \S+ +Device +\d+:", clear=True),
    _rule(
        "nvidia_smi",
        r"\A\s*(?:NVIDIA-SMI has failed because|NVIDIA-SMI couldn't find|Failed to initialize NVML: |"
        r"No devices were found|Unable to determine the device handle|"
        r"(?:-?\w+: )?(?:line \d+: )?nvidia-smi: (?:command )?not found|NVML library version: |Unable to detect)",
    ),
    _rule(
        "nvidia_smi_q",
        r"^ {4}(?:Fabric|ECC Errors|Remapped Rows|MIG Mode|GPU Recovery Action|Product (?:Name|Architecture))\b *:?",
        r"^ {8}\w[\w ]+ +: ",
        need=2,
    ),
    _rule("proc_nvidia_version", r"^NVRM version: NVIDIA UNIX", clear=True),
    _rule(
        "nvidia_container_cli",
        r"\bnvc(?:_\w+)?\.c:\d+\]",
        r"^nvidia-container-cli: ",
        r"\bnvidia-container-cli: (?:command )?not found",
        r"^NVRM version: +\d",
        r"^-- WARNING, the following logs are for debugging purposes only --",
        clear=True,
    ),
    _rule(
        "nvidia_ctk",
        r"^NVIDIA Container Toolkit CLI version",
        r'msg="Found \d+ CDI devices"',
        r"\A\s*nvidia\.com/gpu=\S+\s*$",
        r"^INFO\[\d+\] (?:Found \d+ CDI|Using (?:config version|CRI runtime)|Wrote updated config|Loading config|Generated CDI spec)",
        r"\bnvidia-ctk: (?:command )?not found",
        clear=True,
    ),
    # -- driver
    _rule("dkms_status", r"^[\w.-]+(?:/|, )[\w.~+-]+(?:, [^,\n]+, \w+)?: (?:added|built|installed)", clear=True),
    _rule(
        "dkms_build",
        r"^DKMS make\.log for ",
        r"^Building module:\s*$",
        r"modpost: ",
        r"^ +(?:CC|LD|CONFTEST:?) (?:\[M\] )? *\S*(?:nvidia|nv-)\S*",
        r"^make\[\d\]: (?:\*\*\* |Entering directory )\S*.*(?:/usr/src|/var/lib/dkms|/lib/modules|/kernel-open)",
        r"Error! Bad return status for module build on kernel",
        r"Error! Your kernel headers for kernel \S+ cannot be found",
        r"dkms: (?:autoinstall|running auto installation)",
        r"^Automatic installation of modules for kernel \S+ was skipped",
        r"^nvidia-installer log file ",
        r"^ERROR: (?:Unable to (?:load|find|build) the kernel (?:module|source)|"
        r"An error occurred while performing the step|The kernel module failed to (?:build|load))",
    ),
    _rule("modinfo", r"^vermagic: +\S", r"^modinfo: ERROR: Module \S+ not found", r"^filename: +/(?:lib|usr/lib)/modules/\S+", clear=True),
    _rule(
        "mokutil",
        r"^SecureBoot (?:enabled|disabled)",
        r"EFI variables are not supported on this system",
        r"This system doesn't support Secure Boot",
        clear=True,
    ),
    _rule("os_release", r"^(?:VERSION_ID|PRETTY_NAME|ID_LIKE)=", clear=True),
    _rule(
        "uname",
        r"\A\s*Linux \S+ \d+\.\d+\.\S+ .*(?:GNU/Linux|x86_64|aarch64|Linux)\s*\Z",
        r"\A\s*\d+\.\d+\.\d+-?[\w.+~-]*(?:generic|el\d\S*|fc\d+\S*|amzn\d\S*|azure|aws|gcp|talos|x86_64|aarch64)\s*\Z",
        clear=True,
    ),
    _rule("lsmod", r"^Module\s+Size\s+Used by", clear=True),
    _rule(
        "lsmod", r"^[a-z]\w*\s+\d{4,}\s+-?\d+(?:\s+[\w,\[\]-]*)?(?:\s+(?:Live|Loading|Unloading) 0x[0-9a-f]+.*)?$", share=0.7, clear=True
    ),
    _rule(
        "package_history",
        r"^Start-Date: \d{4}-",
        r"^\d{4}-\d\d-\d\d [\d:]+ (?:install|upgrade|status|configure|remove|purge|trigproc) \S+",
        r"^Transaction ID : ",
        r"^ *ID +\| (?:Command line|Login user)",
        clear=True,
    ),
    _rule(
        "package_history",
        r"(?:SUBDEBUG|INFO|DEBUG) (?:Installed|Upgraded?|Erased?|Removed|Downgraded?): \S+",
        r"\[ALPM\] (?:installed|upgraded|removed|downgraded) ",
    ),
    _rule(
        "packages",
        r"^[a-z]{2}[R ]? +\S+ +\S*\d\S* +(?:amd64|arm64|all|i386|x86_64)\b",
        r"^\S+/\S+ \S+ (?:amd64|arm64|all) \[(?:installed|upgradable)",
        r"^Installed Packages\s*$",
        clear=True,
    ),
    _rule("packages", r"^dpkg-query: no packages found matching ", r"^package \S+ is not installed$", clear=True),
    _rule("packages", r"^[\w.+-]+-\d[\w.~+^]*-[\w.~+^]+\.(?:x86_64|aarch64|noarch)\s*$", share=0.6, clear=True),
    _rule("packages", r"^[\w.+-]+\.(?:x86_64|aarch64|noarch)\s+\S*\d\S*\s+@?\S+", share=0.6, clear=True),
    _rule(
        "modprobe_conf",
        r"^\s*(?:/\S+\.conf:(?:\d+:)?)?(?:blacklist [\w-]+|options nvidia\S* \S+|install [\w-]+ /bin/(?:true|false)|"
        r"softdep \S+ (?:pre|post):)",
    ),
    _rule("proc_devices", r"^Character devices:\s*$", clear=True),
    _rule("lspci", rf"^(?:[0-9a-f]{{4,8}}:)?{_HEX_ID} (?:[\w/ -]+(?: \[[0-9a-f]{{4}}\])?: |\"|[0-9a-f]{{4}}: )", clear=True),
    # -- configurations of engines
    _rule(
        "toolkit_config",
        r"^\s*\[nvidia-container-(?:cli|runtime)",
        r"^\s*#?(?:accept-nvidia-visible-devices-\w+|swarm-resource|supported-driver-capabilities|disable-require)",
        clear=True,
    ),
    _rule("crio_config", r"^\s*\[crio(?:\.|\])", clear=True),
    _rule(
        "containerd_config",
        r"^\s*\[{1,2}[Pp]lugins[.\]]",
        r"^\s*\[(?:grpc|ttrpc|debug|metrics|cgroup|timeouts|stream_processors)\]",
        r"^\s*(?:disabled_plugins|imports|required_plugins) *= *\[",
        r"^\s*(?:default_runtime_name|runtime_type|SystemdCgroup|BinaryName) *=",
        clear=True,
    ),
    _rule(
        "docker_daemon", r'"(?:default-runtime|runtimes|exec-opts|log-driver|storage-driver|registry-mirrors|data-root)"\s*:', clear=True
    ),
    _rule("docker_info", r"^ *(?:Server Version|Default Runtime|Cgroup Driver|Storage Driver|Docker Root Dir): ", need=1, clear=True),
    _rule("cdi_spec", r"^\s*[\"']?(?:containerEdits|deviceNodes|hookName)[\"']?\s*:"),
    # -- listings
    _rule("ls_device_plugins", r"\bkubelet\.sock\b", r"\bkubelet_internal_checkpoint\b"),
    _rule("ls_dev_char", r"\b\d+:\d+ -> \.\./(?:nvidia|dri)", r"(?m)^\s*(?:\d+:\d+\s+){4,}", r"ls: .*/dev/char\b"),
    _rule(
        "ls_dev",
        r"/dev/nvidia(?:\d+|ctl|-uvm|-modeset|-caps)",
        r"^c[rwx-]{9}.* nvidia(?:\d+|ctl|-uvm|-modeset)\s*$",
        r"ls: cannot access '?/dev/nvidia",
    ),
    _rule("validations", r"\b(?:driver|toolkit|cuda|plugin)-ready\b", r"\.driver-ctr-ready"),
    _rule("ls_modules", r"^.*\b(?:build|source) -> /(?:usr/src|lib/modules)\S*", r"\A\s*(?:\d+\.\d+\.\d+-\S+\s+){1,}\Z"),
    # -- systemd
    _rule(
        "systemctl",
        r"^[●×○*↻]? ?[\w@.:-]+\.(?:service|socket|target) - ",
        r"^ +Active: (?:active|inactive|failed|activating)",
        r"^\s*UNIT +LOAD +ACTIVE",
        r"^UNIT FILE +STATE",
        r"^[\w@.:-]+\.service +(?:enabled|disabled|static|masked|indirect|generated|loaded)\b",
        r"^(?:ActiveState|LoadState|SubState|UnitFileState)=",
        r"^Unit \S+ could not be found",
    ),
    # -- logs, the surest words first
    _rule(
        "fabricmanager_log",
        r"\b(?:nv-)?fabric-?manager[\w-]*(?:\[\d+\])?: ",
        r"^\[[A-Z][a-z]{2} \d\d \d{4} [\d:]+\] \[(?:INFO|ERROR|WARNING|FATAL)\s*\] \[tid \d+\]",
        r"Fabric Manager (?:version|Log)",
        r"request to query NVSwitch device information",
    ),
    _log(
        "gke_installer",
        r"GPU driver auto installation is disabled",
        r"cos-gpu-installer",
        r"Waiting for GPU driver libraries",
        r"Running on COS build id",
    ),
    _log(
        "driver_manager",
        r"nvidia driver module is already loaded with refcount",
        r"Waiting for the (?:operator-validator|container-toolkit) to shutdown",
        r"Shutting down all GPU clients on the current node",
        r"Auto eviction of GPU pods on node",
        r"cordoning node|draining node before driver|Current value of 'nvidia\.com/gpu\.deploy",
    ),
    _log(
        "driver",
        r"NVIDIA Software Installer",
        r"Installing Linux kernel headers",
        r"Starting installation of NVIDIA driver",
        r"Loading NVIDIA driver kernel modules",
        r"nvidia-driver init|Caught signal.*unload_driver|Mounting NVIDIA driver rootfs|Unloading NVIDIA driver kernel modules",
    ),
    _log(
        "validator",
        r"error validating (?:driver|toolkit|cuda|plugin)",
        r"level=\w+ msg=\"?(?:validation|validating) ",
        r"Attempting to validate a (?:driver container installation|pre-installed driver)",
        r"\[Vector addition of \d+ elements\]",
        r"command failed, retrying after \d+ seconds",
        r"unable to load the '\S+' module|symlinks under /dev/char",
    ),
    _log(
        "device_plugin",
        r"Starting NVIDIA Device Plugin",
        r"Registered device plugin for '?nvidia",
        r"Starting GRPC server for 'nvidia",
        r"NVML loading|Loading NVML|Retrieving plugins|Detected non-NVML platform|No valid resources detected|Starting FS watcher",
        r"No devices found\. Waiting indefinitely",
        r"XidCriticalError: |device marked unhealthy: |error starting plugins: ",
    ),
    _log(
        "toolkit",
        r"nvidia-toolkit",
        r"Starting 'setup' for|Parsing arguments: \[/usr/local/nvidia",
        r"Installing NVIDIA container (?:toolkit|runtime|CLI)",
        r"Installing toolkit",
    ),
    _log(
        "gfd",
        r"gpu-feature-discovery",
        r"Writing labels to output file|Starting OS watcher\.\n.*Loading configuration\.\n(?:.*\n)*?.*labels",
    ),
    _log("nfd", r"nfd-(?:worker|master|topology)|Node Feature Discovery (?:Worker|Master)", r"starting nfd LabelRule"),
    _log("mig_manager", r"nvidia-mig-parted|mig-parted|nvidia\.com/mig\.config", r"Updating MIG config"),
    _log("dcgm", r"DCGM (?:initialized|collecting)|dcgm-exporter|nv-hostengine"),
    _log("mps", r"mps-control-daemon|nvidia-cuda-mps-control"),
    _log("dra", r"gpu\.nvidia\.com.*(?:ResourceSlice|NodePrepareResources)|NodePrepareResources|compute-domain-kubelet-plugin"),
    _log(
        "scheduler",
        r"score\.go:\d+\] |calcScore",
        r"schedule_one\.go:\d+\]|scheduler\.go:\d+\]|\"Unable to schedule pod; no fit",
        r"volcano.*session|KAI scheduler",
    ),
    _log(
        "operator",
        r"controllers\.(?:ClusterPolicy|Upgrade|NVIDIADriver)",
        r'"(?:logger|controller)":"(?:controllers\.)?(?:clusterpolicy|ClusterPolicy|upgrade)',
        r"clusterpolicy-controller",
    ),
    _rule("kubelet_log", rf"{_SYSLOG}(?:kubelet|k3s|rke2|k0s|kubelite)(?:\[\d+\])?: ", share=0.6),
    _rule(
        "kubelet_log",
        rf"{_KLOG}(?:kubelet|manager|server|endpoint|device_manager|topology_manager|kubelet_node_status|checkpoint|"
        rf"reconciler_common|pod_workers|kuberuntime\w*)\.go:\d+\]",
        rf"{_KLOG}\S+\.go:\d+\] .*\"?(?:SyncLoop|Got registration request|Starting kubelet)",
    ),
    _rule(
        "kernel_log",
        r"^\[ *\d+\.\d+\](?:\[ *\w+\])? ",
        r"^\[[A-Z][a-z]{2} [A-Z][a-z]{2} +\d+ [\d:]+ \d{4}\] ",
        r"^\S+: kern: +\w+: \[",
        r"^<\d+>\[ *\d+\.\d+\] ",
        r"^(?:kern|daemon) +:\w+ +: \[",
        r"^\s*NVRM: ",
        clear=False,
    ),
    _rule(
        "journal",
        rf"^{_SYSLOG}[\w@./()-]+(?:\[\d+\])?: ",
        r"^-- (?:Logs begin at|Journal begins at|No entries|Boot [0-9a-f]{32}|Reboot) ?",
        r"^IDX BOOT ID",
    ),
    # -- small things
    _rule("containerd_dump", r"^containerd (?:github|containerd)\S* "),
    _rule(
        "kubelet_flags",
        r"--(?:cpu-manager-policy|topology-manager-policy|container-runtime-endpoint|root-dir|kubeconfig|"
        r"feature-gates|node-labels|config)[= ]",
        r"^KUBELET_\w+=",
    ),
    _rule("mounts", r"^(?:\S+ on /\S* type \w+ \(|(?:overlay|tmpfs|/dev/\S+) /\S* \w+ (?:rw|ro),)"),
    _rule("uptime", r"\A.* up +(?:\d+ (?:day|min|week|hour)|\d+:\d\d)", r"\Asystem boot ", r"\A\s*\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\s*\Z"),
    _rule("boot_kernel", r"^GRUB_DEFAULT=|^saved_entry=|\A/boot/vmlinuz-\S+\s*\Z"),
    # -- objects without a head: keys of the Kubernetes API at any depth
    _rule(
        "kube_objects",
        r"^ *(?:- )?(?:metadata|spec|status|taints|tolerations|resources|nodeSelector|affinity|containers|limits|"
        r"requests|conditions|allocatable|capacity|runtimeClassName|nodeName|labels|annotations):",
        r"^ *(?:- )?(?:nvidia\.com/[\w.-]+|effect|operator|key|image|name|generateName|namespace|memory|cpu|command|"
        r"args|env|value|enabled|phase|reason|message): ?",
        need=2,
    ),
    _rule("kube_objects", r'^\s*"(?:metadata|spec|status|taints|tolerations|resources|nodeSelector|allocatable|capacity|conditions)"\s*:'),
    _rule(
        "kubectl_output",
        r"^Error from server|admission webhook \"[^\"]+\" denied|exceeded quota: |^Error: (?:INSTALLATION|UPGRADE|"
        r"context deadline)|^(?:Deployment|DaemonSet|Pod)/\S+ not ready|"
        r"^[a-z]+(?:\.[\w.]+)?/\S+ (?:created|configured|unchanged|deleted|labeled|tainted|cordoned|uncordoned|drained|patched)\b",
    ),
    _rule("describe_pod", r"^Pod Allocate failed due to|^Pod was rejected|0/\d+ nodes are available"),
)

# Kinds that one form of text can rightly be called by; a name may choose freely among them.
_ALIKE = (
    {"kernel_log", "journal", "kubelet_log", "fabricmanager_log", "container_log", "systemctl"},
    {"containerd_config", "containerd_dump"},
    {"get_events", "describe_pod", "describe_node", "describe_other"},
    {"nvidia_smi", "nvidia_smi_q", "nvidia_smi_list"},
    {"dkms_build", "container_log", "package_history"},
    {"kubelet_flags", "systemctl"},
    {"ls_dev", "ls_dev_char", "ls_modules", "ls_device_plugins", "validations"},
    {"nvidia_ctk", "cdi_spec", "nvidia_container_cli", "container_log"},
)
_SAMPLE_HEAD = 48 * 1024
_SAMPLE_TAIL = 16 * 1024


# A program or a file that is not there: what would have been shown.
_MISSING = re.compile(
    r"(?:^|: )(?:([\w.-]+): (?:command )?not found$|Command '([\w.-]+)' not found|(cat|ls|"
    r"grep): (?:cannot access )?'?(/[^':\s]+)'?: No such file)",
    re.MULTILINE,
)


_BLANK = re.compile(r"\n(?:[^\S\n]*\n)+")


def _sample(text: str) -> str:
    """Head and tail without blank lines: a cut log has millions of them in front."""
    text = text.lstrip("\n")
    if len(text) <= _SAMPLE_HEAD + _SAMPLE_TAIL:
        return _BLANK.sub("\n", text)
    return _BLANK.sub("\n", text[: 8 * _SAMPLE_HEAD])[:_SAMPLE_HEAD] + "\n" + _BLANK.sub("\n", text[-_SAMPLE_TAIL:])


def by_content(text: str) -> tuple[str, str | None, bool]:
    """(kind, component, beyond doubt) of a text with no name."""
    sample = "\n".join(line[:2000] for line in _sample(text).splitlines() if line.strip())
    lines = sample.splitlines()[:400]
    if not lines:
        return "unrecognised", None, False
    for rule in RULES:
        if rule.holds(sample, lines):
            return rule.kind, rule.component, rule.clear
    if len(lines) <= 4:
        missing = _MISSING.search(sample)
        found = missing and by_command(" ".join(word for word in missing.groups() if word))
        if found:
            return found.kind, found.component, False
    return "text", None, False


# ---- by name -------------------------------------------------------------------------------------------------

_EXTENSIONS = re.compile(r"\.(?:txt|log|out|output|yaml|yml|json|toml|conf|cfg|md|list|stdout|stderr|err|\d)$", re.IGNORECASE)
_KUBECTL = r"^(?:(?:kubectl|oc|k|microk8s|k3s)-)*"

# Name without extension, lower case, dashes for spaces and underscores -> kind. Groups "node" and "pod" are kept.
_NAMES: list[tuple[str, re.Pattern[str]]] = [
    (kind, re.compile(pattern))
    for kind, pattern in (
        ("describe_node", _KUBECTL + r"describe-(?:no|nodes?)(?:[-.](?P<node>.+))?$"),
        ("describe_pod", _KUBECTL + r"describe-(?:po|pods?)(?:[-.](?P<pod>.+))?$"),
        ("describe_other", _KUBECTL + r"describe-"),
        ("describe_node", r"^(?:gpu-)?nodes?-(?:descr|describe|description)$|\bdescribed?-nodes?\b"),
        ("describe_pod", r"^gpu-operand-pod-(?P<pod>.+)-descr$"),
        ("describe_other", r"^gpu-operand-ds-.+-descr$"),
        ("get_pods", r"^gpu-operat(?:or-pod|and-pods|or-pods)-status$|^gpu-operand-pods(?:-status)?$|^gpu-operator-pod-(?:status|yaml)$"),
        ("get_daemonsets", r"^gpu-operand-ds(?:-status)?$"),
        ("get_table", r"^cluster-policy$|^all-machines$|^openshift-version$|^hyperconverged$|^kubevirt$"),
        ("text", r"^must-gather|^gpu-nodes-labels$|^gpu-operand-pod-images$|^version$"),
        ("get_nodes", _KUBECTL + r"get-(?:no|nodes?)(?:-o-?wide|-wide|-A)?$|^gpu-nodes-status$"),
        (
            "get_nodes",
            _KUBECTL
            + r"get-(?:no|nodes?)-(?P<node>(?!show-|o-|l-|selector|custom-|jsonpath|describe|"
            + r"(?:labels?|taints?|annotations?|wide|all|gpus?|yaml|json|events?|status)$).+)$",
        ),
        ("get_nodes", _KUBECTL + r"get-(?:no|nodes?)-[\w-]+$"),
        ("get_pods", _KUBECTL + r"get-(?:po|pods?)(?:-(?:o-?wide|wide|a|all|all-namespaces))*$"),
        ("get_pods", _KUBECTL + r"get-(?:po|pods?)-(?P<pod>.+)$"),
        ("get_daemonsets", _KUBECTL + r"get-(?:ds|daemonsets?)(?:-.*)?$"),
        ("get_events", _KUBECTL + r"(?:get-)?(?:ev|events?)(?:-.*)?$"),
        ("get_runtimeclass", _KUBECTL + r"get-runtimeclass(?:es)?(?:-.*)?$"),
        ("get_table", _KUBECTL + r"get-"),
        (
            "kubectl_output",
            r"^(?:(?:kubectl|oc)-(?:create|apply|delete|run|patch|label|taint|cordon|uncordon|drain|rollout|debug|scale|"
            r"version|auth)|helm-(?:install|upgrade|status|list)|helmfile)",
        ),
        ("nvidia_smi_q", r"(?:^|-)nvidia-smi-(?:q|-query|query|xml)\b"),
        ("nvidia_smi_list", r"(?:^|-)nvidia-smi-(?:l|list(?:-gpus)?)$"),
        ("nvidia_smi", r"(?:^|-)nvidia-?smi\b"),
        ("kernel_log", r"^(?:sudo-)?(?:dmesg|kern(?:el)?|messages|kmsg)(?:$|[-.])|^journalctl-(?:k|dmesg)\b|^talosctl-dmesg"),
        ("kubelet_log", r"^(?:journalctl-u-)?kubelet(?:-?(?:journal|logs?|service))?(?:$|\.)|^journalctl-(?:u-)?kubelet|^journal-kubelet"),
        ("systemctl", r"^systemctl|^service-.*-status$|-service-status$|^systemd-units"),
        ("fabricmanager_log", r"fabric-?manager(?!.*(?:status|show|list))|^nv-fm"),
        ("journal", r"^(?:journal(?:ctl)?|syslog)(?:$|[-.])"),
        ("ls_device_plugins", r"^ls-.*device-plugins?$|^device-plugins$"),
        ("ls_dev_char", r"^ls-(?:[la]+-)?dev-char"),
        ("ls_dev", r"^ls-(?:[la]+-)?dev(?:-nvidia.*)?$"),
        ("ls_modules", r"^ls-(?:[la]+-)?(?:usr-)?lib-modules|^ls-modules|^kernels$"),
        ("validations", r"^ls-.*validations?$|^validations$"),
        ("kubelet_checkpoint", r"kubelet-internal-checkpoint|^kubelet-checkpoint"),
        ("kubelet_flags", r"^kubelet-(?:flags|config|args|cmdline|env)|^kubeadm-flags|^ps-kubelet|^configz"),
        ("proc_nvidia_version", r"^(?:cat-)?proc-driver-nvidia-version|^nvidia-version|^driver-version$"),
        ("proc_devices", r"^(?:cat-)?proc-devices"),
        ("lsmod", r"^(?:lsmod|proc-modules|modules)(?:$|[-.])"),
        ("lspci", r"^(?:sudo-)?lspci"),
        ("modinfo", r"^modinfo"),
        ("dkms_build", r"^dkms-(?:build|install|make|autoinstall|add)|^make(?:\.log)?$|driver-build|nvidia-installer|^installer-log"),
        ("dkms_status", r"^dkms(?:$|[-.])"),
        (
            "package_history",
            r"^(?:apt|dnf|yum|zypper|pacman)(?:-\w+)*-?(?:history|log)|^dpkg\.?-?log|^dpkg$|^history$|^(?:apt-)?history|"
            r"unattended-upgrades",
        ),
        ("packages", r"^(?:packages?|dpkg-l|rpm-qa|apt-list|dnf-list|yum-list)(?:$|[-.])"),
        ("mokutil", r"^mokutil|secure-?boot"),
        ("uname", r"^uname"),
        ("os_release", r"os-release|^lsb-release"),
        ("modprobe_conf", r"^(?:etc-)?modprobe[.-]?(?:d|conf)|blacklist"),
        ("toolkit_config", r"nvidia-container-runtime-config|nvidia-container-toolkit-config|^toolkit-config"),
        ("nvidia_container_cli", r"^nvidia-container-cli"),
        ("nvidia_ctk", r"^nvidia-ctk"),
        ("cdi_spec", r"^cdi(?:$|[-.])|^nvidia-cdi"),
        ("containerd_dump", r"^containerd-(?:config-dump|dump|version)|^ctr-version|^crictl-(?:info|version)"),
        ("containerd_config", r"^(?:etc-|k3s-|rke2-)?containerd"),
        ("crio_config", r"^(?:etc-)?crio|^cri-o"),
        ("docker_info", r"^docker-(?:info|version)"),
        ("docker_daemon", r"^(?:etc-)?docker-daemon|^daemon$"),
        ("uptime", r"^(?:uptime|who-b|last-reboot)"),
        ("boot_kernel", r"^(?:boot-kernel|grubby|grub|next-kernel)"),
        ("mounts", r"^(?:mounts?|proc-mounts|findmnt)$"),
    )
]

# Paths of container logs, as the collectors lay them out. Pods and namespaces have no underscore in their names.
_LOG_PATHS = tuple(
    re.compile(pattern)
    for pattern in (
        # kubelet: /var/log/containers and /var/log/pods
        r"(?:^|/)(?P<pod>[a-z0-9.-]+)_(?P<namespace>[a-z0-9-]+)_(?P<container>[a-z0-9-]+)-[0-9a-f]{64}\.log$",
        r"(?:^|/)(?P<namespace>[a-z0-9-]+)_(?P<pod>[a-z0-9.-]+)_[0-9a-f-]{8,36}/(?P<container>[a-z0-9-]+)/\d+\.log$",
        # OpenShift must-gather
        r"(?:^|"
        r"/)namespaces/(?P<namespace>[^/]+)/pods/(?P<pod>[^/]+)/(?P<container>[^/]+)/(?:[^/]+/)?logs/(?P<run>current|"
        r"previous)(?:\.insecure)?\.log$",
        # our own
        r"(?:^|/)logs?/(?:.*/)?(?P<namespace>[a-z0-9-]+)_(?P<pod>[a-z0-9.-]+)_(?P<container>[a-z0-9-]+?)(?P<run>[.-]previous)?\.(?:log|txt)$",
        # troubleshoot support bundles
        r"(?:^|/)(?:pods/logs|logs?|"
        r"[\w.-]*logs)/(?P<namespace>[a-z0-9-]+)/(?P<pod>[a-z0-9.-]+)/(?P<container>[a-z0-9-]+?)(?P<run>[.-]previous)?\.log$",
        r"(?:^|/)(?:[\w.-]*logs?|pods)/(?P<pod>[a-z0-9.-]+)/(?P<container>[a-z0-9-]+?)(?P<run>[.-]previous)?\.log$",
        # NVIDIA's must-gather
        r"(?:^|/)gpu_operand_pod_(?P<pod>[a-z0-9.-]+?)(?P<run>\.previous)?\.log$",
        # by hand
        r"(?:^|/)kubectl-logs-(?:p-)?(?P<pod>[a-z0-9.-]+?)(?:-c-(?P<container>[a-z0-9-]+?))?(?P<run>[.-]previous)?(?:\.(?:log|txt))?$",
        r"(?:^|/)logs?/(?P<pod>[A-Za-z0-9.-]+?)\.(?P<container>[A-Za-z0-9-]+?)(?P<run>[.-]previous)?\.(?:log|txt)$",
        r"(?:^|/)logs?/(?P<pod>[A-Za-z0-9-]+?)(?P<run>[.-]previous)?\.(?:log|txt)$",
    )
)
# Files of any folder that are named after a part of the stack.
_LOG_NAME = re.compile(
    r"(?:device-plugin|container-toolkit|gpu-operator|feature-discovery|dcgm|mig-manager|driver-daemonset|"
    r"driver-ctr|driver-manager|validat(?:or|ion)|kube-scheduler|volcano|hami|driver-installer)"
)
# Output of a command run inside a container: what it says is true in that container, not on the host.
_INSIDE = re.compile(r"^(?:(?:kubectl|oc|docker|podman|nerdctl|crictl|ctr)-(?:exec|run)|(?:exec|in-(?:pod|container)))(?:-|$)")


# What people and browsers put around a name: "03-dmesg.txt", "2. lspci.txt", "nvidia-smi (1).txt", "uname - Copy.txt".
_NUMBERED = re.compile(r"(^|/)\d{1,3}(?:\.(?!log\b)|[-_) ])[-_ .]*(?=[A-Za-z][^/]*$)")
_COPIED = re.compile(r"(?: ?\((?:copy ?)?\d*\)|[- _]+copy(?: ?\d+)?)(?=(?:\.\w{1,8})*$)", re.IGNORECASE)


def _stem(path: str) -> str:
    name = re.sub(r"\.(descr|status|labels)$", r"-\1", path.rsplit("/", 1)[-1].lower())
    while True:
        cut = _EXTENSIONS.sub("", name)
        if cut == name or not cut:
            break
        name = cut
    return re.sub(r"[\s_=/-]+", "-", name).strip("-.")


def by_name(path: str) -> Recognition | None:
    """What the path alone says; None when it says nothing."""
    path = _COPIED.sub("", _NUMBERED.sub(r"\1", path)) or path
    for pattern in _LOG_PATHS:
        match = pattern.search(path)
        if match:
            found = match.groupdict()
            pod, container, namespace = found.get("pod"), found.get("container"), found.get("namespace")
            previous = "previous" in (found.get("run") or "")
            return Recognition("container_log", component_of(pod, container, namespace), None, pod, container, namespace, previous)
    stem = _stem(path)
    if _INSIDE.match(stem):
        component = component_of(_INSIDE.sub("", stem))
        # The driver container has the host's devices and the driver itself: as good as the host.
        if component not in ("driver", "device_plugin"):
            return Recognition("container_log", "workload")
        return None
    if path.endswith("gpu_operator_pod.log") or path.endswith("gpu_operator_pod.previous.log"):
        return Recognition("container_log", "operator", pod=None, container="gpu-operator", previous="previous" in path)
    for kind, pattern in _NAMES:
        match = pattern.search(stem)
        if match:
            found = match.groupdict()
            return Recognition(kind, None, found.get("node"), found.get("pod"))
    if _LOG_NAME.search(stem) and not path.endswith((".yaml", ".yml", ".json", ".descr", ".status")):
        previous = stem.endswith("previous")
        name = re.sub(r"[-.]previous$", "", stem)
        pod, _dot, container = name.partition(".")
        return Recognition("container_log", component_of(pod, container or None), None, pod, container or None, None, previous)
    return None


# ---- by the command that printed it ----------------------------------------------------------------------------

_SUDO = re.compile(r"^(?:sudo(?: -\S+)*|time|timeout \S+|env(?: \w+=\S+)+|LC_ALL=\S+|watch(?: -\S+(?: \d+)?)?) +")
_NS = r"(?: +(?:-n|--namespace)[ =]\S+| +-A| +--all-namespaces| +-n\S+)*"
_K = rf"^(?:kubectl|oc|k|microk8s kubectl|k3s kubectl|microk8s\.kubectl){_NS} +"
_COMMANDS: list[tuple[str, re.Pattern[str]]] = [
    (kind, re.compile(pattern))
    for kind, pattern in (
        ("describe_node", _K + r"describe(?: \S+)*? +(?:nodes?|no)\b(?:[/ ]+(?P<node>[a-z0-9][\w.-]*))?"),
        ("describe_pod", _K + r"describe(?: \S+)*? +(?:pods?|po)\b(?:[/ ]+(?P<pod>[a-z0-9][\w.-]*))?"),
        ("describe_other", _K + r"describe "),
        ("kube_objects", _K + r"get .*(?:-o ?|--output[= ])(?:yaml|json|jsonpath|custom|go-template)"),
        ("get_nodes", _K + r"get +(?:nodes?|no)\b(?:[/ ]+(?P<node>[a-z0-9][\w.-]*))?"),
        ("get_pods", _K + r"get +(?:po|pods?)\b"),
        ("get_daemonsets", _K + r"get +(?:ds|daemonsets?)\b"),
        ("get_events", _K + r"(?:get +(?:ev|events?)|events?)\b"),
        ("get_runtimeclass", _K + r"get +runtimeclass(?:es)?\b"),
        ("get_table", _K + r"get "),
        ("container_log", _K + r"logs? +(?P<log>.*)"),
        ("inside", _K + r"(?:exec|run) +(?P<exec>.*)"),
        ("kubectl_output", _K + r"\w"),
        ("kubectl_output", r"^(?:helm|helmfile) "),
        ("inside", r"^(?:docker|podman|nerdctl|crictl|ctr)(?: +-\S+ +\S+)* +(?:run|exec) "),
        ("nvidia_smi_q", r"^nvidia-smi\b.* (?:-q|--query)(?:\s|$)"),
        ("nvidia_smi_list", r"^nvidia-smi\b.* (?:-L|--list-gpus)"),
        ("nvidia_smi", r"^nvidia-smi(?: *$| *[|>;]| -\S+)"),
        (
            "kernel_log",
            r"^dmesg\b|^journalctl\b.* (?:-k|--dmesg)\b|^journalctl -\w*k\b|^(?:cat|tail|grep|less) .*/var/log/(?:kern|"
            r"messages|syslog)|^talosctl .*dmesg",
        ),
        ("kubelet_log", r"^journalctl\b.*(?:-u|--unit)[ =]*(?:kubelet|k3s|rke2|k0s|snap\.microk8s)"),
        ("fabricmanager_log", r"^(?:cat|tail|less|head|grep) .*fabricmanager\.log"),
        ("journal", r"^journalctl\b"),
        ("systemctl", r"^systemctl\b|^service \S+ status"),
        ("lspci", r"^lspci\b"),
        ("lsmod", r"^lsmod\b|^cat /proc/modules"),
        ("modinfo", r"^modinfo\b"),
        ("dkms_status", r"^dkms(?: status|$)"),
        ("dkms_build", r"^dkms \w|^cat /var/lib/dkms/\S+make\.log|^cat /var/log/nvidia-installer"),
        ("mokutil", r"^mokutil\b"),
        ("uname", r"^uname\b"),
        ("os_release", r"^cat /etc/(?:os|lsb|redhat|system)-release|^lsb_release"),
        ("packages", r"^(?:dpkg(?:-query)? +(?:-l|--list|-W)|apt(?:-cache)? +(?:list|policy)|rpm +-q|dnf +list|yum +list|pacman +-Q)"),
        ("package_history", r"^(?:dnf|yum) +history|^(?:z?cat|z?grep|tail|less) .*/var/log/(?:apt|dpkg|dnf|yum)"),
        ("proc_nvidia_version", r"^cat /proc/driver/nvidia/version"),
        ("proc_devices", r"^cat /proc/devices"),
        ("ls_dev_char", r"^ls\b.* /dev/char"),
        ("ls_dev", r"^ls\b.* /dev(?:/nvidia\S*|/)?(?:\s|$)"),
        ("ls_modules", r"^ls\b.* (?:/usr)?/lib/modules"),
        ("ls_device_plugins", r"^ls\b.* \S*device-plugins"),
        ("validations", r"^ls\b.* \S*validations"),
        ("kubelet_checkpoint", r"^cat \S*kubelet_internal_checkpoint"),
        ("kubelet_flags", r"^(?:cat \S*(?:kubeadm-flags|kubelet)\S*|ps\b.*kubelet)"),
        ("modprobe_conf", r"^(?:cat|grep)\b.*modprobe\.d"),
        ("toolkit_config", r"^cat /etc/nvidia-container-runtime/config\.toml|^cat \S*nvidia-container-runtime\S*config\.toml"),
        ("nvidia_container_cli", r"^nvidia-container-cli\b"),
        ("nvidia_ctk", r"^nvidia-ctk\b"),
        ("cdi_spec", r"^cat \S*/cdi/\S+"),
        ("containerd_dump", r"^containerd (?:--version|-v|config (?:dump|default))|^crictl (?:info|version)"),
        ("containerd_config", r"^cat \S*containerd\S*"),
        ("crio_config", r"^cat \S*crio\S*|^crio (?:config|status)"),
        ("docker_info", r"^docker (?:info|system info|version)"),
        ("docker_daemon", r"^cat \S*docker/daemon\.json"),
        ("uptime", r"^(?:uptime|who -b)\b"),
        ("boot_kernel", r"^grubby|^cat /etc/default/grub"),
        ("mounts", r"^(?:mount|findmnt)\b|^cat /proc/(?:self/)?mounts"),
    )
]
# Words that start a command line when they follow a prompt. Anything else after a bare "$ " or "# " is text or a comment.
_COMMAND_WORDS = re.compile(
    r"^(?:sudo|kubectl|oc|k|helm|docker|podman|nerdctl|crictl|ctr|containerd|crio|nvidia-\w[\w-]*|nv-\w+|dmesg|"
    r"journalctl|systemctl|ls|cat|grep|zcat|zgrep|tail|head|"
    r"lspci|lsmod|modinfo|modprobe|insmod|dkms|mokutil|uname|dpkg(?:-query)?|apt(?:-\w+)?|rpm|dnf|yum|uptime|who|"
    r"mount|findmnt|ps|talosctl|microk8s(?:\.\w+)?|k3s|rke2|apiclient|"
    r"sh|bash|ssh|chroot|cd|echo|export|curl|ldconfig|find|stat|env|python3?|fuser|lsof|snap|minikube|kind|eksctl|"
    r"gcloud|az|pip|pgrep|strace|getent|hostname|date)(?:\s|$)"
)
_PROMPT_STRONG = re.compile(
    r"^(?:\([\w.-]{1,40}\) ?)?(?:\[[\w.-]+@[\w.-]+(?: [^\]\n]{0,100})?\]|[\w.-]+@[\w.-]+[: ][^$#\n]{0,100}?|(?:ba|"
    r"a|z)?sh-\d[\d.]*|[\w.-]{1,40}:[~/][^$#\s]{0,100}|(?:/|~)[\w./-]{0,80}) ?[$#%❯] ?(?P<command>\S.*)$"
)
_PROMPT_WEAK = re.compile(r"^ {0,3}[$#%❯>] (?P<command>\S.*)$")
# Lines that only look like commands: comments of a configuration file.
_COMMENT = re.compile(
    r"^(?:containerd|docker|kind|env|find|mount|k|sh|date|who|head|tail|echo|bash|python3?|stat|snap|apt|"
    r"nvidia-\w+)(?:\s+(?:is|are|the|to|for|of|and|in|will|can|must|should|configuration|=|runtime|file|daemon|"
    r"options?)\b|\s*=|\s*:)"
)


# A prompt that names a pod (ReplicaSet's or DaemonSet's suffix) or a container's short id.
_PROMPT_INSIDE = re.compile(
    r"^[\w.-]+@(?:[a-z0-9-]+-[a-z0-9]{8,10}-[a-z0-9]{5}|[0-9a-f]{12}|[a-z][a-z0-9-]*-(?=[a-z]*\d)[bcdfghjklmnpqrstvwxz2456789]{5})[: ]"
)
_SAID_INSIDE = re.compile(
    r"\b(?:in|inside|within|from)(?: of)? (?:(?:a|the|my|our|this|that) )?(?:[\w-]+ )?(?:pod|container)s?\b", re.IGNORECASE
)


def prompt_command(line: str) -> str | None:
    """The command of a shell prompt line, or None. A comment of a configuration file must not be taken for one."""
    if len(line) > 2000:
        return None
    match = _PROMPT_STRONG.match(line)
    if match and _COMMAND_WORDS.match(match.group("command")):
        return match.group("command").strip()
    match = _PROMPT_WEAK.match(line)
    if match:
        command = match.group("command").strip()
        weak_hash = line.lstrip()[0] in "#>"
        if _COMMAND_WORDS.match(command) and not (weak_hash and (_COMMENT.match(command) or by_command(command) is None)):
            return command
    return None


_POD_WORD = re.compile(r"^(?:(?:pods?|po|ds|daemonset|deploy|deployment)/)?([a-z0-9][a-z0-9.-]*)$")


def _log_target(words: t.Sequence[str]) -> tuple[str | None, str | None, str | None, bool]:
    """(namespace, pod, container, previous) of the arguments of kubectl logs or exec."""
    namespace = pod = container = None
    previous = False
    words = list(words)
    while words:
        word = words.pop(0)
        if word in ("|", ">", ">>", "--", ";", "&&"):
            break
        key, equals, value = word.partition("=")
        if key in ("-n", "--namespace", "-c", "--container"):
            value = value if equals else (words.pop(0) if words else "")
            if key in ("-n", "--namespace"):
                namespace = value
            else:
                container = value
        elif key in ("-p", "--previous"):
            previous = True
        elif key in ("--tail", "--since", "-l", "--selector") and not equals and words:
            words.pop(0)
        elif not word.startswith("-"):
            match = _POD_WORD.match(word)
            if match and pod is None:
                pod = match.group(1)
            elif match and container is None:
                container = match.group(1)
    return namespace, pod, container, previous


def by_command(command: str) -> Recognition | None:
    """What a command prints; None when the command is not one we know."""
    bare = command
    for _round in range(3):
        bare = _SUDO.sub("", bare)
    for kind, pattern in _COMMANDS:
        match = pattern.match(bare)
        if not match:
            continue
        found = match.groupdict()
        if found.get("log") is not None:
            words = found["log"].split()
            before = re.search(r"(?:-n|--namespace)[ =](\S+)", bare)
            namespace, pod, container, previous = _log_target(words)
            namespace = namespace or (before.group(1) if before else None)
            return Recognition(kind, component_of(pod, container, namespace), None, pod, container, namespace, previous, command)
        if kind == "inside":
            namespace, pod, container, _previous = _log_target((found.get("exec") or "").split())
            inner = bare.partition(" -- ")[2]
            if component_of(pod, container) in ("driver", "device_plugin") and inner:
                again = by_command(inner.strip())
                if again:
                    return dataclasses.replace(again, pod=pod, source=command)
            return Recognition("container_log", "workload", None, pod, container, namespace, False, command)
        node = found.get("node")
        return Recognition(kind, None, node, found.get("pod"), source=command)
    return None


# ---- both together ---------------------------------------------------------------------------------------------


def _alike(one: str, other: str) -> bool:
    return one == other or any(one in group and other in group for group in _ALIKE)


_YAML_NAME = re.compile(r"\.(?:ya?ml|json)$", re.IGNORECASE)
_EVENT_KINDS = {"describe_pod", "describe_node", "describe_other", "get_events"}


def settle(named: Recognition | None, path: str, text: str) -> Recognition:
    """Name (or command) and content, weighed."""
    kind, component, clear = by_content(text)
    if kind == "unrecognised":
        return Recognition(kind) if named is None else dataclasses.replace(named, kind="unrecognised" if not text.strip() else named.kind)
    if named is None:
        if kind == "text" and path.endswith((".yaml", ".yml")) and re.search(r"^[ -]*[\w./-]+:(?: |$)", text, re.MULTILINE):
            kind = "kube_objects" if re.search(r"nvidia|gpu|toleration|taint|image", text, re.IGNORECASE) else "text"
        return Recognition(kind, component)
    if named.kind == "container_log" and named.component == "workload" and not named.container and kind == "container_log" and component:
        return dataclasses.replace(named, component=component)  # a log called after nothing we know
    if named.kind.startswith("get_") and _YAML_NAME.search(path) and not (clear and kind in ("kubectl_output", named.kind)):
        return dataclasses.replace(named, kind="kube_objects")
    if named.kind == "container_log":
        # A log may quote anything; only kubectl's own refusal, or an object in the log's place, is something else.
        if clear and kind in ("kubectl_output", "kube_objects") and named.component != "operator":
            return dataclasses.replace(named, kind=kind)
        return named
    if named.kind == "kube_objects" and kind in ("text", "describe_node", "describe_pod"):
        return named
    if _alike(named.kind, kind) or not clear:
        # A table that the name calls something more particular (get-events with bare messages) stays what it was called.
        if named.kind in ("get_nodes", "get_pods", "get_daemonsets", "get_runtimeclass", "get_table") and kind in (
            "kube_objects",
            "kubectl_output",
        ):
            return dataclasses.replace(named, kind=kind)
        return named
    return dataclasses.replace(named, kind=kind, component=component)


def recognise(path: str, text: str) -> Recognition:
    """What a file is."""
    return settle(by_name(path), path, text)


# ---- several outputs in one paste -----------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Part:
    """One output within a file; I(text) is padded in front so that line numbers are those of the file."""

    recognition: Recognition
    text: str


_PREFIX = re.compile(r"^\[pod/(?P<pod>[a-z0-9.-]+)/(?P<container>[a-z0-9.-]+)\] ?", re.MULTILINE)
_BUG_REPORT = re.compile(r"^_{20,}\s*\n\s*\n(?P<title>\S[^\n]*)\n", re.MULTILINE)
_WHOLE = {"cdi_spec", "kubelet_checkpoint", "docker_daemon"}


def parts_of(path: str, text: str) -> list[Part]:
    """The outputs that a file holds: one, or one for each prompt line or each container that it shows."""
    if "[pod/" in text[:4096] and _PREFIX.search(text[:4096]):
        return _by_container(path, text)
    named = by_name(path)
    lines = text.splitlines()
    prompts = [
        (number, command)
        for number, line in enumerate(lines)
        if ("$" in line or "#" in line or "%" in line or "❯" in line or ">" in line) and (command := prompt_command(line))
    ]
    if not prompts or (named and named.kind == "container_log" and named.source == "" and named.component not in ("workload", "other")):
        return [Part(settle(named, path, text), text)]
    if named is None or named.kind != "container_log":
        kind, _component, clear = by_content("\n".join(lines[: prompts[0][0]]))
        if clear and kind in _WHOLE:
            return [Part(settle(named, path, text), text)]
    parts: list[Part] = []
    head = lines[: prompts[0][0]]
    if any(line.strip() for line in head):
        body = "\n".join(head)
        parts.append(Part(settle(named, path, body), body))
    for index, (number, command) in enumerate(prompts):
        end = prompts[index + 1][0] if index + 1 < len(prompts) else len(lines)
        output = lines[number + 1 : end]
        body = "\n".join(output)
        recognition = by_command(command)
        if recognition is None:
            # An unknown command: the name of the file speaks for its only output, the content for others.
            recognition = settle(named if len(prompts) == 1 else None, path, body)
        elif body.strip():
            recognition = settle(recognition, path if recognition.kind == "kube_objects" else "", body)
        if not body.strip():
            continue
        before = next((line for line in reversed(lines[max(0, number - 3) : number]) if line.strip()), "")
        inside = _PROMPT_INSIDE.match(lines[number]) or (_SAID_INSIDE.search(before) and not prompt_command(before))
        if inside and recognition.kind in HOST_KINDS:
            recognition = Recognition("container_log", "workload")
        if named and named.kind == "container_log" and named.component == "workload" and recognition.kind in HOST_KINDS:
            recognition = dataclasses.replace(named)  # a session inside a container
        # kubectl's parsers learn from the command what they see; for others it is no part of the output.
        first = lines[number] if recognition.kind in API_KINDS else ""
        parts.append(Part(dataclasses.replace(recognition, source=command), "\n" * number + first + "\n" + body))
    return parts or [Part(Recognition("text"), text)]


def _by_container(path: str, text: str) -> list[Part]:
    """Logs of several containers, as kubectl logs --prefix prints them: one part each, other lines blank."""
    named = by_name(path) or Recognition("container_log")
    buckets: dict[tuple[str | None, str | None], list[tuple[int, str]]] = {}
    owner: tuple[str | None, str | None] = (named.pod, None)
    for number, line in enumerate(text.splitlines()):
        match = _PREFIX.match(line)
        if match:
            owner = (match.group("pod"), match.group("container"))
            line = line[match.end() :]
        buckets.setdefault(owner, []).append((number, line))
    parts = []
    for (pod, container), kept in buckets.items():
        if not any(line.strip() for _number, line in kept):
            continue
        out: list[str] = []
        for number, line in kept:
            out.extend([""] * (number - len(out)))
            out.append(line)
        component = component_of(pod, container, named.namespace)
        parts.append(Part(Recognition("container_log", component, None, pod, container, named.namespace, named.previous), "\n".join(out)))
    return parts


def bug_report_parts(path: str, text: str) -> list[Part]:
    """The sections of nvidia-bug-report.log that we judge; the rest of it is long and says the same."""
    heads = list(_BUG_REPORT.finditer(text))
    if not heads:
        return [Part(settle(None, path, text), text)]
    parts = []
    for index, head in enumerate(heads):
        end = heads[index + 1].start() if index + 1 < len(heads) else len(text)
        title = head.group("title").strip().removeprefix("***").strip()
        body = text[head.end() : end]
        if not body.strip():
            continue
        command = re.sub(r"^(?:/usr)?/s?bin/", "", title)
        if title.startswith("/"):
            named = by_command(command) or by_command(f"cat {title.replace('/./', '/')}")
        else:
            named = by_command(command)
        # Its log of what it looked for is not what was found.
        if named is None or named.kind not in HOST_KINDS:
            continue
        pad = "\n" * text.count("\n", 0, head.end())
        parts.append(Part(dataclasses.replace(settle(named, "", body), source=title), pad + body))
    return parts or [Part(Recognition("text"), text)]
