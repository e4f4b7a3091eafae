"""The formats that the command line and the components offer are the formats that can be written."""

from __future__ import annotations

from typing import get_args

from prune_assets.cli.write import write
from prune_assets.components.fields import Format
from prune_assets.tables.opening import FORMATS

WRITTEN = {entry.name.lower() for entry in FORMATS if entry.writing is not None}


def test_the_command_line_offers_what_is_written():
    (option,) = [option for option in write.params if option.name == "table_format" or "--format" in option.opts]
    assert set(option.type.choices) == WRITTEN


def test_components_offer_what_is_written():
    assert set(get_args(Format)) == WRITTEN
