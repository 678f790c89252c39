"""Sphinx's settings for the site; bindings/site.sh runs it. SPDX-License-Identifier: Apache-2.0"""
import os
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(__file__))

import docstrings
from sidbeam import _engines
import navigation

project = "sidbeam"
author = copyright = "the sidbeam authors"
extensions = ["myst_parser", "sphinx.ext.autodoc"]
root_doc = "index"
exclude_patterns = ["_extra"]
html_extra_path = [os.path.join(os.environ["SITE_WORK"], "pages", "_extra")]
html_theme = "furo"
html_title = "sidbeam"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = html_show_sourcelink = html_show_copyright = False
html_show_sphinx = False
smartquotes = False
highlight_language = "none"
pygments_style, pygments_dark_style = "friendly", "native"
myst_heading_anchors = 4
nitpicky = True
nitpick_ignore_regex = [("c:identifier", r"u?int\d+_t|size_t|FILE")]  # types of the C library
toc_object_entries_show_parents = "hide"
c_id_attributes = []

autodoc_mock_imports = docstrings.MOCKED
_engines.need = lambda *_: None  # which would find that mocked engines lack everything
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
add_module_names = False
python_use_unqualified_type_names = True


def setup(app):
    docstrings.setup(app)
    navigation.setup(app)
