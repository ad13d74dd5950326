"""Give the documentation site what docs/ does not hold: the API, notebooks and top-level pages.

`mkdocs.yml` names this file as a hook; `make docs` builds the site.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

import griffe
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

__all__ = ["Examples", "api", "notebook", "on_config", "on_files", "on_page_markdown", "relinked"]

ROOT: Final = Path(__file__).parents[1]
PACKAGES: Final = {
    "loopmend": "The front door: what most programs need of the core.",
    "loopmend.reading": "From text to turns and values.",
    "loopmend.mending": "Use a reply, ask again, or give up.",
    "loopmend.traces": "Recorded runs, why they stopped, and what is wrong with them.",
    "loopmend.planning": "What should happen next.",
    "loopmend.contracts": "The five contracts, to the letter.",
    "loopmend.batch": "Many runs: files on all cores, span rows on Daft.",
    "loopmend.rendering": "Turns, traces and reports to look at.",
    "loopmend.adapting": "For adapters: recording runs and planning steps in any host.",
    "loopmend.breaker": "A circuit breaker for a provider.",
    "loopmend.pytest": "The plugin for pytest.",
    "langchain_loopmend": "LangChain: parsers, retries, recording.",
    "langchain_loopmend.middleware": "LangChain: middleware for `create_agent`.",
    "langchain_loopmend.classic": "LangChain: parsers and guards for `AgentExecutor`.",
    "langchain_loopmend.testing": "LangChain: models that follow a script.",
    "llama_index_loopmend": "LlamaIndex: agents, step hooks, parsers, recording.",
    "llama_index_loopmend.testing": "LlamaIndex: a model that follows a script.",
}
TOP: Final = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
_LINK: Final = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)\s#]+)(#[^)\s]*)?\)")
_EXAMPLE: Final = re.compile(r"^( *)>>> .*(?:\n *\S.*)*", re.MULTILINE)
_BLANK: Final = re.compile(r"\n\s*\n")
_CODE: Final = re.compile(r"^(?P<fence>`{3,}).*?^(?P=fence)`*$", re.DOTALL | re.MULTILINE)


class Examples(griffe.Extension):
    """Shows the examples of a docstring as code, wherever they stand in it."""

    def on_object(self, *, obj: griffe.Object, **_: object) -> None:
        """Put the examples of an object into blocks of code."""
        if obj.docstring:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(docstring: str) -> str:
    """Return a docstring with its examples in blocks of code."""
    return _EXAMPLE.sub(r"\1```pycon\n\g<0>\n\1```", docstring)


def api(package: str) -> str:
    """Return the page of a package.

    >>> print(api("loopmend.mending"))
    # loopmend.mending
    <BLANKLINE>
    Use a reply, ask again, or give up.
    <BLANKLINE>
    ::: loopmend.mending
        options: {show_root_heading: false, heading_level: 2}
    <BLANKLINE>
    """
    options = "    options: {show_root_heading: false, heading_level: 2}"
    return f"# {package}\n\n{PACKAGES[package]}\n\n::: {package}\n{options}\n"


def notebook(text: str) -> str:
    r"""Return a notebook as a page: its words, its code, and what that showed.

    >>> cell = {"cell_type": "code", "source": ["1 + 1"], "outputs": [{"text": ["2\n"]}]}
    >>> print(notebook(json.dumps({"cells": [cell]})))
    ```python
    1 + 1
    ```
    <BLANKLINE>
    ```text
    2
    ```
    """
    parts: list[str] = []
    for cell in json.loads(text)["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        parts += map(_shown, cell["outputs"])
    return "\n\n".join(parts)


def _shown(output: dict[str, Any]) -> str:
    """Return an output as a page shows it: drawn, as a picture, or as text."""
    data = {kind: "".join(value) for kind, value in output.get("data", {}).items()}
    if "text/html" in data:
        # A blank line would end the drawing and begin a paragraph.
        return f"<div>{_BLANK.sub(chr(10), data['text/html'])}</div>"
    if "image/png" in data:
        return f'<p><img alt="figure" src="data:image/png;base64,{data["image/png"].strip()}"></p>'
    said = "".join(output.get("text", "")) or data.get("text/plain", "")
    return f"```text\n{said.strip()}\n```"


def relinked(markdown: str, folder: Path, page: Path) -> str:
    """Return a page whose links to files of the repository lead to pages of the site.

    What the site does not hold loses its link, and is named.

    >>> relinked("[how](../CONTRIBUTING.md#invariants)", ROOT / "docs", Path("a.md"))
    '[how](CONTRIBUTING.md#invariants)'
    >>> relinked("[try](docs/live.md), [code](Makefile)", ROOT, Path("notebooks/1.md"))
    '[try](../live.md), code (`Makefile`)'
    """
    up = "../" * (len(page.parts) - 1)

    def lead(found: re.Match[str]) -> str:
        title, link, anchor = found[1], found[2], found[3] or ""
        if "://" in link:
            return found[0]
        target = (folder / link).resolve().relative_to(ROOT)
        if target.parent.name == "docs" or str(target) in TOP:
            return f"[{title}]({up}{target.name}{anchor})"
        if target.suffix == ".ipynb":
            return f"[{title}]({up}{target.with_suffix('.md')})"
        return f"{title} (`{target}`)"

    pieces, at = [], 0
    for block in _CODE.finditer(markdown):
        pieces += [_LINK.sub(lead, markdown[at : block.start()]), block[0]]
        at = block.end()
    return "".join((*pieces, _LINK.sub(lead, markdown[at:])))


def _added() -> dict[str, tuple[str, Path]]:
    """Return the pages that docs/ does not hold, each with the folder that its links start from."""
    pages = {f"api/{package}.md": (api(package), ROOT) for package in PACKAGES}
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        text = path.read_text(encoding="utf-8")
        pages[f"notebooks/{path.stem}.md"] = notebook(text), path.parent
    for path in (ROOT / name for name in TOP if (ROOT / name).exists()):
        pages[path.name] = path.read_text(encoding="utf-8"), ROOT
    return pages


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Take the order of the pages from the index of the documentation."""
    index = Path(config.docs_dir, "README.md").read_text(encoding="utf-8")
    pages: list[Any] = [{title: link} for title, link, _ in _LINK.findall(index) if "/" not in link]
    added = _added()
    inside = {top: [page for page in added if page.startswith(top)] for top in ("notebooks", "api")}
    rest = [page for page in added if "/" not in page]
    config.nav = [
        {"Documentation": "README.md"},
        *pages,
        {"Notebooks": inside["notebooks"]},
        {"API": [{page[4:-3]: page} for page in inside["api"]]},
        {"Project": rest},
    ]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that docs/ does not hold."""
    for name, (text, _) in _added().items():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Let the links of a page lead to pages of the site."""
    name = page.file.src_uri
    folder = _added()[name][1] if name in _added() else ROOT / "docs"
    return relinked(markdown, folder, Path(name))
