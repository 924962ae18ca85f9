# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors
"""The container runtime layer as text: engine configurations, toolkit, CDI, systemd units. Pure functions, text in, dict out.

Lists, dicts and booleans are always there; other keys are absent when the text does not show them, or None where None is said.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.gpuops.node.plugins.module_utils.runner import (
    grep,
    head,
    line_time,
    lines_of,
    load_json,
    numbered,
    prompt_command,
    quote,
    text_of,
)

try:
    import tomllib
except ImportError:  # Python before 3.11, on GPU hosts
    tomllib = None  # type: ignore[assignment]

# ------------------------------------------------------------------------------------------------ TOML, also in pieces

_MAX_TOML = 4 * 1024 * 1024  # characters read of a configuration; a real one has a few thousand
_MAX_TOML_LINE = 64 * 1024
_MAX_DEPTH = 32
_MAX_ARRAY_LINES = 2000
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]{1,200}")
_NUMBER = re.compile(
    r"[+-]?(?:0x[0-9A-Fa-f_]{1,32}|0o[0-7_]{1,32}|0b[01_]{1,64}|\d[\d_]{0,30}(?:\.\d[\d_]{0,30})?(?:[eE][+-]?\d{1,4})?|inf|nan)"
)
_DATE = re.compile(r"\d{4}-\d\d-\d\d[T ]?[\d:.Z+-]{0,40}|\d\d:\d\d:\d\d[.\d]{0,12}")
_ESCAPES = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", '"': '"', "\\": "\\", "e": "\x1b"}


class _TomlError(ValueError):
    pass


def _blank(text: str, at: int) -> int:
    """Past white space, line ends and comments."""
    size = len(text)
    while at < size:
        if text[at] in " \t\r\n":
            at += 1
        elif text[at] == "#":
            end = text.find("\n", at)
            at = size if end < 0 else end
        else:
            break
    return at


def _string(text: str, at: int) -> tuple[str, int]:
    mark = text[at]
    if text.startswith(mark * 3, at):
        end = text.find(mark * 3, at + 3)
        if end < 0:
            raise _TomlError("string without end")
        while text.startswith(mark, end + 3):  # """a""""" ends in quotes of its own
            end += 1
        body = text[at + 3 : end]
        body = body[1:] if body.startswith("\n") else body[2:] if body.startswith("\r\n") else body
        return (_unescaped(re.sub(r"\\[ \t]{0,200}\r?\n\s*", "", body)) if mark == '"' else body), end + 3
    if mark == "'":
        end = text.find("'", at + 1)
        if end < 0 or "\n" in text[at:end]:
            raise _TomlError("string without end")
        return text[at + 1 : end], end + 1
    end = at + 1
    size = len(text)
    while end < size and text[end] != '"':
        if text[end] == "\n":
            raise _TomlError("string without end")
        end += 2 if text[end] == "\\" else 1
    if end >= size:
        raise _TomlError("string without end")
    return _unescaped(text[at + 1 : end]), end + 1


def _unescaped(body: str) -> str:
    if "\\" not in body:
        return body

    def one(match: t.Any) -> str:
        code = match.group(1)
        if code[0] in "uUx" and len(code) > 1:
            number = int(code[1:], 16)
            return chr(number) if number < 0x110000 and not 0xD800 <= number < 0xE000 else "\ufffd"
        return _ESCAPES.get(code, code)

    return re.sub(r"\\(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|x[0-9A-Fa-f]{2}|.)", one, body, flags=re.DOTALL)


def _key(text: str, at: int) -> tuple[list[str], int]:
    """A dotted key with bare and quoted parts: plugins."io.containerd.grpc.v1.cri".containerd"""
    parts: list[str] = []
    size = len(text)
    while True:
        while at < size and text[at] in " \t":
            at += 1
        if at < size and text[at] in "\"'":
            part, at = _string(text, at)
        else:
            match = _BARE_KEY.match(text, at)
            if not match:
                raise _TomlError("no key")
            part, at = match.group(0), match.end()
        parts.append(part)
        if len(parts) > _MAX_DEPTH:
            raise _TomlError("key of too many parts")
        while at < size and text[at] in " \t":
            at += 1
        if at >= size or text[at] != ".":
            return parts, at
        at += 1


def _value(text: str, at: int, depth: int = 0) -> tuple[t.Any, int]:
    if depth > _MAX_DEPTH:
        raise _TomlError("nested too deeply")
    at = _blank(text, at)
    if at >= len(text):
        raise _TomlError("no value")
    char = text[at]
    if char in "\"'":
        return _string(text, at)
    if char == "[":
        items: list[t.Any] = []
        at = _blank(text, at + 1)
        while not text.startswith("]", at):
            item, at = _value(text, at, depth + 1)
            items.append(item)
            at = _blank(text, at)
            if text.startswith(",", at):
                at = _blank(text, at + 1)
            elif not text.startswith("]", at):
                raise _TomlError("array without end")
        return items, at + 1
    if char == "{":
        table: dict[str, t.Any] = {}
        at = _blank(text, at + 1)
        while not text.startswith("}", at):
            parts, at = _key(text, at)
            if not text.startswith("=", at):
                raise _TomlError("no = after key")
            item, at = _value(text, at + 1, depth + 1)
            _put(table, parts, item)
            at = _blank(text, at)
            if text.startswith(",", at):
                at = _blank(text, at + 1)
            elif not text.startswith("}", at):
                raise _TomlError("table without end")
        return table, at + 1
    for word, meaning in (("true", True), ("false", False)):
        if text.startswith(word, at):
            return meaning, at + len(word)
    match = _DATE.match(text, at)
    if match:
        return match.group(0).strip(), match.end()
    match = _NUMBER.match(text, at)
    if match:
        digits = match.group(0).replace("_", "")
        try:
            return int(digits, 0 if digits.lstrip("+-")[:2] in ("0x", "0o", "0b") else 10), match.end()
        except ValueError:
            return float(digits), match.end()
    raise _TomlError("no value")


def _put(table: dict[str, t.Any], parts: list[str], value: t.Any) -> None:
    for part in parts[:-1]:
        below = table.get(part)
        if isinstance(below, list) and below and isinstance(below[-1], dict):
            below = below[-1]
        if not isinstance(below, dict):
            below = table[part] = {}
        table = below
    table[parts[-1]] = value


def _open_brackets(line: str, depth: int) -> int:
    """How many brackets are open after this line, outside strings and comments."""
    at, size = 0, len(line)
    while at < size:
        char = line[at]
        if char in "[{":
            depth += 1
        elif char in "]}":
            depth -= 1
        elif char == "#":
            break
        elif char == '"':
            at += 1
            while at < size and line[at] != '"':
                at += 2 if line[at] == "\\" else 1
        elif char == "'":
            end = line.find("'", at + 1)
            at = size if end < 0 else end
        at += 1
    return depth


class Toml:
    """What could be read of a TOML text: fragments, templates and broken files too.

    C(data) nested dicts; C(lines) path of keys (a tuple) to the exact line; C(error) the parser's word where the text is meant to be a
    whole file and is none; C(fragment) where it is visibly an excerpt or a Go template and C(error) would mean nothing.
    """

    def __init__(self, text: str) -> None:
        text = text[:_MAX_TOML]
        self.data: dict[str, t.Any] = {}
        self.lines: dict[tuple[str, ...], str] = {}
        self.bad: list[tuple[int, str]] = []
        self.template = False
        self.headers: list[tuple[str, ...]] = []
        self._read(text)
        self.error: str | None = None
        self.error_line: str | None = None
        self.fragment = self.template or any(not _toml_like(line) for _number, line in self.bad)
        self._check(text)

    def _read(self, text: str) -> None:
        table: dict[str, t.Any] = self.data
        path: tuple[str, ...] = ()
        rows = list(numbered(text))
        failures = 0
        index = 0
        while index < len(rows):
            number, raw = rows[index]
            index += 1
            if len(raw) > _MAX_TOML_LINE:
                self.bad.append((number, quote(raw)))
                continue
            line = raw.strip()
            if not line or line[0] == "#":
                continue
            if "{{" in line:
                # k3s and RKE2 templates: the actions are no TOML, the lines between them are.
                self.template = True
                if line.startswith("{{"):
                    continue
            if line[0] == "[":
                parts = self._header(line)
                if parts is None:
                    self.bad.append((number, quote(raw)))
                    continue
                path = tuple(parts)
                below = self._table(parts, line.startswith("[["))
                if below is None:
                    self.bad.append((number, quote(raw)))
                    table = {}
                else:
                    table = below
                self.lines[path] = quote(raw)
                self.headers.append(path)
                continue
            try:
                parts, at = _key(line, 0)
                if not line.startswith("=", at):
                    raise _TomlError("no = after key")
            except _TomlError:
                self.bad.append((number, quote(raw)))
                continue
            rest, used = line[at + 1 :], 0
            if failures < 3:
                rest, used = self._continued(rest, rows, index)
                if used < 0:
                    failures, used = failures + 1, 0
            try:
                value, end = _value(rest, 0)
                tail = rest[_blank(rest, end) :]
                if tail:
                    raise _TomlError("text after the value")
            except (_TomlError, ValueError, OverflowError):
                self.bad.append((number, quote(raw)))
                continue
            index += used
            _put(table, parts, value)
            self.lines[path + tuple(parts)] = quote(raw)

    @staticmethod
    def _header(line: str) -> list[str] | None:
        many = line.startswith("[[")
        try:
            parts, at = _key(line, 2 if many else 1)
        except _TomlError:
            return None
        close = "]]" if many else "]"
        if not line.startswith(close, at):
            return None
        tail = line[at + len(close) :].strip()
        return parts if not tail or tail.startswith("#") else None

    def _table(self, parts: list[str], many: bool) -> dict[str, t.Any] | None:
        table: t.Any = self.data
        for part in parts[:-1]:
            below = table.setdefault(part, {})
            if isinstance(below, list) and below:
                below = below[-1]
            if not isinstance(below, dict):
                return None
            table = below
        if many:
            items = table.setdefault(parts[-1], [])
            if not isinstance(items, list):
                return None
            items.append({})
            return t.cast("dict[str, t.Any]", items[-1])
        below = table.setdefault(parts[-1], {})
        if isinstance(below, list) and below:
            below = below[-1]
        return below if isinstance(below, dict) else None

    @staticmethod
    def _continued(rest: str, rows: list[tuple[int, str]], index: int) -> tuple[str, int]:
        """A value that goes on over the next lines: (text, lines used), or (the first line, -1) when it never ends."""
        start = rest.strip()
        for mark in ('"""', "'''"):
            if start.startswith(mark):
                if mark in start[3:]:
                    return rest, 0
                pieces = [rest]
                for used, (_number, raw) in enumerate(rows[index : index + _MAX_ARRAY_LINES], 1):
                    pieces.append(raw)
                    if mark in raw:
                        return "\n".join(pieces), used
                return rest, -1
        if not start.startswith(("[", "{")):
            return rest, 0
        depth = _open_brackets(rest, 0)
        if depth <= 0:
            return rest, 0
        pieces = [rest]
        for used, (_number, raw) in enumerate(rows[index : index + _MAX_ARRAY_LINES], 1):
            pieces.append(raw)
            depth = _open_brackets(raw, depth)
            if depth <= 0:
                return "\n".join(pieces), used
        return rest, -1

    def _check(self, text: str) -> None:
        """The real parser's opinion, where there is one and the text is of a size it is quick with."""
        if self.fragment:
            return
        longest = max((len(line) for line in text.split("\n")), default=0)
        if tomllib is not None and len(text) <= 256 * 1024 and longest <= 1024:
            if max((line.count(".") for line in text.split("\n")), default=0) > 64:
                return
            try:
                self.data = tomllib.loads(text.replace("\r\n", "\n"))
            except (ValueError, RecursionError) as problem:
                # The same words on every Python: the library's own differ, and Python 3.8 has none.
                self.error = "not TOML"
                found = re.search(r"at line (\d{1,7})", str(problem))
                if found:
                    rows = text.split("\n")
                    number = min(int(found.group(1)), len(rows))
                    row = rows[number - 1].splitlines() or [""]  # TOML ends lines at "\n" only, quotes end at any of them
                    self.error, self.error_line = f"not TOML (at line {number})", quote(row[0])
        elif self.bad:
            self.error, self.error_line = f"not TOML (at line {self.bad[0][0]})", self.bad[0][1]

    def get(self, *path: str) -> t.Any:
        value: t.Any = self.data
        for part in path:
            if not isinstance(value, dict):
                return None
            value = value.get(part)
        return value


def _toml_like(line: str) -> bool:
    """A line someone meant as TOML; prompts, ellipses and prose show that the text is an excerpt."""
    row = line.strip()
    if row.startswith(("...", "[...", "…", "$ ", "--", "@@")) or row in ("[snip]", "<snip>"):
        return False
    return "=" in row or row.startswith(("[", "]", "}")) or ('"' in row and len(row.split()) <= 3)


def _text(value: t.Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _texts(value: t.Any) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _flag(value: t.Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _dict(value: t.Any) -> dict[str, t.Any]:
    return value if isinstance(value, dict) else {}


# ------------------------------------------------------------------------------------------------ containerd

# The plugin that holds the CRI runtime section in each generation of the file.
_CRI_FORMS = (("v1", "cri"), ("v2", "io.containerd.grpc.v1.cri"), ("v3", "io.containerd.cri.v1.runtime"))
_CRI_NAMES = frozenset(("cri", "io.containerd.grpc.v1.cri", "io.containerd.cri.v1.runtime"))
_ENGINE_REFUSES = re.compile(
    r"failed to load TOML|expected containerd config version|unsupported config version|drop-in config version|invalid plugin config"
    r"|failed to load config"
)


def is_nvidia_runtime(name: str, binary: str | None) -> bool:
    return "nvidia" in name.lower() or "nvidia-container-runtime" in (binary or "")


def _cri_runtime(table: dict[str, t.Any]) -> str | None:
    """The program of one runtime: options.BinaryName, in version 1 also options.Runtime or runtime_engine."""
    options = _dict(table.get("options"))
    for value in (options.get("BinaryName"), options.get("Runtime"), table.get("runtime_engine"), table.get("runtime_path")):
        if _text(value):
            return _text(value)
    return None


def parse_containerd_config(text: str) -> dict[str, t.Any]:
    """config.toml of containerd 1 to 2 (file versions 1 to 4), drop-ins, fragments, C(containerd config dump), k3s/RKE2/MicroK8s templates.

    C(forms) lists, sorted, the generations whose table holds an nvidia runtime. C(lines) has: version, default_runtime, disabled_plugins,
    imports, enable_cdi, root, state, grpc_address, and runtime:<name>, binary:<name> per runtime.
    Also: per runtime C(forms), C(systemd_cgroup), C(runtime_type); C(template), C(fragment), C(error_line), C(missing),
    C(linux_runtime) (the runtime of the old linux plugin), C(cdi_spec_dirs).
    """
    text = text_of(text)
    toml = Toml(text)
    version = toml.get("version")
    version = version if isinstance(version, int) and not isinstance(version, bool) else None
    out: dict[str, t.Any] = {
        "version": version,
        "forms": [],
        "runtimes": {},
        "default_runtime": None,
        "cri_disabled": False,
        "imports": _texts(toml.get("imports")),
        "enable_cdi": None,
        "root": _text(toml.get("root")),
        "state": _text(toml.get("state")),
        "grpc_address": _text(toml.get("grpc", "address")),
        "error": toml.error,
        "lines": {},
        "template": toml.template,
        "fragment": toml.fragment,
        "missing": False,
        "cdi_spec_dirs": [],
    }
    if toml.error_line is not None:
        out["error_line"] = toml.error_line
    lines: dict[str, str] = out["lines"]

    def say(key: str, *path: str) -> None:
        if path in toml.lines:
            lines.setdefault(key, toml.lines[path])

    for top in ("version", "imports", "root", "state", "disabled_plugins"):
        say(top, top)
    say("grpc_address", "grpc", "address")
    disabled = _texts(toml.get("disabled_plugins"))
    out["cri_disabled"] = bool(_CRI_NAMES.intersection(disabled))

    # Tables of another generation than the file's version are ignored by containerd: look at the effective one first.
    wanted = "v1" if version == 1 else "v2" if version == 2 else "v3" if version is not None else None
    forms = sorted(_CRI_FORMS, key=lambda form: (form[0] != wanted, form[0]))
    holding: set[str] = set()
    for form, plugin in forms:
        cri = _dict(toml.get("plugins", plugin))
        base = ("plugins", plugin)
        section = _dict(cri.get("containerd"))
        inside = base + ("containerd",)
        runtimes = _dict(section.get("runtimes"))
        if form == "v1" and not runtimes:
            # Fragments and hand-written version 1 files have [plugins.cri.containerd.runtimes...] or, wrongly, no "containerd".
            if _dict(cri.get("runtimes")):
                runtimes, inside = _dict(cri.get("runtimes")), base
        for name, table in runtimes.items():
            if not isinstance(table, dict):
                continue
            binary = _cri_runtime(table)
            if is_nvidia_runtime(name, binary):
                holding.add(form)
            known = out["runtimes"].get(name)
            if known is not None:
                known["forms"].append(form)
                continue
            options = _dict(table.get("options"))
            out["runtimes"][name] = {
                "binary": binary,
                "form": form,
                "forms": [form],
                "systemd_cgroup": _flag(options.get("SystemdCgroup")),
                "runtime_type": _text(table.get("runtime_type")),
            }
            where = inside + ("runtimes", name)
            say("runtime:" + name, *where)
            say("runtime:" + name, *where, "options")
            if binary:
                for option in (("options", "BinaryName"), ("options", "Runtime"), ("runtime_engine",), ("runtime_path",)):
                    value = table
                    for part in option:
                        value = _dict(value).get(part)
                    if value == binary:
                        say("binary:" + name, *where, *option)
        if out["default_runtime"] is None:
            default = _text(section.get("default_runtime_name"))
            if default:
                out["default_runtime"] = default
                say("default_runtime", *inside, "default_runtime_name")
            else:
                engine = _cri_runtime(_dict(section.get("default_runtime")))
                if engine and "nvidia" in engine:
                    out["default_runtime"] = "nvidia"
                    say("default_runtime", *inside, "default_runtime")
        if out["enable_cdi"] is None and _flag(cri.get("enable_cdi")) is not None:
            out["enable_cdi"] = cri["enable_cdi"]
            say("enable_cdi", *base, "enable_cdi")
        out["cdi_spec_dirs"] = out["cdi_spec_dirs"] or _texts(cri.get("cdi_spec_dirs"))
    out["forms"] = sorted(holding)
    for plugin, section in _dict(toml.get("plugins")).items():
        section = _dict(section)
        if plugin.startswith("io.containerd.server.v1.grpc") and _text(section.get("address")):  # file version 4
            out["grpc_address"] = out["grpc_address"] or section["address"]
            say("grpc_address", "plugins", plugin, "address")
        if plugin in ("linux", "io.containerd.runtime.v1.linux") and _text(section.get("runtime")):
            out["linux_runtime"] = section["runtime"]
            say("linux_runtime", "plugins", plugin, "runtime")
    for _number, line in toml.bad:
        if _ENGINE_REFUSES.search(line):
            out["error"] = line.strip()
        elif "config.toml" in line and "No such file or directory" in line:
            out["missing"] = True
    return out


# ------------------------------------------------------------------------------------------------ CRI-O, Docker


def parse_crio_config(text: str) -> dict[str, t.Any]:
    """crio.conf, drop-ins, C(crio config), C(crio status config). Also: C(lines), C(error), C(cdi_spec_dirs), C(cgroup_manager)."""
    toml = Toml(text_of(text))
    runtime = _dict(toml.get("crio", "runtime"))
    base = ("crio", "runtime")
    lines: dict[str, str] = {}
    runtimes: dict[str, t.Any] = {}
    for name, table in _dict(runtime.get("runtimes")).items():
        if isinstance(table, dict):
            runtimes[name] = {
                "binary": _text(table.get("runtime_path")),
                "runtime_type": _text(table.get("runtime_type")),
                "monitor": _text(table.get("monitor_path")),
            }
            for key, path in (("runtime:", base + ("runtimes", name)), ("binary:", base + ("runtimes", name, "runtime_path"))):
                if path in toml.lines:
                    lines[key + name] = toml.lines[path]
    for key, option in (("default_runtime", "default_runtime"), ("hooks_dirs", "hooks_dir")):
        if base + (option,) in toml.lines:
            lines[key] = toml.lines[base + (option,)]
    hooks = runtime.get("hooks_dir")
    return {
        "runtimes": runtimes,
        "default_runtime": _text(runtime.get("default_runtime")),
        "hooks_dirs": [hooks] if isinstance(hooks, str) else _texts(hooks),
        "cdi_spec_dirs": _texts(runtime.get("cdi_spec_dirs")),
        "cgroup_manager": _text(runtime.get("cgroup_manager")),
        "error": toml.error,
        "lines": lines,
    }


def _json_in(text: str) -> t.Any:
    """The JSON value of a text that may have a prompt line before it; ValueError when there is none."""
    stripped = text.strip()
    if stripped[:1] in ("{", "["):
        return load_json(stripped)
    start = stripped.find("\n{")
    if start >= 0:
        return load_json(stripped[start + 1 :])
    return load_json(stripped)


def parse_docker_daemon(text: str) -> dict[str, t.Any]:
    """/etc/docker/daemon.json. Also: C(live_restore), C(cgroup_driver)."""
    out: dict[str, t.Any] = {"runtimes": {}, "default_runtime": None, "cdi": None, "error": None}
    text = text_of(text)
    if not text.strip():
        return out
    try:
        data = _json_in(text)
    except ValueError as problem:
        out["error"] = "not JSON: " + str(problem)[:200]
        return out
    if not isinstance(data, dict):
        out["error"] = "not a JSON object"
        return out
    for name, table in _dict(data.get("runtimes")).items():
        table = _dict(table)
        out["runtimes"][name] = {"binary": _text(table.get("path")) or _text(table.get("runtimeType"))}
    out["default_runtime"] = _text(data.get("default-runtime"))
    out["cdi"] = _flag(_dict(data.get("features")).get("cdi"))
    if _flag(data.get("live-restore")) is not None:
        out["live_restore"] = data["live-restore"]
    for option in _texts(data.get("exec-opts")):
        if option.startswith("native.cgroupdriver="):
            out["cgroup_driver"] = option.split("=", 1)[1]
    return out


_DOCKER_ROWS = {"Default Runtime": "default_runtime", "Server Version": "version", "Cgroup Driver": "cgroup_driver"}


def parse_docker_info(text: str) -> dict[str, t.Any]:
    """C(docker info), as text or JSON. Also: C(cdi_spec_dirs), C(error)."""
    out: dict[str, t.Any] = {
        "runtimes": [],
        "default_runtime": None,
        "version": None,
        "cgroup_driver": None,
        "cdi_spec_dirs": [],
        "error": None,
    }
    text = text_of(text)
    if text.lstrip().startswith("{"):
        try:
            data = _dict(load_json(text.strip()))
        except ValueError:
            data = {}
        if data:
            out["runtimes"] = sorted(_dict(data.get("Runtimes")))
            out["default_runtime"] = _text(data.get("DefaultRuntime"))
            out["version"] = _text(data.get("ServerVersion"))
            out["cgroup_driver"] = _text(data.get("CgroupDriver"))
            out["cdi_spec_dirs"] = _texts(data.get("CDISpecDirs"))
            return out
    dirs = False
    for raw in lines_of(text):
        line = head(raw)
        row = line.strip()
        key, colon, value = row.partition(":")
        value = value.strip()
        if dirs:
            if row.startswith("/"):
                out["cdi_spec_dirs"].append(row)
                continue
            dirs = False
        if row.startswith("CDI spec directories"):
            dirs = True
        elif colon and key == "Runtimes":
            out["runtimes"] = value.split()
        elif colon and key in _DOCKER_ROWS and value:
            out[_DOCKER_ROWS[key]] = value
        elif "Cannot connect to the Docker daemon" in row or row.startswith("ERROR:"):
            out["error"] = quote(raw)
    return out


# ------------------------------------------------------------------------------------------------ toolkit


def parse_toolkit_config(text: str) -> dict[str, t.Any]:
    """/etc/nvidia-container-runtime/config.toml or the operator's copy of it, whole or in part.

    C(lines) has the keys' exact lines. Also: C(error), C(ctk_path), C(cli_path), C(debug), C(skip_mode_detection).
    """
    toml = Toml(text_of(text))
    lines: dict[str, str] = {}

    def find(name: str, read: t.Callable[[t.Any], t.Any], *paths: tuple[str, ...]) -> t.Any:
        for path in paths:
            value = read(toml.get(*path))
            if value is not None and value != []:
                if path in toml.lines:
                    lines[name] = toml.lines[path]
                return value
        return read(None)

    cli, runtime = "nvidia-container-cli", "nvidia-container-runtime"
    out: dict[str, t.Any] = {
        # A pasted piece without its table header still says "root" or "mode".
        "root": find("root", _text, (cli, "root"), ("root",)),
        "ldconfig": find("ldconfig", _text, (cli, "ldconfig"), ("ldconfig",)),
        "no_cgroups": find("no_cgroups", _flag, (cli, "no-cgroups"), ("no-cgroups",)),
        "mode": find("mode", _text, (runtime, "mode"), ("mode",)),
        "runtimes": find("runtimes", _texts, (runtime, "runtimes"), ("runtimes",)),
        "envvar_when_unprivileged": find("envvar_when_unprivileged", _flag, ("accept-nvidia-visible-devices-envvar-when-unprivileged",)),
        "volume_mounts": find("volume_mounts", _flag, ("accept-nvidia-visible-devices-as-volume-mounts",)),
        "ctk_path": find("ctk_path", _text, ("nvidia-ctk", "path")),
        "cli_path": find("cli_path", _text, (cli, "path")),
        "debug": find("debug", _text, (cli, "debug"), (runtime, "debug")),
        "skip_mode_detection": find("skip_mode_detection", _flag, ("nvidia-container-runtime-hook", "skip-mode-detection")),
        "error": toml.error,
    }
    out["lines"] = lines
    return out


_DRIVER_LIB = re.compile(r"lib[\w-]{1,60}\.so\.(?P<version>\d{3,4}\.\d{1,4}(?:\.\d{1,4})?)(?![\w.]*\d)")
_CDI_ROW = re.compile(
    r"^(?P<indent> {0,64})(?P<dash>- {1,8})?[\"']?(?P<key>kind|cdiVersion|name|hostPath|path|containerPath|devices"
    r"|containerEdits)[\"']?:\s{0,8}(?P<value>.*)$"
)


def _unquoted(value: str) -> str:
    value = value.strip().rstrip(",").strip()
    return value[1:-1] if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'" else value


def _cdi_walk(data: dict[str, t.Any], out: dict[str, t.Any], paths: dict[str, None], nodes: dict[str, None]) -> None:
    out.setdefault("kind", data["kind"]) if _text(data.get("kind")) else None
    out.setdefault("cdi_version", data["cdiVersion"]) if _text(data.get("cdiVersion")) else None
    edits = [_dict(data.get("containerEdits"))]
    devices = data.get("devices")
    for device in devices if isinstance(devices, list) else []:
        device = _dict(device)
        if device.get("name") is not None:
            out["devices"].append(str(device["name"]))
        edits.append(_dict(device.get("containerEdits")))
    for edit in edits:
        mounts = edit.get("mounts")
        for mount in mounts if isinstance(mounts, list) else []:
            if _text(_dict(mount).get("hostPath")):
                paths.setdefault(mount["hostPath"])
        device_nodes = edit.get("deviceNodes")
        for node in device_nodes if isinstance(device_nodes, list) else []:
            name = _text(_dict(node).get("hostPath")) or _text(_dict(node).get("path"))
            if name:
                nodes.setdefault(name)


def parse_cdi_spec(text: str) -> dict[str, t.Any]:
    """A CDI spec, YAML or JSON, read by lines where it is YAML: there is no YAML library on GPU hosts.

    Also: C(device_nodes), C(error) (JSON that is cut off; the lines are still read).
    """
    text = text_of(text)
    out: dict[str, t.Any] = {"devices": [], "host_paths": [], "versions": [], "device_nodes": [], "error": None}
    paths: dict[str, None] = {}
    nodes: dict[str, None] = {}
    data: t.Any = None
    if text.lstrip().startswith("{"):
        try:
            data = load_json(text.strip())
        except ValueError as problem:
            out["error"] = "not JSON: " + str(problem)[:200]
    if isinstance(data, dict):
        _cdi_walk(data, out, paths, nodes)
    else:
        for raw in lines_of(text):
            match = _CDI_ROW.match(head(raw).replace("\t", "  "))
            if not match:
                continue
            key, value = match.group("key"), _unquoted(match.group("value"))
            if not value or value in ("[", "{"):
                continue
            if key == "kind":
                out.setdefault("kind", value)
            elif key == "cdiVersion":
                out.setdefault("cdi_version", value)
            elif key == "name":
                out["devices"].append(value)
            elif key == "hostPath":
                (nodes if "/dev/" in value else paths).setdefault(value)  # a driver root may stand before /dev
            elif key == "path" and value.startswith("/dev/"):
                nodes.setdefault(value)
    versions: dict[str, None] = {}
    for _number, raw in grep(text, (".so.",)):
        for match in _DRIVER_LIB.finditer(raw):
            if out["error"] and match.end() == len(raw) and text.endswith(match.group(0)):
                continue  # the text was cut within this name
            versions.setdefault(match.group("version"))
            if "line" not in out or ("libcuda.so" in raw and "libcuda.so" not in out["line"]):
                out["line"] = quote(raw)
    if "line" not in out:
        for _number, raw in grep(text, ("kind",)):
            out["line"] = quote(raw)
            break
    out["host_paths"], out["device_nodes"], out["versions"] = list(paths), list(nodes), sorted(versions)
    return out


_CLI_ERROR = re.compile(r"nvidia-container-cli: (?P<error>(?:\w{1,20} )?error: .{1,1000})")
_CLI_LIBRARY = re.compile(r"initializing library context \(version=(?P<version>[\w.~+-]{1,40})")
_CLI_ROWS = (
    ("NVRM version:", "nvrm_version"),
    ("CUDA version:", "cuda_version"),
    ("cli-version:", "cli_version"),
    ("lib-version:", "lib_version"),
)
_CLI_WORDS = ("version", "Device Index", "nvidia-container-cli", "listing device", "rror")
_CLI_DEVICE = re.compile(r"listing device (/dev/nvidia\d{1,3})(?:\s|$)")
_CLI_TRACE_ERROR = re.compile(r"^\s{0,8}[EF]\d{4} \d\d:\d\d:\d\d\.\d{1,9} ")


def parse_nvidia_container_cli(text: str) -> dict[str, t.Any]:
    """C(nvidia-container-cli info), C(-V), and the trace of C(-k -d /dev/tty).

    Also: C(lib_version), C(listed_devices) (from a trace), C(missing) (no such program).
    """
    out: dict[str, t.Any] = {
        "cli_version": None,
        "nvrm_version": None,
        "cuda_version": None,
        "devices": 0,
        "error": None,
        "healthy": False,
        "lib_version": None,
        "listed_devices": [],
        "missing": False,
    }
    csv = False
    for raw in lines_of(text_of(text)):
        line = head(raw)
        row = line.strip()
        if csv and row.count(",") >= 6:
            out["devices"] += 1
            continue
        if row == "NVRM version,CUDA version":
            csv = True
            continue
        if csv and out["nvrm_version"] is None and re.match(r"^\d[\d.]{2,20},\d[\d.]{0,8}$", row):
            out["nvrm_version"], out["cuda_version"] = row.split(",")
            out.setdefault("line", quote(raw))
            csv = False
            continue
        if row.startswith("Device Index,"):
            csv = True
            continue
        if not any(word in line for word in _CLI_WORDS):
            continue
        match = _CLI_ERROR.search(line)
        if match:
            if out["error"] is None:
                out["error"], out["line"] = match.group("error").strip(), quote(raw)
            continue
        if "nvidia-container-cli" in row and ("command not found" in row or "No such file" in row):
            out["missing"] = True
            out["line"] = quote(raw)
            continue
        for label, key in _CLI_ROWS:
            if row.startswith(label):
                value = row[len(label) :].strip()
                out[key] = out[key] or value or None
                if key == "nvrm_version" and out["error"] is None:
                    out["line"] = quote(raw)
        if row.startswith("Device Index:"):
            out["devices"] += 1
        match = _CLI_LIBRARY.search(line)
        if match:
            out["lib_version"] = out["lib_version"] or match.group("version")
        match = _CLI_DEVICE.search(line)
        if match and match.group(1) not in out["listed_devices"]:
            out["listed_devices"].append(match.group(1))
        if _CLI_TRACE_ERROR.match(line) and out["error"] is None:
            out["error"], out["line"] = row, quote(raw)
    out["healthy"] = bool(out["nvrm_version"]) and out["error"] is None
    return out


_CTK_VERSION = re.compile(r"(?:NVIDIA Container (?:Toolkit|Runtime)(?: CLI| Hook)?|nvidia-ctk) version:? (?P<version>\d[\w.~+-]{1,40})")
_CTK_DEVICE = re.compile(r"^\s{0,8}(?P<device>[\w.-]{1,64}/[\w.-]{1,64}=[\w:.-]{1,80})\s*$")
_CTK_ERROR = re.compile(r"^\s{0,8}ERRO\[\d{1,6}\] {0,2}(?P<short>.{1,2000})$|level=(?:error|fatal) msg=\"(?P<long>(?:[^\"\\]|\\.){1,2000})")
_CTK_DRIVER = re.compile(r"Using driver version (?P<version>\d[\d.]{2,20})")
_CTK_MODE = re.compile(r"Auto-detected mode as [\"'\\]{0,4}(?P<mode>[a-z-]{1,16})")


def parse_nvidia_ctk(text: str) -> dict[str, t.Any]:
    """C(nvidia-ctk --version), C(cdi list), and what C(cdi generate) or C(runtime configure) said.

    Also: C(driver_version), C(mode), C(warnings), C(missing).
    """
    out: dict[str, t.Any] = {"version": None, "cdi_devices": [], "error": None, "warnings": [], "missing": False}
    for raw in lines_of(text_of(text)):
        line = head(raw)
        match = _CTK_VERSION.search(line)
        if match:
            out["version"] = out["version"] or match.group("version")
            continue
        match = _CTK_ERROR.search(line)
        if match:
            if out["error"] is None:
                out["error"], out["error_line"] = (match.group("short") or match.group("long")).strip(), quote(raw)
            continue
        match = _CTK_DRIVER.search(line)
        if match:
            out["driver_version"] = match.group("version")
        match = _CTK_MODE.search(line)
        if match:
            out["mode"] = match.group("mode")
        if "nvidia-ctk: command not found" in line or "nvidia-ctk: not found" in line:
            out["missing"] = True
        elif (line.lstrip().startswith("WARN[") or "level=warning" in line) and len(out["warnings"]) < 50:
            out["warnings"].append(quote(raw))
        else:
            match = _CTK_DEVICE.match(line)
            if match and match.group("device") not in out["cdi_devices"]:
                out["cdi_devices"].append(match.group("device"))
    return out


# ------------------------------------------------------------------------------------------------ systemd

_UNIT = r"[\w@:\\.-]{1,200}\.(?:service|socket|path|target|timer|mount|slice|scope|device|swap|automount)"
_UNIT_HEAD = re.compile(r"^\s{0,4}[●○◌×↻*x]\s(?P<name>" + _UNIT + r")(?: - |\s*$)")
_UNIT_HEAD_PLAIN = re.compile(r"^(?P<name>" + _UNIT + r")(?: - .{1,400})?$")
_LOADED = re.compile(r"^\s{0,16}Loaded: (?P<load>[\w-]{1,20})(?P<rest>.*)$")
_ACTIVE = re.compile(r"^\s{0,16}Active: (?P<active>[\w-]{1,20})(?: \((?P<sub>[^)]{1,40})\))?(?P<rest>.*)$")
_LIST_UNITS = re.compile(
    r"^\s{0,4}(?:[●○◌×↻*] )?\s{0,4}(?P<name>" + _UNIT + r")\s{1,200}(?P<load>loaded|not-found|bad-setting|error|masked|merged|stub)\s{1,20}"
    r"(?P<active>active|reloading|inactive|failed|activating|deactivating|maintenance|refreshing)\s{1,20}(?P<sub>[\w-]{1,32})(?:\s|$)"
)
_ENABLED_STATES = (
    "enabled|enabled-runtime|linked|linked-runtime|alias|masked|masked-runtime|static|indirect|disabled|generated|transient|bad"
)
_LIST_FILES = re.compile(r"^\s{0,4}(?P<name>" + _UNIT + r")\s{1,200}(?P<enabled>" + _ENABLED_STATES + r")(?:\s{1,40}\S{1,32})?\s*$")
_NO_UNIT = re.compile(
    r"Unit (?P<name>" + _UNIT + r") could not be found|Unit file (?P<file>" + _UNIT + r") does not exist"
    r"|Failed to get unit file state for (?P<state>" + _UNIT + ")"
)
_SHOW = re.compile(
    r"^(?P<key>Id|Names|LoadState|ActiveState|SubState|UnitFileState|ActiveEnterTimestamp|InactiveEnterTimestamp|ExecMainStartTimestamp"
    r"|Result|NRestarts|FragmentPath)=(?P<value>.*)$"
)
_STATES = ("active", "inactive", "failed", "activating", "deactivating", "reloading", "unknown", "maintenance")
_ASKED = re.compile(r"systemctl (?:--?[\w=-]{1,40} )*(?:is-active|is-enabled|is-failed|status|show) (?P<rest>.{1,400})")
_PID = re.compile(r"^\s{0,16}Main PID: (?P<pid>\d{1,10})")


def _asked_units(arguments: str) -> list[str]:
    """The unit names of a typed command: what is no option and no option's value."""
    names: list[str] = []
    before = ""
    for word in arguments.split():
        if not word.startswith("-") and before not in ("-p", "--property", "-n", "--lines", "-o", "--output", "-t", "--type"):
            names.append(word)
        before = word
    return names


def _unit_name(name: str) -> str:
    return name if re.match("^" + _UNIT + "$", name) else name + ".service"


def parse_systemctl(text: str) -> dict[str, t.Any]:
    """C(systemctl status|show|list-units|list-unit-files|is-active|is-enabled), several of them in one text too.

    Unit names keep their suffix. A bare C(active) belongs to the unit of the prompt line before it; without one it is in C(bare).
    Also: per unit C(result), C(pid), C(restarts), C(since_text); C(bare).
    """
    units: dict[str, dict[str, t.Any]] = {}
    lines: dict[str, str] = {}
    bare: list[str] = []
    current: str | None = None
    asked: list[str] = []
    show: dict[str, str] = {}
    show_lines: dict[str, str] = {}

    def unit(name: str) -> dict[str, t.Any]:
        return units.setdefault(name, {"load": None, "active": None, "sub": None, "enabled": None, "since": None})

    def close_show() -> None:
        if not show:
            return
        name = show.get("Id") or (show.get("Names") or "").split(" ")[0] or (_unit_name(asked.pop(0)) if asked else "")
        if name:
            entry = unit(name)
            entry["load"] = show.get("LoadState") or entry["load"]
            entry["active"] = show.get("ActiveState") or entry["active"]
            entry["sub"] = show.get("SubState") or entry["sub"]
            entry["enabled"] = show.get("UnitFileState") or entry["enabled"]
            stamp = show.get("ActiveEnterTimestamp") or ""
            if show.get("ActiveState") in ("failed", "inactive"):
                stamp = show.get("InactiveEnterTimestamp") or stamp
            if stamp and stamp != "n/a":
                entry["since"], entry["since_text"] = line_time(stamp) or stamp, stamp
            for key, field in (("Result", "result"), ("NRestarts", "restarts")):
                if show.get(key):
                    entry[field] = show[key]
            lines.setdefault(name, show_lines.get("ActiveState") or show_lines.get("SubState") or next(iter(show_lines.values())))
        show.clear()
        show_lines.clear()

    for raw in lines_of(text_of(text)):
        line = head(raw).rstrip()
        if not line.strip():
            close_show()
            continue
        typed = prompt_command(line)
        if typed:
            close_show()
            match = _ASKED.search(typed)
            asked = _asked_units(match.group("rest")) if match else []
            current = None
            continue
        match = _SHOW.match(line)
        if match:
            if match.group("key") in show:  # the next unit without a blank line between
                close_show()
            show[match.group("key")] = match.group("value").strip()
            show_lines[match.group("key")] = quote(raw)
            continue
        match = _UNIT_HEAD.match(line) or _UNIT_HEAD_PLAIN.match(line)
        if match:
            current = match.group("name")
            unit(current)
            lines.setdefault(current, quote(raw))
            continue
        match = _NO_UNIT.search(line)
        if match:
            name = match.group("name") or match.group("file") or match.group("state")
            unit(name).update(load="not-found", active="inactive", sub="dead")
            lines[name] = quote(raw)
            continue
        match = _LIST_UNITS.match(line)
        if match:
            unit(match.group("name")).update(load=match.group("load"), active=match.group("active"), sub=match.group("sub"))
            lines[match.group("name")] = quote(raw)
            continue
        match = _LIST_FILES.match(line)
        if match:
            unit(match.group("name"))["enabled"] = match.group("enabled")
            lines.setdefault(match.group("name"), quote(raw))
            continue
        if current:
            match = _LOADED.match(line)
            if match:
                entry = unit(current)
                entry["load"] = match.group("load")
                parts = match.group("rest").strip().strip("()").split(";")
                if len(parts) > 1 and parts[1].strip() in _ENABLED_STATES.split("|"):
                    entry["enabled"] = parts[1].strip()
                continue
            match = _ACTIVE.match(line)
            if match:
                entry = unit(current)
                entry["active"], entry["sub"] = match.group("active"), match.group("sub")
                rest = match.group("rest")
                if entry["sub"] and entry["sub"].startswith("Result: "):  # "failed (Result: exit-code)" has no sub state
                    entry["result"], entry["sub"] = entry["sub"][8:], entry["active"]
                found = re.search(r"\(Result: ([\w-]{1,40})", rest)
                if found:
                    entry["result"] = found.group(1)
                since = re.search(r" since (?P<when>[^;]{4,80})", rest)
                if since:
                    entry["since_text"] = since.group("when").strip()
                    entry["since"] = line_time(entry["since_text"]) or entry["since_text"]
                lines[current] = quote(raw)
                continue
            match = _PID.match(line)
            if match:
                unit(current)["pid"] = int(match.group("pid"))
                continue
        row = line.strip()
        if row in _STATES or row in _ENABLED_STATES.split("|"):
            field = "active" if row in _STATES else "enabled"
            if asked:
                name = _unit_name(asked.pop(0))
                unit(name)[field] = row
                lines.setdefault(name, quote(raw))
            else:
                bare.append(row)
    close_show()
    return {"units": units, "lines": lines, "bare": bare}


PARSERS: dict[str, t.Callable[[str], dict[str, t.Any]]] = {
    "containerd_config": parse_containerd_config,
    "containerd_dump": parse_containerd_config,
    "crio_config": parse_crio_config,
    "docker_daemon": parse_docker_daemon,
    "docker_info": parse_docker_info,
    "toolkit_config": parse_toolkit_config,
    "cdi_spec": parse_cdi_spec,
    "nvidia_container_cli": parse_nvidia_container_cli,
    "nvidia_ctk": parse_nvidia_ctk,
    "systemctl": parse_systemctl,
}
