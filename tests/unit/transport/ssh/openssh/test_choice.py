"""Which uploads go through ssh: a table."""

import pytest

from hvdocker.transport.ssh.openssh.choice import MIN_BYTES, MIN_TOTAL_BYTES, LoginFacts, UploadPipe, choose_pipe

READY = LoginFacts("/usr/bin/ssh", "ssh-ed25519")
OPENSSH, CONNECTION = UploadPipe.OPENSSH, UploadPipe.CONNECTION


@pytest.mark.parametrize(
    ("size", "streams", "pipe"),
    [
        (0, 1, CONNECTION),
        (MIN_TOTAL_BYTES - 1, 1, CONNECTION),
        (MIN_TOTAL_BYTES, 1, OPENSSH),
        (MIN_TOTAL_BYTES // 2, 2, OPENSSH),
        (MIN_BYTES, 8, OPENSSH),
        (MIN_BYTES - 1, 8, CONNECTION),
        (1 << 20, 1000, CONNECTION),
    ],
)
def test_only_uploads_that_make_up_for_a_login(size: int, streams: int, pipe: UploadPipe) -> None:
    assert choose_pipe(size, streams, READY) is pipe


@pytest.mark.parametrize(
    ("facts", "pipe"),
    [
        (READY, OPENSSH),
        (LoginFacts("", "ssh-ed25519"), CONNECTION),
        (LoginFacts("/usr/bin/ssh", ""), CONNECTION),
        (LoginFacts("/usr/bin/ssh", "sk-ssh-ed25519@openssh.com"), CONNECTION),
        (LoginFacts("/usr/bin/ssh", "ssh-ed25519", was_refused=True), CONNECTION),
    ],
)
def test_only_with_a_login_that_asks_nobody(facts: LoginFacts, pipe: UploadPipe) -> None:
    assert choose_pipe(1 << 30, 1, facts) is pipe
