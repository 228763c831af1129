"""What every page that the product writes must satisfy, for the tests of each room to use."""

from typing import Any

from axe_playwright_python.sync_playwright import Axe


def check_quiet(opened: Any) -> None:
    """Nothing on the console, nothing asked for outside the file."""
    assert opened.messages == []
    assert opened.outside == []


def check_pictures(opened: Any, count: int) -> None:
    """Every picture is drawn, has a size and words for those who do not see it."""
    boxes = opened.page.eval_on_selector_all(
        "figure svg[role=img]",
        """all => all.map(svg => ({
            width: svg.getBoundingClientRect().width,
            height: svg.getBoundingClientRect().height,
            shapes: svg.querySelectorAll('path, use, rect').length,
            words: svg.getAttribute('aria-labelledby').split(' ')
                .map(id => (document.getElementById(id)?.textContent ?? '').trim().length),
        }))""",
    )
    assert len(boxes) == count
    for box in boxes:
        assert box["width"] > 200
        assert box["height"] > 100
        assert box["shapes"] > 5
        assert min(box["words"]) > 10


def check_fits(opened: Any) -> None:
    """No sideways scrolling of the whole page."""
    assert opened.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def check_accessible(opened: Any, rows: int = 12) -> None:
    """axe-core finds nothing: contrast, names, roles, alternative texts.

    Of long tables the first rows and one of each kind of chip are looked at: the others look the same, and axe is slow.
    """
    opened.page.evaluate(
        """rows => { for (const table of document.querySelectorAll('table')) {
            const seen = new Set();
            [...table.tBodies[0].rows].slice(rows).forEach(row => {
                const kind = [...row.querySelectorAll('.chip')].map(chip => chip.className).join();
                if (kind && !seen.has(kind)) seen.add(kind); else row.remove();
            });
        } }""",
        rows,
    )
    found = Axe().run(opened.page).response["violations"]
    wrong = [(item["id"], [node["html"][:120] for node in item["nodes"][:3]]) for item in found]
    assert not wrong, wrong


def check_sorting(opened: Any) -> None:
    """Each table sorts both ways by its first numeric column, with the keyboard too."""
    tables = opened.page.query_selector_all("table.sortable")
    assert tables
    for table in tables:
        head = table.query_selector("th.number") or table.query_selector("th")
        column = head.evaluate("head => head.cellIndex")
        button = head.query_selector("button")
        button.focus()
        for key, direction in (("Enter", "ascending"), ("Space", "descending")):
            opened.page.keyboard.press(key)
            assert head.get_attribute("aria-sort") == direction
            keys = table.eval_on_selector_all("tbody tr", f"rows => rows.map(row => row.cells[{column}].dataset.sort)")
            # Missing values stay at the end; what is no number sorts among the rest as words.
            numbers = [float(key) for key in keys if _is_number(key)]
            if len(numbers) == len([key for key in keys if key]):
                assert numbers == sorted(numbers, reverse=direction == "descending")
            assert "" not in keys[: len([key for key in keys if key])]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
