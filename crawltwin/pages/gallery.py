"""The gallery and the page of misprints: documents made from a reproduction, so that they cannot fall behind it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from crawltwin.pages.paper_pictures import pictures, rounding_picture
from crawltwin.report.inline import to_markdown
from validate.paper.judging.finding import Finding
from validate.paper.reproduction import Reproduction

_MADE = "<!-- Made by `python -m docs.make_gallery`; change that, not this. -->"


def gallery_files(found: Reproduction) -> Mapping[str, str]:
    """The files of the gallery by their name inside the documents' folder."""
    figures = [*pictures(found), rounding_picture(found.intervals)]
    files = {f"gallery/{figure.name}.svg": figure.svg for figure in figures}
    lines = [
        _MADE,
        "",
        "# Gallery",
        "",
        "The founding paper's figures redrawn from our own numbers, and what the reproduction found. Everything here",
        "comes from `crawltwin reproduce`; the whole report is one command away:",
        "",
        "```",
        "crawltwin reproduce --report report/paper",
        "```",
        "",
    ]
    for figure in figures:
        lines += [f"![{to_markdown(figure.alternative)}](gallery/{figure.name}.svg)", ""]
        lines += [f"*{to_markdown(figure.caption)}*", ""]
    lines += [
        "## What the paper says, put to the test",
        "",
        "| where | claim | holds | our numbers |",
        "|---|---|---|---|",
        *[
            f"| {claim.place} | {to_markdown(claim.says)} | {'yes' if claim.holds else '**no**'} | "
            f"{to_markdown(claim.words)} |"
            for claim in found.claims
        ],
        "",
        "## Other authors",
        "",
        "| whose | what | theirs | ours |",
        "|---|---|---:|---:|",
        *[f"| {item.where} | {to_markdown(item.what)} | {item.printed} | {item.ours} |" for item in found.others],
        "",
        "See also [the misprints and their proofs](misprints.md).",
    ]
    return files | {"gallery.md": "\n".join(lines) + "\n", "misprints.md": misprints(found)}


def misprints(found: Reproduction) -> str:
    """The page of misprints: a table, the proofs in words, and the mathematics behind three of them."""
    wrong = found.of("misprint")
    lines = [
        _MADE,
        "",
        "# Misprints of the founding paper",
        "",
        f"Of {len(found.findings)} printed numbers, policies and formulas {len(found.of('reproduced'))} are",
        f"reproduced to within one unit of the last printed digit; the {len(wrong)} below differ. Each was found by",
        "the program: it looks for the printed digits among the neighbours (rows, columns, thresholds, policies), for",
        "wrong digits, lost signs and moved decimal points, and solves each cost a second time by another method.",
        "",
        "| where | what | printed | is | kind |",
        "|---|---|---|---|---|",
        *[
            f"| {item.where} | {to_markdown(item.what)} | {to_markdown(item.printed)} | {to_markdown(item.ours)} | "
            f"{item.how} |"
            for item in wrong
        ],
        "",
        "## The proofs",
        "",
        *_proofs(wrong),
        *_MATHEMATICS,
    ]
    return "\n".join(lines) + "\n"


def _proofs(wrong: tuple[Finding, ...]) -> Iterator[str]:
    groups: dict[str, list[Finding]] = defaultdict(list)
    for item in wrong:
        groups[item.words].append(item)
    for words, items in groups.items():
        names = "; ".join(item.what for item in items)
        yield f"- **{items[0].where}: {to_markdown(names)}.** {to_markdown(words)}"
    yield ""


_MATHEMATICS = """## The mathematics behind three of them

**Lag correlations.** Let M = (-D_0)^-1 and P = M D_1, the phase chain between arrivals of a MAP of order two. P is a
stochastic 2 x 2 matrix with stationary vector pi and second eigenvalue gamma <= 1, so P^k = e pi + gamma^k (I - e pi).
The gap after the k-th arrival has E[X_0 X_k] = pi M P^k M e = (pi M e)^2 + gamma^k (pi M^2 e - (pi M e)^2). With
m_1 = pi M e and m_2 = 2 pi M^2 e this is m_1^2 + gamma^k (m_2/2 - m_1^2), and division by the variance gives
rho_k = gamma^k (c2 - 1)/(2 c2), where c2 is the squared coefficient of variation. For c2 > 1 no lag correlation exceeds
(c2 - 1)/(2 c2); with the printed mean and variance that is 0.0623, a tenth of what is printed for lag 1.

**Interpretation 1.** With Kronecker products behind robot l, the block D_0^(l) (x) D^(l+1)(1) (x) ... has row sums
(D_0^(l) e) (x) (D^(l+1)(1) e) (x) ... = 0, because D^(l+1)(1) e = 0. But D_0^(l) alone must have row sums that balance
the deliveries D_k^(l); so D_0 + D_1 + ... has positive row sums and is no generator. With Kronecker sums every row sum
is zero, and the robots behind l change their phases without delivering, as the text says they do.

**Number of states.** Level 0 has W states (W arrival phases), level i >= 1 has W M R^(i-1). The sum over i = 1..K is
W M (R^K - 1)/(R - 1); the print has K - 1 in place of K, that is, it leaves out level K.
""".splitlines()
