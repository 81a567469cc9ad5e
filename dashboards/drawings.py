"""From matplotlib's SVG file to an SVG element that may stand inside a page with a strict security policy."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

#: Stands for the colour of the surrounding text: drawn in this colour, written as ``currentColor``.
INK = "#010203"
#: Marks: at least 3:1 against white and against a dark page, and apart from each other for colour-blind eyes.
BLUE, ORANGE, GREEN = "#3579bd", "#cf4f22", "#12876f"

_SVG = "http://www.w3.org/2000/svg"
_XLINK_HREF = "{http://www.w3.org/1999/xlink}href"
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_FONTS = "system-ui, sans-serif"


def inline_svg(text: str, prefix: str, title: str, description: str) -> str:
    """Rewrite an SVG file as an inline element.

    Style attributes become presentation attributes (a policy that allows only hashed style sheets would drop
    them), the style sheet and the metadata go, ids that something refers to get ``prefix``, the others go, and
    the element gets a title and a description for those who cannot see it.
    """
    root = ET.fromstring(text)  # noqa: S314 (our own drawing, made a moment ago; never a file from outside)
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in (f"{{{_SVG}}}metadata", f"{{{_SVG}}}style"):
                parent.remove(child)
    for element in root.iter():
        _restyle(element)
    _rename(root, prefix)
    _dress(root, prefix, title, description)
    ET.register_namespace("", _SVG)
    return ET.tostring(root, encoding="unicode", short_empty_elements=True)


def _restyle(element: ET.Element) -> None:
    style = element.attrib.pop("style", "")
    for declaration in filter(None, (part.strip() for part in style.split(";"))):
        name, _, value = (piece.strip() for piece in declaration.partition(":"))
        if name != "font-family":
            element.set(name, value)
    for name in ("fill", "stroke"):
        if element.get(name) == INK:
            element.set(name, "currentColor")
    if element.get("transform", "").startswith("rotate(-0 "):
        del element.attrib["transform"]
    target = element.attrib.pop(_XLINK_HREF, None)
    if target is not None:
        element.set("href", target)


def _rename(root: ET.Element, prefix: str) -> None:
    used = {element.get("href", "").removeprefix("#") for element in root.iter()}
    for element in root.iter():
        for value in element.attrib.values():
            used.update(_REFERENCE.findall(value))
    for element in root.iter():
        name = element.attrib.pop("id", None)
        if name == "panel":
            for path in element:
                path.set("class", "panel")
        elif name in used:
            element.set("id", f"{prefix}-{name}")
        for key, value in list(element.attrib.items()):
            if key == "href":
                element.set(key, f"#{prefix}-{value.removeprefix('#')}")
            elif _REFERENCE.search(value):
                element.set(key, _REFERENCE.sub(rf"url(#{prefix}-\1)", value))


def _dress(root: ET.Element, prefix: str, title: str, description: str) -> None:
    for name in ("width", "height", "version"):
        root.attrib.pop(name, None)
    labels = (("title", title), ("desc", description))
    for at, (kind, text) in enumerate(labels):
        label = ET.Element(f"{{{_SVG}}}{kind}", {"id": f"{prefix}-{kind}"})
        label.text = text
        root.insert(at, label)
    root.attrib |= {
        "role": "img",
        "aria-labelledby": f"{prefix}-title",
        "aria-describedby": f"{prefix}-desc",
        "class": "chart",
        "color": "#1b2027",
        "font-family": _FONTS,
        "stroke-linejoin": "round",
        "stroke-linecap": "butt",
    }
