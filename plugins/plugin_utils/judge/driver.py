# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors
"""Layer 2: is the NVIDIA kernel module built for this kernel, loaded, and of one version with its user space?"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.gpuops.node.plugins.module_utils.driver import parse_driver_container_log
from ansible_collections.gpuops.node.plugins.plugin_utils.evidence import Document, Quote
from ansible_collections.gpuops.node.plugins.plugin_utils.judge import DECISIVE, PROOF, SUPPORTING, SYMPTOM, LayerReport
from ansible_collections.gpuops.node.plugins.plugin_utils.judge.view import View, name_of, quote_of, status_word
from ansible_collections.gpuops.node.plugins.plugin_utils.objects import parse_age

# The startup probe of the driver container gives up after 60 s + 120 x 10 s. (gpu-operator assets/state-driver)
BUILD_SECONDS = 21 * 60
KINDS = (
    "uname", "dkms_status", "dkms_build", "modinfo", "lsmod", "proc_nvidia_version", "packages", "package_history", "mokutil",
    "modprobe_conf", "ls_modules", "ls_dev", "nvidia_smi", "kernel_log", "journal", "boot_kernel",
)  # fmt: skip

# Faults that a loaded module for the running kernel rules out.
MODULE_ABSENT = (
    "driver_not_installed", "driver_not_built_for_kernel", "driver_build_failed", "kernel_headers_missing",
    "driver_module_not_loaded", "secure_boot_rejected", "repo_or_network_unreachable", "driver_image_unavailable",
)  # fmt: skip
# ... and those that a working nvidia-smi rules out besides.
DRIVER_BROKEN = (
    *MODULE_ABSENT,
    "driver_version_mismatch",
    "gpu_init_failed",
    "nouveau_loaded",
    "driver_gpu_unsupported",
    "gpu_bound_elsewhere",
    "device_nodes_missing",
)

# Drivers other than NVIDIA's that can own the PCI function. nova is nouveau's successor: the same class of fault
# needs another blacklist, so it is named apart. (kernel drivers/gpu/nova-core)
FOREIGN_DRIVERS = {
    "nouveau": "nouveau_loaded",
    "vfio-pci": "gpu_bound_elsewhere",
    "pci-stub": "gpu_bound_elsewhere",
    "pciback": "gpu_bound_elsewhere",
    "nvgrace-gpu-vfio-pci": "gpu_bound_elsewhere",
    "nova": "gpu_bound_elsewhere",
    "nova_core": "gpu_bound_elsewhere",
    "nova-core": "gpu_bound_elsewhere",
}

# Why a module that is there may not be loaded: each of these speaks for itself where it is the reason.
NOT_LOADED_BECAUSE = (
    "secure_boot_rejected",
    "nouveau_loaded",
    "gpu_bound_elsewhere",
    "driver_gpu_unsupported",
    "gpu_missing",
    "gpu_resources_unassigned",
    "gpu_fallen_off_bus",
    "gpu_init_failed",
)

# A driver as a package: upstream .run leaves none. (package names of Ubuntu, Debian, CUDA repositories, RHEL, Fedora, SUSE, Arch)
DRIVER_PACKAGE = re.compile(
    r"^(?:nvidia-(?:driver|dkms|kernel|open|headless|srv|current|utils|compute|gpu|video|firmware)"
    r"|cuda-drivers|kmod-nvidia|akmod-nvidia|nvidia-open|linux-modules-nvidia"
    r"|xorg-x11-drv-nvidia|libnvidia-(?:compute|common)|libcuda1|nvidia$|nvidia-lts|nvidia-\d|nvidia-[\w-]*kmp)"
)


def judge(view: View, expected: int | None) -> LayerReport:
    report = LayerReport(
        "driver", read=view.read(*KINDS) + [doc.path.rsplit("/", 1)[-1] for doc in view.logs("driver") + view.logs("driver_manager")]
    )
    kernel, kernel_quote = view.kernel
    loaded, loaded_quote = view.nvidia_module()
    smi = view.smi_on_host
    if smi:
        report.ok = True
        report.good.append(f"nvidia-smi works (driver {smi[1].get('driver_version') or '?'})")
        report.exclude("nvidia-smi works", *DRIVER_BROKEN)
    elif (trace := _cli_trace(view)) is not None:
        loaded, loaded_quote = True, trace
        report.ok = True
        report.good.append("the toolkit's own tool finds the driver and its devices on the host")
        report.exclude("nvidia-container-cli finds the driver", *DRIVER_BROKEN)
    elif loaded:
        version, _quote = view.loaded_version
        report.good.append(f"the nvidia module is loaded{f' ({version})' if version else ''}")
        report.exclude("the nvidia module is loaded", *MODULE_ABSENT)
    _foreign_owner(view, report)
    _mismatch(view, report)
    if loaded is not True:
        _why_not_loaded(view, report, kernel, kernel_quote, loaded, loaded_quote)
    _driver_container(view, report, kernel)
    _device_nodes(view, report, loaded)
    _device_modes(view, report)
    _upgrade_state(view, report)
    if loaded and not report.findings and (view.has("proc_nvidia_version") or smi):
        report.ok = True
    _at_work(view, report)
    return report


def _cli_trace(view: View) -> Quote | None:
    """nvidia-container-cli on the host: its table, or a trace that got as far as listing the devices."""
    for doc, facts in view.parsed("nvidia_container_cli"):
        if facts.get("error"):
            continue
        if facts.get("healthy"):
            return doc.quote(r"NVRM version|Device Index")
        listed = doc.quote(r"listing device /dev/nvidia")
        if listed:
            return listed
    return None


def _at_work(view: View, report: LayerReport) -> None:
    """A driver container that builds prints retries and probe failures for a quarter of an hour: normal (facts 0.7)."""
    for doc in view.logs("driver"):
        facts = parse_driver_container_log(doc.text)
        if doc.previous or facts.get("ready") or facts.get("error_line") or not facts.get("stage"):
            continue
        pods = view.pods_of("driver")
        young = all(scheduling_age(p) < BUILD_SECONDS and not (p.get("_table") or {}).get("restarts") for p in pods)
        if pods and young and not [f for f in report.findings if f.rank >= 3]:
            report.at_work = Quote(doc.path, doc.lines[-1].strip() if doc.lines else "")


def scheduling_age(pod: dict[str, t.Any]) -> float:
    """Seconds a pod has lived, by its table's AGE; endless when not shown."""
    age = parse_age((pod.get("_table") or {}).get("age"))
    return age if age is not None else float("inf")


def _foreign_owner(view: View, report: LayerReport) -> None:
    if view.labels.get("nvidia.com/gpu.workload.config", "container") != "container":
        report.exclude("the node is set up for virtual machines, so another driver may own the GPU", "gpu_bound_elsewhere")
        return
    gpus, doc = view.bus
    if doc is None:
        return
    owners = sorted({gpu["driver"] for gpu in gpus or [] if gpu.get("driver") in FOREIGN_DRIVERS})
    for owner in owners:
        fault = FOREIGN_DRIVERS[owner]
        number = sum(1 for gpu in gpus or [] if gpu.get("driver") == owner)
        report.add(
            fault,
            PROOF,
            f"{owner} owns {number} of {len(gpus or [])} GPUs, so the NVIDIA driver cannot.",
            doc.quote(rf"in use:\s*{re.escape(owner)}"),
            rule=f"bound_{owner}",
        )


def _mismatch(view: View, report: LayerReport) -> None:
    loaded, loaded_quote = view.loaded_version
    if not loaded:
        return
    for doc, facts in view.smi:
        library = facts.get("nvml_version")
        if library and not same_version(library, loaded):
            report.add(
                "driver_version_mismatch",
                PROOF,
                f"The loaded module is {loaded}, the user-space library is {library}.",
                loaded_quote,
                doc.quote(r"NVML library version"),
                rule="nvml_vs_loaded",
            )
            return
    for doc, facts in view.parsed("nvidia_container_cli"):
        version = facts.get("nvrm_version")
        if version and not same_version(version, loaded) and view.has("proc_nvidia_version"):
            report.add(
                "driver_version_mismatch",
                SUPPORTING,
                f"The loaded module is {loaded}, nvidia-container-cli reports {version}.",
                loaded_quote,
                doc.quote(r"NVRM version"),
                rule="cli_vs_loaded",
            )
    installed = userspace_packages(view)
    if installed and view.has("proc_nvidia_version") and not any(same_version(v, loaded) for v, _q in installed):
        version, quote = installed[0]
        report.add(
            "driver_version_mismatch",
            DECISIVE,
            f"The loaded module is {loaded}, the installed driver packages are {version}: a reload or reboot is due.",
            loaded_quote,
            quote,
            rule="packages_vs_loaded",
        )


def userspace_packages(view: View) -> list[tuple[str, Quote]]:
    """(version, quote) of installed driver user-space packages."""
    found = []
    for doc, facts in view.parsed("packages"):
        for package in facts.get("packages") or []:
            if re.match(
                r"(?:nvidia-utils|libnvidia-compute|nvidia-compute-utils|libnvidia-ml1|nvidia-driver-cuda|nvidia-driver-libs|libcuda1"
                r"|xorg-x11-drv-nvidia-cuda-libs|nvidia-smi)\b",
                package["name"],
            ):
                if package.get("state") in (None, "ii", "hi", "installed"):
                    match = re.search(r"\d{3}\.\d+(?:\.\d+)?", package.get("version") or "")
                    if match:
                        found.append((match.group(0), Quote(doc.path, package["line"].strip()[:200])))
    return found


def same_version(left: str, right: str) -> bool:
    """550.90.07 and 550.90.07-0ubuntu1 are one driver; so is the short form NVML prints (550.90)."""
    left, right = (re.sub(r"[^\d.].*$", "", x) for x in (left, right))
    short = min(left.count("."), right.count("."))
    return left.split(".")[: short + 1] == right.split(".")[: short + 1]


def _why_not_loaded(
    view: View, report: LayerReport, kernel: str | None, kernel_quote: Quote | None, loaded: bool | None, loaded_quote: Quote | None
) -> None:
    built = _built_for(view, kernel)
    dkms = [(doc, entry) for doc, facts in view.parsed("dkms_status") for entry in facts.get("entries") or [] if entry.get("nvidia")]
    failed_builds = _builds(view)
    # A build attempt that failed is the reason the kernel has no module.
    for doc, facts in failed_builds:
        if built and built[0]:
            break
        wanted = facts.get("kernel")
        if facts.get("result") == "failed" and (not wanted or not kernel or wanted == kernel):
            report.add(
                "driver_build_failed",
                DECISIVE,
                f"A build of the NVIDIA module for {wanted or 'this kernel'} was tried and failed.",
                doc.quote(re.escape(facts["error_line"].strip()[:80])) if facts.get("error_line") else None,
                rule="build_log",
                also=("driver_not_built_for_kernel",),
            )
        elif facts.get("result") == "headers_missing":
            report.add(
                "kernel_headers_missing",
                DECISIVE,
                f"The build for {wanted or 'this kernel'} found no kernel headers.",
                doc.quote(re.escape(facts["error_line"].strip()[:80])) if facts.get("error_line") else None,
                rule="build_headers",
            )
    if dkms:
        _judge_dkms(view, report, dkms, kernel, kernel_quote)
    if built is not None:
        found, quote, how = built
        if found:
            _installed_not_loaded(view, report, kernel, loaded, loaded_quote, quote, how)
        elif not dkms:
            _module_absent(view, report, kernel, kernel_quote, quote, how)
    elif not dkms:
        _nothing_installed(view, report, loaded_quote if loaded is False else None)
    _precompiled(view, report, kernel, kernel_quote)
    _secure_boot(view, report)
    build_link = _headers_present(view, kernel)
    if (
        build_link
        and build_link[0] is False
        and any(f.fault in ("driver_not_built_for_kernel", "driver_build_failed") for f in report.findings)
    ):
        report.add(
            "kernel_headers_missing",
            DECISIVE,
            f"The headers of the running kernel {kernel} are not installed, so no build can succeed.",
            build_link[1],
            rule="build_link",
            also=("driver_not_built_for_kernel",),
        )
    if build_link and build_link[0]:
        report.exclude(f"headers of {kernel} are installed", "kernel_headers_missing")
    for doc, facts in view.parsed("modprobe_conf"):
        for module in ("nvidia", "nvidia_current", "nvidia-current"):
            line = (facts.get("install") or {}).get(module)
            if line and re.search(r"/bin/(?:false|true)|/usr/bin/(?:false|true)|:\s*$", line):
                report.add(
                    "driver_module_not_loaded",
                    PROOF if built and built[0] else DECISIVE,
                    "A modprobe install rule keeps the NVIDIA module from being loaded.",
                    doc.quote(re.escape(line.strip())),
                    rule="modprobe_install",
                )


def _builds(view: View) -> list[tuple[Document, dict[str, t.Any]]]:
    return view.parsed("dkms_build")


def _built_for(view: View, kernel: str | None) -> tuple[bool, Quote | None, str] | None:
    """Is there a module for the running kernel on disk: (yes/no, proof, how known), None when nobody looked."""
    if kernel:
        for doc, facts in view.parsed("ls_modules"):
            having = [
                k
                for k, modules in (facts.get("nvidia_modules") or {}).items()
                if any(re.match(r"nvidia(?:-current)?\.ko", m) for m in modules)
            ]
            if having:
                quote = doc.quote(rf"{re.escape(having[0])}.*/nvidia(?:-current)?\.ko")
                return kernel in having, quote, "ls /lib/modules"
    for doc, facts in view.parsed("modinfo"):
        for_kernel = facts.get("kernel") or (facts.get("vermagic") or "").split(" ")[0] or None
        if facts.get("missing"):
            return False, doc.quote(r"not found|ERROR"), "modinfo"
        if facts.get("version") and (not kernel or not for_kernel or for_kernel == kernel):
            return True, doc.quote(r"^(?:version|filename|vermagic):"), "modinfo"
    if kernel:
        for doc, facts in view.parsed("dkms_status"):
            for entry in facts.get("entries") or []:
                if entry.get("nvidia") and entry.get("kernel") == kernel and entry.get("state") in ("installed", "installed-weak"):
                    if re.search(r"[Mm]issing", entry.get("note") or ""):
                        return False, Quote(doc.path, entry["line"].strip()), "dkms status"
                    return True, Quote(doc.path, entry["line"].strip()), "dkms status"
    return None


def _judge_dkms(
    view: View, report: LayerReport, dkms: list[tuple[Document, dict[str, t.Any]]], kernel: str | None, kernel_quote: Quote | None
) -> None:
    states = {entry.get("state") for _doc, entry in dkms}
    doc, entry = dkms[0]
    quote = Quote(doc.path, entry["line"].strip())
    here = [(d, e) for d, e in dkms if kernel and e.get("kernel") == kernel]
    if here:
        doc, entry = here[0]
        if entry["state"] == "built":
            report.add(
                "driver_build_failed",
                DECISIVE,
                f"DKMS built the module for {kernel} but never installed it.",
                Quote(doc.path, entry["line"].strip()),
                also=("driver_not_built_for_kernel",),
                rule="dkms_built_only",
            )
        return
    if "broken" in states:
        report.add(
            "driver_not_built_for_kernel",
            DECISIVE,
            "DKMS marks the NVIDIA module broken: its source is gone, so it cannot be built for any kernel.",
            quote,
            also=("driver_install_conflict",),
            rule="dkms_broken",
        )
        return
    others = sorted({e["kernel"] for _d, e in dkms if e.get("kernel") and e.get("state") in ("installed", "installed-weak", "built")})
    if others and kernel:
        # That it is not built is proven; that it was never tried needs the headers and a history of what ran.
        headers = _headers_present(view, kernel)
        told = headers and headers[0] and (view.has("package_history") or view.has("dkms_build"))
        report.add(
            "driver_not_built_for_kernel",
            PROOF,
            f"DKMS has the NVIDIA module for {', '.join(others)} but no line for the running kernel {kernel}.",
            kernel_quote,
            quote,
            headers[1] if headers and headers[0] else None,
            rule="dkms_no_line",
            ceiling="certain" if told else "likely",
            also=() if headers and headers[0] else ("kernel_headers_missing", "driver_build_failed"),
        )
    elif states == {"added"}:
        report.add(
            "driver_not_built_for_kernel",
            DECISIVE,
            f"DKMS has the NVIDIA source only as 'added': it is built for no kernel{f', so not for {kernel}' if kernel else ''}.",
            quote,
            kernel_quote,
            also=("driver_build_failed", "kernel_headers_missing"),
            rule="dkms_added",
        )


def _installed_not_loaded(
    view: View, report: LayerReport, kernel: str | None, loaded: bool | None, loaded_quote: Quote | None, quote: Quote | None, how: str
) -> None:
    smi_fails = next((doc.quote(r"couldn't communicate") for doc, facts in view.smi if facts.get("error") == "no_comm"), None)
    if loaded is False or smi_fails:
        report.add(
            "driver_module_not_loaded",
            DECISIVE,
            f"The module for {kernel or 'this kernel'} is on disk ({how}) and not loaded.",
            quote,
            loaded_quote or smi_fails,
            rule="built_not_loaded",
            also=NOT_LOADED_BECAUSE,
        )
    report.exclude(
        f"a module for the running kernel is on disk ({how})",
        "driver_not_built_for_kernel",
        "driver_not_installed",
        "kernel_headers_missing",
        "driver_build_failed",
    )


def _module_absent(view: View, report: LayerReport, kernel: str | None, kernel_quote: Quote | None, quote: Quote | None, how: str) -> None:
    packages = _driver_packages(view)
    if packages is None:
        report.add(
            "driver_not_built_for_kernel",
            SUPPORTING,
            f"{how} finds no NVIDIA module for {kernel or 'the running kernel'}.",
            quote,
            also=("driver_not_installed", "driver_build_failed", "kernel_headers_missing"),
            rule="modinfo_missing",
        )
    elif packages:
        report.add(
            "driver_not_built_for_kernel",
            DECISIVE,
            f"Driver packages are installed, and no module exists for {kernel or 'the running kernel'}.",
            quote,
            packages[0],
            kernel_quote,
            also=("driver_build_failed", "kernel_headers_missing"),
            rule="packages_no_module",
        )
    else:
        report.add(
            "driver_not_installed",
            PROOF,
            "No NVIDIA driver package is installed and no module exists for this kernel.",
            quote,
            rule="no_driver_package",
        )


def _driver_packages(view: View) -> list[Quote] | None:
    """Quotes of installed driver packages; [] when the whole list holds none; None when no whole list was seen."""
    whole = False
    found = []
    for doc, facts in view.parsed("packages"):
        rows = facts.get("packages") or []
        # A whole list, or one that was searched for nvidia and would have shown a driver.
        searched = bool(rows) and all("nvidia" in p["name"] for p in rows)
        whole = whole or len(rows) >= 30 or searched or re.search(r"nvidia", doc.source or "") is not None or not doc.text.strip()
        found += [
            Quote(doc.path, p["line"].strip()[:200])
            for p in rows
            if DRIVER_PACKAGE.match(p["name"]) and (p.get("state") or "ii")[:1] in "ihl"
        ]
    return found if found or whole else None


def _nothing_installed(view: View, report: LayerReport, loaded_quote: Quote | None) -> None:
    packages = _driver_packages(view)
    dkms_seen = view.has("dkms_status")
    missing_tool = next((doc.quote(r"not found") for doc, facts in view.smi if facts.get("error") == "not_found"), None)
    if packages == [] and (dkms_seen or missing_tool or loaded_quote):
        doc = view.docs("packages")[0]
        report.add(
            "driver_not_installed",
            PROOF if missing_tool or dkms_seen else DECISIVE,
            "No NVIDIA driver package is installed, and no module is loaded.",
            Quote(doc.path, "no NVIDIA driver package in the list"),
            missing_tool or loaded_quote,
            rule="nothing_installed",
        )
    elif packages is None and missing_tool and loaded_quote:
        report.add(
            "driver_not_installed",
            SUPPORTING,
            "The host has no nvidia-smi and no loaded NVIDIA module.",
            missing_tool,
            loaded_quote,
            also=("driver_module_not_loaded", "driver_not_built_for_kernel"),
            rule="no_tool_no_module",
        )


def _precompiled(view: View, report: LayerReport, kernel: str | None, kernel_quote: Quote | None) -> None:
    """Ubuntu's linux-modules-nvidia-* and RHEL's kmod-nvidia-* carry one kernel's module each: no dkms at all."""
    if (
        not kernel
        or view.has("dkms_status")
        and any(e.get("nvidia") for _d, f in view.parsed("dkms_status") for e in f.get("entries") or [])
    ):
        return
    kernels = {}
    for doc, facts in view.parsed("packages"):
        for package in facts.get("packages") or []:
            match = re.match(
                r"(?:linux-modules-nvidia-\d+(?:-(?:server|open))*|kmod-nvidia(?:-open)?(?:-dkms)?)-(\d+\.\d+\.\d+[-\w.]*)", package["name"]
            )
            if match and (package.get("state") or "ii")[:1] in "ih":
                kernels[match.group(1)] = Quote(doc.path, package["line"].strip()[:200])
    arch_free = re.sub(r"\.(?:x86_64|aarch64)$", "", kernel)
    if kernels and not any(arch_free.startswith(k.split(".x86_64")[0]) or k.startswith(arch_free) for k in kernels):
        if any(re.match(r"\d+\.\d+\.\d+-\d+-|\d+\.\d+\.\d+-\d+\.", k) for k in kernels):
            report.add(
                "driver_not_built_for_kernel",
                PROOF,
                f"The precompiled modules installed are for {', '.join(sorted(kernels))}, not for the running {kernel}.",
                kernel_quote,
                next(iter(kernels.values())),
                rule="precompiled_other_kernel",
            )


def _secure_boot(view: View, report: LayerReport) -> None:
    enabled = next(
        ((facts.get("secure_boot"), doc) for doc, facts in view.parsed("mokutil") if facts.get("secure_boot") is not None), (None, None)
    )
    if enabled[0] is False:
        report.exclude("Secure Boot is off", "secure_boot_rejected")
        return
    refused = view.hit("drv.modprobe_key_rejected", "drv.modprobe_key_required", "drv.sig_rejected", "drv.lockdown")
    if enabled[0] and refused and enabled[1]:
        report.add(
            "secure_boot_rejected",
            PROOF,
            "Secure Boot is on and the kernel refuses the module's signature.",
            refused.first,
            enabled[1].quote(r"SecureBoot"),
            rule="secure_boot",
        )


def _headers_present(view: View, kernel: str | None) -> tuple[bool, Quote | None] | None:
    if not kernel:
        return None
    for doc, facts in view.parsed("ls_modules"):
        links = facts.get("build_link") or {}
        if kernel in links:
            return bool(links[kernel]), doc.quote(re.escape(kernel))
    for doc in view.docs("ls_modules", "text"):
        quote = doc.quote(
            rf"/lib/modules/{re.escape(kernel)}/build.*(?:No such file|cannot access)"
            rf"|cannot access .*/lib/modules/{re.escape(kernel)}/build"
        )
        if quote:
            return False, quote
    headers = [
        re.escape(f"linux-headers-{kernel}"),
        re.escape(f"kernel-devel-{kernel}"),
        rf"kernel-devel-{re.escape(re.sub(r'[.]x86_64$', '', kernel))}",
    ]
    for doc, facts in view.parsed("packages"):
        rows = facts.get("packages") or []
        for package in rows:
            text = f"{package['name']}-{package.get('version') or ''}"
            if any(re.match(h, package["name"]) or re.match(h, text) for h in headers):
                if (package.get("state") or "ii")[:1] in "ih":
                    return True, Quote(doc.path, package["line"].strip()[:200])
        other_headers = [p for p in rows if re.match(r"linux-headers-\d|kernel-devel", p["name"])]
        this_image = [
            p for p in rows if re.match(rf"linux-image-{re.escape(kernel)}$|linux-image-(?:unsigned-)?{re.escape(kernel)}", p["name"])
        ]
        # A list that shows this kernel's image and other kernels' headers would have shown this one's headers.
        if other_headers and this_image:
            return False, Quote(doc.path, this_image[0]["line"].strip()[:200])
    return None


def _driver_container(view: View, report: LayerReport, kernel: str | None) -> None:
    """The operator's driver container: what its log says of the build, and whether it is still at work."""
    for doc in view.logs("driver"):
        facts = parse_driver_container_log(doc.text)
        target = facts.get("kernel")
        if target and kernel and target != kernel and view.node is not None:
            report.add(
                "nfd_labels_stale",
                SUPPORTING,
                f"The driver container builds for {target}, the node runs {kernel}.",
                doc.quote(re.escape(target)),
                rule="container_kernel",
            )
        if facts.get("ready") and not report.findings:
            report.good.append("the driver container is ready")
    for pod in view.pods_of("driver"):
        word = status_word(pod)
        if word.removeprefix("Init:") in ("ImagePullBackOff", "ErrImagePull", "InvalidImageName"):
            report.add(
                "driver_image_unavailable",
                DECISIVE,
                f"The driver pod {name_of(pod)} cannot pull its image ({word}).",
                quote_of(pod, f"{name_of(pod)} {word}"),
                rule="driver_pod_pull",
            )
        elif re.search(r"CrashLoopBackOff|Error$|Init:(?:Error|CrashLoopBackOff)", word):
            report.add(
                "driver_build_failed",
                SYMPTOM,
                f"The driver pod {name_of(pod)} fails ({word}).",
                quote_of(pod, f"{name_of(pod)} {word}"),
                rule="driver_pod_crash",
                also=(
                    "kernel_headers_missing",
                    "driver_module_in_use",
                    "driver_install_conflict",
                    "secure_boot_rejected",
                    "nouveau_loaded",
                    "driver_gpu_unsupported",
                    "repo_or_network_unreachable",
                    "gpu_missing",
                ),
            )
    # "driver is in use" with a host driver in place is two drivers on one node, not a busy one.
    in_use = view.hit("ctr.in_use", "dm.uninstall_failed")
    if in_use:
        host = _host_driver(view)
        manager = [doc for doc in view.documents if doc.component == "driver_manager"]
        started = view.hit("ctr.start")
        if host:
            report.add(
                "driver_install_conflict",
                DECISIVE,
                "The driver container cannot replace a driver that the host itself installed and uses.",
                in_use.first,
                host,
                also=("driver_module_in_use",),
                rule="host_driver_in_use",
            )
        elif started and not manager and not view.hit("ctr.ready") and in_use.signature.id == "ctr.in_use":
            report.add(
                "driver_install_conflict",
                DECISIVE,
                "A driver was already loaded before the driver container had installed one, and it is in use: the host has its own.",
                in_use.first,
                started.first,
                also=("driver_module_in_use",),
                rule="in_use_before_install",
            )


def _host_driver(view: View) -> Quote | None:
    packages = _driver_packages(view)
    if packages:
        return packages[0]
    hit = view.hit("dm.preinstalled", "val.host_found")
    return hit.first if hit else None


def _device_nodes(view: View, report: LayerReport, loaded: bool | None) -> None:
    for doc, facts in view.parsed("ls_dev"):
        if facts.get("missing") and not facts.get("nodes"):
            if loaded:
                report.add(
                    "device_nodes_missing",
                    DECISIVE,
                    "The module is loaded and /dev/nvidia* does not exist.",
                    doc.quote(r"No such file|cannot access") or Quote(doc.path, "no /dev/nvidia* node"),
                    rule="nodes_missing",
                )


def _device_modes(view: View, report: LayerReport) -> None:
    """Device files that not everybody may open: by policy (NVreg_DeviceFileMode) or by accident."""
    for doc in view.docs("ls_dev"):
        quote = doc.quote(r"^c(?!rw-rw-rw-)[rwxsStT-]{9}\S* .* 195, *(?:\d+|255) .*/dev/nvidia(?:\d+|ctl)$")
        if quote:
            report.add(
                "runtime_permission_denied",
                SUPPORTING,
                "The device files do not allow everybody to read and write, so containers are refused.",
                quote,
                rule="device_mode",
            )


def _upgrade_state(view: View, report: LayerReport) -> None:
    state = view.labels.get("nvidia.com/gpu-driver-upgrade-state")
    if not state or view.node is None:
        return
    quote = quote_of(view.node, f"nvidia.com/gpu-driver-upgrade-state={state}")
    if state == "upgrade-failed":
        report.add(
            "driver_upgrade_stuck",
            PROOF,
            "The operator's driver upgrade ended in upgrade-failed on this node.",
            quote,
            rule="upgrade_failed",
        )
    elif state not in ("upgrade-done", "upgrade-required", ""):
        report.add(
            "driver_upgrade_stuck",
            SUPPORTING,
            f"The operator's driver upgrade stands at {state}.",
            quote,
            rule="upgrade_running",
            also=("node_cordoned",),
        )


def latent(view: View) -> list[dict[str, t.Any]]:
    """What works now and will not survive the next reboot (or is already waiting for one)."""
    found: list[dict[str, t.Any]] = []
    kernel, _quote = view.kernel
    for doc, facts in view.parsed("boot_kernel"):
        following = facts.get("next_kernel")
        if not following or following == kernel:
            continue
        dkms = [e for _d, f in view.parsed("dkms_status") for e in f.get("entries") or [] if e.get("nvidia")]
        if dkms and not any(e.get("kernel") == following and e.get("state") in ("installed", "installed-weak") for e in dkms):
            found.append(
                {
                    "what": f"The next boot starts kernel {following}, for which no NVIDIA module is built.",
                    "because": "dkms status has no line for it",
                    "evidence": [q.as_dict() for q in (doc.quote(re.escape(following)),) if q],
                }
            )
    loaded, loaded_quote = view.loaded_version
    modinfo = next(((facts["version"], doc) for doc, facts in view.parsed("modinfo") if facts.get("version")), None)
    if loaded and modinfo and not same_version(loaded, modinfo[0]):
        found.append(
            {
                "what": f"The module on disk is {modinfo[0]}, the loaded one {loaded}: the next reload or reboot changes the driver.",
                "because": "modinfo and /proc/driver/nvidia/version differ",
                "evidence": [q.as_dict() for q in (loaded_quote, modinfo[1].quote(r"^version:")) if q],
            }
        )
    secure = next((doc for doc, facts in view.parsed("mokutil") if facts.get("secure_boot")), None)
    unsigned = next(
        (doc for doc, facts in view.parsed("modinfo") if facts.get("version") and "signer" in facts and not facts["signer"]), None
    )
    tainting = view.hit("drv.taint_unsigned")
    if secure and (unsigned or tainting):
        quotes = [secure.quote(r"SecureBoot"), tainting.first if tainting else None]
        found.append(
            {
                "what": "Secure Boot is on and the module is unsigned: it will be refused at the next boot that enforces signatures.",
                "because": "mokutil and the module's signature",
                "evidence": [q.as_dict() for q in quotes if q],
            }
        )
    return found
