"""Making an evidence pack of a release: `spiritlevel evidence`."""

from __future__ import annotations

import importlib.metadata
import platform
import re
from collections.abc import Sequence
from pathlib import Path

from flows.packs.contents import Packed, pack_audit
from flows.packs.manifest import Manifest
from flows.packs.readme import readme
from flows.packs.writing import finish, staged
from flows.scoring import finished
from flows.staging import file_name, refuse_place
from flows.workspace import Workspace
from metrics.errors import BadInputError
from registry.ledger.values import Audit
from registry.releases import ModelRelease


def folder_for(release: ModelRelease) -> Path:
    """Where a pack is put when nobody says: a folder here, whatever the family is called.

    >>> str(folder_for(ModelRelease(family="nova", version=3, model="n")))
    'evidence-nova-3'
    """
    return Path(f"evidence-{file_name(release.family)}-{release.version}")


def make_pack(
    workspace: Workspace, release: ModelRelease, folder: Path, *, protocol: str | None = None, raw: bool = True
) -> Manifest:
    """Write everything about the newest finished audit of each protocol of a release into a new folder.

    Parameters
    ----------
    protocol : only this one; raw : with the answers, else with their hashes only

    Raises
    ------
    BadInputError : there is no finished audit, or the folder cannot be made or is not empty
    """
    refuse_place(folder, "folder")
    audits = _audits(workspace, release, protocol)
    product = importlib.metadata.version("spiritlevel")
    with staged(folder) as writer:
        packed = [pack_audit(workspace, audit, writer, raw=raw) for audit in audits]
        writer.json("versions.json", _versions(packed, product))
        writer.text("README.txt", readme(release, packed, raw=raw))
        made_at = workspace.ledger.clock()
        return finish(writer, release=release.uri, made_at=made_at, product=product, raw=raw)


def _audits(workspace: Workspace, release: ModelRelease, protocol: str | None) -> list[Audit]:
    wanted = [protocol] if protocol is not None else workspace.ledger.protocols(release.family, {release.version})
    for name in wanted:
        workspace.protocol(
            name
        )  # an unknown name is answered with the nearest; nothing is left out for want of a plug-in
    where = {"family": release.family, "version": release.version}
    found = [audits[-1] for name in sorted(wanted) if (audits := finished(workspace, **where, protocol=name))]
    if not found:
        asked = protocol or "NAME"
        raise BadInputError(
            f"{release.uri} has no finished {f'{protocol} ' if protocol else ''}audit that could be evidence; run "
            f"'spiritlevel audit {release.uri} --protocol {asked}'"
        )
    return found


def _versions(packed: Sequence[Packed], product: str) -> dict[str, object]:
    """With what the numbers were made: the product, the libraries that it asks for, and what each protocol's scores go by."""
    protocols = {
        one.audit.protocol: {
            "collection_key": one.audit.plan.collection_key,
            "scoring_version": one.audit.scoring_version,
            "scoring_parts": dict(one.scoring_parts),
            "policy": dict(one.policy),
        }
        for one in packed
    }
    return {
        "product": product,
        "python": platform.python_version(),
        "libraries": libraries(),
        "protocols": protocols,
    }


def libraries() -> dict[str, str]:
    """Versions of the libraries that the product asks for, as they are installed here."""
    wanted = [one for one in importlib.metadata.requires("spiritlevel") or () if "extra ==" not in one]
    names = sorted({found[0] for one in wanted if (found := re.match(r"[A-Za-z0-9._-]+", one))})
    return {name: importlib.metadata.version(name) for name in names}
