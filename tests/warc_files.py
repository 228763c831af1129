"""WARC records as bytes, for tests that need odd ones."""


def record(kind, address, body, *, second=0, version="1.0", length=None, date=None, more=""):
    """One record; `length` and `date` instead of the right ones, an empty date leaves the line out."""
    moment = f"2024-05-01T08:{second // 60:02d}:{second % 60:02d}Z" if date is None else date
    head = f"WARC/{version}\r\nWARC-Type: {kind}\r\n"
    head += f"WARC-Date: {moment}\r\n" if moment else ""
    head += f"WARC-Target-URI: {address}\r\n" if address else ""
    head += f"{more}Content-Length: {len(body) if length is None else length}\r\n\r\n"
    return head.encode() + body + b"\r\n\r\n"
