"""The page and the gauges of a watch: the standard library's server, on 127.0.0.1 alone, nothing from outside."""

from __future__ import annotations

import base64
import hashlib
import html
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

HOST = "127.0.0.1"
Summary = Callable[[], dict[str, Any]]
GAUGES = (
    ("crawltwin_pace", "pace", "Pages delivered per second, recently"),
    ("crawltwin_expected_pace", "expected_pace", "Pages per second by the model"),
    ("crawltwin_backlog", "level", "Pages waiting or being indexed"),
    ("crawltwin_robots", "robots", "Robots wanted"),
    ("crawltwin_predicted_loss", "predicted_loss", "Share of pages lost, by the model"),
    ("crawltwin_test_slower", "slower", "CUSUM against a slower pace"),
    ("crawltwin_test_faster", "faster", "CUSUM against a faster pace"),
    ("crawltwin_test_threshold", "threshold", "Where the alarm goes off"),
)
_STYLE = """:root{color-scheme:light dark}
body{font:16px/1.5 system-ui,sans-serif;max-width:46em;margin:2em auto;padding:0 1em;overflow-wrap:anywhere}
body{color:#1b1f24;background:#fff}
button{font:inherit;padding:.2em 1em;min-height:2.2em}
table{border-collapse:collapse}
td,th{vertical-align:top;padding:.2em 1em .2em 0;text-align:left;border-bottom:1px solid #d0d4d9}
@media(prefers-color-scheme:dark){body{color:#e6e8eb;background:#14171a}td,th{border-color:#3a4048}}"""


_SCRIPT = """
"use strict";
// The page asks for itself every five seconds and takes over what it says; nobody loses the place, and one may pause.
const button = document.querySelector("button"), said = document.querySelector("#state");
let paused = false;
button.hidden = false;
said.textContent = "Renewed every five seconds.";
button.addEventListener("click", () => {
  paused = !paused;
  button.textContent = paused ? "Go on" : "Pause";
  said.textContent = paused ? "Paused." : "Renewed every five seconds.";
});
setInterval(async () => {
  if (paused) return;
  try {
    const answer = await fetch(location.pathname, { cache: "no-store" });
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (paused) return;
    document.title = fresh.title;
    for (const id of ["numbers", "alarms"]) {
      const now = document.getElementById(id), next = fresh.getElementById(id);
      if (now.innerHTML !== next.innerHTML) now.replaceChildren(...next.childNodes);
    }
    said.textContent = "Renewed every five seconds.";
  } catch {
    said.textContent = "The watch does not answer: these are its last numbers.";
  }
}, 5000);
"""
_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; connect-src 'self'; "
    f"script-src 'sha256-{base64.b64encode(hashlib.sha256(_SCRIPT.encode()).digest()).decode()}'"
)


def metrics(summary: dict[str, Any]) -> str:
    """The gauges in Prometheus' text format; what is not known is left out.

    Examples
    --------
    >>> print(metrics({"pace": 2.5, "deliveries": 7, "alarms_raised": 0}).splitlines()[2])
    crawltwin_pace 2.5
    """
    lines = []
    for name, key, words in GAUGES:
        if summary.get(key) is not None:
            lines += [f"# HELP {name} {words}", f"# TYPE {name} gauge", f"{name} {float(summary[key])!r}"]
    for name, value, words in (
        ("crawltwin_deliveries_total", summary["deliveries"], "Pages delivered since the watch began"),
        ("crawltwin_alarms_total", summary["alarms_raised"], "Alarms since the watch began"),
    ):
        lines += [f"# HELP {name} {words}", f"# TYPE {name} counter", f"{name} {value}"]
    return "\n".join(lines) + "\n"


def page(summary: dict[str, Any]) -> str:
    """The page, whose script asks for it again every five seconds."""

    def shown(key: str, unit: str = "") -> str:
        value = summary.get(key)
        if value is None:
            return "not known"
        if isinstance(value, str):
            return value
        return f"{value:,}{unit}" if isinstance(value, int) else f"{value:.4g}{unit}"

    lost = summary.get("predicted_loss")
    rows = [
        ("pages delivered", shown("deliveries")),
        ("pace, recently", shown("pace", " pages per second")),
        ("normal pace", shown("normal_pace", " pages per second")),
        ("pace by the model", shown("expected_pace", " pages per second")),
        ("backlog", shown("level", " pages")),
        ("robots wanted", shown("robots")),
        ("policy", shown("policy")),
        ("pages lost, by the model", "not known" if lost is None else f"{100 * lost:.3g}%"),
        ("test for a slower pace", shown("slower")),
        ("test for a faster pace", shown("faster")),
        ("alarm where a test exceeds", shown("threshold")),
        ("lines that came too late", shown("late")),
        ("times the crawl stood still", shown("pauses")),
    ]
    if summary.get("learning") is not None:
        rows.append(("learning the normal pace", f"{summary['learning']:.0%}"))
    table = "".join(f"<tr><th scope=row>{html.escape(name)}<td>{html.escape(value)}" for name, value in rows)
    alarms = "".join(
        f"<li>{datetime.fromtimestamp(one['time'], UTC):%Y-%m-%d %H:%M:%S} UTC: the pace became "
        f"{html.escape(one['direction'])}"
        for one in reversed(summary["alarms"][-20:])
    )
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8>"
        f"<meta name=viewport content='width=device-width, initial-scale=1'><title>{_title(summary)}</title>"
        f"<link rel=icon href=data:,><style>{_STYLE}</style><main><h1>The crawl now</h1>"
        f"<p><button type=button hidden>Pause</button> "
        f"<span id=state role=status>As it was when the page was opened.</span></p>"
        f"<table id=numbers>{table}</table><h2>Alarms</h2>"
        f"<div id=alarms aria-live=polite>{f'<ul>{alarms}</ul>' if alarms else '<p>None.</p>'}</div></main>"
        f"<script>{_SCRIPT}</script></html>"
    )


def _title(summary: dict[str, Any]) -> str:
    """What a tab shows: the pace and the alarms, without opening it."""
    count, pace = summary["alarms_raised"], summary.get("pace")
    alarms = f"{count} alarm{'s' if count > 1 else ''}, " if count else ""
    return alarms + ("crawltwin watch" if pace is None else f"{pace:.3g} pages per second - crawltwin watch")


class Server:
    """Serves the page at ``/`` and, where it is asked for, the gauges at ``/metrics``, while the block lasts."""

    def __init__(self, summary: Summary, port: int = 0, gauges: bool = True) -> None:
        own = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                path = self.path.partition("?")[0]
                if path == "/":
                    self.answer(page(summary()), "text/html; charset=utf-8")
                elif path == "/metrics" and own.gauges:
                    self.answer(metrics(summary()), "text/plain; version=0.0.4; charset=utf-8")
                else:
                    self.send_error(404)

            def answer(self, text: str, kind: str) -> None:
                body = text.encode()
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.send_header("Content-Security-Policy", _POLICY)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *arguments: Any) -> None:
                del arguments

        self.gauges = gauges
        self._server = ThreadingHTTPServer((HOST, port), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def address(self) -> str:
        """Where the page is."""
        return f"http://{HOST}:{self._server.server_address[1]}/"

    def __enter__(self) -> Server:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
