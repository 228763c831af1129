"""Makes docs/gallery.md, its pictures and docs/misprints.md: python -m docs.make_gallery."""

from crawltwin.pages.files import write_files
from crawltwin.pages.gallery import gallery_files
from validate.paper import reproduce

if __name__ == "__main__":
    write_files(gallery_files(reproduce()), "docs")
