"""Text as HTML holds it, whatever it came from."""

from markupsafe import Markup, escape

MAX_WHOLE = 14  # characters of a name that never breaks
MAX_SHOWN = 300  # characters of a value from a run; the JSON has it whole


def text(value):
    """Escape text; characters that HTML cannot hold are shown as their pictures."""
    return escape("".join(map(_visible, str(value))))


def _visible(character):
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)  # the control pictures of Unicode
    if 0x7F <= code <= 0x9F or code in (0xFFFE, 0xFFFF) or 0xD800 <= code <= 0xDFFF:
        return "�"
    return character


def shown(value):
    """Escape text from a run, cut where it is very long."""
    value = str(value)
    return text(value if len(value) <= MAX_SHOWN else f"{value[: MAX_SHOWN - 1]}…")


def breakable(escaped):
    """Let long paths and names break after their separators; short ones stay whole."""
    if len(escaped) <= MAX_WHOLE:
        return escaped
    return Markup(escaped.replace(Markup("/"), Markup("/<wbr>")).replace(Markup("_"), Markup("_<wbr>")))
