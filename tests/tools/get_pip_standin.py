# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors
"""Stands in for the get-pip script that ansible-test would download: Python brings a pip of its own."""

import subprocess
import sys

arguments = [item for item in sys.argv[1:] if item not in ("--no-setuptools", "--no-wheel")]
subprocess.check_call([sys.executable, "-I", "-m", "ensurepip", "--upgrade"], stdout=subprocess.DEVNULL)
sys.exit(subprocess.call([sys.executable, "-I", "-m", "pip", "install", "-q", *arguments]))
