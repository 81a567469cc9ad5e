"""What is registered: audits (what is asked and how answers are read), releases, and the ledger of results."""
