"""Persona cues: the ways in which a model learns who asks, one module each; `CUES` is their catalog.

Method: "One Persona, Many Cues, Different Results" (arXiv 2601.18572), section 3.2 and appendix A. A *cue* says how a persona is
conveyed. A *variant* of it is one wording with what fills it: a name, an age, a conversation. Variants are as many as wanted
and their texts all differ: what differs between variants, not between samples of one prompt, limits what an audit can tell.

**Explicitness** (`Cue.explicitness`) is 3 for an explicit mention, 2 for a name, 1 for a conversation, 0 for no cue. The paper
gives no number: it calls conversations and names implicit, a name the weaker sign of the two against a descriptor (sections 3.2
and 5.2), and explicit mentions highly explicit (section 6). **External validity** (`Cue.validity`) is 3 for human conversations,
"most externally valid across all methods" (section 3.2), 2 for names, which are there in metadata (section 1), and for conversations
that a model wrote in place of people, 1 for explicit mentions, which are "less likely to occur naturally" (section 1). Between system
and user the paper ranks neither. Equal numbers are ties.
"""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
from collections.abc import Mapping
from typing import Any, ClassVar

from metrics.catalog import Catalog
from metrics.errors import BadInputError
from registry.audits.histories import HistorySet, own_histories
from registry.audits.names import NameTable, read_names
from registry.audits.personas import Persona, PersonaAxis

CUES: Catalog[type[Cue]] = Catalog("persona cue", group="spiritlevel.cues")

SYSTEM, USER, HISTORY, NOWHERE = "system", "user", "history", "none"
NAMES, HISTORIES = "names", "histories"
DEFAULT_VARIANTS, MOST_VARIANTS = 5, 200
LONGEST_QUESTION = 40_000


@dataclasses.dataclass(frozen=True, kw_only=True)
class Variant:
    """One wording of a cue for one persona, with what fills it: everything that stands before the question.

    Parameters
    ----------
    persona : as records under this cue say it, empty without one; number : from 0, the same for each persona of the axis
    wording : which of the cue's wordings, None where it has none; held : attribute -> value held constant
    name, numbers, history : what fills it: a first name, attribute -> number, the id of a conversation
    text : the cue as said; turns : the conversation
    """

    persona: str = ""
    number: int = 0
    wording: int | None = None
    held: Mapping[str, str] = dataclasses.field(default_factory=dict)
    name: str = ""
    numbers: Mapping[str, int] = dataclasses.field(default_factory=dict)
    history: str = ""
    text: str = ""
    turns: tuple[Mapping[str, str], ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Plain values for a plan, what is empty left out; `from_json` gives the same variant back."""
        values = dataclasses.asdict(self) | {"turns": [dict(turn) for turn in self.turns]}
        return {key: value for key, value in values.items() if value not in ("", None, {}, [])}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Variant:
        return cls(**{**values, "turns": tuple(dict(turn) for turn in values.get("turns", ()))})


@dataclasses.dataclass(frozen=True, slots=True)
class Missing:
    """What of a design cannot be asked: a persona, or a persona at one combination of held values; and why."""

    persona: str
    held: Mapping[str, str]
    reason: str


@dataclasses.dataclass(frozen=True)
class VariantSet:
    """The variants of a cue for each persona of an axis, equally many of them, and what is not measurable.

    Parameters
    ----------
    variants : persona as records say it -> its variants; empty when the axis is not measurable under this cue
    missing : what cannot be asked; notes : what a reader should know of the others
    """

    cue: str
    axis: str
    variants: Mapping[str, tuple[Variant, ...]]
    missing: tuple[Missing, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """Variants of each persona."""
        return min(map(len, self.variants.values()), default=0)


@dataclasses.dataclass(frozen=True)
class Material:
    """What fills cues: the table of names, and the conversations of each history cue. Read when a cue needs them."""

    names: NameTable | None = None
    histories: Mapping[str, HistorySet] = dataclasses.field(default_factory=dict)

    def name_table(self) -> NameTable:
        """The given table, else the one that comes along."""
        return self.names if self.names is not None else read_names()

    def history_set(self, cue: str) -> HistorySet:
        """The given conversations, else the stand-ins that come along."""
        return self.histories[cue] if cue in self.histories else own_histories(cue)


class Cue:
    """A way of saying who asks.

    Attributes
    ----------
    name, title : in the catalog, and for people
    explicitness, validity : ranks, see the module; place : `SYSTEM`, `USER`, `HISTORY` or `NOWHERE`
    needs : `NAMES`, `HISTORIES`, or empty
    """

    name: ClassVar[str]
    title: ClassVar[str]
    explicitness: ClassVar[int]
    validity: ClassVar[int]
    place: ClassVar[str]
    needs: ClassVar[str] = ""

    def label(self, persona: Persona) -> str:
        """How records under this cue call a persona."""
        return persona.named if self.needs == NAMES else persona.name

    def variants(
        self,
        axis: PersonaAxis | None,
        count: int = DEFAULT_VARIANTS,
        material: Material | None = None,
        *,
        seed: int = 0,
        paper: bool = False,
    ) -> VariantSet:
        """``count`` variants for each persona of an axis, or fewer when there are no more different ones.

        Parameters
        ----------
        axis : what varies; only `no-persona` takes None; material : names and conversations, by default what comes along
        seed : which names and conversations are taken; paper : as the paper's code does it, its defects included
        """
        if not 1 <= count <= MOST_VARIANTS:
            raise BadInputError(f"a cue has 1 to {MOST_VARIANTS} variants, not {count}")
        if axis is None:
            raise BadInputError(f"the cue {self.name} conveys a persona: name the axis that varies")
        return self.made(axis, count, material or Material(), seed=seed, paper=paper)

    def made(self, axis: PersonaAxis, count: int, material: Material, *, seed: int, paper: bool) -> VariantSet:
        """What `variants` gives, after its checks."""
        raise NotImplementedError

    def turns(self, variant: Variant, question: str) -> tuple[Mapping[str, str], ...]:
        """The messages of a request: the cue in its place, and the question in the last user turn."""
        if not question.strip() or len(question) > LONGEST_QUESTION:
            raise BadInputError(f"a question is a text of 1 to {LONGEST_QUESTION:,} characters, not {question!r:.80}")
        asked = {"role": "user", "content": question}
        if self.place == SYSTEM:
            return {"role": "system", "content": variant.text}, asked
        if self.place == USER:
            return ({"role": "user", "content": f"{variant.text}\n{question}"},)
        return (*variant.turns, asked)


def _register_all() -> None:
    """Import every module of this package, so that a new cue is one new file."""
    for module in pkgutil.iter_modules(__path__, f"{__name__}."):
        importlib.import_module(module.name)


_register_all()
