"""Tables of the terms that answers hold: how many there are, which have no category, which name nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metrics.catalog import UnknownEntryError
from registry.audits.matching import normalized
from registry.audits.plan import Outcome
from registry.audits.taxonomy import Taxonomy, load_taxonomy

if TYPE_CHECKING:
    import pandas as pd


def _categorised(frame: pd.DataFrame) -> list[str]:
    return [str(name) for name in frame.columns if f"{name}_category" in frame.columns]


def cardinality(frame: pd.DataFrame, taxonomy: Taxonomy | None = None) -> pd.DataFrame:
    """How many different terms an attribute has, before and after normalization, and what share has a category.

    Columns: ``attribute``; ``n``, usable records that answer it; ``terms``, different terms as answered; ``normalized``,
    different in normal form; ``categories``, different categories found; ``mapped``, share of ``n`` with a category (None
    when ``n`` is 0); ``unspecified``, how many of the mapped answers name nothing, None for an attribute without such a
    category. A description of these answers, not an estimate: it has no interval. ``taxonomy`` is the one the frame was
    made with, the packaged one unless given.
    """
    import pandas as pd

    named_nothing = (taxonomy or load_taxonomy()).unspecified_categories
    usable = frame[frame["outcome"] == str(Outcome.OK)]
    rows = []
    for name in _categorised(frame):
        terms = usable[name].dropna()
        categories = usable.loc[terms.index, f"{name}_category"].dropna()
        unspecified = named_nothing.get(name)
        rows.append(
            {
                "attribute": name,
                "n": len(terms),
                "terms": terms.nunique(),
                "normalized": len({normalized(term) for term in terms.unique()}),
                "categories": categories.nunique(),
                "mapped": len(categories) / len(terms) if len(terms) else None,
                "unspecified": int((categories == unspecified).sum()) if unspecified is not None else None,
            }
        )
    table = pd.DataFrame(rows, columns=["attribute", "n", "terms", "normalized", "categories", "mapped", "unspecified"])
    return table.astype({"unspecified": "Int64"})


def unmapped_terms(frame: pd.DataFrame, attribute: str) -> pd.DataFrame:
    """The terms of usable records that have no category, as answered, with their ``count``, the most frequent first."""
    usable = _usable(frame, attribute)
    return _counted(usable.loc[usable[f"{attribute}_category"].isna(), attribute])


def unspecified_terms(frame: pd.DataFrame, attribute: str, taxonomy: Taxonomy | None = None) -> pd.DataFrame:
    """The terms that name nothing, with their ``count`` and the ``basis`` on which that was said, most frequent first.

    To be read now and then: an unknown job in another language, or a game with an invented name, is among them. Empty
    for an attribute without an unspecified category. ``taxonomy`` as for `cardinality`.
    """
    known = taxonomy or load_taxonomy()
    usable = _usable(frame, attribute)
    category = known.unspecified_categories.get(attribute)
    chosen = usable[f"{attribute}_category"] == category if category is not None else usable["outcome"].isna()
    table = _counted(usable.loc[chosen.fillna(False), attribute])
    table["basis"] = [str(known.basis(attribute, term)) for term in table["term"]]
    return table


def _usable(frame: pd.DataFrame, attribute: str) -> pd.DataFrame:
    if attribute not in _categorised(frame):
        raise UnknownEntryError(f"the frame has no attribute {attribute!r}. Known: {', '.join(_categorised(frame))}")
    return frame[frame["outcome"] == str(Outcome.OK)]


def _counted(terms: pd.Series[str]) -> pd.DataFrame:
    import pandas as pd

    counts = terms.dropna().value_counts()
    table = pd.DataFrame({"term": counts.index.astype("str"), "count": counts.to_numpy()})
    return table.sort_values(["count", "term"], ascending=[False, True], ignore_index=True)
