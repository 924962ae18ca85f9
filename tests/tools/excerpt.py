# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors
"""The part of the sample's narration that README.md shows.

excerpt.py           write it into README.md (what `make readme` calls)
"""

from __future__ import annotations

import json
import re
import subprocess
import sys

import env

README = env.ROOT / "README.md"
BLOCK = re.compile(r"(<!-- excerpt -->\n)(?:```text\n.*?```\n)?", re.DOTALL)
# A section of the narration starts with one of these words; the others are left out.
SHOWN = {"ROOT", "WAIT"}
SECTION = re.compile(r"  ([A-Z]{3,})\s")


def narration() -> str:
    """What the sample's playbook tells, in the environment that runs this."""
    extra = {"gpuops_capture": str(env.SAMPLE), "gpuops_gpu_hour_price": float(env.SAMPLE_PRICE)}
    command = ["ansible-playbook", str(env.ROOT / "diagnose.yml"), "-l", env.SAMPLE_NODE, "-e", json.dumps(extra)]
    done = subprocess.run(command, cwd=env.ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True)
    return done.stdout.decode("utf-8")


def chosen(output: str) -> str:
    """The headline, the five layers, the root and the impact."""
    lines = output.splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith(env.SAMPLE_NODE + " "))
    end = next(number for number, line in enumerate(lines) if line.startswith("ok: ["))
    kept: list[str] = []
    section = ""
    for line in lines[start:end]:
        found = SECTION.match(line)
        # OK and FAULT begin the lines of the layers, which come before any section.
        if found and found[1] not in ("FAULT",):
            section = found[1]
        if not section or section in SHOWN:
            kept.append(line.rstrip())
        elif kept[-1] != "  ...":
            kept.append("  ...")
    while kept and not kept[-1]:
        kept.pop()
    return "\n".join(kept) + "\n"


def written(readme: str, output: str) -> str:
    """README.md with the excerpt of this output."""
    return BLOCK.sub(lambda match: f"{match[1]}```text\n{chosen(output)}```\n", readme, count=1)


def main() -> int:
    before = README.read_text("utf-8")
    after = written(before, narration())
    if after != before:
        README.write_text(after, "utf-8")
        print("README.md shows what the sample says now.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
