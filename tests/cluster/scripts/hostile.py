"""A malicious rank: prints terminal escape sequences, and leaves dangerous links and names among its
outputs."""

import os
import sys
from pathlib import Path

ATTACKS = [
    b"\x1b]0;title-of-a-thief\x07",
    b"\x1b]52;c;Y2xpcGJvYXJk\x07",
    b"\x1b[2J\x1b[1;1H\x1b[3A",
    b"\x1b[?1049h\x1b[6n\x1bc",
    b"\x1bP$q\"p\x1b\\",
    b"\xc2\x9b2J\xc2\x9d0;title-of-a-thief\xc2\x9c",
    b"\x9b2J\x9d0;raw\x9c",
    b"\b\b\b\x7f\x0b\x00\xe2\x80\xae",
    b"\x1b[31m",
]  # fmt: skip
for stream in (sys.stdout, sys.stderr):
    for number, attack in enumerate(ATTACKS):
        stream.buffer.write(b"readable %d" % number + attack + b" to the end\n")
    stream.flush()

out = Path(os.environ["HVDOCKER_OUTPUT_DIR"])
(out / "fine.txt").write_text("fine\n")
(out / "absolute").symlink_to("/etc/passwd")
(out / "climbing").symlink_to("../../../../../../precious")
(out / "top").symlink_to("..")
(out / "chain").symlink_to("top/../../../..")
os.mkfifo(out / "pipe")
(out / "same").hardlink_to(out / "fine.txt")
(out / "\x1b]0;title-of-a-thief\x07named").symlink_to("/etc/shadow")
(out / "new\nline").write_text("there\n")
logs = out.parent / "logs"
(logs / "output.part").symlink_to("../precious.txt")
(logs / "output.log").symlink_to("../precious.txt")
if "fail" in sys.argv:
    sys.exit(3)
