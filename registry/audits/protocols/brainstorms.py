"""The brainstorms that ask for something else than the paper's, each a protocol of its own: one TOML file makes one."""

from __future__ import annotations

from registry.audits.brainstorm import PAPER, Brainstorm, brainstorm_names, load_brainstorm
from registry.audits.protocols import PROTOCOLS
from registry.audits.protocols.persona_brainstorm import PersonaBrainstorm


def protocol_of(asks: Brainstorm) -> type[PersonaBrainstorm]:
    """The protocol class of a brainstorm.

    >>> protocol_of(load_brainstorm("persona-brainstorm")).__name__
    'PersonaBrainstorm'
    """
    title = "".join(word.capitalize() for word in asks.name.split("-"))
    own = {"name": asks.name, "version": asks.version, "title": asks.title, "asks": asks, "__doc__": f"{asks.title}."}
    return type(title, (PersonaBrainstorm,), own)


for _name in brainstorm_names():
    if _name != PAPER:
        PROTOCOLS.register(_name)(protocol_of(load_brainstorm(_name)))
