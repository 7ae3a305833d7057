"""Take the pictures of the demo page that the README shows, in light and dark.

python tests/bench/pictures.py      # -> reports/demo-sweep/page.png and page-dark.png
"""

import shutil
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

FOLDER = Path(__file__).parents[2] / "reports/demo-sweep"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
SIZE = {"width": 1280, "height": 1000}
N_COLOURS = 128  # enough for flat colours and the edges of letters, at a third of the weight


def main():
    """Open the committed page in both themes, and keep its first screen."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        for scheme, name in (("light", "page.png"), ("dark", "page-dark.png")):
            page = browser.new_page(viewport=SIZE, color_scheme=scheme)
            page.goto((FOLDER / "profiling.html").as_uri())
            page.screenshot(path=FOLDER / name)
            picture = Image.open(FOLDER / name).convert("RGB").quantize(N_COLOURS)
            picture.save(FOLDER / name, optimize=True)
        browser.close()


if __name__ == "__main__":
    main()
