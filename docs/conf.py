"""Sphinx configuration.  The pages are Markdown (MyST); build with ``make docs``, where warnings are errors."""

from verified_tir import __version__

project = "verified_tir"
author = "the verified_tir developers"
copyright = f"{author}, Apache-2.0"
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.mathjax", "sphinx_copybutton"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "attrs_inline"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True

# What is copied from a console block are the commands; outputs have no button.
copybutton_prompt_text = "$ "
copybutton_only_copy_prompt_lines = True
copybutton_selector = (
    "div.highlight-python pre, div.highlight-console pre, div.highlight-yaml pre, div.highlight-toml pre"
)

html_theme = "furo"
html_title = f"verified_tir {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b5cad", "color-brand-content": "#0b5cad"},
    "dark_css_variables": {"color-brand-primary": "#7cb7ff", "color-brand-content": "#7cb7ff"},
}

# Only asked by ``make nightly``: papers and publishers that keep robots out are not asked at all.
linkcheck_ignore = [r"https://doi\.org/", r"https://dl\.acm\.org/"]
linkcheck_timeout = 20
linkcheck_retries = 2
