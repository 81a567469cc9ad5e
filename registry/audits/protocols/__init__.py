"""The audit protocols, one module each; `PROTOCOLS` is their catalog."""

from __future__ import annotations

from typing import Any

from metrics.catalog import Catalog

PROTOCOLS: Catalog[type[Any]] = Catalog("audit protocol", group="spiritlevel.protocols")
