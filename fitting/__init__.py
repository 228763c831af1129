"""Raw crawler logs to a clean trace, batches, phase types, arrival processes and a scenario."""

from fitting.fit import FitOptions, fit
from fitting.readers import NAMES, RawLog, ReadOptions, read_log
from fitting.result import FitResult

__all__ = ["NAMES", "FitOptions", "FitResult", "RawLog", "ReadOptions", "fit", "read_log"]
