# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors
"""The evidence model: every fact knows where it came from, and how the look ended.

Three sources (live host, live API, capture) end in one L(Evidence): documents (text that a program
printed, or a file) and API objects (dicts in the shape of the Kubernetes API).
"""

from __future__ import annotations

import dataclasses
import re
import typing as t

# How a look ended. Only ABSENT may be read as absence; a file that a capture lacks is NOT_LOOKED.
SEEN = "seen"
ABSENT = "absent"
DENIED = "denied"
FAILED = "failed"
TIMED_OUT = "timed_out"
NOT_LOOKED = "not_looked"
OUTCOMES = (SEEN, ABSENT, DENIED, FAILED, TIMED_OUT, NOT_LOOKED)

MAX_LINE = 4096  # no message we know is longer; what is, is hostile or no log

LAYERS = ("hardware", "driver", "runtime", "device_plugin", "scheduler")


@dataclasses.dataclass(frozen=True)
class Quote:
    """One line of evidence: where it stands and what it says."""

    source: str  # path in the capture, command, or object (Node/gpu-17)
    text: str
    line: int | None = None  # 1-based line number in the source, where there is one
    time: str | None = None  # RFC 3339, where the line carries a time

    def as_dict(self) -> dict[str, t.Any]:
        return {k: v for k, v in dataclasses.asdict(self).items() if v is not None}


@dataclasses.dataclass
class Document:
    """Text that a program printed or a file held, and what is known about where it is from."""

    path: str  # relative to the capture's root; or the command, for live evidence
    kind: str  # one of recognise.KINDS
    text: str = ""
    outcome: str = SEEN
    rc: int | None = None
    source: str = ""  # command or file it came from ("dmesg", "/etc/containerd/config.toml"), when known
    node: str | None = None
    namespace: str | None = None
    pod: str | None = None
    container: str | None = None
    component: str | None = None  # device_plugin, toolkit, driver, driver_manager, validator, operator, workload, ...
    previous: bool = False  # log of the container's previous run
    note: str = ""  # e.g. "cut to the last 8 MiB"

    @property
    def lines(self) -> list[str]:
        cached = self.__dict__.get("_lines")
        if cached is None:
            cached = self.__dict__["_lines"] = self.text.splitlines()
        return cached

    def quote(self, pattern: str | re.Pattern[str], flags: int = 0) -> Quote | None:
        """The first line that matches, as evidence; None when no line does."""
        rx = re.compile(pattern, flags) if isinstance(pattern, str) else pattern
        for number, line in enumerate(self.lines, 1):
            if rx.search(line if len(line) <= MAX_LINE else line[:MAX_LINE]):
                return Quote(self.path, line.strip()[:400], number)
        return None


@dataclasses.dataclass
class Problem:
    """Something about the evidence itself the reader must know: unreadable, cut, not recognised."""

    path: str
    text: str  # one sentence: what is wrong and what to do
    level: str = "note"  # note | warning | error


@dataclasses.dataclass
class Evidence:
    """Everything known in one run, for any number of nodes."""

    origin: str  # path of the capture, or "live"
    form: str  # gpuops | must-gather | pasted | live
    documents: list[Document] = dataclasses.field(default_factory=list)
    # kind ("Node", "Pod", "Event", "DaemonSet", ...) -> API objects. Objects made from printed text carry
    # "_source" (path) and, where the text showed only part of the object, "_partial": True.
    objects: dict[str, list[dict[str, t.Any]]] = dataclasses.field(default_factory=dict)
    looked: dict[str, str] = dataclasses.field(default_factory=dict)  # kind -> outcome of listing that kind
    problems: list[Problem] = dataclasses.field(default_factory=list)
    taken: str | None = None  # RFC 3339: when the evidence was collected, if known
    declared: dict[str, t.Any] = dataclasses.field(default_factory=dict)  # what the capture itself declares (queues, notes)

    def add(self, kind: str, obj: dict[str, t.Any]) -> None:
        self.objects.setdefault(kind, []).append(obj)

    def of(self, kind: str) -> list[dict[str, t.Any]]:
        return self.objects.get(kind, [])

    def node_names(self) -> list[str]:
        """Every node that has an object or documents of its own, in order of appearance."""
        seen: dict[str, None] = {}
        for node in self.of("Node"):
            seen.setdefault(node["metadata"]["name"])
        for doc in self.documents:
            if doc.node:
                seen.setdefault(doc.node)
        return list(seen)
