"""Where a phone finds the live figure of a slide: its address on the book's site, and as a QR code.

Without a site (JBC_REPOSITORY, see `hosted.site`) a slide has neither; its figure is alive there.
"""

from __future__ import annotations

import re

import segno

from book.tools.slides import LIVE

FIGURE = re.compile(rf'<figure id="({LIVE}[\w-]+)"')


def addressed(parts: list[str], *, page: str, site: str | None) -> list[str]:
    """Add the address of the live figure that parts of a slide hold, if the book has a site."""
    live = FIGURE.search("".join(parts))
    if not (live and site):
        return parts
    address = f"{site}/{page}.html#{live[1]}"
    code = segno.make(address, micro=False).svg_inline(border=4, light="#fff", omitsize=True)
    return [
        *parts,
        f'<a class="qr" href="{address}" aria-label="This figure in the book">{code}</a>',
        f'<p class="address"><a href="{address}">{address.partition("://")[2]}</a></p>',
    ]
