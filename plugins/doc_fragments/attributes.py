# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors
"""What the plugins of this collection say about themselves."""

from __future__ import annotations


class ModuleDocFragment:
    # The words; each module says how far it supports them.
    DOCUMENTATION = r"""
attributes:
  action:
    description: Has an action plugin of the same name, so some or all of the work is done on the controller.
  action_group:
    description: Is in an action group, so that C(module_defaults) reaches it with all the others.
  async:
    description: Can be run with the C(async) keyword.
  bypass_host_loop:
    description: Runs once for all hosts of a play, whatever C(run_once) says.
  check_mode:
    description: Can be run with C(--check) and then changes nothing.
  diff_mode:
    description: Returns what changed when run with C(--diff).
  facts:
    description: Sets facts.
  platform:
    description: What it can be run against.
    support: N/A
"""

    # For actions that never leave the controller.
    CONTROLLER = r"""
attributes:
  action:
    support: full
  action_group:
    support: full
    membership:
      - gpuops.node.all
  async:
    support: none
  bypass_host_loop:
    support: none
  facts:
    support: none
  platform:
    support: full
    platforms: all
"""
