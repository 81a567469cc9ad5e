"""Where state lives and how verdicts are judged: one home folder, one configuration file in it.

Import this before mlflow or prefect: `prepare_environment` points both at the home folder and turns their
telemetry off, which works only before they are loaded.
"""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import platformdirs
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator

from flows.configuration_file import checked, text_of
from metrics.errors import BadInputError

if TYPE_CHECKING:
    from flows.service_settings import ServiceSettings
    from metrics.policy import Policy

CONFIGURATION = "spiritlevel.toml"
SERVICE = "spiritlevel.yaml"
LEDGER_URL = "SPIRITLEVEL_LEDGER_URL"

# The switches that were seen to work: DO_NOT_TRACK=1 alone stops neither MLflow nor Prefect's server.
_QUIET = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "DO_NOT_TRACK": "true",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "GIT_PYTHON_REFRESH": "quiet",
    # Starting Prefect's temporary server takes 8 to 40 seconds on two busy cores; its own limit is 20.
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
    "PREFECT_LOGGING_EXTRA_LOGGERS": "flows,registry,spiritlevel",
    "PREFECT_LOGGING_TO_API_WHEN_MISSING_FLOW": "ignore",  # most of our own lines are logged outside of a flow run
}


class PolicySettings(BaseModel):
    """The ``[policy]`` table: how comparisons are judged. Changing it re-judges stored scores; no model is asked."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    alpha: float = Field(0.05, ge=0.005, lt=0.5)
    smallest_change: float = Field(0.05, gt=0, le=1)
    margin: float = Field(0.10, gt=0, le=1)
    merge_below: int = Field(10, ge=1)
    name_n_eff: int = Field(2000, ge=0)
    fewest_clusters: int = Field(20, ge=2)
    mapped_floor: float = Field(0.5, ge=0, le=1)
    coverage_floor: float = Field(0.5, ge=0, le=1)
    coverage_gap: float = Field(0.10, ge=0, le=1)


Threshold = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Names = Annotated[tuple[str, ...], BeforeValidator(lambda given: [given] if isinstance(given, str) else given)]


class GateTier(BaseModel):
    """A table ``[gate.tiers.NAME]``: what a release must show for one tier. What it does not say is as in ``[gate]``.

    ``threshold`` holds for every dimension that the tier's ``dimensions`` do not name. ``stage`` says in words what
    passing allows.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    threshold: Threshold | None = None
    dimensions: dict[str, Threshold] = {}
    against: Names | None = None
    leave_out: Names | None = None
    stage: str = ""


class GateSettings(BaseModel):
    """The ``[gate]`` table: what a release must show to pass; its tiers stand from the least to the most demanding."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    threshold: Threshold = 1.0
    dimensions: dict[str, Threshold] = {}
    against: Names | None = None
    leave_out: Names = ()
    tiers: dict[str, GateTier] = {}


class InstrumentSettings(BaseModel):
    """The ``[instrument]`` table: how an audit is checked against itself before anybody is alerted.

    ``reference`` is a frozen model that is asked again with every live audit: ``"embedded"``, or a release as
    ``"models:/frozen/1"``; empty for none.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    alpha: float = Field(0.01, ge=0.005, lt=0.5)
    reference: str = ""
    reference_personas: int = Field(60, ge=20, le=10_000)


class WatchSettings(BaseModel):
    """The ``[watch]`` table: how recurring audits of one release are judged together.

    ``false_discovery_rate`` bounds, over all watched releases, the share of alarms that are false; 0 leaves each release
    its own bound.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    baseline: int = Field(5, ge=2, le=52)
    alpha: float = Field(0.05, gt=0, lt=0.5)
    horizon: int = Field(52, ge=4, le=1000)
    confirm: bool = True
    confirm_personas: int = Field(10_000, ge=400)
    false_discovery_rate: float = Field(0.0, ge=0, lt=0.5)


class PublishSettings(BaseModel):
    """The ``[publish]`` table: when and what is published to MLflow.

    ``at_once`` : by the command that made it; else it waits for 'spiritlevel publish' or the service.
    ``evidently`` : Evidently's report of how categories, or measures, are distributed in both releases, with each comparison.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    at_once: bool = True
    evidently: bool = True


Weight = Annotated[float, Field(ge=0, le=1)]


class MessageSettings(BaseModel):
    """The ``[messages]`` table: what targeted messages are measured with. Changing it scores stored answers anew.

    ``agency`` : ``"agency"``, the lexicon that comes along, or one that 'spiritlevel lexicon add' stored and that has lemmas.
    ``weights`` : of agency, modality and imperatives in the persuasion bias index. ``missing`` : a message without a
    word of agency or modality is ``neutral`` there, or is left out of the index (``exclude``).
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    agency: str = "agency"
    weights: tuple[Weight, Weight, Weight] = (1 / 3, 1 / 3, 1 / 3)
    missing: Literal["neutral", "exclude"] = "neutral"

    @field_validator("weights")
    @classmethod
    def _together_one(cls, weights: tuple[float, float, float]) -> tuple[float, float, float]:
        if abs(sum(weights) - 1) > 1e-9:
            raise ValueError(f"weights of agency, modality and imperatives sum to 1, not {sum(weights):g}")
        return weights


class JudgeSettings(BaseModel):
    """The ``[judge]`` table: the model that rates texts, such as the emotion of a message. Part of the scoring version.

    ``release`` : a registered version with a fixed number, ``"models:/judges/1"``; empty for none. Another judge, or other
    sampling, means that stored texts have to be rated anew ('spiritlevel rate'). ``max_tokens`` : of one answer; a judge that
    reasons before it answers needs more.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    release: str = ""
    temperature: Annotated[float, Field(ge=0, le=2)] = 0.0
    max_tokens: Annotated[int, Field(ge=1)] = 16

    @field_validator("release")
    @classmethod
    def _one_version(cls, release: str) -> str:
        if release and not re.fullmatch(r"models:/[^/@\s]+/[1-9]\d{0,8}", release):
            raise ValueError(
                f"a judge is one version of a family, as models:/judges/1, for scores name it; got {release!r}"
            )
        return release


class Configuration(BaseModel):
    """The file ``spiritlevel.toml`` in the home folder."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    policy: PolicySettings = PolicySettings()
    gate: GateSettings = GateSettings()
    instrument: InstrumentSettings = InstrumentSettings()
    watch: WatchSettings = WatchSettings()
    publish: PublishSettings = PublishSettings()
    messages: MessageSettings = MessageSettings()
    judge: JudgeSettings = JudgeSettings()
    ledger_url: str | None = None
    tracking_uri: str | None = None


class Home:
    """The one folder that holds all state; it may hold other files too.

    Parameters
    ----------
    path : the folder; by default ``$SPIRITLEVEL_HOME``, else the user's data folder
    """

    def __init__(self, path: Path | str | None = None) -> None:
        chosen = path or os.environ.get("SPIRITLEVEL_HOME") or platformdirs.user_data_path("spiritlevel")
        self.path = Path(chosen).expanduser().absolute()
        self._configuration: Configuration | None = None
        self._service: ServiceSettings | None = None

    @property
    def configuration(self) -> Configuration:
        """The configuration file, checked; defaults where there is none."""
        if self._configuration is None:
            self._configuration = _configuration(self.path / CONFIGURATION)
        return self._configuration

    @property
    def service_file(self) -> Path:
        """Where the service's configuration is: ``$SPIRITLEVEL_CONFIG``, else ``spiritlevel.yaml`` in the home folder."""
        chosen = os.environ.get("SPIRITLEVEL_CONFIG")
        return Path(chosen).expanduser().absolute() if chosen else self.path / SERVICE

    @property
    def service(self) -> ServiceSettings:
        """What the service is to do, checked; nothing where there is no file."""
        if self._service is None:
            from flows.service_settings import service_settings

            self._service = service_settings(self.service_file, required="SPIRITLEVEL_CONFIG" in os.environ)
        return self._service

    @property
    def ledger_url(self) -> str:
        from flows.secret_values import FILE_SUFFIX, secret
        from registry.stores import holds_password

        if os.environ.get(LEDGER_URL) or os.environ.get(LEDGER_URL + FILE_SUFFIX):
            return secret(LEDGER_URL, "the ledger's address") or ""
        given = self.configuration.ledger_url
        if given and holds_password(given):
            raise BadInputError(
                f"ledger_url in {self.path / CONFIGURATION} holds a password (not repeated here), and files are copied and "
                f"shared; give the address in {LEDGER_URL} or in a file that {LEDGER_URL}{FILE_SUFFIX} names, or without "
                f"it and the password in PGPASSFILE or PGPASSWORD"
            )
        return given or f"sqlite:///{self.path / 'ledger.db'}"

    @property
    def tracking_uri(self) -> str:
        from registry.stores import address, holds_password

        given = os.environ.get("SPIRITLEVEL_TRACKING_URI")
        if not given and (given := self.configuration.tracking_uri) and holds_password(given):
            raise BadInputError(
                f"tracking_uri in {self.path / CONFIGURATION} holds a password (not repeated here), and files are copied "
                f"and shared; give the address in SPIRITLEVEL_TRACKING_URI, or without it and the password in "
                f"MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD"
            )
        return address(given or f"sqlite:///{self.path / 'mlflow.db'}")

    @property
    def artifact_root(self) -> Path:
        return self.path / "mlflow-artifacts"

    @property
    def log_file(self) -> Path:
        return self.path / "logs" / "spiritlevel.log"

    def policy(self, family: str | None = None) -> Policy:
        """The comparison policy of this home; of a family, with what the service's configuration says for it."""
        from metrics.policy import Policy

        own = self.service.family(family).policy if family is not None else {}
        return Policy(**{**self.configuration.policy.model_dump(), **own})

    def gate(self, family: str | None = None) -> GateSettings:
        """The gate of this home; of a family, with what the service's configuration says for it."""
        own = self.service.family(family).gate if family is not None else None
        if own is None:
            return self.configuration.gate
        return self.configuration.gate.model_copy(update={name: getattr(own, name) for name in own.model_fields_set})

    def make(self) -> None:
        """Make the folder, private to its user, and say clearly when that is not possible."""
        if set("%?") & set(str(self.path)):
            raise BadInputError(
                f"the home folder {self.path} has % or ? in its path, which MLflow and SQLite read as parts of an address; "
                f"choose another with --home or SPIRITLEVEL_HOME"
            )
        self.refuse_file()
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            (self.path / "logs").mkdir(exist_ok=True)
        except OSError as error:
            raise BadInputError(
                f"the home folder {self.path} cannot be written ({error.strerror}); make it writable, or choose "
                f"another with --home or SPIRITLEVEL_HOME"
            ) from error
        if not os.access(self.path, os.W_OK):
            raise BadInputError(
                f"the home folder {self.path} cannot be written; make it writable, or choose another with --home or "
                f"SPIRITLEVEL_HOME"
            )

    def refuse_file(self) -> None:
        """Refuse a home that is a file."""
        if self.path.exists() and not self.path.is_dir():
            raise BadInputError(
                f"the home folder {self.path} is a file, not a folder; choose another with --home or SPIRITLEVEL_HOME"
            )

    def prepare_environment(self) -> None:
        """Point mlflow, prefect and matplotlib at this folder and silence their telemetry. User's settings win."""
        own = {
            "PREFECT_HOME": str(self.path / "prefect"),
            "MPLCONFIGDIR": str(self.path / "cache" / "matplotlib"),
            "MLFLOW_TRACKING_URI": self.tracking_uri,
        }
        silence()
        for name, value in own.items():
            os.environ.setdefault(name, value)


def silence() -> None:
    """Turn telemetry and chatter of the libraries off; to be called before mlflow or prefect are imported."""
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)


def _configuration(path: Path) -> Configuration:
    text = text_of(path)
    if text is None:
        return Configuration()
    try:
        return checked(Configuration, tomllib.loads(text), path)
    except tomllib.TOMLDecodeError as error:
        raise BadInputError(f"{path} is not valid TOML: {error}") from error


CONFIGURATION_TEXT = """\
# spiritlevel's configuration. Every line that is commented out shows its default.

# Where the ledger is: a SQLAlchemy URL. The default is the file ledger.db in this folder.
# ledger_url = "postgresql://spiritlevel@localhost/spiritlevel"

# Where MLflow is: a tracking URI. The default is the file mlflow.db in this folder.
# tracking_uri = "http://127.0.0.1:5000"

# How a release is judged against the previous one. Changing it re-judges stored scores and asks no model again.
[policy]
# alpha = 0.05            # false alarms per comparison, over all 16 dimensions together
# smallest_change = 0.05  # a change in the normalized score below this never counts as regressed or improved
# margin = 0.10           # "unchanged" needs the whole 90 % interval of the change inside this margin
# merge_below = 10        # categories with fewer records in both releases together are merged into "other"
# name_n_eff = 2000       # personas with a listed name that a verdict on a name dimension needs, in each release
# fewest_clusters = 20    # calls that a verdict needs, in each release
# mapped_floor = 0.5      # share of usable personas with a category on both sides that a dimension needs
# coverage_floor = 0.5    # below this share of usable personas a comparison is withheld
# coverage_gap = 0.10     # and also when the two releases differ by more than this

# How an audit is checked before anybody is alerted; when the instrument moved, alerts are held.
[instrument]
# alpha = 0.01             # false holds per check
# reference = ""           # a frozen model asked again with each live audit: "embedded", or "models:/frozen/1"
# reference_personas = 60  # how many personas it is asked for

# How recurring audits of one release are judged together, to see a provider change it silently.
[watch]
# baseline = 5               # audits that form the baseline
# alpha = 0.05               # false alarms in `horizon` audits, over all dimensions together
# horizon = 52               # audits; then a new window with half the alpha
# confirm = true             # an alarm orders a full audit, and only that one alerts
# confirm_personas = 10000   # its size
# false_discovery_rate = 0.0 # bound on the share of false alarms over all watched releases; 0: each has its own

# When and what is published to MLflow.
[publish]
# at_once = true    # by the command that made it; false: it waits for 'spiritlevel publish' or the service
# evidently = true  # Evidently's report of both releases' categories or measures with each comparison (4 MB, seconds)

# What targeted messages are measured with. Changing it scores stored answers anew and asks no model again.
[messages]
# agency = "agency"        # lexicon of high and low agency: the one that comes along, or a stored one (spiritlevel lexicon)
# weights = [0.3, 0.3, 0.4]  # of agency, modality and imperatives in the persuasion bias index; a third each by default
# missing = "neutral"      # a message without such words is neutral there; "exclude" leaves it out of the index

# The model that rates texts: emotion and formality of messages. Another one, or other sampling, is another scoring version.
[judge]
# release = ""          # a registered version, "models:/judges/1"; its gold set is asked in every audit
# temperature = 0.0
# max_tokens = 16       # of one answer; more for a judge that reasons first

# What 'spiritlevel gate' demands of a release. The threshold shown is the default; the lines after it are examples.
[gate]
#   threshold = 1.0                                   # 95 % intervals of debiased scores must lie at or below it
#   dimensions = { "gender x occupation" = 0.66 }     # thresholds of single dimensions
#   leave_out = ["name x interest"]                   # dimensions that are shown and decide nothing
#   against = ["previous", "baseline"]                # releases it must not be worse than. Default: those there are
# Tiers of a staged rollout, from the least to the most demanding. What a tier does not say is as in [gate].
#   [gate.tiers.internal]
#   stage = "our own staff"
#   [gate.tiers.high-risk]
#   stage = "uses that decide about people"
#   threshold = 0.66
#   against = "baseline"
"""
