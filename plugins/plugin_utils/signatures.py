# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors
"""Finds known program messages in documents."""

from __future__ import annotations

import bisect
import dataclasses
import functools
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


# Texts up to this length are remembered: the same event and the same "Completed" come from thousands of pods.
MEMO = 2048

_Found = tuple[catalogue.Signature, tuple[int, str], tuple[int, str], int]


def scan(document: Document) -> list[Hit]:
    """Every signature that occurs in the document, in catalogue order."""
    text = document.text
    if not text:
        return []
    found = _remembered(document.kind, text) if len(text) <= MEMO else _search(document.kind, text)
    whole = document.kind != "event"  # the words of an API object: its lines are not the file's
    hits = []
    for signature, first, last, count in found:
        quote = Quote(document.path, first[1], first[0] if whole else None)
        hits.append(
            Hit(signature, document, quote, quote if first == last else Quote(document.path, last[1], last[0] if whole else None), count)
        )
    return hits


# Longer texts are first asked whether they hold a hint's longest word at all: of a log of 16 MiB that is read once, not 800 times.
LONG = 64 * 1024
_RUN = re.compile(r"[A-Za-z]{3,}")


@functools.cache
def _run_of(hint: str) -> str:
    """The longest run of letters in a hint; where the hint occurs, the run is part of a word of the text."""
    return max(_RUN.findall(hint), key=len, default="")


def _words(text: str) -> str | None:
    """The different words of a text, in one string; None when there are so many that it does not help."""
    words: set[str] = set()
    start = 0
    while start < len(text):
        end = text.find("\n", start + LONG)
        end = len(text) if end < 0 else end
        words.update(_RUN.findall(text, start, end))
        start = end
    joined = "\n".join(words)
    return joined if len(joined) * 4 < len(text) else None


def _clipped(text: str) -> str:
    """The text as far as its lines are matched."""
    lines = text.split("\n")
    return "\n".join(line[:MAX_LINE] for line in lines) if max(map(len, lines)) > MAX_LINE else text


@functools.cache
def _of_kind(kind: str) -> tuple[catalogue.Signature, ...]:
    return tuple(signature for signature in catalogue.signatures() if not signature.kinds or kind in signature.kinds)


def _search(kind: str, text: str) -> tuple[_Found, ...]:
    """(signature, first and last line with their numbers, how many lines) of each signature that occurs."""
    starts: list[int] | None = None
    found = []
    words = None
    if len(text) > LONG:
        text = _clipped(text)
        words = _words(text)
    for signature in _of_kind(kind):
        for hint in signature.hints:
            if (words is None or _run_of(hint) in words) and hint in text:
                break
        else:
            if signature.hints:
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
                last = (number + 1, line.strip()[:400])
                first = first or last
        if first is not None and last is not None:
            found.append((signature, first, last, count))
    return tuple(found)


_remembered = functools.lru_cache(maxsize=4096)(_search)


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
