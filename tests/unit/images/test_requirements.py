"""A requirements file as a value: what it includes, what it may not hold, and its key."""

from pathlib import PurePosixPath

import pytest

from hvdocker.errors import UsageProblem
from hvdocker.images.requirements import Requirements, Wheel, parse_requirements

HERE = PurePosixPath("/code/requirements.txt")
WHEELS = {PurePosixPath("/code/wheels"): [Wheel("/code/wheels/torch-2-any.whl", "ab")]}


def parsed(text: str, **others: str) -> Requirements | None:
    """`others` are files beside it, by name without .txt."""
    files = {HERE: text, **{HERE.with_name(f"{name}.txt"): content for name, content in others.items()}}
    return parse_requirements(HERE, lambda path: files[PurePosixPath(path)], WHEELS.__getitem__)


def lines(text: str, **others: str) -> tuple[str, ...]:
    found = parsed(text, **others)
    assert found is not None
    return found.lines


def test_comments_blanks_and_continued_lines() -> None:
    text = "\ufeff# why\n\n  tqdm  >=4   # bars\nsix==1.16 \\\n    --hash=sha256:ab\nurl#fragment\r\n"
    assert lines(text) == ("tqdm >=4", "six==1.16 --hash=sha256:ab", "url#fragment")


@pytest.mark.parametrize("line", ["-r more.txt", "-rmore.txt", "--requirement more.txt", "--requirement=more.txt"])
def test_an_included_file_stands_in_its_place(line: str) -> None:
    assert lines(f"six\n{line}\ntqdm\n", more="attrs\n") == ("six", "attrs", "tqdm")


@pytest.mark.parametrize("line", ["-c more.txt", "-cmore.txt", "--constraint=more.txt"])
def test_constraints_are_kept_apart(line: str) -> None:
    assert parsed(f"six\n{line}\n", more="six<2\n") == Requirements(str(HERE), ("six",), ("six<2",))


@pytest.mark.parametrize("line", ["--find-links wheels", "-f ./wheels", "--find-links=/code/wheels"])
def test_a_folder_of_wheels_comes_along(line: str) -> None:
    found = parsed(f"torch\n{line}\n")
    assert found == Requirements(str(HERE), ("torch",), (), (Wheel("/code/wheels/torch-2-any.whl", "ab"),))


@pytest.mark.parametrize("text", ["", "\n# nothing yet\n", "-r more.txt\n", "-c more.txt\n"])
def test_a_file_that_asks_for_nothing(text: str) -> None:
    assert parsed(text, more="# empty\n") is None


@pytest.mark.parametrize(
    "line",
    [
        'tqdm[notebook]>=4; python_version < "4"',
        "pkg @ https://example.org/pkg-1.whl",
        "https://example.org/pkg-1.tar.gz",
        "git+https://example.org/pkg.git@main",
        "--extra-index-url https://example.org/simple",
        "--find-links https://example.org/wheels",
        "--pre",
    ],
)
def test_what_is_passed_on(line: str) -> None:
    assert lines(line) == (line,)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("-e .", "an editable package"),
        ("--editable ./pkg", "an editable package"),
        (".", "a path of this machine"),
        ("./pkg", "a path of this machine"),
        ("vendored/pkg", "a path of this machine"),
        ("pkg-1.0-py3-none-any.whl", "a path of this machine"),
        ("pkg @ file:///srv/pkg", "a path of this machine"),
        ("--target /opt", "pip's option"),
        ("-r https://example.org/more.txt", "only files of this machine"),
        ("-r requirements.txt", "it includes itself"),
        ("-r ../code/requirements.txt", "it includes itself"),
        ("--index-url https://example.org/${TOKEN}/simple", "variables"),
    ],
)
def test_what_cannot_become_part_of_an_image(line: str, problem: str) -> None:
    with pytest.raises(UsageProblem) as caught:
        parsed(f"six\n{line}\n")
    (told,) = caught.value.lines
    assert told.startswith(f"requirements.txt:2: {problem}") and told.endswith(f": {line}")


def test_every_problem_is_told_and_no_secret() -> None:
    with pytest.raises(UsageProblem) as caught:
        parsed("-r more.txt\n-e .\n", more="# x\n--index-url https://me:s3cret@example.org/simple\n")
    assert [line.split(":")[:2] for line in caught.value.lines] == [
        ["more.txt", "2"],
        ["requirements.txt", "2"],
    ]
    assert "s3cret" not in "".join(caught.value.lines)


def test_the_key_is_that_of_what_is_asked_for_on_an_image() -> None:
    first, moved = Requirements("/a/r.txt", ("six",)), Requirements("/b/r.txt", ("six",))
    assert first.key("sha256:aa") == moved.key("sha256:aa")
    others = [
        first.key("sha256:bb"),
        Requirements("/a/r.txt", ("six", "tqdm")).key("sha256:aa"),
        Requirements("/a/r.txt", ("six",), ("six<2",)).key("sha256:aa"),
        Requirements("/a/r.txt", ("six",), (), (Wheel("/a/six.whl", "ab"),)).key("sha256:aa"),
        Requirements("/a/r.txt", ("six",), (), (Wheel("/a/six.whl", "cd"),)).key("sha256:aa"),
    ]
    assert len({first.key("sha256:aa"), *others}) == 6
