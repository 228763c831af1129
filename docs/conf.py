"""How Sphinx builds the site (`make docs`): everything local, formulas as MathML, which browsers read themselves."""

import ast
import os
import sys
from pathlib import Path

from docutils.nodes import SkipNode
from docutils.utils.math.latex2mathml import tex2mathml

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("crawltwin", "analytic", "simulate", "fitting", "validate")
sys.path.insert(0, str(ROOT))
os.environ["PYTHONPATH"] = str(ROOT)  # for the kernels that run the notebooks

from crawltwin import __version__ as release  # noqa: E402

project = "crawltwin"
version = release
copyright = "the crawltwin authors"  # noqa: A001 - Sphinx's own name
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["make_gallery.py"]
default_role = "py:obj"  # `name` in a docstring is a name
add_module_names = False

html_theme = "furo"
html_title = f"crawltwin {release}"
html_show_sphinx = False
html_copy_source = False
html_static_path = ["style"]
html_css_files = ["wide_tables.css"]
html_math_renderer = "mathml"

myst_heading_anchors = 3
nb_execution_mode = "force"
nb_execution_timeout = 300
nb_execution_raise_on_error = True
nb_merge_streams = True

autodoc_member_order = "groupwise"
autodoc_typehints = "none"  # the docstrings tell the types in words
napoleon_google_docstring = False
napoleon_use_rtype = False


def _mathml(node, as_block=False):
    """A formula for browsers; two commands that the converter does not know are said otherwise."""
    text = node.astext().replace(r"\dots", r"\ldots").replace(r"\Big", "")
    return tex2mathml(text, as_block=as_block)


def _inline(writer, node):
    writer.body.append(_mathml(node))
    raise SkipNode


def _block(writer, node):
    writer.body.append(f'<div class="math">{_mathml(node, as_block=True)}</div>')
    raise SkipNode


def _every_formula(_app, page, source):
    """The page of formulas shows the words of every file that has some."""
    if page != "reference/mathematics":
        return
    source[0] += "\n```{eval-rst}\n"
    for path in sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py")):
        words = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        if ":math:" in words or ".. math::" in words:
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            source[0] += f"{name}\n{'-' * len(name)}\n\n.. automodule:: {name}\n   :no-index:\n\n"
    source[0] += "```\n"


def setup(app):
    """Formulas as MathML."""
    app.connect("source-read", _every_formula)
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
