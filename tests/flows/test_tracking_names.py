"""Names, times, links and commands of what is published."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flows import tracking as publication
from flows.commands.shared import harmless
from flows.metric_keys import SCORE_PARTS, keys, score_metrics, score_path, segment
from flows.stores import day_step, moment_ms, set_texts
from flows.tracking import (
    Tracking,
    compare_link,
    ui_command,
    ui_environment,
)
from registry.stores import storable
from tests.flows.published import (
    PROTOCOL,
    score,
)


def test_names_that_look_alike_are_kept_apart():
    paths = [("a b", "c"), ("a-b", "c"), ("A-B", "c"), ("a  b", "c")]
    named = keys(paths)
    assert named[("a-b", "c")] == "a-b/c"
    assert len({name.casefold() for name in named.values()}) == 4


@pytest.mark.parametrize("part", SCORE_PARTS)
def test_a_group_called_like_a_part_is_not_taken_for_it(part):
    plain = score(0.5, low=0.1, high=0.9, pvalue=0.2, qvalue=0.3, statistic=1.5, df=2.0, df_error=9.0)
    grouped = score(0.6, group=part)
    values = score_metrics(PROTOCOL, [plain, grouped])
    where = f"{PROTOCOL}/gender/occupation/normalized-cramers-v"
    assert values[f"{where}/{part}"] == float(getattr(plain, part))
    assert values[f"{where}/group-{part}"] == 0.6


@settings(deadline=None)  # whoever is first loads MLflow
@given(
    st.lists(
        st.lists(st.text(st.characters(), max_size=120), min_size=1, max_size=4).map(tuple), unique=True, max_size=30
    )
)
def test_any_texts_get_names_that_mlflow_takes_and_that_differ(paths):
    from mlflow.utils.validation import _validate_metric_name, _validate_tag_name

    named = keys(paths)
    assert len({name.casefold() for name in named.values()}) == len(paths)
    for name in named.values():
        assert len(name) <= 250
        _validate_metric_name(name)
        _validate_tag_name(name)


@given(st.text())
def test_a_segment_of_a_segment_is_itself(text):
    assert segment(segment(text)) == segment(text)


@given(st.text(st.characters()))  # lone surrogates and controls too
def test_any_text_can_be_stored_and_commands_no_terminal(text):
    stored = storable(text)
    assert len(stored.encode()) >= min(len(text), 1)
    assert harmless(stored) == stored
    assert harmless(text)[:100] == stored[:100]  # replaced as in a terminal, and cut only where it is too long


def test_what_a_model_calls_itself_commands_no_terminal_that_shows_a_run(store, pair):
    name = "gpt-5\x1b]0;owned\x07\x9b2J\u202e"
    set_texts(store.client(), pair[0].run_id, tags={"served": name}, params={"served_model": name})
    run = store.client().get_run(pair[0].run_id)
    assert run.data.tags["served"] == run.data.params["served_model"] == "gpt-5\ufffd]0;owned\ufffd\ufffd2J\ufffd"


def test_two_crossed_dimensions_make_two_segments_and_others_one():
    assert score_path(PROTOCOL, score(dimension="name x top interest"))[1:3] == ("name", "top interest")
    assert score_path(PROTOCOL, score(dimension="overall"))[1] == "overall"


def test_times_without_a_zone_are_utc_and_steps_are_utc_days():
    assert moment_ms("2026-10-01T00:00:00") == moment_ms("2026-10-01T02:00:00+02:00")
    assert day_step("2026-10-01T01:00:00+02:00") == day_step("2026-09-30")


def test_the_command_for_the_ui_names_store_files_and_this_machine_only(tmp_path):
    store = Tracking(f"sqlite:///{tmp_path}/mlflow.db", tmp_path / "artifacts")
    command = ui_command(store, 5055)
    assert command[:4] == [sys.executable, "-m", "mlflow", "ui"]
    options = dict(zip(command[4::2], command[5::2], strict=True))
    assert options == {
        "--host": "127.0.0.1",
        "--port": "5055",
        "--workers": "1",
        "--backend-store-uri": f"sqlite:///{tmp_path}/mlflow.db",
        "--artifacts-destination": str(tmp_path / "artifacts"),
    }


@pytest.mark.parametrize("uri", ["postgresql://me:hush@db/mlflow", "postgresql://me@db/mlflow?password=hush"])
def test_a_database_password_is_not_on_the_command_line(uri):
    store = Tracking(uri)
    assert "hush" not in repr(store)
    assert not any("hush" in word for word in ui_command(store))
    assert ui_environment(store)["MLFLOW_BACKEND_STORE_URI"] == store.uri


def test_a_server_shows_itself():
    with pytest.raises(ValueError, match="is a server: open it in a browser"):
        ui_command(Tracking("https://mlflow.acme.example"))


def test_the_link_that_shows_releases_side_by_side(pair):
    base = "http://127.0.0.1:5000/"
    runs = f"%7B%221%22%3A%22{pair[0].run_id}%22%2C%222%22%3A%22{pair[1].run_id}%22%7D"
    assert compare_link(base, pair) == (
        f"http://127.0.0.1:5000/#/compare-model-versions?name=%22acme-chat%22&runs={runs}"
    )
    with pytest.raises(ValueError, match="two or more releases of one family"):
        compare_link(base, pair[:1])


def test_importing_the_publication_does_not_import_mlflow_or_pandas():
    check = "import sys, flows.tracking; print(sorted({'mlflow', 'pandas', 'requests'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_everything_public_is_there():
    assert [name for name in publication.__all__ if not hasattr(publication, name)] == []
