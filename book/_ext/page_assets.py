"""Load each script and style sheet once a page, live figures where there are some; offer the PDF.

jupyter-book lists what it finds under _static, Sphinx lists it again.
"""

from __future__ import annotations

from typing import Any

from sphinx.application import Sphinx


def asset_name(asset: Any) -> str:
    """Return the file an asset points to, without its checksum."""
    return str(getattr(asset, "filename", asset)).split("?", 1)[0]


def drop_duplicates(assets: list[Any]) -> list[Any]:
    """Keep the first asset of each file, and every inline one (it names no file)."""
    seen: set[str] = set()
    kept = []
    for asset in assets:
        name = asset_name(asset)
        if name not in seen or name in ("", "None"):
            kept.append(asset)
        seen.add(name)
    return kept


def live_where_used(assets: list[Any], *, body: str) -> list[Any]:
    """Load what live figures need last and in the order of file names, on their pages only."""
    live = [asset for asset in assets if "_static/live" in asset_name(asset)]
    others = [asset for asset in assets if asset not in live]
    return others + (sorted(live, key=asset_name) if 'id="fig-live-' in body else [])


def whole_book(context: dict[str, Any]) -> None:
    """Offer the printed book beside the page's own downloads, where the pages are hosted."""
    for group in context.get("header_buttons", []):
        if group.get("label") == "download-buttons" and context.get("hosted"):
            group["buttons"].append(
                {
                    "type": "link",
                    "url": context["pathto"]("judging-by-comparison.pdf", 1),
                    "text": "Whole book, .pdf",
                    "icon": "fas fa-book",
                    "tooltip": "Download the whole book",
                    "label": "download-book-button",
                }
            )


def on_page(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Choose the assets of one page before its template is filled in."""
    whole_book(context)
    for key in ("script_files", "css_files"):
        assets = drop_duplicates(context.get(key, []))
        context[key] = live_where_used(assets, body=context.get("body") or "")


def setup(app: Sphinx) -> dict[str, Any]:
    """Run after every other extension has added its assets."""
    app.connect("html-page-context", on_page, priority=900)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
