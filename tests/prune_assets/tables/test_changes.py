"""The state of a table that is stored between two polls, with its version as a value."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pyarrow as pa
import pytest
from delta_tables import write_table

from prune_assets.tables import changes
from prune_assets.tables.changes import PolledState, poll, polled_states, table_fingerprint


def test_a_state_from_a_cursor_gets_its_version_and_stays_the_same(tmp_path):
    path = str(tmp_path)
    write_table(path, pa.table({"id": [1]}))
    first = poll(path, None)
    assert (first.state, first.version) == (("version 0", 1), 0)
    assert poll(path, first) is first
    (stored,) = polled_states(json.dumps({"t": first.state})).values()
    again = poll(path, stored)
    assert (stored.version, again.version, again) == (None, 0, first)
    write_table(path, pa.table({"id": [2]}), mode="append")
    assert (poll(path, stored).state, poll(path, stored).version) == (("version 1", 2), 1)


@pytest.mark.parametrize("fingerprint", ["version 12", "version of Monday", "12"])
def test_a_text_is_no_version(monkeypatch, fingerprint):
    form = SimpleNamespace(fingerprint=lambda _: fingerprint)
    monkeypatch.setattr(changes, "recognize", lambda table: (form, table))
    assert table_fingerprint("t") == fingerprint
    seen = poll("t", PolledState(fingerprint, 3))
    assert (seen.state, seen.version) == ((fingerprint, 3), None)
