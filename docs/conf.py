"""How Sphinx makes the site: `make docs`. The pages below `reference/` are made from the code at each build."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import reference_pages  # noqa: E402 - found by the line above

from prune_assets import __version__  # noqa: E402 - the checkout's, by the line above

project = "prune-assets"
copyright = "the authors of prune-assets, Apache 2.0"  # noqa: A001 - Sphinx's name
release = version = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_click"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"prune-assets {release}"
html_show_sourcelink = False

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
# Docstrings have `names` in single backquotes: links where there is such a name.
default_role = "py:obj"
# A block without a language is the output of a terminal.
highlight_language = "text"
autodoc_typehints = "signature"
autodoc_default_options = {"members": True}
python_maximum_signature_line_length = 100
toc_object_entries_show_parents = "hide"

reference_pages.write(HERE / "reference")


def setup(app):  # noqa: ANN001, ANN201, D103 - called by Sphinx
    app.connect("autodoc-process-docstring", lambda *found: reference_pages.list_arguments(found[-1]))
