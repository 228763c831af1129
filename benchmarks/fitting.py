"""Fitting: reading speed by format, and EM for Erlang-branch MAPs beside the same method in LINE and BuTools.

The made trace has 65,000 gaps from four hidden states of Erlang-5 gaps, correlations near 0.62 to 0.51. Ours is not
told the structure and compares eight rivals on held-out blocks on the way; the peers are told the true stages. Every
contestant runs in a process of its own on one thread, compiled code loaded before the clock starts; times are seconds
of the processor.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
import types
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.rows import Row

ROOT = Path(__file__).resolve().parent.parent
STAGES, MEANS, STAY = 5, np.array([50.0, 100.0, 220.0, 560.0]), 0.963
LINES = 200_000
BELLCORE_PART = 20_000
BELLCORE = ROOT.parent / "shared" / "logs" / "BCAUG89.zip"


def made(n: int, seed: int) -> np.ndarray[Any, Any]:
    """Gaps of the made trace."""
    rng = np.random.default_rng(seed)
    states = np.empty(n, dtype=np.int64)
    state = 0
    u, jumps = rng.random(n), rng.integers(1, 4, n)
    for t in range(n):
        if u[t] > STAY:
            state = (state + int(jumps[t])) % 4
        states[t] = state
    return rng.gamma(STAGES, MEANS[states] / STAGES)


def _truth() -> Any:
    from fitting.models.erlang_map import ErlangMap

    P = np.full((4, 4), (1 - STAY) / 3) + np.eye(4) * (STAY - (1 - STAY) / 3)
    return ErlangMap(np.full(4, float(STAGES)), STAGES / MEANS, P)


def _ours() -> dict[str, float]:
    from fitting import FitOptions
    from fitting.choose.candidates import choose, fit_candidates
    from fitting.trace.segments import Segments

    fit_candidates(Segments.of(made(2000, 1)), FitOptions(max_branches=2))
    data = Segments.of(made(65_000, 7))
    began = time.process_time()
    best = choose(fit_candidates(data)[0], "bic", 40)
    spent = time.process_time() - began
    held = data.split()[1]
    return {"seconds": spent, "behind": _truth().log_likelihood(held) / len(held) - best.held_out}


def _held_out(D0: Any, D1: Any, held: Any) -> float:
    from fitting.models.general_map import GeneralMap

    model = GeneralMap(np.asarray(D0, dtype=np.float64), np.asarray(D1, dtype=np.float64))
    return model.log_likelihood(held) / len(held)


def _peer(fit: Callable[[Any], tuple[Any, Any]]) -> dict[str, float]:
    from fitting.trace.segments import Segments

    train, held = Segments.of(made(65_000, 7)).split()
    began = time.process_time()
    D0, D1 = fit(train.gaps)
    spent = time.process_time() - began
    truth = _truth().log_likelihood(held) / len(held)
    return {"seconds": spent, "behind": truth - _held_out(D0, D1, held)}


def _line() -> dict[str, float]:
    from line_solver.lib.kpctoolbox.erchmm import erchmm_emfit

    return _peer(lambda gaps: tuple(erchmm_emfit(gaps, [STAGES] * 4, verbose=False)[0]))


def _butools() -> dict[str, float]:
    # The port imports a notebook's function to clear the screen; it is not needed to fit.
    display = types.ModuleType("IPython.display")
    vars(display)["clear_output"] = lambda *_, **__: None
    sys.modules.setdefault("IPython", types.ModuleType("IPython"))
    sys.modules.setdefault("IPython.display", display)
    from line_solver.lib.thirdparty.butools.fitting.spemfit import MAPFromTrace

    return _peer(lambda gaps: MAPFromTrace(gaps, [STAGES] * 4, retlogli=False))


def _lines(name: str) -> list[str]:
    """Made rows of a log."""
    rng = np.random.default_rng(1)
    times = 1_460_000_000_000 + np.cumsum(rng.integers(1, 1000, LINES))
    stamps = np.datetime_as_string(times.astype("datetime64[ms]"))
    sizes = rng.integers(100, 100_000, LINES)
    rows = []
    for i, (stamp, size) in enumerate(zip(stamps.tolist(), sizes.tolist())):
        digits = stamp.translate({45: None, 58: None, 84: None, 46: None})
        clock = stamp[:19].replace("T", " ")
        rows.append({
            "heritrix": f"{stamp}Z   200 {size:10d} http://a/{i} LL http://a/ text/html #01 {digits}+981 sha1:A - -",
            "scrapy": f"{clock} [scrapy.core.engine] DEBUG: Crawled (200) <GET http://a.org/{i}> (referer: None)",
            "nutch": f"{clock},001 INFO  fetcher.FetcherThread - fetching http://a.org/{i} (queue crawl delay=5ms)",
            "wget": f"{clock} (6.53 MB/s) - 'p{i}.html' saved [{size}/{size}]",
            "access-log": f'1.2.3.4 - - [31/Mar/2016:{clock[11:]} +0000] "GET /{i} HTTP/1.1" 200 {size} "-" "xbot/2"',
            "cdx": f"org,a)/{i} {digits[:14]} http://a.org/{i} text/html 200 AAAA - - {size} 1 a.warc.gz",
            "cdxj": f'org,a)/{i} {digits[:14]} {{"url": "http://a.org/{i}", "status": "200", "length": "{size}"}}',
            "json-lines": f'{{"url": "http://a.org/{i}", "size": {size}, "crawl_time": "{stamp}Z", "status": 200}}',
            "csv": f"{stamp}Z,{size},http://a.org/{i}" if i else "time,size,url",
            "plain": f"{stamp}Z",
        }[name])  # fmt: skip
    return rows


def _reading(name: str) -> dict[str, float]:
    from fitting import read_log

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log"
        rows = _lines(name)
        path.write_text("\n".join(rows[:1000]))
        read_log(path, log_format=name)
        path.write_text("\n".join(rows))
        began = time.process_time()
        log = read_log(path, log_format=name)
        return {"rate": log.rows / (time.process_time() - began)}


def _bellcore(gaps: int) -> dict[str, Any]:
    """Ours on the first `gaps` gaps of the Bellcore trace, held-out blocks included."""
    from fitting import FitOptions, read_log
    from fitting.choose.candidates import choose, fit_candidates
    from fitting.trace.segments import Segments

    data = Segments.of(np.diff(read_log(BELLCORE).seconds)[:gaps])
    fit_candidates(data.sample(2000), FitOptions(methods=("erlang",), max_branches=2))
    began = time.process_time()
    best = choose(fit_candidates(data, FitOptions(methods=("erlang",)))[0], "bic", 60)
    spent = time.process_time() - began
    stages = [int(stage) for stage in best.model.shape]
    return {"seconds": spent, "likelihood": best.log_likelihood / len(data), "stages": stages}


def _bellcore_line(stages: list[int]) -> dict[str, float]:
    """LINE's fit of the first part, told the stages that ours has found."""
    from line_solver.lib.kpctoolbox.erchmm import erchmm_emfit

    from fitting import read_log

    gaps = np.diff(read_log(BELLCORE).seconds)[:BELLCORE_PART]
    began = time.process_time()
    D0, D1 = erchmm_emfit(gaps, stages, verbose=False)[0]
    spent = time.process_time() - began
    from fitting.trace.segments import Segments

    return {"seconds": spent, "likelihood": _held_out(D0, D1, Segments.of(gaps))}


CHILDREN: dict[str, Callable[[], dict[str, Any]]] = {
    "ours": _ours,
    "line": _line,
    "butools": _butools,
    "bellcore": lambda: _bellcore(10**6),
    "bellcore-part": lambda: _bellcore(BELLCORE_PART),
    "bellcore-line": lambda: _bellcore_line([int(stage) for stage in sys.argv[2].split(",")]),
}


def _measured(name: str, *more: str) -> dict[str, Any] | None:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "benchmarks.fitting", name, *more]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(f"{name} did not finish: {done.stderr.strip()[-500:]}", file=sys.stderr)
        return None
    return dict(json.loads(done.stdout.splitlines()[-1]))


def run() -> list[Row]:
    """Rows of all contestants."""
    rows = []
    case = "65,000 correlated gaps, EM"
    contestants = {"crawltwin": "ours"}
    if find_spec("line_solver") is not None:
        contestants |= {"LINE, told the stages": "line", "BuTools, told the stages": "butools"}
    for contestant, child in contestants.items():
        found = _measured(child)
        if found is not None:
            note = f"held out {found['behind']:+.4f} nats a gap behind the truth"
            rows.append(Row(case, contestant, found["seconds"], "s", note))
    for name in ("heritrix", "scrapy", "nutch", "wget", "access-log", "cdx", "cdxj", "json-lines", "csv", "plain"):
        found = _measured(name)
        if found is not None:
            rows.append(Row(f"reading {name}", "crawltwin", found["rate"], "lines/s"))
    return rows + (_bellcore_rows() if BELLCORE.exists() else [])


def _bellcore_rows() -> list[Row]:
    rows = []
    part = f"{BELLCORE_PART:,} Bellcore gaps"
    found = _measured("bellcore-part")
    told = None
    if found is not None:
        rows.append(Row(part, "crawltwin", found["seconds"], "s", f"log-likelihood {found['likelihood']:.4f} a gap"))
        if find_spec("line_solver") is not None:
            told = _measured("bellcore-line", ",".join(map(str, found["stages"])))
    if told is not None:
        note = f"log-likelihood {told['likelihood']:.4f} a gap"
        rows.append(Row(part, "LINE, told the stages ours found", told["seconds"], "s", note))
    whole = _measured("bellcore")
    if whole is not None:
        note = f"log-likelihood {whole['likelihood']:.4f} a gap"
        rows.append(Row("a million Bellcore gaps", "crawltwin", whole["seconds"], "s", note))
    return rows


if __name__ == "__main__":
    asked = sys.argv[1]
    print(json.dumps(CHILDREN[asked]() if asked in CHILDREN else _reading(asked)))
