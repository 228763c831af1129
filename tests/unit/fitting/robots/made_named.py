"""Made deliveries of named robots whose truth is known."""

import numpy as np

from crawltwin.model import BMAP
from fitting.robots.deliveries import Deliveries

SPELLS = BMAP([[[-4.1, 0.1], [0.1, -0.6]], [[4.0, 0.0], [0.0, 0.5]]])
"""A stream with fast and slow spells."""


def of(times, robots):
    """One stretch, in order of time."""
    order = np.argsort(times)
    robot = np.asarray(robots, dtype=np.int64)[order]
    return Deliveries(np.asarray(times)[order], robot, np.zeros(robot.size, np.int64), int(robot.max()) + 1)


def independent(deliveries, seed):
    """A robot with spells, and one of another rate that delivers at nearly even distances."""
    rng = np.random.default_rng(seed)
    first = SPELLS.sample(rng, deliveries).times
    second = np.cumsum(rng.gamma(4.0, 0.2, size=4 * deliveries))
    second = second[second < first[-1]]
    return of(np.concatenate([first, second]), np.repeat([0, 1], [first.size, second.size]))


def pooled(deliveries, seed, shares=(0.5, 0.5)):
    """Deliveries of one stream that go to the robots by chance."""
    rng = np.random.default_rng(seed)
    return of(SPELLS.sample(rng, deliveries).times, rng.choice(len(shares), size=deliveries, p=shares))


def marked(deliveries, seed, rates=(3.0, 1.5), change=0.05):
    """A stream with spells in which another robot brings most of the deliveries."""
    rng = np.random.default_rng(seed)
    times, robots, now, phase = [], [], 0.0, 0
    while len(times) < deliveries:
        now += rng.exponential(1 / (rates[phase] + change))
        if rng.random() < change / (rates[phase] + change):
            phase = 1 - phase
            continue
        times.append(now)
        robots.append(phase if rng.random() < 0.85 else 1 - phase)
    return of(times, robots)
