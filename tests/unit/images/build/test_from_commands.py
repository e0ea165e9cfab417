"""The Dockerfile that is made for a user's image, whole."""

from typing import Any

import pytest

from hvdocker.errors import HvdockerError, UsageProblem
from hvdocker.images.build.from_commands import from_dockerfile, from_tag, named_tag

PLAIN = """\
FROM team/train:7
USER 0
COPY from/prepare-os from/choose-python site-ca.crt /opt/hvdocker-build/
RUN ["/bin/sh", "/opt/hvdocker-build/prepare-os"]
COPY lib /opt/hvdocker/lib
COPY bin /opt/hvdocker/bin
COPY wheelhouse /opt/hvdocker-build/wheelhouse
COPY stacks /opt/hvdocker-build/stacks
COPY from/prepare-programs /opt/hvdocker-build/
RUN ["/bin/sh", "/opt/hvdocker-build/prepare-programs"]
ENV PATH="/opt/hvdocker/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
WORKDIR /train
USER 0
ENTRYPOINT ["/opt/hvdocker/bin/entrypoint"]
CMD ["/bin/bash"]
"""


def test_a_plain_image() -> None:
    assert from_dockerfile("team/train:7", {}, has_bash=True) == PLAIN


def test_user_and_path_stay_and_what_is_for_the_images_own_program_goes() -> None:
    config: dict[str, Any] = {
        "User": "app",
        "Env": ["A=1", 'PATH=/opt/con"da/bin:/bin'],
        "Entrypoint": ["/entry.sh"],
        "Healthcheck": {"Test": ["CMD", "false"]},
        "StopSignal": "SIGINT",
    }
    changed = from_dockerfile("team/train:7", config, has_bash=False).splitlines()
    assert changed[10] == 'ENV PATH="/opt/hvdocker/bin:/opt/con\\"da/bin:/bin"'
    assert changed[12:] == [
        "USER app",
        'ENTRYPOINT ["/opt/hvdocker/bin/entrypoint"]',
        'CMD ["/bin/sh"]',
        "HEALTHCHECK NONE",
        "STOPSIGNAL SIGTERM",
    ]


@pytest.mark.parametrize("config", [{"User": "app\nRUN touch /x"}, {"Env": ["PATH=/bin\nRUN touch /x"]}])
def test_settings_of_an_image_add_no_instruction(config: dict[str, Any]) -> None:
    with pytest.raises(HvdockerError, match="nothing can be built on it"):
        from_dockerfile("team/train:7", config, has_bash=True)


def test_an_image_of_ours_gets_no_second_entry_on_the_path() -> None:
    config = {"Env": ["PATH=/opt/hvdocker/bin:/usr/bin"]}
    assert 'ENV PATH="/opt/hvdocker/bin:/usr/bin"\n' in from_dockerfile("hvdocker/a:1", config, has_bash=True)


@pytest.mark.parametrize(
    ("image", "tag"),
    [
        ("train", "hvdocker/train:latest"),
        ("my-team/train:7", "hvdocker/my-team/train:7"),
        ("registry.lan:5000/team/train:7", "hvdocker/team/train:7"),
        ("registry.lan:5000/train", "hvdocker/train:latest"),
        ("localhost/train:7", "hvdocker/train:7"),
        ("train@sha256:0123456789abcdef0123", "hvdocker/train:0123456789ab"),
        ("sha256:0123456789abcdef0123", "hvdocker/image:0123456789ab"),
        ("hvdocker/train:7", "hvdocker/train:7"),
    ],
)
def test_the_name_of_the_result(image: str, tag: str) -> None:
    assert from_tag(image) == tag


@pytest.mark.parametrize(
    ("tag", "wanted"),
    [
        ("train", "train:latest"),
        ("my-team/train:7", "my-team/train:7"),
        ("registry.lan:5000/team/train", "registry.lan:5000/team/train:latest"),
        ("registry.lan:5000/team/train:7.1-a", "registry.lan:5000/team/train:7.1-a"),
    ],
)
def test_a_name_of_the_users_gets_a_tag(tag: str, wanted: str) -> None:
    assert named_tag(tag) == wanted


@pytest.mark.parametrize("tag", ["Train", "train:", "a b", "train:7\nRUN x", "train@sha256:00", "/train", "train:é"])
def test_a_name_that_no_engine_takes_is_refused_before_the_build(tag: str) -> None:
    with pytest.raises(UsageProblem, match="no name of an image"):
        named_tag(tag)
