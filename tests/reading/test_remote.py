"""Collections, indexes and pages at URLs, on a real S3 server behind a line that fails at times."""

import json
import os
import socket
import struct
import subprocess
import sys
import threading
import time
import warnings
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from conftest import record, write_run
from test_index import assert_same
from test_scale import free_port, many_runs

from traincost.__main__ import main
from traincost.errors import NothingToReport, ParameterError
from traincost.pages import publish
from traincost.reading import batch, refreshing, remote
from traincost.reading.collection import read_collection

FAULTS = ("reset", "partial", "short", "long", "slow")
REFUSALS = {  # code to status, and what is said of it
    "ExpiredToken": (400, "the credentials have expired"),
    "InvalidAccessKeyId": (403, "the access key is not known there"),
    "SignatureDoesNotMatch": (403, "the secret key is not that of the access key"),
    "RequestTimeTooSkewed": (403, "the clock of this machine is wrong"),
}
ONE_DENIED = {"AccessDenied": (403, "")}
KEY, SECRET = "AKIAIOSFODNN7EXAMPLE", "a-secret-that-must-not-show"


# -- without a server ----------------------------------------------------------------------


def test_urls_are_told_from_paths():
    assert remote.is_url("s3://bucket/runs")
    assert not any(remote.is_url(path) for path in ("runs", "/runs", "C:\\runs", "a/b://c", 3))


def test_names_that_lead_out_of_the_folder_are_refused():
    for path in ("../x", "a/../../x", "a//b", "/etc/x", ".", "a\0b", "x" * 300):
        assert not remote._is_safe(path)
    assert remote._is_safe("a/b c/run.json")


def test_what_a_reader_may_look_for():
    names = ("a/run.json", "a/x/y", "a-b/run.json", "run.json", "b/run.json")
    versions = remote.Versions({name: [1, "v"] for name in names})
    assert set(versions.near([("a/run.json", "traincost")])) == {"a/run.json", "a/x/y"}
    assert set(versions.near([("run.json", "traincost")])) == {"run.json"}
    assert versions.state("a/run.json") == [1, "v"]
    assert versions.state("c") == []
    assert versions.state("a") != versions.state("b")


def test_an_unknown_kind_of_url_is_told_in_one_line(tmp_path, capsys):
    pytest.importorskip("fsspec", reason="needs the scale extra")
    with pytest.raises(ParameterError, match="there is no 's4'"):
        read_collection("s4://bucket/runs")


def test_a_url_with_a_password_is_refused_without_showing_it(capsys):
    assert main(["page", f"s3://{KEY}:{SECRET}@bucket/runs"]) == 2
    error = capsys.readouterr().err
    assert "'s3://bucket/runs' must hold no password" in error
    assert SECRET not in error


def test_a_failure_that_passes_is_waited_out(monkeypatch):
    waits, failures = [], [OSError("503"), TimeoutError(), None]
    monkeypatch.setattr(time, "sleep", waits.append)

    def call():
        problem = failures.pop(0)
        if problem:
            raise problem
        return "done"

    assert remote.retried(call) == "done"
    assert waits == [remote.FIRST_WAIT_S, 2 * remote.FIRST_WAIT_S]
    monkeypatch.setattr(remote, "PATIENCE_S", 0)
    with pytest.raises(OSError, match="failed 3 times, at last with no"):
        remote.retried(lambda: (_ for _ in ()).throw(OSError("no")))


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_directory_at_a_url_reads_as_here(tmp_path):
    """fsspec's own file system for local files stands for any other."""
    pytest.importorskip("fsspec", reason="needs the scale extra")
    write_run(tmp_path / "runs" / "a", record("a"))
    write_run(tmp_path / "runs" / "b", "{")
    (tmp_path / "runs" / "tree").mkdir()
    results = {"runs": [{"cost_runtime_s": 5.0}], "completed": [1]}
    (tmp_path / "runs" / "tree" / "results.json").write_text(json.dumps(results))
    (tmp_path / "runs" / "tree" / "manifest.json").write_text(json.dumps({"settings": {"lr": 1}}))
    url = f"file://{tmp_path}/runs"
    assert_same(read_collection(url), read_collection(tmp_path / "runs"))
    assert refreshing.refresh(url, f"file://{tmp_path}/index")["read"] == 3
    assert_same(read_collection(f"file://{tmp_path}/index"), read_collection(tmp_path / "runs"))
    (tmp_path / "runs" / "tree" / "manifest.json").write_text(json.dumps({"settings": {"lr": 22}}))
    assert refreshing.refresh(url, f"file://{tmp_path}/index") == {"read": 1, "kept": 2, "dropped": 1}
    assert_same(read_collection(f"file://{tmp_path}/index"), read_collection(tmp_path / "runs"))


# -- a server ------------------------------------------------------------------------------


class Line(BaseHTTPRequestHandler):
    """Passes requests on to a server, and fails as lines and servers do."""

    protocol_version = "HTTP/1.1"
    port = 0
    unavailable = dropped = broken = 0  # how many of the next requests fail so
    fault = ""  # how the broken ones are (`FAULTS`, or the code of a refusal)
    path_of_faults = ""  # that the broken ones have in their paths
    denied = False
    seen = 0
    lock = threading.Lock()

    def handle_one(self):
        cls = type(self)
        with cls.lock:
            cls.seen += 1
            unavailable, dropped = cls.unavailable > 0, cls.dropped > 0 and not cls.unavailable > 0
            cls.unavailable -= unavailable
            cls.dropped -= dropped
            broken = cls.broken > 0 and cls.path_of_faults in self.path
            cls.broken -= broken
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if dropped:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
        elif unavailable:
            self._answer(503, {}, b"<Error><Code>SlowDown</Code><Message>Slow down</Message></Error>")
        elif cls.denied:
            self._answer(403, {}, b"<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>")
        elif broken and self.fault in REFUSALS | ONE_DENIED:
            error = f"<Error><Code>{self.fault}</Code><Message>No {KEY}</Message></Error>"
            self._answer((REFUSALS | ONE_DENIED)[self.fault][0], {}, error.encode())
        else:
            self._pass_on(body, self.fault if broken else "")

    def _pass_on(self, body, fault=""):
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request(self.command, self.path, body, dict(self.headers))
        response = connection.getresponse()
        content = response.read()
        left_out = ("connection", "transfer-encoding", "server", "date")
        headers = {name: value for name, value in response.getheaders() if name.lower() not in left_out}
        if self.command != "HEAD":
            headers = {name: value for name, value in headers.items() if name.lower() != "content-length"}
        connection.close()
        if fault:
            self._break(fault, response.status, headers, content)
        else:
            self._answer(response.status, headers, content)

    def _break(self, fault, status, headers, content):
        """Answer as a line does that fails meanwhile."""
        half = content[: len(content) // 2]
        if fault == "slow":
            time.sleep(1)
            self._answer(status, headers, content)
        elif fault == "stalled":
            time.sleep(30)
        elif fault == "short":  # whole by its own words
            self._answer(status, headers, half)
        else:
            self._answer(status, headers, half, len(content) + (fault == "long"))
            self.close_connection = True
            if fault == "reset":
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()

    def _answer(self, status, headers, content, length=None):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if self.command != "HEAD":
            self.send_header("Content-Length", str(len(content) if length is None else length))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = handle_one

    def log_message(self, *arguments):
        """Say nothing."""


@pytest.fixture(scope="module")
def server():
    """A real S3 server in a process of its own."""
    pytest.importorskip("moto", reason="needs the servers extra")
    pytest.importorskip("s3fs", reason="needs the scale extra")
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with socket.socket() as attempt:
            if attempt.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.1)
    yield port
    process.kill()
    process.wait()


class _Quiet(ThreadingHTTPServer):
    """It says nothing of a client that hangs up, which would be read as what a command said."""

    def handle_error(self, request, client_address):
        pass


@pytest.fixture
def line(server, monkeypatch):
    """The line to the server; the environment says where it is, and who we are."""
    handler = type("ThisLine", (Line,), {"port": server, "lock": threading.Lock()})
    proxy = _Quiet(("127.0.0.1", 0), handler)
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{proxy.server_port}")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import s3fs

        s3fs.S3FileSystem.clear_instance_cache()
        yield handler
        s3fs.S3FileSystem.clear_instance_cache()
    proxy.shutdown()
    proxy.server_close()


def upload(root, bucket, port):
    """Copy a directory into a bucket of its own, straight to the server."""
    import s3fs

    system = s3fs.S3FileSystem(use_listings_cache=False, endpoint_url=f"http://127.0.0.1:{port}")
    system.mkdir(bucket)
    paths = [os.path.join(folder, name) for folder, _, names in os.walk(root) for name in names]
    keys = [f"{bucket}/runs/{os.path.relpath(path, root)}" for path in paths]
    system.put(paths, keys, batch_size=16)
    return system


@pytest.mark.scale
@pytest.mark.filterwarnings("ignore")
def test_five_thousand_runs_an_index_and_a_page_on_s3(tmp_path, line, capfd):
    root = many_runs(tmp_path / "runs", 5_000)
    system = upload(root, "many", line.port)
    line.seen = 0
    line.unavailable, line.dropped = 5, 1
    assert refreshing.refresh("s3://many/runs", "s3://many/index")["read"] == 5_000
    assert line.unavailable == line.dropped == 0
    assert line.seen < 5_100  # one request a run, and few besides: listed in bulk
    here = read_collection(root)
    assert_same(read_collection("s3://many/index"), here)
    system.pipe_file("many/runs/new/run.json", json.dumps(record("new")).encode())
    line.seen, line.unavailable = 0, 3
    assert refreshing.refresh("s3://many/runs", "s3://many/index") == {"read": 1, "kept": 5_000, "dropped": 0}
    assert line.seen < 60
    write_run(root / "new", record("new"))
    refreshing.refresh(root, tmp_path / "index")
    assert main(["page", "s3://many/index", "-o", "s3://many/out"]) == 0
    publish.page(tmp_path / "index", tmp_path / "out")
    for name in ("profiling.html", "profiling.json"):
        page = system.cat_file(f"many/out/{name}")
        assert page == (tmp_path / "out" / name).read_bytes()
        assert KEY.encode() not in page
        assert SECRET.encode() not in page
    shown = capfd.readouterr()
    assert KEY not in shown.out + shown.err
    assert SECRET not in shown.out + shown.err


@pytest.mark.scale
@pytest.mark.filterwarnings("ignore")
def test_a_line_that_fails_gives_what_a_good_one_gives(tmp_path, line, monkeypatch):
    root = many_runs(tmp_path / "runs", 60)
    (root / "tree").mkdir()
    results = {"runs": [{"cost_runtime_s": 5.0}], "completed": [1]}
    (root / "tree" / "results.json").write_text(json.dumps(results))
    (root / "tree" / "manifest.json").write_text(json.dumps({"settings": {"lr": 1}}))
    upload(root, "small", line.port)
    monkeypatch.setattr(batch, "BATCH", 25)
    monkeypatch.setattr(remote, "FIRST_WAIT_S", 0.02)
    line.unavailable, line.dropped = 20, 5
    assert_same(read_collection("s3://small/runs"), read_collection(root))
    assert line.unavailable == line.dropped == 0


@pytest.mark.scale
@pytest.mark.filterwarnings("ignore")
def test_denied_access_and_missing_places_are_told_in_one_line(tmp_path, line, capsys):
    write_run(tmp_path / "runs" / "a", record())
    upload(tmp_path / "runs", "closed", line.port)
    with pytest.raises(NothingToReport, match="'s3://closed/nowhere' does not exist"):
        read_collection("s3://closed/nowhere")
    line.denied = True
    for command in (
        ["index", "s3://closed/runs", "-o", str(tmp_path / "index")],
        ["index", str(tmp_path / "runs"), "-o", "s3://closed/index"],
        ["page", "s3://closed/runs", "-o", str(tmp_path / "out")],
    ):
        assert main(command) == 2
        error = capsys.readouterr().err
        assert "access denied" in error
        assert error.count("\n") == 1
        assert KEY not in error
        assert SECRET not in error


def pairs_of_runs(folder, port, bucket):
    """Make two collections of eight runs, and upload them; return their URLs."""
    for name, factor in (("before", 1.0), ("after", 1.02)):
        for i in range(8):
            runtime_s = factor * (100 + 10 * (i // 2) + i % 2)
            config = {"task": "abcd"[i // 2], "seed": i % 2}
            write_run(folder / name / f"r{i}", record(f"{name}{i}", config=config, runtime_s=runtime_s))
    upload(folder, bucket, port)
    return [f"s3://{bucket}/runs/{name}" for name in ("before", "after")]


def told_once(capsys):
    """Return what was said on standard error: one line, without a credential or a traceback."""
    error = capsys.readouterr().err
    assert error.count("\n") == 1, error
    assert not any(secret in error for secret in (KEY, SECRET, "Traceback"))
    return error


@pytest.mark.scale
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("fault", FAULTS)
def test_a_broken_line_changes_no_answer(tmp_path, line, capsys, monkeypatch, fault):
    before, after = pairs_of_runs(tmp_path, line.port, f"broken-{fault}")
    monkeypatch.setattr(remote, "FIRST_WAIT_S", 0.01)
    line.fault = fault
    here = [str(tmp_path / name) for name in ("before", "after")]
    said = []
    for places in (here, (before, after)):
        line.broken, files = 5, [str(tmp_path / name) for name in ("check.json", "check.xml", "check.md")]
        options = [
            part for pair in zip(("--json", "--junit", "--markdown"), files, strict=True) for part in pair
        ]
        status = main(["check", *places, *options])
        said.append((status, capsys.readouterr().out))
    assert said[0] == said[1]
    assert line.broken == 0
    line.broken = 5
    assert main(["index", before, "-o", f"s3://broken-{fault}/index"]) == 0
    assert line.broken == 0
    line.broken = 5
    assert_same(read_collection(f"s3://broken-{fault}/index"), read_collection(here[0]))
    assert line.broken == 0


@pytest.mark.scale
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("fault", ["reset", "partial", "short", "stalled"])
def test_a_line_that_stays_broken_is_told_once(tmp_path, line, capsys, monkeypatch, fault):
    import s3fs

    before, after = pairs_of_runs(tmp_path, line.port, f"down-{fault}")
    assert main(["index", before, "-o", f"s3://down-{fault}/index"]) == 0
    capsys.readouterr()
    monkeypatch.setattr(remote, "PATIENCE_S", 0)
    monkeypatch.setattr(s3fs.S3FileSystem, "read_timeout", 0.3)
    s3fs.S3FileSystem.clear_instance_cache()
    line.fault, line.broken = fault, 10**9
    for line.path_of_faults in ("", "run.json"):
        for command in (
            ["check", before, after, "--json", str(tmp_path / "check.json")],
            ["check", str(tmp_path / "before"), after, "--json", str(tmp_path / "check.json")],
            ["index", before, "-o", str(tmp_path / "index")],
            ["formats", before],
        ):
            assert main(command) == 2, command
            told = told_once(capsys)
            assert "cannot be read: failed 3 times" in told
    assert not (tmp_path / "check.json").exists()
    assert not list(tmp_path.glob("index/*.parquet"))
    line.path_of_faults = "down-"
    assert main(["index", str(tmp_path / "before"), "-o", f"s3://down-{fault}/index"]) == 2
    assert "failed 3 times" in told_once(capsys)
    line.broken = 0
    assert_same(read_collection(f"s3://down-{fault}/index"), read_collection(tmp_path / "before"))


@pytest.mark.scale
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("refusal", REFUSALS)
def test_credentials_that_expire_meanwhile_are_told_once(tmp_path, line, capsys, refusal):
    bucket = f"expired-{refusal.lower()}"
    before, after = pairs_of_runs(tmp_path, line.port, bucket)
    line.fault, line.broken, line.path_of_faults = refusal, 10**9, "r7/run.json"  # the others were read
    for command in (
        ["check", before, after, "--json", str(tmp_path / "check.json")],
        ["compare", before, after, "-o", str(tmp_path / "out")],
        ["index", before, "-o", str(tmp_path / "index")],
    ):
        assert main(command) == 2
        assert f"access denied: {REFUSALS[refusal][1]}" in told_once(capsys)
    line.path_of_faults = "parquet"
    assert main(["index", before, "-o", f"s3://{bucket}/index"]) == 2
    assert f"access denied: {REFUSALS[refusal][1]}" in told_once(capsys)
    assert not (tmp_path / "check.json").exists()
    assert not list(tmp_path.glob("out/*.html"))
    assert not list(tmp_path.glob("index/*.parquet"))


@pytest.mark.scale
@pytest.mark.filterwarnings("ignore")
def test_a_run_denied_once_is_read_by_the_next_refresh(tmp_path, line, monkeypatch):
    before, _ = pairs_of_runs(tmp_path, line.port, "partly")
    line.fault, line.broken, line.path_of_faults = "AccessDenied", 10**9, "r3/run.json"
    assert refreshing.refresh(before, tmp_path / "index")["read"] == 8
    found = read_collection(tmp_path / "index")
    assert len(found.runs) == 7
    assert found.excluded["reason"].tolist() == ["cannot be opened: access denied"]
    line.broken = 0
    assert refreshing.refresh(before, tmp_path / "index") == {"read": 1, "kept": 7, "dropped": 1}
    assert_same(read_collection(tmp_path / "index"), read_collection(tmp_path / "before"))
