# The pages of docs/ as a book: `scripts/check-documents.sh` builds it into target/book.
import re
from pathlib import Path

import sphinxcontrib.katex as katex

project = "rarefy"
# The version of the workspace.
version = release = re.search(r'^version = "(.*)"$', (Path(__file__).parents[2] / "Cargo.toml").read_text(), re.MULTILINE)[1]
html_title = f"rarefy {release}"
html_theme = "furo"
extensions = ["myst_nb", "sphinx_external_toc", "sphinxcontrib.katex"]
# Notebooks have their outputs; the tests of the Python package run them.
nb_execution_mode = "off"
external_toc_path = "_toc.yml"

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4
# `rust,no_run` and the like are for rustdoc.
suppress_warnings = ["misc.highlighting_failure"]

# Formulas become MathML while the book is built: a page needs no script, and a formula that KaTeX cannot read ends the build.
katex_prerender = True
katex_css_path = "katex-math.css"
katex.KATEX_DEFAULT_OPTIONS.update(output="mathml", throwOnError=True)
# KaTeX starts slowly on a busy machine. Its network socket retries a refused connection, its file socket does not.
katex.STARTUP_TIMEOUT = katex.RENDER_TIMEOUT = 60.0
katex.KaTeXServer.start_server_process = katex.KaTeXServer.start_network_socket

html_static_path = ["static"]
html_css_files = ["book.css"]


def hide_test_lines(app, page, source):
    """Lines of Rust code that begin with `#` are for documentation tests only."""
    source[0] = re.sub(r"(?ms)^```rust.*?^```", lambda code: re.sub(r"(?m)^#( .*)?\n", "", code[0]), source[0])


def setup(app):
    app.connect("source-read", hide_test_lines)
