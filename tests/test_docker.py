"""The container files, as far as they can be checked without an engine: the schema of Compose, and rules of security."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tomllib
from importlib.metadata import version
from pathlib import Path

import jsonschema
import psycopg
import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from flows.redaction import looks_like_key

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docker"
COMPOSE = yaml.safe_load((FOLDER / "compose.yaml").read_text(encoding="utf-8"))
SERVICES = COMPOSE["services"]
SECRETS = ("postgres_password", "ledger_password", "mlflow_password", "prefect_password", "prefect_auth")
INSTRUCTION = re.compile(r"^([A-Z]+)\s+(.*?)(?<!\\)$", re.MULTILINE | re.DOTALL)


def instructions():
    """Each instruction of the Dockerfile with its arguments on one line."""
    text = re.sub(r"^#.*\n", "", (FOLDER / "Dockerfile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    return [(name, re.sub(r"\\\n\s*", " ", rest)) for name, rest in INSTRUCTION.findall(text)]


def argument(name):
    return [rest for found, rest in instructions() if found == name]


# ---------------------------------------------------------------- compose.yaml


def test_the_compose_file_is_valid_by_the_specification():
    schema = json.loads((ROOT / "tests" / "oracles" / "compose-spec.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema).validate(COMPOSE)
    with pytest.raises(jsonschema.ValidationError):  # the schema does refuse
        jsonschema.Draft202012Validator(schema).validate(COMPOSE | {"services": {"x": {"imagee": "y"}}})


def test_the_parts_of_the_service_are_there():
    assert set(SERVICES) == {"db", "mlflow", "prefect", "service", "worker"}
    assert SERVICES["service"]["command"] == ["spiritlevel", "serve"]
    assert SERVICES["worker"]["command"][:7] == [
        "prefect",
        "worker",
        "start",
        "--pool",
        "spiritlevel",
        "--type",
        "process",
    ]
    assert SERVICES["worker"]["deploy"]["replicas"] == 2


@pytest.mark.parametrize("name", SERVICES)
def test_every_container_has_little_to_lose(name):
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in service["security_opt"]
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", service["user"])
    assert any(place.startswith("/tmp") for place in service["tmpfs"])
    assert not service.keys() & {"privileged", "cap_add", "network_mode", "pid", "ipc", "devices"}


@pytest.mark.parametrize("name", SERVICES)
def test_every_container_is_looked_after(name):
    service = SERVICES[name]
    assert service["healthcheck"]["test"][0] == "CMD"
    assert service["restart"] == "unless-stopped"
    for needed, how in service.get("depends_on", {}).items():
        assert how == {"condition": "service_healthy"}
        assert "healthcheck" in SERVICES[needed]


@pytest.mark.parametrize("name", SERVICES)
def test_every_image_is_pinned_to_a_version(name):
    image = SERVICES[name]["image"]
    assert re.fullmatch(r"[\w./-]+:\d+\.\d+[\w.-]*", image)
    if image.startswith("spiritlevel:"):
        assert image == f"spiritlevel:{version('spiritlevel')}"
        assert SERVICES[name]["pull_policy"] in ("never", "build")


def test_no_port_is_published_beyond_loopback():
    ports = [port for service in SERVICES.values() for port in service.get("ports", ())]
    assert len(ports) == 3
    assert [port for port in ports if not re.fullmatch(r"127\.0\.0\.1:\$\{\w+:-\d+\}:\d+", port)] == []
    assert "ports" not in SERVICES["db"]
    assert COMPOSE["networks"]["store"]["internal"] is True
    assert SERVICES["db"]["networks"] == ["store"]


def test_secrets_are_files_and_those_alone_who_need_one_get_it():
    for secret in COMPOSE["secrets"].values():
        assert secret.keys() == {"file"}
    used = {secret for service in SERVICES.values() for secret in service["secrets"]}
    assert used == set(COMPOSE["secrets"])
    assert "postgres_password" in SERVICES["db"]["secrets"]
    assert all("postgres_password" not in SERVICES[name]["secrets"] for name in SERVICES if name != "db")
    for service in SERVICES.values():
        files = [value for name, value in service["environment"].items() if name.endswith("_FILE")]
        given = {Path(file).name for file in files if file.startswith("/run/secrets/")}
        assert given <= set(service["secrets"])


def all_files():
    return [path for path in FOLDER.iterdir() if path.is_file()]


@pytest.mark.parametrize("path", all_files(), ids=lambda path: path.name)
def test_no_file_holds_a_secret(path):
    text = path.read_text(encoding="utf-8")
    assert not looks_like_key(text)
    for name, value in re.findall(
        r"(?im)^\s*-?\s*\"?([\w.-]*(?:password|secret|token|key|auth_string))\"?\s*[:=]\s*(\S+)", text
    ):
        assert re.match(r"/run/secrets/|\{file:", value) or "\\set" in text, f"{name} in {path.name}"


def test_what_is_private_stays_out_of_git_and_of_the_image():
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").split()
    assert {"docker/.env", "docker/secrets/", "docker/service.yaml"} <= set(ignored)
    lines = [
        line for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines() if line[:1] not in ("#", "")
    ]
    assert lines[0] == "*"
    allowed = {line[1:] for line in lines if line.startswith("!")}
    copied = {
        source
        for rest in argument("COPY")
        if "--from" not in rest
        for source in rest.split()[:-1]
        if source[:2] != "--"
    }
    assert allowed == copied
    assert all((ROOT / source).exists() for source in copied)


# ---------------------------------------------------------------- the variables


def prefect_names():
    from prefect.settings import Settings
    from prefect.settings.legacy import _get_settings_fields

    return set(_get_settings_fields(Settings))


def known_names():
    """Variables that a program of the stack reads: of spiritlevel, MLflow, Prefect, libpq and PostgreSQL's image."""
    from mlflow import environment_variables as mlflow

    ours = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "flows").rglob("*.py"))
    names = set(re.findall(r"\bSPIRITLEVEL_[A-Z_]+\b", ours))
    names |= {value.name for value in vars(mlflow).values() if isinstance(value, mlflow._EnvironmentVariable)}
    names |= {option.envvar.decode() for option in psycopg.pq.Conninfo.get_defaults() if option.envvar}
    names |= prefect_names() | {"MLFLOW_BACKEND_STORE_URI", "POSTGRES_PASSWORD_FILE", "DO_NOT_TRACK"}
    # Of the command line of `mlflow server`, by its own declaration.
    return names | {f"{name}_FILE" for name in (*exported(), "SPIRITLEVEL_WEBHOOK_SECRET", "OPENAI_API_KEY")}


def exported():
    """The variables that with-secrets fills from files."""
    return (
        re.search(r"for name in (.*?); do", (FOLDER / "with-secrets").read_text(), re.DOTALL)[1]
        .replace("\\\n", "")
        .split()
    )


@pytest.mark.parametrize("name", SERVICES)
def test_every_variable_of_a_container_is_one_that_its_program_reads(name):
    assert set(SERVICES[name]["environment"]) - known_names() == set()


def test_what_with_secrets_fills_is_read_too():
    assert set(exported()) - known_names() == set()


def test_every_variable_of_the_example_is_used_by_the_compose_file_and_every_one_it_uses_is_there():
    text = (FOLDER / "compose.yaml").read_text(encoding="utf-8")
    example = dict(re.findall(r"(?m)^([A-Z_]+)=(.*)$", (FOLDER / ".env.example").read_text(encoding="utf-8")))
    used = dict(re.findall(r"\$\{([A-Z_]+):-([^}]*)\}", text))
    assert example == used  # the same defaults, too


def test_the_options_of_mlflows_server_are_its_own():
    """By the text of its command line: importing that takes seconds."""
    import mlflow

    folder = Path(mlflow.__file__).parent
    text = (folder / "cli" / "__init__.py").read_text(encoding="utf-8")
    text += (folder / "utils" / "cli_args.py").read_text(encoding="utf-8")
    wanted = {part.split("=")[0] for part in SERVICES["mlflow"]["command"][2:]}
    assert {option for option in wanted if f'"{option}"' not in text} == set()


def test_the_example_of_the_service_is_a_configuration():
    from flows.service_settings import service_settings

    settings = service_settings(FOLDER / "service.example.yaml")
    assert settings.service.host == "0.0.0.0"  # inside its container
    assert settings.service.port == 8321


# ---------------------------------------------------------------- the Dockerfile


def test_the_image_runs_as_nobody_in_particular():
    last = [name for name, _ in instructions()][::-1].index("FROM")
    final = instructions()[-last - 1 :]
    users = [rest for name, rest in final if name == "USER"]
    assert users == ["10001:10001"]
    after = final[[name for name, _ in final].index("USER") :]
    assert not {"RUN", "COPY", "ADD"} & {name for name, _ in after}
    assert ("VOLUME", "/data") in final


def test_the_image_is_built_from_what_is_pinned_and_from_the_build_context_alone():
    assert argument("ADD") == []
    assert argument("ARG")[0].startswith("PYTHON=python:3.12.")
    assert {rest.split()[0] for rest in argument("FROM")} == {"${PYTHON}"}
    text = " ".join(argument("RUN"))
    assert not re.search(r"curl|wget|https?://|latest|sudo", text)
    installs = re.findall(r"pip install (.*?)(?:&&|$)", " && ".join(argument("RUN")))
    by_list = [words for words in installs if "--require-hashes -r docker/" in words]
    assert len(installs) == len(by_list) + 1  # the rest is what was built here, without its dependencies
    assert [words for words in installs if words not in by_list and "--no-deps dist/*.whl" not in words] == []
    assert not re.search(r"uv (?:sync|run|build)|pip wheel", text)  # which resolve, or fetch what builds
    assert len(argument("FROM")) == 2  # neither uv nor its cache is in the image that runs
    assert any("UV_COMPILE_BYTECODE=1" in rest for rest in argument("ENV"))


def listed(name):
    """Packages of a list by name: their versions (of which markers choose one) and hashes."""
    found = {}
    for line in re.sub(r" \\\n\s*", " ", (FOLDER / name).read_text(encoding="utf-8")).splitlines():
        words, *hashes = line.split(" --hash=")
        requirement = Requirement(words)
        [pin] = requirement.specifier
        assert pin.operator == "=="
        assert hashes
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", digest.strip()) for digest in hashes), line
        found.setdefault(canonicalize_name(requirement.name), []).append((pin.version, requirement.marker))
    return found


def unmet(requirements, packages, extra=""):
    wanted = [Requirement(text) for text in requirements]
    return [
        str(one)
        for one in wanted
        if (one.marker is None or one.marker.evaluate({"extra": extra}))
        and not all(
            one.specifier.contains(pin) for pin, _ in packages.get(canonicalize_name(one.name), [("0.dev0", None)])
        )
    ]


def test_what_is_installed_into_the_image_is_what_the_project_asks_for():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    plain, demo, build = (listed(f"{name}.txt") for name in ("requirements", "requirements-demo", "build-requirements"))
    asked = project["project"]["dependencies"] + project["tool"]["uv"]["constraint-dependencies"]
    assert unmet(asked, plain) == unmet(asked, demo) == []
    with_model = project["project"]["optional-dependencies"]["demo"] + project["dependency-groups"]["weights"]
    assert unmet(with_model, demo) == []
    assert len(unmet(with_model, plain)) == len(with_model)  # and it does refuse
    assert unmet(project["build-system"]["requires"], build) == []
    assert plain.items() <= demo.items()
    # Nothing is missing that a package in the list asks for by itself.
    override = ("llm", "llama-cpp-python")
    here = {"python_version": "3.12", "python_full_version": "3.12.12", "sys_platform": "linux", "extra": ""}
    needed = {
        f"{name}: {text}"
        for name in plain
        if (found := _distribution(name)) is not None
        for text in found.requires or ()
        if not text.startswith(override)
        and ((need := Requirement(text)).marker is None or need.marker.evaluate(here))
        and canonicalize_name(need.name) not in plain
    }
    assert needed == set()


def _distribution(name):
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        return distribution(name)
    except PackageNotFoundError:  # of another platform or Python
        return None


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-demo.txt", "build-requirements.txt"])
def test_a_list_of_packages_names_no_place(name):
    text = (FOLDER / name).read_text(encoding="utf-8")
    assert not re.search(r"://|@|file:|^-|^\.|#", text, re.MULTILINE)
    assert str(Path.home()) not in text


def test_the_image_has_a_health_check_and_no_secret_in_a_layer():
    [check] = argument("HEALTHCHECK")
    assert "/health" in check
    settings = " ".join(argument("ENV") + argument("ARG"))
    assert not re.search(r"(?i)password|secret|token|api_key", settings)
    assert argument("ENTRYPOINT") == ['["with-secrets", "spiritlevel"]']


def test_the_python_of_the_image_is_one_that_the_project_takes():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert ">=3.11,<3.13" in project["requires-python"]
    assert project["version"] in (FOLDER / "Dockerfile").read_text(encoding="utf-8")


# ---------------------------------------------------------------- with-secrets


def run(*command, **environment):
    return subprocess.run(
        [FOLDER / "with-secrets", *command],
        env={"PATH": os.environ["PATH"], **environment},
        capture_output=True,
        text=True,
    )


def test_a_file_becomes_the_variable_that_a_program_reads(tmp_path):
    path = tmp_path / "secret"
    path.write_text("hunter2 $HOME `id` 'x'\n")
    done = run("sh", "-c", 'printf "%s|%s" "$PGPASSWORD" "${PGPASSWORD_FILE-unset}"', PGPASSWORD_FILE=str(path))
    assert done.stdout == "hunter2 $HOME `id` 'x'|unset"
    assert run("printenv", "OTHER_FILE", OTHER_FILE="x").stdout == "x\n"


def test_a_variable_that_is_set_wins_over_its_file_as_everywhere(tmp_path):
    (tmp_path / "secret").write_text("of the file")
    script = 'printf "%s|%s" "$PGPASSWORD" "${PGPASSWORD_FILE-unset}"'
    for given, said in (("given", "given|unset"), ("", "of the file|unset")):
        done = run("sh", "-c", script, PGPASSWORD=given, PGPASSWORD_FILE=str(tmp_path / "secret"))
        assert done.stdout == said
    assert run("printenv", "PGPASSWORD", PGPASSWORD="given", PGPASSWORD_FILE="/nowhere").stdout == "given\n"


def test_a_file_that_is_not_there_ends_it_before_the_program_runs(tmp_path):
    done = run("echo", "started", PGPASSWORD_FILE=str(tmp_path / "none"))
    assert done.returncode != 0
    assert "started" not in done.stdout
    assert "No such file" in done.stderr


def test_the_exit_code_and_the_arguments_are_the_programs_own():
    done = run("sh", "-c", 'printf "%s\n" "$@"; exit 7', "x", "a b", "")
    assert (done.returncode, done.stdout) == (7, "a b\n\n")
