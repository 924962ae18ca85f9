#!/usr/bin/python
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors
# The work is done on the controller, by plugins/action/diagnosis.py; this file is its documentation.

from __future__ import annotations

DOCUMENTATION = r"""
module: diagnosis
short_description: Say why GPU nodes do not serve their GPUs, and prove it
description:
  - Takes what is known about Kubernetes GPU nodes and walks the stack from the hardware up to the scheduler. It ends in
    one root fault per node with the lines that prove it, or says what is missing.
  - In this release the evidence comes from a capture, that is files on disk. Nothing is contacted and nothing on any
    node or in any cluster is changed.
  - Runs on the controller, once for all nodes. Use it with C(run_once).
  - The same evidence gives the same words, every run.
version_added: 1.0.0
author:
  - gpuops contributors (@gpuops)
extends_documentation_fragment:
  - gpuops.node.attributes
  - gpuops.node.attributes.controller
attributes:
  check_mode:
    support: full
    details:
      - The diagnosis is made as usual. The files of O(report_dir) are named and not written.
  diff_mode:
    support: none
options:
  capture:
    description:
      - The capture, a folder or an archive (V(.tar), V(.tar.gz), V(.tgz), V(.zip)).
      - It can be a capture in the format of this collection, an NVIDIA must-gather folder, or a folder of whatever was
        pasted. Which of the three it is, is found out.
      - A relative path counts from the current directory.
    type: path
    required: true
  nodes:
    description:
      - The nodes to judge, by their names in Kubernetes.
      - Without it, the hosts of the play.
    type: list
    elements: str
  resource:
    description: The extended resource that the node should offer. It must be one of NVIDIA's, as V(nvidia.com/gpu) is.
    type: str
    default: nvidia.com/gpu
  expected:
    description:
      - How many GPUs a node should offer, as a number for all nodes or as a dictionary of node name and number.
      - Without it, the number is taken from healthy twins of the node, its labels or its bus. The verdict says which.
    type: raw
  pod:
    description:
      - The pod that waits, as V(namespace/name). The scheduler's decision is then evaluated for it. It must be in the
        capture.
      - Without it, the pending pods that ask for the resource are looked at.
    type: str
  validation_taints:
    description:
      - Keys of taints that your own tooling puts on a node until it has proved itself, and takes away again.
    type: list
    elements: str
    default: []
  gangs:
    description:
      - Jobs that wait for all their GPUs at once. They are found in the capture where it holds PodGroup, JobSet, Kueue or
        Volcano objects; what is given here is added.
    type: list
    elements: dict
    default: []
    suboptions:
      name:
        description: The name of the job.
        type: str
        required: true
      gpus:
        description: How many GPUs it waits for.
        type: int
        required: true
      since:
        description: Since when it waits, as in V(2026-03-12T00:04:00Z). Without it, since the node stopped serving its GPUs.
        type: str
  price:
    description: What one GPU costs in one hour. Without it, nothing is said about money.
    type: float
  currency:
    description: What is written before an amount of money.
    type: str
    default: $
  now:
    description:
      - The time up to which impact is counted, as in V(2026-03-12T07:04:00Z).
      - Without it, the time at which the capture was taken.
    type: str
  report_dir:
    description:
      - A directory on the controller to write reports to. It is made when it is not there.
      - The files are V(diagnosis.json) (the whole run), one V(NODE.json) per node, and V(report.html), one page that can be
        passed on.
    type: path
  narrate:
    description: Whether the narration is printed. It is returned in any case.
    type: bool
    default: true
  colour:
    description:
      - Whether the printed narration has colour.
      - With V(auto) it has where Ansible itself uses colour, and never in AWX.
    type: str
    choices:
      - auto
      - always
      - never
    default: auto
seealso:
  - plugin: gpuops.node.capture_nodes
    plugin_type: inventory
    description: The nodes of a capture as inventory hosts.
"""

EXAMPLES = r"""
- name: Say what is wrong with the nodes of this play
  gpuops.node.diagnosis:
    capture: captures/2026-03-12.tar.gz
    price: 2.50
  run_once: true
  register: diagnosis

- name: Go on only where the node is healthy
  ansible.builtin.assert:
    that: diagnosis.verdicts[inventory_hostname].case == 'healthy'
    fail_msg: "{{ diagnosis.verdicts[inventory_hostname].root.because }}"

- name: Judge two nodes, keep the reports, and print nothing
  gpuops.node.diagnosis:
    capture: captures/2026-03-12.tar.gz
    nodes:
      - gpu-17
      - gpu-18
    expected:
      gpu-17: 8
      gpu-18: 4
    gangs:
      - name: train-large
        gpus: 64
        since: "2026-03-12T00:04:00Z"
    report_dir: reports
    narrate: false
  run_once: true
"""

RETURN = r"""
msg:
  description: The whole run in one sentence.
  type: str
  returned: success
  sample: "gpu-17: driver not built for kernel (driver), 8 GPUs out of service."
verdicts:
  description:
    - One verdict per node, by node name.
    - The format, gpuops.node/diagnosis/v1, is described in C(docs/verdict.md) of the collection, with a JSON Schema.
  type: dict
  returned: success
  contains:
    case:
      description: >-
        V(A) when the node offers no GPU, V(B) when it offers some or all and something is wrong, V(healthy), V(unknown)
        when the evidence does not tell, V(none) when none of it applies.
      type: str
      sample: A
    ready:
      description: Whether the node is Ready, or V(null) when that is not known.
      type: bool
    capacity:
      description: How many GPUs the node says it has.
      type: int
    allocatable:
      description: How many GPUs the node offers.
      type: int
    expected:
      description: How many GPUs the node should offer.
      type: int
    expected_from:
      description: Where RV(verdicts.expected) was taken from.
      type: str
    root:
      description: >-
        The root fault. C(fault) is an id from the catalogue, V(healthy) or V(undetermined); C(layer), C(certainty),
        C(because) and C(evidence) belong to it.
      type: dict
    contributing:
      description: Faults that are real and not the root.
      type: list
      elements: dict
    walk:
      description: The five layers, with what was read in each, what was found and what it means.
      type: list
      elements: dict
    mend:
      description: What mends it, what that would change and who must act.
      type: dict
    collect_next:
      description: What to collect when the evidence does not decide.
      type: list
      elements: dict
    latent:
      description: Faults that do not bite yet, but will at the next reboot.
      type: list
      elements: dict
    impact:
      description: Idle GPUs, since when, what they cost, and which jobs wait.
      type: dict
    next:
      description: The command lines to run next.
      type: list
      elements: str
sick:
  description: One sentence for each node that is not healthy, by node name. A node whose only fault is in the pod is not here.
  type: dict
  returned: success
  sample:
    gpu-17: "gpu-17: driver not built for kernel (driver), 8 GPUs out of service."
summary:
  description: The run in numbers.
  type: dict
  returned: success
  sample:
    nodes: 40
    healthy: 39
    sick: 1
    undetermined: 0
    workload: 0
    gpus_out: 8
    cost_per_hour: 20.0
    cost: 140.0
    gpu_hours_delayed: 448.0
    currency: $
    failed:
      - gpu-17
narration:
  description: What was printed, without colour.
  type: str
  returned: success
reports:
  description: The files that were written, or would be in check mode.
  type: list
  elements: str
  returned: success
"""
