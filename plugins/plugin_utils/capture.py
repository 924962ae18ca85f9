# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors
"""Opening a capture: our own format, NVIDIA's must-gather, a support bundle, or a folder of whatever was pasted.

A capture comes from people in a hurry and from machines that are ill, and it may come from strangers. So whatever is
wrong with one file is said in one sentence and the others are still read; nothing outside of the capture is opened,
nothing in it is written, and nothing in it decides how much memory is used.
"""

from __future__ import annotations

import bz2
import collections
import dataclasses
import gzip
import io
import json
import lzma
import os
import re
import stat
import tarfile
import typing as t
import zipfile
import zlib

from ansible_collections.gpuops.node.plugins.plugin_utils import kubectl_text, recognise, shape
from ansible_collections.gpuops.node.plugins.plugin_utils.evidence import NOT_LOOKED, OUTCOMES, SEEN, Document, Evidence, Problem

FORMAT = "gpuops.node/capture/v1"
FORMAT_FAMILY = "gpuops.node/capture/"

MAX_TOTAL = 2 * 1024**3  # bytes unpacked from one archive, and read from one capture
MAX_MEMBERS = 200_000
MAX_RATIO_SIZE = 64 * 1024**2  # below this no compression ratio is suspicious
WHOLE = 16 * 1024**2  # files up to this size are kept whole
WHOLE_OBJECTS = 384 * 1024**2  # lists of API objects make no sense in part
TAIL = 8 * 1024**2  # of longer ones: the end, and the lines that speak of the GPU
KEPT_LINES = 8 * 1024**2
PAD_LINES = 3_000_000  # beyond this many lines the numbers of a cut log are not kept
BLOCK = 1024**2
SAME_PROBLEM = 8  # files with the same trouble that are told one by one

# Words of the lines kept from a huge log. Kernel, driver and kubelet lines we judge hold one of them.
KEEP = (b"NVRM", b"nvidia", b"NVIDIA", b"Xid", b"nouveau", b"Linux version", b"tarting kubelet", b"tarted kubelet")

ARCHIVES = (".tar", ".tar.gz", ".tgz", ".tar.xz", ".tar.bz2", ".zip")
COMPRESSED = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}
MAGIC = {b"\x1f\x8b": gzip.open, b"\xfd7zXZ\x00": lzma.open, b"BZh": bz2.open}
# A case's own description, never evidence.
NOT_EVIDENCE = {"case.yml", "case.yaml", "expect.yml", "expect.yaml"}
JUNK = re.compile(r"(?:^|/)(?:\.git|\.svn|__MACOSX|\.DS_Store|Thumbs\.db|\.idea|\.vscode)(?:/|$)|(?:^|/)\._|~$|\.swp$")

# Plural (as in API paths and file names) -> kind.
PLURALS = {
    "nodes": "Node", "pods": "Pod", "events": "Event", "namespaces": "Namespace", "daemonsets": "DaemonSet",
    "deployments": "Deployment", "replicasets": "ReplicaSet", "statefulsets": "StatefulSet", "jobs": "Job",
    "runtimeclasses": "RuntimeClass", "clusterpolicies": "ClusterPolicy", "nvidiadrivers": "NVIDIADriver",
    "resourcequotas": "ResourceQuota", "limitranges": "LimitRange", "priorityclasses": "PriorityClass",
    "poddisruptionbudgets": "PodDisruptionBudget", "leases": "Lease", "configmaps": "ConfigMap", "resourceslices": "ResourceSlice",
    "resourceclaims": "ResourceClaim", "deviceclasses": "DeviceClass", "queues": "Queue", "podgroups": "PodGroup",
    "workloads": "Workload", "clusterqueues": "ClusterQueue", "localqueues": "LocalQueue",
    "persistentvolumeclaims": "PersistentVolumeClaim", "validatingwebhookconfigurations": "ValidatingWebhookConfiguration",
    "mutatingwebhookconfigurations": "MutatingWebhookConfiguration", "nodefeatures": "NodeFeature",
    "nodefeaturerules": "NodeFeatureRule", "customresourcedefinitions": "CustomResourceDefinition",
    "horizontalpodautoscalers": "HorizontalPodAutoscaler", "nodepools": "NodePool", "nodeclaims": "NodeClaim", "versions": "Version",
}  # fmt: skip
CLUSTER_SCOPED = {
    "Node", "Namespace", "RuntimeClass", "ClusterPolicy", "NVIDIADriver", "PriorityClass", "ResourceSlice", "DeviceClass", "Queue",
    "ClusterQueue", "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration", "CustomResourceDefinition", "NodePool",
    "NodeClaim",
}  # fmt: skip
# Logs of programs that speak for the whole cluster: they belong to no node, wherever they run.
CLUSTER_WIDE = {"operator", "scheduler"}
# Where pasted text without any name on it belongs to the node asked about.
_NODE_KINDS = {*recognise.HOST_KINDS, "container_log", "text"}

ANSI = re.compile(r"\x1b(?:\[[0-9;?]{0,32}[ -/]?[@-~]|\][^\x07\x1b]{0,512}(?:\x07|\x1b\\)|[()][A-Z0-9])")
_CRI = re.compile(r"^\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d) (?:stdout|stderr) [FP] ?", re.MULTILINE)
_JSON_LOG = re.compile(r'\A\{"log":"')


class CaptureError(Exception):
    """Nothing of the capture can be judged; the message is one sentence for the reader."""


class UnknownNode(CaptureError):
    """The capture has nodes, and the one asked for is not one of them."""


# ---- files of a capture ----------------------------------------------------------------------------------------


@dataclasses.dataclass
class Entry:
    """One file of the capture, not read yet."""

    path: str
    size: int
    open: t.Callable[[], t.BinaryIO]


class Budget:
    """How much of a capture is read at most, all files together."""

    def __init__(self) -> None:
        self.left = MAX_TOTAL

    def take(self, size: int) -> None:
        self.left -= size
        if self.left < 0:
            raise _TooMuch


class _TooMuch(Exception):
    pass


def _size(number: float) -> str:
    for unit in ("bytes", "KiB", "MiB"):
        if number < 1024:
            return f"{number:.0f} {unit}"
        number /= 1024
    return f"{number:.1f} GiB"


def _show(path: str) -> str:
    """A name as it may be printed: names in archives can hold anything."""
    shown = "".join(c if c.isprintable() else "?" for c in path.encode("utf-8", "replace").decode("utf-8", "replace"))
    return shown if len(shown) <= 200 else shown[:200] + "..."


def _folder_entries(root: str, problems: list[Problem]) -> list[Entry]:
    """All regular files below a folder. Links are followed to files inside of the folder only, never to folders."""
    base = os.path.realpath(root)
    found: list[Entry] = []

    def failed(error: OSError) -> None:
        where = os.path.relpath(error.filename, root) if error.filename else "."
        problems.append(
            Problem(
                _show(where),
                f"The folder {_show(where)} cannot be listed ({error.strerror}); make it readable or collect it again.",
                "warning",
            )
        )

    for folder, folders, names in os.walk(root, onerror=failed):
        folders.sort()
        for name in list(folders):
            if os.path.islink(os.path.join(folder, name)):
                folders.remove(name)
                path = _show(os.path.relpath(os.path.join(folder, name), root))
                problems.append(
                    Problem(
                        path,
                        f"{path} is a link to a folder and was not followed; copy the folder itself into the capture if it is evidence.",
                    )
                )
        for name in sorted(names):
            full = os.path.join(folder, name)
            path = os.path.relpath(full, root).replace(os.sep, "/")
            if JUNK.search(path):
                continue
            try:
                if os.path.islink(full):
                    target = os.path.realpath(full)
                    if os.path.commonpath([base, target]) != base:
                        problems.append(
                            Problem(
                                _show(path),
                                f"{_show(path)} is a link that leaves the capture and was not followed; copy the file itself "
                                "into the capture if it is evidence.",
                                "warning",
                            )
                        )
                        continue
                info = os.stat(full)
            except (OSError, ValueError) as error:
                reason = getattr(error, "strerror", None) or str(error)
                problems.append(Problem(_show(path), f"{_show(path)} cannot be opened ({reason}) and was skipped.", "warning"))
                continue
            if not stat.S_ISREG(info.st_mode):
                problems.append(Problem(_show(path), f"{_show(path)} is not a regular file (a pipe, socket or device) and was skipped."))
                continue
            if len(found) >= MAX_MEMBERS:
                problems.append(
                    Problem(
                        "",
                        f"The capture holds more than {MAX_MEMBERS} files; only the first {MAX_MEMBERS} were read, so give the folder "
                        f"of one cluster.",
                        "error",
                    )
                )
                return found
            found.append(Entry(path, info.st_size, lambda full=full: t.cast(t.BinaryIO, open(full, "rb"))))
    return found


def _safe_name(name: str) -> str | None:
    """The path of an archive member, or None when it would leave the folder it is unpacked in."""
    name = name.replace("\\", "/")
    if name.startswith("/") or re.match(r"^[A-Za-z]:", name) or "\0" in name:
        return None
    parts = [part for part in name.split("/") if part not in ("", ".")]
    return None if ".." in parts or not parts else "/".join(parts)


class _Skipped:
    """Members that are left out, told in one sentence a reason."""

    def __init__(self, problems: list[Problem], archive: str):
        self.problems, self.archive = problems, archive
        self.names: dict[str, list[str]] = {}

    def add(self, reason: str, name: str) -> None:
        self.names.setdefault(reason, []).append(_show(name))

    def tell(self) -> None:
        for reason, names in self.names.items():
            listed = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
            self.problems.append(Problem(names[0], f"Skipped in {self.archive} because {reason}: {listed}.", "warning"))


def _tar_entries(stream: t.BinaryIO, name: str, problems: list[Problem], budget: Budget) -> list[Entry]:
    skipped, found, seen = _Skipped(problems, name), [], 0
    try:
        # Unpacked by ourselves: tarfile takes the end of a cut stream for the end of the archive.
        head = stream.read(6)
        stream.seek(0)
        opener = next((opener for magic, opener in MAGIC.items() if head.startswith(magic)), None)
        plain = t.cast(t.BinaryIO, opener(stream)) if opener else stream
        with tarfile.open(fileobj=plain, mode="r|") as archive:
            for member in archive:
                seen += 1
                if seen > MAX_MEMBERS:
                    problems.append(Problem(name, f"{name} has more than {MAX_MEMBERS} members; the rest was not read.", "error"))
                    break
                if member.isdir():
                    if _safe_name(member.name) is None and member.name.strip("./"):
                        skipped.add("the path leaves the capture", member.name)
                    continue
                path = _safe_name(member.name)
                if path is None:
                    skipped.add("the path leaves the capture", member.name)
                elif member.issym() or member.islnk():
                    skipped.add("a link is not followed", member.name)
                elif not member.isreg():
                    skipped.add("it is not a regular file", member.name)
                elif not JUNK.search(path):
                    budget.take(member.size)
                    data = archive.extractfile(member)
                    if data is not None:
                        found.append(_kept(path, t.cast(t.BinaryIO, data), member.size))
    except _TooMuch:
        problems.append(_too_much(name))
    except (tarfile.TarError, OSError, EOFError, zlib.error, lzma.LZMAError, ValueError) as error:
        problems.append(
            Problem(
                name,
                f"{name} is damaged or cut off ({_first(error)}); what came before the damage was read, so pack or copy it again.",
                "error",
            )
        )
    skipped.tell()
    return found


def _zip_entries(stream: t.BinaryIO, name: str, problems: list[Problem], budget: Budget) -> list[Entry]:
    skipped, found = _Skipped(problems, name), []
    try:
        with zipfile.ZipFile(stream) as archive:
            members = archive.infolist()
            if len(members) > MAX_MEMBERS:
                problems.append(Problem(name, f"{name} has more than {MAX_MEMBERS} members; the rest was not read.", "error"))
            for member in members[:MAX_MEMBERS]:
                if member.is_dir():
                    continue
                path = _safe_name(member.filename)
                if path is None:
                    skipped.add("the path leaves the capture", member.filename)
                elif stat.S_ISLNK(member.external_attr >> 16):
                    skipped.add("a link is not followed", member.filename)
                elif member.flag_bits & 1:
                    skipped.add("it is encrypted", member.filename)
                elif member.file_size > MAX_RATIO_SIZE and member.file_size > 1000 * max(1, member.compress_size):
                    skipped.add("it unpacks to over a thousand times its size", member.filename)
                elif not JUNK.search(path):
                    try:
                        with archive.open(member) as data:
                            found.append(_kept(path, t.cast(t.BinaryIO, _Counted(t.cast(t.BinaryIO, data), budget)), member.file_size))
                    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError, NotImplementedError, RuntimeError) as error:
                        problems.append(
                            Problem(
                                _show(path),
                                f"{_show(path)} in {name} is damaged ({_first(error)}) and was skipped; pack it again.",
                                "warning",
                            )
                        )
    except _TooMuch:
        problems.append(_too_much(name))
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        problems.append(Problem(name, f"{name} is not a readable zip file ({_first(error)}); pack or copy it again.", "error"))
    skipped.tell()
    return found


def _too_much(name: str) -> Problem:
    return Problem(
        name,
        f"{name} unpacks to more than {_size(MAX_TOTAL)}; the rest was not read, so pack only what was collected about this cluster.",
        "error",
    )


def _first(error: BaseException) -> str:
    return (str(error).splitlines() or [""])[0][:120] or type(error).__name__


class _Counted(io.RawIOBase):
    """A stream whose bytes are taken from a budget: what a header promises about a size is not believed."""

    def __init__(self, stream: t.BinaryIO, budget: Budget):
        self._stream, self._budget = stream, budget

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(size if size and size > 0 else BLOCK * 1024)
        self._budget.take(len(data))
        return data


@dataclasses.dataclass
class Content:
    """What was read of one file."""

    data: bytes
    size: int
    note: str = ""
    padded: bool = False  # newlines stand for the lines left out


def _kept(path: str, stream: t.BinaryIO, size: int) -> Entry:
    """A file out of an archive. It is read now, since an archive is read once, and compressed while it waits."""
    content = read_bounded(stream, path)
    packed = zlib.compress(content.data, 1) if len(content.data) > 4096 else content.data
    compressed = packed is not content.data
    data_size, note, padded = content.size, content.note, content.padded

    def again() -> t.BinaryIO:
        raw = zlib.decompress(packed) if compressed else packed
        stream = t.cast(t.BinaryIO, io.BytesIO(raw))
        return t.cast(t.BinaryIO, _Already(stream, Content(raw, data_size, note, padded)))

    return Entry(path, size, again)


class _Already(io.RawIOBase):
    """A stream that was bounded when the archive was read."""

    def __init__(self, stream: t.BinaryIO, content: Content):
        self._stream, self.content = stream, content

    def read(self, size: int = -1) -> bytes:
        return self._stream.read(size)


def _whole_limit(path: str, head: bytes) -> int:
    """Lists of objects are read whole; a YAML of that size would take minutes to parse and is no log either."""
    if path.endswith(".json") and head.lstrip()[:1] in (b"{", b"["):
        return WHOLE_OBJECTS
    return 4 * WHOLE if path.endswith((".yaml", ".yml")) else WHOLE


def read_bounded(stream: t.BinaryIO, path: str) -> Content:
    """A file's bytes; of a huge log the lines about the GPU, each on its own line number, and the end."""
    head = stream.read(WHOLE + 1)
    limit = _whole_limit(path, head[:64])
    chunks, size = [head], len(head)
    while size <= limit:
        block = stream.read(BLOCK)
        if not block:
            return Content(b"".join(chunks) if len(chunks) > 1 else head, size)
        chunks.append(block)
        size += len(block)
    if b"\0" in head[:8192]:
        return Content(head[:8192], size)  # binary: enough to see that
    return _keep_lines(chunks, stream)


def _keep_lines(chunks: list[bytes], stream: t.BinaryIO) -> Content:
    kept: list[tuple[int, bytes]] = []  # (line number, line)
    kept_size, line_number, size = 0, 0, 0
    tail: collections.deque[tuple[int, bytes]] = collections.deque()  # (number of the first line, whole lines)
    tail_size, rest, full = 0, b"", False

    def blocks() -> t.Iterator[bytes]:
        for position in range(len(chunks)):
            chunk, chunks[position] = chunks[position], b""
            for start in range(0, len(chunk), BLOCK):
                yield chunk[start : start + BLOCK]
        while block := stream.read(BLOCK):
            yield block

    def closed(block: bytes) -> None:
        nonlocal line_number, tail_size, kept_size, full
        if not full:
            for number, line in _lines_with(block, line_number):
                kept.append((number, line))
                kept_size += len(line)
                if kept_size > KEPT_LINES:
                    full = True
                    break
        tail.append((line_number, block))
        tail_size += len(block)
        line_number += block.count(b"\n")
        while tail_size - len(tail[0][1]) >= TAIL:
            tail_size -= len(tail.popleft()[1])

    for block in blocks():
        size += len(block)
        end = block.rfind(b"\n") + 1
        if not end:
            rest += block
            if len(rest) > 4 * BLOCK:  # no line is that long: it is no log, but end it somewhere
                closed(rest[-BLOCK:] + b"\n")
                rest = b""
            continue
        closed(rest + block[:end])
        rest = block[end:]
    if rest:
        closed(rest + b"\n")
    first = tail[0][0]
    pad = line_number <= PAD_LINES
    out, at = [], 0
    for number, line in kept:
        if number >= first:
            break
        if pad:
            out.append(b"\n" * (number - at))
        out.append(line + b"\n")
        at = number + 1
    if pad:
        out.append(b"\n" * (first - at))
    out.extend(block for _number, block in tail)
    note = f"cut: of {_size(size)} the lines about the GPU and the last {_size(tail_size)} were read"
    return Content(b"".join(out), size, note, pad)


def _lines_with(block: bytes, first_line: int) -> t.Iterator[tuple[int, bytes]]:
    """(line number, line) of the lines of a block that hold one of the words; the others are never looked at one by one."""
    positions = {word: block.find(word) for word in KEEP}
    positions = {word: at for word, at in positions.items() if at >= 0}
    number, counted = first_line, 0
    while positions:
        hit = min(positions.values())
        start = block.rfind(b"\n", 0, hit) + 1
        end = block.find(b"\n", hit)
        end = len(block) if end < 0 else end
        number += block.count(b"\n", counted, start)
        counted = start
        yield number, block[start : min(end, start + 16384)]
        for word in list(positions):
            if positions[word] < end:
                positions[word] = block.find(word, end)
                if positions[word] < 0:
                    del positions[word]


# ---- bytes to text ---------------------------------------------------------------------------------------------

_BOMS = (
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
    (b"\xef\xbb\xbf", "utf-8-sig"),
)
_CONTROL = bytes(set(range(32)) - {7, 8, 9, 10, 11, 12, 13, 27})


def decode(data: bytes) -> tuple[str | None, str]:
    """(text, note): None when the bytes are no text at all."""
    encoding, note = "utf-8", ""
    for mark, name in _BOMS:
        if data.startswith(mark):
            encoding = name
            break
    else:
        head = data[:8192]
        if head.count(b"\0") * 3 > len(head) and len(head) > 8 and len(set(head[1::2])) <= 2 and head[1:2] == b"\0":
            encoding = "utf-16-le"  # PowerShell's redirection without its mark
        elif b"\0" in head or len(head) - len(head.translate(None, _CONTROL)) > len(head) // 10:
            return None, ""
    if data and not data.strip(b"\0"):
        return None, ""
    try:
        text = data.decode(encoding)
    except (UnicodeDecodeError, ValueError):
        text = data.decode(encoding, "replace")
        bad = text.count("\ufffd")
        if bad * 10 > len(text) * 3:
            return None, ""
        note = "not UTF-8: odd characters were replaced"
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    if "\x1b" in text:
        text = ANSI.sub("", text)
    return text.replace("\0", ""), note


def _unwrap(text: str) -> str:
    """A container log as the container wrote it, without what CRI or Docker put around each line."""
    if _CRI.match(text):
        return _CRI.sub("", text)
    if _JSON_LOG.match(text):
        out = []
        for line in text.splitlines():
            try:
                out.append(str(json.loads(line)["log"]).rstrip("\n").replace("\n", " "))
            except (ValueError, KeyError, TypeError):
                out.append(line)
        return "\n".join(out)
    return text


# ---- documents that are read when asked for --------------------------------------------------------------------


class LazyDocument(Document):
    """A document whose text is read on first use: of a thousand nodes a run looks at few."""

    _loader: t.Callable[[], str] | None = None

    @property  # type: ignore[override]
    def text(self) -> str:
        loader = self.__dict__.get("_loader")
        if loader is not None:
            self.__dict__["_loader"] = None
            self.__dict__["_text"] = loader()
        return t.cast(str, self.__dict__.get("_text", ""))

    @text.setter
    def text(self, value: str) -> None:
        self.__dict__["_text"] = value

    def load_by(self, loader: t.Callable[[], str]) -> LazyDocument:
        self.__dict__["_loader"] = loader
        return self


# ---- the capture ------------------------------------------------------------------------------------------------


class Capture:
    """One reading of a capture, from entries to evidence."""

    def __init__(self, origin: str, node: str | None):
        self.origin = origin
        self.node = node
        self.evidence = Evidence(origin, "pasted")
        self.budget = Budget()
        self.entries: list[Entry] = []
        self.sources: dict[str, list[dict[str, t.Any]]] = {}  # kind -> objects of all sources, before they are merged
        self.named: dict[str, None] = {}  # nodes that folders, files or commands name
        self.nameless: list[dict[str, t.Any]] = []
        self.copies: dict[str, str] = {}  # file -> the one that says the same
        self.known: dict[tuple[t.Any, ...], str] = {}  # what was read in a pasted folder -> the file it was first read in
        self.misfits: dict[str, list[str]] = {}  # file or kind -> what of its objects had another type than the API gives it
        self.documents_left: list[tuple[Document, str | None]] = []  # with the node named by its place, if any

    # -- reading

    def problem(self, path: str, text: str, level: str = "note") -> None:
        self.evidence.problems.append(Problem(_show(path), text, level))

    def read(self) -> Evidence:
        path = self.origin
        if not os.path.exists(path):
            raise CaptureError(f"There is no capture at {_show(path)}: give the path of a folder or of a .tar.gz, .tgz, .tar or .zip file.")
        try:
            if os.path.isdir(path):
                self.entries = _folder_entries(path, self.evidence.problems)
            elif os.path.isfile(path):
                self.entries = self._unpack_file(path)
            else:
                raise CaptureError(f"{_show(path)} is neither a folder nor a file: give the path of a folder or of an archive.")
        except OSError as error:
            raise CaptureError(
                f"{_show(path)} cannot be read ({error.strerror or _first(error)}): make it readable or collect it again."
            ) from error
        self._strip_top()
        manifest = next((e for e in self.entries if e.path == "capture.json"), None)
        own = self._manifest(manifest) if manifest else None
        if own is not None:
            self._read_own(own)
        else:
            self._read_pasted()
        self._finish()
        self._tell_copies()
        self.evidence.problems = _gathered(self.evidence.problems)
        return self.evidence

    def _unpack_file(self, path: str) -> list[Entry]:
        name = os.path.basename(path)
        if not os.path.getsize(path):
            raise CaptureError(f"{_show(path)} is empty: collect the capture again.")
        problems = self.evidence.problems
        with open(path, "rb") as stream:
            entries = self._unpack(t.cast(t.BinaryIO, stream), name)
        if entries is None:
            # Not an archive: one pasted output.
            return [Entry(name, os.path.getsize(path), lambda: t.cast(t.BinaryIO, open(path, "rb")))]
        if not entries and problems:
            raise CaptureError(f"Nothing in {_show(path)} can be read: {problems[-1].text}")
        return entries

    def _unpack(self, stream: t.BinaryIO, name: str) -> list[Entry] | None:
        """The entries of an archive, or None when it is none."""
        head = stream.read(512)
        stream.seek(0)
        if head.startswith(b"PK\x03\x04") or head.startswith(b"PK\x05\x06"):
            return _zip_entries(stream, name, self.evidence.problems, self.budget)
        packed = head.startswith(tuple(MAGIC))
        if head[257:262] == b"ustar" or (packed and not re.search(r"\.(?:log|txt|out|json|ya?ml)(?:\.\d+)?\.(?:gz|xz|bz2)$", name)):
            return _tar_entries(stream, name, self.evidence.problems, self.budget)
        if name.endswith(ARCHIVES):
            # Named as an archive and neither: say so through the reader that fails on it.
            reader = _zip_entries if name.endswith(".zip") else _tar_entries
            return reader(stream, name, self.evidence.problems, self.budget)
        return None

    def _strip_top(self) -> None:
        """Archives and downloads wrap everything into one folder; paths are told without it."""
        manifests = sorted((e.path for e in self.entries if e.path.rsplit("/", 1)[-1] == "capture.json"), key=lambda p: p.count("/"))
        prefix = ""
        if manifests and "/" in manifests[0] and manifests[0].count("/") <= 3:
            prefix = manifests[0].rsplit("/", 1)[0] + "/"
        elif not manifests:
            while self.entries:
                tops = {e.path[len(prefix) :].partition("/")[0] if "/" in e.path[len(prefix) :] else None for e in self.entries}
                top = next(iter(tops))
                # Folder names that say something about what is in them are kept.
                if (
                    len(tops) != 1
                    or top is None
                    or top in ("host", "logs", "log", "nodes", "cluster", "cluster-resources", "namespaces", "cluster-scoped-resources")
                ):
                    break
                prefix += top + "/"
        if prefix:
            inside = [e for e in self.entries if e.path.startswith(prefix)]
            for entry in inside:
                entry.path = entry.path[len(prefix) :]
            if len(inside) < len(self.entries):
                self.problem(prefix, f"Only {prefix} was read: it holds a whole capture, and what lies beside it is not part of it.")
            self.entries = inside

    def content(self, entry: Entry) -> Content | None:
        """A file's bytes, or None with the problem told."""
        try:
            with entry.open() as stream:
                already = getattr(stream, "content", None)
                content = already if already is not None else read_bounded(t.cast(t.BinaryIO, _Counted(stream, self.budget)), entry.path)
        except _TooMuch:
            if not any(p.level == "error" and "rest was not read" in p.text for p in self.evidence.problems):
                self.problem(
                    entry.path,
                    f"The capture holds more than {_size(MAX_TOTAL)}; from {_show(entry.path)} on the rest was not read, so give "
                    f"the folder of one cluster.",
                    "error",
                )
            return None
        except (OSError, ValueError, MemoryError) as error:
            reason = getattr(error, "strerror", None) or _first(error)
            self.problem(
                entry.path,
                f"{_show(entry.path)} cannot be read ({reason}) and was skipped; make it readable or collect it again.",
                "warning",
            )
            return None
        return content

    def text_of(self, entry: Entry, content: Content) -> tuple[str | None, str]:
        """(text, note) of a file; unpacks single compressed files."""
        suffix = os.path.splitext(entry.path)[1].lower()
        if suffix in COMPRESSED and content.data.startswith(tuple(MAGIC)):
            try:
                with COMPRESSED[suffix](io.BytesIO(content.data)) as stream:
                    content = read_bounded(
                        t.cast(t.BinaryIO, _Counted(t.cast(t.BinaryIO, stream), self.budget)), entry.path[: -len(suffix)]
                    )
            except (OSError, EOFError, zlib.error, lzma.LZMAError, ValueError, _TooMuch) as error:
                self.problem(
                    entry.path, f"{_show(entry.path)} cannot be unpacked ({_first(error)}) and was skipped; copy it again.", "warning"
                )
                return None, ""
        text, note = decode(content.data)
        if note:
            self.problem(
                entry.path,
                f"{_show(entry.path)} is not UTF-8 text; characters that could not be read were replaced, and the rest was judged.",
            )
        if content.note:
            self.problem(
                entry.path,
                f"{_show(entry.path)} is large and was {content.note}; if the fault is older, cut the file to the time of the fault.",
            )
            note = content.note
        return text, note

    # -- our own format

    def _manifest(self, entry: Entry) -> dict[str, t.Any] | None:
        content = self.content(entry)
        text = decode(content.data)[0] if content else None
        try:
            manifest = json.loads(text or "")
        except ValueError:
            manifest = None
            if any(e.path.startswith(("cluster/", "nodes/")) for e in self.entries):
                self.problem(
                    entry.path,
                    "capture.json is damaged; the files beside it were judged, but how each look ended is not known, so collect again.",
                    "error",
                )
                return {}
        if not isinstance(manifest, dict):
            return None
        version = str(manifest.get("format") or "")
        if not version.startswith(FORMAT_FAMILY):
            return None
        if version != FORMAT:
            self.problem(
                entry.path,
                f"capture.json says {_show(version)}, which is not {FORMAT}; it was read as far as it is understood, so use "
                f"the version of this collection that wrote it.",
                "warning",
            )
        return manifest

    def _read_own(self, manifest: dict[str, t.Any]) -> None:
        evidence = self.evidence
        evidence.form = "gpuops"
        taken = manifest.get("taken") or manifest.get("created")
        evidence.taken = str(taken) if taken else None
        declared = manifest.get("declared")
        evidence.declared = declared if isinstance(declared, dict) else {}
        for name in manifest.get("nodes") if isinstance(manifest.get("nodes"), list) else []:
            name = name.get("name") if isinstance(name, dict) else name
            if isinstance(name, str) and name:
                self.named.setdefault(name)
        listed: dict[str, dict[str, t.Any]] = {}
        files = manifest.get("files")
        for position, item in enumerate(files if isinstance(files, list) else []):
            if isinstance(item, dict):
                listed[str(item.get("path") or f"#{position}")] = item
        for entry in self.entries:
            if entry.path == "capture.json":
                continue
            self._own_file(entry, listed.pop(entry.path, {}))
        for path, item in listed.items():
            self._own_absent(path, item)

    @staticmethod
    def _own_place(path: str, item: dict[str, t.Any]) -> tuple[str | None, str | None]:
        """(node, API kind) that a path of our layout says."""
        parts = path.split("/")
        if parts[0] == "nodes" and len(parts) > 2:
            return parts[1], None
        if parts[0] == "cluster" and len(parts) == 2:
            stem = parts[1].split(".")[0]
            return None, PLURALS.get(stem) or "".join(w.capitalize() for w in re.split(r"[-_]", stem))
        return None, None

    def _own_document(self, path: str, item: dict[str, t.Any], cls: type[Document]) -> tuple[Document, str | None]:
        node, api_kind = self._own_place(path, item)
        named = recognise.by_name(path) or recognise.Recognition("text")
        kind = item.get("kind")
        outcome = item.get("outcome") if item.get("outcome") in OUTCOMES else SEEN
        if api_kind:
            kind = "kube_objects"
        elif kind not in recognise.KINDS:
            kind = named.kind
        node = item.get("node") if isinstance(item.get("node"), str) and item.get("node") else node
        rc = item.get("rc") if isinstance(item.get("rc"), int) else None
        doc = cls(
            path, kind, "", outcome, rc, str(item.get("source") or ""), node, named.namespace, named.pod, named.container,
            named.component if kind == "container_log" else None, named.previous, str(item.get("note") or ""),
        )  # fmt: skip
        if node:
            self.named.setdefault(node)
        return doc, api_kind

    def _own_file(self, entry: Entry, item: dict[str, t.Any]) -> None:
        doc, api_kind = self._own_document(entry.path, item, LazyDocument)
        if api_kind:
            if doc.outcome != SEEN:
                self.evidence.looked[api_kind] = doc.outcome
                self._load_lazily(t.cast(LazyDocument, doc), entry)
            else:
                self._own_objects(t.cast(LazyDocument, doc), entry, api_kind)
        elif doc.kind == "text" and "kind" not in item and not recognise.by_name(entry.path):
            # A file that somebody put into the capture.
            self._pasted_file(entry)
            return
        else:
            self._load_lazily(t.cast(LazyDocument, doc), entry)
        self.documents_left.append((doc, doc.node))

    def _load_lazily(self, doc: LazyDocument, entry: Entry) -> None:
        log = doc.kind == "container_log"

        def load() -> str:
            content = self.content(entry)
            text, note = self.text_of(entry, content) if content else (None, "")
            if note:
                doc.note = doc.note or note
            return (_unwrap(text) if log else text) if text is not None else ""

        doc.load_by(load)

    def _own_objects(self, doc: LazyDocument, entry: Entry, api_kind: str) -> None:
        self._load_lazily(doc, entry)
        content = self.content(entry)
        text = self.text_of(entry, content)[0] if content else None
        if text is None:
            self.problem(entry.path, f"{_show(entry.path)} is not text, so {api_kind} objects are not known; collect again.", "error")
            self.evidence.looked[api_kind] = "failed"
            return
        try:
            loaded = json.loads(text)
            if _HALF.search(text):
                loaded = shape.without_halves(loaded)
            items = (
                loaded.get("items")
                if isinstance(loaded, dict) and isinstance(loaded.get("items"), list)
                else loaded
                if isinstance(loaded, list)
                else [loaded]
            )
            complete = True
        except (ValueError, RecursionError):
            items, complete = kubectl_text.salvage_json(text)
        if not complete:
            whole = "nothing" if not items else f"{len(items)} object{'s' if len(items) != 1 else ''}"
            self.problem(
                entry.path,
                f"{_show(entry.path)} is cut off or no JSON; {whole} could be read from it, so collect again for the rest.",
                "error",
            )
        if (
            isinstance(items, list)
            and len(items) == 1
            and isinstance(items[0], dict)
            and not items[0].get("metadata")
            and api_kind not in ("Version",)
            and "items" in items[0]
        ):
            items = items[0]["items"] or []
        kind = api_kind
        for obj in items:
            if isinstance(obj, dict) and obj:
                # Marks with an underscore are ours; a file cannot set them.
                for key in [key for key in obj if key.startswith("_")]:
                    del obj[key]
                if not isinstance(obj.get("kind"), str) or not obj["kind"]:
                    obj["kind"] = kind
                self._object(obj, None, entry.path)
        self.evidence.looked[api_kind] = SEEN if complete else "failed"

    def _own_absent(self, path: str, item: dict[str, t.Any]) -> None:
        """A look that left no file: it was denied, timed out, found nothing."""
        doc, api_kind = self._own_document(path, item, Document)
        if doc.outcome == SEEN:
            doc.outcome = NOT_LOOKED
            self.problem(
                path, f"{_show(path)} is listed in capture.json but is not there; copy the whole capture or collect again.", "warning"
            )
        text = item.get("text") or item.get("error")
        doc.text = str(text) if text else ""
        if api_kind:
            self.evidence.looked[api_kind] = doc.outcome
        self.documents_left.append((doc, doc.node))

    # -- pasted folders, must-gather, support bundles

    def _read_pasted(self) -> None:
        names = {e.path.rsplit("/", 1)[-1] for e in self.entries}
        if names & {"gpu_nodes.descr", "gpu_nodes.status", "gpu_operand_pods.status", "gpu_operand_pods.yaml", "gpu_operator_pod.log"}:
            self.evidence.form = "must-gather"
        for entry in list(self.entries):
            if entry.path in NOT_EVIDENCE:
                continue
            self._pasted_file(entry)
        if not self.sources and not self.nameless and all(doc.kind == "unrecognised" for doc, _place in self.documents_left):
            told = [p.text for p in self.evidence.problems if p.level != "note"] or [p.text for p in self.evidence.problems]
            raise CaptureError(
                f"There is no evidence in {_show(self.origin)}: {told[-1]}" if told
                else (
                    f"There is no evidence in {_show(self.origin)}: it is empty, so put what was printed about the node into it, "
                    f"one file an output."
                )
            )  # fmt: skip

    def _pasted_file(self, entry: Entry, depth: int = 0) -> None:
        content = self.content(entry)
        if content is None:
            return
        if entry.path.endswith(ARCHIVES) and depth < 1:
            inner = self._unpack(t.cast(t.BinaryIO, io.BytesIO(content.data)), entry.path) if not content.note else None
            if inner:
                for member in inner:
                    member.path = f"{entry.path}/{member.path}"
                    self._pasted_file(member, depth + 1)
                return
        text, note = self.text_of(entry, content)
        if text is None or not text.strip():
            self._unreadable(entry, content, text)
            return
        node = self._node_of_place(entry.path)
        if "nvidia-bug-report" in entry.path.rsplit("/", 1)[-1]:
            parts = recognise.bug_report_parts(entry.path, text)
        else:
            parts = recognise.parts_of(entry.path, text)
        if entry.path.endswith(".json") and all(part.recognition.kind == "text" for part in parts) and not _is_json(text):
            self.problem(
                entry.path,
                f"{_show(entry.path)} is cut off, nested too deeply or no JSON, and was only searched for known messages; export it again.",
            )
        for part in parts:
            found = part.recognition
            body = _unwrap(part.text) if found.kind == "container_log" else part.text
            doc = Document(
                entry.path, found.kind, body, SEEN, None, found.source, None, found.namespace, found.pod, found.container,
                found.component if found.kind == "container_log" else None, found.previous, note,
            )  # fmt: skip
            if found.kind not in _NODE_KINDS and self._again(doc, (found.kind, node, found.node, found.pod, found.namespace, body)):
                continue
            self.documents_left.append((doc, node))
            self._objects_of(doc, found)

    def _again(self, doc: Document, key: tuple[t.Any, ...]) -> bool:
        """Whether the same was read before: a copy is no second witness."""
        if not doc.text.strip():
            return False
        before = self.known.setdefault(key, doc.path)
        if before == doc.path:
            return False  # the first; or one file that holds it twice, told by that file's own lines
        self.copies[doc.path] = before
        return True

    def _tell_copies(self) -> None:
        pairs = [f"{_show(path)} as {_show(before)}" for path, before in self.copies.items()]
        if len(pairs) == 1:
            path, before = next(iter(self.copies.items()))
            self.problem(path, f"{_show(path)} says the same as {_show(before)}, word for word, so it was read once.")
        elif pairs:
            listed = ", ".join(pairs[:3]) + (f" and {len(pairs) - 3:,} more" if len(pairs) > 3 else "")
            self.problem("", f"{len(pairs):,} files say the same as others, word for word, and were read once: {listed}.")

    def _unreadable(self, entry: Entry, content: Content, text: str | None) -> None:
        name = entry.path.rsplit("/", 1)[-1]
        if name == "cluster_policy.missing":
            self.evidence.looked["ClusterPolicy"] = SEEN  # must-gather looked, and there is none
            return
        doc = Document(entry.path, "unrecognised")
        if text is None and content.data:
            if entry.path.endswith(tuple(COMPRESSED)) and any(p.path == _show(entry.path) for p in self.evidence.problems):
                pass
            else:
                self.problem(entry.path, f"{_show(entry.path)} is not text and was not judged; put in what the command printed.")
            doc.note = "not text"
        else:
            doc.note = "empty"
            # An empty file is what a failed command leaves behind; must-gather makes many, and says so in its own log.
            if self.evidence.form == "pasted":
                self.problem(entry.path, f"{_show(entry.path)} is empty, which proves nothing; run its command again and see what it says.")
        self.documents_left.append((doc, None))

    def _node_of_place(self, path: str) -> str | None:
        """The node that a path of a pasted folder names by itself."""
        match = re.search(r"(?:^|/)(?:nodes?|hosts?)/([a-z0-9][a-z0-9.-]*)/", path)
        if match and match.group(1) not in ("host", "logs"):
            self.named.setdefault(match.group(1))
            return match.group(1)
        match = re.search(r"nvidia-bug-report_([a-z0-9][a-z0-9.-]*?)\.log", path)
        return match.group(1) if match else None

    def _objects_of(self, doc: Document, found: recognise.Recognition) -> None:
        """API objects that a document shows."""
        text, source = doc.text, doc.path
        events: list[dict[str, t.Any]] = []
        if found.kind == "describe_node":
            nodes = kubectl_text.parse_describe_nodes(text, source)
            events = kubectl_text.parse_events(text, source) if _EVENT_LINE.search(text) else []
            hint = found.node if len(nodes) <= 1 else None
            for node in nodes:
                self._object(node, hint)
            for event in events:
                _about(event, "Node", found.node or next((_name(n) for n in nodes if _name(n)), None))
        elif found.kind == "describe_pod":
            pods, events = kubectl_text.parse_describe_pods(text, source)
            for pod in pods:
                if found.pod and len(pods) == 1 and not _name(pod):
                    pod.setdefault("metadata", {})["name"] = found.pod
                self._object(pod, None)
            if len(pods) <= 1:
                for event in events:
                    _about(event, "Pod", found.pod or next((_name(p) for p in pods if _name(p)), None))
        elif found.kind in ("describe_other", "get_events"):
            events = kubectl_text.parse_events(text, source)
        elif found.kind in ("get_nodes", "get_pods", "get_daemonsets", "get_runtimeclass", "get_table"):
            kind, objects = kubectl_text.parse_table(text, source)
            if not objects and found.kind == "get_nodes":  # --show-labels cut down to the labels
                objects = kubectl_text.parse_describe_nodes(text, source)
            for obj in objects:
                self._object(obj, found.node if len(objects) == 1 else None)
            self._whole_table(doc, found, kind, text)
        elif found.kind == "kube_objects":
            self._yaml_objects(doc, found)
        elif found.kind == "kubectl_output":
            self._whole_table(doc, found, "", text)
        for event in events:
            self._object(event, None)

    def _yaml_objects(self, doc: Document, found: recognise.Recognition) -> None:
        text = doc.text
        if _is_bomb(text):
            self.problem(
                doc.path,
                f"{_show(doc.path)} is built from YAML aliases, which kubectl never prints; its objects were not read, so "
                f"export them with kubectl.",
                "warning",
            )
            return
        stripped = text.strip()
        if stripped[:1] in "{[" and stripped:
            objects, complete = kubectl_text.salvage_json(text)
            if complete and len(text) > WHOLE:
                objects = kubectl_text.shaped(objects, text, doc.path)  # parsed once: it takes seconds
            elif complete:
                objects = kubectl_text.parse_objects(text, doc.path)
            else:
                for obj in objects:
                    if isinstance(obj, dict):
                        obj.setdefault("_source", doc.path)
                readable = [obj for obj in objects if isinstance(obj, dict)] or kubectl_text.parse_objects(text, doc.path)
                self.problem(
                    doc.path,
                    f"{_show(doc.path)} is cut off or no JSON; {len(readable)} object{'s' if len(readable) != 1 else ''} could be "
                    f"read from it, so export it again for the rest.",
                    "warning",
                )
                objects = readable
        else:
            objects = kubectl_text.parse_objects(text, doc.path)
            complete = True
        if not objects and complete and not re.search(r"^\s*\"?items\"?:\s*\[\s*\]", text, re.MULTILINE):
            large = f" (it is YAML of more than {_size(kubectl_text.MAX_YAML)})" if len(text) > kubectl_text.MAX_YAML else ""
            self.problem(
                doc.path,
                f"{_show(doc.path)} looks like API objects, and none could be read from it{large}; "
                "export it again with kubectl get -o json.",
                "warning",
            )
        for obj in objects:
            if not isinstance(obj, dict):
                continue
            if (
                found.pod
                and len(objects) == 1
                and obj.get("kind") == "Pod"
                and not _name(obj)
                and not (obj.get("metadata") or {}).get("generateName")
            ):
                obj.setdefault("metadata", {})["name"] = found.pod
            self._object(obj, found.node if len(objects) == 1 else None)
        if not complete:
            return
        head = text[:4096]
        match = re.search(r'^"?kind"?\s*:\s*"?(\w*)List"?,?\s*$', head + "\n" + text[-4096:], re.MULTILINE) or re.search(
            r'"kind"\s*:\s*"(\w*)List"', head
        )
        if match:
            self._whole_list([obj for obj in objects if isinstance(obj, dict)], match.group(1), doc)

    def _whole_list(self, objects: list[dict[str, t.Any]], kind: str, doc: Document) -> None:
        kinds = {str(obj.get("kind")) for obj in objects} or ({kind} if kind else set())
        if re.search(r"(?:^| )(?:-l|--selector|--field-selector|-l\S+)[ =]", doc.source):
            return
        for kind in kinds:
            spaces = {(obj.get("metadata") or {}).get("namespace") for obj in objects if obj.get("kind") == kind}
            everywhere = re.search(r"(?:^| )(?:-A|--all-namespaces)\b", doc.source) or len(spaces) > 1
            if (kind in CLUSTER_SCOPED and self.evidence.form != "must-gather") or everywhere:
                self.evidence.looked.setdefault(kind, SEEN)

    def _whole_table(self, doc: Document, found: recognise.Recognition, kind: str, text: str) -> None:
        """Whether a table shows all objects of its kind there are: then what is not in it does not exist."""
        if self.evidence.form == "must-gather":
            return  # one namespace, and nodes by label
        if re.search(r"^No resources found\.?\s*$", text, re.MULTILINE):
            kind = kind or _kind_asked(doc)
            if kind in CLUSTER_SCOPED or re.search(r"(?:^| )(?:-A|--all-namespaces)\b", doc.source):
                self.evidence.looked.setdefault(kind, SEEN)
            return
        if not kind or re.search(r"\| *(?:grep|head|tail|awk)|(?:^| )(?:-l|--selector|--field-selector)[ =]", doc.source) or found.node:
            return
        header = next((line for line in text.splitlines() if line.strip() and not recognise.prompt_command(line)), "")
        # Tables of pods and nodes are cut down to the rows of interest before they are pasted; these two hardly ever.
        if kind == "RuntimeClass" and header.startswith("NAME") or kind == "DaemonSet" and header.startswith("NAMESPACE"):
            self.evidence.looked.setdefault(kind, SEEN)

    # -- objects

    def _object(self, obj: dict[str, t.Any], node: str | None, path: str = "") -> None:
        kind = obj.get("kind")
        kind = kind if isinstance(kind, str) and kind else "Other"
        if not isinstance(obj.get("metadata"), dict):
            obj["metadata"] = {}
        if kind == "Event" and obj.get("note") and not obj.get("message"):
            obj["message"] = obj["note"]  # its name in events.k8s.io
        lost = shape.fit(obj, kind)
        if lost:
            where = path or str(obj.get("_source") or f"{kind} objects")
            self.misfits.setdefault(where, []).extend(f"{path} of {kind} {_name(obj) or 'without a name'}" for path in dict.fromkeys(lost))
        if kind == "Node" and not _name(obj).isprintable():
            obj["metadata"]["name"] = _show(_name(obj))  # names are printed in sentences
        if kind == "Node" and not _name(obj):
            if node is None:
                self.nameless.append(obj)
                return
            obj["metadata"]["name"] = node
        self.sources.setdefault(kind, []).append(obj)

    def _two_clusters(self) -> None:
        uids = {
            str(o["metadata"]["uid"]) for o in self.sources.get("Namespace", []) if _name(o) == "kube-system" and o["metadata"].get("uid")
        }
        what = "the namespace kube-system has two identities" if len(uids) > 1 else ""
        if not what:
            known: dict[tuple[str, str], str] = {}
            for obj in self.sources.get("Node", []):
                info = (obj.get("status") or {}).get("nodeInfo") if isinstance(obj.get("status"), dict) else None
                info = info if isinstance(info, dict) else {}
                for key, value in (
                    ("uid", obj["metadata"].get("uid")),
                    ("system UUID", info.get("systemUUID")),
                    ("machine ID", info.get("machineID")),
                ):
                    if value and known.setdefault((_name(obj), key), str(value).lower()) != str(value).lower():
                        what = f"node {_name(obj)} has two different {key}s"
        if what:
            self.problem(
                "",
                f"The capture mixes two clusters ({what}); what it shows was judged as one, so give the evidence of each "
                f"cluster by itself.",
                "error",
            )

    # -- whose is what

    def _misfits(self) -> None:
        """Objects that no API server gave like this: said once a file."""
        for where, lost in self.misfits.items():
            listed = ", ".join(_show(x) for x in lost[:3]) + (f" and {len(lost) - 3} more" if len(lost) > 3 else "")
            self.problem(
                where,
                f"{_show(where)}: {listed} {'is' if len(lost) == 1 else 'are'} not of the type that the API gives and "
                f"{'was' if len(lost) == 1 else 'were'} left out; export the objects with kubectl, unedited.",
                "warning",
            )

    def _finish(self) -> None:
        self._misfits()
        self._two_clusters()
        nodes = list(dict.fromkeys([n for n in (_name(o) for o in self.sources.get("Node", [])) if n] + list(self.named)))
        asked = self.node
        if asked is not None and asked not in nodes and (nodes or self.evidence.form == "gpuops"):
            shown = ", ".join(map(_show, nodes[:8])) + (f" and {len(nodes) - 8} more" if len(nodes) > 8 else "")
            raise UnknownNode(
                f"The capture {_show(self.origin)} has no node {_show(asked)}; "
                + (f"the node{'s' if len(nodes) > 1 else ''} it knows: {shown}." if nodes else "it names no node at all.")
            )
        owner = asked or self._only_node(nodes)
        if owner is None and not nodes and self.evidence.form != "gpuops":
            owner = "node"
        for obj in self.nameless:
            if owner:
                obj["metadata"]["name"] = owner
                self.sources.setdefault("Node", []).append(obj)
        if self.nameless and not owner:
            paths = sorted({str(o.get("_source")) for o in self.nameless})
            self.problem(
                paths[0],
                f"{', '.join(map(_show, paths[:3]))} does not say which node it is about and the capture knows {len(nodes)}; "
                f"ask for one node, or put the file into a folder named as the node.",
                "warning",
            )
        for kind, objects in self.sources.items():
            merged = (
                objects
                if self.evidence.form == "gpuops" and len({id(o) for o in objects}) == len({_key(o) for o in objects})
                else kubectl_text.merge_objects(objects)
            )
            self.evidence.objects[kind] = list(merged)
        self._attribute(nodes, owner)

    def _only_node(self, nodes: list[str]) -> str | None:
        """The one node a folder is about: the only one it knows, or the only one it knows more of than a row in a table."""
        if len(nodes) == 1:
            return nodes[0]
        if self.evidence.form != "pasted":
            return None
        about = {_name(o) for o in self.sources.get("Node", []) if not o.get("_table")} | set(self.named)
        if len(about) == 1:
            return next(iter(about))
        return None

    def _attribute(self, nodes: list[str], owner: str | None) -> None:
        pods: dict[str, str] = {}
        ambiguous: set[str] = set()
        for pod in self.evidence.of("Pod"):
            where = (pod.get("spec") or {}).get("nodeName") if isinstance(pod.get("spec"), dict) else None
            where = where or (pod.get("_table") or {}).get("node")
            if isinstance(where, str) and where and where not in ("<none>", "<unset>"):
                for key in (f"{pod['metadata'].get('namespace')}/{_name(pod)}", _name(pod)):
                    if pods.setdefault(key, where) != where:
                        ambiguous.add(key)
        known = set(nodes)
        # "gpu-17" in a folder's or file's name; the longest first, since gpu-1 is part of gpu-17.
        in_path = (
            re.compile("(?<![a-z0-9])(" + "|".join(re.escape(n) for n in sorted(known, key=len, reverse=True)) + ")(?![a-z0-9])")
            if known and len(known) <= 2000
            else None
        )
        pasted = self.evidence.form != "gpuops"
        lost: list[str] = []
        for doc, place in self.documents_left:
            if doc.kind in _NODE_KINDS:
                doc.node = self._node_of(doc, place, pods, ambiguous, known, in_path if pasted else None, owner if pasted else None)
                if (
                    doc.node is None
                    and pasted
                    and doc.kind != "text"
                    and doc.component not in (*CLUSTER_WIDE, "nfd", "workload", "other", "dra")
                ):
                    lost.append(doc.path)
                if self.evidence.form == "pasted" and self._again(
                    doc, (doc.kind, doc.node, doc.namespace, doc.pod, doc.container, doc.component, doc.previous, doc.text)
                ):
                    continue
            elif doc.kind == "describe_node":
                about = {_name(o) for o in self.evidence.of("Node") if o.get("_source") == doc.path}
                doc.node = next(iter(about)) if len(about) == 1 else None
            self.evidence.documents.append(doc)
        if lost and self.evidence.form == "pasted":
            self.problem(
                lost[0],
                f"{', '.join(map(_show, lost[:3]))}{f' and {len(lost) - 3} more' if len(lost) > 3 else ''} could be of any of "
                f"the {len(nodes)} nodes; ask for one node, or put the files of each into a folder named as the node.",
                "warning",
            )

    def _node_of(
        self,
        doc: Document,
        place: str | None,
        pods: dict[str, str],
        ambiguous: set[str],
        known: set[str],
        in_path: re.Pattern[str] | None,
        owner: str | None,
    ) -> str | None:
        if doc.kind == "container_log":
            if doc.component in CLUSTER_WIDE or (doc.component == "nfd" and "worker" not in (doc.pod or "worker")):
                return None
            for key in (f"{doc.namespace}/{doc.pod}", doc.pod or ""):
                if key in pods and key not in ambiguous:
                    return pods[key]
            if doc.node:
                return doc.node
        elif doc.node and place == doc.node:
            return doc.node
        if place:
            return place
        if in_path:
            match = in_path.search(doc.path)
            if match:
                return match.group(1)
        if in_path and doc.kind in _HOSTS and known != {owner}:
            name = _hostname(doc)
            if name and name in known:
                return name
        return owner


_HOSTS = {
    "journal": re.compile(
        r"^(?:[A-Z][a-z]{2} +\d{1,2} \d\d:\d\d:\d\d(?:\.\d+)?|\d{4}-\d\d-\d\d[T ]\S+) (\S+) [\w@./()-]+(?:\[\d+\])?: ", re.MULTILINE
    ),
    "uname": re.compile(r"^Linux (\S+) \d+\."),
}
_HOSTS["kubelet_log"] = _HOSTS["kernel_log"] = _HOSTS["fabricmanager_log"] = _HOSTS["journal"]


def _hostname(doc: Document) -> str | None:
    """The host that a text says it is from."""
    pattern = _HOSTS.get(doc.kind)
    match = pattern.search(doc.text[:65536]) if pattern else None
    return match.group(1) if match else None


def _name(obj: dict[str, t.Any]) -> str:
    meta = obj.get("metadata")
    name = meta.get("name") if isinstance(meta, dict) else None
    return name if isinstance(name, str) else ""


def _key(obj: dict[str, t.Any]) -> tuple[str, str]:
    return str(obj["metadata"].get("namespace") or ""), _name(obj)


def _about(event: dict[str, t.Any], kind: str, name: str | None) -> None:
    """Say whose an event is, where the text around it did not."""
    ref = event.get("involvedObject")
    if name and not (isinstance(ref, dict) and ref.get("name")):
        event["involvedObject"] = {**(ref if isinstance(ref, dict) else {}), "kind": kind, "name": name}


def _kind_asked(doc: Document) -> str:
    words = re.findall(r"[a-z]+", doc.source) if doc.source else re.split(r"[^a-z]+", doc.path.lower())
    short = {
        "ds": "DaemonSet",
        "node": "Node",
        "pod": "Pod",
        "daemonset": "DaemonSet",
        "runtimeclass": "RuntimeClass",
        "clusterpolicy": "ClusterPolicy",
        "event": "Event",
    }
    return next((PLURALS.get(w) or short[w] for w in words if w in PLURALS or w in short), "")


def _is_json(text: str) -> bool:
    """Whether a text is JSON, or lines of JSON as loggers write them."""
    try:
        json.loads(text[: text.find("\n")] if text.startswith("{") and "}\n{" in text[:65536] else text)
    except (ValueError, RecursionError):
        return False
    return True


def _gathered(problems: list[Problem]) -> list[Problem]:
    """The same sentence about many files is one sentence: every node's verdict carries them."""
    groups: dict[tuple[str, str], list[Problem]] = {}
    for problem in problems:
        shape = problem.text.replace(problem.path, "\0") if problem.path else problem.text
        groups.setdefault((problem.level, shape), []).append(problem)
    out: list[Problem] = []
    for (level, shape), members in groups.items():
        if len(members) <= SAME_PROBLEM:
            out += members
            continue
        first = [m.path for m in members[:3]]
        text = shape.replace("\0", "each" if shape.startswith("\0") else "it")
        out.append(Problem(first[0], f"{len(members):,} files ({', '.join(first)} and {len(members) - 3:,} more): {text}", level))
    return out


_HALF = re.compile(r"\\u[dD][89a-fA-F]")  # JSON's spelling of half a character
_EVENT_LINE = re.compile(r"^\s*(?:Normal|Warning)\s", re.MULTILINE)
_ANCHOR = re.compile(r"(?:^|[\s:,\[{-])&[\w-]+")
_ALIAS = re.compile(r"(?:[:,\[{-]\s*)\*[\w-]+")


def _is_bomb(text: str) -> bool:
    if "&" not in text or "*" not in text or text.lstrip()[:1] == "{" and '"' in text[:200]:
        return False
    return bool(_ANCHOR.search(text)) and sum(1 for _alias in _ALIAS.finditer(text)) > 8


def open_capture(path: str, node: str | None = None) -> Evidence:
    """Read a capture. I(node) is the node asked about: output that names none belongs to it.

    Raises CaptureError when there is nothing to judge, and UnknownNode when the capture knows nodes and not this one.
    """
    return Capture(path, node).read()
