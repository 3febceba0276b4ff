"""Lines of docs/kubernetes.md that people paste, run against a kubectl that keeps the Secret in a file."""

import os
import re
import subprocess
from pathlib import Path

import yaml

from leaseforge_auth.settings import auth_secrets
from tests.deploy.kubernetes_rendering import ROOT, kubectl

PAGE = (ROOT / "docs" / "kubernetes.md").read_text("utf-8")
# `create --dry-run` is the real one's work: it asks no cluster.
KUBECTL = """#!/bin/sh
shift 2
case "$1 $2" in
"create secret") exec {real} -n leaseforge "$@" ;;
"replace -f") cat >{here}/secret.yaml ;;
"get secret") sed -n 's/^  auth-secret: //p' {here}/secret.yaml ;;
"rollout restart") sed -n 's/^  auth-secret: //p' {here}/secret.yaml | base64 -d >>{here}/steps; echo >>{here}/steps ;;
"rollout status") ;;
*) echo "unexpected: $*" >&2; exit 1 ;;
esac
"""


def test_the_auth_secret_is_replaced_without_a_moment_in_which_a_token_is_unknown(tmp_path: Path) -> None:
    [lines] = re.findall(r"^```sh\n(put\(\).*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    fake = tmp_path / "kubectl"
    fake.write_text(KUBECTL.format(real=kubectl(), here=tmp_path), encoding="utf-8")
    fake.chmod(0o755)
    old = {"data": {"auth-secret": "dGhlLW9sZC1zZWNyZXQtb2YtdGhpcnR5LXR3by1ieXRlcy1hbmQtbW9yZQ=="}}
    (tmp_path / "secret.yaml").write_text(yaml.safe_dump(old), encoding="utf-8")
    # The page has kubectl with -n only where a Secret is piped on.
    lines = lines.replace("kubectl replace -f", "kubectl -n leaseforge replace -f")
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}

    subprocess.run(["sh", "-euc", lines], env=environment, timeout=60, check=True)

    steps = [auth_secrets(line) for line in (tmp_path / "steps").read_text("utf-8").splitlines()]
    before: tuple[str, ...] = ("the-old-secret-of-thirty-two-bytes-and-more",)
    assert len(steps) == 3
    for after in steps:
        # Servers of both kinds run side by side: what the one signs with, the other accepts.
        assert before[0] in after
        assert after[0] in before
        before = after
    assert before == (steps[1][0],)
    assert before[0] != "the-old-secret-of-thirty-two-bytes-and-more"
