#!/usr/bin/env python
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors
"""Diagnoses every case of a folder and compares the verdicts with what their threads concluded.

Usage: cases.py DIR [--report OUT.json] [--only ID] [--verbose]

A case is a folder with a case.yml (id, node, expected) and evidence files. The exit status is 0 whatever
the score; 2 when the folder cannot be read.
"""

from __future__ import annotations

import argparse
import collections
import json
import pathlib
import sys
import typing as t

import yaml
from ansible_collections.gpuops.node.plugins.plugin_utils import catalogue
from ansible_collections.gpuops.node.plugins.plugin_utils.capture import CaptureError, open_capture
from ansible_collections.gpuops.node.plugins.plugin_utils.diagnose import diagnose
from ansible_collections.gpuops.node.plugins.plugin_utils.judge.view import Options
from ansible_collections.gpuops.node.plugins.plugin_utils.report import narrate

GRADES = ("right", "acceptable", "undetermined", "wrong")


def grade(fault: str, expected: dict[str, t.Any]) -> str:
    if fault == expected.get("fault"):
        return "right"
    if fault in (expected.get("also_accept") or []):
        return "acceptable"
    return "undetermined" if fault == "undetermined" else "wrong"


def run(folder: pathlib.Path) -> dict[str, t.Any]:
    """One case: its verdict in short, and its grade where the case says what to expect."""
    case = yaml.safe_load((folder / "case.yml").read_text(encoding="utf-8")) or {}
    node = case.get("node") or "node"
    try:
        verdict = diagnose(open_capture(str(folder), node), [node], Options())[0]
    except CaptureError as error:
        return {
            "id": folder.name,
            "error": str(error),
            "root_fault": None,
            "result": "wrong" if case.get("expected") else None,
            "expected": case.get("expected"),
        }
    root = verdict["root"]
    mend = verdict["mend"]
    result = {
        "id": case.get("id", folder.name),
        "root_fault": root["fault"],
        "layer": root["layer"],
        "certainty": root["certainty"],
        "case": verdict["case"],
        "because": root["because"],
        "contributing": [c["fault"] for c in verdict["contributing"]],
        "mend": " ".join([mend["summary"], *mend["steps"]]),
        "never": mend["never"],
        "collect_next": verdict["collect_next"],
        "result": None,
        "verdict": verdict,
    }
    expected = case.get("expected")
    if expected:
        result["expected"] = expected
        result["result"] = grade(root["fault"], expected)
    return result


def summary(results: list[dict[str, t.Any]]) -> str:
    graded = [r for r in results if r["result"]]
    lines = []
    per_layer: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for result in graded:
        per_layer[catalogue.layer_of(result["expected"]["fault"]) or "none"][result["result"]] += 1
    lines.append(f"{'layer':<16}" + "".join(f"{g:>14}" for g in GRADES) + f"{'cases':>8}")
    totals: collections.Counter[str] = collections.Counter()
    for layer in ("hardware", "driver", "runtime", "device_plugin", "scheduler", "none"):
        counts = per_layer.get(layer)
        if counts:
            totals.update(counts)
            lines.append(f"{layer:<16}" + "".join(f"{counts[g]:>14}" for g in GRADES) + f"{sum(counts.values()):>8}")
    number = sum(totals.values())
    lines.append(f"{'all':<16}" + "".join(f"{totals[g]:>14}" for g in GRADES) + f"{number:>8}")
    if number:
        lines.append(
            f"right {100 * totals['right'] / number:.0f} %, "
            f"right or acceptable {100 * (totals['right'] + totals['acceptable']) / number:.0f} %"
        )
    certain = [r["id"] for r in graded if r["result"] == "wrong" and r.get("certainty") == "certain"]
    lines.append(f"wrong and certain: {len(certain)}" + (f" ({', '.join(certain)})" if certain else ""))
    misses = [r for r in graded if r["result"] != "right"]
    lines += [f"  {r['result']:<13}{r['id']}: {r['root_fault']} ({r.get('certainty')}), expected {r['expected']['fault']}" for r in misses]
    lines += [f"  error        {r['id']}: {r['error']}" for r in results if r.get("error")]
    return "\n".join(lines)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--report", type=pathlib.Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--verbose", action="store_true", help="print each case's narration")
    args = parser.parse_args(argv)
    if not args.folder.is_dir():
        print(f"{args.folder}: no such folder; name the folder that holds the cases (CASES=DIR).", file=sys.stderr)
        return 2
    folders = sorted(path.parent for path in args.folder.glob("*/case.yml") if args.only in path.parent.name)
    if not folders:
        print(f"{args.folder}: no */case.yml in it; a case is a folder with a case.yml and evidence files.", file=sys.stderr)
        return 2
    results = [run(folder) for folder in folders]
    if args.verbose:
        for result in results:
            print(f"=== {result['id']}  [{result['result']}]")
            if result.get("verdict"):
                print(narrate([result["verdict"]]))
    print(summary(results))
    if args.report:
        args.report.write_text(json.dumps(results, indent=1, ensure_ascii=False, default=str) + "\n", encoding="utf-8")
        print(f"report: {args.report}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
