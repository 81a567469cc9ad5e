"""The audit protocols, one module each; `PROTOCOLS` is their catalog."""

from __future__ import annotations

from metrics.catalog import Catalog

PROTOCOLS: Catalog = Catalog("audit protocol", group="spiritlevel.protocols")
