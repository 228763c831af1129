"""Files: outputs whole or not at all, inputs looked at before they are read, texts that a parser would choke on."""

from pathlib import Path

import pytest

from crawltwin.model import InputError
from crawltwin.model.files import KEY_PARTS, check_folder, check_writable, parse, read_text, write_whole


@pytest.mark.parametrize("length", [249, 250, 255])
def test_a_long_name_that_the_system_allows_is_written(length, tmp_path: Path):
    path = tmp_path / ("n" * length)
    write_whole(path, "text")
    assert path.read_text() == "text"
    assert [found.name for found in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("check", [check_writable, check_folder, lambda path: write_whole(path, "text")])
@pytest.mark.parametrize(
    ("name", "words"),
    [("n" * 256, "must have a name that can be used; got File name too long"), ("a\0b", "without NUL characters")],
)
def test_a_name_that_the_system_refuses_is_told(check, name, words, tmp_path: Path):
    with pytest.raises(InputError, match=words):
        check(f"{tmp_path}/{name}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("check", [check_writable, check_folder])
def test_what_stands_below_a_file_is_refused(check, tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="must be"):
        check(tmp_path / "file" / "below")


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a folder in which nobody can make a file")
@pytest.mark.parametrize("check", [check_writable, check_folder])
def test_a_folder_in_which_no_file_can_be_made_is_refused_before_the_work(check):
    with pytest.raises(InputError, match="must be writable; got"):
        check("/proc/none")


def test_a_folder_is_found_writable_through_the_nearest_one_that_exists(tmp_path: Path):
    check_folder(tmp_path / "not" / "yet" / "there")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("/dev/zero", "must be a regular file; got '/dev/zero', which is a device or a pipe"),
        ("/dev/urandom", "device or a pipe"),
        (".", "must be a file; got the directory"),
        ("no/such/file", "must exist; got 'no/such/file'. Ask."),
        ("a\0b", "must be readable; got embedded null byte"),
        ("n" * 300, "must be readable; got File name too long"),
    ],
)
def test_inputs_are_looked_at_before_they_are_read(name, words):
    with pytest.raises(InputError) as caught:
        read_text(name, "the text", way_out="Ask.")
    assert words in str(caught.value)


def test_an_input_that_is_too_large_is_not_read(tmp_path: Path):
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.truncate(10**12)  # a hole: no disk is used
    with pytest.raises(InputError, match="must have at most 100,000,000 bytes; got 1,000,000,000,000"):
        read_text(path, "the text")


@pytest.mark.parametrize("part", ["a", '"a"', "'a'", "a "])
def test_dotted_keys_of_very_many_parts_are_refused_at_once(part):
    with pytest.raises(InputError, match=f"keys of at most {KEY_PARTS} parts; got more in .* on line 2"):
        parse("x = 1\n" + ".".join([part] * 50_000) + " = 1\n", "the file")


def test_keys_of_some_parts_and_texts_with_dots_are_read():
    dots = "one. " * 100
    assert parse(f'a.b."c.d".e = 1.5\nt = "{dots}"\nn = [{"1.5, " * 1000}]', "the file")["t"] == dots


@pytest.mark.parametrize("json_text", [False, True])
@pytest.mark.parametrize("value", ["9" * 5000, "[" * 100_000 + "]" * 100_000, "[" * 5000])
def test_numbers_without_end_and_deep_brackets_are_refused(value, json_text):
    text = f'{{"a": {value}}}' if json_text else f"a = {value}"
    with pytest.raises(InputError, match="the file must be valid"):
        parse(text, "the file", json_text=json_text)
