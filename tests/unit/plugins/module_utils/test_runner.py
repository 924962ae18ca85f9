# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# Copyright (c) 2026, gpuops contributors

from __future__ import annotations

import pytest
from ansible_collections.gpuops.node.plugins.module_utils import runner
from ansible_collections.gpuops.node.plugins.plugin_utils import evidence
from hypothesis import given, settings
from hypothesis import strategies as st

# Text with every line end that str.splitlines() knows.
TEXT = st.text(alphabet=st.sampled_from("ab \n\r\x0b\x0c\x1c\x85\u2028x"), max_size=80)


def test_outcomes_are_those_of_the_evidence_model():
    assert runner.OUTCOMES == evidence.OUTCOMES


class TestLines:
    @given(TEXT)
    def test_numbered_counts_as_splitlines(self, text):
        assert list(runner.numbered(text)) == list(enumerate(text.splitlines(), 1))

    @given(TEXT)
    def test_grep_finds_what_a_loop_finds(self, text):
        assert list(runner.grep(text, ("a", "xb"))) == [
            (n, line) for n, line in enumerate(text.splitlines(), 1) if "a" in line or "xb" in line
        ]

    def test_grep_counts_over_many_lines(self):
        text = "".join(f"line {number}\n" for number in range(1, 1001))
        assert list(runner.grep(text, ("line 7", "00"))) == [
            (n, f"line {n}") for n in range(1, 1001) if str(n).startswith("7") or "00" in str(n)
        ]

    def test_text_of(self):
        assert (
            runner.text_of(None) == "" and runner.text_of(b"a\xff") == "a\ufffd" and runner.text_of("\ufeffa\x1b[0;1;31mb\x1b[0m") == "ab"
        )

    def test_quote_keeps_the_line_and_cuts_the_endless(self):
        assert runner.quote("  a  b \t") == "  a  b" and len(runner.quote("x" * 10**6)) == runner.QUOTE_LIMIT + 3

    @pytest.mark.parametrize(
        ("line", "command"),
        [
            ("root@gpu-a:~# uname -r", "uname -r"),
            ("[root@gpu-a ~]# dkms status", "dkms status"),
            ("$ nvidia-smi", "nvidia-smi"),
            ("bash-5.1# lsmod", "lsmod"),
            ("~ # ls /dev/char/", "ls /dev/char/"),
            ("nvidia 56717312 188", None),
            ("5.15.0-91-generic", None),
        ],
    )
    def test_prompt(self, line, command):
        assert runner.prompt_command(line) == command


class TestTimes:
    @pytest.mark.parametrize(
        ("line", "time"),
        [
            ("I0107 20:32:59.870066       1 main.go:154] x", "01-07T20:32:59"),
            ("Jan 07 20:32:59 gpu-a kubelet[12]: I0107 20:32:59.870066       1 main.go:154] x", "01-07T20:32:59"),
            ("Jan  7 20:32:59.641438 gpu-a systemd[1]: x", "01-07T20:32:59"),
            ("2025-01-07T20:32:59+0000 gpu-a kubelet[12]: I0107 20:32:59.870066       1 main.go:154] x", "2025-01-07T20:32:59+00:00"),
            ("2025-01-07T20:32:59.123456Z I0107 20:32:59.123456 1 main.go:154] x", "2025-01-07T20:32:59Z"),
            ('Jan 07 20:32:59 gpu-a k3s[1]: time="2025-01-07T20:32:59Z" level=info', "2025-01-07T20:32:59Z"),
            ("[Fri Mar 22 21:33:48 2024] NVRM: x", "2024-03-22T21:33:48"),
            ("10.0.0.5: kern: warning: [2022-08-19T19:07:25.922855838Z]: NVRM", "2022-08-19T19:07:25Z"),
            ('time="2024-09-27T12:16:45+02:00" level=info', "2024-09-27T12:16:45+02:00"),
            ("2022/05/13 23:09:23 Foo", "2022-05-13T23:09:23"),
            ("1.6662113914293282e+09    INFO    controllers", "2022-10-19T20:29:51Z"),
            ('{"level":"info","ts":1666211391.42,"msg":"x"}', "2022-10-19T20:29:51Z"),
            ("Fri 2024-05-03 10:00:00 UTC gpu-a kernel: x", "2024-05-03T10:00:00Z"),
            ("Fri 2024-05-03 10:00:00 CEST; 2 days ago", "2024-05-03T10:00:00"),
            ("Wed 01 May 2024 03:00:01 PM UTC", "2024-05-01T15:00:01Z"),
            ("2024-05-01 06:00:01,123 INFO x", "2024-05-01T06:00:01"),
            ("[  201.910514] NVRM: x", None),
            ("2024-13-41T10:00:00Z", None),
            ("", None),
        ],
    )
    def test_forms(self, line, time):
        assert runner.line_time(line) == time

    def test_a_date_in_the_message_is_not_the_stamp(self):
        assert runner.line_time("I0107 20:32:59.870066       1 main.go:154] certificate expires 2031-02-03T04:05:06Z") == "01-07T20:32:59"
        assert runner.line_time("x" * 80 + " 2031-02-03T04:05:06Z") is None

    def test_printed_form_is_kept(self):
        assert runner.line_stamp("I0107 20:32:59.870066 1 main.go:1] x") == ("I0107 20:32:59.870066", "01-07T20:32:59")

    @pytest.mark.parametrize(
        ("line", "time"),
        [
            ("srwxr-xr-x 1 root root 0 Oct  6 23:50 kubelet.sock", "10-06T23:50:00"),
            ("-rw-r--r-- 1 root root 0 2024-05-02 06:59:30.123456789 +0000 driver-ready", "2024-05-02T06:59:30+00:00"),
            ("         system boot  2024-05-02 06:55", "2024-05-02T06:55:00"),
            ("-rw-r--r-- 1 root root 0 Jan  1  2024 old", None),
        ],
    )
    def test_listings(self, line, time):
        assert runner.listing_time(line) == time


SECRETS = [
    ("    client-key-data: LS0tLS1CRUdJTg==", "LS0tLS1CRUdJTg"),
    ("    certificate-authority-data: LS0tLS1CRUdJTg==", "LS0tLS1CRUdJTg"),
    ("    token: abcdef.0123456789abcdef", "0123456789abcdef"),
    ("Authorization: Bearer abcdef1234567890", "abcdef1234567890"),
    ("curl -H 'Authorization: Basic dXNlcjpwYXNz'", "dXNlcjpwYXNz"),
    ("got eyJhbGciOiJSUzI1NiIs.eyJpc3MiOiJrdWJl.c2ln from api", "eyJpc3MiOiJrdWJl"),
    ("NGC_API_KEY=bXktc2VjcmV0", "bXktc2VjcmV0"),
    ("      HF_TOKEN:            my-hub-token", "my-hub-token"),
    ("      DB_PASSWORD:  several words here", "several words"),
    ('{"auths":{"nvcr.io":{"auth":"JG9hdXRo","username":"x"}}}', "JG9hdXRo"),
    ('  identitytoken = "abc123"', "abc123"),
    ('env: [{"name":"NGC_API_KEY","value":"abc123"}]', "abc123"),
    ('{\\"name\\":\\"NGC_API_KEY\\",\\"value\\":\\"abc123\\"}', "abc123"),
    ("- name: DB_PASSWORD\n  value: hunter2\n", "hunter2"),
    ('  "name": "DB_PASSWORD",\n  "value": "hunter2"\n', "hunter2"),
    ("kubelet --bootstrap-token=aaaaaa.bbbbbbbbbbbbbbbb --v=2", "bbbbbbbbbbbbbbbb"),
    ("kubeadm join --token aaaaaa.bbbbbbbbbbbbbbbb", "bbbbbbbbbbbbbbbb"),
    ('msg="login failed" password=hunter2', "hunter2"),
    ("https://user:hunter2@example.com/repo", "hunter2"),
    ("AWS_ACCESS_KEY_ID=AKIAABCDEFGHIJKLMNOP", "AKIAABCDEFGHIJKLMNOP"),
    ("AWS_SECRET_ACCESS_KEY=zzz/yyy", "zzz/yyy"),
    ("password: |\n  multi\n  line\nnext: 1\n", "multi"),
    ("kind: Secret\ndata:\n  whatever: c2VjcmV0\n", "c2VjcmV0"),
    ("-----BEGIN RSA PRIVATE KEY-----\nMIIEabcd\nefgh\n-----END RSA PRIVATE KEY-----\n", "MIIEabcd"),
    ("-----BEGIN PRIVATE KEY-----\nMIIEabcd\n", "MIIEabcd"),
    ('key: "-----BEGIN PRIVATE KEY-----\\nMIIEabcd\\n-----END PRIVATE KEY-----\\n"', "MIIEabcd"),
    ("K10" + "ab" * 32 + "::server:0123456789abcdef", "0123456789abcdef"),
]

KEPT = [
    "GPU 0: NVIDIA H100 (UUID: GPU-8c63589e-ae7c-58f8-aaf8-9edc1664153e)",
    "MIG-c6d4f1ef-42e4-5de3-91c7-45d71c87eb3f",
    "nvcr.io/nvidia/driver@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    "podUID: 0f9b8f6e-1111-4222-8333-444455556666",
    "nvidia 56717312 188 nvidia_uvm, Live 0xffffffffc0a00000 (POE)",
    "nvidia-persistenced.service loaded active running NVIDIA Persistence Daemon",
    "  - key: nvidia.com/gpu",
    "    topologyKey: kubernetes.io/hostname",
    "sig_key:        4E:5C:AA:01",
    "modprobe: ERROR: could not insert 'nvidia': Key was rejected by service",
    "modprobe: ERROR: could not insert 'nvidia': Required key not available",
    "Signing key: /var/lib/dkms/mok.key",
    "failed to authorize: failed to fetch anonymous token: unexpected status from GET request: 401 Unauthorized",
    "--tls-private-key-file=/etc/kubernetes/pki/kubelet.key --authorization-mode=Webhook --authentication-token-webhook=true",
    "TokenExpirationSeconds:  3607",
    "    secretName: nvidia-tls",
    "  imagePullSecrets:",
    "automountServiceAccountToken: false",
    "      NGC_API_KEY:  <set to the key 'key' in secret 'ngc'>  Optional: false",
    "nvidia: module verification failed: signature and/or required key missing - tainting kernel",
    "path = /usr/bin/nvidia-container-runtime",
    "NVIDIA_VISIBLE_DEVICES=GPU-8c63589e-ae7c-58f8-aaf8-9edc1664153e",
    "PASS_DEVICE_SPECS: true",
    "client-certificate: /etc/kubernetes/pki/client.crt",
    "PWD=/workspace",
]


class TestRedact:
    @pytest.mark.parametrize(("text", "secret"), SECRETS)
    def test_secrets_go(self, text, secret):
        shown = runner.redact(text)
        assert secret not in shown and runner.REDACTED in shown

    @pytest.mark.parametrize("text", KEPT)
    def test_facts_stay(self, text):
        assert runner.redact(text) == text

    def test_names_and_structure_stay(self):
        text = 'env:\n- name: NGC_API_KEY\n  value: "abc"\n- name: PASS_DEVICE_SPECS\n  value: "true"\n'
        assert runner.redact(text) == 'env:\n- name: NGC_API_KEY\n  value: "[REDACTED]"\n- name: PASS_DEVICE_SPECS\n  value: "true"\n'

    def test_block_ends_where_the_indent_ends(self):
        assert runner.redact("password: |\n  multi\n  line\nnext: 1\n").endswith("\nnext: 1\n")

    def test_data_of_a_config_map_stays(self):
        text = "kind: ConfigMap\ndata:\n  config.yaml: value\n"
        assert runner.redact(text) == text

    @settings(max_examples=200, deadline=None)
    @given(st.text(max_size=200))
    def test_any_text_and_twice_is_once(self, text):
        once = runner.redact(text)
        assert runner.redact(once) == once

    @settings(max_examples=200, deadline=None)
    @given(
        st.lists(st.sampled_from([text for text, _secret in SECRETS] + KEPT + ["", " ", "}", '"', "---"]), max_size=6),
        st.sampled_from(["\n", " ", ""]),
    )
    def test_mixtures_are_stable(self, pieces, between):
        once = runner.redact(between.join(pieces))
        assert runner.redact(once) == once
