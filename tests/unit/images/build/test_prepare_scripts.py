"""The scripts of `image build --from`, on a system that is made of scripts. RHEL-like systems are tried here only: no
registry is at hand that has their images."""

import subprocess
from pathlib import Path

import pytest

from hvdocker import assets

PREPARE = assets.image_dir() / "from" / "prepare-os"
CHOOSE = assets.image_dir() / "from" / "choose-python"


def dnf_commands(tmp_path: Path, tool: str, ca: str = "") -> list[str]:
    """Run prepare-os on a system that has only this package tool, and return how the tool was called.

    Everything that the script looks for is below a folder: `/usr/sbin/sshd` is tmp_path/usr/sbin/sshd."""
    root, here = tmp_path / "root", tmp_path / "here"
    for folder in ("usr/sbin", "usr/bin", "bin", "etc/ssh", "opt", "run", "usr/local/bin"):
        (root / folder).mkdir(parents=True)
    here.mkdir()
    script = PREPARE.read_text()
    for path in (
        "/usr/sbin/sshd",
        "/usr/bin/ssh",
        "/etc/ssh/",
        "/run/sshd",
        "/train",
        "/out",
        "/opt/hvdocker",
        "/usr/local/bin/python",
    ):
        script = script.replace(f" {path}", f" {root}{path}")
    script = script.replace("PATH=$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "")
    (here / "prepare-os").write_text(script)
    # No Python fits until a package of a newer one is there.
    (here / "choose-python").write_text(f"[ -e {root}/usr/bin/python3.11 ] && echo {root}/usr/bin/python3.11")
    (here / "site-ca.crt").write_text(ca)
    log = tmp_path / "log"
    fake = root / "bin" / tool
    fake.write_text(
        f"""#!/bin/sh
echo "{tool} $*" >> {log}
case "$*" in
    *openssh-server*) touch {root}/usr/sbin/sshd {root}/usr/bin/ssh; chmod +x {root}/usr/sbin/sshd {root}/usr/bin/ssh ;;
    *python3.12*) exit 1 ;;
    *python3.11*) touch {root}/usr/bin/python3.11 ;;
esac
"""
    )
    fake.chmod(0o755)
    for name in ("sh", "cat", "rm", "mkdir", "chmod", "ln", "rmdir", "dirname", "touch", "ls", "head", "tr"):
        (root / "bin" / name).symlink_to(f"/bin/{name}")
    done = subprocess.run(
        ["/bin/sh", str(here / "prepare-os")], env={"PATH": f"{root}/bin"}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert (root / "opt/hvdocker/python").readlink() == root / "usr/bin/python3.11"
    return log.read_text().splitlines()


@pytest.mark.parametrize("tool", ["dnf", "microdnf", "yum"])
def test_a_rhel_like_image_gets_sshd_and_a_newer_python(tmp_path: Path, tool: str) -> None:
    flags = "-y --nodocs --setopt=install_weak_deps=0"
    assert dnf_commands(tmp_path, tool) == [
        f"{tool} {flags} install openssh-server openssh-clients",
        f"{tool} {flags} install python3.12",
        f"{tool} {flags} install python3.11",
        f"{tool} clean all",
    ]


def test_a_site_with_its_own_authority(tmp_path: Path) -> None:
    first, *_ = dnf_commands(tmp_path, "dnf", ca="a certificate")
    assert f"--setopt=sslcacert={tmp_path}/here/site-ca.crt" in first


@pytest.mark.parametrize("script", sorted((assets.image_dir() / "from").iterdir()), ids=lambda path: path.name)
def test_scripts_are_understood_by_a_posix_shell(script: Path) -> None:
    assert subprocess.run(["sh", "-n", str(script)], check=False).returncode == 0
