import re
import unicodedata

import pytest

from hvdocker import names
from hvdocker.errors import ExitCode, UsageProblem


def test_names_of_containers_folders_and_networks() -> None:
    assert names.worker_name("lab") == "hvdocker-lab-worker"
    assert names.worker_name("lab", "w1") == "hvdocker-lab-worker-w1"
    assert names.master_name("lab", "train-abcd") == "hvdocker-lab-train-abcd"
    assert names.network_name("lab") == "hvdocker-lab"
    assert names.cluster_dir("/home/me", "lab") == "/home/me/.hvdocker/lab"
    assert names.host_dir("/", "lab", "w1") == "/.hvdocker/lab/w1"


@pytest.mark.parametrize("name", ["lab", "a", "0", "my-lab_2.x", "x" * 63])
def test_good_cluster_names(name: str) -> None:
    assert names.cluster_name_problem(name) is None


@pytest.mark.parametrize("name", ["", "Lab", "-lab", ".lab", "a b", "a/b", "한국", "x" * 64, "lab\n"])
def test_bad_cluster_names(name: str) -> None:
    problem = names.cluster_name_problem(name)
    assert problem and "at most 63" in problem


@pytest.mark.parametrize(
    ("folder", "name"),
    [("Lab", "lab"), ("My Lab (2)", "my-lab-2"), ("2024", "2024"), ("실험 a", "a"), ("", "cluster"), ("_x_", "x"),
     ("a" * 80, "a" * 63), ("v1.2", "v1.2")],
)  # fmt: skip
def test_a_folder_becomes_a_cluster_name(folder: str, name: str) -> None:
    assert names.as_cluster_name(folder) == name
    assert names.cluster_name_problem(name) is None


def test_two_folders_with_korean_names_are_two_clusters() -> None:
    found = [names.as_cluster_name(folder) for folder in ("실험", "연구", "실험 1", "연구 1")]
    assert len(set(found)) == 4 and not any(map(names.cluster_name_problem, found))
    assert found[0].startswith("cluster-") and found[2].startswith("1-")
    assert names.as_cluster_name(unicodedata.normalize("NFD", "실험")) == found[0]


@pytest.mark.parametrize(
    ("script", "entropy", "job"),
    [
        ("train", b"\x00\x01\x1a\x1f", "train-ab27"),
        ("My Script", b"\xff\xff\xff\xff", "my-script-7777"),
        ("한국어", b"\x00\x00\x00\x00", "job-aaaa"),
        ("tensorflow2_keras_mnist", b"\x00\x00\x00\x00", "tensorflow2-aaaa"),
        ("finetune_llama_7b", b"\x00\x00\x00\x00", "finetune-llama-aaaa"),
        ("a" * 23 + "-" + "b" * 9, b"\x00\x00\x00\x00", "a" * 16 + "-aaaa"),
        ("x", b"\x00\x01\x02\x03\x04\x05", "x-abcd"),
    ],
)
def test_job_ids(script: str, entropy: bytes, job: str) -> None:
    assert names.job_id(script, entropy) == job
    assert re.fullmatch(r"[a-z0-9-]+-[a-z2-7]{4}", job)


def test_a_long_id_of_an_earlier_version_is_found_by_its_beginning() -> None:
    old = "tensorflow2-keras-mnist-abcd"
    assert names.match_job("tensorflow2-k", ["tensorflow2-aaaa", old]) == old


JOBS = ["train-zzzz", "train-abcd", "train-abcde", "eval-aaaa"]


@pytest.mark.parametrize(
    ("wanted", "job"),
    [(None, "train-zzzz"), ("eval", "eval-aaaa"), ("train-abcd", "train-abcd"), ("train-z", "train-zzzz")],
)
def test_a_job_by_its_id_a_unique_prefix_or_the_newest(wanted: str | None, job: str) -> None:
    assert names.match_job(wanted, JOBS) == job


@pytest.mark.parametrize(
    ("wanted", "what", "shown"),
    [
        ("train", "'train' matches several jobs", "jobs: train-zzzz, train-abcd, train-abcde"),
        ("nope", "there is no job 'nope'", "jobs: train-zzzz, train-abcd, train-abcde, eval-aaaa"),
    ],
)
def test_what_names_no_single_job_lists_the_choices(wanted: str, what: str, shown: str) -> None:
    with pytest.raises(UsageProblem) as caught:
        names.match_job(wanted, JOBS)
    assert (caught.value.what, caught.value.lines) == (what, (shown,))
    assert caught.value.exit_code == ExitCode.USAGE


def test_no_jobs_at_all() -> None:
    with pytest.raises(UsageProblem, match="no jobs yet"):
        names.match_job(None, [])


def test_the_host_name_in_containers_is_a_dns_label_of_its_own() -> None:
    assert names.container_hostname("gpu-a") == "hvd-gpu-a"
    odd = [names.container_hostname(name) for name in ("GPU_A", "gpu_a", "10.0.0.11", "서버", "x" * 200)]
    assert len(set(odd)) == len(odd)
    assert all(re.fullmatch(r"hvd-[a-z0-9]+(-[a-z0-9]+)*", name) and len(name) <= 63 for name in odd)
