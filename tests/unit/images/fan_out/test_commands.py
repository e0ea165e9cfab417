"""The scripts with which hosts pass images on, run by the shell of this machine."""

import os
import subprocess
from pathlib import Path

import pytest

from hvdocker.images.fan_out import commands
from hvdocker.images.ship.resumable_parts import ExportedImage, ImageLayer, split_into_parts

BODY = os.urandom(100_000)
LAYER = ImageLayer("sha256:" + "a" * 64, len(BODY))
MARK = b"\nhvdocker-layer\n"
IMAGE = ExportedImage("x:y", b"{}", (LAYER,))


def serve(folder: Path, *words: str, request: str | None = None) -> subprocess.CompletedProcess[bytes]:
    (folder / "serve").write_text(commands.SERVE)
    environment = {**os.environ, **({"SSH_ORIGINAL_COMMAND": request} if request is not None else {})}
    return subprocess.run(["sh", str(folder / "serve"), *words], env=environment, capture_output=True)


def test_a_layer_is_served_whole(tmp_path: Path) -> None:
    (tmp_path / LAYER.hex).write_bytes(BODY)
    done = serve(tmp_path, request=f"{LAYER.hex} {LAYER.size} 3")
    assert (done.returncode, done.stdout) == (0, MARK + BODY)
    assert (tmp_path / "sent-3").read_text() == f"{LAYER.hex} {LAYER.size}\n"


@pytest.mark.parametrize("size", [1, 1 << 20, (1 << 20) + 1, 64 << 20, (65 << 20) + 7])
def test_a_layer_of_any_size_is_served_whole(tmp_path: Path, size: int) -> None:
    body = os.urandom(1 << 16) * (size // (1 << 16) + 1)
    (tmp_path / LAYER.hex).write_bytes(body[:size])
    done = serve(tmp_path, request=f"{LAYER.hex} {size} 3")
    assert done.returncode == 0 and done.stdout == MARK + body[:size]
    assert (tmp_path / "sent-3").read_text() == f"{LAYER.hex} {size}\n"


def test_a_layer_is_served_while_it_arrives(tmp_path: Path) -> None:
    """In pieces that are worth a process, and the last whatever its size."""
    path = tmp_path / LAYER.hex
    body, enough = BODY * 100, 9 << 20
    path.write_bytes(body[:enough])
    (tmp_path / "serve").write_text(commands.SERVE)
    words = ["sh", str(tmp_path / "serve"), "here", LAYER.hex, str(len(body))]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as serving:
        assert serving.stdout
        first = serving.stdout.read(enough)
        with path.open("ab") as file:
            file.write(body[enough:])
        assert first + serving.stdout.read() == body
    assert serving.returncode == 0


@pytest.mark.parametrize("request_", ["../key 10 1", "key 10 1", "/etc/passwd 10", "a;id 10", "", "$(id) 1"])
def test_nothing_but_layers_is_served(tmp_path: Path, request_: str) -> None:
    (tmp_path / "key").write_text("secret")
    done = serve(tmp_path, request=request_)
    assert done.returncode != 0 and done.stdout == b""


def test_a_layer_that_is_taken_away_ends_it(tmp_path: Path) -> None:
    assert serve(tmp_path, "here", LAYER.hex, "10").returncode == 1


def run_load(folder: Path, engine: str) -> subprocess.CompletedProcess[str]:
    prepared(folder, engine)
    return subprocess.run(["sh", str(folder / "load")], capture_output=True, text=True)


def prepared(folder: Path, engine: str) -> None:
    """With a program in the engine's place: what reaches it is what counts here."""
    script, literals = commands.load_script(split_into_parts(IMAGE, 0), "./engine")
    (folder / "load").write_text(script)
    (folder / "serve").write_text(commands.SERVE)
    for name, content in literals.items():
        (folder / name).write_bytes(content)
    (folder / "engine").write_text(f"#!/bin/sh\n{engine}\n")
    (folder / "engine").chmod(0o755)


@pytest.mark.parametrize("code", [0, 1, 255])
def test_a_layer_arrives_whole_from_a_host_whose_login_shell_prints_something(tmp_path: Path, code: int) -> None:
    (tmp_path / LAYER.hex).write_bytes(BODY)
    (tmp_path / "serve").write_text(commands.SERVE)
    (tmp_path / "ssh").write_text(
        "#!/bin/sh\necho welcome; printf '\\033]0;title\\007'; for request; do :; done\n"
        f'SSH_ORIGINAL_COMMAND=$request sh "{tmp_path}/serve"; exit {code}\n'
    )
    (tmp_path / "ssh").chmod(0o755)
    receiver = tmp_path / "receiver"
    receiver.mkdir()
    (receiver / "fetch").write_text(commands.fetch_script([LAYER]))
    argv = commands.fetch_layers(str(receiver), commands.Feed(1, "kim", "10.0.0.11", 2222), 3).argv
    done = subprocess.run(argv, env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}, capture_output=True)
    assert (done.returncode, done.stdout) == (code, b"")
    assert (receiver / LAYER.hex).read_bytes() == BODY


def archive() -> bytes:
    (part,) = split_into_parts(IMAGE, 0)
    return b"".join(BODY if isinstance(segment, ImageLayer) else segment for segment in part.segments())


def test_an_engine_gets_the_very_archive(tmp_path: Path) -> None:
    (tmp_path / LAYER.hex).write_bytes(BODY)
    assert run_load(tmp_path, "cat > got").returncode == 0
    assert (tmp_path / "got").read_bytes() == archive()
    assert commands.missing_layer_status(run_load(tmp_path, "").stdout) is None


def test_a_part_that_is_loaded_is_not_loaded_again(tmp_path: Path) -> None:
    (tmp_path / LAYER.hex).write_bytes(BODY)
    run_load(tmp_path, "cat > /dev/null; echo once >> count")
    run_load(tmp_path, "cat > /dev/null; echo twice >> count")
    assert (tmp_path / "count").read_text() == "once\n"


def test_what_the_engine_says_is_told_apart_from_what_did_not_arrive(tmp_path: Path) -> None:
    (tmp_path / LAYER.hex).write_bytes(BODY)
    refused = run_load(tmp_path, "cat > /dev/null; echo no space left on device; exit 1")
    assert (refused.returncode, refused.stderr) == (1, "no space left on device\n")
    assert commands.missing_layer_status(refused.stdout) is None

    (tmp_path / LAYER.hex).unlink()
    cut = run_load(tmp_path, "cat > /dev/null; exit 1")
    assert (cut.returncode, cut.stderr) == (1, "")
    assert commands.missing_layer_status(cut.stdout) == 1


def test_a_host_that_is_not_reached_is_told_apart_from_one_that_lacks_a_layer(tmp_path: Path) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "ssh").write_text("#!/bin/sh\nexit 255\n")
    (programs / "ssh").chmod(0o755)
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
    (tmp_path / "fetch").write_text(commands.fetch_script([LAYER]))
    route = ["feed-0", "ann", "10.0.0.1", "20000", "1"]
    fetched = subprocess.run(["sh", str(tmp_path / "fetch"), *route], env=environment)
    assert fetched.returncode == commands.SSH_FAILED
    prepared(tmp_path, "cat > /dev/null; exit 1")
    loaded = subprocess.run(["sh", str(tmp_path / "load"), *route], env=environment, stdout=subprocess.PIPE, text=True)
    assert commands.missing_layer_status(loaded.stdout) == commands.SSH_FAILED


def test_the_script_says_while_it_loads_that_it_does(tmp_path: Path) -> None:
    (tmp_path / LAYER.hex).write_bytes(BODY)
    assert run_load(tmp_path, "cat > /dev/null; cat loading > seen").returncode == 0
    assert (tmp_path / "seen").read_text().strip().isdigit()
    assert not (tmp_path / "loading").exists()
