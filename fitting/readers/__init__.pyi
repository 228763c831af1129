from fitting.readers.count_log import CountLog as CountLog
from fitting.readers.raw_log import RawLog as RawLog
from fitting.readers.counting import read_counts as read_counts, read_either as read_either
from fitting.readers.reading import FORMATS as FORMATS, read_log as read_log
from fitting.readers.settings import NAMES as NAMES, ReadOptions as ReadOptions
