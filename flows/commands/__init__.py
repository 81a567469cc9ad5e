"""The command line, one module a group of commands; `flows.cli` puts them together."""
