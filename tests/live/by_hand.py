"""A clock and an executor that the tests move by hand."""

from concurrent.futures import Executor, Future


class HandTimer:
    def __init__(self, time, function):
        self.time, self.function, self.cancelled = time, function, False

    def cancel(self):
        self.cancelled = True


class HandClock:
    """Time passes only in `forward`."""

    def __init__(self):
        self.time = 100.0
        self.timers = []

    def now(self):
        return self.time

    def call_later(self, delay, function):
        timer = HandTimer(self.time + delay, function)
        self.timers.append(timer)
        return timer

    def call_from_thread(self, function, *arguments):
        return function(*arguments)

    def forward(self, seconds):
        end = self.time + seconds
        while due := [timer for timer in self.timers if timer.time <= end and not timer.cancelled]:
            first = min(due, key=lambda timer: timer.time)
            self.timers.remove(first)
            self.time = first.time
            first.function()
        self.time = end


class HandExecutor(Executor):
    """Work that ends when the test says so."""

    def __init__(self):
        self.under_way = []

    def submit(self, function, *arguments):
        future = Future()
        self.under_way.append((future, function, arguments))
        return future

    def finish(self):
        future, function, arguments = self.under_way.pop(0)
        try:
            future.set_result(function(*arguments))
        except Exception as error:  # noqa: BLE001 - as an executor does
            future.set_exception(error)
