# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors
"""Tells verdicts: the console narration, the JSON files, and the summary a run ends with.

Verdicts quote logs, and a log line is hostile input: everything printed passes through C(clean) first.
Nothing here looks at the clock, the terminal or the environment, so the same verdict gives the same words.
"""

from __future__ import annotations

import collections.abc as c
import hashlib
import json
import math
import os
import pathlib
import re
import tempfile
import typing as t
import unicodedata

from ansible_collections.gpuops.node.plugins.plugin_utils import catalogue

DIAGNOSIS_SCHEMA = "gpuops.node/diagnosis/v1"
RUN_SCHEMA = "gpuops.node/run/v1"
SCHEMA_DIR = pathlib.Path(__file__).parent / "catalogue"
SCHEMA_PATH = SCHEMA_DIR / "diagnosis-v1.schema.json"
RUN_SCHEMA_PATH = SCHEMA_DIR / "run-v1.schema.json"

# Root "faults" that say something about the verdict and nothing about the node.
HEALTHY, UNDETERMINED, WORKLOAD = "healthy", "undetermined", "workload_fault"
STATES = ("sick", "undetermined", "workload", "healthy")

MARKS = {"ok": "OK", "fault": "FAULT", "skipped": "--", "unknown": "??"}
REBOOT_WORDS = {"never": "not needed", "maybe": "may be needed", "yes": "needed"}

COMPACT_ABOVE = 3  # more sick nodes than this are told in a few lines each
TOLD_PER_CAUSE = 3
SAME_CAUSE_NAMES = 40  # nodes of one cause that are named after the first one is told
EVIDENCE_LINES = 4
GANGS_TOLD = 3
NAMES_TOLD = 3  # files named in a sentence that counts them


class ReportError(Exception):
    """A report cannot be written; the text is one sentence for the user."""


# ---------------------------------------------------------------------------------------------------------------------
# Text: made harmless, measured, wrapped

# Colours and cursor moves carry no words, so they go. Every other control character stays visible as an escape:
# hiding it would hide what the log really said.
_CSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
TEXT_LIMIT = 2000


def clean(value: t.Any, limit: int = TEXT_LIMIT) -> str:
    """One line of printable text, whatever came in."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = value if isinstance(value, str) else _foreign(value)
    if len(text) > limit:
        space = text.rfind(" ", limit - 60, limit + 1) if limit > 400 else -1
        text = text[: space if space > 0 else limit] + "..."
    if text.isprintable():
        return text.strip()
    text = _CSI.sub("", text)
    return "".join(char if char.isprintable() else _visible(char) for char in text).strip()


def _foreign(value: t.Any) -> str:
    try:
        return str(value)
    except ValueError:  # an integer too long to print
        return "?"


def _visible(char: str) -> str:
    if char.isspace():
        return " "
    code = ord(char)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def cells(text: str) -> int:
    """Columns the text takes in a terminal; never too few."""
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def clip(text: str, room: int, *, keep_end: bool = False) -> str:
    """The text, or as much of it as fits with three dots where the rest was."""
    if cells(text) <= room:
        return text
    if room <= 3:
        return "..."[: max(room, 0)]
    kept, used = [], 3
    for char in reversed(text) if keep_end else text:
        used += cells(char)
        if used > room:
            break
        kept.append(char)
    return "..." + "".join(reversed(kept)) if keep_end else "".join(kept) + "..."


_WORDS = re.compile(r"( *)([^ ]+)")


def wrap(text: str, room: int, *, lines: int = 0) -> list[str]:
    """Lines of at most room columns; lines=0: as many as it takes, else the rest is cut and marked with dots."""
    out: list[str] = []
    line, used = "", 0
    for gap, word in _WORDS.findall(text):
        size = cells(word)
        if line and used + len(gap) + size <= room:
            line, used = line + gap + word, used + len(gap) + size
            continue
        if line:
            out.append(line)
        while size > room:  # longer than a line: cut it
            head, taken = "", 0
            for char in word:
                taken += cells(char)
                if taken > room and head:
                    break
                head += char
            out.append(head)
            word = word[len(head) :]
            size = cells(word)
        line, used = word, size
        if lines and len(out) > lines:
            break
    if line or not out:
        out.append(line)
    if lines and len(out) > lines:
        out = [*out[: lines - 1], _dotted(out[lines - 1], room)]
    return out


def _dotted(line: str, room: int) -> str:
    """The line with three dots at its end, cut between words where it must be cut."""
    while cells(line) > room - 4 and " " in line.strip():
        line = line.rstrip().rpartition(" ")[0].rstrip()
    return f"{line} ..." if cells(line) <= room - 4 else clip(line + "....", room)


def break_command(command: str, room: int) -> list[str]:
    """A command line cut so that it can still be pasted: only at spaces outside quotes, each cut ending in a backslash.

    A part that has no such space stays whole, wider than the page if need be: a cut command is worse than a long line.
    """
    cuts, quote, skip = [], "", False
    for index, char in enumerate(command):
        if skip:
            skip = False
        elif char == "\\" and quote != "'":
            skip = True
        elif quote:
            quote = "" if char == quote else quote
        elif char in "'\"`":
            quote = char
        elif char == "#" and (index == 0 or command[index - 1] == " "):
            break
        elif char == " ":
            cuts.append(index)
    out, start, space = [], 0, room
    while cells(command[start:]) > space:
        inside = [cut for cut in cuts if cut > start and command[start:cut].strip()]
        fits = [cut for cut in inside if cells(command[start:cut]) <= space - 2]
        if not inside:
            break
        cut = fits[-1] if fits else inside[0]
        out.append(command[start:cut].rstrip() + " \\")
        start, space = cut + 1, room - 4
        if quote and cut == cuts[-1]:  # an unclosed quote follows: leave the rest alone
            break
    out.append(command[start:])
    return [out[0], *("    " + part.lstrip() for part in out[1:])]


_DIGITS = re.compile(r"([0-9]+)")


def natural(name: str) -> tuple[t.Any, ...]:
    """Sort key: gpu-2 before gpu-10."""
    parts = _DIGITS.split(name)
    # The name itself comes last and on its own: "gpu" and "gpu1" must not compare a text with a number.
    return tuple((len(part.lstrip("0")), part.lstrip("0")) if i % 2 else part for i, part in enumerate(parts)), name


# ---------------------------------------------------------------------------------------------------------------------
# Words for numbers


def plural(count: float, noun: str) -> str:
    return f"{number(count)} {noun}{'' if count == 1 else 's'}"


def number(value: float) -> str:
    return f"{value:,.1f}".removesuffix(".0")


def money(value: float, currency: str) -> str:
    return f"{currency}{' ' if currency[-1:].isalnum() else ''}{value:,.2f}"


def duration(hours: float) -> str:
    minutes = round(hours * 60)
    if minutes >= 48 * 60:
        days, rest = divmod(round(hours), 24)
        return f"{days:,} days" + (f" {rest} h" if rest else "")
    whole, rest = divmod(minutes, 60)
    return f"{whole} h {rest} min" if whole and rest else f"{whole} h" if whole else f"{rest} min"


_UTC = re.compile(r"^(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d)(?::\d\d(?:\.\d+)?)?(?:[Zz]|[+-]00:00)$", re.ASCII)


def moment(text: str) -> str:
    """A time as people say it; anything that is not RFC 3339 in UTC stays as it is."""
    match = _UTC.match(text)
    return f"{match[1]} {match[2]} UTC" if match else text


def layer_words(layer: str) -> str:
    return layer.replace("_", " ")


def listed(names: c.Sequence[str], told: int = NAMES_TOLD) -> str:
    """a, b, c and 209 more"""
    if len(names) <= told + 1:
        return ", ".join(names)
    return ", ".join(names[:told]) + f" and {len(names) - told:,} more"


def sentence(text: str) -> str:
    return text if not text or text[-1] in ".!?:;" else text + "."


# ---------------------------------------------------------------------------------------------------------------------
# A verdict made ready to be told: every key there, every type right, every string harmless


def _dict(value: t.Any) -> c.Mapping[str, t.Any]:
    return value if isinstance(value, c.Mapping) else {}


def _list(value: t.Any) -> list[t.Any]:
    if isinstance(value, (list, tuple)):
        return list(value)
    return [] if value is None or value == "" else [value]


def _texts(value: t.Any) -> list[str]:
    return [text for text in (clean(item) for item in _list(value)) if text]


def _number(value: t.Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return value if abs(value) < 1e15 and math.isfinite(value) else None


def _count(value: t.Any) -> int | None:
    found = _number(value)
    return None if found is None else int(found)


def _quotes(value: t.Any) -> list[dict[str, str]]:
    out = []
    for item in _list(value):
        quote = _dict(item) or {"text": item}
        source, line = clean(quote.get("source")), _count(quote.get("line"))
        where = source if line is None else f"{source}:{line}"
        out.append({"where": where, "text": clean(quote.get("text")), "time": moment(clean(quote.get("time")))})
    return [quote for quote in out if quote["text"] or quote["where"]]


def _finding(value: t.Any) -> dict[str, t.Any]:
    item = _dict(value)
    return {
        "fault": clean(item.get("fault")) or UNDETERMINED,
        "layer": layer_words(clean(item.get("layer"))),
        "certainty": clean(item.get("certainty")),
        "because": clean(item.get("because")),
        "evidence": _quotes(item.get("evidence")),
    }


def fault_of(verdict: c.Mapping[str, t.Any]) -> str:
    return clean(_dict(verdict.get("root")).get("fault")) or UNDETERMINED


def state_of(verdict: c.Mapping[str, t.Any]) -> str:
    """One of STATES. A node is healthy only when its verdict says so."""
    return {HEALTHY: "healthy", UNDETERMINED: "undetermined", WORKLOAD: "workload"}.get(fault_of(verdict), "sick")


def gpus_out(verdict: c.Mapping[str, t.Any]) -> int | None:
    """GPUs of this node that nobody can use now; None when that is not known."""
    idle = _count(_dict(verdict.get("impact")).get("idle_gpus"))
    if idle is not None:
        return idle
    if state_of(verdict) in ("healthy", "workload"):
        return 0
    expected, allocatable = _count(verdict.get("expected")), _count(verdict.get("allocatable"))
    # Counts that agree prove nothing here: what is advertised need not work.
    return None if expected is None or allocatable is None else max(expected - allocatable, 0) or None


def _impact(value: t.Any) -> dict[str, t.Any]:
    item = _dict(value)
    gangs = []
    for gang in map(_dict, _list(item.get("gangs"))):
        gangs.append(
            {
                "name": clean(gang.get("name")) or "unnamed",
                "gpus": _count(gang.get("gpus")),
                "hours": _number(gang.get("hours")),
                "gpu_hours_delayed": _number(gang.get("gpu_hours_delayed")),
            }
        )
    numbers = ("hours", "price", "cost_per_hour", "cost", "idle_gpu_hours", "gpu_hours_delayed")
    return {
        **{key: _number(item.get(key)) for key in numbers},
        "idle_gpus": _count(item.get("idle_gpus")),
        "since": moment(clean(item.get("since"))),
        "since_from": clean(item.get("since_from")),
        "currency": clean(item.get("currency"), 12) or "$",
        "gangs": gangs,
        "notes": _texts(item.get("notes")),
    }


def view(verdict: c.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """The verdict as both renderers want it."""
    mend = _dict(verdict.get("mend"))
    out: dict[str, t.Any] = {
        "node": clean(verdict.get("node"), 253) or "(unnamed node)",
        "case": clean(verdict.get("case"), 40),
        "resource": clean(verdict.get("resource"), 253) or "nvidia.com/gpu",
        "state": state_of(verdict),
        "ready": verdict.get("ready") if isinstance(verdict.get("ready"), bool) else None,
        "capacity": _count(verdict.get("capacity")),
        "allocatable": _count(verdict.get("allocatable")),
        "expected": _count(verdict.get("expected")),
        "expected_from": clean(verdict.get("expected_from")),
        "split": clean(verdict.get("split")),
        "root": _finding(verdict.get("root")),
        "contributing": [_finding(item) for item in _list(verdict.get("contributing"))],
        "walk": [],
        "mend": {
            "by": clean(mend.get("by")) or "none",
            "role": clean(mend.get("role")),
            "summary": clean(mend.get("summary")),
            "check_first": _texts(mend.get("check_first")),
            "steps": _texts(mend.get("steps")),
            "would_change": [],
            "reboot": clean(mend.get("reboot")),
            "disrupts": _texts(mend.get("disrupts")),
            "never": _texts(mend.get("never")),
            "refused_because": _texts(mend.get("refused_because")),
        },
        "collect_next": [],
        "latent": [],
        "impact": _impact(verdict.get("impact")),
        "next": _commands(verdict.get("next")),
        "problems": problem_lines([verdict]),
    }
    for step in map(_dict, _list(verdict.get("walk"))):
        outcome = clean(step.get("outcome"))
        out["walk"].append(
            {
                "layer": layer_words(clean(step.get("layer"))) or "?",
                "question": clean(step.get("question")),
                "read": _texts(step.get("read")),
                "found": clean(step.get("found")),
                "means": clean(step.get("means")),
                "outcome": outcome if outcome in MARKS else "unknown",
            }
        )
    for change in map(_dict, _list(mend.get("would_change"))):
        text = " ".join(filter(None, (clean(change.get("kind")), clean(change.get("what")))))
        how = clean(change.get("how"))
        out["mend"]["would_change"].append(f"{text} ({how})" if how else text)
    for item in _list(verdict.get("collect_next")):
        what = _dict(item) or {"what": item}
        asked = {"what": clean(what.get("what")), "command": _commands(what.get("command")), "why": clean(what.get("why"))}
        out["collect_next"].append(asked)
    for item in _list(verdict.get("latent")):
        what = _dict(item) or {"what": item}
        found = {"what": clean(what.get("what")), "because": clean(what.get("because")), "evidence": _quotes(what.get("evidence"))}
        out["latent"].append(found)
    return out


def _commands(value: t.Any) -> list[str]:
    """Command lines; one that was given with line breaks is several."""
    lines = [part for item in _list(value) for part in (item.splitlines() if isinstance(item, str) else [item])]
    return _texts(lines)


def _is_unrecognised(source: c.Mapping[str, t.Any]) -> bool:
    return source.get("kind") == "unrecognised"


def problem_lines(verdicts: c.Iterable[c.Mapping[str, t.Any]]) -> list[tuple[str, str]]:
    """(level, sentence) for what is wrong with the evidence, each kind once: files are counted, the first ones named."""
    groups: dict[tuple[str, str], dict[str, str]] = {}
    unrecognised: dict[str, None] = {}
    seen: set[int] = set()  # the same list object in a thousand verdicts is read once
    for verdict in verdicts:
        problems, sources = verdict.get("problems"), verdict.get("sources")
        if id(problems) not in seen:
            seen.add(id(problems))
            for problem in map(_dict, _list(problems)):
                path, text = clean(problem.get("path")), clean(problem.get("text"))
                level = clean(problem.get("level")) or "note"
                # The same sentence about many files is one group: what tells them apart is the name in it.
                shape = text.replace(path, "\0") if path else text
                base = path.rsplit("/", 1)[-1]
                groups.setdefault((level, shape.replace(base, "\0") if base else shape), {}).setdefault(path, text)
        if id(sources) not in seen:
            seen.add(id(sources))
            for source in map(_dict, _list(sources)):
                if _is_unrecognised(source):
                    unrecognised.setdefault(clean(source.get("path")) or "?")
    out: list[tuple[str, str]] = []
    for (level, shape), members in groups.items():
        for path in members:
            unrecognised.pop(path, None)
        paths = [path for path in members if path]
        if len(members) == 1:
            path, text = next(iter(members.items()))
            out.append((level, text if not path or "\0" in shape else f"{path}: {text}"))
        else:
            text = sentence(shape.replace("\0", "each" if shape.startswith("\0") else "it").strip(" :"))
            out.append((level, f"{len(paths):,} files ({listed(paths)}): {text}"))
    if unrecognised:
        names = list(unrecognised)
        out.append(("note", f"{plural(len(names), 'file')} not recognised and not judged: {listed(names)}."))
    order = {"error": 0, "warning": 1}
    return sorted(out, key=lambda item: order.get(item[0], 2))


# ---------------------------------------------------------------------------------------------------------------------
# Sentences both renderers share


_REFUSED = re.compile(r"FailedScheduling|UnexpectedAdmissionError|untolerated taint|didn't (?:match|tolerate)|Insufficient \S+/")
_PENDING = re.compile(r"^\d+ GPU pods? .* Pending\b")


def refuses(seen: c.Mapping[str, t.Any]) -> bool:
    """Does anything show a pod that waits or was refused?"""
    impact, root = seen["impact"], seen["root"]
    return bool(
        root["fault"] in catalogue.pod_side() | {"stale_allocation"}
        or impact["gangs"]
        or any(_PENDING.match(note) for note in impact["notes"])
        or any(_REFUSED.search(quote["text"]) for quote in root["evidence"])
    )


def case_words(seen: c.Mapping[str, t.Any]) -> str:
    """The case in words."""
    allocatable, expected = seen["allocatable"], seen["expected"] if seen["expected"] is not None else seen["capacity"]
    if allocatable is None:
        of = ""
    elif expected is None or allocatable > expected:
        of = plural(allocatable, "GPU")
    else:
        of = f"{number(allocatable)} of {plural(expected, 'GPU')}"
    case = seen["case"]
    if case == "A":
        return f"case A: advertises {of or 'fewer GPUs than it should'}"
    if case == "B":
        less = allocatable is not None and expected is not None and allocatable < expected
        if not less and refuses(seen):
            return f"case B: advertises {of or 'its GPUs'}, pods are refused"
        if allocatable is not None and allocatable == expected:
            return f"case B: advertises {'all' if allocatable > 1 else 'its'} {plural(allocatable, 'GPU')}"
        return f"case B: advertises {of or 'its GPUs'}"
    if case == "healthy" or (case not in ("none", "unknown") and seen["state"] == "healthy"):
        return f"healthy: {of} allocatable" if of else "healthy"
    if case == "none":
        return "how many GPUs the node advertises is not in question here"
    return f"not known whether it is healthy{': advertises ' + of if of else ''}"


def count_words(seen: c.Mapping[str, t.Any]) -> str:
    """Capacity, allocatable, expected and Ready, in one line."""

    def shown(value: int | None) -> str:
        return "unknown" if value is None else str(value)

    origin = f" (from {seen['expected_from']})" if seen["expected_from"] else ""
    ready = {True: "Ready", False: "NotReady", None: "Ready unknown"}[seen["ready"]]
    return (
        f"{seen['resource']}: capacity {shown(seen['capacity'])}, allocatable {shown(seen['allocatable'])}, "
        f"expected {shown(seen['expected'])}{origin}; node {ready}."
    )


def split_lines(seen: c.Mapping[str, t.Any]) -> list[str]:
    """What the split found. The counts get a line of their own unless the split's sentence has them already."""
    split = seen["split"]
    numbers = set(_DIGITS.findall(split))
    wanted = {str(seen[key]) for key in ("capacity", "allocatable", "expected") if seen[key] is not None}
    told = wanted <= numbers and all(word in split.lower() for word in ("allocatable", "ready"))
    if not told or not split:
        return [count_words(seen)] + ([split] if split else [])
    origin = seen["expected_from"]
    return [split if not origin or origin in split else f"{sentence(split)} Expected count from: {origin}."]


def root_title(root: c.Mapping[str, t.Any]) -> str:
    parts = [f"{root['layer']} layer" if root["layer"] else "", root["certainty"] if root["fault"] not in (UNDETERMINED, HEALTHY) else ""]
    inside = ", ".join(filter(None, parts))
    return f"{root['fault']} ({inside})" if inside else root["fault"]


def mend_title(mend: c.Mapping[str, t.Any]) -> str:
    """Who acts, and what is done."""
    if mend["by"] == "none":
        return mend["summary"] or ("nothing now" if mend["refused_because"] else "nothing to mend")
    if mend["by"] == "advise":
        return f"someone must act: {mend['summary']}" if mend["summary"] else "someone must act"
    who = f"role {mend['role']}" if mend["role"] else "by hand"
    return f"{who}: {mend['summary']}" if mend["summary"] else who


def mend_facts(mend: c.Mapping[str, t.Any]) -> list[tuple[str, str]]:
    """(label, text) of what the mend changes, needs and must not do."""
    advice_only = mend["by"] in ("advise", "none") and mend["reboot"] == "never" and not mend["would_change"]
    rows = [
        ("first see", "; ".join(mend["check_first"])),
        ("changes", "; ".join(mend["would_change"])),
        ("reboot", "" if advice_only else REBOOT_WORDS.get(mend["reboot"], mend["reboot"])),
        ("disrupts", "; ".join(mend["disrupts"]) or ("nothing" if mend["would_change"] else "")),
        ("do not", "; ".join(mend["never"])),
        *(("refused", text) for text in mend["refused_because"]),
    ]
    return [(label, text) for label, text in rows if text]


def wait_lines(impact: c.Mapping[str, t.Any], *, brief: bool = False) -> list[str]:
    """Who waits, since when, and what it costs; what is not known is said in as few words."""
    idle, out = impact["idle_gpus"], []
    if idle is None:
        head = "how many GPUs stand idle is unknown"
    elif idle == 0:
        head = "no GPU stands idle"
    else:
        head = f"{plural(idle, 'GPU')} idle"
        head += f" for {duration(impact['hours'])}" if impact["hours"] is not None else ""
        if impact["since"]:
            known = f" ({impact['since_from']})" if impact["since_from"] and not brief else ""
            head += f"{',' if impact['hours'] is not None else ''} since {impact['since']}{known}"
        elif impact["hours"] is None:
            head += ", since when is unknown"
    out.append(head)
    if idle:
        price = [
            f"{money(impact['cost_per_hour'], impact['currency'])} per hour" if impact["cost_per_hour"] is not None else "",
            f"{money(impact['cost'], impact['currency'])} so far" if impact["cost"] is not None else "",
            f"{plural(impact['idle_gpu_hours'], 'idle GPU-hour')}" if impact["idle_gpu_hours"] is not None else "",
        ]
        if impact["cost_per_hour"] is None and impact["cost"] is None:
            price.append("cost unknown: gpuops_gpu_hour_price is not set")
        out.append(", ".join(filter(None, price)))
    for gang in impact["gangs"][:GANGS_TOLD]:
        text = f"queued: {gang['name']} waits"
        text += f" for {plural(gang['gpus'], 'GPU')}" if gang["gpus"] is not None else " for an unknown number of GPUs"
        text += f", {duration(gang['hours'])} so far" if gang["hours"] is not None else ", how long is unknown"
        text += f": {plural(gang['gpu_hours_delayed'], 'GPU-hour')} delayed" if gang["gpu_hours_delayed"] is not None else ""
        out.append(text)
    if len(impact["gangs"]) > 1:
        more = len(impact["gangs"]) - GANGS_TOLD
        total = impact["gpu_hours_delayed"]
        text = f"and {more} more queued" if more > 0 else ""
        text += (", " if text else "") + (f"together {plural(total, 'GPU-hour')} delayed" if total is not None else "")
        out += [text.rstrip(", ")] if text.rstrip(", ") else []
    return out + ([] if brief else impact["notes"])


# ---------------------------------------------------------------------------------------------------------------------
# The run as a whole


SUMS = ("gpus_out", "cost_per_hour", "cost")


def causes(verdicts: c.Iterable[c.Mapping[str, t.Any]]) -> list[dict[str, t.Any]]:
    """What ails the fleet, the most GPUs first.

    A sum is None when no node's number is known; when only some are, its key is in C(incomplete).
    """
    rows: dict[tuple[str, str], dict[str, t.Any]] = {}
    for verdict in verdicts:
        state = state_of(verdict)
        if state == "healthy":
            continue
        fault, layer = fault_of(verdict), clean(_dict(verdict.get("root")).get("layer"))
        row = rows.setdefault(
            (fault, layer),
            {"fault": fault, "layer": layer or None, "state": state, "nodes": [], **dict.fromkeys(SUMS), "incomplete": []},
        )
        row["nodes"].append(clean(verdict.get("node"), 253))
        impact, out = _dict(verdict.get("impact")), gpus_out(verdict)
        for key, value in (("gpus_out", out), ("cost_per_hour", impact.get("cost_per_hour")), ("cost", impact.get("cost"))):
            if key != "gpus_out" and out == 0:
                if _number(impact.get("price")) is None:
                    continue  # nothing lost, and no price to say so in money
                value = 0
            value = _number(value)
            if value is not None:
                row[key] = (row[key] or 0) + value
            elif key not in row["incomplete"]:
                row["incomplete"].append(key)
    for row in rows.values():
        row["nodes"].sort(key=natural)
    return sorted(rows.values(), key=lambda row: (-(row["gpus_out"] or 0), -len(row["nodes"]), row["fault"], row["layer"] or ""))


def summarise(verdicts: c.Sequence[c.Mapping[str, t.Any]]) -> dict[str, t.Any]:
    """The counts of a run. C(failed) are the nodes that fail the run when the user asked for that."""
    out: dict[str, t.Any] = {"nodes": len(verdicts), **dict.fromkeys(("healthy", "sick", "undetermined", "workload"), 0)}
    out |= {**dict.fromkeys(SUMS), "incomplete": [], "gpu_hours_delayed": None, "currency": "$", "failed": []}
    gangs: dict[str, float] = {}
    for verdict in verdicts:
        state = state_of(verdict)
        out[state] += 1
        if state == "healthy":
            continue
        if state in ("sick", "undetermined"):
            out["failed"].append(clean(verdict.get("node"), 253))
        impact = _dict(verdict.get("impact"))
        out["currency"] = clean(impact.get("currency"), 12) or out["currency"]
        for gang in map(_dict, _list(impact.get("gangs"))):
            # One gang waits for many nodes: it is counted once.
            delayed = _number(gang.get("gpu_hours_delayed"))
            if delayed is not None:
                name = clean(gang.get("name"))
                gangs[name] = max(gangs.get(name, 0), delayed)
    rows = causes(verdicts)
    for key in SUMS:
        known = [row[key] for row in rows if row[key] is not None]
        out[key] = sum(known) if known else None
        if any(key in row["incomplete"] for row in rows):
            out["incomplete"].append(key)
    out["gpu_hours_delayed"] = sum(gangs.values()) if gangs else None
    out["failed"].sort(key=natural)
    return out


STATE_WORDS = {"healthy": "healthy", "sick": "sick", "undetermined": "undetermined", "workload": "with a fault in the workload"}


def fleet_line(verdicts: c.Sequence[c.Mapping[str, t.Any]]) -> str:
    """The whole run in one line."""
    total = summarise(verdicts)
    counts = ", ".join(f"{total[state]:,} {STATE_WORDS[state]}" for state in STATE_WORDS if total[state])
    least = {key: "at least " if key in total["incomplete"] else "" for key in SUMS}
    lost = [
        f"{least['gpus_out']}{plural(total['gpus_out'], 'GPU')} out of service" if total["gpus_out"] else "",
        f"{least['cost_per_hour']}{money(total['cost_per_hour'], total['currency'])} per hour" if total["cost_per_hour"] else "",
        f"{least['cost']}{money(total['cost'], total['currency'])} so far" if total["cost"] else "",
        f"{plural(total['gpu_hours_delayed'], 'queued GPU-hour')} delayed" if total["gpu_hours_delayed"] else "",
    ]
    text = ", ".join(filter(None, lost))
    return f"{plural(total['nodes'], 'node')}: {counts or 'none judged'}." + (f" {text[0].upper()}{text[1:]}." if text else "")


def exit_line(verdicts: c.Sequence[c.Mapping[str, t.Any]]) -> str:
    """One sentence to end (or fail) a run with."""
    if len(verdicts) != 1:
        failed = summarise(verdicts)["failed"]
        return fleet_line(verdicts) + (f" Not healthy: {listed(failed, 10)}." if failed else "")
    seen = view(verdicts[0])
    out = gpus_out(verdicts[0])
    lost = f", {plural(out, 'GPU')} out of service" if out else ""
    return f"{seen['node']}: {root_title(seen['root'])}{lost}."


# ---------------------------------------------------------------------------------------------------------------------
# The console

_STYLES = {"good": "32", "bad": "1;31", "dim": "2", "doubt": "33", "act": "36", "strong": "1"}
_OUTCOME_STYLE = {"ok": "good", "fault": "bad", "skipped": "dim", "unknown": "doubt"}
_COLUMN = 10  # where text starts
_WALK_COLUMN = 24


class _Page:
    """Lines of a page. Colour is painted on finished lines, so that it can never change how they wrap."""

    def __init__(self, width: int, colour: bool) -> None:
        self.width = max(width, 60)
        self.colour = colour
        self.lines: list[str] = []

    def paint(self, text: str, style: str) -> str:
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if self.colour and style and text.strip() else text

    def label(self, label: str, style: str, column: int, indent: int) -> str:
        text = clip(label, max(column - indent - 1, 0))
        return " " * indent + self.paint(text, style) + " " * (column - indent - cells(text))

    def put(
        self, label: str, text: str, style: str = "", *, body: str = "", column: int = _COLUMN, indent: int = 2, lines: int = 0
    ) -> None:
        """A label, and a text that hangs at column beside it."""
        start = self.label(label, style, column, indent)
        for index, chunk in enumerate(wrap(text, self.width - column, lines=lines)):
            self.lines.append((" " * column if index else start) + self.paint(chunk, body))

    def quote(self, quote: c.Mapping[str, str], lines: int) -> None:
        where = clip(quote["where"], 60, keep_end=True)
        self.put(">", f"{where}: {quote['text']}", "dim", body="dim", column=_COLUMN + 2, indent=_COLUMN, lines=lines)

    def command(self, label: str, command: str, style: str = "") -> None:
        start = self.label(label, style, _COLUMN, 2)
        for index, part in enumerate(break_command(command, self.width - _COLUMN)):
            self.lines.append((" " * _COLUMN if index else start) + part)

    def gap(self) -> None:
        if self.lines and self.lines[-1]:
            self.lines.append("")

    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self.lines)


def _head(page: _Page, seen: c.Mapping[str, t.Any]) -> None:
    style = {"healthy": "good", "undetermined": "doubt", "workload": "doubt"}.get(seen["state"], "bad")
    for index, chunk in enumerate(wrap(f"{seen['node']}  {case_words(seen)}", page.width - 2)):
        page.lines.append(page.paint(("  " if index else "") + chunk, style))


def told_of(step: c.Mapping[str, t.Any]) -> str:
    """What was found in a layer and what it means."""
    return " ".join(filter(None, (sentence(step["found"]), sentence(step["means"]))))


def _walk(page: _Page, seen: c.Mapping[str, t.Any], verbose: bool) -> None:
    above = None
    for step in seen["walk"]:
        told = told_of(step)
        if step["outcome"] == "skipped":
            again, above = told and told == above, told
            if again:
                told = "skipped, as above."
            elif not told.lower().startswith("skipped"):
                told = f"skipped: {told}" if told else "skipped."
        else:
            above = None
        if step["read"]:
            told += f" [read: {', '.join(step['read']) if verbose else listed(step['read'])}]"
        page.put(
            f"{MARKS[step['outcome']]:<6} {step['layer']}",
            told.strip() or "nothing was found",
            _OUTCOME_STYLE[step["outcome"]],
            column=_WALK_COLUMN,
            lines=0 if verbose else 5,
        )


def _healthy(page: _Page, seen: c.Mapping[str, t.Any], verbose: bool) -> None:
    """Short: the counts, what was skipped and why, what was looked at."""
    for line in split_lines(seen):
        page.put("", line, column=2)
    if verbose:
        _walk(page, seen, verbose)
    else:
        skipped = [step for step in seen["walk"] if step["outcome"] == "skipped"]
        if skipped:
            why = next(filter(None, map(told_of, skipped)), "")
            layers = ", ".join(step["layer"] for step in skipped)
            page.put("--", f"{layers} skipped" + (f": {why}" if why else ""), "dim", column=6, lines=2)
        looked = [step for step in seen["walk"] if step["outcome"] != "skipped"]
        if looked and all(step["outcome"] == "ok" for step in looked):
            told = " ".join(filter(None, (sentence(step["found"]) for step in looked)))
            page.put("OK", f"{', '.join(step['layer'] for step in looked)}: {told}".rstrip(": "), "good", column=6, lines=2)
        else:
            _walk(page, {"walk": looked}, verbose)
    _latent(page, seen, verbose)
    _problems(page, seen["problems"], verbose)


def _latent(page: _Page, seen: c.Mapping[str, t.Any], verbose: bool) -> None:
    for item in seen["latent"]:
        page.put("LATENT", " ".join(filter(None, (sentence(item["what"]), sentence(item["because"])))), "doubt")
        for quote in item["evidence"][: None if verbose else 1]:
            page.quote(quote, 0 if verbose else 2)


def _problems(page: _Page, problems: c.Sequence[tuple[str, str]], verbose: bool) -> None:
    told = problems if verbose else problems[:6]
    for index, (level, text) in enumerate(told):
        label, style = {"error": ("ERROR", "bad"), "warning": ("WARNING", "doubt")}.get(level, ("note", "dim"))
        first = index == 0 or told[index - 1][0] != level
        page.put(label if first else "", text, style, lines=0 if verbose else 3)
    if len(told) < len(problems):
        page.put("", f"and {len(problems) - len(told):,} more remarks about the evidence (in the report, or with more verbosity)")


def _collect(page: _Page, seen: c.Mapping[str, t.Any], verbose: bool) -> None:
    for index, item in enumerate(seen["collect_next"][: None if verbose else 3]):
        lead = "first" if index == 0 and seen["state"] == "undetermined" else "to be sure" if index == 0 else "then"
        why = f" ({item['why'].rstrip('.')})" if item["why"] else ""
        page.put("COLLECT" if index == 0 else "", f"{lead}: {item['what'] or 'the output of'}{why}", "doubt" if index == 0 else "")
        for command in item["command"]:
            page.command("", command)


def _mend(page: _Page, seen: c.Mapping[str, t.Any], verbose: bool) -> None:
    mend = seen["mend"]
    if mend["by"] == "none" and not mend["summary"] and not mend["refused_because"]:
        return
    page.put("MEND", mend_title(mend), "act")
    for index, step in enumerate(mend["steps"], 1):
        page.put(f"{index}.", step, column=_COLUMN + 3, indent=_COLUMN, lines=0 if verbose else 3)
    for label, text in mend_facts(mend):
        page.put(label, text, "bad" if label == "refused" else "dim", column=_COLUMN + 10, indent=_COLUMN, lines=0 if verbose else 4)


def _detail(page: _Page, seen: c.Mapping[str, t.Any], verbose: bool) -> None:
    _head(page, seen)
    if seen["state"] == "healthy":
        _healthy(page, seen, verbose)
        return
    for line in split_lines(seen):
        page.put("", line, column=2)
    page.gap()
    _walk(page, seen, verbose)
    page.gap()
    root = seen["root"]
    page.put("ROOT", root_title(root), "doubt" if seen["state"] != "sick" else "bad", body="strong")
    if root["because"]:
        page.put("", sentence(root["because"]))
    for quote in root["evidence"][: None if verbose else EVIDENCE_LINES]:
        page.quote(quote, 0 if verbose else 2)
    if len(root["evidence"]) > EVIDENCE_LINES and not verbose:
        page.put("", f"and {plural(len(root['evidence']) - EVIDENCE_LINES, 'more line')}", body="dim")
    if seen["state"] == "undetermined":
        _collect(page, seen, verbose)
    for index, item in enumerate(seen["contributing"][: None if verbose else 4]):
        page.put("ALSO" if index == 0 else "", f"{root_title(item)}: {item['because']}".rstrip(": "), "doubt", lines=0 if verbose else 2)
        if verbose:
            for quote in item["evidence"]:
                page.quote(quote, 0)
    if len(seen["contributing"]) > 4 and not verbose:
        page.put("", f"and {len(seen['contributing']) - 4} more")
    _latent(page, seen, verbose)
    _mend(page, seen, verbose)
    for index, line in enumerate(wait_lines(seen["impact"])):
        page.put("WAIT" if index == 0 else "", line, "doubt")
    if seen["state"] != "undetermined":
        _collect(page, seen, verbose)
    for index, command in enumerate(seen["next"]):
        page.command("NEXT" if index == 0 else "", command, "strong")
    _problems(page, seen["problems"], verbose)


def _compact(page: _Page, seen: c.Mapping[str, t.Any]) -> None:
    """A sick node among many: what it has, one proof, what to do."""
    _head(page, seen)
    steps = "  ".join(f"{MARKS[step['outcome']]} {step['layer']}" for step in seen["walk"])
    if steps:
        page.put("", steps, column=2, body="dim")
    root = seen["root"]
    page.put("ROOT", f"{root_title(root)}: {root['because']}".rstrip(": "), "doubt" if seen["state"] != "sick" else "bad", lines=3)
    for quote in root["evidence"][:1]:
        page.quote(quote, 2)
    if seen["state"] == "undetermined":
        _collect(page, {**seen, "collect_next": seen["collect_next"][:1]}, verbose=False)
    mend = seen["mend"]
    if mend["by"] != "none" or mend["summary"]:
        reboot = dict(mend_facts(mend)).get("reboot")
        page.put("MEND", mend_title(mend) + (f" (reboot {reboot})" if reboot else ""), "act", lines=3)
    for text in mend["refused_because"][:1]:
        page.put("", f"refused: {text}", lines=2)
    for index, line in enumerate(wait_lines(seen["impact"], brief=True)[:2]):
        page.put("WAIT" if index == 0 else "", line, "doubt", lines=1)
    for command in seen["next"][:1]:
        page.command("NEXT", command, "strong")


def amount(row: c.Mapping[str, t.Any], key: str, words: c.Callable[[float], str]) -> str:
    """A sum of a table: a question mark when unknown, and said to be a lower bound when some nodes' numbers are."""
    if row[key] is None:
        return "?" if key in row["incomplete"] else "-"
    return f"{'>= ' if key in row['incomplete'] else ''}{words(row[key])}"


def priced(verdicts: c.Iterable[c.Mapping[str, t.Any]]) -> bool:
    """Was a price given? Without one there is no money to tell."""
    impacts = (_dict(verdict.get("impact")) for verdict in verdicts)
    return any(_number(impact.get(key)) is not None for impact in impacts for key in ("price", "cost_per_hour", "cost"))


def _table(page: _Page, verdicts: c.Sequence[c.Mapping[str, t.Any]]) -> None:
    rows, total = causes(verdicts), summarise(verdicts)
    if not rows:
        return

    keys = SUMS if priced(verdicts) else SUMS[:1]

    def row(fault: str, layer: str, nodes: str, *sums: str) -> str:
        shown = [f"{text:>{width}}" for text, width in zip(sums, (10, 14, 17)[: len(keys)])]
        return f"  {clip(fault, 30):<30} {clip(layer, 14):<14} {nodes:>6} {' '.join(shown)}"

    def sums(item: c.Mapping[str, t.Any]) -> list[str]:
        words = {"gpus_out": number}
        return [amount(item, key, words.get(key, lambda value: clip(money(value, total["currency"]), 13))) for key in keys]

    page.lines.append(page.paint(row("CAUSE", "LAYER", "NODES", "GPUS OUT", "COST/HOUR", "COST SO FAR"), "strong"))
    for item in rows:
        page.lines.append(row(item["fault"], layer_words(item["layer"] or ""), f"{len(item['nodes']):,}", *sums(item)))
    if len(rows) > 1:
        page.lines.append(page.paint(row("together", "", f"{sum(len(item['nodes']) for item in rows):,}", *sums(total)), "dim"))


def fleet_table(verdicts: c.Sequence[c.Mapping[str, t.Any]], *, colour: bool = False, width: int = 100) -> str:
    """The table of causes; empty when every node is healthy."""
    page = _Page(width, colour)
    _table(page, verdicts)
    return page.text()


def narrate_one(verdict: c.Mapping[str, t.Any], *, colour: bool = False, width: int = 100, verbose: bool = False) -> str:
    """One node, told top to bottom."""
    page = _Page(width, colour)
    _detail(page, view(verdict), verbose)
    return page.text()


def narrate(verdicts: c.Sequence[c.Mapping[str, t.Any]], *, colour: bool = False, width: int = 100, verbose: bool = False) -> str:
    """Any number of nodes: one in detail; several as a table of causes first, then the sick ones."""
    if not verdicts:
        return "No node was judged."
    if len(verdicts) == 1:
        return narrate_one(verdicts[0], colour=colour, width=width, verbose=verbose)
    page = _Page(width, colour)
    for chunk in wrap(fleet_line(verdicts), page.width):
        page.lines.append(page.paint(chunk, "strong"))
    page.gap()
    _table(page, verdicts)
    page.gap()
    _sick(page, verdicts, verbose)
    page.gap()
    _healthy_sum(page, [verdict for verdict in verdicts if state_of(verdict) == "healthy"])
    _problems(page, problem_lines(verdicts), verbose)
    while page.lines and not page.lines[-1]:
        page.lines.pop()
    return page.text()


def by_cause(verdicts: c.Iterable[c.Mapping[str, t.Any]]) -> list[tuple[dict[str, t.Any], list[c.Mapping[str, t.Any]]]]:
    """The rows of C(causes), each with its verdicts in the order of node names."""
    members: dict[tuple[str, str | None], list[c.Mapping[str, t.Any]]] = {}
    for verdict in verdicts:
        if state_of(verdict) != "healthy":
            members.setdefault((fault_of(verdict), clean(_dict(verdict.get("root")).get("layer")) or None), []).append(verdict)
    rows = causes(verdict for group in members.values() for verdict in group)
    return [
        (row, sorted(members[row["fault"], row["layer"]], key=lambda verdict: natural(clean(verdict.get("node"), 253)))) for row in rows
    ]


def _sick(page: _Page, verdicts: c.Sequence[c.Mapping[str, t.Any]], verbose: bool) -> None:
    groups = by_cause(verdicts)
    compact = sum(len(group) for _row, group in groups) > COMPACT_ABOVE and not verbose
    for _row, group in groups:
        told = _worth_telling(group) if compact else group
        for verdict in told:
            seen = {**view(verdict), "problems": []}  # what is wrong with the evidence comes once, at the end
            if compact:
                _compact(page, seen)
            else:
                _detail(page, seen, verbose)
            page.gap()
        rest = [verdict for verdict in group if not any(verdict is other for other in told)]
        if rest:
            while page.lines and not page.lines[-1]:
                page.lines.pop()
            names = [_short(verdict) for verdict in rest]
            page.put("SAME", f"{plural(len(rest), 'more node')} with this cause: {listed(names, SAME_CAUSE_NAMES)}", "bad")
            page.gap()


def _worth_telling(group: c.Sequence[c.Mapping[str, t.Any]]) -> list[c.Mapping[str, t.Any]]:
    """Of nodes with one cause, those whose story differs by more than the name, and of these the first few.

    The twentieth telling of the same story helps nobody.
    """
    stories: dict[tuple[str, ...], c.Mapping[str, t.Any]] = {}
    for verdict in group:
        node, mend = clean(verdict.get("node"), 253), _dict(verdict.get("mend"))
        because = clean(_dict(verdict.get("root")).get("because"))
        story = [because, clean(mend.get("by")), clean(mend.get("summary")), *_texts(mend.get("refused_because"))]
        stories.setdefault(tuple(text.replace(node, "\0") if node else text for text in story), verdict)
        if len(stories) == TOLD_PER_CAUSE:
            break
    return list(stories.values())


def _short(verdict: c.Mapping[str, t.Any]) -> str:
    name = clean(verdict.get("node"), 253)
    expected, allocatable = _count(verdict.get("expected")), _count(verdict.get("allocatable"))
    certainty = clean(_dict(verdict.get("root")).get("certainty"))
    inside = [f"{allocatable}/{expected}" if None not in (expected, allocatable) else "", certainty if certainty != "certain" else ""]
    text = ", ".join(filter(None, inside))
    return f"{name} ({text})" if text else name


def _healthy_sum(page: _Page, healthy: c.Sequence[c.Mapping[str, t.Any]]) -> None:
    if not healthy:
        return
    gpus = sum(_count(verdict.get("allocatable")) or 0 for verdict in healthy)
    skipped: dict[str, None] = {}
    why = ""
    for verdict in healthy:
        for step in _list(verdict.get("walk")):
            if isinstance(step, c.Mapping) and step.get("outcome") == "skipped":
                skipped.setdefault(layer_words(clean(step.get("layer"))))
                why = why or clean(step.get("found")) or clean(step.get("means"))
    text = f"{len(healthy):,} healthy, {plural(gpus, 'GPU')} allocatable."
    if skipped:
        text += f" Skipped for them: {', '.join(skipped)}" + (f" ({why.rstrip('.')})." if why else ".")
    page.put("OK", text, "good", column=6, lines=4)
    latent: dict[str, list[str]] = {}
    for verdict in healthy:
        for item in _list(verdict.get("latent")):
            what = clean(_dict(item).get("what") if isinstance(item, c.Mapping) else item)
            latent.setdefault(what, []).append(clean(verdict.get("node"), 253))
    for what, names in latent.items():
        page.put("LATENT", f"{plural(len(names), 'healthy node')} ({listed(sorted(names, key=natural))}): {what}", "doubt")


# ---------------------------------------------------------------------------------------------------------------------
# Files

_UNSAFE_IN_NAME = re.compile(r"[^A-Za-z0-9._-]")


def file_names(nodes: c.Iterable[str], taken: c.Iterable[str] = ("diagnosis", "report")) -> list[str]:
    """A file name (without extension) per node. A node's name comes from the evidence, so it may not choose a path."""
    used = {name.lower() for name in taken}
    out = []
    for node in nodes:
        name = _UNSAFE_IN_NAME.sub("_", node).lstrip(".-")[:180] or "node"
        if name != node or name.lower() in used:
            name += "-" + hashlib.sha256(node.encode("utf-8", "surrogatepass")).hexdigest()[:8]
        base, count = name, 1
        while name.lower() in used:
            count += 1
            name = f"{base}-{count}"
        used.add(name.lower())
        out.append(name)
    return out


def to_json(value: t.Any) -> str:
    """JSON that any reader takes: plain ASCII, and null for a number JSON has no word for."""
    try:
        text = json.dumps(value, indent=2, allow_nan=False, default=str)
    except ValueError:
        text = json.dumps(_finite(value), indent=2, allow_nan=False, default=str)
    return text + "\n"


def _finite(value: t.Any) -> t.Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, c.Mapping):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, (list, tuple)) else value


def run_document(verdicts: c.Sequence[c.Mapping[str, t.Any]], run: c.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """What diagnosis.json holds."""
    return {"schema": RUN_SCHEMA, "run": dict(run), "summary": summarise(verdicts), "causes": causes(verdicts), "verdicts": list(verdicts)}


def write_reports(verdicts: c.Sequence[c.Mapping[str, t.Any]], directory: str | os.PathLike[str], run: c.Mapping[str, t.Any]) -> list[str]:
    """Write diagnosis.json, one <node>.json each and report.html; the paths, in that order.

    Each file appears whole or not at all. Raises ReportError when one cannot be written.
    """
    from ansible_collections.gpuops.node.plugins.plugin_utils import report_html  # it builds on this module

    folder = pathlib.Path(directory).expanduser()
    names = [f"{name}.json" for name in file_names(str(verdict.get("node") or "") for verdict in verdicts)]
    documents = {
        "diagnosis.json": to_json(run_document(verdicts, run)),
        **{name: to_json(verdict) for name, verdict in zip(names, verdicts)},
        "report.html": report_html.render(verdicts, run, files=names),
    }
    written = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in documents.items():
            written.append(_write(folder / name, text))
    except OSError as error:
        raise ReportError(
            f"Cannot write the report to {clean(str(folder))}: {error.strerror or error}. "
            "Make that directory writable, or choose another one with gpuops_report_dir."
        ) from error
    return written


def _write(path: pathlib.Path, text: str) -> str:
    handle, temporary = tempfile.mkstemp(prefix=".gpuops-", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
            umask = os.umask(0)
            os.umask(umask)
            os.fchmod(stream.fileno(), 0o666 & ~umask)  # mkstemp's 0600 would hide the report from the people it is for
        os.replace(temporary, path)
    except BaseException:
        pathlib.Path(temporary).unlink(missing_ok=True)
        raise
    return str(path)
