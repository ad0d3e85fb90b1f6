"""The moving picture of the README, from the figures of the built book: ``python -m tools.once.moving_picture``.

A sentence is asked when, where and who; then a head of a small Transformer is steered. Six seconds, round and round.
"""

import io
from pathlib import Path

from PIL import Image

from tools.chromium import chromium

ROOT = Path(__file__).parents[2]
BOOK = ROOT / "_build" / "html" / "book"
TARGET = ROOT / "book" / "_static" / "attention.gif"
SIZE = (760, 330)
MILLISECONDS = 1000
SHOTS = [  # a page, its figure, the control's state, and what is written above it
    ("index", "#ask", "when", "Ask a sentence when …"),
    ("index", "#ask", "where", "… where …"),
    ("index", "#ask", "who", "… and who."),
    ("12-induction", "#steer", "1", "A head looks one token back: the model says the next one."),
    ("12-induction", "#steer", "2", "Make it look two back …"),
    ("12-induction", "#steer", "3", "… or three, and the model says another token."),
]
SET = """(el, [state, words]) => {
    const control = el.querySelector('.controls :is(input, select)');
    const choice = [...(control.options ?? [])].find((option) => option.text === state);
    control.value = choice ? choice.value : state;
    for (const kind of ['input', 'change']) control.dispatchEvent(new Event(kind, {bubbles: true}));
    el.querySelector('.head').textContent = words;
    el.querySelectorAll('.tools, .prediction, .hint, .panels > :nth-child(2)').forEach((part) => part.remove());
}"""


def shots() -> list[Image.Image]:
    """Each state as a picture, on white, in the middle of one size."""
    pictures = []
    with chromium() as browser:
        page = browser.new_page(viewport={"width": SIZE[0] + 120, "height": 1000}, color_scheme="light")
        for name, figure, state, words in SHOTS:
            page.goto(f"{(BOOK / name).as_uri()}.html")
            explorer = page.locator(figure)
            for skip in explorer.get_by_role("button", name="just show me").all():
                skip.click()
                page.wait_for_timeout(2000)  # until the truth has grown
            explorer.evaluate(SET, [state, words])
            page.wait_for_timeout(1000)
            pictures.append(_fitted(Image.open(io.BytesIO(explorer.screenshot()))))
    return pictures


def _fitted(picture: Image.Image) -> Image.Image:
    picture.thumbnail((SIZE[0] - 40, SIZE[1] - 30))
    sheet = Image.new("RGB", SIZE, "white")
    sheet.paste(picture, ((SIZE[0] - picture.width) // 2, (SIZE[1] - picture.height) // 2))
    return sheet


def write(target: Path = TARGET) -> None:
    """Write the pictures as one file, with one palette."""
    first, *others = [picture.quantize(64) for picture in shots()]
    first.save(target, save_all=True, append_images=others, duration=MILLISECONDS, loop=0, optimize=True)


if __name__ == "__main__":
    write()
    print(f"{TARGET}: {TARGET.stat().st_size // 1000} kB")
