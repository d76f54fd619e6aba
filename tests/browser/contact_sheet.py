"""Every page at two widths, light and dark, on one sheet: `python -m tests.browser.contact_sheet`.

Words choose pages: `... contact_sheet results 15`. The sheet is _build/contact-sheet.png.
"""

from __future__ import annotations

import sys
from io import BytesIO

from PIL import Image, ImageDraw
from playwright.sync_api import sync_playwright

from book.tools.browser import FLAGS, find_chromium
from tests.browser.conftest import HTML

LOOKS = [(1280, 1600, "light"), (1280, 1600, "dark"), (390, 1600, "light"), (390, 1600, "dark")]
SCALE = 0.25
ABREAST = 3  # pages beside each other
GAP = 12


def main(words: list[str]) -> None:
    """Open the pages, and paste their tops onto the sheet."""
    pages = sorted(HTML.glob("*.html"))
    pages = [path for path in pages if not words or any(word in path.name for word in words)]
    width = sum(int(w * SCALE) + GAP for w, _, _ in LOOKS) + 2 * GAP
    height = int(max(h for _, h, _ in LOOKS) * SCALE) + 3 * GAP
    rows = -(-len(pages) // ABREAST)
    sheet = Image.new("RGB", (ABREAST * width, rows * height), "#888888")
    pen = ImageDraw.Draw(sheet)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=list(FLAGS))
        tabs = [
            browser.new_page(viewport={"width": w, "height": h}, color_scheme=scheme)
            for w, h, scheme in LOOKS
        ]
        for at, path in enumerate(pages):
            x, y = at % ABREAST * width + GAP, at // ABREAST * height + 2 * GAP
            pen.text((x, y - GAP), path.stem, fill="white")
            for tab, (w, h, _) in zip(tabs, LOOKS, strict=True):
                tab.goto(path.as_uri(), wait_until="load")
                shot = Image.open(BytesIO(tab.screenshot()))
                sheet.paste(shot.resize((int(w * SCALE), int(h * SCALE))), (x, y))
                x += int(w * SCALE) + GAP
        browser.close()
    output = HTML.parent / "contact-sheet.png"
    sheet.save(output)
    print(output)


if __name__ == "__main__":
    main(sys.argv[1:])
