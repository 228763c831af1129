"""Zip, WACZ and tar archives: which members are read, what is said of the others, and how to choose."""

import gzip
import io
import json
import tarfile
import zipfile

import pytest

from crawltwin.model.errors import InputError
from fitting import ReadOptions, read_counts, read_log
from fitting.readers.counting import read_either
from tests.warc_files import record

SEEDS, PAGES, ASSETS = 3, 12, 40


def page_list(first, count, name="pages"):
    rows = [{"format": "json-pages-1.0", "id": name, "title": "All Pages", "hasText": "false"}]
    rows += [
        {
            "id": f"p{i}",
            "url": f"https://a.org/{i}",
            "title": "t",
            "ts": f"2024-05-01T08:00:{i:02d}.250Z",
            "status": 200,
        }
        for i in range(first, first + count)
    ]
    return "".join(json.dumps(row) + "\n" for row in rows)


def records(first, count):
    body = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + b"x" * 50
    return b"".join(
        gzip.compress(record("response", f"https://a.org/r{i}", body, second=i), mtime=0)
        for i in range(first, first + count)
    )


def crawler_log():
    rows = []
    for i in range(SEEDS + PAGES):
        for message in ("Starting page", "Page Finished"):
            details = {"workerid": i % 2, "page": f"https://a.org/{i}", "loadState": 4}
            moment = f"2024-05-01T08:00:{i:02d}.{'100' if message[0] == 'S' else '900'}Z"
            told = {"timestamp": moment, "logLevel": "info", "context": "pageStatus"}
            rows.append(told | {"message": message, "details": details})
    return "".join(json.dumps(row) + "\n" for row in rows)


def index():
    line = 'org,a)/r{0} 202405010801{0:02d} {{"url": "https://a.org/r{0}", "mime": "text/html", "status": "200"}}\n'
    return gzip.compress("".join(line.format(i) for i in range(ASSETS)).encode(), mtime=0)


@pytest.fixture
def wacz(tmp_path):
    def write(name="crawl.wacz", **changes):
        members = {
            "archive/rec-0.warc.gz": records(0, ASSETS // 2),
            "archive/rec-1.warc.gz": records(ASSETS // 2, ASSETS // 2),
            "indexes/index.cdx.gz": index(),
            "logs/crawl-1.log": crawler_log(),
            "pages/pages.jsonl": page_list(0, SEEDS),
            "pages/extraPages.jsonl": page_list(SEEDS, PAGES, "extraPages"),
            "datapackage.json": json.dumps({"profile": "data-package", "resources": []}),
            "datapackage-digest.json": "{}",
        }
        path = tmp_path / name
        with zipfile.ZipFile(path, "w") as archive:
            for member, content in (members | changes).items():
                if content is not None:
                    archive.writestr(member, content)
        return path

    return write


def test_a_wacz_is_its_list_of_pages_and_says_what_else_it_holds(wacz):
    log = read_log(wacz())
    assert (log.format, len(log)) == ("pages-jsonl", SEEDS + PAGES)
    said = " ".join(log.notes)
    assert "crawl.wacz is a WACZ archive: its list of pages was read" in said
    assert "pages/pages.jsonl, pages/extraPages.jsonl" in said
    for option in ("archive/*", "indexes/*", "logs/*"):
        assert f"--member '{option}'" in said


@pytest.mark.parametrize(
    ("member", "format_", "deliveries"),
    [
        ("archive/*", "warc", ASSETS),
        ("rec-1.warc.gz", "warc", ASSETS // 2),
        ("indexes/*", "cdxj", ASSETS),
        ("logs/*", "browsertrix", SEEDS + PAGES),
        ("pages.jsonl", "pages-jsonl", SEEDS),
    ],
)
def test_another_part_of_a_wacz_can_be_chosen(wacz, member, format_, deliveries):
    log = read_log(wacz(), options=ReadOptions(member=member))
    assert (log.format, len(log)) == (format_, deliveries)


def test_a_wacz_with_an_empty_list_of_pages_is_its_records(wacz):
    empty = page_list(0, 0)
    log = read_log(wacz(**{"pages/pages.jsonl": empty, "pages/extraPages.jsonl": None}))
    assert (log.format, len(log)) == ("warc", ASSETS)
    assert "its records were read" in " ".join(log.notes)
    parts = dict.fromkeys(("pages/pages.jsonl", "archive/rec-0.warc.gz", "archive/rec-1.warc.gz"))
    log = read_log(wacz(**parts, **{"pages/extraPages.jsonl": empty}))
    assert (log.format, len(log)) == ("cdxj", ASSETS)


def test_a_zip_of_wacz_archives_is_the_pages_of_all(wacz, tmp_path):
    other = {"pages/pages.jsonl": page_list(20, 7), "pages/extraPages.jsonl": None}
    inner = [wacz("a.wacz"), wacz("b.wacz", **other)]
    path = tmp_path / "collection.wacz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("datapackage.json", "{}")
        for one in inner:
            archive.write(one, one.name)
    assert len(read_log(path)) == SEEDS + PAGES + 7
    assert len(read_log(path, options=ReadOptions(member="pages.jsonl"))) == SEEDS + 7
    with zipfile.ZipFile(tmp_path / "deep.zip", "w") as archive:
        archive.write(path, path.name)
    with pytest.raises(InputError, match="archives must lie at most in one other"):
        read_log(tmp_path / "deep.zip")


def test_a_member_that_is_not_there_is_refused_with_those_that_are(wacz, written):
    with pytest.raises(InputError, match=r"got 'log/\*' among archive/rec-0.warc.gz, .* and 2 more"):
        read_log(wacz(), options=ReadOptions(member="log/*"))
    with pytest.raises(InputError, match="member must be left out for a file that is no archive"):
        read_log(written(page_list(0, 3)), options=ReadOptions(member="log/*"))


CRAWLED = "2017-07-31 19:21:{0:02d} [scrapy.core.engine] DEBUG: Crawled (200) <GET http://a.org/{0}> (referer: None)\n"
ROW = "2024-05-01T10:00:{0:02d}.000Z 200 99 http://a.org/{0} L - text/html #1 202405011000{0:02d}000+1 sha1:A -\n"
TOTALS = "2024-05-01T10:0{0}:00Z 100 50 {0}00 1.2(3.4) 5(6) 0 12 0 1000 0 0 0\n"


def zipped(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def tarred(path, members):
    packing = "w:gz" if path.suffix == ".tgz" else "w"
    with tarfile.open(path, packing) as archive:
        for name, content in members.items():
            data = content if isinstance(content, bytes) else content.encode()
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return path


@pytest.fixture(params=[("job.zip", zipped), ("job.tar", tarred), ("job.tgz", tarred)], ids=["zip", "tar", "tgz"])
def packed(request, tmp_path):
    name, pack = request.param
    return lambda members: pack(tmp_path / name, members)


HERITRIX = "".join(ROW.format(i) for i in range(20))
LATER = HERITRIX.replace(" 2024050110", " 2024050111").replace("T10", "T11")


def test_what_is_no_log_in_an_archive_is_noted(packed):
    path = packed(
        {
            "job/README.txt": "This is the crawl of May.\n",
            "job/progress-statistics.log": "".join(TOTALS.format(i) for i in range(9)),
            "job/crawl.log": HERITRIX,
            "__MACOSX/job/._crawl.log": b"\0\5\x16\7" * 50,
            "job/crawl.log.1.gz": gzip.compress("".join(ROW.format(i) for i in range(20, 50)).encode()),
        }
    )
    log = read_either(path)
    assert (log.format, len(log)) == ("heritrix", 50)
    said = " ".join(log.notes)
    assert "job/README.txt was left out" in said
    assert "job/progress-statistics.log was left out" in said
    assert "MACOSX" not in said


def test_counts_in_an_archive_are_read_where_it_has_nothing_else(packed):
    path = packed({"README": "May.\n", "progress-statistics.log": "".join(TOTALS.format(i) for i in range(9))})
    counts = read_either(path)
    assert counts.format == "heritrix-progress"
    assert int(counts.count.sum()) == 800
    assert "README was left out" in " ".join(counts.notes)
    with pytest.raises(InputError, match="counts must come from one of"):
        read_counts(packed({"README": "May.\n"}))


def test_members_of_two_formats_are_refused_and_can_be_chosen(packed):
    path = packed({"a/crawl.log": HERITRIX, "b/scrapy.log": "".join(CRAWLED.format(i) for i in range(30))})
    with pytest.raises(InputError, match="one format; got scrapy after heritrix") as refused:
        read_log(path)
    assert "--member 'b/scrapy.log'" in str(refused.value)
    assert len(read_log(path, options=ReadOptions(member="b/scrapy.log"))) == 30
    assert len(read_log(path, options=ReadOptions(member="crawl.log"))) == 20


def test_the_same_member_twice_counts_once(packed):
    assert len(read_log(packed({"crawl.log": HERITRIX, "copy of crawl.log": HERITRIX}))) == 20


def test_an_archive_without_a_log_is_refused(packed):
    with pytest.raises(InputError, match="the log's format must be one that is known"):
        read_log(packed({"README": "May.\n", "seeds.txt": "http a\n"}))
    with pytest.raises(InputError, match="at least one file that is not empty"):
        read_log(packed({"empty": ""}))


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_members_of_one_name_all_count(tmp_path):
    path = tmp_path / "job.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for first in (0, 20):
            archive.writestr("crawl.log", "".join(ROW.format(i) for i in range(first, first + 20)))
    assert len(read_log(path)) == 40


def test_a_member_may_be_named_with_letters_of_patterns(packed):
    path = packed({"logs[1]/crawl [a].log": HERITRIX, "other.log": LATER})
    assert len(read_log(path, options=ReadOptions(member="logs[1]/crawl [a].log"))) == 20


def test_members_are_chosen_in_archives_within_archives(packed, tmp_path):
    """Where one of them has no such member, the others count."""
    inner = tarred(tmp_path / "inner.tgz", {"a/crawl.log": HERITRIX, "a/notes": "x"}).read_bytes()
    path = packed({"one.tar.gz": inner, "two.zip": zipped(tmp_path / "two.zip", {"b": "x"}).read_bytes()})
    assert len(read_log(path, options=ReadOptions(member="crawl.log"))) == 20
    with pytest.raises(InputError, match=r"got 'c\.log' among one\.tar\.gz, two\.zip"):
        read_log(path, options=ReadOptions(member="c.log"))


def test_a_damaged_member_is_left_out_and_told(tmp_path):
    path = zipped(tmp_path / "job.zip", {"a.log": HERITRIX, "b.log": LATER})
    with zipfile.ZipFile(path) as archive:
        begins = archive.getinfo("a.log").header_offset + 30 + len("a.log")
    content = bytearray(path.read_bytes())
    content[begins] = 7  # no kind of block of deflate
    path.write_bytes(content)
    log = read_log(path)
    assert len(log) == 20
    assert "a.log was left out: a log must have at least one line; got packed data end early" in " ".join(log.notes)


def test_an_encrypted_member_is_refused_in_plain_words(tmp_path):
    path = zipped(tmp_path / "job.zip", {"a.log": HERITRIX, "b.log": HERITRIX})
    content = bytearray(path.read_bytes())
    for mark, at in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        content[content.index(mark) + at] |= 1
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"must be readable; got one that is encrypted at .*a\.log\. Unpack it"):
        read_log(path)
    assert len(read_log(path, options=ReadOptions(member="b.log"))) == 20


def test_many_other_files_in_an_archive_are_a_few_notes(packed):
    """A mirrored site beside its log."""
    log = read_log(packed({f"site/{i}.html": f"<p>{i}</p>\n" for i in range(100)} | {"crawl.log": HERITRIX}))
    assert len(log) == 20
    assert len(log.notes) == 6
    assert "95 more were left out" in log.notes[-1]


def test_an_archive_of_what_a_system_added_is_refused(packed):
    with pytest.raises(InputError, match="at least one file that is not empty"):
        read_log(packed({"__MACOSX/._crawl.log": HERITRIX}))


def test_a_mirror_of_httrack_in_a_zip_has_its_date_in_another_member(tmp_path):
    line = "10:00:{0:02d}\t100/100\t---M--\t200\tadded ('OK')\ttext/html\tdate:x\ta.org/{0}\t/m/{0}.html\t(from )\n"
    members = {
        "m/hts-cache/new.txt": "".join(line.format(i) for i in range(30)),
        "m/hts-log.txt": "HTTrack3.49-2 launched on Sat, 20 May 2017 10:00:00 at a.org +*\n",
    }
    log = read_log(zipped(tmp_path / "m.zip", members))
    assert (log.format, len(log)) == ("httrack", 30)
    assert str(log.time[0].astype("datetime64[ns]"))[:19] == "2017-05-20T10:00:00"


def test_a_tar_without_its_end_and_two_put_together_are_told(tmp_path):
    """Cut between two members there is no other sign than the missing mark of the end."""
    first = tarred(tmp_path / "a.tar", {"a.log": HERITRIX, "b.log": LATER}).read_bytes()
    path = tmp_path / "job.tar"
    for content, words in ((first[: first.index(b"b.log")], "no mark of their end"), (first * 2, "two archives")):
        path.write_bytes(content)
        log = read_log(path)
        assert len(log) == (20 if content in first else 40)
        assert words in " ".join(log.notes)
    path.write_bytes(first)
    assert not read_log(path).notes


@pytest.mark.parametrize("cut", [3000, 512, -2500, -700])
def test_a_cut_tar_gives_what_came_before_and_says_so(tmp_path, cut):
    """Cut in the first member, behind its header, in the second member, and in the header of a third."""
    rows = [ROW.format(i) for i in range(60)]
    members = {"a.log": "".join(rows), "b.log": "".join(rows[:30]), "c.log": "x" * 512}
    path = tarred(tmp_path / "job.tar", members)
    content = path.read_bytes()
    length = len(rows[0])
    third = content.index(b"c.log")
    where = cut if cut > 0 else third + (cut if cut < -1000 else 300)
    path.write_bytes(content[:where])
    if cut == 512:
        with pytest.raises(InputError, match="tar data end early or are damaged"):
            read_log(path)
        return
    log = read_log(path, options=ReadOptions(repeats="keep"))
    second = content.index(b"b.log") + 512
    expected = {3000: (3000 - 512) // length, -2500: 60 + (where - second) // length, -700: 90}[cut]
    assert len(log) == expected
    assert "end early or are damaged" in " ".join(log.notes)


def test_archives_come_through_standard_input_and_workers(wacz, tmp_path, monkeypatch):
    path = wacz()
    stream = io.BytesIO(path.read_bytes())
    stream.seekable = lambda: False
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(stream))
    assert len(read_log("-")) == SEEDS + PAGES
    other = wacz("b.wacz", **{"pages/pages.jsonl": page_list(20, 7), "pages/extraPages.jsonl": None})
    here, apart = (read_log([path, other], options=ReadOptions(workers=workers)) for workers in (1, 2))
    assert len(here) == len(apart) == SEEDS + PAGES + 7
    assert here.notes == apart.notes
