"""Read only: model cards, charts and pages rendered from the ledger. Nothing is computed here."""
