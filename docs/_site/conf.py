"""How Sphinx makes the site: ``make docs``.

The source folder is the repository's root, so that links between pages lead to the same places here as they do where
the repository is browsed. Pages of the reference are made from ``__all__`` of the packages; nothing is listed twice.
"""

import re
from pathlib import Path

import svmpress

ROOT = Path(__file__).resolve().parents[2]

project = "svmpress"
author = "The svmpress developers"
copyright = "The svmpress developers, BSD 3-clause license"
version = release = svmpress.__version__

root_doc = "docs/index"
include_patterns = ["*.md", "docs/**"]
exclude_patterns = [".*", "benchmarks", "build", "demo-output", "dist", "docs/_site", "examples", "src", "tests"]
extensions = ["myst_parser", "numpydoc", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx_copybutton"]

# pages
myst_enable_extensions = ["colon_fence", "attrs_inline"]
myst_heading_anchors = 6
copybutton_prompt_text = r"\$ |>>> "
copybutton_prompt_is_regexp = True
highlight_language = "none"

# reference
templates_path = [str(ROOT / "docs/_site/templates")]  # autosummary would look below the source folder
autosummary_generate = True
autosummary_imported_members = True
autosummary_ignore_module_all = False
autosummary_context = {"offered": svmpress.__all__}
autodoc_typehints = "none"  # docstrings say types, in words
autodoc_member_order = "bysource"
python_maximum_signature_line_length = 88
numpydoc_show_class_members = False
add_module_names = False

# looks
html_theme = "furo"
html_title = f"svmpress {release}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_extra_path = ["root"]
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False


def _leave_folders(app, docname, source):
    """A link to a folder of the repository is for those who browse that; here it is its text."""
    here = Path(app.env.doc2path(docname)).parent
    source[0] = re.sub(
        r"\[([^\]]+)\]\(([^):#\s]+)\)", lambda link: link[1] if (here / link[2]).is_dir() else link[0], source[0]
    )


def _plain_signature(app, what, name, obj, options, signature, returned):
    """A default that is made anew for each object has no text of its own."""
    return (signature and signature.replace("<factory>", "..."), returned)


def setup(app):
    """Connect what is above."""
    app.connect("source-read", _leave_folders)
    app.connect("autodoc-process-signature", _plain_signature)
