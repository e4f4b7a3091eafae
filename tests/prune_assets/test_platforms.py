from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from prune_assets.cli import main
from prune_assets.cli.installation import PLATFORMS, this_platform


def environment_of(marker, root):
    """Leave a marker as its platform does; return the environment."""
    if marker.startswith("/"):
        place = root / marker[1:]
        place.parent.mkdir(parents=True)
        place.touch()
        return {}
    variable, _, value = marker.partition("=")
    return {variable: value or "17.3"}


@pytest.mark.parametrize(("name", "marker"), PLATFORMS)
def test_a_platform_is_known_by_its_marker_on_kubernetes_too(name, marker, tmp_path):
    environment = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", **environment_of(marker, tmp_path)}
    found = this_platform(environment, tmp_path)
    assert (found.name, found.marker) == (name, marker)
    assert found.version == ("17.3" if "VERSION" in marker else None)


def test_fabric_is_not_taken_for_synapse_whose_marker_it_has(tmp_path):
    both = dict(PLATFORMS)
    environment = environment_of(both["Fabric"], tmp_path) | environment_of(both["Synapse"], tmp_path)
    assert this_platform(environment, tmp_path).name == "Fabric"


@pytest.mark.parametrize("environment", [{}, {"AZURE_SERVICE": "another"}, {"GLUE_VERSION": ""}])
def test_another_machine_is_none_of_them(environment, tmp_path):
    assert this_platform(environment, tmp_path) is None


@pytest.mark.skipif(any(Path(marker).exists() for _, marker in PLATFORMS), reason="this machine is one of them")
def test_doctor_names_the_platform(monkeypatch):
    for _, marker in PLATFORMS:
        monkeypatch.delenv(marker.partition("=")[0], raising=False)
    assert "\nplatform " not in CliRunner().invoke(main, ["doctor"]).stdout
    monkeypatch.setenv("DATAPROC_IMAGE_VERSION", "2.3")
    assert "Dataproc 2.3, detected by DATAPROC_IMAGE_VERSION" in CliRunner().invoke(main, ["doctor"]).stdout
    told = json.loads(CliRunner().invoke(main, ["doctor", "--json"]).stdout)
    assert told["runs_on"] == {"name": "Dataproc", "version": "2.3", "marker": "DATAPROC_IMAGE_VERSION"}
