"""Where the libraries' own cache folders cannot be written, a private one serves, and the command works."""

import os
import stat
from pathlib import Path

import pytest

from crawltwin.model import InputError
from crawltwin.work import caches

VARIABLES = ("NUMBA_CACHE_DIR", "MPLCONFIGDIR")


@pytest.fixture
def bare(monkeypatch, tmp_path: Path) -> Path:
    """No variable set, nothing writable but the temporary folder."""
    for name in (*VARIABLES, "XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
        # Set first, so that what the function sets is taken back after the test.
        monkeypatch.setenv(name, "")
    monkeypatch.setattr(caches, "_writable", lambda _: False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def test_folders_that_can_be_written_are_left_to_the_libraries(bare, monkeypatch):
    monkeypatch.setattr(caches, "_writable", lambda _: True)
    caches.find_cache_folders()
    assert [os.environ[name] for name in VARIABLES] == ["", ""]


def test_otherwise_a_folder_of_this_user_alone_serves_both(bare: Path):
    caches.find_cache_folders()
    folders = {Path(os.environ[name]).parent for name in VARIABLES}
    assert folders == {bare / f"crawltwin-{os.getuid()}"}
    assert stat.S_IMODE(folders.pop().stat().st_mode) == 0o700


def test_a_folder_that_others_can_write_is_not_used(bare: Path):
    open_to_all = bare / f"crawltwin-{os.getuid()}"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    caches.find_cache_folders()
    assert all(open_to_all not in Path(os.environ[name]).parents for name in VARIABLES)


def test_what_the_user_set_stays(bare, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", "/mine")
    caches.find_cache_folders()
    assert os.environ["NUMBA_CACHE_DIR"] == "/mine"


def test_no_folder_at_all_is_told(bare, monkeypatch):
    def refused(*_arguments, **_more):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(Path, "mkdir", refused)
    with pytest.raises(InputError, match=r"must be writable; got Read-only file system .* NUMBA_CACHE_DIR"):
        caches.find_cache_folders()
