# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors
"""The catalogue: faults, signatures and owners as data, read once per process."""

from __future__ import annotations

import dataclasses
import functools
import pathlib
import re
import typing as t

import yaml

HERE = pathlib.Path(__file__).resolve().parent

# Strength of a signature, strongest first (what each means: signatures.yml).
STRENGTHS = ("decisive", "supporting", "symptom", "context", "healthy", "harmless")


@dataclasses.dataclass(frozen=True, eq=False)
class Signature:
    """One program message and what it speaks for."""

    id: str
    fault: str
    strength: str
    pattern: str
    hints: tuple[str, ...]  # literal texts of which a matching line holds at least one; () = none known
    also: frozenset[str]
    kinds: frozenset[str]  # empty = any kind of document
    anchored: bool  # the pattern says where a line begins
    meaning: str
    source: str

    @functools.cached_property
    def rx(self) -> re.Pattern[str]:
        """Compiled when first needed: most runs need a few dozen of them."""
        return re.compile(self.pattern)


def load_yaml(name: str) -> t.Any:
    """A catalogue file as plain data. It is ours, so it is trusted; the C loader is 10x faster where it exists."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.load((HERE / name).read_text(encoding="utf-8"), Loader=loader)


@functools.cache
def faults() -> dict[str, dict[str, t.Any]]:
    """id -> entry of faults.yml, in catalogue order (bottom-up)."""
    return {entry["id"]: entry for entry in load_yaml("faults.yml")["faults"]}


@functools.cache
def pod_side() -> frozenset[str]:
    """Faults that lie with a pod or its queue, not with the node."""
    return frozenset(fault for fault, entry in faults().items() if entry.get("pod_side"))


@functools.cache
def layers() -> dict[str, dict[str, t.Any]]:
    """layer -> its words, bottom-up."""
    return load_yaml("layers.yml")


@functools.cache
def order() -> dict[str, int]:
    """id -> place in the catalogue; the lowest layer comes first."""
    return {fault: place for place, fault in enumerate(faults())}


def layer_of(fault: str) -> str | None:
    entry = faults().get(fault)
    return entry["layer"] if entry else None


@functools.cache
def signatures() -> tuple[Signature, ...]:
    return tuple(
        Signature(
            id=entry["id"],
            fault=entry["fault"],
            strength=entry["strength"],
            pattern=entry["pattern"],
            hints=literals(entry["pattern"]),
            also=frozenset(entry.get("also", ())),
            kinds=frozenset(entry.get("in", ())),
            anchored="^" in re.sub(r"\[\^", "", entry["pattern"]),
            meaning=entry["meaning"],
            source=entry["source"],
        )
        for entry in load_yaml("signatures.yml")
    )


def literals(pattern: str) -> tuple[str, ...]:
    """Literal texts, one per top-level branch, that any match must hold: they let a scan skip most lines.

    Only text outside groups and classes counts. () when a branch has no literal of four characters.
    """
    found = []
    for branch in _branches(pattern):
        best = max(_runs(branch), key=len, default="")
        if len(best) < 4:
            return ()
        found.append(best)
    return tuple(found)


def _branches(pattern: str) -> list[str]:
    parts, depth, start, index = [], 0, 0, 0
    while index < len(pattern):
        char = pattern[index]
        if char == "\\":
            index += 1
        elif char == "[":
            index = _class_end(pattern, index)
        elif char in "()":
            depth += 1 if char == "(" else -1
        elif char == "|" and depth == 0:
            parts.append(pattern[start:index])
            start = index + 1
        index += 1
    parts.append(pattern[start:])
    return parts


def _class_end(pattern: str, index: int) -> int:
    index += 2 if pattern[index + 1 : index + 2] in ("]", "^") else 1
    while index < len(pattern) and pattern[index] != "]":
        index += 2 if pattern[index] == "\\" else 1
    return index


def _runs(branch: str) -> t.Iterator[str]:
    run, depth, index = "", 0, 0
    while index < len(branch):
        char = branch[index]
        literal = None
        if char == "\\":
            index += 1
            if index < len(branch) and not branch[index].isalnum():
                literal = branch[index]
        elif char == "[":
            index = _class_end(branch, index)
        elif char in "()":
            depth += 1 if char == "(" else -1
        elif char == "{":
            index = branch.find("}", index) if "}" in branch[index:] else index
        elif char not in "^$.*+?|":
            literal = char
        index += 1
        follower = branch[index : index + 1]
        if literal is not None and depth == 0 and follower not in ("?", "*", "{"):
            run += literal
            if follower != "+":
                continue
        yield run
        run = ""
    yield run
