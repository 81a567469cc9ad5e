"""The outside world: chat models, MLflow tracking, Prefect, alerts and the command line."""
