"""`ringsched profile`: real DDP jobs over gloo where there is a torch, and what needs none."""

from __future__ import annotations

import functools
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest

from ringsched.calibrate.profile import command as command_module
from ringsched.calibrate.profile.command import Observed, observe
from ringsched.calibrate.profile.description import append_entry, describe
from ringsched.calibrate.profile.hook import Tracker, first_dimension
from ringsched.calibrate.profile.nccl_inspector import read_inspector
from ringsched.errors import InputError
from ringsched.formats.jobs import jobs_from_tables

JOB = Path(__file__).with_name("ddp_job.py")


@functools.cache
def torch_python() -> str:
    """A Python that has torch with gloo; the tests that need one are skipped without."""
    for python in (os.environ.get("RINGSCHED_TORCH_PYTHON"), "/usr/bin/python3", sys.executable):
        tried = python and [python, "-c", "import torch; assert torch.distributed.is_available()"]
        if tried and Path(tried[0]).exists() and not subprocess.run(tried, capture_output=True).returncode:
            return tried[0]
    pytest.skip("NOT TESTED: no Python with torch; set RINGSCHED_TORCH_PYTHON or install python3-torch")


def torchrun(ranks: int) -> list[str]:
    run = [torch_python(), "-m", "torch.distributed.run", "--standalone", f"--nproc_per_node={ranks}"]
    # PyTorch 1.13 on Python 3.11 cannot read its own default of these two options.
    return [*run, "--redirects=1", "--tee=1", str(JOB)]


def spawn(ranks: int, kind: str, *options: str) -> list[str]:
    return [torch_python(), str(JOB), kind, f"--spawn={ranks}", *options]


def ringsched(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "ringsched", "profile", *arguments]
    return subprocess.run(line, capture_output=True, text=True, timeout=300, **options)


def digests(output: str) -> list[str]:
    return sorted(re.findall(r"rank \d digest \w+", output))


@pytest.fixture(autouse=True)
def nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Each run has its own temporary directory, empty at the end, and no process has its mark."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr(tempfile, "tempdir", None)
    yield
    monkeypatch.setattr(tempfile, "tempdir", None)
    assert not list(temporary.glob("ringsched-profile-*"))
    assert not marked(temporary)


def marked(directory: Path) -> list[str]:
    found = []
    for environ in Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"{command_module.MARK}={directory}".encode() in environ.read_bytes():
                found.append(str(environ))
        except OSError:
            continue
    return found


def test_torchrun_job_is_described_and_its_results_are_unchanged(tmp_path: Path) -> None:
    alone = subprocess.run([*torchrun(2), "static"], capture_output=True, text=True, timeout=300)
    scenario = tmp_path / "queue.toml"
    scenario.write_text('name = "queue"\n')
    profiled = ringsched("-o", str(scenario), "--iterations", "5000", "--", *torchrun(2), "static")
    assert profiled.returncode == 0, profiled.stderr
    assert len(digests(alone.stdout)) == 2
    assert digests(profiled.stderr) == digests(alone.stdout)
    content = tomllib.loads(scenario.read_text())
    (job,) = jobs_from_tables(content["jobs"])
    assert (job.name, job.gpus, job.iterations, job.minibatch) == ("ddp_job", 2, 5000, 8)
    assert job.gradient_mb == 6 * (512 * 512 + 512) * 4 / 1e6
    assert job.backward_ms > 0
    assert job.buckets > 3
    assert "exposed exchange" in profiled.stdout
    assert "confidence" in scenario.read_text()


@pytest.mark.slow
def test_accumulation_counts_all_micro_batches() -> None:
    run = ringsched("--json", "--quiet", "--", *spawn(3, "plain", "--accumulate=4"))
    assert run.returncode == 0, run.stderr
    profile = json.loads(run.stdout)
    job = profile["job"]
    assert (job["gpus"], job["minibatch"], job["iterations"]) == (3, 32, 24)
    assert any("4 micro-batches" in note for note in profile["notes"])
    whole_ms = job["forward_ms"] * 32 + job["backward_ms"] + profile["exposed"]["median_ms"]
    assert whole_ms == pytest.approx(profile["iteration"]["median_ms"], rel=0.01)


@pytest.mark.slow
def test_the_largest_module_is_described_with_its_types_and_unused_parameters() -> None:
    run = ringsched("--json", "--", *spawn(2, "mixed", "--method=fork"))
    assert run.returncode == 0, run.stderr
    profile = json.loads(run.stdout)
    float32, float64 = 2 * (64 * 64 + 64) + 16 * 16 + 16, 64 * 8 + 8
    assert profile["job"]["gradient_mb"] == (4 * float32 + 8 * float64) / 1e6
    assert profile["job"]["minibatch"] == 8
    assert any("Mixed and Linear" in note for note in profile["notes"])


def test_a_crash_is_the_answer_no_with_the_last_error() -> None:
    run = ringsched("--quiet", "--", *torchrun(2), "crash")
    assert run.returncode == 1
    first, _, rest = run.stderr.partition("\n")
    assert first.startswith("Error: the command ended with exit code 1: ")
    assert "its last" in rest
    assert run.stdout == ""


def test_a_script_without_ddp() -> None:
    run = ringsched("--", torch_python(), str(JOB), "without-ddp")
    assert run.returncode == 2
    assert run.stderr == "Error: COMMAND wrapped no model in DistributedDataParallel\n"


@pytest.mark.slow
def test_too_few_iterations() -> None:
    run = ringsched("--quiet", "--", *spawn(2, "plain", "--steps=6"))
    assert run.returncode == 2
    assert "trained for 6 iterations, of which 2 could be measured" in run.stderr


@pytest.mark.slow
def test_time_limit_describes_what_ran() -> None:
    run = ringsched("--json", "--quiet", "--time-limit", "30", "--", *torchrun(2), "plain", "--steps=1000000")
    assert run.returncode == 0, run.stderr
    assert any("time limit" in note for note in json.loads(run.stdout)["notes"])


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), pytest.param(signal.SIGTERM, 143, marks=pytest.mark.slow)]
)
def test_signals_end_all_workers(tmp_path: Path, number: int, code: int) -> None:
    line = [*torchrun(2), "plain", "--steps=1000000"]
    # A test runner in the background ignores SIGINT, and so would what it starts.
    ignored = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        run = subprocess.Popen(
            [sys.executable, "-m", "ringsched", "profile", "--", *line], stderr=subprocess.DEVNULL
        )
    finally:
        signal.signal(signal.SIGINT, ignored)
    try:
        # rank files exist once both workers train
        for _ in range(600):
            if len(list((tmp_path / "temporary").glob("*/rank-*.json"))) == 2:
                break
            time.sleep(0.1)
        assert marked(tmp_path / "temporary")
        run.send_signal(number)
        assert run.wait(60) == code
    finally:
        if run.poll() is None:
            run.terminate()  # it ends its workers
            run.wait(60)


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ([], "COMMAND is missing"),
        (["no-such-program"], "starts 'no-such-program', which is no program"),
        ([sys.executable, "-c", "pass"], "never imported torch"),
        ([sys.executable, "-I", "-c", "pass"], "ran no Python that loads the hook"),
        (["/bin/true"], "ran no Python that loads the hook"),
    ],
)
def test_wrong_commands(command: list[str], sentence: str) -> None:
    run = ringsched("--", *command)
    assert run.returncode == 2
    assert sentence in run.stderr
    assert len(run.stderr.splitlines()) == 1


def test_a_time_limit_of_nothing() -> None:
    run = ringsched("--time-limit", "0", "--", sys.executable, "-c", "pass")
    assert run.returncode == 2
    assert run.stderr.startswith("Error: --time-limit must be")


def test_a_process_in_a_session_of_its_own_is_ended() -> None:
    """Workers of torchrun have their own session: a signal to the process group does not reach them."""
    code = (
        "import subprocess, sys; "
        "subprocess.Popen(['sleep', '600'], start_new_session=True, stdout=None); sys.exit(3)"
    )
    run = ringsched("--", sys.executable, "-c", code)
    assert run.returncode == 1
    assert run.stderr == "Error: the command ended with exit code 3\n"


def test_the_job_has_its_own_sitecustomize_and_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.loaded_before = True\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    code = "import sys, sitecustomize; print(sys.loaded_before, sitecustomize.__file__, sys.path)"
    alone = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    output: list[bytes] = []
    observe([sys.executable, "-c", code], echo=output.append)
    assert b"".join(output) == alone.stdout
    assert alone.stdout.startswith(b"True")


def test_an_error_of_the_callback_ends_the_command() -> None:
    def refuse(output: bytes) -> None:
        raise RuntimeError("no room")

    with pytest.raises(RuntimeError, match="no room"):
        observe([sys.executable, "-c", "print(1, flush=True); import time; time.sleep(600)"], echo=refuse)


def rank(number: int, **changes: Any) -> dict[str, Any]:
    """What a rank of a job with 100 ms an iteration writes."""
    counted = range(1, 40)
    module = {
        "name": "Net",
        "cuda": False,
        "world_size": 2,
        "rank": number,
        "backend": "gloo",
        "dtypes": "float",
        "comm_hook": "",
        "bucket_bytes": [1_000_000, 4_000_000, 4_000_000, 3_000_000],
        "halved_bytes": None,
        "forwards": 40,
        "iterations": [[step, 100_000_000, 16, 1] for step in counted],
        "parts": [[step, 20_000_000, 50_000_000, 10_000_000] for step in counted],
        **changes,
    }
    return {"torch": "2", "error": "", "modules": [module]}


def observed(*ranks: dict[str, Any]) -> Observed:
    return Observed(list(ranks), python=True, torch=True, stopped=False)


def test_the_entry_adds_up_to_the_measured_iteration() -> None:
    # rank 1 waits 25 ms longer for the exchange: rank 0 is the slow one, and counts
    waiting = [[step, 15_000_000, 30_000_000, 35_000_000] for step in range(1, 40)]
    profile = describe(observed(rank(0), rank(1, parts=waiting)), name="net")
    job = profile.job
    assert (job.gpus, job.iterations, job.gradient_mb, job.minibatch) == (2, 40, 12.0, 16)
    assert (job.forward_ms, job.backward_ms) == (2.5, 50.0)
    assert profile.other_ms == 20.0
    assert (profile.samples, profile.confidence) == (36, "high")
    assert job.buckets == 3
    assert profile.notes == ("ranks compute 45 to 70 ms; the slowest counts",)


def test_half_precision_on_the_wire() -> None:
    profile = describe(observed(rank(0, halved_bytes=6_000_000), rank(1, halved_bytes=6_000_000)), name="net")
    assert profile.job.gradient_mb == 6.0
    assert profile.bucket_mb == (0.5, 2.0, 2.0, 1.5)


@pytest.mark.parametrize(
    ("ranks", "sentence"),
    [
        ([rank(0), rank(1, world_size=3)], "disagree about the world size: 3 on rank 1 and 2 on rank 0"),
        ([rank(0), rank(1, bucket_bytes=[8])], "disagree about the bucket sizes in bytes"),
        ([rank(0), rank(0)], "ran more than one job"),
        ([rank(0, parts=[]), rank(1)], "0 could be measured on every rank"),
        ([rank(0, forwards=0)], "ran no forward pass"),
        ([{**rank(0), "error": "KeyError: x"}], r"uses a PyTorch that the hook cannot read \(KeyError: x\)"),
    ],
)
def test_ranks_that_cannot_be_described(ranks: list[dict[str, Any]], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        describe(observed(*ranks), name="net")


def test_noise_few_iterations_and_missing_ranks_lower_the_confidence() -> None:
    noisy = [[step, (100 + 60 * (step % 2)) * 1_000_000, 0, 1] for step in range(1, 40)]
    profile = describe(observed(rank(0, iterations=noisy)), name="net")
    assert profile.confidence == "low"
    assert profile.job.minibatch == 1
    assert any("1 of 2 ranks" in note for note in profile.notes)
    assert any("minibatch is not visible" in note for note in profile.notes)


def test_cuda_iterations_are_means_of_blocks() -> None:
    """The CPU runs ahead of the GPU: nine short iterations and one that waits."""
    ahead = [[step, 460_000_000 if step % 10 == 0 else 60_000_000, 16, 1] for step in range(1, 40)]
    profile = describe(observed(rank(0, cuda=True, iterations=ahead)), name="net")
    assert profile.iteration.median_ms == 100.0


def test_entries_are_appended_to_what_can_take_them(tmp_path: Path) -> None:
    profile = describe(observed(rank(0), rank(1)), name='the "net"')
    file = tmp_path / "queue.toml"
    append_entry(profile, file)
    assert [job.name for job in jobs_from_tables(tomllib.loads(file.read_text())["jobs"])] == ['the "net"']
    before = file.read_bytes()
    with pytest.raises(InputError, match="already has a job"):
        append_entry(profile, file)
    assert file.read_bytes() == before
    for content, sentence in (
        ('jobs_file = "a.csv"', "in another file"),
        ("jobs = []", "in one line"),
        ("jobs = 3", "must be an array"),
        ("jobs = [", "is not valid TOML"),
    ):
        file.write_text(content)
        with pytest.raises(InputError, match=sentence):
            append_entry(profile, file)
        assert file.read_text() == content


def test_the_first_tensor_is_found_in_arguments() -> None:
    class Tensor:
        shape = (32, 7)

    class Scalar:
        shape = ()

    assert first_dimension(((Scalar(), None, Tensor()), {})) == 32
    assert first_dimension(((), {"input": {"ids": [Tensor()]}})) == 0  # too deep
    assert first_dimension((({"ids": Tensor()},), {})) == 32
    assert first_dimension(((1, "text"), {})) == 0


def test_an_iteration_with_an_evaluation_is_left_out() -> None:
    class Ddp:
        module, require_backward_grad_sync = object(), True

        def parameters(self) -> list[Any]:
            return []

    tracker = Tracker(Ddp())
    begins = [
        tracker.before_forward(Ddp(), (), grad_enabled, now_ns)
        for now_ns, grad_enabled in ((0, True), (10, True), (15, False), (90, True), (101, True))
    ]
    assert begins == [True, True, False, True, True]
    assert [(number, taken_ns) for number, taken_ns, *_ in tracker.iterations] == [(1, 10), (3, 11)]


def inspector_line(
    rank: int, number: int, size: int, us: int, coll: str = "AllReduce", id: str = "0xa"
) -> str:
    """A line as NCCL Inspector's README shows it, format v4.0."""
    bus = size / us / 1e3 * 2 * 7 / 8
    record = {
        "header": {"id": id, "rank": rank, "n_ranks": 8, "nnodes": 2},
        "metadata": {
            "inspector_output_format_version": "v4.0",
            "git_rev": "",
            "rec_mechanism": "nccl_profiler_interface",
            "dump_timestamp_us": 1748030377748202,
            "hostname": "host",
            "pid": 1639453,
        },
        "coll_perf": {
            "coll": coll,
            "coll_sn": number,
            "coll_msg_size_bytes": size,
            "coll_exec_time_us": us,
            "coll_timing_source": "kernel_gpu",
            "coll_algobw_gbs": size / us / 1e3,
            "coll_busbw_gbs": bus,
        },
    }
    return json.dumps(record) + "\n"


def inspector_files(tmp_path: Path) -> list[Path]:
    """Two of eight ranks: a broadcast, an iteration in one bucket, ten in three, each with its loss."""
    files = []
    for rank_number in (0, 1):
        lines = [inspector_line(rank_number, 0, 80_000_000, 900, "Broadcast")]
        lines.append(inspector_line(rank_number, 0, 64_000_000, 8000))
        number = 1
        for _ in range(10):
            for size, us in ((10_000_000, 1000), (27_000_000, 2700), (27_000_000, 2700), (4, 20)):
                lines.append(inspector_line(rank_number, number, size, us + 500 * rank_number))
                number += 1
        lines.append(inspector_line(rank_number, 0, 1000, 20, id="0xb"))
        lines.append('{"header": {"id": "0x')  # the job still runs
        files.append(tmp_path / f"host-pid{rank_number}.log")
        files[-1].write_text("".join(lines))
    return files


def test_nccl_inspector_gives_exchange_and_bandwidth(tmp_path: Path) -> None:
    exchange = read_inspector(inspector_files(tmp_path))
    assert (exchange.gpus, exchange.servers, exchange.gradient_mb, exchange.iterations) == (8, 2, 64.0, 10)
    assert exchange.bucket_mb == (10.0, 27.0, 27.0)
    assert exchange.buckets == 2
    assert exchange.exchange_ms == pytest.approx(6.4)
    assert exchange.bus_high_gbps == pytest.approx(10 * 8 * 2 * 7 / 8)
    assert exchange.notes == (
        "of 2 communicators with all-reduces, that with the most bytes is described",
        "left out: 2 Broadcast",
        "2 of 8 ranks were seen",
    )


def test_nccl_inspector_command(tmp_path: Path) -> None:
    files = [str(file) for file in inspector_files(tmp_path)]
    shown = ringsched("--nccl-inspector", *files)
    assert "gradient_mb = 64.0" in shown.stdout
    assert json.loads(ringsched("--nccl-inspector", "--json", *files).stdout)["gpus"] == 8
    refused = ringsched("--nccl-inspector", "-o", str(tmp_path / "out.toml"), *files)
    assert (refused.returncode, (tmp_path / "out.toml").exists()) == (2, False)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("hello\n", "line 1: is not JSON"),
        (inspector_line(0, 1, 8, 8) + "oops\n" + inspector_line(0, 2, 8, 8), "line 2: is not JSON"),
        ("[1]\n", "line 1: is not a JSON object"),
        ('{"header": {}, "coll_perf": {"coll": "AllReduce"}}\n', "line 1: is no record of NCCL Inspector"),
        (inspector_line(0, 1, 8, 8, "AllGather"), "holds no all-reduce; it has AllGather"),
        ("".join(inspector_line(0, n, 1000 + n, 8) for n in range(20)), "do not repeat"),
    ],
)
def test_nccl_inspector_files_that_cannot_be_read(tmp_path: Path, text: str, sentence: str) -> None:
    file = tmp_path / "host.log"
    file.write_text(text)
    with pytest.raises(InputError, match=sentence):
        read_inspector([file])
