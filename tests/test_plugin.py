"""Another distribution adds a protocol and a channel, without a line changed here."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.stub_server import StubServer

ROOT = Path(__file__).parents[1]


def run(plugin, *arguments):
    path = os.pathsep.join([str(ROOT), str(plugin)])
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, check=False)


def test_a_release_is_audited_with_a_protocol_from_another_distribution(spiritlevel, home):
    plugin = ROOT / "tests" / "plugin"
    with StubServer() as server:
        spiritlevel("release", "add", "nova", "--model", "stub-1", "--base-url", server.base_url)
        arguments = ("audit", "models:/nova/1", "--protocol", "short-brainstorm", "--home", home)
        done = run(plugin, "-m", "flows.cli", *arguments)
        assert done.returncode == 0, done.stderr
        assert server.calls == 2
    assert "short-brainstorm" in done.stdout


def test_a_channel_from_another_distribution_is_in_the_catalog():
    done = run(
        ROOT / "tests" / "plugin", "-c", "from flows.alerts import CHANNELS; print(CHANNELS['memory'].__module__)"
    )
    assert done.stdout.strip() == "spiritlevel_example"


def test_a_channel_from_another_distribution_takes_alerts_and_its_settings_are_checked(home):
    plugin = ROOT / "tests" / "plugin"
    configuration = home / "spiritlevel.yaml"
    configuration.write_text("channels:\n  mine: {kind: memory, limit: 1}\n  full: {kind: memory, limit: 0}\n")
    done = run(plugin, "-m", "flows.cli", "alerts", "test", "--home", home)
    assert done.returncode == 2
    assert "mine: delivered; kept: (test) spiritlevel can reach this channel" in done.stdout
    assert "full: FAILED; the memory is full" in done.stdout
    configuration.write_text("channels:\n  mine: {kind: memory, limits: 1}\n")
    done = run(plugin, "-m", "flows.cli", "alerts", "test", "--home", home)
    assert "a memory channel has no setting 'limits'. Known here: kind, limit" in done.stdout


def test_a_plugin_that_does_not_import_stops_the_run_and_is_named(spiritlevel, tmp_path, home):
    shutil.copytree(ROOT / "tests" / "plugin", tmp_path / "plugin")
    (tmp_path / "plugin" / "spiritlevel_example.py").write_text("raise RuntimeError('broken on purpose')\n")
    arguments = ("audit", "models:/nova/1", "--protocol", "short-brainstorm", "--home", home)
    spiritlevel("release", "add", "nova", "--model", "stub-1", "--base-url", "http://127.0.0.1:9/v1")
    done = run(tmp_path / "plugin", "-m", "flows.cli", *arguments)
    assert done.returncode == 2
    assert "spiritlevel_example:ShortBrainstorm" in done.stderr
    assert "broken on purpose" in done.stderr
    assert "Traceback" not in done.stderr


def test_two_definitions_of_one_name_are_refused_and_both_places_named(tmp_path, home):
    shutil.copytree(ROOT / "tests" / "plugin", tmp_path / "plugin")
    entry_points = tmp_path / "plugin" / "spiritlevel_example-1.0.dist-info" / "entry_points.txt"
    entry_points.write_text("[spiritlevel.protocols]\npersona-brainstorm = spiritlevel_example:ShortBrainstorm\n")
    script = "import registry.audits.protocols.persona_brainstorm; from registry.audits.protocols import PROTOCOLS; list(PROTOCOLS)"
    done = run(tmp_path / "plugin", "-c", script)
    assert "persona_brainstorm.PersonaBrainstorm" in done.stderr
    assert "spiritlevel_example.ShortBrainstorm" in done.stderr
