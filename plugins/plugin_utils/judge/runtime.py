# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors
"""Layer 3: can the container engine hand a GPU to a container?"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.gpuops.node.plugins.plugin_utils.evidence import Document, Quote
from ansible_collections.gpuops.node.plugins.plugin_utils.judge import DECISIVE, PROOF, SUPPORTING, LayerReport
from ansible_collections.gpuops.node.plugins.plugin_utils.judge.driver import same_version, userspace_packages
from ansible_collections.gpuops.node.plugins.plugin_utils.judge.view import View, component_of, name_of, quote_of

KINDS = (
    "containerd_config",
    "containerd_dump",
    "crio_config",
    "docker_daemon",
    "docker_info",
    "toolkit_config",
    "cdi_spec",
    "nvidia_container_cli",
    "nvidia_ctk",
    "get_runtimeclass",
    "ls_dev_char",
)

# The plugin's words for "no NVML library in my container": they say that nothing was injected, not why.
NOTHING_INJECTED = (
    "dp.nvml_no_lib_old", "dp.nvml_init_any", "dp.detected_non_nvml", "dp.incompatible", "dp.invalid_strategy", "dp.nvml_not_detected",
    "dp.platform_unsupported", "w.libcuda_missing", "val.toolkit_not_ready", "drv.smi_not_found", "w.no_capable_device",
)  # fmt: skip
NO_HANDLER = ("rt.no_runtime", "rt.no_runtime_crio", "rt.no_runtime_dockershim", "rt.docker_unknown_runtime")

# Files that the engine of a distribution generates, and the one to change instead (facts 1.3).
GENERATED = {
    r"/rancher/(?:k3s|rke2)/agent/etc/containerd/config\.toml$": "config.toml.tmpl (config-v3.toml.tmpl for containerd 2) beside it",
    r"/var/snap/microk8s/current/args/containerd\.toml$": "containerd-template.toml beside it",
}
# Which configuration and socket the kubelet's engine really has, by distribution (facts 1.3).
ENGINE_HOME = {
    "k3s": ("/var/lib/rancher/k3s/agent/etc/containerd/", "/run/k3s/containerd/"),
    "rke2": ("/var/lib/rancher/rke2/agent/etc/containerd/", "/run/k3s/containerd/"),
    "k0s": ("/etc/k0s/", "/run/k0s/"),
    "microk8s": ("/var/snap/microk8s/", "/var/snap/microk8s/"),
}
STOCK = ("/etc/containerd/", "/run/containerd/")


def judge(view: View, expected: int | None, driver_ok: bool) -> LayerReport:
    report = LayerReport("runtime", read=view.read(*KINDS) + [doc.path.rsplit("/", 1)[-1] for doc in view.logs("toolkit")])
    _runtime_class(view, report)
    handler = _handler(view, report)
    _no_handler(view, report, handler)
    _driver_root(view, report, driver_ok)
    _nothing_injected(view, report, handler, driver_ok)
    _wrong_file(view, report)
    _cdi(view, report)
    _toolkit_version_rules(view, report)
    _blind_or_lost(view, report, driver_ok)
    _oci(view, report)
    _own_libraries(view, report)
    _application(view, report)
    seen = (
        view.hit_now("val.toolkit_ok", "val.all_ok", "dp.detected_nvml", "dp.platform_nvml", "dp.registered")
        if view.nvidia_module()[0] is not False
        else None
    )
    if seen:
        report.good.append("a container sees the driver" if seen.signature.id != "val.toolkit_ok" else "toolkit validation passed")
        report.ok = not report.findings
    elif handler and handler.present and not report.findings:
        report.good.append("the engine has an nvidia handler" + (", as its default" if handler.default else ""))
        report.ok = True
    return report


# ---- RuntimeClass and handler -----------------------------------------------------------------------------


def _runtime_class(view: View, report: LayerReport) -> None:
    looked = view.evidence.looked.get("RuntimeClass") == "seen" or bool(view.evidence.of("RuntimeClass"))
    names = {rc["metadata"]["name"] for rc in view.evidence.of("RuntimeClass") if rc.get("metadata", {}).get("name")}
    if not looked:
        return
    for pod in view.pods + view.waiting:
        wanted = (pod.get("spec") or {}).get("runtimeClassName")
        if wanted and wanted not in names and "nvidia" in wanted:
            report.add(
                "runtime_class_missing",
                PROOF,
                f"{name_of(pod)} names RuntimeClass {wanted}, which does not exist.",
                quote_of(pod, f"runtimeClassName: {wanted}"),
                rule="runtime_class",
            )
            return
    for controller in view.cluster.workload_controllers:
        wanted = ((((controller.get("spec") or {}).get("template") or {}).get("spec")) or {}).get("runtimeClassName")
        if wanted and wanted not in names and "nvidia" in wanted:
            report.add(
                "runtime_class_missing",
                DECISIVE,
                f"{controller.get('kind', 'DaemonSet')} {name_of(controller)} names RuntimeClass {wanted}, which does not exist.",
                quote_of(controller, f"runtimeClassName: {wanted}"),
                rule="runtime_class",
            )
            return


class Handler(t.NamedTuple):
    """What is known of the engine's nvidia handler."""

    present: bool | None  # in a form this engine reads
    default: bool | None
    document: Document | None
    quote: Quote | None
    ignored: Quote | None  # a handler in a form this engine ignores
    dump: bool  # the engine's own view, not a file


def _handler(view: View, report: LayerReport) -> Handler | None:
    """The engine's nvidia handler, from its own view when there, else from its file."""
    for kind in ("containerd_dump", "containerd_config"):
        for doc, facts in sorted(view.parsed(kind), key=lambda pair: not _at_home(view, pair[0])):
            if not (facts.get("runtimes") or facts.get("version") or facts.get("default_runtime") or "plugins" in doc.text):
                continue
            runtimes = facts.get("runtimes") or {}
            names = [n for n in runtimes if n.startswith("nvidia")]
            whole = bool(re.search(r"containerd\.runtimes|default_runtime_name", doc.text)) or len(doc.lines) > 20
            default = facts.get("default_runtime")
            readable = [n for n in names if _form_fits(view, facts, runtimes[n].get("form"))]
            if facts.get("cri_disabled"):
                _cri_disabled(view, report, doc, facts)
            if names and not readable:
                quote = doc.quote(r"runtimes\.\"?'?nvidia")
                return Handler(False, False, doc, quote, quote, kind == "containerd_dump")
            if not names and not whole:
                continue
            return Handler(
                bool(readable),
                None if default is None and not whole else (default or "").startswith("nvidia"),
                doc,
                doc.quote(r"runtimes\.\"?'?nvidia") or doc.quote(r"default_runtime_name"),
                None,
                kind == "containerd_dump",
            )
    disk = next(
        (
            (doc, facts)
            for doc, facts in view.parsed("docker_daemon")
            if any(str(n).startswith("nvidia") for n in facts.get("runtimes") or {})
        ),
        None,
    )
    live = next(((doc, facts) for doc, facts in view.parsed("docker_info") if facts.get("runtimes")), None)
    if disk and live and not any(str(n).startswith("nvidia") for n in live[1]["runtimes"]):
        report.add(
            "runtime_not_restarted",
            PROOF,
            "daemon.json names the nvidia runtime; the running Docker daemon does not know it.",
            disk[0].quote(r"nvidia"),
            live[0].quote(r"Runtimes:"),
            rule="docker_not_restarted",
        )
        return None
    for kind in ("docker_info", "docker_daemon", "crio_config"):
        for doc, facts in view.parsed(kind):
            runtimes = facts.get("runtimes") or {}
            names = [n for n in runtimes if str(n).startswith("nvidia")]
            default = facts.get("default_runtime")
            # The hook needs no handler, but its file must be there, not only the directory.
            hooks = kind == "crio_config" and any(
                d.quote(r"oci-nvidia-hook") for d in view.documents if d.kind in ("ls_dev", "text", "crio_config")
            )
            if runtimes or default or hooks:
                return Handler(
                    bool(names or hooks),
                    bool(default and str(default).startswith("nvidia")) or bool(hooks),
                    doc,
                    doc.quote(r"nvidia") or doc.quote(r"[Rr]untime"),
                    None,
                    kind == "docker_info",
                )
    return None


def _at_home(view: View, doc: Document) -> bool:
    """Is this the file that the distribution's own engine reads?"""
    home = ENGINE_HOME.get(view.flavour or "")
    if not home:
        return True
    where = f"{doc.source} {doc.path}".replace("-", "/")
    return (
        home[0].strip("/").replace("-", "/") in where
        or home[1].strip("/").replace("-", "/") in where
        or bool(doc.quote(rf"[Gg]enerated by {view.flavour}"))
    )


def _form_fits(view: View, facts: dict[str, t.Any], form: str | None) -> bool:
    """Does this engine read a handler written in this form? Tables of another file version are ignored silently. (facts 1.3)"""
    version = facts.get("version")
    if form == "v1" and version is None and not (facts.get("root") or facts.get("grpc_address")):
        return False  # a piece of a file in the oldest table form: today's files say version = 2 and ignore it
    if form is None or version is None:
        _engine, engine_version = view.engine
        if form == "v1" and version is None and engine_version:
            return engine_version.startswith("1.")
        return not (form == "v1" and version is None and (engine_version or "").startswith("2."))
    return form == {1: "v1", 2: "v2"}.get(int(version), "v3")


def _cri_disabled(view: View, report: LayerReport, doc: Document, facts: dict[str, t.Any]) -> None:
    quote = doc.quote(r"disabled_plugins")
    runtimes = facts.get("runtimes") or {}
    imported = any("/etc/containerd/" in str(path) for path in facts.get("imports") or [])
    if any(n.startswith("nvidia") for n in runtimes) and imported:
        # A file that configures the CRI plugin and disables it was made from another engine's configuration.
        report.add(
            "runtime_config_path_wrong",
            DECISIVE,
            "The file with the nvidia runtime was made from the stock containerd's configuration "
            "(it imports it and disables CRI): the wrong engine was configured.",
            quote,
            doc.quote(r"imports"),
            also=("engine_config_broken", "runtime_not_configured"),
            rule="cri_disabled_import",
        )
    else:
        report.add(
            "engine_config_broken",
            DECISIVE,
            "containerd's configuration disables the CRI plugin, so the kubelet has no engine to talk to.",
            quote,
            also=("runtime_config_path_wrong", "node_not_ready"),
            rule="cri_disabled",
        )


def _engine_started(view: View) -> tuple[str | None, Quote | None]:
    for doc, facts in view.parsed("systemctl"):
        for name, unit in (facts.get("units") or {}).items():
            if re.match(
                r"(?:containerd|crio|docker|k3s(?:-agent)?|rke2-(?:agent|server)|snap\.microk8s\.daemon-containerd|k0sworker)(?:\.service)?$",
                name,
            ) and unit.get("since"):
                return unit["since"], doc.quote(r"ActiveEnterTimestamp=|Active: ")
    return None, None


def _no_handler(view: View, report: LayerReport, handler: Handler | None) -> None:
    """The engine says it knows no nvidia runtime: why?"""
    hit = view.hit(*NO_HANDLER)
    if not hit:
        if handler and handler.present is False and (handler.dump or handler.ignored) and not view.hit("val.toolkit_ok"):
            because = (
                "The handler is written in a table that this containerd version ignores."
                if handler.ignored
                else "The engine's own configuration has no nvidia handler."
            )
            report.add("runtime_not_configured", SUPPORTING, because, handler.quote, rule="handler_absent")
        return
    unsupported = view.hit("tkc.unsupported_cfg")
    if unsupported:
        report.add(
            "toolkit_engine_mismatch",
            PROOF,
            "The toolkit cannot write this engine's configuration version, so the handler never got there.",
            unsupported.first,
            hit.first,
            rule="unsupported_config",
        )
        return
    wrong = _config_elsewhere(view)
    if wrong:
        report.add(
            "runtime_config_path_wrong",
            PROOF if wrong[2] else DECISIVE,
            wrong[0],
            hit.first,
            wrong[1],
            also=("runtime_not_configured",),
            rule="config_elsewhere",
        )
        return
    if handler and handler.ignored:
        report.add(
            "runtime_not_configured",
            DECISIVE,
            "A handler is written in a table that this containerd version ignores (the form of file version 1), so the engine has none.",
            hit.first,
            handler.ignored,
            also=("runtime_config_path_wrong",),
            rule="handler_ignored",
        )
    elif handler and handler.present and not handler.dump:
        since, since_quote = _engine_started(view)
        changed, changed_quote = _config_changed(view)
        if since and changed and changed <= since:
            report.add(
                "runtime_config_path_wrong",
                DECISIVE,
                "The handler is in a file that the engine, started after it was written, does not use.",
                hit.first,
                handler.quote,
                since_quote,
                rule="file_not_used",
                also=("runtime_not_configured",),
            )
        else:
            weight = PROOF if since and changed and changed > since else DECISIVE
            report.add(
                "runtime_not_restarted",
                weight,
                "The nvidia handler is in the file on disk; the running engine does not know it: it was not restarted since.",
                hit.first,
                handler.quote,
                since_quote or changed_quote,
                also=("runtime_config_path_wrong",),
                rule="not_restarted",
            )
    elif handler and handler.present is False:
        report.add(
            "runtime_not_configured",
            PROOF,
            "The engine's configuration has no nvidia handler.",
            hit.first,
            handler.quote,
            rule="handler_absent",
        )


def _config_changed(view: View) -> tuple[str | None, Quote | None]:
    """When the engine's file was last written (`stat`, `ls -l --time-style=full-iso`), as an ISO text."""
    for doc in view.docs("systemctl", "text", "mounts", "containerd_config"):
        for number, line in enumerate(doc.lines, 1):
            match = re.search(r"(?:Modify:\s*|\s)(\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2})\S*\s+\S+(?:\s+\S*config\S*\.toml\S*)?\s*$", line)
            if match and ("Modify:" in line or ".toml" in line or ".conf" in line or "daemon.json" in line):
                return match.group(1).replace(" ", "T"), Quote(doc.path, line.strip(), number)
    return None, None


def _config_elsewhere(view: View) -> tuple[str, Quote | None, bool] | None:
    """The handler stands in a file that the distribution's own engine does not read: what to say, where, and whether that is proven."""
    home = ENGINE_HOME.get(view.flavour or "")
    if not home:
        return None
    stray = own = None
    for doc, facts in view.parsed("containerd_config"):
        has = any(n.startswith("nvidia") for n in facts.get("runtimes") or {})
        if _at_home(view, doc):
            own = own or (doc, has)
        elif has:
            stray = stray or doc
    if stray is None or (own and own[1]):
        return None
    proven = own is not None or any(doc.quote(re.escape(home[0].rstrip("/"))) for doc in view.docs("ls_dev", "text", "systemctl"))
    return (
        f"The handler is in a file that {view.flavour}'s own containerd does not read; it reads {home[0]}.",
        stray.quote(r"runtimes\.\"?'?nvidia"),
        proven,
    )


def _wrong_file(view: View, report: LayerReport) -> None:
    """The toolkit was pointed at a file or socket that is not the engine's, or that the engine regenerates."""
    for path, quote in _toolkit_targets(view):
        for pattern, instead in GENERATED.items():
            if re.search(pattern, path):
                report.add(
                    "runtime_config_path_wrong",
                    DECISIVE,
                    f"The toolkit writes {path}, which the distribution regenerates at every start; the place to change is {instead}.",
                    quote,
                    also=("runtime_not_configured", "runtime_not_default"),
                    rule="generated_file",
                )
                return
        home = ENGINE_HOME.get(view.flavour or "")
        if home and (path.startswith(STOCK[0]) or path.startswith(STOCK[1])):
            report.add(
                "runtime_config_path_wrong",
                DECISIVE,
                f"The toolkit is set to {path}; {view.flavour}'s own engine uses {home[0]} and {home[1]}.",
                quote,
                also=("runtime_not_configured",),
                rule="stock_target",
            )
            return


def _toolkit_targets(view: View) -> list[tuple[str, Quote]]:
    """CONTAINERD_CONFIG / CONTAINERD_SOCKET as the ClusterPolicy or the toolkit pod has them."""
    found = []
    sources: list[tuple[dict[str, t.Any], list[dict[str, t.Any]]]] = []
    for policy in view.evidence.of("ClusterPolicy"):
        sources.append((policy, ((policy.get("spec") or {}).get("toolkit") or {}).get("env") or []))
    for pod in view.pods:
        if component_of(pod["metadata"].get("name") or "") == "toolkit":
            for container in (pod.get("spec") or {}).get("containers") or []:
                sources.append((pod, container.get("env") or []))
    for obj, env in sources:
        for entry in env:
            if entry.get("name") in ("CONTAINERD_CONFIG", "CONTAINERD_SOCKET") and entry.get("value"):
                found.append((str(entry["value"]), quote_of(obj, f"{entry['name']}={entry['value']}")))
    return found


# ---- nothing was injected ---------------------------------------------------------------------------------


# Where drivers lie on images that keep them out of the usual places. (GKE COS and Ubuntu, AKS, Talos glibc root)
ODD_DRIVER_HOMES = r"/home/kubernetes/bin/nvidia|/opt/nvidia|/usr/local/glibc"


ROOT_LINE = r"^\s*root\s*=|--root[= ]/"


def _toolkit_roots(view: View) -> t.Iterator[tuple[t.Any, str]]:
    """Each place that says where nvidia-container-cli looks for the driver: its configuration, or its command line."""
    for doc, facts in view.parsed("toolkit_config"):
        if facts.get("root"):
            yield doc, facts["root"]
    for doc in view.docs("nvidia_container_cli", "container_log", "journal", "text"):
        match = re.search(r"(?:nvidia-container-cli(?:\.real)? [^\n]*|^)--root[= ](/[^\s\]]+)", doc.text[:200_000], re.MULTILINE)
        if match:
            yield doc, match.group(1)


def _driver_root(view: View, report: LayerReport, driver_ok: bool) -> None:
    """The toolkit or the validator looks for the driver where it is not."""
    missing = view.hit("lnc.no_nvml_lib", "dra.driver_root_hint", "tk.ctk_nvml")
    waiting = view.hit("val.wait_ctr", "val.driver_err", *NOTHING_INJECTED) or missing
    if not waiting:
        return
    for doc, facts in view.smi:
        odd = re.search(ODD_DRIVER_HOMES, f"{doc.source}\n" + "\n".join(doc.lines[:3]))
        if odd and facts.get("gpus") and not facts.get("error"):
            report.add(
                "toolkit_driver_root_wrong",
                DECISIVE,
                f"The driver works from {odd.group(0)}, and that is not where the toolkit and the validator look.",
                doc.quote(ODD_DRIVER_HOMES) or Quote(doc.path, doc.source),
                waiting.first,
                rule="driver_elsewhere",
                ceiling="likely",
            )
            return
    if not missing:
        return
    for doc, root in _toolkit_roots(view):
        if root and root != "/" and not driver_ok:
            report.add(
                "toolkit_driver_root_wrong",
                SUPPORTING,
                f"The toolkit looks for the driver under {root} and finds no library there.",
                doc.quote(ROOT_LINE),
                missing.first,
                also=("driver_not_installed", "driver_module_not_loaded"),
                rule="root_empty",
            )
            return
        if root and root != "/":
            empty = next(
                (
                    q
                    for q in (
                        d.quote(rf"^total 0|cannot access '?{re.escape(root)}")
                        for d in view.documents
                        if root in f"{d.source} {d.path}".replace("-", "/") or root in d.text
                    )
                    if q
                ),
                None,
            )
            report.add(
                "toolkit_driver_root_wrong",
                PROOF if empty else DECISIVE,
                f"The toolkit looks for the driver under {root}, and the working driver is the host's own.",
                doc.quote(ROOT_LINE),
                missing.first,
                empty,
                rule="root_not_host",
            )
            return
    if not driver_ok:
        return
    report.add(
        "toolkit_driver_root_wrong",
        SUPPORTING,
        "The host's driver works, and the toolkit finds no library in the root it looks in.",
        missing.first,
        also=("toolkit_ldconfig_failed",),
        rule="root_unknown",
    )


def _nothing_injected(view: View, report: LayerReport, handler: Handler | None, driver_ok: bool) -> None:
    """The container sees no driver library. With a working host driver the reason is in this layer: which?"""
    hit = next((h for h in view.hits if h.signature.id in NOTHING_INJECTED and _inside_container(h.document)), None)
    if not hit or view.hit(*NO_HANDLER) or report.findings or view.hit("val.all_ok"):
        return
    also = ("runtime_not_default", "runtime_not_configured", "toolkit_not_installed", "toolkit_driver_root_wrong")
    for doc, facts in view.parsed("toolkit_config"):
        if facts.get("envvar_when_unprivileged") is False and not _plugin_privileged(view):
            report.add(
                "runtime_permission_denied",
                DECISIVE,
                "The toolkit ignores NVIDIA_VISIBLE_DEVICES of unprivileged containers, and this one is not shown to be privileged.",
                doc.quote(r"envvar-when-unprivileged"),
                hit.first,
                also=also,
                rule="unprivileged_envvar",
            )
            return
    root = _plugin_driver_root(view)
    if root and root[0] not in ("/", "", "/run/nvidia/driver", "/driver-root"):
        report.add(
            "toolkit_driver_root_wrong",
            DECISIVE,
            f"The driver lies under {root[0]} and nothing brings that directory's libraries into the container.",
            root[1],
            hit.first,
            also=also,
            rule="odd_driver_root",
        )
        return
    missing_tool = _toolkit_absent(view)
    if missing_tool:
        report.add(
            "toolkit_not_installed",
            DECISIVE,
            "The node has no NVIDIA container toolkit, so nothing injects the driver.",
            missing_tool,
            hit.first,
            also=also,
            rule="toolkit_absent",
        )
        return
    if handler is not None and (driver_ok or handler.document is not None):
        if handler.present is False:
            report.add(
                "runtime_not_configured",
                DECISIVE if driver_ok else SUPPORTING,
                "The engine has no nvidia handler, so the container was started without the driver.",
                handler.quote or hit.first,
                hit.first,
                also=also,
                rule="no_handler_no_injection",
            )
            return
        if handler.present and handler.default is False and not _names_runtime(view, hit.document):
            report.add(
                "runtime_not_default",
                DECISIVE if driver_ok else SUPPORTING,
                "The engine has an nvidia handler, it is not the default, and this pod names no RuntimeClass.",
                handler.quote,
                hit.first,
                also=also,
                rule="handler_not_used",
            )
            return
    docker = next(((d, f) for d, f in view.parsed("docker_info") if str(f.get("default_runtime") or "").startswith("nvidia")), None)
    if docker and view.engine[0] != "docker":
        report.add(
            "runtime_config_path_wrong",
            SUPPORTING,
            "Docker is set up for GPUs and the pod's container still gets no driver: the kubelet's engine is another one.",
            docker[0].quote(r"Default Runtime"),
            hit.first,
            also=also,
            rule="docker_only",
        )
        return
    if driver_ok:
        report.add(
            "runtime_not_default",
            SUPPORTING,
            "The host's driver works and the container sees none of it: the nvidia runtime was not used for it.",
            hit.first,
            also=also,
            rule="not_injected",
        )


def _inside_container(document: Document) -> bool:
    """A host without nvidia-smi on its PATH is normal with a driver container; a container without it is not."""
    return document.kind in ("container_log", "event", "describe_pod", "get_events") or "exec" in f"{document.path} {document.source}"


def _plugin_privileged(view: View) -> bool:
    for pod in view.pods_of("device_plugin"):
        for container in (pod.get("spec") or {}).get("containers") or []:
            context = container.get("securityContext") or {}
            if context.get("privileged") or "SYS_ADMIN" in ((context.get("capabilities") or {}).get("add") or []):
                return True
    return False


def _plugin_driver_root(view: View) -> tuple[str, Quote] | None:
    for pod in view.pods_of("device_plugin"):
        for container in (pod.get("spec") or {}).get("containers") or []:
            for entry in container.get("env") or []:
                if entry.get("name") in ("NVIDIA_DRIVER_ROOT", "DRIVER_ROOT") and entry.get("value"):
                    return str(entry["value"]), quote_of(pod, f"{entry['name']}={entry['value']}")
    return None


def _toolkit_absent(view: View) -> Quote | None:
    for doc in view.docs("nvidia_container_cli", "nvidia_ctk", "text", "ls_dev"):
        quote = doc.quote(
            r"(?:nvidia-container-runtime|nvidia-container-cli|nvidia-ctk)\S*:? (?:command )?not found"
            r"|which: no nvidia-container-runtime|cannot access '?\S*/nvidia-container-runtime"
            r"|dpkg-query: no packages found matching nvidia-container-toolkit|package nvidia-container-toolkit is not installed"
        )
        if quote:
            return quote
    for doc, facts in view.parsed("packages"):
        rows = facts.get("packages") or []
        if len(rows) >= 30 and not any(
            re.match(r"(?:nvidia-container-toolkit|nvidia-container-runtime|nvidia-docker2)", p["name"]) for p in rows
        ):
            if any(re.match(r"(?:nvidia-|cuda-drivers|libnvidia)", p["name"]) for p in rows):
                return Quote(doc.path, "driver packages are listed, nvidia-container-toolkit is not among them")
    return None


def _names_runtime(view: View, document: Document) -> bool:
    for pod in view.pods:
        if (
            document.pod
            and pod["metadata"].get("name") == document.pod
            and str((pod.get("spec") or {}).get("runtimeClassName") or "").startswith("nvidia")
        ):
            return True
    return any(str((p.get("spec") or {}).get("runtimeClassName") or "").startswith("nvidia") for p in view.pods_of("device_plugin"))


# ---- CDI, version rules, lost and blind containers -----------------------------------------------------------


def _cdi(view: View, report: LayerReport) -> None:
    loaded, loaded_quote = view.loaded_version
    if not loaded:
        smi = view.smi_on_host
        loaded = smi[1].get("driver_version") if smi else None
        loaded_quote = smi[0].quote(r"Driver Version") if smi else None
    # A spec made for the libraries on disk is fresh, whatever old module is still loaded.
    on_disk = [facts["nvml_version"] for _doc, facts in view.smi if facts.get("nvml_version")] + [v for v, _q in userspace_packages(view)]
    specs: dict[str, list[Document]] = {}
    for doc, facts in view.parsed("cdi_spec"):
        if facts.get("kind"):
            specs.setdefault(facts["kind"], []).append(doc)
        versions = facts.get("versions") or []
        if loaded and versions and not any(same_version(v, x) for v in versions for x in [loaded, *on_disk]):
            report.add(
                "cdi_spec_stale",
                PROOF,
                f"The CDI spec names driver files of {', '.join(sorted(set(versions))[:2])}; the loaded driver is {loaded}.",
                doc.quote(re.escape(versions[0])),
                loaded_quote,
                rule="cdi_version",
            )
    for doc in view.docs("text", "cdi_spec", "ls_dev", "event"):
        quote = doc.quote(
            r"cannot access '?/\S*lib(?:cuda|nvidia-ml|nvidia-\w+)\.so\.\d+[\d.]*'?: No such file"
            r"|failed to (?:fulfil|stat) mount (?:request|source)\S*.*lib(?:cuda|nvidia)\S*\.so\.\d"
            r"|lib(?:cuda|nvidia-[\w-]+)\.so\.\d[\d.]*\S*: (?:no such file|stat)"
        )
        if quote and view.has("cdi_spec"):
            report.add("cdi_spec_stale", DECISIVE, "The CDI spec names a driver file that does not exist.", quote, rule="cdi_file_gone")
            break
    for kind, docs in specs.items():
        if kind.startswith("nvidia.com/gpu") and len(docs) > 1 and view.hit("tk.cdi_unresolvable", "tk.cdi_engine"):
            report.add(
                "cdi_spec_stale",
                DECISIVE,
                f"{len(docs)} CDI specs define {kind}: the same device twice is a conflict the engine refuses.",
                Quote(docs[0].path, f"kind: {kind}"),
                Quote(docs[1].path, f"kind: {kind}"),
                rule="cdi_twice",
            )


def toolkit_version(view: View) -> tuple[str | None, Quote | None]:
    """Version of the container toolkit: its own word, its package, or the operator release's image."""
    for kind in ("nvidia_ctk", "nvidia_container_cli"):
        for doc, facts in view.parsed(kind):
            version = facts.get("version") or facts.get("cli_version")
            if version:
                return version, doc.quote(re.escape(version))
    for doc, facts in view.parsed("packages"):
        for package in facts.get("packages") or []:
            if package["name"].startswith("nvidia-container-toolkit"):
                match = re.match(r"[\d.]+", package.get("version") or "")
                if match:
                    return match.group(0), Quote(doc.path, package["line"].strip()[:200])
    for pod in view.pods_of("toolkit"):
        for container in (pod.get("spec") or {}).get("containers") or []:
            match = re.search(r"container-toolkit:v?(\d+\.\d+\.\d+)", container.get("image") or "")
            if match:
                return match.group(1), quote_of(pod, f"image: {container['image']}")
    return None, None


def _toolkit_version_rules(view: View, report: LayerReport) -> None:
    """The rules of facts 2.2 between toolkit and driver or engine."""
    version, quote = toolkit_version(view)
    if not version:
        return
    number = tuple(int(x) for x in re.findall(r"\d+", version)[:3])
    major_hit = view.hit("tk.frontend_major", "tk.determine_major")
    if major_hit and number < (1, 14, 6):
        report.add(
            "toolkit_driver_mismatch",
            PROOF,
            f"Toolkit {version} looks for the device major by its name of before driver 550.40; 1.14.6 is the first that knows both.",
            major_hit.first,
            quote,
            rule="major_rename",
        )
    _engine, engine_version = view.engine
    if view.hit("tkc.unsupported_cfg") and number < (1, 17, 4):
        report.add(
            "toolkit_engine_mismatch",
            PROOF,
            f"Toolkit {version} cannot write containerd configuration version 3 (1.17.4 is the first that can); "
            f"the engine is {engine_version or 'containerd 2'}.",
            quote,
            rule="config_v3",
        )


def _started_too_early(view: View, report: LayerReport, driver_ok: bool) -> None:
    """The plugin found its library and no device, and nvidia-smi shows the GPUs now: it started before they were there."""
    if not driver_ok or not view.smi_on_host or view.hit(*NOTHING_INJECTED):
        return
    for doc in view.logs("device_plugin"):
        waiting = doc.quote(r"No devices found\. Waiting indefinitely")
        if waiting and not doc.quote(r"Failed to initialize NVML|mig-strategy|migStrategy\W+(?:single|mixed)"):
            report.add(
                "container_started_blind",
                DECISIVE,
                "The plugin found no device when it started and waits for ever; the GPUs are there now.",
                waiting,
                view.smi_on_host[0].quote(r"Driver Version|^GPU 0"),
                also=("device_nodes_missing", "driver_module_not_loaded"),
                rule="waiting_plugin",
                ceiling="likely",
            )


def _blind_or_lost(view: View, report: LayerReport, driver_ok: bool) -> None:
    _started_too_early(view, report, driver_ok)
    bypass = view.hit("tk.bypass")
    loaded, loaded_quote = view.nvidia_module()
    if bypass and loaded:
        report.add(
            "container_started_blind",
            DECISIVE,
            "The container was started while the driver was away, so without a GPU; the driver is loaded now.",
            bypass.first,
            loaded_quote,
            rule="bypass_then_loaded",
        )
    lost = view.hit("drv.smi_unknown_error")
    if lost:
        reload_hit = view.hit("chg.daemon_reload")
        cpu_manager = next(
            (
                doc.quote(r"cpu-?[mM]anager-?[pP]olicy\S*static")
                for doc, facts in view.parsed("kubelet_flags")
                if facts.get("cpu_manager_policy") == "static"
            ),
            None,
        )
        denied = next(
            (q for q in (doc.quote(r"/dev/nvidia\S*\".*EPERM|/dev/nvidia\S*: Operation not permitted") for doc in view.documents) if q),
            None,
        )
        extra = [q for q in (reload_hit.first if reload_hit else None, cpu_manager, denied) if q]
        if extra:
            report.add(
                "cgroup_device_lost",
                PROOF if driver_ok or len(extra) > 1 else DECISIVE,
                "A running container lost its device rules; the driver on the host is not at fault.",
                lost.first,
                *extra,
                rule="device_rules_lost",
            )


def _oci(view: View, report: LayerReport) -> None:
    """crun and runc hide the hook's words; the device-cgroup refusal stands in the journal."""
    hook = view.hit("rt.hook_generic")
    bpf = view.hit("rt.bpf_foreign", "lnc.bpf")
    if not bpf or view.hit("rt.avc"):
        return
    low_level = next(
        (
            q
            for q in (
                doc.quote(r"libcrun|\bcrun\b|\brunc\b") for doc in view.docs("journal", "kernel_log", "describe_pod", "text", "packages")
            )
            if q
        ),
        None,
    )
    if hook and (low_level or "error executing hook" in hook.first.text):
        report.add(
            "oci_runtime_fault",
            DECISIVE,
            "The OCI runtime's device-cgroup program is refused when the NVIDIA hook runs, "
            "with no SELinux denial beside it: the low-level runtime is at fault.",
            bpf.first,
            hook.first,
            also=("runtime_permission_denied",),
            rule="bpf_hook",
        )


def _own_libraries(view: View, report: LayerReport) -> None:
    """An image that ships its own driver libraries disagrees with the module all by itself; the host agrees with itself."""
    hit = next(
        (
            h
            for h in view.hits
            if h.signature.id in ("drv.smi_lib_mismatch", "drv.api_mismatch", "drv.api_mismatch_575") and h.document.component == "workload"
        ),
        None,
    )
    host = view.smi_on_host
    if hit and host and host[0] is not hit.document:
        report.add(
            "workload_fault",
            DECISIVE,
            "The host's driver agrees with itself; this container brings driver libraries of another version.",
            hit.first,
            host[0].quote(r"Driver Version"),
            rule="own_libraries",
            ceiling="likely",
        )


def _application(view: View, report: LayerReport) -> None:
    """Xids of the application, and a program that failed: the stack is fine. (plugin internal/rm/health.go ignores them)"""
    hit = view.hit("hw.xid_app")
    failed = next(
        (
            doc.quote(r"CUDA error|RuntimeError|illegal memory access|Segmentation fault|core dumped")
            for doc in view.logs("workload")
            if doc.quote(r"CUDA error|RuntimeError|illegal memory access|Segmentation fault|core dumped")
        ),
        None,
    )
    if hit and failed:
        report.add(
            "workload_fault",
            SUPPORTING,
            "The program failed with an Xid that comes almost always from the application itself.",
            hit.first,
            failed,
            rule="application_xid",
        )


def latent(view: View) -> list[dict[str, t.Any]]:
    """A CDI spec that names files of another driver breaks the next container, whatever runs now."""
    found = []
    loaded, loaded_quote = view.loaded_version
    for doc, facts in view.parsed("cdi_spec"):
        versions = facts.get("versions") or []
        if loaded and versions and not any(same_version(v, loaded) for v in versions):
            found.append(
                {
                    "what": f"The CDI spec {doc.source or doc.path} names files of driver {versions[0]}, "
                    f"and {loaded} is loaded: new containers will fail.",
                    "because": "spec and loaded version differ",
                    "evidence": [q.as_dict() for q in (doc.quote(re.escape(versions[0])), loaded_quote) if q],
                }
            )
    return found
