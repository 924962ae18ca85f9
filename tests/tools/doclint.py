# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors
"""Documentation that is true: links lead somewhere, commands exist, and every variable is listed."""

from __future__ import annotations

import pathlib
import re
import typing as t

_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$", re.MULTILINE)
_FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
_MAKE = re.compile(r"(?:^|[`\s])make +(?:-C \S+ +)?([a-z][a-z-]*)\b")
_COMMAND = re.compile(r"^\s*\$?\s*(make|ansible-playbook) ", re.MULTILINE)
_PLAYBOOK = re.compile(r"ansible-playbook +(?:[^\n|#]*? )??((?:[\w./-]+/)?[\w-]+\.yml|gpuops\.node\.\w+)\b")


def anchor(heading: str) -> str:
    """The id that a Markdown viewer gives a heading."""
    text = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
    return re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", text))


def prose(text: str) -> str:
    return _FENCE.sub("", text)


def link_problems(root: pathlib.Path, file: str, text: str) -> t.Iterator[str]:
    for match in _LINK.finditer(prose(text)):
        link = match[1] or match[2]
        if re.match(r"[a-z][a-z0-9+.-]*:", link):
            continue  # another site: not ours to check without a network
        path, _hash, fragment = link.partition("#")
        target = (root / file).parent / path if path else root / file
        if not target.exists():
            yield f"{file}: the link {link} leads nowhere"
        elif (
            fragment and target.suffix == ".md" and fragment not in {anchor(h) for h in _HEADING.findall(prose(target.read_text("utf-8")))}
        ):
            yield f"{file}: the link {link} names a heading that is not there"


def command_problems(root: pathlib.Path, file: str, text: str) -> t.Iterator[str]:
    targets = set(re.findall(r"^([a-z][\w-]*):", (root / "Makefile").read_text("utf-8"), re.MULTILINE))
    code = "\n".join(re.findall(r"^```.*?^```|`[^`\n]+`", text, re.MULTILINE | re.DOTALL))
    for name in sorted(set(_MAKE.findall(code)) - targets):
        yield f"{file}: make {name} is not a target of the Makefile"
    for name in sorted(set(_PLAYBOOK.findall(code))):
        inside = "playbooks/" + name.removeprefix("gpuops.node.") + ".yml" if name.startswith("gpuops.node.") else name
        if name.startswith("gpuops.node.") or name.startswith("playbooks/"):
            if not (root / inside).is_file():
                yield f"{file}: the playbook {name} does not exist"


def role_variables(root: pathlib.Path, role: str) -> tuple[set[str], set[str]]:
    """The variables that a role's argument specification names, and those that it has defaults for."""
    spec = (root / "roles" / role / "meta" / "argument_specs.yml").read_text("utf-8")
    defaults = (root / "roles" / role / "defaults" / "main.yml").read_text("utf-8")
    return set(re.findall(r"^ {6}(gpuops_\w+):", spec, re.MULTILINE)), set(re.findall(r"^(gpuops_\w+):", defaults, re.MULTILINE))


def variable_problems(root: pathlib.Path) -> t.Iterator[str]:
    for folder in sorted((root / "roles").iterdir()):
        if not (folder / "meta" / "argument_specs.yml").is_file():
            yield f"roles/{folder.name}: there is no meta/argument_specs.yml"
            continue
        if not (folder / "README.md").is_file():
            yield f"roles/{folder.name}: there is no README.md"
            continue
        spec, defaults = role_variables(root, folder.name)
        listed = set(re.findall(r"^\| *`(gpuops_\w+)`", (folder / "README.md").read_text("utf-8"), re.MULTILINE))
        for name in sorted(spec ^ defaults):
            yield f"roles/{folder.name}: {name} is not both in the argument specification and in the defaults"
        for name in sorted(spec ^ listed):
            yield f"roles/{folder.name}: {name} is not both in the argument specification and in the table of README.md"


def problems(root: pathlib.Path, files: t.Iterable[str]) -> t.Iterator[str]:
    for file in files:
        if file.endswith(".md") and not file.startswith("tests/cases/"):
            text = (root / file).read_text("utf-8")
            yield from link_problems(root, file, text)
            yield from command_problems(root, file, text)
    yield from variable_problems(root)
    readme = (root / "README.md").read_text("utf-8")
    for name in ("make diagnose", "make test"):
        if name not in readme:
            yield f"README.md: {name} is not told"
