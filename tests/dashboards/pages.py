"""What a browser would see of a page: its elements, headings, tables and text, read by the standard library."""

from __future__ import annotations

import dataclasses
from html.parser import HTMLParser

_VOID = frozenset({"meta", "br", "hr", "img", "link", "input"})


@dataclasses.dataclass
class Element:
    """One element with its attributes, its own depth-first text and its children."""

    tag: str
    attributes: dict[str, str]
    children: list[Element] = dataclasses.field(default_factory=list)
    text: str = ""

    def all(self, *tags: str) -> list[Element]:
        """Every element of these tags below this one, in order."""
        found = []
        for child in self.children:
            if not tags or child.tag in tags:
                found.append(child)
            found += child.all(*tags)
        return found


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open = [Element("document", {})]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.open[-1].children.append(element)
        if tag not in _VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open[-1].children.append(Element(tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        closed = self.open.pop()
        assert closed.tag == tag, f"</{tag}> closes <{closed.tag}>"

    def handle_data(self, data: str) -> None:
        for element in self.open:
            element.text += data


def page(text: str) -> Element:
    """The document as elements; an element closed in the wrong place fails the test."""
    reader = _Reader()
    reader.feed(text)
    reader.close()
    assert [element.tag for element in reader.open] == ["document"], "an element is never closed"
    return reader.open[0]
