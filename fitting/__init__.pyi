from fitting.choose.procedure import fit as fit
from fitting.choose.result import FitResult as FitResult
from fitting.choose.settings import FitOptions as FitOptions
from fitting.readers import CountLog as CountLog, RawLog as RawLog, read_counts as read_counts, read_log as read_log
from fitting.readers.settings import NAMES as NAMES, ReadOptions as ReadOptions
