-- One database with an owner of its own for each part: the ledger, MLflow, Prefect. Run once, by psql, as a superuser; the
-- passwords are read from files. PostgreSQL's image runs it when its volume is empty.
\set ON_ERROR_STOP on
\set ledger_password `cat "${SECRETS:-/run/secrets}/ledger_password"`
\set mlflow_password `cat "${SECRETS:-/run/secrets}/mlflow_password"`
\set prefect_password `cat "${SECRETS:-/run/secrets}/prefect_password"`

CREATE ROLE ledger LOGIN PASSWORD :'ledger_password';
CREATE ROLE mlflow LOGIN PASSWORD :'mlflow_password';
CREATE ROLE prefect LOGIN PASSWORD :'prefect_password';

CREATE DATABASE ledger OWNER ledger;
CREATE DATABASE mlflow OWNER mlflow;
CREATE DATABASE prefect OWNER prefect;

REVOKE CONNECT, TEMPORARY ON DATABASE ledger, mlflow, prefect FROM PUBLIC;
