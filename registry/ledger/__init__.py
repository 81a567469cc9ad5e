"""The ledger: the only SQL of the project, and the truth that MLflow and the cards are published from."""
