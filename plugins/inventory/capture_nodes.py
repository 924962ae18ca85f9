# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors
"""The nodes of a capture as inventory hosts."""

from __future__ import annotations

DOCUMENTATION = r"""
name: capture_nodes
short_description: The nodes of a capture as inventory hosts
description:
  - Reads a capture (a folder or an archive with what was printed about a cluster) and makes one inventory host of each
    node in it, so that a capture can be diagnosed without writing an inventory.
  - Nothing is contacted. The hosts are names, and no variable says how to connect to them.
  - Every host gets the variable C(gpuops_capture), so the play need not be told the capture again.
  - The inventory file must have a name that ends in V(gpuops_capture.yml) or V(gpuops_capture.yaml). Where the plugin
    is enabled in C(ansible.cfg), an archive (V(*.tar), V(*.tar.gz), V(*.tgz), V(*.zip)) can be given to C(-i) itself.
  - A node that C(--limit) names and that the capture does not show becomes a host too, when this is the only inventory.
    A folder of pasted output may not say which node it is from, and where it does, the diagnosis can then say what is
    wrong with the name.
  - When there is no node at all, because the output names none or the capture cannot be read, and this is the only
    inventory, the one host is called V(node). The diagnosis then judges it, or says what is wrong with the capture.
author:
  - gpuops contributors (@gpuops)
version_added: 1.0.0
options:
  plugin:
    description: Must be V(gpuops.node.capture_nodes).
    type: str
    required: true
    choices:
      - gpuops.node.capture_nodes
  capture:
    description:
      - The capture, a folder or an archive.
      - A relative path counts from the inventory file where it is written in the inventory file, and from the current
        directory where it comes from the variable or from the environment.
      - The variable is read from C(--extra-vars) only; there are no others when the inventory is made.
    type: str
    vars:
      - name: gpuops_capture
    env:
      - name: GPUOPS_CAPTURE
  group:
    description: A group that all nodes of the capture are put into.
    type: str
    default: gpuops_capture_nodes
"""

EXAMPLES = r"""
# incident.gpuops_capture.yml: the nodes of one capture.
#   ansible-playbook gpuops.node.diagnose -i incident.gpuops_capture.yml -l gpu-17
---
plugin: gpuops.node.capture_nodes
capture: captures/2026-03-12

# gpuops_capture.yml: the capture is given when the playbook is run.
#   ansible-playbook gpuops.node.diagnose -i gpuops_capture.yml -e gpuops_capture=captures/2026-03-12.tar.gz
---
plugin: gpuops.node.capture_nodes
"""

import os
import re

from ansible import context
from ansible.errors import AnsibleParserError
from ansible.module_utils.common.text.converters import to_text
from ansible.plugins.inventory import BaseInventoryPlugin
from ansible_collections.gpuops.node.plugins.plugin_utils import session
from ansible_collections.gpuops.node.plugins.plugin_utils.capture import CaptureError

CONFIG_SUFFIXES = ("gpuops_capture.yml", "gpuops_capture.yaml")
ARCHIVE_SUFFIXES = (".tar", ".tar.gz", ".tgz", ".zip")

# The host to fail on when there is no node; nameless output is given to a node of this name too.
UNNAMED = "node"

# What a node may be called (RFC 1123 subdomain). Anything else in a limit is a pattern, a group or a mistake.
_NODE_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?\Z")


def limited_to(limit: str | None) -> list[str]:
    """The node names a --limit spells out; none when it holds a pattern, an exclusion or a file."""
    names = [part.strip() for part in re.split(r"[,:]", limit or "") if part.strip()]
    return names if all(_NODE_NAME.match(name) and name not in ("all", "localhost", "ungrouped") for name in names) else []


class InventoryModule(BaseInventoryPlugin):
    NAME = "gpuops.node.capture_nodes"

    def verify_file(self, path):
        return super().verify_file(path) and path.endswith(CONFIG_SUFFIXES + ARCHIVE_SUFFIXES)

    def parse(self, inventory, loader, path, cache=True):
        super().parse(inventory, loader, path, cache=cache)
        if path.endswith(ARCHIVE_SUFFIXES):
            self.set_options(direct={"plugin": self.NAME, "capture": path}, var_options=self._vars)
        else:
            self._read_config_data(path)
        alone = len(context.CLIARGS.get("inventory") or ()) <= 1
        named = limited_to(context.CLIARGS.get("subset")) if alone else []
        capture = ""
        names: list[str] = []
        try:
            capture = self._capture(path)
            names = session.reopen(capture, named[0] if len(named) == 1 else None).node_names()
        except CaptureError as error:
            # An inventory error comes with a page of Ansible's own words, or with a run that does nothing and ends well.
            # With a host to run on, the play itself fails, in one sentence and with its exit status.
            if not alone:
                raise AnsibleParserError(to_text(error)) from error
        group = self.inventory.add_group(self.get_option("group"))
        for name in [*names, *(name for name in named if name not in names)] or [UNNAMED]:
            self.inventory.add_host(name, group=group)
        if capture:
            self.inventory.set_variable("all", "gpuops_capture", capture)

    def _capture(self, path: str) -> str:
        value, origin = self.get_option_and_origin("capture")
        value = to_text(self.templar.template(value)).strip() if value else ""
        if not value:
            raise CaptureError(
                "No capture was given. Set gpuops_capture (-e gpuops_capture=PATH), the environment variable GPUOPS_CAPTURE, "
                f"or the key 'capture' in {path}."
            )
        base = os.path.dirname(os.path.abspath(path)) if origin == "Direct" else os.getcwd()
        return os.path.normpath(os.path.join(base, os.path.expanduser(value)))
