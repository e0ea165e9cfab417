"""Arguments, environment, mounts and code reach every rank, local and remote, unchanged."""

import json
from typing import Any

import pytest

from tests.cluster.lab_cluster import LabCluster
from tests.cluster.training import DATA, rank_reports

pytestmark = pytest.mark.training

WORDS = [
    "", " ", "two words", "  spaces  ", "'", '"', "it's", 'say "hi"', "$HOME", "${HOME}", "$(id)", "`id`",
    ";", "a;b", "&&", "|", "a\nb", "\n", "tab\there", "*", "?", "~", "\\", "\\n", "!", "#x", "--", "-x",
    "--flag=a b", "한국어", "naïve ☃ 🐳", "=", "{}", "[a]", "<in", ">out", "%s",
    # Bytes that are not UTF-8, as Python reads them.
    "caf\udce9", "\udcff",
]  # fmt: skip


@pytest.fixture(scope="module")
def ranks(training: LabCluster) -> list[dict[str, Any]]:
    """One job that is told everything at once."""
    flags = ["--env", "TOLD=x y'z\"$;", "--env", "FROM_HERE"]
    env = {"FROM_HERE": "taken from the caller"}
    found = rank_reports(training.run("train", "code/report_environment.py", *flags, "--", *WORDS, env=env).out)
    assert [rank["rank"] for rank in found] == [0, 1]
    assert [rank["address"] for rank in found] == [host.address for host in training.hosts]
    return found


def test_arguments_arrive_as_typed(ranks: list[dict[str, Any]]) -> None:
    assert [rank["arguments"] for rank in ranks] == [WORDS, WORDS]


def test_the_environment_comes_from_inventory_flags_and_caller(ranks: list[dict[str, Any]]) -> None:
    for rank in ranks:
        env = rank["environment"]
        assert env["FROM_INVENTORY"] == "a b$c;d"
        assert env["TOLD"] == "x y'z\"$;"
        assert env["FROM_HERE"] == "taken from the caller"


def test_the_environment_of_the_image_is_there_on_remote_ranks(ranks: list[dict[str, Any]]) -> None:
    for rank in ranks:
        assert rank["environment"]["LANG"] == "C.UTF-8"
        assert rank["environment"]["PATH"].startswith("/opt/hvdocker/bin:/opt/venv/bin:")


def test_mounts_are_there_and_read_only(training: LabCluster, ranks: list[dict[str, Any]]) -> None:
    assert [rank["data"] for rank in ranks] == [{"whose.txt": f"of {host.name}\n"} for host in training.hosts]
    assert [rank["may write data"] for rank in ranks] == [False, False]
    for host in training.hosts:
        assert f"{DATA}:/data:ro" in training.inspect_worker(host)["HostConfig"]["Binds"]


def test_the_code_is_where_the_ranks_run(ranks: list[dict[str, Any]]) -> None:
    for rank in ranks:
        assert rank["folder"] == "/train"
        assert {"report_environment.py", "gate.py"} <= set(rank["files"])


def test_secrets_of_the_environment_stand_in_no_label_or_command(training: LabCluster) -> None:
    training.run("train", "code/report_environment.py", "--env", "TOKEN=s3cr3t-word", "-np", "2")
    for host in training.hosts:
        assert "s3cr3t-word" not in json.dumps(host.containers())


def test_the_memory_limit_holds_in_workers_and_masters(training: LabCluster, ranks: list[dict[str, Any]]) -> None:
    for host in training.hosts:
        ours = [seen for seen in host.containers() if "hvdocker.role" in seen["Config"]["Labels"]]
        assert ours and all(seen["HostConfig"]["Memory"] == 2 << 30 for seen in ours)
    assert any(seen["Config"]["Labels"].get("hvdocker.role") == "master" for seen in training.hosts[0].containers())


def test_a_module_and_any_command(training: LabCluster) -> None:
    package = training.folder / "code" / "pkg"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "mod.py").write_text((training.folder / "code" / "report_environment.py").read_text())
    found = rank_reports(training.run("train", "-m", "pkg.mod", "--workdir", "code", "--", "a b").out)
    assert [rank["arguments"] for rank in found] == [["a b"], ["a b"]]
    out = training.run("train", "--workdir", "code", "--", "sh", "-c", 'echo "$0 on $HVDOCKER_HOST"', "a  b").out
    assert "│ a  b on h1" in out and "│ a  b on h2" in out


@pytest.mark.parametrize("host", ["h1", "h2"])
def test_a_job_on_one_host_runs(training: LabCluster, host: str) -> None:
    (rank,) = rank_reports(training.run("train", "code/report_environment.py", "-H", f"{host}:1").out)
    assert (rank["size"], rank["environment"]["HVDOCKER_HOST"]) == (1, host)


def test_only_what_changed_is_synced(training: LabCluster) -> None:
    folder = training.folder / "small"
    folder.mkdir()
    for name in ("kept", "changed", "removed", "secret"):
        (folder / f"{name}.txt").write_text(name)
    (folder / ".hvdockerignore").write_text("secret.txt\n")
    train = ("train", "--workdir", "small", "--", "true")
    training.run(*train)
    before = [_listing(training, number) for number in (0, 1)]
    assert all(set(seen) == {"kept.txt", "changed.txt", "removed.txt"} for seen in before)
    (folder / "changed.txt").write_text("other")
    (folder / "removed.txt").unlink()
    (folder / "new.txt").write_text("new")
    training.run(*train)
    for number in (0, 1):
        after = _listing(training, number)
        assert set(after) == {"kept.txt", "changed.txt", "new.txt"}
        assert after["kept.txt"] == before[number]["kept.txt"]
        assert after["changed.txt"] != before[number]["changed.txt"]


def _listing(site: LabCluster, number: int) -> dict[str, str]:
    """Path → inode and time of the last change: a file that was written again has others."""
    host = site.hosts[number]
    code = f"{site.folder_on(host)}/code"
    lines = host.exec(f"cd {code} && find . -name '*.txt' -printf '%P\\t%i %C@\\n'").splitlines()
    return dict(line.split("\t") for line in lines)
