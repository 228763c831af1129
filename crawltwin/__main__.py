"""`python -m crawltwin`."""

from crawltwin.cli.main import run

run()
