"""Object stores, web servers and fsspec file systems return the same data as local files, and raise clear errors."""

from __future__ import annotations

import json
import sys
from datetime import timedelta
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from azurite import ACCOUNT
from web_server import Handler

from parquet_core.dataset.opening import read_dataset
from parquet_core.errors import MalformedFile, StorageFailure, TableNotFound, UnsupportedFeature, WrongUse
from parquet_core.storage import (
    DataFile,
    Traffic,
    address,
    list_data_files,
    list_table,
    objects,
    put_if_absent,
    read_many,
    read_range,
)
from parquet_core.storage.failures import explaining
from parquet_core.storage.globs import pattern_of
from parquet_core.storage.ranges import IN_FLIGHT, REMOTE_HOLE

DATA = bytes(i * 7 % 251 for i in range(100_000))
TREE = {
    "b.parquet": b"1",
    "a.parquet": b"22",
    "_SUCCESS": b"",
    ".a.parquet.crc": b"4",
    "empty.parquet": b"",
    "_tmp/c.parquet": b"5",
    "_day=1/.hidden/d.parquet": b"6",
    "_day=1/at=1/d.parquet": b"777",
    "_day=2024-01-01 00%3A00%3A00/at=a%2Fb+c/é [1].parquet": b"8888",
    "x._COPYING_": b"9",
}


@pytest.fixture
def tree(tmp_path):
    for name, data in TREE.items():
        path = tmp_path / "t" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return tmp_path / "t"


@pytest.fixture
def impatient(monkeypatch):
    """Makes stores give up at once."""
    monkeypatch.setitem(objects.RETRIES, "max_retries", 1)
    monkeypatch.setitem(
        objects.RETRIES,
        "backoff",
        {
            "init_backoff": timedelta(milliseconds=1),
            "max_backoff": timedelta(milliseconds=1),
            "base": 2,
        },
    )
    objects._open.cache_clear()
    objects._open_web.cache_clear()
    yield
    objects._open.cache_clear()
    objects._open_web.cache_clear()


def relative(table, root):
    return [(file.path.removeprefix(f"{root}/"), file.size) for file in list_data_files(table)]


def read(file, start, length, traffic=None):
    return read_range(file, start, length, purpose="index", traffic=traffic or Traffic())


@pytest.mark.parametrize("slash", ["", "/"])
def test_a_tree_lists_as_it_does_locally(tree, root, upload, put, slash):
    uri = upload(tree, f"{root}/lake/t")
    put(f"{root}/lake/t2/other.parquet", b"a directory whose name begins alike")
    assert relative(uri + slash, uri) == relative(tree, tree)
    for file in list_data_files(uri):
        data = (tree / file.path.removeprefix(f"{uri}/")).read_bytes()
        assert read(file, 0, file.size) == data
        assert file.modified_ns > 1_700_000_000 * 10**9


def test_etags_are_those_of_the_store(bucket, put):
    put(f"{bucket}/t/a.parquet", b"1")
    put(f"{bucket}/t/b.parquet", b"2")
    listed = list_data_files(f"{bucket}/t")
    assert len({file.etag for file in listed} - {None}) == 2
    assert [list_data_files(file.path)[0].etag for file in listed] == [file.etag for file in listed]


def test_one_object_and_lists_of_them(root, put):
    uris = [f"{root}/t/{name}.parquet" for name in "cab"]
    for uri in uris:
        put(uri, uri.encode())
    assert [file.path for file in list_data_files(uris[1])] == [uris[1]]
    assert [file.path for file in list_data_files(uris)] == sorted(uris)
    with pytest.raises(TableNotFound, match=r"/t/d\.parquet: no such object; check the path"):
        list_data_files([*uris, f"{root}/t/d.parquet", f"{root}/t/e.parquet"])


def test_places_may_be_mixed(s3, memory, put, tmp_path):
    (tmp_path / "a").write_bytes(DATA)
    uris = [f"{s3}/b", f"{memory}/c"]
    for uri in uris:
        put(uri, DATA)
    files = list_data_files([*uris, str(tmp_path / "a")])
    traffic = Traffic()
    found = read_many([(file, [(i, 10), (50 + i, 3)]) for i, file in enumerate(files)], purpose="x", traffic=traffic)
    assert found == [[DATA[i : i + 10], DATA[50 + i : 53 + i]] for i in range(3)]
    assert (traffic.requests, traffic.bytes) == (3, {"x": 3 * 53})


@pytest.mark.parametrize(
    "pattern",
    ["*.parquet", "?.parquet", "[ab].parquet", "[!a].parquet", "_d*1", "_d*/*", "*/*/d.parquet", "*/at=*/*"],
)
def test_globs_find_what_they_find_locally(tree, root, upload, pattern):
    uri = upload(tree, f"{root}/t")
    assert relative(f"{uri}/{pattern}", uri) == relative(f"{tree}/{pattern}", tree)


def test_globs_of_hadoop(root, put):
    for name in ("a1.parquet", "b1.parquet", "c1.parquet", "[1].parquet", "*.parquet"):
        for day in ("day=1", "day=2"):
            put(f"{root}/t/{day}/{name}", b"1")
    for pattern, found in (
        ("day=[^1]/{a,b}1.parquet", ["day=2/a1.parquet", "day=2/b1.parquet"]),
        ("day=[1-1]/[b-z]*", ["day=1/b1.parquet", "day=1/c1.parquet"]),
        (r"day=1/\*.parquet", ["day=1/*.parquet"]),
        (r"{day=1,day=3}/\[1].parquet", ["day=1/[1].parquet"]),
        ("day=1/[1].parquet", ["day=1/[1].parquet"]),  # matches nothing as a pattern
    ):
        assert [name for name, _ in relative(f"{root}/t/{pattern}", f"{root}/t")] == found, pattern
    with pytest.raises(TableNotFound, match=r"/t/day=9\*: the directory has no data file"):
        list_data_files(f"{root}/t/day=9*")
    with pytest.raises(UnsupportedFeature, match="a brace that is not closed"):
        list_data_files(f"{root}/t/{{day=1/a,day=2/b}}1.parquet")


@pytest.mark.parametrize("part", ["[", "[]", "[^", "\\", "}", "a,b", "[[]", "[&&]", "(", "[\\]]", "[--/]"])
def test_what_python_alone_understands_has_no_meaning(part):
    assert pattern_of(part).fullmatch("zzz") is None


def test_a_range_backwards_is_refused():
    with pytest.raises(UnsupportedFeature, match="not a pattern"):
        pattern_of("a[z-a]")


def test_the_summary_of_a_directory(root, put):
    put(f"{root}/t/a.parquet", b"1")
    assert list_table(f"{root}/t").schema_file is None
    assert list_table(f"{root}/t/a.parquet").schema_file is None
    put(f"{root}/t/_metadata", b"22")
    assert list_table(f"{root}/t/").schema_file.path == f"{root}/t/_metadata"
    put(f"{root}/t/_common_metadata", b"333")
    found = list_table(f"{root}/t").schema_file
    assert (found.path, found.size) == (f"{root}/t/_common_metadata", 3)
    assert list_table(f"{root}/t/*.parquet").schema_file is None
    assert list_table([f"{root}/t/a.parquet"]).schema_file is None


def test_nothing_there(root, put):
    put(f"{root}/t/_SUCCESS", b"")
    for table in (f"{root}/t", f"{root}/t/", f"{root}/none", f"{root}/t/none.parquet"):
        with pytest.raises(
            TableNotFound, match=f"^{table}: (the directory has no data file|all its data files are hidden)"
        ):
            list_data_files(table)


def test_a_marker_of_a_directory_is_no_data(s3, moto_url, put):
    from urllib.request import Request, urlopen

    for key in ("t/", "t/day=1/"):
        request = Request(f"{moto_url}/{s3.removeprefix('s3://')}/{quote(key)}", data=b"", method="PUT")
        with urlopen(request, timeout=30):
            pass
    put(f"{s3}/t/day=1/a.parquet", b"1")
    assert relative(f"{s3}/t", f"{s3}/t") == [("day=1/a.parquet", 1)]
    put(f"{s3}/u", b"")
    put(f"{s3}/u/a.parquet", b"1")
    assert relative(f"{s3}/u", f"{s3}/u") == [("a.parquet", 1)]


def test_more_files_than_requests_in_flight(root, put):
    uris = [f"{root}/t/{i:03}.parquet" for i in range(3 * IN_FLIGHT)]
    for uri in uris:
        put(uri, uri[-11:].encode())
    files = list_data_files(f"{root}/t")
    assert [file.path for file in files] == uris
    found = read_many([(file, [(0, 3)]) for file in files], purpose="x", traffic=Traffic())
    assert found == [[uri[-11:-8].encode()] for uri in uris]


def test_a_changed_object_is_noticed(root, put):
    put(f"{root}/t/a.parquet", DATA)
    file = list_data_files(f"{root}/t")[0]
    assert read(file, 5, 10) == DATA[5:15]
    for now in (DATA[::-1], DATA[:2000], DATA + b"more"):
        put(file.path, now)
        for start in (5, len(DATA) - 10):
            with pytest.raises(StorageFailure, match=r"/a\.parquet: the object changed since it was listed"):
                read(file, start, 10)


def test_a_vanished_object_is_noticed(root, put):
    put(f"{root}/t/a.parquet", DATA)
    file = list_data_files(f"{root}/t")[0]
    # Azurite does not distinguish a missing object from a changed one.
    gone = DataFile(file.path.replace("a.parquet", "b.parquet"), file.size, file.modified_ns, file.etag)
    with pytest.raises(
        StorageFailure, match=r"/b\.parquet: the object (was deleted after|changed since) it was listed"
    ):
        read(gone, 0, 10)


def test_the_first_bad_one_is_named(root, put):
    for name in "abc":
        put(f"{root}/t/{name}", DATA)
    a, b, c = list_data_files(f"{root}/t")
    put(b.path, DATA[::-1])
    good, beyond = [(0, 5)], [(0, 5), (len(DATA) - 1, 2)]
    with pytest.raises(StorageFailure, match="/t/b: the object changed"):
        read_many([(a, good), (b, good), (c, beyond)], purpose="x", traffic=Traffic())
    with pytest.raises(MalformedFile, match="/t/c: bytes 99999 to 100001 are outside of the file"):
        read_many([(a, good), (c, beyond), (b, good)], purpose="x", traffic=Traffic())


# A web server that records its requests.


def test_requests_are_counted_as_the_server_sees_them(web):
    big = DATA * 120
    web.files = {"/t/a.parquet": big, "/t/b.parquet": DATA}
    a, b = list_data_files([f"{web.url}/t/a.parquet", f"{web.url}/t/b.parquet"])
    assert [asked.method for asked in web.asked] == ["HEAD", "HEAD"]
    web.asked.clear()
    traffic = Traffic()
    near = [(REMOTE_HOLE + 10, 5), (0, 10)]
    far = [(2 * REMOTE_HOLE + 16, 10), (100, 0)]
    found = read_many([(a, near + far), (b, [(7, 3)]), (b, []), (b, [(9, 0)])], purpose="index", traffic=traffic)
    assert found == [[big[s : s + n] for s, n in near + far], [DATA[7:10]], [], [b""]]
    stop = REMOTE_HOLE + 15
    assert sorted(asked.range for asked in web.asked) == sorted(
        [
            f"bytes=0-{stop - 1}",
            f"bytes={2 * REMOTE_HOLE + 16}-{2 * REMOTE_HOLE + 25}",
            "bytes=7-9",
        ]
    )
    assert {asked.condition for asked in web.asked} == {a.etag, b.etag}
    assert (traffic.requests, traffic.bytes) == (3, {"index": stop + 10 + 3})


def test_many_requests_are_in_flight(web):
    from threading import Barrier

    web.files = {f"/{i}": DATA for i in range(16)}
    files = list_data_files([f"{web.url}/{i}" for i in range(16)])
    meeting = Barrier(16, timeout=30)

    class Waiting(dict):
        def get(self, path, default=None):
            meeting.wait()  # raises BrokenBarrierError unless all requests wait at once
            return super().get(path, default)

    web.files = Waiting(web.files)
    found = read_many([(file, [(i, 5)]) for i, file in enumerate(files)], purpose="x", traffic=Traffic())
    assert len(found) == 16


def test_footer_and_indexes_of_a_wide_file_take_two_requests(web, tmp_path):
    table = pa.table({f"c{i}": list(range(200)) for i in range(200)})
    pq.write_table(table, tmp_path / "wide.parquet", write_page_index=True, data_page_size=200, row_group_size=100)
    web.files = {"/wide.parquet": (tmp_path / "wide.parquet").read_bytes()}
    index = read_dataset([f"{web.url}/wide.parquet"])
    assert len(web.reads()) == 1, "the footer is inside of the 64 KiB at the end"
    index.page_indexes.fetch(index.groups.columns, np.arange(2))
    assert all((index.page_indexes.read(column, np.arange(2)).reason == "").all() for column in index.groups.columns)
    assert index.groups.traffic.requests == len(web.reads()) == 2


@pytest.mark.parametrize("path", ["/a b.parquet", "/t/day=a%3Ab/é+ü.parquet"])
def test_urls_are_decoded_once(web, path):
    web.files = {path: DATA}
    (file,) = list_data_files(web.url + quote(path))
    assert read(file, 3, 4) == DATA[3:7]
    assert file.path == web.url + quote(path)


def test_a_signed_url_keeps_its_query(web):
    web.files = {"/t/a.parquet": DATA}
    url = f"{web.url}/t/a.parquet?X-Signature=a%2Fb%3D&n=1"
    (file,) = list_data_files(url)
    assert read(file, 3, 4) == DATA[3:7]
    assert {asked.path for asked in web.asked} == {"/t/a.parquet?X-Signature=a%2Fb%3D&n=1"}


def test_a_server_that_answers_no_head_is_asked_for_a_byte(web, monkeypatch):
    web.files = {"/a": DATA}
    monkeypatch.setattr(Handler, "do_HEAD", lambda self: self.send(403, b""))
    assert list_data_files(f"{web.url}/a")[0].size == len(DATA)
    assert [asked.range for asked in web.asked] == ["bytes=0-0"]


def test_http_has_no_directories(web):
    web.files = {"/t/": b"<html>", "/t": b"<html>", "/t/a.parquet": DATA}
    web.headers = {"Content-Type": "text/html; charset=utf-8"}
    for table in ("/t/", "/t", "/t/*.parquet"):
        with pytest.raises(UnsupportedFeature, match="HTTP has no listing of a directory; give the URLs of its files"):
            list_data_files(web.url + table)


def test_without_conditions_the_answer_is_compared(web):
    web.conditions = False
    web.files = {"/a": DATA}
    (file,) = list_data_files(f"{web.url}/a")
    web.files = {"/a": DATA[::-1]}
    with pytest.raises(StorageFailure, match="/a: the object changed since it was listed"):
        read(file, 0, 5)


def test_without_etags_size_and_time_are_compared(web):
    web.etags = False
    web.files = {"/a": DATA}
    web.headers = {"Last-Modified": "Wed, 21 Oct 2015 07:28:00 GMT"}
    (file,) = list_data_files(f"{web.url}/a")
    assert (file.etag, file.modified_ns) == (None, 1_445_412_480 * 10**9)
    assert read(file, 0, 5) == DATA[:5]
    web.files["/a"] = DATA[:-1]
    with pytest.raises(StorageFailure, match="the object changed"):
        read(file, 0, 5)
    web.files["/a"] = DATA
    web.headers = {"Last-Modified": "Wed, 21 Oct 2015 07:28:01 GMT"}
    with pytest.raises(StorageFailure, match="the object changed"):
        read(file, 0, 5)
    web.headers = {}
    assert list_data_files(f"{web.url}/a")[0].modified_ns == 0
    assert read(file, 0, 5) == DATA[:5]


def test_a_server_without_ranges(web):
    web.files = {"/a": DATA}
    (file,) = list_data_files(f"{web.url}/a")
    web.ranges = False
    with pytest.raises(UnsupportedFeature, match="/a: the server does not support range requests"):
        read(file, 0, 5)


def test_web_errors_name_the_url_and_the_remedy(web, impatient):
    web.answers = {"/403": (403, b"no"), "/401": (401, b""), "/503": (503, b"later")}
    for path, kind, message in (
        ("/404", TableNotFound, "no such object; check the path"),
        ("/403", StorageFailure, r"access denied \(answer 403 Forbidden\); check the permissions"),
        ("/401", StorageFailure, r"access denied \(answer 401 Unauthorized\)"),
        ("/503", StorageFailure, "answer 503 Service Unavailable"),
    ):
        with pytest.raises(kind, match=f"^{web.url}{path}: {message}") as caught:
            list_data_files([web.url + path])
        assert "\n" not in str(caught.value)
    with pytest.raises(StorageFailure, match=r"http://127.0.0.1:9/a: the server cannot be reached; check the network"):
        list_data_files("http://127.0.0.1:9/a")


def test_what_passes_is_tried_again(web, impatient):
    web.files = {"/a": DATA}
    (file,) = list_data_files(f"{web.url}/a")
    failures = iter([(503, b"later")])

    class Once(dict):
        def get(self, path, default=None):
            return next(failures, None) if path == "/a" else default

    web.answers = Once()
    assert read(file, 0, 5) == DATA[:5]
    assert len(web.reads()) == 2


# Error responses of S3, sent by a local server.


@pytest.fixture
def s3_that_answers(web, impatient, clean_environment):
    """Function that makes the store answer every request with a status and an error code."""
    clean_environment.setenv("AWS_ENDPOINT_URL", web.url)
    clean_environment.setenv("AWS_ALLOW_HTTP", "true")
    clean_environment.setenv("AWS_METADATA_ENDPOINT", web.url)
    clean_environment.setenv("AWS_ACCESS_KEY_ID", "any")
    clean_environment.setenv("AWS_SECRET_ACCESS_KEY", "any")

    def answer(status, code, message):
        web.answers = {"*": (status, f"<Error><Code>{code}</Code><Message>{message}</Message></Error>".encode())}

    return answer


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("s3://b/t", "answer 403 Forbidden"),
        ("s3a://b/t/", "AccessDenied: no"),
        ("s3://b/t/*", "AccessDenied: no"),
    ],
)
def test_access_denied(s3_that_answers, table, said):
    s3_that_answers(403, "AccessDenied", "no")
    with pytest.raises(StorageFailure, match=rf"^s3a?://b/t/?: access denied \({said}\); .* AWS_ACCESS_KEY_ID"):
        list_data_files(table)


def test_no_credentials(s3_that_answers, clean_environment):
    clean_environment.delenv("AWS_ACCESS_KEY_ID")
    clean_environment.delenv("AWS_SECRET_ACCESS_KEY")
    s3_that_answers(404, "NotFound", "")
    with pytest.raises(StorageFailure, match=r"^s3://b/t: no credentials in the environment; set AWS_ACCESS_KEY_ID"):
        list_data_files("s3://b/t")


@pytest.fixture
def profile(clean_environment, tmp_path):
    """Function that selects a profile: the environment names the credentials file and has no keys."""

    def name(profile):
        for key in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            clean_environment.delenv(key, raising=False)
        (tmp_path / "credentials").write_text("[mine]\naws_access_key_id = theirs\naws_secret_access_key = secret\n")
        (tmp_path / "config").write_text("[profile mine]\nregion = eu-west-3\n")
        clean_environment.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
        clean_environment.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
        clean_environment.setenv("AWS_PROFILE", profile)

    return name


REGION = {"AWS_REGION": "us-west-1"}


@pytest.mark.parametrize(
    ("environment", "asked_with"),
    [
        ({}, ("theirs", "eu-west-3")),
        (REGION, ("theirs", "us-west-1")),
        (REGION | {"AWS_ACCESS_KEY_ID": "mine", "AWS_SECRET_ACCESS_KEY": "x"}, ("mine", "us-west-1")),
    ],
)
def test_a_profile_is_taken_where_the_environment_has_no_keys(web, clean_environment, profile, environment, asked_with):
    profile("mine")
    for name, value in {"AWS_ENDPOINT_URL": web.url, "AWS_ALLOW_HTTP": "true", **environment}.items():
        clean_environment.setenv(name, value)
    web.files = {"/b/t/a": DATA}
    (file,) = list_data_files(["s3://b/t/a"])
    assert file.size == len(DATA)
    key, _, region, *_ = web.asked[-1].authorization.partition("Credential=")[2].split("/")
    assert (key, region) == asked_with


def test_a_profile_that_is_nowhere_is_named(profile):
    profile("yours")
    with pytest.raises(WrongUse, match=r"^s3://b/: AWS_PROFILE=yours gives no credentials .*; check ~/.aws/config"):
        list_data_files("s3://b/t")


def test_without_boto3_a_profile_is_named_as_not_read(s3_that_answers, clean_environment, profile):
    profile("mine")
    clean_environment.setitem(sys.modules, "boto3", None)
    s3_that_answers(404, "NotFound", "")
    with pytest.raises(
        StorageFailure, match=r"^s3://b/t: no credentials.*; AWS_PROFILE=mine is read through boto3 alone"
    ):
        list_data_files("s3://b/t")


def test_another_region(s3_that_answers):
    s3_that_answers(301, "PermanentRedirect", "elsewhere")
    with pytest.raises(StorageFailure, match=r"^s3://b/t.*; set AWS_REGION"):
        list_data_files("s3://b/t")


def test_http_has_to_be_allowed(s3_that_answers, clean_environment):
    clean_environment.delenv("AWS_ALLOW_HTTP")
    with pytest.raises(StorageFailure, match=r"^s3://b/t: .*AWS_ALLOW_HTTP=true"):
        list_data_files("s3://b/t")


def test_no_such_bucket(bucket):
    scheme = bucket.partition(":")[0]
    with pytest.raises(TableNotFound, match=rf"^{scheme}://no-such/t: the bucket 'no-such' does not exist"):
        list_data_files(f"{scheme}://no-such/t")


@pytest.mark.parametrize("said", ["Unable to load libjvm: x.so: cannot open shared", "load libhdfs failed"])
def test_what_hadoops_client_lacks_is_named(said):
    message = r"^hdfs://nn/t: .* needs Java .*; set JAVA_HOME, .*CLASSPATH"
    with pytest.raises(UnsupportedFeature, match=message), explaining("hdfs://nn/t"):
        raise OSError(said)


def test_keys_that_are_not_read(bucket, put):
    with pytest.raises(UnsupportedFeature, match=r"/t//x: keys with an empty, '\.' or '\.\.' part are not read"):
        list_data_files(f"{bucket}/t//x")


# Differences of Azure and Google Cloud Storage.


def test_spellings_of_a_container(azure, put):
    put(f"{azure}/t/a b%3A.parquet", DATA)
    name = azure.removeprefix("az://")
    for root in (f"abfs://{name}", f"abfss://{name}@{ACCOUNT}.dfs.core.windows.net"):
        (file,) = list_data_files(f"{root}/t")
        assert file.path == address(f"{root}/t/a b%3A.parquet")
        assert read(file, 3, 5) == DATA[3:8]
        assert not put_if_absent(file.path, b"1")
        assert put_if_absent(f"{root}/{root.partition(':')[0]}", b"1")


def test_the_emulator_is_found_as_the_emulator(azure, azurite_url, put, clean_environment, impatient):
    put(f"{azure}/t/a", DATA)
    for name in ("ACCOUNT_NAME", "ACCOUNT_KEY", "ENDPOINT"):
        clean_environment.delenv(f"AZURE_STORAGE_{name}")
    clean_environment.setenv("AZURE_STORAGE_USE_EMULATOR", "true")
    clean_environment.setenv("AZURITE_BLOB_STORAGE_URL", "http://127.0.0.1:1")
    with pytest.raises(StorageFailure, match="check the network and the endpoint"):
        list_data_files(f"{azure}/t")
    clean_environment.setenv("AZURITE_BLOB_STORAGE_URL", azurite_url)
    assert [file.size for file in list_data_files(f"{azure}/t")] == [len(DATA)]


def test_a_wrong_key_is_denied(azure, put, clean_environment):
    put(f"{azure}/t/a", DATA)
    clean_environment.setenv("AZURE_STORAGE_ACCOUNT_KEY", "AAAA")
    for table in (f"{azure}/t", f"{azure}/t/a"):
        with pytest.raises(StorageFailure, match=r"^az://.*: access denied .* AZURE_STORAGE_ACCOUNT_KEY"):
            list_data_files(table)


def test_the_account_of_a_service_says_where_it_is(gcs, gcs_server, put, clean_environment, tmp_path):
    put(f"{gcs}/t/a", DATA)
    for name in ("GOOGLE_BASE_URL", "GOOGLE_BEARER_TOKEN"):
        clean_environment.delenv(name)
    said = {"gcs_base_url": gcs_server.url, "disable_oauth": True, "client_email": "", "private_key": ""}
    (tmp_path / "key.json").write_text(json.dumps(said | {"private_key_id": ""}))
    clean_environment.setenv("GOOGLE_SERVICE_ACCOUNT", str(tmp_path / "key.json"))
    assert [file.size for file in list_data_files(f"{gcs}/t")] == [len(DATA)]
    put(f"{gcs}/t/b", DATA)
    assert len(list_data_files(f"{gcs}/t")) == 2


def test_an_account_is_missing(clean_environment):
    with pytest.raises(WrongUse, match=r"^az://c/: .*; set AZURE_STORAGE_ACCOUNT_NAME"):
        list_data_files("az://c/t")


@pytest.mark.parametrize(
    ("uri", "message"),
    [
        ("nope://x/t", "no storage with the scheme 'nope' is known"),
        ("simplecache::s3://b/t", "chained URIs are not read"),
        ("s3:///t", "names no bucket or container; write s3://BUCKET/PATH"),
        ("abfss://", "names no bucket or container; write abfss://BUCKET/PATH"),
    ],
)
def test_schemes_that_lead_nowhere(clean_environment, uri, message):
    with pytest.raises((UnsupportedFeature, StorageFailure, TableNotFound), match=message):
        list_data_files(uri)


def test_a_new_environment_makes_a_new_store(s3, put, web, clean_environment, impatient):
    put(f"{s3}/t/a", DATA)
    assert list_data_files(f"{s3}/t")
    web.answers = {"*": (403, b"")}
    clean_environment.setenv("AWS_ENDPOINT_URL", web.url)
    with pytest.raises(StorageFailure, match="access denied"):
        list_data_files(f"{s3}/t")
