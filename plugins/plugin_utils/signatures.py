# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors
"""Finds known program messages in documents."""

from __future__ import annotations

import bisect
import dataclasses
import itertools
import re
import typing as t

from ansible_collections.gpuops.node.plugins.plugin_utils import catalogue
from ansible_collections.gpuops.node.plugins.plugin_utils.evidence import Document, Quote

# A line longer than this is cut before matching: no message we know is longer, and hostile input is.
MAX_LINE = 4096
# What log collectors, kubectl and loggers put before a program's own words: patterns that say where a line begins mean those words.
PREFIX = re.compile(
    r"^\s*(?:\[pod/[^\]]{1,200}\]\s*)?(?:\d{4}-\d\d-\d\dT\S{1,30}\s+)?(?:[IWEF]\d{4} [\d:.]{8,15}\s+\d+ [\w./-]{1,80}:\d+\]\s*)?"
    r"(?:time=\"[^\"]{1,40}\" level=\w{1,9} msg=\"?)?(?:(?:Warning|Normal)\s+\w{1,40}\s+[^/]{1,40}?\s{2,}\S{1,60}\s{2,})?"
)
# One message repeated a million times tells no more than its first hundred lines.
MAX_LINES_PER_SIGNATURE = 500


@dataclasses.dataclass
class Hit:
    """A signature found in a document: first and last line, and how often."""

    signature: catalogue.Signature
    document: Document
    first: Quote
    last: Quote
    count: int

    @property
    def fault(self) -> str:
        return self.signature.fault


def scan(document: Document) -> list[Hit]:
    """Every signature that occurs in the document, in catalogue order."""
    text = document.text
    if not text:
        return []
    starts: list[int] | None = None
    hits = []
    for signature in catalogue.signatures():
        if signature.kinds and document.kind not in signature.kinds:
            continue
        if signature.hints and not any(hint in text for hint in signature.hints):
            continue
        if starts is None:
            starts = line_starts(text)
        first = last = None
        count = 0
        for number in itertools.islice(_candidates(text, starts, signature.hints), MAX_LINES_PER_SIGNATURE):
            begin = starts[number]
            end = starts[number + 1] - 1 if number + 1 < len(starts) else len(text)
            line = text[begin : min(end, begin + MAX_LINE)].rstrip("\r\n")
            if signature.rx.search(line) or (signature.anchored and (bare := PREFIX.sub("", line)) != line and signature.rx.search(bare)):
                count += 1
                last = Quote(document.path, line.strip()[:400], number + 1)
                first = first or last
        if first is not None and last is not None:
            hits.append(Hit(signature, document, first, last, count))
    return hits


def line_starts(text: str) -> list[int]:
    starts = [0]
    position = text.find("\n")
    while position != -1:
        starts.append(position + 1)
        position = text.find("\n", position + 1)
    return starts


def _candidates(text: str, starts: list[int], hints: tuple[str, ...]) -> t.Iterator[int]:
    """Numbers (0-based) of the lines worth matching, ascending."""
    if not hints:
        yield from range(len(starts))
        return
    numbers: set[int] = set()
    for hint in hints:
        position = text.find(hint)
        while position != -1 and len(numbers) < 4 * MAX_LINES_PER_SIGNATURE:
            number = bisect.bisect_right(starts, position) - 1
            numbers.add(number)
            following = starts[number + 1] if number + 1 < len(starts) else len(text)
            position = text.find(hint, following)
    yield from sorted(numbers)
