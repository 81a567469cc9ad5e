"""Guards for the bare package names and for what may be in the tree."""

from __future__ import annotations

import importlib.metadata
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("flows", "dashboards", "registry", "metrics")


def python_files():
    for package in PACKAGES:
        yield from (ROOT / package).rglob("*.py")


def test_every_test_folder_is_a_package():
    """Else a folder such as tests/metrics would be imported as the package metrics."""
    folders = {path.parent for path in (ROOT / "tests").rglob("*.py")}
    assert [str(folder) for folder in sorted(folders) if not (folder / "__init__.py").exists()] == []


def test_no_module_has_the_name_of_an_installed_or_standard_one():
    """Prefect may put flows/ first on the path; flows/mlflow.py would then shadow mlflow."""
    installed = set(importlib.metadata.packages_distributions()) - set(PACKAGES)
    taken = installed | set(sys.stdlib_module_names)
    own = {path.stem for path in python_files()} - {"__init__"}
    # Alembic names its entry file itself, and only ever loads it by path.
    assert own & taken - {"env"} == set()


def test_docker_is_a_folder_without_python():
    """An __init__.py there would shadow the docker client that Prefect imports."""
    assert list((ROOT / "docker").rglob("*.py")) == []


def test_no_other_distribution_ships_our_packages():
    providers = importlib.metadata.packages_distributions()
    assert {name: set(providers.get(name, ["spiritlevel"])) for name in PACKAGES} == {
        name: {"spiritlevel"} for name in PACKAGES
    }


def test_imports_are_absolute():
    relative = re.compile(r"^\s*from \.", re.MULTILINE)
    assert [str(path) for path in python_files() if relative.search(path.read_text(encoding="utf-8"))] == []


def test_modules_stay_small():
    sizes = {str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines()) for path in python_files()}
    assert {name: size for name, size in sizes.items() if size > 450} == {}


def test_lock_files_stay_out_of_the_tree():
    """They name the hosts of whatever index they were made with."""
    assert "uv.lock" in (ROOT / ".gitignore").read_text(encoding="utf-8").split()
