# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors
"""What the printed forms are taken for, by content alone, by name, and both against each other."""

from __future__ import annotations

import textwrap
import time

import pytest
from ansible_collections.gpuops.node.plugins.plugin_utils import recognise
from hypothesis import given, settings
from hypothesis import strategies as st

SMI_TABLE = """\
Tue Mar  4 10:00:00 2025
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 550.90.07              Driver Version: 550.90.07      CUDA Version: 12.4     |
|-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
"""

# (kind, component or None, text): each recognised with no name to help.
BY_CONTENT = [
    ("uname", None, "Linux node-a 5.15.0-100-generic #110-Ubuntu SMP Wed Feb 7 13:27:48 UTC 2024 x86_64 x86_64 x86_64 GNU/Linux\n"),
    ("uname", None, "6.8.0-45-generic\n"),
    ("os_release", None, 'NAME="Ubuntu"\nVERSION_ID="22.04"\nID=ubuntu\n'),
    ("lspci", None, "17:00.0 3D controller: NVIDIA Corporation GH100 [H100 SXM5 80GB] (rev a1)\n"),
    ("lspci", None, "0000:17:00.0 3D controller [0302]: NVIDIA Corporation GH100 [10de:2330] (rev a1)\n\tKernel driver in use: nvidia\n"),
    ("lspci", None, '17:00.0 "3D controller" "NVIDIA Corporation" "GH100" -ra1 "NVIDIA Corporation" "Device 16c1"\n'),
    ("lspci", None, "17:00.0 0302: 10de:2330 (rev a1)\n"),
    ("kernel_log", None, "[   12.345678] nvidia-nvlink: Nvlink Core is being initialized\n"),
    ("kernel_log", None, "[Mon Mar  3 18:08:05 2025] NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.90.07\n"),
    ("kernel_log", None, "10.1.2.3: kern: warning: [2025-03-03T19:07:25.92Z]: NVRM: GPU 0000:01:00.0: RmInitAdapter failed!\n"),
    ("kernel_log", None, "<4>[   12.3] NVRM: No NVIDIA devices probed.\n"),
    ("journal", None, "Mar 03 10:11:12 node-a systemd[1]: Started containerd container runtime.\n"),
    ("journal", None, "2025-03-03T10:11:12+0000 node-a systemd[1]: Stopped Daemon.\n"),
    ("journal", None, "-- No entries --\n"),
    (
        "kubelet_log",
        None,
        'Mar 03 10:11:12 node-a kubelet[1234]: I0303 10:11:12.123456    1234 kubelet.go:2100] "Starting kubelet main sync loop"\n',
    ),
    (
        "kubelet_log",
        None,
        'I0303 10:11:12.123456    1234 server.go:144] "Got registration request from device plugin" resourceName="nvidia.com/gpu"\n',
    ),
    ("nvidia_smi", None, SMI_TABLE),
    (
        "nvidia_smi",
        None,
        ("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest driver is running.\n"),
    ),
    ("nvidia_smi", None, "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 550.107\n"),
    ("nvidia_smi", None, "No devices were found\n"),
    ("nvidia_smi", None, "Unable to determine the device handle for GPU0000:A1:00.0: Unknown Error\n"),
    ("nvidia_smi", None, "bash: nvidia-smi: command not found\n"),
    ("nvidia_smi_q", None, "==============NVSMI LOG==============\n\nDriver Version : 550.90.07\nAttached GPUs : 8\n"),
    ("nvidia_smi_q", None, "    Fabric\n        State                 : In Progress\n        Status                : N/A\n"),
    ("nvidia_smi_list", None, "GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-5b1c0e4e-0000-1111-2222-333344445555)\n"),
    ("proc_nvidia_version", None, "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.90.07  Fri May 31 09:35:42 UTC 2024\n"),
    ("proc_nvidia_version", None, "cat: /proc/driver/nvidia/version: No such file or directory\n"),
    ("proc_devices", None, "Character devices:\n  1 mem\n195 nvidia-frontend\n"),
    ("lsmod", None, "Module                  Size  Used by\nnvidia_uvm           1454080  0\n"),
    ("lsmod", None, "nvidia_uvm           1454080  0\nnvidia              56004608  2 nvidia_uvm,nvidia_modeset\n"),
    ("lsmod", None, "nvidia 56004608 2 nvidia_uvm,nvidia_modeset, Live 0xffffffffc0a00000 (POE)\n"),
    ("modinfo", None, "filename:       /lib/modules/5.15.0-100-generic/updates/dkms/nvidia.ko\nversion:        550.90.07\n"),
    ("modinfo", None, "modinfo: ERROR: Module nvidia not found.\n"),
    ("dkms_status", None, "nvidia/550.90.07, 5.15.0-100-generic, x86_64: installed\n"),
    ("dkms_status", None, "nvidia, 470.57.02, 5.4.0-81-generic, x86_64: installed\n"),
    ("dkms_status", None, "nvidia/390.157: added\n"),
    ("dkms_status", None, "bash: dkms: command not found\n"),
    ("dkms_build", None, "DKMS make.log for nvidia-550.90.07 for kernel 6.8.0-45-generic (x86_64)\n"),
    ("dkms_build", None, "Error! Your kernel headers for kernel 6.8.0-45-generic cannot be found at /lib/modules/6.8.0-45-generic/build\n"),
    ("dkms_build", None, "ERROR: modpost: GPL-incompatible module nvidia.ko uses GPL-only symbol '__rcu_read_lock'\n"),
    ("dkms_build", None, "nvidia-installer log file '/var/log/nvidia-installer.log'\n"),
    ("packages", None, "ii  nvidia-driver-550  550.90.07-0ubuntu0.22.04.1  amd64  NVIDIA driver metapackage\n"),
    ("packages", None, "nvidia-driver-550/jammy,now 550.90.07-0ubuntu0.22.04.1 amd64 [installed]\n"),
    ("packages", None, "nvidia-driver-cuda-550.90.07-1.el9.x86_64\nkmod-nvidia-550.90.07-1.el9.x86_64\n"),
    ("packages", None, "dpkg-query: no packages found matching nvidia-*\n"),
    ("package_history", None, "Start-Date: 2025-03-03  06:55:03\nCommandline: /usr/bin/unattended-upgrade\n"),
    ("package_history", None, "2025-03-03 06:55:03 upgrade libnvidia-compute-550:amd64 550.54.15 550.90.07\n"),
    ("package_history", None, "ID     | Command line             | Date and time    | Action(s)      | Altered\n"),
    ("mokutil", None, "SecureBoot enabled\n"),
    ("mokutil", None, "EFI variables are not supported on this system\n"),
    ("ls_dev", None, "crw-rw-rw- 1 root root 195,   0 Mar  3 10:00 /dev/nvidia0\n"),
    ("ls_dev", None, "ls: cannot access '/dev/nvidia*': No such file or directory\n"),
    ("ls_dev_char", None, "lrwxrwxrwx 1 root root 12 Mar  3 10:00 195:0 -> ../nvidia0\n"),
    ("ls_dev_char", None, "10:1    10:200  10:234  1:11    116:6  13:65\n"),
    ("ls_modules", None, "lrwxrwxrwx 1 root root 40 Feb  7 13:27 build -> /usr/src/linux-headers-5.15.0-100-generic\n"),
    ("ls_device_plugins", None, "kubelet.sock\nkubelet_internal_checkpoint\nnvidia-gpu.sock\n"),
    ("validations", None, "cuda-ready\ndriver-ready\ntoolkit-ready\n"),
    ("modprobe_conf", None, "blacklist nouveau\noptions nouveau modeset=0\n"),
    ("modprobe_conf", None, "/etc/modprobe.d/hard.conf:install nvidia /bin/false\n"),
    ("toolkit_config", None, 'disable-require = false\n[nvidia-container-cli]\nldconfig = "@/sbin/ldconfig.real"\n'),
    ("toolkit_config", None, "accept-nvidia-visible-devices-envvar-when-unprivileged = false\n"),
    ("containerd_config", None, 'version = 2\n[plugins]\n  [plugins."io.containerd.grpc.v1.cri"]\n'),
    ("containerd_config", None, '[plugins.cri.containerd.runtimes.nvidia.options]\n  Runtime = "/usr/bin/nvidia-container-runtime"\n'),
    ("containerd_config", None, "version = 3\nimports = ['/etc/containerd/conf.d/*.toml']\n"),
    ("containerd_config", None, '[Plugins]\n  [Plugins."io.containerd.grpc.v1.cri"]\n'),
    ("crio_config", None, '[crio.runtime]\ndefault_runtime = "nvidia"\n'),
    ("docker_daemon", None, '{\n  "default-runtime": "nvidia",\n  "runtimes": {}\n}\n'),
    ("docker_info", None, " Server Version: 27.1.1\n Runtimes: io.containerd.runc.v2 nvidia runc\n Default Runtime: runc\n"),
    ("cdi_spec", None, "cdiVersion: 0.5.0\nkind: nvidia.com/gpu\ndevices:\n- name: '0'\n"),
    ("cdi_spec", None, '{"cdiVersion": "0.5.0", "kind": "nvidia.com/gpu"}\n'),
    ("nvidia_container_cli", None, "nvidia-container-cli: initialization error: nvml error: driver not loaded\n"),
    ("nvidia_container_cli", None, "NVRM version:   550.90.07\nCUDA version:   12.4\n\nDevice Index:   0\n"),
    ("nvidia_ctk", None, "NVIDIA Container Toolkit CLI version 1.16.1\n"),
    ("nvidia_ctk", None, "INFO[0000] Found 0 CDI devices\n"),
    ("kubelet_checkpoint", None, '{"Data":{"PodDeviceEntries":null,"RegisteredDevices":{"nvidia.com/gpu":["GPU-1"]}},"Checksum":1}\n'),
    ("kubelet_flags", None, "--cpu-manager-policy=static\n--root-dir=/data/kubelet\n"),
    ("kubelet_flags", None, "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"),
    ("systemctl", None, "● kubelet.service - kubelet: The Kubernetes Node Agent\n     Loaded: loaded\n     Active: active (running)\n"),
    ("systemctl", None, "Unit nvidia-fabricmanager.service could not be found.\n"),
    ("systemctl", None, "nvidia-fabricmanager.service   enabled  enabled\n"),
    ("fabricmanager_log", None, "[Mar 03 2025 10:11:12] [ERROR] [tid 123] failed to find the GPU handle\n"),
    ("uptime", None, " 10:00:00 up 3 days,  2:11,  1 user,  load average: 0.00, 0.01, 0.05\n"),
    # kubectl
    ("describe_node", None, "Name:               node-a\nRoles:              <none>\nUnschedulable:      false\n"),
    ("describe_node", None, "Capacity:\n  nvidia.com/gpu:  8\nAllocatable:\n  nvidia.com/gpu:  0\n"),
    ("describe_node", None, "Taints:             nvidia.com/gpu=present:NoSchedule\n"),
    (
        "describe_node",
        None,
        (
            "Events:\n  Type    Reason    Age  From     Message\n  ----    ------    ---  ----     -------\n  Warning  "
            "Rebooted  2m  kubelet  Node node-a has been rebooted\n"
        ),
    ),
    ("describe_pod", None, "Name:         train-0\nNamespace:    ml\nNode:         node-a/10.0.0.1\nContainers:\n  main:\n"),
    (
        "describe_pod",
        None,
        (
            "Events:\n  Type     Reason            Age   From               Message\n  Warning  FailedScheduling  3m    "
            "default-scheduler  0/4 nodes are available\n"
        ),
    ),
    ("describe_pod", None, "  Warning  FailedCreatePodSandBox  0s (x5 over 49s)  kubelet  Failed to create pod sandbox\n"),
    ("describe_pod", None, "Tolerations:     node.kubernetes.io/not-ready:NoExecute for 300s\n"),
    ("describe_other", None, "Name: nvidia-device-plugin\nDesired Number of Nodes Scheduled: 0\nPod Template:\n"),
    ("get_nodes", None, "NAME     STATUS   ROLES    AGE   VERSION\nnode-a   Ready    <none>   41d   v1.30.1\n"),
    ("get_nodes", None, "node-a   Ready,SchedulingDisabled    <none>   41d   v1.30.1\n"),
    ("get_pods", None, "NAMESPACE   NAME      READY   STATUS    RESTARTS   AGE\nml          train-0   0/1     Pending   0          3m\n"),
    ("get_pods", None, "nvidia-device-plugin-daemonset-x2kcd   0/1   CrashLoopBackOff   12 (2m4s ago)   39m\n"),
    (
        "get_daemonsets",
        None,
        ("NAME   DESIRED   CURRENT   READY   UP-TO-DATE   AVAILABLE   NODE SELECTOR   AGE\nds-a   1  1  0  1  0  <none>  3d\n"),
    ),
    ("get_events", None, "LAST SEEN   TYPE      REASON    OBJECT       MESSAGE\n3m          Warning   Failed    pod/train-0  x\n"),
    ("get_events", None, "3m          Warning   FailedScheduling   pod/train-0   0/4 nodes are available\n"),
    ("get_runtimeclass", None, "NAME     HANDLER   AGE\nnvidia   nvidia    12d\n"),
    ("get_table", None, "NAME                             STATUS   AGE\nclusterpolicies.nvidia.com       ready    3d\n"),
    ("kube_objects", None, "apiVersion: v1\nkind: Node\nmetadata:\n  name: node-a\n"),
    ("kube_objects", None, "apiVersion: v1\nitems:\n- apiVersion: v1\n  kind: Node\n  metadata:\n    name: node-a\nkind: List\n"),
    ("kube_objects", None, '{\n    "apiVersion": "v1",\n    "items": [],\n    "kind": "List"\n}\n'),
    ("kube_objects", None, '{"kind":"NodeList","apiVersion":"v1","metadata":{},"items":[]}'),
    ("kube_objects", None, "    resources:\n      limits:\n        nvidia.com/gpu: 1\n"),
    ("kube_objects", None, "  taints:\n  - effect: NoSchedule\n    key: example.com/not-ready\n"),
    ("kubectl_output", None, 'Error from server (Forbidden): pods "a" is forbidden: exceeded quota: team\n'),
    ("kubectl_output", None, "No resources found in gpu-operator namespace.\n"),
    ("kubectl_output", None, "Error: UPGRADE FAILED: context deadline exceeded\n"),
    # containers
    ("container_log", "device_plugin", 'I0303 10:11:12.1       1 main.go:235] "Starting NVIDIA Device Plugin" version=<\n'),
    (
        "container_log",
        "device_plugin",
        ("2025/03/03 10:11:12 Loading NVML\n2025/03/03 10:11:12 Failed to initialize NVML: could not load NVML library.\n"),
    ),
    ("container_log", "driver", "========== NVIDIA Software Installer ==========\n\nStarting installation of NVIDIA driver branch 550\n"),
    (
        "container_log",
        "driver_manager",
        "Waiting for the operator-validator to shutdown\npod/nvidia-operator-validator-x2kcd condition met\n",
    ),
    ("container_log", "toolkit", 'time="2025-03-03T12:32:09Z" level=info msg="Starting nvidia-toolkit"\n'),
    ("container_log", "validator", 'time="2025-03-03T12:32:09Z" level=info msg="Error: error validating driver installation: x"\n'),
    ("container_log", "gke_installer", "GPU driver auto installation is disabled.\n"),
    ("container_log", "operator", '{"level":"info","ts":1741000000,"logger":"controllers.ClusterPolicy","msg":"Reconciling"}\n'),
    (
        "container_log",
        "scheduler",
        'I0303 10:11:12.1       1 schedule_one.go:881] "Unable to schedule pod; no fit; waiting" pod="ml/train-0"\n',
    ),
    ("container_log", "nfd", 'I0303 10:11:12.1       1 nfd-worker.go:219] "Node Feature Discovery Worker" version="v0.16"\n'),
    # neither
    ("text", None, "The machine room was warm on Tuesday, nobody touched anything.\n"),
    ("unrecognised", None, " \n\n"),
]


@pytest.mark.parametrize(("kind", "component", "text"), BY_CONTENT)
def test_content_alone(kind, component, text):
    found = recognise.recognise("note-7", text)
    assert (found.kind, found.component) == (kind, component)


BY_NAME = [
    ("kubectl-describe-node.txt", "describe_node", {}),
    ("kubectl-describe-node-node-a.txt", "describe_node", {"node": "node-a"}),
    ("oc_describe_pod_train-0.txt", "describe_pod", {"pod": "train-0"}),
    ("kubectl-get-pods-A.txt", "get_pods", {}),
    ("kubectl get events.txt", "get_events", {}),
    ("kubectl-create-again.txt", "kubectl_output", {}),
    ("host/dmesg.txt", "kernel_log", {}),
    ("dmesg -T.txt", "kernel_log", {}),
    ("host/journal.txt", "journal", {}),
    ("journalctl-u-kubelet.log", "kubelet_log", {}),
    ("nodes/node-a/host/nvidia-smi-q", "nvidia_smi_q", {}),
    ("nvidia-smi -q -d ROW_REMAPPER.txt", "nvidia_smi_q", {}),
    ("host/systemctl-status-nvidia-fabricmanager.txt", "systemctl", {}),
    ("host/fabricmanager.log", "fabricmanager_log", {}),
    ("host/apt-history.log", "package_history", {}),
    ("host/dkms-make.log", "dkms_build", {}),
    ("host/ls-dev-char.txt", "ls_dev_char", {}),
    ("host/nvidia-container-runtime-config.toml", "toolkit_config", {}),
    ("host/containerd-config-dump.toml", "containerd_dump", {}),
    ("gpu_nodes.descr", "describe_node", {}),
    ("gpu_operand_pods.status", "get_pods", {}),
    ("gpu_operand_pod_nvidia-driver-daemonset-x2kcd.descr", "describe_pod", {"pod": "nvidia-driver-daemonset-x2kcd"}),
    ("gpu_operand_ds_nvidia-dcgm.descr", "describe_other", {}),
    (
        "logs/nvidia-driver-daemonset-x2kcd.k8s-driver-manager.log",
        "container_log",
        {"pod": "nvidia-driver-daemonset-x2kcd", "container": "k8s-driver-manager", "component": "driver_manager", "previous": False},
    ),
    (
        "logs/gpu-operator_nvidia-device-plugin-daemonset-x2kcd_nvidia-device-plugin.previous.log",
        "container_log",
        {
            "namespace": "gpu-operator",
            "pod": "nvidia-device-plugin-daemonset-x2kcd",
            "container": "nvidia-device-plugin",
            "component": "device_plugin",
            "previous": True,
        },
    ),
    (
        "var/log/pods/gpu-operator_nvidia-operator-validator-x2kcd_0f0f0f0f-1111-2222-3333-444444444444/driver-validation/3.log",
        "container_log",
        {"namespace": "gpu-operator", "pod": "nvidia-operator-validator-x2kcd", "container": "driver-validation", "component": "validator"},
    ),
    (
        "namespaces/nvidia-gpu-operator/pods/gpu-operator-7d9-x2kcd/gpu-operator/gpu-operator/logs/previous.log",
        "container_log",
        {"namespace": "nvidia-gpu-operator", "container": "gpu-operator", "component": "operator", "previous": True},
    ),
    (
        "cluster-resources/pods/logs/ml/train-0/main.log",
        "container_log",
        {"namespace": "ml", "pod": "train-0", "container": "main", "component": "workload"},
    ),
    ("kubectl-logs-nvdp-nvidia-device-plugin-x2kcd.txt", "container_log", {"component": "device_plugin"}),
    ("kubectl-exec-train-0-nvidia-smi.txt", "container_log", {"component": "workload"}),
    ("docker-run-nvidia-smi.txt", "container_log", {"component": "workload"}),
]


@pytest.mark.parametrize(("path", "kind", "known"), BY_NAME)
def test_name_when_content_says_nothing(path, kind, known):
    found = recognise.recognise(path, "nothing that is known to anyone\n")
    assert found.kind == kind
    assert {key: getattr(found, key) for key in known} == known


@pytest.mark.parametrize(
    ("path", "text", "kind"),
    [
        ("kubectl-get-nodes.yaml", "apiVersion: v1\nkind: List\nitems: []\n", "kube_objects"),
        ("kubectl-get-pods.txt", '{"apiVersion": "v1", "kind": "List", "items": []}', "kube_objects"),
        ("kubectl-get-daemonsets.txt", "No resources found in x namespace.\n", "kubectl_output"),
        ("kubectl-describe-node.txt", 'Error from server (NotFound): nodes "node-b" not found\n', "kubectl_output"),
        ("host/dmesg.txt", SMI_TABLE, "nvidia_smi"),
        ("host/lsmod.txt", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.90.07\n", "proc_nvidia_version"),
        ("logs/a.b.log", 'Error from server (BadRequest): previous terminated container "b" in pod "a" not found\n', "kubectl_output"),
        # The content fits several names: the name decides.
        ("host/journal.txt", "[   12.345678] NVRM: No NVIDIA devices probed.\n", "journal"),
        ("host/kubelet.log", "Mar 03 10:11:12 node-a systemd[1]: Started kubelet.\n", "kubelet_log"),
        ("kubectl-get-events.txt", "0/3 nodes are available: 3 Insufficient nvidia.com/gpu.\n", "get_events"),
        ("logs/train-0.main.log", "Failed to initialize NVML: Unknown Error\n", "container_log"),
        ("logs/plugin.log", "2025/03/03 10:11:12 Retrieving plugins.\n", "container_log"),
    ],
)
def test_name_against_content(path, text, kind):
    assert recognise.recognise(path, text).kind == kind


@pytest.mark.parametrize(
    ("pod", "container", "component"),
    [
        ("nvidia-device-plugin-daemonset-x2kcd", "nvidia-device-plugin", "device_plugin"),
        ("nvdp-nvidia-device-plugin-x2kcd", None, "device_plugin"),
        ("nvidia-gpu-device-plugin-small-cos-x2kcd", "nvidia-driver-installer", "gke_installer"),
        ("nvidia-driver-daemonset-x2kcd", "nvidia-driver-ctr", "driver"),
        ("nvidia-driver-daemonset-x2kcd", "k8s-driver-manager", "driver_manager"),
        ("nvidia-container-toolkit-daemonset-x2kcd", "driver-validation", "validator"),
        ("nvidia-container-toolkit-daemonset-x2kcd", "nvidia-container-toolkit-ctr", "toolkit"),
        ("gpu-operator-1712-node-feature-discovery-worker-x2kcd", "worker", "nfd"),
        ("gpu-operator-7d9f-x2kcd", "gpu-operator", "operator"),
        ("gpu-feature-discovery-x2kcd", "gpu-feature-discovery", "gfd"),
        ("nvidia-dcgm-exporter-x2kcd", None, "dcgm"),
        ("nvidia-mig-manager-x2kcd", None, "mig_manager"),
        ("nvidia-dra-driver-gpu-kubelet-plugin-x2kcd", "gpus", "dra"),
        ("volcano-scheduler-5d9-x2kcd", "volcano-scheduler", "scheduler"),
        ("kube-scheduler-cp-1", "kube-scheduler", "scheduler"),
        ("train-0", "main", "workload"),
    ],
)
def test_component(pod, container, component):
    assert recognise.component_of(pod, container) == component


# ---- several outputs in one file


def parts(text, path="pasted.txt"):
    return recognise.parts_of(path, textwrap.dedent(text))


@pytest.mark.parametrize(
    "prompt",
    ["$ ", "# ", "root@node-a:~# ", "[root@node-a ~]# ", "bash-5.1# ", "user@node-a:/tmp$ ", "(base) me@node-a:~$ ", "node-a:~ # ", "~ # "],
)
def test_split_at_prompts(prompt):
    found = parts(f"before\n{prompt}uname -r\n5.15.0-100-generic\n{prompt}dkms status\nnvidia/550.90.07: added\n")
    assert [(p.recognition.kind, p.recognition.source) for p in found] == [
        ("text", ""),
        ("uname", "uname -r"),
        ("dkms_status", "dkms status"),
    ]
    # Line numbers stay those of the file.
    assert found[1].text.splitlines()[2] == "5.15.0-100-generic"
    assert found[2].text.splitlines()[4] == "nvidia/550.90.07: added"


def test_command_names_the_node_and_beats_the_output():
    (part,) = parts("$ kubectl describe node node-a | grep Taints\nTaints:             example.com/a=b:NoExecute\n")
    assert (part.recognition.kind, part.recognition.node) == ("describe_node", "node-a")


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (
            "kubectl logs -n gpu-operator ds/nvidia-device-plugin-daemonset -c nvidia-device-plugin --previous",
            ("container_log", "device_plugin", True),
        ),
        ("kubectl -n gpu-operator logs nvidia-driver-daemonset-x2kcd -p", ("container_log", "driver", True)),
        ("kubectl -n ml exec train-0 -- nvidia-smi", ("container_log", "workload", False)),
        ("kubectl exec -n gpu-operator nvidia-driver-daemonset-x2kcd -- nvidia-smi -L", ("nvidia_smi_list", None, False)),
        ("docker run --rm --gpus all cuda nvidia-smi", ("container_log", "workload", False)),
        ("sudo journalctl -b -u kubelet --no-pager", ("kubelet_log", None, False)),
        ("sudo -E dmesg -T | grep -i nvrm", ("kernel_log", None, False)),
        ("kubectl get node node-a -o yaml", ("kube_objects", None, False)),
        ("containerd config dump|head", ("containerd_dump", None, False)),
    ],
)
def test_commands(command, expected):
    found = recognise.by_command(command)
    assert (found.kind, found.component, found.previous) == expected


@pytest.mark.parametrize(
    "line",
    [
        "# containerd configuration file written by hand",
        "# nvidia-container-runtime options",
        "# docker daemon settings",
        '#ldconfig = "@/sbin/ldconfig"',
        "# uname is printed below: it is long",
        "$ variable",
        "Cost: $ 5",
    ],
)
def test_comments_are_no_prompts(line):
    assert recognise.prompt_command(line) is None or "uname" in line


def test_output_from_inside_a_container_is_not_the_hosts():
    for text in (
        "inside the pod:\n# nvidia-smi\nFailed to initialize NVML: Unknown Error\n",
        "root@train-7d4b9c6f5-x2kcd:/workspace# nvidia-smi\nNo devices were found\n",
    ):
        assert [p.recognition.kind for p in parts(text)][-1] == "container_log"


def test_prefixed_logs_are_told_apart():
    found = parts(
        """\
        [pod/nvidia-driver-daemonset-x2kcd/k8s-driver-manager] Waiting for the operator-validator to shutdown
        [pod/nvidia-driver-daemonset-x2kcd/nvidia-driver-ctr] Installing Linux kernel headers...
        [pod/nvidia-driver-daemonset-x2kcd/nvidia-driver-ctr] Error: Unable to find a match
        """,
        "gpu_operand_pod_nvidia-driver-daemonset-x2kcd.log",
    )
    assert [p.recognition.component for p in found] == ["driver_manager", "driver"]
    assert found[1].text.splitlines()[1:] == ["Installing Linux kernel headers...", "Error: Unable to find a match"]


def test_bug_report_sections():
    text = (
        "nvidia-bug-report.sh Version: 1\n____________________________________________\n\n*** "
        "/proc/driver/nvidia/./version\nNVRM version: NVIDIA UNIX x86_64 Kernel Module  550.90.07\n"
    )
    text += (
        "____________________________________________\n\n/usr/bin/nvidia-smi --query\n\n==============NVSMI "
        "LOG==============\nAttached GPUs : 8\n"
    )
    found = recognise.bug_report_parts("nvidia-bug-report_node-a.log.gz", text)
    assert [p.recognition.kind for p in found] == ["proc_nvidia_version", "nvidia_smi_q"]
    assert found[0].text.splitlines()[4].startswith("NVRM version")


@given(st.text(), st.text(max_size=40))
@settings(max_examples=150, deadline=None)
def test_nothing_raises(text, path):
    for part in recognise.parts_of(path, text):
        assert part.recognition.kind in recognise.KINDS
    recognise.bug_report_parts(path, text)
    recognise.by_command(text)


@pytest.mark.parametrize(
    "piece", ["\n", " ", "Name: ", "- a\n", "# ", "apiVersion: v1\n", "a: b\n", "1:2 ", "x" * 100 + "\n", "Events:\n", "make[1]: /"]
)
def test_no_text_takes_long(piece):
    start = time.process_time()
    recognise.parts_of("x", piece * (400_000 // len(piece)))
    assert time.process_time() - start < 3
