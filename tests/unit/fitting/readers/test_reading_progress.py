"""How far the reading of a log is."""

import gzip

import pytest

from fitting import ReadOptions, read_log


@pytest.mark.parametrize("workers", [1, 2])
def test_bytes_of_all_files_are_told_packed_or_not(tmp_path, workers):
    text = "\n".join(f"{1.7e9 + i * 0.5:.3f}" for i in range(3000)).encode()
    plain, packed = tmp_path / "a.log", tmp_path / "b.log.gz"
    plain.write_bytes(text)
    packed.write_bytes(gzip.compress(text.replace(b"17000", b"17001")))
    told = []
    read_log([plain, packed], options=ReadOptions(workers=workers), progress=lambda *at: told.append(at))
    size = plain.stat().st_size + packed.stat().st_size
    done = [at for at, _ in told]
    assert {total for _, total in told} == {size}
    assert done == sorted(done)
    assert done[-1] == size
