"""Pure: what an audit asks, and how its answers are read. No clock, network, SQL, MLflow or Prefect here."""
