"""What every test may use: the real logs, and one deterministic hypothesis profile."""

import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

REPOSITORY = Path(__file__).resolve().parent.parent

# A shell that runs the tests in the background makes them ignore Ctrl-C, and every program they start inherits that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Derandomised: the same examples in every run, so that a failure is a change of the code and nothing else.
# No deadline: no test asserts wall-clock time.
settings.register_profile(
    "crawltwin",
    derandomize=True,
    deadline=None,
    database=None,
    max_examples=50,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("crawltwin")


@pytest.fixture(scope="session")
def shared_logs() -> Path:
    """The folder of real crawler logs beside the repository; they are not part of it."""
    folder = REPOSITORY.parent / "shared" / "logs"
    if not folder.is_dir():
        pytest.skip("the real logs are not on this machine")
    return folder
