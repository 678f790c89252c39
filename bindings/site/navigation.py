"""The navigation of every page, without what it does not show: Sphinx copies all names of the references for each page
to throw them away again, which took more than half of the build. SPDX-License-Identifier: Apache-2.0
"""
import functools

from docutils import nodes
from sphinx import addnodes


def titles(toc):
    """A page's table of contents without its sections and names, but with the pages below it."""
    short = toc.deepcopy()
    del short[1:]  # of a page with several titles
    below = list(short.findall(addnodes.toctree))
    for inner in [child for entry in short for child in entry if isinstance(child, nodes.bullet_list)]:
        inner.parent.remove(inner)
    if short.children and below:
        short[0].append(nodes.bullet_list("", *below))
    return short


def setup(app):
    def prepare(app, env):
        short = {page: titles(toc) for page, toc in env.tocs.items()}
        whole, local = app.builder._get_local_toctree, env.get_doctree
        get_doctree = functools.lru_cache(maxsize=1)(local)

        def quick(*arguments, **options):
            tocs, env.tocs, env.get_doctree = env.tocs, short, get_doctree
            try:
                return whole(*arguments, **options)
            finally:
                env.tocs, env.get_doctree = tocs, local

        app.builder._get_local_toctree = quick

    app.connect("env-updated", prepare)
